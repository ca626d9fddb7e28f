"""Which CR1 is at the other end, as far as it tells: the same at every connection of a session, or none at all.

What it calls itself, and the parameters that decide what its numbers mean: the range of its joints, and the tool and
base that were set for this arm. (The language of its statements has to be the same everywhere; `greet` asks for it.)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drivers._rv2aj_codec import Identity, decode_identity
from drivers._rv2aj_hello import HELLO
from drivers._rv2aj_line import Ask, Check
from drivers._rv2aj_talk import Talk, attempt, need
from hil.errors import ControllerError

PARAMETERS: Mapping[str, str] = MappingProxyType({"MEJAR": "joint range", "MEXTL": "tool", "MEXBS": "base"})
LONGEST_VALUE = 160

Told = dict[str, str]
"""What a controller told of itself: by what it is called in a message, its text."""


class SameController:
    """Remembers the controller of a session's first connection and lets no other in.

    Args:
        name: of the port, for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._first: Told | None = None

    def check(self, found: Identity) -> Talk[None]:
        """Ask for what tells controllers apart, and compare it with the first connection's.

        Moves nothing and changes nothing. One garbled digit looks like another controller: what differs is asked again.

        Raises:
            ControllerError: it is another one, or it is set up otherwise.
        """
        told = {**_called(found), **(yield from _parameters())}
        if self._first is None:
            self._first = told
            return
        if not self._differing(told):
            return
        called = _called(decode_identity((yield from need(HELLO)).data))
        again = {**called, **(yield from _parameters())}
        differing = [what for what in self._differing(again) if again[what] == told.get(what)]
        if differing:
            raise ControllerError(
                f"{self._name}: another controller answers than at the first connection of this session, or it was set "
                f"up anew: {'; '.join(self._words(what, again[what]) for what in differing)}. Connect the first one "
                "again, or end this session and begin a new one"
            )

    def _differing(self, told: Told) -> list[str]:
        """What both told, and not alike."""
        assert self._first is not None
        return [what for what, text in told.items() if self._first.get(what, text) != text]

    def _words(self, what: str, now: str) -> str:
        assert self._first is not None
        return f"{what} is {now}, was {self._first[what]}"


def _called(found: Identity) -> Told:
    return {
        "robot": found.robot,
        "controller": found.controller,
        "version": found.version,
        "version's date": found.date,
        "language of its texts": found.texts,
        "extension of program files": found.extension,
        "number of tasks": str(found.tasks),
        "joint axes": f"{found.joint_axes:02X}",
    }


def _parameters() -> Talk[Told]:
    """Their values; one that the controller does not show is left out."""
    told: Told = {}
    for name, what in PARAMETERS.items():
        reply, _ = yield from attempt(Ask(f"PAR{name}", _value_of(name), LONGEST_VALUE))
        if reply.accepted:
            told[f"{what} ({name})"] = ", ".join(part.strip() for part in reply.data.split(";")[1].split(","))
    return told


def _value_of(name: str) -> Check:
    """What raises ControllerError on an answer that is not this parameter's."""

    def check(data: str) -> None:
        if not data.startswith(f"{name};"):
            raise ControllerError(f"{data[:60]!r} is no value of {name}", data.encode("latin-1"))

    return check
