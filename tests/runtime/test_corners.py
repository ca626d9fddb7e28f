"""Every choice of the fakes, alone and in pairs: nothing unsafe happens, and whoever is not let in reads what to do."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from corners import (
    BEFORE,
    DRIVEN,
    EPOCH_S,
    LIMP,
    RESTART,
    STALE,
    BoardStand,
    Cr1Stand,
    Verdict,
    broken,
    campaign,
    cannot,
    factors,
    helps,
    pairs,
    possible,
    singles,
    text_of,
    walk,
)

from hil.motion.planner import plan_joint_move
from hil.runtime.preview import preview
from hil.types import Arm, ArmJog, Confirm, Load, Mode
from hil.units import DEG

# How far the corners came. They are the same each time; a driver that lets fewer in changes these numbers.
LET_IN = {"ssc32": {"all": 74, "refused": 37, "restarted": 8}, "cr1": {"all": 76, "refused": 37, "restarted": 6}}


@pytest.mark.parametrize("controller", LET_IN)
def test_no_corner_is_unsafe_and_each_refusal_says_what_to_do(controller: str) -> None:
    tally: Counter[str] = Counter()
    found = []
    for corner, verdict in campaign(controller):
        tally[verdict.reached] += 1
        found += [f"{text_of(corner)}: {words}" for words in broken(corner, verdict)]
    assert not found, "\n".join(found)
    for reached, least in LET_IN[controller].items():
        if reached != "refused":
            assert tally[reached] >= least, tally


@pytest.mark.parametrize("controller", LET_IN)
def test_each_pair_of_values_is_in_some_corner(controller: str) -> None:
    every = factors(controller)
    seen = {
        ((a, repr(i)), (b, repr(j)))
        for corner in pairs(every, possible)
        for (a, i), (b, j) in itertools.combinations(corner.items(), 2)
    }
    for a, b in itertools.combinations(every, 2):
        for i, j in itertools.product(every[a], every[b]):
            assert ((a, repr(i)), (b, repr(j))) in seen or not possible({a: i, b: j}), (a, i, b, j)


def test_the_corners_are_the_same_each_time() -> None:
    every = factors("ssc32")
    assert list(pairs(every, possible)) == list(pairs(every, possible))


# -- the judges see what they are there for ----------------------------------------------------------------------


def usual(controller: str, **changes: object) -> dict[str, object]:
    return {**next(singles(factors(controller))), **changes}


def test_the_judge_sees_a_line_that_another_program_has_left_and_esc_does_not_drop() -> None:
    verdict = walk(corner := usual("ssc32", **{BEFORE: STALE, "escape_drops": False}))
    assert any("got 500 us before a pose was confirmed" in words for words in verdict.unsafe)
    assert cannot(corner) and not broken(corner, verdict)
    assert not walk(usual("ssc32", **{BEFORE: STALE})).unsafe


def test_the_judge_sees_servos_that_somebody_else_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    restart = BoardStand.restart

    def slam(stand: BoardStand) -> None:
        restart(stand)
        stand.board.machine.eeprom.write(0, 8, 0.0)

    monkeypatch.setattr(BoardStand, "restart", slam)
    verdict = walk(usual("ssc32", **{RESTART: True}))
    assert any("went at" in words for words in verdict.unsafe)


@pytest.mark.parametrize(
    ("leave", "words"),
    [
        (lambda cr1: setattr(cr1.conversation.session, "opened", True), "the line is left open"),
        (lambda cr1: cr1.machine.keep_program("HILX", "10 END"), "programs ['1', 'HILX'] are left"),
    ],
)
def test_the_judge_sees_what_is_left_on_a_controller(monkeypatch: pytest.MonkeyPatch, leave, words: str) -> None:
    positions = Cr1Stand.positions

    def meddling(stand: Cr1Stand, now_s: float) -> tuple[float, ...]:
        if stand.bridge.finished:
            stand.cr1.advance(now_s + 2.0)
            leave(stand.cr1)
        return positions(stand, now_s)

    monkeypatch.setattr(Cr1Stand, "positions", meddling)
    assert words in walk(usual("cr1")).unsafe


def test_words_without_a_remedy_do_not_pass() -> None:
    assert not helps("memory: something went wrong")
    assert not helps("memory: register R0 is 8: at power-up the board drives every servo")
    silent = Verdict(reached="refused", said="nothing was said")
    assert broken(usual("cr1"), silent) == ["these words do not say what to do: nothing was said"]


# -- what was found in them, and is to stay mended ---------------------------------------------------------------

OFFSETS = {"0": 4, "32": 50, "33": -100}


@pytest.mark.parametrize("before", [LIMP, DRIVEN])
@pytest.mark.parametrize("told", [True, False])
def test_a_board_with_stored_offsets_moves_nothing_by_itself_whether_it_tells_them_or_not(
    before: str, told: bool
) -> None:
    verdict = walk(usual("ssc32", **{BEFORE: before, "registers": OFFSETS, "shows_offset": told}))
    assert (verdict.reached, verdict.unsafe) == ("all", [])


@pytest.mark.parametrize("decimals", [1, 3])
@pytest.mark.parametrize("rig", ["rv2aj", "rv2aj-line"])
def test_a_controller_that_writes_other_decimals_is_read(rig: str, decimals: int) -> None:
    assert walk(usual("cr1", rig=rig, decimals=decimals)) == Verdict(reached="all")


@pytest.mark.parametrize("rig", ["rv2aj", "rv2aj-hot", "rv2aj-line"])
def test_a_controller_that_takes_a_tenth_of_a_second_to_answer_is_driven(rig: str) -> None:
    assert walk(usual("cr1", rig=rig, answer_s=0.1)) == Verdict(reached="all")


@pytest.mark.parametrize("answer_s", [0.002, 0.01, 0.1])
@pytest.mark.parametrize("rig", ["rv2aj-hot", "rv2aj-line"])
def test_our_program_is_ended_before_the_farewell_where_hurried_requests_are_refused(rig: str, answer_s: float) -> None:
    verdict = walk(usual("cr1", rig=rig, distance_s=0.1, answer_s=answer_s))
    assert (verdict.reached, verdict.unsafe) == ("all", [])


def test_a_name_that_is_taken_late_by_a_slow_controller_is_waited_for() -> None:
    corner = usual("cr1", answer_s=0.3, clients=["TOOLBOX"], others_answered=False)
    assert walk(corner) == Verdict(reached="all")


def test_no_motion_begins_with_an_arm_that_its_controller_measures_elsewhere() -> None:
    verdict = walk(corner := usual("cr1", first_position="zero"))
    assert verdict.reached == "energised" and not verdict.unsafe
    assert "preview again" in verdict.said or "the controller measures" in verdict.said
    assert not broken(corner, verdict)


def test_a_motion_from_where_a_controller_said_at_first_that_the_arm_stood_is_refused() -> None:
    stand = Cr1Stand(usual("cr1", first_position="zero"))
    stand.until(lambda: stand.mode is Mode.UNKNOWN_POSE, 15.0)
    stand.run(0.5)
    nowhere = (0.0,) * len(stand.rig.axes)
    stand.until(lambda: stand.mode is Mode.IDLE, 8.0, Confirm(positions=nowhere, by="the test"))
    motion = plan_joint_move(stand.rig, nowhere, (4 * DEG, 0.0, 0.0, 0.0, 0.0))
    certificate = preview(stand.rig, motion, now_epoch_s=EPOCH_S).certificate
    assert certificate is not None
    stand.run(2.0)
    stand.tick(Load(motion=motion.to_bytes(), certificate=certificate.to_bytes()), Arm(digest=motion.digest))
    assert stand.mode is Mode.IDLE
    assert any("J2: the controller measures -20.00 deg, and the arm was taken to be at 0.00" in e for e in stand.events)
    stand.tick(ArmJog(speed_share=1.0))
    assert stand.mode is Mode.IDLE
    assert not stand.trace
