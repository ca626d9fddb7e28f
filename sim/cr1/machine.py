"""The CR1's state, and the rules that hold between its parts. It knows no bytes, and nobody who asks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hil.errors import ConfigError
from hil.link import FloatArray
from hil.program.errors import ProgramError
from hil.program.motions import Limits
from hil.program.settings import Settings
from hil.program.values import Position, position
from sim.cr1.arm import Cr1Arm
from sim.cr1.calendar import Calendar
from sim.cr1.cycles import Cycles
from sim.cr1.drives import Drives
from sim.cr1.ethernet import Ethernet
from sim.cr1.jog import Jogger
from sim.cr1.language import MelfaBasic
from sim.cr1.parameters import Parameters
from sim.cr1.requests import RefusedRequest
from sim.cr1.settings import Cr1Settings, Face
from sim.cr1.signals import Comm, Signals
from sim.cr1.state import Alarm, Alarms, FirstPosition, Holder, Key, Panel, Servo, Stop, text_of
from sim.cr1.store import EditBuffer, Store, check_name, program_from_text
from sim.cr1.tasks import Slot, SlotState, Task


class Machine:
    """Servo, arm, programs, alarms and panel of one controller; time is told to it.

    Args:
        settings: kind of controller and its choices.
        start_s: when the emulation begins.
        joints_deg: where the arm stands; None for its origin.
        limits: how fast its joints are planned to go; None for what `settings.arm` says.
        print_text: puts what a program prints on the line.

    Attributes:
        now_s: how far the emulation has come.
        direct: a single statement or a move by a command, at work.
    """

    def __init__(
        self,
        settings: Cr1Settings,
        *,
        start_s: float,
        joints_deg: Sequence[float] | None,
        limits: Limits | None,
        print_text: Callable[[str], None],
    ) -> None:
        self.settings = settings
        self.start_s = self.now_s = start_s
        self.servo = Servo(settings.servo_on_s, settings.servo_off_s)
        model = settings.arm
        self.arm = Cr1Arm(model, joints_deg or model.origin_deg, limits or model.limits(settings.cycle_s), self.servo)
        self.cycles = Cycles(self.arm.limits.period_s)
        self.drives = Drives(self.servo, settings.after_servo_off, self)
        self.language_settings = Settings(servo_on_s=settings.servo_on_s)
        self.parameters = Parameters(settings)
        self.store = Store(settings.memory_bytes)
        self.signals = Signals()
        self.panel = Panel(settings.key)
        self.calendar = Calendar(start_s, settings.day)
        self.ethernet = Ethernet(self)
        self._print_text = print_text
        self.forget()

    def keep_program(self, name: str, text: str) -> None:
        """Put a program into the memory, as if it had been there before.

        Raises:
            ConfigError: it cannot be kept.
        """
        try:
            self.store.save(check_name(name), program_from_text(text), self.start_s)
        except RefusedRequest as error:
            why = f"a program that the controller can keep ({error.number} {text_of(error.number)})"
            raise ConfigError("fake cr1", "programs", name, why) from None

    # Power.

    def forget(self) -> None:
        """The power goes, and with it everything that does not outlive it."""
        settings = self.settings
        self.alarms = Alarms(self._on_alarm)
        self.drives.forget()
        self.panel.forget()
        self.signals.pseudo = False
        self.signals.reset_outputs()
        self.comm = Comm(self._print_text)
        self.ethernet.forget()
        self.override = settings.override
        self.edit = EditBuffer()
        self.slots = {number: Slot(number) for number in range(1, settings.slots + 2)}
        self.direct: Task | None = None
        self.jogger = Jogger(self.arm)
        self.arm.locked = False
        self.arm.rest()
        self.cycles.begin(self.now_s)

    def boot(self, at_s: float) -> None:
        """It has started up."""
        self.cycles.begin(at_s)
        tool, base = (position(self.parameters.numbers(name)) for name in ("MEXTL", "MEXBS"))
        self.arm.set_frames(tool, base)
        self.language = MelfaBasic(self)
        self._repeat_lasting_cause(at_s)

    # What it shows.

    @property
    def cycle_s(self) -> float:
        """The control cycle."""
        return self.cycles.period_s

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
    def a_program_runs(self) -> bool:
        """In one of the slots."""
        return any(slot.state is SlotState.RUNNING for slot in self.slots.values())

    @property
    def in_motion(self) -> bool:
        """Something makes the arm move, or is about to."""
        if self.direct is not None or self.jogger.moving:
            return True
        for slot in self.slots.values():
            # Nearly all are empty, and this is asked at every byte and tick.
            if (slot.task is not None or slot.state is not SlotState.IDLE) and not slot.at_rest:
                return True
        return False

    @property
    def goal(self) -> FloatArray:
        """Where the move under way will end, five joints in radians; where the arm is without one."""
        tasks = (self.direct, *(slot.task for slot in self.slots.values()))
        goals = [task.goal for task in tasks if task is not None and task.goal is not None]
        return goals[0] if goals else self.arm.row

    @property
    def shows_place(self) -> bool:
        """Replies tell where the arm is."""
        return self.drives.were_on or self.settings.first_position is FirstPosition.TRUE

    def slot(self, number: int) -> Slot:
        """A slot by the number of a request; 0 is taken as 1."""
        return self.slots[number or 1]

    # What hands do to it.

    def put_key(self, key: Key) -> None:
        """Turn the key; TEACH stops everything, and each but AUTO (Ext.) takes the PC's right away."""
        self.panel.key = key
        if key is not Key.AUTO_EXT:
            self._lose_right()
        if key is Key.TEACH:
            self.drives.switch_off(self.now_s)

    def enable_teach_box(self, enabled: bool) -> None:
        """Enable the teach box, with the key at AUTO an error, or disable it."""
        self.panel.teach_box = enabled
        if enabled:
            self._lose_right()
            if not self.panel.teach:
                self.alarms.strike(5000, self.now_s)

    def press(self, stop: Stop, pressed: bool) -> None:
        """Press an emergency stop, or release it."""
        if pressed:
            self.panel.pressed.add(stop)
            self.alarms.strike(stop.number, self.now_s)
        else:
            self.panel.pressed.discard(stop)

    def _lose_right(self) -> None:
        if self.panel.holder is Holder.PC:
            self.panel.holder = Holder.NOBODY

    # Control cycles.

    @property
    def cycle_due_s(self) -> float:
        """When the next control cycle ends; infinity if there is nothing to do in it."""
        return self.cycles.next_end_s if self._has_work else math.inf

    @property
    def _has_work(self) -> bool:
        """There is something to do in a control cycle, be it only the end of a pulse."""
        return self.in_motion or self.signals.pulses > 0

    @property
    def ticks(self) -> int:
        """Control cycles since the start, also those in which nothing moved."""
        return self.cycles.by(self.now_s)

    def wake(self) -> None:
        """Cycles count from here, if none went on."""
        if not self._has_work:
            self.cycles.catch_up(self.now_s)

    def skip_cycles(self) -> None:
        """The processor stood still until now: what it missed is not made up for."""
        self.cycles.skip_to(self.now_s)

    def run_cycle(self, time_s: float) -> None:
        """Everything that runs or moves does its part of one cycle."""
        self.cycles.count()
        before = self.arm.row
        for slot in self.slots.values():
            if not slot.at_rest:
                self._step_slot(slot, time_s)
        if self.direct is not None:
            self._step_direct(self.direct, time_s)
        self.signals.end_pulses(time_s)
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
            slot.pause()
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

    # Servo and frames.

    def set_frames(self, tool: Position, base: Position) -> None:
        """TOOL and BASE stay, also without power."""
        self.arm.set_frames(tool, base)
        self.parameters.keep_frame("MEXTL", tool.members[:6])
        self.parameters.keep_frame("MEXBS", base.members[:6])

    def switch_servo(self, on: bool) -> None:
        """What the statements SERVO ON and SERVO OFF do; see `sim.cr1.drives`."""
        if on:
            self.drives.switch_on(self.now_s)
        else:
            self.drives.switch_off(self.now_s, by_statement=True)

    def begin_pulse(self, bits: Sequence[int], before: int, after_s: float) -> None:
        """What a single statement with DLY behind it does: output bits go back after a time.

        Raises:
            ProgramError: a fifth pulse at a time.
        """
        self.wake()
        self.signals.begin_pulse(bits, before, self.now_s + after_s)

    # Errors and stops.

    def _on_alarm(self, alarm: Alarm) -> None:
        if alarm.level == 1:
            self.servo.drop()
            self.freeze()
        elif alarm.level == 2:
            self.halt()

    def freeze(self, *, only_what_moves: bool = False) -> None:
        """Brakes: everything stays where it is, at once; a program that only counts may go on."""
        self.halt(only_what_moves=only_what_moves)
        if self.direct is not None and not (only_what_moves and self.direct.still):
            self._drop_direct()
        self.jogger.freeze()
        for slot in self.slots.values():
            if slot.task is not None and not (only_what_moves and slot.task.still):
                slot.task.freeze()
        self.arm.rest()

    def caution(self, number: int, slot: int, line: int) -> None:
        """An error stands that lets the program go on."""
        name = self.slots[slot].name
        self.alarms.strike(number, self.now_s, name, line if name else 0)

    def halt(self, *, only_what_moves: bool = False) -> None:
        """Slow down and pause: programs can go on later, single statements are dropped."""
        for slot in self.slots.values():
            if not (only_what_moves and (slot.task is None or slot.task.still)):
                slot.pause()
        if self.direct is not None and not (only_what_moves and self.direct.still):
            self.direct.hold()
        self.jogger.stop()

    def reset_slot(self, slot: Slot) -> None:
        """Back to the top, no pause."""
        slot.forget_task()
        self.comm.close(slot.number)
        self.language.reset_desk(slot.number)
        self.ethernet.close(slot.number)

    def reset_alarm(self) -> None:
        """What RSTALRM does."""
        self.alarms.reset()
        self._repeat_lasting_cause(self.now_s)

    def _repeat_lasting_cause(self, at_s: float) -> None:
        number = self.panel.lasting_cause()
        if number and self.alarms.number != number:
            self.alarms.strike(number, at_s)

    def require_startable(self) -> None:
        """Make sure that something may begin to move.

        Raises:
            RefusedRequest: an error stands, starting is locked, or the teach box has the arm.
        """
        standing = self.alarms.standing
        if standing is not None and standing.level < 3:
            raise RefusedRequest(5600)
        if self.panel.stop_latched:
            raise RefusedRequest(5610)
        if self.panel.teach_box:
            raise RefusedRequest(5000)
