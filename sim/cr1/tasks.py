"""What runs in the CR1's slots: programs, single statements, and moves that the controller makes by itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from hil.link import FloatArray


class Work(Protocol):
    """What is stepped once a control cycle.

    Errors of the language are `hil.program.errors.ProgramError`.
    """

    @property
    def ended(self) -> bool:
        """There is nothing left to do."""
        ...

    @property
    def still(self) -> bool:
        """The arm does not move by it just now, whatever else it does."""
        ...

    @property
    def at_rest(self) -> bool:
        """It moves nothing just now, and will not by itself."""
        ...

    @property
    def goal(self) -> FloatArray | None:
        """Where the move under way will end, five joints in radians; None without one."""
        ...

    def step(self) -> None:
        """Do one control cycle.

        Raises:
            ProgramError: it cannot go on.
        """
        ...

    def hold(self) -> None:
        """Slow down on the way that it is on, and stay there; cycles go on until it is at rest."""
        ...


class Task(Work, Protocol):
    """A single statement, or a move by a command, at work."""

    def drop(self) -> None:
        """It will not be gone on with."""
        ...


class Variables(Protocol):
    """Variables, to look at."""

    def read(self, name: str) -> str | None:
        """As VAL prints it, without the name; None where it is not known or not set."""
        ...

    def names(self, kind: str) -> list[str]:
        """Those that are set, of class M, C, P or J, in order."""
        ...


class ProgramTask(Work, Variables, Protocol):
    """A program at work in a slot."""

    @property
    def line(self) -> int:
        """Number of the line that it is at."""
        ...

    @property
    def paused(self) -> bool:
        """It waits to be started again."""
        ...

    @property
    def cycles(self) -> int:
        """How often END was reached."""
        ...

    def go_on(self, *, repeat: bool = False, single: bool = False) -> None:
        """Start, or go on where it was.

        Raises:
            ProgramError: it cannot.
        """
        ...

    def go_to(self, line: int) -> None:
        """Go on at another line.

        Raises:
            ProgramError: there is none.
        """
        ...

    def freeze(self) -> None:
        """Stand still at once."""
        ...

    def write(self, name: str, value: str) -> None:
        """Set a variable from its written value.

        Raises:
            ProgramError: the value does not fit.
        """
        ...


class Drive(Protocol):
    """What a task moves the arm by."""

    def drive(self, row: FloatArray) -> None:
        """Be there at the end of this control cycle; five joints in radians.

        Raises:
            ProgramError: the servo is off, a limit would be passed, or it is too far for one cycle.
        """
        ...


class JointMove:
    """A move that the controller makes by itself, sampled once a cycle.

    Args:
        arm: what it moves.
        rows: five joints in radians a cycle, the first where the arm is.
        slowing: change of pace in one cycle while it slows down, in parts of the full one.
    """

    def __init__(self, arm: Drive, rows: FloatArray, slowing: float) -> None:
        self._arm, self._rows, self._slowing = arm, rows, slowing
        self._place, self._rate, self._wish = 0.0, 1.0, 1.0

    @property
    def ended(self) -> bool:
        """There is nothing left to do."""
        return self._place >= len(self._rows) - 1

    @property
    def still(self) -> bool:
        """The arm does not move by it just now."""
        return self.at_rest

    @property
    def at_rest(self) -> bool:
        """It moves nothing just now."""
        return self.ended or (self._rate == 0.0 and self._wish == 0.0)

    @property
    def goal(self) -> FloatArray | None:
        """Where it will end."""
        row: FloatArray = self._rows[-1]
        return row

    def step(self) -> None:
        """Do one control cycle."""
        self._rate += min(max(self._wish - self._rate, -self._slowing), self._slowing)
        self._place = min(self._place + self._rate, len(self._rows) - 1.0)
        whole = int(self._place)
        share = self._place - whole
        after = self._rows[min(whole + 1, len(self._rows) - 1)]
        self._arm.drive(self._rows[whole] + share * (after - self._rows[whole]))

    def hold(self) -> None:
        """Slow down on the way."""
        self._wish = 0.0

    def drop(self) -> None:
        """It will not be gone on with."""


class SlotState(Enum):
    """What a slot does."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"


class Mode(Enum):
    """What END does."""

    REPEAT = "REP"
    CYCLE = "CYC"


@dataclass
class Slot:
    """One place where a program runs.

    Attributes:
        name: of the selected program; empty for none.
        task: the program at work, None until it is first started or touched.
        cycle_stop: it ends when its cycle ends.
        started_s: when its cycle began.
    """

    number: int
    name: str = ""
    task: ProgramTask | None = None
    state: SlotState = SlotState.IDLE
    mode: Mode = Mode.REPEAT
    cycle_stop: bool = False
    started_s: float = 0.0

    @property
    def at_rest(self) -> bool:
        """Nothing in it moves just now, and nothing will by itself."""
        return self.state is not SlotState.RUNNING and (self.task is None or self.task.at_rest)

    def pause(self) -> None:
        """Slow down, and wait."""
        if self.state is SlotState.RUNNING and self.task is not None:
            self.state = SlotState.PAUSED
            self.task.hold()

    def forget_task(self) -> None:
        """Back to the top, no pause."""
        self.task, self.state, self.cycle_stop = None, SlotState.IDLE, False
