"""A DH table as it is typed: texts, the robot that they make, and what is wrong with those that make none."""

from __future__ import annotations

import msgspec

from hil.errors import CommandError
from hil.lessons.numbers import shown, typed_number, unit_of_type
from hil.model.robot import Joint, JointType, RobotModel
from hil.types import Record
from hil.units import DEG, MM

COLUMNS = ("name", "type", "theta", "d", "a", "alpha", "start", "end")
"""Of the table: what a joint is, its four numbers, and between which values it moves."""

WORDS = {"theta": "theta (deg)", "d": "d (mm)", "a": "a (mm)", "alpha": "alpha (deg)", "start": "from", "end": "to"}

LONGEST_MM, WIDEST_DEG = 1e5, 3600.0
MOST_ROWS = 8
EDITED = "-edited"
"""Behind the name of a robot whose table was edited."""

MOST_NAME = 40
TURNED_RAD = 30.0 * DEG
"""Motion at first of a joint that turns, and of one that slides in metres a fifth of it, within its limits."""


class Row(Record, frozen=True):
    """One row: texts as they were typed.

    Attributes:
        joint: what the row was made from, for limits and sign; None for a new row.
    """

    name: str
    type: str
    theta: str
    d: str
    a: str
    alpha: str
    start: str
    end: str
    joint: Joint | None = None


class Fault(Record, frozen=True):
    """What is wrong, and where: row and column of the table from 0; column -1 for the whole row."""

    row: int
    column: int
    sentence: str


class Good(Record, frozen=True):
    """What a table makes.

    Attributes:
        start: joint values, rad or m.
        end: the same, where the joint motion ends.
    """

    model: RobotModel
    start: tuple[float, ...]
    end: tuple[float, ...]


def table_of(model: RobotModel) -> tuple[Row, ...]:
    """The table of a robot; the motion goes a little way from home."""
    rows = []
    for number, joint in enumerate(model.joints):
        unit, _ = unit_of_type(joint.type)
        home = _within(joint, model.home[number] if model.home is not None else 0.0)
        end = _within(joint, home + TURNED_RAD * (1.0 if joint.type is JointType.REVOLUTE else 0.2))
        numbers = (joint.theta_rad / DEG, joint.d_m / MM, joint.a_m / MM, joint.alpha_rad / DEG)
        theta, d, a, alpha = (shown(round(value, 9) + 0.0) for value in numbers)
        first, last = (shown(round(value / unit, 6) + 0.0) for value in (home, end))
        rows.append(Row(joint.name, joint.type.value, theta, d, a, alpha, first, last, joint))
    return tuple(rows)


def new_row(rows: tuple[Row, ...]) -> Row:
    """One more joint, with a name that no other has."""
    taken = {row.name for row in rows}
    number = next(k for k in range(len(rows) + 1, len(rows) + 2 + MOST_ROWS) if f"joint {k}" not in taken)
    return Row(f"joint {number}", "revolute", "0", "0", "100", "0", "0", "30")


def motion_kept(rows: tuple[Row, ...], before: tuple[Row, ...]) -> tuple[Row, ...]:
    """The same rows, with the motion that was typed: a file knows nothing of it."""
    return tuple(
        msgspec.structs.replace(row, start=was.start, end=was.end) for row, was in zip(rows, before, strict=True)
    )


def typed(rows: tuple[Row, ...], row: int, column: int, text: str) -> tuple[Row, ...]:
    """The table with one text in the place of another."""
    changed = msgspec.structs.replace(rows[row], **{COLUMNS[column]: text})
    return (*rows[:row], changed, *rows[row + 1 :])


def read_table(rows: tuple[Row, ...], origin: RobotModel) -> tuple[Good | None, tuple[Fault, ...]]:
    """The robot of a table, or all that is wrong with it.

    Args:
        rows: the texts.
        origin: whose base, tool and sources are kept; itself, if the table is still its own.
    """
    faults: list[Fault] = []
    if not 1 <= len(rows) <= MOST_ROWS:
        return None, (Fault(0, -1, f"{len(rows)} rows; allowed: 1 to {MOST_ROWS}"),)
    _check_names(rows, faults)
    read = [_Read(number, row, faults) for number, row in enumerate(rows)]
    if faults:
        return None, tuple(faults)
    joints = tuple(each.joint() for each in read)
    start = tuple(each.value("start") for each in read)
    end = tuple(each.value("end") for each in read)
    model = origin if _same(joints, origin.joints) else _edited(origin, joints, start)
    return Good(model, start, end), ()


class _Read:
    """One row, read; what is wrong goes to the faults."""

    def __init__(self, number: int, row: Row, faults: list[Fault]) -> None:
        self._row, self._number, self._faults = row, number, faults
        self.kind = JointType.PRISMATIC if row.type.strip().lower().startswith("p") else JointType.REVOLUTE
        if row.type.strip().lower() not in ("r", "p", "revolute", "prismatic"):
            self._say("type", f"type: {row.type!r} given; allowed: revolute or prismatic (r, p)")
        self._unit, unit_name = unit_of_type(self.kind)
        most = WIDEST_DEG if unit_name == "deg" else LONGEST_MM
        self._values = {name: self._number_of(name, WIDEST_DEG) for name in ("theta", "alpha")}
        self._values |= {name: self._number_of(name, LONGEST_MM) for name in ("d", "a")}
        self._values |= {name: self._number_of(name, most) for name in ("start", "end")}

    def _say(self, column: str, sentence: str) -> None:
        self._faults.append(Fault(self._number, COLUMNS.index(column), sentence))

    def _number_of(self, name: str, most: float) -> float:
        try:
            return typed_number(getattr(self._row, name), f"{self._row.name}, {WORDS[name]}", -most, most)
        except CommandError as error:
            self._say(name, str(error))
            return 0.0

    def joint(self) -> Joint:
        """The joint; limits and speed are kept as long as it turns, or slides, as before."""
        old = self._row.joint
        kept = old if old is not None and old.type is self.kind else None
        return Joint(
            name=self._row.name.strip(),
            type=self.kind,
            d_m=_kept(self._values["d"], MM, None if old is None else old.d_m),
            theta_rad=_kept(self._values["theta"], DEG, None if old is None else old.theta_rad),
            a_m=_kept(self._values["a"], MM, None if old is None else old.a_m),
            alpha_rad=_kept(self._values["alpha"], DEG, None if old is None else old.alpha_rad),
            sign=1 if old is None else old.sign,
            lower=None if kept is None else kept.lower,
            upper=None if kept is None else kept.upper,
            max_speed=None if kept is None else kept.max_speed,
        )

    def value(self, name: str) -> float:
        """A joint's value, rad or m."""
        return self._values[name] * self._unit


def _kept(value: float, unit: float, before: float | None) -> float:
    """A number that shows as what was there before is what was there before: texts have nine decimals."""
    if before is not None and abs(value - before / unit) <= 1e-9:
        return before
    return value * unit


def _check_names(rows: tuple[Row, ...], faults: list[Fault]) -> None:
    seen: set[str] = set()
    for number, row in enumerate(rows):
        name = row.name.strip()
        if not name or len(name) > MOST_NAME or not name.isprintable():
            faults.append(Fault(number, 0, f"name: {row.name!r} given; allowed: 1 to {MOST_NAME} letters"))
        elif name in seen:
            faults.append(Fault(number, 0, f"name: {name!r} is there twice; allowed: a name that no other joint has"))
        seen.add(name)


def _same(joints: tuple[Joint, ...], others: tuple[Joint, ...]) -> bool:
    return joints == others


def _edited(origin: RobotModel, joints: tuple[Joint, ...], start: tuple[float, ...]) -> RobotModel:
    """The robot of an edited table: masses, notes and the controller's angles were the other one's, so they go."""
    inside = all(_within(joint, value) == value for joint, value in zip(joints, start, strict=True))
    name = origin.id if origin.id.endswith(EDITED) else f"{origin.id}{EDITED}"
    return msgspec.structs.replace(
        origin,
        id=name,
        title=f"{_without_remark(origin.title)} (edited)",
        joints=joints,
        home=start if inside else None,
        status="edited by hand in a lesson",
        source=f"the table of {origin.id}, edited: {origin.source}",
        verified_against=(),
        notes=(),
        payload_kg=None,
        mass_kg=None,
        inertia=None,
        inertia_status="",
        controller_map=None,
        file="",
    )


def _without_remark(title: str) -> str:
    """A remark in brackets behind a title, such as ``(measured)``, speaks of the other arm's numbers."""
    bare = title.partition(" (")[0].strip()
    return bare or title


def _within(joint: Joint, value: float) -> float:
    lower = value if joint.lower is None else joint.lower
    upper = value if joint.upper is None else joint.upper
    return min(max(value, lower), upper)
