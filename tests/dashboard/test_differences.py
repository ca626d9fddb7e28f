"""The difference of command and report, as the window draws it: band, number, lamp, and ten times as large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402

from hil.dashboard.differences import GROWN, differences, grown, worst  # noqa: E402
from hil.types import Mode  # noqa: E402
from hil.units import DEG  # noqa: E402

Make = Callable[..., Any]
ELBOW = 2


def off(bench: Any, error_deg: float, band_deg: float = 2.0, *, alarm: str = "") -> None:
    """The elbow is so far from where it was commanded to be."""
    link, axes = bench.link, bench.link.arm.axes
    place = link.standing()
    errors = tuple(error_deg * DEG if axis == ELBOW else 0.0 for axis in range(len(axes)))
    link.mode = Mode.HOLDING
    link.changes |= {
        "reported": tuple(here + error for here, error in zip(place, errors, strict=True)),
        "errors": errors,
        "bands": (band_deg * DEG,) * len(axes),
        "used": tuple(abs(error) / (band_deg * DEG) for error in errors),
        "alarm": alarm,
    }
    bench.run(0.1)
    bench.draw()


def test_three_degrees_are_a_number_with_its_band_and_highlighted(make_bench: Make) -> None:
    bench = make_bench()
    off(bench, 3.0)
    rows = bench.window.views["drive"].joints.rows
    assert rows[ELBOW].error.text() == "+3.0 of ±2.0"
    assert "background" in rows[ELBOW].error.styleSheet() and "background" not in rows[0].error.styleSheet()
    assert "elbow +3.0 deg of ±2.0" in bench.window.header._meaning.text()


def test_the_scene_draws_it_ten_times_as_large_and_says_so(make_bench: Make) -> None:
    bench = make_bench()
    off(bench, 3.0)
    frame, live = bench.session.newest, bench.window.live
    pose = grown(bench.link.arm, frame)
    assert pose is not None and pose[ELBOW] - frame.commanded[ELBOW] == pytest.approx(10.0 * 3.0 * DEG)
    assert live.scene._state.grown is not None and f"{GROWN:g} times as large" in live._legend.text()
    off(bench, 0.9)
    assert live.scene._state.grown is None and "times as large" not in live._legend.text()


@pytest.mark.parametrize(("error_deg", "noted", "past"), [(0.98, False, False), (1.0, True, False), (2.0, True, True)])
def test_from_half_of_the_band_on_it_is_noted_and_beyond_it_past(
    error_deg: float, noted: bool, past: bool, make_bench: Make
) -> None:
    bench = make_bench()
    off(bench, error_deg)
    found = worst(bench.link.arm, bench.session.newest)
    assert found is not None and found[0] == ELBOW and (found[1].noted, found[1].past) == (noted, past)


def test_the_alarm_is_the_lamp(make_bench: Make) -> None:
    bench = make_bench()
    off(bench, 3.0, alarm="elbow is 3.0 deg from its command")
    assert "ALARM" in bench.window.header.lamp.text() and "3.0 deg" in bench.window.header._meaning.text()


def test_an_older_service_gives_the_bare_difference_of_an_arm_at_rest_only(make_bench: Make) -> None:
    bench = make_bench()
    off(bench, 3.0)
    for name in ("errors", "bands", "used"):
        del bench.link.changes[name]
    bench.run(0.1)
    found = differences(bench.link.arm, bench.session.newest)[ELBOW]
    assert found is not None and found.band is None and found.error == pytest.approx(3.0 * DEG)
    bench.link.mode = Mode.STREAMING
    bench.run(0.1)
    assert differences(bench.link.arm, bench.session.newest) == (None,) * len(bench.link.arm.axes)


def test_an_arm_of_unknown_pose_is_not_drawn_as_known(make_bench: Make) -> None:
    bench = make_bench()
    bench.link.mode = Mode.UNKNOWN_POSE
    bench.run(0.1)
    bench.draw()
    state = bench.window.live.scene._state
    assert state.simulated is None and state.reported is None
    assert "is not known" in bench.window.live._legend.text()


def test_what_is_old_is_drawn_as_old(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(0.1)
    bench.draw()
    assert not bench.window.live.scene._state.old
    bench.now_s += 1.0
    bench.draw()
    assert bench.window.live.scene._state.old
    assert not bench.window.views["drive"].joints.rows[0]._value.isEnabled()


def test_events_of_one_kind_are_one_line_with_their_count(make_bench: Make) -> None:
    bench = make_bench()
    before = len(bench.session.lines)
    for number in (3, 5, 8):
        bench.session.note(f"the loop was {number} ms late")
    bench.session.note("another thing")
    assert [line[10:] for line in list(bench.session.lines)[before:]] == [
        "the loop was 8 ms late  (3 times)", "another thing"
    ]  # fmt: skip
