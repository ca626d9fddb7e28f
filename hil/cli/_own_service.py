"""The service that a window starts for itself: begun, awaited, ended with the window, begun anew where it has died."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from queue import Empty, Queue

from hil.clock import monotonic_s
from hil.errors import LinkError
from hil.own_program import PYTHON
from hil.runtime.terminal_signals import held_back, start_unheard

START_S = 30.0
END_S = 20.0
_LOOK_S, _LEFT_S = 0.2, 1.0
_SERVING = "serving "
_PROGRAM = "hil.cli._service_of_window"


class OwnService:
    """A service of this computer's own for one rig, as long as the window is open.

    Args:
        rig: name or path.
        hardware: its real arm; else a fake.

    Attributes:
        url: where it is, once it is `ready`.
    """

    def __init__(self, rig: str, *, hardware: bool) -> None:
        self.url = ""
        self._command = [*PYTHON, "-m", _PROGRAM, "serve", rig, "--port", "0", *(["--hardware"] if hardware else [])]
        self._child: subprocess.Popen[str] | None = None

    def begin(self) -> None:
        """Start it, in the main thread; what is left of one that was there is ended first."""
        self.end()
        self._due_s = monotonic_s() + START_S
        self._found: Queue[str] = Queue()
        self._complaints: list[str] = []
        child = self._child = start_unheard(
            lambda: subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
        heard = (child, self._found, self._complaints)
        self._ears = [threading.Thread(target=work, args=heard, daemon=True) for work in (_listen, _hear)]
        for ear in self._ears:
            ear.start()

    def ready(self, within_s: float = 0.0) -> bool:
        """Whether it has said where it is.

        Args:
            within_s: so long it is waited for that.

        Raises:
            LinkError: it has ended without that, or took too long.
        """
        try:
            self.url = self._found.get(timeout=within_s) if within_s else self._found.get_nowait()
        except Empty:
            if monotonic_s() < self._due_s:
                return False
            self.url = ""
        if not self.url:
            reason = self._complaints[-1] if self._complaints else f"it did not answer within {START_S:g} s"
            raise LinkError(f"the local service did not start: {reason}")
        return True

    def wait(self) -> None:
        """Until it is ready.

        Raises:
            LinkError: as `ready`.
        """
        while not self.ready(_LOOK_S):
            pass

    @property
    def ended(self) -> bool:
        """Whether it was begun, and is there no more."""
        return self._child is not None and self._child.poll() is not None

    def end(self) -> None:
        """It stops and holds its arm before it ends."""
        if (child := self._child) is None:
            return
        assert child.stdin is not None
        with held_back():
            with contextlib.suppress(OSError):
                child.stdin.close()
            try:
                child.wait(END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        # Processes that a killed one has left behind may keep its pipes open for longer.
        for ear in self._ears:
            ear.join(_LEFT_S)


def _listen(child: subprocess.Popen[str], found: Queue[str], complaints: list[str]) -> None:
    """For the line in which it says where it is; its first lines are shown."""
    assert child.stdout is not None
    with child.stdout as lines:
        for line in lines:
            if line.startswith(_SERVING):
                found.put(line.rpartition(" at ")[2].strip())
            elif line.startswith(("FAKE", "REAL")):
                print(line, end="", flush=True)
    found.put("")


def _hear(child: subprocess.Popen[str], found: Queue[str], complaints: list[str]) -> None:
    """Its complaints, which are shown always."""
    assert child.stderr is not None
    with child.stderr as lines:
        for line in lines:
            complaints.append(line.strip())
            print(line, end="", file=sys.stderr, flush=True)
