"""An arm that only holds is spoken of every ten minutes, and an arm that is limp never."""

from __future__ import annotations

import msgspec
import pytest
from virtual_session import Session, lynx6

from hil.runtime.hold_reminder import REMINDER, HoldingWatch
from hil.types import EnergiseCommand, JointState, Mode, StateSource, Supply, TickRecord

EVERY_S = 1.0


class Ticks:
    """What the watch says, second by second, of an arm in IDLE; a minute of ticks costs nothing."""

    def __init__(
        self, positions: tuple[float | None, ...], source: StateSource = StateSource.ECHOED, address: str = ""
    ) -> None:
        session = Session()
        session.until(Mode.UNKNOWN_POSE)
        self._tick: TickRecord = session.last
        self._watch = HoldingWatch(session.rig, address)
        self.now_s = 0.0
        self.report(positions, source)

    def report(self, positions: tuple[float | None, ...], source: StateSource = StateSource.ECHOED) -> None:
        self._reported: JointState | None = JointState(t_s=0.0, positions=positions, source=source)

    def silence(self) -> None:
        self._reported = None

    def wait(self, seconds: float, **changes: object) -> list[tuple[float, str]]:
        said = []
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s += EVERY_S
            fields = {"t_s": self.now_s, "reported": self._reported, "setpoint": lynx6().home, **changes}
            words = self._watch.take(msgspec.structs.replace(self._tick, **fields))
            if words:
                said.append((self.now_s, words))
        return said


HELD = lynx6().home
LIMP = (None,) * 6
SENT = EnergiseCommand(seq=1, axis=0, position=0.0)


def test_after_ten_minutes_and_again_after_each_ten() -> None:
    said = Ticks(HELD).wait(1900.0)
    assert [round(at_s) for at_s, _ in said] == [601, 1201, 1801]
    assert [words.startswith(f"{REMINDER} {n}0 min") for n, (_, words) in enumerate(said, 1)] == [True] * 3
    assert "hil release lynx6" in said[0][1] and "shoulder 0.19 N m, 18 %" in said[0][1]


def test_what_is_sent_begins_the_time_anew() -> None:
    ticks = Ticks(HELD)
    ticks.wait(590.0)
    ticks.wait(1.0, sent=SENT)
    assert ticks.wait(595.0) == []
    assert len(ticks.wait(10.0)) == 1


@pytest.mark.parametrize(
    ("positions", "source"), [(LIMP, StateSource.ECHOED), (HELD, StateSource.MEASURED)], ids=["limp", "brakes"]
)
def test_an_arm_that_is_not_held_by_pulses_is_not_spoken_of(
    positions: tuple[float | None, ...], source: StateSource
) -> None:
    assert Ticks(positions, source).wait(1300.0) == []


def test_one_axis_that_is_driven_is_enough_and_a_silent_board_goes_on_holding() -> None:
    ticks = Ticks((*LIMP[:5], 0.01))
    ticks.wait(100.0)
    ticks.silence()
    assert len(ticks.wait(510.0)) == 1


def test_without_power_nothing_gets_hot() -> None:
    ticks = Ticks(HELD)
    ticks.wait(100.0)
    ticks.wait(1.0, supply=Supply.CUT)
    assert ticks.wait(1300.0) == []
    ticks.wait(1.0, supply=Supply.ON)
    assert len(ticks.wait(700.0)) == 1


def test_at_a_lab_the_way_to_let_it_go_leads_over_its_address() -> None:
    (said,) = Ticks(HELD, address="http://lab:8742/").wait(700.0)
    assert "or let it go with `hil release http://lab:8742/lynx6`" in said[1]
