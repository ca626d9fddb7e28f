"""How a figure is written: format by the file's ending, size in millimetres, letters in points, dots per inch."""

from __future__ import annotations

import math
import os
import tempfile
from enum import Enum
from pathlib import Path

from hil.errors import CommandError, HilError, MissingExtraError
from hil.types import Record

MM_PER_INCH = 25.4
POINTS_PER_INCH = 72.0
POINTS_PER_MM = POINTS_PER_INCH / MM_PER_INCH

NAMED_WIDTHS_MM = {"column": 85.0, "page": 174.0}
"""One and two columns of most journals, whose columns are 82 to 90 mm wide and two with their gap 170 to 190 mm."""

UNITS_MM = {"mm": 1.0, "cm": 10.0, "in": MM_PER_INCH}
WIDTHS_MM, HEIGHTS_MM = (60.0, 420.0), (30.0, 600.0)
FONTS_PT, DOTS_PER_INCH = (5.0, 16.0), (50, 1200)

MOST_PIXELS = 100_000_000
"""Of a PNG: some 400 MB while it is drawn."""

NARROW_MM = 120.0
"""Below this width panels stand above each other."""


class FigureFormat(Enum):
    """What can be written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


ENDINGS = tuple(f".{each.value}" for each in FigureFormat)


class FigureOptions(Record, frozen=True):
    """Size and resolution of a figure.

    Attributes:
        width_mm: of the whole.
        height_mm: of the whole; None for as much as the content takes.
        font_pt: size of the letters.
        dpi: dots per inch of a PNG, and of the shaded pictures within SVG and PDF.
    """

    width_mm: float = NAMED_WIDTHS_MM["page"]
    height_mm: float | None = None
    font_pt: float = 8.0
    dpi: int = 300

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn.

        Raises:
            CommandError: a number is outside its range.
        """
        _require("width", self.width_mm, WIDTHS_MM, "mm")
        if self.height_mm is not None:
            _require("height", self.height_mm, HEIGHTS_MM, "mm")
        _require("font", self.font_pt, FONTS_PT, "pt")
        _require("dpi", self.dpi, DOTS_PER_INCH, "")

    @property
    def width_pt(self) -> float:
        """Width in points."""
        return self.width_mm * POINTS_PER_MM

    @property
    def narrow(self) -> bool:
        """Whether panels have to stand above each other."""
        return self.width_mm < NARROW_MM


def _require(name: str, value: float, allowed: tuple[float, float], unit: str) -> None:
    low, high = allowed
    if not low <= value <= high:  # NaN is refused by this too.
        words = f"{low:g} to {high:g} {unit}".rstrip()
        raise CommandError(
            f"{name} {value:g}{unit and ' '}{unit} given; allowed: {words}", axis=name, value=value, allowed=words
        )


def length_mm(text: str, name: str = "width") -> float:
    """A length as people write it: ``85mm``, ``8.5cm``, ``3.4in``, ``85`` (millimetres), ``column`` or ``page``.

    Raises:
        CommandError: it is none of these.
    """
    words = text.strip().lower()
    if words in NAMED_WIDTHS_MM:
        return NAMED_WIDTHS_MM[words]
    unit = next((each for each in UNITS_MM if words.endswith(each)), "")
    try:
        value = float(words.removesuffix(unit)) * UNITS_MM.get(unit, 1.0)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        allowed = "a length as 85mm, 8.5cm or 3.4in, column (85 mm) or page (174 mm)"
        raise CommandError(f"{name} {text!r} given; allowed: {allowed}", axis=name, value=text, allowed=allowed)
    return value


def format_of(file: Path) -> FigureFormat:
    """What is written to a file of this name.

    Raises:
        CommandError: its ending is none of `ENDINGS`.
    """
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        allowed = f"a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise CommandError(f"{file} given for a picture; allowed: {allowed}", axis="file", value=file, allowed=allowed)
    return FigureFormat(ending[1:])


def require_target(file: Path) -> None:
    """Refuse a picture that could not be written, before anything is worked out.

    Raises:
        CommandError: its name has an ending that is not known.
        HilError: its folder is not there or not writable, or it is something that cannot be replaced.
        MissingExtraError: matplotlib is not installed.
    """
    format_of(file)
    folder = file.parent
    if not folder.is_dir():
        raise HilError(f"{file}: the picture cannot be written: there is no folder {folder}")
    if file.is_dir():
        raise HilError(f"{file}: the picture cannot be written: this is a folder")
    require_writable(folder, f"{file}: the picture cannot be written")
    if file.exists() and not os.access(file, os.W_OK):
        raise HilError(f"{file}: the picture cannot be written: the file is write-protected")
    require_matplotlib()


def require_folder(folder: Path) -> None:
    """Refuse a folder for figures that could not be made, or not be written in, before anything is worked out.

    Raises:
        HilError: it is a file or below one, or nothing can be written there.
        MissingExtraError: matplotlib is not installed.
    """
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        raise HilError(f"{folder}: no picture can be written there: {there} is a file")
    require_writable(there, f"{folder}: no picture can be written there")
    require_matplotlib()


def require_writable(folder: Path, what: str) -> None:
    """Try to write in a folder: what a system allows is not seen from its bits alone.

    Raises:
        HilError: begins with `what`.
    """
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise HilError(f"{what}: nothing can be written in {folder}: {error.strerror}") from None


def require_matplotlib() -> None:
    """Say in one line what is missing.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("pictures", "plot") from None
