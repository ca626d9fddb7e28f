"""Whatever rig, motion, requests, times and line: no byte leaves the port that could move the arm as it must not move.

The judge is `hil.testing.oracle`: it reads the bytes by the manual and knows nothing of driver, guard or bridge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from virtual_session import Session, forged, load, lynx6, script

from drivers.ssc32 import Ssc32Settings
from hil.errors import CommandError
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.motion.planner import plan_joint_move
from hil.refusal import RefusedError
from hil.testing.oracle import UnsafeBytes
from hil.types import (
    Arm,
    Confirm,
    Disconnect,
    EmergencyStop,
    JointCommand,
    LetGo,
    Load,
    Mode,
    Request,
    Reset,
    Start,
    Stop,
    TickRecord,
)
from sim.ssc32 import Firmware

AXES = len(lynx6().axes)


# -- rigs --------------------------------------------------------------------------------------------------


@st.composite
def calibrations(draw: st.DrawFn, lower: float, upper: float, beyond: float) -> tuple[tuple[float, float], ...]:
    """Two to five points, strictly monotone either way, reaching a share of the span beyond the joint's limits."""
    count = draw(st.integers(2, 5))
    spread = upper - lower
    gaps = draw(st.lists(st.floats(0.2, 1.0), min_size=count - 1, max_size=count - 1))
    places = np.concatenate([[0.0], np.cumsum(gaps)]) / sum(gaps)
    rises = draw(st.lists(st.floats(0.2, 1.0), min_size=count - 1, max_size=count - 1))
    heights = np.concatenate([[0.0], np.cumsum(rises)]) / sum(rises)
    low, high = draw(st.floats(500.0, 1100.0)), draw(st.floats(1900.0, 2500.0))
    pulses = low + heights * (high - low)
    if draw(st.booleans()):
        pulses = pulses[::-1]
    xs = lower - beyond * spread + places * spread * (1 + 2 * beyond)
    return tuple((float(x), float(pulse)) for x, pulse in zip(xs, pulses, strict=True))


@st.composite
def rigs(draw: st.DrawFn) -> Rig:
    """The Lynx6 with other channels, calibrations, limits and rates; one in eight makes no sense of them together."""
    rig = lynx6()
    shortest = -0.05 if draw(st.integers(0, 7)) == 7 else 0.04
    controller = rig.controller
    assert isinstance(controller, Ssc32Settings)
    channels = draw(st.permutations(range(32)))
    wires, axes = [], []
    for i, (axis, wire) in enumerate(zip(rig.axes, controller.axes, strict=True)):
        span = axis.upper - axis.lower
        lower = axis.lower + draw(st.floats(0.0, 0.02)) * span
        upper = axis.upper - draw(st.floats(0.0, 0.02)) * span
        axes.append(
            msgspec.structs.replace(
                axis,
                lower=lower,
                upper=upper,
                park=min(max(axis.park, lower), upper),
                speed=axis.speed * draw(st.floats(0.2, 2.0)),
                divergence=span,
            )
        )
        points = draw(calibrations(axis.lower, axis.upper, draw(st.floats(shortest, 0.1))))
        ends = sorted(pulse for _, pulse in points)
        lower_us = math.ceil(ends[0]) + draw(st.integers(0, 20))
        upper_us = math.floor(ends[-1]) - draw(st.integers(0, 20))
        wires.append(
            msgspec.structs.replace(wire, channel=channels[i], points=points, lower_us=lower_us, upper_us=upper_us)
        )
    canary = draw(st.sampled_from([None, channels[AXES]]))
    return msgspec.structs.replace(
        rig,
        axes=tuple(axes),
        energise_order=tuple(draw(st.permutations(range(AXES)))),
        energise_dwell_s=0.06,
        look_ahead_s=draw(st.sampled_from([0.02, 0.04, 0.06, 0.1])),
        shapes=() if draw(st.booleans()) else rig.shapes,
        controller=msgspec.structs.replace(controller, axes=tuple(wires), canary_channel=canary),
    )


# -- motions that nobody checked ---------------------------------------------------------------------------


@st.composite
def wild_rows(draw: st.DrawFn, rig: Rig, start: Sequence[float]) -> np.ndarray:
    """Samples that no planner would make: steps, walks, and far away places, or a planned move with a slip in it."""
    count = draw(st.integers(1, 60))
    kind = draw(st.sampled_from(["walk", "step", "planned", "smooth"]))
    event(f"motion: {kind}")
    rows = np.tile(np.asarray(start, dtype=float), (count, 1))
    axis = draw(st.integers(0, AXES - 1))
    if kind == "walk":
        scale = draw(st.sampled_from([1e-4, 1e-3, 1e-2, 0.1, 1e300]))
        seeds = draw(st.lists(st.floats(-1.0, 1.0), min_size=count, max_size=count))
        rows[:, axis] += scale * np.cumsum(seeds)
    elif kind == "step":
        rows[draw(st.integers(0, count - 1)) :, axis] += draw(
            st.one_of(st.floats(-1.0, 1.0), st.sampled_from([1e-9, 1e9, -1e308, 3.2, -3.2]))
        )
    elif kind == "planned":
        goal = [a.lower + draw(st.floats(0.0, 1.0)) * (a.upper - a.lower) for a in rig.axes]
        try:
            rows = plan_joint_move(rig, start, goal).samples.copy()
        except (RefusedError, CommandError):
            return rows
        if draw(st.booleans()):
            rows[draw(st.integers(0, len(rows) - 1)) :, axis] += draw(st.floats(-0.05, 0.05))
    else:
        far = draw(st.floats(-4.0, 4.0))
        rows[:, axis] += far * (1.0 - np.cos(np.linspace(0.0, math.pi, count))) / 2.0
    return np.asarray(rows[:120])


# -- people, and what else there is ------------------------------------------------------------------------


def positions(rig: Rig) -> st.SearchStrategy[tuple[float, ...]]:
    near = st.tuples(*(st.floats(axis.lower - 0.1, axis.upper + 0.1) for axis in rig.axes))
    odd = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8).map(tuple)
    return st.one_of(st.just(rig.park), near, odd)


def requests(rig: Rig, motion: Motion) -> st.SearchStrategy[Request]:
    other = st.sampled_from(["", "0" * 64, motion.digest])
    return st.one_of(
        st.builds(Confirm, positions=positions(rig), by=st.just("anybody")),
        st.builds(LetGo, axis=st.sampled_from([*(axis.name for axis in rig.axes), "tail"]), by=st.just("anybody")),
        st.builds(Load, motion=st.binary(max_size=60), certificate=st.binary(max_size=60)),
        st.just(load(motion, forged(rig, motion))),
        st.builds(Arm, digest=other),
        st.builds(Start, digest=other),
        st.builds(Stop, reason=st.just("anybody")),
        st.builds(EmergencyStop, reason=st.just("anybody")),
        st.builds(Reset, by=st.just("anybody")),
        st.builds(Disconnect, reason=st.just("anybody")),
    )


WAITS_S = st.one_of(st.just(0.02), st.floats(0.018, 0.022), st.floats(0.0, 0.13), st.sampled_from([0.3, 2.0, 100.0]))
LINES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["lost", "garbled", "doubled"]),
                "probability": st.floats(0.0, 0.3),
                "direction": st.sampled_from(["replies", "commands"]),
                "at_s": st.floats(0.0, 3.0),
            }
        ),
        st.fixed_dictionaries({"kind": st.just("late"), "every": st.integers(1, 30), "delay_ms": st.floats(0.1, 99.0)}),
        st.fixed_dictionaries({"kind": st.sampled_from(["unplug", "hung"]), "at_s": st.floats(0.0, 4.0)}),
        st.fixed_dictionaries({"kind": st.just("reset"), "at_s": st.floats(0.0, 4.0)}),
    ),
    max_size=2,
)


def judge(s: Session, *, freezes_by_moves: bool = False) -> UnsafeBytes:
    oracle = UnsafeBytes(s.rig, freezes_by_moves=freezes_by_moves).take(s.records)
    oracle.check()
    return oracle


def reached(s: Session, mode: Mode, *asked: Request, within_s: float = 4.0) -> bool:
    """Tick until the mode is reached; False if it never is."""
    end_s = s.clock.now_s() + within_s
    s.tick(*asked)
    while s.mode is not mode and s.clock.now_s() < end_s and not s.bridge.finished:
        s.tick()
    return s.mode is mode


def streamed(s: Session, motion: Motion) -> None:
    s.tick(load(motion, forged(s.rig, motion)), Arm(digest=motion.digest))
    s.tick(Start(digest=motion.digest))


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=100, deadline=None, print_blob=True, suppress_health_check=QUIET)
@given(data=st.data(), rig=rigs(), firmware=st.sampled_from(list(Firmware)), driven=st.booleans())
def test_no_motion_however_wild_makes_an_unsafe_byte(
    data: st.DataObject, rig: Rig, firmware: Firmware, driven: bool
) -> None:
    """Certificates are made for motions that nobody checked: the guard and the driver are on their own."""
    s = Session(rig, firmware=firmware, baud=115200)
    if not reached(s, Mode.UNKNOWN_POSE) or not reached(s, Mode.IDLE, s.confirm()):
        event(f"not driven: {s.mode.value}")
        judge(s, freezes_by_moves=firmware is Firmware.V1)
        return
    for _ in range(2):
        motion = Motion([axis.name for axis in rig.axes], rig.period_s, data.draw(wild_rows(rig, s.bridge._trail.here)))
        streamed(s, motion)
        if data.draw(st.booleans()):
            for _ in range(data.draw(st.integers(1, 30))):
                s.tick(after_s=data.draw(WAITS_S))
            s.tick(Stop(reason="the test"))
        for _ in range(150):
            if s.mode not in (Mode.STREAMING, Mode.STOPPING):
                break
            s.tick()
        event(f"ended: {s.mode.value}")
    judge(s, freezes_by_moves=firmware is Firmware.V1)


@settings(max_examples=60, deadline=None, print_blob=True, suppress_health_check=QUIET)
@given(data=st.data(), rig=rigs(), firmware=st.sampled_from(list(Firmware)), faults=LINES, seed=st.integers(0, 2**32))
def test_no_requests_at_whatever_times_on_however_bad_a_line_make_an_unsafe_byte(
    data: st.DataObject, rig: Rig, firmware: Firmware, faults: list[dict[str, Any]], seed: int
) -> None:
    s = Session(rig, firmware=firmware, baud=115200, faults=script(*faults, seed=seed))
    rows = data.draw(wild_rows(rig, rig.park))
    motion = Motion([axis.name for axis in rig.axes], rig.period_s, rows)
    wanted = requests(rig, motion)
    if data.draw(st.booleans()):
        reached(s, Mode.UNKNOWN_POSE, within_s=2.0)
        reached(s, Mode.IDLE, s.confirm(), within_s=2.0)
        event(f"begun in {s.mode.value}")
    for _ in range(data.draw(st.integers(1, 40))):
        if s.bridge.finished:
            break
        asked = data.draw(st.lists(wanted, max_size=2))
        s.tick(*asked, after_s=data.draw(WAITS_S))
        for _ in range(data.draw(st.integers(0, 10))):
            s.tick()
    judge(s, freezes_by_moves=firmware is Firmware.V1)


@settings(max_examples=40, deadline=None, print_blob=True)
@given(noise=st.lists(st.binary(max_size=40), min_size=5, max_size=60), asked=st.data())
def test_nothing_that_comes_back_on_the_line_makes_an_unsafe_byte(noise: list[bytes], asked: st.DataObject) -> None:
    """The other end says what it likes, be it an SSC-32 or not."""
    s = Session()
    s.tick()
    answers = iter(noise)
    s.line.lie = lambda data: next(answers, data)
    for _ in range(200):
        if s.mode is Mode.UNKNOWN_POSE:
            s.tick(s.confirm())
        elif s.mode is Mode.IDLE:
            rows = np.tile(s.bridge._trail.here, (20, 1))
            streamed(s, Motion([axis.name for axis in s.rig.axes], s.rig.period_s, rows))
        elif s.mode is Mode.FAULT:
            s.tick(Reset(by="the test"))
        s.tick()
    judge(s)


# -- the judge is not blind --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"#0P2400T60\r", "every axis once"),
        (b"#0P1460\r", "outside the guided first move"),
        (b"#9P1500\r", "not the rig's"),
        (b"#0P1460.5T60\r", "not a line that may leave"),
        (b"\xff\x00\x80", "can begin a binary command"),
        (b"\xff\x1b\r", "can begin a binary command"),
        (b"PL 0 SQ 1\r", "not a line that may leave"),
        (b"GOBOOT\r", "not a line that may leave"),
        (b"R0=8\r", "not a line that may leave"),
        (b"SSCAT #0P1500;\r", "not a line that may leave"),
        (b"STOP9\r", "not the rig's"),
        (b"#31P1400\r", "the canary is set once"),
        (b"#0P1460#1P1520#2P1725#3P1455#5P1580#4P1760T60\r", "steps by"),
        (b"#0P1460#1P1520#2P1725#3P1455#5P1580#4P1760T20\r", "not the look-ahead"),
        (b"#0P1460#1P1520#2P1725#3P1455#5P1580#4P1760\r", "not a line that may leave"),
        (b"#0P526#1P2322#2P918#3P2281#5P1580#4P2112T60\r", "outside its pulse limits"),
    ],
)
def test_the_judge_sees_what_must_not_leave(line: bytes, words: str) -> None:
    s = Session().to(Mode.STREAMING)
    record = next(r for r in s.records if isinstance(r.sent, JointCommand))
    spoilt: list[TickRecord] = []
    for each in s.records:
        spoilt.append(msgspec.structs.replace(each, written=each.written + line) if each is record else each)
    findings = UnsafeBytes(s.rig).take(spoilt).findings
    assert any(words in finding.text for finding in findings)


def test_the_judge_wants_a_first_command_alone_and_a_confirmed_pose() -> None:
    s = Session().to(Mode.STREAMING)
    unconfirmed = [msgspec.structs.replace(r, requests=()) for r in s.records]
    assert any("without a confirmed pose" in f.text for f in UnsafeBytes(s.rig).take(unconfirmed).findings)
    never_driven = [
        msgspec.structs.replace(r, written=b"") if b"#0P" in r.written and b"T" not in r.written else r
        for r in s.records
    ]
    assert any("never driven alone" in f.text for f in UnsafeBytes(s.rig).take(never_driven).findings)
