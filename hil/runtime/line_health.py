"""How a line is, by the age of what is believed of it: fine, to be watched, to hold, at fault; and in which words.

Drivers count (`hil.types.LineAccount`), this judges, for every kind of controller and in every mode alike. All limits
are ages: what comes later is never judged milder than what comes sooner. Time in which our own loop stood still is
not the line's doing and does not count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

from hil.errors import CommandError, ControllerError, LineCause, LinkError
from hil.model.rig import Rig
from hil.types import LineAccount, Mode, Record

HOLD_S, HOLD_REPORTS = 0.4, 4.0
FAULT_S, FAULT_REPORTS = 1.5, 12.0
QUIET_S = 3.0
"""Without a byte of noise for so long, the line counts as clean again."""
NOISE_HOLD_S, NOISE_FAULT_S = 10.0, 30.0
GAP_PERIODS = 2.0
ROUNDING_S = 1e-6
REPEAT_S = 10.0
"""The same cause is told again after this time at the earliest."""
LINE_ERRORS = (CommandError, LinkError, ControllerError)
"""What a link raises when it is at fault, or what it was asked for is."""


class Level(IntEnum):
    """What a line's state asks for; a higher one asks for more."""

    FINE = 0
    WATCH = 1
    """Words for the user, nothing else."""
    HOLD = 2
    """No motion begins or goes on."""
    FAULT = 3


class Saying(Record, frozen=True):
    """What the user reads of a cause.

    Attributes:
        said: what happened; `{...}` is filled in.
        advice: what to do about it.
    """

    said: str
    advice: str


_SLOW = (
    "set the adapter's latency timer to 1 ms, plug it in without a hub, and close what keeps the computer busy "
    "(docs/ssc32.md)"
)
SAYINGS: Mapping[LineCause, Saying] = MappingProxyType(
    {
        LineCause.SILENT: Saying(
            said="no answer for {seconds:.1f} s",
            advice="look whether the controller has power and whether the cable is in at both ends; if it comes and "
            "goes, at contacts, ground and shield",
        ),
        LineCause.LATE: Saying(said="an answer came {seconds:.2f} s late, and so may what is sent", advice=_SLOW),
        LineCause.NOISE: Saying(
            said="bytes without meaning on the line, or answers that lost some",
            advice="look at ground and shield, lay the cable away from the servos' supply, check the baud rate",
        ),
        LineCause.LOOP_LATE: Saying(
            said="this program itself was held up for {seconds:.1f} s and could not ask",
            advice="close what keeps the computer busy; the line is not to blame",
        ),
        LineCause.RESTARTED: Saying(
            said="the controller restarted",
            advice="make the arm safe; look whether the supply sags when servos start; give the logic a supply of its "
            "own",
        ),
        LineCause.DAMAGED: Saying(
            said="commands arrive damaged",
            advice="nothing more is sent. Mend the line before anything moves: cable, ground, shield, length, baud "
            "rate; or end another program that moves the arm",
        ),
        LineCause.RESTARTED_OR_DAMAGED: Saying(
            said="the controller restarted, or what arrives is damaged",
            advice="make the arm safe, and look at both: whether the supply sags when servos start (give the logic a "
            "supply of its own), and at the line: cable, ground, shield, length, baud rate",
        ),
        LineCause.DELAYED: Saying(said="commands arrive late by about {milliseconds:.0f} ms", advice=_SLOW),
        LineCause.STALLED: Saying(
            said="the controller stood still",
            advice="the line is well, the controller is not: look at its supply and at its heat; the pose has to be "
            "confirmed anew",
        ),
        LineCause.ECHO: Saying(
            said="the line echoes what it is sent",
            advice="switch the echo off in the adapter or serial server, and see that no wire joins its transmit and "
            "receive lines; then connect again",
        ),
        LineCause.TORN: Saying(
            said="answers come with bytes missing",
            advice="another program may read this port too and take them away: end it (`hil ports` shows who has it "
            "open). If there is none, look at plug, ground and shield",
        ),
        LineCause.TRICKLE: Saying(said="answers come byte by byte, with pauses between", advice=_SLOW),
        LineCause.DROOPING: Saying(
            said="an axis stands short of where it was sent",
            advice="the line is well: take off load or send it a shorter way, then look at the axis itself",
        ),
    }
)


def explained(error: Exception) -> str:
    """An error's text, and behind it what to do if its cause is known."""
    cause = getattr(error, "cause", None)
    return f"{error}: {SAYINGS[cause].advice}" if isinstance(cause, LineCause) else str(error)


class LineHealth:
    """Judges one line, tick by tick.

    Args:
        rig: how often the loop ticks and its controller reports.

    Attributes:
        level: what the state of the line asks for now.
        sign: what the way in which bytes come shows, for `words`; None for nothing odd.
        may_move: nothing is overdue or in doubt; where each command leaves at once, none may meanwhile.
        hold_s, fault_s: oldest believed report with which the arm may move, and with which it is no fault.
    """

    def __init__(self, rig: Rig) -> None:
        self.sign: LineCause | None = None
        self._period_s, self._gap_s = rig.period_s, GAP_PERIODS * rig.period_s
        usual_s = rig.controller.report_period_s + 2.0 * rig.period_s
        self.hold_s = max(HOLD_S, HOLD_REPORTS * usual_s)
        self.fault_s = max(FAULT_S, FAULT_REPORTS * usual_s)
        # A controller that is sent a target now and then has one question open at a time; its driver waits by itself.
        self._at_once = rig.controller.pace is None
        self._told_s: dict[LineCause, float] = {}
        self._last_s: float | None = None
        self.forget()

    def forget(self) -> None:
        """A line is opened anew."""
        self.level, self.may_move = Level.FINE, True
        self._line, self.sign = LineAccount(), None
        self._gaps: deque[tuple[float, float]] = deque()
        self._noise_from_s = self._noise_last_s = self._fine_until_s = float("-inf")
        self._clean_bytes = 0
        self._late_by_s = 0.0

    def look(self, line: LineAccount, now_s: float) -> str:
        """Take the account of one tick; words for the user if there is something new to say, else empty."""
        last_s, self._last_s = self._last_s, now_s
        if last_s is not None and now_s - last_s > self._gap_s:
            self._gaps.append((now_s, now_s - last_s - self._period_s))
        before, self._line = self._line, line
        if now_s <= self._fine_until_s and (line is before or self._goes_on(before, line)):
            return ""
        if line.believed_s is None:
            if before.believed_s is not None:
                self.forget()
            return ""
        troubled = line.overdue_s is not None or line.doubtful_s is not None
        if line is not before:
            self._note(before, line, troubled, now_s)
        self.may_move = not (troubled and self._at_once)
        self.level = self._judge(line.believed_s, troubled, now_s)
        # While nothing is new, its age alone can make it worse; within a rounding of that it is worked out.
        quiet = self.level is Level.FINE and self._noise_last_s == float("-inf")
        self._fine_until_s = line.believed_s + self.hold_s - ROUNDING_S if quiet else float("-inf")
        return self._news(before, line, now_s) if line is not before else ""

    def _goes_on(self, before: LineAccount, line: LineAccount) -> bool:
        """On a line that is fine nothing has come but what was asked for: what is believed of it is only newer."""
        if (
            line.believed_s is None
            or before.believed_s is None
            or line.believed_s < before.believed_s
            or line.overdue_s is not None
            or line.doubtful_s is not None
            or line.noise_bytes != before.noise_bytes
            or line.late != before.late
            or line.lost != before.lost
            or self._gaps
        ):
            return False
        self._fine_until_s = line.believed_s + self.hold_s - ROUNDING_S
        return True

    def age_s(self, now_s: float) -> float:
        """How old the newest believed report is, gaps of the loop included; infinity without one."""
        believed_s = self._line.believed_s
        return float("inf") if believed_s is None else now_s - believed_s

    def words(self, now_s: float) -> str:
        """What is the matter and what to do, by the cause that fits best."""
        cause = self._cause(now_s)
        return _words(cause, self._seconds(cause, now_s))

    # -- judging -------------------------------------------------------------------------------------------

    def _note(self, before: LineAccount, line: LineAccount, troubled: bool, now_s: float) -> None:
        """What is new in the account: since when a byte of noise counts, and which gaps are over."""
        assert line.believed_s is not None
        if before.believed_s != line.believed_s:
            while self._gaps and self._gaps[0][0] <= line.believed_s:
                self._gaps.popleft()
            if not troubled:
                self._clean_bytes = line.noise_bytes
        if line.noise_bytes > before.noise_bytes:
            if not self._noisy(now_s):
                self._noise_from_s = now_s
            self._noise_last_s = now_s

    def _judge(self, believed_s: float, troubled: bool, now_s: float) -> Level:
        age_s = now_s - believed_s
        if self._gaps:
            age_s -= sum([lost_s for _, lost_s in self._gaps])
        noisy_s = now_s - self._noise_from_s if now_s - self._noise_last_s <= QUIET_S else 0.0
        if age_s > self.fault_s or noisy_s > NOISE_FAULT_S:
            return Level.FAULT
        if age_s > self.hold_s or noisy_s > NOISE_HOLD_S:
            return Level.HOLD
        return Level.WATCH if troubled else Level.FINE

    def _noisy(self, now_s: float) -> bool:
        return now_s - self._noise_last_s <= QUIET_S

    # -- words ---------------------------------------------------------------------------------------------

    def _cause(self, now_s: float) -> LineCause:
        cause = self._counted(now_s)
        return self.sign if self.sign is not None and cause in (LineCause.NOISE, LineCause.SILENT) else cause

    def _counted(self, now_s: float) -> LineCause:
        """The cause by what is counted alone."""
        line = self._line
        if line.delayed_s > 0.0:
            return LineCause.DELAYED
        if line.doubtful_s is not None or line.noise_bytes > self._clean_bytes:
            return LineCause.NOISE
        if sum([lost_s for _, lost_s in self._gaps]) > 0.5 * self.age_s(now_s):
            return LineCause.LOOP_LATE
        if line.overdue_s is None and self._noisy(now_s):
            return LineCause.NOISE
        return LineCause.SILENT

    def _seconds(self, cause: LineCause, now_s: float) -> float:
        if cause is LineCause.DELAYED:
            return max(self._line.delayed_s, self._late_by_s)
        if cause is LineCause.LOOP_LATE:
            return sum([lost_s for _, lost_s in self._gaps])
        return self.age_s(now_s)

    def _news(self, before: LineAccount, line: LineAccount, now_s: float) -> str:
        """What has just come to light and moves nobody to act; each cause not more than now and then."""
        if before.overdue_s is not None:
            self._late_by_s = max(self._late_by_s, now_s - before.overdue_s)
        dispelled = before.doubtful_s is not None and line.doubtful_s is None
        if dispelled and before.delayed_s > 0.0:
            return self._tell(LineCause.DELAYED, max(before.delayed_s, self._take_lateness()), now_s)
        if line.late > before.late and line.delayed_s == 0.0:
            return self._tell(LineCause.LATE, self._take_lateness(), now_s)
        if line.noise_bytes > before.noise_bytes or dispelled:
            return self._tell(LineCause.NOISE, 0.0, now_s)
        if line.lost > before.lost:
            return self._tell(LineCause.SILENT, self._take_lateness(), now_s)
        return ""

    def _take_lateness(self) -> float:
        """By how much the answer was overdue that has come or was given up; told once."""
        late_by_s, self._late_by_s = self._late_by_s, 0.0
        return late_by_s

    def _tell(self, cause: LineCause, seconds: float, now_s: float) -> str:
        if self.sign is not None and cause in (LineCause.NOISE, LineCause.SILENT, LineCause.LATE):
            cause = self.sign
        if now_s - self._told_s.get(cause, float("-inf")) < REPEAT_S:
            return ""
        self._told_s[cause] = now_s
        return f"the line: {_words(cause, seconds)}"


def _words(cause: LineCause, seconds: float) -> str:
    saying = SAYINGS[cause]
    return f"{saying.said.format(seconds=seconds, milliseconds=seconds * 1e3)}: {saying.advice}"


class AccountLog:
    """Picks the ticks whose record carries the line's account: something went wrong, or the mode changed."""

    def __init__(self) -> None:
        self._logged = LineAccount()
        self._mode = Mode.DISCONNECTED

    def entry(self, line: LineAccount, mode: Mode) -> LineAccount | None:
        """The account for this tick's record; None where it says nothing new."""
        before = self._logged
        if line is before and mode is self._mode:
            return None
        same = (
            mode is self._mode
            and line.late == before.late
            and line.lost == before.lost
            and line.noise_bytes == before.noise_bytes
            and line.wrong_echoes == before.wrong_echoes
        )
        if same or line.questions == 0:
            self._logged = line
            return None
        self._logged, self._mode = line, mode
        return line
