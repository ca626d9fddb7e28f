"""Builds everything from a rig. The only module that knows drivers and simulations, and the only list of kinds."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import hil
from drivers import rv2aj, ssc32
from drivers._ports import list_adapters, open_serial, port_name
from drivers._ssc32_channels import Ssc32Channels, servo_channels
from hil.clock import Clock, RealClock, VirtualClock, monotonic_s
from hil.errors import ConfigError, ControllerError, HilError, InterlockError, JournalError, LinkError, LinkTimeout
from hil.identity import Acquaintance
from hil.link import (
    Answer,
    ArmLink,
    BytePort,
    ChannelLink,
    Condition,
    ControllerSettings,
    ExpectingLink,
    ProgramEnd,
    ProgramJob,
    ProgramWatcher,
    SavedFile,
    SerialAdapter,
    ServoChannel,
)
from hil.model import loading
from hil.model.files import find
from hil.model.rig import AdapterIdentity, Rig
from hil.robot import Robot
from hil.runtime import adapters
from hil.runtime.bridge import Bridge
from hil.runtime.controller_memory import ControllerMemory, remedy
from hil.runtime.journal import SessionRecord, Wiring
from hil.runtime.opening import OpenedAside
from hil.runtime.processes import death_of
from hil.runtime.rtprio import go_before_others, leave_the_loops_core
from hil.runtime.tap import PortTap
from hil.runtime.terminal_signals import SERVANTS_STAY_S, leave_the_terminal_to_the_owner, start_unheard
from hil.safety.guard import Guard
from hil.space.gravity_load import sinking_joints
from hil.types import ControllerIdentity, Supply
from hil.units import DEG
from sim.arm import SimulatedArm
from sim.bench import BenchServo, ServoBench
from sim.cr1 import Cr1, Cr1Settings, EndCode, Procedure
from sim.fake_cr1 import Cr1Options, run_fake_cr1
from sim.fake_ssc32 import FakeOptions, run_fake_ssc32
from sim.faults import FaultScript, faults_from_table, load_faults
from sim.ports import MemoryPort
from sim.profiles import Chosen, Profile, as_text, choices_of, load_profile, profile_names
from sim.serving import serve_pty, serve_tcp
from sim.ssc32 import BoardSettings, Firmware, Ssc32Board
from sim.uart import FRAMINGS

FAKE_READY_S = 20.0
FAKE_LOOK_S = 0.05
VIRTUAL_START_S = 0.1
"""First reading of a virtual clock: the board has started up by then."""
MIDDLE_US = 1500
"""The middle of a servo's travel, whatever hangs on it."""
CROOKED_US = 80.0
"""Half the distance of two teeth of a horn, some 7 degrees."""
SOMEBODYS = {"1": "10 END"}
"""A program that was there before us, as on nearly every controller, and is to be there after us."""
FakeChoices = Chosen
USUAL = FakeChoices()
"""A fake as it has always been."""
JUMPER_RATES = (2400, 9600, 38400, 115200)
"""Baud rates that the jumpers of an SSC-32 can set; any other takes an SSC-32U."""


S = TypeVar("S", BoardSettings, Cr1Settings)


# -- kinds of controller ---------------------------------------------------------------------------------


RunProgram = Callable[
    [Any, Callable[[], BytePort], Clock, ProgramJob, ProgramWatcher, Callable[[ControllerIdentity], None]], ProgramEnd
]


@dataclass(frozen=True)
class Kind:
    """What has to be known about one kind of controller.

    Attributes:
        settings_type: its settings record.
        table_type: the record of its ``[controller]`` table, for editors.
        settings_from_table: reads the ``[controller]`` table.
        build: makes the driver from settings and a way to open the port.
        ask: finds out who answers on a line that it opens at a baud rate, with questions only.
        fake: name of the emulated controller, as in ``hil fake NAME``.
        memory_fake: the emulated controller on an in-memory line, see `_ssc32_in_memory`.
        fake_process: main function of the emulated controller in a process of its own, given the rig, a folder, and a
            line to its owner: it says there where it serves, and ends when the other end is closed.
        channels: how an arm of this kind is calibrated; None for a kind that knows by itself where its arm stands.
        framing: data bits, parity and stop bits with which it is asked.
        look_over: what it says of itself to a person at the bench; None for a kind that can only say who it is.
        back_up: copies what people have stored in it; None for a kind that stores nothing.
        run_program: runs a program on the controller itself, after telling who answers to somebody who may refuse it by
            raising; None for a kind that cannot.
    """

    settings_type: type[Any]
    table_type: type[Any]
    settings_from_table: Callable[[Mapping[str, Any], tuple[tuple[str, str], ...], str], ControllerSettings]
    build: Callable[[Any, Callable[[], BytePort]], ArmLink]
    ask: Callable[[Callable[[int], BytePort], str, Clock], Answer]
    fake: str
    memory_fake: Callable[[Rig, Sequence[float], bool, FaultScript | None, float, FakeChoices], MemoryFake]
    fake_process: Callable[[Rig, Path, Connection], None]
    channels: ChannelKind | None = None
    framing: str = "8N1"
    look_over: Callable[[Any, Callable[[], BytePort], Clock], tuple[Condition, ...]] | None = None
    back_up: Callable[[Any, Callable[[], BytePort], Clock], tuple[SavedFile, ...]] | None = None
    run_program: RunProgram | None = None


@dataclass(frozen=True)
class ChannelKind:
    """What calibrating needs.

    Attributes:
        describe: the channels as a rig's settings have them.
        build: makes the link that moves single channels, from settings, channels and a way to open the port.
        crooked: settings of an arm that was put together differently, for exercises.
    """

    describe: Callable[[Any], tuple[ServoChannel, ...]]
    build: Callable[[Any, Sequence[int], Callable[[], BytePort]], ChannelLink]
    crooked: Callable[[Any, random.Random], Any]


@dataclass(frozen=True)
class MemoryFake:
    """An emulated controller and the arm behind it, on the time that it is told. Positions are in rad or m, per axis.

    Attributes:
        open_port: plugs a line in, in memory.
        serve: lets it answer on TCP (True) or on a pseudo-terminal instead, in the calling thread and on the machine's
            clock: called with the choice, what to tell the URL, whom to tell the bytes that come in, and a question
            that ends it, asked several times a second.
        first_jumps: how far each servo jumped when it was first driven.
        setpoints: what the controller drives at a time, None for a limp axis.
        servos: where the servos are at a time.
    """

    open_port: Callable[[], BytePort]
    serve: Callable[[bool, Callable[[str], None], Callable[[bytes, float], None], Callable[[], bool]], None]
    first_jumps: Callable[[], tuple[float, ...]]
    setpoints: Callable[[float], tuple[float | None, ...]]
    servos: Callable[[float], tuple[float, ...]]


def _ssc32_servos(rig: Rig, start: Sequence[float]) -> list[BenchServo]:
    """The rig's own calibration as the true one: a rehearsal cannot know better. Let go of, it sinks into park."""
    settings = rig.controller
    assert isinstance(settings, ssc32.Ssc32Settings)
    sinking = sinking_joints(rig)
    return [
        BenchServo(
            channel=wire.channel,
            points=wire.points,
            start=position,
            lag_s=axis.servo_lag_s,
            speed=axis.servo_speed,
            rest=axis.park if index in sinking else None,
        )
        for index, (axis, wire, position) in enumerate(zip(rig.axes, settings.axes, start, strict=True))
    ]


def _ssc32_board(settings: ssc32.Ssc32Settings) -> BoardSettings:
    """A board that can be set to the rig's rate: the older ones have jumpers for four rates only."""
    firmware = Firmware.V2 if settings.baud in JUMPER_RATES else Firmware.U
    return BoardSettings(firmware=firmware, baud=settings.baud)


def _ssc32_in_memory(
    rig: Rig, start: Sequence[float], energised: bool, faults: FaultScript | None, start_s: float, chosen: FakeChoices
) -> MemoryFake:
    settings = rig.controller
    assert isinstance(settings, ssc32.Ssc32Settings)
    board = Ssc32Board(chosen.over(_ssc32_board(settings)), start_s=start_s)
    servos = _ssc32_servos(rig, start)
    bench = ServoBench(board, servos, start_s=start_s)
    if energised:
        pulses = (settings.pulse_us(axis, position) for axis, position in enumerate(start))
        line = "".join(f"#{servo.channel}P{pulse}" for servo, pulse in zip(servos, pulses, strict=True))
        board.receive(f"{line}\r".encode("ascii"), start_s, board.byte_s)
        board.advance(start_s + 0.1)

    def serve(
        tcp: bool, ready: Callable[[str], None], heard: Callable[[bytes, float], None], stop: Callable[[], bool]
    ) -> None:
        if tcp:
            serve_tcp(board, 0, ready, bench=bench, faults=faults, heard=heard, stop=stop)
        else:
            serve_pty(board, None, ready, bench=bench, faults=faults, heard=heard, stop=stop)

    def first_jumps() -> tuple[float, ...]:
        by_channel = {move.channel: move.jump for move in bench.first_moves}
        return tuple(by_channel.get(servo.channel, 0.0) for servo in servos)

    def setpoints(now_s: float) -> tuple[float | None, ...]:
        board.advance(now_s)
        pulses = [board.pulse_us(servo.channel) for servo in servos]
        return tuple(pulse_map.inverse(us) if us else None for pulse_map, us in zip(settings.maps, pulses, strict=True))

    def servo_positions(now_s: float) -> tuple[float, ...]:
        board.advance(now_s)
        return bench.positions(now_s)

    return MemoryFake(
        open_port=lambda: MemoryPort(board, settings.baud, faults, bench),
        serve=serve,
        first_jumps=first_jumps,
        setpoints=setpoints,
        servos=servo_positions,
    )


def _until_owner_ends_it(owner: Connection) -> Callable[[], bool]:
    """Whether a fake controller of the program's own is to end: its owner has let go of it, or is gone.

    A shutdown of the machine tells all processes at once. As a real controller would, this one then stays for those
    that still have to stop the arm.
    """
    told_s: list[float] = []
    leave_the_terminal_to_the_owner(lambda: told_s.append(monotonic_s()))
    owner_gone = death_of(owner)
    return lambda: owner_gone() or (bool(told_s) and monotonic_s() - told_s[0] > SERVANTS_STAY_S)


def _tell(owner: Connection, word: str | HilError) -> None:
    with contextlib.suppress(OSError):  # it has changed its mind meanwhile
        owner.send(word)


def _ssc32_process(rig: Rig, folder: Path, owner: Connection) -> None:
    """Serve a fake board that stands in the park pose, until its owner ends it or is gone."""
    owned = _until_owner_ends_it(owner)
    settings = rig.controller
    assert isinstance(settings, ssc32.Ssc32Settings)
    on_tcp = not has_pseudo_terminals()
    options = FakeOptions(
        link=None if on_tcp else str(folder / "ssc32"),
        tcp_port=0 if on_tcp else None,
        board=_ssc32_board(settings),
        servos=tuple(_ssc32_servos(rig, rig.park)),
    )
    go_before_others()
    leave_the_loops_core()
    try:
        run_fake_ssc32(options, partial(_tell, owner), owned)
    except HilError as error:
        _tell(owner, error)


def _ssc32_crooked(settings: ssc32.Ssc32Settings, rng: random.Random) -> ssc32.Ssc32Settings:
    """As a kit comes from a hurried evening: two plugs exchanged, one servo on its head, horns a tooth off."""
    axes = list(settings.axes)
    first, second, third = rng.sample(range(len(axes)), 3)
    channels = [axis.channel for axis in axes]
    channels[first], channels[second] = channels[second], channels[first]
    for index, axis in enumerate(axes):
        off_us = rng.uniform(-CROOKED_US, CROOKED_US)
        sign = -1.0 if index == third else 1.0
        points = tuple((position, MIDDLE_US + sign * (us - MIDDLE_US) + off_us) for position, us in axis.points)
        axes[index] = msgspec.structs.replace(axis, channel=channels[index], points=points, direction=None)
    return msgspec.structs.replace(settings, axes=tuple(axes))


def _cr1(settings: rv2aj.Rv2ajSettings) -> Cr1Settings:
    """A controller whose line is set as the rig says."""
    return Cr1Settings(baud=settings.baud, framing=FRAMINGS[settings.framing])


def _cr1_in_memory(
    rig: Rig, start: Sequence[float], energised: bool, faults: FaultScript | None, start_s: float, chosen: FakeChoices
) -> MemoryFake:
    """An arm with brakes and encoders: it stands where it stands, whether its servos are on or not."""
    settings = rig.controller
    assert isinstance(settings, rv2aj.Rv2ajSettings)
    cr1 = Cr1(chosen.over(_cr1(settings)), start_s=start_s, joints_deg=settings.degrees(start), programs=SOMEBODYS)

    def serve(
        tcp: bool, ready: Callable[[str], None], heard: Callable[[bytes, float], None], stop: Callable[[], bool]
    ) -> None:
        if tcp:
            serve_tcp(cr1, 0, ready, faults=faults, heard=heard, stop=stop)
        else:
            serve_pty(cr1, None, ready, faults=faults, heard=heard, stop=stop)

    def joints(now_s: float) -> tuple[float, ...]:
        cr1.advance(now_s)
        return tuple(angle * DEG for angle in cr1.joints)

    return MemoryFake(
        open_port=lambda: MemoryPort(cr1, settings.baud, faults, framing=FRAMINGS[settings.framing]),
        serve=serve,
        first_jumps=lambda: (0.0,) * len(rig.axes),
        setpoints=joints,
        servos=joints,
    )


def _cr1_process(rig: Rig, folder: Path, owner: Connection) -> None:
    """Serve a fake CR1 whose arm stands in the park pose, until its owner ends it or is gone."""
    owned = _until_owner_ends_it(owner)
    settings = rig.controller
    assert isinstance(settings, rv2aj.Rv2ajSettings)
    on_tcp = not has_pseudo_terminals()
    options = Cr1Options(
        link=None if on_tcp else str(folder / "cr1"),
        tcp_port=0 if on_tcp else None,
        settings=_cr1(settings),
        programs=SOMEBODYS,
        joints_deg=settings.degrees(rig.park),
    )
    go_before_others()
    leave_the_loops_core()
    try:
        run_fake_cr1(options, partial(_tell, owner), owned=owned)
    except HilError as error:
        _tell(owner, error)


KINDS: Mapping[str, Kind] = {
    "ssc32": Kind(
        ssc32.Ssc32Settings,
        ssc32.ControllerTable,
        ssc32.settings_from_table,
        ssc32.build,
        ssc32.ask,
        "ssc32",
        _ssc32_in_memory,
        _ssc32_process,
        ChannelKind(servo_channels, Ssc32Channels, _ssc32_crooked),
    ),
    "rv2aj": Kind(
        rv2aj.Rv2ajSettings,
        rv2aj.Rv2ajTable,
        rv2aj.settings_from_table,
        rv2aj.build,
        rv2aj.ask,
        "cr1",
        _cr1_in_memory,
        _cr1_process,
        framing="8E2",
        look_over=rv2aj.look_over,
        back_up=rv2aj.back_up,
        run_program=rv2aj.run_program,
    ),
}


# -- rigs ------------------------------------------------------------------------------------------------


def load_rig(name: str | Path, changes: Mapping[str, Any] | None = None, *, calibrated: bool | Path = True) -> Rig:
    """Read a rig by name or path.

    Args:
        name: name among the known rigs, or path.
        changes: what to change in it, as a rig that inherits from it would say it.
        calibrated: False for the rig as its file has it, to calibrate it; or the calibration to lay over it.

    Raises:
        ConfigError: there is no such rig, or something in it is wrong.
    """
    controllers = {kind: entry.settings_from_table for kind, entry in KINDS.items()}
    return loading.load_rig(name, controllers, changes, calibrated=calibrated)


def _rig_from_tree(tree: Mapping[str, Any], kind: str) -> Rig:
    def controller(wanted: type[Any], value: Any) -> Any:
        return msgspec.convert(value, KINDS[kind].settings_type)

    return msgspec.convert(tree, Rig, dec_hook=controller)


# -- ports -----------------------------------------------------------------------------------------------


def serial_adapters() -> tuple[SerialAdapter, ...]:
    """Every serial port of this computer; opens none."""
    return list_adapters()


def ask_port(url: str, clock: Clock) -> Answer:
    """Find out which of the known kinds of controller answers on a line. Asks its version and moves nothing.

    This is how one finds out whose a port is, so it is done for no rig, and whoever is there may answer.

    Raises:
        LinkTimeout: nobody answers.
        ControllerError: something answers that is no known controller.
        LinkError: the port cannot be opened, or failed.
    """
    problems: list[HilError] = []
    for kind in KINDS.values():
        try:
            answer = kind.ask(partial(open_serial, url, framing=kind.framing), url, clock)
        except (LinkTimeout, ControllerError) as error:
            problems.append(error)
        else:
            return msgspec.structs.replace(answer, baud=None) if url.startswith("socket://") else answer
    raise problems[0]


def look_over(rig: Rig, url: str | None) -> tuple[Condition, ...]:
    """How a controller stands, in words; moves nothing.

    Args:
        rig: whose controller.
        url: its real port; None for a fake in memory, its arm in the park pose.

    Raises:
        LinkTimeout, ControllerError, LinkError: nobody answers, somebody else does, or the line failed.
    """
    kind = KINDS[rig.controller.kind]
    settings, open_port, clock = _by_itself(rig, url)
    if kind.look_over is not None:
        return kind.look_over(settings, open_port, clock)
    return (Condition(name="controller", text=kind.ask(lambda baud: open_port(), settings.port_url, clock).identity),)


def who_answers(rig: Rig, url: str) -> ControllerIdentity:
    """What the controller at a rig's real port says of itself, of a kind that can be asked in a few words.

    Raises:
        InterlockError: the port carries another adapter.
        LinkTimeout, ControllerError, LinkError: nobody answers, somebody else does, or the line failed.
    """
    kind = KINDS[rig.controller.kind]
    settings, open_port, clock = _by_itself(rig, url)
    return ControllerIdentity.named(kind.ask(lambda baud: open_port(), settings.port_url, clock).identity)


def back_up(rig: Rig, url: str | None) -> tuple[SavedFile, ...]:
    """What people have stored in a controller; changes nothing there. Otherwise as `look_over`.

    Raises:
        InterlockError: controllers of this kind store nothing.
    """
    save = KINDS[rig.controller.kind].back_up
    if save is None:
        raise InterlockError(f"rig {rig.id}: a {rig.controller.kind} keeps no programs, so there is nothing to save")
    return save(*_by_itself(rig, url))


def run_program(
    rig: Rig,
    url: str | None,
    job: ProgramJob,
    watcher: ProgramWatcher,
    clock: Clock | None = None,
    *,
    wiring: Wiring = Wiring.REAL,
) -> ProgramEnd:
    """Run a program on a controller itself, at the rig's override.

    Args:
        rig: whose controller.
        url: its port; None for a fake in memory on virtual time, its arm in the park pose.
        job: what to run.
        watcher: is told and asked on the way.
        clock: the machine's, to wait by on a port; a KeyboardInterrupt from it stops the arm.
        wiring: FAKE for the port of a fake in a process of its own, see `start_fake`.

    Raises:
        InterlockError: controllers of this kind run no programs; or the port carries another adapter.
        ControllerError: another controller answers than the last time, something stands in the way, or what was stored
            is not the program.
        LinkError: the line failed.
    """
    run = KINDS[rig.controller.kind].run_program
    if run is None:
        raise InterlockError(f"rig {rig.id}: a {rig.controller.kind} runs no programs; use --on bridge")
    meet = ControllerMemory(rig, url if wiring is Wiring.REAL else None).introduction(watcher.said)
    settings, open_port, usual_clock = _by_itself(rig, url, wiring, check_arm)
    return run(settings, open_port, clock or usual_clock, job, watcher, meet)


def raw_line(rig: Rig, url: str | None, chosen: FakeChoices = USUAL) -> tuple[Callable[[], BytePort], Clock]:
    """What opens a line on which somebody asks word for word, and the clock to wait by; for questions alone.

    Args:
        rig: whose controller.
        url: its real port; None for a fake in memory, never commanded, its arm in the park pose.
        chosen: what kind of fake.
    """
    _, open_port, clock = _by_itself(rig, url, chosen=chosen)
    return open_port, clock


def _by_itself(
    rig: Rig,
    url: str | None,
    wiring: Wiring = Wiring.REAL,
    check: adapters.Check | None = None,
    chosen: FakeChoices = USUAL,
) -> tuple[Any, Callable[[], BytePort], Clock]:
    """Settings, port and clock to talk to a controller without a session."""
    settings = msgspec.structs.replace(rig.controller, port_url=url or "memory")  # type: ignore[type-var]
    if url is not None:
        return settings, _door(rig, url, wiring, check or check_adapter), RealClock()
    fake = KINDS[rig.controller.kind].memory_fake(rig, rig.park, False, None, 0.0, chosen)
    return settings, fake.open_port, VirtualClock(VIRTUAL_START_S)


def controller_tables() -> dict[str, type[Any]]:
    """By kind of controller, the record of its ``[controller]`` table."""
    return {name: kind.table_type for name, kind in KINDS.items()}


# -- bridges ---------------------------------------------------------------------------------------------


def simulated_arm(rig: Rig, start: Sequence[float], now_s: float) -> SimulatedArm:
    """The rig's arm without any controller, limp at `start`, as it runs beside every real one."""
    shadow = SimulatedArm(start, [axis.servo_lag_s for axis in rig.axes], [axis.servo_speed for axis in rig.axes])
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
    link = KINDS[rig.controller.kind].build(settings, tap.open)
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
    )


def _door(rig: Rig, url: str, wiring: Wiring, check: adapters.Check) -> Callable[[], BytePort]:
    """The one way to open a line for a rig; `check` looks at a real port each time."""

    def open_line() -> BytePort:
        return open_serial(url, rig.controller.baud, rig.controller.framing)

    return open_line if wiring is Wiring.FAKE else adapters.looked_at(open_line, lambda: check(rig, url))


def serial_bridge(session: SessionRecord, rig: Rig, aside: bool = False) -> Bridge:
    """The bridge to a byte line with a URL: a real port, or a fake in a process of its own.

    With `aside` the port is opened beside the ticks, which go on meanwhile.
    """
    door = _door(rig, session.port, session.wiring, check_arm)
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
    )


# -- which arm is at a port ------------------------------------------------------------------------------


def _adapter(url: str) -> SerialAdapter:
    try:
        here = list_adapters()
    except OSError as error:
        raise LinkError(
            f"the serial ports of this computer cannot be listed ({error}); see `hil doctor`", url
        ) from None
    return adapters.adapter_of(port_name(url), here)


def adapter_at(url: str) -> AdapterIdentity:
    """How the adapter behind a port is told from others; opens nothing."""
    return adapters.identity_of(port_name(url), _adapter(url))


def check_adapter(rig: Rig, url: str) -> AdapterIdentity:
    """Make sure that a port carries the adapter that the rig is bound to, if it is bound to one; gives which it is.

    Raises:
        InterlockError: it carries another, or none that can be told.
    """
    found = _adapter(url)
    adapters.check_adapter(rig, url, found)
    return adapters.identity_of(port_name(url), found)


def check_arm(rig: Rig, url: str) -> None:
    """Make sure that a real port leads to the arm that the rig was calibrated for.

    Raises:
        InterlockError: the rig is not calibrated, or not on an arm; or the port leads to another adapter, or to a
            place where nobody has yet seen that it is this arm.
    """
    found = check_adapter(rig, url)
    if is_calibrated_by_hand(rig):
        adapters.check_calibrated(rig, url, found)


# -- single channels -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChannelArm:
    """Single channels of an arm's controller, and the clock to wait by.

    Attributes:
        seen: where the joints and the gripper are, as a person would see them, in rad or m, in the order of the rig's
            axes; None where a person has to look.
    """

    link: ChannelLink
    clock: Clock
    seen: Callable[[], tuple[float, ...]] | None


def _channel_kind(rig: Rig) -> ChannelKind:
    kind = KINDS[rig.controller.kind].channels
    if kind is None:
        raise InterlockError(f"rig {rig.id}: a {rig.controller.kind} knows by itself where its arm stands")
    return kind


def is_calibrated_by_hand(rig: Rig) -> bool:
    """False for an arm that knows by itself where it stands."""
    return KINDS[rig.controller.kind].channels is not None


def channels_of(rig: Rig) -> tuple[ServoChannel, ...]:
    """Which channel drives which axis, as the rig has it.

    Raises:
        InterlockError: arms of this kind are not calibrated.
    """
    return _channel_kind(rig).describe(rig.controller)


def real_channels(
    rig: Rig,
    url: str,
    channels: Sequence[int],
    adapter: AdapterIdentity,
    expected: ControllerIdentity | None = None,
) -> ChannelArm:
    """Single channels of the board on a real port.

    Args:
        rig: whose board.
        url: its port.
        channels: those that may be moved.
        adapter: the one of which everything is said and written down; no other is opened.
        expected: who has to answer; None for anybody.
    """

    def check(rig: Rig, url: str) -> None:
        adapters.check_same_adapter(url, check_adapter(rig, url), adapter)

    settings = msgspec.structs.replace(rig.controller, port_url=url)  # type: ignore[type-var]
    link = _channel_kind(rig).build(settings, channels, _door(rig, url, Wiring.REAL, check))
    if isinstance(link, ExpectingLink):
        link.expect(expected, remedy(rig.id, url))
    return ChannelArm(link, RealClock(), None)


def fake_channels(
    rig: Rig, channels: Sequence[int], true_arm: Rig, start: Sequence[float], *, driven: bool = False
) -> ChannelArm:
    """Single channels of a fake board on virtual time.

    Args:
        rig: what the program believes.
        channels: those that may be moved.
        true_arm: the same rig with the calibration that the arm really has.
        start: where the arm is.
        driven: the board drives it there already; otherwise it is limp.
    """
    fake = KINDS[rig.controller.kind].memory_fake(true_arm, start, driven, None, 0.0, USUAL)
    clock = VirtualClock(VIRTUAL_START_S)
    settings = msgspec.structs.replace(rig.controller, port_url="memory")  # type: ignore[type-var]
    link = _channel_kind(rig).build(settings, channels, fake.open_port)
    return ChannelArm(link, clock, lambda: fake.servos(clock.now_s()))


def crooked_arm(rig: Rig, seed: str) -> Rig:
    """The rig of an arm that somebody has put together differently: for exercises on the fake."""
    settings = _channel_kind(rig).crooked(rig.controller, random.Random(seed))
    return msgspec.structs.replace(rig, controller=settings)


def replay_bridge(session: SessionRecord, open_port: Callable[[], BytePort]) -> Bridge:
    """The same bridge as a journal's, on a port that gives back what the journal's line gave.

    Raises:
        JournalError: the journal's rig cannot be read by this version.
    """
    try:
        rig = _rig_from_tree(session.rig, session.settings["controller_kind"])
    except (msgspec.ValidationError, KeyError, HilError) as error:
        raise JournalError(f"the journal's rig cannot be read by version {hil.__version__}: {error}") from None
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
    fake = KINDS[rig.controller.kind].memory_fake(rig, start, energised, faults, 0.0, chosen)
    bridge = _bridge(
        rig,
        "memory",
        fake.open_port,
        start,
        now_s=clock.now_s(),
        epoch_offset_s=epoch_offset_s,
        version=hil.__version__,
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
    fake = KINDS[rig.controller.kind].memory_fake(rig, start, False, faults, 0.0, chosen)
    link, tap, _ = _link(rig, "memory", fake.open_port)
    return VirtualLink(link, tap, VirtualClock(VIRTUAL_START_S), fake)


def served_fake(
    rig: Rig, start: Sequence[float], faults: FaultScript | None = None, chosen: FakeChoices = USUAL
) -> MemoryFake:
    """An emulated controller on the machine's clock, its arm limp at `start`; its `serve` lets it answer."""
    return KINDS[rig.controller.kind].memory_fake(rig, start, False, faults, monotonic_s(), chosen)


def fake_choices(rig: Rig, profile: str | Path | None, changes: Mapping[str, Any] | Sequence[str] = ()) -> FakeChoices:
    """What the fake of a rig's controller is to be.

    Args:
        rig: whose kind of controller.
        profile: name or path of a profile; None for what is usual.
        changes: choices by name, or as ``key=value``, laid over it.

    Raises:
        ConfigError: there is no such profile, or something in it or in the changes is wrong.
    """
    return choices_of(KINDS[rig.controller.kind].fake, profile, changes)


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
        software_version=hil.__version__,
        wiring=Wiring.FAKE if fake else Wiring.REAL,
        port=url,
        rig_id=rig.id,
        rig_digest=rig.digest,
        rig=msgspec.to_builtins(rig),
        settings={"controller_kind": rig.controller.kind, "supply": supply.value, **who},
        start_epoch_s=time.time(),
        start_monotonic_s=monotonic_s(),
    )


# -- fakes in a process of their own ---------------------------------------------------------------------


@dataclass(frozen=True)
class FakeProcess:
    """A running fake controller; it lives as long as this process holds its line to it."""

    url: str
    process: BaseProcess
    line: Any  # `Connection`, or what Windows has in its place

    def stop(self) -> None:
        """End it."""
        self.line.close()
        self.process.join(5.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def start_fake(rig: Rig, folder: Path, meanwhile: Callable[[], None] = lambda: None) -> FakeProcess:
    """Start the rig's kind of controller as an emulation in a process of its own, standing in the park pose.

    Args:
        rig: whose controller.
        folder: for what it has to leave somewhere.
        meanwhile: called again and again until it is there; may break the start off by raising.

    Raises:
        LinkError: it did not come up.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    main = KINDS[rig.controller.kind].fake_process
    process = spawn.Process(target=main, args=(rig, folder, theirs), name="hil-fake", daemon=True)
    start_unheard(process.start)
    theirs.close()
    fake = FakeProcess(url="", process=process, line=ours)
    try:
        answer = _first_word(ours, meanwhile)
    except BaseException:
        fake.stop()
        raise
    if isinstance(answer, str):
        return replace(fake, url=answer)
    fake.stop()
    if isinstance(answer, HilError):
        raise answer
    raise LinkError("the fake controller did not come up; run `hil fake` by hand to see why")


def _first_word(line: Any, meanwhile: Callable[[], None]) -> object:
    """What a process says first; None if it ends or is silent for too long."""
    deadline_s = monotonic_s() + FAKE_READY_S
    while monotonic_s() < deadline_s:
        meanwhile()
        if line.poll(FAKE_LOOK_S):
            try:
                return line.recv()
            except (EOFError, OSError):
                return None
    return None


def has_pseudo_terminals() -> bool:
    """True where a fake can look like a serial device; elsewhere (Windows, small containers) it serves on TCP."""
    if sys.platform == "win32":
        return False
    try:
        ends = os.openpty()
    except OSError:
        return False
    for end in ends:
        os.close(end)
    return True


def serve_fake_ssc32(
    ready: Callable[[str], None],
    *,
    rig: Rig | None,
    link: Path | None,
    tcp_port: int | None,
    faults: str | None,
    seed: int | None,
    profile: str | Path | None,
    firmware: str | None,
    baud: int | None,
    changes: Sequence[str],
    powered: bool,
    trace: Path | None,
) -> None:
    """Run a fake SSC-32 in this process until it is told to end.

    Args:
        ready: called once with the path or URL to open.
        rig: whose arm hangs behind the board, limp in its park pose; None for 32 generic servos.
        link: where to put a link to the pseudo-terminal; None for the system's naming.
        tcp_port: serve here on TCP instead.
        faults: name or path of what goes wrong.
        seed: its chance; None for the file's own.
        profile: what kind of board it is; None for a 2.x board.
        firmware: a value of `sim.ssc32.Firmware`; None for the profile's.
        baud: the board's speed; None for the profile's.
        changes: further choices, each ``key=value``.
        powered: False for a board without logic supply.
        trace: file for what moves.

    Raises:
        ConfigError: an option cannot be had, in words.
    """
    families = [family.value for family in Firmware]
    if firmware is not None and firmware not in families:
        raise ConfigError("hil fake ssc32", "--firmware", firmware, ", ".join(families))
    run_fake_ssc32(
        FakeOptions(
            link=None if link is None else str(link),
            tcp_port=0 if tcp_port is None and link is None and not has_pseudo_terminals() else tcp_port,
            board=_chosen(BoardSettings(), "ssc32", profile, {"firmware": firmware, "baud": baud}, changes),
            powered=powered,
            faults=None if faults is None else str(find("faults", faults)),
            seed=seed,
            servos=() if rig is None else tuple(_ssc32_servos(rig, rig.park)),
            trace=None if trace is None else str(trace),
        ),
        ready,
    )


def serve_fake_cr1(
    ready: Callable[[str], None],
    *,
    link: Path | None,
    tcp_port: int | None,
    faults: str | None,
    seed: int | None,
    programs: Sequence[Path],
    profile: str | Path | None,
    baud: int | None,
    framing: str | None,
    end_code: str | None,
    six_axes: bool,
    procedure: int | None,
    must_open: bool,
    error_digits: int | None,
    changes: Sequence[str],
    trace: Path | None,
) -> None:
    """Run a fake CR1 in this process until it is told to end.

    Args:
        ready: called once with the path or URL to open.
        link: where to put a link to the pseudo-terminal; None for the system's naming.
        tcp_port: serve here on TCP instead, where also LF or a pause ends a request.
        faults: name or path of what goes wrong.
        seed: its chance; None for the file's own.
        programs: files to keep in its memory, each under its name without what follows the point.
        profile: what kind of controller it is; None for what is usual. It also has all of the following that is None.
        baud: the line's speed.
        framing: data bits, parity and stop bits, such as 8E2.
        end_code: a value of `sim.cr1.EndCode`.
        six_axes: replies show J4 and C.
        procedure: the parameter CPRC232.
        must_open: refuse everything before OPEN=.
        error_digits: 9 or 4.
        changes: further choices, each ``key=value``.
        trace: file for what moves.

    Raises:
        ConfigError: an option cannot be had, in words.
    """
    who = "hil fake cr1"
    choices: dict[str, tuple[object, list[Any]]] = {
        "--framing": (framing, list(FRAMINGS)),
        "--end-code": (end_code, [code.value for code in EndCode]),
        "--procedure": (procedure, [kind.value for kind in Procedure]),
        "--error-digits": (error_digits, [9, 4]),
    }
    for option, (given, allowed) in choices.items():
        if given is not None and given not in allowed:
            raise ConfigError(who, option, given, ", ".join(map(str, allowed)))
    port = 0 if tcp_port is None and link is None and not has_pseudo_terminals() else tcp_port
    short = {
        "face": "six" if six_axes else None,
        "baud": baud,
        "framing": framing,
        "end_code": end_code,
        "any_end": True if port is not None else None,
        "procedure": None if procedure is None else Procedure(procedure).name.lower(),
        "must_open": True if must_open else None,
        "error_digits": error_digits,
    }
    settings = _chosen(Cr1Settings(), "cr1", profile, short, changes)
    if port is None and settings.end_code is EndCode.NONE:
        raise ConfigError(who, "--end-code", "none", "cr or crlf on a serial line", "Only --tcp goes without.")
    run_fake_cr1(
        Cr1Options(
            link=None if link is None else str(link),
            tcp_port=port,
            settings=settings,
            programs={path.stem.upper(): _program_text(path) for path in programs},
            faults=None if faults is None else str(find("faults", faults)),
            seed=seed,
            trace=None if trace is None else str(trace),
        ),
        ready,
    )


def _chosen(
    settings: S, controller: str, profile: str | Path | None, short: Mapping[str, Any], changes: Sequence[str]
) -> S:
    """Settings under a profile, the options that were given, and further changes; the later ones win."""
    given = {key: value for key, value in short.items() if value is not None}
    plain = choices_of(controller, profile, given).over(settings)
    return choices_of(controller, None, changes).over(plain)


def _program_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise ConfigError(str(path), "program", str(error), "a readable program") from None
