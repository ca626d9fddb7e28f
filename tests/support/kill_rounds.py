"""Rounds in which processes die: a fake board as a process of its own is the arm, `hil run` is the victim.

Everything is judged from the board's own trace of pulses and servos and from the journal, on the machine's one
monotonic clock. Linux only: the children are found in /proc.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from calibrations import calibrate_as_it_is
from soak_oracles import FRAME_S, RigFacts, read_rig
from soak_promises import OWNER_SILENT_S

from hil.model.files import find
from hil.model.rig import Rig
from hil.runtime import wiring
from hil.runtime.bridge import Bridge
from hil.runtime.journal import Completeness, JournalVerdict, read_journal, verify
from hil.runtime.pace import JOURNAL_BEHIND_S
from hil.runtime.recorder import DRAIN_S
from hil.runtime.replay import replay
from hil.runtime.ring import default_folder
from hil.runtime.terminal_signals import OWNER_ACTS_S
from hil.types import Confirm, Disconnect, EndStream, Mode, Request, Stop, TickRecord

FAKE_LATE_S = 0.01
"""What the fake's own loop may add to the time at which bytes reach its board, on a machine without load."""
JOURNAL_S = 0.25
ECHO_US = 16.0
"""A board tells its pulses in steps of 10 us, rounded down; a confirmed pose within such a step counts as the same."""
HIL = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGQUIT, signal.SIG_DFL); from hil.cli.main import main; main()"
)
"""Whoever runs these rounds in the background of a shell has its processes ignore SIGINT and SIGQUIT from birth."""
_TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Setting:
    """What runs in a round.

    Attributes:
        rig, task: names or files.
        within_s: the blow comes at a random moment so long after streaming began.
    """

    rig: str
    task: str
    within_s: float


@dataclass
class Outcome:
    """What came of a round; `wrong` is empty if every guarantee held."""

    name: str
    wrong: list[str] = field(default_factory=list)
    numbers: dict[str, float] = field(default_factory=dict)

    def hold(self, condition: bool, words: str) -> None:
        """Note a guarantee that did not hold."""
        if not condition:
            self.wrong.append(f"{self.name}: {words}")

    def within(self, what: str, value: float, allowed: float) -> None:
        """Note a number and hold it against what is allowed."""
        self.numbers[what] = max(value, self.numbers.get(what, value))
        self.hold(value <= allowed, f"{what} {value:.4f}, allowed {allowed:.4f}")


# -- processes -------------------------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    """Numbers of the live processes that `pid` has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(status[1]) == pid and status[0] not in "ZX":
                    found.append(int(entry.name))
    return found


def holder(pids: list[int], opened: Callable[[str], bool]) -> int | None:
    """The one of these processes that has such a file open."""
    for pid in pids:
        with contextlib.suppress(OSError):
            if any(opened(os.readlink(link)) for link in Path(f"/proc/{pid}/fd").iterdir()):
                return pid
    return None


def await_that(reached: Callable[[], bool], within_s: float, what: str) -> None:
    """Wait in small steps; the machine's own clock is what these rounds are about."""
    deadline_s = time.monotonic() + within_s
    while not reached():
        if time.monotonic() > deadline_s:
            raise AssertionError(f"{what}: not within {within_s} s")
        time.sleep(0.005)


class Lateness:
    """How late this machine lets a process run that only wants to wake up: what its load adds to every bound."""

    def __init__(self) -> None:
        self._late: list[tuple[float, float]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)
        self._thread.start()

    def _measure(self) -> None:
        while not self._over.is_set():
            due_s = time.monotonic() + 0.004
            time.sleep(0.004)
            if (late_s := time.monotonic() - due_s) > 1e-3:
                self._late.append((due_s, late_s))

    def worst_s(self, since_s: float) -> float:
        """The latest awakening since then."""
        return max((late_s for at_s, late_s in self._late if at_s + late_s >= since_s), default=0.0)

    def stop(self) -> None:
        """Measure no more."""
        self._over.set()
        self._thread.join()


def allowed_step(facts: RigFacts, late_s: float) -> float:
    """What a pulse may move in one frame of the board, as a part of the speed limit.

    A board that gets a line every period goes to each in one look-ahead, and is on its way to a sample that lies one
    look-ahead of motion away. Lines that come unevenly reach it up to one frame apart from where they belong, for it
    looks at them once a frame, and as much as loop and fake were late; the way to the newest sample is longer by that,
    and takes one look-ahead all the same.
    """
    return 1.0 + (FRAME_S + FAKE_LATE_S + 2.0 * late_s) / facts.look_ahead_s


class Program:
    """One `hil` command in a session of its own, its output in files."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-c", HIL, *arguments],
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        self.pid = self.process.pid
        self._family: set[int] = {self.pid}

    def says(self, words: str, within_s: float) -> None:
        """Wait until it has printed these words."""

        def said() -> bool:
            if words in self.out.read_text():
                return True
            if self.process.poll() is not None:
                raise AssertionError(f"ended before it said {words!r}: {self.out.read_text()} {self.err.read_text()}")
            return False

        await_that(said, within_s, f"{words!r} was not said")

    def remember_family(self) -> list[int]:
        """Its children by now; they have to end as well, whatever happens to it."""
        young = children(self.pid)
        self._family |= set(young)
        return young

    def ends(self, within_s: float) -> int:
        """Wait for its end and for that of all its children; its exit code."""
        await_that(lambda: self.process.poll() is not None, within_s, f"process {self.pid} has not ended")
        await_that(lambda: not any(_runs(pid) for pid in self._family), within_s, "children have not ended")
        return self.process.returncode

    def clear_up(self) -> None:
        """End whatever is left of it, if a round went wrong, and take away what a killed owner leaves in memory."""
        self.remember_family()
        for pid in self._family:
            if _runs(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                    os.kill(pid, signal.SIGKILL)
        self.process.wait(5.0)
        for left in default_folder().glob(f"hil-{self.pid}-*"):
            shutil.rmtree(left, ignore_errors=True)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# -- the trace -------------------------------------------------------------------------------------------


class Trace:
    """What the board and its servos did: times, pulses and positions, one entry per frame in which something moved."""

    def __init__(self, path: Path, rig: RigFacts) -> None:
        self._rig = rig
        lines = path.read_bytes().splitlines()
        entries = [json.loads(line) for line in lines if line.endswith(b"}")]
        channels = [axis.channel for axis in rig.axes]
        self.frames = [
            (e["time_s"], [e["pulses_us"][c] for c in channels], [e["positions"][c] for c in channels]) for e in entries
        ]

    def last_pulse_change_s(self, since_s: float) -> float:
        """When a pulse changed last; `since_s` if none did after it."""
        last_s, before = since_s, None
        for time_s, pulses, _ in self.frames:
            if before is not None and pulses != before and time_s > since_s:
                last_s = time_s
            before = pulses
        return last_s

    def last_motion_s(self, since_s: float) -> float:
        """When a servo was last further than a tenth of a degree or millimetre from where it came to rest."""
        rest = self.frames[-1][2]
        away = [
            time_s
            for time_s, _, there in self.frames
            if any(abs(a - b) > axis.still for axis, a, b in zip(self._rig.axes, there, rest, strict=True))
        ]
        return max(since_s, away[-1] if away else since_s)

    def worst_step(self, since_s: float) -> float:
        """The largest change of a pulse from one frame to the next, as a part of what the axis may do in a frame."""
        worst = 0.0
        for (_, before, _), (time_s, after, _) in zip(self.frames, self.frames[1:], strict=False):
            if time_s <= since_s:
                continue
            for axis, u0, u1 in zip(self._rig.axes, before, after, strict=True):
                if u0 and u1:
                    step = abs(axis.position(u1) - axis.position(u0)) - axis.unit_per_us
                    worst = max(worst, step / (axis.speed * FRAME_S))
        return worst

    @property
    def pulses(self) -> list[float]:
        """The widths that are generated now."""
        return self.frames[-1][1]

    def at(self, time_s: float) -> list[float]:
        """The widths at some time."""
        return [pulses for at_s, pulses, _ in self.frames if at_s <= time_s][-1]


# -- one round -------------------------------------------------------------------------------------------


class Scene:
    """A fake board with its arm, and the first run on it up to streaming.

    Args:
        setting: rig and task.
        folder: an empty one, for everything that the round leaves.
        journals: where the journal is written; None for that folder.
    """

    def __init__(self, setting: Setting, folder: Path, journals: Path | None = None) -> None:
        self.setting, self.folder = setting, folder
        self.facts = read_rig(find("rigs", "lynx6"))
        rig = wiring.load_rig(setting.rig, calibrated=False)
        self.stop_time_s = _declared_stop_time_s(rig)
        self.journal, self._trace = (journals or folder) / "run.mcap", folder / "trace.jsonl"
        self.link = folder / "arm"
        calibrate_as_it_is(rig, folder / "config", str(self.link))
        arguments = ("fake", "ssc32", "--rig", setting.rig, "--link", str(self.link), "--trace", str(self._trace))
        self.fake = Program(folder, "fake", *arguments)
        self.lateness = Lateness()
        self.fake.says("ready at", 20.0)
        self.owner = self.start("run", self.journal)

    def start(self, name: str, journal: Path) -> Program:
        """Run the task on the arm."""
        return Program(
            self.folder,
            name,
            *("run", self.setting.rig, self.setting.task, "--hardware", "--port", str(self.link)),
            *("--pose-confirmed-by", "a test", "--journal", str(journal)),
        )

    def stream(self, rng: random.Random) -> dict[str, int]:
        """Wait for a random moment of the motion; the processes by name."""
        self.owner.says("streaming ", 30.0)
        moment_s = time.monotonic() + rng.uniform(0.0, self.setting.within_s)
        young = self.owner.remember_family()
        line = os.path.realpath(self.link)
        loop = holder(young, lambda opened: opened == line)
        recorder = holder(young, lambda opened: opened == str(self.journal))
        assert loop is not None and recorder is not None, "loop or recorder was not found among the children"
        time.sleep(max(moment_s - time.monotonic(), 0.0))
        assert self.owner.process.poll() is None, f"it ended by itself: {self.owner.err.read_text()}"
        return {"owner": self.owner.pid, "loop": loop, "recorder": recorder, "fake": self.fake.pid}

    def trace(self) -> Trace:
        """What the arm has done so far."""
        return Trace(self._trace, self.facts)

    def rest(self) -> Trace:
        """The trace once nothing has moved for a while."""
        size = -1
        while size != (size := self._trace.stat().st_size):
            time.sleep(0.15)
        return self.trace()

    def slack_s(self, since_s: float) -> float:
        """What the machine may add to a bound: the fake is a process like any other, and gets its turn like one."""
        return FAKE_LATE_S + self.lateness.worst_s(since_s)

    @property
    def settle_s(self) -> float:
        """Declared settling time of the servos."""
        return self.facts.settle_s


def _declared_stop_time_s(rig: Rig) -> float:
    bridge: Bridge = wiring.virtual_arm(rig, rig.park, energised=False, epoch_offset_s=0.0).bridge
    return bridge.stop_time_s


@contextlib.contextmanager
def scene(setting: Setting, folder: Path, journals: Path | None = None) -> Iterator[Scene]:
    """A scene, cleared up at the end."""
    made = Scene(setting, folder, journals)
    try:
        yield made
    finally:
        made.lateness.stop()
        made.owner.clear_up()
        made.fake.clear_up()


def kill_round(target: str, setting: Setting, rng: random.Random, folder: Path, *, start_again: bool = True) -> Outcome:
    """SIGKILL for owner, loop, recorder or fake at a random moment, then everything that is promised for it."""
    outcome = Outcome(f"kill of the {target}")
    with scene(setting, folder) as stage:
        pids = stage.stream(rng)
        killed_s = time.monotonic()
        os.kill(pids[target], signal.SIGKILL)
        code = stage.owner.ends(30.0)
        _judge_exit(outcome, stage, code, -signal.SIGKILL if target == "owner" else 1, _SAYS[target])
        trace = stage.trace() if target == "fake" else stage.rest()
        _JUDGES[target](outcome, stage, trace, killed_s)
        _judge_steps(outcome, stage, trace, killed_s)
        _judge_replay(outcome, stage.journal)
        if start_again and target != "fake":
            _judge_next_start(outcome, stage, trace)
    return outcome


def _judge_steps(outcome: Outcome, stage: Scene, trace: Trace, blow_s: float) -> None:
    since_s = blow_s - 1.0
    allowed = allowed_step(stage.facts, stage.lateness.worst_s(since_s))
    outcome.within("step per frame, of the limit", trace.worst_step(since_s), allowed)


def _judge_loop_kill(outcome: Outcome, stage: Scene, trace: Trace, killed_s: float) -> None:
    _judge_end_of_stream(outcome, stage, trace, killed_s)
    _judge_journal(outcome, stage, Completeness.UNFINISHED, killed_s)


def _judge_owner_kill(outcome: Outcome, stage: Scene, trace: Trace, killed_s: float) -> None:
    _judge_end_of_stream(outcome, stage, trace, killed_s)
    _judge_notice(outcome, stage, killed_s, 0.0, EndStream)
    _judge_journal(outcome, stage, Completeness.COMPLETE, killed_s)
    late = [r.t_s for r in _ticks(stage.journal) if r.sent is not None and r.t_s >= _asked_s(stage, EndStream)]
    outcome.hold(not late, f"{len(late)} commands were sent after the loop had seen that its owner is dead")


def _judge_recorder_kill(outcome: Outcome, stage: Scene, trace: Trace, killed_s: float) -> None:
    _judge_end_of_stream(outcome, stage, trace, killed_s)
    _judge_journal(outcome, stage, Completeness.UNFINISHED, killed_s)


def _judge_fake_kill(outcome: Outcome, stage: Scene, trace: Trace, killed_s: float) -> None:
    _judge_journal(outcome, stage, Completeness.COMPLETE, killed_s)
    fault_s = next((r.t_s for r in _ticks(stage.journal) if r.mode is Mode.FAULT), float("inf"))
    outcome.within("fault after the kill, s", fault_s - killed_s, 3 * stage.facts.period_s + stage.slack_s(killed_s))


_JUDGES: dict[str, Callable[[Outcome, Scene, Trace, float], None]] = {
    "loop": _judge_loop_kill,
    "owner": _judge_owner_kill,
    "recorder": _judge_recorder_kill,
    "fake": _judge_fake_kill,
}
_SAYS = {
    "loop": "the loop's process has ended without a word",
    "owner": "",
    "recorder": "the recorder ",
    "fake": "the port is gone",
}
TARGETS = tuple(_JUDGES)


def _judge_end_of_stream(outcome: Outcome, stage: Scene, trace: Trace, killed_s: float) -> None:
    """One promise, whoever is dead: nothing more is sent, and the board ends the look-ahead that it has."""
    pulse_s = trace.last_pulse_change_s(killed_s) - killed_s
    bound_s = stage.facts.end_time_s + stage.slack_s(killed_s)
    outcome.within("last pulse after the kill, s", pulse_s, bound_s)
    rest_s = trace.last_motion_s(killed_s) - killed_s
    outcome.within("arm at rest after the kill, s", rest_s, bound_s + stage.settle_s)


def _judge_controlled_stop(
    outcome: Outcome, stage: Scene, trace: Trace, paused_s: float, silent_s: float, kind: type[Request]
) -> None:
    """A stop within limits, for somebody who may be alive: how soon it was noticed, and when nothing moved."""
    notice_s = _judge_notice(outcome, stage, paused_s, silent_s, kind)
    pulse_s = trace.last_pulse_change_s(paused_s) - paused_s
    bound_s = notice_s + stage.stop_time_s + stage.slack_s(paused_s)
    outcome.within("last pulse after the pause began, s", pulse_s, bound_s)
    rest_s = trace.last_motion_s(paused_s) - paused_s
    outcome.within("arm at rest after the pause began, s", rest_s, bound_s + stage.settle_s)


def _judge_notice(outcome: Outcome, stage: Scene, since_s: float, silent_s: float, kind: type[Request]) -> float:
    """The loop has to notice within a tick of the time that is allowed to be silent, which is returned with it."""
    notice_s = silent_s + stage.facts.period_s
    if (asked_s := _asked_s(stage, kind)) >= since_s:
        outcome.within("notice after the blow, s", asked_s - since_s, notice_s + stage.slack_s(since_s))
    return notice_s


def _asked_s(stage: Scene, kind: type[Request]) -> float:
    """When the loop took the first such request."""
    asked = (r.t_s for r in _ticks(stage.journal) if any(isinstance(q, kind) for q in r.requests))
    return next(asked, float("inf"))


def _judge_exit(outcome: Outcome, stage: Scene, code: int, expected: int, words: str) -> None:
    outcome.hold(code == expected, f"exit code {code}, expected {expected}")
    said = stage.owner.err.read_text()
    # A blow between the word "streaming" and the first sample is refused as a start, in other words.
    outcome.hold(words in said or "refused: " in said, f"{words!r} was not said, but {said!r}")
    outcome.hold(_TRACEBACK not in said, f"a traceback was printed: {said}")


def _judge_journal(outcome: Outcome, stage: Scene, expected: Completeness, killed_s: float) -> JournalVerdict:
    verdict = verify(stage.journal)
    outcome.hold(verdict.completeness is expected, f"the journal is {verdict.text}; expected {expected.value}")
    outcome.hold(verdict.lost == 0, f"{verdict.lost} ticks are missing in the journal")
    last_s = max((record.t_s for record in _ticks(stage.journal)), default=float("-inf"))
    outcome.within("journal missing before the blow, s", max(killed_s - last_s, 0.0), JOURNAL_S)
    return verdict


def _judge_replay(outcome: Outcome, journal: Path) -> None:
    again = replay(journal)
    outcome.hold(again.same, f"the journal does not replay: {again.first_difference}")


def _judge_next_start(outcome: Outcome, stage: Scene, before: Trace) -> None:
    """The next program does not know where the arm is, and adopts what the board drives without moving it."""
    journal = stage.folder / "next.mcap"
    again = stage.start("next", journal)
    try:
        await_that(lambda: again.remember_family() != [] or again.process.poll() is not None, 20.0, "no next start")
        again.ends(90.0)  # close to its start pose it runs the whole task
    finally:
        again.clear_up()
    ticks = list(_ticks(journal))
    modes = [record.mode for record in ticks]
    first = next(i for i, mode in enumerate(modes) if mode is not Mode.CONNECTING)
    outcome.hold(modes[first] is Mode.UNKNOWN_POSE, f"the next start went to {modes[first].value}")
    confirmed = [r.t_s for r in ticks if any(isinstance(q, Confirm) for q in r.requests)]
    outcome.hold(bool(confirmed), "the next start never asked for a pose")
    after = stage.rest()
    still = after.at(confirmed[0]) == before.pulses if confirmed else False
    outcome.hold(still, "a pulse changed before the pose was confirmed")
    moved_us = max(abs(a - b) for a, b in zip(after.pulses, before.pulses, strict=True))
    if Mode.STREAMING not in modes:
        outcome.within("pulses moved by adopting, us", moved_us, ECHO_US)
    said = again.err.read_text()
    outcome.hold(_TRACEBACK not in said, f"the next start printed a traceback: {said}")


def pause_round(target: str, setting: Setting, rng: random.Random, folder: Path, pause_s: float = 2.0) -> Outcome:
    """SIGSTOP for owner, loop or recorder, SIGCONT after a while: no jump, and the arm holds."""
    outcome = Outcome(f"pause of the {target}")
    with scene(setting, folder) as stage:
        pids = stage.stream(rng)
        paused_s = time.monotonic()
        os.kill(pids[target], signal.SIGSTOP)
        time.sleep(pause_s)
        os.kill(pids[target], signal.SIGCONT)
        _judge_exit(outcome, stage, stage.owner.ends(30.0), 1, "stop: ")
        trace = stage.rest()
        _judge_steps(outcome, stage, trace, paused_s)
        outcome.hold(all(trace.pulses), f"an axis is driven no more: {trace.pulses}")
        if target == "loop":
            rest_s = trace.last_pulse_change_s(paused_s) - paused_s
            bound_s = stage.facts.end_time_s + stage.slack_s(paused_s)
            # One line that was being written when the loop froze may still leave when it goes on.
            late_s = rest_s - pause_s if rest_s > pause_s else rest_s
            outcome.within("last pulse after the pause began or ended, s", late_s, bound_s)
        else:
            silent_s = OWNER_SILENT_S if target == "owner" else JOURNAL_BEHIND_S
            kind: type[Request] = Disconnect if target == "owner" else Stop
            _judge_controlled_stop(outcome, stage, trace, paused_s, silent_s, kind)
        _judge_journal(outcome, stage, Completeness.COMPLETE, paused_s)
        _judge_replay(outcome, stage.journal)
    return outcome


def polite_round(
    number: signal.Signals, setting: Setting, rng: random.Random, folder: Path, *, group: bool = False
) -> Outcome:
    """A signal that can be caught, for the owner or for everything that was started: stop, hold, explain, leave."""
    outcome = Outcome(f"{number.name} for {'everything that was started' if group else 'the owner'}")
    with scene(setting, folder) as stage:
        stage.stream(rng)
        asked_s = time.monotonic()
        if group:
            os.killpg(stage.owner.pid, number)
        else:
            os.kill(stage.owner.pid, number)
        code = stage.owner.ends(30.0)
        outcome.hold(code == 128 + number, f"exit code {code}, expected {128 + number}")
        said = stage.owner.err.read_text()
        outcome.hold(_TRACEBACK not in said, f"a traceback was printed: {said}")
        outcome.hold(said.strip() != "", "nothing was said on standard error")
        trace = stage.rest()
        pulse_s = trace.last_pulse_change_s(asked_s) - asked_s
        bound_s = 0.1 + stage.facts.period_s + stage.stop_time_s + stage.slack_s(asked_s)
        outcome.within("last pulse after the signal, s", pulse_s, bound_s)
        _judge_steps(outcome, stage, trace, asked_s)
        outcome.hold(all(trace.pulses), f"an axis is driven no more: {trace.pulses}")
        _judge_journal(outcome, stage, Completeness.COMPLETE, asked_s)
        _judge_replay(outcome, stage.journal)
    return outcome


def signal_round(target: str, number: signal.Signals, setting: Setting, rng: random.Random, folder: Path) -> Outcome:
    """A signal that can be caught, for the loop or the recorder alone: stop, then a journal that is complete."""
    outcome = Outcome(f"{number.name} for the {target}")
    with scene(setting, folder) as stage:
        pids = stage.stream(rng)
        asked_s = time.monotonic()
        os.kill(pids[target], number)
        _judge_exit(outcome, stage, stage.owner.ends(30.0), 1, f"interrupted by {number.name}")
        trace = stage.rest()
        _judge_steps(outcome, stage, trace, asked_s)
        noticed_s = DRAIN_S if target == "recorder" else 0.0
        noticed_s += 0.0 if number is signal.SIGTERM else OWNER_ACTS_S
        _judge_controlled_stop(outcome, stage, trace, asked_s, noticed_s, Disconnect)
        outcome.hold(all(trace.pulses), f"an axis is driven no more: {trace.pulses}")
        _judge_journal(outcome, stage, Completeness.COMPLETE, asked_s)
        _judge_all_recorded(outcome, stage, trace, stage.journal)
        _judge_replay(outcome, stage.journal)
    return outcome


# -- what can happen to the file of a journal ----------------------------------------------------------------


@dataclass(frozen=True)
class Blow:
    """Something that happens to a journal while it is written.

    Attributes:
        name: for people.
        strike: does it, given the journal and the recorder's process.
        says: words on standard error.
        ends: what the command's last line says of the journal.
        left: what can be said of what the recorder has written; None if that lies elsewhere, and is complete.
        full: the journal lies on a disk of its own, which is filled.
    """

    name: str
    strike: Callable[[Path, int], None]
    says: str
    ends: str
    left: Completeness | None
    full: bool = False


def _replace(path: Path, recorder: int) -> None:
    other = path.with_name("other.mcap")
    shutil.copy(path, other)
    other.replace(path)


def _no_more(path: Path, recorder: int) -> None:
    """The system takes no more of this file from the recorder: as a disk that is broken, or full for all."""
    import resource

    room = path.stat().st_size + 2000
    resource.prlimit(recorder, resource.RLIMIT_FSIZE, (room, room))


def _fill(path: Path, recorder: int) -> None:
    with contextlib.suppress(OSError), path.with_name("filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


_GONE, _PART = "there is NO JOURNAL: ", "the journal is NOT COMPLETE: "
BLOWS = (
    Blow("removed", lambda path, recorder: path.unlink(), "was removed or renamed", _GONE, None),
    Blow("replaced", _replace, "another file has taken the place", _PART, None),
    Blow(
        "cut",
        lambda path, _: os.truncate(path, 3 * path.stat().st_size // 4),
        "was cut to",
        _PART,
        Completeness.UNFINISHED,
    ),
    Blow("emptied", lambda path, _: os.truncate(path, 0), "was cut to 0 of", _PART, Completeness.UNFINISHED),
    Blow("that takes no more", _no_more, "the journal cannot be written: ", _PART, Completeness.UNFINISHED),
)
FULL_DISK = Blow("on a full disk", _fill, "No space left on device", "; journal ", Completeness.COMPLETE, full=True)


def file_round(blow: Blow, setting: Setting, rng: random.Random, folder: Path) -> Outcome:
    """The journal goes away in mid-motion: a controlled stop, an exit code, and the truth about the file."""
    outcome = Outcome(f"journal {blow.name}")
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(_small_disk(folder / "disk")) if blow.full else None
        stage = stack.enter_context(scene(setting, folder, disk))
        pids = stage.stream(rng)
        copy = stage.journal.with_name("kept.mcap")
        os.link(stage.journal, copy)
        struck_s = time.monotonic()
        blow.strike(stage.journal, pids["recorder"])
        _judge_exit(outcome, stage, stage.owner.ends(30.0), 1, blow.says)
        said = stage.owner.out.read_text().splitlines()[-1]
        outcome.hold(blow.ends in said, f"the last line is {said!r}")
        trace = stage.rest()
        _judge_steps(outcome, stage, trace, struck_s)
        pulse_s = trace.last_pulse_change_s(struck_s) - struck_s
        bound_s = DRAIN_S + stage.facts.period_s + stage.stop_time_s + stage.slack_s(struck_s)
        outcome.within("last pulse after the blow, s", pulse_s, bound_s)
        outcome.hold(all(trace.pulses), f"an axis is driven no more: {trace.pulses}")
        verdict = verify(copy)
        outcome.hold(verdict.completeness is (blow.left or Completeness.COMPLETE), f"the journal is {verdict.text}")
        if verdict.completeness is Completeness.COMPLETE:
            _judge_all_recorded(outcome, stage, trace, copy)
            asked = [r.t_s for r in _ticks(copy) if any(isinstance(q, Disconnect) for q in r.requests)]
            outcome.within("stop asked for after the blow, s", asked[0] - struck_s, DRAIN_S + 0.1)
        else:
            last_s = max((record.t_s for record in _ticks(copy)), default=struck_s)
            outcome.numbers["motion after the last tick that can be read, s"] = struck_s + pulse_s - last_s
        if verdict.ticks:
            _judge_replay(outcome, copy)
    return outcome


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own; needs the right to mount one."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _judge_all_recorded(outcome: Outcome, stage: Scene, trace: Trace, journal: Path) -> None:
    """The arm was sent nothing that the journal does not have: its last pulse is of a command that stands there."""
    sent = [record.t_s for record in _ticks(journal) if record.sent is not None]
    late_s = trace.last_pulse_change_s(sent[-1]) - sent[-1]
    allowed_s = stage.facts.end_time_s + stage.slack_s(sent[-1])
    outcome.within("last pulse after the last command that was recorded, s", late_s, allowed_s)


def _ticks(journal: Path) -> Iterator[TickRecord]:
    for entry in read_journal(journal):
        if entry.tick is not None:
            yield entry.tick
