"""What is told of a URDF that was read: what was taken otherwise than it stands there, held still or passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hil.errors import ConfigError
from hil.model._urdf_ends import Ends, Gripper, grippers_of
from hil.model._urdf_file import MOVING
from hil.model._urdf_tree import Chain, Tree

MOST = 5
"""Names that one note lists."""


def notes_of(tree: Tree, chain: Chain, ends: Ends, reason: str) -> list[str]:
    """All notes on the reading of a chain, the most important first."""
    urdf = tree.urdf
    notes = [*_on_tip(chain, ends, reason), *_on_held(tree, chain), *_on_faults(tree, chain)]
    if urdf.rounded:
        notes.append(f"angles read as whole quarter turns: {few(urdf.rounded)}")
    if urdf.unused:
        notes.append(f"passed over, since nothing uses it: {few(urdf.unused)}")
    if tree.apart:
        notes.append(f"passed over, since it does not hang on {tree.root}: link {few(tree.apart)}")
    without = [joint.name for joint in chain.moving if joint.lower is None and joint.kind != "continuous"]
    if without:
        notes.append(f"no limits given (or 0 to 0, or endless): {', '.join(without)}")
    if any(urdf.links[each.link].body is not None for each in chain.carried[0]):
        notes.append("the mass of the base does not move and is left out")
    return notes


def without_masses(tree: Tree, chain: Chain, missing: Sequence[str]) -> str:
    """Why the masses of a chain cannot be used as a whole; empty if they can.

    Args:
        tree: of the file.
        chain: of the arm.
        missing: links that move and have no mass, with all that rides on them.
    """
    if missing:
        return f"the URDF gives no mass for {', '.join(missing)}"
    for group in chain.carried[1:]:
        for each in group:
            if faults := tree.urdf.links[each.link].faults:
                return f"a mass that rides on link {group[0].link} has a fault: {said(faults[0])}"
    for index, joint in chain.unplaced:
        if index and _has_mass(tree, joint.child):
            return f"joint {joint.name} does not tell where the mass on it is: {said(joint.faults[0])}"
    return ""


def few(words: Sequence[str]) -> str:
    """The first of them."""
    return ", ".join(words[:MOST]) + (f" and {len(words) - MOST} more" if len(words) > MOST else "")


def said(fault: ConfigError) -> str:
    """A fault without the name of the file."""
    return str(fault).removeprefix(f"{fault.file}: ")


def _on_tip(chain: Chain, ends: Ends, reason: str) -> Iterator[str]:
    first = ends.ends[0]
    others = [link for end in ends.ends for link in (end.link, *end.others) if link != chain.tip]
    if others:
        yield f"tip {chain.tip}: {reason}; other ends: {few(others)}"
    elif first.gripper is not None or chain.tip != first.link:
        yield f"tip {chain.tip}: {reason}"


def _on_held(tree: Tree, chain: Chain) -> Iterator[str]:
    if chain.held:
        names = [joint.name if joint.kind in MOVING else f"{joint.name} ({joint.kind})" for joint in chain.held]
        yield f"held still at 0, since they come before the base: {few(names)}"
    beside = {joint.name: joint for joint in chain.beside}
    for gripper in grippers_of(tree):
        if any(name in beside for name in gripper.joints):
            yield _on_gripper(tree, chain, gripper)
            beside = {name: joint for name, joint in beside.items() if name not in gripper.joints}
    moving = {joint.name for joint in chain.moving}
    coupled = [f"{joint.name} (follows {joint.mimics})" for joint in beside.values() if joint.mimics in moving]
    if coupled:
        yield f"held still at 0, though in the file they follow joints on the way: {few(coupled)}"
    rest = [name for name, joint in beside.items() if joint.mimics not in moving]
    if rest:
        yield f"beside the way, held still at 0 with the masses on them: {few(rest)}"


def _on_gripper(tree: Tree, chain: Chain, gripper: Gripper) -> str:
    joints = few(gripper.joints)
    moving = [joint.name for joint in tree.way(gripper.palm) if joint.kind != "fixed"]
    if moving[-1:] != [chain.moving[-1].name]:
        return f"a gripper beside the tip, on {gripper.palm}: {joints} held still at 0 with the masses on them"
    return (
        f"a gripper on {gripper.palm} ({gripper.why}): {joints} held still at 0 with the masses on them; a rig gives "
        "it an axis of its own"
    )


def _on_faults(tree: Tree, chain: Chain) -> Iterator[str]:
    """What is wrong beside the way, and what is wrong with meshes, which motion does not need."""
    on_way = {joint.child for joint in chain.path}
    faults = [*tree.faults]
    faults += [fault for child, joint in tree.above.items() if child not in on_way for fault in joint.faults]
    faults += [fault for name, link in tree.urdf.links.items() if name not in on_way for fault in link.faults]
    faults += [fault for link in tree.urdf.links.values() for fault in link.mesh_faults]
    yield from (f"beside the way, passed over: {said(fault)}" for fault in faults[:MOST])
    if len(faults) > MOST:
        yield f"beside the way, passed over: {len(faults) - MOST} faults more"
    for link, joint in tree.closing.items():
        yield f"joint {joint.name} closes a loop and is passed over: {tree.above[link].name} carries link {link}"


def _has_mass(tree: Tree, link: str) -> bool:
    waiting = [link]
    while waiting:
        each = waiting.pop()
        if (body := tree.urdf.links[each].body) is not None and body.mass_kg > 0:
            return True
        waiting += [joint.child for joint in tree.below[each]]
    return False
