"""The lease, one rule after the other, on a clock that only the test turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec
import pytest

from hil.errors import ConfigError, InterlockError
from hil.service.lease import Lease
from hil.service.lease_facts import ArmFacts, Changed, Cut, Effect, EndBooking, Freeze, Hold, LetGo, Park, Party, Tell
from hil.service.lease_settings import LeaseSettings
from hil.service.rights import Role
from hil.service.wire import LeasePhase, NoticeKind
from hil.types import WRITING, Mode

E = TypeVar("E", bound=Effect)

PARKED = ArmFacts(mode=Mode.IDLE, parked=True)
ANN = Party(user="ann", name="Ann", role=Role.DRIVE, channel=1)
BOB = Party(user="bob", name="Bob", role=Role.DRIVE, channel=2)
NEAR = Party(user="nea", name="Nea", role=Role.DRIVE, channel=3, on_site=True)
TEACHER = Party(user="tom", name="Tom", role=Role.TEACH, channel=4)
KEEPER = Party(user="kim", name="Kim", role=Role.MAINTAIN, channel=5)
WATCHER = Party(user="wes", name="", role=Role.WATCH, channel=6)


def _lease(**settings: object) -> Lease:
    return Lease("lynx6", LeaseSettings(**settings), first_epoch=100)  # type: ignore[arg-type]


def _driven(party: Party = ANN, now_s: float = 0.0, **settings: object) -> Lease:
    lease = _lease(**settings)
    lease.claim(party, now_s, PARKED)
    lease.observe(PARKED, now_s)
    assert lease.is_driver(party.channel)
    return lease


def _hold_deadman(lease: Lease, party: Party, now_s: float) -> None:
    lease.beat(party, lease.epoch, False, now_s, now_s)
    lease.beat(party, lease.epoch, True, now_s, now_s)
    assert lease.held(now_s)


def _beats(lease: Lease, party: Party, begin_s: float, end_s: float) -> Iterator[Effect]:
    """Beats and looks, ten a second."""
    for k in range(round((end_s - begin_s) * 10.0) + 1):
        now_s = begin_s + 0.1 * k
        if lease.is_driver(party.channel):
            yield from lease.beat(party, lease.epoch, False, now_s, now_s)
        yield from lease.observe(PARKED, now_s)


def _only(effects: tuple[Effect, ...], kind: type[E]) -> list[E]:
    return [effect for effect in effects if isinstance(effect, kind)]


# -- claiming --------------------------------------------------------------------------------------------------------


def test_a_claim_of_a_parked_arm_gives_the_lease_with_a_new_epoch() -> None:
    lease = _driven()
    assert lease.phase is LeasePhase.HELD
    assert lease.epoch == 101
    assert lease.brief(0.0).holder == "Ann"


def test_a_watcher_cannot_claim() -> None:
    with pytest.raises(InterlockError, match="drive or teach or maintain"):
        _lease().claim(WATCHER, 0.0, PARKED)


def test_there_is_one_driver() -> None:
    lease = _driven()
    with pytest.raises(InterlockError, match="Ann drives it"):
        lease.claim(BOB, 0.1, PARKED)
    with pytest.raises(InterlockError, match="Ann drives it"):
        lease.claim(TEACHER, 0.1, PARKED)
    assert lease.is_driver(ANN.channel)


def test_the_queue_is_served_in_order_once_the_arm_is_parked() -> None:
    lease = _driven()
    lease.claim(BOB, 0.1, PARKED, wait=True)
    lease.claim(NEAR, 0.1, PARKED, wait=True)
    assert (lease.place(BOB.channel), lease.place(NEAR.channel)) == (1, 2)
    lease.release(ANN, lease.epoch, 0.2)
    away = ArmFacts(mode=Mode.HOLDING, parked=False)
    lease.observe(away, 0.3)
    assert lease.phase is LeasePhase.CLEARING
    for now_s in (0.4, 0.5, 0.6):
        lease.observe(PARKED, now_s)
    assert lease.is_driver(BOB.channel)
    assert lease.place(NEAR.channel) == 1


def test_a_user_has_one_place_in_the_queue_and_loses_it_with_the_channel() -> None:
    lease = _driven()
    lease.claim(BOB, 0.1, PARKED, wait=True)
    other = Party(user="bob", name="Bob", role=Role.DRIVE, channel=12)
    lease.claim(other, 0.1, PARKED, wait=True)
    assert (lease.place(BOB.channel), lease.place(12)) == (0, 1)
    lease.closed(12, 0.2)
    assert lease.brief(0.2).waiting == 0


def test_whoever_leaves_the_queue_does_not_get_the_arm_and_those_behind_move_up() -> None:
    lease = _driven()
    lease.claim(BOB, 0.1, PARKED, wait=True)
    lease.claim(NEAR, 0.1, PARKED, wait=True)
    assert lease.leave_queue(BOB, 0.2)
    assert (lease.place(BOB.channel), lease.place(NEAR.channel)) == (0, 1)
    assert lease.leave_queue(BOB, 0.2) == (), "leaving again changes nothing"
    assert lease.leave_queue(ANN, 0.2) == () and lease.is_driver(ANN.channel), "nor does it for who drives"
    lease.release(ANN, lease.epoch, 0.3)
    for now_s in (0.4, 0.5, 0.6):
        lease.observe(PARKED, now_s)
    assert lease.is_driver(NEAR.channel)


def test_whoever_no_longer_waits_for_an_arm_that_comes_up_does_not_get_it() -> None:
    lease, coming = _lease(), ArmFacts(mode=Mode.ENERGISING, parked=True, coming=True)
    lease.claim(ANN, 0.0, coming)
    assert lease.leave_queue(BOB, 0.1) == () and lease.phase is LeasePhase.CHANGING, "another cannot give it up"
    lease.leave_queue(ANN, 0.1)
    for now_s in (0.2, 0.3, 0.4):
        lease.observe(PARKED, now_s)
    assert lease.phase is LeasePhase.FREE


def test_nobody_jumps_the_queue() -> None:
    lease = _lease()
    lease.claim(BOB, 0.0, ArmFacts(mode=Mode.IDLE, parked=False), wait=True)
    with pytest.raises(InterlockError, match="others wait"):
        lease.claim(ANN, 0.1, PARKED)


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode not in (Mode.IDLE, Mode.HOLDING)])
def test_an_arm_in_trouble_goes_only_to_those_who_may_confirm_its_pose(mode: Mode) -> None:
    facts = ArmFacts(mode=mode, parked=True)
    for party in (ANN, NEAR):
        with pytest.raises(InterlockError, match=r"teacher or maintainer"):
            _lease().claim(party, 0.0, facts)
    for party in (TEACHER, KEEPER):
        lease = _lease()
        lease.claim(party, 0.0, facts)
        lease.observe(facts, 0.1)
        moving = mode in WRITING or mode is Mode.ARMED
        assert lease.phase is (LeasePhase.CHANGING if moving else LeasePhase.HELD)


def test_an_arm_that_is_coming_up_is_promised_and_handed_on_only_once_it_is_there() -> None:
    for party in (ANN, TEACHER):
        lease = _lease()
        for mode in (Mode.DISCONNECTED, Mode.CONNECTING, Mode.UNKNOWN_POSE, Mode.ENERGISING):
            coming = ArmFacts(mode=mode, parked=False, coming=True)
            # Held, it would be limp again.
            assert not _only(lease.claim(party, 0.0, coming), Hold)
            lease.observe(coming, 0.1)
            assert lease.phase is LeasePhase.CHANGING
        lease.observe(PARKED, 20.0)
        assert lease.is_driver(party.channel)


def test_an_arm_that_has_not_come_up_after_all_goes_to_nobody_but_who_may_see_to_it() -> None:
    limp = ArmFacts(mode=Mode.UNKNOWN_POSE, parked=False)
    for party in (ANN, TEACHER):
        lease = _lease()
        lease.claim(party, 0.0, ArmFacts(mode=Mode.CONNECTING, parked=False, coming=True))
        (*_, news) = lease.observe(limp, 1.0)
        assert lease.is_driver(party.channel) is (party is TEACHER)
        if party is ANN:
            assert isinstance(news, Changed)
            assert "has not got it: its mode is unknown_pose" in news.reason


def test_who_stands_beside_an_arm_that_was_left_may_have_it_to_park_it() -> None:
    away = ArmFacts(mode=Mode.HOLDING, parked=False)
    with pytest.raises(InterlockError, match="not parked"):
        _lease().claim(ANN, 0.0, away)
    lease = _lease()
    lease.claim(NEAR, 0.0, away)
    lease.observe(away, 0.05)
    assert lease.is_driver(NEAR.channel)
    assert lease.must_park
    lease.observe(PARKED, 0.1)
    assert not lease.must_park


def test_who_claims_right_after_a_release_gets_the_arm_once_the_loop_has_taken_the_hold() -> None:
    for after in (PARKED, ArmFacts(mode=Mode.HOLDING, parked=False)):
        lease = _driven()
        lease.release(ANN, lease.epoch, 0.1)
        unsettled = ArmFacts(mode=Mode.IDLE, parked=True, settled=False)
        lease.claim(BOB, 0.11, unsettled)
        lease.observe(unsettled, 0.15)
        assert lease.phase is LeasePhase.CHANGING
        lease.observe(after, 0.2)
        assert lease.is_driver(BOB.channel) is (after is PARKED)


def test_an_arm_that_is_not_cleared_up_is_not_lent() -> None:
    with pytest.raises(InterlockError, match="cleared up"):
        _lease().claim(ANN, 0.0, ArmFacts(mode=Mode.IDLE, parked=True, clean=False))


def test_a_booked_arm_goes_to_who_booked_it_until_the_booking_ends() -> None:
    booked = ArmFacts(mode=Mode.IDLE, parked=True, reserved_for="bob", until_s=500.0)
    lease = _lease()
    with pytest.raises(InterlockError, match="booked"):
        lease.claim(ANN, 0.0, booked)
    lease.claim(BOB, 0.0, booked)
    assert lease.slot_end_s == 500.0


def test_a_slot_ends_with_the_free_time_the_usual_length_or_the_token_whichever_is_first() -> None:
    for until_s, token_s, end_s in ((None, None, 1800.0), (300.0, None, 300.0), (300.0, 200.0, 200.0)):
        party = Party(user="ann", name="Ann", role=Role.DRIVE, channel=1, until_s=token_s)
        lease = _lease()
        lease.claim(party, 0.0, ArmFacts(mode=Mode.IDLE, parked=True, until_s=until_s))
        assert lease.slot_end_s == end_s


def test_the_end_of_a_token_is_announced_as_that_of_a_slot_then_holds() -> None:
    party = Party(user="ann", name="Ann", role=Role.DRIVE, channel=1, until_s=90.0)
    lease = _driven(party)
    effects = tuple(_beats(lease, party, 0.0, 91.0))
    told = [tell for tell in _only(effects, Tell) if tell.kind is NoticeKind.TOKEN_ENDS]
    assert [tell.left_s for tell in told[:2]] == pytest.approx([60.0, 10.0], abs=0.11)
    assert told[-1].text == "the token has ended"
    assert [hold.reason for hold in _only(effects, Hold)] == ["the token has ended"]
    assert not lease.is_driver(party.channel)


def test_a_new_token_of_the_same_person_counts_from_then_on() -> None:
    party = Party(user="ann", name="Ann", role=Role.DRIVE, channel=1, until_s=90.0)
    lease = _driven(party)
    lease.claim(Party(user="ann", name="Ann", role=Role.DRIVE, channel=7, until_s=5000.0), 1.0, PARKED)
    lease.observe(PARKED, 1.1)
    assert lease.slot_end_s == 1800.0


def test_whoever_takes_over_has_the_arm_no_longer_than_the_token() -> None:
    lease = _driven()
    teacher = Party(user="tom", name="Tom", role=Role.TEACH, channel=4, until_s=30.0)
    lease.take_over(teacher, "", 0.1, PARKED, keep_booking=False)
    effects = tuple(_beats(lease, teacher, 0.2, 31.0))
    assert any(tell.kind is NoticeKind.TOKEN_ENDS for tell in _only(effects, Tell))
    assert lease.driver is None


# -- heartbeat and dead-man ------------------------------------------------------------------------------------------


def test_silence_stops_once_then_suspends_and_a_late_beat_does_not_undo_it() -> None:
    lease = _driven()
    epoch = lease.epoch
    _hold_deadman(lease, ANN, 0.0)
    assert lease.observe(PARKED, 0.25) == ()
    stopped = lease.observe(PARKED, 0.26)
    assert len(_only(stopped, Hold)) == 1
    assert not lease.held(0.26)
    assert lease.observe(PARKED, 1.0) == ()
    suspended = lease.observe(PARKED, 2.0)
    assert _only(suspended, Hold)
    assert lease.phase is LeasePhase.SUSPENDED
    assert lease.epoch > epoch
    with pytest.raises(InterlockError, match="claim it first"):
        lease.beat(ANN, epoch, True, 2.1, 2.1)


def test_after_a_loss_the_dead_man_counts_only_once_it_was_let_go() -> None:
    lease = _driven()
    _hold_deadman(lease, ANN, 0.0)
    lease.observe(PARKED, 0.5)
    lease.beat(ANN, lease.epoch, True, 0.1, 0.6)
    lease.beat(ANN, lease.epoch, True, 0.6, 0.6)
    assert lease.alive(0.6)
    assert not lease.held(0.6)
    _hold_deadman(lease, ANN, 0.7)


def test_a_fresh_lease_does_not_take_a_dead_man_that_is_stuck() -> None:
    lease = _driven()
    lease.beat(ANN, lease.epoch, True, 0.1, 0.1)
    assert not lease.held(0.1)


def test_letting_go_stops() -> None:
    lease = _driven()
    _hold_deadman(lease, ANN, 0.0)
    effects = lease.beat(ANN, lease.epoch, False, 0.1, 0.1)
    assert _only(effects, LetGo)[0].reason == "the dead-man was released"


def test_a_dead_man_that_was_held_long_ago_is_not_held() -> None:
    lease = _driven()
    _hold_deadman(lease, ANN, 1.0)
    assert _only(lease.beat(ANN, lease.epoch, True, 0.4, 1.1), LetGo)
    assert not lease.held(1.1)


@pytest.mark.parametrize("party", [BOB, TEACHER])
def test_only_the_holder_renews(party: Party) -> None:
    lease = _driven()
    with pytest.raises(InterlockError):
        lease.beat(party, lease.epoch, True, 0.1, 0.1)
    with pytest.raises(InterlockError):
        lease.renew(party, lease.epoch, 5.0, 0.1, PARKED)
    with pytest.raises(InterlockError):
        lease.release(party, lease.epoch, 0.1)


def test_a_beat_from_before_the_present_epoch_does_not_count() -> None:
    lease = _driven()
    with pytest.raises(InterlockError, match="epoch 100 is over"):
        lease.beat(ANN, 100, True, 0.1, 0.1)


def test_a_clock_that_goes_back_does_not_make_a_lease_longer() -> None:
    lease = _driven(now_s=10.0)
    lease.observe(PARKED, 11.0)
    lease.beat(ANN, lease.epoch, False, 3.0, 3.0)
    assert _only(lease.observe(PARKED, 11.3), Hold)


def test_a_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(InterlockError, match="finite"):
        _driven().observe(PARKED, float("nan"))


# -- coming back -----------------------------------------------------------------------------------------------------


def test_a_cut_connection_stops_at_once_and_the_same_user_gets_the_lease_back_but_no_dead_man() -> None:
    lease = _driven()
    _hold_deadman(lease, ANN, 0.0)
    epoch = lease.epoch
    assert _only(lease.closed(ANN.channel, 0.1), Hold)
    assert lease.phase is LeasePhase.SUSPENDED
    with pytest.raises(InterlockError, match="Ann drives it"):
        lease.claim(BOB, 0.2, PARKED)
    again = Party(user="ann", name="Ann", role=Role.DRIVE, channel=21)
    lease.claim(again, 5.0, ArmFacts(mode=Mode.HOLDING, parked=False))
    lease.observe(ArmFacts(mode=Mode.HOLDING, parked=False), 5.1)
    assert lease.is_driver(21)
    assert lease.epoch > epoch
    assert not lease.held(5.1)


def test_a_second_connection_of_the_driver_takes_the_place_of_the_first() -> None:
    lease = _driven()
    again = Party(user="ann", name="Ann", role=Role.DRIVE, channel=21)
    effects = lease.claim(again, 0.1, PARKED)
    assert _only(effects, Hold)
    assert _only(effects, Cut)[0].channel == ANN.channel
    lease.observe(PARKED, 0.2)
    assert lease.is_driver(21)
    assert not lease.is_driver(ANN.channel)


def test_who_does_not_come_back_in_time_loses_the_lease() -> None:
    lease = _driven(grace_s=60.0)
    lease.closed(ANN.channel, 1.0)
    away = ArmFacts(mode=Mode.HOLDING, parked=False)
    lease.observe(away, 60.9)
    assert lease.phase is LeasePhase.SUSPENDED
    lease.observe(away, 61.0)
    assert lease.phase is LeasePhase.CLEARING


def test_who_drove_last_may_go_on_if_nobody_waits_and_others_may_not() -> None:
    away = ArmFacts(mode=Mode.HOLDING, parked=False)
    lease = _driven()
    lease.release(ANN, lease.epoch, 0.1)
    with pytest.raises(InterlockError, match="not parked"):
        lease.claim(BOB, 0.2, away)
    lease.claim(ANN, 0.3, away)
    lease.observe(away, 0.4)
    assert lease.is_driver(ANN.channel)


def test_who_drove_last_waits_behind_those_who_wait() -> None:
    lease = _driven()
    lease.claim(BOB, 0.1, PARKED, wait=True)
    lease.release(ANN, lease.epoch, 0.2)
    away = ArmFacts(mode=Mode.HOLDING, parked=False)
    with pytest.raises(InterlockError, match="not parked"):
        lease.claim(ANN, 0.3, away)
    lease.claim(ANN, 0.4, away, wait=True)
    assert (lease.place(BOB.channel), lease.place(ANN.channel)) == (1, 2)
    lease.observe(away, 0.5)
    assert lease.phase is LeasePhase.CLEARING


# -- the end of a slot -----------------------------------------------------------------------------------------------


def test_who_comes_back_is_warned_again() -> None:
    """On the channel that is gone nobody may have heard it."""
    lease = _driven(slot_s=90.0)
    tuple(_beats(lease, ANN, 0.0, 35.0))
    lease.closed(ANN.channel, 35.1)
    back = msgspec.structs.replace(ANN, channel=11)
    lease.claim(back, 36.0, PARKED)
    effects = tuple(_beats(lease, back, 36.1, 36.5))
    warned = [(tell.channel, tell.left_s) for tell in _only(effects, Tell) if tell.kind is NoticeKind.SLOT_ENDS]
    assert warned == [(11, pytest.approx(53.8, abs=0.2))]


def test_the_end_of_a_slot_is_announced_twice_then_holds() -> None:
    lease = _driven(slot_s=90.0)
    effects = tuple(_beats(lease, ANN, 0.0, 91.0))
    warned = [tell.left_s for tell in _only(effects, Tell) if tell.kind is NoticeKind.SLOT_ENDS]
    assert warned == pytest.approx([60.0, 10.0], abs=0.11)
    over = [tell for tell in _only(effects, Tell) if tell.kind is NoticeKind.SLOT_OVER]
    assert over[0].channel == ANN.channel
    assert [hold.reason for hold in _only(effects, Hold)] == ["the slot is over"]
    assert not lease.is_driver(ANN.channel)


def test_a_slot_is_made_longer_only_if_nobody_waits_and_nothing_is_booked() -> None:
    lease = _driven(slot_s=100.0)
    lease.renew(ANN, lease.epoch, 60.0, 50.0, PARKED)
    assert lease.slot_end_s == 150.0
    with pytest.raises(InterlockError, match="cannot be made longer"):
        lease.renew(ANN, lease.epoch, 1.0, 80.0, ArmFacts(mode=Mode.IDLE, parked=True, until_s=150.0))
    lease.claim(BOB, 80.0, PARKED, wait=True)
    with pytest.raises(InterlockError, match="1 wait"):
        lease.renew(ANN, lease.epoch, 1.0, 80.0, PARKED)


def test_more_time_begins_at_the_end_of_the_slot_and_of_a_booking_there_is_as_much_as_the_calendar_has() -> None:
    lease = _driven(slot_s=100.0)
    lease.renew(ANN, lease.epoch, 0.5, 50.0, PARKED)
    assert lease.slot_end_s == 130.0
    booked = ArmFacts(mode=Mode.IDLE, parked=True, reserved_for=ANN.user, until_s=900.0)
    lease.renew(ANN, lease.epoch, 10.0, 60.0, booked)
    assert lease.slot_end_s == 730.0


@pytest.mark.parametrize("allowed", [False, True])
def test_an_arm_that_was_left_is_parked_with_nobody_there_only_if_the_settings_say_so(allowed: bool) -> None:
    away = ArmFacts(mode=Mode.HOLDING, parked=False)
    lease = _driven(unattended_park=allowed)
    lease.release(ANN, lease.epoch, 0.1)
    effects = tuple(effect for k in range(20) for effect in lease.observe(away, 0.2 + 0.1 * k))
    assert len(_only(effects, Park)) == int(allowed)
    assert lease.phase is LeasePhase.CLEARING
    lease.observe(PARKED, 3.0)
    assert lease.phase is LeasePhase.FREE


@pytest.mark.parametrize("mode", [Mode.FAULT, Mode.UNKNOWN_POSE, Mode.ESTOP, Mode.DISCONNECTED, Mode.STOPPING])
def test_no_arm_in_trouble_is_parked_with_nobody_there(mode: Mode) -> None:
    lease = _driven(unattended_park=True)
    lease.release(ANN, lease.epoch, 0.1)
    assert not _only(lease.observe(ArmFacts(mode=mode, parked=False), 0.2), Park)


def test_an_arm_is_parked_with_nobody_there_only_once_it_has_taken_all_that_it_was_sent() -> None:
    lease = _driven(unattended_park=True)
    lease.release(ANN, lease.epoch, 0.1)
    assert not _only(lease.observe(ArmFacts(mode=Mode.IDLE, parked=False, settled=False), 0.2), Park)
    assert _only(lease.observe(ArmFacts(mode=Mode.IDLE, parked=False), 0.3), Park)


# -- taking over, freezing, stopping ---------------------------------------------------------------------------------


def test_a_take_over_holds_first_voids_the_epoch_cuts_the_channel_and_grants_once_the_arm_stands() -> None:
    lease = _driven()
    _hold_deadman(lease, ANN, 0.0)
    epoch = lease.epoch
    effects = lease.take_over(TEACHER, "time is up", 0.1, PARKED, keep_booking=False)
    assert isinstance(effects[0], Hold)
    assert _only(effects, Cut)[0].channel == ANN.channel
    assert _only(effects, EndBooking)[0].user == "ann"
    assert lease.epoch > epoch
    for facts in (
        ArmFacts(mode=Mode.IDLE, parked=True, settled=False),
        ArmFacts(mode=Mode.STOPPING, parked=False),
        ArmFacts(mode=Mode.ARMED, parked=False),
    ):
        lease.observe(facts, 0.2)
        assert not lease.is_driver(TEACHER.channel)
        assert not lease.is_driver(ANN.channel)
    lease.observe(ArmFacts(mode=Mode.HOLDING, parked=False), 0.9)
    assert lease.is_driver(TEACHER.channel)


def test_a_friendly_take_over_leaves_the_booking() -> None:
    assert not _only(_driven().take_over(TEACHER, "", 0.1, PARKED, keep_booking=True), EndBooking)


@pytest.mark.parametrize("party", [BOB, NEAR, KEEPER, WATCHER])
def test_only_a_teacher_takes_over(party: Party) -> None:
    lease = _driven()
    with pytest.raises(InterlockError, match="needs the role teach"):
        lease.take_over(party, "", 0.1, PARKED, keep_booking=False)
    assert lease.is_driver(ANN.channel)


def test_a_teacher_who_leaves_before_the_arm_stands_has_not_got_it() -> None:
    lease = _driven()
    lease.take_over(TEACHER, "", 0.1, PARKED, keep_booking=False)
    lease.closed(TEACHER.channel, 0.2)
    assert lease.phase is LeasePhase.CLEARING


def test_freezing_holds_and_thawing_moves_nothing() -> None:
    lease = _driven()
    epoch = lease.epoch
    assert _only(lease.freeze(TEACHER, "a hand", 0.1), Hold)
    assert lease.frozen == "Tom: a hand"
    assert lease.epoch > epoch
    with pytest.raises(InterlockError, match="needs the role"):
        lease.thaw(ANN, 0.2)
    assert not _only(lease.thaw(KEEPER, 0.3), Hold)
    assert not lease.frozen
    assert not lease.held(0.3)
    assert lease.is_driver(ANN.channel)


def test_the_drivers_own_stop_holds_and_anybody_elses_latches() -> None:
    lease = _driven()
    assert _only(lease.stop(ANN, "", 0.1), Hold)
    assert not lease.latched
    epoch = lease.epoch
    assert _only(lease.stop(WATCHER, "too near", 0.2), Hold)
    assert lease.latched == "stopped by someone: too near"
    assert lease.epoch > epoch
    with pytest.raises(InterlockError, match="latched"):
        _stopped_free().claim(BOB, 0.3, PARKED)
    lease.unlatch(TEACHER, 0.4)
    assert not lease.latched


def _stopped_free() -> Lease:
    lease = _lease()
    lease.stop(WATCHER, "", 0.0)
    return lease


def test_who_keeps_pressing_stop_stops_each_time_and_floods_nobody() -> None:
    lease = _driven()
    lease.stop(WATCHER, "", 0.1)
    for k in range(5):
        effects = lease.stop(WATCHER, "", 0.2 + 0.1 * k)
        assert len(effects) == 1
        assert isinstance(effects[0], Hold)


def test_an_emergency_stop_latches_whoever_presses_it() -> None:
    lease = _driven()
    effects = lease.emergency_stop(ANN, "smoke", 0.1)
    assert isinstance(effects[0], Freeze)
    assert lease.latched
    assert _only(effects, Changed)


# -- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"stop_after_s": 0.0},
        {"stop_after_s": float("nan")},
        {"stop_after_s": 5.0},
        {"suspend_after_s": 0.5, "stop_after_s": 0.5},
        {"grace_s": 1e9},
        {"slot_s": 0.0},
        {"warnings_s": (0.0,)},
    ],
)
def test_a_setting_outside_its_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        LeaseSettings(**wrong)  # type: ignore[arg-type]
