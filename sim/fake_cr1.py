"""The fake CR1 in a process of its own: its options and its trace."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence

from hil.clock import monotonic_s
from hil.joined import joined_url
from hil.program.motions import Limits
from sim.cr1 import Cr1, Cr1Settings, rehearse
from sim.datagrams import UdpEnd
from sim.server import Orders, Ready, Service, TraceFile, serve_fake


class Cr1Options(Service, frozen=True):
    """What `hil fake cr1` takes, beside where it serves.

    Attributes:
        settings: kind of controller; by default an RV-2AJ at 9600 8E2, CR.
        programs: texts of the programs in its memory, by name.
        joints_deg: where the arm stands, five joints; None for its origin.
        start: the program that somebody starts at the panel before clients come; None for none.
    """

    settings: Cr1Settings = Cr1Settings()
    programs: Mapping[str, str] = {}
    joints_deg: tuple[float, ...] | None = None
    start: str | None = None


def run_fake_cr1(
    options: Cr1Options,
    ready: Ready,
    limits: Limits | None = None,
    owned: Callable[[], bool] | None = None,
    orders: Orders = lambda now_s: (),
) -> None:
    """Run a fake CR1 until it is told to end. Prints nothing. What first requests would wait for is done before.

    Args:
        options: what to run.
        ready: called once with the URL or path to open, when clients may come; with an Ethernet card that of its
            packets stands behind it, see `hil.joined.joined_url`.
        limits: how fast the joints go; None for what the settings say.
        owned: whether to end, see `sim.server.serve_fake`; None for a fake that stands for itself.
        orders: what is to go wrong, see there too.

    Raises:
        ConfigError: an option cannot be had, a fault file is wrong, the link's place is taken, or the port is busy.
    """
    rehearse()
    start_s = monotonic_s()
    cr1 = Cr1(
        options.settings,
        start_s=start_s,
        programs=options.programs,
        joints_deg=options.joints_deg,
        limits=limits,
    )
    cr1.prepare()
    if options.start is not None:
        cr1.press_start(options.start, start_s)
    trace = None if options.trace is None else Trace(options.trace, cr1)
    if not options.settings.ethernet:
        serve_fake(cr1, options, ready, start_s, trace=trace, owned=owned, orders=orders)
        return
    with contextlib.closing(UdpEnd(cr1, cr1.machine.ethernet, options.settings.udp_port)) as card:
        serve_fake(
            cr1,
            options,
            lambda url: ready(joined_url(url, card.url)),
            start_s,
            trace=trace,
            owned=owned,
            orders=orders,
            beside=card.exchange,
        )


class Trace:
    """Appends where the arm was to a file, one line ``{"time_s", "joints_deg"}`` a control cycle in which it moved."""

    def __init__(self, path: str, cr1: Cr1) -> None:
        self.due_s = math.inf
        self._file = TraceFile(path)
        cr1.watch(self._on_motion)

    def tick(self, now_s: float) -> None:
        """Everything is written as it happens."""

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _on_motion(self, time_s: float, joints_deg: Sequence[float]) -> None:
        self._file.write({"time_s": time_s, "joints_deg": list(joints_deg)})
