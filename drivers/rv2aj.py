"""Mitsubishi RV-2AJ behind a CR1: an `ArmLink` that gives its controller one target after another and asks where it is.

The controller plans every move itself, takes about one target a second over its serial line, and answers each request.
So the loop above keeps its tick, and this driver sends the newest target whenever the next one is due. Positions are
MEASURED: JPOSF reads the encoders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from drivers._rv2aj_alarms import LEVELS, explain
from drivers._rv2aj_codec import (
    JOINTS,
    Identity,
    Position,
    Reply,
    Status,
    decode_alarm,
    decode_inputs,
    decode_joints,
    decode_pose,
    decode_state,
    decode_status,
    decode_stops,
    joint_constant,
)
from drivers._rv2aj_hello import greet
from drivers._rv2aj_line import Ask, Heard, Line
from drivers._rv2aj_pose import distance_mm, pose
from drivers._rv2aj_programs import (
    PRINTED,
    RESERVED,
    TOKENS,
    check_printed,
    hot_target,
    install,
    line_target,
    removal,
    renew,
)
from drivers._rv2aj_run import run_program
from drivers._rv2aj_settings import (
    INPUT_REPLY,
    JOINT_REPLY,
    LATE,
    MATCHED,
    PLAIN_REPLY,
    SPACING_S,
    STATUS_REPLY,
    Rv2ajSettings,
    Rv2ajTable,
    Way,
    settings_from_table,
)
from drivers._rv2aj_survey import ask, back_up, look_over
from drivers._rv2aj_talk import RequestRefusedError, Talk, attempt, need
from hil.errors import CommandError, ControllerError, HilError, LinkClosed, LinkError, LinkOverrun
from hil.link import ArmLink, BytePort
from hil.types import (
    Command,
    EnergiseCommand,
    InputState,
    JointCommand,
    JointState,
    LineAccount,
    LinkPhase,
    LinkState,
    StateSource,
)
from hil.units import DEG

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
INPUT_PERIOD_S = 0.75
INPUT_BITS = 16
ARRIVED_DEG = 0.05
STANDS_DEG = 1.0
REST_DEG = 0.05
TOOL_MM = 1.0
HALT_S = 3.0
BUSY = 5640
BUSY_S = 5.0
TAKING_TURNS = 16

_LOOK: Final = Ask("JPOSF", decode_joints, JOINT_REPLY)
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
        self._token = 0
        self._watched: tuple[int, ...] = ()
        self._forget()

    def _forget(self) -> None:
        """Whatever was known of a controller counts for one connection only."""
        self._talk: Talk[None] | None = None
        self._asked: Ask | None = None
        self._in_flight = False
        self._now_s = 0.0
        self._ready = self._owns_program = False
        self._identity: Identity | None = None
        self._selected_before = ""
        self._joints: JointState | None = None
        self._doubtful: tuple[float, ...] | None = None
        self._notices: list[str] = []
        self._failure: LinkError | None = None
        self._trouble: ControllerError | None = None
        self._seq: int | None = None
        self._energised = [False] * len(JOINTS)
        self._switching = self._servo = self._right = False
        self._program_runs = False
        self._status_s = self._next_look_s = float("-inf")
        self._suspicious = False
        self._halting = False
        self._target: tuple[float, ...] | None = None
        self._waiting_s: float | None = None
        self._sent: tuple[float, ...] | None = None
        self._sent_s = self._told_s = self._left_s = self._began_s = float("-inf")
        self._busy_since_s: float | None = None
        self._written_s = float("-inf")
        self._gaps_s: list[float] = []
        self._words: dict[int, tuple[float, int]] = {}

    # -- the link ----------------------------------------------------------------------------------------

    def open(self, now_s: float) -> None:
        """Open the line afresh; `read` does the rest.

        Raises:
            LinkError: the port cannot be opened.
        """
        self.close()
        self._forget()
        self._line = Line(self._settings, self._open_port(), now_s)
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
            try:
                self._refuse_stale_target()
                self._advance(self._line, now_s)
            except LinkClosed:
                self.close()
                raise
            except ControllerError as error:
                self._give_up(error)
                raise
            except HilError:
                self.close()
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
        if self._seq is not None and command.seq <= self._seq:
            raise CommandError(
                f"command {command.seq} comes after command {self._seq}; numbers must rise",
                value=command.seq,
                allowed=f"more than {self._seq}",
            )
        if isinstance(command, EnergiseCommand):
            sent: Command = self._energise(command)
        else:
            sent = self._aim(command, now_s)
        self._seq = command.seq
        return sent

    def watch_inputs(self, signals: Sequence[int]) -> None:
        """Read these inputs from now on, sixteen at a time, between the looks at the joints."""
        self._watched = tuple(sorted(signals))
        self._words = {}

    def throw_away(self) -> None:
        """Forget the target that has not left yet; the arm ends the move that it was given before."""
        self._target = self._waiting_s = None

    def stop(self, now_s: float) -> None:
        """Stop at the controller, keep the servos on, and throw away what was to come. Never raises.

        A stop leaves the controller in a pause, from which a start would go on: as soon as the arm rests, the slots are
        reset, so that nothing is left to go on with.
        """
        line = self._line
        if line is None or not line.opened:
            return
        self._target = self._waiting_s = None
        self._halting = True
        if self._ready and self._trouble is None:
            self._asked, self._in_flight = None, False
            self._talk = self._serve()
        try:
            line.stop(now_s)
        except LinkError as error:
            self._failure = error
            if isinstance(error, LinkClosed):
                self._let_go()

    def close(self) -> None:
        """Give back the right and let go of the line; our program goes, the arm and its servos stay as they are."""
        line = self._line
        if line is not None and line.opened:
            commands: tuple[str, ...] = ("CNTLOFF",) if self._right else ()
            if self._owns_program:
                commands = (*removal(self._settings.way, self._selected_before), *commands)
            try:
                line.farewell((*commands, "CLOSE"), self._now_s)
            except LinkError:
                # The port may be gone; there is nobody left to tell, and nothing moves.
                self._owns_program = False
        self._let_go()

    def _let_go(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = self._talk = self._joints = None
        self._ready = False
        self._energised = [False] * len(JOINTS)

    def _give_up(self, error: ControllerError) -> None:
        """After trouble nothing but a stop leaves any more; before READY there is nothing to stop either."""
        if not self._ready:
            self.close()
            return
        self._trouble, self._talk = error, None
        self._energised = [False] * len(JOINTS)
        self._target = None

    def _state(self) -> LinkState:
        phase = LinkPhase.CLOSED
        if self._line is not None:
            phase = LinkPhase.READY if self._ready else LinkPhase.OPENING
        notices, self._notices = tuple(self._notices), []
        return LinkState(
            phase=phase,
            joints=self._joints,
            known=tuple(energised and self._servo for energised in self._energised),
            notices=notices,
            identity=self._identity.text if phase is LinkPhase.READY and self._identity is not None else "",
            inputs=self._inputs(),
            line=LineAccount(
                believed_s=None if self._joints is None or self._line is None else self._line.replied_s,
                questions=0 if self._line is None else self._line.questions,
                lost=0 if self._line is None else self._line.lost,
            ),
        )

    def _inputs(self) -> InputState | None:
        """What was read of the inputs that are watched; None until all of them were."""
        if not self._watched or any(_block(signal) not in self._words for signal in self._watched):
            return None
        values = tuple([(n, self._words[_block(n)][1] >> n % INPUT_BITS & 1) for n in self._watched])
        return InputState(t_s=min(at_s for at_s, _ in self._words.values()), values=values)

    def _refuse_stale_target(self) -> None:
        """A target that could not be sent while the motion went on must not set the arm moving after it."""
        late_s = LATE * self._settings.send_period_s
        if self._target is None or self._target == self._sent or self._trouble is not None:
            return
        if self._now_s - self._written_s > late_s:
            why = explain(BUSY).words if self._busy_since_s is not None else "look at the line"
            raise ControllerError(
                f"{self._name}: the last target could not be sent for {late_s:g} s and is thrown away; the arm stands "
                f"short of it: {why}; connect again"
            )

    def _require_ready(self) -> None:
        if self._line is None:
            raise LinkClosed(f"{self._name}: not connected", self._name)
        if self._trouble is not None:
            raise self._trouble
        if not self._ready:
            raise LinkError(f"{self._name}: still connecting", self._name)

    # -- commands ----------------------------------------------------------------------------------------

    def _energise(self, command: EnergiseCommand) -> EnergiseCommand:
        axis, count = command.axis, len(JOINTS)
        if not 0 <= axis < count:
            raise CommandError(
                f"there is no axis {axis}; allowed: 0..{count - 1}", value=axis, allowed=f"0..{count - 1}"
            )
        position = self._checked(axis, command.position)
        measured = None if self._joints is None else self._joints.positions[axis]
        if measured is None or abs(measured - position) > STANDS_DEG * DEG:
            seen = "nowhere yet" if measured is None else f"at {measured / DEG:.2f} deg"
            raise CommandError(
                f"{JOINTS[axis]} is to be held at {position / DEG:.2f} deg, and the controller measures it {seen}; "
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
        if not (self._servo and all(self._energised)):
            limp = ", ".join(name for name, on in zip(JOINTS, self._energised, strict=True) if not (on and self._servo))
            raise CommandError(f"not energised: {limp}; the servos are not on for it", axis=limp)
        positions = tuple([self._checked(axis, position) for axis, position in enumerate(command.positions)])
        target = self._settings.degrees(positions)
        late_s = LATE * self._settings.send_period_s
        if self._waiting_s is not None and now_s - max(self._waiting_s, self._sent_s) > late_s:
            raise LinkOverrun(
                f"{self._name}: a target could not be sent for {late_s:g} s, because the controller or the line is "
                "behind; nothing is skipped: raise controller.send_period_ms",
                self._name,
            )
        self._target, self._written_s = target, now_s
        if target == self._sent:
            self._waiting_s = None
        elif self._waiting_s is None:
            self._waiting_s = now_s
        return JointCommand(seq=command.seq, due_s=min(command.due_s, now_s + self._way_s(target)), positions=positions)

    def _way_s(self, target: tuple[float, ...]) -> float:
        """The least time in which the arm can be at a target: sent at once, at full speed from the one before."""
        before = self._sent if self._sent is not None else self._degrees_now()
        speeds = self._settings.pace.speeds
        return max(abs(b - a) * DEG / speed for a, b, speed in zip(before, target, speeds, strict=True))

    def _degrees_now(self) -> tuple[float, ...]:
        assert self._joints is not None, "nothing is energised before the joints are known"
        return tuple([(position or 0.0) / DEG for position in self._joints.positions])

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
                line.lost += 1
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
        self._identity = yield from greet(line, self._settings)
        yield from self._look_round()
        self._suspicious = False
        self._ready = True

    def _serve(self) -> Talk[None]:
        """The steady state: stop first, then alarms, then the servos, then targets, then looking."""
        while True:
            if self._halting:
                yield from self._halt()
            elif self._suspicious:
                yield from self._ask_for_alarm()
            elif self._switching and not self._servo:
                yield from self._switch_on()
            elif self._target_due():
                yield from self._send_target()
            elif self._now_s >= self._next_look_s and not self._next_target_near():
                yield from self._look()
                self._tell_rate()
            else:
                yield None

    # -- connecting ----------------------------------------------------------------------------------------

    def _look_round(self) -> Talk[None]:
        """Key, emergency stops, alarms, paused programs, and where the arm stands; moves nothing."""
        state = decode_state((yield from need(Ask("STATE", decode_state, 90))).data)
        stops = decode_stops((yield from need(Ask("STPSIG", decode_stops, 14))).data)
        if stops.emergency or state.status.emergency_stop:
            pressed = ", ".join(stops.emergency) or "somewhere"
            raise ControllerError(f"{self._name}: the emergency stop is pressed ({pressed}); release it, connect again")
        if state.status.teach:
            raise ControllerError(
                f"{self._name}: the key stands on TEACH; switch the teach box off, turn the key to AUTO, connect again"
            )
        yield from self._clear_alarm()
        name = state.program.rsplit(".", 1)[0]
        ours = name in RESERVED.values()
        self._selected_before = "" if ours else name
        if state.status.running and not ours:
            raise ControllerError(
                f"{self._name}: program {state.program or 'of somebody'} runs (line {state.line}); stop it at the "
                "panel, connect again"
            )
        if state.status.running or state.status.waiting:
            yield from self._reset_slots()
            what = f"our program {name}, left behind by a session that was cut off," if ours else "a paused program"
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
        reply, arrived_s = yield from attempt(_LOOK)
        if not reply.accepted:
            raise RequestRefusedError("JPOSF", reply)
        joints = decode_joints(reply.data)
        self._believe(joints, arrived_s)
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
        if settings.way is not Way.SEGMENTS:
            yield from self._start_program()
        self._servo, self._switching = True, False

    def _start_program(self) -> Talk[None]:
        """Put our loop program there with a token of this start, and run it; it moves nothing by itself."""
        assert self._identity is not None
        way = self._settings.way
        self._token = self._token % TOKENS + 1
        edit_slot = self._identity.tasks + 1
        yield from renew(way, self._token, edit_slot) if self._owns_program else install(way, self._token, edit_slot)
        self._owns_program = True
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
        target = self._target
        if target is None or target == self._sent or self._now_s < self._sent_s + self._settings.send_period_s - 1e-6:
            return False
        line = self._line
        if line is None or not line.idle or (self._program_runs and self._now_s < line.replied_s + SPACING_S):
            # Made before it may leave, a target would be old when it does.
            return False
        return self._settings.way is not Way.SEGMENTS or self._arrived()

    def _next_target_near(self) -> bool:
        """A look begun now would hold up the next target."""
        if self._target is None or self._target == self._sent:
            return False
        if self._settings.way is Way.SEGMENTS and not self._arrived():
            return False
        return self._now_s + self._settings.look_s > self._sent_s + self._settings.send_period_s

    def _arrived(self) -> bool:
        """The arm was seen at the last target after it was told; a second move during one is refused."""
        if self._sent is None:
            return True
        report = self._joints
        return (
            report is not None
            and report.t_s > self._told_s
            and all(
                position is not None and abs(position / DEG - sent) <= ARRIVED_DEG
                for position, sent in zip(report.positions, self._sent, strict=True)
            )
        )

    def _send_target(self) -> Talk[None]:
        target = self._target
        assert target is not None
        way = self._settings.way
        if way is not Way.SEGMENTS and not self._program_runs:
            # That takes its time, and there is a newer target after it.
            yield from self._start_program()
            return
        if way is Way.SEGMENTS:
            told = yield from self._tell_segment(target)
        elif way is Way.HOT:
            told = yield from self._tell(Ask(hot_target(target), length=PLAIN_REPLY))
        else:
            told = yield from self._tell_line(target)
        if not told:
            # No answer may mean that nobody runs our program any more: why comes first.
            self._status_s = float("-inf")
            yield from self._look()
            return
        waiting_s = self._waiting_s if self._waiting_s is not None else self._began_s
        if waiting_s <= self._sent_s + self._settings.send_period_s:
            # A gap in which nothing new was wanted says nothing of the line.
            self._gaps_s.append(self._began_s - self._sent_s)
        self._sent, self._sent_s, self._told_s, self._busy_since_s = target, self._began_s, self._now_s, None
        self._waiting_s = None if self._target in (None, target) else self._now_s

    def _tell_rate(self) -> None:
        """Once the arm rests where the last target was: how often it got one."""
        resting = self._target == self._sent and self._now_s - self._written_s > 0.5 * self._settings.send_period_s
        if not (resting and self._arrived()):
            return
        gaps_s, self._gaps_s = self._gaps_s, []
        if gaps_s:
            mean_s = sum(gaps_s) / len(gaps_s)
            self._notices.append(
                f"{1 / mean_s:.2f} targets a second while moving: one every {mean_s:.2f} s, at most "
                f"{max(gaps_s):.2f} s apart ({self._settings.way.value})"
            )

    def _tell(self, ask: Ask) -> Talk[bool]:
        """True once it is accepted; a target may be told twice, so one without an answer is told again."""
        heard = yield ask
        self._began_s = self._left_s
        if heard is None or heard.reply is None:
            return False
        if not heard.reply.accepted:
            raise RequestRefusedError(ask.command, heard.reply)
        return True

    def _tell_segment(self, target: tuple[float, ...]) -> Talk[bool]:
        named = yield from self._tell(Ask(f"EXECJT={joint_constant(target)}", length=PLAIN_REPLY, spaced=False))
        if not named or self._target is None:
            return False
        heard = yield Ask("EXECMOV JT", length=PLAIN_REPLY, spaced=False)
        if heard is None or heard.reply is None:
            return False
        if heard.reply.error == BUSY:
            # It still moves, or stands within its own window: look again, but not for ever.
            self._busy_since_s = self._busy_since_s or self._now_s
            if self._now_s - self._busy_since_s < BUSY_S:
                self._suspicious = True
                yield from self._look()
                return False
        if not heard.reply.accepted:
            raise RequestRefusedError("EXECMOV", heard.reply)
        return True

    def _tell_line(self, target: tuple[float, ...]) -> Talk[bool]:
        settings = self._settings
        before = self._sent if self._sent is not None else self._degrees_now()
        ceiling = settings.ceiling / DEG * settings.send_period_s * MATCHED
        needed = max(abs(b - a) / most for a, b, most in zip(before, target, ceiling.tolist(), strict=True))
        percent = round(min(max(100.0 * needed, 1.0), 100.0), 1)
        patience_s = (1.0 - MATCHED) * 2 * settings.send_period_s
        line = line_target(target, percent, self._token)
        return (
            yield from self._tell(Ask(line, check_printed, len(PRINTED) + 2, patience_s=patience_s, printed=PRINTED))
        )

    # -- looking -------------------------------------------------------------------------------------------

    def _look(self) -> Talk[None]:
        """Where the arm is; now and then how the controller is."""
        if self._now_s - self._status_s >= STATUS_PERIOD_S:
            heard = yield _STATUS
            if heard is not None and heard.reply is not None and heard.reply.accepted:
                self._status_s = self._now_s
                if self._trouble_in(decode_status(heard.reply.data)):
                    # A garbled digit looks like a key that was turned: it counts when it is there twice.
                    yield from self._ask_status()
        elif (block := self._block_due()) is not None:
            heard = yield Ask(f"IN{block}", decode_inputs, INPUT_REPLY)
            if heard is not None and heard.reply is not None and heard.reply.accepted:
                self._words[block] = (heard.arrived_s, decode_inputs(heard.reply.data))
        else:
            heard = yield _LOOK
            if heard is not None and heard.reply is not None and heard.reply.accepted:
                self._believe(decode_joints(heard.reply.data), heard.arrived_s)
        self._next_look_s = self._now_s + SPACING_S

    def _block_due(self) -> int | None:
        """The sixteen inputs, named by the first, that were not looked at for longest, if it is time."""
        blocks = {_block(signal) for signal in self._watched}
        read_s, block = min(((self._words.get(b, (float("-inf"), 0))[0], b) for b in blocks), default=(self._now_s, 0))
        return block if self._now_s - read_s >= INPUT_PERIOD_S else None

    def _believe(self, found: Position, at_s: float) -> None:
        """Take a position if the arm can have got there, or if it is seen there twice.

        The line carries no check sum: a digit lost on the way makes a number that looks right.
        """
        seen = found.joints_deg
        if self._joints is not None:
            moving = (self._sent is not None and not self._arrived()) or self._halting
            way_s = at_s - self._joints.t_s if moving else 0.0
            reach = self._settings.ceiling / DEG * 1.5 * way_s + REST_DEG
            last = self._degrees_now()
            near = all(abs(a - b) <= most for a, b, most in zip(seen, last, reach.tolist(), strict=True))
            doubtful = self._doubtful
            again = doubtful is not None and all(abs(a - b) <= REST_DEG for a, b in zip(seen, doubtful, strict=True))
            if not (near or again):
                self._doubtful = seen
                return
        self._doubtful = None
        positions = tuple(degrees * DEG for degrees in seen)
        self._joints = JointState(t_s=at_s, positions=positions, source=StateSource.MEASURED)

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
        yield from self._reset_slots()
        self._halting = self._program_runs = False
        self._sent, self._sent_s = None, float("-inf")

    def _reset_slots(self) -> Talk[None]:
        """Wait for rest, then reset the slots: a paused move would go on at the next start."""
        began_s = self._now_s
        refused: Reply | None = None
        while self._now_s - began_s < HALT_S:
            status = decode_status((yield from need(_STATUS)).data)
            if status.running:
                yield from attempt(Ask("STOP", length=PLAIN_REPLY))
                continue
            refused, _ = yield from attempt(Ask("SLOTINIT", length=PLAIN_REPLY))
            if refused.accepted:
                return
        why = f" ({explain(refused.error).words})" if refused is not None else ""
        raise ControllerError(f"{self._name}: the controller does not come to rest {HALT_S:g} s after STOP{why}")


def _block(signal: int) -> int:
    return signal - signal % INPUT_BITS


def _with_letter(standing: tuple[int, int]) -> tuple[int, str]:
    number, level = standing
    return number, LEVELS[level]
