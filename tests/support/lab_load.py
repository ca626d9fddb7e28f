"""Arms under load: the same loops with a lab's server, watchers and drivers around them, and bare; what came of it.

All times are readings of the machine's one monotonic clock, which loops, server and clients share.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import random
import socket
import statistics
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
from kill_rounds import Program, children
from lab_load_pages import REST_S, axis_with_room, drivers_at_pages
from lab_tally import Asked, Tally

from hil.errors import HilError
from hil.model.rig import Rig
from hil.runtime.host import Host
from hil.runtime.journal import read_journal
from hil.runtime.loop_process import LoopSlot
from hil.runtime.rtprio import go_before_others
from hil.runtime.wiring import load_rig
from hil.service import wire
from hil.service.arms import slots
from hil.service.channel import PING_S
from hil.service.client import AsyncArm
from hil.service.connection import reach
from hil.types import ArmJog, AxisJog, JogHold, JogRelease, Mode, Stop, TickRecord

SHARE = 0.25
HOLD_EVERY_S = 0.05
SILENT_S = 0.6
_TRIES = 3
_LITTLE_BYTES = 1 << 16
_STALLED_S = 2.0 * PING_S
"""A channel that has not answered a ping has been cut by then."""
_FAREWELL_S = 5.0
SETTLED_S = 8.0
"""Until the clients have begun; their beginning is not what is measured."""
STILL = 2e-3
"""rad or m: a tenth of a degree, two millimetres at most; what counts as standing still."""

WAYS = ("release", "stop", "silence")
"""How a driver ends a motion: lets go, says stop, or is heard no more."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def jog_of(rng: random.Random, axes: Sequence[wire.AxisInfo], here: Sequence[float | None]) -> AxisJog:
    """Rates for one axis, away from the limit that is nearer."""
    index, away = axis_with_room(rng, axes, here)
    rate = away * axes[index].speed * SHARE
    return AxisJog(amounts=tuple(rate if i == index else 0.0 for i in range(len(axes))))


class Mutable(AsyncArm):
    """A client whose line can hang: what it sends is lost for a while."""

    mute_until_s = float("-inf")

    async def _send(self, message: wire.FromClient) -> None:
        if time.monotonic() > self.mute_until_s:
            await super()._send(message)


# -- with the service ------------------------------------------------------------------------------------


async def _watcher(url: str, arm: str, until_s: float, tally: Tally) -> None:
    async with AsyncArm(reach(url)[0], arm, name="watcher", rate_hz=20.0) as channel:
        async for _ in channel.frames():
            tally.frames += 1
            if time.monotonic() > until_s:
                return


async def _stalled_watcher(url: str, arm: str, until_s: float, tally: Tally) -> None:
    """Asks for all that there is and reads nothing of it; comes back as often as the server cuts it."""
    hello = wire.Hello(seq=1, speaks=wire.SPOKEN, arm=arm, name="stalled", token=reach(url)[0].token_now())
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < until_s:
            channel = await session.ws_connect(f"{url}{wire.ROOT}/channel")
            # What aiohttp or the kernel takes on behalf of the reader would spare the server the stall.
            assert channel._conn is not None
            transport = channel._conn.transport
            assert transport is not None
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _LITTLE_BYTES)
            transport.pause_reading()
            for message in (hello, wire.Watch(seq=2, rate_hz=wire.MAX_RATE_HZ)):
                await channel.send_str(wire.encode(message).decode())
            await asyncio.sleep(min(_STALLED_S, until_s - time.monotonic()))
            # That it was cut stands behind all that was never read.
            transport.resume_reading()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_FAREWELL_S):
                    async for _ in channel:
                        pass
                    tally.cut += 1
            transport.abort()


async def _driver(url: str, arm: str, seed: int, until_s: float, asked: list[Asked], tally: Tally) -> None:
    rng = random.Random(seed)
    async with Mutable(reach(url)[0], arm, name=f"driver-{arm}") as channel:
        await channel.claim()
        await channel.until(lambda: channel.telemetry is not None, 10.0)
        while time.monotonic() < until_s:
            try:
                await _one_jog(channel, rng, asked)
            except HilError as error:
                tally.trouble.append(f"{arm}: {error}")
                await channel.free()
                await asyncio.sleep(REST_S)
        await channel.stop("the run is over")


async def _one_jog(channel: Mutable, rng: random.Random, asked: list[Asked]) -> None:
    assert channel.welcome is not None and channel.telemetry is not None
    ends_s = time.monotonic() + rng.uniform(0.8, 3.0)
    way = rng.choice(WAYS)
    budgets: list[float] = []

    def pressed() -> bool:
        seen = channel.telemetry
        if seen is not None and seen.stop is not None:
            budgets.append(seen.stop.total_ms)
        return time.monotonic() < ends_s

    move = jog_of(rng, channel.welcome.axes, channel.telemetry.commanded)
    jogging = asyncio.create_task(channel.jog(move, pressed, SHARE))
    if way == "release":
        await jogging
    else:
        await asyncio.sleep(max(0.0, ends_s - time.monotonic()))
        if way == "silence":
            channel.mute_until_s = time.monotonic() + SILENT_S
        jogging.cancel()
    at_s = time.monotonic()
    if way == "stop":
        await channel.stop("asked for")
    await asyncio.gather(jogging, return_exceptions=True)
    await asyncio.sleep(REST_S)
    await channel.free()
    if budgets:
        asked.append(Asked(channel.arm, way, at_s, time.monotonic(), max(budgets[-5:])))


def _run_clients(work: str, url: str, names: list[str], seeds: list[int], until_s: float, out: object) -> None:
    """In a process of its own: all watchers, the first of which reads nothing, or drivers by a program or at pages."""
    if work == "watch":
        # Watchers have computers of their own; here they get what the others leave. Drivers have to be heard in time.
        with contextlib.suppress(OSError):
            os.nice(10)
    tally, asked = Tally(), list[Asked]()

    async def all_of_them() -> None:
        if work == "pages":
            jobs = [drivers_at_pages(url, names, seeds, until_s, asked, tally)]
        elif work == "watch":
            jobs = [_watcher(url, arm, until_s, tally) for arm in names[1:]]
            jobs += [_stalled_watcher(url, arm, until_s, tally) for arm in names[:1]]
        else:
            jobs = [_driver(url, arm, seed, until_s, asked, tally) for arm, seed in zip(names, seeds, strict=True)]
        for result in await asyncio.gather(*jobs, return_exceptions=True):
            if isinstance(result, BaseException):
                tally.trouble.append(f"{work}: {type(result).__name__}: {result}")

    asyncio.run(all_of_them())
    if work == "pages":
        tally.at_pages = len(asked)
    out.send((tally, asked))  # type: ignore[attr-defined]


def served(
    arms: int, watchers: int, drivers: int, pages: int, seconds: float, rng: random.Random, folder: Path
) -> Tally:
    """A lab in a box under load, for so long; `pages` of the drivers are browsers."""
    port = free_port()
    names = [f"arm-{number}" for number in range(1, arms + 1)]
    # Whoever comes is the server's own user, with the key of its start.
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    server = Program(folder, "serve", "serve", "--demo", str(arms), "--port", str(port))
    url = f"http://127.0.0.1:{port}"
    tally = Tally()
    try:
        server.says("serving ", 30.0)
        _await_arms(url, arms, 30.0 + 20.0 * arms)
        begin_s = time.monotonic() + SETTLED_S
        until_s = begin_s + seconds
        spawn = multiprocessing.get_context("spawn")
        ends, processes = [], []
        everybody = {
            "watch": [names[i % arms] for i in range(watchers)],
            "drive": names[pages:drivers],
            "pages": names[:pages],
        }
        for work, chosen in everybody.items():
            if not chosen:
                continue
            mine, theirs = spawn.Pipe(duplex=False)
            seeds = [rng.randrange(1 << 32) for _ in chosen]
            process = spawn.Process(target=_run_clients, args=(work, url, chosen, seeds, until_s, theirs))
            process.start()
            theirs.close()
            ends.append(mine)
            processes.append(process)
        while time.monotonic() < until_s:
            time.sleep(min(5.0, max(0.1, seconds / 60.0)))
            if time.monotonic() > begin_s:
                tally.memory.append(memory_of(server.pid))
        asked: list[Asked] = []
        for mine, process in zip(ends, processes, strict=True):
            theirs_tally, stops = mine.recv()
            tally.frames += theirs_tally.frames
            tally.cut += theirs_tally.cut
            tally.at_pages += theirs_tally.at_pages
            tally.let_go += theirs_tally.let_go
            tally.trouble += theirs_tally.trouble
            asked += stops
            process.join()
        server.process.terminate()
        server.ends(30.0)
        said = server.err.read_text()
        if "Traceback" in said:
            tally.trouble.append(f"the server: {said}")
    finally:
        server.clear_up()
    _read_journals(folder / "state", tally, begin_s, until_s, asked)
    return tally


def _await_arms(url: str, arms: int, within_s: float) -> None:
    from hil.service.connection import list_arms

    deadline_s, modes = time.monotonic() + within_s, list[str]()
    while time.monotonic() < deadline_s:
        with contextlib.suppress(HilError):
            modes = [each.mode.value for each in list_arms(reach(url)[0]).arms]
            if modes == [Mode.IDLE.value] * arms:
                return
        time.sleep(0.5)
    raise AssertionError(f"not all {arms} arms are there after {within_s} s: {', '.join(modes)}")


def memory_of(pid: int) -> int:
    """Bytes that a process and all below it take up, what they share among them counted once.

    Not what each has to itself: pages of a ring are the loop's alone until the recorder has read them.
    """
    whole, queue = 0, [pid]
    while queue:
        each = queue.pop()
        with contextlib.suppress(OSError, ValueError):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            whole += sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        queue += children(each)
    return whole


def quarters(memory: Sequence[int]) -> tuple[float, float]:
    """What was in use in the second and in the last quarter; the first one is for what is made once."""
    quarter = max(1, len(memory) // 4)
    return statistics.median(memory[quarter : 2 * quarter] or memory), statistics.median(memory[-quarter:])


# -- bare ------------------------------------------------------------------------------------------------


def bare(arms: int, seconds: float, rng: random.Random, folder: Path) -> Tally:
    """The same loops, jogged as much, each by a process of its own that does nothing else.

    What hands out cores to them keeps itself off those, and them from others, until it ends: a process of its own, too.
    """
    spawn = multiprocessing.get_context("spawn")
    mine, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_bare, args=(arms, seconds, random.Random(rng.randrange(1 << 32)), folder, theirs))
    process.start()
    theirs.close()
    try:
        tally: Tally = mine.recv()
    finally:
        process.join()
    return tally


def _bare(arms: int, seconds: float, rng: random.Random, folder: Path, out: Connection) -> None:
    rig_folder, journals = folder / "rigs", folder / "journals"
    rig_folder.mkdir(parents=True)
    journals.mkdir()
    paths = []
    for number in range(1, arms + 1):
        path = rig_folder / f"arm-{number}.toml"
        path.write_text(f'inherit = "lynx6"\ntitle = "arm {number}"\n')
        paths.append(path)
    spawn = multiprocessing.get_context("spawn")
    period_s = load_rig(paths[0], calibrated=False).period_s
    shares = slots([period_s] * arms)
    ready, go = spawn.Semaphore(0), spawn.Event()
    begin = spawn.Value("d", 0.0)
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    processes = []
    for path, slot in zip(paths, shares, strict=True):
        arguments = (path, slot, rng.randrange(1 << 32), seconds, journals / f"{path.stem}.mcap", ready, go, begin)
        processes.append(spawn.Process(target=_bare_arm, args=arguments))
        processes[-1].start()
        if not ready.acquire(timeout=60.0 * _TRIES):
            for process in processes:
                process.terminate()
            raise AssertionError(f"{path.stem} did not come up")
    begin.value = time.monotonic() + 3.0
    go.set()
    for process in processes:
        process.join(seconds + 60.0)
    tally = Tally()
    _read_journals(journals, tally, begin.value, begin.value + seconds, [])
    if tally.ticks < 0.99 * arms * seconds / period_s:
        tally.trouble.append(f"{tally.ticks} ticks of the bare loops: one of them ended early")
    out.send(tally)


def _bare_arm(
    path: Path, slot: LoopSlot, seed: int, seconds: float, journal: Path, ready: object, go: object, begin: object
) -> None:
    rig, rng = load_rig(path, calibrated=False), random.Random(seed)
    for tries in range(_TRIES):
        # As the service does, where others crowd the machine at the moment.
        with contextlib.suppress(HilError):
            with Host(
                rig, url=None, journal=journal.with_stem(f"{journal.stem}-{tries}"), command="a load test", slot=slot
            ) as host:
                go_before_others()
                host.connect(lambda reported: "a test")
                ready.release()  # type: ignore[attr-defined]
                host.until(lambda: go.is_set(), 600.0)  # type: ignore[attr-defined]
                until_s = begin.value + seconds  # type: ignore[attr-defined]
                seq = 0
                while time.monotonic() < until_s:
                    seq = _bare_jog(host, rig, rng, seq)
            return


def _bare_jog(host: Host, rig: Rig, rng: random.Random, seq: int) -> int:
    assert host.last is not None
    axes = [
        wire.AxisInfo(name=a.name, kind=a.kind.value, lower=a.lower, upper=a.upper, speed=a.speed, home=0.0, park=0.0)
        for a in rig.axes
    ]
    move = jog_of(rng, axes, host.last.setpoint)
    ends_s = time.monotonic() + rng.uniform(0.8, 3.0)
    host.send(ArmJog(speed_share=SHARE))
    host.until(lambda: host.mode is Mode.ARMED, 1.0)
    while time.monotonic() < ends_s:
        seq += 1
        host.send(JogHold(seq=seq, issued_s=time.monotonic(), move=move))
        due_s = time.monotonic() + HOLD_EVERY_S
        host.until(lambda due_s=due_s: time.monotonic() > due_s, 1.0)  # type: ignore[misc]
    seq += 1
    host.send(JogRelease(seq=seq), Stop(reason="asked for"))
    rest_s = time.monotonic() + REST_S
    host.until(lambda: time.monotonic() > rest_s, 5.0)
    return seq


# -- what the journals say -------------------------------------------------------------------------------


def _read_journals(folder: Path, tally: Tally, begin_s: float, until_s: float, asked: Sequence[Asked]) -> None:
    for path in sorted(folder.rglob("*.mcap")):
        arm = "-".join(path.stem.split("-")[:2])
        ticks = [entry.tick for entry in read_journal(path) if entry.tick is not None]
        counted = [tick for tick in ticks if begin_s <= tick.t_s <= until_s]
        if not counted:
            continue
        tally.late_s[arm] = [tick.late_s for tick in counted]
        tally.missed[arm] = counted[-1].missed - counted[0].missed
        tally.stops += [
            (each, took) for each in asked if each.arm == arm and (took := _took_ms(ticks, each)) is not None
        ]


def _took_ms(ticks: Sequence[TickRecord], asked: Asked) -> float | None:
    """How long the arm went on after a stop was asked for, by the shadow's servos; None if it stood already."""
    after = [tick for tick in ticks if asked.at_s <= tick.t_s <= asked.until_s]
    if not after:
        return None
    rest = after[-1].simulated.positions
    moving = [
        tick.t_s
        for tick in after
        if any(a is not None and b is not None and abs(a - b) > STILL
               for a, b in zip(tick.simulated.positions, rest, strict=True))
    ]  # fmt: skip
    return 1e3 * (moving[-1] - asked.at_s) if moving else None
