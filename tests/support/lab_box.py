"""A lab in a box as a process of its own: `hil serve --demo 1`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from kill_rounds import Program
from lab_load import free_port

READY_S = 60.0


@contextlib.contextmanager
def lab_in_a_box(folder: Path) -> Iterator[str]:
    """Its address, while it runs; it has to end in order, and without a traceback."""
    port = free_port()
    server = Program(folder, "serve", "serve", "--demo", "1", "--port", str(port))
    try:
        server.says("in another terminal: hil drive", READY_S)
        yield f"http://127.0.0.1:{port}"
        server.process.terminate()
        server.ends(30.0)
        assert "Traceback" not in server.err.read_text()
    finally:
        server.clear_up()
