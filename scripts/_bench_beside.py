"""A comparison of two checkouts: a process for each, told in turns what to measure.

The child uses nothing that another checkout of about the same time would not have.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from _bench_common import Numbers, long_motion, percentiles, show, verdict, virtual_session

ROOT = Path(__file__).parents[1]


class Child:
    """A checkout's process.

    Args:
        checkout: root of the checkout whose program is measured.
        rig: name of a bundled rig.
        seconds: length of the motion.
    """

    def __init__(self, checkout: Path, rig: str, seconds: float) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(checkout), str(ROOT / "scripts")])}
        command = [sys.executable, str(Path(__file__)), rig, str(seconds)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=checkout, text=True
        )
        self.about: dict[str, Any] = self._answer()

    def measure(self, what: str) -> Any:
        """One round of `hot`, `preview` or `loop`."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        raise SystemExit(f"bench: the process beside ended with {self._process.wait()}")


def compare(
    other: Path, rig: str, seconds: float, what: str, rounds: int, scale: float, unit: str
) -> tuple[float, bool]:
    """Measure two checkouts in turns, so that a slow phase of the machine meets both.

    Args:
        other: root of the other checkout.
        rig: name of a bundled rig.
        seconds: length of the motion.
        what: `hot` (s a tick, replayed), `loop` (s a tick, real loop) or `preview` (s a minute of motion).
        rounds: how often.
        scale: from seconds to what the table shows.
        unit: of that.

    Returns:
        Our median as a share of the other's, and whether both put the same bytes on the wire.
    """
    with contextlib.ExitStack() as stack:
        children = {}
        for name, checkout in (("this checkout", ROOT), ("the other", other.resolve())):
            children[name] = Child(checkout, rig, seconds)
            stack.callback(children[name].close)
        times: dict[str, list[float]] = {name: [] for name in children}
        for _ in range(rounds):
            for name, child in children.items():
                times[name] += child.measure(what)["seconds"]
    ours, theirs = (np.array(each) for each in times.values())
    ratio = float(np.median(ours) / np.median(theirs))
    rows = [
        [
            name,
            str(len(each)),
            *percentiles(np.array(each), scale, 10, 50, 90),
            f"{np.median(each) / np.median(theirs):.2f}",
        ]
        for name, each in times.items()
    ]
    show(f"{rig}: {what} beside {other}, in {unit}", ["", "times", "p10", "p50", "p90", "ratio"], rows)
    wires = [child.about["wire"] for child in children.values()]
    return ratio, wires[0] == wires[1]


def judged(other: Path, rig: str, seconds: float, what: str, rounds: int, most: float) -> bool:
    """Compare, and say whether a share was kept; a wire that differs is a failure in any case."""
    scale, unit = (1.0, "CPU s a minute of motion") if what == "preview" else (1e6, "us a tick")
    ratio, same = compare(other, rig, seconds, what, rounds, scale, unit)
    few = verdict(ratio <= most, f"{rig}, {what}: {ratio:.2f} of the other (allowed: {most:.2f})")
    return verdict(same, f"{rig}: the same bytes on the wire") and few


# -- the child ---------------------------------------------------------------------------------------------


def main() -> None:
    """Prepare, then answer each line with one round of what it names."""
    from hil.runtime import wiring
    from hil.runtime.preview import preview

    name, seconds = sys.argv[1], float(sys.argv[2])
    rig = msgspec.structs.replace(wiring.load_rig(name), id=f"{name}-benchmark-{os.getpid()}")
    motion = long_motion(rig, seconds)
    report = preview(rig, motion)
    if report.certificate is None:
        raise SystemExit(f"bench: the motion was refused: {report.refusals[0].text}")
    certificate = report.certificate
    session, records = virtual_session(rig, motion, certificate)
    wire = hashlib.sha256(b"".join(record.written for record in records)).hexdigest()
    _say(wire=wire, samples=len(motion.samples))

    def hot() -> Numbers:
        return _hot(session, records)

    def looped() -> Numbers:
        from _bench_loop import Prepared, stream

        return stream(Prepared(rig, motion, certificate)).work_s

    def previewed() -> Numbers:
        before = time.process_time()
        preview(rig, motion)
        return np.array([(time.process_time() - before) * 60.0 / motion.duration_s])

    measures = {"hot": hot, "loop": looped, "preview": previewed}
    for line in sys.stdin:
        _say(seconds=measures[line.strip()]().tolist())


def _hot(session: Any, records: Any) -> Numbers:
    from hil.runtime import wiring
    from hil.runtime.replay import ReplayPort

    port = ReplayPort()
    bridge = wiring.replay_bridge(session, port.open)
    times = []
    with _uncollected():
        for record in records:
            port.load(record)
            before = time.perf_counter()
            again = bridge.tick(record.t_s, record.requests)
            took = time.perf_counter() - before
            if again.written != record.written:
                raise SystemExit(f"bench: tick {record.tick} was not replayed as it was")
            if record.sample is not None:
                times.append(took)
    return np.array(times)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
