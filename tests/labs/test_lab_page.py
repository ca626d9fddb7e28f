"""A lab's page: what is read of it, what is refused, and how a number is found in what was printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_here import PAGE

from hil.errors import ConfigError
from hil.labs.lab_numbers import NumberPattern
from hil.labs.lab_page import BlockKind, read_lab
from hil.labs.lab_runner import run_in
from hil.labs.lab_typist import Typed

TABLE = "| X, mm | `X #` | 1.5 | 0.01 | by hand |"


class Told:
    """A typist who says what it was told to say."""

    def __init__(self, said: dict[str, Typed]) -> None:
        self.said, self.typed = said, []

    def hil(self, words: str) -> Typed:
        self.typed.append(words)
        return next(typed for key, typed in self.said.items() if words.startswith(key))

    def python(self, text: str) -> Typed:
        self.typed.append("python")
        return Typed(0, "--- here the block begins ---\n1\n")

    def begin(self, words: str) -> Typed:
        self.typed.append(f"{words} &")
        return Typed(0, "")


GOOD = {
    "hil fk": Typed(0, 'X   1.500 Y 2\n{"found": [1, 2]}'),
    "hil ik": Typed(1, "out of reach"),
    "hil run": Typed(0, "FAKE"),
}


def lab(text: str = PAGE):  # type: ignore[no-untyped-def]
    return read_lab(text, "page")


def wrong(said: dict[str, Typed], folder: Path, text: str = PAGE) -> tuple[str, ...]:
    return run_in(lab(text), folder, Told({**GOOD, **said})).wrong


def test_a_page_is_read_as_head_blocks_and_numbers() -> None:
    page = lab()
    assert (page.title, page.aim, page.head["time"]) == ("A page", "One thing.", "5 minutes")
    assert [block.kind for block in page.blocks] == [BlockKind.FILE, BlockKind.CONSOLE, BlockKind.PYTHON]
    assert [(command.code, command.long) for command in page.blocks[1].commands] == [(0, False), (1, False), (0, True)]
    assert [(number.name, number.value, number.tolerance) for number in page.numbers] == [
        ("X, mm", 1.5, 0.01),
        ("list", 2.0, 0.0),
    ]


def test_what_comes_out_as_the_page_has_it_is_good_and_files_are_there(tmp_path: Path) -> None:
    outcome = run_in(lab(), tmp_path, Told(GOOD))
    assert outcome.good and outcome.commands == 4
    assert (tmp_path / "it.toml").read_text() == '# it.toml\ntitle = "it"\n'


def test_a_short_run_leaves_out_what_is_long(tmp_path: Path) -> None:
    typist = Told(GOOD)
    assert run_in(lab(), tmp_path, typist, short=True).good
    assert typist.typed == ["hil fk lynx6 0", "hil ik lynx6 400 0 300", "python"]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"hil fk": Typed(0, 'X 1.511 Y 2\nX 1.500 Y 2\n{"found": [1, 2]}')}, "X, mm: 1.511; 1.5 within 0.01"),
        ({"hil fk": Typed(0, 'X 1.500 Y 2\n{"found": [1]}')}, "list: 1; 2 within 0 expected (by hand)"),
        ({"hil fk": Typed(0, "X 1.500 Y 2\n{}")}, "list: not found"),
        ({"hil fk": Typed(0, '{"found": [1, 2]}\nX 1.505')}, "does not print: X 1.500"),
        ({"hil fk": Typed(2, "usage")}, "ended with 2, not 0: usage"),
        ({"hil ik": Typed(0, "fine")}, "ended with 0, not 1: fine"),
        ({"hil run": Typed(0, "Traceback (most recent call last)\nKeyError: 1")}, "a traceback: KeyError: 1"),
    ],
)
def test_what_comes_out_otherwise_is_said_with_the_page_s_line(
    said: dict[str, Typed], words: str, tmp_path: Path
) -> None:
    found = wrong(said, tmp_path)
    assert any(words in line and line.startswith("line ") for line in found)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# A page", "A page", "a heading"),
        ("## Aim", "## Goal", "all of Aim, Theory, Steps, Questions"),
        ("| time |", "| when |", "rows time, arm, paper"),
        ("print(1)\n```", "print(1)", "a block that ends"),
        ("$ hil fk", "hil fk", "a command behind"),
        ("$ hil fk lynx6 0", "$ rm -rf lynx6", "a command of hil"),
        ("# long", "# slow", "# long, or nothing"),
        (TABLE, TABLE.replace("1.5", "about 1"), "a number, its unit beside its name"),
        (TABLE, TABLE.replace("0.01", "-1"), "0 or more"),
        (TABLE, TABLE.replace("0.01", "nan"), "0 or more"),
        (TABLE, TABLE.replace("by hand", ""), "a number with its name and its source"),
        (TABLE, TABLE.replace("`X #`", "X"), "backquotes"),
        (TABLE, TABLE.replace("X #", "X"), "words with one # for the number"),
        (TABLE, TABLE.replace(" | by hand", ""), "5 cells"),
    ],
)
def test_a_page_that_cannot_be_run_is_refused_with_what_is_allowed(old: str, new: str, words: str) -> None:
    assert old in PAGE
    with pytest.raises(ConfigError) as refused:
        lab(PAGE.replace(old, new, 1))
    assert words in str(refused.value)


def test_numbers_behind_nothing_that_prints_are_refused() -> None:
    head, _, rest = PAGE.partition("```console")
    with pytest.raises(ConfigError, match="behind a command"):
        lab(head + rest[rest.index("| number |") :])


@given(st.floats(-1e6, 1e6), st.sampled_from(["X ", "tool at\n  X   ", "(X\t"]))
def test_a_number_is_found_behind_its_words_whatever_the_blanks(value: float, before: str) -> None:
    assert NumberPattern("X # mm", "test").find(f"{before}{value!r} mm") == value


@given(st.integers(0, 10**9))
def test_a_number_in_groups_of_three_is_one(value: int) -> None:
    assert NumberPattern("# points", "test").find(f"{value:,} points".replace(",", " ")) == value


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_a_path_leads_into_json_behind_other_words(values: list[float]) -> None:
    printed = f'a line\n{{"a": {{"b": {values!r}}}}}\nanother'
    assert NumberPattern(".a.b[-1]", "test").find(printed) == values[-1]
    assert NumberPattern(".a.b", "test").find(printed) == len(values)
    assert NumberPattern(".a.c", "test").find(printed) is None


def test_dots_stand_for_anything_and_the_first_place_counts() -> None:
    pattern = NumberPattern("grip ... z #", "test")
    assert pattern.find("grip x 1 y 2 z -3.5\ngrip z 9") == -3.5
