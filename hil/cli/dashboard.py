"""hil dashboard: the window, on a local service of its own or on one that runs already."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hil.cli._names import names
from hil.cli._own_service import OwnService
from hil.errors import CommandError


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
    from hil.dashboard.probe import check, load_qt

    opengl = check()
    load_qt()
    # Before any thread is started: shiboken's import hook is not safe beside them, and ends the process now and then.
    import hil.dashboard.app  # noqa: F401

    if "://" in what or ":" in what:
        if hardware:
            raise typer.BadParameter("--hardware is for a rig of this computer; a service knows what its arms are")
        _show(what, token, name, opengl=opengl, task=task)
        return
    from hil.runtime.wiring import load_rig

    load_rig(what)
    service = OwnService(what, hardware=hardware)
    try:
        service.begin()
        service.wait()
        while _show(service.url, None, name, opengl=opengl, task=task, own=service):
            task = None
    finally:
        service.end()


def _show(
    url: str, token: str | None, name: str, *, opengl: bool, task: Path | None, own: OwnService | None = None
) -> bool:
    """One window, until it is closed; whether another one is to be shown, since its service was started again."""
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
    return run(ServiceLink(access, arm, name), opengl=opengl, task=task, own=own)
