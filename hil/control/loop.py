"""The closed loop of one experiment: many settings at a time, or one with everything that it does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import msgspec
import numpy as np

from hil.control.adaptive import Case, adaptive_trace
from hil.control.checks import checked
from hil.control.experiment import Experiment, Integrator, Speeds
from hil.control.factors import factor_of
from hil.control.joint_values import for_each_joint, joint_units
from hil.control.loaded_arm import loaded
from hil.control.plain import TRACED, Inputs, PlainLoop
from hil.control.references import sampled, start_of
from hil.control.results import Scores, Trace, scores_of
from hil.dynamics.model import Dynamics
from hil.kernels import lane_layout as layout
from hil.kernels.build import build, fast_available, is_kept
from hil.kernels.closed_loop import controller_step, plant_step
from hil.kernels.emit_lanes import closed_loop_source
from hil.kernels.emit_one_run import one_run_source, traced
from hil.kernels.routine import Routine
from hil.kernels.scalar import FloatArray
from hil.model.robot import RobotModel

WORTH_COMPILING_STEPS = 2_000_000
"""Steps of the arm below which numpy is done before a compiler is."""

WORTH_COMPILING_ALONE_STEPS = 300_000
"""The same for one run, whose loop is compiled in a third of the time."""

UNLIMITED = 1e300

ASSUMED_MOTOR_KG_M2 = 1e-3
"""On the joint's side: a hobby servo's rotor of 1e-8 kg m2 through a gear of 300."""

COLUMNS: Mapping[str, int] = {
    "kp": layout.KP,
    "kd": layout.KD,
    "ki": layout.KI,
    "torque_limit": layout.LIMIT,
    "viscous": layout.VISCOUS,
    "armature": layout.ARMATURE,
}
"""Numbers that may differ from one setting to the next in one pass."""


class ClosedLoop:
    """One experiment, made ready."""

    def __init__(self, model: RobotModel, experiment: Experiment) -> None:
        """Check the experiment and derive the arm's equations.

        Raises:
            CommandError: it has no meaning; the message says what to give.
        """
        self.experiment = checked(experiment, model)
        self.model = model
        gravity = experiment.gravity_m_s2
        known = msgspec.structs.replace(experiment, mass_factor=(1.0,))
        self.dynamics = _movable(loaded(model, experiment), gravity)
        self._known = _movable(loaded(model, known) if experiment.payload_known else model, gravity)
        n = model.dof
        self.period_s = 1.0 / experiment.rate_hz
        self.steps = max(1, math.ceil(self.period_s / experiment.step_s - 1e-9))
        total_s = experiment.reference.duration_s + experiment.settle_s
        self.ticks = max(1, round(total_s * experiment.rate_hz))
        self.time_s: FloatArray = np.arange(self.ticks + 1, dtype=np.float64) * self.period_s
        self._units = np.array(joint_units(model))
        self.wanted = np.ascontiguousarray(sampled(experiment.reference, model)(self.time_s))
        self.controller, self.plant = self._routines()
        self.inputs = self._inputs(n)

    @cached_property
    def column(self) -> FloatArray:
        """The experiment's own setting, shape (8 n,)."""
        e, model, mechanism = self.experiment, self.model, self.dynamics.mechanism
        kp, kd = gains_of(e, model, self._known)
        forwards = [abs(pair[0]) for pair in mechanism.coulomb]
        backwards = [abs(pair[1]) for pair in mechanism.coulomb]
        viscous: Sequence[float] = mechanism.viscous
        if not e.friction:
            viscous = forwards = backwards = [0.0] * model.dof
        if e.viscous:
            viscous = for_each_joint(model, "viscous", e.viscous)
        if e.dry:
            forwards = backwards = for_each_joint(model, "dry", e.dry)
        limit = for_each_joint(model, "torque_limit", e.torque_limit, UNLIMITED)
        ki, armature = for_each_joint(model, "ki", e.ki), for_each_joint(model, "armature", e.armature)
        return np.concatenate([kp, kd, ki, limit, viscous, armature, forwards, backwards])

    def run(self, settings: FloatArray, *, compiled: bool | None = None, threads: int = 1) -> Scores:
        """Scores of N settings, shape (8 n, N), each as `column`.

        Args:
            settings: to run.
            compiled: with or without Numba; None for what is done sooner.
            threads: at once, where compiled.
        """
        settings = np.ascontiguousarray(settings, dtype=np.float64)
        results = np.empty((layout.SCORES * self.model.dof, settings.shape[1]))
        self._work(settings, results, compiled, threads)
        return scores_of(results, self.model.dof, self.ticks, self.period_s)

    def trace(self, *, compiled: bool | None = None) -> Trace:
        """The experiment's own setting, tick by tick. A run beyond its bounds ends there.

        Raises:
            CommandError, MissingExtraError: as `hil.control.adaptive`, where that is asked for.
        """
        if self.experiment.integrator is Integrator.ADAPTIVE:
            return adaptive_trace(
                Case(
                    self.model, self.experiment, self.dynamics, self.controller, self.column, self.inputs, self.time_s,
                    self.period_s,
                )
            )  # fmt: skip
        n = self.model.dof
        if compiled is None:
            many = self.ticks * self.steps >= WORTH_COMPILING_ALONE_STEPS
            compiled = fast_available() and (many or is_kept(self.source_of_one))
        results = np.empty((layout.SCORES * n, 1))
        rows = {name: k for k, name in enumerate(self._traced if compiled else TRACED)}
        trace = np.empty((self.ticks + 1, len(rows), n))
        if compiled:
            build(self.source_of_one).run(self.column, results.reshape(-1, n), *self.inputs, trace)
        else:
            self._plain.run(self.column[:, None].copy(), results, self.inputs, trace)
        scores = scores_of(results, n, self.ticks, self.period_s)
        if results[layout.FAILED * n, 0]:
            trace = trace[: int(results[layout.FAILED_AT * n, 0]) + 1]
        count = len(trace)
        wanted, q = self.wanted[:count], trace[:, 0]
        return Trace(
            time_s=self.time_s[:count],
            wanted=wanted[:, :n],
            wanted_speed=wanted[:, n : 2 * n],
            wanted_acceleration=wanted[:, 2 * n :],
            actual=q,
            speed=trace[:, 1],
            measured=trace[:, rows["seen"]] if "seen" in rows else q,
            torque=trace[:, 2],
            reaction=trace[:, rows["reaction"]] if "reaction" in rows else self._nothing[:count],
            scores=scores,
        )

    def _work(self, settings: FloatArray, results: FloatArray, compiled: bool | None, threads: int) -> None:
        if compiled is None:
            steps = settings.shape[1] * self.ticks * self.steps
            compiled = fast_available() and (steps >= WORTH_COMPILING_STEPS or is_kept(self.source))
        if not compiled:
            self._plain.run(settings, results, self.inputs, np.empty((0, 5, self.model.dof)))
            return
        run, count = build(self.source).run, settings.shape[1]
        tiles = -(-count // layout.TILE)
        workers = max(1, min(threads, tiles))
        edges = [tiles * i // workers * layout.TILE for i in range(workers)] + [count]

        def part(i: int) -> None:
            own = np.ascontiguousarray(settings[:, edges[i] : edges[i + 1]])
            found = np.empty((len(results), own.shape[1]))
            run(own, found, *self.inputs)
            results[:, edges[i] : edges[i + 1]] = found

        if workers == 1:
            part(0)
            return
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(part, range(workers)))

    @cached_property
    def source(self) -> str:
        """Text of the compiled loop for many settings."""
        return closed_loop_source(self.controller, self.plant)

    @cached_property
    def source_of_one(self) -> str:
        """Text of the compiled loop for the experiment's own setting."""
        return one_run_source(self.controller, self.plant, exact=self._sees_exactly)

    @cached_property
    def _nothing(self) -> FloatArray:
        nothing: FloatArray = np.zeros((self.ticks + 1, self.model.dof))
        nothing.flags.writeable = False
        return nothing

    @cached_property
    def _traced(self) -> tuple[str, ...]:
        return traced(self.plant, exact=self._sees_exactly)

    @cached_property
    def _sees_exactly(self) -> bool:
        e = self.experiment
        return e.speeds is Speeds.EXACT and not any(e.noise) and not any(e.resolution)

    @cached_property
    def _plain(self) -> PlainLoop:
        return PlainLoop(self.controller, self.plant)

    def _routines(self) -> tuple[Routine, Routine]:
        e, gravity = self.experiment, self.experiment.gravity_m_s2
        factor = None
        if e.factors:
            factor = factor_of(e.factors, self.model, self._known.mechanism)
        controller = controller_step(e.law, self._known.mechanism, gravity, factor)
        midpoint = e.integrator is Integrator.MIDPOINT
        return controller, plant_step(self.dynamics.mechanism, gravity, reacts=self._reacts(), midpoint=midpoint)

    def _reacts(self) -> bool:
        e = self.experiment
        has_stops = e.stops and any(j.lower is not None or j.upper is not None for j in self.model.joints)
        dry = any(e.dry) or (e.friction and not e.dry and any(any(p) for p in self.dynamics.mechanism.coulomb))
        return has_stops or dry

    def _inputs(self, n: int) -> Inputs:
        e, units = self.experiment, self._units
        ends = [(joint.lower, joint.upper) for joint in self.model.joints]
        far = 1e9
        lower = [-far if low is None or not e.stops else low for low, _ in ends]
        upper = [far if high is None or not e.stops else high for _, high in ends]
        step_s = self.period_s / self.steps
        noise = np.array(for_each_joint(self.model, "noise", e.noise)) * units
        resolution = np.array(for_each_joint(self.model, "resolution", e.resolution)) * units
        shaken = np.zeros((self.ticks + 1, n))
        if noise.any():
            shaken = np.random.default_rng(e.seed).standard_normal((self.ticks + 1, n)) * noise
        start = self.wanted[0, : 2 * n].copy()
        return Inputs(
            np.array(
                [self.ticks, self.steps, round(e.delay_s / step_s), e.speeds is Speeds.DIFFERENCE], dtype=np.int64
            ),
            np.array([step_s, self.period_s, *lower, *upper]),
            self.wanted,
            shaken,
            self._disturbance(n, step_s),
            resolution,
            np.array([e.bounds.error * units, e.bounds.speed * units, np.full(n, e.bounds.torque)]),
            start,
            self.dynamics.gravity_torque(start[:n]),
        )

    def _disturbance(self, n: int, step_s: float) -> FloatArray:
        given = self.experiment.disturbances
        if not given:
            return np.zeros((0, n))
        names = [joint.name for joint in self.model.joints]
        times = np.arange(self.ticks * self.steps) * step_s
        found = np.zeros((len(times), n))
        for each in given:
            during = (times >= each.from_s - 1e-12) & (times < each.until_s - 1e-12)
            found[during, names.index(each.joint)] += each.torque
        return found


def gains_of(experiment: Experiment, model: RobotModel, known: Dynamics) -> tuple[list[float], list[float]]:
    """Gains kp and kd of every joint; where none are given, critical damping at the bandwidth, joint by joint."""
    if experiment.kp:
        return for_each_joint(model, "kp", experiment.kp), for_each_joint(model, "kd", experiment.kd)
    omega = 2.0 * math.pi * experiment.bandwidth_hz
    scale: FloatArray = np.ones(model.dof)
    if experiment.law.gains_are_torques:
        scale = np.diag(known.mass_matrix(start_of(experiment.reference, model)))
    return list((scale * omega**2).tolist()), list((scale * 2.0 * omega).tolist())


def assumed_motors(model: RobotModel) -> tuple[str, ...]:
    """Joints that are given a motor of `ASSUMED_MOTOR_KG_M2`, since nothing that they move has an inertia."""
    return Dynamics(model).held_axes


def _movable(model: RobotModel, gravity: Sequence[float]) -> Dynamics:
    """Dynamics in which every joint moves something."""
    dynamics = Dynamics(model, gravity)
    if not dynamics.held_axes:
        return dynamics
    names = [joint.name for joint in model.joints]
    armature = list(dynamics.mechanism.armature)
    for name in dynamics.held_axes:
        armature[names.index(name)] = ASSUMED_MOTOR_KG_M2
    return Dynamics(model, gravity, mechanism=dynamics.mechanism._replace(armature=tuple(armature)))
