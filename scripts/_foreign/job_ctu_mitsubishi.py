"""The whole job of ctu-mitsubishi: start its program, read, go 0.1 rad further and home, wait each time, stop."""

from __future__ import annotations

import json
import os
import sys
import time

import serial_url

serial_url.teach()

from ctu_mitsubishi import Rv6s, Rv6sGripper  # noqa: E402


def stands(robot: Rv6s) -> list[float]:
    """Where it is once that changes no more: where a computer is busy its own wait ends before the arm is there."""
    here = list(robot.get_q())
    while True:
        time.sleep(0.1)
        before, here = here, list(robot.get_q())
        if here == before:
            return here


def main() -> None:
    """All of it; what was seen goes out as JSON."""
    gripper = Rv6sGripper()
    gripper.open()
    robot = Rv6s(os.environ["HIL_FOREIGN_PORT"])
    robot.initialize()
    start = robot.get_q()
    goal = start.copy()
    goal[0] += 0.1
    reachable = [len(robot.ik(robot.fk(goal))) > 0]
    robot.move_to_q(goal)
    arrived = [robot.wait_for_motion_stop()]
    there = stands(robot)
    robot.soft_home()
    arrived.append(robot.wait_for_motion_stop())
    home = stands(robot)
    robot.stop_robot()
    robot.close_connection()
    gripper.close()
    seen = {"start": list(start), "there": there, "home": home, "arrived": arrived, "reachable": reachable}
    json.dump(seen, sys.stdout)


main()
