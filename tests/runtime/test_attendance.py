"""From when on an owner's silence counts, and how much of it is allowed."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import Session, certified, load, lynx6, swing

from hil.runtime.attendance import FIRST_ANSWER_S, Attendance
from hil.types import Arm, ArmJog, AxisJog, JogHold, Mode, Request, Start, Stop


class Owner:
    """An owner that gave its last sign of life at a time."""

    def __init__(self, beat_s: float = 0.0) -> None:
        self.beat_s, self.hand = beat_s, False
        self.attendance = Attendance(lynx6(), lambda now_s: now_s - self.beat_s, lambda: self.hand)


def test_before_the_first_tick_no_silence_counts() -> None:
    assert Owner().attendance.silent_s(1e6) == 0.0


@given(st.floats(0.02, FIRST_ANSWER_S))
def test_an_owner_that_has_not_answered_the_first_tick_is_only_starting(after_s: float) -> None:
    owner = Owner(beat_s=3.0)
    owner.attendance.begin(10.0)
    assert owner.attendance.silent_s(10.0 + after_s) == 0.0


def test_an_owner_that_never_answers_is_not_waited_for_longer_than_a_minute() -> None:
    owner = Owner(beat_s=3.0)
    owner.attendance.begin(10.0)
    assert owner.attendance.silent_s(10.0 + 60.1) == pytest.approx(67.1)
    assert FIRST_ANSWER_S == 60.0


@given(st.floats(0.001, 50.0), st.floats(0.0, 100.0))
def test_from_its_first_answer_on_every_silence_counts_whole(answer_s: float, silence_s: float) -> None:
    owner = Owner(beat_s=3.0)
    owner.attendance.begin(10.0)
    owner.beat_s = 10.0 + answer_s
    owner.attendance.silent_s(owner.beat_s)
    assert owner.attendance.silent_s(owner.beat_s + silence_s) == pytest.approx(silence_s)


def test_only_the_first_tick_begins_it() -> None:
    owner = Owner(beat_s=3.0)
    owner.attendance.begin(10.0)
    owner.beat_s = 11.0
    assert owner.attendance.silent_s(12.0) == 1.0
    owner.attendance.begin(12.0)
    assert owner.attendance.silent_s(12.5) == 1.5


def test_a_hand_on_a_key_has_its_quarter_of_a_second_and_a_certified_motion_what_the_rig_says() -> None:
    owner = Owner()
    assert owner.attendance.allowed_s == lynx6().owner_silent_s == 1.0
    owner.hand = True
    assert owner.attendance.allowed_s == 0.25
    patient = msgspec.structs.replace(lynx6(), owner_silent_s=4.0)
    assert Attendance(patient, lambda now_s: math.inf, lambda: False).allowed_s == 4.0
    assert Attendance(patient, lambda now_s: math.inf, lambda: True).allowed_s == 0.25


def _held(session: Session) -> Request:
    amounts = tuple(0.1 if i == 0 else 0.0 for i in range(len(session.rig.axes)))
    return JogHold(seq=1, move=AxisJog(amounts=amounts), issued_s=session.clock.now_s())


def test_the_bridge_knows_whether_a_hand_has_the_arm() -> None:
    """Armed for jogging and jogging: yes. At rest, with a certified motion, and once a stop has begun: no."""
    session, motion = Session().to(Mode.IDLE), swing()
    assert not session.bridge.by_hand
    session.tick(ArmJog(speed_share=0.5))
    assert session.bridge.by_hand
    session.tick(_held(session))
    assert session.mode is Mode.STREAMING
    assert session.bridge.by_hand
    session.tick(Stop(reason="enough"))
    session.until(Mode.HOLDING)
    assert not session.bridge.by_hand
    session = Session().to(Mode.IDLE)
    session.tick(load(motion, certified(session.rig, motion)), Arm(digest=motion.digest))
    assert session.mode is Mode.ARMED
    assert not session.bridge.by_hand
    session.tick(Start(digest=motion.digest))
    assert session.mode is Mode.STREAMING
    assert not session.bridge.by_hand
