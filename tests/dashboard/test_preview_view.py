"""The preview in the window: what is said of a file, where it fails, any moment of it, and sending it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qt_ready import require_qt

require_qt()

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from looks import cut_off  # noqa: E402
from msgspec.structs import replace  # noqa: E402
from previews_here import previewer  # noqa: E402
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl  # noqa: E402
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from hil.dashboard.arm import arm_of_rig  # noqa: E402
from hil.dashboard.preview_file import bundled, read_source, row_of  # noqa: E402
from hil.dashboard.preview_table import COLUMNS  # noqa: E402
from hil.dashboard.theme import LIGHT  # noqa: E402
from hil.errors import CommandError  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402
from hil.service import wire  # noqa: E402
from hil.service.rights import Role  # noqa: E402
from hil.service.wire import LeasePhase, NoticeKind  # noqa: E402
from hil.types import Mode  # noqa: E402

Make = Callable[..., Any]
TASKS = Path(__file__).parent / "tasks"
LEFT = Qt.MouseButton.LeftButton
PROGRAMS = Path("configs/programs")


class Person:
    """Somebody at the Preview view of a window, whose arm is parked."""

    def __init__(self, bench: Any, rig: str = "lynx6") -> None:
        self.bench, self.link, self.session = bench, bench.link, bench.session
        self.view = bench.window.views["preview"]
        self.rig = load_rig(rig)
        self.link.previewer = previewer(self.rig)
        self.link.mode, self.link.place = Mode.IDLE, list(self.rig.park)
        bench.window.docks["preview"].raise_()
        QApplication.processEvents()
        self.run(0.1)

    def run(self, seconds: float) -> None:
        """Time goes on, and the window is as quick as it shall be."""
        for _ in range(round(seconds / 0.02)):
            self.bench.run(0.02)
            self.session.dead_man.tick()
            self.view.previewing.tick()
        self.view.refresh()

    def open(self, path: Path | str) -> None:
        """A file, and wait for what is said of it."""
        self.view.previewing.open(TASKS / path)
        self.run(0.1)

    def take_the_arm(self) -> None:
        """Become the driver."""
        self.link.lease_is(LeasePhase.HELD, yours=True, holder="Ada")
        self.run(0.1)

    def cell(self, row: int, column: str) -> str:
        """A text of the table."""
        return str(self.view.table.table.item(row, COLUMNS.index(column)).text())

    @property
    def figure(self) -> Any:
        """What the scene is told to show."""
        return self.session.figure

    @property
    def missing(self) -> str:
        """What is said to be missing."""
        return str(self.view.send.missing.text()) if self.view.send.missing.isVisible() else ""


@pytest.fixture
def person(make_bench: Make) -> Person:
    return Person(make_bench())


# -- what is said -----------------------------------------------------------------------------------------------------


def test_a_passing_task_has_a_certificate_and_nothing_that_fails(person: Person) -> None:
    person.open("home.toml")
    assert "✓ home.toml passes every check" in person.view.verdict.text()
    assert "valid until" in person.view.send.certificate.text() and "Ada" in person.view.send.certificate.text()
    assert not person.view.table.isVisible() and person.view.lanes.isVisible()
    assert not person.figure.failing


def test_a_failing_task_says_where_by_how_much_and_what_would_be_allowed(person: Person) -> None:
    person.open("too-low.toml")
    assert "✕ too-low.toml: refused" in person.view.verdict.text()
    assert person.view.table.table.rowCount() == 2
    assert "finger and table" in person.cell(0, "Joint or body")
    assert person.cell(0, "Nearest allowed") == "5 mm apart"
    assert float(person.cell(0, "Margin").split()[0]) < 0.0
    assert person.cell(0, "Where") == "step 2 (joint)"
    assert "Fails from" in person.view.table.advice.text() and "higher" in person.view.table.advice.text()
    assert person.view.lanes.isVisible() and person.view.previewing.motion.lanes[0].title == "table"


def test_what_fails_is_shown_in_the_scene_at_its_worst_sample(person: Person) -> None:
    person.open("too-low.toml")
    motion = person.view.previewing.motion
    worst = motion.failures[0]
    assert person.view.previewing.time_s == worst.worst * motion.period_s
    assert person.figure.failing == {"left_finger", "right_finger"}
    assert person.figure.positions == pytest.approx(motion.positions[worst.worst])


def test_picking_a_line_of_the_table_goes_there(person: Person) -> None:
    person.open("too-low.toml")
    person.view.previewing.look(0.5)
    assert not person.figure.failing
    table = person.view.table.table
    table.setCurrentCell(1, 0)
    assert person.figure.failing and f"sample {person.cell(1, 'Sample')}" in person.view.moment.text()
    person.view.previewing.look(0.5)
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualItemRect(table.item(1, 0)).center())
    assert person.figure.failing, "the line that is picked already is picked again by a click"


def test_the_list_is_sorted_by_the_column_that_is_clicked(person: Person) -> None:
    person.open("too-low.toml")
    assert [person.cell(row, "Joint or body")[:4] for row in (0, 1)] == ["left", "righ"]
    head, column = person.view.table.table.horizontalHeader(), COLUMNS.index("Joint or body")
    where = QPoint(head.sectionViewportPosition(column) + 5, 5)
    for first in ("left", "righ"):
        QTest.mouseClick(head.viewport(), LEFT, pos=where)
        assert person.cell(0, "Joint or body").startswith(first)
    assert person.view.table.table.currentRow() == 1, "the same line stays picked"


def test_keys_of_the_view_count_in_its_list_too(person: Person) -> None:
    person.open("too-low.toml")
    QTest.keyClick(person.view.table.table, Qt.Key.Key_P)
    assert person.view.previewing.playing == 1


def test_a_task_that_cannot_be_planned_shows_the_step_and_how_far_it_could_be(person: Person) -> None:
    person.open("too-far.toml")
    assert "cannot be planned to its end" in person.view.verdict.text()
    assert "step 2 (line)" in person.view.reason.text() and "out of reach" in person.view.reason.text()
    assert "to_mm = [900, 0, 100]" in person.view.place.text()
    assert person.view.previewing.motion is not None and person.figure is not None
    assert person.view.table.table.rowCount() == 1


def test_a_motion_that_the_token_does_not_allow_is_refused_in_words(person: Person) -> None:
    make = person.link.previewer
    words = "the motion uses 50 % of the rig's speeds; the token allows 10 %"

    def stricter(*upload: Any) -> Any:
        told, timeline = make(*upload)
        return replace(told, ok=False, certificate=b"", notes=(words,)), timeline

    person.link.previewer = stricter
    person.open("home.toml")
    assert person.view.verdict.text() == "✕ home.toml: refused" and person.view.reason.text() == words
    assert person.view.lanes.isVisible() and not person.view.send.arm.isEnabled()


def test_a_typing_error_shows_its_line(person: Person) -> None:
    person.open("typing-error.toml")
    assert "cannot be planned" in person.view.verdict.text()
    assert "line 5" in person.view.reason.text()
    marked = [row for row in person.view.place.text().splitlines() if row.startswith("▶")]
    assert len(marked) == 1 and "to = home" in marked[0]
    assert not person.view.lanes.isVisible() and person.figure is None


@pytest.mark.parametrize("name", ["nothing.toml", "picture.png"])
def test_a_file_that_is_none_is_said_in_the_window(name: str, person: Person) -> None:
    person.open(name)
    assert name in person.view.verdict.text() and "✕" in person.view.verdict.text()
    assert person.view.previewing.previewed is None


def test_a_service_that_is_gone_is_said_in_the_window(person: Person) -> None:
    person.link.lose()
    person.open("home.toml")
    assert "not connected" in person.view.verdict.text()


def test_a_program_with_its_points_is_previewed_on_its_arm(make_bench: Make) -> None:
    person = Person(make_bench(arm_of_rig(load_rig("rv2aj"))), "rv2aj")
    person.link.place = list(person.rig.home)
    person.open((PROGRAMS / "arcs.mb4").resolve())
    assert "✓ arcs.mb4 passes every check" in person.view.verdict.text()
    assert any("line " in stage.place for stage in person.view.previewing.motion.stages)


def test_a_wrong_line_of_a_program_is_shown(make_bench: Make, tmp_path: Path) -> None:
    person = Person(make_bench(arm_of_rig(load_rig("rv2aj"))), "rv2aj")
    (tmp_path / "wrong.mb4").write_text("10 SPD 5\n20 FOO\n30 END\n")
    person.open(tmp_path / "wrong.mb4")
    assert "▶    2  20 FOO" in person.view.place.text()
    (tmp_path / "unset.mb4").write_text("10 DLY 1\n20 MOV P1\n30 END\n")
    person.open(tmp_path / "unset.mb4")
    assert "cannot be planned to its end" in person.view.verdict.text()
    assert "▶    2  20 MOV P1" in person.view.place.text() and person.view.previewing.motion is not None


def test_examples_are_there_to_be_picked(person: Person) -> None:
    person.view.bundled.menu().aboutToShow.emit()
    named = {action.text(): action for action in person.view.bundled.menu().actions() if action.text()}
    assert {"pick-and-place.toml", "square.toml", "arcs.mb4"} <= named.keys()
    named["square.toml"].trigger()
    person.run(0.1)
    assert "square.toml" in person.view.verdict.text()


def test_a_file_can_be_dropped(person: Person) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(TASKS / "home.toml"))])
    plain = Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(5, 5), *plain)
    QApplication.sendEvent(person.view, enter)
    assert enter.isAccepted()
    person.view.dropEvent(QDropEvent(QPoint(5, 5), *plain))
    person.run(0.1)
    assert "home.toml passes" in person.view.verdict.text()


def test_another_file_takes_the_place_of_the_one_before_even_if_its_answer_comes_first(person: Person) -> None:
    person.view.previewing.open(TASKS / "too-low.toml")
    person.open("home.toml")
    assert "home.toml passes" in person.view.verdict.text()
    assert not person.view.table.isVisible()


def test_for_how_long_the_service_has_planned_is_said_until_it_answers(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Callable[[object], None]] = []
    monkeypatch.setattr(person.link, "ask", lambda what, then: answers.append(then))
    person.open("home.toml")
    assert "checks every sample, for 0 s so far" in person.view.verdict.text()
    person.bench.now_s += 12.0
    person.view.refresh()
    assert "checks every sample, for 12 s so far" in person.view.verdict.text()
    answers[0](CommandError("nobody plans today"))
    person.bench.now_s += 3.0
    person.view.refresh()
    assert person.view.verdict.text() == "✕ nobody plans today"


def test_closing_takes_the_figure_out_of_the_scene(person: Person) -> None:
    person.open("home.toml")
    person.view.away.click()
    assert person.figure is None and not person.view.lanes.isVisible()
    assert "Open a task" in person.view.verdict.text()


@pytest.mark.parametrize("size", [(1280, 800), (2560, 1440)])
@pytest.mark.parametrize("name", ["home.toml", "too-low.toml", "too-far.toml", "typing-error.toml"])
def test_no_words_of_a_preview_are_cut_off(name: str, size: tuple[int, int], person: Person) -> None:
    person.bench.window.resize(*size)
    person.take_the_arm()
    person.open(name)
    person.bench.draw()
    assert not cut_off(person.view)


# -- the moment -------------------------------------------------------------------------------------------------------


def test_scrubbing_shows_the_pose_of_that_moment(person: Person) -> None:
    person.open("home.toml")
    motion, lanes = person.view.previewing.motion, person.view.lanes
    QApplication.processEvents()
    plan = lanes._plan(lanes.viewport().width())
    QTest.mousePress(lanes.viewport(), LEFT, pos=QPoint((plan.left + plan.right) // 2, 20))
    assert person.view.previewing.time_s == pytest.approx(0.5 * motion.duration_s, rel=0.02)
    middle = motion.positions[motion.nearest(person.view.previewing.time_s)]
    assert person.figure.positions == pytest.approx(middle, abs=0.02)
    QTest.mouseMove(lanes.viewport(), QPoint(plan.right + 40, 20))
    QTest.mouseRelease(lanes.viewport(), LEFT)


def test_a_tip_over_a_lane_says_whose_margin_it_is(person: Person) -> None:
    person.open("too-low.toml")
    QApplication.processEvents()
    lanes, motion = person.view.lanes, person.view.previewing.motion
    plan, worst = lanes._plan(lanes.viewport().width()), motion.failures[0].worst
    x = plan.left + round((plan.right - plan.left) * worst * motion.period_s / motion.duration_s)
    assert "[E-10] table: -" in lanes.words_at(QPoint(x, 5))
    assert "finger and table" in lanes.words_at(QPoint(x, 5))
    assert lanes.words_at(QPoint(x, lanes.viewport().height() - 2)) == ""


def test_arrows_go_from_sample_to_sample(person: Person) -> None:
    person.open("home.toml")
    look, lanes = person.view.previewing, person.view.lanes
    for key, modifier, sample in (
        (Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier, 1),
        (Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier, 11),
        (Qt.Key.Key_Left, Qt.KeyboardModifier.NoModifier, 10),
        (Qt.Key.Key_End, Qt.KeyboardModifier.NoModifier, len(look.motion.positions) - 1),
        (Qt.Key.Key_Home, Qt.KeyboardModifier.NoModifier, 0),
        (Qt.Key.Key_Left, Qt.KeyboardModifier.NoModifier, 0),
    ):
        QTest.keyClick(lanes, key, modifier)
        assert look.motion.sample_at(look.time_s) == sample


@pytest.mark.parametrize("speed", [0.1, 1.0, 10.0])
def test_it_plays_at_any_speed_and_backwards(speed: float, person: Person) -> None:
    person.open("home.toml")
    look = person.view.previewing
    person.view.speed.setValue(speed)
    look.look(1.0)
    person.view.on.click()
    person.run(0.1)
    assert look.time_s == pytest.approx(min(1.0 + 0.1 * speed, look.motion.duration_s), abs=0.025 * speed)
    look.look(1.0)
    QTest.keyClick(person.view, Qt.Key.Key_P, Qt.KeyboardModifier.ShiftModifier)
    person.run(0.1)
    assert look.time_s == pytest.approx(max(1.0 - 0.1 * speed, 0.0), abs=0.025 * speed)


def test_playing_ends_at_the_end_and_begins_anew_from_there(person: Person) -> None:
    person.open("home.toml")
    look = person.view.previewing
    QTest.keyClick(person.view, Qt.Key.Key_P)
    person.run(look.motion.duration_s + 0.2)
    assert look.time_s == look.motion.duration_s and not look.playing and not person.view.on.isChecked()
    QTest.keyClick(person.view, Qt.Key.Key_P)
    assert look.time_s == 0.0 and look.playing == 1
    QTest.keyClick(person.view, Qt.Key.Key_P)
    assert not look.playing


def test_the_previewed_arm_and_its_way_are_drawn(person: Person) -> None:
    person.bench.draw()
    before = person.bench.window.live.grab().toImage()
    person.open("too-low.toml")
    person.bench.draw()
    state = person.bench.window.live.scene._state
    assert state.previewed is not None and state.failing == {"left_finger", "right_finger"}
    way = state.way
    assert len(way) > 20
    shown = person.bench.window.live.grab().toImage()
    assert shown != before
    assert "previewed, at" in person.bench.window.live._legend.text()
    person.bench.window.live.show_layer("previewed", False)
    person.bench.run(0.1)
    person.bench.draw()
    assert person.bench.window.live.grab().toImage() != shown


def test_the_way_of_the_tool_is_where_the_tool_goes(person: Person) -> None:
    person.open("home.toml")
    motion, robot = person.view.previewing.motion, person.session.arm.robot
    ends = robot.link_frames(motion.positions[[0, -1], : robot.dof])[:, -1, :3, 3]
    assert motion.way[0, 0] == pytest.approx(ends[0]) and motion.way[-1, 1] == pytest.approx(ends[1])
    assert (motion.way[1:, 0] == motion.way[:-1, 1]).all()


def test_the_timeline_is_drawn_in_both_themes_and_exported(person: Person, tmp_path: Path) -> None:
    person.open("too-low.toml")
    dark = person.view.lanes.grab().toImage()
    person.bench.window.set_theme(LIGHT)
    assert person.view.lanes.grab().toImage() != dark
    for kind in ("png", "svg", "pdf", "csv"):
        person.view.write(tmp_path / f"preview.{kind}")
    assert QImage(str(tmp_path / "preview.png")).width() >= person.view.lanes.whole.width()
    drawn = (tmp_path / "preview.svg").read_text("utf-8")
    assert ">preview of Lynx6 on an SSC-32, too-low.toml: REFUSED<" in drawn and ">time in the motion, s<" in drawn
    rows = list(csv.reader((tmp_path / "preview.csv").read_text("utf-8").splitlines()))
    motion = person.view.previewing.motion
    assert rows[0][:3] == ["t_s", "sample", "base_deg"] and len(rows) == len(motion.positions) + 1
    table = [float(row[rows[0].index("E-10 table [mm]")]) for row in rows[1:]]
    assert min(table) == pytest.approx(motion.failures[0].margin, abs=1e-3)
    assert np.array(rows[-1][2:8], dtype=float) == pytest.approx(motion.positions[-1] / person.session.arm.scale)


# -- sending ----------------------------------------------------------------------------------------------------------


def test_a_refused_motion_cannot_be_sent(person: Person) -> None:
    person.take_the_arm()
    person.open("too-low.toml")
    assert not person.view.send.arm.isEnabled() and "a certificate" in person.missing


def test_what_is_missing_stands_beside_it_until_nothing_is(person: Person) -> None:
    send = person.view.send
    person.link.lease_is(LeasePhase.FREE, holder="")
    person.link.mode = Mode.FAULT
    person.open("home.toml")
    assert "your turn: nobody drives" in person.missing and "at rest" in person.missing
    assert not send.arm.isEnabled()
    person.link.mode = Mode.IDLE
    person.run(0.1)
    assert "at rest" not in person.missing and send.claim.isVisible()
    send.claim.click()
    person.run(0.1)
    assert person.missing == "" and send.arm.isEnabled()
    person.link.place[1] -= 0.1
    person.run(0.1)
    assert "the start pose: shoulder -5.7 deg off it" in person.missing and not send.arm.isEnabled()
    person.link.lease_is(LeasePhase.HELD, yours=True, frozen=True)
    person.run(0.1)
    assert "frozen" in person.missing
    person.link.lose()
    person.run(0.1)
    assert "the service" in person.missing and not send.arm.isEnabled()


def test_who_may_only_watch_is_told_which_role_may_send(person: Person) -> None:
    person.open("home.toml")
    person.link.role = Role.WATCH
    person.link.come_back()
    person.run(0.1)
    assert "yours is watch" in person.missing and not person.view.send.claim.isVisible()


def test_a_certificate_that_has_ended_is_no_certificate(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    look = person.view.previewing
    look.previewed = replace(look.previewed, until_epoch_s=person.session.welcome.now_epoch_s - 1.0)
    person.run(0.1)
    assert "has not ended" in person.missing


def test_a_start_that_does_not_fit_is_mended_by_previewing_again_from_here(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    person.link.place[0] += 0.2
    person.run(0.1)
    assert person.view.send.again.isVisible() and not person.view.send.arm.isEnabled()
    person.view.send.again.click()
    person.run(0.1)
    assert person.view.send.arm.isEnabled()
    assert person.view.previewing.previewed.start[0] == pytest.approx(0.2)


def test_send_arms_and_holding_runs_the_motion_to_its_end(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    send, home = person.view.send, person.rig.home
    assert not send.run.isEnabled()
    send.arm.click()
    person.run(0.1)
    assert person.link.mode is Mode.ARMED and send.run.isEnabled() and not send.arm.isEnabled()
    assert person.link.place == list(person.rig.park), "nothing moves before the second press"
    QTest.mousePress(send.run, LEFT)
    person.run(1.0)
    assert not person.view.file.isEnabled() and not person.view.again.isEnabled()
    assert person.link.mode is Mode.STREAMING and send.done.isVisible() and send.done.value() > 0
    assert person.view.previewing.time_s == pytest.approx(1.0, abs=0.2), "the timeline goes along"
    person.run(person.view.previewing.motion.duration_s)
    assert person.link.mode is Mode.IDLE and person.link.place[:5] == pytest.approx(list(home[:5]))
    assert "done" in send.words.text()
    QTest.mouseRelease(send.run, LEFT)


def test_letting_go_holds_the_arm(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    person.view.send.arm.click()
    person.run(0.1)
    QTest.keyPress(person.view, Qt.Key.Key_R)
    person.run(0.6)
    assert person.link.mode is Mode.STREAMING
    QTest.keyRelease(person.view, Qt.Key.Key_R)
    person.run(0.6)
    assert person.link.mode is Mode.HOLDING
    assert "cut short" in person.view.send.words.text() and person.view.send.again.isVisible()


@pytest.mark.parametrize("key", [Qt.Key.Key_Escape, Qt.Key.Key_Space])
def test_the_stop_keys_stop_what_is_held(key: Qt.Key, person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    person.view.send.arm.click()
    person.run(0.1)
    QTest.mousePress(person.view.send.run, LEFT)
    person.run(0.5)
    QTest.keyClick(person.view, key)
    grips = person.link.grips
    person.run(0.3)
    assert person.link.mode is Mode.HOLDING and len(person.link.stops) == 1
    assert person.link.grips == grips and not person.view.sending.held
    QTest.mouseRelease(person.view.send.run, LEFT)


def test_a_window_that_hung_while_a_motion_ran_holds_the_arm_and_does_not_go_on_by_itself(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    person.view.send.arm.click()
    person.run(0.1)
    QTest.mousePress(person.view.send.run, LEFT)
    person.run(0.5)
    for _ in range(20):
        person.bench.run(0.05)
    assert person.link.mode is Mode.HOLDING
    person.run(0.5)
    assert person.link.mode is Mode.HOLDING and not person.view.sending.held
    assert "busy" in person.view.send.words.text()
    QTest.mouseRelease(person.view.send.run, LEFT)


def test_a_motion_whose_hold_the_service_ends_holds_and_says_why(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    QTest.mouseClick(person.view.send.arm, LEFT)
    person.run(0.1)
    QTest.mousePress(person.view.send.run, LEFT)
    person.run(0.4)
    assert person.link.sign.changed_s is not None and person.link.mode is Mode.STREAMING
    text = "nothing has changed for 60 s, as if the key were stuck: let go, then press again"
    person.link.heard.emit(wire.Notice(now_s=person.link.now_s, kind=NoticeKind.PRESS_AGAIN, text=text))
    person.run(0.5)
    assert person.link.mode is Mode.HOLDING
    assert not person.view.sending.held and person.session.dead_man.grip is None
    assert person.view.send.words.text() == text
    QTest.mouseRelease(person.view.send.run, LEFT)


def test_a_view_behind_another_tab_lets_go(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    person.view.send.arm.click()
    person.run(0.1)
    QTest.mousePress(person.view.send.run, LEFT)
    person.run(0.3)
    person.bench.window.bring(person.bench.window.docks["plots"])
    QApplication.processEvents()
    person.run(0.5)
    assert not person.view.sending.held and person.link.mode is Mode.HOLDING
    QTest.mouseRelease(person.view.send.run, LEFT)


def test_a_refusal_of_the_service_is_said_beside_the_button(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    person.link.yours = False  # the service knows more than the window has heard
    person.view.send.arm.click()
    person.run(0.1)
    assert "claim it first" in person.view.send.words.text() and person.link.mode is Mode.IDLE


def test_another_file_takes_back_the_arming(person: Person) -> None:
    person.take_the_arm()
    person.open("home.toml")
    person.view.send.arm.click()
    person.run(0.1)
    person.view.previewing.close()
    person.run(0.1)
    assert not person.view.send.run.isEnabled() and not person.view.send.isVisible()


# -- files ------------------------------------------------------------------------------------------------------------


def test_a_file_is_read_with_what_belongs_to_it(tmp_path: Path) -> None:
    (tmp_path / "übung 1.mb4").write_bytes("10 ' Größe\n20 END\n".encode("latin-1"))
    (tmp_path / "übung 1.pos").write_text("P1=(1,2,3,4,5)(6,0)\n")
    source = read_source(tmp_path / "übung 1.mb4")
    assert (source.name, source.language) == ("bung-1.mb4", "melfa")
    assert "Größe" in source.text and source.points.startswith("P1")
    (tmp_path / "large.toml").write_text("#" * (2 << 20))
    with pytest.raises(CommandError, match="larger"):
        read_source(tmp_path / "large.toml")
    assert all(path.is_file() for path in bundled().values())


@pytest.mark.parametrize(
    ("words", "row"),
    [("t.toml: line 3, column 1: nonsense", 3), ("t.toml: step 2.joints_deg.elbwo: 3.0 given", 4), ("too fast", None)],
)
def test_words_lead_to_the_line_that_they_mean(words: str, row: int | None, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text('title = "t"\n[[step]]\ndo = "wait"\n[[step]]\ndo = "move"\n')
    assert row_of(read_source(tmp_path / "t.toml"), words) == row
