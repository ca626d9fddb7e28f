"""Long work for a view, in a process of its own: told of as it goes, and ended when it is no longer wanted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from hil.errors import HilError

LOOK_EVERY_MS = 40
END_S = 2.0

Job = Callable[..., Any]
"""A function of a module; its result, and whatever it yields before, can be pickled."""


class Work(QObject):
    """One piece of work at a time; a new one ends the one before.

    A job that is a generator tells of its progress by what it yields; what it returns is the result.

    Signals:
        told: what the job yielded.
        done: its result.
        failed: why there is none, in words.
    """

    told = Signal(object)
    done = Signal(object)
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: BaseProcess | None = None
        self._line: Any = None  # a pipe's end, which is of another class on Windows
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.look)

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self._process is not None

    def start(self, job: Job, *arguments: object) -> None:
        """Begin a job; what ran before is ended."""
        self.stop()
        context = get_context("spawn")
        self._line, far = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(far, job, arguments), daemon=True)
        self._process.start()
        far.close()
        self._timer.start(LOOK_EVERY_MS)

    def stop(self) -> None:
        """End the job that runs; nothing more is heard of it."""
        process, line = self._process, self._line
        self._process = self._line = None
        self._timer.stop()
        if line is not None:
            line.close()
        if process is not None:
            process.terminate()
            process.join(END_S)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()

    def look(self) -> None:
        """Take in what has come."""
        while (line := self._line) is not None:
            try:
                if not line.poll():
                    return
                kind, value = line.recv()
            except (EOFError, OSError):
                kind, value = "failed", "the work ended before it was done"
            if kind == "told":
                self.told.emit(value)
                continue
            self.stop()
            (self.done if kind == "done" else self.failed).emit(value)


def _run(line: Connection, job: Job, arguments: tuple[object, ...]) -> None:
    """In the child."""
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        try:
            result = job(*arguments)
            if isinstance(result, Iterator):
                result = _followed(line, result)
        except HilError as error:
            line.send(("failed", str(error)))
        except Exception as error:  # whatever it is, a person is told in words and the window goes on
            line.send(("failed", f"{type(error).__name__}: {error}"))
        else:
            line.send(("done", result))


def _followed(line: Connection, steps: Iterator[Any]) -> Any:
    while True:
        try:
            told = next(steps)
        except StopIteration as end:
            return end.value
        line.send(("told", told))
