"""What every driver asks of a command, whatever its controller speaks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.errors import CommandError
from hil.link import FloatArray
from hil.types import Command


class CommandOrder:
    """Numbers of commands rise within one connection.

    Attributes:
        last: the number of the newest command that was taken; None before the first.
    """

    def __init__(self) -> None:
        self.last: int | None = None

    def check(self, command: Command) -> None:
        """Raises CommandError for one that does not come after the last."""
        if self.last is not None and command.seq <= self.last:
            raise CommandError(
                f"command {command.seq} comes after command {self.last}; numbers must rise",
                value=command.seq,
                allowed=f"more than {self.last}",
            )


def check_axis(axis: int, count: int) -> None:
    """Raises CommandError unless an arm of so many axes has this one."""
    if not 0 <= axis < count:
        raise CommandError(f"there is no axis {axis}; allowed: 0..{count - 1}", value=axis, allowed=f"0..{count - 1}")


def rows_of(positions: FloatArray, count: int) -> FloatArray:
    """Positions as an array of shape (n,) or (N, n), n = `count`.

    Raises:
        CommandError: a position is not finite, or the last dimension is not the number of axes.
    """
    wanted = np.asarray(positions, dtype=np.float64)
    if wanted.shape[-1:] != (count,) or not np.isfinite(wanted).all():
        raise CommandError(
            f"positions of shape {wanted.shape} given; allowed: finite numbers, {count} per row", value=wanted.shape
        )
    return wanted


def check_count(positions: Sequence[float], count: int) -> None:
    """Raises CommandError unless there is one position for each of so many axes."""
    if len(positions) != count:
        raise CommandError(
            f"{len(positions)} positions given; allowed: {count}", value=positions, allowed=f"{count} positions"
        )
