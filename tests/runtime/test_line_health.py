"""The judge of a line by itself: ages, never counts; our own gaps are not the line's."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import lynx6

from hil.errors import ControllerError, LineCause
from hil.runtime import wiring
from hil.runtime.line_health import SAYINGS, AccountLog, Level, LineHealth, explained
from hil.types import LineAccount, Mode

TICK_S = 0.02
DOCS = Path(__file__).parents[2] / "docs" / "faults-and-kills.md"


def judged(line: LineAccount, seconds: float, start_s: float = 10.0, health: LineHealth | None = None) -> LineHealth:
    """A judge that has looked at this account, tick by tick, for so long."""
    health = health or LineHealth(lynx6())
    for tick in range(round(seconds / TICK_S) + 1):
        health.look(line, start_s + tick * TICK_S)
    return health


@pytest.mark.parametrize(
    ("age_s", "level"),
    [(0.05, Level.FINE), (0.38, Level.FINE), (0.42, Level.HOLD), (1.48, Level.HOLD), (1.52, Level.FAULT)],
)
def test_the_level_is_the_age_of_what_is_believed(age_s: float, level: Level) -> None:
    assert judged(LineAccount(believed_s=10.0, questions=1), age_s).level is level


def test_one_rig_waits_longer_than_another_whose_controller_reports_more_often() -> None:
    ssc32, rv2aj = LineHealth(lynx6()), LineHealth(wiring.load_rig("rv2aj"))
    assert (ssc32.hold_s, ssc32.fault_s) == (0.4, 1.5)
    assert rv2aj.hold_s > 2 * ssc32.hold_s
    assert rv2aj.fault_s > 2 * ssc32.fault_s


ACCOUNTS = st.builds(
    LineAccount,
    believed_s=st.floats(0.0, 10.0),
    overdue_s=st.none() | st.floats(0.0, 10.0),
    questions=st.integers(1, 1000),
    late=st.integers(0, 5),
    lost=st.integers(0, 5),
    noise_bytes=st.integers(0, 50),
    wrong_echoes=st.integers(0, 5),
)


@given(ACCOUNTS, st.floats(0.0, 3.0), st.floats(0.0, 3.0))
def test_what_is_older_is_never_judged_milder(line: LineAccount, younger_s: float, older_s: float) -> None:
    younger_s, older_s = sorted((younger_s, older_s))
    old = msgspec.structs.replace(line, believed_s=(line.believed_s or 0.0) - older_s)
    young = msgspec.structs.replace(line, believed_s=(line.believed_s or 0.0) - younger_s)
    levels = []
    for account in (young, old):
        health = LineHealth(lynx6())
        health.look(account, 10.0)
        levels.append(health.level)
    assert levels == sorted(levels)


def test_an_overdue_answer_holds_moves_back_where_each_leaves_at_once() -> None:
    line = LineAccount(believed_s=10.0, overdue_s=10.03, questions=2)
    assert not judged(line, 0.04).may_move
    assert judged(msgspec.structs.replace(line, overdue_s=None), 0.04).may_move
    doubt = msgspec.structs.replace(line, overdue_s=None, doubtful_s=10.01)
    assert not judged(doubt, 0.04).may_move
    paced = LineHealth(wiring.load_rig("rv2aj"))
    assert judged(line, 0.04, health=paced).may_move


def test_a_gap_of_our_own_is_not_counted_and_is_named() -> None:
    health = judged(LineAccount(believed_s=10.0, questions=1), 0.1)
    health.look(LineAccount(believed_s=10.0, questions=1), 15.1)
    assert health.level is Level.FINE
    assert health.age_s(15.1) == pytest.approx(5.1)
    assert health.words(15.1).startswith("this program itself was held up for 5.0 s")


def test_after_a_gap_the_age_goes_on_from_where_it_was() -> None:
    line = LineAccount(believed_s=10.0, questions=1)
    health = judged(line, 0.3)
    health.look(line, 15.3)
    assert health.level is Level.FINE
    assert judged(line, 0.14, start_s=15.3, health=health).level is Level.HOLD


@pytest.mark.parametrize(("every_s", "level"), [(1.0, Level.FAULT), (2.9, Level.FAULT), (3.2, Level.FINE)])
def test_noise_that_does_not_end_is_a_fault_although_answers_come_through(every_s: float, level: Level) -> None:
    health, highest = LineHealth(lynx6()), Level.FINE
    for tick in range(3000):
        now_s = 10.0 + tick * TICK_S
        health.look(LineAccount(believed_s=now_s - 0.04, questions=tick + 1, noise_bytes=int(now_s / every_s)), now_s)
        highest = max(highest, health.level)
    assert highest is level


NEWS = {
    "no answer for 0.5 s": {"lost": 1},
    "an answer came 0.50 s late": {"late": 1},
    "bytes without meaning on the line": {"noise_bytes": 3},
}


@pytest.mark.parametrize("words", NEWS)
def test_what_has_passed_is_told_once_by_its_cause(words: str) -> None:
    health = LineHealth(lynx6())
    health.look(LineAccount(believed_s=10.0, questions=1), 10.0)
    health.look(LineAccount(believed_s=10.0, overdue_s=10.02, questions=1), 10.5)
    told = health.look(LineAccount(believed_s=10.5, questions=2, **NEWS[words]), 10.52)
    assert told.startswith(f"the line: {words}")
    assert health.look(LineAccount(believed_s=10.5, questions=2, **NEWS[words]), 10.54) == ""


def test_a_doubt_is_told_when_it_is_over() -> None:
    health = LineHealth(lynx6())
    health.look(LineAccount(believed_s=10.0, questions=1), 10.0)
    assert health.look(LineAccount(believed_s=10.0, questions=1, wrong_echoes=1, doubtful_s=10.0), 10.02) == ""
    told = health.look(LineAccount(believed_s=10.0, questions=2, wrong_echoes=1), 10.04)
    assert told.startswith("the line: bytes without meaning")
    health.look(LineAccount(believed_s=10.0, questions=2, doubtful_s=10.05, delayed_s=0.08), 10.06)
    assert health.words(10.06).startswith("commands arrive late by about 80 ms: set the adapter's latency timer")
    told = health.look(LineAccount(believed_s=10.08, questions=3), 10.1)
    assert told.startswith("the line: commands arrive late by about 80 ms")


def test_a_line_that_is_opened_anew_begins_anew() -> None:
    health = judged(LineAccount(believed_s=10.0, questions=9), 2.0)
    assert health.level is Level.FAULT
    health.look(LineAccount(questions=1), 12.02)
    assert health.level is Level.FINE
    assert health.may_move


def test_an_error_is_followed_by_the_advice_for_its_cause() -> None:
    for cause in LineCause:
        assert explained(ControllerError("it broke", cause=cause)) == f"it broke: {SAYINGS[cause].advice}"
    assert explained(ControllerError("it broke")) == "it broke"


def test_the_account_is_logged_where_it_says_something_new() -> None:
    log, line = AccountLog(), LineAccount(believed_s=1.0, questions=5)
    assert log.entry(LineAccount(), Mode.CONNECTING) is None
    assert log.entry(line, Mode.IDLE) is line
    assert log.entry(msgspec.structs.replace(line, questions=9, believed_s=2.0), Mode.IDLE) is None
    for name in ("late", "lost", "noise_bytes", "wrong_echoes"):
        line = msgspec.structs.replace(line, **{name: 1})
        assert log.entry(line, Mode.IDLE) is line
    assert log.entry(line, Mode.HOLDING) is line


def test_the_table_in_the_docs_says_what_the_program_says() -> None:
    table = re.findall(r"^\| ([^|]+) \| \"([^\"]+)\" \| ([^|]+) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    written = {cause: (said, advice) for cause, said, advice in table}
    meant = {cause.value: (re.sub(r"\{.*?\}", "...", s.said), s.advice) for cause, s in SAYINGS.items()}
    assert written == meant
    assert set(SAYINGS) == set(LineCause)


@given(st.lists(st.tuples(st.floats(0.0, 0.5), ACCOUNTS | st.none(), st.booleans()), max_size=12))
def test_a_look_that_is_spared_would_have_said_the_same(
    ticks: list[tuple[float, LineAccount | None, bool]],
) -> None:
    """An account that only went on is not judged anew; here one judge is made to judge all of them."""
    sparing, thorough = LineHealth(lynx6()), LineHealth(lynx6())
    now_s, line = 10.0, LineAccount(believed_s=10.0, questions=1)
    for step_s, other, goes_on in ticks:
        now_s += step_s
        if goes_on:
            line = msgspec.structs.replace(line, believed_s=now_s - 0.01, questions=line.questions + 1)
        elif other is not None:
            line = other
        thorough._fine_until_s = float("-inf")
        assert sparing.look(line, now_s) == thorough.look(line, now_s)
        assert (sparing.level, sparing.may_move) == (thorough.level, thorough.may_move)
        assert sparing.words(now_s) == thorough.words(now_s)
