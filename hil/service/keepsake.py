"""What a lease leaves behind for the next server: who has the arm, under which epoch, and for how long it waits."""

from __future__ import annotations

from typing import Annotated, Self

import msgspec
from msgspec import Meta

from hil.service.rights import Role
from hil.types import Record

_Seconds = Annotated[float, Meta(ge=0.0, le=1e9)]


class Holder(Record, frozen=True):
    """Whose lease it is.

    Attributes:
        user: who it is, the same after a reconnect.
        name: for display.
        had_s: since when it is theirs, seconds ago.
        waits_s: how long the lease still waits for them.
        slot_left_s: until the slot ends; None for no end in sight.
        token_left_s: until their token ends; None for no end.
        must_park: nothing but parking is let through.
    """

    user: str
    name: str
    role: Role
    had_s: _Seconds
    waits_s: _Seconds
    slot_left_s: _Seconds | None = None
    token_left_s: _Seconds | None = None
    must_park: bool = False

    def later(self, gone_s: float) -> Self | None:
        """The same after so many seconds; None once nobody waits for them any more."""
        ends = (self.waits_s, self.slot_left_s, self.token_left_s)
        if any(left_s is not None and left_s <= gone_s for left_s in ends):
            return None
        return msgspec.structs.replace(
            self,
            had_s=self.had_s + gone_s,
            waits_s=self.waits_s - gone_s,
            slot_left_s=None if self.slot_left_s is None else self.slot_left_s - gone_s,
            token_left_s=None if self.token_left_s is None else self.token_left_s - gone_s,
        )


class Keepsake(Record, frozen=True):
    """One arm's lease, as far as it outlives its server; nothing that was asked for, queued or held does.

    Attributes:
        epoch: the newest that was used.
        holder: None where nobody has it.
        frozen: by whom; empty if it is not.
        latched: who stopped it; empty if no stop is latched.
    """

    epoch: Annotated[int, Meta(ge=0, le=2**53)]
    holder: Holder | None = None
    frozen: str = ""
    latched: str = ""

    def later(self, gone_s: float) -> Self:
        """The same after so many seconds."""
        return msgspec.structs.replace(self, holder=None if self.holder is None else self.holder.later(gone_s))
