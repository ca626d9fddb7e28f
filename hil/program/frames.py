"""What one running program remembers: its place, its loops and returns, its variables and definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from hil.link import FloatArray
from hil.program import nodes
from hil.program.pallets import Pallet
from hil.program.structure import Program
from hil.program.values import Scalar, Value
from hil.program.variables import Store

NO_SPEED = 10000.0
"""M_NSPD: from here on SPD means the best speed that the joints allow."""


class SlotState(Enum):
    """What a slot is doing."""

    READY = "ready"
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"
    FAILED = "failed"


@dataclass
class Return:
    """Where a routine goes back to.

    Attributes:
        onward: index of the line to go on with.
        skip: the same for ``RETURN 1``.
        interrupt: number of the interrupt that called it; None after GOSUB.
        again: index of the interrupted move, to be made once more; None if there was none.
        dwell: ticks of an interrupted DLY that are left.
    """

    onward: int
    skip: int
    interrupt: int | None = None
    again: int | None = None
    dwell: int = 0


@dataclass
class Interrupt:
    """One DEF ACT or ON COM.

    Attributes:
        condition: None for a line, which asks for arrived text.
        mode: S, L or empty.
        enabled: by ACT n=1.
        met: the condition held when it was last looked at; it has to fail before it counts again.
    """

    number: int
    condition: nodes.Expression | None
    jump: nodes.Jump
    mode: str = ""
    enabled: bool = False
    met: bool = False


@dataclass
class Loop:
    """A FOR that is under way."""

    last: Scalar
    step: Scalar


@dataclass
class Frame:
    """One program, from its start or CALLP to its end."""

    program: Program
    store: Store
    pc: int = 0
    returns: list[Return] = field(default_factory=list)
    loops: dict[int, Loop] = field(default_factory=dict)
    interrupts: dict[int, Interrupt] = field(default_factory=dict)
    lines: dict[int, Interrupt] = field(default_factory=dict)
    functions: dict[str, nodes.DefFunction] = field(default_factory=dict)
    pallets: dict[int, Pallet] = field(default_factory=dict)
    ports: dict[str, nodes.DefIo] = field(default_factory=dict)
    arches: dict[int, tuple[float, float]] = field(default_factory=dict)
    arguments: Sequence[Value] = ()

    def beside(self, program: Program) -> Frame:
        """Another program on the same variables and definitions: what it defines stays when it is over."""
        return replace(self, program=program, pc=0, returns=[], loops={})


@dataclass
class Modal:
    """What statements set for all moves after them; END and a reset bring the defaults back.

    Attributes:
        speed_mm_s: None for the best.
        blend: CNT 1, with the distances before and after a corner, None where not given.
        fine: FINE is on.
    """

    override: int = 100
    joint_override: int = 100
    speed_mm_s: float | None = None
    acceleration: int = 100
    deceleration: int = 100
    load_dependent: bool = False
    blend: bool = False
    before_mm: float | None = None
    after_mm: float | None = None
    fine: bool = False


@dataclass
class Beside:
    """What waits beside a move for its condition."""

    condition: nodes.Expression
    action: nodes.Assign | nodes.Word


@dataclass
class MotionState:
    """A move under way.

    Attributes:
        rows: its samples, shape (K + 1, n).
        index: the one sent last.
        line: index of its line.
        release: sample from which the next move may set in; None without CNT.
        beside: WTHIF that have not come true.
        begins: sample at which the newest of blended moves began.
    """

    rows: FloatArray
    line: int
    release: int | None = None
    beside: list[Beside] = field(default_factory=list)
    index: int = 0
    begins: int = 0

    @property
    def over(self) -> bool:
        """True once the last sample was sent."""
        return self.index >= len(self.rows) - 1


@dataclass
class Halt:
    """A stop under way, and what comes after it: ``pause``, ``skip``, ``fail``, or an interrupt's jump."""

    rows: FloatArray
    cursor: float
    motion: MotionState
    then: str
    interrupt: Interrupt | None = None
    index: int = 0


@dataclass
class Paused:
    """The rest of a move that was stopped on its way."""

    motion: MotionState
    cursor: float
    row: FloatArray = field(default_factory=lambda: np.zeros(0))
