"""URDF out: any robot as a URDF that `hil.model.urdf` reads back to the same poses, limits and dynamics.

Link i stands at joint i, turned with it; its DH frame lies further on by the constant part of row i. What a URDF has no
word for (rotor inertia, gear ratio, friction by direction) stands in elements `hil_drive`, which other programs skip.
"""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import quoteattr

import numpy as np

from hil.model.robot import Joint, JointType, LinkInertia, RobotModel
from hil.model.transforms import Matrix, dh_transform, rpy_of


def urdf_text(model: RobotModel, meshes: Mapping[int, str] | None = None) -> str:
    """The URDF of a robot; links `base_link`, `link_1` to `link_n`, `flange` (the last DH frame), `tool0`.

    Args:
        model: the robot.
        meshes: per link, 0 for the base, the file name of a mesh in metres in its DH frame (the base's in the world).
    """
    files = dict(meshes or {})
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(model.title)}>"]
    lines += _link("base_link", _mesh(files.get(0), np.eye(4)))
    place = _origin(np.array(model.base))
    parent = "base_link"
    for index, joint in enumerate(model.joints):
        child, row = f"link_{index + 1}", _constant(joint)
        inertia = None if model.inertia is None else model.inertia[index]
        lines += _link(child, [*_inertial(inertia, row), *_mesh(files.get(index + 1), row)])
        lines += _joint(joint, parent, child, place, inertia)
        parent, place = child, _row_origin(joint)
    lines += [*_link("flange", []), *_fixed("flange", parent, place)]
    lines += [*_link("tool0", []), *_fixed("tool0", "flange", _origin(np.array(model.tool)))]
    lines += _drives(model)
    return "\n".join([*lines, "</robot>"]) + "\n"


def _constant(joint: Joint) -> Matrix:
    return dh_transform(joint.theta_rad, joint.d_m, joint.a_m, joint.alpha_rad)


def _row_origin(joint: Joint) -> str:
    """The constant part of a row. Rz(theta) Rx(alpha) is roll alpha, yaw theta: no angle has to be worked out."""
    return _placed(_constant(joint)[:3, 3], (joint.alpha_rad, 0.0, joint.theta_rad))


def _origin(matrix: Matrix) -> str:
    return _placed(matrix[:3, 3], rpy_of(matrix[:3, :3]))


def _placed(xyz_m: Matrix, rpy_rad: tuple[float, float, float]) -> str:
    return f'<origin xyz="{_numbers(*xyz_m)}" rpy="{_numbers(*rpy_rad)}"/>'


def _link(name: str, content: list[str]) -> list[str]:
    if not content:
        return [f'  <link name="{name}"/>']
    return [f'  <link name="{name}">', *(f"    {line}" for line in content), "  </link>"]


def _mesh(file: str | None, row: Matrix) -> list[str]:
    if file is None:
        return []
    geometry = f"<geometry><mesh filename={quoteattr(file)}/></geometry>"
    return [f"<{purpose}>{_origin(row)}{geometry}</{purpose}>" for purpose in ("visual", "collision")]


def _inertial(link: LinkInertia | None, row: Matrix) -> list[str]:
    """Mass, centre and inertia with axes along the link's own: turned by the row's constant part."""
    if link is None:
        return []
    com = row[:3, :3] @ np.array(link.com_m) + row[:3, 3]
    tensor = np.zeros((3, 3)) if link.inertia_kg_m2 is None else np.array(link.inertia_kg_m2)
    turned = row[:3, :3] @ tensor @ row[:3, :3].T
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = (turned[0, 0], turned[0, 1], turned[0, 2], turned[1, 1], turned[1, 2], turned[2, 2])
    moments = " ".join(f'{name}="{_numbers(value)}"' for name, value in zip(names, values, strict=True))
    mass = f'<mass value="{_numbers(link.mass_kg)}"/>'
    return ["<inertial>", f"  {_placed(com, (0.0, 0.0, 0.0))}{mass}<inertia {moments}/>", "</inertial>"]


def _joint(joint: Joint, parent: str, child: str, place: str, inertia: LinkInertia | None) -> list[str]:
    """A limit or speed that is not given is 0 in the file: the format demands the keys."""
    limited = joint.lower is not None and joint.upper is not None
    revolute = joint.type is JointType.REVOLUTE
    kind = "prismatic" if not revolute else "revolute" if limited else "continuous"
    speed = _numbers(joint.max_speed or 0.0)
    ends = (
        ""
        if kind == "continuous"
        else f'lower="{_numbers(joint.lower or 0.0)}" upper="{_numbers(joint.upper or 0.0)}" '
    )
    lines = [
        f'<parent link="{parent}"/><child link="{child}"/>',
        place,
        f'<axis xyz="0 0 {joint.sign}"/>',
        f'<limit {ends}effort="0" velocity="{speed}"/>',
        *_friction(inertia),
    ]
    return [
        f'  <joint name={quoteattr(joint.name)} type="{kind}">',
        *(f"    {line}" for line in lines),
        "  </joint>",
    ]


def _friction(link: LinkInertia | None) -> list[str]:
    """Friction at the joint for other programs: viscous times gear ratio squared, the mean Coulomb times the ratio."""
    if link is None or (link.viscous_nm_s is None and link.coulomb_nm is None):
        return []
    ratio = abs(1.0 if link.gear_ratio is None else link.gear_ratio)
    damping = (link.viscous_nm_s or 0.0) * ratio**2
    friction = 0.0 if link.coulomb_nm is None else 0.5 * (abs(link.coulomb_nm[0]) + abs(link.coulomb_nm[1])) * ratio
    return [f'<dynamics damping="{_numbers(damping)}" friction="{_numbers(friction)}"/>']


def _fixed(child: str, parent: str, place: str) -> list[str]:
    return [
        f'  <joint name="{parent}-{child}" type="fixed">',
        f'    <parent link="{parent}"/><child link="{child}"/>',
        f"    {place}",
        "  </joint>",
    ]


def _drives(model: RobotModel) -> list[str]:
    if model.inertia is None:
        return []
    lines = []
    for joint, link in zip(model.joints, model.inertia, strict=True):
        coulomb = link.coulomb_nm or (None, None)
        values = {
            "motor_inertia_kg_m2": link.motor_inertia_kg_m2,
            "gear_ratio": link.gear_ratio,
            "viscous_nm_s": link.viscous_nm_s,
            "coulomb_positive_nm": coulomb[0],
            "coulomb_negative_nm": coulomb[1],
        }
        given = [f'{key}="{_numbers(value)}"' for key, value in values.items() if value is not None]
        if link.inertia_kg_m2 is None:
            given.append('link_inertia="not given"')
        if given:
            lines.append(f"  <hil_drive joint={quoteattr(joint.name)} {' '.join(given)}/>")
    return lines


def _numbers(*values: float) -> str:
    """Every digit that counts."""
    return " ".join("0" if value == 0 else repr(float(value)) for value in values)
