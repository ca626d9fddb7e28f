"""Rounds of all kinds, many at a time, and the tables of what came of them."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from kill_judges import Round
from kill_kinds import KINDS, Kind, play
from kill_stand import ARMS, Bench

NOT_JUDGED = 0.1
"""The share of rounds that never began: more of them, and the campaign says too little to pass."""


@dataclass(frozen=True)
class Job:
    """One round that is to be played.

    Attributes:
        plant: function of `planted_processes` to spoil the run with; None for the product as it is.
    """

    arm: str
    kind: str
    seed: int
    plant: str | None = None


def jobs(kinds: Sequence[Kind], arms: Sequence[str], rounds: int, seed: int) -> list[Job]:
    """So many rounds of each kind on each arm; kinds and arms by turns, so that no kind has a machine's bad minute."""
    rng = random.Random(seed)
    return [Job(arm, kind.name, rng.randrange(1 << 32)) for _ in range(rounds) for kind in kinds for arm in arms]


def run(todo: Sequence[Job], at_a_time: int, keep: Path | None = None) -> Iterator[tuple[Job, Round]]:
    """Play rounds in processes, each with places of its own, and give what comes of them as it comes.

    Args:
        todo: what to play.
        at_a_time: processes.
        keep: folder for what rounds that broke a promise have left; None to keep nothing.
    """
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="hil-kill-", ignore_cleanup_errors=True) as folder,
        ProcessPoolExecutor(at_a_time, mp_context=spawn, initializer=_begin, initargs=(folder,)) as pool,
    ):
        futures = {pool.submit(_play, job, None if keep is None else str(keep)): job for job in todo}
        for future in as_completed(futures):
            yield futures[future], future.result()


class _Place:
    """Where the rounds of one process are played; its benches are made when they are needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._benches: dict[str, Bench] = {}

    def bench(self, arm: str) -> Bench:
        """The one of this arm."""
        if arm not in self._benches:
            folder = self._folder / f"{os.getpid()}-{arm}"
            folder.mkdir()
            self._benches[arm] = Bench(ARMS[arm](), folder)
        return self._benches[arm]


_places: list[_Place] = []


def _begin(folder: str) -> None:
    # Ctrl-C is for whoever gives out the rounds.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _places.append(_Place(Path(folder)))


def _play(job: Job, keep: str | None) -> Round:
    bench = _places[0].bench(job.arm)
    (kind,) = (kind for kind in KINDS if kind.name == job.kind)
    outcome = play(kind, bench, job.seed, job.plant)
    left = sorted(bench.folder.glob("round-*"))
    for folder in left:
        if outcome.wrong and keep is not None:
            target = Path(keep) / f"{job.arm}-{job.kind}-{job.seed}".replace(" ", "-")
            shutil.copytree(folder, target, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


@dataclass(frozen=True)
class Line:
    """One line of the table: a kind on an arm.

    Attributes:
        measured: name, median, worst and what was allowed at most of each number.
    """

    arm: str
    kind: Kind
    kept: int
    broken: int
    not_judged: int
    skipped: str
    measured: tuple[tuple[str, float, float, float | None], ...]


def table(results: Iterable[tuple[Job, Round]]) -> list[Line]:
    """What came of each kind on each arm, in the order of the list of kinds."""
    by_place: dict[tuple[str, str], list[Round]] = {}
    for job, outcome in results:
        by_place.setdefault((job.arm, job.kind), []).append(outcome)
    return [
        _line(arm, kind, by_place[arm, kind.name]) for arm in ARMS for kind in KINDS if (arm, kind.name) in by_place
    ]


def _line(arm: str, kind: Kind, mine: Sequence[Round]) -> Line:
    judged = [outcome for outcome in mine if not (outcome.not_judged or outcome.skipped)]
    broken = sum(bool(outcome.wrong) for outcome in judged)
    measured = []
    for what in kind.numbers:
        values = sorted(outcome.numbers[what] for outcome in judged if what in outcome.numbers)
        allowed = [outcome.allowed[what] for outcome in judged if what in outcome.allowed]
        if values:
            measured.append((what, values[len(values) // 2], values[-1], max(allowed) if allowed else None))
    skipped = next((outcome.skipped for outcome in mine if outcome.skipped), "")
    never = sum(bool(outcome.not_judged) for outcome in mine)
    return Line(arm, kind, len(judged) - broken, broken, never, skipped, tuple(measured))


def never_judged(lines: Iterable[Line]) -> list[str]:
    """Kinds of which no round was judged, though none was skipped: nothing was shown, and the judge may be dead."""
    return [
        f"{line.arm}: {line.kind.name}"
        for line in lines
        if line.not_judged and not (line.skipped or line.kept or line.broken)
    ]


def rows(lines: Sequence[Line]) -> list[list[str]]:
    """For a table on a screen or a page: blow, promise, rounds, numbers."""
    return [
        [
            f"{line.arm}: {line.kind.name}",
            line.kind.promise,
            f"skipped: {line.skipped}"
            if line.skipped
            else f"{line.kept} of {line.kept + line.broken}"
            + (f", {line.not_judged} not judged" if line.not_judged else ""),
            "; ".join(_words(*number) for number in line.measured),
        ]
        for line in lines
    ]


def _words(what: str, median: float, worst: float, allowed: float | None) -> str:
    name, _, unit = what.partition(", ")
    most = "" if allowed is None else f" ({allowed:.3g})"
    return f"{name} {median:.3g}, {worst:.3g}{most}{' ' + unit if unit else ''}"


def markdown(lines: Sequence[Line]) -> str:
    """The table as the page has it."""
    body = [f"| {' | '.join(row)} |" for row in rows(lines)]
    head = "| arm: blow | promise | kept | measured: median, worst (allowed on this machine) |"
    return "\n".join([head, "|---|---|---|---|", *body])


# -- judges judged ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlantedRound:
    """A fault in whole processes, and the kind of round whose judges have to find it.

    Attributes:
        words: what one of them says.
    """

    promise: str
    fault: str
    plant: str
    kind: str
    words: str


PLANTED: tuple[PlantedRound, ...] = (
    PlantedRound(
        "a dead owner ends the stream", "an owner's death ignored", "owner_death_ignored", "kill owner", "last|noticed"
    ),
    PlantedRound(
        "a dead recorder ends the stream",
        "a recorder's death ignored",
        "recorder_death_ignored",
        "kill recorder",
        "last pulse|last line",
    ),
    PlantedRound(
        "a silent owner is a stop within 1 s",
        "an owner's silence ignored",
        "owner_silence_ignored",
        "stop owner",
        "noticed",
    ),
    PlantedRound(
        "a silent recorder is a stop within 0.5 s",
        "a recorder's silence ignored",
        "recorder_silence_ignored",
        "stop recorder",
        "noticed",
    ),
    PlantedRound(
        "a servo supply said to be cut is a FAULT",
        "what was said of the servo supply unheard",
        "supply_unheard",
        "servo supply said to be cut",
        "noticed|ended with",
    ),
    PlantedRound(
        "the look-ahead is the rig's",
        "the look-ahead doubled",
        "look_ahead_doubled",
        "kill loop",
        "another time than the look-ahead",
    ),
    PlantedRound(
        "no pulse beyond its limit",
        "a limit in the driver's encoding moved by 1 us",
        "beyond_pulse_limit",
        "int owner",
        "outside its pulse limits",
    ),
    PlantedRound("a stop is a ramp", "the ramp cut: the pulses freeze", "ramp_cut", "int owner", "bend of the ramp"),
    PlantedRound(
        "a signal stops the arm",
        "a stop asked for and not begun",
        "stop_not_begun",
        "term owner",
        "last pulse|last line",
    ),
    PlantedRound(
        "nothing is sent in HOLDING",
        "a target sent again while it holds",
        "sent_while_holding",
        "stop recorder",
        "bend|last line|last pulse|steps",
    ),
    PlantedRound(
        "nothing moves before a confirmed pose",
        "the command confirms a pose that nobody has seen",
        "vouches_for_anything",
        "cable pulled and put back",
        "nobody has confirmed|did not ask|before a confirmed",
    ),
    PlantedRound(
        "a restart is a fault within 0.6 s",
        "a restart of the board kept quiet",
        "restart_kept_quiet",
        "controller restarts",
        "noticed|last line",
    ),
    PlantedRound(
        "a silent board is a stop within 0.5 s",
        "a silent line said to be well",
        "line_said_to_be_well",
        "stop fake",
        "noticed|last line",
    ),
    PlantedRound(
        "no record is lost",
        "a journal that lost one and says complete",
        "record_lost",
        "int owner",
        "a tick is missing",
    ),
    PlantedRound(
        "a session that ended has a journal that ends",
        "a journal never closed",
        "never_ended",
        "int owner",
        "does not end",
    ),
    PlantedRound(
        "a rig has one owner", "no lock, and a port for all", "no_lock", "second owner of the rig", "second owner"
    ),
    PlantedRound(
        "a port has one owner",
        "a port for all",
        "no_exclusive_port",
        "second owner of the port",
        "second owner|another than|other bytes",
    ),
    PlantedRound(
        "time is not the clock on the wall",
        "the loop lives by the wall clock",
        "wall_clock",
        "clock one hour on",
        "go on|longest tick|noticed|exit code|not said|missing",
    ),
)
