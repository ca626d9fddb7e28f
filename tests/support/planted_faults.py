"""Faults planted into the program for a moment, one or more for each promise, so that the judges of the long run are
judged: a fault that is planted and not found is a judge that sleeps.

They are put over the product from outside and taken away again; the product knows nothing of them.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import msgspec
import serial
from foreign_arm import bytes_to_another_arm
from soak_life import live

from drivers import _ports, _rv2aj_course, _rv2aj_delivery, _rv2aj_gate, _ssc32_gate
from drivers.rv2aj import Rv2ajDriver
from drivers.ssc32 import Ssc32Driver, Ssc32Settings
from hil.clock import RealClock
from hil.errors import ControllerError, HilError, LinkClosed
from hil.runtime import brake as brake_module
from hil.runtime import first_moves as first_moves_module
from hil.runtime import journal as journal_module
from hil.runtime.adoption import Adoption
from hil.runtime.brake import Brake
from hil.runtime.bridge import Bridge
from hil.runtime.journal import JournalWriter
from hil.runtime.loaded_motion import LoadedMotion
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.outlet import Outlet
from hil.runtime.pace import Watch
from hil.runtime.recorder import Recorder
from hil.runtime.reports import AgreedReport
from hil.runtime.sources import MotionSource
from hil.runtime.stream import SampleStream
from hil.runtime.supply import ServoSupply
from hil.safety.guard import Guard
from hil.types import Confirm, EmergencyStop, EnergiseCommand, JointCommand, LineAccount, Mode, Stop, Supply
from hil.units import DEG

Plant = Callable[[], AbstractContextManager[object]]
Maker = Callable[[Callable[..., Any]], Callable[..., Any]]
TICKS = {"lynx6": 4000, "rv2aj": 6000}
LIVES = 12
LOST_TICK = 40


@dataclass(frozen=True)
class Planted:
    """One fault.

    Attributes:
        promise: what it breaks.
        fault: what is planted.
        judge: who has to find it.
        words: what that judge says.
        plant: puts it there, and takes it away.
        rig: whose life it spoils.
        seed: of a life in which it was found before; others are tried after it.
        play: something else than lives to find it in; says what was found, or nothing.
    """

    promise: str
    fault: str
    judge: str
    words: str
    plant: Plant
    rig: str = "lynx6"
    seed: int = 1
    play: Callable[[], str] | None = None

    @property
    def title(self) -> str:
        """For a list."""
        return f"{self.fault} ({self.rig})"


def found(planted: Planted) -> str:
    """Live with the fault until its judge finds it; what the judge said, or empty if nobody did.

    Raises:
        AssertionError: another judge spoke first, who was not meant.
    """
    if planted.play is not None:
        with planted.plant():
            return planted.play()
    for seed in dict.fromkeys((planted.seed, *range(1, LIVES))):
        with planted.plant():
            said = live(seed, TICKS[planted.rig], planted.rig).violation
        if said:
            assert re.search(planted.words, said), f"{planted.title}: {planted.judge} should have spoken, but: {said}"
            return said
    return ""


# -- tools -----------------------------------------------------------------------------------------------


def _over(owner: object, name: str, make: Maker) -> AbstractContextManager[object]:
    """Put a function made from the original in its place."""
    return mock.patch.object(owner, name, make(getattr(owner, name)))


@contextlib.contextmanager
def _all(*plants: AbstractContextManager[object]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for plant in plants:
            stack.enter_context(plant)
        yield


def _nothing(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: None


def _watch_without(**blind: Callable[..., Any]) -> Plant:
    """The loop's watch over owner and recorder does not see some of it."""
    places = ("owner_dead", "recorder_dead", "owner_silent", "recorder_silent")

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Watch, *seen: Callable[..., Any]) -> None:
            original(self, *(blind.get(place, sees) for place, sees in zip(places, seen, strict=False)), *seen[4:])

        return init

    return lambda: _over(Watch, "__init__", make)


def _before_tick(act: Callable[[Bridge, float], None]) -> Plant:
    """Something happens by itself before a tick."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def tick(self: Bridge, now_s: float, *arguments: Any, **named: Any) -> Any:
            act(self, now_s)
            return original(self, now_s, *arguments, **named)

        return tick

    return lambda: _over(Bridge, "tick", make)


def blind_gate() -> AbstractContextManager[object]:
    """Nobody reads back what leaves."""

    def pulses(self: Any, line: bytes, index: int) -> list[int]:
        return [int(pulse_us) for pulse_us in re.findall(rb"P(\d+)", line)]

    return _all(
        mock.patch.object(_ssc32_gate.Gate, "check", lambda self, data: None),
        mock.patch.object(_ssc32_gate.Gate, "check_row", pulses),
        mock.patch.object(_rv2aj_gate.Gate, "check", lambda self, data: None),
    )


def _blind_guard() -> AbstractContextManager[object]:
    """The last checks in the loop and behind it see nothing: what the judges have to find alone."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, wanted: msgspec.structs.replace(original(self, wanted), hits=())

    return _all(_over(Guard, "check", make), blind_gate())


def _quiet(driver: type[Any], *errors: type[Exception], well: bool = False) -> Plant:
    """A driver that keeps such trouble to itself, and from then on tells what it knew before, as if it were fresh.

    With `well` it tells so of its line from the beginning; once all is driven, its reports are of no use.
    """

    def make_open(original: Callable[..., Any]) -> Callable[..., Any]:
        def open_line(self: Any, now_s: float) -> None:
            self.planted = (None, False)
            original(self, now_s)

        return open_line

    def make_read(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: Any, now_s: float) -> Any:
            known, quiet = self.planted
            try:
                state = original(self, now_s)
                self.planted = (known if quiet else state, quiet)
            except errors:
                if known is None:
                    raise
                self.planted = (known, True)
            known, quiet = self.planted
            return _as_if_fresh(known, now_s) if quiet or well else known

        return read

    def make_write(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, command: Any, now_s: float) -> Any:
            try:
                return original(self, command, now_s)
            except errors:
                return command

        return write

    makers = (("open", make_open), ("read", make_read), ("write", make_write))
    return lambda: _all(*(_over(driver, name, make) for name, make in makers))


def _as_if_fresh(state: Any, now_s: float) -> Any:
    joints = None if all(state.known) else state.joints
    line = LineAccount(believed_s=now_s, questions=state.line.questions)
    return msgspec.structs.replace(state, joints=joints, line=line)


# -- deaths, silences ------------------------------------------------------------------------------------

OWNER_IGNORED = _watch_without(owner_dead=lambda: False)
RECORDER_IGNORED = _watch_without(recorder_dead=lambda: False)
OWNER_SILENT = _watch_without(owner_silent=lambda *now_s: 0.0)
RECORDER_SILENT = _watch_without(recorder_silent=lambda *now_s: 0.0)


# -- numbers on the wire ---------------------------------------------------------------------------------


def doubled_look_ahead() -> AbstractContextManager[object]:
    """Only where samples are sent: a certificate for another look-ahead is void."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: SampleStream, tick: Any) -> None:
            look_ahead_s = self._look_ahead_s
            self._look_ahead_s = 2.0 * look_ahead_s
            try:
                original(self, tick)
            finally:
                self._look_ahead_s = look_ahead_s

        return write

    return _all(_over(SampleStream, "write", make), blind_gate())


def beyond_pulse_limit() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def pulse_us(self: Ssc32Settings, axis: int, position: float) -> int:
            width_us = int(original(self, axis, position))
            upper_us = self.axes[axis].upper_us
            return upper_us + 1 if axis == 1 and width_us > upper_us - 100 else width_us

        return pulse_us

    return _all(_over(Ssc32Settings, "pulse_us", make), blind_gate())


def _beyond_joint_limit() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def encode(joints_deg: Any, *rest: Any) -> Any:
            return original((*joints_deg[:2], 118.01, *joints_deg[3:]), *rest)

        return encode

    makers = ((_rv2aj_course, "joint_constant"), (_rv2aj_delivery, "line_target"))
    return _all(*(_over(module, name, make) for module, name in makers), blind_gate())


def _skipped_sample() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def advance(self: Any) -> None:
            original(self)
            if self.sample % 25 == 24:
                original(self)

        return advance

    return _all(_over(MotionSource, "advance", make), _blind_guard())


# -- stops -----------------------------------------------------------------------------------------------


def _supply(**states: Supply) -> Plant:
    """Whatever is said or seen of the servo supply, something else is held of it afterwards."""

    def become(state: Supply) -> Maker:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def change(self: ServoSupply, *what: object, **more: object) -> str:
                words = original(self, *what, **more)
                if words:
                    self.state = state
                return "" if state is Supply.FORGOTTEN else words

            return change

        return make

    return lambda: _all(*(_over(ServoSupply, name, become(state)) for name, state in states.items()))


def _ramp(change: Callable[[Any, Any], Any]) -> Plant:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda rig, position, *rest: change(position, original(rig, position, *rest))

    return lambda: _all(_over(brake_module, "stop_ramp", make), _blind_guard())


def _no_ramp(position: Any, ramp: Any) -> Any:
    ramp = ramp[:1].copy()
    ramp[0] = position
    return ramp


def _hard_ramp(position: Any, ramp: Any) -> Any:
    return ramp if len(ramp) < 3 else ramp[1 - len(ramp) % 2 :: 2]


def _long_ramp(position: Any, ramp: Any) -> Any:
    return ramp.repeat([1] * (len(ramp) - 1) + [60], axis=0)


def _request(kind: type[Any], reason: str, instead: Callable[[Bridge, float], None]) -> Plant:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def take(self: Bridge, request: Any, now_s: float) -> None:
            if isinstance(request, kind) and request.reason == reason:
                instead(self, now_s)
            else:
                original(self, request, now_s)

        return take

    return lambda: _over(Bridge, "_take", make)


def _gap_unseen(bridge: Bridge, now_s: float) -> None:
    if bridge._last_tick_s is not None:
        bridge._last_tick_s = now_s - bridge._rig.period_s


def _long_gap_unseen() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def stop(self: Brake, now_s: float, reason: str) -> None:
            if not reason.startswith("no tick for"):
                original(self, now_s, reason)

        return stop

    return _over(Brake, "stop", make)


def sent_again_while_holding() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Bridge, tick: Any) -> None:
            original(self, tick)
            if self.mode is Mode.HOLDING and self._trail.recent and all(self._connection.state.known):
                due_s = tick.now_s + self._rig.look_ahead_s
                last = tuple(position + 0.2 * DEG for position in self._trail.here)
                with contextlib.suppress(Exception):
                    self._link.write(
                        JointCommand(seq=self._stream._outlet.next_seq(), due_s=due_s, positions=last), tick.now_s
                    )

        return write

    return _all(_over(Bridge, "_write", make), blind_gate())


# -- poses -----------------------------------------------------------------------------------------------


def _stale_report() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def adopt(self: Adoption, now_s: float) -> None:
            self._trail.still_s, self._fresh_s = float("-inf"), 1e9
            original(self, now_s)

        return adopt

    return _over(Adoption, "adopt", make)


def _single_report() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, report, before: True

    return _over(AgreedReport, "_agree", make)


def _confirms_itself(bridge: Bridge, now_s: float) -> None:
    if bridge.mode is Mode.UNKNOWN_POSE and bridge._intent.confirmed is None:
        bridge._intent.confirmed = Confirm(positions=bridge._rig.park, by="nobody")
        bridge._adoption._until_s = now_s + 1.0


def _driven_elsewhere() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def energise(self: Outlet, tick: Any, command: Any) -> Any:
            if isinstance(command, EnergiseCommand) and command.axis == 4:
                command = msgspec.structs.replace(command, position=command.position + 3.0 * DEG)
                tick.wanted = command
            return original(self, tick, command)

        return energise

    return _over(Outlet, "send", make)


def _no_pause() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pose, order, dwell_s: original(pose, order, 0.5 * dwell_s)

    return _over(first_moves_module, "EnergiseSource", make)


def _starts_itself() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def arm(self: LoadedMotion, digest: str, now_s: float) -> None:
            original(self, digest, now_s)
            self.start(digest, now_s)

        return arm

    return _over(LoadedMotion, "arm", make)


def _limp_and_known() -> AbstractContextManager[object]:
    """An axis is let go of, and the pose counts as known all the same."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def follow(self: ModeLog, event: Event, words: str) -> None:
            if event is Event.LET_GO:
                self.say(words)
            else:
                original(self, event, words)

        return follow

    return _over(ModeLog, "follow", make)


# -- latches, ticks --------------------------------------------------------------------------------------


def _fault_ends_by_itself(bridge: Bridge, now_s: float) -> None:
    if bridge.mode is Mode.FAULT and bridge._tick % 20 == 0:
        bridge._log.mode = Mode.UNKNOWN_POSE


def _reset_knows_the_pose() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def reset(self: Bridge, now_s: float, by: str) -> None:
            original(self, now_s, by)
            if self.mode is Mode.UNKNOWN_POSE:
                self._log.mode = Mode.IDLE

        return reset

    return _over(Bridge, "_reset", make)


def _tick_left_out(bridge: Bridge, now_s: float) -> None:
    bridge._tick += bridge._tick == 90


# -- journals --------------------------------------------------------------------------------------------


def record_lost() -> AbstractContextManager[object]:
    """The writer drops one, and whoever checks the journal believes it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def tick(self: JournalWriter, record: Any) -> None:
            if record.tick == LOST_TICK:
                self.ticks += 1
            else:
                original(self, record)

        return tick

    blind = mock.patch.object(journal_module._Check, "_wrong", lambda self, entry: "")
    return _all(_over(JournalWriter, "tick", make), blind)


def never_ended() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def end(self: Recorder, *arguments: Any) -> None:
            self._journal.close()
            self.finished = True

        return end

    return _over(Recorder, "_end", make)


def _written_otherwise() -> AbstractContextManager[object]:
    """What was received is not what the journal says."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def tick(self: JournalWriter, record: Any) -> None:
            original(self, msgspec.structs.replace(record, received=record.received[1:]))

        return tick

    return _over(JournalWriter, "tick", make)


# -- for whole processes ---------------------------------------------------------------------------------


def wall_clock() -> AbstractContextManager[object]:
    """The loop lives by the clock on the wall, which tells the same as its own until somebody steps it."""
    apart_s = time.time() - time.monotonic()
    return mock.patch.object(RealClock, "now_s", lambda self: time.time() - apart_s)


def port_for_all() -> AbstractContextManager[object]:
    """A line is opened without asking whether somebody has it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def serial_for_url(*arguments: Any, **named: Any) -> Any:
            line = original(*arguments, **named)
            type(line).exclusive = property(lambda self: None, lambda self, wanted: None)
            return line

        return serial_for_url

    return _all(_over(serial, "serial_for_url", make), mock.patch.object(_ports.fcntl, "ioctl", lambda *a: 0))


def _no_stop() -> AbstractContextManager[object]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, now_s, reason: None if self._log.mode is Mode.STREAMING else original(self, now_s, reason)

    return _over(Brake, "stop", make)


def _adapter_not_looked_at() -> AbstractContextManager[object]:
    """A port is opened again without a look at who is there now."""
    if importlib.util.find_spec("hil.runtime.adapters") is None:
        return contextlib.nullcontext()
    adapters = importlib.import_module("hil.runtime.adapters")
    return mock.patch.object(adapters, "looked_at", lambda open_line, look: open_line)


def another_arm() -> str:
    """What another arm got that came under the name of ours; empty if it was nothing."""
    count = bytes_to_another_arm()
    return f"another arm got {count} bytes" if count else ""


RAMP_CUT = _ramp(_no_ramp)
NO_STOP = _no_stop
RESTART_KEPT_QUIET = _quiet(Ssc32Driver, ControllerError, well=True)
ALWAYS_WELL = _quiet(Ssc32Driver, well=True)


PLANTED: tuple[Planted, ...] = (
    *(
        Planted(promise, fault, "DeathJudge", words, plant, rig)
        for rig in ("lynx6", "rv2aj")
        for promise, fault, words, plant in (
            ("a dead owner ends stream and session", "an owner's death ignored", "the owner is dead", OWNER_IGNORED),
            (
                "a dead recorder ends the stream",
                "a recorder's death ignored",
                "the recorder is dead",
                RECORDER_IGNORED,
            ),
        )
    ),
    Planted(
        "a silent owner is a stop within 1 s",
        "an owner's silence ignored",
        "NoticeJudge",
        "owner silent: still streaming",
        OWNER_SILENT,
        seed=22,
    ),
    Planted(
        "a silent recorder is a stop within 0.5 s",
        "a recorder's silence ignored",
        "NoticeJudge",
        "recorder silent: still streaming",
        RECORDER_SILENT,
        seed=16,
    ),
    Planted(
        "a servo supply that was cut ends all motion",
        "the word for it ignored",
        "SupplyJudge",
        "the servo supply was said to be cut, and nobody vouched",
        _supply(cut=Supply.ON),
        seed=2,
    ),
    Planted(
        "after a cut the board has to forget its pulses",
        "what it drives still not looked at",
        "SupplyJudge",
        "by a board that never forgot its pulses",
        _supply(look=Supply.FORGOTTEN),
        seed=14,
    ),
    Planted(
        "an arm that was let go of waits for its pose",
        "its pose kept as known",
        "LimpJudge",
        "was let go of, and nobody confirmed",
        _limp_and_known,
        seed=8,
    ),
    Planted(
        "the look-ahead is the rig's",
        "the look-ahead doubled",
        "WireJudge",
        "another time than the look-ahead",
        doubled_look_ahead,
    ),
    Planted(
        "a stop ends within its time",
        "the look-ahead doubled",
        "ArmJudge",
        "still stopping",
        doubled_look_ahead,
        "rv2aj",
        seed=13,
    ),
    Planted(
        "no pulse beyond its limit",
        "a limit in the driver's encoding moved by 1 us",
        "WireJudge",
        "outside its pulse limits",
        beyond_pulse_limit,
    ),
    Planted(
        "no target beyond its limit",
        "a limit in the driver's encoding moved by 0.01 deg",
        "Cr1Judge",
        "outside its joint limits",
        _beyond_joint_limit,
        "rv2aj",
    ),
    Planted(
        "no step beyond speed and acceleration",
        "every 25th sample skipped, the guard blind",
        "WireJudge, SampleJudge",
        "steps|too fast|of the acceleration|of the jerk",
        _skipped_sample,
    ),
    Planted(
        "a stop is a ramp",
        "the ramp cut: the pulses freeze",
        "SampleJudge",
        "the end of a motion",
        _ramp(_no_ramp),
    ),
    Planted(
        "a ramp keeps acceleration and jerk",
        "the ramp twice as fast, the guard blind",
        "WireJudge, SampleJudge",
        "steps|too fast|of the acceleration|of the jerk",
        _ramp(_hard_ramp),
    ),
    Planted(
        "a stop ends within its time",
        "the ramp 1.2 s longer",
        "ArmJudge",
        "still stopping",
        _ramp(_long_ramp),
    ),
    Planted(
        "a stop begins in its tick",
        "a stop asked for and not begun",
        "StopJudge",
        "a stop was asked for",
        _request(Stop, "somebody said so", lambda bridge, now_s: None),
    ),
    Planted(
        "a software stop latches",
        "a software stop taken as a stop",
        "StopJudge",
        "a software stop was asked for",
        _request(EmergencyStop, "somebody pressed it", lambda bridge, now_s: bridge._brake.stop(now_s, "planted")),
    ),
    *(
        Planted(
            "a fault freezes the controller",
            "the freeze never told",
            "StopJudge",
            "nothing told the controller",
            lambda driver=driver: _over(driver, "stop", _nothing),  # type: ignore[misc]
            rig,
        )
        for rig, driver in (("lynx6", Ssc32Driver), ("rv2aj", Rv2ajDriver))
    ),
    Planted(
        "a loop that was held up stops",
        "a gap of the loop not seen",
        "StopJudge",
        "and it goes on streaming",
        _before_tick(_gap_unseen),
        seed=3,
    ),
    Planted(
        "a loop that was held up stops",
        "a gap of the loop seen and no stop begun",
        "StopJudge",
        "and it goes on streaming",
        _long_gap_unseen,
        seed=3,
    ),
    Planted(
        "a pulled cable is a fault in the next tick",
        "a port that is gone kept quiet",
        "RecordJudge, NoticeJudge",
        "unplugged: still streaming|no byte left",
        _quiet(Ssc32Driver, LinkClosed),
        seed=4,
    ),
    Planted(
        "a restart is a fault within 0.6 s",
        "a restart of the board kept quiet",
        "RecordJudge, NoticeJudge",
        "reset: still streaming|no byte left",
        _quiet(Ssc32Driver, ControllerError),
    ),
    Planted(
        "a silent board is a stop within 0.5 s",
        "a silent line said to be well",
        "NoticeJudge",
        "hung: still streaming",
        _quiet(Ssc32Driver, well=True),
        seed=4,
    ),
    Planted(
        "a CR1 that hangs or restarts is a stop",
        "its line said to be well",
        "NoticeJudge, Cr1Judge",
        "(hung|reset|unplugged): still streaming|asked for more than its speed",
        _quiet(Rv2ajDriver, HilError, well=True),
        "rv2aj",
        seed=9,
    ),
    Planted(
        "a report that is adopted is fresh",
        "a stale report adopted at a confirm",
        "AdoptJudge, FirstMoveJudge",
        "old was adopted|before the arm had come to rest|was held at",
        _stale_report,
        seed=5,
    ),
    Planted(
        "a report that is adopted was said twice",
        "a single report adopted",
        "AdoptJudge, FirstMoveJudge",
        "was adopted at|has not said twice|was held at",
        _single_report,
        seed=20,
    ),
    *(
        Planted(
            "no first move at an unconfirmed pose",
            "the loop confirms by itself",
            "RecordJudge",
            "nobody has confirmed a pose",
            _before_tick(_confirms_itself),
            rig,
        )
        for rig in ("lynx6", "rv2aj")
    ),
    Planted(
        "a first move goes where the pose was confirmed",
        "an axis driven 3 deg beside it",
        "ConfirmJudge, FirstMoveJudge",
        "is driven at|was held at|was limp at",
        _driven_elsewhere,
    ),
    Planted(
        "first moves come one by one",
        "the pause between them halved",
        "WireJudge",
        "after the one before it",
        _no_pause,
    ),
    Planted(
        "no motion begins by itself",
        "a motion begun when it is armed",
        "RecordJudge",
        "nobody has started",
        _starts_itself,
    ),
    *(
        Planted(
            "nothing is sent in HOLDING",
            "a target sent again while it holds",
            judge,
            "left in mode (holding|armed)|left after the end of the stream",
            sent_again_while_holding,
            rig,
        )
        for rig, judge in (("lynx6", "WireJudge"), ("rv2aj", "Cr1Judge"))
    ),
    *(
        Planted(
            "FAULT latches",
            "a fault ends by itself",
            "LatchJudge",
            "nobody has reset it",
            _before_tick(_fault_ends_by_itself),
            rig,
        )
        for rig in ("lynx6", "rv2aj")
    ),
    Planted(
        "after a fault the pose is unknown",
        "a reset that knows the pose",
        "LatchJudge",
        "nobody has reset it",
        _reset_knows_the_pose,
    ),
    Planted(
        "tick numbers have no holes",
        "a tick's number left out",
        "RecordJudge",
        "tick 91 follows tick 89",
        _before_tick(_tick_left_out),
    ),
    Planted(
        "no record is lost",
        "a journal that lost one and says complete",
        "judge_journal",
        f"the journal holds no tick {LOST_TICK}",
        record_lost,
    ),
    Planted(
        "a session that ended has a journal that ends",
        "a journal never closed",
        "judge_journal",
        "does not end, and should",
        never_ended,
    ),
    Planted(
        "a replay gives the same bytes",
        "the journal says that a byte less came in",
        "replay",
        "does not replay",
        _written_otherwise,
    ),
    Planted(
        "no byte to another arm that came under the port's name",
        "an adapter not checked at a reopen",
        "another_arm",
        "another arm got",
        _adapter_not_looked_at,
        "rv2aj",
        play=another_arm,
    ),
)
