"""The tree of a URDF, and one serial chain of it: which joints, in which order, and what rides on each of its links.

Faults beside the chain are told; those on it are refusals. What moves beside it is held still at 0, and its mass stays
on the link that carries it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hil.errors import ConfigError
from hil.model._urdf_file import MOVING, Axis, Urdf
from hil.model.transforms import Matrix
from hil.tables import closest

FEWEST, MOST = 2, 8
BASES = ("floating", "planar")
"""Joints with which a base goes about; before the first axis they are held still."""


class Tree(NamedTuple):
    """Links with the joints that carry them.

    Attributes:
        above: per link the joint that carries it.
        below: per link the joints on it, in the order of the file.
        closing: joints that close a loop, by the link that another one carries already.
        faults: what is wrong with joints that are not in the tree.
        apart: links that are in no tree with this root.
    """

    urdf: Urdf
    root: str
    above: dict[str, Axis]
    below: dict[str, list[Axis]]
    closing: dict[str, Axis]
    faults: tuple[ConfigError, ...]
    apart: tuple[str, ...]

    def way(self, link: str) -> tuple[Axis, ...]:
        """The joints from the root to a link."""
        path: list[Axis] = []
        while link in self.above:
            path.append(self.above[link])
            link = self.above[link].parent
        return tuple(reversed(path))


class Carried(NamedTuple):
    """A link that is rigidly on a moving one (or on the ground): its name, and its frame at q = 0 in the root frame."""

    link: str
    frame: Matrix


class Chain(NamedTuple):
    """Base to tip.

    Attributes:
        path: every joint on the way, fixed ones too; those that are held still are fixed here.
        carried: per moving link what goes with it, itself first; entry 0 is the ground.
        held: moving joints on the way that are held still, since they come before the base.
        beside: joints beside the way that are held still at 0, in the order of the file.
        unplaced: joints beside the way of which the file does not tell where they are, with the entry of `carried`.
    """

    root: str
    base: str
    tip: str
    path: tuple[Axis, ...]
    carried: tuple[tuple[Carried, ...], ...]
    held: tuple[Axis, ...]
    beside: tuple[Axis, ...]
    unplaced: tuple[tuple[int, Axis], ...]

    @property
    def moving(self) -> tuple[Axis, ...]:
        """The joints that move."""
        return tuple(joint for joint in self.path if joint.kind != "fixed")


# -- the tree --------------------------------------------------------------------------------------------


def tree_of(urdf: Urdf, file: str, tip: str | None) -> Tree:
    """The tree that `tip` is in, or the only one in which anything moves.

    Raises:
        ConfigError: no links, several trees with moving joints, or links that carry themselves.
    """
    above: dict[str, Axis] = {}
    closing: dict[str, Axis] = {}
    below: dict[str, list[Axis]] = {name: [] for name in urdf.links}
    for joint in urdf.joints:
        if not joint.parent or not joint.child:
            continue
        if joint.child in above:
            closing.setdefault(joint.child, joint)
            continue
        above[joint.child] = joint
        below[joint.parent].append(joint)
    root = _root(urdf, above, file, tip)
    faults = [fault for joint in urdf.joints if not (joint.parent and joint.child) for fault in joint.faults]
    tops = _tops(urdf, above)
    apart = tuple(name for name in urdf.links if tops[name] != root)
    return Tree(urdf, root, above, below, closing, (*urdf.faults, *faults), apart)


def _tops(urdf: Urdf, above: dict[str, Axis]) -> dict[str, str | None]:
    """Per link the root that it hangs on; None if it is in a circle."""
    tops: dict[str, str | None] = {}
    for name in urdf.links:
        passed: dict[str, None] = {}
        while name in above and name not in tops and name not in passed:
            passed[name] = None
            name = above[name].parent
        top = tops.get(name, None if name in passed else name)
        tops |= dict.fromkeys((*passed, name), top)
    return tops


def _root(urdf: Urdf, above: dict[str, Axis], file: str, tip: str | None) -> str:
    if not urdf.links:
        raise ConfigError(file, "link", None, "one link at least", "An arm is links with joints between them")
    tops = _tops(urdf, above)
    if tip in tops:
        if (root := tops[tip]) is None:
            raise _circle(tip, above, file)
        return root
    moved = {tops[joint.child] for joint in above.values() if joint.kind in MOVING}
    roots = [name for name in urdf.links if name in moved]
    if len(roots) == 1:
        return roots[0]
    for faults in (*(link.faults for link in urdf.links.values()), *(joint.faults for joint in urdf.joints)):
        if faults:
            raise faults[0]
    for name in (name for name, top in tops.items() if top is None):
        raise _circle(name, above, file)
    if len(roots) > 1:
        advice = "Join the others to it, take them out, or name the arm's tip with --tip"
        raise ConfigError(file, "link", roots, "one link that no joint carries: the base", advice)
    return next(name for name in urdf.links if name not in above)


def _circle(name: str, above: dict[str, Axis], file: str) -> ConfigError:
    seen: list[str] = []
    while name not in seen:
        seen.append(name)
        name = above[name].parent
    circle = " -> ".join([*seen[seen.index(name) :], name])
    return ConfigError(file, at(above[name], "parent"), circle, "links that do not carry themselves")


# -- the chain -------------------------------------------------------------------------------------------


def chain_of(tree: Tree, file: str, tip: str, base: str | None, likely_base: str | None = None) -> Chain:
    """The chain from the root to `tip`; joints that come before `base` are held still.

    Args:
        tree: of the file.
        file: for messages.
        tip: the last link.
        base: the first one; None for the root.
        likely_base: what to advise where the way is too long.

    Raises:
        ConfigError: a tip or base that is not there, loops, faults, or joints that a serial arm cannot have on the way.
    """
    _check_tip(tree, file, tip)
    way = tree.way(tip)
    _refuse_faults(tree, way, file)
    path, held = _with_base(tree, way, file, tip, base)
    _check_moving([joint for joint in path if joint.kind != "fixed"], tip, likely_base, file)
    carried, unplaced = _carried(tree, path)
    on_way = {joint.child for joint in path}
    inside = {each.link for group in carried for each in group}
    beside = tuple(
        joint
        for joint in tree.above.values()
        if joint.kind != "fixed" and joint.child not in on_way and joint.child in inside
    )
    return Chain(tree.root, base or tree.root, tip, path, carried, held, beside, unplaced)


def _check_tip(tree: Tree, file: str, tip: str) -> None:
    if tip in tree.urdf.links and tip != tree.root:
        return
    names = [name for name in tree.urdf.links if name != tree.root]
    meant = closest(tip, names)
    advice = f"Did you mean {meant!r}?" if meant else ""
    raise ConfigError(file, "--tip", tip, f"a link other than the base {tree.root}: {', '.join(names)}", advice)


def _refuse_faults(tree: Tree, way: Sequence[Axis], file: str) -> None:
    """Whatever is wrong with a link or joint that the chain goes through."""
    for link in (tree.root, *(joint.child for joint in way)):
        if link in tree.above and tree.above[link].faults:
            raise tree.above[link].faults[0]
        if link in tree.closing:
            other = tree.above[link].name
            allowed = f"one joint that carries it; {other} does already"
            raise ConfigError(file, at(tree.closing[link], "child"), link, allowed, "A closed loop is no serial arm")
        if tree.urdf.links[link].faults:
            raise tree.urdf.links[link].faults[0]


def _with_base(
    tree: Tree, way: Sequence[Axis], file: str, tip: str, base: str | None
) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The way with everything fixed that comes before the base, and what was fixed so."""
    links = [tree.root, *(joint.child for joint in way)]
    if base is not None and base not in links[:-1]:
        meant = closest(base, links[:-1])
        allowed = f"a link on the way to {tip}: {', '.join(links[:-1])}"
        raise ConfigError(file, "--base", base, allowed, f"Did you mean {meant!r}?" if meant else "")
    fixed = 0 if base is None else links.index(base)
    while fixed < len(way) and way[fixed].kind in ("fixed", *BASES):
        fixed += 1
    held = tuple(joint for joint in way[:fixed] if joint.kind != "fixed")
    return (*(joint._replace(kind="fixed") for joint in way[:fixed]), *way[fixed:]), held


def _check_moving(moving: Sequence[Axis], tip: str, likely_base: str | None, file: str) -> None:
    for joint in moving:
        if joint.kind not in MOVING:
            allowed = f"{', '.join(MOVING)} or fixed on the way to {tip}"
            raise ConfigError(file, at(joint, "type"), joint.kind, allowed, "A DH row has one axis")
        if joint.mimics:
            raise ConfigError(
                file,
                at(joint, "mimic"),
                f"a joint that follows {joint.mimics}",
                f"joints that move by themselves on the way to {tip}",
                "Choose a tip before it with --tip, or make it fixed",
            )
    advice = f"With --base {likely_base} it begins there, and what comes before is held still" if likely_base else ""
    if not FEWEST <= len(moving) <= MOST:
        allowed = f"{FEWEST} to {MOST} moving joints on the way to {tip}"
        raise ConfigError(file, "joint", f"{len(moving)} moving joints", allowed, advice)


def _carried(tree: Tree, path: Sequence[Axis]) -> tuple[tuple[tuple[Carried, ...], ...], tuple[tuple[int, Axis], ...]]:
    found = [[Carried(tree.root, np.eye(4))]]
    for joint in path:
        carrier = next(each for each in found[-1] if each.link == joint.parent)
        each = Carried(joint.child, carrier.frame @ joint.place)
        if joint.kind == "fixed":
            found[-1].append(each)
        else:
            found.append([each])
    on_way = {joint.child for joint in path}
    unplaced = []
    for index, group in enumerate(found):
        unplaced += [(index, joint) for joint in _fill(tree, group, on_way)]
    return tuple(tuple(group) for group in found), tuple(unplaced)


def _fill(tree: Tree, group: list[Carried], on_way: set[str]) -> list[Axis]:
    """Add everything beside the way that hangs on the group, moving joints at 0; gives what has no place."""
    waiting, unplaced = list(group), []
    while waiting:
        carrier = waiting.pop(0)
        for joint in tree.below[carrier.link]:
            if joint.child in on_way:
                continue
            if joint.origin is None:
                unplaced.append(joint)
                continue
            each = Carried(joint.child, carrier.frame @ joint.origin)
            group.append(each)
            waiting.append(each)
    return unplaced


def at(joint: Axis, key: str) -> str:
    """Where a key of a joint stands."""
    return f"line {joint.line}: joint {joint.name}: {key}"
