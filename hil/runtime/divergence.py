"""Compares what the controller reports with what the shadow did, and says when they part.

An echo shows the pulse that the board generates, not the shaft: a stalled servo stays invisible to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from hil.model.rig import Rig
from hil.motion.refusals import say
from hil.types import JointState, Mode

REPLY_AGE_S = 0.2
"""How old a reply may be, line and polling included, of a board that is asked at an ordinary pace."""

CONFIRM_REPORTS = 3
"""Reports in a row outside the band before it counts: one may be a garbled byte."""

_KNOWN = frozenset({Mode.IDLE, Mode.ARMED, Mode.STREAMING, Mode.STOPPING, Mode.HOLDING, Mode.FAULT, Mode.ESTOP})
_ACTED_ON = frozenset(Mode) - {Mode.STOPPING, Mode.HOLDING, Mode.FAULT, Mode.ESTOP, Mode.IDLE}
"""Modes in which somebody has gone on: an alarm of before is over."""


def window_of_s(rig: Rig) -> float:
    """How old a report may be against the shadow: look-ahead, one board frame and the reply's way back."""
    return rig.look_ahead_s + rig.controller.settle_s + REPLY_AGE_S


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
            lowest, highest = self._range(axis, measured=measured)
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

    def errors(self, reported: JointState | None) -> tuple[float | None, ...]:
        """By axis how far a report is outside of what the alarm compares it with, by the past that is kept (rad, m).

        Above, it is positive; None where nothing is reported. Beyond the band it counts for the alarm.
        """
        if reported is None or not self._history:
            return (None,) * len(self._bands)
        measured = reported.source.of_arm
        found: list[float | None] = []
        for axis, value in enumerate(reported.positions):
            if value is None:
                found.append(None)
                continue
            lowest, highest = self._range(axis, measured=measured)
            found.append(max(0.0, value - highest) + min(0.0, value - lowest))
        return tuple(found)

    def _range(self, axis: int, *, measured: bool) -> tuple[float, float]:
        """Where the axis was sent, or where its simulated shaft was, over the window."""
        if measured:
            past = [0.0 if (at := state.positions[axis]) is None else at for _, _, state in self._history]
        else:
            past = [pulse[axis] for _, pulse, _ in self._history]
        return min(past), max(past)


def _shaft(simulated: JointState) -> tuple[float, ...]:
    return tuple([0.0 if value is None else value for value in simulated.positions])


class DivergenceView:
    """The same judgement for those who watch: how far each axis is off, and the alarm for as long as it counts.

    The loop's monitor looks while motion is streamed; this one in every mode in which the pose is known.

    Args:
        rig: gives each axis its band.
    """

    def __init__(self, rig: Rig) -> None:
        self.alarm = ""
        """Words of the newest alarm; empty once the arm is inside its bands again and somebody has gone on."""
        self.errors: tuple[float | None, ...] = (None,) * len(rig.axes)
        """By axis how far the report is outside of where the arm was sent meanwhile (rad, m); None if not known."""
        self._bands = tuple(axis.divergence for axis in rig.axes)
        self._monitor = DivergenceMonitor(rig, window_of_s(rig))
        self._unknown: tuple[float | None, ...] = self.errors
        self._found: tuple[float | None, ...] = self.errors
        self._found_s = float("-inf")

    def take(
        self,
        now_s: float,
        mode: Mode,
        commanded: Sequence[float | None],
        setpoint: tuple[float, ...],
        simulated: JointState,
        reported: JointState | None,
    ) -> None:
        """A tick has come; `commanded` says which axes were driven at all."""
        if mode not in _KNOWN:
            self._monitor.reset()
            self.errors, self.alarm = self._unknown, ""
            self._found, self._found_s = self._unknown, float("-inf")
            return
        alarm = self._monitor.judge(now_s, setpoint, simulated, reported)
        if reported is None:
            self._found, self._found_s = self._unknown, float("-inf")
        elif reported.t_s > self._found_s:
            # An old report beside a shadow that went on would tell of its age alone.
            self._found, self._found_s = self._monitor.errors(reported), reported.t_s
        errors = self._found
        self.errors = tuple([None if sent is None else error for sent, error in zip(commanded, errors, strict=True)])
        if alarm is not None:
            self.alarm = alarm
        elif self.alarm and mode in _ACTED_ON and self._inside():
            self.alarm = ""

    def _inside(self) -> bool:
        return all(error is None or abs(error) <= band for error, band in zip(self.errors, self._bands, strict=True))
