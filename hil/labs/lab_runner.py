"""Runs a lab: writes its files, types its commands, and holds what comes out against what the page says."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hil.labs.lab_page import Block, BlockKind, Expected, Lab, LabCommand
from hil.labs.lab_typist import ProcessTypist, Typed, Typist
from hil.types import Record

GOES_ON = " &"
"""Behind a command that goes on until the lab is over, as a shell has it."""

_MARK = "--- here the block begins ---"


class Measured(NamedTuple):
    """A number that came out, None where it was not found, beside what was expected."""

    expected: Expected
    value: float | None

    @property
    def holds(self) -> bool:
        """Whether it is within its tolerance."""
        return self.value is not None and abs(self.value - self.expected.value) <= self.expected.tolerance

    def words(self) -> str:
        """In a line."""
        wanted = self.expected
        found = "not found" if self.value is None else f"{self.value:.10g}"
        return f"{wanted.name}: {found}; {wanted.value:.10g} within {wanted.tolerance:g} expected ({wanted.source})"


class LabOutcome(Record, frozen=True):
    """What came of a lab.

    Attributes:
        name: of the lab.
        measured: every number of the blocks that were run.
        commands: how many commands and scripts were run.
        left_out: how many blocks a short run left out.
        wrong: what did not come out as the page has it, a line each, with the line of the page.
    """

    name: str
    measured: tuple[Measured, ...]
    commands: int
    left_out: int
    wrong: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether everything came out."""
        return not self.wrong


def run_lab(lab: Lab, say: Callable[[str], None] | None = None, *, short: bool = False) -> LabOutcome:
    """Run a lab in an empty folder, a process for each line, and take the folder away again.

    Args:
        lab: which.
        say: is told each line with what it took.
        short: leave out what is marked as long.
    """
    with tempfile.TemporaryDirectory(prefix="hil-lab-", ignore_cleanup_errors=True) as folder:
        here, home = Path(folder) / "lab", Path(folder) / "home"
        here.mkdir()
        home.mkdir()
        with ProcessTypist(here, home) as typist:
            return run_in(lab, here, typist, say, short=short)


def run_in(
    lab: Lab, folder: Path, typist: Typist, say: Callable[[str], None] | None = None, *, short: bool = False
) -> LabOutcome:
    """As `run_lab`, in a folder and by a typist of the caller's.

    Args:
        lab: which.
        folder: for the lab's files, empty.
        typist: types in that folder.
        say: is told each line with what it took.
        short: leave out what is marked as long.
    """
    return _Run(lab, folder, typist, say or (lambda words: None), short).outcome()


class _Run:
    """One run of a lab."""

    def __init__(self, lab: Lab, folder: Path, typist: Typist, say: Callable[[str], None], short: bool) -> None:
        self._lab, self._folder, self._typist, self._say, self._short = lab, folder, typist, say, short
        self._script: list[str] = []
        self._commands = 0

    def outcome(self) -> LabOutcome:
        measured: list[Measured] = []
        wrong: list[str] = []
        left_out = 0
        for block in self._lab.blocks:
            if self._short and block.long:
                left_out += 1
                continue
            printed, lacking = self._block(block)
            found = [Measured(number, number.pattern.find(printed)) for number in block.numbers]
            measured += found
            wrong += lacking
            wrong += [f"line {one.expected.line}: {one.words()}" for one in found if not one.holds]
        return LabOutcome(self._lab.name, tuple(measured), self._commands, left_out, tuple(wrong))

    def _block(self, block: Block) -> tuple[str, list[str]]:
        """Do what it asks for; what was printed, and what is wrong with it."""
        if block.kind is BlockKind.FILE:
            (self._folder / block.file).write_text(block.text, encoding="utf-8")
            return "", []
        if block.kind is BlockKind.PYTHON:
            return self._python(block)
        printed: list[str] = []
        lacking: list[str] = []
        for command in block.commands:
            if self._short and command.long:
                continue
            typed = self._timed(f"$ {command.typed}", lambda command=command: self._typed(command))  # type: ignore[misc]
            printed.append(typed.printed)
            lacking += _lacking(command, typed)
        return "\n".join(printed), lacking

    def _typed(self, command: LabCommand) -> Typed:
        if command.typed.endswith(GOES_ON):
            return self._typist.begin(command.typed.removesuffix(GOES_ON))
        return self._typist.hil(command.typed)

    def _python(self, block: Block) -> tuple[str, list[str]]:
        """Run it behind the lab's scripts before it, whose names it knows, as in a notebook."""
        script = "\n".join([*self._script, f"print({_MARK!r})", block.text])
        self._script.append(block.text)
        typed = self._timed(f"python, line {block.line}", lambda: self._typist.python(script))
        _, _, printed = typed.printed.rpartition(f"{_MARK}\n")
        if typed.code:
            return printed, [f"line {block.line}: the script ended with {typed.code}: {_last(typed.printed)}"]
        return printed, []

    def _timed(self, words: str, type_it: Callable[[], Typed]) -> Typed:
        began_s = time.perf_counter()
        typed = type_it()
        self._commands += 1
        self._say(f"{words} ({time.perf_counter() - began_s:.1f} s)")
        return typed


def _lacking(command: LabCommand, typed: Typed) -> Iterator[str]:
    """What a command did otherwise than the page has it."""
    if "Traceback" in typed.printed:
        yield f"line {command.line}: {command.typed}: a traceback: {_last(typed.printed)}"
    elif typed.code != command.code:
        yield (
            f"line {command.line}: {command.typed}: ended with {typed.code}, not {command.code}: {_last(typed.printed)}"
        )
    elif (missing := _missing(command.shown, typed.printed)) is not None:
        yield f"line {command.line}: {command.typed}: does not print: {missing}"


def _missing(shown: tuple[str, ...], printed: str) -> str | None:
    """The first line shown that was not printed, in their order; ``...`` stands for anything."""
    lines = iter(printed.splitlines())
    for line in shown:
        if line.strip() in ("", "..."):
            continue
        parts = [r"\s+".join(map(re.escape, part.split())) for part in line.split("...")]
        pattern = re.compile(r"\s*" + r".*".join(parts).replace(r".*", r"\s*.*\s*") + r"\s*")
        if not any(pattern.fullmatch(given) for given in lines):
            return line
    return None


def _last(printed: str) -> str:
    return printed.strip().splitlines()[-1] if printed.strip() else "it printed nothing"
