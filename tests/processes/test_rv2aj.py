"""The RV-2AJ end to end in real time: command line, loop process, recorder, fake CR1 at 9600 8E2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hil.program.program_plan import plan_program
from hil.program.programs import load_program
from hil.program.trace import from_csv
from hil.runtime import wiring
from hil.runtime.journal import Completeness, read_journal, verify
from hil.runtime.replay import replay
from hil.types import JointCommand, TickRecord

HERE = Path(__file__).parent
SHORT = str(HERE / "rv2aj-short.mb4")

pytestmark = [pytest.mark.processes, pytest.mark.pty, pytest.mark.timeout(180)]


def typed(folder: Path, *arguments: str) -> str:
    """What `hil` printed; it has to end with 0."""
    environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    done = subprocess.run(
        [sys.executable, "-c", "from hil.cli.main import main; main()", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def judged(folder: Path) -> Path:
    """The one journal, complete and giving the same bytes again."""
    (journal,) = (folder / "state" / "hil" / "journals").glob("*.mcap")
    assert verify(journal).completeness is Completeness.COMPLETE
    verdict = replay(journal)
    assert verdict.same, verdict.first_difference
    return journal


def test_a_task_runs_on_the_fake_and_says_how_often_targets_were_sent(tmp_path: Path) -> None:
    out = typed(tmp_path, "run", "rv2aj", str(HERE / "rv2aj-short.toml"))
    assert out.startswith("FAKE rv2aj")
    assert "PASSED" in out
    assert "armed -> streaming" in out
    assert "targets a second while moving" in out
    assert "the motion is done" in out
    judged(tmp_path)


def test_a_program_is_streamed_by_the_bridge(tmp_path: Path) -> None:
    trace = tmp_path / "bridge.csv"
    out = typed(tmp_path, "program", "rv2aj", SHORT, "--trace", str(trace))
    assert out.startswith("FAKE rv2aj")
    assert "targets a second while moving" in out
    assert "the motion is done" in out
    rows = from_csv(trace.read_text())
    assert {row.line for row in rows} <= {30, 50, 60}
    assert max(row.joints_deg[0] for row in rows) == pytest.approx(3.0, abs=0.02)
    # Sample by sample what was proved; the last one is the same as the one before it, and is not sent again.
    rig = wiring.load_rig("rv2aj")
    plan = plan_program(rig, load_program(SHORT), start=rig.park)
    ticks = [entry.data for entry in read_journal(judged(tmp_path)) if isinstance(entry.data, TickRecord)]
    sent = [
        tick.wanted.positions for tick in ticks if tick.sample is not None and isinstance(tick.wanted, JointCommand)
    ]
    assert sent == [tuple(row) for row in plan.motion.samples.tolist()][:-1]


def test_a_program_is_run_by_the_controller(tmp_path: Path) -> None:
    trace = tmp_path / "controller.csv"
    out = typed(tmp_path, "program", "rv2aj", SHORT, "--on", "controller", "--trace", str(trace))
    assert out.startswith("FAKE rv2aj")
    assert "looks a second" in out
    assert "off the proved way" in out
    rows = from_csv(trace.read_text())
    assert rows[-1].joints_deg == pytest.approx((0.0, -20.0, 110.0, 80.0, 0.0), abs=0.011)
    assert 5 in rows[-1].outputs
