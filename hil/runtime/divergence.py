"""Compares what the controller reports with what the shadow did, and says when they part.

An echo shows the pulse that the board generates, not the shaft: a stalled servo stays invisible to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from hil.model.rig import Rig
from hil.motion.refusals import say
from hil.types import JointState

CONFIRM_REPORTS = 3
"""Reports in a row outside the band before it counts: one may be a garbled byte."""


def stands_elsewhere(rig: Rig, here: Sequence[float], reported: JointState | None) -> str:
    """Why no motion may begin with an arm that its controller measures away from where it is taken to be; empty if not.

    An echo says nothing of where an arm stands.
    """
    if reported is None or not reported.source.of_arm:
        return ""
    for axis, place, value in zip(rig.axes, here, reported.positions, strict=True):
        if value is not None and abs(value - place) > axis.divergence:
            return (
                f"{axis.name}: the controller measures {say(axis, value)}, and the arm was taken to be at "
                f"{say(axis, place)} (band {say(axis, axis.divergence)}). Disconnect and connect again, and confirm "
                "the pose that you see"
            )
    return ""


class DivergenceMonitor:
    """Keeps a short history of the shadow and judges each new report against its range over that time.

    Args:
        rig: gives each axis its band.
        window_s: how old a report may be against the shadow: look-ahead, one board frame and the reply's way back.
    """

    def __init__(self, rig: Rig, window_s: float) -> None:
        self._bands = tuple(axis.divergence for axis in rig.axes)
        self._axes = rig.axes
        self._window_s = window_s
        self._history: deque[tuple[float, tuple[float, ...], JointState]] = deque()
        self._outside = [0] * len(self._bands)
        self._last_report_s = float("-inf")

    def reset(self) -> None:
        """Forget the past, as after the arm was energised anew."""
        self._history.clear()
        self._outside = [0] * len(self._bands)

    def judge(
        self, now_s: float, setpoint: tuple[float, ...], simulated: JointState, reported: JointState | None
    ) -> str | None:
        """Take one tick's states; the text of an alarm, or None."""
        history, oldest_s = self._history, now_s - self._window_s
        history.append((now_s, setpoint, simulated))
        while history[0][0] < oldest_s:
            history.popleft()
        if reported is None or reported.t_s <= self._last_report_s:
            return None
        self._last_report_s = reported.t_s
        measured = reported.source.of_arm
        newest = _shaft(simulated) if measured else setpoint
        for axis, (value, shown, band) in enumerate(zip(reported.positions, newest, self._bands, strict=True)):
            if value is None:
                continue
            if abs(value - shown) <= band:
                self._outside[axis] = 0
                continue
            if measured:
                past = [0.0 if (at := state.positions[axis]) is None else at for _, _, state in history]
            else:
                past = [pulse[axis] for _, pulse, _ in history]
            lowest, highest = min(past), max(past)
            inside = lowest - band <= value <= highest + band
            self._outside[axis] = 0 if inside else self._outside[axis] + 1
            if self._outside[axis] >= CONFIRM_REPORTS:
                one = self._axes[axis]
                return (
                    f"{one.name}: the controller reports {say(one, value)}, the shadow was between "
                    f"{say(one, lowest)} and {say(one, highest)} (band {say(one, band)}): they have parted. "
                    "Look at the arm and the line before going on"
                )
        return None


def _shaft(simulated: JointState) -> tuple[float, ...]:
    return tuple([0.0 if value is None else value for value in simulated.positions])
