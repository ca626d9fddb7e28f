"""Keys and lines of a jog: each is one increment, a setting, or a stop."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.model.rig import AxisKind
from hil.runtime import wiring
from hil.types import AxisJog, JogFrame, ToolJog
from hil.units import DEG, MM
from hil.workbench.jog_pad import Go, Halt, Keep, Pad, Quit, Recover, SelfTest, Show, Step, SupplyOff

RIG = wiring.load_rig("lynx6")


@pytest.fixture
def pad() -> Pad:
    return Pad(RIG)


def amounts(action: object) -> dict[str, float]:
    """Axes that a step moves, in degrees or millimetres."""
    assert isinstance(action, Step)
    assert isinstance(action.move, AxisJog)
    scale = {axis.name: MM if axis.name == "gripper" else DEG for axis in RIG.axes}
    pairs = zip(RIG.axes, action.move.amounts, strict=True)
    return {axis.name: round(value / scale[axis.name], 9) for axis, value in pairs if value}


def tool(action: object) -> ToolJog:
    assert isinstance(action, Step)
    assert isinstance(action.move, ToolJog)
    return action.move


def test_a_number_selects_a_joint_and_plus_and_minus_step_it(pad: Pad) -> None:
    assert amounts(pad.key("+")) == {"base": 2.0}
    assert isinstance(pad.key("3"), Show)
    assert amounts(pad.key("-")) == {"elbow": -2.0}
    assert amounts(pad.key("g")) == {"gripper": 2.0}
    assert amounts(pad.key("G")) == {"gripper": -2.0}


def test_small_letters_go_along_an_axis_and_large_ones_against_it(pad: Pad) -> None:
    assert tool(pad.key("x")).linear == (2 * MM, 0.0, 0.0)
    assert tool(pad.key("Z")).linear == (0.0, 0.0, -2 * MM)
    assert tool(pad.key("p")).pitch == 2 * DEG
    assert tool(pad.key("R")).roll == -2 * DEG


def test_settings_go_round(pad: Pad) -> None:
    for key in "fsi":
        assert isinstance(pad.key(key), Show)
    assert (pad.frame, pad.speed_percent, pad.size) == (JogFrame.TOOL, 100.0, 10.0)
    for key in "fsi":
        pad.key(key)
    assert (pad.frame, pad.speed_percent, pad.size) == (JogFrame.WORLD, 5.0, 0.5)
    assert tool(pad.key("y")).linear == (0.0, 0.5 * MM, 0.0)


@given(st.text(min_size=0, max_size=3))
def test_any_key_that_means_nothing_else_stops(text: str) -> None:
    if text not in {*"12345+=-gGxXyYzZpPrRfsihktqo"}:
        assert isinstance(Pad(RIG).key(text), Halt)


def test_an_arm_that_takes_any_orientation_turns_about_three_axes() -> None:
    six = tuple(axis for axis in RIG.axes if axis.kind is AxisKind.REVOLUTE)
    pad = Pad(msgspec.structs.replace(RIG, axes=(*six, six[0])))
    assert tool(pad.key("b")).turn == (0.0, 2 * DEG, 0.0)
    assert tool(pad.line("c -10")).turn == (0.0, 0.0, -10 * DEG)
    assert isinstance(pad.key("p"), Halt)


def test_every_key_is_explained_on_the_screen(pad: Pad) -> None:
    shown = " ".join(keys for keys, _ in pad.help())
    assert all(
        key in shown for key in ["1..5", "+ -", "x/X", "p/P", "r/R", "g/G", "f s i", "h k", "t", "q", "any other"]
    )


@pytest.mark.parametrize(
    ("line", "moved"),
    [
        ("j1 +5", {"base": 5.0}),
        ("elbow -3.5", {"elbow": -3.5}),
        ("j6 2", {"gripper": 2.0}),
        ("g -1", {"gripper": -1.0}),
        ("  Wrist_Rotate   1e1  # a comment", {"wrist_rotate": 10.0}),
    ],
)
def test_a_line_moves_an_axis_by_name_or_number(pad: Pad, line: str, moved: dict[str, float]) -> None:
    assert amounts(pad.line(line)) == moved


def test_a_line_moves_the_tool(pad: Pad) -> None:
    pad.line("frame tool")
    assert tool(pad.line("x -10")) == ToolJog(frame=JogFrame.TOOL, linear=(-10 * MM, 0.0, 0.0))
    assert tool(pad.line("pitch 5")).pitch == 5 * DEG
    assert tool(pad.line("r -5")).roll == -5 * DEG


def test_a_line_can_say_everything_else(pad: Pad) -> None:
    assert pad.line("home") == Go("home")
    assert pad.line("park") == Go("park")
    assert pad.line("t pick.toml") == Keep("pick.toml")
    assert pad.line("t") == Keep(None)
    assert pad.line("stop") == Halt()
    assert pad.line("q") == Quit()
    assert pad.line("speed 10") == Show()
    assert pad.speed_percent == 10.0
    assert pad.line("") is None
    assert pad.line("# nothing") is None


def test_anybody_at_the_keyboard_can_say_that_the_servo_supply_was_cut(pad: Pad) -> None:
    for each in (pad, Pad(RIG, served=True)):
        assert (each.key("o"), each.line("cut")) == (SupplyOff(), SupplyOff())
        assert "o" in dict(each.help())


def test_only_a_lab_s_arm_is_recovered_and_tested_from_here(pad: Pad) -> None:
    served = Pad(RIG, served=True)
    assert (served.key("u"), served.line("recover")) == (Recover(), Recover())
    assert (served.key("e"), served.line("self-test")) == (SelfTest(), SelfTest())
    assert pad.key("u") == pad.key("e") == Halt()
    with pytest.raises(CommandError) as refused:
        pad.line("self-test")
    assert "self-test," not in str(refused.value)
    with pytest.raises(CommandError, match="recover, self-test, stop"):
        served.line("bogus")


@pytest.mark.parametrize(
    "line", ["bogus", "x", "x ten", "x 1 2", "frame sideways", "a 5", "t one two", "speed", "j9 1", "home 3", "x nan"]
)
def test_a_line_that_means_nothing_is_refused_with_what_would(pad: Pad, line: str) -> None:
    with pytest.raises(CommandError, match=r"allowed: a joint and degrees|not a finite number"):
        pad.line(line)


@pytest.mark.parametrize("percent", ["0", "-5", "101"])
def test_a_speed_outside_its_range_is_refused(pad: Pad, percent: str) -> None:
    with pytest.raises(CommandError, match="above 0 to 100 %"):
        pad.line(f"speed {percent}")
