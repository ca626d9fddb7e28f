"""Who is at the other end of a line: an SSC-32, an SSC-32 at another rate, something else, or nobody."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from drivers._ssc32_codec import CANCEL, CHANNELS, VERSION, Firmware, find_version, is_torn_version
from drivers._ssc32_line import Ssc32Line
from drivers._ssc32_settings import Ssc32Settings
from hil.clock import Clock
from hil.errors import ControllerError, HilError, LineCause, LinkError, LinkTimeout
from hil.link import Answer, BytePort

RATES = (115200, 38400, 9600, 2400)
"""What a board can be set to by jumpers or button. Fastest first: what slower boards hear of that is the least."""

QUIET_S, CHATTER_S = 0.05, 0.3
ANSWER_S, SLOW_ANSWER_S, SLOW_RETRY_S = 0.3, 1.0, 0.5
SLOW_BAUD = 4800
BUDGET_S = 2.6
POLL_S = 0.005
FILL = b"~~"
"""Sent before ESC in every later attempt. A burst at a wrong rate can be heard as 255, which opens a MiniSSC command:
ESC and CR would be its servo 27 and its position. These two are a servo that no board has, or a half line for ESC.
"""
HEARD_BYTES = 512


class Hello:
    """Asks ``VER`` with nothing but ``~``, ESC, CR and that: no byte of it can move an arm.

    Args:
        line: a freshly opened line.
        name: the port's name for messages.
        any_rate: take an answer at whatever rate; `line.rate` then says which.
    """

    def __init__(self, line: Ssc32Line, name: str, now_s: float, *, any_rate: bool = False) -> None:
        self._line, self._name, self._any_rate = line, name, any_rate
        self._wanted = line.rate
        self._attempts = [line.rate, line.rate, *(rate for rate in RATES if rate != line.rate)]
        self._tried: list[int] = []
        self._heard = b""
        self._answer = b""
        self._opened_s = self._quiet_since_s = now_s
        self._deadline_s = now_s
        line.send(CANCEL, now_s)

    def step(self, data: bytes, now_s: float) -> Firmware | None:
        """Take what has arrived; gives the firmware once an SSC-32 has answered.

        Raises:
            LinkError: an SSC-32 answers at another rate.
            LinkTimeout: nobody answers at any usual rate.
            ControllerError: something that is no SSC-32 answers, or one on a line that echoes or loses bytes.
        """
        if not self._tried:
            self._wait_for_quiet(data, now_s)
            return None
        self._answer = (self._answer + data)[-HEARD_BYTES:]
        self._heard = (self._heard + data)[-HEARD_BYTES:]
        if data:
            self._line.signs.refuse_echo(self._name, least=1)
        firmware = find_version(self._answer)
        if firmware is not None:
            if self._line.rate != self._wanted and not self._any_rate:
                raise self._other_rate(firmware)
            return firmware
        if now_s >= self._deadline_s:
            if not self._attempts or now_s - self._opened_s >= BUDGET_S:
                raise self._nobody()
            self._ask(now_s)
        return None

    def _wait_for_quiet(self, data: bytes, now_s: float) -> None:
        """Let leftovers of a former client run out; who never falls silent is asked all the same."""
        if data:
            self._quiet_since_s = now_s
        if now_s - self._quiet_since_s >= QUIET_S or now_s - self._opened_s >= CHATTER_S:
            self._ask(now_s)

    def _ask(self, now_s: float) -> None:
        """Once at the rig's rate, again at the rig's rate, then at the other usual ones."""
        first = not self._tried
        rate = self._attempts.pop(0)
        if rate != self._line.rate:
            self._line.set_rate(rate)
        self._tried.append(rate)
        self._answer = b""
        self._line.send(VERSION.line if first else FILL + CANCEL + VERSION.line, now_s)
        slow_s = SLOW_ANSWER_S if first else SLOW_RETRY_S
        self._deadline_s = now_s + (slow_s if rate <= SLOW_BAUD else ANSWER_S)

    def _other_rate(self, firmware: Firmware) -> LinkError:
        rate, wanted = self._line.rate, self._wanted
        return LinkError(
            f"{self._name}: the board ({firmware.text}) answers at {rate} baud, the rig says {wanted}: set "
            f"controller.baud = {rate}, or the board to {wanted} (SSC-32: the baud jumpers; SSC-32U: its "
            f"button, or register R4 = {wanted // 10})",
            self._name,
        )

    def _nobody(self) -> HilError:
        rates = ", ".join(str(rate) for rate in dict.fromkeys(self._tried))
        sign = self._sign()
        if sign is not None:
            return ControllerError(f"{self._name}: an SSC-32 answers, but its {sign.value}", self._heard, cause=sign)
        if self._heard:
            return ControllerError(
                f"{self._name}: something answers, but it is no SSC-32 (tried {rates} baud). It said "
                f"{self._heard[:60]!r}. Is this the right port?",
                self._heard,
            )
        return LinkTimeout(
            f"{self._name}: no answer to VER at {rates} baud. Check the power first (the SSC-32U's processor "
            "runs from VL or VS1, not from USB), then cable and receive line, then whether this is the right "
            "port. Status LED: SSC-32 steady on, or SSC-32U both on: it has power and heard nothing; "
            "SSC-32U red: wrong baud rate",
            self._name,
        )

    def _sign(self) -> LineCause | None:
        """Why the answer of what is an SSC-32 all the same cannot be read; None where nothing shows that it is one."""
        if find_version(self._heard) is not None:
            return LineCause.TRICKLE
        return LineCause.TORN if is_torn_version(self._heard) else None


def ask(open_port: Callable[[int], BytePort], name: str, clock: Clock) -> Answer:
    """Who is at the other end, at any of the usual rates. Takes up to three seconds; moves nothing.

    Args:
        open_port: opens the line at a baud rate.
        name: the port's name for messages.
        clock: what to wait by.

    Raises:
        LinkTimeout: nobody answers.
        ControllerError: something that is no SSC-32 answers.
        LinkError: the port cannot be opened, or failed.
    """
    settings = Ssc32Settings(port_url=name, baud=RATES[0], axes=(), canary_channel=CHANNELS - 1)
    with closing(open_port(settings.baud)) as port:
        line = Ssc32Line(settings, port)
        hello = Hello(line, name, clock.now_s(), any_rate=True)
        while (firmware := hello.step(line.receive(clock.now_s()), clock.now_s())) is None:
            clock.sleep_until(clock.now_s() + POLL_S)
        return Answer(kind=settings.kind, identity=firmware.text, baud=line.rate)
