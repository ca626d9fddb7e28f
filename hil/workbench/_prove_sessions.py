"""Trials of the whole stack: park and home, an even pulse, stops from motion, random sessions on random lines."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hil.errors import HilError
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.refusal import RefusedError
from hil.runtime.certified_rows import wire_table
from hil.runtime.preview import preview
from hil.safety.certificate import Certificate, issue
from hil.safety.checker import check_motion
from hil.safety.findings import Findings
from hil.testing.arms import EPOCH_S, VirtualArm
from hil.testing.bad_targets import BadTargets
from hil.testing.facts import FRAME_S
from hil.testing.fault_scripts import Faults, fault_script
from hil.types import (
    Arm,
    ArmJog,
    Confirm,
    EmergencyStop,
    JointCommand,
    Load,
    Mode,
    Request,
    Reset,
    Start,
    Stop,
    SupplyCut,
)
from hil.version import software_version
from hil.workbench._proof import FoundError, Search
from hil.workbench._prove_parts import breaks

JITTER_S = 0.002
LEAST_STEPS_US = 4.0
"""Slower than so many microseconds a frame, rounding alone makes a pulse stand still now and then."""
PAUSE = 0.1
"""A frame in which the pulse goes less than this share of its usual step is a pause."""
WAYS = 5


class _Way(NamedTuple):
    """A motion that the preview has passed."""

    name: str
    motion: Motion
    certificate: Certificate


class Stack:
    """The whole stack of one rig, and motions for it that are clear."""

    def __init__(self, search: Search) -> None:
        self.search, self.rig = search, search.rig
        self.ways: list[_Way] = []

    # -- park and home -----------------------------------------------------------------------------------

    def park_and_home(self) -> None:
        """A guided first move in the park pose, to home and back, each previewed and streamed."""
        arm = VirtualArm(self.rig)
        for name, start, goal in (
            ("park to home", self.rig.park, self.rig.home),
            ("home to park", self.rig.home, self.rig.park),
        ):
            way = self._previewed(name, start, goal)
            self.ways.append(way)
            self.search.tried += 1
            with _Explained(f"the way from {name}"):
                arm.ready()
                arm.load(way.motion, way.certificate)
                arm.until(Mode.IDLE, Start(digest=way.motion.digest), within_s=way.motion.duration_s + 2.0)
        for axis, jump in zip(self.search.axes, arm.first_jumps, strict=True):
            if jump > axis.per_us:
                raise FoundError(f"{axis.name} jumps by {axis.say(jump)} when it is first driven in the park pose")
        self._judge(arm)

    def _previewed(self, name: str, start: Sequence[float], goal: Sequence[float]) -> _Way:
        with _Explained(f"the way from {name}"):
            motion = plan_joint_move(self.rig, start, goal)
            report = preview(self.rig, motion, now_epoch_s=EPOCH_S)
            if report.certificate is None:
                raise RefusedError(report.refusals[:1])
            return _Way(name, motion, report.certificate)
        raise AssertionError

    # -- an even pulse -----------------------------------------------------------------------------------

    def even_pulse(self) -> None:
        """A long move of constant speed with late and early ticks, on five phases of the board's frames."""
        found = self._long_way()
        if found is None:
            self.search.notes.append("no joint has a long clear way at a speed that shows pauses: evenness not judged")
            return
        index, motion, certificate = found
        for fifth in range(5):
            self.search.tried += 1
            steps_us = self._steps_us(index, motion, certificate, fifth * FRAME_S / 5)
            usual, least = float(np.mean(steps_us)), float(np.min(steps_us))
            if least < PAUSE * usual:
                axis, jitter_s = self.search.axes[index], self._jitter_s
                raise FoundError(
                    f"timing.look_ahead_ms = {self.rig.look_ahead_s * 1e3:g} is too short: in a steady move of "
                    f"{axis.name} with ticks up to {jitter_s * 1e3:g} ms late, the pulse pauses between samples (it "
                    f"goes on by {least:.2g} us in a frame instead of {usual:.1f}), so the arm stops and goes. Write "
                    f"two or three periods, {2e3 * self.rig.period_s:g} or {3e3 * self.rig.period_s:g}"
                )

    @property
    def _jitter_s(self) -> float:
        return min(JITTER_S, 0.2 * self.rig.period_s)

    def _long_way(self) -> tuple[int, Motion, Certificate] | None:
        rig = self.rig
        fastest = sorted(
            range(len(rig.axes)), key=lambda i: rig.axes[i].speed / self.search.axes[i].per_us, reverse=True
        )
        for index in fastest:
            axis = rig.axes[index]
            room = axis.soft_margin + 1e-6
            for others in (rig.park, rig.home):
                ends = [
                    tuple(x if i == index else at for i, at in enumerate(others))
                    for x in (axis.lower + room, axis.upper - room)
                ]
                motion = plan_joint_move(rig, *ends)
                if self._frame_step_us(index, motion) < LEAST_STEPS_US:
                    continue
                findings = check_motion(rig, self.search.robot, motion)
                if not findings.refusals:
                    return index, motion, _certified(rig, motion, findings)
        return None

    def _frame_step_us(self, index: int, motion: Motion) -> float:
        positions = motion.samples[:, index]
        middle = positions[len(positions) // 4 : 3 * len(positions) // 4]
        if len(middle) < 10:
            return 0.0
        slowest = float(np.abs(np.diff(middle)).min())
        return float(slowest / self.search.axes[index].per_us * FRAME_S / self.rig.period_s)

    def _steps_us(self, index: int, motion: Motion, certificate: Certificate, phase_s: float) -> Any:
        """How far the pulse goes from frame to frame in the middle half of the move."""
        arm, rng, axis = VirtualArm(self.rig, motion.start), random.Random(self.search.seed), self.search.axes[index]
        arm.tick(after_s=phase_s)
        with _Explained("a steady move"):
            arm.ready()
            arm.load(motion, certificate)
            arm.until(Mode.STREAMING, Start(digest=motion.digest), within_s=0.5)
        first_s, frame, pulses, number = arm.now_s, int(arm.now_s / FRAME_S) + 1, [], 0
        while arm.mode is Mode.STREAMING:
            number += 1
            due_s = first_s + number * self.rig.period_s + rng.uniform(-self._jitter_s, self._jitter_s)
            while frame * FRAME_S + 1e-6 < due_s:
                setpoint = arm.setpoints_at(frame * FRAME_S + 1e-6)[index]
                pulses.append((frame * FRAME_S - first_s, axis.pulse_us(0.0 if setpoint is None else setpoint)))
                frame += 1
            arm.tick(after_s=due_s - arm.now_s)
        middle = [us for at_s, us in pulses if 0.25 * motion.duration_s <= at_s <= 0.75 * motion.duration_s]
        return np.abs(np.diff(middle))

    # -- stops -------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop a motion at a random moment: it comes to rest in its time, within its limits, and stays there."""
        rng = self.search.rng
        way = self._some_way()
        after_s = rng.uniform(0.0, way.motion.duration_s)
        self.search.tried += 1
        steps = (f"stream {way.name}", f"stop {after_s:.2f} s after its start")
        arm = VirtualArm(self.rig, way.motion.start)
        with _Explained("a stop", steps):
            arm.ready()
            arm.load(way.motion, way.certificate)
            arm.until(Mode.STREAMING, Start(digest=way.motion.digest), within_s=0.5)
            arm.wait(after_s)
            if arm.mode is Mode.STREAMING:
                arm.until(Mode.HOLDING, Stop(reason="proof"), within_s=arm.stop_time_s + 3 * self.rig.period_s)
        if arm.mode not in (Mode.HOLDING, Mode.IDLE):
            raise FoundError(f"a stop ended in {arm.mode.value}: {arm.events[-1]}", steps)
        arm.wait(self.rig.controller.settle_s + self.rig.period_s)
        rest = arm.setpoints
        arm.wait(0.5)
        if arm.setpoints != rest:
            raise FoundError("a stopped arm moved again", steps)
        self._smooth(arm, steps)
        self._judge(arm, steps)

    def _smooth(self, arm: VirtualArm, steps: tuple[str, ...]) -> None:
        """What was sent keeps every rate, to the end: after the last sample the arm stands."""
        sent = [r.wanted.positions for r in arm.records if r.sent is not None and isinstance(r.wanted, JointCommand)]
        if not sent:
            return
        for index, (axis, way) in enumerate(zip(self.search.axes, zip(*sent, strict=True), strict=True)):
            padded = (*[way[0]] * 3, *way, *[way[-1]] * 3)
            for oldest, older, last, here in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
                if wrong := breaks(self.search, index, axis, (last, older, oldest), here):
                    raise FoundError(f"a stop is too hard: {wrong}", steps)

    def _some_way(self) -> _Way:
        """One of the motions that are clear; finds more of them as it is asked."""
        rng = self.search.rng
        if len(self.ways) < 2 + WAYS:
            last = rng.choice(self.ways).motion.samples[-1].tolist()
            goal = [self.search.inside(index) for index in range(len(self.rig.axes))]
            motion = plan_joint_move(self.rig, last, goal)
            findings = check_motion(self.rig, self.search.robot, motion)
            if not findings.refusals:
                words = ", ".join(axis.say(x) for axis, x in zip(self.search.axes, goal, strict=True))
                certificate = _certified(self.rig, motion, findings)
                self.ways.append(_Way(f"a move to {words}", motion, certificate))
        return rng.choice(self.ways)

    # -- random sessions ---------------------------------------------------------------------------------

    def session(self) -> None:
        """A random session on a random line; a fault found is cut down to the steps that it needs."""
        faults, steps = self._random_faults(), self._random_steps()
        self.search.tried += 1
        words = self._play(faults, steps)
        if not words:
            return
        if faults is not None and self._play(None, steps):
            faults = None
        for step in list(steps):
            fewer = [each for each in steps if each is not step]
            if self._play(faults, fewer):
                steps = fewer
        on = () if faults is None else (f"on a line with these faults: {faults.what}, seed {faults.seed}",)
        raise FoundError(self._play(faults, steps) or words, (*on, *(step.words for step in steps)))

    def _play(self, faults: Faults | None, steps: Sequence[_Step]) -> str:
        """What is wrong with a session, empty if nothing is."""
        arm = VirtualArm(self.rig, faults=faults)
        try:
            for step in steps:
                step.do(arm)
                self._inside(arm)
            arm.close()
            self._judge(arm)
        except FoundError as found:
            return found.words
        except HilError as error:
            return f"the bridge let an error out instead of taking it: {error}"
        return ""

    def _random_faults(self) -> Faults | None:
        rng = self.search.rng
        if rng.random() < 0.4:
            return None
        at_s = round(rng.uniform(0.0, 5.0), 2)
        kind = rng.choice(["lost", "doubled", "garbled", "late", "reset", "unplug"])
        fault: dict[str, Any] = {"kind": kind, "at_s": at_s}
        if kind in ("lost", "doubled", "garbled", "late"):
            fault["probability"] = round(rng.uniform(0.005, 0.2), 3)
        if kind == "late":
            fault["delay_ms"] = round(rng.uniform(5.0, 150.0), 1)
        return fault_script(fault, seed=rng.randrange(1000))

    def _random_steps(self) -> list[_Step]:
        rng = self.search.rng
        steps = [_Step("connect, confirm the park pose, wait for the axes", _ready)]
        if rng.random() < 0.2:
            steps = []
        makers = [self._wait, self._late, self._request, self._motion, self._motion, self._wild, self._led]
        for _ in range(rng.randrange(2, 9)):
            steps += rng.choice(makers)()
        return steps

    def _wait(self) -> list[_Step]:
        seconds = round(self.search.rng.uniform(0.02, 1.2), 2)
        return [_Step(f"wait {seconds} s", lambda arm: arm.wait(seconds))]

    def _late(self) -> list[_Step]:
        seconds = round(self.search.rng.uniform(0.0, 0.3), 3)
        return [_Step(f"the computer is late: no tick for {seconds} s", lambda arm: arm.tick(after_s=seconds))]

    def _request(self) -> list[_Step]:
        rng, rig = self.search.rng, self.rig
        elsewhere = tuple(self.search.inside(index) for index in range(len(rig.axes)))
        outside = tuple(axis.upper + axis.soft_margin for axis in rig.axes)
        asked: dict[str, Request] = {
            "confirm the park pose": Confirm(positions=rig.park, by="proof"),
            "confirm some other pose": Confirm(positions=elsewhere, by="proof"),
            "confirm a pose outside the limits": Confirm(positions=outside, by="proof"),
            "confirm the park pose, and that the servo supply is on": Confirm(
                positions=rig.park, by="proof", supply_on=True
            ),
            "say that the servo supply was cut": SupplyCut(by="proof"),
            "arm a motion that is not there": Arm(digest="0" * 64),
            "start a motion that is not armed": Start(digest="0" * 64),
            "load bytes that are no motion": Load(motion=b"\x00", certificate=b"{}"),
            "ask for a stop": Stop(reason="proof"),
            "ask for a software stop": EmergencyStop(reason="proof"),
            "ask for a reset": Reset(by="proof"),
        }
        words = rng.choice(list(asked))
        return [_Step(words, lambda arm: arm.tick(asked[words]))]

    def _motion(self) -> list[_Step]:
        way = self._some_way()
        return self._streamed(f"load, arm and start {way.name}", way.motion, way.certificate)

    def _led(self) -> list[_Step]:
        """Targets to follow as nobody should send them; the same seed sends the same."""
        rng, rig = self.search.rng, self.rig
        seed, share, count = rng.randrange(1 << 30), rng.choice((0.1, 0.5, 1.0)), rng.randrange(20, 200)

        def do(arm: VirtualArm) -> None:
            targets, record = BadTargets(random.Random(seed), rig), arm.tick(ArmJog(speed_share=share))
            targets.begin(record.setpoint, arm.now_s)
            for _ in range(count):
                arm.tick(*targets.take(arm.now_s + rig.period_s))

        return [_Step(f"lead it by {count} ticks of bad targets at {100 * share:g} % speed, seed {seed}", do)]

    def _wild(self) -> list[_Step]:
        """A motion that nobody checked, with a certificate all the same: the guard and the driver are on their own."""
        rng, rig = self.search.rng, self.rig
        index = rng.randrange(len(rig.axes))
        axis, facts = rig.axes[index], self.search.axes[index]
        speed = axis.speed * rng.choice((0.3, 1.0, 1.5, 5.0, 50.0)) * rng.choice((1, -1))
        count = rng.randrange(3, 120)
        rows = np.tile(np.array(rng.choice([rig.park, rig.home])), (count, 1))
        ramp = np.clip(np.arange(count) / 25.0, 0.0, 1.0) if rng.random() < 0.8 else np.ones(count)
        rows[:, index] += np.cumsum(ramp) * speed * rig.period_s
        motion = Motion([each.name for each in rig.axes], rig.period_s, rows)
        forged = issue(rig, motion, Findings(refusals=(), margins=()), EPOCH_S, version=software_version())
        goal, pace = facts.say(float(rows[-1, index])), facts.say(abs(speed))
        words = f"load, arm and start an unchecked motion of {facts.name} to {goal} at {pace}/s"
        return self._streamed(words, motion, forged)

    def _streamed(self, words: str, motion: Motion, certificate: Certificate) -> list[_Step]:
        load = Load(motion=motion.to_bytes(), certificate=certificate.to_bytes())
        after_s = round(self.search.rng.uniform(0.0, 1.2) * motion.duration_s, 2)

        def do(arm: VirtualArm) -> None:
            arm.tick(load, Arm(digest=motion.digest))
            arm.tick(Start(digest=motion.digest))
            arm.wait(after_s)

        return [_Step(f"{words}, then wait {after_s} s", do)]

    # -- judging -----------------------------------------------------------------------------------------

    def _judge(self, arm: VirtualArm, steps: tuple[str, ...] = ()) -> None:
        first = arm.judged().first
        if first is not None:
            raise FoundError(first.text, steps)
        self._inside(arm, steps)

    def _inside(self, arm: VirtualArm, steps: tuple[str, ...] = ()) -> None:
        """No pulse at the board's pins is outside a joint's limits, whatever was sent."""
        for axis, setpoint in zip(self.search.axes, arm.setpoints, strict=True):
            low, high = axis.limits
            if setpoint is not None and not low - axis.per_us <= setpoint <= high + axis.per_us:
                raise FoundError(
                    f"the board drives {axis.name} at {axis.say(setpoint)}, limits {axis.say(low)} to {axis.say(high)}",
                    steps,
                )


def _certified(rig: Rig, motion: Motion, findings: Findings) -> Certificate:
    """As a preview certifies: with what the wire will carry, which the gate behind it holds every line against."""
    table = wire_table(rig, motion)
    return issue(rig, motion, findings, EPOCH_S, version=software_version(), table=table)


class _Step(NamedTuple):
    """One step of a session: its words, and what it does."""

    words: str
    do: Callable[[VirtualArm], Any]


def _ready(arm: VirtualArm) -> None:
    """As far as the line lets it come."""
    try:
        arm.ready()
    except AssertionError:
        return


class _Explained:
    """What a refusal, or a mode that is not reached, means for the rig."""

    def __init__(self, what: str, steps: tuple[str, ...] = ()) -> None:
        self._what, self._steps = what, steps

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RefusedError):
            raise FoundError(f"{self._what} is refused: {error.refusals[0].text}", self._steps) from None
        if isinstance(error, (HilError, AssertionError)):
            raise FoundError(f"{self._what} goes wrong: {error}", self._steps) from None
