"""The tour and the page of keys: shown once by itself, read by keyboard alone, and never between a person and STOP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402
from pretend import PretendLink  # noqa: E402
from PySide6.QtCore import QPoint, QRect, QSettings, Qt, QTimer  # noqa: E402
from PySide6.QtGui import QAction  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication, QWidget  # noqa: E402

from hil.dashboard import app as starting  # noqa: E402
from hil.dashboard import application as common  # noqa: E402
from hil.dashboard.arm import arm_of_rig  # noqa: E402
from hil.dashboard.theme import THEMES  # noqa: E402
from hil.dashboard.tour import STEPS  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402

Make = Callable[..., Any]


def place_in(window: QWidget, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(window, QPoint()), widget.size())


@pytest.fixture
def touring(make_bench: Make) -> Iterator[Any]:
    """A window whose tour has begun."""
    bench = make_bench()
    bench.run(1.0)
    bench.window.tour.begin()
    QApplication.processEvents()
    yield bench


def test_every_step_speaks_of_something_that_is_there(touring: Any) -> None:
    tour, seen = touring.window.tour, []
    while tour.isVisible():
        seen.append(tour.step.place)
        assert tour.step.title in tour.words.text() and tour.step.text in tour.words.text()
        tour.go(1)
    assert seen == [step.place for step in STEPS]


def test_what_is_spoken_of_is_framed_in_full(touring: Any) -> None:
    window, tour = touring.window, touring.window.tour
    for step in STEPS:
        QApplication.processEvents()
        tour._follow()
        whole = QRect()
        for bar in tour.framed:
            whole = whole.united(bar)
        assert whole == place_in(window, window._place(step.place)), step.place
        tour.go(1)
    assert not tour.framed


def test_stop_is_never_covered(touring: Any) -> None:
    window, tour = touring.window, touring.window.tour
    while tour.isVisible():
        QApplication.processEvents()
        stop = place_in(window, window.header.stop)
        assert not stop.intersects(place_in(window, tour))
        for at in (stop.center(), stop.topLeft() + QPoint(6, 6), stop.bottomRight() - QPoint(6, 6)):
            assert window.childAt(at) is window.header.stop, tour.step.place
        tour.go(1)


def test_the_window_still_fits_a_small_screen(touring: Any) -> None:
    assert touring.window.minimumSizeHint().height() <= 800 and touring.window.height() == 800


def test_it_is_read_by_keyboard_alone(touring: Any) -> None:
    tour = touring.window.tour
    QTest.keyClick(touring.window.focusWidget(), Qt.Key.Key_Return)
    QTest.keyClick(touring.window.focusWidget(), Qt.Key.Key_Right)
    assert tour.step is STEPS[2]
    QTest.keyClick(touring.window.focusWidget(), Qt.Key.Key_Left)
    assert tour.step is STEPS[1]
    for _ in STEPS[1:]:
        QTest.keyClick(touring.window.focusWidget(), Qt.Key.Key_Return)
    assert not tour.isVisible() and not touring.link.stops


def test_esc_stops_the_arm_and_ends_the_tour(touring: Any) -> None:
    QTest.keyClick(touring.window.focusWidget(), Qt.Key.Key_Escape)
    assert len(touring.link.stops) == 1 and not touring.window.tour.isVisible()


def test_space_stops_the_arm_and_turns_no_page(touring: Any) -> None:
    QTest.keyClick(touring.window.focusWidget(), Qt.Key.Key_Space)
    assert len(touring.link.stops) == 1
    assert touring.window.tour.isVisible() and touring.window.tour.step is STEPS[0]


def test_the_focus_goes_back_to_where_it_was(make_bench: Make) -> None:
    bench = make_bench()
    scene = bench.window.live.scene
    scene.setFocus()
    bench.window.tour.begin()
    assert bench.window.focusWidget() is bench.window.tour.next
    bench.window.tour.leave()
    assert bench.window.focusWidget() is scene


def test_what_was_in_front_is_in_front_again(touring: Any) -> None:
    drive = touring.window.docks["drive"]
    while touring.window.tour.isVisible():
        touring.window.tour.go(1)
    QApplication.processEvents()
    assert drive.isAncestorOf(touring.window.focusWidget()) and not drive.visibleRegion().isEmpty()


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[bool]]:
    """Starts the program as `hil dashboard` does, looks whether the tour is seen, and closes it."""
    monkeypatch.setattr(starting, "state_dir", lambda: tmp_path)
    monkeypatch.setattr(common, "state_dir", lambda: tmp_path)
    monkeypatch.setattr(common.signal, "signal", lambda *_: None)

    def start() -> list[bool]:
        seen: list[bool] = []

        def look() -> None:
            window: Any = next(w for w in QApplication.topLevelWidgets() if hasattr(w, "tour") and w.isVisible())
            seen.append(window.tour.isVisible())
            window.close()

        common.make_application()
        QTimer.singleShot(0, look)
        assert starting.run(PretendLink(arm_of_rig(load_rig("lynx6"))), opengl=False) == 0
        return seen

    return start


def test_it_begins_by_itself_at_the_first_start_only(started: Callable[[], list[bool]]) -> None:
    assert started() == [True]
    assert started() == [False]


def test_it_is_found_again_in_the_menu(make_bench: Make, tmp_path: Path) -> None:
    bench = make_bench()
    assert bench.window.tour.first_time
    action = next(each for each in bench.window.findChildren(QAction) if "Tour" in each.text())
    action.trigger()
    assert bench.window.tour.isVisible()
    again = QSettings(str(tmp_path / "dashboard.ini"), QSettings.Format.IniFormat)
    assert again.value("tour_seen", False, type=bool)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_it_follows_the_colours(theme: Any, touring: Any) -> None:
    touring.window.set_theme(theme)
    assert theme.accent in touring.window.tour.styleSheet()


def test_the_page_of_keys_has_every_shortcut_of_the_menus(make_bench: Make) -> None:
    bench = make_bench()
    page = bench.window.views["keys"].toPlainText()
    shortcuts = [each.shortcut().toString() for each in bench.window.findChildren(QAction)]
    assert "F1" in shortcuts and "Ctrl+1" in shortcuts
    for keys in filter(None, shortcuts):
        assert keys in page
    for keys in ("Esc", "Space", "Tab", "Return"):
        assert keys in page


def test_f1_shows_the_page_of_keys(make_bench: Make, qtbot: Any) -> None:
    bench = make_bench()
    assert bench.window.docks["keys"].isHidden()
    with qtbot.waitActive(bench.window, timeout=10_000):
        bench.window.activateWindow()
    QTest.keyClick(bench.window, Qt.Key.Key_F1)
    assert bench.window.docks["keys"].isVisible()
    assert not bench.window.views["keys"].visibleRegion().isEmpty()
