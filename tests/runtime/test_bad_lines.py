"""Bad lines under a whole rig, in every mode: never worse for coming sooner, told apart, no push to a dead board.

`scripts/line-noise` does the same for as long as one likes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from line_noise import befall, first_fault, named, noise, one_damaged_line, restart, streaming
from virtual_session import Session, certified, load, swing

from hil.errors import LineCause
from hil.runtime.line_health import SAYINGS
from hil.types import Arm, EmergencyStop, Mode, Reset, Stop
from sim.ssc32 import Untouched

Make = Callable[..., Session]
MODES = (Mode.UNKNOWN_POSE, Mode.ENERGISING, Mode.IDLE, Mode.ARMED, Mode.STREAMING, Mode.STOPPING)
LATE_S = (0.1, 0.2, 0.4, 0.8, 1.2, 1.5, 2.0, 3.0)
MOVING = {Mode.STREAMING, Mode.STOPPING}


def bring(session: Session, mode: Mode) -> Session:
    if mode is Mode.STOPPING:
        session.to(Mode.STREAMING)
        session.tick(Stop(reason="test"))
    else:
        session.to(mode)
    assert session.mode is mode
    return session


def severity(session: Session, mode: Mode) -> int:
    """0: it went its way; 1: the motion was held up, or the first move called off; 2: a fault."""
    if first_fault(session):
        return 2
    went = {Mode.STREAMING: Mode.IDLE, Mode.STOPPING: Mode.HOLDING, Mode.ENERGISING: Mode.IDLE, Mode.ARMED: Mode.ARMED}
    held = mode is Mode.STOPPING and any("come to rest by itself" in event for event in session.events)
    return int(held or session.mode is not went.get(mode, mode))


# -- late, in pieces, lost, doubled ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_what_comes_later_is_never_judged_milder(session: Make, mode: Mode) -> None:
    judged = []
    for late_s in LATE_S:
        s = bring(session(), mode)
        befall(s, kind="late", every=1, for_s=0.045, delay_ms=1000.0 * late_s, direction="replies", after_s=0.001)
        s.run(late_s + 2.0)
        judged.append(severity(s, mode))
    assert judged == sorted(judged)
    assert judged[LATE_S.index(0.8)] < 2, "a reply that is late by 0.8 s is a warning"
    assert judged[-1] == 2


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.STREAMING])
def test_a_late_answer_is_told_as_late_and_by_how_much(session: Make, mode: Mode) -> None:
    s = bring(session(), mode)
    befall(s, kind="late", every=1, for_s=0.045, delay_ms=800.0, direction="replies", after_s=0.001)
    s.run(2.0)
    assert any("an answer came 0.8" in event and SAYINGS[LineCause.LATE].advice in event for event in s.events)


@pytest.mark.parametrize("mode", [Mode.IDLE, Mode.STREAMING])
def test_the_slower_bytes_come_in_the_worse_it_is_judged(session: Make, mode: Mode) -> None:
    judged = []
    for piece in (7, 6, 3, 2, 1):
        s = bring(session(), mode)
        s.line.piece = piece
        s.run(4.0)
        judged.append(severity(s, mode))
    assert judged == sorted(judged)
    assert judged[0] == 0


@pytest.mark.parametrize("kind", ["lost", "doubled", "garbled"])
@pytest.mark.parametrize("mode", MODES)
def test_one_damaged_answer_changes_nothing(session: Make, mode: Mode, kind: str) -> None:
    """Its byte is lost, doubled or has a bit turned: it is asked again, and a line or two waits for that."""
    s = bring(session(), mode)
    befall(s, kind=kind, every=5, for_s=0.012, direction="replies", after_s=0.001)
    s.run(3.0)
    assert severity(s, mode) == 0


@pytest.mark.parametrize("mode", [Mode.UNKNOWN_POSE, Mode.IDLE, Mode.ARMED, Mode.STREAMING])
@pytest.mark.parametrize("every", [1, 3, 40])
def test_bytes_that_trickle_in_for_a_minute_end_in_a_fault(session: Make, mode: Mode, every: int) -> None:
    s = bring(session(), mode)
    count = itertools.count()
    s.line.lie = lambda data: data + b"\x55" * (next(count) % every == 0)
    s.until(Mode.FAULT, within_s=60.0)
    # A byte at every look, and nothing else, is as well an answer that comes byte by byte.
    causes = [LineCause.NOISE, LineCause.TRICKLE] if every == 1 else [LineCause.NOISE]
    assert any(SAYINGS[cause].said in first_fault(s) for cause in causes)


def test_silence_is_judged_alike_in_every_mode(session: Make) -> None:
    ages_s = []
    for mode in MODES:
        s = bring(session(), mode)
        s.line.deaf = True
        believed_s = s.bridge._connection.state.line.believed_s
        assert believed_s is not None
        s.until(Mode.FAULT, within_s=3.0)
        ages_s.append(s.clock.now_s() - believed_s)
        assert "no answer for 1.5 s" in first_fault(s)
    assert max(ages_s) - min(ages_s) <= 0.06


# -- what may not leave meanwhile --------------------------------------------------------------------------


@pytest.mark.parametrize("boot_s", [0.05, 0.1])
def test_no_move_reaches_a_board_that_has_restarted(boot_s: float) -> None:
    """At every phase of the tick and of the board's frame; if it takes longer to boot than we to be in doubt."""
    found = [restart(phase * 0.004, boot_s, -frame * 0.01) for phase in range(20) for frame in range(2)]
    assert max(each.left for each in found) <= 2
    assert max(each.reached for each in found) == 0
    assert max(each.noticed_s for each in found) <= 0.2
    assert all("the controller restarted" in each.words for each in found)


def test_a_board_that_boots_at_once_gets_few_moves_and_is_noticed_as_soon() -> None:
    found = [restart(phase * 0.008, 0.01) for phase in range(10)]
    assert max(each.reached for each in found) <= 2
    assert max(each.noticed_s for each in found) <= 0.12


@pytest.mark.parametrize("direction", ["commands", "replies"])
@pytest.mark.parametrize("kind", ["garbled", "lost", "doubled"])
@pytest.mark.parametrize("one_in", [200, 2000])
def test_after_a_first_wrong_echo_at_most_two_refreshes_are_wrong(direction: str, kind: str, one_in: int) -> None:
    for seed in range(1, 5):
        found = noise(seed, kind=kind, probability=1 / one_in, direction=direction)
        assert found.after <= 2, f"seed {seed}"
        assert "restarted" not in found.words, f"seed {seed}"
        if direction == "replies":
            assert (found.wrong, found.fault) == (0, ""), f"seed {seed}: damaged answers damage no motion"


@pytest.mark.parametrize("at", [3, 17, 44])
def test_one_damaged_line_that_shows_stops_the_stream(at: int) -> None:
    """A digit of a target, the digit of a channel, the time: the arm is frozen before it has gone far."""
    found = [one_damaged_line(kind, at, bit) for kind, bit in (("lost", 0), ("garbled", 1), ("garbled", 2))]
    assert any(each.wrong for each in found)
    for each in found:
        assert each.after <= 2
        assert each.wrong <= 4
        assert not each.wrong or SAYINGS[LineCause.DAMAGED].said in each.fault or each.largest < 6.0


def test_a_damaged_last_line_shows_at_rest(session: Make) -> None:
    s = bring(session(), Mode.IDLE)
    wire = s.settings.axes[0]
    s.board.receive(f"#{wire.channel}P1600T60\r".encode("ascii"), s.clock.now_s(), s.board.byte_s)
    s.until(Mode.FAULT, within_s=0.2)
    assert "base should be at 1460 us, the board makes" in first_fault(s)
    assert any(record.written.count(f"STOP{wire.channel}\r".encode("ascii")) == 3 for record in s.records)


# -- told apart --------------------------------------------------------------------------------------------


def _silent(s: Session) -> None:
    s.line.deaf = True


def _noise(s: Session) -> None:
    s.line.lie = lambda data: data + b"\x55"


def _restart(s: Session) -> None:
    s.board.power_cycle(s.clock.now_s())


def _damaged(s: Session) -> None:
    befall(s, kind="lost", probability=1 / 100, direction="commands")


def _stalled(s: Session) -> None:
    befall(s, kind="hung", for_s=0.3)


def _late(s: Session) -> None:
    befall(s, kind="delayed", delay_ms=200.0, direction="commands")


def _bunched(s: Session) -> None:
    befall(s, kind="late", every=1, for_s=0.02, delay_ms=300.0, direction="commands", after_s=0.013)


TOLD = {
    LineCause.SILENT: _silent,
    LineCause.NOISE: _noise,
    LineCause.RESTARTED: _restart,
    LineCause.DAMAGED: _damaged,
    LineCause.STALLED: _stalled,
    LineCause.LATE: _late,
    LineCause.DELAYED: _bunched,
}


@pytest.mark.parametrize("cause", TOLD, ids=lambda cause: cause.name)
def test_every_cause_is_told_by_its_own_words_and_its_own_advice(session: Make, cause: LineCause) -> None:
    s = bring(session(), Mode.STREAMING)
    TOLD[cause](s)
    s.run(3.0)
    advice = SAYINGS[cause].advice
    words = first_fault(s) or next((event for event in s.events if event.startswith("the line: ")), "")
    assert cause is not LineCause.DELAYED or "about 336 ms" in words
    assert SAYINGS[cause].said.split("{")[0].strip() in words
    assert advice in words
    kept_apart = {LineCause.DAMAGED, LineCause.RESTARTED, LineCause.STALLED} - {cause}
    assert not any(SAYINGS[other].said in event for other in kept_apart for event in s.events)


@pytest.mark.parametrize("again_ms", [None, 3.0, 11.0, 17.0, 24.0, 33.0, 47.0])
@pytest.mark.parametrize("phase_ms", [0.0, 4.0, 9.0, 14.0, 19.0])
@pytest.mark.parametrize("mode", [Mode.ENERGISING, Mode.IDLE])
def test_a_restart_is_called_one_whenever_it_comes_and_if_it_comes_twice(
    mode: Mode, phase_ms: float, again_ms: float | None
) -> None:
    """Of a board that answers 1500 us for what it does not drive, and boots in 5 ms: its silence shows nothing."""
    s = Session(untouched=Untouched.MIDDLE, boot_s=0.005).to(mode)
    s.run(0.3)
    begun_s = s.clock.now_s()
    dips_s = [begun_s + phase_ms / 1e3, *([] if again_ms is None else [begun_s + (phase_ms + again_ms) / 1e3])]
    for number in range(1, 60):
        due_s = begun_s + number * s.rig.period_s
        while dips_s and dips_s[0] <= due_s:
            s.clock.sleep_until(dips_s.pop(0))
            s.board.power_cycle(s.clock.now_s())
        s.clock.sleep_until(due_s)
        s.tick(after_s=0.0)
    assert s.mode is Mode.FAULT
    assert "the controller restarted" in first_fault(s)


@pytest.mark.parametrize("delay_ms", [30.0, 60.0, 100.0, 200.0, 300.0])
@pytest.mark.parametrize("direction", ["commands", "replies"])
def test_a_delay_is_no_damage(session: Make, delay_ms: float, direction: str) -> None:
    s = bring(session(), Mode.STREAMING)
    befall(s, kind="delayed", delay_ms=delay_ms, direction=direction)
    s.run(3.0)
    assert not first_fault(s)


def test_a_loop_that_was_held_up_does_not_blame_the_line(session: Make) -> None:
    s = bring(session(), Mode.IDLE)
    s.tick(after_s=3.0)
    s.run(0.5)
    assert s.mode is Mode.IDLE
    assert not any("the line" in event for event in s.events)


def test_arming_is_refused_while_the_newest_believed_report_is_too_old(session: Make) -> None:
    s = bring(session(), Mode.IDLE)
    s.tick(load(swing(), certified(s.rig, swing())))
    s.line.deaf = True
    s.run(0.5)
    s.tick(Arm(digest=swing().digest))
    assert s.mode is Mode.IDLE
    assert "is 0.5" in s.events[-1]
    assert "allowed: 0.40 s. no answer for 0.5 s: look whether the controller has power" in s.events[-1]
    s.line.deaf = False
    s.run(0.6)
    s.tick(Arm(digest=swing().digest))
    assert s.mode is Mode.ARMED


# -- the first cause ---------------------------------------------------------------------------------------


def test_the_first_cause_stays_until_the_reset(session: Make) -> None:
    s = bring(session(), Mode.STREAMING)
    s.board.power_cycle(s.clock.now_s())
    s.until(Mode.FAULT)
    first = first_fault(s)
    s.run(0.2, Stop(reason="somebody said so"))
    s.unplug()
    s.run(0.5)
    assert [event for event in s.events if "-> fault: " in event] == [first]
    assert "stop: somebody said so; nothing moves" in s.events[-1]
    assert "(before that: memory: the controller restarted" in s.events[-1]
    s.tick(EmergencyStop(reason="pressed"))
    assert "fault -> estop: software stop: pressed" in s.events[-1]
    assert "(before that: memory: the controller restarted" in s.events[-1]
    s.plug_in()
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.line.deaf = True
    s.until(Mode.FAULT)
    assert "no answer" in s.events[-1]
    assert "before that" not in s.events[-1]


# -- what it takes in the account --------------------------------------------------------------------------


def test_the_record_carries_the_account_where_something_went_wrong_or_the_mode_changed(session: Make) -> None:
    s = streaming(session())
    befall(s, kind="lost", every=30, direction="replies")
    s.run(1.0)
    told = [record for record in s.records if record.line is not None]
    assert len(told) < len(s.records) / 3
    assert told[-1].line is not None
    assert told[-1].line.lost > 0
    assert {Mode.IDLE, Mode.STREAMING} <= {record.mode for record in told}


def test_what_was_said_of_a_bad_line_is_never_the_same_thing_ten_times(session: Make) -> None:
    s = bring(session(), Mode.IDLE)
    befall(s, kind="lost", probability=1 / 100, direction="replies")
    s.run(9.0)
    assert s.bridge._connection.state.line.lost > 10
    said: dict[str, Any] = {}
    for event in s.events:
        said[event] = said.get(event, 0) + 1
    assert max(said.values()) == 1
    assert named(s) == ""
