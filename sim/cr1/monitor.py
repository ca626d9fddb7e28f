"""Commands of the CR1 that show its state, position, errors, signals and parameters."""

from __future__ import annotations

from collections.abc import Sequence

from hil.program.rv2aj import SLOTS
from sim.cr1 import programs
from sim.cr1.commands import Call, command, split, whole
from sim.cr1.requests import VT, RefusedRequest
from sim.cr1.signals import HANDS
from sim.cr1.state import Alarm, text_of
from sim.cr1.tasks import Mode, Slot, SlotState

OPTION_SLOTS = 3

# -- state -----------------------------------------------------------------------------------------------


@command("STATE", bare=True)
def state(call: Call) -> str:
    """Nineteen fields: program, line, override, edit bits, status, step, mechanism, slot table."""
    machine, slot = call.machine, call.machine.slot(call.slot)
    edit = machine.edit.is_open + 2 * machine.in_motion + 4 * machine.edit.changed
    name = programs.shown_name(machine, slot)
    fields = [
        name,
        programs.line_of(machine, slot),
        machine.override,
        edit,
        _status(call, slot),
        1,
        int(bool(slot.name)),
    ]
    return ";".join([*map(str, fields), *[""] * 8, *_table(slot), "1", "0"])


@command("DSTATE", bare=True)
def short_state(call: Call) -> str:
    """Status, step, mechanism: the cheapest to poll."""
    slot = call.machine.slot(call.slot)
    return f"{_status(call, slot)};1;{int(bool(slot.name))}"


def _status(call: Call, slot: Slot) -> str:
    machine = call.machine
    panel, alarms = machine.panel, machine.alarms
    run = (
        (bool(slot.name) and slot.mode is Mode.REPEAT) << 0
        | slot.cycle_stop << 1
        | machine.arm.locked << 2
        | panel.teach << 3
        | (panel.teach and machine.in_motion) << 4
        | machine.servo.on << 5
        | _runs(call, slot) << 6
        | machine.enabled << 7
    )
    paused = slot.state is SlotState.PAUSED
    stopped = (
        bool(panel.pressed) << 0
        | (panel.stop_latched or paused or alarms.number > 0) << 1
        | paused << 2
        | panel.stop_latched << 3
        | (slot.state is SlotState.IDLE) << 4
        | machine.signals.pseudo << 6
    )
    return f"{run:02X}{stopped:02X}{_digits(alarms.number, machine.settings.status_zeros)}"


def _digits(number: int, zeros: bool) -> str:
    """An error's number, those of the emergency stops perhaps without zeros before them; none is 0."""
    return f"{number:04d}" if zeros and number else str(number)


def _runs(call: Call, slot: Slot) -> bool:
    machine = call.machine
    shown = machine.direct is None or machine.settings.shows_running
    return slot.state is SlotState.RUNNING or (machine.in_motion and shown)


def _table(slot: Slot) -> tuple[str, str]:
    return slot.mode.value, "START"


@command("SLOTRD", bare=True)
def slot_table(call: Call) -> str:
    """Program, mode, start condition, priority."""
    slot = call.machine.slot(call.slot)
    return ";".join([programs.shown_name(call.machine, slot), *_table(slot), "1"])


@command("STPSIG", bare=True)
def stop_signals(call: Call) -> str:
    """Who stops, and who stops in an emergency, in hex."""
    panel = call.machine.panel
    emergency = sum(1 << stop.value for stop in panel.pressed)
    return f"{2 * panel.stop_latched:02X};{emergency:02X}"


@command("CALIB", bare=True)
def calibration(call: Call) -> str:
    """The origin is set on every axis."""
    return "N3F3F" if call.machine.six else "N3737"


@command("USERAREASTS", bare=True)
def user_areas(call: Call) -> str:
    """The arm is in none."""
    return "00"


# -- position --------------------------------------------------------------------------------------------


@command("JPOS")
def joints(call: Call) -> str:
    """Joint angles: F for all, a number for one axis."""
    return _joints(call)


@command("GJPOS", later=True)
def goal_joints(call: Call) -> str:
    """The same of the place where the move under way will end."""
    return _joints(call, goal=True)


def _joints(call: Call, *, goal: bool = False) -> str:
    mask = int(call.machine.settings.axes.partition(";")[2] or ("3F" if call.machine.six else "37"), 16)
    decimals = call.machine.settings.decimals
    values = [plain(0.0, decimals) if mask >> place & 1 else "****" for place in range(max(6, mask.bit_length()))]
    machine = call.machine
    shown = machine.arm.shown_joints(machine.goal if goal else machine.arm.row_at(machine.now_s))
    if not machine.shows_place:
        shown = (0.0,) * len(SLOTS)
    for slot, angle in zip(SLOTS, shown, strict=True):
        values[slot] = plain(angle, decimals)
    return _position(call, [f"J{place}" for place in range(1, len(values) + 1)], values, "****,****")


@command("PPOS")
def pose(call: Call) -> str:
    """X, Y, Z, A, B and flags of the control point."""
    return _pose(call)


@command("GPPOS", later=True)
def goal_pose(call: Call) -> str:
    """The same of the place where the move under way will end."""
    return _pose(call, goal=True)


@command("XPOS")
def pose_three_axes(call: Call) -> str:
    """3-axis XYZ: the wrist shows its joints."""
    joints = dict(zip(("A", "B"), call.machine.arm.joints_at(call.machine.now_s)[3:], strict=True))
    return _pose(call, joints)


@command("RPOS")
def pose_cylinder(call: Call) -> str:
    """Cylinder: radius, angle, height."""
    arm = call.machine.arm
    place = arm.shown_place(arm.row_at(call.machine.now_s))
    radius = (place.members[0] ** 2 + place.members[1] ** 2) ** 0.5
    return _pose(call, {"X": radius, "Y": call.machine.arm.joints_at(call.machine.now_s)[0]})


def _pose(call: Call, changes: dict[str, float] | None = None, *, goal: bool = False) -> str:
    machine = call.machine
    place = machine.arm.shown_place(machine.goal if goal else machine.arm.row_at(machine.now_s))
    names = ["X", "Y", "Z", "A", "B", *(["C"] if call.machine.six else [])]
    values = dict(zip("XYZABC", place.members, strict=False)) | (changes or {})
    flags = f"{(place.fl1 or 0) + call.machine.six},{place.fl2 or 0}"
    decimals = call.machine.settings.decimals
    if not call.machine.shows_place:
        values = dict.fromkeys(values, 0.0)
    return _position(call, names, [plain(values[name], decimals) for name in names], flags)


def _position(call: Call, names: Sequence[str], values: Sequence[str], flags: str) -> str:
    pairs = list(zip(names, values, strict=True))
    if call.argument != "F":
        place = whole(call.argument, 1, 8)
        pairs = pairs[place - 1 : place]
    shown = "".join(f"{name};{value};" for name, value in pairs)
    arm = call.machine.arm
    plus, minus = arm.limit_bits
    return f"{shown};{flags};{call.machine.override};{arm.speed_mm_s:.2f};{plus:02X}{minus:02X}0000"


def plain(value: float, decimals: int = 2) -> str:
    """So many decimals, and no minus before a zero."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not float(text) else text


# -- errors ----------------------------------------------------------------------------------------------


@command("ERROR", bare=True)
def error(call: Call) -> str:
    """Number and level of the standing error, or nothing."""
    standing = call.machine.alarms.standing
    if standing is None:
        return ""
    return f"{_digits(standing.number, call.machine.settings.error_zeros)};{standing.level}"


@command("ERRORMES")
def error_text(call: Call) -> str:
    """What an error means."""
    return text_of(whole(call.argument[:4], 0, 9999))


@command("ERRORLOG")
def error_log(call: Call) -> str:
    """The log: TOP for the newest, END for the oldest, +1 and -1 from there."""
    machine, where = call.machine, call.argument.strip()
    log = machine.alarms.log[::-1]
    places = {"TOP": 0, "END": len(log) - 1, "+1": call.session.log_at + 1, "-1": call.session.log_at - 1}
    if where not in places:
        raise RefusedRequest(3110)
    if not 0 <= places[where] < len(log):
        return ""
    call.session.log_at = places[where]
    return _logged(call, log[call.session.log_at])


def _logged(call: Call, alarm: Alarm) -> str:
    moment = call.machine.calendar.text(alarm.at_s)
    number = _digits(alarm.number, call.machine.settings.error_zeros)
    return (
        f"{moment[:8]};{moment[8:]};{number};{text_of(alarm.number)};{alarm.level};"
        f"{alarm.program};{alarm.line};{alarm.number:04d}00000"
    )


@command("ERRLOGCLR")
def clear_log(call: Call) -> str:
    """Forget the log of a level, or 0 for all."""
    level = whole(call.argument or "0", 0, 3)
    alarms = call.machine.alarms
    alarms.log = [alarm for alarm in alarms.log if level and alarm.level != level]
    return ""


# -- signals ---------------------------------------------------------------------------------------------


@command("IOSIGNAL")
def signals(call: Call) -> str:
    """Sixteen inputs and sixteen outputs from two numbers up."""
    first_in, first_out = (whole(part, 0, 999) for part in split(call.argument, 2, 2))
    found = call.machine.signals
    return f"{found.read(first_in, 16):04X}{found.read(first_out, 16, outputs=True):04X}"


@command("IN")
def read_inputs(call: Call) -> str:
    """Sixteen inputs."""
    return f"{call.machine.signals.read(whole(call.argument, 0, 999), 16):04X}"


@command("OUT")
def read_outputs(call: Call) -> str:
    """Sixteen outputs."""
    return f"{call.machine.signals.read(whole(call.argument, 0, 999), 16, outputs=True):04X}"


@command("OUT=")
def write_outputs(call: Call) -> str:
    """Sixteen outputs; no right is needed."""
    first, value = split(call.argument, 2, 2)
    call.machine.signals.write(whole(first, 0, 999), 16, whole(value, 0, 0xFFFF, base=16))
    return ""


@command("INDMY", bare=True)
def pseudo_inputs(call: Call) -> str:
    """Inputs come over the line from now on."""
    call.machine.signals.pseudo = True
    return ""


@command("INSET", bare=True)
def real_inputs(call: Call) -> str:
    """Inputs come from the wires again: the power has to be switched off before."""
    if call.machine.signals.pseudo:
        call.machine.signals.pseudo = False
        call.machine.alarms.strike(6800, call.machine.now_s)
    return ""


@command("IN=")
def write_inputs(call: Call) -> str:
    """Sixteen inputs, in the pseudo input mode."""
    if not call.machine.signals.pseudo:
        raise RefusedRequest(6640)
    first, value = split(call.argument, 2, 2)
    call.machine.signals.write(whole(first, 0, 999), 16, whole(value, 0, 0xFFFF, base=16), outputs=False)
    return ""


@command("RSTIO", bare=True)
def reset_outputs(call: Call) -> str:
    """General outputs as at power-up."""
    call.machine.signals.reset_outputs()
    return ""


@command("HNDSTS", bare=True)
def hands(call: Call) -> str:
    """Output, state and kind of each of eight hands."""
    found = call.machine.signals
    there = [f"{900 + 2 * (hand - 1)};{1 if found.hand_open(hand) else 2};1" for hand in range(1, HANDS + 1)]
    return ";".join([*there, *["-1;-1;-1"] * (8 - HANDS)])


# -- option cards ----------------------------------------------------------------------------------------


@command("OPNUMRD", bare=True)
def option_slots(call: Call) -> str:
    """How many option slots there are."""
    return str(OPTION_SLOTS)


@command("OPSTSRD")
def option_card(call: Call) -> str:
    """What is in one of them: the Ethernet card in the first, nothing in the others."""
    number = whole(call.argument, 1, OPTION_SLOTS)
    if number > 1 or not call.machine.settings.ethernet:
        return "None;None"
    address, *_ = call.machine.parameters.texts("NETIP")
    real_time, *others = call.machine.parameters.texts("NETPORT")
    counts = "/".join(["1", *["0"] * (len(others) - 1)])
    return VT.join(
        [
            f"Ethernet;IP Addr {address}",
            f"PortNo(R-time) {real_time}",
            f"PortNo(OPT11-19) {'/'.join(others)}",
            f"Connect Count(OPT11-19) {counts}",
            "MAC Addr 00:00:00:00:00:00",
            "H/W Ver: 0",
        ]
    )


@command("THMRD", bare=True)
def temperature(call: Call) -> str:
    """Degrees inside the controller."""
    return "25.0"


# -- clock and meters ------------------------------------------------------------------------------------


@command("TIME", bare=True)
def clock(call: Call) -> str:
    """Date and time."""
    return call.machine.calendar.text(call.machine.now_s)


@command("TIME=")
def set_clock(call: Call) -> str:
    """Set them: yy-mm-ddhh:mm:ss."""
    call.machine.calendar.set(call.argument.strip(), call.machine.now_s)
    return ""


@command("PTIME", bare=True)
def hour_meter(call: Call) -> str:
    """Hours of power, servo, motion and battery."""
    hours = int((call.machine.now_s - call.machine.start_s) / 3600)
    return f"{hours};0;0;14600"


@command("PTIMEDEL=")
def clear_meter(call: Call) -> str:
    """Accepted for the meters that exist."""
    if call.argument.strip() not in ("T", "S", "D", "B", "Z"):
        raise RefusedRequest(3110)
    return ""


@command("ENCBATTM", bare=True)
def battery(call: Call) -> str:
    """Hours that the encoders' battery has left."""
    return "14600"


@command("CYCLETIME")
def cycle_time(call: Call) -> str:
    """Milliseconds of a program's last cycle."""
    return str(round(call.machine.store.find(call.argument).run_s * 1e3))


@command("CYCLECLR")
def clear_cycle(call: Call) -> str:
    """Forget its times."""
    program = call.machine.store.find(call.argument)
    program.runs, program.run_s, program.total_s = 0, 0.0, 0.0
    return ""


# -- parameters ------------------------------------------------------------------------------------------


@command("PNR")
def read_parameter(call: Call) -> str:
    """One parameter, if the keyword's level shows it."""
    return call.machine.parameters.show(call.argument.strip().upper(), everything=False)


@command("PAR")
def read_any_parameter(call: Call) -> str:
    """One parameter."""
    return call.machine.parameters.show(call.argument.strip().upper(), everything=True)


@command("PRM=", "PAW=")
def write_parameter(call: Call) -> str:
    """Set one; most count from the next power-up on."""
    name, value = split(call.argument, 2, 2)
    call.machine.parameters.write(name.strip().upper(), value)
    return ""


@command("PRMUNDO")
def undo_parameter(call: Call) -> str:
    """One back to the factory's value: mechanism and name."""
    mechanism, name = split(call.argument, 2, 2)
    whole(mechanism or "1", 0, 3)
    call.machine.parameters.undo(name.strip().upper())
    return ""


@command("PRMINIT", bare=True)
def undo_parameters(call: Call) -> str:
    """All of them."""
    call.machine.parameters.undo_all()
    return ""


@command("PMR=")
def parameter_level(call: Call) -> str:
    """Accepted."""
    whole(call.argument, 0, 1)
    return ""


@command("RSTPWR", bare=True, later=True)
def reboot(call: Call) -> str:
    """As if the power had gone and come back, once the answer has left."""
    call.session.reboot_asked_s = call.machine.now_s
    return ""
