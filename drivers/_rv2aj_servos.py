"""The servos of an RV-2AJ, switched on with all that a move needs: the right, the override, a program of ours."""

from __future__ import annotations

from collections.abc import Callable

from drivers._rv2aj_codec import Status
from drivers._rv2aj_control import Control
from drivers._rv2aj_exchange import Exchange
from drivers._rv2aj_line import Ask
from drivers._rv2aj_looks import Looks
from drivers._rv2aj_mxt import MxtStream
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_programs import RESERVED
from drivers._rv2aj_recall import recall
from drivers._rv2aj_settings import Rv2ajSettings, Way
from drivers._rv2aj_talk import RequestRefusedError, Talk, attempt, need
from hil.errors import ControllerError


class Servos:
    """Off at first.

    Args:
        settings: override, way of moving, patience.
        exchange: on which it is asked.
        control: what of the controller is ours; is told what becomes so.
        looks: ask how the controller is.
        ours: our program.
        say: takes words for the user.
        stream: begins with the program that takes packets.
    """

    def __init__(
        self,
        settings: Rv2ajSettings,
        exchange: Exchange,
        control: Control,
        looks: Looks,
        ours: OurProgram,
        say: Callable[[str], None],
        stream: MxtStream,
    ) -> None:
        self._settings, self._exchange, self._control = settings, exchange, control
        self._looks, self._ours, self._say, self._stream = looks, ours, say, stream

    def switch_on(self) -> Talk[None]:
        """Take the right, switch the servos on, and get the controller ready for targets. Moves nothing.

        Raises:
            RequestRefusedError: the controller refuses.
            ControllerError: they do not come on, or the override is another one than the rig's.
        """
        settings, began_s, control = self._settings, self._exchange.now_s, self._control
        yield from need(Ask("CNTLON"))
        control.right = True
        status = yield from self._looks.status()
        if not status.servo:
            control.rising = True
            yield from need(Ask("SRVON"))
        while not status.servo:
            if self._exchange.now_s - began_s > settings.servo_timeout_s:
                raise ControllerError(
                    f"{settings.port_url}: the servos are not on {settings.servo_timeout_s:g} s after SRVON; look at "
                    "the emergency stop circuit, the key and the panel"
                )
            status = yield from self._looks.status()
        percent = settings.override_percent
        reply = yield from need(Ask(f"OVRD={percent}"))
        if reply.data and reply.data != str(percent):
            raise ControllerError(
                f"{settings.port_url}: override {percent} was asked for, the controller has {reply.data!r}"
            )
        done = [(yield from self._ours.clear_away())]
        if settings.way is Way.SEGMENTS:
            done.append((yield from self._ours.make_executable()))
        else:
            yield from self.start_program()
        for words in filter(None, done):
            self._say(words)
        control.switched_on()

    def switch_off(self) -> Talk[None]:
        """Have brakes hold the arm again, where a stop came before the servos were on; say how that ended."""
        patience_s = self._settings.servo_timeout_s
        words = yield from recall(lambda: self._exchange.now_s, patience_s, self._looked)
        self._control.recalled = False
        self._say(words)

    def _looked(self) -> Talk[Status]:
        """How the controller is; the arm's place stays young meanwhile."""
        status = yield from self._looks.status()
        yield from self._looks.next()
        return status

    def start_program(self) -> Talk[None]:
        """Put our loop program there with a token of this start, and run it; it moves nothing by itself.

        Raises:
            RequestRefusedError: the controller refuses.
            ControllerError: it does not run.
        """
        name = RESERVED[self._settings.way]
        yield from self._ours.put()
        reply, _ = yield from attempt(Ask(f"RUN{name};1"))
        self._control.program_runs = True
        status = yield from self._looks.status()
        if status.running:
            if self._settings.networked:
                self._stream.begin(self._exchange.now_s)
            return
        self._control.program_runs = False
        if not reply.accepted:
            raise RequestRefusedError("RUN", reply)
        # It may have ended in an alarm, which says more.
        yield from self._looks.alarm()
        raise ControllerError(
            f"{self._settings.port_url}: our program {name} does not run after RUN; look at the panel"
        )
