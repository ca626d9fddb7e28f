"""How near a run kept to the formulas of its paths, and how even the tool's speed was above what the wire rounds."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from command_line import Terminal
from recorded import run_to_end, write_journal
from virtual_session import Session

import hil
from hil.motion.motion import Motion
from hil.motion.planner import plan, plan_task
from hil.motion.tasks import task_from_table
from hil.robot import Robot
from hil.runtime.path_report import FLOOR, OnPath, on_paths, path_words, run_words
from hil.runtime.preview import Rehearsed, rehearsed
from hil.types import Mode, TickRecord
from hil.units import DEG, MM

RIG = hil.load_rig("lynx6")
ROBOT = Robot(RIG.robot)
ABOVE = 0.02
"""Part of its speed by which the tool's may be uneven, above what the wire's steps make of it."""

CIRCLE = """
title = "round"
[[step]]
do = "move"
to_mm = [260, 25, 140]
pitch_deg = -45
[[step]]
do = "arc"
centre_mm = [260, 0, 140]
angle_deg = 360
speed_mm_s = 60
"""


@cache
def run(name: str) -> tuple[Motion, Rehearsed]:
    """A bundled task, or the circle, on the fake and the virtual clock."""
    motion = plan_task(RIG, ROBOT, task_from_table(tomllib.loads(CIRCLE), "c.toml")) if name == "" else plan(RIG, name)
    return motion, rehearsed(RIG, motion)


def results(name: str, records: tuple[TickRecord, ...] | None = None) -> tuple[OnPath, ...]:
    motion, done = run(name)
    return on_paths(RIG, ROBOT, motion, done.records if records is None else records)


@pytest.mark.parametrize(("name", "steps", "length_m"), [("word", 1, 0.887), ("sphere", 5, 0.6254)])
def test_the_word_and_the_sphere_run_to_their_end_near_their_formulas_at_an_even_speed(
    name: str, steps: int, length_m: float
) -> None:
    motion, done = run(name)
    assert done.report.ok
    assert max(tick.sample for tick in done.records if tick.sample is not None) == len(motion) - 1
    found = results(name)
    assert len(found) == steps
    assert sum(each.length_m for each in found) == pytest.approx(length_m, abs=1e-3)
    for each in found:
        assert 0.1 * MM < each.rms_wire_m < 0.3 * MM and each.worst_wire_m < 0.7 * MM
        assert each.worst_setpoint_m < 0.8 * MM and each.worst_simulated_m < 2.5 * MM
        assert each.speed is not None
        assert each.speed.floor <= FLOOR and each.speed.ripple <= each.speed.floor + ABOVE and each.speed.above <= ABOVE
        assert each.speed.speed_m_s == pytest.approx({"word": 0.02, "sphere": 0.04}[name], rel=1e-4)


def test_what_the_wire_carries_is_off_the_formula_by_no_more_than_its_steps_explain() -> None:
    (found,) = results("")
    motion, _ = run("")
    path = motion.paths[0]
    jacobians = ROBOT.jacobian(motion.samples[path.first : path.last + 1, :5])[:, :3]
    bound = (np.abs(jacobians) @ (0.5 * RIG.controller.quantum()[:5])).max(axis=0)
    assert 0.0 < found.worst_wire_m <= float(np.linalg.norm(bound)) * 1.01


def changed(records: tuple[TickRecord, ...], joint_rad: float, periods: int) -> tuple[TickRecord, ...]:
    """The same run, the base swinging about where the board had it."""
    return tuple(
        msgspec.structs.replace(
            tick,
            setpoint=(
                tick.setpoint[0] + joint_rad * float(np.sin(2.0 * np.pi * tick.tick / periods)),
                *tick.setpoint[1:],
            ),
        )
        for tick in records
    )


def test_a_tool_that_does_not_keep_its_speed_is_told_above_the_steps_of_the_wire() -> None:
    """0.6 deg a third of a second long, on 60 mm/s: a tenth of the speed at least."""
    (found,) = results("", changed(run("")[1].records, 0.6 * DEG, 16))
    assert found.speed is not None and found.speed.above > 2.0 * ABOVE
    assert f"{100.0 * found.speed.above:.1f} % is above that" in path_words(found)


def test_the_end_of_a_run_says_the_worst_of_all_steps_in_a_line() -> None:
    found = results("sphere")
    words = run_words(found)
    worst = max(each.worst_wire_m for each in found) / MM
    assert words.startswith(f"5 steps on paths: from their formulas the wire up to {worst:.2f} mm") and "0.0 %" in words
    assert run_words(found[:1]) == path_words(found[0])


def test_a_line_is_a_path_of_which_each_sample_has_its_nearest_place() -> None:
    found = results("square")
    assert [each.kind for each in found] == ["line"] * 4
    assert [each.length_m for each in found] == pytest.approx([0.07] * 4, abs=1e-6)
    assert max(each.worst_wire_m for each in found) < 0.6 * MM


def test_a_set_point_off_the_path_is_told() -> None:
    (found,) = results("", changed(run("")[1].records, 1.0 * DEG, 100))
    # The base is 235 to 285 mm from the tool.
    assert 3.5 * MM < found.worst_setpoint_m < 5.7 * MM


def test_a_run_that_was_broken_off_is_judged_as_far_as_it_went() -> None:
    motion, done = run("")
    half = tuple(tick for tick in done.records if tick.sample is None or tick.sample < motion.paths[0].first + 60)
    (found,) = results("", half)
    assert found.worst_wire_m > 0.0
    before = tuple(tick for tick in done.records if tick.sample is None or tick.sample < motion.paths[0].first)
    assert results("", before) == ()


def test_a_journal_tells_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session()
    session.to(Mode.STREAMING, run("")[0])
    session.until(Mode.IDLE)
    write_journal(session, tmp_path / "round.mcap")
    write_journal(run_to_end(), tmp_path / "joints.mcap")
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    told = terminal.run("journal", "paths", "round.mcap")
    (found,) = on_paths(RIG, ROBOT, run("")[0], session.records)
    assert told.code == 0 and told.out == path_words(found) + "\n"
    assert msgspec.json.decode(terminal.run("journal", "paths", "round.mcap", "--json").out)[0]["kind"] == "arc"
    none = terminal.run("journal", "paths", "joints.mcap")
    assert none.code == 1 and "no motion that leads the tool along a path" in none.err
