"""The arm that users hold in their hands: model, constants worked out once, the right method per arm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels import families
from hil.kernels.build import fast_available, loops_source
from hil.kernels.chain import Chain, Frame, chain_of, frame_of_rows
from hil.kernels.closed_form import ClosedForm
from hil.kernels.compiled import CompiledRoutine, contiguous, direct
from hil.kernels.emit_numba import numba_source
from hil.kernels.evaluator import Evaluator
from hil.kernels.quantities import derive
from hil.kernels.scalar import FloatArray
from hil.kinematics import along, certified, numeric, pitch_target, point_first, stepped_line, yaw_pitch
from hil.kinematics.certified import AllSolutions
from hil.kinematics.compiled_inverse import CompiledInverse, compiled_inverse_source
from hil.kinematics.limits import range_of
from hil.kinematics.pitch_target import ToolTarget
from hil.kinematics.poses import checked_pose
from hil.kinematics.results import IkResult
from hil.model.files import list_names
from hil.model.reader import load_robot as load_model
from hil.model.robot import RobotModel
from hil.model.specification import longest_reach_m
from hil.units import MM

# What the loop of a session needs of an arm is imported here, the rest where it is asked for: it starts the sooner.
if TYPE_CHECKING:
    from hil.dynamics.model import Dynamics
    from hil.kernels.readable import Formula, JointNames

REACH_TOLERANCE_M = 1e-9

METHODS = (
    "forward_kinematics",
    "jacobian",
    "inverse_dynamics",
    "mass_matrix",
    "gravity_torque",
    "forward_dynamics",
)
"""Methods that are one routine; `Robot.compile` puts a quicker one in their place."""

_INVERSE = ("inverse_kinematics", "inverse_kinematics_numeric")

WORTH_COMPILING = 4_000_000
"""Configurations in one call from which compiling on the spot costs less time than it saves."""


@lru_cache(maxsize=64)
def _evaluator_of(model: RobotModel, quantity: str) -> Evaluator:
    """Arms of one model share it: whoever plans, checks and draws makes one each, and to compile it takes a while."""
    return Evaluator(derive(model, quantity))


class Robot:
    """One robot arm. Joint coordinates are radians (metres where prismatic), in chain order.

    Everywhere `q` is a sequence or array of shape (n,), where said also (N, n); poses are 4x4 arrays in
    metres, of the tool frame in the world (the robot's base transform included).
    """

    def __init__(self, model: RobotModel) -> None:
        """Work out the constants of `model`."""
        self._model = model
        self._chain = chain_of(model)
        self._ranges = tuple(range_of(joint) for joint in model.joints)
        self._form = families.recognise(self._chain)
        self._yaw_pitch = yaw_pitch.recognise(self._chain, self._ranges)
        longest_m = longest_reach_m(model)
        self._longest_m = math.inf if longest_m is None else longest_m
        self._evaluators: dict[str, Evaluator] = {}
        self._compiled: dict[str, CompiledRoutine] = {}
        self._compiled_inverse: CompiledInverse | None = None
        self._solver: numeric.Solver | None = None
        self._dynamics: Dynamics | None = None

    @property
    def model(self) -> RobotModel:
        """The record this arm was made from."""
        return self._model

    @property
    def dof(self) -> int:
        """Number of joints."""
        return self._model.dof

    @property
    def name(self) -> str:
        """The model's id."""
        return self._model.id

    @property
    def has_closed_form(self) -> bool:
        """True if all inverse solutions can be given at once."""
        return self._form is not None

    @property
    def closed_form_family(self) -> str:
        """The family whose closed form this arm has, in words; empty if none."""
        return "" if self._form is None else self._form.family

    @property
    def branches(self) -> tuple[str, ...]:
        """Names of the postures of the closed form, in the order of `inverse_kinematics_all`."""
        return () if self._form is None else self._form.branches

    @property
    def has_pitch_and_roll(self) -> bool:
        """True if the tool stays in a plane through the first axis, so that a pitch (and a roll) say all of it."""
        return self._yaw_pitch is not None

    def compile(self, *quantities: str) -> Robot:
        """Make machine code for single calls and batches; without it single calls run as straight-line Python.

        Time on the paths of the arm's motions is then put by machine code too, compiled when the first is planned.

        The first time for one arm takes seconds a quantity, as many of them at once as there are processors; the code
        is kept in the user's cache folder.

        Args:
            quantities: names as in `hil derive --what`; all that this arm has methods for, by default.

        Returns:
            The robot itself.

        Raises:
            MissingExtraError: the extra [fast] is not installed.
            CommandError: no such quantity.
        """
        from hil.compile_apart import compile_apart

        wanted = quantities or self._compilable()
        sources = [self._compiled_source(quantity) for quantity in wanted]
        if fast_available():
            compile_apart(sources)
        for quantity in wanted:
            if quantity == "inverse_kinematics" and self._form is not None:
                self._compiled_inverse = self._compiled_inverse or CompiledInverse(self._form)
            elif quantity in _INVERSE:
                self._solver = self._solver or numeric.Solver(self._chain, self._ranges)
            elif quantity not in self._compiled:
                compiled = self._compiled[quantity] = CompiledRoutine(derive(self._model, quantity))
                setattr(self, quantity, direct(compiled, getattr(self, quantity)))
        return self

    @property
    def is_compiled(self) -> bool:
        """True if some of it is machine code, as after `compile`; what plans its motions is then compiled too."""
        return bool(self._compiled) or self._compiled_inverse is not None

    def _compiled_source(self, quantity: str) -> str:
        if quantity == "inverse_kinematics" and self._form is not None:
            return compiled_inverse_source(self._form)
        if quantity in _INVERSE:
            return loops_source(numeric.SEARCH_LOOPS)
        if quantity not in METHODS:
            allowed = ", ".join(self._compilable())
            raise CommandError(f"{quantity!r} cannot be compiled", value=quantity, allowed=allowed)
        return numba_source(derive(self._model, quantity))

    def _compilable(self) -> tuple[str, ...]:
        kinematic = (*METHODS[:2], *_INVERSE)
        inertia = self._model.inertia
        if inertia is None or any(link.inertia_kg_m2 is None for link in inertia):
            return kinematic
        return (*kinematic, *METHODS[2:])

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, {self.dof} joints)"

    def _repr_html_(self) -> str:
        from hil.robot_in_notebook import robot_html

        return robot_html(self._model, self.link_frames)

    def forward_kinematics(self, q: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """Tool pose.

        Args:
            q: shape (n,) or (N, n).
            out: float64 array of shape (4, 4) or (N, 4, 4) to write into and return.

        Raises:
            CommandError: wrong shape, or a value that is not finite.
        """
        return self._evaluate("forward_kinematics", self._checked(q), out)

    def link_frames(self, q: npt.ArrayLike) -> FloatArray:
        """All frames in the world: base, DH frames 1 to n, tool.

        Args:
            q: shape (n,) or (N, n).

        Returns:
            Shape (n + 2, 4, 4) or (N, n + 2, 4, 4).

        Raises:
            CommandError: wrong shape, or a value that is not finite.
        """
        return self._evaluate("link_frames", self._checked(q), None)

    def jacobian(self, q: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """Geometric Jacobian of the tool point in the world: linear rows first, then angular.

        Args:
            q: shape (n,) or (N, n).
            out: float64 array of shape (6, n) or (N, 6, n) to write into and return.

        Raises:
            CommandError: wrong shape, or a value that is not finite.
        """
        return self._evaluate("jacobian", self._checked(q), out)

    def inverse_kinematics(self, pose: npt.ArrayLike, seed: Sequence[float] | None = None) -> IkResult:
        """Joint coordinates for a full pose: in closed form where the arm has one, else by iteration.

        Args:
            pose: shape (4, 4), metres.
            seed: shape (n,); solutions near it come first, and free angles stay as they are there. Beside a singular
                pose they do so too, as long as that costs less than 1e-6 m and 1e-6 rad; see `IkSolution.note`.

        Raises:
            CommandError: not a rigid pose, or a bad seed. An unreachable pose is no error: see
                `IkResult.reason`.
        """
        wanted, start = frame_of_rows(checked_pose(pose).tolist()), self._seed(seed)
        if self._yaw_pitch is not None:  # it refuses in more words than the general form
            return yaw_pitch.solve_pose(self._yaw_pitch, wanted, start)
        if self._form is not None:
            return certified.solve_pose(self._form, self._ranges, wanted, start)
        refusal = self._surely_out_of_reach(wanted[9:])
        task = numeric.pose_task(wanted)
        return refusal or numeric.solve_dls(self._chain, self._ranges, task, start, solver=self._solver)

    def inverse_kinematics_all(self, pose: npt.ArrayLike) -> FloatArray | AllSolutions:
        """Every solution, angles in (-pi, pi], limits not applied, in the order of `branches`.

        Args:
            pose: shape (4, 4), or (N, 4, 4), metres.

        Returns:
            For one pose shape (k, n); k is 0 where it is out of reach. For N poses an `AllSolutions`: one slot per
            branch, and which of them hold a solution.

        Raises:
            CommandError: not a rigid pose, or an arm without a closed form.
        """
        form = self._form
        if form is None:
            raise CommandError(
                f"{self.name} is of no family that has a closed form: use inverse_kinematics_numeric",
                value=self.name,
                allowed="an arm with a closed form; hil robots NAME tells",
            )
        if np.ndim(pose) == 3:
            return self._inverse_many(form, np.asarray(pose, dtype=np.float64))
        if self._compiled_inverse is not None:
            found = self._compiled_inverse.one(pose)
            if found is not None:
                return found
        wanted = frame_of_rows(checked_pose(pose).tolist())
        solutions = certified.all_solutions(form, wanted, [0.0] * self.dof)
        solutions.sort(key=lambda solution: form.branches.index(solution.branch))
        return np.array([s.q for s in solutions]).reshape(len(solutions), self.dof)

    def inverse_kinematics_numeric(
        self,
        pose: npt.ArrayLike,
        seed: Sequence[float],
        method: str = "dls",
        *,
        gain: npt.ArrayLike = numeric.TRANSPOSE_GAIN,
        tolerance: float | None = None,
        iterations: int | None = None,
        restarts: int = numeric.DLS_RESTARTS,
        generator: np.random.Generator | None = None,
    ) -> IkResult:
        """Joint coordinates for a full pose by iteration, for any arm.

        Args:
            pose: shape (4, 4), metres.
            seed: shape (n,), where the search starts.
            method: "dls", damped least squares with restarts, or "transpose", fixed-gain Jacobian transpose.
            gain: transpose only, K: one number, six, or 6x6 with linear rows first.
            tolerance: accepted error in metres and radians; 1e-9 for dls, 1e-6 for transpose.
            iterations: steps per start; 40 for dls, 5000 for transpose.
            restarts: dls only, random starts after the first.
            generator: dls only, where they come from; a fixed one by default.

        Raises:
            CommandError: not a rigid pose, a bad seed, an unknown method, or a bad gain.
        """
        wanted, start = frame_of_rows(checked_pose(pose).tolist()), self._configuration(seed)
        if method == "dls":
            refusal = self._surely_out_of_reach(wanted[9:])
            return refusal or numeric.solve_dls(
                self._chain,
                self._ranges,
                numeric.pose_task(wanted),
                start,
                tolerance=numeric.DLS_TOLERANCE if tolerance is None else tolerance,
                iterations=numeric.DLS_ITERATIONS if iterations is None else iterations,
                restarts=restarts,
                generator=generator,
                solver=self._solver,
            )
        if method != "transpose":
            raise CommandError(f"unknown method {method!r}", value=method, allowed="dls, transpose")
        return numeric.solve_transpose(
            self._chain,
            self._ranges,
            wanted,
            start,
            gain=gain,
            tolerance=numeric.TRANSPOSE_TOLERANCE if tolerance is None else tolerance,
            iterations=numeric.TRANSPOSE_ITERATIONS if iterations is None else iterations,
        )

    def inverse_kinematics_target(
        self,
        position_m: Sequence[float],
        pitch_rad: float | None = None,
        roll_rad: float | None = None,
        seed: Sequence[float] | None = None,
    ) -> IkResult:
        """Joint coordinates that bring the tool point somewhere, for arms that cannot take any orientation.

        Args:
            position_m: tool point in the world, metres.
            pitch_rad: angle of the tool axis above the ground plane, outwards from the base; None for any.
            roll_rad: coordinate of the roll joint; None for any.
            seed: shape (n,); what is free stays near it.

        Raises:
            CommandError: a value that is not finite, or a bad seed.
        """
        names = ("x", "y", "z", "pitch", "roll")
        values = (*position_m, 0.0 if pitch_rad is None else pitch_rad, 0.0 if roll_rad is None else roll_rad)
        if len(values) != 5:
            raise CommandError(
                f"a position has three numbers, {len(values) - 2} were given",
                value=position_m,
                allowed="x, y, z",
            )
        for name, value in zip(names, values, strict=True):
            if not math.isfinite(value):
                raise CommandError(f"{name}: {value!r} is not a finite number", axis=name, value=value)
        position, start = tuple(float(v) for v in position_m), self._seed(seed)
        if self._yaw_pitch is not None:
            return pitch_target.solve_target(self._yaw_pitch, position, pitch_rad, roll_rad, start)
        if roll_rad is not None:
            return IkResult(reason=f"{self.name} takes a full pose: a roll alone has no meaning for it")
        refusal = self._surely_out_of_reach(position)
        task = numeric.point_task(position, pitch_rad)
        return refusal or numeric.solve_dls(self._chain, self._ranges, task, start, solver=self._solver)

    def inverse_kinematics_along(self, targets: along.Targets, seed: Sequence[float]) -> along.Followed:
        """Joints along many targets, each in the posture of the one before.

        Args:
            targets: points with pitch and roll as `inverse_kinematics_target` takes them, or with whole orientations.
            seed: shape (n,), where the joints are before the first.

        Raises:
            CommandError: a bad seed, or an orientation that is none. A target out of reach is no error: see
                `Followed.refusal`.
        """
        turning = [row.revolute for row in self._chain.rows]
        many: along.Many | None = None
        if targets.rotations is not None and self._form is not None:
            many = along.many_of_all(lambda poses: self._inverse_many(self._form, poses), turning)  # type: ignore[arg-type]
        elif targets.rotations is None and targets.pitch_rad is not None and self._yaw_pitch is not None:
            many = along.many_in_plane(self._yaw_pitch, self.forward_kinematics)

        def one(k: int, near: Sequence[float]) -> IkResult:
            if targets.rotations is not None:
                return self.inverse_kinematics(targets.pose(k), near)
            pitch, roll = targets.pitch_rad, targets.roll_rad
            return self.inverse_kinematics_target(
                targets.points_m[k].tolist(),
                None if pitch is None else float(pitch[k]),
                None if roll is None else float(roll[k]),
                near,
            )

        return along.follow(targets, self._configuration(seed), turning, one, many)

    def reach_gap_m(self, position_m: Sequence[float]) -> float:
        """How far a point is outside what the arm's lengths allow, metres; 0 where they allow it.

        Limits of joints are not asked, and for an arm without a plane of its own the hole around its base neither: what
        is outside cannot be reached, what is inside may be. A thousandth of the time of an inverse.
        """
        if self._yaw_pitch is not None:
            return pitch_target.reach_gap_m(self._yaw_pitch, position_m)
        refusal = self._surely_out_of_reach(position_m)
        return 0.0 if refusal is None or refusal.distance_m is None else refusal.distance_m

    def inverse_kinematics_point_first(self, pose: npt.ArrayLike, seed: Sequence[float]) -> IkResult:
        """Joint coordinates that bring the tool's point to a pose's exactly, its orientation as near as the arm can.

        For arms with fewer than six axes, in the posture of the seed; from a small distance one answer.

        Args:
            pose: shape (4, 4), metres.
            seed: shape (n,), where the search starts.

        Raises:
            CommandError: not a rigid pose, or a bad seed. A point out of reach is no error: see `IkResult.reason`.
        """
        wanted, start = checked_pose(pose), self._configuration(seed)
        return point_first.solve(self.forward_kinematics, self.jacobian, self._ranges, wanted, start)

    @property
    def dynamics(self) -> Dynamics:
        """The arm's dynamics, with all their settings; the methods here are the usual ones, compiled after `compile`.

        Raises:
            CommandError: no source gives masses for this arm.
        """
        from hil.dynamics.model import Dynamics

        if self._dynamics is None:
            self._dynamics = Dynamics(self._model)
        return self._dynamics

    def inverse_dynamics(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, out: FloatArray | None = None
    ) -> FloatArray:
        """Torques that give accelerations `qdd`, motors included, friction not; as `Dynamics.inverse_dynamics`."""
        found = self._compiled_many("inverse_dynamics", out, q, qd, qdd)
        return found if found is not None else self.dynamics.inverse_dynamics(q, qd, qdd, out)

    def mass_matrix(self, q: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """M, symmetric, motors included; as `Dynamics.mass_matrix`."""
        found = self._compiled_many("mass_matrix", out, q)
        return found if found is not None else self.dynamics.mass_matrix(q, out)

    def gravity_torque(self, q: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """Torques that hold the arm at rest; as `Dynamics.gravity_torque`."""
        found = self._compiled_many("gravity_torque", out, q)
        return found if found is not None else self.dynamics.gravity_torque(q, out)

    def forward_dynamics(
        self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, out: FloatArray | None = None
    ) -> FloatArray:
        """Accelerations under torques `tau`, without friction; as `Dynamics.forward_dynamics`."""
        found = self._compiled_many("forward_dynamics", out, q, qd, tau)
        return found if found is not None else self.dynamics.forward_dynamics(q, qd, tau, out)

    def step_line(
        self,
        q: npt.ArrayLike,
        change: npt.ArrayLike,
        steps: int,
        *,
        closed_loop: bool = False,
        digits: int | None = None,
    ) -> stepped_line.SteppedLine:
        """A straight line in small steps of the inverse Jacobian; as `hil.kinematics.stepped_line.step_line`.

        Raises:
            CommandError: see there; or bad coordinates, in the words of every other method.
        """
        return stepped_line.step_line(
            self._chain, self._configuration(q), change, steps, closed_loop=closed_loop, digits=digits
        )

    def show(
        self,
        quantity: str,
        *,
        simplified: bool | None = None,
        joints: JointNames | None = None,
        symbolic_lengths: bool = False,
    ) -> Formula:
        """A quantity as a formula that notebooks set in type; as `hil.kernels.readable.formula`.

        Raises:
            CommandError: no such quantity for this arm.
            MissingExtraError: the simplified form needs the extra [symbolic].
        """
        from hil.kernels.readable import JointNames, formula

        return formula(
            self._model,
            quantity,
            simplified=simplified,
            joints=joints or JointNames.Q,
            symbolic_lengths=symbolic_lengths,
        )

    def tool_target(self, q: Sequence[float]) -> ToolTarget:
        """Point, pitch and roll of a configuration, as `inverse_kinematics_target` takes them.

        Raises:
            CommandError: bad coordinates, or an arm of another family.
        """
        values = self._configuration(q)
        if self._yaw_pitch is None:
            raise CommandError(
                f"{self.name} has no pitch and roll of its own: read its full pose",
                value=self.name,
                allowed="yaw, three parallel pitch axes, and a roll axis or none",
            )
        return pitch_target.target_of(self._yaw_pitch, values)

    @property
    def pitch_axis(self) -> str:
        """On which axis of the tool frame pitch is measured, ``z`` or ``x``; empty for an arm that knows no pitch."""
        return "" if self._yaw_pitch is None else pitch_target.pitch_axis(self._yaw_pitch)

    def _inverse_many(self, form: ClosedForm, poses: FloatArray) -> AllSolutions:
        if poses.shape[1:] != (4, 4):
            raise CommandError(
                f"poses have to be 4x4 arrays, shape {poses.shape} was given", value=poses.shape, allowed="(N, 4, 4)"
            )
        if self._compiled_inverse is not None:
            found = self._compiled_inverse.many(contiguous(poses))
            if found is not None:
                return found
        exact = np.array([checked_pose(pose) for pose in poses]).reshape(len(poses), 4, 4)
        return certified.all_solutions_many(form, exact)

    def _compiled_many(self, quantity: str, out: FloatArray | None, *arguments: npt.ArrayLike) -> FloatArray | None:
        """Many configurations through machine code; None where there is none, or they need a careful look."""
        compiled = self._compiled.get(quantity)
        if compiled is None or np.ndim(arguments[0]) != 2:
            return None
        vectors = [contiguous(values) for values in arguments]
        result = np.empty((len(vectors[0]), *compiled.shape)) if out is None else out
        try:
            return result if compiled.many(*vectors, result) else None
        except TypeError:  # an `out` that is not of contiguous floats
            return None

    def _evaluator(self, quantity: str) -> Evaluator:
        """The quantity's routine, derived when first asked for."""
        evaluator = self._evaluators.get(quantity)
        if evaluator is None:
            evaluator = self._evaluators[quantity] = _evaluator_of(self._model, quantity)
        return evaluator

    def _evaluate(self, quantity: str, values: FloatArray, out: FloatArray | None) -> FloatArray:
        """One call in straight-line Python, many in machine code if there is some or they are worth it, else numpy."""
        evaluator = self._evaluator(quantity)
        _check_out(out, (*values.shape[:-1], *evaluator.shape))
        if values.ndim == 1:
            return evaluator.one(out, values.tolist())
        if len(values) >= WORTH_COMPILING and fast_available():
            self.compile(quantity)
        found = self._compiled_many(quantity, out, values)
        return evaluator.many(out, values) if found is None else found

    def _checked(self, q: npt.ArrayLike) -> FloatArray:
        try:
            values = np.asarray(q, dtype=np.float64)
        except (TypeError, ValueError):
            raise CommandError("joint coordinates have to be numbers", value=q, allowed="numbers") from None
        if values.ndim not in (1, 2) or values.shape[-1] != self.dof:
            raise CommandError(
                f"{self.name} has {self.dof} joints, joint coordinates of shape {values.shape} were given",
                value=values.shape,
                allowed=f"shape ({self.dof},) or (N, {self.dof})",
            )
        if values.ndim == 1 and math.isfinite(sum(values.tolist())):
            return values  # the usual case, at a third of the cost
        if not np.isfinite(values).all():
            where = np.argwhere(~np.isfinite(values))[0]
            joint, value = self._model.joints[int(where[-1])].name, float(values[tuple(where)])
            raise CommandError(
                f"{joint}: {value!r} is not a finite number", axis=joint, value=value, allowed="a finite number"
            )
        return values

    def _seed(self, seed: Sequence[float] | None) -> list[float] | None:
        return None if seed is None else self._configuration(seed)

    def _configuration(self, q: npt.ArrayLike) -> list[float]:
        values = self._checked(q)
        if values.ndim != 1:
            raise CommandError(
                f"one set of joint coordinates is wanted, shape {values.shape} was given",
                value=values.shape,
                allowed=f"shape ({self.dof},)",
            )
        result: list[float] = values.tolist()
        return result

    def _surely_out_of_reach(self, point: Sequence[float]) -> IkResult | None:
        """A refusal where even the stretched-out chain could not get to the point."""
        origin = _first_axis_point(self._chain)
        distance = math.dist(origin, point)
        gap = distance - self._longest_m
        if gap <= REACH_TOLERANCE_M:
            return None
        return IkResult(
            reason=(
                f"out of reach by {gap / MM:.3f} mm or more: the point is {distance / MM:.2f} mm from the "
                f"first axis, the chain is {self._longest_m / MM:.2f} mm long when stretched out"
            ),
            distance_m=gap,
        )


def load_robot(name: str) -> Robot:
    """The robot called `name`, or described by the file at that path.

    Raises:
        ConfigError: there is none, or its file is wrong.
    """
    return Robot(load_model(name))


def list_robots() -> list[str]:
    """Names that `load_robot` takes."""
    return list_names("robots")


def _first_axis_point(chain: Chain) -> tuple[float, float, float]:
    """The point of the first joint axis that does not move with a revolute first joint."""
    base: Frame = chain.base
    rise = chain.rows[0].d if chain.rows[0].revolute else 0.0
    return (base[9] + rise * base[6], base[10] + rise * base[7], base[11] + rise * base[8])


def _check_out(out: FloatArray | None, shape: tuple[int, ...]) -> None:
    if out is not None and (out.shape != shape or out.dtype != np.float64):
        raise CommandError(
            f"out has shape {out.shape} and type {out.dtype}",
            value=out.shape,
            allowed=f"float64 of shape {shape}",
        )
