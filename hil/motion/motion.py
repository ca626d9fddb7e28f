"""A planned motion: every sample that will be sent, immutable, with a digest that a certificate can bind."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from hil.errors import CommandError
from hil.link import FloatArray
from hil.types import Record

STILL = 1e-12
"""Radians or metres below which nothing counts as moving."""

MAX_DURATION_S = 3600.0
MAX_SAMPLES = 2_000_000
MAX_AXES = 16
LEAST_PERIOD_S, MAX_PERIOD_S = 1e-4, 1.0

Kind = Literal["joint", "line", "wait", "gripper", "arc", "curve", "spline", "points", "replay", "solution"]
Point = tuple[float, float, float]


class Mark(Record, frozen=True):
    """Which step of the user's file a stretch of samples belongs to.

    Attributes:
        first, last: sample indices; neighbouring stretches share the sample between them.
        step: number of the step in the file, from 1; 0 for a motion that no file describes.
        label: words for the user.
        start_m, end_m, tolerance_m: the straight line that the tool keeps to, for lines only.
    """

    first: int
    last: int
    step: int
    kind: Kind
    label: str = ""
    start_m: Point | None = None
    end_m: Point | None = None
    tolerance_m: float | None = None


class ExpectedInput(Record, frozen=True):
    """An input of the controller that decided something while samples `first` to `last` were made.

    It has to be the same when they are sent; where it differs, the arm is held.
    """

    first: int
    last: int
    signal: int
    value: int


class ToolPath(Record, frozen=True):
    """The way that the tool keeps to while samples `first` to `last` are sent; a straight one stands in its mark.

    Attributes:
        tolerance_m: how far it may be off it, half-way between samples too.
        points: where it has to be at each sample and half-way to the next, little-endian doubles of shape
            (2 (last - first) + 1, 3), in metres.
    """

    first: int
    last: int
    tolerance_m: float
    points: bytes

    @property
    def points_m(self) -> FloatArray:
        """The points, shape (2 (last - first) + 1, 3)."""
        return np.frombuffer(self.points, dtype="<f8").reshape(-1, 3)


class _Wire(Record, frozen=True, omit_defaults=True):
    axes: tuple[str, ...]
    period_s: float
    samples: bytes
    marks: tuple[Mark, ...]
    expected: tuple[ExpectedInput, ...] = ()
    paths: tuple[ToolPath, ...] = ()


class Motion:
    """Samples on a fixed period, from rest to rest.

    Sample k is due k periods after the start, so two samples with one time stamp cannot exist.

    Attributes:
        axes: names in the order of `rig.axes`.
        period_s: time between samples.
        samples: read-only array (N, n_axes) in radians or metres; sample 0 is the start pose.
        marks: stretches in rising order.
        expected: inputs that the controller has to show, by their first samples in rising order.
        paths: ways of the tool that are not straight lines, by their first samples in rising order.
        digest: SHA-256 over all of the above.

    Raises:
        CommandError: a number is not finite, a shape does not fit, marks do not rise, or there is too
            much of it.
    """

    __slots__ = ("_lasts", "axes", "digest", "expected", "marks", "paths", "period_s", "samples")

    axes: tuple[str, ...]
    period_s: float
    samples: FloatArray
    marks: tuple[Mark, ...]
    expected: tuple[ExpectedInput, ...]
    paths: tuple[ToolPath, ...]
    digest: str
    _lasts: tuple[int, ...]

    def __init__(
        self,
        axes: Sequence[str],
        period_s: float,
        samples: npt.ArrayLike,
        marks: Sequence[Mark] = (),
        expected: Sequence[ExpectedInput] = (),
        paths: Sequence[ToolPath] = (),
    ) -> None:
        array = np.array(samples, dtype="<f8", order="C")
        plain = _plain(marks)
        _check(tuple(axes), period_s, array, plain)
        _check_expected(expected, array.shape[0])
        _check_paths(paths, array.shape[0])
        # The copy ends in bytes so that no view of it can be made writeable again.
        frozen = np.frombuffer(array.tobytes(), dtype=np.dtype("<f8")).reshape(array.shape)
        setattr_ = object.__setattr__
        setattr_(self, "axes", tuple(axes))
        setattr_(self, "period_s", float(period_s))
        setattr_(self, "samples", frozen)
        setattr_(self, "marks", plain)
        setattr_(self, "expected", tuple(expected))
        setattr_(self, "paths", tuple(paths))
        setattr_(self, "_lasts", tuple(mark.last for mark in plain))
        setattr_(self, "digest", hashlib.sha256(self.to_bytes()).hexdigest())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a motion is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a motion is immutable: {name} cannot be deleted")

    def __reduce__(self) -> tuple[object, tuple[bytes]]:
        return Motion.from_bytes, (self.to_bytes(),)

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    def __repr__(self) -> str:
        return f"Motion({len(self)} samples, {self.duration_s:.2f} s, digest {self.digest[:12]})"

    def _repr_html_(self) -> str:
        from hil.figures import notebook

        time_s = self.period_s * np.arange(len(self), dtype=np.float64)
        panel = notebook.Panel("rad, or m", notebook.joint_traces(self.axes, self.samples))
        return notebook.page(notebook.over_time(f"Motion, {self.duration_s:.2f} s", time_s, [panel]))

    @property
    def duration_s(self) -> float:
        """Time from the first sample to the last."""
        return (len(self) - 1) * self.period_s

    @property
    def start(self) -> tuple[float, ...]:
        """Position of every axis at sample 0."""
        return tuple(self.samples[0].tolist())

    @property
    def end(self) -> tuple[float, ...]:
        """Position of every axis at the last sample."""
        return tuple(self.samples[-1].tolist())

    def mark_at(self, sample: int) -> Mark | None:
        """The mark whose stretch leads to `sample`, or None where no mark does."""
        index = bisect_left(self._lasts, sample)
        if index < len(self.marks) and self.marks[index].first <= sample:
            return self.marks[index]
        return None

    def place(self, sample: int) -> str:
        """Where in the user's file `sample` comes from, for example ``step 3 (line)``; empty if from none."""
        mark = self.mark_at(sample)
        if mark is None:
            return ""
        return f"step {mark.step} ({mark.kind})" if mark.step else mark.label

    def to_bytes(self) -> bytes:
        """All of it, as MessagePack; samples as little-endian doubles."""
        wire = _Wire(
            axes=self.axes,
            period_s=self.period_s,
            samples=self.samples.tobytes(),
            marks=self.marks,
            expected=self.expected,
            paths=self.paths,
        )
        return msgspec.msgpack.encode(wire)

    @classmethod
    def from_bytes(cls, data: bytes) -> Motion:
        """Read back what `to_bytes` wrote.

        Raises:
            CommandError: not a motion, or one that could not have been made.
        """
        try:
            wire = msgspec.msgpack.decode(data, type=_Wire)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise CommandError(f"not an encoded motion: {error}") from None
        width = 8 * len(wire.axes)
        if not width or not wire.samples or len(wire.samples) % width:
            raise CommandError(
                f"encoded motion: {len(wire.samples)} bytes of samples do not divide by {len(wire.axes)} axes"
            )
        samples = np.frombuffer(wire.samples, dtype="<f8").reshape(-1, len(wire.axes))
        return cls(wire.axes, wire.period_s, samples, wire.marks, wire.expected, wire.paths)


def _plain(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """The marks as they come out of their bytes, so that 0 and 0.0 give one digest."""
    try:
        return msgspec.msgpack.decode(msgspec.msgpack.encode(tuple(marks)), type=tuple[Mark, ...])
    except msgspec.ValidationError as error:
        raise CommandError(f"motion: marks: {error}") from None


def _check(axes: tuple[str, ...], period_s: float, samples: FloatArray, marks: tuple[Mark, ...]) -> None:
    if not 1 <= len(axes) <= MAX_AXES or len(set(axes)) != len(axes):
        raise CommandError(f"motion: axes {axes!r}; allowed: 1 to {MAX_AXES} different names", value=axes)
    if not (math.isfinite(period_s) and LEAST_PERIOD_S <= period_s <= MAX_PERIOD_S):
        raise CommandError(
            f"motion: period {period_s!r} s; allowed: {LEAST_PERIOD_S:g} to {MAX_PERIOD_S:g} s", value=period_s
        )
    if samples.ndim != 2 or samples.shape[1] != len(axes):
        raise CommandError(f"motion: samples of shape {samples.shape}; allowed: (N, {len(axes)})")
    most = min(MAX_SAMPLES, math.floor(MAX_DURATION_S / period_s) + 2)
    if not 1 <= samples.shape[0] <= most:
        raise CommandError(f"motion: {samples.shape[0]} samples; allowed: 1 to {most} at {period_s:g} s")
    if not np.isfinite(samples).all():
        row, column = np.argwhere(~np.isfinite(samples))[0]
        value = float(samples[row, column])
        raise CommandError(
            f"motion: sample {row}, axis {axes[column]}: {value!r} is not a finite number",
            axis=axes[column],
            value=value,
            allowed="a finite number",
        )
    _check_marks(marks, samples.shape[0])


def _check_marks(marks: tuple[Mark, ...], count: int) -> None:
    last = step = 0
    for mark in marks:
        if not last <= mark.first <= mark.last < count or mark.step < step:
            raise CommandError(
                f"motion: mark of step {mark.step} covers samples {mark.first} to {mark.last}; "
                f"allowed: rising stretches within {last} to {count - 1}, rising steps"
            )
        last, step = mark.last, mark.step
        _check_line(mark)


def _check_expected(expected: Sequence[ExpectedInput], count: int) -> None:
    first = 0
    for each in expected:
        if not first <= each.first <= each.last < count or each.signal < 0 or each.value not in (0, 1):
            raise CommandError(
                f"motion: input {each.signal} expected to be {each.value} in samples {each.first} to {each.last}; "
                f"allowed: 0 or 1, stretches that begin in rising order within 0 to {count - 1}"
            )
        first = each.first


def _check_paths(paths: Sequence[ToolPath], count: int) -> None:
    last = 0
    for each in paths:
        if not last <= each.first < each.last < count:
            raise CommandError(
                f"motion: a path of the tool covers samples {each.first} to {each.last}; "
                f"allowed: rising stretches within {last} to {count - 1}"
            )
        last = each.last
        if len(each.points) != 24 * (2 * (each.last - each.first) + 1):
            raise CommandError(f"motion: a path of the tool has {len(each.points)} bytes of points, which do not fit")
        if not (math.isfinite(each.tolerance_m) and each.tolerance_m > 0.0 and np.isfinite(each.points_m).all()):
            raise CommandError("motion: a path of the tool needs finite points and a tolerance above 0")


def _check_line(mark: Mark) -> None:
    if mark.kind != "line":
        if (mark.start_m, mark.end_m, mark.tolerance_m) != (None, None, None):
            raise CommandError(f"motion: step {mark.step} is not a line, but its mark names one")
        return
    if mark.start_m is None or mark.end_m is None or mark.tolerance_m is None:
        raise CommandError(f"motion: the line of step {mark.step} lacks its start, end or tolerance")
    if not all(map(math.isfinite, (*mark.start_m, *mark.end_m, mark.tolerance_m))) or mark.tolerance_m <= 0:
        raise CommandError(f"motion: the line of step {mark.step} needs finite ends and a tolerance above 0")
