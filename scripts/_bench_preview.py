"""CPU time of a whole preview of a minute of motion, and where it goes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from _bench_beside import judged
from _bench_common import Effort, interleaved, long_motion, percentiles, show, verdict, virtual_session

from hil.robot import Robot
from hil.runtime import wiring
from hil.runtime.preview import preview
from hil.runtime.replay import ReplayPort
from hil.safety.checker import check_motion

MINUTE_S = 60.0
MOTION_S = (60.0, 60.0, 1.0)
ROUNDS = (5, 3, 1)
ALLOWED_S = 0.5


BESIDE_RIGS = ("lynx6", "rv2aj")


def run(effort: Effort, beside: Path | None = None) -> bool:
    """True if a preview is cheap enough; beside another checkout, if it is no slower."""
    if beside is not None:
        rounds = effort.of(*ROUNDS)
        met = [judged(beside, name, effort.of(*MOTION_S), "preview", rounds, 1.0) for name in BESIDE_RIGS]
        return all(met)
    rig = wiring.load_rig("lynx6")
    motion = long_motion(rig, effort.of(*MOTION_S))
    certificate = preview(rig, motion).certificate
    if certificate is None:
        raise SystemExit("bench: the motion was refused")
    session, records = virtual_session(rig, motion, certificate)

    def replayed() -> None:
        port = ReplayPort()
        bridge = wiring.replay_bridge(session, port.open)
        for record in records:
            port.load(record)
            bridge.tick(record.t_s, record.requests)

    times = interleaved(
        {
            "whole preview": lambda: preview(rig, motion),
            "of it: checks of all samples": lambda: check_motion(rig, Robot(rig.robot), motion),
            "the same ticks without the fake": replayed,
        },
        effort.of(*ROUNDS),
        time.process_time,
    )
    whole = times["whole preview"]
    rows = [
        [name, *percentiles(seconds, 1.0, 0, 50, 100), f"{np.median(seconds / whole):.2f}"]
        for name, seconds in times.items()
    ]
    title = f"preview of {motion.duration_s:.0f} s at {1.0 / rig.period_s:.0f} Hz, {len(motion.samples)} samples; CPU s"
    show(title, ["", "least", "median", "most", "share"], rows)
    scaled = float(np.median(whole)) * MINUTE_S / motion.duration_s
    return verdict(scaled < ALLOWED_S, f"a minute of motion takes {scaled:.2f} s of one core (allowed: {ALLOWED_S} s)")
