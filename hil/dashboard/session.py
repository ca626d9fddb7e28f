"""What all views share: the link, the arm, the newest telemetry, the history; views know nothing of each other."""

from __future__ import annotations

import math
import re
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Qt, Signal

from hil.clock import monotonic_s
from hil.dashboard.arm import ShownArm
from hil.dashboard.dead_man import DeadMan
from hil.dashboard.figures import Trace
from hil.dashboard.forecast import StopForecast
from hil.dashboard.history import History
from hil.dashboard.link import Link
from hil.dashboard.pace import Calm
from hil.dashboard.texts import MODES, NOTICES, tr
from hil.service import wire
from hil.service.wire import Telemetry, Welcome

STALE_S = 0.5
"""Without telemetry for longer, what is shown counts as old."""

MOST_LINES = 500
MERGED = 8
"""Lines of the newest events of which the same one again makes no new line."""

_NUMBERS = re.compile(r"\d+(\.\d+)?")

QUANTITIES = ("commanded", "simulated", "reported", "error", "speed")
"""Curves of every axis, in the order in which the history has them, all axes of one after another. The error is
reported less commanded, the speed that of the commands."""

Floats = npt.NDArray[np.float64]


class Ghost(NamedTuple):
    """A pose that a view wants seen in the scene instead of the commanded one.

    Attributes:
        positions: per axis, rad or m.
        words: what it is, for the legend.
    """

    positions: tuple[float, ...]
    words: str


@dataclass(frozen=True, eq=False)
class Figure:
    """One pose of a motion that is looked at, as an arm of its own in the scene.

    Attributes:
        positions: per axis, rad or m.
        failing: joints and bodies that fail there.
        way: of the tool in the whole motion, lines (S, 2, 3), metres.
        words: what it is, for the legend.
    """

    positions: tuple[float, ...]
    failing: frozenset[str]
    way: Floats
    words: str


class Session(QObject):
    """One arm that is looked at.

    Signals:
        stopping: a stop was asked for in this window; whatever is held counts as let go.
        arm_changed: another arm, or the first; everything that was drawn of the one before is void.
        linked: the service was reached or lost.
        heard: a message that is no telemetry.
        noted: a line for the list of events.
        failed: something that a person has to be told, in words.

    Attributes:
        arm: None before the service has told.
        newest: None before the first frame.
        holding: what holds the arm, and what that carries; None before the service has told.
        ghost: None to have the commanded pose drawn.
        figure: None while no motion is looked at.
        parted: why there is no service; empty while there is one.
        dead_man: of whatever is held in the window.
        calm: whether anything changes.
    """

    stopping = Signal()
    arm_changed = Signal()
    linked = Signal()
    heard = Signal(object)
    noted = Signal(str)
    failed = Signal(str)

    def __init__(self, link: Link, clock: Callable[[], float] = monotonic_s) -> None:
        super().__init__()
        self.link, self._clock = link, clock
        self.dead_man = DeadMan(link, clock, self)
        self.arm: ShownArm | None = None
        self.welcome: Welcome | None = None
        self.lease: wire.LeaseNews | None = None
        self.newest: Telemetry | None = None
        self.holding: wire.Holding | None = None
        self.ghost: Ghost | None = None
        self.figure: Figure | None = None
        self.parted = tr("connecting")
        self.history = History(0)
        self.trace = Trace()
        self.lines: deque[str] = deque(maxlen=MOST_LINES)
        self.frames = 0
        self._kinds: list[str] = []
        self._counts: dict[str, int] = {}
        self._forecast: StopForecast | None = None
        self._heard_s = -math.inf
        self._before: tuple[float, Floats] | None = None
        self._offset_s = 0.0
        self.calm = Calm(clock, lambda: self.live, self)
        link.joined.connect(self._join)
        link.parted.connect(self._part)
        link.heard.connect(self._hear)
        link.failed.connect(self.fail)
        link.came.connect(self.take, Qt.ConnectionType.QueuedConnection)
        for news in (self.stopping, self.arm_changed, self.linked, self.heard, self.noted, self.failed):
            news.connect(self.calm.stir)

    @property
    def now_s(self) -> float:
        """Time of this computer, monotonic."""
        return self._clock()

    @property
    def began_epoch_s(self) -> float | None:
        """When the time of the session was 0, seconds since 1970 by the server's clock; None before it has answered."""
        if self.welcome is None:
            return None
        return self.welcome.now_epoch_s - self.welcome.now_s - self._offset_s

    @property
    def silence_s(self) -> float:
        """For how long no telemetry has come."""
        return self._clock() - self._heard_s

    @property
    def live(self) -> bool:
        """Whether what is shown is what is so."""
        return not self.parted and self.silence_s < STALE_S

    def resting_place(self) -> tuple[float, ...] | None:
        """Where the arm would stop if released now; None while it stands."""
        if self._forecast is None or self.newest is None or not self.live:
            return None
        return self._forecast.rest(self.newest)

    def stop(self, *, freeze: bool = False) -> None:
        """Stop the arm, whatever it does, and say so; also if there is nobody to tell."""
        # First the stop: what else there is to do for it takes time.
        sent = self.link.stop(tr("from the window"), freeze=freeze)
        self.stopping.emit()
        if sent:
            self.note(tr("STOP sent"))
        else:
            text = tr("STOP could not be sent: there is no service.")
            if self.welcome is None or self.welcome.real:
                text += " " + tr("Switch the servo supply off if the arm moves.")
            self.failed.emit(text)
            self.note(text)

    def supply_cut(self) -> None:
        """Say that the arm's servo supply was cut, or may have been: a stop, and more."""
        sent = self.link.supply_cut(tr("from the window"))
        self.stopping.emit()
        if sent:
            self.note(tr("said that the servo supply was cut: nothing that moves is sent any more"))
        else:
            text = tr(
                "It could not be said: there is no service. Leave the servo supply off, and switch the logic off too."
            )
            self.failed.emit(text)
            self.note(text)

    def note(self, text: str) -> None:
        """A line for the list of events."""
        kind = _NUMBERS.sub("#", text)
        now = time.strftime("%H:%M:%S")
        if kind in self._kinds:
            # The same again, perhaps with other numbers: one line, the newest, with how often.
            at = len(self._kinds) - 1 - self._kinds[::-1].index(kind)
            del self.lines[at - len(self._kinds)]
            self._counts[kind] += 1
            del self._kinds[at]
        else:
            self._counts[kind] = 1
        self._kinds = [*self._kinds, kind][-MERGED:]
        count = self._counts[kind]
        line = f"{now}  {text}" + (tr("  ({count} times)", count=count) if count > 1 else "")
        self.lines.append(line)
        self._counts = {each: self._counts[each] for each in self._kinds}
        self.noted.emit(line)

    def clear(self) -> None:
        """Forget curves and trace; what comes is kept again."""
        self.history.clear()
        self.trace.clear()

    def take(self) -> None:
        """Take in what has come; also called when something has."""
        frames = self.link.take()
        if not frames or self.arm is None:
            return
        self._heard_s = self._clock()
        self._tell_changes(frames)
        self.newest = frames[-1]
        self.calm.see(self.newest)
        self.frames += len(frames)
        times = np.array([frame.t_s for frame in frames]) + self._offset_s
        rows = np.array([self._row(frame) for frame in frames])
        self.history.extend(times, rows)
        for frame in frames:
            self._follow(frame)

    def _tell_changes(self, frames: list[Telemetry]) -> None:
        before = self.newest
        for frame in frames:
            if before is None or frame.mode is not before.mode:
                self.note(tr(MODES[frame.mode][0]) + ": " + tr(MODES[frame.mode][1]))
            if frame.refusal and (before is None or frame.refusal != before.refusal):
                self.note(tr("refused: ") + frame.refusal)
            before = frame

    def _row(self, frame: Telemetry) -> Floats:
        assert self.arm is not None
        count = len(self.arm.axes)
        scale = self.arm.scale
        commanded, simulated, reported = (
            _known(values, count) / scale for values in (frame.commanded, frame.simulated, frame.reported)
        )
        speed = np.full(count, np.nan)
        if self._before is not None and 0.0 < frame.t_s - self._before[0] < STALE_S:
            speed = (commanded - self._before[1]) / (frame.t_s - self._before[0])
        self._before = frame.t_s, commanded
        return np.concatenate([commanded, simulated, reported, reported - commanded, speed])

    def _follow(self, frame: Telemetry) -> None:
        assert self.arm is not None and self._forecast is not None
        self._forecast.add(frame)
        frames = self.arm.frames(frame.simulated)
        if frames is None:
            self.trace.lift()
        else:
            self.trace.add(frames[-1, :3, 3])

    # -- what the link says ------------------------------------------------------------------------------

    def _join(self, welcome: Welcome, arm: ShownArm | None) -> None:
        self.parted = ""
        self.welcome = welcome
        if arm is not None and arm is not self.arm:
            self.arm = arm
            self.history = History(len(QUANTITIES) * len(arm.axes))
            self.trace.clear()
            self.newest = None
            self._offset_s = -welcome.now_s
            self.arm_changed.emit()
        elif self.history.end_s is not None and welcome.now_s + self._offset_s < self.history.end_s:
            # Another start of the server's computer counts anew; here time goes on.
            self._offset_s = self.history.end_s + self.silence_s - welcome.now_s
        if self.arm is not None:
            self._forecast = StopForecast(self.arm)
        self.trace.lift()
        self._before = None
        self.note(tr("connected to {server}", server=welcome.server or welcome.arm))
        self.linked.emit()

    def _part(self, reason: str, final: bool) -> None:
        if self.parted != reason:
            self.note(tr("no service: {reason}", reason=reason))
        self.parted = reason
        self.lease = self.holding = None
        self.linked.emit()
        if final:
            self.failed.emit(tr("The service is gone: {reason}. Start the dashboard again.", reason=reason))

    def _hold_on(self, message: wire.Holding) -> None:
        """Remind, once, of an arm that has been held for long."""
        before, self.holding = self.holding, message
        real = self.welcome is not None and self.welcome.real
        if real and message.remind and (before is None or not before.remind):
            self.failed.emit(
                tr(
                    "The arm has only been held for {minutes:.0f} min, and servos that hold get hot: move it, park it, "
                    "or let it go (view Power).",
                    minutes=(message.held_s or 0.0) / 60.0,
                )
            )

    def _hear(self, message: wire.ServerMessage) -> None:
        match message:
            case wire.LeaseNews():
                self.lease = message
            case wire.Holding():
                self._hold_on(message)
            case wire.Notice():
                self.note(f"{tr(NOTICES[message.kind])}: {message.text}")
                self.dead_man.hear(message)
            case wire.Refused():
                self.note(tr("refused: ") + message.reason)
                self.failed.emit(message.reason)
            case wire.Bye():
                self.note(message.reason)
            case _:
                pass
        self.heard.emit(message)

    def fail(self, text: str) -> None:
        """Something that a person has to be told."""
        self.note(text)
        self.failed.emit(text)


def _known(values: tuple[float | None, ...], count: int) -> Floats:
    """NaN for what is not known; always `count` of them."""
    padded = [*values, *[None] * count][:count]
    return np.array([math.nan if value is None else value for value in padded])
