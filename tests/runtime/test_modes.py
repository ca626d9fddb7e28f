"""The transition table, every pair of it."""

import itertools

import pytest

from hil.runtime.modes import TRANSITIONS, Event, follow
from hil.types import WRITING, Mode

MOVING = [Mode.ENERGISING, Mode.STREAMING, Mode.STOPPING]


@pytest.mark.parametrize(("mode", "event"), list(itertools.product(Mode, Event)))
def test_an_unlisted_pair_changes_nothing(mode: Mode, event: Event) -> None:
    if (mode, event) not in TRANSITIONS:
        assert follow(mode, event) is mode


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.DISCONNECTED])
def test_a_software_stop_latches_from_anywhere(mode: Mode) -> None:
    assert follow(mode, Event.ESTOP) is Mode.ESTOP
    leaving = {event for event in Event if follow(Mode.ESTOP, event) is not Mode.ESTOP}
    assert leaving == {Event.RESET, Event.RECONNECT, Event.DISCONNECT}


def test_only_a_start_from_armed_leads_to_streaming() -> None:
    assert [pair for pair, after in TRANSITIONS.items() if after is Mode.STREAMING] == [(Mode.ARMED, Event.START)]


def test_only_a_confirmed_pose_leads_to_the_first_move() -> None:
    into = [pair for pair, after in TRANSITIONS.items() if after is Mode.ENERGISING]
    assert into == [(Mode.UNKNOWN_POSE, Event.CONFIRMED)]


@pytest.mark.parametrize("event", [Event.RESET, Event.RECONNECT])
@pytest.mark.parametrize("mode", [Mode.FAULT, Mode.ESTOP])
def test_a_reset_never_leads_to_a_mode_that_may_move(mode: Mode, event: Event) -> None:
    assert follow(mode, event) in (Mode.UNKNOWN_POSE, Mode.CONNECTING)


@pytest.mark.parametrize("mode", MOVING)
def test_a_moving_arm_is_stopped_before_the_line_is_let_go(mode: Mode) -> None:
    assert follow(mode, Event.DISCONNECT) is mode


@pytest.mark.parametrize("mode", list(Mode))
def test_once_those_who_answer_for_it_are_dead_nothing_that_moves_is_sent_any_more(mode: Mode) -> None:
    after = follow(mode, Event.ABANDONED)
    assert after not in WRITING | {Mode.ARMED}
    known = {Mode.ENERGISING: Mode.UNKNOWN_POSE, **dict.fromkeys([Mode.ARMED, *MOVING[1:]], Mode.HOLDING)}
    assert after is known.get(mode, mode)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_stop_never_leads_to_more_motion(mode: Mode) -> None:
    after = follow(mode, Event.STOP)
    assert after is mode or after in (Mode.UNKNOWN_POSE, Mode.HOLDING, Mode.STOPPING)


def test_holding_moves_again_only_by_a_new_arming() -> None:
    onward = {event: follow(Mode.HOLDING, event) for event in Event if follow(Mode.HOLDING, event) is not Mode.HOLDING}
    assert {event for event, after in onward.items() if after in WRITING} == set()
    assert onward[Event.ARM] is Mode.ARMED


WAYS = """
disconnected   connect connecting, disconnect disconnected
connecting     ready unknown_pose, disconnect disconnected
unknown_pose   confirmed energising, disconnect disconnected
energising     energised idle, stop unknown_pose, abandoned unknown_pose
idle           arm armed, let_go unknown_pose, disconnect disconnected
armed          start streaming, lapse idle, stop holding, abandoned holding, disconnect disconnected
streaming      done idle, stop stopping, abandoned holding
stopping       stopped holding, abandoned holding
holding        arm armed, let_go unknown_pose, disconnect disconnected
fault          reset unknown_pose, reconnect connecting, disconnect disconnected
estop          reset unknown_pose, reconnect connecting, disconnect disconnected
"""
"""Every way from every mode, said once more; faults and software stops are told apart below."""


@pytest.mark.parametrize("row", WAYS.split("\n")[1:-1])
def test_each_mode_has_these_ways_out_and_no_others(row: str) -> None:
    mode, _, ways = row.partition(" ")
    known = {Event(way.split()[0]): Mode(way.split()[1]) for way in ways.split(",")}
    if mode != "disconnected":
        known |= {Event.ESTOP: Mode.ESTOP}
    if mode not in ("disconnected", "estop"):
        known |= {Event.FAULT: Mode.FAULT}
    assert {event: after for event in Event if (after := TRANSITIONS.get((Mode(mode), event)))} == known


def test_every_mode_is_in_that_list() -> None:
    assert {row.split()[0] for row in WAYS.split("\n")[1:-1]} == {mode.value for mode in Mode}
