"""What a lab has signed of its arms, for whoever marks a run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

from hil.labs.exercise import Exercise as Asked
from hil.service.courses.driven import DrivenJob


class Vouching(Protocol):
    """A lab that signs."""

    audit_folder: Path
    journals: Path

    @property
    def audit_pem(self) -> bytes:
        """Public key of the audit."""
        ...

    async def vouch(self, arm: str) -> None:
        """Sign for all that this arm's journal and the audit say up to now."""
        ...


class SignedRuns:
    """The evidence of a running lab."""

    def __init__(self, lab: Vouching) -> None:
        self._lab = lab

    async def job(self, asked: Asked, seed: int | None, student: str, arm: str, who: str) -> DrivenJob:
        """What to look for, once the lab has signed for all that its arm has done up to now."""
        await self._lab.vouch(arm)
        return DrivenJob(
            audit=str(self._lab.audit_folder),
            audit_key=self._lab.audit_pem,
            journals=str(self._lab.journals),
            arm=arm,
            who=who,
            asked=asked,
            seed=seed,
            student=student,
            now_epoch_s=time.time(),
        )
