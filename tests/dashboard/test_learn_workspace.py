"""Lessons in a window: what an arm reaches, beside what the command prints."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from lesson_views import fault_of, here, printed, run, type_into, waited  # noqa: E402

from hil.dashboard.camera import Camera  # noqa: E402
from hil.dashboard.learn.cloud_canvas import AT_ONCE, CloudCanvas  # noqa: E402
from hil.dashboard.learn.work import Work  # noqa: E402
from hil.lessons.picture import Points  # noqa: E402
from hil.lessons.workspaces import MANY_POINTS  # noqa: E402
from hil.robot import Robot  # noqa: E402

Make = Callable[..., Any]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are done in this process."""
    monkeypatch.setattr(Work, "start", here)


def opened(make_lessons: Make, robot: str = "lynx6") -> Any:
    window = make_lessons(robot, "workspace")
    return window.shell.view


def swept(view: Any, **fields: str) -> Any:
    for key, text in fields.items():
        type_into(view.sheet.form, key, text)
    view.sweep()
    return view


def test_a_sweep_counts_as_the_command_does(make_lessons: Make, at_once: None) -> None:
    """Points by segment, bounds and nearness."""
    view = swept(opened(make_lessons), step_deg="30")
    told = printed(view.command_text())
    shown = [[name, *(points.replace(" ", "") for points in row)] for name, *row in view.sheet.segments.texts()]
    assert [row[:3] for row in shown] == [
        [each["name"], str(each["points_closed"]), str(each["points_half_open"])] for each in told["segments"]
    ]
    report = view.reached.report
    assert report["points"] == told["points"]
    assert report["nearness_m"] == told["nearness_m"]
    assert list(report["bounds"].lower_m) == told["bounds"]["lower_m"]
    assert "points, elapsed" in view.sheet.figures.toPlainText()


def test_each_colours_points_are_ends_of_its_link(make_lessons: Make, at_once: None) -> None:
    """The cloud of a segment is the forward kinematics of the joints up to it."""
    view = swept(opened(make_lessons), step_deg="45")
    clouds = view.reached.clouds
    assert [cloud.name for cloud in clouds] == [joint.name for joint in view.model.joints]
    picture = view.picture(0.0)
    drawn = [points for points in picture.points if points.even]
    assert len({points.colours for points in drawn}) == len(clouds)
    frames = Robot(view.model).link_frames([0.0] * view.robot.dof)
    first = np.linalg.norm(clouds[0].points_m[:, :2], axis=1)
    assert np.allclose(first, np.hypot(*frames[1, :2, 3]), atol=1e-6)


def test_a_segment_without_its_tick_is_not_drawn(make_lessons: Make, at_once: None) -> None:
    """And comes back with it."""
    from PySide6.QtCore import Qt

    view = swept(opened(make_lessons), step_deg="45")
    count = len(view.picture(0.0).points)
    view.sheet.segments.item(2, 0).setCheckState(Qt.CheckState.Unchecked)
    assert len(view.picture(0.0).points) == count - 1
    view.sheet.segments.item(2, 0).setCheckState(Qt.CheckState.Checked)
    assert len(view.picture(0.0).points) == count


def test_a_volume_and_a_plane_are_those_of_the_command(make_lessons: Make, at_once: None) -> None:
    """Volume, pieces, holes, voids; and the area of a plane."""
    view = swept(opened(make_lessons), voxel_mm="60", step_deg="12")
    type_into(view.sheet.plane, "at", "150")
    command = view.command_text()
    assert command.endswith("--plane z:150")
    told = printed(command)
    summary = view.reached.reach.summary
    assert (summary.volume_m3, summary.holes, summary.pieces) == (
        told["reach"]["volume_m3"], told["reach"]["holes"], told["reach"]["pieces"],
    )  # fmt: skip
    assert told["planes"] == [
        {"axis": "z", "at_mm": 150.0, "reached_m2": view.area.reached_m2, "void_m2": view.area.void_m2}
    ]
    assert f"{view.area.reached_m2:.6g} m2 within reach" in view.sheet.area.text()
    assert not view.sheet.slice.pixmap().isNull()


def test_very_many_points_are_asked_for_twice(make_lessons: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first press warns with the number; nothing is begun."""
    begun: list[object] = []
    monkeypatch.setattr(Work, "start", lambda work, *job: begun.append(job))
    view = opened(make_lessons)
    type_into(view.sheet.form, "step_deg", "2")
    assert view.size.points > MANY_POINTS
    assert "Warning" in view.sheet.amount.text()
    view.sweep()
    assert not begun
    view.sweep()
    assert len(begun) == 1


WRONG = [
    ("step_deg", "0", "step 0 deg given"),
    ("step_deg", "fast", "'fast' given; allowed: a number"),
    ("step_mm", "x", "allowed: a number"),
    ("joints", "knee", "no joint 'knee'"),
    ("ranges", "base:10:-10", "the lower number first"),
    ("voxel_mm", "-1", "above 0"),
]


def test_a_wrong_field_says_so_and_undo_brings_the_text_back(make_lessons: Make) -> None:
    """The last good sweep stays in use."""
    view = opened(make_lessons)
    type_into(view.sheet.form, "step_deg", "30")
    points = view.size.points
    for key, text, words in WRONG:
        type_into(view.sheet.form, key, text)
        assert words in fault_of(view.sheet.form, key)
        assert view.sheet.form.fields[key].text == text
        assert view.size.points == points
        view.undo()
        assert fault_of(view.sheet.form, key) == ""
        assert view.sheet.form.fields["step_deg"].text == "30"


def test_a_place_shows_its_ways_or_why_there_are_none(make_lessons: Make) -> None:
    """As `hil ik --all`."""
    view = opened(make_lessons)
    view.picked((0.2, 0.05, 0.15))
    told = printed(view.command_text())
    assert len(view.ways.solutions) == len(told["solutions"]) > 0
    assert view.sheet.ways.toPlainText().splitlines()[0].startswith("1: ")
    assert len(view.picture(0.0).arms) > 1
    view.picked((2.0, 0.0, 0.0))
    outcome = run(view.command_text())
    assert outcome.exit_code == 1
    assert view.ways.reason and view.ways.reason in view.sheet.ways.toPlainText()
    assert len(view.picture(0.0).arms) == 1


def test_a_box_lights_the_lamps_of_the_command(make_lessons: Make, at_once: None) -> None:
    """Needs, lamps and postures of every place."""
    view = opened(make_lessons)
    for key, text in (("corner", "100, -100, 50"), ("opposite", "300, 100, 250"), ("step", "100")):
        type_into(view.sheet.box, key, text)
    view.try_box()
    told = printed(view.command_text())
    assert [need.lamp for need in view.need.joints] == [each["lamp"] for each in told["joints"]]
    assert (view.need.usable, view.need.out_of_reach) == (told["usable"], told["out_of_reach"])
    assert f"{told['dexterity']['mean']:.2f} on the average" in view.sheet.box_words.text()
    assert sum(len(points.places) for points in view.picture(0.0).points) == told["samples"]


def test_a_wrong_box_names_its_field(make_lessons: Make) -> None:
    """And keeps the last good one."""
    view = opened(make_lessons)
    type_into(view.sheet.box, "step", "0")
    assert "box step 0 mm given" in fault_of(view.sheet.box, "step")
    type_into(view.sheet.box, "corner", "1, 2")
    assert "x, y, z in mm" in fault_of(view.sheet.box, "corner")
    view.sheet.box.undo()
    view.sheet.box.undo()
    assert fault_of(view.sheet.box, "step") == fault_of(view.sheet.box, "corner") == ""


@pytest.mark.processes
def test_a_sweep_works_in_a_process_of_its_own(make_lessons: Make) -> None:
    """And can be stopped."""
    view = swept(opened(make_lessons), step_deg="30")
    waited(view, view.sheet.bar.work)
    assert view.reached is not None
    view.sweep()
    view.sheet.bar.end()
    assert not view.sheet.bar.work.busy


def test_a_cloud_is_drawn_in_part_at_once_and_whole_in_the_end() -> None:
    """What is drawn at once does not grow with the cloud."""
    places = np.random.default_rng(1).uniform(-0.3, 0.3, (5 * AT_ONCE, 3)).astype(np.float32)
    canvas = CloudCanvas()
    canvas.look(Camera(0.3, 0.4, 2.0), (400, 300), [(Points(places, even=True), 0xFF00FF00)])
    assert canvas.waiting == 4 * AT_ONCE
    while canvas.more():
        pass
    assert canvas.waiting == 0
    assert canvas.image().pixelColor(200, 150).green() == 255


def test_the_nearer_point_is_seen() -> None:
    """Two in one pixel, whichever is drawn first."""
    camera = Camera(0.0, 0.0, 1.0)
    near, far = np.array([[0.5, 0.0, 0.0]]), np.array([[-0.5, 0.0, 0.0]])
    for order in ((near, far), (far, near)):
        canvas = CloudCanvas()
        clouds = [
            (Points(place, size_px=1.0, even=True), 0xFFFF0000 if place is near else 0xFF0000FF) for place in order
        ]
        canvas.look(camera, (100, 100), clouds)
        assert canvas.image().pixelColor(50, 50).red() == 255


def test_a_driver_without_a_card_draws_less_of_a_cloud_at_a_time() -> None:
    """Every point once, in its order, however many passes it takes."""
    from hil.dashboard.learn.cloud_item import CARD_PASS, SOFTWARE_PASS, CloudItem, points_of_a_pass

    assert points_of_a_pass("llvmpipe (LLVM 19.1.7, 256 bits)") == SOFTWARE_PASS == 30_000
    assert points_of_a_pass("Mesa Intel(R) UHD Graphics 620 (KBL GT2)") == CARD_PASS == 600_000
    item = CloudItem(np.zeros((100, 3), np.float32), (1.0, 1.0, 1.0, 1.0), 2.0)
    passes = []
    item.begin(40)
    while item.end > item.first:
        passes.append((item.first, item.end, item.left))
        item.go_on(40)
    assert passes == [(0, 40, 60), (40, 80, 20), (80, 100, 0)]
    item.begin(40)
    assert (item.first, item.end) == (0, 40), "drawn anew"


def test_a_place_that_is_taken_back_leaves_the_command_of_what_is_shown(make_lessons: Make) -> None:
    view = make_lessons("lynx6", "workspace").shell.view
    before = view.command_text()
    type_into(view.sheet.place, "place", "200, 0, 100")
    assert view.command_text() == "hil ik lynx6 200 0 100 --all"
    type_into(view.sheet.place, "place", "")
    assert view.command_text() == before
