"""What a person reads before the pose is confirmed: what is known, what is not, and what the board warns of."""

from __future__ import annotations

import pytest
from virtual_session import Session, lynx6

from hil.cli.motion_commands import voucher
from hil.types import JointState, Mode, StateSource
from sim.ssc32 import Untouched


def read(capsys: pytest.CaptureFixture[str], session: Session) -> str:
    """What `hil run --hardware --pose-confirmed-by Zoë` prints for this board."""
    session.until(Mode.UNKNOWN_POSE)
    session.run(0.2)
    vouch = voucher(session.rig, "/dev/ttyUSB0", "Zoë", session.events)
    assert vouch(session.last.reported) == "Zoë"
    return capsys.readouterr().out


def test_what_the_board_is_known_to_drive_stays(capsys: pytest.CaptureFixture[str]) -> None:
    text = read(capsys, Session(driven=True))
    assert "already drives base" in text and "stay where they are, if their servos have had power all the while" in text
    assert "WARNING" not in text and "limp" not in text


@pytest.mark.parametrize("driven", [True, False])
@pytest.mark.parametrize("untouched", [Untouched.MIDDLE, Untouched.GARBAGE])
def test_of_a_board_that_cannot_tell_nothing_is_said_to_stay(
    capsys: pytest.CaptureFixture[str], untouched: Untouched, driven: bool
) -> None:
    text = read(capsys, Session(untouched=untouched, driven=driven))
    assert "stay where they are" not in text
    assert text.startswith("WARNING: channel 30 was driven by nobody")
    assert "jump to it at full speed if they are elsewhere" in text


def test_an_arm_that_measures_where_it_is_stays_there_without_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    rig = lynx6()
    reported = JointState(t_s=0.0, positions=rig.park, source=StateSource.MEASURED)
    assert voucher(rig, "/dev/ttyUSB0", "Zoë", [])(reported) == "Zoë"
    assert "these axes stay where they are.\n" in capsys.readouterr().out
