"""Walks through the corners of what the fakes can be: connect, confirm, move, stop, leave, and judge.

A corner is one combination of choices. Of each it is asked that nothing unsafe happens, and that whoever is not let in
reads what to do. The judges look at the fake's pins and joints, at its memory, and at the words; they ask nothing of
the driver.
"""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import hil
from hil.clock import VirtualClock
from hil.errors import HilError
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.runtime import wiring
from hil.runtime.kinds import rv2aj_fake
from hil.runtime.kinds.rv2aj_fake import SOMEBODYS
from hil.runtime.preview import preview
from hil.safety.certificate import Certificate
from hil.testing.oracle import UnsafeBytes
from hil.types import Arm, Confirm, Disconnect, Load, Mode, Request, Start, Stop, TickRecord
from hil.units import DEG
from sim.bench import BenchServo, ServoBench
from sim.cr1 import Cr1, SlotState
from sim.ports import MemoryPort
from sim.profiles import choices_of, load_profile
from sim.ssc32 import BoardSettings, Firmware, Ssc32Board
from sim.uart import FRAMINGS

EPOCH_S = 1.8e9
START_S = 3.0
"""By then whatever a board does by itself at power-up is over."""
Corner = Mapping[str, Any]

RIG, BEFORE, RESTART = "rig", "before", "restart"
"""Factors beside the choices: which rig; what another program has left in a board; a restart on the way back."""
LIMP, DRIVEN, STALE = "limp", "driven", "stale text"
HALF_A_LINE = "#0P15"
WAYS = ("rv2aj", "rv2aj-hot", "rv2aj-line")
CONNECT_S = 15.0
SERVO_ON_S = 46.0
REST_S = 0.5
NOTICED_S = 4.0
TRIES = 15
"""So often a person tries again what is refused."""
SLACK = 1.3
"""Times the rig's speed: what a servo that lags behind makes up for."""


NEVER_ASKED = frozenset(
    {"inputs_v", "noise_v", "inputs_low", "flips_hz", "input_seed", "copyright_years", "released", "serial_number"}
)
"""Choices of what no program of ours asks a controller about."""


# -- which corners -------------------------------------------------------------------------------------------------


def factors(controller: str) -> dict[str, tuple[Any, ...]]:
    """Every choice with its values, the usual one first."""
    if controller == "ssc32":
        found: dict[str, tuple[Any, ...]] = {RIG: ("lynx6",), BEFORE: (LIMP, DRIVEN, STALE), RESTART: (False, True)}
        whole = "ssc32-2x"
    else:
        found, whole = {RIG: WAYS, RESTART: (False, True)}, "cr1"
    for key, choice in load_profile(whole).choices.items():
        if key in NEVER_ASKED:
            continue
        found[key] = (choice.value, *choice.others)
    return found


def possible(corner: Corner) -> bool:
    """False for a text of VER that belongs to another family of firmware."""
    if BEFORE not in corner and "firmware" not in corner:
        return True
    return corner.get("version") is None or corner.get("firmware", "2.x") == "2.x"


def singles(every: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """All as usual, then every other value alone."""
    usual = {key: values[0] for key, values in every.items()}
    yield usual
    for key, values in every.items():
        for value in values[1:]:
            yield {**usual, key: value}


def pairs(every: Mapping[str, Sequence[Any]], allowed: Callable[[Corner], bool]) -> Iterator[dict[str, Any]]:
    """Corners in which every allowed pair of values of two factors comes at least once; the same each time.

    Greedy: a corner begins with the first pair that has not come yet, and each further factor takes the value that
    brings the most such pairs with what is there already.
    """
    names = list(every)
    numbers = {name: range(len(every[name])) for name in names}

    def fits(row: Mapping[str, int]) -> bool:
        return allowed({name: every[name][number] for name, number in row.items()})

    open_pairs = dict.fromkeys(
        ((a, i), (b, j))
        for a, b in itertools.combinations(names, 2)
        for i in numbers[a]
        for j in numbers[b]
        if fits({a: i, b: j})
    )
    order = {name: place for place, name in enumerate(names)}

    def ordered(a: tuple[str, int], b: tuple[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
        return (a, b) if order[a[0]] < order[b[0]] else (b, a)

    while open_pairs:
        row = dict(next(iter(open_pairs)))
        for name in names:
            if name in row:
                continue
            there = list(row.items())
            choices = [number for number in numbers[name] if fits({**row, name: number})]
            row[name] = max(
                choices,
                key=lambda n, name=name, there=there: sum(ordered((name, n), each) in open_pairs for each in there),
            )
        for a, b in itertools.combinations(row.items(), 2):
            open_pairs.pop(ordered(a, b), None)
        yield {name: every[name][row[name]] for name in names}


def text_of(corner: Corner) -> str:
    """What of it is not usual."""
    every = factors("ssc32" if BEFORE in corner else "cr1")
    unusual = [f"{key}={value!r}" for key, value in corner.items() if value != every[key][0]]
    return ", ".join(unusual) or "all as usual"


# -- one stand for both kinds --------------------------------------------------------------------------------------


@functools.cache
def rig_of(name: str) -> Rig:
    return wiring.load_rig(name)


@functools.cache
def motions(name: str) -> tuple[tuple[Motion, Certificate], ...]:
    """A short way out of the park pose, and back."""
    rig = rig_of(name)
    goal = list(rig.park)
    goal[0] += (12.0 if rig.controller.kind == "ssc32" else 4.0) * DEG
    made = []
    for start, end in ((rig.park, goal), (goal, rig.park)):
        motion = plan_joint_move(rig, start, end)
        certificate = preview(rig, motion, now_epoch_s=EPOCH_S).certificate
        assert certificate is not None
        made.append((motion, certificate))
    return tuple(made)


@dataclass
class Verdict:
    """What came of one corner.

    Attributes:
        reached: how far it came: refused, energised, moved, all; restarted, if it was to be.
        said: the last words of whoever was not let in; empty after all.
        unsafe: what must never be.
    """

    reached: str = "refused"
    said: str = ""
    unsafe: list[str] = field(default_factory=list)


class Stand:
    """A bridge with its driver and a fake of this corner, on virtual time."""

    def __init__(self, corner: Corner) -> None:
        self.rig = rig_of(corner[RIG])
        self.clock = VirtualClock(START_S)
        self.records: list[TickRecord] = []
        self.places: list[tuple[float, tuple[float, ...]]] = []
        self.bridge = wiring._bridge(
            self.rig,
            "memory",
            self.open_port,
            self.rig.park,
            now_s=START_S,
            epoch_offset_s=EPOCH_S,
            version=hil.__version__,
        )

    def open_port(self) -> MemoryPort:
        raise NotImplementedError

    def restart(self) -> None:
        """Its supply sags."""
        raise NotImplementedError

    def positions(self, now_s: float) -> tuple[float, ...]:
        """Where the arm is, by itself."""
        raise NotImplementedError

    @property
    def now_s(self) -> float:
        return self.clock.now_s()

    @property
    def mode(self) -> Mode:
        return self.bridge.mode

    @property
    def events(self) -> list[str]:
        return [event for record in self.records for event in record.events]

    def tick(self, *requests: Request) -> None:
        self.clock.sleep_until(self.now_s + self.rig.period_s)
        self.records.append(self.bridge.tick(self.now_s, requests))
        self.places.append((self.now_s, self.positions(self.now_s)))

    def until(self, reached: Callable[[], bool], within_s: float, *requests: Request) -> bool:
        end_s = self.now_s + within_s
        self.tick(*requests)
        while not reached():
            if self.now_s >= end_s:
                return False
            self.tick()
        return True

    def run(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        self.until(lambda: self.now_s >= end_s, seconds + 1.0)


class BoardStand(Stand):
    """An SSC-32 with the rig's arm behind it, in its park pose."""

    def __init__(self, corner: Corner) -> None:
        rig = rig_of(corner[RIG])
        chosen = {
            key: value for key, value in corner.items() if key not in (RIG, BEFORE, RESTART) and value is not None
        }
        settings = rig.controller
        board = choices_of("ssc32", None, chosen).over(BoardSettings(baud=settings.baud))  # type: ignore[attr-defined]
        self.settings = settings
        self.board = Ssc32Board(board)
        self.pulses: list[tuple[float, int, float]] = []
        self.board.watch(lambda time_s, changes: self.pulses.extend((time_s, *change) for change in changes))
        self.bench = ServoBench(
            self.board,
            [
                BenchServo(
                    channel=w.channel,
                    points=tuple((at, us + self.offset_us(w.channel)) for at, us in w.points),
                    start=park,
                    lag_s=a.servo_lag_s,
                    speed=a.servo_speed,
                )
                for a, w, park in zip(rig.axes, settings.axes, rig.park, strict=True)  # type: ignore[attr-defined]
            ],
        )
        if corner[BEFORE] == STALE:
            self.board.receive(HALF_A_LINE.encode("ascii"), 0.0, self.board.byte_s)
        elif corner[BEFORE] == DRIVEN:
            words = "".join(
                f"#{wire.channel}P{settings.pulse_us(i, at)}"  # type: ignore[attr-defined]
                for i, (wire, at) in enumerate(zip(settings.axes, rig.park, strict=True))  # type: ignore[attr-defined]
            )
            self.board.receive(f"{words}\r".encode("ascii"), 0.0, self.board.byte_s)
        self.board.advance(1.0)
        super().__init__(corner)

    def offset_us(self, channel: int) -> int:
        """The pulse offset with which the arm was calibrated: the one that this board has from power-up on."""
        on = self.board.machine.eeprom.register(0) & 0x8004 == 4 and self.board.settings.firmware is not Firmware.V1
        return self.board.machine.eeprom.register(32 + channel) if on else 0

    def open_port(self) -> MemoryPort:
        return MemoryPort(self.board, self.settings.baud, None, self.bench)  # type: ignore[attr-defined]

    def restart(self) -> None:
        self.board.power_cycle(self.now_s)

    def positions(self, now_s: float) -> tuple[float, ...]:
        self.board.advance(now_s)
        return self.bench.positions(now_s)


class Cr1Stand(Stand):
    """A CR1 whose arm stands in the park pose, and with a program of somebody else's."""

    def __init__(self, corner: Corner) -> None:
        rig = rig_of(corner[RIG])
        self.settings = rig.controller
        chosen = {key: value for key, value in corner.items() if key not in (RIG, RESTART) and value is not None}
        usual = rv2aj_fake.usual(rig.controller)  # type: ignore[arg-type]
        settings = choices_of("cr1", None, chosen).over(usual)
        joints = rig.controller.degrees(rig.park)  # type: ignore[attr-defined]
        self.cr1 = Cr1(settings, start_s=0.0, programs=SOMEBODYS, joints_deg=joints)
        self.trace: list[tuple[float, tuple[float, ...]]] = []
        self.cr1.watch(lambda time_s, joints: self.trace.append((time_s, tuple(angle * DEG for angle in joints))))
        super().__init__(corner)

    def open_port(self) -> MemoryPort:
        framing = FRAMINGS[self.settings.framing]
        return MemoryPort(self.cr1, self.settings.baud, None, framing=framing)  # type: ignore[attr-defined]

    def restart(self) -> None:
        self.cr1.power_cycle(self.now_s)

    def positions(self, now_s: float) -> tuple[float, ...]:
        self.cr1.advance(now_s)
        return tuple(angle * DEG for angle in self.cr1.joints)


# -- the walk ------------------------------------------------------------------------------------------------------


def walk(corner: Corner) -> Verdict:
    """Go through one corner and judge it."""
    stand: Stand = BoardStand(corner) if BEFORE in corner else Cr1Stand(corner)
    verdict = Verdict()
    try:
        confirmed_s = _session(stand, corner, verdict)
    except HilError as error:  # what the bridge lets out is as good as what it says
        verdict.said, confirmed_s = str(error), stand.now_s
    verdict.unsafe += _too_fast(stand)
    verdict.unsafe += _before_anybody_confirmed(stand, confirmed_s)
    if isinstance(stand, BoardStand):
        verdict.unsafe += _bytes(stand)
    elif isinstance(stand, Cr1Stand):
        verdict.unsafe += _left_behind(stand, corner[RESTART])
    return verdict


def _session(stand: Stand, corner: Corner, verdict: Verdict) -> float:
    """Connect, confirm, move there, stop on the way back, leave; gives when the pose was confirmed."""
    let_in = stand.until(lambda: stand.mode not in (Mode.DISCONNECTED, Mode.CONNECTING), CONNECT_S)
    stand.run(REST_S)
    confirmed_s = stand.now_s
    if let_in and stand.mode is Mode.UNKNOWN_POSE:
        confirmed_s = stand.now_s
        ready = lambda: stand.mode in (Mode.IDLE, Mode.FAULT)  # noqa: E731
        stand.until(ready, SERVO_ON_S, Confirm(positions=stand.rig.park, by="the walk"))
        if stand.mode is Mode.IDLE:
            verdict.reached = "energised"
            _move(stand, corner, verdict)
    if verdict.reached != "all":
        verdict.said = _words(stand)
    stand.until(lambda: stand.mode is Mode.DISCONNECTED, 30.0, Disconnect(reason="the end"))
    before = stand.positions(stand.now_s)
    # Whatever the controller has still to do alone, it has done by then.
    rested = stand.positions(stand.now_s + 5.0)
    if any(abs(a - b) > 2.0 * DEG for a, b in zip(before, rested, strict=True)):
        verdict.unsafe.append(f"it moved on after the end: {_degrees(before)} -> {_degrees(rested)}")
    return confirmed_s


def _move(stand: Stand, corner: Corner, verdict: Verdict) -> None:
    (there, certificate), (back, way_back) = motions(stand.rig.id)
    if not _start(stand, there, certificate):
        return
    if (
        not stand.until(lambda: stand.mode is not Mode.STREAMING, there.duration_s + 20.0)
        or stand.mode is not Mode.IDLE
    ):
        return
    stand.run(stand.rig.controller.settle_s + 0.5)
    off = max(abs(a - b) for a, b in zip(stand.places[-1][1], there.end, strict=True))
    if stand.mode is not Mode.IDLE:
        return
    if off > 1.5 * DEG:
        verdict.unsafe.append(f"it says that it is there, and is {off / DEG:.1f} deg off")
        return
    verdict.reached = "moved"
    if not _start(stand, back, way_back):
        return
    stand.run(0.3)
    if corner[RESTART]:
        stand.restart()
        if stand.until(lambda: stand.mode is Mode.FAULT, NOTICED_S):
            verdict.reached = "restarted"
        else:
            verdict.unsafe.append(f"a restart went unnoticed for {NOTICED_S:g} s, still {stand.mode.value}")
        stand.run(0.5)
        return
    stand.until(lambda: stand.mode in (Mode.HOLDING, Mode.FAULT), stand.bridge.stop_time_s + 1.0, Stop(reason="walk"))
    stand.run(1.0)
    if stand.mode is not Mode.HOLDING:
        return
    at = stand.positions(stand.now_s)
    stand.run(1.0)
    if any(abs(a - b) > 0.2 * DEG for a, b in zip(at, stand.positions(stand.now_s), strict=True)):
        verdict.unsafe.append("it moves while it holds")
    verdict.reached = "all"


def _start(stand: Stand, motion: Motion, certificate: Certificate) -> bool:
    load = Load(motion=motion.to_bytes(), certificate=certificate.to_bytes())
    for _ in range(TRIES):
        if stand.until(lambda: stand.mode in (Mode.ARMED, Mode.FAULT), 1.0, load, Arm(digest=motion.digest)):
            break
    if stand.mode is not Mode.ARMED:
        return False
    stand.tick(Start(digest=motion.digest))
    return stand.until(lambda: stand.mode is Mode.STREAMING, 1.0)


def _words(stand: Stand) -> str:
    """What a person reads last that is no more than a change of mode, a fault before all."""
    told = [event for event in stand.events if not re.fullmatch(r"[a-z_ ]+ -> [a-z_ ]+", event)]
    faults = [event for event in told if "-> fault" in event or "fault" in event.split(":")[0]]
    return (faults or told or ["nothing was said"])[-1]


# -- judges --------------------------------------------------------------------------------------------------------


def _degrees(positions: Sequence[float]) -> str:
    return "(" + ", ".join(f"{each / DEG:.1f}" for each in positions) + ")"


def _too_fast(stand: Stand) -> list[str]:
    """No axis goes faster than its rig allows, at any time after we have come."""
    window = 3
    found = []
    for index, axis in enumerate(stand.rig.axes):
        for (from_s, a), (to_s, b) in zip(stand.places, stand.places[window:], strict=False):
            speed = abs(b[index] - a[index]) / (to_s - from_s)
            # Half a degree is what the steps of the pulse and of the report can make of a place.
            if speed > SLACK * axis.speed + 0.5 * DEG / (to_s - from_s):
                found.append(
                    f"{axis.name} went at {speed / DEG:.0f} deg/s at {to_s:.2f} s; its rig: {axis.speed / DEG:.0f}"
                )
                break
    return found


def _before_anybody_confirmed(stand: Stand, confirmed_s: float) -> list[str]:
    """Nothing moves, and nothing is driven, before a person has confirmed the pose."""
    if isinstance(stand, BoardStand):
        axes = {wire.channel for wire in stand.settings.axes}  # type: ignore[attr-defined]
        early = [p for p in stand.pulses if START_S < p[0] <= confirmed_s and p[1] in axes and p[2]]
        return [f"channel {early[0][1]} got {early[0][2]:.0f} us before a pose was confirmed"] if early else []
    moved = [time_s for time_s, _ in stand.trace if time_s <= confirmed_s]  # type: ignore[attr-defined]
    return [f"it moved at {moved[0]:.2f} s, before a pose was confirmed"] if moved else []


def _bytes(stand: BoardStand) -> list[str]:
    """No byte beyond a limit; and what the pins make of the bytes stays within the calibrated range."""
    old = stand.board.machine.version.startswith("SSC32-1")
    oracle = UnsafeBytes(stand.rig, freezes_by_moves=old).take(stand.records)
    found = [each.text for each in oracle.findings[:1]]
    for wire in stand.settings.axes:  # type: ignore[attr-defined]
        beyond = [p for p in stand.pulses if p[1] == wire.channel and p[0] > START_S and p[2]]
        least, most = (us + stand.offset_us(wire.channel) for us in (wire.lower_us, wire.upper_us))
        step = stand.board.settings.resolution_us
        beyond = [p for p in beyond if not least - step <= p[2] <= most + step]
        if beyond:
            found.append(f"{wire.name} got {beyond[0][2]:.0f} us; allowed {least} to {most}")
    return found


def _left_behind(stand: Cr1Stand, restarted: bool) -> list[str]:
    """Nothing of ours stays in a CR1, nothing runs, and nobody else's program was touched."""
    cr1, found = stand.cr1, []
    stand.cr1.advance(stand.now_s + 10.0)
    programs = {
        name: "\n".join(f"{n} {t}" for n, t in p.lines.items()) for name, p in cr1.machine.store.programs.items()
    }
    if restarted:
        # It was off, or could not be reached any more: the next session finds what is left and deletes it.
        programs = {name: text for name, text in programs.items() if not name.startswith("HIL")}
    if programs != SOMEBODYS:
        found.append(f"programs {sorted(programs)} are left")
    if cr1.machine.enabled:
        found.append("the operation right is left with us")
    if cr1.conversation.session.opened:
        found.append("the line is left open")
    if any(slot.state is SlotState.RUNNING for slot in cr1.machine.slots.values()):
        found.append("a program is left running")
    return found


# -- what nobody can mend -----------------------------------------------------------------------------------------

CANNOT: tuple[tuple[str, dict[str, tuple[Any, ...]]], ...] = (
    (
        "half a line of another program waits in a board that ignores ESC: whatever ends a line carries it out",
        {"escape_drops": (False,), BEFORE: (STALE,)},
    ),
    (
        "a board starts up again sooner than an answer can stay away, and its servos begin at 500 us: what was sent "
        "meanwhile is taken for a first move",
        {RESTART: (True,), "boot_s": (0.005,), "first_move": ("from_500", "once")},
    ),
)
"""What no program at this end of the cable can prevent, and the values that it takes."""


def cannot(corner: Corner) -> str:
    """Why this corner is not judged for safety; empty for nearly all."""
    for why, needs in CANNOT:
        if all(key in corner and corner[key] in values for key, values in needs.items()):
            return why
    return ""


# -- words ---------------------------------------------------------------------------------------------------------

REMEDIES: tuple[tuple[str, str], ...] = (
    # SSC-32
    (r"answers at \d+ baud, the rig says \d+", r"set controller\.baud = \d+, or the board to \d+"),
    (r"register R0 is \d+: at power-up", r"open a terminal at .* type R0=\d+ and the Enter key \(CR\), then cut the"),
    (r"register R0 could not be read", r"look at cable and receive line and connect again; or open a terminal"),
    (r"the controller restarted", r"make the arm safe; look whether the supply sags"),
    (r"commands arrive damaged", r"nothing more is sent\. Mend the line before anything moves"),
    (r"no answer for [\d.]+ s", r"look whether the controller has power and whether the cable is in"),
    (r"bytes without meaning on the line", r"look at ground and shield, .* check the baud rate"),
    (r"the controller drives it at", r"Cut the power, put the arm into its park pose, connect again"),
    # CR1
    (r"the controller drives a RV-", r"is this the right port\?"),
    (r"the key stands on TEACH", r"turn the key to AUTO \(Ext\.\), connect again"),
    (r"refuses CNTLON: L6020", r"give it back at the panel, the teach box or the other computer"),
    (r"no answer to OPEN", r"Check the power first, then the cable .* the controller's line is set the same"),
    (r"something answers .* but it is no CR1", r"or its line is set otherwise \(factory: 9600 baud"),
    (r"refuses OPEN \(L6010", r"if letters got lost on the way, its line is set otherwise \(factory"),
    (r"alarm L5640 not possible while something runs", r"wait until it is done, or stop it"),
    (r"the controller does not drive .* yet", r"try again in a moment"),
    (r"answers slowly and does not drive .* yet", r"wait, \d+ s at most"),
    (r"the controller measures .* taken to be at", r"Disconnect and connect again, and confirm the pose that you see"),
    (r"the controller has been silent|silent for", r"look at its power and at the cable"),
    (
        r"an answer is .* late by now, and has not come",
        r"look at the adapter, and at what else the controller is asked",
    ),
)
"""What may be said to somebody who is not let in, and the part of it that says what to do."""


def helps(said: str) -> bool:
    """Whether these words are among those known to say what to do, and do so."""
    return any(re.search(what, said) and re.search(remedy, said) for what, remedy in REMEDIES)


# -- campaigns -----------------------------------------------------------------------------------------------------


def campaign(controller: str, chances: int = 0, seed: int = 1) -> Iterator[tuple[dict[str, Any], Verdict]]:
    """Walk through the corners of one kind: each value alone, pairs of all values, pairs of those that are let in.

    What is refused hides whatever else a corner has. So the pairs of the values that alone are let in come once more,
    among themselves, and after them so many corners of such values by chance.
    """
    every = factors(controller)
    usual = {key: values[0] for key, values in every.items()}
    refused: set[tuple[str, str]] = set()
    for corner in singles(every):
        if possible(corner):
            verdict = walk(corner)
            if verdict.reached in ("refused", "energised"):
                refused |= {(key, repr(value)) for key, value in corner.items() if value != usual[key]}
            yield corner, verdict
    for corner in pairs(every, possible):
        yield corner, walk(corner)
    rest = {key: tuple(value for value in values if (key, repr(value)) not in refused) for key, values in every.items()}
    for corner in pairs(rest, possible):
        yield corner, walk(corner)
    rng = random.Random(seed)
    while chances > 0:
        corner = {key: rng.choice(values) for key, values in rest.items()}
        if possible(corner):
            chances -= 1
            yield corner, walk(corner)


def broken(corner: Corner, verdict: Verdict) -> list[str]:
    """What must not be, in words."""
    found = [] if cannot(corner) else list(verdict.unsafe)
    if verdict.reached != "all" and not helps(verdict.said):
        found.append(f"these words do not say what to do: {verdict.said}")
    return found
