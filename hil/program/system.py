"""System variables: where the arm is, signals, timers, what the controller is set to."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence

from hil.program import nodes
from hil.program.arm import row_of
from hil.program.errors import ProgramError
from hil.program.flow import walk
from hil.program.frames import NO_SPEED, SlotState
from hil.program.machine import Machine
from hil.program.signals import HAND_OUTPUTS, LARGEST_SIGNAL, read_bits
from hil.program.values import (
    ZERO_JOINTS,
    ZERO_POSITION,
    Value,
    cint,
    joints,
    number,
    whole,
)
from hil.program.variables import is_global

WIDTHS = {"": 1, "B": 8, "W": 16, "8": 8, "16": 16}
"""Letters of IV, and numbers of V."""

PORT_WIDTHS = {"BIT": 1, "BYTE": 8, "WORD": 16, "INTEGER": 16}
SIGNALS = {f"M_{way}{size}": (way, width) for way in ("IN", "OUT") for size, width in WIDTHS.items()}
TIMERS = 8
HANDS = 8

CONSTANTS: dict[str, Value] = {
    "M_PI": math.pi,
    "M_EXP": math.e,
    "M_G": 9.80665,
    "M_ON": 1,
    "M_OFF": 0,
    "M_NOVRD": 100,
    "M_NJOVRD": 100,
    "M_NSPD": NO_SPEED,
    "M_MODE": 3,
    "M_ERRLVL": 0,
    "P_ZERO": ZERO_POSITION,
    "J_ZERO": ZERO_JOINTS,
    "P_NTOOL": ZERO_POSITION,
    "P_NBASE": ZERO_POSITION,
}

SLOT_STATES = {"M_RUN": SlotState.RUNNING, "M_WAI": SlotState.PAUSED, "M_PSA": SlotState.READY}


def read(machine: Machine, name: str, arguments: Sequence[Value]) -> Value:
    """The value of a system variable.

    Raises:
        ProgramError: there is none of that name, or no such number.
    """
    if name in SIGNALS:
        way, width = SIGNALS[name]
        first = signal(arguments, name)
        reader = machine.signals.input_bit if way == "IN" else machine.signals.output_bit
        return read_bits([reader(first + bit) for bit in range(width)])
    if name in CONSTANTS:
        return CONSTANTS[name]
    if name in SLOT_STATES:
        return int(machine.state is SLOT_STATES[name])
    found = _state(machine, name)
    if found is not None:
        return found
    if name == "M_TIMER":
        timer = _only(arguments, name, 1, TIMERS)
        return round(machine.now_s * 1e3 + machine.timers_ms.get(timer, 0.0), 3)
    if name == "M_HNDCQ":
        return machine.signals.input_bit(HAND_OUTPUTS - 1 + _only(arguments, name, 1, HANDS))
    if name == "M_OPEN":
        return int(machine.signals.connected(_only(arguments, name, 1, 8)))
    raise ProgramError(4340, name)


def _state(machine: Machine, name: str) -> Value | None:
    match name:
        case "P_CURR" | "P_FBC":
            return machine.position
        case "J_CURR" | "J_FBC":
            return machine.joints
        case "P_SAFE":
            return machine.arm.position(row_of(machine.arm, joints(machine.settings.safe_deg)).tolist())
        case "P_TOOL":
            return machine.tool
        case "P_BASE":
            return machine.base
        case "M_SVO":
            return int(machine.servo_on)
        case "M_ERR" | "M_ERRNO":
            return 0 if machine.error is None else machine.error.number
        case "M_OVRD":
            return machine.modal.override
        case "M_JOVRD":
            return machine.modal.joint_override
        case "M_OPOVRD":
            return machine.settings.panel_override
        case "M_SPD":
            return NO_SPEED if machine.modal.speed_mm_s is None else machine.modal.speed_mm_s
        case "M_RSPD" | "M_RATIO":
            return _of_move(machine, name)
        case "M_LINE":
            line = machine.line
            return 0 if line is None else line.number or line.row
        case "M_SKIPCQ":
            return machine.skipped
        case "C_PRG":
            return machine.frame.program.name
        case "C_TIME" | "C_DATE":
            return _clock(machine, name)
        case _:
            return None


def _of_move(machine: Machine, name: str) -> Value:
    """Speed of the tool in mm/s, or percent of the move that is done."""
    motion = machine.motion
    if motion is None:
        return 0.0 if name == "M_RSPD" else 100
    if name == "M_RATIO":
        return round(100 * (motion.index - motion.begins) / max(len(motion.rows) - 1 - motion.begins, 1))
    before, now = machine.arm.members(motion.rows[max(motion.index - 1, 0) : motion.index + 1])[[0, -1], :3]
    return float(math.dist(before, now)) / machine.limits.period_s


def _clock(machine: Machine, name: str) -> str:
    since = datetime.timedelta(seconds=machine.settings.start_epoch_s + math.floor(machine.now_s))
    moment = datetime.datetime(1970, 1, 1) + since
    return moment.strftime("%H:%M:%S" if name == "C_TIME" else "%y/%m/%d")


OUTSIDE = frozenset({*(name for name, (way, _) in SIGNALS.items() if way == "IN"), "M_HNDCQ", "M_OPEN", *SLOT_STATES})
"""What somebody outside the program changes."""


def asks_outside(machine: Machine, node: nodes.Expression) -> bool:
    """True if something in an expression is changed by somebody else: an input, a line, another slot."""
    waiting, seen = [node], set()
    while waiting:
        for part in walk(waiting.pop()):
            if not isinstance(part, nodes.Name | nodes.Index) or part.name in seen:
                continue
            if part.name in OUTSIDE or part.name in machine.ports or is_global(part.name):
                return True
            seen.add(part.name)
            if part.name in machine.functions:
                waiting.append(machine.functions[part.name].value)
    return False


def write(machine: Machine, name: str, arguments: Sequence[Value], value: Value) -> None:
    """Assign to a system variable.

    Raises:
        ProgramError: it can only be read.
    """
    if name == "M_TIMER":
        machine.timers_ms[_only(arguments, name, 1, TIMERS)] = float(number(value)) - machine.now_s * 1e3
        return
    if name not in SIGNALS or SIGNALS[name][0] != "OUT":
        raise ProgramError(3210, name)
    _, width = SIGNALS[name]
    write_bits(machine, signal(arguments, name), width, cint(number(value)))


def write_bits(machine: Machine, first: int, width: int, value: int) -> None:
    """Outputs from `first` on, lowest bit first."""
    for bit in range(width):
        machine.signals.write_bit(first + bit, value >> bit & 1)


def read_port(machine: Machine, definition: nodes.DefIo) -> Value:
    """Inputs under a name that DEF IO gave."""
    first, width = _port(machine, definition)
    value = read_bits([machine.signals.input_bit(first + bit) for bit in range(width)])
    return value & _mask(machine, definition)


def write_port(machine: Machine, definition: nodes.DefIo, value: Value) -> None:
    """Outputs under that name; bits outside the mask keep their state."""
    first, width = _port(machine, definition)
    mask, new = _mask(machine, definition), cint(number(value))
    for bit in range(width):
        if mask >> bit & 1:
            machine.signals.write_bit(first + bit, new >> bit & 1)


def _port(machine: Machine, definition: nodes.DefIo) -> tuple[int, int]:
    return signal((machine.evaluator.value(definition.first),), definition.name), PORT_WIDTHS[definition.width]


def _mask(machine: Machine, definition: nodes.DefIo) -> int:
    return 0xFFFF if definition.mask is None else machine.evaluator.whole(definition.mask, 0, 0xFFFF, "a mask of")


def signal(arguments: Sequence[Value], name: str) -> int:
    """The one argument that is a signal number."""
    return _only(arguments, name, 0, LARGEST_SIGNAL)


def _only(arguments: Sequence[Value], name: str, least: int, most: int) -> int:
    if len(arguments) != 1:
        given = arguments or (1,)
        if len(given) != 1 or name in SIGNALS:
            raise ProgramError(3120, f"{name} with {len(arguments)} arguments", allowed="1")
        arguments = given
    return whole(arguments[0], least, most, f"{name} of")
