"""What motion statements do: targets, ways, and moves that run into each other."""

from __future__ import annotations

import numpy as np

from hil.link import FloatArray
from hil.program import nodes
from hil.program.arm import ProgramArm, beyond, goal_row, posture_of, row_of, say_limit
from hil.program.blends import blended, release
from hil.program.errors import ProgramError
from hil.program.frames import Beside, Modal, MotionState
from hil.program.machine import Machine
from hil.program.motions import follow, joint_move
from hil.program.paths import Path, Straight, arc, same_place, short_way
from hil.program.values import Joints, Position, kind_of, number, position, whole

ARCS = ("MVR", "MVR2", "MVR3", "MVC")

INSTANT = (
    nodes.Assign,
    nodes.Jump,
    nodes.OnJump,
    nodes.IfBlock,
    nodes.For,
    nodes.Next,
    nodes.While,
    nodes.Select,
    nodes.Case,
    nodes.Marker,
    nodes.ActSwitch,
)
"""Statements that are done while the move before them still brakes, with CNT 1."""

INSTANT_WORDS = ("OVRD", "JOVRD", "SPD", "ACCEL", "RETURN", "HOPEN", "HCLOSE", "CNT")


def begin_move(machine: Machine, move: nodes.Move) -> None:
    """Plan a move from where the arm is, and start it with what stands beside it."""
    if not machine.servo_on:
        raise ProgramError(2000, move.word)
    beside: list[Beside] = []
    rows = plan(machine, move, machine.row)
    if move.beside is not None:
        if move.beside.condition is not None:
            beside.append(Beside(move.beside.condition, move.beside.action))
        elif isinstance(move.beside.action, nodes.Assign):
            machine.do(move.beside.action)
        elif move.beside.action.word == "SKIP":
            machine.skipped = 1
            return
        else:
            machine.pause()
    machine.begin(MotionState(rows, machine.line_index, _release(machine, rows), beside))


def blend_next(machine: Machine, motion: MotionState, budget: int) -> None:
    """With CNT 1, go on in the program while a move brakes, and lay the next move over its end."""
    frame = machine.frame
    lines = frame.program.lines
    for _ in range(budget):
        statement = lines[frame.pc].statement if frame.pc < len(lines) else None
        if isinstance(statement, nodes.Move) and statement.beside is None and machine.modal.blend:
            _lay_over(machine, motion, statement, frame.pc)
            return
        instant = isinstance(statement, INSTANT) or (
            isinstance(statement, nodes.Word) and statement.word in INSTANT_WORDS
        )
        label = frame.pc < len(lines) and statement is None
        if not (instant or label):
            break
        machine.line_index, frame.pc = frame.pc, frame.pc + 1
        if statement is not None:
            machine.do(statement)
    motion.release = None


def _lay_over(machine: Machine, motion: MotionState, move: nodes.Move, line: int) -> None:
    try:
        after = plan(machine, move, motion.rows[-1])
    except ProgramError:
        # It is met again, and reported, once the move before it is over.
        motion.release = None
        return
    if len(after) < 2:
        motion.release = None
        return
    rows, begins = blended(machine.arm, machine.limits, motion.rows, motion.index, after, machine.modal.after_mm)
    let_go = _release(machine, after)
    motion.rows, motion.line, motion.begins = rows, line, begins
    motion.release = None if let_go is None else max(begins + let_go, len(rows) - len(after) + let_go)
    machine.line_index, machine.frame.pc = line, line + 1


def _release(machine: Machine, rows: FloatArray) -> int | None:
    modal: Modal = machine.modal
    return release(machine.arm, rows, modal.before_mm) if modal.blend else None


# -- one move as samples -----------------------------------------------------------------------------------------------


def plan(machine: Machine, move: nodes.Move, start: FloatArray) -> FloatArray:
    """Samples of a move, row 0 being `start`.

    Raises:
        ProgramError: it cannot be done.
    """
    first, _ = _types(machine, move)
    distance = None if move.distance_mm is None else float(machine.evaluator.number(move.distance_mm))
    if move.word == "MOV":
        return _mov(machine, move, start, distance, keep_turn=bool(first))
    if move.word == "MVA":
        return _mva(machine, move, start)
    if move.word in ARCS:
        return _arcs(machine, move, start)
    here = machine.arm.position(start.tolist())
    goal = _place(machine, move.points[0]) if move.points else here
    if distance is not None:
        goal = machine.arm.moved(goal, distance)
    return _line(machine, start, goal, keep_turn=bool(first))


def _types(machine: Machine, move: nodes.Move) -> tuple[int, int]:
    if move.type is None:
        return (1, 0) if move.word == "MOV" else (0, 0)
    values = [number(machine.evaluator.value(part)) for part in move.type]
    if any(value not in (0, 1) for value in values):
        raise ProgramError(2830, f"TYPE {values[0]:g},{values[1]:g}")
    return int(values[0]), int(values[1])


def _place(machine: Machine, node: nodes.Expression) -> Position:
    """A target as a position; a joint set is where it brings the tool."""
    value = machine.evaluator.value(node)
    if isinstance(value, Joints):
        return machine.arm.position(_joint_row(machine.arm, value).tolist())
    if not isinstance(value, Position):
        raise ProgramError(3810, f"a {kind_of(value)} as target", allowed="a position or a joint set")
    return value


def _joint_row(arm: ProgramArm, value: Joints) -> FloatArray:
    row = row_of(arm, value)
    joint = beyond(arm, row)
    if joint is not None:
        detail, allowed = say_limit(arm, joint, float(row[joint]))
        raise ProgramError(2602, f"target with {detail}", allowed=allowed)
    return row


def _mov(
    machine: Machine, move: nodes.Move, start: FloatArray, distance: float | None, *, keep_turn: bool
) -> FloatArray:
    value = machine.evaluator.value(move.points[0])
    if isinstance(value, Joints) and distance is None:
        goal = _joint_row(machine.arm, value)
    else:
        place = _place(machine, move.points[0])
        if distance is not None:
            place = machine.arm.moved(place, distance)
        goal = goal_row(machine.arm, place, start)
        if not keep_turn:
            goal = _nearest_turn(machine.arm, goal, start)
    return joint_move(machine.arm, machine.limits, start, goal, machine.pace(joint=True))


def _nearest_turn(arm: ProgramArm, goal: FloatArray, start: FloatArray) -> FloatArray:
    """TYPE 0: the last joint goes the short way where its limits allow."""
    turned = goal.copy()
    turned[-1] -= 2.0 * np.pi * round(float(goal[-1] - start[-1]) / (2.0 * np.pi))
    return goal if beyond(arm, turned) is not None else turned


def _line(machine: Machine, start: FloatArray, goal: Position, *, keep_turn: bool) -> FloatArray:
    arm = machine.arm
    here, posture = arm.position(start.tolist()), arm.posture(start.tolist())
    goal_row(arm, goal, start)
    if posture_of(goal, posture) != posture:
        raise ProgramError(2810, f"from flags {here.fl1} to {goal.fl1}")
    if keep_turn:
        return _follow(machine, Straight(here, goal), start)
    try:
        return _follow(machine, Straight(here, short_way(here, goal)), start)
    except ProgramError as error:
        if error.number not in (2602, 2603) or short_way(here, goal) == goal:
            raise
        return _follow(machine, Straight(here, goal), start)


def _follow(machine: Machine, path: Path, start: FloatArray) -> FloatArray:
    return follow(
        machine.arm,
        machine.limits,
        path,
        machine.arm.posture(start.tolist()),
        start,
        machine.pace(joint=False),
        refuse_overspeed=machine.settings.refuse_overspeed,
    )


def _arcs(machine: Machine, move: nodes.Move, start: FloatArray) -> FloatArray:
    """A straight way to the first point if the tool is not there, then the arc."""
    first, second, third = (_place(machine, point) for point in move.points)
    blocks = [start[None, :]]
    here = machine.arm.position(start.tolist())
    if not same_place(here, first):
        blocks.append(_line(machine, start, first, keep_turn=False)[1:])
    begin = blocks[-1][-1]
    here, posture = machine.arm.position(begin.tolist()), machine.arm.posture(begin.tolist())
    on_way = second if move.word == "MVR2" or move.word == "MVR3" else third
    for point in (first, on_way) if move.word != "MVC" else (first,):
        if posture_of(point, posture) != posture:
            raise ProgramError(2810, f"from flags {here.fl1} to {point.fl1}")
    # The arc begins where the tool really is, in the turn in which it is there.
    points = (here, short_way(here, second), short_way(here, third))
    path, _ = arc(move.word, points)
    blocks.append(_follow(machine, path, begin)[1:])
    return np.concatenate(blocks)


def _mva(machine: Machine, move: nodes.Move, start: FloatArray) -> FloatArray:
    """Up, over, down, along Z of the base."""
    arm = machine.arm
    up = down = machine.settings.arch_mm
    if move.distance_mm is not None:
        key = whole(machine.evaluator.value(move.distance_mm), 1, 4, "arch")
        if key not in machine.frame.arches:
            raise ProgramError(3850, f"arch {key}")
        up, down = machine.frame.arches[key]
    goal = _place(machine, move.points[0])
    rows = _line(machine, start, _raised(arm.position(start.tolist()), up), keep_turn=False)
    above = goal_row(arm, _raised(goal, down), rows[-1])
    over = joint_move(arm, machine.limits, rows[-1], above, machine.pace(joint=True))
    landed = _line(machine, over[-1], goal, keep_turn=False)
    return np.concatenate([rows, over[1:], landed[1:]])


def _raised(place: Position, by_mm: float) -> Position:
    members = list(place.members)
    members[2] += by_mm
    return position(members, place.fl1, place.fl2)
