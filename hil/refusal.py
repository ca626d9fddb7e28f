"""Why something may not be sent: the record that lets a person mend it, and the error that carries them."""

from __future__ import annotations

from collections.abc import Sequence

from hil.errors import HilError
from hil.types import Record


class Refusal(Record, frozen=True):
    """Why something may not be sent, in the six fields that let a person mend it.

    Attributes:
        check: requirement id, for example ``E-02``.
        subject: the joint, body or box concerned.
        limit: the limit's name and value in the user's units, for example ``upper limit 85.0 deg``.
        margin: how far inside the limit, in `unit`; negative when outside.
        unit: unit of `margin`.
        nearest_allowed: the closest value that would pass, in words with its unit.
        advice: what to change.
        sample: index of the failing sample, or None where no sample is concerned.
        time_s: time of that sample in the motion.
        place: where in the user's file, for example ``step 3 (line)``.
    """

    check: str
    subject: str
    limit: str
    margin: float
    unit: str
    nearest_allowed: str
    advice: str
    sample: int | None = None
    time_s: float | None = None
    place: str = ""

    @property
    def text(self) -> str:
        """One line that explains."""
        where = "" if self.sample is None else f"sample {self.sample}, {self.time_s:.2f} s: "
        place = f"{self.place}: " if self.place else ""
        return (
            f"[{self.check}] {place}{where}{self.subject}: {self.limit}, margin {self.margin:.3g} {self.unit}; "
            f"nearest allowed: {self.nearest_allowed}. {self.advice}"
        )


class RefusedError(HilError):
    """A plan, preview or certificate was refused; `refusals` says where, by how much and what would be allowed."""

    def __init__(self, refusals: Sequence[Refusal], headline: str = "refused") -> None:
        self.refusals = tuple(refusals)
        super().__init__("\n".join([headline, *(refusal.text for refusal in self.refusals)]))
