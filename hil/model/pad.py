"""What the sticks and buttons of a game pad do at a rig."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from hil.findings import Findings
from hil.types import Record

STICKS = ("leftx", "lefty", "rightx", "righty", "lefttrigger", "righttrigger")
BUTTONS = (
    "a", "b", "x", "y", "leftshoulder", "rightshoulder", "leftstick", "rightstick",
    "dpup", "dpdown", "dpleft", "dpright",
)  # fmt: skip
"""Names of SDL's game controllers; y of a stick counts downwards."""

INPUTS = (*STICKS, *BUTTONS)
TOOL_WAYS = ("x", "y", "z", "pitch", "roll", "a", "b", "c")


class PadWay(Record, frozen=True):
    """What one input moves.

    Attributes:
        source: name of the stick or button.
        goal: name of an axis, or ``tool`` and one of `TOOL_WAYS`.
        sign: -1.0 for the other way round.
    """

    source: str
    goal: str
    sign: float


class PadSettings(Record, frozen=True):
    """One rig's.

    Attributes:
        dead_zone: part of a stick's way about its middle that does nothing, 0 to below 1.
        hold: button that has to be held while something shall move.
        ways: what the others move; none for `usual_ways`.
        frame: of directions of the tool: ``world`` or ``tool``.
    """

    dead_zone: float = 0.15
    hold: str = "rightshoulder"
    ways: tuple[PadWay, ...] = ()
    frame: str = "world"


class PadTable(Record, frozen=True):
    """The `[pad]` table of a rig's file."""

    dead_zone: Annotated[float, Meta(ge=0.02, le=0.9)] = 0.15
    hold: str = "rightshoulder"
    frame: str = "world"
    moves: dict[str, str] = msgspec.field(default_factory=dict)


def pad_of(table: PadTable | None, axes: Sequence[str], findings: Findings) -> PadSettings:
    """Check a table, where there is one."""
    if table is None:
        return PadSettings()
    if table.hold not in BUTTONS:
        findings.say("pad.hold", table.hold, f"a button: {', '.join(BUTTONS)}")
    if table.frame not in ("world", "tool"):
        findings.say("pad.frame", table.frame, "world or tool")
    return PadSettings(
        dead_zone=table.dead_zone,
        hold=table.hold,
        frame=table.frame,
        ways=_ways(table.moves, table.hold, axes, findings),
    )


def _ways(moves: Mapping[str, str], hold: str, axes: Sequence[str], findings: Findings) -> tuple[PadWay, ...]:
    found = []
    for source, words in moves.items():
        key = f"pad.moves.{source}"
        name, sign = (words[1:].strip(), -1.0) if words.startswith("-") else (words.strip(), 1.0)
        tool = name.split()
        if source not in INPUTS or source == hold:
            findings.say(key, source, f"a stick or button other than {hold}: {', '.join(INPUTS)}")
        elif name not in axes and not (len(tool) == 2 and tool[0] == "tool" and tool[1] in TOOL_WAYS):
            allowed = (
                f"an axis ({', '.join(axes)}) or tool and one of {', '.join(TOOL_WAYS)}; - before it turns it round"
            )
            findings.say(key, words, allowed)
        else:
            found.append(PadWay(source=source, goal=" ".join(tool), sign=sign))
    return tuple(found)


def usual_ways(axes: Sequence[str], hold: str) -> tuple[PadWay, ...]:
    """Two sticks, the cross and two pairs of buttons, for the axes in their order."""
    pairs = (
        (("leftx", -1.0),),
        (("lefty", -1.0),),
        (("righty", -1.0),),
        (("dpup", 1.0), ("dpdown", -1.0)),
        (("rightx", 1.0),),
        (("b", 1.0), ("a", -1.0)),
        (("y", 1.0), ("x", -1.0)),
    )
    return tuple(
        PadWay(source=source, goal=axis, sign=sign)
        for axis, sources in zip(axes, pairs, strict=False)
        for source, sign in sources
        if source != hold
    )
