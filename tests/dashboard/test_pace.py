"""Views look often while anything changes, seldom while nothing does, and at once when something does again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

pytest.importorskip("PySide6")
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget

from hil.dashboard.live_view import FRAME_EVERY_MS
from hil.dashboard.pace import CALM_AFTER_S, REST_MS, Pace
from hil.dashboard.widgets import Island
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


def test_at_rest_all_views_look_together(make_bench: Make) -> None:
    bench = at_rest(make_bench)
    looked: list[str] = []
    seen = [
        Pace(bench.session.calm, lambda name=name: looked.append(name), every_ms, bench.window.views["drive"])
        for name, every_ms in (("one", 40), ("other", 70))
    ]
    for pace in seen:
        pace.turn()
    looked.clear()
    bench.session.calm.looks.emit()
    assert looked == ["one", "other"]
    bench.session.calm.stir()
    bench.session.calm.looks.emit()
    assert looked == ["one", "other"]
    assert [pace.every_ms for pace in seen] == [40, 70]


def said(window: Any) -> list[str]:
    """Every word of the window but those of the loop's own times, which are numbers of a measurement."""
    texts = [label.text() for label in window.findChildren(QLabel)]
    return [text for text in texts if "ms of work" not in text and "a second" not in text]


def test_a_picture_that_ages_between_two_looks_changes_no_word(make_bench: Make) -> None:
    bench = at_rest(make_bench)
    bench.link.changes["picture_age_s"] = 0.01
    bench.run(0.1)
    bench.draw()
    before = said(bench.window)
    assert any("under 0.5 s old" in text for text in before)
    bench.link.changes["picture_age_s"] = 0.49
    bench.run(0.1)
    bench.draw()
    assert said(bench.window) == before
    bench.link.changes["picture_age_s"] = 0.5
    bench.run(0.1)
    bench.draw()
    assert any("0.5 s old" in text and "under" not in text for text in said(bench.window))


def test_the_way_on_after_a_release_is_told_in_steps_that_are_never_less(make_bench: Make) -> None:
    bench = at_rest(make_bench)
    for total_ms, told in ((621.0, "630 ms"), (630.0, "630 ms"), (630.1, "640 ms")):
        bench.link.changes["stop"] = msgspec.structs.replace(bench.session.newest.stop, total_ms=total_ms)
        bench.run(0.1)
        bench.draw()
        assert any(told in text for text in said(bench.window)), told


def settle() -> None:
    """What is laid out has what is around laid out in a later turn."""
    for _ in range(4):
        QApplication.processEvents()


def around(qtbot: Any, island: Island) -> tuple[QWidget, list[QWidget]]:
    """A widget with a layout around it, and who is laid out anew from now on."""
    outer = QWidget()
    qtbot.addWidget(outer)
    QVBoxLayout(outer).addWidget(island)
    asked: list[QWidget] = []

    class Watch(QObject):
        """Notes who is to be laid out."""

        def eventFilter(self, watched: QWidget, event: QEvent) -> bool:  # type: ignore[override]  # noqa: N802
            if event.type() is QEvent.Type.LayoutRequest:
                asked.append(watched)
            return False

    watch = Watch(outer)
    for widget in (outer, island.inside):
        widget.installEventFilter(watch)
    outer.resize(400, 300)
    outer.show()
    settle()
    asked.clear()
    return outer, asked


def test_other_words_of_the_same_room_have_nothing_around_laid_out_anew(qtbot: Any) -> None:
    island, label = Island(), QLabel("wide enough for both")
    label.setMinimumSize(200, 40)
    QVBoxLayout(island.inside).addWidget(label)
    outer, asked = around(qtbot, island)
    label.setText("other words")
    settle()
    assert asked == [island.inside]
    assert island.inside.size() == island.size()
    label.setMinimumSize(300, 40)
    settle()
    assert outer in asked
    assert outer.minimumSizeHint().width() > 300


def test_header_and_status_are_islands(make_bench: Make) -> None:
    window = make_bench().window
    assert isinstance(window.header, Island)
    assert isinstance(window.views["status"], Island)


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
