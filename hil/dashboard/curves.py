"""From the history to what is drawn: points of a curve, dashes that move along with it, rows of numbers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.dashboard.arm import ShownArm
from hil.dashboard.history import History, Span
from hil.dashboard.session import QUANTITIES

Floats = npt.NDArray[np.float64]

MOST_EXPORTED = 200_000


class Points(NamedTuple):
    """A curve as it is drawn.

    Attributes:
        x: seconds of the session, shape (p,).
        y: shape (p,).
        joined: whether a point is joined to the next one, shape (p,).
    """

    x: Floats
    y: Floats
    joined: npt.NDArray[np.bool_]


class Dash(NamedTuple):
    """Parts of a period that are drawn and left out; nothing left out for a solid line."""

    drawn: float
    left_out: float


SOLID = Dash(1.0, 0.0)
DASHED = Dash(3.0, 2.0)
DOTTED = Dash(1.0, 2.0)

DASHES = {"commanded": SOLID, "simulated": DASHED, "reported": DOTTED, "error": SOLID, "speed": SOLID}
"""By its dashes a line is told without its colour."""


def column_of(arm: ShownArm, quantity: str, axis: int) -> int:
    """Where the history has a curve."""
    return QUANTITIES.index(quantity) * len(arm.axes) + axis


def points_of(span: Span, column: int, dash: Dash, unit_s: float) -> Points:
    """One curve of a stretch of history.

    Args:
        span: the stretch.
        column: the curve's.
        dash: how it is drawn.
        unit_s: length of a dash's unit in seconds, so that dashes stay where they are while time goes on.
    """
    low, high = span.low[:, column], span.high[:, column]
    joined = ~span.gap
    if span.exact:
        x, y = span.first_s, low.astype(np.float64)
    else:
        # From the end of the one before the nearer extreme comes first: slopes stay slopes.
        middle = np.where(np.isnan(low), 0.0, 0.5 * (low + high))
        rising = np.diff(middle, prepend=middle[:1]) >= 0.0
        y = np.stack([np.where(rising, low, high), np.where(rising, high, low)], axis=1).ravel().astype(np.float64)
        x = np.stack([span.first_s, span.last_s], axis=1).ravel()
        joined = np.stack([np.ones_like(joined), joined], axis=1).ravel()
    known = np.isfinite(y)
    joined = joined & known & np.append(known[1:], False)
    if dash.left_out and len(x) > 1:
        unit_s = max(unit_s, 1.01 * float(np.median(np.diff(x))))
        phase = np.mod(x, (dash.drawn + dash.left_out) * unit_s)
        joined = joined & (phase < dash.drawn * unit_s)
    return Points(x, np.where(known, y, 0.0), joined)


def write_csv(
    path: Path, arm: ShownArm, history: History, columns: list[tuple[str, int]], span_s: tuple[float, float]
) -> int:
    """Write a stretch of curves as numbers.

    Args:
        path: file to write.
        arm: whose curves they are.
        history: where they are kept.
        columns: quantity and axis of each.
        span_s: from when to when.

    Returns:
        How many rows; where single samples are no longer known, each is a bucket's first time, lows and highs.
    """
    span = history.between(*span_s, MOST_EXPORTED)
    inside = (span.last_s >= span_s[0]) & (span.first_s <= span_s[1])
    values: list[npt.NDArray[np.floating]] = [span.first_s]
    exact, head = span.exact, ["t_s"]
    for quantity, axis in columns:
        shown = arm.axes[axis]
        name = f"{quantity}_{shown.name}_{shown.unit_name}" + ("_s" if quantity == "speed" else "")
        at = column_of(arm, quantity, axis)
        head += [name] if exact else [f"{name}_low", f"{name}_high"]
        values += [span.low[:, at]] if exact else [span.low[:, at], span.high[:, at]]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(head)
        table = np.stack(values, axis=1)[inside]
        rows.writerows([["" if np.isnan(value) else f"{value:.9g}" for value in row] for row in table])
    return len(table)
