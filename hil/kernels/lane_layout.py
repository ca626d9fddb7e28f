"""How a tile of settings lies in memory: rows of one number each for up to `TILE` settings.

Row ``block * n + k`` belongs to joint k. This text also goes in front of every compiled loop.
"""

TILE = 64
ROW = 72
"""Distance of rows: a power of two would put them all into the same few places of the cache."""

KP, KD, KI, LIMIT, VISCOUS, ARMATURE, FORWARDS, BACKWARDS = range(8)
SETTINGS = 8
"""Blocks of a setting: they come first in the state."""

Q, QD, REACTION, TAU, INTEGRAL, MEASURED, SPEED_SEEN, MEASURED_BEFORE, QUEUED, ASKED = range(8, 18)
STATE_BLOCKS = 18

ERROR_SUM, LARGEST_ERROR, TORQUE_SQUARES, AT_LIMIT, FAILED, FAILED_AT = range(6)
SCORES = 6
"""Blocks of what is counted; of the last two only joint 0 counts."""

BEYOND_ERROR, BEYOND_SPEED, BEYOND_TORQUE = 1.0, 2.0, 3.0

STEP, TICK, LOWER = 0, 1, 2
"""Places in `shared`: step and tick in seconds, n lower and n upper stops, then n wanted positions, speeds and
accelerations."""
