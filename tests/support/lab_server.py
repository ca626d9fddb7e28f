"""A lab's server in this process on loopback, its arms on virtual time, and a driver who speaks the wire by hand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web
from shared_previews import SharedPreviews

from hil.clock import monotonic_s
from hil.errors import InterlockError
from hil.runtime import wiring
from hil.service.app import application
from hil.service.arm_channel import ArmReport
from hil.service.arm_worker import ArmSpec, Reports
from hil.service.arms import ArmProcess
from hil.service.bookings import Bookings
from hil.service.callers import Callers
from hil.service.connection import reach
from hil.service.courses.books import open_courses
from hil.service.demo import demo_arms
from hil.service.doors import Door
from hil.service.front_site import FrontSite
from hil.service.keys import SigningKey
from hil.service.lab_request import Access
from hil.service.lease_settings import LeaseSettings
from hil.service.local_key import LocalKey
from hil.service.people_file import IN_MEMORY
from hil.service.preview_desk import PreviewDesk
from hil.service.revocation import HEADING, Revocations
from hil.service.running_lab import ArmPlan, MakeArm, RunningLab
from hil.service.settings import COURSES, Settings
from hil.service.tokens import TokenChecker
from hil.service.uploads import Job, UploadVerdict
from hil.types import FollowTarget, JogHold, Mode, Request

TOKEN_KEY = SigningKey(b"k" * 32)
LOCAL = LocalKey("of-this-start")
PATIENT = Settings(lease=LeaseSettings(stop_after_s=1.0, suspend_after_s=5.0, command_age_s=1.0))
"""A machine that is busy with other tests must not look like a driver who has gone silent."""

TICK_S = 0.002
BY_HAND_TICK_S = 0.02
"""What a hand wants comes by this process's time and counts for a fifth of the arm's second: it may not hurry."""
PATIENCE_S = 40.0
LOOK_S = 0.05
MOST_STEP_S = 0.05


class VirtualWorker:
    """The real bridge, driver and fake of an arm on virtual time, ahead of this process's but while a hand moves it."""

    def __init__(
        self,
        spec: ArmSpec,
        *,
        on_report: Callable[[ArmReport], None],
        on_away: Callable[[str], None],
        turn: asyncio.Semaphore,
    ) -> None:
        self.away = ""
        self.begun_s: float | None = None
        self.sent: list[Request] = []
        self.beats = 0
        self.held_up = False
        """The loop takes nothing for now, as if the machine were busy with something else."""
        self._spec, self._on_report, self._on_away = spec, on_report, on_away
        self._arm = wiring.virtual_arm(spec.rig, spec.rig.park, energised=True, epoch_offset_s=time.time())
        self._reports = Reports(spec.rig)
        self._requests: list[Request] = []
        self._known = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def settled(self) -> bool:
        return self._known == len(self.sent)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def send(self, *requests: Request) -> None:
        if self.away:
            raise InterlockError(f"{self._spec.rig.id} is not there: {self.away}")
        self.sent.extend(requests)
        self._requests.extend(requests)

    def beat(self) -> None:
        self.beats += 1

    async def close(self, reason: str) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    def lose(self, words: str) -> None:
        """As if the worker had ended."""
        self.away = words
        self._on_away(words)

    async def _run(self) -> None:
        bridge, clock = self._arm.bridge, self._arm.clock
        by_hand = False
        while True:
            if self.held_up:
                await asyncio.sleep(TICK_S)
                continue
            requests, self._requests, taken = self._requests, [], len(self.sent)
            now_s = clock.now_s()
            # The server stamps holds with the machine's clock; this arm lives by another.
            fresh = [
                msgspec.structs.replace(r, issued_s=now_s) if isinstance(r, JogHold | FollowTarget) else r
                for r in requests
            ]
            record = bridge.tick(now_s, fresh)
            by_hand = record.mode is Mode.STREAMING and (
                by_hand or any(isinstance(r, JogHold | FollowTarget) for r in fresh)
            )
            self._reports.take(record)
            due = record.tick % 5 == 0 or record.events or record.requests
            if not self.away and due and (report := self._reports.report(now_s)):
                self._known = taken
                self._on_report(report)
            clock.sleep_until(now_s + self._spec.rig.period_s)
            await asyncio.sleep(BY_HAND_TICK_S if by_hand else TICK_S)


def resting_report(spec: ArmSpec) -> ArmReport:
    """What a worker says of an arm that rests in its park pose."""
    park = spec.rig.park
    return ArmReport(
        tick=1, t_s=1.0, sent_s=1.0, mode=Mode.IDLE, sample=None, commanded=park, setpoint=park, simulated=park,
        reported=None, source=None, wire_s=None, taken=0, ticks=1, written_bytes=0, late_s=0.0, work_s=0.0,
        missed=0,
    )  # fmt: skip


class PatientTime:
    """The machine's clock, but for what this process did not get of the machine: that is no silence of anybody in it.

    It stands in `hil.clock` for the module `time`. The longest step from one reading to the next is `MOST_STEP_S`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_s, self._lost_s = time.monotonic(), 0.0

    def monotonic(self) -> float:
        """Seconds, never backwards."""
        with self._lock:
            now_s = time.monotonic()
            self._lost_s += max(0.0, now_s - self._read_s - MOST_STEP_S)
            self._read_s = now_s
            return now_s - self._lost_s

    perf_counter = monotonic

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@contextlib.asynccontextmanager
async def patient_time() -> AsyncIterator[None]:
    """Nobody in this process falls silent because the machine is busy with something else."""

    async def read() -> None:
        while True:
            monotonic_s()
            await asyncio.sleep(MOST_STEP_S / 5.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hil.clock.time", PatientTime())
        reading = asyncio.create_task(read())
        try:
            yield
        finally:
            reading.cancel()


class LatePreviews:
    """Previews as they are, given out only when they shall be.

    Attributes:
        asked: somebody waits for one.
        given: they are given out from now on.
    """

    def __init__(self, previews: PreviewDesk) -> None:
        self._previews = previews
        self.asked, self.given = asyncio.Event(), asyncio.Event()

    async def preview(self, job: Job) -> UploadVerdict:
        """One preview."""
        found = await self._previews.preview(job)
        self.asked.set()
        await self.given.wait()
        return found

    def close(self) -> None:
        """End what gives them."""
        self._previews.close()


class Served:
    """A running lab: its address, and its arms by name."""

    def __init__(self, lab: RunningLab, url: str, session: ClientSession, workers: dict[str, VirtualWorker]) -> None:
        self.lab, self.url, self.session, self.workers = lab, url, session, workers
        self._people: list[Person] = []

    @property
    def access(self) -> Access:
        """As this user's commands have it."""
        return reach(self.url)[0]

    async def empty(self) -> None:
        """Everybody leaves."""
        for person in self._people:
            await person.leave()

    async def reach(self, mode: Mode, arm: str = "arm-1") -> None:
        """Wait for a mode."""
        async with asyncio.timeout(PATIENCE_S):
            while self.lab.desks[arm].loop.mode is not mode:
                await asyncio.sleep(0.01)

    async def join(self, arm: str = "arm-1", **hello: Any) -> Person:
        """Open a channel, say hello, and wait for the welcome."""
        person = Person(await self.session.ws_connect(f"{self.url}/v1/channel"), arm)
        self._people.append(person)
        key = self.lab.door.local_key
        said = {"speaks": [1], "arm": arm} | ({} if key is None else {"token": key.text}) | hello
        await person.send("hello", **said)
        await person.until(lambda: person.welcome is not None or person.bye is not None)
        return person

    async def driver(self) -> Person:
        """Somebody who drives the first arm and holds the dead-man, once every arm is idle."""
        await self.ready()
        person = await self.join()
        await person.drive()
        return person

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        async with self.session.get(f"{self.url}{path}", **options) as response:
            return response.status, json.loads(await response.read())

    async def ready(self) -> None:
        """Wait until every arm is idle."""
        async with asyncio.timeout(PATIENCE_S):
            while any(desk.loop.mode is not Mode.IDLE for desk in self.lab.desks.values()):
                await asyncio.sleep(0.01)


class Person:
    """Somebody at the other end of a channel."""

    def __init__(self, socket: ClientWebSocketResponse, arm: str) -> None:
        self.arm = arm
        self.welcome: dict[str, Any] | None = None
        self.bye: dict[str, Any] | None = None
        self.lease: dict[str, Any] = {}
        self.yours = False
        self.answers: dict[int, dict[str, Any]] = {}
        self.notices: list[dict[str, Any]] = []
        self.frames: list[dict[str, Any]] = []
        self.holding: dict[str, Any] = {}
        self.presence: dict[str, Any] = {}
        self.held = False
        self.closed = False
        self._socket, self._seq = socket, 0
        self._clock = (0.0, 0.0)
        self._news = asyncio.Event()
        self._tasks = [asyncio.create_task(self._read())]

    async def send(self, kind: str, **fields: Any) -> int:
        """Send a message; gives its number."""
        self._seq += 1
        await self.send_raw(json.dumps({"type": kind, "v": 1, "seq": self._seq, **fields}))
        return self._seq

    async def send_raw(self, text: str) -> None:
        """Send a text frame."""
        with contextlib.suppress(ConnectionError):
            await self._socket.send_str(text)

    async def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Send a message and wait for its answer."""
        number = await self.send(kind, **fields)
        await self.until(lambda: number in self.answers or self.closed)
        return self.answers.get(number) or {"type": "closed"}

    async def order(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A command under the present epoch."""
        given = {"arm": self.arm, "epoch": self.lease["epoch"], "issued_s": self.now_s(), **fields}
        return await self.ask(kind, **given)

    async def accepted(self, kind: str, **fields: Any) -> None:
        """A command that is accepted; where a busy machine has let the dead-man lapse, it is pressed anew."""
        while (answer := await self.order(kind, **fields))["type"] != "accepted":
            # Before the command came, or while it was planned.
            assert answer["code"] == "deadman" or "the dead-man was released" in answer["reason"], answer
            await self.hold()

    async def drive(self) -> None:
        """Claim the arm, begin to beat with the dead-man free, then hold it."""
        answer = await self.ask("claim")
        assert answer["type"] == "accepted", answer
        await self.until(lambda: self.yours)
        self._tasks.append(asyncio.create_task(self._beat()))
        await self.hold()

    async def hold(self) -> None:
        """Let the dead-man go, and hold it again."""
        self.held = False
        await self.beat()
        self.held = True
        await self.beat()

    async def beat(self) -> dict[str, Any]:
        """One sign of life."""
        return await self.order("beat", held=self.held)

    def fall_silent(self) -> None:
        """Beat no more."""
        for task in self._tasks[1:]:
            task.cancel()

    async def _beat(self) -> None:
        while not self.closed:
            await self.send("beat", arm=self.arm, epoch=self.lease["epoch"], held=self.held, issued_s=self.now_s())
            await asyncio.sleep(0.05)

    def now_s(self) -> float:
        """The server's clock."""
        return self._clock[0] + monotonic_s() - self._clock[1]

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until something is so, of this person or of the lab, which may tell a person nothing."""
        async with asyncio.timeout(PATIENCE_S):
            while not reached():
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), LOOK_S)

    async def _read(self) -> None:
        async for frame in self._socket:
            if frame.type is not WSMsgType.TEXT:
                break
            self._take(json.loads(frame.data))
            self._news.set()
        self.closed = True
        self._news.set()

    def _take(self, message: dict[str, Any]) -> None:
        if "now_s" in message:
            self._clock = (message["now_s"], monotonic_s())
        match message["type"]:
            case "welcome":
                self.welcome = message
            case "bye":
                self.bye = message
            case "lease":
                self.lease, self.yours = message["lease"], message["yours"]
            case "notice":
                self.notices.append(message)
            case "telemetry":
                self.frames.append(message)
            case "holding":
                self.holding = message
            case "presence":
                self.presence = message
            case _:
                self.answers[message["to"]] = message

    async def leave(self) -> None:
        """Close the channel."""
        self.fall_silent()
        await self._socket.close()
        await self._tasks[0]


def made_lab(
    folder: Path,
    plans: Sequence[ArmPlan],
    *,
    make_arm: MakeArm = ArmProcess,
    settings: Settings = PATIENT,
    door: Door | None = None,
) -> RunningLab:
    """A lab that keeps everything in this folder, its courses among it; nothing runs yet."""
    robots = {plan.arm: plan.rig.robot.id for plan in plans}
    return RunningLab(
        settings,
        plans,
        door=door or Door(LOCAL),
        bookings=Bookings(IN_MEMORY, settings.bookings),
        audit_folder=folder / "audit",
        audit_key=SigningKey(b"a" * 32),
        journals=folder / "journals",
        command="test",
        address="",
        say=said.append,
        make_arm=make_arm,
        leases=folder / "leases.json",
        courses=open_courses(folder, robots, said.append) if (folder / COURSES).is_dir() else None,
    )


@contextlib.asynccontextmanager
async def answering(
    lab: RunningLab,
    workers: dict[str, VirtualWorker] | None = None,
    *,
    trust_proxy: bool = False,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Served]:
    """The lab's server on loopback."""
    scheme = "http" if tls is None else "https"
    callers = Callers()
    runner = web.AppRunner(application(lab, callers, trust_proxy=trust_proxy), shutdown_timeout=1.0)
    await runner.setup()
    key = lab.door.local_key
    async with ClientSession(headers={} if key is None else {"Authorization": f"Bearer {key.text}"}) as session:
        keep = (lambda _: None) if key is None else key.keep
        await FrontSite(runner, "127.0.0.1", 0, callers, bound=keep, tls=tls).start()
        port = runner.addresses[0][1]
        found = Served(lab, f"{scheme}://127.0.0.1:{port}", session, {} if workers is None else workers)
        try:
            yield found
        finally:
            await found.empty()
            await runner.cleanup()


@contextlib.asynccontextmanager
async def served(
    folder: Path,
    *,
    arms: int = 1,
    keyed: bool = False,
    settings: Settings = PATIENT,
    trust_proxy: bool = False,
    tls: ssl.SSLContext | None = None,
    patient: bool = True,
) -> AsyncIterator[Served]:
    """A lab of virtual arms, its server on loopback; the next one in the same folder goes on where it ended.

    `patient`: everybody is in this process, and has its time.
    """
    (folder / "rigs").mkdir(exist_ok=True)
    (folder / "revoked.txt").write_text(HEADING)
    workers: dict[str, VirtualWorker] = {}

    def make(spec: ArmSpec, **options: Any) -> VirtualWorker:
        return workers.setdefault(spec.rig.id, VirtualWorker(spec, **options))

    door = Door(TokenChecker([TOKEN_KEY.public], Revocations(folder / "revoked.txt")) if keyed else LOCAL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hil.service.preview_desk._Worker", SharedPreviews)
        lab = made_lab(folder, demo_arms(arms, "lynx6", folder / "rigs"), make_arm=make, settings=settings, door=door)
    async with (
        patient_time() if patient else contextlib.nullcontext(),
        answering(lab, workers, trust_proxy=trust_proxy, tls=tls) as found,
    ):
        yield found


said: list[str] = []


def run(test: Callable[[], Any], within_s: float = 60.0) -> None:
    """Run a test's coroutine."""

    async def bounded() -> None:
        async with asyncio.timeout(within_s):
            await test()

    asyncio.run(bounded())


def kinds(requests: Sequence[Request]) -> list[str]:
    """What was asked of a loop, by name."""
    return [type(request).__name__ for request in requests]
