"""A server that goes and comes again: whose turn it is stays so, and everything that leads to motion begins anew."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from kill_rounds import Program, await_that
from lab_box import READY_S
from lab_load import free_port
from lab_server import PATIENCE_S, Served, kinds, run, said, served

from hil.errors import HilError
from hil.service.client import AsyncArm
from hil.service.connection import list_arms, reach
from hil.service.lab_request import RefusedByLabError
from hil.service.lease_settings import LeaseSettings
from hil.service.remote import RemoteArm
from hil.service.settings import Settings
from hil.service.wire import Go, LeasePhase
from hil.types import Mode

pytestmark = pytest.mark.wall_clock

WAITING = Settings(lease=LeaseSettings(stop_after_s=1.0, suspend_after_s=5.0, grace_s=600.0))
"""A busy machine may take long to end a server and to start the next; what is judged is for whom the arm waits."""

TURN = {"type": "axes", "amounts": [0.05, 0.0, 0.0, 0.0, 0.0, 0.0]}


@contextlib.asynccontextmanager
async def after_a_kill(folder: Path) -> AsyncIterator[tuple[Served, int]]:
    """The next server, after one that was killed while Ada drove; and the epoch under which she did."""
    file = folder / "leases.json"
    async with served(folder, settings=WAITING) as lab:
        ada = await lab.driver()
        epoch = ada.lease["epoch"]
        left_behind = file.read_bytes()
    # All that a process that is killed can leave is what it has written before.
    file.write_bytes(left_behind)
    async with served(folder, settings=WAITING) as lab:
        yield lab, epoch


def test_after_a_killed_server_the_arm_is_its_drivers_and_waits_for_all_that_leads_to_motion(tmp_path: Path) -> None:
    async def story() -> None:
        async with after_a_kill(tmp_path) as (lab, epoch):
            assert any("it waits" in line and "someone, who drove it" in line for line in said)
            bob = await lab.join(name="Bob")
            refused = await bob.ask("claim")
            assert refused["code"] == "lease" and "is away; it is kept for" in refused["reason"]
            assert bob.lease["phase"] == "suspended" and 0.0 < bob.lease["kept_s"] <= 600.0
            ada = await lab.join()
            assert (await ada.ask("claim"))["type"] == "accepted"
            await ada.until(lambda: ada.yours)
            assert ada.lease["epoch"] > epoch
            # The wiring confirms the fake's pose; who comes back holds the arm first.
            assert set(kinds(lab.workers["arm-1"].sent)) <= {"Confirm", "Stop"}
            for kind, fields in (("jog_hold", {"move": TURN}), ("go", {"to": "home", "speed_share": 1.0})):
                assert (await ada.order(kind, **fields))["code"] == "deadman"
            assert (await ada.order("arm_jog", epoch=epoch, speed_share=0.5))["code"] == "epoch"

    run(story)


def test_a_stop_by_anybody_counts_while_the_arm_waits_for_its_driver(tmp_path: Path) -> None:
    async def story() -> None:
        async with after_a_kill(tmp_path) as (lab, _):
            bob = await lab.join(name="Bob")
            await bob.ask("stop", reason="a hand")
            assert "Stop" in kinds(lab.workers["arm-1"].sent)
            assert bob.lease["latched"] == "stopped by Bob: a hand"

    run(story)


def test_a_server_that_was_ended_in_order_keeps_the_lease_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=WAITING) as lab:
            await lab.driver()
        async with served(tmp_path, settings=WAITING) as lab:
            lease = lab.lab.desks["arm-1"].lease
            assert lease.phase is LeasePhase.SUSPENDED and lease.driver is not None and lease.driver.user == "someone"

    run(story)


@pytest.mark.parametrize("damage", [b"", b"{", None])
def test_without_a_sound_file_the_lab_starts_says_so_and_the_arm_is_free(damage: bytes | None, tmp_path: Path) -> None:
    async def story() -> None:
        file = tmp_path / "leases.json"
        async with served(tmp_path) as lab:
            await lab.driver()
        said.clear()
        if damage is None:
            file.unlink()
        else:
            file.write_bytes(damage)
        async with served(tmp_path) as lab:
            await lab.ready()
            bob = await lab.join(name="Bob")
            await bob.drive()
            assert any("every arm is free" in line for line in said)

    run(story)


def test_who_stood_in_the_queue_stands_in_it_again_after_a_lost_line(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            access = lab.access
            async with AsyncArm(access, "arm-1", name="Ada") as ada, AsyncArm(access, "arm-1", name="Bob") as bob:
                await ada.claim()
                waiting = asyncio.create_task(bob.claim(wait=True, within_s=60.0))
                assert await bob.until(lambda: bob.lease is not None and bob.lease.place == 1, PATIENCE_S)
                assert bob._line._socket is not None
                bob._line._socket._socket._response.close()
                assert await bob.until(lambda: not bob.connected, PATIENCE_S)
                assert await bob.until(lambda: bob.lease is not None and bob.lease.place == 1, PATIENCE_S)
                assert not waiting.done()
                await ada.release()
                await waiting
                assert bob.drives

    run(story)


# -- processes -------------------------------------------------------------------------------------------


def _serve(folder: Path, port: int) -> Program:
    server = Program(
        folder, f"serve-{len(list(folder.glob('serve-*.out')))}", "serve", "--demo", "1", "--port", str(port)
    )
    server.says("in another terminal: hil drive", READY_S)
    server.remember_family()
    return server


@pytest.mark.processes
def test_kill_9_for_a_server_and_a_new_one_gives_the_arm_to_who_had_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    port = free_port()
    access = reach(f"http://127.0.0.1:{port}")[0]
    server = _serve(tmp_path, port)
    servers = [server]
    try:
        with RemoteArm(access, "arm-1", name="Ada") as ada:
            ada.claim(within_s=READY_S)
            epoch = ada.channel.epoch
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait(30.0)
            servers.append(_serve(tmp_path, port))
            assert "it waits" in servers[-1].err.read_text() + servers[-1].out.read_text()
            with RemoteArm(access, "arm-1", name="Bob") as bob, pytest.raises(HilError, match="Ada drives it"):
                bob.claim(within_s=1.0)
            await_that(lambda: ada.channel.drives, 60.0, "Ada has not got her arm back")
            assert ada.channel.epoch > epoch
            assert list_arms(access).arms[0].lease.holder == "Ada"
            assert ada.mode is Mode.IDLE
            with pytest.raises(RefusedByLabError, match="dead-man"):
                ada._call(ada.channel.request(Go, to="home", speed_share=0.5))
    finally:
        for each in servers:
            each.clear_up()
