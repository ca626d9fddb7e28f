"""The page of a figure: title above, panels, then the key and the notes, which therefore never lie on a curve."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hil.errors import CommandError, HilError
from hil.figures.events import LOOKS, Flag, placed_labels
from hil.figures.looks import BLACK, LIGHT, Entry
from hil.figures.options import (
    MM_PER_INCH,
    MOST_PIXELS,
    POINTS_PER_INCH,
    FigureFormat,
    FigureOptions,
    format_of,
)
from hil.version import software_version

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

FloatArray = npt.NDArray[np.float64]

MARGIN_EM = 0.8
LINE_EM = 1.32
"""From line to line, in sizes of the letters."""

TITLE_EM = 1.15
SMALL_EM = 0.9
"""Letters of titles, and of notes and strips."""

HANDLE_EM, HANDLE_GAP_EM, COLUMN_GAP_EM = 2.8, 0.6, 1.6
NUMBER_EM = 4.0
"""Room of a number at an abscissa."""

MOST_COLUMNS = 6
"""Of the key."""

STRIP_EM = 1.5
"""Height of a strip of words above the panels."""

LEAST_BODY_PT = 90.0
"""Panels that are lower are of no use."""

FAMILY = "DejaVu Sans"
"""Comes with matplotlib, so a figure looks alike everywhere; in SVG and PDF the text stays text."""

ROUNDING = 1.03
"""Letters on a grid of dots are so much wider at most than their outlines."""

SALT = "hil"
"""Makes the same names within an SVG every time."""


class Note(NamedTuple):
    """A line below the key, wrapped where it is too long.

    Attributes:
        text: its words.
        head: what stands before them, for example a number; lines that follow are indented as far.
        colour: of all.
        heavy: bold.
    """

    text: str
    head: str = ""
    colour: str = BLACK
    heavy: bool = False


class Band(NamedTuple):
    """A stretch of time with a name and a tint (empty for none); `behind` says whether panels are tinted too."""

    name: str
    tint: str
    start_s: float
    end_s: float
    behind: bool = True


@contextmanager
def drawing(options: FigureOptions) -> Iterator[None]:
    """Draw and save within this: matplotlib as it is delivered, with letters of this size, put back afterwards.

    Some settings (text as text in SVG and PDF, the names within an SVG) have no other door than matplotlib's table.
    """
    import matplotlib

    plain: dict[Any, Any] = dict(dict.items(matplotlib.rcParamsDefault))
    del plain["backend"]
    small = SMALL_EM * options.font_pt
    ours: dict[str, Any] = {
        "font.family": [FAMILY],
        "font.size": options.font_pt,
        "axes.titlesize": options.font_pt,
        "axes.labelsize": options.font_pt,
        "xtick.labelsize": small,
        "ytick.labelsize": small,
        "axes.linewidth": 0.6,
        "axes.labelpad": 2.0,
        "axes.unicode_minus": True,
        "hatch.linewidth": 0.4,
        "text.parse_math": False,
        "svg.fonttype": "none",
        "svg.hashsalt": SALT,
        "pdf.fonttype": 42,
        "path.simplify": True,
    }
    with matplotlib.rc_context(plain | ours), warnings.catch_warnings():
        # A letter that the font lacks is a box in the figure, and no fault of whoever draws it.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        yield


class Sheet:
    """A figure whose title, key and notes have their places, and whose panels get what is left.

    To be made and saved within `drawing`.

    Args:
        options: size and letters.
        title: first line, heavy.
        key: what the lines mean; stands below the panels.
        notes: below the key.
        body_pt: height that the panels should have, in points; overruled by `options.height_mm`.

    Raises:
        CommandError: the height that was asked for leaves no room for panels, or there would be too many pixels.
    """

    def __init__(
        self, options: FigureOptions, title: str, key: Sequence[Entry], notes: Sequence[Note], body_pt: float
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self.options = options
        font = options.font_pt
        self._margin_pt = MARGIN_EM * font
        self._room_pt = options.width_pt - 2.0 * self._margin_pt
        titles = wrapped(title, self._room_pt, TITLE_EM * font, heavy=True)
        rows = _key_rows([_shortened(entry, self._room_pt, font) for entry in key], self._room_pt, font)
        lines = [(note, wrapped_note(note, self._room_pt, SMALL_EM * font)) for note in notes]
        top_pt = self._margin_pt + LINE_EM * TITLE_EM * font * len(titles)
        key_pt = LINE_EM * font * len(rows) + (0.7 * font if rows else 0.0)
        notes_pt = LINE_EM * SMALL_EM * font * sum(len(parts) for _, parts in lines)
        rest_pt = top_pt + key_pt + notes_pt + 1.5 * self._margin_pt
        self.height_pt = _height_pt(options, rest_pt, body_pt)
        self.body_pt = self.height_pt - rest_pt
        _require_pixels(options, self.height_pt)
        self.figure: Figure = Figure(
            figsize=(options.width_pt / POINTS_PER_INCH, self.height_pt / POINTS_PER_INCH), dpi=options.dpi
        )
        FigureCanvasAgg(self.figure)
        self._write(titles, self.height_pt - self._margin_pt, TITLE_EM * font)
        self._draw_key(rows, notes_pt + self._margin_pt + key_pt - 0.3 * font)
        self._write_notes(lines, notes_pt + self._margin_pt)
        bottom = (notes_pt + key_pt + 1.25 * self._margin_pt) / self.height_pt
        self.figure.set_layout_engine(
            "constrained",
            rect=(
                self._margin_pt / options.width_pt / 2,
                bottom,
                1.0 - self._margin_pt / options.width_pt,
                self.body_pt / self.height_pt,
            ),
            w_pad=0.25 * font / POINTS_PER_INCH,
            h_pad=0.15 * font / POINTS_PER_INCH,
            wspace=0.02,
            hspace=0.015,
        )

    def grid(self, rows: int, columns: int = 1, **ratios: Any) -> GridSpec:
        """Places for panels."""
        return self.figure.add_gridspec(rows, columns, **ratios)

    def settle(self) -> None:
        """Give the panels their final places; afterwards widths can be measured, and nothing moves any more.

        Raises:
            CommandError: the letters leave no room for the panels.
        """
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="constrained_layout not applied")
            try:
                self.figure.draw_without_rendering()
            except UserWarning:
                raise _no_room(self.options) from None
        self.figure.set_layout_engine("none")
        for panel in self.figure.axes:
            # The solver's last digits are not the same every time, and names within an SVG are made of them.
            left, bottom, width, height = (round(value, 6) for value in panel.get_position(original=True).bounds)
            panel.set_position((left, bottom, width, height))

    def width_pt(self, panel: Axes) -> float:
        """Of a panel that is settled."""
        return float(panel.get_position().width) * self.options.width_pt

    def size_pt(self, panel: Axes) -> tuple[float, float]:
        """Of a panel that is settled."""
        return self.width_pt(panel), float(panel.get_position().height) * self.height_pt

    def fit_equal(self, panel: Axes, low: FloatArray, high: FloatArray, pad_pt: float = 0.0) -> None:
        """Show a stretch of room with one scale for both directions; a panel that is settled keeps its size.

        Args:
            panel: any.
            low: lower ends of what has to be seen, shape (2,).
            high: upper ends.
            pad_pt: room around it for words.
        """
        from matplotlib.ticker import MaxNLocator

        size = np.array(self.size_pt(panel))
        scale = float(((high - low) / np.maximum(size - 2.0 * pad_pt, 1.0)).max())
        half, middle = 0.5 * size * scale, 0.5 * (low + high)
        panel.set_xlim(middle[0] - half[0], middle[0] + half[0])
        panel.set_ylim(middle[1] - half[1], middle[1] + half[1])
        for axis, room_pt, ems in ((panel.xaxis, size[0], NUMBER_EM), (panel.yaxis, size[1], LINE_EM * 2.0)):
            most = max(2, min(6, int(room_pt / (ems * self.options.font_pt))))
            axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))

    # -- words -------------------------------------------------------------------------------------------

    def _text(self, x_pt: float, y_pt: float, text: str, size_pt: float, **style: Any) -> None:
        self.figure.text(
            x_pt / self.options.width_pt, y_pt / self.height_pt, text, fontsize=size_pt, va="top", ha="left", **style
        )

    def _write(self, titles: Sequence[str], top_pt: float, size_pt: float) -> None:
        for i, line in enumerate(titles):
            self._text(self._margin_pt, top_pt - i * LINE_EM * size_pt, line, size_pt, weight="bold")

    def _write_notes(self, lines: Sequence[tuple[Note, list[str]]], top_pt: float) -> None:
        size_pt = SMALL_EM * self.options.font_pt
        for note, parts in lines:
            style: dict[str, Any] = {"color": note.colour, "weight": "bold" if note.heavy else "normal"}
            indent_pt = _head_pt(note, size_pt)
            if note.head:
                self._text(self._margin_pt, top_pt, note.head, size_pt, **style)
            for part in parts:
                self._text(self._margin_pt + indent_pt, top_pt, part, size_pt, **style)
                top_pt -= LINE_EM * size_pt

    def _draw_key(self, rows: Sequence[Sequence[tuple[float, Entry]]], top_pt: float) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Rectangle

        font = self.options.font_pt
        for i, row in enumerate(rows):
            middle_pt = top_pt - (i + 0.6) * LINE_EM * font
            y = middle_pt / self.height_pt
            for left_pt, entry in row:
                start_pt = self._margin_pt + left_pt
                x, end = (v / self.options.width_pt for v in (start_pt, start_pt + HANDLE_EM * font))
                if entry.area:
                    high = 0.7 * font / self.height_pt
                    area = Rectangle((x, y - 0.5 * high), end - x, high, transform=self.figure.transFigure)
                    area.set(**entry.style)
                    self.figure.add_artist(area)
                else:
                    xs = [0.5 * (x + end)] if entry.style.get("linestyle") == "" else [x, end]
                    self.figure.add_artist(Line2D(xs, [y] * len(xs), transform=self.figure.transFigure, **entry.style))
                self._text(start_pt + (HANDLE_EM + HANDLE_GAP_EM) * font, middle_pt + 0.55 * font, entry.label, font)

    # -- strips above panels -----------------------------------------------------------------------------

    def draw_bands(self, strip: Axes, panels: Sequence[Axes], bands: Sequence[Band]) -> None:
        """Tint stretches of time, and name those in `strip` that have room for their name, or for its first word."""
        low, high = panels[0].get_xlim()
        font = SMALL_EM * self.options.font_pt
        per_s = self.width_pt(strip) / (high - low)
        for band in bands:
            start_s, end_s = max(band.start_s, low), min(band.end_s, high)
            if start_s >= end_s:
                continue
            for panel in [strip, *(panels if band.behind else ())] if band.tint else []:
                panel.axvspan(start_s, end_s, color=band.tint, linewidth=0, zorder=0)
            room_pt = (end_s - start_s) * per_s - 0.5 * font
            names = (band.name, band.name.split()[0])
            shown = next((words for words in names if text_width_pt(words, font) < room_pt), "")
            if shown:
                strip.text(0.5 * (start_s + end_s), 0.46, shown, fontsize=font, ha="center", va="center")

    def draw_flags(self, strip: Axes, panels: Sequence[Axes], flags: Sequence[Flag]) -> None:
        """A line per event through the panels, the important ones on top, and labels in `strip` that never touch."""
        low, high = panels[0].get_xlim()
        font = SMALL_EM * self.options.font_pt
        width_pt = self.width_pt(strip)
        for flag in flags:
            for panel in panels:
                panel.axvline(
                    flag.event.time_s, zorder=1.0 + 0.1 * flag.event.importance, **LOOKS[flag.event.importance]
                )
        place = _place_pt(low, high, width_pt)
        for label in placed_labels(
            flags, place, width_pt, lambda text: text_width_pt(text, font, heavy=True) + 0.5 * font
        ):
            ink = LOOKS[label.importance]["color"] if label.importance.urgent else BLACK
            strip.text(
                0.5 * (label.left + label.right) / width_pt,
                0.42,
                label.text,
                transform=strip.transAxes,
                fontsize=font,
                ha="center",
                va="center",
                color=_ink(ink),
                weight="bold" if label.importance.urgent else "normal",
            )


def _place_pt(low: float, high: float, width_pt: float) -> Callable[[float], float]:
    return lambda time_s: (time_s - low) / (high - low) * width_pt


def _ink(colour: str) -> str:
    """The colour, darker where letters of it would be too pale on white."""
    return {"#E69F00": "#8F6200", "#D55E00": "#B34700", "#CC79A7": "#99527A"}.get(colour, colour)


def save(sheet: Sheet, file: Path) -> None:
    """Write a figure by its ending; the same figure gives the same bytes.

    Raises:
        CommandError: the ending is not known.
        HilError: the file cannot be written.
    """
    data = written(sheet, format_of(file))
    try:
        file.write_bytes(data)
    except OSError as error:
        raise HilError(f"{file}: the picture cannot be written: {error.strerror}") from None


def written(sheet: Sheet, kind: FigureFormat) -> bytes:
    """A figure as it stands in a file; the same figure gives the same bytes."""
    made = f"hil {software_version()}"
    about: dict[FigureFormat, dict[str, Any]] = {
        FigureFormat.PNG: {"Software": made},
        FigureFormat.SVG: {"Creator": made, "Date": None},
        FigureFormat.PDF: {"Creator": made, "Producer": None, "CreationDate": None},
    }
    data = io.BytesIO()
    sheet.figure.savefig(data, format=kind.value, dpi=sheet.options.dpi, metadata=about[kind], facecolor="white")
    return data.getvalue()


# -- panels ----------------------------------------------------------------------------------------------


def tidy(panel: Axes) -> None:
    """Grid and frame as all panels have them."""
    panel.grid(True, color=LIGHT, linewidth=0.4)
    panel.set_axisbelow(True)
    panel.tick_params(width=0.6, length=2.5, pad=2.0)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def as_strip(panel: Axes, low_s: float, high_s: float) -> None:
    """Make a panel a strip of words, without axes, over this stretch of time."""
    panel.set_axis_off()
    panel.set_xlim(low_s, high_s)
    panel.set_ylim(0.0, 1.0)


# -- measures --------------------------------------------------------------------------------------------


def text_width_pt(text: str, size_pt: float, *, heavy: bool = False) -> float:
    """How wide a line of text is."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=[FAMILY], size=size_pt, weight="bold" if heavy else "normal")
    return ROUNDING * float(text_to_path.get_text_width_height_descent(text, font, False)[0]) if text else 0.0


def wrapped(text: str, room_pt: float, size_pt: float, *, heavy: bool = False) -> list[str]:
    """Lines that fit; a word that alone is too long is cut."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width_pt(longer, size_pt, heavy=heavy) <= room_pt:
            lines[-1] = longer
            continue
        while len(word) > 1 and text_width_pt(word, size_pt, heavy=heavy) > room_pt:
            cut = len(word) - 1
            while cut > 1 and text_width_pt(word[:cut], size_pt, heavy=heavy) > room_pt:
                cut -= 1
            lines.append(word[:cut])
            word = word[cut:]
        lines.append(word)
    return lines


def wrapped_note(note: Note, room_pt: float, size_pt: float) -> list[str]:
    """A note's lines without its head."""
    return wrapped(note.text, room_pt - _head_pt(note, size_pt), size_pt, heavy=note.heavy) or [""]


def _head_pt(note: Note, size_pt: float) -> float:
    """Room for the head; alike for heads of like length, so that a list stands straight."""
    return (0.64 * len(note.head) + 0.6) * size_pt if note.head else 0.0


def _key_rows(key: Sequence[Entry], room_pt: float, font_pt: float) -> list[list[tuple[float, Entry]]]:
    """Entries with their distances from the left, in as many columns as make the fewest rows.

    A long one takes several columns.
    """
    wide_pt = [_entry_pt(entry, font_pt) for entry in key]
    tries = [_in_columns(key, wide_pt, room_pt, columns) for columns in range(1, MOST_COLUMNS + 1)]
    return min(tries, key=len)


def _shortened(entry: Entry, room_pt: float, font_pt: float) -> Entry:
    """An entry that fits into a row of its own."""
    room_pt -= (HANDLE_EM + HANDLE_GAP_EM) * font_pt
    label = entry.label
    while len(label) > 4 and text_width_pt(label, font_pt) > room_pt:
        label = f"{label.removesuffix('...')[:-1]}..."
    return entry._replace(label=label)


def _entry_pt(entry: Entry, font_pt: float) -> float:
    return (HANDLE_EM + HANDLE_GAP_EM + COLUMN_GAP_EM) * font_pt + text_width_pt(entry.label, font_pt)


def _in_columns(
    key: Sequence[Entry], wide_pt: Sequence[float], room_pt: float, columns: int
) -> list[list[tuple[float, Entry]]]:
    cell_pt = room_pt / columns
    rows: list[list[tuple[float, Entry]]] = []
    column = columns
    for entry, width in zip(key, wide_pt, strict=True):
        cells = min(columns, math.ceil(width / cell_pt))
        if column + cells > columns:
            rows.append([])
            column = 0
        rows[-1].append((column * cell_pt, entry))
        column += cells
    return rows


def _no_room(options: FigureOptions) -> CommandError:
    allowed = "a larger width or smaller letters"
    return CommandError(
        f"width {options.width_mm:g} mm with letters of {options.font_pt:g} pt leaves no room for this figure; "
        f"allowed: {allowed}",
        axis="width",
        value=options.width_mm,
        allowed=allowed,
    )


def _height_pt(options: FigureOptions, rest_pt: float, body_pt: float) -> float:
    if options.height_mm is None:
        return rest_pt + body_pt
    height_pt = options.height_mm / MM_PER_INCH * POINTS_PER_INCH
    if height_pt - rest_pt < LEAST_BODY_PT:
        least_mm = int((rest_pt + LEAST_BODY_PT) / POINTS_PER_INCH * MM_PER_INCH) + 1
        allowed = f"{least_mm} mm or more for this figure at this width"
        raise CommandError(
            f"height {options.height_mm:g} mm given; allowed: {allowed}",
            axis="height",
            value=options.height_mm,
            allowed=allowed,
        )
    return height_pt


def _require_pixels(options: FigureOptions, height_pt: float) -> None:
    pixels = options.width_pt * height_pt * (options.dpi / POINTS_PER_INCH) ** 2
    if pixels > MOST_PIXELS:
        dpi = int(options.dpi * (MOST_PIXELS / pixels) ** 0.5)
        allowed = f"{dpi} or less for a figure of this size"
        raise CommandError(
            f"dpi {options.dpi} given; allowed: {allowed}", axis="dpi", value=options.dpi, allowed=allowed
        )
