"""What a program consists of: frozen records of expressions and statements, as the grammar yields them.

`at` is the column in the line of the text, from 1. Names and words are upper case.
"""

from __future__ import annotations

from typing import TypeAlias

from hil.types import Record

# -- expressions -------------------------------------------------------------------------------------------------------


class Number(Record, frozen=True):
    """A number as written: an int where it has neither point nor exponent."""

    value: int | float
    at: int = 1


class Text(Record, frozen=True):
    """A string in quotes."""

    value: str
    at: int = 1


class Name(Record, frozen=True):
    """A variable, a system variable, or a function without arguments."""

    name: str
    at: int = 1


class Index(Record, frozen=True):
    """An array element, a system variable with its number, or a function with arguments: only a run can tell."""

    name: str
    arguments: tuple[Expression, ...]
    at: int = 1


class Component(Record, frozen=True):
    """One member of a position or joint set: ``P1.X``."""

    of: Expression
    name: str
    at: int = 1


class Constant(Record, frozen=True):
    """A position or joint constant; None for a member left out, `flags` None where there are no second brackets."""

    members: tuple[Expression | None, ...]
    flags: tuple[Expression | None, ...] | None = None
    at: int = 1


class Unary(Record, frozen=True):
    """``-`` or ``NOT``."""

    operator: str
    operand: Expression
    at: int = 1


class Binary(Record, frozen=True):
    """Two operands and what joins them; spellings such as ``=<`` are made one."""

    operator: str
    left: Expression
    right: Expression
    at: int = 1


class PalletPoint(Record, frozen=True):
    """``PLT n,i``."""

    pallet: Expression
    index: Expression
    at: int = 1


Expression: TypeAlias = Number | Text | Name | Index | Component | Constant | Unary | Binary | PalletPoint
Variable: TypeAlias = Name | Index | Component

# -- statements --------------------------------------------------------------------------------------------------------


class Target(Record, frozen=True):
    """Where a jump goes: a label without its star, or a line number."""

    to: str | int
    at: int = 1


class Assign(Record, frozen=True):
    """An assignment; with `pulse_s` an output that goes back after that time."""

    variable: Variable
    value: Expression
    pulse_s: Expression | None = None
    at: int = 1


class Word(Record, frozen=True):
    """A statement that is one word and its arguments; None for an argument left out."""

    word: str
    arguments: tuple[Expression | None, ...] = ()
    at: int = 1


class Switch(Record, frozen=True):
    """A word with ON or OFF."""

    word: str
    on: bool
    at: int = 1


class Compliance(Record, frozen=True):
    """``CMP`` or ``CMPG``: known by name only."""

    at: int = 1


class Beside(Record, frozen=True):
    """What is done while a move runs: WTH at its start, WTHIF once its condition holds."""

    action: Assign | Word
    condition: Expression | None = None


class Move(Record, frozen=True):
    """A motion statement.

    Attributes:
        word: MOV, MVS, MVR, MVR2, MVR3, MVC or MVA.
        points: targets in order; none for ``MVS ,50``.
        distance_mm: approach distance along the tool.
        type: the two constants after TYPE.
    """

    word: str
    points: tuple[Expression, ...]
    distance_mm: Expression | None = None
    type: tuple[Expression, Expression] | None = None
    beside: Beside | None = None
    at: int = 1


class Jump(Record, frozen=True):
    """GOTO or GOSUB."""

    word: str
    target: Target
    at: int = 1


class OnJump(Record, frozen=True):
    """``ON M1 GOTO`` or ``GOSUB`` a, b, c."""

    selector: Expression
    word: str
    targets: tuple[Target, ...]
    at: int = 1


class If(Record, frozen=True):
    """IF on one line."""

    condition: Expression
    then: Statement
    otherwise: Statement | None = None
    at: int = 1


class IfBlock(Record, frozen=True):
    """``IF c THEN`` that goes on below, or ``ELSEIF c THEN``."""

    condition: Expression
    word: str = "IF"
    at: int = 1


class For(Record, frozen=True):
    """``FOR v=a TO b STEP c``."""

    variable: Variable
    first: Expression
    last: Expression
    step: Expression | None = None
    at: int = 1


class Next(Record, frozen=True):
    """``NEXT`` with the names of the loops that it closes, innermost first."""

    variables: tuple[Variable, ...] = ()
    at: int = 1


class While(Record, frozen=True):
    """``WHILE c``."""

    condition: Expression
    at: int = 1


class Select(Record, frozen=True):
    """``SELECT e``."""

    value: Expression
    at: int = 1


class Case(Record, frozen=True):
    """``CASE v``, ``CASE a TO b``, ``CASE IS <= v``; `operator` is ``=``, ``TO`` or the comparison."""

    operator: str
    value: Expression
    last: Expression | None = None
    at: int = 1


class Marker(Record, frozen=True):
    """ELSE, ENDIF, WEND, DEFAULT or END SELECT."""

    word: str
    at: int = 1


class DefAct(Record, frozen=True):
    """``DEF ACT n,c GOSUB x,S``; `mode` is S, L or empty."""

    number: Expression
    condition: Expression
    jump: Jump
    mode: str = ""
    at: int = 1


class ActSwitch(Record, frozen=True):
    """``ACT n=1``."""

    number: Expression
    value: Expression
    at: int = 1


class DefFunction(Record, frozen=True):
    """``DEF FNname(a,b)=e``."""

    name: str
    parameters: tuple[str, ...]
    value: Expression
    at: int = 1


class Declared(Record, frozen=True):
    """One name of a DEF or DIM: its array size if any, its first value if any."""

    name: str
    size: tuple[Expression, ...] = ()
    value: Expression | None = None
    at: int = 1


class Declare(Record, frozen=True):
    """``DEF INTE a,b`` and its like, ``CONST DEF ..``, and ``DIM``, whose type is empty."""

    type: str
    items: tuple[Declared, ...]
    constant: bool = False
    at: int = 1


class DefIo(Record, frozen=True):
    """``DEF IO name=BIT,n,mask``."""

    name: str
    width: str
    first: Expression
    mask: Expression | None = None
    at: int = 1


class Open(Record, frozen=True):
    """``OPEN "COM1:" AS #1``."""

    device: Expression
    number: Expression
    mode: str = ""
    at: int = 1


class Close(Record, frozen=True):
    """``CLOSE`` of some lines, or of all."""

    numbers: tuple[Expression, ...] = ()
    at: int = 1


class Print(Record, frozen=True):
    """``PRINT #n,..``: items, and the separators ``,`` or ``;`` between them."""

    number: Expression
    items: tuple[Expression | str, ...]
    at: int = 1


class Input(Record, frozen=True):
    """``INPUT #n,v,..``."""

    number: Expression
    variables: tuple[Variable, ...]
    at: int = 1


class Call(Record, frozen=True):
    """``CALLP "name",..``."""

    name: Expression
    arguments: tuple[Expression, ...]
    at: int = 1


class Parameters(Record, frozen=True):
    """``FPRM v,..``."""

    variables: tuple[Variable, ...]
    at: int = 1


class ComSwitch(Record, frozen=True):
    """``COM(n) ON``, OFF or STOP."""

    number: Expression
    word: str
    at: int = 1


class OnCom(Record, frozen=True):
    """``ON COM(n) GOSUB x``."""

    number: Expression
    target: Target
    at: int = 1


Statement: TypeAlias = (
    Assign
    | Word
    | Switch
    | Compliance
    | Move
    | Jump
    | OnJump
    | If
    | IfBlock
    | For
    | Next
    | While
    | Select
    | Case
    | Marker
    | DefAct
    | ActSwitch
    | DefFunction
    | Declare
    | DefIo
    | Open
    | Close
    | Print
    | Input
    | Call
    | Parameters
    | ComSwitch
    | OnCom
)
