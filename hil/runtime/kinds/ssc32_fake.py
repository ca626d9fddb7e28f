"""The emulated SSC-32 with the rig's arm behind it: in memory, in a process of its own, or by `hil fake ssc32`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from drivers import ssc32
from hil.errors import ConfigError
from hil.model.files import find
from hil.model.rig import Rig
from hil.runtime.kinds.kind import FakeChoices, FakeKind, MemoryFake
from hil.runtime.kinds.served import Owner, has_pseudo_terminals, laid_over, own_line, serve_owner
from hil.space.gravity_load import axis_loads, sinking_joints
from sim.bench import BenchServo, ChannelLoads, ServoBench
from sim.fake_ssc32 import FakeOptions, run_fake_ssc32
from sim.faults import ANY_CONTROLLER, FaultScript
from sim.ports import MemoryPort
from sim.server import Ready, serve_pty, serve_tcp
from sim.ssc32 import BoardSettings, Firmware, Ssc32Board

JUMPER_RATES = (2400, 9600, 38400, 115200)
"""Baud rates that the jumpers of an SSC-32 can set; any other takes an SSC-32U."""


def _servos(rig: Rig, start: Sequence[float]) -> list[BenchServo]:
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
            model=axis.servo,
        )
        for index, (axis, wire, position) in enumerate(zip(rig.axes, settings.axes, start, strict=True))
    ]


def _loads(rig: Rig) -> ChannelLoads | None:
    """What the rig's servos have to hold, by channel."""
    loads = axis_loads(rig)
    if loads is None:
        return None
    settings = rig.controller
    assert isinstance(settings, ssc32.Ssc32Settings)
    channels = [wire.channel for wire in settings.axes]
    return lambda places: dict(zip(channels, loads([places[channel] for channel in channels]), strict=True))


def _board(settings: ssc32.Ssc32Settings) -> BoardSettings:
    """A board that can be set to the rig's rate: the older ones have jumpers for four rates only."""
    firmware = Firmware.V2 if settings.baud in JUMPER_RATES else Firmware.U
    return BoardSettings(firmware=firmware, baud=settings.baud)


def _in_memory(
    rig: Rig, start: Sequence[float], energised: bool, faults: FaultScript | None, start_s: float, chosen: FakeChoices
) -> MemoryFake:
    settings = rig.controller
    assert isinstance(settings, ssc32.Ssc32Settings)
    board = Ssc32Board(chosen.over(_board(settings)), start_s=start_s)
    servos = _servos(rig, start)
    bench = ServoBench(board, servos, start_s=start_s, loads=_loads(rig))
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


def _process(rig: Rig, folder: Path, owner: Connection, chosen: FakeChoices, loop_core: int | None) -> None:
    """Serve a fake board that stands in the park pose, until its owner ends it or is gone."""

    def run(ready: Ready, said: Owner) -> None:
        settings = rig.controller
        assert isinstance(settings, ssc32.Ssc32Settings)
        line = own_line(folder, "ssc32")
        options = FakeOptions(
            socket=line.socket,
            tcp_port=line.tcp_port,
            serial_pace=True,
            board=chosen.over(_board(settings)),
            servos=tuple(_servos(rig, rig.park)),
            loads=_loads(rig),
        )
        run_fake_ssc32(options, ready, owned=said.ended, orders=said.orders)

    serve_owner(owner, loop_core, run)


def serve(
    ready: Callable[[str], None],
    *,
    rig: Rig | None,
    link: Path | None,
    tcp_port: int | None,
    serial_pace: bool,
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
        serial_pace: over TCP too, at the pace of the serial line.
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
            serial_pace=serial_pace,
            board=laid_over(BoardSettings(), "ssc32", profile, {"firmware": firmware, "baud": baud}, changes),
            powered=powered,
            faults=None if faults is None else str(find("faults", faults)),
            seed=seed,
            servos=() if rig is None else tuple(_servos(rig, rig.park)),
            loads=None if rig is None else _loads(rig),
            trace=None if trace is None else str(trace),
        ),
        ready,
    )


FAKE = FakeKind(_in_memory, _process, ANY_CONTROLLER | Ssc32Board.FAULTS | ServoBench.FAULTS)
