"""One page for all that is open about both controllers: each choice with its default, source and confidence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.profiles import load_profile, profile_names

PAGE = (Path(__file__).parents[2] / "docs" / "open-questions.md").read_text("utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")]
USUAL = {"ssc32": load_profile("ssc32-2x"), "cr1": load_profile("cr1")}
ABOUT = {"ssc32": "SSC-32", "cr1": "CR1"}


def row_of(controller: str, key: str) -> str:
    (row,) = [row for row in ROWS if row.startswith(f"| {ABOUT[controller]} |") and f"(`{key}`)" in row]
    return row


@pytest.mark.parametrize("controller", USUAL)
def test_every_choice_stands_there_with_who_says_so_and_how_sure_that_is(controller: str) -> None:
    for key, choice in USUAL[controller].choices.items():
        _, _, what, done, source, sure, _ = row_of(controller, key).split("|")
        assert choice.what in what and choice.source in source, key
        assert choice.confidence is not None and choice.confidence.value in sure, key
        assert done.strip().startswith("`")


@pytest.mark.parametrize("name", profile_names())
def test_what_a_profile_chooses_otherwise_stands_there(name: str) -> None:
    profile = load_profile(name)
    for key, choice in profile.choices.items():
        chosen_otherwise = choice.value != USUAL[profile.controller].choices[key].value
        assert (name in re.findall(r"[\w-]+", row_of(profile.controller, key).split("|")[3])) == chosen_otherwise, key


def test_both_cases_of_servo_off_stand_there() -> None:
    assert "goes on with the next line, or waits" in row_of("cr1", "after_servo_off")
    assert "SRVOFF while something moves" in row_of("cr1", "servo_off")
