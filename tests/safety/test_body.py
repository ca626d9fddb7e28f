"""The arm's shapes against everything they may not touch."""

from __future__ import annotations

import numpy as np
from fixed_arm import box, make_rig, with_fences
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.robot import Robot
from hil.space.body import Body, LiveBody, lever_arms

RIG = with_fences(
    make_rig(),
    keep_out=(box("camera", (100, 50, 0), (200, 200, 300)), box("lamp", (-300, -100, 200), (-200, 0, 400))),
    keep_in=box("cell", (-380, -380, -300), (380, 380, 460)),
)
ROBOT = Robot(RIG.robot)
BODY, LIVE = Body(RIG, ROBOT), LiveBody(RIG)

joints = st.tuples(*(st.floats(-3.0, 3.0) for _ in range(5)))
small = st.tuples(*(st.floats(-0.1, 0.1) for _ in range(5)))


def margins(q):
    return BODY.margins(np.array([q]))[0]


@settings(deadline=None)
@given(joints)
def test_the_live_form_finds_exactly_what_the_batch_finds(q):
    found = dict(LIVE.violations(q, 0.0))
    batch = margins(q)
    for index, margin_m in enumerate(batch):
        if abs(margin_m) > 1e-9:
            assert (index in found) == (margin_m < 0.0), BODY.constraints[index]
    for index, margin_m in found.items():
        assert abs(margin_m - batch[index]) < 1e-9


@settings(deadline=None)
@given(joints, st.lists(st.tuples(small, st.sampled_from([0.0, 1e-9, -0.001, -0.02, -0.2])), min_size=1, max_size=12))
def test_step_by_step_it_finds_what_a_first_look_finds(q, steps):
    going = LiveBody(RIG)
    for step, slack_m in steps:
        found = going.violations(q, slack_m)
        assert found == LiveBody(RIG).violations(q, slack_m)
        assert [index for index, _ in found] == [i for i, left_m in enumerate(LIVE.margins(q)) if left_m < -slack_m]
        q = tuple(np.add(q, step).tolist())


def test_near_a_place_with_room_nothing_is_looked_at_again_and_at_the_end_of_the_room_it_is(monkeypatch):
    looked = []
    going, at_least = LiveBody(RIG), LiveBody._at_least
    monkeypatch.setattr(LiveBody, "_at_least", lambda self, q, near_m: looked.append(q) or at_least(self, q, near_m))
    pose = (0.0, 0.6, -0.4, 0.0, 0.0)
    room, travel = min(margins(pose)), BODY.travel[int(np.argmin(margins(pose)))]
    joint = int(np.argmax(travel))
    for share in (0.0, 0.5, 0.99, 1.01):
        there = list(pose)
        there[joint] += share * room / travel[joint]
        going.violations(there, 0.0)
    assert len(looked) == 2


@settings(deadline=None)
@given(joints, small)
def test_no_margin_shrinks_faster_than_the_travel_bound(q, step):
    bound = np.abs(step) @ BODY.travel.T
    assert (np.abs(margins(np.add(q, step)) - margins(q)) <= bound + 1e-9).all()


def test_the_travel_bound_of_a_stretched_arm_is_met_almost_exactly():
    level, step = (0.0,) * 5, 0.001
    lowered = (0.0, -step, 0.0, 0.0, 0.0)
    subjects = [c.subject for c in BODY.constraints]
    for name, reach_m in (("upper arm", 0.12), ("forearm", 0.24), ("hand", 0.38)):
        column = subjects.index(f"{name} and table")
        shrunk = margins(level)[column] - margins(lowered)[column]
        assert np.isclose(shrunk, reach_m * step, rtol=1e-3)
        assert shrunk <= BODY.travel[column, 1] * step <= 1.5 * shrunk


def test_pairs_on_one_link_and_named_neighbours_are_left_out():
    subjects = [c.subject for c in BODY.constraints if c.check == "E-09"]
    assert subjects == ["pedestal and forearm", "pedestal and hand", "upper arm and hand"]


def test_a_shape_that_never_moves_is_not_held_against_the_fences():
    assert not [c for c in BODY.constraints if c.check == "E-10" and "pedestal" in c.subject]


def test_a_rig_without_shapes_has_no_constraints():
    bare = make_rig(shapes=())
    assert Body(bare, ROBOT).margins(np.zeros((4, 5))).shape == (4, 0)
    assert LiveBody(bare).violations((0.0,) * 5, 0.0) == []


def test_a_shape_is_only_moved_by_the_joints_before_it():
    upper_arm = RIG.shapes[1]
    assert lever_arms(RIG.robot, upper_arm)[2:] == [0.0, 0.0, 0.0]
