"""The loop's lateness under a service while an arm is jogged, with the window open and without it, in turn.

The window is a process of its own: a scene of 60 frames a second in software, and twelve curves. Lateness and missed
deadlines are those of the journal. As a program of its own with an address it is that window.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import IO, Any, NamedTuple

import numpy as np
from _bench_common import Effort, Numbers, percentiles, show, verdict

from hil.errors import HilError
from hil.runtime.journal import read_journal
from hil.service.client import AsyncArm
from hil.service.connection import reach
from hil.types import AxisJog, Mode

PAIRS = (3, 3, 1)
MINUTES = (1.0, 0.15, 0.05)
WORST_RATIO = 1.5
GOOD_P99_S = 2e-3
OVERRUNS_ALLOWED = 1e-4
SHARE, TURN_RAD = 0.3, 0.5
START_S = 60.0
WARM_S = 1.0
"""Time after which a motion counts: before it the arm has to get going."""

FRAME_MS = 16
SIZE = (1280, 800)
_ARM = "arm-1"
_SERVE = "from hil.cli.main import main; main()"


class Run(NamedTuple):
    """Lateness of every tick in motion in seconds, missed deadlines, and frames a second of a window that was open."""

    late_s: Numbers
    overruns: int
    frames_hz: float | None


def run(effort: Effort, *, minutes: float | None = None) -> bool:
    """Measure; True if the criteria are met."""
    display = display_command()
    if display is None:
        print("lateness: no display, and no xvfb: sudo apt install xvfb")
        return False
    seconds = 60.0 * (minutes or effort.of(*MINUTES))
    runs = [
        _run(seconds, display if with_window else None)
        for _ in range(effort.of(*PAIRS))
        for with_window in (False, True)
    ]
    alone, seen = runs[0::2], runs[1::2]
    rows = []
    for number, pair in enumerate(zip(alone, seen, strict=True), start=1):
        for name, each in zip(("alone", "window"), pair, strict=True):
            frames = "" if each.frames_hz is None else f"{each.frames_hz:.0f}"
            cells = [
                str(len(each.late_s)),
                *percentiles(each.late_s, 1e6, 50, 99, 99.9, 100),
                str(each.overruns),
                frames,
            ]
            rows.append([f"{name} {number}", *cells])
    show(
        f"an arm that is jogged under a service, {seconds:.0f} s a run; lateness in us",
        ["", "ticks", "p50", "p99", "p99.9", "worst", "overruns", "frames/s"],
        rows,
    )
    return _judge(alone, seen)


def _judge(alone: list[Run], seen: list[Run]) -> bool:
    before, after = (sum(each.overruns for each in runs) for runs in (alone, seen))
    allowed = before + OVERRUNS_ALLOWED * sum(len(each.late_s) for each in seen)
    few = verdict(after <= allowed, f"overruns with the window {after}, allowed {allowed:.1f} (without: {before})")
    p99 = [(_p99(one), _p99(other)) for one, other in zip(alone, seen, strict=True)]
    ratio, late_s = median(other / one for one, other in p99), median(other for _, other in p99)
    return (
        verdict(
            ratio <= WORST_RATIO or late_s < GOOD_P99_S,
            f"median of the p99 ratios {ratio:.2f} (allowed {WORST_RATIO}), or median p99 with the window "
            f"{late_s * 1e3:.3f} ms (allowed below {GOOD_P99_S * 1e3:g} ms)",
        )
        and few
    )


def _p99(run: Run) -> float:
    return float(np.percentile(run.late_s, 99))


def display_command() -> list[str] | None:
    """What a command needs before it to find a display; None if there is none."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform != "linux":
        return []
    if shutil.which("xvfb-run") is None:
        return None
    return ["xvfb-run", "-a", "-s", f"-screen 0 {SIZE[0]}x{SIZE[1]}x24"]


def _run(seconds: float, display: list[str] | None) -> Run:
    """One service from its start to its end; the window is there before the arm moves."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        free.close()
        frames_hz = None
        with service(Path(folder), port) as url:
            if display is None:
                asyncio.run(_jog(url, seconds))
            else:
                with _window(display, url) as window:
                    asyncio.run(_jog(url, seconds))
                    frames_hz = _frames_hz(window)
        return _read(sorted(Path(folder).rglob("*.mcap"), key=lambda path: path.stat().st_mtime), frames_hz)


@contextlib.contextmanager
def service(folder: Path, port: int) -> Iterator[str]:
    """A lab in a box, its journals in this folder."""
    # Who drives finds the key of the service's start there, too.
    os.environ["XDG_STATE_HOME"] = str(folder)
    child = subprocess.Popen(
        [sys.executable, "-c", _SERVE, "serve", "--demo", "1", "--port", str(port)], stdout=subprocess.PIPE, text=True
    )
    try:
        await_line(child.stdout, "serving ")
        yield f"http://127.0.0.1:{port}"
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=START_S)


@contextlib.contextmanager
def _window(display: list[str], url: str) -> Iterator[subprocess.Popen[str]]:
    """A window that looks on; it goes when its standard input is closed."""
    child = subprocess.Popen(
        [*display, sys.executable, __file__, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        await_line(child.stdout, "drawing")
        yield child
    finally:
        child.communicate(timeout=START_S)


def _frames_hz(window: subprocess.Popen[str]) -> float:
    assert window.stdin is not None and window.stdout is not None
    window.stdin.write("enough\n")
    window.stdin.flush()
    return float(await_line(window.stdout, "frames "))


def await_line(lines: IO[str] | None, begin: str) -> str:
    """What follows on the first line that begins so."""
    assert lines is not None
    for line in lines:
        if line.startswith(begin):
            return line.removeprefix(begin).strip()
    raise SystemExit(f"bench: a process has ended before it said {begin!r}")


async def _jog(url: str, seconds: float) -> None:
    """Turn the base to and fro for so long."""
    async with AsyncArm(reach(url)[0], _ARM, name="bench") as arm:
        await arm.until(lambda: arm.mode in (Mode.IDLE, Mode.HOLDING), START_S)
        await arm.claim(within_s=START_S)
        await arm.until(lambda: arm.telemetry is not None, START_S)
        assert arm.welcome is not None
        rate, still = arm.welcome.axes[0].speed * SHARE, (0.0,) * (len(arm.welcome.axes) - 1)
        way, end_s = 1.0, time.monotonic() + seconds

        def turn() -> AxisJog:
            nonlocal way
            at = arm.telemetry.commanded[0] if arm.telemetry is not None else None
            if at is not None and abs(at) > TURN_RAD:
                way = -math.copysign(1.0, at)
            return AxisJog(amounts=(way * rate, *still))

        while time.monotonic() < end_s:
            try:
                await arm.jog(turn, lambda: time.monotonic() < end_s, SHARE)
            except HilError as error:
                print(f"  begun anew: {error}", flush=True)
            await arm.free()


def _read(journals: list[Path], frames_hz: float | None) -> Run:
    """All ticks in motion."""
    late, overruns, moving_s, missed = [], 0, None, 0
    for path in journals:
        for tick in (entry.tick for entry in read_journal(path)):
            if tick is None:
                continue
            moving_s = (tick.t_s if moving_s is None else moving_s) if tick.mode is Mode.STREAMING else None
            if moving_s is not None and tick.t_s - moving_s > WARM_S:
                late.append(tick.late_s)
                overruns += tick.missed - missed
            missed = tick.missed
    if not late:
        raise SystemExit("bench: the arm has not moved")
    return Run(np.array(late), overruns, frames_hz)


# -- the window --------------------------------------------------------------------------------------------


def _show(url: str) -> int:
    """Draw what the service says, as fast as it is asked for, until a line comes; then say how fast it was."""
    import threading

    from PySide6.QtCore import QSettings, QTimer

    from hil.dashboard.application import make_application
    from hil.dashboard.probe import check
    from hil.dashboard.service_link import ServiceLink
    from hil.dashboard.session import Session
    from hil.dashboard.window import Window

    opengl = check()
    app = make_application()
    session = Session(ServiceLink(reach(url)[0], _ARM))
    with tempfile.TemporaryDirectory() as folder:
        settings = QSettings(str(Path(folder) / "bench.ini"), QSettings.Format.IniFormat)
        window: Any = Window(session, settings, opengl=opengl, size=SIZE)
    window.show()
    window.bring(window.docks["plots"])
    session.link.begin()
    stamps = _count_frames(window)
    draw = QTimer()
    draw.timeout.connect(lambda: (window.live.show_layer("trace", True), window.live.refresh()))
    draw.start(FRAME_MS)
    session.arm_changed.connect(lambda: window.views["plots"].pick({0, 1, 2, 3}))
    session.arm_changed.connect(lambda: print("drawing", flush=True))
    enough = threading.Event()

    def wait_for_a_line() -> None:
        sys.stdin.readline()
        enough.set()

    threading.Thread(target=wait_for_a_line, daemon=True).start()
    look = QTimer()
    look.timeout.connect(lambda: enough.is_set() and window.close())
    look.start(50)
    app.exec()
    print(f"frames {(len(stamps) - 1) / (stamps[-1] - stamps[0]):.1f}", flush=True)
    return 0


def _count_frames(window: Any) -> list[float]:
    """Times of the frames that the scene draws from now on."""
    stamps: list[float] = []
    scene = type(window.live.scene)
    name = "paintGL" if hasattr(scene, "paintGL") else "paintEvent"
    plain = getattr(scene, name)

    def paint(self: Any, *event: Any) -> None:
        plain(self, *event)
        stamps.append(time.perf_counter())

    setattr(scene, name, paint)
    return stamps


if __name__ == "__main__":
    sys.exit(_show(sys.argv[1]))
