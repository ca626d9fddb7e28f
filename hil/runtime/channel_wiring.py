"""Single channels of an arm's controller, for calibrating: on a real port, or of a fake on virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from hil.clock import Clock, RealClock, VirtualClock
from hil.errors import InterlockError
from hil.link import ChannelLink, ExpectingLink, ServoChannel
from hil.model.rig import AdapterIdentity, Rig
from hil.runtime import adapters, port_wiring
from hil.runtime.controller_memory import remedy
from hil.runtime.journal import Wiring
from hil.runtime.kinds import kind_of
from hil.runtime.kinds.kind import USUAL, ChannelKind
from hil.runtime.port_wiring import VIRTUAL_START_S
from hil.types import ControllerIdentity


@dataclass(frozen=True)
class ChannelArm:
    """Single channels of an arm's controller, and the clock to wait by.

    Attributes:
        seen: where the joints and the gripper are, as a person would see them, in rad or m, in the order of the rig's
            axes; None where a person has to look.
    """

    link: ChannelLink
    clock: Clock
    seen: Callable[[], tuple[float, ...]] | None


def _channel_kind(rig: Rig) -> ChannelKind:
    kind = kind_of(rig).channels
    if kind is None:
        raise InterlockError(f"rig {rig.id}: a {rig.controller.kind} knows by itself where its arm stands")
    return kind


def channels_of(rig: Rig) -> tuple[ServoChannel, ...]:
    """Which channel drives which axis, as the rig has it.

    Raises:
        InterlockError: arms of this kind are not calibrated.
    """
    return _channel_kind(rig).describe(rig.controller)


def real_channels(
    rig: Rig,
    url: str,
    channels: Sequence[int],
    adapter: AdapterIdentity,
    expected: ControllerIdentity | None = None,
) -> ChannelArm:
    """Single channels of the board on a real port.

    Args:
        rig: whose board.
        url: its port.
        channels: those that may be moved.
        adapter: the one of which everything is said and written down; no other is opened.
        expected: who has to answer; None for anybody.
    """

    def check(rig: Rig, url: str) -> None:
        adapters.check_same_adapter(url, port_wiring.check_adapter(rig, url), adapter, port_wiring.serial_adapters())

    settings = msgspec.structs.replace(rig.controller, port_url=url)  # type: ignore[type-var]
    link = _channel_kind(rig).build(settings, channels, port_wiring.door(rig, url, Wiring.REAL, check))
    if isinstance(link, ExpectingLink):
        link.expect(expected, remedy(rig.id, url))
    return ChannelArm(link, RealClock(), None)


def fake_channels(
    rig: Rig, channels: Sequence[int], true_arm: Rig, start: Sequence[float], *, driven: bool = False
) -> ChannelArm:
    """Single channels of a fake board on virtual time.

    Args:
        rig: what the program believes.
        channels: those that may be moved.
        true_arm: the same rig with the calibration that the arm really has.
        start: where the arm is.
        driven: the board drives it there already; otherwise it is limp.
    """
    fake = kind_of(rig).emulated().in_memory(true_arm, start, driven, None, 0.0, USUAL)
    clock = VirtualClock(VIRTUAL_START_S)
    settings = msgspec.structs.replace(rig.controller, port_url="memory")  # type: ignore[type-var]
    link = _channel_kind(rig).build(settings, channels, fake.open_port)
    return ChannelArm(link, clock, lambda: fake.servos(clock.now_s()))


def crooked_arm(rig: Rig, seed: str) -> Rig:
    """The rig of an arm that somebody has put together differently: for exercises on the fake."""
    settings = _channel_kind(rig).crooked(rig.controller, random.Random(seed))
    return msgspec.structs.replace(rig, controller=settings)
