"""Every command that a page shows is one that this version takes; scripts/pages types them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from script_module import load_script

from hil.cli.app import app

ROOT = Path(__file__).parents[2]


pages = load_script("pages")
LINES = [line for page in pages.pages() for line in pages.lines_of(page)]
HIL: Any = typer.main.get_command(app)


def test_the_pages_show_commands() -> None:
    assert len(LINES) > 120
    assert len({line.page for line in LINES}) > 15


@pytest.mark.parametrize("line", LINES, ids=[f"{line.page}: {line.command}" for line in LINES])
def test_it_is_a_command_with_options_that_there_are(line: Any) -> None:
    words = shlex.split(next(part for part in line.command.split(" | ") if part.startswith("hil ")))[1:]
    command = HIL
    assert words[0] in command.commands
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    taking = [command]
    if "arms" in getattr(command, "commands", {}):  # what `hil serve` does without a word behind it
        taking.append(command.commands["arms"])
    parameters = [parameter for one in taking for parameter in one.params]
    known = {"--help"} | {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in known]
    assert not unknown, f"{' '.join(unknown)}: not of {line.command}"


def test_a_page_with_a_command_that_is_gone_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```\nhil run lynx6 wave --gone    # streamed\nhil jog lynx6\n```\n", encoding="utf-8")
    first, second = pages.lines_of(page)
    assert (first.command, second.command) == ("hil run lynx6 wave --gone", "hil jog lynx6")


@pytest.mark.parametrize(
    ("code", "printed", "wrong"),
    [
        (0, "fine", ""),
        (1, "no", "ended with 1"),
        (0, "Traceback (most recent call last)", "a traceback"),
        (2, "no", "2"),
    ],
)
def test_what_came_of_a_command_is_judged(code: int, printed: str, wrong: str) -> None:
    line = pages.Line("page.md", "hil robots")
    assert pages._wrong(line, "hil robots", code, printed, lasting=False).startswith(wrong) or wrong in pages._wrong(
        line, "hil robots", code, printed, lasting=False
    )
