"""Time on a path beside toppra and mstraj, and a curve of 500 samples planned, checked and certified; one run.

The peers know no jerk, so ours is timed without it where it stands beside them; the same joint paths, the same limits,
the same grid, CPU time of one thread, in turns. Ours in machine code is what counts; beside it stands what it takes
without. The last line is what a person waits for: a whole task, nothing compiled.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from _bench_common import Effort, peer_python, show, verdict
from _bench_peers import run_peer

import hil
from hil.kernels.build import fast_available
from hil.kinematics.along import Targets
from hil.motion.planner import plan_task
from hil.motion.profiles import axis_limits
from hil.motion.tasks import task_from_table
from hil.paths.orientation import EvenTurn
from hil.paths.path import Arc, CurvePath
from hil.paths.path import Path as ToolPath
from hil.paths.spline import SplineCurve
from hil.paths.timing import PathLimits, time_on_path
from hil.robot import Robot, load_robot
from hil.runtime.preview import preview
from hil.units import DEG, MM

PERIOD_S = 0.02
GRID = 501
ROUNDS = (5, 2, 1)
CALLS, COMPILED_CALLS = 8, 400
"""Of each path: those in machine code last as long as a peer's, or they would be over before a core is awake."""

MOST_DURATION, MOST_TIME = 1.05, 0.1
CURVE_S = 0.3
ANY_PACE_M_S = 10.0
WORD = """
title = "A curve of five hundred samples"
start = "home"
[[step]]
do = "curve"
pitch_deg = -45
speed_mm_s = {speed}
[step.curve]
title = "ellipse"
x = "262 + 20*cos(u)"
y = "20*sin(u)"
z = "140 + 8*sin(u)"
parameters.u = {{ start = 0, end = 360, unit = "deg" }}
"""


def run(effort: Effort) -> bool:
    """True if ours is no slower than it may be beside either peer, and the curve is ready in its time."""
    job = _job()
    met = True
    if effort is not Effort.ONCE:
        met = _beside_peers(job, effort)
    else:
        _ours(job, compiled=fast_available())
    return _whole_curve() and met


def _beside_peers(job: dict[str, np.ndarray], effort: Effort) -> bool:
    python = peer_python("paths", ("toppra", "roboticstoolbox-python"))
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "job.npz"
        np.savez(stored, allow_pickle=False, **job)
        rounds = [
            (_ours(job, compiled=True), _ours(job, compiled=False), run_peer("paths_peer", python, stored))
            for _ in range(effort.of(*ROUNDS))
        ]
    print(f"peers: {rounds[0][2]['version']}")
    rows, met = [], True
    for name in job["names"].tolist():
        for peer in ("toppra", "mstraj"):
            ours, plain = ([each[k][name] for each in rounds] for k in (0, 1))
            theirs = [
                (other["worst"][f"{name} {peer} samples"], other["seconds"][f"{name} {peer}"]) for *_, other in rounds
            ]
            longer = float(np.median([a[0] / b[0] for a, b in zip(ours, theirs, strict=True)]))
            slower = float(np.median([a[1] / a[0] / (b[1] / b[0]) for a, b in zip(ours, theirs, strict=True)]))
            cells = [f"{np.median([s / n for n, s in each]) * 1e6:.2f}" for each in (ours, theirs, plain)]
            used = rounds[0][2]["worst"][f"{name} {peer} acceleration"]
            rows.append(
                [
                    name,
                    peer,
                    f"{ours[0][0]}",
                    f"{theirs[0][0]}",
                    f"{longer:.3f}",
                    *cells[:2],
                    f"{slower:.3f}",
                    cells[2],
                    f"{used:.3f}",
                ]
            )
            met = met and longer <= MOST_DURATION and slower <= MOST_TIME
    header = [
        "path",
        "peer",
        "samples",
        "peer's",
        "ratio",
        "us a sample",
        "peer's",
        "ratio",
        "plain",
        "peer's acceleration",
    ]
    show("time on a path, without jerk", header, rows)
    return verdict(met, f"no longer than {MOST_DURATION} of a peer's, in {MOST_TIME} of its time a sample")


def _ours(job: dict[str, np.ndarray], *, compiled: bool) -> dict[str, tuple[int, float]]:
    """Samples and CPU seconds of each path."""
    found = {}
    for name in job["names"].tolist():
        limits = PathLimits(PERIOD_S, job[f"{name}_speed"], job[f"{name}_acceleration"], None, ANY_PACE_M_S)
        joints, length = job[f"{name}_joints"], float(job[f"{name}_length"])
        used = []
        for _ in range(COMPILED_CALLS if compiled else CALLS):
            start = time.thread_time_ns()
            course = time_on_path(joints, length, limits, compiled=compiled)
            used.append((time.thread_time_ns() - start) * 1e-9)
        assert course.excess <= 1.0
        found[name] = (len(course.at_m), float(np.median(used[1:])))
    return found


def _job() -> dict[str, np.ndarray]:
    rig = hil.load_rig("lynx6")
    lynx, puma = Robot(rig.robot), load_robot("puma560")
    speed, acceleration, _ = (limit[: lynx.dof] for limit in axis_limits(rig))
    centre = np.array([260.0, 0.0, 140.0]) * MM
    points = np.array([[260, 25, 140], [285, 0, 150], [265, -25, 130], [245, 0, 140], [255, 30, 150], [280, 0, 135]])
    up = np.array([0.0, 0.0, 1.0])
    paths: dict[str, ToolPath] = {
        "circle": Arc.about(centre + np.array([0.0, 0.025, 0.0]), centre, up, 4.0 * math.pi),
        "spline": CurvePath(SplineCurve(points * MM, closed=True)),
    }
    job: dict[str, np.ndarray] = {"names": np.array([*paths, "puma"]), "period_s": np.array(PERIOD_S)}
    for name, path in paths.items():
        at = np.linspace(0.0, path.length_m, GRID)
        targets = Targets(path.points_m(at), np.full(GRID, -45.0 * DEG), np.zeros(GRID))
        seed = lynx.inverse_kinematics_target(targets.points_m[0].tolist(), -45.0 * DEG, 0.0, rig.home[: lynx.dof])
        job |= _entry(name, lynx.inverse_kinematics_along(targets, seed.solutions[0].q).rows, path, speed, acceleration)
    q = [0.1, 0.6, -0.5, 0.3, 0.6, 0.2]
    pose = puma.forward_kinematics(q)
    path = Arc.about(pose[:3, 3], pose[:3, 3] - np.array([0.1, 0.0, 0.0]), up, 2.0 * math.pi)
    at = np.linspace(0.0, path.length_m, GRID)
    rows = puma.inverse_kinematics_along(EvenTurn(pose[:3, :3], np.zeros(3)).targets(path, at), q).rows
    return job | _entry("puma", rows, path, np.full(6, 2.0), np.full(6, 8.0))


def _entry(
    name: str, rows: np.ndarray, path: ToolPath, speed: np.ndarray, acceleration: np.ndarray
) -> dict[str, np.ndarray]:
    assert len(rows) == GRID
    values = {"joints": rows, "length": np.array(path.length_m), "speed": speed, "acceleration": acceleration}
    return {f"{name}_{key}": value for key, value in values.items()}


def _whole_curve() -> bool:
    """A task with one curve: read, planned, checked and certified, in CPU time of this process."""
    import tomllib

    rig = hil.load_rig("lynx6")
    robot = Robot(rig.robot)
    spent = []
    for _ in range(4):
        start = time.process_time()
        task = task_from_table(tomllib.loads(WORD.format(speed=13.0)), "curve.toml")
        motion = plan_task(rig, robot, task)
        planned = time.process_time()
        result = preview(rig, motion)
        spent.append((time.process_time() - start, planned - start))
        assert result.certificate is not None, result.refusals
    whole, plan_s = min(spent[1:])
    first, last = motion.marks[-1].first, motion.marks[-1].last
    words = f"a curve of {last - first} samples planned ({plan_s:.3f} s), checked and certified: {whole:.3f} s of CPU"
    return verdict(whole <= CURVE_S, f"{words}, allowed {CURVE_S}")


if __name__ == "__main__":
    sys.exit(not run(Effort.QUICK))
