"""What a window and the process beside it say to each other: each word behind its length, over a pipe of their own.

Both ends are this program's, and nobody else holds the pipe: words are pickled, errors with their kind.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any, BinaryIO, NamedTuple

from hil.errors import HilError
from hil.service import wire
from hil.service.hold_watch import Sign
from hil.service.lab_request import Access
from hil.types import AxisJog, ToolJog

_LENGTH = struct.Struct(">I")


class _Pickler(pickle.Pickler):
    """Errors as they are, without making them anew: each kind takes something else."""

    def reducer_override(self, thing: object) -> Any:
        if isinstance(thing, HilError):
            return _revived, (type(thing), thing.args, dict(vars(thing)))
        return NotImplemented


def _revived(kind: type[HilError], args: tuple[object, ...], attributes: dict[str, object]) -> HilError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(attributes)
    return error


# -- from the window -------------------------------------------------------------------------------------


class Begin(NamedTuple):
    """The first word: which arm, and as whom."""

    access: Access
    arm: str
    name: str


class Hand(NamedTuple):
    """The window's thread turns, and looks at its keys.

    Attributes:
        number: of the press that is held; None while nothing is.
        at_s: when that was so, by `monotonic_s`, which all processes of a computer share.
        sign: what shows the hand.
    """

    number: int | None
    at_s: float
    sign: Sign


class Call(NamedTuple):
    """The client shall do something, by the name of its method.

    Attributes:
        at_s: when that was asked for, by `monotonic_s`.
        press: what was held when the process read it; that fills it in.
    """

    number: int
    name: str
    args: tuple[Any, ...]
    fields: dict[str, Any]
    at_s: float
    press: int | None = None


class Jog(NamedTuple):
    """What a jog goes on with from now; None to end it."""

    number: int
    move: AxisJog | ToolJog | None


class Leave(NamedTuple):
    """The window closes: give the lease back, and go."""


# -- from the process beside it --------------------------------------------------------------------------


class Joined(NamedTuple):
    """The service has let us in."""

    welcome: wire.Welcome


class Parted(NamedTuple):
    """It is gone; `final` if it is not tried again."""

    reason: str
    final: bool


class Heard(NamedTuple):
    """It has said something; `mark` is the client's place in what was said."""

    message: wire.ServerMessage
    mark: int


class Answer(NamedTuple):
    """What came of a call."""

    number: int
    result: Any
    error: HilError | None
    mark: int


def put(file: BinaryIO, word: NamedTuple) -> None:
    """Write one word.

    Raises:
        OSError: nobody reads any more.
    """
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(word)
    packed = buffer.getvalue()
    file.write(_LENGTH.pack(len(packed)) + packed)
    file.flush()


def get(file: BinaryIO) -> Any:
    """Wait for the next word; None if the other end is gone."""
    if len(head := _read(file, _LENGTH.size)) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    packed = _read(file, length)
    return pickle.loads(packed) if len(packed) == length else None


def _read(file: BinaryIO, length: int) -> bytes:
    """So many bytes, in as many parts as they come in; fewer if the other end is gone."""
    parts, left = [], length
    while left and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
