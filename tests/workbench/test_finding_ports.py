"""Finding adapters: what is listed without opening anything, and what asking sends and hears."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from drivers import _ports, ssc32
from drivers._ssc32_hello import Hello
from drivers._ssc32_line import Ssc32Line
from drivers._ssc32_settings import Ssc32Settings
from hil.clock import VirtualClock
from hil.errors import ControllerError, LinkClosed, LinkError, LinkTimeout
from hil.link import Answer, SerialAdapter
from hil.runtime import port_wiring, wiring
from hil.runtime.open_ports import OpenPorts, open_ports
from hil.workbench.ports import (
    Holder,
    PortReport,
    ask_ports,
    named_ports,
    report_ports,
    rigs_by_adapter,
    what_to_check,
)
from sim.ports import MemoryPort
from sim.ssc32 import BoardSettings, Firmware, Ssc32Board

FTDI = SerialAdapter(
    device="/dev/ttyUSB0",
    description="FT232R USB UART",
    maker="FTDI",
    serial_number="A50285BI",
    usb_id="0403:6001",
    usb_place="1-1.2",
    links=("/dev/serial/by-id/usb-FTDI_FT232R_A50285BI-if00-port0", "/dev/hil-lynx6-3"),
)
NOTHING_OPEN = OpenPorts(holders={}, complete=True)
ANSWER = Answer(kind="ssc32", identity="SSC32-V2.04GP", baud=115200)


def listed(device: str, **facts: object) -> SimpleNamespace:
    """A port as pyserial lists it."""
    usual = {"name": Path(device).name, "description": "n/a", "hwid": "n/a", "manufacturer": None, "vid": None}
    return SimpleNamespace(device=device, **{**usual, "pid": None, "serial_number": None, "location": None, **facts})


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Lists what a system with these ports lists; `tmp_path` is its root."""

    def these(*ports: SimpleNamespace) -> tuple[SerialAdapter, ...]:
        monkeypatch.setattr(_ports.list_ports, "comports", lambda: list(ports))
        return _ports.list_adapters(tmp_path)

    return these


# -- listing ---------------------------------------------------------------------------------------------


def test_an_adapter_is_listed_with_all_that_tells_it_from_another(listing) -> None:
    ftdi = listed(
        "/dev/ttyUSB0", description="FT232R USB UART", manufacturer="FTDI", vid=0x403, pid=0x6001,
        serial_number="A50285BI", location="1-1.2", hwid="USB VID:PID=0403:6001",
    )  # fmt: skip
    assert listing(ftdi) == (msgspec.structs.replace(FTDI, links=()),)


def test_usb_adapters_come_first_and_com9_before_com10(listing) -> None:
    usb = {"vid": 0x403, "pid": 0x6001}
    found = listing(listed("COM1"), listed("COM10", **usb), listed("COM9", **usb))
    assert [adapter.device for adapter in found] == ["COM9", "COM10", "COM1"]


def test_a_port_without_a_number_comes_before_those_with_one(listing) -> None:
    found = listing(listed("/dev/ttyAMA0"), listed("/dev/ttyAMA"))
    assert [adapter.device for adapter in found] == ["/dev/ttyAMA", "/dev/ttyAMA0"]


def test_names_that_linux_keeps_for_ports_that_are_not_there_are_left_out(listing, tmp_path: Path) -> None:
    for name, kind in (("ttyS0", "4"), ("ttyS1", "0")):
        folder = tmp_path / "sys/class/tty" / name
        folder.mkdir(parents=True)
        (folder / "type").write_text(f"{kind}\n")
    assert [adapter.device for adapter in listing(listed("/dev/ttyS0"), listed("/dev/ttyS1"))] == ["/dev/ttyS0"]


def test_a_bluetooth_port_is_known_as_wireless_on_every_system(listing) -> None:
    ports = (
        listed("COM4", hwid="BTHENUM\\{00001101}"),
        listed("/dev/cu.Bluetooth-Incoming-Port"),
        listed("/dev/rfcomm0"),
    )
    assert all(adapter.wireless for adapter in listing(*ports))


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_every_link_to_a_port_is_named_beside_it(listing, tmp_path: Path) -> None:
    device = tmp_path / "dev/ttyUSB0"
    by_id = tmp_path / "dev/serial/by-id"
    by_id.mkdir(parents=True)
    device.touch()
    (by_id / "usb-FTDI").symlink_to("../../ttyUSB0")
    (tmp_path / "dev/hil-desk").symlink_to("ttyUSB0")
    (tmp_path / "dev/other").symlink_to("null")
    assert listing(listed(str(device)))[0].links == (str(by_id / "usb-FTDI"), str(tmp_path / "dev/hil-desk"))


def test_listing_opens_no_port(listing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ports.serial, "serial_for_url", lambda *_, **__: pytest.fail("a port was opened"))
    reports = report_ports(listing(listed("COM3")), NOTHING_OPEN, {})
    assert reports[0].answer is None and not reports[0].trouble


# -- who has it ------------------------------------------------------------------------------------------


def program(proc: Path, pid: int, name: str, *devices: str) -> None:
    folder = proc / str(pid) / "fd"
    folder.mkdir(parents=True)
    (proc / str(pid) / "comm").write_text(f"{name}\n")
    for number, device in enumerate(devices):
        (folder / str(number)).symlink_to(device)


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_the_program_that_has_a_port_open_is_named(tmp_path: Path) -> None:
    program(tmp_path, 812, "minicom", "/dev/tty1", "/dev/ttyUSB0", "/dev/ttyUSB0")
    program(tmp_path, 813, "bash", "/dev/tty1")
    (tmp_path / "version").write_text("Linux")
    opened = open_ports(tmp_path)
    report = report_ports([FTDI], opened, {})[0]
    assert (report.busy, report.holders) == (True, (Holder(pid=812, name="minicom"),))
    assert report.holders[0].text == "minicom (process 812)"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_port_is_called_free_only_where_every_program_can_be_looked_at(tmp_path: Path) -> None:
    program(tmp_path, 1, "init")
    assert report_ports([FTDI], open_ports(tmp_path), {})[0].busy is False
    (tmp_path / "2").mkdir()
    (tmp_path / "2/fd").write_text("no folder: stands for what another user's process refuses")
    assert report_ports([FTDI], open_ports(tmp_path), {})[0].busy is None
    assert report_ports([FTDI], open_ports(tmp_path / "none"), {})[0].busy is None


def test_a_rig_is_shown_beside_the_adapter_that_it_is_bound_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rigs = tmp_path / "configs/rigs"
    rigs.mkdir(parents=True)
    (rigs / "desk.toml").write_text('inherit = "lynx6"\nadapter_serial = "A50285BI"\n')
    (rigs / "broken.toml").write_text('inherit = "lynx6"\nadapter_serial = 3\n')
    bound = rigs_by_adapter(wiring.load_rig)
    assert report_ports([FTDI], NOTHING_OPEN, bound)[0].rigs == ("desk",)
    assert report_ports([SerialAdapter(device="COM1")], NOTHING_OPEN, bound)[0].rigs == ()


@pytest.mark.parametrize("name", [FTDI.device, *FTDI.links])
def test_a_port_may_be_named_by_its_device_or_any_link_to_it(name: str) -> None:
    assert named_ports([name], [FTDI]) == (FTDI,)


def test_com_names_may_be_written_in_any_case_and_what_is_not_listed_is_taken_as_it_is() -> None:
    com = SerialAdapter(device="COM12", serial_number="A1")
    assert named_ports(["com12", "socket://arm:4001"], [com]) == (com, SerialAdapter(device="socket://arm:4001"))


# -- asking ----------------------------------------------------------------------------------------------


class Tapped:
    """A line that keeps what is sent on it."""

    def __init__(self, board: Ssc32Board, sent: list[bytes], baud: int) -> None:
        self.port = MemoryPort(board, baud)
        self.sent, self.closed = sent, False

    def write(self, data: bytes, now_s: float) -> None:
        self.sent.append(data)
        self.port.write(data, now_s)

    def read(self, now_s: float) -> bytes:
        return self.port.read(now_s)

    def set_baud(self, baud: int) -> None:
        self.port.set_baud(baud)

    def close(self) -> None:
        self.closed = True


def ask(board: Ssc32Board) -> tuple[Answer, list[bytes], float]:
    """Ask a board; the answer, what was sent, and how long it took."""
    sent: list[bytes] = []
    lines: list[Tapped] = []
    clock = VirtualClock(10.0)
    try:
        answer = ssc32.ask(lambda baud: lines.append(Tapped(board, sent, baud)) or lines[-1], "COM3", clock)
    finally:
        assert [line.closed for line in lines] == [True]
        assert set(b"".join(sent).split(b"\r")) <= {b"\x1b", b"~~\x1b", b"VER", b""}
    return answer, sent, clock.now_s() - 10.0


@pytest.mark.parametrize("baud", [2400, 9600, 38400, 115200])
@pytest.mark.parametrize("firmware", list(Firmware))
def test_a_board_is_found_at_any_usual_rate_by_nothing_but_its_version(firmware: Firmware, baud: int) -> None:
    board = Ssc32Board(BoardSettings(firmware=firmware, baud=baud))
    answer, _, took_s = ask(board)
    assert (answer.kind, answer.baud) == ("ssc32", baud)
    assert answer.identity.startswith("SSC32-")
    assert took_s < 3.0
    assert all(board.pulse_us(channel) == 0 for channel in range(32))


JUMPERS = (2400, 9600, 38400, 115200)
RATES = (1200, 2400, 4800, 9600, 14400, 19200, 28800, 38400, 57600, 76800, 115200, 230400, 460800, 921600)


@pytest.mark.parametrize(
    ("firmware", "baud"),
    [*((old, baud) for old in (Firmware.V1, Firmware.V2) for baud in JUMPERS), *((Firmware.U, baud) for baud in RATES)],
)
def test_what_a_board_hears_at_a_wrong_rate_moves_nothing_whichever_rate_is_tried_first(
    firmware: Firmware, baud: int
) -> None:
    for first in RATES:
        board = Ssc32Board(BoardSettings(firmware=firmware, baud=baud))
        line = Ssc32Line(
            Ssc32Settings(port_url="COM3", baud=first, axes=(), canary_channel=31), MemoryPort(board, first)
        )
        hello, now_s = Hello(line, "COM3", 10.0), 10.0
        with contextlib.suppress(LinkError, ControllerError):
            while hello.step(line.receive(now_s), now_s) is None:
                now_s += 0.005
        board.advance(now_s + 0.1)
        assert all(board.pulse_us(channel) == 0 for channel in range(32)), first


def test_half_a_move_that_waits_in_the_board_is_not_ended_by_asking() -> None:
    board = Ssc32Board(BoardSettings(baud=9600))
    board.receive(b"#0P1500", 1.0, board.byte_s)
    ask(board)
    assert board.pulse_us(0) == 0


def test_a_board_without_power_is_nobody_within_three_seconds() -> None:
    board = Ssc32Board()
    board.power_off(0.0)
    with pytest.raises(LinkTimeout, match="no answer to VER at 115200, 38400, 9600, 2400 baud"):
        ask(board)


def test_something_else_that_answers_is_quoted() -> None:
    board = Ssc32Board(BoardSettings(version="Grbl 1.1h", baud=9600))
    with pytest.raises(ControllerError, match=r"no SSC-32.*Grbl"):
        ask(board)


def test_ports_are_asked_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=10.0)

    def answer(_: str) -> Answer:
        together.wait()
        return ANSWER

    reports = report_ports([SerialAdapter(device=f"COM{i}") for i in (1, 2, 3)], NOTHING_OPEN, {})
    assert [report.answer for report in ask_ports(reports, answer, wireless=False)] == [ANSWER] * 3


def test_a_port_in_use_is_not_asked_and_neither_is_a_wireless_one_unless_it_was_named() -> None:
    busy = PortReport(adapter=FTDI, busy=True, holders=(Holder(pid=7, name="gpsd"),))
    wireless = PortReport(adapter=SerialAdapter(device="COM4", wireless=True), busy=None)
    asked: list[str] = []

    def answer(url: str) -> Answer:
        asked.append(url)
        return ANSWER

    found = ask_ports([busy, wireless], answer, wireless=False)
    assert found[0].trouble == "not asked: in use by gpsd (process 7)"
    assert "wireless" in found[1].trouble and not asked
    assert ask_ports([wireless], answer, wireless=True)[0].answer == ANSWER


def test_why_a_port_gave_no_answer_is_kept_beside_it() -> None:
    def closed(url: str) -> Answer:
        raise LinkClosed(f"{url}: permission denied")

    report = ask_ports([PortReport(adapter=FTDI, busy=None)], closed, wireless=False)[0]
    assert report.answer is None and report.trouble == "/dev/ttyUSB0: permission denied"


@pytest.mark.parametrize(("url", "baud"), [("/dev/ttyUSB0", 9600), ("socket://arm:4001", None)])
def test_a_line_over_tcp_has_no_baud_rate_to_tell(url: str, baud: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    board = Ssc32Board(BoardSettings(baud=9600))
    monkeypatch.setattr(port_wiring, "open_serial", lambda _, baud, framing: MemoryPort(board, baud))
    assert port_wiring.ask_port(url, VirtualClock(1.0)).baud == baud


def test_a_port_that_cannot_be_opened_says_so_at_once() -> None:
    with pytest.raises(LinkClosed, match="no such port"):
        port_wiring.ask_port("/dev/no-such-port", VirtualClock())


# -- nothing there ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "words"),
    [("linux", "hil doctor"), ("win32", "Device Manager"), ("darwin", "System Information")],
)
def test_without_any_port_each_system_is_told_what_to_check(platform: str, words: str, tmp_path: Path) -> None:
    lines = what_to_check(platform, tmp_path)
    assert "plugged in" in lines[0] and "fake" in lines[-1]
    assert any(words in line for line in lines)


def test_the_linux_inside_windows_is_told_that_usb_has_to_be_attached(tmp_path: Path) -> None:
    (tmp_path / "version").write_text("Linux version 5.15.153.1-microsoft-standard-WSL2")
    assert any("usbipd" in line for line in what_to_check("linux", tmp_path))
