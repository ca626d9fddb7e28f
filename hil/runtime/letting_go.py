"""Lets an arm go limp axis by axis in a session, and sees that the controller really stops driving each."""

from __future__ import annotations

from hil.errors import CommandError, InterlockError
from hil.link import ArmLink, ReleasingLink
from hil.model.rig import Rig
from hil.types import JointState, LetGo, Mode

GONE_S = 1.0
"""Twice alike within this time the controller has to report that it drives the axis no more."""
MODES = frozenset({Mode.IDLE, Mode.HOLDING, Mode.UNKNOWN_POSE, Mode.FAULT, Mode.ESTOP})
"""Nothing moves in these, and nothing may begin to by itself."""


class LettingGo:
    """One axis after the other; the next only once the one before is seen to be limp.

    Args:
        rig: the resolved rig.
    """

    def __init__(self, rig: Rig) -> None:
        self._names = [axis.name for axis in rig.axes]
        self._axis: int | None = None
        self._sent_s = 0.0

    @property
    def waits(self) -> bool:
        """It is not known yet what has become of the last one."""
        return self._axis is not None

    def begin(self, request: LetGo, link: ArmLink, mode: Mode, now_s: float) -> tuple[int, str]:
        """Switch one axis off.

        Returns:
            Its index, and words for the user.

        Raises:
            InterlockError: not in this mode, not this arm, or not before the last one is seen to be limp.
            CommandError: no such axis.
            ControllerError, LinkError: as for `ArmLink.write`.
        """
        if request.axis not in self._names:
            raise CommandError(
                f"{request.axis!r} given; allowed: {', '.join(self._names)}", axis=request.axis, value=request.axis
            )
        if not isinstance(link, ReleasingLink):
            raise InterlockError(
                "its arm has brakes and needs no holding; switch its servos off at the controller",
                ["an arm that is held by pulses"],
            )
        if mode not in MODES:
            raise InterlockError(
                f"an axis is let go of while nothing moves or is armed; the mode is {mode.value}: stop first", ["mode"]
            )
        if self._axis is not None:
            raise InterlockError(
                f"one axis at a time: whether the {self._names[self._axis]} is limp is not known yet", ["a moment"]
            )
        index = self._names.index(request.axis)
        words = f"{request.by} lets go of the {request.axis}; where the arm stands is not known any more"
        if not link.let_go(index, now_s):
            return index, f"{words}. What this controller answers does not show whether it did: look at the arm"
        self._axis, self._sent_s = index, now_s
        return index, words

    def look(self, report: JointState | None, now_s: float) -> str:
        """What has become of the last one, in words, once that is known.

        Args:
            report: the newest that the controller has said twice alike.
            now_s: time of the tick.
        """
        if self._axis is None:
            return ""
        name, said = self._names[self._axis], report is not None and report.t_s > self._sent_s
        if said and report is not None and report.positions[self._axis] is None:
            self._axis = None
            return f"the {name} is limp: the controller makes no pulse there any more"
        if now_s - self._sent_s <= GONE_S:
            return ""
        self._axis = None
        if not said:
            return f"whether the {name} is limp is not known: the controller has not said so"
        return (
            f"the {name} was switched off, and the controller goes on driving it: its firmware does not know that. "
            "Support the arm, then switch off servo supply and logic"
        )
