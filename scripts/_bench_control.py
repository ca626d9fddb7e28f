"""The closed loop beside MuJoCo's rollout and a loop around pinocchio, each in an environment of its own, in one run.

PUMA 560, PD with gravity carried, 1 s at 1 kHz, no friction: the same arm, reference, gains and step for all. They have
to agree in the accelerations of 200 random states to 1e-8 and in the run to 1e-6; ours has to be 20 times quicker.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _bench_common import Effort, peer_python, repeated, show, verdict
from _bench_peers import run_peer

import hil
from hil.control.experiment import Experiment, Reference
from hil.control.loop import ClosedLoop
from hil.kernels.build import fast_available

PEERS = {"mujoco": ("mujoco_peer", ("mujoco",)), "pinocchio": ("pinocchio_control_peer", ("pin",))}
ROUNDS = (5, 3, 1)
STATES = 200
TIMES_QUICKER = 20.0
MANY, MANY_CPU_S = 10_000, 10.0
"""Five seconds of two cores."""

PLAIN, PLAIN_CPU_S = 1_000, 60.0
TOGETHER, ALONE = 256, 16
EXPERIMENT = Experiment(
    robot="puma560",
    reference=Reference(end=(30.0, 60.0, -60.0, 20.0, 30.0, 40.0)),
    kp=(3000.0, 3000.0, 1000.0, 300.0, 300.0, 200.0),
    kd=(300.0, 300.0, 100.0, 10.0, 10.0, 8.0),
    friction=False,
    stops=False,
)


def run(effort: Effort) -> bool:
    """True if all agree and ours is quick enough. For once, ours alone is run: peers need a network and minutes."""
    arm = hil.load_robot("puma560")
    loop = ClosedLoop(arm.model, EXPERIMENT)
    if effort is Effort.ONCE:
        trace = loop.trace(compiled=False)
        return verdict(
            bool(trace.scores.reason[0] == 0.0), f"one run without a compiler: cost {trace.scores.cost[0]:.4g}"
        )
    trace = loop.trace(compiled=fast_available())
    met = _beside(effort, arm, loop, trace.actual) if fast_available() else True
    return _many(loop) and met


def _beside(effort: Effort, arm: hil.Robot, loop: ClosedLoop, q: np.ndarray) -> bool:
    settings = np.repeat(loop.column[:, None], TOGETHER, axis=1)
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "job.npz"
        np.savez(stored, allow_pickle=False, **_job(arm, loop, q))
        pythons = {name: peer_python(name, packages) for name, (_, packages) in PEERS.items()}
        rows, met, rounds = [], True, []
        for _ in range(effort.of(*ROUNDS)):
            # As many runs in one go as the peers' own rollout takes.
            alone = _used(repeated(lambda: loop.trace(compiled=True), ALONE)) / ALONE
            together = _used(lambda: loop.run(settings, compiled=True)) / TOGETHER
            found = {name: run_peer(PEERS[name][0], python, stored) for name, python in pythons.items()}
            rounds.append((alone, together, found))
    for name in PEERS:
        worst = rounds[0][2][name]["worst"]
        met = (
            verdict(worst["accelerations"] < 1e-8, f"{name}: accelerations within {worst['accelerations']:.2g}") and met
        )
        met = verdict(worst["run"] < 1e-6, f"{name}: the run within {worst['run']:.2g} rad") and met
        theirs = [found[name]["seconds"]["run"] for _, _, found in rounds]
        ours = [together for _, together, _ in rounds]
        single = [alone for alone, _, _ in rounds]
        ratio, one = float(np.median(np.divide(theirs, ours))), float(np.median(np.divide(theirs, single)))
        rows.append(
            [
                f"{name} {rounds[0][2][name]['version']}",
                f"{np.median(theirs) * 1e3:.2f} ms",
                f"{np.median(ours) * 1e3:.3f} ms",
                f"{ratio:.0f}",
                f"{np.median(single) * 1e3:.2f} ms",
                f"{one:.0f}",
            ]
        )
        for many, times in (("many together", ratio), ("one with its trace", one)):
            said = f"{many}: {times:.1f} times as quick as {name}, at least {TIMES_QUICKER:g}"
            met = verdict(times >= TIMES_QUICKER, said) and met
    show("CPU time of a run of 1 s", ["", "peer", "ours, many", "times", "ours, one with its trace", "times"], rows)
    return met


def _many(loop: ClosedLoop) -> bool:
    """The search's own speed, with friction and stops, in CPU time."""
    full = ClosedLoop(loop.model, Experiment(robot="puma560", reference=EXPERIMENT.reference))
    met = True
    for compiled, count, most in ((True, MANY, MANY_CPU_S), (False, PLAIN, PLAIN_CPU_S)):
        if compiled and not fast_available():
            continue
        settings = np.repeat(full.column[:, None], count, axis=1)
        settings[:12] *= np.linspace(0.5, 1.5, count)
        full.run(settings[:, :1].copy(), compiled=compiled)
        begin = time.process_time()
        full.run(settings, compiled=compiled, threads=os.cpu_count() or 1)
        took = time.process_time() - begin
        how = "compiled" if compiled else "without a compiler"
        met = (
            verdict(
                took < most, f"{count} settings with friction and stops, {how}: {took:.2f} s of CPU, allowed {most:g}"
            )
            and met
        )
    return met


def _used(work: Callable[[], object], repeats: int = 5) -> float:
    work()
    found = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return float(np.median(found))


def _job(arm: hil.Robot, loop: ClosedLoop, q: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    states_q, states_qd, states_tau = rng.uniform(-2.0, 2.0, (3, STATES, 6))
    links = arm.model.inertia or ()
    data = {
        "puma_dh": [(j.theta_rad, j.d_m, j.a_m, j.alpha_rad) for j in arm.model.joints],
        "puma_mass": [link.mass_kg for link in links],
        "puma_com": [link.com_m for link in links],
        "puma_inertia": [link.inertia_kg_m2 for link in links],
        "puma_rotor": [(link.motor_inertia_kg_m2 or 0.0) * (link.gear_ratio or 1.0) ** 2 for link in links],
        "states_q": states_q,
        "states_qd": states_qd,
        "states_tau": 20.0 * states_tau,
        "states_qdd": arm.forward_dynamics(states_q, states_qd, 20.0 * states_tau),
        "wanted": loop.wanted,
        "kp": EXPERIMENT.kp,
        "kd": EXPERIMENT.kd,
        "step_s": loop.period_s,
        "run_q": q,
    }
    return {key: np.asarray(value, dtype=np.float64) for key, value in data.items()}
