"""Looks over a computer for whatever keeps an arm from being reached or driven on time; each finding has its mend.

Imports nothing that a broken installation may lack, and looks at a `System`, which a test can make up.
"""

from __future__ import annotations

import ctypes
import getpass
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from hil.clock import ClockGrain
from hil.link import SerialAdapter
from hil.model.files import state_dir
from hil.own_program import PYTHON
from hil.runtime.clock_grain import grain_of_the_loop
from hil.runtime.open_ports import OpenPorts, open_ports
from hil.runtime.rtprio import PRIORITY, fine_timers
from hil.types import Record
from hil.workbench.ports import inside_windows

PACKAGE = "hil-arm-bridge"
OLDEST, NEWEST = (3, 11), (3, 13)
LATENCY_MS = 2
NAP_S, LONG_NAP_S = 0.001, 0.003
LITTLE_BYTES, HARDLY_ANY_BYTES = 1_000_000_000, 100_000_000
LOCKED_BYTES = 200_000_000
"""What the loop's process maps, roughly: less may be lockable only in part."""
PROBE_TIMEOUT_S = 60.0
SHORTEST_PERIOD_S = 0.002
"""The shortest that a rig may have."""

EXTRAS = {
    "fast": "compiled batches and loops",
    "mesh": "meshes from STL files",
    "xacro": "robots from Xacro files",
    "symbolic": "equations as textbook matrices (robot.show, hil derive --to latex)",
    "plot": "pictures of journals and previews",
    "export": "journals as MAT files",
    "tune": "adaptive integration, and the search for gains without a grid",
    "cluster": "the search for gains on several computers",
    "pad": "a game pad in the terminal (hil follow --pad)",
    "testing": "tests of your own programs against the fakes",
    "dashboard": "the window with motion side by side",
    "service": "lending an arm over the network",
    "lti": "course pages of Moodle, Canvas and others that open an arm (hil lti)",
    "notebooks": "labs as notebooks (hil labs notebook)",
}
"""What an extra is good for."""
NOT_FOR_USERS = ("dev", "docs", "all")
"""Made of the others, or for whoever works on the project."""

CONVERTERS = {
    "0403": ("ftdi_sio", ("6001", "6010", "6011", "6014", "6015")),
    "10c4": ("cp210x", ("ea60", "ea70", "ea71")),
    "1a86": ("ch341", ("5523", "7522", "7523")),
    "067b": ("pl2303", ("2303", "23a3")),
}
"""USB serial converters by vendor: their Linux driver, and their products."""

SERIAL_GROUPS = ("dialout", "uucp")
SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies")

LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libglx0",
    "libOpenGL.so.0": "libopengl0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
}
"""What Qt needs of the system, and the Debian package that has it."""

QT_PROBE = """\
from PySide6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext
app = QGuiApplication([])
surface, context = QOffscreenSurface(), QOpenGLContext()
surface.create()
print("OpenGL works" if context.create() and context.makeCurrent(surface) else "no OpenGL")
"""

_RULES = "install the rules that 'hil doctor --udev' prints; they set its rights"

_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_LIBRARY = re.compile(r"(lib[\w+-]+\.so[.\d]*): cannot open shared object")


class Severity(Enum):
    """How much a finding matters. Only an error keeps something from working."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Finding(Record, frozen=True):
    """One thing that was looked at.

    Attributes:
        topic: what was looked at, in a word or two.
        text: what was found.
        fix: what to do about it, one line; empty if there is nothing to do.
    """

    topic: str
    severity: Severity
    text: str
    fix: str = ""


class Ran(NamedTuple):
    """How a child process ended: its code (negative: the signal that killed it) and all that it said."""

    code: int
    output: str


@dataclass(frozen=True)
class System:
    """A computer, as far as the doctor looks at it.

    Attributes:
        platform: as `sys.platform` has it.
        root: what stands for ``/``.
        python: version of the interpreter; `bits` of its pointers; `isolated` if in a virtual environment.
        versions: of installed Python packages, by lower-case name.
        requirements: of this package, as its metadata has them.
        source: what pip installs this package from; `editable` if it stays where it is.
        origins: folder from which each of our top-level packages is imported.
        user, superuser, group_ids: who runs this.
        can_open: may this user open a device?
        group_of: number of the group that a device belongs to; None if it is not there.
        adapters: serial ports.
        opened: which programs have which devices open.
        realtime_priority, locked_bytes: what this user may ask for; None where there is no limit.
        nap_s: how long a sleep of `NAP_S` takes.
        grain: how coarse its time is, however busy it is.
        periods_s: of the rigs that are known here, by name.
        run: runs a Python program in a child process with changes to the environment.
        environment: variables.
        state_dir, can_write, free_bytes: where journals go.
    """

    platform: str
    root: Path
    python: tuple[int, int]
    bits: int
    isolated: bool
    versions: Mapping[str, str]
    requirements: Sequence[str]
    source: str
    editable: bool
    origins: Mapping[str, Path | None]
    user: str
    superuser: bool
    group_ids: frozenset[int]
    can_open: Callable[[Path], bool]
    group_of: Callable[[Path], int | None]
    adapters: tuple[SerialAdapter, ...]
    opened: OpenPorts
    realtime_priority: int | None
    locked_bytes: int | None
    nap_s: float
    grain: ClockGrain
    periods_s: Mapping[str, float]
    run: Callable[[str, Mapping[str, str]], Ran]
    environment: Mapping[str, str]
    state_dir: Path
    can_write: Callable[[Path], bool]
    free_bytes: Callable[[Path], int]
    extras: Mapping[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "extras", _by_extra(self.requirements))

    def pip(self, extra: str = "") -> str:
        """The command that installs this package, with an extra."""
        return f'pip install {"-e " if self.editable else ""}"{self.source}{f"[{extra}]" if extra else ""}"'


def examine(system: System) -> tuple[Finding, ...]:
    """Look at everything that matters on this kind of system."""
    checks: list[Callable[[System], Iterator[Finding]]] = [_python, _packages, _extras]
    if system.platform == "linux":
        checks += [_taken_adapters, _permission]
    checks += [_ports, _grabbers, _latency, _graphics, _realtime, _clock, _rates, _storage]
    return tuple(finding for check in checks for finding in check(system))


# -- Python and packages ---------------------------------------------------------------------------------


def _python(system: System) -> Iterator[Finding]:
    version = ".".join(str(part) for part in system.python)
    supported = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    if not OLDEST <= system.python <= NEWEST:
        fix = f"make a virtual environment with a supported one: python{NEWEST[0]}.{NEWEST[1]} -m venv .venv"
        yield Finding(topic="Python", severity=Severity.ERROR, text=f"{version}; supported: {supported}", fix=fix)
    else:
        yield Finding(topic="Python", severity=Severity.OK, text=f"{version}, {system.bits} bit")
    if system.bits != 64:
        yield Finding(
            topic="Python",
            severity=Severity.WARNING,
            text=f"{system.bits}-bit interpreter: several packages ([fast], [dashboard]) come for 64 bit only",
            fix="install a 64-bit Python (on a Raspberry Pi: the 64-bit system)",
        )
    if not system.isolated:
        yield Finding(
            topic="Python",
            severity=Severity.NOTE,
            text="no virtual environment: our top-level packages 'drivers' and 'sim' could meet others of that name",
            fix="python -m venv .venv, then install there",
        )


def _packages(system: System) -> Iterator[Finding]:
    ours = system.origins.get("hil")
    for name, place in system.origins.items():
        if place != ours:
            yield Finding(
                topic="packages",
                severity=Severity.ERROR,
                text=f"'{name}' is imported from {place or 'nowhere'}, not from beside 'hil' in {ours}",
                fix="install into a virtual environment of its own, and start hil outside folders with that name",
            )
    missing = [name for name in system.extras.get("", ()) if name not in system.versions]
    if missing:
        text = f"needed and not installed: {', '.join(missing)}"
        yield Finding(topic="packages", severity=Severity.ERROR, text=text, fix=system.pip())


def _extras(system: System) -> Iterator[Finding]:
    for extra, names in system.extras.items():
        if not extra or extra in NOT_FOR_USERS:
            continue
        missing = [name for name in names if name not in system.versions]
        purpose = ", ".join(text for text in (f"[{extra}]", EXTRAS.get(extra, "")) if text)
        if missing:
            text = f"{purpose}: not installed ({', '.join(missing)} missing)"
            yield Finding(topic="extras", severity=Severity.NOTE, text=text, fix=system.pip(extra))
        else:
            yield Finding(topic="extras", severity=Severity.OK, text=f"{purpose}: installed")


def _by_extra(requirements: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Names of required packages by extra; the extra '' is the package itself."""
    found: dict[str, list[str]] = {}
    for requirement in requirements:
        name = _REQUIREMENT.match(requirement)
        condition = requirement.partition(";")[2]
        extra = _EXTRA.search(condition)
        if name is None or _plain_name(name[1]) == PACKAGE or _EXTRA.sub("", condition).strip():
            continue
        found.setdefault(extra[1] if extra else "", []).append(_plain_name(name[1]))
    return {extra: tuple(names) for extra, names in found.items()}


def _plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


# -- ports -----------------------------------------------------------------------------------------------


def _ports(system: System) -> Iterator[Finding]:
    if not system.adapters:
        text, fix = "no serial port found", "plug the adapter in; 'hil ports' says what to check; no arm needs none"
        yield Finding(topic="ports", severity=Severity.NOTE, text=text, fix=fix)
    for adapter in system.adapters:
        holders = system.opened.of(adapter.device)
        if holders:
            yield Finding(
                topic="ports",
                severity=Severity.WARNING,
                text=f"{adapter.device} is in use by {', '.join(holder.text for holder in holders)}",
                fix=f"close that program, or end it: kill {' '.join(str(holder.pid) for holder in holders)}",
            )
        else:
            seen = "" if system.opened.complete else ", as far as can be seen from here"
            text = f"{adapter.device} ({adapter.description or 'no description'}): nobody has it open{seen}"
            yield Finding(topic="ports", severity=Severity.OK, text=text)


def _taken_adapters(system: System) -> Iterator[Finding]:
    """Converters that are on the bus and have no port: their driver is missing, or brltty took them."""
    for device in _children(system, "sys/bus/usb/devices"):
        vendor, product = _text(device / "idVendor"), _text(device / "idProduct")
        driver, products = CONVERTERS.get(vendor, ("", ()))
        if product not in products or any(device.glob("*/tty*")):
            continue
        grabbed = _rules(system, "brltty") or _runs(system, "brltty")
        fix = _without_brltty() if grabbed else f"sudo modprobe {driver}; then plug the adapter in again"
        yield Finding(
            topic="ports",
            severity=Severity.ERROR,
            text=f"a serial adapter ({vendor}:{product}, USB place {device.name}) is plugged in but has no port"
            + (": brltty, a driver for Braille displays, takes such adapters" if grabbed else ""),
            fix=fix,
        )
    if inside_windows(system.root / "proc") and not any(adapter.usb_id for adapter in system.adapters):
        yield Finding(
            topic="ports",
            severity=Severity.NOTE,
            text="this Linux runs inside Windows (WSL) and has no USB of its own",
            fix="in Windows: usbipd list, then usbipd attach --wsl --busid N; or run hil in Windows itself",
        )


def _permission(system: System) -> Iterator[Finding]:
    """May this user open serial ports? Their group decides, and joining it counts only from the next login."""
    devices = [Path(adapter.device) for adapter in system.adapters if adapter.usb_id]
    closed = [device for device in devices if not system.can_open(device)]
    groups = _groups(system)
    name = _serial_group(system, closed or devices)
    number, members = groups.get(name, (None, ()))
    if system.superuser or (devices and not closed):
        yield Finding(topic="permission", severity=Severity.OK, text=f"{system.user} may open the serial ports")
        return
    if number in system.group_ids and not closed:
        yield Finding(topic="permission", severity=Severity.OK, text=f"{system.user} is in the group {name}")
        return
    if number in system.group_ids:
        text = f"{system.user} is in the group {name}, and may not open the port all the same"
        fix = _RULES
    elif name == "root":
        text, fix = "the port belongs to root alone", _RULES
    elif system.user in members:
        text = f"{system.user} has joined the group {name}, but this login is older than that"
        fix = f"log out and in again (in this terminal alone: newgrp {name})"
    else:
        text = f"{system.user} is not in the group {name}, to which serial ports belong"
        fix = f"sudo usermod -a -G {name} {system.user}; then log out and in again"
    shut = f"{', '.join(device.as_posix() for device in closed)} cannot be opened: " if closed else ""
    severity = Severity.ERROR if closed else Severity.WARNING
    yield Finding(topic="permission", severity=severity, text=shut + text, fix=fix)


def _serial_group(system: System, devices: Sequence[Path]) -> str:
    """The group to which these ports belong; the system's usual one if there are none."""
    numbers = {system.group_of(device) for device in devices}
    return next((name for name, (number, _) in _groups(system).items() if number in numbers), serial_group(system.root))


def serial_group(root: Path = Path("/")) -> str:
    """The group that may open serial ports on this Linux."""
    text = _text(root / "etc/group")
    return next((name for name in SERIAL_GROUPS if f"{name}:" in text), SERIAL_GROUPS[0])


def _groups(system: System) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Number and members of each group in ``/etc/group``."""
    found = {}
    for line in _text(system.root / "etc/group").splitlines():
        parts = line.split(":")
        if len(parts) == 4 and parts[2].isdigit():
            found[parts[0]] = (int(parts[2]), tuple(parts[3].split(",")))
    return found


def _grabbers(system: System) -> Iterator[Finding]:
    if system.platform != "linux":
        return
    if _runs(system, "ModemManager"):
        rules = _children(system, "etc/udev/rules.d")
        if any("ID_MM_DEVICE_IGNORE" in _text(rule) for rule in rules):
            text = "ModemManager runs, and rules in /etc/udev/rules.d tell it what to leave alone"
            yield Finding(topic="grabbers", severity=Severity.OK, text=text)
        else:
            yield Finding(
                topic="grabbers",
                severity=Severity.WARNING,
                text="ModemManager runs: it may open an adapter that was just plugged in, and write to it",
                fix="install the rules that 'hil doctor --udev' prints, or: sudo systemctl disable --now ModemManager",
            )
    if _runs(system, "brltty") or _rules(system, "brltty"):
        yield Finding(
            topic="grabbers",
            severity=Severity.WARNING,
            text="brltty, a driver for Braille displays, is installed: it takes serial adapters for such",
            fix=_without_brltty(),
        )


def _without_brltty() -> str:
    return "if nobody here reads Braille: sudo apt remove brltty (Fedora: sudo dnf remove brltty); plug in again"


def _runs(system: System, name: str) -> bool:
    return any(process.name.isdigit() and _text(process / "comm") == name for process in _children(system, "proc"))


def _rules(system: System, word: str) -> bool:
    """True if udev rules with this word in their name are installed and not overridden in ``/etc``."""
    own = {path.name for path in _children(system, "etc/udev/rules.d")}
    folders = ("usr/lib/udev/rules.d", "lib/udev/rules.d")
    names = {path.name for folder in folders for path in _children(system, folder) if word in path.name}
    return bool(names - own)


def _latency(system: System) -> Iterator[Finding]:
    if system.platform == "win32" and any(adapter.usb_id.startswith("0403:") for adapter in system.adapters):
        yield Finding(
            topic="latency",
            severity=Severity.NOTE,
            text="an FTDI adapter holds short answers back for 16 ms unless told otherwise; not readable from here",
            fix="Device Manager > the port > Properties > Port Settings > Advanced: Latency Timer 1 ms",
        )
    for port in _children(system, "sys/bus/usb-serial/devices"):
        value = _text(port / "latency_timer")
        if not value.isdigit():
            continue
        if int(value) > LATENCY_MS:
            file = f"/{(port / 'latency_timer').relative_to(system.root).as_posix()}"
            yield Finding(
                topic="latency",
                severity=Severity.WARNING,
                text=f"{port.name}: the FTDI latency timer is {value} ms; every short answer of the board waits for it",
                fix=f"echo 1 | sudo tee {file}; for good: the rules that 'hil doctor --udev' prints",
            )
        else:
            text = f"{port.name}: FTDI latency timer {value} ms"
            yield Finding(topic="latency", severity=Severity.OK, text=text)


# -- graphics --------------------------------------------------------------------------------------------


def _graphics(system: System) -> Iterator[Finding]:
    """Qt in a child process: where a library is missing it ends the whole process, not just the import."""
    version = system.versions.get("pyside6-essentials") or system.versions.get("pyside6")
    if version is None:
        return
    if system.python == (3, 11) and tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= (6, 12):
        yield Finding(
            topic="graphics",
            severity=Severity.ERROR,
            text=f"PySide6 {version} ends the interpreter on Python 3.11 after some hundred repaints",
            fix='pip install "PySide6-Essentials<6.12"',
        )
        return
    variables = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    screen = system.platform != "linux" or any(system.environment.get(name) for name in variables)
    ran = system.run(QT_PROBE, {} if screen else {"QT_QPA_PLATFORM": "offscreen"})
    where = "" if screen else " (no screen here: tried without one)"
    if ran.code != 0:
        yield _qt_is_broken(ran, where)
    elif "OpenGL works" in ran.output:
        yield Finding(topic="graphics", severity=Severity.OK, text=f"Qt {version} and OpenGL work{where}")
    else:
        severity = Severity.WARNING if screen else Severity.NOTE
        text = f"Qt {version} works, OpenGL does not{where}"
        fix = "install the graphics driver, or software drawing: sudo apt install libgl1-mesa-dri"
        yield Finding(topic="graphics", severity=severity, text=text, fix=fix)


def _qt_is_broken(ran: Ran, where: str) -> Finding:
    missing = _LIBRARY.search(ran.output)
    if missing is not None:
        package = LIBRARIES.get(missing[1], "")
        fix = f"sudo apt install {package}" if package else f"install the package of your system that has {missing[1]}"
        text = f"Qt cannot start{where}: {missing[1]} is missing"
    elif "xcb-cursor" in ran.output:
        text, fix = f"Qt cannot start{where}: libxcb-cursor is missing", "sudo apt install libxcb-cursor0"
    else:
        said = ran.output.strip().splitlines()[-1:] or [f"it ended with {ran.code}"]
        text, fix = f"Qt cannot start{where}: {said[0][:200]}", "QT_DEBUG_PLUGINS=1 hil dashboard shows more"
    return Finding(topic="graphics", severity=Severity.ERROR, text=text, fix=fix)


# -- time and space --------------------------------------------------------------------------------------


def _realtime(system: System) -> Iterator[Finding]:
    if system.platform != "linux":
        return
    priority, locked = system.realtime_priority, system.locked_bytes
    lacking = []
    if priority is not None and priority < PRIORITY:
        lacking.append("real-time priority")
    if locked is not None and locked < LOCKED_BYTES:
        lacking.append("locked memory")
    if system.superuser or not lacking:
        yield Finding(topic="real time", severity=Severity.OK, text="real-time priority and locked memory are allowed")
        return
    group = serial_group(system.root)
    yield Finding(
        topic="real time",
        severity=Severity.NOTE,
        text=f"not allowed to {system.user}: {' and '.join(lacking)}; under load some commands leave late",
        fix=f"printf '@{group} - rtprio {PRIORITY}\\n@{group} - memlock unlimited\\n' | "
        "sudo tee /etc/security/limits.d/hil.conf; then log out and in again",
    )


def _clock(system: System) -> Iterator[Finding]:
    folder = "sys/devices/system/clocksource/clocksource0"
    source = _text(system.root / folder / "current_clocksource")
    if source in SLOW_CLOCKS:
        others = _text(system.root / folder / "available_clocksource").split()
        better = next((name for name in others if name not in SLOW_CLOCKS), "")
        fix = (
            f"echo {better} | sudo tee /{folder}/current_clocksource" if better else "use another machine for hardware"
        )
        text = f"the system's clock is {source}: every look at the time is slow"
        yield Finding(topic="clock", severity=Severity.WARNING, text=text, fix=fix)
    nap = f"a sleep of {NAP_S * 1e3:g} ms takes {system.nap_s * 1e3:.1f} ms"
    if system.nap_s > LONG_NAP_S:
        fix = "end what keeps the processor busy, and look again"
        if system.platform == "win32":
            fix = "Settings > System > Power: best performance, battery saver off; Windows 10 (1803) or newer"
        yield Finding(topic="clock", severity=Severity.WARNING, text=f"{nap}: commands would leave late", fix=fix)
    else:
        yield Finding(topic="clock", severity=Severity.OK, text=nap)


def _rates(system: System) -> Iterator[Finding]:
    """Which periods the clock can keep, and so which rigs run here."""
    grain, shortest_s = system.grain, system.grain.shortest_period_s
    text = (
        f"it goes on by {_ms(grain.step_s)} ms at a time, a short sleep takes {_ms(grain.oversleep_s)} ms too long: "
        f"periods from {max(shortest_s, SHORTEST_PERIOD_S) * 1e3:.3g} ms on"
    )
    refused = [
        f"{name} ({period_s * 1e3:g} ms)" for name, period_s in system.periods_s.items() if period_s < shortest_s
    ]
    if refused:
        fix = "use hil on the machine itself, not in a virtual one"
        if system.platform == "win32":
            fix = "Windows 10 (1803) or newer, outside a virtual machine; battery saver off"
        text = f"{text}. These rigs are refused: {', '.join(refused)}"
        yield Finding(topic="clock", severity=Severity.ERROR, text=text, fix=fix)
    else:
        yield Finding(topic="clock", severity=Severity.OK, text=f"{text}, so every rig here")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f}" if seconds >= 0.00005 else "less than 0.1"


def _storage(system: System) -> Iterator[Finding]:
    folder = system.state_dir
    there = next((place for place in (folder, *folder.parents) if os.path.isdir(place)), folder)
    if not system.can_write(there):
        yield Finding(
            topic="storage",
            severity=Severity.ERROR,
            text=f"journals and locks go to {folder}, where {system.user} may not write: nothing moves without them",
            fix=_writable(system, exists=there == folder),
        )
        return
    free = system.free_bytes(there)
    text = f"journals and locks go to {folder}; {free / 1e9:.1f} GB free"
    if free < LITTLE_BYTES:
        severity = Severity.ERROR if free < HARDLY_ANY_BYTES else Severity.WARNING
        yield Finding(topic="storage", severity=severity, text=text, fix="make room there: delete or move old journals")
    else:
        yield Finding(topic="storage", severity=Severity.OK, text=text)


def _writable(system: System, *, exists: bool) -> str:
    user, folder = system.user, system.state_dir
    if system.platform == "win32":
        return f"give {user} the right to change {folder}, or set LOCALAPPDATA to a folder of yours"
    mend = f"sudo chown -R {user} {folder}" if exists else f"sudo install -d -o {user} {folder}"
    return f"{mend}, or set XDG_STATE_HOME to a folder of yours"


# -- looking ---------------------------------------------------------------------------------------------


def _text(path: Path) -> str:
    """What a small file says; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _children(system: System, folder: str) -> list[Path]:
    path = system.root / folder
    try:
        return sorted(path.iterdir())
    except OSError:
        return []


def this_system(adapters: tuple[SerialAdapter, ...], periods_s: Mapping[str, float]) -> System:
    """The computer that this runs on.

    Args:
        adapters: its serial ports, see `hil.runtime.wiring.serial_adapters`.
        periods_s: of the rigs that are known here, by name.
    """
    priority, locked = _limits()
    source, editable = _source()
    return System(
        platform=sys.platform,
        root=Path("/"),
        python=sys.version_info[:2],
        bits=ctypes.sizeof(ctypes.c_void_p) * 8,
        isolated=sys.prefix != sys.base_prefix,
        versions=_versions(),
        requirements=importlib.metadata.requires(PACKAGE) or [],
        source=source,
        editable=editable,
        origins={name: _origin(name) for name in ("hil", "drivers", "sim")},
        user=_user(),
        superuser=sys.platform != "win32" and os.geteuid() == 0,
        group_ids=_group_ids(),
        can_open=lambda device: os.access(device, os.R_OK | os.W_OK),
        group_of=_group_of,
        adapters=adapters,
        opened=open_ports(),
        realtime_priority=priority,
        locked_bytes=locked,
        nap_s=_nap_s(),
        grain=grain_of_the_loop(),
        periods_s=periods_s,
        run=_run,
        environment=os.environ,
        state_dir=state_dir(),
        can_write=lambda folder: os.access(folder, os.W_OK),
        free_bytes=lambda folder: shutil.disk_usage(folder).free,
    )


def _versions() -> dict[str, str]:
    return {_plain_name(found.name): found.version for found in importlib.metadata.distributions() if found.name}


def _source() -> tuple[str, bool]:
    """Where this package was installed from, a checkout or wherever pip looks by itself; and if it is used there."""
    origin = importlib.metadata.distribution(PACKAGE).read_text("direct_url.json")
    facts = json.loads(origin) if origin else {}
    folder = urlsplit(facts.get("url", ""))
    if folder.scheme != "file":
        return PACKAGE, False
    return url2pathname(folder.path), bool(facts.get("dir_info", {}).get("editable"))


def _origin(name: str) -> Path | None:
    spec = importlib.util.find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin).parents[1]


def _group_ids() -> frozenset[int]:
    if sys.platform == "win32":
        return frozenset()
    return frozenset((os.getegid(), *os.getgroups()))


def _group_of(device: Path) -> int | None:
    try:
        return device.stat().st_gid
    except OSError:
        return None


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "$USER"


if sys.platform == "linux":
    import resource

    def _limits() -> tuple[int | None, int | None]:
        limits = (resource.getrlimit(what)[0] for what in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK))
        priority, locked = (None if value == resource.RLIM_INFINITY else value for value in limits)
        return priority, locked

else:

    def _limits() -> tuple[int | None, int | None]:
        return None, None


def _nap_s() -> float:
    def nap() -> float:
        start_s = time.perf_counter()
        time.sleep(NAP_S)
        return time.perf_counter() - start_s

    with fine_timers():
        return statistics.median(nap() for _ in range(9))


def _run(program: str, changes: Mapping[str, str]) -> Ran:
    try:
        done = subprocess.run(
            [*PYTHON, "-c", program],
            env={**os.environ, **changes},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Ran(1, str(error))
    return Ran(done.returncode, done.stdout)
