"""Closes the gripper of the Lynx6 on the desk: a program of our own, which speaks to the SSC-32 by itself."""

from __future__ import annotations

import sys
import time

import serial

CHANNEL = 4
PARKED_US = 2112  # 10 mm open, where the limp gripper rests
CLOSED_US = 2345  # 4 mm
TIME_MS = 400


def close_gripper(port: str) -> None:
    """Drive the gripper where it rests, then close it slowly, and wait until the board says that it is there."""
    with serial.serial_for_url(port, baudrate=115200, timeout=0.5) as line:
        line.write(f"#{CHANNEL}P{PARKED_US}\r".encode())
        time.sleep(0.1)
        line.write(f"#{CHANNEL}P{CLOSED_US}T{TIME_MS}\r".encode())
        time.sleep(TIME_MS / 1000)
        for _ in range(20):
            line.write(f"QP{CHANNEL}\r".encode())
            if line.read(1) == bytes([CLOSED_US // 10]):
                return
        raise TimeoutError("the gripper did not arrive")


if __name__ == "__main__":
    close_gripper(sys.argv[1])
