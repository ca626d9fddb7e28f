"""The emulated CR1 controller of the RV-2AJ: bytes in, motion and bytes out, time as an argument.

Written from the reference alone, and shares nothing with the driver. What the manuals leave open is a choice in
`Cr1Settings`; `docs/fake-cr1.md` lists what is and is not modelled.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np

from hil.errors import ConfigError
from hil.program.errors import ProgramError
from hil.program.motions import Limits, Pace, joint_move
from hil.program.settings import Settings
from hil.program.values import Position, position
from hil.types import Record
from hil.units import DEG
from sim import _cr1_editing, _cr1_monitor, _cr1_running  # noqa: F401 - they fill the command table
from sim._cr1_arm import Arm, ArmModel, Watcher
from sim._cr1_commands import answer
from sim._cr1_jog import Jog, Jogger
from sim._cr1_language import MelfaBasic, SlotDesk, SlotProgram
from sim._cr1_line import Cause, EndCode, Line, RefusedRequest, RequestReader, format_answer, parse_request
from sim._cr1_parameters import Parameters, Procedure
from sim._cr1_signals import Comm, Signals
from sim._cr1_state import Alarm, Alarms, FirstPosition, Holder, Key, Panel, Servo, ServoOff, Stop, text_of
from sim._cr1_store import EXTENSION, EditBuffer, Program, Store, check_name, program_from_text
from sim._cr1_tasks import JointMove, Mode, Slot, SlotState, Task, Variables
from sim.faults import Event, FaultKind
from sim.uart import EIGHT_E_TWO, Chunk, Framing, mishear, same_speed

__all__ = [
    "Cr1",
    "Cr1Settings",
    "Counts",
    "EndCode",
    "Face",
    "FirstPosition",
    "Key",
    "Mode",
    "Power",
    "Procedure",
    "ServoOff",
    "SlotState",
    "Stop",
]

WAITING_LIMIT = 64
"""Requests that wait for their turn; what comes on top is lost, as in a full receive buffer."""

HURRY_S = 0.1
"""Between an answer and the next request, while a program runs."""

REBOOT_S = 0.5
ROBOTS = 3
PRN = "PRN"
CALENDAR = datetime(2004, 1, 1)
Seconds = Annotated[float, msgspec.Meta(ge=0.0)]


class Face(Enum):
    """How many axes the replies show."""

    FIVE = 5
    """The RV-2AJ's own: ``J4;****``, no C."""
    SIX = 6
    """For clients that stumble over stars: J4 and C are there, and 0."""


class Power(Enum):
    """What the processor does."""

    OFF = "off"
    BOOTING = "booting"
    RUNNING = "running"
    HUNG = "hung"


class Cr1Settings(Record, frozen=True):
    """What kind of controller this is, and how it decides what the reference leaves open.

    Attributes:
        face: five or six axes in the replies.
        axes: the first two fields of the answer to OPEN, masks of its axes and joints in hex (U: public answers of
            other arms are ``3F;3F`` and ``FF;FF``); JPOSF shows 0.00 at a place that only the mask has. Empty for
            those of the face.
        clients: names that OPEN takes (U); empty for any.
        others_answered: another name is refused with 6010; else nothing answers it (U).
        exec_wants_program: EXEC needs a selected program, L5100 without one (U; eight public clients load one first).
        key: where the key stands at first.
        shows_key: VAL shows the system variable M_MODE (U).
        distance_s: while a program runs, a request sooner than that after an answer is refused with 5640 (U; the
            manual only asks for 100 ms); 0 for none.
        baud: speed of the line, the parameter CBAU232.
        framing: CPRTY232 and CSTOP232.
        end_code: what ends a reply, CTERM232.
        any_end: a request ends at CR, LF or a pause, as on a network; else only at CR.
        pause_s: the pause that ends a request with `any_end`.
        procedure: CPRC232.
        must_open: everything before OPEN= is answered with 6010.
        requests_stand: a refused request leaves an error standing, as a refused statement does.
        error_digits: 9 with the detail, 4 without.
        answer_s: time to think about a request.
        servo_on_s, servo_off_s: time that the drives take.
        boot_s: time from power to the first byte that is understood.
        cycle_s: the control cycle.
        slots: how many programs can run at a time, TASKMAX.
        memory_bytes: for programs.
        strict: programs are MELFA-BASIC IV to the letter; else V's spelling passes too.
        decimals: digits after the point of joints and poses in replies.
        small_letters: the third letter of an answer is lower case while an error stands (I).
        shows_running: the status tells of a move by EXEC as of a running program (U).
        first_position: where the arm is shown to be before its servos were on for the first time (U).
        servo_off: what SRVOFF does while something moves (U).
        checks_parity: a byte with a wrong parity or stop bit is dropped (I); else it is taken as it was heard.
        override: in percent, from power-up on (I; real panels keep the last).
        version: what its software calls itself.
        day: the controller's date when it is made, days count from 2004-01-01.
        arm: the arm.
    """

    face: Face = Face.FIVE
    axes: str = ""
    clients: tuple[str, ...] = ()
    others_answered: bool = True
    exec_wants_program: bool = False
    key: Key = Key.AUTO_EXT
    shows_key: bool = True
    distance_s: Seconds = 0.0
    baud: Annotated[int, msgspec.Meta(ge=300)] = 9600
    framing: Framing = EIGHT_E_TWO
    end_code: EndCode = EndCode.CR
    any_end: bool = False
    pause_s: Seconds = 0.05
    procedure: Procedure = Procedure.NONE
    must_open: bool = False
    requests_stand: bool = False
    error_digits: Literal[9, 4] = 9
    answer_s: Seconds = 0.01
    servo_on_s: Seconds = 0.6
    servo_off_s: Seconds = 0.3
    boot_s: Seconds = 3.0
    cycle_s: Annotated[float, msgspec.Meta(gt=0.0)] = 0.0071
    slots: Annotated[int, msgspec.Meta(ge=1, le=32)] = 8
    memory_bytes: Annotated[int, msgspec.Meta(ge=0)] = 90_000
    strict: bool = True
    decimals: Annotated[int, msgspec.Meta(ge=0, le=6)] = 2
    small_letters: bool = True
    shows_running: bool = True
    first_position: FirstPosition = FirstPosition.TRUE
    servo_off: ServoOff = ServoOff.STOPS
    checks_parity: bool = True
    override: Annotated[int, msgspec.Meta(ge=1, le=100)] = 100
    version: str = "Ver.J4"
    day: int = 0
    arm: ArmModel = ArmModel()


@dataclass
class Counts:
    """What has happened since the fake was made; a real controller tells none of this."""

    received: int = 0
    lost: int = 0
    broken: int = 0
    requests: int = 0
    refused: int = 0
    hurried: int = 0
    boots: int = 0


class Cr1:
    """The controller with its arm. It reads no clock: hand bytes in with their times, then `advance` or `transmit`.

    Args:
        settings: kind of controller and its choices; None for an RV-2AJ at 9600 8E2 with CR, key at AUTO, servo off.
        start_s: when the emulation begins; it has started up by then.
        programs: texts of the programs in its memory, by name.
        joints_deg: where the arm stands; None for its origin.
        limits: how fast its joints are planned to go; None for what `settings.arm` says. Its period is the control
            cycle.

    Raises:
        ConfigError: the procedural variant of the line is asked for, or a program's text cannot be kept.
    """

    NAME: ClassVar[str] = "cr1"
    FAULTS: ClassVar[frozenset[FaultKind]] = frozenset(
        {
            FaultKind.KEY_TURNED,
            FaultKind.TEACH_BOX,
            FaultKind.EMERGENCY_STOP,
            FaultKind.SERVO_ALARM,
            FaultKind.RIGHT_TAKEN,
        }
    )

    def __init__(
        self,
        settings: Cr1Settings | None = None,
        *,
        start_s: float = 0.0,
        programs: Mapping[str, str] | None = None,
        joints_deg: Sequence[float] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.settings = settings = settings or Cr1Settings()
        if settings.procedure is Procedure.PROCEDURAL:
            raise ConfigError(
                "fake cr1",
                "procedure",
                1,
                "0 (non-procedural) or 2 (data link)",
                "The ENQ/ACK procedure of CPRC232=1 is not emulated: nothing public uses it. Set CPRC232 to 0.",
            )
        self.counts = Counts()
        self.model = settings.arm
        self.start_s = start_s
        self.servo = Servo(settings.servo_on_s, settings.servo_off_s)
        joints = joints_deg or self.model.origin_deg
        self.arm = Arm(self.model, joints, limits or self.model.limits(settings.cycle_s), self.servo)
        self.language_settings = Settings(servo_on_s=settings.servo_on_s)
        self.parameters = Parameters(settings)
        self.store = Store(settings.memory_bytes)
        for name, text in (programs or {}).items():
            self._keep_program(name, text)
        self.signals = Signals()
        self.panel = Panel(settings.key)
        self.clock_offset_s = settings.day * 86400.0
        self._inbox: deque[Chunk] = deque()
        self._outbox: deque[tuple[float, int]] = deque()
        self._now_s = start_s
        self._ready_s = self._reboot_s = math.inf
        self._forget()
        self._boot(start_s)

    def _keep_program(self, name: str, text: str) -> None:
        try:
            self.store.save(check_name(name), program_from_text(text), self.start_s)
        except RefusedRequest as error:
            why = f"a program that the controller can keep ({error.number} {text_of(error.number)})"
            raise ConfigError("fake cr1", "programs", name, why) from None

    # What a test or a bench looks at.

    @property
    def now_s(self) -> float:
        """How far the emulation has come."""
        return self._now_s

    @property
    def byte_s(self) -> float:
        """Time of one byte at the controller's own speed."""
        return self.framing.bits / self.baud

    @property
    def joints(self) -> tuple[float, ...]:
        """Where the arm is shown to be, five joints in degrees."""
        return self.arm.joints

    @property
    def cycle_s(self) -> float:
        """The control cycle."""
        return self.arm.limits.period_s

    @property
    def six(self) -> bool:
        """Replies show six axes."""
        return self.settings.face is Face.SIX

    @property
    def edit_slot(self) -> int:
        """Number of the slot in which programs are edited."""
        return self.settings.slots + 1

    @property
    def enabled(self) -> bool:
        """The PC may operate the arm."""
        return self.panel.holder is Holder.PC

    @property
    def in_motion(self) -> bool:
        """Something makes the arm move, or is about to."""
        if self.direct is not None or self.jogger.moving:
            return True
        return any(slot.state is SlotState.RUNNING or not _at_rest(slot) for slot in self.slots.values())

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher(time_s, joints_deg)` for every control cycle in which the arm moved."""
        self.arm.watchers.append(watcher)

    def next_due_s(self, *, frames: bool = False) -> float:
        """When something happens next by itself that shows on the line; infinity if nothing does.

        Args:
            frames: count a control cycle in which something runs.
        """
        due_s = self._outbox[0][0] if self._outbox else math.inf
        if self._inbox:
            chunk = self._inbox[0]
            end = chunk.data.find(b"\r", chunk.taken) + 1
            due_s = min(due_s, chunk.end_s(end or len(chunk.data)))
        if self.power is Power.RUNNING:
            due_s = min(due_s, self._request_due_s(), self._reader.due_s, self._reboot_s)
            if self.in_motion and (frames or self.comm.is_open):
                due_s = min(due_s, self._cycle_due_s())
        return min(due_s, self._ready_s)

    # What the world does to the controller.

    def receive(self, data: bytes, start_s: float, byte_s: float, framing: Framing = EIGHT_E_TWO) -> None:
        """Put bytes on the controller's input; see `sim.controllers.Controller`.

        Bytes with a wrong parity or stop bit are dropped, if it checks them.
        """
        if not data:
            return
        if framing == self.framing and same_speed(byte_s, self.byte_s):
            self._inbox.append(Chunk(data, start_s, byte_s))
            return
        for end_s, value, broken in mishear(data, start_s, byte_s, self.byte_s, framing, self.framing):
            self.counts.broken += broken
            if not (broken and self.settings.checks_parity):
                self._inbox.append(Chunk(bytes((value,)), end_s - self.byte_s, self.byte_s))

    def advance(self, until_s: float) -> None:
        """Let everything happen that happens up to and including `until_s`; never goes back."""
        while True:
            moment = self._next_moment()
            if moment is None or moment[0] > until_s + 1e-12:
                break
            time_s, happen = moment
            self._now_s = max(self._now_s, time_s)
            happen(self._now_s)
        self._now_s = max(self._now_s, until_s)

    def transmit(self, until_s: float) -> list[tuple[float, bytes]]:
        """Advance, and hand over the reply bytes complete by `until_s`, each with the time of its end."""
        self.advance(until_s)
        sent: list[tuple[float, bytes]] = []
        while self._outbox and self._outbox[0][0] <= until_s + 1e-12:
            end_s, value = self._outbox.popleft()
            sent.append((end_s, bytes((value,))))
        return sent

    def cut(self, at_s: float) -> None:
        """The cable is pulled: bytes not complete by `at_s` never arrive, in both directions."""
        self.advance(at_s)
        self._inbox.clear()
        self._outbox.clear()
        self._reader.forget()

    def power_off(self, at_s: float) -> None:
        """The supply goes: brakes engage, programs and parameters stay, all else is forgotten."""
        self.advance(at_s)
        self._forget()
        self.power = Power.OFF

    def power_cycle(self, at_s: float) -> None:
        """Power comes back, or sagged for a moment; deaf for `boot_s`."""
        self.advance(at_s)
        self._restart(at_s)

    def hang(self, at_s: float, hung: bool = True) -> None:
        """The processor stops: nothing moves, bytes are lost; or it goes on where it was."""
        self.advance(at_s)
        if hung and self.power is Power.RUNNING:
            self.power = Power.HUNG
            self._outbox.clear()
            self._waiting.clear()
        elif not hung and self.power is Power.HUNG:
            self.power = Power.RUNNING
            self._cycle = self._cycles_by(at_s)

    def meet(self, event: Event) -> None:
        """A key is turned, a button pressed, a drive fails, somebody takes the right; or that is over."""
        kind, at_s, begins = event.fault.kind, event.time_s, event.begins
        if kind is FaultKind.KEY_TURNED:
            self.turn_key(at_s, teach=begins)
        elif kind is FaultKind.TEACH_BOX:
            self.enable_teach_box(at_s, begins)
        elif kind is FaultKind.EMERGENCY_STOP:
            self.press(Stop.PANEL, at_s, begins)
        elif kind is FaultKind.RIGHT_TAKEN:
            self.take_right(at_s, begins)
        elif kind is FaultKind.SERVO_ALARM and begins and event.fault.number is not None:
            self.fail(event.fault.number, at_s)

    def turn_key(self, at_s: float, *, teach: bool) -> None:
        """Turn the key to TEACH, or back to AUTO (Ext.)."""
        self.put_key(at_s, Key.TEACH if teach else Key.AUTO_EXT)

    def put_key(self, at_s: float, key: Key) -> None:
        """Turn the key; TEACH stops everything, and each but AUTO (Ext.) takes the PC's right away."""
        self.advance(at_s)
        self.panel.key = key
        if key is not Key.AUTO_EXT:
            self._lose_right()
        if key is Key.TEACH:
            self.halt()
            self.servo.switch_off(at_s)

    def enable_teach_box(self, at_s: float, enabled: bool = True) -> None:
        """Enable the teach box, with the key at AUTO an error, or disable it."""
        self.advance(at_s)
        self.panel.teach_box = enabled
        if enabled:
            self._lose_right()
            if not self.panel.teach:
                self.alarms.strike(5000, at_s)

    def press(self, stop: Stop, at_s: float, pressed: bool = True) -> None:
        """Press an emergency stop, or release it."""
        self.advance(at_s)
        if pressed:
            self.panel.pressed.add(stop)
            self.alarms.strike(stop.number, at_s)
        else:
            self.panel.pressed.discard(stop)

    def fail(self, number: int, at_s: float) -> None:
        """An error happens, whatever the cause."""
        self.advance(at_s)
        self.alarms.strike(number, at_s)

    def take_right(self, at_s: float, taken: bool = True) -> None:
        """Somebody else takes the operation right, or gives it back."""
        self.advance(at_s)
        if taken:
            self.panel.holder = Holder.OTHER
        elif self.panel.holder is Holder.OTHER:
            self.panel.holder = Holder.NOBODY

    def _lose_right(self) -> None:
        if self.panel.holder is Holder.PC:
            self.panel.holder = Holder.NOBODY

    # Power.

    def _forget(self) -> None:
        """Everything that does not outlive the power."""
        settings = self.settings
        self.power = Power.OFF
        self._inbox.clear()
        self._outbox.clear()
        self._waiting: deque[Line] = deque()
        self._reader = RequestReader(settings.any_end, settings.pause_s, self._take)
        self.alarms = Alarms(self._on_alarm)
        self.servo.drop()
        self.panel.forget()
        self.signals.pseudo = False
        self.signals.reset_outputs()
        self.comm = Comm(self._send_text)
        self.opened = False
        self.override = settings.override
        self._servo_was_on = False
        self.edit = EditBuffer()
        self.file: tuple[str, str, bytearray] | None = None
        self.slots = {number: Slot(number) for number in range(1, settings.slots + 2)}
        self.direct: Task | None = None
        self.listed, self.log_at = "", -1
        self._desks: dict[int, SlotDesk] = {}
        self.jogger = Jogger(self.arm)
        self._line_free_s = -math.inf
        self._ready_s = self._reboot_s = math.inf
        self.arm.locked = False
        self.arm.rest()
        self._cycle = 0
        self.framing, self.baud = self.parameters.framing, self.parameters.baud
        self.end_code = settings.end_code if settings.end_code is EndCode.NONE else self.parameters.end_code
        self.procedure = self.parameters.procedure

    def _restart(self, at_s: float) -> None:
        self._forget()
        self.power, self._ready_s = Power.BOOTING, at_s + self.settings.boot_s

    def _boot(self, at_s: float) -> None:
        self.power, self._ready_s = Power.RUNNING, math.inf
        self.counts.boots += 1
        self._origin_s, self._cycle = at_s, 0
        tool, base = (position(self.parameters.numbers(name)) for name in ("MEXTL", "MEXBS"))
        self.arm.set_frames(tool, base)
        self.language = MelfaBasic(self)
        self._repeat_lasting_cause(at_s)

    def reboot_soon(self) -> None:
        """Start anew once the present answer has left."""
        self._reboot_s = self._now_s + REBOOT_S

    # Time.

    def _next_moment(self) -> tuple[float, Callable[[float], None]] | None:
        """What happens next by itself, and when."""
        found: tuple[float, Callable[[float], None]] = (math.inf, self._take_byte)
        if self._inbox:
            chunk = self._inbox[0]
            found = (chunk.end_s(chunk.taken + 1), self._take_byte)
        if self.power is Power.BOOTING:
            found = min(found, (self._ready_s, self._boot), key=_time)
        elif self.power is Power.RUNNING:
            # Of what happens at one time, the first of these comes first.
            others = [
                (self.servo.due_s, self._finish_servo),
                (self._cycle_due_s() if self.in_motion else math.inf, self._run_cycle),
                (self._reader.due_s, self._reader.finish),
                (self._request_due_s(), self._do_request),
                (self._reboot_s, self._restart),
            ]
            found = min([*others, found], key=_time)
        return None if found[0] == math.inf else found

    def _cycles_by(self, time_s: float) -> int:
        return math.floor((time_s - self._origin_s) / self.cycle_s + 1e-9)

    def _cycle_due_s(self) -> float:
        return self._origin_s + (self._cycle + 1) * self.cycle_s

    def _request_due_s(self) -> float:
        """A request is thought about once it is complete and the answer before it has left."""
        if not self._waiting:
            return math.inf
        return max(self._waiting[0].end_s, self._line_free_s) + self.settings.answer_s

    def _wake(self) -> None:
        """Cycles count from here, if none went on."""
        if not self.in_motion:
            self._cycle = max(self._cycle, self._cycles_by(self._now_s))

    # Bytes in, bytes out.

    def _take_byte(self, time_s: float) -> None:
        chunk = self._inbox[0]
        value = chunk.data[chunk.taken]
        chunk.taken += 1
        if chunk.taken == len(chunk.data):
            self._inbox.popleft()
        if self.power is Power.RUNNING:
            self.counts.received += 1
            self._reader.feed(value, time_s)
        else:
            self.counts.lost += 1

    def _take(self, line: Line) -> None:
        if len(self._waiting) >= WAITING_LIMIT:
            self.counts.lost += len(line.text)
            return
        running = any(slot.state is SlotState.RUNNING for slot in self.slots.values())
        after_s = line.end_s - self._line_free_s if not self._waiting else 0.0
        self.counts.hurried += running and after_s < HURRY_S
        distance_s = self.settings.distance_s
        too_soon = running and distance_s > 0.0 and after_s < distance_s - 1e-9
        self._waiting.append(line._replace(too_soon=too_soon))

    def _do_request(self, time_s: float) -> None:
        line = self._waiting.popleft()
        self.counts.requests += 1
        if self._for_program(line):
            return
        text, error, standing = "", None, self.alarms.standing is not None
        try:
            if line.too_long:
                raise RefusedRequest(6080)
            if line.too_soon:
                raise RefusedRequest(5640)
            if self.procedure is Procedure.DATA_LINK:
                raise RefusedRequest(6010)
            if line.text.startswith(PRN):
                raise RefusedRequest(6500)
            request = parse_request(line.text, ROBOTS, self.edit_slot)
            if self._ignores(request.body):
                return
            text = answer(self, request)
            standing = self.alarms.standing is not None
        except RefusedRequest as refused:
            error = refused
            self.counts.refused += 1
            if error.cause is not Cause.REQUEST or self.settings.requests_stand:
                self.alarms.strike(error.number, time_s)
            standing = standing or error.cause is Cause.EDIT
        standing &= self.settings.small_letters
        digits = self.settings.error_digits
        self._send(format_answer(text, error, standing=standing, digits=digits, end=self.end_code), time_s)

    def _ignores(self, body: str) -> bool:
        """An OPEN under a name that is not taken, where those get no answer."""
        settings, client = self.settings, body.removeprefix("OPEN=").split(";")[0]
        return body.startswith("OPEN=") and not settings.others_answered and not self.takes(client)

    def takes(self, client: str) -> bool:
        """OPEN takes this name."""
        return not self.settings.clients or client in self.settings.clients

    def _for_program(self, line: Line) -> bool:
        """A line for INPUT #: with PRN before it, or any line on a data link."""
        if not self.comm.is_open or line.too_long:
            return False
        if self.procedure is Procedure.DATA_LINK:
            self.comm.bring(line.text)
        elif line.text.startswith(PRN):
            self.comm.bring(line.text.removeprefix(PRN).lstrip())
        else:
            return False
        return True

    def _send(self, data: bytes, time_s: float) -> None:
        start_s = max(time_s, self._line_free_s)
        byte_s = self.byte_s
        self._outbox.extend((start_s + (place + 1) * byte_s, value) for place, value in enumerate(data))
        self._line_free_s = start_s + len(data) * byte_s

    def _send_text(self, text: str) -> None:
        """What a program prints on the line, its line ends made those of the line."""
        bare = text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", self.end_code.text)
        self._send(bare.encode("latin-1", "replace"), self._now_s)

    # Control cycles.

    def _run_cycle(self, time_s: float) -> None:
        self._cycle += 1
        before = self.arm.row
        for slot in self.slots.values():
            if slot.state is SlotState.RUNNING or not _at_rest(slot):
                self._step_slot(slot, time_s)
        if self.direct is not None:
            self._step_direct(self.direct, time_s)
        try:
            self.jogger.step(time_s, self.override / 100.0)
        except ProgramError as error:
            self.alarms.strike(error.number, time_s)
        self.arm.note(before, time_s)
        if not self.in_motion:
            self.arm.rest()

    def _step_slot(self, slot: Slot, time_s: float) -> None:
        task = slot.task
        assert task is not None
        cycles = task.cycles
        try:
            task.step()
        except ProgramError as error:
            self.pause(slot)
            self.alarms.strike(error.number, time_s, slot.name, task.line)
            return
        if slot.state is not SlotState.RUNNING:
            return
        if task.cycles != cycles:
            self._end_cycle(slot, time_s)
        if task.ended:
            self.reset_slot(slot)
        elif task.paused:
            slot.state = SlotState.PAUSED

    def _end_cycle(self, slot: Slot, time_s: float) -> None:
        """The program has come to its END."""
        program = self.store.programs.get(slot.name)
        if program is not None:
            program.runs += 1
            program.run_s = time_s - slot.started_s
            program.total_s += program.run_s
        slot.started_s = time_s

    def _step_direct(self, task: Task, time_s: float) -> None:
        try:
            task.step()
        except ProgramError as error:
            self._drop_direct()
            self.alarms.strike(error.number, time_s)
            return
        if task.ended or task.at_rest:
            self._drop_direct()

    def _drop_direct(self) -> None:
        task, self.direct = self.direct, None
        if task is not None:
            task.drop()

    def set_frames(self, tool: Position, base: Position) -> None:
        """TOOL and BASE stay, also without power."""
        self.arm.set_frames(tool, base)
        self.parameters.keep_frame("MEXTL", tool.members[:6])
        self.parameters.keep_frame("MEXBS", base.members[:6])

    def switch_servo(self, on: bool) -> None:
        """What SERVO ON, after its time, and SERVO OFF do."""
        if on:
            self.servo.come_on()
            self._servo_was_on = True
        else:
            self.servo.switch_off(self._now_s)

    @property
    def shows_place(self) -> bool:
        """Replies tell where the arm is."""
        return self._servo_was_on or self.settings.first_position is FirstPosition.TRUE

    def _finish_servo(self, time_s: float) -> None:
        self.servo.run_to(time_s)
        self._servo_was_on |= self.servo.on
        if not self.servo.on:
            self._freeze()

    # Errors and stops.

    def _on_alarm(self, alarm: Alarm) -> None:
        if alarm.level == 1:
            self.servo.drop()
            self._freeze()
        elif alarm.level == 2:
            self.halt()

    def _freeze(self) -> None:
        """Brakes: everything stays where it is, at once."""
        self.halt()
        self._drop_direct()
        self.jogger.freeze()
        for slot in self.slots.values():
            if slot.task is not None:
                slot.task.freeze()
        self.arm.rest()

    def halt(self) -> None:
        """Slow down and pause: programs can go on later, single statements are dropped."""
        for slot in self.slots.values():
            if slot.state is SlotState.RUNNING:
                self.pause(slot)
        if self.direct is not None:
            self.direct.hold()
        self.jogger.stop()

    def reset_alarm(self) -> None:
        """What RSTALRM does."""
        self.alarms.reset()
        self._repeat_lasting_cause(self._now_s)

    def _repeat_lasting_cause(self, at_s: float) -> None:
        number = self.panel.lasting_cause()
        if number and self.alarms.number != number:
            self.alarms.strike(number, at_s)

    # Slots, for the commands.

    def slot(self, number: int) -> Slot:
        """A slot by the number of a request; 0 is taken as 1."""
        return self.slots[number or 1]

    def shown_name(self, slot: Slot) -> str:
        """The program in a slot, with its extension."""
        return f"{slot.name}{EXTENSION}" if slot.name else ""

    def line_of(self, slot: Slot) -> int:
        """Where a slot's program is; its first line if it was not started."""
        if slot.task is not None:
            return slot.task.line
        return next(iter(self.lines_of(slot)), 0)

    def lines_of(self, slot: Slot) -> Mapping[int, str]:
        """Text by line number."""
        if slot.number == self.edit_slot:
            return self.edit.program.lines
        program = self.store.programs.get(slot.name)
        return program.lines if program else {}

    def select(self, slot: Slot, name: str) -> None:
        """Put a program into a slot."""
        self.store.find(name)
        if slot.number == self.edit_slot or slot.state is SlotState.PAUSED:
            raise RefusedRequest(5120)
        if slot.state is SlotState.RUNNING:
            raise RefusedRequest(5640)
        slot.name, slot.task = name, None

    def task_of(self, slot: Slot) -> SlotProgram:
        """The slot's program, ready to run.

        Raises:
            RefusedRequest: there is none, or something in it is wrong.
        """
        if slot.task is None:
            program = self.edit.program if slot.number == self.edit_slot else self.store.find(slot.name)
            with _refusing():
                slot.task = self.language.load(slot.name or self.edit.name, program, slot.number)
        return slot.task

    def start(self, slot: Slot, name: str, mode: Mode | None) -> None:
        """What RUN does."""
        self._require_startable()
        bare = check_name(name) if name else slot.name
        if not bare:
            raise RefusedRequest(5100)
        if slot.state is SlotState.RUNNING or self.direct is not None:
            raise RefusedRequest(5640)
        if slot.state is SlotState.PAUSED and bare != slot.name:
            raise RefusedRequest(5110)
        if self.edit.name == bare:
            raise RefusedRequest(4170)
        if bare != slot.name:
            self.select(slot, bare)
        slot.mode = slot.mode if mode is None else mode
        self._go(slot)

    def _go(self, slot: Slot, *, single: bool = False) -> None:
        task = self.task_of(slot)
        self._wake()
        with _refusing():
            task.go_on(repeat=slot.mode is Mode.REPEAT, single=single)
        if slot.state is SlotState.IDLE:
            slot.started_s = self._now_s
        slot.state, slot.cycle_stop = SlotState.RUNNING, False

    def end_cycles(self) -> None:
        """What CSTOP does: every program ends with its present cycle."""
        for slot in self.slots.values():
            if slot.state is SlotState.RUNNING and slot.task is not None:
                slot.cycle_stop = True
                slot.task.go_on(repeat=False)

    def pause(self, slot: Slot) -> None:
        """Slow down, and wait."""
        if slot.state is SlotState.RUNNING and slot.task is not None:
            slot.state = SlotState.PAUSED
            slot.task.hold()

    def reset_slot(self, slot: Slot) -> None:
        """Back to the top, no pause."""
        slot.task, slot.state, slot.cycle_stop = None, SlotState.IDLE, False
        self.comm.close(slot.number)

    def go_to_line(self, slot: Slot, line: int) -> None:
        """What LINENO= does."""
        if slot.state is SlotState.RUNNING:
            raise RefusedRequest(5640)
        if not slot.name and slot.number != self.edit_slot:
            raise RefusedRequest(5100)
        with _refusing(Cause.REQUEST):
            self.task_of(slot).go_to(line)

    def _require_startable(self) -> None:
        standing = self.alarms.standing
        if standing is not None and standing.level < 3:
            raise RefusedRequest(5600)
        if self.panel.stop_latched:
            raise RefusedRequest(5610)
        if self.panel.teach_box:
            raise RefusedRequest(5000)

    # Single statements, jogging, editing.

    def desk(self, slot: Slot) -> SlotDesk:
        """Where a slot's single statements are executed."""
        if slot.number not in self._desks:
            self._desks[slot.number] = self.language.desk(slot.number)
        return self._desks[slot.number]

    def execute(self, number: int, text: str) -> None:
        """What EXEC does."""
        self._require_startable()
        slot = self.slot(number)
        if self.settings.exec_wants_program and not slot.name:
            raise RefusedRequest(5100)
        desk = self.desk(slot)
        with _refusing():
            lasting = desk.takes_time(text)
        if slot.state is SlotState.RUNNING or (lasting and self.in_motion):
            raise RefusedRequest(5640)
        self._wake()
        with _refusing():
            task = desk.execute(text)
        if task is not None:
            self.direct = task

    def move_joints(self, goal: Sequence[float]) -> None:
        """A move that a command makes by itself."""
        self._require_startable()
        if self.in_motion:
            raise RefusedRequest(5640)
        if not self.servo.on:
            raise RefusedRequest(2000, cause=Cause.STATEMENT)
        self._wake()
        pace = Pace(self.override / 100.0)
        arm = self.arm
        rows = joint_move(arm.kinematics, arm.limits, arm.row, np.array(goal) * DEG, pace)
        self.direct = JointMove(arm, rows, self.cycle_s / self.model.acceleration_s)

    def jog(self, jog: Jog) -> None:
        """Jog on, for as long as it is asked for again and again."""
        self._require_startable()
        if not self.servo.on:
            raise RefusedRequest(2000, cause=Cause.STATEMENT)
        if self.direct is not None or any(slot.state is SlotState.RUNNING for slot in self.slots.values()):
            raise RefusedRequest(2030)
        self._wake()
        try:
            possible = self.jogger.ask(jog, self._now_s, self.override / 100.0)
        except ProgramError as error:
            raise RefusedRequest(error.number, cause=Cause.STATEMENT) from None
        if not possible:
            raise RefusedRequest(2030)

    def check_statement(self, text: str) -> None:
        """Read a line of a program, or a variable, that is to be kept.

        Raises:
            RefusedRequest: with its column.
        """
        try:
            self.language.check(text)
        except ProgramError as error:
            raise RefusedRequest(error.number, str(max(error.column, 1)), cause=Cause.EDIT) from None

    def write_variable(self, variables: SlotProgram | SlotDesk, name: str, value: str) -> None:
        """What HOT and VAL= do.

        Raises:
            RefusedRequest: the value does not fit.
        """
        with _refusing(Cause.REQUEST):
            variables.write(name, value)

    @property
    def shared(self) -> Variables:
        """Global variables."""
        return self.language

    def open_edit(self, name: str, program: Program) -> None:
        """What LOAD= does; an edit that was going on is thrown away."""
        self.edit = EditBuffer(name, program)
        self.forget_edited_task()

    def close_edit(self) -> None:
        """What SAVE and NEW do."""
        self.edit = EditBuffer()
        self.forget_edited_task()

    def forget_edited_task(self) -> None:
        """The program in the edit slot has changed: stepping begins anew."""
        self.reset_slot(self.slots[self.edit_slot])

    def step_edited(self, *, single: bool) -> None:
        """What STEP1 and STEPR do."""
        self._require_startable()
        if not self.edit.is_open:
            raise RefusedRequest(5100)
        slot = self.slots[self.edit_slot]
        if slot.state is SlotState.RUNNING or self.direct is not None:
            raise RefusedRequest(5640)
        slot.mode = Mode.CYCLE
        self._go(slot, single=single)

    # The calendar.

    def clock(self, time_s: float) -> str:
        """yy-mm-dd and hh:mm:ss, glued."""
        moment = CALENDAR + timedelta(seconds=self.clock_offset_s + time_s - self.start_s)
        return f"{moment:%y-%m-%d%H:%M:%S}"

    def set_clock(self, text: str) -> None:
        """Set it to yy-mm-ddhh:mm:ss."""
        try:
            moment = datetime.strptime(text, "%y-%m-%d%H:%M:%S")
        except ValueError:
            raise RefusedRequest(3110) from None
        self.clock_offset_s = (moment - CALENDAR).total_seconds() - (self._now_s - self.start_s)


def _at_rest(slot: Slot) -> bool:
    return slot.task is None or slot.task.at_rest


@contextmanager
def _refusing(cause: Cause = Cause.STATEMENT) -> Iterator[None]:
    """Errors of the language are refusals of the request that brought the statement."""
    try:
        yield
    except ProgramError as error:
        raise RefusedRequest(error.number, cause=cause, detail=str(error)) from None


def _time(moment: tuple[float, object]) -> float:
    return moment[0]
