"""How near a run kept to its paths, and how even the tool's speed was on them, against what the wire can carry.

A motion carries where the tool has to be, from the formula or the points of its paths. Against that stand what the wire
carried, what the board made of it between two lines (the shadow's set-point), the simulated arm, and the controller's
reports. Rounding to the wire's steps alone makes the speed of small steps uneven; so the tool's speed is taken over as
many periods as bring that down to `FLOOR`, and what is left is said beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hil.link import FloatArray
from hil.model.rig import Rig
from hil.motion.motion import Motion, ToolPath
from hil.robot import Robot
from hil.types import JointCommand, Load, Record, TickRecord
from hil.units import MM

FLOOR = 0.04
"""Part of the tool's speed that rounding may make over the time in which the speed is taken."""

CRUISE = 0.999
"""Part of a piece's greatest speed at which it is between its ramps."""

LEAST_WINDOWS = 10
"""Speeds to judge from; below that nothing is said."""

BEHIND, AHEAD = 40, 4
"""Samples of a path among which the nearest point to the arm is looked for: how far it may lag, and lead."""

SETTLE = 3
"""Samples after a ramp in which the board is still on its way to them."""

STEP_NOISE = math.sqrt(1.0 / 6.0)
"""Spread of the difference of two numbers, each rounded to whole steps."""


class SpeedOnPath(Record, frozen=True):
    """How even the tool's speed was between the ramps.

    Attributes:
        speed_m_s: planned.
        window_s: over which it is taken.
        ripple: part by which it was uneven, root mean square.
        floor: the same from rounding to the wire's steps alone.
        pieces: of the path that were long enough to be judged.
    """

    speed_m_s: float
    window_s: float
    ripple: float
    floor: float
    pieces: int

    @property
    def above(self) -> float:
        """What is left of the ripple above the floor."""
        return max(self.ripple - self.floor, 0.0)


class OnPath(Record, frozen=True):
    """One step of a task that led the tool along paths.

    Attributes:
        step: number in the task.
        kind: of the step.
        length_m: of all its pieces.
        worst_wire_m, rms_wire_m: from where the formula has the tool at a sample to where the wire sent it.
        worst_setpoint_m, worst_simulated_m: off the path, whenever.
        worst_reported_m: the same of what the controller reported; None if it reported nothing.
        speed: None where no piece is long enough between its ramps.
    """

    step: int
    kind: str
    length_m: float
    worst_wire_m: float
    rms_wire_m: float
    worst_setpoint_m: float
    worst_simulated_m: float
    worst_reported_m: float | None
    speed: SpeedOnPath | None


def on_paths(rig: Rig, robot: Robot, motion: Motion, records: Iterable[TickRecord]) -> tuple[OnPath, ...]:
    """One result for each step of a motion that has paths; only ticks that sent a sample of it count.

    Args:
        rig: axes and controller.
        robot: kinematics of `rig.robot`.
        motion: that was sent.
        records: of the run, in their order.
    """
    ticks = [record for record in records if record.sample is not None and isinstance(record.sent, JointCommand)]
    paths_sent = [*motion.paths, *_lines(robot, motion)]
    if not paths_sent or not ticks:
        return ()
    run = _Run(rig, robot, motion, ticks)
    steps: dict[int, list[ToolPath]] = {}
    kinds: dict[int, str] = {}
    for path in sorted(paths_sent, key=lambda each: each.first):
        mark = next(each for each in motion.marks if each.first <= path.first < each.last)
        steps.setdefault(mark.step, []).append(path)
        kinds[mark.step] = mark.kind
    return tuple(found for number, paths in steps.items() if (found := run.result(number, kinds[number], paths)))


def _lines(robot: Robot, motion: Motion) -> Iterator[ToolPath]:
    """Straight lines as paths: each sample's place is the nearest point of its line."""
    for mark in motion.marks:
        if mark.kind != "line" or mark.start_m is None or mark.end_m is None or mark.tolerance_m is None:
            continue
        start, way = np.array(mark.start_m), np.array(mark.end_m) - mark.start_m
        planned = robot.forward_kinematics(motion.samples[mark.first : mark.last + 1, : robot.dof])[:, :3, 3]
        part = np.clip((planned - start) @ way / max(float(way @ way), 1e-30), 0.0, 1.0)
        points = np.empty((2 * len(part) - 1, 3))
        points[::2] = start + part[:, None] * way
        points[1::2] = 0.5 * (points[:-1:2] + points[2::2])
        yield ToolPath(first=mark.first, last=mark.last, tolerance_m=mark.tolerance_m, points=points.tobytes())


class _Piece(NamedTuple):
    """One path of a motion, and the ticks in which it was sent."""

    path: ToolPath
    ticks: range
    lengths_m: FloatArray
    speeds: FloatArray
    """Planned, of the tool, from each sample to the next, m a period."""


class _Track(NamedTuple):
    """Places of the tool against a path: how far off it, and at which length."""

    off_m: FloatArray
    at_m: FloatArray


class _Run:
    """The ticks of one run as arrays."""

    def __init__(self, rig: Rig, robot: Robot, motion: Motion, ticks: Sequence[TickRecord]) -> None:
        self._rig, self._robot, self._motion, dof = rig, robot, motion, robot.dof
        self._quantum = rig.controller.quantum()[:dof]
        self._samples = np.array([tick.sample for tick in ticks])
        self._times = np.array([tick.t_s for tick in ticks])
        self._sent = self._points([tick.sent.positions for tick in ticks if isinstance(tick.sent, JointCommand)])
        self._setpoint = self._points([tick.setpoint for tick in ticks])
        self._simulated = self._points([tick.simulated.positions for tick in ticks])
        rows = [None if tick.reported is None else tick.reported.positions[:dof] for tick in ticks]
        whole = [row is not None and None not in row for row in rows]
        self._reported = np.full((len(ticks), 3), np.nan)
        if any(whole):
            known = [row for row, fine in zip(rows, whole, strict=True) if fine]
            self._reported[np.array(whole)] = self._points(known)

    def _points(self, rows: Sequence[Sequence[float | None] | None]) -> FloatArray:
        joints = np.array(rows, dtype=np.float64)[:, : self._robot.dof]
        points: FloatArray = self._robot.forward_kinematics(joints)[:, :3, 3]
        return points

    def result(self, number: int, kind: str, paths: Sequence[ToolPath]) -> OnPath | None:
        """Of one step; None if none of its samples was sent."""
        pieces = [piece for path in paths if (piece := self._piece(path)) is not None]
        if not pieces:
            return None
        wire, setpoint, simulated, reported = [], [], [], []
        for piece in pieces:
            part = slice(piece.ticks.start, piece.ticks.stop)
            places = piece.path.points_m[2 * (self._samples[part] - piece.path.first)]
            wire.append(np.linalg.norm(self._sent[part] - places, axis=1))
            setpoint.append(self._track(piece, self._setpoint).off_m)
            simulated.append(self._track(piece, self._simulated).off_m)
            reported.append(self._track(piece, self._reported).off_m)
        errors, told = np.concatenate(wire), np.concatenate(reported)
        return OnPath(
            step=number,
            kind=kind,
            length_m=sum(float(piece.lengths_m[-1]) for piece in pieces),
            worst_wire_m=float(errors.max()),
            rms_wire_m=float(np.sqrt(np.mean(errors**2))),
            worst_setpoint_m=float(np.concatenate(setpoint).max()),
            worst_simulated_m=float(np.concatenate(simulated).max()),
            worst_reported_m=None if np.isnan(told).all() else float(np.nanmax(told)),
            speed=self._speed(pieces),
        )

    def _piece(self, path: ToolPath) -> _Piece | None:
        inside = np.flatnonzero((self._samples >= path.first) & (self._samples <= path.last))
        if not len(inside):
            return None
        # A motion may have been sent several times: the last of them counts.
        begin = int(inside[-1])
        while begin > 0 and self._samples[begin - 1] >= path.first and self._samples[begin - 1] < self._samples[begin]:
            begin -= 1
        points = path.points_m
        lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        return _Piece(path, range(begin, int(inside[-1]) + 1), lengths, np.diff(lengths[::2]))

    def _track(self, piece: _Piece, points: FloatArray) -> _Track:
        """Nearest points of a path to those of its ticks; NaN for what is not known."""
        way, at = piece.path.points_m, piece.lengths_m
        part = slice(piece.ticks.start, piece.ticks.stop)
        now, here = 2 * (self._samples[part] - piece.path.first), points[part]
        k = np.clip(now[:, None] + np.arange(-2 * BEHIND, 2 * AHEAD), 0, len(way) - 2)
        start, step = way[k], way[k + 1] - way[k]
        square = np.maximum((step**2).sum(axis=2), 1e-30)
        t = np.clip(((here[:, None] - start) * step).sum(axis=2) / square, 0.0, 1.0)
        off = np.linalg.norm(here[:, None] - start - t[:, :, None] * step, axis=2)
        best = np.argmin(np.where(np.isnan(off), np.inf, off), axis=1)
        rows = np.arange(len(best))
        chosen = k[rows, best]
        return _Track(off[rows, best], at[chosen] + t[rows, best] * (at[chosen + 1] - at[chosen]))

    def _speed(self, pieces: Sequence[_Piece]) -> SpeedOnPath | None:
        """The tool's speed by the set-point, over so many periods that rounding makes little of it."""
        period_s = self._rig.period_s
        cruises = [found for piece in pieces if (found := self._cruise(piece)) is not None]
        if not cruises:
            return None
        window = max(math.ceil(math.sqrt(np.mean([noise**2 for *_, noise in cruises])) / FLOOR), 1)
        ripples, floors, speeds, judged = [], [], [], 0
        for piece, part, noise in cruises:
            if part.stop - part.start - window < LEAST_WINDOWS:
                continue
            planned = float(piece.speeds.max()) / period_s
            at, times = self._track(piece, self._setpoint).at_m[part], self._times[piece.ticks.start :][part]
            taken = (at[window:] - at[:-window]) / (times[window:] - times[:-window])
            ripples.append(taken / planned - 1.0)
            floors.append(np.full(len(taken), noise / window))
            speeds.append(planned)
            judged += 1
        if not judged:
            return None
        return SpeedOnPath(
            speed_m_s=max(speeds),
            window_s=window * period_s,
            ripple=float(np.sqrt(np.mean(np.concatenate(ripples) ** 2))),
            floor=float(np.sqrt(np.mean(np.concatenate(floors) ** 2))),
            pieces=judged,
        )

    def _cruise(self, piece: _Piece) -> tuple[_Piece, slice, float] | None:
        """Ticks between the ramps, and the part of a period's step that rounding makes of it, root mean square."""
        fast = np.flatnonzero(piece.speeds >= CRUISE * piece.speeds.max())
        if piece.speeds.max() <= 0.0 or len(fast) < 2:
            return None
        first, last = int(fast[0]) + piece.path.first, int(fast[-1]) + piece.path.first
        sent = self._samples[piece.ticks.start : piece.ticks.stop]
        inside = np.flatnonzero((sent > first + SETTLE) & (sent <= last))
        if not len(inside):
            return None
        rows = self._motion.samples[sent[inside], : self._robot.dof]
        jacobians = self._robot.jacobian(rows)[:, :3]
        points = piece.path.points_m
        k = 2 * (sent[inside] - piece.path.first)
        way = points[np.minimum(k + 1, len(points) - 1)] - points[np.maximum(k - 1, 0)]
        way /= np.maximum(np.linalg.norm(way, axis=1), 1e-30)[:, None]
        along = np.einsum("ki,kij->kj", way, jacobians) * self._quantum * STEP_NOISE
        noise = float(np.sqrt((along**2).sum(axis=1).mean())) / float(piece.speeds.max())
        return piece, slice(int(inside[0]), int(inside[-1]) + 1), noise


def path_words(found: OnPath) -> str:
    """One result in words, for the end of a run and for a journal."""
    reported = (
        "" if found.worst_reported_m is None else f", the controller's report {found.worst_reported_m / MM:.2f} mm"
    )
    words = (
        f"step {found.step} ({found.kind}): {found.length_m / MM:.1f} mm of path. From its formula: the wire up to "
        f"{found.worst_wire_m / MM:.2f} mm ({found.rms_wire_m / MM:.2f} mm rms), the set-point "
        f"{found.worst_setpoint_m / MM:.2f} mm, the simulated arm {found.worst_simulated_m / MM:.2f} mm{reported}"
    )
    speed = found.speed
    if speed is None:
        return f"{words}. No piece of it is long enough at one speed to judge that"
    return (
        f"{words}. Tool speed {speed.speed_m_s / MM:.1f} mm/s, even to {100.0 * speed.ripple:.1f} % over "
        f"{speed.window_s:.2f} s; the wire's steps alone make {100.0 * speed.floor:.1f} %, so "
        f"{100.0 * speed.above:.1f} % is above that"
    )


def run_words(found: Sequence[OnPath]) -> str:
    """All results of a run in a line, for its end; `path_words` says each."""
    if len(found) == 1:
        return path_words(found[0])
    speeds = [each.speed for each in found if each.speed is not None]
    even = ""
    if speeds:
        even = (
            f" Tool speed even to {100.0 * max(each.ripple for each in speeds):.1f} %, of which "
            f"{100.0 * max(each.above for each in speeds):.1f} % at most is above what the wire's steps make."
        )
    return (
        f"{len(found)} steps on paths: from their formulas the wire up to {max(e.worst_wire_m for e in found) / MM:.2f}"
        f" mm, the set-point {max(e.worst_setpoint_m for e in found) / MM:.2f} mm, the simulated arm "
        f"{max(e.worst_simulated_m for e in found) / MM:.2f} mm.{even} hil journal paths says each"
    )


def paths_of_records(rig: Rig, robot: Robot, records: Iterable[TickRecord]) -> Iterator[OnPath]:
    """Results of every motion with paths that was sent in a session, in order."""
    motion: Motion | None = None
    ticks: list[TickRecord] = []
    for record in records:
        for request in record.requests:
            if isinstance(request, Load):
                if motion is not None:
                    yield from on_paths(rig, robot, motion, ticks)
                motion, ticks = Motion.from_bytes(request.motion), []
        ticks.append(record)
    if motion is not None:
        yield from on_paths(rig, robot, motion, ticks)
