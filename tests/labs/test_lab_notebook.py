"""A lab as a notebook: every command, script and file is a cell, and the text stands between them."""

from __future__ import annotations

import json
import sys

import pytest

from hil.errors import MissingExtraError
from hil.labs.lab_notebook import myst_text, notebook_text
from hil.labs.pack import lab_names, load_lab


@pytest.mark.parametrize("name", lab_names())
def test_each_block_is_a_cell_and_no_text_is_lost(name: str) -> None:
    lab = load_lab(name)
    text = myst_text(lab)
    assert text.count("```{code-cell}") == len(lab.blocks)
    for command in (command for block in lab.blocks for command in block.commands):
        goes_on = command.typed.endswith(" &")
        assert (f"# in a terminal of its own: {command.typed[:-2]}" if goes_on else f"!{command.typed}\n") in text
    for line in lab.text.splitlines():
        if line.startswith(("#", "|", "**As printed.**")):
            assert line in text


def test_files_are_written_by_their_cells() -> None:
    assert "%%writefile clover.toml\n# clover.toml\n" in myst_text(load_lab("curves"))


def test_a_notebook_is_the_same_each_time_and_has_no_outputs() -> None:
    pytest.importorskip("jupytext")
    lab = load_lab("table-two")
    text = notebook_text(lab)
    assert text == notebook_text(lab)
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) == len(lab.blocks) and all(cell["outputs"] == [] for cell in code)
    assert cells[0]["source"][0].startswith("# Straight lines")


def test_without_jupytext_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jupytext", None)
    with pytest.raises(MissingExtraError, match=r"\[notebooks\]"):
        notebook_text(load_lab("frames"))
