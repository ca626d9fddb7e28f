"""What a board says of itself: its version, and the registers that decide where its servos go and what it does alone.

A board cannot be asked for a serial number. These are what tells two boards apart, and what tells that one was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from drivers._ssc32_codec import (
    STARTUP,
    VERSION,
    Firmware,
    decode_register,
    decode_startup,
    query_register,
    startup_moves,
)
from drivers._ssc32_line import Ssc32Line
from drivers._ssc32_settings import Ssc32Settings
from hil.errors import ControllerError
from hil.types import ControllerIdentity, Record

ENABLE, BAUD, FIRST_OFFSET, FIRST_PULSE = 0, 4, 32, 64
"""Registers: enable bits, baud rate / 10 (SSC-32U), pulse offset and start-up pulse of channel 0."""

RUN_STARTUP_BIT, APPLY_OFFSETS_BIT, APPLY_PULSES_BIT, DISABLE_BIT = 1 << 0, 1 << 2, 1 << 3, 1 << 15

STARTUP_TEXT = "startup string (SS)"

BURST = 12
"""So many questions leave in one go at most: with the version's, half of the board's buffer."""
REPLY_BYTES, TEXT_BYTES = 6, 103
PATIENCE_S = 0.3
READINGS = 3
"""So often a burst is asked as long as not everything in it was said twice alike."""
FAILURES, SILENCES = 2, 2
"""Without a whole answer a burst is asked again once; after two without any all is left that was not asked yet."""
INSISTS = 2
"""So often R0 is asked by itself after all that, if it is not known: without it nothing may be moved."""


class BoardIdentity(Record, frozen=True):
    """What one board has said; what could not be read, and what its firmware does not have, is absent.

    Attributes:
        version: its answer to VER; None if it was not said twice alike.
        registers: number and value.
        startup: the stored startup string.
    """

    version: str | None
    registers: tuple[tuple[int, int], ...] = ()
    startup: str | None = None

    def register(self, number: int) -> int | None:
        """A register's value."""
        return dict(self.registers).get(number)

    @property
    def facts(self) -> ControllerIdentity:
        """The same in words."""
        facts = [] if self.version is None else [(ControllerIdentity.NAME, self.version)]
        facts += [(name_of(number), str(value)) for number, value in self.registers]
        facts += [] if self.startup is None else [(STARTUP_TEXT, self.startup)]
        return ControllerIdentity(facts=tuple(facts))


def name_of(register: int) -> str:
    """What a register is for."""
    if register >= FIRST_PULSE:
        return f"start-up pulse of channel {register - FIRST_PULSE} in us (R{register})"
    if register >= FIRST_OFFSET:
        return f"pulse offset of channel {register - FIRST_OFFSET} in us (R{register})"
    return {ENABLE: "enable bits (R0)", BAUD: "baud rate / 10 (R4)"}[register]


class _Item(NamedTuple):
    """One question: what it is about, its line, the longest reply, how that is read."""

    about: int | None
    name: str
    line: bytes
    length: int
    read: Callable[[bytes], int | str]


def _register(number: int) -> _Item:
    return _Item(number, name_of(number), query_register(number).line, REPLY_BYTES, decode_register)


_STARTUP = _Item(None, STARTUP_TEXT, STARTUP.line, TEXT_BYTES, decode_startup)


class IdentityReader:
    """Asks a board that has told its version who else it is. Questions only; no byte of it can move an arm.

    Many questions leave in one go, with ``VER`` behind them: the board answers in order, so a reading counts only if
    just as many lines as were asked for stand before the very version. What is not as expected is asked again, and
    believed when it was said twice alike: neither a garbled digit nor one late answer must look like another board.

    Args:
        line: the board has answered VER on it.
        settings: of the line; its axes and its canary say which channels matter.
        firmware: what the board has answered.
        expected: what is known of it from before.
    """

    def __init__(
        self, line: Ssc32Line, settings: Ssc32Settings, firmware: Firmware, expected: ControllerIdentity | None
    ) -> None:
        self._line, self._settings, self._firmware = line, settings, firmware
        self._expected = {} if expected is None else dict(expected.facts)
        self._bursts = _bursts(settings, firmware)
        self._sure_of_version = self._expected.get(ControllerIdentity.NAME) == firmware.text
        if not self._bursts and not self._sure_of_version:
            self._bursts = [()]
        self._found: dict[str, int | str] = {}
        self._seen: set[tuple[str, int | str]] = set()
        self._readings = self._failures = self._silences = self._insisted = 0
        self._asking = False
        self._heard = b""
        self._due_s = float("-inf")

    def step(self, data: bytes, now_s: float) -> BoardIdentity | None:
        """Take what has arrived, ask on; gives what the board is once all is asked.

        Raises:
            LinkOverrun: the port did not take a question.
            LinkClosed: the port is gone.
        """
        if self._asking:
            self._heard += data
            self._listen(now_s, over=now_s >= self._due_s + PATIENCE_S)
        if not self._bursts and self._insists:
            self._insisted += 1
            self._silences = self._readings = self._failures = 0
            self._bursts = [(_register(ENABLE),)]
        if self._bursts and not self._asking:
            self._ask(self._bursts[0], now_s)
        return None if self._bursts else self._identity()

    @property
    def _insists(self) -> bool:
        known = not self._firmware.has_registers or name_of(ENABLE) in self._found
        return not known and self._insisted < INSISTS

    def _ask(self, burst: Sequence[_Item], now_s: float) -> None:
        self._line.send(b"".join(item.line for item in burst) + VERSION.line, now_s)
        self._asking, self._heard = True, b""
        longest = [item.length for item in burst] + [len(self._firmware.raw)]
        self._due_s = self._line.free_s + sum(map(self._settings.reply_s, longest))

    def _listen(self, now_s: float, *, over: bool) -> None:
        """Wait for the version behind the answers."""
        *answers, _ = self._heard.split(self._firmware.raw)
        if answers:
            self._asking, self._sure_of_version = False, True
            self._line.answered(self._due_s)
            self._take(answers[-1])
        elif over:
            self._asking = False
            self._silences += 1
            if self._heard:
                self._line.signs.tear(now_s)
            if self._silences >= SILENCES:
                self._bursts = []

    def _take(self, heard: bytes) -> None:
        """Everything up to the version has come."""
        burst = self._bursts[0]
        replies = heard.split(b"\r")
        if len(replies) != len(burst) + 1:
            self._failures += 1
            if self._failures >= FAILURES:
                self._next_burst()
            return
        self._readings += 1
        values: dict[str, int | str] = {}
        for item, reply in zip(burst, replies, strict=False):
            try:
                values[item.name] = item.read(reply + b"\r")
            except ControllerError:
                continue
        for fact in values.items():
            if fact in self._seen or self._expected.get(fact[0]) == str(fact[1]):
                self._found[fact[0]] = fact[1]
        self._seen.update(values.items())
        if self._readings >= READINGS or all(item.name in self._found for item in burst):
            self._next_burst()

    def _next_burst(self) -> None:
        self._bursts = self._bursts[1:]
        self._seen.clear()
        self._readings = self._failures = 0

    def _identity(self) -> BoardIdentity:
        items = [item for burst in _bursts(self._settings, self._firmware) for item in burst]
        startup = self._found.get(STARTUP_TEXT)
        return BoardIdentity(
            version=self._firmware.text if self._sure_of_version else None,
            registers=tuple(
                (item.about, int(self._found[item.name]))
                for item in items
                if item.about is not None and item.name in self._found
            ),
            startup=None if startup is None else str(startup),
        )


def _bursts(settings: Ssc32Settings, firmware: Firmware) -> list[tuple[_Item, ...]]:
    """What this firmware can be asked of itself and of the rig's channels; what it has together goes together."""
    if not firmware.has_registers:
        return []
    bursts: list[tuple[_Item, ...]] = [(_register(ENABLE), _STARTUP)]
    if firmware.has_baud_register:
        bursts.append((_register(BAUD),))
    for first in (FIRST_OFFSET, FIRST_PULSE):
        items = [_register(first + channel) for channel in settings.channels]
        bursts += [tuple(items[i : i + BURST]) for i in range(0, len(items), BURST)]
    return bursts


def why_no_motion(board: BoardIdentity, firmware: Firmware, baud: int) -> str:
    """Why nothing may be moved with a board as it is set, and how to set it right; empty if nothing speaks against it.

    A board that moves its servos by itself when it gets its power does so after a brown-out, too: with the arm in the
    middle of something, at full speed.
    """
    if not firmware.has_registers:
        return ""
    bits = board.register(ENABLE)
    terminal = f"open a terminal at {baud} baud, 8N1"
    if bits is None:
        return (
            "register R0 could not be read, and it may let the board move its servos by itself at power-up and at "
            "every restart. Nothing is moved with it as long as that is not known: look at cable and receive line and "
            f"connect again; or {terminal}, type R0 and the Enter key (CR): the board has to answer 0"
        )
    moving = bits & (RUN_STARTUP_BIT | APPLY_PULSES_BIT)
    if bits & DISABLE_BIT or not moving:
        return ""
    does = []
    if moving & RUN_STARTUP_BIT:
        startup = "" if board.startup is None else f" {board.startup!r}"
        does.append(f"runs its startup string{startup} (bit 0)")
    if moving & APPLY_PULSES_BIT:
        does.append("drives every servo to a stored pulse (bit 3)")
    return (
        f"register R0 is {bits}: at power-up and at every restart the board {' and '.join(does)}, at full speed, "
        f"before any program can stop it. Nothing is moved with a board that is set so. To clear it, {terminal}, type "
        f"R0={bits & ~moving} and the Enter key (CR), then cut the board's power and switch it on again. This program "
        "never writes a register"
    )


def adds_offsets(board: BoardIdentity) -> bool:
    """The board adds a stored offset to the pulse of some channel since its power-up."""
    bits = board.register(ENABLE) or 0
    if bits & DISABLE_BIT or not bits & APPLY_OFFSETS_BIT:
        return False
    return any(value for number, value in board.registers if FIRST_OFFSET <= number < FIRST_PULSE)


def power_up_notices(board: BoardIdentity, firmware: Firmware) -> list[str]:
    """What else a person has to know of what a board does by itself when it gets its power."""
    if not firmware.has_registers:
        return []
    if board.startup is None:
        return ["the startup string could not be read"]
    if startup_moves(board.startup):
        return [f"WARNING: the startup string {board.startup!r} moves servos if bit 0 of register R0 is ever set"]
    return []
