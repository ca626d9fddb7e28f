"""URDF texts for tests: arms with axes in any place, and what can be wrong with one."""

from __future__ import annotations

from collections.abc import Sequence

ARM = """<?xml version="1.0"?>
<robot name="Two joints and a slide">
  <link name="world"/>
  <link name="base"/>
  <link name="one">
    <inertial><origin xyz="0.1 0 0" rpy="0 0 0"/><mass value="2"/>
      <inertia ixx="0.01" ixy="0.001" ixz="0" iyy="0.02" iyz="0" izz="0.03"/></inertial>
    <visual><geometry><mesh filename="package://arm/meshes/one.stl" scale="0.001 0.001 0.001"/></geometry></visual>
  </link>
  <link name="two"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
  <link name="three"><inertial><mass value="0.5"/><inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial></link>
  <link name="plate"><inertial><mass value="0.5"/><inertia ixx="0.001" iyy="0.001" izz="0.001"/></inertial></link>
  <joint name="stand" type="fixed"><parent link="world"/><child link="base"/><origin xyz="0 0 0.2"/></joint>
  <joint name="turn" type="revolute"><parent link="base"/><child link="one"/>
    <origin xyz="0 0 0.1" rpy="0 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-1.5" upper="2" effort="3" velocity="1.25"/></joint>
  <joint name="lift" type="continuous"><parent link="one"/><child link="two"/>
    <origin xyz="0.3 0 0" rpy="1.5708 0 0"/><axis xyz="0 0 -1"/></joint>
  <joint name="reach" type="prismatic"><parent link="two"/><child link="three"/>
    <origin xyz="0.2 0.05 0" rpy="0 1.571 0"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="0.15" effort="3" velocity="0"/></joint>
  <joint name="bolt" type="fixed"><parent link="three"/><child link="plate"/>
    <origin xyz="0 0 0.1" rpy="0 0 0.3"/></joint>
</robot>
"""


def chain_urdf(joints: Sequence[tuple[str, Sequence[float], Sequence[float], Sequence[float]]]) -> str:
    """A chain of (type, origin xyz, origin rpy, axis), with a tip that stands somewhere and askew."""
    lines = ['<robot name="chain">', *(f'<link name="l{i}"/>' for i in range(len(joints) + 2))]
    for i, (kind, xyz, rpy, axis) in enumerate(joints):
        lines.append(_joint(f"j{i}", kind, i, xyz, rpy, axis))
    lines.append(_joint("tip", "fixed", len(joints), (0.1, -0.05, 0.07), (0.4, -0.3, 0.2), (1, 0, 0)))
    return "\n".join([*lines, "</robot>"])


def _joint(name: str, kind: str, parent: int, xyz: Sequence[float], rpy: Sequence[float], axis: Sequence[float]) -> str:
    place = f'<origin xyz="{_words(xyz)}" rpy="{_words(rpy)}"/><axis xyz="{_words(axis)}"/>'
    return f'<joint name="{name}" type="{kind}"><parent link="l{parent}"/><child link="l{parent + 1}"/>{place}</joint>'


def _words(values: Sequence[float]) -> str:
    return " ".join(repr(float(value)) for value in values)
