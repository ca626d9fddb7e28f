"""Every end of a tree, which grippers are at them, and which link is the tool.

A gripper is told by what it does: joints that follow each other, or two fingers that move towards each other; only a
jaw alone needs its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hil.errors import ConfigError
from hil.model._urdf_file import MOVING, Axis
from hil.model._urdf_tree import BASES, FEWEST, MOST, Tree
from hil.model.transforms import Matrix

FINGER = re.compile(r"finger|thumb|knuckle|jaw|claw|pincer", re.IGNORECASE)
DIGIT = re.compile(r"(^|_)(index|middle|ring|pinky|little)(_|\d|$)", re.IGNORECASE)
"""Of a finger, where there is a thumb."""

GRIPPER = re.compile(r"grip|grasp|clamp|pinch", re.IGNORECASE)
WRIST = re.compile(r"wrist|roll|rot|twist|turn|yaw|pitch|tilt|(^|_)pan(_|$)|swivel|base|mount", re.IGNORECASE)
"""A joint that turns a whole gripper is an axis of the arm."""

TOOLS = (
    (
        "a tool frame",
        re.compile(r"(^|[_\-/])(tool\d*|tcp|tool_?frame|tool_?center_?point)($|[_\-/])", re.IGNORECASE),
    ),
    ("an end effector", re.compile(r"(^|[_\-/])(ee|eef|end_?effector)($|[_\-/])|grasp|gripper_?frame", re.IGNORECASE)),
    ("a flange", re.compile(r"flange", re.IGNORECASE)),
)
"""Names of links at which people place the tool, the likeliest first."""

BESIDE = re.compile(r"camera|sensor|imu|light|led|marker|optical|laser|collision|inertia|visual|_sc$", re.IGNORECASE)
"""A link that hangs beside the tool."""

ARM = re.compile(r"arm|grip|hand|wrist|tool", re.IGNORECASE)
OTHER = re.compile(r"leg|foot|ankle|knee|wheel|head|neck|camera|eye|lidar|sensor|caster", re.IGNORECASE)

LONGEST_FINGER = 12
"""Moving joints one after the other, or side by side, from which on they are no finger."""

OPPOSITE = -0.9
"""Cosine between two fingers' motions below which they move towards each other."""


class Gripper(NamedTuple):
    """Joints that open and close something.

    Attributes:
        palm: the link that carries them.
        joints: their names.
        why: by what they were told.
    """

    palm: str
    joints: tuple[str, ...]
    why: str


class End(NamedTuple):
    """An end of the tree.

    Attributes:
        link: at the end of an arm, grippers taken off.
        moving: joints on the way to it that move.
        gripper: what is on it, or None.
        others: further links without anything on them that are rigidly together with it.
        why: this link rather than another.
        sure: whether nothing else at this end could as well be meant.
        broken: whether anything on the way has a fault, or moves as no axis does.
    """

    link: str
    moving: tuple[Axis, ...]
    gripper: Gripper | None
    others: tuple[str, ...]
    why: str
    sure: bool
    broken: bool


class UrdfTipError(ConfigError):
    """Nobody has said which link is the tip, and the file does not tell either; `ends` has them all."""

    ends: Ends


class Ends(NamedTuple):
    """All ends, and what is proposed.

    Attributes:
        ends: the proposed one first.
        sure: whether there is just one arm with just one link for the tool.
    """

    ends: tuple[End, ...]
    sure: bool

    @property
    def tip(self) -> str:
        """The proposed link."""
        return self.ends[0].link

    @property
    def why(self) -> str:
        """The reason for it."""
        return self.ends[0].why


def ends_of(tree: Tree, file: str, *, asked: bool) -> Ends:
    """The ends of a tree.

    Args:
        tree: of the file.
        file: for messages.
        asked: whether somebody has said which end is meant.

    Raises:
        ConfigError: there is no link but the root, or a gripper alone.
    """
    # A hand alone has fingers for arms, if they have joints of their own.
    found = list(_ends(tree)) or list(_ends(tree, hands=False))
    if not found:
        allowed = f"{FEWEST} to {MOST} moving joints from the base {tree.root} to a tip"
        raise ConfigError(file, "joint", "0 moving joints", allowed)
    best = max(found, key=_merit)
    hand = _split(tree, _Group(tree, tree.root))[0]
    if hand is not None and not asked and (len(best.moving) < FEWEST or any(joint.mimics for joint in best.moving)):
        advice = "An arm has to carry it, or name a finger's link with --tip"
        allowed = f"an arm of {FEWEST} to {MOST} moving joints"
        raise ConfigError(file, "joint", f"a gripper alone, on {hand.palm}", allowed, advice)
    others = [end for end in found if end is not best]
    rivals = [end for end in others if not end.broken]
    return Ends((best, *others), best.sure and not rivals)


def base_for(tree: Tree, ends: Ends, tip: str) -> str | None:
    """The link where an arm begins whose way from the root is too long for one; None where it is not.

    It is the last link at which other arms begin too, as long as enough is left, else the one that leaves most.
    """
    moving = [joint for joint in tree.way(tip) if joint.kind in MOVING]
    if len(moving) <= MOST:
        return None
    names = {joint.name for joint in moving}
    forks = {joint.name for end in ends.ends for joint in end.moving if not names <= {each.name for each in end.moving}}
    for before, after in zip(moving[len(moving) - MOST - 1 :], moving[len(moving) - MOST : -FEWEST + 1], strict=False):
        if before.name in forks and after.name not in forks:
            return after.parent
    return moving[len(moving) - MOST].parent


def refusal(ends: Ends, base: str | None, file: str) -> UrdfTipError:
    """Of a tree with several ends, as long as nobody has said which is meant: all of them, and the proposal."""
    listed = []
    for end in ends.ends:
        joints = f"{len(end.moving)} moving joints"
        gripper = "" if end.gripper is None else f", and a gripper of {len(end.gripper.joints)}"
        listed += [f"{end.link} ({joints}{gripper})", *(f"{link} ({joints})" for link in end.others)]
    what = "several links at the end" if len(ends.ends) == 1 else "a chain with branches"
    allowed = f"the name of the link at the tip, one of: {', '.join(listed)}"
    words = "" if base is None else f" --base {base}"
    error = UrdfTipError(file, "--tip", what, allowed, f"Proposed: --tip {ends.tip}{words}, {ends.why}")
    error.ends = ends
    return error


def grippers_of(tree: Tree) -> tuple[Gripper, ...]:
    """All grippers of a tree, also those that are not at the end of an arm."""
    found, waiting = [], [_Group(tree, tree.root)]
    while waiting:
        group = waiting.pop()
        gripping, rest = _split(tree, group)
        if gripping is not None:
            found.append(gripping)
        waiting += [_Group(tree, joint.child) for joint in rest]
    return tuple(found)


class _Group:
    """Links that are rigidly together with `head`, with their frames in it, and the joints that move on them."""

    def __init__(self, tree: Tree, head: str) -> None:
        self.head = head
        self.frames: dict[str, Matrix] = {head: np.eye(4)}
        self.branches: list[Axis] = []
        waiting = [head]
        while waiting:
            link = waiting.pop(0)
            for joint in tree.below[link]:
                if joint.kind == "fixed" or (joint.kind in BASES and head == tree.root):
                    self.frames[joint.child] = self.at(joint)
                    waiting.append(joint.child)
                else:
                    self.branches.append(joint)

    def at(self, joint: Axis) -> Matrix:
        """Frame of a joint on one of its links; NaN where the file does not tell."""
        place: Matrix = np.full((4, 4), np.nan) if joint.origin is None else self.frames[joint.parent] @ joint.origin
        return place


def _ends(tree: Tree, *, hands: bool = True) -> Iterator[End]:
    waiting = [tree.root]
    while waiting:
        group = _Group(tree, waiting.pop())
        gripper, rest = _split(tree, group) if hands else (None, group.branches)
        waiting += [joint.child for joint in reversed(rest)]
        if (gripper is not None or not rest) and group.head != tree.root:
            yield _end(tree, group, gripper)


def _end(tree: Tree, group: _Group, gripper: Gripper | None) -> End:
    """The link of a last group that the tool is at."""
    leaves = sorted((link for link in group.frames if not tree.below[link]), key=lambda link: bool(BESIDE.search(link)))
    for what, pattern in TOOLS if gripper is None else TOOLS[:2]:
        named = [link for link in leaves if pattern.search(link)]
        if named:
            others = [link for link in leaves if link != named[0]]
            return _told(tree, named[0], gripper, others, f"{what} by its name", sure=len(named) == 1)
    if gripper is not None:
        return _told(tree, gripper.palm, gripper, leaves, "it carries the gripper", sure=True)
    if len(leaves) == 1:
        return _told(tree, leaves[0], None, (), "the last link", sure=True)
    link = leaves[0] if leaves else group.head
    return _told(tree, link, None, leaves[1:], "the first of the last links", sure=not leaves)


def _told(tree: Tree, link: str, gripper: Gripper | None, others: Sequence[str], why: str, *, sure: bool) -> End:
    way = tree.way(link)
    moving = [joint for joint in way if joint.kind != "fixed"]
    while moving and moving[0].kind in BASES:
        moving.pop(0)
    broken = any(joint.faults or tree.urdf.links[joint.child].faults for joint in way)
    broken = broken or any(joint.kind not in MOVING for joint in moving)
    return End(link, tuple(moving), gripper, tuple(others), why, sure, broken)


def _merit(end: End) -> tuple[int | bool, ...]:
    """How much an end looks like an arm's. A broken one is given up only for one that is as long."""
    names = " ".join([end.link, *(joint.name for joint in end.moving), *(joint.child for joint in end.moving)])
    free = not any(joint.mimics for joint in end.moving)
    other = bool(OTHER.search(names)) and not ARM.search(names)
    count = min(len(end.moving), MOST)
    return count >= FEWEST, free, not other, end.gripper is not None, bool(ARM.search(names)), count, not end.broken


# -- grippers --------------------------------------------------------------------------------------------


def _split(tree: Tree, group: _Group) -> tuple[Gripper | None, list[Axis]]:
    """The gripper on a group, and the joints on it that are none of the gripper's."""
    inside = {joint.name: _moving_from(tree, joint) for joint in group.branches}
    reasons: dict[str, str] = {}
    for joint in group.branches:
        if reason := _reason(group, joint, inside):
            reasons[joint.name] = reason
    _without_strangers(group, inside, reasons)
    rest = [joint for joint in group.branches if joint.name not in reasons]
    gripping = [joint for joint in group.branches if joint.name in reasons]
    if not gripping:
        return None, rest
    names = tuple(each.name for joint in gripping for each in inside[joint.name])
    return Gripper(gripping[0].parent, names, reasons[gripping[0].name]), rest


def _moving_from(tree: Tree, joint: Axis) -> list[Axis]:
    """It, and the moving joints beyond it, as many as a finger may have and one more."""
    found: list[Axis] = []
    waiting = [joint]
    while waiting and len(found) <= LONGEST_FINGER:
        each = waiting.pop(0)
        if each.kind != "fixed":
            found.append(each)
        waiting += tree.below[each.child]
    return found


def _reason(group: _Group, joint: Axis, inside: dict[str, list[Axis]]) -> str:
    """By what a joint with all that moves beyond it is a gripper's; empty if it is not."""
    own, hand = inside[joint.name], [each for joints in inside.values() for each in joints]
    if len(own) > LONGEST_FINGER:
        return ""
    names = {each.name for each in hand}
    follow = {each.name for each in hand if each.mimics in names} | {each.mimics for each in hand}
    thumb = any("thumb" in f"{each.name} {each.child}".lower() for each in hand)
    patterns = (FINGER, DIGIT) if thumb else (FINGER,)
    fingers = [any(each.search(name) for each in patterns for name in (part.name, part.child)) for part in own]
    turns = bool(WRIST.search(joint.name)) and not FINGER.search(joint.name)
    coupled = len(inside) > 1 and any(each.mimics in names for each in hand)
    if coupled and all(each.name in follow or finger for each, finger in zip(own, fingers, strict=True)):
        return "its joints follow each other"
    if len(own) == 1 and any(
        len(inside[other.name]) == 1 and _towards(group, joint, other) for other in group.branches if other is not joint
    ):
        return "two fingers that move towards each other"
    if all(fingers) and not turns:
        return "by names of fingers or jaws"
    if len(own) == 1 and GRIPPER.search(joint.name) and not turns:
        return "by the name of a jaw"
    return ""


def _without_strangers(group: _Group, inside: dict[str, list[Axis]], reasons: dict[str, str]) -> None:
    """Take out, until nothing changes, what follows a joint that is none of the gripper's: it belongs to the arm."""
    while True:
        kept = {each.name for name in reasons for each in inside[name]}
        strange = [name for name in reasons if any(each.mimics and each.mimics not in kept for each in inside[name])]
        if not strange:
            return
        for name in strange:
            del reasons[name]


def _towards(group: _Group, one: Axis, other: Axis) -> bool:
    """Whether two joints move their links towards each other (or apart): slides, or turns about parallel axes."""
    if one.kind != other.kind or one.kind == "continuous":
        return False
    if any(OTHER.search(name) for joint in (one, other) for name in (joint.name, joint.child)):
        return False
    first, second = _motion(group, one), _motion(group, other)
    cosine = float(first @ second)
    both_ways = any(_is_even(joint) for joint in (one, other))
    if one.kind == "prismatic":
        return cosine < OPPOSITE or (both_ways and cosine > -OPPOSITE)
    apart = group.at(one) - group.at(other)
    distance = float(np.linalg.norm(apart[:3, 3]))
    across = distance > 0 and abs(float(apart[:3, 3] @ first)) < 0.5 * distance
    return across and (cosine < OPPOSITE or (both_ways and cosine > -OPPOSITE))


def _motion(group: _Group, joint: Axis) -> Matrix:
    """Direction in the group's frame in which a joint goes from 0 to its farther limit."""
    backwards = joint.lower is not None and joint.upper is not None and abs(joint.lower) > abs(joint.upper)
    turn = group.at(joint)[:3, :3]
    return np.asarray(turn @ np.array(joint.axis) * (-1.0 if backwards else 1.0))


def _is_even(joint: Axis) -> bool:
    """Whether it goes as far one way as the other, so that its limits do not tell which way it closes."""
    if joint.lower is None or joint.upper is None:
        return True
    return abs(joint.lower + joint.upper) < 0.1 * (joint.upper - joint.lower)
