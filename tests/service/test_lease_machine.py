"""The lease as a state machine: people who come, press everything and vanish; an arm that takes its time to stop."""

from __future__ import annotations

import contextlib

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hil.errors import InterlockError
from hil.service.lease import Lease
from hil.service.lease_facts import NOBODY, ArmFacts, Cut, Effects, Freeze, Hold, LetGo, Park, Party
from hil.service.lease_settings import LeaseSettings
from hil.service.rights import Action, Role, may
from hil.service.wire import LeasePhase
from hil.types import Mode

USERS = {
    "ann": (Role.DRIVE, False),
    "bob": (Role.DRIVE, False),
    "nea": (Role.DRIVE, True),
    "tom": (Role.TEACH, False),
    "tea": (Role.TEACH, True),
    "kim": (Role.MAINTAIN, True),
    "wes": (Role.WATCH, False),
}
TICK_S = 0.02
LOOK_S = 0.04
RAMP_TICKS = 4
SETTINGS = LeaseSettings(grace_s=6.0, slot_s=30.0)

people = st.sampled_from(sorted(USERS))


class Arm:
    """What a loop would do with what it is sent, one tick after the other."""

    def __init__(self) -> None:
        self.mode, self.parked = Mode.IDLE, True
        self.box: list[tuple[str, int]] = []
        self.epoch = 0
        self.ramp = 0

    @property
    def moving(self) -> bool:
        return self.mode in (Mode.STREAMING, Mode.STOPPING)

    def tick(self) -> None:
        for what, epoch in self.box:
            if what == "start" and self.mode in (Mode.IDLE, Mode.HOLDING):
                self.mode, self.epoch, self.parked = Mode.STREAMING, epoch, False
            elif what == "stop" and self.mode is Mode.STREAMING:
                self.mode, self.ramp = Mode.STOPPING, RAMP_TICKS
            elif what == "freeze":
                self.mode = Mode.ESTOP
        self.box.clear()
        if self.mode is Mode.STOPPING:
            self.ramp -= 1
            if self.ramp == 0:
                self.mode = Mode.HOLDING


class LeaseMachine(RuleBasedStateMachine):
    @initialize(unattended=st.booleans())
    def begin(self, unattended: bool) -> None:
        self.settings = LeaseSettings(grace_s=SETTINGS.grace_s, slot_s=SETTINGS.slot_s, unattended_park=unattended)
        self.lease = Lease("arm", self.settings, first_epoch=7)
        self.arm = Arm()
        self.now_s = 100.0
        self.channels: dict[str, int] = {}
        self.next_channel = 1
        self.clean = True
        self.epochs = [7]
        self.driver: Party | None = None
        self.kept: tuple[str, float] | None = None
        self.driver_epoch = 0
        self.last_user = ""
        self.beat_s: dict[int, float] = {}

    # -- the server ------------------------------------------------------------------------------------------

    def _facts(self) -> ArmFacts:
        return ArmFacts(mode=self.arm.mode, parked=self.arm.parked, settled=not self.arm.box, clean=self.clean)

    def _do(self, effects: Effects) -> None:
        for effect in effects:
            if isinstance(effect, Hold):
                self.arm.box.append(("stop", 0))
            elif isinstance(effect, LetGo):
                # As the desk does: what stands, with nothing on its way, is left as it is.
                if self.arm.moving or self.arm.box:
                    self.arm.box.append(("stop", 0))
            elif isinstance(effect, Freeze):
                self.arm.box.append(("freeze", 0))
            elif isinstance(effect, Park):
                assert self.settings.unattended_park
                assert self.lease.driver is None
                assert self._facts().standing
                self.arm.parked, self.arm.mode = True, Mode.IDLE
            elif isinstance(effect, Cut):
                self._drop(effect.channel)
        self._look_at_driver()

    def _drop(self, channel: int) -> None:
        self.channels = {user: known for user, known in self.channels.items() if known != channel}
        self._do(self.lease.closed(channel, self.now_s))

    def _look_at_driver(self) -> None:
        lease = self.lease
        if lease.epoch != self.epochs[-1]:
            self.epochs.append(lease.epoch)
        if lease.phase is not LeasePhase.HELD:
            self.driver = None
            return
        if lease.driver is self.driver:
            return
        # A new driver: with an epoch of its own, an arm that stands, and the right to have it as it is.
        party = lease.driver
        assert party is not None
        assert lease.epoch > self.driver_epoch
        assert not self.arm.moving
        assert not self.arm.box
        assert may(party.role, Action.CLAIM)
        fit = self.arm.parked and self.clean and self.arm.mode in (Mode.IDLE, Mode.HOLDING)
        assert fit or may(party.role, Action.CONFIRM) or party.on_site or party.user == self.last_user
        if party.on_site and not may(party.role, Action.CONFIRM) and party.user != self.last_user:
            assert fit or lease.must_park or self.arm.parked
        assert not lease.held(self.now_s)
        self.driver, self.driver_epoch, self.last_user = party, lease.epoch, party.user
        self.beat_s[party.channel] = self.now_s

    def _party(self, user: str) -> Party:
        if user not in self.channels:
            self.channels[user] = self.next_channel
            self.next_channel += 1
        role, on_site = USERS[user]
        return Party(user=user, name=user, role=role, channel=self.channels[user], on_site=on_site)

    # -- people ----------------------------------------------------------------------------------------------

    @rule(user=people, wait=st.booleans())
    def claim(self, user: str, wait: bool) -> None:
        with contextlib.suppress(InterlockError):
            self._do(self.lease.claim(self._party(user), self.now_s, self._facts(), wait=wait))

    @rule(user=people, held=st.booleans(), age_s=st.sampled_from([0.0, 0.1, 0.7]), back=st.integers(0, 2))
    def beat(self, user: str, held: bool, age_s: float, back: int) -> None:
        party = self._party(user)
        was_driver, epoch = self.lease.is_driver(party.channel), max(self.lease.epoch - back, 0)
        try:
            effects = self.lease.beat(party, epoch, held, self.now_s - age_s, self.now_s)
        except InterlockError:
            assert not was_driver or back
            return
        assert was_driver
        assert not back
        self.beat_s[party.channel] = self.now_s
        if age_s > self.settings.command_age_s:
            assert not self.lease.held(self.now_s)
        self._do(effects)

    @rule(user=people, back=st.integers(0, 1))
    def move(self, user: str, back: int) -> None:
        """A start as the gate lets it through; it may still lie in the box when everything changes."""
        lease, party = self.lease, self._party(user)
        epoch = lease.epoch - back
        allowed = lease.is_driver(party.channel) and epoch == lease.epoch and lease.held(self.now_s)
        if allowed and not lease.frozen and not lease.latched:
            self.arm.box.append(("start", epoch))

    @rule(user=st.sampled_from(["ann", "bob", "nea", "tom"]))
    def set_off(self, user: str) -> None:
        """What it takes until an arm moves, in one go; chance alone hardly ever finds it."""
        if self.driver is None:
            self.claim(user, False)
            self.pass_time(3, False)
        if self.driver is not None:
            self.beat(self.driver.user, False, 0.0, 0)
            self.beat(self.driver.user, True, 0.0, 0)
            self.move(self.driver.user, 0)
            self.arm.tick()

    @precondition(lambda self: self.arm.mode is Mode.STREAMING and self.driver is not None)
    @rule(how=st.sampled_from(["stall", "stuck", "slow", "release", "slot", "vanish", "let go"]))
    def come_to_grief(self, how: str) -> None:
        """What happens to drivers on the way, right while the arm moves."""
        assert self.driver is not None
        user = self.driver.user
        if how == "stall":
            self.pass_time(40, False)
        elif how == "stuck":
            self.pass_time(20, False)
            self.beat(user, True, 0.0, 0)
            assert not self.lease.held(self.now_s)
        elif how == "slow":
            self.beat(user, True, 0.7, 0)
            assert self.arm.box
        elif how == "release":
            self.release(user)
        elif how == "slot":
            self.pass_time(1600, True)
        elif how == "vanish":
            self.vanish(user)
        else:
            self.beat(user, False, 0.0, 0)
            assert self.arm.box

    @rule(user=people)
    def release(self, user: str) -> None:
        with contextlib.suppress(InterlockError):
            self._do(self.lease.release(self._party(user), self.lease.epoch, self.now_s))

    @rule(user=people, keep=st.booleans())
    def take_over(self, user: str, keep: bool) -> None:
        party = self._party(user)
        try:
            self._do(self.lease.take_over(party, "", self.now_s, self._facts(), keep_booking=keep))
        except InterlockError:
            assert party.role is not Role.TEACH

    @rule(user=people)
    def freeze(self, user: str) -> None:
        with contextlib.suppress(InterlockError):
            self._do(self.lease.freeze(self._party(user), "", self.now_s))
            assert any(what == "stop" for what, _ in self.arm.box)

    @rule()
    def thaw(self) -> None:
        self._do(self.lease.thaw(self._party("tom"), self.now_s))

    @rule(user=people, emergency=st.booleans())
    def stop(self, user: str, emergency: bool) -> None:
        press = self.lease.emergency_stop if emergency else self.lease.stop
        self._do(press(self._party(user), "", self.now_s))
        assert any(what in ("stop", "freeze") for what, _ in self.arm.box)

    @rule()
    def reset(self) -> None:
        self._do(self.lease.unlatch(self._party("kim"), self.now_s))
        if self.arm.mode is Mode.ESTOP and not self.arm.box:
            self.arm.mode = Mode.UNKNOWN_POSE

    @rule(user=people)
    def vanish(self, user: str) -> None:
        if user in self.channels:
            self._drop(self.channels[user])

    # -- the arm and time ------------------------------------------------------------------------------------

    @rule(down_s=st.sampled_from([0.5, 3.0, 5.9, 6.0, 20.0]))
    def server_dies(self, down_s: float) -> None:
        """Everybody is cut off, the worker stops the arm; the next server knows what was kept, and no more."""
        before, driver = self.lease, self.driver
        promised = self.settings.grace_s if driver is not None else (before.brief(self.now_s).kept_s or 0.0)
        holder = before.driver.user if before.driver is not None else ""
        kept = before.keepsake(self.now_s).later(down_s)
        self.now_s += down_s
        self.channels.clear()
        self.arm.box.clear()
        if self.arm.moving:
            self.arm.mode = Mode.HOLDING
        self.lease = Lease("arm", self.settings, first_epoch=0)
        self.lease.take_up(kept, self.now_s)
        assert (self.lease.frozen, self.lease.latched) == (before.frozen, before.latched)
        assert not self.lease.held(self.now_s)
        if self.lease.phase is LeasePhase.SUSPENDED:
            assert self.lease.driver is not None and self.lease.driver.user == holder
            self.kept = holder, self.now_s - down_s + self.settings.grace_s
        if driver is not None and down_s < promised and before.slot_end_s is None:
            assert self.lease.phase is LeasePhase.SUSPENDED, "the holder may come back"
        self._look_at_driver()

    @rule()
    def fault(self) -> None:
        self.arm.mode = Mode.FAULT

    @rule()
    def mend(self) -> None:
        if self.arm.mode in (Mode.FAULT, Mode.UNKNOWN_POSE):
            self.arm.mode, self.arm.parked = Mode.IDLE, True

    @rule()
    def park(self) -> None:
        if self.arm.mode in (Mode.IDLE, Mode.HOLDING):
            self.arm.parked = True

    @rule(clean=st.booleans())
    def clear_up(self, clean: bool) -> None:
        self.clean = clean

    @rule(ticks=st.sampled_from([1, 2, 5, 20, 120, 400]), beating=st.booleans())
    def pass_time(self, ticks: int, beating: bool) -> None:
        for k in range(ticks):
            self.now_s += TICK_S
            self.arm.tick()
            driver = self.driver
            if beating and driver is not None and k % 5 == 0:
                self.beat(driver.user, True, 0.0, 0)
            if k % round(LOOK_S / TICK_S) == 0:
                self._do(self.lease.observe(self._facts(), self.now_s))
            self._nothing_moves_for_nobody()

    @rule(back_s=st.floats(0.0, 50.0))
    def clock_jumps_back(self, back_s: float) -> None:
        self._do(self.lease.observe(self._facts(), self.now_s - back_s))

    # -- what always holds -----------------------------------------------------------------------------------

    @invariant()
    def _nothing_moves_for_nobody(self) -> None:
        """What streams does so for the present epoch, a live driver, and a thawed arm, or its stop is on its way."""
        if self.arm.mode is not Mode.STREAMING or ("stop", 0) in self.arm.box or ("freeze", 0) in self.arm.box:
            return
        lease = self.lease
        assert self.arm.epoch == lease.epoch
        assert lease.phase is LeasePhase.HELD
        assert not lease.frozen
        assert not lease.latched
        assert self.driver is not None
        silence_s = self.now_s - self.beat_s[self.driver.channel]
        assert silence_s <= self.settings.stop_after_s + LOOK_S + 1e-6

    @invariant()
    def epochs_only_rise(self) -> None:
        assert self.epochs == sorted(set(self.epochs))

    @invariant()
    def what_everybody_sees_is_so(self) -> None:
        brief = self.lease.brief(self.now_s)
        assert brief.epoch == self.lease.epoch
        assert brief.slot_left_s is None or brief.slot_left_s >= 0.0
        assert (brief.phase in (LeasePhase.FREE, LeasePhase.CLEARING)) == (self.lease.driver is None)

    @invariant()
    def nobody_is_waited_for_longer_than_the_grace(self) -> None:
        lease = self.lease
        if self.kept is None or lease.phase is not LeasePhase.SUSPENDED or lease.driver is None:
            return
        holder, until_s = self.kept
        if lease.driver.channel == NOBODY and lease.driver.user == holder:
            left_s = lease.brief(self.now_s).kept_s
            assert left_s is not None and self.now_s + left_s <= until_s + 1e-6

    @precondition(lambda self: self.lease.driver is not None)
    @invariant()
    def who_drives_does_not_wait(self) -> None:
        assert self.lease.place(self.lease.driver.channel) == 0  # type: ignore[union-attr]


LeaseMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestLease = LeaseMachine.TestCase
