"""Runs `hil` in this process and gives what a person would see."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import hil.cli.main as command_line


class Outcome(NamedTuple):
    """Exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


class Terminal:
    """A folder of its own with a command line in it; nothing of the user's own files is seen or touched."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._monkeypatch, self._capsys = folder, monkeypatch, capsys
        for name in ("state", "config"):
            monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(folder / name))
        monkeypatch.chdir(folder)

    def run(self, *arguments: str) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["hil", *arguments])
        try:
            command_line.main()
            code: object = 0
        except SystemExit as leaving:
            code = leaving.code
        seen = self._capsys.readouterr()
        assert "Traceback" not in seen.out + seen.err
        return Outcome(code if isinstance(code, int) else int(code is not None), seen.out, seen.err)
