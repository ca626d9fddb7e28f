"""The newcomer's two terminals: `hil serve --demo`, and what drives, watches and fetches."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_box import LabBox, lab_in_a_box

pytestmark = pytest.mark.processes
HIL = [sys.executable, "-c", "from hil.cli.main import main; main()"]
LONGEST_S = 60.0


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabBox]:
    """A lab in a box."""
    with lab_in_a_box(tmp_path_factory.mktemp("lab")) as found:
        yield found


@pytest.fixture
def lab(box: LabBox, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address, for its own user."""
    monkeypatch.setenv("XDG_STATE_HOME", str(box.state))
    return box.url


def hil(folder: Path, *arguments: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    # The key of the lab's start is where this user's state is.
    places = {"XDG_CONFIG_HOME": str(folder / "config")}
    done = subprocess.run(
        [*HIL, *arguments],
        input=lines,
        env={**os.environ, **places},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done


def test_lines_drive_and_a_pose_is_kept(lab: str, tmp_path: Path) -> None:
    done = hil(tmp_path, "drive", f"{lab}/arm-1", lines="j1 +5\nspeed 100\nhome\nz 5\nt pick\npark\nq\n")
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout.startswith("FAKE arm-1")
    places = [line for line in done.stdout.splitlines() if line.startswith("idle: ")]
    assert places[0].startswith("idle: base 5.00 deg")
    assert any("shoulder 90.00 deg, elbow -75.00 deg" in place for place in places)
    assert "shoulder 172.00 deg" in places[-1]
    assert "the lease is given back" in done.stdout
    assert 'do = "move"' in (tmp_path / "pick.toml").read_text()


def test_a_self_test_by_a_line_stands_at_the_booking(lab: str, tmp_path: Path) -> None:
    done = hil(tmp_path, "drive", f"{lab}/arm-1", lines="speed 100\nself-test\nq\n")
    assert done.returncode == 0, done.stderr
    assert "self-test passed: positions echoed" in done.stdout
    assert re.search(
        r"^self-test: .* passed, positions echoed$", hil(tmp_path, "book", f"{lab}/arm-1").stdout, re.MULTILINE
    )


def test_what_is_refused_is_explained_and_ends_with_1(lab: str, tmp_path: Path) -> None:
    done = hil(tmp_path, "drive", lab, lines="frobnicate\nx 500\nq\n")
    assert done.returncode == 1
    assert "'frobnicate' means nothing here" in done.stderr
    assert "100 mm at most" in done.stderr


def test_watching_gives_a_line_or_json(lab: str, tmp_path: Path) -> None:
    shown = hil(tmp_path, "watch", f"{lab}/arm-1", "--for", "0.2")
    assert re.match(r"\w+: base -?[\d.]+ deg, ", shown.stdout)
    told = hil(tmp_path, "watch", lab, "--json", "--for", "0.2")
    assert json.loads(told.stdout.splitlines()[0])["type"] == "telemetry"


def test_a_pulled_rig_previews(lab: str, tmp_path: Path) -> None:
    done = hil(tmp_path, "pull", lab, "arm-1")
    assert done.returncode == 0, done.stderr
    assert "previews here match the arm" in done.stdout
    assert hil(tmp_path, "pull", f"{lab}/arm-1", "arm-2").returncode == 2


def test_a_lab_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    for command in (("drive",), ("watch",), ("pull",)):
        done = hil(tmp_path, *command, "http://127.0.0.1:9/arm-1")
        assert done.returncode == 1
        assert "cannot be reached" in done.stderr
        assert done.stderr.count("\n") == 1


class Keys:
    """`hil drive` at a terminal: what it shows, while keys are pressed."""

    def __init__(self, lab: str, folder: Path, speed: str) -> None:
        place = {"TERM": "xterm", "COLUMNS": "120", "LINES": "50", "XDG_CONFIG_HOME": str(folder)}
        self._near, far = pty.openpty()
        command = [*HIL, "drive", f"{lab}/arm-1", "--speed", speed]
        self.process = subprocess.Popen(command, stdin=far, stdout=far, stderr=far, env={**os.environ, **place})
        os.close(far)

    def until(self, words: bytes, press: bytes = b"") -> None:
        """Read until something is shown; meanwhile a key is held down."""
        deadline_s, seen = time.monotonic() + LONGEST_S, b""
        while words not in seen:
            assert time.monotonic() < deadline_s, f"{words!r} was never shown: {seen[-2000:]!r}"
            seen += self.press(press)

    def press(self, key: bytes = b"") -> bytes:
        """Press a key; gives what is shown within a moment."""
        if key:
            os.write(self._near, key)
        return os.read(self._near, 65536) if select.select([self._near], [], [], 0.05)[0] else b""


@pytest.fixture
def keys(lab: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Keys]:
    """`hil drive` at so much of the rig's speeds; it has to end well."""
    found = Keys(lab, tmp_path, request.param)
    try:
        found.until(b"you drive")
        yield found
        found.press(b"q")
        found.until(b"the lease is given back")
        assert found.process.wait(LONGEST_S) == 0
    finally:
        found.process.kill()


@pytest.mark.pty
@pytest.mark.parametrize("keys", ["10"], indirect=True)
def test_a_planned_move_goes_on_only_while_its_key_is_held_down(keys: Keys) -> None:
    keys.until(b"STREAMING", press=b"h")
    keys.until(b"HOLDING")


@pytest.mark.pty
@pytest.mark.parametrize("keys", ["100"], indirect=True)
def test_a_key_that_is_held_on_begins_nothing_anew_and_leaves_the_result_to_be_read(keys: Keys) -> None:
    keys.until(b"self-test passed", press=b"e")
    after = b"".join(keys.press(b"e") for _ in range(20))
    assert b"STREAMING" not in after
    keys.until(b"self-test passed")
