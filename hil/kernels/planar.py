"""Closed-form inverse of arms whose axes are all parallel: planar 2R and 3R, and what a SCARA shares with them.

Seen along the axes such an arm is a chain of vectors in a plane: p = l1 e^(i phi1) + l2 e^(i phi2) + ..., with
phi the running sums of the joint angles. The law of cosines gives the elbow (Craig, Introduction to Robotics,
section 4.4); with the product (outer^2 - D^2)(D^2 - inner^2) straight and folded elbows stay exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hil.kernels.chain import IDENTITY, Chain, Frame, Row, compose, invert
from hil.kernels.closed_form import Branch
from hil.kernels.scalar import Functions, Scalar
from hil.model.transforms import cos_sin

REACH_TOLERANCE_M = 1e-9
"""A point this little outside the reach is a straight or folded elbow blurred by rounding."""

OFF_TOLERANCE = 1e-6
"""A pose this little (metres, radians) beside what so few joints can take may still be meant: rounded numbers."""

FREE = 1e-10
"""Where a lever (metres, or the sine of an angle) is shorter than this, the joint that it should give is free."""

SHORTEST_LINK_M = 1e-6


class Ends(NamedTuple):
    """What stands before the first joint and after the last one's own motion, each inverted; None for nothing."""

    base_inverse: Frame | None
    after_inverse: Frame | None

    def between(self, wanted: Frame) -> Frame:
        """The frame that the joints alone have to give, for a tool frame in the world."""
        frame = wanted if self.base_inverse is None else compose(self.base_inverse, wanted)
        return frame if self.after_inverse is None else compose(frame, self.after_inverse)


class TwoLinks(NamedTuple):
    """Two links that reach for a point: `elbow` and `spread` change their sign with the bend.

    Attributes:
        bearing: direction of the point.
        spread: from the first link to that direction, for a positive elbow.
        elbow: from the first link to the second, 0 to pi.
        margin_m: how far inside the reach the point is; negative outside.
        distance_m: of the point.
    """

    bearing: Scalar
    spread: Scalar
    elbow: Scalar
    margin_m: Scalar
    distance_m: Scalar


class Link(NamedTuple):
    """The constant vector from one axis to the next, seen in the frame that turns with the first."""

    x_m: float
    y_m: float
    length_m: float
    angle_rad: float


class Turn(NamedTuple):
    """One revolute joint: the index of its row, its sense in the plane, and the constant angle that precedes it."""

    row: int
    sense: float
    lead_rad: float


class Plan(NamedTuple):
    """A chain of parallel axes, seen along the first one.

    Attributes:
        start_m: from the base to the first revolute axis, in the plane.
        turns, links: the revolute joints, and the link that follows each; the last link ends at the origin of
            the frame that `Ends.between` gives.
        lead_rad: constant angle after the last turn.
        sense: +1 where the last frame's z axis points along the first axis, else -1.
        height_m: height of that origin when the slide is at 0.
        slide: index of its row and sense of the prismatic joint, or None.
    """

    ends: Ends
    start_m: tuple[float, float]
    turns: tuple[Turn, ...]
    links: tuple[Link, ...]
    lead_rad: float
    sense: float
    height_m: float
    slide: tuple[int, float] | None


class PlanarArm(NamedTuple):
    """Two or three parallel revolute axes.

    Attributes:
        hand: two axes only: from the second axis to the tool point, as a link.
    """

    family: str
    chain: Chain
    branches: tuple[str, ...]
    plan: Plan
    hand: Link | None

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """Both bends of the elbow; see `ClosedForm`."""
        frame = self.plan.ends.between(wanted)
        lacking = smaller(
            tilt_lacking(self.plan, frame, functions),
            off_by(frame[11] - self.plan.height_m, functions),
            functions,
        )
        if self.hand is None:
            branches = three_turns(self.chain, self.plan, frame, rest, functions)
        else:
            branches = two_turns(self.chain, self.plan, self.hand, frame, functions)
        return [branch._replace(exists=smaller(branch.exists, lacking, functions)) for branch in branches]


def recognise(chain: Chain) -> PlanarArm | None:
    """The arm if it has two or three parallel revolute axes and nothing else."""
    plan = plan_of(chain)
    if plan is None or plan.slide is not None:
        return None
    hand = hand_of(chain, plan)
    if len(plan.turns) == 2 and hand is None:
        return None
    return PlanarArm(f"planar {len(plan.turns)}R", chain, ("elbow down", "elbow up"), plan, hand)


def ends_of(chain: Chain) -> Ends:
    """Both ends of a chain; a revolute last joint's own d counts as following it."""
    base = invert(chain.base)
    after = invert(after_last_joint(chain))
    return Ends(None if base == IDENTITY else base, None if after == IDENTITY else after)


def after_last_joint(chain: Chain) -> Frame:
    """The constant frame after the last joint's own motion."""
    row = chain.rows[-1]
    shape: Frame = (
        *(1.0, 0.0, 0.0),
        *(0.0, row.cos_alpha, row.sin_alpha),
        *(0.0, -row.sin_alpha, row.cos_alpha),
        *(row.a, 0.0, row.d if row.revolute else 0.0),
    )
    return shape if chain.tool is None else compose(shape, chain.tool)


def plan_of(chain: Chain) -> Plan | None:
    """The plane figure of two or three parallel revolute axes and at most one prismatic one beside them."""
    rows = chain.rows
    if not 2 <= sum(row.revolute for row in rows) <= 3 or sum(not row.revolute for row in rows) > 1:
        return None
    if any(row.sin_alpha != 0.0 for row in rows[:-1]):
        return None
    x = y = lead = height = 0.0
    sense = 1.0
    figures, turns, slide = [], [], None
    for i, row in enumerate(rows):
        if row.revolute:
            figures.append((x, y))
            turns.append(Turn(i, sense, lead))
            x = y = lead = 0.0
        else:
            slide = (i, sense)
            lead += sense * row.theta
        if i < len(rows) - 1:
            c, s = cos_sin(lead)
            x, y = x + row.a * c, y + row.a * s
        if i < len(rows) - 1 or not row.revolute:
            height += sense * row.d
        if i < len(rows) - 1:
            sense *= row.cos_alpha
    links = tuple(_link(*figure) for figure in (*figures[1:], (x, y)))
    if any(link.length_m < SHORTEST_LINK_M for link in links[: len(turns) - 1]):
        return None
    return Plan(ends_of(chain), figures[0], tuple(turns), links, lead, sense, height, slide)


def hand_of(chain: Chain, plan: Plan) -> Link | None:
    """Of an arm with two turns: from the second axis to the tool point in the plane; None if they meet."""
    if len(plan.turns) != 2:
        return None
    after, last = after_last_joint(chain), plan.links[-1]
    c, s = cos_sin(plan.lead_rad)
    y = plan.sense * after[10]
    hand = _link(last.x_m + c * after[9] - s * y, last.y_m + s * after[9] + c * y)
    return hand if hand.length_m >= SHORTEST_LINK_M else None


def two_links(first_m: float, second_m: float, x: Scalar, y: Scalar, functions: Functions) -> TwoLinks:
    """Two links of positive lengths that reach for (x, y).

    Out of reach they point at it, straight or folded. The factored product loses no digits there, where
    1 - cos^2 would.
    """
    squared = x * x + y * y
    outer, inner = first_m + second_m, first_m - second_m
    product = (outer * outer - squared) * (squared - inner * inner)
    sine = functions.sqrt(functions.maximum(product, 0.0))
    distance = functions.sqrt(squared)
    return TwoLinks(
        bearing=functions.atan2(y, x),
        spread=functions.atan2(sine, squared + outer * inner),
        elbow=functions.atan2(sine, squared - (first_m * first_m + second_m * second_m)),
        margin_m=smaller(outer - distance, distance - abs(inner), functions),
        distance_m=distance,
    )


def can_fold(first_m: float, second_m: float) -> bool:
    """True if the second link can lie so exactly on the first that the shoulder is free."""
    return abs(first_m - second_m) <= FREE


def three_turns(chain: Chain, plan: Plan, frame: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
    """Both bends for the figure's last frame, whose direction gives the sum of the three angles."""
    first, second, last = plan.links
    phi = heading(plan, frame, functions)
    x, y = frame[9] - plan.start_m[0], frame[10] - plan.start_m[1]
    if last.length_m > 0.0:
        c, s = functions.cos(phi), functions.sin(phi)
        x, y = x - (c * last.x_m - s * last.y_m), y - (s * last.x_m + c * last.y_m)
    reach = two_links(first.length_m, second.length_m, x, y, functions)
    lacking = beyond(reach.margin_m, REACH_TOLERANCE_M, functions)
    free = FREE - reach.distance_m if can_fold(first.length_m, second.length_m) else -1.0
    kept = plan_angle(chain.rows, plan.turns[0], rest) + first.angle_rad
    result = []
    for bend in (1.0, -1.0):
        shoulder = functions.where(free, kept, reach.bearing - bend * reach.spread)
        phi1 = shoulder - first.angle_rad
        phi2 = shoulder + bend * reach.elbow - second.angle_rad
        result.append(Branch(coordinates(chain.rows, plan, (phi1, phi2, phi)), lacking, free))
    return result


def two_turns(chain: Chain, plan: Plan, hand: Link, frame: Frame, functions: Functions) -> list[Branch]:
    """Both bends that bring the tool point to its place; a branch exists where the orientation comes with it.

    The orientation then gives the angles once more, and without the square root that blurs a straight elbow.
    """
    first = plan.links[0]
    phi = heading(plan, frame, functions)
    c, s = functions.cos(phi), functions.sin(phi)
    # The point that `hand` leads to, from the frame's origin that the last link leads to.
    dx, dy = hand.x_m - plan.links[1].x_m, hand.y_m - plan.links[1].y_m
    x = frame[9] - plan.start_m[0] + (c * dx - s * dy)
    y = frame[10] - plan.start_m[1] + (s * dx + c * dy)
    elbow_x, elbow_y = x - (c * hand.x_m - s * hand.y_m), y - (s * hand.x_m + c * hand.y_m)
    exact = functions.atan2(elbow_y, elbow_x) - first.angle_rad
    reach = two_links(first.length_m, hand.length_m, x, y, functions)
    result = []
    for bend in (1.0, -1.0):
        phi1 = reach.bearing - bend * reach.spread - first.angle_rad
        phi2 = reach.bearing + bend * (reach.elbow - reach.spread) - hand.angle_rad
        turn = functions.atan2(functions.sin(phi - phi2), functions.cos(phi - phi2))
        lacking = off_by(turn, functions)
        if can_fold(first.length_m, hand.length_m):
            # Folded onto the shoulder the point says nothing about direction: the orientation decides.
            lacking = functions.where(REACH_TOLERANCE_M - reach.distance_m, 0.0, lacking)
        angles = (functions.where(lacking, exact, phi1), functions.where(lacking, phi, phi2))
        exists = smaller(lacking, beyond(reach.margin_m, REACH_TOLERANCE_M, functions), functions)
        result.append(Branch(coordinates(chain.rows, plan, angles), exists, -1.0))
    return result


def heading(plan: Plan, frame: Frame, functions: Functions) -> Scalar:
    """Sum of the plane angles that the last frame's x and y axes ask for."""
    sine, cosine = frame[1] - plan.sense * frame[3], frame[0] + plan.sense * frame[4]
    return functions.atan2(sine, cosine) - plan.lead_rad


def tilt_lacking(plan: Plan, frame: Frame, functions: Functions) -> Scalar:
    """0 where the last frame's z axis is parallel to the axes in the right sense, else minus the angle between."""
    across = functions.sqrt(frame[6] * frame[6] + frame[7] * frame[7])
    return off_by(functions.atan2(across, plan.sense * frame[8]), functions)


def coordinates(rows: Sequence[Row], plan: Plan, sums: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Joint coordinates of the revolute joints, from the running sums of the plane angles."""
    q = []
    before: Scalar = 0.0
    for turn, phi in zip(plan.turns, sums, strict=True):
        row = rows[turn.row]
        q.append(row.sign * (turn.sense * (phi - before - turn.lead_rad) - row.theta))
        before = phi
    return tuple(q)


def plan_angle(rows: Sequence[Row], turn: Turn, q: Sequence[Scalar]) -> Scalar:
    """What one joint's coordinate adds to the running sum."""
    row = rows[turn.row]
    return turn.lead_rad + turn.sense * (row.theta + row.sign * q[turn.row])


def beyond(margin: Scalar, tolerance: float, functions: Functions) -> Scalar:
    """0 where a margin is kept up to the tolerance, else the (negative) margin."""
    return functions.where(margin + tolerance, 0.0, margin)


def off_by(value: Scalar, functions: Functions) -> Scalar:
    """0 where a value that no joint can change is as good as 0, else minus its magnitude."""
    return beyond(-functions.maximum(value, -value), OFF_TOLERANCE, functions)


def smaller(x: Scalar, y: Scalar, functions: Functions) -> Scalar:
    """The smaller of the two."""
    return -functions.maximum(-x, -y)


def _link(x_m: float, y_m: float) -> Link:
    return Link(x_m, y_m, math.hypot(x_m, y_m), math.atan2(y_m, x_m))
