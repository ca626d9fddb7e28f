"""Figures of a journal: what was commanded, simulated and reported, how far they are apart, and what happened."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hil.errors import ConfigError
from hil.figures.events import Flag, Importance, flagged, gathered, key_of
from hil.figures.looks import COMMANDED, LIMIT, SIGNALS, WRONG, Entry
from hil.figures.options import POINTS_PER_MM, FigureFormat, FigureOptions, require_folder, require_target
from hil.figures.sheet import STRIP_EM, Band, Note, Sheet, as_strip, drawing, save, tidy
from hil.figures.time_axis import most_ticks, set_time_axis, time_scale
from hil.link import FloatArray
from hil.types import Mode, StateSource
from hil.workbench.columns import AxisColumns, JournalColumns, Words, cut_out, read_columns
from hil.workbench.export import plain_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MODE_TINTS = {
    Mode.ENERGISING: "#FBF0B8",
    Mode.ARMED: "#E4E4F4",
    Mode.STREAMING: "#CFE6F7",
    Mode.STOPPING: "#FBD9B5",
    Mode.FAULT: "#F6D3C3",
    Mode.ESTOP: "#F6D3C3",
    Mode.CONNECTING: "#EDEDED",
    Mode.UNKNOWN_POSE: "#EDEDED",
    Mode.DISCONNECTED: "#DDDDDD",
}
SEEN_BEHIND = (Mode.STOPPING, Mode.FAULT, Mode.ESTOP)
"""Modes whose tint goes through the panels; the others are named above them."""

MEANING = {
    StateSource.ECHOED: "ECHOED (the pulse that the controller generates, not the arm)",
    StateSource.MEASURED: "MEASURED (by the controller, at the arm)",
    StateSource.SIMULATED: "SIMULATED",
}

LEAST_SPAN = 1.0
"""Degrees or millimetres that a panel shows at least."""

MOST_EVENTS, MOST_EVENTS_NARROW = 14, 8

TIME_WORDS = "time since the session began"
POSITION_MM, ERROR_MM, ROW_MM = 48.0, 28.0, 24.0
"""Heights of panels: position and error of one axis, and one of many."""


def plot_journal(
    journal: Path,
    target: Path,
    axis: str | None = None,
    *,
    first_s: float = 0.0,
    last_s: float = math.inf,
    options: FigureOptions | None = None,
    kind: FigureFormat = FigureFormat.PNG,
) -> list[Path]:
    """Draw a figure per axis into a folder, or a single figure into a file.

    Args:
        journal: the journal, which may be unfinished.
        target: a folder, made if it is not there; or a file, which is told by an ending such as ``.svg``: it shows one
            axis with its error, or the positions of all if none is named. Older ones of the same name are replaced.
        axis: only this one.
        first_s: only from this time since the session began.
        last_s: only until this time.
        options: size and resolution.
        kind: of the figures in a folder.

    Returns:
        The figures.

    Raises:
        CommandError: the file has an ending that is not known, or the figure cannot have this size.
        JournalError: the journal cannot be read, or there is no tick in the stretch.
        ConfigError: it has no such axis.
        HilError: matplotlib is missing, or a figure cannot be written.
    """
    options = options or FigureOptions()
    single = is_single_file(target)
    if single:
        require_target(target)
    else:
        require_folder(target)
    columns = read_columns(journal)
    if first_s > 0.0 or last_s < math.inf:
        columns = cut_out(columns, first_s, last_s)
    names = [each.name for each in columns.axes]
    if axis is not None and axis not in names:
        raise ConfigError(str(journal), "--axis", axis, f"one of {', '.join(names)}")
    chosen = [each for each in columns.axes if axis in (None, each.name)]
    with drawing(options):
        if single:
            sheet = draw_axis(columns, chosen[0], options) if len(chosen) == 1 else draw_all(columns, options)
            save(sheet, target)
            return [target]
        target.mkdir(parents=True, exist_ok=True)
        figures = []
        for plain, each in zip(plain_names(names), columns.axes, strict=True):
            if each in chosen:
                figures.append(target / f"{journal.stem}-{plain}.{kind.value}")
                save(draw_axis(columns, each, options), figures[-1])
        return figures


def is_single_file(target: Path) -> bool:
    """Whether this names one figure and no folder: it has an ending, and is no folder that is there already."""
    return bool(target.suffix) and not target.is_dir()


# -- one axis, and all -----------------------------------------------------------------------------------


def draw_axis(columns: JournalColumns, axis: AxisColumns, options: FigureOptions) -> Sheet:
    """Position above, error below; to be called and saved within `drawing`."""
    flags, left_out = _flags(columns.words, options)
    time_s = _broken(columns.time_s, columns.row_after_gap)
    limits = _Limits.of(axis)
    key = [*_signal_key(columns, [axis]), *limits.key(axis), *key_of(flags)]
    notes = [*_source_notes(columns), *_worst_notes(columns, axis), *_event_notes(flags, left_out)]
    strips_pt = 2.0 * STRIP_EM * options.font_pt
    heights = [STRIP_EM * options.font_pt] * 2 + [POSITION_MM * POINTS_PER_MM, ERROR_MM * POINTS_PER_MM]
    body_pt = strips_pt + (POSITION_MM + ERROR_MM) * POINTS_PER_MM + 4.0 * options.font_pt
    sheet = Sheet(options, _title(columns, axis.name), key, notes, body_pt)
    grid = sheet.grid(4, height_ratios=heights)
    above = sheet.figure.add_subplot(grid[2])
    below = sheet.figure.add_subplot(grid[3], sharex=above)
    for signal, values in _signals(axis):
        above.plot(time_s, _broken(values, columns.row_after_gap), label=signal, **SIGNALS[signal])
    for signal, values in (("simulated", axis.simulated_error), ("reported", axis.error)):
        broken = _broken(values, columns.row_after_gap)
        below.plot(time_s, broken, label=f"{signal} - commanded", **SIGNALS[signal])
    below.axhline(0.0, color=COMMANDED, linewidth=0.6)
    limits.draw(above, below)
    above.set_ylabel(f"{axis.name}, {axis.unit}")
    below.set_ylabel(f"error, {axis.unit}")
    _finish(sheet, (grid[0], grid[1]), [above, below], columns, flags)
    return sheet


def draw_all(columns: JournalColumns, options: FigureOptions) -> Sheet:
    """Positions of all axes, a row each; to be called and saved within `drawing`."""
    flags, left_out = _flags(columns.words, options)
    time_s = _broken(columns.time_s, columns.row_after_gap)
    key = [*_signal_key(columns, columns.axes), *key_of(flags)]
    notes = [*_source_notes(columns), *_event_notes(flags, left_out)]
    heights = [STRIP_EM * options.font_pt] * 2 + [ROW_MM * POINTS_PER_MM] * len(columns.axes)
    sheet = Sheet(options, _title(columns, "all axes"), key, notes, sum(heights) + 4.0 * options.font_pt)
    grid = sheet.grid(len(heights), height_ratios=heights)
    panels: list[Axes] = []
    for i, axis in enumerate(columns.axes):
        panel = sheet.figure.add_subplot(grid[2 + i], sharex=panels[0] if panels else None)
        for signal, values in _signals(axis):
            panel.plot(time_s, _broken(values, columns.row_after_gap), label=signal, **SIGNALS[signal])
        _widen(panel)
        panel.set_ylabel(f"{axis.name},\n{axis.unit}")
        panel.locator_params(axis="y", nbins=4)
        panels.append(panel)
    sheet.figure.align_ylabels(panels)
    _finish(sheet, (grid[0], grid[1]), panels, columns, flags)
    return sheet


def _finish(
    sheet: Sheet, strips: Sequence[Any], panels: Sequence[Axes], columns: JournalColumns, flags: Sequence[Flag]
) -> None:
    """Time axis, modes and events, the same for all panels."""
    low_s, high_s = _span(columns.time_s)
    modes, events = (sheet.figure.add_subplot(each) for each in strips)
    for strip in (modes, events):
        as_strip(strip, low_s, high_s)
    room_pt = sheet.options.width_pt - 8.0 * sheet.options.font_pt
    scale = time_scale(low_s, high_s, most_ticks(room_pt, sheet.options.font_pt))
    for panel in panels:
        tidy(panel)
        panel.set_xlim(low_s, high_s)
        set_time_axis(panel, scale, TIME_WORDS, numbers=panel is panels[-1])
    sheet.settle()
    sheet.draw_bands(modes, panels, list(_bands(columns)))
    sheet.draw_flags(events, panels, flags)


def _title(columns: JournalColumns, what: str) -> str:
    """Arm, FAKE or REAL, and when."""
    session = columns.session
    began = datetime.fromtimestamp(session.start_epoch_s, tz=UTC)
    title = str(session.rig.get("title") or "")
    arm = f"rig {session.rig_id}" + (f" ({title})" if title and title != session.rig_id else "")
    return f"{session.wiring.value} {arm}: {what}, {began:%Y-%m-%d %H:%M:%S} UTC"


def _signals(axis: AxisColumns) -> list[tuple[str, FloatArray]]:
    return [("commanded", axis.commanded), ("simulated", axis.simulated), ("reported", axis.reported)]


def _signal_key(columns: JournalColumns, axes: Sequence[AxisColumns]) -> Iterator[Entry]:
    """What the curves are; a report that there never was is said to be none."""
    known = any(np.isfinite(axis.reported).any() for axis in axes)
    sources = [source.value for source in dict.fromkeys(columns.source) if source is not None]
    yield Entry("commanded", SIGNALS["commanded"])
    yield Entry("simulated arm", SIGNALS["simulated"])
    yield Entry(f"reported ({', '.join(sources)})" if known else "reported: nothing", SIGNALS["reported"])


def _source_notes(columns: JournalColumns) -> Iterator[Note]:
    how = " and ".join(MEANING[source] for source in dict.fromkeys(columns.source) if source is not None)
    yield Note(f"reported: {how or 'nothing'}")


def _worst_notes(columns: JournalColumns, axis: AxisColumns) -> Iterator[Note]:
    """In words: the largest errors while motion was streamed."""
    moving = np.array([mode in (Mode.STREAMING, Mode.STOPPING) for mode in columns.mode])
    parts = []
    for name, error in (("simulated", axis.simulated_error), ("reported", axis.error)):
        known = moving & ~np.isnan(error)
        if known.any():
            row = int(np.argmax(np.where(known, np.abs(np.nan_to_num(error)), -1.0)))
            parts.append(f"{name} - commanded {error[row]:+.2f} {axis.unit} at {columns.time_s[row]:.2f} s")
    if parts:
        yield Note(f"worst error in motion: {'; '.join(parts)}")


def _span(time_s: FloatArray) -> tuple[float, float]:
    low, high = float(time_s[0]), float(time_s[-1])
    return low, max(high, low + 1e-3)


def _broken(values: FloatArray, rows: Sequence[int]) -> FloatArray:
    """With a NaN before each of `rows`, so that no line crosses a gap."""
    return np.insert(values, list(rows), np.nan)


# -- limits ----------------------------------------------------------------------------------------------


class _Limits:
    """Limits of an axis and its band of divergence, those that are near enough not to flatten the curves."""

    def __init__(self, position: tuple[float, ...], error: tuple[float, ...]) -> None:
        self.position, self.error = position, error

    @classmethod
    def of(cls, axis: AxisColumns) -> _Limits:
        """Of what is drawn of this axis."""
        position = _near(np.concatenate([values for _, values in _signals(axis)]), (axis.lower, axis.upper))
        error = _near(np.concatenate([axis.simulated_error, axis.error]), (-axis.divergence, axis.divergence))
        return cls(position, error)

    def key(self, axis: AxisColumns) -> Iterator[Entry]:
        """Their words."""
        words = [f"{'lower' if value == axis.lower else 'upper'} limit {value:g}" for value in self.position]
        if self.error:
            words.append(f"divergence limit \N{PLUS-MINUS SIGN}{axis.divergence:g}")
        if words:
            yield Entry(f"{', '.join(words)} {axis.unit}", LIMIT)

    def draw(self, above: Axes, below: Axes) -> None:
        """As lines, with room for them."""
        for panel, values in ((above, self.position), (below, self.error)):
            for value in values:
                panel.axhline(value, **LIMIT)
            _widen(panel, values)


def _near(values: FloatArray, limits: tuple[float, ...]) -> tuple[float, ...]:
    known = values[np.isfinite(values)]
    if not len(known):
        return ()
    low, high = float(known.min()), float(known.max())
    room = 0.5 * max(high - low, LEAST_SPAN)
    return tuple(limit for limit in limits if low - room < limit < high + room)


def _widen(panel: Axes, values: Sequence[float] = ()) -> None:
    """Room for these values; noise is not blown up."""
    low, high = panel.get_ylim()
    short = max(0.0, LEAST_SPAN - (high - low))
    low, high = low - 0.5 * short, high + 0.5 * short
    room = 0.05 * (high - low)
    panel.set_ylim(min([low, *(v - room for v in values)]), max([high, *(v + room for v in values)]))


# -- what happened ---------------------------------------------------------------------------------------


def _bands(columns: JournalColumns) -> Iterator[Band]:
    rows = 0
    for mode, group in groupby(columns.mode):
        first, rows = rows, rows + len(list(group))
        end = columns.time_s[min(rows, len(columns.mode) - 1)]
        tint = MODE_TINTS.get(mode, "")
        yield Band(mode.value, tint, float(columns.time_s[first]), float(end), mode in SEEN_BEHIND)


CHANGE = re.compile(r"^(\w+) -> (\w+)")
FAULT_WORDS = ("fault", "lost", "died", "gone")
STOP_WORDS = ("stop",)
LIMIT_WORDS = ("limit", "refused", "gap", "line:", "warning", "missed", "diverge")


def importance_of(text: str) -> Importance:
    """How much what was said in a tick matters: a change of mode counts by where it leads."""
    change = CHANGE.match(text)
    if change is not None:
        urgent = {"fault": Importance.FAULT, "estop": Importance.STOP, "stopping": Importance.STOP}
        return urgent.get(change.group(2), Importance.MODE)
    words = text.lower()
    ranked = ((Importance.FAULT, FAULT_WORDS), (Importance.STOP, STOP_WORDS), (Importance.LIMIT, LIMIT_WORDS))
    return next((rank for rank, known in ranked if any(word in words for word in known)), Importance.NOTE)


def _flags(words: Sequence[Words], options: FigureOptions) -> tuple[list[Flag], int]:
    """What was said, tick by tick, and how many events have no room."""
    said = []
    for _, group in groupby(words, key=lambda each: each.row):
        tick = list(group)
        importance = max(importance_of(each.text) for each in tick)
        said.append((tick[0].time_s, "; ".join(each.text for each in tick), importance))
    return flagged(gathered(said), MOST_EVENTS_NARROW if options.narrow else MOST_EVENTS)


LONGEST = 200
"""Letters of an event's text."""


def _event_notes(flags: Sequence[Flag], left_out: int) -> Iterator[Note]:
    for flag in flags:
        event = flag.event
        text = event.words if len(event.words) <= LONGEST else f"{event.words[: LONGEST - 4].rstrip()} ..."
        heavy = event.importance.urgent
        yield Note(
            f"{event.time_s:.2f} s  {text}",
            head=f"{flag.number:2d}",
            colour=WRONG if event.importance is Importance.FAULT else COMMANDED,
            heavy=heavy,
        )
    if left_out:
        yield Note(f"and {left_out} more events: hil journal export writes all of them")
    if not flags:
        yield Note("no events")
