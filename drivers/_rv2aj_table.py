"""The targets of a whole motion for a CR1, as `Rv2ajDriver` would make them; only some of them will leave."""

from __future__ import annotations

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray
from hil.units import DEG
from hil.wire_table import WireTable

STEPS_A_DEGREE = 100


def wire_table(lower_deg: FloatArray, upper_deg: FloatArray, samples: FloatArray) -> WireTable:
    """The joint constant of each sample, with a 0 in the empty fourth place.

    Raises:
        CommandError: a sample lies outside the controller's joint range.
    """
    natives = np.rint(samples / DEG * STEPS_A_DEGREE).astype(np.int64)
    degrees = natives / STEPS_A_DEGREE
    beyond = np.argwhere((degrees < lower_deg - 1e-9) | (degrees > upper_deg + 1e-9))
    if len(beyond):
        row, column = beyond[0].tolist()
        allowed = f"{lower_deg[column]:g} to {upper_deg[column]:g} deg"
        value = float(degrees[row, column])
        raise CommandError(f"sample {row}: {value:.2f} deg; allowed: {allowed}", value=value, allowed=allowed)
    lines = [b"(%.2f,%.2f,%.2f,0.00,%.2f,%.2f)" % tuple(row) for row in degrees.tolist()]
    return WireTable("rv2aj", 0, natives, degrees * DEG, lines)
