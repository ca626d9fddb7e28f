"""Files with one fault each, made from the bundled ones: what stands at one place is taken away or exchanged."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from hil.errors import ConfigError
from hil.model._rig_file import rig_from_table
from hil.model._robot_file import robot_from_table
from hil.model.files import find, read_toml
from hil.model.reader import load_robot
from hil.motion.tasks import task_from_table
from hil.runtime.kinds import NAMES, kind_named

Place = tuple[str | int, ...]

RECORDED = (
    ("rig", "lynx6"),
    ("rig", "rv2aj"),
    ("robot", "stanford"),
    ("robot", "panda"),
    ("task", "pick-and-place"),
    ("task", "square"),
)
"""Of these, what was said of one fault before a reading told all of them is kept in a file."""
GONE = object()
LIMITS = ("lower", "upper", "soft", "home", "park", "speed", "servo")
NAMED_AFTER = {("robot",), ("gripper", "name"), ("controller", "kind")}


class Slip(NamedTuple):
    """One fault: what it is, where, and what then stands at some places.

    Attributes:
        touches: what its answer depends on; two faults that share nothing here are independent.
    """

    kind: str
    place: Place
    changes: tuple[tuple[Place, Any], ...]
    touches: frozenset[str]

    @property
    def title(self) -> str:
        return f"{self.kind} {'.'.join(map(str, self.place))}"


def document(kind: str, name: str) -> dict[str, Any]:
    return read_toml(find(f"{kind}s", name))


def broken(table: dict[str, Any], *slips: Slip) -> dict[str, Any]:
    table = copy.deepcopy(table)
    for place, value in (change for slip in slips for change in slip.changes):
        node: Any = table
        for step in place[:-1]:
            node = node[step]
        if value is GONE:
            del node[place[-1]]
        else:
            node[place[-1]] = value
    return table


def read(kind: str, table: dict[str, Any]) -> object:
    """As a file of that kind is read.

    Raises:
        ConfigError: something in it is wrong.
    """
    if kind == "rig":
        kinds = {name: kind_named(name).settings_from_table for name in NAMES}
        return rig_from_table(table, "rig", "rig.toml", load_robot, kinds)
    if kind == "robot":
        return robot_from_table(table, "robot", "robot.toml")
    return task_from_table(table, "task.toml")


def words(kind: str, table: dict[str, Any]) -> str:
    """What is said of it, in full; empty if nothing is wrong."""
    try:
        read(kind, table)
    except ConfigError as error:
        return str(error)
    return ""


def slips(table: dict[str, Any]) -> Iterator[Slip]:
    """Faults of a table, one after the other; some of them a file may have without being wrong."""
    number = 0
    for place, value in _places(table, ()):
        if isinstance(value, dict):
            first = next(iter(value), "key")
            yield _slip("unknown key", (*place, f"{first}_x"), 1)
            continue
        number += 1
        kind, instead = _wrong(value)[number % 4]
        yield _slip(kind, place, instead)
    yield from _specials(table)


def _places(node: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Every table and every key that holds none."""
    if isinstance(node, dict):
        yield place, node
        for key, value in node.items():
            yield from _places(value, (*place, key))
    elif isinstance(node, list) and node and isinstance(node[0], dict):
        for index, value in enumerate(node):
            yield from _places(value, (*place, index))
    else:
        yield place, node


def _wrong(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, bool | int | float):
        return [("missing key", GONE), ("wrong type", "x"), ("out of bounds", -1e9), ("not a number", math.nan)]
    if isinstance(value, list):
        return [
            ("missing key", GONE),
            ("wrong type", 7),
            ("an entry wrong", [*value[:-1], {}]),
            ("too many", value * 2),
        ]
    return [("missing key", GONE), ("wrong type", 7), ("no such value", "x"), ("empty", "")]


def _specials(table: dict[str, Any]) -> Iterator[Slip]:
    rows = [(("joints", index), row) for index, row in enumerate(table.get("joints", ()))]
    for place, row in [*rows, *((("gripper",), table[key]) for key in ("gripper",) if key in table)]:
        for unit in ("deg", "mm"):
            low, high = (row.get(f"{name}_{unit}") for name in ("lower", "upper"))
            if low is None or high is None:
                continue
            at, other = (*place, f"lower_{unit}"), (*place, f"upper_{unit}")
            yield Slip("limits exchanged", at, ((at, high), (other, low)), _touched(at))
            for name in ("home", "park"):
                if f"{name}_{unit}" in row:
                    yield _slip(f"{name} outside", (*place, f"{name}_{unit}"), high + 1)
    for place in (("energise_order", 0), ("fences", "stands_on_table", 0), ("fences", "neighbours", 0, 0)):
        if place[0] in table:
            yield _slip("unknown name", place, "nobody")
    axes = table.get("controller", {}).get("axis", {})
    if axes:
        first, *_, last = axes
        yield _slip("channel twice", ("controller", "axis", last, "channel"), axes[first]["channel"])


def _slip(kind: str, place: Place, value: Any) -> Slip:
    return Slip(kind, place, ((place, value),), _touched(place))


def _touched(place: Place) -> frozenset[str]:
    """What the answer to a fault there depends on; "all" where other answers depend on it."""
    names = [str(step) for step in place]
    if place in NAMED_AFTER or (names[-1] in ("name", "type", "do") and names[0] != "fences"):
        return frozenset({"all"})
    if names[0] == "timing":
        return frozenset({"timing"})
    if names[0] in ("joints", "gripper") and (names[-1].startswith(LIMITS) or "inertia" in names):
        return frozenset({".".join(names[: 1 if names[0] == "gripper" else 2])})
    if names[0] == "step":
        return frozenset({".".join(names[:2])})
    if names[:2] == ["controller", "axis"] and len(names) > 3:
        shared = {"channels"} if names[-1].startswith("channel") else set()
        return frozenset({".".join(names[:3]), *shared})
    if names[-1].endswith("_x"):
        return frozenset({".".join(names)})
    return frozenset({".".join(names[:2] if names[0] == "fences" else names)})
