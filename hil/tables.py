"""Strict reading of TOML tables into records: a wrong key or value names file, key, value, allowed.

A key with the wrong unit, or a slip of the pen, is answered with the key that was probably meant. And how plain
keys are written.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import msgspec.inspect as inspect

from hil.errors import ConfigError

T = TypeVar("T")

_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<key>.*)`")

_UNITS = {
    "deg": "degrees",
    "deg_s": "degrees per second",
    "deg_s2": "degrees per second squared",
    "deg_s3": "degrees per second cubed",
    "mm": "millimetres",
    "mm_s": "millimetres per second",
    "mm_s2": "millimetres per second squared",
    "mm_s3": "millimetres per second cubed",
    "ms": "milliseconds",
    "us": "microseconds",
    "deg_us": "pairs of degrees and microseconds",
    "mm_us": "pairs of millimetres and microseconds",
    "kg": "kilograms",
}
_FOREIGN = [f"{unit}{per}" for unit in ("rad", "m", "cm", "in") for per in ("", "_s", "_s2", "_s3")]
_WORDS = {
    r"\bfloat\b": "number",
    r"\bint\b": "whole number",
    r"\bobject\b": "table",
    r"\barray of length (\d+)": r"list of \1 values",
    r"\bstr\b": "text",
    r" \| null$": "",
}
_SUFFIX = re.compile(rf"_({'|'.join(sorted([*_UNITS, *_FOREIGN, 's', 'hz', 'g'], key=len, reverse=True))})$")


def toml_value(value: object) -> str:
    """A text, number or list of them on one line: as JSON has it, but that DEL may not stand in a text of TOML."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_keys(values: Mapping[str, object]) -> list[str]:
    """A line for each key; none for a value that is None."""
    return [f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None]


def convert(table: Mapping[str, Any], record: type[T], *, file: str, prefix: str = "") -> T:
    """Turn a parsed TOML table into `record`.

    Args:
        table: what tomllib gave.
        record: a msgspec record type; bounds stand in its field types.
        file: name for messages.
        prefix: dotted path of `table` within the file.

    Raises:
        ConfigError: a key is unknown, missing, of the wrong type or out of bounds, or a number is not finite.
    """
    for keys, value in _not_finite(table):
        raise ConfigError(file, _dotted(prefix, keys), value, "a finite number")
    try:
        return msgspec.convert(table, type=record, strict=True)
    except msgspec.ValidationError as error:
        raise _config_error(str(error), table, record, file, prefix) from None


def closest(name: str, names: Iterable[str]) -> str | None:
    """The known name that was probably meant: the same key in another unit, else the most similar one."""
    known = list(names)
    stem = stem_and_unit(name)[0]
    same = [candidate for candidate in known if stem_and_unit(candidate)[0] == stem]
    # `to_cm` means `to_mm` rather than `to`.
    same.sort(key=lambda candidate: (candidate == stem) != (name == stem))
    return next(iter(same or difflib.get_close_matches(name, known, n=1, cutoff=0.5)), None)


def stem_and_unit(key: str) -> tuple[str, str]:
    """A key without its unit, and the unit in words: ``speed_mm_s`` gives speed and millimetres per second."""
    unit = _SUFFIX.search(key)
    return (key[: unit.start()], _UNITS.get(unit[1], "")) if unit else (key, "")


def _not_finite(tree: Any) -> Iterable[tuple[list[str], float]]:
    if isinstance(tree, float) and not math.isfinite(tree):
        yield [], tree
    elif isinstance(tree, Mapping | list):
        for key, value in tree.items() if isinstance(tree, Mapping) else enumerate(tree):
            for keys, number in _not_finite(value):
                yield [str(key), *keys], number


def _config_error(message: str, table: Mapping[str, Any], record: type[Any], file: str, prefix: str) -> ConfigError:
    match = _AT.match(message)
    what, path = (match["what"], match["path"] or "$") if match else (message, "$")
    steps = [name or index for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", path)]
    keys, node = _walk(table, inspect.type_info(record), steps)
    if unknown := _UNKNOWN.search(what):
        names = [field.encode_name for field in node.fields] if isinstance(node, inspect.StructType) else []
        return _unknown_key(file, _dotted(prefix, [*keys, unknown["key"]]), table, [*keys, unknown["key"]], names)
    if missing := _MISSING.search(what):
        keys.append(missing["key"])
        return ConfigError(file, _dotted(prefix, keys), None, f"this key is required{_in_words(keys[-1])}")
    value, allowed = _lookup(table, keys), _allowed(what, node)
    return ConfigError(file, _dotted(prefix, keys), value, allowed, _mend(value, allowed))


def _unknown_key(file: str, key: str, table: Any, keys: list[str], names: list[str]) -> ConfigError:
    meant = closest(keys[-1], names)
    hint = f"Did you mean `{meant}`{_in_words(meant)}? " if meant else ""
    known = f"Known keys: {', '.join(names)}" if names else ""
    return ConfigError(file, key, _lookup(table, keys), "no such key here", hint + known)


def _mend(value: object, allowed: str) -> str:
    """What to change, where the slip of the pen can be told from what stands there."""
    if isinstance(value, str) and "number" in allowed:
        return "Leave out the quotes"
    length = re.search(r"list of (\d+) values", allowed)
    if length and isinstance(value, list) and len(value) > int(length[1]):
        return "A comma parts two values; the decimal mark is a point"
    return ""


def _in_words(key: str) -> str:
    unit = stem_and_unit(key)[1]
    return f", in {unit}" if unit else ""


def _allowed(what: str, node: inspect.Type | None) -> str:
    """What may stand there; msgspec names it, except for the values of an enumeration."""
    if isinstance(node, inspect.LiteralType):
        return " or ".join(repr(value) for value in node.values)
    if isinstance(node, inspect.EnumType):
        return " or ".join(repr(member.value) for member in node.cls)
    text = re.sub(r", got .*$", "", what.removeprefix("Expected ")).replace("`", "")
    for word, plain in _WORDS.items():
        text = re.sub(word, plain, text)
    return text


def _walk(table: Any, node: inspect.Type, steps: list[str]) -> tuple[list[str], inspect.Type | None]:
    """Follow a path through table and types at once; gives the real keys and the type found there.

    msgspec writes ``[...]`` for a value of a mapping: the first value that fails on its own is the one meant.
    """
    keys: list[str] = []
    known: inspect.Type | None = node
    for step in steps:
        known, key = _step(table, known, step)
        keys.append(key)
        table = _lookup(table, [key])
    return keys, _plain(known, table)


def _step(table: Any, node: inspect.Type | None, step: str) -> tuple[inspect.Type | None, str]:
    node = _plain(node, table)
    if isinstance(node, inspect.StructType):
        return next((field.type for field in node.fields if field.encode_name == step), None), step
    if isinstance(node, inspect.DictType) and isinstance(table, Mapping):
        value = _plain(node.value_type, None)
        failing = step if step != "..." else _failing(table, value)
        return value, failing
    if isinstance(node, inspect.TupleType) and step.isdigit() and int(step) < len(node.item_types):
        return node.item_types[int(step)], step
    if isinstance(node, inspect.ListType | inspect.VarTupleType):
        return node.item_type, step
    return None, step


def _failing(table: Mapping[str, Any], value: inspect.Type | None) -> str:
    for key, item in table.items():
        try:
            msgspec.convert(item, type=value.cls if isinstance(value, inspect.StructType) else Any, strict=True)
        except msgspec.ValidationError:
            return key
    return "..."


def _plain(node: inspect.Type | None, table: Any) -> inspect.Type | None:
    """The type without metadata; of a union, the member that fits what stands there."""
    if isinstance(node, inspect.Metadata):
        return _plain(node.type, table)
    if isinstance(node, inspect.UnionType):
        members = [_plain(member, table) for member in node.types]
        tables = [member for member in members if isinstance(member, inspect.StructType)]
        others = [member for member in members if not isinstance(member, inspect.StructType | inspect.NoneType)]
        return next(iter(tables if isinstance(table, Mapping) else others), members[0])
    return node


def _dotted(prefix: str, keys: list[str]) -> str:
    return ".".join([*([prefix] if prefix else []), *keys])


def _lookup(table: Any, keys: list[str]) -> object:
    for key in keys:
        try:
            table = table[int(key)] if isinstance(table, list) else table[key]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return table
