"""A server that runs for weeks: lines on which nothing happens, and what is left of lines that broke off."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import weakref
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

pytest.importorskip("aiohttp")

from hil.cli import serve as serving
from hil.service.merged_lines import MergedLines
from hil.service.settings import ListenSettings, Settings

PATIENCE_S = 20.0


class Left:
    """Something that refers to itself, as the rest of a line does."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def no_garbage_by_number() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.usefixtures("no_garbage_by_number")
def test_what_is_left_of_lines_goes_by_the_clock_however_little_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SWEEP_S", 0.01)
    left = weakref.ref(Left())
    assert left() is not None

    async def story() -> None:
        told = asyncio.Event()
        waiting = asyncio.create_task(serving._wait_and_sweep(told, MergedLines(print, lambda: 0.0)))
        async with asyncio.timeout(PATIENCE_S):
            while left() is not None:
                await asyncio.sleep(0.01)
            assert not waiting.done()
            told.set()
            await waiting

    asyncio.run(story())


@pytest.mark.usefixtures("no_garbage_by_number")
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET / HTT"])
def test_a_line_on_which_nothing_more_is_asked_for_is_closed(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(serving, "IDLE_S", 0.2)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])

    async def nothing(*_: object) -> None: ...

    lab = SimpleNamespace(
        say=print,
        start=nothing,
        close=nothing,
        courses=None,
        desks={"arm-1": None},
        door=SimpleNamespace(keyed=True, local_key=None),
    )

    lines = MergedLines(print, lambda: 0.0)

    async def story() -> None:
        server = asyncio.create_task(serving._run(lab, Settings(listen=ListenSettings(port=port)), None, False, lines))  # type: ignore[arg-type]
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with contextlib.suppress(ConnectionError):
                    reader, writer = await asyncio.open_connection("127.0.0.1", port)
                    break
                await asyncio.sleep(0.05)
            writer.write(sent)
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 200") is (len(sent) > 20)
        writer.close()
        server.cancel()
        await asyncio.gather(server, return_exceptions=True)

    asyncio.run(story())
