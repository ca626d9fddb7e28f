"""Tells one arm's lease what is so and what people want of it, and does what it gives back."""

from __future__ import annotations

import msgspec

from hil.clock import monotonic_s
from hil.service import lease_facts as leases
from hil.service import wire
from hil.service.arm_loop import ArmLoop
from hil.service.audit import Deed
from hil.service.channel import Channel
from hil.service.coming_up import ComingUp
from hil.service.doors import Visitor
from hil.service.hold_watch import Sign
from hil.service.house import House
from hil.service.keepsake import Keepsake
from hil.service.lease import Lease
from hil.service.lease_facts import ArmFacts, Effects, Party
from hil.service.live_arm import LiveArm
from hil.service.move_planner import MovePlanner
from hil.service.open_channels import OpenChannels
from hil.service.unattended_park import UnattendedPark
from hil.service.wire import LeaseNews, LeasePhase
from hil.types import EmergencyStop, Stop

LeaseMessage = wire.Claim | wire.LeaveQueue | wire.Renew | wire.Release | wire.TakeOver


class LeaseExecutor:
    """Carries out one lease.

    Args:
        lease: the rules, and who drives.
        loop: of the arm.
        live: what is known of the arm.
        coming_up: whether it comes up by itself.
        planner: whether the service still plans a move of it.
        park: parks it where the lease wants it.
        channels: everybody at the arm.
        house: the lab.
    """

    def __init__(
        self,
        lease: Lease,
        loop: ArmLoop,
        live: LiveArm,
        coming_up: ComingUp,
        planner: MovePlanner,
        park: UnattendedPark,
        channels: OpenChannels,
        house: House,
    ) -> None:
        self._lease, self._loop, self._live, self._coming_up = lease, loop, live, coming_up
        self._planner, self._park, self._channels, self._house = planner, park, channels, house

    # -- what is so --------------------------------------------------------------------------------------

    def facts(self, now_s: float) -> ArmFacts:
        """What the lease has to know."""
        user, until_s = self._house.reserved(self._lease.arm, now_s)
        return ArmFacts(
            mode=self._loop.mode,
            parked=self._live.parked,
            settled=self._loop.settled,
            clean=not self._planner.at_work,
            coming=self._coming_up.under_way and not self.kept_still,
            reserved_for=user,
            until_s=until_s,
        )

    @property
    def kept_still(self) -> bool:
        """Whether somebody wants that nothing at all moves."""
        return bool(self._lease.latched or self._lease.frozen or self._house.trouble)

    def news_for(self, channel: Channel, now_s: float, reason: str) -> LeaseNews:
        """The lease, as it concerns a channel."""
        lease = self._lease
        return LeaseNews(
            now_s=now_s,
            lease=lease.brief(now_s),
            yours=lease.is_driver(channel.number),
            place=lease.place(channel.number),
            reason=reason,
            must_park=lease.must_park and lease.is_driver(channel.number),
        )

    # -- what people want of it --------------------------------------------------------------------------

    def beat(self, channel: Channel, party: Party, beat: wire.Beat, now_s: float) -> None:
        """A sign of life, which says whether the dead-man is held; it is answered with what counts of that."""
        self.do(self._lease.beat(party, beat.epoch, beat.held, beat.issued_s, now_s, _sign(beat)))
        channel.send(wire.BeatSeen(to=beat.seq, now_s=now_s, held=self._lease.held(now_s)))

    def ask(self, visitor: Visitor, party: Party, message: LeaseMessage, now_s: float) -> None:
        """Have the lease change as a message wants it.

        Raises:
            HilError: it does not, or the calendar does not let it.
        """
        lease, facts = self._lease, self.facts(now_s)
        match message:
            case wire.Claim(wait=wait):
                self.do(lease.claim(party, now_s, facts, wait=wait))
            case wire.LeaveQueue():
                self.do(lease.leave_queue(party, now_s))
            case wire.Renew(epoch=epoch, minutes=minutes):
                lease.check_renewal(party, epoch, facts)
                self._house.extend(lease.arm, party.user, minutes, visitor.until_epoch_s)
                # The calendar has changed, and says until when.
                self.do(lease.renew(party, epoch, minutes, now_s, self.facts(now_s)))
            case wire.Release(epoch=epoch):
                self.do(lease.release(party, epoch, now_s))
            case wire.TakeOver(reason=reason, keep_booking=keep_booking):
                self.do(lease.take_over(party, reason, now_s, facts, keep_booking=keep_booking))

    # -- what it wants -----------------------------------------------------------------------------------

    def observe(self, now_s: float) -> None:
        """Time has passed, or the arm is not what it was."""
        self.do(self._lease.observe(self.facts(now_s), now_s))

    def do(self, effects: Effects) -> None:
        """Do what the lease has given back, in this order."""
        for effect in effects:
            match effect:
                case leases.Hold(reason=reason):
                    self._loop.halt(Stop(reason=reason))
                case leases.LetGo(reason=reason):
                    self._loop.let_go(reason)
                case leases.Freeze(reason=reason):
                    self._loop.halt(EmergencyStop(reason=reason))
                case leases.Cut(channel=number, reason=reason):
                    self._channels.cut(number, reason)
                case leases.Tell(channel=to, kind=kind, text=text, left_s=left_s):
                    self._channels.tell(kind, text, channel=to, left_s=left_s)
                case leases.Changed(reason=reason):
                    self._changed(reason)
                case leases.Park():
                    self._park.begin()
                case leases.EndBooking(user=user):
                    self._house.end_booking(self._lease.arm, user)

    def _changed(self, reason: str) -> None:
        now_s, lease = monotonic_s(), self._lease
        if lease.phase is LeasePhase.HELD and lease.driver is not None:
            self._house.come(lease.arm, lease.driver.user)
        self._house.keep_leases()
        self._channels.send(lambda channel: self.news_for(channel, now_s, reason))
        self._note()

    def _note(self) -> None:
        self._house.note(Deed(who="", what="lease", verdict=self._lease.phase.value, arm=self._lease.arm))

    # -- over a restart ----------------------------------------------------------------------------------

    def take_up(self, kept: Keepsake, now_s: float) -> str:
        """Go on with the lease of a server before this one; gives what there is to say about it."""
        lease = self._lease
        lease.take_up(kept, now_s)
        if kept == Keepsake(epoch=kept.epoch):
            return ""
        self._note()
        brief = lease.brief(now_s)
        waits = f"it waits {brief.kept_s:.0f} s for {brief.holder}, who drove it" if brief.kept_s is not None else ""
        frozen = f"it is frozen by {lease.frozen}" if lease.frozen else ""
        latched = f"a stop is latched ({lease.latched})" if lease.latched else ""
        return f"{lease.arm}: {'; '.join(words for words in (waits, frozen, latched) if words)}"


def _sign(beat: wire.Beat) -> Sign:
    changed_s, reported_s = beat.changed_s, beat.reported_s
    return Sign(
        changed_s=None if changed_s is msgspec.UNSET else changed_s,
        reported_s=None if reported_s is msgspec.UNSET else reported_s,
    )
