"""Whatever comes over the line, the emulated CR1 lives on: scripts/fuzz-cr1 does the same for as long as one likes."""

from __future__ import annotations

import pytest
from cr1_fuzz import Fuzzer
from cr1_terminal import Cr1Terminal
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.cr1 import Cr1Settings
from sim.profiles import choices_of
from sim.uart import FRAMINGS


@given(data=st.binary(max_size=400), name=st.sampled_from(["cr1", "cr750"]), network=st.booleans())
@settings(max_examples=80, deadline=None)
def test_after_any_bytes_it_answers_the_next_request(data: bytes, name: str, network: bool) -> None:
    chosen = choices_of("cr1", name, {}).over(Cr1Settings())
    terminal = Cr1Terminal(**{field: getattr(chosen, field) for field in chosen.__struct_fields__})
    if network:
        terminal.cr1.join_network()
    terminal.raw(data, 5.0)
    terminal.raw("\r", 1.0)
    terminal.raw("1;1;RSTALRM\r", 5.0)
    assert terminal.raw("1;1;OVRD\r", 1.0) == "QoK100\r"


@given(data=st.binary(max_size=60), framing=st.sampled_from(list(FRAMINGS.values())))
@settings(max_examples=40, deadline=None)
def test_after_bytes_of_any_framing_too(data: bytes, framing) -> None:
    terminal = Cr1Terminal()
    terminal.type(data, framing)
    terminal.wait(3.0)
    terminal.raw("\r", 1.0)
    assert terminal.raw("1;1;OVRD\r", 1.0).upper().startswith("QOK")


@given(seed=st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_no_order_of_requests_and_hands_breaks_it(seed: int) -> None:
    Fuzzer(seed).run(60)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_bytes_at_the_same_times_give_the_same_bytes(seed: int) -> None:
    lives = [Fuzzer(seed), Fuzzer(seed)]
    for life in lives:
        life.run(60)
    assert lives[0].heard == lives[1].heard
    assert lives[0].cr1.joints == lives[1].cr1.joints
