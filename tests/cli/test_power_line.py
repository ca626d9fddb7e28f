"""The line of `hil jog` and `hil drive` on what holds the arm."""

from __future__ import annotations

import msgspec
import pytest
from virtual_session import Session
from wire_samples import SERVER

from hil.cli._power import Power, far_power_line, power_line
from hil.service.wire import Holding
from hil.types import JointState, Mode, StateSource, Supply, SupplyCut

HOLDING = next(message for message in SERVER if isinstance(message, Holding))


def followed(session: Session) -> Power:
    power = Power(session.rig)
    for record in session.records:
        power.take(record)
    return power


def test_of_an_arm_that_is_held_it_says_how_long_and_what_the_servos_carry_as_an_estimate() -> None:
    session = Session().to(Mode.IDLE)
    session.run(1.0)
    last = session.records[-1]
    session.records.append(msgspec.structs.replace(last, t_s=last.t_s + 180.0))
    line = followed(session).line()
    assert "held for 3 min" in line
    assert "an estimate from the masses" in line and "shoulder 0.32 N m, 30 % of its servo's stall torque" in line


def test_after_a_cut_it_says_so_and_nothing_of_time_or_loads() -> None:
    session = Session().to(Mode.IDLE)
    session.run(0.2, SupplyCut(by="Ann"))
    assert followed(session).line() == "servo supply: CUT, somebody said; nothing that is echoed counts"


def test_of_an_arm_that_measures_nothing_is_said() -> None:
    session = Session().to(Mode.IDLE)
    measured = JointState(t_s=1.0, positions=session.rig.park, source=StateSource.MEASURED)
    session.records.append(msgspec.structs.replace(session.records[-1], reported=measured))
    assert followed(session).line() == ""
    assert power_line(Supply.FELT, 10.0, "something") == ""


def test_of_an_arm_far_away_it_says_what_its_lab_has_told() -> None:
    line = far_power_line(HOLDING)
    assert line.startswith("servo supply: said to be on; held for 10 min; against gravity (an estimate")
    assert "WARNING: shoulder above 50 %" in line


@pytest.mark.parametrize("holding", [None, Holding(now_s=1.0, supply=Supply.UNSAID)])
def test_of_an_arm_of_which_nothing_is_known_it_says_nothing(holding: Holding | None) -> None:
    assert far_power_line(holding) == ""
