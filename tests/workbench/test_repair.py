"""A cut journal becomes one that other programs open, without a word changed or added but its end."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest
from mcap.reader import make_reader
from recorded import run_to_end, write_journal
from virtual_session import Session

from hil.errors import JournalError
from hil.runtime.journal import Completeness, JournalWriter, read_journal, verify
from hil.workbench.repair import repair


@pytest.fixture(scope="module")
def session() -> Session:
    return run_to_end(15.0)


@pytest.fixture
def complete(session: Session, tmp_path: Path) -> Path:
    return write_journal(session, tmp_path / "complete.mcap")


@pytest.fixture
def cut(session: Session, tmp_path: Path) -> Path:
    return write_journal(session, tmp_path / "cut.mcap", closed=False)


def _records(path: Path, most: int | None = None) -> list[tuple[str, bytes, int, int]]:
    entries = islice(read_journal(path), most)
    return [(entry.chain, entry.payload, entry.log_time_ns, entry.publish_time_ns) for entry in entries]


def _other_programs_open(path: Path) -> bool:
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
        return summary is not None and summary.statistics is not None


def test_the_copy_opens_elsewhere_and_keeps_every_record_with_its_hash(cut: Path, tmp_path: Path) -> None:
    before = cut.read_bytes()
    assert not _opens(cut)
    verdict = repair(cut, tmp_path / "new.mcap")
    assert _other_programs_open(tmp_path / "new.mcap")
    assert _records(tmp_path / "new.mcap")[:-1] == _records(cut)
    assert cut.read_bytes() == before
    assert verdict.completeness is Completeness.UNFINISHED and "it was repaired" in verdict.reason


def _opens(path: Path) -> bool:
    try:
        return _other_programs_open(path)
    except Exception:  # whatever the reader of the other program thinks of it
        return False


def test_the_end_of_the_copy_says_that_the_session_did_not_end_as_it_should(cut: Path, tmp_path: Path) -> None:
    repair(cut, tmp_path / "new.mcap")
    assert verify(tmp_path / "new.mcap").completeness is Completeness.UNFINISHED
    end = list(read_journal(tmp_path / "new.mcap"))[-1].end
    assert end is not None and end.kind.value == "abandoned"


@pytest.mark.parametrize("seed", range(12))
def test_a_file_cut_anywhere_keeps_all_that_is_whole(complete: Path, tmp_path: Path, seed: int) -> None:
    data = complete.read_bytes()
    first_tick = data.index(b'"type":"tick"')
    length = random.Random(seed).randrange(first_tick, data.rindex(b'"type":"end"'))
    short = tmp_path / "short.mcap"
    short.write_bytes(data[:length])
    whole = _records(short)
    verdict = repair(short, tmp_path / "new.mcap")
    assert _records(tmp_path / "new.mcap")[:-1] == whole == _records(complete)[: len(whole)]
    assert verdict.completeness is Completeness.UNFINISHED


def test_a_file_that_lacks_only_its_summary_gets_one(complete: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.mcap"
    short.write_bytes(complete.read_bytes()[:-40])
    verdict = repair(short, tmp_path / "new.mcap")
    assert _other_programs_open(tmp_path / "new.mcap")
    assert verdict.completeness is Completeness.COMPLETE
    assert _records(tmp_path / "new.mcap") == _records(complete)


def test_what_stands_before_a_changed_record_is_saved_and_the_rest_named(complete: Path, tmp_path: Path) -> None:
    data = complete.read_bytes()
    complete.write_bytes(data.replace(b'"tick":20,', b'"tick":21,', 1))
    verdict = repair(complete, tmp_path / "new.mcap")
    assert verdict.completeness is Completeness.UNFINISHED and verdict.ticks == 20
    assert "record 21 and all after it were left out" in verdict.reason
    assert _records(tmp_path / "new.mcap")[:-1] == _records(complete, 21)


def test_a_journal_that_is_whole_is_left_alone(complete: Path, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="nothing to repair: complete"):
        repair(complete, tmp_path / "new.mcap")
    assert not (tmp_path / "new.mcap").exists()


def test_a_repaired_journal_is_not_repaired_again(cut: Path, tmp_path: Path) -> None:
    repair(cut, tmp_path / "new.mcap")
    with pytest.raises(JournalError, match="nothing to repair: unfinished"):
        repair(tmp_path / "new.mcap", tmp_path / "newer.mcap")


@pytest.mark.parametrize("same", [True, False])
def test_no_file_is_overwritten_least_of_all_the_cut_one(cut: Path, tmp_path: Path, same: bool) -> None:
    output = cut if same else tmp_path / "there.mcap"
    if not same:
        output.write_bytes(b"mine")
    before = output.read_bytes()
    with pytest.raises(JournalError, match="exists already"):
        repair(cut, output)
    assert output.read_bytes() == before


@pytest.mark.parametrize("length", [0, 5, 40, 900])
def test_a_file_without_a_whole_session_record_holds_nothing_to_save(cut: Path, tmp_path: Path, length: int) -> None:
    cut.write_bytes(cut.read_bytes()[:length])
    with pytest.raises(JournalError, match="there is nothing to save"):
        repair(cut, tmp_path / "new.mcap")


def test_a_disk_that_fills_up_leaves_no_half_copy(cut: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: JournalWriter, record: object) -> None:
        raise JournalError("new.mcap: record 1 cannot be written: No space left on device")

    monkeypatch.setattr(JournalWriter, "tick", full)
    with pytest.raises(JournalError, match="No space left"):
        repair(cut, tmp_path / "new.mcap")
    assert [path.name for path in tmp_path.iterdir()] == ["cut.mcap"]
