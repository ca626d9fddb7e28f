"""An owner that stood still ends its session, also where its loop stood still with it and has missed nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from virtual_session import Session

from hil.runtime import host as owners
from hil.runtime import wiring
from hil.runtime.host import Host
from hil.types import ArmJog, Disconnect, Mode, Request, Start


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


def looks_again(
    gap_s: float, monkeypatch: pytest.MonkeyPatch, *asked: Request, met: bool = True
) -> tuple[list[Request], list[str]]:
    """What an owner sends, and says, that looks at its loop again after so long."""
    owner, loop, now_s = Host(wiring.load_rig("lynx6"), url=None, journal=Path(), command="a test"), Nothing(), [50.0]
    parts: Any = owner
    parts._mailbox = parts._reader = loop
    monkeypatch.setattr(owners, "monotonic_s", lambda: now_s[0])
    parts.last = Session().to(Mode.IDLE).last if met else None
    owner.poll()
    owner.send(*asked)
    now_s[0] += gap_s
    owner.poll()
    return loop.sent[len(asked) :], owner.events


@pytest.mark.parametrize(("gap_s", "ends"), [(0.02, False), (1.03, False), (1.05, True), (4.0, True)])
def test_who_was_suspended_lets_go_and_says_so_before_anything_else(
    gap_s: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, said = looks_again(gap_s, monkeypatch)
    assert [type(request) for request in sent] == ([Disconnect] if ends else [])
    assert ["suspended for" in event for event in said] == ([True] if ends else [])


@pytest.mark.parametrize(("gap_s", "ends"), [(0.28, False), (0.30, True)])
def test_who_jogs_may_be_away_for_a_quarter_of_a_second_only(
    gap_s: float, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, _ = looks_again(gap_s, monkeypatch, ArmJog(speed_share=0.5))
    assert [type(request) for request in sent] == ([Disconnect] if ends else [])


def test_who_starts_a_certified_motion_after_it_may_be_away_for_as_long_as_the_rig_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert looks_again(1.03, monkeypatch, ArmJog(speed_share=0.5), Start(digest="0" * 64)) == ([], [])


def test_who_has_not_met_its_loop_yet_is_only_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks_again(30.0, monkeypatch, met=False) == ([], [])
