"""hil follow: its options and refusals, and one run on the fake in processes of its own."""

from __future__ import annotations

import itertools
import math
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from wire_samples import SERVER

from hil.cli import _target_feed
from hil.cli._pose_lines import pose_line
from hil.cli._target_feed import DatagramFeed, PacedFeed, StreamFeed
from hil.runtime.replay import replay
from hil.runtime.wiring import load_rig
from hil.service import wire
from hil.types import StateSource
from hil.workbench.target_lines import TargetLines

COMMAND = [sys.executable, "-c", "from hil.cli.main import main; main()", "follow"]
LONGEST_S = 60.0


@pytest.fixture
def room(tmp_path: Path) -> dict[str, str]:
    """Surroundings in which nothing of the user's is touched."""
    folders = {name: str(tmp_path / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return {**os.environ, **folders}


def follow(room: dict[str, str], folder: Path, lines: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], input=lines, env=room, cwd=folder, capture_output=True, text=True, timeout=LONGEST_S
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rate", "5"), "10 to 100 lines a second"),
        (("--rate", "nan"), "10 to 100 lines a second"),
        (("--speed", "0"), "above 0 to 100 %"),
        (("--rate", "50", "--listen", "0"), "is for standard input"),
        (("--scale", "2"), "give --leader RIG as well"),
        (("--leader", "lynx6", "--scale", "0"), "up to 10 times"),
        (("--leader", "lynx6", "--by", "hand"), "joints or tool"),
        (("--leader", "nobody"), "nobody"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_starts(
    room: dict[str, str], words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from typer.testing import CliRunner

    from hil.cli.app import app
    from hil.errors import HilError

    outcome = CliRunner().invoke(app, ["follow", "lynx6", *words], env={"COLUMNS": "200"})
    assert outcome.exit_code != 0
    words_said = " ".join(outcome.output.split())
    assert said in words_said or (isinstance(outcome.exception, HilError) and said in str(outcome.exception))
    assert "FAKE" not in outcome.output


def test_an_arm_that_cannot_follow_is_told_what_it_can() -> None:
    from typer.testing import CliRunner

    from hil.cli.app import app

    outcome = CliRunner().invoke(app, ["follow", "rv2aj"])
    assert "rv2aj does not follow targets" in str(outcome.exception)
    assert "hil jog" in str(outcome.exception)


@pytest.mark.processes
@pytest.mark.parametrize("bad", [False, True], ids=["sound", "one bad line"])
def test_lines_lead_the_fake_and_a_bad_one_moves_nothing(room: dict[str, str], tmp_path: Path, bad: bool) -> None:
    way = [f"joints base={10 * (1 - math.cos(math.pi * k / 50)):.3f}\n" for k in range(51)]
    if bad:
        way[20] = "joints base=nan\n"
    done = follow(room, tmp_path, "".join(way), "lynx6", "--rate", "50", "--speed", "100", "--journal", "f.mcap")
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.startswith("FAKE ssc32")
    assert "at joints 0.00 172.02" in done.stdout
    told = [line for line in done.stderr.splitlines() if not line.startswith(("starting for", "the start took"))]
    assert told == bad * ["base: 'nan' given; allowed: a finite number"]
    assert done.returncode == int(bad)
    assert f"{51 - bad} targets sent; the arm holds" in done.stdout
    assert replay(tmp_path / "f.mcap").same


# -- where lines come from -------------------------------------------------------------------------------------


def pipe(monkeypatch: pytest.MonkeyPatch) -> int:
    read, write = os.pipe()

    class Stdin:
        def fileno(self) -> int:
            return read

    monkeypatch.setattr(_target_feed.sys, "stdin", Stdin())
    return write


def taken(feed: StreamFeed | PacedFeed | DatagramFeed, count: int) -> list[_target_feed.Line]:
    found: list[_target_feed.Line] = []
    deadline_s = time.monotonic() + 20.0
    while len(found) < count and time.monotonic() < deadline_s:
        found += feed.take()
        time.sleep(0.001)
    return found


@pytest.mark.wall_clock
def test_of_lines_that_come_together_the_last_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    write = pipe(monkeypatch)
    os.write(write, b"one\ntwo\nthr")
    feed = StreamFeed()
    assert [line.text for line in taken(feed, 1)] == ["two"]
    os.write(write, b"ee\n")
    assert [line.text for line in taken(feed, 1)] == ["three"]
    os.write(write, b"four")
    os.close(write)
    assert [line.text for line in taken(feed, 1)] == ["four"]
    assert feed.over


@pytest.mark.wall_clock
def test_lines_of_a_file_are_taken_at_an_even_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    write = pipe(monkeypatch)
    os.write(write, b"1\n2\n\n3\n4")
    os.close(write)
    found = taken(PacedFeed(100.0), 4)
    assert [line.text for line in found] == ["1", "2", "3", "4"]
    assert [b.at_s - a.at_s for a, b in itertools.pairwise(found)] == pytest.approx([0.01] * 3)


@pytest.mark.wall_clock
def test_datagrams_are_lines_and_come_from_this_machine_alone() -> None:
    feed = DatagramFeed(0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"#1 joints base=1", ("127.0.0.1", feed.port))
        assert [line.text for line in taken(feed, 1)] == ["#1 joints base=1"]
    assert feed._socket.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match="in use"):
        DatagramFeed(feed.port)
    feed.close()


# -- an arm of a lab as the leader -----------------------------------------------------------------------------


def test_a_leader_s_pose_is_what_it_measures_else_what_it_was_sent_to() -> None:
    welcome = next(message for message in SERVER if isinstance(message, wire.Welcome))
    seen = next(message for message in SERVER if isinstance(message, wire.Telemetry))
    axes = [msgspec.structs.replace(welcome.axes[0], kind=kind) for kind in ("revolute", "gripper")]
    known = {"commanded": (math.radians(10.0), 0.02), "reported": (math.radians(11.0), 0.021)}
    echoed = msgspec.structs.replace(seen, source=StateSource.ECHOED, **known)
    assert pose_line(axes, echoed) == "joints 10.000 20.000"
    measured = msgspec.structs.replace(echoed, source=StateSource.MEASURED)
    assert pose_line(axes, measured) == "joints 11.000 21.000"
    partly = msgspec.structs.replace(measured, reported=(None, 0.021))
    assert pose_line(axes, partly) == "joints 10.000 20.000"
    assert pose_line(axes, msgspec.structs.replace(partly, commanded=(None, 0.02))) == ""
    assert TargetLines(load_rig("ur5"), (0.0,) * 6).read(pose_line([axes[0]] * 6, msgspec.structs.replace(
        echoed, commanded=(0.1,) * 6))) is not None  # fmt: skip
