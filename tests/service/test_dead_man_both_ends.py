"""A client's dead-man and the lab's, with a line between them that takes its time: what the hand does counts."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from hil.service import wire
from hil.service.client_dead_man import ClientDeadMan
from hil.service.dead_man import DeadMan
from hil.service.hold_watch import Sign
from hil.service.lease_facts import Effect, LetGo, Tell
from hil.service.lease_settings import LeaseSettings

BEAT_S, HOLD_EVERY_S, HELD_S = 0.1, 0.05, 0.2
ONE_WAY_S = st.floats(0.0, 0.2)


class BothEnds:
    """The client sends a beat as its channel does: in time, and at once when a hand comes or goes."""

    def __init__(self, out_s: float, back_s: float) -> None:
        self.client, self.lab = ClientDeadMan(), DeadMan(LeaseSettings())
        self.hand = False
        self.let_go_s: list[float] = []
        self._out_s, self._back_s = out_s, back_s
        self._now_s = 0.0
        self._numbers = itertools.count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    def at(self, at_s: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._due, (at_s, next(self._numbers), do))

    def run(self, until_s: float) -> None:
        self.at(self._now_s, self._beat_in_time)
        self.at(self._now_s, self._hold_in_time)
        while self._due[0][0] <= until_s:
            self._now_s, _, do = heapq.heappop(self._due)
            do()

    def press(self) -> None:
        self.hand = True
        self._hold()

    def let_go(self) -> None:
        self.hand = False
        self.client.let_go()
        self._beat()

    def _hold(self) -> None:
        before = self.client.wanted(self._now_s)
        self.client.hold(self._now_s + HELD_S, Sign(changed_s=self._now_s))
        if not before:
            self._beat()

    def _hold_in_time(self) -> None:
        if self.hand:
            self._hold()
        self.at(self._now_s + HOLD_EVERY_S, self._hold_in_time)

    def _beat_in_time(self) -> None:
        self._beat()
        self.at(self._now_s + BEAT_S, self._beat_in_time)

    def _beat(self) -> None:
        held = self.client.held(1, self._now_s)
        beat = wire.Beat(seq=next(self._numbers), arm="arm-1", epoch=1, held=held, issued_s=self._now_s)
        self.client.beating(beat, self._now_s)
        self.client.beaten(beat)
        self.at(self._now_s + self._out_s, lambda: self._heard(beat))
        if not held and self.client.held(1, self._now_s):
            self._beat()

    def _heard(self, beat: wire.Beat) -> None:
        self._tell(self.lab.beat(1, beat.held, beat.issued_s, self._now_s, Sign(changed_s=self._now_s)))
        seen = wire.BeatSeen(to=beat.seq, now_s=self._now_s, held=self.lab.held)
        self.at(self._now_s + self._back_s, lambda: self.client.seen(seen, self._now_s))

    def _tell(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            if isinstance(effect, LetGo):
                self.let_go_s.append(self._now_s)
            elif isinstance(effect, Tell):
                self.at(self._now_s + self._back_s, partial(self.client.noticed, effect.kind, effect.text))


@given(ONE_WAY_S, ONE_WAY_S, st.lists(st.floats(0.001, 0.6), min_size=1, max_size=11))
def test_a_hold_counts_until_the_hand_lets_go_however_soon_it_follows_another(
    out_s: float, back_s: float, pauses_s: list[float]
) -> None:
    ends = BothEnds(out_s, back_s)
    presses_s, releases_s, at_s = [], [], 1.0
    for number, pause_s in enumerate(pauses_s):
        if number % 2:
            ends.at(at_s, ends.let_go)
            releases_s.append(at_s)
        else:
            ends.at(at_s, ends.press)
            presses_s.append(at_s)
        at_s += pause_s
    ends.run(at_s + 3.0)
    assert ends.let_go_s == [released_s + out_s for released_s in releases_s]
    assert ends.lab.held is (len(presses_s) > len(releases_s))
    assert ends.client.counts is ends.lab.held
