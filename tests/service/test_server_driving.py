"""People at a lab's server: what they may, what they may not, and what becomes of the arm when they go."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from lab_server import PATIENCE_S, kinds, run, served

from hil.service.arms import BEAT_S
from hil.service.audit import audit_files
from hil.service.coming_up import AGAIN_S
from hil.service.lease_settings import LeaseSettings
from hil.service.settings import Settings
from hil.types import JogHold, LetGo, Mode, Stop, SupplyCut

pytestmark = pytest.mark.wall_clock

STEP = {"type": "axes", "amounts": [0.05, 0.0, 0.0, 0.0, 0.0, 0.0]}
QUICK = Settings(lease=LeaseSettings(stop_after_s=0.4, suspend_after_s=2.0, grace_s=30.0))


def test_a_newcomer_lists_the_arms_joins_one_and_moves_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2) as lab:
            await lab.ready()
            status, found = await lab.get("/v1/lab")
            assert status == 200
            assert [arm["arm"] for arm in found["arms"]] == ["arm-1", "arm-2"]
            person = await lab.join(name="Ada")
            assert person.welcome is not None
            assert (person.welcome["name"], person.welcome["real"]) == ("Ada", False)
            await person.send("watch", rate_hz=50)
            await person.drive()
            armed = await person.order("arm_jog", speed_share=0.5)
            assert armed["type"] == "accepted"
            assert 0.0 < armed["speed_share"] <= 0.5
            assert (await person.order("jog_step", move=STEP))["type"] == "accepted"
            await person.until(lambda: bool(person.frames) and person.frames[-1]["commanded"][0] == 0.05)
            assert {frame["lease"]["holder"] for frame in person.frames[-1:]} == {"Ada"}

    run(story)


def test_who_claims_an_arm_that_is_coming_up_gets_it_as_soon_as_it_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.reach(Mode.ENERGISING)
            person = await lab.join()
            assert (await person.ask("claim"))["type"] == "accepted"
            assert person.lease["phase"] == "changing"
            await person.until(lambda: person.yours)
            assert lab.lab.desks["arm-1"].loop.mode is Mode.IDLE
            assert kinds(lab.workers["arm-1"].sent) == ["Confirm"]

    run(story)


def test_an_arm_whose_coming_up_is_held_comes_up_afterwards(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.reach(Mode.ENERGISING)
            lab.lab.desks["arm-1"].hold("the test")
            await lab.reach(Mode.UNKNOWN_POSE)
            await lab.ready()

    run(story)


def test_a_stop_while_the_arm_comes_up_latches_and_nothing_is_driven_until_it_is_reset(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.reach(Mode.ENERGISING)
            person, worker = await lab.join(), lab.workers["arm-1"]
            await person.ask("stop", reason="wait")
            await lab.reach(Mode.UNKNOWN_POSE)
            before, beats = list(worker.sent), worker.beats
            async with asyncio.timeout(PATIENCE_S):
                while worker.beats < beats + int(2.0 * AGAIN_S / BEAT_S):
                    await asyncio.sleep(0.01)
            assert worker.sent == before
            assert (await person.order("reset"))["type"] == "accepted"
            await lab.ready()

    run(story)


def test_nothing_reaches_the_arm_from_whoever_does_not_drive_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            one, other = await lab.join(name="one"), await lab.join(name="other")
            await one.drive()
            before = list(lab.workers["arm-1"].sent)
            orders = {
                "arm_jog": {"speed_share": 1.0},
                "jog_step": {"move": STEP},
                "jog_hold": {"move": STEP},
                "go": {"to": "home", "speed_share": 1.0},
                "gripper": {"opening_m": 0.01, "speed_share": 1.0},
                "confirm": {},
                "go_limp": {"axis": "gripper"},
                "arm_motion": {"digest": "0" * 64},
                "start": {"digest": "0" * 64},
                "release": {},
            }
            for kind, fields in orders.items():
                given = {"arm": "arm-1", "epoch": one.lease["epoch"], **fields}
                if kind != "release":
                    given["issued_s"] = other.now_s()
                answer = await other.ask(kind, **given)
                assert (answer["type"], answer["code"]) == ("refused", "lease"), kind
            assert lab.workers["arm-1"].sent == before

    run(story)


def test_an_old_epoch_an_old_number_and_another_arm_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2) as lab:
            person = await lab.driver()
            old = await person.order("arm_jog", speed_share=1.0, epoch=person.lease["epoch"] - 1)
            assert old["code"] == "epoch"
            elsewhere = await person.order("arm_jog", speed_share=1.0, arm="arm-2")
            assert elsewhere["code"] == "arm"
            again = {"type": "arm_jog", "v": 1, "seq": 1, "arm": "arm-1", "epoch": person.lease["epoch"],
                     "issued_s": person.now_s(), "speed_share": 1.0}  # fmt: skip
            await person.send_raw(json.dumps(again))
            await person.until(lambda: 1 in person.answers)
            assert person.answers[1]["code"] == "replay"
            assert "ArmJog" not in kinds(lab.workers["arm-1"].sent)

    run(story)


def test_anybody_stops_the_arm_and_the_stop_latches_until_it_is_reset(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            driver, onlooker = await lab.join(name="driver"), await lab.join(name="onlooker")
            await driver.drive()
            await driver.accepted("go", to="home", speed_share=1.0)
            assert (await onlooker.ask("stop", reason="a hand is in the way"))["type"] == "accepted"
            await driver.until(lambda: bool(driver.lease["latched"]))
            await driver.hold()
            assert (await driver.order("go", to="home", speed_share=1.0))["code"] == "latched"
            await lab.reach(Mode.HOLDING)
            assert (await driver.order("reset"))["type"] == "accepted"
            await driver.hold()
            await driver.accepted("go", to="home", speed_share=1.0)

    run(story)


def test_a_stop_counts_however_it_is_dressed(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person = await lab.join()
            await person.send_raw('{"type": "stop", "v": 99, "nonsense": [1, 2, 3]}')
            await person.until(lambda: bool(person.lease["latched"]))
            assert isinstance(lab.workers["arm-1"].sent[-1], Stop)

    run(story)


def test_a_silent_driver_stops_the_arm_and_gets_the_lease_back_but_not_the_motion(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, settings=QUICK) as lab:
            await lab.ready()
            person = await lab.join(name="Ada")
            await person.drive()
            await person.accepted("go", to="home", speed_share=0.5)
            epoch = person.lease["epoch"]
            person.notices.clear()
            person.fall_silent()
            await person.until(lambda: any(notice["kind"] == "heartbeat_lost" for notice in person.notices))
            assert any(isinstance(request, Stop) for request in lab.workers["arm-1"].sent)
            await person.until(lambda: person.lease["phase"] == "suspended")
            await person.leave()
            again = await lab.join(name="Ada")
            await again.drive()
            assert again.lease["epoch"] > epoch
            assert lab.lab.desks["arm-1"].loop.mode is not Mode.STREAMING

    run(story)


def test_a_connection_that_breaks_holds_the_arm(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, onlooker = await lab.join(name="Ada"), await lab.join(name="onlooker")
            await person.drive()
            await person.leave()
            await onlooker.until(lambda: onlooker.lease["phase"] == "suspended")
            assert isinstance(lab.workers["arm-1"].sent[-1], Stop)

    run(story)


def test_who_takes_over_holds_the_arm_first_and_the_former_driver_is_cut(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            student, teacher = await lab.join(name="student"), await lab.join(name="teacher")
            await student.drive()
            await student.accepted("go", to="home", speed_share=0.3)
            assert (await teacher.ask("take_over", reason="look here"))["type"] == "accepted"
            await student.until(lambda: student.closed)
            await teacher.until(lambda: teacher.yours)
            await lab.reach(Mode.HOLDING)
            assert student.bye is not None
            assert "look here" in student.bye["reason"]

    run(story)


def test_a_teacher_freezes_all_arms_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=2) as lab:
            await lab.ready()
            one, two = await lab.join("arm-1", name="one"), await lab.join("arm-2", name="two")
            await two.drive()
            assert (await one.ask("freeze", everywhere=True, reason="fire drill"))["type"] == "accepted"
            await two.until(lambda: two.lease["frozen"])
            await two.hold()
            assert (await two.order("go", to="home", speed_share=1.0))["code"] == "frozen"
            assert all(isinstance(worker.sent[-1], Stop) for worker in lab.workers.values())

    run(story)


def test_a_planned_move_goes_only_while_the_dead_man_is_held(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            person = await lab.driver()
            person.held = False
            await person.beat()
            assert (await person.order("go", to="home", speed_share=0.5))["code"] == "deadman"
            await person.hold()
            await person.accepted("go", to="home", speed_share=0.5)
            person.held = False
            await person.beat()
            await person.until(lambda: any("stopping" in notice["text"] for notice in person.notices))

    run(story)


def test_a_dead_man_that_is_let_go_after_the_move_does_not_disarm_the_next(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, worker = await lab.join(), lab.workers["arm-1"]
            await person.drive()
            assert (await person.order("go", to="home", speed_share=1.0))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            await lab.reach(Mode.IDLE)
            worker.held_up = True
            assert (await person.order("arm_jog", speed_share=0.5))["type"] == "accepted"
            person.held = False
            assert not (await person.beat())["held"]
            worker.held_up = False
            await lab.reach(Mode.ARMED)
            assert (await person.order("jog_step", move=STEP))["type"] == "accepted"
            await person.until(lambda: any("idle: the motion is done" in each["text"] for each in person.notices[-1:]))
            assert "Stop" not in kinds(worker.sent)

    run(story)


def test_a_dead_man_that_is_let_go_stops_a_motion_that_the_loop_has_not_even_begun(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, worker = await lab.join(), lab.workers["arm-1"]
            await person.drive()
            worker.held_up = True
            assert (await person.order("go", to="home", speed_share=1.0))["type"] == "accepted"
            assert lab.lab.desks["arm-1"].loop.mode is Mode.IDLE
            person.held = False
            assert not (await person.beat())["held"]
            assert kinds(worker.sent)[-2:] == ["Start", "Stop"]
            worker.held_up = False
            await lab.reach(Mode.HOLDING)

    run(story)


def test_a_watcher_s_old_messages_do_not_count_as_the_driver_s_slow_line(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, other = await lab.join(name="Ann"), await lab.join(name="Bob")
            await person.drive()
            person.fall_silent()
            late = {"arm": "arm-1", "epoch": person.lease["epoch"], "issued_s": other.now_s() - 30.0}
            assert (await other.ask("beat", held=True, **late))["type"] == "refused"
            budget = lab.lab.desks["arm-1"].live.stop(silence_s=0.25, now_s=time.monotonic() + 1.0)
            assert budget is not None and budget.input_ms < 10_000.0

    run(story)


def test_a_step_is_held_against_its_arming_also_after_a_report_from_before_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, worker, desk = await lab.join(), lab.workers["arm-1"], lab.lab.desks["arm-1"]
            await person.drive()
            # Where there is room, so that the stop budget allows more than a slow line does.
            assert (await person.order("go", to="home", speed_share=1.0))["type"] == "accepted"
            await lab.reach(Mode.STREAMING)
            await lab.reach(Mode.IDLE)
            worker.held_up = True
            assert (await person.order("arm_jog", speed_share=1.0))["speed_share"] > 0.3
            assert desk.live.report is not None
            desk.report_came(desk.live.report)
            worker.held_up = False
            await lab.reach(Mode.ARMED)
            late = await person.order("jog_step", move=STEP, issued_s=person.now_s() - 0.6)
            assert late["code"] == "speed"

    run(story)


def test_who_lets_go_where_the_pose_is_not_known_calls_off_its_confirmation(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            person, worker = await lab.join(), lab.workers["arm-1"]
            await person.drive()
            await person.ask("emergency_stop")
            await lab.reach(Mode.ESTOP)
            await person.ask("stop", reason="so that nothing is driven by itself")
            await person.order("reset")
            await lab.reach(Mode.UNKNOWN_POSE)
            await person.hold()
            before = len(worker.sent)
            person.held = False
            assert not (await person.beat())["held"]
            assert "Stop" in kinds(worker.sent[before:])

    run(story)


def test_a_cut_of_the_servo_supply_goes_to_the_loop_from_anybody_and_latches(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            watcher, worker = await lab.join(), lab.workers["arm-1"]
            await watcher.ask("supply_cut", reason="the plug was out")
            cut = [request for request in worker.sent if isinstance(request, SupplyCut)]
            assert len(cut) == 1
            assert lab.lab.desks["arm-1"].lease.latched

    run(story)


def test_an_arm_is_let_go_of_axis_by_axis_and_the_audit_says_by_whom(tmp_path: Path) -> None:
    order: list[str] = []

    async def story() -> None:
        async with served(tmp_path) as lab:
            person, worker = await lab.driver(), lab.workers["arm-1"]
            await person.until(lambda: person.holding.get("next") is not None)
            order.extend([person.holding["next"]["axis"], *person.holding["next"]["after"]])
            late = await person.order("go_limp", axis=order[1])
            assert (late["type"], late["code"]) == ("refused", "mode")
            for axis in order:
                answer = await person.order("go_limp", axis=axis)
                assert answer["type"] == "accepted" and axis in answer["text"], answer
                await person.until(lambda axis=axis: axis not in person.holding["driven"])
            assert [request for request in worker.sent if isinstance(request, LetGo)] == [
                LetGo(axis=axis, by="local") for axis in order
            ]
            assert person.holding["next"] is None
            desk = lab.lab.desks["arm-1"]
            assert desk.loop.mode is Mode.UNKNOWN_POSE and not desk.live.parked
            beats = worker.beats
            async with asyncio.timeout(PATIENCE_S):
                while worker.beats < beats + int(2.0 * AGAIN_S / BEAT_S):
                    await asyncio.sleep(0.01)
            assert kinds(worker.sent)[-1] == "LetGo", "no pose is vouched for of an arm that has sunk"

    run(story)
    lines = [line for file in audit_files(tmp_path / "audit") for line in file.read_text().splitlines()]
    deeds = [json.loads(line)["entry"]["data"] for line in lines]
    done = [deed for deed in deeds if deed.get("what", "").startswith("go limp ") and deed["verdict"] == "done"]
    assert [deed["what"] for deed in done] == [f"go limp {axis}" for axis in order]
    assert {deed["who"] for deed in done} == {"local"}


def test_holds_are_stamped_here_and_slowed_to_what_is_allowed(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            person = await lab.driver()
            await person.order("arm_jog", speed_share=1.0)
            fast = {"type": "axes", "amounts": [50.0, 0.0, 0.0, 0.0, 0.0, 0.0]}
            allowed = (await person.order("jog_hold", move=fast))["speed_share"]
            hold = next(request for request in lab.workers["arm-1"].sent if isinstance(request, JogHold))
            speed = lab.lab.desks["arm-1"].rig.axes[0].speed
            assert abs(hold.move.amounts[0]) <= allowed * speed * (1.0 + 1e-9)
            wrong = {"type": "axes", "amounts": [0.1, 0.1]}
            assert (await person.order("jog_hold", move=wrong))["type"] == "refused"

    run(story)


def test_an_arm_that_is_lost_is_said_and_cannot_be_moved_or_booked(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            person = await lab.driver()
            lab.workers["arm-1"].lose("its worker has ended without a word")
            await person.until(lambda: any(notice["kind"] == "arm_lost" for notice in person.notices))
            assert (await person.order("arm_jog", speed_share=1.0))["code"] == "mode"
            async with asyncio.timeout(5.0):
                while (await lab.get("/v1/lab"))[1]["arms"][0]["bookable"]:
                    await asyncio.sleep(0.05)
            wish = json.dumps({"arm": "arm-1", "begin_epoch_s": None, "minutes": 10})
            async with lab.session.post(f"{lab.url}/v1/bookings", data=wish) as response:
                assert response.status == 400
                assert "not connected" in (await response.json())["reason"]

    run(story)
