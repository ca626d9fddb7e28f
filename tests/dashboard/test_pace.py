"""Views look often while anything changes, seldom while nothing does, and at once when something does again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("PySide6")
from hil.dashboard.live_view import FRAME_EVERY_MS
from hil.dashboard.pace import CALM_AFTER_S, REST_MS, Pace
from hil.types import Mode

Make = Callable[..., Any]
AT_REST_S = CALM_AFTER_S + 0.1


def paces(bench: Any) -> list[Pace]:
    found: list[Pace] = bench.window.findChildren(Pace)
    for pace in found:
        pace.turn()
    return found


def at_rest(make_bench: Make) -> Any:
    bench = make_bench()
    bench.link.mode = Mode.IDLE
    bench.run(0.2)
    bench.session.calm.watch()
    bench.run(AT_REST_S)
    return bench


def test_at_rest_every_view_looks_twice_a_second(make_bench: Make) -> None:
    found = paces(at_rest(make_bench))
    assert len(found) >= 8
    assert {pace.every_ms for pace in found} == {REST_MS}
    assert REST_MS == 500


@pytest.mark.parametrize("what", ["mode", "notice", "hand", "silence"])
def test_what_changes_has_every_view_look_at_once(make_bench: Make, what: str) -> None:
    bench = at_rest(make_bench)
    found = paces(bench)
    if what == "mode":
        bench.link.mode = Mode.HOLDING
        bench.run(0.05)
    elif what == "notice":
        bench.session.note("somebody came")
    elif what == "hand":
        bench.window._keys.touched.emit()
    else:
        bench.now_s += 0.6
        bench.session.calm.watch()
    assert max(pace.every_ms for pace in found) < REST_MS
    assert min(pace.every_ms for pace in found) == FRAME_EVERY_MS


def test_times_that_only_go_on_are_no_change(make_bench: Make) -> None:
    bench = at_rest(make_bench)
    bench.run(5.0)
    assert bench.session.calm.lasts


def test_what_is_behind_another_view_is_not_drawn(make_bench: Make) -> None:
    bench = make_bench()
    window = bench.window
    window.bring(window.docks["plots"])
    window.bring(window.docks["drive"])
    window.grab()
    looked: list[str] = []
    behind = Pace(bench.session.calm, lambda: looked.append("plots"), 80, window.views["plots"], behind=False)
    seen = Pace(bench.session.calm, lambda: looked.append("drive"), 80, window.views["drive"], behind=False)
    behind.turn()
    seen.turn()
    assert looked == ["drive"]
