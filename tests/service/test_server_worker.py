"""A worker with its loop, recorder and fake as real processes, and a server that falls silent, goes, or comes back."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from multiprocessing.process import BaseProcess
from pathlib import Path

import msgspec
import pytest
from calibrations import calibrate_as_it_is
from kill_rounds import children, holder

from hil.model._controller_file import read_controller, write_controller
from hil.model.rig import Rig
from hil.runtime.host import Room
from hil.runtime.journal import Completeness, read_journal, verify, wrong_link
from hil.runtime.loop_process import LoopSlot
from hil.runtime.replay import replay
from hil.runtime.wiring import load_rig
from hil.service.arm_channel import (
    ArmReport,
    Ask,
    Beat,
    Ended,
    Frames,
    Leave,
    Starting,
    ToWorker,
    decode_to_server,
    frame,
)
from hil.service.arm_worker import ArmSpec, run_arm
from hil.service.arms import BEAT_S, ArmProcess
from hil.testing.fakes import RunningFake
from hil.types import ArmJog, AxisJog, Confirm, ControllerIdentity, JogStep, Mode, Reset, Stop

pytestmark = [pytest.mark.processes, pytest.mark.pty]

PATIENCE_S = 40.0
LONG_STEP = JogStep(move=AxisJog(amounts=(0.75, 0.0, 0.0, 0.0, 0.0, 0.0)))


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """A rig of this test alone, quick to come up."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    changed = load_rig("lynx6", {"timing": {"energise_dwell_ms": 20}})
    return msgspec.structs.replace(changed, id=f"worker-{os.getpid()}")


def spec(rig: Rig, folder: Path) -> ArmSpec:
    return ArmSpec(rig=rig, url=None, journals=folder, command="test", address="", slot=LoopSlot())


def confirmed(rig: Rig) -> Confirm:
    return Confirm(positions=rig.park, by="the test")


class Server:
    """The server's end, by hand."""

    def __init__(self, end: socket.socket) -> None:
        self.events: list[str] = []
        self.mode = Mode.DISCONNECTED
        self.ended: Ended | None = None
        self._end, self._frames = end, Frames()
        end.settimeout(BEAT_S)

    def send(self, message: ToWorker) -> None:
        with contextlib.suppress(OSError):
            self._end.sendall(frame(message))

    def until(self, reached: Callable[[], bool], *, beating: bool) -> None:
        deadline_s = time.monotonic() + PATIENCE_S
        while not reached():
            assert time.monotonic() < deadline_s, (self.mode, self.events, self.ended)
            if beating:
                self.send(Beat())
            with contextlib.suppress(TimeoutError):
                for payload in self._frames.feed(self._end.recv(1 << 16)):
                    self._take(decode_to_server(payload))

    def bring_up(self, rig: Rig) -> None:
        self.until(lambda: self.mode is Mode.UNKNOWN_POSE, beating=True)
        self.send(Ask(requests=(confirmed(rig),)))
        self.until(lambda: self.mode is Mode.IDLE, beating=True)

    def _take(self, message: ArmReport | Starting | Ended) -> None:
        if isinstance(message, Starting):
            return
        if isinstance(message, Ended):
            self.ended = message
            return
        self.mode = message.mode
        self.events += message.events

    def close(self) -> None:
        self._end.close()


@contextlib.contextmanager
def working(given: ArmSpec) -> Iterator[tuple[BaseProcess, Server]]:
    """A worker, and the server's end of its line; both are gone afterwards, whatever happened."""
    ours, theirs = socket.socketpair()
    worker = multiprocessing.get_context("spawn").Process(target=run_arm, args=(given, theirs))
    worker.start()
    theirs.close()
    server = Server(ours)
    try:
        yield worker, server
    finally:
        # Without its server it ends by itself, and takes loop and recorder with it.
        server.close()
        worker.join(PATIENCE_S)
        worker.kill()
        worker.join()


def test_a_first_meeting_is_told_and_another_controller_than_that_is_refused_at_each_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    fake = RunningFake(load_rig("lynx6"), load_rig("lynx6").park, tcp=True)
    try:
        calibrate_as_it_is(load_rig("lynx6", calibrated=False), tmp_path / "config", fake.url)
        rig = load_rig("lynx6")
        assert rig.calibration is not None
        given = msgspec.structs.replace(spec(rig, tmp_path / "journals"), url=fake.url)
        with working(given) as (_, server):
            server.until(lambda: any("first meeting" in event for event in server.events), beating=True)
            assert server.mode is Mode.UNKNOWN_POSE
        met = read_controller(rig)
        assert met is not None
        facts = tuple((what, "12" if "R64" in what else value) for what, value in met.facts)
        write_controller(rig.id, rig.calibration.id, ControllerIdentity(facts=facts), port="there", date="2026-11-28")
        with working(given) as (_, server):
            for time in (1, 2):
                server.until(lambda time=time: refusals(server) == time, beating=True)
                server.send(Ask(requests=(Reset(by="the test"),)))
        assert fake.judged().findings == ()
        assert fake.setpoints == (None,) * 6
    finally:
        fake.stop()


def refusals(server: Server) -> int:
    return sum("(R64) was '12', is '1500'" in event and "-> fault" in event for event in server.events)


def test_a_silent_server_is_a_lost_driver_and_one_that_is_gone_ends_the_worker(rig: Rig, tmp_path: Path) -> None:
    with working(spec(rig, tmp_path)) as (worker, server):
        server.bring_up(rig)
        server.send(Ask(requests=(ArmJog(speed_share=0.3), LONG_STEP)))
        server.until(lambda: server.mode is Mode.STREAMING, beating=True)
        server.until(lambda: server.mode is Mode.HOLDING, beating=False)
        assert any("no sign of life from the server" in event for event in server.events)
        server.send(Ask(requests=(ArmJog(speed_share=0.3), LONG_STEP)))
        server.until(lambda: server.mode is Mode.STREAMING, beating=True)
        server.close()
        worker.join(PATIENCE_S)
        assert worker.exitcode == 0
    (journal,) = tmp_path.glob("*.mcap")
    entries = list(read_journal(journal))
    events = [event for entry in entries if entry.tick is not None for event in entry.tick.events]
    assert any("stop: the server is gone" in event for event in events)
    assert entries[-1].end is not None


def test_an_arm_whose_recorder_was_killed_stops_and_begins_anew_with_another(rig: Rig, tmp_path: Path) -> None:
    with working(spec(rig, tmp_path)) as (worker, server):
        server.bring_up(rig)
        server.send(Ask(requests=(ArmJog(speed_share=0.3), LONG_STEP)))
        server.until(lambda: server.mode is Mode.STREAMING, beating=True)
        assert worker.pid is not None
        recorder = holder(children(worker.pid), lambda opened: opened.endswith(".mcap"))
        assert recorder is not None
        os.kill(recorder, signal.SIGKILL)
        server.until(lambda: server.ended is not None, beating=True)
        assert server.ended == Ended(words="its journal is not kept any more, for the recorder has ended", again=True)
        assert server.mode is not Mode.STREAMING


def test_an_arm_whose_journal_was_removed_stops_and_begins_anew_and_all_are_told_why(rig: Rig, tmp_path: Path) -> None:
    with working(spec(rig, tmp_path)) as (_, server):
        server.bring_up(rig)
        server.send(Ask(requests=(ArmJog(speed_share=0.3), LONG_STEP)))
        server.until(lambda: server.mode is Mode.STREAMING, beating=True)
        (journal,) = tmp_path.glob("*.mcap")
        journal.unlink()
        server.until(lambda: server.ended is not None, beating=True)
    words = f"{journal.name}: the journal was removed or renamed while it was written: no motion without a journal"
    assert server.ended == Ended(words=f"the session ended: {words}", again=True)
    assert f"streaming -> stopping: stop: {words}" in server.events
    assert server.mode is Mode.DISCONNECTED


def test_a_folder_for_no_journal_is_said_before_anything_is_connected(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "journals").write_text("somebody's notes")
    with working(spec(rig, tmp_path / "journals")) as (_, server):
        server.until(lambda: server.ended is not None, beating=True)
    words = f"{tmp_path / 'journals'}: no journal can be made here: File exists"
    assert server.ended == Ended(words=words, again=True)
    assert server.events == []


def test_a_worker_that_is_killed_is_said_to_be_away_and_comes_back_with_an_unknown_pose(
    rig: Rig, tmp_path: Path
) -> None:
    reports: list[ArmReport] = []
    away: list[str] = []

    async def story() -> None:
        turn = asyncio.Semaphore(1)
        arm = ArmProcess(spec(rig, tmp_path), on_report=reports.append, on_away=away.append, turn=turn)
        arm.start()

        async def until(mode: Mode) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while not reports or reports[-1].mode is not mode:
                    arm.beat()
                    await asyncio.sleep(BEAT_S)

        try:
            await until(Mode.UNKNOWN_POSE)
            assert arm.away == ""
            assert arm.pid is not None
            os.kill(arm.pid, signal.SIGKILL)
            async with asyncio.timeout(PATIENCE_S):
                while not away:
                    await asyncio.sleep(BEAT_S)
            assert arm.away == "its worker has ended without a word"
            reports.clear()
            await until(Mode.UNKNOWN_POSE)
        finally:
            await arm.close("the test ends")

    asyncio.run(story())
    assert reports[-1].mode in (Mode.UNKNOWN_POSE, Mode.DISCONNECTED)


def test_an_arm_is_settled_once_the_loop_has_taken_what_was_sent_and_the_mode_is_from_after_that(
    rig: Rig, tmp_path: Path
) -> None:
    modes: list[Mode] = []

    async def story() -> None:
        arm = ArmProcess(
            spec(rig, tmp_path),
            on_report=lambda report: modes.append(report.mode),
            on_away=lambda words: None,
            turn=asyncio.Semaphore(1),
        )
        arm.start()

        async def until(reached: Callable[[], bool]) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while not reached():
                    arm.beat()
                    await asyncio.sleep(BEAT_S / 10.0)

        try:
            await until(lambda: bool(modes) and modes[-1] is Mode.UNKNOWN_POSE)
            arm.send(confirmed(rig))
            await until(lambda: modes[-1] is Mode.IDLE)
            for request, after in ((ArmJog(speed_share=0.3), Mode.ARMED), (Stop(reason="enough"), Mode.ARMED)):
                before = modes[-1]
                arm.send(request)
                assert not arm.settled
                await until(lambda: arm.settled)
                assert (modes[-1] is after) is (before is not after), modes
        finally:
            await arm.close("the test ends")

    asyncio.run(story())


def test_what_an_arm_did_over_several_files_verifies_and_replays_to_the_same_bytes(rig: Rig, tmp_path: Path) -> None:
    small = Room(ring_bytes=1 << 20, mailbox_bytes=1 << 20, part_bytes=100_000)
    given = msgspec.structs.replace(spec(rig, tmp_path / "journals"), room=small)
    with working(given) as (worker, server):
        server.bring_up(rig)
        server.send(Ask(requests=(ArmJog(speed_share=0.3), LONG_STEP)))
        server.until(lambda: server.mode is Mode.STREAMING, beating=True)
        server.until(lambda: len(list((tmp_path / "journals").glob("*_part-*.mcap"))) > 1, beating=True)
        server.send(Leave(reason="the test ends"))
        server.until(lambda: server.ended is not None, beating=False)
        worker.join(PATIENCE_S)
        assert worker.exitcode == 0
    paths = sorted((tmp_path / "journals").glob("*.mcap"))
    verdicts = [verify(path) for path in paths]
    assert {verdict.completeness for verdict in verdicts} == {Completeness.COMPLETE}, verdicts
    assert [wrong_link(after, before) for before, after in pairwise(verdicts)] == [""] * (len(paths) - 1)
    again = replay(paths[-1])
    assert again.same, again.first_difference
    assert again.ticks == sum(verdict.ticks for verdict in verdicts)
