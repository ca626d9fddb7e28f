"""Coming up: until when the wiring vouches for the fake that it has placed, and when nobody but a person may."""

from __future__ import annotations

import pytest

from hil.service.coming_up import AGAIN_S, MOST_TRIES, ComingUp
from hil.types import Mode

UP = (Mode.CONNECTING, Mode.UNKNOWN_POSE, Mode.ENERGISING, Mode.IDLE)


def followed(*modes: Mode, placed: bool = True) -> ComingUp:
    coming = ComingUp(placed)
    for mode in modes:
        coming.begun(mode)
    return coming


def test_a_placed_fake_is_under_way_from_the_first_moment_until_it_is_idle_and_confirmed_once_meanwhile() -> None:
    coming = ComingUp(placed=True)
    seen = [coming.under_way]
    confirmed = 0
    for now_s, mode in enumerate(UP):
        coming.begun(mode)
        confirmed += coming.due(float(now_s))
        seen.append(coming.under_way)
    assert seen == [True, True, True, True, False]
    assert confirmed == 1


def test_a_hold_that_breaks_it_off_is_followed_by_another_confirmation_however_often() -> None:
    coming = followed(Mode.CONNECTING)
    now_s = 0.0
    for _ in range(3 * MOST_TRIES):
        coming.begun(Mode.UNKNOWN_POSE)
        assert coming.under_way
        assert coming.due(now_s)
        assert not coming.due(now_s + AGAIN_S / 2.0)
        coming.begun(Mode.ENERGISING)
        now_s += AGAIN_S


def test_confirmations_that_lead_nowhere_end_and_somebody_has_to_look() -> None:
    coming = followed(Mode.CONNECTING, Mode.UNKNOWN_POSE)
    tried = [coming.due(AGAIN_S * look) for look in range(2 * MOST_TRIES)]
    assert sum(tried) == MOST_TRIES
    assert not coming.under_way


@pytest.mark.parametrize("trouble", [Mode.FAULT, Mode.ESTOP, Mode.HOLDING])
def test_for_a_fake_that_was_driven_or_had_trouble_nobody_vouches_but_a_person(trouble: Mode) -> None:
    coming = followed(*UP[:3], trouble, Mode.UNKNOWN_POSE)
    assert not coming.due(100.0)
    assert not coming.under_way


def test_for_a_real_arm_nobody_vouches_but_a_person() -> None:
    coming = followed(placed=False)
    assert coming.under_way
    coming.begun(Mode.CONNECTING)
    assert coming.under_way
    coming.begun(Mode.UNKNOWN_POSE)
    assert not coming.under_way
    assert not coming.due(100.0)


def test_a_worker_that_is_gone_is_not_waited_for_and_the_next_one_has_a_fake_of_its_own() -> None:
    coming = followed(*UP)
    coming.lost()
    assert not coming.under_way
    coming.begun(Mode.CONNECTING)
    coming.begun(Mode.UNKNOWN_POSE)
    assert coming.under_way
    assert coming.due(0.0)
