"""What happens when an axis is let go of, and which one comes next: the gripper first, what carries most last."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hil.model.rig import AxisKind, Rig
from hil.space.gravity_load import SINKS_N_M, GravityLoad, Load, release_order
from hil.types import Record


class NextRelease(Record, frozen=True):
    """One axis that may be let go of now.

    Attributes:
        axis: its name.
        text: what sinks when it is let go of, and where the hands belong.
        after: those that come after it, in order.
    """

    axis: str
    text: str
    after: tuple[str, ...] = ()


def next_release(
    rig: Rig, load: GravityLoad, positions: Sequence[float], driven: Collection[str]
) -> NextRelease | None:
    """The first of the axes that are still driven; None if none is.

    Args:
        rig: the resolved rig.
        load: of the same rig.
        positions: where its axes are held, or were before they were let go of, in rad or m.
        driven: names of those that are driven.
    """
    order = [rig.axes[index].name for index in release_order(rig, positions, load) if rig.axes[index].name in driven]
    if not order:
        return None
    loads = {each.axis: each for each in load.loads(positions)}
    return NextRelease(axis=order[0], text=what_sinks(rig, order[0], loads.get(order[0])), after=tuple(order[1:]))


def what_sinks(rig: Rig, name: str, load: Load | None) -> str:
    """What to expect of an axis that is let go of, and where the hands belong."""
    index = rig.index(name)
    if load is None or rig.axes[index].kind is AxisKind.GRIPPER:
        return f"The {name} is let go of: what it holds falls. Take that out, and keep your hand under it"
    beyond = [axis.name for axis in rig.axes[index + 1 :]]
    with_it = f", and with it {', '.join(beyond)}" if beyond else ""
    if abs(load.torque_n_m) < SINKS_N_M:
        return f"The {name} is let go of: it comes loose{with_it}, and hardly sinks"
    return f"The {name} is let go of: it sinks{with_it}. Against gravity: {load.text}. Hold the arm now, then go"
