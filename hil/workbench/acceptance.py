"""The hour of acceptance with a real arm: its steps as a list, and a judge for each, a function of what was measured.

A step asks the controller, or has something run, and asks a person what was seen. What moves an arm goes the road of
the commands that always do it; what came of that is read from its journal.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from hil.types import Record
from hil.workbench import acceptance_runs as runs
from hil.workbench.acceptance_runs import Deed, Finding, Measured, Run, RunJudge, Way
from hil.workbench.acceptance_talk import Exchange, Talk

TRIPS = 200
LOOKS = 50
SLOW_S = 0.02


class Result(Enum):
    """What came of a step."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_JUDGED = "not judged"


class StepVerdict(Record, frozen=True):
    """A step's result.

    Attributes:
        number: what was measured, in words.
        remedy: what to do now; empty after a pass.
    """

    result: Result
    number: str = ""
    remedy: str = ""


class Facts(Record, frozen=True):
    """What the judges look at.

    Attributes:
        channels: of the rig's axes; empty for a CR1.
        talk: the whole transcript.
        answers: of the person, by step.
        runs: what came of what was run, in order.
        computer: what doctor found, a line each.
    """

    channels: tuple[int, ...]
    talk: tuple[Exchange, ...]
    answers: Mapping[str, str]
    runs: tuple[Measured, ...] = ()
    computer: tuple[str, ...] = ()

    def newest(self, step: str, run: str) -> Measured | None:
        """What came of a run the last time."""
        return next((each for each in reversed(self.runs) if (each.step, each.run) == (step, run)), None)

    def all(self, pattern: str, step: str = "") -> list[Exchange]:
        """Every exchange whose question is of this form; of one step, or of any."""
        return [each for each in self.talk if re.fullmatch(pattern, each.question) and step in ("", each.step)]

    def last(self, question: str) -> str:
        """The newest answer to this question, without its end; empty if there is none."""
        found = [each.answer for each in self.talk if each.question == question and each.answer]
        return found[-1].rstrip("\r\n") if found else ""


Judge = Callable[[Facts, str], StepVerdict]
Asker = Callable[[Talk, tuple[int, ...]], None]


class Step(Record, frozen=True):
    """One step.

    Attributes:
        id: its number.
        title: in a few words.
        do: what the person does first; empty for nothing.
        ask: the question to the person, empty for none; yes or no unless it says otherwise.
        expect: what should come of it.
        moves: the arm moves in it.
    """

    id: str
    title: str
    do: str = ""
    ask: str = ""
    expect: str = ""
    moves: bool = False


# -- SSC-32 --------------------------------------------------------------------------------------------------------


def ask_version(talk: Talk, channels: tuple[int, ...]) -> None:
    """Who is there; what another program has left in the line is dropped first."""
    talk.ask("\x1b", count=1, within_s=0.1)
    for _ in range(2):
        talk.ask("VER")


def ask_untouched(talk: Talk, channels: tuple[int, ...]) -> None:
    """The pulse of every channel, twice."""
    for _ in range(2):
        for channel in range(32):
            talk.ask(f"QP{channel}", count=1, within_s=0.3)


def ask_registers(talk: Talk, channels: tuple[int, ...]) -> None:
    """What the board does at power-up, twice over: a garbled digit looks like a setting.

    Of all channels, for the start-up pulse of the one without a servo is what tells of a restart. A board that does not
    know R0 is not asked for the others.
    """
    for _ in range(2):
        if not talk.ask("R0", within_s=0.3).answer:
            continue
        for number in (1, 2, *range(32, 96)):
            talk.ask(f"R{number}", within_s=0.3)
        talk.ask("SS", within_s=0.3)


def ask_trips(talk: Talk, channels: tuple[int, ...]) -> None:
    """How long an answer takes."""
    for number in range(TRIPS):
        talk.ask(f"QP{channels[number % len(channels)]}", count=1, within_s=0.3)


def judge_version(facts: Facts, answer: str) -> StepVerdict:
    """It calls itself an SSC-32."""
    text = facts.last("VER")
    if text.startswith("SSC32"):
        return StepVerdict(result=Result.PASSED, number=text)
    heard = f"it said {text!r}" if text else "nothing answered"
    remedy = "look at power, cable and port, then at the rate: `hil ports --ask PORT` tries all of them"
    return StepVerdict(result=Result.FAILED, number=heard, remedy=remedy)


def judge_untouched(facts: Facts, answer: str) -> StepVerdict:
    """Nothing tells of a pulse that nobody has commanded."""
    told: dict[str, set[str]] = {}
    for each in facts.all(r"QP\d+", "4"):
        told.setdefault(each.question, set()).add(each.answer)
    if not told or all(value == {""} for value in told.values()):
        return StepVerdict(result=Result.NOT_JUDGED, number="no answer", remedy="let the step before pass first")
    wrong = {question: values for question, values in told.items() if values != {"\x00"}}
    if not wrong:
        return StepVerdict(result=Result.PASSED, number=f"{len(told)} channels answer 0")
    question, values = next(iter(wrong.items()))
    shown = " and ".join(str(ord(value[0])) if value else "nothing" for value in sorted(values))
    return StepVerdict(
        result=Result.FAILED,
        number=f"{len(wrong)} of {len(told)} channels are not silent, {question} answers {shown}",
        remedy="if no other program has driven them since power-up: stop here and send the archive. All axes count as "
        "limp with such a board; confirm only a pose that you see",
    )


def judge_registers(facts: Facts, answer: str) -> StepVerdict:
    """The board moves nothing and shifts nothing by itself."""
    bits = facts.last("R0")
    if not bits:
        if facts.last("VER").startswith("SSC32-1"):
            return StepVerdict(result=Result.NOT_JUDGED, number="firmware 1.x has no registers")
        return StepVerdict(result=Result.FAILED, number="R0 is not answered", remedy="look at cable and receive line")
    if not re.fullmatch(r"\d+", bits):
        return StepVerdict(result=Result.FAILED, number=f"R0 answers {bits!r}", remedy="look at the cable and the rate")
    value = int(bits)
    bad = 0 if value & 0x8000 else value & 0b1101
    if not bad:
        return StepVerdict(result=Result.PASSED, number=f"R0 = {value}")
    does = [
        words
        for bit, words in ((1, "runs its startup string"), (4, "adds offsets"), (8, "drives every servo"))
        if bad & bit
    ]
    return StepVerdict(
        result=Result.FAILED,
        number=f"R0 = {value}: at power-up the board {' and '.join(does)}",
        remedy=f"open a terminal, type R0={value & ~bad} and the Enter key (CR), then cut the power and switch it on",
    )


def judge_trips(facts: Facts, answer: str) -> StepVerdict:
    """Every question is answered, and soon."""
    return _times(facts.all(r"QP\d+", "6"), TRIPS, SLOW_S)


def _times(trips: Sequence[Exchange], wanted: int, slow_s: float) -> StepVerdict:
    times = sorted(each.took_s for each in trips if each.took_s is not None)
    if len(trips) < wanted or not times:
        return StepVerdict(result=Result.NOT_JUDGED, number="no answer", remedy="let the steps before pass first")
    middle_s, missed = statistics.median(times), len(trips) - len(times)
    number = f"median {middle_s * 1e3:.1f} ms, worst {times[-1] * 1e3:.1f} ms, {missed} of {len(trips)} missed"
    if missed:
        return StepVerdict(result=Result.FAILED, number=number, remedy="look at cable, ground and shield")
    if middle_s > slow_s:
        remedy = "set the adapter's latency timer to 1 ms, plug it in without a hub (docs/ssc32.md)"
        return StepVerdict(result=Result.FAILED, number=number, remedy=remedy)
    return StepVerdict(result=Result.PASSED, number=number)


# -- CR1 -----------------------------------------------------------------------------------------------------------

SHOWN = ("STATE", "DSTATE", "JPOSF", "PPOSF", "VALM_MODE;M", "ERROR", "STPSIG", "PARRLNG", "PARCBAU232", "PARHILNONE")
"""PARHILNONE is a parameter that is not there: how a refusal is written."""


def ask_shown(talk: Talk, channels: tuple[int, ...]) -> None:
    """Open, and what it shows, twice: a garbled digit looks like a setting."""
    _open(talk)
    for _ in range(2):
        for question in SHOWN:
            talk.ask(f"1;1;{question}", within_s=1.0)
            talk.pause(0.1)
    talk.ask("1;1;CLOSE", within_s=1.0)


def _open(talk: Talk) -> None:
    """Under the first name that it takes."""
    for client in ("HIL", "NARCUSR", "TOOLBOX"):
        if "MELFA" in talk.ask(f"1;1;OPEN={client}", within_s=1.0).answer:
            return


def ask_joints(talk: Talk, channels: tuple[int, ...]) -> None:
    """How long an answer takes."""
    _open(talk)
    for _ in range(LOOKS):
        talk.ask("1;1;JPOSF", within_s=1.0)
        talk.pause(0.1)
    talk.ask("1;1;CLOSE", within_s=1.0)


def judge_open(facts: Facts, answer: str) -> StepVerdict:
    """It is the controller of an RV-2AJ, and shows its joints."""
    opened = [each for each in facts.all(r"1;1;OPEN=.*") if "MELFA" in each.answer]
    if not opened:
        remedy = (
            "look at power, cable (null modem) and the line's setting (factory: 9600 8E2); `hil status RIG --hardware`"
        )
        return StepVerdict(result=Result.FAILED, number="OPEN is not answered", remedy=remedy)
    fields = opened[-1].answer.split(";")
    name, axes = fields[6] if len(fields) > 6 else "?", ";".join(fields[:2])[3:]
    number = f"{name}, axes {axes}, as {opened[-1].question[9:]}, joints {facts.last('1;1;JPOSF')[3:60]}"
    if "RV-2AJ" not in name:
        return StepVerdict(result=Result.FAILED, number=number, remedy="is this the right port?")
    if not facts.last("1;1;JPOSF").lower().startswith("qok"):
        return StepVerdict(result=Result.FAILED, number=number, remedy="JPOSF is not answered: send the archive")
    return StepVerdict(result=Result.PASSED, number=number)


def judge_joints(facts: Facts, answer: str) -> StepVerdict:
    """Every look is answered."""
    return _times(facts.all("1;1;JPOSF", "C4"), LOOKS, 0.5)


# -- what a person says --------------------------------------------------------------------------------------------

_YES = {"yes", "y", "ja", "j"}
_NOT_YET = StepVerdict(result=Result.NOT_JUDGED, remedy="not done yet")


def judge_said(facts: Facts, answer: str) -> StepVerdict:
    """Yes passes; no, with whatever stands behind it, does not."""
    word = answer.split(",")[0].split(" ")[0].lower()
    if not answer:
        return _NOT_YET
    if word in _YES:
        return StepVerdict(result=Result.PASSED, number=answer)
    if word in ("no", "n", "nein"):
        return StepVerdict(result=Result.FAILED, number=answer, remedy="do not go on with what moves; send the archive")
    return StepVerdict(result=Result.NOT_JUDGED, number=answer, remedy="yes or no was asked for")


def judge_volts(facts: Facts, answer: str) -> StepVerdict:
    """Two numbers, volts at VS and at VL, within what the manuals allow."""
    found = [float(number.replace(",", ".")) for number in re.findall(r"\d+(?:[.,]\d+)?", answer)]
    if len(found) < 2:
        remedy = "measure at both terminals and give two numbers, such as 5.9 7.4"
        return StepVerdict(result=Result.NOT_JUDGED, number=answer, remedy=remedy)
    servos, logic = found[:2]
    number = f"VS {servos:g} V, VL {logic:g} V"
    if not 4.8 <= servos <= 6.0 or not 6.0 <= logic <= 9.0:
        remedy = "switch off. Allowed: VS 4.8 to 6 V, VL 6 to 9 V with the jumper VS1=VL taken out"
        return StepVerdict(result=Result.FAILED, number=number, remedy=remedy)
    return StepVerdict(result=Result.PASSED, number=number)


def judge_computer(facts: Facts, answer: str) -> StepVerdict:
    """Doctor finds no error, and the person none either."""
    errors = [line for line in facts.computer if line.startswith("error")]
    if errors:
        return StepVerdict(result=Result.FAILED, number=errors[0], remedy="mend that first: `hil doctor` says how")
    return judge_said(facts, answer)


Pairs = tuple[tuple[Run, RunJudge], ...]
"""Each run of a step, with what its numbers mean."""


def judge_runs(step: str, pairs: Pairs, *, asks: bool, word: bool = False) -> Judge:
    """What was measured of each run decides; a person's no fails it too.

    Args:
        step: its number.
        pairs: what was run.
        asks: a person has to be asked, whatever the answer.
        word: it passes only if a person says yes besides.
    """

    def judge(facts: Facts, answer: str) -> StepVerdict:
        found: list[Finding] = []
        for run, of in pairs:
            passed, number, remedy = _found(facts, step, run, of)
            found.append((passed, f"{run.name}: {number}" if run.name else number, remedy))
        number = "; ".join(each[1] for each in found)
        said = judge_said(facts, answer)
        if answer:
            number = f"{number}; seen: {answer}"
        for passed, result in ((False, Result.FAILED), (None, Result.NOT_JUDGED)):
            remedies = [each[2] for each in found if each[0] is passed]
            if remedies:
                return StepVerdict(result=result, number=number, remedy=remedies[0])
            if said.result is Result.FAILED:
                return StepVerdict(result=Result.FAILED, number=number, remedy=said.remedy)
        if (word and said.result is not Result.PASSED) or (asks and step not in facts.answers):
            return StepVerdict(result=Result.NOT_JUDGED, number=number, remedy=said.remedy)
        return StepVerdict(result=Result.PASSED, number=number)

    return judge


def _found(facts: Facts, step: str, run: Run, of: RunJudge) -> Finding:
    measured = facts.newest(step, run.name)
    return runs.common(measured) or of(measured or Measured(step=step))


def judge_both(first: Judge, second: Judge) -> Judge:
    """Two that have to pass; what is said is the first that does not, or both."""

    def judge(facts: Facts, answer: str) -> StepVerdict:
        verdicts = [first(facts, answer), second(facts, answer)]
        for result in (Result.FAILED, Result.NOT_JUDGED):
            for verdict in verdicts:
                if verdict.result is result:
                    return verdict
        return StepVerdict(result=Result.PASSED, number="; ".join(verdict.number for verdict in verdicts))

    return judge


# -- the lists -----------------------------------------------------------------------------------------------------


class Part(Record, frozen=True):
    """A step with how it is measured and judged.

    Attributes:
        asker: questions to the controller, before anything runs.
        pairs: what is run, one after the other.
    """

    step: Step
    judge: Judge
    asker: Asker | None = None
    pairs: Pairs = ()

    def was_asked(self, facts: Facts) -> bool:
        """Whether the controller was asked what it has to be asked; until then its silence says nothing."""
        return self.asker is None or any(each.step == self.step.id for each in facts.talk)

    def left(self, facts: Facts) -> tuple[Run, ...]:
        """Those runs that have not passed yet."""
        return tuple(run for run, of in self.pairs if _found(facts, self.step.id, run, of)[0] is not True)


def _said(id: str, title: str, do: str, ask: str, expect: str, judge: Judge = judge_said) -> Part:
    return Part(step=Step(id=id, title=title, do=do, ask=ask, expect=expect), judge=judge)


def _asked(id: str, title: str, do: str, expect: str, asker: Asker, judge: Judge) -> Part:
    return Part(step=Step(id=id, title=title, do=do, expect=expect), judge=judge, asker=asker)


def _run(id: str, title: str, do: str, ask: str, expect: str, *pairs: tuple[Run, RunJudge], word: bool = False) -> Part:
    moves = any(run.moves for run, _ in pairs)
    step = Step(id=id, title=title, do=do, ask=ask, expect=expect, moves=moves)
    return Part(step=step, judge=judge_runs(id, pairs, asks=bool(ask), word=word), pairs=pairs)


MINUTE_S = 60.0
PATIENCE_S = 45.0
"""How long the arm goes there and back, or stands, until somebody has done what the step asks for."""

Changes = Mapping[str, Mapping[str, Any]]
_SLOW: Changes = {"controller": {"override_percent": 10}}
_SEGMENTS: Changes = {"timing": {"look_ahead_ms": 3600}, "controller": {"way": "segments", "send_period_ms": 1500}}
_LOOP = {"look_ahead_ms": 2400, "energise_dwell_ms": 900}
_HOT: Changes = {"timing": _LOOP, "controller": {"way": "hot", "send_period_ms": 1000}}
_LINE: Changes = {"timing": _LOOP, "controller": {"way": "line", "send_period_ms": 1000}}


def _each_way() -> Pairs:
    """As the bundled rigs of these ways have it."""
    ways = (("segments", _SEGMENTS), ("hot", _HOT), ("line", _LINE))
    return tuple(
        (Run(way=Way.SWING, name=name, changes=changes, seconds=MINUTE_S), runs.kept_going) for name, changes in ways
    )


def _in_swing(name: str, deed: Deed) -> Run:
    return Run(way=Way.SWING, name=name, deed=deed, seconds=PATIENCE_S)


_SQUARE = Run(way=Way.TASK, task="square")
_EACH_WAY = _each_way()

PARTS: Mapping[str, tuple[Part, ...]] = {
    "ssc32": (
        _said("1", "the computer", "hil doctor; hil ports", "No errors there?", "no error; latency at most 2 ms",
              judge_computer),
        _said("2", "the supply", "Supplies off: polarity, fuse, jumper VS1=VL out. Then measure.",
              "Volts at VS and at VL?", "4.8 to 6 V and 6 to 9 V", judge_volts),
        _asked("3", "who is there", "Logic supply on, servo supply OFF.", "text of VER", ask_version, judge_version),
        _asked("4", "channels nobody has driven", "", "all 0", ask_untouched, judge_untouched),
        _asked("5", "what the board does by itself", "", "R0 bits 0, 2, 3 clear", ask_registers, judge_registers),
        _asked("6", "200 round trips", "", "median and worst; none missed", ask_trips, judge_trips),
        _said("7", "park", "Arm in its park pose by hand, servo supply on, photograph it.", "Does the limp arm stay?",
              "it stays"),
        _run("8", "calibrate", "hil calibrate RIG", "Residuals within 2 degrees, or the servo is so?",
             "within 2 deg", (Run(way=Way.COMMAND, task="calibrate"), runs.residuals_shown), word=True),
        _run("9", "prove", "hil check RIG --prove", "", "passes",
             (Run(way=Way.COMMAND, task="prove"), runs.ended_well)),
        _run("10", "a square", "Film it.", "Smooth by eye?", "no stop, smooth by eye", (_SQUARE, runs.ran_through),
             word=True),
        _run("11", "Ctrl-C in mid-motion", "The square again; in the middle of it press Ctrl-C.",
             "Did it rest at once, and stay there?", "within 0.5 s",
             (Run(way=Way.TASK, task="square", deed=Deed.INTERRUPT), runs.came_to_rest(0.5))),
        _run("12", "the cable", "The square again; in the middle of it pull the USB plug.",
             "Did it stand at once?", "within 0.1 s, named",
             (Run(way=Way.TASK, task="square", deed=Deed.UNPLUG), runs.was_named(0.1))),
        _run("13", "a restart", "Arm propped and at rest: once it is connected, restart the logic supply.",
             "Did nothing move?", "within 0.6 s, no motion",
             (Run(way=Way.STANDS, deed=Deed.RESTART, seconds=PATIENCE_S), runs.was_named(0.6))),
        _run("14", "after the power", "Cut servo supply and logic, park by hand, both on again.",
             "Limp until now?", "limp, asks",
             (Run(way=Way.LOOK, deed=Deed.RESTART), runs.was_limp)),
        _run("15", "ten minutes at home", "It goes home. Let it hold for ten minutes; feel the servos, measure VS.",
             "Cool enough to hold, and volts as before?", "warm at most",
             (Run(way=Way.HOME), runs.ran_through), word=True),
    ),
    "rv2aj": (
        _asked("C1", "who is there", "Photograph the key. It stands on AUTO (Ext.).", "saved word for word", ask_shown,
               judge_open),
        _run("C2", "status and backup", "hil status RIG; hil backup RIG", "", "ends with 0",
             (Run(way=Way.COMMAND, name="status", task="status"), runs.ended_well),
             (Run(way=Way.COMMAND, name="backup", task="backup"), runs.ended_well)),
        _run("C3", "two degrees", "One axis by 2 degrees at override 10, hand at the stop.", "Did it move as asked?",
             "moves, or the number of the refusal",
             (Run(way=Way.TWO_DEGREES, changes=_SLOW), runs.went(1.5, 2.5))),
        Part(
            step=Step(id="C4", title="fifty looks, each way of moving",
                      do="Fifty looks at the joints; then there and back for a minute, each way.",
                      ask="Smooth for its way?", expect="reply times, targets a second", moves=True),
            asker=ask_joints,
            judge=judge_both(judge_joints, judge_runs("C4", _EACH_WAY, asks=True)),
            pairs=_EACH_WAY,
        ),
        _run("C5", "stops", "In motion: Ctrl-C, then the key, then the emergency stop.", "Was each named at once?",
             "at rest after what a stop takes by the rig, or named within a second",
             (_in_swing("Ctrl-C", Deed.INTERRUPT), runs.came_to_rest()),
             (_in_swing("key", Deed.KEY), runs.was_named(1.0, by="deed")),
             (_in_swing("emergency stop", Deed.EMERGENCY_STOP), runs.was_named(1.0, by="deed"))),
        _run("C5a", "STOP at the panel", "In motion: STOP at the controller's panel.", "Did it stay at rest then?",
             "named within a second; nobody knows whether the next target starts it again",
             (_in_swing("", Deed.PANEL_STOP), runs.was_named(1.0, by="deed"))),
        _said("C6", "after it", "Read the panel.", "Right free, and no program HIL... there?",
              "right free, no program of ours"),
    ),
}  # fmt: skip
"""By kind of controller."""


class Outcome(Record, frozen=True):
    """One step with its verdict, as the archive keeps it."""

    step: Step
    verdict: StepVerdict
    answer: str = ""


def judged(kind: str, facts: Facts) -> list[Outcome]:
    """Every step of this kind, with what came of it so far."""
    outcomes = []
    for part in PARTS[kind]:
        answer = facts.answers.get(part.step.id, "")
        verdict = part.judge(facts, answer) if part.was_asked(facts) else _NOT_YET
        outcomes.append(Outcome(step=part.step, verdict=verdict, answer=answer))
    return outcomes
