"""Which journals of motion somebody may have: by the arm that the audit names for each, and by who drove.

A journal's name says its rig; which arm had that rig then, and who moved it, is in the audit. Whoever sees to an arm
reads all journals of it; a driver those of the sessions in which he moved it himself, with the same token.
"""

from __future__ import annotations

import bisect
import contextlib
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from hil.errors import JournalError
from hil.runtime.journal import first_path, read_payloads
from hil.service import wire
from hil.service.audit import Deed
from hil.service.audit_query import JOURNAL, query
from hil.service.retention import rig_of

MOVES = frozenset(
    str(kind.__struct_config__.tag).replace("_", " ")
    for kind in (
        wire.Confirm, wire.ArmJog, wire.JogHold, wire.JogStep, wire.FollowTarget, wire.Start, wire.Go, wire.Gripper,
        wire.SelfTest,
    )
)  # fmt: skip
"""Deeds that have moved an arm."""


class _Begin(msgspec.Struct):
    """As much of a session record as tells when it began."""

    start_epoch_s: float


def readable(
    journals: Path, audit: Path, rigs: Mapping[str, str], covers: Callable[[str], bool], driver: str | None = None
) -> list[str]:
    """Names of the journals that somebody may have, sorted.

    Args:
        journals: folder of the lab's journals.
        audit: folder of its audit.
        rigs: id of each arm's rig today; it counts for a journal that the audit does not name yet.
        covers: whether the token is for an arm.
        driver: id of the token, for one who may have only what he drove himself; None for all of these arms.

    Raises:
        JournalError: the audit cannot be read.
    """
    sessions: dict[str, list[Path]] = defaultdict(list)
    for path in journals.glob("*.mcap"):
        if rig_of(path) is not None:
            sessions[first_path(path).name].append(path)
    noted, moved_s = _in_the_audit(audit, driver)
    arm_of_rig = {rig: arm for arm, rig in rigs.items()}
    by_arm: dict[str, list[Sequence[Path]]] = defaultdict(list)
    for first, paths in sessions.items():
        arm = noted.get(first, arm_of_rig.get(rig_of(paths[0]) or "", ""))
        if arm and covers(arm):
            by_arm[arm].append(sorted(paths))
    if driver is not None:
        by_arm = {arm: _moved(found, moved_s[arm]) for arm, found in by_arm.items() if moved_s[arm]}
    return sorted(path.name for found in by_arm.values() for paths in found for path in paths)


def _in_the_audit(audit: Path, driver: str | None) -> tuple[dict[str, str], dict[str, list[float]]]:
    """The arm of each session, by the name of its first file; when a driver moved each arm."""
    arms: dict[str, str] = {}
    moved_s: dict[str, list[float]] = defaultdict(list)
    for entry in query(audit, what=JOURNAL):
        if isinstance(entry.data, Deed) and entry.data.detail:
            name = entry.data.detail.rsplit(" ", 2)[0]
            arms.setdefault(first_path(Path(name)).name, entry.data.arm)
    if driver is not None:
        for entry in query(audit, who=[driver], verdict="done"):
            if isinstance(entry.data, Deed) and entry.data.what in MOVES:
                moved_s[entry.data.arm].append(entry.t_s)
    return arms, moved_s


def _moved(sessions: Sequence[Sequence[Path]], moved_s: Sequence[float]) -> list[Sequence[Path]]:
    """Sessions of one arm in which it was moved at any of these times; one that cannot be read is nobody's."""
    spans = sorted((*_span(paths), number) for number, paths in enumerate(sessions))
    begins = [begin_s for begin_s, _, _ in spans]
    found = set[int]()
    for each_s in moved_s:
        # The last one that had begun, however late the file of one before was packed.
        at = bisect.bisect_right(begins, each_s) - 1
        if at >= 0 and each_s <= spans[at][1]:
            found.add(spans[at][2])
    return [sessions[number] for number in sorted(found)]


def _span(paths: Sequence[Path]) -> tuple[float, float]:
    """When a session began, and when it was written to last, seconds since 1970."""
    with contextlib.suppress(JournalError, OSError, msgspec.MsgspecError, StopIteration):
        begin_s = msgspec.json.decode(next(iter(read_payloads(paths[0]))), type=_Begin).start_epoch_s
        return begin_s, max(path.stat().st_mtime for path in paths)
    return math.inf, -math.inf
