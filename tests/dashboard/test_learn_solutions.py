"""Inverse solutions in the window of the lessons: every branch as an arm, the motion between two, the iterations."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import json  # noqa: E402
import shlex  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from PySide6.QtCore import QPoint, Qt  # noqa: E402
from PySide6.QtGui import QGuiApplication  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from hil.cli.app import app  # noqa: E402
from hil.dashboard.learn.solutions_sheet import SHOWN  # noqa: E402
from hil.kinematics.limits import range_of, violation  # noqa: E402
from hil.lessons.targets import KINDS  # noqa: E402
from hil.motion.planner import plan_task  # noqa: E402
from hil.motion.tasks import load_task  # noqa: E402
from hil.robot import Robot  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402

Make = Callable[..., Any]


def type_target(window: Any, *texts: str) -> None:
    """As by hand, into the fields that are seen; the last one finishes."""
    view = window.shell.view
    fields = view.sheet.fields[view.history.now.kind]
    for field, text in zip(fields, texts, strict=False):
        field.edit.setText(text)
    for field in fields:
        field.edit.editingFinished.emit()


def copied(window: Any) -> list[str]:
    window.shell.copy.click()
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["hil", "ik"]
    return words[1:]


def show(window: Any, name: str) -> None:
    window.shell.view.sheet.shown.setCurrentIndex(SHOWN.index(name))


def test_each_solution_is_an_arm_and_a_row_as_hil_ik_prints_it(make_lessons: Make) -> None:
    """S2-08: up to eight solutions, each reaches the pose; those outside the limits are listed but marked."""
    window = make_lessons("vrm-kukakr5", "solutions")
    view = window.shell.view
    type_target(window, "650", "120", "560", "170", "15", "20")
    told = json.loads(CliRunner().invoke(app, [*copied(window), "--json"]).output)
    arms = window.shell.picture().arms
    assert len(arms) == len(told["solutions"]) == view.sheet.table.rowCount() >= 4
    for number, (arm, solution) in enumerate(zip(arms, told["solutions"], strict=True)):
        assert np.allclose(arm.frames[-1], view.goal.pose, atol=1e-8)
        shown = [view.sheet.table.item(number, column).text() for column in range(6)]
        assert shown == [f"{np.degrees(value):z.2f}" for value in solution["q"]]
        limits = view.sheet.table.item(number, 6).text()
        assert limits == "inside" if solution["within_limits"] else limits.startswith("beyond: J")
    assert len({arm.colour for arm in arms}) == len(arms) and all(arm.opacity < 1.0 for arm in arms)
    beside = view.sheet.table.verticalHeader()
    image = beside.grab().toImage()
    seen = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}
    assert {view._theme.curves[number] for number in range(len(arms))} <= seen, "a patch in each arm's colour"


def test_two_solutions_of_a_planar_arm_one_on_its_boundary_none_outside(make_lessons: Make) -> None:
    """S2-07: two solutions, exactly one on the boundary, outside refused with the distance."""
    window = make_lessons("planar-3r", "solutions")
    view = window.shell.view
    reach_mm = 1000.0 * sum(joint.a_m for joint in view.robot.model.joints)
    type_target(window, str(0.6 * reach_mm), "300", "0", "0", "0", "30")
    assert len(view.result.solutions) == 2 and "2 of 2" in view.sheet.verdict.text()
    type_target(window, str(reach_mm), "0", "0", "0", "0", "0")
    assert len(view.result.solutions) == 1 and "Singular: 1" in view.sheet.verdict.text()
    type_target(window, str(reach_mm + 50), "0", "0", "0", "0", "0")
    assert view.sheet.table.rowCount() == 0 and "out of reach by 50.000 mm" in view.sheet.verdict.text()
    view.undo()
    assert len(view.result.solutions) == 1, "undo brings the last one back"


@pytest.mark.parametrize(
    ("robot", "texts"),
    [
        ("lynx6", ("900", "100", "200", "", "")),
        ("lynx6", ("0", "0", "-300", "-60", "")),
        ("planar-3r", ("5000", "0", "0", "0", "0", "0")),
        ("ur5", ("1500", "300", "200", "0", "0", "0")),
    ],
)
def test_what_cannot_be_reached_shows_the_arm_as_near_as_it_comes(
    robot: str, texts: tuple[str, ...], make_lessons: Make
) -> None:
    window = make_lessons(robot, "solutions")
    view = window.shell.view
    type_target(window, *texts)
    assert view.result.solutions == (), "unreachable"
    picture = window.shell.picture()
    (arm,), (gap,) = picture.arms, picture.lines
    assert arm.opacity < 1.0 and arm.colour == "simulated", "dimmed"
    tool, target = arm.frames[-1, :3, 3], np.array(view.goal.point_m)
    assert np.allclose(gap.ends, [[tool, target]]), "a line over what is lacking"
    assert f"{1000.0 * np.linalg.norm(target - tool):.2f} mm" in view.sheet.verdict.text()
    limits = [range_of(joint) for joint in view.robot.model.joints]
    assert all(violation(value, limit) == 0.0 for value, limit in zip(view.nearest.q, limits, strict=True))


@pytest.mark.parametrize("pitch", ["", "0"])
def test_the_nearest_place_of_an_arm_that_is_only_too_short_is_as_far_off_as_hil_ik_says(
    pitch: str, make_lessons: Make
) -> None:
    window = make_lessons("lynx6", "solutions")
    view = window.shell.view
    type_target(window, "600", "0", "110.6", pitch, "")
    assert view.nearest.distance_mm == pytest.approx(1000.0 * view.result.distance_m, abs=0.01)


def test_a_target_that_is_reached_again_shows_its_solutions_alone(make_lessons: Make) -> None:
    window = make_lessons("lynx6", "solutions")
    view = window.shell.view
    type_target(window, "900", "0", "100")
    view.undo()
    assert view.nearest is None and "dimmed" not in view.sheet.verdict.text()
    assert len(window.shell.picture().arms) == len(view.result.solutions) > 0


@pytest.mark.parametrize(
    ("kind", "texts", "field", "words"),
    [
        ("point", ("1o0", "0", "100"), 0, "X, mm"),
        ("point", ("", "0", "100"), 0, "nothing is typed"),
        ("pose", ("1", "2", "3", "4", "5", "1e9"), 5, "allowed: -3600 to 3600"),
        ("matrix", ("1 2 3",), 0, "3 numbers given; allowed: sixteen"),
        ("matrix", ("1 0 0 a " * 4,), 0, "'a' is no number"),
        ("matrix", ("1 0 0 0  0 2 0 0  0 0 1 0  0 0 0 1",), 0, "matrix: "),
    ],
)
def test_a_target_that_is_none_is_refused_in_its_field(
    kind: str, texts: tuple[str, ...], field: int, words: str, make_lessons: Make
) -> None:
    """S2-11: what is asked for depends on the robot; a matrix of another shape, or no rotation, is refused with why."""
    window = make_lessons("lynx6", "solutions")
    view = window.shell.view
    assert view.history.now.kind == "point", "not every orientation is for this arm"
    view.sheet.kind.setCurrentIndex(KINDS.index(kind))
    before, last = view.result, view.goal
    type_target(window, *texts)
    fault = view.sheet.fields[kind][field].fault
    assert words.replace("X, mm", "X, column 2") in fault.text() and fault.isVisible()
    assert view.sheet.fields[kind][field].text == texts[field], "what was typed stays"
    assert view.goal == last and view.result is before, "so does the last good target"
    for _ in texts:
        view.undo()
    assert not fault.isVisible()


def test_a_matrix_is_a_target_too(make_lessons: Make) -> None:
    """S2-11."""
    window = make_lessons("puma560", "solutions")
    view = window.shell.view
    pose = view.robot.forward_kinematics([0.3, 0.4, -0.5, 0.2, 0.6, 0.1])
    view.sheet.kind.setCurrentIndex(KINDS.index("matrix"))
    type_target(window, str(pose.tolist()))
    assert any(np.allclose(each.q, [0.3, 0.4, -0.5, 0.2, 0.6, 0.1], atol=1e-7) for each in view.result.solutions)
    assert CliRunner().invoke(app, copied(window)).exit_code == 0


def test_a_place_in_the_scene_is_dragged_to(make_lessons: Make) -> None:
    """S2-09: looked at, nothing else: the target follows the pointer, the arm does not exist."""
    window = make_lessons("lynx6", "solutions")
    view, scene = window.shell.view, window.shell.scene
    before = view.goal.numbers
    centre = QPoint(scene.widget.width() // 2, scene.widget.height() // 2)
    QTest.mousePress(scene.widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, centre)
    QTest.mouseRelease(scene.widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, centre)
    assert view.goal.numbers != before
    assert np.allclose(view.goal.point_m, scene.camera.centre_m, atol=2e-3)
    assert np.allclose(window.shell.picture().points[0].places[0], view.goal.point_m)
    assert view.sheet.fields["point"][0].text == f"{view.goal.numbers[0]:g}"


def test_the_target_is_taken_from_the_arm(make_lessons: Make) -> None:
    window = make_lessons("lynx6", "solutions")
    view = window.shell.view
    view.sheet.arm.click()
    assert "no arm is shown here" in window.shell.said.text()
    q = (0.3, 0.8, -0.9, 0.2, 0.0)
    view.arm_joints = lambda: (*q, 0.02)
    view.sheet.arm.click()
    assert np.allclose(view.goal.point_m, view.robot.forward_kinematics(q)[:3, 3], atol=1e-8)
    assert any(np.allclose(each.q, q, atol=1e-6) for each in view.result.solutions)


def test_two_solutions_are_played_one_to_the_other_and_sent_as_a_task(make_lessons: Make) -> None:
    """S2-10: the ends are the solutions, the way between is none of one pose; the preview checks it."""
    window = make_lessons("lynx6", "solutions")
    view, table = window.shell.view, window.shell.view.sheet.table
    pose = view.robot.forward_kinematics([0.2, 0.3, 0.4, 0.5, 0.0])
    view.sheet.kind.setCurrentIndex(KINDS.index("matrix"))
    type_target(window, str(pose.tolist()))
    one, other = (k for k, each in enumerate(view.result.solutions) if each.within_limits)
    table.choose(one)
    table.choose(other)
    assert view.sheet.shows == "between two" and view.pair == (one, other)
    bar = window.shell.time_bar
    assert bar.play.isChecked(), "it is played at once"
    for time_s, number in ((0.0, one), (bar.time_line.duration_s, other)):
        drawn = view.picture(time_s).arms[-1].frames
        assert np.array_equal(drawn, view.robot.link_frames(view.result.solutions[number].q))
    middle = view.picture(0.5 * bar.time_line.duration_s).arms[-1].frames[-1]
    assert np.abs(middle[:3, 3] - view.goal.point_m).max() > 1e-3, "on the way the tool leaves its place"
    words = copied(window)
    assert words[-3:] == ["--between", str(one + 1), str(other + 1)]
    assert f"from solution {one + 1} to solution {other + 1}" in CliRunner().invoke(app, words).output
    window.shell.send.click()
    task, rig = load_task(window.sent[0]), load_rig("lynx6")
    assert task.steps[-1].do == "solution"
    motion = plan_task(rig, Robot(rig.robot), task)
    assert np.allclose(motion.samples[-1, :5], view.result.solutions[other].q, atol=2e-3)
    table.choose(other)
    assert view.pair is None and not window.shell.send.isEnabled()


@pytest.mark.parametrize(("name", "method"), [("damped least squares", "dls"), ("Jacobian transpose", "transpose")])
def test_an_iteration_goes_step_by_step_with_its_error(name: str, method: str, make_lessons: Make) -> None:
    """S5-03: inverse kinematics by the Jacobian's transpose until the error is small, or a plain failure."""
    window = make_lessons("rv2aj", "solutions")
    view, bar = window.shell.view, window.shell.time_bar
    start = [0.3, 0.5, 1.0, 0.6, 0.1]
    target = view.robot.forward_kinematics([0.1, 0.4, 1.2, 0.4, 0.0])
    view.sheet.kind.setCurrentIndex(KINDS.index("matrix"))
    type_target(window, str(target.tolist()))
    show(window, name)
    view.sheet.start.edit.setText(" ".join(repr(float(np.degrees(value))) for value in start))
    view.sheet.start.edit.editingFinished.emit()
    steps = {"iterations": 1000} if method == "transpose" else {"restarts": 0}
    ends = view.robot.inverse_kinematics_numeric(view.goal.pose, start, method, **steps)
    assert len(view.trail.q) - 1 == ends.iterations, "as many steps as the solver takes"
    if ends.solutions:
        assert np.allclose(view.trail.q[-1], ends.solutions[0].q, atol=1e-9) and view.trail.done
    drawn_mm, _ = view.sheet.curve.errors()
    assert np.allclose(drawn_mm, np.maximum(view.trail.error_mm, 1e-9)) and drawn_mm[-1] < 2e-2 * drawn_mm[0]
    bar.step_on.click()
    assert np.array_equal(window.shell.picture().arms[0].frames, view.robot.link_frames(view.trail.q[1]))
    assert "step 1:" in bar.words.text()
    bar.step_back.click()
    assert np.allclose(window.shell.picture().arms[0].frames, view.robot.link_frames(start))
    view.sheet.start.edit.setText("1 2")
    view.sheet.start.edit.editingFinished.emit()
    assert "2 values given; allowed: 5" in view.sheet.start.fault.text()


@pytest.mark.processes
def test_an_arm_without_a_closed_form_is_searched_for_in_another_process(make_lessons: Make, qtbot: Any) -> None:
    """S1-25: a seven-axis arm."""
    window = make_lessons("panda", "solutions")
    view = window.shell.view
    assert view.work.busy and view.sheet.verdict.text() == "searching ..."
    qtbot.waitUntil(lambda: not view.work.busy, timeout=60_000)
    assert view.sheet.table.rowCount() == 1 and view.sheet.table.columnCount() == 9


def test_the_dashboard_has_the_lessons_of_its_arm_and_opens_their_tasks_in_its_preview(make_bench: Make) -> None:
    """S2-09, S3-18: a tab of the dashboard; built when it is looked at; a task goes to the preview, nothing moves."""
    bench = make_bench()
    bench.run(1.0)
    lessons: Any = bench.window.views["lessons"]
    window = bench.window
    assert lessons.shell is None, "nobody waits for what is not looked at"
    window.bring(window.docks["lessons"])
    shell: Any = lessons.shell
    assert shell.model is bench.session.arm.model
    shell.show_view("solutions")
    shell.view.sheet.arm.click()
    at = shell.view.robot.forward_kinematics(list(bench.session.newest.simulated[:5]))[:3, 3]
    assert np.allclose(shell.view.goal.point_m, at, atol=1e-8)
    shell.show_view("dh")
    shell.view.sheet.play.setCurrentIndex(2)
    asked = list(bench.link.asked)
    shell.send.click()
    assert window.views["preview"].previewing.source.path.read_text("utf-8") == shell.view.task_text()
    assert window.docks["preview"].isVisible() and bench.link.asked == asked, "nothing that moves was asked for"


def test_a_dashboard_can_open_a_task_as_soon_as_its_arm_is_heard(make_bench: Make) -> None:
    from hil.model.files import find

    bench = make_bench()
    preview: Any = bench.window.views["preview"].previewing
    heard, bench.session.arm = bench.session.arm, None
    bench.window.open_at_first(find("tasks", "wave"))
    nothing_yet = preview.source
    assert nothing_yet is None
    bench.session.arm = heard
    bench.session.arm_changed.emit()
    assert preview.source.name == "wave.toml" and bench.window.docks["preview"].isVisible()
    preview.close()
    bench.window.open_at_first(find("tasks", "wave"))
    assert preview.source is not None, "and at once, where it is heard already"
