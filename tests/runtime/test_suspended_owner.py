"""An owner that stood still ends its session, also where its loop stood still with it and has missed nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hil.runtime import host as owners
from hil.runtime import wiring
from hil.runtime.host import Host
from hil.types import Disconnect, Request


class Nothing:
    """A mailbox and a ring of a loop that says nothing."""

    closed = True

    def __init__(self) -> None:
        self.sent: list[Request] = []

    def beat(self, now_s: float) -> None:
        """A sign of life."""

    def send(self, request: Request) -> None:
        """A request."""
        self.sent.append(request)

    def read(self) -> list[bytes]:
        """No records."""
        return []


@pytest.mark.parametrize(("gap_s", "ends"), [(0.02, False), (0.28, False), (0.30, True), (4.0, True)])
def test_who_was_suspended_lets_go_and_says_so_before_anything_else(
    gap_s: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, loop, now_s = Host(wiring.load_rig("lynx6"), url=None, journal=Path(), command="a test"), Nothing(), [50.0]
    parts: Any = owner
    parts._mailbox = parts._reader = loop
    monkeypatch.setattr(owners, "monotonic_s", lambda: now_s[0])
    owner.poll()
    now_s[0] += gap_s
    owner.poll()
    assert [type(request) for request in loop.sent] == ([Disconnect] if ends else [])
    assert ["suspended for" in event for event in owner.events] == ([True] if ends else [])
