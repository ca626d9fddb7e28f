"""Predicates over runs that are written down here, sample by sample."""

import numpy as np
import pytest

from hil.labs import predicates as p
from hil.labs.judge import Run, judge, same_robot
from hil.model.reader import load_robot
from hil.refusal import Refusal
from hil.robot import Robot
from hil.runtime.wiring import load_rig

RIG = load_rig("lynx6", calibrated=False)
ROBOT = Robot(RIG.robot)
COUNT = 101
PERIOD_S = RIG.period_s


def run(**changes):
    """The tool goes from x = 0 to x = 100 mm, a millimetre a sample, and the gripper shuts half-way."""
    park = np.array(RIG.park)
    way = {
        "rig": RIG,
        "robot": ROBOT,
        "time_s": PERIOD_S * np.arange(COUNT),
        "joints": np.repeat(park[None, : RIG.robot.dof], COUNT, axis=0),
        "tool_mm": np.stack([np.arange(COUNT, dtype=float), np.zeros(COUNT), np.zeros(COUNT)], axis=1),
        "opening_mm": np.where(np.arange(COUNT) < 50, 20.0, 5.0),
        "hand_closed": None,
        "sent": np.repeat(park[None, :], COUNT, axis=0),
        "wire_bytes": 1000,
    }
    return Run(**{**way, **changes})


def judged(*predicates, of=None):
    return judge(of or run(), tuple(predicates))


def reach(name="there", x=60.0, **more):
    return p.Reach(name=name, point_mm=(x, 0.0, 0.0), **more)


def test_a_place_is_reached_at_the_first_sample_within():
    (found,) = judged(reach(within_mm=3.0))
    assert found.held and "1.14 s" in found.words  # sample 57


@pytest.mark.parametrize("by_s, held", [(1.14, True), (1.13, False)])
def test_a_place_has_its_time(by_s, held):
    (found,) = judged(reach(within_mm=3.0, by_s=by_s))
    assert found.held is held
    assert held or (found.sample, found.tool_mm) == (57, (57.0, 0.0, 0.0))


def test_a_place_that_is_never_reached_is_told_with_the_nearest_sample():
    (found,) = judged(reach(x=110.0, within_mm=3.0))
    assert not found.held
    assert (found.sample, found.time_s) == (100, pytest.approx(2.0))
    assert "10.0 mm away" in found.words and "3 mm" in found.words


@pytest.mark.parametrize("opening, held", [((0.0, 5.0), True), ((6.0, 30.0), False)])
def test_the_gripper_counts_at_a_place(opening, held):
    (found,) = judged(reach(opening_mm=opening))
    assert found.held is held
    assert held or "5.0 mm open" in found.words


def test_after_looks_only_from_there_on():
    first, second = judged(reach("late", 80.0), reach("early", 20.0, after="late"))
    assert first.held and not second.held
    first, second = judged(reach("early", 20.0), reach("late", 80.0, after="early"))
    assert first.held and second.held


def test_after_a_place_that_was_missed_nothing_is_reached():
    _, second = judged(reach("never", 500.0), reach("then", 20.0, after="never"))
    assert not second.held and "'never' comes before it" in second.words


def test_a_box_and_a_pose_are_places_too():
    box = p.Reach(name="box", lower_mm=(90.0, -1.0, -1.0), upper_mm=(95.0, 1.0, 1.0))
    pose = p.Reach(name="parked", pose="park", within_deg=0.1)
    home = p.Reach(name="home", pose="home", within_deg=1.0)
    found = judged(box, pose, home)
    assert [each.held for each in found] == [True, True, False]
    assert "1.80 s" in found[0].words
    assert "82.0 deg off" in found[2].words  # the shoulder is parked at 172 deg, its home is 90


def test_order_holds_only_if_each_comes_later():
    places = reach("a", 20.0), reach("b", 50.0), reach("c", 80.0)
    order = p.Order(name="order", of=("a", "b", "c"))
    other = p.Order(name="other", of=("b", "a"))
    *_, right, wrong = judged(*places, order, other)
    assert right.held and not wrong.held
    assert "'a' was reached before 'b'" in wrong.words


def test_keep_is_judged_from_one_place_to_another_and_names_the_first_sample():
    start, end = reach("start", 10.0, within_mm=0.5), reach("end", 90.0, within_mm=0.5)
    wide = p.Keep(name="wide", opening_mm=(10.0, 30.0), since="start", until="end")
    early = p.Keep(name="early", opening_mm=(10.0, 30.0), until="start")
    _, _, wrong, right = judged(start, end, wide, early)
    assert right.held and not wrong.held
    assert (wrong.sample, wrong.tool_mm) == (50, (50.0, 0.0, 0.0))


@pytest.mark.parametrize("at_least, held, sample", [(10.0, True, None), (10.5, False, 57)])
def test_never_nearer_than(at_least, held, sample):
    (found,) = judged(p.Away(name="post", point_mm=(60.0, 10.0, 0.0), at_least_mm=at_least))
    assert (found.held, found.sample) == (held, sample)


def test_never_nearer_than_a_box():
    box = {"lower_mm": (40.0, 5.0, -1.0), "upper_mm": (60.0, 9.0, 1.0)}
    near, far = judged(p.Away(name="a", at_least_mm=5.5, **box), p.Away(name="b", at_least_mm=5.0, **box))
    assert far.held and not near.held and near.sample == 38


@pytest.mark.parametrize(
    "predicate",
    [
        p.Away(name="clear", point_mm=(500.0, 0.0, 0.0), at_least_mm=1.0, once="there"),
        p.End(name="parked", at="park", once="there"),
        p.Time(name="soon", at_most_s=10.0, once="there"),
        p.Smooth(name="smooth", once="there"),
        p.Energy(name="work", at_most_j=1.0, once="there"),
        p.Bytes(name="bytes", at_most=1000, once="there"),
    ],
    ids=lambda predicate: predicate.name,
)
def test_what_counts_once_a_place_was_reached_is_no_mark_for_doing_nothing(predicate):
    assert [found.held for found in judged(reach(), predicate)] == [True, True]
    missed, found = judged(reach(x=500.0), predicate)
    assert not missed.held and not found.held and found.words == "'there' was not reached"


@pytest.mark.parametrize("at_most_s, held", [(2.0, True), (1.99, False)])
def test_time_is_from_the_first_sample_to_the_last(at_most_s, held):
    assert judged(p.Time(name="t", at_most_s=at_most_s))[0].held is held


@pytest.mark.parametrize("at_most, held", [(1000, True), (999, False)])
def test_bytes_are_counted(at_most, held):
    assert judged(p.Bytes(name="b", at_most=at_most))[0].held is held


def test_the_end_is_the_last_sample():
    joints = run().joints.copy()
    joints[-1, 0] += np.radians(3.0)
    assert judged(p.End(name="e", at="park"))[0].held
    (found,) = judged(p.End(name="e", at="park", within_deg=2.9), of=run(joints=joints))
    assert not found.held and found.sample == COUNT - 1 and "3.00 deg" in found.words


def jerking(share):
    """The base follows a cubic with so much of the jerk that the rig allows."""
    sent = run().sent.copy()
    sent[:, 0] = share * RIG.axes[0].jerk * (PERIOD_S * np.arange(COUNT)) ** 3 / 6.0
    return run(sent=sent)


@pytest.mark.parametrize("share, held", [(1.0, True), (1.3, False)])
def test_smoothness_is_a_share_of_the_rigs_jerk(share, held):
    (found,) = judged(p.Smooth(name="s", at_most_share=1.1), of=jerking(share))
    assert found.held is held and "base" in found.words


def test_what_the_steps_of_the_wire_add_is_no_jerk_of_the_student():
    quantum = np.array(RIG.controller.quantum())
    chance = np.random.default_rng(1)
    sent = run().sent + chance.choice([-0.5, 0.5], size=run().sent.shape) * quantum
    (found,) = judged(p.Smooth(name="s", at_most_share=1e-6), of=run(sent=sent))
    assert found.held


def test_energy_is_the_work_of_all_drives():
    joints = run().joints.copy()
    joints[:, 1] -= np.radians(np.linspace(0.0, 60.0, COUNT))
    (found,) = judged(p.Energy(name="w", at_most_j=0.01), of=run(joints=joints))
    assert not found.held
    speed = np.gradient(joints, PERIOD_S, axis=0)
    torque = ROBOT.inverse_dynamics(joints, speed, np.gradient(speed, PERIOD_S, axis=0))
    work_j = PERIOD_S * np.abs(torque * speed).sum()
    assert f"{work_j:.6g} J" in found.words
    assert judged(p.Energy(name="w", at_most_j=0.01))[0].held


REFUSAL = Refusal(check="E-07", subject="tool", limit="reach", margin=-1.0, unit="mm", nearest_allowed="nearer",
                  advice="", sample=3, place="step 2 (joint)")  # fmt: skip


def test_what_was_refused_holds_nothing_but_what_allows_it():
    nothing = run(time_s=np.zeros(0), tool_mm=np.zeros((0, 3)), refusals=(REFUSAL,))
    strict, mild, place, soon = judged(
        p.Refusals(name="r"), p.Refusals(name="m", at_most=1), reach(), p.Time(name="t", at_most_s=99.0), of=nothing
    )
    assert [strict.held, mild.held, place.held, soon.held] == [False, True, False, False]
    assert strict.sample == 3 and "step 2 (joint)" in strict.words
    assert place.words == "it was not run: E-07 refused it"


def test_a_hand_that_no_program_moves_is_neither_open_nor_closed():
    closed = p.Reach(name="c", point_mm=(60.0, 0.0, 0.0), hand="closed")
    assert not judged(closed)[0].held
    assert judged(closed, of=run(hand_closed=np.arange(COUNT) > 40))[0].held


def test_two_robots_are_the_same_if_their_tools_are():
    poses = np.random.default_rng(1).uniform(-1.0, 1.0, size=(20, RIG.robot.dof))
    same = p.SameRobot(name="s", robot="lynx6", within_mm=1e-6)
    assert same_robot(same, ROBOT, ROBOT, poses).held
    other = Robot(load_robot("crs-a255"))
    found = same_robot(same, other, ROBOT, poses)
    assert not found.held and "The pose:" in found.words
