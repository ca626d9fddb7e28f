"""Nothing moves under the pointer: the controls stand where they stand, whatever is said above them, at every size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402
from PySide6.QtCore import QPoint, QRect, Qt  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget  # noqa: E402

from hil.dashboard.arm import arm_of_rig  # noqa: E402
from hil.dashboard.steady import SETTLED_S  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402
from hil.service.rights import Role  # noqa: E402
from hil.service.wire import LeasePhase  # noqa: E402
from hil.types import Mode  # noqa: E402

Make = Callable[..., Any]
SIZES = ((1366, 768), (1440, 900), (1820, 1000), (1920, 1080), (3840, 2160))


def controls(view: Any) -> dict[str, QRect]:
    """Where all that drives is, on the screen."""
    QApplication.processEvents()
    rows = [widget for row in view.joints.rows for widget in row.widgets]
    buttons = [*rows, *view.tool.buttons.values()]
    return {f"{n}": QRect(each.mapToGlobal(QPoint()), each.size()) for n, each in enumerate(buttons)}


def states(bench: Any) -> list[Callable[[], object]]:
    """What happens in an hour at an arm, as far as the controls are seen."""
    link, session = bench.link, bench.session
    return [
        lambda: link.lease_is(LeasePhase.FREE, holder="", waiting=0, slot_left_s=None),
        lambda: link.lease_is(LeasePhase.HELD, holder="Grace Hopper of the second row", waiting=3),
        lambda: link.lease_is(LeasePhase.HELD, holder="Grace", place=2, waiting=3),
        lambda: link.lease_is(LeasePhase.HELD, yours=True, holder="Ada", slot_left_s=900.0),
        lambda: link.lease_is(LeasePhase.HELD, yours=True, latched="stopped by Grace, who has seen a hand beside it"),
        lambda: link.lease_is(LeasePhase.HELD, yours=True, frozen=True, latched=""),
        lambda: link.lease_is(LeasePhase.CLEARING, frozen=False, must_park=True, holder=""),
        lambda: session.fail("Something did not work, and why is a long story. " * 6),
        lambda: link.changes.update(refusal="elbow: upper limit 85.0 deg, margin -2.5 deg. " * 3),
        lambda: setattr(link, "mode", Mode.STREAMING),
        lambda: setattr(link, "mode", Mode.HOLDING),
    ]


@pytest.mark.parametrize("rig", ["lynx6", "rv2aj"])
def test_no_control_moves_whatever_happens(rig: str, make_bench: Make) -> None:
    bench = make_bench(arm_of_rig(load_rig(rig)))
    bench.window.resize(1366, 768)
    bench.window.docks["drive"].raise_()
    bench.link.role, bench.link.mode = Role.TEACH, Mode.IDLE
    bench.link.come_back()
    bench.run(0.2)
    bench.draw()
    view = bench.window.views["drive"]
    before = controls(view)
    for happens in states(bench):
        happens()
        bench.run(0.2)
        bench.draw()
        assert controls(view) == before


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("rig", ["lynx6", "rv2aj"])
def test_every_control_is_seen_whole_at_every_size(rig: str, size: tuple[int, int], make_bench: Make) -> None:
    bench = make_bench(arm_of_rig(load_rig(rig)))
    bench.window.resize(*size)
    bench.window.reset_layout()
    bench.window.docks["drive"].raise_()
    bench.link.mode = Mode.IDLE
    bench.run(0.2)
    bench.draw()
    view: Any = bench.window.views["drive"]
    QApplication.processEvents()
    assert bench.window.size().width() <= size[0] and bench.window.size().height() <= size[1]
    for button in view.findChildren(QAbstractButton):
        if button.isVisible():
            assert seen_whole(button, view.viewport()), button.text() or button.accessibleName()
    assert view.verticalScrollBar().maximum() == 0, "nothing has to be scrolled to"
    assert bench.window.header.stop.visibleRegion().boundingRect().size() == bench.window.header.stop.size()


def seen_whole(widget: QWidget, inside: QWidget) -> bool:
    """Whether no edge cuts it off."""
    place = QRect(widget.mapTo(inside, QPoint()), widget.size())
    return inside.rect().contains(place) and widget.width() >= widget.minimumSizeHint().width()


def test_a_press_right_after_the_buttons_moved_is_left_out_and_said(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.docks["drive"].raise_()
    bench.link.mode = Mode.IDLE
    bench.link.lease_is(LeasePhase.HELD, yours=True, holder="Ada")
    bench.run(0.1)
    bench.draw()
    QApplication.processEvents()
    view: Any = bench.window.views["drive"]
    plus = view.joints.rows[0].plus
    bench.run(1.0)
    plus.move(plus.pos() + QPoint(0, 7))
    bench.run(SETTLED_S - 0.1)
    QTest.mousePress(plus, Qt.MouseButton.LeftButton)
    assert not view.driving.holding and "left out" in view.words.text()
    QTest.mouseRelease(plus, Qt.MouseButton.LeftButton)
    bench.run(0.2)
    QTest.mousePress(plus, Qt.MouseButton.LeftButton)
    assert view.driving.holding
    QTest.mouseRelease(plus, Qt.MouseButton.LeftButton)


def test_a_window_is_told_from_another_by_arm_and_person(make_bench: Make) -> None:
    bench = make_bench()
    assert bench.window.windowTitle().startswith("lynx6 (FAKE) - Ada - ")
