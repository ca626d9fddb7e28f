"""A run of a motion on an arm, as a lab keeps it: the journal of the rehearsal, and an audit that has signed for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from virtual_session import session_in_memory

from hil.labs.exercise import Exercise, exercise_from_table
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.tasks import task_from_table
from hil.robot import Robot
from hil.runtime.journal import EndKind, JournalWriter, SessionRecord
from hil.runtime.preview import rehearsed
from hil.runtime.wiring import load_rig
from hil.service.audit import AuditLog, Deed, Now
from hil.service.courses.driven import DrivenJob
from hil.service.journal_heads import HEAD, JournalHead
from hil.service.keys import SigningKey
from hil.types import Start, TickRecord

KEY = SigningKey(b"a" * 32)
EPOCH_S = 1_800_000_000.0
ARM, WHO = "left", "00000000000000aa"
TASK = {"title": "up", "start": "home", "step": [{"do": "move", "by_deg": {"base": 10}}]}
ASKED = {
    "title": "Turn it",
    "rig": "lynx6",
    "hand_in": {"kind": "task"},
    "predicate": [
        {"do": "reach", "name": "home first", "pose": "home"},
        {"do": "reach", "name": "far away", "point_mm": [0, 0, 900], "marks": 2},
        {"do": "time", "name": "soon", "at_most_s": 20},
        {"do": "end", "name": "home again", "at": "home"},
    ],
}


def asked() -> Exercise:
    """Two of five marks are to be had by `TASK`: where it begins, and its time."""
    return exercise_from_table(ASKED, "turn-it", "turn-it.toml")


class DrivenLab:
    """The folders of a lab in which one motion was driven.

    Attributes:
        rig: of the arm.
        motion: what was driven.
        ticks: what its journal has of the run, and of what came before.
        session: of the journal.
    """

    name = "lynx6-20270115-090000-123456.mcap"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rig: Rig = load_rig("lynx6", calibrated=False)
        self.motion: Motion = plan_task(self.rig, Robot(self.rig.robot), task_from_table(TASK, "task.toml"))
        self.ticks: list[TickRecord] = list(rehearsed(self.rig, self.motion, now_epoch_s=EPOCH_S).records)
        self.session: SessionRecord = session_in_memory(self.rig, 0.0, EPOCH_S)
        self.journals, self.audit_folder = folder / "journals", folder / "audit"
        self.journals.mkdir(parents=True)
        self.heads: list[tuple[float, JournalHead]] = []

    @property
    def start_s(self) -> float:
        """When the motion was started, seconds since 1970."""
        asks = (tick.t_s for tick in self.ticks if any(isinstance(each, Start) for each in tick.requests))
        return EPOCH_S + next(asks)

    @property
    def journal(self) -> Path:
        """Of the run."""
        return self.journals / self.name

    def write_journal(self, ticks: Sequence[TickRecord] | None = None, *, keep_heads: bool = True) -> None:
        """Write it, and note its head after every hundredth tick and the last, unless those of before count."""
        self.journal.unlink(missing_ok=True)
        ticks = self.ticks if ticks is None else ticks
        with JournalWriter(self.journal, self.session) as writer:
            heads = []
            for number, tick in enumerate(ticks):
                writer.tick(msgspec.structs.replace(tick, tick=number))
                if number % 100 == 99 or number == len(ticks) - 1:
                    head = JournalHead(name=self.name, n=writer._n - 1, chain=writer._chain)
                    heads.append((EPOCH_S + tick.t_s, head))
            writer.end(EndKind.CLOSED, "over", ticks[-1].t_s)
        self.heads = heads if keep_heads else self.heads

    def write_audit(self, *, who: str = WHO, digest: str = "", at_s: float | None = None) -> None:
        """Who started it, and the heads of the journal, signed."""
        at_s = self.start_s if at_s is None else at_s
        detail = digest or self.motion.digest
        start = Deed(who=who, role="drive", what="start", verdict="done", arm=ARM, detail=detail)
        deeds = [(t_s, head.deed(ARM, f"{HEAD} {number}")) for number, (t_s, head) in enumerate(self.heads)]
        deeds = sorted([*deeds, (at_s, start)], key=lambda deed: deed[0])
        audit = AuditLog(self.audit_folder, KEY, _now(deeds[0][0]), retention_days=90)
        for t_s, deed in deeds:
            audit.note(deed, _now(t_s))
        audit.sign(_now(deeds[-1][0] + 1.0))
        audit.close("over", _now(deeds[-1][0] + 2.0))

    def job(self, **changes: object) -> DrivenJob:
        """As the lab asks for it a moment later."""
        made = DrivenJob(
            audit=str(self.audit_folder),
            audit_key=KEY.public.pem,
            journals=str(self.journals),
            arm=ARM,
            who=WHO,
            asked=asked(),
            seed=None,
            student="Ana",
            now_epoch_s=EPOCH_S + 600.0,
            pictures=False,
        )
        return msgspec.structs.replace(made, **changes)


def _now(epoch_s: float) -> Now:
    return Now(epoch_s=epoch_s, monotonic_s=epoch_s - EPOCH_S)
