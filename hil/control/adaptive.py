"""The same loop by adaptive Runge-Kutta, to judge the fixed steps by: slow, and as exact as is asked for.

SciPy integrates between the moments at which a torque changes. Dry friction has no smooth equations: here it grows
with the speed up to `REST_SPEED` and is whole beyond, so a joint creeps where the fixed steps hold it. Stops have none
either: a run that reaches one ends with an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from hil.control.experiment import Experiment
from hil.control.plain import Inputs, measured_at, scored
from hil.control.results import Trace, scores_of
from hil.dynamics.model import Dynamics
from hil.errors import CommandError, MissingExtraError
from hil.kernels import lane_layout as at
from hil.kernels.emit_python import python_function
from hil.kernels.routine import Routine
from hil.kernels.scalar import FloatArray
from hil.model.robot import RobotModel

REST_SPEED = 1e-3
"""Radians (metres) per second."""

METHOD = "DOP853"


class Case(NamedTuple):
    """One run to follow.

    Attributes:
        model: of the arm.
        experiment: what is asked of it.
        dynamics: of the arm as it is loaded.
        controller: one tick of it.
        column: the setting, shape (8 n,), as `hil.kernels.lane_layout` has it.
        inputs: as the fixed steps have them.
        time_s: of each tick, shape (K,).
        period_s: of a tick.
    """

    model: RobotModel
    experiment: Experiment
    dynamics: Dynamics
    controller: Routine
    column: FloatArray
    inputs: Inputs
    time_s: FloatArray
    period_s: float

    @property
    def ticks(self) -> int:
        """After the first."""
        return len(self.time_s) - 1


def adaptive_trace(case: Case) -> Trace:
    """The case's one setting, tick by tick.

    Raises:
        MissingExtraError: SciPy is not installed.
        CommandError: a joint reached its stop, or the equations cannot be followed.
    """
    try:
        from scipy.integrate import solve_ivp
    except ImportError:
        raise MissingExtraError(
            "adaptive integration", "tune", "Without it: --integrator steps, with a short --step", needs="needs"
        ) from None
    return _Run(case, solve_ivp).trace()


class _Run:
    """One run."""

    def __init__(self, case: Case, solve: Callable[..., Any]) -> None:
        self._case, self._solve = case, solve
        n = case.model.dof
        self._n, self._column = n, case.column.reshape(at.SETTINGS, n)
        mechanism = case.dynamics.mechanism
        extra = tuple(a + b for a, b in zip(mechanism.armature, self._column[at.ARMATURE].tolist(), strict=True))
        moved = Dynamics(case.model, case.experiment.gravity_m_s2, mechanism=mechanism._replace(armature=extra))
        self._acceleration = python_function(moved.routine("forward_dynamics"), flat=True)
        self._controller = python_function(case.controller, flat=True)
        self._edges = sorted({edge for each in case.experiment.disturbances for edge in (each.from_s, each.until_s)})
        self._names = [joint.name for joint in case.model.joints]

    def trace(self) -> Trace:
        """From the first tick to the last, or to the bound that was passed."""
        case, n = self._case, self._n
        state = case.inputs.start.copy()
        rows: list[tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]] = []
        asked = np.zeros(n)
        integral, before = np.zeros(n), state[:n] - state[n:] * case.period_s
        commands: list[FloatArray] = []
        passes = not self._column[[at.KP, at.KD, at.KI]].any() and not case.experiment.law.carries_weight
        sampled = self._all_at_once(state) if passes else None
        scores = np.zeros((at.SCORES, n, 1))
        for tick in range(case.ticks + 1):
            if sampled is not None:
                state = sampled[tick]
            measured = measured_at(state[:n], case.inputs, tick)
            speed = (measured - before) / case.period_s if case.inputs.schedule[3] else state[n:]
            before = measured
            torque, asked, integral = self._control(tick, measured, speed, integral)
            rows.append((state[:n], state[n:], torque, measured, self._dry(state[n:])))
            alive = scored(scores, case.inputs, tick, state, torque, asked, self._column[at.LIMIT])
            if tick == case.ticks or not alive:
                break
            commands.append(torque)
            if sampled is None:
                state = self._advance(tick, state, commands)
        shown = len(rows)
        q, qd, tau, measured_all, reaction = (np.array([row[k] for row in rows]) for k in range(5))
        wanted = case.inputs.wanted[:shown]
        final = scores_of(scores.reshape(-1, 1), n, case.ticks, case.period_s)
        return Trace(
            case.time_s[:shown], wanted[:, :n], wanted[:, n : 2 * n], wanted[:, 2 * n :], q, qd, measured_all, tau,
            reaction, final,
        )  # fmt: skip

    def _control(
        self, tick: int, q: FloatArray, qd: FloatArray, integral: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        n, wanted, column = self._n, self._case.inputs.wanted[tick], self._column
        given = {
            "q": q, "qd": qd, "wanted_q": wanted[:n], "wanted_qd": wanted[n : 2 * n], "wanted_qdd": wanted[2 * n :],
            "kp": column[at.KP], "kd": column[at.KD], "ki": column[at.KI], "limit": column[at.LIMIT],
            "integral": integral,
        }  # fmt: skip
        routine = self._case.controller
        values = self._controller(
            *(given[a.name].tolist() if a.length else self._case.period_s for a in routine.arguments)
        )
        found = {r.name: np.array(values[k * n : (k + 1) * n]) for k, r in enumerate(routine.results)}
        return found["tau"], found["asked"], found.get("integral", integral)

    def _advance(self, tick: int, state: FloatArray, commands: list[FloatArray]) -> FloatArray:
        """One tick on, in stretches of constant torque."""
        case = self._case
        for begin, end in self._stretches(tick):
            middle = 0.5 * (begin + end)
            issued = int(np.floor((middle - case.experiment.delay_s) / case.period_s))
            torque = commands[issued] if issued >= 0 else case.inputs.hold
            state = self._integrated(state, torque + self._outside(middle), begin, end)[-1]
        return state

    def _stretches(self, tick: int) -> Iterator[tuple[float, float]]:
        period, delay = self._case.period_s, self._case.experiment.delay_s
        begin, end = tick * period, (tick + 1) * period
        arrivals = [k * period + delay for k in range(tick + 1) if begin < k * period + delay < end]
        edges = [begin, *sorted(e for e in (*arrivals, *self._edges) if begin + 1e-12 < e < end - 1e-12), end]
        yield from pairwise(edges)

    def _all_at_once(self, state: FloatArray) -> FloatArray:
        """A run that no controller touches: from one change of the torques from outside to the next."""
        times = self._case.time_s
        edges = [0.0, *(e for e in self._edges if 0.0 < e < times[-1]), float(times[-1])]
        rows = np.empty((len(times), 2 * self._n))
        rows[0] = state
        for begin, end in pairwise(edges):
            inside = np.flatnonzero((times > begin) & (times < end))
            moments = [*times[inside].tolist(), end]
            found = self._integrated(state, self._outside(0.5 * (begin + end)), begin, end, moments)
            rows[inside] = found[:-1]
            state = found[-1]
        rows[-1] = state
        return rows

    def _outside(self, time_s: float) -> FloatArray:
        found = np.zeros(self._n)
        for each in self._case.experiment.disturbances:
            if each.from_s <= time_s < each.until_s:
                found[self._names.index(each.joint)] += each.torque
        return found

    def _dry(self, qd: FloatArray) -> FloatArray:
        share = np.clip(qd / REST_SPEED, -1.0, 1.0)
        found: FloatArray = np.where(share >= 0.0, self._column[at.FORWARDS], self._column[at.BACKWARDS]) * share
        return found

    def _integrated(
        self, state: FloatArray, torque: FloatArray, begin: float, end: float, moments: list[float] | None = None
    ) -> FloatArray:
        """States at `moments`, or at the end, shape (K, 2 n)."""
        n, viscous, acceleration = self._n, self._column[at.VISCOUS], self._acceleration

        def change(_: float, values: FloatArray) -> FloatArray:
            qd = values[n:]
            left = torque - viscous * qd - self._dry(qd)
            qdd = acceleration(values[:n].tolist(), qd.tolist(), left.tolist())[:n]
            return np.concatenate([qd, qdd])

        tolerance = self._case.experiment.tolerance
        with np.errstate(all="ignore"):
            found = self._solve(
                change, (begin, end), state, method=METHOD, rtol=tolerance, atol=tolerance, t_eval=moments or [end]
            )
        if not found.success:
            raise CommandError(f"adaptive integration cannot go on after {begin:.4g} s: {found.message}")
        states: FloatArray = found.y.T
        self._require_room(states, begin, end)
        return states

    def _require_room(self, states: FloatArray, begin: float, end: float) -> None:
        n, times = self._n, self._case.inputs.times
        lower, upper = times[2 : 2 + n], times[2 + n :]
        beyond = (states[:, :n] < lower - 1e-9) | (states[:, :n] > upper + 1e-9)
        if beyond.any():
            name = self._names[int(np.argwhere(beyond)[0, 1])]
            raise CommandError(
                f"{name} reaches its stop between {begin:.4g} and {end:.4g} s, where adaptive integration ends; "
                "allowed: --integrator steps, or --no-stops",
                axis=name,
                allowed="--integrator steps, or --no-stops",
            )
