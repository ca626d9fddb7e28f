"""Inputs that a motion was proved with, against those that the controller shows; and a link that shows the former."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from hil.errors import CommandError
from hil.link import ArmLink, FloatArray, MotionBounds, TableLink
from hil.motion.motion import ExpectedInput
from hil.types import Command, InputState, JointCommand, LinkState
from hil.wire_table import WireTable

OLDEST_S = 2.5
"""Age at which a reading of the inputs says nothing any more; a line that also carries targets reads them slowly."""


class InputWatch:
    """Compares sample by sample; samples only rise.

    Args:
        expected: of the motion, by their first samples.
    """

    def __init__(self, expected: Sequence[ExpectedInput]) -> None:
        self._coming = deque(expected)
        self._now: list[ExpectedInput] = []

    def differing(self, sample: int, inputs: InputState | None, now_s: float) -> str:
        """Why this sample may not be sent, in words; empty if it may."""
        while self._coming and self._coming[0].first <= sample:
            self._now.append(self._coming.popleft())
        if self._now:
            self._now = [each for each in self._now if each.last >= sample]
        if not self._now:
            return ""
        if inputs is None or now_s - inputs.t_s > OLDEST_S:
            return f"the controller's inputs have not been read for {OLDEST_S:g} s, and this program depends on them"
        shown = dict(inputs.values)
        for each in self._now:
            if shown.get(each.signal) != each.value:
                return (
                    f"input {each.signal} is {shown.get(each.signal, 'not shown')}, and the program was proved with "
                    f"{each.value} here: preview it again with the inputs as they are"
                )
        return ""


def watched_signals(expected: Sequence[ExpectedInput]) -> tuple[int, ...]:
    """Every input that a motion depends on, once."""
    return tuple(sorted({each.signal for each in expected}))


class AssumedInputs(ArmLink):
    """For a rehearsal: another link whose inputs are those that the motion assumes, at just the right time.

    Attributes:
        sample: the one that is sent next.
    """

    def __init__(self, link: ArmLink, expected: Sequence[ExpectedInput]) -> None:
        self._link = link
        self._coming = deque(expected)
        self._values = dict.fromkeys(watched_signals(expected), 0)
        self.sample = 0

    def watch_inputs(self, signals: Sequence[int]) -> None:
        """They are known already."""

    @property
    def _tabled(self) -> TableLink:
        if not isinstance(self._link, TableLink):
            raise CommandError("the link behind takes no table")
        return self._link

    def bound(self, bounds: MotionBounds) -> None:
        """As the other."""
        self._tabled.bound(bounds)

    def carry(self, table: WireTable, samples: FloatArray) -> None:
        """As the other."""
        self._tabled.carry(table, samples)

    def begin_rows(self) -> None:
        """As the other."""
        self._tabled.begin_rows()

    def write_row(self, row: int, command: JointCommand, now_s: float) -> JointCommand:
        """As the other."""
        return self._tabled.write_row(row, command, now_s)

    def open(self, now_s: float) -> None:
        """As the other."""
        self._link.open(now_s)

    def read(self, now_s: float) -> LinkState:
        """As the other, with the inputs."""
        while self._coming and self._coming[0].first <= self.sample:
            each = self._coming.popleft()
            self._values[each.signal] = each.value
        inputs = InputState(t_s=now_s, values=tuple(self._values.items()))
        return msgspec.structs.replace(self._link.read(now_s), inputs=inputs)

    def write(self, command: Command, now_s: float) -> Command:
        """As the other."""
        return self._link.write(command, now_s)

    def stop(self, now_s: float) -> None:
        """As the other."""
        self._link.stop(now_s)

    def close(self) -> None:
        """As the other."""
        self._link.close()
