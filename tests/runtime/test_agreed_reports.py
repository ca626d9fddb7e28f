"""A report counts once the next one says the same: on every axis, to its coarseness, and also which axes are driven."""

from __future__ import annotations

import pytest

from hil.runtime.reports import AgreedReport
from hil.types import JointState, StateSource

STEP = (0.01, 0.02)


def report(t_s: float, *positions: float | None) -> JointState:
    return JointState(t_s=t_s, positions=positions, source=StateSource.ECHOED)


@pytest.mark.parametrize(
    ("before", "after", "agree"),
    [
        ((0.0, 1.0), (0.0, 1.0), True),
        ((0.0, 1.0), (0.0099, 1.0199), True),
        ((0.0, 1.0), (0.0101, 1.0), False),
        ((0.0, 1.0), (0.0, 1.0201), False),
        ((0.0, 1.0), (0.0, 0.9799), False),
        ((None, None), (None, None), True),
        ((None, 1.0), (None, 1.0), True),
        ((None, 1.0), (0.0, 1.0), False),
        ((0.0, 1.0), (0.0, None), False),
    ],
)
def test_two_that_say_the_same_agree(
    before: tuple[float | None, ...], after: tuple[float | None, ...], agree: bool
) -> None:
    kept = AgreedReport(STEP)
    kept.take(report(1.0, *before))
    kept.take(newest := report(2.0, *after))
    assert (kept.agreed is newest) is agree


def test_one_alone_is_none_however_often_it_is_told() -> None:
    kept = AgreedReport(STEP)
    assert kept.agreed is None
    single = report(1.0, 0.0, 1.0)
    for _ in range(3):
        kept.take(single)
    assert kept.agreed is None


def test_a_connection_that_is_lost_takes_its_reports_along() -> None:
    kept = AgreedReport(STEP)
    for t_s in (1.0, 2.0):
        kept.take(report(t_s, 0.0, 1.0))
    assert kept.agreed is not None
    kept.take(None)
    assert kept.agreed is None
