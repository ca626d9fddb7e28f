"""The servo supply of an arm that cannot feel it: what people have said of it, and what may be believed since.

A board with a logic supply of its own keeps its pulses when the servos lose theirs, and its echo shows nothing. Once
the servos have power again they all go to those pulses at full speed. So after a cut nothing that is echoed counts
until the board has forgotten its pulses, as it does when its logic is switched off, and a person has vouched anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import InterlockError
from hil.types import JointState, Supply

WAY_BACK = (
    "Support the arm, leave the servo supply off, switch the logic off as well, put the arm into its park pose, logic "
    "on, servo supply on with your hands clear, then connect again and confirm"
)
NOT_BELIEVED = (Supply.CUT, Supply.FORGOTTEN)
"""In these states nothing is driven before a person has vouched for the supply, too."""


def still_driven(names: Sequence[str]) -> str:
    """Why nothing is sent to a controller that drives these after the servo supply was cut."""
    return (
        f"the servo supply was cut, and the controller still drives {', '.join(names)}: its logic was not off, and "
        f"with power for the servos they would go there at full speed. {WAY_BACK}"
    )


class ServoSupply:
    """What is held of one arm's servo supply. It cannot be measured, so it is what people say.

    Args:
        axes: names of the axes.
        was: what an earlier session has left behind.

    Attributes:
        state: see `hil.types.Supply`.
    """

    def __init__(self, axes: Sequence[str], was: Supply = Supply.UNSAID) -> None:
        self._axes = tuple(axes)
        self.state = was

    @property
    def doubtful(self) -> bool:
        """Nothing that is echoed counts."""
        return self.state is Supply.CUT

    def news_since(self, before: Supply) -> Supply | None:
        """What is held now, if that is news: that a controller feels its supply is none where nobody has spoken."""
        unsaid = before is Supply.UNSAID and self.state is Supply.FELT
        return None if self.state is before or unsaid else self.state

    def cut(self, by: str) -> str:
        """Somebody says that it was cut, or may have been: anybody may, for it is a stop. Gives the words for it."""
        if self.state is Supply.FELT:
            return f"{by} says that the servo supply was cut; this controller feels it, and says so itself"
        self.state = Supply.CUT
        return (
            f"{by} says that the servo supply was cut. The controller keeps its pulses and shows nothing of it: if the "
            f"servos get power now, all of them go there at full speed. {WAY_BACK}"
        )

    def look(self, report: JointState | None, *, drives_unseen: bool = False) -> str:
        """See what a connection shows that was made after the cut.

        Args:
            report: what the controller said twice alike in this connection; None before it has.
            drives_unseen: it cannot tell what it drives, and has not restarted since an earlier connection.

        Returns:
            Why nothing may be sent: it drives axes still. Empty if nothing speaks against it, or nothing is known yet.
        """
        if report is None:
            return ""
        if report.source.of_arm:
            self.state = Supply.FELT
            return ""
        if self.state is not Supply.CUT:
            return ""
        driven = [
            name for name, at in zip(self._axes, report.positions, strict=True) if drives_unseen or at is not None
        ]
        if not driven:
            self.state = Supply.FORGOTTEN
            return ""
        return still_driven(driven)

    def check(self, said_on: bool) -> None:
        """Make sure that a confirmed pose says of the supply what it has to.

        Args:
            said_on: whoever confirms says that it is on and was not cut since.

        Raises:
            InterlockError: it was cut, and nobody says that it is on again.
        """
        if self.state in NOT_BELIEVED and not said_on:
            raise InterlockError(
                "the servo supply was cut: whoever confirms the pose has to say, too, that it is on again",
                ["servo supply"],
            )

    def vouched(self, said_on: bool) -> None:
        """A pose was confirmed, and the axes are driven from now on."""
        if said_on and self.state is not Supply.FELT:
            self.state = Supply.ON
