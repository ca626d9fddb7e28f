"""The corpus: programs whose first lines say, after ``'!``, what has to come of them.

``strict`` and ``loose``: ``ok``, or number, row and column of the first error. ``input TIME SIGNAL VALUE`` and
``text TIME LINE TEXT`` are assumed from outside. ``run``: ``ended``, or number and row of the error that stops it.
``points``: how many positions are taught in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hil.program.signals import InputChange, Inputs, TextArrives

FOLDER = Path(__file__).parents[1] / "program" / "corpus"


class Wanted(NamedTuple):
    """One program, and what is said of it."""

    name: str
    text: str
    strict: str
    loose: str
    run: str
    points: int | None
    inputs: Inputs


def corpus() -> list[Wanted]:
    """All of them."""
    return [_read(path) for path in sorted(FOLDER.glob("*.mb4"))]


def _read(path: Path) -> Wanted:
    text = path.read_text(encoding="utf-8")
    said: dict[str, str] = {}
    changes, texts = [], []
    for line in text.splitlines():
        if not line.startswith("'!"):
            continue
        word, _, rest = line[2:].strip().partition(" ")
        if word == "input":
            time_s, signal, value = rest.split()
            changes.append(InputChange(time_s=float(time_s), signal=int(signal), value=int(value)))
        elif word == "text":
            time_s, number, what = rest.split(" ", 2)
            texts.append(TextArrives(time_s=float(time_s), number=int(number), text=what))
        else:
            said[word] = rest
    points = int(said["points"]) if "points" in said else None
    inputs = Inputs(changes=tuple(changes), texts=tuple(texts))
    return Wanted(path.stem, text, said["strict"], said["loose"], said.get("run", ""), points, inputs)
