"""The schemas for editors: made from the records that files are read with, and never stricter than reading."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import ConfigError
from hil.model._robot_file import robot_from_table
from hil.motion.tasks import task_from_table
from hil.paths.curve_file import curve_from_table
from hil.runtime.wiring import controller_tables, load_rig
from hil.workbench import key_texts, schema

CONFIGS = Path(__file__).parents[2] / "configs"
SCHEMAS = {
    "task": schema.task_schema(),
    "rig": schema.rig_schema(controller_tables()),
    "robot": schema.robot_schema(),
    "curve": schema.curve_schema(),
}
CHECKS = {kind: jsonschema.Draft202012Validator(each) for kind, each in SCHEMAS.items()}
FILES = [(kind, path) for kind in SCHEMAS for path in sorted((CONFIGS / f"{kind}s").glob("*.toml"))]


def table(kind: str, name: str) -> dict[str, Any]:
    return tomllib.loads((CONFIGS / f"{kind}s/{name}.toml").read_text(encoding="utf-8"))


def complaints(kind: str, document: dict[str, Any]) -> list[str]:
    """Where the schema finds something wrong, as dotted paths with the message."""
    return [
        f"{'.'.join(str(step) for step in each.absolute_path)}: {each.message}"
        for each in CHECKS[kind].iter_errors(document)
    ]


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    for each in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from nodes(each)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one_of_2020_12(kind: str) -> None:
    assert SCHEMAS[kind]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind])


@pytest.mark.parametrize(("kind", "path"), FILES, ids=lambda value: value.stem if isinstance(value, Path) else value)
def test_every_bundled_file_is_valid(kind: str, path: Path) -> None:
    assert complaints(kind, tomllib.loads(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("kind", SCHEMAS)
def test_older_editors_read_it_too_for_lists_of_fixed_length_are_said_in_the_old_way(kind: str) -> None:
    assert not [node for node in nodes(SCHEMAS[kind]) if "prefixItems" in node or node.get("items") is False]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_null_which_toml_does_not_have_is_never_offered(kind: str) -> None:
    assert not [node for node in nodes(SCHEMAS[kind]) if node.get("type") == "null" or node.get("default", 0) is None]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_key_has_a_text_with_its_unit_in_words(kind: str) -> None:
    for definition in (SCHEMAS[kind], *SCHEMAS[kind]["$defs"].values()):
        for key, node in definition.get("properties", {}).items():
            assert node["description"][0].isupper() or node["description"][0] in '1x0"', key
            if key.endswith("_mm_s"):
                assert "millimetres per second" in node["description"]


def test_no_text_is_left_of_a_key_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    used: set[str] = set()

    class Watched(dict[str, str]):
        def get(self, key: str, default: Any = None) -> Any:
            used.add(key)
            return super().get(key, default)

        def __getitem__(self, key: str) -> str:
            used.add(key)
            return super().__getitem__(key)

    monkeypatch.setattr(schema, "TEXTS", Watched(key_texts.TEXTS))
    schema.task_schema(), schema.robot_schema(), schema.curve_schema(), schema.rig_schema(controller_tables())
    assert key_texts.TEXTS.keys() - used == set()


# -- what is marked --------------------------------------------------------------------------------------


def test_a_mistake_in_a_rig_is_marked_at_its_key_and_nowhere_else() -> None:
    rig = table("rig", "lynx6")
    rig["joints"][1]["speed_deg_s"] = -1
    rig["controller"]["axis"]["wrist"]["channel"] = 32
    rig["timing"]["period_ms"] = 20.5
    assert sorted(each.partition(":")[0] for each in complaints("rig", rig)) == [
        "controller.axis.wrist.channel",
        "joints.1.speed_deg_s",
        "timing.period_ms",
    ]


def test_a_key_with_another_unit_is_marked_in_the_table_that_has_it() -> None:
    rig = table("rig", "lynx6")
    rig["gripper"]["park_deg"] = 3
    assert complaints("rig", rig) == [
        "gripper: Additional properties are not allowed ('park_deg' was unexpected)",
    ]


@pytest.mark.parametrize("path", [("title",), ("timing", "period_ms"), ("controller", "kind"),
                                  ("controller", "axis", "base", "channel"), ("joints", 0, "park_deg")])  # fmt: skip
def test_a_rig_that_inherits_nothing_needs_every_key(path: tuple[str | int, ...]) -> None:
    rig: Any = table("rig", "lynx6")
    place = rig
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    assert len(complaints("rig", rig)) == 1
    assert f"'{path[-1]}' is a required property" in complaints("rig", rig)[0]


def test_a_rig_that_inherits_needs_only_what_it_changes_but_lists_whole() -> None:
    rig: dict[str, Any] = {"inherit": "lynx6", "timing": {"look_ahead_ms": 40}}
    rig["controller"] = {"kind": "ssc32", "port": "COM3", "axis": {"base": {"lower_us": 600}}}
    assert complaints("rig", rig) == []
    rig["shapes"] = [{"name": "pedestal"}]
    assert {each.partition(":")[0] for each in complaints("rig", rig)} == {"shapes.0"}
    del rig["shapes"]
    rig["controller"]["axis"]["base"]["lower_us"] = 499
    assert len(complaints("rig", rig)) == 1


def test_a_step_is_judged_by_what_it_does() -> None:
    task = {"title": "t", "step": [{"do": "line", "to_mm": [1, 2]}, {"do": "move", "opening_mm": 3}, {"do": "wiat"}]}
    found = complaints("task", task)
    assert len(found) == 3
    assert found[0].startswith("step.0.to_mm:") and "'opening_mm' was unexpected" in found[1]
    assert "'wiat' is not one of ['move', 'line', 'arc', " in found[2]


def test_a_robots_joint_is_judged_by_its_type() -> None:
    robot = table("robot", "lynx6")
    robot["joints"][0]["lower_mm"] = 3
    del robot["joints"][1]["type"]
    robot["joints"][2]["type"] = "turning"
    found = complaints("robot", robot)
    assert len(found) == 3
    assert "'lower_mm' was unexpected" in found[0] and "'type' is a required property" in found[1]


def test_a_second_kind_of_controller_is_told_by_its_kind() -> None:
    tables = controller_tables()
    check = jsonschema.Draft202012Validator(schema.rig_schema({**tables, "other": tables["ssc32"]}))
    assert check.is_valid(table("rig", "lynx6"))


# -- never stricter than reading -------------------------------------------------------------------------

Leaf = tuple[str | int, ...]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-400, 3000),
    st.floats(-1e3, 1e3),
    st.sampled_from(["", "x", "park", "up", "ssc32"]),
    st.lists(st.integers(-9, 9), max_size=4),
    st.dictionaries(st.sampled_from(["base", "x"]), st.just(1)),
)


def places(tree: Any, here: Leaf = ()) -> Iterator[Leaf]:
    for key, each in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield (*here, key)
        yield from places(each, (*here, key))


def changed(document: dict[str, Any], place: Leaf, value: Any) -> dict[str, Any]:
    """With another value there; None takes the key away."""
    document = copy.deepcopy(document)
    node: Any = document
    for step in place[:-1]:
        node = node[step]
    if value is None:
        del node[place[-1]]
    else:
        node[place[-1]] = value
    return document


def read_rig(document: dict[str, Any]) -> object:
    from hil.model._rig_file import rig_from_table
    from hil.model.reader import load_robot
    from hil.runtime.kinds import NAMES, kind_named

    kinds = {name: kind_named(name).settings_from_table for name in NAMES}
    return rig_from_table(document, "rig", "rig.toml", load_robot, kinds)


READERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "task": lambda document: task_from_table(document, "task.toml"),
    "rig": read_rig,
    "robot": lambda document: robot_from_table(document, "robot", "robot.toml"),
    "curve": lambda document: curve_from_table(document, "curve.toml"),
}
STARTS = [("task", "pick-and-place"), ("rig", "lynx6"), ("robot", "lynx6"), ("robot", "stanford"), ("curve", "sphere")]


@pytest.mark.parametrize(("kind", "name"), STARTS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_marked_in_an_editor_is_refused_when_read(kind: str, name: str, data: st.DataObject) -> None:
    document = table(kind, name)
    place = data.draw(st.sampled_from(sorted(places(document), key=str)))
    document = changed(document, place, data.draw(VALUES))
    if complaints(kind, document):
        with pytest.raises(ConfigError):
            READERS[kind](document)


def test_an_inherited_rig_that_reads_is_not_marked(tmp_path: Path) -> None:
    text = 'inherit = "lynx6"\n[tool]\nspeed_mm_s = 100\n[fences.keep_in]\nname = "desk"\n[gripper]\npark_mm = 12\n'
    (tmp_path / "desk.toml").write_text(text)
    assert load_rig(tmp_path / "desk.toml").tool_speed_m_s == 0.1
    assert complaints("rig", tomllib.loads(text)) == []
