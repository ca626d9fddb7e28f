"""The real-time control of melfapy: it asks where the arm is, then leads it along a curve, a packet a cycle."""

from __future__ import annotations

import json
import os
import socket
import sys
import time

from melfapy.Melfa import MelfaController, MelfaPose


def asked(url: str, request: str) -> str:
    """One request on the line beside the packets."""
    host, _, port = url.removeprefix("socket://").partition(":")
    with socket.create_connection((host, int(port)), 10.0) as line:
        line.sendall(f"1;1;{request}\r".encode("ascii"))
        reply = b""
        while not reply.endswith(b"\r"):
            reply += line.recv(256)
    return reply.decode("ascii").strip()


def servos_on(url: str) -> bool:
    """The program behind MXT switches them on first."""
    return int(asked(url, "DSTATE")[3:5], 16) & 0x20 != 0


def main() -> None:
    """All of it; what was seen goes out as JSON."""
    url, _, packets = os.environ["HIL_FOREIGN_PORT"].partition("|")
    host, _, port = packets.removeprefix("udp://").partition(":")
    output, sys.stdout = sys.stdout, sys.stderr
    while not servos_on(url):
        time.sleep(0.1)
    time.sleep(0.1)
    goal = MelfaPose([250.0, 0.0, 450.0, 0.0, 180.0, 0.0, 0, 0, 4, 0])
    arm = MelfaController(
        command=1, send_type=1, recv_type=1, pose=goal, ex_pose=MelfaPose([0] * 10), address=(host, int(port))
    )
    position = arm.get_position()
    arm.send_packet()
    json.dump({"position": list(position), "error": asked(url, "ERROR")}, output)


main()
