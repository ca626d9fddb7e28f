"""What inverse kinematics answers: solutions that were checked forwards, or the reason for none."""

from __future__ import annotations

from hil.types import Record


class IkSolution(Record, frozen=True):
    """One set of joint coordinates that reaches the target.

    Attributes:
        q: joint coordinates in chain order, radians (metres where prismatic).
        within_limits: every coordinate is inside the robot's limits.
        branch: which of the arm's postures this is, for example ``front, elbow up``; empty for a numeric
            answer.
        error: what forward kinematics of `q` still lacks: the larger of metres and radians.
        note: which joints could move without moving the tool, or all but without, where the pose leaves some open or
            all but open, and whether they were kept at the seed; else empty.
    """

    q: tuple[float, ...]
    within_limits: bool
    branch: str
    error: float
    note: str = ""


class IkResult(Record, frozen=True):
    """All solutions that were found, best first, or why none can be used.

    Attributes:
        solutions: those within limits first; nearest to the seed first, or farthest from any limit without
            one.
        reason: empty if the first solution can be used, else why none can.
        distance_m: how far the target is outside the reach, or how far the best numeric try stayed away.
        joint: the joint whose limit is in the way.
        limit: that limit, in words with its unit.
        iterations: steps that a numeric method took, from all its starts together; None for a closed form.
    """

    solutions: tuple[IkSolution, ...] = ()
    reason: str = ""
    distance_m: float | None = None
    joint: str = ""
    limit: str = ""
    iterations: int | None = None

    @property
    def ok(self) -> bool:
        """True if there is a solution within limits."""
        return not self.reason

    @property
    def best(self) -> IkSolution | None:
        """The solution to use, or None."""
        return self.solutions[0] if self.ok else None
