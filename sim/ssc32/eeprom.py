"""What the board keeps without power: registers and the startup string. Writing takes its time."""

from __future__ import annotations

from collections.abc import Sequence

from sim.ssc32.settings import BAUDS, BoardSettings, Firmware

STARTUP_LIMIT = 100
EEPROM_BYTE_S = 3.4e-3
DEFAULTS_S = 1.1
ENABLE, TRANSMIT_DELAY, TRANSMIT_PACING, BAUD = 0, 1, 2, 4
OFFSETS, FIRST_WIDTHS = range(32, 64), range(64, 96)

_DEFAULTS = {TRANSMIT_DELAY: 600, TRANSMIT_PACING: 70}
_FIRST_WIDTH_US = 1500


class Eeprom:
    """Registers by number, the startup string, and how long it is being written.

    Attributes:
        busy_until_s: when what was written last is kept.
        startup: the stored startup string.
    """

    def __init__(self, settings: BoardSettings) -> None:
        self._u = settings.firmware is Firmware.U
        self._registers = {**_DEFAULTS, **self._baud(settings.baud), **dict(settings.registers)}
        self.startup = settings.startup[:STARTUP_LIMIT]
        self.busy_until_s = float("-inf")

    def _baud(self, baud: int | None = None) -> dict[int, int]:
        """The SSC-32U alone keeps its speed in a register; the older boards have jumpers."""
        return {BAUD: (baud or BAUDS[Firmware.U]) // 10} if self._u else {}

    def register(self, number: int) -> int:
        """What stands in a register."""
        return self._registers.get(number, _FIRST_WIDTH_US if number in FIRST_WIDTHS else 0)

    def names(self, number: int) -> bool:
        """Whether the firmware names this register; what stands in the others is reserved."""
        named = number <= TRANSMIT_PACING or number in OFFSETS or number in FIRST_WIDTHS
        return named or (number == BAUD and self._u)

    def write(self, number: int, value: int, time_s: float) -> None:
        """Change a register."""
        self._registers[number] = value
        self._take_time(2 * EEPROM_BYTE_S, time_s)

    def restore_defaults(self, time_s: float) -> None:
        """What RDFLT does."""
        self._registers = {**_DEFAULTS, **self._baud()}
        self._take_time(DEFAULTS_S, time_s)

    def append_startup(self, text: str, time_s: float) -> None:
        """What SSCAT does."""
        added = text.removeprefix(" ").replace("\n", "")
        self.startup = (self.startup + added)[:STARTUP_LIMIT]
        self._take_time(len(added) * EEPROM_BYTE_S, time_s)

    def cut_startup(self, count: int, time_s: float) -> None:
        """What SSDEL does: so many characters go, from the end."""
        self.startup = self.startup[: max(len(self.startup) - count, 0)]
        self._take_time(EEPROM_BYTE_S, time_s)

    def startup_commands(self) -> Sequence[str]:
        """Those that end with a semicolon."""
        return self.startup.split(";")[:-1]

    def _take_time(self, duration_s: float, time_s: float) -> None:
        self.busy_until_s = max(self.busy_until_s, time_s) + duration_s
