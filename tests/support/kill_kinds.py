"""Every kind of blow, what is promised for it, and how it is played: one list for tests and scripts/kill-test."""

from __future__ import annotations

import contextlib
import math
import os
import random
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from kill_judges import (
    SIGNAL_S,
    TRACEBACK,
    Round,
    judge_asked_for,
    judge_astray,
    judge_bytes,
    judge_end_noticed,
    judge_end_of_stream,
    judge_exit,
    judge_fault,
    judge_journal,
    judge_next_start,
    judge_notice,
    judge_quiet,
    judge_ramp,
    judge_steps,
    judge_still,
    judge_stop,
    judge_told,
    judge_wrong_pulses,
    ticks,
)
from kill_stand import Bench, Blow, NeverBeganError, Scene, Trace, scene
from soak_promises import OWNER_SILENT_S, RECORDER_SILENT_S

from hil.errors import HilError
from hil.types import Mode

SUPPORT = Path(__file__).parent
POLITE = {"TERM": signal.SIGTERM, "HUP": signal.SIGHUP, "INT": signal.SIGINT}
OWNER_ACTS_S = 0.25
"""Loop and recorder leave to the owner for so long what a terminal tells all of them."""
SILENT_S = {"ssc32": 0.5, "rv2aj": 5.0, "rv2aj-mxt": 0.5}
"""From a controller's silence to the stop."""
LINE_SILENT_S = {**SILENT_S, "rv2aj-mxt": 2.0}
"""From a silence of the line alone: packets go on for 1 s without it, and it is asked something twice a second."""
RESTART_S = {"ssc32": 0.3, "rv2aj": 5.0, "rv2aj-mxt": 0.5}
"""From a restart to the fault."""
FAKE_ENDS_S = 3.0
"""A fake that is asked to end may take so long."""
JOURNAL_GONE_S = 0.12
"""From a journal that went away to the stop."""
WITHIN_S = {"ssc32": (0.08, 1.0), "rv2aj": (1.3, 3.3), "rv2aj-mxt": (1.3, 3.3)}
"""The blow comes at a random moment in that time after streaming began; an RV-2AJ needs a second to set out."""
NOISE_S = {"ssc32": 2.5, "rv2aj": 5.0, "rv2aj-mxt": 5.0}
PAUSE_S = {"owner": 1.4, "loop": 0.4, "recorder": 1.5, "group": 0.5}
SUPPLY_S = 0.3
"""An owner looks every 0.25 s for what was said of the servo supply; a tick, and a look of its own."""
FULL_BYTES = "4m"
STARVED_S = 0.02
"""On a machine that is late by more, fake and cable answer late enough to end a motion."""


class SkippedError(Exception):
    """This kind cannot be played on this machine, in words."""


@dataclass(frozen=True)
class Kind:
    """One kind of blow.

    Attributes:
        name: for people and `--only`.
        promise: what has to hold, in a line.
        play: one round of it.
        numbers: which of its numbers stand in the table.
    """

    name: str
    promise: str
    play: Callable[[Bench, random.Random, Round, str | None], None]
    numbers: tuple[str, ...] = ("last pulse, s", "arm at rest, s")


def play(kind: Kind, bench: Bench, seed: int, plant: str | None = None) -> Round:
    """One round, whatever comes of it; with a function of `planted_processes` in the run, if one is named."""
    outcome = Round(f"{bench.arm.kind}: {kind.name}")
    try:
        kind.play(bench, random.Random(seed), outcome, plant)
    except NeverBeganError as error:
        outcome.not_judged = str(error)
    except SkippedError as error:
        outcome.skipped = str(error)
    except AssertionError as error:
        outcome.hold(False, str(error))
    except Exception as error:
        # What a process left may be anything; one round that chokes on it must not end all others.
        outcome.hold(False, f"the round itself failed: {error!r}")
    if outcome.wrong:
        # What was found broken stays broken, whatever could not be judged.
        outcome.not_judged = ""
    return outcome


def _stream(stage: Scene, rng: random.Random, printed: Path | None = None) -> Blow:
    return stage.stream(rng, WITHIN_S[stage.arm.kind], printed)


def _ended(stage: Scene, at_s: float) -> None:
    """Wait for the end of the run.

    Raises:
        NeverBeganError: by its own record it was not streaming any more, or not yet, when it was struck.
    """
    stage.owner.ends()
    mode = None
    with contextlib.suppress(HilError):
        mode = next((r.mode for r in reversed(list(ticks(stage.journal))) if r.t_s <= at_s), None)
    if mode not in (None, Mode.STREAMING):
        raise NeverBeganError(f"it was {mode.value} when it was struck: {stage.owner.said[-300:]}")


def _strike(stage: Scene, pid: int, number: signal.Signals) -> None:
    """A signal for one of the processes.

    Raises:
        NeverBeganError: it had ended before, and by its own record the run was not streaming any more.
        ProcessLookupError: it had ended before, and the record says nothing of the kind.
    """
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        _ended(stage, time.monotonic())
        raise


def _judge_always(outcome: Round, stage: Scene, trace: Trace, blow_s: float) -> None:
    judge_bytes(outcome, stage, stage.cable.record())
    judge_asked_for(outcome, stage, trace)
    judge_steps(outcome, stage, trace, blow_s)


# -- SIGKILL ---------------------------------------------------------------------------------------------

_SAYS = {"loop": "the loop's process has ended without a word", "recorder": "the recorder "}


def _kill(target: str, bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    with scene(bench, plant=plant) as stage:
        blow = _stream(stage, rng)
        at_s = time.monotonic()
        if target == "group":
            os.killpg(blow.pids["owner"], signal.SIGKILL)
        else:
            _strike(stage, blow.pids[target], signal.SIGKILL)
        _ended(stage, at_s)
        code = -signal.SIGKILL if target in ("owner", "group") else 1
        judge_exit(outcome, stage.owner, (code,), _SAYS.get(target, ""))
        trace = stage.rest()
        judge_end_of_stream(outcome, stage, trace, at_s)
        judge_quiet(outcome, stage, stage.cable.record(), at_s, stage.facts.period_s)
        _judge_always(outcome, stage, trace, at_s)
        judge_journal(outcome, stage, at_s, complete=target == "owner")
        if target == "owner":
            judge_end_noticed(outcome, stage, at_s)
        if target in ("loop", "group") and not outcome.wrong:
            judge_next_start(outcome, stage)


def _fake_ends(number: signal.Signals, bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    """The controller loses its power, and its adapter with it."""
    with scene(bench, plant=plant) as stage:
        blow = _stream(stage, rng)
        struck_s = time.monotonic()
        _strike(stage, blow.pids["fake"], number)
        _ended(stage, struck_s)
        gone = [t_s for t_s, what in stage.cable.record().events if what == "the controller is gone"]
        if not gone:
            outcome.hold(False, "the fake has not ended")
            return
        # Asked politely it clears up first: what counts is when it has gone.
        at_s = gone[0]
        outcome.within("fake gone, s", at_s - struck_s, FAKE_ENDS_S)
        # One that hardly gets a core is silent before it is gone: the arm has stopped for that by then, and says so.
        judge_exit(outcome, stage.owner, (1,), "fault", "no answer for")
        judge_bytes(outcome, stage, stage.cable.record())
        judge_journal(outcome, stage, at_s, complete=True)
        judge_notice(outcome, stage, at_s, 2 * stage.facts.period_s)
        judge_fault(outcome, stage, at_s, 2 * stage.facts.period_s)
        judge_quiet(outcome, stage, stage.cable.record(), at_s, 2 * stage.facts.period_s)


# -- signals that can be caught ----------------------------------------------------------------------------


def _polite(target: str, name: str, bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    with scene(bench, plant=plant) as stage:
        blow = _stream(stage, rng)
        at_s = time.monotonic()
        if target == "group":
            os.killpg(blow.pids["owner"], POLITE[name])
        else:
            _strike(stage, blow.pids[target], POLITE[name])
        _ended(stage, at_s)
        alone = target in ("loop", "recorder")
        judge_exit(outcome, stage.owner, (1,) if alone else (128 + POLITE[name],))
        _judge_polite(outcome, stage, at_s, SIGNAL_S + (OWNER_ACTS_S if alone and name != "TERM" else 0.0))


def _judge_polite(outcome: Round, stage: Scene, at_s: float, notice_s: float = SIGNAL_S) -> None:
    """A stop within limits, and then a journal that is complete."""
    trace = stage.rest()
    judge_stop(outcome, stage, trace, at_s, notice_s + stage.facts.period_s)
    judge_ramp(outcome, stage, stage.cable.record())
    _judge_always(outcome, stage, trace, at_s)
    judge_journal(outcome, stage, at_s, complete=True)


def _own_fake(name: str, bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    """The run has started its fake itself: that has to outlive the stop."""
    with scene(bench, plant=plant, own_fake=True) as stage:
        blow = _stream(stage, rng)
        at_s = time.monotonic()
        os.killpg(blow.pids["owner"], POLITE[name])
        _ended(stage, at_s)
        judge_exit(outcome, stage.owner, (128 + POLITE[name],))
        records = list(ticks(stage.journal))
        outcome.hold(all(r.mode is not Mode.FAULT for r in records), "it ended in a fault: its own fake went first")
        last_s = max((r.t_s for r in records if r.sent is not None), default=at_s)
        bound_s = SIGNAL_S + stage.facts.period_s + stage.arm.ramp_s + stage.slack_s(at_s)
        outcome.within("last line that moves, s", max(last_s - at_s, 0.0), bound_s)
        judge_journal(outcome, stage, at_s, complete=True)


def _terminal_closed(bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    master, slave = os.openpty()
    looked = threading.Event()
    try:
        with scene(bench, plant=plant, terminal=os.ttyname(slave)) as stage:
            printed = stage.folder / "terminal.txt"
            printed.touch()
            reader = threading.Thread(target=_copy, args=(master, printed, looked), daemon=True)
            reader.start()
            _stream(stage, rng, printed)
            # As long as somebody waits for its output, a terminal is not closed.
            looked.set()
            reader.join(1.0)
            at_s = time.monotonic()
            os.close(master)
            master = -1
            _ended(stage, at_s)
            code, expected = stage.owner.ends(), 128 + signal.SIGHUP
            outcome.hold(code == expected, f"exit code {code}, expected {expected}")
            outcome.hold(TRACEBACK not in printed.read_text(errors="replace"), "a traceback was printed")
            _judge_polite(outcome, stage, at_s)
    finally:
        looked.set()
        # Its other end stays open here until now: a terminal that nobody has open yet would read as one that is gone.
        os.close(slave)
        if master >= 0:
            os.close(master)


def _copy(end: int, to: Path, over: threading.Event) -> None:
    with contextlib.suppress(OSError), to.open("ab", buffering=0) as file:
        while not over.is_set():
            if select.select([end], [], [], 0.02)[0]:
                file.write(os.read(end, 4096))


# -- SIGSTOP and SIGCONT -----------------------------------------------------------------------------------


def _pause(target: str, bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    with scene(bench, plant=plant) as stage:
        blow = _stream(stage, rng)
        names = ("owner", "loop", "recorder") if target == "group" else (target,)
        silent_s = SILENT_S[stage.arm.kind]
        pause_s = PAUSE_S.get(target, silent_s + 0.5)
        at_s = time.monotonic()
        for name in names:
            _strike(stage, blow.pids[name], signal.SIGSTOP)
        time.sleep(pause_s)
        for name in reversed(names):
            os.kill(blow.pids[name], signal.SIGCONT)
        _ended(stage, at_s)
        judge_exit(outcome, stage.owner, (1,))
        trace = stage.rest()
        judge_bytes(outcome, stage, stage.cable.record())
        if target in ("loop", "group") and stage.arm.moves_by_itself:
            # It ends the move that it has; going on, the loop stops within its limits, by samples.
            judge_stop(outcome, stage, trace, at_s, pause_s + stage.facts.period_s)
        elif target in ("loop", "group"):
            # Held up, the loop sends nothing; going on, it finds the gap. A line half written may still leave.
            quiet_s = trace.last_pulse_change_s(at_s) - at_s if trace.pulses_us else 0.0
            late_s = quiet_s - pause_s if quiet_s > pause_s else quiet_s
            outcome.within("last pulse, s", late_s, stage.facts.end_time_s + stage.slack_s(at_s))
            judge_quiet(outcome, stage, stage.cable.record(), at_s, pause_s + stage.facts.period_s)
        elif target == "fake":
            judge_notice(outcome, stage, at_s, silent_s)
            judge_quiet(outcome, stage, stage.cable.record(), at_s, silent_s + stage.arm.ramp_s)
        else:
            notice_s = OWNER_SILENT_S if target == "owner" else RECORDER_SILENT_S
            judge_notice(outcome, stage, at_s, notice_s)
            judge_stop(outcome, stage, trace, at_s, notice_s + stage.facts.period_s)
            judge_ramp(outcome, stage, stage.cable.record())
            judge_steps(outcome, stage, trace, at_s)
        judge_journal(outcome, stage, at_s, complete=True)


# -- cable and controller ----------------------------------------------------------------------------------


def _cable(bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    with scene(bench, plant=plant) as stage:
        _stream(stage, rng)
        at_s = stage.cable.do("pull")
        time.sleep(rng.uniform(0.05, 0.5))
        stage.cable.do("plug")
        _ended(stage, at_s)
        judge_exit(outcome, stage.owner, (1,), "the port is gone")
        judge_notice(outcome, stage, at_s, stage.facts.period_s)
        judge_quiet(outcome, stage, stage.cable.record(), at_s, stage.facts.period_s)
        judge_bytes(outcome, stage, stage.cable.record())
        judge_journal(outcome, stage, at_s, complete=True)
        judge_next_start(outcome, stage)


def _restart(bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    with scene(bench, plant=plant, fake_plant=f"restartable_{bench.arm.kind.partition('-')[0]}") as stage:
        _stream(stage, rng)
        stage.order.write_text("restart")
        stage.owner.ends()
        done = stage.order.with_suffix(".done")
        assert done.exists(), "the fake does not restart when it is told to"
        at_s = float(done.read_text())
        _ended(stage, at_s)
        judge_exit(outcome, stage.owner, (1,))
        judge_notice(outcome, stage, at_s, RESTART_S[stage.arm.kind])
        judge_quiet(outcome, stage, stage.cable.record(), at_s, RESTART_S[stage.arm.kind])
        judge_bytes(outcome, stage, stage.cable.record())
        judge_journal(outcome, stage, at_s, complete=True)
        judge_next_start(outcome, stage)


def _supply_said_cut(bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    """Somebody at another terminal says that the servos have lost their power; the board shows nothing of it."""
    if bench.arm.kind != "ssc32":
        raise SkippedError("this controller feels its supply")
    with scene(bench, plant=plant) as stage:
        _stream(stage, rng)
        begun_s = time.monotonic()
        told = stage.tell("supply", "supply", stage.arm.rig, "cut")
        outcome.hold(told.ends() == 0, f"saying so ended with {told.code}: {told.said[-300:]}")
        at_s = time.monotonic()
        _ended(stage, begun_s)
        judge_exit(outcome, stage.owner, (1,), "the servo supply was cut")
        judge_notice(outcome, stage, begun_s, at_s - begun_s + SUPPLY_S)
        judge_quiet(outcome, stage, stage.cable.record(), begun_s, at_s - begun_s + SUPPLY_S)
        judge_bytes(outcome, stage, stage.cable.record())
        judge_journal(outcome, stage, begun_s, complete=True)
        stage.rest()
        since_s = time.monotonic()
        again = stage.start("again", stage.folder / "again.mcap")
        outcome.hold(again.ends() == 1, f"the next start, with a pose that was vouched for, ended with {again.code}")
        outcome.hold("its logic was not off" in again.said, f"the next start said {again.said[-300:]!r}")
        judge_still(outcome, stage, since_s, "while the board drives on")


# -- journals ----------------------------------------------------------------------------------------------


def _journal(
    strike: Callable[[Path, int], None],
    full: bool,
    bench: Bench,
    rng: random.Random,
    outcome: Round,
    plant: str | None,
) -> None:
    with contextlib.ExitStack() as stack:
        disk = stack.enter_context(_small_disk(bench.folder / "disk")) if full else None
        stage = stack.enter_context(scene(bench, plant=plant, journals=disk))
        blow = _stream(stage, rng)
        at_s = time.monotonic()
        strike(stage.journal, blow.pids["recorder"])
        if strike is not _cut:  # the end of that one says nothing of when it was struck
            _ended(stage, at_s)
        judge_exit(outcome, stage.owner, (1,))
        trace = stage.rest()
        judge_stop(outcome, stage, trace, at_s, JOURNAL_GONE_S + stage.facts.period_s)
        judge_ramp(outcome, stage, stage.cable.record())
        _judge_always(outcome, stage, trace, at_s)


def _cut(journal: Path, recorder: int) -> None:
    os.truncate(journal, 3 * journal.stat().st_size // 4)


def _takes_no_more(journal: Path, recorder: int) -> None:
    """The system takes no more of this file from the recorder."""
    import resource

    room = journal.stat().st_size + 2000
    resource.prlimit(recorder, resource.RLIMIT_FSIZE, (room, room))


def _fill(journal: Path, recorder: int) -> None:
    with contextlib.suppress(OSError), journal.with_name("filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """A file system of its own, which can be filled.

    Raises:
        SkippedError: nobody here may mount one.
    """
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={FULL_BYTES}", "none", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SkippedError(f"no file system can be mounted: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


# -- the line ----------------------------------------------------------------------------------------------


def _line(
    harm: Callable[[Scene, random.Random], None],
    wrong: bool,
    notice_s: dict[str, float] | None,
    bench: Bench,
    rng: random.Random,
    outcome: Round,
    plant: str | None,
) -> None:
    """Something is done to the bytes until the run ends by itself, or is asked to end."""
    with scene(bench, plant=plant) as stage:
        blow = _stream(stage, rng)
        at_s = time.monotonic()
        harm(stage, rng)
        deadline_s = at_s + NOISE_S[stage.arm.kind]
        while stage.owner.code is None and time.monotonic() < deadline_s:
            time.sleep(0.02)
        if stage.owner.code is None:
            os.kill(blow.pids["owner"], signal.SIGINT)
        ended_s = time.monotonic()
        _ended(stage, at_s)
        # Asked to end while it ends by itself, it may be the signal that ends it.
        judge_exit(outcome, stage.owner, (0, 1, 130, -signal.SIGINT))
        trace = stage.rest()
        judge_bytes(outcome, stage, stage.cable.record())
        spare_s = 1.0 if stage.arm.kind == "ssc32" else 3.0
        judge_quiet(outcome, stage, stage.cable.record(), ended_s, SIGNAL_S + stage.arm.ramp_s)
        rest_s = trace.last_motion_s(ended_s) - ended_s
        bound_s = SIGNAL_S + stage.facts.stop_time_s + spare_s + stage.facts.settle_s + stage.slack_s(ended_s)
        outcome.within("arm at rest after the run, s", rest_s, bound_s)
        judge_journal(outcome, stage, at_s, complete=True)
        if notice_s is not None:
            judge_notice(outcome, stage, at_s, notice_s[stage.arm.kind])
        if wrong and stage.arm.kind == "ssc32":
            judge_wrong_pulses(outcome, stage, trace, at_s)
        elif wrong:
            judge_astray(outcome, stage, trace, at_s)


def _noise(one_in: int) -> Callable[[Scene, random.Random], None]:
    def harm(stage: Scene, rng: random.Random) -> None:
        for kind, share in (("flip", 2), ("lose", 4), ("double", 4)):
            # Half of the noise changes bytes, a quarter each loses and doubles some.
            stage.cable.do(kind, way="both", one_in=one_in * share, seed=rng.randrange(1 << 30))

    return harm


def _do(what: str, **how: Any) -> Callable[[Scene, random.Random], None]:
    def harm(stage: Scene, rng: random.Random) -> None:
        stage.cable.do(what, seed=rng.randrange(1 << 30), **how)

    return harm


# -- two owners --------------------------------------------------------------------------------------------


def _second_owner(other_user: bool, bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    with scene(bench, plant=plant) as stage:
        blow = _stream(stage, rng)
        state = stage.folder / "other" if other_user else None
        second = stage.start("second", stage.folder / "second.mcap", state=state)
        code = second.ends()
        if stage.owner.code is not None and stage.lateness.worst_s(blow.at_s) > STARVED_S:
            raise NeverBeganError(f"the first had ended on a machine that stood still: {stage.owner.said[-300:]}")
        outcome.hold(stage.owner.code is None, f"the first did not go on: {stage.owner.said[-300:]}")
        outcome.hold(code == 1, f"the second owner ended with {code}")
        outcome.hold(TRACEBACK not in second.said, f"a traceback was printed: {second.said[-400:]}")
        asked_s = time.monotonic()
        if stage.owner.code is None:
            os.kill(blow.pids["owner"], signal.SIGINT)
        stage.owner.ends()
        # Whatever the second had sent would be on the cable, and not in the journal of the first.
        judge_told(outcome, stage, complete=True)
        _ended(stage, asked_s)
        judge_exit(outcome, stage.owner, (128 + signal.SIGINT,))
        _judge_polite(outcome, stage, asked_s)


# -- the clock ---------------------------------------------------------------------------------------------


def _clock(hours: int, bench: Bench, rng: random.Random, outcome: Round, plant: str | None) -> None:
    """The wall clock is stepped; what counts time does not care."""
    shim, step = _clock_shim(bench), bench.folder / "clock-step"
    step.write_bytes((0).to_bytes(8, "little"))
    nursery = bench.nursery("clock", {"LD_PRELOAD": str(shim), "HIL_TEST_CLOCK_STEP": str(step)})
    with scene(bench, plant=plant, nursery=nursery) as stage:
        blow = _stream(stage, rng)
        at_s = time.monotonic()
        with step.open("r+b") as file:
            file.write((3600 * hours).to_bytes(8, "little", signed=True))
        time.sleep(0.8)
        if stage.owner.code is None:
            asked_s = time.monotonic()
            os.kill(blow.pids["owner"], signal.SIGINT)
        else:
            asked_s = math.inf
        judge_exit(outcome, stage.owner, (128 + signal.SIGINT,))
        meanwhile = [r for r in ticks(stage.journal) if at_s <= r.t_s < asked_s]
        stopped = [r.events for r in meanwhile if r.mode not in (Mode.STREAMING, Mode.IDLE)]
        outcome.hold(not stopped, f"the motion did not go on: {stopped[:1]}")
        gaps = [after.t_s - before.t_s for before, after in pairwise(meanwhile)]
        outcome.within("longest tick, s", max(gaps, default=math.inf), stage.facts.period_s + 0.08)
        _judge_polite(outcome, stage, min(asked_s, time.monotonic()))


def _clock_shim(bench: Bench) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SkippedError("no C compiler is here to make what steps the clock")
    made = bench.folder / "clock-step.so"
    if not made.exists():
        source = str(SUPPORT / "clock_step.c")
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(made), source, "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SkippedError(f"what steps the clock cannot be made: {done.stderr[-200:]}")
    return made


# -- the list ----------------------------------------------------------------------------------------------

_ENDS = "nothing that moves is sent any more; the controller ends what it has"
_STOPS = (
    "a stop within limits, then a complete journal; exit code 128 and the signal, 1 if only loop or recorder was told"
)
_GONE = "FAULT in the next ticks, nothing is sent, complete journal"
_LINE = "no byte beyond a limit, and the arm stands when the run has ended"
_REFUSED = "the second is refused and sends no byte; the first goes on"

_NOISY = (
    "wrong refreshes",
    "wrong refreshes after a wrong echo",
    "called back after it went astray, s",
    "arm at rest after the run, s",
)

KINDS: tuple[Kind, ...] = (
    Kind("kill owner", f"{_ENDS}; line released, journal complete", partial(_kill, "owner")),
    Kind("kill loop", f"{_ENDS}; the next start moves nothing unasked", partial(_kill, "loop")),
    Kind("kill recorder", _ENDS, partial(_kill, "recorder")),
    Kind("kill group", f"{_ENDS}; the next start moves nothing unasked", partial(_kill, "group")),
    Kind("kill fake", _GONE, partial(_fake_ends, signal.SIGKILL), ("noticed, s", "last line that moves, s")),
    *(
        Kind(f"{name.lower()} {target}", _STOPS, partial(_polite, target, name))
        for target in ("owner", "loop", "recorder", "group")
        for name in POLITE
    ),
    *(
        Kind(f"{name.lower()} fake", _GONE, partial(_fake_ends, number), ("noticed, s", "last line that moves, s"))
        for name, number in POLITE.items()
    ),
    *(
        Kind(
            f"{name.lower()} group with own fake",
            f"{_STOPS}: the fake goes last",
            partial(_own_fake, name),
            ("last line that moves, s",),
        )
        for name in POLITE
    ),
    Kind("stop owner", "a stop within limits, begun within 1 s", partial(_pause, "owner")),
    Kind("stop loop", "the pulses end by themselves; going on, it holds", partial(_pause, "loop")),
    Kind("stop recorder", "a stop within limits, begun within 0.5 s", partial(_pause, "recorder")),
    Kind(
        "stop fake",
        "a silent controller: a stop within 0.5 s (RV-2AJ: 5 s)",
        partial(_pause, "fake"),
        ("noticed, s", "last line that moves, s"),
    ),
    Kind("stop group", "the pulses end by themselves; going on, it holds", partial(_pause, "group")),
    Kind("terminal closed", _STOPS, _terminal_closed),
    Kind(
        "cable pulled and put back",
        f"{_GONE}; nothing moves before a confirmed pose",
        _cable,
        ("noticed, s", "last line that moves, s"),
    ),
    Kind(
        "controller restarts",
        "FAULT within 0.3 s (RV-2AJ: 5 s), no move after it; nothing moves before a confirmed pose",
        _restart,
        ("noticed, s", "last line that moves, s"),
    ),
    Kind(
        "servo supply said to be cut",
        "FAULT within 0.3 s; nothing is sent to a board that still drives, whoever vouches for the pose",
        _supply_said_cut,
        ("noticed, s", "last line that moves, s"),
    ),
    *(
        Kind(name, "a stop within limits, begun within 0.12 s; exit code 1", partial(_journal, strike, full))
        for name, strike, full in (
            ("journal removed", lambda journal, recorder: journal.unlink(), False),
            ("journal cut", _cut, False),
            ("journal takes no more", _takes_no_more, False),
            ("disk full", _fill, True),
        )
    ),
    *(
        Kind(
            f"noise 1 in {one_in}",
            f"{_LINE}; after a wrong echo two wrong refreshes at most",
            partial(_line, _noise(one_in), True, None),
            _NOISY,
        )
        for one_in in (200, 2000)
    ),
    Kind(
        "commands lost",
        f"{_LINE}; after a wrong echo two wrong refreshes at most",
        partial(_line, _do("lose", way="commands", one_in=60), True, None),
        _NOISY,
    ),
    Kind(
        "replies lost",
        "a stop within 0.5 s (RV-2AJ: 5 s)",
        partial(_line, _do("lose", way="replies", one_in=1), False, LINE_SILENT_S),
        ("noticed, s", "arm at rest after the run, s"),
    ),
    Kind(
        "commands delayed",
        _LINE,
        partial(_line, _do("delay", way="commands", s=0.12), False, None),
        ("arm at rest after the run, s",),
    ),
    Kind(
        "replies delayed",
        _LINE,
        partial(_line, _do("delay", way="replies", s=0.3), False, None),
        ("arm at rest after the run, s",),
    ),
    Kind(
        "commands dribbled",
        _LINE,
        partial(_line, _do("dribble", way="commands", s=0.0003), False, None),
        ("arm at rest after the run, s",),
    ),
    Kind(
        "replies dribbled",
        _LINE,
        partial(_line, _do("dribble", way="replies", s=0.004), False, None),
        ("arm at rest after the run, s",),
    ),
    Kind("second owner of the rig", _REFUSED, partial(_second_owner, False)),
    Kind("second owner of the port", _REFUSED, partial(_second_owner, True)),
    *(
        Kind(name, "the motion goes on as if nothing had happened", partial(_clock, hours), ("longest tick, s",))
        for name, hours in (("clock one hour on", 1), ("clock one hour back", -1))
    ),
)
