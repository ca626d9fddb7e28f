"""What a person types while a joint is measured: several things in one answer, one after the other."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

UNDO = ("undo", "u", "back")
ALLOWED_AT_POINT = (
    "= 44.5 (so many {unit} were measured), Enter or go (one step on), go 4 (four steps; Enter halts them), "
    "= 44.5 go 4 (both), +N or -N (by so many {unit}), skip, undo, direction, done, stop"
)
MOST_STEPS = 99


class Act(NamedTuple):
    """One part of an answer.

    Attributes:
        what: ``measured``, with the position; ``go``, with the number of steps; ``by``, with the way; or a word alone.
        number: what belongs to it.
    """

    what: Literal["measured", "go", "by", "skip", "done", "direction"]
    number: float = 0.0


def parse_answer(answer: str) -> tuple[Act, ...] | None:
    """The parts of an answer in their order; None if any of it is not understood.

    A number after ``=`` was measured; one with a sign and without ``=`` moves by so much. A bare number is neither: it
    could be meant as both. Nothing at all is one step.
    """
    words = answer.replace("=", " = ").replace(",", ".").split() or ["go"]
    acts = []
    while words:
        word = words.pop(0)
        if word in ("skip", "done", "direction"):
            acts.append(Act(word))  # type: ignore[arg-type]
            continue
        if word == "go":
            steps = int(words.pop(0)) if words and words[0].isdecimal() else 1
            if not 1 <= steps <= MOST_STEPS:
                return None
            acts.append(Act("go", steps))
            continue
        measured = word == "="
        if (not words) if measured else (word[0] not in "+-"):
            return None
        number = _number(words.pop(0) if measured else word)
        if number is None:
            return None
        acts.append(Act("measured" if measured else "by", number))
    return tuple(acts)


def name_and_sign(answer: str) -> tuple[str, str]:
    """A name, and the ``+`` or ``-`` behind it, empty for none."""
    sign = answer[-1] if answer[-1] in "+-" else ""
    return answer.removesuffix(sign).strip(), sign


def _number(word: str) -> float | None:
    """A finite number; a sign alone stands for one unit."""
    try:
        number = float(f"{word}1" if word in ("+", "-") else word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
