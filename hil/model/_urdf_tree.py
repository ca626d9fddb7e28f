"""The one serial chain of a URDF: which joints, in which order, and what is fixed to each of its links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from hil.errors import ConfigError
from hil.model._urdf_file import MOVING, Axis, Urdf
from hil.model.transforms import Matrix
from hil.tables import closest

FEWEST, MOST = 2, 8


class Carried(NamedTuple):
    """A link that is rigidly on a moving one (or on the ground): its name, and its frame at q = 0 in the root frame."""

    link: str
    frame: Matrix


class Chain(NamedTuple):
    """Base to tip.

    Attributes:
        path: every joint on the way, fixed ones too.
        carried: per moving link what goes with it, itself first; entry 0 is the ground.
        left_out: moving joints that are not on the way.
    """

    root: str
    tip: str
    path: tuple[Axis, ...]
    carried: tuple[tuple[Carried, ...], ...]
    left_out: tuple[str, ...]

    @property
    def moving(self) -> tuple[Axis, ...]:
        """The joints that move."""
        return tuple(joint for joint in self.path if joint.kind != "fixed")


def chain_of(urdf: Urdf, file: str, tip: str | None) -> Chain:
    """The chain from the root to `tip`, or to the only tip that there is.

    Raises:
        ConfigError: loops, several roots or tips, a tip that is not there, or joints that a serial arm cannot have.
    """
    above = _joint_above(urdf, file)
    root = _root(urdf, above, file)
    below: dict[str, list[Axis]] = {name: [] for name in urdf.links}
    for joint in urdf.joints:
        below[joint.parent].append(joint)
    chosen = _only_tip(urdf, above, below, file) if tip is None else _given_tip(urdf, root, tip, file)
    path = _way(chosen, above)
    _check_moving([joint for joint in path if joint.kind != "fixed"], chosen, file)
    on_way = {joint.name for joint in path}
    left_out = tuple(joint.name for joint in urdf.joints if joint.kind != "fixed" and joint.name not in on_way)
    return Chain(root, chosen, path, _carried(root, path, below), left_out)


def _joint_above(urdf: Urdf, file: str) -> dict[str, Axis]:
    """Per link the joint that carries it; refuses loops, open and closed."""
    above: dict[str, Axis] = {}
    for joint in urdf.joints:
        if joint.child in above:
            other = above[joint.child].name
            allowed = f"one joint that carries it; {other} does already"
            raise ConfigError(file, _at(joint, "child"), joint.child, allowed, "A closed loop is no serial arm")
        above[joint.child] = joint
    for name in urdf.links:
        _refuse_circle(name, above, file)
    return above


def _refuse_circle(name: str, above: dict[str, Axis], file: str) -> None:
    seen: list[str] = []
    while name in above:
        seen.append(name)
        name = above[name].parent
        if name in seen:
            circle = " -> ".join([*seen[seen.index(name) :], name])
            raise ConfigError(file, _at(above[name], "parent"), circle, "links that do not carry themselves")


def _root(urdf: Urdf, above: dict[str, Axis], file: str) -> str:
    roots = [name for name in urdf.links if name not in above]
    if not roots:
        raise ConfigError(file, "link", None, "one link at least", "An arm is links with joints between them")
    if len(roots) > 1:
        raise ConfigError(
            file, "link", roots, "one link that no joint carries: the base", "Join the others to it, or take them out"
        )
    return roots[0]


def _only_tip(urdf: Urdf, above: dict[str, Axis], below: dict[str, list[Axis]], file: str) -> str:
    """The one leaf that all moving joints lead to.

    Raises:
        ConfigError: the moving joints branch, or several leaves are fixed to the last moving link.
    """
    leaves = [name for name in urdf.links if not below[name]]
    moving = {joint.name for joint in urdf.joints if joint.kind != "fixed"}
    moved = {leaf: sum(joint.kind != "fixed" for joint in _way(leaf, above)) for leaf in leaves}
    tips = [leaf for leaf in leaves if moved[leaf] == len(moving)]
    if len(tips) == 1:
        return tips[0]
    ends = ", ".join(f"{leaf} ({moved[leaf]} moving joints)" for leaf in tips or leaves if moved[leaf])
    what = "several links at the end" if tips else "a chain with branches"
    raise ConfigError(file, "--tip", what, f"the name of the link at the tip, one of: {ends or 'none'}")


def _given_tip(urdf: Urdf, root: str, tip: str, file: str) -> str:
    if tip in urdf.links and tip != root:
        return tip
    names = [name for name in urdf.links if name != root]
    meant = closest(tip, names)
    advice = f"Did you mean {meant!r}?" if meant else ""
    raise ConfigError(file, "--tip", tip, f"a link other than the base {root}: {', '.join(names)}", advice)


def _way(leaf: str, above: dict[str, Axis]) -> tuple[Axis, ...]:
    path: list[Axis] = []
    while leaf in above:
        path.append(above[leaf])
        leaf = above[leaf].parent
    return tuple(reversed(path))


def _check_moving(moving: Sequence[Axis], tip: str, file: str) -> None:
    for joint in moving:
        if joint.kind not in MOVING:
            allowed = f"{', '.join(MOVING)} or fixed on the way to {tip}"
            raise ConfigError(file, _at(joint, "type"), joint.kind, allowed, "A DH row has one axis")
        if joint.mimics:
            raise ConfigError(
                file,
                _at(joint, "mimic"),
                f"a joint that follows {joint.mimics}",
                f"joints that move by themselves on the way to {tip}",
                "Choose a tip before it with --tip, or make it fixed",
            )
    if not FEWEST <= len(moving) <= MOST:
        allowed = f"{FEWEST} to {MOST} moving joints on the way to {tip}"
        raise ConfigError(file, "joint", f"{len(moving)} moving joints", allowed)


def _carried(root: str, path: Iterable[Axis], below: dict[str, list[Axis]]) -> tuple[tuple[Carried, ...], ...]:
    found = [[Carried(root, np.eye(4))]]
    for joint in path:
        carrier = next(each for each in found[-1] if each.link == joint.parent)
        frame = carrier.frame @ joint.origin
        if joint.kind == "fixed":
            found[-1].append(Carried(joint.child, frame))
        else:
            found.append([Carried(joint.child, frame)])
    return tuple(tuple(_with_fixed(group, below)) for group in found)


def _with_fixed(group: list[Carried], below: dict[str, list[Axis]]) -> list[Carried]:
    """The group with everything that fixed joints hang on to it."""
    known = {each.link for each in group}
    waiting = list(group)
    while waiting:
        carrier = waiting.pop(0)
        for joint in below[carrier.link]:
            if joint.kind == "fixed" and joint.child not in known:
                each = Carried(joint.child, carrier.frame @ joint.origin)
                known.add(joint.child)
                group.append(each)
                waiting.append(each)
    return group


def _at(joint: Axis, key: str) -> str:
    return f"line {joint.line}: joint {joint.name}: {key}"
