"""The judges of whole processes can say no: each is shown bytes, pulses or a journal that it has to refuse."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kill_campaign import markdown, never_judged, table
from kill_judges import Round, judge_astray, judge_bytes, judge_quiet, judge_ramp, judge_wrong_pulses
from kill_kinds import KINDS
from kill_stand import Frame, Trace, lynx6, rv2aj
from wire_record import Record, echoes, goes, lines, moves
from wire_relay import Way

LYNX6, RV2AJ = lynx6(), rv2aj()
SAMPLE = b"#0P1460#1P2322#2P912#3P2282#5P1580#4P2112T60\r"
QUERY = b"QP0QP1QP2QP3QP5QP4QP31\r"
ECHO = bytes([146, 232, 91, 228, 158, 211, 150])


def _record(folder: Path, *chunks: tuple[str, float, bytes | str]) -> Record:
    path = folder / "wire.jsonl"
    rows = [[mark, t_s, what if isinstance(what, str) else what.hex()] for mark, t_s, what in chunks]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '["=>", 9.0, "23')
    return Record(path)


def _stage(arm: Any, record: Record | None = None) -> Any:
    return SimpleNamespace(
        arm=arm, facts=arm.facts, slack_s=lambda since_s: 0.0, cable=SimpleNamespace(record=lambda: record)
    )


# -- reading -----------------------------------------------------------------------------------------------


def test_a_record_cut_by_a_kill_reads_and_tells_what_left_from_what_arrived(tmp_path: Path) -> None:
    record = _record(tmp_path, ("=>", 1.0, b"VER\r"), (">", 2.0, b"Q\r"), (">>", 2.5, b"R\r"), ("!", 3.0, "pulled"))
    assert [line.text for line in lines(record.left)] == [b"VER", b"Q"]
    assert [(line.t_s, line.text) for line in lines(record.reached)] == [(1.0, b"VER"), (2.5, b"R")]
    assert record.events == [(3.0, "pulled")]
    assert record.bytes_after(1.0) == b"Q\r"


def test_what_an_escape_takes_back_is_no_line(tmp_path: Path) -> None:
    record = _record(tmp_path, ("=>", 1.0, b"#0P1\x1b"), ("=>", 1.1, b"\r#0P1500\r"))
    assert [line.text for line in lines(record.left)] == [b"#0P1500"]


def test_moves_of_both_controllers_are_told_from_questions(tmp_path: Path) -> None:
    ssc32 = _record(tmp_path, ("=>", 1.0, b"QP0\r#31P1500\r#0P1500\rSTOP0\r" + SAMPLE))
    assert [move.time_ms for move in moves(ssc32.left, "ssc32", 31)] == [None, 60]
    cr1 = _record(
        tmp_path, ("=>", 1.0, b"1;1;JPOSF\r1;1;EXECJT=(1.00,-20.00,110.00,0.00,80.00,0.00)\r1;1;EXECMOV JT\r")
    )
    named, going = moves(cr1.left, "rv2aj")
    assert named.targets == {0: 1.0, 1: -20.0, 2: 110.0, 3: 80.0, 4: 0.0}
    assert (goes(named), goes(going)) == (False, True)


def test_only_whole_answers_count_as_echoes(tmp_path: Path) -> None:
    record = _record(
        tmp_path, ("=>", 1.0, QUERY), ("<=", 1.01, ECHO[:3]), ("<=", 1.02, ECHO[3:]), ("=>", 1.1, QUERY),
        ("<=", 1.11, ECHO[1:]), ("=>", 1.2, b"VER\r"),
    )  # fmt: skip
    (echo,) = echoes(record)
    assert (echo.asked_s, echo.heard_s, echo.pulses_us[0]) == (1.0, 1.02, 1460.0)


@pytest.mark.parametrize(("kind", "share"), [("lose", -0.5), ("double", 0.5), ("flip", 0.0)])
def test_a_cable_that_does_harm_does_it_as_often_as_it_was_told(kind: str, share: float) -> None:
    way = Way()
    way.harm, way.rng = [(kind, 2)], random.Random(1)
    data = bytes(4000)
    way.take(data, 1.0)
    struck = way.passed_on(1.0)
    assert len(struck) - 4000 == pytest.approx(share * 4000, abs=200)
    assert kind != "flip" or sum(map(bool, struck)) == pytest.approx(2000, abs=200)


def test_a_cable_keeps_bytes_back_and_in_order() -> None:
    way = Way()
    way.delay_s = 0.1
    way.take(b"a", 1.0)
    way.delay_s, way.dribble_s = 0.0, 0.01
    way.take(b"bc", 1.05)
    assert [way.passed_on(t) for t in (1.09, 1.1, 1.105, 1.2)] == [b"", b"ab", b"", b"c"]


# -- judging -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arm", "written", "words"),
    [
        (LYNX6, SAMPLE.replace(b"T60", b"T120"), "another time than the look-ahead"),
        (LYNX6, SAMPLE.replace(b"2322", b"2382"), "outside its pulse limits"),
        (LYNX6, SAMPLE + SAMPLE.replace(b"1460", b"1480"), "steps"),
        (LYNX6, b"#0P1460#1P2322\r", "untimed move of several"),
        (LYNX6, b"#9P1460\r", "no axis"),
        (RV2AJ, b"1;1;EXECJT=(1.00,-20.00,118.01,0.00,80.00,0.00)\r", "outside its joint limits"),
        (LYNX6, SAMPLE + SAMPLE.replace(b"1460", b"1471"), ""),
        (RV2AJ, b"1;1;EXECJT=(1.00,-20.00,118.00,0.00,80.00,0.00)\r", ""),
    ],
)
def test_bytes_that_must_not_leave_are_found_on_the_cable(tmp_path: Path, arm: Any, written: bytes, words: str) -> None:
    outcome = Round("x")
    judge_bytes(outcome, _stage(arm), _record(tmp_path, ("=>", 1.0, written)))
    assert bool(outcome.wrong) == bool(words)
    assert all(words in wrong for wrong in outcome.wrong)


@pytest.mark.parametrize(("steps_us", "cut"), [((8, 6, 4, 2), False), ((11, 11, 11), True)])
def test_a_ramp_that_was_cut_is_found_in_the_bytes(tmp_path: Path, steps_us: tuple[int, ...], cut: bool) -> None:
    base, chunks = 1460, []
    for number, step_us in enumerate((8, 8, *steps_us)):
        base += step_us
        chunks.append(("=>", 1.0 + 0.02 * number, SAMPLE.replace(b"1460", b"%d" % base)))
    outcome = Round("x")
    judge_ramp(outcome, _stage(LYNX6), _record(tmp_path, *chunks))
    assert bool(outcome.wrong) == cut


@pytest.mark.parametrize(("answer", "owed"), [(ECHO, False), (ECHO[:-1], True), (b"", True)])
def test_a_ramp_that_ended_since_the_board_owed_an_answer_is_not_judged(
    tmp_path: Path, answer: bytes, owed: bool
) -> None:
    steps = [("=>", 1.0 + 0.02 * k, SAMPLE.replace(b"1460", b"%d" % (1460 + 11 * k))) for k in range(4)]
    asked = [("=>", 1.03, QUERY), ("<=", 1.07, answer), ("=>", 1.08, b"\x1b\rVER\r" + QUERY)]
    outcome = Round("x")
    judge_ramp(outcome, _stage(LYNX6), _record(tmp_path, *steps, *asked))
    assert bool(outcome.not_judged) == owed
    assert bool(outcome.wrong) != owed


def test_a_line_that_leaves_too_late_is_found(tmp_path: Path) -> None:
    record = _record(tmp_path, ("=>", 1.0, SAMPLE), ("=>", 1.3, SAMPLE))
    for bound_s, wrong in ((0.35, 0), (0.25, 1)):
        outcome = Round("x")
        judge_quiet(outcome, _stage(LYNX6), record, 1.0, bound_s)
        assert len(outcome.wrong) == wrong
        assert outcome.numbers["last line that moves, s"] == pytest.approx(0.3)


@pytest.mark.parametrize(("refreshes", "found"), [(2, False), (4, True)])
def test_wrong_pulses_after_an_echo_has_shown_one_are_counted(tmp_path: Path, refreshes: int, found: bool) -> None:
    right = (1460.0, 2322.0, 912.0, 2282.0, 1580.0, 2112.0)
    astray = (1600.0, *right[1:])
    told = bytes([160, *ECHO[1:]])
    record = _record(
        tmp_path, ("=>", 0.5, SAMPLE), ("=>", 1.0, SAMPLE), ("=>", 1.05, QUERY), ("<=", 1.06, told),
        ("=>", 1.4, QUERY), ("<=", 1.41, ECHO), ("=>", 1.5, QUERY), ("<=", 1.51, ECHO),
    )  # fmt: skip
    frames = [Frame(1.0, right, ()), Frame(1.04, astray, ()), Frame(1.07, right, ())]
    frames += [Frame(1.1 + 0.02 * i, (astray, right)[i % 2], ()) for i in range(refreshes)]
    frames += [Frame(1.45, astray, ()), Frame(1.47, right, ())]  # another time, that no echo has shown yet
    trace = Trace(tmp_path / "none", LYNX6)
    trace.frames = frames
    outcome = Round("x")
    judge_wrong_pulses(outcome, _stage(LYNX6, record), trace, 0.9)
    assert outcome.numbers["wrong refreshes after a wrong echo"] == refreshes
    assert bool(outcome.wrong) == found


@pytest.mark.parametrize(("answer_s", "found"), [(1.5, False), (9.0, True)])
def test_an_arm_gone_astray_that_nobody_calls_back_is_found(tmp_path: Path, answer_s: float, found: bool) -> None:
    target = b"1;1;EXECJT=(5.00,0.00,0.00,0.00,0.00,0.00)\r1;1;EXECMOV JT\r"
    record = _record(tmp_path, ("=>", 1.0, target), ("=>", answer_s, b"1;1;STOP\r"))
    frames = [Frame(1.0, (), (0.0,) * 5), Frame(1.2, (), (0.2, *(0.0,) * 4))]
    outcome = Round("x")
    judge_astray(outcome, _stage(RV2AJ, record), SimpleNamespace(frames=frames), 0.9)  # type: ignore[arg-type]
    assert bool(outcome.wrong) == found


def test_a_kind_of_which_no_round_was_judged_is_named() -> None:
    jobs = [SimpleNamespace(arm="lynx6", kind=KINDS[number].name) for number in (0, 0, 1)]
    rounds = (Round("a", not_judged="no start"), Round("a", not_judged="no start"), Round("a", numbers={}))
    assert never_judged(table(zip(jobs, rounds, strict=True))) == [f"lynx6: {KINDS[0].name}"]  # type: ignore[arg-type]


def test_the_table_tells_kept_broken_not_judged_and_skipped_apart() -> None:
    kept, broken = Round("a", numbers={"last pulse, s": 0.05}, allowed={"last pulse, s": 0.1}), Round("a", wrong=["x"])
    never, skipped = Round("a", not_judged="no start"), Round("a", skipped="no right")
    jobs = [SimpleNamespace(arm="lynx6", kind=KINDS[number].name) for number in (0, 0, 0, 1)]
    first, second = table(zip(jobs, (kept, broken, never, skipped), strict=True))  # type: ignore[arg-type]
    assert (first.kept, first.broken, first.not_judged) == (1, 1, 1)
    assert second.skipped == "no right"
    assert never_judged([first, second]) == []
    page = markdown([first, second])
    assert "| 1 of 2, 1 not judged | last pulse 0.05, 0.05 (0.1) s |" in page
    assert "skipped: no right" in page
