"""What the wire carries for every sample of one motion, worked out once: bytes, whole numbers, and what they stand for.

Certification makes it and puts its digest into the certificate; whoever streams the motion makes it again from the
samples and sends from it only if the digest is the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from struct import Struct

import numpy as np
import numpy.typing as npt


class WireTable:
    """One row per sample; it cannot be changed, and neither can what it gives.

    Args:
        kind: of the controller.
        time_ms: how long each row's move takes, if its line says so; else 0.
        natives: what the wire's numbers are, (N, n) whole numbers: us, or hundredths of a degree.
        positions: what the controller makes of them, (N, n) in rad or m.
        lines: the bytes of each row.

    Attributes:
        kind, time_ms: as given.
        digest: SHA-256 over all of it.

    Raises:
        ValueError: the shapes do not fit each other.
    """

    __slots__ = ("_ends", "_lines", "_natives", "_positions", "_row", "_whole", "digest", "kind", "time_ms")

    kind: str
    time_ms: int
    digest: str
    _ends: memoryview
    _lines: bytes
    _natives: bytes
    _positions: bytes
    _row: Struct
    _whole: Struct

    def __init__(
        self,
        kind: str,
        time_ms: int,
        natives: npt.NDArray[np.int64],
        positions: npt.NDArray[np.float64],
        lines: Sequence[bytes],
    ) -> None:
        if natives.ndim != 2 or natives.shape != positions.shape or len(lines) != len(natives):
            raise ValueError(f"{len(lines)} lines, numbers {natives.shape}, positions {positions.shape}")
        ends = np.zeros(len(lines) + 1, dtype="<u4")
        np.cumsum([len(line) for line in lines], out=ends[1:])
        fixed = {
            "kind": kind,
            "time_ms": time_ms,
            "_ends": memoryview(ends.tobytes()).cast("I"),
            "_lines": b"".join(lines),
            "_natives": natives.astype("<i4").tobytes(),
            "_positions": positions.astype("<f8").tobytes(),
            "_whole": Struct(f"<{natives.shape[1]}i"),
            "_row": Struct(f"<{natives.shape[1]}d"),
        }
        for name, value in fixed.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "digest", self.worked_out_digest())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a wire table is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a wire table is immutable: {name} cannot be deleted")

    def __len__(self) -> int:
        return len(self._ends) - 1

    def line(self, row: int) -> bytes:
        """The bytes of a row."""
        return self._lines[self._ends[row] : self._ends[row + 1]]

    def native(self, row: int) -> tuple[int, ...]:
        """The numbers of a row, as the wire has them."""
        return self._whole.unpack_from(self._natives, row * self._whole.size)

    def positions(self, row: int) -> tuple[float, ...]:
        """What the controller makes of a row, rad or m."""
        return self._row.unpack_from(self._positions, row * self._row.size)

    def worked_out_digest(self) -> str:
        """The digest of what is there now; `digest` is that of what was made."""
        hashed = hashlib.sha256(f"{self.kind};{self.time_ms};{len(self)};{self._whole.size}\n".encode())
        for part in (self._natives, self._positions, self._ends, self._lines):
            hashed.update(part)
        return hashed.hexdigest()
