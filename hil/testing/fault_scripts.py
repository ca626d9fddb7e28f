"""What goes wrong on a fake's line, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hil.runtime import wiring
from hil.types import Record


class Faults(Record, frozen=True):
    """A fault file, or what one would say, and the seed of its chance. Every fake it is given to starts it anew.

    Attributes:
        what: name or path of a fault file, or its contents.
        seed: None for the file's own.
    """

    what: str | dict[str, Any]
    seed: int | None = None


def fault_script(*what: str | Path | Mapping[str, Any], seed: int | None = None) -> Faults:
    """Describe what goes wrong.

    Args:
        *what: one name or path of a fault file, or any number of faults as the tables of such a file:
            ``{"kind": "lost", "every": 5, "at_s": 2.0}``. Times count from the fake's start.
        seed: of chance; None for the file's own, or 0.

    Raises:
        ConfigError: there is no such file, or a key is wrong.
    """
    if len(what) == 1 and not isinstance(what[0], Mapping):
        made = Faults(what=str(what[0]), seed=seed)
    else:
        made = Faults(what={"title": "faults of a test", "fault": list(what)}, seed=seed)
    started(made)
    return made


def started(given: Faults | None, start_s: float = 0.0) -> Any:
    """The faults at work for one fake that starts at `start_s` of its clock; None for none."""
    return None if given is None else wiring.fault_script(given.what, given.seed, start_s)
