"""The CR1's command table: which word is which command, what it needs, and its arguments. The doing is elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sim.cr1.machine import Machine
from sim.cr1.requests import RefusedRequest, Request
from sim.cr1.settings import Cr1Settings, Series


@dataclass
class Session:
    """What the requests before have left to those that follow.

    Attributes:
        opened: OPEN has come, and no CLOSE since.
        file: name, ``r`` or ``w``, and bytes of the file that is open.
        listed: the variable that was shown last.
        log_at: the place in the error log that was shown last.
        reboot_asked_s: when RSTPWR came; None if it did not.
    """

    opened: bool = False
    file: tuple[str, str, bytearray] | None = None
    listed: str = ""
    log_at: int = -1
    reboot_asked_s: float | None = None


class Call(NamedTuple):
    """A command on its way.

    Attributes:
        machine: the controller.
        session: what the requests before have left.
        slot: as the request names it, 0 for all.
        argument: what is glued to the word.
    """

    machine: Machine
    session: Session
    slot: int
    argument: str


Do = Callable[[Call], str]
"""Does a command and gives what follows ``QoK``; raises `RefusedRequest`."""


class Command(NamedTuple):
    """One word of the table.

    Attributes:
        right: it needs the operation right.
        bare: it takes no argument.
        later: only controllers after the CRn-500 know it.
        waits: its answer comes when what it has begun is over.
    """

    word: str
    do: Do
    right: bool
    bare: bool
    later: bool
    waits: bool


TABLE: dict[str, Command] = {}


def command(
    *words: str, right: bool = False, bare: bool = False, later: bool = False, waits: bool = False
) -> Callable[[Do], Do]:
    """Put a function into the table under its words."""

    def register(do: Do) -> Do:
        TABLE.update({word: Command(word, do, right, bare, later, waits) for word in words})
        return do

    return register


def answer(machine: Machine, session: Session, request: Request) -> tuple[str, bool]:
    """Do a request; what follows ``QoK``, and whether that waits until what was begun is over.

    Raises:
        RefusedRequest: it cannot be done; 6010 where the word is none.
    """
    found, argument = _find(request.body, machine.settings.series)
    if machine.settings.must_open and not session.opened and found.word != "OPEN=":
        raise RefusedRequest(6010)
    if found.right and not machine.enabled:
        raise RefusedRequest(6020)
    return found.do(Call(machine, session, request.slot, argument)), found.waits and machine.direct is not None


def takes_client(settings: Cr1Settings, names: str) -> bool:
    """OPEN takes this client; what follows its name is not looked at."""
    return not settings.clients or names.split(";")[0] in settings.clients


def _find(body: str, series: Series) -> tuple[Command, str]:
    """The longest word that the request begins with, and that can take what follows it."""
    for length in range(min(len(body), _LONGEST), 0, -1):
        found = TABLE.get(body[:length])
        if found is not None and not (found.later and series is Series.CRN_500):
            argument = body[length:]
            if not (found.bare and argument.strip()):
                return found, argument
    raise RefusedRequest(6010)


_LONGEST = 12


def whole(text: str, least: int, most: int, *, base: int = 10) -> int:
    """A number of an argument.

    Raises:
        RefusedRequest: L3110, it is none or outside the range.
    """
    try:
        value = int(text.strip(), base)
    except ValueError:
        raise RefusedRequest(3110) from None
    if not least <= value <= most or "_" in text:
        raise RefusedRequest(3110)
    return value


def split(text: str, least: int, most: int) -> list[str]:
    """Arguments between semicolons.

    Raises:
        RefusedRequest: L3120, another number of them.
    """
    parts = text.split(";")
    if not least <= len(parts) <= most:
        raise RefusedRequest(3120)
    return parts
