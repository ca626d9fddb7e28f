"""What a rig has to say for a limp arm that lies elsewhere than its park pose says."""

from __future__ import annotations

from collections.abc import Mapping

from hil.model.rig import Axis, Rig
from hil.tables import toml_value
from hil.workbench.jog_pad import unit_of

INSIDE = 0.1
"""Degrees or millimetres: a named pose stays so far inside the soft limits."""


def park_text(rig: Rig, lies: Mapping[str, float], by: str, date: str) -> str:
    """Lines for the rig's file.

    Args:
        rig: the resolved rig.
        lies: where axes lie, by name, in degrees or millimetres; the others as the rig has them.
        by: who has measured.
        date: as 2026-01-31.

    Returns:
        TOML; an axis that lies beyond its soft limits gets the nearest place inside, with a word behind it.
    """
    who = "".join(filter(str.isprintable, by))
    lines = [f"park_source = {toml_value(f'measured by {who}, {date}')}"]
    for axis in rig.axes:
        if axis.name not in lies:
            continue
        key = "deg" if unit_of(axis) != 1e-3 else "mm"
        table = "gripper" if rig.gripper is not None and axis is rig.axes[rig.gripper] else f"joints.{axis.name}"
        place = _nearest_inside(axis, lies[axis.name])
        off = abs(place - lies[axis.name])
        word = f"  # it lies {off:.1f} {key} beyond the soft limit: the first pulse moves it by that" if off else ""
        lines += ["", f"[{table}]", f"park_{key} = {place:g}{word}"]
    return "\n".join(lines)


def _nearest_inside(axis: Axis, value: float) -> float:
    unit = unit_of(axis)
    low = (axis.lower + axis.soft_margin) / unit + INSIDE
    high = (axis.upper - axis.soft_margin) / unit - INSIDE
    return round(min(max(value, low), high), 3)
