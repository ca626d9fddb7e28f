"""The program of ours that a session needs on the controller: when it is put there, that it is ours, how it goes."""

from __future__ import annotations

from typing import Final

from drivers._rv2aj_alarms import explain
from drivers._rv2aj_codec import decode_alarm, decode_state
from drivers._rv2aj_line import Ask
from drivers._rv2aj_programs import (
    GONE,
    NOBODY,
    NOTHING,
    RESERVED,
    SELECTED,
    TOKENS,
    Partner,
    claim,
    clear_away,
    endings,
    install,
    removal,
    renew,
)
from drivers._rv2aj_settings import PLAIN_REPLY, Way
from drivers._rv2aj_talk import RequestRefusedError, Talk, attempt, need

TRIES = 2
OTHER_CAUSES = frozenset({2000, 5000, 5600, 5610, 5640, 5650, 6010, 6020})
"""Refusals of EXEC that a selected program would not mend: servos, teach box, alarm, stops, the right."""

_STATE: Final = Ask("STATE", decode_state, 90)
_ALARM: Final = Ask("ERROR", decode_alarm, 12)


class OurProgram:
    """That of one way of moving.

    Args:
        way: whose.
        partner: what stands in the program of MXT.

    Attributes:
        token: of the newest start; it goes on counting from connection to connection.
        owned: something of ours is on the controller, or may be: it has to be taken away.
    """

    def __init__(self, way: Way, partner: Partner = NOBODY) -> None:
        self._way, self._partner = way, partner
        self.token = 0
        self.forget()

    def forget(self) -> None:
        """What is on a controller counts for one connection only."""
        self.owned = self._installed = self._cleared = self._deselecting = False
        self._before, self._edit_slot = "", 0

    def meet(self, selected: str, tasks: int) -> str:
        """Take what was selected when we came, and how many slots run programs; the name if that is one of ours."""
        ours = selected in RESERVED.values()
        self._before, self._edit_slot = "" if ours else selected, tasks + 1
        return selected if ours else ""

    def clear_away(self) -> Talk[str]:
        """Delete what a session left that was cut off, once a connection; in words what that was."""
        if self._cleared or self.owned:
            return ""
        gone = yield from clear_away(self._way, self._edit_slot, self._before)
        self._cleared = True
        if not gone:
            return ""
        what = "program" if len(gone) == 1 else "programs"
        return f"our {what} {', '.join(gone)}, left behind by a session that was cut off, deleted"

    def make_executable(self) -> Talk[str]:
        """Controllers there are that refuse EXEC while no program is selected: an empty one of ours is, for as long.

        What EXEC is refused with then is not known, so it is tried whatever that is, as long as nothing is selected.

        Returns:
            In words what was done; empty if nothing.

        Raises:
            RequestRefusedError: EXEC is refused for another reason.
        """
        reply, _ = yield from attempt(NOTHING)
        if reply.accepted:
            return ""
        if reply.error in OTHER_CAUSES or decode_state((yield from need(_STATE)).data).program:
            raise RequestRefusedError(NOTHING.command, reply)
        standing = decode_alarm((yield from need(_ALARM)).data)
        if standing is not None and standing[0] == reply.error:
            yield from need(Ask("RSTALRM"))
        yield from self.put()
        name = RESERVED[self._way]
        yield from need(Ask(f"PRGLOAD={name}"))
        yield from need(NOTHING)
        why = explain(reply.error).words
        return f"EXEC was refused ({why}): an empty program {name} of ours is selected until the end"

    def put(self) -> Talk[None]:
        """Put it there with a token of its next start. From its first line on it is ours to be taken away."""
        self.token = self.token % TOKENS + 1
        if self._installed:
            yield from renew(self._way, self.token, self._edit_slot)
            return
        yield from claim(self._way, self._edit_slot)
        self.owned = True
        yield from install(self._way, self.token, self._edit_slot, self._partner)
        self._installed = True

    def take_away(self) -> Talk[str]:
        """Delete what is there of ours and runs no more; in words what that is refused with, empty if it is not."""
        if not self.owned:
            return ""
        other, delete = (Ask(command, length=PLAIN_REPLY) for command in removal(self._way, self._before))
        self._deselecting = True
        for _ in range(TRIES):
            yield from attempt(other)
            reply, _ = yield from attempt(delete)
            # The next program, asked for twice because an answer was lost, may be ours again.
            if reply.error != SELECTED:
                break
        self.forget()
        if reply.accepted or reply.error == GONE:
            return ""
        return f"at the end the controller refuses {delete.command}: {explain(reply.error).words}"

    @property
    def removal(self) -> tuple[str, ...]:
        """Requests that take away what is there of ours, for who cannot wait for their answers."""
        if not self.owned:
            return ()
        other, delete = removal(self._way, self._before)
        # Where another has perhaps been selected already, the next one may be ours again.
        return (*endings(self._way), *((delete,) if self._deselecting else ()), other, delete)
