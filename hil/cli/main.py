"""The `hil` command, from its first line to its last: signals first, then what was asked for. Imports next to nothing.

Each process that is started for a command may read this module again.
"""

from __future__ import annotations

import errno
import os
import sys

from hil.cli._interruption import INTERRUPTED, Interruption

# Type checkers take it for True. Nobody listens for Ctrl-C until this module is loaded, and `typing` is slow to load.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_OF_THE_MACHINE = frozenset(
    getattr(errno, name)
    for name in ("EACCES", "EPERM", "EROFS", "ENOSPC", "ENOENT", "ENOTDIR", "EDQUOT", "EISDIR", "ENAMETOOLONG")
    if hasattr(errno, name)
)
"""A folder or a disk that does not let us: what a person can mend, and no fault of the program."""


_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How many cores NumPy's algebra takes, asked for when it is loaded, here and in every process that a command starts.

What an arm multiplies takes a core microseconds. Threads beside it wait for more by spinning, on the loop's core, too.
"""


def main() -> NoReturn:
    """Run one command and turn every expected failure into one explaining line and an exit code."""
    interruption = Interruption()
    try:
        code = _to_its_end(interruption)
        interruption.when_nothing_is_left(code)
    except KeyboardInterrupt:  # it came just when all was done
        code = interruption.code
        interruption.when_nothing_is_left(code)
    sys.exit(code)


def _to_its_end(interruption: Interruption) -> int:
    """Run the command, and say so if it was interrupted; its exit code."""
    try:
        interruption.before_anything_is_started()
        code = _run(interruption)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code != INTERRUPTED:  # typer ends so, without a word
        return code
    print(interruption.words, file=sys.stderr)
    return interruption.code


def _run(interruption: Interruption) -> int:
    """Run it; its exit code."""
    import gc

    for name in _THREADS:
        os.environ.setdefault(name, "1")
    # What is imported stays: a tenth of a command's start would be spent on looking for garbage among it.
    gc.disable()
    from hil.cli import app
    from hil.cli._closed_terminal import write_without_a_terminal
    from hil.cli.output import complain
    from hil.errors import HilError

    gc.freeze()
    gc.enable()
    write_without_a_terminal()
    interruption.ends_what_runs()
    try:
        app.app()
    except HilError as error:
        from hil.runtime.line_health import explained

        complain(explained(error))
        return 1
    except SystemExit as end:
        if isinstance(end.code, str):
            complain(end.code)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BrokenPipeError:
        # The reader of our output went away (`hil robots | head`); nothing is left to say.
        sys.stderr.close()
        return 1
    except OSError as error:
        if not error.filename or error.errno not in _OF_THE_MACHINE:
            raise
        complain(
            f"{error.filename}: {error.strerror}. Make it yours to read and write, make room, or put your files "
            f"elsewhere: {_elsewhere()}"
        )
        return 1
    return 0


def _elsewhere() -> str:
    """Which settings of the system say where the files of a person go."""
    if sys.platform == "win32":
        return "APPDATA and LOCALAPPDATA name the folders"
    return "HOME names the folder, or XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_CACHE_HOME"
