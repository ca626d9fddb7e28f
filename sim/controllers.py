"""What an emulated controller, and the arm behind it, look like to the line, the ports and the servers."""

from __future__ import annotations

from typing import ClassVar, Protocol

from sim.faults import Event, FaultKind
from sim.uart import Framing


class Controller(Protocol):
    """A controller in software: bytes in with their times, bytes out with theirs; it reads no clock.

    Attributes:
        NAME: kind of controller, as in ``hil fake NAME``.
        FAULTS: kinds of fault that happen inside it; the line does all others.
    """

    NAME: ClassVar[str]
    FAULTS: ClassVar[frozenset[FaultKind]]

    @property
    def baud(self) -> int:
        """Speed of its line."""
        ...

    @property
    def framing(self) -> Framing:
        """How its line wraps a byte."""
        ...

    @property
    def byte_s(self) -> float:
        """Time of one byte at its own speed; 0 where its line is a network port, which has no pace."""
        ...

    def join_network(self) -> None:
        """Its line is a network port from now on: no pace, no framing, and each answer leaves in one piece."""
        ...

    def receive(self, data: bytes, start_s: float, byte_s: float, framing: Framing = ...) -> None:
        """Put bytes on its input.

        Args:
            data: what is sent, back to back.
            start_s: when the first byte begins; byte i is complete at start_s + (i + 1) * byte_s.
            byte_s: time of a byte of the sender.
            framing: the sender's. Where it or the speed differs, garbage is heard.
        """
        ...

    def advance(self, until_s: float) -> None:
        """Let everything happen that happens up to and including `until_s`; never goes back."""
        ...

    def transmit(self, until_s: float) -> list[tuple[float, bytes]]:
        """Advance, and hand over the reply bytes complete by `until_s`, each with the time of its end."""
        ...

    def next_due_s(self, *, frames: bool = False) -> float:
        """When something happens next by itself; infinity if nothing does.

        Args:
            frames: count a step of a motion as something.
        """
        ...

    def cut(self, at_s: float) -> None:
        """The cable is pulled: bytes not complete by `at_s` never arrive, in both directions."""
        ...

    def power_off(self, at_s: float) -> None:
        """Take its supply away."""
        ...

    def power_cycle(self, at_s: float) -> None:
        """Power comes back, or sagged for a moment."""
        ...

    def hang(self, at_s: float, hung: bool = True) -> None:
        """Its processor stops, or goes on."""
        ...

    def meet(self, event: Event) -> None:
        """A fault of its own kinds begins or ends."""
        ...


class Plant(Protocol):
    """The arm behind a controller that does not hold one itself.

    Attributes:
        FAULTS: kinds of fault that happen to it.
    """

    FAULTS: ClassVar[frozenset[FaultKind]]

    @property
    def channels(self) -> tuple[int, ...]:
        """Outputs of the controller that carry a servo."""
        ...

    def meet(self, event: Event) -> None:
        """A fault of its kinds begins or ends."""
        ...
