"""`hil.connect`: the same arm for programs that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from lab_server import run, served

import hil
import hil.errors
from hil.errors import CommandError
from hil.refusal import RefusedError
from hil.service import wire
from hil.service.remote import RemoteArm, _task_text
from hil.types import Mode


def with_arm(folder: Path, program: Callable[[RemoteArm], None]) -> None:
    """Run a program that waits beside the lab."""

    async def story() -> None:
        async with served(folder) as lab:
            await lab.ready()

            def whole() -> None:
                with hil.connect(f"{lab.url}/arm-1", name="Ada") as arm:
                    program(arm)

            await asyncio.to_thread(whole)

    run(story)


def test_a_program_claims_jogs_and_reads_where_the_arm_is(tmp_path: Path) -> None:
    def program(arm: RemoteArm) -> None:
        arm.claim()
        assert arm.jog(base=5) is Mode.IDLE
        assert arm.jog(z=5) is Mode.IDLE
        assert arm.positions[0] == pytest.approx(0.0872664, abs=1e-6)
        assert arm.tool_m is not None
        arm.stop()
        arm.release()

    with_arm(tmp_path, program)


def test_a_self_test_says_what_came_of_it(tmp_path: Path) -> None:
    def program(arm: RemoteArm) -> None:
        arm.claim()
        assert arm.self_test(speed_percent=100) == "self-test passed: positions echoed"
        assert arm.mode is Mode.IDLE

    with_arm(tmp_path, program)


def test_a_jog_of_what_there_is_not_says_what_there_is(tmp_path: Path) -> None:
    def program(arm: RemoteArm) -> None:
        for amounts in ({"elbwo": 3.0}, {}, {"base": 1.0, "x": 1.0}):
            with pytest.raises(CommandError, match=r"axes \(base, shoulder"):
                arm.jog(**amounts)

    with_arm(tmp_path, program)


@pytest.mark.processes
def test_a_task_is_previewed_by_the_lab_and_runs_while_the_call_waits(tmp_path: Path) -> None:
    def program(arm: RemoteArm) -> None:
        arm.claim()
        assert arm.home(speed_percent=50.0) is Mode.IDLE
        found = arm.preview("pick-and-place")
        assert found.ok
        assert found.digest
        assert arm.run(found) is Mode.IDLE
        arm.deadman = lambda: False
        with pytest.raises(hil.errors.InterlockError, match="dead-man"):
            arm.run(found)

    with_arm(tmp_path, program)


@pytest.mark.processes
def test_letting_go_of_the_dead_man_stops_a_move(tmp_path: Path) -> None:
    def program(arm: RemoteArm) -> None:
        arm.claim()
        arm.deadman = lambda: arm.mode is not Mode.STREAMING
        assert arm.home(speed_percent=10.0) is Mode.HOLDING

    with_arm(tmp_path, program)


def test_a_preview_that_was_refused_is_not_run(tmp_path: Path) -> None:
    def program(arm: RemoteArm) -> None:
        with pytest.raises(RefusedError, match="too far"):
            arm.run(wire.Previewed(arm="arm-1", ok=False, notes=("too far",)))

    with_arm(tmp_path, program)


def test_an_address_without_an_arm_will_do_for_a_lab_with_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:

            def whole() -> None:
                with hil.connect(lab.url) as arm:
                    assert arm.arm == "arm-1"

            await asyncio.to_thread(whole)

    run(story)


def test_an_address_without_an_arm_lists_the_arms_of_a_lab_with_several(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2) as lab:
            with pytest.raises(CommandError, match=r"which arm\? There are: .*/arm-1, .*/arm-2"):
                await asyncio.to_thread(lambda: hil.connect(lab.url))

    run(story)


def test_closing_twice_does_no_harm(tmp_path: Path) -> None:
    def program(arm: RemoteArm) -> None:
        arm.close()
        arm.close()

    with_arm(tmp_path, program)


def test_a_task_is_given_by_text_file_or_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('title = "mine"\n')
    assert _task_text(file) == ("mine", 'title = "mine"\n')
    assert _task_text('title = "x"\n') == ("task", 'title = "x"\n')
    assert _task_text("pick-and-place")[0] == "pick-and-place"
