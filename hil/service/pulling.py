"""An arm's rig as files: with what it inherits, its robot and its calibration, so that previews at home match it."""

from __future__ import annotations

from pathlib import Path

from hil.model.files import find, read_toml
from hil.model.rig import Rig
from hil.service.wire import PulledRig, RigFile


def pulled(arm: str, rig: Rig) -> PulledRig:
    """Everything that `load_rig` reads for this rig, below the folder of its kind.

    Raises:
        ConfigError: a file is no longer there, or cannot be read.
    """
    files: dict[str, Path] = {}
    path = find("rigs", rig.file)
    while True:
        files[f"rigs/{path.name}"] = path
        table = read_toml(path)
        if isinstance(table.get("robot"), str):
            robot = find("robots", table["robot"], file=str(path), key="robot")
            files.setdefault(f"robots/{robot.name}", robot)
        if not isinstance(table.get("inherit"), str):
            break
        path = find("rigs", table["inherit"], file=str(path), key="inherit")
    if rig.calibration is not None:
        calibration = Path(rig.calibration.file)
        files[f"calibrations/{calibration.name}"] = calibration
    texts = tuple(RigFile(name=name, text=path.read_bytes().decode("utf-8-sig")) for name, path in files.items())
    return PulledRig(arm=arm, digest=rig.digest, files=texts)
