"""One format for what a program did, sample by sample, whoever ran it: preview, simulator, fake or controller."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from hil.program.arm import ProgramArm
from hil.program.errors import ProgramError
from hil.program.interpreter import Interpreter
from hil.program.signals import AssumedSignals
from hil.program.values import AXES
from hil.types import Record
from hil.units import DEG

POSE = AXES[:5]


class TraceRow(Record, frozen=True):
    """The end of one period.

    Attributes:
        time_s: since the start.
        line: line number of the program, or line of its text where it has none.
        statement: as it was written.
        joints_deg: in the order of the arm's joints.
        pose: X, Y, Z in mm, A, B in degrees, with TOOL and BASE as they then were.
        outputs: output signals that were on.
    """

    time_s: float
    line: int
    statement: str
    joints_deg: tuple[float, ...]
    pose: tuple[float, ...]
    outputs: tuple[int, ...]


def row_now(machine: Interpreter, signals: AssumedSignals) -> TraceRow:
    """What an interpreter has just done."""
    line = machine.shown_line
    return TraceRow(
        time_s=machine.now_s,
        line=0 if line is None else line.number or line.row,
        statement="" if line is None else line.text,
        joints_deg=tuple((machine.row / DEG).tolist()),
        pose=machine.position.members[: len(POSE)],
        outputs=tuple(sorted(signal for signal, on in signals.outputs.items() if on)),
    )


def to_csv(rows: Iterable[TraceRow], arm: ProgramArm) -> str:
    """The rows as a table: seconds, degrees, millimetres; outputs with blanks between."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    joints = [f"J{slot + 1}" for slot in arm.slots]
    writer.writerow(["time_s", "line", "statement", *joints, *POSE, "outputs"])
    for row in rows:
        numbers = [f"{value:z.4f}" for value in (*row.joints_deg, *row.pose)]
        writer.writerow([f"{row.time_s:.4f}", row.line, row.statement, *numbers, " ".join(map(str, row.outputs))])
    return text.getvalue()


def from_csv(text: str) -> list[TraceRow]:
    """Read what `to_csv` wrote.

    Raises:
        ProgramError: it is something else.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        names = list(reader.fieldnames or ())
    except csv.Error as error:
        raise ProgramError(3110, f"no table: {error}") from None
    joints = [name for name in names if name.startswith("J")]
    if names != ["time_s", "line", "statement", *joints, *POSE, "outputs"] or not joints:
        raise ProgramError(
            3110, f"columns {names}", allowed="a trace: time_s, line, statement, J1.., X Y Z A B, outputs"
        )
    try:
        return [_row(row, joints) for row in reader]
    except (TypeError, ValueError, AttributeError, csv.Error) as error:
        raise ProgramError(3110, f"a trace with {error}") from None


def _row(row: dict[str, str], joints: Sequence[str]) -> TraceRow:
    return TraceRow(
        time_s=float(row["time_s"]),
        line=int(row["line"]),
        statement=row["statement"],
        joints_deg=tuple(float(row[name]) for name in joints),
        pose=tuple(float(row[name]) for name in POSE),
        outputs=tuple(map(int, row["outputs"].split())),
    )


def first_difference(one: Sequence[TraceRow], other: Sequence[TraceRow], tolerance_deg: float) -> str:
    """Where two traces part, in words; empty if they do not.

    Args:
        one: rows at one period.
        other: rows at the same period.
        tolerance_deg: by which joints may differ; the wire's rounding.
    """
    for k, (a, b) in enumerate(zip(one, other, strict=False)):
        where = f"sample {k}, {a.time_s:.3f} s, line {a.line}"
        for j, (left, right) in enumerate(zip(a.joints_deg, b.joints_deg, strict=True)):
            if abs(left - right) > tolerance_deg:
                return f"{where}: joint {j + 1} at {left:z.4f} and {right:z.4f} deg"
        if a.line != b.line:
            return f"{where}: the other is in line {b.line}"
        if a.outputs != b.outputs:
            return f"{where}: outputs {a.outputs} and {b.outputs}"
    if len(one) != len(other):
        return f"{len(one)} and {len(other)} samples"
    return ""
