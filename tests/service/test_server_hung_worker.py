"""Workers that cannot be started, never report, or do not leave: each is dealt with in time, and another one begins."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import select
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from lab_server import PATIENCE_S, resting_report, run

from hil.errors import LinkClosed
from hil.runtime.loop_process import LoopSlot
from hil.runtime.wiring import load_rig
from hil.service import arms
from hil.service.arm_channel import Ask, Leave, Starting, WorkerEnd
from hil.service.arm_worker import ArmSpec
from hil.service.arms import HUNG_AGAIN_S, ArmProcess
from hil.types import EmergencyStop, Request, Start, Stop

pytestmark = pytest.mark.processes


def hang(spec: ArmSpec, end: socket.socket) -> NoReturn:
    """A worker that never reports and does not end when it is asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


def hang_in_its_start(spec: ArmSpec, end: socket.socket) -> NoReturn:
    """The same, but it has come up."""
    WorkerEnd(end).send(Starting(words="starting for 2 s"))
    hang(spec, end)


def come_up_slowly(spec: ArmSpec, end: socket.socket) -> NoReturn:
    """A worker that needs longer than one may be silent, and is not silent."""
    channel = WorkerEnd(end)
    for _ in range(10):
        channel.send(Starting(words="starting for 2 s"))
        time.sleep(0.05)
    hear_nothing(spec, end)


def hear_nothing(spec: ArmSpec, end: socket.socket) -> NoReturn:
    """A worker that comes up and hangs then."""
    WorkerEnd(end).send(resting_report(spec))
    hang(spec, end)


def write_down(spec: ArmSpec, end: socket.socket) -> None:
    """A worker that notes which requests came, and takes none of them before it is to leave."""
    channel, came = WorkerEnd(end), []
    channel.send(resting_report(spec))
    with contextlib.suppress(LinkClosed):
        while True:
            for message in channel.receive():
                if isinstance(message, Ask):
                    came += [type(request).__name__ for request in message.requests]
                if isinstance(message, Leave):
                    (spec.journals / "came").write_text(" ".join(came))
                    channel.close()
                    return
            select.select([channel], [], [])


def process_of(folder: Path, away: list[str]) -> ArmProcess:
    return ArmProcess(
        ArmSpec(rig=load_rig("lynx6"), url=None, journals=folder, command="", address="", slot=LoopSlot()),
        on_report=lambda report: None,
        on_away=away.append,
        turn=asyncio.Semaphore(1),
    )


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arms, "AGAIN_S", (0.05,))
    monkeypatch.setattr(arms, "HUNG_AGAIN_S", (0.05,))
    monkeypatch.setattr(arms, "TURN_S", 0.05)
    monkeypatch.setattr(arms, "END_S", 0.5)


@pytest.mark.parametrize(
    ("worker", "patience", "words"),
    [
        (hang, "FIRST_SIGN_S", "its start gave no sign of life for 0 s (its worker has not come up) and was ended"),
        (hang_in_its_start, "START_S", "its start gave no sign of life for 0 s (starting for 2 s) and was ended"),
    ],
)
def test_a_worker_that_hangs_in_its_start_is_ended_named_and_another_one_begins(
    worker: Callable[[ArmSpec, socket.socket], NoReturn],
    patience: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arms, patience, 0.2)
    monkeypatch.setattr(arms, "run_arm", worker)

    async def story() -> None:
        away: list[str] = []
        arm = process_of(tmp_path, away)
        arm.start()
        await until(lambda: arm.pid is not None)
        first = arm.pid
        await until(lambda: arm.pid not in (None, first))
        assert away == [words]
        await arm.close("the test ends")

    run(story)


def test_a_worker_that_needs_long_is_waited_for_and_called_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others do not wait for it for as long."""
    monkeypatch.setattr(arms, "START_S", 0.3)
    monkeypatch.setattr(arms, "TURN_S", 0.05)
    monkeypatch.setattr(arms, "run_arm", come_up_slowly)

    async def story() -> None:
        away: list[str] = []
        arm, seen = process_of(tmp_path, away), set[str]()
        turn = arm._turn
        arm.start()

        def up() -> bool:
            seen.add(arm.away)
            return not arm.away

        await until(up)
        assert not turn.locked()
        assert {"starting: its worker comes up", "starting for 2 s"} <= seen
        assert away == []
        await arm.close("the test ends")

    run(story)


def test_pauses_after_starts_that_hung_grow_to_ten_minutes() -> None:
    assert HUNG_AGAIN_S == (1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def test_a_worker_that_hangs_does_not_keep_the_server_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arms, "run_arm", hear_nothing)

    async def story() -> None:
        arm = process_of(tmp_path, [])
        arm.start()
        await until(lambda: not arm.away)
        await arm.close("the test ends")
        assert arm.away

    run(story)


def test_a_worker_that_the_system_has_no_room_for_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arms, "run_arm", hear_nothing)

    def full() -> NoReturn:
        raise OSError(errno.EMFILE, "Too many open files")

    async def story() -> None:
        arm = process_of(tmp_path, [])
        with monkeypatch.context() as broken:
            broken.setattr(socket, "socketpair", full)
            arm.start()
            await until(lambda: "cannot be started: Too many open files" in arm.away)
        await until(lambda: not arm.away)
        await arm.close("the test ends")

    run(story)


def test_a_stop_that_is_pressed_again_and_again_is_sent_once_until_the_loop_has_taken_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arms, "run_arm", write_down)
    pressed: tuple[Request, ...] = (
        *3 * (Stop(reason="no"),), Start(digest="a" * 64), *3 * (Stop(reason="no"),), *2 * (EmergencyStop(reason="no"),)
    )  # fmt: skip

    async def story() -> None:
        arm = process_of(tmp_path, [])
        arm.start()
        await until(lambda: not arm.away)
        for request in pressed:
            arm.send(request)
        await arm.close("the test ends")

    run(story)
    assert (tmp_path / "came").read_text() == "Stop Start Stop EmergencyStop"
