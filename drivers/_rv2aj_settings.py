"""What a rig says of its CR1: line, way of moving, override, and what of the arm could not be confirmed anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property
from struct import Struct
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta

from drivers._command_checks import rows_of
from drivers._rv2aj_codec import JOINTS, encode, joint_constant
from drivers._rv2aj_table import packet_table, wire_table
from hil.errors import ConfigError
from hil.findings import Findings
from hil.link import FloatArray, Pace
from hil.types import Record
from hil.units import DEG
from hil.wire_table import WireTable

LOWER_DEG = (-150.0, -60.0, -110.0, -90.0, -200.0)
UPPER_DEG = (150.0, 120.0, 120.0, 90.0, 200.0)
"""The arm's joint ranges as the controller has them from the factory (its parameter MEJAR)."""

FIRST_OVERRIDE = 10
"""Percent at which every motion runs until somebody says in the rig that a first motion was watched."""

SPACING_S = 0.1
"""From a reply to the next request while a program runs."""

LATE = 1.5
"""Send periods after which a target that could not be sent holds up the motion."""

MATCHED = 0.9
"""Part of a send period that a chord takes where each has a speed of its own."""

STEPS_A_DEGREE = 100.0
"""Requests carry hundredths of a degree."""

PACKET_STEPS = 1000.0
"""Packets carry thousandths: single-precision radians, and finer ones shake the drives (H0117 on a CR800)."""

CYCLE_S = 0.0071
"""The controller's own, in which it takes one packet."""

FOLLOWS = 1.5
"""Cycles until it has followed a packet."""

SETTLED = 5.0
"""Time constants after which a filter of the first order has come to its end."""

SINGLE_RAD = 4e-7
"""Twice the distance of numbers of single precision near 3.5 rad, the farthest that a joint goes."""

MOST_RAD = 1e30
"""A number of single precision holds no more; limits are not looked at where it matters."""

_SINGLE = Struct("<f")

ETHERNET_BITS_S, PACKET_BYTES = 10e6, 196 + 66
"""The oldest cards' speed; a packet with all that goes around it."""

REPORT_DEG = 0.02
"""Servos at rest hunt by one step of what JPOSF shows."""

JOINT_REPLY, STATUS_REPLY, INPUT_REPLY, PLAIN_REPLY = 86, 18, 8, 4
"""Longest replies to JPOSF, DSTATE and IN, and a bare QoK, with their ends."""

Five = tuple[float, float, float, float, float]


class Way(Enum):
    """How targets reach the arm."""

    SEGMENTS = "segments"
    """Each is one joint move by EXEC; the arm rests at every one."""
    HOT = "hot"
    """HOT writes each into a loop program of ours that moves to it; the arm rests at every one that it takes."""
    LINE = "line"
    """A loop program of ours reads each from the line, with a speed of its own, and blends."""
    MXT = "mxt"
    """A program of ours has come to MXT and takes a packet in every cycle: the loop's own samples, one a tick."""


class Rv2ajSettings(Record, frozen=True, dict=True):
    """An RV-2AJ behind a CR1; a `hil.link.ControllerSettings`.

    Attributes:
        framing: of the line, ``8E2`` from the factory.
        send_period_s: time from one target to the next.
        override_percent: share of the joint speeds that every move gets.
        max_speed_deg_s: joint speeds at override 100.
        lower_deg, upper_deg: joint range as the controller has it.
        latency_s: how long the controller takes to begin an answer.
        ramp_s: how long a move takes beyond its way at full speed: getting up to speed and to rest.
        reply_timeout_s: how much later than that a reply may come.
        servo_timeout_s: how long switching the servos on may take.
        mxt: ``HOST:PORT`` to which packets of MXT go; empty in other ways.
        computer: our own address, as the controller knows it, for its OPEN "ENET:...".
        filter_s: time constant of the controller's filter for MXT; 0 for none.
        silent_s: an answer to a packet is late after this.
    """

    kind: ClassVar[str] = "rv2aj"

    port_url: str
    baud: int
    framing: str = "8E2"
    way: Way = Way.SEGMENTS
    send_period_s: float = 1.5
    override_percent: int = FIRST_OVERRIDE
    max_speed_deg_s: Five = (180.0, 90.0, 135.0, 180.0, 210.0)
    lower_deg: Five = LOWER_DEG
    upper_deg: Five = UPPER_DEG
    latency_s: float = 0.02
    ramp_s: float = 0.2
    reply_timeout_s: float = 0.3
    servo_timeout_s: float = 5.0
    mxt: str = ""
    computer: str = ""
    filter_s: float = 0.0
    silent_s: float = 0.04

    @property
    def networked(self) -> bool:
        """Targets go by a network, beside the line."""
        return self.way is Way.MXT

    @property
    def datagram_url(self) -> str:
        """Where packets go; empty where none do."""
        return f"udp://{self.mxt}" if self.networked else ""

    @property
    def steps_a_degree(self) -> float:
        """What the wire carries."""
        return PACKET_STEPS if self.networked else STEPS_A_DEGREE

    @property
    def follows_s(self) -> float:
        """How far behind a packet the arm is at most."""
        return FOLLOWS * CYCLE_S + SETTLED * self.filter_s

    @property
    def settle_s(self) -> float:
        """The last move goes on to its target: one chord, and the ramp at its end."""
        return self.follows_s if self.networked else self.send_period_s + self.ramp_s

    @cached_property
    def report_period_s(self) -> float:
        """A look at the joints, when a target and a look at the status come in between."""
        return self._requests_s() + self.latency_s

    @cached_property
    def pace(self) -> Pace | None:
        """One target a send period; more than `LATE` of them never go by without one. None where all samples go."""
        if self.networked:
            return None
        ceiling = self.ceiling
        return Pace(
            send_period_s=self.send_period_s,
            longest_s=LATE * self.send_period_s,
            speeds=tuple(ceiling.tolist()),
            keeps_up=tuple((ceiling * max(self.chord_share, 0.0)).tolist()),
            chord_s=MATCHED * self.send_period_s if self.way is Way.LINE else 0.0,
        )

    @cached_property
    def ceiling(self) -> FloatArray:
        """Per axis, the joint speed at the rig's override, rad/s, shape (5,)."""
        return np.array(self.max_speed_deg_s) * DEG * self.override_percent / 100.0

    @cached_property
    def chord_share(self) -> float:
        """Part of a send period in which the arm is on its way; not above 0 if none is left."""
        if self.way in (Way.LINE, Way.MXT):
            return MATCHED
        lost_s = self.ramp_s + SPACING_S
        if self.way is Way.SEGMENTS:
            # Two requests before the move begins, and one look too many after it has ended.
            lost_s += self._asking_s(_TARGET, PLAIN_REPLY) + self._asking_s(_MOVE, PLAIN_REPLY)
            lost_s += self._asking_s(_JOINTS, JOINT_REPLY)
        return 1.0 - lost_s / self.send_period_s

    def quantise(self, positions: FloatArray) -> FloatArray:
        """Positions in whole steps of the wire, shape (n,) or (N, n); limits are not looked at.

        Raises:
            CommandError: a position is not finite, or the last dimension is not five.
        """
        wanted = np.clip(rows_of(positions, len(JOINTS)), -MOST_RAD, MOST_RAD)
        steps = self.steps_a_degree
        rounded: FloatArray = np.rint(wanted / DEG * steps) / steps * DEG
        if not self.networked:
            return rounded
        return rounded.astype(np.float32).astype(np.float64)

    def quantise_pose(self, positions: Sequence[float]) -> tuple[float, ...]:
        """`quantise` for one pose of finite numbers, in plain floats."""
        exact = [degrees * DEG for degrees in self.degrees(positions)]
        if not self.networked:
            return tuple(exact)
        return tuple([_SINGLE.unpack(_SINGLE.pack(value))[0] for value in exact])

    def degrees(self, positions: Sequence[float]) -> tuple[float, ...]:
        """Positions in rad as the wire has them."""
        steps = self.steps_a_degree
        return tuple([round(min(max(at, -MOST_RAD), MOST_RAD) / DEG * steps) / steps for at in positions])

    def wire_table(self, samples: FloatArray, look_ahead_s: float) -> WireTable:
        """The target of each sample of a motion.

        Raises:
            CommandError: a sample lies outside the controller's joint range.
        """
        table = packet_table if self.networked else wire_table
        return table(np.array(self.lower_deg), np.array(self.upper_deg), samples)

    def quantum(self) -> FloatArray:
        """One step of the wire per axis, and what single precision adds at both its ends, shape (5,)."""
        return np.full(len(JOINTS), DEG / self.steps_a_degree + (SINGLE_RAD if self.networked else 0.0))

    def report_quantum(self) -> FloatArray:
        """What JPOSF shows of a joint at rest wanders by this much, shape (5,)."""
        return np.full(len(JOINTS), REPORT_DEG * DEG)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The controller's joint range, shape (5,) each."""
        return np.array(self.lower_deg) * DEG, np.array(self.upper_deg) * DEG

    def line_time_s(self) -> float:
        """One target, one look at the joints and one at the status, with the controller's answers and its spacing."""
        if self.networked:
            return 2 * 8 * PACKET_BYTES / ETHERNET_BITS_S
        return self._requests_s()

    def _requests_s(self) -> float:
        """The same on the line."""
        looks_s = self._asking_s(_JOINTS, JOINT_REPLY) + self._asking_s(_STATUS, STATUS_REPLY) + 2 * SPACING_S
        if self.way is Way.SEGMENTS:
            return looks_s + self._asking_s(_TARGET, PLAIN_REPLY) + self._asking_s(_MOVE, PLAIN_REPLY)
        if self.networked:
            return looks_s
        return looks_s + self._asking_s(_HOT if self.way is Way.HOT else _PRINTED, PLAIN_REPLY + 8) + SPACING_S

    @cached_property
    def look_s(self) -> float:
        """One look at the joints, and the distance that it keeps to what is sent before and after."""
        return self._asking_s(_JOINTS, JOINT_REPLY) + 2 * SPACING_S

    def wire_s(self, count: int) -> float:
        """Time that `count` bytes take on the line."""
        return count * bits_per_byte(self.framing) / self.baud

    def _asking_s(self, request: int, reply: int) -> float:
        return self.wire_s(request + reply) + self.latency_s


_LONGEST = joint_constant((-149.99, -59.99, -109.99, -89.99, -199.99))
_TARGET = len(encode(f"EXECJT={_LONGEST}"))
_MOVE = len(encode("EXECMOV JT"))
_HOT = len(encode(f"HOTHILHOT;JT={_LONGEST}"))
_PRINTED = len("PRN 999,-149.99,-59.99,-109.99,-89.99,-199.99,100.0,-609.95\r")
_JOINTS = len(encode("JPOSF"))
_STATUS = len(encode("DSTATE"))


def bits_per_byte(framing: str) -> int:
    """Bit times of one byte: start, data, parity, stop."""
    return 1 + int(framing[0]) + (framing[1] != "N") + int(framing[2])


class Rv2ajTable(Record, frozen=True):
    """The ``[controller]`` table as it stands in a rig."""

    port: Annotated[str, Meta(min_length=1)]
    kind: Literal["rv2aj"] = "rv2aj"
    baud: Literal[9600, 19200, 38400] = 9600
    framing: Literal["8E2", "8E1", "8N1", "8N2", "8O1", "8O2"] = "8E2"
    way: Literal["segments", "hot", "line", "mxt"] = "segments"
    send_period_ms: Annotated[int, Meta(ge=100, le=10_000)] = 1500
    override_percent: Annotated[int, Meta(ge=1, le=100)] = FIRST_OVERRIDE
    override_watched_by: Annotated[str, Meta(min_length=1)] | None = None
    max_speed_deg_s: Five = (180.0, 90.0, 135.0, 180.0, 210.0)
    lower_deg: Five = LOWER_DEG
    upper_deg: Five = UPPER_DEG
    latency_ms: Annotated[float, Meta(ge=0, le=500)] = 20.0
    ramp_ms: Annotated[float, Meta(ge=0, le=2000)] = 200.0
    reply_timeout_ms: Annotated[float, Meta(gt=0, le=2000)] = 300.0
    servo_timeout_ms: Annotated[float, Meta(gt=0, le=30_000)] = 5000.0
    mxt: Annotated[str, Meta(pattern=r"^[A-Za-z0-9.-]+:\d{1,5}$")] | None = None
    computer: Annotated[str, Meta(pattern=r"^\d{1,3}(\.\d{1,3}){3}$")] | None = None
    mxt_filter_ms: Annotated[int, Meta(ge=0, le=500)] = 0
    mxt_silent_ms: Annotated[float, Meta(ge=20, le=200)] = 40.0


def settings_from_table(table: Mapping[str, Any], axes: tuple[tuple[str, str], ...], file: str) -> Rv2ajSettings:
    """Check a rig's ``[controller]`` table and turn it into settings.

    Args:
        table: what tomllib gave.
        axes: name and kind of every axis of the rig, in order.
        file: name for messages.

    Raises:
        ConfigError: a key is unknown, missing, or its value cannot be; or the axes are not the arm's five.
    """
    findings = Findings(file, {"controller": table})
    findings.not_finite(table, "controller")
    raw = findings.read(table, Rv2ajTable, "controller")
    _check(raw, axes, findings)
    findings.stop()
    settings = Rv2ajSettings(
        port_url=raw.port,
        baud=raw.baud,
        framing=raw.framing,
        way=Way(raw.way),
        send_period_s=raw.send_period_ms / 1000.0,
        override_percent=raw.override_percent,
        max_speed_deg_s=raw.max_speed_deg_s,
        lower_deg=raw.lower_deg,
        upper_deg=raw.upper_deg,
        latency_s=raw.latency_ms / 1000.0,
        ramp_s=raw.ramp_ms / 1000.0,
        reply_timeout_s=raw.reply_timeout_ms / 1000.0,
        servo_timeout_s=raw.servo_timeout_ms / 1000.0,
        mxt=raw.mxt or "",
        computer=raw.computer or "",
        filter_s=raw.mxt_filter_ms / 1000.0,
        silent_s=raw.mxt_silent_ms / 1000.0,
    )
    if settings.chord_share <= 0.0:
        lost_ms = (1.0 - settings.chord_share) * raw.send_period_ms
        raise ConfigError(
            file,
            "controller.send_period_ms",
            raw.send_period_ms,
            f"more than {lost_ms:.0f} with way = {raw.way!r} at {raw.baud} baud",
            "That much of it goes by in requests and ramps; what is left is time to move in",
        )
    return settings


def _check(raw: Rv2ajTable, axes: tuple[tuple[str, str], ...], findings: Findings) -> None:
    """What the bounds of single keys do not say."""
    if axes != tuple((name, "revolute") for name in JOINTS):
        names = [f"{name} ({kind})" for name, kind in axes]
        allowed = f"{', '.join(JOINTS)}, all of them turning"
        findings.say("joints", names, allowed, "An RV-2AJ has no J4 and its hand is no axis")
    if raw.override_percent > FIRST_OVERRIDE and raw.override_watched_by is None:
        findings.say(
            "controller.override_percent",
            raw.override_percent,
            f"at most {FIRST_OVERRIDE} until the first motion of this arm was watched",
            f"Run a motion at {FIRST_OVERRIDE}; then say who watched it, and when, as controller.override_watched_by",
        )
    if raw.way == "mxt":
        for key, value, example in (
            ("mxt", raw.mxt, "192.168.0.20:10000"),
            ("computer", raw.computer, "192.168.0.100"),
        ):
            if value is None:
                what = "the controller's address and UDP port" if key == "mxt" else "this computer's own address"
                findings.say(f"controller.{key}", value, f"{what}, such as {example}", 'way = "mxt" needs it')
    for index, (low, high, speed) in enumerate(zip(raw.lower_deg, raw.upper_deg, raw.max_speed_deg_s, strict=True)):
        if low >= high:
            findings.say(f"controller.lower_deg.{index}", low, f"less than upper_deg = {high:g}")
        if speed <= 0.0:
            findings.say(f"controller.max_speed_deg_s.{index}", speed, "more than 0")
