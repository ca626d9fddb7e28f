"""Colours of Okabe and Ito, which people with any kind of colour vision tell apart, and dashes that do it without.

Their source: M. Okabe, K. Ito, Color Universal Design, 2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILLION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY, LIGHT = "#666666", "#DDDDDD"

COMMANDED, SIMULATED, REPORTED, WRONG = BLACK, BLUE, GREEN, VERMILLION

SERIES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION)
"""Of things of one kind, the joints above all; yellow is not seen on white, and black is
the whole arm."""

SOLID, DASHED, DOTTED, DASH_DOT, SHORT, LONG = (
    "-",
    (0, (5.0, 1.8)),
    (0, (1.2, 1.4)),
    (0, (6.0, 1.8, 1.4, 1.8)),
    (0, (2.6, 1.6)),
    (0, (9.0, 2.6)),
)
DASHES: tuple[Any, ...] = (SOLID, DASHED, DOTTED, DASH_DOT, SHORT, LONG)

Style = Mapping[str, Any]
"""Of a line, by the names that matplotlib has for it."""

SIGNALS: Mapping[str, Style] = {
    "commanded": {"color": COMMANDED, "linestyle": SOLID, "linewidth": 1.1},
    "simulated": {"color": SIMULATED, "linestyle": DASHED, "linewidth": 1.3},
    "reported": {"color": REPORTED, "linestyle": DOTTED, "linewidth": 1.5},
}
LIMIT: Style = {"color": VERMILLION, "linestyle": (0, (8.0, 2.0, 1.0, 2.0)), "linewidth": 0.8}
SOFT_LIMIT: Style = {"color": GREY, "linestyle": (0, (8.0, 2.0, 1.0, 2.0, 1.0, 2.0)), "linewidth": 0.8}


class Entry(NamedTuple):
    """A line of the key.

    Attributes:
        label: its words.
        style: of the line, or of the area if `area`.
        area: drawn as a small area.
    """

    label: str
    style: Style
    area: bool = False


def series(index: int) -> Style:
    """Colour and dashes of one of several like things; no two of the first 36 have both alike."""
    return {
        "color": SERIES[index % len(SERIES)],
        "linestyle": DASHES[(index + index // len(SERIES)) % len(DASHES)],
        "linewidth": 1.2,
    }
