"""Who comes in, and as what: by token; or, where a server on loopback has no keys, by the key of its start."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Sequence

from hil.service.grants import EVERY_ARM, LONGEST_WINDOW_S, Grant, check_user
from hil.service.local_key import LocalKey
from hil.service.rights import Role
from hil.service.tokens import Flaw, TokenChecker, TokenError
from hil.types import Record

FAILURES = 100
"""Refused tokens of one address, within `FAILURES_S`, after which no reason is given any more."""

FAILURES_S = 60.0
_MOST_ADDRESSES = 1000
_CLOCK_SLACK_S = 86_400

NOT_THE_KEY = (
    "this server is for the user who started it, with the key of its start: in a browser open the address that "
    "`hil serve` has printed; commands of the same user find the key by themselves"
)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

LOCAL = "local"
"""What stands for the id of a token where there are none."""


class TooManyRefusedError(TokenError):
    """A token is refused, and so many of that address were that nothing is said about this one."""


class Visitor(Record, frozen=True):
    """Somebody who was let in.

    Attributes:
        name: for display.
        grant: what the token says, or what counts without one.
        origin: network address.
        on_site: stands beside the arms.
    """

    name: str
    grant: Grant
    origin: str
    on_site: bool

    @property
    def user(self) -> str:
        """Who it is, the same after a reconnect."""
        return self.grant.user

    @property
    def until_epoch_s(self) -> float | None:
        """When the token ends, seconds since 1970; None where there are none."""
        return None if self.grant.token_id == LOCAL else float(self.grant.expires_s)

    @property
    def who(self) -> str:
        """What the audit calls the visitor: no name."""
        return self.grant.token_id


class Door:
    """Lets people in.

    Args:
        checker: of tokens; for a server without a lab's keys, which has to listen on loopback alone, the key of its
            start.
        on_site: networks; somebody there who says so counts as standing beside the arms.

    Attributes:
        local_key: None where tokens are asked for.
    """

    def __init__(self, checker: TokenChecker | LocalKey, on_site: Sequence[Network] = ()) -> None:
        self._checker = checker if isinstance(checker, TokenChecker) else None
        self.local_key = checker if isinstance(checker, LocalKey) else None
        self._networks = tuple(on_site)
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    @property
    def keyed(self) -> bool:
        """Whether tokens of the lab are asked for."""
        return self.local_key is None

    def admit(
        self, token: str, *, name: str, says_on_site: bool, origin: str, now_s: float, now_epoch_s: float
    ) -> Visitor:
        """Let somebody in.

        A token that counts lets in always: whoever shares an address with somebody who guesses is not shut out. To look
        at one takes about 0.15 ms for each key of the lab, less than the request that brings it, so that nothing is won
        by not looking. Nobody guesses a signature of 64 bytes, however often; the limit is there to say less, and the
        same of every token that does not count, be it a stranger's, an old one or a revoked one.

        Args:
            token: as it was sent, or the key of the start; empty for none.
            name: for display, where there are no tokens.
            says_on_site: what the visitor says about standing beside the arms.
            origin: network address.
            now_s: monotonic time.
            now_epoch_s: seconds since 1970.

        Raises:
            TooManyRefusedError: the token does not count, nor did many before it from there.
            TokenError: the token does not count.
            CommandError: the name is none.
        """
        try:
            grant = self._grant(token, name or "someone", now_epoch_s)
        except TokenError as error:
            if self._failed(origin, now_s) > FAILURES:
                words = "too many refused tokens from this address, this one among them; try again in a minute"
                raise TooManyRefusedError(words, error.flaw, error.grant) from None
            raise
        on_site = not self.keyed or (says_on_site and (grant.on_site or self._inside(origin)))
        return Visitor(name=grant.user, grant=grant, origin=origin, on_site=on_site)

    def _grant(self, token: str, name: str, now_epoch_s: float) -> Grant:
        if self._checker is not None:
            return self._checker.check(token, now_epoch_s)
        assert self.local_key is not None
        if not self.local_key.is_same(token):
            raise TokenError(NOT_THE_KEY, Flaw.NOT_OF_THIS_START)
        check_user(name)
        return _local(name, int(now_epoch_s))

    def recheck(self, visitor: Visitor, now_epoch_s: float) -> None:
        """Whether the visitor's token still counts; cheap enough for every message.

        Raises:
            TokenError: it does not.
        """
        if self._checker is not None:
            self._checker.recheck(visitor.grant, now_epoch_s)

    def _failed(self, origin: str, now_s: float) -> int:
        """Count a refused token; gives how many there were from there lately."""
        failures, since_s = self._failures.get(origin, (0, now_s))
        if now_s - since_s > FAILURES_S:
            failures, since_s = 0, now_s
        self._failures[origin] = (failures + 1, since_s)
        self._failures.move_to_end(origin)
        if len(self._failures) > _MOST_ADDRESSES:
            self._failures.popitem(last=False)
        return failures + 1

    def _inside(self, origin: str) -> bool:
        try:
            address = ipaddress.ip_address(origin)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


def _local(name: str, now_epoch_s: int) -> Grant:
    """What counts on this computer alone, where there are no keys: all that there is to do, beside the arms."""
    begin_s = now_epoch_s - _CLOCK_SLACK_S
    return Grant(
        token_id=LOCAL,
        user=name,
        arms=(EVERY_ARM,),
        role=Role.TEACH,
        speed_share=1.0,
        box=None,
        issued_s=begin_s,
        not_before_s=begin_s,
        expires_s=begin_s + LONGEST_WINDOW_S,
    )
