"""Preview: every check, then the whole wiring on a virtual clock; a certificate or words why not."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from virtual_session import EPOCH_S, Session, load, lynx6, swing

import hil
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan, plan_joint_move
from hil.runtime.preview import PreviewReport, preview
from hil.safety.certificate import Certificate, verify
from hil.testing.oracle import UnsafeBytes
from hil.types import Arm, Mode, Start
from hil.units import DEG


@pytest.fixture(scope="module")
def report() -> PreviewReport:
    return preview(lynx6(), swing(), now_epoch_s=EPOCH_S)


def moved(motion: Motion, sample: int, axis: int, by: float) -> Motion:
    rows = motion.samples.copy()
    rows[sample:, axis] += by
    return Motion(motion.axes, motion.period_s, rows, motion.marks)


def test_a_safe_motion_gets_a_certificate_that_covers_it(report: PreviewReport) -> None:
    assert report.ok
    assert report.refusals == ()
    assert report.certificate is not None
    verify(report.certificate, lynx6(), swing(), EPOCH_S + 60.0, version=hil.__version__)
    assert report.samples == len(swing())
    assert report.duration_s == swing().duration_s
    assert report.worst_margins


def test_what_the_preview_sent_is_what_a_session_sends(report: PreviewReport) -> None:
    """The real driver's own bytes: the moves of the motion, to the last one."""
    s = Session(driven=True)
    s.until(Mode.UNKNOWN_POSE)
    s.until(Mode.IDLE, s.confirm())
    assert report.certificate is not None
    s.tick(load(swing(), report.certificate), Arm(digest=swing().digest))
    s.until(Mode.IDLE, Start(digest=swing().digest))
    written = b"".join(record.written for record in s.records)
    streamed, previewed = (
        [line for line in data.split(b"\r") if line.startswith(b"#") and b"T" in line]
        for data in (written, report.wire_bytes)
    )
    assert streamed == previewed
    assert len(streamed) == len(swing())


def test_the_same_motion_previews_to_the_same_report(report: PreviewReport) -> None:
    assert preview(lynx6(), swing(), now_epoch_s=EPOCH_S) == report


def test_a_certificate_can_be_written_down_and_read_back(report: PreviewReport) -> None:
    assert report.certificate is not None
    assert Certificate.from_bytes(report.certificate.to_bytes()) == report.certificate


def test_tracking_is_told_for_every_axis(report: PreviewReport) -> None:
    assert [each.axis for each in report.tracking] == [axis.name for axis in lynx6().axes]
    base = report.tracking[0]
    assert 0.0 < base.rms_simulated <= base.worst_simulated < lynx6().axes[0].divergence


def test_the_guided_first_move_from_park_jumps_by_no_more_than_a_step_of_the_wire(report: PreviewReport) -> None:
    assert len(report.first_move) == len(lynx6().axes)
    assert all(
        jump <= step for jump, step in zip(report.first_move, lynx6().controller.quantum().tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("motion", "check"),
    [
        (moved(swing(), 30, 0, 10 * DEG), "E-03"),
        (moved(swing(), 30, 0, 0.3 * DEG), "E-03"),
        (Motion(swing().axes, swing().period_s, swing().samples[:40]), "E-0"),
        (Motion(swing().axes, 0.01, swing().samples), "E-"),
        (Motion(("base", "gripper"), 0.02, [[0.0, 0.01]] * 4), "E-"),
    ],
)
def test_an_unsafe_motion_gets_refusals_and_no_certificate(motion: Motion, check: str) -> None:
    report = preview(lynx6(), motion, now_epoch_s=EPOCH_S)
    assert not report.ok
    assert report.certificate is None
    assert report.wire_bytes == b""
    assert any(refusal.check.startswith(check) for refusal in report.refusals)
    assert all(refusal.text and refusal.advice for refusal in report.refusals)


def test_a_motion_outside_the_limits_is_refused_by_joint_and_limit() -> None:
    rig = lynx6()
    report = preview(rig, moved(Motion(swing().axes, 0.02, np.tile(rig.park, (9, 1))), 0, 0, 100 * DEG))
    assert not report.ok
    (refusal,) = [r for r in report.refusals if r.check == "E-02"][:1]
    assert refusal.subject == "base"
    assert "86" in refusal.nearest_allowed or "88" in refusal.nearest_allowed


def test_a_rehearsal_that_ends_early_is_a_refusal_in_the_loop_s_words() -> None:
    """A shadow that may not be off by more than a hair: the report's coarseness alone is a divergence."""
    rig = lynx6()
    axes = tuple(msgspec.structs.replace(axis, divergence=1e-6) for axis in rig.axes)
    report = preview(msgspec.structs.replace(rig, axes=axes), swing(), now_epoch_s=EPOCH_S)
    assert not report.ok
    assert report.certificate is None
    assert any(r.check == "E-17" and "they have parted" in r.advice for r in report.refusals)


def test_the_whole_example_task_is_previewed_without_a_byte_that_must_not_leave() -> None:
    rig = lynx6()
    motion = plan(rig, "pick-and-place")
    report = preview(rig, motion, now_epoch_s=EPOCH_S)
    assert report.ok, [refusal.text for refusal in report.refusals]
    s = Session(driven=True)
    s.until(Mode.UNKNOWN_POSE)
    s.until(Mode.IDLE, s.confirm())
    assert report.certificate is not None
    s.tick(load(motion, report.certificate), Arm(digest=motion.digest))
    s.until(Mode.IDLE, Start(digest=motion.digest), within_s=motion.duration_s + 2.0)
    oracle = UnsafeBytes(rig).take(s.records)
    assert not oracle
    assert oracle.moves == len(motion)


@pytest.mark.parametrize(
    "change",
    [
        lambda rig: msgspec.structs.replace(rig, look_ahead_s=0.08),
        lambda rig: msgspec.structs.replace(rig, tool_speed_m_s=0.2),
        lambda rig: msgspec.structs.replace(rig, controller=msgspec.structs.replace(rig.controller, baud=38400)),
        lambda rig: msgspec.structs.replace(rig, axes=(msgspec.structs.replace(rig.axes[0], upper=1.5), *rig.axes[1:])),
    ],
)
def test_any_change_of_the_rig_voids_the_certificate(report: PreviewReport, change: object) -> None:
    rig: Rig = change(lynx6())  # type: ignore[operator]
    assert report.certificate is not None
    s = Session(rig).to(Mode.IDLE)
    s.tick(load(swing(), report.certificate), Arm(digest=swing().digest))
    assert s.mode is Mode.IDLE
    assert "refused: certificate refused" in s.events[-2]


def test_a_start_away_from_park_is_rehearsed_where_it_starts() -> None:
    motion = plan_joint_move(lynx6(), swing().end, lynx6().park)
    report = preview(lynx6(), motion, now_epoch_s=EPOCH_S)
    assert report.ok
    assert report.certificate is not None
    assert report.certificate.start == pytest.approx(swing().end)
