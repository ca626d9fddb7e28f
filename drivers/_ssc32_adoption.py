"""The end of a handshake: which channels a board drives already, and a pulse that tells when it restarts.

Both are asked of channels that no servo hangs on. The canary gets a pulse that no restart can give it. The witness gets
none from anybody: a board that tells a pulse of it tells pulses that it does not make, and then those that it tells
of the axes mean nothing either.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from drivers._ssc32_codec import CHANNELS, PULSE_US, encode_move
from drivers._ssc32_echo import ECHO_US, TAKES_EFFECT_S, TRIM_US
from drivers._ssc32_identity import FIRST_OFFSET, FIRST_PULSE, BoardIdentity, adds_offsets
from drivers._ssc32_line import Reading, Ssc32Line
from drivers._ssc32_settings import Ssc32Settings
from hil.errors import ControllerError

CANARY_US = (1750, 1250, 2250, 750)
"""The canary gets the first of these that its board cannot give it by itself."""
APART_US = 220
"""How far at least from there: two pulse offsets of 100 us, one from the registers and one that a program has set, and
the 10 us in which a board tells its pulses, twice. No width is this near to two of the four."""
ALWAYS_US = (0, PULSE_US[0], 1500, PULSE_US[1])
"""What a board can give any channel: nothing, the ends to which it clips, and its factory setting."""
LOOKS = 2
GIVE_UP = 3


def canary_us(board: BoardIdentity, channel: int, shown_us: int) -> int:
    """A width that neither a restart can give this channel nor anybody has given it by now.

    Args:
        board: with the channel's start-up pulse and offset, where it has told them.
        channel: the canary's.
        shown_us: what the board tells of it at this connection.
    """
    taken = [*ALWAYS_US, shown_us]
    stored_us, offset_us = board.register(FIRST_PULSE + channel), board.register(FIRST_OFFSET + channel)
    if stored_us is not None:
        taken += [stored_us, stored_us + (offset_us or 0)]
    return next(width for width in CANARY_US if all(abs(width - other) > APART_US for other in taken))


def witness_channel(settings: Ssc32Settings, others: Collection[int] = ()) -> int | None:
    """The highest channel that nobody commands; None if there is none left.

    Args:
        settings: the axes and the canary.
        others: channels on which a servo may be, too.
    """
    used = {*settings.channels, *others}
    return next((channel for channel in reversed(range(CHANNELS)) if channel not in used), None)


class Adoption:
    """Asks for pulses until it is known what the answers mean, and sets the canary meanwhile. Moves no servo.

    Args:
        line: the board at its other end has said who it is.
        settings: the axes and the canary.
        board: what it has said.
        name: the port's name for messages.
        others: channels on which a servo may be, beside those of the settings.

    Attributes:
        trusted: what the board tells of a channel that we have not driven is so.
        kept: the canary was found with a pulse of an earlier connection: the board has not restarted since.
        notices: words for the user.
    """

    def __init__(
        self, line: Ssc32Line, settings: Ssc32Settings, board: BoardIdentity, name: str, others: Collection[int] = ()
    ) -> None:
        self.trusted = self.kept = False
        self.notices: list[str] = []
        self._line, self._board, self._name = line, board, name
        self._axes, self._canary = len(settings.axes), settings.canary_channel
        self._channels = settings.channels
        self._witness = witness_channel(settings, others)
        self._answers: list[int] = []
        self._wild = self._marks = 0
        self._mark_us: int | None = None
        self._marked_s = float("-inf")
        line.ask_about(self._channels if self._witness is None else (*self._channels, self._witness), counted=())

    def step(self, reading: Reading, now_s: float) -> bool:
        """Take a sure report; True when all is known, and the report is one that was asked for after that.

        Raises:
            ControllerError: the canary does not hold a pulse.
            LinkOverrun, LinkClosed: as `Ssc32Line.send`.
        """
        pulses_us = reading.pulses_us
        if reading.asked_s < self._marked_s or self._is_garbled(pulses_us):
            return False
        if self._witness is not None:
            self._answers.append(pulses_us[-1])
        if self._canary is None:
            if len(self._answers) < LOOKS and self._witness is not None:
                return False
            self.notices.append(
                "no canary channel: a restart of the board in mid-stream is detected on best effort only"
            )
        elif not self._marked(self._canary, pulses_us[self._axes], now_s):
            return False
        self._judge()
        self._line.ask_about(self._channels, None if self.trusted else range(self._axes, len(self._channels)))
        return True

    def _is_garbled(self, pulses_us: Sequence[int]) -> bool:
        """An axis tells what is no pulse where the witness is silent: a byte of the line, until it comes again."""
        if self._widths(pulses_us[: self._axes]) or (self._witness is not None and pulses_us[-1]):
            return False
        self._wild += 1
        return self._wild < GIVE_UP

    @staticmethod
    def _widths(pulses_us: Sequence[int]) -> bool:
        return all(not pulse_us or PULSE_US[0] <= pulse_us <= PULSE_US[1] for pulse_us in pulses_us)

    def _marked(self, channel: int, shown_us: int, now_s: float) -> bool:
        """Set the canary, then look whether it took its pulse."""
        line = self._line
        if self._mark_us is None:
            self._mark_us = canary_us(self._board, channel, shown_us)
            self.kept = any(abs(shown_us - width) <= ECHO_US for width in CANARY_US)
            line.gate.limit(channel, (self._mark_us, self._mark_us))
            line.send(encode_move({channel: self._mark_us}), now_s)
            self._marked_s = line.free_s + TAKES_EFFECT_S
            line.hold_queries(self._marked_s)
            return False
        # A pulse offset makes some firmware repeat a shifted width: what counts from now on is that it stays.
        if abs(shown_us - self._mark_us) <= TRIM_US:
            line.canary_us = shown_us
            return True
        self._marks += 1
        if self._marks >= GIVE_UP:
            raise ControllerError(
                f"{self._name}: canary channel {channel} was set to {self._mark_us} us and reads {shown_us}. If the "
                "board has just restarted, connect again; if not, name another spare channel as "
                "controller.canary_channel, or none"
            )
        return False

    def _judge(self) -> None:
        """Whether the board is silent about what it does not drive."""
        silent = len(self._answers) >= LOOKS and not any(self._answers) and self._wild < GIVE_UP
        shifted = adds_offsets(self._board)
        self.trusted = silent and not shifted
        if self.trusted:
            return
        if silent and shifted:
            why = (
                "the board adds pulse offsets (register R0 bit 2, R32 and on), and firmwares differ in whether they "
                "tell a pulse with its offset"
            )
        elif self._witness is None:
            why = (
                "every channel of this board is in use, so none can show what it answers for one that it does not drive"
            )
        elif any(self._answers):
            heard = " and ".join(str(pulse_us // 10) for pulse_us in self._answers)
            why = (
                f"channel {self._witness} was driven by nobody, and yet the board answers {heard} for it, not 0 "
                "(or something else drives it)"
            )
        else:
            why = "the board answers for an axis what is no pulse"
        self.notices.append(
            f"WARNING: {why}. So its answers do not tell which axes it drives, and all of them count as limp, whatever "
            "they hold: the first pulse sends each axis at full speed to the pose that is confirmed. If the arm stands "
            "anywhere else, do not confirm: cut servo supply and logic, put it into that pose by hand, connect again"
        )
