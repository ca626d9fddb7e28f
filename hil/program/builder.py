"""From what the grammar recognises to the records of `nodes`, and what strict IV would refuse of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple, TypeVar, cast

from lark import Token, v_args
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive

from hil.program import nodes
from hil.program.errors import ProgramError

SPELLINGS = {"=<": "<=", "=>": ">=", "><": "<>"}
TYPE_SUFFIXES = "%!#&"
BLANKS = " \t\u3000"

STRICT_NAME, LOOSE_NAME = 8, 16
"""Longest names in IV, and in V."""

ARGUMENTS: dict[str, tuple[int, int]] = {
    "ACCEL": (0, 2),
    "CNT": (1, 3),
    "FINE": (1, 2),
    "HOPEN": (1, 4),
    "HCLOSE": (1, 4),
    "LOADSET": (0, 2),
    "TORQ": (2, 2),
    "RELM": (0, 0),
    "HLT": (0, 0),
    "END": (0, 0),
    "SKIP": (0, 0),
    "RETURN": (0, 1),
    "BREAK": (0, 0),
    "PRIORITY": (1, 2),
    "MXT": (2, 3),
    "XRUN": (1, 3),
    "XLOAD": (2, 2),
    "JRC": (1, 2),
    "CHRSRCH": (3, 3),
    "COLLVL": (1, 8),
    "DEF PLT": (8, 8),
    "DEF ARCH": (1, 9),
}
"""Least and most arguments of a word; one for a word that is not here."""

OPTIONAL = frozenset({"ACCEL", "CNT", "COLLVL", "DEF PLT", "DEF ARCH", "HOPEN", "LOADSET", "XRUN"})
"""Words of which an argument may be left out between commas."""

ONLY_V = frozenset({"COLCHK", "COLLVL", "CAVCHK", "MVTUNE", "SPDOPT", "TITLE"})
"""Words that later controllers added; none changes where the arm goes."""


class Objection(NamedTuple):
    """What strict IV refuses although V accepts it."""

    number: int
    column: int
    detail: str


class Flags(NamedTuple):
    """The second brackets of a position constant."""

    members: tuple[nodes.Expression | None, ...]


Method = TypeVar("Method", bound=Callable[..., Any])


def _rule(method: Method) -> Method:
    """Give a method its place and its children one by one."""
    return cast(Method, v_args(inline=True, meta=True)(method))


def column_of(meta: Meta) -> int:
    """Column of a rule's first token, from 1."""
    return 1 if meta.empty else int(meta.column)


class Builder(Transformer_NonRecursive[Token, Any]):
    """Called for every rule of a tree, children first.

    Attributes:
        objections: of strict IV, for the statement that was read last.
    """

    def __init__(self) -> None:
        super().__init__(visit_tokens=True)
        self.objections: list[Objection] = []

    @_rule
    def start(self, meta: Meta, statement: nodes.Statement) -> nodes.Statement:
        """The one statement."""
        return statement

    # -- tokens --------------------------------------------------------------------------------------------------------

    def NAME(self, token: Token) -> Token:  # noqa: N802 - named after its terminal
        """A name; its length and characters are looked at."""
        check_name(str(token), token.column or 1, self.objections)
        return token

    def LABEL(self, token: Token) -> Token:  # noqa: N802
        """A label with its star."""
        check_label(str(token), token.column or 1, self.objections)
        return token

    def _object(self, number: int, column: int, detail: str) -> None:
        self.objections.append(Objection(number, column, detail))

    # -- expressions ---------------------------------------------------------------------------------------------------

    @_rule
    def number(self, meta: Meta, token: Token) -> nodes.Number:
        """A decimal number, perhaps with the type that V writes after it."""
        text = str(token)
        if text[-1] in TYPE_SUFFIXES:
            self._object(4310, column_of(meta) + len(text) - 1, f"{text[-1]} after a number is V")
            text = text[:-1]
        whole = text.isdigit()
        return nodes.Number(value=int(text) if whole else float(text), at=column_of(meta))

    @_rule
    def hexadecimal(self, meta: Meta, token: Token) -> nodes.Number:
        """``&H1F``."""
        return nodes.Number(value=int(token[2:], 16), at=column_of(meta))

    @_rule
    def binary_number(self, meta: Meta, token: Token) -> nodes.Number:
        """``&B101``."""
        return nodes.Number(value=int(token[2:], 2), at=column_of(meta))

    @_rule
    def string(self, meta: Meta, token: Token) -> nodes.Text:
        """Text in quotes."""
        return nodes.Text(value=str(token)[1:-1], at=column_of(meta))

    @_rule
    def name(self, meta: Meta, token: Token) -> nodes.Name:
        """A bare name."""
        return nodes.Name(name=str(token), at=column_of(meta))

    @_rule
    def index(self, meta: Meta, token: Token, arguments: tuple[nodes.Expression, ...]) -> nodes.Index:
        """A name with brackets."""
        return nodes.Index(name=str(token), arguments=arguments, at=column_of(meta))

    @_rule
    def component(self, meta: Meta, of: nodes.Expression, token: Token) -> nodes.Component:
        """A member."""
        return nodes.Component(of=of, name=str(token), at=column_of(meta))

    @_rule
    def unary(self, meta: Meta, operator: Token, operand: nodes.Expression) -> nodes.Expression:
        """A sign or NOT; a sign before a number is part of it."""
        if operator == "+":
            return operand
        if operator == "-" and isinstance(operand, nodes.Number):
            return nodes.Number(value=-operand.value, at=column_of(meta))
        return nodes.Unary(operator=str(operator), operand=operand, at=column_of(meta))

    @_rule
    def binary(self, meta: Meta, left: nodes.Expression, operator: Token, right: nodes.Expression) -> nodes.Binary:
        """Two operands."""
        return nodes.Binary(operator=str(operator), left=left, right=right, at=column_of(meta))

    @_rule
    def compare(self, meta: Meta, left: nodes.Expression, *rest: Any) -> nodes.Binary:
        """A comparison; the grammar drops a plain ``=``."""
        sign = SPELLINGS.get(str(rest[0]), str(rest[0])) if len(rest) == 2 else "="
        return nodes.Binary(operator=sign, left=left, right=rest[-1], at=column_of(meta))

    @_rule
    def pallet(self, meta: Meta, pallet: nodes.Expression, index: nodes.Expression) -> nodes.PalletPoint:
        """A place of a pallet."""
        return nodes.PalletPoint(pallet=pallet, index=index, at=column_of(meta))

    @_rule
    def brackets(self, meta: Meta, inner: nodes.Expression) -> nodes.Expression:
        """Brackets only order."""
        return inner

    @_rule
    def constant(self, meta: Meta, *parts: Any) -> nodes.Constant:
        """A position or joint constant; the second brackets come last, None if absent."""
        *slots, flags = parts
        members = tuple(slot[0] for slot in slots)
        return nodes.Constant(members=members, flags=flags and flags.members, at=column_of(meta))

    @_rule
    def flags(self, meta: Meta, *members: nodes.Expression | None) -> Flags:
        """The second brackets."""
        return Flags(members)

    @_rule
    def slot(self, meta: Meta, value: nodes.Expression | None) -> tuple[nodes.Expression | None]:
        """A member, present or not; wrapped, since an absent one has to be counted."""
        return (value,)

    @_rule
    def slots(self, meta: Meta, *members: tuple[nodes.Expression | None]) -> tuple[nodes.Expression | None, ...]:
        """Arguments that may be left out."""
        return tuple(member[0] for member in members)

    @_rule
    def arguments(self, meta: Meta, *members: nodes.Expression) -> tuple[nodes.Expression, ...]:
        """Arguments that are all there."""
        return members

    @_rule
    def variables(self, meta: Meta, *members: nodes.Variable) -> tuple[nodes.Variable, ...]:
        """Variables that are written to."""
        return members

    @_rule
    def names(self, meta: Meta, *tokens: Token) -> tuple[str, ...]:
        """Parameters of a function."""
        return tuple(map(str, tokens))

    # -- assignments, moves, single words ------------------------------------------------------------------------------

    @_rule
    def assign(
        self, meta: Meta, variable: nodes.Variable, value: nodes.Expression, pulse_s: nodes.Expression | None
    ) -> nodes.Assign:
        """An assignment."""
        return nodes.Assign(variable=variable, value=value, pulse_s=pulse_s, at=column_of(meta))

    @_rule
    def word(self, meta: Meta, token: Token) -> Token:
        """Its text."""
        return token

    @_rule
    def word_statement(self, meta: Meta, word: Token, slots: tuple[nodes.Expression | None, ...]) -> nodes.Word:
        """A word with its arguments, counted."""
        return self._word(str(word), slots, column_of(meta))

    @_rule
    def def_pallet(self, meta: Meta, _: Token, slots: tuple[nodes.Expression | None, ...]) -> nodes.Word:
        """``DEF PLT``."""
        return self._word("DEF PLT", slots, column_of(meta))

    @_rule
    def def_arch(self, meta: Meta, _: Token, slots: tuple[nodes.Expression | None, ...]) -> nodes.Word:
        """``DEF ARCH``."""
        return self._word("DEF ARCH", slots, column_of(meta))

    @_rule
    def reset_error(self, meta: Meta) -> nodes.Word:
        """``RESET ERR``."""
        return nodes.Word(word="RESET ERR", at=column_of(meta))

    def _word(self, word: str, slots: tuple[nodes.Expression | None, ...], column: int) -> nodes.Word:
        given = () if slots == (None,) else slots
        least, most = ARGUMENTS.get(word, (1, 1))
        absent = None in given and word not in OPTIONAL
        if not least <= len(given) <= most or absent:
            allowed = str(least) if least == most else f"{least} to {most}"
            what = "an argument is left out" if absent else f"{len(given)} arguments given"
            raise ProgramError(4220, f"{word}: {what}", allowed=f"{allowed} arguments")
        if word == "WAIT" and not _plain_wait(given[0]):
            self._object(4220, column, "WAIT compares with = and a number")
        if word == "CHRSRCH" and not all(isinstance(given[k], nodes.Name | nodes.Index) for k in (0, 2)):
            raise ProgramError(4220, "CHRSRCH", allowed='CHRSRCH C1$(1),"text",M1')
        self._of_v(word, column)
        return nodes.Word(word=word, arguments=given, at=column)

    def _of_v(self, word: str, column: int) -> None:
        if word in ONLY_V:
            self._object(4220, column, f"{word} is V")

    @_rule
    def switch(self, meta: Meta, word: Token, state: Token, *rest: object) -> nodes.Switch:
        """On or off."""
        self._of_v(str(word), column_of(meta))
        return nodes.Switch(word=str(word), on=state == "ON", at=column_of(meta))

    @_rule
    def compliance(self, meta: Meta, *_: object) -> nodes.Compliance:
        """Known by name only."""
        return nodes.Compliance(at=column_of(meta))

    @_rule
    def move(self, meta: Meta, inner: nodes.Move) -> nodes.Move:
        """One of the four forms below."""
        return inner

    @_rule
    def mov(self, meta: Meta, *parts: Any) -> nodes.Move:
        """A move with targets; its words and commas are still among the parts."""
        word, *rest, kind, beside = parts
        values = [part for part in rest if part is not None and not isinstance(part, Token)]
        count = 3 if str(word) in ("MVR", "MVR2", "MVR3", "MVC") else 1
        return nodes.Move(
            word=str(word),
            points=tuple(values[:count]),
            distance_mm=values[count] if len(values) > count else None,
            type=kind,
            beside=beside,
            at=column_of(meta),
        )

    mvs = arc = mva = mov

    @_rule
    def mvs_here(self, meta: Meta, *parts: Any) -> nodes.Move:
        """``MVS ,50``."""
        *_, distance, kind, beside = parts
        return nodes.Move(word="MVS", points=(), distance_mm=distance, type=kind, beside=beside, at=column_of(meta))

    @_rule
    def type(
        self, meta: Meta, first: nodes.Expression, second: nodes.Expression
    ) -> tuple[nodes.Expression, nodes.Expression]:
        """The two constants of a TYPE."""
        return first, second

    @_rule
    def wth(self, meta: Meta, action: nodes.Assign | nodes.Word) -> nodes.Beside:
        """Done when the move starts."""
        return nodes.Beside(action=action)

    @_rule
    def wthif(self, meta: Meta, condition: nodes.Expression, action: nodes.Assign | nodes.Word) -> nodes.Beside:
        """Done when the condition holds."""
        return nodes.Beside(action=action, condition=condition)

    @_rule
    def hlt_or_skip(self, meta: Meta, token: Token) -> nodes.Word:
        """What a move may be ended by."""
        return nodes.Word(word=str(token), at=column_of(meta))

    # -- flow ----------------------------------------------------------------------------------------------------------

    @_rule
    def label_target(self, meta: Meta, token: Token) -> nodes.Target:
        """A label."""
        return nodes.Target(to=label_name(token), at=column_of(meta))

    @_rule
    def number_target(self, meta: Meta, token: Token) -> nodes.Target:
        """A line number."""
        if not token.isdigit():
            raise ProgramError(4220, f"{token} is not a line number", allowed="1 to 32767, or a label")
        return nodes.Target(to=int(token), at=column_of(meta))

    @_rule
    def jump(self, meta: Meta, word: Token, target: nodes.Target) -> nodes.Jump:
        """GOTO or GOSUB."""
        return nodes.Jump(word=str(word), target=target, at=column_of(meta))

    @_rule
    def on_jump(self, meta: Meta, *parts: Any) -> nodes.OnJump:
        """A choice of targets; words and commas are still among the parts."""
        targets = tuple(part for part in parts if isinstance(part, nodes.Target))
        return nodes.OnJump(selector=parts[1], word=str(parts[2]), targets=targets, at=column_of(meta))

    @_rule
    def if_line(
        self,
        meta: Meta,
        condition: nodes.Expression,
        then: nodes.Statement | nodes.Target,
        otherwise: nodes.Statement | nodes.Target | None,
    ) -> nodes.If:
        """IF on one line; a bare target is a GOTO."""
        return nodes.If(
            condition=condition,
            then=_as_jump(then),
            otherwise=None if otherwise is None else _as_jump(otherwise),
            at=column_of(meta),
        )

    @_rule
    def if_jump(
        self,
        meta: Meta,
        condition: nodes.Expression,
        then: nodes.Jump,
        otherwise: nodes.Statement | nodes.Target | None,
    ) -> nodes.If:
        """IF without THEN."""
        self._object(4220, then.at, "THEN is missing before the jump")
        return nodes.If(
            condition=condition,
            then=then,
            otherwise=None if otherwise is None else _as_jump(otherwise),
            at=column_of(meta),
        )

    @_rule
    def if_block(self, meta: Meta, condition: nodes.Expression) -> nodes.IfBlock:
        """IF that goes on below."""
        return nodes.IfBlock(condition=condition, at=column_of(meta))

    @_rule
    def else_if(self, meta: Meta, condition: nodes.Expression) -> nodes.IfBlock:
        """Another branch."""
        self._object(4220, column_of(meta), "ELSEIF is V")
        return nodes.IfBlock(condition=condition, word="ELSEIF", at=column_of(meta))

    @_rule
    def marker(self, meta: Meta, token: Token) -> nodes.Marker:
        """Part of a block."""
        return nodes.Marker(word=str(token), at=column_of(meta))

    @_rule
    def end_if(self, meta: Meta) -> nodes.Marker:
        """``END IF`` in two words."""
        self._object(4220, column_of(meta), "ENDIF is one word")
        return nodes.Marker(word="ENDIF", at=column_of(meta))

    @_rule
    def end_select(self, meta: Meta) -> nodes.Marker:
        """``END SELECT``."""
        return nodes.Marker(word="END SELECT", at=column_of(meta))

    @_rule
    def for_loop(
        self,
        meta: Meta,
        variable: nodes.Variable,
        first: nodes.Expression,
        last: nodes.Expression,
        step: nodes.Expression | None,
    ) -> nodes.For:
        """A counted loop."""
        return nodes.For(variable=variable, first=first, last=last, step=step, at=column_of(meta))

    @_rule
    def next(self, meta: Meta, variables: tuple[nodes.Variable, ...] | None) -> nodes.Next:
        """End of counted loops."""
        return nodes.Next(variables=variables or (), at=column_of(meta))

    @_rule
    def while_loop(self, meta: Meta, condition: nodes.Expression) -> nodes.While:
        """A loop with a condition."""
        return nodes.While(condition=condition, at=column_of(meta))

    @_rule
    def select(self, meta: Meta, value: nodes.Expression) -> nodes.Select:
        """A choice."""
        return nodes.Select(value=value, at=column_of(meta))

    @_rule
    def case_value(self, meta: Meta, value: nodes.Expression) -> nodes.Case:
        """One value."""
        return nodes.Case(operator="=", value=value, at=column_of(meta))

    @_rule
    def case_range(self, meta: Meta, first: nodes.Expression, last: nodes.Expression) -> nodes.Case:
        """A range of values."""
        return nodes.Case(operator="TO", value=first, last=last, at=column_of(meta))

    @_rule
    def case_is(self, meta: Meta, operator: Token, value: nodes.Expression) -> nodes.Case:
        """A comparison."""
        return nodes.Case(operator=SPELLINGS.get(operator, str(operator)), value=value, at=column_of(meta))

    # -- definitions ---------------------------------------------------------------------------------------------------

    @_rule
    def def_act(self, meta: Meta, _: Token, number: Any, condition: Any, jump: nodes.Jump, mode: Any) -> nodes.DefAct:
        """An interrupt."""
        if mode not in (None, "S", "L"):
            raise ProgramError(4220, f"DEF ACT ends with {mode}", allowed="S (stop at once) or L (finish the line)")
        return nodes.DefAct(number=number, condition=condition, jump=jump, mode=str(mode or ""), at=column_of(meta))

    @_rule
    def act_switch(self, meta: Meta, number: nodes.Expression, value: nodes.Expression) -> nodes.ActSwitch:
        """Let an interrupt through, or not."""
        return nodes.ActSwitch(number=number, value=value, at=column_of(meta))

    @_rule
    def def_function(
        self, meta: Meta, _: Token, name: Token, parameters: tuple[str, ...], value: nodes.Expression
    ) -> nodes.DefFunction:
        """A function of the user's own."""
        if not name.startswith("FN"):
            raise ProgramError(4220, f"DEF {name}", allowed="a type, ACT, PLT, ARCH, IO, or a name that begins with FN")
        return nodes.DefFunction(name=str(name), parameters=parameters, value=value, at=column_of(meta))

    @_rule
    def def_type(self, meta: Meta, token: Token) -> str:
        """Its text."""
        return str(token)

    @_rule
    def declared(
        self, meta: Meta, name: Token, size: tuple[nodes.Expression, ...] | None, value: nodes.Expression | None
    ) -> nodes.Declared:
        """One name."""
        return nodes.Declared(name=str(name), size=size or (), value=value, at=column_of(meta))

    @_rule
    def declare(self, meta: Meta, _: Token, kind: str, *items: nodes.Declared) -> nodes.Declare:
        """Names of one type."""
        return nodes.Declare(type=kind, items=items, at=column_of(meta))

    @_rule
    def declare_constant(self, meta: Meta, *parts: Any) -> nodes.Declare:
        """Names that cannot be assigned to later."""
        self._object(4220, column_of(meta), "CONST is V")
        items = tuple(part for part in parts if isinstance(part, nodes.Declared))
        kind = next((part for part in parts if isinstance(part, str) and not isinstance(part, Token)), "")
        if any(item.value is None for item in items):
            raise ProgramError(4220, "CONST without a value", allowed="name=value")
        return nodes.Declare(type=kind, items=items, constant=True, at=column_of(meta))

    @_rule
    def dim(self, meta: Meta, _: Token, *items: nodes.Declared) -> nodes.Declare:
        """Arrays."""
        if not all(1 <= len(item.size) <= 3 for item in items):
            raise ProgramError(4220, "DIM without a size", allowed="1 to 3 sizes in brackets")
        return nodes.Declare(type="", items=items, at=column_of(meta))

    @_rule
    def width(self, meta: Meta, token: Token) -> str:
        """Its text."""
        return str(token)

    @_rule
    def def_io(
        self, meta: Meta, _: Token, name: Token, width: str, first: nodes.Expression, mask: nodes.Expression | None
    ) -> nodes.DefIo:
        """A name for signals."""
        return nodes.DefIo(name=str(name), width=width, first=first, mask=mask, at=column_of(meta))

    # -- lines, calls --------------------------------------------------------------------------------------------------

    @_rule
    def open(self, meta: Meta, device: nodes.Expression, mode: str | None, number: nodes.Expression) -> nodes.Open:
        """Open a line or file."""
        return nodes.Open(device=device, number=number, mode=mode or "", at=column_of(meta))

    @_rule
    def open_mode(self, meta: Meta, token: Token) -> str:
        """INPUT, OUTPUT or APPEND."""
        return str(token)

    @_rule
    def for_input(self, meta: Meta) -> str:
        """INPUT is a word elsewhere."""
        return "INPUT"

    @_rule
    def close(self, meta: Meta, *numbers: nodes.Expression | None) -> nodes.Close:
        """Close some, or all."""
        return nodes.Close(numbers=tuple(n for n in numbers if n is not None), at=column_of(meta))

    @_rule
    def separator(self, meta: Meta, token: Token) -> str:
        """Its text."""
        return str(token)

    @_rule
    def print(self, meta: Meta, number: nodes.Expression, *items: nodes.Expression | str | None) -> nodes.Print:
        """Text to a line."""
        return nodes.Print(number=number, items=tuple(i for i in items if i is not None), at=column_of(meta))

    @_rule
    def input(self, meta: Meta, number: nodes.Expression, variables: tuple[nodes.Variable, ...]) -> nodes.Input:
        """Data from a line."""
        return nodes.Input(number=number, variables=variables, at=column_of(meta))

    @_rule
    def call(self, meta: Meta, name: nodes.Expression, *arguments: nodes.Expression) -> nodes.Call:
        """Another program."""
        return nodes.Call(name=name, arguments=arguments, at=column_of(meta))

    @_rule
    def parameters(self, meta: Meta, variables: tuple[nodes.Variable, ...]) -> nodes.Parameters:
        """What a called program receives."""
        return nodes.Parameters(variables=variables, at=column_of(meta))

    @_rule
    def com_switch(self, meta: Meta, *parts: Any) -> nodes.ComSwitch:
        """Interrupts of a line; the word and the brackets are still among the parts."""
        return nodes.ComSwitch(number=parts[2], word=str(parts[-1]), at=column_of(meta))

    @_rule
    def on_com(self, meta: Meta, number: nodes.Expression, target: nodes.Target) -> nodes.OnCom:
        """Where to go when data arrive."""
        return nodes.OnCom(number=number, target=target, at=column_of(meta))


def check_name(text: str, column: int, objections: list[Objection]) -> None:
    """Look at the length and the characters of a variable's name."""
    plain = text.rstrip("$" + TYPE_SUFFIXES)
    if len(plain) > LOOSE_NAME:
        raise ProgramError(4300, f"{text} has {len(plain)} characters", allowed=f"{STRICT_NAME}, in V {LOOSE_NAME}")
    if len(plain) > STRICT_NAME:
        objections.append(Objection(4300, column, f"{text} has {len(plain)} characters"))
    if text[-1] in TYPE_SUFFIXES:
        objections.append(Objection(4310, column + len(text) - 1, f"{text[-1]} after a name is V"))
    if "_" in plain[:1] + plain[2:]:
        detail = f"_ in {text}; in IV only second, for system variables"
        objections.append(Objection(4310, column + plain.rindex("_"), detail))


def check_label(text: str, column: int, objections: list[Objection]) -> None:
    """Look at the length of a label, star included in `text`."""
    name = label_name(text)
    if len(name) > LOOSE_NAME:
        raise ProgramError(4300, f"*{name} has {len(name)} characters", allowed=f"{STRICT_NAME}, in V {LOOSE_NAME}")
    if len(name) > STRICT_NAME:
        objections.append(Objection(4300, column, f"*{name} has {len(name)} characters"))
    if "_" in name:
        objections.append(Objection(4310, column + text.index("_"), f"_ in label *{name}"))


def label_name(text: str) -> str:
    """A label without its star, and without blanks between: the maker's help writes ``* SUB1``, and ``GOSUB *SUB1``."""
    return text[1:].lstrip(BLANKS)


def _as_jump(branch: nodes.Statement | nodes.Target) -> nodes.Statement:
    return nodes.Jump(word="GOTO", target=branch, at=branch.at) if isinstance(branch, nodes.Target) else branch


def _plain_wait(condition: nodes.Expression | None) -> bool:
    return isinstance(condition, nodes.Binary) and condition.operator == "=" and _is_number(condition.right)


def _is_number(node: nodes.Expression) -> bool:
    return isinstance(node, nodes.Number)


class Dialect(Enum):
    """Which spelling is accepted."""

    STRICT = "strict"
    LOOSE = "loose"


def first_objection(objections: Sequence[Objection]) -> Objection | None:
    """The leftmost."""
    return min(objections, key=lambda objection: objection.column, default=None)
