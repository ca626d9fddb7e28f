"""Configurations that exported code is checked at, and what the equations give there on plain floats.

A vector is kept only where the function is well conditioned: near a branch cut or a singularity two right programs
may differ by more than rounding.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from hil.kernels.c_text import EXISTS, nearest_float
from hil.kernels.chain import chain_of, forward
from hil.kernels.export_options import Options, Real
from hil.kernels.quantities import frame_rows
from hil.kernels.routine import CONDITIONS, Argument, Routine, is_condition
from hil.kernels.scalar import FLOATS
from hil.model.robot import Joint, JointType, RobotModel

Given: TypeAlias = tuple[tuple[float, ...], ...]
"""One tuple per argument; a scalar argument has one entry."""

TOLERANCE: Mapping[Real, float] = {Real.DOUBLE: 1e-12, Real.FLOAT: 1e-5}
"""Largest difference that passes, relative to the larger of 1 and the largest expected result."""

_STEP: Mapping[Real, float] = {Real.DOUBLE: 1e-9, Real.FLOAT: 1e-6}
_LARGEST_GAIN: Mapping[Real, float] = {Real.DOUBLE: 300.0, Real.FLOAT: 20.0}
_TRIES = 40


class Vector(NamedTuple):
    """One configuration.

    Attributes:
        given: all arguments' entries in one row.
        expected: all results' entries in one row; of conditions only if asked for.
    """

    given: tuple[float, ...]
    expected: tuple[float, ...]


def check_vectors(model: RobotModel, routine: Routine, options: Options, with_conditions: bool = False) -> list[Vector]:
    """Up to `options.vectors` configurations, the same for the same seed; fewer where good ones are rare."""
    generator = random.Random(f"{options.seed} {routine.name}")
    found: list[Vector] = []
    for given in itertools.islice(_draws(model, routine, generator, options.real), _TRIES * options.vectors):
        if len(found) == options.vectors:
            break
        expected = evaluated(routine, given, with_conditions)
        if expected is None:
            continue
        near = [evaluated(routine, _moved(given, generator, options.real), with_conditions) for _ in range(2)]
        most = _LARGEST_GAIN[options.real] * _STEP[options.real] * max(1.0, *map(abs, expected))
        if all(row is not None and _difference(row, expected) < most for row in near):
            found.append(Vector(tuple(value for values in given for value in values), expected))
    return found


def evaluated(routine: Routine, given: Given, with_conditions: bool = False) -> tuple[float, ...] | None:
    """All results in one row, from the equations on floats; None where exported code would report a status."""
    arguments = [
        list(values) if argument.length else values[0]
        for argument, values in zip(routine.arguments, given, strict=True)
    ]
    row: list[float] = []
    try:
        results = routine.body(*arguments, FLOATS)
    except (ArithmeticError, ValueError):
        return None
    for name, (shape, values, _) in results.items():
        condition = is_condition(name, shape)
        if condition and not values[0] >= CONDITIONS[name]:
            return None
        if name == EXISTS and shape and all(value < 0.0 for value in values):
            return None
        if with_conditions or not condition:
            row.extend(map(float, values))
    return tuple(row) if all(map(math.isfinite, row)) else None


def _moved(given: Given, generator: random.Random, real: Real) -> Given:
    step = _STEP[real]
    return tuple(tuple(x + step * max(1.0, abs(x)) * generator.uniform(-1.0, 1.0) for x in values) for values in given)


def _difference(row: Sequence[float], other: Sequence[float]) -> float:
    return max(abs(a - b) for a, b in zip(row, other, strict=True))


def _draws(model: RobotModel, routine: Routine, generator: random.Random, real: Real) -> Iterator[Given]:
    chain = chain_of(model)

    def coordinates() -> list[float]:
        return [_coordinate(joint, generator) for joint in model.joints]

    def one(argument: Argument) -> list[float]:
        if not argument.length:
            return [generator.uniform(0.1, 1.0)]  # times, gains: positive
        if argument.name in _COORDINATES and argument.length == model.dof:
            return coordinates()
        if argument.name in _POSES and argument.length in (12, 16):
            return list(frame_rows(forward(chain, coordinates(), FLOATS))[: argument.length])
        return [generator.uniform(-1.0, 1.0) for _ in range(argument.length)]

    rounded = nearest_float if real is Real.FLOAT else float
    while True:
        yield tuple(tuple(map(rounded, one(argument))) for argument in routine.arguments)


_COORDINATES = frozenset({"q", "rest"})
_POSES = frozenset({"pose", "wanted", "target"})


def _coordinate(joint: Joint, generator: random.Random) -> float:
    far = math.pi if joint.type is JointType.REVOLUTE else 1.0
    lower = -far if joint.lower is None else max(joint.lower, -far)
    upper = far if joint.upper is None else min(joint.upper, far)
    return generator.uniform(lower, upper) if lower <= upper else 0.5 * (lower + upper)
