"""Units: degrees and millimetres at the edge, radians and metres inside."""

from __future__ import annotations

import math

MM = 1e-3
DEG = math.pi / 180.0
