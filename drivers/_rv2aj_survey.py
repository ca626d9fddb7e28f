"""Questions to a CR1 apart from any session: who is there, how it stands, and a copy of its programs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from drivers._rv2aj_alarms import explain, explain_standing
from drivers._rv2aj_codec import (
    JOINTS,
    ProgramEntry,
    Status,
    Stops,
    decode_alarm,
    decode_entry,
    decode_joints,
    decode_pose,
    decode_state,
    decode_stops,
    program_stem,
)
from drivers._rv2aj_converse import converse
from drivers._rv2aj_farewell import close_and_wait
from drivers._rv2aj_hello import greet
from drivers._rv2aj_key import Key, read_key
from drivers._rv2aj_line import Ask, Cr1Line
from drivers._rv2aj_settings import JOINT_REPLY, Rv2ajSettings
from drivers._rv2aj_talk import T, Talk, attempt, need
from hil.clock import Clock
from hil.errors import ControllerError
from hil.link import Answer, BytePort, Condition, SavedFile
from hil.units import DEG

MOST_PROGRAMS, MOST_LINES = 200, 5000
MOST_TEXT = 200
STILL_S, STILL_DEG = 0.4, 0.1
"""An arm that a hand holds is still if no joint moves farther in this time."""
PARAMETERS = ("RLNG", "MEJAR", "MEPAR", "MEXTL", "MEXBS", "USRORG", "JSAFE", "CBAU232", "CPRTY232", "CSTOP232",
              "CTERM232", "CPRC232")  # fmt: skip


def _converse(
    settings: Rv2ajSettings,
    open_port: Callable[[], BytePort],
    clock: Clock,
    talk: Callable[[Cr1Line], Talk[T]],
    *,
    spaced: bool = False,
) -> T:
    """Hold one whole conversation, waiting by the clock."""
    with closing(open_port()) as port:
        line = Cr1Line(settings, port, clock.now_s())
        result = converse(line, clock, talk(line), spaced=spaced)
        close_and_wait(line, clock)
        return result


def ask(open_port: Callable[[int], BytePort], name: str, clock: Clock) -> Answer:
    """Whether a CR1 is at the other end, at its factory speed and the others in use. Moves nothing.

    Args:
        open_port: opens the line at a baud rate, framed as the CR1 wants it.
        name: the port's name for messages.
        clock: what to wait by.

    Raises:
        LinkTimeout: nobody answers.
        ControllerError: something that is no CR1 answers.
        LinkError: the port cannot be opened, or failed.
    """
    settings = Rv2ajSettings(port_url=name, baud=9600)
    found = _converse(settings, lambda: open_port(settings.baud), clock, lambda line: greet(line, settings))
    return Answer(kind=settings.kind, identity=found.text, baud=settings.baud)


def look_over(settings: Rv2ajSettings, open_port: Callable[[], BytePort], clock: Clock) -> tuple[Condition, ...]:
    """How the controller stands: key, emergency stops, operation right, servos, alarm, joints and pose.

    Takes the operation right for a moment to find out whether it is free, and gives it back. Moves nothing.

    Raises:
        LinkTimeout, ControllerError, LinkError: as for connecting.
    """
    return _converse(settings, open_port, clock, lambda line: _survey(line, settings), spaced=True)


def measure(settings: Rv2ajSettings, open_port: Callable[[], BytePort], clock: Clock) -> tuple[float, ...]:
    """Where the arm stands by its encoders, rad, also while somebody leads it by hand. Asks, and takes nothing.

    Raises:
        ControllerError: a program runs there, or the arm is still being moved.
        LinkTimeout, ControllerError, LinkError: as for connecting.
    """
    return _converse(settings, open_port, clock, lambda line: _standing(line, settings, clock), spaced=True)


def _standing(line: Cr1Line, settings: Rv2ajSettings, clock: Clock) -> Talk[tuple[float, ...]]:
    yield from greet(line, settings)
    name = settings.port_url
    state = decode_state((yield from need(Ask("STATE", decode_state, 90))).data)
    if state.status.running:
        raise ControllerError(
            f"{name}: a program runs on the controller and may move the arm; stop it at the panel first"
        )
    first = decode_joints((yield from need(Ask("JPOSF", decode_joints, JOINT_REPLY))).data).joints_deg
    asked_s = clock.now_s()
    while clock.now_s() < asked_s + STILL_S:
        yield None
    joints = decode_joints((yield from need(Ask("JPOSF", decode_joints, JOINT_REPLY))).data).joints_deg
    moved = [abs(now - before) for now, before in zip(joints, first, strict=True)]
    most = max(range(len(moved)), key=lambda each: moved[each])
    if moved[most] > STILL_DEG:
        raise ControllerError(
            f"{name}: the arm still moves, {JOINTS[most]} by {moved[most]:.2f} deg in {STILL_S:g} s; allowed: "
            f"{STILL_DEG:g} deg. Hold it still, then take the pose"
        )
    return tuple(angle * DEG for angle in joints)


def _survey(line: Cr1Line, settings: Rv2ajSettings) -> Talk[tuple[Condition, ...]]:
    identity = yield from greet(line, settings)
    state = decode_state((yield from need(Ask("STATE", decode_state, 90))).data)
    stops = decode_stops((yield from need(Ask("STPSIG", decode_stops, 14))).data)
    key = Key.TEACH if state.status.teach else (yield from read_key())
    standing = decode_alarm((yield from need(Ask("ERROR", decode_alarm, 12))).data)
    right, _ = yield from attempt(Ask("CNTLON"))
    if right.accepted:
        yield from need(Ask("CNTLOFF"))
    joints = decode_joints((yield from need(Ask("JPOSF", decode_joints, JOINT_REPLY))).data)
    shown = decode_pose((yield from need(Ask("PPOSF", decode_pose, 90))).data)
    angles = ", ".join(f"{name} {value:.2f}" for name, value in zip(JOINTS, joints.joints_deg, strict=True))
    point = f"X {shown.x:.2f} Y {shown.y:.2f} Z {shown.z:.2f} mm, A {shown.a:.2f} B {shown.b:.2f} deg"
    return (
        Condition(name="controller", text=f"{identity.text}, opened as {line.client}"),
        _key(key),
        *_person_conditions(state.status, stops, standing),
        _right(right.accepted, right.error, key),
        Condition(name="servos", text="on" if state.status.servo else "off"),
        Condition(name="program", text=_program(state.program, state.line, state.status)),
        Condition(name="override", text=f"{joints.override} %"),
        Condition(name="joints", text=f"{angles} deg", good=not joints.at_limit,
                  remedy=f"at its limit: {', '.join(joints.at_limit)}; bring it back at the teach box"
                  if joints.at_limit else ""),
        Condition(name="pose", text=f"{point}, flags {shown.flag1},{shown.flag2}"),
    )  # fmt: skip


def _person_conditions(status: Status, stops: Stops, standing: tuple[int, int] | None) -> tuple[Condition, ...]:
    """What only somebody at the cabinet can change."""
    alarm = None if standing is None else explain_standing(standing)
    enabled = alarm is not None and alarm.number == 5000
    pressed = stops.emergency or (("somewhere",) if status.emergency_stop else ())
    return (
        Condition(name="teach box", text="enabled" if enabled else "not in the way as far as the controller tells",
                  good=not enabled, remedy="switch the teach box off" if enabled else ""),
        Condition(name="emergency stops", text=f"pressed: {', '.join(pressed)}" if pressed else "released",
                  good=not pressed, remedy="release it, reset, switch the servos on again" if pressed else ""),
        Condition(name="stop inputs", text=f"on: {', '.join(stops.stops)}" if stops.stops else "off",
                  good=not stops.stops, remedy="switch it off" if stops.stops else ""),
        Condition(name="alarm", text="none" if alarm is None else f"{alarm.level}{alarm.number:04d} {alarm.text}",
                  good=alarm is None, remedy="" if alarm is None else alarm.remedy),
    )  # fmt: skip


def _key(key: Key | None) -> Condition:
    if key is None:
        return Condition(name="key", text="AUTO")
    return Condition(name="key", text=key.text, good=not key.remedy, remedy=key.remedy)


def _right(free: bool, error: int, key: Key | None) -> Condition:
    if free:
        return Condition(name="operation right", text="free")
    alarm = explain(error)
    return Condition(
        name="operation right",
        text=f"not to be had ({alarm.level}{alarm.number:04d})",
        good=False,
        remedy=key.words
        if key is not None and key.words
        else "the panel, the teach box or another computer holds it: give it back there",
    )


def _program(name: str, line: int, status: Status) -> str:
    how = "runs" if status.running else "paused" if status.waiting else "rests"
    return f"{name} {how}, line {line}" if name else f"none selected{', one runs' if status.running else ''}"


def back_up(settings: Rv2ajSettings, open_port: Callable[[], BytePort], clock: Clock) -> tuple[SavedFile, ...]:
    """Read every program with its positions as text, and the parameters that matter. Changes nothing there.

    Raises:
        LinkTimeout, ControllerError, LinkError: as for connecting; or a program cannot be opened.
    """
    return _converse(settings, open_port, clock, lambda line: _copy(line, settings))


def _copy(line: Cr1Line, settings: Rv2ajSettings) -> Talk[tuple[SavedFile, ...]]:
    identity = yield from greet(line, settings)
    slot = identity.tasks + 1
    names: list[str] = []
    entry: ProgramEntry | None = decode_entry((yield from need(Ask("PDIRTOP", decode_entry, MOST_TEXT))).data)
    while entry is not None and len(names) < MOST_PROGRAMS and entry.name not in names:
        names.append(entry.name)
        entry = decode_entry((yield from need(Ask(f"PDIR{len(names) + 1}", decode_entry, MOST_TEXT))).data)
    files = []
    for name in names:
        stem = program_stem(name)
        yield from need(Ask(f"LOAD={stem}", slot=slot))
        lines = yield from _listed("LISTI", slot)
        points = yield from _listed("LISTP", slot)
        yield from need(Ask("NEW", slot=slot))
        files.append(SavedFile(name=f"{stem}.mb4", text="".join(f"{text}\n" for text in (*lines, *points))))
    values = []
    for parameter in PARAMETERS:
        reply, _ = yield from attempt(Ask(f"PAR{parameter}", length=MOST_TEXT))
        if reply.accepted:
            values.append(reply.data)
    files.append(SavedFile(name="parameters.prm", text="".join(f"{value}\n" for value in values)))
    return tuple(files)


def _listed(what: str, slot: int) -> Talk[list[str]]:
    """Lines one by one until the controller has no more."""
    lines: list[str] = []
    for place in ("TOP", *["+1"] * MOST_LINES):
        reply, _ = yield from attempt(Ask(f"{what}{place}", length=MOST_TEXT, slot=slot))
        if not reply.accepted or not reply.data or (lines and reply.data == lines[-1]):
            break
        lines.append(reply.data)
    return lines
