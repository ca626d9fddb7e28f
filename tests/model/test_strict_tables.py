"""Every fault of a table is answered with file, key, value, and what is allowed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, field

from hil.errors import ConfigError
from hil.tables import closest, convert
from hil.types import Record


class Axis(Record, frozen=True):
    speed_deg_s: Annotated[float, Meta(gt=0)]
    kind: Literal["servo", "stepper"] = "servo"


class Table(Record, frozen=True):
    axis: dict[str, Axis] = field(default_factory=dict)
    rows: tuple[Axis, ...] = ()
    spare: Axis | None = None
    point_mm: tuple[float, float, float] = (0.0, 0.0, 0.0)
    count: Annotated[int, Meta(ge=1, le=3)] = 1


GOOD = {"speed_deg_s": 1}


@pytest.mark.parametrize(
    ("table", "key", "text"),
    [
        (
            {"axis": {"a": GOOD, "b": {"speed_deg": 1}}},
            "axis.b.speed_deg",
            "Did you mean `speed_deg_s`, in degrees",
        ),
        ({"rows": [{"speed_rad_s": 1}]}, "rows.0.speed_rad_s", "Did you mean `speed_deg_s`"),
        (
            {"rows": [{}]},
            "rows.0.speed_deg_s",
            "nothing given; allowed: this key is required, in degrees per second",
        ),
        ({"rows": [GOOD, {"speed_deg_s": 0}]}, "rows.1.speed_deg_s", "0 given; allowed: number > 0.0"),
        ({"spare": {"sped_deg_s": 1}}, "spare.sped_deg_s", "Did you mean `speed_deg_s`"),
        ({"spare": {**GOOD, "kind": "piezo"}}, "spare.kind", "'piezo' given; allowed: 'servo' or 'stepper'"),
        ({"spare": 3}, "spare", "3 given; allowed: table"),
        ({"point_mm": [1, 2]}, "point_mm", "[1, 2] given; allowed: list of 3 values"),
        ({"point_mm": [1, 2, "x"]}, "point_mm.2", "'x' given; allowed: number. Leave out the quotes"),
        ({"point_mm": [1, 5, 2, 3]}, "point_mm", "A comma parts two values; the decimal mark is a point"),
        ({"count": 9}, "count", "9 given; allowed: whole number <= 3"),
        ({"count": True}, "count", "True given; allowed: whole number"),
        ({"colour": 1}, "colour", "Known keys: axis, rows, spare, point_mm, count"),
    ],
)
def test_a_fault_names_its_key_and_what_is_allowed(table: dict[str, Any], key: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        convert(table, Table, file="rig.toml", prefix="part")
    assert error.value.key == f"part.{key}"
    assert str(error.value).startswith(f"rig.toml: part.{key}: ")
    assert text in str(error.value)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("table", ["point_mm", "rows", "anything"])
def test_a_number_that_is_not_finite_is_refused_wherever_it_stands(table: str, number: float) -> None:
    with pytest.raises(ConfigError, match="allowed: a finite number"):
        convert({table: [{"deep": [0.0, number]}]}, Table, file="rig.toml")


@given(st.sampled_from(["rad", "m", "cm", "in", "deg", "mm"]), st.sampled_from(["", "_s", "_s2", "_s3"]))
def test_a_key_in_another_unit_is_recognised(unit: str, per: str) -> None:
    assert closest(f"lower_{unit}{per}", ["name", "lower_deg", "upper_deg"]) == "lower_deg"


def test_a_key_in_another_unit_is_not_taken_for_one_without_a_unit() -> None:
    assert closest("to_cm", ["do", "to", "to_mm"]) == "to_mm"
    assert closest("to", ["do", "to_mm", "to"]) == "to"


VALUES = st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=8)


@given(st.dictionaries(st.text(), VALUES, max_size=6))
def test_no_table_gets_anything_but_a_record_or_a_config_error(table: dict[str, Any]) -> None:
    try:
        assert isinstance(convert(table, Table, file="rig.toml"), Table)
    except ConfigError as error:
        assert error.file == "rig.toml"
