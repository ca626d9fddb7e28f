"""Writes that survive closing, and lines that are set in the right order: on stand-ins for what this system has not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from drivers import _ports
from drivers._pending_writes import MOST_BYTES, OverlappedWrite, PendingWrites
from drivers._ports import LEAVE_S, LONGEST_LEAVE_S
from hil.clock import VirtualClock
from hil.errors import LinkClosed, LinkOverrun

STOP = b"\x1bSTOP0\r"


class OneWrite:
    def __init__(self, data: bytes) -> None:
        self.data, self.failed, self.cancelled = data, False, False
        self.done: int | None = None

    def left(self) -> int | None:
        if self.failed:
            raise OSError("unplugged")
        return self.done

    def cancel(self) -> None:
        self.cancelled = True


class Windows:
    """A line on which writes go on after their call, and leave when they are told to."""

    def __init__(self) -> None:
        self.begun: list[OneWrite] = []
        self.writes = PendingWrites(self._begin)

    def _begin(self, data: bytes) -> OneWrite:
        self.begun.append(OneWrite(data))
        return self.begun[-1]

    def leave(self) -> None:
        for write in self.begun:
            write.done = len(write.data) if write.done is None else write.done


@pytest.fixture
def windows() -> Windows:
    return Windows()


def test_a_second_write_has_its_own_record_while_the_first_goes_on(windows: Windows) -> None:
    assert windows.writes.write(b"QP0\r") == 4
    assert windows.writes.write(STOP) == len(STOP)
    assert [write.data for write in windows.begun] == [b"QP0\r", STOP]
    assert windows.writes.waiting() == 4 + len(STOP)


def test_what_has_left_waits_no_more(windows: Windows) -> None:
    windows.writes.write(b"QP0\r")
    windows.writes.write(STOP)
    windows.begun[0].done = 4
    assert windows.writes.waiting() == len(STOP)
    windows.leave()
    assert windows.writes.waiting() == 0


def test_nothing_more_is_handed_over_to_a_line_that_is_stalled(windows: Windows) -> None:
    assert windows.writes.write(b"x" * MOST_BYTES) == MOST_BYTES
    assert windows.writes.write(b"y") == 0
    windows.leave()
    assert windows.writes.write(b"y") == 1
    assert [write.data[:1] for write in windows.begun] == [b"x", b"y"]


def test_a_write_that_was_cut_short_is_told_once_by_the_next_which_is_not_begun(windows: Windows) -> None:
    windows.writes.write(b"#0P1500T60\r")
    windows.begun[0].done = 5
    assert windows.writes.write(STOP) == 0
    assert windows.writes.write(STOP) == len(STOP)
    assert len(windows.begun) == 2


class Line:
    """Stands in for pyserial's port; what was handed over leaves at `byte_s` a byte, if it leaves at all."""

    def __init__(self, clock: VirtualClock, *, stalls: bool = False, baudrate: int = 115200) -> None:
        self.clock, self.stalls, self.baudrate = clock, stalls, baudrate
        self.handed: list[tuple[float, int]] = []
        self.closed_s: float | None = None
        self.left_at_close = 0

    def write(self, data: bytes) -> int:
        self.handed.append((max(self.clock.now_s(), self.free_s), len(data)))
        return len(data)

    @property
    def free_s(self) -> float:
        return max((at_s + count * 12 / self.baudrate for at_s, count in self.handed), default=0.0)

    @property
    def out_waiting(self) -> int:
        still_s = self.free_s - self.clock.now_s()
        return sum(count for _, count in self.handed) if self.stalls or still_s > 0.0 else 0

    def close(self) -> None:
        self.closed_s, self.left_at_close = self.clock.now_s(), self.out_waiting


@pytest.mark.parametrize(("baud", "count"), [(115200, 10), (115200, 1000), (9600, 100), (2400, 60)])
def test_a_port_is_not_closed_before_its_last_bytes_have_left(baud: int, count: int) -> None:
    clock = VirtualClock(5.0)
    line = Line(clock, baudrate=baud)
    port = _ports._PyserialPort(line, "COM3", clock=clock)
    port.write(b"x" * count, 0.0)
    port.close()
    assert line.closed_s is not None and line.left_at_close == 0
    assert line.closed_s - 5.0 <= count * 12 / baud + _ports.LEAVE_LOOK_S


@pytest.mark.parametrize(("baud", "most_s"), [(115200, LEAVE_S + 100 * 12 / 115200), (1200, LONGEST_LEAVE_S)])
def test_it_is_waited_for_a_stalled_line_for_so_long_and_no_longer(baud: int, most_s: float) -> None:
    clock = VirtualClock(5.0)
    line = Line(clock, stalls=True, baudrate=baud)
    port = _ports._PyserialPort(line, "COM3", clock=clock)
    port.write(b"x" * 100, 0.0)
    port.close()
    assert line.closed_s == pytest.approx(5.0 + most_s, abs=1e-6)


def test_a_line_that_has_nothing_to_send_or_cannot_tell_is_closed_at_once() -> None:
    clock = VirtualClock(5.0)
    idle, silent = Line(clock), SimpleNamespace(close=lambda: None, baudrate=9600)
    for line in (idle, silent):
        _ports._PyserialPort(line, "COM3", clock=clock).close()
    assert clock.now_s() == 5.0
    assert idle.closed_s == 5.0


def test_a_line_that_is_gone_is_not_waited_for() -> None:
    clock = VirtualClock(5.0)
    line: Any = Line(clock, stalls=True)

    def unplugged(count: int) -> bytes:
        raise OSError("unplugged")

    line.read = unplugged
    port = _ports._PyserialPort(line, "COM3", clock=clock)
    port.write(STOP, 0.0)
    with pytest.raises(LinkClosed, match="unplugged"):
        port.read(0.0)
    assert line.closed_s == 5.0


def test_writes_on_their_way_are_waited_for_too_and_given_up_in_the_end(windows: Windows) -> None:
    clock = VirtualClock(5.0)
    line = Line(clock)
    port = _ports._PyserialPort(line, "COM3", windows.writes, clock)
    port.write(STOP, 0.0)
    assert not line.handed
    port.close()
    assert clock.now_s() > 5.0 + LEAVE_S
    assert line.closed_s == clock.now_s() and windows.begun[0].cancelled


def test_a_stalled_line_of_windows_is_an_overrun_and_a_failed_write_a_lost_line(windows: Windows) -> None:
    port = _ports._PyserialPort(Line(VirtualClock(0.0)), "COM3", windows.writes, VirtualClock(0.0))
    port.write(b"x" * MOST_BYTES, 0.0)
    with pytest.raises(LinkOverrun, match="took 0 of 7 bytes"):
        port.write(STOP, 0.0)
    windows.begun[0].failed = True
    with pytest.raises(LinkClosed, match="COM3: the port is gone \\(unplugged\\)"):
        port.write(STOP, 0.0)


class Api:
    """Stands in for `serial.win32`: one call of each, and what it says next."""

    ERROR_IO_INCOMPLETE, ERROR_IO_PENDING = 996, 997

    def __init__(self) -> None:
        self.error, self.done, self.count = 997, False, 0
        self.closed: list[int] = []
        self.records: list[Any] = []

    def OVERLAPPED(self) -> Any:  # noqa: N802
        return SimpleNamespace(hEvent=0)

    def DWORD(self) -> Any:  # noqa: N802
        return SimpleNamespace(value=0)

    def CreateEvent(self, *args: Any) -> int:  # noqa: N802
        assert args == (None, 1, 0, None)
        return 70 + len(self.records)

    def WriteFile(self, handle: int, data: Any, count: int, left: None, record: Any) -> bool:  # noqa: N802
        assert (handle, data.raw, left) == (5, STOP[:count], None)
        self.records.append(record)
        return self.done

    def GetOverlappedResult(self, handle: int, record: Any, count: Any, wait: bool) -> bool:  # noqa: N802
        assert (handle, wait) == (5, False) and any(record is each for each in self.records)
        count.value = self.count
        return self.done

    def GetLastError(self) -> int:  # noqa: N802
        return self.error

    def CloseHandle(self, event: int) -> None:  # noqa: N802
        self.closed.append(event)


def test_a_write_of_windows_is_asked_without_waiting_until_it_is_done() -> None:
    api = Api()
    write = OverlappedWrite(api, 5, STOP)
    api.error = api.ERROR_IO_INCOMPLETE
    assert write.left() is None and not api.closed
    api.done, api.count = True, 7
    assert write.left() == 7 and api.closed == [70]


def test_each_has_a_record_and_an_event_of_its_own() -> None:
    api = Api()
    first, second = OverlappedWrite(api, 5, STOP), OverlappedWrite(api, 5, STOP)
    assert api.records[0] is not api.records[1]
    assert [record.hEvent for record in api.records] == [70, 71]
    api.done = True
    second.left()
    first.left()
    assert api.closed == [71, 70]


def test_a_write_that_windows_does_not_take_or_that_fails_says_its_number() -> None:
    api = Api()
    api.error = 5
    with pytest.raises(OSError, match="not taken \\(Windows error 5\\)"):
        OverlappedWrite(api, 5, STOP)
    api.error = api.ERROR_IO_PENDING
    write = OverlappedWrite(api, 5, STOP)
    api.error = 995
    with pytest.raises(OSError, match="failed \\(Windows error 995\\)"):
        write.left()
    assert len(api.closed) == 2


# -- odd speeds ------------------------------------------------------------------------------------------


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What is asked of a terminal, in order; it remembers no attributes but its speed."""
    done: list[tuple[str, Any]] = []

    def get(fd: int) -> list[Any]:
        return [0, 0, 0, 0, 1234567, 1234567, [b"\0"] * 32]

    monkeypatch.setattr(_ports.termios, "tcgetattr", get)
    monkeypatch.setattr(
        _ports.termios, "tcsetattr", lambda fd, when, attributes: done.append(("attributes", attributes[4:6]))
    )
    monkeypatch.setattr(_ports.fcntl, "ioctl", lambda fd, request: done.append(("lock", request)))
    return done


def _mac(calls: list[tuple[str, Any]], baud: int, odd_speed: Callable[[int, int], None] | None) -> Any:
    class Serial:
        fd = 9

        def __init__(self) -> None:
            self.speed = baud

        @property
        def baudrate(self) -> int:
            return self.speed

        @baudrate.setter
        def baudrate(self, value: int) -> None:
            calls.append(("pyserial", value))
            self.speed = value

    return _ports._PosixPort(Serial(), "/dev/cu.usbserial-1", odd_speed)


@pytest.mark.skipif(sys.platform == "win32", reason="needs termios")
def test_a_speed_without_a_name_is_set_after_the_attributes_which_would_undo_it(calls: list[tuple[str, Any]]) -> None:
    port = _mac(calls, 9600, lambda fd, baud: calls.append(("speed", baud)))
    calls.clear()
    port.set_baud(250000)
    slow = _ports.termios.B38400
    assert calls == [("pyserial", 250000), ("attributes", [slow, slow]), ("speed", 250000)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs termios")
def test_so_it_is_when_the_port_is_opened(calls: list[tuple[str, Any]]) -> None:
    _mac(calls, 250000, lambda fd, baud: calls.append(("speed", baud)))
    assert [name for name, _ in calls] == ["attributes", "speed", "lock"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs termios")
@pytest.mark.parametrize("has_odd_speeds", [True, False])
def test_a_speed_with_a_name_goes_with_the_attributes(calls: list[tuple[str, Any]], has_odd_speeds: bool) -> None:
    port = _mac(calls, 9600, (lambda fd, baud: pytest.fail("set twice")) if has_odd_speeds else None)
    port.set_baud(115200)
    assert [name for name, _ in calls] == ["attributes", "lock", "pyserial", "attributes"]
