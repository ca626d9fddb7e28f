"""Finds the files that people write: the path itself, ./configs, the user's folder, the bundled ones."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from hil.errors import ConfigError
from hil.tables import closest

MOST_SHOWN = 12
"""More names than these are not listed in an error: the nearest are."""

_SINGULAR = {
    "robots": "robot",
    "rigs": "rig",
    "tasks": "task",
    "faults": "fault",
    "fakes": "profile",
    "calibrations": "calibration",
    "curves": "curve",
}
_PLACE = re.compile(r"line (\d+), column (\d+)")


def find(kind: str, name: str | Path, *, file: str = "", key: str = "") -> Path:
    """The file that `name` means.

    Args:
        kind: ``robots``, ``rigs``, ``tasks``, ``faults``, ``fakes``, ``calibrations`` or ``curves``.
        name: a path, or the file's name with or without ``.toml``.
        file: the file in which the name was given, empty if in none; a relative path may be relative to it.
        key: the key there.

    Raises:
        ConfigError: there is no such file; lists what there is and the closest match.
    """
    for candidate in _candidates(kind, str(name), file):
        if candidate.is_file():
            return candidate
    names = list_names(kind)
    meant = closest(Path(name).stem, names)
    hint = f"Did you mean {meant!r}? " if meant else ""
    shown = names if len(names) <= MOST_SHOWN else get_close_matches(Path(name).stem, names, MOST_SHOWN, 0.3)
    which = "one of" if shown is names else f"one of {len(names)} that `hil {kind}` lists, such as"
    allowed = f"the path of a TOML file, or {which}: {', '.join(shown)}" if shown else "the path of a TOML file"
    advice = f"{hint}Looked at the path itself and in {', '.join(str(folder) for folder in folders(kind))}"
    what = _SINGULAR.get(kind, kind)
    raise ConfigError(file or f"{what} {str(name)!r}", key or "name", str(name), allowed, advice)


def list_names(kind: str, ending: str = ".toml") -> list[str]:
    """Names of all files of this kind that can be given without a path, sorted."""
    return sorted({path.stem for folder in folders(kind) for path in folder.glob(f"*{ending}")})


def folders(kind: str) -> list[Path]:
    """Folders that are searched, first wins."""
    return [root / kind for root in (Path("configs"), user_dir(), bundled_dir())]


def bundled_dir() -> Path:
    """The configs that came with the package: inside it when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_configs"
    return installed if installed.is_dir() else package.parent / "configs"


def user_dir() -> Path:
    """The user's own robots, rigs, tasks and faults."""
    if sys.platform == "win32":
        return _home_of("APPDATA", "AppData/Roaming") / "hil"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/hil"
    return _home_of("XDG_CONFIG_HOME", ".config") / "hil"


def state_dir() -> Path:
    """Where locks and journals live; may not exist yet."""
    if sys.platform == "win32":
        return _home_of("LOCALAPPDATA", "AppData/Local") / "hil" / "state"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/hil/state"
    return _home_of("XDG_STATE_HOME", ".local/state") / "hil"


def cache_dir() -> Path:
    """Where compiled kernels live; may not exist yet, and may be deleted at any time."""
    if sys.platform == "win32":
        return _home_of("LOCALAPPDATA", "AppData/Local") / "hil" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/hil"
    return _home_of("XDG_CACHE_HOME", ".cache") / "hil"


def read_toml(path: Path) -> dict[str, Any]:
    """Parse one TOML file; a byte-order mark, as some editors leave it, is accepted.

    Raises:
        ConfigError: cannot be read, is not UTF-8, or is not TOML; the line is named.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None
    return parse_toml(data, str(path))


def parse_toml(data: bytes, file: str) -> dict[str, Any]:
    """Parse the bytes of a TOML file; a byte-order mark, as some editors leave it, is accepted.

    Raises:
        ConfigError: not UTF-8, or not TOML; the line is named.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at, wrong = f"byte {error.start}", error.object[error.start]
        raise ConfigError(file, at, wrong, "UTF-8 text", "Save the file as UTF-8") from None
    try:
        tables: dict[str, Any] = _copied(_parsed(text))
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(file, text, str(error)) from None
    except RecursionError:
        raise ConfigError(file, "file", "brackets within brackets without end", "TOML") from None
    except ValueError as error:  # a number with more digits than Python reads
        raise ConfigError(file, "file", str(error), "TOML") from None
    return tables


@lru_cache(maxsize=64)
def _parsed(text: str) -> dict[str, Any]:
    """The tables of a text, for nobody to change: files are read again and again, and are mostly the same as before.

    Raises:
        ValueError: it is not TOML.
        RecursionError: it is too deep.
    """
    return tomllib.loads(text)


def _copied(value: Any) -> Any:
    """Tables and lists of their own for whoever is going to change them."""
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return [_copied(each) for each in value] if isinstance(value, list) else value


def _syntax_error(file: str, text: str, message: str) -> ConfigError:
    lines = text.splitlines() or [""]
    match = _PLACE.search(message)
    line = min(int(match[1]), len(lines)) if match else len(lines)
    column = f", column {match[2]}" if match else ""
    what = message.split(" (at ")[0]
    hint = ": text stands in quotes, and a number has a point as its decimal mark" if what == "Invalid value" else ""
    return ConfigError(file, f"line {line}{column}", lines[line - 1].strip(), "TOML", what + hint)


def _candidates(kind: str, given: str, file: str) -> Iterator[Path]:
    name = Path(given)
    yield name
    if name.is_absolute():
        return
    if file and (given.startswith(".") or len(name.parts) > 1):
        yield Path(file).parent / name
    parts = name.parts
    if parts[:2] == ("configs", kind):
        name = Path(*parts[2:]) if len(parts) > 2 else name
    elif parts[:1] == (kind,) and len(parts) > 1:
        name = Path(*parts[1:])
    if name.suffix != ".toml":
        name = name.with_name(f"{name.name}.toml") if name.name else name
    for folder in folders(kind):
        yield folder / name


def _home_of(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if Path(value).is_absolute() else Path.home() / default


def merged(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`table` with `changes` laid over it: tables key by key, everything else (lists too) replaced.

    A list of tables that have names takes a table of changes by name too; a name that it lacks is added.
    """
    result = dict(table)
    for key, value in changes.items():
        below = result.get(key)
        if isinstance(value, Mapping):
            if isinstance(below, Mapping):
                value = merged(below, value)
            elif isinstance(below, list) and all(isinstance(row, Mapping) and "name" in row for row in below):
                value = _merged_by_name(below, value)
        result[key] = value
    return result


def _merged_by_name(rows: list[Mapping[str, Any]], changes: Mapping[str, Any]) -> list[Any]:
    """As `merged`, for tables in a list."""
    named = {row["name"]: row for row in rows}
    for name, change in changes.items():
        named[name] = merged(named.get(name, {"name": name}), change) if isinstance(change, Mapping) else change
    return list(named.values())
