"""A robot's TOML file: its keys with their bounds, its cross-checks, its units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from hil.findings import Findings
from hil.model.robot import ControllerMap, Joint, JointType, LinkInertia, RobotModel, Transform
from hil.types import Record
from hil.units import DEG, MM

Text = Annotated[str, Meta(min_length=1)]
Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Sign = Literal[-1, 1]
Row3 = tuple[float, float, float]
Matrix3 = tuple[Row3, Row3, Row3]
Matrix = npt.NDArray[np.float64]

ORTHONORMAL_TOLERANCE = 1e-9
TOUCHING_RAD = 1e-9
"""Limits and homes that differ by rounding of the degrees in the file count as equal."""


class TransformTable(Record, frozen=True):
    translation_mm: Row3
    rotation: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class InertiaTable(Record, frozen=True):
    mass_kg: NotNegative
    com_mm: Row3
    inertia_kg_m2: Matrix3 | None = None
    motor_inertia_kg_m2: NotNegative | None = None
    gear_ratio: float | None = None
    viscous_nm_s: NotNegative | None = None
    coulomb_nm: tuple[float, float] | None = None


class RowTable(Record, frozen=True):
    name: Text
    d_mm: float
    theta_deg: float
    a_mm: float
    alpha_deg: float
    sign: Sign = 1
    inertia: InertiaTable | None = None


class RevoluteTable(RowTable, frozen=True):
    type: Literal["revolute"] = "revolute"
    lower_deg: float | None = None
    upper_deg: float | None = None
    max_speed_deg_s: Positive | None = None
    home_deg: float | None = None


class PrismaticTable(RowTable, frozen=True):
    type: Literal["prismatic"] = "prismatic"
    lower_mm: float | None = None
    upper_mm: float | None = None
    max_speed_mm_s: Positive | None = None
    home_mm: float | None = None


class ControllerMapTable(Record, frozen=True):
    theta_offset_deg: tuple[float, ...]
    sign: tuple[Sign, ...]
    tool_to_tool0: TransformTable
    note: str = ""


class RobotTable(Record, frozen=True):
    title: Text
    manufacturer: Text
    convention: Literal["standard", "modified"]
    status: Text
    source: Text
    joints: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    licence_note: str = ""
    verified_against: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    payload_kg: Positive | None = None
    mass_kg: Positive | None = None
    inertia_status: str = ""
    inertia_frame: Literal["distal", "proximal"] | None = None
    base: TransformTable | None = None
    tool: TransformTable | None = None
    controller_map: ControllerMapTable | None = None


JointTable = RevoluteTable | PrismaticTable


def robot_from_table(table: Mapping[str, Any], robot_id: str, file: str) -> RobotModel:
    """Check one robot's table and turn it into metres, radians and standard DH rows.

    Raises:
        ConfigError: names file, key, value and what is allowed; `ConfigErrors` if there are several faults.
    """
    findings = Findings(file, table)
    findings.not_finite(table)
    given = findings.read(table, RobotTable)
    rows = _joint_tables(given.joints, findings)
    _check_names(rows, findings)
    base, tool = _transform(given.base, "base", findings), _transform(given.tool, "tool", findings)
    joints = tuple(_joint(row, key, findings) for key, row in rows.items())
    _check_inertia(given, rows, findings)
    home = _home(rows, joints, findings)
    controller_map = _controller_map(given.controller_map, len(given.joints), findings)
    findings.stop()
    if given.convention == "modified":
        base, joints = _standard_rows(base, joints)
    return RobotModel(
        id=robot_id,
        title=given.title,
        manufacturer=given.manufacturer,
        joints=joints,
        base=_rows(base),
        tool=_rows(tool),
        home=home,
        source=given.source,
        status=given.status,
        licence_note=given.licence_note,
        verified_against=given.verified_against,
        notes=given.notes,
        payload_kg=given.payload_kg,
        mass_kg=given.mass_kg,
        inertia=_inertia(given, tuple(rows.values())),
        inertia_status=given.inertia_status.strip(),
        controller_map=controller_map,
        file=file,
    )


def named(index: int, row: Mapping[str, Any]) -> str:
    """How messages call an entry of a list: by its name where it has one, else by its place."""
    name = row.get("name")
    return name if isinstance(name, str) and name else str(index)


def _joint_tables(rows: tuple[dict[str, Any], ...], findings: Findings) -> dict[str, JointTable]:
    """By key, the rows whose type is known."""
    kinds: dict[object, type[JointTable]] = {"revolute": RevoluteTable, "prismatic": PrismaticTable}
    tables = {}
    for index, row in enumerate(rows):
        if not findings.right(f"joints.{index}"):
            continue
        key = f"joints.{named(index, row)}"
        kind = row.get("type")
        if isinstance(kind, str) and kind in kinds:
            # A name that stands there twice is told by `_check_names`, so each row needs a key of its own.
            tables[key if key not in tables else f"joints.{index}"] = findings.read(row, kinds[kind], key)
        else:
            findings.say(f"{key}.type", kind, "'revolute' or 'prismatic'")
    return tables


def _check_names(rows: Mapping[str, JointTable], findings: Findings) -> None:
    seen: set[str] = set()
    for key, row in rows.items():
        if row.name in seen:
            findings.say(f"{key}.name", row.name, "a name that no other joint has")
        seen.add(row.name)


def _joint(row: JointTable, key: str, findings: Findings) -> Joint:
    if isinstance(row, RevoluteTable):
        kind, factor, unit = JointType.REVOLUTE, DEG, "deg"
        lower, upper, speed = row.lower_deg, row.upper_deg, row.max_speed_deg_s
    else:
        kind, factor, unit = JointType.PRISMATIC, MM, "mm"
        lower, upper, speed = row.lower_mm, row.upper_mm, row.max_speed_mm_s
    if (lower is None) != (upper is None):
        missing = "lower" if lower is None else "upper"
        findings.say(f"{key}.{missing}_{unit}", None, "both limits, or neither where no source gives them")
    if lower is not None and upper is not None and lower >= upper:
        findings.say(f"{key}.lower_{unit}", lower, f"less than upper_{unit} = {upper:g}")
    return Joint(
        name=row.name,
        type=kind,
        d_m=row.d_mm * MM,
        theta_rad=row.theta_deg * DEG,
        a_m=row.a_mm * MM,
        alpha_rad=row.alpha_deg * DEG,
        sign=row.sign,
        lower=None if lower is None else lower * factor,
        upper=None if upper is None else upper * factor,
        max_speed=None if speed is None else speed * factor,
    )


def _home(rows: Mapping[str, JointTable], joints: tuple[Joint, ...], findings: Findings) -> tuple[float, ...] | None:
    given = [row.home_deg if isinstance(row, RevoluteTable) else row.home_mm for row in rows.values()]
    if all(value is None for value in given):
        return None
    home = []
    for row_key, joint, value in zip(rows, joints, given, strict=True):
        unit, factor = ("deg", DEG) if joint.type is JointType.REVOLUTE else ("mm", MM)
        key = f"{row_key}.home_{unit}"
        if value is None:
            findings.say(key, None, "a home for every joint, or for none")
            continue
        limits = findings.sound(f"{row_key}.lower_{unit}", f"{row_key}.upper_{unit}")
        if limits and joint.lower is not None and joint.upper is not None:
            low, high = joint.lower - TOUCHING_RAD, joint.upper + TOUCHING_RAD
            if value * factor < low or value * factor > high:
                allowed = f"{joint.lower / factor:g} to {joint.upper / factor:g} {unit}, the joint's limits"
                findings.say(key, value, allowed)
        home.append(value * factor)
    return tuple(home)


def _transform(table: TransformTable | None, key: str, findings: Findings) -> Matrix:
    matrix: Matrix = np.eye(4)
    if table is None:
        return matrix
    if not findings.sound(f"{key}.rotation"):
        return matrix
    rotation = np.array(table.rotation)
    off = float(np.max(np.abs(rotation @ rotation.T - np.eye(3))))
    if off > ORTHONORMAL_TOLERANCE or np.linalg.det(rotation) < 0:
        findings.say(
            f"{key}.rotation",
            [list(row) for row in table.rotation],
            f"three orthogonal rows of length 1, to {ORTHONORMAL_TOLERANCE:g}, forming a right-handed system",
            f"These are off by {off:.2g}" if off > ORTHONORMAL_TOLERANCE else "This is a mirror image",
        )
    matrix[:3, :3] = rotation
    matrix[:3, 3] = np.array(table.translation_mm) * MM
    return matrix


def _rows(matrix: Matrix) -> Transform:
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in matrix)


def _standard_rows(base: Matrix, joints: tuple[Joint, ...]) -> tuple[Matrix, tuple[Joint, ...]]:
    """Modified (proximal) rows, T_i = Rx(alpha_i) Tx(a_i) Rz(theta_i) Tz(d_i), as standard ones.

    Exact for every chain: alpha and a move up by one row, those of the first row into the base transform. See
    J. J. Craig, Introduction to Robotics, for the modified convention.
    """
    shift = _rotation_x(joints[0].alpha_rad)
    shift[0, 3] = joints[0].a_m
    moved = [(following.a_m, following.alpha_rad) for following in joints[1:]] + [(0.0, 0.0)]
    standard = tuple(
        Joint(
            name=joint.name,
            type=joint.type,
            d_m=joint.d_m,
            theta_rad=joint.theta_rad,
            a_m=a_m,
            alpha_rad=alpha_rad,
            sign=joint.sign,
            lower=joint.lower,
            upper=joint.upper,
            max_speed=joint.max_speed,
        )
        for joint, (a_m, alpha_rad) in zip(joints, moved, strict=True)
    )
    return base @ shift, standard


def _rotation_x(angle_rad: float) -> Matrix:
    matrix: Matrix = np.eye(4)
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    matrix[1:3, 1:3] = [[c, -s], [s, c]]
    return matrix


def _check_inertia(given: RobotTable, rows: Mapping[str, JointTable], findings: Findings) -> None:
    if all(row.inertia is None for row in rows.values()):
        return
    if given.inertia_frame is None:
        findings.say(
            "inertia_frame",
            None,
            "'distal' or 'proximal'",
            "Say whether centres of mass are in the standard DH frame at the far end of each link (distal) "
            "or in the frame at the joint that carries it (proximal)",
        )
    for row_key, row in rows.items():
        key = f"{row_key}.inertia"
        if row.inertia is None:
            findings.say(key, None, "an inertia for every joint, or for none")
        elif row.inertia.inertia_kg_m2 is not None and findings.sound(f"{key}.inertia_kg_m2"):
            _check_moments(row.inertia.inertia_kg_m2, f"{key}.inertia_kg_m2", findings)


def _check_moments(moments: Matrix3, key: str, findings: Findings) -> None:
    about_com = np.array(moments)
    if not np.array_equal(about_com, about_com.T) or np.any(np.diag(about_com) < 0):
        findings.say(key, [list(row) for row in moments], "a symmetric matrix without negative moments")


def _inertia(given: RobotTable, rows: tuple[JointTable, ...]) -> tuple[LinkInertia, ...] | None:
    """Of every link, or of none."""
    tables = [row.inertia for row in rows if row.inertia is not None]
    shifts = _to_distal(given, rows)
    return tuple(_link_inertia(table, *shift) for table, shift in zip(tables, shifts, strict=True)) if tables else None


def _to_distal(given: RobotTable, rows: tuple[JointTable, ...]) -> list[tuple[float, float]]:
    """Per link, the (a, alpha) that leads from the frame of the file's numbers to the standard DH frame."""
    if given.inertia_frame == "distal":
        return [(0.0, 0.0)] * len(rows)
    own = [(row.a_mm * MM, row.alpha_deg * DEG) for row in rows]
    return own if given.convention == "standard" else [*own[1:], (0.0, 0.0)]


def _link_inertia(table: InertiaTable, a_m: float, alpha_rad: float) -> LinkInertia:
    rotation = _rotation_x(alpha_rad)[:3, :3].T
    com = rotation @ (np.array(table.com_mm) * MM - np.array([a_m, 0.0, 0.0]))
    tensor = None
    if table.inertia_kg_m2 is not None:
        about_com = np.array(table.inertia_kg_m2)
        turned = rotation @ about_com @ rotation.T
        tensor = tuple((float(x), float(y), float(z)) for x, y, z in turned)
    return LinkInertia(
        mass_kg=table.mass_kg,
        com_m=(float(com[0]), float(com[1]), float(com[2])),
        inertia_kg_m2=tensor,
        motor_inertia_kg_m2=table.motor_inertia_kg_m2,
        gear_ratio=table.gear_ratio,
        viscous_nm_s=table.viscous_nm_s,
        coulomb_nm=table.coulomb_nm,
    )


def _controller_map(table: ControllerMapTable | None, dof: int, findings: Findings) -> ControllerMap | None:
    if table is None:
        return None
    for key, values in (("theta_offset_deg", table.theta_offset_deg), ("sign", table.sign)):
        if findings.right("joints") and len(values) != dof:
            findings.say(f"controller_map.{key}", list(values), f"{dof} entries, one per joint")
    return ControllerMap(
        theta_offset_rad=tuple(value * DEG for value in table.theta_offset_deg),
        sign=table.sign,
        tool_to_tool0=_rows(_transform(table.tool_to_tool0, "controller_map.tool_to_tool0", findings)),
        note=table.note,
    )
