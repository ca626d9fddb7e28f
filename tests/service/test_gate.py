"""The gate: what lets a message through, one condition after the other, and that nothing else does."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from wire_samples import CLIENT, DIGEST

from hil.errors import CommandError, ConfigError
from hil.service import wire
from hil.service.gate import RATES, Allowance, Facts, Gate, GateSettings, GateVerdict, MotionFacts, outside_m
from hil.service.grants import Grant, WorkBox
from hil.service.lease import Lease
from hil.service.lease_facts import ArmFacts, Party
from hil.service.lease_settings import LeaseSettings
from hil.service.rights import Role
from hil.service.wire import Code
from hil.types import WRITING, AxisGoal, AxisJog, Mode

NOW_S, NOW_EPOCH_S = 1000.3, 1_790_000_000.0
BOX = WorkBox(lower_m=(0.0, -0.1, 0.0), upper_m=(0.3, 0.1, 0.2))
STEP = AxisJog(amounts=(0.1, 0.0, 0.0, 0.0, 0.0, 0.0))


def _grant(role: Role = Role.DRIVE, **changes: Any) -> Grant:
    grant = Grant(
        token_id="0123456789abcdef",
        user="ann",
        arms=("lynx6",),
        role=role,
        speed_share=0.8,
        box=None,
        issued_s=1_789_999_000,
        not_before_s=1_789_999_000,
        expires_s=1_790_001_000,
    )
    return msgspec.structs.replace(grant, **changes)


def _facts(**changes: Any) -> Facts:
    facts = Facts(now_s=NOW_S, now_epoch_s=NOW_EPOCH_S, mode=Mode.IDLE, picture_s=NOW_S - 0.1)
    return msgspec.structs.replace(facts, **changes)


class Desk:
    """A lease in somebody's hands, the dead-man held, and the gate before it."""

    def __init__(self, role: Role = Role.DRIVE, *, on_site: bool = False, **gate_settings: Any) -> None:
        self.party = Party(user="ann", name="Ann", role=role, channel=1, on_site=on_site)
        self.lease = Lease("lynx6", LeaseSettings(), first_epoch=41)
        self.gate = Gate(self.lease, GateSettings(**gate_settings))
        parked = ArmFacts(mode=Mode.IDLE, parked=True)
        if role is not Role.WATCH:
            self.lease.claim(self.party, NOW_S - 0.2, parked)
            self.lease.observe(parked, NOW_S - 0.2)
            self.lease.beat(self.party, self.lease.epoch, False, NOW_S - 0.15, NOW_S - 0.15)
            self.lease.beat(self.party, self.lease.epoch, True, NOW_S - 0.1, NOW_S - 0.1)
        self.grant = _grant(role)
        self.seq = 0

    def ask(self, kind: type[wire.Command], **fields: Any) -> wire.ClientMessage:
        self.seq += 1
        given = {"seq": self.seq, "arm": "lynx6", "epoch": self.lease.epoch, "issued_s": NOW_S - 0.05} | fields
        message: wire.ClientMessage = kind(**given)  # type: ignore[assignment]
        return message

    def judge(self, message: wire.ClientMessage, grant: Grant | None = None, **facts: Any) -> GateVerdict:
        return self.gate.judge(message, self.party, grant or self.grant, _facts(**facts))

    def step(self, grant: Grant | None = None, **facts: Any) -> GateVerdict:
        return self.judge(self.ask(wire.JogStep, move=STEP), grant, **facts)


# -- through ---------------------------------------------------------------------------------------------------------


def test_the_driver_of_a_sound_arm_gets_through() -> None:
    desk = Desk()
    motion = MotionFacts(user="ann", peak_share=0.5)
    for message in (
        desk.ask(wire.ArmJog, speed_share=0.5),
        desk.ask(wire.JogStep, move=STEP),
        desk.ask(wire.JogHold, move=STEP),
        desk.ask(wire.JogRelease),
        desk.ask(wire.ArmMotion, digest=DIGEST),
        desk.ask(wire.Start, digest=DIGEST),
        desk.ask(wire.Go, to="home", speed_share=0.5),
        desk.ask(wire.Gripper, opening_m=0.02, speed_share=0.5),
    ):
        verdict = desk.judge(message, motion=motion)
        assert verdict.allowed, verdict.reason


# -- stopping --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [wire.Stop(), wire.EmergencyStop(), wire.SupplyCut()])
@pytest.mark.parametrize("role", Role)
def test_a_stop_passes_whatever_is_wrong(stop: wire.AnyStop, role: Role) -> None:
    desk = Desk(role)
    desk.lease.freeze(Party(user="t", name="", role=Role.TEACH, channel=9), "", NOW_S)
    old = _grant(role, expires_s=1_789_999_500, arms=("other",))
    for mode in Mode:
        for _ in range(50):
            assert desk.judge(stop, old, revoked=True, mode=mode).allowed


def test_letting_go_needs_no_valid_token_no_number_and_no_haste() -> None:
    desk = Desk()
    late = desk.ask(wire.JogRelease, issued_s=NOW_S - 9.0, seq=0)
    ended = _grant(expires_s=1_789_999_500)
    assert desk.judge(late, ended, revoked=True).allowed
    assert desk.judge(wire.Release(arm="lynx6", epoch=desk.lease.epoch), ended).allowed


# -- who -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grant", "facts", "code"),
    [
        (_grant(expires_s=int(NOW_EPOCH_S)), {}, Code.TOKEN),
        (_grant(not_before_s=int(NOW_EPOCH_S) + 1), {}, Code.TOKEN),
        (_grant(), {"revoked": True}, Code.TOKEN),
        (_grant(), {"now_epoch_s": 0.0}, Code.TOKEN),
        (_grant(arms=("rv2aj",)), {}, Code.ARM),
        (_grant(Role.WATCH), {}, Code.ROLE),
    ],
)
def test_a_token_is_looked_at_with_every_message(grant: Grant, facts: dict[str, Any], code: Code) -> None:
    desk = Desk()
    assert desk.step().allowed
    assert desk.step(grant, **facts).code is code
    beat = wire.Beat(seq=99, arm="lynx6", epoch=desk.lease.epoch, held=True, issued_s=NOW_S)
    assert desk.judge(beat, grant, **facts).code is code


@pytest.mark.parametrize("changes", [{"arm": "rv2aj"}, {"epoch": 41}, {"epoch": 43}])
def test_another_arm_or_another_epoch_is_refused(changes: dict[str, Any]) -> None:
    desk = Desk()
    assert desk.lease.epoch == 42
    verdict = desk.judge(desk.ask(wire.JogStep, move=STEP, **changes))
    assert verdict.code is (Code.ARM if "arm" in changes else Code.EPOCH)
    assert verdict.speed_share == 0.0


@pytest.mark.parametrize("kind", [wire.JogRelease, wire.Release])
@pytest.mark.parametrize("changes", [{"arm": "rv2aj"}, {"epoch": 41}, {"epoch": 43}])
def test_nor_does_one_end_what_is_not_its_own(kind: type[wire.ClientMessage], changes: dict[str, Any]) -> None:
    """A release that was late on its way must not end the motion of whoever has the arm by then."""
    desk = Desk()
    own = {"seq": 1, "issued_s": NOW_S} if kind is wire.JogRelease else {}
    verdict = desk.judge(kind(**{"arm": "lynx6", "epoch": 42, **own, **changes}))  # type: ignore[operator]
    assert verdict.code is (Code.ARM if "arm" in changes else Code.EPOCH)
    assert desk.judge(kind(**{"arm": "lynx6", "epoch": 42, **own})).allowed  # type: ignore[operator]


def test_the_same_number_never_passes_twice() -> None:
    desk = Desk()
    step = desk.ask(wire.JogStep, move=STEP)
    assert desk.judge(step).allowed
    assert desk.judge(step).code is Code.REPLAY
    assert desk.judge(desk.ask(wire.JogStep, move=STEP, seq=0)).code is Code.REPLAY


@pytest.mark.parametrize(
    ("grant", "facts", "code"),
    [
        (_grant(), {"mode": Mode.FAULT}, Code.MODE),
        (_grant(Role.WATCH), {}, Code.ROLE),
        (_grant(), {"revoked": True}, Code.TOKEN),
        (_grant(arms=("rv2aj",)), {}, Code.ARM),
    ],
)
def test_a_number_that_was_refused_is_used_up_as_well(grant: Grant, facts: dict[str, Any], code: Code) -> None:
    desk = Desk()
    step = desk.ask(wire.JogStep, move=STEP)
    assert desk.judge(step, grant, **facts).code is code
    assert desk.judge(step).code is Code.REPLAY


def test_a_number_that_came_in_a_flood_is_used_up_as_well() -> None:
    desk = Desk()
    passed = [desk.judge(wire.Watch(seq=seq, rate_hz=1.0)).code for seq in range(1, 1001)]
    assert passed[-1] is Code.RATE
    desk.seq = 999
    assert desk.step(now_s=NOW_S + 0.1).code is Code.REPLAY
    assert desk.step(now_s=NOW_S + 0.1).allowed


@pytest.mark.parametrize("kind", [wire.Stop, wire.EmergencyStop, wire.SupplyCut])
def test_a_stop_s_number_is_used_up_and_one_without_a_number_uses_none(kind: type[wire.Stop]) -> None:
    desk = Desk()
    assert desk.judge(kind()).allowed
    assert desk.step().allowed
    assert desk.judge(kind(seq=5)).allowed
    assert [desk.step().code for _ in range(5)] == [*[Code.REPLAY] * 4, None]


def test_who_does_not_drive_moves_nothing() -> None:
    desk = Desk()
    other = Party(user="ann", name="Ann", role=Role.DRIVE, channel=2)
    message = desk.ask(wire.JogStep, move=STEP)
    assert desk.gate.judge(message, other, desk.grant, _facts()).code is Code.LEASE


# -- whether ---------------------------------------------------------------------------------------------------------


def test_a_frozen_a_latched_and_a_left_arm_do_not_move() -> None:
    teacher = Party(user="tom", name="Tom", role=Role.TEACH, channel=9)
    desk = Desk()
    desk.lease.freeze(teacher, "", NOW_S)
    assert desk.step().code is Code.FROZEN
    desk.lease.thaw(teacher, NOW_S)
    desk.lease.stop(teacher, "", NOW_S)
    verdict = desk.step()
    assert verdict.code is Code.LATCHED
    assert "Tom" in verdict.reason
    desk.lease.unlatch(teacher, NOW_S)
    desk.lease.must_park = True
    assert desk.step().code is Code.MODE
    desk.lease.beat(desk.party, desk.lease.epoch, False, NOW_S, NOW_S)
    desk.lease.beat(desk.party, desk.lease.epoch, True, NOW_S, NOW_S)
    assert desk.judge(desk.ask(wire.Go, to="park", speed_share=0.2)).allowed
    assert desk.judge(desk.ask(wire.Go, to="home", speed_share=0.2)).code is Code.MODE


@pytest.mark.parametrize("kind", [wire.JogStep, wire.JogHold])
def test_a_step_needs_a_heartbeat_and_a_hold_the_dead_man_too(kind: type[wire.Command]) -> None:
    desk = Desk()
    desk.lease.beat(desk.party, desk.lease.epoch, False, NOW_S, NOW_S)
    assert desk.judge(desk.ask(kind, move=STEP)).code is (Code.DEADMAN if kind is wire.JogHold else None)
    late_s = NOW_S + 0.26
    message = desk.ask(kind, move=STEP, issued_s=late_s)
    assert desk.judge(message, now_s=late_s).code is Code.DEADMAN


def test_a_target_is_judged_as_a_hold_by_dead_man_age_stop_budget_and_box() -> None:
    desk, target = Desk(), AxisGoal(positions=(0.1,) * 6)
    assert desk.judge(desk.ask(wire.FollowTarget, target=target)).allowed
    slow = desk.judge(desk.ask(wire.FollowTarget, target=target), budget_share=0.2)
    assert slow.allowed and slow.speed_share == 0.2
    assert desk.judge(desk.ask(wire.FollowTarget, target=target, issued_s=NOW_S - 0.6)).code is Code.TOO_OLD
    boxed = _grant(box=WorkBox(lower_m=(0.0, 0.0, 0.0), upper_m=(0.1, 0.1, 0.1)))
    inside, outside = (0.05, 0.05, 0.05), (0.05, 0.05, 0.2)
    for goal_m, code in ((inside, None), (outside, Code.BOX), (None, Code.BOX)):
        message = desk.ask(wire.FollowTarget, target=target)
        assert desk.judge(message, boxed, tool_m=inside, goal_m=goal_m).code is code
    desk.lease.beat(desk.party, desk.lease.epoch, False, NOW_S, NOW_S)
    assert desk.judge(desk.ask(wire.FollowTarget, target=target)).code is Code.DEADMAN


@pytest.mark.parametrize("mode", [Mode.UNKNOWN_POSE, Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED, Mode.CONNECTING])
def test_an_arm_in_trouble_does_not_move_and_the_refusal_says_who_can_help(mode: Mode) -> None:
    verdict = Desk().step(mode=mode)
    assert verdict.code is Code.MODE
    assert verdict.missing


@pytest.mark.parametrize(("kind", "most_s"), [(wire.JogHold, 0.5), (wire.JogStep, 1.0)])
@given(age_s=st.floats(-5.0, 5.0))
def test_what_is_old_is_refused_and_what_ages_gets_slower(
    kind: type[wire.Command], most_s: float, age_s: float
) -> None:
    desk = Desk()
    verdict = desk.judge(desk.ask(kind, move=STEP, issued_s=NOW_S - age_s))
    if NOW_S - (NOW_S - age_s) > most_s:
        assert verdict.code is Code.TOO_OLD
    else:
        assert verdict.allowed
        assert verdict.speed_share <= 0.8
        assert age_s > 0.15 or verdict.speed_share == 0.8
        assert age_s < 0.25 or verdict.speed_share < 0.8


@given(
    token=st.floats(0.01, 1.0), picture_age_s=st.floats(0.0, 1.9), stop=st.floats(0.05, 1.0), asked=st.floats(0.01, 1.0)
)
def test_speed_is_the_least_of_token_picture_stop_budget_and_wish(
    token: float, picture_age_s: float, stop: float, asked: float
) -> None:
    desk = Desk()
    message = desk.ask(wire.ArmJog, speed_share=asked, picture_s=NOW_S)
    verdict = desk.judge(message, _grant(speed_share=token), picture_s=NOW_S - picture_age_s, budget_share=stop)
    assert verdict.allowed
    assert 0.0 < verdict.speed_share <= min(token, stop, asked)
    if picture_age_s <= 0.5:
        assert verdict.speed_share == min(token, stop, asked)


def test_a_step_at_more_than_the_speed_allowed_now_is_refused() -> None:
    verdict = Desk().step(armed_share=0.5, budget_share=0.3)
    assert verdict.code is Code.SPEED
    assert "50 %" in verdict.reason
    assert "30 %" in verdict.reason
    assert Desk().step(armed_share=0.3, budget_share=0.3).allowed


def test_a_step_is_not_refused_because_the_stop_budget_changed_a_little_since_its_arming() -> None:
    assert Desk().step(armed_share=0.37, budget_share=0.3).allowed
    assert Desk().step(armed_share=0.38, budget_share=0.3).code is Code.SPEED


# -- pictures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seen_s", "newest_s", "allowed"),
    [(0.1, 0.1, True), (2.5, 0.1, False), (0.1, 2.5, False), (-5.0, 2.5, False), (1.9, 0.0, True)],
)
def test_a_picture_is_as_old_as_the_one_seen_or_the_newest_there_is(
    seen_s: float, newest_s: float, allowed: bool
) -> None:
    desk = Desk()
    message = desk.ask(wire.JogStep, move=STEP, picture_s=NOW_S - seen_s)
    verdict = desk.judge(message, picture_s=NOW_S - newest_s)
    assert verdict.allowed == allowed
    assert allowed or verdict.code is Code.PICTURE


def test_driving_without_a_picture_is_a_matter_of_the_settings_and_of_being_there() -> None:
    assert Desk().step().allowed
    assert Desk(picture_needed=True).step().code is Code.PICTURE
    assert Desk(picture_needed=True).step(picture_s=None).code is Code.PICTURE
    assert Desk(picture_needed=True, on_site=True).step().allowed


# -- faults and poses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [wire.Reset, wire.Confirm])
@pytest.mark.parametrize("mode", [Mode.FAULT, Mode.ESTOP])
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("on_site", [False, True])
@pytest.mark.parametrize("picture_age_s", [None, 0.5, 1.5])
def test_trouble_is_cleared_by_teach_or_maintain_who_see_the_arm(
    kind: type[wire.Command], mode: Mode, role: Role, on_site: bool, picture_age_s: float | None
) -> None:
    desk = Desk(role, on_site=on_site)
    picture_s = None if picture_age_s is None else NOW_S - picture_age_s
    verdict = desk.judge(desk.ask(kind, picture_s=picture_s), mode=mode, picture_s=NOW_S)
    sees = on_site or picture_age_s == 0.5
    assert verdict.allowed == (role in (Role.TEACH, Role.MAINTAIN) and sees), verdict


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("on_site", [False, True])
def test_that_the_servo_supply_is_on_says_only_who_is_beside_the_arm(role: Role, on_site: bool) -> None:
    desk = Desk(role, on_site=on_site)
    confirm = desk.ask(wire.Confirm, supply_on=True, picture_s=NOW_S - 0.5)
    verdict = desk.judge(confirm, mode=Mode.UNKNOWN_POSE, picture_s=NOW_S)
    assert verdict.allowed == (role in (Role.TEACH, Role.MAINTAIN) and on_site), verdict
    if role is Role.TEACH and not on_site:
        assert "somebody beside the arm" in verdict.reason and verdict.missing == ("on site",)


def test_a_latched_stop_is_reset_by_a_teacher_or_by_a_driver_beside_the_arm() -> None:
    for role, on_site, allowed in (
        (Role.DRIVE, False, False),
        (Role.DRIVE, True, True),
        (Role.WATCH, True, False),
        (Role.TEACH, False, True),
        (Role.MAINTAIN, False, True),
    ):
        desk = Desk(role, on_site=on_site)
        verdict = desk.judge(desk.ask(wire.Reset), mode=Mode.HOLDING)
        assert verdict.allowed == allowed, (role, on_site)


def test_a_fault_is_reset_by_somebody_who_does_not_drive_but_a_pose_confirmed_only_by_who_does() -> None:
    desk = Desk()
    teacher = Party(user="tom", name="Tom", role=Role.TEACH, channel=9, on_site=True)
    grant = _grant(Role.TEACH)
    reset = desk.ask(wire.Reset)
    assert desk.gate.judge(reset, teacher, grant, _facts(mode=Mode.FAULT)).allowed
    confirm = desk.ask(wire.Confirm)
    assert desk.gate.judge(confirm, teacher, grant, _facts(mode=Mode.UNKNOWN_POSE)).code is Code.LEASE


# -- letting go ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("on_site", [False, True])
@pytest.mark.parametrize("mode", Mode)
def test_an_axis_is_let_go_of_only_by_who_may_confirm_poses_and_stands_beside_an_arm_at_rest(
    role: Role, on_site: bool, mode: Mode
) -> None:
    desk = Desk(role, on_site=on_site)
    verdict = desk.judge(desk.ask(wire.GoLimp, axis="shoulder", picture_s=NOW_S), mode=mode, picture_s=NOW_S)
    rests = mode is not Mode.ARMED and mode not in WRITING
    assert verdict.allowed == (role in (Role.TEACH, Role.MAINTAIN) and on_site and rests), verdict
    if role is Role.TEACH and not on_site:
        assert (verdict.code, verdict.missing) == (Code.ROLE, ("on site",))


def test_letting_go_of_an_axis_needs_lease_beats_haste_and_an_arm_that_is_not_frozen_but_no_dead_man() -> None:
    def code(change: str = "", **fields: Any) -> Code | None:
        desk = Desk(Role.TEACH, on_site=True)
        other = Party(user="tom", name="Tom", role=Role.TEACH, channel=9, on_site=True)
        now_s = NOW_S
        if change == "let go":
            desk.lease.beat(desk.party, desk.lease.epoch, False, NOW_S - 0.05, NOW_S - 0.05)
        elif change == "frozen":
            desk.lease.freeze(other, "", NOW_S)
        elif change == "latched":
            desk.lease.stop(other, "wait", NOW_S)
        elif change == "silent":
            now_s = NOW_S + 1.0
            fields["issued_s"] = now_s
        message = desk.ask(wire.GoLimp, axis="shoulder", **fields)
        if change == "other":
            return desk.gate.judge(message, other, _grant(Role.TEACH), _facts()).code
        return desk.judge(message, now_s=now_s).code

    assert code() is None
    assert code("let go") is None
    assert code("latched") is None
    assert code("frozen") is Code.FROZEN
    assert code("silent") is Code.DEADMAN
    assert code("other") is Code.LEASE
    assert code(epoch=1) is Code.EPOCH
    assert code(arm="rv2aj") is Code.ARM
    assert code(issued_s=NOW_S - 2.0) is Code.TOO_OLD


# -- motions and boxes -----------------------------------------------------------------------------------------------


def test_a_motion_runs_only_for_whom_it_was_previewed_and_at_the_speed_of_the_token() -> None:
    for motion, code in (
        (None, Code.PREVIEW),
        (MotionFacts(user="bob", peak_share=0.1), Code.PREVIEW),
        (MotionFacts(user="ann", peak_share=0.81), Code.SPEED),
        (MotionFacts(user="ann", peak_share=float("nan")), Code.SPEED),
        (MotionFacts(user="ann", peak_share=0.8), None),
    ):
        for kind in (wire.ArmMotion, wire.Start):
            desk = Desk()
            assert desk.judge(desk.ask(kind, digest=DIGEST), motion=motion).code is code


def test_with_a_box_in_the_token_the_tool_stays_inside_or_comes_nearer() -> None:
    inside, outside, further = (0.1, 0.0, 0.1), (0.4, 0.0, 0.1), (0.5, 0.0, 0.1)
    for here, goal, allowed in (
        (inside, inside, True),
        (inside, outside, False),
        (inside, None, False),
        (None, inside, True),
        (None, outside, False),
        (outside, inside, True),
        (further, outside, True),
        (outside, further, False),
        (inside, (float("nan"), 0.0, 0.1), False),
    ):
        verdict = Desk().step(_grant(box=BOX), tool_m=here, goal_m=goal)
        assert verdict.allowed == allowed, (here, goal)
        assert allowed or verdict.code is Code.BOX


def test_with_a_box_in_the_token_a_motion_has_to_be_previewed_against_that_box() -> None:
    other = WorkBox(lower_m=(0.0, 0.0, 0.0), upper_m=(9.0, 9.0, 9.0))
    for box, asked, code in ((None, None, None), (BOX, BOX, None), (other, BOX, Code.BOX), (None, BOX, Code.BOX)):
        motion = MotionFacts(user="ann", peak_share=0.1, box=box)
        desk, grant = Desk(), _grant(box=asked)
        assert desk.gate.judge_planned(motion, grant, 0.5).code is code
        assert desk.judge(desk.ask(wire.Start, digest=DIGEST), grant, motion=motion).code is code


@given(st.tuples(st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0)))
def test_the_distance_from_a_box_is_that_to_its_nearest_point(point: tuple[float, float, float]) -> None:
    nearest = [min(max(value, low), high) for low, value, high in zip(BOX.lower_m, point, BOX.upper_m, strict=True)]
    expected = sum((a - b) ** 2 for a, b in zip(nearest, point, strict=True)) ** 0.5
    assert outside_m(BOX, point) == pytest.approx(expected)


# -- floods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", [Role.WATCH, Role.DRIVE])
def test_a_flood_is_cut_down_and_a_stop_still_gets_through(role: Role) -> None:
    desk = Desk(role)
    passed = 0
    for seq in range(1, 1001):
        verdict = desk.judge(wire.Watch(seq=seq, rate_hz=1.0), now_s=NOW_S + 0.001 * seq)
        passed += verdict.allowed
        assert verdict.allowed or verdict.code is Code.RATE
    rate_hz, burst = RATES[role]
    assert burst <= passed <= burst + rate_hz + 1
    assert desk.judge(wire.Stop()).allowed


@given(st.lists(st.floats(-1.0, 3.0), min_size=1, max_size=60))
def test_an_allowance_is_never_more_than_its_rate_and_burst(steps_s: list[float]) -> None:
    allowance = Allowance(2.0, 5.0)
    now_s = latest_s = 0.0
    taken = 0
    for step_s in steps_s:
        now_s += step_s
        latest_s = max(latest_s, now_s)
        taken += allowance.take(now_s)
    assert taken <= 5.0 + 2.0 * (latest_s - min(0.0, *[steps_s[0]])) + 1e-6


def test_what_a_gone_channel_used_is_forgotten() -> None:
    desk = Desk()
    assert desk.step().allowed
    desk.gate.forget(desk.party.channel)
    desk.seq = 0
    assert desk.step().allowed


# -- everything at once ----------------------------------------------------------------------------------------------

_moving = [message for message in CLIENT if isinstance(message, wire.Command) and not isinstance(message, wire.Reset)]


@settings(max_examples=500)
@given(data=st.data())
def test_no_message_with_anything_wrong_about_it_is_allowed_to_move(data: st.DataObject) -> None:
    """Forged, expired, cut, replayed, wrong role, wrong arm: one thing is wrong, all else is as it should be."""
    desk = Desk(Role.TEACH, on_site=True)
    sample = data.draw(st.sampled_from(_moving))
    assume(not isinstance(sample, wire.JogRelease))
    good = msgspec.structs.replace(sample, seq=7, epoch=desk.lease.epoch, issued_s=NOW_S, picture_s=NOW_S)
    motion = MotionFacts(user="ann", peak_share=0.1)
    facts: dict[str, Any] = {"motion": motion, "picture_s": NOW_S}
    assert Desk(Role.TEACH, on_site=True).judge(good, **facts).allowed  # type: ignore[arg-type]
    text = wire.encode(good).decode()
    wrong = data.draw(
        st.sampled_from(["cut", "bytes", "epoch", "arm", "seq", "age", "role", "time", "channel", "user"])
    )
    party, grant, message = desk.party, desk.grant, good
    if wrong in ("cut", "bytes"):
        at = data.draw(st.integers(1, len(text) - 1))
        spoiled = text[:at] if wrong == "cut" else text[:at] + data.draw(st.text(min_size=1, max_size=3)) + text[at:]
        try:
            message = wire.decode_client(spoiled)  # type: ignore[assignment]
        except CommandError:
            return
        assume(json.loads(spoiled) != json.loads(text))
        # What can still be read is a message of its own: it is judged like any other.
        desk.lease.stop(Party(user="w", name="", role=Role.WATCH, channel=9), "", NOW_S)
    elif wrong == "epoch":
        other = data.draw(st.integers(0, 2**53).filter(lambda epoch: epoch != desk.lease.epoch))
        message = msgspec.structs.replace(good, epoch=other)
    elif wrong == "arm":
        message = msgspec.structs.replace(good, arm="rv2aj")
    elif wrong == "seq":
        desk.judge(wire.Watch(seq=data.draw(st.integers(7, 2**53)), rate_hz=1.0))
    elif wrong == "age":
        message = msgspec.structs.replace(good, issued_s=NOW_S - data.draw(st.floats(1.01, 1e11)))
    elif wrong == "role":
        grant = _grant(Role.WATCH)
    elif wrong == "time":
        facts["now_epoch_s"] = data.draw(st.one_of(st.floats(0.0, 1.7899e9), st.floats(1.7901e9, 1e11)))
    elif wrong == "channel":
        party = msgspec.structs.replace(party, channel=2)
    else:
        facts["revoked"] = True
    verdict = desk.gate.judge(message, party, grant, _facts(**facts))  # type: ignore[arg-type]
    assert not verdict.allowed, wrong
    assert verdict.speed_share == 0.0
    assert verdict.reason.isprintable()


@pytest.mark.parametrize(
    "wrong",
    [
        {"hold_age_s": 5.0},
        {"step_age_s": float("nan")},
        {"picture_last_s": 0.3},
        {"care_picture_s": 2.0},
        {"picture_full_s": 0.0},
    ],
)
def test_a_setting_outside_its_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        GateSettings(**wrong)
