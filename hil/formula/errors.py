"""What is wrong with a formula, and where."""

from __future__ import annotations

from collections.abc import Mapping

from hil.errors import HilError

EXCERPT = 72
"""Characters of a formula that are shown at most, around the place."""


class FormulaError(HilError):
    """A formula cannot be read.

    Attributes:
        text: the formula.
        column: of the first character concerned, from 1.
        detail: what was found there.
        allowed: what may stand there, or how large it may be.
        advice: what to write instead; empty where that cannot be told.
        what: what the formula is for, for example ``x``.
    """

    def __init__(
        self, text: str, column: int, detail: str, *, allowed: str = "", advice: str = "", what: str = ""
    ) -> None:
        self.text, self.column, self.detail = text, column, detail
        self.allowed, self.advice, self.what = allowed, advice, what
        super().__init__(f"{what or 'formula'}, column {column}: {self.sentence}\n{caret_lines(text, column)}")

    @property
    def sentence(self) -> str:
        """Without the place."""
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{self.detail}{allowed}{f'. {self.advice}' if self.advice else ''}"

    def called(self, what: str) -> FormulaError:
        """The same of a formula that is for something."""
        return FormulaError(self.text, self.column, self.detail, allowed=self.allowed, advice=self.advice, what=what)


class OutsideDomainError(HilError):
    """A formula has no finite value at a place that was asked for.

    Attributes:
        text: the formula.
        column: of the function or operation that has none, from 1.
        detail: that operation with the number it was given, for example ``sqrt of -0.3``.
        place: the variables there, in their declared units.
        sample: index of the first such sample among those asked for.
        what: what the formula is for.
        allowed: what the operation takes.
    """

    def __init__(
        self,
        text: str,
        column: int,
        detail: str,
        place: Mapping[str, float],
        *,
        sample: int = 0,
        what: str = "",
        allowed: str = "",
        units: Mapping[str, str] | None = None,
    ) -> None:
        self.text, self.column, self.detail, self.place = text, column, detail, dict(place)
        self.sample, self.what, self.allowed = sample, what, allowed
        unit = units or {}
        where = ", ".join(f"{name} = {value:.6g} {unit.get(name, '')}".rstrip() for name, value in place.items())
        at = f" at {where}" if where else ""
        rule = f"; allowed: {allowed}" if allowed else ""
        super().__init__(
            f"{what or 'formula'}, column {column}: outside its domain{at}: {detail}{rule}\n{caret_lines(text, column)}"
        )


def caret_lines(text: str, column: int) -> str:
    """The formula, or the part of it around the column, and below it a caret."""
    flat = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
    flat = flat.replace("\t", " ")
    first = max(0, min(column - 1 - EXCERPT // 2, len(flat) - EXCERPT))
    part = flat[first : first + EXCERPT]
    before = "..." if first else ""
    after = "..." if first + EXCERPT < len(flat) else ""
    return f"    {before}{part}{after}\n    {' ' * (len(before) + column - 1 - first)}^"
