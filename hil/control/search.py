"""The search over a grid of settings: what varies, its pieces of work, and what was found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np

from hil.control.experiment import Experiment
from hil.control.joint_values import for_each_joint
from hil.control.loop import COLUMNS, ClosedLoop
from hil.control.results import Scores
from hil.errors import CommandError
from hil.kernels import lane_layout as layout
from hil.kernels.scalar import FloatArray
from hil.model.robot import RobotModel
from hil.types import Record

MOST_SETTINGS = 20_000_000

WHOLE: dict[str, str] = {
    "rate": "rate_hz",
    "payload": "payload_kg",
    "delay": "delay_s",
    "mass": "mass_factor",
    "noise": "noise",
    "resolution": "resolution",
}
"""What may vary, but makes another loop: settings that share it run side by side."""

NAMES = ("kp", "kd", "ki", "bandwidth", "torque_limit", "viscous", "dry", "armature", *WHOLE)
OTHER_NAMES = {"kv": "kd", "torque-limit": "torque_limit"}
OF_JOINTS = frozenset(NAMES) - {"rate", "payload", "delay", "bandwidth"}
SMALL_UNITS = {"delay": 1e-3}
"""Milliseconds, as people type them."""

MEASURES = ("cost", "cost_s", "largest_error", "torque_rms", "at_limit", "failed_s", "reason")
"""Columns of what was found, as in `Scores`."""


class Axis(Record, frozen=True):
    """Something that varies.

    Attributes:
        name: one of `NAMES`.
        joint: only of this joint; empty for all.
        values: to try, as people give them: Hz, ms, N m, kg.
    """

    name: str
    values: tuple[float, ...]
    joint: str = ""

    @property
    def title(self) -> str:
        """As it is typed."""
        return f"{self.name}.{self.joint}" if self.joint else self.name


class Grid(Record, frozen=True):
    """Every combination of the axes' values, the last one changing first."""

    experiment: Experiment
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(axis.values) for axis in self.axes)

    @property
    def count(self) -> int:
        """How many settings there are."""
        return math.prod(self.shape)

    @property
    def rates_vary(self) -> bool:
        """Costs are then times the tick's length: a slow rate sums less often."""
        return any(axis.name == "rate" and len(axis.values) > 1 for axis in self.axes)

    def values(self, numbers: Sequence[int] | FloatArray) -> FloatArray:
        """What is set in each of these settings, shape (K, axes)."""
        places = np.unravel_index(np.asarray(numbers, dtype=np.int64), self.shape)
        return np.stack([np.array(axis.values)[at] for axis, at in zip(self.axes, places, strict=True)], axis=1)


class Piece(NamedTuple):
    """Settings of one loop that are run in one go."""

    number: int
    settings: tuple[int, ...]


def axis_of(text: str, model: RobotModel) -> Axis:
    """An axis from ``kp=100:1000:100``, ``kp.J2=1,2,5``, or ``rate=100:1000:x4``: four values of one ratio.

    Raises:
        CommandError: no such thing, or no values.
    """
    name, equals, values = text.partition("=")
    name, _, joint = name.strip().partition(".")
    name = OTHER_NAMES.get(name, name)
    allowed = f"NAME=FROM:TO:STEP, NAME=FROM:TO:xCOUNT or NAME=A,B,C with NAME of {', '.join(NAMES)}"
    if not equals or name not in NAMES:
        raise CommandError(f"--vary {text} given; allowed: {allowed}", value=text, allowed=allowed)
    names = [each.name for each in model.joints]
    if joint and (joint not in names or name not in OF_JOINTS):
        where = ", ".join(names) if name in OF_JOINTS else f"{name} without a joint"
        raise CommandError(f"--vary {text}: no {name} of {joint!r}; allowed: {where}", axis=joint, value=text)
    found = _values(values, text, allowed)
    if not all(math.isfinite(value) and value >= 0.0 for value in found):
        raise CommandError(f"--vary {text} given; allowed: finite numbers of 0 or more", value=text)
    return Axis(name=name, joint=joint, values=found)


def _values(values: str, text: str, allowed: str) -> tuple[float, ...]:
    parts = values.split(":")
    try:
        if len(parts) == 1:
            return tuple(float(value) for value in values.split(","))
        low, high, step = float(parts[0]), float(parts[1]), parts[2]
        if step.startswith("x"):
            count = int(step[1:])
            if low > 0.0 and high > low and count > 1:
                return tuple(np.geomspace(low, high, count).tolist())
        elif float(step) > 0.0 and high >= low:
            count = int((high - low) / float(step) * (1.0 + 1e-12) + 1e-9) + 1
            return tuple((low + float(step) * np.arange(count)).tolist())
    except (ValueError, IndexError, OverflowError):
        pass
    raise CommandError(f"--vary {text} given; allowed: {allowed}", value=text, allowed=allowed)


def check_axes(grid: Grid) -> None:
    """Whether something varies, once each, and not too much; quick.

    Raises:
        CommandError: nothing does, something twice, or there are too many settings.
    """
    if not grid.axes:
        allowed = "--vary NAME=VALUES, for example --vary kp=500:5000:500 --vary kd=50:500:50"
        raise CommandError(f"nothing varies; allowed: {allowed}", allowed=allowed)
    titles = [axis.title for axis in grid.axes]
    if len(set(titles)) < len(titles):
        raise CommandError(f"{', '.join(titles)}: one of them varies twice; allowed: each once", value=titles)
    if grid.count > MOST_SETTINGS:
        raise CommandError(
            f"{grid.count} settings; allowed: up to {MOST_SETTINGS}: fewer values, or --optimise, which needs no grid",
            value=grid.count,
            allowed=f"up to {MOST_SETTINGS}",
        )


def check_grid(grid: Grid, model: RobotModel) -> None:
    """Try the corners of what makes another loop, and the base.

    Raises:
        CommandError: a setting has no meaning, or there are too many.
    """
    check_axes(grid)
    for axis in grid.axes:
        for value in {min(axis.values), max(axis.values)}:
            ClosedLoop(model, with_values(grid.experiment, model, (axis,), (value,)))


def with_values(experiment: Experiment, model: RobotModel, axes: Sequence[Axis], values: Sequence[float]) -> Experiment:
    """`experiment` with these values in it."""
    changed = experiment
    for axis, value in zip(axes, values, strict=True):
        value = float(value) * SMALL_UNITS.get(axis.name, 1.0)
        if axis.name == "bandwidth":
            changed = msgspec.structs.replace(changed, bandwidth_hz=value, kp=(), kd=())
            continue
        key = WHOLE.get(axis.name, axis.name)
        if axis.name not in OF_JOINTS:
            changed = msgspec.structs.replace(changed, **{key: value})
            continue
        present = _present(changed, model, axis.name)
        at = [joint.name for joint in model.joints].index(axis.joint) if axis.joint else None
        if at is None:
            present = [value] * model.dof
        else:
            present[at] = value
        if axis.name in ("kp", "kd") and not changed.kp:  # both or neither
            changed = msgspec.structs.replace(
                changed, kp=tuple(_present(changed, model, "kp")), kd=tuple(_present(changed, model, "kd"))
            )
        changed = msgspec.structs.replace(changed, **{key: tuple(present)})
    return changed


def _present(experiment: Experiment, model: RobotModel, name: str) -> list[float]:
    """What every joint has now."""
    given = getattr(experiment, WHOLE.get(name, name))
    if given or name not in (*COLUMNS, "dry"):
        return for_each_joint(model, name, given, 1.0 if name == "mass" else 0.0)
    block = layout.FORWARDS if name == "dry" else COLUMNS[name]
    n = model.dof
    found: list[float] = _loop(experiment, model).column[block * n : (block + 1) * n].tolist()
    return found


def pieces(grid: Grid, most: int) -> Iterator[Piece]:
    """The grid in pieces of at most `most` settings, each of one loop, in one order for all times."""
    numbers = np.arange(grid.count).reshape(grid.shape)
    whole = [k for k, axis in enumerate(grid.axes) if axis.name in WHOLE]
    counter = itertools.count()
    for chosen in itertools.product(*(range(grid.shape[k]) for k in whole)):
        place: list[int | slice] = [slice(None)] * len(grid.axes)
        for k, at in zip(whole, chosen, strict=True):
            place[k] = at
        own = numbers[tuple(place)].reshape(-1)
        for first in range(0, len(own), most):
            yield Piece(next(counter), tuple(own[first : first + most].tolist()))


def work(
    grid: Grid, model: RobotModel, settings: Sequence[int], *, compiled: bool | None, threads: int = 1
) -> FloatArray:
    """Run some settings of one loop: `MEASURES` of each, shape (K, 7). Runs here or on another computer."""
    return evaluate(grid.experiment, model, grid.axes, grid.values(settings), compiled=compiled, threads=threads)


def evaluate(
    experiment: Experiment,
    model: RobotModel,
    axes: Sequence[Axis],
    values: FloatArray,
    *,
    compiled: bool | None,
    threads: int = 1,
) -> FloatArray:
    """Run settings that share what makes a loop; `values` has a row for each."""
    whole = [k for k, axis in enumerate(axes) if axis.name in WHOLE]
    changed = with_values(experiment, model, [axes[k] for k in whole], [values[0, k] for k in whole])
    for k, axis in enumerate(axes):
        if axis.name == "dry":  # the equations have to hold it, if any of the settings has some
            changed = with_values(changed, model, (axis,), (values[:, k].max(),))
    loop = _loop(changed, model)
    columns = np.repeat(loop.column[:, None], len(values), axis=1)
    n = model.dof
    for k, axis in enumerate(axes):
        if axis.name == "bandwidth":
            _set_bandwidth(columns, loop, axis, values[:, k], model)
        elif k not in whole:
            blocks = (layout.FORWARDS, layout.BACKWARDS) if axis.name == "dry" else (COLUMNS[axis.name],)
            joints = [j for j, joint in enumerate(model.joints) if axis.joint in ("", joint.name)]
            for block in blocks:
                columns[[block * n + j for j in joints]] = values[:, k]
    return _table(loop.run(columns, compiled=compiled, threads=threads))


def _set_bandwidth(columns: FloatArray, loop: ClosedLoop, axis: Axis, values: FloatArray, model: RobotModel) -> None:
    """Gains go with the square and the first power of it."""
    base = msgspec.structs.replace(loop.experiment, kp=(), kd=(), bandwidth_hz=1.0)
    unit = _loop(base, model).column
    n = model.dof
    columns[layout.KP * n : layout.KP * n + n] = unit[layout.KP * n : layout.KP * n + n, None] * values**2
    columns[layout.KD * n : layout.KD * n + n] = unit[layout.KD * n : layout.KD * n + n, None] * values


def _table(scores: Scores) -> FloatArray:
    return np.stack([getattr(scores, name) for name in MEASURES], axis=1)


@lru_cache(maxsize=16)
def _loop(experiment: Experiment, model: RobotModel) -> ClosedLoop:
    return ClosedLoop(model, experiment)


class Found(NamedTuple):
    """The outcome of a search that may not be finished.

    Attributes:
        grid: what was searched.
        table: `MEASURES` of every setting; NaN in the cost where one is not done.
        points: what was set in each, shape (K, axes), where that is not the grid's.
    """

    grid: Grid
    table: FloatArray
    points: FloatArray | None = None

    def values(self, numbers: Sequence[int]) -> FloatArray:
        """What was set in each of these, shape (K, axes)."""
        return self.grid.values(numbers) if self.points is None else self.points[list(numbers)]

    @property
    def done(self) -> int:
        """How many settings were run."""
        return int((~np.isnan(self.table[:, 0])).sum())

    @property
    def costs(self) -> FloatArray:
        """What is minimised: the cost, times the tick where rates vary."""
        costs: FloatArray = self.table[:, MEASURES.index("cost_s" if self.grid.rates_vary else "cost")]
        return costs

    @property
    def unstable(self) -> int:
        """How many runs passed a bound."""
        return int(np.isinf(self.table[:, 0]).sum())

    def best(self, count: int = 1) -> list[int]:
        """The cheapest settings, cheapest first; unstable ones never."""
        order = np.argsort(np.where(np.isnan(self.costs), np.inf, self.costs), kind="stable")[:count]
        return [int(k) for k in order if math.isfinite(self.costs[k])]

    def ties(self) -> list[int]:
        """All settings that cost as little as the best, up to rounding."""
        if not self.best():
            return []
        least = self.costs[self.best()[0]]
        return [int(k) for k in np.flatnonzero(self.costs <= least * (1.0 + 1e-12))]

    def pareto(self) -> list[int]:
        """Settings that no other beats in both cost and torque, by rising cost."""
        torque = self.table[:, MEASURES.index("torque_rms")]
        usable = np.flatnonzero(np.isfinite(self.costs))
        order = usable[np.lexsort((torque[usable], self.costs[usable]))]
        front: list[int] = []
        for k in order:
            if not front or torque[k] < torque[front[-1]]:
                front.append(int(k))
        return front
