"""Over TCP each answer of both fakes leaves in one piece, at once; with `--serial-pace` as on the line."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import sim.cr1.conversation  # noqa: F401 - fills the command table
from hil.errors import ConfigError
from sim.controllers import Controller
from sim.cr1 import Cr1, Cr1Settings
from sim.cr1.commands import TABLE
from sim.faults import Fault, FaultFile, FaultKind, FaultScript
from sim.ports import FakeLine, MemoryPort
from sim.server import Service, serve_fake, serve_tcp
from sim.ssc32 import BoardSettings, Firmware, Ssc32Board
from sim.uart import Chunk, Outbox

WAIT_S = 20.0

ARGUMENTS = {
    "OPEN=": "NARCUSR",
    "EXEC": "M1=1",
    "RUN": "A;1",
    "JPOS": "F",
    "PPOS": "F",
    "XPOS": "F",
    "RPOS": "F",
    "PDIR": "TOP",
    "FDIR": "TOP",
    "LISTL": "TOP",
    "ERRORLOG": "TOP",
    "PNR": "MEJAR",
    "PAR": "MEJAR",
    "VAL": "P_CURR;P",
    "FOPEN": "A;r",
    "LOAD=": "A",
}
REQUESTS = [f"{word}{ARGUMENTS.get(word, '')}" for word in sorted(TABLE) if word != "RSTPWR"]
QUERIES = [
    *("Q", "VER", "QP0", "QP0QP1QP2", "QPL0", "QPL1", "A", "B", "AL", "VA", "VB", "QL0", "XQ0", "R0", "R1", "R4"),
    *("R64=1", "EER 0;32", "#0P1500 #1P1500", "QP0", "VE", "VF", "VG", "C", "D", "E", "F"),
]
PROGRAMS = {"A": "\n".join(f"{10 * number} M{number}={number}" for number in range(1, 30))}


@contextlib.contextmanager
def served(board: Controller, service: Service) -> Iterator[socket.socket]:
    """A client of a fake that serves in a thread of its own."""
    from hil.clock import monotonic_s

    url: queue.SimpleQueue[str] = queue.SimpleQueue()
    over = threading.Event()
    thread = threading.Thread(
        target=serve_fake, args=(board, service, url.put, monotonic_s()), kwargs={"owned": over.is_set}, daemon=True
    )
    thread.start()
    host, port = url.get(timeout=WAIT_S).removeprefix("socket://").split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as client:
            yield client
    finally:
        over.set()
        thread.join(WAIT_S)


def cr1(**choices: Any) -> Cr1:
    from hil.clock import monotonic_s

    return Cr1(Cr1Settings(answer_s=0.0, **choices), start_s=monotonic_s(), programs=PROGRAMS)


def ssc32(firmware: Firmware) -> Ssc32Board:
    from hil.clock import monotonic_s

    return Ssc32Board(BoardSettings(firmware=firmware), start_s=monotonic_s())


@pytest.mark.wall_clock
def test_every_answer_of_every_request_of_a_cr1_arrives_in_one_read() -> None:
    with served(cr1(), Service(tcp_port=0)) as client:
        client.sendall(b"1;1;CNTLON\r")
        assert client.recv(65536) == b"QoK\r"
        longest = 0
        for request in REQUESTS:
            client.sendall(f"1;1;{request}\r".encode())
            answer = client.recv(65536)
            assert answer.endswith(b"\r"), request
            assert answer.count(b"\r") == 1, request
            longest = max(longest, len(answer))
        assert longest > 150
        assert len(REQUESTS) > 100


@pytest.mark.wall_clock
@pytest.mark.parametrize("firmware", list(Firmware))
def test_every_answer_of_every_query_of_an_ssc32_arrives_in_one_read(firmware: Firmware) -> None:
    twin = Ssc32Board(BoardSettings(firmware=firmware))
    now_s = 0.0
    with served(ssc32(firmware), Service(tcp_port=0)) as client:
        for query in QUERIES:
            twin.receive(f"{query}\r".encode(), now_s, twin.byte_s)
            now_s += 1.0
            expected = b"".join(data for _, data in twin.transmit(now_s))
            client.sendall(f"{query}\r".encode())
            if expected:
                answer = client.recv(65536)
                assert len(answer) == len(expected), query


@pytest.mark.wall_clock
@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\n", b"\0", b""])
def test_a_request_ends_at_any_end_or_at_a_pause(end: bytes) -> None:
    with served(cr1(), Service(tcp_port=0)) as client:
        for _ in range(2):
            client.sendall(b"1;1;OVRD" + end)
            assert client.recv(65536) == b"QoK100\r"


@pytest.mark.wall_clock
def test_two_requests_in_one_segment_are_two_answers() -> None:
    with served(cr1(), Service(tcp_port=0)) as client:
        client.sendall(b"1;1;OVRD\r1;1;PRGRD\r")
        got = b""
        while got.count(b"\r") < 2:
            got += client.recv(65536)
        assert got == b"QoK100\rQoK\r"


@pytest.mark.wall_clock
@pytest.mark.parametrize(("serial_pace", "byte_s"), [(True, 12 / 9600), (False, 0.0)])
def test_the_pace_of_the_serial_line_is_there_for_the_asking(serial_pace: bool, byte_s: float) -> None:
    board = cr1()
    with served(board, Service(tcp_port=0, serial_pace=serial_pace)) as client:
        client.sendall(b"1;1;OVRD\r")
        got = b""
        while not got.endswith(b"\r"):
            got += client.recv(65536)
    assert (got, board.byte_s) == (b"QoK100\r", byte_s)


# The same without a clock of the machine.


def parts(board: Controller, data: bytes) -> list[tuple[float, bytes]]:
    board.receive(data, 0.0, board.byte_s, board.framing)
    return board.transmit(1.0)


def test_without_a_pace_an_answer_is_one_part_at_the_time_of_thinking() -> None:
    board = Cr1(Cr1Settings(answer_s=0.25))
    board.join_network()
    assert parts(board, b"1;1;OVRD\r") == [(0.25, b"QoK100\r")]


def test_on_a_line_it_is_a_part_a_byte() -> None:
    found = parts(Cr1(Cr1Settings(answer_s=0.25)), b"1;1;OVRD\r")
    assert [data for _, data in found] == [bytes((value,)) for value in b"QoK100\r"]
    assert found[-1][0] - found[0][0] == pytest.approx(6 * 12 / 9600)


def test_what_is_printed_leaves_after_the_answer_by_itself() -> None:
    board = Cr1()
    board.join_network()
    line = FakeLine(board, board.baud)
    for text in ("CNTLON", "SRVON", 'EXECOPEN "COM1:" AS #1'):
        line.send(f"1;1;{text}\r".encode(), board.now_s)
        line.poll(board.now_s + 1.0)
    line.send(b'1;1;EXECPRINT #1,"HI"\r', board.now_s)
    assert line.poll_parts(board.now_s + 1.0) == [b"QoK\r", b"HI\r"]


def test_of_a_line_with_three_queries_the_answers_leave_together() -> None:
    board = Ssc32Board()
    board.join_network()
    line = FakeLine(board, board.baud)
    line.send(b"#0P1500#1P1600#2P1700\r", 0.0)
    line.poll(0.1)
    line.send(b"QP0QP1QP2\r", 0.1)
    assert line.poll_parts(0.2) == [b"\x96\xa0\xaa"]


def test_a_port_on_a_network_takes_any_amount_at_once() -> None:
    board = Cr1()
    board.join_network()
    port = MemoryPort(board, 9600)
    port.write(b"1;1;OVRD\r", 0.0)
    assert (port.line.byte_s, port.backlog(0.0)) == (0.0, 0)
    assert port.read(0.011) == b"QoK100\r"


def test_after_a_power_cycle_it_is_still_on_the_network() -> None:
    board = Cr1(Cr1Settings(boot_s=0.5))
    board.join_network()
    board.power_cycle(0.0)
    board.receive(b"1;1;OVRD", 2.0, 0.0, board.framing)
    assert board.transmit(3.0) == [(pytest.approx(2.06), b"QoK100\r")]


def test_a_chunk_without_a_pace_is_complete_or_has_not_begun() -> None:
    chunk = Chunk(b"abc", 1.0, 0.0)
    assert [chunk.complete(time_s) for time_s in (0.9, 1.0, 1.1)] == [0, 3, 3]


def test_an_outbox_keeps_the_order_of_bytes_and_wholes() -> None:
    box = Outbox()
    box.put(1.0, 65)
    box.put_whole(2.0, b"BC")
    assert (box.due_s, box.sent_by(1.5), box.due_s, box.sent_by(2.0)) == (1.0, [(1.0, b"A")], 2.0, [(2.0, b"BC")])


def test_a_framing_cannot_be_wrong_on_a_network() -> None:
    fault = Fault(kind=FaultKind.WRONG_LINE, at_s=1.0, framing="8N1")
    import random

    script = FaultScript(FaultFile(title="t", fault=(fault,)), random.Random(1), 0.0)
    with pytest.raises(ConfigError, match="--serial-pace"):
        serve_tcp(Cr1(), 0, print, faults=script)
    FakeLine(Cr1(), 9600, script)
