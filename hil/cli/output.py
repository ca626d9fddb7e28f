"""What commands print: tables for people, JSON for programs, one line for what went wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


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

    Nothing is cut off where the terminal is narrow: cells are folded.
    """
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(title=title or None, box=SIMPLE, title_justify="left", pad_edge=False, collapse_padding=True)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def complain(message: str) -> None:
    """Say on standard error what went wrong."""
    print(message, file=sys.stderr)
