"""A stand-in for a CR1: answers request by request on virtual time, written from the reference alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from drivers.rv2aj import Rv2ajDriver, Rv2ajSettings, settings_from_table
from hil.errors import LinkClosed, LinkOverrun
from hil.types import EnergiseCommand, JointCommand, LinkPhase, LinkState
from hil.units import DEG

TICK_S = 0.02
AXES = tuple((name, "revolute") for name in ("J1", "J2", "J3", "J5", "J6"))
BYTE_S = 12 / 9600
ANSWER_S = 0.01
IDENTITY = (
    "1F;37;6,0;3,5,A,1E,32,46,64;MB4;PRM;RV-2AJ;CRn-5xx;MELFA;03-11-19;Ver.J4;ENG;COPYRIGHT(C)1999-2003 MITSUBISHI "
    "ELECTRIC CORPORATION ALL RIGHTS RESERVED;1;1;8;"
)
START = (0.0, 0.0, 90.0, 90.0, 0.0)

Mangler = Callable[[str, bytes], list[tuple[float, bytes]]]


def table(**changes: Any) -> dict[str, Any]:
    """A controller table as TOML gives it; keyword arguments replace keys, None drops one."""
    whole: dict[str, Any] = {"kind": "rv2aj", "port": "/dev/ttyTEST", "baud": 9600, **changes}
    return {key: value for key, value in whole.items() if value is not None}


def settings(**changes: Any) -> Rv2ajSettings:
    return settings_from_table(table(**changes), AXES, "rig.toml")


class Cr1Port:
    """A `BytePort` with a small CR1 behind it that moves joint by joint in straight lines.

    Attributes:
        harm: what the line makes of a command on its way to the controller.
        mangle: turns a command and its reply into pieces, each with an extra delay.
        refusals: error number by beginning of the command; `answers`: reply texts that replace the usual ones.
        heard: every command with the time at which it was complete.
        alarm: number and level of the standing alarm, or None.
        speed_deg_s: of every joint at override 100.
        sag_deg: how far the second joint stands off the place that it was sent to.
    """

    def __init__(self, end: bytes = b"\r", joints: tuple[float, ...] = START) -> None:
        self.end = end
        self.harm: Callable[[str], str] = lambda text: text
        self.mangle: Mangler = lambda command, reply: [(0.0, reply)]
        self.refusals: dict[str, int] = {}
        self.answers: dict[str, str] = {}
        self.heard: list[tuple[float, str]] = []
        self.written = b""
        self.alarm: tuple[int, int] | None = None
        self.teach = self.right = self.servo = self.silent = False
        self.emergency = 0
        self.paused = self.running = False
        self.servo_s = 0.0
        self.override = 100
        self.speed_deg_s = 180.0
        self.sag_deg = 0.0
        self.variables: dict[str, tuple[float, ...]] = {}
        self.programs: dict[str, list[str]] = {}
        self.editing = ""
        self.selected = ""
        self.resets = 0
        self.gone = self.closed = False
        self.room: int | None = None
        self.coming: list[tuple[float, bytes]] = []
        self.opened_at: list[float] = []
        self._text = ""
        self._free_s = 0.0
        self._from, self._to = joints, joints
        self._begin_s = self._end_s = 0.0
        self._waiting: tuple[float, ...] | None = None
        self._now_s = 0.0

    # -- the byte port

    def read(self, now_s: float) -> bytes:
        if self.gone or self.closed:
            raise LinkClosed("/dev/ttyTEST: the port is gone")
        data = b"".join(piece for at_s, piece in self.coming if at_s <= now_s)
        self.coming = [(at_s, piece) for at_s, piece in self.coming if at_s > now_s]
        return data

    def write(self, data: bytes, now_s: float) -> None:
        if self.gone or self.closed:
            raise LinkClosed("/dev/ttyTEST: the port is gone")
        if self.room is not None:
            raise LinkOverrun("/dev/ttyTEST: stalled")
        self.written += data
        for byte in data:
            self._free_s = max(self._free_s, now_s) + BYTE_S
            if byte == 0x0D:
                text, self._text = self._text, ""
                if text:
                    self._carry_out(self.harm(text), self._free_s)
            else:
                self._text += chr(byte)

    def set_baud(self, baud: int) -> None: ...

    def close(self) -> None:
        self.closed = True

    # -- the arm

    def joints(self, at_s: float) -> tuple[float, ...]:
        if at_s >= self._end_s or self._end_s <= self._begin_s:
            return self._to
        share = max(at_s - self._begin_s, 0.0) / (self._end_s - self._begin_s)
        return tuple(a + share * (b - a) for a, b in zip(self._from, self._to, strict=True))

    def place(self, joints: tuple[float, ...]) -> None:
        self._from = self._to = joints

    def moving(self, at_s: float) -> bool:
        return at_s < self._end_s

    def _go(self, target: tuple[float, ...], at_s: float, percent: float = 100.0) -> None:
        self._from, self._to, self._begin_s = self.joints(at_s), target, at_s
        speed = self.speed_deg_s * self.override * percent / 1e4
        self._end_s = at_s + max(abs(b - a) for a, b in zip(self._from, target, strict=True)) / speed

    def _halt(self, at_s: float) -> None:
        here = self.joints(at_s)
        self._from, self._to, self._end_s = here, here, at_s

    # -- the controller

    def commands(self, beginning: str = "") -> list[str]:
        return [command for _, command in self.heard if command.startswith(beginning)]

    def _carry_out(self, text: str, at_s: float) -> None:
        command = text if text.startswith("PRN") else text.split(";", 2)[2] if text.count(";") >= 2 else text
        self.heard.append((at_s, command))
        if self.silent:
            return
        if self._waiting is not None and not self.moving(at_s):
            self._go(self._waiting, at_s)
            self._waiting = None
        answer = self._refused(command) or self.answers.get(command) or self._answer(command, at_s)
        begins = max(at_s + ANSWER_S, *(due for due, _ in self.coming), at_s)
        for delay_s, piece in self.mangle(command, answer.encode("latin-1") + self.end):
            begins += delay_s + len(piece) * BYTE_S
            self.coming.append((begins, piece))

    def _refused(self, command: str) -> str:
        number = next((n for start, n in self.refusals.items() if command.startswith(start)), None)
        return "" if number is None else f"QeR{number}00000"

    def _ok(self, data: str = "") -> str:
        return f"Q{'ok' if self.alarm else 'oK'}{data}"

    def _status(self, at_s: float) -> str:
        on = self.servo and at_s >= self.servo_s
        run = 0x80 | 0x20 * on | 0x08 * self.teach | 0x40 * (self.running and not self.paused)
        stop = (1 if self.emergency else 0) | 0x04 * self.paused
        return f"{run:02X}{stop:02X}{self.alarm[0] if self.alarm else 0}"

    def _answer(self, command: str, at_s: float) -> str:
        match command:
            case "DSTATE":
                return self._ok(f"{self._status(at_s)};1;0")
            case "STATE":
                return self._ok(f"{self.selected};10;{self.override};0;{self._status(at_s)};1;1;;;;;;;;;REP;START;1;0")
            case "STPSIG":
                return self._ok(f"00;{self.emergency:02X}")
            case "ERROR":
                return self._ok(f"{self.alarm[0]};{self.alarm[1]}" if self.alarm else "")
            case "RSTALRM":
                self.alarm = None
                return self._ok()
            case "JPOSF":
                j1, j2, j3, j5, j6 = self.joints(at_s)
                j2 += self.sag_deg
                shown = f"J1;{j1:.2f};J2;{j2:.2f};J3;{j3:.2f};J4;****;J5;{j5:.2f};J6;{j6:.2f}"
                return self._ok(f"{shown};;****,****;{self.override};0.00;00000000")
            case "PPOSF":
                return self._ok(f"X;160.00;Y;0.00;Z;478.00;A;0.00;B;180.00;;6,0;{self.override};0.00;00000000")
            case "CNTLON":
                self.right = True
            case "CNTLOFF":
                self.right = False
            case "SRVON":
                self.servo, self.servo_s = True, at_s + 0.6
            case "SLOTINIT":
                self.paused = self.running = False
                self.resets += 1
            case "STOP":
                self.paused = self.running or self.moving(at_s)
                self._halt(at_s)
                self._waiting = None
            case _:
                return self._more(command, at_s)
        return self._ok()

    def _more(self, command: str, at_s: float) -> str:
        if command.startswith("OPEN="):
            return self._ok(IDENTITY)
        if command.startswith("IN"):
            return self._ok("0000")
        if command.startswith("PAR"):
            return self._ok(f"{command[3:]};1;1")
        if command.startswith("OVRD="):
            self.override = int(command[5:])
            return self._ok(command[5:])
        if found := re.match(r"EXEC(\w+)=\((.*)\)$", command):
            values = [float(value) for value in found[2].split(",")]
            assert values.pop(3) == 0.0
            self.variables[found[1]] = tuple(values)
            return self._ok()
        if found := re.match(r"EXECMOV (\w+)$", command):
            if self.moving(at_s):
                return "QeR564000000"
            self._go(self.variables[found[1]], at_s)
            return self._ok()
        if found := re.match(r"HOT(\w+);JT=\((.*)\)$", command):
            values = [float(value) for value in found[2].split(",")]
            values.pop(3)
            self._go(tuple(values), at_s)
            return self._ok()
        if command.startswith("PRN "):
            numbers = [float(value) for value in command[4:].split(",")]
            assert abs(sum(numbers[1:-1]) - numbers[-1]) < 0.006
            self._go(tuple(numbers[1:6]), at_s, numbers[6])
            return "HIL"
        return self._programming(command)

    def _programming(self, command: str) -> str:
        if command.startswith("FCHECK"):
            return self._ok("N" if command[6:] in self.programs else "F")
        if command.startswith("LOAD="):
            self.editing = command[5:]
            self.programs.setdefault(self.editing, [])
            return self._ok()
        if command == "ECLR":
            self.programs[self.editing].clear()
            return self._ok()
        if command.startswith("EDATA"):
            lines = self.programs[self.editing]
            lines[:] = [line for line in lines if line.split()[0] != command[5:].split()[0]] + [command[5:]]
            lines.sort(key=lambda line: int(line.split()[0]))
            return self._ok()
        if command == "PRGUP":
            self.selected = next((name for name in self.programs if name != self.selected), self.selected)
            return self._ok()
        if command.startswith("PRGLOAD="):
            self.selected = command[8:]
            return self._ok()
        if command.startswith("LISTITOP"):
            self._listed = 0
            return self._ok(next(iter(self.programs[self.editing]), ""))
        if command == "LISTPTOP":
            return self._ok("P1=(+160.00,+0.00,+478.00,+0.00,+180.00)(6,0)" if self.programs[self.editing] else "")
        if command.startswith("LISTI+1"):
            self._listed += 1
            lines = self.programs[self.editing]
            return self._ok(lines[self._listed] if self._listed < len(lines) else "")
        if command == "LISTP+1":
            return self._ok()
        if command.startswith("FDEL"):
            if self.selected == command[4:]:
                return "QeR419000000"
            self.programs.pop(command[4:], None)
            return self._ok()
        if command.startswith("PDIR"):
            number = 1 if command == "PDIRTOP" else int(command[4:])
            names = list(self.programs)
            if number > len(names):
                return self._ok()
            return self._ok(f"{names[number - 1]}.MB4;512;04-01-0112:00:00;1;90000;;;2;0;0;0;0;0")
        if command.startswith("RUN"):
            self.running, self.selected = True, command[3:].split(";")[0]
        return self._ok()


class Bench:
    """A driver on a CR1 port, and a clock that only `tick` moves."""

    def __init__(self, port: Cr1Port | None = None, **changes: Any) -> None:
        self.port = port if port is not None else Cr1Port()
        self.settings = settings(**changes)
        self.driver = Rv2ajDriver(self.settings, lambda: self.port)
        self.now_s = 100.0
        self.notices: list[str] = []
        self.seq = 0

    def tick(self, count: int = 1) -> LinkState:
        for _ in range(count):
            self.now_s += TICK_S
            state = self.driver.read(self.now_s)
            self.notices += state.notices
        return state

    def wait(self, reached: Callable[[LinkState], bool], within_s: float = 10.0) -> LinkState:
        end_s = self.now_s + within_s
        while self.now_s < end_s:
            if reached(state := self.tick()):
                return state
        raise AssertionError(f"not reached within {within_s} s: {state}")

    def connect(self) -> LinkState:
        self.driver.open(self.now_s)
        return self.wait(lambda state: state.phase is LinkPhase.READY)

    def energise(self, joints_deg: tuple[float, ...] = START) -> LinkState:
        for index, angle in enumerate(joints_deg):
            self.seq += 1
            self.driver.write(EnergiseCommand(seq=self.seq, axis=index, position=angle * DEG), self.now_s)
            self.tick()
        return self.wait(lambda state: all(state.known))

    def ready(self) -> Bench:
        self.connect()
        self.energise()
        self.port.heard.clear()
        return self

    def move(self, *joints_deg: float, due_in_s: float = 3.0) -> JointCommand:
        self.seq += 1
        positions = tuple(angle * DEG for angle in joints_deg)
        sent = self.driver.write(
            JointCommand(seq=self.seq, due_s=self.now_s + due_in_s, positions=positions), self.now_s
        )
        assert isinstance(sent, JointCommand)
        return sent

    def stream(self, joint: int, way_deg: float, seconds: float) -> None:
        """One joint from the start pose along a way at even speed, one target a tick."""
        count = round(seconds / TICK_S)
        for number in range(1, count + 1):
            joints = list(START)
            joints[joint] += way_deg * number / count
            self.move(*joints)
            self.tick()
