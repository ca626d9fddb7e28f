"""Numbers of a lesson as a table that is written to a file, with what they are and in which unit."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import NamedTuple


class Sheet(NamedTuple):
    """A table.

    Attributes:
        heads: of the columns, units included, such as ``q1_deg``.
        rows: numbers and words; an empty text for what is not known.
    """

    heads: tuple[str, ...]
    rows: Sequence[Sequence[float | str]]

    def csv_text(self) -> str:
        """As CSV; numbers read back to the same ones."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.heads)
        writer.writerows([[repr(float(v)) if isinstance(v, int | float) else v for v in row] for row in self.rows])
        return text.getvalue()
