"""Everybody who has a channel to one arm: what all of them, or one, are sent, and the telemetry for those who watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hil.clock import monotonic_s
from hil.service import wire
from hil.service.audience import Audience
from hil.service.channel import Channel
from hil.service.wire import Code, FromServer, Notice, NoticeKind


class OpenChannels:
    """The channels of one arm.

    Attributes:
        audience: those of them that want telemetry.
    """

    def __init__(self) -> None:
        self.audience = Audience()
        self._channels: dict[int, Channel] = {}

    def __len__(self) -> int:
        return len(self._channels)

    def __iter__(self) -> Iterator[Channel]:
        """All of them as they are now; meanwhile some may leave."""
        return iter(list(self._channels.values()))

    def __contains__(self, channel: Channel) -> bool:
        return channel.number in self._channels

    def add(self, channel: Channel) -> None:
        """It is open from now on."""
        self._channels[channel.number] = channel

    def remove(self, channel: Channel) -> bool:
        """It is gone, and watches no more; False if it was gone before."""
        self.audience.dismiss(channel.outbox)
        return self._channels.pop(channel.number, None) is not None

    def cut(self, number: int, reason: str) -> None:
        """Say goodbye on the channel of this number, if it is still open."""
        if (channel := self._channels.get(number)) is not None:
            channel.end(Code.LEASE, reason)

    def tell(self, kind: NoticeKind, text: str, *, channel: int | None = None, left_s: float | None = None) -> None:
        """Send a notice to one channel, or to all."""
        notice = wire.encode(Notice(now_s=monotonic_s(), kind=kind, text=text, left_s=left_s))
        for number, each in self._channels.items():
            if channel is None or number == channel:
                each.outbox.put(notice)

    def pass_on(self, name: str, words: str) -> None:
        """Give everybody words that somebody says; a client of version 1 knows no such kind of a notice."""
        text = f"{name} says: {words}"
        for channel in self._channels.values():
            kind = NoticeKind.MESSAGE if channel.speaks >= wire.VERSION else NoticeKind.LOOP
            channel.send(Notice(now_s=monotonic_s(), kind=kind, text=text))

    def send_of(self, version: int, message: FromServer) -> None:
        """Send this to each that speaks a version in which there is such a message."""
        data = wire.encode(message)
        for channel in self._channels.values():
            if channel.speaks >= version:
                channel.outbox.put(data)

    def send(self, make: Callable[[Channel], FromServer]) -> None:
        """Send each what is made for it."""
        for channel in self._channels.values():
            channel.send(make(channel))
