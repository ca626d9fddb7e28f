"""What is plugged in, who has it open, whose rig it is, and who answers. Opens nothing unless told to ask."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from hil.errors import HilError
from hil.link import Answer, SerialAdapter
from hil.model.files import list_names
from hil.model.rig import Rig
from hil.runtime.line_health import explained
from hil.runtime.open_ports import Holder, OpenPorts
from hil.types import Record

ASKED_AT_ONCE = 8
"""A silent port takes two to three seconds, nearly all of it waiting."""


class PortReport(Record, frozen=True):
    """All that is known of one port.

    Attributes:
        busy: True if a program has it open, False if none has, None if that cannot be told without opening it.
        holders: the programs that have it open, as far as they can be seen.
        rigs: names of the rigs that are bound to this adapter.
        answer: who answers, if it was asked and somebody did.
        trouble: why there is no answer; empty if it was not asked.
    """

    adapter: SerialAdapter
    busy: bool | None
    holders: tuple[Holder, ...] = ()
    rigs: tuple[str, ...] = ()
    answer: Answer | None = None
    trouble: str = ""


def report_ports(
    adapters: Iterable[SerialAdapter], opened: OpenPorts, rigs: Mapping[str, tuple[str, ...]]
) -> tuple[PortReport, ...]:
    """Put together what is known without opening anything.

    Args:
        adapters: what the system lists.
        opened: which programs have which devices open.
        rigs: names of rigs by serial number of the adapter.
    """
    reports = []
    for adapter in adapters:
        holders = opened.of(adapter.device)
        free = False if opened.complete else None
        bound = rigs.get(adapter.serial_number, ()) if adapter.serial_number else ()
        reports.append(PortReport(adapter=adapter, busy=True if holders else free, holders=holders, rigs=bound))
    return tuple(reports)


def rigs_by_adapter(load_rig: Callable[[str], Rig]) -> dict[str, tuple[str, ...]]:
    """Names of all rigs that are bound to an adapter, by its serial number; rigs with faults are left out."""
    found: dict[str, list[str]] = {}
    for name in list_names("rigs"):
        with contextlib.suppress(HilError):
            serial = load_rig(name).adapter_serial
            if serial is not None:
                found.setdefault(serial, []).append(name)
    return {serial: tuple(names) for serial, names in found.items()}


def periods_of_rigs(load_rig: Callable[[str], Rig]) -> dict[str, float]:
    """Periods of all rigs, s, by name; rigs with faults are left out."""
    found = {}
    for name in list_names("rigs"):
        with contextlib.suppress(HilError):
            found[name] = load_rig(name).period_s
    return found


def named_ports(urls: Sequence[str], adapters: Iterable[SerialAdapter]) -> tuple[SerialAdapter, ...]:
    """The ports with these names, in this order: devices, links to them, COM names in any case, or other URLs."""
    known = {name: adapter for adapter in adapters for name in (adapter.device, adapter.device.lower(), *adapter.links)}
    return tuple(known.get(url) or known.get(url.lower()) or SerialAdapter(device=url) for url in urls)


def ask_ports(reports: Sequence[PortReport], ask: Callable[[str], Answer], *, wireless: bool) -> tuple[PortReport, ...]:
    """Ask on every port that nobody has open who is there, several at once.

    Args:
        reports: the ports.
        ask: asks on one port, see `hil.runtime.wiring.ask_port`.
        wireless: ask on wireless ports too; opening one can take half a minute.
    """

    def asked(report: PortReport) -> PortReport:
        if report.busy:
            who = ", ".join(holder.text for holder in report.holders)
            return msgspec.structs.replace(report, trouble=f"not asked: in use by {who}")
        if report.adapter.wireless and not wireless:
            return msgspec.structs.replace(report, trouble="not asked: wireless; name the port to ask it all the same")
        try:
            return msgspec.structs.replace(report, answer=ask(report.adapter.device))
        except HilError as error:
            return msgspec.structs.replace(report, trouble=explained(error))

    with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
        return tuple(pool.map(asked, reports))


def what_to_check(platform: str, proc: Path = Path("/proc")) -> tuple[str, ...]:
    """What to look at when no port is there, first things first.

    Args:
        platform: as `sys.platform` has it.
        proc: tells whether this Linux runs inside Windows.
    """
    return (
        "Is the adapter plugged in, at both ends? Some USB cables only charge: try another, and another socket",
        *_of_system(platform, proc),
        "No arm at hand? Nothing here needs one: without --hardware every command works on a fake controller",
    )


def _of_system(platform: str, proc: Path) -> tuple[str, ...]:
    if platform == "win32":
        return (
            "Device Manager: is there a COM port under 'Ports (COM & LPT)'? A device with a yellow sign lacks its "
            "driver: FTDI's VCP driver for FT232, Silicon Labs' for CP210x, WCH's for CH340",
        )
    if platform == "darwin":
        return (
            "System Information > USB: is the adapter there? Then its driver is missing, or waits to be allowed in "
            "System Settings > Privacy & Security",
        )
    if inside_windows(proc):
        return (
            "This Linux runs inside Windows (WSL) and has no USB of its own: 'usbipd attach --wsl', or use Windows",
        )
    return (
        "Does 'lsusb' list it? Then something has taken it, or its driver is missing: 'hil doctor' says which",
        "In a container or virtual machine, USB has to be passed through to it",
    )


def inside_windows(proc: Path) -> bool:
    """True for the Linux inside Windows, WSL."""
    try:
        return "microsoft" in (proc / "version").read_text().lower()
    except OSError:
        return False
