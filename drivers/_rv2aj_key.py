"""Where the key stands: AUTO (Op.) and AUTO (Ext.) look alike in the status bits, and only on one a computer may move.

The system variable M_MODE tells them apart. Its values are the maker's; that VAL shows it is not confirmed on this
controller: one that does not show it is taken as it was without.
"""

from __future__ import annotations

import re
from enum import Enum

from drivers._rv2aj_line import Ask
from drivers._rv2aj_talk import Talk

TRIES = 2
"""So often it is asked for where answers are lost; it is not worth more."""

_MODE = Ask("VALM_MODE;M", length=20)
_VALUE = re.compile(r"M_MODE=\+?([123])(?:\.0*)?(?:;.*)?\Z", re.IGNORECASE)


class Key(Enum):
    """By the value of M_MODE."""

    TEACH = 1
    AUTO_OP = 2
    AUTO_EXT = 3

    @property
    def text(self) -> str:
        """As it is written at the key."""
        return {Key.TEACH: "TEACH", Key.AUTO_OP: "AUTO (Op.)", Key.AUTO_EXT: "AUTO (Ext.)"}[self]

    @property
    def remedy(self) -> str:
        """What a person does, so that a computer may move the arm; empty if nothing."""
        return {
            Key.TEACH: "switch the teach box off, turn the key to AUTO (Ext.)",
            Key.AUTO_OP: "there only the operation panel may move the arm: turn the key to AUTO (Ext.)",
            Key.AUTO_EXT: "",
        }[self]

    @property
    def words(self) -> str:
        """Where it stands, and what to do; empty if it stands right."""
        return f"the key stands on {self.text}; {self.remedy}" if self.remedy else ""


def read_key() -> Talk[Key | None]:
    """Ask where the key stands; None if the controller does not tell."""
    for _ in range(TRIES):
        heard = yield _MODE
        if heard is not None and heard.reply is not None:
            found = _VALUE.match(heard.reply.data.strip()) if heard.reply.accepted else None
            return None if found is None else Key(int(found[1]))
    return None


def in_the_way(error: Exception) -> Talk[str]:
    """What to say of a refusal: after it the key with its remedy, if that can be read and stands in the way."""
    key = yield from read_key()
    return f"{error}: {key.words}" if key is not None and key.words else str(error)
