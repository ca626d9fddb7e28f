"""Forty slips at the command line: each gets words that say what is wrong and what to do, and no traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Terminal

SLIPS: tuple[tuple[str, str], ...] = (
    ("rnu lynx6 square", "Did you mean 'run'"),
    ("run lynx square", "Did you mean 'lynx6'"),
    ("run lynx6 sqare", "Did you mean 'square'"),
    ("run lynx6", "Missing argument 'task'"),
    ("run square lynx6", "a rig or robot; this is a task. The arm comes first: lynx6 square"),
    ("run lynx6 square --harware", "Possible options: --hardware"),
    (
        "run lynx6 square --port /dev/ttyUSB0",
        "--port names a real port and needs --hardware; without it a fake is used",
    ),
    (
        "run lynx6 square --hardware",
        "is not calibrated.* Run `hil calibrate lynx6 --hardware --port /dev/ttyUSB0` first",
    ),
    ("run ur5 square", "no elbow up or down.*Leave elbow out"),
    ("run ur5 square --hardware", "simulated controller.*Leave out --hardware"),
    ("run lynx6 square --certificate nothere", "nothere: the certificate cannot be read"),
    ("preview lynx6 metres.toml", "these look like metres: 0.18 m is 180 mm"),
    ("preview lynx6 radians.toml", "these look like radians: 1.57 rad is 90 deg"),
    ("preview lynx6 unit.toml", "Did you mean .*to_mm"),
    ("preview lynx6 broken.toml", "line 2.*text stands in quotes"),
    ("jog lynx6 --speed 0", "above 0 to 100 % of the rig's speeds"),
    ("jog http://127.0.0.1:8742/arm-1", "An arm of a lab: `hil drive http://127.0.0.1:8742/arm-1`"),
    ("jog puma56", "Did you mean 'puma560'"),
    ("drive lynx6", "An arm of this computer: `hil jog lynx6`"),
    ("watch lynx6", "An arm of this computer: `hil jog lynx6`"),
    ("drive http://127.0.0.1:1/arm-1", "cannot be reached"),
    ("fk lynx6 0 90 0", "3 joint values given; allowed: 5 .base, shoulder"),
    ("fk lynx6 0 90 0 0 a", "'a' is no number; allowed: numbers between blanks"),
    ("fk lynx6 0 1.57 0 0 0", "these look like radians: 1.57 rad is 90 deg"),
    ("ik lynx6 200 0", "2 numbers given; allowed: 3 .X Y Z"),
    ("ik lynx6 900 0 100", "out of reach by 510.062 mm"),
    ("ik lynx6 0.2 0 0.1", "these look like metres: 0.2 m is 200 mm"),
    ("robots pumma560", "Did you mean 'puma560'"),
    ("check nothere.toml", "the path of a TOML file"),
    ("new rig lynx6 --robot lynx6", "a name that is not taken"),
    ("new rig my_arm! --robot ur5", "1 to 63 letters, digits"),
    ("new rig mine", "give --robot ROBOT for an arm of any kind, or --from RIG"),
    ("new rig mine --from ur5", "this is a robot. Write: hil new rig mine --robot ur5 --controller simulated"),
    ("new rig mine --robot ur5 --controller cr1", "the five joints J1, J2, J3, J5, J6 of an RV-2AJ"),
    ("new rig mine --robot ur5 --controller ssc32 --park 1,2", "6 numbers, for J1, J2"),
    ("import nothere.urdf", "a file that can be read"),
    ("lint nothere.mb4", "the path of a program"),
    ("program lynx6 arcs", "an RV-2AJ, joints J1.* MELFA-BASIC programs run on that arm"),
    ("fake ssc32 --baud 100", "greater than or equal to 300"),
    ("fake cr2", "Did you mean 'cr1'"),
    ("serve --demo 0", "1 to 32 arms"),
    ("serve nothere", "one of the rigs al5d"),
    ("journal verify nothere.mcap", "does not exist"),
    ("derive lynx6 --to fortran -o out", "allowed: c, cpp, python"),
    ("workspace lynx6 --step 0", "step 0 deg given; allowed: above 0"),
    ("calibrate ur5", "nothing to calibrate"),
    ("release ur5", "nothing to let go of"),
    ("accept ur5", "nothing to accept"),
    ("token new", "either a name, or --roster"),
    ("ports --ask COM99", "there is no such port"),
    ("supply lynx6 of", "'of'; allowed: cut"),
)
TASKS = {
    "metres.toml": 'title = "m"\n[[step]]\ndo = "move"\nto_mm = [0.18, 0, 0.09]\npitch_deg = -75\n',
    "radians.toml": 'title = "m"\n[[step]]\ndo = "move"\njoints_deg = { base = 0.5, shoulder = 1.57 }\n',
    "unit.toml": 'title = "m"\n[[step]]\ndo = "move"\nto_cm = [18, 0, 9]\n',
    "broken.toml": 'title = "m"\nstart = home\n[[step]]\ndo = "wait"\nseconds = 1\n',
}


@pytest.mark.parametrize(("typed", "told"), SLIPS, ids=[typed for typed, _ in SLIPS])
def test_a_slip_is_told(
    typed: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    for name, text in TASKS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    said = terminal.run(*typed.split()).text
    assert re.search(told, re.sub(r"\s+", " ", said)), said
    assert "Traceback" not in said


def test_there_are_forty() -> None:
    assert len(SLIPS) >= 40
