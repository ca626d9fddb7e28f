"""hil pull: fetch an arm's rig from a lab, so that previews at home match it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.output import complain
from hil.errors import ConfigError, LinkError

if TYPE_CHECKING:
    from hil.service.wire import PulledRig

_NAME = re.compile(r"(rigs|robots|calibrations)/[A-Za-z0-9_][A-Za-z0-9_. -]{0,100}\.toml\Z")
_MARK = ".hil-pulled"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(pull)


def pull(
    url: Annotated[str, typer.Argument(metavar="URL", help="The lab's address, or the arm's.")],
    arm: Annotated[str | None, typer.Argument(metavar="[ARM]", help="Which arm, if the address does not say.")] = None,
    folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder to write; none: the arm's name.")
    ] = None,
) -> None:
    """Fetch an arm's rig, robot and calibration as files, and check that they mean the same here as there."""
    from hil.runtime.wiring import load_rig
    from hil.service.connection import arm_path, reach, reach_arm
    from hil.service.lab_request import ask
    from hil.service.wire import PulledRig, decode_body

    if arm is None:
        access, arm = reach_arm(url)
    else:
        access, behind = reach(url)
        if behind and behind != arm:
            raise typer.BadParameter(f"the address names {behind}; give either it or {arm}", param_hint="ARM")
    found = decode_body(ask(access, "GET", arm_path(arm, "rig")), PulledRig)
    file = write_rig(found, folder or Path(arm))
    print(f"{arm}: {', '.join(each.name for each in found.files)} in {file.parents[1]}")
    # The arm's own calibration, not one that lies here for another arm of that name.
    measured = [file.parents[1] / each.name for each in found.files if each.name.startswith("calibrations/")]
    if load_rig(file, calibrated=measured[0] if measured else False).digest != found.digest:
        complain("this rig does not mean the same here as in the lab; is one hil older than the other?")
        raise typer.Exit(1)
    print(f"previews here match the arm: hil preview {file} TASK")


def write_rig(found: PulledRig, folder: Path) -> Path:
    """Write a pulled rig's files; gives the rig's own.

    A folder that was pulled into before is written again; any other has to be new or empty.

    Raises:
        ConfigError: the folder has other things in it, or cannot be written.
        LinkError: the server names files that no rig has.
    """
    names = [each.name for each in found.files]
    rigs = [name for name in names if name.startswith("rigs/")]
    if not rigs or len(set(names)) != len(names) or not all(_NAME.match(name) and ".." not in name for name in names):
        raise LinkError("the lab sends a rig with files that no rig has; nothing was written")
    try:
        if folder.exists() and not (folder / _MARK).exists() and any(folder.iterdir()):
            raise ConfigError(
                str(folder), "folder", "one with other things in it", "a new one, or one of a pull before"
            )
        for each in found.files:
            path = folder / each.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(each.text, encoding="utf-8")
        (folder / _MARK).write_text(f"{found.arm} {found.digest}\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(folder), "folder", error.strerror or str(error), "one that can be written to") from None
    return folder / rigs[0]
