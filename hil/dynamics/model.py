"""The dynamics of one arm for its users: checked numbers in, arrays out, one configuration or many."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.kernels.bodies import NOTHING, Mechanism, links_without_tensor, mechanism_of
from hil.kernels.dynamics_routines import ROUTINES
from hil.kernels.emit_numpy import InBlocks
from hil.kernels.emit_python import python_function
from hil.kernels.forward_dynamics import LEAST_PIVOT
from hil.kernels.newton_euler import EARTH_M_S2
from hil.kernels.routine import Routine
from hil.kernels.scalar import FloatArray
from hil.model.robot import RobotModel


class Energy(NamedTuple):
    """Joules; numbers for one configuration, arrays of shape (N,) for many.

    Attributes:
        kinetic: motors included.
        potential: of the links' weight, zero at the world's origin.
    """

    kinetic: float | FloatArray
    potential: float | FloatArray


class Dynamics:
    """Torques, accelerations and energies of one arm.

    Everywhere `q`, `qd`, `qdd` and `tau` are of shape (n,), or all of shape (N, n): radians, rad/s, rad/s2 and N m
    (metres and newtons where prismatic). Masses are those of the model, motors count through their gears (Jm G^2 on
    the diagonal of M), a motor without a gear ratio drives its joint directly, and what no source gives of motors
    and friction is left out.
    """

    def __init__(
        self,
        model: RobotModel,
        gravity_m_s2: Sequence[float] = EARTH_M_S2,
        *,
        motors: bool = True,
        point_masses: bool = False,
        mechanism: Mechanism | None = None,
    ) -> None:
        """Work out the constants of `model`.

        Args:
            model: an arm with masses.
            gravity_m_s2: acceleration of free fall in the world; 9.81 downwards, as the PUMA 560's sources have it.
            motors: count the inertia of the motors.
            point_masses: take links without an inertia tensor as points; else only gravity can be asked for.
            mechanism: constants to go by instead of those of the model; None for the model's.

        Raises:
            CommandError: no source gives masses, or a gravity that is not three finite numbers.
        """
        self._model = model
        self._gravity = _vector(gravity_m_s2)
        self._unknown = () if point_masses else links_without_tensor(model)
        self._motors = motors
        self._mechanism = mechanism or mechanism_of(model, motors=motors, point_masses=True)
        self._held = _without_inertia(self._mechanism)
        self._routines: dict[str, Routine] = {}
        self._functions: dict[str, Callable[..., tuple[float, ...]]] = {}
        self._blocks: dict[str, InBlocks] = {}
        self._rest: Dynamics | None = None

    @property
    def mechanism(self) -> Mechanism:
        """The constants that the equations take."""
        return self._mechanism

    @property
    def held_axes(self) -> tuple[str, ...]:
        """Joints that move no inertia in any pose, such as one that turns a massless last link.

        No torque accelerates nothing in one way rather than another: `forward_dynamics` leaves them out and answers 0
        for them, as for a joint that its gear holds. The other joints feel nothing of them, so theirs is exact.
        """
        return tuple(self._model.joints[index].name for index in self._held)

    @property
    def gravity_m_s2(self) -> tuple[float, float, float]:
        """Acceleration of free fall in the world."""
        return self._gravity

    def routine(self, name: str) -> Routine:
        """One of `hil.kernels.dynamics_routines.ROUTINES`, derived for this arm once; for emitters and compilers.

        Raises:
            CommandError: no such routine, or it needs inertia tensors that no source gives.
        """
        found = self._routines.get(name)
        if found is None:
            if name not in ROUTINES:
                raise CommandError(f"there are no dynamics called {name!r}", value=name, allowed=", ".join(ROUTINES))
            if self._unknown and name not in ("gravity_torque", "friction_torque"):
                mechanism_of(self._model, motors=self._motors)
            found = self._routines[name] = ROUTINES[name](self._mechanism, self._gravity)
        return found

    def inverse_dynamics(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        qdd: npt.ArrayLike,
        out: FloatArray | None = None,
        *,
        friction: bool = False,
    ) -> FloatArray:
        """Torques that give accelerations `qdd`: M qdd + V + G, and F with `friction`.

        Args:
            q: joint coordinates.
            qd: speeds.
            qdd: accelerations.
            out: float64 array of the result's shape to write into and return.
            friction: count what viscous and Coulomb friction take.

        Raises:
            CommandError: shapes that do not fit, a value that is not finite, or tensors that no source gives.
        """
        name = "inverse_dynamics_with_friction" if friction else "inverse_dynamics"
        return self._result(name, self._checked(q=q, qd=qd, qdd=qdd), out)

    def mass_matrix(self, q: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """M, symmetric, motors included; shape (n, n) or (N, n, n).

        Raises:
            CommandError: as `inverse_dynamics`.
        """
        return self._result("mass_matrix", self._checked(q=q), out)

    def gravity_torque(self, q: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """G: torques that hold the arm at rest.

        Raises:
            CommandError: shapes that do not fit, or a value that is not finite.
        """
        return self._result("gravity_torque", self._checked(q=q), out)

    def coriolis_torque(self, q: npt.ArrayLike, qd: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """V: torques of Coriolis and centrifugal forces.

        Raises:
            CommandError: as `inverse_dynamics`.
        """
        return self._result("coriolis_torque", self._checked(q=q, qd=qd), out)

    def friction_torque(self, qd: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
        """F = |G| (B |G| qd + Tc), Tc by the sign of the speed; none for a joint at rest.

        Raises:
            CommandError: shapes that do not fit, or a value that is not finite.
        """
        return self._result("friction_torque", self._checked(qd=qd), out)

    def forward_dynamics(
        self,
        q: npt.ArrayLike,
        qd: npt.ArrayLike,
        tau: npt.ArrayLike,
        out: FloatArray | None = None,
        *,
        friction: bool = False,
    ) -> FloatArray:
        """Accelerations under torques `tau`.

        Args:
            q: joint coordinates.
            qd: speeds.
            tau: torques.
            out: float64 array of the result's shape to write into and return.
            friction: let friction take its part of the torques.

        Raises:
            CommandError: as `inverse_dynamics`, a torque on one of `held_axes`, or another joint that moves no inertia
                in this pose; `out` is then not written.
        """
        values = self._checked(q=q, qd=qd, tau=tau)
        shape = values[0].shape
        _check_out(out, shape)
        if self._held:
            return _stored(self._without_held(values, friction=friction), shape, out)
        found = self._values("forward_dynamics_with_friction" if friction else "forward_dynamics", values)
        self._check_pivots(values[0], found[..., -1])
        return _stored(found[..., :-1], shape, out)

    def _without_held(self, values: Sequence[FloatArray], *, friction: bool) -> FloatArray:
        """Forward dynamics of the joints that move something; 0 for the others."""
        torques = np.atleast_2d(values[2])[:, self._held]
        if torques.any():
            row, column = np.argwhere(torques)[0]
            name, torque = self.held_axes[int(column)], float(torques[row, column])
            raise CommandError(
                f"{self._model.id}: a torque of {torque:g} on {name}, which moves no inertia at all: no acceleration "
                "answers it. Give its link an inertia, or its motor one, or leave it without a torque",
                axis=name,
                value=torque,
                allowed="0, for a joint that is left out",
            )
        if self._rest is None:
            # What these joints move is apart from all else in M, so any inertia leaves the others' accelerations alone.
            armature = tuple(1.0 if i in self._held else v for i, v in enumerate(self._mechanism.armature))
            self._rest = Dynamics(
                self._model,
                self._gravity,
                motors=self._motors,
                point_masses=not self._unknown,
                mechanism=self._mechanism._replace(armature=armature),
            )
        found = self._rest.forward_dynamics(*values, friction=friction)
        found[..., self._held] = 0.0
        return found

    def energy(self, q: npt.ArrayLike, qd: npt.ArrayLike) -> Energy:
        """Kinetic and potential energy.

        Raises:
            CommandError: as `inverse_dynamics`.
        """
        found = self._values("energy", self._checked(q=q, qd=qd))
        return Energy(*found.tolist()) if found.ndim == 1 else Energy(found[:, 0], found[:, 1])

    def _result(self, name: str, arguments: Sequence[FloatArray], out: FloatArray | None) -> FloatArray:
        shape = arguments[0].shape[:-1] + self.routine(name).results[0].shape
        _check_out(out, shape)
        return _stored(self._values(name, arguments), shape, out)

    def _values(self, name: str, arguments: Sequence[FloatArray]) -> FloatArray:
        """All values of a routine in a row: shape (k,) or (N, k)."""
        routine = self.routine(name)
        if arguments[0].ndim == 1:
            function = self._functions.get(name)
            if function is None:
                function = self._functions[name] = python_function(routine, flat=True)
            return np.array(function(*(values.tolist() for values in arguments)))
        blocks = self._blocks.get(name)
        if blocks is None:
            blocks = self._blocks[name] = InBlocks(routine)
        return blocks.many(*arguments)

    def _checked(self, **given: npt.ArrayLike) -> list[FloatArray]:
        arrays: list[FloatArray] = []
        n = self._model.dof
        for name, values in given.items():
            try:
                array = np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError):
                raise CommandError(f"{name} has to be numbers", value=values, allowed="numbers") from None
            if array.ndim not in (1, 2) or array.shape[-1] != n:
                raise CommandError(
                    f"{self._model.id} has {n} joints, {name} of shape {array.shape} was given",
                    value=array.shape,
                    allowed=f"shape ({n},) or (N, {n})",
                )
            if arrays and array.shape != arrays[0].shape:
                raise CommandError(
                    f"{name} has shape {array.shape}, {next(iter(given))} has {arrays[0].shape}",
                    value=array.shape,
                    allowed="one shape for all",
                )
            if not np.isfinite(array).all():
                where = np.argwhere(~np.isfinite(array))[0]
                joint, value = self._model.joints[int(where[-1])].name, float(array[tuple(where)])
                raise CommandError(
                    f"{name} of {joint}: {value!r} is not a finite number",
                    axis=joint,
                    value=value,
                    allowed="a finite number",
                )
            arrays.append(array)
        return arrays

    def _check_pivots(self, q: FloatArray, pivots: FloatArray) -> None:
        enough = np.atleast_1d(pivots > LEAST_PIVOT)
        if enough.all():
            return
        row = int(np.argmin(enough))
        values, pivot = np.atleast_2d(q)[row].tolist(), float(np.atleast_1d(pivots)[row])
        where = "" if q.ndim == 1 else f" (row {row})"
        raise CommandError(
            f"{self._model.id}: a joint moves no inertia at q = {values}{where}: the mass matrix is singular, its "
            f"smallest pivot is {pivot + 0.0:.3g}. Give the massless links an inertia, or their motors one",
            value=pivot,
            allowed=f"a smallest pivot above {LEAST_PIVOT:g}",
        )


def _without_inertia(mechanism: Mechanism) -> tuple[int, ...]:
    """Joints with nothing behind them that has mass or inertia, and no motor."""
    found: list[int] = []
    for index in reversed(range(len(mechanism.bodies))):
        if mechanism.bodies[index] != NOTHING or mechanism.armature[index]:
            break
        found.append(index)
    return tuple(reversed(found))


def _vector(given: Sequence[float]) -> tuple[float, float, float]:
    values = tuple(float(value) for value in given)
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise CommandError(f"gravity: {given!r} given", value=given, allowed="three finite numbers, m/s2")
    return values[0], values[1], values[2]


def _check_out(out: FloatArray | None, shape: tuple[int, ...]) -> None:
    if out is not None and (out.shape != shape or out.dtype != np.float64):
        raise CommandError(
            f"out has shape {out.shape} and type {out.dtype}",
            value=out.shape,
            allowed=f"float64 of shape {shape}",
        )


def _stored(values: FloatArray, shape: tuple[int, ...], out: FloatArray | None) -> FloatArray:
    if out is None:
        return values.reshape(shape)
    out[...] = values.reshape(shape)
    return out
