"""Closed-form inverse of SCARA arms: parallel revolute axes and a prismatic one along them, in any order.

The slide takes the height; what is left is a plane figure of two links and a roll.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels.chain import Chain, Frame
from hil.kernels.closed_form import Branch
from hil.kernels.planar import Plan, plan_of, smaller, three_turns, tilt_lacking
from hil.kernels.scalar import Functions, Scalar


class ScaraArm(NamedTuple):
    """Three parallel revolute axes and a slide along them: R R P R, P R R R, and every other order."""

    family: str
    chain: Chain
    branches: tuple[str, ...]
    plan: Plan
    slide: int
    slide_sense: float

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """Both bends of the elbow; see `ClosedForm`."""
        frame = self.plan.ends.between(wanted)
        lacking = tilt_lacking(self.plan, frame, functions)
        travel = self.chain.rows[self.slide].sign * self.slide_sense * (frame[11] - self.plan.height_m)
        return [
            Branch(
                (*branch.q[: self.slide], travel, *branch.q[self.slide :]),
                smaller(branch.exists, lacking, functions),
                branch.free,
            )
            for branch in three_turns(self.chain, self.plan, frame, rest, functions)
        ]


def recognise(chain: Chain) -> ScaraArm | None:
    """The arm if it has three parallel revolute axes and a prismatic one parallel to them."""
    plan = plan_of(chain)
    if plan is None or plan.slide is None or len(plan.turns) != 3:
        return None
    # The elbow of a right arm points to the right, and its angle counts anticlockwise.
    names = ("elbow right", "elbow left") if chain.base[8] >= 0.0 else ("elbow left", "elbow right")
    return ScaraArm("SCARA", chain, names, plan, *plan.slide)
