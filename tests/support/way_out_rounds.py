"""Poses where an arm should not be, and what leads out of them: rounds for the tests and for scripts/way-out.

Each round moves a rig's fences at random and puts the arm anywhere inside its hard limits. What the product then allows
is judged by `space_judge` alone.
"""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np
from space_judge import SpaceJudge, broken, fault, lessened

from hil.errors import HilError
from hil.link import FloatArray
from hil.model.rig import AxisKind, Box, Rig
from hil.motion.jog import JogMotion, Move
from hil.motion.jog_refusals import ways_out
from hil.motion.jog_room import JogRoom
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.motion.refusals import RIG_FILE
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.runtime import wiring
from hil.safety.checker import check_motion
from hil.safety.guard import Guard
from hil.types import AxisJog, JogFrame, JointCommand, ToolJog
from hil.units import DEG, MM

RIGS = ("al5d", "lynx6", "lynx6-4axis", "lynx6-bench", "rv2aj", "rv2aj-hot", "rv2aj-line", "rv2aj-mxt")

JOG_S = 0.32
CREEP_S = 4.0
JOG_SHARE = 0.5
BY = {AxisKind.REVOLUTE: 1.0 * DEG, AxisKind.PRISMATIC: 1.0 * MM, AxisKind.GRIPPER: 0.5 * MM}
NO_WAY = "No single joint and no direction of the tool leads out"
TRIES = 400
TRY_RAD = 0.3 * DEG


class Place(NamedTuple):
    """A rig with its fences moved, and where its arm stands."""

    rig: Rig
    pose: FloatArray


class PromiseError(Exception):
    """A promise was broken; the words say which."""


@functools.cache
def _rig(name: str) -> tuple[Rig, Robot]:
    rig = wiring.load_rig(name)
    return rig, Robot(rig.robot)


def places(name: str, seed: int, count: int) -> Iterator[Place]:
    """Poses of a rig, its fences moved for each."""
    for number in range(count):
        chance = random.Random(f"{name} {seed} {number}")
        yield _place(_rig(name)[0], chance)


def _place(rig: Rig, chance: random.Random) -> Place:
    fences, often = rig.fences, chance.random()
    changes: dict[str, object] = {}
    if often < 0.5:
        changes["table_height_m"] = fences.table_height_m + chance.uniform(-0.05, 0.04)
    if chance.random() < 0.3:
        changes["clearance_m"] = chance.uniform(0.0, 2.0 * fences.clearance_m)
    if chance.random() < 0.5:
        middle = [chance.uniform(-0.2, 0.45), chance.uniform(-0.4, 0.4), chance.uniform(0.0, 0.5)]
        half = [chance.uniform(0.01, 0.1) for _ in range(3)]
        lower, upper = (tuple(m + s * h for m, h in zip(middle, half, strict=True)) for s in (-1.0, 1.0))
        changes["keep_out"] = (Box(name="crate", lower_m=lower, upper_m=upper),)  # type: ignore[arg-type]
    if fences.keep_in is not None and chance.random() < 0.4:
        lower = tuple(v + chance.uniform(-0.1, 0.06) for v in fences.keep_in.lower_m)
        upper = tuple(v + chance.uniform(-0.1, 0.1) for v in fences.keep_in.upper_m)
        changes["keep_in"] = Box(name="cell", lower_m=lower, upper_m=upper)  # type: ignore[arg-type]
    moved = msgspec.structs.replace(rig, fences=msgspec.structs.replace(fences, **changes))
    pose = [_anywhere(axis.lower, axis.upper, axis.soft_margin, chance) for axis in rig.axes]
    return Place(moved, np.array(pose))


def _anywhere(lower: float, upper: float, margin: float, chance: random.Random) -> float:
    """Inside the hard limits; one in twelve beyond a soft one."""
    if chance.random() < 1.0 / 12.0:
        beyond = chance.random() * margin
        return lower + beyond if chance.random() < 0.5 else upper - beyond
    return chance.uniform(lower + margin, upper - margin)


# -- one round -------------------------------------------------------------------------------------------------


def judged(place: Place, name: str, chance: random.Random) -> Counter[str]:
    """What came of one pose.

    Raises:
        PromiseError: something was allowed that makes it worse, or nothing leads out and nobody says why.
    """
    rig, robot = place.rig, _rig(name)[1]
    guard = Guard(rig, robot)
    # As the bridge does when the pose is confirmed.
    place = Place(rig, np.array(guard.inside(place.pose.tolist())))
    judge = SpaceJudge(rig)
    which = broken(judge, rig, place.pose)
    tally = Counter({"poses": 1, "limits broken": int(which.sum())})
    if not which.any():
        tally["clean"] += 1
        return tally
    room = JogRoom(rig, guard.body)
    reached = room.standing(place.pose.tolist())
    axes, tool = room.ways_out(robot, reached, place.pose)
    moves = {**{word: _axis_jog(rig, word) for word in axes}, **{f"tool {word}": _tool_jog(word) for word in tool}}
    unmovable = _unmovable(judge, rig, which)
    less = np.zeros(len(which), dtype=bool)
    for word in _some(moves, chance, 1):
        samples = jogged(rig, robot, guard, room, place.pose, moves[word])
        _no_fault(judge, rig, samples, f"jog {word}")
        found = lessened(judge, samples, which)
        if not found.any():
            # Along a tangent to what is not kept a tool can but creep: it takes its time.
            samples = jogged(rig, robot, guard, room, place.pose, moves[word], CREEP_S)
            _no_fault(judge, rig, samples, f"jog {word}")
            found = lessened(judge, samples, which)
        if not found.any() and not unmovable.any():
            raise PromiseError(f"jog {word} is named and lessens nothing")
        less |= found
        tally["jogs that lessen"] += bool(found.any())
    for word, move in _some(_others(rig, robot, moves), chance, 1).items():
        samples = jogged(rig, robot, guard, room, place.pose, move)
        _no_fault(judge, rig, samples, f"jog {word}")
        tally["jogs not named"] += 1
    if unmovable.any():
        _refused_for_the_file(rig, robot, place.pose)
        tally["the rig file is wrong"] += 1
        return tally
    planned, out = _planned(judge, place, robot, axes, which, tally)
    _account(judge, place, moves, planned, out, tally)
    return tally


def jogged(
    rig: Rig, robot: Robot, guard: Guard, room: JogRoom, pose: FloatArray, move: Move, seconds: float = JOG_S
) -> FloatArray:
    """Samples that pass guard and jogging while a move is held, with the stop after it.

    Raises:
        PromiseError: the guard had to stop it.
    """
    jog = JogMotion(rig, robot, pose.tolist(), JOG_SHARE, room)
    guard.reset(pose.tolist(), JOG_SHARE)
    rows: list[tuple[float, ...]] = []
    for _ in range(round(seconds / rig.period_s)):
        jog.hold(move)
        if jog.resting:
            continue
        rows.append(jog.sample)
        jog.advance()
        _passes(guard, rig, rows)
    for row in jog.stop:
        rows.append(tuple(row.tolist()))
        _passes(guard, rig, rows)
    return np.array([tuple(pose), *rows])


def _passes(guard: Guard, rig: Rig, rows: list[tuple[float, ...]]) -> None:
    hits = guard.check(JointCommand(seq=len(rows), due_s=len(rows) * rig.period_s, positions=rows[-1])).hits
    if hits:
        raise PromiseError(f"the guard stops it at sample {len(rows)}: {hits[0]}")


def _planned(
    judge: SpaceJudge, place: Place, robot: Robot, axes: tuple[str, ...], which: FloatArray, tally: Counter[str]
) -> tuple[bool, bool]:
    """Whether a planned move lessens something, and whether it ends where every limit is kept."""
    rig = place.rig
    goals = {"home": np.array(rig.home), "park": np.array(rig.park)}
    goals |= {f"by {word}": place.pose + np.array(_axis_jog(rig, word, BY).amounts) for word in axes[:1]}
    found = False
    for word, goal in goals.items():
        try:
            motion = plan_joint_move(rig, place.pose.tolist(), goal.tolist())
        except RefusedError:
            continue
        if check_motion(rig, robot, motion).refusals:
            continue
        _no_fault(judge, rig, motion.samples, f"the move {word}")
        _guarded(rig, robot, motion, word)
        if lessened(judge, motion.samples, which).any():
            tally[f"planned: {word.split(' ')[0]}"] += 1
            found = True
            if word in ("home", "park"):
                return True, not broken(judge, rig, motion.samples[-1]).any()
    return found, False


def _guarded(rig: Rig, robot: Robot, motion: Motion, word: str) -> None:
    guard = Guard(rig, robot)
    guard.reset(motion.start)
    for k, row in enumerate(motion.samples.tolist()):
        hits = guard.check(JointCommand(seq=k, due_s=k * rig.period_s, positions=tuple(row))).hits
        if hits:
            raise PromiseError(f"the guard stops the checked move {word} at sample {k}: {hits[0]}")


def _account(
    judge: SpaceJudge, place: Place, moves: dict[str, Move], planned: bool, out: bool, tally: Counter[str]
) -> None:
    """Nothing leads out only where somebody says why; and then the judge has to find nothing either."""
    tally["planned to a place that is clean"] += out
    if moves and planned:
        tally["both lead out"] += 1
        return
    words = ways_out(tuple(w for w in moves if " " not in w), [w[5:] for w in moves if " " in w])
    if not moves and NO_WAY not in words:
        raise PromiseError(f"nothing is named, and nobody says so: {words}")
    if not moves and planned:
        tally["only a planned move leads out"] += 1
    elif moves:
        tally["only a jog leads out"] += 1
    else:
        tally["none leads out, and the words say so"] += 1
        tally["of these the judge finds one"] += anything_lessens(judge, place)


def anything_lessens(judge: SpaceJudge, place: Place) -> bool:
    """Whether any small move of all joints together, of many tried at random, lessens something and worsens nothing."""
    rig = place.rig
    rng = np.random.default_rng(7)
    ways = rng.normal(size=(TRIES, rig.robot.dof))
    ways *= TRY_RAD / np.abs(ways).max(axis=1, keepdims=True)
    rows = np.repeat(place.pose[None, :], TRIES + 1, axis=0)
    rows[1:, : rig.robot.dof] += ways
    left = judge.left(rows)
    was, now = left[0], left[1:]
    fits = (now >= np.minimum(was, 1e-3) - 1e-9).all(axis=1)
    return bool((fits & ((was < 0.0) & (now > was + 1e-6)).any(axis=1)).any())


# -- small things ----------------------------------------------------------------------------------------------


def _no_fault(judge: SpaceJudge, rig: Rig, samples: FloatArray, what: str) -> None:
    if words := fault(judge, rig, samples):
        raise PromiseError(f"{what} makes it worse: {words}")


def _unmovable(judge: SpaceJudge, rig: Rig, which: FloatArray) -> FloatArray:
    """Distances that are the same at any pose and not kept: the fences leave the arm no place at all."""
    rng = np.random.default_rng(0)
    poses = rng.uniform([axis.lower for axis in rig.axes], [axis.upper for axis in rig.axes], (16, len(rig.axes)))
    same: FloatArray = which & (np.ptp(judge.left(poses), axis=0) < 1e-9)
    return same


def _refused_for_the_file(rig: Rig, robot: Robot, pose: FloatArray) -> None:
    motion = Motion([axis.name for axis in rig.axes], rig.period_s, np.repeat(pose[None, :], 2, axis=0))
    refusals: tuple[Refusal, ...] = check_motion(rig, robot, motion).refusals
    if not any(refusal.advice == RIG_FILE for refusal in refusals):
        raise PromiseError(f"no joint changes a distance, and nobody says so: {[each.text for each in refusals]}")


def _some(moves: dict[str, Move], chance: random.Random, most: int) -> dict[str, Move]:
    names = chance.sample(sorted(moves), min(most, len(moves)))
    return {name: moves[name] for name in names}


def _others(rig: Rig, robot: Robot, named: dict[str, Move]) -> dict[str, Move]:
    every: dict[str, Move] = {
        f"{sign}{axis.name}": _axis_jog(rig, f"{sign}{axis.name}") for axis in rig.axes for sign in "+-"
    }
    every |= {f"tool {sign}{k}": _tool_jog(f"{sign}{k}") for k in "xyz" for sign in "+-"}
    if not robot.has_pitch_and_roll:
        every = {word: move for word, move in every.items() if isinstance(move, AxisJog)}
    return {word: move for word, move in every.items() if word not in named}


SPEED = {AxisKind.REVOLUTE: 20.0 * DEG, AxisKind.PRISMATIC: 20.0 * MM, AxisKind.GRIPPER: 10.0 * MM}


def _axis_jog(rig: Rig, word: str, by: dict[AxisKind, float] = SPEED) -> AxisJog:
    sign = 1.0 if word[0] == "+" else -1.0
    return AxisJog(amounts=tuple(sign * by[axis.kind] if axis.name == word[1:] else 0.0 for axis in rig.axes))


def _tool_jog(word: str) -> ToolJog:
    sign = 1.0 if word[0] == "+" else -1.0
    if word[1:] == "pitch":
        return ToolJog(frame=JogFrame.WORLD, pitch=0.3 * sign)
    line = tuple(0.05 * sign if name == word[1:] else 0.0 for name in "xyz")
    return ToolJog(frame=JogFrame.WORLD, linear=line)  # type: ignore[arg-type]


def campaign(name: str, seed: int, numbers: range) -> tuple[Counter[str], list[str]]:
    """Many rounds of one rig: what came of them, and what was broken, each with its number."""
    tally, found = Counter[str](), []
    for number in numbers:
        chance = random.Random(f"{name} {seed} {number}")
        place = _place(_rig(name)[0], chance)
        try:
            tally += judged(place, name, chance)
        except (PromiseError, HilError) as error:
            again = f"scripts/way-out --rig {name} --seed {seed} --from {number} --poses 1"
            found.append(f"{name}, pose {number}: {error}\n  again: {again}")
    return tally, found
