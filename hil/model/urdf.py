"""URDF in: one serial chain as standard DH rows, compared with the file's own transforms before it is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from hil.errors import ConfigError
from hil.model._dh_from_axes import AxisLine, DhRow, dh_table, tidy_transform
from hil.model._robot_file import robot_from_table
from hil.model._urdf_file import Axis, Body, Urdf, read
from hil.model._urdf_tree import Carried, Chain, chain_of
from hil.model.files import parse_toml
from hil.model.robot import Joint, JointType, LinkInertia, RobotModel, Transform
from hil.model.robot_text import robot_text
from hil.model.transforms import Matrix, frames, inverse, random_q, rows, shift, turn
from hil.types import Record

CHECKED = 64
"""Random configurations at which the robot is compared with the file."""

TOLERANCE = 1e-12
"""Largest difference of a pose's elements, of metres and of 1; for arms above a metre, of their length."""


class UrdfMesh(Record, frozen=True):
    """A mesh that the file names.

    Attributes:
        link: 0 for the base, i for the link that carries DH frame i.
        urdf_link: its name in the file.
        purpose: ``visual`` or ``collision``.
        name: as the file has it, for example ``package://arm/meshes/base.stl``.
        found: where it is, empty if it was not found.
        pose: from the mesh's own coordinates to that frame, 4x4 as rows; `scale` comes first.
    """

    link: int
    urdf_link: str
    purpose: str
    name: str
    found: str
    pose: Transform
    scale: tuple[float, float, float]


class UrdfRobot(Record, frozen=True):
    """What a URDF gave.

    Attributes:
        root, tip: links between which the chain runs.
        notes: what was read otherwise than it stands there, or left out.
        worst: largest difference of any element of the tip's pose between the file's transforms and the model's.
    """

    model: RobotModel
    root: str
    tip: str
    meshes: tuple[UrdfMesh, ...]
    notes: tuple[str, ...]
    worst: float


def read_urdf(path: Path, *, tip: str | None = None, title: str | None = None, as_written: bool = False) -> UrdfRobot:
    """Read the serial chain of a URDF.

    The root link is the world. Joint values keep the file's zeros and directions; what fixed joints hold together is
    one link.

    Args:
        path: of the URDF.
        tip: name of the link at the tip; None if there is only one.
        title: shown to people; the file's own name for the robot if None.
        as_written: take an angle of 1.5708 for 1.5708 rad; without, for the quarter turn that it is a rounding of.

    Raises:
        ConfigError: the file cannot be read, is no URDF, or holds something other than one serial chain of 2 to 8
            revolute, continuous or prismatic joints; or the model differs from it by more than `TOLERANCE`.
    """
    file = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(file, "file", error.strerror or str(error), "a file that can be read") from None
    urdf = read(data, file, as_written=as_written)
    chain = chain_of(urdf, file, tip)
    model, notes = _model(urdf, chain, title, path)
    worst = _compared(model, chain, file)
    return UrdfRobot(
        model=model,
        root=chain.root,
        tip=chain.tip,
        meshes=tuple(_meshes(urdf, chain, model, path)),
        notes=(*_notes(urdf, chain), *notes),
        worst=worst,
    )


def _model(urdf: Urdf, chain: Chain, title: str | None, path: Path) -> tuple[RobotModel, list[str]]:
    moving = chain.moving
    axes = [_line(joint, group[0]) for joint, group in zip(moving, chain.carried[1:], strict=True)]
    tip = next(each.frame for each in chain.carried[-1] if each.link == chain.tip)
    table = dh_table(axes, tip, str(path))
    joints = tuple(_joint(joint, row) for joint, row in zip(moving, table.rows, strict=True))
    model = RobotModel(
        id=path.stem,
        title=title or urdf.name or path.stem,
        manufacturer="not given",
        joints=joints,
        base=rows(table.base),
        tool=rows(table.tool),
        home=None,
        source=f"{path.name}, from link {chain.root} to link {chain.tip}",
        status="imported from a URDF, not verified against anything else",
    )
    inertia, status, notes = _inertia(urdf, chain, model)
    model = msgspec.structs.replace(model, inertia=inertia, inertia_status=status)
    # Through the text, so that what is compared is what a file of it will say.
    return robot_from_table(parse_toml(robot_text(model).encode(), str(path)), path.stem, str(path)), notes


def _line(joint: Axis, carried: Carried) -> AxisLine:
    return AxisLine(joint.name, carried.frame, carried.frame[:3, :3] @ np.array(joint.axis) * _sign(joint))


def _sign(joint: Axis) -> int:
    """A joint that goes backwards about z of its own frame keeps this z."""
    return -1 if joint.axis == (0.0, 0.0, -1.0) else 1


def _joint(joint: Axis, row: DhRow) -> Joint:
    return Joint(
        name=joint.name,
        type=JointType.PRISMATIC if joint.kind == "prismatic" else JointType.REVOLUTE,
        d_m=row.d_m,
        theta_rad=row.theta_rad,
        a_m=row.a_m,
        alpha_rad=row.alpha_rad,
        sign=_sign(joint),
        lower=joint.lower,
        upper=joint.upper,
        max_speed=joint.max_speed,
    )


def _inertia(urdf: Urdf, chain: Chain, model: RobotModel) -> tuple[tuple[LinkInertia, ...] | None, str, list[str]]:
    """Per joint what it moves, in the distal DH frame; what has no mass in the file makes the whole unknown."""
    at_zero = frames(model, [0.0] * model.dof)
    found, missing = [], []
    for joint, group, frame in zip(chain.moving, chain.carried[1:], at_zero[1:], strict=False):
        bodies = [(each.frame, body) for each in group if (body := urdf.links[each.link].body) is not None]
        if not bodies:
            missing.append(group[0].link)
            continue
        drive = joint.drive
        mass, com, tensor = _together([(inverse(frame) @ at, body) for at, body in bodies])
        found.append(
            LinkInertia(
                mass_kg=mass,
                com_m=com,
                inertia_kg_m2=tensor,
                motor_inertia_kg_m2=drive.motor_inertia_kg_m2,
                gear_ratio=drive.gear_ratio,
                viscous_nm_s=drive.viscous_nm_s,
                coulomb_nm=drive.coulomb_nm,
            )
        )
    if not found:
        return None, "", []
    if missing:
        words = f"not used: the URDF gives no mass for {', '.join(missing)}"
        return None, words, [f"masses and inertias {words}"]
    return tuple(found), "as the URDF gives it; links that are fixed together are one", []


def _together(
    bodies: Sequence[tuple[Matrix, Body]],
) -> tuple[float, tuple[float, float, float], tuple[tuple[float, float, float], ...] | None]:
    """Mass, centre and inertia about it of bodies that are fixed together; each with its link's frame, (4, 4)."""
    mass = sum(body.mass_kg for _, body in bodies)
    places = [(frame @ body.origin) for frame, body in bodies]
    weights = [body.mass_kg / mass if mass > 0 else 1.0 / len(bodies) for _, body in bodies]
    com = np.sum([weight * place[:3, 3] for weight, place in zip(weights, places, strict=True)], axis=0)
    x, y, z = (float(value) for value in tidy_transform(shift(com))[:3, 3])
    total = np.zeros((3, 3))
    for place, (_, body) in zip(places, bodies, strict=True):
        if body.tensor is None:
            return mass, (x, y, z), None
        away = place[:3, 3] - com
        total += place[:3, :3] @ body.tensor @ place[:3, :3].T
        total += body.mass_kg * ((away @ away) * np.eye(3) - np.outer(away, away))
    total = 0.5 * (total + total.T)
    total[np.abs(total) < 1e-15 * np.max(np.abs(total), initial=0.0)] = 0.0
    return mass, (x, y, z), tuple((float(a), float(b), float(c)) for a, b, c in total)


def _meshes(urdf: Urdf, chain: Chain, model: RobotModel, path: Path) -> list[UrdfMesh]:
    at_zero = frames(model, [0.0] * model.dof)
    return [
        UrdfMesh(
            link=index,
            urdf_link=each.link,
            purpose=mesh.purpose,
            name=mesh.name,
            found=_found(mesh.name, path),
            pose=rows(tidy_transform(inverse(frame) @ each.frame @ mesh.origin)),
            scale=mesh.scale,
        )
        for index, (group, frame) in enumerate(zip(chain.carried, [np.eye(4), *at_zero[1:]], strict=False))
        for each in group
        for mesh in urdf.links[each.link].meshes
    ]


def _found(name: str, urdf: Path) -> str:
    """A mesh's path; that of a package is looked for in every folder above the URDF."""
    plain = name.removeprefix("file://")
    if name.startswith("package://"):
        whole = name.removeprefix("package://")
        parts = [part for part in (whole, whole.partition("/")[2]) if part]
        places = [folder / part for folder in urdf.resolve().parents for part in parts]
    else:
        places = [urdf.parent / plain] if plain else []
    return str(next((place for place in places if place.is_file()), ""))


def _notes(urdf: Urdf, chain: Chain) -> list[str]:
    notes = []
    if urdf.rounded:
        words = ", ".join(urdf.rounded[:5]) + (", ..." if len(urdf.rounded) > 5 else "")
        notes.append(f"angles read as whole quarter turns: {words}")
    if chain.left_out:
        notes.append(f"left out, with what they carry: {', '.join(chain.left_out)}")
    without = [joint.name for joint in chain.moving if joint.lower is None and joint.kind != "continuous"]
    if without:
        notes.append(f"no limits given (or 0 to 0): {', '.join(without)}")
    if any(urdf.links[each.link].body is not None for each in chain.carried[0]):
        notes.append("the mass of the base does not move and is left out")
    return notes


def _compared(model: RobotModel, chain: Chain, file: str) -> float:
    """The largest difference between the chain as the file has it and the model, at random configurations.

    Raises:
        ConfigError: it is above the tolerance, which rounding alone does not explain.
    """
    generator = np.random.default_rng(0)
    all_q = [[0.0] * model.dof, *(random_q(model, generator) for _ in range(CHECKED))]
    wanted = np.array([_pose(chain, q) for q in all_q])
    # numpy's maximum, unlike Python's, is NaN where anything is.
    worst = float(np.max(np.abs(np.array([frames(model, q)[-1] for q in all_q]) - wanted)))
    if not worst <= TOLERANCE * float(np.max(np.abs(wanted), initial=1.0)):
        raise ConfigError(
            file,
            "joint",
            f"a chain that DH rows give only to {worst:.2g}",
            f"one that they give to {TOLERANCE:g}",
            "Axes that are nearly, but not quite, parallel do this: write the angles with all their digits",
        )
    return worst


def _pose(chain: Chain, q: Sequence[float]) -> Matrix:
    """The tip in the root frame as the file's own transforms give it."""
    pose, values = np.eye(4), iter(q)
    for joint in chain.path:
        pose = pose @ joint.origin
        if joint.kind == "prismatic":
            pose = pose @ shift(np.array(joint.axis) * next(values))
        elif joint.kind != "fixed":
            pose = pose @ turn(joint.axis, next(values))
    return pose
