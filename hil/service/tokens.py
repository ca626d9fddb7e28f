"""Tokens: made with the lab's signing key, checked offline with its public key and the list of revoked ones."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from enum import Enum

from hil.errors import ConfigError, HilError
from hil.service.grants import LONGEST_TOKEN, Grant, clock_text, decode, encode
from hil.service.keys import PublicKey, SigningKey
from hil.service.revocation import Revocations

_THREE_PARTS = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)", re.ASCII)


class Flaw(Enum):
    """Why a token is refused, for the audit."""

    MALFORMED = "malformed"
    NOT_SIGNED_HERE = "not signed here"
    UNKNOWN_VERSION = "unknown version"
    NOT_YET = "not yet valid"
    EXPIRED = "expired"
    REVOKED = "revoked"
    LIST_UNREADABLE = "list of revoked tokens unreadable"
    NOT_OF_THIS_START = "not the key of this start"


class TokenError(HilError):
    """A token is refused. The text is fit for whoever sent it and tells a stranger nothing.

    Attributes:
        flaw: why, for the audit.
        grant: what the token says, once its signature was found good; else None.
    """

    def __init__(self, message: str, flaw: Flaw, grant: Grant | None = None) -> None:
        self.flaw, self.grant = flaw, grant
        super().__init__(message)


def issue(grant: Grant, key: SigningKey) -> str:
    """The token that says `grant`."""
    return key.seal(encode(grant))


class TokenChecker:
    """Judges tokens; needs no network and no secret.

    Args:
        keys: public keys of those who may make tokens.
        revocations: the list of tokens that count no more.
    """

    def __init__(self, keys: Sequence[PublicKey], revocations: Revocations) -> None:
        self._keys, self._revocations = tuple(keys), revocations

    def check(self, token: str, now_epoch_s: float) -> Grant:
        """What a token allows.

        Args:
            token: as it was sent.
            now_epoch_s: seconds since 1970.

        Raises:
            TokenError: it is no token of this lab, or does not count now.
        """
        if not _is_canonical(token):
            raise _stranger(Flaw.MALFORMED)
        payload = next((said for key in self._keys if (said := key.open(token)) is not None), None)
        if payload is None:
            raise _stranger(Flaw.NOT_SIGNED_HERE)
        grant = decode(payload)
        if grant is None:
            raise TokenError("this token is of another version; ask for a new one", Flaw.UNKNOWN_VERSION)
        self.recheck(grant, now_epoch_s)
        return grant

    def recheck(self, grant: Grant, now_epoch_s: float) -> None:
        """Whether a token that was found good still counts; cheap enough for every message.

        Raises:
            TokenError: it does not.
        """
        if now_epoch_s < grant.not_before_s:
            text = f"this token counts from {clock_text(grant.not_before_s)}; here it is {clock_text(now_epoch_s)}"
            raise TokenError(text, Flaw.NOT_YET, grant)
        if not grant.in_window(now_epoch_s):
            text = f"this token ended at {clock_text(grant.expires_s)}; ask for a new one"
            raise TokenError(text, Flaw.EXPIRED, grant)
        try:
            revoked = self._revocations.covers(grant)
        except ConfigError:
            # Nobody can say who was shut out, so nobody is let in; the owner finds the reason in the audit.
            raise TokenError("the lab cannot check tokens now; tell its owner", Flaw.LIST_UNREADABLE, grant) from None
        if revoked:
            raise TokenError("this token was revoked; ask for a new one", Flaw.REVOKED, grant)


def _stranger(flaw: Flaw) -> TokenError:
    return TokenError("this is no token of this lab", flaw)


def _is_canonical(token: str) -> bool:
    """One token has one text: decoders of base64 skip foreign characters and spare bits, which would give it many."""
    if len(token) > LONGEST_TOKEN:
        return False
    match = _THREE_PARTS.fullmatch(token)
    if match is None:
        return False
    signature = match[1]
    try:
        data = base64.urlsafe_b64decode(signature + "=" * (-len(signature) % 4))
    except ValueError:
        return False
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode() == signature
