"""Cost of one tick while streaming: hot, replayed in this process, and in the real loop, where caches are cold."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
from _bench_beside import judged
from _bench_common import Effort, Numbers, percentiles, show, verdict, virtual_session
from _bench_loop import Prepared, prepare, stream

from hil.model.rig import Axis
from hil.model.servo import DriveServo, HobbyServo, ServoModel
from hil.runtime import wiring
from hil.runtime.journal import SessionRecord
from hil.runtime.preview import preview
from hil.runtime.replay import ReplayPort
from hil.runtime.ring import RingWriter
from hil.types import TickRecord

RIGS_S = {"lynx6": (60.0, 10.0, 0.0), "lynx6-bench": (30.0, 6.0, 1.0)}
"""Duration of a run, of a quick one, and of one for once, in which a zero leaves the rig out."""
ROUNDS = (3, 1, 1)
ALLOWED_S = 300e-6

SERVOS_S = (8.0, 8.0, 1.0)
SERVO_ROUNDS = (31, 15, 1)
SERVO_SHARE = 1.10
"""What a tick may cost with a model of the servo on every axis of the shadow, beside a shadow of plain lags."""

BESIDE_S = {"lynx6": (60.0, 20.0, 2.0), "lynx6-bench": (20.0, 6.0, 1.0), "rv2aj": (60.0, 20.0, 2.0)}
BESIDE_ROUNDS = (9, 5, 1)


def run(effort: Effort, beside: Path | None = None) -> bool:
    """True if the tick fits its budget at the median, at either rate; beside another checkout, if it is no slower."""
    if beside is not None:
        rounds = effort.of(*BESIDE_ROUNDS)
        hot = [judged(beside, name, effort.of(*each), "hot", rounds, 1.0) for name, each in BESIDE_S.items()]
        real = [judged(beside, name, effort.of(*each), "loop", 1, 1.0) for name, each in BESIDE_S.items()]
        return all(hot + real)
    met = [
        _rig(name, effort.of(*seconds), effort.of(*ROUNDS)) for name, seconds in RIGS_S.items() if effort.of(*seconds)
    ]
    met += [_servos(name, kind, effort) for name, kind in (("rv2aj", _drive), ("lynx6", _hobby))]
    return all(met)


def _drive(axis: Axis) -> ServoModel:
    return DriveServo(acceleration=axis.servo_speed / 0.05)


def _hobby(axis: Axis) -> ServoModel:
    return HobbyServo(frequency_rad_s=28.0, damping=0.9, dead_band=0.002 * axis.servo_speed)


def _servos(name: str, kind: Callable[[Axis], ServoModel], effort: Effort) -> bool:
    """Ratios of neighbours in time, so that a slow phase of the machine meets both."""
    prepared = prepare(name, effort.of(*SERVOS_S))
    axes = tuple(msgspec.structs.replace(axis, servo=kind(axis)) for axis in prepared.rig.axes)
    rig = msgspec.structs.replace(prepared.rig, axes=axes)
    report = preview(rig, prepared.motion)
    if report.certificate is None:
        raise SystemExit(f"bench: the motion was refused: {report.refusals[0].text}")
    modelled = Prepared(rig, prepared.motion, report.certificate)
    sides = [virtual_session(*side) for side in (prepared, modelled)]
    rounds: tuple[list[Numbers], list[Numbers]] = ([], [])
    for _ in range(effort.of(*SERVO_ROUNDS)):
        for side, found in zip(sides, rounds, strict=True):
            found.append(np.add(*_replayed(*side)))
    lags, models = (np.median(found, axis=1) for found in rounds)
    share = float(np.median(models / lags))
    what = f"{name}: a tick and its record with a {kind.__name__[1:]} on every axis, {np.median(models) * 1e6:.1f} us"
    met = share <= SERVO_SHARE or effort is Effort.ONCE
    return verdict(met, f"{what}, {share:.3f} of plain lags (allowed: {SERVO_SHARE:.2f})")


def _rig(name: str, seconds: float, rounds: int) -> bool:
    prepared = prepare(name, seconds)
    ticks, publishing, work = [], [], []
    for _ in range(rounds):
        tick_s, publish_s = _hot(prepared)
        ticks.append(tick_s)
        publishing.append(publish_s)
        streamed = stream(prepared)
        work.append(streamed.work_s)
        if streamed.stopped:
            print(f"  {name}: this run ended early, its ticks count until then: {streamed.stopped}")
    subjects = {
        "hot: tick": np.concatenate(ticks),
        "hot: encode and append": np.concatenate(publishing),
        "real loop: whole work": np.concatenate(work),
    }
    hot = float(np.median(subjects["hot: tick"] + subjects["hot: encode and append"]))
    rows = [
        [what, str(len(each)), *percentiles(each, 1e6, 10, 50, 90, 99), f"{np.median(each) / hot:.2f}"]
        for what, each in subjects.items()
    ]
    rate = f"{1.0 / prepared.rig.period_s:.0f} Hz"
    show(
        f"{name}: work per tick at {rate} while streaming, in us; ratio to all that is hot",
        ["", "ticks", "p10", "p50", "p90", "p99", "ratio"],
        rows,
    )
    real = float(np.median(subjects["real loop: whole work"]))
    return verdict(real < ALLOWED_S, f"median tick {real * 1e6:.0f} us (allowed: below {ALLOWED_S * 1e6:.0f} us)")


def _hot(prepared: Prepared) -> tuple[Numbers, Numbers]:
    """Seconds per tick and per record published, the bytes of a virtual session replayed without a pause."""
    return _replayed(*virtual_session(*prepared))


def _replayed(session: SessionRecord, records: Sequence[TickRecord]) -> tuple[Numbers, Numbers]:
    port = ReplayPort()
    bridge = wiring.replay_bridge(session, port.open)
    encode = msgspec.msgpack.Encoder().encode
    times = []
    with tempfile.TemporaryDirectory() as folder, RingWriter.create(Path(folder) / "ring", 1 << 20) as ring:
        gc.disable()
        for record in records:
            port.load(record)
            before = time.perf_counter()
            again = bridge.tick(record.t_s, record.requests)
            ticked = time.perf_counter()
            ring.append(encode(again))
            published = time.perf_counter()
            if again.written != record.written:
                raise SystemExit(f"bench: tick {record.tick} was not replayed as it was")
            if record.sample is not None:
                times.append((ticked - before, published - ticked))
        gc.enable()
    tick_s, publish_s = np.array(times).T
    return tick_s, publish_s
