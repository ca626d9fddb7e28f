"""Several real arms in one lab: each is where its own adapter is, and the trouble of one is no trouble of another."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lab_server import PATIENCE_S, Person, Served, VirtualWorker, answering, made_lab, resting_report, run

from hil.errors import ConfigError, LinkClosed
from hil.link import SerialAdapter
from hil.model.rig import Rig
from hil.runtime.controller_memory import remedy
from hil.runtime.loop_process import LoopSlot
from hil.runtime.wiring import load_rig
from hil.service import arms, lab_setup
from hil.service.adapters import port_of
from hil.service.arm_channel import Leave, WorkerEnd
from hil.service.arm_worker import ArmSpec
from hil.service.arms import AGAIN_S, ArmProcess, ServedArm
from hil.service.demo import demo_arms
from hil.service.running_lab import ArmPlan
from hil.service.settings import ArmSettings, Settings
from hil.types import ControllerIdentity, Mode

OWN = "A50285BI"
STEP = {"type": "axes", "amounts": [0.05, 0.0, 0.0, 0.0, 0.0, 0.0]}
LONG_STEP = {"type": "axes", "amounts": [0.75, 0.0, 0.0, 0.0, 0.0, 0.0]}


def adapter(device: str, serial: str = OWN) -> SerialAdapter:
    return SerialAdapter(device=device, serial_number=serial, usb_id="0403:6001")


OTHERS = (adapter("/dev/ttyUSB0", "FT9"), SerialAdapter(device="/dev/ttyS0"))


class Plugs:
    """What is plugged in, and how often somebody looked."""

    def __init__(self, *here: SerialAdapter) -> None:
        self.here: Sequence[SerialAdapter] = here
        self.looked = 0

    def __call__(self) -> Sequence[SerialAdapter]:
        self.looked += 1
        return self.here


def bound(rig: Rig) -> Rig:
    return msgspec.structs.replace(rig, adapter_serial=OWN)


def answer(spec: ArmSpec, end: socket.socket) -> None:
    """A worker that notes the port it was given, reports an arm at rest, and waits until it may leave."""
    spec.journals.mkdir(exist_ok=True)
    (spec.journals / "port").write_text(f"{spec.url}")
    channel = WorkerEnd(end)
    channel.send(resting_report(spec))
    with contextlib.suppress(LinkClosed):
        while not any(isinstance(message, Leave) for message in channel.receive()):
            select.select([channel], [], [])
    channel.close()


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not reached():
            await asyncio.sleep(0.01)


async def summary(lab: Served, arm: str, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The arm in the lab's list, once something is so of it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            _, found = await lab.get("/v1/lab")
            (one,) = (one for one in found["arms"] if one["arm"] == arm)
            if reached(one):
                return dict(one)
            await asyncio.sleep(0.05)


# -- one adapter ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["/dev/ttyUSB1", "/dev/ttyUSB7", "COM12"])
def test_an_arm_is_at_the_port_that_its_adapter_has_now(device: str) -> None:
    assert port_of(bound(load_rig("lynx6")), lambda: (*OTHERS, adapter(device))) == device


def test_a_missing_adapter_is_named_with_those_that_are_here_and_what_to_do() -> None:
    rig = bound(load_rig("lynx6"))
    with pytest.raises(LinkClosed, match=rf"{OWN} is plugged in; here: FT9\. Plug it in.*or correct the number"):
        port_of(rig, lambda: OTHERS)
    with pytest.raises(LinkClosed, match="here: none"):
        port_of(rig, lambda: ())


def test_an_adapter_that_is_there_twice_is_nobodys() -> None:
    here = (adapter("/dev/ttyUSB1"), adapter("/dev/ttyUSB2"))
    with pytest.raises(LinkClosed, match="2 times, at /dev/ttyUSB1, /dev/ttyUSB2"):
        port_of(bound(load_rig("lynx6")), lambda: here)


def test_a_system_that_cannot_list_its_ports_is_a_reason_and_no_crash() -> None:
    def broken() -> Sequence[SerialAdapter]:
        raise OSError("no /sys here")

    with pytest.raises(LinkClosed, match="no /sys here"):
        port_of(bound(load_rig("lynx6")), broken)


# -- the start ------------------------------------------------------------------------------------------------


def plans_of(**arms_by_name: ArmSettings) -> tuple[ArmPlan, ...]:
    return lab_setup.arms_of(Settings(arms=arms_by_name))


def real(**options: str) -> ArmSettings:
    return ArmSettings(rig="lynx6", hardware=True, **options)


def test_a_lab_opens_while_an_adapter_is_missing_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(lab_setup, "serial_adapters", lambda: OTHERS)
    monkeypatch.setattr(lab_setup, "share_out", lambda plans: {})
    plans = plans_of(left=real(adapter_serial=OWN))
    assert (plans[0].url, plans[0].place) == ("", f"the adapter {OWN}")
    said: list[str] = []
    lab = lab_setup.open_local(Settings(), plans, command="test", say=said.append)
    asyncio.run(lab.close("the test ends"))
    (words,) = said
    assert words.startswith(f"left is away: no adapter with the serial number {OWN}")


def test_a_wrong_rig_still_refuses_the_start() -> None:
    with pytest.raises(ConfigError, match="no-such-rig"):
        plans_of(left=ArmSettings(rig="no-such-rig", hardware=True, adapter_serial=OWN))


@pytest.mark.parametrize(
    ("left", "right", "key"),
    [
        (real(port="/dev/ttyUSB1"), real(port="/dev/ttyUSB1"), "port"),
        (real(port="COM3"), real(port=r"\\.\com3"), "port"),
        (real(), real(), "port"),
        (real(adapter_serial=OWN), real(adapter_serial=OWN), "adapter_serial"),
        (real(adapter_serial=OWN), real(adapter_serial=OWN, port="/dev/ttyUSB1"), "adapter_serial"),
    ],
)
def test_two_real_arms_at_one_port_or_adapter_refuse_the_start(left: ArmSettings, right: ArmSettings, key: str) -> None:
    with pytest.raises(ConfigError, match="left has") as refused:
        plans_of(left=left, right=right)
    assert (refused.value.file, refused.value.key) == ("arm right", key)


@pytest.mark.skipif(sys.platform == "win32", reason="its ports have no links")
def test_a_link_to_a_port_is_that_port(tmp_path: Path) -> None:
    (tmp_path / "port").touch()
    (tmp_path / "link").symlink_to(tmp_path / "port")
    with pytest.raises(ConfigError, match="left has"):
        plans_of(left=real(port=str(tmp_path / "port")), right=real(port=str(tmp_path / "link")))


def test_fakes_and_the_sockets_of_one_adapter_share_a_serial_number() -> None:
    fake = ArmSettings(rig="lynx6", adapter_serial=OWN)
    assert len(plans_of(left=fake, right=fake, middle=real(adapter_serial=OWN))) == 3
    sockets = [real(adapter_serial=OWN, port=f"/dev/ttyUSB{k}") for k in range(2)]
    assert [plan.url for plan in plans_of(left=sockets[0], right=sockets[1])] == ["/dev/ttyUSB0", "/dev/ttyUSB1"]


# -- who answers ----------------------------------------------------------------------------------------------


class AnotherBoard(VirtualWorker):
    """An arm whose controller is not the one that an earlier session has met."""

    def __init__(self, spec: ArmSpec, **options: Any) -> None:
        super().__init__(spec, **options)
        met = ControllerIdentity(facts=(("what it calls itself", "SSC32-V2.01XE"),))
        self._arm.bridge._connection._acquaintance.expect(met, remedy(spec.rig.id, "/dev/ttyUSB0"))


def test_whoever_is_there_reads_why_another_controller_is_refused_and_what_to_do(tmp_path: Path) -> None:
    """What `hil drive`, the window and the page show is what comes in these notices."""
    (tmp_path / "rigs").mkdir()

    async def story() -> None:
        async with answering(
            made_lab(tmp_path, demo_arms(1, "lynx6", tmp_path / "rigs"), make_arm=AnotherBoard)
        ) as lab:
            await lab.reach(Mode.FAULT)
            person = await lab.join()
            assert (await person.ask("claim"))["type"] == "accepted"
            await person.until(lambda: person.yours)
            await person.order("reset")
            await person.until(lambda: bool(refusals(person)))
            assert "-> fault: " in refusals(person)[0]
            assert "`hil identify arm-1 --hardware --port /dev/ttyUSB0`" in refusals(person)[0]

    run(story)


def refusals(person: Person) -> list[str]:
    return [notice["text"] for notice in person.notices if "was 'SSC32-V2.01XE', is '" in notice["text"]]


# -- while the lab runs ---------------------------------------------------------------------------------------


def test_without_its_adapter_no_worker_is_started_and_the_pauses_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away: list[str] = []
    pauses: list[float] = []
    plugs, let_go = Plugs(*OTHERS), asyncio.sleep

    async def pause(pause_s: float) -> None:
        pauses.append(pause_s)
        await let_go(0.0)

    monkeypatch.setattr(asyncio, "sleep", pause)

    async def story() -> None:
        spec = ArmSpec(rig=bound(load_rig("lynx6")), url="", journals=tmp_path, command="", address="", slot=LoopSlot())
        arm = ArmProcess(
            spec,
            on_report=lambda report: pytest.fail("came up"),
            on_away=away.append,
            turn=asyncio.Semaphore(1),
            adapters=plugs,
        )
        arm.start()
        async with asyncio.timeout(PATIENCE_S):
            while plugs.looked <= len(AGAIN_S) + 1:
                await let_go(0.01)
        assert arm.pid is None
        assert away == [arm.away]
        await arm.close("the test ends")

    run(story)
    assert pauses[: len(AGAIN_S) + 1] == [*AGAIN_S, AGAIN_S[-1]]


@pytest.mark.processes
def test_an_arm_whose_adapter_is_missing_comes_up_wherever_it_is_plugged_in_and_the_others_are_served_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arms, "AGAIN_S", (0.05,))
    monkeypatch.setattr(arms, "run_arm", answer)
    plugs = Plugs(*OTHERS)
    (tmp_path / "rigs").mkdir()
    left, right = demo_arms(2, "lynx6", tmp_path / "rigs")
    right = msgspec.structs.replace(right, rig=bound(right.rig), url="", vouched=False)
    port = tmp_path / "journals" / "port"

    def make(spec: ArmSpec, **options: Any) -> ServedArm:
        if spec.rig.id == left.rig.id:
            return VirtualWorker(spec, **options)
        return ArmProcess(spec, adapters=plugs, **options)

    def is_at(device: str) -> bool:
        return port.exists() and port.read_text() == device

    async def story() -> None:
        async with answering(made_lab(tmp_path, [left, right], make_arm=make)) as lab:
            worker = lab.lab.desks["arm-2"].loop.process
            assert isinstance(worker, ArmProcess)
            found = await summary(lab, "arm-2", lambda arm: "plugged in" in arm["why_not"])
            assert (found["real"], found["bookable"]) == (True, False)
            assert f"no adapter with the serial number {OWN} is plugged in; here: FT9" in found["why_not"]
            await lab.reach(Mode.IDLE, "arm-1")
            person = await lab.join("arm-1")
            await person.drive()
            assert (await person.order("arm_jog", speed_share=0.5))["type"] == "accepted"
            assert (await person.order("jog_step", move=STEP))["type"] == "accepted"
            assert worker.pid is None

            plugs.here = (*OTHERS, adapter("/dev/ttyUSB3"))
            await until(lambda: is_at("/dev/ttyUSB3") and not worker.away)
            await summary(lab, "arm-2", lambda arm: arm["bookable"])

            plugs.here = (*OTHERS, adapter("/dev/ttyUSB4"))
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            await until(lambda: is_at("/dev/ttyUSB4") and not worker.away)

    run(story)


@pytest.mark.processes
@pytest.mark.pty
def test_a_worker_that_is_killed_leaves_the_other_arm_moving_and_its_stop_working(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "rigs").mkdir()
    plans = [
        msgspec.structs.replace(
            plan, rig=msgspec.structs.replace(plan.rig, id=f"{plan.arm}-{os.getpid()}", energise_dwell_s=0.02)
        )
        for plan in demo_arms(2, "lynx6", tmp_path / "rigs")
    ]

    async def story() -> None:
        async with answering(made_lab(tmp_path, plans, make_arm=ArmProcess)) as lab:
            await lab.ready()
            person = await lab.join("arm-2")
            await person.drive()
            assert (await person.order("arm_jog", speed_share=0.05))["type"] == "accepted"
            assert (await person.order("jog_step", move=LONG_STEP))["type"] == "accepted"
            await lab.reach(Mode.STREAMING, "arm-2")
            killed, other = (lab.lab.desks[arm].loop.process for arm in ("arm-1", "arm-2"))
            assert isinstance(killed, ArmProcess) and isinstance(other, ArmProcess)
            assert killed.pid is not None
            pid = other.pid
            os.kill(killed.pid, signal.SIGKILL)
            await until(lambda: killed.away == "its worker has ended without a word")
            assert lab.lab.desks["arm-2"].loop.mode is Mode.STREAMING
            assert (await person.ask("stop", reason="enough"))["type"] == "accepted"
            await lab.reach(Mode.HOLDING, "arm-2")
            assert (other.away, other.pid) == ("", pid)

    run(story, within_s=100.0)
