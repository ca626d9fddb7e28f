"""Every number of a robot with its source, and "not given" where no source gives it; several robots in one table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hil.kernels.scalar import FloatArray
from hil.lessons.sheet import Sheet
from hil.model.link_shapes import arm_length_m
from hil.model.robot import Joint, LinkInertia, RobotModel, Transform
from hil.model.specification import NOT_GIVEN, home_text, longest_reach_m, unit_of
from hil.robot import Robot
from hil.units import DEG, MM

WORKED_OUT = "worked out from the table above"
MOST = 3
"""Robots side by side."""


class Fact(NamedTuple):
    """One thing that may be known of a robot.

    Attributes:
        key: what it is, the same for all robots.
        value: in people's units; `NOT_GIVEN` where no source gives it.
        source: where it comes from; empty where it is not given.
    """

    key: str
    value: str
    source: str


def facts_of(model: RobotModel) -> tuple[Fact, ...]:
    """All of them, in the order of the table."""
    return tuple(_known(fact) for fact in _facts(model))


def _known(fact: Fact) -> Fact:
    return fact._replace(source="") if fact.value == NOT_GIVEN else fact


def _facts(model: RobotModel) -> Iterator[Fact]:
    source = model.source
    yield Fact("maker", model.manufacturer or NOT_GIVEN, source)
    yield Fact("joints", str(model.dof), source)
    for number, joint in enumerate(model.joints, start=1):
        yield from (Fact(f"joint {number}: {key}", value, source) for key, value in _joint(joint))
    yield Fact("base", _transform(model.base), source)
    yield Fact("tool", _transform(model.tool), source)
    yield Fact("home", home_text(model), source)
    yield Fact("payload", NOT_GIVEN if model.payload_kg is None else f"{model.payload_kg:g} kg", source)
    yield Fact("mass", NOT_GIVEN if model.mass_kg is None else f"{model.mass_kg:g} kg", source)
    reach_m = longest_reach_m(model)
    yield Fact("reach, stretched out", NOT_GIVEN if reach_m is None else f"{reach_m / MM:.6g} mm", WORKED_OUT)
    yield Fact("inverse kinematics", Robot(model).closed_form_family or "by iteration", WORKED_OUT)
    for number in range(model.dof):
        link = None if model.inertia is None else model.inertia[number]
        where = model.inertia_status or source
        yield from (Fact(f"link {number + 1}: {key}", value, where) for key, value in _link(link))
    yield Fact("status", model.status or NOT_GIVEN, source)
    yield Fact("checked against", "; ".join(model.verified_against) or NOT_GIVEN, source)


def _joint(joint: Joint) -> Iterator[tuple[str, str]]:
    unit, name = unit_of(joint)
    yield "name", joint.name
    yield "type", joint.type.value
    yield "theta", f"{joint.theta_rad / DEG:z.6g} deg"
    yield "d", f"{joint.d_m / MM:z.6g} mm"
    yield "a", f"{joint.a_m / MM:z.6g} mm"
    yield "alpha", f"{joint.alpha_rad / DEG:z.6g} deg"
    for key, value, per in (("lower", joint.lower, ""), ("upper", joint.upper, ""), ("speed", joint.max_speed, "/s")):
        yield key, NOT_GIVEN if value is None else f"{value / unit:z.6g} {name}{per}"


def _link(link: LinkInertia | None) -> Iterator[tuple[str, str]]:
    def given(value: float | None, unit: str) -> str:
        return NOT_GIVEN if value is None else f"{value:g} {unit}".rstrip()

    yield "mass", NOT_GIVEN if link is None else f"{link.mass_kg:g} kg"
    yield "centre of mass", NOT_GIVEN if link is None else f"{_list(link.com_m, MM)} mm"
    tensor = None if link is None else link.inertia_kg_m2
    yield "inertia", NOT_GIVEN if tensor is None else f"{'; '.join(_list(row) for row in tensor)} kg m2"
    yield "rotor inertia", given(None if link is None else link.motor_inertia_kg_m2, "kg m2")
    yield "gear ratio", given(None if link is None else link.gear_ratio, "")
    yield "viscous friction", given(None if link is None else link.viscous_nm_s, "N m s")
    dry = None if link is None else link.coulomb_nm
    yield "dry friction", NOT_GIVEN if dry is None else f"{_list(dry)} N m"


def _list(values: Sequence[float], unit: float = 1.0) -> str:
    return ", ".join(f"{value / unit:z.6g}" for value in values)


def _transform(rows: Transform) -> str:
    matrix = np.array(rows)
    place = f"{_list(matrix[:3, 3].tolist(), MM)} mm"
    turned = not np.allclose(matrix[:3, :3], np.eye(3), atol=1e-12)
    return f"{place}, turned" if turned else place


class Row(NamedTuple):
    """One fact of several robots: what each has, and the number of its source in the list below; 0 for none."""

    key: str
    values: tuple[str, ...]
    sources: tuple[int, ...]


class Comparison(NamedTuple):
    """Several robots in one table.

    Attributes:
        names: of the robots, in the order of the columns.
        rows: what one robot lacks by its build (a sixth joint) is empty.
        sources: numbered from 1.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    sources: tuple[str, ...]

    def sheet(self) -> Sheet:
        """For a file: of every robot the value and its source."""
        heads = ["", *(head for name in self.names for head in (name, f"source of {name}"))]
        rows: list[list[float | str]] = []
        for row in self.rows:
            cells: list[float | str] = [row.key]
            for value, source in zip(row.values, row.sources, strict=True):
                cells += [value, self.sources[source - 1] if source else ""]
            rows.append(cells)
        return Sheet(tuple(heads), rows)


def compared(models: Sequence[RobotModel]) -> Comparison:
    """The table of up to `MOST` robots."""
    facts = [{fact.key: fact for fact in facts_of(model)} for model in models]
    longest = max(facts, key=len)
    sources: list[str] = []
    rows = []
    for key in longest:
        values, numbers = [], []
        for known in facts:
            fact = known.get(key, Fact(key, "", ""))
            if fact.source and fact.source not in sources:
                sources.append(fact.source)
            values.append(fact.value)
            numbers.append(sources.index(fact.source) + 1 if fact.source else 0)
        rows.append(Row(key, tuple(values), tuple(numbers)))
    return Comparison(tuple(model.id for model in models), tuple(rows), tuple(sources))


def side_by_side(models: Sequence[RobotModel]) -> tuple[list[FloatArray], float]:
    """Frames of each robot at home, moved apart along y, and about how large all of it is, metres."""
    lengths = [arm_length_m(model) for model in models]
    width = 1.2 * sum(lengths) if len(models) > 1 else 0.0
    at, found = -0.5 * width, []
    for model, length in zip(models, lengths, strict=True):
        frames = Robot(model).link_frames(model.home or [_middle(joint) for joint in model.joints]).copy()
        if len(models) > 1:
            frames[:, 1, 3] += at + 0.6 * length
            at += 1.2 * length
        found.append(frames)
    return found, max(max(lengths), 0.7 * width)


def _middle(joint: Joint) -> float:
    """0, or the nearest that the limits allow."""
    lower = -math.inf if joint.lower is None else joint.lower
    upper = math.inf if joint.upper is None else joint.upper
    return min(max(0.0, lower), upper)
