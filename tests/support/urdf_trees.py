"""Random trees as URDF: an arm of chance with side branches, things fixed to it, and a gripper of some kind."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

GRIPPERS = ("none", "mimic", "slides", "turns", "jaw")


class RandomTree(NamedTuple):
    """A URDF, and what it was made as.

    Attributes:
        joints: those of the arm, base to tip.
        tip: the link that the last of them carries.
        gripper: joints of the gripper.
        beside: joints of other branches.
    """

    text: str
    joints: tuple[str, ...]
    tip: str
    gripper: tuple[str, ...]
    beside: tuple[str, ...]


class _Writer:
    def __init__(self, generator: np.random.Generator) -> None:
        self.generator, self.lines = generator, list[str]()

    def link(self, name: str) -> None:
        """With a body of chance: its moments are those of three rods."""
        rng = self.generator
        turn, rods = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.uniform(1e-4, 0.01, 3)
        tensor = turn @ np.diag([rods[1] + rods[2], rods[0] + rods[2], rods[0] + rods[1]]) @ turn.T
        pairs = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
        moments = " ".join(f'i{key}="{float(tensor[at])!r}"' for key, at in pairs.items())
        body = f'<mass value="{rng.uniform(0.1, 3)!r}"/><inertia {moments}/>'
        self.lines.append(f'<link name="{name}"><inertial>{self._origin(0.1)}{body}</inertial></link>')

    def joint(self, name: str, kind: str, parent: str, child: str, inside: str = "", size: float = 0.3) -> None:
        """Anywhere and anyhow, unless `inside` says."""
        axis = self.generator.normal(size=3)
        words = (
            inside or f'{self._origin(size)}<axis xyz="{_words(axis)}"/><limit lower="-2" upper="2.5" velocity="1"/>'
        )
        ends = f'<parent link="{parent}"/><child link="{child}"/>'
        self.lines.append(f'<joint name="{name}" type="{kind}">{ends}{words}</joint>')

    def _origin(self, size: float) -> str:
        rng = self.generator
        return f'<origin xyz="{_words(rng.uniform(-size, size, 3))}" rpy="{_words(rng.uniform(-3, 3, 3))}"/>'


def random_tree(generator: np.random.Generator, gripper: str | None = None) -> RandomTree:
    """A tree of chance.

    Args:
        generator: of all chance.
        gripper: one of `GRIPPERS`; None for any of them.
    """
    write, kind = _Writer(generator), gripper or str(generator.choice(GRIPPERS))
    write.link("base")
    joints, beside, last = [], [], "base"
    for index in range(int(generator.integers(2, 7))):
        name, link = f"axis_{index}", f"part_{index}"
        write.link(link)
        write.joint(name, str(generator.choice(["revolute", "continuous", "prismatic"])), last, link)
        joints.append(name)
        last = link
        beside += _things_on(write, link, index)
    fingers = _gripper_on(write, last, kind)
    order = generator.permutation(len(write.lines))
    text = "\n".join(['<robot name="tree">', *(write.lines[i] for i in order), "</robot>"])
    return RandomTree(text, tuple(joints), last, fingers, tuple(beside))


def _things_on(write: _Writer, link: str, index: int) -> list[str]:
    """A camera that is screwed on, a branch that moves, both or nothing."""
    names = []
    if write.generator.random() < 0.4:
        write.link(f"camera_{index}")
        write.joint(f"screws_{index}", "fixed", link, f"camera_{index}")
    if write.generator.random() < 0.4:
        above = link
        for step in range(int(write.generator.integers(1, 4))):
            write.link(f"side_{index}_{step}")
            name = f"swing_{index}_{step}"
            write.joint(name, "revolute", above, f"side_{index}_{step}")
            names.append(name)
            above = f"side_{index}_{step}"
    return names


def _gripper_on(write: _Writer, palm: str, kind: str) -> tuple[str, ...]:
    """Two parts, opposite each other; a jaw is one."""
    if kind == "none":
        return ()
    if kind == "jaw":
        write.link("lower")
        write.joint("gripper", "revolute", palm, "lower")
        return ("gripper",)
    slides = kind != "turns"
    for name, side in (("left", 1), ("right", -1)):
        write.link(name)
        axis = f"0 {side} 0" if slides else f"{side} 0 0"
        follows = '<mimic joint="to_left"/>' if kind == "mimic" and name == "right" else ""
        limits = '<limit lower="0" upper="0.04" velocity="0.1"/>'
        words = f'<origin xyz="0 {0.03 * side} 0.1" rpy="0 0 0"/><axis xyz="{axis}"/>{limits}{follows}'
        write.joint(f"to_{name}", "prismatic" if slides else "revolute", palm, name, words)
    return ("to_left", "to_right")


def _words(values: np.ndarray) -> str:
    assert all(math.isfinite(value) for value in values)
    return " ".join(repr(float(value)) for value in values)
