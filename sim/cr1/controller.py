"""The emulated CR1 controller of the RV-2AJ: power, clock, and the two ways of its line. Time is an argument.

Written from the reference alone, and shares nothing with the driver. What the manuals leave open is a choice in
`Cr1Settings`; `docs/fake-cr1.md` lists what is and is not modelled.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import ClassVar

from hil.errors import ConfigError
from hil.program.motions import Limits
from sim.cr1 import programs
from sim.cr1.arm import Watcher
from sim.cr1.conversation import Conversation, Counts
from sim.cr1.machine import Machine
from sim.cr1.requests import Procedure, RefusedRequest
from sim.cr1.settings import Cr1Settings
from sim.cr1.state import Holder, Key, Stop
from sim.cr1.tasks import Mode
from sim.faults import Event, FaultKind
from sim.uart import EIGHT_E_TWO, Chunk, Framing, hear

REBOOT_S = 0.5
"""From the answer to RSTPWR to the start."""


class Power(Enum):
    """What the processor does."""

    OFF = "off"
    BOOTING = "booting"
    RUNNING = "running"
    HUNG = "hung"


class Cr1:
    """The controller with its arm. It reads no clock: hand bytes in with their times, then `advance` or `transmit`.

    Args:
        settings: kind of controller and its choices; None for an RV-2AJ at 9600 8E2 with CR, key at AUTO, servo off.
        start_s: when the emulation begins; it has started up by then.
        programs: texts of the programs in its memory, by name.
        joints_deg: where the arm stands; None for its origin.
        limits: how fast its joints are planned to go; None for what `settings.arm` says. Its period is the control
            cycle.

    Attributes:
        machine: its state, for whoever looks inside.
        conversation: its end of the line.

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
            FaultKind.NO_NETWORK,
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
        self.machine = Machine(
            settings, start_s=start_s, joints_deg=joints_deg, limits=limits, print_text=self._print_text
        )
        for name, text in (programs or {}).items():
            self.machine.keep_program(name, text)
        self.conversation = Conversation(self.machine, self.counts)
        self._inbox: deque[Chunk] = deque()
        machine, line = self.machine, self.conversation
        self._happens: tuple[Callable[[float], None], ...] = (
            machine.drives.finish,
            machine.run_cycle,
            line.end_request,
            line.do_request,
            self._restart,
            self._take_byte,
        )
        self.power, self._ready_s = Power.BOOTING, start_s
        self._boot(start_s)

    def prepare(self) -> None:
        """Read the programs in its memory before somebody runs one."""
        self.machine.language.prepare()

    # What a test or a bench looks at.

    @property
    def now_s(self) -> float:
        """How far the emulation has come."""
        return self.machine.now_s

    @property
    def baud(self) -> int:
        """Speed of its line."""
        return self.conversation.baud

    @property
    def framing(self) -> Framing:
        """How its line wraps a byte."""
        return self.conversation.framing

    @property
    def byte_s(self) -> float:
        """Time of one byte at the controller's own speed; 0 on a network."""
        return self.conversation.byte_s

    @property
    def joints(self) -> tuple[float, ...]:
        """Where the arm is shown to be, five joints in degrees."""
        return self.machine.arm.joints_at(self.machine.now_s)

    @property
    def in_motion(self) -> bool:
        """Something makes the arm move, or is about to."""
        return self.machine.in_motion

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher(time_s, joints_deg)` for every control cycle in which the arm moved."""
        self.machine.arm.watchers.append(watcher)

    def next_due_s(self, *, frames: bool = False) -> float:
        """When something happens next by itself that shows on the line; infinity if nothing does.

        Args:
            frames: count a control cycle in which something runs.
        """
        line, machine = self.conversation, self.machine
        due_s = line.answer_due_s
        if self._inbox:
            chunk = self._inbox[0]
            end = chunk.data.find(b"\r", chunk.taken) + 1
            due_s = min(due_s, chunk.end_s(end or len(chunk.data)))
        if self.power is Power.RUNNING:
            due_s = min(due_s, line.request_due_s, line.pause_due_s, self._reboot_due_s())
            if frames or machine.comm.is_open or machine.ethernet.is_open:
                due_s = min(due_s, machine.cycle_due_s)
        return min(due_s, self._ready_s)

    # What the world does to the controller.

    def join_network(self) -> None:
        """It is asked by its Ethernet port: LF, NUL or a pause end a request too; see `sim.controllers.Controller`."""
        self.conversation.join_network()

    def receive(self, data: bytes, start_s: float, byte_s: float, framing: Framing = EIGHT_E_TWO) -> None:
        """Put bytes on the controller's input; see `sim.controllers.Controller`.

        Bytes with a wrong parity or stop bit are dropped, if it checks them.
        """
        for chunk, broken in hear(data, start_s, byte_s, self.byte_s, framing, self.framing):
            self.counts.broken += broken
            if not (broken and self.settings.checks_parity):
                self._inbox.append(chunk)

    def advance(self, until_s: float) -> None:
        """Let everything happen that happens up to and including `until_s`; never goes back."""
        machine = self.machine
        while True:
            moment = self._next_moment()
            if moment is None or moment[0] > until_s + 1e-12:
                break
            time_s, happen = moment
            machine.now_s = max(machine.now_s, time_s)
            happen(machine.now_s)
        machine.now_s = max(machine.now_s, until_s)

    def transmit(self, until_s: float) -> list[tuple[float, bytes]]:
        """Advance, and hand over the reply bytes complete by `until_s`, each with the time of its end."""
        self.advance(until_s)
        return self.conversation.sent_by(until_s)

    def cut(self, at_s: float) -> None:
        """The cable is pulled: bytes not complete by `at_s` never arrive, in both directions."""
        self.advance(at_s)
        self._inbox.clear()
        self.conversation.cut()

    def power_off(self, at_s: float) -> None:
        """The supply goes: brakes engage, programs and parameters stay, all else is forgotten."""
        self.advance(at_s)
        self._forget()

    def power_cycle(self, at_s: float) -> None:
        """Power comes back, or sagged for a moment; deaf for `boot_s`."""
        self.advance(at_s)
        self._restart(at_s)

    def hang(self, at_s: float, hung: bool = True) -> None:
        """The processor stops: nothing moves, bytes are lost; or it goes on where it was."""
        self.advance(at_s)
        if hung and self.power is Power.RUNNING:
            self.power = Power.HUNG
            self.conversation.hang()
        elif not hung and self.power is Power.HUNG:
            self.power = Power.RUNNING
            self.machine.skip_cycles()

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
        elif kind is FaultKind.NO_NETWORK:
            self.advance(at_s)
            self.machine.ethernet.unplugged = begins
        elif kind is FaultKind.SERVO_ALARM and begins and event.fault.number is not None:
            self.fail(event.fault.number, at_s)

    def turn_key(self, at_s: float, *, teach: bool) -> None:
        """Turn the key to TEACH, or back to AUTO (Ext.)."""
        self.put_key(at_s, Key.TEACH if teach else Key.AUTO_EXT)

    def put_key(self, at_s: float, key: Key) -> None:
        """Turn the key."""
        self.advance(at_s)
        self.machine.put_key(key)

    def enable_teach_box(self, at_s: float, enabled: bool = True) -> None:
        """Enable the teach box, or disable it."""
        self.advance(at_s)
        self.machine.enable_teach_box(enabled)

    def press_start(self, name: str, at_s: float) -> None:
        """Choose a program at the panel, and press START: it repeats in slot 1, whoever holds the right.

        Raises:
            ConfigError: there is none of this name, something in it is wrong, or nothing may be started now.
        """
        self.advance(at_s)
        try:
            programs.start(self.machine, self.machine.slots[1], name.upper(), Mode.REPEAT)
        except RefusedRequest as refused:
            kept = ", ".join(self.machine.store.programs) or "none"
            raise ConfigError(
                "fake cr1", "start", name, f"a program that can run (in its memory: {kept})", f"Error {refused.number}"
            ) from None

    def press(self, stop: Stop, at_s: float, pressed: bool = True) -> None:
        """Press an emergency stop, or release it."""
        self.advance(at_s)
        self.machine.press(stop, pressed)

    def fail(self, number: int, at_s: float) -> None:
        """An error happens, whatever the cause."""
        self.advance(at_s)
        self.machine.alarms.strike(number, at_s)

    def lead(self, joints_deg: Sequence[float]) -> None:
        """A hand brings the arm here while nothing drives it."""
        self.machine.arm.stand(joints_deg)

    def take_right(self, at_s: float, taken: bool = True) -> None:
        """Somebody else takes the operation right, or gives it back."""
        self.advance(at_s)
        panel = self.machine.panel
        if taken:
            panel.holder = Holder.OTHER
        elif panel.holder is Holder.OTHER:
            panel.holder = Holder.NOBODY

    # Power.

    def _forget(self) -> None:
        self.power, self._ready_s = Power.OFF, math.inf
        self._inbox.clear()
        self.machine.forget()
        self.conversation.forget()

    def _restart(self, at_s: float) -> None:
        self._forget()
        self.power, self._ready_s = Power.BOOTING, at_s + self.settings.boot_s

    def _boot(self, at_s: float) -> None:
        self.power, self._ready_s = Power.RUNNING, math.inf
        self.counts.boots += 1
        self.machine.boot(at_s)

    def _reboot_due_s(self) -> float:
        asked_s = self.conversation.session.reboot_asked_s
        return math.inf if asked_s is None else asked_s + REBOOT_S

    # Time.

    def _next_moment(self) -> tuple[float, Callable[[float], None]] | None:
        """What happens next by itself, and when; of what happens at one time, the first in this order."""
        line, machine = self.conversation, self.machine
        byte_s = math.inf
        if self._inbox:
            chunk = self._inbox[0]
            byte_s = chunk.end_s(chunk.taken + 1)
        if self.power is Power.RUNNING:
            due_s = (
                machine.servo.due_s,
                machine.cycle_due_s,
                line.pause_due_s,
                line.request_due_s,
                self._reboot_due_s(),
                byte_s,
            )
            next_s = min(due_s)
            return None if next_s == math.inf else (next_s, self._happens[due_s.index(next_s)])
        if self.power is Power.BOOTING and self._ready_s < byte_s:
            return self._ready_s, self._boot
        return None if byte_s == math.inf else (byte_s, self._take_byte)

    def _take_byte(self, time_s: float) -> None:
        chunk = self._inbox[0]
        value = chunk.data[chunk.taken]
        chunk.taken += 1
        if chunk.taken == len(chunk.data):
            self._inbox.popleft()
        if self.power is Power.RUNNING:
            self.conversation.feed(value, time_s)
        else:
            self.counts.lost += 1

    def _print_text(self, text: str) -> None:
        self.conversation.print_text(text, self.now_s)
