"""Mitsubishi RV-2AJ behind a CR1: an `ArmLink` that gives its controller one target after another and asks where it is.

The controller plans every move itself, takes about one target a second over its serial line, and answers each request.
So the loop above keeps its tick, and this driver sends the newest target whenever the next one is due. Positions are
MEASURED: JPOSF reads the encoders. What is said is in `_rv2aj_session`; here is what a link has to be.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from drivers._rv2aj_codec import JOINTS
from drivers._rv2aj_inputs import Inputs
from drivers._rv2aj_line import Cr1Line
from drivers._rv2aj_opening import Opening
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_programs import Partner
from drivers._rv2aj_run import run_program
from drivers._rv2aj_session import Session
from drivers._rv2aj_settings import Rv2ajSettings, Rv2ajTable, settings_from_table
from drivers._rv2aj_survey import ask, back_up, look_over, measure
from hil.errors import HilError, LinkClosed, LinkError, LinkOverrun
from hil.identity import Acquaintance
from hil.link import ArmLink, BytePort, FloatArray, MotionBounds
from hil.types import Command, ControllerIdentity, JointCommand, LineAccount, LinkPhase, LinkState
from hil.wire_table import WireTable

__all__ = [
    "Rv2ajDriver",
    "Rv2ajSettings",
    "Rv2ajTable",
    "ask",
    "back_up",
    "build",
    "look_over",
    "measure",
    "run_program",
    "settings_from_table",
]

_NONE_KNOWN = (False,) * len(JOINTS)


def build(settings: Rv2ajSettings, open_port: Callable[[], BytePort]) -> ArmLink:
    """The link that a rig with `settings` gets."""
    return Rv2ajDriver(settings, open_port)


class Rv2ajDriver:
    """The `ArmLink` of one RV-2AJ.

    Args:
        settings: line, way of moving and limits.
        open_port: opens the line; called once per `open`.
    """

    def __init__(self, settings: Rv2ajSettings, open_port: Callable[[], BytePort]) -> None:
        self._settings, self._open_port, self._name = settings, open_port, settings.port_url
        self._session: Session | None = None
        self._bounds: MotionBounds | None = None
        self._carried: tuple[WireTable, FloatArray] | None = None
        partner = Partner(settings.computer, round(1000.0 * settings.filter_s))
        self._ours, self._inputs = OurProgram(settings.way, partner), Inputs()
        self._acquaintance = Acquaintance(self._name)
        self._notices: list[str] = []
        self._looked_s = float("-inf")
        self._opening = Opening(settings, self._acquaintance, self._ours, self._notices.append)
        self._forget()

    def _forget(self) -> None:
        """Whatever was known of a controller counts for one connection only."""
        self._ours.forget()
        self._inputs.forget()
        self._notices.clear()
        self._failure: LinkError | None = None
        self._trouble: HilError | None = None
        self._told = LinkState(phase=LinkPhase.OPENING, joints=None, known=())

    def expect(self, controller: ControllerIdentity | None, remedy: str) -> None:
        """Refuse every other controller at the handshake, before anything is changed in it."""
        self._acquaintance.expect(controller, remedy)

    def bound(self, bounds: MotionBounds) -> None:
        """From the next `open` on hold what leaves against the arm's limits, too."""
        self._bounds = bounds

    def open(self, now_s: float) -> None:
        """Open the line afresh; `read` does the rest.

        Raises:
            LinkError: the port cannot be opened.
        """
        self.close()
        self._forget()
        line = Cr1Line(self._settings, self._open_port(), now_s)
        if self._bounds is not None:
            line.wire.bound(self._bounds)
        session = Session(self._settings, line, now_s, self._opening, self._ours, self._inputs, self._notices.append)
        if self._carried is not None:
            session.carry(*self._carried)
        self._session = session

    def read(self, now_s: float) -> LinkState:
        """Drain the line, go on with what is being said, and tell what is known.

        A position carries the time at which its request reached the controller.

        Raises:
            LinkTimeout: nobody answers.
            LinkError: the line failed.
            ControllerError: something else answers; or an alarm came, the key was turned, the servos went off.
        """
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        session, self._looked_s = self._session, now_s
        if session is not None:
            try:
                session.go_on(now_s)
            except LinkClosed:
                self.close()
                raise
            except HilError as error:
                self._give_up(session, error)
                raise
        return self._state()

    def write(self, command: Command, now_s: float) -> Command:
        """Take a command: the first one per axis switches the servos on, later ones are the newest target.

        Returns:
            The command as the controller sees it if it is the next to be sent: in hundredths of a degree, and due when
            the arm can be there at the earliest.

        Raises:
            CommandError: out of range, out of order, an axis was not energised, or is not where it should be.
            ControllerError: an alarm stands since `open`.
            LinkOverrun: an earlier target could not be sent for too long.
            LinkError: not connected.
        """
        return self._ready_session().commands.take(command, now_s)

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """Take what the wire carries for the motion that is loaded; nothing is sent."""
        self._carried = table, samples
        if self._session is not None:
            self._session.carry(table, samples)

    def begin_rows(self) -> None:
        """The motion begins: the next row is its first."""
        if self._session is not None:
            self._session.begin_rows()

    def write_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """The sample of this number is the newest target; errors as for `write`."""
        return self._ready_session().commands.take_row(row, command, now_s)

    def watch_inputs(self, signals: Sequence[int]) -> None:
        """Read these inputs from now on, sixteen at a time, between the looks at the joints."""
        self._inputs.watch(signals)

    def throw_away(self) -> None:
        """Forget the target that has not left yet; the arm ends the move that it was given before."""
        if self._session is not None:
            self._session.course.targets.throw_away()

    def call_off(self) -> bool:
        """Servos that are not on yet stay off, or go off again if they are on their way; the stop says it."""
        session = self._session
        return session is not None and session.call_off()

    def stop(self, now_s: float) -> None:
        """Stop at the controller, keep the servos on, and throw away what was to come. Never raises.

        A stop leaves the controller in a pause, from which a start would go on: as soon as the arm rests, the slots are
        reset, so that nothing is left to go on with.
        """
        session = self._session
        if session is None or not session.line.opened:
            return
        try:
            with contextlib.suppress(LinkOverrun):
                # What did not fit is said again in a moment.
                session.stop(now_s, well=self._trouble is None)
        except LinkError as error:
            # What was the trouble first stays the trouble.
            self._failure = error if self._trouble is None else None
            self._let_go()

    def part(self, now_s: float) -> bool:
        """Come to rest if a stop or our program still goes on, then say goodbye; True once nothing is left to be said.

        Nobody is asked before READY, or after trouble.
        """
        session = self._session
        if session is None or session.met is None or self._trouble is not None:
            return True
        return session.part()

    def close(self) -> None:
        """Let go of the line; the arm and its servos stay as they are. What `part` has not done is asked for unread."""
        session = self._session
        if session is not None and session.line.opened:
            # The port may be gone; there is nobody left to tell then, and nothing moves.
            with contextlib.suppress(LinkError):
                session.farewell()
            self._ours.forget()
        self._let_go()

    def _let_go(self) -> None:
        if self._session is not None:
            self._session.line.close()
        self._session = None

    def _give_up(self, session: Session, error: HilError) -> None:
        """After trouble nothing but a stop leaves any more; before READY there is nothing to stop either."""
        if session.met is None:
            self.close()
            return
        self._trouble = self._trouble or error
        session.give_up()

    def _state(self) -> LinkState:
        session, last = self._session, self._told
        sign = None if session is None else session.line.sign(self._looked_s)
        notices, inputs = tuple(self._notices), self._inputs.state()
        if session is None:
            phase, met, joints, known, line = LinkPhase.CLOSED, None, None, _NONE_KNOWN, LineAccount()
        else:
            met, joints, known = session.met, session.course.believed.joints, session.control.known
            phase = LinkPhase.OPENING if met is None else LinkPhase.READY
            line = session.account()
        if notices:
            self._notices.clear()
        elif (
            last.phase is phase
            and last.joints is joints
            and last.line is line
            and last.sign is sign
            and (last.known, last.inputs) == (known, inputs)
            and not last.notices
        ):
            return last
        self._told = LinkState(
            phase=phase,
            joints=joints,
            known=known,
            notices=notices,
            identity="" if met is None else met.text,
            controller=None if met is None else met.controller,
            inputs=inputs,
            line=line,
            sign=sign,
        )
        return self._told

    def _ready_session(self) -> Session:
        """Raises what stands in the way of a command."""
        session = self._session
        if self._trouble is not None:
            raise self._trouble
        if session is None:
            raise LinkClosed(f"{self._name}: not connected", self._name)
        if session.met is None:
            raise LinkError(f"{self._name}: still connecting", self._name)
        return session
