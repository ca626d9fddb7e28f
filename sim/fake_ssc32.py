"""The fake SSC-32 in a process of its own: its options, the arm behind it, its trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hil.clock import monotonic_s
from hil.errors import ConfigError
from sim.bench import BenchServo, ChannelLoads, ServoBench
from sim.server import Orders, Ready, Service, TraceFile, serve_fake
from sim.ssc32 import CHANNELS, FRAME_S, BoardSettings, Ssc32Board


class FakeOptions(Service, frozen=True):
    """What `hil fake ssc32` takes, beside where it serves.

    Attributes:
        board: kind of board; by default a 2.x board at 115200 baud.
        powered: False for a board without logic supply: it takes bytes and never answers.
        servos: the arm behind the board; channels that are not named carry a generic servo.
        loads: what its servos have to hold; None for nothing.
    """

    board: BoardSettings = BoardSettings()
    powered: bool = True
    servos: tuple[BenchServo, ...] = ()
    loads: ChannelLoads | None = None


def run_fake_ssc32(
    options: FakeOptions,
    ready: Ready,
    owned: Callable[[], bool] | None = None,
    orders: Orders = lambda now_s: (),
) -> None:
    """Run a fake SSC-32 until it is told to end. Prints nothing.

    Args:
        options: what to run.
        ready: called once with the URL or path to open, when clients may come.
        owned: whether to end, see `sim.server.serve_fake`; None for a fake that stands for itself.
        orders: what is to go wrong, see there too.

    Raises:
        ConfigError: a fault file is wrong, two servos share a channel, the link's place is taken, the port is
            busy, or the system has no pseudo-terminals.
    """
    start_s = monotonic_s()
    board = Ssc32Board(options.board, start_s=start_s, powered=options.powered)
    named = {servo.channel for servo in options.servos}
    generic = [BenchServo(channel=number) for number in range(CHANNELS) if number not in named]
    try:
        servos = sorted([*options.servos, *generic], key=lambda servo: servo.channel)
        bench = ServoBench(board, servos, start_s=start_s, loads=options.loads)
    except ValueError as error:
        raise ConfigError("fake options", "servos", sorted(named), str(error)) from None
    trace = None if options.trace is None else Trace(options.trace, board, bench)
    serve_fake(board, options, ready, start_s, bench=bench, trace=trace, owned=owned, orders=orders)


class Trace:
    """Appends what really moved to a file, flushed line by line, for tests that kill processes.

    A line is ``{"time_s", "pulses_us", "positions"}``: the machine's monotonic clock, 32 widths, and the
    servos' positions in the order of the bench. One per frame in which a pulse changed, then one per frame
    until the servos have settled.
    """

    def __init__(self, path: str, board: Ssc32Board, bench: ServoBench) -> None:
        self._file = TraceFile(path)
        self._board, self._bench = board, bench
        self.due_s = math.inf
        board.watch(self._on_pulses)

    def tick(self, now_s: float) -> None:
        """Write the frames up to `now_s` in which only servos moved."""
        while self.due_s <= now_s:
            self._write(self.due_s)
            self.due_s = math.inf if self._bench.settled() else self.due_s + FRAME_S

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _on_pulses(self, time_s: float, changes: Sequence[tuple[int, float]]) -> None:
        self._write(time_s)
        self.due_s = time_s + FRAME_S

    def _write(self, time_s: float) -> None:
        self._file.write(
            {"time_s": time_s, "pulses_us": self._board.pulses_us(), "positions": self._bench.positions(time_s)}
        )
