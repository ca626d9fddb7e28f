"""A journal as a file: written by one process, looked at under its own name, and marked for as long as it is written.

The mark is a lock of the system on the open file: it dies with its process, however that ends, and lies beside no file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from hil.errors import JournalError

RESERVE_BYTES = 512 << 10
"""Room that is held back for the end of a journal: of the stop of an arm and the last records, several times."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class DiskFullError(JournalError):
    """There is no room left for what a journal has to take; it is kept, and can be written once there is."""


class TamperedError(JournalError):
    """The file under a journal's name is not the one that was written.

    Attributes:
        spoilt: whether the file itself was changed, so that whatever is added only hides how far it reads.
    """

    def __init__(self, message: str, *, spoilt: bool) -> None:
        super().__init__(message)
        self.spoilt = spoilt


class JournalFile:
    """A new file. Nothing is handed to the system before `flush`, and what it does not take is kept for the next one.

    Args:
        path: a new file.
        write: hands bytes to the system as `os.write` does.

    Raises:
        JournalError: the file exists or cannot be made.
    """

    def __init__(self, path: Path, write: Callable[[int, memoryview], int] = os.write) -> None:
        self.path = Path(path)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            self._fd = os.open(self.path, flags, 0o666)
        except OSError as error:
            raise JournalError(f"{self.path}: no journal can be made here: {error.strerror}") from None
        _mark(self._fd)
        self._write = write
        self._length = 0
        self._pending = bytearray()
        # What was written since the last look, and the byte before it: zero if the file was cut behind our back.
        self._unseen = bytearray()
        self._open, self._spoilt = True, False

    def open_another(self, path: Path) -> JournalFile:
        """A new file, written as this one is.

        Raises:
            JournalError: it exists or cannot be made.
        """
        return JournalFile(path, self._write)

    def write(self, data: bytes) -> int:
        """Take bytes for the next `flush`; of a file that was spoilt none, for what is there reads up to that place."""
        if not self._spoilt:
            self._pending += data
        return len(data)

    def tell(self) -> int:
        """Length of the file, with what waits for the next `flush`."""
        return self._length + len(self._pending)

    def flush(self) -> None:
        """Hand everything to the system.

        Raises:
            DiskFullError: there is no room; nothing is lost, and the next call goes on where this one ended.
            JournalError: it cannot be written for another reason.
        """
        while self._pending:
            try:
                with memoryview(self._pending) as waiting:
                    taken = self._write(self._fd, waiting)
            except OSError as error:
                raise self._error(error) from None
            self._unseen += self._pending[:taken]
            del self._pending[:taken]
            self._length += taken

    def look(self) -> None:
        """Compare what stands under the journal's name with what was handed to the system since the last look.

        Raises:
            TamperedError: it was removed, replaced, cut, or written to by somebody else.
            JournalError: it cannot be looked at.
        """
        try:
            own = os.fstat(self._fd)
            self._require_own_name(own)
            if own.st_size < self._length:
                raise self._spoil(
                    f"the journal was cut to {own.st_size} of its {self._length} bytes while it was written"
                )
            if own.st_size > self._length or self._read_back() != self._unseen:
                raise self._spoil("somebody else has written to the journal: its end does not read back")
        except OSError as error:
            raise JournalError(f"{self.path}: the journal cannot be read back: {error.strerror}") from None
        self._unseen = self._unseen[-1:]

    def _spoil(self, words: str) -> TamperedError:
        self._spoilt = True
        self._pending.clear()
        return TamperedError(f"{self.path}: {words}", spoilt=True)

    def _require_own_name(self, own: os.stat_result) -> None:
        try:
            there = os.stat(self.path)
        except (FileNotFoundError, NotADirectoryError):
            raise TamperedError(
                f"{self.path}: the journal was removed or renamed while it was written", spoilt=False
            ) from None
        if not os.path.samestat(own, there):
            raise TamperedError(f"{self.path}: another file has taken the place of the journal", spoilt=False)

    def _read_back(self) -> bytes:
        begin, found = self._length - len(self._unseen), bytearray()
        os.lseek(self._fd, begin, os.SEEK_SET)
        while len(found) < len(self._unseen) and (more := os.read(self._fd, len(self._unseen) - len(found))):
            found += more
        os.lseek(self._fd, self._length, os.SEEK_SET)
        return bytes(found)

    def sync(self) -> None:
        """Wait for the disk.

        Raises:
            JournalError: it does not take the file.
        """
        try:
            os.fsync(self._fd)
        except OSError as error:
            raise self._error(error) from None

    def close(self) -> None:
        """Let go of the file; twice is fine. What could not be written is lost."""
        if self._open:
            self._open = False
            with contextlib.suppress(JournalError):
                self.flush()
            with contextlib.suppress(OSError):
                os.close(self._fd)

    def _error(self, error: OSError) -> JournalError:
        words = f"{self.path}: the journal cannot be written: {error.strerror}"
        return DiskFullError(words) if error.errno in _FULL else JournalError(words)


class Reserve:
    """Room on a disk that nobody else can take, in a file without a name: it is gone with the process.

    Args:
        journal: beside which file.

    Raises:
        JournalError: no journal can be made there, or there is not that much room.
    """

    def __init__(self, journal: Path) -> None:
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=journal.parent, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise JournalError(f"{journal}: no journal can be made here: {error.strerror}") from None
        try:
            # Not zeros: some file systems would keep no room for them.
            left = memoryview(os.urandom(RESERVE_BYTES))
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self.release()
            needs = f"; {RESERVE_BYTES >> 10} KB have to be free" if error.errno in _FULL else ""
            raise JournalError(f"{journal}: no journal can be made here: {error.strerror}{needs}") from None

    def release(self) -> None:
        """Give the room back; twice is fine."""
        with contextlib.suppress(OSError):
            self._file.close()


def require_room(journal: Path) -> None:
    """Say at once, in one sentence, if no journal can be written to this file.

    Raises:
        JournalError: the folder is missing, read-only or full, or the file exists.
    """
    if os.path.lexists(journal):
        raise JournalError(f"{journal}: no journal can be made here: {os.strerror(errno.EEXIST)}")
    Reserve(journal).release()


# -- the mark --------------------------------------------------------------------------------------------


def being_written(path: Path) -> bool:
    """Whether a process has this journal open for writing; False if there is no such file.

    Whoever asks before looking at the length knows: after False the file stays as it is.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return False
    try:
        return _marked(fd)
    finally:
        os.close(fd)


if sys.platform == "win32":
    import msvcrt

    _FAR_BYTE = 0x7FFFFFFE
    """A lock there keeps nobody from reading: no part of a journal is that long."""

    def _mark(fd: int) -> None:
        with contextlib.suppress(OSError):
            os.lseek(fd, _FAR_BYTE, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        os.lseek(fd, 0, os.SEEK_SET)

    def _marked(fd: int) -> bool:
        os.lseek(fd, _FAR_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return True
        os.lseek(fd, _FAR_BYTE, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
        return False

else:
    import fcntl

    def _mark(fd: int) -> None:
        # A reader that asks holds a shared lock for a moment, so this waits for that; a file system without locks has
        # no marks, and its readers are told less.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)

    def _marked(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False
