"""What every `ArmLink` with a byte line promises about a line that is bad, dead, hung, pulled out or full."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from arm_stands import START_S, WIRED_STANDS, WiredStand
from hypothesis import example, given, settings
from hypothesis import strategies as st
from virtual_session import script

from hil.errors import CommandError, ControllerError, HilError, LinkClosed, LinkError, LinkOverrun, LinkTimeout
from hil.types import JointState, LinkPhase

Make = Callable[..., WiredStand]
PATIENCE_S = 5.0


@pytest.fixture(params=list(WIRED_STANDS))
def make(request: pytest.FixtureRequest) -> Make:
    """Makes a stand of one kind, with what goes wrong on its line."""

    def made(*faults: dict[str, Any], seed: int = 1) -> WiredStand:
        return made_of(request.param, faults, seed)

    return made


def made_of(kind: str, faults: Sequence[dict[str, Any]], seed: int) -> WiredStand:
    """A stand whose faults, but for those from the beginning on, wait until it stands at its distinct pose."""
    begin_s = WIRED_STANDS[kind](None).faults_from_s
    moved = [{**fault, **({"at_s": begin_s} if "at_s" in fault else {})} for fault in faults]
    return WIRED_STANDS[kind](script(*moved, seed=seed) if moved else None)


def standing(stand: WiredStand) -> WiredStand:
    """Connected and driven at a pose in which no axis reads like another."""
    stand.connect()
    stand.energise(stand.distinct)
    stand.tick(10)
    return stand


def observed(stand: WiredStand, ticks: int, period_s: float = 0.02) -> list[JointState]:
    """Different reports that come in over so many ticks."""
    seen: list[JointState] = []
    for _ in range(ticks):
        joints = stand.tick(period_s=period_s).joints
        if joints is not None and (not seen or joints != seen[-1]):
            seen.append(joints)
    return seen


# -- bad lines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 2, 3])
def test_an_answer_in_pieces_is_put_together(make: Make, piece: int) -> None:
    stand = standing(make())
    stand.line.piece = piece
    reports = observed(stand, 300 * stand.slowness, period_s=0.001)
    assert len(reports) > 3
    assert all(report.positions == reports[0].positions for report in reports)
    assert stand.tick(period_s=0.001).line.lost == 0


BAD_LINES: list[dict[str, Any]] = [
    {"kind": "lost", "every": 5},
    {"kind": "lost", "every": 23},
    {"kind": "doubled", "every": 5},
    {"kind": "doubled", "every": 23},
    {"kind": "late", "every": 7, "delay_ms": 45.0},
    {"kind": "late", "every": 29, "delay_ms": 150.0},
    {"kind": "late", "every": 3, "delay_ms": 12.0},
]


@pytest.mark.parametrize("fault", BAD_LINES, ids=lambda fault: f"{fault['kind']} {fault['every']}")
def test_lost_doubled_and_late_bytes_never_shift_a_value_to_another_axis(make: Make, fault: dict[str, Any]) -> None:
    stand = standing(make({**fault, "at_s": 3.0}))
    truth = stand.tick().joints
    assert truth is not None
    stand.now_s = max(stand.now_s, stand.faults_from_s + START_S)
    for report in observed(stand, 400):
        assert report.positions == truth.positions
    assert stand.reports == sorted(stand.reports)


@pytest.mark.parametrize("every", [3, 11, 31])
def test_a_garbled_byte_changes_at_most_its_own_axis(make: Make, every: int) -> None:
    """A turned bit can look like a pulse: nothing on this line carries a check sum. It never looks like another's."""
    stand = standing(make({"kind": "garbled", "every": every, "at_s": 3.0}))
    truth = stand.tick().joints
    assert truth is not None
    stand.now_s = max(stand.now_s, stand.faults_from_s + START_S)
    try:
        reports = observed(stand, 400)
    except HilError as error:
        # Where nearly every answer is garbled, that is all that can be said of what was sent.
        assert re.search("restarted|arrive damaged", str(error))
        return
    for report in reports:
        for axis, value in enumerate(report.positions):
            others = [other for i, other in enumerate(stand.distinct) if i != axis]
            assert value == truth.positions[axis] or value not in others


@settings(max_examples=40, deadline=None, print_blob=True)
@example("ssc32 1.x", ("doubled", "late"), 0.0234375, 0, 29.0, 0.03125)
@example("ssc32u", ("lost", "late"), 0.09375, 75932, 249.0, 0.03125)
@example("simulated", ("lost", "late"), 0.125, 0, 1.0, 0.046875)
@given(
    kind=st.sampled_from(list(WIRED_STANDS)),
    kinds=st.sampled_from([("lost",), ("doubled",), ("late",), ("lost", "late"), ("doubled", "late")]),
    probability=st.floats(0.0, 0.2),
    seed=st.integers(0, 2**32),
    delay_ms=st.floats(0.1, 300.0),
    period_s=st.floats(0.004, 0.05),
)
def test_a_report_is_never_another_axis_and_never_newer_than_it_says(
    kind: str, kinds: tuple[str, ...], probability: float, seed: int, delay_ms: float, period_s: float
) -> None:
    """Except for one byte lost and another doubled within one answer: without a check sum nobody can tell."""
    common = {"at_s": 0.0, "probability": probability}
    faults = [{"kind": k, **common} | ({"delay_ms": delay_ms} if k == "late" else {}) for k in kinds]
    stand = standing(made_of(kind, faults, seed))
    stand.now_s = max(stand.now_s, stand.faults_from_s)
    pose, last_s = stand.distinct, -1.0
    for number in range(120):
        try:
            if number % 20 == 10:
                # Back and forth, so that an old answer taken for a new one shows.
                pose = stand.start if pose == stand.distinct else stand.distinct
                stand.move(pose, due_in_s=0.1)
            joints = stand.tick(period_s=period_s).joints
        except (LinkTimeout, LinkOverrun, ControllerError) as error:
            # A line as bad as that may be given up, in these words only; where every second answer is harmed, more
            # than one in a row can look as those of a board that has restarted.
            worse = "|restarted" if probability > 0.05 else ""
            assert isinstance(error, LinkTimeout) or re.search(
                f"could not be sent|arrives? (is )?damaged{worse}", str(error)
            )
            return
        if joints is None or joints.t_s == last_s:
            continue
        assert last_s < joints.t_s <= stand.now_s
        doubts = stand.doubt(joints.t_s - last_s if last_s >= 0.0 else 0.0)
        last_s = joints.t_s
        for value, (lowest, highest), coarse, doubt in zip(
            joints.positions, stand.truth_at(joints.t_s), stand.coarseness, doubts, strict=True
        ):
            assert value is not None
            assert lowest - coarse - doubt <= value <= highest + coarse + doubt


def test_bad_commands_lines_do_not_upset_the_answers(make: Make) -> None:
    """What the controller hears wrongly it does not answer; what it answers is still put where it belongs."""
    stand = standing(make({"kind": "lost", "every": 41, "at_s": 3.0, "direction": "commands"}))
    truth = stand.tick().joints
    assert truth is not None
    stand.now_s = max(stand.now_s, stand.faults_from_s + START_S)
    assert all(report.positions == truth.positions for report in observed(stand, 400))


# -- dead and hung -----------------------------------------------------------------------------------------


def test_a_line_that_is_dead_from_the_beginning_ends_in_a_diagnosis(make: Make) -> None:
    stand = make({"kind": "lost"})
    stand.open()
    with pytest.raises(LinkTimeout, match=stand.silence):
        stand.tick(250)
    assert stand.tick().phase is LinkPhase.CLOSED
    assert isinstance(stand.refusal(lambda: stand.move(stand.start)), LinkClosed)


@pytest.mark.parametrize("how", ["dead", "hung"])
def test_answers_that_stay_away_are_counted_and_the_last_report_grows_old(make: Make, how: str) -> None:
    stand = standing(make())
    if how == "dead":
        stand.line.deaf = True
    else:
        stand.hang()
    old = stand.tick(2).joints
    assert old is not None
    questions = [stand.tick(period_s=0.01).line.questions for _ in range(round(PATIENCE_S / 0.01))]
    assert all(b - a in (0, 1) for a, b in pairwise(questions))
    assert questions[-1] >= questions[0] + 5
    state = stand.tick()
    assert state.line.believed_s is not None
    assert state.line.believed_s < stand.now_s - PATIENCE_S / 2
    assert state.joints is not None
    assert state.joints.t_s <= old.t_s + 0.1


def test_when_the_answers_come_back_reports_are_fresh_again(make: Make) -> None:
    stand = standing(make())
    stand.line.deaf = True
    believed_s = stand.tick(round(1.0 / 0.02)).line.believed_s
    assert believed_s is not None
    stand.line.deaf = False
    now_s = stand.now_s
    state = stand.wait_for(lambda state: (state.line.believed_s or 0.0) > now_s, PATIENCE_S)
    assert state.joints is not None
    assert state.phase is LinkPhase.READY
    assert all(state.known)


# -- pulled out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["connecting", "ready", "driven"])
def test_a_pulled_cable_is_told_at_the_next_look_and_nothing_is_known_after_it(make: Make, when: str) -> None:
    stand = make()
    if when == "connecting":
        stand.open()
        stand.tick(2)
    elif when == "ready":
        stand.connect()
    else:
        standing(stand)
    stand.unplug()
    with pytest.raises(LinkClosed):
        stand.tick()
    state = stand.tick()
    assert state.phase is LinkPhase.CLOSED
    assert not any(state.known)
    assert state.joints is None
    assert isinstance(stand.refusal(lambda: stand.move(stand.start)), LinkClosed)
    stand.stop()
    stand.tick()


def test_a_cable_pulled_under_a_command_is_told_by_the_command_or_when_its_turn_comes(make: Make) -> None:
    stand = standing(make())
    stand.unplug()
    with pytest.raises(LinkClosed):
        stand.move(stand.distinct)
        stand.tick()
    assert stand.tick().phase is LinkPhase.CLOSED


def test_a_cable_pulled_under_a_stop_is_told_by_the_next_look(make: Make) -> None:
    stand = standing(make())
    stand.unplug()
    stand.stop()
    with pytest.raises(LinkClosed):
        stand.tick()


def test_plugged_in_again_it_connects_and_starts_from_unknown(make: Make) -> None:
    stand = standing(make())
    stand.unplug()
    with pytest.raises(LinkClosed):
        stand.tick()
    assert not any(stand.connect().known)
    assert isinstance(stand.refusal(lambda: stand.move(stand.distinct)), CommandError)
    stand.energise(stand.distinct)
    stand.move(stand.distinct)


def test_opened_anew_it_leaves_no_port_open_behind_it(make: Make) -> None:
    stand = make()
    stand.open()
    before = stand.line
    stand.open()
    with pytest.raises(LinkClosed):
        before.read(stand.now_s)


# -- full --------------------------------------------------------------------------------------------------


def test_more_than_the_line_can_carry_is_refused_and_not_queued(make: Make) -> None:
    stand = standing(make())
    if stand.own_pace:
        pytest.skip("it sends the newest target when it can, so there is never more")
    sent = 0
    with pytest.raises(LinkOverrun):
        for _ in range(50):
            stand.move(stand.distinct)
            sent += 1
    assert 1 <= sent <= 3
    assert isinstance(stand.refusal(lambda: stand.move(stand.distinct)), LinkOverrun)
    stand.tick(2)
    stand.move(stand.distinct)


def test_a_stop_goes_out_however_full_the_line_is(make: Make) -> None:
    stand = standing(make())
    stand.move(stand.start, due_in_s=1.0)
    stand.tick(3)
    with contextlib.suppress(LinkOverrun):
        for _ in range(50):
            stand.move(stand.start, due_in_s=1.0)
    stand.stop()
    stand.now_s += 2 * stand.settle_s
    frozen = stand.truth()
    stand.tick(60)
    assert stand.truth() == frozen


def test_a_port_that_takes_nothing_is_an_overrun_and_the_next_command_is_whole(make: Make) -> None:
    stand = standing(make())
    stand.line.refusals = 1
    if not stand.own_pace:
        with pytest.raises(LinkError):
            stand.move(stand.start)
    stand.move(stand.start)
    stand.tick(10)
    assert stand.truth() == pytest.approx(stand.start, abs=0.01)


def test_a_script_of_faults_repeats_itself(make: Make) -> None:
    """The same seed gives the same life, so that a failure above can be looked at again."""
    lives = []
    for _ in range(2):
        stand = standing(make({"kind": "garbled", "probability": 0.02, "at_s": 3.0}, seed=7))
        stand.now_s = max(stand.now_s, stand.faults_from_s + START_S)
        try:
            lives.append(observed(stand, 200))
        except HilError as error:
            lives.append(str(error))
    assert lives[0] == lives[1]
    assert isinstance(stand.refusal(lambda: stand.move(stand.start[:2])), HilError)
