"""Builds everything from a rig: driver or fake, shadow, guard, bridge; on a real line, in memory, or from a journal."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from hil.clock import VirtualClock, monotonic_s
from hil.errors import ConfigError, HilError, JournalError
from hil.identity import Acquaintance
from hil.link import ArmLink, BytePort, ControllerSettings, ExpectingLink
from hil.model import reader
from hil.model._rig_file import rig_from_table
from hil.model.files import find, folders, list_names, merged, read_toml
from hil.model.rig import Rig
from hil.model.robot import RobotModel
from hil.robot import Robot
from hil.runtime import port_wiring
from hil.runtime.bridge import Bridge
from hil.runtime.controller_memory import remedy
from hil.runtime.journal import SessionRecord, Wiring
from hil.runtime.kinds import NAMES, kind_named, kind_of
from hil.runtime.kinds.kind import USUAL, FakeChoices, MemoryFake
from hil.runtime.port_wiring import VIRTUAL_START_S
from hil.runtime.slow_port import OpenedAside
from hil.runtime.tap import PortTap
from hil.safety.guard import Guard
from hil.space.coverage import require_bodies
from hil.space.gravity_load import axis_loads
from hil.space.rig_of_robot import rig_of_robot
from hil.tables import closest
from hil.types import ControllerIdentity, Supply
from hil.version import software_version
from sim.arm import SimulatedArm
from sim.faults import FaultScript, faults_from_table, load_faults
from sim.profiles import Profile, as_text, choices_of, load_profile, profile_names

RIG_KEYS = frozenset({"robot", "controller", "inherit"})
"""Keys that a rig's file has, and a robot's has not."""

# -- rigs ------------------------------------------------------------------------------------------------


def load_rig(name: str | Path, changes: Mapping[str, Any] | None = None, *, calibrated: bool | Path = True) -> Rig:
    """Read a rig by name or path; a robot that has no rig gets a simulated controller (`hil.space.rig_of_robot`).

    Args:
        name: name among the known rigs, else among the known robots; or path of a file of either.
        changes: what to change in it, as a rig that inherits from it would say it.
        calibrated: False for the rig as its file has it, to calibrate it; or the calibration to lay over it.

    Raises:
        ConfigError: there is no such rig, or something in it is wrong.
    """
    controllers = {kind: partial(_settings, kind) for kind in NAMES}
    robot = _robot_alone(str(name))
    if robot is None:
        return reader.load_rig(name, controllers, changes, calibrated=calibrated, judge=require_bodies)
    made = rig_of_robot(robot, {"kind": "simulated"})
    table = merged(made.table, changes or {})
    rig = rig_from_table(table, robot.id, robot.file, lambda name: robot, controllers)
    require_bodies(rig, frozenset())
    return msgspec.structs.replace(rig, defaults=made.defaults)


def _robot_alone(name: str) -> RobotModel | None:
    """The robot that a name or path means, if it means no rig.

    Raises:
        ConfigError: there is neither.
    """
    path = Path(name)
    if "://" in name:
        raise ConfigError(
            "rig", "name", name, "a rig or robot of this computer", f"An arm of a lab: `hil drive {name}`"
        )
    if path.is_file():
        return None if RIG_KEYS & read_toml(path).keys() else reader.load_robot(path)
    rigs, robots, stem = list_names("rigs"), list_names("robots"), name.removesuffix(".toml")
    if stem in robots and stem not in rigs:
        return reader.load_robot(name)
    if path.name == name and stem not in rigs:
        meant = closest(stem, [*rigs, *robots])
        if stem in list_names("tasks"):
            raise ConfigError(
                "rig", "name", name, "a rig or robot; this is a task", f"The arm comes first: lynx6 {name}"
            )
        raise ConfigError(
            f"rig {name!r}",
            "name",
            name,
            f"the path of a TOML file, one of the rigs {', '.join(rigs)}, or a robot: `hil robots` lists them",
            f"Did you mean {meant!r}?" if meant else f"Looked in {', '.join(map(str, folders('rigs')))}",
        )
    return None


def _settings(kind: str, table: Mapping[str, Any], axes: tuple[tuple[str, str], ...], file: str) -> ControllerSettings:
    return kind_named(kind).settings_from_table(table, axes, file)


def _rig_from_tree(tree: Mapping[str, Any], kind: str) -> Rig:
    def controller(wanted: type[Any], value: Any) -> Any:
        return msgspec.convert(value, kind_named(kind).settings_type)

    return msgspec.convert(tree, Rig, dec_hook=controller)


def controller_tables() -> dict[str, type[Any]]:
    """By kind of controller, the record of its ``[controller]`` table."""
    return {name: kind_named(name).table_type for name in NAMES}


# -- bridges ---------------------------------------------------------------------------------------------


def simulated_arm(rig: Rig, start: Sequence[float], now_s: float) -> SimulatedArm:
    """The rig's arm without any controller, limp at `start`, as it runs beside every real one."""
    shadow = SimulatedArm(
        start,
        [axis.servo_lag_s for axis in rig.axes],
        [axis.servo_speed for axis in rig.axes],
        models=[axis.servo for axis in rig.axes],
        loads=axis_loads(rig),
    )
    shadow.open(now_s)
    return shadow


def _link(
    rig: Rig,
    url: str,
    open_port: Callable[[], BytePort],
    expected: ControllerIdentity | None = None,
    real: str | None = None,
) -> tuple[ArmLink, PortTap, Acquaintance]:
    """Driver, tap, and whom to expect; whoever answers first, where nobody is known.

    `expected` answered there in an earlier session; `real` is the port once more, if a person can go and look at it.
    """
    tap = PortTap(open_port)
    settings = msgspec.structs.replace(rig.controller, port_url=url)  # type: ignore[type-var]
    link = kind_of(rig).build(settings, tap.open)
    acquaintance = Acquaintance(url)
    acquaintance.expect(expected, remedy(rig.id, real))
    if isinstance(link, ExpectingLink):
        link.expect(expected, remedy(rig.id, real))
    return link, tap, acquaintance


def _bridge(
    rig: Rig,
    url: str,
    open_port: Callable[[], BytePort],
    start: Sequence[float],
    *,
    now_s: float,
    epoch_offset_s: float,
    version: str,
    around: Callable[[ArmLink], ArmLink] = lambda link: link,
    expected: ControllerIdentity | None = None,
    real: str | None = None,
    supply: Supply = Supply.UNSAID,
    signs: bool = True,
    calls_off: bool = True,
) -> Bridge:
    link, tap, acquaintance = _link(rig, url, open_port, expected, real)
    guard = Guard(rig, Robot(rig.robot))
    shadow = simulated_arm(rig, start, now_s)
    return Bridge(
        rig,
        around(link),
        shadow,
        guard,
        tap,
        acquaintance,
        epoch_offset_s=epoch_offset_s,
        version=version,
        supply=supply,
        signs=signs,
        calls_off=calls_off,
    )


def serial_bridge(session: SessionRecord, rig: Rig, aside: bool = False) -> Bridge:
    """The bridge to a byte line with a URL: a real port, or a fake in a process of its own.

    With `aside` the port is opened beside the ticks, which go on meanwhile.
    """
    door = port_wiring.door(rig, session.port, session.wiring, port_wiring.check_arm)
    return _session_bridge(session, rig, OpenedAside(session.port, door) if aside else door)


def _session_bridge(session: SessionRecord, rig: Rig, open_port: Callable[[], BytePort]) -> Bridge:
    facts = session.settings.get("controller")
    return _bridge(
        rig,
        session.port,
        open_port,
        rig.park,
        now_s=session.start_monotonic_s,
        epoch_offset_s=session.start_epoch_s - session.start_monotonic_s,
        version=session.software_version,
        expected=None if facts is None else ControllerIdentity(facts=tuple((what, value) for what, value in facts)),
        real=session.port if session.wiring is Wiring.REAL else None,
        supply=Supply(session.settings.get("supply", Supply.UNSAID.value)),
        signs=bool(session.settings.get("line_signs", False)),
        calls_off=bool(session.settings.get("calls_off", False)),
    )


def rig_of_session(session: SessionRecord) -> Rig:
    """The rig of a journal.

    Raises:
        JournalError: it cannot be read by this version.
    """
    try:
        return _rig_from_tree(session.rig, session.settings["controller_kind"])
    except (msgspec.ValidationError, KeyError, HilError) as error:
        raise JournalError(f"the journal's rig cannot be read by version {software_version()}: {error}") from None


def replay_bridge(session: SessionRecord, open_port: Callable[[], BytePort]) -> Bridge:
    """The same bridge as a journal's, on a port that gives back what the journal's line gave.

    Raises:
        JournalError: the journal's rig cannot be read by this version.
    """
    rig = rig_of_session(session)
    if rig.digest != session.rig_digest:
        raise JournalError("the journal's rig is not the one that its digest names: the session record was changed")
    return _session_bridge(session, rig, open_port)


@dataclass(frozen=True)
class VirtualArm:
    """A whole rig on virtual time: the real driver, its fake, and the clock that both live by."""

    bridge: Bridge
    clock: VirtualClock
    fake: MemoryFake


def virtual_arm(
    rig: Rig,
    start: Sequence[float],
    *,
    energised: bool,
    epoch_offset_s: float,
    faults: FaultScript | None = None,
    around: Callable[[ArmLink], ArmLink] = lambda link: link,
    chosen: FakeChoices = USUAL,
) -> VirtualArm:
    """Wire a rig to an emulated controller in memory.

    Args:
        rig: the resolved rig.
        start: where the simulated arm is, one position per axis.
        energised: True if the controller already drives it there.
        epoch_offset_s: epoch seconds at virtual second 0.
        faults: what goes wrong on the line and the controller, see `fault_script`.
        around: what to put between bridge and driver.
        chosen: what kind of controller it is, see `fake_choices`.
    """
    clock = VirtualClock(VIRTUAL_START_S)
    fake = kind_of(rig).emulated().in_memory(rig, start, energised, faults, 0.0, chosen)
    bridge = _bridge(
        rig,
        "memory",
        fake.open_port,
        start,
        now_s=clock.now_s(),
        epoch_offset_s=epoch_offset_s,
        version=software_version(),
        around=around,
    )
    return VirtualArm(bridge, clock, fake)


@dataclass(frozen=True)
class VirtualLink:
    """A driver and its fake without a bridge: nobody checks what is written but the driver itself.

    Attributes:
        tap: takes what went over the line.
    """

    link: ArmLink
    tap: PortTap
    clock: VirtualClock
    fake: MemoryFake


def virtual_link(
    rig: Rig, start: Sequence[float], faults: FaultScript | None = None, chosen: FakeChoices = USUAL
) -> VirtualLink:
    """Wire a rig's driver alone to an emulated controller in memory, its arm limp at `start`."""
    fake = kind_of(rig).emulated().in_memory(rig, start, False, faults, 0.0, chosen)
    link, tap, _ = _link(rig, "memory", fake.open_port)
    return VirtualLink(link, tap, VirtualClock(VIRTUAL_START_S), fake)


def served_fake(
    rig: Rig, start: Sequence[float], faults: FaultScript | None = None, chosen: FakeChoices = USUAL
) -> MemoryFake:
    """An emulated controller on the machine's clock, its arm limp at `start`; its `serve` lets it answer."""
    return kind_of(rig).emulated().in_memory(rig, start, False, faults, monotonic_s(), chosen)


def fake_choices(rig: Rig, profile: str | Path | None, changes: Mapping[str, Any] | Sequence[str] = ()) -> FakeChoices:
    """What the fake of a rig's controller is to be.

    Args:
        rig: whose kind of controller.
        profile: name or path of a profile; None for what is usual.
        changes: choices by name, or as ``key=value``, laid over it.

    Raises:
        ConfigError: there is no such profile, or something in it or in the changes is wrong.
    """
    return choices_of(kind_of(rig).fake, profile, changes)


def choice_text(value: object) -> str:
    """A value of a choice as the command line takes it."""
    return as_text(value)


def fake_profiles() -> list[Profile]:
    """Every profile that can be given by its name.

    Raises:
        ConfigError: one of them is wrong.
    """
    return [load_profile(name) for name in profile_names()]


def fault_script(faults: str | Path | Mapping[str, Any], seed: int | None = None, start_s: float = 0.0) -> FaultScript:
    """What goes wrong, for one fake.

    Args:
        faults: name or path of a fault file, or what such a file says.
        seed: of its chance; None for the file's own.
        start_s: the clock's reading from which its times count.

    Raises:
        ConfigError: there is no such file, or something in it is wrong.
    """
    table = faults_from_table(faults, "faults") if isinstance(faults, Mapping) else load_faults(find("faults", faults))
    return FaultScript(table, random.Random(table.seed if seed is None else seed), start_s)


def session_record(
    rig: Rig,
    *,
    url: str,
    fake: bool,
    expected: ControllerIdentity | None = None,
    supply: Supply = Supply.UNSAID,
) -> SessionRecord:
    """What a journal begins with, and what the loop's process is told.

    Args:
        rig: the resolved rig.
        url: of its line.
        fake: a fake answers there.
        expected: who has to answer; None for anybody.
        supply: what an earlier session has left behind of the servo supply.
    """
    who = {} if expected is None else {"controller": [list(fact) for fact in expected.facts]}
    return SessionRecord(
        software_version=software_version(),
        wiring=Wiring.FAKE if fake else Wiring.REAL,
        port=url,
        rig_id=rig.id,
        rig_digest=rig.digest,
        rig=msgspec.to_builtins(rig),
        settings={
            "controller_kind": rig.controller.kind,
            "supply": supply.value,
            "line_signs": True,
            "calls_off": True,
            **who,
        },
        start_epoch_s=time.time(),
        start_monotonic_s=monotonic_s(),
    )
