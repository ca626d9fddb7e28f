"""The archive of an acceptance: one zip, fit to be sent to somebody, and a fake's profile made of it."""

from __future__ import annotations

import json
import re
import statistics
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from hil.bench.acceptance import PARTS, Facts, Outcome, judged
from hil.bench.acceptance_runs import Measured
from hil.bench.acceptance_talk import Exchange
from hil.errors import ConfigError
from hil.types import Record

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
            box.writestr("steps.txt", "\n".join(_line(outcome) for outcome in archive.outcomes) + "\n")
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


def profile_of(archive: Archive) -> str:
    """A profile for `hil fake`, with what this controller has shown of itself and nothing else."""
    facts = archive.facts
    controller, parent = ("ssc32", "ssc32-2x") if archive.kind == "ssc32" else ("cr1", "cr1")
    choices = _board(archive, facts) if archive.kind == "ssc32" else _cr1(archive, facts)
    lines = [
        f"# Made by `hil accept --from` of an acceptance of rig {archive.rig}.",
        f"title = {_toml(f'The controller of {archive.rig}, as it answered')}",
        f'controller = "{controller}"',
        f'inherit = "{parent}"',
        "",
        "[choices]",
        *(f"{key} = {_toml(value)}" for key, value in choices.items()),
    ]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


_DEFAULTS = {0: 0, 1: 600, 2: 70}


def _board(archive: Archive, facts: Facts) -> dict[str, Any]:
    version = facts.last("VER")
    if not version:
        return {}
    firmware = "1.x" if version.startswith("SSC32-1") else "u" if "USB" in version else "2.x"
    choices: dict[str, Any] = {"firmware": firmware, "version": version, "baud": archive.baud}
    pulses = [each.answer for each in facts.all(r"QP\d+", "4") if each.answer]
    if pulses:
        unlike = set(pulses)
        choices["untouched"] = "zero" if unlike == {"\x00"} else "middle" if unlike == {"\x96"} else "garbage"
    registers = {}
    for each in facts.all(r"R\d+"):
        number, text = int(each.question[1:]), each.answer.strip()
        usual = _DEFAULTS.get(number, 1500 if number >= 64 else 0)
        if re.fullmatch(r"-?\d+", text) and int(text) != usual:
            registers[str(number)] = int(text)
    choices["registers"] = registers
    if firmware != "1.x" and facts.all("R0") and not facts.last("R0"):
        choices["lacks"] = ["R"]
    return choices


def _cr1(archive: Archive, facts: Facts) -> dict[str, Any]:
    opens = facts.all(r"1;1;OPEN=.*", "C1")
    taken = next((each for each in opens if "MELFA" in each.answer), None)
    if taken is None:
        return {}
    fields = taken.answer[3:].split(";")
    joints = facts.last("1;1;JPOSF")[3:]
    choices: dict[str, Any] = {
        "baud": archive.baud,
        "framing": archive.framing,
        "axes": ";".join(fields[:2]),
        "version": fields[10],
        "end_code": "crlf" if taken.answer.endswith("\n") else "cr",
    }
    if len(opens) > 1:
        choices["clients"] = [taken.question[9:]]
        choices["others_answered"] = bool(opens[0].answer)
    values = re.findall(r"J[12356];(-?\d+\.(\d+))", joints)
    if len(values) == 5:
        choices["decimals"] = len(values[0][1])
        choices["arm"] = {"origin_deg": [float(value) for value, _ in values]}
    mode = re.search(r"M_MODE=\+?(\d)", facts.last("1;1;VALM_MODE;M"))
    choices["shows_key"] = mode is not None
    if mode is not None and mode[1] in "123":
        choices["key"] = {"1": "teach", "2": "auto_op", "3": "auto_ext"}[mode[1]]
    refused = re.match(r"[Qq][eE][rR](\d+)", facts.last("1;1;PARHILNONE"))
    if refused:
        choices["error_digits"] = 9 if len(refused[1]) > 4 else 4
    override = re.search(r";;[^;]*;(\d{1,3});", joints)
    if override:
        choices["override"] = int(override[1])
    choices["answer_s"] = round(_answer_s(archive, facts), 4)
    return choices


def _answer_s(archive: Archive, facts: Facts) -> float:
    """How long it thinks: what is left once the request and the first byte of the answer have gone over the wire."""
    data, parity, stop = tuple(archive.framing)
    byte_s = (1 + int(data) + (parity != "N") + int(stop)) / archive.baud
    times = [
        each.first_s - each.asked_s - (len(each.question) + 2) * byte_s
        for each in facts.all(r"1;1;JPOSF")
        if each.first_s is not None
    ]
    return max(statistics.median(times), 0.0) if times else 0.01
