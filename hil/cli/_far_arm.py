"""What `hil drive` and `hil watch` say of an arm far away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.errors import ConfigError
from hil.model.files import list_names

if TYPE_CHECKING:
    from hil.service.remote import RemoteArm
    from hil.service.wire import SelfTestBrief, Welcome


def refuse_own_arm(url: str, command: str) -> None:
    """Make sure that what should be an address is not the name of a rig or robot of this computer.

    Raises:
        ConfigError: it is.
    """
    if url in (*list_names("rigs"), *list_names("robots")):
        allowed = "the address of an arm of a lab, as http://127.0.0.1:8742/arm-1"
        raise ConfigError(
            command, "URL", url, allowed, f"An arm of this computer: `hil jog {url}`, or `hil serve {url}`"
        )


def headline(welcome: Welcome) -> str:
    """Which arm, whether it is real, and as what one came in."""
    what = "REAL" if welcome.real else "FAKE"
    return f"{what} {welcome.arm}: {welcome.title}, at {welcome.server}; you may {welcome.role.value}"


def lease_words(arm: RemoteArm) -> str:
    """Who drives."""
    channel = arm.channel
    if not channel.connected or channel.lease is None:
        return "not connected"
    brief = channel.lease.lease
    who = "you drive" if channel.lease.yours else f"{brief.holder or 'somebody'} drives" \
        if brief.phase.value == "held" else brief.phase.value  # fmt: skip
    if brief.kept_s is not None:
        who += f", kept for {brief.holder or 'somebody'} for {brief.kept_s:.0f} s"
    left = "" if brief.slot_left_s is None else f", {brief.slot_left_s / 60.0:.0f} min left"
    extra = ", FROZEN" if brief.frozen else ""
    extra += f", STOP LATCHED by {brief.latched}" if brief.latched else ""
    trip = "" if channel.trip_s is None else f", {1e3 * channel.trip_s:.0f} ms away"
    return f"{who}{left}{extra}{trip}"


def picture_words(age_s: float | None, oldest_s: float) -> str:
    """Age of a picture, and whether it is too old to move by."""
    if age_s is None:
        return "no picture yet"
    words = f"picture {max(0.0, age_s):.1f} s old"
    return words if age_s <= oldest_s else f"OLD PICTURE: {words}, {oldest_s:g} s count"


def self_test_words(brief: SelfTestBrief | None) -> str:
    """The newest self-test of an arm, and whether another one is due."""
    from hil.service.grants import clock_text

    if brief is None:
        return ""
    if brief.at_epoch_s is None:
        return "DUE: none was made yet"
    ending = f"FAILED: {brief.failure}" if brief.failure else f"passed{brief.how and ', '}{brief.how}"
    return f"{'DUE: ' if brief.due else ''}{clock_text(brief.at_epoch_s)} {ending}"
