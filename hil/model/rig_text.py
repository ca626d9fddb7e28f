"""A rig's or robot's table as the TOML file that a person would write: keys, then tables, comments on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hil.tables import toml_keys


def file_text(table: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """The whole file, ending with a line end.

    Args:
        table: texts, numbers, lists of them, tables, and lists of tables.
        comments: one line each, without the sign.
    """
    lines = [*(f"# {comment}" for comment in comments), *([""] if comments else []), *_lines(table, "")]
    return "\n".join(lines) + "\n"


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    plain = {key: value for key, value in table.items() if not _is_table(value) and not _is_tables(value)}
    yield from toml_keys(plain)
    for key, value in table.items():
        name = f"{path}{key}"
        if _is_table(value):
            # A table that holds nothing but tables needs no line of its own.
            if not value or not all(map(_is_table, value.values())):
                yield from ("", f"[{name}]")
            yield from _lines(value, f"{name}.")
        elif _is_tables(value):
            for row in value:
                yield from ("", f"[[{name}]]")
                yield from _lines(row, f"{name}.")


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))
