"""What the scene is made of: frames, outlines, the trace, the camera, the stop ghost."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from pretend import PretendLink  # noqa: E402

from hil.dashboard.arm import arm_of_model, arm_of_rig  # noqa: E402
from hil.dashboard.camera import VIEWS, Camera  # noqa: E402
from hil.dashboard.figures import Body, Trace, dashed, frame_lines  # noqa: E402
from hil.dashboard.forecast import StopForecast  # noqa: E402
from hil.model.reader import load_robot  # noqa: E402
from hil.model.stl import is_watertight  # noqa: E402
from hil.model.transforms import frames as plain_frames  # noqa: E402
from hil.model.transforms import random_q  # noqa: E402
from hil.motion.stops import stop_time_s  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402
from hil.types import Mode  # noqa: E402


def test_drawn_frames_are_those_of_forward_kinematics() -> None:
    arm = arm_of_model(load_robot("puma560"))
    generator = np.random.default_rng(4)
    for _ in range(200):
        q = random_q(arm.model, generator)
        drawn = arm.frames(tuple(q))
        assert drawn is not None
        lines = frame_lines(drawn[1:-1], 0.1, [""] * arm.model.dof, np.eye(3))
        origins = lines.ends[::3, 0]
        exact = plain_frames(arm.model, q)
        assert np.abs(drawn[1:-1] - np.array(exact[1 : 1 + arm.model.dof])).max() < 1e-9
        assert np.abs(origins - drawn[1:-1, :3, 3]).max() < 1e-9


def test_an_unknown_joint_leaves_nothing_to_draw() -> None:
    arm = arm_of_model(load_robot("puma560"))
    assert arm.frames((0.0, 0.0, None, 0.0, 0.0, 0.0)) is None


def test_bodies_are_closed_so_that_every_edge_has_two_sides() -> None:
    for name in ("lynx6", "stanford", "rhino-xr3"):
        body = Body(arm_of_model(load_robot(name)))
        assert is_watertight(body.faces)


def test_fingers_open_with_the_gripper() -> None:
    arm = arm_of_rig(load_rig("lynx6"))
    body, frames = Body(arm), arm.frames([axis.home for axis in arm.axes])
    assert frames is not None
    moved = body.placed(frames, 0.02) - body.placed(frames, 0.0)
    lengths = np.linalg.norm(moved, axis=1)
    assert np.allclose(lengths[lengths > 0.0], 0.01) and (lengths > 0.0).sum() == 16
    for number, mesh in enumerate(body.meshes[-2:], start=len(body.meshes) - 2):
        pose = body.frame_of(number, frames, 0.02)
        placed = mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
        begin = sum(len(each.vertices) for each in body.meshes[:number])
        assert np.allclose(placed, body.placed(frames, 0.02)[begin : begin + len(placed)])


def test_an_outline_is_what_separates_seen_from_unseen() -> None:
    arm = arm_of_rig(load_rig("lynx6"))
    body, frames = Body(arm), arm.frames([axis.home for axis in arm.axes])
    assert frames is not None
    outline = body.outline(body.placed(frames, 0.01), np.array([2.0, 1.0, 1.0]))
    # Each edge of a closed body has two of the three sides of its triangles.
    edges = 3 * len(body.faces) / 2
    assert 20 < len(outline) < edges / 2
    assert len(dashed(outline, 0.01)) > 0 and dashed(outline[:0], 0.01).shape == (0, 2, 3)


def test_the_trace_of_a_straight_way_is_as_long_as_the_way() -> None:
    trace = Trace()
    for x in np.linspace(0.0, 0.2, 700):
        trace.add(np.array([x, 0.1, 0.2]))
    assert trace.length_m == pytest.approx(0.2, abs=6e-4)
    trace.clear()
    assert trace.length_m == 0.0 and len(trace.lines()) == 0


def test_the_trace_is_bounded_and_joins_nothing_across_a_lift() -> None:
    trace = Trace(most=100)
    for k in range(1000):
        if k == 950:
            trace.lift()
        trace.add(np.array([0.01 * k + (5.0 if k >= 950 else 0.0), 0.0, 0.0]))
    lines = trace.lines()
    assert len(lines) == 98
    assert np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).max() < 0.011


@settings(max_examples=50)
@given(azimuth=st.floats(-3, 3), elevation=st.floats(-1.5, 1.5), distance=st.floats(0.1, 5))
def test_the_camera_sees_its_centre_in_the_middle(azimuth: float, elevation: float, distance: float) -> None:
    camera = Camera(azimuth_rad=azimuth, elevation_rad=elevation, distance_m=distance, centre_m=(0.3, -0.2, 0.1))
    place, depth = camera.project(np.array([0.3, -0.2, 0.1]), 800, 600)
    assert place == pytest.approx([400.0, 300.0]) and depth == pytest.approx(distance)
    assert np.allclose(camera.axes() @ camera.axes().T, np.eye(3))


@pytest.mark.parametrize(("name", "right", "up"), [("front", (0, 1, 0), (0, 0, 1)), ("top", (1, 0, 0), (0, 1, 0))])
def test_named_views_look_along_the_worlds_axes(name: str, right: tuple[int, ...], up: tuple[int, ...]) -> None:
    camera = Camera(azimuth_rad=0.3, elevation_rad=0.3, distance_m=1.0).seen_from(name)
    assert name in VIEWS
    assert np.allclose(camera.axes()[0], right, atol=0.01) and np.allclose(camera.axes()[1], up, atol=0.01)


def test_panning_moves_what_is_seen_by_as_much() -> None:
    camera = Camera(azimuth_rad=0.5, elevation_rad=0.4, distance_m=1.0)
    place, _ = camera.panned(0.25, 0.0).project(np.zeros(3), 800, 600)
    assert place == pytest.approx([200.0, 300.0])


def test_the_stop_ghost_is_ahead_of_a_moving_arm_and_absent_when_it_stands() -> None:
    arm = arm_of_rig(load_rig("lynx6"))
    link, forecast = PretendLink(arm), StopForecast(arm)
    link.advance(2.0)
    frames = link.take()
    for frame in frames:
        forecast.add(frame)
    rest = forecast.rest(frames[-1])
    assert rest is not None and arm.rig is not None
    speed = np.array(frames[-1].commanded) - np.array(frames[-4].commanded)
    ahead = np.array(rest) - np.array(frames[-1].commanded)
    assert (ahead * speed >= 0.0).all() and (np.abs(ahead) <= np.abs(speed) / 0.06 * (stop_time_s(arm.rig) + 0.1)).all()
    link.mode = Mode.HOLDING
    link.advance(0.5)
    for frame in link.take():
        forecast.add(frame)
    assert forecast.rest(frame) is None
