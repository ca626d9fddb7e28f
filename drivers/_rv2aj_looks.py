"""What a CR1 is asked in turn while nothing else is due: where the arm is, how the controller stands, its inputs."""

from __future__ import annotations

from typing import Final

from drivers._rv2aj_alarms import explain_standing
from drivers._rv2aj_codec import Position, Status, decode_alarm, decode_inputs, decode_joints, decode_status
from drivers._rv2aj_control import Control
from drivers._rv2aj_course import Course
from drivers._rv2aj_exchange import Exchange
from drivers._rv2aj_inputs import Inputs
from drivers._rv2aj_line import Ask, Heard
from drivers._rv2aj_mxt import MxtStream
from drivers._rv2aj_settings import INPUT_REPLY, JOINT_REPLY, SPACING_S, STATUS_REPLY
from drivers._rv2aj_talk import RequestRefusedError, T, Talk, attempt, need
from hil.errors import ControllerError

STATUS_PERIOD_S = 0.5
LOOK_S = 0.8
"""However long something else takes, the joints are looked at as often as this."""

STATUS: Final = Ask("DSTATE", decode_status, STATUS_REPLY)
ALARM: Final = Ask("ERROR", decode_alarm, 12)
_JOINTS: Final = Ask("JPOSF", decode_joints, JOINT_REPLY)
_JOINTS_BETWEEN: Final = _JOINTS._replace(spaced=False)


class Looks:
    """Asks, and raises ControllerError on what a person or the arm did that may not go on.

    Args:
        name: the port's name for messages.
        exchange: on which it is asked.
        control: what of the controller is ours.
        course: where the arm is and has to be.
        inputs: those that somebody depends on.
        stream: tells the joints, too, where it goes on.
    """

    def __init__(
        self, name: str, exchange: Exchange, control: Control, course: Course, inputs: Inputs, stream: MxtStream
    ) -> None:
        self._name, self._exchange, self._control = name, exchange, control
        self._course, self._inputs, self._stream = course, inputs, stream
        self._status_s = self._next_s = self._joints_s = float("-inf")

    @property
    def due(self) -> bool:
        """It is time for the next one."""
        return self._exchange.now_s >= self._next_s

    @property
    def age_s(self) -> float:
        """How old is what is known of the joints."""
        now_s = self._exchange.now_s
        return now_s - (self._course.believed.at_s or now_s)

    def first(self) -> Talk[Position]:
        """The joints, asked for until they are told."""
        self._joints_s = self._exchange.now_s
        reply, arrived_s = yield from attempt(_JOINTS)
        if not reply.accepted:
            raise RequestRefusedError(_JOINTS.command, reply)
        found = decode_joints(reply.data)
        self._course.believed.take(found, arrived_s, moving=False)
        return found

    def next(self) -> Talk[None]:
        """Where the arm is; now and then how the controller is."""
        exchange = self._exchange
        if self._course.corridor.left or (self.age_s > LOOK_S and self._joints_old):
            yield from self._joints()
        elif exchange.now_s - self._status_s >= STATUS_PERIOD_S:
            yield from self._glance()
        elif (block := self._inputs.block_due(exchange.now_s)) is not None:
            heard = yield Ask(f"IN{block}", decode_inputs, INPUT_REPLY)
            self._inputs.asked(block, exchange.now_s)
            if heard is not None and heard.reply is not None and heard.reply.accepted:
                self._inputs.note(block, decode_inputs(heard.reply.data), heard.arrived_s)
        elif self._stream.reports:
            yield None
        else:
            yield from self._joints()
        self._next_s = exchange.now_s + SPACING_S

    def status_first(self) -> Talk[None]:
        """The same, and how the controller is comes first."""
        self._status_s = float("-inf")
        yield from self.next()

    def amid(self, talk: Talk[T]) -> Talk[T]:
        """A long conversation with looks at the joints between its questions, so that what is known stays young."""
        heard: Heard | None = None
        while True:
            try:
                asked = talk.send(heard)
            except StopIteration as done:
                result: T = done.value
                return result
            if asked is not None and self._joints_old:
                yield from self._joints(_JOINTS_BETWEEN)
            heard = yield asked

    def status(self) -> Talk[Status]:
        """How the controller is, asked for until it is told; what was taken back from us is a fault."""
        status = decode_status((yield from need(STATUS)).data)
        trouble = self._control.trouble_in(status)
        if trouble:
            raise ControllerError(f"{self._name}: {trouble}")
        return status

    def alarm(self) -> Talk[None]:
        """Whether an alarm stands, which is a fault."""
        reply = yield from need(ALARM)
        self._control.suspicious = False
        standing = decode_alarm(reply.data)
        if standing is not None:
            raise ControllerError(f"{self._name}: alarm {explain_standing(standing).words}", reply.data.encode())

    @property
    def _joints_old(self) -> bool:
        """The joints were not asked for lately."""
        if self._stream.reports and self.age_s <= LOOK_S:
            return False
        return self._exchange.now_s - self._joints_s > LOOK_S

    def _joints(self, ask: Ask = _JOINTS) -> Talk[None]:
        self._joints_s = self._exchange.now_s
        heard = yield ask
        if heard is None or heard.reply is None or not heard.reply.accepted:
            return
        found = decode_joints(heard.reply.data)
        astray = self._course.see(found, heard.arrived_s, halting=self._control.halting)
        if astray:
            # It is stopped at the controller, however hard that is to believe.
            raise ControllerError(
                f"{self._name}: {astray}. A command was changed on the line, or something pushes the arm: look at the "
                "arm and the cable, connect again"
            )

    def _glance(self) -> Talk[None]:
        """How the controller is, asked once."""
        heard = yield STATUS
        # Asked is enough: what is lost again and again must not keep the joints from being looked at.
        self._status_s = self._exchange.now_s
        status = None if heard is None or heard.reply is None or not heard.reply.accepted else heard.reply.data
        if status is not None and self._control.trouble_in(decode_status(status)):
            # A garbled digit looks like a key that was turned: it counts when it is there twice.
            yield from self.status()
