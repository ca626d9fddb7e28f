"""The whole job of pyssc32: names, moves at once and in time, asking whether it is done, a script, a file."""

from __future__ import annotations

import json
import os
import sys
import time

import serial_url

serial_url.teach(text=True)

from ssc32 import SSC32, Script  # noqa: E402


def wait(ssc: SSC32) -> int:
    """Ask until it is done; how often it was not."""
    for asked in range(200):
        if ssc.is_done():
            return asked
        time.sleep(0.01)
    raise SystemExit("never done")


def main() -> None:
    """All of it; what was seen goes out as JSON."""
    ssc = SSC32(os.environ["HIL_FOREIGN_PORT"], 115200, count=32)
    base, shoulder = ssc[0], ssc[1]
    base.name, shoulder.name = "BASE", "SHOULDER"
    shoulder.min, shoulder.max = 1000, 2000
    base.position, shoulder.position = 1500, 2400
    ssc.commit()
    time.sleep(0.05)
    seen = {"plain": wait(ssc), "shoulder": shoulder.position}
    base.position = 2000
    ssc.commit(time=300)
    seen["timed"] = wait(ssc)
    ssc.autocommit = 200
    ssc["base"].degrees = 0.0
    seen["autocommit"] = wait(ssc)
    ssc.autocommit = None
    folder = os.environ["HIL_FOREIGN_FOLDER"]
    ssc.save_config(os.path.join(folder, "servos.cfg"))
    steps: list[int] = []
    script = Script(time=0.2)
    script.add(base_deg=45.0, shoulder_pos=1200)
    script.add(base_rad=0.0, time=0.1, wait=0.05)
    script.on_movement_done = lambda place, movement: steps.append(place[0])
    script(ssc)
    seen["script"] = steps
    ssc.close()
    json.dump(seen, sys.stdout)


main()
