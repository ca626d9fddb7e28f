"""Who was kept waiting when something had to stop: the owner, the loop, the recorder or the line; with numbers.

A stop's own words say what was seen, and a replay says them again. Whether a busy computer was behind it only the
system knows: on Linux it counts for each process how long that was ready to run and had no core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path

from hil.errors import LineCause
from hil.runtime.line_health import SAYINGS
from hil.types import TickRecord

OWNER_SILENT = "no sign of life from the asking program"
RECORDER_SILENT = "the recorder is silent"
NO_TICK = "no tick for"
STARVED = "starved: "
"""So begin the words that name somebody."""

WINDOW_S = 2.0
"""What is counted before a stop: longer than any silence that leads to one with the usual settings."""
LOOK_S = 0.1
WAITED_S = 0.05
"""Waits for a core that sum up to less are the usual ones."""


class Party(Enum):
    """Who can be starved, by the name under which a person knows it."""

    OWNER = "owner"
    LOOP = "loop"
    RECORDER = "recorder"
    LINE = "line"


def _said(cause: LineCause) -> str:
    """How the words of a cause begin, up to the number in them."""
    return SAYINGS[cause].said.partition("{")[0]


_SIGNS: tuple[tuple[str, Party], ...] = (
    (OWNER_SILENT, Party.OWNER),
    (RECORDER_SILENT, Party.RECORDER),
    (NO_TICK, Party.LOOP),
    (_said(LineCause.LOOP_LATE), Party.LOOP),
    (_said(LineCause.SILENT), Party.LINE),
    (_said(LineCause.LATE), Party.LINE),
    (_said(LineCause.DELAYED), Party.LINE),
)


def blamed(events: tuple[str, ...]) -> tuple[Party, str] | None:
    """Whom the first stop or fault among a tick's events is put down to, and its words; None where to nobody here."""
    for event in events:
        _, stop, words = event.partition("stop: ")
        if not stop:
            _, stop, words = event.partition("-> fault: ")
        for sign, party in _SIGNS if stop else ():
            if words.startswith(sign):
                return party, words.partition(": ")[0]
    return None


def waited_s(pid: int) -> float | None:
    """How long a process has been ready to run without a core since it began; None where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


class StarvationWatch:
    """Follows how long each process waits for a core, and names who was starved when something stops.

    Args:
        processes: their numbers, as far as they run on this computer; that of the line is a fake's.
        waited: tells of a process how long it has waited since it began.
    """

    def __init__(self, processes: Mapping[Party, int | None], waited: Callable[[int], float | None] = waited_s) -> None:
        self._processes = {party: pid for party, pid in processes.items() if pid is not None}
        self._waited = waited
        self._looks: deque[tuple[float, dict[Party, float]]] = deque()

    def look(self, now_s: float) -> None:
        """Read the counts, now and then."""
        if not self._looks or now_s - self._looks[-1][0] >= LOOK_S:
            self._note(now_s)

    def _note(self, now_s: float) -> None:
        counts = {party: self._waited(pid) for party, pid in self._processes.items()}
        self._looks.append((now_s, {party: count for party, count in counts.items() if count is not None}))
        # The newest of those that are old enough stays: it is where the window begins.
        while len(self._looks) > 1 and self._looks[1][0] <= now_s - WINDOW_S:
            self._looks.popleft()

    def take(self, tick: TickRecord, now_s: float) -> str:
        """Words if something stopped in this tick because somebody was kept waiting, else empty."""
        found = blamed(tick.events)
        if found is None:
            return ""
        self._note(now_s)
        party, words = found
        since_s, before = self._looks[0]
        after, window_s = self._looks[-1][1], now_s - since_s
        # A wait is counted when it ends, the whole of it, wherever it began.
        waits = {each: min(after[each] - before[each], window_s) for each in after if each in before}
        return f"{STARVED}{party.value} ({words}{_measured(waits, party, window_s)})"


def _measured(waits: Mapping[Party, float], blamed: Party, window_s: float) -> str:
    """What the system has counted: first of who is blamed, then of the others that had to wait too."""
    if not waits:
        return ""
    shown = [f"{_name(party)} {waits[party]:.2f} s" for party in Party if waits.get(party, 0.0) >= WAITED_S]
    if not shown:
        return f"; in {window_s:.1f} s no process of this session had to wait for a core"
    verdict = "" if waits.get(blamed, 0.0) >= WAITED_S or blamed not in waits else f", {_name(blamed)} did not"
    return f"; in {window_s:.1f} s ready to run and without a core: {', '.join(shown)}{verdict}"


def _name(party: Party) -> str:
    return "the fake controller" if party is Party.LINE else party.value
