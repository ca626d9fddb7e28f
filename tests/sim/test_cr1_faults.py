"""Scripted faults of the line and the panel of the emulated CR1, on an in-memory port."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from cr1_terminal import Cr1Terminal

from hil.errors import ConfigError, LinkClosed
from sim.cr1 import Cr1, Cr1Settings
from sim.faults import FaultScript, faults_from_table, load_faults
from sim.ports import MemoryPort
from sim.ssc32 import Ssc32Board
from sim.uart import FRAMINGS

EXAMPLES = sorted((Path(__file__).parents[2] / "configs" / "faults").glob("cr1-*.toml"))


def script(*faults, seed=1):
    return FaultScript(faults_from_table({"title": "test", "fault": list(faults)}, "test.toml"), random.Random(seed))


def faulty(*faults, seed=1) -> tuple[MemoryPort, Cr1]:
    cr1 = Cr1(Cr1Settings(boot_s=0.5))
    return MemoryPort(cr1, 9600, script(*faults, seed=seed)), cr1


def ask(port: MemoryPort, command: str, at_s: float, wait_s: float = 0.4) -> bytes:
    port.write(f"1;1;{command}\r".encode(), at_s)
    return port.read(at_s + wait_s)


def number_of(port: MemoryPort, at_s: float) -> bytes:
    return ask(port, "ERROR", at_s)[3:].rstrip(b"\r")


def test_the_line_is_paced_at_twelve_bits_a_byte():
    port, _ = faulty()
    port.write(b"1;1;JPOSF\r", 0.0)
    assert port.backlog(0.0) == 10
    assert port.line.byte_s == 12 / 9600
    reply = port.read(0.0125 + 0.010 + 41 * 12 / 9600 + 1e-6)
    assert len(reply) == 41
    assert len(port.read(1.0)) == 82 - 41


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_shipped_files_can_happen_to_a_cr1(path):
    faults = load_faults(path)
    port = MemoryPort(Cr1(), 9600, FaultScript(faults, random.Random(faults.seed)))
    for second in range(20):
        try:
            ask(port, "DSTATE", float(second))
        except LinkClosed:
            break


def test_a_paused_program_keeps_its_slot():
    """Selecting another would leave a motion half done that the next start goes on with: 5120 until it is reset."""
    terminal = Cr1Terminal({"A": "10 DLY 5\n20 END", "B": "10 END"}).ready()
    terminal.do("RUNA;1")
    terminal.wait(0.5)
    terminal.do("STOP")
    assert terminal.ask("PRGLOAD=B") == "QeR512000000"
    terminal.do("SLOTINIT", "PRGLOAD=B")
    assert terminal.ask("PRGRD") == "QoKB.MB4"


def test_there_are_shipped_files():
    assert EXAMPLES


def test_reply_bytes_are_lost_doubled_and_late_as_told():
    port, _ = faulty({"kind": "lost", "every": 3})
    assert ask(port, "OVRD", 0.0) == b"Qo10\r"
    port, _ = faulty({"kind": "doubled", "every": 4})
    assert ask(port, "OVRD", 0.0) == b"QoK1100\r"
    port, _ = faulty({"kind": "late", "every": 3, "delay_ms": 300.0})
    assert ask(port, "OVRD", 0.0, 0.2) == b"Qo"
    assert port.read(2.0) == b"K100\r"


def test_garbled_requests_are_answered_somehow_and_survived():
    port, _ = faulty({"kind": "garbled", "direction": "commands", "probability": 0.3, "for_s": 3.0})
    for tenth in range(0, 30, 5):
        ask(port, "OVRD", tenth / 10)
    port.write(b"\r", 4.0)
    port.read(5.0)
    assert ask(port, "OVRD", 5.0) == b"QoK100\r"


def test_a_host_port_that_is_set_wrong_hears_and_says_rubbish_for_as_long_as_it_lasts():
    port, _ = faulty({"kind": "wrong_line", "framing": "8N1", "at_s": 1.0, "for_s": 1.0})
    assert ask(port, "OVRD", 0.5) == b"QoK100\r"
    port.read(1.0)
    assert b"QoK" not in ask(port, "OVRD", 1.1)
    port.read(2.1)
    port.write(b"\r", 2.1)
    port.read(2.5)
    assert ask(port, "OVRD", 3.0) == b"QoK100\r"


def test_a_port_can_be_opened_with_another_framing():
    port = MemoryPort(Cr1(), 9600, framing=FRAMINGS["8O2"])
    assert b"QoK" not in ask(port, "OVRD", 0.0)


def test_a_reset_forgets_the_right_and_the_servo():
    port, cr1 = faulty({"kind": "reset", "at_s": 2.0})
    ask(port, "CNTLON", 0.0)
    ask(port, "SRVON", 0.5)
    port.read(1.9)
    assert cr1.machine.servo.on
    port.read(3.0)
    assert not cr1.machine.servo.on
    assert ask(port, "SRVON", 3.0) == b"QeR602000000\r"


def test_an_unplugged_port_fails_and_a_hung_controller_is_silent():
    port, _ = faulty({"kind": "unplug", "at_s": 1.0})
    ask(port, "OVRD", 0.0)
    with pytest.raises(LinkClosed):
        port.read(1.5)
    port, _ = faulty({"kind": "hung", "at_s": 1.0, "for_s": 1.0})
    assert ask(port, "OVRD", 1.1) == b""
    assert ask(port, "OVRD", 2.5) == b"QoK100\r"


def test_key_teach_box_stops_alarms_and_rights_happen_at_their_moments():
    port, cr1 = faulty(
        {"kind": "emergency_stop", "at_s": 1.0, "for_s": 1.0},
        {"kind": "teach_box", "at_s": 3.0, "for_s": 1.0},
        {"kind": "servo_alarm", "at_s": 5.0, "number": 1681},
        {"kind": "key_turned", "at_s": 7.0, "for_s": 1.0},
        {"kind": "right_taken", "at_s": 9.0, "for_s": 1.0},
    )
    assert number_of(port, 0.2) == b""
    assert number_of(port, 1.1) == b"0060;1"
    ask(port, "RSTALRM", 1.6)
    assert number_of(port, 2.1) == b"0060;1"
    ask(port, "RSTALRM", 2.5)
    assert number_of(port, 3.1) == b"5000;1"
    ask(port, "RSTALRM", 4.1)
    assert number_of(port, 4.5) == b""
    assert number_of(port, 5.1) == b"1681;1"
    ask(port, "RSTALRM", 6.0)
    port.read(7.1)
    assert cr1.machine.panel.teach
    assert ask(port, "CNTLON", 7.2) == b"QeR602000000\r"
    assert ask(port, "CNTLON", 8.2) == b"QoK\r"
    assert ask(port, "SRVON", 9.1) == b"QeR602000000\r"
    assert ask(port, "CNTLON", 10.1) == b"QoK\r"


def test_stale_text_spoils_the_next_request_and_a_bare_cr_would_have_cleared_it():
    port, _ = faulty({"kind": "stale_text", "text": "1;1;EXECMO"})
    assert ask(port, "OVRD", 0.1) == b"QeR602000000\r"
    assert ask(port, "OVRD", 1.0) == b"QoK100\r"


@pytest.mark.parametrize("kind", ["brown_out", "no_servo_power"])
def test_faults_of_another_controller_are_refused(kind):
    extra = {"channels_starting": 3} if kind == "brown_out" else {}
    with pytest.raises(ValueError, match=f"{kind} cannot happen to this fake cr1"):
        faulty({"kind": kind, **extra})
    with pytest.raises(ValueError, match="key_turned cannot happen to this fake ssc32"):
        MemoryPort(Ssc32Board(), 115200, script({"kind": "key_turned"}))


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"kind": "wrong_line"}, "kind wrong_line needs framing"),
        ({"kind": "wrong_line", "framing": "7E1"}, "fault.0.framing: '7E1' given"),
        ({"kind": "servo_alarm"}, "kind servo_alarm needs number"),
        ({"kind": "reset", "number": 5}, "number goes only with kind servo_alarm"),
    ],
)
def test_a_wrong_fault_of_the_new_kinds_is_refused_in_words(table, text):
    with pytest.raises(ConfigError) as error:
        script(table)
    assert text in str(error.value)
