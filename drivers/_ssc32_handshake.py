"""From a line that was just opened to a board that is known: who it is, how it is set, what it drives already."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from drivers._ssc32_adoption import Adoption
from drivers._ssc32_codec import Firmware
from drivers._ssc32_hello import Hello
from drivers._ssc32_identity import (
    ENABLE,
    FIRST_OFFSET,
    BoardIdentity,
    IdentityReader,
    adds_offsets,
    power_up_notices,
    why_no_motion,
)
from drivers._ssc32_line import Reading, Ssc32Line
from drivers._ssc32_settings import Ssc32Settings
from hil.errors import ControllerError, LinkTimeout
from hil.identity import Acquaintance
from hil.types import ControllerIdentity

GIVE_UP = 3


class Met(NamedTuple):
    """What the handshake has found out.

    Attributes:
        firmware: what it is.
        controller: what tells it from other boards.
        offsets_us: per axis, what it adds to a pulse by its registers; empty where it adds nothing.
        trusted: what it tells of a channel that we have not driven is so.
        kept: it has not restarted since an earlier connection.
        reading: the first report of its axes.
    """

    firmware: Firmware
    controller: ControllerIdentity
    offsets_us: tuple[int, ...]
    trusted: bool
    kept: bool
    reading: Reading


class Handshake:
    """Asks step by step; of all that leaves, one pulse for the canary, on which no servo hangs, is no question.

    Args:
        line: just opened.
        settings: the axes and the canary.
        acquaintance: whom to expect.
        others: channels on which a servo may be, beside those of the settings.
        now_s: time of the opening.
        say: takes words for the user.

    Attributes:
        firmware: what has answered; None before that.

    Raises:
        LinkError: the port does not take a byte.
    """

    def __init__(
        self,
        line: Ssc32Line,
        settings: Ssc32Settings,
        acquaintance: Acquaintance,
        others: Collection[int],
        now_s: float,
        say: Callable[[str], None],
    ) -> None:
        self._line, self._settings, self._acquaintance, self._others = line, settings, acquaintance, others
        self._name, self._say = settings.port_url, say
        self.firmware: Firmware | None = None
        self._reader: IdentityReader | None = None
        self._board: BoardIdentity | None = None
        self._adoption: Adoption | None = None
        self._hello = Hello(line, self._name, now_s)

    @property
    def stage(self) -> str:
        """What it is at, in words."""
        if self.firmware is None:
            return "asking who is there"
        return "reading its registers" if self._adoption is None else "reading what is driven"

    def step(self, data: bytes, now_s: float) -> Met | None:
        """Take what has arrived, ask on; gives the board once all is known.

        Raises:
            LinkOverrun: the port did not take a question; once `firmware` is known, that is asked again.
            LinkTimeout: nobody answers at any usual rate, or the board fell silent.
            LinkError: the board answers at another rate than the rig's; or the line failed.
            ControllerError: something else answers, another board than at first, or one that moves its servos by
                itself at power-up.
        """
        if self.firmware is None:
            self.firmware = self._hello.step(data, now_s)
            if self.firmware is None:
                return None
            data = b""
        if self._adoption is None:
            self._adoption = self._identify(self.firmware, data, now_s)
        elif (met := self._adopt(self.firmware, self._adoption, data, now_s)) is not None:
            return met
        if self._adoption is not None:
            self._line.go_on(now_s, self.firmware.raw)
        return None

    def _identify(self, firmware: Firmware, data: bytes, now_s: float) -> Adoption | None:
        """Which board it is, and whether anything may be moved with it."""
        if self._reader is None:
            self._reader = IdentityReader(self._line, self._settings, firmware, self._acquaintance.expected)
        board = self._board = self._reader.step(data, now_s)
        if board is None:
            return None
        # Not met yet: once it is set right it must not count as another board.
        if words := why_no_motion(board, firmware, self._line.rate):
            sign = self._line.signs.sign(now_s) if board.register(ENABLE) is None else None
            if sign is not None:
                raise ControllerError(f"{self._name}: register R0 could not be read: {sign.value}", cause=sign)
            raise ControllerError(f"{self._name}: {words}")
        self._acquaintance.meet(board.facts)
        for words in power_up_notices(board, firmware):
            self._say(words)
        return Adoption(self._line, self._settings, board, self._name, self._others)

    def _adopt(self, firmware: Firmware, adoption: Adoption, data: bytes, now_s: float) -> Met | None:
        """What is driven already, to be shown as an echo only: an axis stays unknown until it is energised."""
        reading = self._reading(firmware, data, now_s)
        if reading is None or not adoption.step(reading, now_s):
            return None
        for words in adoption.notices:
            self._say(words)
        assert self._board is not None
        return Met(firmware, self._board.facts, self._offsets_us(self._board), adoption.trusted, adoption.kept, reading)

    def _reading(self, firmware: Firmware, data: bytes, now_s: float) -> Reading | None:
        """The next sure report; a board that identified itself and then does not answer ends the handshake."""
        line = self._line
        reading = line.poll(data, now_s, firmware.raw)
        if reading is not None and reading.sure:
            return reading
        patience_s = GIVE_UP * self._settings.reply_timeout_s
        if line.overdue_s is not None and now_s - line.overdue_s > patience_s:
            raise LinkTimeout(
                f"{self._name}: the board answered VER, but for {patience_s:.1f} s no query after it had a valid "
                "answer; check cable and receive line for noise, or raise controller.reply_timeout_ms if the adapter "
                "or the way there is slow",
                self._name,
            )
        return None

    def _offsets_us(self, board: BoardIdentity) -> tuple[int, ...]:
        if not adds_offsets(board):
            return ()
        return tuple([board.register(FIRST_OFFSET + axis.channel) or 0 for axis in self._settings.axes])
