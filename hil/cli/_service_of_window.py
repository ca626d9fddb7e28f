"""The service of one window: as `hil serve`, but it ends when standard input does.

A window that crashed leaves no service behind. The window hears the terminal, and decides.
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import NoReturn

from hil.cli.main import main
from hil.runtime.terminal_signals import leave_the_terminal_to_the_owner


def serve_for_window() -> NoReturn:
    """Serve until standard input ends."""
    leave_the_terminal_to_the_owner()
    threading.Thread(target=_wait_for_the_end, daemon=True).start()
    main()


def _wait_for_the_end() -> None:
    sys.stdin.read()
    signal.raise_signal(signal.SIGTERM)


if __name__ == "__main__":
    serve_for_window()
