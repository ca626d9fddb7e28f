"""The whole job of ctu-mitsubishi: start its program, read, go 0.1 rad further and home, wait each time, stop."""

from __future__ import annotations

import json
import os
import sys

import serial_url

serial_url.teach()

from ctu_mitsubishi import Rv6s, Rv6sGripper  # noqa: E402


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
    there = robot.get_q()
    robot.soft_home()
    arrived.append(robot.wait_for_motion_stop())
    home = robot.get_q()
    robot.stop_robot()
    robot.close_connection()
    gripper.close()
    seen = {"start": list(start), "there": list(there), "home": list(home), "arrived": arrived, "reachable": reachable}
    json.dump(seen, sys.stdout)


main()
