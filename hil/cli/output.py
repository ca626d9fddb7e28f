"""What commands print: tables for people, JSON for programs, one line for what went wrong."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


GAP = 2
"""Blanks between two columns."""


def console() -> Console:
    """The console for people; plain text where the output is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def print_json(value: Any) -> None:
    """One JSON document with records, enums and bytes as msgspec writes them."""
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value)).decode())


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table; numbers are expected as text that already carries its unit in the column's name.

    Where the terminal is narrow, cells wrap between words; where not even the words fit beside each other, every row
    becomes a block of lines. Nothing is cut off, and no name is broken.
    """
    from rich.box import SIMPLE
    from rich.table import Table
    from rich.text import Text

    out, cells = console(), [list(row) for row in rows]
    words = [_longest_word([name, *column]) for name, *column in zip(columns, *cells, strict=True)]
    if sum(words) + GAP * len(words) + 1 > out.width:
        _print_blocks(title, columns, cells, out.width)
        return
    table = Table(
        title=Text(title) if title else None, box=SIMPLE, title_justify="left", pad_edge=False, collapse_padding=True
    )
    for column, least in zip(columns, words, strict=True):
        table.add_column(column, overflow="fold", min_width=least)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)


def _longest_word(texts: Iterable[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=0)


def _print_blocks(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> None:
    """Row after row, a line for each column that says something."""
    if title:
        print(title)
    for first, *rest in rows:
        print(f"\n{first}")
        for column, cell in zip(columns[1:], rest, strict=True):
            if cell:
                text = f"{column}: {cell}" if column else cell
                print(textwrap.fill(text, max(width, 20), initial_indent="  ", subsequent_indent="    ",
                                    break_long_words=False, break_on_hyphens=False))  # fmt: skip


def complain(message: str) -> None:
    """Say on standard error what went wrong."""
    print(message, file=sys.stderr)
