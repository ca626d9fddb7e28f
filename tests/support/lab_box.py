"""A lab in a box as a process of its own: `hil serve --demo 1`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kill_rounds import Program
from lab_load import free_port

READY_S = 60.0


class LabBox(NamedTuple):
    """Where it is, and where the key of its start is: who comes in has that for the state of a home."""

    url: str
    state: Path


@contextlib.contextmanager
def lab_in_a_box(folder: Path) -> Iterator[LabBox]:
    """It runs; it has to end in order, and without a traceback."""
    port = free_port()
    server = Program(folder, "serve", "serve", "--demo", "1", "--port", str(port))
    try:
        server.says("in another terminal: hil drive", READY_S)
        yield LabBox(f"http://127.0.0.1:{port}", folder / "state")
        server.process.terminate()
        server.ends(30.0)
        assert "Traceback" not in server.err.read_text()
    finally:
        server.clear_up()
