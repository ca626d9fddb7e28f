"""What is at a port: which adapter, which controller, whose arm; and controllers that are asked without a session."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from drivers._ports import list_adapters, open_serial, port_name
from drivers._udp import open_datagrams
from hil.clock import Clock, RealClock, VirtualClock
from hil.errors import CommandError, ControllerError, HilError, InterlockError, LinkError, LinkTimeout
from hil.joined import JoinedPort, split_url
from hil.link import (
    Answer,
    BytePort,
    Condition,
    NetworkedSettings,
    ProgramEnd,
    ProgramJob,
    ProgramWatcher,
    SavedFile,
    SerialAdapter,
)
from hil.model.rig import AdapterIdentity, Rig
from hil.motion.refusals import say, say_range
from hil.runtime import adapters
from hil.runtime.controller_memory import ControllerMemory
from hil.runtime.journal import Wiring
from hil.runtime.kinds import NAMES, kind_named, kind_of
from hil.runtime.kinds.kind import USUAL, FakeChoices, MemoryFake
from hil.runtime.open_ports import refuse_shared
from hil.types import ControllerIdentity

VIRTUAL_START_S = 0.1
"""First reading of a virtual clock: the board has started up by then."""


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
    for kind in map(kind_named, NAMES):
        if kind.ask is None:
            continue
        try:
            answer = kind.ask(partial(open_serial, url, framing=kind.framing), url, clock)
        except (LinkTimeout, ControllerError) as error:
            problems.append(error)
        else:
            return msgspec.structs.replace(answer, baud=None) if url.startswith(("socket://", "unix://")) else answer
    raise problems[0]


def look_over(rig: Rig, url: str | None) -> tuple[Condition, ...]:
    """How a controller stands, in words; moves nothing.

    Args:
        rig: whose controller.
        url: its real port; None for a fake in memory, its arm in the park pose.

    Raises:
        LinkTimeout, ControllerError, LinkError: nobody answers, somebody else does, or the line failed.
    """
    kind = kind_of(rig)
    settings, open_port, clock = _by_itself(rig, url)
    if kind.look_over is not None:
        return kind.look_over(settings, open_port, clock)
    if kind.ask is None:
        return (Condition(name="controller", text="simulated: it has nothing that could be in the way"),)
    return (Condition(name="controller", text=kind.ask(lambda baud: open_port(), settings.port_url, clock).identity),)


def who_answers(rig: Rig, url: str) -> ControllerIdentity:
    """What the controller at a rig's real port says of itself, of a kind that can be asked in a few words.

    Raises:
        InterlockError: the port carries another adapter.
        LinkTimeout, ControllerError, LinkError: nobody answers, somebody else does, or the line failed.
    """
    ask = kind_of(rig).ask
    if ask is None:
        raise _no_hardware(rig)
    settings, open_port, clock = _by_itself(rig, url)
    return ControllerIdentity.named(ask(lambda baud: open_port(), settings.port_url, clock).identity)


def back_up(rig: Rig, url: str | None) -> tuple[SavedFile, ...]:
    """What people have stored in a controller; changes nothing there. Otherwise as `look_over`.

    Raises:
        InterlockError: controllers of this kind store nothing.
    """
    save = kind_of(rig).back_up
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
    run = kind_of(rig).run_program
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


class HandLedArm:
    """An arm that a person leads by hand while its controller tells where it is; nothing here drives it.

    Args:
        rig: whose arm.
        url: its controller's real port; None for a fake in memory, its arm in the park pose.

    Raises:
        InterlockError: controllers of this kind cannot tell, in words; or the port may not be opened.

    Attributes:
        how: how a person gets the arm free, in words.
    """

    def __init__(self, rig: Rig, url: str | None) -> None:
        by_hand = kind_of(rig).by_hand
        if by_hand.measure is None:
            raise InterlockError(
                f"rig {rig.id}: no pose can be taught by hand with its {rig.controller.kind} controller: {by_hand.why}"
                f". Lead the arm by `hil jog {rig.id}` and press t at each pose",
                ["a controller that measures, as that of rv2aj"],
            )
        self.how, self._rig, self._measure = by_hand.how, rig, by_hand.measure
        self._fake = (
            None if url is not None else kind_of(rig).emulated().in_memory(rig, rig.park, False, None, 0.0, USUAL)
        )
        self._settings, self._open_port, self._clock = _by_itself(rig, url, fake=self._fake)

    def measured(self) -> tuple[float, ...]:
        """Where the arm stands, rad or m per axis; may take some seconds.

        Raises:
            ControllerError: it is still moving, or another controller answers.
            LinkTimeout, LinkError: nobody answers, or the line failed.
        """
        return self._measure(self._settings, self._open_port, self._clock)

    def lead(self, axis: int, by: float) -> None:
        """Be the hand at a fake: turn one axis, rad or m.

        Raises:
            InterlockError: a real arm is led by a person.
            CommandError: it does not go there.
        """
        if self._fake is None or self._fake.lead is None:
            raise InterlockError("a real arm is led by your hand, and by nothing from here")
        pose = list(self.measured())
        pose[axis] += by
        led = self._rig.axes[axis]
        if not led.lower <= pose[axis] <= led.upper:
            raise CommandError(
                f"{led.name}: led to {say(led, pose[axis])}; allowed: {say_range(led)}", axis=led.name, value=pose[axis]
            )
        self._fake.lead(pose)


def _by_itself(
    rig: Rig,
    url: str | None,
    wiring: Wiring = Wiring.REAL,
    check: adapters.Check | None = None,
    chosen: FakeChoices = USUAL,
    fake: MemoryFake | None = None,
) -> tuple[Any, Callable[[], BytePort], Clock]:
    """Settings, port and clock to talk to a controller without a session."""
    settings = msgspec.structs.replace(rig.controller, port_url=url or "memory")  # type: ignore[type-var]
    if url is not None:
        return settings, door(rig, url, wiring, check or check_adapter), RealClock()
    fake = fake or kind_of(rig).emulated().in_memory(rig, rig.park, False, None, 0.0, chosen)
    return settings, fake.open_port, VirtualClock(VIRTUAL_START_S)


def door(rig: Rig, url: str, wiring: Wiring, check: adapters.Check) -> Callable[[], BytePort]:
    """The one way to open a line for a rig; `check` looks at a real port each time."""
    settings, (line, packets) = rig.controller, split_url(url)
    if not packets and isinstance(settings, NetworkedSettings):
        packets = settings.datagram_url

    def open_line() -> BytePort:
        port = open_serial(line, settings.baud, settings.framing)
        return JoinedPort(port, open_datagrams(packets)) if packets else port

    def open_alone() -> BytePort:
        return refuse_shared(open_line(), url)

    return open_line if wiring is Wiring.FAKE else adapters.looked_at(open_alone, lambda: check(rig, url))


def _here(url: str) -> tuple[SerialAdapter, ...]:
    """All adapters of this computer; `url` is for messages."""
    try:
        return list_adapters()
    except OSError as error:
        raise LinkError(
            f"the serial ports of this computer cannot be listed ({error}); see `hil doctor`", url
        ) from None


def check_adapter(rig: Rig, url: str) -> AdapterIdentity:
    """Make sure that a port carries the adapter that the rig is bound to, if it is bound to one; gives which it is.

    Raises:
        InterlockError: it carries another, or none that can be told; or no port may lead to a controller of this kind.
    """
    require_hardware(rig)
    here = _here(url)
    found = adapters.adapter_of(port_name(url), here)
    adapters.check_adapter(rig, url, found, here)
    return adapters.identity_of(port_name(url), found)


def require_something_to(do: str, rig: Rig) -> None:
    """Make sure that a rig has a controller with which that can be done.

    Raises:
        InterlockError: its controller exists in software only.
    """
    if kind_of(rig).ask is None:
        raise InterlockError(
            f"rig {rig.id} has a simulated controller: there is nothing to {do}. It jogs, runs and serves as it is",
            ["a real controller, or the fake of one"],
        )


def require_hardware(rig: Rig) -> None:
    """Make sure that a real port can lead to controllers of a rig's kind.

    Raises:
        InterlockError: there is none, the kind exists in software only.
    """
    if kind_of(rig).ask is None:
        raise _no_hardware(rig)


def _no_hardware(rig: Rig) -> InterlockError:
    return InterlockError(
        f"rig {rig.id} has a simulated controller, so no real port leads to its arm. Leave out --hardware and --port; "
        f"for an arm on your table make a rig with its controller: `hil new rig NAME --robot {rig.robot.id} "
        "--controller ssc32`",
        ["a real controller"],
    )


def is_calibrated_by_hand(rig: Rig) -> bool:
    """False for an arm that knows by itself where it stands."""
    return kind_of(rig).channels is not None


def check_arm(rig: Rig, url: str) -> None:
    """Make sure that a real port leads to the arm that the rig was calibrated for.

    Raises:
        InterlockError: the rig is not calibrated, or not on an arm; or the port leads to another adapter, or to a
            place where nobody has yet seen that it is this arm.
    """
    found = check_adapter(rig, url)
    if is_calibrated_by_hand(rig):
        adapters.check_calibrated(rig, url, found)
