"""hil learn: lessons in a window, for any robot and without any arm."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from hil.cli._names import names
from hil.errors import CommandError
from hil.own_program import HIL


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(learn)


def learn(
    robot: Annotated[
        str,
        typer.Argument(autocompletion=names("robots"), help="Robot's name or file; `hil import` makes one of a URDF."),
    ] = "lynx6",
    view: Annotated[str, typer.Option(help="The lesson that is shown first, by its name.")] = "",
) -> None:
    """Lessons in a window: a DH table that is alive, every inverse solution, what is known of a robot."""
    from hil.dashboard.probe import check, load_qt
    from hil.model.reader import load_robot

    model = load_robot(robot)
    opengl = check()
    load_qt()
    # Before any thread is started, as in `hil dashboard`.
    from hil.dashboard.learn.app import run
    from hil.dashboard.learn.views import VIEWS

    known = [kind.name for kind in VIEWS]
    if view and view not in known:
        raise CommandError(f"--view {view}: no such lesson; allowed: {', '.join(known)}", value=view)
    code = run(model, opengl=opengl, send=_preview, view=view)
    if code:
        raise typer.Exit(code)


def _preview(path: Path, robot: str) -> Callable[[], str | None]:
    """A dashboard of its own, on the simulated arm, which has the task previewed; it ends by itself.

    Returns:
        What says why it ended too soon; nothing while it is open, an empty text once it was closed.
    """
    # A file, not a pipe: the dashboard outlives the lessons, and may complain until its end.
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
    child = subprocess.Popen(
        [*HIL, "dashboard", robot, "--open", str(path)],
        stdin=subprocess.DEVNULL,
        stderr=complaints,
        start_new_session=True,
    )

    def why_it_ended() -> str | None:
        code = child.poll()
        if code is None:
            return None
        with complaints:
            complaints.seek(0)
            lines = complaints.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), f"exit code {code}")
        return last if code else ""

    return why_it_ended
