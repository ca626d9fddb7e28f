"""Comfort: for any eyes, by keyboard, in any language, to files, on fine screens, and honest about mistakes."""

from __future__ import annotations

import ast
import itertools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from looks import cut_off, focus_order, focusable  # noqa: E402
from PySide6.QtCore import Qt, QTimer, qWarning  # noqa: E402
from PySide6.QtGui import QImage  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMenu  # noqa: E402

import hil.dashboard  # noqa: E402
from hil.dashboard import header, window  # noqa: E402
from hil.dashboard.theme import LAMPS, THEMES, Theme, contrast, ink_on  # noqa: E402
from hil.dashboard.trouble import Troubles, watching  # noqa: E402
from hil.errors import LinkError  # noqa: E402

Make = Callable[..., Any]
BOTH = pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
FOLDER = Path(hil.dashboard.__file__).parent

# -- eyes --------------------------------------------------------------------------------------------------

TEXT, LINE = 4.5, 3.0
"""Least contrast of text and of lines by WCAG 2."""


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21.0)
    assert contrast("#777777", "#777777") == pytest.approx(1.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@BOTH
@pytest.mark.parametrize("ground", ["window", "panel"])
@pytest.mark.parametrize("ink", ["text", "faint", "accent", "good", "warn", "bad"])
def test_text_is_read_on_its_ground(ink: str, ground: str, theme: Theme) -> None:
    assert contrast(getattr(theme, ink), getattr(theme, ground)) >= TEXT


@BOTH
def test_curves_and_the_names_in_their_colours_stand_off(theme: Theme) -> None:
    for colour in theme.curves:
        assert contrast(colour, theme.panel) >= TEXT and contrast(colour, theme.window) >= LINE
        assert contrast(ink_on(colour), colour) >= TEXT, "a picked joint's button"
    assert contrast(theme.window, theme.accent) >= TEXT, "any other button that is down"


@BOTH
@pytest.mark.parametrize(
    "line", ["simulated", "commanded", "reported", "stopping", "trace", "fence", "keep_out", "accent"]
)
def test_lines_stand_off_the_scene(line: str, theme: Theme) -> None:
    assert contrast(getattr(theme, line), theme.scene) >= LINE
    assert contrast(getattr(theme, line), theme.window) >= LINE, "in the legend below it"


@BOTH
def test_the_axes_stand_off_the_scene(theme: Theme) -> None:
    assert all(contrast(colour, theme.scene) >= LINE for colour in theme.axes)


def test_every_lamp_is_read() -> None:
    for ground, ink, sign in (*LAMPS.values(), header.LOST, header.LATCHED, header.NOT_HEARD):
        assert contrast(ground, ink) >= TEXT and sign


LACKING = {
    "none": np.eye(3),
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What is seen without these cones, in linear red, green and blue: Machado, Oliveira and Fernandes 2009."""

XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, lacking: str) -> np.ndarray:
    """CIE L*a*b* of a colour as it is seen without some cones."""
    parts = np.array([int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(LACKING[lacking]) @ linear, 0.0, 1.0) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


@BOTH
@pytest.mark.parametrize("lacking", LACKING)
def test_no_two_joints_look_alike(lacking: str, theme: Theme) -> None:
    seen = [lab(colour, lacking) for colour in theme.curves]
    least = 35.0 if lacking == "none" else 18.0
    assert min(np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2)) > least


# -- hands -------------------------------------------------------------------------------------------------


def test_the_tab_key_reaches_everything(make_bench: Make, qtbot: Any) -> None:
    bench = make_bench()
    bench.run(1.0)
    for name, dock in bench.window.docks.items():
        bench.window.bring(dock)
        QApplication.processEvents()
        missed = set(focusable(bench.window)) - set(focus_order(bench.window, qtbot))
        assert not missed, f"{name}: {[each.accessibleName() or each.metaObject().className() for each in missed]}"


def test_tab_goes_from_left_to_right_within_the_buttons_of_a_row(make_bench: Make, qtbot: Any) -> None:
    bench = make_bench()
    order = [each for each in focus_order(bench.window, qtbot) if bench.window.live.isAncestorOf(each)]
    row = [each for each in order if each.y() == order[0].y()]
    assert len(row) > 5 and [each.x() for each in row] == sorted(each.x() for each in row)


@BOTH
def test_the_focus_is_seen(theme: Theme, make_bench: Make, qtbot: Any) -> None:
    bench = make_bench()
    bench.window.set_theme(theme)
    bench.run(1.0)
    with qtbot.waitActive(bench.window, timeout=10_000):
        bench.window.activateWindow()
    bench.window.setAttribute(Qt.WidgetAttribute.WA_KeyboardFocusChange)  # as the first Tab does
    unseen, looked_at = [], set()
    for dock in bench.window.docks.values():
        bench.window.bring(dock)
        QApplication.processEvents()
        # Header and arm stand beside every dock.
        fresh = set(focusable(bench.window)) - looked_at
        looked_at |= fresh
        for widget in fresh:
            elsewhere = bench.window.header.stop
            if widget is elsewhere:
                elsewhere = bench.window.live.scene
            elsewhere.setFocus(Qt.FocusReason.TabFocusReason)
            without = picture_of(widget)
            widget.setFocus(Qt.FocusReason.TabFocusReason)
            if not widget.hasFocus() or picture_of(widget) == without:
                unseen.append(f"{dock.objectName()}: {widget.accessibleName() or widget.metaObject().className()}")
    assert not unseen and len(looked_at) > 70


def picture_of(widget: Any) -> QImage:
    """With a little of what is around it, where a frame may be."""
    QApplication.processEvents()
    window = widget.window()
    return window.grab(
        widget.rect().translated(widget.mapTo(window, widget.rect().topLeft())).adjusted(-3, -3, 3, 3)
    ).toImage()


def test_no_two_entries_of_a_menu_share_a_letter(make_bench: Make) -> None:
    bench = make_bench()
    for menu in (bench.window._menu, *bench.window._menu.findChildren(QMenu)):
        letters = [found.group(1).lower() for each in menu.actions() if (found := re.search(r"&(\w)", each.text()))]
        assert len(letters) == len(set(letters)), [each.text() for each in menu.actions()]
    assert all("&" in each.text() for each in bench.window._menu.actions())


def test_no_two_actions_share_a_shortcut(make_bench: Make) -> None:
    bench = make_bench()
    menus = [bench.window._menu, *bench.window._menu.findChildren(QMenu)]
    keys = [each.shortcut().toString() for menu in menus for each in menu.actions() if not each.shortcut().isEmpty()]
    assert len(keys) == len(set(keys))


def test_everything_that_takes_the_focus_has_a_name_for_a_screen_reader(make_bench: Make) -> None:
    bench = make_bench()
    bench.run(1.0)
    nameless = []
    for dock in bench.window.docks.values():
        bench.window.bring(dock)
        QApplication.processEvents()
        nameless += [
            f"{dock.objectName()}: {each.metaObject().className()}"
            for each in focusable(bench.window)
            if not (each.accessibleName() or (hasattr(each, "text") and each.text()))
        ]
    assert not set(nameless)


def test_a_digit_with_ctrl_brings_a_dock_and_its_focus_and_closes_it_again(make_bench: Make, qtbot: Any) -> None:
    bench = make_bench()
    with qtbot.waitActive(bench.window, timeout=10_000):
        bench.window.activateWindow()
    number = list(bench.window.docks).index("events") + 1
    dock = bench.window.docks["events"]
    key = Qt.Key(Qt.Key.Key_0.value + number)
    QTest.keyClick(bench.window, key, Qt.KeyboardModifier.ControlModifier)
    assert not dock.widget().visibleRegion().isEmpty() and dock.isAncestorOf(bench.window.focusWidget())
    QTest.keyClick(bench.window, key, Qt.KeyboardModifier.ControlModifier)
    assert dock.isHidden()


def test_the_cursor_in_the_curves_goes_by_keys(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.bring(bench.window.docks["plots"])
    bench.run(20.0)
    bench.draw()
    plots = bench.window.views["plots"]
    QTest.keyClick(plots.stack.area, Qt.Key.Key_Left)
    assert plots._cursor_s == pytest.approx(20.0 - 0.3, abs=0.05)
    QTest.keyClick(plots.stack.area, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert plots._cursor_s == pytest.approx(20.0 - 3.3, abs=0.05)
    QTest.keyClick(plots.stack.area, Qt.Key.Key_Home)
    assert plots._cursor_s == pytest.approx(0.0, abs=0.05)
    QTest.keyClick(plots.stack.area, Qt.Key.Key_Left)
    assert plots._cursor_s == pytest.approx(0.0, abs=0.05)
    QTest.keyClick(plots.stack.area, Qt.Key.Key_Minus)
    assert plots._span_s == 120.0
    QTest.keyClick(plots.stack.area, Qt.Key.Key_Backspace)
    assert plots._cursor_s is None


def test_at_first_the_drive_view_is_in_front_and_has_the_focus(make_bench: Make, qtbot: Any) -> None:
    bench = make_bench()
    drive = bench.window.docks["drive"]
    qtbot.waitUntil(lambda: not drive.visibleRegion().isEmpty(), timeout=20_000)
    assert drive.isAncestorOf(bench.window.focusWidget())


@pytest.mark.parametrize("span", ["10 s", "30 s"])
def test_curves_of_an_arm_that_rests_have_no_gaps_though_it_is_heard_seldom(span: str, make_bench: Make) -> None:
    bench = make_bench()
    bench.window.bring(bench.window.docks["plots"])
    bench.link.period_s = 0.1
    bench.run(30.0)
    plots = bench.window.views["plots"]
    plots.show_newest(span)
    bench.draw()
    drawn = {
        name: plots.stack.curves[name, 0].opts["connect"].mean() for name in ("commanded", "simulated", "reported")
    }
    assert drawn["commanded"] > 0.97 > 0.8 > drawn["simulated"] > 0.4 > drawn["reported"] > 0.2


# -- languages ---------------------------------------------------------------------------------------------

WORDY = """
setText setToolTip setWindowTitle setAccessibleName setAccessibleDescription setPlaceholderText setStatusTip
setHorizontalHeaderLabels setVerticalHeaderLabels addAction addMenu addRow addItem addItems addTab setHtml
appendPlainText setPlainText setTitle setLabel setSuffix setPrefix setHeaderLabels setInformativeText drawText
insertItem setTabText QLabel QPushButton QToolButton QCheckBox QRadioButton QGroupBox QAction QDockWidget
QTableWidgetItem QTreeWidgetItem QMessageBox push toggle say note fail
"""
"""Calls that put words before people."""

ALIKE_EVERYWHERE = re.compile(
    r"deg|mm|ms|rad|kg|nbsp|span|style|color|br|b|left|bottom|[xyzXYZABC]|Qt"
    r"|<[^>]*>|&\w+;|\{[^}]*\}"
)
"""Units, axes, marks of HTML, names of sides for pyqtgraph."""


def words_that_are_not_handed_to_tr(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Literals with letters within calls that put words before people, not counting those inside `tr`."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and called(call) in WORDY.split():
            for argument in (*call.args, *(each.value for each in call.keywords)):
                yield from bare_words(argument)


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def bare_words(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Call | ast.Lambda | ast.Subscript | ast.Compare):
        return  # looked at by itself, or no words at all
    if isinstance(node, ast.IfExp):
        yield from bare_words(node.body)
        yield from bare_words(node.orelse)
        return
    if isinstance(node, ast.FormattedValue):
        yield from bare_words(node.value)
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        left = ALIKE_EVERYWHERE.sub(" ", node.value)
        if re.search(r"[A-Za-z]{2,}", left):
            yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        yield from bare_words(child)


def test_what_looks_for_words_finds_them() -> None:
    found = words_that_are_not_handed_to_tr(
        ast.parse("a.setText('Hello'); a.setText(tr('Hello')); a.setText(f'{x} mm'); a.setText(f'{x} wide')")
    )
    assert [text for _, text in found] == ["Hello", " wide"]


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_words_for_people_go_through_tr(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    assert not list(words_that_are_not_handed_to_tr(tree))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and called(call) == "tr" and call.args:
            assert not isinstance(call.args[0], ast.JoinedStr), f"line {call.lineno}: no table has a text like that"


# -- files -------------------------------------------------------------------------------------------------


def test_each_plot_is_exported_by_itself(make_bench: Make, tmp_path: Path) -> None:
    bench = make_bench()
    bench.window.bring(bench.window.docks["plots"])
    bench.run(10.0)
    bench.draw()
    plots = bench.window.views["plots"]
    kinds = ("png", "svg", "pdf", "csv")
    for kind in kinds:
        plots.export(tmp_path / f"all.{kind}")
    for name in ("position", "error", "speed"):
        for kind in kinds:
            plots.export(tmp_path / f"{name}.{kind}", (name,))
        assert QImage(str(tmp_path / f"{name}.png")) != QImage(str(tmp_path / "all.png"))
        assert (tmp_path / f"{name}.svg").read_text("utf-8").count("<path") > 0
        heads = (tmp_path / f"{name}.csv").read_text("utf-8").split("\n")[0].split(",")[1:]
        drawn = {"position": {"commanded", "simulated", "reported"}}.get(name, {name})
        assert {head.split("_")[0] for head in heads} == drawn
    assert all(plot.isVisible() for plot in plots.stack.plots.values()), "the window is as it was"


def test_the_export_menu_asks_for_a_file_and_says_what_was_written(
    make_bench: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = make_bench()
    bench.run(5.0)
    bench.draw()
    plots = bench.window.views["plots"]
    menu = QMenu()
    plots._fill_export(menu)
    entries = {part.title().replace("&", ""): part for part in menu.findChildren(QMenu)}
    assert set(entries) == {"All", "position", "error", "speed"}
    kinds = {action.text(): action for action in entries["error"].actions()}
    assert list(kinds) == ["PNG", "SVG", "PDF", "CSV"]
    answer = [str(tmp_path / "mine")]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (answer[0], ""))
    kinds["CSV"].trigger()
    assert (tmp_path / "mine.csv").exists() and "mine.csv" in bench.session.lines[-1]
    answer[0] = str(tmp_path / "nowhere" / "mine.svg")
    kinds["SVG"].trigger()
    assert bench.window.banner.isVisible() and "mine.svg" in bench.window.banner.text.text()
    answer[0] = str(tmp_path / "mine.jpg")
    kinds["SVG"].trigger()
    assert "allowed: a name that ends in .png, .svg or .pdf" in bench.window.banner.text.text()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    answer[0] = str(tmp_path / "mine.svg")
    kinds["SVG"].trigger()
    assert "hil-arm-bridge[plot]" in bench.window.banner.text.text()


# -- screens -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1280, 800), (2560, 1440)])
def test_no_words_are_cut_off(size: tuple[int, int], make_bench: Make) -> None:
    bench = make_bench()
    bench.window.resize(*size)
    bench.run(2.0)
    for dock in bench.window.docks.values():
        bench.window.bring(dock)
        bench.draw()
        for _ in range(3):
            QApplication.processEvents()
        assert not cut_off(bench.window), dock.objectName()


SCALED = """
import sys
from PySide6.QtCore import QSettings
from looks import cut_off
from hil.dashboard.application import make_application
from hil.dashboard.arm import arm_of_rig
from pretend import PretendLink
from hil.dashboard.session import Session
from hil.dashboard.window import Window
from hil.runtime.wiring import load_rig

app = make_application()
link = PretendLink(arm_of_rig(load_rig("lynx6")))
session = Session(link)
window = Window(session, QSettings(sys.argv[1], QSettings.Format.IniFormat), opengl=False, size=(1280, 800))
window.show()
link.begin()
link.advance(2.0)
session.take()
window.tour.begin()
for dock in window.docks.values():
    window.bring(dock)
    window.header.refresh()
    window.live.refresh()
    for _ in range(3):
        app.processEvents()
    assert not cut_off(window), (dock.objectName(), cut_off(window))
picture = window.grab()
ratio = picture.devicePixelRatio()
assert ratio == float(sys.argv[2]), ratio
assert (picture.width(), picture.height()) == (round(1280 * ratio), round(800 * ratio)), picture.size()
scene = window.live.scene.grab()
assert abs(scene.width() - window.live.scene.width() * ratio) <= 1
window.close()
"""


@pytest.mark.processes
@pytest.mark.parametrize("scale", ["1.25", "1.5", "2"])
def test_on_a_finer_screen_nothing_is_cut_off_and_all_is_finer(scale: str, tmp_path: Path) -> None:
    environment = {**os.environ, "QT_SCALE_FACTOR": scale, "QT_QPA_PLATFORM": "offscreen"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-c", SCALED, str(tmp_path / "layout.ini"), scale]
    child = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, check=False)
    assert child.returncode == 0, child.stdout + child.stderr


# -- mistakes ----------------------------------------------------------------------------------------------


@pytest.fixture
def watched(make_bench: Make, tmp_path: Path) -> Iterator[Any]:
    """A window that is told of what goes wrong, as `run` does it."""
    bench = make_bench()
    bench.troubles = Troubles(tmp_path / "logs" / "dashboard.log")
    bench.troubles.failed.connect(bench.session.fail, Qt.ConnectionType.QueuedConnection)
    bench.troubles.noted.connect(bench.session.note, Qt.ConnectionType.QueuedConnection)
    with watching(bench.troubles):
        yield bench


def _break() -> None:
    raise ValueError("the rod is bent")


@pytest.mark.qt_no_exception_capture
def test_a_mistake_in_a_slot_is_said_in_the_window_and_written_down(watched: Any, qtbot: Any, capfd: Any) -> None:
    QTimer.singleShot(0, _break)
    qtbot.waitUntil(lambda: watched.window.banner.isVisible(), timeout=20_000)
    said = watched.window.banner.text.text()
    assert "ValueError: the rod is bent" in said and "STOP still works" in said and str(watched.troubles.file) in said
    assert any("the rod is bent" in line for line in watched.session.lines)
    written = watched.troubles.file.read_text("utf-8")
    assert "in _break" in written and "Traceback" in written
    assert "rod is bent" not in capfd.readouterr().err
    QTest.keyClick(watched.window, Qt.Key.Key_Escape)
    assert watched.link.stops


@pytest.mark.qt_no_exception_capture
def test_a_mistake_in_another_thread_is_said_too(watched: Any, qtbot: Any) -> None:
    thread = threading.Thread(target=_break)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: watched.window.banner.isVisible(), timeout=20_000)
    assert "the rod is bent" in watched.window.banner.text.text()


@pytest.mark.qt_no_exception_capture
def test_the_same_mistake_again_and_again_is_written_once(watched: Any) -> None:
    for _ in range(50):
        try:
            _break()
        except ValueError as error:
            sys.excepthook(type(error), error, error.__traceback__)
    QApplication.processEvents()
    assert sum("the rod is bent" in line for line in watched.session.lines) == 1
    assert watched.troubles.file.read_text("utf-8").count("Traceback") == 1


@pytest.mark.qt_no_exception_capture
def test_an_error_that_explains_itself_is_shown_in_its_own_words(watched: Any, qtbot: Any) -> None:
    error = LinkError("the lab cannot be reached: ask its owner", port="lab")
    sys.excepthook(type(error), error, None)
    qtbot.waitUntil(lambda: watched.window.banner.isVisible(), timeout=20_000)
    assert watched.window.banner.text.text() == "the lab cannot be reached: ask its owner"


def test_what_qt_complains_of_is_listed_and_written_down(watched: Any, qtbot: Any) -> None:
    qWarning("a layout went astray")
    qtbot.waitUntil(lambda: any("went astray" in line for line in watched.session.lines), timeout=20_000)
    assert "a layout went astray" in watched.troubles.file.read_text("utf-8")
    assert not watched.window.banner.isVisible(), "a complaint is no reason to call people"


def test_afterwards_everything_is_as_it_was(tmp_path: Path) -> None:
    before = sys.excepthook, threading.excepthook
    with watching(Troubles(tmp_path / "dashboard.log")):
        assert sys.excepthook is not before[0] and threading.excepthook is not before[1]
    assert (sys.excepthook, threading.excepthook) == before


def test_a_banner_is_read_and_put_away(make_bench: Make) -> None:
    bench = make_bench()
    bench.session.fail("the cable is out")
    assert bench.window.banner.isVisible()
    assert contrast(*re.findall(r"#[0-9a-f]{6}", bench.window.banner.styleSheet())[:2]) >= TEXT
    assert bench.window.banner.findChild(QLabel).text() == "the cable is out"
    assert isinstance(bench.window.banner, window.Banner)
