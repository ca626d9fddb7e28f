"""The targets of a whole motion for a CR1, as `Rv2ajDriver` would make them; of requests only some will leave."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drivers._rv2aj_mxt_codec import joint_data
from hil.errors import CommandError
from hil.link import FloatArray
from hil.units import DEG
from hil.wire_table import WireTable

STEPS_A_DEGREE = 100
PACKET_STEPS = 1000


def wire_table(lower_deg: FloatArray, upper_deg: FloatArray, samples: FloatArray) -> WireTable:
    """The joint constant of each sample, with a 0 in the empty fourth place.

    Raises:
        CommandError: a sample lies outside the controller's joint range.
    """
    natives, degrees = _rounded(lower_deg, upper_deg, samples, STEPS_A_DEGREE)
    lines = [b"(%.2f,%.2f,%.2f,0.00,%.2f,%.2f)" % tuple(row) for row in degrees.tolist()]
    return WireTable("rv2aj", 0, natives, degrees * DEG, lines)


def packet_table(lower_deg: FloatArray, upper_deg: FloatArray, samples: FloatArray) -> WireTable:
    """The joint data of each sample's packet of MXT; errors as for `wire_table`."""
    natives, degrees = _rounded(lower_deg, upper_deg, samples, PACKET_STEPS)
    positions = (degrees * DEG).astype(np.float32).astype(np.float64)
    return WireTable("rv2aj-mxt", 0, natives, positions, [joint_data(row) for row in degrees.tolist()])


def _rounded(
    lower_deg: FloatArray, upper_deg: FloatArray, samples: FloatArray, steps: int
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Samples in whole steps, and the same in degrees."""
    natives = np.rint(samples / DEG * steps).astype(np.int64)
    degrees = natives / steps
    beyond = np.argwhere((degrees < lower_deg - 1e-9) | (degrees > upper_deg + 1e-9))
    if len(beyond):
        row, column = beyond[0].tolist()
        allowed = f"{lower_deg[column]:g} to {upper_deg[column]:g} deg"
        value = float(degrees[row, column])
        raise CommandError(f"sample {row}: {value:.2f} deg; allowed: {allowed}", value=value, allowed=allowed)
    return natives, degrees
