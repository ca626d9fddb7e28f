"""The arm on its way: where it is believed to be, where it was sent, and whether the one follows from the other."""

from __future__ import annotations

from drivers._rv2aj_believed import Believed
from drivers._rv2aj_codec import Position, joint_constant
from drivers._rv2aj_corridor import Corridor
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_targets import Degrees, Targets
from hil.wire_table import WireTable


class Course:
    """Nobody knows where it is yet, and it was sent nowhere.

    Attributes:
        believed: where it is.
        targets: where it was sent, and what waits.
        corridor: what lies between.
        table: what the wire carries for the motion that is loaded; None if there is none.
    """

    def __init__(self, settings: Rv2ajSettings) -> None:
        self.believed, self.targets, self.corridor = Believed(settings), Targets(settings), Corridor()
        self.table: WireTable | None = None

    @property
    def moving(self) -> bool:
        """The arm may be on its way."""
        return self.targets.moving(self.believed)

    @property
    def arrived(self) -> bool:
        """It is at the last target, or rests near it."""
        return self.targets.arrived(self.believed)

    @property
    def constant(self) -> str:
        """What is wanted as the controller reads it: of a certified motion as it was certified."""
        wanted, row = self.targets.wanted, self.targets.row
        assert wanted is not None
        if row is None or self.table is None:
            return joint_constant(wanted)
        return self.table.line(row).decode("ascii")

    def carry(self, table: WireTable) -> None:
        """Rows are of this table from now on."""
        self.targets.leave_table()
        self.table = table

    def see(self, found: Position, at_s: float, *, halting: bool) -> str:
        """Take a report; in words which joint goes where nobody has sent it, empty while none does."""
        self.believed.take(found, at_s, moving=halting or self.moving)
        astray = "" if halting else self.corridor.judge(found.joints_deg)
        if not astray:
            self.targets.settle(self.believed)
        return astray

    def set_out(self, target: Degrees) -> None:
        """From the next request on the arm may be on its way there, whatever becomes of the answer."""
        self.targets.telling = target
        self.corridor.lead(self.believed.degrees, target)

    def told(self, target: Degrees, began_s: float, now_s: float) -> None:
        """The controller has taken a target whose first request left at `began_s`."""
        self.targets.told(target, began_s, now_s, self.believed.degrees)

    def told_perhaps(self, target: Degrees, began_s: float, now_s: float) -> None:
        """It was sent, and what became of it is not known."""
        self.targets.told_perhaps(target, began_s, now_s, self.believed.degrees)

    def took_perhaps(self) -> None:
        """The controller has taken after all what was perhaps told."""
        self.targets.took_perhaps(self.believed.degrees)

    def halted(self) -> None:
        """The controller was stopped, and nothing is left there to go on with."""
        self.believed.moved = True
        self.targets.halt()
        self.corridor.forget()
