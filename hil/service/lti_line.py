"""Asking a learning system: bounded in time, never led elsewhere, its public keys kept and asked for anew."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from hil.errors import MissingExtraError

try:
    import requests
    from pylti1p3.launch_data_storage.base import LaunchDataStorage
except ImportError:
    raise MissingExtraError("course pages of a learning system", "lti", needs="needs") from None

CONNECT_S, ANSWER_S = 5.0, 10.0
KEYS_S = 3600.0
"""For how long public keys of a system are believed without asking."""

RENEW_S = 30.0
"""Strangers who name keys that do not exist cannot make the lab ask more often than this."""


def line_to_platforms() -> requests.Session:
    """What asks. A redirect is an error: it would turn a mark that is sent into a page that is read."""
    session = requests.Session()
    session.headers["User-Agent"] = "hil-arm-bridge"
    session.max_redirects = 0
    session.request = functools.partial(session.request, timeout=(CONNECT_S, ANSWER_S))  # type: ignore[method-assign]
    return session


class PublicKeys(LaunchDataStorage[Any]):
    """Public keys of learning systems, as the library keeps them: by the address that they came from.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._kept: dict[str, tuple[Any, float]] = {}
        self._renewed_s: dict[str, float] = {}
        self._lock = threading.Lock()

    def can_set_keys_expiration(self) -> bool:
        """They end."""
        return True

    def get_value(self, key: str) -> Any:
        """The keys, or None."""
        with self._lock:
            found, until_s = self._kept.get(key, (None, 0.0))
            return found if self._clock() < until_s else None

    def set_value(self, key: str, value: Any, exp: int | None = None) -> None:
        """Keep them; what is no set of keys, as the page of a system that has trouble, is not kept."""
        if isinstance(value, dict) and isinstance(value.get("keys"), list) and value["keys"]:
            with self._lock:
                self._kept[key] = (value, self._clock() + KEYS_S)

    def check_value(self, key: str) -> bool:
        """Whether they are there."""
        return self.get_value(key) is not None

    def may_renew(self, name: str) -> bool:
        """Forget all, once in a while: a system signs with a key that is not known, so it has new ones."""
        with self._lock:
            now_s = self._clock()
            if now_s - self._renewed_s.get(name, float("-inf")) < RENEW_S:
                return False
            self._renewed_s[name] = now_s
            self._kept.clear()
            return True
