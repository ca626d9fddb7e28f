"""PRINT and INPUT: text to and from the lines that a program has opened."""

from __future__ import annotations

import re

from hil.paths.point_list import MEMBER
from hil.program import nodes
from hil.program.errors import ProgramError
from hil.program.machine import Machine
from hil.program.values import Joints, Position, Value, format_value, joints, position

LINE_NUMBERS = 8
COLUMN = 10
ITEM = re.compile(r'\s*("[^"]*"|\([^()]*\)(?:\s*\([^()]*\))?|[^,]*)\s*(?:,|$)')
END_OF_LINE = "\r"


def line_number(machine: Machine, node: nodes.Expression) -> int:
    """The number after ``#``, of a line that is open."""
    found = machine.evaluator.whole(node, 1, LINE_NUMBERS, "line #")
    if not machine.signals.connected(found):
        raise ProgramError(3140, f"line #{found} is not open")
    return found


def open_line(machine: Machine, statement: nodes.Open) -> None:
    """OPEN."""
    device = machine.evaluator.value(statement.device)
    key = machine.evaluator.whole(statement.number, 1, LINE_NUMBERS, "line #")
    if not isinstance(device, str):
        raise ProgramError(3810, "the device is no text", allowed='"COM1:"')
    if machine.signals.connected(key):
        raise ProgramError(3130, f"line #{key}")
    machine.signals.open(device, key)


def close_lines(machine: Machine, statement: nodes.Close | None) -> None:
    """CLOSE of some, or of all; what was not read is lost."""
    numbers = statement.numbers if statement else ()
    keys = [machine.evaluator.whole(node, 1, LINE_NUMBERS, "line #") for node in numbers]
    for key in keys or range(1, LINE_NUMBERS + 1):
        machine.signals.close(key)
        machine.unread.pop(key, None)
        machine.column.pop(key, None)


def print_items(machine: Machine, statement: nodes.Print) -> None:
    """A comma goes to the next column of ten, a semicolon goes on directly; either at the end keeps the line open."""
    key = line_number(machine, statement.number)
    text = ""
    column = machine.column.get(key, 0)
    # The comma after the number only separates.
    items = statement.items[1:] if statement.items and statement.items[0] == "," else statement.items
    for item in items:
        if item == ",":
            text += " " * (COLUMN - (column + len(text)) % COLUMN)
        elif not isinstance(item, str):
            text += format_value(machine.evaluator.value(item))
    ends = not items or not isinstance(items[-1], str)
    machine.signals.send(key, text + (END_OF_LINE if ends else ""))
    machine.column[key] = 0 if ends else column + len(text)


def read_items(machine: Machine, statement: nodes.Input) -> list[Value] | None:
    """As many items as there are variables, or None while they have not come; surplus ones stay.

    Raises:
        ProgramError: an item is of another type than its variable.
    """
    key = line_number(machine, statement.number)
    unread = machine.unread.setdefault(key, [])
    while len(unread) < len(statement.variables):
        text = machine.signals.receive(key)
        if text is None:
            return None
        unread.extend(split_items(text))
    taken, machine.unread[key] = unread[: len(statement.variables)], unread[len(statement.variables) :]
    return [item_value(machine, v, item) for v, item in zip(statement.variables, taken, strict=True)]


def split_items(text: str) -> list[str]:
    """Items between commas; brackets and quotes hold theirs together."""
    items, at, bare = [], 0, text.strip("\r\n")
    while True:
        found = ITEM.match(bare, at)
        if found is None:
            comma = bare.find(",", at)
            stop = len(bare) if comma < 0 else comma
            items.append(bare[at:stop].strip())
            at = stop + 1
        else:
            items.append(found[1].strip())
            at = found.end()
        if at >= len(bare):
            return [*items, ""] if at == len(bare) and bare[at - 1 : at] == "," else items


def item_value(machine: Machine, variable: nodes.Variable, item: str) -> Value:
    """An item as its variable takes it."""
    kind = machine.store.kind(variable.name) if isinstance(variable, nodes.Name | nodes.Index) else "NUMBER"
    try:
        if kind == "CHAR":
            return item.strip('"')
        if kind in ("POS", "JNT"):
            return _bracketed(kind, item)
        return int(item) if item.lstrip("+-").isdigit() and item.isascii() else float(item)
    except (ValueError, ProgramError):
        names = {"POS": "(X,Y,Z,A,B,C)(FL1,FL2)", "JNT": "(J1,J2,J3,0,J5,J6)"}
        raise ProgramError(3500, f"{item[:40]!r}", allowed=names.get(kind or "", "a number")) from None


def _bracketed(kind: str, item: str) -> Position | Joints:
    found = re.fullmatch(r"\(([^()]*)\)\s*(?:\(([^()]*)\))?", item)
    if found is None or not all(MEMBER.fullmatch(part) for part in found[1].split(",")):
        raise ValueError(item)
    numbers = [float(part) if part.strip() else 0.0 for part in found[1].split(",")]
    if len(numbers) == 9 and not found[1].split(",")[8].strip():
        numbers.pop()
    if kind == "JNT":
        return joints(numbers)
    flags = [int(part) if part.strip() else None for part in (found[2] or "").split(",")]
    return position(numbers, flags[0], flags[1] if len(flags) > 1 else None)
