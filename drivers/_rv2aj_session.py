"""One session with a CR1, from a line that was just opened to the farewell: what is said, and what comes first."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from drivers._rv2aj_causes import Wait
from drivers._rv2aj_commands import Commands
from drivers._rv2aj_control import Control
from drivers._rv2aj_course import Course
from drivers._rv2aj_delivery import Delivery
from drivers._rv2aj_exchange import Exchange
from drivers._rv2aj_farewell import CLOSE, part
from drivers._rv2aj_halt import STOP, reset_slots
from drivers._rv2aj_hello import refuse_silence
from drivers._rv2aj_inputs import Inputs
from drivers._rv2aj_key import in_the_way
from drivers._rv2aj_line import Cr1Line
from drivers._rv2aj_looks import Looks
from drivers._rv2aj_mxt import MxtStream
from drivers._rv2aj_mxt_commands import StreamedCommands
from drivers._rv2aj_opening import Met, Opening
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_servos import Servos
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_talk import RequestRefusedError, T, Talk, attempt
from hil.errors import ControllerError
from hil.link import FloatArray
from hil.types import LineAccount
from hil.wire_table import WireTable

SILENT_LINE_S = 1.0
"""Packets go on without the line for so long: a stop, and what a person does at the controller, come by it."""


class Session:
    """Says nothing before `go_on`.

    Args:
        settings: line, way of moving and limits.
        line: just opened.
        now_s: time of that.
        opening: what is said first.
        ours: our program; what is known of it counts for this session.
        inputs: those that somebody depends on.
        say: takes words for the user.

    Attributes:
        line: as given.
        control: what of the controller is ours.
        course: where the arm is, and where it has to go.
        commands: takes those of the loop, once somebody was met.
        met: who answered; None while that is open.
        stream: packets that lead the arm, in the way that has them.
    """

    def __init__(
        self,
        settings: Rv2ajSettings,
        line: Cr1Line,
        now_s: float,
        opening: Opening,
        ours: OurProgram,
        inputs: Inputs,
        say: Callable[[str], None],
    ) -> None:
        name = settings.port_url
        self._name, self._ours, self._say = name, ours, say
        self.line, self.control, self.course = line, Control(), Course(settings)
        self.met: Met | None = None
        self._parting = False
        wait = self._wait = Wait(line, self.course)
        stream = self.stream = MxtStream(settings, line.wire, self.control, self.course, say)
        self._networked = settings.networked
        self.commands = (
            StreamedCommands(settings, self.control, self.course, wait, stream)
            if settings.networked
            else Commands(settings, self.control, self.course, wait)
        )
        if settings.networked:
            self.control.begin_apart()
        exchange = Exchange(line, self.control, self._serve, self.course.took_perhaps, now_s)
        looks = Looks(name, exchange, self.control, self.course, inputs, stream)
        servos = Servos(settings, exchange, self.control, looks, ours, say, stream)
        self._exchange, self._looks, self._servos = exchange, looks, servos
        self._delivery = Delivery(settings, exchange, self.control, self.course, looks, servos, ours, wait)
        exchange.begin(self._open(opening))

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """Rows are of this table from now on."""
        self.course.carry(table)
        self.line.wire.certify(samples)

    def begin_rows(self) -> None:
        """The next row is the first of its motion."""
        self.course.targets.leave_table()
        self.line.wire.begin_rows()

    def go_on(self, now_s: float) -> None:
        """Take what came and say what is due.

        Raises:
            LinkTimeout: nobody answers.
            LinkError: the line failed.
            ControllerError: something else answers; or an alarm came, the key was turned, the servos went off.
        """
        targets, self._exchange.now_s = self.course.targets, now_s
        targets.attend(now_s)
        if targets.stale:
            # Not sent while the motion went on, it must not set the arm moving after it.
            raise ControllerError(
                f"{self._name}: the last target could not be sent for {targets.stale_s:g} s and is thrown away; "
                f"the arm stands short of it: {self._wait.why(now_s)}; connect again"
            )
        self._exchange.advance()
        self.stream.look(now_s)
        if self.met is None:
            # After that, whoever reads judges how old what is known has become.
            refuse_silence(self.line, now_s)

    def give_up(self) -> None:
        """After trouble nothing but a stop leaves any more."""
        self.stream.end(self._exchange.now_s)
        self._exchange.fall_silent()
        self.control.forget_axes()
        self.course.targets.throw_away()

    def stop(self, now_s: float, *, well: bool) -> None:
        """Stop at the controller, which comes to rest in later looks. After trouble, not `well`, nothing else is said.

        Raises:
            LinkOverrun: the port has not taken it; it is said again in a moment.
            LinkError: the line failed.
        """
        self.course.targets.throw_away()
        # The packet that ends the stream is there before any request.
        self.stream.end(now_s)
        self.control.halting, self._parting = True, False
        if self._networked:
            # What was to be started before the stop is not started after it.
            self.control.switching = self.control.restarting = False
        if self.met is not None:
            # After trouble nothing but the stop, until it is answered: the line may have harmed the first.
            self._exchange.begin(self._serve() if well else _at_last(attempt(STOP)))
        self.line.stop(now_s)

    def call_off(self) -> bool:
        """Whoever wanted the servos on wants it no more; False if nobody did. A stop comes after it."""
        return self.control.call_off()

    def account(self) -> LineAccount:
        """What was counted on the line; where packets lead the arm, it is their answers that must not be late."""
        believed_s = self.course.believed.at_s
        counted = self.line.account(believed_s)
        if not self.stream.reports:
            return counted
        now_s = self._exchange.now_s
        overdue_s = self.stream.overdue_s(now_s)
        if overdue_s is None and self.line.silent_s(now_s) > SILENT_LINE_S:
            overdue_s = counted.overdue_s
        return counted if overdue_s == counted.overdue_s else msgspec.structs.replace(counted, overdue_s=overdue_s)

    def part(self) -> bool:
        """Come to rest if a stop or our program still goes on, then say goodbye; True once nothing is left to say."""
        if not self._parting:
            self._parting = True
            self.stream.end(self._exchange.now_s)
            self.course.targets.throw_away()
            self._exchange.begin(_at_last(self._part()))
        return not self.line.opened

    def farewell(self) -> None:
        """The same in one go, for who cannot wait: what is not done yet is asked for unread.

        Raises:
            LinkError: the line failed.
        """
        self.stream.end(self._exchange.now_s)
        right = ("CNTLOFF",) if self.control.right else ()
        off = ("SRVOFF",) if self.control.recalled else ()
        self.line.farewell((*off, *self._ours.removal, *right, CLOSE), self._exchange.now_s)

    # -- what is said --------------------------------------------------------------------------------------

    def _open(self, opening: Opening) -> Talk[None]:
        met = yield from opening.talk(self._exchange, self._looks)
        self.control.suspicious = False
        self.met = met

    def _serve(self) -> Talk[None]:
        """The steady state: stop first, then alarms, then the servos, then targets, then looking."""
        control, looks, delivery = self.control, self._looks, self._delivery
        while True:
            if control.halting:
                yield from looks.amid(self._halt())
            elif control.suspicious:
                yield from looks.alarm()
            elif control.recalled:
                yield from looks.amid(self._servos.switch_off())
            elif control.switching and not control.servo:
                yield from looks.amid(self._naming_the_key(self._switch_on()))
            elif self._networked and (control.switching or control.restarting) and not control.program_runs:
                yield from looks.amid(self._naming_the_key(self._servos.start_program()))
                control.switching = control.restarting = False
            elif delivery.due:
                yield from self._naming_the_key(delivery.tell())
            elif looks.due and not delivery.near:
                yield from looks.next()
                if rate := delivery.take_rate():
                    self._say(rate)
            else:
                yield None

    def _naming_the_key(self, talk: Talk[T]) -> Talk[T]:
        """Where the key stands may be why the controller refuses the right, the servos or a move."""
        try:
            return (yield from talk)
        except RequestRefusedError as error:
            raise ControllerError((yield from in_the_way(error))) from None

    def _switch_on(self) -> Talk[None]:
        yield from self._servos.switch_on()
        self.line.gate.stands(self.course.believed.degrees)

    def _halt(self) -> Talk[None]:
        yield from attempt(STOP)
        yield from reset_slots(self._exchange, self._name)
        self.control.halting = self.control.program_runs = False
        self.line.gate.stands(self.course.believed.degrees)
        self.course.halted()

    def _part(self) -> Talk[None]:
        if self.control.halting or self.control.program_runs:
            yield from self._halt()
        if self.control.recalled:
            yield from self._servos.switch_off()
        for words in (yield from part(self.line, self._ours, self.control.right)):
            self._say(words)


def _at_last(talk: Talk[object]) -> Talk[None]:
    """A conversation after which nothing is said any more."""
    yield from talk
    while True:
        yield None
