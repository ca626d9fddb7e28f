"""An arm's rig as files: with what it inherits, its robot and its calibration, so that previews at home match it."""

from __future__ import annotations

import re
from pathlib import Path

from hil.model.files import find, parse_toml
from hil.model.rig import Rig
from hil.model.rig_text import file_text
from hil.service.wire import PulledRig, RigFile
from hil.space.rig_of_robot import rig_of_robot


def pulled(arm: str, rig: Rig) -> PulledRig:
    """Everything that `load_rig` reads for this rig, below the folder of its kind.

    Where a file names another one, it does so by a path from itself, so that the folders stay together wherever
    they are put.

    Raises:
        ConfigError: a file is no longer there, or cannot be read.
    """
    if rig.defaults:
        return PulledRig(arm=arm, digest=rig.digest, files=_of_robot(rig))
    files: dict[str, str] = {}
    path = find("rigs", rig.file)
    calibration = None if rig.calibration is None else Path(rig.calibration.file)
    if calibration is not None:
        files[f"calibrations/{calibration.name}"] = calibration.read_text("utf-8-sig")
    while True:
        data = path.read_bytes()
        text, table = data.decode("utf-8-sig"), parse_toml(data, str(path))
        above, robot = table.get("inherit"), table.get("robot")
        if isinstance(robot, str):
            found = find("robots", robot, file=str(path), key="robot")
            text = _naming(text, "robot", f"../robots/{found.name}")
            files[f"robots/{found.name}"] = found.read_text("utf-8-sig")
        if isinstance(above, str):
            text = _naming(text, "inherit", f"./{find('rigs', above, file=str(path), key='inherit').name}")
        # A calibration is named by the rig that it is for; others inherit none.
        first = not any(name.startswith("rigs/") for name in files)
        named = f"../calibrations/{calibration.name}" if calibration is not None and first else None
        files[f"rigs/{path.name}"] = _naming(text, "calibration", named)
        if not isinstance(above, str):
            break
        path = find("rigs", above, file=str(path), key="inherit")
    return PulledRig(arm=arm, digest=rig.digest, files=tuple(RigFile(name=n, text=t) for n, t in files.items()))


def _of_robot(rig: Rig) -> tuple[RigFile, ...]:
    """A rig that was made of a robot alone has no file: it is written out."""
    robot = Path(rig.file)
    table = {**rig_of_robot(rig.robot, {"kind": rig.controller.kind}).table, "robot": f"../robots/{robot.name}"}
    return (
        RigFile(name=f"rigs/{rig.id}.toml", text=file_text(table, rig.defaults)),
        RigFile(name=f"robots/{robot.name}", text=robot.read_text("utf-8-sig")),
    )


def _naming(text: str, key: str, value: str | None) -> str:
    """The text with another value of a key at its top, or without it."""
    without = re.sub(rf"(?m)^{key}\s*=.*\n?", "", text, count=1)
    return without if value is None else f'{key} = "{value}"\n{without}'
