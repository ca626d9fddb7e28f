"""Driving from the window: it moves while a hand is on it, says what is missing, and lets go when nobody looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qt_ready import require_qt

require_qt()

import pytest  # noqa: E402
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt  # noqa: E402
from PySide6.QtGui import QKeyEvent, QMouseEvent  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication, QDialog, QLabel, QLineEdit  # noqa: E402

from hil.dashboard.arm import arm_of_model, arm_of_rig  # noqa: E402
from hil.dashboard.drive_checks import Check, Remedy, checks  # noqa: E402
from hil.dashboard.drive_moves import Direction  # noqa: E402
from hil.dashboard.texts import NOTICES  # noqa: E402
from hil.model.reader import load_robot  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402
from hil.service import wire  # noqa: E402
from hil.service.rights import Role  # noqa: E402
from hil.service.wire import LeasePhase, NoticeKind  # noqa: E402
from hil.types import JogFrame, Mode  # noqa: E402
from hil.units import DEG  # noqa: E402

Make = Callable[..., Any]
LEFT = Qt.MouseButton.LeftButton
BASE, SHOULDER = 0, 1


class Driver:
    """A person at the Drive view of a window."""

    def __init__(self, bench: Any) -> None:
        self.bench, self.link, self.session = bench, bench.link, bench.session
        self.view = bench.window.views["drive"]
        self.driving = self.view.driving

    def run(self, seconds: float) -> None:
        """Time goes on, and the window is as quick as it shall be."""
        for _ in range(round(seconds / 0.02)):
            self.bench.run(0.02)
            self.session.dead_man.tick()
        self.view.refresh()

    def take_the_arm(self) -> None:
        """Nobody drives, then we do."""
        self.link.mode = Mode.IDLE
        self.link.lease_is(LeasePhase.FREE, holder="", waiting=0, slot_left_s=None)
        self.run(0.1)
        self.view.lease.drive.click()
        self.look()

    def come_in_as(self, role: Role, **facts: Any) -> None:
        """Log in as somebody else."""
        self.link.role = role
        for name, value in facts.items():
            setattr(self.link, name, value)
        self.link.come_back()
        self.look()

    def look(self) -> None:
        """See the buttons come, and press none before they stand still."""
        self.run(0.1)
        QApplication.processEvents()
        self.run(0.4)

    def at(self, axis: int) -> float:
        """Where an axis is."""
        return float(self.session.newest.commanded[axis])

    def moves(self) -> bool:
        """Whether the arm moves now."""
        before = self.session.newest.commanded
        self.run(0.2)
        return self.session.newest.commanded != before

    @property
    def missing(self) -> str:
        """What the view says is missing."""
        missing = self.view.checklist.missing
        return str(missing.toolTip() or missing.text()) if self.view.checklist.bad else ""

    def shown(self) -> str:
        """Everything that the view says."""
        return " ".join(label.text() for label in self.view.findChildren(QLabel) if label.isVisible())


@pytest.fixture
def driver(make_bench: Make) -> Driver:
    """Who may drive, and does."""
    bench = make_bench()
    bench.window.docks["drive"].raise_()
    QApplication.processEvents()
    driver = Driver(bench)
    driver.take_the_arm()
    assert driver.driving.drives
    return driver


# -- held -------------------------------------------------------------------------------------------------------------


def test_a_joint_moves_while_its_button_is_held_and_stops_when_it_is_let_go(driver: Driver) -> None:
    plus, before = driver.view.joints.rows[BASE].plus, driver.at(BASE)
    QTest.mousePress(plus, LEFT)
    driver.run(0.5)
    assert driver.at(BASE) > before
    assert driver.link.grips > 3, "the dead-man is said to be held again and again"
    QTest.mouseRelease(plus, LEFT)
    driver.run(0.1)
    assert not driver.moves()
    assert driver.link.mode is Mode.HOLDING


def test_a_pointer_that_leaves_the_button_lets_go_and_coming_back_is_no_new_wish(driver: Driver) -> None:
    plus = driver.view.joints.rows[BASE].plus
    QTest.mousePress(plus, LEFT)
    driver.run(0.2)
    QTest.mouseMove(plus, QPoint(-30, 5))
    driver.run(0.1)
    assert not driver.moves()
    QTest.mouseMove(plus, plus.rect().center())
    assert not driver.moves()
    QTest.mouseRelease(plus, LEFT)


@pytest.mark.parametrize(("key", "sign"), [(Qt.Key.Key_Plus, 1), (Qt.Key.Key_Left, -1)])
def test_keys_move_the_selected_joint_while_they_are_down(key: Qt.Key, sign: int, driver: Driver) -> None:
    QTest.keyClick(driver.view, Qt.Key.Key_2)
    before = driver.at(SHOULDER)
    QTest.keyPress(driver.view, key)
    driver.run(0.4)
    assert sign * (driver.at(SHOULDER) - before) > 0.0
    QTest.keyRelease(driver.view, key)
    driver.run(0.1)
    assert not driver.moves()


def test_a_key_that_repeats_itself_is_neither_a_press_nor_a_release(driver: Driver) -> None:
    def repeat(kind: QEvent.Type) -> None:
        event = QKeyEvent(kind, Qt.Key.Key_Plus, Qt.KeyboardModifier.NoModifier, "+", True)
        QApplication.sendEvent(driver.view, event)

    repeat(QEvent.Type.KeyPress)
    assert not driver.moves(), "a repetition begins nothing"
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    driver.run(0.2)
    repeat(QEvent.Type.KeyRelease)
    repeat(QEvent.Type.KeyPress)
    assert driver.moves(), "a repetition ends nothing"
    QTest.keyRelease(driver.view, Qt.Key.Key_Plus)
    driver.run(0.1)
    assert not driver.moves()


def test_keys_of_the_pad_lead_the_tool_in_the_frame_that_is_picked(driver: Driver) -> None:
    QTest.keyClick(driver.view, Qt.Key.Key_Q)
    QTest.keyPress(driver.view, Qt.Key.Key_W)
    driver.run(0.2)
    QTest.keyRelease(driver.view, Qt.Key.Key_W)
    driver.run(0.1)
    asked = [each for each in driver.link.asked if each.startswith("ToolJog")]
    assert asked and all("JogFrame.TOOL" in each and "linear=(0.0625, 0.0, 0.0)" in each for each in asked)
    assert driver.driving.frame is JogFrame.TOOL


def test_dragging_a_slider_leads_the_axis_there_at_the_speed_allowed_and_never_jumps(driver: Driver) -> None:
    bar, axis = driver.view.joints.rows[BASE].bar, driver.driving.arm.axes[BASE]
    before = driver.at(BASE)
    QTest.mousePress(bar, LEFT, pos=QPoint(round(bar.x_of(before + 20.0 * DEG)), 9))
    target = driver.driving.targets[BASE]
    for _ in range(10):
        here = driver.at(BASE)
        driver.run(0.02)
        assert abs(driver.at(BASE) - here) <= 0.25 * axis.speed * 0.02 * 1.01
    driver.run(6.0)
    assert abs(driver.at(BASE) - target) < 0.1 * DEG
    QTest.mouseRelease(bar, LEFT)
    driver.run(0.1)
    assert driver.link.mode is Mode.HOLDING


def test_a_slider_that_is_let_go_of_stops_on_the_way(driver: Driver) -> None:
    bar = driver.view.joints.rows[BASE].bar
    QTest.mousePress(bar, LEFT, pos=QPoint(bar.width() - 1, 9))
    driver.run(0.4)
    QTest.mouseRelease(bar, LEFT)
    driver.run(0.1)
    assert not driver.moves()
    assert driver.at(BASE) < driver.driving.targets[BASE]


def test_a_slider_cannot_leave_the_limits(driver: Driver) -> None:
    bar, axis = driver.view.joints.rows[BASE].bar, driver.driving.arm.axes[BASE]
    QTest.mousePress(bar, LEFT, pos=QPoint(bar.width() // 2, 9))
    QTest.mouseMove(bar, QPoint(bar.width() + 500, 9))
    QTest.mouseRelease(bar, LEFT)
    assert driver.driving.targets[BASE] <= axis.upper


def test_a_typed_target_moves_nothing_until_go_is_held(driver: Driver) -> None:
    row = driver.view.joints.rows[BASE]
    row.field.setFocus()
    QTest.keyClicks(row.field, "12.5")
    QTest.keyClick(row.field, Qt.Key.Key_Return)
    assert driver.driving.targets[BASE] == pytest.approx(12.5 * DEG)
    assert not driver.moves()
    QTest.mousePress(row.go, LEFT)
    driver.run(8.0)
    QTest.mouseRelease(row.go, LEFT)
    assert driver.at(BASE) == pytest.approx(12.5 * DEG, abs=0.1 * DEG)


@pytest.mark.parametrize(("typed", "said"), [("200", "allowed: -86.0 to 86.0 deg"), ("abc", "is no number")])
def test_a_target_that_cannot_be_is_refused_with_joint_and_limit(typed: str, said: str, driver: Driver) -> None:
    field = driver.view.joints.rows[BASE].field
    QTest.keyClicks(field, typed)
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert BASE not in driver.driving.targets
    assert said in driver.view.words.text() and "base" in driver.view.words.text()


def test_an_increment_is_one_step_a_press(driver: Driver) -> None:
    for _ in range(3):
        QTest.keyClick(driver.view, Qt.Key.Key_E)
    assert driver.driving.increment == 2.0
    before, plus = driver.at(BASE), driver.view.joints.rows[BASE].plus
    QTest.mousePress(plus, LEFT)
    driver.run(1.0)
    QTest.mouseRelease(plus, LEFT)
    driver.run(0.2)
    assert driver.at(BASE) - before == pytest.approx(2.0 * DEG)


def test_there_and_back_by_increments_ends_where_it_began(driver: Driver) -> None:
    driver.driving.set_increment(10.0)
    before = driver.at(BASE)
    for sign in (1, -1):
        driver.driving.press_axis("test", BASE, sign)
        driver.run(0.2)
    assert driver.at(BASE) == pytest.approx(before, abs=1e-9)


def test_an_increment_that_waits_for_the_arm_to_stop_is_called_off_by_a_stop(driver: Driver) -> None:
    driver.driving.set_increment(10.0)
    driver.link.mode = Mode.STOPPING
    driver.run(0.1)
    before = driver.at(BASE)
    driver.driving.press_axis("test", BASE, 1)
    driver.run(0.2)
    driver.driving.session.stop()
    driver.link.mode = Mode.HOLDING
    driver.run(1.0)
    assert driver.at(BASE) == before


def test_what_was_said_of_the_press_before_does_not_linger(driver: Driver) -> None:
    driver.driving.say("something was refused")
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    assert driver.view.words.text() == ""
    QTest.keyRelease(driver.view, Qt.Key.Key_Plus)


def test_one_thing_at_a_time(driver: Driver) -> None:
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    driver.run(0.1)
    QTest.keyPress(driver.view, Qt.Key.Key_W)
    driver.run(0.1)
    assert "one at a time" in driver.view.words.text()
    assert not any(each.startswith("ToolJog") for each in driver.link.asked)
    QTest.keyRelease(driver.view, Qt.Key.Key_W)
    assert driver.moves(), "the first one goes on"
    QTest.keyRelease(driver.view, Qt.Key.Key_Plus)


def test_a_planned_move_goes_on_while_its_key_is_held(driver: Driver) -> None:
    QTest.keyPress(driver.view, Qt.Key.Key_H)
    driver.run(2.0)
    assert driver.at(BASE) == driver.driving.arm.axes[BASE].home
    QTest.keyRelease(driver.view, Qt.Key.Key_H)
    assert "go home" in driver.link.asked


# -- nobody looks -----------------------------------------------------------------------------------------------------


def lose_the_focus(driver: Driver, qtbot: Any) -> None:
    QApplication.sendEvent(driver.bench.window, QEvent(QEvent.Type.WindowDeactivate))


def open_a_dialog(driver: Driver, qtbot: Any) -> None:
    dialog = QDialog(driver.bench.window)
    qtbot.addWidget(dialog)
    dialog.open()


def hide_the_dock(driver: Driver, qtbot: Any) -> None:
    driver.bench.window.docks["drive"].close()


def bring_another_dock(driver: Driver, qtbot: Any) -> None:
    driver.bench.window.docks["plots"].raise_()
    QApplication.processEvents()


def minimise(driver: Driver, qtbot: Any) -> None:
    driver.bench.window.showMinimized()
    QApplication.processEvents()


def lock_the_screen(driver: Driver, qtbot: Any) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    app.applicationStateChanged.emit(Qt.ApplicationState.ApplicationInactive)


def go_to_another_widget(driver: Driver, qtbot: Any) -> None:
    driver.bench.window.activateWindow()
    driver.view.setFocus()
    QApplication.processEvents()
    driver.bench.window.live.scene.widget.setFocus()
    QApplication.processEvents()


@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize(
    "lose",
    [lose_the_focus, open_a_dialog, hide_the_dock, bring_another_dock, minimise, lock_the_screen, go_to_another_widget],
)
def test_who_no_longer_looks_lets_go(lose: Callable[..., None], by_key: bool, driver: Driver, qtbot: Any) -> None:
    if by_key:
        QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    else:
        QTest.mousePress(driver.view.joints.rows[BASE].plus, LEFT)
    assert driver.moves()
    lose(driver, qtbot)
    driver.run(0.1)
    assert not driver.moves()
    assert driver.link.mode is Mode.HOLDING


def test_a_window_that_hung_lets_go_and_does_not_go_on_by_itself(driver: Driver) -> None:
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    driver.run(0.3)
    for _ in range(20):
        driver.bench.run(0.05)
    assert driver.link.mode is Mode.HOLDING
    driver.run(0.3)
    assert not driver.moves()
    assert "busy" in driver.view.words.text()


def repeat_a_key(driver: Driver) -> None:
    event = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Plus, Qt.KeyboardModifier.NoModifier, "+", True)
    QApplication.sendEvent(driver.view, event)


def test_a_key_that_repeats_itself_reports_and_shows_no_hand(driver: Driver) -> None:
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    driver.run(0.1)
    pressed = driver.link.sign
    assert pressed.changed_s == pytest.approx(driver.session.now_s, abs=0.2)
    assert pressed.reported_s is None, "before it has repeated itself nobody can ask it to"
    driver.run(0.5)
    repeat_a_key(driver)
    driver.run(0.1)
    assert driver.link.sign.changed_s == pressed.changed_s
    assert driver.link.sign.reported_s == pytest.approx(pressed.changed_s + 0.6, abs=0.2)
    QTest.keyRelease(driver.view, Qt.Key.Key_Plus)


def test_another_key_or_a_pointer_that_moves_shows_a_hand_and_one_that_lies_still_does_not(driver: Driver) -> None:
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    repeat_a_key(driver)
    driver.run(0.5)
    pressed_s = driver.link.sign.changed_s
    QTest.keyPress(driver.view, Qt.Key.Key_Shift)
    driver.run(0.1)
    shifted_s = driver.link.sign.changed_s
    assert shifted_s > pressed_s
    assert driver.link.sign.reported_s is None, "of two keys only the newer one repeats itself"
    driver.run(0.3)
    for place, moved in ((QPoint(5, 5), False), (QPoint(5, 5), False), (QPoint(9, 5), True)):
        before_s = driver.link.sign.changed_s
        where = QPointF(driver.view.mapToGlobal(place))
        QApplication.sendEvent(
            driver.view,
            QMouseEvent(QEvent.Type.MouseMove, QPointF(place), where, LEFT, LEFT, Qt.KeyboardModifier.NoModifier),
        )
        driver.run(0.1)
        assert (driver.link.sign.changed_s > before_s) is moved
    QTest.keyRelease(driver.view, Qt.Key.Key_Plus)


def test_what_comes_in_while_nothing_is_held_is_nobodys_sign(driver: Driver) -> None:
    before = driver.link.sign
    QTest.keyClick(driver.view, Qt.Key.Key_2)
    driver.run(0.1)
    assert driver.link.sign == before


@pytest.mark.parametrize("by_key", [True, False])
def test_a_hold_that_the_service_ends_moves_nothing_before_it_is_pressed_anew(by_key: bool, driver: Driver) -> None:
    plus = driver.view.joints.rows[BASE].plus

    def press() -> None:
        QTest.keyPress(driver.view, Qt.Key.Key_Plus) if by_key else QTest.mousePress(plus, LEFT)

    def let_go() -> None:
        QTest.keyRelease(driver.view, Qt.Key.Key_Plus) if by_key else QTest.mouseRelease(plus, LEFT)

    press()
    assert driver.moves()
    text = "nothing has changed for 10 s, as if the key were stuck: let go, then press again"
    driver.link.heard.emit(wire.Notice(now_s=driver.link.now_s, kind=NoticeKind.PRESS_AGAIN, text=text))
    driver.run(0.1)
    grips = driver.link.grips
    repeat_a_key(driver)
    assert not driver.moves()
    assert driver.link.grips == grips, "nothing says any more that it is held"
    assert driver.view.words.text() == text
    assert "has ended: let go" in driver.view.checklist.headline.text()
    let_go()
    press()
    assert driver.moves()
    let_go()


def test_a_hold_that_is_about_to_end_is_said_where_everybody_looks(driver: Driver) -> None:
    told: list[str] = []
    driver.session.failed.connect(told.append)
    notice = wire.Notice(now_s=1.0, kind=NoticeKind.HOLD_ENDS, text="the arm stops in 3 s", left_s=3.0)
    driver.link.heard.emit(notice)
    assert told == ["the arm stops in 3 s"]


def test_there_is_one_dead_man_and_what_takes_hold_drops_what_was_held(driver: Driver) -> None:
    sending = driver.bench.window.views["preview"].sending
    QTest.mousePress(driver.view.joints.rows[BASE].plus, LEFT)
    assert driver.moves()
    dropped: list[str] = []
    grip = driver.session.dead_man.take_hold(dropped.append)
    driver.run(0.1)
    assert not driver.driving.holding and "something else is held" in driver.view.words.text()
    QTest.mouseRelease(driver.view.joints.rows[BASE].plus, LEFT)
    sending.release()
    assert driver.session.dead_man.grip is grip and grip.held, "who lets go of the one does not let go of the other"
    assert dropped == []
    driver.session.dead_man.let_go(grip)


def test_every_kind_of_notice_has_its_words(driver: Driver) -> None:
    assert set(NOTICES) == set(NoticeKind)


def test_a_lost_service_lets_go_and_nothing_goes_on_when_it_is_back(driver: Driver) -> None:
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    driver.run(0.2)
    driver.link.lose()
    driver.run(0.2)
    assert "Service" in driver.missing
    driver.link.come_back()
    driver.run(0.2)
    assert not driver.moves()


@pytest.mark.parametrize("key", [Qt.Key.Key_Escape, Qt.Key.Key_Space])
def test_a_stop_ends_what_is_held(key: Qt.Key, driver: Driver) -> None:
    QTest.mousePress(driver.view.joints.rows[BASE].plus, LEFT)
    assert driver.moves()
    QTest.keyClick(driver.view, key)
    driver.run(0.1)
    assert len(driver.link.stops) == 1
    assert not driver.moves(), "the button is still down, and moves nothing"


def test_esc_stops_from_every_field_of_the_view(driver: Driver) -> None:
    fields = driver.view.findChildren(QLineEdit)
    assert len(fields) >= 7
    for count, field in enumerate(fields, start=1):
        QTest.keyClick(field, Qt.Key.Key_Escape)
        assert len(driver.link.stops) == count


# -- whose turn -------------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said_in_words(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.docks["drive"].raise_()
    driver = Driver(bench)
    driver.run(0.1)
    assert "driven by Ada" in driver.missing
    driver.come_in_as(Role.WATCH)
    assert "may look and stop" in driver.missing
    driver.come_in_as(Role.DRIVE, on_site=False, picture_needed=True)
    assert "camera" in driver.missing
    driver.link.mode = Mode.UNKNOWN_POSE
    driver.run(0.1)
    assert "only teach or maintain may confirm" in driver.missing
    driver.link.mode = Mode.FAULT
    driver.run(0.1)
    assert "only teach or maintain may reset" in driver.missing
    driver.link.lease_is(LeasePhase.FREE, holder="", latched="stopped by Grace")
    driver.run(0.1)
    assert "stopped by Grace" in driver.missing
    driver.link.changes["speed_share"] = 0.0
    driver.run(0.1)
    assert "stop budget" in driver.missing


def test_nothing_is_missing_for_who_drives_an_arm_that_is_ready(driver: Driver) -> None:
    assert driver.missing == ""
    assert "Ready" in driver.view.checklist.headline.text()


def test_pressing_without_the_lease_moves_nothing_and_says_why(make_bench: Make) -> None:
    bench = make_bench()
    driver = Driver(bench)
    bench.link.mode = Mode.IDLE
    driver.run(0.1)
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    driver.run(0.2)
    assert not driver.moves()
    assert "claim it first" in driver.view.words.text()


def test_who_waits_sees_their_place_and_is_told_when_it_is_their_turn(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.docks["drive"].raise_()
    driver = Driver(bench)
    driver.run(0.1)
    driver.view.lease.wait.click()
    driver.run(0.1)
    assert "number 2 in the queue" in driver.view.lease.words.text()
    driver.link.lease_is(LeasePhase.HELD, yours=True, holder="Ada", waiting=0)
    driver.run(0.1)
    assert "You drive" in driver.view.lease.words.text()
    assert "your turn" in driver.view.words.text()


def test_who_does_not_want_to_wait_any_more_leaves_the_queue_and_goes_on_watching(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.docks["drive"].raise_()
    driver = Driver(bench)
    driver.run(0.1)
    bar = driver.view.lease
    assert not bar.leave.isVisible()
    bar.wait.click()
    driver.run(0.1)
    assert bar.leave.isVisible() and not bar.wait.isVisible()
    bar.leave.click()
    driver.run(0.1)
    assert not bar.leave.isVisible() and bar.wait.isVisible()
    assert "in the queue" not in bar.words.text() and "1 waiting" in bar.words.text()


def test_an_arm_that_was_left_somewhere_has_to_be_parked_until_the_service_says_that_it_is(driver: Driver) -> None:
    def park() -> Check:
        return next(each for each in checks(driver.driving) if each.name == "Park")

    driver.link.lease_is(LeasePhase.HELD, yours=True, holder="Ada", must_park=True)
    driver.run(0.1)
    assert not park().ok and park().remedy is Remedy.PARK
    driver.link.lease_is(LeasePhase.HELD, yours=True, holder="Ada")
    driver.run(0.1)
    assert park().ok


def test_an_arm_that_is_taken_away_stops_at_once_and_the_window_says_who_has_it(driver: Driver) -> None:
    QTest.keyPress(driver.view, Qt.Key.Key_Plus)
    assert driver.moves()
    driver.link.lease_is(LeasePhase.CHANGING, holder="Grace", reason="Grace has taken over: demonstration")
    driver.run(0.1)
    assert not driver.moves()
    banner = driver.bench.window.banner
    assert banner.isVisible() and "Grace has taken over: demonstration" in banner.text.text()


def test_the_end_of_the_slot_is_told_loudly(driver: Driver) -> None:
    text = "the slot ends in 60 s; the arm will hold then: park it before"
    driver.link.heard.emit(wire.Notice(now_s=0.0, kind=NoticeKind.SLOT_ENDS, text=text, left_s=60.0))
    assert text in driver.bench.window.banner.text.text()
    assert text in driver.view.words.text()


def test_giving_back_leaves_the_arm_to_others(driver: Driver) -> None:
    driver.view.lease.back.click()
    driver.run(0.1)
    assert not driver.driving.drives and "nobody drives" in driver.missing
    assert not driver.bench.window.banner.isVisible(), "nothing went wrong"


def test_only_a_teacher_is_offered_to_take_over_and_is_asked_first(make_bench: Make) -> None:
    bench = make_bench()
    bench.window.docks["drive"].raise_()
    driver = Driver(bench)
    driver.run(0.1)
    assert not driver.view.lease.over.isVisible()
    driver.come_in_as(Role.TEACH)
    driver.view.lease.over.click()
    driver.run(0.1)
    assert not driver.driving.drives and "Take the arm from Ada?" in driver.shown()
    QTest.keyClicks(driver.view.lease.reason, "demonstration")
    driver.view.lease.yes.click()
    driver.run(0.1)
    assert driver.driving.drives
    assert "take over: demonstration, keep the booking" in driver.link.asked


# -- pose and fault ---------------------------------------------------------------------------------------------------


def lie_limp(driver: Driver, role: Role = Role.TEACH) -> None:
    driver.come_in_as(role)
    driver.link.mode = Mode.UNKNOWN_POSE
    driver.link.changes["commanded"] = (None,) * len(driver.driving.arm.axes)
    driver.look()


def test_the_wizard_shows_the_park_pose_and_drives_joint_by_joint_while_it_is_held(driver: Driver) -> None:
    lie_limp(driver)
    wizard, axes = driver.view.wizard, driver.driving.arm.axes
    assert wizard.isVisible() and not driver.view.controls.isVisible()
    assert driver.session.ghost.positions == tuple(axis.park for axis in axes)
    assert "172.0" in wizard.table.text(), "the shoulder's park position"
    QTest.mousePress(wizard.energise, LEFT)
    driver.run(0.2)
    QTest.mouseRelease(wizard.energise, LEFT)
    assert driver.link.mode is Mode.UNKNOWN_POSE and "tick" in driver.view.words.text()
    wizard.seen.setChecked(True)
    QTest.mousePress(wizard.energise, LEFT)
    seen = set()
    for _ in range(40):
        driver.run(0.1)
        seen.add(wizard.table.text().count("driven"))
    QTest.mouseRelease(wizard.energise, LEFT)
    assert set(range(len(axes))) <= seen, "each joint on its own"
    assert driver.link.mode is Mode.IDLE
    assert driver.view.controls.isVisible() and driver.session.ghost is None


@pytest.mark.parametrize("on_site", [False, True])
def test_beside_the_arm_its_servo_supply_is_vouched_for_with_the_pose(driver: Driver, on_site: bool) -> None:
    driver.link.on_site = on_site
    lie_limp(driver)
    driver.view.wizard.seen.setChecked(True)
    QTest.mousePress(driver.view.wizard.energise, LEFT)
    driver.run(0.2)
    QTest.mouseRelease(driver.view.wizard.energise, LEFT)
    assert ("confirm, supply on" if on_site else "confirm") in driver.link.asked


def test_a_servo_supply_that_was_cut_is_said_from_the_window(driver: Driver) -> None:
    driver.session.supply_cut()
    assert driver.link.stops == ["supply cut: from the window"]
    assert "nothing that moves is sent any more" in driver.session.lines[-1]
    driver.link.reachable = False
    driver.session.supply_cut()
    assert "Leave the servo supply off" in driver.session.lines[-1]


def test_who_may_not_confirm_a_pose_is_told_who_may(driver: Driver) -> None:
    lie_limp(driver, Role.DRIVE)
    assert not driver.view.wizard.energise.isVisible()
    assert "Only teach or maintain may confirm its pose" in driver.shown()


def test_a_fault_shows_its_reason_and_is_reset_by_who_may(driver: Driver) -> None:
    driver.come_in_as(Role.TEACH)
    driver.link.mode = Mode.FAULT
    text = "streaming -> fault: the controller has not answered for 0.5 s"
    driver.link.heard.emit(wire.Notice(now_s=0.0, kind=NoticeKind.LOOP, text=text))
    driver.run(0.2)
    assert "has not answered for 0.5 s" in driver.view.fault.words.text()
    driver.view.fault.reset.click()
    driver.run(0.2)
    assert driver.link.mode is Mode.UNKNOWN_POSE and driver.view.wizard.isVisible()


def test_a_latched_stop_is_reset_from_the_list(driver: Driver) -> None:
    driver.link.lease_is(LeasePhase.HELD, yours=True, latched="stopped by Grace")
    driver.run(0.1)
    (button,) = [each for each in driver.view.checklist.remedies.values() if each.isVisible()]
    button.click()
    driver.run(0.1)
    assert driver.missing == ""


# -- other arms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arm", "turns", "reason"),
    [
        ("lynx6", {"pitch", "roll"}, "only by joint 1"),
        ("lynx6-4axis", {"pitch"}, "no roll joint"),
        ("rv2aj", {"pitch", "roll"}, "only by joint 1"),
    ],
)
def test_what_an_arm_cannot_do_has_a_reason_instead_of_a_button(
    arm: str, turns: set[str], reason: str, make_bench: Make
) -> None:
    bench = make_bench(arm_of_rig(load_rig(arm, calibrated=False)))
    bench.window.docks["drive"].raise_()
    driver = Driver(bench)
    driver.run(0.1)
    offered = {direction.value for direction, _ in driver.view.tool.buttons if direction.turns}
    assert offered == turns
    assert reason in driver.shown()
    driver.view.tool.pressed("test", Qt.Key.Key_L)
    assert "not possible" in driver.view.words.text()


def test_an_arm_of_six_joints_turns_about_three_axes(make_bench: Make) -> None:
    bench = make_bench(arm_of_model(load_robot("puma560")))
    offered = {direction for direction, _ in bench.window.views["drive"].tool.buttons if direction.turns}
    assert offered == {Direction.A, Direction.B, Direction.C}


def test_a_number_picks_the_axis_that_is_named_by_it(make_bench: Make) -> None:
    bench = make_bench(arm_of_rig(load_rig("rv2aj", calibrated=False)))
    driver = Driver(bench)
    driver.take_the_arm()
    assert driver.driving.arm.keys == (1, 2, 3, 5, 6)
    driver.view.setFocus()
    for key, axis in ((Qt.Key.Key_5, 3), (Qt.Key.Key_6, 4), (Qt.Key.Key_1, 0)):
        QTest.keyClick(driver.view, key)
        assert driver.driving.axis == axis
    QTest.keyClick(driver.view, Qt.Key.Key_4)
    assert driver.driving.axis == 0 and "4 is no axis" in driver.driving.words


def test_axes_that_have_no_numbers_are_picked_by_their_place(driver: Driver) -> None:
    assert driver.driving.arm.keys == (1, 2, 3, 4, 5, 6)
