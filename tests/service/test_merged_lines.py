"""Lines of one kind are merged: the first at once, the rest as a number once a minute; nothing is lost."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hil.service.merged_lines import EVERY_S, MOST_KINDS, MergedLines

LINES = st.lists(st.tuples(st.floats(0.0, 50.0), st.sampled_from(["a", "b", "left is away: no cable"])), max_size=60)


class Log:
    """A log with a clock of its own."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.said: list[str] = []
        self.lines = MergedLines(self.said.append, lambda: self.now_s)


def test_the_first_is_said_at_once_and_the_others_once_a_minute_as_a_number() -> None:
    log = Log()
    for _ in range(179_000):
        log.lines("socket.accept() out of system resource <fd=7> at 0x7f12")
    assert log.said == ["socket.accept() out of system resource <fd=7> at 0x7f12"]
    log.now_s = EVERY_S - 0.001
    log.lines.tidy()
    assert len(log.said) == 1
    log.now_s = EVERY_S
    log.lines.tidy()
    assert log.said[1:] == ["socket.accept() out of system resource <> at  (178999 times in 60 s)"]
    log.now_s = 2 * EVERY_S
    log.lines("socket.accept() out of system resource <fd=9> at 0x9999")
    assert log.said[2:] == ["socket.accept() out of system resource <fd=9> at 0x9999"]


def test_arms_have_lines_of_their_own() -> None:
    log = Log()
    for arm in ("arm-1", "arm-2", "arm-1"):
        log.lines(f"{arm} is away: no cable")
    assert log.said == ["arm-1 is away: no cable", "arm-2 is away: no cable"]


def test_more_kinds_than_anybody_could_merge_are_all_said() -> None:
    log = Log()
    for number in range(MOST_KINDS + 3):
        log.lines(f"kind {number}")
    log.lines(f"kind {MOST_KINDS + 1}")
    assert len(log.said) == MOST_KINDS + 4


@given(LINES)
def test_every_line_is_said_or_counted_and_no_kind_twice_within_a_minute(lines: list[tuple[float, str]]) -> None:
    log = Log()
    spoken: list[tuple[float, str]] = []
    log.lines = MergedLines(lambda words: spoken.append((log.now_s, words)), lambda: log.now_s)
    for pause_s, words in lines:
        log.now_s += pause_s
        log.lines(words)
    for _ in range(2):
        log.now_s += EVERY_S
        log.lines.tidy()

    def told(words: str) -> int:
        found = re.search(r" \((\d+) times in \d+ s\)$", words)
        return int(found[1]) if found else 1

    assert sum(told(words) for _, words in spoken) == len(lines)
    for kind in ("a", "b", "left"):
        times_s = [at_s for at_s, words in spoken if words.startswith(kind)]
        assert all(later - before >= EVERY_S - 1e-6 for before, later in pairwise(times_s))
