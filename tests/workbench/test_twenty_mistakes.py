"""The pages of twenty mistakes each say what the program says, and their mends mend."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest
from command_line import Terminal

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("twenty-mistakes.md", "path-mistakes.md")

_SECTION = re.compile(
    r"^## (?P<number>\d+)\. (?P<title>.+?)$.*?"
    r"^```toml\n(?P<wrong>.*?)^```$.*?"
    r"^```console\n\$ hil (?P<command>.*?)\n(?P<said>.*?)^```$.*?"
    r"^```toml\n(?P<mended>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Mistake(NamedTuple):
    page: str
    number: int
    title: str
    wrong: str
    command: tuple[str, ...]
    said: str
    mended: str

    @property
    def file(self) -> str:
        """The name stands in the first line."""
        return self.wrong.splitlines()[0].removeprefix("# ")


MISTAKES = [
    Mistake(page, int(m["number"]), m["title"], m["wrong"], tuple(m["command"].split()), m["said"], m["mended"])
    for page in PAGES
    for m in _SECTION.finditer((DOCS / page).read_text("utf-8"))
]


def _title(mistake: Mistake) -> str:
    return f"{mistake.page}-{mistake.number}-{mistake.title}"


@pytest.mark.parametrize("page", PAGES)
def test_there_are_twenty(page: str) -> None:
    mistakes = [mistake for mistake in MISTAKES if mistake.page == page]
    assert [mistake.number for mistake in mistakes] == list(range(1, 21))
    assert len({mistake.file for mistake in mistakes}) == 20
    text = (DOCS / page).read_text("utf-8")
    for mistake in mistakes:
        assert f"| {mistake.number} | {mistake.title} |" in text


@pytest.mark.parametrize("mistake", MISTAKES, ids=_title)
def test_a_mistake_is_answered_with_the_words_of_the_page(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / mistake.file).write_text(mistake.wrong, "utf-8")
    outcome = Terminal(tmp_path, monkeypatch, capsys).run(*mistake.command)
    assert outcome.text == mistake.said
    assert outcome.code == 1


@pytest.mark.parametrize("mistake", MISTAKES, ids=_title)
def test_the_mend_on_the_page_mends_it(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mistake.mended.splitlines()[0] == mistake.wrong.splitlines()[0]
    (tmp_path / mistake.file).write_text(mistake.mended, "utf-8")
    outcome = Terminal(tmp_path, monkeypatch, capsys).run(*mistake.command)
    assert outcome.code == 0, outcome.text


@pytest.mark.parametrize("mistake", MISTAKES, ids=_title)
def test_the_words_say_where_what_was_given_and_what_is_allowed(mistake: Mistake) -> None:
    assert mistake.file in mistake.said or re.search(r"step \d+ \(\w+\)", mistake.said)
    assert "allowed: " in mistake.said
