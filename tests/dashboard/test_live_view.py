"""The window as a person meets it: what it shows, what its keys do, what it says when the service goes away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from pretend import welcome_of  # noqa: E402
from PySide6.QtCore import QPointF, Qt, QTranslator  # noqa: E402
from PySide6.QtGui import QAction, QImage  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit  # noqa: E402

import hil  # noqa: E402
from hil.dashboard.arm import arm_of_files, arm_of_model, arm_of_rig  # noqa: E402
from hil.dashboard.theme import LIGHT  # noqa: E402
from hil.model.files import list_names  # noqa: E402
from hil.model.reader import load_robot  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402
from hil.service.rig_copy import pulled  # noqa: E402
from hil.types import Mode, StateSource  # noqa: E402

Make = Callable[..., Any]


@pytest.mark.parametrize("name", hil.list_robots())
def test_the_window_opens_with_every_robot(name: str, make_bench: Make) -> None:
    bench = make_bench(arm_of_model(load_robot(name)))
    bench.run(1.0)
    look_at_all(bench)
    assert bench.session.history.end_s == pytest.approx(1.0)
    assert load_robot(name).title in bench.window.views["robot"].page.toPlainText()


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.UNKNOWN_POSE, Mode.FAULT])
@pytest.mark.parametrize("name", list_names("rigs"))
def test_the_window_opens_with_every_rig(name: str, mode: Mode, make_bench: Make) -> None:
    bench = make_bench(arm_of_rig(load_rig(name, calibrated=False)))
    bench.link.mode = mode
    bench.run(1.0)
    look_at_all(bench)


def look_at_all(bench: Any) -> None:
    """Bring every view to the front, and draw it."""
    bench.draw()
    for name, dock in bench.window.docks.items():
        bench.window.bring(dock)
        if hasattr(bench.window.views[name], "refresh"):
            bench.window.views[name].refresh()
        assert dock.isVisible() and not dock.grab().isNull()
    assert bench.window.width() == 1280 and bench.window.height() == 800, "the window fits a small screen"


@pytest.mark.parametrize("name", ["lynx6", "lynx6-4axis", "al5d", "rv2aj"])
def test_a_pulled_rig_is_the_rig(name: str) -> None:
    rig = load_rig(name, calibrated=False)
    own = arm_of_rig(rig)
    arm = arm_of_files(pulled(name, rig), welcome_of(own, 0.0, 0.02).axes)
    assert arm.model.joints == rig.robot.joints and arm.fences == rig.fences
    assert [axis.name for axis in arm.axes] == [axis.name for axis in own.axes]


def test_the_lamp_says_what_the_arm_does(make_bench: Make) -> None:
    bench = make_bench()
    for mode, word in ((Mode.STREAMING, "MOVING"), (Mode.FAULT, "FAULT"), (Mode.UNKNOWN_POSE, "POSE UNKNOWN")):
        bench.link.mode = mode
        bench.run(0.1)
        bench.draw()
        assert word in bench.window.header.lamp.text()
    assert any("FAULT" in line for line in bench.session.lines)


@pytest.mark.parametrize("key", [Qt.Key.Key_Escape, Qt.Key.Key_Space])
def test_esc_and_space_stop_whatever_has_the_focus(key: Qt.Key, make_bench: Make) -> None:
    bench = make_bench()
    widgets = [bench.window, bench.window.live.scene, *bench.window.findChildren(QAbstractButton)[:12]]
    for count, widget in enumerate(widgets, start=1):
        checked = isinstance(widget, QAbstractButton) and widget.isChecked()
        QTest.keyClick(widget, key)
        assert len(bench.link.stops) == count
        assert not isinstance(widget, QAbstractButton) or widget.isChecked() == checked, "a stop presses no button"
    assert bench.link.mode is Mode.HOLDING


def test_a_space_in_a_text_is_a_letter_and_esc_stops_there_too(make_bench: Make, qtbot: Any) -> None:
    bench = make_bench()
    field = QLineEdit()
    qtbot.addWidget(field)
    field.show()
    QTest.keyClicks(field, "a b")
    assert field.text() == "a b" and not bench.link.stops
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert len(bench.link.stops) == 1


def test_return_presses_what_has_the_focus(make_bench: Make) -> None:
    bench = make_bench()
    plots = bench.window.views["plots"]
    button = next(each for each in plots.findChildren(QAbstractButton) if each.text() == "Pause")
    QTest.keyClick(button, Qt.Key.Key_Return)
    assert plots.paused


def test_the_stop_button_counts_when_it_goes_down_and_is_never_disabled(make_bench: Make) -> None:
    bench = make_bench()
    bench.link.lose()
    bench.draw()
    assert bench.window.header.stop.isEnabled() and bench.window.header.stop.isVisible()
    bench.link.come_back()
    QTest.mousePress(bench.window.header.stop, Qt.MouseButton.LeftButton)
    assert len(bench.link.stops) == 1
    QTest.mouseRelease(bench.window.header.stop, Qt.MouseButton.LeftButton)
    assert len(bench.link.stops) == 1


def test_a_stop_that_reaches_nobody_is_said_loudly(make_bench: Make) -> None:
    bench = make_bench()
    bench.link.lose()
    QTest.keyClick(bench.window, Qt.Key.Key_Escape)
    assert bench.window.banner.isVisible() and "could not be sent" in bench.window.banner.text.text()


def test_a_lost_service_is_shown_at_once_and_its_return_too(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(1.0)
    bench.link.lose("the channel was closed")
    bench.draw()
    assert "NO CONNECTION" in bench.window.header.lamp.text()
    bench.run(10.0)
    bench.link.come_back()
    bench.run(0.2)
    bench.draw()
    assert "MOVING" in bench.window.header.lamp.text()
    span = bench.session.history.between(0.0, 20.0, 4000)
    assert span.gap.sum() == 1, "no line joins what was before with what is now"


def test_silence_is_not_shown_as_if_it_were_now(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(1.0)
    bench.now_s += 3.0
    bench.draw()
    assert "OLD" in bench.window.header.lamp.text()
    assert bench.session.resting_place() is None


def test_time_goes_on_when_the_servers_clock_starts_anew(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(5.0)
    bench.link.lose()
    bench.now_s += 3.0
    bench.link.now_s = 10.0
    bench.link.come_back()
    bench.run(1.0)
    assert bench.session.history.end_s == pytest.approx(9.0, abs=0.1)


def test_the_reason_of_a_refusal_is_in_the_window(make_bench: Make) -> None:
    bench = make_bench()
    bench.link.changes["refusal"] = "elbow: upper limit 85.0 deg; nearest allowed: 85.0 deg"
    bench.run(0.1)
    bench.draw()
    shown = [label.text() for label in bench.window.views["status"].findChildren(QLabel)]
    assert any("upper limit 85.0 deg" in text for text in shown)
    assert sum("upper limit 85.0 deg" in line for line in bench.session.lines) == 1


@pytest.mark.parametrize("source", [StateSource.ECHOED, StateSource.MEASURED])
def test_the_reported_outline_says_how_it_is_known(source: StateSource, make_bench: Make) -> None:
    bench = make_bench()
    bench.link.source = source
    bench.run(0.1)
    bench.draw()
    assert source.name in bench.window.live._legend.text()


def test_the_matrix_is_the_pose_of_the_tool(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(0.5)
    bench.window.docks["pose"].raise_()
    QApplication.processEvents()
    view = bench.window.views["pose"]
    view.refresh()
    shown = np.array([[float(cell) for cell in row.split()] for row in view.matrix.text().splitlines()])
    joints = bench.session.newest.simulated[: bench.session.arm.robot.dof]
    assert np.abs(shown - bench.session.arm.robot.forward_kinematics(joints)).max() < 6e-5
    assert np.linalg.det(shown) == pytest.approx(1.0, abs=1e-3)


def test_curves_are_read_under_the_cursor_while_they_run(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(5.0)
    bench.draw()
    plots = bench.window.views["plots"]
    plots.point_at(2.0)
    was = plots._readout._table.item(0, 1).text()
    bench.run(1.0)
    bench.draw()
    assert plots._readout._table.item(0, 1).text() == was
    plots.point_at(None)
    assert plots._readout._table.item(0, 1).text() != was


def test_a_pause_holds_the_curves_while_recording_goes_on(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(40.0)
    bench.draw()
    plots = bench.window.views["plots"]
    plots.pause()
    before = plots.stack.plots["position"].viewRange()[0]
    bench.run(5.0)
    bench.draw()
    assert plots.stack.plots["position"].viewRange()[0] == before
    assert bench.session.history.end_s == pytest.approx(45.0)
    plots._scroll.setValue(plots._scroll.minimum())
    bench.draw()
    assert plots.stack.plots["position"].viewRange()[0] == pytest.approx([0.0, 30.0], abs=0.2)
    plots.pause(False)
    bench.draw()
    assert plots.stack.plots["position"].viewRange()[0][1] == pytest.approx(45.0)


def test_lines_are_told_apart_without_colours(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(20.0)
    bench.draw()
    plots = bench.window.views["plots"]
    drawn = {
        name: plots.stack.curves[name, 0].opts["connect"].mean() for name in ("commanded", "simulated", "reported")
    }
    assert drawn["commanded"] > 0.98 > 0.75 > drawn["simulated"] > 0.5 > drawn["reported"] > 0.2


def test_any_plot_is_written_as_picture_and_numbers(make_bench: Make, tmp_path: Path) -> None:
    bench = make_bench()
    bench.window.bring(bench.window.docks["plots"])
    bench.run(10.0)
    bench.draw()
    plots = bench.window.views["plots"]
    for kind in ("png", "svg", "pdf", "csv"):
        plots.export(tmp_path / f"curves.{kind}")
    assert QImage(str(tmp_path / "curves.png")).width() >= 1280
    drawn = (tmp_path / "curves.svg").read_text("utf-8")
    assert ">FAKE " in drawn and ", 2027-01-15 08:00:00 UTC<" in drawn, "the figure says which arm, and when"
    assert all(f">{words}<" in drawn for words in ("commanded", "simulated", "reported", "time of the session, s"))
    assert (tmp_path / "curves.pdf").read_bytes().startswith(b"%PDF")
    rows = (tmp_path / "curves.csv").read_text("utf-8").splitlines()
    assert rows[0].startswith("t_s,commanded_base_deg,") and len(rows) == 501


def test_layout_and_colours_are_remembered(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.set_theme(LIGHT)
    bench.window.docks["robot"].close()
    bench.window.close()
    again = make_bench()
    assert again.window.theme is LIGHT and not again.window.docks["robot"].isVisible()
    again.window.reset_layout()
    assert not again.window.docks["robot"].isHidden()


def test_two_thousand_repaints_are_survived_and_keep_memory(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.resize(640, 400)
    size = bench.session.history.nbytes
    for number in range(2000):
        bench.run(0.04)
        bench.window.live.refresh()
        bench.window.live.scene.repaint()
        if number % 40 == 0:
            bench.draw()
    assert bench.session.history.nbytes == size and bench.link.dropped == 0


def test_a_busy_window_drops_the_oldest_frames_and_counts_them(make_bench: Make) -> None:
    bench = make_bench()
    bench.link.advance(60.0)
    bench.session.take()
    assert bench.link.dropped > 0
    assert bench.session.newest.now_s == bench.link.now_s


def test_mouse_and_keys_move_the_camera(make_bench: Make) -> None:
    bench = make_bench()
    scene = bench.window.live.scene
    first = scene.camera
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Plus, Qt.Key.Key_6):
        QTest.keyClick(scene, key)
        assert scene.camera != first
        first = scene.camera
    QTest.mousePress(scene, Qt.MouseButton.LeftButton, pos=QPointF(100, 100).toPoint())
    QTest.mouseMove(scene, QPointF(160, 120).toPoint())
    QTest.mouseRelease(scene, Qt.MouseButton.LeftButton)
    assert scene.camera != first


class _Capitals(QTranslator):
    """A language in which every text of ours is written large, which no other text is."""

    def translate(self, context: str, text: str, disambiguation: str | None = None, n: int = -1) -> str:
        return text.replace("{", "\0").upper() if context == "dashboard" and "{" not in text else ""

    def isEmpty(self) -> bool:  # noqa: N802 - Qt's name
        return False


def test_every_text_of_the_window_can_be_translated(make_bench: Make) -> None:
    app = QApplication.instance() or QApplication([])
    language = _Capitals()
    app.installTranslator(language)
    try:
        bench = make_bench()
        bench.run(0.1)
        texts = [action.text() for action in bench.window.findChildren(QAction) if action.text()]
        texts += [button.text() for button in bench.window.findChildren(QAbstractButton)]
        names = {axis.name for axis in bench.session.arm.axes}
        small = [text for text in texts if text != text.upper() and text not in names]
        assert not small
    finally:
        app.removeTranslator(language)
