"""Strangers and cheats at a lab's door: thousands of messages that may move nothing, and bytes that mean nothing.

The server is a process of its own with real keys; its arms are fakes. What moved is read from telemetry and journal.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
import random
import ssl
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from kill_rounds import Program, await_that
from lab_load import free_port, memory_of, quarters

from hil.errors import HilError
from hil.runtime.journal import read_journal
from hil.service import wire
from hil.service.connection import list_arms
from hil.service.grants import Grant
from hil.service.keys import SigningKey
from hil.service.lab_request import Access
from hil.service.rights import Role
from hil.service.setup import make_lab
from hil.service.tokens import issue
from hil.types import WRITING, Mode

OURS, OTHER = "left", "right"
TRACEBACK = "Traceback (most recent call last)"
GROWTH_BYTES = 16 << 20
"""More than this, from the second to the last quarter of the noise, is growth."""

HELD = ("jog_hold", "follow_target", "start", "go", "gripper", "self_test")
"""What moves an arm only while the dead-man is held."""

MOVING = (*HELD, "jog_step", "arm_jog", "arm_motion", "confirm", "go_limp", "reset")
STANDING = (Mode.IDLE, Mode.HOLDING, Mode.ESTOP, Mode.UNKNOWN_POSE)
"""Where noise may leave an arm: anybody may stop it, and say that its supply was cut."""

ANSWER_S = 2.0


@dataclass
class Report:
    """What came of it.

    Attributes:
        answers: how often each answer came.
        wrong: what must not be.
        memory: bytes of the server and its children over time.
    """

    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)


class Target:
    """A server with two fakes, and its keys."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.seeds = (os.urandom(32), os.urandom(32))
        made = make_lab(folder / "lab", name="fuzz", hosts=(), arms={OURS: "lynx6", OTHER: str(_copy(folder))},
                        seeds=self.seeds, now_epoch_s=time.time(), port=self.port)  # fmt: skip
        self.url, self.fingerprint = f"https://127.0.0.1:{self.port}", made.fingerprint
        self.server = Program(folder, "serve", "serve", "--lab", str(folder / "lab"))
        self.server.says("serving ", 30.0)
        await_that(self._there, 90.0, "the arms are not there")

    def _there(self) -> bool:
        with contextlib.suppress(HilError):
            return all(arm.mode is Mode.IDLE for arm in list_arms(self.access(self.token(Role.WATCH))).arms)
        return False

    def access(self, token: str) -> Access:
        return Access(url=self.url, token=token, certificate_sha256=self.fingerprint)

    def token(
        self, role: Role, *, arms: tuple[str, ...] = ("*",), begin_s: int = -10, end_s: int = 36_000,
        seed: bytes | None = None, user: str = "Mallory",
    ) -> str:  # fmt: skip
        now_s = int(time.time())
        grant = Grant(token_id=uuid.uuid4().hex[:16], user=user, arms=arms, role=role, speed_share=1.0, box=None,
                      issued_s=now_s + begin_s, not_before_s=now_s + begin_s, expires_s=now_s + end_s)  # fmt: skip
        return issue(grant, SigningKey(self.seeds[0] if seed is None else seed))

    @property
    def tls(self) -> aiohttp.Fingerprint:
        return aiohttp.Fingerprint(bytes.fromhex(self.fingerprint))


def _copy(folder: Path) -> Path:
    path = folder / "second.toml"
    path.write_text('inherit = "lynx6"\ntitle = "another"\n')
    return path


# -- cheats ----------------------------------------------------------------------------------------------


def bad_tokens(target: Target, rng: random.Random) -> dict[str, Callable[[], str]]:
    """Tokens that open nothing, by what is wrong with them."""
    good = target.token(Role.TEACH)

    def forged() -> str:
        return target.token(Role.TEACH, seed=rng.randbytes(32))

    def cut() -> str:
        return good[: rng.randrange(len(good))]

    def changed() -> str:
        at = rng.randrange(len(good))
        return good[:at] + rng.choice("ABCabc012-_.") + good[at + 1 :]

    def unsigned() -> str:
        head = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
        return f"{head}.{good.split('.')[1]}."

    def promoted() -> str:
        head, body, signature = target.token(Role.WATCH).split(".")
        claims = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).replace(b'"watch"', b'"teach"')
        return f"{head}.{base64.urlsafe_b64encode(claims).rstrip(b'=').decode()}.{signature}"

    return {
        "forged": forged,
        "cut": cut,
        "changed": lambda: next(token for token in iter(changed, None) if token != good),
        "unsigned": unsigned,
        "promoted": promoted,
        "expired": lambda: target.token(Role.TEACH, begin_s=-100, end_s=-1),
        "too early": lambda: target.token(Role.TEACH, begin_s=100),
        "another arm's": lambda: target.token(Role.TEACH, arms=(OTHER,)),
        "none": lambda: "",
    }


def motion(kind: str, rng: random.Random, **given: Any) -> dict[str, Any]:
    """A message that would move an arm if everything about it were right."""
    move = {"type": "axes", "amounts": [rng.uniform(-1.0, 1.0) for _ in range(6)]}
    fields: dict[str, Any] = {"type": kind, "v": 1, "arm": OURS, "epoch": 1, "issued_s": time.monotonic()}
    fields |= {
        "jog_hold": {"move": move},
        "jog_step": {"move": move},
        "arm_jog": {"speed_share": 1.0},
        "start": {"digest": rng.randbytes(32).hex()},
        "arm_motion": {"digest": rng.randbytes(32).hex()},
        "go": {"to": "home", "speed_share": 1.0},
        "gripper": {"opening_m": 0.02, "speed_share": 1.0},
        "self_test": {"speed_share": 1.0},
        "go_limp": {"axis": "shoulder"},
        "follow_target": {"v": 2, "target": {"type": "axes", "positions": [rng.uniform(-1.0, 1.0) for _ in range(6)]}},
    }.get(kind, {})
    return fields | given


class Voice:
    """A channel spoken by hand."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket, self.seq, self.epoch, self.yours = socket, 1, 0, False
        self.used = 1
        """The highest number that surely was taken: that of a beat which was answered."""

    async def say(self, message: dict[str, Any]) -> None:
        if "seq" not in message:
            self.seq += 1
            message = {**message, "seq": self.seq}
        await self.socket.send_str(json.dumps(message))

    async def answer(self) -> str:
        """Kind of the next answer, code included; ``closed`` at the end."""
        # Telemetry is no answer, and comes for as long as somebody listens.
        async with asyncio.timeout(ANSWER_S):
            return await self._answer()

    async def _answer(self) -> str:
        while True:
            frame = await self.socket.receive()
            if frame.type is not aiohttp.WSMsgType.TEXT:
                return "closed"
            message = json.loads(frame.data)
            if message["type"] == "lease":
                self.epoch, self.yours = message["lease"]["epoch"], message["yours"]
                return "lease"
            if message["type"] == "beat_seen":
                self.used = message["to"]
            if message["type"] in ("accepted", "beat_seen"):
                return str(message["type"])
            if message["type"] in ("refused", "bye"):
                return f"{message['type']} {message['code']}"
            if message["type"] == "welcome":
                return "welcome"


async def enter(
    session: aiohttp.ClientSession, target: Target, token: str, arm: str = OURS, speaks: tuple[int, ...] = wire.SPOKEN
) -> tuple[Voice, str]:
    """Open a channel and say hello; a driver who was cut off for nonsense comes in again so, too."""
    socket = await session.ws_connect(f"{target.url}/v1/channel", ssl=target.tls, heartbeat=None)
    voice = Voice(socket)
    await voice.say({"type": "hello", "v": 1, "seq": 1, "speaks": speaks, "arm": arm, "token": token,
                     "client": "fuzz"})  # fmt: skip
    return voice, await voice.answer()


async def cheat(target: Target, count: int, rng: random.Random, report: Report) -> None:
    """So many messages, one in ten by a stranger's token, the rest by who came in but may not do that."""
    tokens = bad_tokens(target, rng)
    async with aiohttp.ClientSession() as session:
        # A lab that refuses a hundred tokens a minute from one address has to be asked slowly.
        strangers = min(count // 10, 90)
        for index in range(strangers):
            name = list(tokens)[index % len(tokens)]
            voice, answer = await enter(session, target, tokens[name]())
            report.answers[answer] += 1
            if not answer.startswith("bye") and answer != "closed":
                report.wrong.append(f"a token that is {name} came in: {answer}")
            with contextlib.suppress(ConnectionError):
                await voice.say(motion(rng.choice(MOVING), rng))
            await voice.socket.close()
        people = {
            "watcher": target.token(Role.WATCH, user="Eve"),
            "idle": target.token(Role.DRIVE, user="Ivan"),
            "driver": target.token(Role.DRIVE, user="Dora"),
        }
        voices = {who: (await enter(session, target, token))[0] for who, token in people.items()}
        beating = await _claim(voices["driver"], random.Random(rng.random()))
        for number in range(count - strangers):
            who, message = _cheat_of(number, rng, voices["driver"])
            voice = voices[who]
            try:
                await voice.say(message)
                answer = await _refusal_of(voice)
            except (ConnectionError, aiohttp.ClientError):
                answer = "closed"
            report.answers[answer] += 1
            if answer == "accepted":
                report.wrong.append(f"accepted: {message}")
            if answer == "closed" or answer.startswith("bye"):
                voices[who] = (await enter(session, target, people[who]))[0]
                if who == "driver":
                    beating.cancel()
                    beating = await _claim(voices[who], random.Random(rng.random()))
            # Slower than the limits of the roles, so that each message is judged for what it is.
            await asyncio.sleep(0.25 if who == "watcher" else 0.015)
        beating.cancel()
        for voice in voices.values():
            await voice.socket.close()


async def _claim(driver: Voice, rng: random.Random) -> asyncio.Task[None]:
    """Become the driver and beat, the dead-man never held."""
    await driver.say({"type": "claim"})
    while not driver.yours:
        if (answer := await driver.answer()).startswith(("refused", "bye", "closed")):
            raise AssertionError(f"the driver gets no lease: {answer}")

    async def beat() -> None:
        with contextlib.suppress(ConnectionError, aiohttp.ClientError):
            while True:
                now_s = time.monotonic()
                # Whatever is said of a hand, it is none where nothing is held.
                signs = {"changed_s": rng.choice((now_s, -1e12, 1e12, None)), "reported_s": rng.choice((now_s, None))}
                beat = {"type": "beat", "arm": OURS, "epoch": driver.epoch, "held": False, "issued_s": now_s}
                await driver.say(beat | (signs if rng.random() < 0.8 else {}))
                await asyncio.sleep(0.1)

    return asyncio.create_task(beat())


async def _refusal_of(voice: Voice) -> str:
    while (answer := await voice.answer()) in ("beat_seen", "lease"):
        pass
    return answer


def _cheat_of(number: int, rng: random.Random, driver: Voice) -> tuple[str, dict[str, Any]]:
    """Who says what; none of it may be accepted. `driver` knows the epoch, and what numbers are used up."""
    kind, epoch, now_s = MOVING[number % len(MOVING)], driver.epoch, time.monotonic()
    right = motion(kind, rng, epoch=epoch, issued_s=now_s)
    match rng.randrange(40):
        case 0:
            return "watcher", right
        case 1 | 2:
            deed = rng.choice(("take_over", "freeze", "thaw", "tell"))
            said = {"text": "x"} if deed == "tell" else {}
            return rng.choice(("idle", "watcher")), {"type": deed, "v": 1, **said}
        case way:
            cheats: tuple[tuple[str, dict[str, Any]], ...] = (
                ("idle", right),
                ("driver", {**right, "seq": rng.randint(1, driver.used)}),
                ("driver", {**right, "epoch": max(0, epoch + rng.choice((-1, 1, -1000, 2**40)))}),
                ("driver", {**right, "arm": OTHER}),
                ("driver", {**right, "issued_s": now_s - rng.uniform(2.0, 1e6)}),
                ("driver", motion(rng.choice(HELD), rng, epoch=epoch, issued_s=now_s)),
                ("driver", _broken(right, rng)),
            )
            return cheats[way % len(cheats)]


def _broken(message: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    broken = dict(message)
    match rng.randrange(4):
        case 0:
            broken.pop(rng.choice([key for key in broken if key not in ("type", "v")]))
        case 1:
            broken[rng.choice(["epoch", "issued_s", "arm"])] = rng.choice([None, [], {}, "x" * 300, -1e300, True])
        case 2:
            broken["more"] = 1
        case _:
            broken["v"] = rng.choice([0, 3, "1", None])
    return broken


# -- noise -----------------------------------------------------------------------------------------------


async def fuzz(target: Target, seconds: float, rng: random.Random, report: Report) -> None:
    """Noise on the bare socket, on HTTP and on the channel, for so long."""
    until_s = time.monotonic() + seconds
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    good = target.token(Role.DRIVE, user="Nora")
    samples = [path.read_bytes().strip() for path in Path("tests/service/golden").glob("client-*.json")]
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5.0)) as session:
        while time.monotonic() < until_s:
            noise = rng.choice((_raw, _http, _channel))
            try:
                await noise(target, rng, session, context, good, samples, report)
            except (OSError, aiohttp.ClientError, TimeoutError, asyncio.IncompleteReadError) as error:
                report.answers[type(error).__name__] += 1
            report.memory.append(memory_of(target.server.pid))
            if target.server.process.poll() is not None:
                report.wrong.append("the server has ended")
                return


async def _raw(
    target: Target, rng: random.Random, session: Any, context: ssl.SSLContext, good: str, samples: Any, report: Report
) -> None:
    secure = context if rng.random() < 0.7 else None
    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", target.port, ssl=secure), 5.0)
    line = b"GET /v1/lab HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    data = rng.choice((rng.randbytes(rng.randrange(1, 4000)), line + rng.randbytes(200) + b"\r\n\r\n", line * 50,
                       b"GET /" + b"a" * rng.choice((10, 9000)) + b" HTTP/1.1\r\n\r\n",
                       b"POST /v1/previews HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n"))  # fmt: skip
    writer.write(data)
    with contextlib.suppress(TimeoutError):
        report.answers[f"raw {(await asyncio.wait_for(reader.read(12), 0.3))[9:12].decode('ascii', 'replace')}"] += 1
    writer.close()


async def _http(
    target: Target, rng: random.Random, session: Any, context: Any, good: str, samples: Any, report: Report
) -> None:
    paths = ("/", "/v1/lab", "/v1/arms/left/state", "/v1/arms/left/rig", "/v1/arms/left/skeleton", "/v1/bookings",
             "/v1/previews", "/v1/journals", "/v1/journals/../../lab.toml", "/v1/journals/..%2f..%2fkeys%2ftokens.key",
             "/page/../app.py", "/page/%2e%2e/app.py", "/v1/audit", "/v1/channel", "/v1/arms/%00/state")  # fmt: skip
    path = rng.choice((*paths, "/" + rng.randbytes(8).hex(), "/v1/arms/" + "é" * 40))
    headers = {"Authorization": rng.choice((f"Bearer {good}", f"Bearer {rng.randbytes(40).hex()}", "Basic x", ""))}
    body = rng.choice((b"", rng.randbytes(500), rng.choice(samples), b"[" * 5000, b'{"v":1,"arm":"left"}'))
    method = rng.choice(("GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS"))
    async with session.request(method, target.url + path, headers=headers, data=body, ssl=target.tls) as response:
        text = await response.content.read(4096)
        report.answers[f"http {response.status}"] += 1
        if response.status == 500 or TRACEBACK.encode() in text:
            report.wrong.append(f"{method} {path}: {response.status} {text[:300]!r}")
        if b"PRIVATE KEY" in text or b"class _Reception" in text:
            report.wrong.append(f"{method} {path} gives away what it must not")


async def _channel(
    target: Target, rng: random.Random, session: Any, context: Any, good: str, samples: Any, report: Report
) -> None:
    voice, answer = await enter(session, target, good, speaks=rng.choice(((1,), (1, 2), (2,))))
    report.answers[answer] += 1
    for _ in range(rng.randrange(1, 30)):
        data = bytearray(rng.choice(samples))
        for _ in range(rng.randrange(0, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        if b'"claim"' in data or b'"stop"' in data or b'"emergency_stop"' in data:
            continue  # those are allowed to everybody who drives
        if rng.random() < 0.1:
            await voice.socket.send_bytes(bytes(data))
        else:
            text = rng.choice((data.decode("latin-1"), data.decode("utf-8", "replace"), "x" * rng.choice((1, 20_000))))
            await voice.socket.send_str(text)
    with contextlib.suppress(TimeoutError):
        for _ in range(5):
            report.answers[f"channel {await voice.answer()}"] += 1
    if rng.random() < 0.5:
        await voice.socket.close()
    else:
        voice.socket._response.close()


# -- afterwards ------------------------------------------------------------------------------------------


def judge(target: Target, begun_s: float, report: Report) -> None:
    """Nothing moved, nothing broke, nothing grew; then the server ends as it should."""
    with contextlib.suppress(HilError):
        arms = list_arms(target.access(target.token(Role.WATCH))).arms
        report.wrong += [f"{arm.arm} is {arm.mode.value}" for arm in arms if arm.mode not in STANDING]
    target.server.process.terminate()
    target.server.ends(40.0)
    said = target.server.out.read_text() + target.server.err.read_text()
    if TRACEBACK in said:
        report.wrong.append(f"a traceback: {said[-2000:]}")
    for path in (target.folder / "lab" / "journals").glob("*.mcap"):
        ticks = [entry.tick for entry in read_journal(path) if entry.tick is not None]
        moved = [tick for tick in ticks if tick.t_s > begun_s and tick.mode in WRITING and tick.wanted is not None
                 and tick.sample is not None]  # fmt: skip
        if moved:
            report.wrong.append(f"{path.name}: something moved, first at tick {moved[0].tick}")
    if report.memory:
        begin, end = quarters(report.memory)
        if end - begin > GROWTH_BYTES:
            report.wrong.append(f"memory grew from {begin / 1e6:.1f} to {end / 1e6:.1f} MB")


async def whole(target: Target, messages: int, seconds: float, rng: random.Random) -> Report:
    """Cheats, then noise, then the verdict."""
    # Whoever goes on writing to a line that was closed is warned of by asyncio; here that is the work.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    report = Report()
    begun_s = time.monotonic()
    await cheat(target, messages, rng, report)
    await fuzz(target, seconds, rng, report)
    await asyncio.to_thread(judge, target, begun_s, report)
    return report


__all__ = ["Report", "Target", "wire", "whole"]
