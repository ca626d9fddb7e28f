"""A lab in a thread of its own, and a browser at its page: for tests and campaigns of the page.

The arm lives in the lab's process at about the pace of a real one, so that how long it goes on after a hand has opened
can be asked of it: the commands that its driver sent, report by report, by the clock of this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import lab_server
from lab_server import PATIENT, Served, served

from hil.clock import monotonic_s
from hil.service.arm_channel import ArmReport
from hil.service.settings import Settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

T = TypeVar("T")

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
REAL_TICK_S, CATCHING_UP_S = 0.018, 0.001
"""The arm's period is 20 ms; what a tick takes comes on top. A clock of the arm that falls behind the lab's catches up:
a certificate that is made now would be of the future for it."""

LAG_S = 0.02

PATIENCE_MS = 30_000.0

STILL_S = 0.4
"""An arm whose command has not changed for so long stands."""


def why_no_browser() -> str:
    """Why there can be no browser here; empty if there can."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        return "playwright is not installed: pip install -e '.[dev]'"
    return "" if Path(CHROMIUM).exists() else "no chromium here: apt-get install chromium"


class LabThread:
    """A lab with a life of its own.

    Attributes:
        served: the lab; its coroutines are run by `do`.
        moved: when the first arm's command changed, and what it was then; in seconds of the machine's clock.
    """

    def __init__(self, served_lab: Served, loop: asyncio.AbstractEventLoop) -> None:
        self.served, self._loop = served_lab, loop
        self.moved: list[tuple[float, tuple[float | None, ...]]] = []
        self._arm_clock = served_lab.workers["arm-1"]._arm.clock
        self._moved_arm_s = self._arm_clock.now_s()
        self._listen()

    @property
    def url(self) -> str:
        """Where a browser begins, with the key of the start."""
        key = self.served.lab.door.local_key
        return f"{self.served.url}/#arm-1{'' if key is None else f'?key={key.text}'}"

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the lab's thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60.0)

    def _listen(self) -> None:
        worker = self.served.workers["arm-1"]
        before = worker._on_report

        def came(report: ArmReport) -> None:
            if not self.moved or self.moved[-1][1] != report.commanded:
                self.moved.append((monotonic_s(), report.commanded))
                self._moved_arm_s = self._arm_clock.now_s()
            before(report)

        worker._on_report = came

    def still(self, within_s: float = 5.0) -> bool:
        """Wait until the arm stands."""
        until_s = monotonic_s() + within_s
        pause = threading.Event()
        while monotonic_s() < until_s:
            # By its own clock, too: on a busy machine an arm that has had no turn for so long does not stand.
            arm_s = self._arm_clock.now_s() - self._moved_arm_s
            if self.moved and monotonic_s() - self.moved[-1][0] > STILL_S and arm_s > STILL_S:
                return True
            pause.wait(0.02)
        return False

    def went_on_s(self, since_s: float) -> float:
        """For how long the arm's command still changed after this moment."""
        return max(0.0, self.moved[-1][0] - since_s) if self.moved else 0.0


@contextlib.contextmanager
def lab_thread(folder: Path, *, settings: Settings = PATIENT, **options: Any) -> Iterator[LabThread]:
    """A lab of virtual arms that answers while this thread does something else."""
    began: list[LabThread] = []
    failed: list[BaseException] = []
    ready, over = threading.Event(), threading.Event()

    async def live() -> None:
        async with served(folder, settings=settings, patient=False, **options) as lab:
            await lab.ready()
            began.append(LabThread(lab, asyncio.get_running_loop()))
            ready.set()
            # It has come up as fast as it could; from here on it lives as fast as the browser does.
            clock = lab.workers["arm-1"]._arm.clock
            ahead_s = clock.now_s() - monotonic_s()
            while not over.is_set():
                behind = clock.now_s() - monotonic_s() < ahead_s - LAG_S
                lab_server.TICK_S = lab_server.BY_HAND_TICK_S = CATCHING_UP_S if behind else REAL_TICK_S
                await asyncio.sleep(0.01)

    def run() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:  # said in the thread that waits
            failed.append(error)
        finally:
            ready.set()

    paces = lab_server.TICK_S, lab_server.BY_HAND_TICK_S
    thread = threading.Thread(target=run, name="lab")
    thread.start()
    try:
        ready.wait(60.0)
        if failed or not began:
            raise RuntimeError("the lab did not come up") from (failed[0] if failed else None)
        yield began[0]
    finally:
        over.set()
        thread.join(30.0)
        lab_server.TICK_S, lab_server.BY_HAND_TICK_S = paces


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; what is expected of its pages may take as long as a busy machine needs."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def page_at(browser: Browser, url: str, *, phone: bool = False, language: str = "en") -> Iterator[Page]:
    """A page of its own, with nothing kept from before; faults of its program fail."""
    options: dict[str, Any] = {"viewport": PHONE if phone else DESKTOP, "locale": language}
    if phone:
        options |= {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    context = browser.new_context(**options)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    try:
        page.goto(url)
        yield page
    finally:
        context.close()
    assert not faults, faults


class Relay:
    """A line between browser and lab that is as slow as it is told to be, or gone.

    Attributes:
        delay_s: one way.
        port: of the lab, on this computer.
        url: where it listens itself.
    """

    def __init__(self, port: int, delay_s: float) -> None:
        self.delay_s = delay_s
        self.url = ""
        self.port = port
        self._writers: list[asyncio.StreamWriter] = []

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def send() -> None:
            while True:
                due_s, data = await queue.get()
                await asyncio.sleep(max(0.0, due_s - loop.time()))
                if not data:
                    writer.close()
                    return
                if not writer.transport.is_closing():
                    writer.write(data)

        sender = asyncio.create_task(send())
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                queue.put_nowait((loop.time() + self.delay_s, data))
        queue.put_nowait((loop.time() + self.delay_s, b""))
        with contextlib.suppress(ConnectionError):
            await sender

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, back]
        # At the end of the relay whatever is on its way is dropped.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer))

    def cut(self) -> None:
        """Break every connection off."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


class RelayThread:
    """A relay with a life of its own.

    Attributes:
        relay: its line.
    """

    def __init__(self, relay: Relay, loop: asyncio.AbstractEventLoop) -> None:
        self.relay, self._loop = relay, loop

    def cut(self) -> None:
        """Break every connection off."""
        self._loop.call_soon_threadsafe(self.relay.cut)

    def address(self, lab: LabThread) -> str:
        """As `LabThread.url`, but by way of the relay; to this lab from now on."""
        self.relay.port = port_of(lab.served.url)
        return lab.url.replace(lab.served.url, self.relay.url)


def port_of(url: str) -> int:
    """The port of an address."""
    return int(url.rpartition(":")[2])


@contextlib.contextmanager
def relay_thread(delay_s: float = 0.0) -> Iterator[RelayThread]:
    """A relay to whatever lab `address` names."""
    found: list[RelayThread] = []
    ready, over = threading.Event(), threading.Event()

    async def live() -> None:
        relay = Relay(0, delay_s)
        server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
        relay.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        found.append(RelayThread(relay, asyncio.get_running_loop()))
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.02)
        server.close()
        relay.cut()
        await asyncio.sleep(0.1)

    thread = threading.Thread(target=lambda: asyncio.run(live()), name="relay")
    thread.start()
    try:
        ready.wait(30.0)
        yield found[0]
    finally:
        over.set()
        thread.join(30.0)


def patient(reached: Callable[[], bool], within_s: float = 20.0) -> bool:
    """Wait for something that comes from the lab's thread."""
    until_s, pause = monotonic_s() + within_s, threading.Event()
    while monotonic_s() < until_s:
        if reached():
            return True
        pause.wait(0.02)
    return reached()
