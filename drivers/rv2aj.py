"""Mitsubishi RV-2AJ behind a CR1: an `ArmLink` that gives its controller one target after another and asks where it is.

The controller plans every move itself, takes about one target a second over its serial line, and answers each request.
So the loop above keeps its tick, and this driver sends the newest target whenever the next one is due. Positions are
MEASURED: JPOSF reads the encoders.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from drivers._rv2aj_alarms import LEVELS, explain
from drivers._rv2aj_believed import Believed
from drivers._rv2aj_causes import Since, explain_wait
from drivers._rv2aj_codec import (
    JOINTS,
    Identity,
    Reply,
    Status,
    decode_alarm,
    decode_inputs,
    decode_joints,
    decode_pose,
    decode_status,
    decode_stops,
    joint_constant,
)
from drivers._rv2aj_corridor import Corridor
from drivers._rv2aj_hello import CLIENTS, greet, refuse_silence
from drivers._rv2aj_identity import identify
from drivers._rv2aj_inputs import Inputs
from drivers._rv2aj_key import Key, in_the_way, read_key
from drivers._rv2aj_line import Ask, Heard, Line
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_parting import CLOSE, part
from drivers._rv2aj_pose import distance_mm, pose
from drivers._rv2aj_programs import (
    PRINTED,
    RESERVED,
    check_printed,
    hot_target,
    line_target,
    standing,
)
from drivers._rv2aj_run import run_program
from drivers._rv2aj_settings import (
    INPUT_REPLY,
    JOINT_REPLY,
    MATCHED,
    PLAIN_REPLY,
    SPACING_S,
    STATUS_REPLY,
    STEPS_A_DEGREE,
    Rv2ajSettings,
    Rv2ajTable,
    Way,
    settings_from_table,
)
from drivers._rv2aj_survey import ask, back_up, look_over
from drivers._rv2aj_talk import RequestRefusedError, T, Talk, attempt, need
from drivers._rv2aj_targets import Targets
from hil.errors import CommandError, ControllerError, HilError, LinkClosed, LinkError, LinkOverrun
from hil.identity import Acquaintance
from hil.link import ArmLink, BytePort, FloatArray, MotionBounds
from hil.types import (
    Command,
    ControllerIdentity,
    EnergiseCommand,
    JointCommand,
    LineAccount,
    LinkPhase,
    LinkState,
)
from hil.units import DEG
from hil.wire_table import WireTable

__all__ = [
    "Rv2ajDriver",
    "Rv2ajSettings",
    "Rv2ajTable",
    "ask",
    "back_up",
    "build",
    "look_over",
    "run_program",
    "settings_from_table",
]

STATUS_PERIOD_S = 0.5
LOOK_S = 0.8
"""However long something else takes, the joints are looked at as often as this."""
OLD_S = 1.0
"""Older than this, where the arm is comes before where it has to go."""
STANDS_DEG = 1.0
TOOL_MM = 1.0
HALT_S = 3.0
BUSY = 5640
BUSY_S = 5.0
TAKING_TURNS = 16

_LOOK: Final = Ask("JPOSF", decode_joints, JOINT_REPLY)
_LOOK_BETWEEN: Final = _LOOK._replace(spaced=False)
_STOP: Final = Ask("STOP", length=PLAIN_REPLY, spaced=False)
"""One whose answer is waited for, unlike the line's own."""
_STATUS: Final = Ask("DSTATE", decode_status, STATUS_REPLY)
_ALARM: Final = Ask("ERROR", decode_alarm, 12)


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
        self._settings = settings
        self._open_port = open_port
        self._name = settings.port_url
        lower, upper = settings.bounds()
        self._bounds = tuple(zip(lower.tolist(), upper.tolist(), strict=True))
        self._line: Line | None = None
        self._arm_bounds: MotionBounds | None = None
        self._carried: tuple[WireTable, FloatArray] | None = None
        self._ours = OurProgram(settings.way)
        self._client = ""
        self._inputs = Inputs()
        self._acquaintance = Acquaintance(self._name)
        self._forget()

    def _forget(self) -> None:
        """Whatever was known of a controller counts for one connection only."""
        self._talk: Talk[None] | None = None
        self._asked: Ask | None = None
        self._in_flight = False
        self._now_s = 0.0
        self._ready = False
        self._identity: Identity | None = None
        self._controller: ControllerIdentity | None = None
        self._ours.forget()
        self._believed = Believed(self._settings)
        self._notices: list[str] = []
        self._failure: LinkError | None = None
        self._trouble: HilError | None = None
        self._seq: int | None = None
        self._energised = [False] * len(JOINTS)
        self._switching = self._servo = self._right = False
        self._program_runs = False
        self._status_s = self._next_look_s = float("-inf")
        self._suspicious = False
        self._halting = self._parting = False
        self._targets, self._since = Targets(self._settings), Since()
        self._told = LinkState(phase=LinkPhase.OPENING, joints=None, known=())
        self._corridor = Corridor()
        self._left_s = self._began_s = self._looked_s = float("-inf")
        self._inputs.forget()

    # -- the link ----------------------------------------------------------------------------------------

    def expect(self, controller: ControllerIdentity | None, remedy: str) -> None:
        """Refuse every other controller at the handshake, before anything is changed in it."""
        self._acquaintance.expect(controller, remedy)

    def bound(self, bounds: MotionBounds) -> None:
        """From the next `open` on hold what leaves against the arm's limits, too."""
        self._arm_bounds = bounds

    def open(self, now_s: float) -> None:
        """Open the line afresh; `read` does the rest.

        Raises:
            LinkError: the port cannot be opened.
        """
        self.close()
        self._forget()
        self._line = Line(self._settings, self._open_port(), now_s)
        if self._arm_bounds is not None:
            self._line.gate.bound(self._arm_bounds, 2.0 * self._settings.pace.longest_s)
        self._certify()
        self._talk = self._session(self._line)

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
        if self._line is not None:
            self._now_s = now_s
            self._targets.attend(now_s)
            try:
                self._refuse_stale_target()
                self._advance(self._line, now_s)
                if not self._ready:
                    # After that, whoever reads judges how old what is known has become.
                    refuse_silence(self._line, now_s)
            except LinkClosed:
                self.close()
                raise
            except HilError as error:
                self._give_up(error)
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
        self._require_ready()
        self._require_risen(command)
        if isinstance(command, EnergiseCommand):
            sent: Command = self._energise(command)
        else:
            sent = self._aim(command, now_s)
        self._seq = command.seq
        return sent

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """Take what the wire carries for the motion that is loaded; nothing is sent."""
        self._targets.leave_table()
        self._carried = table, samples
        self._certify()

    def begin_rows(self) -> None:
        """The motion begins: the next row is its first."""
        self._targets.leave_table()
        if self._line is not None:
            self._line.gate.begin()

    def write_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """The sample of this number is the newest target; errors as for `write`."""
        # Each is asked by itself only if it has to say no: this runs in every tick.
        if self._trouble is not None or self._line is None or not self._ready:
            self._require_ready()
        if self._seq is not None and command.seq <= self._seq:
            self._require_risen(command)
        if self._carried is None:
            raise CommandError(f"sample {row} of a motion of which no table is there", value=row)
        if not (self._servo and all(self._energised)):
            self._require_servos()
        table = self._carried[0]
        target = tuple([hundredths / STEPS_A_DEGREE for hundredths in table.native(row)])
        due_s = self._want(target, row, command.due_s, now_s)
        self._seq = command.seq
        return JointCommand(seq=command.seq, due_s=due_s, positions=table.positions(row))

    def _certify(self) -> None:
        """Every connection has a gate of its own."""
        if self._line is not None and self._carried is not None:
            self._line.gate.certify(self._carried[1])

    def watch_inputs(self, signals: Sequence[int]) -> None:
        """Read these inputs from now on, sixteen at a time, between the looks at the joints."""
        self._inputs.watch(signals)

    def throw_away(self) -> None:
        """Forget the target that has not left yet; the arm ends the move that it was given before."""
        self._targets.throw_away()

    def stop(self, now_s: float) -> None:
        """Stop at the controller, keep the servos on, and throw away what was to come. Never raises.

        A stop leaves the controller in a pause, from which a start would go on: as soon as the arm rests, the slots are
        reset, so that nothing is left to go on with.
        """
        line = self._line
        if line is None or not line.opened:
            return
        self._targets.throw_away()
        self._halting, self._parting = True, False
        if self._ready:
            self._asked, self._in_flight = None, False
            # After trouble nothing but the stop, until it is answered: the line may have harmed the first.
            self._talk = self._serve() if self._trouble is None else self._at_last(attempt(_STOP))
        try:
            with contextlib.suppress(LinkOverrun):
                # What did not fit is said again in a moment.
                line.stop(now_s)
        except LinkError as error:
            # What was the trouble first stays the trouble.
            self._failure = error if self._trouble is None else None
            self._let_go()

    def part(self, now_s: float) -> bool:
        """Come to rest if a stop or our program still goes on, then say goodbye; True once nothing is left to be said.

        Nobody is asked before READY, or after trouble.
        """
        line = self._line
        if line is None or not self._ready or self._trouble is not None:
            return True
        if not self._parting:
            self._parting = True
            self._targets.throw_away()
            self._asked, self._in_flight = None, False
            self._talk = self._at_last(self._part(line))
        return not line.opened

    def close(self) -> None:
        """Let go of the line; the arm and its servos stay as they are. What `part` has not done is asked for unread."""
        line = self._line
        if line is not None and line.opened:
            commands: tuple[str, ...] = ("CNTLOFF",) if self._right else ()
            # The port may be gone; there is nobody left to tell then, and nothing moves.
            with contextlib.suppress(LinkError):
                line.farewell((*self._ours.removal, *commands, CLOSE), self._now_s)
            self._ours.forget()
        self._let_go()

    def _let_go(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = self._talk = None
        self._believed = Believed(self._settings)
        self._ready = False
        self._energised = [False] * len(JOINTS)

    def _give_up(self, error: HilError) -> None:
        """After trouble nothing but a stop leaves any more; before READY there is nothing to stop either."""
        if not self._ready:
            self.close()
            return
        self._trouble, self._talk = self._trouble or error, None
        self._energised = [False] * len(JOINTS)
        self._targets.throw_away()

    def _state(self) -> LinkState:
        phase = LinkPhase.CLOSED
        if self._line is not None:
            phase = LinkPhase.READY if self._ready else LinkPhase.OPENING
        notices, self._notices = tuple(self._notices), []
        joints, inputs, line, last = self._believed.joints, self._inputs.state(), self._account(), self._told
        known = tuple([energised and self._servo for energised in self._energised])
        if (
            last.phase is phase
            and last.joints is joints
            and last.line is line
            and (last.known, last.inputs) == (known, inputs)
            and not (notices or last.notices)
        ):
            return last
        self._told = LinkState(
            phase=phase,
            joints=joints,
            known=known,
            notices=notices,
            identity=self._identity.text if phase is LinkPhase.READY and self._identity is not None else "",
            controller=self._controller if phase is LinkPhase.READY else None,
            inputs=inputs,
            line=line,
        )
        return self._told

    def _account(self) -> LineAccount:
        return LineAccount() if self._line is None else self._line.account(self._believed.at_s)

    def _refuse_stale_target(self) -> None:
        """A target that could not be sent while the motion went on must not set the arm moving after it."""
        if self._targets.stale and self._trouble is None:
            raise ControllerError(
                f"{self._name}: the last target could not be sent for {self._targets.stale_s:g} s and is thrown away; "
                f"the arm stands short of it: {self._why()}; connect again"
            )

    def _why(self) -> str:
        """What holds up the target that waits."""
        line, targets, believed = self._line, self._targets, self._believed
        assert line is not None
        facts = self._since.facts(self._account(), targets.held_up_s, line.late_s)
        short = targets.sent is not None and targets.rests_short(believed)
        return explain_wait(
            facts._replace(
                stalled=line.stalled,
                silent_s=line.silent_s(self._now_s),
                busy="" if targets.busy_since_s is None else explain(BUSY).words,
                short=believed.farthest(targets.sent) if short and targets.sent is not None else None,
                moving=targets.moving(believed),
            )
        )

    def _require_ready(self) -> None:
        if self._trouble is not None:
            raise self._trouble
        if self._line is None:
            raise LinkClosed(f"{self._name}: not connected", self._name)
        if not self._ready:
            raise LinkError(f"{self._name}: still connecting", self._name)

    def _require_risen(self, command: Command) -> None:
        if self._seq is not None and command.seq <= self._seq:
            raise CommandError(
                f"command {command.seq} comes after command {self._seq}; numbers must rise",
                value=command.seq,
                allowed=f"more than {self._seq}",
            )

    def _require_servos(self) -> None:
        if not (self._servo and all(self._energised)):
            limp = ", ".join(name for name, on in zip(JOINTS, self._energised, strict=True) if not (on and self._servo))
            raise CommandError(f"not energised: {limp}; the servos are not on for it", axis=limp)

    # -- commands ----------------------------------------------------------------------------------------

    def _energise(self, command: EnergiseCommand) -> EnergiseCommand:
        axis, count = command.axis, len(JOINTS)
        if not 0 <= axis < count:
            raise CommandError(
                f"there is no axis {axis}; allowed: 0..{count - 1}", value=axis, allowed=f"0..{count - 1}"
            )
        position = self._checked(axis, command.position)
        measured_deg = self._believed.degrees[axis]
        if abs(measured_deg * DEG - position) > STANDS_DEG * DEG:
            raise CommandError(
                f"{JOINTS[axis]} is to be held at {position / DEG:.2f} deg, and the controller measures it at "
                f"{measured_deg:.2f} deg; "
                f"allowed: within {STANDS_DEG:g} deg. Plan from where the arm stands",
                axis=JOINTS[axis],
                value=position,
            )
        self._energised[axis] = self._switching = True
        return EnergiseCommand(seq=command.seq, axis=axis, position=position)

    def _aim(self, command: JointCommand, now_s: float) -> JointCommand:
        if len(command.positions) != len(JOINTS):
            raise CommandError(
                f"{len(command.positions)} positions given; allowed: {len(JOINTS)}",
                value=command.positions,
                allowed=f"{len(JOINTS)} positions",
            )
        self._require_servos()
        positions = tuple([self._checked(axis, position) for axis, position in enumerate(command.positions)])
        due_s = self._want(self._settings.degrees(positions), None, command.due_s, now_s)
        return JointCommand(seq=command.seq, due_s=due_s, positions=positions)

    def _want(self, target: tuple[float, ...], row: int | None, due_s: float, now_s: float) -> float:
        """Take a newer target, of a certified motion or of none; when the arm can be there at the earliest."""
        waited = self._targets.waits
        if not self._targets.want(target, now_s, row):
            raise LinkOverrun(
                f"{self._name}: a target could not be sent for {self._targets.late_s:g} s; nothing is skipped, the "
                f"motion waits: {self._why()}",
                self._name,
            )
        if not waited:
            self._since.begin(self._account(), self._targets.held_up_s)
        return min(due_s, now_s + self._targets.way_s(target, self._believed.degrees))

    def _checked(self, axis: int, position: float) -> float:
        """A position in whole hundredths of a degree, inside the controller's range."""
        low, high = self._bounds[axis]
        rounded = self._settings.degrees((position,))[0] * DEG
        if low - 1e-9 <= rounded <= high + 1e-9:
            return rounded
        allowed = f"{low / DEG:g} to {high / DEG:g} deg"
        raise CommandError(
            f"{JOINTS[axis]}: {position / DEG:.2f} deg given; allowed: {allowed}",
            axis=JOINTS[axis],
            value=position,
            allowed=allowed,
        )

    # -- what is being said --------------------------------------------------------------------------------

    def _advance(self, line: Line, now_s: float) -> None:
        """Take what came and go on with the conversation until it has to wait."""
        for _ in range(TAKING_TURNS):
            heard = line.take(now_s)
            talk = self._talk
            if talk is None:
                return
            if not self._in_flight:
                heard = None
            elif heard is None:
                return
            else:
                self._asked, self._in_flight = None, False
                self._hear(heard)
            if line.took_late():
                self._targets.took_perhaps(self._believed.degrees)
            if self._asked is None:
                try:
                    self._asked = talk.send(heard)
                except StopIteration:
                    self._talk = self._serve()
                    continue
            if self._asked is None or not self._may_leave(line, self._asked, now_s):
                return
            try:
                line.ask(self._asked, now_s)
            except LinkOverrun:
                return
            self._in_flight, self._left_s = True, now_s

    def _may_leave(self, line: Line, asked: Ask, now_s: float) -> bool:
        spaced = asked.spaced or self._program_runs
        return line.idle and (not spaced or now_s >= line.replied_s + SPACING_S)

    def _hear(self, heard: Heard) -> None:
        """A small third letter anywhere says that an alarm came: ask which at once."""
        if heard.reply is not None and heard.reply.alarm:
            self._suspicious = True

    def _session(self, line: Line) -> Talk[None]:
        self._identity = yield from greet(line, self._settings, self._client)
        self._client = line.client
        if line.client != CLIENTS[0]:
            self._notices.append(f"the controller was opened as {line.client}; it did not take {CLIENTS[0]}")
        self._controller = yield from identify(self._identity, self._acquaintance.expected, line.client)
        self._acquaintance.meet(self._controller)
        yield from self._look_round()
        self._suspicious = False
        self._ready = True

    def _serve(self) -> Talk[None]:
        """The steady state: stop first, then alarms, then the servos, then targets, then looking."""
        while True:
            if self._halting:
                yield from self._looking(self._halt())
            elif self._suspicious:
                yield from self._ask_for_alarm()
            elif self._switching and not self._servo:
                yield from self._looking(self._naming_the_key(self._switch_on()))
            elif self._target_due():
                yield from self._naming_the_key(self._send_target())
            elif self._now_s >= self._next_look_s and not self._next_target_near():
                yield from self._look()
                self._tell_rate()
            else:
                yield None

    def _naming_the_key(self, talk: Talk[T]) -> Talk[T]:
        """Where the key stands may be why the controller refuses the right, the servos or a move."""
        try:
            return (yield from talk)
        except RequestRefusedError as error:
            raise ControllerError((yield from in_the_way(error))) from None

    def _looking(self, talk: Talk[T]) -> Talk[T]:
        """A long conversation with looks at the joints between its questions, so that what is known stays young."""
        heard: Heard | None = None
        while True:
            try:
                asked = talk.send(heard)
            except StopIteration as done:
                result: T = done.value
                return result
            if asked is not None and self._now_s - self._looked_s > LOOK_S:
                yield from self._look_at_joints(_LOOK_BETWEEN)
            heard = yield asked

    # -- connecting ----------------------------------------------------------------------------------------

    def _look_round(self) -> Talk[None]:
        """Key, emergency stops, alarms, paused programs, and where the arm stands; moves nothing."""
        state = yield from standing()
        stops = decode_stops((yield from need(Ask("STPSIG", decode_stops, 14))).data)
        if stops.emergency or state.status.emergency_stop:
            pressed = ", ".join(stops.emergency) or "somewhere"
            raise ControllerError(f"{self._name}: the emergency stop is pressed ({pressed}); release it, connect again")
        key = Key.TEACH if state.status.teach else (yield from read_key())
        if state.status.teach:
            raise ControllerError(f"{self._name}: {Key.TEACH.words}, connect again")
        if key is not None and key.words:
            self._notices.append(key.words)
        yield from self._clear_alarm()
        assert self._identity is not None
        ours = self._ours.meet(state.program.rsplit(".", 1)[0], self._identity.tasks)
        if state.status.running and not ours:
            raise ControllerError(
                f"{self._name}: program {state.program or 'of somebody'} runs (line {state.line}); stop it at the "
                "panel, connect again"
            )
        if state.status.running or state.status.waiting:
            yield from self._reset_slots()
            what = f"our program {ours}, left behind by a session that was cut off," if ours else "a paused program"
            self._notices.append(f"{what} was stopped and reset, so that no start goes on with it")
        yield from self._first_position()

    def _clear_alarm(self) -> Talk[None]:
        """An alarm that stands is told and reset once; one that comes back is a fault."""
        for again in (False, True):
            standing = decode_alarm((yield from need(_ALARM)).data)
            if standing is None:
                return
            alarm = explain(*_with_letter(standing))
            if again:
                raise ControllerError(f"{self._name}: alarm {alarm.words}")
            self._notices.append(f"alarm {alarm.level}{alarm.number:04d} ({alarm.text}) stood and was reset")
            yield from need(Ask("RSTALRM"))

    def _first_position(self) -> Talk[None]:
        """The joints, twice over: as such, and as the pose that the controller makes of them."""
        self._looked_s = self._now_s
        reply, arrived_s = yield from attempt(_LOOK)
        if not reply.accepted:
            raise RequestRefusedError("JPOSF", reply)
        joints = decode_joints(reply.data)
        self._believed.take(joints, arrived_s, moving=False)
        shown = decode_pose((yield from need(Ask("PPOSF", decode_pose, 90))).data)
        off_mm = distance_mm(pose(joints.joints_deg), shown)
        if off_mm > TOOL_MM:
            self._notices.append(
                f"the controller's point lies {off_mm:.1f} mm from the flange that its joints give: a tool or base is "
                "set there (parameters MEXTL, MEXBS). Joint moves are right all the same"
            )

    # -- servos --------------------------------------------------------------------------------------------

    def _switch_on(self) -> Talk[None]:
        settings, began_s = self._settings, self._now_s
        yield from need(Ask("CNTLON"))
        self._right = True
        status = yield from self._ask_status()
        if not status.servo:
            yield from need(Ask("SRVON"))
        while not status.servo:
            if self._now_s - began_s > settings.servo_timeout_s:
                raise ControllerError(
                    f"{self._name}: the servos are not on {settings.servo_timeout_s:g} s after SRVON; look at the "
                    "emergency stop circuit, the key and the panel"
                )
            status = yield from self._ask_status()
        percent = settings.override_percent
        reply = yield from need(Ask(f"OVRD={percent}"))
        if reply.data and reply.data != str(percent):
            raise ControllerError(f"{self._name}: override {percent} was asked for, the controller has {reply.data!r}")
        done = [(yield from self._ours.clear_away())]
        if settings.way is Way.SEGMENTS:
            done.append((yield from self._ours.make_executable()))
        else:
            yield from self._start_program()
        self._notices += filter(None, done)
        self._servo, self._switching = True, False
        if self._line is not None:
            self._line.gate.stands(self._believed.degrees)

    def _start_program(self) -> Talk[None]:
        """Put our loop program there with a token of this start, and run it; it moves nothing by itself."""
        way = self._settings.way
        yield from self._ours.put()
        reply, _ = yield from attempt(Ask(f"RUN{RESERVED[way]};1"))
        self._program_runs = True
        status = yield from self._ask_status()
        if not status.running:
            self._program_runs = False
            raise (
                RequestRefusedError("RUN", reply)
                if not reply.accepted
                else ControllerError(
                    f"{self._name}: our program {RESERVED[way]} does not run after RUN; look at the panel"
                )
            )

    # -- targets -------------------------------------------------------------------------------------------

    def _target_due(self) -> bool:
        targets, line, segments = self._targets, self._line, self._settings.way is Way.SEGMENTS
        if line is None or self._corridor.left or not targets.due(self._now_s):
            return False
        if not line.idle or (self._program_runs and self._now_s < line.replied_s + SPACING_S):
            # Made before it may leave, a target would be old when it does.
            return False
        if line.owing and self._now_s < self._began_s + 2 * self._settings.send_period_s:
            # Our program reads one line after the other: a second one would only be gone through later.
            return False
        return not segments or targets.arrived(self._believed)

    def _next_target_near(self) -> bool:
        """A look begun now would hold up the next target; what is known must not grow too old for that, though."""
        if self._corridor.left or self._age_s() > OLD_S:
            return False
        if self._settings.way is Way.SEGMENTS and not self._targets.arrived(self._believed):
            return False
        return self._targets.near(self._now_s)

    def _send_target(self) -> Talk[None]:
        target, targets = self._targets.wanted, self._targets
        assert target is not None and self._line is not None
        way = self._settings.way
        self._line.gate.expect(targets.row)
        if way is not Way.SEGMENTS and not self._program_runs:
            # That takes its time, and there is a newer target after it.
            yield from self._looking(self._start_program())
            return
        if way is Way.SEGMENTS:
            told = yield from self._tell_segment(target)
        elif way is Way.HOT:
            told = yield from self._tell(target, Ask(hot_target(self._constant(target)), length=PLAIN_REPLY))
        else:
            told = yield from self._tell_line(target)
        if not told:
            # No answer may mean that nobody runs our program any more: why comes first.
            self._status_s = float("-inf")
            yield from self._look()
            return
        targets.told(target, self._began_s, self._now_s, self._believed.degrees)
        self._since.begin(self._account(), targets.held_up_s)

    def _constant(self, target: tuple[float, ...]) -> str:
        """A target as the controller reads it: of a certified motion as it was certified."""
        row = self._targets.row
        if row is None or self._carried is None:
            return joint_constant(target)
        return self._carried[0].line(row).decode("ascii")

    def _tell_rate(self) -> None:
        """Once the arm rests where the last target was: how often it got one."""
        if not self._targets.arrived(self._believed):
            return
        rate = self._targets.take_rate()
        if rate is not None:
            mean_s, longest_s = rate
            self._notices.append(
                f"{1 / mean_s:.2f} targets a second while moving: one every {mean_s:.2f} s, at most "
                f"{longest_s:.2f} s apart ({self._settings.way.value})"
            )

    def _tell(self, target: tuple[float, ...], ask: Ask) -> Talk[bool]:
        """True once it is accepted; a target may be told twice, so one without an answer is told again."""
        self._set_out(target)
        heard = yield ask
        self._began_s = self._left_s
        if heard is None or heard.reply is None:
            self._targets.told_perhaps(target, self._began_s, self._now_s, self._believed.degrees)
            return False
        if not heard.reply.accepted:
            raise RequestRefusedError(ask.command, heard.reply)
        return True

    def _set_out(self, target: tuple[float, ...]) -> None:
        """From the next request on the arm may be on its way there, whatever becomes of the answer."""
        self._targets.telling = target
        self._corridor.lead(self._believed.degrees, target)

    def _tell_segment(self, target: tuple[float, ...]) -> Talk[bool]:
        """The target, then the move; nothing goes anywhere by the first alone."""
        named = yield Ask(f"EXECJT={self._constant(target)}", length=PLAIN_REPLY, spaced=False)
        self._began_s = self._left_s
        if named is None or named.reply is None:
            return False
        if not named.reply.accepted:
            raise RequestRefusedError("EXECJT", named.reply)
        targets = self._targets
        if not targets.fresh(self._now_s):
            return False
        self._set_out(target)
        heard = yield Ask("EXECMOV JT", length=PLAIN_REPLY, spaced=False)
        if heard is None or heard.reply is None:
            targets.told_perhaps(target, self._began_s, self._now_s, self._believed.degrees)
            return False
        targets.telling = None
        if heard.reply.error == BUSY:
            # It still moves, or stands within its own window: look again, but not for ever.
            targets.busy_since_s = self._now_s if targets.busy_since_s is None else targets.busy_since_s
            if self._now_s - targets.busy_since_s < BUSY_S:
                self._suspicious = True
                yield from self._look()
                return False
        if not heard.reply.accepted:
            raise RequestRefusedError("EXECMOV", heard.reply)
        return True

    def _tell_line(self, target: tuple[float, ...]) -> Talk[bool]:
        settings = self._settings
        before = self._targets.sent if self._targets.sent is not None else self._believed.degrees
        ceiling = settings.ceiling / DEG * settings.send_period_s * MATCHED
        needed = max(abs(b - a) / most for a, b, most in zip(before, target, ceiling.tolist(), strict=True))
        percent = round(min(max(100.0 * needed, 1.0), 100.0), 1)
        patience_s = (1.0 - MATCHED) * 2 * settings.send_period_s
        line = line_target(target, percent, self._ours.token)
        ask = Ask(line, check_printed, len(PRINTED) + 2, patience_s=patience_s, printed=PRINTED)
        return (yield from self._tell(target, ask))

    # -- looking -------------------------------------------------------------------------------------------

    def _look(self) -> Talk[None]:
        """Where the arm is; now and then how the controller is."""
        if self._corridor.left or (self._age_s() > LOOK_S and self._now_s - self._looked_s > LOOK_S):
            yield from self._look_at_joints()
        elif self._now_s - self._status_s >= STATUS_PERIOD_S:
            heard = yield _STATUS
            # Asked is enough: what is lost again and again must not keep the joints from being looked at.
            self._status_s = self._now_s
            status = None if heard is None or heard.reply is None or not heard.reply.accepted else heard.reply.data
            if status is not None and self._trouble_in(decode_status(status)):
                # A garbled digit looks like a key that was turned: it counts when it is there twice.
                yield from self._ask_status()
        elif (block := self._inputs.block_due(self._now_s)) is not None:
            heard = yield Ask(f"IN{block}", decode_inputs, INPUT_REPLY)
            self._inputs.asked(block, self._now_s)
            if heard is not None and heard.reply is not None and heard.reply.accepted:
                self._inputs.note(block, decode_inputs(heard.reply.data), heard.arrived_s)
        else:
            yield from self._look_at_joints()
        self._next_look_s = self._now_s + SPACING_S

    def _age_s(self) -> float:
        """How old is what is known of the joints."""
        return self._now_s - (self._believed.at_s or self._now_s)

    def _look_at_joints(self, ask: Ask = _LOOK) -> Talk[None]:
        self._looked_s = self._now_s
        heard = yield ask
        if heard is not None and heard.reply is not None and heard.reply.accepted:
            moving = self._halting or self._targets.moving(self._believed)
            found = decode_joints(heard.reply.data)
            self._believed.take(found, heard.arrived_s, moving=moving)
            self._refuse_astray(found.joints_deg)
            self._targets.settle(self._believed)

    def _refuse_astray(self, seen_deg: tuple[float, ...]) -> None:
        """An arm that goes where nobody has sent it is stopped at the controller, however hard that is to believe."""
        astray = "" if self._halting else self._corridor.judge(seen_deg)
        if astray:
            raise ControllerError(
                f"{self._name}: {astray}. A command was changed on the line, or something pushes the arm: look at the "
                "arm and the cable, connect again"
            )

    def _ask_status(self) -> Talk[Status]:
        reply: Reply = yield from need(_STATUS)
        status = decode_status(reply.data)
        self._judge(status)
        return status

    def _judge(self, status: Status) -> None:
        """What a person did at the controller, and what it did by itself, is a fault while the arm is ours."""
        trouble = self._trouble_in(status)
        if trouble:
            raise ControllerError(f"{self._name}: {trouble}")

    def _trouble_in(self, status: Status) -> str:
        if status.error:
            self._suspicious = True
        if not (self._servo or self._switching):
            return ""
        if status.emergency_stop:
            return "an emergency stop was pressed; release it, reset, connect again"
        if status.teach:
            return "the key was turned to TEACH: whoever holds the teach box has the arm now"
        if self._servo and not status.servo and not status.error:
            return "the servos went off; look at the panel, then connect again"
        if self._program_runs and not status.running and not status.error and not self._halting:
            return "our program has stopped; somebody pressed STOP, or it met an error"
        return ""

    def _ask_for_alarm(self) -> Talk[None]:
        reply = yield from need(_ALARM)
        self._suspicious = False
        standing = decode_alarm(reply.data)
        if standing is not None:
            raise ControllerError(f"{self._name}: alarm {explain(*_with_letter(standing)).words}", reply.data.encode())

    # -- stopping ------------------------------------------------------------------------------------------

    def _halt(self) -> Talk[None]:
        yield from attempt(_STOP)
        yield from self._reset_slots()
        self._halting = self._program_runs = False
        if self._line is not None:
            self._line.gate.stands(self._believed.degrees)
        self._believed.moved = True
        self._targets.halt()
        self._corridor.forget()

    def _part(self, line: Line) -> Talk[None]:
        if self._halting or self._program_runs:
            yield from self._halt()
        self._notices += yield from part(line, self._ours, self._right)

    @staticmethod
    def _at_last(talk: Talk[object]) -> Talk[None]:
        """A conversation after which nothing is said any more."""
        yield from talk
        while True:
            yield None

    def _reset_slots(self) -> Talk[None]:
        """Wait for rest, then reset the slots: a paused move would go on at the next start."""
        began_s = self._now_s
        while True:
            status = decode_status((yield from need(_STATUS)).data)
            if status.running:
                reply, _ = yield from attempt(_STOP)
            else:
                reply, _ = yield from attempt(Ask("SLOTINIT", length=PLAIN_REPLY))
                if reply.accepted:
                    return
            if self._now_s - began_s > HALT_S:
                why = "" if reply.accepted else f" ({explain(reply.error).words})"
                raise ControllerError(
                    f"{self._name}: the controller does not come to rest {HALT_S:g} s after STOP{why}"
                )


def _with_letter(standing: tuple[int, int]) -> tuple[int, str]:
    number, level = standing
    return number, LEVELS[level]
