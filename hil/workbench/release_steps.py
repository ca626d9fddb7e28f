"""Let an arm go limp, one axis after the other, each when a person says so. Pure, as `hil.workbench.calibration`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hil.link import ServoChannel
from hil.model.rig import Rig
from hil.piecewise import PiecewiseLinear
from hil.space.gravity_load import GravityLoad, release_order
from hil.space.letting_go import what_sinks
from hil.workbench.calibration import Question, Release, Report, Steps, Tell, ask


def release(rig: Rig, channels: Sequence[ServoChannel], *, tells: bool = True) -> Steps[tuple[str, ...]]:
    """Switch the pulses of every driven axis off, the gripper first and what carries most last.

    Args:
        rig: the resolved rig.
        channels: which drives which axis, as the rig has it.
        tells: the board's answers show what it drives; where not, every axis is let go of.

    Returns:
        Names of the axes that were let go of.

    Raises:
        CalibrationStoppedError: the person said stop; what was not let go of yet is held.
    """
    report: dict[int, int | None] = yield Report()
    by_axis = {each.axis: each for each in channels}
    driven = [axis.name for axis in rig.axes if not tells or report.get(by_axis[axis.name].channel) is not None]
    if not driven:
        yield Tell(text="the board drives none of its axes: the arm is limp already")
        return ()
    where = _positions(rig, by_axis, report)
    loads = {load.axis: load for load in GravityLoad(rig).loads(where)}
    order = [rig.axes[index].name for index in release_order(rig, where) if rig.axes[index].name in driven]
    what = "it drives" if tells else "what this board answers does not show whether it drives"
    yield Tell(
        text=f"{what} {', '.join(driven)}. They are let go of in this order, what carries most last: "
        f"{', '.join(order)} ({GravityLoad(rig).basis})"
    )
    for name in order:
        channel = by_axis[name].channel
        question = Question(
            kind="release",
            text=what_sinks(rig, name, loads.get(name)),
            answers="go, stop",
            axis=name,
            channel=channel,
        )
        while (yield from ask(question, ("", "go"))) != "go":
            pass  # a bare Enter lets go of nothing
        yield Release(channel=channel)
        if not tells:
            yield Tell(text=f"the {name} was switched off; the board does not show it: feel whether it is limp")
    return tuple(order)


def _positions(rig: Rig, by_axis: Mapping[str, ServoChannel], report: Mapping[int, int | None]) -> tuple[float, ...]:
    """Where the pulses hold the axes; the park pose of those that get none."""

    def position(name: str, park: float) -> float:
        pulse_us = report.get(by_axis[name].channel)
        points = by_axis[name].points
        if pulse_us is None:
            return park
        return PiecewiseLinear([point[0] for point in points], [point[1] for point in points]).inverse(pulse_us)

    return tuple(position(axis.name, axis.park) for axis in rig.axes)
