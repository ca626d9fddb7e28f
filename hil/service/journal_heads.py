"""Heads of the journals of motion: noted in the signed audit while an arm is on, held against the journals later.

A journal's own chain can be computed anew by anybody; what the audit has noted of it lacks the key then.
"""

from __future__ import annotations

import contextlib
import datetime
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hil.errors import JournalError
from hil.runtime.journal import FIRST_CHAIN, first_path, newest_record, next_chain, part_path, read_payloads
from hil.service.audit import Deed
from hil.service.audit_query import JOURNAL, vouched_deeds
from hil.service.retention import rig_of
from hil.types import Record

HEAD, ARM_AWAY, LAB_ENDS, MARKED = "head", "head, the arm is away", "head, the lab ends", "head, a run is marked"
"""Verdicts: unlike each other, so that heads noted within one second are not counted as one deed."""


class JournalHead(Record, frozen=True):
    """A record up to which a journal is as it was.

    Attributes:
        name: of the file, packed or not.
        n: the record's number.
        chain: after it, hexadecimal.
    """

    name: str
    n: int
    chain: str

    def deed(self, arm: str, verdict: str) -> Deed:
        """How the audit says it."""
        return Deed(who="", what=JOURNAL, verdict=verdict, arm=arm, detail=f"{self.name} {self.n} {self.chain}")


def newest_heads(folder: Path, rigs: Mapping[str, str]) -> dict[str, JournalHead]:
    """The head of the journal that each arm writes or has written last; arms without one are left out.

    Args:
        folder: of the lab's journals.
        rigs: id of each arm's rig.
    """
    heads = {}
    for arm, rig in rigs.items():
        with contextlib.suppress(JournalError, OSError):
            path = _newest(folder, rig)
            if path is not None and (found := newest_record(path)) is not None:
                heads[arm] = JournalHead(name=path.name, n=found[0], chain=found[1])
    return heads


def _newest(folder: Path, rig: str) -> Path | None:
    """The journal that was written to last; names alone go wrong in the hour in which summer time ends."""
    found = [path for path in folder.glob("*.mcap") if rig_of(path) == rig]
    return max(found, key=lambda path: (path.stat().st_mtime_ns, len(path.name), path.name), default=None)


class JournalsVerdict(Record, frozen=True):
    """How the journals compare with what the service has signed.

    Attributes:
        agree: how many do.
        gone: how many were deleted since, or are kept elsewhere.
        wrong: a line for each of the others.
    """

    agree: int
    gone: int
    wrong: tuple[str, ...]


def check_journals(audit: Path, journals: Path) -> JournalsVerdict:
    """Hold journals against the heads that an audit has noted and signed; the audit has to be whole.

    Args:
        audit: folder of the audit.
        journals: folder of the journals.

    Raises:
        JournalError: the audit cannot be read.
    """
    noted = _noted(audit)
    walks = {name: walk for name in sorted(noted) if (walk := _walk(journals / name, noted[name])) is not None}
    wrong = {name: walk.wrong for name, walk in walks.items() if walk.wrong}
    for name, walk in walks.items():
        before = _before(name, walk)
        if before in walks and not walk.wrong and before not in wrong and walks[before].end != walk.after:
            wrong[before] = (
                f"its end is not the one that {name} goes on from, as the service signed on {_when(noted[name][0])}: "
                "the journal was changed or cut"
            )
    return JournalsVerdict(
        agree=len(walks) - len(wrong),
        gone=len(noted) - len(walks),
        wrong=tuple(f"{journals / name}: {words}" for name, words in sorted(wrong.items())),
    )


class _Noted(Record, frozen=True):
    n: int
    chain: str
    t_s: float


class _Walk(Record, frozen=True):
    """What was found along one journal: what is wrong, its place in its session, and its last chain."""

    wrong: str
    part: int
    after: str
    end: str


class _Place(msgspec.Struct):
    """As much of a session record as tells its place."""

    part: int = 0
    after: str = FIRST_CHAIN


def _noted(audit: Path) -> dict[str, list[_Noted]]:
    """Heads by the names of their files, in the order of the records."""
    noted: dict[str, list[_Noted]] = defaultdict(list)
    for t_s, deed in vouched_deeds(audit, JOURNAL):
        if not deed.detail:
            continue  # only counted, not written out
        name, n, chain = deed.detail.rsplit(" ", 2)
        noted[name].append(_Noted(n=int(n), chain=chain, t_s=t_s))
    return {name: sorted(heads, key=lambda head: (head.n, head.t_s)) for name, heads in noted.items()}


def _walk(path: Path, noted: Sequence[_Noted]) -> _Walk | None:
    """Compute a journal's chain anew and compare, up to the first difference; None if the journal is gone."""
    heads = list(noted)
    n, chain, place, agreed, broken = -1, FIRST_CHAIN, _Place(), -1, ""
    try:
        for n, payload in enumerate(read_payloads(path)):
            chain = next_chain(chain, payload)
            if n == 0:
                place = msgspec.json.decode(payload, type=_Place)
            while heads and heads[0].n == n and heads[0].chain == chain:
                agreed = heads.pop(0).n
            if heads and heads[0].n == n:
                break
    except JournalError as error:
        if not path.exists():
            return None
        broken = str(error).removeprefix(f"{path}: ")
    except msgspec.MsgspecError:
        broken = "it does not begin with a session"
    wrong = _wrong(heads[0], n, agreed, broken) if heads else ""
    return _Walk(wrong=wrong, part=place.part, after=place.after, end=chain)


def _wrong(head: _Noted, reached: int, agreed: int, broken: str) -> str:
    """What is wrong with a journal in which this head was not found."""
    signed = f"the service signed on {_when(head)}"
    if reached == head.n and not broken:
        since = f" after record {agreed}" if agreed >= 0 else ""
        return f"record {head.n} is not the one that {signed}: the journal was changed{since}"
    if broken:
        return f"record {head.n}, which {signed}, cannot be reached: {broken}"
    return f"it ends before record {head.n}, which {signed}: it was cut, by a power failure or by somebody"


def _before(name: str, walk: _Walk) -> str:
    """Name of the file that this one goes on from; empty for the first."""
    return part_path(first_path(Path(name)), walk.part - 1).name if walk.part > 0 else ""


def _when(head: _Noted) -> str:
    return f"{datetime.datetime.fromtimestamp(head.t_s).astimezone():%Y-%m-%d %H:%M:%S}"
