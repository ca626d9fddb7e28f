"""Our own programs on the controller: what they say, and how they are put there, started and taken away.

Those that move the arm begin from where it is, so that starting one moves nothing. The one for EXEC is empty and never
started. All carry our mark in their first line: a program of that name without it is somebody else's and left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from drivers._rv2aj_codec import State, decode_state
from drivers._rv2aj_line import Ask
from drivers._rv2aj_settings import Way
from drivers._rv2aj_talk import Talk, attempt, need
from hil.errors import ControllerError

MARK = "HIL ARM BRIDGE"
RESERVED = {Way.SEGMENTS: "HILEXEC", Way.HOT: "HILHOT", Way.LINE: "HILLINE", Way.MXT: "HILMXT"}
PRINTED = "HIL"
TOKENS = 900
READINGS = 5
TOKEN_LINE = 1
"""Each start of the line program has a token of its own: a target that waited through a stop belongs to none."""

SELECTED, GONE = 4190, 4140
NOTHING = Ask("EXECJT=J_CURR", length=4, spaced=False)
"""A statement that moves nothing: whether EXEC is taken."""

_EXEC = (f"'{MARK} 1: EMPTY, SO THAT EXEC HAS A PROGRAM",)

_HOT = (
    f"'{MARK} 1: MOVES TO WHAT HOT SAYS",
    "JT=J_CURR",
    "*NXT",
    "MOV JT",
    "DLY 0.05",
    "GOTO *NXT",
)

_LINE = (
    f"'{MARK} 1: MOVES TO WHAT THE LINE SAYS",
    "M9={token}",
    'OPEN "COM1:" AS #1',
    "JT=J_CURR",
    "CNT 1",
    "*NXT",
    "INPUT #1,M0,M1,M2,M3,M5,M6,M7,M8",
    "IF M0<>M9 THEN *NXT",
    "IF ABS(M1+M2+M3+M5+M6+M7-M8)>0.005 THEN *NXT",
    "JT.J1=RAD(M1)",
    "JT.J2=RAD(M2)",
    "JT.J3=RAD(M3)",
    "JT.J5=RAD(M5)",
    "JT.J6=RAD(M6)",
    "JOVRD M7",
    f'PRINT #1,"{PRINTED}"',
    "MOV JT",
    "GOTO *NXT",
)


_MXT = (
    f"'{MARK} 1: MOVES BY PACKETS",
    'OPEN "ENET:{computer}" AS #1',
    "MXT 1,1,{filter_ms}",
    "CLOSE #1",
)

_TEXTS = {Way.SEGMENTS: _EXEC, Way.HOT: _HOT, Way.LINE: _LINE, Way.MXT: _MXT}


class Partner(NamedTuple):
    """Whose packets the program of MXT takes, and the time constant of the controller's filter."""

    computer: str = ""
    filter_ms: int = 0


NOBODY = Partner()


def program_lines(way: Way, token: int, partner: Partner = NOBODY) -> tuple[str, ...]:
    """The numbered lines of a way's program."""
    filled = [text.format(token=token, **partner._asdict()) for text in _TEXTS[way]]
    return tuple(f"{10 * number} {text}" for number, text in enumerate(filled, start=1))


def hot_target(constant: str) -> str:
    """The request that tells the running program where to go, a joint constant."""
    return f"HOT{RESERVED[Way.HOT]};JT={constant}"


def line_target(joints_deg: Sequence[float], percent: float, token: int) -> str:
    """The line that tells the running program where to go and how fast; its last number is the sum of the others.

    A number that lost or doubled a digit on the way does not add up, and the program waits for the next line.
    """
    numbers = [*joints_deg, percent]
    texts = ",".join(f"{number:.2f}" for number in joints_deg)
    return f"PRN {token},{texts},{percent:.1f},{sum(numbers):.2f}"


def check_printed(text: str) -> None:
    """Raises ControllerError unless this is what the line program prints."""
    if text.strip() != PRINTED:
        raise ControllerError(f"{text[:40]!r} is not what our program prints", text.encode("latin-1"))


def claim(way: Way, edit_slot: int) -> Talk[None]:
    """Make sure that no program of somebody else has our name, before anything is written under it.

    Raises:
        ControllerError: a program of that name is there and is not ours.
        LinkTimeout: an answer stays away.
    """
    name = RESERVED[way]
    first = yield from _first_line(name, edit_slot)
    if first and MARK not in first:
        raise ControllerError(
            f"the controller holds a program {name} that is not ours (it begins {first[:40]!r}); it is left "
            "alone: rename it at the controller, or use another way in the rig"
        )


def install(way: Way, token: int, edit_slot: int, partner: Partner = NOBODY) -> Talk[None]:
    """Put the program onto the controller, over one of ours that may be there already; only after `claim`.

    Raises:
        ControllerError: the controller refuses a line.
        LinkTimeout: an answer stays away.
    """
    name, lines = RESERVED[way], program_lines(way, token, partner)
    there = yield from need(Ask(f"FCHECK{name}", spaced=False))
    for command in (
        f"LOAD={name}",
        *(("ECLR",) if there.data.strip().upper() == "N" else ()),
        *[f"EDATA{line}" for line in lines],
        "SAVE",
    ):
        yield from need(_edit(command, edit_slot))


def clear_away(way: Way, edit_slot: int, selected: str) -> Talk[tuple[str, ...]]:
    """Delete programs of ours that a session left behind which was cut off; somebody else's are left alone.

    A slow controller takes a third of a second to say of one that it is not there. That of MXT is looked for only by
    its own way: it does nothing by itself.

    Args:
        way: the present one.
        edit_slot: where programs are looked into.
        selected: what is selected instead if one of ours is; empty for the next one there.

    Returns:
        The names of those that are gone.
    """
    gone = []
    for other, name in RESERVED.items():
        if other is Way.MXT and way is not Way.MXT:
            continue
        first = yield from _first_line(name, edit_slot)
        if MARK not in first:
            continue
        reply, _ = yield from attempt(Ask(f"FDEL{name}", spaced=False))
        if reply.error == SELECTED:
            yield from attempt(Ask(_other(name, selected), spaced=False))
            reply, _ = yield from attempt(Ask(f"FDEL{name}", spaced=False))
        if reply.accepted:
            gone.append(name)
    return tuple(gone)


def _first_line(name: str, edit_slot: int) -> Talk[str]:
    """Of a program, empty if there is none or nothing in it; nothing of it is changed."""
    there = yield from need(Ask(f"FCHECK{name}", spaced=False))
    if there.data.strip().upper() != "N":
        return ""
    yield from need(_edit(f"LOAD={name}", edit_slot))
    first = yield from need(_edit("LISTITOP", edit_slot))
    yield from need(_edit("NEW", edit_slot))
    return first.data


def _edit(command: str, edit_slot: int) -> Ask:
    return Ask(command, slot=edit_slot, spaced=False, length=140)


def _other(name: str, selected: str) -> str:
    return f"PRGLOAD={selected}" if selected and selected != name else "PRGUP"


def renew(way: Way, token: int, edit_slot: int) -> Talk[None]:
    """Give the program, which is there, the token of its next start."""
    if way is Way.LINE:
        name, line = RESERVED[way], program_lines(way, token)[TOKEN_LINE]
        for command in (f"LOAD={name}", f"EDATA{line}", "SAVE"):
            yield from need(Ask(command, slot=edit_slot, spaced=False))


def standing() -> Talk[State]:
    """How slot 1 stands, the name of its program said twice alike: what was selected is selected again in the end.

    Raises:
        ControllerError: no name was ever said twice in a row.
        LinkTimeout: an answer stays away.
    """
    ask = Ask("STATE", decode_state, 90)
    state = decode_state((yield from need(ask)).data)
    for _ in range(READINGS):
        if not state.program:
            return state
        before, state = state, decode_state((yield from need(ask)).data)
        if before.program == state.program:
            return state
    raise ControllerError(f"the controller calls its program now {before.program!r}, now {state.program!r}")


def removal(way: Way, selected_before: str) -> tuple[str, str]:
    """Requests that select another program in the place of ours, and delete it: a selected program stays.

    Args:
        way: whose program.
        selected_before: what was selected when we came; empty if nothing was.
    """
    name = RESERVED[way]
    return _other(name, selected_before), f"FDEL{name}"


def endings(way: Way) -> tuple[str, ...]:
    """Requests before those that end a program of ours that may run; the empty one never does."""
    return () if way is Way.SEGMENTS else ("STOP", "SLOTINIT")
