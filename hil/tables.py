"""Strict reading of TOML tables into records: an unknown, missing or ill-typed key names file, key, value, allowed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from hil.errors import ConfigError

T = TypeVar("T")

_AT = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`")
_MISSING = re.compile(r"Object missing required field `(?P<key>.*)`")


def convert(table: Mapping[str, Any], record: type[T], *, file: str, prefix: str = "") -> T:
    """Turn a parsed TOML table into `record`.

    Args:
        table: what tomllib gave.
        record: a msgspec record type; bounds stand in its field types.
        file: name for messages.
        prefix: dotted path of `table` within the file.

    Raises:
        ConfigError: any key is unknown, missing, of the wrong type, or out of bounds.
    """
    try:
        return msgspec.convert(table, type=record, strict=True)
    except msgspec.ValidationError as error:
        raise _config_error(str(error), table, record, file, prefix) from None


def _config_error(
    message: str, table: Mapping[str, Any], record: type[Any], file: str, prefix: str
) -> ConfigError:
    match = _AT.match(message)
    what, path = (match["what"], match["path"] or "$") if match else (message, "$")
    steps = re.findall(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]", path)
    keys = [name or index for name, index in steps]
    if unknown := _UNKNOWN.search(what):
        keys.append(unknown["key"])
        allowed = "no such key here"
        names = _field_names(record, keys[:-1])
        advice = f"Known keys: {', '.join(names)}" if names else ""
        return ConfigError(file, _dotted(prefix, keys), _lookup(table, keys), allowed, advice)
    if missing := _MISSING.search(what):
        keys.append(missing["key"])
        return ConfigError(file, _dotted(prefix, keys), None, "this key is required")
    allowed = re.sub(r", got .*$", "", what.removeprefix("Expected ")).replace("`", "")
    return ConfigError(file, _dotted(prefix, keys), _lookup(table, keys), allowed)


def _dotted(prefix: str, keys: list[str]) -> str:
    return ".".join([*([prefix] if prefix else []), *keys])


def _lookup(table: Any, keys: list[str]) -> object:
    for key in keys:
        try:
            table = table[int(key)] if isinstance(table, list) else table[key]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return table


def _field_names(record: type[Any], keys: list[str]) -> list[str]:
    """Names that the nested record takes; empty when the path cannot be followed."""
    if keys or not (isinstance(record, type) and issubclass(record, msgspec.Struct)):
        return []
    return [field.encode_name for field in msgspec.structs.fields(record)]
