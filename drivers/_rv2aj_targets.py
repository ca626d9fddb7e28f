"""Targets on their way to a controller that takes one at a time: which is wanted, which was told, and what is held up.

What counts as waiting is time in which the loop ran. While it is held up itself, nobody writes samples, so none are
skipped, and nobody can take an answer.
"""

from __future__ import annotations

from drivers._rv2aj_believed import Believed
from drivers._rv2aj_settings import LATE, Rv2ajSettings, Way
from hil.units import DEG

Degrees = tuple[float, ...]

ARRIVED_DEG = 0.05
"""An arm that is seen this near its target has arrived."""
RESTS_DEG = 1.0
"""One that rests has also arrived this near: gravity and loads hold an axis off its target."""
STARTING = 0.5
"""Send periods that starting our program may take on top."""
GAP_S = 0.1
"""Longer from one look to the next, and the loop itself was held up."""


class Targets:
    """What is wanted of the arm and what the controller was told.

    Args:
        settings: pace and speeds.

    Attributes:
        wanted: the newest target; None if there is none.
        row: the sample of a certified motion that it is; None if it is of none.
        sent: the last one that the controller took; None before the first and after a stop.
        perhaps: one whose answer is lost: whether the controller has taken it shows by where the arm comes to rest.
        telling: one that the controller is being told now: its answer says what becomes of it.
        sent_s: when `sent` left.
        busy_since_s: since when the controller has refused to begin it because it is busy.
        held_up_s: for how long the loop was held up, all in all.
        late_s: for so long a target may wait.
    """

    def __init__(self, settings: Rv2ajSettings) -> None:
        self._settings = settings
        self._speeds = tuple(settings.ceiling.tolist())
        self.late_s = LATE * settings.send_period_s
        self.wanted: Degrees | None = None
        self.row: int | None = None
        self.sent: Degrees | None = None
        self.perhaps: Degrees | None = None
        self.telling: Degrees | None = None
        self.sent_s = self._told_s = self._rests_by_s = float("-inf")
        self.busy_since_s: float | None = None
        self.held_up_s = 0.0
        self._looked_s: float | None = None
        self._attended_s = 0.0
        self._sent_at_s = self._wanted_at_s = self._renewed_s = float("-inf")
        self._perhaps_from: Degrees = ()
        self._perhaps_s = float("-inf")
        self._waiting_s: float | None = None
        self._gaps_s: list[float] = []

    @property
    def unsent(self) -> bool:
        """Something is wanted that the controller was not told, as far as is known."""
        return self.wanted is not None and (self.wanted != self.sent or self.perhaps is not None)

    @property
    def waits(self) -> bool:
        """A target waits for its turn."""
        return self._waiting_s is not None

    @property
    def stale_s(self) -> float:
        """How old what is wanted may become; longer where our program has to be started anew for the first target."""
        starting = self.sent is None and self._settings.way is not Way.SEGMENTS
        return self.late_s + (STARTING * self._settings.send_period_s if starting else 0.0)

    @property
    def stale(self) -> bool:
        """The motion is over, and its last target has not been sent: it must not set the arm moving any more."""
        # While the motion goes on a target is never old: this is asked in every tick.
        if self._attended_s - self._wanted_at_s <= self.late_s or not self.unsent or self.wanted == self.telling:
            return False
        awaited = self.wanted == self.perhaps and not self._told_again(self._looked_s or 0.0)
        return self._attended_s - max(self._wanted_at_s, self._perhaps_by_s if awaited else 0.0) > self.stale_s

    @property
    def _perhaps_by_s(self) -> float:
        """When it should be known where a target went that was perhaps told, on the loop's own clock."""
        return self._attended_s + self._rests_by_s - (self._looked_s or 0.0)

    def attend(self, now_s: float) -> None:
        """The loop looks in."""
        gap_s = 0.0 if self._looked_s is None else now_s - self._looked_s
        self._looked_s = now_s
        if gap_s > GAP_S:
            self.held_up_s += gap_s - GAP_S
            gap_s = GAP_S
        self._attended_s += gap_s

    def want(self, target: Degrees, now_s: float, row: int | None = None) -> bool:
        """Take a newer target, which is this sample of a certified motion or of none.

        False, and nothing taken, if the one before has waited for too long.
        """
        self._wanted_at_s, self._renewed_s = self._attended_s, now_s
        waiting_s = self._waiting_s
        if waiting_s is not None and self._waited_s(waiting_s) > self.late_s:
            return False
        self.wanted, self.row = target, row
        if target == self.sent and self.perhaps is None:
            self._waiting_s = None
        elif waiting_s is None:
            self._waiting_s = self._attended_s
        return True

    def leave_table(self) -> None:
        """What waits still is of no table from now on: the next rows are of another motion, or of another run."""
        self.row = None

    def throw_away(self) -> None:
        """Forget what has not been sent."""
        self.wanted = self._waiting_s = None

    def halt(self) -> None:
        """The controller has been stopped, and its slots reset: nothing of what it was told counts any more."""
        self.sent = self.perhaps = self.telling = None
        self.sent_s = self._sent_at_s = float("-inf")

    def due(self, now_s: float) -> bool:
        """It is time for the next one, and somebody wants it still: one that slept with its loop has to be renewed."""
        early = now_s < self.sent_s + self._settings.send_period_s - 1e-6
        return self.unsent and not early and self.fresh(now_s)

    def fresh(self, now_s: float) -> bool:
        """What is wanted was asked for lately."""
        return self.wanted is not None and now_s - self._renewed_s <= self.stale_s

    def _told_again(self, now_s: float) -> bool:
        """A target whose answer is lost may be told once more: a second one does no harm, and it is still wanted."""
        return self._settings.way is not Way.SEGMENTS and self.fresh(now_s)

    def near(self, now_s: float) -> bool:
        """A look begun now would hold up the next one."""
        return self.unsent and now_s + self._settings.look_s > self.sent_s + self._settings.send_period_s

    def told(self, target: Degrees, began_s: float, now_s: float, here: Degrees) -> None:
        """The controller has taken a target whose first request left at `began_s`, the arm being `here`."""
        waiting_s = self._attended_s if self._waiting_s is None else self._waiting_s
        if waiting_s <= self._sent_at_s + self._settings.send_period_s:
            # A gap in which nothing new was wanted says nothing of the line.
            self._gaps_s.append(began_s - self.sent_s)
        self._expect_rest(target, now_s, here)
        self.sent, self.sent_s, self._told_s = target, began_s, now_s
        self._sent_at_s = self._attended_s - (now_s - began_s)
        self.perhaps = self.telling = self.busy_since_s = None
        self._waiting_s = self._attended_s if self.unsent else None

    def told_perhaps(self, target: Degrees, began_s: float, now_s: float, here: Degrees) -> None:
        """It was sent, and what became of it is not known."""
        self._expect_rest(target, now_s, here)
        self.telling = None
        self.perhaps, self._perhaps_from, self._perhaps_s = target, here, began_s

    def took_perhaps(self, here: Degrees) -> None:
        """The controller has taken it after all."""
        if self.perhaps is not None:
            self.told(self.perhaps, self._perhaps_s, self._looked_s or self._perhaps_s, here)

    def settle(self, believed: Believed) -> None:
        """Where the arm rests says whether a move was begun whose answer is lost."""
        target = self.perhaps
        if target is None or self._told_again(self._looked_s or 0.0):
            return
        after_s = self._rests_by_s
        if believed.seen_at(target, ARRIVED_DEG, after_s):
            self.took_perhaps(believed.degrees)
        elif believed.rests(after_s):
            went = abs(believed.farthest(target)[1]) < abs(believed.farthest(self._perhaps_from)[1])
            if went and believed.seen_at(target, RESTS_DEG, after_s):
                self.took_perhaps(believed.degrees)
            else:
                self.perhaps = None

    def arrived(self, believed: Believed) -> bool:
        """The arm was seen at the last target after that was told, or rests near it: a second move is refused before.

        The controller does not tell whether it moves. A joint that rests a little off its target, held by gravity or a
        load, never comes nearer: seen at one place twice, after the move must have ended, it has arrived too.
        """
        if self.perhaps is not None:
            return self._settings.way is not Way.SEGMENTS
        if self.sent is None or believed.seen_at(self.sent, ARRIVED_DEG, self._told_s):
            return True
        return believed.rests(self._rests_by_s) and believed.seen_at(self.sent, RESTS_DEG, self._rests_by_s)

    def moving(self, believed: Believed) -> bool:
        """The arm may be on its way."""
        return self.perhaps is not None or (self.sent is not None and not self.arrived(believed))

    def rests_short(self, believed: Believed) -> bool:
        """It rests, and too far from the last target to have arrived."""
        return self.sent is not None and believed.rests(self._rests_by_s) and not self.arrived(believed)

    def take_rate(self) -> tuple[float, float] | None:
        """Once the motion is over: mean and longest time between targets, s; None if there were no two."""
        over = self.wanted == self.sent and self._attended_s - self._wanted_at_s > 0.5 * self._settings.send_period_s
        if not over:
            return None
        gaps_s, self._gaps_s = self._gaps_s, []
        return (sum(gaps_s) / len(gaps_s), max(gaps_s)) if gaps_s else None

    def way_s(self, target: Degrees, here: Degrees) -> float:
        """The least time in which the arm can be at a target: sent at once, at full speed from the one before."""
        return self._between_s(self.sent if self.sent is not None else here, target)

    def _waited_s(self, since_s: float) -> float:
        return self._attended_s - (since_s if since_s > self._sent_at_s else self._sent_at_s)

    def _expect_rest(self, target: Degrees, now_s: float, here: Degrees) -> None:
        self._rests_by_s = now_s + self._between_s(here, target) + self._settings.ramp_s

    def _between_s(self, here: Degrees, there: Degrees) -> float:
        longest_s = 0.0
        for a, b, speed in zip(here, there, self._speeds, strict=True):
            way_s = (b - a if b > a else a - b) * DEG / speed
            if way_s > longest_s:
                longest_s = way_s
        return longest_s
