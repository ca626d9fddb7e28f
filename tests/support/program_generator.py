"""Programs written at random, line by line as a person would: most can be read, many of them run into trouble.

Given the same source of chance, the same program. What has to hold of each is in `judge`: lint and interpreter agree.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from hil.program import nodes
from hil.program.errors import ProgramError
from hil.program.flow import way_of
from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.lint import Finding, lint
from hil.program.motions import default_limits
from hil.program.rv2aj import Rv2aj
from hil.program.settings import Settings
from hil.program.signals import AssumedSignals, InputChange, Inputs
from hil.program.structure import Program, read_program
from hil.program.trials import trials
from hil.units import DEG

HOME = [angle * DEG for angle in (0.0, 0.0, 90.0, 90.0, 0.0)]
ARM = Rv2aj()
LIMITS = default_limits(0.02)
MOST_TICKS, MOST_TICKS_OF_A_WITNESS = 1200, 30_000
"""Of a run with inputs by chance, and of one that has to end in an error."""

BUNDLED = (Path(__file__).parents[2] / "configs" / "programs", Path(__file__).parents[1] / "program" / "corpus")

POINTS = (
    "P1=(250,0,400,0,180,0)(6,0)",
    "P2=(250,90,350,0,180,0)(6,0)",
    "P3=(300,-60,380,0,160,0)(6,0)",
    "P4=(350,0,400,0,90,0)(4,0)",
    "P5=(500,0,300,0,90,0)(6,0)",
    "P6=(150,300,300,0,180,0)(6,0)",
    "J1=(20,10,80,0,60,0)",
    "J2=(0,0,150,0,60,0)",
    "PW(1)=(260,0,420,0,180,0)(6,0)",
    "PW(2)=(260,40,420,0,180,0)(6,0)",
)
INPUTS = (1, 2)


class Writer:
    """Writes one program.

    Args:
        rng: the chance.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._labels = [f"*L{k}" for k in range(rng.randrange(4))]
        self._routines = [f"*R{k}" for k in range(rng.randrange(3))]
        self._numbers: list[str] = []

    def text(self) -> str:
        """The whole program, numbered, with its points."""
        rng = self._rng
        lines = [f"M{k}={rng.choice(('0', '1', '3', '0.5'))}" for k in range(1, rng.randrange(1, 5))]
        lines += self._block(rng.randrange(3, 10), 0)
        for label in self._labels:
            lines.insert(rng.randrange(len(lines) + 1), label)
        lines += ["END"] if rng.random() < 0.9 else []
        for routine in self._routines:
            lines += [routine, *self._block(rng.randrange(1, 4), 1), *(["RETURN"] if rng.random() < 0.93 else [])]
        numbered = [f"{10 * k} {line}" for k, line in enumerate(lines, start=1)]
        return "\n".join([*numbered, *rng.sample(POINTS, rng.randrange(6, len(POINTS) + 1)), ""])

    def _block(self, count: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            if depth < 3 and self._rng.random() < 0.22:
                lines += self._nested(depth)
            else:
                lines.append(self._simple())
        return lines

    def _nested(self, depth: int) -> list[str]:
        rng = self._rng
        inner = self._block(rng.randrange(1, 4), depth + 1)
        kind = rng.randrange(5)
        if kind == 0:
            return [f"IF {self._condition()} THEN", *inner, *self._otherwise(depth), "ENDIF"]
        if kind == 1:
            loop = f"M{rng.randrange(1, 6)}"
            step = rng.choice(("", "", " STEP 2", " STEP -1", " STEP M2"))
            head = f"FOR {loop}={rng.randrange(3)} TO {rng.choice(('2', '3', 'M1'))}{step}"
            return [head, *inner, *self._breaks(), f"NEXT {loop}" if rng.random() < 0.8 else "NEXT"]
        if kind == 2:
            return ["M8=0", f"WHILE M8<{rng.randrange(1, 4)}", *inner, *self._breaks(), "M8=M8+1", "WEND"]
        if kind == 3:
            other = self._block(1, depth + 1)
            what = rng.choice(("M1", "M2+1", "M_INB(1)", "M_IN(1)"))
            cases = [f"CASE {rng.randrange(3)}", *inner, "BREAK", f"CASE IS >= {rng.randrange(3)}", *other]
            return [
                f"SELECT {what}",
                *cases,
                *(["DEFAULT", self._simple()] if rng.random() < 0.5 else []),
                "END SELECT",
            ]
        return [f"IF {self._condition()} THEN", *inner, "ENDIF"]

    def _otherwise(self, depth: int) -> list[str]:
        if self._rng.random() < 0.3:
            return [f"ELSEIF {self._condition()} THEN", *self._block(1, depth + 1), "ELSE", self._simple()]
        return ["ELSE", *self._block(1, depth + 1)]

    def _breaks(self) -> list[str]:
        return [f"IF {self._condition()} THEN BREAK"] if self._rng.random() < 0.15 else []

    def _condition(self) -> str:
        rng = self._rng
        return rng.choice(
            (
                f"M_IN({rng.choice(INPUTS)})={rng.randrange(2)}",
                f"M_IN({rng.choice(INPUTS)})={rng.randrange(2)}",
                f"M{rng.randrange(1, 6)}{rng.choice(('=', '>', '<', '<>'))}{rng.randrange(3)}",
                f"M{rng.randrange(1, 4)}=1 AND M_IN(1)=1",
                "NOT M_IN(2)",
                f"P_CURR.Z>{rng.choice((300, 380))}",
                "M_SVO=1",
            )
        )

    def _target(self) -> str:
        return self._rng.choice([*self._labels, *self._labels, *self._routines, "20"])

    def _place(self) -> str:
        many = ("P1", "P2", "P3", "P1", "P2", "P3", "J1", "P4", "P5", "P6", "J2", "PW(1)", "PW(M1)", "P9", "P_CURR")
        return self._rng.choice((*many, "(P1+P2)", "(P1*P2)", "(PLT 1,2)"))

    def _number(self) -> str:
        rng = self._rng
        return rng.choice(
            ("1", "2", "50", "100", "M1", "M2", "M3", "0", "-1", "101", "M1*50", "1/M1", "LIMIT", "SQR(M2)")
        )

    def _simple(self) -> str:
        rng = self._rng
        plain = SIMPLE[rng.randrange(len(SIMPLE))](self, rng)
        if rng.random() < 0.15 and "IF " not in plain and not plain.startswith("DEF "):
            return f"IF {self._condition()} THEN {plain}" + (
                f" ELSE M7={rng.randrange(3)}" if rng.random() < 0.3 else ""
            )
        return plain


SIMPLE: tuple[Callable[[Writer, random.Random], str], ...] = (
    lambda w, r: f"MOV {w._place()}{r.choice(('', '', ',-20', ',M1'))}",
    lambda w, r: f"MOV {w._place()}",
    lambda w, r: f"MVS {w._place()}{r.choice(('', '', ',-20', ' TYPE 0,1'))}",
    lambda w, r: f"MVR {w._place()},{w._place()},{w._place()}",
    lambda w, r: f"MOV {w._place()} {r.choice(('WTH M_OUT(3)=1', 'WTHIF M_IN(1)=1,SKIP', 'WTHIF M_IN(2)=1,M7=1'))}",
    lambda w, r: f"M{r.randrange(1, 7)}={w._number()}",
    lambda w, r: f"M{r.randrange(1, 7)}=M{r.randrange(1, 7)}+1",
    lambda w, r: f"P{r.randrange(1, 8)}={w._place().strip('()') if r.random() < 0.5 else 'P1'}",
    lambda w, r: f"P{r.randrange(1, 8)}.Z={r.choice(('380', '1200', 'M1'))}",
    lambda w, r: f"{r.choice(('OVRD', 'JOVRD', 'SPD', 'ACCEL'))} {w._number()}",
    lambda w, r: f"DLY {r.choice(('0.05', '0.1', 'M1', '-1'))}",
    lambda w, r: f"WAIT {w._condition()}",
    lambda w, r: f"GOTO {w._target()}",
    lambda w, r: f"GOSUB {w._target()}",
    lambda w, r: f"ON {r.choice(('M1', 'M2', 'M_IN(1)+1'))} {r.choice(('GOTO', 'GOSUB'))} {w._target()},{w._target()}",
    lambda w, r: f"M_OUT({r.choice(('5', 'M1', '40000'))})={r.choice(('1', '0', '1 DLY 0.1'))}",
    lambda w, r: f"{r.choice(('HOPEN', 'HCLOSE'))} {r.choice(('1', '1', 'M1', '9'))}",
    lambda w, r: f"CNT {r.choice(('0', '1', '1', '1,50', '2'))}",
    lambda w, r: r.choice(("SERVO ON", "SERVO OFF", "WAIT M_SVO=1", "HLT", "FINE 10", "OADL ON", "END", "RETURN")),
    lambda w, r: f"ERROR {r.choice(('9001', '9101', '9201', '9201', '1'))}",
    lambda w, r: f"DEF ACT {r.choice('1129')},M_IN({r.choice(INPUTS)})=1 {r.choice(('GOTO', 'GOSUB'))} {w._target()}",
    lambda w, r: f"ACT {r.choice(('1', '2', '0'))}={r.choice(('1', '0'))}",
    lambda w, r: f"DIM ME({r.choice(('3', '2', 'M1'))})",
    lambda w, r: f"ME({r.choice(('1', '2', '4', 'M1'))})=1",
    lambda w, r: f"DEF PLT 1,P1,P2,P3,,{r.choice(('2', '3', '0'))},2,{r.choice(('1', '2', '4'))}",
    lambda w, r: f"C1$={r.choice(('STR$(M1)', 'M1', 'CHR$(M2)'))}",
    lambda w, r: f"{r.choice(('TOOL', 'BASE'))} {r.choice(('(0,0,20,0,0,0)', 'P_NTOOL', '(0,0,0,30,0,0)', '0'))}",
    lambda w, r: f"CLR {r.choice(('1', '2', '0', '4'))}",
    lambda w, r: r.choice(("LIMIT=20", "M4=LIMIT", "CX=1", "DEF INTE M6", "M6=40000", "DEF FNA(X)=X/M1", "M1=FNA(2)")),
)  # fmt: skip


def written(seed: str) -> str:
    """The program of a seed."""
    return Writer(random.Random(seed)).text()


def bundled() -> list[Path]:
    """Every program that comes along: those to learn from, and the corpus."""
    return [path for folder in BUNDLED for path in sorted(folder.glob("*.mb4"))]


class DisagreementError(AssertionError):
    """Lint and interpreter do not say the same."""


def judge(text: str, chance: random.Random) -> bool:
    """What lint calls an error has a run that ends in it; what ends a run, lint has named; each step is in the graph.

    Returns:
        True if the text could be read, and so be run.

    Raises:
        DisagreementError: it is not so.
    """
    program, errors = read_program(text)
    findings = lint(program, errors)
    if errors:
        missing = {(e.number, e.row) for e in errors} - {(f.number, f.row) for f in findings if f.severity == "error"}
        _check(not missing, f"not said: {missing}", findings)
        return False
    _witnesses(program, findings)
    signals = range(min(INPUTS), max(INPUTS) + 1)
    for ones in range(2 ** len(INPUTS)):
        changes = [InputChange(time_s=0.0, signal=s, value=ones >> k & 1) for k, s in enumerate(signals)]
        if ones == 3:
            changes += [InputChange(time_s=round(chance.uniform(0.1, 3.0), 2), signal=s, value=0) for s in signals]
        error = ended(program, Inputs(changes=tuple(changes)))
        known = {(each.number, each.row) for each in findings if each.severity != "note"}
        unseen = any("not looked at" in each.text for each in findings)
        if error is not None and ones != 3 and not unseen:
            _check((error.number, error.row) in known, f"with inputs {ones}: {error}", findings)
    return True


def _witnesses(program: Program, findings: tuple[Finding, ...]) -> None:
    if not any(finding.severity == "error" for finding in findings):
        return
    shown = trials(program, ARM, LIMITS, HOME, Settings(), {}).shown
    certain = [each.met for each in shown if each.plain and each.met.certain and not each.met.again]
    for finding in findings:
        if finding.severity == "error":
            same = [met for met in certain if (met.error.number, met.error.row) == (finding.number, finding.row)]
            _check(len(same) == 1, f"no run shows {finding}", findings)
    # Those behind it are met with its line left out.
    error = ended(program, certain[0].inputs, MOST_TICKS_OF_A_WITNESS)
    met = certain[0].error
    same_end = error is not None and (error.number, error.row) == (met.number, met.row)
    _check(same_end, f"the run with {certain[0].inputs}, which shows {met}, ends in {error}", findings)


def ended(program: Program, inputs: Inputs, most_ticks: int = MOST_TICKS) -> ProgramError | None:
    """The error that ends a run, if one does. Each of its steps has to be in the flow graph."""
    settings = Settings(refuse_overspeed=False)
    machine = _Watched(program, ARM, AssumedSignals(inputs), LIMITS, HOME, settings=settings)
    machine.run()
    for _ in range(most_ticks):
        machine.tick()
        if machine.error is not None:
            return machine.error
        if machine.state is SlotState.ENDED:
            return None
        if machine.state is SlotState.PAUSED:
            machine.run()
    return None


class _Watched(Interpreter):
    """Looks at every step: where a statement leads has to be where the flow graph says."""

    def do(self, statement: nodes.Statement) -> None:
        """One statement, and the step that it makes."""
        frame, here, depth = self.frame, self.line_index, len(self.frame.returns)
        whole = here < len(frame.program.lines) and frame.program.lines[here].statement is statement
        super().do(statement)
        if not whole or self.blocked or frame is not self.frame or self.state is SlotState.ENDED:
            return
        way = way_of(frame.program, here)
        if len(frame.returns) < depth:
            _check(way.returns, f"line {here} comes back", ())
        elif len(frame.returns) > depth:
            _check(frame.pc in way.calls and frame.returns[-1].onward in way.after, f"line {here} calls {frame.pc}", ())
        else:
            _check(frame.pc in reached(frame.program, here, way.after), f"line {here} goes to {frame.pc}", ())


def reached(program: Program, index: int, after: frozenset[int]) -> frozenset[int]:
    """Lines that may be next: an IF looks through the ELSEIF below it at once."""
    found = set(after)
    waiting = [each for each in after if isinstance(program.lines[index].statement, nodes.IfBlock)]
    while waiting:
        here = waiting.pop()
        statement = program.lines[here].statement if here < len(program.lines) else None
        if isinstance(statement, nodes.IfBlock) and statement.word == "ELSEIF":
            new = way_of(program, here).after - found
            found |= new
            waiting += new
    return frozenset(found)


def _check(good: bool, text: str, findings: tuple[Finding, ...]) -> None:
    if not good:
        told = "".join(f"\n  {each.severity} {each.number} row {each.row}: {each.text}" for each in findings)
        raise DisagreementError(f"{text}; lint said:{told or ' nothing'}")
