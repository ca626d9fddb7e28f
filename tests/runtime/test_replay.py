"""A journal's own past, run again: the same if it is true, and not the same if anything in it was changed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from recorded import write_parts
from virtual_session import Session, certified, load, script, swing

from hil.errors import JournalError
from hil.runtime.journal import Completeness, EndKind, JournalWriter, SessionRecord, pack, verify
from hil.runtime.replay import ReplayVerdict, replay
from hil.types import (
    Arm,
    Confirm,
    Disconnect,
    EmergencyStop,
    EndStream,
    EnergiseCommand,
    JointCommand,
    Mode,
    Reset,
    Start,
    Stop,
    TickRecord,
)

Edit = Callable[[TickRecord], TickRecord]


def write(path: Path, session: SessionRecord, records: Sequence[TickRecord]) -> Path:
    """A whole journal with a right chain, whatever stands in its records."""
    with JournalWriter(path, session) as journal:
        for record in records:
            journal.tick(record)
        journal.end(EndKind.CLOSED, "the session ended", records[-1].t_s)
    assert verify(path).completeness is Completeness.COMPLETE
    return path


def replayed(folder: Path, session: Session, records: Sequence[TickRecord] | None = None) -> ReplayVerdict:
    path = folder / f"{len(list(folder.iterdir()))}.mcap"
    return replay(write(path, session.session_record(), session.records if records is None else records))


@functools.cache
def whole_run() -> Session:
    """Connect, first move, a motion with a stop, and leave."""
    s = Session().to(Mode.STREAMING)
    s.until(Mode.HOLDING, Stop(reason="test"))
    s.run(0.2)
    s.until(Mode.DISCONNECTED, Disconnect(reason="the end"))
    return s


# -- what is true replays ----------------------------------------------------------------------------------


def test_a_run_replays_to_the_same_bytes(tmp_path: Path) -> None:
    s = whole_run()
    verdict = replayed(tmp_path, s)
    assert verdict.same, verdict.first_difference
    assert verdict.ticks == len(s.records)
    assert verdict.wire_bytes == sum(len(record.written) for record in s.records)


def test_a_run_in_several_files_packed_or_not_replays_to_the_same_bytes(tmp_path: Path) -> None:
    s = whole_run()
    paths = write_parts(s, tmp_path / "long.mcap", 4)
    pack(paths[0])
    pack(paths[2])
    verdict = replay(paths[-1])
    assert verdict.same, verdict.first_difference
    assert verdict.ticks == len(s.records)
    assert verdict.wire_bytes == sum(len(record.written) for record in s.records)
    assert replay(paths[0]).same


def test_a_part_whose_past_is_gone_or_another_is_not_replayed(tmp_path: Path) -> None:
    s = whole_run()
    paths = write_parts(s, tmp_path / "long.mcap", 3)
    other = write_parts(s, tmp_path / "other.mcap", 3, every=2)
    other[1].replace(paths[1])
    with pytest.raises(JournalError, match="does not follow"):
        replay(paths[2])
    paths[1].unlink()
    with pytest.raises(JournalError, match=f"{paths[1].name} is not beside it"):
        replay(paths[2])


def test_a_run_with_uneven_ticks_replays(tmp_path: Path) -> None:
    s = Session().to(Mode.STREAMING)
    for number in range(40):
        s.tick(after_s=0.013 + 0.001 * (number % 15))
    assert replayed(tmp_path, s).same


def unplugged(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.unplug()
    s.run(0.2)
    s.tick(Reset(by="too early"))
    s.run(0.1)
    s.plug_in()
    s.until(Mode.UNKNOWN_POSE, Reset(by="in time"))
    s.until(Mode.IDLE, s.confirm())


def overrun_once(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.line.refusals = 1
    s.until(Mode.IDLE)


def overrun_for_good(s: Session) -> None:
    """Moves do not fit any more, but the stop after them does."""
    s.to(Mode.STREAMING)
    s.line.refusals = 3
    s.until(Mode.FAULT)
    s.run(0.5)


def ticks_too_close(s: Session) -> None:
    s.to(Mode.STREAMING)
    for _ in range(12):
        s.tick(after_s=0.0005)
    s.run(1.0)


def deaf(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.line.deaf = True
    s.until(Mode.FAULT, within_s=4.0)
    s.line.deaf = False
    s.run(1.0)
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))


def brown_out(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.board.power_cycle(s.clock.now_s())
    s.until(Mode.FAULT)
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.until(Mode.IDLE, s.confirm())


def software_stop(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.run(0.2, EmergencyStop(reason="test"))
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))


def owner_dies(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.tick(EndStream(reason="the owner is dead"), Disconnect(reason="the owner is dead"))
    assert s.mode is Mode.DISCONNECTED


def recorder_dies(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.tick(Stop(reason="test"))
    s.tick(EndStream(reason="the recorder is dead"))
    s.run(0.3, load(swing(), certified(s.rig, swing())), Arm(digest=swing().digest), Start(digest=swing().digest))
    s.tick(Disconnect(reason="test"))


def gap(s: Session) -> None:
    s.to(Mode.STREAMING)
    s.tick(after_s=2.0)
    s.run(0.2)


def refusals(s: Session) -> None:
    s.to(Mode.IDLE)
    s.tick(Arm(digest="no such motion"), Start(digest="neither"))
    s.tick(Confirm(positions=(0.0,), by="the test"))
    s.run(0.1, load(swing(), certified(s.rig, swing(20.0))))


@pytest.mark.parametrize(
    "life",
    [
        unplugged,
        overrun_once,
        overrun_for_good,
        ticks_too_close,
        deaf,
        brown_out,
        software_stop,
        owner_dies,
        recorder_dies,
        gap,
        refusals,
    ],
)
def test_whatever_went_wrong_replays_as_well(tmp_path: Path, life: Callable[[Session], None]) -> None:
    s = Session()
    life(s)
    verdict = replayed(tmp_path, s)
    assert verdict.same, verdict.first_difference
    assert verdict.ticks == len(s.records)


@pytest.mark.parametrize("kind", ["lost", "garbled", "doubled", "late"])
def test_a_bad_line_replays(tmp_path: Path, kind: str) -> None:
    extra = {"delay_ms": 30.0} if kind == "late" else {}
    s = Session(faults=script({"kind": kind, "probability": 0.05, "at_s": 0.5, **extra}, seed=3))
    s.to(Mode.UNKNOWN_POSE)
    s.run(4.0, s.confirm())
    assert replayed(tmp_path, s).same


# -- what was changed does not -----------------------------------------------------------------------------


def at(records: Sequence[TickRecord], what: Callable[[TickRecord], bool], number: int = 0) -> int:
    return [k for k, record in enumerate(records) if what(record)][number]


def streaming(record: TickRecord) -> bool:
    return record.mode is Mode.STREAMING and isinstance(record.wanted, JointCommand) and record.tick % 3 == 0


def nudged(positions: tuple[float, ...]) -> tuple[float, ...]:
    return (positions[0] + 1e-12, *positions[1:])


def with_positions(field: str) -> Edit:
    def edit(record: TickRecord) -> TickRecord:
        old = getattr(record, field)
        return msgspec.structs.replace(record, **{field: msgspec.structs.replace(old, positions=nudged(old.positions))})

    return edit


replace = msgspec.structs.replace
CHANGES: dict[str, tuple[Callable[[TickRecord], bool], Edit]] = {
    "a received byte": (
        lambda r: len(r.received) == 7,
        lambda r: replace(r, received=bytes([r.received[0] ^ 1, *r.received[1:]])),
    ),
    "received bytes added": (lambda r: r.received == b"" and streaming(r), lambda r: replace(r, received=b"\x96")),
    "received bytes taken out": (lambda r: len(r.received) == 7, lambda r: replace(r, received=r.received[1:])),
    "a written byte": (
        lambda r: b"#0P" in r.written,
        lambda r: replace(r, written=r.written.replace(b"#0P1", b"#0P2")),
    ),
    "written bytes taken out": (lambda r: b"T60" in r.written, lambda r: replace(r, written=b"")),
    "who confirmed": (
        lambda r: bool(r.requests) and isinstance(r.requests[0], Confirm),
        lambda r: replace(r, requests=(replace(r.requests[0], by="nobody"),)),
    ),
    "the confirmed pose": (
        lambda r: bool(r.requests) and isinstance(r.requests[0], Confirm),
        lambda r: replace(r, requests=(replace(r.requests[0], positions=nudged(r.requests[0].positions)),)),
    ),
    "a request taken out": (lambda r: bool(r.requests), lambda r: replace(r, requests=())),
    "a request added": (streaming, lambda r: replace(r, requests=(Stop(reason="never said"),))),
    "the time": (streaming, lambda r: replace(r, t_s=r.t_s + 1e-6)),
    "the mode": (streaming, lambda r: replace(r, mode=Mode.IDLE)),
    "the sample": (streaming, lambda r: replace(r, sample=r.sample + 1)),
    "who answered": (lambda r: r.controller is not None, lambda r: replace(r, controller=None)),
    "a wanted position": (streaming, with_positions("wanted")),
    "a sent position": (streaming, with_positions("sent")),
    "that nothing was sent": (streaming, lambda r: replace(r, sent=None)),
    "which axis was driven": (
        lambda r: isinstance(r.sent, EnergiseCommand),
        lambda r: replace(r, sent=replace(r.sent, axis=(r.sent.axis + 1) % 6)),
    ),
    "a simulated position": (streaming, with_positions("simulated")),
    "a set-point": (streaming, lambda r: replace(r, setpoint=nudged(r.setpoint))),
    "a reported position": (
        lambda r: r.reported is not None and r.reported.positions[0] is not None,
        with_positions("reported"),
    ),
    "words made up": (
        streaming,
        lambda r: replace(r, events=(*r.events, "streaming -> fault: fault: it was the line")),
    ),
    "words taken out": (lambda r: bool(r.events), lambda r: replace(r, events=())),
}


@pytest.mark.parametrize("what", list(CHANGES))
def test_a_changed_record_fails_the_replay_even_with_its_chain_computed_anew(tmp_path: Path, what: str) -> None:
    chosen, edit = CHANGES[what]
    records = list(whole_run().records)
    k = at(records, chosen)
    changed = edit(records[k])
    assert changed != records[k]
    records[k] = changed
    verdict = replayed(tmp_path, whole_run(), records)
    assert not verdict.same
    assert verdict.first_difference.startswith("tick ")
    assert verdict.ticks >= k


def test_a_tick_taken_out_fails_the_replay_even_with_the_others_renumbered(tmp_path: Path) -> None:
    records = list(whole_run().records)
    k = at(records, streaming)
    del records[k]
    renumbered = [msgspec.structs.replace(record, tick=n) for n, record in enumerate(records)]
    assert not replayed(tmp_path, whole_run(), renumbered).same


def test_two_ticks_exchanged_fail_the_replay(tmp_path: Path) -> None:
    records = list(whole_run().records)
    k = at(records, streaming)
    records[k], records[k + 1] = (
        msgspec.structs.replace(records[k + 1], tick=k),
        msgspec.structs.replace(records[k], tick=k + 1),
    )
    assert not replayed(tmp_path, whole_run(), records).same


@settings(max_examples=40, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bit_of_any_report_or_command_counts(tmp_path: Path, data: st.DataObject) -> None:
    records = list(whole_run().records)
    field = data.draw(st.sampled_from(["received", "written"]))
    # What comes in before the board has said who it is may hold bytes that nobody acts upon.
    ready = at(records, lambda r: r.mode is Mode.UNKNOWN_POSE)
    candidates = [k for k, r in enumerate(records) if k > ready and getattr(r, field)]
    k = data.draw(st.sampled_from(candidates))
    old = bytearray(getattr(records[k], field))
    old[data.draw(st.integers(0, len(old) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assume(k < len(records) - 5)
    records[k] = msgspec.structs.replace(records[k], **{field: bytes(old)})
    assert not replayed(tmp_path, whole_run(), records).same


def test_the_difference_is_told_in_words(tmp_path: Path) -> None:
    records = list(whole_run().records)
    k = at(records, streaming)
    records[k] = msgspec.structs.replace(records[k], mode=Mode.IDLE)
    verdict = replayed(tmp_path, whole_run(), records)
    assert f"tick {k}, mode: the journal says <Mode.IDLE" in verdict.first_difference
    assert "the replay gives <Mode.STREAMING" in verdict.first_difference


# -- what cannot be replayed -------------------------------------------------------------------------------


def test_a_gap_is_refused_with_words(tmp_path: Path) -> None:
    s, path = whole_run(), tmp_path / "gap.mcap"
    with JournalWriter(path, s.session_record()) as journal:
        for record in s.records[:50]:
            journal.tick(record)
        journal.gap(50, 52, s.records[52].t_s, "overwritten before it was recorded")
        for record in s.records[53:]:
            journal.tick(record)
        journal.end(EndKind.CLOSED, "the session ended", s.records[-1].t_s)
    assert verify(path).completeness is Completeness.COMPLETE
    with pytest.raises(JournalError, match=r"records are missing \(gap at record 51\); a replay needs every tick"):
        replay(path)


def test_a_changed_rig_is_refused_with_words(tmp_path: Path) -> None:
    s = whole_run()
    session = s.session_record()
    tree = msgspec.json.decode(msgspec.json.encode(session.rig))
    tree["axes"][0]["speed"] *= 2
    path = write(tmp_path / "rig.mcap", msgspec.structs.replace(session, rig=tree), s.records)
    with pytest.raises(JournalError, match="the session record was changed"):
        replay(path)


@pytest.mark.parametrize("spoil", [lambda tree: tree.pop("axes"), lambda tree: tree.update(unheard_of=1)])
def test_a_rig_of_another_version_is_refused_with_words(
    tmp_path: Path, spoil: Callable[[dict[str, object]], object]
) -> None:
    s = whole_run()
    tree = msgspec.json.decode(msgspec.json.encode(s.session_record().rig))
    spoil(tree)
    path = write(tmp_path / "rig.mcap", msgspec.structs.replace(s.session_record(), rig=tree), s.records)
    with pytest.raises(JournalError, match="the journal's rig cannot be read by version"):
        replay(path)


def test_a_kind_of_controller_that_is_not_known_is_refused_with_words(tmp_path: Path) -> None:
    s = whole_run()
    session = msgspec.structs.replace(s.session_record(), settings={"controller_kind": "abacus"})
    with pytest.raises(JournalError, match="the journal's rig cannot be read by version"):
        replay(write(tmp_path / "kind.mcap", session, s.records))


@pytest.mark.parametrize("content", [b"", b"not a journal", bytes(4096)])
def test_what_is_no_journal_is_refused_with_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.mcap"
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"other\.mcap"):
        replay(path)


@pytest.mark.parametrize("left", [0.3, 0.7, 0.95])
def test_a_cut_journal_replays_as_far_as_it_goes(tmp_path: Path, left: float) -> None:
    s = whole_run()
    path = write(tmp_path / "cut.mcap", s.session_record(), s.records)
    data = path.read_bytes()
    path.write_bytes(data[: int(left * len(data))])
    verdict = replay(path)
    assert verdict.same
    assert 0 < verdict.ticks < len(s.records)
