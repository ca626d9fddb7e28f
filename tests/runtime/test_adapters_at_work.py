"""What `scripts/line-noise` tries of adapters and second readers, once each: the cause is named, nothing moves."""

from __future__ import annotations

import pytest
from line_faults import AT_WORK, CONNECTING, Case, at_work, connecting


@pytest.mark.parametrize("kind", ["ssc32", "rv2aj"])
@pytest.mark.parametrize("case", CONNECTING, ids=lambda case: case[0])
def test_connecting(kind: str, case: Case) -> None:
    _, fault, cause = case
    assert connecting(kind, fault) == (cause, True)


@pytest.mark.parametrize("kind", ["ssc32", "rv2aj"])
@pytest.mark.parametrize("case", AT_WORK, ids=lambda case: case[0])
def test_at_work(kind: str, case: Case) -> None:
    _, fault, cause = case
    assert at_work(kind, fault) == (cause, True)
