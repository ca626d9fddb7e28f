"""Connections that say nothing keep nobody out, and take no more than their share of the server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from kill_rounds import Program, await_that
from lab_box import READY_S
from lab_load import free_port
from lab_server import PATIENCE_S, run, served
from tokens_of_people import token

from hil.service.callers import MOST_UNKNOWN, MOST_UNKNOWN_OF_ONE_HOME, Callers, home_of
from hil.service.connection import list_arms, reach
from hil.service.front_site import FrontSite
from hil.service.lab_setup import tls_of
from hil.service.remote import RemoteArm
from hil.service.rights import Role
from hil.service.settings import load_lab
from hil.service.setup import make_lab

ADDRESSES = st.sampled_from(["192.0.2.1", "192.0.2.2", "198.51.100.7", "2001:db8::1", "2001:db8::2"])


@given(st.lists(st.tuples(ADDRESSES, st.booleans()), max_size=200), st.integers(1, 6), st.integers(1, 12))
def test_the_newest_is_in_no_home_has_more_than_its_share_and_what_goes_was_the_oldest_of_its_home(
    calls: list[tuple[str, bool]], most_of_one: int, most: int
) -> None:
    callers = Callers(most, most_of_one)
    here: list[tuple[int, str]] = []
    dropped: list[int] = []

    for number, (address, leaves) in enumerate(calls):
        callers.take(number, address, lambda number=number: dropped.append(number))  # type: ignore[misc]
        here.append((number, home_of(address)))
        if dropped and dropped[-1] in [each for each, _ in here]:
            gone = next(each for each in here if each[0] == dropped[-1])
            assert gone == next(each for each in here if each[1] == gone[1])
            here.remove(gone)
        assert (number, home_of(address)) in here
        assert len(here) <= most
        assert all(sum(home == other for _, other in here) <= most_of_one for _, home in here)
        if leaves:
            callers.forget(here.pop(0)[0])
    assert len(dropped) + len(here) + sum(leaves for _, leaves in calls) == len(calls)


def test_so_many_of_one_home_and_in_all() -> None:
    assert (MOST_UNKNOWN, MOST_UNKNOWN_OF_ONE_HOME) == (256, 128)
    callers, dropped = Callers(), []
    for number in range(129):
        callers.take(number, "192.0.2.1", lambda number=number: dropped.append(number))  # type: ignore[misc]
    assert dropped == [0]
    for number in range(129, 258):
        callers.take(number, f"192.0.3.{number - 128}", lambda number=number: dropped.append(number))  # type: ignore[misc]
    assert dropped == [0, 1]


@pytest.mark.parametrize(
    ("address", "home"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("@socket", "@socket"),
    ],
)
def test_a_household_s_addresses_count_as_one(address: str, home: str) -> None:
    assert home_of(address) == home


def own_tls(folder: Path) -> ssl.SSLContext:
    """The server's side of a new lab's own certificate."""
    make_lab(folder, name="Lab", hosts=(), arms={"arm-1": "lynx6"}, seeds=(bytes(32), bytes(32)),
             now_epoch_s=time.time())  # fmt: skip
    context = tls_of(load_lab(folder))
    assert context is not None
    return context


async def _silent(port: int, count: int) -> list[socket.socket]:
    loop, found = asyncio.get_running_loop(), []
    for _ in range(count):
        each = socket.socket()
        each.setblocking(False)
        await loop.sock_connect(each, ("127.0.0.1", port))
        found.append(each)
    return found


@pytest.mark.wall_clock
def test_whoever_only_connects_pushes_out_his_own_and_a_newcomer_stops_the_arm(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True) as lab:
            await lab.ready()
            driver = await lab.join(token=token("Dorothea"))
            await driver.drive()
            port = int(lab.url.rpartition(":")[2])
            silent = await _silent(port, 3 * MOST_UNKNOWN)
            newcomer = await lab.join(token=token("Tia", Role.TEACH))
            assert newcomer.welcome is not None
            assert (await newcomer.ask("stop", reason="enough"))["type"] == "accepted"
            assert not driver.closed
            still_there = sum(not _ended(each) for each in silent)
            assert still_there <= MOST_UNKNOWN_OF_ONE_HOME
            for each in silent:
                each.close()

    run(story)


def _ended(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.wall_clock
@pytest.mark.parametrize("encrypted", [False, True])
@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01"])
def test_who_has_asked_for_nothing_in_time_is_broken_off(tmp_path: Path, encrypted: bool, said: bytes) -> None:
    tls = own_tls(tmp_path / "lab") if encrypted else None

    async def story() -> None:
        callers = Callers()
        runner = web.AppRunner(web.Application())
        await runner.setup()
        await FrontSite(runner, "127.0.0.1", 0, callers, tls=tls, first_request_s=0.2).start()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", runner.addresses[0][1])
            writer.write(said)
            with contextlib.suppress(ConnectionError):
                async with asyncio.timeout(PATIENCE_S):
                    await reader.read()
            writer.close()
            assert not callers._unknown
        finally:
            await runner.cleanup()

    run(story)


def test_nobody_is_heard_before_whoever_listens_knows_its_port() -> None:
    found: list[tuple[int, bool]] = []

    def bound(port: int) -> None:
        with socket.socket() as line:
            found.append((port, line.connect_ex(("127.0.0.1", port)) == 0))

    async def story() -> None:
        runner = web.AppRunner(web.Application())
        await runner.setup()
        try:
            await FrontSite(runner, "127.0.0.1", 0, Callers(), bound=bound).start()
            assert found == [(runner.addresses[0][1], False)]
            _, writer = await asyncio.open_connection("127.0.0.1", found[0][0])
            writer.close()
        finally:
            await runner.cleanup()

    run(story)


SILENT = """
import socket, sys
lines = []
for _ in range(int(sys.argv[2])):
    lines.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
print("silent", flush=True)
sys.stdin.read()
"""
DESCRIPTORS = 1024


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="limits of a running process are set as Linux does")
def test_with_1024_descriptors_and_1500_silent_connections_a_newcomer_s_stop_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    port = free_port()
    server = Program(tmp_path, "serve", "serve", "--demo", "1", "--port", str(port))
    try:
        server.says("in another terminal: hil drive", READY_S)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        attacker = subprocess.Popen(
            [sys.executable, "-c", SILENT, str(port), "1500"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert attacker.stdout is not None and attacker.stdout.readline() == b"silent\n"
        access = reach(f"http://127.0.0.1:{port}")[0]
        with RemoteArm(access, "arm-1", name="Newcomer") as newcomer:
            newcomer.stop("enough")
            await_that(lambda: bool(list_arms(access).arms[0].lease.latched), READY_S, "no stop")
        attacker.communicate()
        assert len((tmp_path / "serve.err").read_text().splitlines()) < 10
    finally:
        server.clear_up()
