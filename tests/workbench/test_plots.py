"""Pictures for people: what is drawn is what was logged or judged, and says how it is known."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from recorded import run_to_end, run_to_stop, write_journal
from virtual_session import Session, lynx6, swing

import hil.workbench.pictures as pictures
import hil.workbench.plots as plots
from hil.errors import ConfigError, HilError, JournalError
from hil.figures.events import Importance
from hil.figures.options import FigureFormat, FigureOptions
from hil.figures.sheet import Sheet, drawing
from hil.motion.motion import Motion
from hil.motion.planner import plan_task, plan_until_refused
from hil.motion.tasks import Task, task_from_table
from hil.refusal import RefusedError
from hil.robot import Robot
from hil.safety.checker import check_motion
from hil.types import Mode
from hil.units import DEG, MM
from hil.workbench.columns import JournalColumns, cut_out, read_columns
from hil.workbench.plots import plot_journal

RIG = lynx6()
ROBOT = Robot(RIG.robot)


@pytest.fixture(scope="module")
def session() -> Session:
    return run_to_end()


@pytest.fixture(scope="module")
def journal(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_journal(session, tmp_path_factory.mktemp("journal") / "run.mcap")


@pytest.fixture(scope="module")
def columns(journal: Path) -> JournalColumns:
    return read_columns(journal)


COARSE = FigureOptions(dpi=72)
COLUMN = FigureOptions(width_mm=85.0, dpi=72)


def _wide(picture: Path) -> int:
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    return int(struct.unpack(">I", data[16:20])[0])


def _drawn_axis(columns: JournalColumns, options: FigureOptions = COARSE) -> Figure:
    with drawing(options):
        return plots.draw_axis(columns, columns.axes[0], options).figure


def _words(figure: Figure) -> str:
    texts = [text.get_text() for axes in figure.axes for text in axes.texts] + [
        text.get_text() for text in figure.texts
    ]
    labels = [axes.get_ylabel() for axes in figure.axes]
    legends = [t.get_text() for axes in figure.axes if (legend := axes.get_legend()) for t in legend.get_texts()]
    assert not legends, "a legend in a panel may lie on a curve"
    return "\n".join([*texts, *labels, *legends])


def _line(figure: Figure, label: str) -> Any:
    return next(line for axes in figure.axes for line in axes.lines if str(line.get_label()).startswith(label))


# -- journals --------------------------------------------------------------------------------------------


def test_there_is_a_picture_for_every_axis(journal: Path, tmp_path: Path) -> None:
    drawn = plot_journal(journal, tmp_path / "new" / "folder")
    assert [path.name for path in drawn] == [f"run-{axis.name}.png" for axis in RIG.axes]
    assert {_wide(path) for path in drawn} == {round(174 / 25.4 * 300)}


def test_one_axis_can_be_asked_for_by_name(journal: Path, tmp_path: Path) -> None:
    assert [path.name for path in plot_journal(journal, tmp_path, "elbow")] == ["run-elbow.png"]


def test_an_axis_that_is_not_there_is_answered_with_those_that_are(journal: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="base, shoulder, elbow, wrist, wrist_rotate, gripper"):
        plot_journal(journal, tmp_path, "knee")


def test_what_is_plotted_is_what_was_logged(columns: JournalColumns) -> None:
    for axis in columns.axes:
        with drawing(COARSE):
            figure = plots.draw_axis(columns, axis, COARSE).figure
        for label, values in (
            ("commanded", axis.commanded),
            ("simulated", axis.simulated),
            ("reported", axis.reported),
            ("simulated - commanded", axis.simulated_error),
            ("reported - commanded", axis.error),
        ):
            np.testing.assert_array_equal(_line(figure, label).get_ydata(), values)


def test_an_echo_is_called_an_echo_and_a_fake_a_fake(columns: JournalColumns) -> None:
    words = _words(_drawn_axis(columns))
    assert "ECHOED (the pulse that the controller generates, not the arm)" in words
    assert "FAKE rig lynx6" in words and "MEASURED" not in words


def test_lines_are_told_apart_without_colour(columns: JournalColumns) -> None:
    figure = _drawn_axis(columns)
    lines = [_line(figure, label) for label in ("commanded", "simulated", "reported")]
    assert len({(line.get_linestyle(), line.get_linewidth()) for line in lines}) == 3
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 3


def test_modes_and_events_are_marked(columns: JournalColumns) -> None:
    words = _words(_drawn_axis(columns))
    for mode in ("energising", "streaming"):
        assert mode in words
    assert "armed -> streaming" in words


def test_a_stop_is_listed_however_much_else_was_said(tmp_path: Path) -> None:
    read = read_columns(write_journal(run_to_stop(), tmp_path / "stop.mcap"))
    chatter = tuple(plots.Words(row=row, time_s=0.02 * row, text=f"chatter {row}") for row in range(40))
    flags, left_out = plots._flags((*chatter, *(said for said in read.words if said.row >= 40)), COARSE)
    assert len(flags) == plots.MOST_EVENTS and left_out > 0
    assert any("software stop" in flag.event.text for flag in flags)


@pytest.mark.parametrize(
    ("text", "importance"),
    [
        ("streaming -> fault: the report is gone", Importance.FAULT),
        ("streaming -> estop: software stop: a key", Importance.STOP),
        ("streaming -> stopping: asked", Importance.STOP),
        ("fault -> idle: cleared", Importance.MODE),
        ("armed -> streaming: streaming motion 12", Importance.MODE),
        ("limit [G-03] bit on base", Importance.LIMIT),
        ("gap: 3 ticks from 9 on are missing: overwritten", Importance.LIMIT),
        ("fault of the driver", Importance.FAULT),
        ("hello", Importance.NOTE),
    ],
)
def test_what_is_said_matters_by_what_it_says_and_a_mode_by_where_it_leads(text: str, importance: Importance) -> None:
    assert plots.importance_of(text) is importance


def test_a_stop_is_named_at_its_place_and_the_modes_are_not(tmp_path: Path) -> None:
    read = read_columns(write_journal(run_to_stop(), tmp_path / "stop.mcap"))
    labels = [text.get_text() for text in _drawn_axis(read).axes[3].texts]
    assert sum("stop" in label for label in labels) == 1
    assert all(label.replace("\N{EN DASH}", "").isdigit() for label in labels if "stop" not in label)


def test_a_title_says_arm_date_and_fake_or_real(columns: JournalColumns) -> None:
    title = _drawn_axis(columns).texts[0].get_text()
    assert title == "FAKE rig lynx6 (Lynx6 on an SSC-32): base, 2027-01-15 08:00:00 UTC"


def test_one_file_shows_all_axes_or_the_one_that_is_named(journal: Path, tmp_path: Path) -> None:
    assert plot_journal(journal, tmp_path / "all.svg", options=COLUMN) == [tmp_path / "all.svg"]
    assert plot_journal(journal, tmp_path / "base.svg", "base", options=COLUMN) == [tmp_path / "base.svg"]
    whole, single = ((tmp_path / name).read_text("utf-8") for name in ("all.svg", "base.svg"))
    assert all(f">{axis.name}," in whole for axis in RIG.axes)
    assert ">base, deg<" in single and ">elbow" not in single and ">error, deg<" in single


@pytest.mark.parametrize("kind", list(FigureFormat))
def test_figures_in_a_folder_have_the_format_that_was_asked_for(
    kind: FigureFormat, journal: Path, tmp_path: Path
) -> None:
    [drawn] = plot_journal(journal, tmp_path, "base", options=COLUMN, kind=kind)
    begin = {FigureFormat.PNG: b"\x89PNG", FigureFormat.SVG: b"<?xml", FigureFormat.PDF: b"%PDF"}[kind]
    assert drawn.suffix == f".{kind.value}" and drawn.read_bytes().startswith(begin)


def test_a_stretch_of_time_can_be_cut_out(columns: JournalColumns) -> None:
    part = cut_out(columns, 1.0, 2.0)
    assert (part.time_s[0], part.time_s[-1]) == pytest.approx((1.0, 2.0))
    assert part.axes[0].simulated.tolist() == columns.axes[0].simulated[50:101].tolist()
    assert len(part.mode) == len(part.source) == len(part.tick) == 51
    assert all(0 <= said.row < 51 and 1.0 <= said.time_s <= 2.0 for said in part.words)


def test_a_stretch_without_a_tick_is_answered_with_the_one_that_there_is(journal: Path, tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"no tick between 50 and inf s; the journal goes from 0\.00 to"):
        plot_journal(journal, tmp_path, first_s=50.0)


def test_no_line_crosses_a_gap(session: Session, tmp_path: Path) -> None:
    first = next(r.tick for r in session.records if r.mode is Mode.STREAMING) + 20
    read = read_columns(write_journal(session, tmp_path / "gap.mcap", gap=(first, first + 9)))
    shown = _line(_drawn_axis(read), "simulated").get_ydata()
    assert np.isnan(shown[first]) and np.isfinite(shown[[first - 1, first + 1]]).all()


def test_without_matplotlib_there_is_one_line_that_says_what_to_install(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(HilError, match=r"pip install 'hil-arm-bridge\[plot\]'") as refusal:
        plot_journal(journal, tmp_path)
    assert "\n" not in str(refusal.value)


# -- previews --------------------------------------------------------------------------------------------


def _task(*steps: dict[str, Any]) -> Task:
    return task_from_table({"title": "test", "step": list(steps)}, "test.toml")


HOME = {"do": "move", "to": "home"}
TOO_LOW = {"do": "move", "to_mm": [200, 60, 3], "pitch_deg": -80}


def _drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures as they are saved."""
    figures: list[Figure] = []
    save = pictures.save

    def keep(sheet: Sheet, file: Path) -> None:
        figures.append(sheet.figure)
        save(sheet, file)

    monkeypatch.setattr(pictures, "save", keep)
    return figures


def test_a_motion_that_passes_is_drawn_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures, motion = _drawn(monkeypatch), swing()
    pictures.draw_preview(RIG, ROBOT, motion, (), tmp_path / "whole.png")
    assert _wide(tmp_path / "whole.png") == round(174 / 25.4 * 300)
    assert "PASSED" in _words(figures[0])
    assert len(_line(figures[0], "base").get_ydata()) == len(motion)


def test_a_collision_shows_the_clearance_around_the_sample_that_was_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, motion = _drawn(monkeypatch), plan_task(RIG, ROBOT, _task(HOME, TOO_LOW, HOME))
    refusal = next(r for r in check_motion(RIG, ROBOT, motion).refusals if r.check == "E-10")
    pictures.draw_preview(RIG, ROBOT, motion, (refusal,), tmp_path / "low.png")
    words, shown = _words(figures[0]), _line(figures[0], "at this sample")
    assert "REFUSED" in words and refusal.subject in words and f"sample {refusal.sample}" in words
    at = np.interp(refusal.time_s or 0.0, shown.get_xdata(), shown.get_ydata())
    assert at == pytest.approx(refusal.margin, abs=0.2)
    assert len(shown.get_ydata()) < len(motion)


def test_a_joint_limit_shows_that_joint_with_its_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures, base = _drawn(monkeypatch), RIG.index("base")
    rows = swing().samples.copy()
    rows[:, base] *= 1.15
    motion = Motion([axis.name for axis in RIG.axes], RIG.period_s, rows)
    refusals = [r for r in check_motion(RIG, ROBOT, motion).refusals if (r.check, r.subject) == ("E-02", "base")]
    pictures.draw_preview(RIG, ROBOT, motion, refusals, tmp_path / "limit.png")
    words = _words(figures[0])
    assert "base, deg" in words and "soft upper limit 86 deg" in words and "speed limit 60 deg/s" in words


@pytest.mark.parametrize("check", ["E-03", "E-13"])
def test_whatever_is_refused_has_a_picture(tmp_path: Path, check: str) -> None:
    rows = swing().samples.copy()
    rows[50:] += 0.2
    motion = Motion([axis.name for axis in RIG.axes], RIG.period_s, rows)
    refusals = [r for r in check_motion(RIG, ROBOT, motion).refusals if r.check == check]
    assert refusals
    for refusal in refusals[:2]:
        pictures.draw_preview(RIG, ROBOT, motion, [refusal], tmp_path / "any.png")
        assert _wide(tmp_path / "any.png") > 0


# -- tasks that cannot be planned ------------------------------------------------------------------------


def test_the_steps_before_the_refused_one_are_planned() -> None:
    motion, error = plan_until_refused(RIG, ROBOT, _task(HOME, {"do": "move", "joints_deg": {"base": 95}}, HOME))
    assert [mark.step for mark in motion.marks] == [1]
    assert motion.end == pytest.approx([*RIG.home[:5], RIG.park[5]])
    assert error is not None and error.refusals[0].place == "step 2 (joint)"


def test_a_task_that_can_be_done_is_planned_to_its_end() -> None:
    task = _task(HOME)
    motion, error = plan_until_refused(RIG, ROBOT, task)
    assert error is None and motion.digest == plan_task(RIG, ROBOT, task).digest


def test_a_refused_start_leaves_a_single_sample() -> None:
    task = task_from_table({"title": "t", "start": {"joints_deg": {"base": 95}}, "step": [HOME]}, "test.toml")
    motion, error = plan_until_refused(RIG, ROBOT, task)
    assert len(motion) == 1 and error is not None
    with pytest.raises(RefusedError):
        plan_task(RIG, ROBOT, task)


def test_a_position_beyond_a_limit_is_drawn_where_it_was_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = _drawn(monkeypatch)
    task = _task(HOME, {"do": "move", "joints_deg": {"base": 95, "elbow": -89}}, HOME)
    pictures.draw_unplanned(RIG, ROBOT, task, tmp_path / "limit.png")
    words = _words(figures[0])
    assert "base: 0 deg, wanted 95 deg" in words and "elbow: -75 deg, wanted -89 deg" in words
    assert "cannot be planned" in words and "step 2 (joint)" in words


@pytest.mark.parametrize(
    ("step", "point"),
    [({"do": "move", "to_mm": [500, 0, 100]}, (500.0, 100.0)), ({"do": "line", "by_mm": [300, 0, -20]}, None)],
)
def test_a_point_out_of_reach_is_marked_in_both_views(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: dict[str, Any], point: tuple[float, float] | None
) -> None:
    figures = _drawn(monkeypatch)
    pictures.draw_unplanned(RIG, ROBOT, _task(HOME, step), tmp_path / "far.png")
    side = next(axes for axes in figures[0].axes if axes.get_title(loc="left") == "from the side")
    cross = next(line for line in side.lines if line.get_marker() == "X")
    if point is None:
        tool = ROBOT.forward_kinematics(np.array(RIG.home[:5]))[:3, 3] / MM
        point = tool[0] + 300.0, tool[2] - 20.0
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == pytest.approx(point)
    assert [text.get_text() for axes in figures[0].axes for text in axes.texts].count("wanted") == 2


def test_a_refused_start_has_a_picture_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = _drawn(monkeypatch)
    task = task_from_table({"title": "t", "start": {"joints_deg": {"base": 95}}, "step": [HOME]}, "test.toml")
    pictures.draw_unplanned(RIG, ROBOT, task, tmp_path / "start.png")
    assert "wanted 95 deg" in _words(figures[0])


def test_the_wanted_position_is_told_from_the_refusal() -> None:
    _, error = plan_until_refused(RIG, ROBOT, _task({"do": "gripper", "opening_mm": 30}))
    assert error is not None
    assert pictures._wanted(RIG.axes[5], error.refusals[0], MM) == pytest.approx(30 * MM)
    _, error = plan_until_refused(RIG, ROBOT, _task({"do": "move", "joints_deg": {"wrist": -87}}))
    assert error is not None
    assert pictures._wanted(RIG.axes[3], error.refusals[0], DEG) == pytest.approx(-87 * DEG)
