"""Targets, their pace and their limits; stops; and what a person does at the controller meanwhile."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from rv2aj_script import START, TICK_S, Bench, Cr1Port

from drivers._rv2aj_programs import MARK, program_lines
from drivers._rv2aj_settings import Way
from hil.errors import CommandError, ControllerError, LinkOverrun
from hil.types import JointCommand, LinkState
from hil.units import DEG

WAYS = {"segments": 1500, "hot": 1000, "line": 1000}
TARGET = {"segments": "EXECJT", "hot": "HOT", "line": "PRN"}


@pytest.fixture(params=WAYS)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(way=request.param, send_period_ms=WAYS[request.param]).ready()


def targets(bench: Bench) -> list[tuple[float, tuple[float, ...]]]:
    """Every target sent, with its time: J1, J2, J3, J5, J6."""
    found = []
    for at_s, command in bench.port.heard:
        if command.startswith(TARGET[bench.settings.way.value]):
            numbers = [float(text) for text in re.findall(r"-?\d+\.\d\d", command)]
            joints = numbers[:5] if bench.settings.way is Way.LINE else [*numbers[:3], *numbers[4:6]]
            found.append((at_s, tuple(joints)))
    return found


# -- targets -----------------------------------------------------------------------------------------------------


def test_one_target_a_send_period_is_sent_and_each_is_the_newest(bench: Bench) -> None:
    bench.stream(0, 16.0, 4.0)
    bench.tick(200)
    sent = targets(bench)
    period_s = bench.settings.send_period_s
    assert len(sent) == pytest.approx(4.0 / period_s + 1, abs=1.5)
    for (before, _), (after, _) in pairwise(sent):
        assert after - before >= period_s - TICK_S
    for at_s, joints in sent[1:-1]:
        assert joints[0] == pytest.approx(4.0 * (at_s - sent[0][0]), abs=1.2)
    assert sent[-1][1] == (16.0, 0.0, 90.0, 90.0, 0.0)
    assert bench.port.joints(bench.now_s)[0] == 16.0


@pytest.mark.parametrize("then", ["another motion is loaded", "the motion starts anew", "nothing"])
def test_a_target_that_waits_still_is_none_of_the_next_motion_s_rows(bench: Bench, then: str) -> None:
    """Sample by sample as they stand in the table; of a table that comes later it is none."""
    samples = np.array([(at, *START[1:]) for at in (0.0, 1.0, 2.0, 4.0)]) * DEG
    driver = bench.driver
    driver.carry(bench.settings.wire_table(samples, 0.04), samples)
    driver.begin_rows()

    def send(row: int) -> None:
        bench.seq += 1
        wanted = JointCommand(seq=bench.seq, due_s=bench.now_s + 3.0, positions=tuple(samples[row].tolist()))
        sent = driver.write_row(row, wanted, bench.now_s)
        assert sent.positions == bench.settings.quantise_pose(wanted.positions)
        bench.tick()

    send(1)
    bench.wait(lambda state: bool(targets(bench)))
    send(2)
    send(3)
    if then == "another motion is loaded":
        others = samples - 3.0 * DEG
        driver.carry(bench.settings.wire_table(others, 0.04), others)
    elif then == "the motion starts anew":
        driver.begin_rows()
    bench.tick(300)
    assert [joints[0] for _, joints in targets(bench)] == [1.0, 4.0]
    if then == "the motion starts anew":
        send(0)
        bench.tick(300)
        assert targets(bench)[-1][1][0] == 0.0


def test_a_command_comes_back_as_the_controller_sees_it(bench: Bench) -> None:
    sent = bench.move(0.1234, *START[1:])
    assert sent.positions[0] == pytest.approx(0.12 * DEG)
    assert bench.settings.quantise_pose(sent.positions) == sent.positions


def test_a_target_that_is_the_last_one_again_is_not_sent_again(bench: Bench) -> None:
    for _ in range(100):
        bench.move(3.0, *START[1:])
        bench.tick()
    bench.tick(100)
    assert len(targets(bench)) == 1


def test_requests_keep_their_distance_while_a_program_runs() -> None:
    bench = Bench(way="hot", send_period_ms=1000).ready()
    bench.stream(0, 10.0, 3.0)
    for before, after in pairwise(at_s for at_s, _ in bench.port.heard):
        assert after - before > 0.1


def test_there_is_never_more_than_one_request_in_flight(bench: Bench) -> None:
    waiting = []

    def count(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        waiting.append(len(bench.port.coming))
        return [(0.0, reply)]

    bench.port.mangle = count
    bench.stream(1, 8.0, 3.0)
    assert waiting
    assert max(waiting) == 0


@pytest.mark.parametrize("joint", range(5))
def test_a_joint_beyond_the_controllers_range_is_refused_by_name(bench: Bench, joint: int) -> None:
    joints = list(START)
    joints[joint] = 230.0
    name = ("J1", "J2", "J3", "J5", "J6")[joint]
    with pytest.raises(CommandError, match=rf"{name}: 230\.00 deg given; allowed:") as caught:
        bench.move(*joints)
    assert caught.value.axis == name
    bench.tick(100)
    assert targets(bench) == []


def test_commands_of_the_wrong_length_order_or_without_servos_are_refused() -> None:
    bench = Bench()
    bench.connect()
    with pytest.raises(CommandError, match="not energised: J1, J2, J3, J5, J6"):
        bench.move(*START)
    bench.energise()
    with pytest.raises(CommandError, match="4 positions given; allowed: 5"):
        bench.move(*START[:4])
    bench.move(*START)
    bench.seq -= 1
    with pytest.raises(CommandError, match="numbers must rise"):
        bench.move(*START)


def test_in_segments_the_next_move_waits_for_the_arm_and_the_motion_is_held_up_rather_than_skipped() -> None:
    bench = Bench(way="segments").ready()
    bench.port.speed_deg_s = 10.0
    with pytest.raises(LinkOverrun, match="nothing is skipped"):
        bench.stream(0, 40.0, 8.0)
    assert not any(command.startswith("QeR5640") for command in bench.port.commands())
    assert len(targets(bench)) == 2


def test_a_move_that_the_controller_is_too_busy_for_is_told_again() -> None:
    bench = Bench(way="segments").ready()
    bench.port.refusals["EXECMOV"] = 5640
    bench.move(2.0, *START[1:])
    bench.tick(50)
    bench.port.refusals.clear()
    bench.tick(100)
    assert bench.port.joints(bench.now_s)[0] == 2.0
    assert len(bench.port.commands("EXECMOV")) < 12


def test_a_controller_that_stays_busy_is_a_fault_in_the_end() -> None:
    bench = Bench(way="segments").ready()
    bench.port.refusals["EXECMOV"] = 5640
    bench.move(2.0, *START[1:])
    with pytest.raises(ControllerError, match="L5640 not possible while something runs"):
        bench.tick(500)


def test_a_controller_is_busy_for_five_seconds_at_most_however_slow_its_pace() -> None:
    bench = Bench(way="segments", send_period_ms=8000).ready()
    bench.port.refusals["EXECMOV"] = 5640
    began_s = bench.now_s
    bench.move(2.0, *START[1:])
    with pytest.raises(ControllerError, match=r"EXECMOV.*L5640 not possible while something runs"):
        bench.tick(700)
    assert 5.0 <= bench.now_s - began_s < 6.0


def test_a_refused_target_is_a_fault_with_the_alarms_words(bench: Bench) -> None:
    bench.port.refusals[TARGET[bench.settings.way.value][:4]] = 2602
    bench.move(2.0, *START[1:])
    with pytest.raises(ControllerError, match="L2602 the target is outside the range"):
        bench.tick(100)
    with pytest.raises(ControllerError, match="L2602"):
        bench.move(3.0, *START[1:])


# -- our programs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("way", "name"), [("hot", "HILHOT"), ("line", "HILLINE")])
def test_our_program_is_put_there_started_and_taken_away(way: str, name: str) -> None:
    port = Cr1Port()
    port.programs["DEMO"], port.selected = ["10 END"], "DEMO"
    bench = Bench(port, way=way, send_period_ms=1000).ready()
    assert bench.port.programs[name] == list(program_lines(Way(way), 1))
    assert bench.port.running
    assert bench.port.selected == name
    assert not bench.port.moving(bench.now_s)
    bench.driver.close()
    assert port.programs == {"DEMO": ["10 END"]}
    assert port.selected == "DEMO"
    assert not port.running


def test_a_garbled_name_of_what_was_selected_is_not_selected_in_the_end() -> None:
    port = Cr1Port()
    port.programs["DEMO"], port.selected = ["10 END"], "DEMO"
    left = [1]

    def mangle(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        if command == "STATE" and left:
            left.clear()
            return [(0.0, reply.replace(b"DEMO", b"DEEO"))]
        return [(0.0, reply)]

    port.mangle = mangle
    bench = Bench(port, way="hot", send_period_ms=1000).ready()
    bench.driver.close()
    assert port.commands("PRGLOAD") == ["PRGLOAD=DEMO"]


def test_the_programs_begin_where_the_arm_is_and_keep_to_the_language() -> None:
    for way in (Way.HOT, Way.LINE):
        lines = program_lines(way, 7)
        assert MARK in lines[0]
        motion = next(i for i, line in enumerate(lines) if " MOV " in line)
        assert any("=J_CURR" in line for line in lines[:motion])
        assert all(len(line) <= 127 for line in lines)
        assert [int(line.split()[0]) for line in lines] == [10 * (i + 1) for i in range(len(lines))]
    assert any(line.endswith("M9=7") for line in program_lines(Way.LINE, 7))


def test_a_program_of_that_name_which_is_somebody_elses_is_left_alone() -> None:
    port = Cr1Port()
    port.programs["HILHOT"] = ["10 MOV P1"]
    bench = Bench(port, way="hot", send_period_ms=1000)
    bench.connect()
    with pytest.raises(ControllerError, match="is not ours"):
        bench.energise()
    bench.driver.close()
    assert port.programs["HILHOT"] == ["10 MOV P1"]


def test_what_a_dead_session_left_behind_is_replaced() -> None:
    port = Cr1Port()
    port.programs["HILLINE"] = list(program_lines(Way.LINE, 3))
    Bench(port, way="line", send_period_ms=1000).ready()
    assert port.programs["HILLINE"] == list(program_lines(Way.LINE, 1))


def test_a_line_program_is_told_a_speed_at_which_each_chord_takes_its_time() -> None:
    bench = Bench(way="line", send_period_ms=1000).ready()
    bench.stream(0, 10.0, 5.0)
    percents = [float(command.split(",")[6]) for command in bench.port.commands("PRN")]
    assert percents[2:-1] == [pytest.approx(100 * 2.0 / (18.0 * 0.9), abs=1.0)] * len(percents[2:-1])


@pytest.mark.parametrize(("way_deg", "percent"), [(54.0, 100.0), (0.3, 1.0)])
def test_no_line_asks_for_more_than_the_whole_speed_or_less_than_a_hundredth(way_deg: float, percent: float) -> None:
    bench = Bench(way="line", send_period_ms=1000).ready()
    bench.stream(0, way_deg, 3.0)
    assert {float(command.split(",")[6]) for command in bench.port.commands("PRN")[1:]} == {percent}


def test_every_start_of_the_line_program_has_a_token_of_its_own() -> None:
    bench = Bench(way="line", send_period_ms=1000).ready()
    bench.move(2.0, *START[1:])
    bench.tick(100)
    bench.driver.stop(bench.now_s)
    bench.tick(100)
    bench.move(1.0, *START[1:])
    bench.tick(200)
    assert [command.split(",")[0] for command in bench.port.commands("PRN")] == ["PRN 1", "PRN 2"]


# -- stopping ------------------------------------------------------------------------------------------------------


def test_a_stop_goes_out_at_once_and_nothing_is_left_to_go_on_with(bench: Bench) -> None:
    bench.stream(0, 12.0, 3.0)
    asked_s = bench.now_s
    bench.driver.stop(asked_s)
    bench.tick(150)
    at_s = next(at_s for at_s, command in bench.port.heard if command == "STOP")
    assert at_s - asked_s < 0.12
    frozen = bench.port.joints(bench.now_s)
    assert bench.port.resets == 1
    assert not bench.port.paused
    state = bench.tick(200)
    assert bench.port.joints(bench.now_s) == frozen
    assert all(state.known), "the servos keep their power"
    last = bench.port.commands()[bench.port.commands().index("STOP") :]
    assert not [command for command in last if command.startswith(("EXEC", "HOT", "PRN", "RUN"))]


def test_after_a_stop_the_arm_moves_again_when_told_and_only_then(bench: Bench) -> None:
    bench.move(5.0, *START[1:])
    bench.tick(20)
    bench.driver.stop(bench.now_s)
    bench.driver.stop(bench.now_s)
    bench.tick(150)
    bench.move(1.0, *START[1:])
    bench.tick(400)
    assert bench.port.joints(bench.now_s)[0] == 1.0


def test_a_stop_between_the_target_and_its_move_lets_no_move_out() -> None:
    bench = Bench(way="segments").ready()
    bench.move(5.0, *START[1:])
    while not bench.port.commands("EXECJT"):
        bench.tick()
    bench.driver.stop(bench.now_s)
    bench.tick(150)
    assert bench.port.commands("EXECMOV") == []


def test_what_is_thrown_away_between_the_target_and_its_move_lets_no_move_out_and_is_no_fault() -> None:
    bench = Bench(way="segments").ready()
    bench.move(5.0, *START[1:])
    while not bench.port.commands("EXECJT"):
        bench.tick()
    bench.driver.throw_away()
    bench.tick(400)
    assert bench.port.commands("EXECMOV") == []


def test_a_target_that_waits_can_be_thrown_away_and_the_move_before_it_is_ended(bench: Bench) -> None:
    bench.move(2.0, *START[1:])
    bench.tick(40)
    bench.move(4.0, *START[1:])
    bench.driver.throw_away()
    state = bench.tick(400)
    assert [joints[0] for _, joints in targets(bench)] == [2.0]
    assert bench.port.joints(bench.now_s)[0] == 2.0
    assert all(state.known)


def test_a_stop_that_is_not_heeded_is_repeated_and_then_a_fault() -> None:
    bench = Bench(way="hot", send_period_ms=1000).ready()
    bench.port.answers["STOP"] = "QoK"
    bench.driver.stop(bench.now_s)
    with pytest.raises(ControllerError, match="does not come to rest"):
        bench.tick(400)
    assert len(bench.port.commands("STOP")) > 3


# -- people at the controller --------------------------------------------------------------------------------------


def turn_key(port: Cr1Port) -> None:
    port.teach = True


def press_stop(port: Cr1Port) -> None:
    port.emergency, port.servo, port.alarm = 2, False, (60, 1)


def enable_teach_box(port: Cr1Port) -> None:
    port.alarm, port.servo = (5000, 1), False


def servo_off(port: Cr1Port) -> None:
    port.servo = False


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (turn_key, "key was turned to TEACH"),
        (press_stop, "emergency stop"),
        (enable_teach_box, "H5000 the teach box is enabled"),
        (servo_off, "servos went off"),
    ],
)
def test_what_a_person_does_in_motion_is_a_fault_shown_as_such(bench: Bench, happens: object, words: str) -> None:
    bench.stream(0, 6.0, 2.0)
    happens(bench.port)  # type: ignore[operator]
    with pytest.raises(ControllerError, match=words):
        bench.tick(120)
    assert bench.tick().known == (False,) * 5
    before = len(targets(bench))
    with pytest.raises(ControllerError, match=words):
        bench.move(7.0, *START[1:])
    bench.driver.stop(bench.now_s)
    bench.tick(100)
    assert len(targets(bench)) == before
    assert "STOP" in bench.port.commands()


def test_our_program_stopped_by_somebody_is_a_fault() -> None:
    bench = Bench(way="line", send_period_ms=1000).ready()
    bench.port.running = False
    with pytest.raises(ControllerError, match="our program has stopped"):
        bench.tick(100)


# -- the line ------------------------------------------------------------------------------------------------------


def test_reports_follow_the_arm_and_carry_the_time_of_their_request(bench: Bench) -> None:
    bench.stream(0, 9.0, 3.0)
    bench.tick(150)
    state = bench.tick()
    assert state.joints is not None
    assert state.joints.positions[0] == pytest.approx(9.0 * DEG)
    assert bench.now_s - 1.0 < state.joints.t_s < bench.now_s - 0.1


def test_in_a_silence_it_asks_on_and_reports_are_fresh_again_when_answers_come_back(bench: Bench) -> None:
    bench.port.silent = True
    asked = [bench.tick().line.questions for _ in range(250)]
    assert all(after - before in (0, 1) for before, after in pairwise(asked))
    assert asked[-1] >= asked[0] + 5
    assert bench.tick().line.overdue_s == pytest.approx(bench.now_s - 4.5, abs=0.4)
    bench.port.silent = False
    now_s = bench.now_s
    assert all(bench.wait(lambda state: (state.line.believed_s or 0.0) > now_s, 2.5).known)
    assert bench.tick().line.lost > 0


def test_a_late_answer_is_never_taken_for_a_newer_one() -> None:
    bench = Bench(way="segments").ready()
    late = [True]

    def mangle(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        return [(0.9 if command == "JPOSF" and late else 0.0, reply)]

    bench.port.mangle = mangle
    bench.tick(50)
    bench.port.place((2.0, *START[1:]))
    bench.tick(100)
    late.clear()
    seen: list[LinkState] = [bench.tick() for _ in range(150)]
    assert seen[-1].joints is not None
    assert seen[-1].joints.positions[0] == pytest.approx(2.0 * DEG)
    for state in seen:
        assert state.joints is not None
        assert state.joints.positions[0] in (pytest.approx(0.0), pytest.approx(2.0 * DEG))


def test_a_digit_lost_in_a_report_is_not_believed_until_it_is_seen_twice() -> None:
    bench = Bench(way="segments").ready()
    lost = [True]

    def mangle(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        if command == "JPOSF" and lost:
            lost.clear()
            return [(0.0, reply.replace(b"J3;90.00", b"J3;0.00"))]
        return [(0.0, reply)]

    bench.port.mangle = mangle
    for _ in range(50):
        state = bench.tick()
        assert state.joints is not None
        assert state.joints.positions[2] == pytest.approx(90 * DEG)


def test_a_port_that_takes_nothing_holds_up_and_loses_nothing(bench: Bench) -> None:
    bench.port.room = 0
    bench.move(2.0, *START[1:])
    assert bench.tick(30).line.questions == bench.tick().line.questions
    bench.port.room = None
    bench.tick(300)
    assert bench.port.joints(bench.now_s)[0] == pytest.approx(2.0)


def test_a_target_that_the_line_never_took_does_not_set_the_arm_moving_after_the_motion(bench: Bench) -> None:
    """A session that holds, and a line that comes back: nothing moves by itself."""
    bench.port.silent = True
    bench.tick(8)
    bench.move(4.0, *START[1:])
    with pytest.raises(ControllerError, match="thrown away; the arm stands short of it"):
        bench.tick(200)
    bench.port.silent = False
    bench.tick(200)
    assert bench.port.joints(bench.now_s)[0] == pytest.approx(START[0])


@pytest.mark.parametrize("way", ["hot", "line"])
def test_a_target_is_the_newest_when_it_leaves_also_after_the_program_was_started_anew(way: str) -> None:
    bench = Bench(way=way, send_period_ms=1000).ready()
    bench.driver.stop(bench.now_s)
    bench.tick(60)
    bench.port.heard.clear()
    for number in range(1, 60):
        bench.move(0.02 * number, *START[1:])
        bench.tick()
    at_s, first = next((at_s, text) for at_s, text in bench.port.heard if text.startswith(("HOT", "PRN")))
    sent_deg = float(first.partition("JT=(")[2].split(",")[0] if way == "hot" else first.split(",")[1])
    begun = bench.now_s - 59 * TICK_S
    newest_deg = 0.02 * (at_s - begun) / TICK_S
    assert sent_deg == pytest.approx(newest_deg, abs=0.021 * 5)


def test_a_controller_that_falls_silent_while_stopping_is_waited_for_until_somebody_gives_up() -> None:
    bench = Bench(way="segments").ready()
    bench.port.silent = True
    stopped_s = bench.now_s
    bench.driver.stop(stopped_s)
    overdue_s = bench.tick(300).line.overdue_s
    assert overdue_s is not None
    assert overdue_s == pytest.approx(stopped_s + 0.4, abs=0.2)
