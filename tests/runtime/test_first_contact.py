"""A real board for the first time: what it does alone, and what it says of channels that nobody has driven.

Everything is judged by the pulses that the fake makes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from calibration_bench import Operator, Table, go_through, true_arm
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from virtual_session import Session, certified, load, lynx6, swing

from hil.errors import ControllerError
from hil.runtime.channel_wiring import channels_of
from hil.types import Arm, ArmJog, AxisJog, JogHold, Mode, Reset, Start, Stop
from hil.units import DEG
from hil.workbench import identity
from hil.workbench.calibration import Progress, calibrate, plan_calibration
from sim.ssc32 import Untouched

Make = Callable[..., Session]

BOOT_S = 0.1
NOTICED_S = 0.25
"""From a restart to FAULT, with the 0.1 s in which the fake starts up."""
LAST_MOVE_S = 0.045
"""From a restart to the last line that moves: what is not answered holds back what follows."""
MODES = ["unknown_pose", "energising", "idle", "armed", "streaming", "stopping", "holding", "jog"]


def hold(s: Session, number: int) -> JogHold:
    return JogHold(seq=number, issued_s=s.clock.now_s(), move=AxisJog(amounts=(0.5, 0.0, 0.0, 0.0, 0.0, 0.0)))


def bring(s: Session, where: str) -> None:
    """Bring a fresh session into a mode, in motion where that is one of motion."""
    if where == "jog":
        s.to(Mode.IDLE).tick(ArmJog(speed_share=1.0))
        for number in range(1, 30):
            s.tick(hold(s, number))
    elif where in ("stopping", "holding"):
        s.to(Mode.STREAMING).until(Mode(where), Stop(reason="test"))
    else:
        s.to(Mode(where))


@hypothesis_settings(max_examples=60)
@given(
    where=st.sampled_from(MODES),
    bits=st.sampled_from([0, 1, 8, 9]),
    stored_us=st.one_of(st.just(1500), st.integers(500, 2500), st.sampled_from([0, 65535])),
    offset_us=st.integers(-100, 100),
    share=st.floats(0.01, 0.99),
    boot_s=st.sampled_from([0.005, 0.02, 0.05, BOOT_S]),
)
def test_a_restart_is_a_fault_whatever_the_board_does_by_itself(
    where: str, bits: int, stored_us: int, offset_us: int, share: float, boot_s: float
) -> None:
    """Somebody has set R0 since the board was asked; what it holds for its channels was there before."""
    stored = ((number, stored_us) for number in range(64, 96))
    offsets = ((number, offset_us) for number in range(32, 64))
    s = Session(boot_s=boot_s, registers=(*stored, *offsets))
    bring(s, where)
    s.board.receive(f"R0={bits + 4}\r".encode("ascii"), s.clock.now_s(), s.board.byte_s)
    wait_s = share * s.rig.period_s + 1e-4
    s.clock.sleep_until(s.clock.now_s() + wait_s)
    restart_s = s.clock.now_s()
    s.board.power_cycle(restart_s)
    number = 100
    while s.mode is not Mode.FAULT:
        assert s.clock.now_s() - restart_s < NOTICED_S, s.events[-1]
        number += 1
        s.tick(*([hold(s, number)] if where == "jog" else []))
    assert "the controller restarted" in " ".join(s.last.events)
    s.run(2.0, Start(digest=swing().digest), ArmJog(speed_share=1.0), s.confirm())
    later = [record.t_s for record in s.records if record.t_s > restart_s and b"#" in record.written]
    assert max(later, default=restart_s) - restart_s <= LAST_MOVE_S
    axes = {axis.channel for axis in s.settings.axes}
    last_s = max((time_s for time_s, channel, _ in s.pulses if channel in axes), default=restart_s)
    # What a line began that it took after it had started up, and the first frame of its own doing.
    assert last_s - restart_s <= max(LAST_MOVE_S + s.rig.look_ahead_s, boot_s) + 0.021


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.85])
def test_a_restart_while_connecting_moves_nothing_and_ends_in_a_fault_or_in_a_good_connection(share: float) -> None:
    for tick in range(1, 24):
        s = Session(boot_s=0.05, driven=True)
        for _ in range(tick):
            s.tick()
        s.clock.sleep_until(s.clock.now_s() + share * s.rig.period_s)
        s.board.power_cycle(s.clock.now_s())
        moved = len(s.pulses)
        while s.mode is Mode.CONNECTING:
            s.tick()
        if s.mode is Mode.UNKNOWN_POSE:
            s.run(0.5)
            assert s.mode is Mode.FAULT or s.last.reported is not None
            if s.mode is Mode.UNKNOWN_POSE:
                assert s.last.reported.positions == (None,) * 6  # type: ignore[union-attr]
        assert not [change for change in s.pulses[moved:] if change[1] != 31 and change[2]]


@pytest.mark.parametrize("bits", [1, 8, 9])
def test_a_board_that_moves_by_itself_is_a_fault_before_anything_can_be_confirmed(bits: int) -> None:
    s = Session(registers=((0, bits),))
    s.until(Mode.FAULT)
    before = len(s.pulses)
    assert f"register R0 is {bits}" in s.last.events[-1] and "type R0=0 and the Enter key" in s.last.events[-1]
    s.run(1.0, s.confirm(), Arm(digest=swing().digest), ArmJog(speed_share=1.0))
    s.tick(Reset(by="the test"))
    s.until(Mode.FAULT)
    s.run(0.5, s.confirm())
    assert s.mode is Mode.FAULT
    assert len(s.pulses) == before
    assert not [record for record in s.records if b"#" in record.written]
    # As its words say: type it at a terminal, then cut the power and switch it on.
    s.board.receive(b"R0=0\r", s.clock.now_s(), s.board.byte_s)
    s.run(0.1)
    s.board.power_cycle(s.clock.now_s())
    s.run(0.2)
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.until(Mode.IDLE, s.confirm())


@pytest.mark.parametrize("bits", [1, 8, 9])
def test_no_channel_of_such_a_board_is_moved_for_calibrating_or_identifying(bits: int) -> None:
    rig = lynx6()
    with pytest.raises(ControllerError, match=f"register R0 is {bits}: .* type R0=0 "):
        Table(rig, true_arm(rig), registers=((0, bits),))


@pytest.mark.parametrize("untouched", list(Untouched))
@pytest.mark.parametrize("motion", ["run", "jog", "park"])
def test_no_axis_jumps_whatever_the_board_says_of_channels_that_nobody_drives(
    session: Make, untouched: Untouched, motion: str
) -> None:
    s = session(untouched=untouched)
    s.until(Mode.UNKNOWN_POSE)
    s.run(0.5)
    assert s.last.reported is not None and s.last.reported.positions == (None,) * 6
    warned = [event for event in s.events if event.startswith("WARNING: channel 30 was driven by nobody")]
    assert len(warned) == (untouched is not Untouched.ZERO)
    assert all("count as limp" in words and "do not confirm" in words for words in warned)
    assert {channel for _, channel, _ in s.pulses} == {31}, "only the canary has a pulse before somebody confirms"
    s.until(Mode.IDLE, s.confirm())
    # The arm is in its park pose, as was confirmed: no servo goes further than a microsecond of its pulse.
    assert len(s.bench.first_moves) == 6
    assert max(abs(move.jump) for move in s.bench.first_moves) <= 0.2 * DEG
    if motion == "jog":
        s.tick(ArmJog(speed_share=1.0))
        for number in range(1, 20):
            s.tick(hold(s, number))
    else:
        s.tick(load(swing(), certified(s.rig, swing())), Arm(digest=swing().digest), Start(digest=swing().digest))
        s.run(1.0)
    assert s.mode is Mode.STREAMING, s.events[-1]
    assert s.last.reported is not None and None not in s.last.reported.positions
    assert s.last.line is None or s.last.line.noise_bytes == 0


@pytest.mark.parametrize("untouched", [Untouched.MIDDLE, Untouched.GARBAGE])
def test_what_such_a_board_really_drives_counts_as_limp_too(session: Make, untouched: Untouched) -> None:
    s = session(untouched=untouched, driven=True)
    s.until(Mode.UNKNOWN_POSE)
    s.run(0.5)
    assert s.last.reported is not None and s.last.reported.positions == (None,) * 6
    before = len(s.pulses)
    s.until(Mode.IDLE, s.confirm())
    changed = [change for change in s.pulses[before:] if change[1] != 31]
    assert not changed, "it was where it was confirmed to be"


def test_what_a_silent_board_drives_is_known_and_stays_there(session: Make) -> None:
    s = session(driven=True)
    s.until(Mode.UNKNOWN_POSE)
    s.run(0.2)
    assert s.last.reported is not None and None not in s.last.reported.positions
    assert not [event for event in s.events if event.startswith("WARNING")]


@pytest.mark.parametrize("untouched", [Untouched.MIDDLE, Untouched.GARBAGE])
@pytest.mark.parametrize("where", ["unknown_pose", "energising", "idle", "streaming"])
def test_a_restart_of_such_a_board_holds_at_once_and_is_a_fault(untouched: Untouched, where: str) -> None:
    s = Session(untouched=untouched)
    bring(s, where)
    restart_s = s.clock.now_s()
    s.board.power_cycle(restart_s)
    s.until(Mode.FAULT, within_s=NOTICED_S if untouched is Untouched.MIDDLE else 2.0)
    later = [record.t_s for record in s.records if record.t_s > restart_s and b"#" in record.written]
    assert max(later, default=restart_s) - restart_s <= LAST_MOVE_S


@pytest.mark.parametrize("untouched", list(Untouched))
@pytest.mark.parametrize("command", ["calibrate", "identify"])
def test_calibrating_asks_for_each_channel_that_nobody_drives(untouched: Untouched, command: str) -> None:
    rig = lynx6()
    table = Table(rig, true_arm(rig), untouched=untouched)
    assert any("nobody" in words for words in table.line.notices) == (untouched is not Untouched.ZERO)
    operator = Operator(table)
    plan = plan_calibration(rig, channels_of(rig), at_park=False, channels=())
    placed: list[int | None] = []

    def before(question: object) -> str | None:
        if getattr(question, "kind", "") == "place":
            placed.append(getattr(question, "channel", None))
            assert len(placed) == len(table.targets) + 1, "nothing moves before it was asked for"
            return None
        return None if command == "identify" else "stop"

    operator = Operator(table, before)
    if command == "identify":
        go_through(identity.identify("the arm", identity.nodding_axis(rig, plan)), table, operator)
        assert placed == [4]
    else:
        with pytest.raises(Exception, match="stopped"):
            go_through(calibrate(plan, Progress()), table, operator)
        assert placed == list(plan.channels)
    assert not any("driven already" in words for words in operator.told)
    assert max(table.first_jumps, default=0.0) <= 0.2 * DEG


@pytest.mark.parametrize("bits", [0, 1, 8, 9])
@pytest.mark.parametrize("steps", [1, 4])
def test_a_restart_in_the_middle_of_calibrating_ends_it(bits: int, steps: int) -> None:
    rig = lynx6()
    table = Table(rig, true_arm(rig))
    table.line.drive(0, 1500)
    table.line._link.drive(1, 1500, table.clock.now_s())
    table.board.machine.eeprom.write(0, bits, 0.0)
    restarted: list[int] = []
    step = table.line._link.step

    def watched(channel: int, pulse_us: int, now_s: float) -> float:
        until_s = step(channel, pulse_us, now_s)
        if len(table.targets) == 2 + steps:
            table.board.power_cycle(now_s + 0.011)
            restarted.append(len(table.targets))
        return until_s

    table.line._link.step = watched  # type: ignore[method-assign]
    with pytest.raises(ControllerError, match="the controller restarted"):
        table.line.move(0, 1800)
    assert restarted == [len(table.targets)], "no step follows the one that the restart has ended"
