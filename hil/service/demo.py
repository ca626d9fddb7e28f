"""The lab in a box: virtual arms, each a rig of its own with a fake controller, on this computer alone."""

from __future__ import annotations

from pathlib import Path

from hil.errors import ConfigError
from hil.model.files import find, list_names
from hil.runtime.wiring import load_rig
from hil.service.running_lab import ArmPlan

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
    find("rigs", rig)
    # A rig that is found by its name is found so on another computer, too.
    above = rig if rig in list_names("rigs") else Path(rig).resolve().as_posix()
    title = load_rig(rig).title
    plans = []
    for number in range(1, count + 1):
        arm = f"arm-{number}"
        path = folder / f"{arm}.toml"
        path.write_text(f'inherit = "{above}"\ntitle = "{title}, {arm}"\n', encoding="utf-8")
        plans.append(ArmPlan(arm=arm, rig=load_rig(path, calibrated=False), vouched=True))
    return tuple(plans)
