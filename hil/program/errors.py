"""What is wrong with a program, with the controller's own number and the place in the text.

Numbers, classes and causes follow the maker's trouble-shooting list for the CR1. The letter says what the controller
does: H switches the servo off, L stops the program, C only warns.
"""

from __future__ import annotations

from typing import NamedTuple

from hil.errors import HilError
from hil.types import Record


class Place(Record, frozen=True):
    """A place in a program's text.

    Attributes:
        row: line of the text, from 1.
        column: character in that line, from 1.
        number: the program's own line number; None where it has none.
    """

    row: int
    column: int = 1
    number: int | None = None


class Known(NamedTuple):
    """One number of the controller's list: class, cause, and what helps."""

    letter: str
    cause: str
    remedy: str


KNOWN: dict[int, Known] = {
    1630: Known("C", "the servos cannot come on during an error", "Reset the error first"),
    1650: Known("C", "the servos cannot come on with a brake released", "Lock the brakes first"),
    2000: Known("L", "servo is off", "Switch it on: SERVO ON, and wait for M_SVO=1"),
    2130: Known("H", "commanded speed too high", "Move slower, or keep away from the axis of J1"),
    2160: Known("H", "joint outside its range", "Keep the joint inside its limits"),
    2600: Known("L", "position outside the range", "Keep every joint inside its limits"),
    2601: Known("L", "start position outside the range", "Begin the move inside the joint limits"),
    2602: Known("L", "target outside the range", "Choose a target, or flags, within the joint limits"),
    2603: Known("L", "a joint leaves its range on the way", "Use MOV, or lead the line elsewhere"),
    2800: Known("L", "no joint solution for the position", "Choose a position within reach"),
    2801: Known("L", "no joint solution for the start position", "Begin the move from a position within reach"),
    2802: Known("L", "no joint solution for the target", "Choose a target within reach"),
    2803: Known("L", "the line leaves the reach on the way", "Use MOV, or a point between"),
    2810: Known("L", "posture flags of start and end differ on a line or arc", "Use MOV, or TYPE 0,1"),
    2820: Known("H", "ACCEL too small", "Choose 1 to 100 percent"),
    2830: Known("H", "TYPE value not allowed", "Use TYPE 0,0, TYPE 1,0 or TYPE 0,1"),
    3100: Known("L", "stack overflow", "Let every GOSUB come back with RETURN"),
    3110: Known("L", "argument value not allowed", "Correct the value"),
    3120: Known("L", "number of arguments not allowed", "Correct the number of arguments"),
    3130: Known("L", "file or line already open", "CLOSE it first"),
    3140: Known("L", "file or line cannot be opened", "OPEN it, and name a line that exists"),
    3210: Known("L", "variable can only be read", "Assign to a variable of your own"),
    3220: Known("L", "nesting deeper than 16", "Nest FOR and WHILE less deeply"),
    3230: Known("L", "FOR and NEXT do not pair", "Give each FOR one NEXT"),
    3240: Known("L", "nesting deeper than 16", "Nest less deeply"),
    3250: Known("L", "WHILE and WEND do not pair", "Give each WHILE one WEND"),
    3252: Known("L", "IF and ENDIF do not pair", "Give each block IF one ENDIF"),
    3253: Known("L", "IF blocks nested deeper than 8", "Nest less deeply"),
    3254: Known("L", "SELECT and END SELECT do not pair", "Give each SELECT one END SELECT, and nest none"),
    3255: Known("L", "ELSE without its IF", "Put ELSE between IF .. THEN and ENDIF"),
    3500: Known("L", "INPUT got another type than its variable has", "Send data that fit the variables"),
    3600: Known("L", "jump target missing", "Write the label or line number, or correct the name"),
    3700: Known("L", "variable read before it was set", "Assign it first, or teach the position"),
    3710: Known("L", "CALLP nested too deeply", "Call at most 7 levels deep, and never oneself"),
    3810: Known("L", "wrong operand type", "Use operands of fitting types"),
    3840: Known("L", "RETURN without GOSUB", "Enter the routine with GOSUB; end the main part with END"),
    3850: Known("L", "pallet not defined", "DEF PLT comes before PLT"),
    3860: Known("L", "position data cannot be used here", "Correct the position"),
    4120: Known("L", "program name longer than 12 characters", "Choose a shorter name"),
    4140: Known("L", "program not found", "Write or load that program first"),
    4210: Known("L", "line longer than 127 characters", "Make two lines of it"),
    4220: Known("L", "syntax error", "Correct the statement"),
    4300: Known("L", "name too long", "Use at most 8 characters"),
    4310: Known("L", "character not allowed in a name", "Use letters and digits, a letter first"),
    4340: Known("L", "variable not defined", "Define it with DEF, or begin its name with M, P, J, or C..$"),
    4350: Known("L", "defined twice", "Keep one of the definitions"),
    4370: Known("L", "array index out of range, or not an array", "DIM it, and keep the index inside"),
    4420: Known("L", "line number out of range or order", "Number lines from 1 to 32767, rising"),
    5130: Known("L", "the servos cannot come on while they go off", "Wait until they are off"),
    5600: Known("L", "not possible during an error", "Reset the error first"),
    4440: Known("L", "label defined twice", "Keep one of the labels"),
    7810: Known("H", "Ethernet parameter wrong", "Correct the parameters whose names begin with NET"),
    7820: Known("H", "nothing came for MXT in time", "Send a packet in every cycle, or raise MXTTOUT"),
    7830: Known("H", "MXT is not possible here", "Run it on a controller with an Ethernet card, OPENed before"),
    7840: Known("H", "MXT got another type of command than it was told", "Send the type that its second number names"),
}
"""The numbers that a program can meet; those of single axes stand under their family, as 2130 for 2131 to 2138."""

USER_CLASSES = ((9000, 9099, "H"), (9100, 9199, "L"), (9200, 9299, "C"))
"""What ERROR may raise: first number, last, class."""

AXIS_FAMILIES = {2130: 2130, 2160: 2160, 2170: 2160}


def known(number: int) -> Known:
    """Class, cause and remedy of a number; of the axis families, without the axis."""
    family = AXIS_FAMILIES.get(number - number % 10, number)
    if family in KNOWN:
        return KNOWN[family]
    for first, last, letter in USER_CLASSES:
        if first <= number <= last:
            return Known(letter, "raised by ERROR in the program", "See the program's own documentation")
    return Known("L", "error", "See the controller's list of errors")


class ProgramError(HilError):
    """A program cannot be read, or cannot go on.

    Attributes:
        number: the controller's four digits.
        detail: what was found there.
        allowed: what may stand there, empty where the remedy says it.
        place: where; None until it is known.
        file: name of the text.
    """

    def __init__(
        self, number: int, detail: str = "", *, allowed: str = "", place: Place | None = None, file: str = ""
    ) -> None:
        self.number, self.detail, self.allowed, self.place, self.file = number, detail, allowed, place, file
        super().__init__(self._text())

    @property
    def letter(self) -> str:
        """H, L or C."""
        return known(self.number).letter

    @property
    def code(self) -> str:
        """As the panel shows it: ``L4220``."""
        return f"{self.letter}{self.number}"

    @property
    def remedy(self) -> str:
        """What to do next."""
        return known(self.number).remedy

    @property
    def row(self) -> int:
        """Line of the text, from 1; 0 where unknown."""
        return self.place.row if self.place else 0

    @property
    def column(self) -> int:
        """Character in that line, from 1; 0 where unknown."""
        return self.place.column if self.place else 0

    def at(self, place: Place, file: str = "") -> ProgramError:
        """The same error with its place, where it has none yet."""
        if self.place is not None and self.file:
            return self
        return ProgramError(
            self.number, self.detail, allowed=self.allowed, place=self.place or place, file=self.file or file
        )

    def _text(self) -> str:
        entry = known(self.number)
        where = ""
        if self.place is not None:
            own = f" (line number {self.place.number})" if self.place.number is not None else ""
            where = f"{self.file or 'program'}:{self.place.row}:{self.place.column}{own}: "
        elif self.file:
            where = f"{self.file}: "
        detail = f": {self.detail}" if self.detail else ""
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        text = f"{where}{entry.letter}{self.number} {entry.cause}{detail}{allowed}"
        return f"{text}{'' if text.endswith('?') else '.'} {entry.remedy}"
