"""Rounds at a terminal: one command, one thing that happens to it, and everything that is promised then.

The arm is judged from the trace of a fake that stands for itself, where the command runs on a port, and from the
journal where there is one. A round that does not get as far as what was to happen is not judged.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from calibrations import calibrate_as_it_is
from soak_oracles import read_rig
from terminal import CTRL_BACKSLASH, CTRL_C, CTRL_Z, HIL, MARK, NeverBeganError, Terminal

from hil.model.files import find
from hil.motion.stops import rest_time_s
from hil.runtime import wiring
from hil.runtime.journal import Completeness, read_journal, verify
from hil.runtime.replay import replay
from hil.types import JointCommand, Mode, TickRecord
from hil.units import DEG

HERE = Path(__file__).parents[1] / "processes"
LOOK_S = 0.3
"""Until whoever was told begins to stop the arm, on a machine with other work."""
MOVING_FRAMES = 5
LEFT_S = 4.0
"""So long a process of a command may outlive it, the stop of an arm not counted."""
SUSPENDED_S = 2.0
"""Longer than an owner may be silent, and a stop."""
OWNER_SILENT_S = 1.0
RESUMED_S = 5.0
"""Whoever goes on for so long after it was suspended is sound."""
RIGS = {"ssc32": str(HERE / "quick-rig.toml"), "cr1": "rv2aj"}
TASKS = {"ssc32": str(HERE / "there-and-back.toml"), "cr1": str(HERE / "rv2aj-swing.toml")}
PROGRAM = str(HERE / "rv2aj-swing.mb4")
CYCLE_S = 0.0071
"""In which a CR1 goes on, and its fake writes down where the arm is."""
STILL = 0.05
"""Degrees, microseconds: less is no motion."""
_BAD_WORDS = ("Traceback (most recent call last)", "Exception ignored", "Fatal Python error", "resource_tracker")
_FAKE_CR1 = """
import sys
from hil.model.files import find
from hil.runtime import wiring
from sim.fake_cr1 import Cr1Options, run_fake_cr1
rig = wiring.load_rig("rv2aj")
options = Cr1Options(link=sys.argv[1], trace=sys.argv[2], joints_deg=rig.controller.degrees(rig.park),
                     programs={"1": "10 END"})
run_fake_cr1(options, lambda url: print("ready at", url, flush=True))
"""


@dataclass
class Outcome:
    """What came of a round.

    Attributes:
        wrong: empty if every promise was kept.
        unjudged: why there is nothing to judge; empty if there is.
        stopped_s: from the event to an arm at rest, where that was measured.
    """

    name: str
    wrong: list[str] = field(default_factory=list)
    unjudged: str = ""
    code: int | None = None
    stopped_s: float | None = None
    words: str = ""

    def hold(self, condition: bool, words: str) -> None:
        """Note a promise that was not kept."""
        if not condition:
            self.wrong.append(words)


# -- where it happens ------------------------------------------------------------------------------------


class Place:
    """A folder with surroundings of its own and, on a port, a fake controller that stands for itself.

    Args:
        folder: an empty one.
        kind: ``ssc32`` or ``cr1``.
        port: whether the arm is behind a port, with a trace; else commands bring their own fake.
    """

    def __init__(self, folder: Path, kind: str, *, port: bool) -> None:
        self.folder, self.kind, self.port = folder, kind, port
        homes = {f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("STATE", "CONFIG")}
        python_path = str(Path(__file__).parents[2])
        self.environment = {**os.environ, **homes, "PYTHONPATH": python_path, "QT_QPA_PLATFORM": "offscreen"}
        self.link, self.trace = folder / "arm", folder / "trace.jsonl"
        self.rig = wiring.load_rig(RIGS[kind], calibrated=False)
        self.stop_time_s = wiring.virtual_arm(
            self.rig, self.rig.park, energised=False, epoch_offset_s=0.0
        ).bridge.stop_time_s
        # Not the channel that nothing hangs on and whose pulse is the sign of a board that did not restart.
        self.channels = [] if kind == "cr1" else [axis.channel for axis in read_rig(find("rigs", "lynx6")).axes]
        self._programs: list[subprocess.Popen[bytes]] = []
        if port:
            self._start_fake()

    def _start_fake(self) -> None:
        if self.kind == "ssc32":
            calibrate_as_it_is(self.rig, self.folder / "config", str(self.link))
            fake = (
                "-c",
                HIL,
                "fake",
                "ssc32",
                "--rig",
                RIGS["ssc32"],
                "--link",
                str(self.link),
                "--trace",
                str(self.trace),
            )
        else:
            fake = ("-c", _FAKE_CR1, str(self.link), str(self.trace))
        self.start("fake", *fake)
        self.said("fake", "ready at")

    def start(self, name: str, *arguments: str) -> None:
        """Start a Python program beside the terminal, in a session of its own; its output goes into a file."""
        with (self.folder / f"{name}.out").open("wb") as out:
            started = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**self.environment, MARK: name},
                start_new_session=True,
                cwd=self.folder,
            )
        self._programs.append(started)

    def said(self, name: str, words: str, within_s: float = 30.0) -> str:
        """Wait until a program beside has said this; all that it said."""
        deadline_s = time.monotonic() + within_s
        while words not in (text := (self.folder / f"{name}.out").read_text()):
            if time.monotonic() > deadline_s:
                raise NeverBeganError(f"{name} did not say {words!r}: {text[-300:]}")
            time.sleep(0.02)
        return text

    @property
    def where(self) -> tuple[str, ...]:
        """Options that lead a command to the arm, and confirm its pose."""
        if not self.port:
            return ()
        return ("--hardware", "--port", str(self.link), "--pose-confirmed-by", "a test")

    @property
    def journals(self) -> list[Path]:
        """All that were written."""
        return sorted(self.folder.glob("**/*.mcap"))

    def close(self) -> None:
        """End what was started beside."""
        for program in self._programs:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGTERM)
            try:
                program.wait(10.0)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait()


@contextlib.contextmanager
def place(folder: Path, kind: str, *, port: bool) -> Iterator[Place]:
    """A place, cleared up at the end."""
    made = Place(folder, kind, port=port)
    try:
        yield made
    finally:
        made.close()


# -- commands --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Command:
    """A command, and how it gets to where its arm moves.

    Attributes:
        kind, port: see `Place`.
        arguments: given the place.
        until_moving: types and looks until the arm moves; raises `NeverBeganError` if it does not come so far.
        before: what has to be there first.
        journal: whether it keeps one.
        ends_well: ending is what it does when it is told to: exit code 0.
        suspends: Ctrl-Z suspends it; else that ends it, as Ctrl-C does.
        alone: whether nobody but the command itself moves its arm.
    """

    name: str
    kind: str
    port: bool
    arguments: Callable[[Place], tuple[str, ...]]
    until_moving: Callable[[Terminal, Place], None]
    before: Callable[[Place], None] = lambda place: None
    journal: bool = True
    ends_well: bool = False
    suspends: bool = True
    alone: bool = True


def _streams(terminal: Terminal, place: Place) -> None:
    terminal.sees("streaming ")
    time.sleep(0.6)
    if place.port:
        _await_motion(place)


def _await_motion(place: Place, within_s: float = 20.0) -> None:
    """Wait until the trace says that the arm moves."""
    deadline_s = time.monotonic() + within_s
    seen = _frames(place)
    while not _moves(_frames(place)[max(len(seen) - 1, 0) :]):
        if time.monotonic() > deadline_s:
            raise NeverBeganError("the arm does not move")
        time.sleep(0.05)


def _jogs(terminal: Terminal, place: Place) -> None:
    terminal.sees("STOP")
    terminal.sees("IDLE")
    terminal.type("s" if place.kind == "ssc32" else "h")
    terminal.type("h")
    terminal.sees("STREAMING")
    time.sleep(0.4)
    if place.port:
        _await_motion(place)


def _on_controller(terminal: Terminal, place: Place) -> None:
    terminal.sees("it depends on")
    if place.port:
        _await_motion(place, 30.0)
    else:
        time.sleep(5.0)


def _leave_park(place: Place) -> None:
    """Bring the arm away from its park pose."""
    away = place.folder / "away.toml"
    step = 'to = "home"' if place.kind == "ssc32" else "by_deg = { J1 = 30 }"
    away.write_text(f'title = "Away"\nstart = "park"\n[[step]]\ndo = "move"\n{step}\n')
    place.start("away", "-c", HIL, "run", RIGS[place.kind], str(away), *place.where)
    place.said("away", "bytes sent", 60.0)
    for journal in place.journals:
        journal.unlink()


def _calibrates(terminal: Terminal, place: Place) -> None:
    """Drive all channels; then the first one is moved a little, where the machine's clock counts."""
    terminal.sees("nothing moves before you say so")
    for _ in place.rig.axes:
        terminal.sees(r"> ")
        terminal.type("go\n")
    if place.port:
        _await_motion(place, 10.0)


def _serve_port(place: Place) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        (place.folder / "port").write_text(str(found.getsockname()[1]))
    if not place.port:
        return
    text = f'inherit = "{RIGS[place.kind]}"\n[controller]\nport = "{place.link}"\n'
    (place.folder / "served.toml").write_text(text)
    if place.kind == "ssc32":
        calibrate_as_it_is(
            wiring.load_rig(place.folder / "served.toml", calibrated=False), place.folder / "config", str(place.link)
        )


def _served(place: Place) -> tuple[str, ...]:
    rig = str(place.folder / "served.toml") if place.port else RIGS[place.kind]
    return ("serve", rig, *(("--hardware",) if place.port else ()), "--port", (place.folder / "port").read_text())


def _url(place: Place) -> str:
    arm = "served" if place.port else Path(RIGS[place.kind]).stem
    return f"http://127.0.0.1:{(place.folder / 'port').read_text()}/{arm}"


_DRIVER = """
import sys, time
import hil
with hil.connect(sys.argv[1]) as arm:
    from hil.types import Mode
    while arm.mode is Mode.CONNECTING:
        time.sleep(0.05)
    arm.claim()
    if arm.mode is Mode.UNKNOWN_POSE:
        arm.confirm()
    print("driving", flush=True)
    while arm.home(speed_percent=100.0) is Mode.IDLE and arm.park(speed_percent=100.0) is Mode.IDLE:
        pass
"""


def _drives(terminal: Terminal, place: Place) -> None:
    terminal.sees("serving ")
    place.start("driver", "-c", _DRIVER, _url(place))
    place.said("driver", "driving")
    time.sleep(1.5)
    if place.port:
        _await_motion(place)


def _serve_beside(place: Place) -> None:
    _serve_port(place)
    place.start("server", "-c", HIL, *_served(place))
    place.said("server", "serving ")


def _drives_by_keys(terminal: Terminal, place: Place) -> None:
    terminal.sees("STOP")
    terminal.sees("IDLE|UNKNOWN_POSE")
    began_s = time.monotonic()
    while time.monotonic() < began_s + 1.5:
        terminal.type("h")  # held down
        time.sleep(0.05)


def _window(terminal: Terminal, place: Place) -> None:
    terminal.sees("close the window to end")
    time.sleep(2.0)


def _alone(terminal: Terminal, place: Place) -> None:
    terminal.sees("ready at")
    time.sleep(0.2)


def commands() -> list[Command]:
    """Every command that moves an arm or stands for one, on both kinds of controller, own fake and port."""
    found = []
    for kind in ("ssc32", "cr1"):
        rig, task = RIGS[kind], TASKS[kind]
        found.append(Command("demo", kind, False, _fixed("demo", "--rig", rig, "--task", task, "--headless"), _streams))
        for port in (False, True):
            found.append(Command("run", kind, port, _with_where("run", rig, task), _streams))
            found.append(Command("jog", kind, port, _with_where("jog", rig), _jogs))
            found.append(Command("serve", kind, port, _served, _drives, _serve_port, ends_well=True))
        found.append(Command("park", kind, True, _with_where("park", rig), _parks, _leave_park))
        found.append(
            Command("drive", kind, False, lambda place: ("drive", _url(place)), _drives_by_keys, _serve_beside,
                    journal=False, alone=False)
        )  # fmt: skip
        name = "cr1" if kind == "cr1" else "ssc32"
        found.append(Command("fake", kind, False, _fixed("fake", name), _alone, journal=False, ends_well=True))
        found.append(Command("dashboard", kind, False, _fixed("dashboard", rig), _window, ends_well=True, alone=False))
    for port in (False, True):
        bridge = _with_where("program", "rv2aj", PROGRAM)
        controller = _with_where("program", "rv2aj", PROGRAM, "--on", "controller")
        found.append(Command("program", "cr1", port, bridge, _streams))
        found.append(
            Command("program on controller", "cr1", port, controller, _on_controller, journal=False, suspends=False)
        )
        found.append(Command("calibrate", "ssc32", port, _calibrating, _calibrates, journal=False))
    return found


def _fixed(*arguments: str) -> Callable[[Place], tuple[str, ...]]:
    return lambda place: arguments


def _with_where(*arguments: str) -> Callable[[Place], tuple[str, ...]]:
    return lambda place: (*arguments, *place.where)


def _calibrating(place: Place) -> tuple[str, ...]:
    where = ("--hardware", "--port", str(place.link)) if place.port else ()
    return ("calibrate", RIGS["ssc32"], "--by", "a test", *where)


def _parks(terminal: Terminal, place: Place) -> None:
    terminal.sees("REAL")
    _await_motion(place)


# -- what happens ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Event:
    """Something that happens to a command.

    Attributes:
        do: does it.
        code: exit code of a command that does not end well by being ended.
        says: words that have to be on the screen afterwards.
        readable: whether the terminal is still there to be read.
        stands_s: how long the command stood still, so that its arm was stopped by others.
        abrupt: the owner dies: the stream ends without a ramp.
    """

    name: str
    do: Callable[[Terminal], None]
    code: int
    says: str
    readable: bool = True
    stands_s: float = 0.0
    abrupt: bool = False


def _twice(terminal: Terminal) -> None:
    for wait_s in (0.1, 0.3, 1.2):
        terminal.type(CTRL_C)
        time.sleep(wait_s)
    terminal.type(CTRL_C)


def _suspended(then: Callable[[Terminal], None]) -> Callable[[Terminal], None]:
    def do(terminal: Terminal) -> None:
        terminal.type(CTRL_Z)
        terminal.is_suspended()
        time.sleep(SUSPENDED_S)
        then(terminal)

    return do


def _term_then_fg(terminal: Terminal) -> None:
    terminal.tell(signal.SIGTERM)
    terminal.foreground()


def _kill(terminal: Terminal) -> None:
    terminal.tell(signal.SIGKILL)


def _freeze(terminal: Terminal) -> None:
    terminal.tell_all(signal.SIGSTOP)
    terminal.is_suspended()
    time.sleep(SUSPENDED_S)
    terminal.foreground()


def _close_suspended(terminal: Terminal) -> None:
    terminal.close()


EVENTS = (
    Event("Ctrl-C", lambda t: t.type(CTRL_C), 130, "interrupted"),
    Event("Ctrl-C again and again", _twice, 130, "interrupted"),
    Event("Ctrl-\\", lambda t: t.type(CTRL_BACKSLASH), 131, "interrupted"),
    Event("SIGTERM", lambda t: t.tell(signal.SIGTERM), 143, "ended by the system"),
    Event("SIGTERM for all", lambda t: t.tell_all(signal.SIGTERM), 143, "ended by the system"),
    Event("SIGHUP", lambda t: t.tell(signal.SIGHUP), 129, "the terminal was closed"),
    Event("SIGHUP for all", lambda t: t.tell_all(signal.SIGHUP), 129, "the terminal was closed"),
    Event("terminal closed", lambda t: t.close(), 129, "", readable=False),
    Event("Ctrl-Z, fg", _suspended(Terminal.foreground), 1, "suspended for", stands_s=SUSPENDED_S),
    Event("Ctrl-Z, SIGTERM, fg", _suspended(_term_then_fg), 143, "ended by the system", stands_s=SUSPENDED_S),
    Event("Ctrl-Z, kill -9", _suspended(_kill), -9, "", stands_s=SUSPENDED_S),
    Event("Ctrl-Z, terminal closed", _suspended(_close_suspended), 129, "", readable=False, stands_s=SUSPENDED_S),
    Event("SIGSTOP for all, fg", _freeze, 1, "suspended for", stands_s=SUSPENDED_S, abrupt=True),
    Event("kill -9", _kill, -9, "", abrupt=True),
)


# -- one round -------------------------------------------------------------------------------------------


def round_of(command: Command, event: Event, folder: Path, rng: random.Random) -> Outcome:
    """Bring a command to where its arm moves, let it happen, and judge."""
    where = "port" if command.port else "own fake"
    outcome = Outcome(f"{command.name}, {command.kind}, {where}: {event.name}")
    try:
        with place(folder, command.kind, port=command.port) as here:
            command.before(here)
            terminal = Terminal(list(command.arguments(here)), here.environment, folder)
            try:
                command.until_moving(terminal, here)
                time.sleep(rng.uniform(0.0, 0.3))
                if terminal.code is not None:
                    raise NeverBeganError(f"it ended by itself with {terminal.code}: {terminal.screen[-300:]!r}")
                _happens(outcome, command, event, terminal, here)
            finally:
                terminal.clear_up()
    except NeverBeganError as error:
        outcome.unjudged = str(error)
    return outcome


def _happens(outcome: Outcome, command: Command, event: Event, terminal: Terminal, here: Place) -> None:
    event_s, seen = time.monotonic(), len(terminal.screen)
    if not command.suspends and "Ctrl-Z" in event.name:
        terminal.type(CTRL_Z)
        codes = {128 + signal.SIGTSTP}
    else:
        event.do(terminal)
        codes = _codes(command, event)
    resumed = event.name in ("Ctrl-Z, fg", "SIGSTOP for all, fg") and _goes_on(command)
    outcome.code = terminal.ends(RESUMED_S if resumed else 60.0)
    if resumed and command.name == "program on controller":
        codes = codes | {0}  # it went on, and its program has come to its end by now
    if outcome.code is None and resumed:
        terminal.type(CTRL_C)
        outcome.code = terminal.ends(30.0)
        codes = {0 if command.ends_well else 130}
    outcome.words = terminal.screen[seen:]
    _judge(outcome, command, event, terminal, here, codes, event_s)


def _goes_on(command: Command) -> bool:
    """Whether it goes on after it was suspended: nothing of its own was lost meanwhile."""
    return command.name in ("serve", "fake", "dashboard", "drive", "calibrate", "program on controller")


def _codes(command: Command, event: Event) -> set[int]:
    if event.code > 1 and command.ends_well:
        return {0}
    if command.name == "calibrate" and not event.readable:
        return {event.code, 1}  # where it waits for an answer, the end of input may come first
    return {event.code}


def _judge(
    outcome: Outcome,
    command: Command,
    event: Event,
    terminal: Terminal,
    here: Place,
    codes: set[int],
    event_s: float,
) -> None:
    outcome.hold(outcome.code in codes, f"exit code {outcome.code}, expected {sorted(codes)}")
    # Who outlives a command that was killed brings its arm to rest first.
    left = terminal.left(LEFT_S + (rest_time_s(here.rig) if outcome.code == -signal.SIGKILL else 0.0))
    outcome.hold(not left, f"left behind: {left}")
    for words in _BAD_WORDS:
        outcome.hold(words not in terminal.screen, f"{words!r} was shown")
    if event.readable and event.code > 0 and command.suspends and not command.ends_well and not _goes_on(command):
        outcome.hold(event.says in outcome.words, f"{event.says!r} was not said")
    if event.readable and event.code > 0:
        outcome.hold(terminal.modes == terminal.before, "the terminal was not put back")
        shown, hidden = outcome.words.rfind("\x1b[?25h"), terminal.screen.rfind("\x1b[?25l")
        outcome.hold(hidden < 0 or shown >= 0, "the cursor was not put back")
    if command.journal:
        _judge_journals(outcome, command, event, here)
    unwatched = event.abrupt and not command.suspends  # the controller runs its program by itself, as is said
    if here.port and not unwatched:
        _judge_trace(outcome, event, here, event_s)


def _judge_journals(outcome: Outcome, command: Command, event: Event, here: Place) -> None:
    outcome.hold(bool(here.journals), "no journal was kept")
    for journal in here.journals:
        verdict = verify(journal)
        outcome.hold(
            verdict.completeness is Completeness.COMPLETE, f"the journal is {verdict.completeness}: {verdict.reason}"
        )
        ticks = [entry.tick for entry in read_journal(journal) if entry.tick is not None]
        modes = [tick.mode for tick in ticks]
        outcome.hold(Mode.FAULT not in modes, f"there was a fault: {_words(ticks, 'fault')}")
        outcome.hold(not modes or modes[-1] is Mode.DISCONNECTED, f"it ends in {modes[-1:]}")
        if command.alone and not event.abrupt and command.kind == "ssc32":
            _judge_ramp(outcome, ticks, here)
        again = replay(journal)
        outcome.hold(again.same, f"the journal does not replay: {again.first_difference}")


def _words(ticks: list[TickRecord], of: str) -> str:
    return next((event for tick in ticks for event in tick.events if of in event), "")


def _judge_ramp(outcome: Outcome, ticks: list[TickRecord], here: Place) -> None:
    """To its end the motion keeps the acceleration limit, as the samples were before they were rounded to the wire."""
    sent = [
        tick for tick in ticks if isinstance(tick.wanted, JointCommand) and tick.mode in (Mode.STREAMING, Mode.STOPPING)
    ]
    rows = [tick.wanted.positions for tick in sent if isinstance(tick.wanted, JointCommand)]
    if len(rows) < 3:
        return
    period_s = here.rig.period_s
    for axis, *places in zip(here.rig.axes, *rows[-3:], strict=True):
        a, b, c = places
        much = abs(c - 2.0 * b + a) / period_s**2 / axis.acceleration
        outcome.hold(much < 1.05, f"{axis.name} ends with {much:.2f} of the allowed acceleration")
        speed = abs(c - b) / period_s
        outcome.hold(speed <= 2.0 * axis.acceleration * period_s, f"{axis.name} ends at {speed:.4f} a second")


Frame = tuple[float, Sequence[float | None]]
"""A time, and the joints in degrees or the pulses of the axes; None for an axis that is not driven."""


def _frames(here: Place) -> list[Frame]:
    """As the fake's trace has them."""
    with contextlib.suppress(FileNotFoundError):
        entries = [json.loads(line) for line in here.trace.read_bytes().splitlines() if line.endswith(b"}")]
        if here.kind == "cr1":
            return [(entry["time_s"], entry["joints_deg"]) for entry in entries]
        return [(entry["time_s"], [entry["pulses_us"][each] or None for each in here.channels]) for entry in entries]
    return []


def _moves(frames: list[Frame]) -> bool:
    # A board may shift a pulse once by what it rounds when it is taken over.
    return sum(_step(a, b) > STILL for (_, a), (_, b) in pairwise(frames)) >= MOVING_FRAMES


def _step(before: Sequence[float | None], after: Sequence[float | None]) -> float:
    """The largest change of what was driven before and after."""
    return max((abs(b - a) for a, b in zip(before, after, strict=True) if a is not None and b is not None), default=0.0)


def _judge_trace(outcome: Outcome, event: Event, here: Place, event_s: float) -> None:
    size = -1
    while size != (size := here.trace.stat().st_size):
        time.sleep(0.2)
    frames = _frames(here)
    last_s, fastest, fastest_after = event_s, 0.0, 0.0
    for (_, before), (time_s, after) in pairwise(frames):
        step = _step(before, after)
        if time_s <= event_s:
            fastest = max(fastest, step)
        elif step > STILL:
            last_s, fastest_after = time_s, max(fastest_after, step)
    outcome.stopped_s = last_s - event_s
    allowed_s = (
        LOOK_S + here.stop_time_s + (OWNER_SILENT_S if event.stands_s else 0.0) + (0.5 if here.kind == "cr1" else 0.0)
    )
    outcome.hold(outcome.stopped_s <= allowed_s, f"it moved for {outcome.stopped_s:.2f} s, allowed {allowed_s:.2f} s")
    if here.kind == "cr1":  # it may have been told before it had begun to move
        fastest = max(fastest, CYCLE_S * max(axis.speed for axis in here.rig.axes) / DEG)
    outcome.hold(fastest_after <= 1.4 * fastest, f"a step of {fastest_after:.2f} after one of {fastest:.2f} at most")
    driven = frames[-1][1]
    outcome.hold(here.kind == "cr1" or any(pulse is not None for pulse in driven), "the arm is driven no more")


# -- bad moments -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """When Ctrl-C comes.

    Attributes:
        after: shown before; empty for the start of the program.
        within_s: it comes at a random time so long after.
        late: the command may be over already, and then ends as it would have.
    """

    name: str
    after: str
    within_s: float
    late: bool = False


MOMENTS = (
    Moment("importing", "", 0.35),
    Moment("planning", "(FAKE|REAL) ", 1.0),
    Moment("starting", "PASSED", 2.5),
    Moment("reporting", "(the motion is done|-> idle: )", 2.0, late=True),
    Moment("leaving", "journal ", 0.3, late=True),
)
SHORT = {
    "ssc32": '[[step]]\ndo = "move"\nby_deg = { base = 3 }\n',
    "cr1": '[[step]]\ndo = "move"\nby_deg = { J1 = 1 }\n',
}


def moment_round(kind: str, port: bool, moment: Moment, folder: Path, rng: random.Random) -> Outcome:
    """Ctrl-C at a bad moment of a short `hil run`."""
    where = "port" if port else "own fake"
    outcome = Outcome(f"run, {kind}, {where}: Ctrl-C while {moment.name}")
    task = folder / "short.toml"
    task.write_text(f'title = "Short"\nstart = "park"\n{SHORT[kind]}')
    try:
        with place(folder, kind, port=port) as here:
            terminal = Terminal(["run", RIGS[kind], str(task), *here.where], here.environment, folder)
            try:
                if moment.after:
                    terminal.sees(moment.after)
                time.sleep(rng.uniform(0.0, moment.within_s))
                event_s = time.monotonic()
                if terminal.code is None:
                    terminal.type(CTRL_C)
                elif not moment.late:
                    raise NeverBeganError("it was over before Ctrl-C came")
                outcome.code = terminal.ends()
                outcome.words = terminal.screen
                codes = {0, 130} if moment.late else {130}
                outcome.hold(outcome.code in codes, f"exit code {outcome.code}, expected {sorted(codes)}")
                left = terminal.left(LEFT_S)
                outcome.hold(not left, f"left behind: {left}")
                for words in _BAD_WORDS:
                    outcome.hold(words not in terminal.screen, f"{words!r} was shown")
                outcome.hold(terminal.modes == terminal.before, "the terminal was not put back")
                for journal in here.journals:
                    verdict = verify(journal)
                    # Broken off before the loop's first tick, nothing has moved, and no journal of it can be whole.
                    whole = verdict.completeness is Completeness.COMPLETE or not (moment.late or verdict.ticks)
                    outcome.hold(whole, f"the journal is {verdict.completeness}")
                if port and here.trace.exists() and here.trace.stat().st_size:
                    _judge_trace(outcome, EVENTS[0], here, event_s)
            finally:
                terminal.clear_up()
    except NeverBeganError as error:
        outcome.unjudged = str(error)
    return outcome
