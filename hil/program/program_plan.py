"""A whole program as one motion, with the inputs that it assumes: what a preview checks and a certificate binds."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from hil.errors import ConfigError
from hil.link import FloatArray
from hil.model.rig import AxisKind, Rig
from hil.motion.motion import MAX_DURATION_S, ExpectedInput, Kind, Mark, Motion
from hil.motion.profiles import HEADROOM, rest_to_rest
from hil.program.arm import ProgramArm
from hil.program.errors import ProgramError
from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.motions import limits_of
from hil.program.rv2aj import Rv2aj
from hil.program.settings import Settings
from hil.program.signals import HAND_OUTPUTS, AssumedSignals, Inputs
from hil.program.steps import StepRecorder
from hil.program.structure import Program
from hil.program.trace import TraceRow, row_now
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.types import Record
from hil.units import DEG, MM

TRIAL_DEG = (20.0, 30.0, 50.0, 40.0, 60.0)
AGREE_MM = 0.01

USUAL_DURATION_S = 600.0
PATIENCE_S = 60.0
"""How long a program may wait after the last assumed input, before it is taken to wait for ever."""

CHECK = "P-01"


class ExpectedText(Record, frozen=True):
    """A line of text that INPUT, or an interrupt, took while a sample was made."""

    sample: int
    number: int
    text: str


class Sent(Record, frozen=True):
    """What PRINT sent while a sample was made."""

    sample: int
    number: int
    text: str


class ProgramPlan(NamedTuple):
    """A program, played through.

    Attributes:
        motion: every sample; its marks name lines, and the first one the digest, so that a certificate of the motion
            binds the program's text and the inputs.
        trace: one row a sample, the start included.
        expected: inputs that the arm has to find; where one differs, it is held. They are part of the motion.
        texts: lines of text that it has to find.
        sent: what it sent.
        notices: words for the user.
        ended: False if it was cut, or stopped by HLT.
        resting: for each row of the trace, True if no move was under way at its end.
        digest: SHA-256 over program, called programs, points, inputs, settings, start and period.
    """

    motion: Motion
    trace: tuple[TraceRow, ...]
    expected: tuple[ExpectedInput, ...]
    texts: tuple[ExpectedText, ...]
    sent: tuple[Sent, ...]
    notices: tuple[str, ...]
    ended: bool
    resting: tuple[bool, ...]
    digest: str

    def differing(self, sample: int, inputs: Mapping[int, int]) -> tuple[ExpectedInput, ...]:
        """Expectations of a sample that inputs, as they really are, do not meet; an input that is not named is 0."""
        return tuple(
            each
            for each in self.expected
            if each.first <= sample <= each.last and inputs.get(each.signal, 0) != each.value
        )


def arm_of(rig: Rig) -> ProgramArm:
    """The arm of a rig as programs see it, within the rig's soft limits.

    Raises:
        ConfigError: programs cannot run on it.
    """
    joints = [axis for axis in rig.axes if axis.kind is not AxisKind.GRIPPER]
    names = tuple(axis.name for axis in joints)
    arm = Rv2aj(
        [(axis.lower + axis.soft_margin) / DEG for axis in joints],
        [(axis.upper - axis.soft_margin) / DEG for axis in joints],
    )
    if len(joints) != len(arm.slots) or not _same_arm(rig, arm):
        raise ConfigError(
            rig.file or rig.id,
            "robot",
            f"{rig.robot.id} with joints {', '.join(names)}",
            "an RV-2AJ, joints J1, J2, J3, J5, J6",
            "MELFA-BASIC programs run on that arm",
        )
    return arm


def _same_arm(rig: Rig, arm: ProgramArm) -> bool:
    trial = [angle * DEG for angle in TRIAL_DEG]
    point = Robot(rig.robot).forward_kinematics(trial)[:3, 3] / MM
    return bool(np.abs(point - np.array(arm.position(trial).members[:3])).max() < AGREE_MM)


def plan_program(
    rig: Rig,
    program: Program,
    inputs: Inputs | None = None,
    *,
    start: Sequence[float] | None = None,
    settings: Settings | None = None,
    library: Mapping[str, Program] | None = None,
    most_s: float = USUAL_DURATION_S,
    cut: bool = False,
    steps: StepRecorder | None = None,
) -> ProgramPlan:
    """Play a program through once and keep every sample.

    Args:
        rig: limits and period.
        program: what to play.
        inputs: everything from outside that it may meet.
        start: joints at its start, radians; the rig's home if not given.
        settings: what the language leaves open.
        library: programs that CALLP may name.
        most_s: how long it may take.
        cut: stop it there, on its way, instead of refusing it.
        steps: keeps every statement with the variables that it changed.

    Raises:
        ConfigError: the rig's arm is none for programs.
        ProgramError: a statement cannot be done.
        RefusedError: it does not end in time, or waits for an input that nobody assumes.
    """
    plan, error = plan_program_until_refused(
        rig,
        program,
        inputs,
        start=start,
        settings=settings,
        library=library,
        most_s=most_s,
        cut=cut,
        steps=steps,
    )
    if error is not None:
        raise error
    return plan


def plan_program_until_refused(
    rig: Rig,
    program: Program,
    inputs: Inputs | None = None,
    *,
    start: Sequence[float] | None = None,
    settings: Settings | None = None,
    library: Mapping[str, Program] | None = None,
    most_s: float = USUAL_DURATION_S,
    cut: bool = False,
    steps: StepRecorder | None = None,
) -> tuple[ProgramPlan, ProgramError | RefusedError | None]:
    """Play a program up to where it cannot go on; arguments as for `plan_program`.

    Returns:
        The plan up to there, and why it ends; None for a program that was played through.

    Raises:
        ConfigError: the rig's arm is none for programs.
    """
    arm, limits = arm_of(rig), limits_of(rig)
    assumed, settings = inputs or Inputs(), _with_rests(rig, settings or Settings())
    joints = list(start if start is not None else rig.home[: len(arm.slots)])
    recorder = _Recorder(assumed)
    machine = Interpreter(program, arm, recorder, limits, joints, settings=settings, library=library)
    recorder.machine = machine
    if steps is not None:
        machine.before_statement = recorder.aside(lambda: steps.statement(machine))
        recorder.aside(lambda: steps.begin(machine))()
    machine.run()
    rows, trace = [machine.row], [row_now(machine, recorder)]
    moved, resting = [False], [True]
    most = min(most_s, MAX_DURATION_S)
    waiting_since: float | None = None
    refused: ProgramError | RefusedError | None = None
    while machine.state is SlotState.RUNNING or machine.stopping:
        machine.tick()
        recorder.close_tick()
        if steps is not None:
            recorder.aside(lambda: steps.look(machine))()
        rows.append(machine.row)
        trace.append(row_now(machine, recorder))
        moved.append(machine.moving)
        resting.append(machine.motion is None and not machine.stopping)
        waiting_since = (waiting_since or machine.now_s) if machine.blocked else None
        if machine.now_s >= most and machine.state is SlotState.RUNNING:
            if not cut:
                refused = _endless(machine, most)
                break
            machine.stop()
        patient = waiting_since is None or machine.now_s - max(waiting_since, recorder.horizon_s) < PATIENCE_S
        if not patient and not cut:
            refused = _waiting(machine)
            break
    refused = refused or machine.error
    ended = machine.state is SlotState.ENDED
    if not ended and machine.now_s < most:
        machine.note("HLT: the plan ends here; on the controller, start goes on with the next line")
    digest = _digest(program, library or {}, assumed, settings, joints, rig.period_s)
    samples = _with_gripper(rig, np.array(rows), recorder.hand)
    marks = _marks(trace, moved, digest)
    motion = Motion([axis.name for axis in rig.axes], rig.period_s, samples, marks, recorder.expected())
    plan = ProgramPlan(
        motion,
        tuple(trace),
        motion.expected,
        tuple(recorder.texts),
        tuple(recorder.printed),
        tuple(machine.notices),
        ended,
        tuple(resting),
        digest,
    )
    return plan, refused


def _with_rests(rig: Rig, settings: Settings) -> Settings:
    """A controller of few targets cuts the corner between two moves, unless the arm rests there for one of them."""
    pace = rig.controller.pace
    if pace is None or settings.rest_s >= pace.longest_s:
        return settings
    return msgspec.structs.replace(settings, rest_s=pace.longest_s)


class _Recorder(AssumedSignals):
    """Assumed signals that remember what was asked, and by whom.

    Attributes:
        hand: outputs of hand 1 by sample, as opened or not.
    """

    machine: Interpreter

    def __init__(self, inputs: Inputs) -> None:
        super().__init__(inputs)
        self._aside = False
        self._asked: dict[int, tuple[int, bool]] = {}
        self._open_ended: dict[int, ExpectedInput] = {}
        self._closed: list[ExpectedInput] = []
        self.texts: list[ExpectedText] = []
        self.printed: list[Sent] = []
        self.hand: list[tuple[int, bool]] = [(0, True)]

    def input_bit(self, signal: int) -> int:
        """Remember it."""
        value = super().input_bit(signal)
        if self._aside:
            return value
        before = self._asked.get(signal, (value, False))
        self._asked[signal] = (value, before[1] or self.machine.watching)
        return value

    def aside(self, act: Callable[[], None]) -> Callable[[], None]:
        """The same act, whose looks at inputs decide nothing and are not remembered."""

        def acting() -> None:
            self._aside = True
            try:
                act()
            finally:
                self._aside = False

        return acting

    def receive(self, number: int) -> str | None:
        """Remember it."""
        text = super().receive(number)
        if text is not None:
            self.texts.append(ExpectedText(sample=self.machine.ticks + 1, number=number, text=text))
        return text

    def send(self, number: int, text: str) -> None:
        """Remember it."""
        super().send(number, text)
        self.printed.append(Sent(sample=self.machine.ticks + 1, number=number, text=text))

    def write_bit(self, signal: int, value: int) -> None:
        """Remember hand 1."""
        super().write_bit(signal, value)
        if signal == HAND_OUTPUTS and self.hand[-1][1] != bool(value):
            self.hand.append((self.machine.ticks + 1, bool(value)))

    def close_tick(self) -> None:
        """Keep what this tick asked; what a statement asked in vain decided nothing."""
        sample, waits = self.machine.ticks, self.machine.blocked
        for signal, (value, watched) in self._asked.items():
            if waits and not watched:
                continue
            before = self._open_ended.get(signal)
            if before is not None and before.value == value and before.last == sample - 1:
                self._open_ended[signal] = msgspec.structs.replace(before, last=sample)
            else:
                if before is not None:
                    self._closed.append(before)
                self._open_ended[signal] = ExpectedInput(first=sample, last=sample, signal=signal, value=value)
        self._asked.clear()

    def expected(self) -> tuple[ExpectedInput, ...]:
        """All of it, in the order of samples."""
        return tuple(sorted([*self._closed, *self._open_ended.values()], key=lambda each: (each.first, each.signal)))


def _digest(
    program: Program,
    library: Mapping[str, Program],
    inputs: Inputs,
    settings: Settings,
    start: Sequence[float],
    period_s: float,
) -> str:
    programs = [program.digest, *(f"{name} {library[name].digest}" for name in sorted(library))]
    parts = (programs, inputs, settings, [float(value) for value in start], period_s)
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


def _marks(trace: Sequence[TraceRow], moved: Sequence[bool], digest: str) -> list[Mark]:
    """One mark a line, as long as it lasts; the first one names the program's digest."""
    marks = [Mark(first=0, last=0, step=0, kind="wait", label=f"program {digest}")]
    first = 0
    for k in range(1, len(trace)):
        after = k + 1
        same = after < len(trace) and (trace[after].line, moved[after]) == (trace[k].line, moved[k])
        if not same:
            kind: Kind = "joint" if moved[k] else "wait"
            label = f"line {trace[k].line}: {trace[k].statement}"
            marks.append(Mark(first=first, last=k, step=0, kind=kind, label=label))
            first = k
    return marks


def _with_gripper(rig: Rig, rows: FloatArray, hand: Sequence[tuple[int, bool]]) -> FloatArray:
    """The joints, and a gripper that follows hand 1 if the rig has one: HOPEN and HCLOSE do not wait for it."""
    index = rig.gripper
    if index is None:
        return rows
    axis = rig.axes[index]
    wide, shut = axis.upper - axis.soft_margin, axis.lower + axis.soft_margin
    column = np.full(len(rows), wide)
    busy = 0
    for sample, opened in hand[1:]:
        begin = max(sample - 1, busy)
        way = (wide if opened else shut) - column[-1]
        if begin >= len(rows) or way == 0.0:
            continue
        run = rest_to_rest(
            abs(way), axis.speed * HEADROOM, axis.acceleration * HEADROOM, axis.jerk * HEADROOM, rig.period_s
        )
        values = column[-1] + math.copysign(1.0, way) * run
        busy = begin + len(run) - 1
        # A hand that is still moving at the end would not end at rest: the arm then waits for it.
        if busy >= len(rows):
            more = busy + 1 - len(rows)
            rows = np.concatenate([rows, np.repeat(rows[-1:], more, axis=0)])
            column = np.concatenate([column, np.repeat(column[-1:], more)])
        column[begin : busy + 1] = values
        column[busy:] = values[-1]
    return np.insert(rows, index, column, axis=1)


def _endless(machine: Interpreter, most_s: float) -> RefusedError:
    line = machine.shown_line
    where = f"line {line.number or line.row}: {line.text}" if line else "the program"
    return _refused(
        "duration",
        f"ends within {most_s:g} s",
        f"it is still at {where}",
        "Let it end, allow it more time, or have it cut there.",
        machine,
    )


def _waiting(machine: Interpreter) -> RefusedError:
    line = machine.shown_line
    where = f"line {line.number or line.row}: {line.text}" if line else "a line"
    return _refused(
        "inputs",
        "every WAIT and INPUT is met by an assumed input",
        f"nothing that is assumed ends the waiting at {where}",
        "Assume the input that it waits for, with its time.",
        machine,
    )


def _refused(subject: str, limit: str, found: str, advice: str, machine: Interpreter) -> RefusedError:
    refusal = Refusal(
        check=CHECK,
        subject=subject,
        limit=f"{limit}; {found}",
        margin=-1.0,
        unit="program",
        nearest_allowed=limit,
        advice=advice,
        sample=machine.ticks,
        time_s=machine.now_s,
        place=machine.program.file or machine.program.name,
    )
    return RefusedError([refusal], "the program cannot be planned")
