"""The servo supply is cut and comes back, in every mode, on an arm that cannot feel it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import Session, certified, load, lynx6, swing

from hil.errors import ConfigError, InterlockError
from hil.model._supply_file import supply_file, write_supply
from hil.runtime.supply import WAY_BACK, ServoSupply
from hil.runtime.supply_memory import SupplyMemory, refuse_if_cut
from hil.types import (
    WRITING,
    Arm,
    ArmJog,
    AxisJog,
    JogHold,
    JogStep,
    JointState,
    Mode,
    Request,
    Reset,
    Start,
    StateSource,
    Stop,
    Supply,
    SupplyCut,
)
from sim.ssc32 import Untouched

MODES = [
    "connecting",
    "unknown_pose",
    "energising",
    "idle",
    "armed",
    "streaming",
    "stopping",
    "holding",
    "jog",
    "estop",
]
DRIVING = [where for where in MODES if where not in ("connecting", "unknown_pose")]
CUT = SupplyCut(by="Ann")


def hold(s: Session, number: int) -> JogHold:
    return JogHold(seq=number, issued_s=s.clock.now_s(), move=AxisJog(amounts=(0.5, 0.0, 0.0, 0.0, 0.0, 0.0)))


def bring(where: str) -> Session:
    """A fresh session in a mode, in motion where that is one of motion."""
    s = Session()
    if where == "jog":
        s.to(Mode.IDLE).tick(ArmJog(speed_share=1.0))
        for number in range(1, 30):
            s.tick(hold(s, number))
    elif where in ("stopping", "holding"):
        s.to(Mode.STREAMING).until(Mode(where), Stop(reason="test"))
    elif where == "energising":
        s.to(Mode.ENERGISING).run(0.5)
    else:
        s.to(Mode(where))
    return s


def everything(s: Session) -> list[Request]:
    """All that could move something."""
    motion = swing()
    step = JogStep(move=AxisJog(amounts=(0.05, 0.0, 0.0, 0.0, 0.0, 0.0)))
    return [
        load(motion, certified(s.rig, motion)),
        s.confirm(),
        s.vouch(),
        Arm(digest=motion.digest),
        Start(digest=motion.digest),
        ArmJog(speed_share=1.0),
        step,
        hold(s, 10_000),
    ]


def movers(s: Session, since: int) -> list[bytes]:
    """Lines that drive an axis."""
    axes = [b"#%dP" % axis.channel for axis in s.settings.axes]
    return [r.written for r in s.records[since:] if any(axis in r.written for axis in axes)]


def fastest(s: Session, duration_s: float) -> float:
    """The highest speed of a joint in the time to come, of what its rig allows; the loop goes on meanwhile."""
    worst, step_s = 0.0, 0.005
    before = s.bench.positions(s.clock.now_s())
    for _ in range(round(duration_s / s.rig.period_s)):
        for _ in range(round(s.rig.period_s / step_s)):
            s.clock.sleep_until(s.clock.now_s() + step_s)
            s.board.advance(s.clock.now_s())
            here = s.bench.positions(s.clock.now_s())
            worst = max(
                worst, *(abs(a - b) / step_s / axis.speed for a, b, axis in zip(here, before, s.rig.axes, strict=True))
            )
            before = here
        s.tick(after_s=0.0)
    return worst


def switch_off(s: Session) -> None:
    """Logic and servo supply off, the arm put into its park pose by hand, and both on again."""
    now_s = s.clock.now_s()
    s.bench.supply(False, now_s)
    s.board.power_cycle(now_s)
    s.clock.sleep_until(now_s + 0.5)
    s.board.advance(s.clock.now_s())
    for axis, at in zip(s.settings.axes, s.rig.park, strict=True):
        s.bench.place(axis.channel, at, s.clock.now_s())
    s.bench.supply(True, s.clock.now_s())


# -- in every mode ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", MODES)
def test_once_it_was_said_to_be_cut_nothing_that_moves_is_sent(where: str) -> None:
    s = bring(where)
    s.bench.supply(False, s.clock.now_s())
    begun = len(s.records)
    record = s.tick(CUT)
    assert record.mode is (Mode.ESTOP if where == "estop" else Mode.FAULT)
    assert record.supply is Supply.CUT
    said = " ".join(record.events)
    assert "Ann says that the servo supply was cut" in said and WAY_BACK in said
    for request in everything(s):
        s.tick(request)
    s.run(1.0)
    assert movers(s, begun) == []
    assert s.mode not in WRITING


def test_said_while_it_connects_no_pulse_is_set_any_more_not_even_that_of_the_canary() -> None:
    whole = Session()
    whole.to(Mode.UNKNOWN_POSE)
    ticks = len(whole.records)
    assert any(b"P1" in record.written or b"P2" in record.written for record in whole.records)  # the canary
    for after in range(1, ticks):
        s = Session()
        for _ in range(after):
            s.tick()
        s.tick(CUT)
        said = len(s.records)
        s.run(1.0)
        assert (s.mode, [r.written for r in s.records[said:] if b"#" in r.written]) == (Mode.FAULT, [])
        s.until(Mode.UNKNOWN_POSE, Reset(by="Ann"))


@pytest.mark.parametrize("where", DRIVING)
def test_a_board_that_kept_its_pulses_is_refused_with_words_however_often_it_is_reset(where: str) -> None:
    s = bring(where)
    s.bench.supply(False, s.clock.now_s())
    begun = len(s.records)
    s.tick(CUT)
    for _ in range(2):
        s.tick(Reset(by="the test"))
        s.until(Mode.FAULT)
        assert "the controller still drives" in s.events[-1]
        assert "its logic was not off" in s.events[-1] and WAY_BACK in s.events[-1]
        for request in everything(s):
            s.tick(request)
    assert movers(s, begun) == []
    assert s.bridge.mode is Mode.FAULT


@pytest.mark.parametrize("where", MODES)
def test_the_way_back_leads_over_the_logic_and_a_new_word_and_nothing_slams(where: str) -> None:
    s = bring(where)
    s.tick(CUT)
    switch_off(s)
    s.bench.first_moves.clear()
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    # No joint is faster than its rig allows before a person has confirmed.
    assert fastest(s, 0.2) < 1.0
    assert s.mode is Mode.UNKNOWN_POSE
    s.tick(s.confirm())
    assert "whoever confirms the pose has to say, too, that it is on again" in s.events[-1]
    record = s.until(Mode.ENERGISING, s.vouch())
    assert record.supply is Supply.ON
    s.until(Mode.IDLE)
    s.run(0.5)
    # A pulse is a whole microsecond, a tenth of a degree.
    assert s.bench.largest_jump < 0.002
    motion = swing()
    s.tick(load(motion, certified(s.rig, motion)), Arm(digest=motion.digest))
    s.until(Mode.STREAMING, Start(digest=motion.digest))


@pytest.mark.parametrize("where", ["idle", "streaming"])
def test_it_is_remembered_over_the_end_of_a_session(where: str) -> None:
    """The next session of another process begins with what this one has left behind."""
    before = bring(where)
    s = Session(driven=True, supply=Supply.CUT)
    s.until(Mode.FAULT)
    assert "the controller still drives" in s.events[-1]
    assert movers(s, 0) == []
    assert before.mode is not Mode.FAULT


@pytest.mark.parametrize("untouched", [Untouched.MIDDLE, Untouched.GARBAGE])
def test_a_board_that_cannot_tell_what_it_drives_is_told_by_the_canary_of_before(untouched: Untouched) -> None:
    s = Session(untouched=untouched)
    s.to(Mode.IDLE)
    s.bench.supply(False, s.clock.now_s())
    s.tick(CUT)
    s.tick(Reset(by="the test"))
    s.until(Mode.FAULT)
    assert "the controller still drives base, shoulder" in s.events[-1]
    switch_off(s)
    s.until(Mode.UNKNOWN_POSE, Reset(by="the test"))
    s.until(Mode.IDLE, s.vouch())


def test_a_board_that_drives_nothing_goes_on_after_a_cut_of_an_earlier_session() -> None:
    s = Session(supply=Supply.CUT)
    # The word comes before the controller has said twice alike what it drives: it waits for that.
    s.until(Mode.UNKNOWN_POSE)
    s.until(Mode.IDLE, s.vouch())


@pytest.mark.parametrize("where", ["idle at home", "holding", "streaming"])
def test_what_nobody_says_slams_and_this_is_why_it_has_to_be_said(where: str) -> None:
    """The shoulder's servo turns at 214 deg/s at most, and its rig allows 45: no program can see or stop it."""
    s = Session(true_pose=lynx6().home, driven=True).to(Mode.IDLE) if where == "idle at home" else bring(where)
    s.bench.supply(False, s.clock.now_s())
    s.run(1.5)
    assert s.mode is not Mode.FAULT
    s.bench.supply(True, s.clock.now_s())
    assert fastest(s, 0.5) > 2.0


def test_a_stop_that_was_not_said_leaves_everything_as_it_was() -> None:
    s = bring("idle")
    assert [record.supply for record in s.records if record.supply is not None] == []


# -- the rules alone -------------------------------------------------------------------------------------


def report(*driven: bool, source: StateSource = StateSource.ECHOED) -> JointState:
    return JointState(t_s=1.0, positions=tuple(0.1 if each else None for each in driven), source=source)


def test_an_arm_that_measures_is_only_stopped() -> None:
    supply = ServoSupply(["j1", "j2"])
    assert supply.look(report(True, True, source=StateSource.MEASURED)) == ""
    assert supply.news_since(Supply.UNSAID) is None
    assert supply.news_since(Supply.CUT) is Supply.FELT
    assert "feels it" in supply.cut("Ann")
    assert not supply.doubtful and supply.state is Supply.FELT
    supply.vouched(True)
    assert supply.state is Supply.FELT


ACTS = st.lists(st.sampled_from(["cut", "driven", "limp", "some", "vouch", "confirm", "nothing"]), max_size=30)


@given(acts=ACTS, was=st.sampled_from([Supply.UNSAID, Supply.CUT]))
def test_after_a_cut_nothing_counts_before_the_pulses_are_forgotten_and_then_only_by_a_new_word(
    acts: list[str], was: Supply
) -> None:
    supply = ServoSupply(["a", "b"], was)
    cut = was is Supply.CUT
    forgotten = False
    for act in acts:
        if act == "cut":
            supply.cut("x")
            cut, forgotten = True, False
        elif act in ("driven", "some", "limp", "nothing"):
            shown = {"driven": report(True, True), "some": report(False, True), "limp": report(False, False)}.get(act)
            words = supply.look(shown)
            assert bool(words) == (cut and not forgotten and act in ("driven", "some"))
            forgotten |= cut and act == "limp"
        elif cut and (act == "confirm" or not forgotten):
            if act == "confirm":
                with pytest.raises(InterlockError, match="that it is on again"):
                    supply.check(False)
        else:
            supply.check(act == "vouch")
            supply.vouched(act == "vouch")
            cut, forgotten = False, False
        assert supply.doubtful == (cut and not forgotten)
        assert not cut or supply.state in (Supply.CUT, Supply.FORGOTTEN)


# -- from session to session, and from terminal to terminal ----------------------------------------------


def test_what_was_said_of_a_real_arm_is_there_for_the_next_session_until_somebody_vouches() -> None:
    first = SupplyMemory("lynx6", "/dev/ttyUSB0")
    assert first.was is Supply.UNSAID
    assert first.take(Supply.CUT) == ""
    second = SupplyMemory("lynx6", "/dev/ttyUSB0")
    assert second.was is Supply.CUT and second.doubtful
    second.take(Supply.FORGOTTEN)
    assert not second.doubtful
    assert SupplyMemory("lynx6", "/dev/ttyUSB0").was is Supply.CUT
    second.take(Supply.ON)
    assert SupplyMemory("lynx6", "/dev/ttyUSB0").was is Supply.UNSAID


def test_another_rig_and_a_fake_have_nothing_to_do_with_it() -> None:
    write_supply("lynx6", "Ann", "2026-01-02T03:04:05+00:00")
    assert SupplyMemory("lynx6", None).was is Supply.UNSAID
    assert SupplyMemory("al5d", "/dev/ttyUSB0").was is Supply.UNSAID
    SupplyMemory("lynx6", None).take(Supply.ON)
    assert SupplyMemory("lynx6", "/dev/ttyUSB0").was is Supply.CUT


@pytest.mark.parametrize("url", [None, "/dev/ttyUSB0"])
def test_a_session_hears_what_is_said_at_another_terminal_and_hears_it_once(url: str | None) -> None:
    memory = SupplyMemory("lynx6", url)
    assert memory.news(0.0) == ""
    write_supply("lynx6", "Ann", "2026-01-02T03:04:05+00:00")
    assert memory.news(0.1) == "" and memory.news(0.25) == "Ann"
    assert memory.news(0.5) == ""
    write_supply("lynx6", "Ben \x7f", "2026-01-02T03:04:06+00:00")
    assert memory.news(0.75) == "Ben"


def test_a_note_that_cannot_be_read_is_said_by_somebody() -> None:
    memory = SupplyMemory("lynx6", "/dev/ttyUSB0")
    write_supply("lynx6", "Ann", "now")
    supply_file("lynx6").write_text("by = ", encoding="utf-8")
    assert memory.news(1.0) == "somebody"
    with pytest.raises(ConfigError):
        SupplyMemory("lynx6", "/dev/ttyUSB0")


def test_single_channels_are_not_moved_either_while_a_board_keeps_its_pulses() -> None:
    refuse_if_cut("lynx6", ["channel 1"])
    write_supply("lynx6", "Ann", "now")
    refuse_if_cut("lynx6", [])
    with pytest.raises(InterlockError, match=r"still drives channel 1, channel 2: its logic was not off"):
        refuse_if_cut("lynx6", ["channel 1", "channel 2"])
