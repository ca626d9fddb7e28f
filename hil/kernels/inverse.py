"""The routine of a closed form: every branch for a pose, and what forward kinematics says of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hil.kernels import chain as equations
from hil.kernels.chain import Frame
from hil.kernels.closed_form import ClosedForm
from hil.kernels.routine import Argument, Routine, draft
from hil.kernels.scalar import Functions, Scalar


def inverse_kinematics(form: ClosedForm) -> Routine:
    """All branches of `form`, certified.

    Arguments are ``pose``, the sixteen entries of the 4x4 matrix row by row, and ``rest``, n joint coordinates.
    Results are ``q`` (branches, n), ``exists`` and ``free`` as in `Branch`, and ``error`` per branch: what
    forward kinematics of its q lacks, the larger of metres and radians.
    """
    n, count = len(form.chain.rows), len(form.branches)
    arguments = [
        Argument("pose", 16, "wanted tool frame in the world, 4x4 row by row, m"),
        Argument("rest", n, "joint coordinates to keep where a singular pose leaves them open, rad (m)"),
    ]

    def body(
        pose: Sequence[Scalar], rest: Sequence[Scalar], functions: Functions
    ) -> Mapping[str, tuple[tuple[int, ...], Sequence[Scalar], str]]:
        wanted: Frame = tuple(pose[4 * row + column] for column in range(4) for row in range(3))
        branches = form.solve(wanted, rest, functions)
        errors = [
            pose_error(equations.forward(form.chain, branch.q, functions), wanted, functions) for branch in branches
        ]
        return {
            "q": ((count, n), [value for branch in branches for value in branch.q], "joint coordinates, rad (m)"),
            "exists": ((count,), [branch.exists for branch in branches], "not negative where the branch exists"),
            "free": ((count,), [branch.free for branch in branches], "not negative where a coordinate is open"),
            "error": ((count,), errors, "what forward kinematics of q lacks, the larger of m and rad"),
        }

    return draft("inverse_kinematics", f"All branches of {form.family}.", arguments, body)


def pose_error(reached: Frame, wanted: Frame, functions: Functions) -> Scalar:
    """The larger of the distance in metres and the angle in radians (exact for small angles)."""
    turn: Scalar = 0.0
    for a, b in zip(reached[:9], wanted[:9], strict=True):
        turn = turn + (a - b) * (a - b)
    way: Scalar = 0.0
    for a, b in zip(reached[9:], wanted[9:], strict=True):
        way = way + (a - b) * (a - b)
    return functions.sqrt(functions.maximum(0.5 * turn, way))
