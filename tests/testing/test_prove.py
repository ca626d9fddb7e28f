"""hil check RIG --prove: faults planted in rigs and in the code are found and said; the shipped rigs pass."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from planted_faults import blind_gate
from virtual_session import lynx6

import hil.cli.main as command_line
from drivers._ssc32_gate import Gate
from drivers._ssc32_moves import Moves
from drivers.ssc32 import Ssc32Settings
from hil.model.files import bundled_dir
from hil.model.rig import Rig
from hil.runtime import brake as brake_module
from hil.runtime.stream import SampleStream
from hil.runtime.wiring import load_rig
from hil.safety.guard import Guard
from hil.workbench.prove import CounterExample, Proof, prove

LYNX6 = (bundled_dir() / "rigs" / "lynx6.toml").read_text(encoding="utf-8")


def proof(rig: Rig, rounds: int = 0, seed: int = 1) -> Proof:
    """A search of so many rounds, whatever the machine's load: its clock counts the looks at it."""
    return prove(rig, seconds=rounds + 0.5, seed=seed, now_s=itertools.count().__next__)


def found(rig: Rig, rounds: int = 0) -> CounterExample:
    result = proof(rig, rounds)
    assert result.counter_example is not None
    return result.counter_example


def wire(rig: Rig, axis: int, **changes: Any) -> Rig:
    """The rig with one axis's calibration changed behind the loader's back."""
    axes = list(rig.controller.axes)  # type: ignore[attr-defined]
    axes[axis] = msgspec.structs.replace(axes[axis], **changes)
    return msgspec.structs.replace(rig, controller=msgspec.structs.replace(rig.controller, axes=tuple(axes)))  # type: ignore[type-var]


# -- what is safe passes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lynx6", "lynx6-4axis", "lynx6-bench", "al5d"])
def test_the_shipped_rigs_pass(name: str) -> None:
    result = proof(load_rig(name), rounds=1)
    assert result.ok, result.counter_example
    assert not result.notes
    assert sum(trial.count for trial in result.trials) > 2000
    assert len(result.trials) == 10


def test_the_same_seed_tries_the_same_and_another_seed_something_else() -> None:
    one, again, other = proof(lynx6(), 2), proof(lynx6(), 2), proof(lynx6(), 2, seed=2)
    assert one == again
    assert one.trials != other.trials


# -- faults in the rig -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rig", "words"),
    [
        (wire(lynx6(), 0, upper_us=2302), "upper_us = 2302 is beyond the joint's limit: it is -88.12 deg"),
        (wire(lynx6(), 2, lower_us=500), "Write lower_us = 879"),
        (wire(lynx6(), 5, upper_us=2500), "gripper may go to 1.00 mm"),
        (wire(lynx6(), 1, lower_us=700), "shoulder: its limit of 2.00 deg needs a pulse of 660 us"),
        (
            wire(lynx6(), 3, points=((-math.pi / 2, 580.0), (0.0, 1455.0), (math.pi / 2, 2340.0))),
            'direction = "falling", and its points run the other way: +1 deg would turn it by -1 deg',
        ),
        (msgspec.structs.replace(lynx6(), look_ahead_s=0.0), "timing.look_ahead_ms: 0 with a period of 20 ms"),
        (msgspec.structs.replace(lynx6(), look_ahead_s=0.01), "timing.look_ahead_ms: 10 with a period of 20 ms"),
        (msgspec.structs.replace(lynx6(), look_ahead_s=0.02), "the pulse pauses between samples"),
    ],
)
def test_a_planted_fault_is_found_and_said(rig: Rig, words: str) -> None:
    assert words in found(rig).words


def test_a_look_ahead_of_two_or_three_periods_runs_evenly() -> None:
    for periods in (2, 3):
        assert proof(msgspec.structs.replace(lynx6(), look_ahead_s=periods * 0.02)).ok


def test_a_park_pose_inside_the_arm_itself_is_found_on_the_way_home() -> None:
    rig = lynx6()
    axes = list(rig.axes)
    axes[2] = msgspec.structs.replace(axes[2], park=-axes[2].park)
    words = found(msgspec.structs.replace(rig, axes=tuple(axes))).words
    assert words.startswith("the way from park to home is refused: [E-")


def test_a_band_that_every_motion_breaks_is_found() -> None:
    """Command, simulation and report may not be off by more than a hair: the report's coarseness alone is more."""
    rig = lynx6()
    axes = tuple(msgspec.structs.replace(axis, divergence=1e-6) for axis in rig.axes)
    assert "E-17" in found(msgspec.structs.replace(rig, axes=axes)).words


def test_a_rig_that_does_not_say_which_way_its_joints_run_passes_with_a_note() -> None:
    result = proof(wire(lynx6(), 0, direction=None))
    assert result.ok
    assert any("which way base run" in note for note in result.notes)


# -- faults in the code ------------------------------------------------------------------------------------


def test_a_driver_that_mirrors_a_joint_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    straight = Ssc32Settings.pulse_us

    def mirrored(self: Ssc32Settings, axis: int, position: float) -> int:
        return straight(self, axis, -position if axis == 0 else position)

    monkeypatch.setattr(Ssc32Settings, "pulse_us", mirrored)
    assert "base" in found(lynx6()).words and "by the points of the rig" in found(lynx6()).words


def test_a_driver_that_clamps_instead_of_refusing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def clamped(self: Ssc32Settings, axis: int, position: float) -> int:
        what = self.axes[axis]
        return int(min(max(self.maps[axis](position), what.lower_us), what.upper_us))

    monkeypatch.setattr(Ssc32Settings, "pulse_us", clamped)
    assert found(lynx6()).what.startswith("the driver alone")


def test_a_driver_that_forgets_the_pulse_limits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both looks at them, where pulses are made and where they leave, have to be taken away."""

    def unlimited(self: Ssc32Settings, axis: int, position: float) -> int:
        return round(min(max(self.maps[axis](position), 500), 2500))

    monkeypatch.setattr(Ssc32Settings, "pulse_us", unlimited)
    assert proof(lynx6()).ok
    monkeypatch.setattr(Gate, "check", lambda self, data: None)
    assert "outside its pulse limits" in found(lynx6()).words


def test_a_driver_that_moves_limp_servos_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    init = Moves.__init__

    def careless(self: Moves, *arguments: Any) -> None:
        init(self, *arguments)
        self.known = [True] * len(self.known)

    monkeypatch.setattr(Moves, "__init__", careless)
    assert "never driven" in found(lynx6()).words


def _sees_no_speed(self: Guard) -> None:
    self._full = tuple(limits._replace(step=1e9, bend=1e9, twist=1e9) for limits in self._full)


def _sees_no_position(self: Guard) -> None:
    wide = {"lower": -1e9, "upper": 1e9, "far_lower": -1e9, "far_upper": 1e9}
    self._full = tuple(limits._replace(**wide) for limits in self._full)


@pytest.mark.parametrize(
    ("blind", "words"), [(_sees_no_speed, "in one period, speed"), (_sees_no_position, "deg, limits -88.00 deg")]
)
def test_a_guard_that_is_blind_is_found(
    monkeypatch: pytest.MonkeyPatch, blind: Callable[[Guard], None], words: str
) -> None:
    reset = Guard.reset

    def blinded(self: Guard, positions: tuple[float, ...]) -> None:
        blind(self)
        reset(self, positions)

    monkeypatch.setattr(Guard, "reset", blinded)
    counter_example = found(lynx6())
    assert counter_example.what.startswith("the guard alone")
    assert words in counter_example.words


def test_a_bridge_that_does_not_ask_the_guard_is_found_with_the_shortest_way_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gate, which would stop the bytes, has to be taken away, too."""
    monkeypatch.setattr(SampleStream, "_passes", lambda self, tick, wanted: True)
    with blind_gate():
        counter_example = found(lynx6(), rounds=20)
    assert counter_example.what == "random sessions of the whole stack"
    assert 1 <= len(counter_example.steps) <= 3
    assert any("unchecked motion" in step for step in counter_example.steps)
    assert "  1. " in counter_example.text


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_stop_that_is_too_hard_is_found(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    """Without a ramp at all nothing more is sent and no guard is asked: the arm stands with a jerk."""

    def hard(rig: Rig, position: Any, velocity: Any, acceleration: Any) -> Any:
        return np.array([position, position + np.multiply(velocity, share * rig.period_s)])[: 1 if share == 0.0 else 2]

    monkeypatch.setattr(brake_module, "stop_ramp", hard)
    counter_example = found(lynx6(), rounds=10)
    assert counter_example.what == "stops from motion"
    assert "acceleration" in counter_example.words
    assert counter_example.steps[0].startswith("stream ")


# -- the command -------------------------------------------------------------------------------------------


@pytest.fixture
def check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Runs ``hil check`` on a rig file with one text replaced; returns exit code, output and errors."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, old: str = "", new: str = "") -> tuple[int, str, str]:
        assert old in LYNX6
        Path("desk.toml").write_text(LYNX6.replace(old, new, 1), encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["hil", "check", *(arguments or ("desk.toml", "--prove", "--seconds", "0"))])
        with pytest.raises(SystemExit) as exit_info:
            command_line.main()
        captured = capsys.readouterr()
        return int(exit_info.value.code or 0), captured.out, captured.err

    return run


BASE = "points_deg_us = [[-90, 2320], [0, 1460], [90, 525]]"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("upper_us = 2301", "upper_us = 2315", "controller.axis.base.upper_us = 2315 is beyond the joint's limit"),
        ("lower_deg = -88", "lower_deg = -45", "Write upper_us = 1890"),
        (
            BASE,
            "points_deg_us = [[-90, 525], [0, 1460], [90, 2320]]",
            "controller.axis.base.direction: 'falling' given",
        ),
        ("lower_us = 545", "lower_us = 600", "joints.base.upper_deg"),
        ("look_ahead_ms = 60", "look_ahead_ms = 0", "timing.look_ahead_ms: 0 given"),
        ("look_ahead_ms = 60", "look_ahead_ms = 20", "the pulse pauses between samples"),
        ("look_ahead_ms = 60", "look_ahead_ms = 50", "timing.look_ahead_ms: 50 given"),
    ],
)
def test_a_fault_in_a_rig_file_is_found_through_the_command(
    check: Callable[..., tuple[int, str, str]], old: str, new: str, words: str
) -> None:
    code, _, errors = check(old=old, new=new)
    assert code == 1
    assert words in errors


def test_what_was_tried_is_shown_with_numbers_and_seed(check: Callable[..., tuple[int, str, str]]) -> None:
    code, out, errors = check("desk.toml", "--prove", "--seconds", "0", "--seed", "7")
    assert (code, errors) == (0, "")
    assert "the driver alone, at and beyond every limit" in out
    assert "desk: nothing unsafe found in" in out and "seed 7" in out


def test_a_rig_is_proved_by_name_and_as_json(check: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = check("al5d", "--prove", "--seconds", "0", "--json")
    assert code == 0
    result = json.loads(out)
    assert result["rig"] == "al5d" and result["counter_example"] is None


def test_only_a_rig_can_be_proved(check: Callable[..., tuple[int, str, str]]) -> None:
    code, _, errors = check("wave", "--prove")
    assert code == 2
    assert "wave is no rig" in errors
