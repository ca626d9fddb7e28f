"""What a CR1 says of itself without a session: who is there, how it stands, and a copy of its programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rv2aj_script import Cr1Port, settings

from drivers.rv2aj import ask, back_up, look_over, measure
from hil.clock import VirtualClock
from hil.errors import ControllerError, LinkTimeout
from hil.link import Condition
from hil.units import DEG

MOVERS = ("EXEC", "RUN", "HOT", "PRN", "SRVON", "RSTALRM", "SLOTINIT", "EDATA", "SAVE", "FDEL")


def surveyed(port: Cr1Port) -> dict[str, Condition]:
    return {each.name: each for each in look_over(settings(), lambda: port, VirtualClock())}


def untouched(port: Cr1Port) -> bool:
    return not [command for command in port.commands() if command.startswith(MOVERS)]


def test_a_controller_in_order_has_nothing_to_do() -> None:
    port = Cr1Port()
    found = surveyed(port)
    assert all(each.good and not each.remedy for each in found.values())
    assert found["key"].text == "AUTO"
    assert found["servos"].text == "off"
    assert found["operation right"].text == "free"
    assert found["joints"].text == "J1 0.00, J2 0.00, J3 90.00, J5 90.00, J6 0.00 deg"
    assert found["pose"].text.endswith("A 0.00 B 180.00 deg, flags 6,0")
    assert not port.right
    assert untouched(port)


def key(port: Cr1Port) -> None:
    port.teach = True


def stop_button(port: Cr1Port) -> None:
    port.emergency = 4


def alarm(port: Cr1Port) -> None:
    port.alarm = (2172, 1)


def teach_box(port: Cr1Port) -> None:
    port.alarm = (5000, 1)


def right(port: Cr1Port) -> None:
    port.refusals["CNTLON"] = 6020


@pytest.mark.parametrize(
    ("prepare", "name", "text", "remedy"),
    [
        (key, "key", "TEACH", "turn the key to AUTO (Ext.)"),
        (stop_button, "emergency stops", "pressed: teach box", "release it"),
        (alarm, "alarm", "H2172 joint 2 is beyond its lower limit", "bring it back at the teach box"),
        (teach_box, "teach box", "enabled", "switch the teach box off"),
        (right, "operation right", "not to be had (L6020)", "give it back there"),
    ],
)
def test_what_stands_in_the_way_is_shown_with_its_remedy(
    prepare: Callable[[Cr1Port], None], name: str, text: str, remedy: str
) -> None:
    port = Cr1Port()
    prepare(port)
    found = surveyed(port)[name]
    assert not found.good
    assert text in found.text
    assert remedy in found.remedy
    assert untouched(port)


def test_a_backup_copies_every_program_with_its_positions_and_changes_nothing() -> None:
    port = Cr1Port()
    port.programs = {"DEMO": ["10 MOV P1", "20 END"], "EMPTY": []}
    before = {name: list(lines) for name, lines in port.programs.items()}
    files = {file.name: file.text for file in back_up(settings(), lambda: port, VirtualClock())}
    assert files["DEMO.mb4"] == "10 MOV P1\n20 END\nP1=(+160.00,+0.00,+478.00,+0.00,+180.00)(6,0)\n"
    assert files["EMPTY.mb4"] == ""
    assert "MEJAR;1;1\n" in files["parameters.prm"]
    assert port.programs == before
    assert untouched(port)


def test_who_answers_is_told_and_nothing_else_is_asked() -> None:
    port = Cr1Port()
    answer = ask(lambda baud: port, "/dev/ttyTEST", VirtualClock())
    assert (answer.kind, answer.identity, answer.baud) == ("rv2aj", "RV-2AJ on a CRn-5xx, Ver.J4", 9600)
    assert port.commands() == ["OPEN=HIL", "PARRLNG", "CLOSE"]
    assert port.closed


def test_nobody_there_is_told_in_bounded_time() -> None:
    port, clock = Cr1Port(), VirtualClock()
    port.silent = True
    with pytest.raises(LinkTimeout, match="no answer to OPEN"):
        ask(lambda baud: port, "/dev/ttyTEST", clock)
    assert clock.now_s() < 4.0


@pytest.mark.parametrize("noise", [b"", b"\x81\x82\r"], ids=["silence", "noise"])
def test_a_controller_that_falls_silent_in_the_middle_is_told_in_bounded_time(noise: bytes) -> None:
    port, clock = Cr1Port(), VirtualClock()
    dead: list[str] = []

    def mangle(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        dead.extend([command] if command == "STATE" else [])
        return [(0.0, noise if dead else reply)]

    port.mangle = mangle
    words = "answers have stopped, and bytes without meaning" if noise else r"silent for 2\.0 s in the middle"
    with pytest.raises((LinkTimeout, ControllerError), match=words):
        look_over(settings(), lambda: port, clock)
    assert clock.now_s() < 5.0
    assert port.closed


def test_one_kind_of_answer_that_can_never_be_read_is_told_by_its_name() -> None:
    port, clock = Cr1Port(), VirtualClock()
    port.answers["STPSIG"] = "QoKrubbish"
    with pytest.raises(
        LinkTimeout, match="no answer to STPSIG that can be read for 5 s, though the controller answers"
    ):
        look_over(settings(), lambda: port, clock)
    assert clock.now_s() < 9.0


def test_a_pose_is_measured_by_questions_alone_with_the_teach_box_in_somebodys_hands() -> None:
    port = Cr1Port(joints=(10.0, -20.0, 90.0, 45.5, 0.25))
    port.teach, port.alarm = True, (5000, 1)
    port.refusals["CNTLON"] = 6020
    joints = measure(settings(), lambda: port, VirtualClock())
    assert [value / DEG for value in joints] == pytest.approx([10.0, -20.0, 90.0, 45.5, 0.25], abs=1e-9)
    assert port.commands() == ["OPEN=HIL", "PARRLNG", "STATE", "JPOSF", "JPOSF", "CLOSE"]


def test_an_arm_that_is_still_led_is_no_pose() -> None:
    port = Cr1Port()
    looks = iter(["J1;0.00;J2;0.00;J3;90.00;J5;90.00;J6;0.00", "J1;0.00;J2;0.25;J3;90.00;J5;90.00;J6;0.00"])

    def mangle(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        if command != "JPOSF":
            return [(0.0, reply)]
        tail = reply.partition(b";;")[2]
        return [(0.0, b"QoK" + next(looks).encode() + b";;" + tail)]

    port.mangle = mangle
    with pytest.raises(ControllerError, match=r"still moves, J2 by 0\.25 deg in 0\.4 s; allowed: 0\.1 deg\. Hold it"):
        measure(settings(), lambda: port, VirtualClock())


def test_no_pose_is_taken_while_a_program_runs() -> None:
    port = Cr1Port()
    port.running = True
    with pytest.raises(ControllerError, match="a program runs on the controller and may move the arm"):
        measure(settings(), lambda: port, VirtualClock())
    assert "JPOSF" not in port.commands()
