"""What every `ArmLink` promises, whatever is behind it."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest
from arm_stands import STANDS, ArmStand

from hil.errors import CommandError, HilError, LinkClosed
from hil.types import EnergiseCommand, JointCommand, LinkPhase


@pytest.fixture(params=list(STANDS))
def stand(request: pytest.FixtureRequest) -> ArmStand:
    return STANDS[request.param]()


def near(positions: tuple[float | None, ...], wanted: tuple[float, ...], tolerance: tuple[float, ...]) -> bool:
    return all(
        a is not None and abs(a - b) <= slack + 1e-9 for a, b, slack in zip(positions, wanted, tolerance, strict=True)
    )


# -- connecting --------------------------------------------------------------------------------------------


def test_before_it_is_opened_nothing_is_known_and_nothing_can_be_sent(stand: ArmStand) -> None:
    state = stand.tick()
    assert state.phase is LinkPhase.CLOSED
    assert state.joints is None
    assert not any(state.known)
    with pytest.raises(LinkClosed):
        stand.move(stand.start)


def test_opening_sends_nothing_that_can_move_the_arm(stand: ArmStand) -> None:
    before, untouched = stand.truth(), stand.sent_to_the_arm()
    stand.connect()
    stand.tick(100)
    assert stand.truth() == before
    assert stand.sent_to_the_arm() == untouched


def test_it_is_ready_only_when_the_controller_has_said_what_it_is(stand: ArmStand) -> None:
    stand.open()
    for _ in range(100):
        state = stand.tick()
        assert (state.phase is LinkPhase.READY) == bool(state.identity)
    assert state.phase is LinkPhase.READY


def test_after_connecting_no_axis_is_known(stand: ArmStand) -> None:
    assert not any(stand.connect().known)


def test_a_timed_move_is_refused_while_an_axis_is_unknown(stand: ArmStand) -> None:
    stand.connect()
    for axis in range(len(stand.start)):
        assert isinstance(stand.refusal(lambda: stand.move(stand.start)), CommandError)
        stand.energise(axes=[axis])
    stand.move(stand.start)


def test_one_command_drives_one_axis(stand: ArmStand) -> None:
    stand.connect()
    for axis in range(len(stand.start)):
        stand.energise(axes=[axis])
        state = stand.tick(2)
        assert state.known == tuple(i <= axis for i in range(len(stand.start)))
    assert near(stand.truth(), stand.start, stand.resolution)


def test_closed_and_opened_again_it_starts_from_unknown(stand: ArmStand) -> None:
    stand.ready()
    stand.link.close()
    state = stand.tick()
    assert state.phase is LinkPhase.CLOSED
    assert state.joints is None
    assert not any(state.known)
    assert isinstance(stand.refusal(lambda: stand.move(stand.start)), LinkClosed)
    here = stand.truth()
    assert not any(stand.connect().known)
    assert isinstance(stand.refusal(lambda: stand.move(stand.start)), CommandError)
    assert stand.truth() == here, "the arm stays as it is"
    stand.energise()
    stand.move(stand.elsewhere)


def test_closing_twice_is_fine_and_so_is_closing_what_was_never_open(stand: ArmStand) -> None:
    stand.link.close()
    stand.ready()
    stand.link.close()
    stand.link.close()


# -- moving ------------------------------------------------------------------------------------------------


def test_a_move_arrives_when_it_is_due_and_where_write_said(stand: ArmStand) -> None:
    stand.ready()
    sent = stand.move(stand.elsewhere, due_in_s=0.4)
    assert isinstance(sent, JointCommand)
    assert near(sent.positions, stand.elsewhere, stand.resolution)
    stand.tick(10)
    half = stand.truth()
    if not stand.own_pace:
        assert not near(half, sent.positions, (1e-9,) * len(sent.positions)), "half of the time has passed"
    stand.tick(12)
    assert near(stand.truth(), sent.positions, (1e-9,) * len(sent.positions))


def test_write_returns_what_the_controller_really_sees(stand: ArmStand) -> None:
    stand.ready()
    for share in (0.0, 0.123456789, 0.5, 0.987654321):
        wanted = tuple(a + share * (b - a) for a, b in zip(stand.start, stand.elsewhere, strict=True))
        sent = stand.move(wanted)
        assert isinstance(sent, JointCommand)
        assert sent.seq == stand.seq
        assert near(sent.positions, wanted, stand.resolution)
        stand.tick(6)
        assert near(stand.truth(), sent.positions, (1e-9,) * len(wanted))


def test_a_first_move_returns_what_the_controller_really_sees(stand: ArmStand) -> None:
    stand.connect()
    sent = stand.write(EnergiseCommand(seq=0, axis=0, position=stand.start[0]))
    assert isinstance(sent, EnergiseCommand)
    stand.tick(3)
    truth = stand.truth()[0]
    assert truth == pytest.approx(sent.position, abs=1e-12)


def test_a_move_that_is_due_already_is_carried_out(stand: ArmStand) -> None:
    stand.ready()
    stand.move(stand.start, due_in_s=-1.0)
    stand.tick(4)
    assert near(stand.truth(), stand.start, stand.resolution)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_command_that_is_not_finite_cannot_even_be_made(value: float) -> None:
    with pytest.raises(CommandError, match="not a finite number"):
        JointCommand(seq=1, due_s=1.0, positions=(0.0, value))
    with pytest.raises(CommandError, match="not a finite number"):
        JointCommand(seq=1, due_s=value, positions=(0.0,))
    with pytest.raises(CommandError, match="not a finite number"):
        EnergiseCommand(seq=1, axis=0, position=value)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda pose: pose[:-1],
        lambda pose: (*pose, 0.0),
        lambda pose: pose[:1],
    ],
)
def test_a_wrong_number_of_positions_is_refused_and_nothing_is_sent(
    stand: ArmStand, spoil: Callable[[tuple[float, ...]], tuple[float, ...]]
) -> None:
    stand.ready()
    assert isinstance(stand.refusal(lambda: stand.move(spoil(stand.start))), CommandError)


@pytest.mark.parametrize("axis", [-1, 6, 99])
def test_an_axis_that_is_not_there_is_refused_and_nothing_is_sent(stand: ArmStand, axis: int) -> None:
    stand.connect()
    command = EnergiseCommand(seq=0, axis=axis, position=0.0)
    assert isinstance(stand.refusal(lambda: stand.write(command)), CommandError)


def test_a_position_outside_what_may_be_sent_is_refused_and_nothing_is_sent(stand: ArmStand) -> None:
    outside = stand.outside
    if outside is None:
        pytest.skip("everything may be sent here")
    stand.connect()
    for axis, (bad, good) in enumerate(zip(outside, stand.start, strict=True)):
        if bad != good:
            command = EnergiseCommand(seq=0, axis=axis, position=bad)
            assert isinstance(stand.refusal(lambda command=command: stand.write(command)), CommandError)
    stand.energise()
    before = stand.truth()
    assert isinstance(stand.refusal(lambda: stand.move(outside)), CommandError)
    for far in (1e300, -1e300, 1e6):
        pose = (*stand.start[:-1], far)
        assert isinstance(stand.refusal(lambda pose=pose: stand.move(pose)), CommandError)
    stand.tick(5)
    assert stand.truth() == before
    stand.move(stand.elsewhere)


# -- stopping ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", range(1, 12, 2))
def test_a_stop_freezes_every_axis_where_the_controller_has_it(stand: ArmStand, after: int) -> None:
    stand.ready()
    stand.move(stand.elsewhere, due_in_s=0.3)
    stand.tick(after)
    before = stand.truth()
    stand.stop()
    stand.now_s += stand.settle_s
    frozen = stand.truth()
    frame = [abs(b - a) * 2.5 * 0.02 / 0.3 for a, b in zip(stand.start, stand.elsewhere, strict=True)]
    steps = [2 * step for step in stand.resolution]
    allowed = map(sum, zip(frame, steps, stand.coasts or (0.0,) * len(frame), strict=True))
    assert near(frozen, before, tuple(allowed))  # type: ignore[arg-type]
    state = stand.tick(50)
    assert stand.truth() == frozen
    assert all(state.known), "the servos keep their power"


def test_stopping_twice_is_fine(stand: ArmStand) -> None:
    stand.ready()
    stand.move(stand.elsewhere, due_in_s=0.3)
    stand.tick(5)
    stand.stop()
    stand.stop()
    stand.tick(2)
    frozen = stand.truth()
    stand.stop()
    stand.tick(20)
    assert near(stand.truth(), frozen, stand.resolution)  # type: ignore[arg-type]


def test_after_a_stop_the_arm_moves_again_when_told(stand: ArmStand) -> None:
    stand.ready()
    stand.move(stand.elsewhere, due_in_s=0.3)
    stand.tick(5)
    stand.stop()
    stand.tick(10)
    sent = stand.move(stand.start, due_in_s=0.2)
    stand.tick(20)
    assert isinstance(sent, JointCommand)
    assert near(stand.truth(), sent.positions, (1e-9,) * len(stand.start))


def test_a_stop_is_safe_in_any_state_and_moves_nothing(stand: ArmStand) -> None:
    stand.stop()
    stand.open()
    before = stand.truth()
    for _ in range(60):
        stand.stop()
        stand.tick()
    assert stand.truth() == before
    stand.link.close()
    stand.stop()
    stand.tick()
    assert stand.truth() == before


# -- reading -----------------------------------------------------------------------------------------------


def test_a_report_says_how_it_is_known_and_is_as_true_as_it_says(stand: ArmStand) -> None:
    stand.ready()
    for pose in (stand.start, stand.elsewhere):
        stand.move(pose)
        state = stand.tick(15)
        assert state.joints is not None
        assert state.joints.source is stand.source
        assert near(state.joints.positions, pose, stand.coarseness)


def test_reports_never_go_back_in_time_nor_come_from_the_future(stand: ArmStand) -> None:
    stand.connect()
    stand.energise()
    for share in range(40):
        stand.move([a + share / 40 * (b - a) for a, b in zip(stand.start, stand.elsewhere, strict=True)])
        state = stand.tick(period_s=0.005 + 0.001 * (share % 30))
        assert state.joints is not None
        assert state.joints.t_s <= stand.now_s
    assert stand.reports == sorted(stand.reports)


def test_reading_twice_at_one_time_is_fine(stand: ArmStand) -> None:
    stand.ready()
    first = stand.link.read(stand.now_s)
    second = stand.link.read(stand.now_s)
    assert msgspec.structs.replace(second, notices=()) == msgspec.structs.replace(first, notices=())


def test_notices_are_told_once(stand: ArmStand) -> None:
    stand.open()
    told = [notice for _ in range(100) for notice in stand.tick().notices]
    assert len(told) == len(set(told))


def test_no_call_lets_time_pass(stand: ArmStand) -> None:
    """Nothing waits inside a link: whatever takes time goes on in later reads, however far apart they are."""
    stand.open()
    stand.wait_for(lambda state: state.phase is LinkPhase.READY, 4.0)
    stand.energise()
    stand.now_s += 300.0
    stand.tick()
    state = stand.tick(20)
    assert state.phase is LinkPhase.READY
    assert state.line.lost == 0
    assert all(state.known)


def test_every_refusal_is_an_error_of_ours_with_words_for_a_person(stand: ArmStand) -> None:
    errors: list[HilError] = [stand.refusal(lambda: stand.move(stand.start))]
    stand.connect()
    errors.append(stand.refusal(lambda: stand.move(stand.start)))
    stand.energise()
    errors.append(stand.refusal(lambda: stand.move(stand.start[:-1])))
    assert all(len(str(error)) > 10 for error in errors)
