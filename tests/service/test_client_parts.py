"""What a client's channel is made of, without a lab and without a clock."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from wire_samples import SERVER

from hil.errors import LinkClosed
from hil.service import wire
from hil.service.arm_news import ArmNews
from hil.service.client_dead_man import ClientDeadMan
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.lab_request import RefusedByLabError
from hil.service.lease_wish import LeaseWish
from hil.service.open_requests import OpenRequests
from hil.service.wire import LeasePhase, NoticeKind
from hil.types import Mode


def beat(epoch: int, *, held: bool, seq: int = 2) -> wire.Beat:
    return wire.Beat(seq=seq, arm="arm-1", epoch=epoch, held=held, issued_s=1.0)


def lease(
    epoch: int = 1, phase: LeasePhase = LeasePhase.FREE, *, yours: bool = False, place: int = 0, reason: str = ""
) -> wire.LeaseNews:
    brief = wire.LeaseBrief(phase=phase, epoch=epoch)
    return wire.LeaseNews(now_s=1.0, lease=brief, yours=yours, place=place, reason=reason)


def telemetry(mode: Mode, now_s: float) -> wire.Telemetry:
    sample = next(each for each in SERVER if isinstance(each, wire.Telemetry))
    return msgspec.structs.replace(sample, mode=mode, now_s=now_s)


# -- the dead-man ----------------------------------------------------------------------------------------


def freed(epoch: int) -> ClientDeadMan:
    dead_man = ClientDeadMan()
    dead_man.beaten(beat(epoch, held=False))
    return dead_man


def test_a_hold_counts_until_its_time_and_no_longer() -> None:
    dead_man = freed(3)
    dead_man.hold(10.2, NO_SIGN)
    assert dead_man.held(3, 10.19)
    assert not dead_man.held(3, 10.2)


def test_a_shorter_hold_takes_nothing_from_a_longer_one() -> None:
    dead_man = freed(3)
    dead_man.hold(10.2, NO_SIGN)
    dead_man.hold(10.1, NO_SIGN)
    assert dead_man.held(3, 10.15)


def test_what_is_held_counts_only_after_a_free_beat_under_the_same_epoch() -> None:
    dead_man = ClientDeadMan()
    dead_man.hold(10.0, NO_SIGN)
    assert not dead_man.held(4, 9.0)
    dead_man.beaten(beat(3, held=False))
    assert not dead_man.held(4, 9.0)
    dead_man.beaten(beat(4, held=False))
    assert dead_man.held(4, 9.0)


def test_a_free_beat_that_was_on_its_way_while_the_lease_changed_frees_nothing() -> None:
    dead_man, sent = ClientDeadMan(), beat(3, held=False)
    dead_man.beating(sent, 1.0)
    dead_man.drop()
    dead_man.beaten(sent)
    dead_man.hold(10.0, NO_SIGN)
    assert not dead_man.held(4, 9.0)


def test_a_hold_that_the_lab_has_ended_counts_again_only_after_it_was_let_go_of() -> None:
    dead_man = freed(3)
    dead_man.hold(10.0, NO_SIGN)
    dead_man.noticed(NoticeKind.PRESS_AGAIN, "nothing has changed for 10 s")
    dead_man.beaten(beat(3, held=False))
    dead_man.hold(10.0, NO_SIGN)
    assert not dead_man.held(3, 9.0)
    assert str(dead_man.not_held()) == "nothing has changed for 10 s"
    dead_man.let_go()
    dead_man.beaten(beat(3, held=False))
    dead_man.hold(10.0, NO_SIGN)
    assert dead_man.held(3, 9.0)


def answered(dead_man: ClientDeadMan, seq: int, *, held: bool, counts: bool) -> None:
    """A beat is sent and seen."""
    sent = beat(3, held=held, seq=seq)
    dead_man.beating(sent, 5.0)
    dead_man.beaten(sent)
    dead_man.seen(wire.BeatSeen(to=seq, now_s=99.0, held=counts), 5.1)


@pytest.mark.parametrize("kind", [kind for kind in NoticeKind if kind is not NoticeKind.PRESS_AGAIN])
def test_a_notice_that_may_be_about_an_earlier_hold_ends_none(kind: NoticeKind) -> None:
    dead_man = freed(3)
    dead_man.hold(10.0, NO_SIGN)
    dead_man.noticed(kind, "words")
    assert dead_man.held(3, 9.0)


def test_a_beat_of_the_present_hold_that_does_not_count_ends_it_until_a_free_one_was_sent() -> None:
    dead_man = freed(3)
    dead_man.hold(10.0, NO_SIGN)
    answered(dead_man, 7, held=True, counts=True)
    assert dead_man.counts
    answered(dead_man, 8, held=True, counts=False)
    assert not dead_man.counts
    assert not dead_man.held(3, 9.0)
    dead_man.hold(10.0, NO_SIGN)
    assert not dead_man.held(3, 9.0)
    dead_man.beaten(beat(3, held=False, seq=9))
    assert dead_man.held(3, 9.0)


@pytest.mark.parametrize("counts", [True, False])
def test_an_answer_to_a_beat_of_the_hold_before_says_nothing_of_the_present_one(counts: bool) -> None:
    dead_man, late = freed(3), beat(3, held=True, seq=7)
    dead_man.beating(late, 5.0)
    dead_man.let_go()
    dead_man.beaten(beat(3, held=False, seq=8))
    dead_man.hold(10.0, NO_SIGN)
    dead_man.seen(wire.BeatSeen(to=7, now_s=99.0, held=counts), 5.1)
    assert dead_man.held(3, 9.0)
    assert not dead_man.counts


def test_an_answer_that_comes_after_the_hand_has_let_go_makes_nothing_count() -> None:
    dead_man, late = freed(3), beat(3, held=True, seq=7)
    dead_man.beating(late, 5.0)
    dead_man.let_go()
    dead_man.seen(wire.BeatSeen(to=7, now_s=99.0, held=True), 5.1)
    assert not dead_man.counts


def test_the_lab_knows_that_nothing_is_held_once_it_has_seen_a_free_beat() -> None:
    dead_man = ClientDeadMan()
    answered(dead_man, 7, held=True, counts=True)
    assert (dead_man.told_held, dead_man.known_free) == (7, -1)
    answered(dead_man, 8, held=False, counts=False)
    assert (dead_man.told_held, dead_man.known_free) == (7, 8)
    dead_man.lost()
    assert (dead_man.told_held, dead_man.known_free) == (-1, -1)


def test_a_beat_that_was_refused_is_known_once_and_nothing_else_is() -> None:
    dead_man = freed(3)
    dead_man.beating(beat(3, held=True, seq=7), 5.0)
    assert [dead_man.refused(to) for to in (6, 7, 7)] == [False, True, False]


def test_the_trip_is_from_a_beat_to_its_answer() -> None:
    dead_man = freed(3)
    dead_man.beating(beat(3, held=True, seq=7), 5.0)
    dead_man.seen(wire.BeatSeen(to=7, now_s=99.0, held=True), 5.125)
    assert dead_man.trip_s == 0.125
    dead_man.seen(wire.BeatSeen(to=7, now_s=99.0, held=True), 6.0)
    assert dead_man.trip_s == 0.125
    assert "125 ms" in str(dead_man.not_held())


def test_signs_are_told_by_the_server_s_clock() -> None:
    dead_man = ClientDeadMan()
    dead_man.hold(10.0, Sign(changed_s=2.0))
    assert dead_man.signs(100.0) == {"changed_s": 102.0}


def test_with_the_line_all_that_is_held_is_gone() -> None:
    dead_man = freed(3)
    dead_man.hold(10.0, NO_SIGN)
    answered(dead_man, 7, held=True, counts=True)
    dead_man.lost()
    assert not dead_man.counts
    dead_man.beaten(beat(3, held=False))
    assert not dead_man.held(3, 9.0)


# -- what was asked for ----------------------------------------------------------------------------------


def test_every_line_numbers_from_the_hello_on() -> None:
    requests = OpenRequests()
    assert [requests.number(), requests.number()] == [2, 3]
    requests.restart()
    assert requests.number() == 2


def test_an_answer_goes_to_whoever_waits_for_its_number() -> None:
    async def story() -> None:
        requests = OpenRequests()
        yes, no, other = requests.expect(2), requests.expect(3), requests.expect(4)
        assert requests.answered(wire.Accepted(to=2, now_s=1.0, text="done")) == ""
        assert requests.answered(wire.Refused(to=3, now_s=1.0, code=wire.Code.MODE, reason="not now")) == ""
        assert (await yes).text == "done"
        with pytest.raises(RefusedByLabError, match="not now"):
            await no
        assert not other.done()

    asyncio.run(story())


def test_a_refusal_that_nobody_waits_for_is_said_and_an_acceptance_is_not() -> None:
    async def story() -> None:
        requests = OpenRequests()
        requests.expect(2)
        requests.forget(2)
        assert requests.answered(wire.Refused(to=2, now_s=1.0, code=wire.Code.MODE, reason="no")) == "refused: no"
        assert requests.answered(wire.Accepted(to=3, now_s=1.0)) == ""

    asyncio.run(story())


def test_a_lost_line_fails_all_that_wait() -> None:
    async def story() -> None:
        requests = OpenRequests()
        waiting = [requests.expect(seq) for seq in (2, 3)]
        requests.lost("gone", "http://lab")
        for answer in waiting:
            with pytest.raises(LinkClosed, match="the connection was lost: gone"):
                await answer

    asyncio.run(story())


# -- what was said ---------------------------------------------------------------------------------------


def test_an_old_frame_does_not_undo_what_a_newer_word_said() -> None:
    news = ArmNews()
    news.take(telemetry(Mode.ARMED, 10.0), 1.0)
    news.take(wire.Notice(now_s=10.2, kind=NoticeKind.LOOP, text="armed -> holding: stopped"), 1.1)
    news.take(telemetry(Mode.ARMED, 10.1), 1.2)
    assert news.mode is Mode.HOLDING
    news.take(telemetry(Mode.IDLE, 10.3), 1.3)
    assert news.mode is Mode.IDLE


def test_only_the_loop_s_own_words_change_the_mode() -> None:
    news = ArmNews()
    news.take(telemetry(Mode.ARMED, 10.0), 1.0)
    news.take(wire.Notice(now_s=10.2, kind=NoticeKind.PARKING, text="armed -> holding: stopped"), 1.1)
    assert news.mode is Mode.ARMED


def test_the_server_s_clock_goes_on_from_its_newest_message() -> None:
    news = ArmNews()
    news.take(telemetry(Mode.IDLE, 100.0), 3.0)
    assert news.server_s(3.5) == 100.5


def test_that_the_lease_is_gone_is_said_with_its_reason() -> None:
    news = ArmNews()
    news.take(lease(1, LeasePhase.HELD, yours=True), 1.0)
    assert news.since(0) == []
    news.take(lease(2, LeasePhase.HELD, reason="Tess took over"), 1.1)
    assert news.since(0) == ["the lease is no longer yours: Tess took over"]
    assert news.epoch == 2


def test_without_a_line_there_is_no_lease_and_no_mode() -> None:
    news = ArmNews()
    news.take(telemetry(Mode.IDLE, 100.0), 1.0)
    news.take(lease(2, LeasePhase.HELD, yours=True), 1.0)
    news.lost("connection lost: gone")
    assert (news.lease, news.mode, news.epoch) == (None, Mode.DISCONNECTED, 0)
    # A server that was started anew begins its clock anew.
    news.take(telemetry(Mode.IDLE, 5.0), 2.0)
    assert news.mode is Mode.IDLE


# -- the wish for the lease ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("news", "why"),
    [
        (None, ""),
        (lease(phase=LeasePhase.HELD, yours=True), ""),
        (lease(phase=LeasePhase.HELD, place=2), ""),
        (lease(phase=LeasePhase.CHANGING), ""),
        (lease(phase=LeasePhase.HELD, reason="it is booked"), "it is booked"),
        (lease(phase=LeasePhase.CLEARING), "the lease is clearing"),
    ],
)
def test_a_lease_is_declined_where_it_is_neither_ours_nor_on_its_way(news: wire.LeaseNews | None, why: str) -> None:
    assert LeaseWish().declined(news) == why


def test_news_of_before_the_loss_decline_nothing_that_is_asked_for_again() -> None:
    wish, gone = LeaseWish(), lease(phase=LeasePhase.FREE)
    wish.ask_again(3)
    assert wish.declined(gone) == ""
    wish.answered(2)
    assert wish.declined(gone) == ""
    wish.answered(3)
    assert wish.declined(gone) == "the lease is free"


def test_who_drives_waits_in_no_queue_after_a_loss() -> None:
    wish = LeaseWish()
    wish.want(wait=True)
    assert (wish.wanted, wish.waits) == (True, True)
    wish.got()
    assert (wish.wanted, wish.waits) == (True, False)
    wish.drop()
    assert not wish.wanted
