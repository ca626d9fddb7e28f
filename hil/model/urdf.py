"""URDF in: one serial chain as standard DH rows, compared with the file's own transforms before it is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from hil.errors import ConfigError
from hil.model._dh_from_axes import AxisLine, DhRow, dh_table, tidy_transform
from hil.model._robot_file import robot_from_table
from hil.model._urdf_ends import Ends, UrdfTipError, base_for, ends_of, refusal
from hil.model._urdf_file import Axis, Body, Urdf, read
from hil.model._urdf_meshes import model_folder, place_in
from hil.model._urdf_notes import notes_of, without_masses
from hil.model._urdf_tree import Carried, Chain, Tree, chain_of, tree_of
from hil.model._xacro import expanded, xacro_at
from hil.model._xml import parse_xml
from hil.model.files import parse_toml
from hil.model.robot import Joint, JointType, LinkInertia, RobotModel, Transform
from hil.model.robot_text import robot_text
from hil.model.transforms import Matrix, frames, inverse, random_q, rows, shift, turn
from hil.types import Record

__all__ = ["Ends", "UrdfEnd", "UrdfMesh", "UrdfRobot", "UrdfTipError", "read_urdf"]

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
        found: where it is in the model's folder, empty if it was not found there.
        pose: from the mesh's own coordinates to that frame, 4x4 as rows; `scale` comes first.
    """

    link: int
    urdf_link: str
    purpose: str
    name: str
    found: str
    pose: Transform
    scale: tuple[float, float, float]


class UrdfEnd(Record, frozen=True):
    """An end of the tree.

    Attributes:
        link: at the end of an arm, grippers taken off.
        moving: how many joints on the way to it move.
        gripper: joints of the gripper on it.
        others: further links without anything on them that are rigidly together with it.
    """

    link: str
    moving: int
    gripper: tuple[str, ...]
    others: tuple[str, ...]


class UrdfRobot(Record, frozen=True):
    """What a URDF gave.

    Attributes:
        root, tip: links between which the chain runs.
        base: the link at which its first moving joint may be; what comes before is held still.
        tip_reason: why this tip.
        ends: all ends of the tree, the proposed one first.
        notes: what was read otherwise than it stands there, or left out.
        worst: largest difference of any element of the tip's pose between the file's transforms and the model's.
    """

    model: RobotModel
    root: str
    base: str
    tip: str
    tip_reason: str
    ends: tuple[UrdfEnd, ...]
    meshes: tuple[UrdfMesh, ...]
    notes: tuple[str, ...]
    worst: float


def read_urdf(
    path: Path,
    *,
    tip: str | None = None,
    base: str | None = None,
    title: str | None = None,
    as_written: bool = False,
    scale: float = 1.0,
    values: Mapping[str, str] | None = None,
    propose: bool = False,
) -> UrdfRobot:
    """Read one serial chain of a URDF, or of a Xacro where the package `xacro` is installed.

    The root link is the world. Joint values keep the file's zeros and directions; what fixed joints hold together is
    one link. Joints beside the chain, those of a gripper too, are held still at 0 with their masses.

    Args:
        path: of the URDF.
        tip: name of the link at the tip; None if there is only one that it can be.
        base: name of a link on the way; joints before it are held still at 0. None for the root.
        title: shown to people; the file's own name for the robot if None.
        as_written: take an angle of 1.5708 for 1.5708 rad; without, for the quarter turn that it is a rounding of.
        scale: metres in the file's unit of length.
        values: of a Xacro's arguments, by name.
        propose: take the tip (and base) that is proposed where there are several.

    Raises:
        UrdfTipError: nobody has said which of several ends is the tip.
        ConfigError: the file cannot be read, is no URDF, or holds something other than one serial chain of 2 to 8
            revolute, continuous or prismatic joints on the way; or the model differs from it by more than `TOLERANCE`.
    """
    file = str(path)
    if not 0.0 < scale < math.inf:
        raise ConfigError(file, "--scale", scale, "metres in one unit of the file, above 0: 0.01 for centimetres")
    urdf, expansion = _read(path, as_written=as_written, scale=scale, values=values or {})
    tree = tree_of(urdf, file, tip)
    ends = ends_of(tree, file, asked=tip is not None)
    if tip is None:
        if not (ends.sure or propose or ends.ends[0].broken):
            raise refusal(ends, base_for(tree, ends, ends.tip), file)
        tip, reason = ends.tip, ends.why
    else:
        reason = "as told"
    likely = base_for(tree, ends, tip)
    chain = chain_of(tree, file, tip, likely if propose and base is None else base, likely)
    model, notes = _model(tree, chain, title, path)
    worst = _compared(model, chain, file)
    return UrdfRobot(
        model=model,
        root=chain.root,
        base=chain.base,
        tip=chain.tip,
        tip_reason=reason,
        ends=_listed(ends),
        meshes=tuple(_meshes(urdf, chain, model, path)),
        notes=(*expansion, *_scaled(scale), *notes_of(tree, chain, ends, reason), *notes),
        worst=worst,
    )


def _read(path: Path, *, as_written: bool, scale: float, values: Mapping[str, str]) -> tuple[Urdf, tuple[str, ...]]:
    """The file, expanded if it is a Xacro, with a note on that."""
    file = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(file, "file", error.strerror or str(error), "a file that can be read") from None
    root = parse_xml(data, file)
    notes: tuple[str, ...] = ()
    if root.tag == "robot" and (mark := xacro_at(root)) is not None:
        root = expanded(path, mark, values)
        notes = ("a Xacro, expanded before it was read; lines are those after expanding",)
    return read(root, file, as_written=as_written, scale=scale), notes


def _listed(ends: Ends) -> tuple[UrdfEnd, ...]:
    return tuple(
        UrdfEnd(
            link=end.link,
            moving=len(end.moving),
            gripper=() if end.gripper is None else end.gripper.joints,
            others=end.others,
        )
        for end in ends.ends
    )


def _scaled(scale: float) -> tuple[str, ...]:
    if scale == 1.0:
        return ()
    return (f"lengths times {scale:g}, moments of inertia times {scale**2:g}; masses as they stand",)


def _model(tree: Tree, chain: Chain, title: str | None, path: Path) -> tuple[RobotModel, list[str]]:
    urdf, moving = tree.urdf, chain.moving
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
        source=f"{path.name}, from link {chain.base} to link {chain.tip}",
        status="imported from a URDF, not verified against anything else",
    )
    inertia, status, notes = _inertia(tree, chain, model)
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


def _inertia(tree: Tree, chain: Chain, model: RobotModel) -> tuple[tuple[LinkInertia, ...] | None, str, list[str]]:
    """Per joint what it moves, in the distal DH frame; what has no mass in the file makes the whole unknown."""
    at_zero = frames(model, [0.0] * model.dof)
    found, missing, links = [], [], tree.urdf.links
    for joint, group, frame in zip(chain.moving, chain.carried[1:], at_zero[1:], strict=False):
        bodies = [(each.frame, body) for each in group if (body := links[each.link].body) is not None]
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
    if unknown := without_masses(tree, chain, missing):
        words = f"not used: {unknown}"
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
    folder = model_folder(path)
    return [
        UrdfMesh(
            link=index,
            urdf_link=each.link,
            purpose=mesh.purpose,
            name=mesh.name,
            found=place_in(folder, path.parent, mesh.name),
            pose=rows(tidy_transform(inverse(frame) @ each.frame @ mesh.origin)),
            scale=mesh.scale,
        )
        for index, (group, frame) in enumerate(zip(chain.carried, [np.eye(4), *at_zero[1:]], strict=False))
        for each in group
        for mesh in urdf.links[each.link].meshes
    ]


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
        pose = pose @ joint.place
        if joint.kind == "prismatic":
            pose = pose @ shift(np.array(joint.axis) * next(values))
        elif joint.kind != "fixed":
            pose = pose @ turn(joint.axis, next(values))
    return pose
