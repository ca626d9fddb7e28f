"""An arm that goes where nobody has sent it: a line without a check sum can send it anywhere, and its reports tell."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rv2aj_script import START, TICK_S, Bench

from drivers._rv2aj_corridor import ASTRAY_DEG, Corridor
from hil.errors import ControllerError

HERE = (0.0, 10.0, 90.0, 90.0, 0.0)
THERE = (8.0, 12.0, 88.0, 90.0, 0.0)
WAYS = {"segments": 1500, "hot": 1000}
NOTICED_S, AT_MOST_S = 0.6, 0.9
"""From the move to the stop: two looks at the joints, and a question between them; one more where it sets out slow."""

joints = st.tuples(*[st.floats(-100.0, 100.0)] * 5)
shares = st.tuples(*[st.floats(0.0, 1.0)] * 5)


def led() -> Corridor:
    corridor = Corridor()
    corridor.lead(HERE, THERE)
    return corridor


def off(axis: int, by: float) -> tuple[float, ...]:
    seen = list(HERE)
    seen[axis] += by
    return tuple(seen)


# -- the corridor itself ------------------------------------------------------------------------------------------


@given(here=joints, there=joints, shares=shares, stray=st.floats(-ASTRAY_DEG + 1e-6, ASTRAY_DEG - 1e-6))
def test_between_where_it_stood_and_where_it_was_sent_no_arm_is_astray(
    here: tuple[float, ...], there: tuple[float, ...], shares: tuple[float, ...], stray: float
) -> None:
    corridor = Corridor()
    corridor.lead(here, there)
    seen = [a + share * (b - a) + stray for a, b, share in zip(here, there, shares, strict=True)]
    assert not any(corridor.judge(seen) for _ in range(5))


@pytest.mark.parametrize("axis", range(5))
@pytest.mark.parametrize(("by_deg", "astray"), [(-2.01, True), (-1.99, False)])
def test_two_degrees_outside_in_two_reports_is_astray(axis: int, by_deg: float, astray: bool) -> None:
    corridor = led()
    by = by_deg if THERE[axis] >= HERE[axis] else -by_deg
    assert not corridor.judge(off(axis, by))
    assert corridor.left is astray
    assert bool(corridor.judge(off(axis, by))) is astray


def test_the_words_name_the_joint_and_where_it_was_sent() -> None:
    corridor = led()
    corridor.judge(off(2, 7.0))
    assert corridor.judge(off(2, 8.0)) == "J3 is at 98.00 deg, and was sent from 90.00 to 88.00 deg"


def test_one_report_outside_may_have_lost_a_digit_itself() -> None:
    corridor = led()
    for _ in range(5):
        assert not corridor.judge(off(2, 40.0))
        assert not corridor.judge(HERE)


def test_an_arm_that_hangs_off_its_targets_is_not_astray_for_that() -> None:
    corridor = led()
    sagged = tuple(value - 3.5 for value in THERE)
    lower = tuple(value - 9.0 for value in THERE)
    corridor.lead(sagged, lower)
    assert not any(corridor.judge([value - 3.5 for value in lower]) for _ in range(3))


def test_an_arm_may_still_be_on_its_way_to_the_target_before_the_last() -> None:
    corridor = led()
    corridor.lead(HERE, HERE)
    corridor.lead(HERE, HERE)
    assert not any(corridor.judge(THERE) for _ in range(3))
    corridor.lead(HERE, HERE)
    assert corridor.judge(THERE) == ""
    assert corridor.judge(THERE).startswith("J1 is at 8.00 deg")


def test_before_the_first_target_and_after_a_halt_nobody_was_sent_anywhere() -> None:
    corridor = led()
    corridor.judge(off(0, 50.0))
    corridor.forget()
    assert not corridor.left
    assert not any(corridor.judge(off(0, 50.0)) for _ in range(3))


# -- on a line ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=WAYS)
def bench(request: pytest.FixtureRequest) -> Bench:
    return astray_bench(request.param)


def astray_bench(way: str) -> Bench:
    return Bench(way=way, send_period_ms=WAYS[way]).ready()


def replaced(before: str, after: str) -> Callable[[str], str]:
    return lambda text: text.replace(before, after) if "JT=" in text else text


def ends(bench: Bench) -> tuple[float, str]:
    """For how long the arm went astray until it was stopped, and what was said of it; the loop stops it at once."""
    with pytest.raises(ControllerError) as astray:
        for _ in range(1000):
            bench.tick()
    bench.driver.stop(bench.now_s)
    end_s = bench.now_s
    bench.tick(50)
    assert not bench.port.moving(bench.now_s)
    return end_s, str(astray.value)


def test_a_command_that_lost_a_digit_is_stopped_after_two_reports(bench: Bench) -> None:
    bench.port.harm = replaced("92.00", "2.00")
    bench.move(1.0, 0.0, 92.00, *START[3:])
    end_s, words = ends(bench)
    began_s = next(at_s for at_s, command in bench.port.heard if command.startswith(("EXECMOV", "HOT")))
    assert "J3 is at" in words and "was sent from 90.00 to 92.00 deg" in words
    assert "A command was changed on the line, or something pushes the arm: look at the arm and the cable" in words
    assert bench.port.commands("STOP")
    assert end_s - began_s < NOTICED_S


def test_an_arm_that_is_faster_than_it_can_be_is_stopped_as_soon(bench: Bench) -> None:
    """Its reports are not believed as positions, and tell of it all the same."""
    bench.port.speed_deg_s = 450.0
    test_a_command_that_lost_a_digit_is_stopped_after_two_reports(bench)


@settings(max_examples=60)
@given(
    way=st.sampled_from(sorted(WAYS)),
    axis=st.integers(0, 4),
    place=st.integers(0, 80),
    digit=st.sampled_from("0123456789.-"),
)
def test_whatever_a_digit_becomes_the_arm_goes_no_further_than_two_looks_astray(
    way: str, axis: int, place: int, digit: str
) -> None:
    bench = astray_bench(way)

    def harm(text: str) -> str:
        begin = text.find("=(") + 2
        if "JT=" not in text or begin + place >= len(text) - 1:
            return text
        harmed = text[: begin + place] + digit + text[begin + place + 1 :]
        numbers = harmed[begin:-1].rstrip("),").split(",")
        try:
            values = [float(number) for number in numbers]
        except ValueError:
            return text
        # What the controller refuses moves nothing: a number too few, one for the joint that this arm has not.
        return harmed if len(values) == 6 and values[3] == 0.0 and max(map(abs, values)) < 240.0 else text

    bench.port.harm = harm
    target = [value - 2.0 * (index == axis) for index, value in enumerate(START)]
    bench.move(*target)
    farthest = 0.0
    try:
        for _ in range(round(4.0 / TICK_S)):
            bench.tick()
            farthest = max(farthest, _beyond(bench, target))
    except ControllerError:
        bench.driver.stop(bench.now_s)
        bench.tick(50)
        farthest = max(farthest, _beyond(bench, target))
    assert farthest <= 21.0 * AT_MOST_S
    assert not bench.port.moving(bench.now_s)


def _beyond(bench: Bench, target: list[float]) -> float:
    """How far a joint is outside of its span, degrees."""
    return max(
        max(min(a, b) - at, at - max(a, b))
        for a, b, at in zip(START, target, bench.port.joints(bench.now_s), strict=True)
    )


def test_a_report_outside_is_looked_at_again_before_anything_else(bench: Bench) -> None:
    bench.move(1.0, *START[1:])
    bench.tick(100)
    bench.port.heard.clear()
    bench.port.place((20.0, *START[1:]))
    with pytest.raises(ControllerError, match=r"J1 is at 20\.00 deg"):
        bench.tick(100)
    commands = bench.port.commands()
    first = commands.index("JPOSF")
    assert "JPOSF" in commands[first + 1 : first + 2] or commands[-1] == "JPOSF"


@pytest.mark.parametrize("harmed", ["STOP", "first"])
def test_a_stop_is_said_until_it_is_answered(bench: Bench, harmed: str) -> None:
    """The line that has changed one command can change the stop as well."""
    stops: list[str] = []

    def harm(text: str) -> str:
        if text.endswith("STOP"):
            stops.append(text)
            return text.replace("STOP", "STP") if len(stops) == 1 else text
        return text.replace("92.00", "2.00") if "JT=" in text else text

    bench.port.harm = harm
    bench.port.refusals["STP"] = 6010
    bench.move(1.0, 0.0, 92.00, *START[3:])
    if harmed == "first":
        bench.tick(20)
        bench.driver.stop(bench.now_s)
        bench.tick(100)
    else:
        ends(bench)
    assert len(stops) >= 2
    assert not bench.port.moving(bench.now_s)
