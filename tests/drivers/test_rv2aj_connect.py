"""Order of opening, who is refused and why, servos, alarms, and what close leaves behind."""

from __future__ import annotations

import pytest
from rv2aj_script import IDENTITY, START, Bench, Cr1Port

from hil.errors import CommandError, ControllerError, HilError, LinkClosed, LinkError, LinkTimeout
from hil.types import EnergiseCommand, LinkPhase, StateSource
from hil.units import DEG

MOVERS = ("EXEC", "RUN", "HOT", "PRN", "JOG", "MOVSP", "SRVON")


def refusal(bench: Bench) -> HilError:
    bench.driver.open(bench.now_s)
    with pytest.raises(HilError) as caught:
        bench.tick(500)
    assert bench.driver.read(bench.now_s).phase is LinkPhase.CLOSED
    assert not [command for command in bench.port.commands() if command.startswith(MOVERS)]
    return caught.value


def test_connecting_asks_and_moves_nothing_and_takes_no_right() -> None:
    bench = Bench()
    state = bench.connect()
    parameters = ["PARMEJAR", "PARMEXTL", "PARMEXBS"]
    who = ["OPEN=HIL", "PARRLNG", *parameters, "OPEN=HIL", *parameters]
    assert bench.port.commands() == [*who, "STATE", "STPSIG", "VALM_MODE;M", "ERROR", "JPOSF", "PPOSF"]
    assert state.identity == "RV-2AJ on a CRn-5xx, Ver.J4"
    assert state.known == (False,) * 5
    assert state.joints is not None
    assert state.joints.source is StateSource.MEASURED
    assert state.joints.positions == pytest.approx([angle * DEG for angle in START])


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\r\r\n"])
@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_any_end_of_line_and_any_dribble_is_understood(end: bytes, piece: int) -> None:
    port = Cr1Port(end=end)
    port.mangle = lambda command, reply: [(0.001, reply[i : i + piece]) for i in range(0, len(reply), piece)]
    assert Bench(port).connect().line.lost == 0


def test_replies_that_nobody_read_are_not_taken_for_new_ones() -> None:
    bench = Bench()
    stale = [b"QoKJ1;9.00;J2;21.19;J3;72.78;J4;****;J5;86.03;J6;0.00;;****,****;50;0.00;00000000\r", b"QoK\r" * 3]
    bench.port.coming = [(bench.now_s + 0.03 * i, reply) for i, reply in enumerate(stale)]
    state = bench.connect()
    assert state.joints is not None
    assert state.joints.positions[0] == 0.0


def test_silence_is_told_with_the_line_settings_and_what_to_check() -> None:
    bench = Bench()
    bench.port.silent = True
    error = refusal(bench)
    assert isinstance(error, LinkTimeout)
    assert "no answer to OPEN at 9600 baud, 8E2, CR. Check the power first" in str(error)


@pytest.mark.parametrize("noise", [b"\x00\xff\x80\r", b"SSC32-V2.04\r", b"\xff" * 30])
def test_rubbish_is_told_as_a_line_that_is_set_otherwise(noise: bytes) -> None:
    port = Cr1Port()
    port.mangle = lambda command, reply: [(0.0, noise)]
    error = refusal(Bench(port))
    assert isinstance(error, ControllerError)
    assert "even parity, 2 stop bits" in str(error)


def other_arm(port: Cr1Port) -> None:
    port.answers["OPEN=HIL"] = "QoK" + IDENTITY.replace("1F;37", "3F;3F").replace("RV-2AJ", "RV-6S")


def movemaster(port: Cr1Port) -> None:
    port.answers["PARRLNG"] = "QoKRLNG;0;1"


def key_on_teach(port: Cr1Port) -> None:
    port.teach = True


def stopped(port: Cr1Port) -> None:
    port.emergency = 2


def running(port: Cr1Port) -> None:
    port.running, port.selected = True, "DEMO.MB4"


def lasting_alarm(port: Cr1Port) -> None:
    port.alarm = (5000, 1)
    port.answers["RSTALRM"] = "Qok"


def not_opened(port: Cr1Port) -> None:
    port.refusals["OPEN"] = 6010


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (other_arm, "drives a RV-6S with joints 3F"),
        (movemaster, "RLNG = 0"),
        (key_on_teach, "turn the key to AUTO"),
        (stopped, "emergency stop is pressed (panel)"),
        (running, "program DEMO.MB4 runs (line 10)"),
        (lasting_alarm, "alarm H5000 the teach box is enabled"),
        (not_opened, "L6010 unknown command"),
    ],
)
def test_what_stands_in_the_way_is_named_with_its_remedy(prepare: object, words: str) -> None:
    port = Cr1Port()
    prepare(port)  # type: ignore[operator]
    assert words in str(refusal(Bench(port)))


def test_an_alarm_that_stands_is_told_and_reset_once() -> None:
    port = Cr1Port()
    port.alarm = (4340, 2)
    bench = Bench(port)
    bench.connect()
    assert bench.notices == ["alarm L4340 (the variable is not defined) stood and was reset"]
    assert port.commands("RSTALRM") == ["RSTALRM"]


def test_a_paused_program_is_reset_so_that_nothing_goes_on_with_it() -> None:
    port = Cr1Port()
    port.paused = True
    bench = Bench(port)
    bench.connect()
    assert port.resets == 1
    assert "paused program was stopped and reset" in bench.notices[0]


def test_our_own_program_that_a_cut_off_session_left_running_is_stopped() -> None:
    port = Cr1Port()
    port.running, port.selected = True, "HILLINE.MB4"
    bench = Bench(port)
    bench.connect()
    assert not port.running
    assert "our program HILLINE, left behind" in bench.notices[0]


def test_a_tool_that_the_rig_does_not_know_is_told() -> None:
    port = Cr1Port()
    port.answers["PPOSF"] = "QoKX;160.00;Y;0.00;Z;428.00;A;0.00;B;180.00;;6,0;100;0.00;00000000"
    bench = Bench(port)
    bench.connect()
    assert "lies 50.0 mm from the flange" in bench.notices[0]


@pytest.mark.parametrize(("z_mm", "told"), [(476.9, True), (477.1, False), (478.9, False), (479.1, True)])
def test_a_millimetre_between_flange_and_point_is_no_tool(z_mm: float, told: bool) -> None:
    port = Cr1Port()
    port.answers["PPOSF"] = f"QoKX;160.00;Y;0.00;Z;{z_mm:.2f};A;0.00;B;180.00;;6,0;100;0.00;00000000"
    bench = Bench(port)
    bench.connect()
    assert bool(bench.notices) is told


# -- servos ----------------------------------------------------------------------------------------------------


def test_the_servos_come_on_with_the_first_axis_and_count_only_by_their_status_bit() -> None:
    bench = Bench()
    bench.connect()
    bench.port.heard.clear()
    bench.driver.write(EnergiseCommand(seq=1, axis=0, position=0.0), bench.now_s)
    assert bench.tick(20).known == (False,) * 5
    assert bench.wait(lambda state: any(state.known)).known == (True, False, False, False, False)
    kept = [command for command in bench.port.commands() if command not in ("DSTATE", "JPOSF")]
    looked = ["FCHECKHILEXEC", "FCHECKHILHOT", "FCHECKHILLINE"]
    assert kept == ["CNTLON", "SRVON", "OVRD=10", *looked, "EXECJT=J_CURR"]
    assert bench.port.override == 10


def test_an_axis_is_only_held_where_it_is_measured() -> None:
    bench = Bench()
    bench.connect()
    with pytest.raises(CommandError, match=r"J1 is to be held at 5\.00 deg, and the controller measures it at 0\.00"):
        bench.driver.write(EnergiseCommand(seq=1, axis=0, position=5 * DEG), bench.now_s)
    with pytest.raises(CommandError, match=r"allowed: 0\.\.4"):
        bench.driver.write(EnergiseCommand(seq=1, axis=5, position=0.0), bench.now_s)


@pytest.mark.parametrize(
    ("command", "number", "words"),
    [
        ("CNTLON", 6020, "L6020 the operation right is missing"),
        ("SRVON", 6020, "L6020 the operation right is missing"),
        ("SRVON", 5000, "H5000 the teach box is enabled"),
        ("SRVON", 1630, "C1630 servo on while an alarm stands"),
        ("OVRD", 5600, "L5600 not possible while an alarm stands"),
    ],
)
def test_a_refused_servo_on_is_told_in_words_and_shows_as_off(command: str, number: int, words: str) -> None:
    bench = Bench()
    bench.connect()
    bench.port.refusals[command] = number
    with pytest.raises(ControllerError, match=words):
        bench.energise()
    assert bench.tick().known == (False,) * 5
    with pytest.raises(ControllerError, match=words):
        bench.move(*START)


def test_another_override_than_the_one_asked_for_is_refused() -> None:
    bench = Bench()
    bench.connect()
    bench.port.answers["OVRD=10"] = "QoK30"
    with pytest.raises(ControllerError, match="override 10 was asked for, the controller has '30'"):
        bench.energise()
    assert not any(command.startswith("EXEC") for command in bench.port.commands())


def test_a_target_is_held_against_the_range_as_it_leaves_in_hundredths_of_a_degree() -> None:
    bench = Bench(upper_deg=[150.0, 120.0, 119.996, 90.0, 200.0]).ready()
    with pytest.raises(CommandError, match=r"J3: 120\.00 deg given; allowed: -110 to 119\.996 deg"):
        bench.move(0.0, 0.0, 119.996, 90.0, 0.0)
    bench.move(0.0, 0.0, 119.99, 90.0, 0.0)


def test_servos_that_do_not_come_on_are_given_up_after_a_while() -> None:
    bench = Bench()
    bench.connect()
    bench.port.answers["SRVON"] = "QoK"
    with pytest.raises(ControllerError, match="servos are not on 5 s after SRVON"):
        bench.energise()


# -- leaving ---------------------------------------------------------------------------------------------------


def test_close_gives_back_the_right_and_leaves_the_servos_alone() -> None:
    bench = Bench().ready()
    bench.driver.close()
    assert bench.port.written.endswith(b"1;1;CNTLOFF\r1;1;CLOSE\r")
    assert b"SRVOFF" not in bench.port.written
    bench.driver.close()
    with pytest.raises(LinkClosed):
        bench.move(*START)


def test_nothing_can_be_written_while_connecting_or_closed() -> None:
    bench = Bench()
    with pytest.raises(LinkClosed):
        bench.move(*START)
    bench.driver.open(bench.now_s)
    with pytest.raises(LinkError, match="still connecting"):
        bench.move(*START)


def test_a_pulled_cable_is_told_at_once_and_nothing_is_known_after_it() -> None:
    bench = Bench().ready()
    bench.port.gone = True
    with pytest.raises(LinkClosed):
        bench.tick()
    state = bench.tick()
    assert (state.phase, state.joints, state.known) == (LinkPhase.CLOSED, None, (False,) * 5)
