"""What a token is worth, in words: for whoever makes it, and for whoever has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hil.service.grants import Grant

_UNITS = (("day", 86_400), ("h", 3600), ("min", 60))


def allows(grant: Grant) -> str:
    """Role, arms, speed and window."""
    from hil.service.grants import clock_text

    box = ", within a box" if grant.box is not None else ""
    window = f"{clock_text(grant.not_before_s)} to {clock_text(grant.expires_s)}"
    return f"{grant.role.value} {arms(grant)} at {100 * grant.speed_share:g} % of the speeds{box}, {window}"


def arms(grant: Grant) -> str:
    """Which arms."""
    from hil.service.grants import EVERY_ARM

    return "all arms" if grant.arms == (EVERY_ARM,) else ", ".join(grant.arms)


def standing(grant: Grant, now_s: float) -> str:
    """Whether it counts now by its window alone, and how long from now that changes."""
    if now_s < grant.not_before_s:
        return f"not yet valid, begins in {length_text(grant.not_before_s - now_s)}"
    if grant.in_window(now_s):
        return f"valid now, ends in {length_text(grant.expires_s - now_s)}"
    return f"ended {length_text(now_s - grant.expires_s)} ago"


def length_text(seconds: float) -> str:
    """A length of time by its largest unit and the next one: ``2 days 3 h``, ``1 h 5 min``, ``40 s``."""
    for index, (name, unit_s) in enumerate(_UNITS):
        count, rest_s = divmod(int(seconds), unit_s)
        if not count:
            continue
        more = ""
        if index + 1 < len(_UNITS):
            smaller, smaller_s = _UNITS[index + 1]
            more = f" {rest_s // smaller_s} {smaller}" if rest_s >= smaller_s else ""
        return f"{count} {name}{'s' * (name == 'day' and count > 1)}{more}"
    return f"{int(seconds)} s"
