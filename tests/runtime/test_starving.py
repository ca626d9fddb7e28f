"""A stop names who was starved, with what was measured."""

from __future__ import annotations

import os
import sys

import msgspec
import pytest
from virtual_session import Session

from hil.errors import LineCause
from hil.runtime.line_health import SAYINGS
from hil.runtime.pace import Watch
from hil.runtime.starvation import Party, StarvationWatch, blamed, waited_s
from hil.types import Mode, TickRecord


def ended(event: str) -> TickRecord:
    return msgspec.structs.replace(Session().to(Mode.IDLE).last, events=("motion loaded", event))


def words_of(cause: LineCause) -> str:
    return SAYINGS[cause].said.format(seconds=0.5, milliseconds=500.0)


def watch_says(owner_age_s: float, unkept_s: float) -> str:
    watch = Watch(lambda: False, lambda: False, lambda now_s: owner_age_s, lambda: unkept_s, lambda: "", lambda: 1.0)
    (request,) = watch.requests(1.0)
    reason: str = request.reason  # type: ignore[union-attr]
    return reason


@pytest.mark.parametrize(
    ("reason", "party"),
    [
        (watch_says(1.2, 0.0), Party.OWNER),
        (watch_says(0.0, 0.6), Party.RECORDER),
        ("no tick for 150 ms (6 missed in a row)", Party.LOOP),
        (words_of(LineCause.LOOP_LATE), Party.LOOP),
        (words_of(LineCause.SILENT), Party.LINE),
        (words_of(LineCause.LATE), Party.LINE),
        (words_of(LineCause.DELAYED), Party.LINE),
    ],
)
def test_a_stop_and_a_fault_are_put_down_to_whoever_was_kept_waiting(reason: str, party: Party) -> None:
    for before in ("streaming -> stopping: stop: ", "idle -> fault: "):
        found = blamed((f"{before}{reason}",))
        assert found is not None
        assert found[0] is party


@pytest.mark.parametrize(
    "event", ["streaming -> stopping: stop: asked for at the keyboard", "the line: no answer for 0.2 s", "armed"]
)
def test_what_is_no_stop_or_has_another_cause_is_put_down_to_nobody(event: str) -> None:
    assert blamed((event,)) is None
    assert StarvationWatch({}).take(ended(event), 1.0) == ""


class Machine:
    """Processes that wait for a core, by their numbers."""

    def __init__(self) -> None:
        self.waited = {1: 5.0, 2: 6.0, 3: 7.0, 4: 8.0}
        parties = (Party.OWNER, Party.LOOP, Party.RECORDER, Party.LINE)
        self.watch = StarvationWatch(dict(zip(parties, self.waited, strict=True)), self.waited.get)

    def runs(self, from_s: float, seconds: float) -> None:
        for look in range(round(seconds / 0.02)):
            self.watch.look(from_s + 0.02 * look)


STOP = "streaming -> stopping: stop: no answer for 0.5 s: look whether the controller has power"


def test_of_a_starved_fake_the_measured_wait_is_told_and_of_the_others_that_had_to_wait() -> None:
    machine = Machine()
    machine.runs(10.0, 4.0)
    machine.waited[4] += 0.43
    machine.waited[1] += 0.9
    assert machine.watch.take(ended(STOP), 14.0) == (
        "starved: line (no answer for 0.5 s; in 2.0 s ready to run and without a core: owner 0.90 s, "
        "the fake controller 0.43 s)"
    )


def test_what_was_waited_longer_ago_does_not_count() -> None:
    machine = Machine()
    machine.runs(10.0, 1.0)
    machine.waited[4] += 5.0
    machine.runs(11.0, 4.0)
    assert "no process of this session had to wait for a core" in machine.watch.take(ended(STOP), 15.0)


def test_a_wait_that_began_before_the_window_is_told_as_the_whole_of_it() -> None:
    machine = Machine()
    machine.runs(10.0, 4.0)
    machine.waited[4] += 7.88
    assert "in 2.0 s ready to run and without a core: the fake controller 2.0" in machine.watch.take(ended(STOP), 14.0)


def test_who_is_silent_and_had_a_core_is_said_not_to_have_waited() -> None:
    machine = Machine()
    machine.runs(10.0, 4.0)
    machine.waited[2] += 0.2
    assert machine.watch.take(ended(STOP), 14.0).endswith("loop 0.20 s, the fake controller did not)")


def test_where_the_system_counts_nothing_the_name_and_the_words_are_told() -> None:
    watch = StarvationWatch({Party.OWNER: 1}, lambda pid: None)
    watch.look(1.0)
    assert watch.take(ended(STOP), 2.0) == "starved: line (no answer for 0.5 s)"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux counts it")
def test_linux_counts_how_long_a_process_has_waited() -> None:
    found = waited_s(os.getpid())
    assert found is not None
    assert found >= 0.0


def test_of_a_process_that_is_gone_nothing_is_known() -> None:
    assert waited_s(2**22 + 1) is None
