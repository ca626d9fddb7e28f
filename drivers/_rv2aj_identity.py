"""Which CR1 is at the other end, as far as it tells: the same at every connection of a session, or none at all.

What it calls itself, and the parameters that decide what its numbers mean: the range of its joints, and the tool and
base that were set for this arm. (The language of its statements has to be the same everywhere; `greet` asks for it.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from drivers._rv2aj_codec import Identity, decode_identity
from drivers._rv2aj_hello import hello
from drivers._rv2aj_line import Ask, Check
from drivers._rv2aj_talk import Talk, attempt, need
from hil.errors import ControllerError
from hil.types import ControllerIdentity

PARAMETERS: Mapping[str, str] = MappingProxyType({"MEJAR": "joint range", "MEXTL": "tool", "MEXBS": "base"})
LONGEST_VALUE = 160
READINGS = 4
"""So often at most it is asked until everything was said twice alike, or as it is expected."""

Facts = dict[str, str]
"""What a controller says of itself: by what it is about, in words for a person."""


def identify(found: Identity, expected: ControllerIdentity | None, client: str) -> Talk[ControllerIdentity]:
    """Ask for what tells controllers apart; moves nothing and changes nothing.

    One garbled digit looks like another controller: only what was said twice alike counts, or what is as it was. What
    cannot be read is absent.

    Args:
        found: its answer to OPEN.
        expected: what is known of it from before.
        client: the name under which the session is open.
    """
    facts = yield from _ask(found, {} if expected is None else dict(expected.facts), client)
    return ControllerIdentity(facts=tuple(facts.items()))


def _ask(found: Identity, expected: Facts, client: str) -> Talk[Facts]:
    """Everything that was said twice alike, or as expected."""
    facts: Facts = {}
    said: Counter[tuple[str, str]] = Counter()
    called, names = _called(found), list(PARAMETERS)
    for _ in range(READINGS):
        values = yield from _parameters(names)
        said.update({**called, **values}.items())
        facts.update(fact for fact, times in said.items() if times > 1 or expected.get(fact[0]) == fact[1])
        # One that is refused is not there, and is not asked for again.
        names = [name for name in names if _title(name) in values and _title(name) not in facts]
        if called.keys() <= facts.keys():
            called = {}
            if not names:
                break
        else:
            called = _called(decode_identity((yield from need(hello(client))).data))
    return facts


def _called(found: Identity) -> Facts:
    return {
        ControllerIdentity.NAME: found.text,
        "date of the version": found.date,
        "language of its texts": found.texts,
        "extension of program files": found.extension,
        "number of tasks": str(found.tasks),
        "joint axes": f"{found.joint_axes:02X}",
    }


def _parameters(names: Sequence[str]) -> Talk[Facts]:
    """Their values; one that the controller does not show is left out."""
    facts: Facts = {}
    for name in names:
        reply, _ = yield from attempt(Ask(f"PAR{name}", _value_of(name), LONGEST_VALUE))
        if reply.accepted:
            facts[_title(name)] = ", ".join(part.strip() for part in reply.data.split(";")[1].split(","))
    return facts


def _title(name: str) -> str:
    return f"{PARAMETERS[name]} ({name})"


def _value_of(name: str) -> Check:
    """What raises ControllerError on an answer that is not this parameter's."""

    def check(data: str) -> None:
        if not data.startswith(f"{name};"):
            raise ControllerError(f"{data[:60]!r} is no value of {name}", data.encode("latin-1"))

    return check
