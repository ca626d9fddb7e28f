"""hil dashboard: the window, on a local service of its own or on one that runs already."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Annotated

import typer

from hil.cli._names import names
from hil.errors import CommandError, LinkError
from hil.own_program import PYTHON
from hil.runtime.terminal_signals import held_back, start_unheard

START_S = 30.0
END_S = 20.0
_SERVING = "serving "
_SERVICE = "hil.cli._service_of_window"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(dashboard)


def dashboard(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RIG|ROBOT|URL", autocompletion=names("rigs", "robots"), help="Or the address of a service."
        ),
    ] = "lynx6",
    hardware: Annotated[bool, typer.Option("--hardware", help="The rig's real arm. Without: a fake.")] = False,
    token: Annotated[str | None, typer.Option(help="For a service; else that of your login.")] = None,
    name: Annotated[str, typer.Option(help="Shown to others where no token brings one.")] = "",
    task: Annotated[
        Path | None, typer.Option("--open", help="A task or program that is previewed as soon as the arm is heard.")
    ] = None,
) -> None:
    """Watch an arm in a window: scene, curves, state, STOP."""
    from hil.dashboard.probe import check

    opengl = check()
    # Before any thread is started: shiboken's import hook is not safe beside them, and ends the process now and then.
    import hil.dashboard.app  # noqa: F401

    if "://" in what or ":" in what:
        if hardware:
            raise typer.BadParameter("--hardware is for a rig of this computer; a service knows what its arms are")
        _show(what, token, name, opengl=opengl, task=task)
        return
    from hil.runtime.wiring import load_rig

    load_rig(what)
    with _local_service(what, hardware) as url:
        _show(url, None, name, opengl=opengl, task=task)


def _show(url: str, token: str | None, name: str, *, opengl: bool, task: Path | None) -> None:
    from hil.dashboard.app import run
    from hil.dashboard.application import make_application
    from hil.dashboard.service_link import ServiceLink
    from hil.service.connection import list_arms, reach_arm

    access, arm = reach_arm(url, token)
    names = [each.arm for each in list_arms(access).arms]
    if arm not in names:
        raise CommandError(f"{access.url}: no arm {arm!r} for you; there are: {', '.join(names) or 'none'}", value=arm)
    make_application()
    print(f"showing {arm} at {access.url}; close the window to end", flush=True)
    code = run(ServiceLink(access, arm, name), opengl=opengl, task=task)
    if code:
        raise typer.Exit(code)


@contextlib.contextmanager
def _local_service(rig: str, hardware: bool) -> Iterator[str]:
    """A service of this computer's own for one rig, as long as the window is open."""
    command = [*PYTHON, "-m", _SERVICE, "serve", rig, "--port", "0"]
    child = start_unheard(
        lambda: subprocess.Popen(
            [*command, "--hardware"] if hardware else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    try:
        yield _address(child)
    finally:
        with held_back():
            _end(child)


def _end(child: subprocess.Popen[str]) -> None:
    """It stops and holds its arm before it ends."""
    assert child.stdin is not None
    with contextlib.suppress(OSError):
        child.stdin.close()
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _address(child: subprocess.Popen[str]) -> str:
    """Wait for the line in which the service says where it is; its first lines are shown, and its complaints always."""
    found: Queue[str] = Queue()
    complaints: list[str] = []

    def listen() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            if line.startswith(_SERVING):
                found.put(line.rpartition(" at ")[2].strip())
            elif line.startswith(("FAKE", "REAL")):
                print(line, end="", flush=True)
        found.put("")

    def hear() -> None:
        assert child.stderr is not None
        for line in child.stderr:
            complaints.append(line.strip())
            print(line, end="", file=sys.stderr, flush=True)

    for work in (listen, hear):
        threading.Thread(target=work, daemon=True).start()
    try:
        address = found.get(timeout=START_S)
    except Empty:
        address = ""
    if not address:
        child.poll()
        reason = complaints[-1] if complaints else f"it did not answer within {START_S:g} s"
        raise LinkError(f"the local service did not start: {reason}")
    return address
