"""The error tree: who is wrong, what was given, what is allowed, what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from hil.old_names import moved


class HilError(Exception):
    """Root of everything this project raises on purpose; its text is fit for a user."""


MOST_SHOWN = 300
"""Characters of a value that a message shows: nobody looks for a mistake in more."""


class ConfigError(HilError):
    """A file that people write is wrong.

    Attributes:
        file: the file as it was found, or a name for an in-memory table.
        key: dotted path of the key, for example ``controller.axis.base.channel``.
        value: what stands there; None for a missing key.
        allowed: what may stand there, in words.
    """

    def __init__(self, file: str, key: str, value: object, allowed: str, advice: str = "") -> None:
        self.file, self.key, self.value, self.allowed, self.advice = file, key, value, allowed, advice
        given = "nothing" if value is None else _shortened(repr(value))
        text = f"{file}: {key}: {given} given; allowed: {allowed}"
        super().__init__(f"{text}. {advice}" if advice else text)


def _shortened(text: str) -> str:
    """`text`, or both ends of it."""
    half = MOST_SHOWN // 2
    return text if len(text) <= MOST_SHOWN else f"{text[:half]} ... {text[-half:]}"


class UnknownKeyError(ConfigError):
    """A key that nobody knows.

    Attributes:
        meant: the key that was probably meant and is not there, with its path; empty if none.
    """

    def __init__(self, file: str, key: str, value: object, advice: str, meant: str) -> None:
        self.meant = meant
        super().__init__(file, key, value, "no such key here", advice)


class ConfigErrors(ConfigError):  # noqa: N818 - several of the one above
    """Several things are wrong with a file; the attributes are those of the first, the text has a line for each.

    Attributes:
        faults: all of them, in the order of the file.
    """

    def __init__(self, faults: Sequence[ConfigError]) -> None:
        first, self.faults = faults[0], tuple(faults)
        super().__init__(first.file, first.key, first.value, first.allowed, first.advice)
        self.args = ("\n".join(map(str, faults)),)


class CommandError(HilError):
    """Our side asked for something that may not be asked: non-finite, wrong length, outside a limit."""

    def __init__(self, message: str, *, axis: str | None = None, value: object = None, allowed: str = "") -> None:
        self.axis, self.value, self.allowed = axis, value, allowed
        super().__init__(message)


class MissingExtraError(HilError):
    """Something needs a package that is not installed; `extra` names the extra that brings it.

    Args:
        what: needs it; several things, or one together with its verb in `needs`.
        extra: of this package.
        otherwise: what else can be done; empty if nothing.
    """

    def __init__(self, what: str, extra: str, otherwise: str = "", *, needs: str = "need") -> None:
        self.what, self.extra = what, extra
        super().__init__(
            f"{what} {needs} a package that is not installed: pip install 'hil-arm-bridge[{extra}]', "
            f"in a checkout .venv/bin/pip install -e '.[{extra}]'{f'. {otherwise}' if otherwise else ''}"
        )


class InterlockError(HilError):
    """A change of mode was refused; `missing` names what still has to be true."""

    def __init__(self, message: str, missing: Sequence[str] = ()) -> None:
        self.missing = tuple(missing)
        super().__init__(message)


class LineCause(Enum):
    """Why a line, or the controller at its end, is in trouble; what to do is `hil.runtime.line_health`'s to say."""

    SILENT = "silent"
    LATE = "late answers"
    NOISE = "bytes without meaning"
    LOOP_LATE = "our own loop was late"
    RESTARTED = "the controller restarted"
    DAMAGED = "commands arrive damaged"
    RESTARTED_OR_DAMAGED = "the controller restarted, or what arrives is damaged"
    DELAYED = "commands arrive late"
    STALLED = "the controller stood still"
    DROOPING = "an axis droops"
    ECHO = "the line echoes what it is sent"
    TORN = "answers come with bytes missing"
    TRICKLE = "answers come byte by byte, with pauses between"


class ControllerError(HilError):
    """The controller answered nonsense or a refusal.

    Attributes:
        raw: its bytes.
        cause: what it comes from, if the driver can tell; the advice that fits is then added to the text.
    """

    def __init__(self, message: str, raw: bytes = b"", *, cause: LineCause | None = None) -> None:
        self.raw, self.cause = raw, cause
        super().__init__(message)


class LinkError(HilError):
    """The line to the controller failed; `port` names it."""

    def __init__(self, message: str, port: str = "") -> None:
        self.port = port
        super().__init__(message)


class LinkTimeout(LinkError):  # noqa: N818 - named like the standard TimeoutError family
    """No answer within its deadline."""


class LinkClosed(LinkError):  # noqa: N818
    """The port is gone: unplugged, hung up, or never opened."""


class LinkOpening(LinkError):  # noqa: N818
    """The port is still being opened: no failure, ask again."""


class LinkOverrun(LinkError):  # noqa: N818
    """The line has not drained what was sent before; sending more would make the arm lag."""


class JournalError(HilError):
    """A journal cannot be read, or does not say what it claims."""


class AuditTakenError(JournalError):
    """Another service keeps its audit in this folder."""


def __getattr__(name: str) -> object:
    return moved(__name__, name)
