"""All that is wrong with a file, gathered while it is read to its end.

A value that is missing or wrong is told once; from then on a stand-in takes its place. No comparison with a stand-in's
NaN is true, so a check that is written as "this is wrong" stays silent about what could not be read. Nothing with a
stand-in in it leaves the reader: `Findings.stop` comes first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from hil.errors import ConfigError, ConfigErrors
from hil.tables import as_far_as_it_goes, faults_in, not_finite_in

T = TypeVar("T")

_STEPS = re.compile(r"[. ]")


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
        found = list(faults_in(table, record, file=self.file, prefix=prefix))
        self.add(*found)
        return as_far_as_it_goes(table, record)

    def not_finite(self, table: Mapping[str, Any], prefix: str = "") -> None:
        """Tell every number of a table that is not finite."""
        self.add(*not_finite_in(table, file=self.file, prefix=prefix))

    def sound(self, *keys: str) -> bool:
        """True if nothing is wrong with these keys, with a table that they are in, or with what is inside."""
        wrong = [fault.key for fault in self._found if fault.file == self.file]
        return not any(_within(one, key) or _within(key, one) for key in keys for one in wrong)

    def right(self, key: str) -> bool:
        """True if nothing is wrong with this key itself; inside there may be faults."""
        return all(fault.key != key or fault.file != self.file for fault in self._found)

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
        return any(_within(fault.key, key) for fault in self._found if fault.file == self.file)

    def _in_order(self) -> list[ConfigError]:
        table = self._table
        return self._found if table is None else sorted(self._found, key=lambda fault: self._place(table, fault))

    def _place(self, table: Mapping[str, Any], fault: ConfigError) -> tuple[int, ...]:
        """Where a fault stands; a missing key at the end of its table, a fault of another file before all others."""
        return () if fault.file != self.file else tuple(_places(table, _STEPS.split(fault.key)))


def _within(key: str, table: str) -> bool:
    return key == table or key.startswith(f"{table}.")


def _places(node: Any, steps: Iterable[str]) -> Iterable[int]:
    """The place of each step of a key among its neighbours; rows of a list go by name or by number."""
    for step in steps:
        if isinstance(node, Mapping):
            names = list(node)
            yield names.index(step) if step in node else len(names)
            node = node.get(step)
        elif isinstance(node, list):
            names = [row.get("name") if isinstance(row, Mapping) else None for row in node]
            index = names.index(step) if step in names else int(step) if step.isdigit() else len(node)
            yield index
            node = node[index] if index < len(node) else None
        else:
            return
