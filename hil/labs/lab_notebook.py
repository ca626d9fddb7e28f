"""A lab as a Jupyter notebook: the page as MyST Markdown whose blocks are cells, and a notebook of that by Jupytext."""

from __future__ import annotations

from collections.abc import Iterator

from hil.errors import MissingExtraError
from hil.labs.lab_page import LONG, Block, BlockKind, Lab
from hil.labs.lab_runner import GOES_ON

HEAD = """---
kernelspec:
  name: python3
  display_name: Python 3
  language: python
---
"""


def myst_text(lab: Lab) -> str:
    """The page as MyST Markdown: commands and scripts are cells, files are written by cells, all else is text."""
    lines = lab.text.splitlines()
    cells = {block.line: block for block in lab.blocks}
    out: list[str] = [HEAD]
    rest = iter(enumerate(lines, 1))
    for number, line in rest:
        block = cells.get(number)
        if block is None:
            out.append(line)
            continue
        for _, within in rest:
            if within == "```":
                break
        out += ["```{code-cell}", *_cell(block), "```"]
    return "\n".join(out) + "\n"


def notebook_text(lab: Lab) -> str:
    """The lab as an `.ipynb`; the same lab gives the same text.

    Raises:
        MissingExtraError: the extra [notebooks] is not installed.
    """
    try:
        import jupytext
    except ImportError:
        raise MissingExtraError("notebooks", "notebooks", "`hil labs show` prints the page") from None
    notebook = jupytext.reads(myst_text(lab), fmt="md:myst")
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"  # else it is another one every time
    text: str = jupytext.writes(notebook, fmt="ipynb")
    return text if text.endswith("\n") else f"{text}\n"


def _cell(block: Block) -> Iterator[str]:
    """Lines of the cell that a block becomes."""
    if block.kind is BlockKind.FILE:
        yield f"%%writefile {block.file}"
        yield block.text.rstrip("\n")
    elif block.kind is BlockKind.PYTHON:
        yield block.text
    else:
        for command in block.commands:
            if command.typed.endswith(GOES_ON):
                yield f"# in a terminal of its own: {command.typed.removesuffix(GOES_ON)}"
            else:
                yield f"!{command.typed}"
                if command.long:
                    yield f"{LONG}: this takes a while"
