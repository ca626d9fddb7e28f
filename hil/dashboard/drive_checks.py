"""What is still missing before the arm may move, as a list in words: what is so, and what to do about it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.texts import LEASES, MODES, age_text, tr
from hil.service.rights import Action, may, who_may
from hil.service.wire import LeaseBrief, LeasePhase, Telemetry, Welcome
from hil.types import Mode


class Remedy(Enum):
    """What a button beside a check does."""

    NONE = ""
    CLAIM = "claim"
    RESET = "reset"
    CONFIRM = "confirm"
    PARK = "park"
    THAW = "thaw"


class Check(NamedTuple):
    """One thing that has to be true.

    Attributes:
        name: in a word.
        ok: whether it is so.
        words: what is so; where it is not ok, also what to do.
        remedy: what the window itself can do about it.
    """

    name: str
    ok: bool
    words: str
    remedy: Remedy = Remedy.NONE


def checks(driving: DriveHand) -> tuple[Check, ...]:
    """Everything that driving by hand needs, in the order in which to see to it."""
    session = driving.session
    welcome, frame = session.welcome, session.newest
    if session.parted or welcome is None:
        why = tr("{reason}; the window tries again by itself", reason=session.parted or tr("not connected yet"))
        return (Check(tr("Service"), False, why),)
    if frame is None or not session.live:
        return (Check(tr("Service"), False, tr("nothing is heard of the arm; what is shown may be old")),)
    return (
        Check(tr("Service"), True, tr("connected to {server}", server=welcome.server)),
        _role(welcome),
        _lease(driving, welcome, frame.lease),
        _latch(welcome, frame),
        _pose(welcome, frame.mode),
        _park(driving, frame),
        _picture(welcome, frame),
        _speed(welcome, frame),
        Check(tr("Certificate"), True, tr("none needed by hand; programs need one")),
    )


def _role(welcome: Welcome) -> Check:
    role = welcome.role.value
    if may(welcome.role, Action.JOG):
        return Check(tr("Role"), True, tr("{role}: may drive", role=role))
    who = who_may(Action.JOG)
    return Check(tr("Role"), False, tr("{role}: may look and stop; to drive, log in as {who}", role=role, who=who))


def _lease(driving: DriveHand, welcome: Welcome, lease: LeaseBrief) -> Check:
    name, news = tr("Turn"), driving.session.lease
    if driving.drives:
        left = "" if lease.slot_left_s is None else tr("; your slot ends in {left}", left=minutes(lease.slot_left_s))
        queue = tr("; {count} waiting", count=lease.waiting) if lease.waiting else ""
        return Check(name, True, tr("you drive") + left + queue)
    if not may(welcome.role, Action.CLAIM):
        return Check(name, False, tr(LEASES[lease.phase], holder=lease.holder or tr("somebody")))
    if news is not None and news.place:
        ahead = tr("you are number {place} in the queue; the arm comes to you by itself", place=news.place)
        return Check(name, False, f"{tr(LEASES[lease.phase], holder=lease.holder or tr('somebody'))}; {ahead}")
    if lease.phase is LeasePhase.CHANGING:
        return Check(name, False, tr("the arm changes hands: it is brought to rest first; wait"))
    remedies = {LeasePhase.FREE: tr("nobody drives: press Drive"),
                LeasePhase.CLEARING: tr("left by its driver: it has to be parked; press Drive, then Park")}  # fmt: skip
    taken = tr("{who}; stand in the queue", who=tr(LEASES[lease.phase], holder=lease.holder or tr("somebody")))
    return Check(name, False, remedies.get(lease.phase, taken), Remedy.CLAIM)


def _latch(welcome: Welcome, frame: Telemetry) -> Check:
    name, lease = tr("Stop"), frame.lease
    if lease.frozen:
        if may(welcome.role, Action.FREEZE):
            return Check(name, False, tr("the arm is frozen: thaw it when all is well"), Remedy.THAW)
        return Check(name, False, tr("a teacher has frozen the arm: wait until it is thawed"))
    if lease.latched:
        if may(welcome.role, Action.RESET) or welcome.on_site:
            return Check(name, False, tr("{who}: latched; look, then reset it", who=lease.latched), Remedy.RESET)
        who = who_may(Action.RESET)
        return Check(name, False, tr("{who}: latched; {roles}, or who stands beside it, resets it", who=lease.latched,
                                     roles=who))  # fmt: skip
    return Check(name, True, tr("none is latched"))


def _pose(welcome: Welcome, mode: Mode) -> Check:
    name = tr("Mode")
    if mode in (Mode.FAULT, Mode.ESTOP):
        if may(welcome.role, Action.RESET):
            return Check(name, False, tr("{mode}: look why, then reset it", mode=tr(MODES[mode][0])), Remedy.RESET)
        who = who_may(Action.RESET)
        return Check(name, False, tr("{mode}: only {who} may reset it; ask", mode=tr(MODES[mode][0]), who=who))
    if mode is Mode.UNKNOWN_POSE:
        if may(welcome.role, Action.CONFIRM):
            return Check(name, False, tr("the pose is not known: confirm it below"), Remedy.CONFIRM)
        who = who_may(Action.CONFIRM)
        return Check(name, False, tr("the pose is not known: only {who} may confirm it; ask", who=who))
    if mode in (Mode.DISCONNECTED, Mode.CONNECTING, Mode.ENERGISING):
        return Check(name, False, tr("{meaning}; wait", meaning=tr(MODES[mode][1])))
    return Check(name, True, tr("the pose is known"))


def _park(driving: DriveHand, frame: Telemetry) -> Check:
    if driving.must_park or (driving.drives and frame.lease.phase is LeasePhase.CLEARING):
        return Check(tr("Park"), False, tr("the arm was left somewhere: hold Park until it is there"), Remedy.PARK)
    return Check(tr("Park"), True, tr("nothing to park first"))


def _picture(welcome: Welcome, frame: Telemetry) -> Check:
    name, age_s = tr("Picture"), frame.picture_age_s
    if welcome.on_site or not welcome.rules.picture_needed:
        seen = tr("none needed") if age_s is None else tr("{age}; none needed", age=age_text(age_s))
        return Check(name, True, seen + (tr(": you stand beside the arm") if welcome.on_site else ""))
    elsewhere = tr(
        "this lab lets nobody drive from afar without looking at its camera: drive from its page in a browser"
    )
    return Check(name, False, elsewhere)


def _speed(welcome: Welcome, frame: Telemetry) -> Check:
    share = min(welcome.speed_share, frame.speed_share)
    if share <= 0.0:
        return Check(tr("Speed"), False, tr("none is allowed now: see the stop budget and the age of the picture"))
    return Check(tr("Speed"), True, tr("up to {share:.0f} % of the rig's is allowed now", share=100.0 * share))


def minutes(seconds: float) -> str:
    """A time that is left."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d} min"
