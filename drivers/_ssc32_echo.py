"""What the board should make by what it was sent, and what its echo says: as sent, late, damaged, restarted, stalled.

The board takes a line without a check sum and without an answer. The widths that it repeats are all that shows what
became of it. Every report is held against our own account; the first that does not fit is a question, the second an
answer.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from drivers._ssc32_line import Reading
from drivers._ssc32_settings import FRAME_S, Ssc32Settings
from hil.errors import ControllerError, LineCause

TAKES_EFFECT_S = 2.5 * FRAME_S
PHASE_S = 0.03
"""By how much the board's time can differ from ours: a frame, whose phase nobody knows, and half one for the way."""
BELOW_US, ABOVE_US = 12.0, 7.0
"""How far an echo may lie below and above the width: steps of 10 us, cut or rounded, and our own rounding."""
TRIM_US = 112
"""Firmware 1.x repeats a pulse offset, of up to 100 us, with the width."""
LONGEST_LAG_S = 0.6
KEPT = 64
ECHO_US = 10
"""In which steps a board tells its pulses."""
UNTOUCHED_US = (0, 1500)
"""What a board may tell of a channel that it has lost: nothing, or the middle, as if it drove that."""
UNCLEAN = 4
"""So many reports in a row among lost bytes are no chance any more."""
_Segment = tuple[float, float, float, float]


class Channel:
    """Our own account of the pulse that the board makes on one channel: straight from start to target, line by line.

    Attributes:
        past: the moves until now, the last of them included: start and end in s, then in us.
        driven_s: from when its first move must show; None before that.
        trim_us: what the board adds to what it repeats; None while that is open.
        trusted: it was sent somewhere, so the account says where it is.
    """

    __slots__ = ("driven_s", "past", "trim_us", "trusted")

    def __init__(self) -> None:
        self.driven_s: float | None = None
        self.trim_us: int | None = 0
        self.trusted = False
        self.hold(0.0)

    def hold(self, pulse_us: float) -> None:
        """It stands there; whether the board took the same is not known."""
        self.past: list[_Segment] = [(float("-inf"), float("-inf"), pulse_us, pulse_us)]
        self.trusted = False

    def drive(self, pulse_us: float, at_s: float) -> None:
        """The first move, without a time: from when it must show, the echo is held against it."""
        self.hold(pulse_us)
        self.driven_s, self.trusted = at_s + TAKES_EFFECT_S, True

    def driven_by(self, at_s: float) -> bool:
        """Whether we have driven it, and it must have shown by then."""
        return self.driven_s is not None and at_s > self.driven_s

    def move(self, pulse_us: float, now_s: float, duration_s: float) -> None:
        """A timed move, from wherever it is by then."""
        move_all((self,), (pulse_us,), now_s, duration_s)

    def moving(self, now_s: float) -> bool:
        """True while it is on its way."""
        _, end_s, start_us, target_us = self.past[-1]
        return now_s < end_s and start_us != target_us

    @property
    def lasts_s(self) -> float:
        """How long its last move takes."""
        start_s, end_s, _, _ = self.past[-1]
        return end_s - start_s if end_s > start_s else 0.0

    def width_us(self, now_s: float) -> float:
        """The pulse at a time not before the last move."""
        start_s, end_s, start_us, target_us = self.past[-1]
        if now_s >= end_s:
            return target_us
        share = max(now_s - start_s, 0.0) / (end_s - start_s)
        return start_us + share * (target_us - start_us)

    def expected_us(self, at_s: float) -> tuple[float, float]:
        """The pulse at any time, by the lines that had left by then, and how far it can be from that."""
        past = self.past
        index = len(past) - 1
        while index and past[index][0] > at_s:
            index -= 1
        start_s, end_s, start_us, target_us = past[index]
        if at_s >= end_s:
            width_us = target_us
        else:
            share = (at_s - start_s) / (end_s - start_s)
            width_us = start_us + (share if share > 0.0 else 0.0) * (target_us - start_us)
        fastest, since_s = 0.0, at_s - PHASE_S
        while True:
            if end_s > since_s:
                speed = abs(target_us - start_us) / (end_s - start_s)
                if speed > fastest:
                    fastest = speed
            if not index or start_s <= since_s:
                return width_us, fastest * PHASE_S
            index -= 1
            start_s, end_s, start_us, target_us = past[index]

    def fits(self, echo_us: int, at_s: float) -> bool:
        """Whether the board can have made this, had it taken what was sent until then; yes while its offset is open."""
        if self.trim_us is None:
            return True
        past = self.past
        start_s, end_s, start_us, target_us = past[-1] if past[-1][0] <= at_s or len(past) == 1 else past[-2]
        if start_s <= at_s < end_s:
            # By the newest line alone, as nearly always.
            pace = (target_us - start_us) / (end_s - start_s)
            beside_us = echo_us - self.trim_us - start_us - (at_s - start_s) * pace
            reach_us = pace * PHASE_S if pace > 0.0 else -pace * PHASE_S
            if -reach_us - BELOW_US <= beside_us <= reach_us + ABOVE_US:
                return True
        width_us, reach_us = self.expected_us(at_s)
        return -reach_us - BELOW_US <= echo_us - self.trim_us - width_us <= reach_us + ABOVE_US


def move_all(channels: Sequence[Channel], pulses_us: Sequence[float], now_s: float, duration_s: float) -> None:
    """One timed move of several channels, in one go: this runs in every tick."""
    end_s = now_s + duration_s
    for channel, pulse_us in zip(channels, pulses_us, strict=True):
        past = channel.past
        since_s, until_s, before_us, start_us = past[-1]
        if now_s < until_s:
            # As `width_us` has it.
            share = (now_s - since_s) / (until_s - since_s) if now_s > since_s else 0.0
            start_us = before_us + share * (start_us - before_us)
        past.append((now_s, end_s, start_us, pulse_us))
        if len(past) > 2 * KEPT:
            del past[:KEPT]


@dataclass
class _Doubt:
    """The first report that did not fit, and what the ones after it said.

    Attributes:
        canary_us: what the newest said of the canary; None if that was as set.
        canary_off: so many in a row, the newest among them, in which it was not.
        axes: those that were off in the newest, not by a delay.
        clean: no byte was lost around the newest.
        rests_s: from when the board has ended all that it was sent, counted from the first delay; None before one.
    """

    since_s: float
    canary_us: int | None = None
    canary_off: int = 0
    clean: bool = True
    rests_s: float | None = None
    axes: frozenset[int] = field(default_factory=frozenset)


class Echo:
    """Holds every report against the account of all channels.

    Args:
        settings: the axes, in the order in which the channels are asked.
        name: of the port, for messages.

    Attributes:
        channels: the account per axis.
        wrong: reports so far that did not fit.
        delayed_s: by how much the newest report lagged behind what was sent.
        damaged: commands were found damaged; what is sent from now on had better be sent twice.
        canary_us: what the canary channel has to read; None if there is none.
        learns: offsets that the board adds to what it repeats are taken over, as firmware 1.x needs it.
        offsets_us: the stored ones per axis, where the board has told them.
    """

    def __init__(self, settings: Ssc32Settings, name: str) -> None:
        self._names = [axis.name for axis in settings.axes]
        self._name = name
        self._doubt: _Doubt | None = None
        self.channels = [Channel() for _ in settings.axes]
        self.canary_us: int | None = None
        self.wrong = 0
        self.delayed_s = 0.0
        self.damaged: tuple[int, ...] = ()
        self.learns = False
        self.offsets_us: tuple[int, ...] = ()

    @property
    def doubtful_s(self) -> float | None:
        """When the question behind the first report that did not fit reached the board; None without a doubt."""
        return None if self._doubt is None else self._doubt.since_s

    def drive(self, axis: int, pulse_us: int, at_s: float) -> None:
        """A first move has left."""
        channel = self.channels[axis]
        channel.drive(pulse_us, at_s)
        channel.trim_us = None if self.learns else 0

    def move(self, pulses_us: Sequence[int], at_s: float, duration_s: float) -> None:
        """A timed move of all axes has left."""
        move_all(self.channels, pulses_us, at_s, duration_s)

    def released(self, axis: int) -> None:
        """Its pulses were switched off: from now on nothing is expected of it."""
        channel = self.channels[axis]
        channel.hold(0.0)
        channel.driven_s = None

    def frozen(self, pulses_us: Sequence[int]) -> None:
        """A stop has left: where it took effect nobody knows to the microsecond."""
        for channel, pulse_us in zip(self.channels, pulses_us, strict=True):
            channel.hold(pulse_us)
        self._doubt = None

    def take(self, reading: Reading, now_s: float) -> bool:
        """Judge a complete report before it is sure; False if it does not fit what was sent.

        The newest is then in doubt, and has to be asked for again at once.

        Raises:
            ControllerError: the board has restarted, stood still, or did not take commands as they were sent.
        """
        pulses_us, at_s = reading.pulses_us, reading.asked_s
        canary_off = self.strays(reading)
        odd: list[int] = []
        off: list[int] = []
        judged = 0
        for index, channel in enumerate(self.channels):
            driven_s = channel.driven_s
            if driven_s is None or at_s <= driven_s:
                continue
            judged += 1
            echo_us = pulses_us[index]
            if not echo_us:
                off.append(index)
            elif channel.trusted and not channel.fits(echo_us, at_s):
                odd.append(index)
        if off and (len(off) == judged > 1 if self.canary_us is None else not pulses_us[-1]):
            raise self._restarted(reading, off, canary_off)
        if not reading.newest:
            # The axes may have been sent on since; the canary is where it was set, whenever it was asked.
            return self._doubtful(reading, [], [], canary_off, now_s) if canary_off else not (odd or off)
        if not (odd or off or canary_off):
            self._doubt, self.delayed_s = None, 0.0
            return True
        return self._doubtful(reading, odd, off, canary_off, now_s)

    def strays(self, reading: Reading) -> bool:
        """Whether the canary is not as it was set: then it does not matter how old the report is."""
        return self.canary_us is not None and reading.pulses_us[-1] != self.canary_us

    def learn(self, reading: Reading) -> str:
        """Take over what the board adds to what it repeats; words for the user if that is anything."""
        words = ""
        for index, channel in enumerate(self.channels):
            if channel.trim_us is None and channel.driven_s is not None and reading.asked_s > channel.driven_s:
                width_us = channel.expected_us(reading.asked_s)[0]
                beside_us = round(reading.pulses_us[index] + (BELOW_US - ABOVE_US) - width_us)
                if abs(beside_us) > TRIM_US:
                    channel.trim_us = 0
                    continue
                plain = -BELOW_US <= reading.pulses_us[index] - width_us <= ABOVE_US
                stored_us = self.offsets_us[index] if self.offsets_us else 0
                if stored_us and -BELOW_US <= reading.pulses_us[index] - stored_us - width_us <= ABOVE_US:
                    # As exact as it is stored; what an echo in steps of 10 us shows of it is not.
                    beside_us = stored_us
                channel.trim_us = 0 if plain else beside_us
                if not plain:
                    words = (
                        f"{self._names[index]}: the board repeats {beside_us:+d} us beside what it is sent: a pulse "
                        "offset (PO) is set there; put it to 0, trim belongs into the rig"
                    )
        return words

    def unanswered(self) -> None:
        """The question that should have settled a doubt has no answer in time.

        Raises:
            ControllerError: what was seen before it did not fit: in doubt the arm is stopped.
        """
        doubt = self._doubt
        if doubt is not None and doubt.axes and doubt.clean:
            how = "or its answer did, which did not come when it was asked again"
            if doubt.canary_us is None:
                raise self._damage(sorted(doubt.axes), how)
            # A supply that sags twice in a row: what was seen between the two is what a board tells that has restarted.
            how = f"the canary channel reads {doubt.canary_us} us, not {self.canary_us}, and then no answer came"
            raise self._damage(sorted(doubt.axes), how, restarted=True)

    # --- doubts ---------------------------------------------------------------------------------------------

    def _doubtful(self, reading: Reading, odd: list[int], off: list[int], canary_off: bool, now_s: float) -> bool:
        doubt, at_s = self._doubt, reading.asked_s
        if doubt is None:
            doubt = self._doubt = _Doubt(at_s)
        doubt.canary_off = doubt.canary_off + 1 if canary_off else 0
        if canary_off and not reading.clean and doubt.canary_off < UNCLEAN:
            # Among lost bytes an answer can be put together from two: it keeps the doubt, and decides nothing.
            doubt.canary_us, doubt.axes, doubt.clean = reading.pulses_us[-1], frozenset((*odd, *off)), False
            self.wrong += bool(odd or off)
            return False
        if doubt.canary_off > 1 and (
            # A board that tells of a channel without a pulse whatever it likes may tell something else each time.
            reading.pulses_us[-1] == doubt.canary_us or doubt.canary_off > 2 or doubt.axes & {*odd, *off}
        ):
            raise self._restarted(reading, off, canary_off)
        doubt.canary_us = reading.pulses_us[-1] if canary_off else None
        lag_s = self._lag_s(reading) if odd and not off and not canary_off else 0.0
        if lag_s:
            self.delayed_s, doubt.axes = max(self.delayed_s, lag_s), frozenset()
            if doubt.rests_s is None:
                # All that was sent is in the board by now, since nothing overtakes; so long it can still be on its way.
                doubt.rests_s = now_s + max(channel.lasts_s for channel in self.channels) + TAKES_EFFECT_S
            if at_s > doubt.rests_s:
                raise self._stalled(lag_s)
            return False
        doubt.rests_s = None
        self.wrong += 1
        again = doubt.axes & {*odd, *off}
        if again:
            new = self.canary_us is None and self._like_new(reading, {*odd, *off})
            raise self._damage(sorted(again), "twice in a row", reading, restarted=new)
        doubt.axes, doubt.clean = frozenset((*odd, *off)), reading.clean
        return False

    def _like_new(self, reading: Reading, wrong: Collection[int]) -> bool:
        """No axis shows what was sent, as after a restart: each is wrong, or where a board puts what it has lost."""
        driven = [index for index, channel in enumerate(self.channels) if channel.driven_by(reading.asked_s)]
        near = [min(abs(reading.pulses_us[index] - width) for width in UNTOUCHED_US) <= ECHO_US for index in driven]
        return all(near) or (len(driven) > 1 and all(index in wrong for index in driven))

    def _lag_s(self, reading: Reading) -> float:
        """How much earlier every channel was sent to where it is now; 0 if nothing earlier fits all of them."""
        trusted = [
            (channel, us) for channel, us in zip(self.channels, reading.pulses_us, strict=False) if channel.trusted
        ]
        # At rest it is the end of the motion that was not reached, however long ago that was.
        latest_s = min(reading.asked_s, max(channel.past[-1][1] for channel in self.channels))
        for step in range(1, round(LONGEST_LAG_S / FRAME_S) + 1):
            lag_s = step * FRAME_S
            if all(channel.fits(echo_us, latest_s - lag_s) for channel, echo_us in trusted):
                return lag_s
        return 0.0

    def _restarted(self, reading: Reading, off: list[int], canary_off: bool) -> ControllerError:
        names = [self._names[index] for index in off] + ["the canary channel"] * canary_off
        moved = ""
        if canary_off and reading.pulses_us[-1]:
            moved = f" as it was set (it reads {reading.pulses_us[-1]} us, not {self.canary_us})"
        return ControllerError(
            f"{self._name}: the controller restarted (brown-out?): it no longer drives {', '.join(names)}{moved}. "
            "Nothing is sent until it is connected anew",
            bytes(pulse_us // 10 for pulse_us in reading.pulses_us),
            cause=LineCause.RESTARTED,
        )

    def _stalled(self, lag_s: float) -> ControllerError:
        return ControllerError(
            f"{self._name}: the controller stood still: its pulses are where they should have been {lag_s:.2f} s "
            "before, and what it was sent after that is lost",
            cause=LineCause.STALLED,
        )

    def _damage(
        self, axes: list[int], how: str, reading: Reading | None = None, *, restarted: bool = False
    ) -> ControllerError:
        self.damaged = tuple(axes)
        parts = []
        for index in axes:
            seen = "something else"
            sent_us = self.channels[index].width_us(float("inf"))
            if reading is not None:
                sent_us = self.channels[index].expected_us(reading.asked_s)[0]
                echo_us = reading.pulses_us[index] - (self.channels[index].trim_us or 0)
                seen = f"{echo_us} us" if reading.pulses_us[index] else "no pulse"
            parts.append(f"{self._names[index]} should be at {sent_us:.0f} us, the board makes {seen}")
        cause = LineCause.RESTARTED_OR_DAMAGED if restarted else LineCause.DAMAGED
        return ControllerError(f"{self._name}: {cause.value}: {'; '.join(parts)} ({how})", cause=cause)
