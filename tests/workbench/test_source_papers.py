"""The page of the source papers: every row is there, and every test and command that it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from hil.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "source-papers.md"
LAST = {"S1": 25, "S2": 15, "S3": 21, "S4": 19, "S5": 10}
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if re.match(r"\| S\d-\d\d ", line)
]


def test_every_row_is_there_once_and_in_its_order() -> None:
    """None of them is passed over in silence."""
    wanted = [f"{paper}-{number:02d}" for paper, last in LAST.items() for number in range(1, last + 1)]
    assert [row[0] for row in ROWS] == wanted


def require_tests(shown: str) -> None:
    """Each test that is named is there."""
    named = re.findall(r"`([^`]+)`", shown)
    assert named
    for each in named:
        file, _, test = each.partition("::")
        assert re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), each


def test_each_axis_of_the_comparison_has_a_test() -> None:
    """S3-20: the nine of its Table 1."""
    table = PAGE.read_text(encoding="utf-8").partition("## Axes of comparison")[2]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if "::" in line]
    assert [axis for axis, _, _ in rows] == [
        "language", "view", "interactive", "input", "degrees of freedom", "workspaces", "analytic paths", "dynamics",
        "remote",
    ]  # fmt: skip
    for _, _, shown in rows:
        require_tests(shown)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_tests_of_a_row_exist_or_it_is_open_with_a_reason(row: list[str]) -> None:
    """A test that was given another name is found missing here."""
    assert len(row) == 4
    _, _, how, shown = row
    if how == "open":
        assert len(shown) > 40
        return
    require_tests(shown)


SEEN = {
    "S1": (3, 4, 5, 22),
    "S2": (1, 2, 3, *range(5, 13)),
    "S3": tuple(range(1, 20)),
    "S4": (16, 17),
    "S5": tuple(range(1, 11)),
}
"""Rows that are shown in a window; S2-04 is words, S3-20 a table of the page."""


@pytest.mark.parametrize("row", [f"{paper}-{number:02d}" for paper, numbers in SEEN.items() for number in numbers])
def test_what_a_window_shows_is_seen_in_a_picture(row: str) -> None:
    (what,) = [cells[1] for cells in ROWS if cells[0] == row]
    found = re.fullmatch(r"\[.+\]\((screens/[a-z0-9-]+\.png)\)", what)
    assert found, f"{row} has no picture"
    assert (PAGE.parent / found[1]).is_file()


def test_the_commands_of_the_rows_are_commands_with_these_options() -> None:
    """Names that stand for a file are written in capitals."""
    group = typer.main.get_command(app)
    for row in ROWS:
        for command in re.findall(r"`(hil [^`]*)`", row[2]):
            _, name, *words = shlex.split(command)
            context = typer.Context(group)
            found = group.get_command(context, name)  # type: ignore[attr-defined]
            assert found is not None, command
            known = {option for parameter in found.params for option in parameter.opts}
            given = {word for word in words if re.match(r"--?[a-z]", word)}
            assert given <= known, (command, given - known)
