"""A cable between a driver and a controller, as a process: passes bytes both ways, writes down each, and can do harm.

    python wire_relay.py NEAR FAR RECORD

FAR is the controller's terminal, NEAR the name under which a terminal of its own is offered, RECORD the file that
gets one JSON line for each chunk: ``[what, monotonic seconds, hexadecimal bytes]``, where `what` is

    >   as it left the driver        >>  as the controller was given it      (one line ``=>`` if both at once)
    <   as it left the controller    <<  as the driver was given it          (``<=``)
    !   something happened to the cable, in words instead of bytes

Commands come in on standard input, one JSON object a line, see `Cable.obey`; each is answered on standard output, once
it is done, with the monotonic seconds at which it was begun. It knows nothing of the program and imports nothing of it,
so that it is there at once and is never a reason for what it finds.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import select
import sys
import termios
import time
import tty
from collections import deque
from pathlib import Path
from typing import Any

CLIENTLESS_S = 0.002
"""How often a terminal that nobody has open is looked at: waiting on one returns at once."""
LOST_S = 0.02
"""How often a controller that is gone is looked for."""
CHUNK = 4096


class Way:
    """One direction: what is done to its bytes, and which of them wait.

    Attributes:
        harm: what happens to single bytes: kind and one in how many.
        delay_s: each chunk comes so much later.
        dribble_s: bytes come one by one, so far apart.
        stalled_until_s: nothing comes before that; what waited comes then.
    """

    def __init__(self) -> None:
        self.calm()
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._last_s = 0.0

    def calm(self) -> None:
        """Do no more harm."""
        self.harm: list[tuple[str, int]] = []
        self.rng = random.Random(0)
        self.delay_s = self.dribble_s = self.stalled_until_s = 0.0

    @property
    def harmless(self) -> bool:
        """Bytes go straight through."""
        return not (self._waiting or self.harm or self.delay_s or self.dribble_s or self.stalled_until_s)

    @property
    def due_s(self) -> float:
        """When something has to be passed on."""
        return self._waiting[0][0] if self._waiting else float("inf")

    def take(self, data: bytes, now_s: float) -> None:
        """Bytes have come in."""
        data = self._struck(data)
        due_s = max(now_s + self.delay_s, self.stalled_until_s, self._last_s)
        pieces = [data[i : i + 1] for i in range(len(data))] if self.dribble_s else [data]
        for piece in pieces:
            self._waiting.append((due_s, piece))
            self._last_s = due_s
            due_s += self.dribble_s

    def passed_on(self, now_s: float) -> bytes:
        """What is due."""
        data = b""
        while self._waiting and self._waiting[0][0] <= now_s:
            data += self._waiting.popleft()[1]
        return data

    def drop(self) -> None:
        """What is on the cable is gone."""
        self._waiting.clear()

    def _struck(self, data: bytes) -> bytes:
        for kind, one_in in self.harm:
            struck = bytearray()
            for value in data:
                if self.rng.randrange(one_in):
                    struck.append(value)
                elif kind == "flip":
                    struck.append(value ^ 1 << self.rng.randrange(7))
                elif kind == "double":
                    struck += bytes([value, value])
            data = bytes(struck)
        return data


class Near:
    """The terminal that the driver opens, under a name that stays."""

    def __init__(self, link: Path) -> None:
        self._link = link
        self.fd = -1
        self._name = ""
        self.clientless = True

    def plug(self, speed: int) -> None:
        """Offer a fresh terminal."""
        self.fd, slave = os.openpty()
        self._name = os.ttyname(slave)
        self._set_modes(slave, speed)
        os.close(slave)
        os.set_blocking(self.fd, False)
        self.clientless = True
        fresh = self._link.with_name(f".{self._link.name}.{os.getpid()}")
        fresh.symlink_to(self._name)
        fresh.replace(self._link)

    def pull(self) -> None:
        """Hang up on whoever has it open."""
        if self.fd < 0:
            return
        os.close(self.fd)
        self.fd = -1
        with contextlib.suppress(OSError):
            self._link.unlink()

    def speed(self) -> int:
        """What the driver has set, as termios counts it."""
        return int(termios.tcgetattr(self.fd)[5])

    def read(self) -> bytes:
        """What the driver has sent."""
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            data = b""
        except OSError:
            if not self.clientless:
                self._forget_client()
            return b""
        self.clientless = False
        return data

    def write(self, data: bytes) -> None:
        """Give to the driver; to nobody if nobody is there."""
        if not self.clientless:
            with contextlib.suppress(OSError):
                os.write(self.fd, data)

    def _forget_client(self) -> None:
        """A real port forgets exclusive use and unread bytes at its last close; this one has to be told."""
        self.clientless = True
        slave = os.open(self._name, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        self._set_modes(slave, termios.tcgetattr(slave)[5])
        fcntl.ioctl(slave, termios.TIOCNXCL)
        termios.tcflush(slave, termios.TCIFLUSH)
        os.close(slave)

    @staticmethod
    def _set_modes(slave: int, speed: int) -> None:
        tty.setraw(slave)
        modes = termios.tcgetattr(slave)
        modes[2] &= ~termios.CSTOPB
        modes[4] = modes[5] = speed
        termios.tcsetattr(slave, termios.TCSANOW, modes)


class Cable:
    """Everything between the two ends.

    Args:
        near: name to offer.
        far: the controller's terminal.
        record: file to write.
    """

    def __init__(self, near: Path, far: Path, record: Path) -> None:
        self._far_path = far
        self._record = record.open("wb", buffering=0)
        self._far = self._speed = -1
        self._near = Near(near)
        self._pulled = False
        self.commands, self.replies = Way(), Way()
        self.over = False

    def begin(self) -> None:
        """Open the controller's end and offer ours."""
        self._find_far()

    def obey(self, order: dict[str, Any]) -> None:
        """Do what was asked for.

        `do` is ``flip``, ``lose`` or ``double`` (bytes, one in `one_in`, with `seed`), ``delay`` (each chunk, `s`),
        ``dribble`` (bytes `s` apart), ``stall`` (nothing for `s`, then all of it), each with `way` ``commands``,
        ``replies`` or ``both``; ``calm``, ``pull``, ``plug``, ``end``.
        """
        self._note("!", json.dumps(order))
        both = {"commands": [self.commands], "replies": [self.replies]}
        ways = both.get(order.get("way", ""), [self.commands, self.replies])
        match order["do"]:
            case "flip" | "lose" | "double" as kind:
                for number, way in enumerate(ways):
                    way.rng = random.Random(order["seed"] + number)
                    way.harm.append((kind, order["one_in"]))
            case "delay":
                for way in ways:
                    way.delay_s = order["s"]
            case "dribble":
                for way in ways:
                    way.dribble_s = order["s"]
            case "stall":
                for way in ways:
                    way.stalled_until_s = time.monotonic() + order["s"]
            case "calm":
                for way in ways:
                    way.calm()
            case "pull":
                self._pulled = True
                self._hang_up("pulled")
            case "plug":
                self._pulled = False
                self._offer()
            case "end":
                self.over = True

    def run(self) -> None:
        """Pass bytes until told to end, or until nobody is left to tell."""
        orders, text = sys.stdin.fileno(), b""
        while not self.over:
            self._wait(orders)
            if select.select([orders], [], [], 0.0)[0]:
                more = os.read(orders, CHUNK)
                *lines, text = (text + more).split(b"\n")
                for line in lines:
                    begun_s = time.monotonic()
                    self.obey(json.loads(line))
                    _answer(str(begun_s))
                if not more:
                    return
            if self._far < 0:
                self._find_far()
            else:
                self._pass()

    def close(self) -> None:
        """Take the offered name away."""
        self._near.pull()

    def _wait(self, orders: int) -> None:
        now_s = time.monotonic()
        nap_s = max(min(self.commands.due_s, self.replies.due_s) - now_s, 0.0)
        if self._far < 0:
            select.select([orders], [], [], LOST_S)
            return
        ends = [orders, self._far]
        if self._near.fd < 0 or self._near.clientless:
            nap_s = min(nap_s, CLIENTLESS_S if self._near.fd >= 0 else LOST_S)
        else:
            ends.append(self._near.fd)
        select.select(ends, [], [], min(nap_s, 0.25))

    def _pass(self) -> None:
        if self._near.fd >= 0 and (data := self._near.read()):
            self._carry(">", self.commands, data, self._give_far)
        try:
            data = os.read(self._far, CHUNK)
        except BlockingIOError:
            data = None
        except OSError:
            data = b""
        if data == b"":
            self._lose_far()
            return
        if data:
            self._carry("<", self.replies, data, self._give_near)
        now_s = time.monotonic()
        if passed := self.commands.passed_on(now_s):
            self._note(">>", passed)
            self._give_far(passed)
        if passed := self.replies.passed_on(now_s):
            self._note("<<", passed)
            self._give_near(passed)

    def _carry(self, mark: str, way: Way, data: bytes, give: Any) -> None:
        if way.harmless:
            self._note("=>" if mark == ">" else "<=", data)
            give(data)
        else:
            self._note(mark, data)
            way.take(data, time.monotonic())

    def _give_far(self, data: bytes) -> None:
        speed = self._near.speed() if self._near.fd >= 0 else self._speed
        if speed != self._speed:
            self._speed = speed
            modes = termios.tcgetattr(self._far)
            modes[4] = modes[5] = speed
            termios.tcsetattr(self._far, termios.TCSANOW, modes)
        with contextlib.suppress(OSError):
            os.write(self._far, data)

    def _give_near(self, data: bytes) -> None:
        if self._near.fd >= 0:
            self._near.write(data)

    def _find_far(self) -> None:
        try:
            self._far = os.open(self._far_path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
            tty.setraw(self._far)
        except OSError:
            return
        self._speed = termios.tcgetattr(self._far)[5]
        self._note("!", "the controller is there")
        if not self._pulled:
            self._offer()

    def _lose_far(self) -> None:
        """A controller without power takes its adapter along."""
        os.close(self._far)
        self._far = -1
        self._hang_up("the controller is gone")

    def _offer(self) -> None:
        if self._near.fd < 0 and self._far >= 0:
            self._near.plug(self._speed)
            self._note("!", "offered")

    def _hang_up(self, why: str) -> None:
        self._near.pull()
        self.commands.drop()
        self.replies.drop()
        self._note("!", why)

    def _note(self, mark: str, what: bytes | str) -> None:
        text = what.hex() if isinstance(what, bytes) else what
        self._record.write(json.dumps([mark, time.monotonic(), text]).encode("ascii") + b"\n")


def _answer(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def main() -> None:
    """Be the cable that the three arguments name."""
    with contextlib.suppress(OSError):
        # A cable waits for nobody.
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    cable = Cable(*(Path(name) for name in sys.argv[1:4]))
    cable.begin()
    _answer("ready")
    try:
        cable.run()
    finally:
        cable.close()


if __name__ == "__main__":
    main()
