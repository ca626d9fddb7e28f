"""The first hour of a lab owner goes as its page says, and the transcript is of the page."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Terminal
from recorded import run_to_end, write_journal
from script_module import load_script

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("first-hour-student.md", "first-hour-lab-owner.md", "first-hour-test-author.md", "first-hour-lessons.md")


first_hour = load_script("first_hour")
TRIES = 3
STOOD_STILL = re.compile(r"stop: no tick for \d+ ms")
"""So a loop says that it had no core: what the page shows after it is not to be seen, and says nothing of the page."""
STEPS = list(first_hour.read_page((DOCS / "first-hour-lab-owner.md").read_text("utf-8")))
COMMANDS = [step.command for step in STEPS if isinstance(step, first_hour.Typed)]


def test_the_page_leads_from_the_kit_to_the_export() -> None:
    words = [command.split(" | ")[-1].split()[1:3] for command in COMMANDS]
    assert list(dict.fromkeys(word for word, *_ in words)) == [
        "doctor", "ports", "new", "check", "calibrate", "jog", "preview", "run", "plot", "journal",
    ]  # fmt: skip


@pytest.mark.parametrize("page", ["first-hour-student.md", "first-hour-lab-owner.md", "first-hour-lessons.md"])
def test_the_page_goes_as_it_says_without_the_parts_that_need_real_time(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "first hour"
    folder.mkdir()
    terminal = Terminal(folder, monkeypatch, capsys)
    monkeypatch.setenv("COLUMNS", "80")
    operator = first_hour.Operator()
    asked: list[str] = []

    def person(prompt: str = "") -> str:
        new = capsys.readouterr().out + prompt
        answer: str = operator.answer(new)
        asked.append(f"{new}{answer}\n")
        return answer

    monkeypatch.setattr("builtins.input", person)
    for step in first_hour.read_page((DOCS / page).read_text("utf-8")):
        if isinstance(step, first_hour.File):
            (folder / step.name).write_text(step.text, "utf-8")
        elif " run " in step.command:
            write_journal(run_to_end(), folder / step.command.split()[-1])
        elif not {"jog", "learn"} & set(shlex.split(step.command)):
            asked.clear()
            outcome = terminal.run(*shlex.split(step.command)[1:])
            if step.command in OF_THE_COMPUTER:
                continue
            assert outcome.code == step.code, outcome.text
            missing = step.missing(outcome.err + "".join(asked) + outcome.out)
            assert missing is None, f"{step.command}: {missing}"
            assert max(map(len, tables(outcome.out)), default=0) <= 80


OF_THE_COMPUTER = ("hil doctor", "hil ports")
"""What these say depends on where they run."""


def tables(printed: str) -> list[str]:
    """The lines of tables, which begin with a blank."""
    return [line for line in printed.splitlines() if line.startswith(" ") and not line.startswith("  ")]


def test_the_test_authors_tests_pass(tmp_path: Path) -> None:
    student, author = ((DOCS / page).read_text("utf-8") for page in (PAGES[0], PAGES[2]))
    (lift,) = (step for step in first_hour.read_page(student) if isinstance(step, first_hour.File))
    (tmp_path / lift.name).write_text(lift.text, "utf-8")
    tests = re.search(r"^```python\n(.*?)^```$", author, re.MULTILINE | re.DOTALL)
    assert tests is not None
    (tmp_path / "test_lift.py").write_text(tests[1], "utf-8")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=tmp_path, capture_output=True, text=True)
    assert "3 passed" in done.stdout, done.stdout


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="the page's pipe is a shell's")
def test_jog_run_and_replay_go_as_the_page_says_in_real_time(tmp_path: Path) -> None:
    needed = ("hil new", "printf", "hil run", "hil journal verify", "hil journal replay")
    steps = [step for step in STEPS if isinstance(step, first_hour.File) or step.command.startswith(needed)]
    for number in range(TRIES):
        folder = tmp_path / f"first hour {number}"
        folder.mkdir()
        try:
            assert "the same " in "\n".join(first_hour.walk(folder, steps))
            return
        except SystemExit as wrong:
            if not STOOD_STILL.search(str(wrong)):
                raise
    pytest.fail(f"the computer stood still in {TRIES} of {TRIES} walks")


def test_the_transcript_is_of_this_page() -> None:
    text = (DOCS / "first-hour-transcript.md").read_text("utf-8")
    assert _commands(text) == COMMANDS
    for step in STEPS:
        if isinstance(step, first_hour.File):
            assert step.text in text
    minutes = re.search(r"That is (\d+) minutes", text)
    assert minutes is not None and int(minutes[1]) < 15


def _commands(text: str) -> list[str]:
    return re.findall(r"^\$ (.*)$", text, re.MULTILINE)


def _mentions(text: str) -> Iterator[list[str]]:
    """Every `hil` command that a page shows, in a block or in a sentence."""
    blocks = re.findall(r"^(?:\$ )?(?:printf .* \| )?(hil [a-z].*?)(?: {2,}#.*)?$", text, re.MULTILINE)
    for command in [*blocks, *re.findall(r"`(hil [a-z][^`]*)`", text)]:
        yield command.split()


@pytest.mark.parametrize("page", [*PAGES, "README.md"])
def test_every_command_that_a_page_names_exists(page: str) -> None:
    import typer.main

    from hil.cli.app import app

    group = typer.main.get_command(app)
    for words in _mentions((DOCS / page).read_text("utf-8")):
        command = group
        for word in words[1:]:
            commands = getattr(command, "commands", None)
            if commands is None:
                break
            assert word in commands, f"{page}: {' '.join(words)}"
            command = commands[word]
        options = {option for parameter in command.params for option in parameter.opts}
        for word in words:
            if word.startswith("--"):
                assert word in options | {"--help"}, f"{page}: {' '.join(words)}"


def test_every_page_is_in_the_index_and_every_link_leads_somewhere() -> None:
    index = (DOCS / "README.md").read_text("utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page.name
    for page in (*PAGES, "README.md"):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", (DOCS / page).read_text("utf-8")):
            assert (DOCS / target).exists(), f"{page}: {target}"
