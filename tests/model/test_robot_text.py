"""A robot as text: it loads back to the same robot, number by number."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import ConfigError
from hil.model.files import list_names
from hil.model.reader import load_robot
from hil.model.robot import ControllerMap, RobotModel
from hil.model.robot_text import number, robot_text, template
from hil.tables import toml_value
from hil.units import DEG, MM

VALUES = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-12)


def again(folder: Path, model: RobotModel) -> RobotModel:
    path = folder / f"{model.id}.toml"
    path.write_text(robot_text(model, ["a comment"]), encoding="utf-8")
    return msgspec.structs.replace(load_robot(path), file=model.file)


@pytest.mark.parametrize("name", list_names("robots"))
def test_a_bundled_robot_loads_back_to_the_same_robot(name: str, tmp_path: Path) -> None:
    model = load_robot(name)
    assert again(tmp_path, model) == model


def test_everything_that_a_robot_can_hold_is_in_the_text(tmp_path: Path) -> None:
    model = load_robot("puma560")
    turned = tuple(
        tuple(row) for row in ((0.0, -1.0, 0.0, 0.1), (1.0, 0.0, 0.0, 0.2), (0.0, 0.0, 1.0, 0.3), (0.0, 0.0, 0.0, 1.0))
    )
    controller = ControllerMap(
        theta_offset_rad=(90 * DEG,) * 6, sign=(1, -1, 1, 1, -1, 1), tool_to_tool0=turned, note="as shown"
    )
    full = msgspec.structs.replace(
        model,
        title='quotes " and \\ and \n lines \x7f',
        base=turned,
        tool=turned,
        payload_kg=2.3,
        mass_kg=55.0,
        controller_map=controller,
    )
    assert again(tmp_path, full) == full


@given(VALUES, st.sampled_from([DEG, MM, 1.0]))
def test_a_number_comes_back_to_the_last_bit_or_the_one_beside_it(value: float, unit: float) -> None:
    back = float(number(value, unit)) * unit
    assert abs(back - value) <= math.ulp(value)


@given(st.floats(-1e4, 1e4).map(lambda value: round(value, 4)), st.sampled_from([DEG, MM]))
def test_a_number_of_few_digits_keeps_them(given_number: float, unit: float) -> None:
    assert float(number(given_number * unit, unit)) == given_number


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_can_be_quoted(text: str) -> None:
    import tomllib

    assert tomllib.loads(f"key = {toml_value(text)}") == {"key": text}


def test_a_template_loads_once_its_empty_texts_are_filled_in(tmp_path: Path) -> None:
    path, text = tmp_path / "mine.toml", template("My arm")
    for key in ("manufacturer", "status", "source"):
        path.write_text(text)
        with pytest.raises(ConfigError, match=key):
            load_robot(path)
        text = text.replace(f'{key} = ""', f'{key} = "me"')
    path.write_text(text)
    model = load_robot(path)
    assert (model.title, model.dof, model.inertia) == ("My arm", 2, None)
    assert all(joint.lower is None for joint in model.joints)


def test_every_commented_key_of_the_template_is_a_key(tmp_path: Path) -> None:
    """Taking away the marks before keys and tables gives a file that loads too."""
    lines = []
    for line in template("My arm").replace('= ""', '= "me"').splitlines():
        bare = line.removeprefix("# ")
        lines.append(bare if line != bare and (bare.startswith("[") or " = " in bare[:22]) else line)
    text = "\n".join(lines)
    inertia = text[text.index("[joints.inertia]") :]
    text = text.replace('[[joints]]\nname = "shoulder"', f'{inertia}\n[[joints]]\nname = "shoulder"')
    text = text.replace('name = "shoulder"', 'name = "shoulder"\nhome_deg = 0')
    text = text.replace("convention", 'inertia_frame = "distal"\ninertia_status = "guess"\nconvention', 1)
    path = tmp_path / "mine.toml"
    path.write_text(text)
    model = load_robot(path)
    assert model.inertia is not None
    assert (model.payload_kg, model.home, model.tool[2][3]) == (0.5, (0.0, 0.0), pytest.approx(0.1))


def test_the_example_in_the_documentation_loads(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "robots.md").read_text(encoding="utf-8")
    path = tmp_path / "example.toml"
    path.write_text(page.split("```toml\n")[1].split("```")[0])
    assert load_robot(path).dof == 2
