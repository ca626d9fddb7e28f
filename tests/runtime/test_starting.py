"""What a person hears of a start that is slow, and that one that is not says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.runtime.ring import RingReader, RingWriter
from hil.runtime.start_report import Mark, StartReport, Step


class Start:
    """A start that begins at 100 s."""

    def __init__(self, first: Step = Step.FAKE) -> None:
        self.said: list[str] = []
        self.starting = StartReport(self.said.append)
        self.starting.begin(100.0, first)

    def reached(self, step: Step, at_s: float, cpu_s: float | None = None) -> None:
        self.starting.reached(step, Mark(at_s=at_s, cpu_s=cpu_s))


def test_a_start_that_takes_less_than_two_seconds_is_nothing_to_tell() -> None:
    start = Start()
    for tick in range(100):
        start.starting.look(100.0 + 0.0199 * tick)
    start.starting.end(101.99)
    assert start.said == []
    assert start.starting.over


def test_a_slow_start_says_what_it_waits_for_and_what_took_the_time() -> None:
    start = Start()
    start.reached(Step.FAKE, 101.5)
    start.starting.look(102.1)
    waits = "waits for the loop's process and its imports; nothing moves yet"
    assert start.said == [f"starting for 2.1 s (the fake controller 1.5 s): {waits}"]


def test_with_a_real_port_nothing_waits_for_a_fake() -> None:
    start = Start(Step.LOOP)
    start.starting.look(102.5)
    assert start.said == ["starting for 2.5 s: waits for the loop's process and its imports; nothing moves yet"]


def test_it_is_told_again_after_twice_the_time_and_every_ten_seconds_then() -> None:
    start = Start()
    for tick in range(2500):
        start.starting.look(100.0 + 0.02 * tick)
    assert [words.partition(":")[0] for words in start.said] == [
        f"starting for {seconds}.0 s" for seconds in (2, 4, 8, 16, 26, 36, 46)
    ]


def test_at_its_end_every_step_is_told_with_its_share_of_work() -> None:
    start = Start()
    start.reached(Step.FAKE, 101.0)
    start.reached(Step.LOOP, 104.0, 0.45)
    start.reached(Step.JOURNAL, 104.5, 0.46)
    start.reached(Step.BUILT, 105.0, 0.50)
    start.starting.end(105.2)
    start.starting.end(107.0)
    assert start.said == [
        "the start took 5.2 s (the fake controller 1.0 s, the loop's process and its imports 3.0 s, 0.45 s of it work, "
        "the recorder and its journal 0.5 s, 0.01 s of it work, guard and driver 0.5 s, 0.04 s of it work, "
        "the first tick 0.2 s): close what keeps this computer busy"
    ]


@pytest.mark.parametrize("step", list(Step))
def test_a_mark_goes_from_the_loop_to_its_owner_through_the_ring(step: Step, tmp_path: Path) -> None:
    with RingWriter.create(tmp_path / "ring", 4096) as writer:
        reader = RingReader(tmp_path / "ring")
        assert [reader.mark(each) for each in Step] == [None] * len(Step)
        writer.set_mark(step, 12.5, 0.25)
        assert [reader.mark(each) for each in Step] == [(12.5, 0.25) if each is step else None for each in Step]
        reader.close()
