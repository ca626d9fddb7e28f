"""What is told of findings: not twice what one change mends."""

from __future__ import annotations

from hil.refusal import Refusal
from hil.safety.findings import without_echoes


def _refusal(check: str, subject: str) -> Refusal:
    return Refusal(check=check, subject=subject, limit="", margin=-1.0, unit="mm", nearest_allowed="", advice="")


def test_a_stop_that_meets_what_the_motion_meets_anyway_is_not_told() -> None:
    motion, stop = _refusal("E-10", "palm and table"), _refusal("E-13", "palm and table")
    assert without_echoes([stop, motion]) == (motion,)


def test_a_stop_that_meets_something_else_is_told() -> None:
    found = (_refusal("E-13", "palm and lamp"), _refusal("E-10", "palm and table"), _refusal("E-13", "base"))
    assert without_echoes(found) == found


def test_whatever_was_refused_stays_refused() -> None:
    stop = _refusal("E-13", "palm and table")
    assert without_echoes([stop]) == (stop,)
