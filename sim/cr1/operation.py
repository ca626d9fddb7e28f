"""Commands of the CR1 that open a session, switch the servo, execute, run and jog."""

from __future__ import annotations

from sim.cr1 import direct, programs
from sim.cr1.commands import Call, command, split, takes_client, whole
from sim.cr1.jog import Jog, JogMode
from sim.cr1.requests import VT, RefusedRequest
from sim.cr1.state import Holder, ServoOff, ServoState
from sim.cr1.store import check_name
from sim.cr1.tasks import Mode, SlotState

_COPYRIGHT = "COPYRIGHT(C){years} MITSUBISHI ELECTRIC CORPORATION ALL RIGHTS RESERVED"
_KEYWORD = "MELFA"


# -- session ---------------------------------------------------------------------------------------------


@command("OPEN=")
def open_session(call: Call) -> str:
    """Which robot this is, and how it counts its axes."""
    settings = call.machine.settings
    if not takes_client(settings, call.argument):
        raise RefusedRequest(6010)
    call.session.opened = True
    masks, flags = ("3F;3F", "7,0") if call.machine.six else ("1F;37", "6,0")
    axes = f"{settings.axes or masks};{flags}"
    fields = [
        axes,
        "3,5,A,1E,32,46,64",
        settings.extension,
        "PRM",
        settings.robot or ("RV-6S" if call.machine.six else "RV-2AJ"),
        settings.controller,
        "MELFA",
        settings.released,
        settings.version,
        "ENG",
        _COPYRIGHT.format(years=settings.copyright_years),
        "1",
        settings.serial_number,
        settings.slots,
    ]
    return "".join(f"{field};" for field in fields)


@command("CLOSE", bare=True)
def close_session(call: Call) -> str:
    """The client says goodbye."""
    call.session.opened = False
    return ""


@command("CNTLON", bare=True)
def take_right(call: Call) -> str:
    """The operation right, if nobody else has it."""
    if call.machine.panel.others_hold:
        raise RefusedRequest(6020)
    call.machine.panel.holder = Holder.PC
    return ""


@command("CNTLOFF", bare=True)
def give_right_back(call: Call) -> str:
    """The operation right is free again, if it was the PC's."""
    if call.machine.panel.holder is Holder.PC:
        call.machine.panel.holder = Holder.NOBODY
    return ""


@command("KEYWDp")
def keyword(call: Call) -> str:
    """Hidden parameters show themselves."""
    call.machine.parameters.keyword = call.argument.strip() == _KEYWORD
    return ""


# -- servo, errors, stops --------------------------------------------------------------------------------


@command("SRVON", right=True, bare=True)
def servo_on(call: Call) -> str:
    """Begin to switch the drives on; the status tells when they are."""
    machine = call.machine
    if machine.panel.teach_box:
        raise RefusedRequest(5000)
    if machine.alarms.standing is not None:
        raise RefusedRequest(1630)
    if machine.panel.brakes_released:
        raise RefusedRequest(1650)
    if machine.servo.state is ServoState.RISING:
        raise RefusedRequest(1660)
    if machine.servo.state is ServoState.FALLING:
        raise RefusedRequest(1670)
    machine.servo.switch_on(machine.now_s)
    return ""


@command("SRVOFF", right=True, bare=True)
def servo_off(call: Call) -> str:
    """Stop what moves, engage the brakes, switch the drives off."""
    machine = call.machine
    if machine.in_motion and machine.settings.servo_off is ServoOff.REFUSED:
        raise RefusedRequest(5640)
    machine.drives.switch_off(machine.now_s)
    return ""


@command("RSTALRM", bare=True)
def reset_alarm(call: Call) -> str:
    """Take the error away; what still causes one brings it back."""
    call.machine.reset_alarm()
    return ""


@command("STOP", bare=True)
def stop(call: Call) -> str:
    """Slow down and pause, in every slot; no right is needed."""
    call.machine.halt()
    return ""


@command("STOPON", bare=True)
def stop_on(call: Call) -> str:
    """Stop, and start nothing until STOPOFF."""
    call.machine.panel.stop_latched = True
    call.machine.halt()
    return ""


@command("STOPOFF", bare=True)
def stop_off(call: Call) -> str:
    """Starting is allowed again."""
    call.machine.panel.stop_latched = False
    return ""


@command("CSTOP", bare=True)
def cycle_stop(call: Call) -> str:
    """Stop at the end of the cycle."""
    programs.end_cycles(call.machine)
    return ""


# -- statements and programs -----------------------------------------------------------------------------


@command("EXEC", right=True)
def execute(call: Call) -> str:
    """One statement; the answer comes when it is accepted, not when its motion ends."""
    direct.execute(call.machine, call.slot, call.argument)
    return ""


@command("EXEC2=", right=True, waits=True)
def execute_to_the_end(call: Call) -> str:
    """One statement; the answer comes when it is done."""
    direct.execute(call.machine, call.slot, call.argument)
    return ""


@command("RUN", right=True)
def run(call: Call) -> str:
    """Start a program, or go on with the one that is paused."""
    name, _, mode = call.argument.partition(";")
    modes = {"": Mode.REPEAT if name.strip() else None, "0": Mode.REPEAT, "1": Mode.CYCLE}
    if mode.strip() not in modes:
        raise RefusedRequest(3110)
    programs.start(call.machine, call.machine.slot(call.slot), name.strip(), modes[mode.strip()])
    return ""


@command("SLOTINIT", bare=True)
def reset_slots(call: Call) -> str:
    """All programs to their tops; pauses are over."""
    if call.machine.a_program_runs:
        raise RefusedRequest(5640)
    for slot in call.machine.slots.values():
        call.machine.reset_slot(slot)
    return ""


@command("RSTPRG", bare=True)
def reset_program(call: Call) -> str:
    """The same for one slot."""
    slot = call.machine.slot(call.slot)
    if slot.state is SlotState.RUNNING:
        raise RefusedRequest(5640)
    call.machine.reset_slot(slot)
    return ""


@command("PRGLOAD=", right=True)
def select(call: Call) -> str:
    """Put a program into a slot."""
    programs.select(call.machine, call.machine.slot(call.slot), check_name(call.argument))
    return ""


@command("PRGUP", right=True, bare=True)
def select_next(call: Call) -> str:
    """The next program by name."""
    return _neighbour(call, 1)


@command("PRGDOWN", right=True, bare=True)
def select_previous(call: Call) -> str:
    """The previous one."""
    return _neighbour(call, -1)


def _neighbour(call: Call, step: int) -> str:
    names, slot = sorted(call.machine.store.programs), call.machine.slot(call.slot)
    if not names:
        raise RefusedRequest(4140)
    place = names.index(slot.name) + step if slot.name in names else 0
    programs.select(call.machine, slot, names[place % len(names)])
    return ""


@command("PRGRD", bare=True)
def selected(call: Call) -> str:
    """Which program is in the slot."""
    return programs.shown_name(call.machine, call.machine.slot(call.slot))


@command("LINENO=", right=True)
def set_line(call: Call) -> str:
    """Go on at another line."""
    programs.go_to_line(call.machine, call.machine.slot(call.slot), whole(call.argument, 1, 32767))
    return ""


@command("LINENO", bare=True)
def line_number(call: Call) -> str:
    """Where the program is."""
    return str(programs.line_of(call.machine, call.machine.slot(call.slot)))


@command("LINERD", bare=True)
def line_text(call: Call) -> str:
    """The text of the line where the program is."""
    slot = call.machine.slot(call.slot)
    line, lines = programs.line_of(call.machine, slot), programs.lines_of(call.machine, slot)
    return f"{line} {lines[line]}" if line in lines else ""


@command("LINESRD")
def lines_around(call: Call) -> str:
    """Lines before and after the one where the program is."""
    mode, before, after = split(call.argument, 3, 3)
    whole(mode, 0, 1)
    slot = call.machine.slot(call.slot)
    line, lines = programs.line_of(call.machine, slot), programs.lines_of(call.machine, slot)
    numbers = list(lines)
    place = numbers.index(line) if line in lines else 0
    shown = numbers[max(place - whole(before, 0, 20), 0) : place + whole(after, 0, 20) + 1]
    texts = VT.join(f"{number} {lines[number]}" for number in shown)
    return f"0;{len(shown)};{texts};{line:04d}"


@command("STEP1", right=True, bare=True)
def step_forward(call: Call) -> str:
    """One line of the program in the edit slot."""
    programs.step_edited(call.machine, single=True)
    return ""


@command("STEPR", right=True, bare=True)
def step_run(call: Call) -> str:
    """On from here, in the edit slot."""
    programs.step_edited(call.machine, single=False)
    return ""


@command("STEPB", right=True, bare=True)
def step_back(call: Call) -> str:
    """One line back; nothing moves."""
    machine = call.machine
    slot = machine.slots[machine.edit_slot]
    before = [number for number in machine.edit.program.lines if number < programs.line_of(machine, slot)]
    if not before:
        raise RefusedRequest(4250)
    programs.go_to_line(machine, slot, before[-1])
    return ""


@command("STEPS", right=True, bare=True)
def step_stop(call: Call) -> str:
    """Stop stepping."""
    call.machine.slots[call.machine.edit_slot].pause()
    return ""


# -- speed, lock, hands ----------------------------------------------------------------------------------


@command("OVRD=", right=True)
def set_override(call: Call) -> str:
    """Speed of everything in percent."""
    call.machine.override = whole(call.argument, 1, 100)
    return str(call.machine.override)


@command("OVRD", bare=True)
def override(call: Call) -> str:
    """The speed that is set."""
    return str(call.machine.override)


@command("MLOCKON", bare=True)
def lock(call: Call) -> str:
    """Programs run, and the arm stays."""
    if call.machine.in_motion:
        raise RefusedRequest(5640)
    call.machine.arm.locked = True
    return ""


@command("MLOCKOFF", bare=True)
def unlock(call: Call) -> str:
    """Back to where the arm really is."""
    if call.machine.in_motion:
        raise RefusedRequest(5640)
    call.machine.arm.unlock()
    return ""


@command("HNDON")
def open_hand(call: Call) -> str:
    """Open a hand."""
    call.machine.signals.move_hand(whole(call.argument, 1, 4), opened=True)
    return ""


@command("HNDOFF")
def close_hand(call: Call) -> str:
    """Close a hand."""
    call.machine.signals.move_hand(whole(call.argument, 1, 4), opened=False)
    return ""


@command("BREAKON", right=True)
def release_brakes(call: Call) -> str:
    """Release brakes while the servo is off, 00 locks them."""
    axes = whole(call.argument, 0, 0xFF, base=16)
    if axes and call.machine.servo.state is not ServoState.OFF:
        raise RefusedRequest(1650)
    call.machine.panel.brakes_released = bool(axes)
    return ""


@command("HOME", right=True)
def set_origin(call: Call) -> str:
    """Accepted: this arm never loses its origin."""
    kind, axes = split(call.argument, 2, 2)
    if whole(kind, 0, 9) not in (0, 1, 3, 4, 5, 7):
        raise RefusedRequest(3110)
    whole(axes, 0, 0xFF, base=16)
    return ""


@command("ALIGN", right=True, bare=True)
def align(call: Call) -> str:
    """Accepted: five axes have nothing to align."""
    return ""


@command("LSON", "LSOFF", "AUEON", "AUEOFF", bare=True)
def limit_switches(call: Call) -> str:
    """Accepted: no switch is wired."""
    return ""


@command("ATENA", bare=True)
def start_enabled(call: Call) -> str:
    """0 if a start is possible."""
    panel = call.machine.panel
    return str(int(panel.teach or panel.teach_box or panel.stop_latched))


# -- moves by the controller itself ----------------------------------------------------------------------


@command("MOVSP", right=True, bare=True)
def move_to_safety(call: Call) -> str:
    """All joints together to JSAFE."""
    j1, j2, j3, _, j5, j6, *_ = call.machine.parameters.numbers("JSAFE")
    direct.move_joints(call.machine, (j1, j2, j3, j5, j6))
    return ""


@command("JOG", right=True)
def jog(call: Call) -> str:
    """Move while it is asked for again and again: mode, minus axes, plus axes, inching; five fields or six."""
    fields = call.argument.split(";")
    if len(fields) not in (5, 6) or not all(_is_hex(field) for field in fields):
        raise RefusedRequest(6010)
    mode, minus, plus, inch = fields[0], fields[2], fields[3], fields[4]
    if int(mode, 16) not in {known.value for known in JogMode}:
        raise RefusedRequest(3110)
    down, up = int(minus, 16), int(plus, 16)
    one, two, three, four, five, six = ((up >> bit & 1) - (down >> bit & 1) for bit in range(6))
    signs = (one, two, three, four, five, six)
    direct.jog(call.machine, Jog(JogMode(int(mode, 16)), signs, whole(inch, 0, 2, base=16)))
    return ""


def _is_hex(field: str) -> bool:
    return len(field) == 2 and all(letter in "0123456789ABCDEFabcdef" for letter in field)
