"""What has to be known about a kind of controller, as records; each kind fills them in a file of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hil.clock import Clock
from hil.link import (
    Answer,
    ArmLink,
    BytePort,
    ChannelLink,
    Condition,
    ControllerSettings,
    ProgramEnd,
    ProgramJob,
    ProgramWatcher,
    SavedFile,
    ServoChannel,
)
from hil.model.rig import Rig
from hil.types import ControllerIdentity
from sim.faults import FaultKind, FaultScript
from sim.profiles import Chosen

FakeChoices = Chosen
USUAL = FakeChoices()
"""A fake as it has always been."""


RunProgram = Callable[
    [Any, Callable[[], BytePort], Clock, ProgramJob, ProgramWatcher, Callable[[ControllerIdentity], None]], ProgramEnd
]


@dataclass(frozen=True)
class ByHand:
    """Whether poses are taught by leading the arm itself: it has to be free, and its controller to tell where it is.

    Attributes:
        measure: where the axes stand, rad or m, with nothing driven and nothing asked for; None if it cannot tell.
        how: how a person gets the arm free, in words, where there is a `measure`.
        why: why not, where there is none; goes on after the name of the controller.
    """

    measure: Callable[[Any, Callable[[], BytePort], Clock], tuple[float, ...]] | None = None
    how: str = ""
    why: str = ""


@dataclass(frozen=True)
class Kind:
    """What has to be known about one kind of controller.

    Attributes:
        settings_type: its settings record.
        table_type: the record of its ``[controller]`` table, for editors.
        settings_from_table: reads the ``[controller]`` table.
        build: makes the driver from settings and a way to open the port.
        ask: finds out who answers on a line that it opens at a baud rate, with questions only; None for a kind that
            exists in software only, so no real port leads to one.
        fake: name of the emulated controller, as in ``hil fake NAME``.
        emulated: loads what has to be known about it; a session without a fake never asks.
        channels: how an arm of this kind is calibrated; None for a kind that knows by itself where its arm stands.
        framing: data bits, parity and stop bits with which it is asked.
        look_over: what it says of itself to a person at the bench; None for a kind that can only say who it is.
        back_up: copies what people have stored in it; None for a kind that stores nothing.
        by_hand: what a pose that was led to by hand needs.
        run_program: runs a program on the controller itself, after telling who answers to somebody who may refuse it by
            raising; None for a kind that cannot.
    """

    settings_type: type[Any]
    table_type: type[Any]
    settings_from_table: Callable[[Mapping[str, Any], tuple[tuple[str, str], ...], str], ControllerSettings]
    build: Callable[[Any, Callable[[], BytePort]], ArmLink]
    ask: Callable[[Callable[[int], BytePort], str, Clock], Answer] | None
    fake: str
    emulated: Callable[[], FakeKind]
    channels: ChannelKind | None = None
    framing: str = "8N1"
    look_over: Callable[[Any, Callable[[], BytePort], Clock], tuple[Condition, ...]] | None = None
    back_up: Callable[[Any, Callable[[], BytePort], Clock], tuple[SavedFile, ...]] | None = None
    run_program: RunProgram | None = None
    by_hand: ByHand = ByHand(why="it cannot tell where its arm stands")


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
class FakeKind:
    """What has to be known about one kind of emulated controller.

    Attributes:
        in_memory: makes one on an in-memory line, given the rig, where its arm is, whether it is driven there, what
            goes wrong, when it begins, and its choices.
        process: main function of one in a process of its own, given the rig, a folder, a line to its owner, its
            choices, and the loop's core: it says on that line where it serves, and ends when the other end is closed.
        faults: what its owner can let happen to it.
    """

    in_memory: Callable[[Rig, Sequence[float], bool, FaultScript | None, float, FakeChoices], MemoryFake]
    process: Callable[[Rig, Path, Connection, FakeChoices, int | None], None]
    faults: frozenset[FaultKind]


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
        lead: a hand brings the arm to a pose; None where none could, or the controller would not tell.
    """

    open_port: Callable[[], BytePort]
    serve: Callable[[bool, Callable[[str], None], Callable[[bytes, float], None], Callable[[], bool]], None]
    first_jumps: Callable[[], tuple[float, ...]]
    setpoints: Callable[[float], tuple[float | None, ...]]
    servos: Callable[[float], tuple[float, ...]]
    lead: Callable[[Sequence[float]], None] | None = None
