"""A journal that is being written is read as far as it went when it was opened, and nobody is accused."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import pytest
from command_line import Terminal
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import run_to_end
from virtual_session import Session

from hil.errors import JournalError
from hil.runtime.journal import (
    Completeness,
    EndKind,
    JournalWriter,
    SessionRecord,
    newest_record,
    pack,
    part_path,
    read_journal,
    read_payloads,
    verify,
    wrong_link,
)
from hil.runtime.journal_file import JournalFile
from hil.runtime.replay import replay
from hil.types import TickRecord
from hil.workbench.columns import read_columns
from hil.workbench.export import Format, export
from hil.workbench.repair import repair


@pytest.fixture(scope="module")
def session() -> Session:
    return run_to_end(15.0)


class Growing:
    """A journal of that session, as far as it is written by now; the system takes it in pieces of some length."""

    def __init__(self, session: Session, path: Path, piece: int = 1 << 20) -> None:
        self.path, self.records = path, session.records
        self.piece = piece
        self.writer = JournalWriter(path, session.session_record(), JournalFile(path, self._write))
        self.written = 0

    def _write(self, fd: int, data: memoryview) -> int:
        return os.write(fd, data[: self.piece])

    def grow(self, ticks: int) -> None:
        for record in self.records[self.written : self.written + ticks]:
            self.writer.tick(record)
        self.written += ticks
        self.writer.flush()


@pytest.fixture
def growing(session: Session, tmp_path: Path) -> Iterator[Growing]:
    made = Growing(session, tmp_path / "run.mcap")
    made.grow(100)
    yield made
    made.writer.close()


def test_it_is_said_to_be_being_written_and_then_complete(growing: Growing) -> None:
    verdict = verify(growing.path)
    assert (verdict.completeness, verdict.ticks) == (Completeness.BEING_WRITTEN, 100)
    assert verdict.text.startswith("being written (FAKE, memory, rig lynx6): 101 records, 100 ticks over ")
    assert verdict.text.endswith(" s so far, no tick lost, all of them unchanged")
    growing.writer.end(EndKind.CLOSED, "done", 9.0)
    assert verify(growing.path).completeness is Completeness.COMPLETE


def test_who_began_to_read_sees_nothing_of_what_comes_later(growing: Growing) -> None:
    entries, payloads = read_journal(growing.path), read_payloads(growing.path)
    next(entries)
    next(payloads)
    growing.grow(50)
    assert sum(1 for _ in entries) == sum(1 for _ in payloads) == 100


def test_half_a_record_at_its_end_is_not_there_yet_also_where_more_come_after_it(growing: Growing) -> None:
    length = growing.path.stat().st_size
    growing.grow(3)
    whole = growing.path.read_bytes()
    os.truncate(growing.path, length + 100)
    entries = read_journal(growing.path)
    next(entries)
    growing.path.write_bytes(whole)
    assert sum(1 for _ in entries) == 100


def test_one_that_ends_while_it_is_read_is_not_taken_for_one_whose_recorder_was_killed(
    growing: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark is looked at before the length: here the recorder ends between the two."""
    from hil.runtime import journal

    read = journal.read_journal

    def reads_then_the_recorder_ends(path: Path) -> Iterator[object]:
        entries = read(path)
        yield next(entries)
        growing.writer.end(EndKind.CLOSED, "done", 9.0)
        yield from entries

    monkeypatch.setattr(journal, "read_journal", reads_then_the_recorder_ends)
    assert verify(growing.path).completeness is Completeness.BEING_WRITTEN


def test_one_that_was_just_made_is_not_either(session: Session, tmp_path: Path) -> None:
    file = JournalFile(tmp_path / "run.mcap")
    verdict = verify(file.path)
    assert (verdict.completeness, verdict.records) == (Completeness.BEING_WRITTEN, 0)
    file.close()
    assert verify(file.path).completeness is Completeness.UNFINISHED


@settings(max_examples=30, deadline=None)
@given(cut=st.integers(0, 5000), ticks=st.integers(0, 30))
def test_wherever_the_recorder_is_in_its_work_no_reader_calls_it_broken(
    session: Session, tmp_path_factory: pytest.TempPathFactory, cut: int, ticks: int
) -> None:
    growing = Growing(session, tmp_path_factory.mktemp("live") / "run.mcap")
    growing.grow(ticks)
    length = growing.path.stat().st_size
    growing.grow(8)
    os.truncate(growing.path, min(length + cut, growing.path.stat().st_size))
    verdict = verify(growing.path)
    assert verdict.completeness is Completeness.BEING_WRITTEN
    assert ticks <= verdict.ticks <= ticks + 8
    assert newest_record(growing.path) == (verdict.records - 1, verdict.head)
    assert replay(growing.path).same
    growing.writer.close()


def test_an_export_takes_what_was_verified_and_no_more(growing: Growing, tmp_path: Path) -> None:
    verdict = verify(growing.path)
    growing.grow(20)
    assert export(growing.path, Format.CSV, tmp_path / "run.csv", most=verdict.records) == 100
    assert len(read_columns(growing.path).tick) == 120


def test_a_copy_of_it_says_that_it_is_one(growing: Growing, tmp_path: Path) -> None:
    verdict = repair(growing.path, tmp_path / "copy.mcap")
    assert (verdict.completeness, verdict.ticks) == (Completeness.UNFINISHED, 100)
    assert verdict.reason == "the recorder closed it because it was copied while it was being written, up to here"


def test_the_commands_say_that_it_is_being_written(
    growing: Growing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    said = {
        "verify": terminal.run("journal", "verify", "run.mcap"),
        "replay": terminal.run("journal", "replay", "run.mcap"),
        "export": terminal.run("journal", "export", "run.mcap"),
        "repair": terminal.run("journal", "repair", "run.mcap", "-o", "copy.mcap"),
        "plot": terminal.run("plot", "run.mcap", "--axis", "base"),
    }
    assert {outcome.code for outcome in said.values()} == {0}, said
    assert all("being written" in outcome.out for outcome in said.values()), said
    assert not any("broken" in outcome.text for outcome in said.values())


def test_of_two_parts_read_while_one_turns_into_the_other_neither_is_accused(
    growing: Growing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next file is there before the full one has its end."""
    after = growing.writer.continue_in(part_path(growing.path, 1), growing.records[99].t_s)
    after.flush()
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    outcome = terminal.run("journal", "verify", "run.mcap", "run_part-0001.mcap")
    assert outcome.code == 0
    assert "goes on from run.mcap, which was still being written when it was read" in outcome.out
    after.close()


@pytest.fixture
def never_begun(session: Session, tmp_path: Path) -> Path:
    """A journal that is whole, of a session whose loop has never ticked."""
    path = tmp_path / "never.mcap"
    with JournalWriter(path, session.session_record()) as writer:
        writer.end(EndKind.CLOSED, "the recorder was interrupted by SIGTERM", 1.0)
    return path


def test_a_session_that_never_began_is_not_called_complete(never_begun: Path) -> None:
    verdict = verify(never_begun)
    assert verdict.completeness is Completeness.NEVER_BEGAN
    assert verdict.text == (
        "never began (FAKE, memory, rig lynx6): it has not one tick; ended: the recorder was interrupted by SIGTERM"
    )


def test_its_exit_code_is_of_its_own_and_something_broken_counts_more(
    never_begun: Path,
    growing: Growing,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    alone = terminal.run("journal", "verify", "never.mcap")
    assert alone.code == 3
    assert "complete" not in alone.out
    (tmp_path / "broken.mcap").write_bytes(b"no journal")
    assert terminal.run("journal", "verify", "never.mcap", "broken.mcap").code == 1
    assert terminal.run("journal", "verify", "run.mcap").code == 0


def test_a_later_part_without_a_tick_is_of_a_session_that_began(session: Session, tmp_path: Path) -> None:
    later = msgspec.structs.replace(session.session_record(), part=1, first_tick=100, after="a" * 64)
    with JournalWriter(tmp_path / "run_part-0001.mcap", later) as writer:
        writer.end(EndKind.CLOSED, "done", 1.0)
    assert verify(tmp_path / "run_part-0001.mcap").completeness is Completeness.COMPLETE


# -- against a process that writes as fast as it can ---------------------------------------------------------


def _write_on(path: Path, session: SessionRecord, records: list[TickRecord], told: Connection) -> None:
    """Go round and round in these ticks, in parts that are packed, until told to end."""
    journal, number, lost = JournalWriter(path, session), 0, 0
    told.send("begun")
    while not told.poll():
        for record in records[:7]:
            journal.tick(_numbered(record, number))
            number += 1
        journal.flush()
        journal.look()
        if journal.size_bytes > 300_000:
            full, journal = journal, journal.continue_in(part_path(path, journal.session.part + 1), float(number))
            full.flush()
            full.close()
            if full.session.part % 2:
                pack(full.path)
    assert lost == 0
    journal.end(EndKind.CLOSED, "done", float(number))


def _numbered(record: TickRecord, number: int) -> TickRecord:
    import msgspec

    return msgspec.structs.replace(record, tick=number)


@pytest.mark.processes
def test_two_hundred_looks_at_a_journal_that_grows_turns_over_and_is_packed_find_nothing_broken(
    session: Session, tmp_path: Path
) -> None:
    path = tmp_path / "run.mcap"
    ours, theirs = multiprocessing.Pipe()
    given = (path, session.session_record(), session.records, theirs)
    writer = multiprocessing.get_context("spawn").Process(target=_write_on, args=given)
    writer.start()
    ours.recv()
    found: dict[Completeness, int] = {}
    try:
        for look in range(200):
            parts = sorted(tmp_path.glob("run*.mcap"))
            newest = parts[-1]
            verdict = verify(newest)
            found[verdict.completeness] = found.get(verdict.completeness, 0) + 1
            assert verdict.completeness in (Completeness.BEING_WRITTEN, Completeness.COMPLETE), verdict.text
            newest_record(newest)
            if look % 10 == 0:
                _read_otherwise(newest, tmp_path / f"other-{look}")
    finally:
        ours.send("end")
        writer.join(20.0)
    assert writer.exitcode == 0
    assert found[Completeness.BEING_WRITTEN] > 100
    verdicts = [verify(part) for part in sorted(tmp_path.glob("run*.mcap"))]
    assert {verdict.completeness for verdict in verdicts} == {Completeness.COMPLETE}
    assert not any(wrong_link(after, before) for before, after in pairwise(verdicts))


def _read_otherwise(path: Path, output: Path) -> None:
    for payload in read_payloads(path):
        assert payload.startswith(b"{")
    try:
        export(path, Format.CSV, output.with_suffix(".csv"))
    except JournalError as error:
        assert "not a single tick" in str(error) or "not even the session record" in str(error)
    try:
        verdict = repair(path, output.with_suffix(".copy"))
    except JournalError as error:
        assert "nothing to repair" in str(error) or "nothing to save" in str(error)
    else:
        assert verdict.completeness is Completeness.UNFINISHED
