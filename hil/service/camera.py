"""An arm's camera: pictures fetched while somebody wants them, stamped when they arrive, given on with their age."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Protocol

import aiohttp

from hil.clock import monotonic_s
from hil.types import Record

LARGEST_BYTES = 2 << 20
FETCH_S = 3.0
"""A picture that has not come whole by then does not come."""
IDLE_S = 5.0
"""Pictures go on being fetched for so long after somebody last wanted one."""
AGAIN_S = 1.0
RATE_HZ = 5.0


class Picture(Record, frozen=True):
    """One picture.

    Attributes:
        taken_s: when it arrived here, by the monotonic clock; of one that repeats the one before, when that arrived.
    """

    data: bytes
    content_type: str
    taken_s: float


class Source(Protocol):
    """Where pictures come from."""

    def pictures(self) -> AsyncIterator[tuple[bytes, str]]:
        """Bytes and content type of one picture after the other; may raise OSError, ValueError or aiohttp's errors."""
        ...


class Snapshots:
    """A camera that gives one picture each time its address is asked."""

    def __init__(self, url: str, rate_hz: float = RATE_HZ) -> None:
        self._url, self._period_s = url, 1.0 / rate_hz

    async def pictures(self) -> AsyncIterator[tuple[bytes, str]]:
        """Ask again and again."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=FETCH_S)) as session:
            while True:
                asked_s = monotonic_s()
                async with session.get(self._url) as response:
                    response.raise_for_status()
                    data = await _bounded(response.content)
                    yield data, response.content_type
                await asyncio.sleep(max(0.0, asked_s + self._period_s - monotonic_s()))


class MotionJpeg:
    """A camera that sends picture after picture as one endless answer (multipart/x-mixed-replace)."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def pictures(self) -> AsyncIterator[tuple[bytes, str]]:
        """Read part after part."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=FETCH_S, sock_read=FETCH_S)
        async with aiohttp.ClientSession(timeout=timeout) as session, session.get(self._url) as response:
            response.raise_for_status()
            if not response.content_type.startswith("multipart/"):
                raise ValueError(f"the camera sends {response.content_type}, not a multipart stream")
            parts = aiohttp.MultipartReader.from_response(response)
            while (part := await parts.next()) is not None:
                if not isinstance(part, aiohttp.BodyPartReader):
                    raise ValueError("the camera sends parts within parts")
                yield await _part(part), part.headers.get("Content-Type", "image/jpeg")


class Drawn:
    """The picture that a fake's camera shows, drawn when it is wanted.

    Args:
        draw: gives a PNG.
    """

    def __init__(self, draw: Callable[[], bytes], rate_hz: float = RATE_HZ) -> None:
        self._draw, self._period_s = draw, 1.0 / rate_hz

    async def pictures(self) -> AsyncIterator[tuple[bytes, str]]:
        """Draw again and again."""
        while True:
            yield self._draw(), "image/png"
            await asyncio.sleep(self._period_s)


class Camera:
    """Fetches one arm's pictures while they are wanted, and keeps the newest."""

    def __init__(self, source: Source) -> None:
        self.newest: Picture | None = None
        self.trouble = ""
        """Why there are no pictures; empty while there are."""
        self._source = source
        self._wanted_s = float("-inf")
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()

    def want(self) -> None:
        """Somebody looks: begin to fetch, or go on."""
        self._wanted_s = monotonic_s()
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._fetch())

    def age_s(self, now_s: float) -> float | None:
        """Age of the newest picture; None if there is none."""
        return None if self.newest is None else max(0.0, now_s - self.newest.taken_s)

    async def after(self, taken_s: float, within_s: float = FETCH_S) -> Picture | None:
        """The first picture newer than that; None if none comes in time."""
        self.want()

        def newer() -> bool:
            return self.newest is not None and self.newest.taken_s > taken_s

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s), self._news:
                await self._news.wait_for(newer)
        return self.newest if newer() else None

    async def close(self) -> None:
        """Fetch no more."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _fetch(self) -> None:
        while self._wanted():
            try:
                async with contextlib.aclosing(self._source.pictures()) as pictures:  # type: ignore[type-var]
                    async for data, content_type in pictures:
                        await self._take(data, content_type)
                        if not self._wanted():
                            return
                self.trouble = "the camera has ended its stream"
            except (OSError, ValueError, TimeoutError, aiohttp.ClientError) as error:
                self.trouble = f"the camera gives no picture: {error or type(error).__name__}"
            await asyncio.sleep(AGAIN_S)

    def _wanted(self) -> bool:
        return monotonic_s() - self._wanted_s < IDLE_S

    async def _take(self, data: bytes, content_type: str) -> None:
        # A sensor has noise: the same bytes again are an old picture from a camera that hangs.
        if self.newest is None or data != self.newest.data:
            self.newest = Picture(data=data, content_type=content_type, taken_s=monotonic_s())
            self.trouble = ""
            async with self._news:
                self._news.notify_all()
        else:
            self.trouble = "the camera shows the same picture again and again"


async def _bounded(stream: aiohttp.StreamReader) -> bytes:
    data = bytearray()
    async for chunk in stream.iter_any():
        data += chunk
        if len(data) > LARGEST_BYTES:
            raise ValueError(f"a picture of more than {LARGEST_BYTES} bytes")
    return bytes(data)


async def _part(part: aiohttp.BodyPartReader) -> bytes:
    data = bytearray()
    while chunk := await part.read_chunk(1 << 16):
        data += chunk
        if len(data) > LARGEST_BYTES:
            raise ValueError(f"a picture of more than {LARGEST_BYTES} bytes")
    return bytes(data)
