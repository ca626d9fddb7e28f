"""Programs that nobody would write, and what has to hold for them all the same.

Whatever the text, reading it gives a program or errors of the controller; running it never raises, and the joints stay
finite, inside their limits and within their speeds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hil.program.builder import Dialect
from hil.program.frames import SlotState
from hil.program.interpreter import Interpreter
from hil.program.lint import lint
from hil.program.motions import default_limits
from hil.program.rv2aj import Rv2aj
from hil.program.signals import AssumedSignals, InputChange, Inputs, TextArrives
from hil.program.structure import read_program
from hil.units import DEG

CORPUS = Path(__file__).parents[1] / "program" / "corpus"
HOME = [angle * DEG for angle in (0.0, 0.0, 90.0, 90.0, 0.0)]
ARM = Rv2aj()
LIMITS = default_limits(0.02)
SLACK = 1e-6

TOKEN = re.compile(r"\"[^\"]*\"|'.*|[A-Za-z_][A-Za-z_0-9]*[$%!#&]?|\d+\.?\d*|[^\s\w]|\s+")
EXTREMES = ("0", "-1", "1E308", "1E-308", "32767", "32768", "99999999999999999999", "0.0001", "-0", "1.5", "&HFFFF", "")
STRANGE = ("\0", "\t", "é", "ホ", "\u2028", "\x1a", '"', "'", "\\", "(", ")", ",", "*", "=", "#", "&", "$", "%", ".")
INPUTS = Inputs(
    changes=(InputChange(time_s=0.4, signal=10, value=1), InputChange(time_s=0.8, signal=0, value=255, width=8)),
    texts=(
        TextArrives(time_s=0.2, number=1, text='1,"GO",(250,60,300,0,180,0)(6,0)'),
        TextArrives(time_s=0.5, number=1, text=",,(,"),
    ),
)


def seeds() -> list[str]:
    """The programs of the corpus."""
    return [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.mb4"))]


def mutated(rng: random.Random, programs: Sequence[str]) -> str:
    """A program with some changes; sometimes the end of another one."""
    lines = rng.choice(programs).split("\n")
    if rng.random() < 0.2:
        other = rng.choice(programs).split("\n")
        lines = lines[: rng.randrange(len(lines) + 1)] + other[rng.randrange(len(other)) :]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        lines = rng.choice(CHANGES)(rng, lines, programs) or [""]
    return "\n".join(lines)


def _line_order(rng: random.Random, lines: list[str], programs: Sequence[str]) -> list[str]:
    at = rng.randrange(len(lines))
    change = rng.randrange(3)
    if change == 0:
        return lines[:at] + lines[at + 1 :]
    if change == 1:
        return [*lines[:at], lines[rng.randrange(len(lines))], *lines[at:]]
    to = rng.randrange(len(lines))
    swapped = list(lines)
    swapped[at], swapped[to] = swapped[to], swapped[at]
    return swapped


def _tokens(rng: random.Random, lines: list[str], programs: Sequence[str]) -> list[str]:
    at = rng.randrange(len(lines))
    parts = TOKEN.findall(lines[at]) or [""]
    k = rng.randrange(len(parts))
    change = rng.randrange(4)
    if change == 0:
        del parts[k]
    elif change == 1:
        donor = TOKEN.findall(rng.choice(rng.choice(programs).split("\n"))) or [""]
        parts[k] = rng.choice(donor)
    elif change == 2:
        donor = TOKEN.findall(rng.choice(rng.choice(programs).split("\n"))) or [""]
        parts.insert(k, rng.choice(donor))
    else:
        numbers = [j for j, part in enumerate(parts) if part[:1].isdigit()]
        if numbers:
            parts[rng.choice(numbers)] = rng.choice((*EXTREMES, str(rng.uniform(-400, 400)), str(rng.randrange(400))))
    return [*lines[:at], "".join(parts), *lines[at + 1 :]]


def _characters(rng: random.Random, lines: list[str], programs: Sequence[str]) -> list[str]:
    at = rng.randrange(len(lines))
    text = lines[at]
    k = rng.randrange(len(text) + 1)
    if rng.random() < 0.5:
        text = text[:k] + rng.choice(STRANGE) * rng.choice((1, 1, 1, 40)) + text[k:]
    else:
        text = text[:k] + text[k + rng.randrange(6) :]
    return [*lines[:at], text, *lines[at + 1 :]]


CHANGES = (_line_order, _tokens, _tokens, _tokens, _characters)


def judge(text: str, *, ticks: int = 150, with_lint: bool = True) -> None:
    """Read, check and run a text.

    Raises:
        AssertionError: a joint went where or as fast as it must not.
        Exception: whatever the house let through.
    """
    read_program(text, dialect=Dialect.STRICT)
    program, errors = read_program(text, dialect=Dialect.LOOSE)
    for error in errors:
        assert error.row >= 1 and error.column >= 1, f"an error without a place: {error}"
    if with_lint:
        lint(program, errors)
    if errors:
        return
    machine = Interpreter(program, ARM, AssumedSignals(INPUTS), LIMITS, HOME)
    machine.run(repeat=True)
    before = machine.row
    for tick in range(ticks):
        machine.tick()
        if tick == ticks // 2:
            machine.stop()
        if tick == ticks // 2 + 30 and machine.state is SlotState.PAUSED:
            machine.run()
        speed = np.abs(machine.row - before) / LIMITS.period_s
        assert np.isfinite(machine.row).all(), "a joint is not finite"
        assert (speed <= LIMITS.speed * (1.0 + SLACK)).all(), f"a joint at {speed / DEG} deg/s"
        inside = (machine.row >= ARM.lower_rad - SLACK) & (machine.row <= ARM.upper_rad + SLACK)
        assert inside.all(), f"a joint at {machine.row / DEG} deg"
        before = machine.row
