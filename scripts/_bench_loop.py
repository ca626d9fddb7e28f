"""The loop in its own process against the fake on its line, beside a bare loop of the same waiting code."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
import numpy as np
from _bench_common import Effort, Numbers, long_motion, percentiles, show, verdict

from hil.errors import LinkError
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.runtime import wiring
from hil.runtime.bare import measure_bare_loop
from hil.runtime.host import Host
from hil.runtime.preview import preview
from hil.safety.certificate import Certificate
from hil.types import Mode, TickRecord

RIGS_S = {"lynx6": (600.0, 20.0, 1.0), "lynx6-bench": (60.0, 10.0, 0.0)}
"""Duration of a run, of a quick one, and of one for once, in which a zero leaves the rig out."""
RUNS = (3, 2, 1)
WORST_RATIO = 1.5
GOOD_P99_S = 2e-3
OVERRUNS_ALLOWED = 1e-4


class Prepared(NamedTuple):
    """What a run needs; planned and checked once."""

    rig: Rig
    motion: Motion
    certificate: Certificate


class Streamed(NamedTuple):
    """Lateness and work per tick of one streamed motion, in seconds, its missed deadlines, and why it ended early."""

    late_s: Numbers
    work_s: Numbers
    overruns: int
    stopped: str


def prepare(name: str, seconds: float) -> Prepared:
    """A rig, and a motion of that length with its certificate."""
    # An id of its own: the rig that its user may be running is not locked.
    rig = msgspec.structs.replace(wiring.load_rig(name), id=f"{name}-benchmark-{os.getpid()}")
    motion = long_motion(rig, seconds)
    report = preview(rig, motion)
    if report.certificate is None:
        raise SystemExit(f"bench: the motion was refused: {report.refusals[0].text}")
    return Prepared(rig, motion, report.certificate)


def stream(prepared: Prepared) -> Streamed:
    """One session as `hil run` does it: fake, loop and recorder in processes of their own."""
    ticks: list[tuple[float, float, int]] = []

    def note(record: TickRecord) -> None:
        if record.sample is not None:
            ticks.append((record.late_s, record.work_s, record.missed))

    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "benchmark.mcap"
        try:
            with Host(prepared.rig, url=None, journal=journal, command="scripts/bench", on_record=note) as host:
                host.connect(lambda reported: "the bench, whose fake stands in the park pose")
                mode = host.run(prepared.motion, prepared.certificate)
        except LinkError as error:
            raise SystemExit(f"bench: the arm did not come to move: {error}") from None
    stops = [event for event in host.events if "stop: " in event or "fault: " in event]
    stopped = "" if mode is Mode.IDLE else (stops or [mode.value])[0]
    late, work, missed = (np.array(column) for column in zip(*ticks, strict=True))
    # Each record carries the work of the tick before it.
    return Streamed(late, work[1:], int(missed[-1] - missed[0]), stopped)


def run(effort: Effort) -> bool:
    """All rigs; True if every criterion is met."""
    met = [_rig(name, effort.of(*seconds), effort.of(*RUNS)) for name, seconds in RIGS_S.items() if effort.of(*seconds)]
    return all(met)


def _rig(name: str, seconds: float, runs: int) -> bool:
    prepared = prepare(name, seconds)
    rows, ratios, p99_s, stops = [], [], [], []
    ticks = overruns = bare_overruns = 0
    for number in range(1, runs + 1):
        loop = stream(prepared)
        bare = measure_bare_loop(prepared.rig.period_s, prepared.motion.duration_s)
        stops += [loop.stopped] if loop.stopped else []
        p99_s.append(float(np.percentile(loop.late_s, 99)))
        ratios.append(p99_s[-1] / bare.p99_s)
        ticks, overruns, bare_overruns = (
            ticks + len(loop.late_s),
            overruns + loop.overruns,
            bare_overruns + bare.overruns,
        )
        late, work = percentiles(loop.late_s, 1e6, 50, 99, 99.9, 100), percentiles(loop.work_s, 1e6, 50, 99)
        rows.append([f"loop {number}", str(len(loop.late_s)), *late, *work, str(loop.overruns), f"{ratios[-1]:.2f}"])
        bare_late = [f"{bare.p50_s * 1e6:.4g}", f"{bare.p99_s * 1e6:.4g}", "", f"{bare.worst_s * 1e6:.4g}"]
        rows.append(
            [f"bare {number}", str(bare.ticks), *bare_late, f"{bare.work_p50_s * 1e6:.4g}", "", str(bare.overruns), "1"]
        )
    rate = f"{1.0 / prepared.rig.period_s:.0f} Hz, {prepared.motion.duration_s:.0f} s a run"
    columns = ["", "ticks", "late p50", "p99", "p99.9", "worst", "work p50", "p99", "overruns", "ratio of p99"]
    show(f"{name}: {rate}; lateness and work in us", columns, rows)
    allowed = bare_overruns + ticks * OVERRUNS_ALLOWED
    whole = verdict(not stops, f"runs that ended early: {len(stops)} {'; '.join(stops)}")
    few = verdict(
        overruns <= allowed, f"overruns of all runs: {overruns}, allowed {allowed:.1f} (bare: {bare_overruns})"
    )
    ratio, late_s = median(ratios), median(p99_s)
    punctual = verdict(
        ratio <= WORST_RATIO or late_s < GOOD_P99_S,
        f"median of the p99 ratios {ratio:.2f} (allowed {WORST_RATIO}), or median p99 {late_s * 1e3:.3f} ms "
        f"(allowed below {GOOD_P99_S * 1e3:g} ms)",
    )
    return whole and few and punctual
