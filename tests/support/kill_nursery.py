"""Starts `hil` commands for rounds in which processes die, without the half second in which Python finds its modules.

A nursery is a process that has everything imported and forks for each command. The child is what `hil` would be from
there on: a session, a group and signals of its own, output in files, its own children started anew. Here are both ends:
`serve` runs in the nursery, `Nursery` is whoever asks.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path
from typing import Any

WARM = ("hil.cli.main", "hil.motion.planner", "hil.runtime.host", "hil.runtime.report", "hil.runtime.bare", "sim.cr1")
_CODE = "import kill_nursery; kill_nursery.serve(); from hil.cli.main import main; main()"


class Nursery:
    """Asks a nursery for processes.

    Args:
        environment: of the nursery, beside the present one; what a single command gets comes on top.
    """

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        here = Path(__file__).parent
        paths = os.pathsep.join([str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths, **(environment or {})},
        )
        self._ended: dict[int, int] = {}
        self._answers: list[dict[str, Any]] = []
        self._text = b""

    def start(
        self,
        arguments: tuple[str, ...],
        out: Path,
        err: Path,
        environment: dict[str, str],
        terminal: str | None = None,
        plant: str | None = None,
    ) -> int:
        """Start a command in a session of its own; its process number.

        Args:
            arguments: behind `hil`.
            out, err: files for what it prints; with a terminal that prints there.
            environment: on top of the nursery's.
            terminal: path of the terminal that it is to have, as somebody's who sits at it.
            plant: function of `planted_processes` that is called first.
        """
        order = {
            "arguments": arguments,
            "out": str(out),
            "err": str(err),
            "environment": environment,
            "terminal": terminal,
            "plant": plant,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        while not self._answers:
            self._listen(10.0)
        return int(self._answers.pop(0)["began"])

    def code(self, pid: int) -> int | None:
        """How a process ended, as subprocess counts it; None while it runs."""
        self._listen(0.0)
        return self._ended.get(pid)

    def close(self) -> None:
        """End the nursery; its children have to be gone."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10.0)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _listen(self, timeout_s: float) -> None:
        assert self._process.stdout is not None
        while select.select([self._process.stdout], [], [], timeout_s)[0]:
            data = os.read(self._process.stdout.fileno(), 65536)
            if not data:
                raise RuntimeError("the nursery has ended")
            timeout_s = 0.0
            *lines, self._text = (self._text + data).split(b"\n")
            for line in lines:
                answer = json.loads(line)
                if "ended" in answer:
                    self._ended[answer["ended"]] = answer["code"]
                else:
                    self._answers.append(answer)


def serve() -> None:
    """Fork for each order on standard input. Returns in a child only, as whom it was ordered."""
    for name in WARM:
        importlib.import_module(name)
    orders, answers = os.dup(0), os.dup(1)
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    text, over = b"", False
    running: set[int] = set()
    while not over or running:
        ready = select.select([heard] if over else [orders, heard], [], [])[0]
        if heard in ready:
            os.read(heard, 4096)
        for pid in list(running):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                running.remove(pid)
                _say(answers, {"ended": pid, "code": os.waitstatus_to_exitcode(status)})
        if orders in ready:
            data = os.read(orders, 65536)
            over = not data
            *lines, text = (text + data).split(b"\n")
            for line in lines:
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    for end in (orders, answers, heard, told):
                        os.close(end)
                    _become(json.loads(line))
                    return
                running.add(pid)
                _say(answers, {"began": pid})
    os._exit(0)


def _say(end: int, answer: dict[str, int]) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(end, json.dumps(answer).encode() + b"\n")


def _become(order: dict[str, Any]) -> None:
    """Turn the fork into what the system would have started for a person."""
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    # Whoever runs these rounds in the background of a shell has its processes ignore SIGINT from birth.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if order["terminal"] is not None:
        terminal = os.open(order["terminal"], os.O_RDWR)
        ioctl(terminal, termios.TIOCSCTTY, 0)
        ends = (terminal, terminal, terminal)
    else:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        ends = (os.open(os.devnull, os.O_RDONLY), os.open(order["out"], flags), os.open(order["err"], flags))
    for end, place in zip(ends, (0, 1, 2), strict=True):
        os.dup2(end, place)
    for end in set(ends):
        os.close(end)
    os.environ.update(order["environment"])
    sys.argv = ["hil", *order["arguments"]]
    random.seed()
    if order["plant"] is not None:
        getattr(importlib.import_module("planted_processes"), order["plant"])()
