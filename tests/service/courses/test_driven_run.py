"""A run on an arm is marked from what the lab has signed, and from nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from driven_runs import ARM, EPOCH_S, DrivenLab, asked

from hil.labs.grade_records import Submission
from hil.labs.grade_run import mark_with_runs, prepared
from hil.service.courses.driven import LATELY_S, mark_driven
from hil.types import Mode

TASK_TEXT = b'title = "up"\nstart = "home"\n[[step]]\ndo = "move"\nby_deg = { base = 10 }\n'


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> DrivenLab:
    lab = DrivenLab(tmp_path_factory.mktemp("driven"))
    lab.write_journal()
    lab.write_audit()
    return lab


@pytest.fixture
def fresh(tmp_path: Path) -> DrivenLab:
    return DrivenLab(tmp_path)


def test_a_run_has_the_marks_that_its_task_has(driven: DrivenLab, tmp_path: Path) -> None:
    """One marker for both: what `hil grade` says of the same task on the same rig, to the last digit."""
    exercise = asked()
    handed_in, _ = mark_with_runs(
        exercise, prepared(exercise), None, Submission(student="Ana", files={"task.toml": TASK_TEXT}), tmp_path
    )
    verdict = mark_driven(driven.job())
    assert verdict.marked is not None, verdict.words
    assert verdict.marked.marks == handed_in.marks
    assert (verdict.marked.total, verdict.marked.digest) == (2.0, driven.motion.digest)
    assert verdict.marked.notes[0].startswith(f"driven on {ARM} (FAKE), ")


def test_somebody_elses_run_is_nobodys(driven: DrivenLab) -> None:
    verdict = mark_driven(driven.job(who="00000000000000bb"))
    assert verdict.marked is None and not verdict.forged
    assert "you have started no motion on left" in verdict.words


def test_a_run_on_another_arm_does_not_count(driven: DrivenLab) -> None:
    assert "you have started no motion on right" in mark_driven(driven.job(arm="right")).words


def test_a_run_of_yesterday_is_not_looked_for(driven: DrivenLab) -> None:
    late_s = driven.start_s + LATELY_S
    assert mark_driven(driven.job(now_epoch_s=late_s)).marked is not None
    assert "within the last 24 h" in mark_driven(driven.job(now_epoch_s=late_s + 1.0)).words


def test_a_journal_that_was_written_anew_is_not_marked(fresh: DrivenLab) -> None:
    """Its own chain is right; the lab has signed another one."""
    fresh.write_journal()
    fresh.write_audit()
    simulated = fresh.ticks[-50].simulated
    moved = msgspec.structs.replace(fresh.ticks[-50], simulated=msgspec.structs.replace(simulated, t_s=simulated.t_s))
    forged = msgspec.structs.replace(moved, events=(*moved.events, "it went where it should"))
    fresh.write_journal([*fresh.ticks[:-50], forged, *fresh.ticks[-49:]], keep_heads=False)
    verdict = mark_driven(fresh.job())
    assert verdict.forged and verdict.marked is None
    assert "is not the one that the lab signed" in verdict.words


def test_a_journal_that_was_cut_is_not_marked(fresh: DrivenLab) -> None:
    fresh.write_journal()
    fresh.write_audit()
    data = fresh.journal.read_bytes()
    fresh.journal.write_bytes(data[: len(data) * 3 // 4])
    verdict = mark_driven(fresh.job())
    assert verdict.forged and "it ends after record" in verdict.words


def test_an_audit_that_was_changed_is_not_believed(fresh: DrivenLab) -> None:
    """The name of who drove is exchanged for another one's."""
    fresh.write_journal()
    fresh.write_audit(who="00000000000000bb")
    file = next(fresh.audit_folder.glob("*.jsonl"))
    file.write_bytes(file.read_bytes().replace(b"00000000000000bb", b"00000000000000aa"))
    verdict = mark_driven(fresh.job())
    assert verdict.forged and "it was changed, or something before it was" in verdict.words


def test_an_audit_that_another_key_signed_is_not_believed(driven: DrivenLab) -> None:
    from hil.service.keys import SigningKey

    verdict = mark_driven(driven.job(audit_key=SigningKey(b"b" * 32).public.pem))
    assert verdict.forged and "not signed by the service" in verdict.words


def test_the_same_motion_at_another_time_was_somebody_elses(fresh: DrivenLab) -> None:
    """Two students with one task have one digest: it is the moment that tells them apart."""
    fresh.write_journal()
    fresh.write_audit(at_s=fresh.start_s - 6.0)
    assert "stands in no journal" in mark_driven(fresh.job()).words


def test_a_run_that_was_stopped_is_marked_as_far_as_it_went(fresh: DrivenLab) -> None:
    begin = next(k for k, tick in enumerate(fresh.ticks) if tick.sample is not None)
    stopped = [*fresh.ticks[: begin + 20]]
    last = msgspec.structs.replace(fresh.ticks[begin + 20], mode=Mode.HOLDING, sample=None, events=("stop: by Ana",))
    fresh.write_journal([*stopped, last])
    fresh.write_audit()
    verdict = mark_driven(fresh.job())
    assert verdict.marked is not None, verdict.words
    end = next(mark for mark in verdict.marked.marks if mark.name == "home again")
    assert end.words == "it ended early: stop: by Ana"
    assert any("it ended before its end" in note for note in verdict.marked.notes)


def test_while_it_moves_nothing_is_marked(fresh: DrivenLab) -> None:
    begin = next(k for k, tick in enumerate(fresh.ticks) if tick.sample is not None)
    fresh.write_journal(fresh.ticks[: begin + 20])
    fresh.write_audit()
    assert "still moves" in mark_driven(fresh.job()).words


def test_what_the_arm_refused_is_no_run(fresh: DrivenLab) -> None:
    start = next(k for k, tick in enumerate(fresh.ticks) if any(type(r).__name__ == "Start" for r in tick.requests))
    idle = [
        msgspec.structs.replace(tick, mode=Mode.IDLE, sample=None, events=("refused: not armed",))
        for tick in fresh.ticks[start : start + 3]
    ]
    fresh.write_journal([*fresh.ticks[:start], *idle])
    fresh.write_audit()
    assert "left did not run it: refused: not armed" in mark_driven(fresh.job()).words


def test_times_of_the_journal_and_the_audit_are_on_one_scale(driven: DrivenLab) -> None:
    assert EPOCH_S < driven.start_s < EPOCH_S + 60.0
