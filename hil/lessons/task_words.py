"""What may stand in a task's file: its keys and words, taken from the records that read it, and a step to teach."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from hil.motion import tasks
from hil.types import Record


@cache
def task_words() -> frozenset[str]:
    """Keys of a task and its steps, and the words that some of them take."""
    found = {"step", *tasks.STEP_KINDS, *_of(tasks.TaskTable), *_of(tasks.Start)}
    for each in tasks.STEP_KINDS.values():
        found |= set(_of(each))
    return frozenset(found)


def _of(record: type[Record]) -> Iterator[str]:
    yield from record.__struct_fields__
    for hint in typing.get_type_hints(record).values():
        yield from _words(hint)


def _words(hint: object) -> Iterator[str]:
    """Texts that a Literal within a type allows."""
    for part in typing.get_args(hint):
        if isinstance(part, str):
            yield part
        else:
            yield from _words(part)


def taught_step(values: Mapping[str, float], kinds: Mapping[str, str]) -> str:
    """A step that moves all joints to where they stand now.

    Args:
        values: by the joint's name, degrees and millimetres.
        kinds: by the joint's name, ``deg`` or ``mm``.
    """
    lines = ["[[step]]", 'do = "move"']
    for unit in ("deg", "mm"):
        named: Sequence[str] = [f"{name} = {value:z.2f}" for name, value in values.items() if kinds[name] == unit]
        if named:
            lines.append(f"joints_{unit} = {{ {', '.join(named)} }}")
    return "\n".join(["", *lines, ""])
