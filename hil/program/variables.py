"""Where a program's variables live: types by DEF, by suffix, by first letter; arrays; constants; taught points."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from hil.paths.point_list import PointName
from hil.program.errors import ProgramError
from hil.program.values import MOST_DIMENSIONS, Joints, Position, Value, as_type

SUFFIXES = {"%": "INTE", "&": "LONG", "!": "FLOAT", "#": "DOUBLE", "$": "CHAR"}
LETTERS = {"M": "NUMBER", "P": "POS", "J": "JNT"}
MOST_ELEMENTS = 100_000


def plain_name(name: str) -> str:
    """A name without the type that V lets stand after it or not; strings keep their mark."""
    return name.rstrip("%!#&")


def is_system(name: str) -> bool:
    """True for names whose second character is an underscore."""
    return name[1:2] == "_"


def is_global(name: str) -> bool:
    """True for the variables that all slots share: ``M_00``, ``P_01``, ``C_00$``."""
    return is_system(name) and plain_name(name)[2:].rstrip("$").isdigit()


def kind_by_name(name: str, *, loose: bool) -> str | None:
    """Type of a name that no DEF gave one: by the letter after it, or by the first one; None if it needs a DEF.

    Args:
        name: as written.
        loose: V, where any name but those of positions, joint sets and strings is a number.
    """
    if name[-1] in SUFFIXES:
        return SUFFIXES[name[-1]]
    return LETTERS.get(name[0], "NUMBER" if loose and name[0] != "C" else None)


class Store:
    """The variables of one program.

    Args:
        points: taught start values.
        shared: global variables, common to all programs of a controller.
        loose: names without a type are numbers, as in V.
    """

    def __init__(self, points: Mapping[PointName, Value], shared: dict[str, Value], *, loose: bool = False) -> None:
        self._loose = loose
        self._types: dict[str, str] = {}
        self._values: dict[PointName, Value] = {
            (self._key(name), index): value for (name, index), value in points.items()
        }
        self._shared = shared
        self._sizes: dict[str, tuple[int, ...]] = {}
        self._fixed: set[str] = set()
        for (name, index), value in points.items():
            kind = "JNT" if isinstance(value, Joints) else "POS"
            if kind_by_name(name, loose=False) != kind:
                self._types[self._key(name)] = kind
            if is_global(name):
                shared.setdefault(plain_name(name), value)
            if index:
                known = self._sizes.get(self._key(name), (0,) * len(index))
                pairs = itertools.zip_longest(known, index, fillvalue=0)
                self._sizes[self._key(name)] = tuple(max(pair) for pair in pairs)

    def declare(self, kind: str, name: str, size: tuple[int, ...], value: Value | None, *, constant: bool) -> None:
        """What DEF and DIM do; running over the same line again is no second definition.

        Raises:
            ProgramError: defined before as something else, or too large.
        """
        key = self._key(name)
        if kind:
            if self._types.get(key, kind) != kind:
                raise ProgramError(4350, f"{name}, before as {self._types[key]}")
            self._types[key] = kind
        elif self.kind(name) is None:
            raise ProgramError(4340, name)
        if size:
            elements = 1
            for part in size:
                elements *= part
            if len(size) > MOST_DIMENSIONS or elements > MOST_ELEMENTS:
                raise ProgramError(3110, f"{name} of {elements} elements", allowed=f"up to {MOST_ELEMENTS}")
            self._sizes[key] = size
        if value is not None and key not in self._fixed:
            self._values[(key, ())] = as_type(self.kind(name) or "NUMBER", value)
        if constant:
            self._fixed.add(key)

    def owns(self, name: str) -> bool:
        """True for a variable whose name looks like a system variable's: global, defined by DEF, or taught."""
        key = self._key(name)
        return is_global(name) or key in self._types or key in self._sizes or (key, ()) in self._values

    def is_array(self, name: str) -> bool:
        """True if DIM, or a taught point with an index, made it one."""
        return self._key(name) in self._sizes

    def get(self, name: str, index: tuple[int, ...] = ()) -> Value:
        """Read a variable.

        Raises:
            ProgramError: not defined, never set, or an index outside.
        """
        if is_global(name):
            if plain_name(name) not in self._shared:
                raise ProgramError(3700, name)
            return self._shared[plain_name(name)]
        self._check_index(name, index)
        found = self._values.get((self._key(name), index))
        if found is None:
            shown = f"{name}({','.join(map(str, index))})" if index else name
            raise ProgramError(3700 if self.kind(name) else 4340, shown)
        return found

    def set(self, name: str, value: Value, index: tuple[int, ...] = ()) -> None:
        """Write a variable.

        Raises:
            ProgramError: not defined, of another type, constant, or an index outside.
        """
        kind = self.kind(name)
        if kind is None:
            raise ProgramError(4340, name)
        if is_global(name):
            self._shared[plain_name(name)] = as_type(kind, value)
            return
        self._check_index(name, index)
        if self._key(name) in self._fixed:
            raise ProgramError(3210, f"{name} is a constant")
        self._values[(self._key(name), index)] = as_type(kind, value)

    def clear_numbers(self) -> None:
        """Set every number that has a value to 0, as CLR does; constants stay."""
        for (key, index), value in self._values.items():
            if isinstance(value, int | float) and key not in self._fixed:
                self._values[(key, index)] = 0

    def strings(self, name: str) -> list[tuple[int, str]]:
        """The elements of an array of strings that are set, in their order.

        Raises:
            ProgramError: it is no such array, or has more than one dimension.
        """
        key = self._key(name)
        if self.kind(name) != "CHAR" or len(self._sizes.get(key, ())) != 1:
            raise ProgramError(4370, f"{name} is no array of strings with one dimension")
        found = ((index[0], value) for (other, index), value in self._values.items() if other == key and index)
        return sorted((number, value) for number, value in found if isinstance(value, str))

    def points(self) -> dict[PointName, Value]:
        """All positions and joint sets as they are now."""
        return {key: value for key, value in self._values.items() if isinstance(value, Position | Joints)}

    def snapshot(self) -> tuple[object, ...]:
        """Everything in it, as it is now."""
        return dict(self._values), dict(self._sizes), dict(self._types), frozenset(self._fixed)

    def names(self) -> list[tuple[PointName, Value]]:
        """Everything that has a value, sorted by name."""
        return sorted(self._values.items())

    def kind(self, name: str) -> str | None:
        """Type of a name: by definition, by the letter after it, or by the first one; None for a name that has none."""
        declared = self._types.get(self._key(name))
        if declared is not None:
            return declared
        return kind_by_name(name, loose=self._loose)

    def _check_index(self, name: str, index: tuple[int, ...]) -> None:
        size = self._sizes.get(self._key(name), ())
        inside = len(index) == len(size) and all(1 <= k <= most for k, most in zip(index, size, strict=True))
        if index and not size:
            raise ProgramError(4370, f"{name} is no array, and no function of this controller")
        if not inside and (index or (self._key(name), ()) not in self._values):
            raise ProgramError(
                4370,
                f"{name}({','.join(map(str, index))})",
                allowed=f"{name}({','.join(f'1..{most}' for most in size)})",
            )

    def _key(self, name: str) -> str:
        """The plain name; a string that DEF CHAR made is one with and without its mark."""
        key = plain_name(name)
        return key[:-1] if key[-1] == "$" and self._types.get(key[:-1]) == "CHAR" else key
