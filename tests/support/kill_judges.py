"""Judges of rounds in which processes die: bytes on the cable, pulses and servos of the fake, journal, exit code.

Each takes an outcome, notes numbers in it, and holds them against what docs/faults-and-kills.md promises.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kill_rounds import JOURNAL_S, Outcome, allowed_step
from kill_stand import Program, Scene, Trace
from soak_oracles import ECHO_US, FRAME_S, AxisFacts
from soak_promises import ticks_in
from wire_record import Move, Record, echoes, goes, lines, moves

from hil.joined import Splitter
from hil.runtime.journal import Completeness, read_journal, verify
from hil.runtime.replay import replay
from hil.types import EndStream, Mode, TickRecord
from hil.units import DEG

TRACEBACK = "Traceback (most recent call last)"
LEADS = 1
"""Command of a packet that leads the arm."""
SIGNAL_S = 0.1
"""From a signal to the tick in which the loop begins to stop, without that tick."""
ROUNDING_US = 3.0
"""Three pulses in whole microseconds can make so much of a bend that is none."""
REFRESHES = 2
"""Board refreshes with a wrong pulse that may follow the first echo that shows one."""
OUTSIDE_DEG = 1.0
"""How far outside all places that it was sent to an RV-2AJ has to be to count as gone astray."""
_ROUNDED_DEG = 0.0051


@dataclass
class Round(Outcome):
    """What came of a round.

    Attributes:
        not_judged: why it never began, or could not be judged; empty if it was.
        skipped: why it cannot be on this machine; empty if it can.
        allowed: what each number was held against, the machine's part included.
    """

    not_judged: str = ""
    skipped: str = ""
    allowed: dict[str, float] = field(default_factory=dict)

    def within(self, what: str, value: float, allowed: float) -> None:
        """Note a number and hold it against what is allowed."""
        self.allowed[what] = max(allowed, self.allowed.get(what, allowed))
        super().within(what, value, allowed)


def ticks(journal: Path) -> Iterator[TickRecord]:
    """The ticks of a journal, as far as it reads."""
    for entry in read_journal(journal):
        if entry.tick is not None:
            yield entry.tick


# -- bytes -----------------------------------------------------------------------------------------------


def judge_bytes(outcome: Round, stage: Scene, record: Record) -> None:
    """Every line that has left: channels, limits, times, steps, and that the last samples end in a ramp."""
    sent = moves(record.left, stage.arm.kind, stage.facts.canary)
    if stage.arm.kind == "ssc32":
        _judge_pulses(outcome, stage, sent)
        return
    for move in sent:
        for joint, degrees in move.targets.items():
            axis = stage.facts.axes[joint]
            inside = axis.lower - 1e-9 <= degrees * DEG <= axis.upper + 1e-9
            outcome.hold(inside, f"{move.text!r}: {axis.name} outside its joint limits")


def _judge_pulses(outcome: Round, stage: Scene, sent: Sequence[Move]) -> None:
    facts, last = stage.facts, dict[int, float]()
    by_channel = {axis.channel: axis for axis in facts.axes}
    for move in sent:
        timed = move.time_ms is not None
        outcome.hold(timed or len(move.targets) == 1, f"{move.text!r} is an untimed move of several channels")
        right = not timed or move.time_ms == round(facts.look_ahead_s * 1e3)
        outcome.hold(right, f"{move.text!r} has another time than the look-ahead")
        for channel, us in move.targets.items():
            axis = by_channel.get(channel)
            if axis is None:
                outcome.hold(False, f"{move.text!r} moves channel {channel}, which has no axis")
                continue
            outcome.hold(axis.lower_us <= us <= axis.upper_us, f"{move.text!r}: {axis.name} outside its pulse limits")
            if timed and channel in last:
                step = abs(axis.position(us) - axis.position(last[channel]))
                allowed = axis.speed * facts.period_s + axis.unit_per_us
                outcome.hold(step <= allowed + 1e-9, f"{move.text!r}: {axis.name} steps {step / allowed:.2f} of a step")
            last[channel] = us


def judge_ramp(outcome: Round, stage: Scene, record: Record) -> None:
    """The samples before the last one take the speed away within the acceleration; an RV-2AJ does that by itself.

    One that ended early since the board owed an answer is not judged: nothing more is sent then. Fake and cable are
    processes, which a busy machine gives no turn for a while.
    """
    if stage.arm.kind != "ssc32":
        return
    samples = [m for m in moves(record.left, "ssc32", stage.facts.canary) if m.time_ms is not None]
    if len(samples) < 3:
        return
    for axis in stage.facts.axes:
        places = [axis.position(move.targets[axis.channel]) for move in samples[-20:]]
        bend = _worst_bend([*places, places[-1]], axis, stage)
        if bend > 1.0 and _owed_an_answer(record, samples[-1].t_s):
            outcome.not_judged = "the board owed an answer, and the ramp ended early"
            return
        outcome.within("bend of the ramp, of what is allowed", bend, 1.0)


def _owed_an_answer(record: Record, since_s: float) -> bool:
    """The board was asked anew who it is, and had not told all pulses by then that it was asked for before."""
    said = lines(record.left)
    anew = next((place for place, line in enumerate(said) if line.text == b"VER" and line.t_s >= since_s), 0)
    asked = next((line for line in reversed(said[:anew]) if line.text.startswith(b"QP")), None)
    if asked is None:
        return False
    told = sum(len(data) for t_s, data in record.heard if asked.t_s <= t_s < said[anew].t_s)
    return told < asked.text.count(b"QP")


def _worst_bend(places: Sequence[float], axis: AxisFacts, stage: Scene) -> float:
    allowed = axis.acceleration * stage.facts.period_s**2 + ROUNDING_US * axis.unit_per_us
    triples = zip(places, places[1:], places[2:], strict=False)
    return max((abs(c - 2.0 * b + a) / allowed for a, b, c in triples), default=0.0)


def judge_quiet(outcome: Round, stage: Scene, record: Record, since_s: float, bound_s: float) -> None:
    """No line that moves something leaves later than that."""
    going = [m.t_s for m in moves(record.left, stage.arm.kind, stage.facts.canary) if goes(m)]
    last_s = max((t_s for t_s in going if t_s > since_s), default=since_s)
    outcome.within("last line that moves, s", last_s - since_s, bound_s + stage.slack_s(since_s))


def judge_still(outcome: Round, stage: Scene, since_s: float, what: str) -> None:
    """Nothing that moves leaves, and nothing moves, from then on."""
    record = stage.cable.record()
    sent = [m.text for m in moves(record.left, stage.arm.kind, stage.facts.canary) if m.t_s > since_s]
    outcome.hold(not sent, f"{what}: {sent[:3]} left")
    outcome.hold(not stage.rest().moved(since_s), f"{what}: the arm moved")


def _judge_packets(outcome: Round, stage: Scene, packets: Sequence[bytes]) -> None:
    """Every packet that leads the arm: inside the joints' limits, a step of one period from the one before."""
    last: tuple[float, ...] | None = None
    for packet in packets:
        if packet[0] != LEADS:
            continue
        numbers = struct.unpack_from("<8f", packet, 8)
        places = (*numbers[:3], *numbers[4:6])
        for k, (axis, at) in enumerate(zip(stage.facts.axes, places, strict=True)):
            outcome.hold(axis.lower - 1e-6 <= at <= axis.upper + 1e-6, f"a packet leads {axis.name} beyond its limits")
            if last is not None:
                step, allowed = abs(at - last[k]), axis.speed * stage.facts.period_s + 0.0011 * DEG
                outcome.hold(step <= allowed, f"a packet leads {axis.name} by {step / allowed:.2f} of a step")
        last = places
    outcome.hold(last is not None, "no packet has led the arm")


# -- the arm ---------------------------------------------------------------------------------------------


def judge_end_of_stream(outcome: Round, stage: Scene, trace: Trace, since_s: float) -> None:
    """Whoever is dead: nothing more is sent, and the controller ends what it has."""
    slack_s = stage.slack_s(since_s)
    tick_s = stage.facts.period_s if stage.arm.moves_by_itself else 0.0
    _judge_rest(outcome, stage, trace, since_s, stage.arm.end_time_s + tick_s + slack_s)


def judge_stop(outcome: Round, stage: Scene, trace: Trace, since_s: float, notice_s: float) -> None:
    """A stop within limits, begun so long after the blow at the latest."""
    slack_s = stage.slack_s(since_s)
    _judge_rest(outcome, stage, trace, since_s, notice_s + stage.facts.stop_time_s + slack_s)
    judge_quiet(outcome, stage, stage.cable.record(), since_s, notice_s + stage.arm.ramp_s)
    if trace.pulses_us:
        outcome.hold(all(trace.pulses_us), f"an axis is driven no more: {trace.pulses_us}")


def _judge_rest(outcome: Round, stage: Scene, trace: Trace, since_s: float, bound_s: float) -> None:
    if trace.pulses_us:
        outcome.within("last pulse, s", trace.last_pulse_change_s(since_s) - since_s, bound_s)
    rest_s = trace.last_motion_s(since_s) - since_s
    outcome.within("arm at rest, s", rest_s, bound_s + stage.facts.settle_s)


def judge_steps(outcome: Round, stage: Scene, trace: Trace, blow_s: float) -> None:
    """No pulse goes further in a frame than the speed limit, and the unevenness of lines, allow."""
    if trace.pulses_us:
        since_s = blow_s - 1.0
        allowed = allowed_step(stage.facts, 2.0 * stage.lateness.worst_s(since_s))
        outcome.within("step per frame, of the limit", trace.worst_step(since_s), allowed)


# -- what is left ----------------------------------------------------------------------------------------


def judge_journal(outcome: Round, stage: Scene, blow_s: float, *, complete: bool, again: bool = True) -> None:
    """What the journal says of itself is true: counted in its bytes; and it replays to the same bytes."""
    if not stage.journal.exists():
        outcome.hold(False, "there is no journal")
        return
    verdict = verify(stage.journal)
    expected = Completeness.COMPLETE if complete else Completeness.UNFINISHED
    outcome.hold(verdict.completeness is expected, f"the journal is {verdict.text}; expected {expected.value}")
    outcome.hold(verdict.lost == 0, f"{verdict.lost} ticks are missing in the journal")
    counted, ends = ticks_in(stage.journal)
    outcome.hold(counted == list(range(len(counted))), "a tick is missing in the bytes of the journal")
    outcome.hold(ends == complete, f"the journal {'ends' if ends else 'does not end'}")
    last_s = max((record.t_s for record in ticks(stage.journal)), default=-math.inf)
    outcome.within("journal missing before the blow, s", max(blow_s - last_s, 0.0), JOURNAL_S)
    judge_told(outcome, stage, complete=complete)
    if again:
        replayed = replay(stage.journal)
        outcome.hold(replayed.same, f"the journal does not replay: {replayed.first_difference}")


def judge_told(outcome: Round, stage: Scene, *, complete: bool) -> None:
    """Bytes on the cable and bytes in the journal are the same, as far as both go: nobody else has sent any."""
    if not stage.cabled:
        return
    wire = b"".join(data for _, data in stage.cable.record().left)
    told = b"".join(record.written for record in ticks(stage.journal))
    if stage.arm.kind == "rv2aj-mxt":
        # The cable carries the line alone.
        told, packets = Splitter().split(told)
        _judge_packets(outcome, stage, packets)
    both = min(len(wire), len(told))
    outcome.hold(wire[:both] == told[:both], "other bytes left than the journal says")
    more = f"{len(wire)} bytes left, the journal tells of {len(told)}: another than this run has sent some"
    outcome.hold(not complete or len(wire) <= len(told), more)


def judge_exit(outcome: Round, program: Program, allowed: Sequence[int], *words: str) -> None:
    """It ended with one of these, has said why in one of these words, and no traceback reached a person."""
    code, said = program.ends(), program.said
    outcome.hold(code in allowed, f"exit code {code}, expected {' or '.join(map(str, allowed))}")
    # A blow between the word "streaming" and the first sample is refused as a start, in other words.
    told = not words or any(word in said for word in (*words, "refused: "))
    outcome.hold(told, f"{' or '.join(map(repr, words))} was not said, but {said[-400:]!r}")
    outcome.hold(code <= 0 or said.strip() != "", "nothing was said on standard error")
    outcome.hold(TRACEBACK not in said, f"a traceback was printed: {said[-600:]}")


def judge_notice(outcome: Round, stage: Scene, since_s: float, bound_s: float) -> None:
    """The loop has left streaming by then, by its own record."""
    left_s = next((r.t_s for r in ticks(stage.journal) if r.t_s >= since_s and r.mode is not Mode.STREAMING), math.inf)
    outcome.within("noticed, s", left_s - since_s, bound_s + stage.facts.period_s + stage.slack_s(since_s))


def judge_fault(outcome: Round, stage: Scene, since_s: float, bound_s: float) -> None:
    """The loop has gone to FAULT by then, by its own record, whatever it had stopped for before."""
    went_s = next(
        (r.t_s for r in ticks(stage.journal) if r.t_s >= since_s and any("-> fault" in words for words in r.events)),
        math.inf,
    )
    outcome.within("fault, s", went_s - since_s, bound_s + stage.facts.period_s + stage.slack_s(since_s))


def judge_end_noticed(outcome: Round, stage: Scene, since_s: float) -> None:
    """An owner's death is in the record of the tick that saw it, and nothing was sent from there on."""
    records = list(ticks(stage.journal))
    asked_s = next((r.t_s for r in records if any(isinstance(q, EndStream) for q in r.requests)), math.inf)
    outcome.within("noticed, s", asked_s - since_s, stage.facts.period_s + stage.slack_s(since_s))
    late = [r for r in records if r.sent is not None and r.t_s >= asked_s]
    outcome.hold(not late, f"{len(late)} commands were sent after the loop had seen that its owner is dead")


def judge_next_start(outcome: Round, stage: Scene) -> None:
    """Who starts next, and vouches for nothing, moves nothing: the pose is unknown."""
    since_s = stage.rest().frames[-1].time_s if stage.trace().frames else 0.0
    since_s = max(since_s, max((t_s for t_s, _ in stage.cable.record().left), default=0.0))
    journal = stage.folder / "next.mcap"
    again = stage.start("next", journal, confirmed=False)
    code = again.ends(60.0)
    outcome.hold(code == 1, f"the next start, which nobody vouched for, ended with {code}")
    outcome.hold("confirm" in again.said, f"the next start did not ask for a pose, but said {again.said[-300:]!r}")
    modes = [record.mode for record in ticks(journal)]
    outcome.hold(Mode.ENERGISING not in modes, "the next start drove axes at a pose that nobody has confirmed")
    judge_still(outcome, stage, since_s, "before a confirmed pose")


# -- noise -----------------------------------------------------------------------------------------------


def judge_wrong_pulses(outcome: Round, stage: Scene, trace: Trace, since_s: float) -> None:
    """Once an echo truly shows a pulse that nobody has asked for: two wrong refreshes, until it is right or it stands.

    A wrong refresh is one in which a pulse goes further than the speed limit and the unevenness of lines allow.
    """
    record, axes = stage.cable.record(), stage.facts.axes
    slack_s = stage.slack_s(since_s)
    allowed = allowed_step(stage.facts, slack_s)
    jumps = [t_s for t_s, step in trace.steps(since_s) if step > allowed]
    outcome.numbers["wrong refreshes"] = float(len(jumps))
    corridor = _Corridor(record, stage, 0.06 + slack_s)
    worst, began_s = 0, math.inf
    for echo in (echo for echo in echoes(record) if echo.heard_s > since_s):
        told = tuple(echo.pulses_us.get(axis.channel, 0.0) for axis in axes)
        frames = [frame.pulses_us for frame in trace.frames if frame.time_s <= echo.asked_s]
        if not frames or any(abs(a - b) > ECHO_US + 1.0 for a, b in zip(told, frames[-1], strict=True)):
            continue  # it was changed on its way, and shows nothing
        if corridor.wrong(echo.asked_s, told, ECHO_US + 1.0):
            began_s = min(began_s, echo.heard_s + stage.facts.period_s + slack_s)
        else:
            worst = max(worst, sum(began_s < t_s <= echo.heard_s for t_s in jumps))
            began_s = math.inf
    worst = max(worst, sum(t_s > began_s for t_s in jumps))
    outcome.within("wrong refreshes after a wrong echo", float(worst), REFRESHES)


def judge_asked_for(outcome: Round, stage: Scene, trace: Trace) -> None:
    """On a cable that does no harm no pulse is anywhere but where it was sent."""
    if trace.pulses_us:
        corridor = _Corridor(stage.cable.record(), stage, 0.06 + stage.slack_s(0.0))
        wrong = [f.time_s for f in trace.frames if corridor.wrong(f.time_s, f.pulses_us)]
        outcome.hold(not wrong, f"{len(wrong)} refreshes with a pulse that nobody has asked for, from {wrong[:1]}")


class _Corridor:
    """Between which widths each axis has to be, by what was sent in the last moments."""

    def __init__(self, record: Record, stage: Scene, late_s: float) -> None:
        sent = moves(record.left, "ssc32", stage.facts.canary)
        self._frozen_s = [line.t_s for line in lines(record.left) if line.text.startswith(b"STOP")]
        self._moved_s = [move.t_s for move in sent]
        self._window_s = stage.facts.look_ahead_s + 2 * FRAME_S + late_s
        self._by_axis = [
            [(m.t_s, m.targets[axis.channel]) for m in sent if axis.channel in m.targets] for axis in stage.facts.axes
        ]

    def wrong(self, time_s: float, pulses_us: Sequence[float], spare_us: float = 2.0) -> bool:
        """Whether a width is none that was asked for."""
        frozen_s = max((t_s for t_s in self._frozen_s if t_s <= time_s), default=-math.inf)
        if frozen_s > max((t_s for t_s in self._moved_s if t_s <= time_s), default=-math.inf):
            # Frozen on its way, it stays there.
            time_s = frozen_s
        for sent, us in zip(self._by_axis, pulses_us, strict=True):
            before = [width for t_s, width in sent if t_s <= time_s - self._window_s][-1:]
            lately = [width for t_s, width in sent if time_s - self._window_s < t_s <= time_s + 0.002]
            near = [*before, *lately]
            if near and us and not min(near) - spare_us <= us <= max(near) + spare_us:
                return True
        return False


def judge_astray(outcome: Round, stage: Scene, trace: Trace, since_s: float) -> None:
    """An RV-2AJ that is outside all places that it was sent to is stopped, or called back, within two send periods."""
    record = stage.cable.record()
    targets = [m.targets for m in moves(record.left, "rv2aj") if m.targets]
    if not targets or not trace.frames:
        return
    first = trace.frames[0].positions
    astray = []
    for joint, here in enumerate(first):
        places = [*(target[joint] * DEG for target in targets), here]
        low, high = min(places) - OUTSIDE_DEG * DEG, max(places) + OUTSIDE_DEG * DEG
        astray += [f.time_s for f in trace.frames if f.time_s > since_s and not low <= f.positions[joint] <= high]
    if not astray:
        return
    began_s = min(astray)
    answers = [line.t_s for line in lines(record.left) if line.text.endswith(b";STOP")]
    answers += [m.t_s for m in moves(record.left, "rv2aj") if goes(m)]
    answer_s = min((t_s for t_s in answers if t_s > began_s), default=math.inf)
    bound_s = 2.0 * stage.facts.settle_after_s + stage.slack_s(since_s)
    outcome.within("called back after it went astray, s", answer_s - began_s, bound_s)
