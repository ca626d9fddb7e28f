"""A command of this very program in a process of its own, for what a window does not judge by itself."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from hil.own_program import HIL

END_MS = 2000


class Command(QObject):
    """One at a time; a new one ends the one before.

    Signals:
        done: exit code, what it printed, what it complained of.
    """

    done = Signal(int, str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process: QProcess | None = None

    @property
    def busy(self) -> bool:
        """Whether one runs."""
        return self._process is not None

    def start(self, words: Sequence[str]) -> None:
        """Run `hil` with these words."""
        self.stop()
        process = self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("COLUMNS", "100")
        process.setProcessEnvironment(environment)
        process.finished.connect(lambda code, _: self._ended(process, code))
        process.errorOccurred.connect(lambda error: self._failed(process, error))
        process.start(HIL[0], [*HIL[1:], *words])

    def _ended(self, process: QProcess, code: int) -> None:
        if process is not self._process:
            return
        self._process = None
        out = bytes(process.readAllStandardOutput().data()).decode("utf-8", "replace")
        wrong = bytes(process.readAllStandardError().data()).decode("utf-8", "replace")
        process.deleteLater()
        self.done.emit(code, out, wrong)

    def _failed(self, process: QProcess, error: QProcess.ProcessError) -> None:
        """One that never began does not end either."""
        if process is self._process and error is QProcess.ProcessError.FailedToStart:
            self._process = None
            words = process.errorString()
            process.deleteLater()
            self.done.emit(1, "", words)

    def stop(self) -> None:
        """End the one that runs; nothing more is heard of it."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.waitForFinished(END_MS)
            process.deleteLater()
