"""A previewed motion as numbers: where the arm is at any moment, what is left of which limit there, what fails."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hil.dashboard.arm import ShownArm
from hil.dashboard.texts import tr
from hil.refusal import Refusal
from hil.service.wire import Failure, Lane, Stage, Timeline

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WAY_STEP_M = 2e-3
LEAST_FULL = {"deg": 5.0, "mm": 20.0}
"""A lane is at least so high: otherwise one that is nowhere near its limit would look as if it were."""


class ShownLane(NamedTuple):
    """What is left of one group of limits.

    Attributes:
        title: for people.
        margins: at every sample of the timeline; NaN where nothing was judged.
        least: the smallest; NaN if there is none.
        full: margin that is as high as the lane.
    """

    title: str
    check: str
    unit: str
    subjects: tuple[str, ...]
    margins: Floats
    which: Ints
    least: float
    full: float

    @property
    def fails(self) -> bool:
        """Whether a limit is not kept somewhere."""
        return self.least < 0.0


class Row(NamedTuple):
    """One thing that is wrong, for the table.

    Attributes:
        sample: the worst one; None for what concerns no sample.
        time_s: of it.
        margin: number and unit.
        place: where in the file.
        advice: what to change.
    """

    sample: int | None
    time_s: float | None
    subject: str
    check: str
    limit: str
    margin: str
    nearest: str
    place: str
    advice: str


class ShownMotion:
    """A timeline, ready to be drawn and played.

    Attributes:
        times_s: of all samples that are there, shape (K,).
        lanes: those that fail first.
        way: of the tool, lines (S, 2, 3), metres.
    """

    def __init__(self, timeline: Timeline, arm: ShownArm) -> None:
        self._timeline, self._arm = timeline, arm
        self.period_s = timeline.period_s
        self.times_s: Floats = np.array(timeline.samples, dtype=np.float64) * timeline.period_s
        self.positions: Floats = np.array(timeline.positions, dtype=np.float64)
        self.lanes = sorted(map(_shown, timeline.lanes), key=lambda lane: (not lane.fails, _rank(lane.check)))
        self.complete = timeline.complete
        tool_m = arm.robot.link_frames(self.positions[:, : arm.robot.dof])[:, -1, :3, 3]
        self.way = _way(tool_m)

    @property
    def duration_s(self) -> float:
        """From the first sample to the last."""
        return float(self.times_s[-1])

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Where limits are not kept."""
        return self._timeline.failures

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Steps of the file."""
        return self._timeline.stages

    def sample_at(self, time_s: float) -> int:
        """The nearest sample of the motion."""
        return round(time_s / self.period_s)

    def nearest(self, time_s: float) -> int:
        """Which of the samples that are there is nearest."""
        return int(np.argmin(np.abs(self.times_s - time_s)))

    def step(self, time_s: float, by: int) -> float:
        """Time of the sample that is so many further on."""
        return float(self.times_s[min(max(self.nearest(time_s) + by, 0), len(self.times_s) - 1)])

    def pose_at(self, time_s: float) -> tuple[float, ...]:
        """Position of every axis, rad or m; between samples in proportion."""
        return tuple(float(np.interp(time_s, self.times_s, column)) for column in self.positions.T)

    def stage_at(self, time_s: float) -> Stage | None:
        """The step of the file that is being done."""
        sample = self.sample_at(time_s)
        return next((stage for stage in self.stages if stage.first <= sample <= stage.last), None)

    def failing_at(self, time_s: float) -> frozenset[str]:
        """Joints and bodies that fail at the nearest sample."""
        sample = self.sample_at(time_s)
        found: set[str] = set()
        for failure in self.failures:
            if failure.first <= sample <= failure.last:
                found |= self._parts(failure.subject)
        return frozenset(found)

    def _parts(self, subject: str) -> set[str]:
        """The joints or bodies that a subject names: of "palm and table" the palm, of "tool" the last joint."""
        joints = [axis.name for axis in self._arm.axes]
        bodies = [] if self._arm.rig is None else [shape.name for shape in self._arm.rig.shapes]
        if subject == "tool":
            return {joints[self._arm.robot.dof - 1]}
        words = {word for part in subject.split(" inside ") for word in part.split(" and ")}
        return words & {*joints, *bodies}

    def write_csv(self, path: Path) -> int:
        """Times, positions in people's units, and margins; gives the number of rows."""
        axes = self._arm.axes
        head = ["t_s", "sample", *(f"{axis.name}_{axis.unit_name}" for axis in axes)]
        head += [f"{lane.check} {lane.title} [{lane.unit}]" for lane in self.lanes]
        columns = [self.times_s, np.array(self._timeline.samples), *(self.positions / self._arm.scale).T]
        columns += [lane.margins for lane in self.lanes]
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(head)
            for row in np.stack(columns, axis=1).tolist():
                rows.writerow(["" if value != value else f"{value:.9g}" for value in row])
        return len(self.times_s)


def _way(tool_m: Floats) -> Floats:
    """Lines (S, 2, 3) along points (K, 3), none of them too short to be drawn."""
    steps = np.linalg.norm(np.diff(tool_m, axis=0), axis=1)
    part = np.floor(np.concatenate([[0.0], np.cumsum(steps)]) / WAY_STEP_M)
    kept = np.append(np.flatnonzero(np.diff(part, prepend=-1.0)), len(tool_m) - 1)
    points = tool_m[kept]
    return np.stack([points[:-1], points[1:]], axis=1)


def _shown(lane: Lane) -> ShownLane:
    margins = np.array([np.nan if value is None else value for value in lane.margins])
    known = margins[~np.isnan(margins)]
    full = max(float(known.max()) if len(known) else 0.0, LEAST_FULL.get(lane.unit, 0.0)) or 1.0
    return ShownLane(
        title=title_of(lane.check, lane.name),
        check=lane.check,
        unit=lane.unit,
        subjects=lane.subjects,
        margins=margins,
        which=np.array(lane.which, dtype=np.int64),
        least=float(known.min()) if len(known) else float("nan"),
        full=full,
    )


ORDER = ("E-10", "E-09", "E-06", "E-08", "E-02", "E-13", "E-03")
"""Checks by how much people want to see of them."""


def _rank(check: str) -> int:
    return ORDER.index(check) if check in ORDER else len(ORDER)


TITLES = {
    ("E-02", ""): "{name} limits",
    ("E-03", "tool"): "tool speed",
    ("E-05", "step"): "jump between samples",
    ("E-06", "line"): "distance from the line",
    ("E-08", "line"): "slow near a singularity",
    ("E-09", ""): "self-collision",
    ("E-10", "table"): "table",
    ("E-10", ""): "fence: {name}",
    ("E-13", "limits after a stop"): "limits after a stop",
    ("E-13", "clearance after a stop"): "clearance after a stop",
}
"""Names of the groups of limits that the checker has; another one is called as it is."""


def title_of(check: str, name: str) -> str:
    """What a lane is called."""
    return tr(TITLES.get((check, name)) or TITLES.get((check, ""), name), name=name)


def rows_of(motion: ShownMotion | None, refusals: tuple[Refusal, ...]) -> list[Row]:
    """Everything that is wrong: each stretch of failing samples, and refusals that lie in none; in order of time."""
    rows = []
    told = set()
    advice = {(refusal.check, refusal.subject): refusal.advice for refusal in refusals}
    for failure in () if motion is None else motion.failures:
        told.add((failure.check, failure.subject))
        span = _span(failure, motion.period_s) if motion is not None else ""
        rows.append(
            Row(
                sample=failure.worst,
                time_s=None if motion is None else failure.worst * motion.period_s,
                subject=failure.subject,
                check=failure.check,
                limit=failure.limit,
                margin=f"{failure.margin:.3g} {failure.unit}",
                nearest=failure.nearest_allowed,
                place=failure.place,
                advice=" ".join(filter(None, (span, advice.get((failure.check, failure.subject), "")))),
            )
        )
    for refusal in refusals:
        if (refusal.check, refusal.subject) not in told:
            rows.append(
                Row(
                    sample=refusal.sample,
                    time_s=refusal.time_s,
                    subject=refusal.subject,
                    check=refusal.check,
                    limit=refusal.limit,
                    margin=f"{refusal.margin:.3g} {refusal.unit}",
                    nearest=refusal.nearest_allowed,
                    place=refusal.place,
                    advice=refusal.advice,
                )
            )
    return sorted(rows, key=lambda row: (-1 if row.sample is None else row.sample, row.check, row.subject))


def _span(failure: Failure, period_s: float) -> str:
    if failure.first == failure.last:
        return tr("Fails at this sample alone.")
    first_s, last_s = failure.first * period_s, failure.last * period_s
    return tr("Fails from {first:.2f} to {last:.2f} s.", first=first_s, last=last_s)
