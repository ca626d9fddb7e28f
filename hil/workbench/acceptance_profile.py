"""What a controller has shown of itself in an acceptance, as choices of its fake.

Only what the transcript shows: everything else is left as it is usual in its family.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from hil.workbench.acceptance import Facts

_DEFAULTS = {0: 0, 1: 600, 2: 70}
_MIDDLE, _FIRST_PULSE = 1500, 64
_DRIVES_AT_START = 8
"""Bit of R0."""
_COARSE_US = 10
"""Grain of the answer to QP."""


def board_choices(facts: Facts, baud: int) -> dict[str, Any]:
    """Of an SSC-32; empty if it has said nothing.

    Args:
        facts: with the transcript.
        baud: speed of the line on which it answered.
    """
    version, registers = facts.last("VER"), _registers(facts)
    if not version and not registers:
        return {}
    firmware = "1.x" if version.startswith("SSC32-1") else "u" if "USB" in version else "2.x"
    choices: dict[str, Any] = {"firmware": firmware, "baud": baud}
    if version:
        choices["version"] = version
    unlike = {each.answer for each in facts.all(r"QP\d+", "4") if each.answer}
    driven = registers.get(0, 0) & _DRIVES_AT_START
    if unlike and not driven:
        choices["untouched"] = "zero" if unlike == {"\x00"} else "middle" if unlike == {"\x96"} else "garbage"
    elif driven:
        registers = {**_pulses_at_start(facts), **registers}
    choices["registers"] = {str(number): value for number, value in registers.items() if value != _usual(number)}
    lacks = [word for word, question in (("R", "R0"), ("SS", "SS")) if facts.all(question) and not facts.last(question)]
    if firmware != "1.x" and lacks:
        choices["lacks"] = lacks
    startup = re.fullmatch(r'"(.*)"', facts.last("SS"))
    if startup:
        choices["startup"] = startup[1]
    return choices


def _usual(number: int) -> int:
    return _DEFAULTS.get(number, _MIDDLE if number >= _FIRST_PULSE else 0)


def _registers(facts: Facts) -> dict[int, int]:
    """Every register that was read, the newest reading of each."""
    read = {}
    for each in facts.all(r"R\d+"):
        text = each.answer.strip()
        if re.fullmatch(r"-?\d+", text):
            read[int(each.question[1:])] = int(text)
    return read


def _pulses_at_start(facts: Facts) -> dict[int, int]:
    """Of a board that drives its channels by itself: the start-up pulses that they show, where no register was read."""
    return {
        _FIRST_PULSE + int(each.question[2:]): ord(each.answer) * _COARSE_US
        for each in facts.all(r"QP\d+", "4")
        if len(each.answer) == 1
    }


_SIX_AXES = "7,0"
"""So the third field of the answer to OPEN begins where axes C and J4 are shown."""


def cr1_choices(facts: Facts, baud: int, framing: str) -> dict[str, Any]:
    """Of a CR1; empty if it has said nothing.

    Args:
        facts: with the transcript.
        baud: speed of the line on which it answered.
        framing: of that line.
    """
    opens = facts.all(r"1;1;OPEN=.*", "C1")
    taken = next((each for each in opens if "MELFA" in each.answer), None)
    if taken is None:
        return {}
    fields = taken.answer.rstrip("\r\n")[3:].split(";")
    choices: dict[str, Any] = {
        "baud": baud,
        "framing": framing,
        "axes": ";".join(fields[:2]),
        "end_code": "crlf" if taken.answer.endswith("\n") else "cr",
    }
    choices |= _name(fields, facts)
    if len(fields) > 2:
        choices["face"] = "six" if fields[2] == _SIX_AXES else "five"
    if len(opens) > 1:
        choices["clients"] = [taken.question[9:]]
        choices["others_answered"] = bool(opens[0].answer)
    return choices | _joints(facts) | _errors(facts) | _key(facts) | {"answer_s": _answer_s(facts, baud, framing)}


def _name(fields: Sequence[str], facts: Facts) -> dict[str, Any]:
    """What it calls itself, its arm and its programs, and the language that it is set to."""
    choices: dict[str, Any] = {}
    if len(fields) > 10:
        choices |= {"robot": fields[6], "controller": fields[7], "released": fields[9], "version": fields[10]}
        if fields[4] in ("MB4", "MB5", "MB6"):
            choices["extension"] = fields[4]
    if len(fields) > 14:
        years = re.match(r"COPYRIGHT\(C\)([\d-]+) ", fields[12])
        choices |= {"copyright_years": years[1]} if years else {}
        choices["serial_number"] = fields[14]
    if facts.last("1;1;PARRLNG")[3:].startswith("RLNG;2;"):
        choices["series"] = "cr750"
    return choices


def _joints(facts: Facts) -> dict[str, Any]:
    """Where the arm stands, in how many digits, and the override behind it."""
    joints = facts.last("1;1;JPOSF")[3:]
    values = re.findall(r"J[12356];(-?\d+(?:\.(\d+))?)", joints)
    choices: dict[str, Any] = {}
    if len(values) == 5:
        choices["decimals"] = len(values[0][1])
        place = re.findall(r"[XYZ];(-?[\d.]+)", facts.last("1;1;PPOSF"))
        if place and not any(map(float, place)):
            # No arm has its flange in the middle of its base: it does not know yet where it stands.
            choices["first_position"] = "zero"
        else:
            choices["first_position"] = "true"
            choices["arm"] = {"origin_deg": [float(value) for value, _ in values]}
    override = re.search(r";;[^;]*;(\d{1,3});", joints)
    if override:
        choices["override"] = int(override[1])
    return choices


def _errors(facts: Facts) -> dict[str, Any]:
    """How it refuses, and whether a refusal leaves an error standing."""
    refused = re.match(r"[Qq][eE][rR](\d+)", facts.last("1;1;PARHILNONE"))
    choices: dict[str, Any] = {}
    if not refused:
        return choices
    choices["error_digits"] = 9 if len(refused[1]) > 4 else 4
    state = facts.last("1;1;STATE").split(";")
    if len(state) > 4:
        standing = int(state[4][4:]) if state[4][4:].isdecimal() else 0
        choices["requests_stand"] = standing in _refusals(facts)
        if choices["requests_stand"]:
            choices["small_letters"] = state[0].startswith("Qok")
    return choices


def _refusals(facts: Facts) -> set[int]:
    """The numbers with which requests were refused while it was asked what it shows."""
    found = (re.match(r"[Qq][eE][rR](\d{4})", each.answer) for each in facts.all(".*", "C1"))
    return {int(each[1]) for each in found if each}


def _key(facts: Facts) -> dict[str, Any]:
    """Where it stands, if the controller shows that."""
    asked = facts.all("1;1;VALM_MODE;M")
    if not asked:
        return {}
    mode = re.search(r"M_MODE=\+?(\d)", facts.last("1;1;VALM_MODE;M"))
    keys: Mapping[str, str] = {"1": "teach", "2": "auto_op", "3": "auto_ext"}
    found: dict[str, Any] = {"shows_key": mode is not None}
    if mode is not None and mode[1] in keys:
        found["key"] = keys[mode[1]]
    return found


def _answer_s(facts: Facts, baud: int, framing: str) -> float:
    """How long it thinks: what is left once the request and the first byte of the answer have gone over the wire."""
    data, parity, stop = tuple(framing)
    byte_s = (1 + int(data) + (parity != "N") + int(stop)) / baud
    times = [
        each.first_s - each.asked_s - (len(each.question) + 2) * byte_s
        for each in facts.all(r"1;1;JPOSF")
        if each.first_s is not None
    ]
    return round(max(statistics.median(times), 0.0), 4) if times else 0.01
