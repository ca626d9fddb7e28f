"""What each statement does to the machine. Moves, lines and system variables have files of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from hil.program import nodes, system
from hil.program.builder import Dialect
from hil.program.errors import USER_CLASSES, ProgramError
from hil.program.evaluate import as_joints
from hil.program.frames import NO_SPEED, Frame, Interrupt, Loop, Return
from hil.program.lines import close_lines, open_line, print_items, read_items
from hil.program.machine import Machine
from hil.program.moves import begin_move
from hil.program.pallets import ARC, DIRECTIONS, KEEP_ORIENTATION, MOST_PLACES, Pallet
from hil.program.signals import HAND_OUTPUTS
from hil.program.streams import follow
from hil.program.values import (
    LARGEST_INDEX,
    ZERO_JOINTS,
    ZERO_POSITION,
    Position,
    Value,
    cint,
    kind_of,
    number,
    with_component,
)
from hil.program.variables import is_system

Arguments: TypeAlias = tuple[nodes.Expression | None, ...]

END_OF_TEXT = nodes.Word(word="END")
MOST_CALLS = 7
LONGEST_NAME = 12
LONGEST_DELAY_S = 3600.0
INTERRUPTS = 8
LARGEST_SELECTOR = 32767
WORK_FRAMES = 8
"""Numbers that BASE of V may name."""

UNUSED = {
    "TORQ": "torque limits are not modelled",
    "LOADSET": "loads are not modelled",
    "GETM": "this slot has the arm already",
    "RELM": "other slots are not run",
    "PRIORITY": "other slots are not run",
    "XRUN": "other slots are not run",
    "XLOAD": "other slots are not run",
    "XSTP": "other slots are not run",
    "XRST": "other slots are not run",
    "XCLR": "other slots are not run",
    "RESET ERR": "",
    "JRC": "does nothing while parameter JRCEXE is 0, as it is delivered",
    "COLLVL": "collisions are not watched for by the arm itself",
    "MVTUNE": "the arm is not tuned",
    "TITLE": "",
}


def execute(machine: Machine, statement: nodes.Statement) -> None:
    """Do one statement. `machine.frame.pc` already points at the next line.

    Raises:
        ProgramError: it cannot be done.
    """
    match statement:
        case nodes.Assign():
            _assign(machine, statement)
        case nodes.Move():
            begin_move(machine, statement)
        case nodes.Word():
            _word(machine, statement)
        case nodes.If():
            branch = statement.then if machine.evaluator.true(statement.condition) else statement.otherwise
            if branch is not None:
                execute(machine, branch)
        case nodes.Jump():
            _jump(machine, statement)
        case nodes.OnJump():
            _on_jump(machine, statement)
        case nodes.IfBlock() | nodes.While() | nodes.For() | nodes.Next() | nodes.Select() | nodes.Case():
            _block(machine, statement)
        case nodes.Marker():
            _marker(machine, statement)
        case nodes.Switch():
            _switch(machine, statement)
        case nodes.Compliance():
            machine.note("compliance is not modelled")
        case nodes.Open():
            open_line(machine, statement)
        case nodes.Close():
            close_lines(machine, statement)
        case nodes.Print():
            print_items(machine, statement)
        case nodes.Input():
            _input(machine, statement)
        case nodes.Call():
            _call(machine, statement)
        case nodes.Parameters():
            _parameters(machine, statement)
        case _:
            _define(machine, statement)


# -- variables ---------------------------------------------------------------------------------------------------------


def _assign(machine: Machine, statement: nodes.Assign) -> None:
    value = machine.evaluator.value(statement.value)
    if statement.pulse_s is None:
        store_value(machine, statement.variable, value)
        return
    seconds = float(machine.evaluator.number(statement.pulse_s))
    variable = statement.variable
    if not (
        isinstance(variable, nodes.Index) and variable.name in system.SIGNALS and 0.0 <= seconds <= LONGEST_DELAY_S
    ):
        raise ProgramError(3110, "a pulse", allowed=f"an output, and 0 to {LONGEST_DELAY_S:g} s")
    before = cint(number(machine.evaluator.value(variable)))
    store_value(machine, variable, value)
    _, width = system.SIGNALS[variable.name]
    first = system.signal([machine.evaluator.value(argument) for argument in variable.arguments], variable.name)
    machine.pulse([first + bit for bit in range(width)], before, seconds, width)


def store_value(machine: Machine, variable: nodes.Variable, value: Value) -> None:
    """Write to a variable, an array element, a component, a port or a system variable."""
    evaluator, store = machine.evaluator, machine.frame.store
    match variable:
        case nodes.Component():
            inner = variable.of
            if not isinstance(inner, nodes.Name | nodes.Index):
                raise ProgramError(3810, f".{variable.name}", allowed="a member of a variable")
            whole = _value_or_zero(machine, inner)
            store_value(machine, inner, with_component(whole, variable.name, value, machine.degrees))
        case nodes.Name() if variable.name in machine.frame.ports:
            system.write_port(machine, machine.frame.ports[variable.name], value)
        case nodes.Name() | nodes.Index() if is_system(variable.name) and not store.owns(variable.name):
            arguments = variable.arguments if isinstance(variable, nodes.Index) else ()
            system.write(machine, variable.name, [evaluator.value(argument) for argument in arguments], value)
        case nodes.Name() | nodes.Index():
            index = evaluator.index(variable) if isinstance(variable, nodes.Index) else ()
            fitting = as_joints(value) if store.kind(variable.name) == "JNT" else value
            store.set(variable.name, fitting, index)


def _value_or_zero(machine: Machine, variable: nodes.Name | nodes.Index) -> Value:
    """A variable whose members are set one by one need not be set before as a whole."""
    try:
        return machine.evaluator.value(variable)
    except ProgramError as error:
        kind = machine.frame.store.kind(variable.name)
        if error.number != 3700 or kind not in ("POS", "JNT"):
            raise
        return ZERO_POSITION if kind == "POS" else ZERO_JOINTS


# -- single words ------------------------------------------------------------------------------------------------------


def _word(machine: Machine, statement: nodes.Word) -> None:
    word, arguments = statement.word, statement.arguments
    handler = WORDS.get(word)
    if handler is not None:
        handler(machine, arguments)
    elif word in UNUSED:
        if UNUSED[word]:
            machine.note(f"{word}: {UNUSED[word]}")
    else:
        raise ProgramError(4220, word)


def _percent(machine: Machine, node: nodes.Expression | None, what: str) -> int:
    assert node is not None
    return machine.evaluator.whole(node, 1, 100, what)


def _override(machine: Machine, arguments: Arguments) -> None:
    machine.modal.override = _percent(machine, arguments[0], "OVRD")


def _joint_override(machine: Machine, arguments: Arguments) -> None:
    machine.modal.joint_override = _percent(machine, arguments[0], "JOVRD")


def _speed(machine: Machine, arguments: Arguments) -> None:
    speed = _number(machine, arguments[0])
    if not speed > 0.0:
        raise ProgramError(3110, f"SPD {speed:g}", allowed="above 0 mm/s")
    machine.modal.speed_mm_s = None if speed >= NO_SPEED else speed


def _acceleration(machine: Machine, arguments: Arguments) -> None:
    values = [100, 100]
    for k, node in enumerate(arguments):
        if node is not None:
            values[k] = cint(machine.evaluator.number(node))
            if not 1 <= values[k] <= 100:
                raise ProgramError(2820 if values[k] < 1 else 3110, f"ACCEL {values[k]}", allowed="1 to 100")
    machine.modal.acceleration, machine.modal.deceleration = values


def _continuous(machine: Machine, arguments: Arguments) -> None:
    modal = machine.modal
    modal.blend = bool(machine.evaluator.whole(arguments[0], 0, 1, "CNT")) if arguments[0] is not None else False
    distances = [None if node is None else _number(machine, node) for node in arguments[1:]]
    if any(distance is not None and distance < 0.0 for distance in distances):
        raise ProgramError(3110, "CNT with a distance below 0", allowed="0 or more")
    modal.before_mm = distances[0] if distances else None
    modal.after_mm = distances[1] if len(distances) > 1 else modal.before_mm


def _fine(machine: Machine, arguments: Arguments) -> None:
    machine.modal.fine = _number(machine, arguments[0]) > 0.0


def _delay(machine: Machine, arguments: Arguments) -> None:
    seconds = _number(machine, arguments[0])
    if not 0.0 <= seconds <= LONGEST_DELAY_S:
        raise ProgramError(3110, f"DLY {seconds:g}", allowed=f"0 to {LONGEST_DELAY_S:g} s")
    machine.wait(seconds)


def _hand(machine: Machine, arguments: Arguments, *, opened: int) -> None:
    assert arguments[0] is not None
    first = HAND_OUTPUTS + 2 * (machine.evaluator.whole(arguments[0], 1, system.HANDS, "hand") - 1)
    machine.signals.write_bit(first, opened)
    machine.signals.write_bit(first + 1, 1 - opened)


def _frame_word(machine: Machine, arguments: Arguments, *, tool: bool) -> None:
    assert arguments[0] is not None
    value = machine.evaluator.value(arguments[0])
    of_later = machine.frame.program.dialect is Dialect.LOOSE and not tool
    if isinstance(value, int | float) and (value == 0 or (of_later and value in range(1, WORK_FRAMES + 1))):
        if value:
            machine.note(f"BASE {value}: parameter WK{value}CORD is taken as it is delivered, all 0")
        value = ZERO_POSITION
    if not isinstance(value, Position):
        raise ProgramError(3810, f"a {kind_of(value)}", allowed="a position")
    if tool:
        machine.arm, machine.tool = machine.arm.with_frames(tool=value), value
    else:
        machine.arm, machine.base = machine.arm.with_frames(base=value), value


def _wait(machine: Machine, arguments: Arguments) -> None:
    assert arguments[0] is not None
    machine.blocked = not machine.evaluator.true(arguments[0])


def _error(machine: Machine, arguments: Arguments) -> None:
    assert arguments[0] is not None
    raise ProgramError(machine.evaluator.whole(arguments[0], USER_CLASSES[0][0], USER_CLASSES[-1][1], "ERROR"))


def _clear(machine: Machine, arguments: Arguments) -> None:
    """CLR 1: outputs off; 2: the program's numbers 0; 3: those that all programs share; 0: all of it."""
    assert arguments[0] is not None
    kind = machine.evaluator.whole(arguments[0], 0, 3, "CLR")
    if kind in (0, 1):
        machine.signals.clear_outputs()
    if kind in (0, 2):
        machine.store.clear_numbers()
    if kind in (0, 3):
        machine.shared.update({name: 0 for name, value in machine.shared.items() if isinstance(value, int | float)})


def _search(machine: Machine, arguments: Arguments) -> None:
    """CHRSRCH: the number of the first element of an array of strings that is this one; 0 for none."""
    array, wanted, variable = arguments
    assert isinstance(array, nodes.Name | nodes.Index) and isinstance(variable, nodes.Name | nodes.Index)
    assert wanted is not None
    text = machine.evaluator.value(wanted)
    if not isinstance(text, str):
        raise ProgramError(3810, f"a {kind_of(text)}", allowed="a string")
    elements = machine.store.strings(array.name)
    store_value(machine, variable, next((number for number, each in elements if each == text), 0))


def _return(machine: Machine, arguments: Arguments) -> None:
    """To the interrupted line (0) or the one after it (1)."""
    kind = 0 if not arguments or arguments[0] is None else machine.evaluator.whole(arguments[0], 0, 1, "RETURN")
    frame = machine.frame
    if not frame.returns:
        raise ProgramError(3840)
    back = frame.returns.pop()
    if back.interrupt is None and kind:
        raise ProgramError(3110, f"RETURN {kind} from a GOSUB", allowed="RETURN")
    frame.pc = back.skip if kind else back.onward
    if back.interrupt is not None and not kind:
        machine.dwell = max(machine.dwell, back.dwell)
        _move_again(machine, back)


def _move_again(machine: Machine, back: Return) -> None:
    """The move that an interrupt has broken off."""
    if back.again is None:
        return
    statement = machine.frame.program.lines[back.again].statement
    if isinstance(statement, nodes.Move):
        machine.line_index = back.again
        begin_move(machine, statement)


def _break(machine: Machine, arguments: Arguments) -> None:
    machine.frame.pc = machine.frame.program.exits[machine.line_index]


def _end(machine: Machine, arguments: Arguments) -> None:
    if len(machine.frames) == 1:
        close_lines(machine, None)
    machine.leave()


def _skip(machine: Machine, arguments: Arguments) -> None:
    machine.skipped = 1


def _def_pallet(machine: Machine, arguments: Arguments) -> None:
    evaluator = machine.evaluator
    key_node, start, end_a, end_b, diagonal, count_a, count_b, direction = arguments
    if None in (key_node, start, end_a, end_b, count_a, count_b, direction):
        raise ProgramError(3120, "DEF PLT", allowed="all arguments but the fourth corner")
    corners = [evaluator.place(node) for node in (start, end_a, end_b) if node is not None]
    way = evaluator.whole(direction, 1, 13, "direction") if direction is not None else 1
    if way not in DIRECTIONS:
        raise ProgramError(3110, f"direction {way}", allowed="1, 2, 3, 11, 12 or 13")
    # An arc has one row; its second count is written as anything.
    least = (1, 0 if way % KEEP_ORIENTATION == ARC else 1)
    counts = [
        max(evaluator.whole(node, fewest, MOST_PLACES, "a count of"), 1)
        for node, fewest in zip((count_a, count_b), least, strict=True)
        if node is not None
    ]
    if counts[0] * counts[1] > MOST_PLACES:
        raise ProgramError(3110, f"{counts[0]} x {counts[1]} places", allowed=f"up to {MOST_PLACES}")
    key = evaluator.whole(key_node, 1, 8, "pallet") if key_node is not None else 1
    far = None if diagonal is None else evaluator.place(diagonal)
    pallet = Pallet(corners[0], corners[1], corners[2], far, counts[0], counts[1], way)
    if turned := pallet.flips():
        machine.note(
            f"pallet {key}: {turned} is near +180 at one corner and near -180 at another, so the hand turns round on "
            "places between; give the corners one sign"
        )
    machine.frame.pallets[key] = pallet


def _def_arch(machine: Machine, arguments: Arguments) -> None:
    """DEF ARCH n,up,down,..: how far MVA lifts before and after; what follows only shapes the corners."""
    heights = [machine.settings.arch_mm if node is None else _number(machine, node) for node in arguments[1:3]]
    heights += [machine.settings.arch_mm] * (2 - len(heights))
    assert arguments[0] is not None
    machine.frame.arches[machine.evaluator.whole(arguments[0], 1, 4, "arch")] = heights[0], heights[1]


def _number(machine: Machine, node: nodes.Expression | None) -> float:
    assert node is not None
    return float(machine.evaluator.number(node))


# -- flow --------------------------------------------------------------------------------------------------------------


def _jump(machine: Machine, statement: nodes.Jump) -> None:
    onward = machine.frame.pc
    machine.enter(statement, Return(onward, onward) if statement.word == "GOSUB" else None)


def _on_jump(machine: Machine, statement: nodes.OnJump) -> None:
    selector = machine.evaluator.whole(statement.selector, 0, LARGEST_SELECTOR, "ON")
    if 1 <= selector <= len(statement.targets):
        target = statement.targets[selector - 1]
        _jump(machine, nodes.Jump(word=statement.word, target=target, at=statement.at))


def _block(machine: Machine, statement: nodes.Statement) -> None:
    frame, here = machine.frame, machine.line_index
    flow = frame.program.flow[here]
    match statement:
        case nodes.IfBlock(word="IF"):
            _branches(machine, here)
        case nodes.IfBlock():
            # Reached from the branch above it: that one is over.
            frame.pc = flow.cases[0]
        case nodes.While():
            if not machine.evaluator.true(statement.condition):
                frame.pc = flow.onward
        case nodes.For():
            _for(machine, statement, flow.onward)
        case nodes.Next():
            _next(machine, flow.heads)
        case nodes.Select():
            _select(machine, statement, flow.cases, flow.onward)
        case nodes.Case():
            frame.pc = flow.onward


def _branches(machine: Machine, index: int) -> None:
    """The first branch whose condition holds; an error in one is that of its own line."""
    program = machine.frame.program
    asking: nodes.Statement | None = program.lines[index].statement
    while isinstance(asking, nodes.IfBlock):
        machine.line_index = index
        if machine.evaluator.true(asking.condition):
            machine.frame.pc = index + 1
            return
        index = program.flow[index].onward
        after = program.lines[index].statement if index < len(program.lines) else None
        asking = after if isinstance(after, nodes.IfBlock) and after.word == "ELSEIF" else None
    machine.frame.pc = index


def _for(machine: Machine, statement: nodes.For, after: int) -> None:
    evaluator = machine.evaluator
    first, last = evaluator.number(statement.first), evaluator.number(statement.last)
    step = 1 if statement.step is None else evaluator.number(statement.step)
    if step == 0:
        raise ProgramError(3110, "STEP 0", allowed="any other step")
    store_value(machine, statement.variable, first)
    if _past(first, last, step):
        machine.frame.pc = after
    else:
        machine.frame.loops[machine.line_index] = Loop(last, step)


def _next(machine: Machine, heads: tuple[int, ...]) -> None:
    frame = machine.frame
    for head in heads:
        loop, statement = frame.loops.get(head), frame.program.lines[head].statement
        assert isinstance(statement, nodes.For)
        if loop is None:
            raise ProgramError(3230, "NEXT of a FOR that was not entered")
        value = number(machine.evaluator.value(statement.variable)) + loop.step
        store_value(machine, statement.variable, value)
        if not _past(value, loop.last, loop.step):
            frame.pc = head + 1
            return
        del frame.loops[head]


def _past(value: float, last: float, step: float) -> bool:
    return value > last if step > 0 else value < last


def _select(machine: Machine, statement: nodes.Select, cases: tuple[int, ...], after: int) -> None:
    value = machine.evaluator.number(statement.value)
    for index in cases:
        case = machine.frame.program.lines[index].statement
        if not isinstance(case, nodes.Case) or _matches(machine, case, value):
            machine.frame.pc = index + 1
            return
    machine.frame.pc = after


def _matches(machine: Machine, case: nodes.Case, value: float) -> bool:
    first = machine.evaluator.number(case.value)
    match case.operator:
        case "TO":
            assert case.last is not None
            return first <= value <= machine.evaluator.number(case.last)
        case "=":
            return value == first
        case "<>":
            return value != first
        case "<":
            return value < first
        case ">":
            return value > first
        case "<=":
            return value <= first
        case _:
            return value >= first


def _marker(machine: Machine, statement: nodes.Marker) -> None:
    """ELSE and DEFAULT end the branch above them, WEND goes back to its head."""
    if statement.word in ("ELSE", "DEFAULT", "WEND"):
        machine.frame.pc = machine.frame.program.flow[machine.line_index].onward


# -- switches, definitions, calls --------------------------------------------------------------------------------------


def _switch(machine: Machine, statement: nodes.Switch) -> None:
    if statement.word == "SERVO":
        machine.servo(statement.on)
    elif statement.word == "OADL":
        machine.modal.load_dependent = statement.on
    elif statement.word in ("COLCHK", "CAVCHK"):
        machine.note(f"{statement.word}: collisions are not watched for by the arm itself")
    elif statement.word == "SPDOPT":
        machine.note("SPDOPT: speeds are not adapted to the posture")


def _input(machine: Machine, statement: nodes.Input) -> None:
    values = read_items(machine, statement)
    if values is None:
        machine.blocked = True
        return
    for variable, value in zip(statement.variables, values, strict=True):
        store_value(machine, variable, value)


def _call(machine: Machine, statement: nodes.Call) -> None:
    name = machine.evaluator.value(statement.name)
    if not isinstance(name, str):
        raise ProgramError(3810, f"a {kind_of(name)} as a program's name", allowed="a text")
    plain = name.upper().partition(".")[0]
    if len(plain) > LONGEST_NAME:
        raise ProgramError(4120, name)
    program = machine.library.get(plain)
    if program is None:
        raise ProgramError(4140, f'"{name}"')
    if len(machine.frames) > MOST_CALLS or any(frame.program.name == program.name for frame in machine.frames):
        raise ProgramError(3710, f'"{name}"')
    arguments = tuple(machine.evaluator.value(argument) for argument in statement.arguments)
    machine.call(Frame(program, machine.variables_of(program), arguments=arguments))


def _parameters(machine: Machine, statement: nodes.Parameters) -> None:
    arguments = machine.frame.arguments
    if len(arguments) != len(statement.variables):
        raise ProgramError(3120, f"{len(arguments)} arguments", allowed=f"{len(statement.variables)}, as FPRM says")
    for variable, value in zip(statement.variables, arguments, strict=True):
        store_value(machine, variable, value)


def _define(machine: Machine, statement: nodes.Statement) -> None:
    frame, evaluator = machine.frame, machine.evaluator
    match statement:
        case nodes.Declare():
            _declare(machine, statement)
        case nodes.DefFunction():
            frame.functions[statement.name] = statement
        case nodes.DefIo():
            frame.ports[statement.name] = statement
        case nodes.DefAct():
            key = evaluator.whole(statement.number, 1, INTERRUPTS, "interrupt")
            frame.interrupts[key] = Interrupt(key, statement.condition, statement.jump, statement.mode)
        case nodes.ActSwitch():
            _act(machine, statement)
        case nodes.OnCom():
            key = evaluator.whole(statement.number, 1, INTERRUPTS, "line")
            jump = nodes.Jump(word="GOSUB", target=statement.target, at=statement.at)
            frame.lines[key] = Interrupt(-key, None, jump)
        case nodes.ComSwitch():
            key = evaluator.whole(statement.number, 1, INTERRUPTS, "line")
            if key not in frame.lines:
                raise ProgramError(3110, f"COM({key})", allowed="a line with ON COM")
            frame.lines[key].enabled = statement.word == "ON"


def _act(machine: Machine, statement: nodes.ActSwitch) -> None:
    key = machine.evaluator.whole(statement.number, 0, INTERRUPTS, "interrupt")
    on = machine.evaluator.true(statement.value)
    if key == 0:
        machine.master_on = on
        return
    interrupt = machine.frame.interrupts.get(key)
    if interrupt is None:
        raise ProgramError(3110, f"ACT {key}", allowed="an interrupt with DEF ACT")
    if on and not interrupt.enabled:
        interrupt.met = False
    interrupt.enabled = on


def _declare(machine: Machine, statement: nodes.Declare) -> None:
    for item in statement.items:
        size = tuple(machine.evaluator.whole(node, 1, LARGEST_INDEX, "a size of") for node in item.size)
        value = None if item.value is None else machine.evaluator.value(item.value)
        if statement.type == "JNT" and value is not None:
            value = as_joints(value)
        machine.frame.store.declare(statement.type, item.name, size, value, constant=statement.constant)


Handler = Callable[[Machine, Arguments], None]

WORDS: dict[str, Handler] = {
    "OVRD": _override,
    "JOVRD": _joint_override,
    "SPD": _speed,
    "ACCEL": _acceleration,
    "CNT": _continuous,
    "FINE": _fine,
    "DLY": _delay,
    "HOPEN": lambda machine, arguments: _hand(machine, arguments, opened=1),
    "HCLOSE": lambda machine, arguments: _hand(machine, arguments, opened=0),
    "TOOL": lambda machine, arguments: _frame_word(machine, arguments, tool=True),
    "BASE": lambda machine, arguments: _frame_word(machine, arguments, tool=False),
    "WAIT": _wait,
    "MXT": follow,
    "ERROR": _error,
    "CLR": _clear,
    "CHRSRCH": _search,
    "HLT": lambda machine, arguments: machine.pause(),
    "END": _end,
    "SKIP": _skip,
    "RETURN": _return,
    "BREAK": _break,
    "DEF PLT": _def_pallet,
    "DEF ARCH": _def_arch,
}
