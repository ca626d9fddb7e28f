"""The journals of motion against what the service has signed of them: a chain that was computed anew shows."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from lab_server import made_lab, run, served

from hil.cli.app import app
from hil.runtime.journal import (
    Completeness,
    EndKind,
    JournalWriter,
    SessionRecord,
    Wiring,
    newest_record,
    pack,
    part_path,
    read_journal,
)
from hil.runtime.journal import verify as verify_journal
from hil.service.audit import AuditLog, Deed, Now
from hil.service.audit_query import query, vouched_deeds
from hil.service.demo import demo_arms
from hil.service.journal_heads import HEAD, LAB_ENDS, JournalsVerdict, check_journals, newest_heads
from hil.service.keys import SigningKey
from hil.service.settings import Settings
from hil.service.setup import make_lab
from hil.types import JointState, Load, Mode, StateSource, TickRecord

START_S = 1_800_000_000.0
RIG = "lynx6-1"
NAME = f"{RIG}-20270115-090000-123456.mcap"
SESSION = SessionRecord(
    software_version="1",
    wiring=Wiring.FAKE,
    port="fake",
    rig_id=RIG,
    rig_digest="d",
    rig={},
    settings={},
    start_epoch_s=START_S,
    start_monotonic_s=100.0,
)


def tick(number: int, **changes: object) -> TickRecord:
    record = TickRecord(
        tick=number,
        t_s=100.0 + 0.02 * number,
        late_s=0.0,
        work_s=0.0,
        missed=0,
        mode=Mode.STREAMING,
        sample=number,
        wanted=None,
        sent=None,
        simulated=JointState(t_s=100.0, positions=(0.1,), source=StateSource.SIMULATED),
        setpoint=(0.1,),
        reported=None,
        received=b"",
        written=b"#0P1500T20\r",
    )
    return msgspec.structs.replace(record, **changes)


class Lab:
    """Folders of a lab: a journal that grows, and an audit in which its heads are noted as the service does it."""

    def __init__(self, folder: Path) -> None:
        self.audit, self.journals = folder / "audit", folder / "journals"
        self.journals.mkdir(parents=True, exist_ok=True)
        self._minutes = 0
        self._log = AuditLog(self.audit, SigningKey(b"a" * 32), self._now(), retention_days=90)
        self.writer = JournalWriter(self.journals / NAME, SESSION)

    @property
    def path(self) -> Path:
        return self.writer.path

    def minute(self, ticks: int = 5) -> None:
        """The arm ticks, its head is noted, and the audit is signed."""
        for _ in range(ticks):
            self.writer.tick(tick(self.writer.session.first_tick + self.writer.ticks))
        self.writer.flush()
        self.note()

    def note(self) -> None:
        self._minutes += 1
        for arm, head in newest_heads(self.journals, {"left": RIG}).items():
            self._log.note(head.deed(arm, HEAD), self._now())
        self._log.tick(self._now())

    def part(self) -> Path:
        """The session goes on in another file; gives the full one."""
        full = self.writer
        self.writer = full.continue_in(part_path(self.journals / NAME, full.session.part + 1), 200.0)
        full.close()
        self.writer.flush()
        return full.path

    def end(self) -> None:
        self.writer.end(EndKind.CLOSED, "done", 300.0)
        self._log.close("done", self._now())

    def checked(self) -> JournalsVerdict:
        return check_journals(self.audit, self.journals)

    def _now(self) -> Now:
        return Now(epoch_s=START_S + 61 * self._minutes, monotonic_s=61.0 * self._minutes)

    def close(self) -> None:
        """Let go of the files."""
        self.writer.close()
        self._log.close("test", self._now())


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with contextlib.closing(Lab(tmp_path)) as made:
        yield made


def recompute(path: Path, changed: int | None, keep: int | None = None) -> None:
    """Write a journal anew with another tick `changed`, its whole chain computed anew; only `keep` ticks of it."""
    entries = list(read_journal(path))
    path.unlink()
    session = entries[0].session
    assert session is not None
    with JournalWriter(path, session) as writer:
        for record in [entry.tick for entry in entries if entry.tick is not None][:keep]:
            moved = record.tick == changed
            writer.tick(msgspec.structs.replace(record, written=b"#0P2500T20\r") if moved else record)
        end = entries[-1].end
        if end is not None and keep is None:
            writer.end(end.kind, end.reason, end.t_s)


def test_a_journal_that_is_as_it_was_agrees_while_it_is_written_and_afterwards(lab: Lab) -> None:
    lab.minute()
    lab.minute()
    assert lab.checked() == JournalsVerdict(agree=1, gone=0, wrong=())
    lab.end()
    assert lab.checked() == JournalsVerdict(agree=1, gone=0, wrong=())


def test_a_chain_that_was_computed_anew_passes_for_itself_and_is_found_with_the_minute_of_the_change(lab: Lab) -> None:
    lab.minute()
    lab.minute()
    lab.minute()
    lab.end()
    recompute(lab.path, changed=7)
    assert verify_journal(lab.path).completeness is Completeness.COMPLETE
    found = lab.checked()
    assert (found.agree, found.gone, len(found.wrong)) == (0, 0, 1)
    assert found.wrong[0].startswith(f"{lab.path}: record 10 is not the one that the service signed on 20")
    assert found.wrong[0].endswith(": the journal was changed after record 5")


def test_another_session_record_is_found(lab: Lab) -> None:
    lab.minute()
    lab.end()
    ticks = [entry.tick for entry in read_journal(lab.path)][1:6]
    lab.path.unlink()
    with JournalWriter(lab.path, msgspec.structs.replace(SESSION, port="another")) as writer:
        for record in ticks:
            assert record is not None
            writer.tick(record)
    assert lab.checked().wrong[0].endswith(": the journal was changed")


def test_what_came_after_the_last_head_is_not_vouched_for(lab: Lab) -> None:
    lab.minute()
    lab.writer.tick(tick(5))
    lab.end()
    recompute(lab.path, changed=5)
    assert lab.checked().agree == 1


def test_a_journal_cut_by_a_crash_behind_its_last_head_agrees_and_one_cut_before_it_does_not(lab: Lab) -> None:
    lab.minute()
    size = lab.path.stat().st_size
    lab.minute(ticks=1)
    whole = lab.path.read_bytes()
    lab.path.write_bytes(whole + whole[-100:-50])
    assert lab.checked().agree == 1
    os.truncate(lab.path, size + 40)
    assert "it ends before record 6, which the service signed on 20" in lab.checked().wrong[0]
    recompute(lab.path, changed=None, keep=2)
    assert "it ends before record 5" in lab.checked().wrong[0]


def test_a_file_that_is_no_journal_any_more_is_a_line_and_no_end(lab: Lab) -> None:
    lab.minute()
    lab.path.write_bytes(b"something else")
    assert "record 5, which the service signed on 20" in lab.checked().wrong[0]


def test_packed_files_and_parts_are_found_again(lab: Lab) -> None:
    lab.minute()
    first = lab.part()
    pack(first)
    lab.minute()
    second = lab.part()
    lab.minute()
    pack(second)
    lab.end()
    assert [deed.detail.split()[0] for _, deed in vouched_deeds(lab.audit, "journal")] == [
        part_path(lab.journals / NAME, part).name for part in range(3)
    ]
    assert lab.checked() == JournalsVerdict(agree=3, gone=0, wrong=())
    recompute(second, changed=6)
    assert lab.checked().agree == 2 and lab.checked().wrong[0].startswith(f"{second}: record 5 is not the one")


def test_the_end_of_a_full_file_is_vouched_for_by_the_one_after_it(lab: Lab) -> None:
    lab.minute()
    lab.writer.tick(tick(5))
    full = lab.part()
    lab.minute()
    lab.end()
    assert lab.checked().agree == 2
    recompute(full, changed=5)
    (wrong,) = lab.checked().wrong
    assert wrong.startswith(f"{full}: its end is not the one that {lab.path.name} goes on from")


def test_a_journal_that_was_deleted_is_gone_and_not_wrong(lab: Lab) -> None:
    lab.minute()
    full = lab.part()
    lab.minute()
    lab.end()
    full.unlink()
    assert lab.checked() == JournalsVerdict(agree=1, gone=1, wrong=())


def test_a_head_that_is_not_signed_for_yet_accuses_nobody(lab: Lab) -> None:
    lab.minute()
    path = next(lab.audit.glob("*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    assert b'"head"' in lines[-1]
    path.write_bytes(b"".join(lines[:-1]))
    recompute(lab.path, changed=2)
    assert lab.checked() == JournalsVerdict(agree=0, gone=0, wrong=())


def test_the_newest_record_is_the_last_whole_one_wherever_the_file_is_cut(lab: Lab) -> None:
    sizes = [lab.path.stat().st_size]
    for number in range(3):
        lab.writer.tick(tick(number, events=('{"n":7,"chain":"' + "0" * 64 + '","data":{}}',)))
        lab.writer.flush()
        sizes.append(lab.path.stat().st_size)
    chains = [entry.chain for entry in read_journal(lab.path)]
    whole = lab.path.read_bytes()
    cut = lab.journals / "cut.mcap"
    for length in range(sizes[0], sizes[-1] + 1):
        cut.write_bytes(whole[:length])
        n = sum(size <= length for size in sizes) - 1
        assert newest_record(cut) == (n, chains[n])


def test_a_record_as_large_as_a_loaded_motion_is_read_back_to(lab: Lab) -> None:
    lab.writer.tick(tick(0, requests=(Load(motion=bytes(3 << 20), certificate=b""),)))
    lab.writer.flush()
    *_, last = read_journal(lab.path)
    assert newest_record(lab.path) == (1, last.chain)
    with lab.path.open("ab") as file:
        file.write(bytes(1 << 20))
    assert newest_record(lab.path) == (1, last.chain)


def test_a_packed_file_has_no_end_to_read(lab: Lab) -> None:
    lab.minute(ticks=50)
    full = lab.part()
    pack(full)
    assert newest_record(full) is None


def test_each_arm_has_the_head_of_its_own_rigs_newest_journal(lab: Lab) -> None:
    lab.minute()
    JournalWriter(lab.journals / NAME.replace(RIG, f"{RIG}-20270115-090000-000000"), SESSION).close()
    older = lab.journals / NAME.replace("0900", "0959")
    JournalWriter(older, SESSION).close()
    os.utime(older, (1e9, 1e9))  # written in the summer time that ended within this hour
    heads = newest_heads(lab.journals, {"left": RIG, "right": "lynx6-2"})
    assert list(heads) == ["left"]
    assert (heads["left"].name, heads["left"].n) == (NAME, 5)
    assert newest_heads(lab.journals / "nowhere", {"left": RIG}) == {}


def test_heads_are_listed_only_where_they_are_asked_for(lab: Lab) -> None:
    lab.minute()
    lab.end()
    assert not list(query(lab.audit))
    (entry,) = query(lab.audit, what="journal")
    assert isinstance(entry.data, Deed) and entry.data.arm == "left"


def test_what_the_lab_owner_types_says_it_and_ends_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lab"
    make_lab(folder, name="L", hosts=(), arms={"left": "lynx6"}, seeds=(b"t" * 32, b"a" * 32), now_epoch_s=START_S)
    made = Lab(folder)
    made.minute()
    made.minute()
    made.end()

    def typed(*more: str) -> tuple[object, list[str]]:
        try:
            code = app(["audit", "verify", "--lab", str(folder), *more], standalone_mode=False)
        except SystemExit as error:
            code = error.code
        return code, capsys.readouterr().out.splitlines()

    code, lines = typed()
    assert not code
    assert lines[1] == f"{folder / 'journals'}: journals that agree with what the service signed: 1"
    recompute(made.path, changed=1)
    code, lines = typed()
    assert code == 1
    assert lines[1] == f"{folder / 'journals'}: journals that agree with what the service signed: 0"
    assert lines[2].startswith(f"{made.path}: record 5 is not the one that the service signed on 20")
    assert lines[-1].startswith("head ")
    assert not typed("--no-journals")[0]
    made.path.unlink()
    code, lines = typed()
    assert not code
    assert lines[1].endswith(" service signed: 0; gone, deleted or kept elsewhere: 1")


def noted(folder: Path) -> list[tuple[str, str, str]]:
    """Arm, verdict and file of each head in an audit."""
    entries = query(folder, what="journal")
    deeds = [entry.data for entry in entries if isinstance(entry.data, Deed)]
    return [(deed.arm, deed.verdict, deed.detail.split()[0]) for deed in deeds]


def last_of(arm: str, folder: Path) -> int:
    """Number of the newest record that was noted of an arm."""
    details = [entry.data.detail for entry in query(folder, arm=arm, what="journal") if isinstance(entry.data, Deed)]
    return int(details[-1].split()[1])


async def until(reached: object) -> None:
    async with asyncio.timeout(40.0):
        while not reached():  # type: ignore[operator]
            await asyncio.sleep(0.02)


@pytest.mark.wall_clock
def test_a_lab_notes_what_has_grown_an_arm_that_goes_away_and_its_own_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hil.service.running_lab.JOURNALS_EVERY_S", 0.0)

    async def test() -> None:
        audit = tmp_path / "audit"
        async with served(tmp_path, arms=2) as lab:
            await lab.ready()
            rigs = {arm: desk.rig.id for arm, desk in lab.lab.desks.items()}
            names = {arm: NAME.replace(RIG, rig) for arm, rig in rigs.items()}
            lab.lab.journals.mkdir(exist_ok=True)
            writers = {arm: JournalWriter(lab.lab.journals / name, SESSION) for arm, name in names.items()}
            await until(lambda: len(noted(audit)) == 2)
            assert set(noted(audit)) == {(arm, HEAD, name) for arm, name in names.items()}
            await lab.lab.note_journals(["arm-1", "arm-2"], HEAD)
            assert len(noted(audit)) == 2  # nothing has grown
            monkeypatch.setattr("hil.service.running_lab.JOURNALS_EVERY_S", 1e9)
            writers["arm-1"].tick(tick(0))
            writers["arm-1"].flush()
            lab.workers[rigs["arm-1"]].lose("pulled out")
            # Not by its verdict: a minute's round that was under way may have been quicker.
            await until(lambda: last_of("arm-1", audit) == 1)
            for writer in writers.values():
                writer.tick(tick(writer.ticks))
                writer.close()
        assert {(arm, LAB_ENDS, name) for arm, name in names.items()} <= set(noted(audit))
        assert check_journals(audit, tmp_path / "journals") == JournalsVerdict(agree=2, gone=0, wrong=())

    run(test)


@pytest.mark.processes
@pytest.mark.pty
def test_the_journal_of_a_served_arm_is_vouched_for_up_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "rigs").mkdir()
    lab = made_lab(tmp_path, demo_arms(1, "lynx6", tmp_path / "rigs"), settings=Settings())

    async def test() -> None:
        await lab.start()
        await until(lambda: newest_heads(lab.journals, {"arm-1": lab.desks["arm-1"].rig.id}))
        await lab.note_journals(["arm-1"], HEAD)
        await until(lambda: lab.desks["arm-1"].live.report is not None)
        await lab.close("the test is over")

    run(test)
    (path,) = lab.journals.glob("*.mcap")
    assert noted(lab.audit_folder) == [("arm-1", HEAD, path.name), ("arm-1", LAB_ENDS, path.name)]
    assert check_journals(lab.audit_folder, lab.journals) == JournalsVerdict(agree=1, gone=0, wrong=())
    *_, (_, last) = vouched_deeds(lab.audit_folder, "journal")
    assert int(last.detail.split()[1]) == verify_journal(path).records - 1
