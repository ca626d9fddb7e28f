"""The CR1's command table: which word is which command, what it needs, and its arguments. The doing is elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from sim._cr1_line import RefusedRequest, Request
from sim._cr1_state import Holder

if TYPE_CHECKING:
    from sim.cr1 import Cr1


class Call(NamedTuple):
    """A command on its way.

    Attributes:
        cr1: the controller.
        slot: as the request names it, 0 for all.
        argument: what is glued to the word.
    """

    cr1: Cr1
    slot: int
    argument: str


Do = Callable[[Call], str]
"""Does a command and gives what follows ``QoK``; raises `RefusedRequest`."""


class Command(NamedTuple):
    """One word of the table.

    Attributes:
        right: it needs the operation right.
        bare: it takes no argument.
    """

    word: str
    do: Do
    right: bool
    bare: bool


TABLE: dict[str, Command] = {}


def command(*words: str, right: bool = False, bare: bool = False) -> Callable[[Do], Do]:
    """Put a function into the table under its words."""

    def register(do: Do) -> Do:
        TABLE.update({word: Command(word, do, right, bare) for word in words})
        return do

    return register


def answer(cr1: Cr1, request: Request) -> str:
    """Do a request.

    Raises:
        RefusedRequest: it cannot be done; 6010 where the word is none.
    """
    found, argument = _find(request.body)
    if cr1.settings.must_open and not cr1.opened and found.word != "OPEN=":
        raise RefusedRequest(6010)
    if found.right and cr1.panel.holder is not Holder.PC:
        raise RefusedRequest(6020)
    return found.do(Call(cr1, request.slot, argument))


def _find(body: str) -> tuple[Command, str]:
    """The longest word that the request begins with, and that can take what follows it."""
    for length in range(min(len(body), _LONGEST), 0, -1):
        found = TABLE.get(body[:length])
        if found is not None:
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
