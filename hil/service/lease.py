"""Who drives an arm: one lease, with a heartbeat, a dead-man, a slot's end, a queue and a way to take it over.

A state machine without a clock: every call takes the time, and gives back what the server has to do, in order.
Every change of who may drive begins with a new epoch, so that nothing asked for before counts any more.
"""

from __future__ import annotations

import math

from hil.errors import InterlockError
from hil.service.dead_man import DeadMan
from hil.service.driving_time import DrivingTime, earliest
from hil.service.hold_watch import NO_SIGN, Sign
from hil.service.keepsake import Holder, Keepsake
from hil.service.lease_facts import (
    NOBODY,
    READY,
    ArmFacts,
    Changed,
    Cut,
    Effects,
    EndBooking,
    Freeze,
    Hold,
    Park,
    Party,
    Tell,
)
from hil.service.lease_queue import LeaseQueue
from hil.service.lease_settings import LeaseSettings
from hil.service.rights import Action, may, who_may
from hil.service.wire import LeaseBrief, LeasePhase, NoticeKind

EPOCHS_UNWRITTEN = 1000
"""An epoch is written down in the same moment; a server that is killed just then has lost a few of them at most."""


class Lease:
    """The lease of one arm.

    Args:
        arm: its id, for words.
        settings: the lab's choices.
        first_epoch: above every epoch that was ever used for this arm, that of a server before this one included.

    A server that goes on where another one ended says so with `take_up`, before anything else.
    """

    def __init__(self, arm: str, settings: LeaseSettings, first_epoch: int) -> None:
        self.arm, self.settings = arm, settings
        self.phase = LeasePhase.FREE
        self.epoch = first_epoch
        self.driver: Party | None = None
        self.must_park = False
        self.frozen = ""
        self.latched = ""
        self._now_s = -math.inf
        self._dead_man = DeadMan(settings)
        self._time = DrivingTime(settings.warnings_s)
        self._queue = LeaseQueue()
        self._since_s = self._suspended_s = 0.0
        self._last_user = ""
        self._park_asked = False
        self._newcomer = False

    # -- what is so ------------------------------------------------------------------------------------------

    def is_driver(self, channel: int) -> bool:
        """Whether this channel may drive, as far as the lease goes."""
        return self.phase is LeasePhase.HELD and self.driver is not None and self.driver.channel == channel

    def alive(self, now_s: float) -> bool:
        """The driver was heard from in time."""
        return self.phase is LeasePhase.HELD and self._dead_man.alive(self._later(now_s))

    @property
    def slot_end_s(self) -> float | None:
        """When the driver's time ends, with the slot or with the token; None for no end in sight."""
        return self._time.end_s

    def held(self, now_s: float) -> bool:
        """The driver holds the dead-man, as far as that is known."""
        return self._dead_man.held and self.alive(now_s)

    def place(self, channel: int) -> int:
        """Place in the queue from 1; 0 for not in it."""
        return self._queue.place(channel)

    def brief(self, now_s: float) -> LeaseBrief:
        """The lease as everybody sees it."""
        return LeaseBrief(
            phase=self.phase,
            epoch=self.epoch,
            holder=self.driver.shown if self.driver is not None else "",
            slot_left_s=self._time.left_s(self._later(now_s)),
            waiting=len(self._queue),
            frozen=bool(self.frozen),
            latched=self.latched,
            kept_s=self._kept_s(self._later(now_s)) if self.phase is LeasePhase.SUSPENDED else None,
        )

    def _kept_s(self, now_s: float) -> float:
        """How long a lease waits for its holder: from now on, if the line were lost now."""
        if self.phase is not LeasePhase.SUSPENDED:
            return self.settings.grace_s
        return max(0.0, self._suspended_s + self.settings.grace_s - now_s)

    # -- over a restart --------------------------------------------------------------------------------------

    def keepsake(self, now_s: float) -> Keepsake:
        """What the next server has to know, if this one ends now."""
        now_s = self._later(now_s)
        driver, promised = self.driver, self.phase is LeasePhase.CHANGING and self._newcomer
        holder = None
        if driver is not None and not promised:
            holder = Holder(
                user=driver.user,
                name=driver.name,
                role=driver.role,
                had_s=now_s - self._since_s,
                waits_s=self._kept_s(now_s),
                slot_left_s=None if self._time.slot_s is None else max(0.0, self._time.slot_s - now_s),
                token_left_s=None if driver.until_s is None else max(0.0, driver.until_s - now_s),
                must_park=self.must_park,
            )
        return Keepsake(epoch=self.epoch, holder=holder, frozen=self.frozen, latched=self.latched)

    def take_up(self, kept: Keepsake, now_s: float) -> None:
        """Go on where a server before this one ended: its lease waits for its holder, and nothing else is left."""
        now_s = self._pass(now_s)
        # Its newest epochs may never have been written down.
        self.epoch = max(self.epoch, kept.epoch + EPOCHS_UNWRITTEN)
        self.frozen, self.latched = kept.frozen, kept.latched
        holder = kept.holder
        if holder is None:
            return
        self.phase = LeasePhase.SUSPENDED
        until_s = None if holder.token_left_s is None else now_s + holder.token_left_s
        self.driver = Party(user=holder.user, name=holder.name, role=holder.role, channel=NOBODY, until_s=until_s)
        self._suspended_s = now_s + min(holder.waits_s, self.settings.grace_s) - self.settings.grace_s
        self._since_s, self._last_user, self.must_park = now_s - holder.had_s, holder.user, holder.must_park
        self._set_end(None if holder.slot_left_s is None else now_s + holder.slot_left_s)

    # -- what people ask for ---------------------------------------------------------------------------------

    def claim(self, party: Party, now_s: float, facts: ArmFacts, *, wait: bool = False) -> Effects:
        """Ask for the lease; it is granted by an `observe` from now on, once the arm stands and has come up.

        Raises:
            InterlockError: it cannot be had now, and is not waited for.
        """
        now_s = self._pass(now_s)
        if not may(party.role, Action.CLAIM):
            raise InterlockError(f"{self.arm}: driving needs the role {who_may(Action.CLAIM)}", ["role"])
        if self.driver is not None:
            if self.driver.channel == party.channel and self.phase is not LeasePhase.SUSPENDED:
                return ()
            if self.driver.user == party.user and (party.on_site or not self.must_park):
                return self._resume(party, facts)
            return self._wait(party, wait, self._taken(now_s))
        why_not = self._why_not(party, facts)
        if not why_not and self._queue and self._privilege(party, facts) is None:
            why_not = "others wait for it"
        if why_not:
            return self._wait(party, wait, why_not)
        return self._begin(party, now_s, facts, f"{party.shown} drives")

    def leave_queue(self, party: Party, now_s: float) -> Effects:
        """Whoever waits, for others or for the arm to come up, does so no longer."""
        self._pass(now_s)
        text = f"{party.shown} waits no longer"
        coming = self.phase is LeasePhase.CHANGING and self._newcomer
        if coming and self.driver is not None and self.driver.channel == party.channel:
            return self._clear(text)
        if not self.place(party.channel):
            return ()
        self._queue.leave(party.user)
        return (Changed(reason=text),)

    def beat(
        self, party: Party, epoch: int, held: bool, issued_s: float, now_s: float, sign: Sign = NO_SIGN
    ) -> Effects:
        """The driver's sign of life, and what shows that a hand is on the dead-man.

        Raises:
            InterlockError: from anyone but the driver, or from before the present epoch.
        """
        now_s = self._pass(now_s)
        self._driver_only(party, epoch)
        return self._dead_man.beat(party.channel, held, issued_s, now_s, sign)

    def asked(self, what: object, now_s: float, *, planned: bool) -> None:
        """The driver was let through with a motion that goes on while the dead-man is held: `what` tells them apart."""
        self._dead_man.asked(what, self._pass(now_s), planned=planned)

    def renew(self, party: Party, epoch: int, minutes: float, now_s: float, facts: ArmFacts) -> Effects:
        """The driver asks for more time after the slot's end; without a booking, a slot's length from now at most.

        Raises:
            InterlockError: from anyone but the driver, or somebody else's time would be taken.
        """
        now_s = self._pass(now_s)
        self.check_renewal(party, epoch, facts)
        before_s = self.slot_end_s
        if before_s is None:
            return ()
        longest_s = None if facts.reserved_for == party.user else now_s + self.settings.slot_s
        end_s = earliest(before_s + 60.0 * minutes, longest_s, facts.until_s, self._time.token_s)
        assert end_s is not None
        if end_s <= before_s:
            raise InterlockError(f"{self.arm}: the slot cannot be made longer; book another", ["a free calendar"])
        self._set_end(end_s)
        return (Changed(reason=f"the slot ends in {(end_s - now_s) / 60.0:.1f} min"),)

    def check_renewal(self, party: Party, epoch: int, facts: ArmFacts) -> None:
        """Whether the driver may ask for more time at all.

        Raises:
            InterlockError: from anyone but the driver, or somebody else's time would be taken.
        """
        self._driver_only(party, epoch)
        if self.slot_end_s is None:
            return
        if self._queue:
            raise InterlockError(f"{self.arm}: {len(self._queue)} wait for it; book another slot", ["an empty queue"])
        if facts.reserved_for not in ("", party.user):
            raise InterlockError(f"{self.arm} is booked from now on; book another slot", ["a free calendar"])

    def release(self, party: Party, epoch: int, now_s: float) -> Effects:
        """The driver gives the lease back.

        Raises:
            InterlockError: from anyone but the driver.
        """
        self._pass(now_s)
        self._driver_only(party, epoch)
        return self._clear(f"{party.shown} has given the arm back")

    def take_over(self, party: Party, reason: str, now_s: float, facts: ArmFacts, *, keep_booking: bool) -> Effects:
        """A teacher becomes the driver; the arm is held first, and the lease granted by an `observe` once it stands.

        Raises:
            InterlockError: the party may not.
        """
        now_s = self._pass(now_s)
        if not may(party.role, Action.TAKE_OVER):
            raise InterlockError(
                f"{self.arm}: taking over needs the role {who_may(Action.TAKE_OVER)}; it is {party.role.value}",
                ["role"],
            )
        former = self.driver
        if former is not None and former.channel == party.channel and self.phase is not LeasePhase.SUSPENDED:
            return ()
        text = f"{party.shown} has taken over" + (f": {reason}" if reason else "")
        if former is None:
            return self._begin(party, now_s, facts, text)
        self._void()
        self.phase, self.driver, self._newcomer, self._since_s = LeasePhase.CHANGING, party, False, now_s
        self.must_park = False
        self._set_end(None)
        self._queue.leave(party.user)
        over = () if keep_booking or former.user == party.user else (EndBooking(user=former.user),)
        return (
            Hold(reason=text),
            Tell(channel=former.channel, kind=NoticeKind.TAKEN_OVER, text=text),
            Cut(channel=former.channel, reason=text),
            *over,
            Changed(reason=text),
        )

    def freeze(self, party: Party, reason: str, now_s: float) -> Effects:
        """Hold the arm, and let nothing move until it is thawed.

        Raises:
            InterlockError: the party may not.
        """
        self._pass(now_s)
        self._teachers_only(party, "freezing")
        self._void()
        self.frozen = party.shown + (f": {reason}" if reason else "")
        text = f"frozen by {self.frozen}"
        return (Hold(reason=text), Tell(channel=None, kind=NoticeKind.FROZEN, text=text), Changed(reason=text))

    def thaw(self, party: Party, now_s: float) -> Effects:
        """Let it be driven again; nothing moves by it.

        Raises:
            InterlockError: the party may not.
        """
        self._pass(now_s)
        self._teachers_only(party, "thawing")
        if not self.frozen:
            return ()
        self.frozen = ""
        text = f"thawed by {party.shown}; whoever drives has to arm anew"
        return (Tell(channel=None, kind=NoticeKind.THAWED, text=text), Changed(reason=text))

    def stop(self, party: Party, reason: str, now_s: float) -> Effects:
        """A stop from anyone; from anyone but the driver it latches. Never refused."""
        self._pass(now_s)
        text = f"stopped by {party.shown}" + (f": {reason}" if reason else "")
        if self.is_driver(party.channel):
            return (Hold(reason=text),)
        return (Hold(reason=text), *self._latch(text))

    def emergency_stop(self, party: Party, reason: str, now_s: float) -> Effects:
        """A software emergency stop from anyone; it latches. Never refused."""
        self._pass(now_s)
        text = f"emergency stop by {party.shown}" + (f": {reason}" if reason else "")
        return (Freeze(reason=text), *self._latch(text))

    def unlatch(self, party: Party, now_s: float) -> Effects:
        """A latched stop is reset; whether the party may is the gate's to say."""
        self._pass(now_s)
        if not self.latched:
            return ()
        self.latched = ""
        return (Changed(reason=f"the stop was reset by {party.shown}; whoever drives has to arm anew"),)

    def closed(self, channel: int, now_s: float) -> Effects:
        """A channel is gone."""
        now_s = self._pass(now_s)
        self._queue.closed(channel)
        if self.driver is None or self.driver.channel != channel:
            return ()
        if self.phase is LeasePhase.HELD:
            return self._suspend(now_s, "the driver's connection is gone")
        if self.phase is LeasePhase.CHANGING:
            return self._clear("who took over is gone")
        return ()

    # -- time and the arm ------------------------------------------------------------------------------------

    def observe(self, facts: ArmFacts, now_s: float) -> Effects:
        """Time has passed: to be called often, every 50 ms or so."""
        now_s = self._pass(now_s)
        if self.phase is LeasePhase.HELD:
            return self._watch_driver(facts, now_s)
        if self.phase is LeasePhase.SUSPENDED:
            if self._time.over(now_s):
                return self._close_slot()
            if now_s - self._suspended_s >= self.settings.grace_s:
                return self._clear("the driver did not come back in time")
            return ()
        if self.phase is LeasePhase.CHANGING:
            return self._settle(now_s, facts)
        if self.phase is LeasePhase.CLEARING:
            return self._tidy(facts)
        return self._next_in_queue(facts, now_s)

    def _watch_driver(self, facts: ArmFacts, now_s: float) -> Effects:
        assert self.driver is not None
        channel, silence_s = self.driver.channel, self._dead_man.silence_s(now_s)
        if self._time.over(now_s):
            return self._close_slot()
        if silence_s >= self.settings.suspend_after_s:
            return self._suspend(now_s, f"nothing heard from the driver for {silence_s:.1f} s")
        done = [*self._dead_man.watch(channel, now_s)]
        if self.must_park and facts.parked and facts.standing:
            self.must_park = False
            done.append(Changed(reason="the arm is parked: it may be driven"))
        return (*done, *self._time.announce(channel, now_s))

    def _close_slot(self) -> Effects:
        if self._time.by_token:
            return self._clear("the token has ended", NoticeKind.TOKEN_ENDS)
        return self._clear("the slot is over", NoticeKind.SLOT_OVER)

    def _settle(self, now_s: float, facts: ArmFacts) -> Effects:
        """Hand the lease on, once the arm stands; for a newcomer, if it still may be had."""
        assert self.driver is not None
        if not facts.standing or facts.coming:
            return ()
        why_not = self._why_not(self.driver, facts) if self._newcomer else ""
        if why_not:
            return self._clear(f"{self.driver.shown} has not got it: {why_not}")
        self.phase, self._last_user = LeasePhase.HELD, self.driver.user
        self._dead_man.heard(now_s)
        return (Changed(reason=f"{self.driver.shown} drives"),)

    def _tidy(self, facts: ArmFacts) -> Effects:
        if facts.fit:
            self.phase = LeasePhase.FREE
            return (Changed(reason="parked, and free"),)
        able = facts.ready and not facts.parked and not self.frozen and not self.latched
        if self.settings.unattended_park and able and not self._park_asked:
            self._park_asked = True
            text = "the arm is parked with nobody there: keep away from it"
            return (Tell(channel=None, kind=NoticeKind.PARKING, text=text), Park())
        return ()

    def _next_in_queue(self, facts: ArmFacts, now_s: float) -> Effects:
        for party in self._queue:
            if not self._why_not(party, facts):
                return self._begin(party, now_s, facts, f"{party.shown} drives")
        return ()

    # -- changes ---------------------------------------------------------------------------------------------

    def _why_not(self, party: Party, facts: ArmFacts) -> str:
        """Why the arm, which has no driver, cannot go to this party now; empty if it can."""
        privilege = self._privilege(party, facts)
        if self.latched and privilege != "care":
            return f"a stop is latched ({self.latched}); a teacher, or somebody beside it, has to reset it"
        if self.frozen and privilege != "care":
            return f"it is frozen by {self.frozen}"
        if facts.reserved_for not in ("", party.user) and privilege != "care":
            return "it is booked by somebody else now"
        if privilege is not None or facts.coming:
            return ""
        if facts.mode not in READY:
            return f"its mode is {facts.mode.value}; a teacher or maintainer has to see to it"
        if not facts.parked:
            return "it is not parked yet; a teacher, or somebody beside it, has to park it"
        # What the loop has not taken yet is a matter of a moment, and judged when it has.
        return "" if facts.clean else "it is not cleared up yet"

    def _privilege(self, party: Party, facts: ArmFacts) -> str | None:
        """What lets a party have an arm that is not fit for a new user.

        Those who may confirm a pose see to it; whoever stands beside it may park it; who drove last is no new user.
        """
        if may(party.role, Action.CONFIRM):
            return "care"
        if facts.mode not in READY:
            return None
        if party.on_site:
            return "park"
        if party.user == self._last_user and not self._queue:
            return "again"
        return None

    def _taken(self, now_s: float) -> str:
        """By whom, and for how long at least where that is known."""
        assert self.driver is not None
        if self.phase is not LeasePhase.SUSPENDED:
            return f"{self.driver.shown} drives it"
        return f"{self.driver.shown} drives it, and is away; it is kept for {self._kept_s(now_s):.0f} s"

    def _wait(self, party: Party, wait: bool, why_not: str) -> Effects:
        place = self.place(party.channel)
        if not wait or (not place and self._queue.full):
            advice = "book a slot" if self._queue.full else "wait in the queue, or book a slot"
            raise InterlockError(f"{self.arm}: {why_not}; {advice}", ["lease"])
        if place:
            return ()
        self._queue.join(party)
        return (Changed(reason=f"{self.arm}: {why_not}; place {len(self._queue)} in the queue"),)

    def _begin(self, party: Party, now_s: float, facts: ArmFacts, reason: str) -> Effects:
        """Give a lease that nobody has, as soon as the arm stands."""
        self._void()
        self.phase, self.driver, self._newcomer, self._since_s = LeasePhase.CHANGING, party, True, now_s
        self.must_park = self._privilege(party, facts) == "park" and not facts.parked
        self._queue.leave(party.user)
        booked = facts.reserved_for == party.user
        unlimited = booked or may(party.role, Action.CONFIRM)
        slot_s = None if unlimited else now_s + self.settings.slot_s
        calendar_s = facts.until_s if booked or not unlimited else None
        self._set_end(earliest(slot_s, calendar_s))
        # Held, an arm that comes up would not come up.
        held = () if facts.standing or facts.coming else (Hold(reason=reason),)
        return (*held, Changed(reason=f"{reason}, once the arm has come up" if facts.coming else reason))

    def _resume(self, party: Party, facts: ArmFacts) -> Effects:
        """The same user again, as a rule on another channel: the lease comes back, the motion does not."""
        former, self.driver = self.driver, party
        assert former is not None
        self._void()
        # It may be another token of theirs, and whoever comes back may have missed a warning.
        self._set_end(self._time.slot_s)
        # Who comes back while the lease was still on its way has no more right to it than before.
        self._newcomer = self._newcomer and self.phase is LeasePhase.CHANGING
        self.phase = LeasePhase.CHANGING
        text = f"{party.shown} has connected again"
        cut = () if former.channel == party.channel else (Cut(channel=former.channel, reason=text),)
        back = Tell(channel=party.channel, kind=NoticeKind.RESUMED, text="the lease is yours again; arm anew to move")
        # Held, an arm that comes up, as after a restart of the server, would not come up.
        held = () if facts.coming else (Hold(reason=text),)
        return (*held, *cut, back, Changed(reason=text))

    def _suspend(self, now_s: float, why: str) -> Effects:
        assert self.driver is not None
        self._void()
        self.phase, self._suspended_s = LeasePhase.SUSPENDED, now_s
        text = f"{why}; the lease is kept for {self.settings.grace_s:.0f} s"
        return (
            Hold(reason=why),
            Tell(channel=self.driver.channel, kind=NoticeKind.SUSPENDED, text=text),
            Changed(reason=text),
        )

    def _clear(self, reason: str, kind: NoticeKind | None = None) -> Effects:
        """Nobody drives any more; the arm holds until it is fit for the next user."""
        driver = self.driver
        self._void()
        self.phase, self.driver, self.must_park, self._park_asked = LeasePhase.CLEARING, None, False, False
        self._set_end(None)
        told = () if kind is None or driver is None else (Tell(channel=driver.channel, kind=kind, text=reason),)
        return (Hold(reason=reason), *told, Changed(reason=reason))

    def _latch(self, text: str) -> Effects:
        # Whoever keeps pressing stop shall not flood those who watch.
        if self.latched:
            return ()
        self._void()
        self.latched = text
        return (Tell(channel=None, kind=NoticeKind.STOPPED, text=text), Changed(reason=text))

    def _void(self) -> None:
        """Whatever was asked for up to now counts no more."""
        self.epoch += 1
        self._dead_man.void()

    # -- small things ----------------------------------------------------------------------------------------

    def _driver_only(self, party: Party, epoch: int) -> None:
        if not self.is_driver(party.channel):
            raise InterlockError(f"{self.arm}: you do not drive it; claim it first", ["lease"])
        if epoch != self.epoch:
            raise InterlockError(f"{self.arm}: epoch {epoch} is over; it is {self.epoch}", ["epoch"])

    def _teachers_only(self, party: Party, what: str) -> None:
        if not may(party.role, Action.FREEZE):
            raise InterlockError(
                f"{self.arm}: {what} needs the role {who_may(Action.FREEZE)}; it is {party.role.value}", ["role"]
            )

    def _set_end(self, slot_s: float | None) -> None:
        self._time.give(slot_s, None if self.driver is None else self.driver.until_s)

    def _later(self, now_s: float) -> float:
        return max(self._now_s, now_s)

    def _pass(self, now_s: float) -> float:
        """Time only passes; a reading from before the newest one counts as the newest."""
        if not math.isfinite(now_s):
            raise InterlockError(f"{self.arm}: the time {now_s!r} is not a finite number", ["a clock"])
        self._now_s = self._later(now_s)
        return self._now_s
