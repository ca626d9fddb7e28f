"""Clouds made thin for drawing: every beginning of the points that are kept is spread evenly over all of them.

So a view draws the first few thousand while it is turned, and goes on to millions when it stands still.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from hil.kinematics.workspace.cloud import Cloud, Progress

Singles: TypeAlias = npt.NDArray[np.float32]

SEED = 7


class Thinned(NamedTuple):
    """Points to be drawn.

    Attributes:
        name: of the segment.
        points_m: shape (K, 3), in an order by chance.
        total: of how many they are.
    """

    name: str
    points_m: Singles
    total: int


def thinned(name: str, cloud: Cloud, most: int, told: Progress | None = None) -> Thinned:
    """At most `most` points of a cloud, in an order by chance that is the same every time.

    Memory is that of the points kept, however many the cloud has.
    """
    total = cloud.points
    kept = min(most, total)
    points = np.empty((kept, 3), dtype=np.float32)
    before, filled = 0, 0
    random = np.random.default_rng(SEED)
    for block in cloud.blocks(told):
        # The share of this block, without a gap or a point twice over all blocks.
        end = (before + len(block)) * kept // total
        wanted = end - filled
        if wanted == len(block):
            points[filled:end] = block
        elif wanted:
            points[filled:end] = block[random.choice(len(block), wanted, replace=False)]
        before, filled = before + len(block), end
    return Thinned(name, points[random.permutation(kept)], total)
