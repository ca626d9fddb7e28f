"""Profiles of fakes: one TOML file says what kind of controller a fake is, choice by choice, and how sure we are.

What the manuals leave open is a field of `BoardSettings` or `Cr1Settings`; a profile gives values to those fields.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar, get_origin

import msgspec

from hil.errors import ConfigError
from hil.model.files import find, list_names, merged, read_toml
from hil.tables import closest, convert, fields_of
from hil.types import Record
from sim.uart import FRAMINGS, Framing

CONTROLLERS = ("ssc32", "cr1")
"""Names of the controllers, as in ``hil fake NAME``."""

S = TypeVar("S", bound=Record)


class NoChoices(Record, frozen=True):
    """Settings of a controller that can be only one way."""


def settings_type(controller: str) -> type[Any]:
    """The record of a controller's settings. Its emulation is imported here, for not every process has one."""
    if controller == "cr1":
        from sim.cr1 import Cr1Settings

        return Cr1Settings
    if controller != "ssc32":
        return NoChoices
    from sim.ssc32 import BoardSettings

    return BoardSettings


class Confidence(Enum):
    """Who says so: of an SSC-32 in words, of a CR1 by the letters of the tags in its tests."""

    DOC = "doc"
    FORUM = "forum"
    CODE = "code"
    OURS = "ours"
    UNKNOWN = "unknown"
    M = "M"
    C = "C"
    S = "S"
    I = "I"  # noqa: E741 - the tag's own letter
    U = "U"


class Choice(Record, frozen=True):
    """One thing in which controllers can differ.

    Attributes:
        value: how this one does it; None for what is usual in its family.
        others: what else has to be reckoned with.
        what: what is chosen.
        source: who says that it is as `value` has it.
        confidence: how sure that is; None where nobody has said.
    """

    value: Any = None
    others: tuple[Any, ...] = ()
    what: str = ""
    source: str = ""
    confidence: Confidence | None = None


class Profile(Record, frozen=True):
    """What a profile file says.

    Attributes:
        name: of the file.
        controller: ``ssc32`` or ``cr1``.
        choices: by field of the settings.
    """

    name: str
    title: str
    controller: str
    choices: Mapping[str, Choice]


class _File(Record, frozen=True):
    title: str
    controller: str
    choices: dict[str, Any]


def profile_names() -> list[str]:
    """Those that can be given without a path."""
    return list_names("fakes")


def load_profile(name: str | Path, controller: str | None = None) -> Profile:
    """Read a profile, with what it inherits.

    Args:
        name: name or path.
        controller: of which kind it has to be; None for any.

    Raises:
        ConfigError: there is none, something in it is wrong, or it is of the other kind.
    """
    path = find("fakes", name)
    table = _table(path, ())
    file = convert(table, _File, file=str(path))
    if file.controller not in CONTROLLERS:
        raise ConfigError(str(path), "controller", file.controller, " or ".join(CONTROLLERS))
    if controller not in (None, file.controller):
        advice = f"Try `hil fake {file.controller} --profile {path.stem}`"
        raise ConfigError(str(path), "controller", file.controller, f"a profile of {controller}", advice)
    choices = {}
    for key, given in file.choices.items():
        choice = convert(_whole(given), Choice, file=str(path), prefix=f"choices.{key}")
        for value in (choice.value, *choice.others):
            _convert(settings_type(file.controller), key, value, str(path), "choices.")
        choices[key] = choice
    return Profile(name=path.stem, title=file.title, controller=file.controller, choices=choices)


def _table(path: Path, heirs: tuple[Path, ...]) -> dict[str, Any]:
    """A file over those that it inherits from."""
    table = read_toml(path)
    parent = table.pop("inherit", None)
    if parent is None:
        return table
    if not isinstance(parent, str):
        raise ConfigError(str(path), "inherit", parent, "the name or path of one profile")
    above = find("fakes", parent, file=str(path), key="inherit")
    if above.resolve() in {heir.resolve() for heir in (*heirs, path)}:
        raise ConfigError(str(path), "inherit", parent, "a profile that does not inherit from this one")
    older = _table(above, (*heirs, path))
    choices = table.get("choices", {})
    if isinstance(choices, Mapping):
        table["choices"] = {key: _whole(given) for key, given in choices.items()}
    return merged(older, table)


def _whole(given: Any) -> Mapping[str, Any]:
    """A choice as a table: a bare value takes the place of the value alone, what is known of the choice stays."""
    whole = isinstance(given, Mapping) and given.keys() & {"value", "others", "what", "source", "confidence"}
    return given if whole else {"value": given}


def parse_changes(texts: Iterable[str], controller: str) -> dict[str, Any]:
    """What ``--set key=value`` says, several times: values as in TOML, text also without quotes.

    ``registers.0=8`` sets one register and leaves the others.

    Raises:
        ConfigError: not of this form, no such choice, or a value that it cannot have.
    """
    changes: dict[str, Any] = {}
    for text in texts:
        key, mark, raw = text.partition("=")
        keys = key.strip().split(".")
        if not (mark and all(keys)):
            advice = "`hil fake --list` shows all choices"
            raise ConfigError("hil fake", "--set", text, "key=value, such as untouched=middle", advice)
        value: Any = _value(raw.strip(), _field(settings_type(controller), keys[0], "hil fake", "--set "))
        for step in reversed(keys[1:]):
            value = {step: value}
        changes = merged(changes, {keys[0]: value})
    for key, value in changes.items():
        _convert(settings_type(controller), key, value, "hil fake", "--set ")
    return changes


def _value(raw: str, kind: Any) -> Any:
    """Text of the command line as the TOML value that was meant."""
    # As a number, the framing 8E2 were 800.
    words = kind in (str, Framing) or (isinstance(kind, type) and issubclass(kind, Enum))
    if words and raw[:1] != '"':
        return raw
    try:
        value = tomllib.loads(f"x = {raw}")["x"]
    except tomllib.TOMLDecodeError:
        value = raw
    if get_origin(kind) is tuple and isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value else []
    return value


def settings_with(settings: S, profile: Profile | None = None, changes: Mapping[str, Any] | None = None) -> S:
    """Settings with a profile's choices laid over them, and further changes over those.

    Args:
        settings: of the kind of controller that the profile is of.
        profile: None for none.
        changes: by field, as `parse_changes` gives them.

    Raises:
        ConfigError: a change names no choice, or gives it a value that it cannot have.
    """
    chosen: dict[str, Any] = {}
    if profile is not None:
        chosen = {key: choice.value for key, choice in profile.choices.items() if choice.value is not None}
    chosen = merged(chosen, changes or {})
    file = "the choices of a fake" if profile is None else profile.name
    return msgspec.structs.replace(
        settings, **{key: _convert(type(settings), key, value, file, "") for key, value in chosen.items()}
    )


def as_text(value: Any) -> str:
    """A value as ``--set`` takes it."""
    if value is None:
        return "usual"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {as_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return ",".join(map(as_text, value)) or "[]"
    if isinstance(value, str):
        plain = bool(value) and value.isprintable() and value == value.strip()
        return value if plain else _quoted(value)
    return str(value)


def _quoted(text: str) -> str:
    """Text of which something cannot be seen, as TOML quotes it."""
    return '"' + "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text) + '"'


def _field(record: Any, key: str, file: str, where: str) -> Any:
    """The type of one field."""
    kinds = {field.name: field.type for field in fields_of(record)}
    if key in kinds:
        return kinds[key]
    meant = closest(key, kinds)
    hint = f"Did you mean {meant}? " if meant else ""
    raise ConfigError(file, f"{where}{key}", key, "no such choice", f"{hint}`hil fake --list` shows all choices")


def _convert(record: type[Any], key: str, value: Any, file: str, where: str) -> Any:
    """One value as the settings have it; None stays."""
    kind = _field(record, key, file, where)
    if value is None:
        return None
    if kind is Framing:
        return _among(FRAMINGS, value, file, where + key)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _among({_word(member): member for member in kind}, value, file, where + key)
    if key == "registers" and isinstance(value, Mapping):
        value = _registers(value, file, where + key)
    if key == "inputs_v" and isinstance(value, Mapping) and (unknown := set(value) - set("ABCDEFGH")):
        raise ConfigError(file, where + key, min(map(str, unknown)), "names of inputs, A to H")
    return getattr(convert({key: value}, record, file=file, prefix=where.rstrip(". ")), key)


def _word(member: Enum) -> str:
    """How a person writes it: by its value where that is a word."""
    return member.value if isinstance(member.value, str) else member.name.lower()


def _among(allowed: Mapping[str, Any], value: Any, file: str, key: str) -> Any:
    if isinstance(value, str) and value in allowed:
        return allowed[value]
    raise ConfigError(file, key, value, ", ".join(allowed))


def _registers(table: Mapping[str, Any], file: str, key: str) -> list[list[Any]]:
    for number in table:
        if not (str(number).isdigit() and int(number) <= 95):
            raise ConfigError(file, key, number, "numbers of registers, 0 to 95")
    return [[int(number), value] for number, value in table.items()]


class Chosen(Record, frozen=True):
    """What a fake is to be: a profile, and changes over it.

    Attributes:
        profile: None for what is usual.
        changes: by field, as TOML values.
    """

    profile: Profile | None = None
    changes: Mapping[str, Any] = {}

    def over(self, settings: S) -> S:
        """Settings with all this laid over them; see `settings_with`."""
        return settings_with(settings, self.profile, self.changes)


def choices_of(controller: str, profile: str | Path | None, changes: Mapping[str, Any] | Iterable[str]) -> Chosen:
    """What a fake is to be, checked.

    Args:
        controller: ``ssc32`` or ``cr1``.
        profile: name or path; None for none.
        changes: by field, or as ``key=value`` of a command line.

    Raises:
        ConfigError: as `load_profile` and `parse_changes`.
    """
    found = None if profile is None else load_profile(profile, controller)
    given = dict(changes) if isinstance(changes, Mapping) else parse_changes(changes, controller)
    chosen = Chosen(profile=found, changes=given)
    # Whatever is wrong is told here, and not when the fake is made.
    usual: Any = settings_type(controller)()
    chosen.over(usual)
    return chosen
