"""A curve as a lesson: its formulas as fields, what is wrong with them and where, samples, surface, reach, speed.

The fields make the table of a curve file; `hil.paths.curve_file` reads it, so that a field is refused in the words of
`hil curve` and `hil check`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hil.errors import CommandError, ConfigError, ConfigErrors
from hil.formula.errors import OutsideDomainError
from hil.kernels.scalar import FloatArray
from hil.lessons.faults import FieldError, FieldErrors
from hil.paths.curve_file import CurveFile, CurveFormulaError, curve_from_table
from hil.paths.curves import length_m
from hil.paths.reach import Reach, reach_of
from hil.robot import Robot
from hil.tables import toml_value
from hil.units import MM

NAME = "curve of the lesson"
"""Of the table in messages."""

PARAMETER_FIELDS = ("name", "start", "end", "unit", "count")
FIELDS = (
    "title", "unit", "x", "y", "z", "along", "samples", "constants",
    *(f"p1.{name}" for name in PARAMETER_FIELDS), *(f"p2.{name}" for name in PARAMETER_FIELDS),
    "index", "shift_mm", "turn_deg", "scale",
)  # fmt: skip

SURFACE_CURVES, SURFACE_SAMPLES = 24, 49
"""Of a family, so many curves are drawn as a surface, each with so many samples."""

Fields = Mapping[str, str]


class CurveAnswer(NamedTuple):
    """All that is shown of a curve.

    Attributes:
        points_m: samples, shape (N, 3).
        surface: some curves of its family, shape (C, S, 3); none where there is one curve alone.
        gap_m: from its end to its start.
        length_m: of the samples' polygon.
        reach: what the arm makes of the samples.
        axes: of the tool at the samples, shape (N, 3); NaN where the sample is not reached.
    """

    points_m: FloatArray
    surface: FloatArray
    gap_m: float
    length_m: float
    reach: Reach
    axes: FloatArray


# -- fields ----------------------------------------------------------------------------------------------


def fields_of(table: Mapping[str, Any]) -> dict[str, str]:
    """The fields of a curve file's table; what it does not have is empty."""
    fields = dict.fromkeys(FIELDS, "")
    for key in ("title", "unit", "x", "y", "z", "along", "samples"):
        fields[key] = _text(table.get(key))
    fields["constants"] = "; ".join(f"{name} = {_text(value)}" for name, value in table.get("constants", {}).items())
    for number, (name, parameter) in enumerate(table.get("parameters", {}).items(), 1):
        fields[f"p{number}.name"] = name
        for key in PARAMETER_FIELDS[1:]:
            fields[f"p{number}.{key}"] = _text(parameter.get(key))
        if "index" in parameter:
            fields["index"] = _text(parameter["index"])
    place = table.get("place", {})
    for key in ("shift_mm", "turn_deg"):
        fields[key] = ", ".join(map(_text, place.get(key, ())))
    fields["scale"] = _text(place.get("scale"))
    return fields


def table_of(fields: Fields) -> dict[str, Any]:
    """The table that the fields make.

    Raises:
        FieldErrors: a field is no number where one is wanted, or a constant has no ``=``.
    """
    faults: list[FieldError] = []
    table: dict[str, Any] = {}
    for key in ("title", "unit", "x", "y", "z", "along"):
        if fields.get(key, "").strip():
            table[key] = fields[key].strip()
    _whole(fields, "samples", table, "samples", faults)
    constants = _constants(fields.get("constants", ""), faults)
    if constants:
        table["constants"] = constants
    parameters: dict[str, Any] = {}
    for number in ("p1", "p2"):
        name = fields.get(f"{number}.name", "").strip()
        if name:
            parameters[name] = _parameter(fields, number, faults)
        else:
            faults += [
                FieldError(f"{number}.name", "give this parameter a name: the fields beside it have values")
                for key in PARAMETER_FIELDS[1:3]
                if fields.get(f"{number}.{key}", "").strip()
            ][:1]
    if parameters:
        table["parameters"] = parameters
    place = _place(fields, faults)
    if place:
        table["place"] = place
    if faults:
        raise FieldErrors(tuple(faults))
    return table


def index_of(fields: Fields) -> int | None:
    """Which curve of the family.

    Raises:
        FieldErrors: no whole number.
    """
    found: dict[str, Any] = {}
    faults: list[FieldError] = []
    _whole(fields, "index", found, "index", faults)
    if faults:
        raise FieldErrors(tuple(faults))
    index: int | None = found.get("index")
    return index


def curve_of(fields: Fields) -> tuple[dict[str, Any], CurveFile]:
    """Table and curve; quick. Every sample has been tried, so a formula without a value somewhere is refused too.

    Raises:
        FieldErrors: which fields are wrong, and where in them.
    """
    table, index = table_of(fields), index_of(fields)
    try:
        read = curve_from_table(table, NAME, index=index)
        read.points_m()
    except ConfigErrors as errors:
        raise FieldErrors(tuple(_of_config(fault, fields) for fault in errors.faults)) from None
    except ConfigError as error:
        raise FieldErrors((_of_config(error, fields),)) from None
    except OutsideDomainError as error:
        field = error.what.rpartition(": ")[2]
        words = str(error).splitlines()[0].rpartition("outside its domain")[2]
        raise FieldErrors((FieldError(field, f"no value{words}", error.column),)) from None
    except CommandError as error:
        raise FieldErrors((FieldError("index" if index is not None else "samples", str(error)),)) from None
    return table, read


def table_text(table: Mapping[str, Any], index: int | None = None) -> str:
    """The curve file; with another curve of the family than the table says."""
    return "\n".join(_lines(_with_index(table, index), "")) + "\n"


def task_text(table: Mapping[str, Any], index: int | None, title: str) -> str:
    """A task that goes along the curve, for the preview."""
    step = ["[[step]]", 'do = "curve"', *([] if index is None else [f"index = {index}"]), ""]
    head = [f"title = {toml_value(title)}", 'start = "home"', ""]
    return "\n".join([*head, *step, "[step.curve]", *_lines(table, "step.curve.")]) + "\n"


# -- the curve -------------------------------------------------------------------------------------------


def curve_answer(
    arm: Robot,
    table: Mapping[str, Any],
    index: int | None,
    told: Callable[[int, int], None],
    *,
    even: bool = False,
) -> CurveAnswer:
    """Samples, surface and reach: the heavy part, for a process of its own.

    Args:
        arm: the robot.
        table: of the curve.
        index: which curve of the family; None for the file's.
        told: is told how many steps of how many are done.
        even: samples at equal lengths.
    """
    read = curve_from_table(table, NAME, index=index)
    points_m = read.points_m(even=even)
    told(0, 2)
    surface = surface_of(table, read)
    told(1, 2)
    found = reach_of(arm, points_m)
    axes = np.full((len(points_m), 3), np.nan)
    good = np.array(found.reached)
    if good.any():
        axes[good] = arm.forward_kinematics(found.q[good])[:, :3, 2]
    told(2, 2)
    return CurveAnswer(points_m, surface, read.closure_gap_m, length_m(points_m), found, axes)


def surface_of(table: Mapping[str, Any], read: CurveFile) -> FloatArray:
    """Curves of the family, evenly chosen with the first and the last; a curve that has no value is left out."""
    family = read.family
    if family is None or family.count < 2:
        return np.zeros((0, SURFACE_SAMPLES, 3))
    chosen = np.unique(np.linspace(1, family.count, min(family.count, SURFACE_CURVES)).round().astype(int))
    found = []
    for each in chosen.tolist():
        try:
            found.append(curve_from_table(table, NAME, index=each).points_m(SURFACE_SAMPLES))
        except OutsideDomainError:
            continue
    return np.array(found).reshape(-1, SURFACE_SAMPLES, 3)


def moved_to(fields: Fields, points_m: FloatArray, place_m: tuple[float, float, float]) -> dict[str, str]:
    """The fields with the curve's middle at another place."""
    shift = _three(fields.get("shift_mm", ""), (0.0, 0.0, 0.0)) or (0.0, 0.0, 0.0)
    by = (np.array(place_m) - points_m.mean(axis=0)) / MM
    return {**fields, "shift_mm": ", ".join(f"{a + b:.1f}" for a, b in zip(shift, by.tolist(), strict=True))}


# -- pieces ----------------------------------------------------------------------------------------------


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _whole(fields: Fields, field: str, into: dict[str, Any], key: str, faults: list[FieldError]) -> None:
    text = fields.get(field, "").strip()
    if not text:
        return
    try:
        into[key] = int(text)
    except ValueError:
        faults.append(FieldError(field, f"{text!r} given; allowed: a whole number"))


def _number_or_formula(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _constants(text: str, faults: list[FieldError]) -> dict[str, float | str]:
    constants: dict[str, float | str] = {}
    for part in filter(None, (each.strip() for each in text.replace("\n", ";").split(";"))):
        name, equals, value = part.partition("=")
        if not equals or not value.strip():
            faults.append(FieldError("constants", f"{part!r} given; allowed: NAME = VALUE, several with ; between"))
        else:
            constants[name.strip()] = _number_or_formula(value.strip())
    return constants


def _parameter(fields: Fields, number: str, faults: list[FieldError]) -> dict[str, Any]:
    parameter: dict[str, Any] = {}
    for key in ("start", "end"):
        text = fields.get(f"{number}.{key}", "").strip()
        if text:
            parameter[key] = _number_or_formula(text)
        else:
            faults.append(FieldError(f"{number}.{key}", "nothing given; allowed: a number, or a formula of constants"))
    if fields.get(f"{number}.unit", "").strip():
        parameter["unit"] = fields[f"{number}.unit"].strip()
    _whole(fields, f"{number}.count", parameter, "count", faults)
    return parameter


def _place(fields: Fields, faults: list[FieldError]) -> dict[str, Any]:
    place: dict[str, Any] = {}
    for key in ("shift_mm", "turn_deg"):
        text = fields.get(key, "").strip()
        if text:
            found = _three(text, None)
            if found is None:
                faults.append(FieldError(key, f"{text!r} given; allowed: three numbers with commas between"))
            else:
                place[key] = list(found)
    text = fields.get("scale", "").strip()
    if text:
        try:
            place["scale"] = float(text)
        except ValueError:
            faults.append(FieldError("scale", f"{text!r} given; allowed: a number"))
    return place


def _three(text: str, otherwise: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        return otherwise
    return x, y, z


def _of_config(error: ConfigError, fields: Fields) -> FieldError:
    field = _field(error.key, fields)
    if isinstance(error, CurveFormulaError):
        return FieldError(field, error.error.sentence, error.error.column)
    given = "nothing" if error.value is None else repr(error.value)
    words = f"{given} given; allowed: {error.allowed}"
    return FieldError(field, f"{words}. {error.advice}" if error.advice else words)


def _field(key: str, fields: Fields) -> str:
    """The field that a key of the file comes from."""
    head, _, rest = key.partition(".")
    if head == "constants":
        return "constants"
    if head == "place":
        return rest.split(".")[0] or "shift_mm"
    if head == "parameters":
        name, _, what = rest.partition(".")
        number = "p2" if name and name == fields.get("p2.name", "").strip() else "p1"
        if what == "index":
            return "index"
        return f"{number}.{what}" if what in PARAMETER_FIELDS else f"{number}.name"
    return head if head in FIELDS else "title"


def _with_index(table: Mapping[str, Any], index: int | None) -> Mapping[str, Any]:
    if index is None:
        return table
    along = table.get("along")
    parameters = {
        name: ({**each, "index": index} if name != along else each) for name, each in table["parameters"].items()
    }
    return {**table, "parameters": parameters}


def _lines(table: Mapping[str, Any], prefix: str) -> list[str]:
    """TOML: keys first, then tables."""
    lines = [f"{key} = {toml_value(value)}" for key, value in table.items() if not isinstance(value, Mapping)]
    for key in ("constants", "place"):
        if table.get(key):
            lines += ["", f"[{prefix}{key}]", *(f"{name} = {toml_value(v)}" for name, v in table[key].items())]
    for name, parameter in table.get("parameters", {}).items():
        lines += ["", f"[{prefix}parameters.{name}]", *(f"{k} = {toml_value(v)}" for k, v in parameter.items())]
    return lines
