"""hil supply: say that an arm's servo supply was cut, which nothing but a person can know, or see what was said."""

from __future__ import annotations

import datetime
import getpass
from typing import Annotated

import typer

from hil.cli._names import RigName


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(supply)


def supply(
    rig: RigName,
    word: Annotated[
        str | None, typer.Argument(metavar="[cut]", help="Say that it was cut, or may have been; none: show.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Who says so; none: the user of this computer.")] = None,
) -> None:
    """Say that the servo supply was cut: a session that runs stops at once, and none believes the echo any more."""
    from hil.model._supply_file import read_supply, write_supply
    from hil.runtime.port_wiring import is_calibrated_by_hand
    from hil.runtime.supply import WAY_BACK
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    if word not in (None, "cut"):
        raise typer.BadParameter(
            f"{word!r}; allowed: cut. That it is on again says who confirms the pose, at the next start"
        )
    if not is_calibrated_by_hand(set_up):
        print(f"{set_up.id}: its controller measures, and knows by itself whether the servos have power")
        return
    if word == "cut":
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        write_supply(set_up.id, by or _user(), now)
    note = read_supply(set_up.id)
    if note is None:
        print(f"{set_up.id}: nobody has said that the servo supply was cut")
        return
    print(f"{set_up.id}: {note.by} said at {note.date} that the servo supply was cut. {WAY_BACK}.")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name in the environment or in the system's list
        return "somebody"
