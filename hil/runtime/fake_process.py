"""Emulated controllers in processes of their own, as their owner has them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from hil.clock import monotonic_s
from hil.errors import ConfigError, HilError, LinkError
from hil.model.rig import Rig
from hil.runtime.kinds import kind_named, kind_of
from hil.runtime.kinds.kind import USUAL, FakeChoices
from hil.runtime.terminal_signals import start_unheard
from sim.faults import BYTE_KINDS, FaultKind

FAKE_READY_S = 600.0
"""A fake that lives and has not said where it serves, on however busy a computer."""
FAKE_LOOK_S = 0.05
NEED_MORE = frozenset(
    {FaultKind.STALL, FaultKind.BROWN_OUT, FaultKind.STALE_TEXT, FaultKind.WRONG_LINE, FaultKind.SERVO_ALARM}
)
"""Faults that are nothing without a channel, a number or a text."""


@dataclass(frozen=True)
class FakeProcess:
    """A running fake controller; it lives as long as this process holds its line to it."""

    url: str
    process: BaseProcess
    line: Any  # `Connection`, or what Windows has in its place
    kind: str

    def meet(self, fault: str, begins: bool = True) -> float:
        """Let something happen to it now, as a person at its table would, or be over.

        Args:
            fault: a kind of fault as in a fault file, such as ``unplug``; one that needs nothing further to be said.
            begins: False for the end of one that lasts.

        Returns:
            When that was said, by the clock of all processes.

        Raises:
            ConfigError: it cannot happen to this kind of controller, or not on command.
            LinkError: the fake is gone.
        """
        possible = {each.value for each in kind_named(self.kind).emulated().faults - BYTE_KINDS - NEED_MORE}
        if fault not in possible:
            raise ConfigError("the fake", "fault", fault, ", ".join(sorted(possible)))
        try:
            self.line.send((FaultKind(fault), begins))
        except OSError as error:
            raise LinkError(f"the fake controller has ended ({error})", self.url) from None
        return monotonic_s()

    def lent(self) -> FakeProcess:
        """The same for somebody who is not to end it."""
        return _LentFake(self.url, self.process, self.line, self.kind)

    def stop(self) -> None:
        """End it."""
        self.line.close()
        self.process.join(5.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class _LentFake(FakeProcess):
    """One that goes on when its borrower has done."""

    def stop(self) -> None:
        """Give it back."""


def start_fake(
    rig: Rig,
    folder: Path,
    meanwhile: Callable[[], None] = lambda: None,
    loop_core: int | None = None,
    chosen: FakeChoices = USUAL,
) -> FakeProcess:
    """Start the rig's kind of controller as an emulation in a process of its own, standing in the park pose.

    Args:
        rig: whose controller.
        folder: for what it has to leave somewhere.
        meanwhile: called again and again until it is there; may break the start off by raising.
        loop_core: that of the loop that will talk to it, which it leaves alone; None for the last one.
        chosen: what kind of controller it is, see `fake_choices`.

    Raises:
        LinkError: it did not come up.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    main = kind_of(rig).emulated().process
    arguments = (rig, folder, theirs, chosen, loop_core)
    process = spawn.Process(target=main, args=arguments, name="hil-fake", daemon=True)
    start_unheard(process.start)
    theirs.close()
    fake = FakeProcess(url="", process=process, line=ours, kind=rig.controller.kind)
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
