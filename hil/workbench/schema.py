"""JSON Schema of task, rig, robot and curve files for editors, from the very records that files are read with.

A schema knows keys, types and bounds; what depends on several keys, or on another file, `hil check` knows.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from hil.model import _rig_file, _robot_file
from hil.motion import tasks
from hil.paths import curve_file
from hil.tables import stem_and_unit
from hil.workbench.key_texts import TEXTS

Kind = Literal["task", "rig", "robot", "curve"]
Node = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/"
BRANCHES = ("then", "else")


def task_schema() -> Node:
    """What `hil.motion.tasks.load_task` reads."""
    definitions = _definitions(tasks.TaskTable, *tasks.STEP_KINDS.values())
    root = definitions.pop("TaskTable")
    kinds = {kind: record.__name__ for kind, record in tasks.STEP_KINDS.items()}
    steps = {"type": "array", "minItems": 1, "maxItems": tasks.MAX_STEPS, "items": _by_key("do", kinds, definitions)}
    root["properties"]["step"] |= steps
    return _whole("task", root, definitions)


def curve_schema() -> Node:
    """What `hil.paths.curve_file.load_curve` reads."""
    definitions = _definitions(curve_file.CurveTable)
    root = definitions.pop("CurveTable")
    return _whole("curve", root, definitions)


def robot_schema() -> Node:
    """What `hil.model.reader.load_robot` reads."""
    definitions = _definitions(_robot_file.RobotTable, _robot_file.RevoluteTable, _robot_file.PrismaticTable)
    root = definitions.pop("RobotTable")
    kinds = {"revolute": "RevoluteTable", "prismatic": "PrismaticTable"}
    root["properties"]["joints"]["items"] = _by_key("type", kinds, definitions)
    return _whole("robot", root, definitions)


def rig_schema(controllers: Mapping[str, type[Any]]) -> Node:
    """What `hil.model.reader.load_rig` reads. A rig that inherits need not say what its parent says.

    Args:
        controllers: by kind of controller, the record of its ``[controller]`` table.
    """
    rows = (_rig_file.RevoluteAxisTable, _rig_file.LinearAxisTable, _rig_file.ShapeTable)
    definitions = _definitions(_rig_file.RigTable, *rows, *controllers.values())
    root = definitions.pop("RigTable")
    keys = root["properties"]
    sliding: Node = {"required": ["lower_mm"]}
    turning: Node = {"not": sliding}
    keys["joints"]["items"] = _chosen([(sliding, "LinearAxisTable"), (turning, "RevoluteAxisTable")], definitions)
    keys["shapes"]["items"] = _reference("ShapeTable")
    keys["gripper"] |= _reference("LinearAxisTable")
    kinds = {kind: record.__name__ for kind, record in controllers.items()}
    keys["controller"] |= _by_key("kind", kinds, definitions)
    keys["inherit"] = {"type": "string", "minLength": 1, "description": TEXTS["RigTable.inherit"]}
    return _whole("rig", _or_inherited(root, definitions), definitions)


def _whole(kind: Kind, root: Node, definitions: Node) -> Node:
    return {"$schema": DIALECT, "title": f"hil {kind} file", **root, "$defs": definitions}


def _definitions(*records: type[Any]) -> dict[str, Node]:
    """Schemas of records and of all that they are made of, by name, with a text for every key."""
    definitions = msgspec.json.schema_components(records, ref_template=f"{REFERENCE}{{name}}")[1]
    for name, definition in definitions.items():
        del definition["title"]
        for key, node in definition.get("properties", {}).items():
            definition["properties"][key] = {**_plain(node), "description": _described(name, key)}
    return definitions


def _described(record: str, key: str) -> str:
    stem, unit = stem_and_unit(key)
    name = stem if unit else key
    text = TEXTS.get(f"{record}.{name}") or TEXTS.get(name, "")
    return "; ".join(part for part in (text, f"in {unit}" if unit else "") if part)


def _plain(node: Any) -> Any:
    """Without null, which TOML does not have, and with lists of one type said in a way that older dialects read too."""
    if isinstance(node, list):
        return [_plain(each) for each in node]
    if not isinstance(node, dict):
        return node
    members = [each for each in node.get("anyOf", ()) if each != {"type": "null"}]
    if len(members) == 1:
        return _plain(members[0])
    items = node.get("prefixItems")
    if items and all(each == items[0] for each in items):
        node = {key: value for key, value in node.items() if key != "prefixItems"} | {"items": items[0]}
    return {key: _plain(value) for key, value in node.items() if not (key == "default" and value is None)}


def _reference(name: str) -> Node:
    return {"$ref": f"{REFERENCE}{name}"}


def _by_key(key: str, kinds: Mapping[str, str], definitions: Mapping[str, Node]) -> Node:
    """The table that one of its keys tells; a plain reference if there is only one kind."""
    for name in kinds.values():
        definitions[name]["required"] = sorted({*definitions[name]["required"], key})
    if len(kinds) == 1:
        return _reference(*kinds.values())
    cases: list[tuple[Node, str]] = [
        ({"properties": {key: {"const": kind}}, "required": [key]}, name) for kind, name in kinds.items()
    ]
    node = _chosen(cases, definitions)
    node["properties"][key]["enum"] = list(kinds)
    return {**node, "required": [key]}


def _chosen(cases: list[tuple[Node, str]], definitions: Mapping[str, Node]) -> Node:
    """One of several tables, by a condition: so an editor complains about a key, not about the whole table.

    All keys stand beside it once more, with their texts alone, for editors that do not look behind conditions.
    """
    keys = {key: node for _, name in cases for key, node in definitions[name]["properties"].items()}
    chain: Node = {}
    for condition, name in reversed(cases):
        chain = {"if": condition, "then": _reference(name), **({"else": chain} if chain else {})}
    texts = {key: {"description": node["description"]} for key, node in keys.items()}
    return {"type": "object", "properties": texts, **chain}


# -- inheriting ------------------------------------------------------------------------------------------


def _or_inherited(root: Node, definitions: dict[str, Node]) -> Node:
    """Keys that are required are required only of a rig that does not inherit.

    In lists they always are: a list is replaced whole.
    """
    changes: dict[str, Node] = {}
    required = _required(root, definitions)
    loose = _loose(root, definitions, changes)
    definitions.update(changes)
    _drop_unused(loose, definitions)
    return {**loose, "if": {"not": {"required": ["inherit"]}}, "then": required}


def _required(node: Node, definitions: Mapping[str, Node]) -> Node:
    """Only what a table and the tables in it require."""
    found: Node = {key: node[key] for key in ("required",) if key in node}
    below = {key: _required(_followed(each, definitions), definitions) for key, each in _tables(node, definitions)}
    if any(below.values()):
        found["properties"] = {key: each for key, each in below.items() if each}
    more = node.get("additionalProperties")
    if isinstance(more, dict) and (each := _required(_followed(more, definitions), definitions)):
        found["additionalProperties"] = each
    branches = {key: _required(_followed(node[key], definitions), definitions) for key in BRANCHES if key in node}
    return {**found, "if": node["if"], **branches} if any(branches.values()) else found


def _loose(node: Node, definitions: Mapping[str, Node], changes: dict[str, Node]) -> Node:
    """The same table with nothing required, in it and in the tables in it."""
    found = {key: copy.deepcopy(value) for key, value in node.items() if key != "required"}
    for key, each in _tables(node, definitions):
        found["properties"][key] = _loose_reference(each, definitions, changes)
    if isinstance(node.get("additionalProperties"), dict):
        found["additionalProperties"] = _loose_reference(node["additionalProperties"], definitions, changes)
    for key in BRANCHES:
        if key in node:
            found[key] = _loose_reference(node[key], definitions, changes)
    return found


def _loose_reference(node: Node, definitions: Mapping[str, Node], changes: dict[str, Node]) -> Node:
    if "$ref" not in node:
        return _loose(node, definitions, changes)
    name = node["$ref"].removeprefix(REFERENCE)
    changes[f"{name}Changes"] = _loose(definitions[name], definitions, changes)
    return {**node, **_reference(f"{name}Changes")}


def _tables(node: Node, definitions: Mapping[str, Node]) -> Iterator[tuple[str, Node]]:
    for key, each in node.get("properties", {}).items():
        if _followed(each, definitions).get("type") == "object":
            yield key, each


def _followed(node: Node, definitions: Mapping[str, Node]) -> Node:
    return definitions[node["$ref"].removeprefix(REFERENCE)] if "$ref" in node else node


def _drop_unused(root: Node, definitions: dict[str, Node]) -> None:
    used: set[str] = set()
    waiting = list(_names(root))
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            waiting += _names(definitions[name])
    for name in definitions.keys() - used:
        del definitions[name]


def _names(node: Any) -> Iterator[str]:
    """Names of the definitions that a schema refers to."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"].removeprefix(REFERENCE)
        for each in node.values():
            yield from _names(each)
    elif isinstance(node, list):
        for each in node:
            yield from _names(each)
