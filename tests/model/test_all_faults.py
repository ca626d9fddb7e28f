"""One reading tells all faults of a file: each key once, in the words that it has alone, and none that only follows."""

from __future__ import annotations

import copy
import functools
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from single_faults import RECORDED, Place, Slip, broken, document, read, slips, words

from hil.errors import ConfigError, ConfigErrors
from hil.findings import Findings
from hil.model.files import list_names

WORDS = json.loads((Path(__file__).parent / "words_of_single_faults.json").read_text("utf-8"))
OWN = ("lynx6", "al5d", "rv2aj")
"""Rigs that inherit nothing, so that their files are whole."""
FILES = [
    *(("rig", name) for name in OWN),
    *(("robot", name) for name in list_names("robots")),
    *(("task", name) for name in list_names("tasks")),
]


@functools.cache
def faults_alone(kind: str, name: str) -> tuple[tuple[Slip, str], ...]:
    """Every slip of a file that is a fault, and what is said if it is the only one."""
    table = document(kind, name)
    said = ((slip, words(kind, broken(table, slip))) for slip in slips(table))
    return tuple((slip, text) for slip, text in said if text)


def faults(kind: str, table: dict[str, Any]) -> tuple[ConfigError, ...]:
    try:
        read(kind, table)
    except ConfigErrors as errors:
        return errors.faults
    except ConfigError as error:
        return (error,)
    return ()


@pytest.mark.parametrize(("kind", "name"), RECORDED)
def test_one_fault_is_answered_as_it_has_always_been(kind: str, name: str) -> None:
    recorded = dict(WORDS[f"{kind} {name}"])
    for slip, text in faults_alone(kind, name):
        before = recorded.pop(slip.title, None)
        if slip.touches == {"all"}:
            # A name that others go by is wrong in several places; the first of them was told.
            assert before is None or before in text.splitlines(), slip.title
        else:
            assert text == before, slip.title
    assert not recorded


@pytest.mark.parametrize("kind", ["rig", "robot", "task"])
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_several_faults_are_told_as_each_is_told_alone(kind: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for each, name in FILES if each == kind]))
    alone = [(slip, text) for slip, text in faults_alone(kind, name) if slip.touches != {"all"}]
    chosen: list[tuple[Slip, str]] = []
    for slip, text in data.draw(st.lists(st.sampled_from(alone), min_size=2, max_size=9)):
        if all(_apart((slip, text), other) for other in chosen):
            chosen.append((slip, text))
    told = faults(kind, broken(document(kind, name), *(slip for slip, _ in chosen)))
    assert sorted(map(str, told)) == sorted(text for _, text in chosen)
    assert len({(fault.file, fault.key) for fault in told}) == len(chosen)


def _apart(one: tuple[Slip, str], other: tuple[Slip, str]) -> bool:
    """Neither answer depends on the other."""
    return (
        one[0].touches.isdisjoint(other[0].touches)
        and not _inside(one[0], other[0])
        and not _judged_by_controller(one, other)
        and not _judged_by_controller(other, one)
    )


def _judged_by_controller(one: tuple[Slip, str], other: tuple[Slip, str]) -> bool:
    """What a controller lets through is known once its table can be read."""
    return other[0].place[0] == "controller" and "controller" in one[1] and one[0].place[0] != "controller"


@pytest.mark.parametrize("kind", ["rig", "robot", "task"])
@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_whatever_stands_in_a_file_is_answered_in_words_and_in_its_order(kind: str, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for each, name in FILES if each == kind][:4]))
    drawn = data.draw(st.lists(st.sampled_from([slip for slip, _ in faults_alone(kind, name)]), max_size=12))
    chosen: list[Slip] = []
    for slip in drawn:
        if not any(_inside(slip, other) for other in chosen):
            chosen.append(slip)
    table = broken(document(kind, name), *chosen)
    told = faults(kind, table)
    assert bool(told) == bool(chosen)
    assert [str(fault) for fault in told] == [str(fault) for fault in faults(kind, copy.deepcopy(table))]


def _inside(one: Slip, other: Slip) -> bool:
    """One place is inside the other."""
    length = min(len(one.place), len(other.place))
    return one.place[:length] == other.place[:length]


LYNX6 = document("rig", "lynx6")


def changed(*changes: tuple[Place, Any]) -> dict[str, Any]:
    return broken(LYNX6, Slip("", (), changes, frozenset()))


def keys(table: dict[str, Any], kind: str = "rig") -> list[str]:
    return [fault.key for fault in faults(kind, table)]


def test_faults_come_in_the_order_of_the_file() -> None:
    table = changed(
        (("controller", "baud"), "fast"),
        (("joints", 3, "jerk_deg_s3"), 0),
        (("title",), 1),
        (("tool", "speed_mm_s"), 0),
    )
    assert keys(table) == ["title", "tool.speed_mm_s", "joints.wrist.jerk_deg_s3", "controller.baud"]


@pytest.mark.parametrize("value", ["x", math.nan, -1e9])
def test_a_limit_that_cannot_be_read_says_nothing_of_the_poses(value: object) -> None:
    table = changed((("joints", 1, "lower_deg"), value))
    assert len(keys(table)) == 1


def test_exchanged_limits_are_one_fault() -> None:
    assert keys(changed((("joints", 1, "lower_deg"), 178), (("joints", 1, "upper_deg"), 2))) == [
        "joints.shoulder.lower_deg"
    ]


def test_a_key_in_another_unit_is_not_missed_as_well() -> None:
    row = {key: value for key, value in LYNX6["joints"][0].items() if key != "lower_deg"}
    (fault,) = faults("rig", changed((("joints", 0), {**row, "lower_rad": -1.5})))
    assert fault.key == "joints.base.lower_rad"
    assert "Did you mean `lower_deg`" in str(fault)


def test_every_unknown_name_is_told_once() -> None:
    table = changed(
        (("energise_order", 0), "sholder"),
        (("energise_order", 1), "elbo"),
        (("fences", "neighbours", 0, 0), "pedstal"),
        (("fences", "neighbours", 1, 0), "pedstal"),
    )
    told = [(fault.key, fault.value) for fault in faults("rig", table)]
    assert told == [("energise_order", "sholder"), ("energise_order", "elbo"), ("fences.neighbours", "pedstal")]


def test_a_robot_that_is_not_there_says_nothing_of_joints_and_controller() -> None:
    told = faults("rig", changed((("robot",), "lynx7"), (("timing", "look_ahead_ms"), 50)))
    assert [fault.key for fault in told] == ["name", "timing.look_ahead_ms"]


@pytest.mark.parametrize(
    ("step", "keys_told"),
    [
        ({"do": "move", "to_mn": [1, 2, 3]}, ["step 1.to_mn"]),
        ({"do": "move", "to_mm": 5, "pitch_deg": 4}, ["step 1.to_mm"]),
        ({"do": "move", "joints_deg": 5}, ["step 1.joints_deg"]),
        (
            {"do": "line", "convention": "x", "abc_deg": [0, 0, 0], "colour": 1},
            ["step 1.convention", "step 1.colour", "step 1.by_mm"],
        ),
    ],
)
def test_a_step_is_told_no_fault_that_follows_from_another(step: dict[str, Any], keys_told: list[str]) -> None:
    assert keys({"title": "t", "step": [step]}, "task") == keys_told


def test_several_faults_read_as_the_first_and_print_as_all() -> None:
    with pytest.raises(ConfigErrors) as error:
        read("rig", changed((("title",), 1), (("tool", "speed_mm_s"), 0)))
    first, second = error.value.faults
    assert (error.value.file, error.value.key, error.value.value) == (first.file, "title", 1)
    assert (error.value.allowed, error.value.advice) == (first.allowed, first.advice)
    assert str(error.value) == f"{first}\n{second}"


def test_a_single_fault_is_raised_as_itself() -> None:
    fault = ConfigError("a.toml", "key", 1, "2")
    findings = Findings("a.toml")
    findings.stop()
    findings.add(fault)
    findings.say("key", 1, "something else")
    with pytest.raises(ConfigError) as error:
        findings.stop()
    assert error.value is fault


def test_a_row_goes_by_its_name_and_by_its_number() -> None:
    findings = Findings("a.toml", {"rows": [{"name": "one"}, {"name": "two"}]})
    findings.say("rows.1.length_mm", math.nan, "a finite number")
    assert not findings.sound("rows.two.length_mm")
    assert not findings.sound("rows")
    assert findings.sound("rows.one.length_mm", "rows.two.name")
    assert findings.right("rows")
