"""What is wrong with fields that were typed into."""

from __future__ import annotations

from typing import NamedTuple

from hil.errors import HilError


class FieldError(NamedTuple):
    """What is wrong with one field.

    Attributes:
        field: its key.
        words: for people, in one line.
        column: of the character concerned, from 1; None where it is the whole field.
    """

    field: str
    words: str
    column: int | None = None


class FieldErrors(HilError):  # noqa: N818 - several of one kind, as ConfigErrors
    """Some fields are wrong.

    Attributes:
        faults: one for each.
    """

    def __init__(self, faults: tuple[FieldError, ...]) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{fault.field}: {fault.words}" for fault in faults))
