"""A user's program on the controller: stored, read back, run or stepped, watched all the way, and taken away again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing

from drivers._rv2aj_alarms import explain, explain_standing
from drivers._rv2aj_codec import (
    JOINTS,
    State,
    Status,
    decode_alarm,
    decode_inputs,
    decode_joints,
    decode_state,
    decode_status,
    decode_stops,
    program_stem,
)
from drivers._rv2aj_converse import converse
from drivers._rv2aj_farewell import close_and_wait
from drivers._rv2aj_hello import greet
from drivers._rv2aj_identity import identify
from drivers._rv2aj_key import Key, in_the_way
from drivers._rv2aj_line import Ask, Cr1Line
from drivers._rv2aj_programs import standing
from drivers._rv2aj_recall import recall
from drivers._rv2aj_settings import INPUT_REPLY, JOINT_REPLY, PLAIN_REPLY, STATUS_REPLY, Rv2ajSettings
from drivers._rv2aj_talk import RequestRefusedError, Talk, attempt, need
from hil.clock import Clock
from hil.errors import ControllerError, HilError, LinkClosed, LinkError
from hil.link import BytePort, ProgramEnd, ProgramJob, ProgramLook, ProgramWatcher, StoredProgram
from hil.types import ControllerIdentity
from hil.units import DEG

STANDS_DEG = 1.0
BEGINS_S = 1.0
HALT_S = 5.0
INTERRUPTED = "interrupted from the keyboard"
MOST_TEXT = 200
MOST_LINES = 5000
WORDS = (0, 900)
"""Outputs are looked at sixteen at a time: the first general ones and the hands'."""


def run_program(
    settings: Rv2ajSettings,
    open_port: Callable[[], BytePort],
    clock: Clock,
    job: ProgramJob,
    watcher: ProgramWatcher,
    meet: Callable[[ControllerIdentity], None] = lambda controller: None,
) -> ProgramEnd:
    """Run a program on the controller and leave nothing of it behind that was not there before.

    Args:
        settings: line, override, range.
        open_port: opens the line.
        clock: what to wait by.
        job: what to run, and how.
        watcher: is told and asked on the way. A KeyboardInterrupt from it, or meanwhile, stops the arm.
        meet: is told who answers before anything is changed there; refuses another controller by raising.

    Raises:
        ControllerError: something stands in the way, or the program there is not this one; nothing has moved.
        LinkError: the line failed.
    """
    with closing(open_port()) as port:
        line = Cr1Line(settings, port, clock.now_s())
        line.unasked = watcher.printed
        run = _Run(settings, line, clock, job, watcher, meet)
        reason = ""
        try:
            converse(line, clock, run.prepare())
            reason = converse(line, clock, run.go(), spaced=True)
        except KeyboardInterrupt as interruption:
            reason = str(interruption) or INTERRUPTED
        except LinkClosed:
            raise
        except HilError:
            run.leave(urgent=True)
            raise
        try:
            run.leave(urgent=bool(reason))
        except KeyboardInterrupt as interruption:
            reason = reason or str(interruption) or INTERRUPTED
        return ProgramEnd(reason=reason, lasted_s=run.lasted_s, looks=run.looks)


class _Run:
    """One run, from OPEN to CLOSE."""

    def __init__(
        self,
        settings: Rv2ajSettings,
        line: Cr1Line,
        clock: Clock,
        job: ProgramJob,
        watcher: ProgramWatcher,
        meet: Callable[[ControllerIdentity], None],
    ) -> None:
        self._settings, self._line, self._clock, self._job, self._watcher = settings, line, clock, job, watcher
        self._meet = meet
        self._edit_slot = 9
        self._ours: list[str] = []
        self._before = ""
        self._began_s = self.lasted_s = 0.0
        self.looks = 0
        self._at = _number(job.programs[0].lines[0])
        self._right = self._editing = self._rising = False
        self._outputs: dict[int, int] = {}
        self._texts, self._presses = list(job.texts), list(job.pressed)

    # -- before ------------------------------------------------------------------------------------------

    def prepare(self) -> Talk[None]:
        """Everything up to servos that are on; moves nothing."""
        identity = yield from greet(self._line, self._settings)
        self._meet((yield from identify(identity, None, self._line.client)))
        self._edit_slot = identity.tasks + 1
        yield from self._look_round()
        for program in self._job.programs:
            yield from self._store(program)
        yield from self._switch_on()
        if self._presses:
            yield from need(Ask("INDMY"))
            yield from self._press(0.0)

    def _look_round(self) -> Talk[None]:
        state = yield from standing()
        stops = decode_stops((yield from need(Ask("STPSIG", decode_stops, 14))).data)
        self._before = program_stem(state.program)
        trouble = self._trouble_in(state.status)
        if stops.emergency:
            trouble = f"the emergency stop is pressed ({', '.join(stops.emergency)}); release it"
        if trouble:
            raise ControllerError(f"{self._settings.port_url}: {trouble}")
        yield from self._refuse_alarm()
        if state.status.running or state.status.waiting:
            how = "runs" if state.status.running else "is paused"
            raise ControllerError(
                f"{self._settings.port_url}: program {state.program or 'of somebody'} {how} (line {state.line}); "
                "stop and reset it at the panel"
            )
        found = decode_joints((yield from need(Ask("JPOSF", decode_joints, JOINT_REPLY))).data)
        for name, there, wanted in zip(JOINTS, found.joints_deg, self._job.start, strict=True):
            if abs(there - wanted / DEG) > STANDS_DEG:
                raise ControllerError(
                    f"{name} stands at {there:.2f} deg; the program was proved from {wanted / DEG:.2f} deg; "
                    f"allowed: within {STANDS_DEG:g} deg. Bring the arm there first"
                )

    def _refuse_alarm(self) -> Talk[None]:
        words = yield from self._alarm()
        if words:
            raise ControllerError(f"{self._settings.port_url}: {words}; reset it at the panel")

    def _alarm(self) -> Talk[str]:
        standing = decode_alarm((yield from need(Ask("ERROR", decode_alarm, 12))).data)
        return "" if standing is None else f"alarm {explain_standing(standing).words}"

    def _store(self, program: StoredProgram) -> Talk[None]:
        """Write the program unless it is there already, and read it back."""
        name = program.name
        there = yield from self._is_there(name)
        if not there:
            self._ours.append(name)
            yield from self._edit(f"LOAD={name}")
            for text in (*program.lines, *program.points):
                try:
                    yield from self._edit(f"EDATA{text}")
                except RequestRefusedError as error:
                    raise ControllerError(f"{name}: the controller refuses {text[:60]!r}: {error}") from None
            yield from self._edit("SAVE")
        yield from self._edit(f"LOAD={name}")
        lines = yield from self._listed("LISTI")
        points = yield from self._listed("LISTP")
        yield from self._edit("NEW")
        wrong = self._watcher.compared(program, lines, points)
        if wrong:
            whose = "another program of this name is there, and is left alone" if there else "it was not stored as sent"
            raise ControllerError(f"{name}: {whose}: {wrong}")

    def _is_there(self, name: str) -> Talk[bool]:
        return (yield from need(Ask(f"FCHECK{name}"))).data.strip().upper() == "N"

    def _edit(self, command: str) -> Talk[None]:
        self._editing = not command.startswith(("SAVE", "NEW"))
        yield from need(Ask(command, slot=self._edit_slot, length=140))

    def _listed(self, what: str) -> Talk[list[str]]:
        found: list[str] = []
        for place in ("TOP", *["+1"] * MOST_LINES):
            reply, _ = yield from attempt(Ask(f"{what}{place}", length=MOST_TEXT, slot=self._edit_slot))
            if not reply.accepted or not reply.data or (found and reply.data == found[-1]):
                break
            found.append(reply.data)
        return found

    def _switch_on(self) -> Talk[None]:
        settings, began_s = self._settings, self._clock.now_s()
        try:
            yield from need(Ask("CNTLON"))
        except RequestRefusedError as error:
            raise ControllerError((yield from in_the_way(error))) from None
        self._right = True
        if not (yield from self._status()).servo:
            self._rising = True
            yield from need(Ask("SRVON"))
        while not (yield from self._status()).servo:
            if self._clock.now_s() - began_s > settings.servo_timeout_s:
                raise ControllerError(
                    f"{settings.port_url}: the servos are not on {settings.servo_timeout_s:g} s after SRVON: look at "
                    "the emergency stop circuit, the key and the panel"
                )
        self._rising = False
        yield from need(Ask(f"OVRD={settings.override_percent}"))

    def _status(self, slot: int = 1) -> Talk[Status]:
        return decode_status((yield from need(Ask("DSTATE", decode_status, STATUS_REPLY, slot=slot))).data)

    # -- the run -----------------------------------------------------------------------------------------

    def go(self) -> Talk[str]:
        """Run it to its end.

        Returns:
            Why it did not get there; empty if it did.
        """
        job, self._began_s = self._job, self._clock.now_s()
        if not (job.stepping or job.breaks):
            return (yield from self._go_through())
        yield from self._edit(f"LOAD={job.programs[0].name}")
        return (yield from self._go_in_steps())

    def _go_through(self) -> Talk[str]:
        yield from need(Ask(f"RUN{self._job.programs[0].name};1"))
        seen = False
        while True:
            state, reason = yield from self._look(1)
            seen = seen or state.status.running
            if reason:
                return reason
            if state.status.running or not (seen or self._clock.now_s() - self._began_s > BEGINS_S):
                continue
            if not state.status.waiting:
                return ""
            if not self._watcher.paused(state.line):
                return f"left at line {state.line}, where the program had paused"
            yield from need(Ask("RUN"))

    def _go_in_steps(self) -> Talk[str]:
        """Line by line in the slot where programs are edited; there is no other way to stop before one."""
        job, slot = self._job, self._edit_slot
        at = self._at
        while True:
            if (job.stepping or at in job.breaks) and not self._watcher.paused(at):
                return f"left before line {at}"
            yield from need(Ask("STEP1", slot=slot))
            while True:
                state, reason = yield from self._look(slot)
                if reason:
                    return reason
                if not state.status.running:
                    break
            if not state.status.waiting:
                return ""
            at = state.line

    def _look(self, slot: int) -> Talk[tuple[State, str]]:
        """Where program and arm are; what is due for the program is sent on the way."""
        state = decode_state((yield from need(Ask("STATE", decode_state, 90, slot=slot))).data)
        reply, arrived_s = yield from attempt(Ask("JPOSF", decode_joints, JOINT_REPLY))
        joints = decode_joints(reply.data)
        for word in WORDS if not self._outputs else (WORDS[self.looks % len(WORDS)],):
            self._outputs[word] = decode_inputs((yield from need(Ask(f"OUT{word}", decode_inputs, INPUT_REPLY))).data)
        self.looks += 1
        if state.status.running or state.status.waiting:
            self._at = state.line
        self.lasted_s = arrived_s - self._began_s
        reason = self._watcher.looked(
            ProgramLook(
                t_s=self.lasted_s,
                line=self._at,
                positions=tuple(degrees * DEG for degrees in joints.joints_deg),
                outputs=tuple(sorted(self._on())),
            )
        )
        if state.status.error:
            reason = yield from self._alarm()
        reason = reason or self._trouble_in(state.status)
        if not reason:
            yield from self._press(self.lasted_s)
            self._tell(state.line)
        return state, reason

    def _on(self) -> Iterable[int]:
        return (first + bit for first, word in self._outputs.items() for bit in range(16) if word >> bit & 1)

    def _press(self, now_s: float) -> Talk[None]:
        while self._presses and self._presses[0][0] <= now_s:
            _, first, word = self._presses.pop(0)
            yield from need(Ask(f"IN={first};{word:04X}"))

    def _tell(self, line: int) -> None:
        """A line of text that is due; what came before its INPUT would be refused."""
        waits = self._job.text_lines
        if self._texts and self._texts[0][0] <= self.lasted_s and (not waits or line in waits):
            self._line.tell(f"PRN {self._texts.pop(0)[1]}", self._clock.now_s())

    def _trouble_in(self, status: Status) -> str:
        if status.emergency_stop:
            return "an emergency stop is pressed; release it, reset the alarm"
        if status.teach:
            return Key.TEACH.words
        if self.looks and not status.servo:
            return "the servos went off; look at the panel"
        return ""

    # -- after -------------------------------------------------------------------------------------------

    def leave(self, *, urgent: bool) -> None:
        """Stop if need be, take our programs away, give the right back. What fails is told, and the rest still done.

        Raises:
            KeyboardInterrupt: one came meanwhile; all was done once more from its beginning.
        """
        try:
            try:
                self._stop_and_clear_up(urgent=urgent)
            except KeyboardInterrupt:
                self._stop_and_clear_up(urgent=True)
                raise
        except (ControllerError, LinkError) as error:
            self._watcher.said(f"clearing up failed: {error}")
        finally:
            close_and_wait(self._line, self._clock)

    def _stop_and_clear_up(self, *, urgent: bool) -> None:
        if urgent and self._line.opened:
            self._line.stop(self._clock.now_s())
        converse(self._line, self._clock, self._clear_up())

    def _clear_up(self) -> Talk[None]:
        if not self._line.opened:
            return
        yield from self._come_to_rest()
        if self._rising:
            words = yield from recall(self._clock.now_s, self._settings.servo_timeout_s, self._status)
            self._rising = False
            self._watcher.said(words)
        if self._editing:
            yield from attempt(Ask("NEW", slot=self._edit_slot, length=PLAIN_REPLY))
        if self._right and self._ours:
            yield from self._select_another()
        for name in self._ours:
            reply, _ = yield from attempt(Ask(f"FDEL{name}", length=PLAIN_REPLY))
            if not reply.accepted and (yield from self._is_there(name)):
                # Selecting the next one twice, as after an interruption, may have brought ours back.
                yield from self._select_another()
                reply, _ = yield from attempt(Ask(f"FDEL{name}", length=PLAIN_REPLY))
            if not reply.accepted and (yield from self._is_there(name)):
                self._watcher.said(
                    f"program {name} stays on the controller ({explain(reply.error).words}); with another program "
                    "there to select instead it would have been deleted"
                )
        if self._right:
            yield from attempt(Ask("CNTLOFF", length=PLAIN_REPLY))

    def _select_another(self) -> Talk[None]:
        """What is selected cannot be deleted."""
        other = self._before if self._before and self._before not in self._ours else ""
        yield from attempt(Ask(f"PRGLOAD={other}" if other else "PRGUP", length=PLAIN_REPLY))

    def _come_to_rest(self) -> Talk[None]:
        began_s = self._clock.now_s()
        while self._clock.now_s() - began_s < HALT_S:
            reply, _ = yield from attempt(Ask("SLOTINIT", length=PLAIN_REPLY))
            if reply.accepted:
                return
            yield from attempt(Ask("STOP", length=PLAIN_REPLY))
        self._watcher.said(f"the controller does not come to rest {HALT_S:g} s after STOP")


def _number(line: str) -> int:
    return int(line.split(" ", 1)[0])
