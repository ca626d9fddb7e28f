"""What is said of a journal at the end of a run, and that motion ends with it, on virtual time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from recorded import run_to_end, write_journal
from virtual_session import Session, swing

from hil.runtime import journal_end
from hil.runtime.journal import Completeness, EndKind, JournalWriter, verify
from hil.runtime.journal_end import judge_end
from hil.runtime.journal_file import JournalFile
from hil.runtime.pace import JOURNAL_BEHIND_S, Watch
from hil.runtime.recorder import DRAIN_S, Recorder
from hil.runtime.ring import RECORDER_SLOT, RingReader, RingWriter
from hil.types import Disconnect, Mode, Stop, TickRecord


@pytest.fixture(scope="module")
def session() -> Session:
    return run_to_end(15.0)


@pytest.fixture(params=["whole", "only its end"])
def verified(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Journals of any length are looked at in either way."""
    if request.param == "only its end":
        monkeypatch.setattr(journal_end, "WHOLE_BYTES", 1000)
    return str(request.param)


def said(path: Path, session: Session, ticks: int | None = None) -> tuple[bool, str]:
    end = judge_end(path, session.session_record(), len(session.records) if ticks is None else ticks)
    return end.complete, end.text


def test_a_complete_journal_is_named(session: Session, tmp_path: Path, verified: str) -> None:
    path = write_journal(session, tmp_path / "run.mcap")
    assert said(path, session) == (True, f"journal {path}")


def not_complete(words: str) -> str:
    return "the journal is NOT COMPLETE: {path}: " + words


def removed(path: Path, session: Session) -> None:
    path.unlink()


def cut(path: Path, session: Session) -> None:
    os.truncate(path, path.stat().st_size // 2)


def emptied(path: Path, session: Session) -> None:
    os.truncate(path, 0)


def abandoned(path: Path, session: Session) -> None:
    path.unlink()
    with JournalWriter(path, session.session_record()) as writer:
        for record in session.records:
            writer.tick(record)
        writer.end(EndKind.ABANDONED, "the loop went away", 9.0)


def lossy(path: Path, session: Session) -> None:
    path.unlink()
    write_journal(session, path, gap=(3, 5))


def of_another_session(path: Path, session: Session) -> None:
    path.unlink()
    with JournalWriter(path, msgspec.structs.replace(session.session_record(), start_epoch_s=1.0)) as writer:
        writer.end(EndKind.CLOSED, "done", 9.0)


@pytest.mark.parametrize(
    ("happened", "words"),
    [
        (removed, "there is NO JOURNAL: {path} is gone"),
        (emptied, not_complete("not even its session record can be read")),
        (lossy, not_complete("3 ticks are lost")),
        (of_another_session, not_complete("it is of another session")),
    ],
)
def test_one_that_is_not_says_what_is_missing(
    session: Session, tmp_path: Path, verified: str, happened: Callable[[Path, Session], None], words: str
) -> None:
    path = write_journal(session, tmp_path / "run.mcap")
    happened(path, session)
    assert said(path, session) == (False, words.format(path=path))


@pytest.mark.parametrize("happened", [cut, abandoned])
def test_one_without_its_end_is_not_complete(
    session: Session, tmp_path: Path, verified: str, happened: Callable[[Path, Session], None]
) -> None:
    path = write_journal(session, tmp_path / "run.mcap")
    happened(path, session)
    complete, text = said(path, session)
    assert not complete
    assert text.startswith(f"the journal is NOT COMPLETE: {path}: ")


def test_ticks_that_the_loop_made_and_nobody_recorded_are_missed(
    session: Session, tmp_path: Path, verified: str
) -> None:
    path, ticks = write_journal(session, tmp_path / "run.mcap"), len(session.records)
    words = f"the journal is NOT COMPLETE: {path}: it holds {ticks} ticks, the loop made {ticks + 2}"
    assert said(path, session, ticks + 2) == (False, words)


def test_one_that_its_recorder_still_has_open_is_not_complete_yet(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with JournalWriter(path, session.session_record()):
        words = f"the journal is NOT COMPLETE: {path}: its recorder has not closed it yet"
        assert said(path, session) == (False, words)


# -- motion ends with its journal ----------------------------------------------------------------------------


class Recorded:
    """A session on virtual time with ring, recorder and watch, everything in one thread."""

    def __init__(self, folder: Path) -> None:
        self.session = Session()
        self.path = folder / "run.mcap"
        self.ring = RingWriter.create(folder / "ring", 4 << 20)
        self._reader = RingReader(folder / "ring", slot=RECORDER_SLOT)
        self.file = JournalFile(self.path)
        journal = JournalWriter(self.path, self.session.session_record(), self.file)
        self.recorder = Recorder(self._reader, journal, lambda pid: True)
        self.frozen = False
        period_s = self.session.rig.period_s
        self._watch = Watch(
            lambda: False,
            lambda: False,
            lambda now_s: 0.0,
            lambda: self.ring.unkept * period_s,
            lambda: self.ring.trouble,
        )
        self._every = round(DRAIN_S / period_s)
        self._encode = msgspec.msgpack.Encoder().encode
        self.session.to(Mode.STREAMING, swing())
        self._published = 0
        self._publish()
        self.recorder.step(self.now_s)

    @property
    def now_s(self) -> float:
        return self.session.clock.now_s()

    def _publish(self) -> None:
        for record in self.session.records[self._published :]:
            self.ring.append(self._encode(record))
        self._published = len(self.session.records)

    def tick(self) -> TickRecord:
        if not self.frozen and self._published % self._every == 0:
            self.recorder.step(self.now_s)
        record = self.session.tick(*self._watch.requests(self.now_s))
        self._publish()
        return record

    def until_it_rests(self) -> list[TickRecord]:
        records = [self.tick()]
        while records[-1].mode in (Mode.STREAMING, Mode.STOPPING):
            records.append(self.tick())
            assert len(records) < 200
        return records

    def close(self) -> None:
        self.recorder.close()
        self._reader.close()
        self.ring.close()


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    made = Recorded(tmp_path)
    for _ in range(20):
        assert made.tick().mode is Mode.STREAMING
    yield made
    made.close()


def gone(recorded: Recorded) -> None:
    recorded.path.unlink()


def shorter(recorded: Recorded) -> None:
    os.truncate(recorded.path, 5000)


def told(recorded: Recorded) -> None:
    recorded.recorder.leave("the recorder was interrupted by SIGTERM", recorded.now_s)


@pytest.mark.parametrize("blow", [gone, shorter, told])
def test_trouble_with_the_journal_is_a_ramp_within_a_look_and_a_tick_and_then_the_session_is_over(
    recorded: Recorded, blow: Callable[[Recorded], None]
) -> None:
    begun_s = recorded.now_s
    blow(recorded)
    records = recorded.until_it_rests()
    (asked,) = (r for r in records if any(isinstance(request, Disconnect) for request in r.requests))
    assert asked.t_s - begun_s < DRAIN_S + 1.5 * recorded.session.rig.period_s
    assert any(r.mode is Mode.STOPPING and r.sent is not None for r in records)
    assert any("no motion without a journal" in event for event in asked.events)
    assert recorded.session.mode is Mode.DISCONNECTED
    assert records[-1].t_s - begun_s < DRAIN_S + 0.1 + recorded.session.bridge.stop_time_s


def test_a_recorder_that_is_told_to_end_leaves_a_complete_journal(recorded: Recorded) -> None:
    told(recorded)
    recorded.until_it_rests()
    recorded.ring.close("the session ended")
    recorded.recorder.step(recorded.now_s)
    verdict = verify(recorded.path)
    assert (verdict.completeness, verdict.ticks) == (Completeness.COMPLETE, len(recorded.session.records))


def test_a_frozen_recorder_is_a_ramp_once_half_a_second_is_not_kept(recorded: Recorded) -> None:
    recorded.frozen = True
    begun_s = recorded.now_s
    records = recorded.until_it_rests()
    (asked,) = (r for r in records if any(isinstance(request, Stop) for request in r.requests))
    assert JOURNAL_BEHIND_S - DRAIN_S < asked.t_s - begun_s < JOURNAL_BEHIND_S + 2.0 * recorded.session.rig.period_s
    assert recorded.session.mode is Mode.HOLDING


def test_a_loop_that_was_held_up_itself_does_not_take_its_recorder_for_silent(recorded: Recorded) -> None:
    recorded.frozen = True
    recorded.session.clock.sleep_until(recorded.now_s + 10.0)
    record = recorded.tick()
    assert record.requests == ()
