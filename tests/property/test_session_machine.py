"""The session as a state machine: whatever comes in whatever order, it goes where a small table says."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from virtual_session import Session, certified, load, lynx6, swing

from hil.motion.planner import plan_joint_move
from hil.testing.oracle import UnsafeBytes
from hil.types import (
    Arm,
    Confirm,
    Disconnect,
    EmergencyStop,
    EndStream,
    JointCommand,
    LetGo,
    Mode,
    Request,
    Reset,
    Start,
    Stop,
)

M = Mode
BY_REQUEST: dict[tuple[Mode, str], set[Mode]] = {
    (M.UNKNOWN_POSE, "confirm"): {M.UNKNOWN_POSE, M.ENERGISING},
    (M.IDLE, "arm"): {M.ARMED},
    (M.HOLDING, "arm"): {M.ARMED},
    (M.ARMED, "start"): {M.STREAMING},
    (M.ENERGISING, "stop"): {M.UNKNOWN_POSE},
    (M.IDLE, "let_go"): {M.UNKNOWN_POSE},
    (M.HOLDING, "let_go"): {M.UNKNOWN_POSE},
    (M.ARMED, "stop"): {M.HOLDING},
    (M.STREAMING, "stop"): {M.STOPPING, M.HOLDING},
    **{(mode, "end_stream"): {M.HOLDING} for mode in (M.ARMED, M.STREAMING, M.STOPPING)},
    (M.ENERGISING, "end_stream"): {M.UNKNOWN_POSE},
    (M.FAULT, "reset"): {M.UNKNOWN_POSE, M.CONNECTING, M.FAULT},
    (M.ESTOP, "reset"): {M.UNKNOWN_POSE, M.CONNECTING, M.FAULT},
    **{(mode, "estop"): {M.ESTOP} for mode in M if mode is not M.DISCONNECTED},
    **{(mode, "disconnect"): {M.DISCONNECTED} for mode in M if mode not in (M.STREAMING, M.STOPPING, M.DISCONNECTED)},
    (M.STREAMING, "disconnect"): {M.STOPPING, M.DISCONNECTED},
    (M.STOPPING, "disconnect"): {M.STOPPING, M.DISCONNECTED},
}
"""Where a request may lead; a pair that is not here leads nowhere."""

BY_ITSELF: dict[Mode, set[Mode]] = {
    M.CONNECTING: {M.UNKNOWN_POSE},
    M.UNKNOWN_POSE: {M.ENERGISING},
    M.ENERGISING: {M.IDLE},
    M.ARMED: {M.IDLE},
    M.STREAMING: {M.IDLE},
    M.STOPPING: {M.HOLDING},
}
"""Where time alone may lead."""

BY_GAP: dict[Mode, set[Mode]] = {M.STREAMING: {M.STOPPING, M.HOLDING}, M.ENERGISING: {M.UNKNOWN_POSE}}
"""Where a gap, or a line that fails, may lead: a silent board is energised no further."""
MOVING = {M.ENERGISING, M.STREAMING, M.STOPPING}
PATIENT_S = 0.2


class SessionMachine(RuleBasedStateMachine):
    """One arm, a person with every button, and a cable that comes out."""

    @initialize(driven=st.booleans())
    def begin(self, driven: bool) -> None:
        self.s = Session(driven=driven)
        self.oracle = UnsafeBytes(self.s.rig)
        self.judged = self.looked_at = 0
        self.disturbed = False
        self.ended = False
        self.since_moving_s = self.s.clock.now_s()
        self.s.tick()

    # -- what happens --------------------------------------------------------------------------------------

    def _do(self, name: str, *requests: Request, after_s: float | None = None) -> None:
        before = self.s.mode
        record = self.s.tick(*requests, after_s=after_s)
        # What is read comes first, then the request, then whatever the new mode does by itself.
        found = self._drift({before}, name)
        asked = found.union(*(BY_REQUEST.get((mode, name), set()) for mode in found))
        allowed = self._drift(asked, name)
        assert record.mode in allowed, f"{before} + {name} -> {record.mode}: {record.events}"
        if before in MOVING or record.mode in MOVING:
            self.since_moving_s = self.s.clock.now_s()

    def _drift(self, modes: set[Mode], name: str) -> set[Mode]:
        reached = modes.union(*(BY_ITSELF.get(mode, set()) for mode in modes))
        if name == "gap" or self.disturbed:
            reached = reached.union(*(BY_GAP.get(mode, set()) for mode in modes))
        if self.disturbed and modes - {M.ESTOP, M.DISCONNECTED}:
            reached |= {M.FAULT}
        return reached

    @rule(ticks=st.integers(1, 60))
    def wait(self, ticks: int) -> None:
        for _ in range(ticks):
            self._do("nothing")

    @rule()
    def wait_until_something_ends(self) -> None:
        before = self.s.mode
        for _ in range(400):
            if self.s.mode is not before or before not in BY_ITSELF or before is M.ARMED:
                break
            self._do("nothing")

    @rule()
    def lapse(self) -> None:
        if self.s.mode is M.ARMED:
            for _ in range(32):
                self._do("nothing", after_s=1.0)
            assert self.s.mode in (M.IDLE, M.FAULT)

    @rule(after_s=st.sampled_from([0.0005, 0.005, 0.035, 0.06]))
    def tick_unevenly(self, after_s: float) -> None:
        self._do("nothing", after_s=after_s)

    @rule(after_s=st.sampled_from([0.08, 0.3, 2.0]))
    def gap(self, after_s: float) -> None:
        self._do("gap", after_s=after_s)

    @rule(wrong=st.sampled_from(["", "far", "short", "nan"]))
    def confirm(self, wrong: str) -> None:
        park = self.s.rig.park
        pose = {"": park, "far": (9.0, *park[1:]), "short": park[:3], "nan": (float("nan"), *park[1:])}[wrong]
        self._do("nothing" if wrong else "confirm", Confirm(positions=pose, by="the machine"))

    def _motion(self) -> Any:
        """A small move from where the arm was told to be last, if anybody knows."""
        for record in reversed(self.s.records):
            if isinstance(record.wanted, JointCommand) and record.sent is not None:
                here = record.wanted.positions
                break
            if any("-> idle: all axes are driven" in event for event in record.events):
                here = self.s.rig.park
                break
        else:
            return swing()
        goal = (0.3 if here[0] < 0 else -0.3, *here[1:])
        return plan_joint_move(self.s.rig, here, goal)

    @rule(good=st.booleans())
    def load_and_arm(self, good: bool) -> None:
        motion = self._motion()
        other = swing(20.0)
        certificate = certified(lynx6(), motion if good else other)
        before = self.s.mode
        self._do("arm" if good else "nothing", load(motion, certificate), Arm(digest=motion.digest))
        if self.s.mode is M.ARMED and before is not M.ARMED:
            self.armed = motion.digest

    @rule()
    def arm_what_was_never_loaded(self) -> None:
        self._do("nothing", Arm(digest="0" * 64))

    @precondition(lambda self: self.s.mode is M.ARMED)
    @rule()
    def start_what_is_armed(self) -> None:
        self._do("start", Start(digest=self.armed))
        assert self.s.mode is M.STREAMING or self.disturbed

    @rule()
    def start_something_else(self) -> None:
        self._do("nothing", Start(digest="0" * 64))

    @rule()
    def stop(self) -> None:
        self._do("stop", Stop(reason="the machine"))
        assert self.s.mode not in (M.STREAMING, M.ENERGISING)

    @rule(name=st.sampled_from(["shoulder", "gripper", "tail"]))
    def let_go_of_an_axis(self, name: str) -> None:
        moving = self.s.mode in MOVING
        self._do("let_go", LetGo(axis=name, by="the machine"))
        assert self.s.last.released is None or not moving

    @rule()
    def software_stop(self) -> None:
        self._do("estop", EmergencyStop(reason="the machine"))
        assert self.s.mode in (M.ESTOP, M.DISCONNECTED)

    @rule()
    def reset(self) -> None:
        was_latched = self.s.mode in (M.FAULT, M.ESTOP)
        self._do("reset", Reset(by="the machine"))
        assert not (was_latched and self.s.mode in MOVING)

    @precondition(lambda self: len(self.s.records) > 300)
    @rule()
    def somebody_who_answers_for_it_dies(self) -> None:
        self._do("end_stream", EndStream(reason="the machine"))
        self.ended = True
        assert self.s.mode not in MOVING | {M.ARMED}

    @rule()
    def leave_in_the_end(self) -> None:
        if len(self.s.records) > 600 and not self.s.bridge.finished:
            self._do("disconnect", Disconnect(reason="the machine"))

    @rule()
    def pull_the_cable_out(self) -> None:
        if not self.s.cable_out:
            self.s.unplug()
            self.disturbed = True

    @rule()
    def put_the_cable_in(self) -> None:
        self.s.plug_in()

    @rule()
    def brown_out(self) -> None:
        self.s.board.power_cycle(self.s.clock.now_s())
        self.disturbed = True

    @rule(deaf=st.booleans())
    def go_deaf(self, deaf: bool) -> None:
        self.s.line.deaf = deaf
        self.disturbed = True

    @rule(moves=st.integers(1, 4))
    def fill_the_line(self, moves: int) -> None:
        self.s.line.refusals = moves
        self.disturbed = True

    # -- what is always so ---------------------------------------------------------------------------------

    @invariant()
    def no_byte_left_that_must_not_leave(self) -> None:
        if hasattr(self, "oracle"):
            self.oracle.take(self.s.records[self.judged :])
            self.judged = len(self.s.records)
            self.oracle.check()

    @invariant()
    def nothing_moves_outside_the_modes_that_write(self) -> None:
        if not hasattr(self, "s"):
            return
        settling_s = self.s.rig.look_ahead_s + PATIENT_S
        self.s.board.advance(self.s.clock.now_s())
        late = [
            (time_s, channel, pulse)
            for time_s, channel, pulse in self.s.pulses[self.looked_at :]
            if time_s > self.since_moving_s + settling_s and channel != 31 and pulse
        ]
        self.looked_at = len(self.s.pulses)
        assert not late

    @invariant()
    def nothing_moves_again_after_the_end_of_the_stream(self) -> None:
        if hasattr(self, "s") and self.ended:
            assert self.s.mode not in MOVING | {M.ARMED}
            assert self.s.last.sent is None

    @invariant()
    def the_end_is_the_end(self) -> None:
        if hasattr(self, "s") and self.s.bridge.finished:
            assert self.s.mode is M.DISCONNECTED

    def teardown(self) -> None:
        """Whatever happened: a cable that is in, a board that answers, and a reset lead to a new beginning."""
        if not hasattr(self, "s") or self.s.bridge.finished:
            return
        self.s.plug_in()
        self.s.line.deaf, self.s.line.refusals = False, 0
        self.s.board.hang(self.s.clock.now_s(), False)
        self.s.run(3.0, Stop(reason="the end"))
        for _ in range(3):
            if self.s.mode not in (M.FAULT, M.ESTOP):
                break
            self.s.run(3.0, Reset(by="the machine"))
        assert self.s.mode in (M.UNKNOWN_POSE, M.IDLE, M.HOLDING), self.s.events[-3:]
        if self.s.mode is M.UNKNOWN_POSE:
            self.s.run(4.0, self.s.confirm())
            assert self.s.mode is (M.UNKNOWN_POSE if self.ended else M.IDLE), self.s.events[-3:]


TestSession = SessionMachine.TestCase
TestSession.settings = settings(max_examples=40, stateful_step_count=30, deadline=None, print_blob=True)
