"""Every statement of a run in its order, and what it changed: variables of all kinds, of the system too, and signals.

What a display shows of it while one steps through a program; nothing here has a say in what the program does.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from hil.program import nodes, system
from hil.program.errors import ProgramError
from hil.program.flow import walk
from hil.program.machine import Machine
from hil.program.structure import Program
from hil.program.values import Value, format_value, kind_of
from hil.program.variables import is_global, is_system
from hil.types import Record

ALWAYS = ("P_CURR", "J_CURR", "P_TOOL", "P_BASE", "M_SPD", "M_OVRD", "M_JOVRD", "M_RSPD", "M_RATIO", "M_SVO", "M_ERR")
"""System variables that are shown of every program; others where it names them."""

COLUMNS = ("step", "time_s", "program", "line", "statement", "variable", "kind", "value")

Key = tuple[str, str]
"""Program, empty for what all of them share, and variable."""


class StepRow(Record, frozen=True):
    """One change, or a statement that has changed nothing yet.

    Attributes:
        step: which statement, from 1; 0 for what stood before the first.
        time_s: when; a statement that takes time changes system variables all the while.
        program: that the statement is of.
        line: by its number, or by its line of the text where it has none.
        statement: as it was written.
        variable: with its index; of another program than the one that runs with that program's name and a colon before
            it. Empty where the statement begins.
        kind: position, joint set, number or string.
        value: as PRINT writes it, strings in quotes; empty where it has none any more.
    """

    step: int
    time_s: float
    program: str
    line: int
    statement: str
    variable: str = ""
    kind: str = ""
    value: str = ""


class StepRecorder:
    """Looks at a machine before each statement and after each tick, and keeps what is another.

    Attributes:
        rows: in the order of time.
    """

    def __init__(self) -> None:
        self.rows: list[StepRow] = []
        self._known: dict[Key, Value] = {}
        self._named: list[tuple[str, tuple[int | float, ...]]] = []
        self._latest = StepRow(step=0, time_s=0.0, program="", line=0, statement="")

    def begin(self, machine: Machine) -> None:
        """What stands before the first statement."""
        programs = (machine.program, *machine.library.values())
        self._named = sorted({(name, ()) for name in ALWAYS} | {each for one in programs for each in _mentioned(one)})
        self._latest = StepRow(step=0, time_s=machine.now_s, program=machine.program.name, line=0, statement="")
        self.look(machine)

    def statement(self, machine: Machine) -> None:
        """A statement is about to be done."""
        self.look(machine)
        line = machine.line
        if line is None:
            return
        self._latest = StepRow(
            step=self._latest.step + 1,
            time_s=machine.now_s,
            program=machine.frame.program.name,
            line=line.number or line.row,
            statement=line.text,
        )
        self.rows.append(self._latest)

    def look(self, machine: Machine) -> None:
        """Keep what is another by now."""
        found = dict(self._values(machine))
        for key, value in found.items():
            if self._known.get(key) != value or type(self._known.get(key)) is not type(value):
                self._keep(machine, key, kind_of(value), _shown(value))
        for key in self._known.keys() - found.keys():
            self._keep(machine, key, kind_of(self._known[key]), "")
        self._known = found

    def _keep(self, machine: Machine, key: Key, kind: str, value: str) -> None:
        latest = self._latest
        owner, name = key
        self.rows.append(
            StepRow(
                step=latest.step,
                time_s=machine.now_s,
                program=latest.program,
                line=latest.line,
                statement=latest.statement,
                variable=name if owner in ("", machine.program.name) else f"{owner}:{name}",
                kind=kind,
                value=value,
            )
        )

    def _values(self, machine: Machine) -> Iterator[tuple[Key, Value]]:
        for frame in machine.frames:
            owner = frame.program.name
            for (name, index), value in frame.store.names():
                if not is_global(name):
                    yield (owner, _with_index(name, index)), value
            for name, definition in frame.ports.items():
                yield from _read(("", name), partial(machine.port, definition))
        for name, value in machine.shared.items():
            yield ("", name), value
        for name, arguments in self._named:
            shown = _with_index(name, arguments)
            yield from _read(("", shown), partial(machine.system, name, arguments))


def to_csv(rows: Iterable[StepRow]) -> str:
    """The rows as a table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(
            [row.step, f"{row.time_s:.4f}", row.program, row.line, row.statement, row.variable, row.kind, row.value]
        )
    return text.getvalue()


def _mentioned(program: Program) -> Iterator[tuple[str, tuple[int | float, ...]]]:
    """System variables that a program names, with their numbers where these are written out."""
    for line in program.lines:
        for node in walk(line.statement):
            if not isinstance(node, nodes.Name | nodes.Index) or not is_system(node.name) or is_global(node.name):
                continue
            given = node.arguments if isinstance(node, nodes.Index) else ()
            numbers = tuple(each.value for each in given if isinstance(each, nodes.Number))
            if node.name not in system.CONSTANTS and len(numbers) == len(given):
                yield node.name, numbers


def _read(key: Key, value: Callable[[], Value]) -> Iterator[tuple[Key, Value]]:
    """What has a value; what is none, such as a number of a signal that there is not, is the statement's to say."""
    try:
        yield key, value()
    except ProgramError:
        return


def _with_index(name: str, index: tuple[int | float, ...]) -> str:
    return f"{name}({','.join(f'{each:g}' for each in index)})" if index else name


def _shown(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else format_value(value)
