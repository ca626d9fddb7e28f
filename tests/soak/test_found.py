"""What long runs and kills have found, each by itself and small enough to be read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import pytest
import typer
from virtual_session import Session, certified, load, swing

from hil.cli import app as commands
from hil.cli import main
from hil.errors import LinkOverrun
from hil.runtime import host
from hil.runtime.pace import JOURNAL_BEHIND_S, Watch
from hil.runtime.replay import ReplayPort
from hil.types import Arm, Disconnect, EmergencyStop, LineFailure, Mode, Reset, Start, Stop
from sim.ssc32 import Firmware

HALF_A_MOVE = b"#5P22"
"""What lost bytes can leave in the board: ended by any CR, it drives the wrist rotation to 500 us at full speed."""


def _leave_half_a_move(s: Session) -> None:
    s.board.receive(HALF_A_MOVE, s.clock.now_s() - 1e-3, s.board.byte_s)


def _wrist_rotate_us(s: Session) -> float:
    return s.pulse_us(s.rig.index("wrist_rotate"))


def test_half_a_move_in_the_board_is_not_ended_by_the_stop_that_answers_a_fault() -> None:
    s = Session().to(Mode.IDLE)
    before_us = _wrist_rotate_us(s)
    _leave_half_a_move(s)
    s.tick(EmergencyStop(reason="test"))
    s.run(0.1)
    assert _wrist_rotate_us(s) == before_us


def test_half_a_move_in_the_board_is_not_ended_by_the_question_that_looks_for_lost_track() -> None:
    s = Session().to(Mode.IDLE)
    before_us = _wrist_rotate_us(s)
    while b"QP" not in s.tick().written:
        pass
    s.line.deaf = True
    s.tick()
    _leave_half_a_move(s)
    assert b"VER" in b"".join(s.tick().written for _ in range(15))
    assert _wrist_rotate_us(s) == before_us


def test_an_echo_from_before_the_motion_is_not_adopted() -> None:
    """Replies were lost while the arm moved: the newest report is of a place where the arm is no more."""
    s = Session().to(Mode.ARMED)
    s.line.deaf = True
    s.until(Mode.STREAMING, Start(digest=swing().digest))
    s.until(Mode.HOLDING)
    s.run(0.1)
    s.tick(EmergencyStop(reason="test"))
    s.tick(Reset(by="test"))
    shoulder_us = s.pulse_us(s.rig.index("shoulder"))
    s.run(0.5, s.confirm())
    assert s.mode is Mode.UNKNOWN_POSE, "it waits for a report"
    assert s.pulse_us(s.rig.index("shoulder")) == shoulder_us
    s.line.deaf = False
    s.until(Mode.IDLE, s.confirm())
    assert s.pulse_us(s.rig.index("shoulder")) == pytest.approx(shoulder_us, abs=10.0)


def test_a_confirmation_without_a_fresh_report_is_refused_after_a_second() -> None:
    s = Session().to(Mode.UNKNOWN_POSE)
    s.line.deaf = True
    s.run(0.3)
    s.run(0.9, s.confirm())
    assert not any("refused" in event for event in s.events)
    s.run(0.2)
    assert any("refused: the controller has not said" in event for event in s.events)
    assert s.mode is Mode.UNKNOWN_POSE


def test_a_stop_takes_back_a_confirmation_that_waits_for_a_report() -> None:
    s = Session().to(Mode.UNKNOWN_POSE)
    s.line.deaf = True
    s.run(0.5)
    s.tick(s.confirm())
    s.tick(Stop(reason="test"))
    s.line.deaf = False
    s.run(1.0)
    assert s.mode is Mode.UNKNOWN_POSE
    assert not any(s.board.pulse_us(axis.channel) for axis in s.settings.axes)


def test_an_axis_that_is_driven_outside_its_limits_is_not_driven_back_at_full_speed() -> None:
    s = Session()
    s.board.receive(b"#4P900\r", 0.0, s.board.byte_s)
    s.board.advance(0.09)
    s.until(Mode.UNKNOWN_POSE)
    s.run(0.5, s.confirm())
    assert s.mode is Mode.UNKNOWN_POSE
    assert any("refused: gripper: the controller drives it at" in event for event in s.events)
    assert s.pulse_us(s.rig.index("gripper")) == 900.0


def test_no_motion_is_armed_while_the_controller_does_not_answer() -> None:
    s = Session().to(Mode.IDLE)
    s.line.deaf = True
    s.run(0.8)
    motion = swing()
    s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest))
    assert s.mode is Mode.IDLE
    assert any("the newest report of the controller that can be believed is 0.8" in event for event in s.events)


def test_axes_are_not_driven_for_the_first_time_on_a_silent_line() -> None:
    s = Session().to(Mode.ENERGISING)
    s.line.deaf = True
    s.until(Mode.UNKNOWN_POSE, within_s=1.0)
    assert sum(s.board.pulse_us(axis.channel) > 0 for axis in s.settings.axes) <= 2


def test_old_firmware_that_has_restarted_is_not_driven_by_the_freeze_that_answers_its_silence() -> None:
    s = Session(firmware=Firmware.V1).to(Mode.IDLE)
    s.board.power_cycle(s.clock.now_s())
    s.line.deaf = True
    s.until(Mode.FAULT)
    s.run(0.1)
    assert not any(s.board.pulse_us(axis.channel) for axis in s.settings.axes)


def test_whoever_watches_for_a_lost_recorder_goes_on_watching_for_a_lost_owner() -> None:
    owner_age_s, unkept_s = [0.0], [JOURNAL_BEHIND_S + 0.1]
    watch = Watch(lambda: False, lambda: False, lambda now_s: owner_age_s[0], lambda: unkept_s[0], lambda: "")
    assert [type(request) for request in watch.requests(10.0)] == [Stop]
    assert watch.requests(10.02) == ()
    assert [type(request) for request in watch.requests(10.0 + JOURNAL_BEHIND_S)] == [Stop]
    owner_age_s[0] = 1.0
    assert [type(request) for request in watch.requests(12.0)] == [Disconnect]
    assert watch.requests(14.0) == ()


def test_two_writes_that_failed_in_one_tick_fail_in_their_order_again() -> None:
    record = Session().to(Mode.IDLE).last
    failures = tuple(LineFailure(call="write", kind="LinkOverrun", message=text) for text in ("first", "second"))
    port = ReplayPort()
    port.load(msgspec.structs.replace(record, written=b"QP0\r", failures=failures))
    port.write(b"QP0\r", 0.0)
    for text in ("first", "second"):
        with pytest.raises(LinkOverrun, match=text):
            port.write(b"#0P1500T60\r", 0.0)


def test_what_a_killed_owner_left_in_memory_is_taken_away_and_nothing_else(tmp_path: Path) -> None:
    dead, young, alive, foreign = (
        tmp_path / name for name in ("hil-999999999-a", "hil-999999998-b", f"hil-{os.getpid()}-c", "hil-soak-d")
    )
    for folder in (dead, young, alive, foreign):
        folder.mkdir()
        (folder / "ring").write_bytes(b"x")
        if folder is not young:
            os.utime(folder, (0.0, 0.0))
    host._clear_up_after_the_dead(tmp_path, young.stat().st_mtime + 1.0)
    assert sorted(tmp_path.iterdir()) == sorted([young, alive, foreign])


def test_a_single_garbled_report_is_not_adopted() -> None:
    """One flipped bit of a plausible answer is another plausible answer; two in a row do not flip alike."""
    s = Session(true_pose=tuple(swing().samples[40].tolist()), driven=True).to(Mode.UNKNOWN_POSE)
    shoulder, before_us = s.rig.index("shoulder"), s.pulse_us(s.rig.index("shoulder"))
    flips = [4]
    s.line.lie = lambda data: bytes([data[0], data[1] ^ flips.pop(), *data[2:]]) if len(data) == 7 and flips else data
    s.run(0.06)
    assert not flips
    s.until(Mode.ENERGISING, s.confirm())
    s.until(Mode.IDLE)
    assert s.pulse_us(shoulder) == pytest.approx(before_us, abs=10.0)


def test_an_interruption_is_said_wherever_it_comes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = typer.Typer()

    @app.command()
    def waits() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "app", app)
    monkeypatch.setattr(sys, "argv", ["hil"])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
