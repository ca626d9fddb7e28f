"""The archive of an acceptance: one zip, fit to be sent to somebody, and a fake's profile made of it."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hil.errors import ConfigError
from hil.types import Record
from hil.workbench.acceptance import PARTS, Facts, Outcome, judged
from hil.workbench.acceptance_profile import board_choices, cr1_choices
from hil.workbench.acceptance_runs import Measured
from hil.workbench.acceptance_talk import Exchange

CONTENTS = "acceptance.json"
FILES = "files/"
FAKES = {"ssc32": "ssc32", "rv2aj": "cr1"}
"""By kind of controller, the name of its fake."""
BIN_MS = 1.0


class Archive(Record, frozen=True):
    """Everything of one acceptance so far.

    Attributes:
        kind: of controller, as the rig has it.
        rig: its id.
        fake: no real arm was there.
        software: versions by name.
        computer: what doctor found, a line each.
        baud, framing: the line's.
        channels: of the rig's axes; empty for a CR1.
        talk: the raw transcript.
        answers: of the person, by step.
        runs: what came of what was run, in order.
    """

    kind: str
    rig: str
    fake: bool
    software: Mapping[str, str]
    baud: int
    framing: str
    channels: tuple[int, ...] = ()
    computer: tuple[str, ...] = ()
    talk: tuple[Exchange, ...] = ()
    answers: Mapping[str, str] = {}
    runs: tuple[Measured, ...] = ()

    @property
    def facts(self) -> Facts:
        """What the judges look at."""
        return Facts(
            channels=self.channels, talk=self.talk, answers=self.answers, runs=self.runs, computer=self.computer
        )

    @property
    def outcomes(self) -> list[Outcome]:
        """Each step, judged by what there is."""
        return judged(self.kind, self.facts)


def write(path: Path, archive: Archive, files: Mapping[str, bytes] | None = None) -> None:
    """Write all of it, over one that is there; what that holds under ``files/`` stays in it.

    Args:
        path: of the zip.
        archive: what was asked and said.
        files: further ones by their name in the zip: rig, calibration, journals.

    Raises:
        ConfigError: it cannot be written there.
    """
    new = path.with_name(f"{path.name}.new")
    try:
        given = {**_files_of(path), **(files or {})}
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as box:
            box.writestr(CONTENTS, msgspec.json.format(msgspec.json.encode(archive), indent=1))
            box.writestr("steps.txt", "".join(f"{line}\n" for line in _lines(archive)))
            box.writestr("transcript.txt", "".join(map(_spoken, archive.talk)))
            box.writestr("reply-times.csv", _histogram(archive.talk))
            box.writestr("profile.toml", profile_of(archive))
            for name, data in given.items():
                box.writestr(name, data)
        new.replace(path)
    except OSError as error:
        advice = "Nothing was lost but this last writing; name another with -o."
        raise ConfigError(
            str(path), "archive", error.strerror or str(error), "a file that can be written", advice
        ) from None


def _files_of(path: Path) -> dict[str, bytes]:
    """What an archive holds beside our own."""
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as box:
        return {name: box.read(name) for name in box.namelist() if name.startswith(FILES)}


def read(path: Path) -> Archive:
    """Read one.

    Raises:
        ConfigError: it is none, or damaged.
    """
    allowed, advice = "a zip that `hil accept` wrote", "`hil accept RIG` writes one."
    try:
        with zipfile.ZipFile(path) as box:
            damaged = box.testzip()
            if damaged is not None:
                raise ConfigError(str(path), "archive", f"{damaged} in it is damaged", allowed, advice)
            archive = msgspec.json.decode(box.read(CONTENTS), type=Archive)
    except OSError as error:
        raise ConfigError(str(path), "archive", error.strerror or str(error), allowed, advice) from None
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise ConfigError(str(path), "archive", str(error), allowed, advice) from None
    if archive.kind not in PARTS:
        raise ConfigError(str(path), "kind", archive.kind, " or ".join(PARTS), "It is of a newer version of hil.")
    return archive


def _lines(archive: Archive) -> Iterator[str]:
    """Every step, and under it whatever was run for it: the journal, and what reading it back says."""
    for outcome in archive.outcomes:
        yield _line(outcome)
        for run in archive.runs:
            if run.step == outcome.step.id and run.journal:
                yield f"      {f'{run.run}: ' if run.run else ''}{FILES}{run.journal}: {run.verified}"


def _line(outcome: Outcome) -> str:
    verdict = outcome.verdict
    remedy = f"; {verdict.remedy}" if verdict.remedy else ""
    return f"{outcome.step.id:3} {verdict.result.value:10} {outcome.step.title}: {verdict.number}{remedy}"


def _spoken(each: Exchange) -> str:
    """Both ways, word for word: what cannot be printed as Python writes it."""
    shown = ascii(each.answer)[1:-1]
    took = "no answer" if each.first_s is None else f"+{(each.first_s - each.asked_s) * 1e3:.1f} ms"
    return f"{each.asked_s:12.4f} > {each.question}\n{'':12} < {shown}  ({took})\n"


def _histogram(talk: tuple[Exchange, ...]) -> str:
    """Per form of question: how many answers began in each millisecond."""
    counts: Counter[tuple[str, int]] = Counter()
    for each in talk:
        form = re.sub(r"\d+$", "", each.question)
        if each.first_s is not None:
            counts[(form, int((each.first_s - each.asked_s) * 1e3 / BIN_MS))] += 1
    rows = [f"{form},{place * BIN_MS:g},{count}" for (form, place), count in sorted(counts.items())]
    return "\n".join(["question,from_ms,answers", *rows]) + "\n"


# -- a fake's profile of it ----------------------------------------------------------------------------------------


def require_answers(archive: Archive, path: Path) -> None:
    """Make sure that there is something to make a fake of.

    Raises:
        ConfigError: its controller has answered nothing that is its own.
    """
    choices = _choices(archive)
    if not choices:
        raise ConfigError(
            str(path),
            "transcript",
            f"{sum(bool(each.answer) for each in archive.talk)} answers, and none says what answers there",
            "an archive in which the controller has said who it is",
            "Go through the first steps of `hil accept` with it again.",
        )


def profile_of(archive: Archive) -> str:
    """A profile for `hil fake`, with what this controller has shown of itself and nothing else."""
    controller, parent = ("ssc32", "ssc32-2x") if archive.kind == "ssc32" else ("cr1", "cr1")
    lines = [
        f"# Made by `hil accept --from` of an acceptance of rig {archive.rig}.",
        f"title = {toml_text(f'The controller of {archive.rig}, as it answered')}",
        f'controller = "{controller}"',
        f'inherit = "{parent}"',
        "",
        "[choices]",
        *(f"{key} = {_toml(value)}" for key, value in _choices(archive).items()),
    ]
    return "\n".join(lines) + "\n"


def _choices(archive: Archive) -> dict[str, Any]:
    return (
        board_choices(archive.facts, archive.baud)
        if archive.kind == "ssc32"
        else cr1_choices(archive.facts, archive.baud, archive.framing)
    )


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return toml_text(value) if isinstance(value, str) else json.dumps(value)


def toml_text(text: str) -> str:
    """Text as TOML quotes it, whatever is in it."""
    shown = (each if " " <= each <= "~" and each not in '\\"' else f"\\u{ord(each):04x}" for each in text)
    return '"' + "".join(shown) + '"'
