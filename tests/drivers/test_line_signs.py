"""How bytes come shows what is wrong with a line: on its own, and at the first word with both kinds of controller."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from arm_stands import Rv2ajStand, Ssc32Stand, WiredStand
from hypothesis import given
from hypothesis import strategies as st
from virtual_session import script

from drivers._line_signs import LineSigns
from hil.errors import ControllerError, LineCause
from hil.runtime.line_health import SAYINGS, explained
from hil.types import LinkPhase
from sim.faults import FaultScript
from sim.ssc32 import Firmware

BYTE_S = 10 / 115200
LINES = st.lists(st.binary(min_size=4, max_size=30), min_size=1, max_size=8, unique=True)


# -- by themselves ---------------------------------------------------------------------------------------


@given(lines=LINES, junk=st.binary(max_size=20), cuts=st.lists(st.integers(0, 300), max_size=12))
def test_what_comes_back_is_known_however_it_is_cut(lines: list[bytes], junk: bytes, cuts: list[int]) -> None:
    signs = LineSigns(BYTE_S)
    for line in lines:
        signs.sent(line)
    back = (junk + lines[-1])[-200:]
    for number, (begin, end) in enumerate(pairwise(sorted({0, len(back), *(cut % len(back) for cut in cuts)}))):
        signs.heard(back[begin:end], 0.02 * number)
    assert signs.echoed() >= 1


@given(lines=LINES, heard=st.binary(max_size=60))
def test_what_was_not_sent_is_no_echo(lines: list[bytes], heard: bytes) -> None:
    signs = LineSigns(BYTE_S)
    for line in lines:
        signs.sent(line)
    signs.heard(heard, 0.0)
    if not any(line in heard for line in lines):
        assert signs.echoed() == 0
        signs.refuse_echo("port", 1)


def test_a_line_that_came_back_is_counted_once_and_less_than_four_bytes_never() -> None:
    signs = LineSigns(BYTE_S)
    signs.sent(b"Q\r\x1b")
    signs.sent(b"VER\r")
    signs.heard(b"Q\r\x1bVER\r", 0.0)
    assert [signs.echoed(), signs.echoed()] == [1, 1]
    signs.refuse_echo("port", 2)
    with pytest.raises(ControllerError, match="port: the line echoes what it is sent") as refused:
        signs.refuse_echo("port", 1)
    assert refused.value.cause is LineCause.ECHO


@pytest.mark.parametrize(
    ("size", "apart_s", "looks", "sign"),
    [
        (1, 0.02, 32, LineCause.TRICKLE),
        (2, 0.02, 32, LineCause.TRICKLE),
        (1, 0.02, 30, None),
        (1, 0.29, 7, LineCause.TRICKLE),
        (1, 0.29, 6, None),
        (3, 0.03, 60, None),
        (1, 0.0075, 200, None),
        (1, 0.31, 20, None),
    ],
)
def test_bytes_trickle_by_how_few_come_how_far_apart(
    size: int, apart_s: float, looks: int, sign: LineCause | None
) -> None:
    signs = LineSigns(BYTE_S)
    for number in range(looks):
        signs.heard(b"x" * size, apart_s * number)
    assert signs.sign(apart_s * (looks - 1)) is sign
    assert signs.sign(apart_s * looks + 3.1) is None


def test_a_slow_line_does_not_trickle() -> None:
    signs = LineSigns(10 / 2400)
    for number in range(60):
        signs.heard(b"x", 0.02 * number)
    assert signs.sign(1.18) is None


@pytest.mark.parametrize(("apart_s", "count", "sign"), [(1.4, 3, LineCause.TORN), (1.4, 2, None), (1.8, 5, None)])
def test_three_torn_answers_in_a_few_seconds_are_no_chance(apart_s: float, count: int, sign: LineCause | None) -> None:
    signs = LineSigns(BYTE_S)
    for number in range(count):
        signs.tear(apart_s * number)
    assert signs.sign(apart_s * (count - 1)) is sign


def test_on_a_slow_line_three_torn_answers_may_take_longer() -> None:
    signs = LineSigns(12 / 9600)
    for number in range(3):
        signs.tear(5.2 * number)
    assert signs.sign(10.4) is LineCause.TORN
    assert signs.sign(10.6) is None


# -- at the first word -----------------------------------------------------------------------------------

STANDS: dict[str, Callable[[FaultScript], WiredStand]] = {
    "ssc32": lambda faults: Ssc32Stand(Firmware.V2, faults),
    "ssc32u": lambda faults: Ssc32Stand(Firmware.U, faults),
    "rv2aj": lambda faults: Rv2ajStand("segments", faults),
}


@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ({"kind": "echoed"}, LineCause.ECHO),
        ({"kind": "shared", "every": 3}, LineCause.TORN),
        ({"kind": "shared", "probability": 0.05}, LineCause.TORN),
        ({"kind": "lost", "every": 4}, LineCause.TORN),
        ({"kind": "dribbled", "delay_ms": 30.0}, LineCause.TRICKLE),
    ],
    ids=lambda each: each.get("kind") if isinstance(each, dict) else each.name,
)
def test_the_driver_names_the_cause_and_what_to_do(kind: str, fault: dict[str, Any], cause: LineCause) -> None:
    stand = STANDS[kind](script(fault))
    with pytest.raises(ControllerError) as refused:
        stand.connect()
    assert refused.value.cause is cause
    assert explained(refused.value).endswith(SAYINGS[cause].advice)
    assert stand.sent_to_the_arm() in (0, [0] * 5)


@pytest.mark.parametrize("kind", STANDS)
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "dribbled", "delay_ms": 5.0},
        {"kind": "dribbled", "probability": 0.1, "delay_ms": 15.0},
        {"kind": "merged", "delay_ms": 16.0},
        {"kind": "merged", "delay_ms": 100.0},
    ],
    ids=str,
)
def test_pieces_and_heaps_are_only_a_slow_line(kind: str, fault: dict[str, Any]) -> None:
    assert STANDS[kind](script(fault)).connect().phase is LinkPhase.READY


def test_an_echo_that_begins_in_a_session_with_a_cr1_ends_it_by_its_name() -> None:
    stand = Rv2ajStand("segments", script({"kind": "echoed", "at_s": 40.0}))
    assert stand.connect().phase is LinkPhase.READY
    with pytest.raises(ControllerError, match="the line echoes") as refused:
        stand.tick(100)
    assert refused.value.cause is LineCause.ECHO
