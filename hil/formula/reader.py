"""From text to the tree of a formula: grammar by lark, bounds, and errors with the column and what was meant."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Tree, UnexpectedInput, UnexpectedToken
from lark.exceptions import UnexpectedCharacters, VisitError
from lark.visitors import Transformer_NonRecursive

from hil.formula.errors import FormulaError
from hil.formula.functions import FUNCTIONS, NAMES, OTHER_NAMES
from hil.formula.nodes import (
    CONDITIONS,
    Binary,
    Both,
    Call,
    Choice,
    Comparison,
    Condition,
    Either,
    Name,
    Negation,
    Node,
    Not,
    Number,
    Part,
    parts_of,
)

MOST_CHARACTERS = 2000
MOST_PARTS = 1000
DEEPEST = 100
LARGEST_EXPONENT = 100.0
"""Of a power whose exponent is written as a number."""

KEYWORDS = ("and", "or", "not")

_BETWEEN_DIGITS = re.compile(r"\d+,\d+")

_SPELLED = {
    "\N{MINUS SIGN}": "Write - for it",
    "\N{EN DASH}": "Write - for it",
    "·": "Write * for it",
    "\N{MULTIPLICATION SIGN}": "Write * for it",
    "÷": "Write / for it",
    ":": "Write / for a quotient",
    "²": "Write ^2 for it",
    "³": "Write ^3 for it",
    "√": "Write sqrt(...) for it",
    "°": "Write *deg behind the number, as in 30*deg",
    "π": "Write pi for it",
    "≤": "Write <= for it",
    "≥": "Write >= for it",
    "=": "Write the right side alone; a comparison is <, <=, > or >=, since equality holds for a sample by luck only",
    "!": "A condition is written with <, <=, >, >=, and, or, not",
    "&": "Write and for it",
    "|": "Write or between conditions, abs(...) for a size",
    "[": "Brackets are round: ( )",
    "]": "Brackets are round: ( )",
    "{": "Brackets are round: ( )",
    "}": "Brackets are round: ( )",
    ".": "A number has one point and a digit beside it; nothing else has a point",
    ";": "Leave it out; arguments are parted by commas",
    "%": "Write x - n*floor(x/n) for a remainder",
}


def read_tree(text: str, names: Collection[str]) -> Node:
    """The tree of a formula.

    Args:
        text: the formula.
        names: variables and constants that it may use.

    Raises:
        FormulaError: it is none, it uses something unknown, or it is too large.
    """
    if len(text) > MOST_CHARACTERS:
        raise FormulaError(
            text, MOST_CHARACTERS + 1, f"{len(text)} characters", allowed=f"{MOST_CHARACTERS} characters"
        )
    if not text.strip():
        raise FormulaError(text, 1, "there is no formula", allowed="for example 40*sin(u)")
    builder = _Builder(text, names)
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    return builder.formula(tree)


@cache
def _parser() -> Lark:
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", maybe_placeholders=False)


class _Builder(Transformer_NonRecursive[Token, Any]):
    """Called for every rule of a tree, children first."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        super().__init__(visit_tokens=False)
        self._text, self._names = text, names

    def formula(self, tree: Any) -> Node:
        """The whole, within its bounds."""
        # What lark wraps around an error tells people nothing.
        try:
            part = self.transform(tree) if isinstance(tree, Tree) else tree
        except VisitError as error:
            raise error.orig_exc from None
        self._bound(part)
        return self._number(part)

    def number(self, children: list[Token]) -> Number:
        """A number."""
        (token,) = children
        value = float(token)
        if not math.isfinite(value):
            raise self._error(token, f"{token} is too large", allowed="up to 1e308")
        return Number(value, _column(token))

    def name(self, children: list[Token]) -> Name:
        """A variable or a constant."""
        (token,) = children
        name = str(token)
        if name in self._names:
            return Name(name, _column(token))
        if name in NAMES:
            raise self._error(token, f"{name} stands without brackets", advice=f"Write {name}(...)")
        raise self._unknown(token, "nothing", self._names, NAMES)

    def unary(self, children: list[Any]) -> Node:
        """A sign in front."""
        token, operand = children
        number = self._number(operand)
        return Negation(number, _column(token)) if token == "-" else number

    def binary(self, children: list[Any]) -> Binary:
        """Two with an operation between them."""
        left, token, right = children
        operation = "^" if token == "**" else str(token)
        pair = self._number(left), self._number(right)
        if operation == "^":
            exponent = pair[1].operand if isinstance(pair[1], Negation) else pair[1]
            if isinstance(exponent, Number) and exponent.value > LARGEST_EXPONENT:
                raise FormulaError(
                    self._text,
                    exponent.column,
                    f"the exponent {exponent.value:g} is too large",
                    allowed=f"up to {LARGEST_EXPONENT:g}",
                )
        return Binary(operation, *pair, _column(token))

    def call(self, children: list[Any]) -> Node:
        """A function, or a choice."""
        token, *arguments = children
        name = str(token)
        if name == "if":
            return self._choice(token, arguments)
        if name in self._names and name not in FUNCTIONS:
            raise self._error(token, f"{name} is no function", advice=f"For a product write {name}*(...)")
        if name not in FUNCTIONS:
            raise self._unknown(token, "no function", NAMES, self._names)
        function = FUNCTIONS[name]
        few, many = len(arguments) < function.least, function.most is not None and len(arguments) > function.most
        if few or many or function.most is None:
            self._no_decimal_comma(token)
        if few or many:
            raise self._error(token, f"{name} with {_counted(len(arguments))}", allowed=function.arguments)
        return Call(name, tuple(self._number(argument) for argument in arguments), _column(token))

    def comparison(self, children: list[Any]) -> Comparison:
        """One of < <= > >=."""
        left, token, right = children
        return self._compared(left, token, right)

    def interval(self, children: list[Any]) -> Both:
        """``0 <= u < 1``."""
        low, first, middle, second, high = children
        if first[0] != second[0]:
            raise self._error(second, f"{first} and {second} look in two directions", allowed="as in 0 <= u < 1")
        return Both(self._compared(low, first, middle), self._compared(middle, second, high), _column(first))

    def both(self, children: list[Any]) -> Both:
        """Two conditions at once."""
        one, other = (self._condition(child, child.column) for child in children)
        return Both(one, other, one.column)

    def either(self, children: list[Any]) -> Either:
        """One of two conditions."""
        one, other = (self._condition(child, child.column) for child in children)
        return Either(one, other, one.column)

    def negated(self, children: list[Any]) -> Not:
        """The opposite."""
        (child,) = children
        return Not(self._condition(child, child.column), child.column)

    def _choice(self, token: Token, arguments: list[Part]) -> Choice:
        if len(arguments) < 3 or len(arguments) % 2 == 0:
            self._no_decimal_comma(token)
            raise self._error(
                token,
                f"if with {_counted(len(arguments))}",
                allowed="if(condition, value, otherwise), or more pairs of condition and value before the last value",
            )
        column = _column(token)
        for part in arguments[:-1:2]:
            if not isinstance(part, CONDITIONS):
                self._no_decimal_comma(token)
        conditions = [self._condition(part, column) for part in arguments[:-1:2]]
        values = [self._number(part) for part in arguments[1::2]]
        return Choice(tuple(zip(conditions, values, strict=True)), self._number(arguments[-1]), column)

    def _compared(self, left: Part, token: Token, right: Part) -> Comparison:
        one, other = self._number(left), self._number(right)
        if token[0] == ">":
            one, other = other, one
        return Comparison(one, other, len(token) == 1, _column(token))

    def _number(self, part: Part) -> Node:
        if isinstance(part, CONDITIONS):
            raise FormulaError(
                self._text, part.column, "a condition is no number", allowed="conditions at the front of if(...)"
            )
        return part

    def _condition(self, part: Part, column: int) -> Condition:
        if isinstance(part, CONDITIONS):
            return part
        raise FormulaError(
            self._text, column, "a number is no condition", allowed="a comparison, as in u < 1 or 0 <= u < 1"
        )

    def _no_decimal_comma(self, token: Token) -> None:
        """Refuse ``max(1,5, u)``: the reader cannot tell what was meant."""
        found = _BETWEEN_DIGITS.search(self._text, token.start_pos or 0)
        if found:
            raise _decimal_comma(self._text, found, ". A blank behind a comma parts two numbers")

    def _unknown(self, token: Token, kind: str, first: Iterable[str], second: Iterable[str]) -> FormulaError:
        name = str(token)
        meant = _meant(name, [*first, *second])
        return self._error(
            token,
            f"{kind} is called {name}",
            allowed=", ".join(first),
            advice=f"Did you mean {meant}?" if meant else "",
        )

    def _bound(self, part: Part) -> None:
        count, waiting = 0, [(part, 1)]
        while waiting:
            one, depth = waiting.pop()
            count += 1
            if count > MOST_PARTS:
                raise FormulaError(self._text, 1, f"more than {MOST_PARTS} parts", allowed=f"{MOST_PARTS} parts")
            if depth > DEEPEST:
                raise FormulaError(
                    self._text,
                    one.column,
                    f"nested more than {DEEPEST} deep",
                    allowed=f"{DEEPEST} operations within each other",
                )
            waiting += [(each, depth + 1) for each in parts_of(one)]

    def _error(self, token: Token, detail: str, *, allowed: str = "", advice: str = "") -> FormulaError:
        return FormulaError(self._text, _column(token), detail, allowed=allowed, advice=advice)


def _column(token: Token) -> int:
    return (token.start_pos or 0) + 1


def _counted(count: int) -> str:
    return "1 argument" if count == 1 else f"{count or 'no'} arguments"


def _meant(name: str, known: list[str]) -> str:
    """What was probably meant by a name that nobody knows."""
    raised = {"²": "^2", "³": "^3"}.get(name[-1])
    if raised and name[:-1] in known:
        return f"{name[:-1]}{raised}"
    other = OTHER_NAMES.get(name) or OTHER_NAMES.get(name.lower())
    if other:
        return other
    lower = {candidate.lower(): candidate for candidate in reversed(known)}
    if name.lower() in lower:
        return lower[name.lower()]
    return next(iter(difflib.get_close_matches(name, known, n=1, cutoff=0.6)), "")


def _decimal_comma(text: str, found: re.Match[str], more: str = "") -> FormulaError:
    return FormulaError(
        text,
        found.start() + found[0].index(",") + 1,
        "a comma stands between digits",
        allowed="a decimal point",
        advice=f"Write {found[0].replace(',', '.')} for {found[0]}{more}",
    )


def _syntax_error(text: str, error: UnexpectedInput) -> FormulaError:
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        char = text[at]
        allowed = "numbers, names, + - * / ^ and round brackets"
        advice = _SPELLED.get(char, "No text stands in a formula" if char in "'\"`" else "")
        return FormulaError(text, at + 1, f"{char!r} found", allowed=allowed, advice=advice)
    assert isinstance(error, UnexpectedToken)
    token: Token = error.token
    if token.type == "$END":
        opened = text.count("(") - text.count(")")
        what = "the formula is not complete"
        advice = f"Close {'a bracket' if opened == 1 else f'{opened} brackets'}" if opened > 0 else ""
        return FormulaError(
            text, len(text.rstrip()) + 1, what, allowed="a number, a name, (" * (not advice), advice=advice
        )
    at = token.start_pos or 0
    if token.type == "COMMA":
        found = next((each for each in _BETWEEN_DIGITS.finditer(text) if each.start() < at < each.end()), None)
        if found:
            return _decimal_comma(text, found)
        return FormulaError(text, at + 1, "a comma stands here", advice="Commas part the arguments of a function")
    expects_operator = "PLUS_MINUS" in (error.accepts or error.expected) and "NUMBER" not in (error.accepts or ())
    if expects_operator and token.type in ("NAME", "NUMBER", "LPAR"):
        return FormulaError(
            text,
            at + 1,
            f"{str(token)!r} stands where an operation is expected",
            allowed="+ - * / ^ between two values",
            advice=_product(text, at),
        )
    if token.type == "RPAR":
        closed_early = text[:at].count("(") <= text[:at].count(")")
        what = "a bracket closes that was never opened" if closed_early else "')' stands where a value is expected"
        return FormulaError(text, at + 1, what)
    if token.type == "COMPARISON":
        return FormulaError(text, at + 1, f"{str(token)!r} stands here", allowed="as in u < 1 or 0 <= u < 1")
    return FormulaError(text, at + 1, f"{str(token)!r} stands where a value is expected", allowed="a number, a name, (")


def _product(text: str, at: int) -> str:
    """``2 u`` and ``sin u`` as they have to be written."""
    left = re.search(r"[\w.]+\s*$", text[:at])
    right = re.match(r"[\w.]+", text[at:])
    if left and left[0].strip() in NAMES:
        return f"Write {left[0].strip()}(...)"
    if not left or not right:
        return "For a product write *"
    return f"For a product write {left[0].strip()}*{right[0]}{'(...)' if right[0] in NAMES else ''}"
