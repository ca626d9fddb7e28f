"""Who may do what: four roles, what there is to do, and the table of both."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType


class Role(Enum):
    """What a token makes of its bearer."""

    WATCH = "watch"
    DRIVE = "drive"
    TEACH = "teach"
    MAINTAIN = "maintain"


class Action(Enum):
    """What there is to do."""

    WATCH = "watch"
    STOP = "stop"
    PULL = "pull"
    BOOK = "book"
    CLAIM = "claim"
    UPLOAD = "upload"
    JOG = "jog"
    RUN = "run"
    FREEZE = "freeze"
    RESET = "reset"
    CONFIRM = "confirm"
    TAKE_OVER = "take_over"
    TELL = "tell"
    AUDIT = "audit"
    MARK = "mark"


_WATCH = frozenset({Action.WATCH, Action.STOP, Action.PULL})
_DRIVE = _WATCH | {Action.BOOK, Action.CLAIM, Action.UPLOAD, Action.JOG, Action.RUN}
_CARE = _DRIVE | {Action.FREEZE, Action.RESET, Action.CONFIRM, Action.AUDIT, Action.TELL}

MAY: Mapping[Role, frozenset[Action]] = MappingProxyType(
    {
        Role.WATCH: _WATCH,
        Role.DRIVE: _DRIVE,
        Role.TEACH: _CARE | {Action.TAKE_OVER, Action.MARK},
        Role.MAINTAIN: _CARE,
    }
)
"""Only a teacher takes an arm from its driver, and sees the marks of a class. Stopping is anyone's in any case."""


def may(role: Role, action: Action) -> bool:
    """Whether `role` allows `action`."""
    return action is Action.STOP or action in MAY[role]


def who_may(action: Action) -> str:
    """The roles that may, in words for a refusal."""
    return " or ".join(role.value for role in Role if may(role, action))
