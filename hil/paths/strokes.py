"""Letters and words as strokes: straight lines and arcs with the pen down, and hops with the pen up between them."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple, TypeAlias

import numpy as np

from hil.errors import CommandError
from hil.kernels.scalar import FloatArray
from hil.paths.curve import Curve
from hil.paths.curves import within
from hil.types import Record
from hil.units import DEG, MM

HEIGHT = 6.0
"""Units of the drawing of a letter from its foot to its head."""

GAP = 1.5
"""Units between two letters."""

MOST_LETTERS = 200
SAME = 1e-9

_ARC = re.compile(r"@(?P<numbers>.+)$")


class LinePiece(Record, frozen=True):
    """A straight piece; its parameter runs from 0 to 1.

    Attributes:
        start_m: three numbers.
        end_m: three numbers.
    """

    start_m: tuple[float, float, float]
    end_m: tuple[float, float, float]

    @property
    def domain(self) -> tuple[float, float]:
        """0 to 1."""
        return (0.0, 1.0)

    def points_m(self, parameter: FloatArray) -> FloatArray:
        """Points."""
        at = within(parameter, self.domain)[:, None]
        points: FloatArray = (1.0 - at) * np.array(self.start_m) + at * np.array(self.end_m)
        return points

    def derivatives_m(self, parameter: FloatArray) -> FloatArray:
        """The same everywhere."""
        return np.tile(np.subtract(self.end_m, self.start_m), (len(within(parameter, self.domain)), 1))

    def normals(self, parameter: FloatArray) -> FloatArray | None:
        """That of the sheet of paper: up."""
        return np.tile((0.0, 0.0, 1.0), (len(parameter), 1))


class ArcPiece(Record, frozen=True):
    """A piece of a circle that lies level; its parameter is the angle in degrees.

    Attributes:
        centre_m: three numbers.
        radius_m: above 0.
        start_deg: counted from X towards Y.
        end_deg: less than `start_deg` for an arc that runs with the clock.
    """

    centre_m: tuple[float, float, float]
    radius_m: float
    start_deg: float
    end_deg: float

    @property
    def domain(self) -> tuple[float, float]:
        """The two angles."""
        return (self.start_deg, self.end_deg)

    def points_m(self, parameter: FloatArray) -> FloatArray:
        """Points."""
        angle = DEG * within(parameter, self.domain)
        return np.array(self.centre_m) + self.radius_m * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)

    def derivatives_m(self, parameter: FloatArray) -> FloatArray:
        """Per degree."""
        angle = DEG * within(parameter, self.domain)
        return DEG * self.radius_m * np.stack([-np.sin(angle), np.cos(angle), 0.0 * angle], axis=1)

    def normals(self, parameter: FloatArray) -> FloatArray | None:
        """That of the sheet of paper: up."""
        return np.tile((0.0, 0.0, 1.0), (len(parameter), 1))


class Piece(NamedTuple):
    """A smooth piece of a drawing.

    Attributes:
        curve: it.
        pen_down: whether it draws; else it is a way between two strokes.
        name: the letter it is of; empty for ways between letters.
    """

    curve: Curve
    pen_down: bool
    name: str = ""


class Arc(NamedTuple):
    """An arc of a letter, in units of its drawing, degrees."""

    x: float
    y: float
    radius: float
    start_deg: float
    end_deg: float


Point: TypeAlias = tuple[float, float]
Stroke: TypeAlias = tuple[Point | Arc, ...]


class Glyph(NamedTuple):
    """One letter: its width in units, and its strokes in the order of writing."""

    width: float
    strokes: tuple[Stroke, ...]


def letters() -> str:
    """All that can be written, and the blank."""
    return "".join(sorted(_glyphs()))


def text_pieces(text: str, height_mm: float, lift_mm: float) -> tuple[Piece, ...]:
    """A word, written in the plane z = 0 from the origin along X, with the heads of its letters towards Y.

    Args:
        text: letters A to Z, small ones are written as large; digits, some signs, blanks.
        height_mm: of the letters.
        lift_mm: how far the pen is lifted between strokes.

    Returns:
        Pieces of which each begins where the one before it ended.

    Raises:
        CommandError: a letter that the font lacks, with its place; nothing to write, or too much.
    """
    wanted = text.upper()
    known = _glyphs()
    for place, letter in enumerate(wanted, start=1):
        if letter not in known:
            raise CommandError(
                f"character {place} of {text!r}: {letter!r} cannot be written; allowed: blank and {letters().strip()}",
                value=letter,
                allowed=letters(),
            )
    if not wanted.strip() or len(wanted) > MOST_LETTERS:
        raise CommandError(
            f"{len(wanted.strip())} letters to write; allowed: 1 to {MOST_LETTERS}", value=text, allowed=letters()
        )
    unit_m = MM * height_mm / HEIGHT
    pieces: list[Piece] = []
    at = 0.0
    for letter in wanted:
        for stroke in known[letter].strokes:
            drawn = [Piece(piece, True, letter) for piece in _stroke_pieces(stroke, at, unit_m)]
            if pieces:
                pieces += _hop(pieces[-1], drawn[0], MM * lift_mm)
            pieces += drawn
        at += known[letter].width + GAP
    return tuple(pieces)


def _hop(before: Piece, after: Piece, lift_m: float) -> Iterator[Piece]:
    """Up, across and down again; nothing where the next stroke begins where this one ends."""
    start = before.curve.points_m(np.array([before.curve.domain[1]]))[0]
    end = after.curve.points_m(np.array([after.curve.domain[0]]))[0]
    if np.linalg.norm(end - start) < SAME:
        return
    up = np.array([0.0, 0.0, lift_m])
    for a, b in ((start, start + up), (start + up, end + up), (end + up, end)):
        yield Piece(LinePiece(start_m=_three(a), end_m=_three(b)), False)


def _stroke_pieces(stroke: Stroke, at: float, unit_m: float) -> Iterator[Curve]:
    last: Point | None = None
    for part in stroke:
        first, end = _arc_ends(part) if isinstance(part, Arc) else (part, part)
        if last is not None and math.dist(last, first) > SAME:
            yield LinePiece(start_m=_placed(last, at, unit_m), end_m=_placed(first, at, unit_m))
        if isinstance(part, Arc):
            yield ArcPiece(
                centre_m=_placed((part.x, part.y), at, unit_m),
                radius_m=unit_m * part.radius,
                start_deg=part.start_deg,
                end_deg=part.end_deg,
            )
        last = end


def _arc_ends(arc: Arc) -> tuple[Point, Point]:
    one, other = (
        (arc.x + arc.radius * math.cos(angle * DEG), arc.y + arc.radius * math.sin(angle * DEG))
        for angle in (arc.start_deg, arc.end_deg)
    )
    return one, other


def _placed(point: Point, at: float, unit_m: float) -> tuple[float, float, float]:
    return (unit_m * (at + point[0]), unit_m * point[1], 0.0)


def _three(values: FloatArray) -> tuple[float, float, float]:
    x, y, z = map(float, values)
    return x, y, z


@cache
def _glyphs() -> dict[str, Glyph]:
    """The font: ``x,y`` is a corner, ``@x,y,radius,from,to`` an arc; a blank stands between two of them."""
    table = tomllib.loads(resources.files(__package__).joinpath("strokes.toml").read_text(encoding="utf-8"))
    return {letter: Glyph(float(width), tuple(map(_stroke, strokes))) for letter, (width, *strokes) in table.items()}


def _stroke(text: str) -> Stroke:
    return tuple(_part(part) for part in text.split())


def _part(text: str) -> Point | Arc:
    arc = _ARC.match(text)
    numbers: Sequence[float] = [float(number) for number in (arc["numbers"] if arc else text).split(",")]
    return Arc(*numbers) if arc else (numbers[0], numbers[1])
