"""What a person sees of `hil check` on a file with several faults, and on one whose numbers look like another unit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import Outcome, Terminal

from hil.model.files import find, list_names, read_toml
from hil.motion.unit_hints import rig_hints
from hil.units import DEG, MM


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def checked(terminal: Terminal, text: str, name: str = "desk.toml") -> Outcome:
    (terminal.folder / name).write_text(text, "utf-8")
    return terminal.run("check", name)


def test_all_faults_are_told_a_line_each_and_counted(terminal: Terminal) -> None:
    outcome = checked(
        terminal, 'inherit = "lynx6"\ntitel = "Desk"\n[timing]\nlook_ahead_ms = 50\n[tool]\nspeed_mm_s = 0\n'
    )
    *lines, count = outcome.err.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["timing.look_ahead_ms", "tool.speed_mm_s", "titel"]
    assert (count, outcome.code, outcome.out) == ("3 faults", 1, "")


def test_the_page_of_rigs_shows_what_is_said(terminal: Terminal) -> None:
    page = (Path(__file__).parents[2] / "docs/rigs.md").read_text("utf-8")
    shown = re.search(
        r"```toml\n(# desk.toml\n.*?)```\n\n```console\n\$ hil check desk.toml\n(.*?)```", page, re.DOTALL
    )
    assert shown is not None
    assert checked(terminal, shown[1]).err == shown[2]


def test_one_fault_is_not_counted(terminal: Terminal) -> None:
    outcome = checked(terminal, 'inherit = "lynx6"\ntitel = "Desk"\n')
    assert outcome.err.startswith("desk.toml: titel: 'Desk' given; allowed: no such key here. Did you mean `title`?")
    assert (outcome.err.count("\n"), outcome.code) == (1, 1)


def test_faults_of_an_inherited_file_are_told_under_its_name_and_no_others(terminal: Terminal) -> None:
    above = 'inherit = "lynx6"\n[tool]\nspeed_mm_s = 0\n[timing]\nperiod_ms = 1\n'
    (terminal.folder / "above.toml").write_text(above, "utf-8")
    outcome = checked(terminal, 'inherit = "./above.toml"\ntitel = "Desk"\n')
    assert [line.split(": ")[0] for line in outcome.err.splitlines()] == ["above.toml", "above.toml", "2 faults"]


def test_a_shape_without_a_name_is_told_in_an_heir_too(terminal: Terminal) -> None:
    outcome = checked(terminal, 'inherit = "lynx6"\n[[shapes]]\nlink = 0\nstart_mm = [0, 0, 0]\nend_mm = [0, 0, 9]\n')
    keys = [line.split(": ")[1] for line in outcome.err.splitlines()[:-1]]
    assert keys == ["shapes.0.name", "shapes.0.radius_mm"]


def test_every_link_without_a_body_is_told(terminal: Terminal) -> None:
    text = (
        'inherit = "lynx6"\n[fences]\nstands_on_table = []\nneighbours = []\n'
        '[[shapes]]\nname = "post"\nlink = 0\nstart_mm = [0, 0, 0]\nend_mm = [0, 0, 9]\nradius_mm = 5\n'
    )
    *lines, count = checked(terminal, text).err.splitlines()
    links = [line.split("link behind ")[1].split()[0] for line in lines]
    assert links == ["base", "shoulder", "elbow", "wrist_rotate"]
    assert count == "4 faults"


def test_faults_of_a_task_are_told_step_by_step(terminal: Terminal) -> None:
    text = (
        'title = "t"\n[[step]]\ndo = "move"\nto_mn = [1, 2, 3]\nspeed_percent = 0\n'
        '[[step]]\ndo = "wait"\n[[step]]\ndo = "jump"\n'
    )
    *lines, count = checked(terminal, text).err.splitlines()
    keys = [line.split(": ")[1] for line in lines]
    assert keys == ["step 1.to_mn", "step 1.speed_percent", "step 2.seconds", "step 3.do"]
    assert count == "4 faults"


def test_faults_of_a_fault_script_are_told_all(terminal: Terminal) -> None:
    text = (
        'title = "t"\n[[fault]]\nkind = "late"\nchannel = 3\n[[fault]]\nkind = "gone"\ndelay_ms = 1\n'
        '[[fault]]\nkind = "stall"\nat_s = -1\nchannle = 2\nevery = 2\n'
    )
    *lines, count = checked(terminal, text).err.splitlines()
    keys = [line.split(": ")[1] for line in lines]
    assert sorted(keys) == [
        "fault.0.channel",
        "fault.0.delay_ms",
        "fault.1.kind",
        "fault.2.at_s",
        "fault.2.channle",
        "fault.2.every",
    ]
    assert count == "6 faults"


def test_a_shipped_fault_script_is_checked_by_name(terminal: Terminal) -> None:
    outcome = terminal.run("check", "stall")
    assert (outcome.code, outcome.err) == (0, "")
    assert "a fault script of" in outcome.out


def test_a_task_in_other_units_is_warned_of(terminal: Terminal) -> None:
    outcome = checked(terminal, 'title = "t"\n[[step]]\ndo = "move"\njoints_deg = { base = 1.5708 }\n')
    assert outcome.out.startswith("warning: desk.toml: step 1: these look like radians: 1.5708 rad is 90 deg\n")


@pytest.mark.parametrize("name", list_names("rigs"))
def test_no_shipped_rig_looks_like_another_unit(name: str) -> None:
    assert not list(rig_hints(read_toml(find("rigs", name))))


def test_limits_of_all_joints_in_radians_are_warned_of_beside_the_faults(terminal: Terminal) -> None:
    rows = ["[joints.base]", "lower_deg = -1.5708", "upper_deg = 1.5708", "park_deg = 0.2618"]
    outcome = checked(terminal, "\n".join(['inherit = "lynx6"', *rows]))
    assert outcome.out == (
        "warning: desk.toml: joints, lower_deg and upper_deg: these look like radians: -1.5708 rad is -90 deg\n"
        "warning: desk.toml: joints, home_deg and park_deg: these look like radians: 0.2618 rad is 15 deg\n"
    )
    assert "joints.base.soft_margin_deg" in outcome.err


@pytest.mark.parametrize(("upper", "warned"), [(1.52, True), (6.3, False), (2, False)])
def test_limits_of_many_joints_within_six_degrees_are_radians(upper: float, warned: bool) -> None:
    rows = [{"lower_deg": -1, "upper_deg": upper}] * 3
    words = [f"joints, lower_deg and upper_deg: these look like radians: {upper:g} rad is {upper / DEG:.0f} deg"]
    assert list(rig_hints({"joints": rows})) == (words if warned else [])
    assert not list(rig_hints({"joints": rows[:2]}))


def test_every_group_of_a_rig_is_judged() -> None:
    table = read_toml(find("rigs", "lynx6"))
    for row in table["joints"]:
        row.update({key: round(row[key] * DEG, 4) for key in row if key.endswith(("_deg", "_deg_s"))})
    for row in (table["gripper"], *table["shapes"], table["fences"]["keep_in"]):
        for key in [key for key in row if key.endswith("_mm")]:
            row[key] = [each * MM for each in row[key]] if isinstance(row[key], list) else row[key] * MM
    table["fences"]["keep_out"] = [3, {"lower_mm": "x"}]
    for axis in table["controller"]["axis"].values():
        points = axis.get("points_deg_us", ())
        axis["points_deg_us"] = [[round(angle * DEG, 4), pulse] for angle, pulse in points]
    assert [hint.split(": ")[0] for hint in rig_hints(table)] == [
        "joints, lower_deg and upper_deg",
        "joints, home_deg and park_deg",
        "joints, speed_deg_s",
        "controller.axis, points_deg_us",
        "gripper, lower_mm and upper_mm",
        "shapes, start_mm and end_mm and radius_mm",
        "fences, lower_mm and upper_mm",
    ]


@pytest.mark.parametrize("value", [1, "x", [1], {"a": 1}, [{"lower_deg": "x", "upper_deg": True}]])
def test_a_table_of_any_form_is_no_reason_to_fail(value: object) -> None:
    assert not list(rig_hints(dict.fromkeys(("joints", "shapes", "gripper", "fences", "controller"), value)))
