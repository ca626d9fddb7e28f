"""Arms that are led by targets, many of which nobody should send: in the lives of the long run, and all the time."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from soak_oracles import SampleJudge, Violation, read_rig

from hil.model.files import find
from hil.model.rig import Rig
from hil.runtime import wiring
from hil.runtime.follow_source import COUNTS_S, MOST_LOOK_AHEAD_S
from hil.testing.arms import VirtualArm
from hil.testing.bad_targets import BadTargets
from hil.testing.oracle import UnsafeBytes
from hil.types import ArmJog, FollowTarget, JogRelease, JointCommand, Mode, Request, Stop, TickRecord

USUAL = 0.15
"""Part of all motions that are led, where no other is asked for."""

MOST_S = 6.0


class SoakLeader:
    """Leads now and then, instead of having a motion planned.

    Args:
        rng: source of chance, of its own: what else befalls a life does not depend on it.
        rig: the arm's.
        counts: gets what was done.
        share: part of all motions that are led.
    """

    def __init__(self, rng: random.Random, rig: Rig, counts: Counter[str], share: float = USUAL) -> None:
        self._rng, self._rig, self._counts, self._share = rng, rig, counts, share
        self._targets = BadTargets(rng, rig)
        self._until_s = float("-inf")
        self.leads = False

    def begin(self) -> list[Request]:
        """At rest: arm for being led, or nothing."""
        self.leads = self._rng.random() < self._share
        if not self.leads:
            return []
        self._until_s = float("-inf")
        self._counts["motions led by targets"] += 1
        return [ArmJog(speed_share=self._rng.choice((0.1, 0.25, 1.0)))]

    def act(self, mode: Mode, here: Sequence[float], now_s: float) -> list[Request]:
        """Targets while it is armed or moves."""
        if mode not in (Mode.ARMED, Mode.STREAMING):
            # What was under way comes all the same, and may not begin anything.
            self.leads = self.leads and mode is Mode.STOPPING
            return list(self._targets.take(now_s))
        if self._until_s == float("-inf"):
            self._until_s = now_s + self._rng.uniform(0.3, MOST_S)
            self._targets.begin(here, now_s)
        if now_s > self._until_s:
            self._until_s = float("inf")
            if self._rng.random() < 0.5:
                self._counts["targets ended by a release"] += 1
                return [JogRelease(seq=0)]
        if self._until_s == float("inf"):
            return []
        found = self._targets.take(now_s)
        self._counts["targets"] += len(found)
        return list(found)

    @property
    def may_lead(self) -> bool:
        """Whether an arm of this kind follows at all."""
        return self._rig.look_ahead_s <= MOST_LOOK_AHEAD_S


class LedRun:
    """One arm that is led all the time, on a line without faults: what goes wrong is in the targets and the ticks.

    Args:
        seed: of all chance.
        rig: name of an SSC-32's.

    Attributes:
        counts: what it was made of.
        worst_rest_s: longest time from the end of streaming to the last pulse that changed.
        allowed_s: for that.
    """

    def __init__(self, seed: int, rig: str = "lynx6") -> None:
        self._rng = random.Random(seed)
        self._arm = VirtualArm(wiring.load_rig(rig))
        self._targets = BadTargets(self._rng, self._arm.rig)
        self._bytes, self._samples = UnsafeBytes(self._arm.rig), SampleJudge(read_rig(find("rigs", rig)))
        self.counts: Counter[str] = Counter()
        self.worst_rest_s = 0.0
        self.allowed_s = self._arm.stop_time_s + self._arm.rig.period_s
        self._here = self._arm.rig.park
        self._ended_s = self._heard_s = 0.0
        self._mode = Mode.DISCONNECTED
        self._pins: tuple[float | None, ...] = ()

    def run(self, ticks: int) -> LedRun:
        """So many ticks.

        Raises:
            Violation: a promise was broken.
        """
        self._arm.ready()
        self._look(*self._arm.records)
        while self.counts["ticks"] < ticks:
            requests = self._requests()
            late_s = self._rng.choice((0.0, 0.0, 0.0, self._rng.uniform(0.0, 0.009)))
            if self._rng.random() < 0.001:
                late_s = self._rng.uniform(0.02, 0.4)
                self.counts["gaps of the loop"] += 1
            self._look(self._arm.tick(*requests, after_s=self._arm.rig.period_s + late_s))
            self._arm.records.clear()
            self.counts["ticks"] += 1
        self.counts["targets that were no numbers"] = self._targets.refused
        return self

    def _requests(self) -> list[Request]:
        rng, now_s = self._rng, self._arm.now_s + self._arm.rig.period_s
        if self._mode in (Mode.IDLE, Mode.HOLDING):
            if rng.random() < 0.9:
                return []
            self._targets.begin(self._here, now_s)
            self.counts["runs"] += 1
            return [ArmJog(speed_share=rng.choice((0.1, 0.25, 1.0, 1.0)))]
        found: list[Request] = [*self._targets.take(now_s)]
        self.counts["targets"] += len(found)
        if rng.random() < 0.002:
            ends: list[Request] = [Stop(reason="somebody said so"), JogRelease(seq=0)]
            found.append(rng.choice(ends))
        return found

    def _look(self, *records: TickRecord) -> None:
        for record in records:
            self._bytes.take([record]).check()
            self._samples.judge(record)
            if record.hits:
                raise Violation(f"{record.t_s:.3f} s: the guard refused a sample: {record.hits}")
            if isinstance(record.wanted, JointCommand) and record.sent is not None:
                self._here = record.wanted.positions
                self.counts["samples sent"] += 1
            self._look_at_time(record)
            for event in record.events:
                for word in ("not followed: a target is", "no later than", "follows no further", "soft limit"):
                    self.counts[f"said: {word}"] += word in event

    def _look_at_time(self, record: TickRecord) -> None:
        now_s, pins = record.t_s, self._arm.setpoints
        if any(isinstance(request, FollowTarget) for request in record.requests):
            self._heard_s = now_s
        if record.mode in (Mode.FAULT, Mode.ESTOP):
            raise Violation(f"{now_s:.3f} s: {record.events}")
        if record.mode is Mode.STREAMING and now_s - self._heard_s > COUNTS_S + 2.0 * self._arm.rig.period_s:
            raise Violation(f"{now_s:.3f} s: it streams, and no target has come for {now_s - self._heard_s:.3f} s")
        if self._mode is Mode.STREAMING and record.mode is not Mode.STREAMING:
            self._ended_s = now_s
            self.counts["ends"] += 1
        if record.mode in (Mode.STOPPING, Mode.HOLDING) and pins != self._pins:
            self.worst_rest_s = max(self.worst_rest_s, now_s - self._ended_s)
            if now_s - self._ended_s > self.allowed_s:
                raise Violation(f"{now_s:.3f} s: a pulse changes {now_s - self._ended_s:.3f} s after the end")
        self._mode, self._pins = record.mode, pins
