"""From a program's text to its lines: line numbers, labels, comments, statements, and the points at its end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

from lark import Lark, Token, UnexpectedInput, UnexpectedToken
from lark.exceptions import UnexpectedCharacters, VisitError

from hil.paths.point_list import PointName
from hil.program import nodes, slips
from hil.program.builder import BLANKS, Builder, Dialect, Objection, check_label, first_objection, label_name
from hil.program.errors import Place, ProgramError
from hil.program.points import PointList, parse_point
from hil.program.values import Value
from hil.types import Record

STRICT_LENGTH, LOOSE_LENGTH = 127, 255
LARGEST_NUMBER = 32767
MOST_LINES = 20_000

HEAD = re.compile(
    r"[ \t\u3000]*(?P<number>\d+)?[ \t\u3000]*"
    r"(?P<label>\*[ \t\u3000]*[A-Z][A-Z0-9_]*)?[ \t\u3000]*(?P<colon>:)?[ \t\u3000]*"
)
MOST_EXPECTED = 8

ENDS = ("END", "RETURN", "HLT")
"""Words after which nothing falls through to the next line, so that a list of points may follow."""

READABLE = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "LABEL": "a label",
    "HEX": "",
    "BINARY": "",
    "COMPARISON": "a comparison",
    "OR_XOR": "OR",
    "PLUS_MINUS": "+ or -",
    "SHIFT": "",
    "TIMES": "*",
    "OVER": "/",
    "POWER": "",
    "COMMA": ",",
    "SEMICOLON": ";",
    "EQUAL": "=",
    "LPAR": "(",
    "RPAR": ")",
    "DOT": "",
    "HASH": "#",
    "$END": "the end of the line",
}


class ProgramLine(Record, frozen=True):
    """One line with something to do, or to jump to.

    Attributes:
        row: line of the text, from 1.
        number: its own line number, or None.
        label: without the star; empty if it has none.
        statement: None for a label alone.
        text: as it was written, without number and comment.
        label_at: column of the label's star.
    """

    row: int
    number: int | None
    label: str
    statement: nodes.Statement | None
    text: str
    label_at: int = 1

    def place(self, column: int = 1) -> Place:
        """A place in this line."""
        return Place(row=self.row, column=column, number=self.number)


class Reading(NamedTuple):
    """What a text gave: its lines, its points, and every error, in order."""

    lines: tuple[ProgramLine, ...]
    points: dict[PointName, Value]
    errors: tuple[ProgramError, ...]


class _Raw(NamedTuple):
    """One line of the text, cut up: the code in upper case, in its columns; strings and comment apart."""

    row: int
    text: str
    code: str


def read_lines(text: str, dialect: Dialect, file: str = "", given: Mapping[PointName, Value] | None = None) -> Reading:
    """Read every line, going on after errors.

    Args:
        text: the program; any line ends.
        dialect: strict IV, or also what V allows.
        file: name for messages.
        given: points from a list of their own; the program may give them once more only with the same values.
    """
    errors: list[ProgramError] = []
    raws = [_cut(row, line) for row, line in enumerate(_rows(text), start=1)]
    raws = [raw for raw in raws if raw.code.strip()]
    if len(raws) > MOST_LINES:
        return Reading((), {}, (ProgramError(4220, f"{len(raws)} lines", allowed=f"{MOST_LINES} lines", file=file),))
    numbered = any(re.match(r"\s*\d", raw.code) for raw in raws)
    points, raws = _take_points(raws, numbered, errors, PointList(dialect, file, given))
    lines: list[ProgramLine] = []
    last = 0
    for raw in raws:
        try:
            line = _read(raw, dialect, numbered, last)
        except ProgramError as error:
            found = error.at(Place(row=raw.row), file)
            errors.append(found)
            line = _without_statement(raw, found)
        last = line.number if line.number is not None else last
        lines.append(line)
    return Reading(tuple(lines), points, tuple(errors))


def parse_statement(code: str, dialect: Dialect) -> nodes.Statement:
    """One statement without number, label and comment, as `upper_outside_strings` gives it.

    Args:
        code: the statement; what stands before it in its line may be blanks, to keep its columns.
        dialect: strict IV, or also what V allows.

    Raises:
        ProgramError: it is none; the place has its column, in row 1.
    """
    parser, builder = _parser()
    builder.objections.clear()
    try:
        statement: nodes.Statement = builder.transform(parser.parse(code))
    except UnexpectedInput as error:
        raise _syntax_error(code, error) from None
    except VisitError as error:
        if isinstance(error.orig_exc, ProgramError):
            raise error.orig_exc.at(Place(row=1, column=_indent(code))) from None
        raise
    except ProgramError as error:
        raise error.at(Place(row=1, column=_indent(code))) from None
    if dialect is Dialect.STRICT:
        _refuse(first_objection(builder.objections))
    return statement


def upper_outside_strings(text: str) -> str:
    """ASCII letters in upper case, but for those in strings."""
    return "".join(part if k % 2 else _upper(part) for k, part in enumerate(re.split(r'("[^"]*"?)', text)))


@cache
def _parser() -> tuple[Lark, Builder]:
    builder = Builder()
    grammar = resources.files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    lark = Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=True,
    )
    return lark, builder


# -- one line ----------------------------------------------------------------------------------------------------------


def _rows(text: str) -> list[str]:
    return re.split(r"\r\n|\n|\r", text.replace("\x1a", ""))


def _cut(row: int, text: str) -> _Raw:
    """Tell code from comment; a quote within a string is none."""
    parts, code = re.split(r'("[^"]*"?)', text), []
    for k, part in enumerate(parts):
        if k % 2 == 0 and "'" in part:
            code.append(_upper(part.partition("'")[0]))
            break
        code.append(part if k % 2 else _upper(part))
    bare = "".join(code)
    remark = re.search(r"(?:^|(?<=[\s:]))REM(?:\s.*)?$", bare)
    return _Raw(row, text, bare[: remark.start()] if remark and '"' not in bare[: remark.start()] else bare)


def _upper(text: str) -> str:
    """ASCII letters only: others may change their number when they change their case."""
    return "".join(c.upper() if "a" <= c <= "z" else c for c in text)


def _read(raw: _Raw, dialect: Dialect, numbered: bool, last: int) -> ProgramLine:
    strict = dialect is Dialect.STRICT
    most = STRICT_LENGTH if strict else LOOSE_LENGTH
    if len(raw.text.rstrip()) > most:
        raise ProgramError(
            4210, f"{len(raw.text.rstrip())} characters", allowed=str(most), place=Place(row=raw.row, column=most + 1)
        )
    head = HEAD.match(raw.code)
    assert head is not None  # every part of it may be missing
    number = _line_number(raw, head, strict, numbered, last)
    place = Place(row=raw.row, column=head.end() + 1, number=number)
    label, rest = head["label"] or "", raw.code[head.end() :]
    if head["colon"] and (strict or not label):
        raise ProgramError(4220, "':' found", allowed="a statement", place=_moved(place, head.start("colon") + 1))
    if label:
        place_of_label = _moved(place, head.start("label") + 1)
        _check_label(label, place_of_label, strict)
        if rest.strip() and not head["colon"]:
            after = "nothing, in IV" if strict else "':' before a statement"
            raise ProgramError(4220, f"{rest.strip()[:20]!r} after a label", allowed=after, place=place)
    statement = None
    if rest.strip():
        try:
            statement = parse_statement(" " * head.end() + rest.rstrip(), dialect)
        except ProgramError as error:
            raise ProgramError(
                error.number, error.detail, allowed=error.allowed, place=_moved(place, error.column)
            ) from None
    return ProgramLine(
        row=raw.row,
        number=number,
        label=label_name(label),
        statement=statement,
        text=raw.text[head.end("number") if head["number"] else 0 : len(raw.code.rstrip())].strip(),
        label_at=head.start("label") + 1 if label else 1,
    )


def _line_number(raw: _Raw, head: re.Match[str], strict: bool, numbered: bool, last: int) -> int | None:
    digits = head["number"]
    if digits is None:
        if strict or numbered:
            raise ProgramError(
                4220, "the line number is missing", allowed="1 to 32767 before each statement", place=Place(row=raw.row)
            )
        return None
    place = Place(row=raw.row, column=head.start("number") + 1)
    number = int(digits[:9])
    if not 1 <= number <= LARGEST_NUMBER:
        raise ProgramError(4420, digits[:12], allowed=f"1 to {LARGEST_NUMBER}", place=place)
    if number <= last:
        raise ProgramError(4420, f"{number} after {last}", allowed=f"more than {last}", place=place)
    return number


def _check_label(label: str, place: Place, strict: bool) -> None:
    objections: list[Objection] = []
    try:
        check_label(label, place.column, objections)
    except ProgramError as error:
        raise error.at(place) from None
    if strict and objections:
        first = objections[0]
        raise ProgramError(first.number, first.detail, place=_moved(place, first.column))


def _without_statement(raw: _Raw, error: ProgramError) -> ProgramLine:
    """What is left of a line with an error: its number and label, so that jumps to it are not refused as well."""
    head = HEAD.match(raw.code)
    assert head is not None
    number = error.place.number if error.place else None
    return ProgramLine(
        row=raw.row, number=number, label=label_name(head["label"] or "*"), statement=None, text=raw.text.strip()
    )


def _moved(place: Place, column: int) -> Place:
    return Place(row=place.row, column=column, number=place.number)


def _indent(code: str) -> int:
    return len(code) - len(code.lstrip()) + 1


def _refuse(objection: Objection | None) -> None:
    if objection is not None:
        raise ProgramError(objection.number, objection.detail, place=Place(row=1, column=objection.column))


# -- syntax errors in words --------------------------------------------------------------------------------------------


def _syntax_error(code: str, error: UnexpectedInput) -> ProgramError:
    start = Place(row=1, column=_indent(code))
    lacking = slips.of_another_controller(code.strip())
    if lacking:
        return ProgramError(4220, f"{code.split()[0]}: {lacking}, which this controller lacks", place=start)
    if isinstance(error, UnexpectedCharacters):
        detail = "a text in quotes has no end" if error.char == '"' else f"{error.char!r} found"
        allowed = slips.sign(error.char) or _expected(error.allowed or ())
        return ProgramError(4220, detail, allowed=allowed, place=Place(row=1, column=error.column))
    assert isinstance(error, UnexpectedToken)
    token: Token = error.token
    first = re.match(r"\s*([A-Z]\w*[$%!#&]?)", code)
    accepts = {str(name) for name in error.accepts or error.expected}
    if first and accepts <= {"EQUAL", "LPAR", "DOT"} and code[first.end() : token.start_pos].strip() == "":
        likely = slips.meant(first[1])
        # What follows a name at once, or nothing, may have been meant as an assignment.
        if likely or code[first.end() :][:1] in tuple(BLANKS):
            what = f"{first[1]} is no statement of MELFA-BASIC{': ' if likely else ''}{' or '.join(likely)}"
            return ProgramError(4220, f"{what}?" if likely else what, place=start)
    at_end = token.type == "$END"
    column = len(code.rstrip()) + 1 if at_end else int(token.column or 1)
    detail = "the statement is not complete" if at_end else f"{str(token)!r} found"
    allowed = slips.sign(str(token)) or _expected(accepts)
    return ProgramError(4220, detail, allowed=allowed, place=Place(row=1, column=column))


def _expected(terminals: object) -> str:
    """What might have stood there, in few words."""
    assert isinstance(terminals, set | frozenset | list | tuple)
    words = sorted({READABLE.get(name, name) for name in map(str, terminals)} - {""})
    if len(words) > MOST_EXPECTED:
        return "a statement" if "MOV" in words else f"{', '.join(words[:MOST_EXPECTED])} or other"
    return ", ".join(words)


# -- points at the end -------------------------------------------------------------------------------------------------


def _take_points(
    raws: list[_Raw], numbered: bool, errors: list[ProgramError], points: PointList
) -> tuple[dict[PointName, Value], list[_Raw]]:
    """Cut the list of points off the end; in a program with line numbers it is known by having none."""
    first = len(raws)
    while first and _is_point(raws[first - 1]):
        first -= 1
    if not numbered and first and not _ends(raws[first - 1].code):
        return {}, raws
    for raw in raws[first:]:
        try:
            points.add(raw.code, Place(row=raw.row, column=_indent(raw.text)))
        except ProgramError as error:
            errors.append(error)
    return points.points, raws[:first]


def _is_point(raw: _Raw) -> bool:
    try:
        return parse_point(raw.code) is not None
    except ProgramError:
        return True


def _ends(code: str) -> bool:
    bare = re.sub(r"^\s*(\*\w+:?)?\s*", "", code).strip()
    return bare.split(" ")[0] in (*ENDS, "GOTO")
