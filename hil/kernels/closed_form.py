"""What every family's closed form looks like: wanted pose in, a fixed list of branches out, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from hil.kernels.chain import Chain, Frame
from hil.kernels.scalar import Functions, Scalar


class Branch(NamedTuple):
    """One posture.

    Attributes:
        q: joint coordinates in chain order; angles need not be wrapped. Finite even where the branch does not
            exist: they then belong to the nearest posture that the clamped equations give.
        exists: not negative where the pose is within reach of this branch, up to a rounding tolerance; else
            minus the shortfall, metres (or radians where an angle is out of range).
        free: not negative where some coordinate is open (a singular posture), so that `rest` was used for it.
    """

    q: tuple[Scalar, ...]
    exists: Scalar
    free: Scalar


class ClosedForm(Protocol):
    """The closed form of one arm: its constants, and its equations.

    Attributes:
        family: in words, for example ``six axes with a spherical wrist``.
        chain: the arm.
        branches: the name of each branch, for example ``right, elbow up, wrist flipped``, in the order of `solve`.
    """

    @property
    def family(self) -> str: ...  # noqa: D102

    @property
    def chain(self) -> Chain: ...  # noqa: D102

    @property
    def branches(self) -> tuple[str, ...]: ...  # noqa: D102

    def solve(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """All branches for a tool frame in the world.

        Args:
            wanted: the tool frame.
            rest: n joint coordinates to keep where a singular pose leaves them open.
            functions: of the scalar type.
        """
        ...


@runtime_checkable
class KeepingForm(ClosedForm, Protocol):
    """A closed form that can hold one joint at a given value where a pose leaves it all but open.

    Beside a straight wrist the pose still tells where axis 4 has to stand, and tells it ever less: what it costs to
    hold the joint somewhere else is the sine of the bend times that of the turn.

    Attributes:
        kept_joint: index of that joint, the one that takes `rest` at the singular posture itself.
    """

    @property
    def kept_joint(self) -> int: ...  # noqa: D102

    def lever(self, free: float) -> float:
        """How far from the singular posture a branch is, as a sine (or metres, or a share of the reach); 0 at it.

        Args:
            free: of that branch.
        """
        ...

    def kept(self, wanted: Frame, rest: Sequence[Scalar], functions: Functions) -> list[Branch]:
        """All branches as `ClosedForm.solve` gives them, but with that joint at rest, or half a turn from it.

        The other joints come as near to the pose as they can. How near that is, forward kinematics has to say:
        `exists` tells of the reach alone, and `free` nothing. Empty for an arm that has no such joint.
        """
        ...
