"""The line's figure at the end of a run: what the records carry, added up over the connections."""

from __future__ import annotations

from line_noise import befall, streaming
from virtual_session import Session

from hil.runtime.report import LineQuality, line_quality
from hil.types import Mode, Reset


def test_a_good_line_answers_every_question() -> None:
    s = Session().to(Mode.STREAMING)
    s.until(Mode.IDLE)
    quality = line_quality(s.records)
    assert quality.questions > 100
    assert quality.good_percent == 100.0
    assert quality.text == (
        f"the line: 100.0 % of {quality.questions} questions answered well; 0 answers late, 0 lost, 0 bytes without "
        "meaning, 0 reports that did not fit what was sent"
    )


def test_a_bad_line_is_told_by_what_was_wrong_with_it() -> None:
    s = streaming(Session())
    befall(s, kind="lost", every=50, direction="replies")
    s.until(Mode.IDLE)
    quality = line_quality(s.records)
    assert quality.lost > 3
    assert 80.0 < quality.good_percent < 99.0


def test_every_connection_counts_anew_and_all_of_them_together() -> None:
    s = Session().to(Mode.IDLE)
    s.run(1.0)
    s.unplug()
    s.until(Mode.FAULT)
    first = line_quality(s.records).questions
    assert first >= 40
    s.plug_in()
    s.until(Mode.UNKNOWN_POSE, Reset(by="test"))
    s.until(Mode.IDLE, s.confirm())
    assert line_quality(s.records).questions >= first + 40


def test_a_share_is_never_below_nothing_and_a_line_that_was_not_asked_is_said_to_be() -> None:
    assert LineQuality(questions=2, late=2, lost=5).good_percent == 0.0
    assert LineQuality().text == "the line: no question was asked"
