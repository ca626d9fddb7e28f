"""A journal's file: its mark, the room that is held for its end, and what is said before anything is connected."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from hil.errors import JournalError
from hil.runtime import journal_file
from hil.runtime.journal_file import RESERVE_BYTES, JournalFile, Reserve, being_written, require_room


def test_a_file_is_marked_from_its_making_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    assert not being_written(path)
    file = JournalFile(path)
    assert being_written(path)
    assert being_written(path)
    file.write(b"some")
    file.flush()
    assert being_written(path)
    file.close()
    file.close()
    assert not being_written(path)
    assert path.read_bytes() == b"some"


def test_readers_that_ask_at_one_time_do_not_take_each_other_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    JournalFile(path).close()
    first, second = (os.open(path, os.O_RDONLY) for _ in range(2))
    assert not journal_file._marked(first)
    assert not journal_file._marked(second)
    os.close(first)
    os.close(second)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX locks")
@pytest.mark.parametrize("error", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_has_no_marks_and_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    import fcntl

    def flock(fd: int, operation: int) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", flock)
    file = JournalFile(tmp_path / "run.mcap")
    file.write(b"some")
    file.flush()
    file.look()
    assert not being_written(file.path)
    file.close()


MARKED = """
import sys
from pathlib import Path
from hil.runtime.journal_file import JournalFile
file = JournalFile(Path(sys.argv[1]))
print("marked", flush=True)
sys.stdin.read()
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_the_mark_dies_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with subprocess.Popen([sys.executable, "-c", MARKED, str(path)], stdin=PIPE, stdout=PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert being_written(path)
        os.kill(writer.pid, signal.SIGSTOP)
        assert being_written(path)
        writer.kill()
        writer.wait()
    assert not being_written(path)


def test_what_the_system_takes_in_pieces_arrives_whole(tmp_path: Path) -> None:
    file = JournalFile(tmp_path / "run.mcap", lambda fd, data: os.write(fd, data[:3]))
    for words in (b"first words", b", and more of them", b""):
        file.write(words)
        file.flush()
        file.look()
    assert file.tell() == 29
    assert file.path.read_bytes() == b"first words, and more of them"
    file.close()


def test_nothing_is_handed_over_before_it_is_asked_for(tmp_path: Path) -> None:
    file = JournalFile(tmp_path / "run.mcap")
    file.write(b"some")
    assert (file.tell(), file.path.stat().st_size) == (4, 0)
    file.close()
    assert file.path.read_bytes() == b"some"


def test_no_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "run.mcap").write_bytes(b"somebody's")
    with pytest.raises(JournalError, match=r"run\.mcap: no journal can be made here: File exists"):
        JournalFile(tmp_path / "run.mcap")
    assert (tmp_path / "run.mcap").read_bytes() == b"somebody's"


# -- before anything is connected ----------------------------------------------------------------------------


def test_where_a_journal_can_be_made_nothing_is_left_of_the_trial(tmp_path: Path) -> None:
    require_room(tmp_path / "run.mcap")
    assert list(tmp_path.iterdir()) == []


def test_held_room_has_no_name(tmp_path: Path) -> None:
    held = Reserve(tmp_path / "run.mcap")
    assert list(tmp_path.iterdir()) == []
    assert held._file.seek(0, os.SEEK_END) == RESERVE_BYTES == 512 << 10
    held.release()
    held.release()


def a_file(folder: Path) -> Path:
    (folder / "run.mcap").touch()
    return folder / "run.mcap"


def a_link_to_nothing(folder: Path) -> Path:
    (folder / "run.mcap").symlink_to(folder / "nothing")
    return folder / "run.mcap"


def below_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "run.mcap"


@pytest.mark.skipif(sys.platform == "win32", reason="says it in other words")
@pytest.mark.parametrize(
    ("place", "words"),
    [
        (lambda folder: folder / "missing" / "run.mcap", "No such file or directory"),
        (below_a_file, "Not a directory"),
        (a_file, "File exists"),
        (a_link_to_nothing, "File exists"),
    ],
)
def test_a_place_for_no_journal_is_said_in_one_sentence(
    tmp_path: Path, place: Callable[[Path], Path], words: str
) -> None:
    path = place(tmp_path)
    with pytest.raises(JournalError) as error:
        require_room(path)
    assert str(error.value) == f"{path}: no journal can be made here: {words}"


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES])
def test_a_read_only_folder_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def temporary(**options: Any) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(tempfile, "TemporaryFile", temporary)
    with pytest.raises(JournalError, match=f"no journal can be made here: {os.strerror(error)}$"):
        require_room(tmp_path / "run.mcap")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_with_what_has_to_be_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open("/dev/full", "r+b", buffering=0)  # noqa: SIM115
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **options: opened)
    with pytest.raises(JournalError, match=r"made here: No space left on device; 512 KB have to be free$"):
        require_room(tmp_path / "run.mcap")
    assert opened.closed
