"""Driving over a slow line: smooth, then slower, then only step by step; what is old is never moved."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import lab_server
import msgspec
import pytest
from lab_server import LOCAL, PATIENCE_S, PATIENT, Served, run, served

from hil.clock import monotonic_s
from hil.errors import InterlockError
from hil.motion.stops import stop_time_s
from hil.runtime.jog_source import HOLD_S
from hil.service import wire
from hil.service.arm_channel import ArmReport
from hil.service.client import AsyncArm
from hil.service.gate import Facts, GateVerdict
from hil.service.grants import Grant
from hil.service.lab_request import Access, RefusedByLabError
from hil.service.lease_facts import Party
from hil.service.lease_settings import LeaseSettings
from hil.service.settings import Settings
from hil.service.stop_budget import SMOOTH_AGE_S, USABLE_AGE_S, share_by_age
from hil.service.wire import ClientMessage, Code
from hil.types import AxisJog, JogHold, JogRelease, JogStep, Mode, Request

pytestmark = pytest.mark.wall_clock

FAST = AxisJog(amounts=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
STEP = AxisJog(amounts=(0.05, 0.0, 0.0, 0.0, 0.0, 0.0))
STALL_S = 0.2
"""What TCP takes to send a lost packet again."""

SLOW_TICK_S = 0.05
"""The arm's clock goes slower than the wall's: a late hold of a busy machine is no end of a jog."""

BRISK = Settings(lease=LeaseSettings(stop_after_s=0.5, suspend_after_s=5.0))
"""As patient as a stop budget bears that shall leave most of the speed."""


class SlowLine:
    """A relay on loopback, late both ways.

    Attributes:
        delay_s: one way, of every byte.
        lost: part of the chunks that come later by `STALL_S`, and all behind them with them.
        up: what goes to the server is held back while this is clear.
    """

    def __init__(self, port: int, seed: int = 0) -> None:
        self.delay_s, self.lost = 0.0, 0.0
        self.up = asyncio.Event()
        self.up.set()
        self._port, self._rng = port, random.Random(seed)
        self._open = asyncio.Event()
        self._open.set()
        self._tasks: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Relay; gives the address."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.get_running_loop().create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        their_reader, their_writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._relay(reader, their_writer, self.up))
                both.create_task(self._relay(their_reader, writer, self._open))
        except* ConnectionError:
            pass
        finally:
            for each in (writer, their_writer):
                each.close()
                with contextlib.suppress(ConnectionError):
                    await each.wait_closed()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, free: asyncio.Event) -> None:
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            data = b"something"
            while data:
                due_s, data = await late.get()
                await _until_then(due_s)
                await free.wait()
                writer.write(data)
                await writer.drain()
            writer.write_eof()

        async with asyncio.TaskGroup() as work:
            work.create_task(deliver())
            data, due_s = b"something", 0.0
            while data:
                data = await reader.read(1 << 16)
                stall_s = STALL_S if self._rng.random() < self.lost else 0.0
                due_s = max(due_s, monotonic_s() + self.delay_s + stall_s)
                late.put_nowait((due_s, data))


async def _until_then(due_s: float) -> None:
    """Wait by the clock of this process, which is not the event loop's."""
    while (left_s := due_s - monotonic_s()) > 0.0:
        await asyncio.sleep(left_s)


class Judged(msgspec.Struct):
    """A hold at the gate: how old it was, what was allowed, at which reading of the server's clock."""

    at_s: float
    age_s: float
    budget_share: float
    verdict: GateVerdict


class Observed:
    """What server and loop made of it all.

    Attributes:
        holds: as the gate judged them.
        given: to the loop, with the loop's clock at that time.
        reports: of the loop.
    """

    def __init__(self, lab: Served) -> None:
        self.holds: list[Judged] = []
        self.given: list[tuple[float, Request]] = []
        self.reports: list[ArmReport] = []
        desk, worker = lab.lab.desks["arm-1"], lab.workers["arm-1"]
        self.rig, self._worker = desk.rig, worker
        self._judge, self._send, self._report = desk.gate.judge, worker.send, worker._on_report
        desk.gate.judge = self._judged  # type: ignore[method-assign]
        worker.send = self._sent  # type: ignore[method-assign]
        worker._on_report = self._reported

    @property
    def allowed(self) -> list[Judged]:
        """Holds that the gate let through."""
        return [each for each in self.holds if each.verdict.allowed]

    @property
    def shares(self) -> list[float]:
        """What they were granted."""
        return [each.verdict.speed_share for each in self.allowed]

    @property
    def given_holds(self) -> list[tuple[float, JogHold]]:
        """Holds that reached the loop."""
        return [(t_s, request) for t_s, request in self.given if isinstance(request, JogHold)]

    @property
    def words(self) -> list[str]:
        """What the loop said."""
        return [event for report in self.reports for event in report.events]

    def check_no_old_hold_reached_the_loop(self) -> None:
        """Each hold that the loop got was young when the gate judged it."""
        at = {each.at_s: each for each in self.holds}
        for _, hold in self.given_holds:
            assert at[hold.issued_s].verdict.allowed
            assert at[hold.issued_s].age_s <= USABLE_AGE_S

    def check_nothing_moved_without_a_hold(self) -> None:
        """Whatever moved did so within the time of one hold and one stop after a hold."""
        period_s = self.rig.period_s
        most_s = HOLD_S + stop_time_s(self.rig) + 2.0 * period_s
        for before, after in zip(self.reports, self.reports[1:], strict=False):
            if before.commanded == after.commanded:
                continue
            newest_s = max((t_s for t_s, _ in self.given_holds if t_s <= after.t_s), default=float("-inf"))
            assert newest_s >= before.t_s - most_s, f"at {before.t_s:.3f} s moved without a hold"

    def _judged(self, message: ClientMessage, party: Party, grant: Grant, facts: Facts) -> GateVerdict:
        verdict = self._judge(message, party, grant, facts)
        if isinstance(message, wire.JogHold):
            self.holds.append(Judged(facts.now_s, facts.now_s - message.issued_s, facts.budget_share, verdict))
        return verdict

    def _sent(self, *requests: Request) -> None:
        now_s = self._worker._arm.clock.now_s()
        self.given += [(now_s, request) for request in requests]
        self._send(*requests)

    def _reported(self, report: ArmReport) -> None:
        self.reports.append(report)
        self._report(report)


@contextlib.asynccontextmanager
async def _driven(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings = PATIENT, seed: int = 0
) -> AsyncIterator[tuple[Served, SlowLine, AsyncArm]]:
    """A lab whose arm stands at home, where there is room, and its driver at the other end of a line that is fast."""
    async with served(folder, settings=settings) as lab:
        await lab.ready()
        line = SlowLine(int(lab.url.rpartition(":")[2]), seed)
        async with line.listening() as url, AsyncArm(Access(url=url, token=LOCAL.text), "arm-1", name="Ada") as arm:
            await arm.claim()
            assert await arm.home(speed_percent=100.0) is Mode.IDLE
            for name in ("TICK_S", "BY_HAND_TICK_S"):
                monkeypatch.setattr(lab_server, name, SLOW_TICK_S)
            yield lab, line, arm
            line.delay_s = line.lost = 0.0


def _until(reached: Callable[[], bool]) -> Callable[[], bool]:
    """Pressed until something is so; a test's patience ends it, too."""
    end_s = monotonic_s() + PATIENCE_S / 4.0
    return lambda: not reached() and monotonic_s() < end_s


async def _press(arm: AsyncArm, pressed: Callable[[], bool], share: float = 1.0) -> None:
    """Hold the dead-man, jog once the server knows that, and let go of both at once."""
    over = False

    def still() -> bool:
        nonlocal over
        over = over or not pressed()
        return not over

    async def keep() -> None:
        while still():
            arm.hold()
            await asyncio.sleep(0.05)

    keeping = asyncio.create_task(keep())
    try:
        await arm.grip()
        await arm.jog(FAST, still, share)
    finally:
        over = True
        await keeping
        arm.let_go()


async def _jog(arm: AsyncArm, seen: Observed, holds: int) -> None:
    """Press until so many holds more were let through; the arm moves all the while, and stands afterwards."""
    wanted = len(seen.allowed) + holds
    await _press(arm, _until(lambda: len(seen.allowed) >= wanted))
    assert len(seen.allowed) >= wanted
    assert sum("-> streaming" in words for words in seen.words) == 1
    assert not any("streaming -> " in words for words in seen.words)
    await arm.until(lambda: arm.mode in (Mode.HOLDING, Mode.IDLE), PATIENCE_S)
    await arm.free()


async def _slowness(line: SlowLine, arm: AsyncArm, delay_s: float) -> None:
    """Make the line slow, and wait until the client's clock goes by what came over it."""
    line.delay_s = delay_s
    assert await arm.until(lambda: arm.trip_s is not None and arm.trip_s >= 2.0 * delay_s, PATIENCE_S)


def test_on_a_line_that_is_a_little_slow_the_arm_goes_as_fast_as_its_stop_budget_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with _driven(tmp_path, monkeypatch, BRISK) as (lab, line, arm):
            near = Observed(lab)
            await _jog(arm, near, 20)
            await _slowness(line, arm, 0.02)
            far = Observed(lab)
            await _jog(arm, far, 20)
            smooth = [each for each in far.allowed if each.age_s <= SMOOTH_AGE_S]
            assert smooth
            assert all(each.age_s >= 2.0 * line.delay_s for each in smooth)
            assert all(each.verdict.speed_share == each.budget_share for each in smooth)
            assert max(far.shares) >= 0.85 * max(near.shares)

    run(story)


def test_on_a_line_of_a_third_of_a_second_the_arm_goes_on_and_is_slower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with _driven(tmp_path, monkeypatch, BRISK) as (lab, line, arm):
            near = Observed(lab)
            await _jog(arm, near, 20)
            await _slowness(line, arm, 0.17)
            far = Observed(lab)
            await _jog(arm, far, 20)
            assert all(2.0 * line.delay_s <= each.age_s <= USABLE_AGE_S for each in far.allowed)
            assert max(far.shares) <= share_by_age(2.0 * line.delay_s)
            assert max(far.shares) <= 0.85 * max(near.shares)
            assert min(far.shares) > 0.0
            top = max(far.shares) * far.rig.axes[0].speed
            rates = [hold.move.amounts[0] for _, hold in far.given_holds if isinstance(hold.move, AxisJog)]
            assert len(rates) >= 20
            assert all(0.0 < rate <= top * (1.0 + 1e-9) for rate in rates)

    run(story)


def test_on_a_line_of_a_third_of_a_second_a_jog_keeps_the_dead_man_held_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with _driven(tmp_path, monkeypatch, BRISK) as (lab, line, arm):
            await _slowness(line, arm, 0.17)
            seen, mark = Observed(lab), arm.mark
            await arm.jog(FAST, _until(lambda: len(seen.allowed) >= 20), 1.0)
            assert "the dead-man was released" not in arm.since(mark)

    run(story)


@pytest.mark.parametrize(
    "command_age_s", [pytest.param(0.5, id="as set"), pytest.param(1.0, id="with a patient dead-man")]
)
def test_on_a_line_of_more_than_half_a_second_holds_do_nothing_and_steps_go(
    command_age_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = LeaseSettings(stop_after_s=1.0, suspend_after_s=5.0, command_age_s=command_age_s)

    async def story() -> None:
        async with _driven(tmp_path, monkeypatch, Settings(lease=lease)) as (lab, line, arm):
            await _slowness(line, arm, 0.3)
            seen = Observed(lab)
            if command_age_s > 0.5:
                await _press(arm, _until(lambda: len(seen.holds) >= 10))
            else:
                # Here the client holds its tongue by itself: the dead-man's beats are too old as well.
                with pytest.raises(InterlockError, match="does not count as held; the line takes"):
                    await arm.jog(FAST, _until(lambda: False), 1.0)
                with pytest.raises(RefusedByLabError):
                    await arm.request(wire.JogHold, move=FAST)
            assert {each.verdict.code for each in seen.holds} == {Code.TOO_OLD}
            await arm.stop()
            await arm.until(lambda: arm.mode in (Mode.HOLDING, Mode.IDLE), PATIENCE_S)
            assert not seen.given_holds
            await arm.request(wire.ArmJog, speed_share=1.0)
            taken = await arm.request(wire.JogStep, move=STEP)
            assert taken.speed_share is not None
            assert 0.0 < taken.speed_share <= 0.2
            assert sum(isinstance(request, JogStep) for _, request in seen.given) == 1

    run(story)


@pytest.mark.parametrize("lost", [0.0, 0.05, 0.1])
def test_what_is_lost_and_sent_again_never_moves_the_arm_late(
    lost: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with _driven(tmp_path, monkeypatch, PATIENT, seed=7) as (lab, line, arm):
            seen, let_go_s = Observed(lab), list[float]()
            await _slowness(line, arm, 0.05)
            line.lost = lost
            for _ in range(4):
                wanted = len(seen.allowed) + 6
                # Words of a line that is too bad just now are fine; motion is not.
                with contextlib.suppress(InterlockError, RefusedByLabError):
                    await _press(arm, _until(lambda wanted=wanted: len(seen.allowed) >= wanted), 0.3)  # type: ignore[misc]
                let_go_s.append(monotonic_s())
                await _until_then(monotonic_s() + 0.7)
            line.delay_s = line.lost = 0.0
            await arm.until(lambda: arm.mode in (Mode.HOLDING, Mode.IDLE, Mode.ARMED), PATIENCE_S)
            assert len(seen.given_holds) > 6
            seen.check_no_old_hold_reached_the_loop()
            seen.check_nothing_moved_without_a_hold()
            # Of each press the last hold was asked for before it was let go of, and counts half a second at most.
            for _, hold in seen.given_holds:
                before = [at_s for at_s in let_go_s if at_s < hold.issued_s]
                pressed_again = len(before) < len(let_go_s) and bool(before) and hold.issued_s - before[-1] >= 0.7
                assert not before or pressed_again or hold.issued_s - before[-1] <= USABLE_AGE_S

    run(story)


def test_after_a_stall_the_holds_of_the_time_before_are_not_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with _driven(tmp_path, monkeypatch) as (lab, line, arm):
            seen = Observed(lab)
            await _slowness(line, arm, 0.02)
            let_go = asyncio.Event()
            jogging = asyncio.create_task(_press(arm, lambda: not let_go.is_set()))
            assert await arm.until(lambda: len(seen.given_holds) >= 5, PATIENCE_S)
            line.up.clear()
            stood = len(seen.holds)
            # The person presses on for longer than a hold counts, and lets go; all of that is still on its way.
            await asyncio.sleep(USABLE_AGE_S + 0.25)
            let_go.set()
            await jogging
            gone_on = len(seen.holds) - stood
            line.up.set()
            assert await arm.until(lambda: any(isinstance(each, JogRelease) for _, each in seen.given), PATIENCE_S)
            burst = seen.holds[stood + gone_on :]
            old = [each for each in burst if each.age_s > USABLE_AGE_S]
            assert len(burst) >= 5
            assert old
            assert not any(each.verdict.allowed for each in old)
            await arm.until(lambda: arm.mode in (Mode.HOLDING, Mode.IDLE, Mode.ARMED), PATIENCE_S)
            seen.check_no_old_hold_reached_the_loop()
            seen.check_nothing_moved_without_a_hold()
            # The jog is over for the loop, and only arming anew begins another.
            assert sum("-> streaming" in words for words in seen.words) == 1

    run(story)


def test_holds_that_come_in_a_burst_count_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with _driven(tmp_path, monkeypatch) as (lab, line, arm):
            seen, worker = Observed(lab), lab.workers["arm-1"]
            over = asyncio.Event()
            jogging = asyncio.create_task(_press(arm, lambda: not over.is_set()))
            assert await arm.until(lambda: len(seen.given_holds) >= 5, PATIENCE_S)
            # The loop takes nothing meanwhile, so that all of the burst comes within one of its ticks.
            worker.held_up = True
            before = len(seen.given_holds)
            assert await arm.until(lambda: len(seen.given_holds) >= before + 8, PATIENCE_S)
            line.up.clear()
            came_s = seen.given_holds[-1][0]
            worker.held_up = False
            assert await arm.until(lambda: any("streaming -> " in each for each in seen.words), PATIENCE_S)
            stopped_s = next(r.t_s for r in seen.reports if any("streaming -> " in each for each in r.events))
            # Eight of them one after the other would be eight times as long.
            assert stopped_s - came_s <= 2.0 * HOLD_S + 10.0 * seen.rig.period_s
            over.set()
            line.up.set()
            await jogging
            seen.check_nothing_moved_without_a_hold()

    run(story)
