"""The energy book of a run: what was there, what came and went, and what nobody can explain."""

from __future__ import annotations

import numpy as np

from hil.control.loop import ClosedLoop
from hil.control.results import Trace
from hil.kernels import lane_layout as at
from hil.kernels.scalar import FloatArray
from hil.types import Record

AT_REST_J = 1e-9
"""With less kinetic energy than this the arm stands."""


class EnergyBook(Record, frozen=True):
    """Joules over a whole run; positive came in.

    Attributes:
        kinetic_start, kinetic_end, kinetic_most: motors included.
        potential_start, potential_end: of the links' weight and the payload.
        motors, outside: work of the controller's torques, and of those from outside.
        viscous, dry_and_stops: work of friction and stops.
        unexplained: change of the whole energy that none of these is: the error of the integration, and of adding up
            friction from tick to tick.
        drift: `unexplained` at its largest, as a part of the largest kinetic energy.
    """

    kinetic_start: float
    kinetic_end: float
    kinetic_most: float
    potential_start: float
    potential_end: float
    motors: float
    outside: float
    viscous: float
    dry_and_stops: float
    unexplained: float
    drift: float


def energy_book(loop: ClosedLoop, trace: Trace) -> EnergyBook:
    """The book of a run."""
    energy = loop.dynamics.energy(trace.actual, trace.speed)
    armature = loop.column.reshape(at.SETTINGS, -1)[at.ARMATURE]
    kinetic = np.asarray(energy.kinetic) + 0.5 * (trace.speed**2) @ armature
    potential = np.asarray(energy.potential)
    moved = np.diff(trace.actual, axis=0)
    motors = _summed(_applied(loop, trace) * moved)
    outside = _summed(_outside(loop, len(moved)) * moved)
    viscous_of = loop.column.reshape(at.SETTINGS, -1)[at.VISCOUS]
    viscous = _summed(-viscous_of * _middle(trace.speed) * moved)
    dry = _summed(_taken(loop, trace))
    total = kinetic + potential
    left = total - total[0] - motors - outside - viscous - dry
    most = float(kinetic.max())
    return EnergyBook(
        kinetic_start=float(kinetic[0]),
        kinetic_end=float(kinetic[-1]),
        kinetic_most=most,
        potential_start=float(potential[0]),
        potential_end=float(potential[-1]),
        motors=float(motors[-1]),
        outside=float(outside[-1]),
        viscous=float(viscous[-1]),
        dry_and_stops=float(dry[-1]),
        unexplained=float(left[-1]),
        drift=float(np.abs(left).max() / most) if most > AT_REST_J else 0.0,
    )


def _summed(work: FloatArray) -> FloatArray:
    """Running sum over joints, from 0."""
    return np.concatenate([[0.0], np.cumsum(work.sum(axis=1))])


def _middle(values: FloatArray) -> FloatArray:
    found: FloatArray = 0.5 * (values[1:] + values[:-1])
    return found


def _taken(loop: ClosedLoop, trace: Trace) -> FloatArray:
    """Work of dry friction and stops over each tick.

    A stop takes a speed within one step: what it takes is its impulse times the mean of the speeds before and after.
    """
    if loop.steps > 1 or not trace.reaction.any():
        return -_middle(trace.reaction) * np.diff(trace.actual, axis=0)
    impulse = loop.period_s * trace.reaction[1:]
    found = -impulse * trace.speed[1:]
    held = np.flatnonzero(impulse.any(axis=1))
    armature = loop.column.reshape(at.SETTINGS, -1)[at.ARMATURE]
    mass = loop.dynamics.mass_matrix(trace.actual[held]) + np.diag(armature)
    found[held] -= 0.5 * impulse[held] * np.linalg.solve(mass, impulse[held, :, None])[:, :, 0]
    return found


def _applied(loop: ClosedLoop, trace: Trace) -> FloatArray:
    """Mean torque of the motors over each tick, with the delay of the commands."""
    late = loop.experiment.delay_s / loop.period_s
    whole, part = int(late), late - int(late)
    held = np.vstack([np.tile(loop.inputs.hold, (whole + 1, 1)), trace.torque])
    count = len(trace.torque) - 1
    found: FloatArray = (1.0 - part) * held[1 : 1 + count] + part * held[:count]
    return found


def _outside(loop: ClosedLoop, ticks: int) -> FloatArray:
    given = loop.inputs.disturbance
    if not len(given):
        return np.zeros((ticks, loop.model.dof))
    found: FloatArray = given[: ticks * loop.steps].reshape(ticks, loop.steps, -1).mean(axis=1)
    return found
