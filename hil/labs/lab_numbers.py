"""Finds a number in what a command printed: by the words around it, or by its place in JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from hil.errors import ConfigError

NUMBER = r"([-+]?(?:\d{1,3}(?: \d{3})+(?![\d.])|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?))"
"""Also ``5 184``, as tables have large ones."""

_KEYS = re.compile(r"\.(?P<key>\w+)|\[(?P<index>-?\d+)\]")


class NumberPattern:
    """Where a number stands: ``X # Y``, or ``.solutions[0].error`` in JSON.

    Words match with any blanks and line ends between them; ``#`` is the number and ``...`` anything.

    Args:
        text: as a page has it.
        where: whose text it is, for what is said if it is wrong.

    Raises:
        ConfigError: it has not exactly one ``#``, and is no path.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self._path: tuple[str | int, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        if text == ".":
            pass
        elif re.fullmatch(f"(?:{_KEYS.pattern.replace('?P<key>', '?:').replace('?P<index>', '?:')})+", text):
            self._path = tuple(
                found["key"] if found["key"] is not None else int(found["index"]) for found in _KEYS.finditer(text)
            )
        elif text.count("#") == 1:
            parts = [".*?".join(map(_words, part.split("..."))) for part in text.split("#")]
            self._pattern = re.compile(NUMBER.join(parts), re.DOTALL)
        else:
            raise ConfigError(
                where, "pattern", text, "words with one # for the number, or a path as .key[0], or . for all"
            )

    def __repr__(self) -> str:
        return f"NumberPattern({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumberPattern) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def find(self, printed: str) -> float | None:
        """The first such number in what was printed; None if there is none."""
        if self._pattern is None:
            return _at(printed, self._path)
        found = self._pattern.search(printed)
        return None if found is None else float(found[1].replace(" ", ""))


def _words(text: str) -> str:
    """A pattern for words with any blanks between and around them."""
    found = r"\s+".join(map(re.escape, text.split()))
    before = r"\s*" if text[:1].isspace() else ""
    after = r"\s*" if text[-1:].isspace() and text.strip() else ""
    return f"{before}{found}{after}"


def _at(printed: str, path: tuple[str | int, ...]) -> float | None:
    """What stands there in JSON; the length of a list, and 1 and 0 for what is true or not."""
    start = min((printed.find(mark) for mark in "{[" if mark in printed), default=-1)
    if start < 0:
        return None
    try:
        value: Any = json.JSONDecoder().raw_decode(printed[start:])[0]
        for key in path:
            value = value[key]
    except (ValueError, KeyError, IndexError, TypeError):
        return None
    if isinstance(value, list | dict):
        return float(len(value))
    return float(value) if isinstance(value, int | float) else None
