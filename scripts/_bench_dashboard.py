"""The window at an arm's keys (`_bench_window`), and its frames beside those of a bare OpenGL widget, in one run.

The frames are drawn with a four-hour session loaded.

Under a virtual display (xvfb) where there is no other; OpenGL is then done in software.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import _bench_window
import numpy as np
from _bench_common import Effort, verdict

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

ROUNDS = (3, 3, 1)
SECONDS = (8.0, 3.0, 0.2)
SIZE = (1280, 800)
LEAST_SHARE = 0.8
LONGEST_MS = 150.0
SESSION_S = 4 * 3600.0
DAY_S = (24 * 3600.0, 24 * 3600.0, 2 * 3600.0)
MOST_GROWTH_MIB = 8.0


def run(effort: Effort) -> bool:
    """Measure; True if the criteria are met."""
    return _bench_window.run(effort) & _frames_run(effort)


def _frames_run(effort: Effort) -> bool:
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY") and sys.platform == "linux":
        if shutil.which("xvfb-run") is None:
            print("dashboard: no display, and no xvfb: sudo apt install xvfb")
            return False
        command = ["xvfb-run", "-a", "-s", f"-screen 0 {SIZE[0]}x{SIZE[1]}x24", sys.executable, __file__]
        return subprocess.run([*command, effort.value], check=False).returncode == 0
    return _measure(effort)


def _measure(effort: Effort) -> bool:
    import pyqtgraph.opengl as gl
    from pretend import PretendLink
    from PySide6.QtCore import QSettings, QTimer

    from hil.dashboard.application import make_application
    from hil.dashboard.arm import arm_of_rig
    from hil.dashboard.live_view import FRAME_EVERY_MS
    from hil.dashboard.scene import GlScene
    from hil.dashboard.session import QUANTITIES, Session
    from hil.dashboard.window import Window
    from hil.runtime.wiring import load_rig

    class Bare(gl.GLViewWidget):  # type: ignore[misc]  # pyqtgraph has no types
        """Nothing but a grid."""

    stamps: list[float] = []
    for kind in (Bare, GlScene):
        _count(kind, stamps)
    app = make_application()
    bare = Bare()
    bare.addItem(gl.GLGridItem())
    bare.resize(*SIZE)
    turn = QTimer()
    turn.timeout.connect(lambda: bare.orbit(1.0, 0.0))
    turn.setInterval(FRAME_EVERY_MS)

    link = PretendLink(arm_of_rig(load_rig("lynx6")))
    session = Session(link)
    with tempfile.TemporaryDirectory() as folder:
        settings = QSettings(str(Path(folder) / "bench.ini"), QSettings.Format.IniFormat)
        window = Window(session, settings, opengl=True, size=SIZE)
    window.show()
    window.bring(window.docks["plots"])
    link.begin()
    _load(session, len(QUANTITIES) * len(link.arm.axes))
    link.now_s += SESSION_S
    plots: Any = window.views["plots"]
    plots.pick({0, 1, 2, 3})  # four joints, each commanded, simulated and reported: twelve curves
    feed = QTimer()
    feed.timeout.connect(lambda: link.advance(0.02))
    feed.setInterval(20)
    window.hide()

    def bare_round() -> list[float]:
        bare.show()
        turn.start()
        found = _frames(app, stamps, effort.of(*SECONDS))
        turn.stop()
        bare.hide()
        return found

    def window_round(span: str) -> list[float]:
        plots.show_newest(span)
        window.show()
        feed.start()
        found = _frames(app, stamps, effort.of(*SECONDS))
        feed.stop()
        window.hide()
        return found

    rounds = [(bare_round(), window_round("30 s"), window_round("4 h")) for _ in range(effort.of(*ROUNDS))]
    rates = [[len(gaps) / sum(gaps) for gaps in each] for each in rounds]
    longest_ms = 1000.0 * max(max(gaps) for each in rounds for gaps in each[1:])
    share = float(np.median([min(near, far) / bare_hz for bare_hz, near, far in rates]))
    print("frames of the 3D view a second, asked for 30; beside it twelve curves, the newest 30 s, then all 4 h")
    for bare_hz, near, far in rates:
        print(f"  bare GLViewWidget {bare_hz:5.1f}   dashboard, 30 s {near:5.1f}   dashboard, 4 h {far:5.1f}")
    grown_mib = _day(session, link, effort.of(*DAY_S))
    met = verdict(share >= LEAST_SHARE, f"share of the bare widget's frames {share:.2f}, at least {LEAST_SHARE}")
    met &= verdict(
        longest_ms <= LONGEST_MS, f"longest time from frame to frame {longest_ms:.0f} ms, at most {LONGEST_MS:.0f}"
    )
    words = f"memory grew by {grown_mib:.1f} MiB over a day, at most {MOST_GROWTH_MIB:g}"
    return verdict(grown_mib <= MOST_GROWTH_MIB, words) and met


def _load(session: Any, curves: int) -> None:
    """Four hours of all curves."""
    times = np.arange(0.0, SESSION_S, 0.02)
    for part in np.array_split(times, 40):
        session.history.extend(part, 60.0 * np.sin(part[:, None] / np.arange(5.0, 5.0 + curves)))


def _count(kind: Any, stamps: list[float]) -> None:
    """Note the end of every frame that widgets of this class draw."""
    plain = kind.paintGL

    def paint(self: Any) -> None:
        plain(self)
        stamps.append(time.perf_counter())

    kind.paintGL = paint


def _frames(app: Any, stamps: list[float], seconds: float) -> list[float]:
    """Times between frames, without those of the first second."""
    end_s = time.perf_counter() + 1.0 + seconds
    while time.perf_counter() < end_s:
        app.processEvents()
        time.sleep(0.0005)
    found: list[float] = np.diff([stamp for stamp in stamps if stamp > end_s - seconds]).tolist()
    stamps.clear()
    return found


def _day(session: Any, link: Any, day_s: float) -> float:
    """Growth of the process's memory over a day of telemetry, after the first hour of it, MiB."""
    link.period_s = 0.5
    before = 0.0
    for hour in range(int(day_s // 3600.0)):
        for _ in range(24):
            link.advance(150.0)
            session.take()
        if hour == 0:
            before = _memory_mib()
    return _memory_mib() - before


def _memory_mib() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    sys.exit(0 if _measure(Effort(sys.argv[1])) else 1)
