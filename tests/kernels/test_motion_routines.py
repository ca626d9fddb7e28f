"""Every routine of rates, motions and control says in emitted code what its equations say on floats."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hil.kernels.bodies import mechanism_of
from hil.kernels.chain import chain_of
from hil.kernels.dynamics_routines import ROUTINES as DYNAMICS
from hil.kernels.emit_python import python_function
from hil.kernels.motion_routines import ROUTINES as MOTIONS
from hil.kernels.newton_euler import EARTH_M_S2
from hil.kernels.routine import Routine
from hil.kernels.scalar import FLOATS
from hil.model.reader import load_robot


def routine_of(robot: str, name: str) -> Routine:
    model = load_robot(robot)
    if name in MOTIONS:
        return MOTIONS[name](chain_of(model))
    return DYNAMICS[name](mechanism_of(model), EARTH_M_S2)


@pytest.mark.parametrize("name", [*MOTIONS, *DYNAMICS])
@pytest.mark.parametrize("robot", ["puma560", "lynx6-4axis"])
def test_emitted_code_equals_the_plain_equations(robot: str, name: str) -> None:
    routine = routine_of(robot, name)
    assert routine.name == name
    generator = np.random.default_rng(7)
    given = [generator.uniform(0.2, 1.0, a.length).tolist() if a.length else 0.7 for a in routine.arguments]
    plain = [value for _, values, _ in routine.body(*given, FLOATS).values() for value in values]
    assert len(plain) == sum(math.prod(result.shape) for result in routine.results)
    assert python_function(routine, flat=True)(*given) == pytest.approx(plain, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", [*MOTIONS, *DYNAMICS])
def test_every_argument_and_result_has_a_meaning(name: str) -> None:
    routine = routine_of("puma560", name)
    assert routine.summary.endswith(".")
    assert all(each.meaning for each in (*routine.arguments, *routine.results))  # type: ignore[attr-defined]
