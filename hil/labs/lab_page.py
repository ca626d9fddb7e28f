"""Reads a lab: one Markdown page with its commands, its files, and its numbers as tables.

The page is what a student reads and what the runner runs; there is no second text that could say something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from hil.errors import ConfigError
from hil.labs.lab_numbers import NumberPattern
from hil.types import Record

SECTIONS = ("Aim", "Theory", "Steps", "Questions")
"""Headings that every lab has; a misprint of a paper is told under Theory."""

HEAD = ("time", "arm", "paper")
"""Rows that the table below every title has."""

COLUMNS = ("number", "read at", "expected", "tolerance", "source")
"""Head of a table that is data."""

REFUSED = "# refused: exit code 1"
LONG = "# long"
"""Marks behind a command: it ends with 1; it is left out of a short run."""

_FENCE = re.compile(r"^```(?P<kind>\w*)$")
_NAMED = re.compile(r"(?P<name>[\w-]+\.(?:toml|mb4|pos|csv|txt))\s*$")
_MARK = re.compile(r"\s+(?P<mark># .*)$")
_ROW = re.compile(r"^\|(?P<cells>.*)\|\s*$")


class BlockKind(Enum):
    """What a block of a page is for."""

    CONSOLE = "console"
    PYTHON = "python"
    FILE = "file"


class Expected(NamedTuple):
    """A number that has to come out.

    Attributes:
        name: what it is, with its unit.
        pattern: where it stands in what was printed.
        value: as the page has it.
        tolerance: how far the printed one may be away.
        source: where the number is from.
        line: of the page, from 1.
    """

    name: str
    pattern: NumberPattern
    value: float
    tolerance: float
    source: str
    line: int


class LabCommand(NamedTuple):
    """A line that is typed.

    Attributes:
        typed: the words, without the prompt.
        code: exit code that it has to end with.
        long: whether a short run leaves it out.
        shown: lines of its output that the page shows; ``...`` stands for anything.
        line: of the page, from 1.
    """

    typed: str
    code: int
    long: bool
    shown: tuple[str, ...]
    line: int


class Block(Record, frozen=True):
    """A fenced block, with the numbers that belong to what it prints.

    Attributes:
        kind: what it is for.
        text: as it stands in the page.
        line: of the page, from 1.
        file: name of the file that it is; empty if it is none.
        commands: of a console block.
        numbers: of the tables between this block and the next.
    """

    kind: BlockKind
    text: str
    line: int
    file: str = ""
    commands: tuple[LabCommand, ...] = ()
    numbers: tuple[Expected, ...] = ()

    @property
    def long(self) -> bool:
        """Whether a short run leaves it out."""
        if self.kind is BlockKind.CONSOLE:
            return all(command.long for command in self.commands)
        return self.text.startswith(LONG)


class Lab(Record, frozen=True):
    """One lab.

    Attributes:
        name: of its file, without the ending.
        title: its first heading.
        head: the table below the title, by its first column.
        aim: first paragraph of that section.
        text: the whole page.
        blocks: in the order of the page.
    """

    name: str
    title: str
    head: dict[str, str]
    aim: str
    text: str
    blocks: tuple[Block, ...]

    @property
    def numbers(self) -> tuple[Expected, ...]:
        """All numbers that have to come out."""
        return tuple(number for block in self.blocks for number in block.numbers)


def read_lab(text: str, name: str) -> Lab:
    """Read a page.

    Args:
        text: of the page.
        name: for the lab and for what is said about it.

    Raises:
        ConfigError: a section or a row is missing, a block does not end, or a row of numbers cannot be read.
    """
    lines = text.splitlines()
    title = lines[0].removeprefix("# ").strip() if lines and lines[0].startswith("# ") else ""
    if not title:
        raise ConfigError(name, "line 1", lines[0] if lines else None, "a heading, # and the lab's title")
    parts = list(_parts(lines, name))
    headings = [words for words in map(_heading, (line for _, line in _prose(parts))) if words]
    for section in SECTIONS:
        if section not in headings:
            raise ConfigError(name, "sections", ", ".join(headings), f"all of {', '.join(SECTIONS)}")
    head = dict(_head(_prose(parts)))
    for row in HEAD:
        if row not in head:
            raise ConfigError(name, "table below the title", ", ".join(head), f"rows {', '.join(HEAD)}")
    return Lab(name, title, head, _paragraph_after("## Aim", lines), text, tuple(_blocks(parts, name)))


class _Fenced(NamedTuple):
    kind: str
    line: int
    text: str


_Part = _Fenced | tuple[int, str]


def _parts(lines: Sequence[str], name: str) -> Iterator[_Part]:
    """Fenced blocks, and the lines between them with their numbers."""
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        fence = _FENCE.match(line)
        if fence is None:
            yield number, line
            continue
        inside = []
        for _, within in rest:
            if within == "```":
                break
            inside.append(within)
        else:
            raise ConfigError(name, f"line {number}", line, "a block that ends with ```")
        yield _Fenced(fence["kind"], number, "\n".join(inside))


def _prose(parts: Sequence[_Part]) -> list[tuple[int, str]]:
    return [part for part in parts if not isinstance(part, _Fenced)]


def _heading(line: str) -> str:
    return line.removeprefix("## ").strip() if line.startswith("## ") else ""


def _head(prose: Sequence[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Rows of two cells before the first section."""
    for _, line in prose:
        if _heading(line):
            return
        cells = _cells(line)
        if cells is not None and len(cells) == 2 and cells[0] and not set(cells[0]) <= set("-: "):
            yield cells[0], cells[1]


def _paragraph_after(heading: str, lines: Sequence[str]) -> str:
    found: list[str] = []
    for line in lines[lines.index(heading) + 1 :]:
        if line.strip():
            found.append(line.strip())
        elif found:
            break
    return " ".join(found)


def _blocks(parts: Sequence[_Part], name: str) -> Iterator[Block]:
    """Blocks that mean something, each with the tables behind it."""
    current: Block | None = None
    numbers: list[Expected] = []
    table = False
    for part in parts:
        if isinstance(part, _Fenced):
            found = _block(part, name)
            if found is not None:
                if current is not None:
                    yield _with(current, numbers)
                current, numbers = found, []
            table = False
            continue
        line_number, line = part
        cells = _cells(line)
        if cells is None:
            table = False
        elif tuple(cells) == COLUMNS:
            table = True
            if current is None or current.kind is BlockKind.FILE:
                raise ConfigError(name, f"line {line_number}", line.strip(), "a table of numbers behind a command")
        elif table and not set("".join(cells)) <= set("-: "):
            numbers.append(_expected(cells, name, line_number))
    if current is not None:
        yield _with(current, numbers)


def _with(block: Block, numbers: Sequence[Expected]) -> Block:
    return Block(block.kind, block.text, block.line, block.file, block.commands, tuple(numbers))


def _block(part: _Fenced, name: str) -> Block | None:
    """A block that is run or written; None if it is only shown."""
    if part.kind == "console":
        return Block(BlockKind.CONSOLE, part.text, part.line, commands=tuple(_commands(part, name)))
    if part.kind == "python":
        return Block(BlockKind.PYTHON, part.text, part.line)
    first, _, _ = part.text.partition("\n")
    named = _NAMED.search(first)
    if named is not None and part.kind in ("toml", "basic"):
        return Block(BlockKind.FILE, f"{part.text}\n", part.line, file=named["name"])
    return None


def _commands(part: _Fenced, name: str) -> Iterator[LabCommand]:
    """Lines behind a prompt, each with the output shown below it."""
    number, lines = part.line, part.text.splitlines()
    if not lines or not lines[0].startswith("$ "):
        raise ConfigError(name, f"line {number + 1}", lines[0] if lines else None, "a command behind '$ '")
    starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        typed = lines[start][2:]
        found = _MARK.search(typed)
        mark = "" if found is None else found["mark"]
        if mark not in ("", REFUSED, LONG):
            raise ConfigError(name, f"line {number + 1 + start}", mark, f"{REFUSED} or {LONG}, or nothing")
        words = typed if found is None else typed[: found.start()]
        if not words.startswith("hil "):
            raise ConfigError(name, f"line {number + 1 + start}", words, "a command of hil")
        shown = tuple(lines[start + 1 : end])
        yield LabCommand(words.strip(), int(mark == REFUSED), mark == LONG, shown, number + 1 + start)


def _cells(line: str) -> list[str] | None:
    """Cells of a table's row; a stroke within a cell has a backslash before it."""
    found = _ROW.match(line)
    if found is None:
        return None
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", found["cells"])]


def _expected(cells: Sequence[str], name: str, line: int) -> Expected:
    """A row of numbers.

    Raises:
        ConfigError: it is none.
    """
    if len(cells) != len(COLUMNS):
        raise ConfigError(name, f"line {line}", " | ".join(cells), f"{len(COLUMNS)} cells: {', '.join(COLUMNS)}")
    title, where, value, tolerance, source = cells
    if not source or not title:
        raise ConfigError(name, f"line {line}", title, "a number with its name and its source")
    if not re.fullmatch(r"`[^`]+`", where):
        raise ConfigError(name, f"line {line}, read at", where, "a text between backquotes, with # for the number")
    pattern = NumberPattern(where.strip("`"), f"{name}: line {line}, read at")
    return Expected(title, pattern, _number(value, name, line), _tolerance(tolerance, name, line), source, line)


def _number(text: str, name: str, line: int) -> float:
    try:
        return float(text.replace(" ", ""))
    except ValueError:
        raise ConfigError(name, f"line {line}, expected", text, "a number, its unit beside its name") from None


def _tolerance(text: str, name: str, line: int) -> float:
    value = _number(text, name, line)
    if not value >= 0.0:
        raise ConfigError(name, f"line {line}, tolerance", text, "0 or more")
    return value
