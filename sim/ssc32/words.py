"""The board's language: lines to words, words to commands in order. Which words there are depends on the firmware."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from sim.ssc32.counts import Counts
from sim.ssc32.outputs import Servo
from sim.ssc32.settings import Firmware, Mixed


class BadLineError(Exception):
    """The line holds a word that the board does not know."""


class Kind(Enum):
    """Types of command; of one line the board does those of the first type."""

    MOVE = auto()
    OFFSET = auto()
    LEVEL = auto()
    BYTES = auto()
    QUERY = auto()
    PULSE = auto()
    VERSION = auto()
    DIGITAL = auto()
    ANALOGUE = auto()
    STOP = auto()
    REGISTER = auto()
    DEFAULTS = auto()
    STARTUP = auto()
    STARTUP_APPEND = auto()
    STARTUP_DELETE = auto()
    LOADER = auto()
    SEQUENCER = auto()
    PLAYER = auto()
    EXTERNAL_EEPROM = auto()


class Command(NamedTuple):
    """One command of a line: its type, and the word with what follows it."""

    kind: Kind
    args: tuple[str, ...] = ()


class ParsedLine(NamedTuple):
    """A line.

    Attributes:
        commands: in order; one `Kind.MOVE` stands for all positions.
        servos: the positions.
        duration_ms: the line's T, 0 for none.
    """

    commands: list[Command]
    servos: list[Servo]
    duration_ms: int


_SERVO_WORDS = frozenset({"P", "S", "PO", "H", "L"})
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ#")
_ARGUMENT = frozenset("-0123456789:=;,")
_TOKEN = re.compile(r"[A-Z#]+|-?[0-9]+(?:[.,][0-9]*)?|[^ \t\n]")
_PLAIN_MOVE = re.compile(r"((?:#[0-9]+P[0-9]+)+)(?:T([0-9]+))?")
_PLAIN_TARGET = re.compile(r"#([0-9]+)P([0-9]+)")
_PLAIN_QUESTION = re.compile(r"(?:QP[0-9]+)+")
_PLAIN_NUMBER = re.compile(r"[0-9]+")
_FRACTION = re.compile(r"(-?[0-9]+)[.,][0-9]*$")


def vocabulary(firmware: Firmware, version: str, lacks: Collection[str] = ()) -> dict[str, Kind]:
    """Which words this firmware knows, and the type of command of each."""
    kinds = dict.fromkeys(("#", "T", *_SERVO_WORDS), Kind.MOVE)
    kinds |= {"Q": Kind.QUERY, "QP": Kind.PULSE, "VER": Kind.VERSION}
    kinds |= dict.fromkeys(("EER", "EEW"), Kind.EXTERNAL_EEPROM)
    sequencer = "LH LM LL RH RM RL VS LF LR RF RR HT XL XR XS XSTOP XQ"
    kinds |= dict.fromkeys(sequencer.split(), Kind.SEQUENCER)
    for name in "ABCDEF" if firmware is Firmware.U else "ABCD":
        kinds |= {name: Kind.DIGITAL, name + "L": Kind.DIGITAL}
    for name in "ABCDEFGH" if firmware is Firmware.U else "ABCD":
        kinds["V" + name] = Kind.ANALOGUE
    if firmware is not Firmware.U:
        kinds["GOBOOT"] = Kind.LOADER
    if firmware is not Firmware.V1:
        kinds |= {"STOP": Kind.STOP, "R": Kind.REGISTER, "RDFLT": Kind.DEFAULTS}
        kinds |= {"SS": Kind.STARTUP, "SSCAT": Kind.STARTUP_APPEND, "SSDEL": Kind.STARTUP_DELETE}
    if "GP" in version:
        kinds |= dict.fromkeys(("PL", "SQ", "SM", "IX", "ONCE", "QPL"), Kind.PLAYER)
    return {word: kind for word, kind in kinds.items() if word not in lacks}


@lru_cache(maxsize=64)
def _plain_question(text: str) -> ParsedLine:
    """Where channels are: a host asks the same again and again."""
    return ParsedLine([Command(Kind.PULSE, ("QP", number)) for number in _PLAIN_NUMBER.findall(text)], [], 0)


class LineParser:
    """Reads lines with the words of one firmware.

    Args:
        kinds: its vocabulary.
        mixed: what happens to the later types when one line mixes several.
        counts: kept up to date.
    """

    def __init__(self, kinds: dict[str, Kind], mixed: Mixed, counts: Counts) -> None:
        self._kinds, self._mixed, self._counts = kinds, mixed, counts
        self._knows_plain_moves = {"#", "P", "T"} <= kinds.keys()
        self._knows_plain_questions = "QP" in kinds

    def parse(self, line: str) -> ParsedLine:
        """A line's commands.

        Raises:
            BadLineError: a word is not known, or has not what it needs.
        """
        text = line.upper().strip(" \t\n")
        if self._knows_plain_moves and (plain := _PLAIN_MOVE.fullmatch(text)):
            return self._plain_move(plain)
        if self._knows_plain_questions and _PLAIN_QUESTION.fullmatch(text):
            return _plain_question(text)
        if text.startswith("SSCAT"):  # what follows is kept as it was sent
            if "SSCAT" not in self._kinds:
                raise BadLineError
            return ParsedLine([Command(Kind.STARTUP_APPEND, ("SSCAT", line.lstrip(" \t\n")[5:]))], [], 0)
        commands: list[Command] = []
        servos: list[Servo] = []
        servo: Servo | None = None
        duration_ms = 0
        for word, args in self._words(text):
            if word == "#" and ":" in args:
                commands.append(Command(Kind.BYTES, args))
            elif word == "#":
                servo = Servo(self.number(args)[0])
            elif word == "T":
                value, fraction = self.number(args)
                duration_ms = 0 if fraction else self.sixteen_bits(value)
            elif word not in _SERVO_WORDS:
                commands.append(Command(self._kinds[word], (word, *args)))
            elif servo is None:
                raise BadLineError
            elif word in ("P", "S"):
                self._position(servo, word, args)
                if word == "P":
                    if not servos:
                        commands.append(Command(Kind.MOVE))
                    servos.append(servo)
            else:
                kind = Kind.OFFSET if word == "PO" else Kind.LEVEL
                commands.append(Command(kind, (word, str(servo.number), *args)))
        return ParsedLine(self._one_type(commands), servos, duration_ms)

    def _plain_move(self, line: re.Match[str]) -> ParsedLine:
        """A group move without anything odd, which most lines are; as the words one by one would have it."""
        servos = [Servo(int(number), int(width)) for number, width in _PLAIN_TARGET.findall(line[1])]
        return ParsedLine([Command(Kind.MOVE)], servos, self.sixteen_bits(int(line[2] or 0)))

    def _position(self, servo: Servo, word: str, args: Sequence[str]) -> None:
        value, fraction = self.number(args)
        servo.fraction |= fraction
        if word == "S":
            servo.speed = self.sixteen_bits(value)
        else:
            servo.width = value

    def _words(self, text: str) -> list[tuple[str, tuple[str, ...]]]:
        """Split into words, each with what follows it; a run of letters is one word, blanks only separate."""
        words: list[tuple[str, list[str]]] = []
        for token in _TOKEN.findall(text):
            if token[0] in _LETTERS:
                if token not in self._kinds:
                    raise BadLineError
                words.append((token, []))
            elif words and token[0] in _ARGUMENT:
                words[-1][1].append(token)
            else:
                raise BadLineError
        return [(word, tuple(args)) for word, args in words]

    def number(self, args: Sequence[str]) -> tuple[int, bool]:
        """The last number after a word, and whether it has a fraction; a blank inside makes two numbers.

        Raises:
            BadLineError: there is none.
        """
        if len(args) > 1:
            self._counts.oddities += 1
        try:
            return int(args[-1]), False
        except (ValueError, IndexError):
            pass
        match = _FRACTION.match(args[-1]) if args else None
        if match is None:
            raise BadLineError
        self._counts.oddities += 1
        return int(match[1]), True

    def sixteen_bits(self, value: int) -> int:
        """What of a number fits into a register."""
        if not 0 <= value <= 0xFFFF:
            self._counts.oddities += 1
        return value & 0xFFFF

    def _one_type(self, commands: list[Command]) -> list[Command]:
        if len(commands) < 2:
            return commands
        same = [command for command in commands if command.kind is commands[0].kind]
        if len(same) < len(commands):
            self._counts.mixed_lines += 1
            if self._mixed is Mixed.ALL:
                return commands
        return same
