"""hil status, backup: a controller by itself, without moving anything. The fake unless --hardware is given."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated

import typer

from hil.cli._names import RigName
from hil.cli.arms import AsJson
from hil.cli.motion_commands import Hardware, Port, port_of, say_which
from hil.cli.output import print_json


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(status)
    app.command()(backup)


def status(rig: RigName, hardware: Hardware = False, port: Port = None, as_json: AsJson = False) -> None:
    """Ask a controller how it stands: key, stops, right, alarm, servos, joints. Ends with 1 if something must be done.

    Moves nothing. A CR1 is asked for the operation right for a moment, to see whether it is free.
    """
    from hil.runtime.port_wiring import look_over
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    url = port_of(set_up, hardware, port) if as_json else say_which(set_up, hardware, port)
    conditions = look_over(set_up, url)
    if as_json:
        print_json({"rig": set_up.id, "fake": url is None, "port": url, "conditions": conditions})
    else:
        for condition in conditions:
            mark = "  " if condition.good else "! "
            print(f"{mark}{condition.name:16} {condition.text}")
            if condition.remedy:
                print(f"  {'':16} to do: {condition.remedy}")
    if not all(condition.good for condition in conditions):
        raise typer.Exit(1)


def backup(
    rig: RigName,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write to; none: RIG-DATE.")] = None,
    hardware: Hardware = False,
    port: Port = None,
) -> None:
    """Save what people have stored in a controller: its programs with their positions, and its parameters."""
    from hil.errors import ConfigError
    from hil.runtime.port_wiring import back_up
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    url = say_which(set_up, hardware, port)
    folder = output if output is not None else Path(f"{set_up.id}-{datetime.date.today().isoformat()}")
    if folder.exists() and any(folder.iterdir()):
        allowed = "a new or empty folder: a backup is never written over"
        raise ConfigError("hil backup", "--output", str(folder), allowed)
    files = back_up(set_up, url)
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    print(f"{len(files)} files written to {folder}: {', '.join(file.name for file in files)}")
