"""What the loop commands of an RV-2AJ: held against what the controller takes, then the newest target of the arm."""

from __future__ import annotations

from drivers._command_checks import CommandOrder, check_axis, check_count
from drivers._rv2aj_causes import Wait
from drivers._rv2aj_codec import JOINTS
from drivers._rv2aj_control import Control
from drivers._rv2aj_course import Course
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_targets import Degrees
from hil.errors import CommandError, LinkOverrun
from hil.types import Command, EnergiseCommand, JointCommand
from hil.units import DEG

DOUBLE, SINGLE = 1e-9, 1e-6
"""What rounding may add to a position, rad."""

STANDS_DEG = 1.0
"""A joint is held where it is measured; a command that says something else by more than this is refused."""


class Commands:
    """Takes commands of one connection; nothing leaves from here.

    Args:
        settings: joint range.
        control: which axes are held, and by a first move will be.
        course: where the arm is; takes the targets.
        wait: begins with a target that has to wait.
    """

    def __init__(self, settings: Rv2ajSettings, control: Control, course: Course, wait: Wait) -> None:
        self._settings, self._control, self._course, self._wait = settings, control, course, wait
        lower, upper = settings.bounds()
        self._bounds = tuple(zip(lower.tolist(), upper.tolist(), strict=True))
        self._order, self._steps = CommandOrder(), settings.steps_a_degree
        # A limit itself may be a little beyond itself in single precision.
        self._slack = SINGLE if settings.networked else DOUBLE

    def take(self, command: Command, now_s: float) -> Command:
        """Take a command; gives it as the controller sees it.

        Raises:
            CommandError: out of range, out of order, an axis was not energised, or is not where it should be.
            LinkOverrun: an earlier target could not be sent for too long.
        """
        self._order.check(command)
        sent = self._energise(command) if isinstance(command, EnergiseCommand) else self._aim(command, now_s)
        self._order.last = command.seq
        return sent

    def take_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """The same for the sample of this number of the motion that is loaded."""
        # Each is asked by itself only if it has to say no: this runs in every tick.
        order, table = self._order, self._course.table
        if order.last is not None and command.seq <= order.last:
            order.check(command)
        if table is None:
            raise CommandError(f"sample {row} of a motion of which no table is there", value=row)
        if not self._control.drives:
            self._require_servos()
        steps = self._steps
        target = tuple([native / steps for native in table.native(row)])
        due_s = self._want(target, row, command.due_s, now_s)
        order.last = command.seq
        return JointCommand(seq=command.seq, due_s=due_s, positions=table.positions(row))

    def _energise(self, command: EnergiseCommand) -> EnergiseCommand:
        axis = command.axis
        check_axis(axis, len(JOINTS))
        position = self._checked(axis, command.position)
        measured_deg = self._course.believed.degrees[axis]
        if abs(measured_deg * DEG - position) > STANDS_DEG * DEG:
            raise CommandError(
                f"{JOINTS[axis]} is to be held at {position / DEG:.2f} deg, and the controller measures it at "
                f"{measured_deg:.2f} deg; "
                f"allowed: within {STANDS_DEG:g} deg. Plan from where the arm stands",
                axis=JOINTS[axis],
                value=position,
            )
        self._control.energise(axis)
        return EnergiseCommand(seq=command.seq, axis=axis, position=position)

    def _aim(self, command: JointCommand, now_s: float) -> JointCommand:
        check_count(command.positions, len(JOINTS))
        self._require_servos()
        positions = tuple([self._checked(axis, position) for axis, position in enumerate(command.positions)])
        due_s = self._want(self._settings.degrees(positions), None, command.due_s, now_s)
        return JointCommand(seq=command.seq, due_s=due_s, positions=positions)

    def _want(self, target: Degrees, row: int | None, due_s: float, now_s: float) -> float:
        """Take a newer target, of a certified motion or of none; when the arm can be there at the earliest."""
        targets = self._course.targets
        waited = targets.waits
        if not targets.want(target, now_s, row):
            name = self._settings.port_url
            raise LinkOverrun(
                f"{name}: a target could not be sent for {targets.late_s:g} s; nothing is skipped, the motion waits: "
                f"{self._wait.why(now_s)}",
                name,
            )
        if not waited:
            self._wait.begin()
        return min(due_s, now_s + targets.way_s(target, self._course.believed.degrees))

    def _checked(self, axis: int, position: float) -> float:
        """A position in whole steps of the wire, inside the controller's range."""
        low, high = self._bounds[axis]
        (rounded,) = self._settings.quantise_pose((position,))
        if low - self._slack <= rounded <= high + self._slack:
            return rounded
        allowed = f"{low / DEG:g} to {high / DEG:g} deg"
        raise CommandError(
            f"{JOINTS[axis]}: {position / DEG:.2f} deg given; allowed: {allowed}",
            axis=JOINTS[axis],
            value=position,
            allowed=allowed,
        )

    def _require_servos(self) -> None:
        if not self._control.drives:
            limp = ", ".join(name for name, on in zip(JOINTS, self._control.known, strict=True) if not on)
            raise CommandError(f"not energised: {limp}; the servos are not on for it", axis=limp)
