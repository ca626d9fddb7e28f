"""Steps that stand for several: points one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hil.motion.path_steps import PointsStep
from hil.motion.tasks import LineStep, Move


def moves_of(step: PointsStep, joints: Sequence[str]) -> Iterator[Move | LineStep]:
    """The moves of a list, all cycles one after the other.

    Args:
        step: whose points were read.
        joints: names of the rig's turning joints; a joint set of a list may name axes that an arm lacks, as 0.
    """
    points = step.to_mm or step.poses or step.joints_deg or []
    for cycle in range(step.cycles):
        for k in range(len(points)):
            name = step.names[k] if k < len(step.names) else f"point {k + 1}"
            label = name if step.cycles == 1 else f"{name}, cycle {cycle + 1}"
            last = cycle == step.cycles - 1 and k == len(points) - 1
            yield _move(step, k, f"{step.label}: {label}" if step.label else label, joints, last=last)


def _move(step: PointsStep, k: int, label: str, joints: Sequence[str], *, last: bool) -> Move | LineStep:
    # The last point of a list is reached at rest.
    blend_mm, blend_deg = (None, None) if last else (step.blend_mm, step.blend_deg)
    common = {"label": label, "speed_percent": step.speed_percent, "blend_mm": blend_mm}
    if step.joints_deg is not None:
        table = step.joints_deg[k]
        if step.names:
            table = {name: value for name, value in table.items() if name in joints or value != 0.0}
        return Move(do="move", joints_deg=table, blend_deg=blend_deg, **common)  # type: ignore[arg-type]
    goal: dict[str, object] = {}
    if step.to_mm is not None:
        goal = {"to_mm": step.to_mm[k], "pitch_deg": step.pitch_deg, "roll_deg": step.roll_deg}
    elif step.poses is not None:
        pose = step.poses[k]
        goal = {"to_mm": pose[:3], "abc_deg": pose[3:], "convention": step.convention}
    if step.by == "line":
        return LineStep(do="line", speed_mm_s=step.speed_mm_s, **goal, **common)  # type: ignore[arg-type]
    return Move(do="move", blend_deg=blend_deg, **goal, **common)  # type: ignore[arg-type]
