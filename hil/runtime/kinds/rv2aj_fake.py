"""The emulated CR1 with its RV-2AJ: in memory, in a process of its own, or by `hil fake cr1`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from drivers import rv2aj
from hil.errors import ConfigError
from hil.joined import JoinedPort, joined_url
from hil.link import BytePort
from hil.model.files import find
from hil.model.rig import Axis, Rig
from hil.runtime.kinds.kind import FakeChoices, FakeKind, MemoryFake
from hil.runtime.kinds.served import Owner, has_pseudo_terminals, laid_over, own_line, serve_owner
from hil.units import DEG
from sim.cr1 import Cr1, Cr1Settings, EndCode, Procedure, rehearse
from sim.cr1.arm import ArmModel, JointDrive
from sim.datagrams import MemoryDatagrams, UdpEnd
from sim.fake_cr1 import Cr1Options, run_fake_cr1
from sim.faults import ANY_CONTROLLER, FaultScript
from sim.ports import MemoryPort
from sim.server import Ready, serve_pty, serve_tcp
from sim.uart import FRAMINGS

SOMEBODYS = {"1": "10 END"}
"""A program that was there before us, as on nearly every controller, and is to be there after us."""


def usual(settings: rv2aj.Rv2ajSettings, axes: Sequence[Axis] = ()) -> Cr1Settings:
    """A controller whose line is set as the rig says; its arm follows by the rig's servos where those have a model."""
    arm = ArmModel()
    if any(axis.servo is not None for axis in axes):
        drives = tuple([JointDrive(axis.servo_lag_s, axis.servo_speed, axis.servo) for axis in axes])
        arm = msgspec.structs.replace(arm, drives=drives)
    return Cr1Settings(baud=settings.baud, framing=FRAMINGS[settings.framing], ethernet=settings.networked, arm=arm)


def _in_memory(
    rig: Rig, start: Sequence[float], energised: bool, faults: FaultScript | None, start_s: float, chosen: FakeChoices
) -> MemoryFake:
    """An arm with brakes and encoders: it stands where it stands, whether its servos are on or not."""
    settings = rig.controller
    assert isinstance(settings, rv2aj.Rv2ajSettings)
    rehearse()
    cr1 = Cr1(
        chosen.over(usual(settings, rig.axes)), start_s=start_s, joints_deg=settings.degrees(start), programs=SOMEBODYS
    )

    def serve(
        tcp: bool, ready: Callable[[str], None], heard: Callable[[bytes, float], None], stop: Callable[[], bool]
    ) -> None:
        card = UdpEnd(cr1, cr1.machine.ethernet) if settings.networked else None

        def told(url: str) -> None:
            ready(url if card is None else joined_url(url, card.url))

        beside = (lambda now_s: None) if card is None else card.exchange
        try:
            if tcp:
                serve_tcp(cr1, 0, told, faults=faults, heard=heard, stop=stop, beside=beside)
            else:
                serve_pty(cr1, None, told, faults=faults, heard=heard, stop=stop, beside=beside)
        finally:
            if card is not None:
                card.close()

    def joints(now_s: float) -> tuple[float, ...]:
        cr1.advance(now_s)
        return tuple(angle * DEG for angle in cr1.joints)

    def open_port() -> BytePort:
        port = MemoryPort(cr1, settings.baud, faults, framing=FRAMINGS[settings.framing])
        return JoinedPort(port, MemoryDatagrams(cr1, cr1.machine.ethernet)) if settings.networked else port

    return MemoryFake(
        open_port=open_port,
        serve=serve,
        first_jumps=lambda: (0.0,) * len(rig.axes),
        setpoints=joints,
        servos=joints,
        lead=lambda positions: cr1.lead(settings.degrees(positions)),
    )


def _process(rig: Rig, folder: Path, owner: Connection, chosen: FakeChoices, loop_core: int | None) -> None:
    """Serve a fake CR1 whose arm stands in the park pose, until its owner ends it or is gone."""

    def run(ready: Ready, said: Owner) -> None:
        settings = rig.controller
        assert isinstance(settings, rv2aj.Rv2ajSettings)
        line = own_line(folder, "cr1")
        options = Cr1Options(
            socket=line.socket,
            tcp_port=line.tcp_port,
            serial_pace=True,
            settings=chosen.over(usual(settings, rig.axes)),
            programs=SOMEBODYS,
            joints_deg=settings.degrees(rig.park),
        )
        run_fake_cr1(options, ready, owned=said.ended, orders=said.orders)

    serve_owner(owner, loop_core, run)


def serve(
    ready: Callable[[str], None],
    *,
    link: Path | None,
    tcp_port: int | None,
    serial_pace: bool,
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
    start: str | None = None,
) -> None:
    """Run a fake CR1 in this process until it is told to end.

    Args:
        ready: called once with the path or URL to open.
        link: where to put a link to the pseudo-terminal; None for the system's naming.
        tcp_port: serve here on TCP instead, where also LF or a pause ends a request.
        serial_pace: over TCP too, at the pace of the serial line.
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
        start: the program that somebody starts at the panel before clients come; None for none.

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
    settings = laid_over(Cr1Settings(), "cr1", profile, short, changes)
    if port is None and settings.end_code is EndCode.NONE:
        raise ConfigError(who, "--end-code", "none", "cr or crlf on a serial line", "Only --tcp goes without.")
    run_fake_cr1(
        Cr1Options(
            link=None if link is None else str(link),
            tcp_port=port,
            serial_pace=serial_pace,
            settings=settings,
            programs={path.stem.upper(): _program_text(path) for path in programs},
            faults=None if faults is None else str(find("faults", faults)),
            seed=seed,
            trace=None if trace is None else str(trace),
            start=start,
        ),
        ready,
    )


def _program_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise ConfigError(str(path), "program", str(error), "a readable program") from None


FAKE = FakeKind(_in_memory, _process, ANY_CONTROLLER | Cr1.FAULTS)
