"""Every lab that comes with the program, in its short form: what its page says comes out."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_here import HereTypist, empty

from hil.labs.lab_page import SECTIONS, BlockKind, Lab, read_lab
from hil.labs.lab_runner import run_in
from hil.labs.pack import lab_names, load_lab, pack_folder

LABS = lab_names()
THEMES = (
    "frames", "forward", "solutions", "workspace", "table-two", "curves", "word", "pick-and-place", "dynamics",
    "tuning", "derive", "melfa", "timing", "remote-lab",
)  # fmt: skip


@pytest.fixture
def typist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HereTypist:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(empty(tmp_path))
    return HereTypist()


@pytest.mark.parametrize("name", LABS)
def test_a_lab_comes_out_as_its_page_has_it(name: str, typist: HereTypist) -> None:
    outcome = run_in(load_lab(name), Path.cwd(), typist, short=True)
    assert outcome.wrong == ()
    assert outcome.commands > 0


def test_there_is_a_lab_for_each_theme_of_the_papers() -> None:
    assert [name.partition("-")[2] for name in LABS] == list(THEMES)
    assert [name.partition("-")[0] for name in LABS] == [f"{k:02}" for k in range(1, len(THEMES) + 1)]


@pytest.mark.parametrize("name", LABS)
def test_a_lab_says_how_long_what_is_misprinted_and_where_each_number_is_from(name: str) -> None:
    lab = load_lab(name)
    assert lab.head["time"].endswith("minutes")
    assert lab.aim.endswith(".")
    assert "**As printed.**" in lab.text
    assert lab.numbers
    first = [block.numbers[0].source for block in lab.blocks if block.numbers]
    assert not any(source.startswith("the same") for source in first)


@pytest.mark.parametrize("name", LABS)
def test_what_a_student_is_asked_to_type_stands_in_blocks_that_are_run(name: str) -> None:
    lab = load_lab(name)
    assert all(f"\n## {section}\n" in lab.text for section in SECTIONS)
    assert sum(block.kind is BlockKind.CONSOLE for block in lab.blocks)
    fenced = lab.text.count("\n```") // 2
    assert fenced == len(lab.blocks)


def test_each_number_that_is_changed_fails_and_names_its_line(typist: HereTypist) -> None:
    name = "05-table-two"
    text = (pack_folder() / f"{name}.md").read_text("utf-8")
    changed = text.replace("| 804.875 |", "| 804.876 |")
    assert changed != text
    (Path.cwd() / "x").mkdir()
    outcome = run_in(_only(read_lab(changed, name), "1000 --digits 4"), Path.cwd(), typist)
    line = next(k for k, row in enumerate(changed.splitlines(), 1) if "| 804.876 |" in row)
    assert len(outcome.wrong) == 1
    assert outcome.wrong[0].startswith(f"line {line}: Z, mm: 804.875; 804.876 within 0.0005 expected (VRM paper")


def _only(lab: Lab, words: str) -> Lab:
    """The lab with the block alone in which these words are typed."""
    blocks = tuple(block for block in lab.blocks if words in block.text)
    return Lab(lab.name, lab.title, lab.head, lab.aim, lab.text, blocks)


@pytest.mark.parametrize("given", ["05", "5", "table-two", "05-table-two"])
def test_a_lab_is_found_by_number_and_by_name(given: str) -> None:
    assert load_lab(given).name == "05-table-two"


def test_a_name_that_is_none_is_answered_with_the_nearest() -> None:
    with pytest.raises(Exception, match="Did you mean 09-dynamics"):
        load_lab("dynamic")


def test_the_index_lists_every_lab() -> None:
    index = (pack_folder() / "README.md").read_text("utf-8")
    assert all(f"({name}.md)" in index for name in LABS)
