from __future__ import annotations

import itertools
import math
import random
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader

from hil.errors import CommandError, JournalError
from hil.runtime.journal import (
    FIRST_CHAIN,
    Completeness,
    EndKind,
    EndRecord,
    Entry,
    GapRecord,
    JournalWriter,
    SessionRecord,
    Wiring,
    json_schema,
    next_chain,
    read_journal,
    verify,
)
from hil.types import (
    Confirm,
    EmergencyStop,
    EnergiseCommand,
    JointCommand,
    JointState,
    LimitHit,
    Load,
    Mode,
    StateSource,
    Stop,
    TickRecord,
)

SESSION = SessionRecord(
    software_version="0.1.0",
    wiring=Wiring.FAKE,
    port="memory",
    rig_id="lynx6",
    rig_digest="ab" * 32,
    rig={"title": "Lynx6", "axes": ({"name": "base", "lower": -1.5},), "adapter_serial": None},
    settings={"look_ahead_s": 0.04},
    start_epoch_s=1_750_000_000.25,
    start_monotonic_s=100.5,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False)
POSITIONS = st.lists(FINITE, min_size=1, max_size=7).map(tuple)
STATES = st.builds(
    JointState,
    t_s=FINITE,
    positions=st.lists(st.none() | FINITE, min_size=1, max_size=7).map(tuple),
    source=st.sampled_from(StateSource),
)
COMMANDS = st.builds(JointCommand, seq=st.integers(0, 2**40), due_s=FINITE, positions=POSITIONS) | st.builds(
    EnergiseCommand, seq=st.integers(0, 9), axis=st.integers(0, 6), position=FINITE
)
TICKS = st.builds(
    TickRecord,
    tick=st.integers(0, 2**40),
    t_s=st.floats(0, 1e7),
    late_s=FINITE,
    work_s=FINITE,
    missed=st.integers(0, 9),
    mode=st.sampled_from(Mode),
    sample=st.none() | st.integers(0, 10**6),
    wanted=st.none() | COMMANDS,
    sent=st.none() | COMMANDS,
    simulated=STATES,
    setpoint=POSITIONS,
    reported=st.none() | STATES,
    received=st.binary(max_size=40),
    written=st.binary(max_size=40),
    requests=st.lists(
        st.builds(Load, motion=st.binary(max_size=40), certificate=st.binary(max_size=40))
        | st.builds(Stop, reason=st.text(max_size=10))
        | st.builds(EmergencyStop, reason=st.text(max_size=10))
        | st.builds(Confirm, positions=POSITIONS, by=st.text(max_size=10)),
        max_size=2,
    ).map(tuple),
    hits=st.lists(
        st.builds(LimitHit, check=st.just("E-02"), axis=st.just("base"), requested=FINITE, allowed=FINITE),
        max_size=2,
    ).map(tuple),
    events=st.lists(st.text(max_size=20), max_size=2).map(tuple),
)


def _tick(number: int, **changes: Any) -> TickRecord:
    position = (0.1 * number, -1 / 3)
    record = TickRecord(
        tick=number,
        t_s=100.5 + 0.02 * number,
        late_s=1e-5,
        work_s=2e-4,
        missed=0,
        mode=Mode.STREAMING,
        sample=number,
        wanted=JointCommand(seq=number, due_s=100.54 + 0.02 * number, positions=position),
        sent=JointCommand(seq=number, due_s=100.54 + 0.02 * number, positions=position),
        simulated=JointState(t_s=100.5 + 0.02 * number, positions=position, source=StateSource.SIMULATED),
        setpoint=position,
        reported=None,
        received=b".\x96",
        written=b"#0P1500T20\r",
    )
    return msgspec.structs.replace(record, **changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.mcap"


def _write(path: Path, ticks: int = 3, end: EndKind | None = EndKind.CLOSED) -> list[int]:
    """A small journal; gives the size of the file after each record."""
    sizes = []
    with JournalWriter(path, SESSION) as journal:
        sizes.append(path.stat().st_size)
        for number in range(ticks):
            journal.tick(_tick(number))
            journal.flush()
            sizes.append(path.stat().st_size)
        if end is not None:
            journal.end(end, "disconnect: done", t_s=101.0)
    return sizes


@settings(max_examples=60, deadline=None)
@given(st.lists(TICKS, max_size=4))
def test_what_is_written_reads_back_exactly(tmp_path_factory: pytest.TempPathFactory, ticks: list[TickRecord]) -> None:
    path = tmp_path_factory.mktemp("journal") / "run.mcap"
    with JournalWriter(path, SESSION) as journal:
        for tick in ticks:
            journal.tick(tick)
    entries = list(read_journal(path))
    assert [entry.tick for entry in entries[1:]] == ticks
    assert [entry.n for entry in entries] == list(range(len(ticks) + 1))
    session = entries[0].session
    assert session is not None
    assert session.rig["axes"] == [{"name": "base", "lower": -1.5}]


def test_every_kind_of_record_stands_on_its_own_channel_with_two_times(path: Path) -> None:
    with JournalWriter(path, SESSION) as journal:
        journal.tick(_tick(0))
        journal.gap(1, 4, t_s=100.6, reason="overwritten")
        journal.tick(_tick(5))
        journal.end(EndKind.CLOSED, "done", t_s=101.5)
    with path.open("rb") as file:
        messages = list(make_reader(file).iter_messages())
    assert [channel.topic for _, channel, _ in messages] == ["session", "tick", "gap", "tick", "end"]
    assert messages[-1][2].publish_time == 101_500_000_000
    assert abs(messages[-1][2].log_time - 1_750_000_001_250_000_000) < 1000
    entries = list(read_journal(path))
    assert entries[2].gap == GapRecord(t_s=100.6, first=1, last=4, reason="overwritten")
    assert entries[4].end == EndRecord(t_s=101.5, kind=EndKind.CLOSED, reason="done", ticks=2, lost=4)
    assert [entry.tick is None for entry in entries] == [True, False, True, False, True]


def test_the_schemas_describe_every_field_in_plain_types() -> None:
    def leaves(node: dict[str, Any], name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
        assert isinstance(node["type"], str)
        assert not {"$ref", "anyOf"} & node.keys()
        yield name, node
        for key, value in node.get("properties", {}).items():
            yield from leaves(value, f"{name}.{key}")
        if "items" in node:
            yield from leaves(node["items"], f"{name}[]")

    for kind in (SessionRecord, GapRecord, EndRecord, TickRecord):
        assert json_schema(kind)["type"] == "object"
        names = dict(leaves(json_schema(kind)))
        assert {f".data.{field.name}" for field in msgspec.structs.fields(kind)} <= names.keys()
    assert names[".data.sent.positions[]"] == {"type": "number"}
    assert names[".data.reported.positions[]"] == {"type": "number"}
    assert names[".data.requests[].digest"] == {"type": "string"}
    assert [node for name, node in names.items() if name.endswith(".linear[]")] == [{"type": "number"}]
    assert names[".data.written"] == {"type": "string", "contentEncoding": "base64"}


def test_a_complete_journal_is_called_complete(path: Path) -> None:
    _write(path)
    verdict = verify(path)
    assert verdict.completeness is Completeness.COMPLETE
    assert verdict.broken_at is None
    assert verdict.text == (
        "complete (FAKE, memory, rig lynx6): 5 records, 3 ticks over 0.04 s, no tick lost; ended: disconnect: done"
    )


def test_a_journal_whose_loop_went_away_is_unfinished_though_it_has_a_last_record(path: Path) -> None:
    with JournalWriter(path, SESSION) as journal:
        journal.tick(_tick(0))
        journal.gap(1, 2, t_s=100.7, reason="overwritten")
        journal.end(EndKind.ABANDONED, "the loop went away", t_s=101.0)
    verdict = verify(path)
    assert verdict.completeness is Completeness.UNFINISHED
    assert verdict.text == (
        "unfinished (FAKE, memory, rig lynx6): 4 records, 1 ticks over 0.00 s, 2 ticks lost, "
        "all of them unchanged; then the recorder closed it because the loop went away"
    )


def test_a_journal_cut_at_any_byte_reads_up_to_its_last_whole_record(path: Path) -> None:
    sizes = _write(path, ticks=3, end=None)
    whole = path.read_bytes()
    assert len(whole) == sizes[-1]
    for size in (*range(0, sizes[0], 41), *range(sizes[0] - 1, len(whole) + 1)):
        path.write_bytes(whole[:size])
        records = sum(1 for end in sizes if end <= size)
        assert sum(1 for _ in read_journal(path)) == records
        verdict = verify(path)
        assert (verdict.completeness, verdict.records) == (Completeness.UNFINISHED, records)


def test_a_complete_journal_stays_complete_while_its_end_record_is_there(path: Path) -> None:
    _write(path)
    whole = path.read_bytes()
    end = whole.rindex(b'"lost":0}}') + len(b'"lost":0}}')
    for size in (end, end + 5, len(whole) - 8, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert verify(path).completeness is Completeness.COMPLETE
    path.write_bytes(whole[: end - 1])
    assert verify(path).completeness is Completeness.UNFINISHED


@pytest.mark.parametrize("end", [None, EndKind.CLOSED])
def test_an_edited_byte_of_any_record_is_found_at_that_record(path: Path, end: EndKind | None) -> None:
    sizes = _write(path, ticks=3, end=end)
    whole = path.read_bytes()
    chance = random.Random(1)
    for record, (start, stop) in enumerate(itertools.pairwise(sizes), start=1):
        for at in range(start, stop):
            edited = bytearray(whole)
            edited[at] ^= chance.randrange(1, 256)
            path.write_bytes(edited)
            verdict = verify(path)
            framing = start <= at <= start + 8
            last = record == len(sizes) - 1
            if framing and last and end is None:
                assert verdict.completeness is not Completeness.COMPLETE
            else:
                assert (verdict.completeness, verdict.broken_at) == (Completeness.BROKEN, record), at
    payload = whole.index(b'{"n":0')
    version = whole.index(b'"format_version":', payload) + len(b'"format_version":')
    for at in range(payload, sizes[0]):
        if at == version:
            continue  # another version there is told as one
        edited = bytearray(whole)
        edited[at] ^= chance.randrange(1, 256)
        path.write_bytes(edited)
        assert verify(path).broken_at == 0


def _rewritten(source: Path, target: Path, change: Callable[[list[Entry]], list[Entry]]) -> Path:
    """The records of `source`, changed, with a file around them that is right in every other way."""
    entries = change(list(read_journal(source)))
    session = entries[0].session
    assert session is not None
    journal = JournalWriter(target, session)
    for entry in entries[1:]:
        journal._write(entry.data)
    journal.close()
    return target


def test_a_chain_recomputed_from_the_edit_on_passes_here(path: Path, tmp_path: Path) -> None:
    """Whoever knows the format can do that; a replay finds it."""
    _write(path)

    def edit(entries: list[Entry]) -> list[Entry]:
        tick = entries[2].tick
        assert tick is not None
        changed = msgspec.structs.replace(tick, written=b"#0P1501T20\r")
        return [*entries[:2], msgspec.structs.replace(entries[2], data=changed), *entries[3:]]

    assert verify(_rewritten(path, tmp_path / "edited.mcap", edit)).completeness is Completeness.COMPLETE


def _lost(end: Entry, lost: int) -> Entry:
    return msgspec.structs.replace(end, data=msgspec.structs.replace(end.data, lost=lost))


@pytest.mark.parametrize(
    ("change", "record", "reason"),
    [
        (lambda e: [*e[:2], *e[3:]], 2, "it is tick 2, tick 1 should follow, and no gap is recorded"),
        (lambda e: [*e[:3], e[2], *e[3:]], 3, "it is tick 1, tick 2 should follow, and no gap is recorded"),
        (lambda e: [*e[:3], e[4]], 3, "it says 3 ticks and 0 lost, the journal has 2 and 0"),
        (lambda e: [*e[:4], _lost(e[4], 3)], 4, "it says 3 ticks and 3 lost, the journal has 3 and 0"),
        (lambda e: [*e, e[4]], 5, "it stands after the end record"),
        (lambda e: [e[0], e[0], *e[1:]], 1, "it is a second session record"),
    ],
)
def test_records_taken_out_or_added_are_found_even_with_a_new_chain(
    path: Path, tmp_path: Path, change: Callable[[list[Entry]], list[Entry]], record: int, reason: str
) -> None:
    _write(path)
    verdict = verify(_rewritten(path, tmp_path / "edited.mcap", change))
    assert (verdict.broken_at, verdict.reason) == (record, reason)


def test_a_gap_has_to_fit_the_ticks_around_it(path: Path) -> None:
    with JournalWriter(path, SESSION) as journal:
        journal.tick(_tick(0))
        journal.gap(2, 3, t_s=100.6, reason="overwritten")
    verdict = verify(path)
    assert verdict.text == (
        "broken at record 2 (FAKE, memory, rig lynx6): it records ticks 2 to 3 as lost; "
        "tick 1 should follow. Before it: 2 records, 1 ticks over 0.00 s, unchanged"
    )


def test_an_edited_payload_is_explained(path: Path) -> None:
    _write(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"sample":1,', b'"sample":7,'))
    assert verify(path).text.startswith(
        "broken at record 2 (FAKE, memory, rig lynx6): its hash does not fit: it was changed"
    )


def test_the_chain_is_what_the_manual_says(path: Path) -> None:
    _write(path)
    chain = FIRST_CHAIN
    for entry in read_journal(path):
        chain = next_chain(chain, entry.payload)
        assert entry.chain == chain


def test_a_length_changed_in_the_middle_does_not_pass_for_a_cut(path: Path) -> None:
    sizes = _write(path, ticks=3, end=None)
    whole = bytearray(path.read_bytes())
    whole[sizes[0] + 1 : sizes[0] + 9] = struct.pack("<Q", 1 << 20)
    path.write_bytes(whole)
    verdict = verify(path)
    assert verdict.broken_at == 1
    assert verdict.reason == "record 1 says that it is longer than it can be"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_number_that_json_cannot_hold_is_refused_and_leaves_the_journal_whole(path: Path, value: float) -> None:
    nowhere = JointState(t_s=0.0, positions=(value,), source=StateSource.SIMULATED)
    with JournalWriter(path, SESSION) as journal:
        with pytest.raises(CommandError, match=r"tick record does not read back as it was given"):
            journal.tick(_tick(0, simulated=nowhere))
        journal.tick(_tick(0))
        journal.end(EndKind.CLOSED, "done", t_s=101.0)
    assert verify(path).completeness is Completeness.COMPLETE


def test_a_journal_is_never_overwritten(path: Path) -> None:
    _write(path)
    with pytest.raises(JournalError, match=r"run.mcap: no journal can be made here: File exists"):
        JournalWriter(path, SESSION)


def test_a_newer_format_is_named_and_not_called_broken(path: Path) -> None:
    newer = msgspec.structs.replace(SESSION, format_version=2, software_version="9.1")
    JournalWriter(path, newer).close()
    with pytest.raises(JournalError, match=r"format version 2 given; allowed: 1\. Version 9\.1 of this program"):
        verify(path)


def test_files_that_are_no_journal_are_named(path: Path, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"run.mcap: cannot be read: No such file"):
        verify(path)
    path.write_bytes(b"not a journal at all")
    assert "is this a journal?" in verify(path).text
    with pytest.raises(JournalError, match="is this a journal"):
        list(read_journal(path))
    path.write_bytes(b"")
    assert verify(path).text.startswith("unfinished: 0 records")


RECORDER = """
import sys
from pathlib import Path
from tests.runtime.test_journal import SESSION, _tick
from hil.runtime.journal import JournalWriter
journal = JournalWriter(Path(sys.argv[1]), SESSION)
for number in range(1000):
    journal.tick(_tick(number))
    if number == 500:
        journal.flush()
        print("flushed", flush=True)
sys.stdin.read()
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
def test_what_was_flushed_survives_kill_9(path: Path) -> None:
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", RECORDER, str(path)], stdout=subprocess.PIPE, stdin=subprocess.PIPE, cwd=root
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    verdict = verify(path)
    assert verdict.completeness is Completeness.UNFINISHED
    assert verdict.ticks >= 501
