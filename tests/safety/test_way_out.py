"""Random poses among moved fences, judged by a judge that can say no; scripts/way-out is the long form."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from space_judge import SpaceJudge, fault
from way_out_rounds import campaign

from hil.model.rig import Rig
from hil.runtime import wiring
from hil.units import DEG, MM


@pytest.mark.parametrize(("name", "poses"), [("lynx6", 40), ("al5d", 40), ("lynx6-4axis", 20), ("rv2aj", 20)])
def test_what_is_allowed_makes_nothing_worse_and_something_leads_out_or_the_words_say_why(
    name: str, poses: int
) -> None:
    tally, found = campaign(name, 20, range(poses))
    assert found == []
    assert tally["poses"] == poses
    assert tally["jogs that lessen"] > poses / 8
    assert tally["both lead out"] > poses / 8
    assert tally["of these the judge finds one"] == 0


# -- the judge itself ------------------------------------------------------------------------------------------


def raised() -> Rig:
    rig = wiring.load_rig("lynx6")
    return msgspec.structs.replace(rig, fences=msgspec.structs.replace(rig.fences, table_height_m=30 * MM))


LOW = (0.0, 40 * DEG, -65 * DEG, -30 * DEG, 0.0, 10 * MM)


def shoulder(*degrees: float) -> np.ndarray:
    return np.array([[*LOW[:1], value * DEG, *LOW[2:]] for value in degrees])


def test_the_judge_lets_a_violation_lessen_and_stay() -> None:
    rig = raised()
    assert fault(SpaceJudge(rig), rig, shoulder(40, 41, 41, 42, 50)) == ""


@pytest.mark.parametrize(
    ("degrees", "words"),
    [((40, 39.9), "and table"), ((40, 42, 41.9), "and table"), ((40, 60, 40), "and table")],
)
def test_the_judge_sees_a_violation_that_grows_even_to_where_it_was(degrees: tuple[float, ...], words: str) -> None:
    rig = raised()
    assert words in fault(SpaceJudge(rig), rig, shoulder(*degrees))


def test_the_judge_sees_soft_and_hard_limits() -> None:
    rig = wiring.load_rig("lynx6")
    rows = np.array([[value * DEG, *rig.home[1:]] for value in (0.0, 86.1)])
    assert "base upper" in fault(SpaceJudge(rig), rig, rows)
    rows[:, 0] = 88.0 * DEG, 88.2 * DEG
    assert fault(SpaceJudge(rig), rig, rows) == "a hard limit is broken"
