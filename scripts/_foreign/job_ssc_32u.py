"""The whole job of ssc-32u: home, single joints by speed and by time, scaled and relative, by velocity, at random."""

from __future__ import annotations

import json
import sys
import time

from seen import until
from ssc_32u.arm import BOUNDS, Arm

HOME = {axis: bounds[2] for axis, bounds in BOUNDS.items()}


def until_at(**pulses_us: float) -> None:
    """Wait until the board makes these pulses: `c0` is channel 0."""
    wanted = {int(name[1:]): pulse_us for name, pulse_us in pulses_us.items()}
    until(lambda line: all(line["pulses_us"][channel] == pulse_us for channel, pulse_us in wanted.items()))


def main() -> None:
    """All of it; it never reads, so what it believes is all that it can say."""
    arm = Arm(fps=10)
    arm.go_home()
    until_at(c0=1600.0, c3=1900.0)
    arm.set_position(0, 9999, time=200)
    until_at(c0=2500.0)
    believed = arm.positions[0]
    arm.set_position(3, 2000, speed=1000)
    arm.set_relative_position(1, 100, speed=1000)
    until_at(c1=1100.0, c3=2000.0)
    arm.set_scaled_position(2, 0.5)
    arm.set_velocities({0: 0.0, 1: 0.5, 2: 1.0, 3: -0.5})
    time.sleep(0.3)
    arm.go_random()
    time.sleep(0.2)
    arm.set_positions(HOME, dict.fromkeys(HOME, 20000))
    until_at(c0=1600.0, c1=1000.0, c2=600.0, c3=1900.0)
    json.dump({"believed": believed, "scaled": arm.scaled_positions()}, sys.stdout)


main()
