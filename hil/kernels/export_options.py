"""What a user may choose about exported code."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Real(Enum):
    """The number type of exported code."""

    DOUBLE = "double"
    FLOAT = "float"


class Layout(Enum):
    """How exported files are laid out in their folder."""

    PLAIN = "plain"
    ARDUINO = "arduino"


class Options(NamedTuple):
    """Choices for one export.

    Attributes:
        real: number type of the code, where the language has more than one.
        layout: of the folder.
        seed: of the random configurations in the check program.
        vectors: number of configurations that the check program runs per function.
    """

    real: Real = Real.DOUBLE
    layout: Layout = Layout.PLAIN
    seed: int = 1
    vectors: int = 10
