"""Faults of the line in the middle of a motion, on virtual time: the arm stands, and the words name the cause."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest
from line_noise import befall, first_fault, streaming
from virtual_session import Session, lynx6

from hil.errors import InterlockError, LineCause, LinkClosed
from hil.link import SerialAdapter
from hil.model.rig import AdapterIdentity
from hil.runtime import adapters, open_ports
from hil.runtime.line_health import SAYINGS
from hil.runtime.open_ports import Holder, OpenPorts, refuse_shared
from hil.types import Mode


def says(session: Session, cause: LineCause) -> bool:
    return any(SAYINGS[cause].said in event and SAYINGS[cause].advice in event for event in session.events)


def test_an_echo_that_begins_is_a_fault_by_its_name() -> None:
    s = streaming(Session())
    befall(s, kind="echoed", after_s=0.4)
    s.until(Mode.FAULT, within_s=2.0)
    assert SAYINGS[LineCause.ECHO].advice in first_fault(s)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ({"kind": "shared", "probability": 0.05}, LineCause.TORN),
        ({"kind": "shared", "every": 9}, LineCause.TORN),
        ({"kind": "dribbled", "delay_ms": 30.0}, LineCause.TRICKLE),
    ],
    ids=str,
)
def test_a_motion_is_stopped_and_what_is_told_names_the_cause(fault: dict[str, Any], cause: LineCause) -> None:
    s = streaming(Session())
    befall(s, after_s=0.4, **fault)
    s.run(6.0)
    assert s.mode in (Mode.HOLDING, Mode.FAULT)
    assert says(s, cause)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "dribbled", "delay_ms": 3.0},
        {"kind": "dribbled", "probability": 0.1, "delay_ms": 8.0},
        {"kind": "merged", "delay_ms": 16.0},
        {"kind": "dribbled", "direction": "commands", "delay_ms": 0.1},
    ],
    ids=str,
)
def test_a_motion_goes_on_through_pieces_and_heaps(fault: dict[str, Any]) -> None:
    s = streaming(Session())
    befall(s, after_s=0.1, **fault)
    s.until(Mode.IDLE, within_s=8.0)


def test_a_session_of_before_is_told_in_the_words_of_then() -> None:
    s = streaming(Session())
    s.bridge._connection._signs = False
    befall(s, kind="dribbled", delay_ms=30.0, after_s=0.4)
    s.run(6.0)
    assert not says(s, LineCause.TRICKLE)
    assert s.mode in (Mode.HOLDING, Mode.FAULT)


# -- another program at the same port ----------------------------------------------------------------------


class Port:
    closed = False

    def close(self) -> None:
        self.closed = True


def opened_by(monkeypatch: pytest.MonkeyPatch, *pids: int) -> None:
    holders = tuple(Holder(pid=pid, name="minicom") for pid in pids)
    monkeypatch.setattr(open_ports, "open_ports", lambda: OpenPorts(holders={"/dev/ttyUSB0": holders}, complete=True))


def test_a_port_that_another_program_reads_is_let_go_and_the_program_named(monkeypatch: pytest.MonkeyPatch) -> None:
    opened_by(monkeypatch, os.getpid(), 812)
    port: Any = Port()
    with pytest.raises(LinkClosed, match=r"reads this port too.*: minicom \(process 812\).*'kill 812', then connect"):
        refuse_shared(port, "/dev/ttyUSB0")
    assert port.closed


@pytest.mark.parametrize("url", ["/dev/ttyUSB0", "/dev/ttyUSB1", "socket://127.0.0.1:5000", "COM3"])
def test_a_port_of_our_own_stays_open(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    opened_by(monkeypatch, os.getpid())
    port: Any = Port()
    same: Any = refuse_shared(port, url)
    assert same is port
    assert not port.closed


# -- an adapter that got another name ----------------------------------------------------------------------

RENAMED = SerialAdapter(
    device="/dev/ttyUSB1", serial_number="A5069RR4", links=("/dev/serial/by-path/x", "/dev/serial/by-id/usb-FTDI")
)


def test_an_adapter_that_got_another_name_is_told_with_one_that_stays() -> None:
    rig = msgspec.structs.replace(lynx6(), adapter_serial="A5069RR4")
    gone = SerialAdapter(device="/dev/ttyUSB0")
    with pytest.raises(
        InterlockError, match=r"that is /dev/ttyUSB1 now.*begin again with --port /dev/serial/by-id/usb"
    ):
        adapters.check_adapter(rig, "/dev/ttyUSB0", gone, [RENAMED])
    with pytest.raises(InterlockError, match="is bound to A5069RR4"):
        adapters.check_adapter(rig, "/dev/ttyUSB0", gone, [])
    adapters.check_adapter(rig, "/dev/ttyUSB1", RENAMED, [RENAMED])


def test_an_adapter_that_got_another_name_in_a_session_is_told_too() -> None:
    before = AdapterIdentity(serial_number="A5069RR4", place="USB 1-2")
    found = AdapterIdentity(serial_number="", place="/dev/ttyUSB0")
    with pytest.raises(InterlockError, match=r"that is /dev/ttyUSB1 now"):
        adapters.check_same_adapter("/dev/ttyUSB0", found, before, [RENAMED])
    moved = AdapterIdentity(serial_number="A5069RR4", place="USB 1-3")
    with pytest.raises(InterlockError, match="at the beginning it was"):
        adapters.check_same_adapter("/dev/ttyUSB1", moved, before, [RENAMED])


def test_what_makers_leave_in_every_converter_names_no_adapter() -> None:
    twins = [SerialAdapter(device=f"/dev/ttyUSB{number}", serial_number="0001") for number in (1,)]
    adapters.refuse_renamed("/dev/ttyUSB0", "0001", twins)
