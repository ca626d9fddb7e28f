"""A tuned controller as a function of its arm: what it gives is what the loop's controller gave."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from hil.control.experiment import Experiment, Kind, Reference
from hil.control.export import controller_routine
from hil.control.loop import ClosedLoop
from hil.kernels.check_vectors import check_vectors, evaluated
from hil.kernels.closed_loop import Law
from hil.kernels.export import export
from hil.kernels.export_options import Layout, Options, Real
from hil.model.reader import load_robot

MODEL = load_robot("planar-2r")
EXPERIMENT = Experiment(
    robot="planar-2r",
    reference=Reference(kind=Kind.QUINTIC, start=(0.0, 0.0), end=(60.0, -40.0), duration_s=0.3),
    rate_hz=500.0,
    kp=(400.0, 200.0),
    kd=(20.0, 10.0),
    torque_limit=(30.0, 20.0),
)
OPTIONS = Options(Real.DOUBLE, Layout.PLAIN, 1)


@pytest.mark.parametrize("law", [law for law in Law if law is not Law.SCALED_PD])
def test_it_gives_the_torques_of_the_run(law):
    experiment = replace(EXPERIMENT, law=law, ki=(50.0, 50.0) if law.integrates else ())
    loop = ClosedLoop(MODEL, experiment)
    run, routine = loop.trace(compiled=False), controller_routine(MODEL, experiment)
    integral = (0.0, 0.0)
    for tick in range(len(run.time_s)):
        rows = (run.measured, run.speed, run.wanted, run.wanted_speed, run.wanted_acceleration)
        given = [tuple(row[tick].tolist()) for row in rows]
        found = evaluated(routine, (*given, integral) if law.integrates else tuple(given))
        assert found is not None
        assert found[:2] == pytest.approx(run.torque[tick], rel=1e-9, abs=1e-9)
        integral = found[2:]


def test_its_gains_stand_in_it_and_its_rate_in_its_summary():
    routine = controller_routine(MODEL, EXPERIMENT)
    assert [argument.name for argument in routine.arguments] == ["q", "qd", "wanted_q", "wanted_qd", "wanted_qdd"]
    assert "500 ticks a second" in routine.summary
    assert [result.name for result in routine.outputs] == ["tau"]


def test_test_vectors_come_with_it_and_limits_hold():
    routine = controller_routine(MODEL, EXPERIMENT)
    vectors = check_vectors(MODEL, routine, OPTIONS)
    assert len(vectors) == OPTIONS.vectors
    most = np.abs([vector.expected for vector in vectors]).max(axis=0)
    assert (most <= (30.0, 20.0)).all() and most[0] == 30.0


def test_it_stands_beside_the_arm_s_functions_in_every_language():
    routine = controller_routine(MODEL, EXPERIMENT)
    for language in ("c", "cpp", "python", "mathematica", "latex", "text"):
        written = export(MODEL, ["fk"], language, OPTIONS, [routine])
        assert [function.name for function in written.functions] == ["forward_kinematics", "controller"]
    alone = export(MODEL, [], "c", Options(Real.FLOAT, Layout.PLAIN, 1), [routine])
    assert "planar_2r_controller(" in alone.files["planar_2r.h"]
