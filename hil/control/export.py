"""A tuned controller as one more function of its arm: gains, limits and rate stand in it as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from hil.control.experiment import Experiment
from hil.control.loop import ClosedLoop
from hil.kernels import lane_layout as at
from hil.kernels.closed_loop import Results
from hil.kernels.routine import Argument, Routine, draft
from hil.model.robot import RobotModel

NAME = "controller"
NO_LIMIT = 1e30
"""Stands for a torque without a limit: single numbers hold it, too."""

MOVING = ("q", "qd", "wanted_q", "wanted_qd", "wanted_qdd")


def controller_routine(model: RobotModel, experiment: Experiment) -> Routine:
    """The controller of an experiment, with its numbers; what changes from tick to tick is its argument.

    A law with an integral takes it and gives the next one back. It wants to be called at the experiment's rate.

    Args:
        model: the arm.
        experiment: the settings, as hil simulate and hil tune write them.

    Raises:
        CommandError: the settings mean nothing for this arm.
    """
    loop = ClosedLoop(model, experiment)
    step, n = loop.controller, model.dof
    blocks = np.asarray(loop.column).reshape(at.SETTINGS, n)
    kp, kd, ki = (blocks[block].tolist() for block in (at.KP, at.KD, at.KI))
    limit = np.minimum(blocks[at.LIMIT], NO_LIMIT).tolist()
    integrates = experiment.law.integrates
    kept = {argument.name: argument for argument in step.arguments}
    arguments: list[Argument] = [kept[name] for name in MOVING]
    if integrates:
        arguments.append(kept["integral"])

    def body(*given: Any) -> Results:
        *values, functions = given
        numbers = [kp, kd, limit, *([ki, values[5], loop.period_s] if integrates else [])]
        results: Results = dict(step.body(*values[:5], *numbers, functions))
        del results["asked"]
        return results

    words = f"One tick of {experiment.law.value} control, tuned for {experiment.rate_hz:g} ticks a second."
    return draft(NAME, words, arguments, body)
