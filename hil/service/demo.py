"""The lab in a box: virtual arms, each a rig of its own with a fake controller, on this computer alone."""

from __future__ import annotations

from pathlib import Path

from hil.errors import ConfigError
from hil.model.files import list_names
from hil.model.rig import Rig
from hil.model.rig_text import file_text
from hil.runtime.wiring import load_rig
from hil.service.running_lab import ArmPlan
from hil.space.rig_of_robot import rig_of_robot

MOST = 32


def demo_arms(count: int, rig: str, folder: Path) -> tuple[ArmPlan, ...]:
    """Arms ``arm-1`` to ``arm-N`` after one rig.

    Args:
        count: how many.
        rig: name or file of the rig that they are copies of.
        folder: for their rig files; nothing else has to be there, or is touched.

    Raises:
        ConfigError: there is no such rig, or the number is out of range.
    """
    if not 1 <= count <= MOST:
        raise ConfigError("hil serve", "--demo", count, f"1 to {MOST} arms")
    whole = load_rig(rig)
    # A rig that is found by its name is found so on another computer, too.
    above = rig if rig in list_names("rigs") else Path(rig).resolve().as_posix()
    plans = []
    for number in range(1, count + 1):
        arm = f"arm-{number}"
        path = folder / f"{arm}.toml"
        path.write_text(_text(whole, above, f"{whole.title}, {arm}"), encoding="utf-8")
        plans.append(ArmPlan(arm=arm, rig=load_rig(path, calibrated=False), vouched=True))
    return tuple(plans)


def _text(rig: Rig, above: str, title: str) -> str:
    """The file of one arm: only what differs from its rig, or everything where a robot has none."""
    if not rig.defaults:
        return file_text({"inherit": above, "title": title})
    return file_text({**rig_of_robot(rig.robot, {"kind": rig.controller.kind}).table, "title": title})
