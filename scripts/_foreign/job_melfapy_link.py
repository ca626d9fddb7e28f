"""The data link of melfapy: one pose after the other, each on a connection of its own, to a program that reads them."""

from __future__ import annotations

import json
import os
import sys

from melfapy.Melfa import MelfaDatalink
from seen import until

POSES = (
    ([250.0, 60.0, 440.0, 0.0, 180.0, 0.0, 0.0, 0.0], 13.50),
    ([250.0, 0.0, 450.0, 0.0, 180.0, 0.0, 0.0, 0.0], 0.00),
)
"""Each with where J1 has to be then, in degrees."""


def main() -> None:
    """Both; it reads nothing."""
    host, _, port = os.environ["HIL_FOREIGN_PORT"].removeprefix("socket://").partition(":")
    output, sys.stdout = sys.stdout, sys.stderr
    for pose, j1_deg in POSES:
        MelfaDatalink(pose).listen((host, int(port)))
        until(lambda line, j1_deg=j1_deg: abs(line["joints_deg"][0] - j1_deg) < 0.005)
    json.dump({"sent": len(POSES)}, output)


main()
