"""The `hil` command. Modules behind a command are imported when it runs, so that help answers at once."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

import typer

from hil.cli import (
    arms,
    audit,
    bench_controller,
    book,
    calibrate,
    connect,
    dashboard,
    derive,
    drive,
    fake,
    import_robot,
    jog,
    journal,
    kinematics,
    lint,
    login,
    moving,
    plot,
    program,
    pull,
    serve,
    tokens,
    watch,
    workspace,
)
from hil.cli.output import complain
from hil.errors import HilError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Plan, preview and stream motion to a small robot arm, or to its fake.",
)
arms.add_to(app)
connect.add_to(app)
import_robot.add_to(app)
kinematics.add_to(app)
workspace.add_to(app)
derive.add_to(app)
moving.add_to(app)
calibrate.add_to(app)
jog.add_to(app)
journal.add_to(app)
lint.add_to(app)
plot.add_to(app)
program.add_to(app)
fake.add_to(app)
bench_controller.add_to(app)
tokens.add_to(app)
login.add_to(app)
serve.add_to(app)
dashboard.add_to(app)
drive.add_to(app)
watch.add_to(app)
pull.add_to(app)
book.add_to(app)
audit.add_to(app)

_INTERRUPTED = 130


def _as_keyboard_interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """A polite end from the system, or a closed terminal, is treated like Ctrl-C: the arm is stopped first."""
    # A closed terminal is told of twice, by its shell and by the system; the second must not break off the stop.
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Run one command and turn every expected failure into one explaining line and an exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _as_keyboard_interrupt)
    try:
        app()
    except HilError as error:
        complain(str(error))
        sys.exit(1)
    except SystemExit as end:
        if end.code == _INTERRUPTED:  # typer ends so, without a word
            complain("interrupted")
        raise
    except KeyboardInterrupt:
        complain("interrupted")
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output went away (`hil robots | head`); nothing is left to say.
        sys.stderr.close()
        sys.exit(1)
