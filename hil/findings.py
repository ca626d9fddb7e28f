"""All that is wrong with a file, gathered while it is read to its end.

A value that is missing or wrong is told once; from then on a stand-in takes its place. No comparison with a stand-in's
NaN is true, so a check that is written as "this is wrong" stays silent about what could not be read. Nothing with a
stand-in in it leaves the reader: `Findings.stop` comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from hil.errors import ConfigError, ConfigErrors, UnknownKeyError
from hil.tables import as_far_as_it_goes, convert, faults_in, not_finite_in

T = TypeVar("T")

_STEP = re.compile(r"[. ]")
_Steps = tuple[str, ...]


class Findings:
    """Faults of one file.

    Args:
        file: name for messages.
        table: the file, for the order of the faults; none leaves them in the order in which they were found.
    """

    def __init__(self, file: str, table: Mapping[str, Any] | None = None) -> None:
        self.file, self._table = file, table
        self._found: list[ConfigError] = []

    def add(self, *faults: ConfigError) -> None:
        """Keep faults that were found at once. A key that had one before, or has one inside, gets no other."""
        self._found += [fault for fault in faults if fault.file != self.file or not self._known(fault.key)]

    def say(self, key: str, value: object, allowed: str, advice: str = "") -> None:
        """`add` one fault of this file."""
        self.add(ConfigError(self.file, key, value, allowed, advice))

    def gather(self, read: Callable[[], T]) -> T | None:
        """What `read` gives; None where it fails, and its faults are kept."""
        try:
            return read()
        except ConfigErrors as errors:
            self.add(*errors.faults)
        except ConfigError as error:
            self.add(error)
        return None

    def read(self, table: Mapping[str, Any], record: type[T], prefix: str = "") -> T:
        """Turn a parsed TOML table into `record`; stand-ins take the place of what is missing or wrong.

        Numbers that are not finite are taken for told: `not_finite` tells them once for the whole file.
        """
        try:
            return convert(table, record, file=self.file, prefix=prefix)
        except ConfigError:
            self.add(*faults_in(table, record, file=self.file, prefix=prefix))
            return as_far_as_it_goes(table, record)

    def not_finite(self, table: Mapping[str, Any], prefix: str = "") -> None:
        """Tell every number of a table that is not finite."""
        self.add(*not_finite_in(table, file=self.file, prefix=prefix))

    def sound(self, *keys: str) -> bool:
        """True if nothing is wrong with these keys, with a table that they are in, or with what is inside."""
        wrong = self._wrong()
        asked = [self._steps(key) for key in keys] if wrong else []
        return not any(_within(one, key) or _within(key, one) for key in asked for one in wrong)

    def right(self, key: str) -> bool:
        """True if nothing is wrong with this key itself; inside there may be faults."""
        return self._steps(key) not in self._wrong()

    def stop(self) -> None:
        """Leave the reader, if anything is wrong.

        Raises:
            ConfigError: the only fault; `ConfigErrors` if there are several, in the order of the file.
        """
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            raise ConfigErrors(self._in_order())

    def _known(self, key: str) -> bool:
        steps = self._steps(key)
        return any(_within(wrong, steps) for wrong in self._wrong())

    def _wrong(self) -> list[_Steps]:
        """Keys that nothing can be said of any more: wrong ones, and those that an unknown key was meant for."""
        own = [fault for fault in self._found if fault.file == self.file]
        lacking = [fault.meant for fault in own if isinstance(fault, UnknownKeyError) and fault.meant]
        return [self._steps(key) for key in (*(fault.key for fault in own), *lacking)]

    def _in_order(self) -> list[ConfigError]:
        return self._found if self._table is None else sorted(self._found, key=self._order)

    def _order(self, fault: ConfigError) -> tuple[int, ...]:
        """Where a fault stands; a missing key at the end of its table, a fault of another file before all others."""
        return tuple(number for number, _ in self._way(fault.key)) if fault.file == self.file else ()

    def _steps(self, key: str) -> _Steps:
        """A key with the numbers of rows instead of their names: messages call a row by either."""
        return tuple(step for _, step in self._way(key))

    def _way(self, key: str) -> Iterator[tuple[int, str]]:
        """The place of each step of a key among its neighbours, and its name or, in a list, its number."""
        node: Any = self._table
        for step in _STEP.split(key):
            names = _names(node)
            number = names.index(step) if step in names else int(step) if step.isdecimal() else len(names)
            yield number, str(number) if isinstance(node, list) and number < len(node) else step
            if isinstance(node, list):
                node = node[number] if number < len(node) else None
            else:
                node = node.get(step) if isinstance(node, Mapping) else None


def _within(steps: _Steps, table: _Steps) -> bool:
    return steps[: len(table)] == table


def _names(node: Any) -> list[Any]:
    """Keys of a table, or names of the rows of a list."""
    if isinstance(node, list):
        return [row.get("name") if isinstance(row, Mapping) else None for row in node]
    return list(node) if isinstance(node, Mapping) else []
