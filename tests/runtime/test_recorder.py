from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import JournalError
from hil.runtime.journal import (
    Completeness,
    GapRecord,
    JournalWriter,
    SessionRecord,
    Wiring,
    pack,
    read_journal,
    verify,
    wrong_link,
)
from hil.runtime.journal_file import JournalFile, Reserve
from hil.runtime.processes import process_alive
from hil.runtime.recorder import QUIET_S, SILENT_S, TOLD_TO_END_S, Recorder
from hil.runtime.ring import RECORDER_SLOT, RingReader, RingWriter
from hil.types import JointState, Mode, StateSource, TickRecord

ROOT = Path(__file__).parents[2]
SESSION = SessionRecord(
    software_version="0.1.0",
    wiring=Wiring.FAKE,
    port="memory",
    rig_id="lynx6",
    rig_digest="ab" * 32,
    rig={},
    settings={},
    start_epoch_s=1_750_000_000.0,
    start_monotonic_s=0.0,
)


def _tick(number: int, position: float = 0.0, written: bytes = b"#0P1500\r") -> bytes:
    return msgspec.msgpack.encode(
        TickRecord(
            tick=number,
            t_s=0.02 * number,
            late_s=0.0,
            work_s=0.0,
            missed=0,
            mode=Mode.STREAMING,
            sample=number,
            wanted=None,
            sent=None,
            simulated=JointState(t_s=0.02 * number, positions=(position,), source=StateSource.SIMULATED),
            setpoint=(0.0,),
            reported=None,
            received=b"",
            written=written,
        )
    )


class Stage:
    """A loop's ring, a recorder over it, and a word on whether the loop's process is there."""

    def __init__(
        self,
        folder: Path,
        capacity_bytes: int = 1 << 16,
        part_bytes: int | None = None,
        journal: JournalWriter | None = None,
    ) -> None:
        self.journal_path = folder / "run.mcap"
        self.writer = RingWriter.create(folder / "ring", capacity_bytes)
        self.reader = RingReader(folder / "ring", slot=RECORDER_SLOT)
        self.journal = journal or JournalWriter(self.journal_path, SESSION)
        self.loop_is_there = True
        self.full: list[Path] = []
        self.recorder = Recorder(
            self.reader,
            self.journal,
            lambda pid: self.loop_is_there,
            part_bytes=part_bytes,
            on_full=self.full.append,
        )

    def ticks(self) -> list[int]:
        return [entry.tick.tick for entry in read_journal(self.journal_path) if entry.tick]

    def gaps(self) -> list[GapRecord]:
        return [entry.gap for entry in read_journal(self.journal_path) if entry.gap]

    def close(self) -> None:
        self.recorder.close()
        self.reader.close()
        self.writer.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.close()


def test_every_tick_is_on_disk_after_the_step_that_found_it(stage: Stage) -> None:
    stage.recorder.step(0.0)
    assert stage.ticks() == []
    for number in range(600):
        stage.writer.append(_tick(number, written=b""))
        if number % 100 == 99:
            stage.recorder.step(0.02 * number)
            assert stage.ticks() == list(range(number + 1))


def test_a_closed_ring_ends_the_journal_with_the_loops_own_word(stage: Stage) -> None:
    stage.writer.append(_tick(0))
    stage.writer.close("disconnect: the session ends")
    stage.recorder.step(1.0)
    assert stage.recorder.finished
    verdict = verify(stage.journal_path)
    assert verdict.completeness is Completeness.COMPLETE
    assert (verdict.ticks, verdict.reason) == (1, "disconnect: the session ends")


def test_a_long_session_goes_on_in_files_each_whole_by_itself_and_tied_to_the_one_before(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path, part_bytes=60_000)
    for number in range(600):
        stage.writer.append(_tick(number))
        if number % 20 == 19:
            stage.recorder.step(0.02 * number)
    stage.writer.close("disconnected")
    stage.recorder.step(13.0)
    paths = [stage.journal_path, *sorted(tmp_path.glob("run_part-*.mcap"))]
    assert len(paths) > 2
    assert sorted(paths) == paths
    assert stage.full == paths[:-1]
    assert all(path.stat().st_size < 100_000 for path in paths)
    before = [verify(path) for path in paths]
    for path in stage.full:
        written_s, size = path.stat().st_mtime, path.stat().st_size
        pack(path)
        assert path.stat().st_size < size / 3
        assert path.stat().st_mtime == written_s
    verdicts = [verify(path) for path in paths]
    assert verdicts == before
    assert {verdict.completeness for verdict in verdicts} == {Completeness.COMPLETE}
    assert [verdict.part for verdict in verdicts] == list(range(len(paths)))
    assert not any(wrong_link(after, first) for first, after in pairwise(verdicts))
    assert wrong_link(verdicts[2], verdicts[0])
    assert [entry.tick.tick for path in paths for entry in read_journal(path) if entry.tick] == list(range(600))
    stage.close()


def test_what_is_lost_while_the_file_changes_is_a_gap_in_the_next_one(tmp_path: Path) -> None:
    stage = Stage(tmp_path, capacity_bytes=4096, part_bytes=1)
    number = 0
    for burst in (3, 40, 2, 60, 1):
        for _ in range(burst):
            stage.writer.append(_tick(number))
            number += 1
        stage.recorder.step(0.02 * number)
    stage.writer.close()
    stage.recorder.step(99.0)
    verdicts = [verify(path) for path in (stage.journal_path, *sorted(tmp_path.glob("run_part-*.mcap")))]
    assert {verdict.completeness for verdict in verdicts} == {Completeness.COMPLETE}
    assert sum(verdict.ticks + verdict.lost for verdict in verdicts) == number
    assert sum(verdict.lost for verdict in verdicts) > 0
    stage.close()


def test_a_packed_journal_says_what_it_said_before_also_if_it_was_cut(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for number in range(20):
        stage.writer.append(_tick(number))
    stage.recorder.step(0.0)
    stage.close()
    stage.journal_path.write_bytes(stage.journal_path.read_bytes()[:-100])
    before = verify(stage.journal_path)
    assert before.completeness is Completeness.UNFINISHED
    pack(stage.journal_path)
    assert verify(stage.journal_path) == before
    stage.journal_path.unlink()
    with pytest.raises(JournalError):
        pack(stage.journal_path)
    assert list(tmp_path.glob("*.packing")) == []


def test_the_loop_is_told_which_ticks_can_be_read_back(stage: Stage) -> None:
    assert stage.writer.kept is None
    stage.recorder.step(7.0)
    assert stage.writer.kept == 0
    for number in range(3):
        stage.writer.append(_tick(number))
    assert stage.writer.unkept == 3
    stage.recorder.step(7.05)
    assert (stage.writer.kept, stage.writer.unkept) == (3, 0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=8))
def test_whatever_the_recorder_was_too_late_for_stands_in_the_journal_as_a_gap(
    tmp_path_factory: pytest.TempPathFactory, bursts: list[int]
) -> None:
    stage = Stage(tmp_path_factory.mktemp("stage"), capacity_bytes=4096)
    number = 0
    for i, burst in enumerate(bursts):
        for _ in range(burst):
            stage.writer.append(_tick(number))
            number += 1
        stage.recorder.step(float(i))
    stage.writer.close()
    stage.recorder.step(99.0)
    verdict = verify(stage.journal_path)
    assert verdict.completeness is (Completeness.COMPLETE if number else Completeness.NEVER_BEGAN)
    assert verdict.ticks + verdict.lost == number
    recorded = {*stage.ticks(), *(n for gap in stage.gaps() for n in range(gap.first, gap.last + 1))}
    assert recorded == set(range(number))
    stage.close()


def test_a_tick_that_does_not_fit_the_ring_is_a_gap_with_its_reason(tmp_path: Path) -> None:
    stage = Stage(tmp_path, capacity_bytes=4096)
    stage.writer.append(_tick(0))
    stage.writer.append(_tick(1, written=bytes(5000)))
    stage.recorder.step(0.0)
    stage.writer.append(_tick(2))
    stage.recorder.step(0.1)
    assert stage.gaps() == [GapRecord(t_s=0.0, first=1, last=1, reason="too large for the ring")]
    assert stage.ticks() == [0, 2]
    stage.close()


def test_a_tick_that_json_cannot_hold_is_a_gap_and_no_reason_to_give_up(stage: Stage) -> None:
    stage.writer.append(_tick(0, position=float("nan")))
    stage.writer.append(b"rubbish")
    stage.writer.append(_tick(2))
    stage.recorder.step(0.0)
    reasons = [gap.reason for gap in stage.gaps()]
    assert len(reasons) == 2
    assert "cannot be recorded: tick record does not read back as it was given" in reasons[0]
    assert stage.ticks() == [2]


def test_a_loop_that_is_gone_and_quiet_leaves_an_unfinished_journal_that_says_so(stage: Stage) -> None:
    stage.writer.append(_tick(0))
    stage.loop_is_there = False
    stage.recorder.step(0.0)
    stage.writer.append(_tick(1))
    stage.recorder.step(QUIET_S)
    stage.recorder.step(2.0 * QUIET_S)
    assert not stage.recorder.finished
    stage.recorder.step(2.1 * QUIET_S)
    assert stage.recorder.finished
    verdict = verify(stage.journal_path)
    assert verdict.completeness is Completeness.UNFINISHED
    assert verdict.text.endswith("then the recorder closed it because the loop went away without closing its record")
    assert verdict.ticks == 2


def test_a_loop_that_is_only_stopped_is_waited_for(stage: Stage) -> None:
    stage.recorder.step(0.0)
    stage.recorder.step(60.0)
    assert not stage.recorder.finished
    stage.recorder.step(SILENT_S + 1.0)
    assert stage.recorder.finished
    assert verify(stage.journal_path).completeness is Completeness.UNFINISHED


def test_a_recorder_that_is_told_to_end_has_the_loop_stop_and_records_to_its_end(stage: Stage) -> None:
    stage.writer.append(_tick(0))
    stage.recorder.leave("the recorder was interrupted by SIGTERM", 1.0)
    assert stage.writer.trouble == "the recorder was interrupted by SIGTERM"
    for number in range(1, 30):
        stage.recorder.step(1.0 + 0.05 * number)
        stage.writer.append(_tick(number))
    assert not stage.recorder.finished
    assert stage.writer.unkept == 1
    stage.writer.close("the session ended")
    stage.recorder.step(3.0)
    verdict = verify(stage.journal_path)
    assert (verdict.completeness, verdict.ticks) == (Completeness.COMPLETE, 30)


@pytest.mark.parametrize(("every_s", "longest_s"), [(0.05, TOLD_TO_END_S), (math.inf, QUIET_S)])
def test_it_waits_for_the_loop_no_longer_than_makes_sense(stage: Stage, every_s: float, longest_s: float) -> None:
    stage.writer.append(_tick(0))
    stage.recorder.step(0.0)
    stage.recorder.leave("the recorder was interrupted by SIGTERM", 0.0)
    number, now_s = 1, 0.0
    while not stage.recorder.finished:
        now_s += 0.05
        if every_s < math.inf:
            stage.writer.append(_tick(number))
            number += 1
        stage.recorder.step(now_s)
    assert longest_s < now_s < longest_s + 0.11
    assert verify(stage.journal_path).completeness is Completeness.UNFINISHED


# -- what happens to the file ----------------------------------------------------------------------------


class Disk:
    """Takes so many bytes, then says why it takes no more."""

    def __init__(self, room: float = math.inf, error: int = errno.ENOSPC) -> None:
        self.room, self.error = room, error

    def write(self, fd: int, data: memoryview) -> int:
        if self.room <= 0:
            raise OSError(self.error, os.strerror(self.error))
        taken = os.write(fd, data[: int(min(len(data), self.room))])
        self.room -= taken
        return taken


class Held(Reserve):
    """Room of such a disk."""

    def __init__(self, disk: Disk, room: float) -> None:
        self._disk, self._room = disk, room

    def release(self) -> None:
        self._disk.room += self._room
        self._room = 0


def on_a_disk(folder: Path, disk: Disk, reserve: float | None = None) -> Stage:
    """A stage whose journal is written to this disk; the session is on it."""
    folder.mkdir(exist_ok=True)
    path = folder / "run.mcap"
    stage = Stage(folder, journal=JournalWriter(path, SESSION, JournalFile(path, disk.write)))
    stage.recorder = Recorder(
        stage.reader,
        stage.journal,
        lambda pid: stage.loop_is_there,
        reserve=None if reserve is None else Held(disk, reserve),
    )
    stage.recorder.step(0.0)
    return stage


def run_on(stage: Stage, first: int, count: int) -> None:
    for number in range(first, first + count):
        stage.writer.append(_tick(number))
        stage.recorder.step(0.02 * number)


def test_a_full_disk_stops_the_arm_and_what_was_held_back_takes_the_rest(tmp_path: Path) -> None:
    disk = Disk()
    stage = on_a_disk(tmp_path, disk, reserve=100_000)
    run_on(stage, 0, 10)
    disk.room = 300  # less than a tick takes
    run_on(stage, 10, 1)
    assert stage.writer.trouble.endswith("run.mcap: the journal cannot be written: No space left on device")
    assert stage.writer.unkept == 0
    run_on(stage, 11, 30)
    assert stage.writer.unkept == 0
    stage.writer.close("the session ended")
    stage.recorder.step(9.0)
    verdict = verify(stage.journal_path)
    assert (verdict.completeness, verdict.ticks, verdict.lost) == (Completeness.COMPLETE, 41, 0)


def test_the_end_itself_may_take_what_was_held_back(tmp_path: Path) -> None:
    disk = Disk()
    stage = on_a_disk(tmp_path, disk, reserve=100_000)
    run_on(stage, 0, 10)
    stage.writer.close("the session ended")
    disk.room = 0
    stage.recorder.step(9.0)
    assert verify(stage.journal_path).completeness is Completeness.COMPLETE


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 4000), st.integers(0, 8), st.integers(1, 8))
def test_a_disk_that_is_full_for_a_while_loses_nothing_and_tears_no_record(
    tmp_path_factory: pytest.TempPathFactory, room: int, while_full: int, after: int
) -> None:
    disk = Disk()
    stage = on_a_disk(tmp_path_factory.mktemp("disk"), disk)
    run_on(stage, 0, 2)
    disk.room = room
    run_on(stage, 2, while_full)
    kept = stage.writer.kept
    assert kept is not None
    assert stage.ticks()[:kept] == list(range(kept))
    assert verify(stage.journal_path).completeness is Completeness.BEING_WRITTEN
    disk.room = math.inf
    run_on(stage, 2 + while_full, after)
    stage.writer.close("the session ended")
    stage.recorder.step(9.0)
    verdict = verify(stage.journal_path)
    assert (verdict.completeness, verdict.ticks) == (Completeness.COMPLETE, 2 + while_full + after)
    stage.close()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_a_disk_that_takes_nothing_any_more_is_an_error_in_one_line_at_the_end(tmp_path: Path, error: int) -> None:
    disk = Disk(error=error)
    stage = on_a_disk(tmp_path, disk, reserve=0)
    run_on(stage, 0, 3)
    disk.room = 0
    run_on(stage, 3, 1)
    words = f"run.mcap: the journal cannot be written: {os.strerror(error)}"
    assert stage.writer.trouble.endswith(words)
    assert stage.writer.unkept == 1
    stage.writer.close("the session ended")
    with pytest.raises(JournalError, match=words):
        stage.recorder.step(9.0)
    assert verify(stage.journal_path).completeness is Completeness.UNFINISHED


def removed(path: Path) -> None:
    path.unlink()


def renamed(path: Path) -> None:
    path.rename(path.with_name("elsewhere.mcap"))


def in_another_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.replace(path)


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def added_to(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"!")


def changed(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")


GONE = "the journal was removed or renamed while it was written"
TAMPERED = [
    (removed, GONE),
    (renamed, GONE),
    (in_another_folder, GONE),
    (replaced, "another file has taken the place of the journal"),
    (emptied, "the journal was cut to 0 of its "),
    (cut, "bytes while it was written"),
    (added_to, "somebody else has written to the journal"),
    (changed, "somebody else has written to the journal"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be taken away there")
@pytest.mark.parametrize(("tamper", "words"), TAMPERED)
def test_whatever_happens_to_the_file_is_said_in_the_next_step_and_no_tick_counts_as_kept_after_it(
    tmp_path: Path, tamper: Callable[[Path], None], words: str
) -> None:
    stage = on_a_disk(tmp_path / "journals", Disk())
    run_on(stage, 0, 10)
    assert stage.writer.trouble == ""
    tamper(stage.journal_path)
    run_on(stage, 10, 1)
    assert words in stage.writer.trouble
    run_on(stage, 11, 5)
    assert stage.writer.kept == 10
    stage.writer.close("the session ended")
    with pytest.raises(JournalError, match=r"the journal|somebody else"):
        stage.recorder.step(9.0)
    assert stage.recorder.finished


@pytest.mark.parametrize("left", [0, 1, 1000])
def test_a_cut_between_the_look_and_the_next_write_shows_in_the_bytes_before_it(tmp_path: Path, left: int) -> None:
    disk = Disk()
    stage = on_a_disk(tmp_path, disk)
    run_on(stage, 0, 3)
    length = stage.journal_path.stat().st_size

    def write(fd: int, data: memoryview) -> int:
        os.truncate(stage.journal_path, length - 1 - left)
        return os.write(fd, data)

    stage.journal._file._write = write
    run_on(stage, 3, 1)
    assert "its end does not read back" in stage.writer.trouble
    assert stage.writer.kept == 3


def test_what_was_cut_stays_as_it_was_cut(tmp_path: Path) -> None:
    stage = on_a_disk(tmp_path, Disk())
    run_on(stage, 0, 10)
    cut(stage.journal_path)
    run_on(stage, 10, 10)
    length = stage.journal_path.stat().st_size
    run_on(stage, 20, 10)
    stage.close()
    assert stage.journal_path.stat().st_size == length


def test_a_journal_that_was_only_renamed_is_written_to_its_end_there(tmp_path: Path) -> None:
    stage = on_a_disk(tmp_path, Disk())
    run_on(stage, 0, 10)
    renamed(stage.journal_path)
    run_on(stage, 10, 10)
    stage.writer.close("the session ended")
    with pytest.raises(JournalError):
        stage.recorder.step(9.0)
    verdict = verify(tmp_path / "elsewhere.mcap")
    assert (verdict.completeness, verdict.ticks) == (Completeness.COMPLETE, 20)


def test_a_folder_that_takes_no_next_file_has_the_arm_stopped_and_the_full_one_goes_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path, part_bytes=30_000)
    (tmp_path / "run_part-0001.mcap").write_bytes(b"somebody was here first")
    for number in range(60):
        stage.writer.append(_tick(number))
        stage.recorder.step(0.02 * number)
    assert "run_part-0001.mcap: no journal can be made here: File exists" in stage.writer.trouble
    assert stage.writer.unkept == 0
    stage.writer.close("the session ended")
    stage.recorder.step(9.0)
    verdict = verify(stage.journal_path)
    assert (verdict.completeness, verdict.ticks) == (Completeness.COMPLETE, 60)
    stage.close()


LOOP = """
import sys, time
from pathlib import Path
from hil.runtime.ring import RingWriter
from tests.runtime.test_recorder import _tick
ring = RingWriter.attach(Path(sys.argv[1]))
for number in range(100):
    ring.append(_tick(number))
print("written", flush=True)
sys.stdin.read()
"""

PARENT = """
import multiprocessing, sys
sys.path.insert(0, ".")
from pathlib import Path
from hil.runtime.recorder import record
from tests.runtime.test_recorder import SESSION
if __name__ == "__main__":
    paths = Path(sys.argv[1]), Path(sys.argv[2])
    child = multiprocessing.get_context("spawn").Process(target=record, args=(*paths, SESSION))
    child.start()
    print(child.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_the_recorder_outlives_its_parent_and_sees_the_loop_die(tmp_path: Path) -> None:
    ring, journal = tmp_path / "ring", tmp_path / "run.mcap"
    RingWriter.create(ring, 1 << 20).detach()
    with (
        subprocess.Popen([sys.executable, "-c", LOOP, str(ring)], stdin=PIPE, stdout=PIPE, cwd=ROOT) as loop,
        subprocess.Popen(
            [sys.executable, _script(tmp_path), str(ring), str(journal)], stdin=PIPE, stdout=PIPE, cwd=ROOT
        ) as parent,
    ):
        assert loop.stdout is not None
        assert parent.stdout is not None
        loop.stdout.readline()
        recorder = int(parent.stdout.readline())
        _until(lambda: journal.exists() and verify(journal).ticks == 100)
        parent.kill()
        parent.wait()
        _until(lambda: not process_alive(parent.pid))
        assert process_alive(recorder)
        loop.kill()
        loop.wait()
        _until(lambda: not process_alive(recorder))
    verdict = verify(journal)
    assert verdict.completeness is Completeness.UNFINISHED
    assert "the loop went away" in verdict.text
    assert verdict.ticks == 100
    assert verdict.lost == 0


def _script(folder: Path) -> str:
    script = folder / "parent.py"
    script.write_text(PARENT, encoding="utf-8")
    return str(script)


def _until(reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 20.0
    while not reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.mark.processes
def test_a_recorder_that_cannot_write_its_journal_says_so_in_one_line(tmp_path: Path) -> None:
    RingWriter.create(tmp_path / "ring", 1 << 16).detach()
    journal = tmp_path / "missing" / "run.mcap"
    code = (
        "import sys; from pathlib import Path; from hil.runtime.recorder import record\n"
        "from tests.runtime.test_recorder import SESSION\n"
        "record(Path(sys.argv[1]), Path(sys.argv[2]), SESSION)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "ring", journal], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == f"recorder: {journal}: no journal can be made here: No such file or directory\n"


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="policies as Linux has them")
def test_a_recorder_that_is_up_is_kept_waiting_by_no_ordinary_program(tmp_path: Path) -> None:
    """Its silence stops the arm; reading its way in, it takes turns with everybody."""
    RingWriter.create(tmp_path / "ring", 1 << 16).close("the test is over")
    code = (
        "import os, sys; from pathlib import Path; from hil.runtime.recorder import record\n"
        "from hil.runtime.rtprio import answer_at_once\n"
        "from tests.runtime.test_recorder import SESSION\n"
        "def policy(): print(os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK)\n"
        "policy(); record(Path(sys.argv[1]), Path(sys.argv[2]), SESSION); policy(); answer_at_once(); policy()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "ring", tmp_path / "run.mcap"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, recording, asked = done.stdout.split()
    assert before == str(os.SCHED_OTHER) and recording == asked
