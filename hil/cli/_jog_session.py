"""What jogging by keys or lines is, whether the arm is here or far away: one press or one line, one increment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from hil.cli.output import complain
from hil.clock import monotonic_s

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from hil.cli._keyboard import Lines
    from hil.types import Mode
    from hil.workbench.jog_pad import Action, Pad, PadAxis

REPEAT_S = 0.25
"""A key that repeats itself and is not seen for so long has been let go."""

ANSWER_S = 2.0
LONGEST_S = 300.0
LOOK_S = 0.1


class JogSession(Protocol):
    """An arm that is led by hand.

    Attributes:
        pad: what keys and lines mean.
        note: something to say about the last key or line.
        failed: whether something went wrong, for the exit code.
    """

    pad: Pad
    note: str
    failed: bool

    def do(self, action: Action) -> None:
        """Carry out what a key or a line means. Raises HilError if it cannot be done."""
        ...

    def forget(self) -> None:
        """What was said so far has been read."""
        ...

    def pressed_again(self, key: str) -> bool:
        """Whether a key that comes while something moves belongs to that: it is no new wish then."""
        ...

    def until(self, reached: Callable[[], bool], within_s: float) -> None:
        """Follow the arm until something is reached or the time is over."""
        ...

    @property
    def busy(self) -> bool:
        """True until what was asked for has ended, was refused, or the loop has left it."""
        ...

    @property
    def refused(self) -> bool:
        """True if what was asked for last was refused."""
        ...

    @property
    def ended(self) -> bool:
        """True once nothing can be jogged any more."""
        ...

    @property
    def mode(self) -> Mode:
        """What the bridge does with the arm."""
        ...

    def words(self) -> str:
        """The newest thing worth reading."""
        ...

    def place(self) -> str:
        """The commanded pose in one line."""
        ...

    def screen(self) -> RenderableType:
        """Everything at a glance."""
        ...


def lead(jogging: JogSession) -> None:
    """By keys at a terminal, by lines from anything else."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        _by_keys(jogging)
    else:
        _by_lines(jogging)


def is_over(news: Sequence[str], mode: Mode) -> bool:
    """Whether something began to move, and does no more."""
    from hil.types import Mode

    return any("-> streaming: " in event for event in news) and mode not in (Mode.ARMED, Mode.STREAMING, Mode.STOPPING)


def has_begun(news: Sequence[str]) -> bool:
    """Whether something began to move."""
    return any("-> streaming: " in event for event in news)


def is_refused(news: Sequence[str]) -> bool:
    """Whether something was refused."""
    return any(event.startswith("refused: ") for event in news)


def newest(news: Sequence[str], note: str) -> str:
    """The newest thing worth reading: a refusal, a stop, a fault, or what else the loop explained."""
    told = [event for event in news if _is_news(event)]
    return told[-1].removeprefix("refused: ") if told else note


def _is_news(event: str) -> bool:
    """Whether an event says more than that things go their way."""
    stopped = "stop: " in event and not event.startswith("armed -> ")
    return stopped or event.startswith(("refused: ", "[", "the jog ", "the arm has held ")) or "-> fault: " in event


def say(axis: PadAxis, value: float) -> str:
    """A position in words."""
    from hil.model.rig import AxisKind
    from hil.workbench.jog_pad import unit_of

    return f"{value / unit_of(axis):z.2f} {'deg' if axis.kind is AxisKind.REVOLUTE else 'mm'}"


def axes_table(pad: Pad, columns: Sequence[tuple[str, Sequence[float | None]]]) -> Table:
    """Axes and their positions; the selected one is marked."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, pad_edge=False)
    for title in ("", "axis", *(title for title, _ in columns)):
        table.add_column(title)
    for index, axis in enumerate(pad.arm.axes):
        mark = ">" if index == pad.joint else str(index + 1) if index != pad.arm.gripper else "g"
        found = [values[index] for _, values in columns]
        table.add_row(mark, axis.name, *("" if value is None else say(axis, value) for value in found))
    return table


def keys_table(rows: Sequence[tuple[str, str]]) -> Table:
    """Keys and what they do."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for row in rows:
        table.add_row(*row)
    return table


def settings_line(pad: Pad, mode: Mode) -> str:
    """Mode, frame, speed and increment."""
    return (
        f"{mode.value.upper()}   frame {pad.frame.value}   speed {pad.speed_percent:g} %   "
        f"increment {pad.size:g} mm, {pad.size:g} deg"
    )


# -- keys ------------------------------------------------------------------------------------------------


def _by_keys(jogging: JogSession) -> None:
    from rich.live import Live

    from hil.cli._keyboard import single_keys
    from hil.cli.output import console
    from hil.workbench.jog_pad import Quit

    pressed: list[str] = []
    down = KeyDown()
    with single_keys() as keys, Live(jogging.screen(), console=console(), auto_refresh=False) as live:

        def press() -> bool:
            new = keys()
            down.look(new, monotonic_s())
            pressed.extend(new)
            return bool(pressed)

        while not jogging.ended:
            jogging.until(press, within_s=LOOK_S)
            for key in pressed:
                if isinstance(_press(jogging, key, down), Quit):
                    return
            pressed.clear()
            live.update(jogging.screen(), refresh=True)
    jogging.failed = True
    complain(jogging.words())


class KeyDown:
    """Which key is down, and since when, as far as a terminal shows it: by keys that come again and again.

    A key that is stuck, or has something lying on it, would lead the arm on, one increment after the other.
    """

    def __init__(self) -> None:
        self._key, self._since_s, self._seen_s = "", 0.0, 0.0

    def look(self, keys: Sequence[str], now_s: float) -> None:
        """What has come since the last look, which may be nothing."""
        # Whoever was busy meanwhile finds the repetitions waiting; only a look that finds none shows a pause.
        if not keys and now_s - self._seen_s > REPEAT_S:
            self._key = ""
        for key in keys:
            if key != self._key:
                self._key, self._since_s = key, now_s
            self._seen_s = now_s

    def stuck(self, key: str) -> bool:
        """Whether this one has been down for too long to be a wish still."""
        from hil.service.hold_watch import UNCHANGED_S

        return key == self._key and self._seen_s - self._since_s > UNCHANGED_S


def _press(jogging: JogSession, key: str, down: KeyDown) -> Action | None:
    from hil.errors import HilError
    from hil.workbench.jog_pad import Halt, Quit, Show, SupplyOff

    if jogging.pressed_again(key):
        return None
    action = jogging.pad.key(key)
    if down.stuck(key) and not isinstance(action, Halt | Quit | SupplyOff):
        from hil.service.hold_watch import UNCHANGED_S

        jogging.note = f"{key} has been down for {UNCHANGED_S:g} s, as if it were stuck: let go, then press again"
        return None
    # A key that repeats itself while the arm moves would queue motion up.
    if jogging.busy and not isinstance(action, Halt | Show | Quit | SupplyOff):
        jogging.note = "still moving: the key was not taken"
        return None
    try:
        if not isinstance(action, Quit):
            jogging.do(action)
    except HilError as error:
        jogging.note = str(error)
    return action


# -- lines -----------------------------------------------------------------------------------------------


def _by_lines(jogging: JogSession) -> None:
    from hil.cli._keyboard import Lines
    from hil.errors import HilError
    from hil.workbench.jog_pad import Halt, Quit

    lines = Lines()
    print(jogging.place(), flush=True)
    while not jogging.ended:
        jogging.until(lambda: lines.waiting is not None, within_s=LOOK_S)
        if lines.waiting is None:
            continue
        try:
            jogging.forget()
            action = jogging.pad.line(lines.take())
            if isinstance(action, Quit):
                return
            if action is None:
                continue
            jogging.do(action)
            _await(jogging, lines)
        except HilError as error:
            jogging.failed = True
            complain(str(error))
            continue
        if jogging.refused:
            jogging.failed = True
            complain(jogging.words())
        elif words := jogging.words():
            print(words, flush=True)
        if isinstance(action, Halt):
            jogging.until(lambda: not jogging.busy, within_s=ANSWER_S)
        print(f"{jogging.mode.value}: {jogging.place()}", flush=True)
    jogging.failed = True
    complain(jogging.words())


def _await(jogging: JogSession, lines: Lines) -> None:
    """Wait until what was asked for is over; a stop that comes in meanwhile is not kept waiting."""
    from hil.workbench.jog_pad import Halt

    def urgent() -> bool:
        return (lines.waiting or "").strip().lower() in ("stop", "cut")

    jogging.until(lambda: not jogging.busy or urgent(), within_s=LONGEST_S)
    if jogging.busy:
        jogging.do(Halt())
        jogging.until(lambda: not jogging.busy, within_s=LONGEST_S)


class Patience:
    """How long to wait for the loop to begin with what it was asked for."""

    def __init__(self) -> None:
        self._asked_s: float | None = None

    def asked(self) -> None:
        """Something was asked for now."""
        self._asked_s = monotonic_s()

    def over(self) -> None:
        """Nothing is waited for."""
        self._asked_s = None

    @property
    def waiting(self) -> bool:
        """Whether something is waited for."""
        return self._asked_s is not None

    @property
    def exhausted(self) -> bool:
        """Whether it should have begun by now."""
        return self._asked_s is not None and monotonic_s() - self._asked_s > ANSWER_S
