"""The arm core beside public packages, each in an environment of its own, in one run; see docs/performance.md.

Every round runs ours, then each peer, on the same configurations; a ratio is ours over the peer's of the same round,
and the median round counts. CPU time of one thread, unless the case says wall time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _bench_common import Effort, peer_python, show, verdict

import hil
from hil.kernels.emit_numba import numba_source
from hil.kernels.emit_python import python_source
from hil.kernels.export import export
from hil.kernels.export_options import Options
from hil.kernels.quantities import QUANTITIES, derive

HERE = Path(__file__).parent / "peers"
PEERS = {"pinocchio": ("pin",), "eaik": ("eaik",), "toolbox": ("roboticstoolbox-python",)}
ROUNDS = (3, 1, 1)
MANY = (1_000_000, 200_000, 1_000)
POSES = (100_000, 20_000, 100)
SEED = 20


class Case(NamedTuple):
    """One line of the table: ours has to take at most `most` times the peer's time."""

    title: str
    key: str
    peer: str
    peer_key: str
    most: float
    without_fast: bool = False


CASES = (
    Case("forward kinematics, new array", "fk_new", "pinocchio", "fk_new", 1.0),
    Case("forward kinematics, into out", "fk_out", "pinocchio", "fk_out", 1.0),
    Case("Jacobian, into out", "jacobian_out", "pinocchio", "jacobian_out", 1.0),
    Case("forward kinematics, 1e6", "fk_many", "toolbox", "fk_many", 1 / 15),
    Case("forward kinematics, 1e6", "fk_many", "pinocchio", "fk_many", 1 / 15),
    Case("Jacobian, 1e6", "jacobian_many", "toolbox", "jacobian_many", 1 / 15),
    Case("Jacobian, 1e6", "jacobian_many", "pinocchio", "jacobian_many", 1 / 15),
    Case("forward kinematics, 1e6, without [fast]", "fk_many", "toolbox", "fk_many", 1 / 3, True),
    Case("forward kinematics, 1e6, without [fast]", "fk_many", "pinocchio", "fk_many", 1 / 3, True),
    Case("Jacobian, 1e6, without [fast]", "jacobian_many", "toolbox", "jacobian_many", 1 / 3, True),
    Case("Jacobian, 1e6, without [fast]", "jacobian_many", "pinocchio", "jacobian_many", 1 / 3, True),
    Case("all inverse solutions, 6R", "ik_all_puma", "eaik", "ik_all_puma", 1.0),
    Case("all inverse solutions, 5R", "ik_all_rv2aj", "eaik", "ik_all_rv2aj", 1.0),
    Case("all inverse solutions, batch, 6R (wall)", "ik_batch_puma", "eaik", "ik_batch_puma", 1 / 3),
    Case("all inverse solutions, batch, 5R (wall)", "ik_batch_rv2aj", "eaik", "ik_batch_rv2aj", 1 / 3),
    Case("numeric inverse, PUMA 560, median", "ik_numeric_puma560", "toolbox", "ik_numeric_puma560", 1.0),
    Case("numeric inverse, UR5, median", "ik_numeric_ur5", "toolbox", "ik_numeric_ur5", 1.0),
    Case("numeric inverse, Panda, median", "ik_numeric_panda", "toolbox", "ik_numeric_panda", 1.0),
    Case("inverse dynamics, into out", "inverse_dynamics", "pinocchio", "inverse_dynamics", 1.0),
    Case("mass matrix, into out", "mass_matrix", "pinocchio", "mass_matrix", 1.0),
    Case("forward dynamics, into out", "forward_dynamics", "pinocchio", "forward_dynamics", 1.0),
    Case("cloud of four joints, 17.5 million points (wall)", "cloud", "toolbox", "cloud", 1 / 15),
)


def run(effort: Effort) -> bool:
    """True if every case is within its mark. For once, ours alone is run: peers need a network and minutes."""
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "job.npz"
        np.savez(stored, allow_pickle=False, **_job(effort.of(*MANY), effort.of(*POSES)))
        if effort is Effort.ONCE:
            _tell_versions({"ours": run_peer("ours", Path(sys.executable), stored, HIL_WITHOUT_FAST="1")})
            return True
        pythons = {name: peer_python(name, packages) for name, packages in PEERS.items()}
        rounds = []
        for _ in range(effort.of(*ROUNDS)):
            results = {"ours": run_peer("ours", Path(sys.executable), stored)}
            results["plain"] = run_peer("ours", Path(sys.executable), stored, HIL_WITHOUT_FAST="1")
            results |= {name: run_peer(f"{name}_peer", python, stored) for name, python in pythons.items()}
            rounds.append(results)
    _tell_versions(rounds[0])
    rows, met = [], True
    for case in CASES:
        ours = [r["plain" if case.without_fast else "ours"]["seconds"][case.key] for r in rounds]
        theirs = [r[case.peer]["seconds"][case.peer_key] for r in rounds]
        ratio = float(np.median(np.divide(ours, theirs)))
        met = met and ratio <= case.most
        rows.append(
            [
                case.title,
                case.peer,
                _time(ours),
                _time(theirs),
                f"{ratio:.3g}",
                f"{case.most:.3g}",
                _passed(ratio, case),
            ]
        )
    show("ours over the peer's", ["", "peer", "ours", "peer's", "ratio", "at most", ""], rows)
    first = [r["ours"]["seconds"]["first_call"] for r in rounds]
    met = (
        verdict(max(first) < 0.020, f"first forward kinematics of a process: {max(first) * 1e3:.1f} ms, allowed 20")
        and met
    )
    cloud = [r["ours"]["seconds"]["cloud"] for r in rounds]
    met = verdict(max(cloud) < 1.0, f"cloud of 17.5 million points: {max(cloud):.3f} s, allowed 1 s") and met
    for name in ("puma560", "ur5", "panda"):
        share = min(r["ours"]["worst"][f"{name} share right to 1e-6"] for r in rounds)
        met = verdict(share >= 0.999, f"numeric inverse of {name}: {share:.2%} right to 1e-6, at least 99.9 %") and met
    met = _beginnings() and met
    return verdict(met, "every case is within its mark")


def _beginnings() -> bool:
    """What has to be quick before anything is warm: the import, and all of an arm's kernels as text."""
    code = "import time, hil; hil.load_robot; print(time.process_time())"
    imported = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    model, used = hil.load_robot("puma560").model, time.process_time()
    for name in QUANTITIES:
        routine = derive(model, name)
        numba_source(routine)
        python_source(routine)
    derived = time.process_time() - used
    used = time.process_time()
    export(model, list(QUANTITIES), "c", Options())
    exported = time.process_time() - used
    texts = f"all {len(QUANTITIES)} kernels of the PUMA 560 as Numba and Python: {derived:.2f} s"
    quick = verdict(imported < 0.3, f"import hil, robots and numpy included: {imported:.2f} s of CPU, allowed 0.3")
    small = verdict(derived < 0.5, f"{texts}, allowed 0.5")
    return (
        verdict(exported < 0.5, f"the same as C with its check program: {exported:.2f} s, allowed 0.5")
        and quick
        and small
    )


def _job(many: int, poses: int) -> dict[str, np.ndarray]:
    """What all sides work on: the arms' constants, configurations, poses."""
    rng = np.random.default_rng(SEED)
    puma = hil.load_robot("puma560")
    links = puma.model.inertia or ()
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, 6))
    data: dict[str, Any] = {
        "puma_dh": _dh(puma),
        "puma_mass": [link.mass_kg for link in links],
        "puma_com": [link.com_m for link in links],
        "puma_inertia": [link.inertia_kg_m2 for link in links],
        "puma_rotor": [(link.motor_inertia_kg_m2 or 0.0) * (link.gear_ratio or 1.0) ** 2 for link in links],
        "puma_q": q,
        "puma_qd": qd,
        "puma_qdd": qdd,
        "puma_tau": puma.inverse_dynamics(q, qd, qdd),
        "puma_pose": puma.forward_kinematics(q),
        "puma_jacobian": puma.jacobian(q),
        "puma_many": rng.uniform(-np.pi, np.pi, (many, 6)),
        "four_dh": _dh(hil.load_robot("lynx6-4axis")),
        "four_grid": _grid(),
    }
    for arm, name in {"puma": "puma560", "rv2aj": "rv2aj"}.items():
        robot = hil.load_robot(name)
        data[f"{arm}_dh"] = _dh(robot)
        data[f"{arm}_poses"] = robot.forward_kinematics(rng.uniform(-1.5, 1.5, (poses, robot.dof)))
    for name in ("puma560", "ur5", "panda"):
        robot = hil.load_robot(name)
        data[f"{name}_numeric_dh"] = _dh(robot)
        lower, upper = np.array([(joint.lower, joint.upper) for joint in robot.model.joints]).T
        data[f"{name}_numeric_poses"] = robot.forward_kinematics(rng.uniform(lower, upper, (1000, robot.dof)))
        data[f"{name}_numeric_seeds"] = rng.uniform(lower, upper, (1000, robot.dof))
    return {key: np.asarray(value, dtype=np.float64) for key, value in data.items()}


def _dh(robot: hil.Robot) -> np.ndarray:
    return np.array([(j.theta_rad, j.d_m, j.a_m, j.alpha_rad) for j in robot.model.joints])


def _grid() -> np.ndarray:
    """Four joints in steps of 2 degrees, both ends included: 91 * 91 * 46 * 46 = 17.5 million points."""
    degrees = ((-90, 90), (0, 180), (-90, 0), (-90, 0))
    spans = [(low, high, (high - low) / 2 + 1) for low, high in degrees]
    return np.array([(np.radians(low), np.radians(high), count) for low, high, count in spans])


def run_peer(script: str, python: Path, stored: Path, **settings: str) -> dict[str, Any]:
    """What a script of `peers/` tells of a job."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [python, HERE / f"{script}.py", stored],
        env={**os.environ, **threads, **settings},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _tell_versions(results: dict[str, dict[str, Any]]) -> None:
    for name, result in results.items():
        worst = ", ".join(f"{key} {value:.3g}" for key, value in result["worst"].items())
        print(f"{name} {result['version']}: {worst}")


def _time(seconds: list[float]) -> str:
    value = float(np.median(seconds))
    return f"{value * 1e6:.2f} us" if value < 1e-3 else f"{value * 1e3:.1f} ms"


def _passed(ratio: float, case: Case) -> str:
    return "PASS" if ratio <= case.most else "FAIL"
