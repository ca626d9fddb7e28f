"""Output that outlives its terminal: what is written to one that was closed goes nowhere, and raises nothing.

Whoever stops an arm because its terminal was closed must not fail over the words that it says on the way.
"""

from __future__ import annotations

import errno
import io
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from typing_extensions import Buffer


class _Terminal(io.FileIO):
    """A terminal that may be closed meanwhile."""

    def write(self, data: Buffer, /) -> int:
        """Write, or drop what nobody can read any more."""
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return memoryview(data).nbytes


def write_without_a_terminal() -> None:
    """Have standard output and standard error outlive the terminal that they are; anything else is left as it is."""
    if sys.platform == "win32":
        return
    sys.stdout, sys.stderr = _outliving(sys.stdout), _outliving(sys.stderr)


def _outliving(stream: TextIO) -> TextIO:
    try:
        if not stream.isatty():
            return stream
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):  # there is none, it is closed, or it is kept in memory
        return stream
    raw = io.BufferedWriter(_Terminal(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding=stream.encoding, errors=stream.errors, line_buffering=True)
