"""Whoever is at the other end of a real port, as each command that opens one takes it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import Terminal
from plugged_in import DEVICE, OTHER, OURS, Plugs, calibrated, own_folder, plugs_here

from hil.clock import VirtualClock
from hil.model._controller_file import controller_file, read_controller, write_controller
from hil.model.files import bundled_dir
from hil.model.rig import Rig
from hil.runtime import port_wiring, wiring
from hil.testing.fakes import RunningFake
from hil.types import ControllerIdentity

SHORT = "10 MOV J1\n20 END\nJ1=(3,-19,109,0,79,2)\n"
REAL = ("--hardware", "--port", DEVICE)
BY = ("--by", "Zoë")
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "desk-3", "wave", *REAL),
    "park": ("park", "desk-3", *REAL),
    "jog": ("jog", "desk-3", *REAL),
    "calibrate": ("calibrate", "desk-3", *REAL, *BY),
    "centre": ("calibrate", "desk-3", "--centre", *REAL),
    "one joint": ("calibrate", "desk-3", "--joint", "elbow", *REAL, *BY),
    "identify": ("identify", "desk-3", *REAL, *BY),
    "status": ("status", "desk-3", *REAL),
    "run on a CR1": ("run", "cr1-9", "home", *REAL),
    "program on the bridge": ("program", "cr1-9", "short.mb4", *REAL),
    "program on the controller": ("program", "cr1-9", "short.mb4", "--on", "controller", *REAL),
    "status of a CR1": ("status", "cr1-9", *REAL),
    "backup": ("backup", "cr1-9", *REAL),
    "identify a CR1": ("identify", "cr1-9", *REAL, *BY),
}
LOOKS = {
    "calibrate": 3,
    "centre": 3,
    "one joint": 4,
    "identify": 3,
    "status": 2,
    "program on the controller": 3,
    "status of a CR1": 2,
    "backup": 2,
    "identify a CR1": 2,
}
"""How often a command looks that opens the port in this process: at its start, and twice when it opens."""


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    own_folder(monkeypatch, tmp_path)
    file = tmp_path / "config/hil/rigs/desk-3.toml"
    file.write_text(f'{file.read_text()}adapter_serial = "{OURS}"\n')
    (tmp_path / "short.mb4").write_text(SHORT)
    parent = bundled_dir() / "rigs/rv2aj.toml"
    (tmp_path / "config/hil/rigs/cr1-9.toml").write_text(f'inherit = "{parent}"\nadapter_serial = "{OURS}"\n')
    return Terminal(tmp_path, monkeypatch, capsys)


class Silent:
    """A line at whose end nobody answers, and which keeps what it was given."""

    def __init__(self) -> None:
        self.written = b""
        self.opened = 0

    def open(self, url: str, baud: int, framing: str) -> Silent:
        self.opened += 1
        return self

    def read(self, now_s: float) -> bytes:
        return b""

    def write(self, data: bytes, now_s: float) -> None:
        self.written += data

    def set_baud(self, baud: int) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def plugs(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Plugs:
    plugs = plugs_here(monkeypatch)
    calibrated()
    return plugs


@pytest.mark.parametrize("command", COMMANDS)
def test_another_adapter_is_refused_before_the_port_is_opened(
    terminal: Terminal, plugs: Plugs, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    line = Silent()
    monkeypatch.setattr(port_wiring, "open_serial", line.open)
    plugs.plug(OTHER)
    done = terminal.run(*COMMANDS[command])
    assert done.code == 1
    assert f"{DEVICE} carries the adapter {OTHER}" in done.err and "may be another arm" in done.err
    assert line.opened == 0


@pytest.mark.parametrize(("command", "look"), [(name, k) for name, looks in LOOKS.items() for k in range(2, looks + 1)])
def test_one_that_comes_in_between_gets_no_byte(
    terminal: Terminal, plugs: Plugs, monkeypatch: pytest.MonkeyPatch, command: str, look: int
) -> None:
    line = Silent()
    monkeypatch.setattr(port_wiring, "open_serial", line.open)
    plugs.looks = 0
    plugs.change = lambda number: plugs.plug(OURS if number < look else OTHER)
    done = terminal.run(*COMMANDS[command])
    assert done.code == 1
    assert OTHER in done.err and "may be another arm" in done.err, done.text
    assert line.written == b""
    assert plugs.looks - look in (0, 1), "after the look that saw it there is at most one for where it is now"


def test_asking_who_is_there_is_done_for_no_rig(
    terminal: Terminal, plugs: Plugs, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = Silent()
    monkeypatch.setattr(port_wiring, "open_serial", lambda url, baud=0, framing="": line.open(url, baud, framing))
    monkeypatch.setattr("hil.clock.RealClock", lambda: VirtualClock(1.0))
    plugs.plug(OTHER)
    done = terminal.run("ports", "--ask", DEVICE)
    assert "no answer to VER" in done.out and line.opened
    assert b"#" not in line.written


# -- another controller behind the same adapter --------------------------------------------------------------


@pytest.fixture
def board(terminal: Terminal) -> Iterator[tuple[Rig, str]]:
    """desk-3, quick to come up and calibrated at a fake on TCP, and where that is."""
    rig_file = terminal.folder / "config/hil/rigs/desk-3.toml"
    free = rig_file.read_text().replace(f'adapter_serial = "{OURS}"\n', "")
    rig_file.write_text(f"{free}[timing]\nenergise_dwell_ms = 20\n")
    raw = wiring.load_rig("desk-3", calibrated=False)
    fake = RunningFake(raw, raw.park, tcp=True)
    try:
        yield calibrated(fake.url), fake.url
    finally:
        fake.stop()


@pytest.fixture
def cr1(terminal: Terminal) -> Iterator[tuple[Rig, str]]:
    """A CR1 on TCP, whose arm stands in its park pose."""
    (terminal.folder / "config/hil/rigs/cr1-9.toml").write_text(f'inherit = "{bundled_dir() / "rigs/rv2aj.toml"}"\n')
    rig = wiring.load_rig("cr1-9")
    fake = RunningFake(rig, rig.park, tcp=True)
    try:
        yield rig, fake.url
    finally:
        fake.stop()


def remember(rig: Rig, *facts: tuple[str, str]) -> None:
    calibration = "" if rig.calibration is None else rig.calibration.id
    write_controller(rig.id, calibration, ControllerIdentity(facts=facts), port="there", date="2026-11-28T10:00:00")


@pytest.fixture
def typed(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Types lines into a pipe for the commands that follow."""
    with contextlib.ExitStack() as files:

        def lines(*answers: str) -> None:
            file = terminal.folder / "answers.txt"
            file.write_text("".join(f"{answer}\n" for answer in answers))
            monkeypatch.setattr(sys, "stdin", files.enter_context(file.open()))

        yield lines


OLD_VERSION = ("what it calls itself", "SSC32-V2.01XE")


@pytest.mark.processes
@pytest.mark.parametrize("command", ["run", "park", "jog", "one joint"])
def test_another_board_than_the_last_time_is_refused(
    terminal: Terminal, board: tuple[Rig, str], typed: Callable[..., None], command: str
) -> None:
    rig, url = board
    remember(rig, OLD_VERSION)
    typed("q")
    confirmed = ("--pose-confirmed-by", "Zoë") if command != "one joint" else ()
    done = terminal.run(*(url if word == DEVICE else word for word in COMMANDS[command]), *confirmed)
    assert done.code == 1
    assert "what it calls itself was 'SSC32-V2.01XE', is 'SSC32-V2.03XE'" in done.err
    assert f"hil identify desk-3 --hardware --port {url}" in done.err
    assert read_controller(rig) == ControllerIdentity(facts=(OLD_VERSION,)), "only a person takes another one"


@pytest.mark.processes
def test_the_first_meeting_is_told_once_and_a_person_takes_a_change_by_looking(
    terminal: Terminal, board: tuple[Rig, str], typed: Callable[..., None]
) -> None:
    rig, url = board
    there = ("--hardware", "--port", url)
    jog = ("jog", "desk-3", *there, "--pose-confirmed-by", "Zoë")
    typed("q")
    first = terminal.run(*jog)
    assert first.code == 0 and first.text.count("first meeting: what this controller says of itself") == 1, first.text
    met = read_controller(rig)
    assert met is not None and len(met.facts) == 3 + 2 * (6 + 1)  # six axes and the canary
    file = controller_file("desk-3")
    assert file.parent.name == "calibrations"
    written = file.read_text()
    typed("q")
    assert "first meeting" not in terminal.run(*jog).text
    assert file.read_text() == written
    remember(rig, *((what, "9" if "R66" in what else value) for what, value in met.facts))
    typed("go", "yes")
    looked = terminal.run("identify", "desk-3", *there, *BY)
    assert looked.code == 0, looked.text
    assert "changed: start-up pulse of channel 2 in us (R66) was '9', is '1500'" in looked.out
    again = read_controller(rig)
    assert again is not None and set(again.facts) == set(met.facts)


@pytest.mark.processes
@pytest.mark.parametrize("command", ["program on the bridge", "program on the controller"])
def test_another_cr1_than_the_last_time_is_refused(terminal: Terminal, cr1: tuple[Rig, str], command: str) -> None:
    rig, url = cr1
    remember(rig, (ControllerIdentity.NAME, "another one"))
    confirmed = ("--pose-confirmed-by", "Zoë")
    done = terminal.run(*(url if word == DEVICE else word for word in COMMANDS[command]), *confirmed)
    assert done.code == 1
    assert "what it calls itself was 'another one', is '" in done.err
    assert f"hil identify cr1-9 --hardware --port {url}" in done.err


@pytest.mark.processes
def test_a_cr1_is_taken_by_its_name_without_being_moved(
    terminal: Terminal, cr1: tuple[Rig, str], typed: Callable[..., None]
) -> None:
    rig, url = cr1
    remember(rig, (ControllerIdentity.NAME, "another one"))
    identify = ("identify", "cr1-9", "--hardware", "--port", url, *BY)
    typed("no")
    refused = terminal.run(*identify)
    assert refused.code == 1 and "does not lead to the controller of" in refused.err
    assert read_controller(rig) == ControllerIdentity(facts=((ControllerIdentity.NAME, "another one"),))
    typed("perhaps", "yes")
    done = terminal.run(*identify)
    assert done.code == 0 and "changed: what it calls itself was 'another one', is '" in done.out, done.text
    taken = read_controller(rig)
    assert taken is not None and "RV-2AJ" in taken.facts[0][1]


def test_a_fake_cr1_is_asked_and_of_it_nothing_is_remembered(terminal: Terminal) -> None:
    done = terminal.run("identify", "cr1-9", *BY)
    assert done.code == 0 and done.out.startswith("FAKE rv2aj") and "nothing is remembered" in done.out
    assert not controller_file("cr1-9").exists()
