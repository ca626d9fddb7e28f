"""Curve files: formulas in space or words as strokes, in TOML; see docs/curves.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from msgspec import Meta, field

from hil.errors import CommandError, ConfigError
from hil.findings import Findings
from hil.formula.errors import FormulaError
from hil.formula.formula import Formula, Unit, Variable, read_formula
from hil.kernels.scalar import FloatArray
from hil.model.files import parse_toml
from hil.paths.curves import FormulaCurve, PlacedCurve, Placement, even_parameters_of, parameters_of
from hil.paths.strokes import Piece, text_pieces
from hil.types import Record
from hil.units import MM

MAX_FILE_BYTES = 100_000
MOST_SAMPLES = 100_000
COORDINATES = ("x", "y", "z")
UNITS_M = {"mm": MM, "cm": 10.0 * MM, "m": 1.0}

Millimetres = Annotated[float, Meta(ge=-100_000, le=100_000)]
Degrees = Annotated[float, Meta(ge=-3600, le=3600)]
Constant = float | str
"""A number, or a formula without variables."""


class ParameterTable(Record, frozen=True):
    """One parameter of the formulas.

    Attributes:
        start: first value.
        end: last value.
        unit: of both.
        count: curves in the family, at equal steps of this parameter, both ends included.
        index: which of them, from 1.
    """

    start: Constant
    end: Constant
    unit: Literal["", "deg", "rad"] = ""
    count: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    index: int | None = None


class PlaceTable(Record, frozen=True):
    """Where the curve is put, see `hil.paths.curves.Placement`."""

    shift_mm: tuple[Millimetres, Millimetres, Millimetres] = (0.0, 0.0, 0.0)
    turn_deg: tuple[Degrees, Degrees, Degrees] = (0.0, 0.0, 0.0)
    scale: Annotated[float, Meta(ge=0.001, le=1000)] = 1.0


class CurveTable(Record, frozen=True):
    """A curve file as TOML gives it."""

    title: Annotated[str, Meta(min_length=1, max_length=200)]
    source: Annotated[str, Meta(max_length=500)] = ""
    unit: Literal["mm", "cm", "m"] = "mm"
    x: str | None = None
    y: str | None = None
    z: str | None = None
    along: str | None = None
    samples: Annotated[int, Meta(ge=2, le=MOST_SAMPLES)] | None = None
    parameters: dict[str, ParameterTable] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    text: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    height_mm: Annotated[float, Meta(ge=1, le=10_000)] | None = None
    lift_mm: Annotated[float, Meta(ge=0.1, le=1000)] | None = None
    place: PlaceTable = PlaceTable()


class Family(Record, frozen=True):
    """The parameter that tells the curves of a family apart.

    Attributes:
        name: of the parameter.
        value: of this curve, in `unit`.
        unit: as declared.
        index: of this curve, from 1.
        count: of all.
    """

    name: str
    value: float
    unit: str
    index: int
    count: int


class CurveFile(NamedTuple):
    """A curve that was read: smooth pieces, each beginning where the one before it ended.

    Attributes:
        title: of the file.
        source: where its formulas are from.
        file: its name.
        pieces: one for formulas; for words lines and arcs, those with the pen up too.
        samples: along the whole, where the file or its reader says so.
        family: which curve of how many; None where there is one.
    """

    title: str
    source: str
    file: str
    pieces: tuple[Piece, ...]
    samples: int
    family: Family | None

    def _repr_html_(self) -> str:
        from hil.figures import notebook

        return notebook.page(notebook.views(self.title, self.points_m() / MM), notebook.line(self.source))

    @property
    def closure_gap_m(self) -> float:
        """Distance of the end from the start."""
        first, last = self.pieces[0].curve, self.pieces[-1].curve
        start = first.points_m(np.array([first.domain[0]]))[0]
        return float(np.linalg.norm(last.points_m(np.array([last.domain[1]]))[0] - start))

    def points_m(self, samples: int | None = None, *, even: bool = False) -> FloatArray:
        """Samples, shape (N, 3).

        One piece: at equal steps of its parameter, both ends included, or with `even` at equal lengths. Several: at
        about equal lengths, with every corner.

        Raises:
            CommandError: one sample.
            OutsideDomainError: a formula has no finite value somewhere.
        """
        count = self.samples if samples is None else samples
        if not 2 <= count <= MOST_SAMPLES:
            raise CommandError(
                f"{count} samples; allowed: 2 to {MOST_SAMPLES}", value=count, allowed=f"2 to {MOST_SAMPLES}"
            )
        if len(self.pieces) == 1:
            curve = self.pieces[0].curve
            return curve.points_m(even_parameters_of(curve, count) if even else parameters_of(curve, count))
        return self._points_of_pieces(count)

    def _points_of_pieces(self, count: int) -> FloatArray:
        fine = [piece.curve.points_m(parameters_of(piece.curve, 33)) for piece in self.pieces]
        lengths = np.array([np.linalg.norm(np.diff(points, axis=0), axis=1).sum() for points in fine])
        steps = np.maximum(1, np.round(lengths / lengths.sum() * (count - 1))).astype(int)
        parts = [
            piece.curve.points_m(parameters_of(piece.curve, int(number) + 1))[1:]
            for piece, number in zip(self.pieces, steps, strict=True)
        ]
        return np.vstack([fine[0][:1], *parts])


class CurveFormulaError(ConfigError):
    """A formula of a curve file cannot be read.

    Attributes:
        error: what is wrong, with text, column and what is allowed.
    """

    def __init__(self, file: str, key: str, error: FormulaError) -> None:
        self.error = error
        super().__init__(file, key, error.text, error.allowed or error.detail, error.advice)
        self.args = (f"{file}: {error.called(key)}",)


def load_curve(path: str | Path, *, index: int | None = None) -> CurveFile:
    """Read a curve file.

    Args:
        path: of the file.
        index: another curve of the family than the file says, from 1.

    Raises:
        ConfigError: it cannot be read, or a key, a formula or a value in it is wrong.
        CommandError: `index` is outside the family, or there is no family.
    """
    file = str(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(file, "file", reason, "a readable curve file") from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(file, "file", f"more than {MAX_FILE_BYTES} bytes", "a curve file below that size")
    return curve_from_table(parse_toml(data, file), file, index=index)


def curve_from_table(table: Mapping[str, Any], file: str, *, index: int | None = None) -> CurveFile:
    """Turn a parsed curve file into a curve; as `load_curve`.

    Args:
        table: what tomllib gave.
        file: name for messages.
        index: another curve of the family.
    """
    return _Reader(table, file).curve(index)


class _Reader:
    """Reads one file, and gathers what is wrong with it."""

    def __init__(self, table: Mapping[str, Any], file: str) -> None:
        self._findings = Findings(file, table)
        self._findings.not_finite(table)
        self._table = self._findings.read(table, CurveTable)
        self._file = file

    def curve(self, index: int | None) -> CurveFile:
        """The curve."""
        # What the record itself refuses may leave stand-ins that nothing below can work with.
        self._findings.stop()
        return self._word(index) if self._table.text is not None else self._of_formulas(index)

    # -- words ---------------------------------------------------------------------------------------------------------

    def _word(self, index: int | None) -> CurveFile:
        table, say = self._table, self._findings.say
        for key in (*COORDINATES, "along"):
            if getattr(table, key) is not None:
                say(key, getattr(table, key), "no such key beside text: a word has no formulas")
        for key in ("parameters", "constants"):
            if getattr(table, key):
                say(key, list(getattr(table, key)), "no such table beside text: a word has no formulas")
        if table.height_mm is None:
            say("height_mm", None, "the height of the letters, in millimetres")
        self._findings.stop()
        assert table.text is not None and table.height_mm is not None
        _refuse_index(index)
        try:
            pieces = text_pieces(table.text, table.height_mm, table.lift_mm or 10.0)
        except CommandError as error:
            raise ConfigError(self._file, "text", table.text, error.allowed, str(error)) from None
        return self._placed(pieces, None, table.samples or 40 * len(table.text))

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _of_formulas(self, index: int | None) -> CurveFile:
        table, say = self._table, self._findings.say
        for key in ("height_mm", "lift_mm"):
            if getattr(table, key) is not None:
                say(key, getattr(table, key), "only together with text")
        constants = self._constants()
        names = list(table.parameters)
        missing = [key for key in COORDINATES if getattr(table, key) is None and key not in names]
        for key in missing:
            say(key, None, f"a formula, or a parameter called {key}; or text for a word")
        if not 1 <= len(names) <= 2:
            given = len(names) or None
            say(
                "parameters",
                given,
                "one or two tables [parameters.NAME]",
                "One runs along the curve, the other chooses it",
            )
            self._findings.stop()
        along = self._along(names)
        ends = {name: self._ends(name, constants) for name in names}
        coordinates = tuple(self._coordinate(key, constants) for key in COORDINATES if key not in missing)
        family = self._family([name for name in names if name != along], ends, index)
        self._findings.stop()
        x, y, z = coordinates
        assert x is not None and y is not None and z is not None
        still = {} if family is None else {family.name: family.value}
        try:
            curve = FormulaCurve((x, y, z), UNITS_M[table.unit], along, ends[along], still)
        except FormulaError as error:
            raise CurveFormulaError(self._file, error.what.rpartition(": ")[2], error) from None
        return self._placed((Piece(curve, True),), family, table.samples or 100)

    def _constants(self) -> dict[str, float]:
        values: dict[str, float] = {}
        for name, given in self._table.constants.items():
            if name in self._table.parameters:
                self._findings.say(f"constants.{name}", given, "another name: a parameter has this name")
                continue
            value = self._number(f"constants.{name}", given, values)
            try:
                read_formula("1", (), {name: value})
            except CommandError as error:
                self._findings.say(f"constants.{name}", name, str(error))
                continue
            values[name] = value
        return values

    def _number(self, key: str, given: Constant, constants: Mapping[str, float]) -> float:
        """A number, or a formula of constants; 0 where it is wrong, which is told."""
        if not isinstance(given, str):
            return float(given)
        try:
            return read_formula(given, (), constants).value()
        except FormulaError as error:
            self._findings.add(CurveFormulaError(self._file, key, error))
            return 0.0

    def _along(self, names: list[str]) -> str:
        along = self._table.along
        if along is None and len(names) == 2:
            self._findings.say("along", None, f"the parameter that runs along the curve: {' or '.join(names)}")
        elif along is not None and along not in names:
            self._findings.say("along", along, f"a parameter: {' or '.join(names)}")
            along = None
        return along or names[0]

    def _ends(self, name: str, constants: Mapping[str, float]) -> tuple[float, float]:
        parameter, key = self._table.parameters[name], f"parameters.{name}"
        start = self._number(f"{key}.start", parameter.start, constants)
        end = self._number(f"{key}.end", parameter.end, constants)
        if start == end and parameter.count != 1 and self._findings.sound(key):
            self._findings.say(f"{key}.end", parameter.end, f"another value than start, which is {start:g}")
        elif not math.isfinite(end - start):
            self._findings.say(f"{key}.end", parameter.end, f"a finite way from start, which is {start:g}")
        return start, end

    def _coordinate(self, key: str, constants: Mapping[str, float]) -> Formula | None:
        """The formula of a coordinate; a parameter of its name stands for itself."""
        text = getattr(self._table, key)
        if text is not None and key in self._table.parameters:
            self._findings.say(key, text, f"no formula: {key} is a parameter, so it stands for itself")
            return None
        variables = [
            Variable(name=name, unit=Unit(parameter.unit)) for name, parameter in self._table.parameters.items()
        ]
        try:
            return read_formula(key if text is None else text, variables, constants, what=f"{self._file}: {key}")
        except FormulaError as error:
            self._findings.add(CurveFormulaError(self._file, key, error))
        except CommandError as error:
            self._findings.say("parameters", list(self._table.parameters), str(error))
        return None

    def _family(self, others: list[str], ends: Mapping[str, tuple[float, float]], index: int | None) -> Family | None:
        for name, parameter in self._table.parameters.items():
            for what in ("count", "index"):
                if name not in others and getattr(parameter, what) is not None:
                    advice = f"{name} runs along the curve; {what} belongs to the parameter that chooses one"
                    self._findings.say(
                        f"parameters.{name}.{what}", getattr(parameter, what), "no such key here", advice
                    )
        if not others:
            _refuse_index(index)
            return None
        (name,) = others
        parameter, key = self._table.parameters[name], f"parameters.{name}"
        if parameter.count is None:
            self._findings.say(f"{key}.count", None, "how many curves the family has, as a whole number")
        count = parameter.count or 1
        chosen = index if index is not None else parameter.index
        if chosen is None:
            chosen = 1
        if not 1 <= chosen <= count:
            if index is not None:
                allowed = f"1 to {count}"
                raise CommandError(
                    f"{self._file}: curve {index} of its family; allowed: {allowed}", value=index, allowed=allowed
                )
            self._findings.say(f"{key}.index", chosen, f"1 to {count}, which is its count")
        start, end = ends[name]
        value = float(np.linspace(start, end, count)[min(max(chosen, 1), count) - 1])
        return Family(name=name, value=value, unit=parameter.unit, index=chosen, count=count)

    def _placed(self, pieces: tuple[Piece, ...], family: Family | None, samples: int) -> CurveFile:
        given = self._table.place
        place = Placement(shift_mm=given.shift_mm, turn_deg=given.turn_deg, scale=given.scale)
        if place != Placement():
            pieces = tuple(piece._replace(curve=PlacedCurve(piece.curve, place)) for piece in pieces)
        return CurveFile(self._table.title, self._table.source, self._file, pieces, samples, family)


def _refuse_index(index: int | None) -> None:
    if index is not None:
        raise CommandError(f"curve {index} of its family; allowed: no index, it is one curve alone", value=index)
