"""Bad lines to a Lynx6 on virtual time, judged by the fake's own pulses and by nothing that the product counts.

A jump is a step of one channel between two frames that the rig's speed limit does not allow, however uneven the lines
came; a wrong refresh is a frame with one or more of them.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from virtual_session import Session, certified, load, script, swing

from hil.motion.motion import Motion
from hil.types import Arm, JointCommand, Mode, Start

UNEVEN = 1.34
"""A step can be a third longer than a frame at the speed limit, when lines come unevenly: docs/faults-and-kills.md."""
LOOK_S = 0.4
"""For so long the pulses are watched once the motion has ended."""


def named(session: Session) -> str:
    """What the loop said of the first fault, or of the first hold; empty if neither came."""
    words = [event for event in session.events if "-> fault: " in event or "stop: " in event]
    return words[0] if words else ""


def first_fault(session: Session) -> str:
    """The first fault's words; empty without one."""
    return next((event for event in session.events if "-> fault: " in event), "")


def streaming(session: Session, motion: Motion | None = None) -> Session:
    """Bring a session into STREAMING, at the motion's first sample."""
    motion = swing() if motion is None else motion
    session.to(Mode.IDLE)
    session.tick(load(motion, certified(session.rig, motion)), Arm(digest=motion.digest))
    session.tick(Start(digest=motion.digest))
    assert session.mode is Mode.STREAMING, session.events[-1]
    return session


def befall(session: Session, **fault: Any) -> None:
    """From now on this goes wrong on the session's line; `after_s` puts it off."""
    at_s = session.clock.now_s() + fault.pop("after_s", 0.0)
    seed = fault.pop("seed", 1)
    session.port.line._faults = script({**fault, "at_s": at_s}, seed=seed)


class Restart(NamedTuple):
    """What a restart of the board in the middle of a motion came to.

    Attributes:
        left: moves that were sent after it; reached: those of them that the board took once it had booted.
        held_s, noticed_s: from the restart to the end of the stream, and to the fault.
    """

    left: int
    reached: int
    held_s: float
    noticed_s: float
    words: str


def restart(phase_s: float, boot_s: float, board_start_s: float = 0.0) -> Restart:
    """Restart the board `phase_s` after a tick of a motion that is at full speed."""
    session = Session(boot_s=boot_s, board_start_s=board_start_s)
    session.to(Mode.STREAMING)
    arrived: list[tuple[float, bytes]] = []
    receive = session.board.receive

    def heard(data: bytes, start_s: float, byte_s: float, *framing: Any) -> None:
        arrived.append((start_s + len(data) * byte_s, data))
        receive(data, start_s, byte_s, *framing)

    session.board.receive = heard  # type: ignore[method-assign]
    session.run(0.2)
    at_s = session.clock.now_s() + phase_s + 1e-6
    while session.clock.now_s() + session.rig.period_s < at_s:
        session.tick()
    session.board.power_cycle(at_s)
    before, held_s = len(session.records), float("inf")
    while session.mode is not Mode.FAULT:
        session.tick()
        since_s = session.clock.now_s() - at_s
        assert since_s < boot_s + 2.0, f"a restart was not noticed: {session.events[-2:]}"
        if session.mode is not Mode.STREAMING:
            held_s = min(held_s, since_s)
    return Restart(
        left=sum(isinstance(record.sent, JointCommand) for record in session.records[before:]),
        reached=sum(end_s > at_s + boot_s and b"#" in data for end_s, data in arrived),
        held_s=held_s,
        noticed_s=session.clock.now_s() - at_s,
        words=session.events[-1],
    )


class Noise(NamedTuple):
    """What a noisy line came to in one motion.

    Attributes:
        words: of the first fault or stop; fault: of the first fault.
        wrong: wrong refreshes in all.
        after: the most of them after the loop had read a first wrong echo, until that was settled or the arm stopped.
        largest: largest jump, as a multiple of a frame at the speed limit; a pulse that ends or begins anew is none.
        span_s: from the first jump to the last.
        vanished: a channel was without a pulse for a while.
    """

    mode: Mode
    words: str
    fault: str
    wrong: int
    after: int
    largest: float
    span_s: float
    vanished: bool


def noise(seed: int, within_s: float = 4.5, motion: Motion | None = None, **fault: Any) -> Noise:
    """One motion on a line with this fault, and a while after it."""
    session = streaming(Session(board_start_s=-(seed % 7) * 0.0027), motion)
    begun = len(session.pulses)
    last_us = {axis.channel: session.board.pulse_us(axis.channel) for axis in session.settings.axes}
    befall(session, seed=seed, **fault)
    doubts: list[tuple[float, float]] = []
    since_s: float | None = None
    end_s = session.clock.now_s() + within_s
    while session.mode not in (Mode.FAULT, Mode.HOLDING, Mode.IDLE) and session.clock.now_s() < end_s:
        since_s = _doubt(session, since_s, doubts)
    for _ in range(round(LOOK_S / session.rig.period_s)):
        since_s = _doubt(session, since_s, doubts)
    return _outcome(session, begun, last_us, doubts, since_s)


def _outcome(
    session: Session,
    begun: int,
    last_us: dict[int, float],
    doubts: list[tuple[float, float]],
    since_s: float | None,
) -> Noise:
    if since_s is not None:
        doubts.append((since_s, float("inf")))
    jumps, vanished = _jumps(session, begun, last_us)
    frames = sorted({round(at_s, 6) for at_s, _ in jumps})
    return Noise(
        mode=session.mode,
        words=named(session),
        fault=first_fault(session),
        wrong=len(frames),
        after=max((sum(begin_s < at_s <= over_s for at_s in frames) for begin_s, over_s in doubts), default=0),
        largest=max((step for _, step in jumps), default=0.0),
        span_s=frames[-1] - frames[0] if frames else 0.0,
        vanished=vanished,
    )


def _doubt(session: Session, since_s: float | None, doubts: list[tuple[float, float]]) -> float | None:
    """Tick once; from when the newest doubt lasts. One that a fault settles lasts for ever."""
    record = session.tick()
    doubtful = session.bridge._connection.state.line.doubtful_s is not None
    if since_s is None:
        return record.t_s if doubtful else None
    if doubtful or session.mode is Mode.FAULT:
        return since_s
    doubts.append((since_s, record.t_s))
    return None


def _jumps(session: Session, begun: int, last_us: dict[int, float]) -> tuple[list[tuple[float, float]], bool]:
    """Time and size of every jump, and whether a pulse has vanished."""
    axes = {
        wire.channel: (i, axis)
        for i, (wire, axis) in enumerate(zip(session.settings.axes, session.rig.axes, strict=True))
    }
    jumps, vanished = [], False
    for at_s, channel, pulse_us in session.pulses[begun:]:
        if channel not in axes:
            continue
        index, axis = axes[channel]
        before_us, last_us[channel] = last_us[channel], pulse_us
        if not pulse_us or not before_us:
            vanished = True
            continue
        step = abs(
            session.settings.position(index, round(pulse_us)) - session.settings.position(index, round(before_us))
        )
        frame = axis.speed * session.settings.settle_s
        if step > UNEVEN * frame + 2.0 * float(session.settings.quantum()[index]):
            jumps.append((at_s, step / frame))
    return jumps, vanished


def one_damaged_line(kind: str, at: int, bit: int = 0) -> Noise:
    """One byte of one move damaged, at full speed: what it does, and what comes of it."""
    session = streaming(Session())
    session.run(0.7)
    begun = len(session.pulses)
    last_us = {axis.channel: session.board.pulse_us(axis.channel) for axis in session.settings.axes}
    write = session.port.write
    left = itertools.count()

    def damage(data: bytes, now_s: float) -> None:
        if b"#" in data and next(left) == 0:
            at_byte = at % len(data)
            changed = {"lost": b"", "doubled": data[at_byte : at_byte + 1] * 2}.get(kind)
            changed = bytes([data[at_byte] ^ (1 << bit)]) if changed is None else changed
            data = data[:at_byte] + changed + data[at_byte + 1 :]
        write(data, now_s)

    session.port.write = damage  # type: ignore[method-assign]
    doubts: list[tuple[float, float]] = []
    since_s: float | None = None
    for _ in range(40):
        since_s = _doubt(session, since_s, doubts)
    return _outcome(session, begun, last_us, doubts, since_s)
