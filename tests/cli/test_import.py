"""hil import, hil new robot -o, and the specification panel, as a person sees them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from urdf_files import ARM

import hil as package
import hil.cli.main as command_line
from hil.model.files import bundled_dir, list_names
from hil.model.reader import load_robot
from hil.model.transforms import frames, random_q


class Outcome:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def hil(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["hil", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            command_line.main()
        captured = capsys.readouterr()
        code = exit_info.value.code
        assert "Traceback" not in captured.out + captured.err
        return Outcome(code if isinstance(code, int) else 0 if code is None else 1, captured.out, captured.err)

    return run


# -- hil import ------------------------------------------------------------------------------------------


def test_a_urdf_becomes_an_arm_without_a_line_of_code(hil, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    outcome = hil("import", "arm.urdf", "-o", "mine.toml", "--name", "My own")
    assert outcome.code == 0
    assert "same poses as the URDF" in outcome.out and "written: mine.toml" in outcome.out
    assert "meshes: 0 of 1 found" in outcome.out and "1.5708" in outcome.out
    assert hil("check", "mine.toml").code == 0
    assert "My own (mine)" in hil("robots", "mine.toml").out
    assert json.loads(hil("fk", "mine.toml", "0", "0", "0", "--json").out)["z_mm"] == pytest.approx(350)
    assert "# Meshes that it names:" in (tmp_path / "mine.toml").read_text()


def test_an_import_without_a_place_shows_and_writes_nothing(hil, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    outcome = hil("import", "arm.urdf")
    assert outcome.code == 0 and "standard DH" in outcome.out and "written" not in outcome.out
    table = json.loads(hil("import", "arm.urdf", "--json").out)
    assert [joint["name"] for joint in table["model"]["joints"]] == ["turn", "lift", "reach"]
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]


def test_an_import_overwrites_nothing_and_a_refusal_writes_nothing(hil, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(ARM)
    (tmp_path / "mine.toml").write_text("kept")
    outcome = hil("import", "arm.urdf", "-o", "mine.toml")
    assert outcome.code == 1 and "nothing is overwritten" in outcome.err
    assert (tmp_path / "mine.toml").read_text() == "kept"
    outcome = hil("import", "arm.urdf", "-o", "other.toml", "--tip", "plat")
    assert outcome.code == 1 and "Did you mean 'plate'" in outcome.err
    assert not (tmp_path / "other.toml").exists()
    assert hil("import", "arm.urdf", "-o", "no-folder/other.toml").code == 1


CENTIMETRES = ARM.replace('xyz="0.3 0 0"', 'xyz="30 0 0"').replace('xyz="0.2 0.05 0"', 'xyz="20 5 0"')
NO_BODY = ARM.replace('izz="0.03"', 'izz="0.3"')


@pytest.mark.parametrize(
    ("text", "words"),
    [(CENTIMETRES, "it looks like centimetres (hil import with --scale 0.01"), (NO_BODY, "are not those of a body")],
)
def test_what_looks_wrong_is_warned_of_by_import_and_check_in_the_same_words(
    hil, tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "arm.urdf").write_text(text)
    runs = [hil("import", "arm.urdf"), hil("import", "arm.urdf", "-o", "mine.toml"), hil("check", "mine.toml")]
    warnings = [[line for line in run.out.splitlines() if line.startswith("warning: ")] for run in runs]
    assert all(run.code == 0 for run in runs)
    assert len(warnings[0]) == 1 and words in warnings[0][0]
    assert warnings[1] == warnings[2] == warnings[0]
    assert json.loads(hil("import", "arm.urdf", "--json").out)["warnings"] == [warnings[0][0].removeprefix("warning: ")]


def test_a_scale_mends_a_file_in_centimetres(hil, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(CENTIMETRES)
    outcome = hil("import", "arm.urdf", "--scale", "0.01", "-o", "mine.toml")
    assert outcome.code == 0 and "looks like" not in outcome.out
    assert "note: lengths times 0.01" in outcome.out
    assert hil("import", "arm.urdf", "--scale", "0").code == 1


def test_a_rig_is_checked_for_the_size_of_its_robot(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "warning" not in hil("check", "lynx6").out
    monkeypatch.setattr("hil.dynamics.plausibility.LONGEST_M", 0.1)
    outcome = hil("check", "lynx6")
    assert outcome.code == 0 and "warning: lynx6: a reach of 0.39 m is that of no arm" in outcome.out


TWO_ARMS = ARM.replace(
    "</robot>",
    '<link name="head"/><link name="eye"/>'
    '<joint name="nod" type="revolute"><parent link="base"/><child link="head"/></joint>'
    '<joint name="look" type="revolute"><parent link="head"/><child link="eye"/><axis xyz="0 0 1"/></joint></robot>',
)


def test_without_a_terminal_several_ends_are_named_with_a_proposal(hil, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(TWO_ARMS)
    outcome = hil("import", "arm.urdf", "-o", "mine.toml")
    assert outcome.code == 1 and not (tmp_path / "mine.toml").exists()
    assert "plate (3 moving joints), eye (2 moving joints)" in outcome.err
    assert "Proposed: --tip plate, the last link" in outcome.err


@pytest.mark.parametrize(
    ("answers", "joints"), [(["plate"], 3), (["2"], 2), (["eye"], 2), (["7", "nose", "1"], 3), ([None], 3)]
)
def test_at_a_terminal_the_tip_is_asked(
    hil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: list[str | None], joints: int
) -> None:
    (tmp_path / "arm.urdf").write_text(TWO_ARMS)
    said = iter(answers)
    monkeypatch.setattr("hil.cli.import_robot._is_at_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda question, default: next(said) or default)
    outcome = hil("import", "arm.urdf")
    assert outcome.code == 0 and f"{joints} joints, from link world" in outcome.out
    assert "1  plate: 3 moving joints" in outcome.out and "2  eye: 2 moving joints" in outcome.out
    assert "proposed: plate, the last link" in outcome.out
    assert next(said, "all said") == "all said"
    assert hil("import", "arm.urdf", "--json").code == 1


def test_arguments_of_a_xacro_have_a_name_and_a_value(hil) -> None:
    outcome = hil("import", "arm.urdf", "--set", "length")
    assert outcome.code == 2 and "has no value" in outcome.err


def test_at_a_terminal_the_unit_of_an_stl_is_asked(hil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trimesh")
    assert hil("robots", "planar-2r", "--stl", "out").code == 0
    part = tmp_path / "part.stl"
    part.write_bytes(b" " * 80 + (tmp_path / "out" / "planar-2r-link-1.stl").read_bytes()[80:])
    refused = hil("import", "part.stl")
    assert refused.code == 1 and "An STL has no units; guessed from its size: --stl-unit m" in refused.err
    monkeypatch.setattr("hil.cli.import_robot._is_at_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda question, default, type: "mm" if default == "m" else default)
    asked = hil("import", "part.stl")
    assert asked.code == 0 and "An STL has no units. The part is" in asked.out
    assert asked.out.splitlines()[1:] == hil("import", "part.stl", "--stl-unit", "mm").out.splitlines()


def test_an_stl_is_measured_and_turned_into_metres(hil, tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    assert hil("robots", "planar-2r", "--stl", "out").code == 0
    outcome = hil("import", "out/planar-2r-link-1.stl")
    assert outcome.code == 0 and "closed" in outcome.out and "bounding box" in outcome.out
    assert hil("import", "out/planar-2r-link-1.stl", "--units", "mm", "-o", "small.stl").code == 0
    big = json.loads(hil("import", "out/planar-2r-link-1.stl", "--json").out)
    small = json.loads(hil("import", "small.stl", "--json").out)
    assert small["upper_m"] == pytest.approx([value / 1000 for value in big["upper_m"]], rel=1e-5)


def test_options_of_the_other_kind_of_file_are_bad_usage(hil) -> None:
    assert hil("import", "arm.urdf", "--units", "mm").code == 2
    assert hil("import", "arm.stl", "--tip", "plate").code == 2
    assert hil("import", "arm.stl", "--scale", "1").code == 2
    assert hil("import", "arm.urdf", "--units", "cm").code == 2


# -- out -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["puma560", "stanford", "lynx6-4axis"])
def test_a_robot_goes_out_as_urdf_and_comes_in_again(hil, name: str, tmp_path: Path) -> None:
    assert hil("robots", name, "--urdf", "arm.urdf").code == 0
    assert hil("import", "arm.urdf", "-o", "back.toml").code == 0
    model, back = load_robot(name), load_robot(tmp_path / "back.toml")
    q = random_q(model, np.random.default_rng(0))
    assert np.allclose(frames(back, q)[-1], frames(model, q)[-1], atol=1e-12)


def test_links_are_written_as_stl_once(hil, tmp_path: Path) -> None:
    outcome = hil("robots", "lynx6", "--stl", "meshes")
    assert outcome.code == 0
    names = sorted(path.name for path in (tmp_path / "meshes").iterdir())
    assert names == sorted(["lynx6.stl", *(f"lynx6-link-{i}.stl" for i in range(6))])
    again = hil("robots", "lynx6", "--stl", "meshes")
    assert again.code == 1 and "nothing is overwritten" in again.err


def test_a_rigs_shapes_are_written_as_stl(hil, tmp_path: Path) -> None:
    assert hil("robots", "lynx6", "--stl", "meshes", "--rig", "lynx6").code == 0
    assert any("pedestal" in path.name for path in (tmp_path / "meshes").iterdir())
    outcome = hil("robots", "puma560", "--stl", "other", "--rig", "lynx6")
    assert outcome.code == 1 and "a rig of puma560" in outcome.err


def test_ways_out_need_a_robot(hil) -> None:
    assert hil("robots", "--stl", "x").code == 2
    assert hil("robots", "lynx6", "--rig", "lynx6").code == 2


# -- the panel -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list_names("robots"))
def test_the_panel_shows_the_files_own_numbers_and_invents_none(hil, name: str) -> None:
    out, model = hil("robots", name).out, load_robot(name)
    lines = {line.partition(": ")[0]: line.partition(": ")[2] for line in out.splitlines()}
    for key, value in (("payload", model.payload_kg), ("mass", model.mass_kg)):
        assert lines[key] == ("not given" if value is None else f"{value:g} kg")
    assert (lines["home"] == "not given") == (model.home is None)
    assert (lines["controller's joint angles"] == "not given") == (model.controller_map is None)
    assert lines["status"] == model.status and model.source in out
    assert model.licence_note in lines["licence"]
    assert "reach" in lines and "inverse kinematics" in lines
    assert "None" not in out and "nan" not in out
    speeds = sum(joint.max_speed is None for joint in model.joints)
    assert out.count("not given") >= speeds


def test_the_panels_json_holds_the_model_and_what_follows_from_it(hil) -> None:
    table = json.loads(hil("robots", "lynx6", "--json").out)
    assert table["id"] == "lynx6" and table["payload_kg"] is None
    assert "pitch" in table["closed_form"]
    assert json.loads(hil("robots", "pa10-7", "--json").out)["closed_form"] is None
    assert table["longest_reach_m"] == pytest.approx(0.12 + 0.12 + 0.15)


def test_no_pose_is_farther_than_the_reach_that_is_shown(hil) -> None:
    for name in ("puma560", "stanford", "al5d", "panda"):
        model = load_robot(name)
        bound = json.loads(hil("robots", name, "--json").out)["longest_reach_m"]
        generator = np.random.default_rng(0)
        base, first = np.array(model.base), model.joints[0]
        foot = base[:3, 3] + first.d_m * base[:3, 2]
        for _ in range(200):
            tool = frames(model, random_q(model, generator))[-1]
            assert np.linalg.norm(tool[:3, 3] - foot) <= bound + 1e-9


# -- an arm of one's own ---------------------------------------------------------------------------------


def test_a_template_is_refused_until_it_is_filled_in(hil, tmp_path: Path) -> None:
    assert hil("new", "robot", "Desk arm", "-o", "desk.toml").code == 0
    refused = hil("check", "desk.toml")
    assert refused.code == 1 and "manufacturer" in refused.err
    path = tmp_path / "desk.toml"
    path.write_text(path.read_text().replace('= ""', '= "me"'))
    assert hil("check", "desk.toml").code == 0
    assert "Desk arm" in hil("robots", "desk.toml").out
    assert hil("new", "robot", "Desk arm", "-o", "desk.toml").code == 1
    assert hil("new", "robot", "Desk arm", "-o", "x.toml", "--axes", "4").code == 2


def test_modified_rows_are_the_arm_that_their_standard_twin_is(hil, tmp_path: Path) -> None:
    """The same planar arm with a slide, written either way: a and alpha stand one row further up."""
    head = 'title = "t"\nmanufacturer = "m"\nstatus = "s"\nsource = "s"\n'
    row = '[[joints]]\nname = "{}"\ntype = "{}"\nd_mm = {}\ntheta_deg = {}\na_mm = {}\nalpha_deg = {}\n'
    standard = [("a", "revolute", 80, 10, 120, 90), ("b", "revolute", 0, 20, 90, -90), ("c", "prismatic", 5, 0, 0, 0)]
    modified = [("a", "revolute", 80, 10, 0, 0), ("b", "revolute", 0, 20, 120, 90), ("c", "prismatic", 5, 0, 90, -90)]
    for name, rows in (("standard", standard), ("modified", modified)):
        text = head + f'convention = "{name}"\n' + "".join(row.format(*each) for each in rows)
        (tmp_path / f"{name}.toml").write_text(text)
    poses = [
        json.loads(hil("fk", f"{name}.toml", "31", "-47", "25", "--json").out) for name in ("standard", "modified")
    ]
    assert np.allclose(poses[0]["pose_m"], poses[1]["pose_m"], atol=1e-15)
    assert hil("check", "modified.toml").code == 0


def test_an_added_arm_is_found_by_its_name_beside_the_bundled_ones(hil, tmp_path: Path) -> None:
    folder = tmp_path / "configs" / "robots"
    folder.mkdir(parents=True)
    (folder / "desk.toml").write_text((bundled_dir() / "robots" / "planar-3r.toml").read_text())
    assert "desk" in hil("robots").out
    assert package.load_robot("desk").dof == 3


def test_inertias_that_no_body_has_are_told_and_used_all_the_same(hil) -> None:
    for arguments in (("check", "puma560"), ("robots", "puma560")):
        shown = hil(*arguments)
        assert shown.code == 0
        assert "link of J3: principal moments of inertia" in " ".join(shown.out.split())
    assert "warning" not in hil("check", "lynx6-4axis").out
