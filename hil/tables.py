"""Strict reading of TOML tables into records: a wrong key or value names file, key, value, allowed.

A key with the wrong unit, or a slip of the pen, is answered with the key that was probably meant. And how plain
keys are written.
"""

from __future__ import annotations

import difflib
import functools
import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
import msgspec.inspect as inspect

from hil.errors import ConfigError, UnknownKeyError

T = TypeVar("T")

_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)

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
    for fault in not_finite_in(table, file=file, prefix=prefix):
        raise fault
    try:
        return msgspec.convert(table, type=record, strict=True)
    except msgspec.ValidationError:
        raise next(iter(faults_in(table, record, file=file, prefix=prefix))) from None


def not_finite_in(table: Mapping[str, Any], *, file: str, prefix: str = "") -> Iterator[ConfigError]:
    """A fault for every number of a table that is not finite."""
    for keys, value in _not_finite(table):
        yield ConfigError(file, _dotted(prefix, keys), value, "a finite number")


def faults_in(table: Mapping[str, Any], record: type[Any], *, file: str, prefix: str = "") -> Iterator[ConfigError]:
    """Why a table is no `record`: each key that is unknown, missing, of the wrong type or out of bounds.

    Keys come in the order of the table, missing ones at its end; a missing one that an unknown key was meant for is not
    told twice. Numbers that are not finite are left to `not_finite_in`.
    """
    return _Reading(file, prefix).faults(table, record, [])


def as_far_as_it_goes(table: Mapping[str, Any], record: type[T]) -> T:
    """A record of what can be read in a table; stand-ins, whose numbers are NaN, for what is missing or wrong."""
    read: T = _readable(table, record)
    return read


def fields_of(record: type[Any]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The fields of a record; msgspec reads every annotation anew, each time that it is asked."""
    return _fields(cast(Hashable, record))


@functools.cache
def _fields(record: Hashable) -> tuple[msgspec.structs.FieldInfo, ...]:
    assert isinstance(record, type)
    return msgspec.structs.fields(record)


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


class _Reading:
    """Finds the faults of one file, value by value where the whole cannot be read."""

    def __init__(self, file: str, prefix: str) -> None:
        self._file, self._prefix = file, prefix

    def faults(self, value: Any, wanted: Any, keys: list[str]) -> Iterator[ConfigError]:
        """Those of a value and of what is inside, none if it can be had as `wanted`."""
        told = _first(_not_finite(value)) is not None
        message = "" if told else _refusal(value, wanted)
        if not told and not message:
            return
        inside = False
        for fault in self._inside(value, _fitting(wanted, value), keys):
            inside = True
            yield fault
        if message and not inside:
            allowed = _allowed(message, _plain(_type_of(wanted), value))
            yield ConfigError(self._file, self._key(keys), value, allowed, _mend(value, allowed))

    def _inside(self, value: Any, wanted: Any, keys: list[str]) -> Iterator[ConfigError]:
        if not isinstance(value, Mapping) or not _is_record(wanted):
            for key, item, kind in _parts(value, wanted):
                yield from self.faults(item, kind, [*keys, key])
            return
        fields = {field.encode_name: field for field in fields_of(wanted)}
        meant = set()
        for key, item in value.items():
            if key in fields:
                yield from self.faults(item, fields[key].type, [*keys, key])
            elif _first(_not_finite(item)) is None:
                fault = self._unknown(keys, key, item, list(fields), value)
                meant.add(fault.meant)
                yield fault
        for key, field in fields.items():
            path = self._key([*keys, key])
            if field.required and key not in value and path not in meant:
                yield ConfigError(self._file, path, None, f"this key is required{_in_words(key)}")

    def _unknown(
        self, keys: list[str], name: str, value: object, names: list[str], table: Mapping[str, Any]
    ) -> UnknownKeyError:
        meant = closest(name, names)
        hint = f"Did you mean `{meant}`{_in_words(meant)}? " if meant else ""
        known = f"Known keys: {', '.join(names)}" if names else ""
        lacking = self._key([*keys, meant]) if meant and meant not in table else ""
        return UnknownKeyError(self._file, self._key([*keys, name]), value, hint + known, lacking)

    def _key(self, keys: list[str]) -> str:
        return _dotted(self._prefix, keys)


def _first(found: Iterable[T]) -> T | None:
    return next(iter(found), None)


def _refusal(value: Any, wanted: Any) -> str:
    """What msgspec says of a value; empty if it takes it."""
    try:
        msgspec.convert(value, type=wanted, strict=True)
    except msgspec.ValidationError as error:
        match = _AT.match(str(error))
        return match["what"] if match else str(error)
    return ""


def _readable(value: Any, wanted: Any) -> Any:
    """What can be had of a value."""
    if _first(_not_finite(value)) is None and not _refusal(value, wanted):
        return msgspec.convert(value, type=wanted, strict=True)
    kind = _fitting(wanted, value)
    if kind is Any:
        return value
    if isinstance(value, Mapping) and _is_record(kind):
        fields = fields_of(kind)
        given = {f.name: _readable(value[f.encode_name], f.type) for f in fields if f.encode_name in value}
        missing = {f.name: _stand_in(f.type) for f in fields if f.required and f.encode_name not in value}
        return kind(**given, **missing)
    parts = [(key, _readable(item, part)) for key, item, part in _parts(value, kind)]
    if not parts:
        return _stand_in(wanted)
    return dict(parts) if isinstance(value, Mapping) else tuple(item for _, item in parts)


def _stand_in(wanted: Any) -> Any:
    """Takes the place of a value that cannot be had: of its type, and as good as nothing."""
    kind = _fitting(wanted, None)
    if _is_record(kind):
        return kind(**{field.name: _stand_in(field.type) for field in fields_of(kind) if field.required})
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind))
    if get_origin(kind) is tuple and get_args(kind)[-1] is not Ellipsis:
        return tuple(map(_stand_in, get_args(kind)))
    empty: dict[Any, Any] = {str: "", bool: False, int: math.nan, float: math.nan, tuple: (), list: [], dict: {}}
    return empty.get(get_origin(kind) or kind)


def _fitting(wanted: Any, value: Any) -> Any:
    """The type without bounds; of a union, the member that fits what stands there."""
    if get_origin(wanted) is Annotated:
        return _fitting(get_args(wanted)[0], value)
    if get_origin(wanted) not in (Union, UnionType):
        return wanted
    members = [_fitting(member, value) for member in get_args(wanted) if member is not NoneType]
    records = [member for member in members if _is_record(member)]
    others = [member for member in members if not _is_record(member)]
    return next(iter(records if isinstance(value, Mapping) else others), members[0])


def _parts(value: Any, wanted: Any) -> Iterator[tuple[str, Any, Any]]:
    """Key, value and type of everything in a mapping or list that is taken one by one; nothing for other values."""
    origin, types = get_origin(wanted), get_args(wanted)
    if isinstance(value, Mapping):
        if origin is dict:
            yield from ((key, item, types[1]) for key, item in value.items())
    elif isinstance(value, list) and origin in (tuple, list):
        each = [types[0]] * len(value) if origin is list or types[-1] is Ellipsis else types
        if len(each) == len(value):
            yield from ((str(index), item, kind) for index, (item, kind) in enumerate(zip(value, each, strict=True)))


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


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


@functools.cache
def _type_of(wanted: Any) -> inspect.Type:
    return inspect.type_info(wanted)


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
