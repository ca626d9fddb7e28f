"""hil fit: an arm's servos from a journal in which it was measured, how sure that is, and what the shadow gains."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from hil.control.fit import Fit, Stretch, counted, fit_servo, followed
from hil.errors import CommandError, ConfigError
from hil.kernels.scalar import FloatArray
from hil.link import NetworkedSettings
from hil.model.rig import Axis, AxisKind, Rig
from hil.model.servo import HobbyServo
from hil.runtime.wiring import rig_of_session
from hil.space.gravity_load import GravityLoad
from hil.types import Record, StateSource
from hil.units import DEG, MM
from hil.workbench.columns import AxisColumns, JournalColumns, cut_out, read_columns

LEAST_WAY = 0.1
"""An axis that went less far than this, rad, tells nothing of its servo; of a sliding one 0.005 m."""
LEAST_WAY_M = 0.005

SHORTEST_S = 1.0
"""A stretch in which the arm was told where to be counts from this length on."""


LOOSE_SHARE = 0.1
"""A value whose interval reaches further than this part of itself is told with how to find it more exactly."""


class AxisFit(Record, frozen=True):
    """What came of one axis; lengths in `unit`.

    Attributes:
        axis: its name.
        unit: ``deg`` or ``mm``.
        kind: of its model.
        fit: the numbers, in rad, m and s.
        worst_before, rms_before: measured minus the shadow, as the journal has it.
        worst_after, rms_after: the same with the servo that was found.
        lines: for the rig's file.
        remarks: what to know of it.
    """

    axis: str
    unit: str
    kind: str
    fit: Fit
    worst_before: float
    rms_before: float
    worst_after: float
    rms_after: float
    lines: tuple[str, ...]
    remarks: tuple[str, ...]


class ServoFits(Record, frozen=True):
    """All axes of a journal.

    Attributes:
        wiring: FAKE or REAL.
        rig_id: the journal's rig.
        source: what measured.
        axes: those that could be fitted.
        left_out: the others, each with the reason.
        remarks: what to know of all of them.
    """

    wiring: str
    rig_id: str
    source: str
    axes: tuple[AxisFit, ...]
    left_out: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...] = ()


class _Channel(NamedTuple):
    """Where one axis was found, in rad, m or V."""

    time_s: FloatArray
    values: FloatArray
    volts: bool


def fit_journal(
    journal: Path,
    *,
    axis: str | None = None,
    kind: str | None = None,
    measured: Path | None = None,
    first_s: float = 0.0,
    last_s: float = math.inf,
) -> ServoFits:
    """Fit the servos of a journal's arm.

    Args:
        journal: the journal.
        axis: only this one.
        kind: ``hobby`` or ``drive``; None for what the rig names, or else a drive where a controller measures.
        measured: a table of what something else measured: ``time_s`` of the session, and of each axis ``NAME_deg``,
            ``NAME_mm``, or ``NAME_v`` for volts that go straight with its position.
        first_s: only from so many seconds of the session on.
        last_s: only until so many.

    Raises:
        CommandError: nothing was measured, or too little; no such axis.
        JournalError, ConfigError: a file cannot be read.
        MissingExtraError: SciPy is not installed.
    """
    columns = read_columns(journal)
    if first_s > 0.0 or last_s < math.inf:
        columns = cut_out(columns, first_s, last_s)
    rig = rig_of_session(columns.session)
    names = [each.name for each in columns.axes]
    if axis is not None and axis not in names:
        raise CommandError(f"no axis {axis!r} in {journal}; allowed: {', '.join(names)}", value=axis)
    channels, source = _channels(columns, journal, measured)
    loads = _loads(rig, columns)
    fits, left_out = [], []
    for index, (one, own) in enumerate(zip(rig.axes, columns.axes, strict=True)):
        if axis is not None and one.name != axis:
            continue
        channel = channels.get(one.name)
        reason = "nothing measured it" if channel is None else _too_still(one, own)
        if reason:
            left_out.append((one.name, reason))
            continue
        assert channel is not None
        try:
            fits.append(_fit_axis(one, own, columns, channel, loads[:, index], kind, measured is not None))
        except CommandError as error:
            if kind is not None and "kind" in str(error):
                raise
            left_out.append((one.name, str(error)))
    if not fits:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out)
        raise CommandError(f"{journal}: no servo can be fitted: {why}. Move every joint to and fro, and record that")
    wiring = columns.session.wiring.value
    return ServoFits(wiring, rig.id, source, tuple(fits), tuple(left_out), _of_the_way(rig))


def _of_the_way(rig: Rig) -> tuple[str, ...]:
    """Whose lag it is, where a controller that can be led by packets is led by its own moves."""
    if not isinstance(rig.controller, NetworkedSettings) or rig.controller.datagram_url:
        return ()
    return (
        "the lag is that of the moves which this controller plans by itself, not of the drives: the shadow comes "
        'closer with it, but the drives can be told apart only where packets lead the arm (way = "mxt")',
    )


def _channels(columns: JournalColumns, journal: Path, measured: Path | None) -> tuple[dict[str, _Channel], str]:
    if measured is not None:
        return _table(measured, [axis.name for axis in columns.axes]), measured.name
    sources = {source for source in columns.source if source is not None}
    if not sources:
        raise CommandError(f"{journal}: the controller reported nothing. {_ELSE}")
    if not all(source.of_arm for source in sources):
        raise CommandError(
            f"{journal}: the controller echoes the pulses that it makes; where the arm was nobody measured, so that "
            f"nothing can be learned of its servos. {_ELSE}"
        )
    source = next(iter(sources)).value
    report_s = columns.time_s - columns.report_age_ms / 1e3
    _, rows = np.unique(report_s, return_index=True)
    channels = {}
    for axis in columns.axes:
        factor = DEG if axis.unit == "deg" else MM
        known = rows[np.isfinite(report_s[rows]) & np.isfinite(axis.reported[rows])]
        channels[axis.name] = _Channel(report_s[known], axis.reported[known] * factor, False)
    return channels, StateSource(source).value


_ELSE = (
    "Measure it by something else at the same time, and give --measured FILE.csv with the columns time_s (of the "
    "session) and NAME_deg, NAME_mm or NAME_v of each axis: from a camera, or a potentiometer at an analogue input"
)


def _table(file: Path, names: Sequence[str]) -> dict[str, _Channel]:
    try:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            rows = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(str(file), "file", None, "a table that can be read", str(error)) from None
    heads = list(rows[0]) if rows else []
    wanted = {f"{name}_{unit}": (name, unit) for name in names for unit in ("deg", "mm", "v")}
    used = [head for head in heads if head in wanted]
    if "time_s" not in heads or not used:
        allowed = f"time_s, and one of {', '.join(wanted)}"
        raise CommandError(f"{file}: columns {', '.join(heads) or 'none'}; allowed: {allowed}", allowed=allowed)
    try:
        numbers = {head: np.array([float(row[head] or "nan") for row in rows]) for head in ("time_s", *used)}
    except (TypeError, ValueError) as error:
        raise CommandError(f"{file}: {error}; allowed: numbers with a point before their decimals") from None
    channels = {}
    for head in used:
        name, unit = wanted[head]
        known = np.isfinite(numbers["time_s"]) & np.isfinite(numbers[head])
        order = np.argsort(numbers["time_s"][known], kind="stable")
        factor = {"deg": DEG, "mm": MM, "v": 1.0}[unit]
        values = numbers[head][known][order] * factor
        channels[name] = _Channel(numbers["time_s"][known][order], values, unit == "v")
    return channels


def _loads(rig: Rig, columns: JournalColumns) -> FloatArray:
    """What every axis had to hold where it was due, shape (rows, axes); nothing where the robot has no masses."""
    loads = np.zeros((len(columns.time_s), len(rig.axes)))
    if rig.robot.inertia is None:
        return loads
    weighed = GravityLoad(rig)
    units = [DEG if axis.kind is AxisKind.REVOLUTE else MM for axis in rig.axes]
    due = np.stack([axis.commanded * unit for axis, unit in zip(columns.axes, units, strict=True)], axis=1)
    for row in np.flatnonzero(np.isfinite(due[:, : rig.robot.dof]).all(axis=1)).tolist():
        loads[row, : rig.robot.dof] = weighed.torques(due[row].tolist())
    return loads


def _too_still(axis: Axis, own: AxisColumns) -> str:
    told = own.commanded[np.isfinite(own.commanded)]
    least = LEAST_WAY / DEG if axis.kind is AxisKind.REVOLUTE else LEAST_WAY_M / MM
    way = float(np.ptp(told)) if len(told) else 0.0
    return "" if way >= least else f"it was moved by {way:.1f} {own.unit}; {least:.1f} or more tell something"


def _fit_axis(
    axis: Axis,
    own: AxisColumns,
    columns: JournalColumns,
    channel: _Channel,
    load: FloatArray,
    kind: str | None,
    own_clock: bool,
) -> AxisFit:
    factor = DEG if axis.kind is AxisKind.REVOLUTE else MM
    named = axis.servo
    chosen = kind or ("hobby" if isinstance(named, HobbyServo) or (named is None and own_clock) else "drive")
    stretches = _stretches(columns.time_s, _led(own) * factor, load, channel)
    if not stretches:
        raise CommandError("it was never told where to be for a second or more")
    told = np.concatenate([each.target for each in stretches])
    fit = fit_servo(
        stretches,
        chosen,
        top_speed=axis.servo_speed,
        way=float(np.ptp(told)),
        backlash=named.backlash if isinstance(named, HobbyServo) else 0.0,
        volts=channel.volts,
        own_clock=own_clock,
    )
    before = after = np.array([math.nan])
    if not channel.volts:
        shadow = own.simulated * factor
        # Another clock's shift is no fault of the shadow; a delay by the session's own clock is one.
        shift_s = fit.value("delay").value if own_clock else 0.0
        shifted = [each._replace(measured_s=each.measured_s - shift_s) for each in stretches]
        was = counted(shifted, lambda each: each.measured - np.interp(each.measured_s, columns.time_s, shadow))
        found, seen = followed(shifted, fit.model, fit.lag_s, axis.servo_speed)
        before, after = was / factor, (seen - found) / factor
    return AxisFit(
        axis=axis.name,
        unit=own.unit,
        kind=chosen,
        fit=fit,
        worst_before=float(np.abs(before).max()),
        rms_before=float(np.sqrt(np.mean(before**2))),
        worst_after=float(np.abs(after).max()),
        rms_after=float(np.sqrt(np.mean(after**2))),
        lines=_lines(axis, fit, own.unit, factor),
        remarks=_remarks(fit, own.unit, factor, own_clock),
    )


def _led(own: AxisColumns) -> FloatArray:
    """Where the controller had its servo go: its interpolation rounds corners that were told, and is no servo's lag."""
    return np.where(np.isfinite(own.commanded), own.setpoint, np.nan)


def _stretches(time_s: FloatArray, target: FloatArray, load: FloatArray, channel: _Channel) -> list[Stretch]:
    known = np.isfinite(target)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    found = []
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        times = time_s[first:last]
        inside = (channel.time_s >= times[0]) & (channel.time_s <= times[-1])
        if times[-1] - times[0] >= SHORTEST_S and inside.any():
            part = channel.time_s[inside], channel.values[inside]
            found.append(Stretch(times, target[first:last], load[first:last], *part))
    return found


def _lines(axis: Axis, fit: Fit, unit: str, factor: float) -> tuple[str, ...]:
    model = fit.model
    if not isinstance(model, HobbyServo):
        lag = f"servo_lag_ms = {fit.lag_s * 1e3:.1f}"
        if not fit.value("acceleration").known:
            return (lag,)
        return (lag, f'servo = {{ kind = "drive", acceleration_{unit}_s2 = {model.acceleration / factor:.4g} }}')
    parts = [
        'kind = "hobby"',
        f"frequency_hz = {model.frequency_rad_s / (2.0 * math.pi):.3f}",
        f"damping = {model.damping:.3f}",
        f"dead_band_{unit} = {model.dead_band / factor:.2f}",
    ]
    if model.backlash:
        parts.append(f"backlash_{unit} = {model.backlash / factor:.2f}")
    if model.sag:
        parts.append(f"sag_{unit}_per_{'n_m' if unit == 'deg' else 'n'} = {model.sag / factor:.3f}")
    return (f"servo_lag_ms = {math.ceil(fit.lag_s * 1e3) + 1}", f"servo = {{ {', '.join(parts)} }}")


def _remarks(fit: Fit, unit: str, factor: float, own_clock: bool) -> tuple[str, ...]:
    said = [
        f"{each.name}: the recording does not tell it apart; the value is no more than a guess"
        for each in fit.values
        if not each.known and each.name not in ("delay", "dead_band")
    ]
    said += [
        f"{each.name}: known to {100.0 * each.spread:.0f} % only; short moves to and fro without a pause tell it closer"
        for each in fit.values
        if each.known and each.spread > LOOSE_SHARE and each.name not in ("delay", "dead_band")
    ]
    delay = fit.value("delay")
    if not own_clock and delay.low > 0.0 and delay.value > 0.005:
        said.append(f"a delay of {delay.value * 1e3:.0f} ms is no servo: the shadow has none")
    if abs(fit.offset) > 0.5 * factor:
        said.append(f"measured {fit.offset / factor:+.2f} {unit} off the model throughout: look at the calibration")
    return tuple(said)


def shown(name: str, value: float, unit: str) -> tuple[float, str]:
    """A number of a `Fit` as people read it, and its unit."""
    factor = DEG if unit == "deg" else MM
    if name in ("lag", "delay"):
        return value * 1e3, "ms"
    if name == "frequency":
        return value / (2.0 * math.pi), "Hz"
    if name == "damping":
        return value, ""
    words = {"acceleration": f"{unit}/s2", "sag": f"{unit}/N m" if unit == "deg" else f"{unit}/N"}
    return value / factor, words.get(name, unit)


def as_tree(fits: ServoFits) -> dict[str, Any]:
    """For --json; the numbers as people read them."""
    tree: dict[str, Any] = msgspec.to_builtins(fits)
    for row, each in zip(tree["axes"], fits.axes, strict=True):
        del row["fit"]
        row["reports"] = each.fit.reports
        row["rms_left"] = each.fit.rms / (DEG if each.unit == "deg" else MM)
        row["values"] = {}
        for value in each.fit.values:
            best, unit = shown(value.name, value.value, each.unit)
            low, high = (shown(value.name, edge, each.unit)[0] for edge in (value.low, value.high))
            row["values"][value.name] = {"value": best, "low": low, "high": high, "unit": unit, "known": value.known}
    return tree
