"""What stands around a round in which processes die: arm, cable, the run that is the victim, and what they leave.

    fake controller  --  cable (a process that writes down every byte)  --  hil run: owner, loop, recorder

All in processes of their own, judged on the machine's one monotonic clock. Linux only: children are found in /proc.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from calibrations import calibrate_as_it_is
from kill_nursery import Nursery
from kill_rounds import FAKE_LATE_S, Lateness, await_that, children, holder
from soak_cr1 import read_facts
from soak_oracles import FRAME_S, AxisFacts, RigFacts, read_rig
from wire_record import Record

from hil.model.files import find
from hil.runtime import wiring
from hil.runtime.ring import default_folder
from hil.units import DEG

SUPPORT = Path(__file__).parent
PROCESSES = SUPPORT.parent / "processes"
BEGINS_S = 30.0
ENDS_S = 30.0
REST_S = 0.15


class NeverBeganError(Exception):
    """A round that did not get as far as its blow: no promise was kept or broken in it."""


@dataclass(frozen=True)
class Arm:
    """One kind of arm for these rounds.

    Attributes:
        kind: of controller.
        rig, task: names or files.
        facts: of the rig, read with nothing of the product.
        fake: behind `hil fake`.
    """

    kind: str
    rig: str
    task: str
    facts: RigFacts
    fake: tuple[str, ...]

    @property
    def moves_by_itself(self) -> bool:
        """The controller plans each move, and ends the one that it has."""
        return self.kind == "rv2aj"

    @property
    def end_time_s(self) -> float:
        """From the end of the stream to the last change that the controller makes by itself."""
        return self.facts.settle_after_s if self.moves_by_itself else self.facts.end_time_s

    @property
    def ramp_s(self) -> float:
        """From a stop to the last line that may leave for it."""
        return self.facts.stop_time_s - self.facts.settle_after_s - (0 if self.moves_by_itself else self.look_ahead_s)

    @property
    def look_ahead_s(self) -> float:
        """Of the rig."""
        return self.facts.look_ahead_s


def lynx6() -> Arm:
    """A Lynx6 on an SSC-32."""
    rig = str(PROCESSES / "quick-rig.toml")
    facts = read_rig(find("rigs", "lynx6"))
    return Arm("ssc32", rig, str(PROCESSES / "there-and-back.toml"), facts, ("ssc32", "--rig", rig))


def rv2aj() -> Arm:
    """An RV-2AJ on a CR1."""
    rig = str(PROCESSES / "rv2aj-quick.toml")
    return Arm("rv2aj", rig, str(PROCESSES / "rv2aj-there-and-back.toml"), read_facts(rig), ("cr1",))


def rv2aj_mxt() -> Arm:
    """An RV-2AJ led by packets, which no cable of ours carries: what they did is in the trace of the fake's arm."""
    port = UDP_PORTS + os.getpid() % 10_000
    table = (PROCESSES / "rv2aj-mxt-quick.toml").read_text(encoding="utf-8").replace(":47311", f":{port}")
    rig = Path(tempfile.gettempdir()) / f"rv2aj-mxt-{os.getpid()}.toml"
    rig.write_text(table, encoding="utf-8")
    fake = ("cr1", "--set", "ethernet=true", "--set", f"udp_port={port}")
    return Arm("rv2aj-mxt", str(rig), str(PROCESSES / "rv2aj-there-and-back.toml"), read_facts("rv2aj-mxt"), fake)


UDP_PORTS = 50_000
"""Rounds go beside each other, each in a process of its own, and each needs a port."""

ARMS = {"lynx6": lynx6, "rv2aj": rv2aj, "rv2aj-mxt": rv2aj_mxt}


class Program:
    """One `hil` command in a session of its own, its output in files.

    Args:
        nursery: who starts it.
        folder: for its output.
        name: of its files.
        arguments: behind `hil`.
        environment: on top of the nursery's.
        terminal: path of the terminal that it gets; None for none.
        plant: function of `planted_processes` that is called in it first.
    """

    def __init__(
        self,
        nursery: Nursery,
        folder: Path,
        name: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        terminal: str | None = None,
        plant: str | None = None,
    ) -> None:
        self._nursery = nursery
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        self.out.touch()
        self.err.touch()
        self.pid = nursery.start(tuple(arguments), self.out, self.err, dict(environment), terminal, plant)
        self._family = {self.pid}

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._nursery.code(self.pid)

    @property
    def said(self) -> str:
        """What it has printed on standard error."""
        return self.err.read_text(errors="replace")

    def says(self, words: str, within_s: float) -> None:
        """Wait until it has printed these words.

        Raises:
            NeverBeganError: it ended before, or took too long.
        """

        def printed() -> bool:
            return words in self.out.read_text(errors="replace") or self.code is not None

        with _never_began(f"{words!r} was not said"):
            await_that(printed, within_s, words)
            text = self.out.read_text(errors="replace")
            assert words in text, f"ended with {self.code}: {text[-300:]} {self.said[-300:]}"

    def family(self) -> list[int]:
        """Its children by now; they have to end as well, whatever happens to it."""
        young = children(self.pid)
        self._family |= set(young)
        return young

    def ends(self, within_s: float = ENDS_S) -> int:
        """Wait for its end and for that of all its children; its exit code.

        Raises:
            AssertionError: that took too long.
        """
        await_that(lambda: self.code is not None, within_s, f"process {self.pid} has not ended")
        await_that(lambda: not any(map(runs, self._family)), within_s, "children have not ended")
        code = self.code
        assert code is not None
        return code

    def clear_up(self) -> None:
        """End whatever is left of it, and take away what a killed owner leaves in memory."""
        self.family()
        for pid in self._family:
            if runs(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                    os.kill(pid, signal.SIGKILL)
        await_that(lambda: self.code is not None, 5.0, f"process {self.pid} cannot be ended")
        for left in default_folder().glob(f"hil-{self.pid}-*"):
            shutil.rmtree(left, ignore_errors=True)


def runs(pid: int) -> bool:
    """The process is there, and not only as an entry."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@contextlib.contextmanager
def _never_began(words: str) -> Iterator[None]:
    try:
        yield
    except AssertionError as error:
        raise NeverBeganError(f"{words}: {error}") from None


class Cable:
    """The process between fake and driver."""

    def __init__(self, near: Path, far: Path, record: Path) -> None:
        self._record = record
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPPORT / "wire_relay.py"), str(near), str(far), str(record)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def do(self, what: str, **how: Any) -> float:
        """Have it do something, see `wire_relay.Cable.obey`; when it began to, which on a busy machine may be late."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": what, **how}).encode() + b"\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def record(self) -> Record:
        """What it has written down so far."""
        return Record(self._record)

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(5.0)
        self._process.stdout.close()


@dataclass(frozen=True)
class Frame:
    """What the arm did in one step of its fake: widths of the axes in us (SSC-32 only), and where they were."""

    time_s: float
    pulses_us: tuple[float, ...]
    positions: tuple[float, ...]


class Trace:
    """What controller and arm really did: one entry per step in which something moved. Positions in rad or m."""

    def __init__(self, path: Path, arm: Arm) -> None:
        self._facts = arm.facts
        lines = path.read_bytes().splitlines() if path.exists() else []
        entries = [json.loads(line) for line in lines if line.endswith(b"}")]
        if arm.kind == "ssc32":
            channels = [axis.channel for axis in arm.facts.axes]
            self.frames = [
                Frame(
                    e["time_s"],
                    tuple(e["pulses_us"][c] for c in channels),
                    tuple(e["positions"][c] for c in channels),
                )
                for e in entries
            ]
        else:
            self.frames = [Frame(e["time_s"], (), tuple(x * DEG for x in e["joints_deg"])) for e in entries]

    def last_pulse_change_s(self, since_s: float) -> float:
        """When a pulse changed last; `since_s` if none did after it."""
        changed = [
            after.time_s
            for before, after in zip(self.frames, self.frames[1:], strict=False)
            if after.pulses_us != before.pulses_us
        ]
        return max([since_s, *changed])

    def last_motion_s(self, since_s: float) -> float:
        """When an axis was last further than a tenth of a degree or millimetre from where it came to rest."""
        if not self.frames:
            return since_s
        rest = self.frames[-1].positions
        away = [frame.time_s for frame in self.frames if not self._near(frame.positions, rest)]
        return max([since_s, *away])

    def moved(self, since_s: float, until_s: float = math.inf) -> bool:
        """Whether an axis went anywhere in that time."""
        at = [frame for frame in self.frames if frame.time_s <= since_s][-1:]
        later = [frame for frame in self.frames if since_s < frame.time_s <= until_s]
        return bool(at) and any(not self._near(at[0].positions, frame.positions) for frame in later)

    def steps(self, since_s: float) -> list[tuple[float, float]]:
        """When, and how far the pulses went from one frame to the next, as a part of what an axis may do in a frame."""
        found = []
        for before, after in pairwise(self.frames):
            if after.time_s > since_s:
                ways = zip(self._facts.axes, before.pulses_us, after.pulses_us, strict=False)
                found.append((after.time_s, max((_step(*way) for way in ways), default=0.0)))
        return found

    def worst_step(self, since_s: float) -> float:
        """The largest of them."""
        return max((step for _, step in self.steps(since_s)), default=0.0)

    @property
    def pulses_us(self) -> tuple[float, ...]:
        """The widths that are generated now."""
        return self.frames[-1].pulses_us if self.frames else ()

    def at(self, time_s: float) -> tuple[float, ...]:
        """The widths at some time."""
        return [frame.pulses_us for frame in self.frames if frame.time_s <= time_s][-1]

    def _near(self, here: Sequence[float], there: Sequence[float]) -> bool:
        return all(abs(a - b) <= axis.still for axis, a, b in zip(self._facts.axes, here, there, strict=True))


def _step(axis: AxisFacts, before_us: float, after_us: float) -> float:
    if not (before_us and after_us):
        return 0.0
    way = abs(axis.position(after_us) - axis.position(before_us)) - axis.unit_per_us
    return max(way / (axis.speed * FRAME_S), 0.0)


class Bench:
    """One place for rounds, one after the other: a nursery, a user's folder, a certificate for the task.

    Args:
        arm: which.
        folder: an empty one.
    """

    def __init__(self, arm: Arm, folder: Path) -> None:
        self.arm, self.folder = arm, folder
        self.near, self.far = folder / "arm", folder / "controller"
        self.certificate = folder / "certificate.json"
        self._nurseries: dict[str, Nursery] = {}
        self._rounds = 0
        rig = wiring.load_rig(arm.rig, calibrated=False)
        if arm.kind == "ssc32":
            calibrate_as_it_is(rig, folder / "config", str(self.near))

    def nursery(self, kind: str = "", environment: dict[str, str] | None = None) -> Nursery:
        """The usual one, or one with an environment of its own."""
        if kind not in self._nurseries:
            self._nurseries[kind] = Nursery(environment)
        return self._nurseries[kind]

    def prepare(self) -> None:
        """Have the task certified, once for all rounds."""
        if self.certificate.exists():
            return
        arguments = ("preview", self.arm.rig, self.arm.task, "-o", str(self.certificate))
        preview = Program(self.nursery(), self.folder, "preview", arguments, self.environment(self.folder))
        code = preview.ends(60.0)
        assert code == 0, f"the task is not certified: {preview.out.read_text()} {preview.said}"

    def environment(self, state: Path) -> dict[str, str]:
        """Folders of the user who runs things here."""
        return {"XDG_STATE_HOME": str(state / "state"), "XDG_CONFIG_HOME": str(self.folder / "config")}

    def round_folder(self) -> Path:
        """A fresh one."""
        self._rounds += 1
        folder = self.folder / f"round-{self._rounds}"
        folder.mkdir()
        return folder

    def close(self) -> None:
        """End the nurseries."""
        for nursery in self._nurseries.values():
            nursery.close()


@dataclass
class Blow:
    """When a round struck, and whom.

    Attributes:
        at_s: the moment.
        pids: the processes by name.
    """

    at_s: float
    pids: dict[str, int] = field(default_factory=dict)


class Scene:
    """A fake with its arm, the cable, and the first run on it.

    Args:
        bench: where.
        plant: function of `planted_processes` for the run; None for the product as it is.
        fake_plant: the same for the fake.
        terminal: of the run.
        journals: folder for the journal; None for the round's own.
        nursery: who starts the run; None for the bench's.
        own_fake: no cable and no fake of ours: the run starts one of its own.
    """

    def __init__(
        self,
        bench: Bench,
        *,
        plant: str | None = None,
        fake_plant: str | None = None,
        terminal: str | None = None,
        journals: Path | None = None,
        nursery: Nursery | None = None,
        own_fake: bool = False,
    ) -> None:
        bench.prepare()
        self.bench, self.arm, self.facts = bench, bench.arm, bench.arm.facts
        self.folder = bench.round_folder()
        self.journal = (journals or self.folder) / "run.mcap"
        self._trace = self.folder / "trace.jsonl"
        self._plant, self._nursery, self._own_fake = plant, nursery or bench.nursery(), own_fake
        self.order = self.folder / "order"
        self.lateness = Lateness()
        self._programs: list[Program] = []
        self._cable: Cable | None = None
        try:
            if not own_fake:
                self.fake = self._start_fake(fake_plant)
                self._cable = Cable(bench.near, bench.far, self.folder / "wire.jsonl")
            self.owner = self.start("run", self.journal, terminal=terminal)
        except BaseException:
            self.clear_up()
            raise

    def _start_fake(self, plant: str | None) -> Program:
        arguments = ("fake", *self.arm.fake, "--link", str(self.bench.far), "--trace", str(self._trace))
        environment = {**self.bench.environment(self.folder), "HIL_TEST_ORDER": str(self.order)}
        if plant is None and self.arm.kind.startswith("rv2aj"):
            plant = "parked_cr1"
        fake = Program(self.bench.nursery(), self.folder, "fake", arguments, environment, plant=plant)
        self._programs.append(fake)
        fake.says("ready at", 20.0)
        return fake

    @property
    def cabled(self) -> bool:
        """Whether a cable of ours is between fake and run."""
        return self._cable is not None

    @property
    def cable(self) -> Cable:
        """Between fake and run."""
        assert self._cable is not None
        return self._cable

    def start(
        self,
        name: str,
        journal: Path,
        *,
        confirmed: bool = True,
        terminal: str | None = None,
        state: Path | None = None,
    ) -> Program:
        """Run the task on the arm.

        Args:
            name: of its files.
            journal: to write.
            confirmed: somebody vouches for the pose.
            terminal: that it gets.
            state: folder of its user's state; None for the round's.
        """
        real = () if self._own_fake else ("--hardware", "--port", str(self.bench.near))
        vouched = ("--pose-confirmed-by", "a test") if confirmed and not self._own_fake else ()
        certificate = ("--certificate", str(self.bench.certificate))
        arguments = ("run", self.arm.rig, self.arm.task, *real, *vouched, *certificate, "--journal", str(journal))
        program = Program(
            self._nursery,
            self.folder,
            name,
            arguments,
            self.bench.environment(state or self.folder),
            terminal,
            self._plant,
        )
        self._programs.append(program)
        return program

    def tell(self, name: str, *arguments: str) -> Program:
        """Another command of the same user's, at another terminal."""
        program = Program(self.bench.nursery(), self.folder, name, arguments, self.bench.environment(self.folder))
        self._programs.append(program)
        return program

    def stream(self, rng: random.Random, within_s: tuple[float, float], printed: Path | None = None) -> Blow:
        """Wait for a random moment of the motion.

        Raises:
            NeverBeganError: it never came to that.
        """
        if printed is None:
            self.owner.says("streaming ", BEGINS_S)
        else:
            with _never_began("'streaming ' was not said"):
                await_that(lambda: "streaming " in printed.read_text(errors="replace"), BEGINS_S, "streaming")
        moment_s = time.monotonic() + rng.uniform(*within_s)
        pids = self._processes()
        time.sleep(max(moment_s - time.monotonic(), 0.0))
        if self.owner.code is not None:
            raise NeverBeganError(f"it ended by itself: {self.owner.said[-300:]}")
        return Blow(time.monotonic(), pids)

    def _processes(self) -> dict[str, int]:
        """Those that can be struck, by name."""
        young = self.owner.family()
        if self._own_fake:
            return {"owner": self.owner.pid}
        line = os.path.realpath(self.bench.near)
        found = {
            "owner": self.owner.pid,
            "fake": self.fake.pid,
            "recorder": holder(young, lambda opened: opened == str(self.journal)),
            "loop": holder(young, lambda opened: opened == line),
        }
        pids = {name: pid for name, pid in found.items() if pid is not None}
        if lacking := found.keys() - pids.keys():
            raise NeverBeganError(f"not found among the children: {lacking}")
        return pids

    def trace(self) -> Trace:
        """What the arm has done so far."""
        return Trace(self._trace, self.arm)

    def rest(self) -> Trace:
        """The trace once nothing has moved for a while."""
        size = -1
        while size != (size := self._trace.stat().st_size if self._trace.exists() else 0):
            time.sleep(REST_S)
        return self.trace()

    def slack_s(self, since_s: float) -> float:
        """What the machine may add to a bound: fake and cable are processes like any other, and get their turn so."""
        return FAKE_LATE_S + 2.0 * self.lateness.worst_s(since_s)

    def clear_up(self) -> None:
        """End everything."""
        self.lateness.stop()
        for program in reversed(self._programs):
            program.clear_up()
        if self._cable is not None:
            self._cable.close()


@contextlib.contextmanager
def scene(bench: Bench, **how: Any) -> Iterator[Scene]:
    """A scene, cleared up at the end."""
    made = Scene(bench, **how)
    try:
        yield made
    finally:
        made.clear_up()
