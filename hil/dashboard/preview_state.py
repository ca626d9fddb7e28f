"""The preview without widgets: what is open, what the service said of it, and which moment is looked at."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from hil.dashboard.link import FarArm
from hil.dashboard.preview_file import Source, read_source
from hil.dashboard.preview_motion import ShownMotion
from hil.dashboard.session import Figure, Session
from hil.dashboard.texts import tr
from hil.errors import CommandError, HilError
from hil.service.wire import Previewed, Timeline

PLAY_EVERY_MS = 33
SLOWEST, FASTEST = 0.1, 10.0


class PreviewState(QObject):
    """One task or program at a time.

    Signals:
        changed: another file, or news of what became of it.
        moved: another moment is looked at.

    Attributes:
        source: None before something was opened.
        asked: the service is at work on it.
        asked_s: since when, by the session's clock.
        previewed: what the service said; None before it has.
        motion: what is to be seen of it; None where nothing could be planned.
        trouble: why there is no answer, in words.
        time_s: the moment that is looked at.
        playing: 1 forwards, -1 backwards, 0 not at all.
        speed: times as fast as the arm.
    """

    changed = Signal()
    moved = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.source: Source | None = None
        self.asked = False
        self.asked_s = 0.0
        self.previewed: Previewed | None = None
        self.motion: ShownMotion | None = None
        self.trouble = ""
        self.time_s = 0.0
        self.playing = 0
        self.speed = 1.0
        self._turn = 0
        self._ticked_s = 0.0
        session.arm_changed.connect(self.close)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)

    # -- files -------------------------------------------------------------------------------------------

    def open(self, path: Path) -> None:
        """Read a file and have it previewed."""
        try:
            source = read_source(path)
        except CommandError as error:
            self.close()
            self.trouble = str(error)
            self.changed.emit()
            return
        self.source = source
        self.again()

    def again(self) -> None:
        """Have the file previewed anew, as it is now, from where the arm stands now."""
        source = self.source
        if source is None:
            return
        try:
            source = self.source = read_source(source.path)
        except CommandError as error:
            self._forget()
            self.trouble = str(error)
            self.changed.emit()
            return
        self._forget()
        self.asked, self.asked_s = True, self.session.now_s
        turn = self._turn

        async def preview(arm: FarArm) -> tuple[Previewed, Timeline | None]:
            told = await arm.preview(
                source.text, name=source.name, language=source.language, points=source.points, start=None
            )
            return told, await arm.timeline(told.timeline) if told.timeline else None

        self.session.link.ask(preview, lambda result: self._came(turn, result))
        self.changed.emit()

    def close(self) -> None:
        """Nothing is looked at any more."""
        self._forget()
        self.source = None
        self.changed.emit()

    def _forget(self) -> None:
        self._turn += 1
        self.asked, self.previewed, self.motion, self.trouble = False, None, None, ""
        self.playing, self.time_s = 0, 0.0
        self.session.figure = None

    def _came(self, turn: int, result: tuple[Previewed, Timeline | None] | HilError) -> None:
        if turn != self._turn:
            return  # of a file that is no longer looked at
        self.asked = False
        if isinstance(result, HilError):
            self.trouble = str(result)
            self.changed.emit()
            return
        self.previewed, timeline = result
        arm = self.session.arm
        if timeline is not None and arm is not None:
            self.motion = ShownMotion(timeline, arm)
            first = min((failure.worst for failure in timeline.failures), default=None)
            fallback = 0.0 if self.motion.complete else self.motion.duration_s
            self.time_s = fallback if first is None else first * timeline.period_s
        self._show()
        self.changed.emit()

    # -- the moment --------------------------------------------------------------------------------------

    def look(self, time_s: float) -> None:
        """At another moment, in the scene as well."""
        if self.motion is not None:
            self.time_s = min(max(time_s, 0.0), self.motion.duration_s)
            self._show()
            self.moved.emit()

    def step(self, by: int) -> None:
        """So many samples on."""
        self.play(0)
        if self.motion is not None:
            self.look(self.motion.step(self.time_s, by))

    def play(self, way: int) -> None:
        """Forwards (1), backwards (-1), or not (0); from the other end once it is at this one."""
        motion = self.motion
        self.playing = way if motion is not None and motion.duration_s > 0.0 else 0
        self._ticked_s = self.session.now_s
        self._timer.start(PLAY_EVERY_MS) if self.playing else self._timer.stop()
        if motion is not None and self.playing:
            end_s = motion.duration_s if way > 0 else 0.0
            if self.time_s == end_s:
                self.look(motion.duration_s - end_s)
        self.moved.emit()

    def set_speed(self, speed: float) -> None:
        """How fast to play."""
        self.speed = min(max(speed, SLOWEST), FASTEST)

    def tick(self) -> None:
        """Play on; called by a timer of its own."""
        now_s = self.session.now_s
        passed_s, self._ticked_s = now_s - self._ticked_s, now_s
        motion = self.motion
        if not self.playing:
            self._timer.stop()
        if not self.playing or motion is None or passed_s <= 0.0:
            return
        time_s = self.time_s + self.playing * self.speed * passed_s
        if not 0.0 < time_s < motion.duration_s:
            self.playing = 0
        self.look(time_s)

    def _show(self) -> None:
        motion = self.motion
        if motion is not None:
            words = tr("previewed, at {time:.2f} s", time=self.time_s)
            self.session.figure = Figure(motion.pose_at(self.time_s), motion.failing_at(self.time_s), motion.way, words)
