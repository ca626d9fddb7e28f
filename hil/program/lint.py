"""What is wrong, or looks wrong, with a program before it moves anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from hil.paths.point_list import PointName
from hil.program import nodes
from hil.program.arm import ProgramArm, goal_row, row_of
from hil.program.builder import Dialect
from hil.program.dry_run import Run, lines_between
from hil.program.errors import USER_CLASSES, Place, ProgramError, known
from hil.program.flow import Routine, has_word, routine, set_names, walk, way_of
from hil.program.functions import FUNCTIONS
from hil.program.motions import Limits, default_limits
from hil.program.points import format_point
from hil.program.rv2aj import Rv2aj
from hil.program.settings import Settings
from hil.program.signals import HAND_OUTPUTS, Inputs
from hil.program.structure import Program
from hil.program.system import SIGNALS
from hil.program.trials import Shown, trials
from hil.program.values import Joints, Position
from hil.program.variables import is_system, kind_by_name, plain_name
from hil.types import Record
from hil.units import DEG

Severity = Literal["error", "warning", "note"]
RANK = {"error": 0, "warning": 1, "note": 2}

PERIOD_S = 0.02
UNEQUAL = re.compile(r"\b([A-Z]\w*)!=")
SIGNALS_OF_CR1 = ((0, 255), (HAND_OUTPUTS, HAND_OUTPUTS + 7))

MOST_WORDS = 6
"""Inputs of a run that a finding names."""

HOME_DEG = (0.0, 0.0, 90.0, 90.0, 0.0)
"""Where a dry run begins if nobody says: forearm level, flange down, as in most programs for this arm."""


class Finding(Record, frozen=True):
    """One thing to look at.

    Attributes:
        severity: error: it cannot work; warning: it may not; note: probably not meant.
        number: of the controller's error; 0 for what the controller would not mind.
        row, column: place in the text, from 1; row 0 for the program as a whole.
        line: the program's own line number, or None.
        text: what was found.
        advice: what to do.
    """

    severity: Severity
    number: int
    row: int
    column: int
    line: int | None
    text: str
    advice: str = ""

    @property
    def code(self) -> str:
        """As the panel shows the error; empty for none."""
        return f"{known(self.number).letter}{self.number}" if self.number else ""


def lint(
    program: Program,
    errors: Sequence[ProgramError] = (),
    *,
    arm: ProgramArm | None = None,
    limits: Limits | None = None,
    start: Sequence[float] | None = None,
    settings: Settings | None = None,
    library: dict[str, Program] | None = None,
) -> tuple[Finding, ...]:
    """Look at a program from all sides.

    Args:
        program: as far as it could be read.
        errors: what could not be read of it.
        arm: the mechanism with its limits; a plain RV-2AJ if not given.
        limits: how fast its joints are.
        start: joints before the program, radians.
        settings: what the language leaves open.
        library: programs that it calls.

    Returns:
        In the order of lines; errors before warnings before notes in one line.
    """
    arm = arm or Rv2aj()
    limits = limits or default_limits(PERIOD_S)
    joints = list(start) if start is not None else [angle * DEG for angle in HOME_DEG]
    found = [of_error(error, "error") for error in errors]
    found += [*_routines(program), *_names(program, errors), *_points(program, arm), *_looks(program)]
    if not errors:
        # What a run meets is certain; what the lines alone say may be a way that is never taken.
        runs = trials(program, arm, limits, joints, settings or Settings(), library or {})
        met = [_of_run(each) for each in runs.shown]
        seen = {(each.number, each.row) for each in met}
        maybe = [*found, *(of_error(error, "warning") for error in lines_between(program, arm, limits, joints))]
        found = [*met, *(each for each in maybe if each.row == 0 or (each.number, each.row) not in seen)]
        found += _of_first_run(program, runs.first)
    return tuple(sorted(found, key=lambda each: (each.row, RANK[each.severity], each.column, each.number)))


def _of_run(shown: Shown) -> Finding:
    """An error that a run met: certain if nobody has to press anything, and the program does not raise it itself."""
    met = shown.met
    own = any(first <= met.error.number <= last for first, last, _ in USER_CLASSES)
    certain = met.certain and not met.again and shown.plain and not own
    found = of_error(met.error, "error" if certain else "warning")
    words = _in_words(met.inputs)
    when = ["when it runs again from where it ended"] if met.again else []
    when += [f"with {words}"] if words else []
    return msgspec.structs.replace(found, text=f"{found.text} ({', '.join(when)})" if when else found.text)


def _in_words(inputs: Inputs) -> str:
    """Inputs as `hil program` takes them."""
    words = [
        f"--input {change.signal}={change.value}{f'@{change.time_s:.2f}' if change.time_s else ''}"
        for change in inputs.changes
    ]
    words += [f'--text "{text.text}@{text.time_s:.2f}"' for text in inputs.texts]
    return " ".join(words[:MOST_WORDS]) + (" .." if len(words) > MOST_WORDS else "")


def _of_first_run(program: Program, run: Run) -> Iterable[Finding]:
    if run.hangs is not None:
        text = "this waits for ever: nothing that it waits for changes"
        yield _at(program, run.hangs, "warning", 0, text, "Wait for an input, or change it elsewhere")
    if run.cut:
        text = "the program was run for a while, not to its end: what comes later was not looked at"
        yield _finding(Place(row=0), "note", 0, text)
    for notice in run.notices:
        if "pallet" in notice:
            yield Finding(severity="warning", number=0, row=0, column=1, line=None, text=notice)


def of_error(error: ProgramError, severity: Severity) -> Finding:
    """A controller's error as a finding."""
    detail = f": {error.detail}" if error.detail else ""
    allowed = f"; allowed: {error.allowed}" if error.allowed else ""
    return Finding(
        severity=severity,
        number=error.number,
        row=error.row,
        column=error.column,
        line=error.place.number if error.place else None,
        text=f"{known(error.number).cause}{detail}{allowed}",
        advice=error.remedy,
    )


def _at(program: Program, index: int, severity: Severity, number: int, text: str, advice: str = "") -> Finding:
    line = program.lines[index]
    column = line.statement.at if line.statement else line.label_at
    return _finding(line.place(column), severity, number, text, advice)


def _finding(place: Place, severity: Severity, number: int, text: str, advice: str = "") -> Finding:
    return Finding(
        severity=severity,
        number=number,
        row=place.row,
        column=place.column,
        line=place.number,
        text=text,
        advice=advice or (known(number).remedy if number else ""),
    )


# -- routines ----------------------------------------------------------------------------------------------------------


def _routines(program: Program) -> Iterable[Finding]:
    """Endless GOSUBs, routines that do not come back, RETURN without GOSUB, lines that nothing reaches."""
    if not program.lines:
        return
    main = routine(program, 0)
    called, jumped = _entries(program, main)
    routines = {entry: routine(program, entry) for entry in called}
    yield from _recursions(program, routines)
    yield from _lost(program, main, routines, called)
    reached = set(main.lines).union(*(each.lines for each in routines.values()))
    reached |= set().union(*(routine(program, entry).lines for entry in jumped))
    before = -2
    for index in range(len(program.lines)):
        if index in reached or isinstance(program.lines[index].statement, nodes.Marker | None):
            continue
        if index != before + 1:
            yield _at(program, index, "note", 0, "no way leads here", "Remove the lines, or jump to them")
        before = index


def _entries(program: Program, main: Routine) -> tuple[set[int], set[int]]:
    """Entries of routines that are called from anywhere, and of interrupts that do not come back."""
    called: set[int] = set()
    jumped: set[int] = set()
    waiting = [main]
    while waiting:
        current = waiting.pop()
        new = set().union(*current.calls.values()) if current.calls else set()
        for index in current.lines:
            for entry, back in way_of(program, index).handlers:
                if back:
                    new.add(entry)
                elif entry not in jumped:
                    jumped.add(entry)
                    waiting.append(routine(program, entry))
        for entry in new - called:
            called.add(entry)
            waiting.append(routine(program, entry))
    return called, jumped


def _recursions(program: Program, routines: dict[int, Routine]) -> Iterable[Finding]:
    below = {entry: _below(entry, routines) for entry in routines}
    for entry, each in sorted(routines.items()):
        if entry not in below[entry]:
            continue
        back = {index for index, calls in each.calls.items() if any(entry in below[c] | {c} for c in calls)}
        other = routine(program, entry, frozenset(back))
        certain = not (other.returns or other.ends)
        for index in sorted(back):
            what = (
                "this GOSUB calls its own routine again, and no way leads out"
                if certain
                else ("this GOSUB may call its own routine again")
            )
            yield _at(program, index, "warning", 3100, what)


def _below(entry: int, routines: dict[int, Routine]) -> set[int]:
    """Routines that this one may call, at any depth."""
    found: set[int] = set()
    waiting = [entry]
    while waiting:
        for calls in routines[waiting.pop()].calls.values():
            for called in calls - found:
                found.add(called)
                waiting.append(called)
    return found


def _lost(program: Program, main: Routine, routines: dict[int, Routine], called: set[int]) -> Iterable[Finding]:
    for index in sorted(main.lines):
        if way_of(program, index).returns:
            yield _at(program, index, "warning", 3840, "RETURN may be reached without a GOSUB")
    for entry, each in sorted(routines.items()):
        if not each.returns and not each.ends:
            text = "this routine never comes back with RETURN"
            yield _at(
                program, entry, "warning", 0, text, "End it with RETURN; a GOTO out of it leaves its place behind"
            )


# -- names -------------------------------------------------------------------------------------------------------------


def _names(program: Program, errors: Sequence[ProgramError]) -> Iterable[Finding]:
    """Variables that are read and never set, labels and points that nothing uses."""
    types, written, parameters = _definitions(program)
    used: set[str] = set()
    reported: set[str] = set()
    loose = program.dialect is Dialect.LOOSE
    for line in program.lines:
        for node in walk(line.statement) if line.statement else ():
            if not isinstance(node, nodes.Name | nodes.Index):
                continue
            plain = plain_name(node.name)
            used.add(plain)
            if plain in reported or plain in parameters or (_is_known(node.name) and plain not in types):
                continue
            kind = "declared" if plain in types else kind_by_name(node.name, loose=loose)
            place = line.place(node.at)
            if kind is None:
                reported.add(plain)
                yield _finding(place, "warning", 4340, f"{node.name} has no type")
            elif plain not in written:
                reported.add(plain)
                yield _finding(place, "warning", 3700, f"{node.name} is read, and set nowhere")
            elif kind != "declared" and kind_by_name(node.name, loose=False) is None:
                reported.add(plain)
                text = f"{node.name} has no DEF: a number in V, error L4340 in IV"
                yield _finding(place, "note", 0, text, f"DEF FLOAT {plain}, or begin its name with M")
    if errors:
        return
    yield from _unused(program, used)


def _definitions(program: Program) -> tuple[set[str], set[str], set[str]]:
    """Names with a type by DEF, names that are set somewhere, parameters of functions."""
    types: set[str] = set()
    written = {plain_name(name) for name, _ in program.points} | set_names(program)
    parameters: set[str] = set()
    for line in program.lines:
        for node in walk(line.statement) if line.statement else ():
            match node:
                case nodes.Declare():
                    types |= {plain_name(item.name) for item in node.items}
                    written |= {plain_name(item.name) for item in node.items if item.value or item.size}
                case nodes.DefFunction():
                    parameters |= {*node.parameters, node.name}
                case nodes.DefIo():
                    written.add(node.name)
                    types.add(node.name)
    return types, written, parameters


def _is_known(name: str) -> bool:
    return is_system(name) or name in FUNCTIONS or name == "RND"


def _unused(program: Program, used: set[str]) -> Iterable[Finding]:
    targets = {node.to for line in program.lines for node in walk(line.statement) if isinstance(node, nodes.Target)}
    for line in program.lines:
        if line.label and line.label not in targets:
            yield _finding(line.place(line.label_at), "note", 0, f"nothing jumps to *{line.label}", "Remove the label")
    idle = sorted({name for name, _ in program.points if plain_name(name) not in used and not is_system(name)})
    for name in idle:
        yield _finding(Place(row=0), "note", 0, f"point {name} is taught, and not used", "Remove it, or use it")


# -- what reads well, and says something else -----------------------------------------------------------------------


def _looks(program: Program) -> Iterable[Finding]:
    """``M1!=2``, which compares M1! with 2; and signals that a CR1 does not have."""
    told: set[tuple[int, float]] = set()
    for line in program.lines:
        if unequal := UNEQUAL.search(line.text.upper()):
            text = f"{unequal[0]} asks whether {unequal[1]} is equal: the ! says that it is a FLOAT"
            yield _finding(line.place(), "warning", 0, text, "Unequal is <>")
        for node in walk(line.statement) if line.statement else ():
            if isinstance(node, nodes.Index) and node.name in SIGNALS and isinstance(node.arguments[0], nodes.Number):
                number = node.arguments[0].value
                there = any(first <= number <= last for first, last in SIGNALS_OF_CR1)
                if not there and (line.row, number) not in told:
                    told.add((line.row, number))
                    allowed = " and ".join(f"{first} to {last}" for first, last in SIGNALS_OF_CR1)
                    text = f"{node.name}({number:g}): a CR1 has signals {allowed}"
                    yield _finding(
                        line.place(node.at), "warning", 6600, text, "Use one of those, or another controller"
                    )


# -- points ------------------------------------------------------------------------------------------------------------


def _points(program: Program, arm: ProgramArm) -> Iterable[Finding]:
    """Points where the tool cannot stand; not where TOOL or BASE move them."""
    if has_word(program, "TOOL", "BASE"):
        return
    targets = _targets(program)
    for name, value in sorted(program.points.items()):
        if name[0] not in targets:
            continue
        if isinstance(value, Position) and value.fl1 is None:
            text = f"point {_shown(name)} was never taught: its flags are empty"
            yield _finding(Place(row=0), "warning", 0, text, "Teach it")
            continue
        error = _stands(arm, value)
        if error is not None:
            text = f"point {_shown(name)}: {known(error.number).cause}: {error.detail}"
            yield _finding(Place(row=0), "warning", error.number, text)


def _targets(program: Program) -> set[str]:
    """Names that stand bare in a motion statement, and are assigned nowhere."""
    found = set()
    for line in program.lines:
        for node in walk(line.statement) if line.statement else ():
            if isinstance(node, nodes.Move) and node.distance_mm is None:
                found |= {point.name for point in node.points if isinstance(point, nodes.Name | nodes.Index)}
    return found - set_names(program)


def _stands(arm: ProgramArm, value: object) -> ProgramError | None:
    try:
        if isinstance(value, Position):
            goal_row(arm, value, row_of(arm, Joints(degrees=(0.0,) * 8)))
        elif isinstance(value, Joints):
            row_of(arm, value)
    except ProgramError as error:
        return error
    return None


def _shown(name: PointName) -> str:
    return format_point(name, Joints(degrees=(0.0,) * 8), define=False).partition("=")[0]
