"""What a board that is known tells of its pulses: held against what was sent, and believed if it fits."""

from __future__ import annotations

from collections.abc import Callable

from drivers._ssc32_echo import Echo
from drivers._ssc32_handshake import Met
from drivers._ssc32_line import Reading, Ssc32Line
from drivers._ssc32_settings import FRAME_S, Ssc32Settings
from hil.types import JointState, StateSource


class Watch:
    """Begins with the report that ended the handshake.

    Args:
        settings: the axes and their calibration.
        line: on which is asked.
        echo: judges reports by what was sent.
        met: the board.
        now_s: time of the end of the handshake.
        say: takes words for the user.

    Attributes:
        met: as given.
        joints: where the axes are, as far as it is believed; its time is when the question reached the board.
    """

    def __init__(
        self, settings: Ssc32Settings, line: Ssc32Line, echo: Echo, met: Met, now_s: float, say: Callable[[str], None]
    ) -> None:
        self.met = met
        self._line, self._echo, self._say = line, echo, say
        self._maps, self._width, self._raw = settings.maps, len(settings.channels), met.firmware.raw
        # Whether a board repeats a pulse with the offset that it adds is said to differ by firmware.
        echo.learns = not met.firmware.has_registers or bool(met.offsets_us)
        echo.offsets_us, echo.canary_us = met.offsets_us, line.canary_us
        line.steady = True
        line.hold_queries(now_s + FRAME_S / 2)
        self.joints = self._believed(met.reading)

    def step(self, data: bytes, now_s: float) -> None:
        """Hold a report against what was sent.

        Raises:
            LinkOverrun, LinkClosed: as `Ssc32Line.send`.
            ControllerError: the board has restarted, stood still, or does not take what it is sent.
        """
        line, echo = self._line, self._echo
        reading = line.poll(data, now_s, self._raw)
        if reading is None:
            if line.overdue_s is not None:
                echo.unanswered()
        elif not reading.sure:
            fits = echo.take(reading, now_s)
            if not fits and (reading.newest or echo.strays(reading)):
                line.ask_again(now_s)
            elif fits:
                # Also an older answer shows that the board is there and as it was left.
                line.overdue_s = None
        elif echo.doubtful_s is None:
            self.joints = self._believed(reading)
            if echo.learns and (words := echo.learn(reading)):
                self._say(words)

    def ask_on(self, now_s: float) -> None:
        """Send the next question when it is time."""
        if self._line.counted is not None:
            self._line.counted = self._counted(now_s)
        self._line.go_on(now_s, self._raw)

    def _counted(self, now_s: float) -> tuple[int, ...] | None:
        """Where a board tells anything of what it does not drive: the places in its answers that mean something."""
        axes = range(len(self._maps))
        driven = tuple(i for i in axes if self._echo.channels[i].driven_by(now_s))
        return None if len(driven) == len(axes) else (*driven, *range(len(axes), self._width))

    def _believed(self, reading: Reading) -> JointState:
        trusted, channels = self.met.trusted, self._echo.channels
        # An offset that is stored was there when the arm was calibrated; of another nobody knows what it does.
        stored = bool(self.met.offsets_us)
        # The canary is asked behind the axes and has no map.
        pairs = zip(self._maps, reading.pulses_us, channels, strict=False)
        positions = tuple(
            [
                each.inverse(pulse_us - (channel.trim_us or 0) * stored)
                if pulse_us and (trusted or channel.driven_by(reading.asked_s))
                else None
                for each, pulse_us, channel in pairs
            ]
        )
        return JointState(t_s=reading.asked_s, positions=positions, source=StateSource.ECHOED)
