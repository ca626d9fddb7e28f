"""Moves that run into each other: while one brakes, the next already starts; tasks and programs blend alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.link import FloatArray

SHARES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Parts of the longest overlap that are tried, longest first."""


def overlapped(rows: FloatArray, after: FloatArray, overlap: int) -> FloatArray:
    """Two moves laid over each other by so many samples: what the second adds to its start is added to the first.

    Args:
        rows: samples of the first, shape (N, n).
        after: of the second, from the end of the first, shape (M, n).
        overlap: samples that both take at once, at most N - 1 and M - 1.
    """
    first = np.concatenate([rows, np.repeat(rows[-1:], len(after) - 1 - overlap, axis=0)])
    second = np.concatenate([np.repeat(after[:1], len(rows) - 1 - overlap, axis=0), after])
    joined: FloatArray = first + (second - after[0])
    joined[-1] = after[-1]
    return joined


def longest_overlap(
    rows: FloatArray, after: FloatArray, most: int, fits: Callable[[FloatArray], bool]
) -> tuple[FloatArray, int]:
    """The moves laid over each other as far as it fits.

    Args:
        rows: samples of the first.
        after: of the second.
        most: samples that may be taken at once.
        fits: whether all samples together keep what they have to.

    Returns:
        All samples, and the overlap; 0 where none fits.
    """
    for share in SHARES:
        overlap = int(most * share)
        if overlap < 1:
            break
        joined = overlapped(rows, after, overlap)
        if fits(joined):
            return joined, overlap
    return np.concatenate([rows, after[1:]]), 0
