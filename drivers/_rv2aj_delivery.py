"""How a target reaches a CR1: when the next one is due, what is said then, and what its answer means."""

from __future__ import annotations

from drivers._rv2aj_causes import BUSY, Wait
from drivers._rv2aj_control import Control
from drivers._rv2aj_course import Course
from drivers._rv2aj_exchange import Exchange
from drivers._rv2aj_line import Ask
from drivers._rv2aj_looks import Looks
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_programs import PRINTED, check_printed, hot_target, line_target
from drivers._rv2aj_servos import Servos
from drivers._rv2aj_settings import MATCHED, PLAIN_REPLY, Rv2ajSettings, Way
from drivers._rv2aj_talk import RequestRefusedError, Talk
from drivers._rv2aj_targets import Degrees
from hil.units import DEG

OLD_S = 1.0
"""Older than this, where the arm is comes before where it has to go."""
BUSY_S = 5.0
"""So long a controller may be busy with the move before."""


class Delivery:
    """Gives the controller the newest target, in the rig's way.

    Args:
        settings: way of moving and pace.
        exchange: on which it is said.
        control: whether our program runs.
        course: the targets, and where the arm is.
        looks: ask where it is.
        servos: start our program anew.
        ours: our program, whose token its lines carry.
        wait: begins anew with every target that is told.
    """

    def __init__(
        self,
        settings: Rv2ajSettings,
        exchange: Exchange,
        control: Control,
        course: Course,
        looks: Looks,
        servos: Servos,
        ours: OurProgram,
        wait: Wait,
    ) -> None:
        self._settings, self._exchange, self._control, self._course = settings, exchange, control, course
        self._looks, self._servos, self._ours, self._wait = looks, servos, ours, wait
        self._began_s = float("-inf")

    @property
    def due(self) -> bool:
        """A target is to be told now."""
        exchange, course = self._exchange, self._course
        if course.corridor.left or not course.targets.due(exchange.now_s):
            return False
        if not exchange.free(spaced=False):
            # Made before it may leave, a target would be old when it does.
            return False
        if exchange.line.owing and exchange.now_s < self._began_s + 2 * self._settings.send_period_s:
            # Our program reads one line after the other: a second one would only be gone through later.
            return False
        return self._settings.way is not Way.SEGMENTS or course.arrived

    @property
    def near(self) -> bool:
        """A look begun now would hold up the next target; what is known must not grow too old for that, though."""
        if self._course.corridor.left or self._looks.age_s > OLD_S:
            return False
        if self._settings.way is Way.SEGMENTS and not self._course.arrived:
            return False
        return self._course.targets.near(self._exchange.now_s)

    def tell(self) -> Talk[None]:
        """Tell the controller what is wanted of the arm.

        Raises:
            RequestRefusedError: it refuses.
        """
        course, way = self._course, self._settings.way
        target = course.targets.wanted
        assert target is not None
        self._exchange.line.gate.expect(course.targets.row)
        if way is not Way.SEGMENTS and not self._control.program_runs:
            # That takes its time, and there is a newer target after it.
            yield from self._looks.amid(self._servos.start_program())
            return
        if way is Way.SEGMENTS:
            told = yield from self._by_segment(target)
        elif way is Way.HOT:
            told = yield from self._at_once(target, Ask(hot_target(course.constant), length=PLAIN_REPLY))
        else:
            told = yield from self._by_line(target)
        if not told:
            # No answer may mean that nobody runs our program any more: why comes first.
            yield from self._looks.status_first()
            return
        course.told(target, self._began_s, self._exchange.now_s)
        self._wait.begin()

    def take_rate(self) -> str:
        """Once after a motion, when the arm rests at its end: in words how often it got a target; empty otherwise."""
        rate = self._course.targets.take_rate() if self._course.arrived else None
        if rate is None:
            return ""
        mean_s, longest_s = rate
        return (
            f"{1 / mean_s:.2f} targets a second while moving: one every {mean_s:.2f} s, at most {longest_s:.2f} s "
            f"apart ({self._settings.way.value})"
        )

    def _at_once(self, target: Degrees, ask: Ask) -> Talk[bool]:
        """True once it is accepted; a target may be told twice, so one without an answer is told again."""
        self._course.set_out(target)
        heard = yield ask
        self._began_s = self._exchange.left_s
        if heard is None or heard.reply is None:
            self._course.told_perhaps(target, self._began_s, self._exchange.now_s)
            return False
        if not heard.reply.accepted:
            raise RequestRefusedError(ask.command, heard.reply)
        return True

    def _by_segment(self, target: Degrees) -> Talk[bool]:
        """The target, then the move; nothing goes anywhere by the first alone."""
        exchange, targets = self._exchange, self._course.targets
        named = yield Ask(f"EXECJT={self._course.constant}", length=PLAIN_REPLY, spaced=False)
        self._began_s = exchange.left_s
        if named is None or named.reply is None:
            return False
        if not named.reply.accepted:
            raise RequestRefusedError("EXECJT", named.reply)
        if not targets.fresh(exchange.now_s):
            return False
        self._course.set_out(target)
        heard = yield Ask("EXECMOV JT", length=PLAIN_REPLY, spaced=False)
        if heard is None or heard.reply is None:
            self._course.told_perhaps(target, self._began_s, exchange.now_s)
            return False
        targets.telling = None
        if heard.reply.error == BUSY:
            # It still moves, or stands within its own window: look again, but not for ever.
            targets.busy_since_s = exchange.now_s if targets.busy_since_s is None else targets.busy_since_s
            if exchange.now_s - targets.busy_since_s < BUSY_S:
                self._control.suspicious = True
                yield from self._looks.next()
                return False
        if not heard.reply.accepted:
            raise RequestRefusedError("EXECMOV", heard.reply)
        return True

    def _by_line(self, target: Degrees) -> Talk[bool]:
        """A line for our program, with the speed that fills the chord's time."""
        settings, course = self._settings, self._course
        before = course.targets.sent if course.targets.sent is not None else course.believed.degrees
        ceiling = settings.ceiling / DEG * settings.send_period_s * MATCHED
        needed = max(abs(b - a) / most for a, b, most in zip(before, target, ceiling.tolist(), strict=True))
        percent = round(min(max(100.0 * needed, 1.0), 100.0), 1)
        patience_s = (1.0 - MATCHED) * 2 * settings.send_period_s
        line = line_target(target, percent, self._ours.token)
        ask = Ask(line, check_printed, len(PRINTED) + 2, patience_s=patience_s, printed=PRINTED)
        return (yield from self._at_once(target, ask))
