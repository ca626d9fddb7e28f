"""What a token allows: who may do what with which arms, how fast, where, and from when to when."""

from __future__ import annotations

import base64
import binascii
import datetime
import math
import unicodedata
from typing import Annotated

import msgspec
from msgspec import Meta

from hil.errors import CommandError
from hil.service.rights import Role
from hil.types import Record

EVERY_ARM = "*"
LONGEST_TOKEN = 4096
"""Characters of the longest text that is looked at as a token."""
LONGEST_NAME = 64

_DAY_S = 86_400
LONGEST_WINDOW_S = 366 * _DAY_S

Point = tuple[float, float, float]


class WorkBox(Record, frozen=True):
    """Where the tool point has to stay, in the arm's base frame; the rig's own fences hold as well.

    Raises:
        CommandError: a number is not finite, or the box is empty.
    """

    lower_m: Point
    upper_m: Point

    def __post_init__(self) -> None:
        numbers = (*self.lower_m, *self.upper_m)
        if not all(map(math.isfinite, numbers)) or any(
            low >= high for low, high in zip(self.lower_m, self.upper_m, strict=True)
        ):
            allowed = "six finite numbers, each lower one less than its upper one"
            raise CommandError(f"work box: {numbers} m given; allowed: {allowed}", value=numbers, allowed=allowed)


class Grant(Record, frozen=True):
    """What one token says; the token itself is this, signed.

    Attributes:
        token_id: names the token in the audit and in the list of revoked ones; it is no secret.
        user: whom it was made for: a name, or what stands for one.
        arms: ids of arms, or `EVERY_ARM` alone.
        role: what may be done.
        speed_share: part of the rig's speeds, above 0 to 1.
        box: where the tool point has to stay, or None for the rig's own fences.
        issued_s: when it was made, seconds since 1970, as all times here.
        not_before_s: from when it counts.
        expires_s: from when it counts no more.
        on_site: its bearer may say to stand beside the arm.
        renewed: its bearer gets another one at each visit, and may book a time beyond the end of this one.

    Raises:
        CommandError: one of them cannot be.
    """

    token_id: str
    user: str
    arms: tuple[str, ...]
    role: Role
    speed_share: float
    box: WorkBox | None
    issued_s: int
    not_before_s: int
    expires_s: int
    on_site: bool = False
    renewed: bool = False

    def __post_init__(self) -> None:
        check_user(self.user)
        if not 0.0 < self.speed_share <= 1.0:
            _refuse("speed share", self.speed_share, "above 0 to 1")
        if not self.arms or (EVERY_ARM in self.arms and len(self.arms) > 1):
            _refuse("arms", self.arms, f"one arm or more by their ids, or {EVERY_ARM!r} alone for all of them")
        if not 0 < self.expires_s - self.not_before_s <= LONGEST_WINDOW_S:
            window_days = (self.expires_s - self.not_before_s) / _DAY_S
            _refuse("days of a token", round(window_days, 3), f"above 0 to {LONGEST_WINDOW_S // _DAY_S}")

    def covers(self, arm: str) -> bool:
        """Whether it is for this arm."""
        return arm in self.arms or self.arms == (EVERY_ARM,)

    def in_window(self, now_epoch_s: float) -> bool:
        """Whether it counts at this time."""
        return self.not_before_s <= now_epoch_s < self.expires_s


class _Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The registered claims of RFC 7519 under their names, and ours."""

    v: Annotated[int, Meta(ge=1, le=1)]
    jti: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]
    sub: str
    iat: int
    nbf: int
    exp: int
    arms: tuple[str, ...]
    role: Role
    speed: float
    box_m: tuple[Point, Point] | None = None
    site: bool = False
    again: bool | msgspec.UnsetType = msgspec.UNSET


_DECODER = msgspec.json.Decoder(_Claims)


def encode(grant: Grant) -> bytes:
    """The bytes that are signed."""
    claims = _Claims(
        v=1,
        jti=grant.token_id,
        sub=grant.user,
        iat=grant.issued_s,
        nbf=grant.not_before_s,
        exp=grant.expires_s,
        arms=grant.arms,
        role=grant.role,
        speed=grant.speed_share,
        box_m=None if grant.box is None else (grant.box.lower_m, grant.box.upper_m),
        site=grant.on_site,
        again=True if grant.renewed else msgspec.UNSET,
    )
    return msgspec.json.encode(claims)


def decode(payload: bytes) -> Grant | None:
    """What signed bytes say; None if they are of no version that is known here."""
    try:
        claims = _DECODER.decode(payload)
        return Grant(
            token_id=claims.jti,
            user=claims.sub,
            arms=claims.arms,
            role=claims.role,
            speed_share=claims.speed,
            box=None if claims.box_m is None else WorkBox(lower_m=claims.box_m[0], upper_m=claims.box_m[1]),
            issued_s=claims.iat,
            not_before_s=claims.nbf,
            expires_s=claims.exp,
            on_site=claims.site,
            renewed=claims.again is True,
        )
    except (msgspec.DecodeError, UnicodeDecodeError, CommandError):
        return None


def peek(token: str) -> Grant | None:
    """What a token claims, its signature unseen: for its own holder, who has no key to check it with."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > LONGEST_TOKEN:
        return None
    try:
        return decode(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return None


def check_user(name: str) -> None:
    """Refuse what cannot stand for a person in a list: empty, long, or with characters that do not show.

    Raises:
        CommandError: such a name.
    """
    hidden = any(unicodedata.category(character).startswith(("C", "Zl", "Zp")) for character in name)
    if hidden or not 0 < len(name) <= LONGEST_NAME or name != name.strip():
        _refuse("name", name, f"1 to {LONGEST_NAME} characters that show, no blanks around them")


def clock_text(epoch_s: float) -> str:
    """A moment as people of this lab read it; any number at all gives some text."""
    try:
        return f"{datetime.datetime.fromtimestamp(epoch_s).astimezone():%Y-%m-%d %H:%M %Z}"
    except (ValueError, OverflowError, OSError):
        return f"{epoch_s:g} s after 1970"


def _refuse(what: str, value: object, allowed: str) -> None:
    raise CommandError(f"{what}: {value!r} given; allowed: {allowed}", value=value, allowed=allowed)
