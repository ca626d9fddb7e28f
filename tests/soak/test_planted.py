"""The judges are judged: each fault that is planted into the program is found, by the judge whose promise it breaks."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from planted_faults import PLANTED, Planted, another_arm, found
from soak_excuses import Excuse, Excused, markdown

PAGE = Path(__file__).parents[2] / "docs" / "faults-and-kills.md"


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.title.replace(" ", "-"))
def test_a_planted_fault_is_found_by_the_judge_of_the_promise_that_it_breaks(planted: Planted) -> None:
    """Without the fault the same lives pass: test_soak.py has them."""
    assert found(planted), f"{planted.title}: nobody found it, not in any of its lives"


@pytest.mark.skipif(
    importlib.util.find_spec("hil.runtime.adapters") is None, reason="nobody looks at an adapter at a reopen yet"
)
def test_another_arm_that_came_under_the_port_s_name_gets_no_byte() -> None:
    assert another_arm() == ""


def test_what_is_excused_stands_in_the_page_with_its_reason() -> None:
    assert markdown() in PAGE.read_text(encoding="utf-8")


def test_an_excuse_ends_and_the_longest_one_counts() -> None:
    excused = Excused([(1.0, 2.0, Excuse.FREED_JOINT), (1.5, 4.0, Excuse.SERVO_SUPPLY)])
    assert [excused.at(t) for t in (0.9, 1.0, 1.6, 3.9, 4.0)] == [
        None,
        Excuse.FREED_JOINT,
        Excuse.SERVO_SUPPLY,
        Excuse.SERVO_SUPPLY,
        None,
    ]
    excused.extend(3.0, Excuse.BY_HAND)
    assert excused.at(4.0) is None
