"""hil labs and hil line as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Terminal

from hil.labs import lab_runner
from hil.labs.lab_runner import LabOutcome, Measured
from hil.labs.pack import load_lab

TABLE_TWO = ("vrm-kukakr5", "0", "90", "0", "0", "90", "0", "--by", "-200,200,-200,-90,0,90")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("COLUMNS", "200")
    return Terminal(tmp_path, monkeypatch, capsys)


def came_out(monkeypatch: pytest.MonkeyPatch, *, wrong: tuple[str, ...] = (), away: float = 0.0) -> None:
    """Have the runner say this of any lab."""

    def run_lab(lab, say, *, short):  # type: ignore[no-untyped-def]
        measured = tuple(Measured(number, number.value + away) for number in lab.numbers)
        return LabOutcome(lab.name, measured, 3, 0, wrong)

    monkeypatch.setattr(lab_runner, "run_lab", run_lab)


def test_labs_are_listed_with_their_time(terminal: Terminal) -> None:
    listed = terminal.run("labs", "list")
    assert listed.code == 0 and "05-table-two" in listed.out and "45 minutes" in listed.out
    every = json.loads(terminal.run("labs", "list", "--json").out)
    assert len(every) == 14 and all(lab["numbers"] > 0 for lab in every)


def test_a_lab_is_shown_as_its_page(terminal: Terminal) -> None:
    assert terminal.run("labs", "show", "5").out == load_lab("table-two").text
    unknown = terminal.run("labs", "show", "table-three")
    assert unknown.code == 1 and "Did you mean 05-table-two?" in unknown.err


def test_a_run_tells_each_number_and_ends_with_one_if_one_is_wrong(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    came_out(monkeypatch)
    good = terminal.run("labs", "run", "5")
    assert good.code == 0 and "599.714065" in good.out and "WRONG" not in good.out
    came_out(monkeypatch, wrong=("line 3: X: 5",), away=1.0)
    bad = terminal.run("labs", "run", "5", "--json")
    told = json.loads(bad.out)
    assert bad.code == 1 and bad.err == "05-table-two: line 3: X: 5\n"
    assert not any(number["holds"] for number in told["numbers"]) and told["wrong"] == ["line 3: X: 5"]


def test_a_page_of_ones_own_is_a_lab(terminal: Terminal) -> None:
    (terminal.folder / "mine.md").write_text("no heading\n")
    refused = terminal.run("labs", "run", "mine.md")
    assert refused.code == 1 and "a heading, # and the lab's title" in refused.err
    assert terminal.run("labs", "run", "gone.md").code == 1


def test_a_line_tells_goal_reached_and_error(terminal: Terminal) -> None:
    told = terminal.run("line", *TABLE_TWO, "--steps", "500", "--digits", "4")
    assert told.code == 0
    rows = {line.split(",")[0].strip(): line.split()[2:] for line in told.out.splitlines() if "," in line[:4]}
    assert rows["X"] == ["600.000", "599.696", "-0.304"] and rows["C"] == ["90.000", "90.207", "+0.207"]
    assert "joints at the end: 22." in told.out


def test_a_line_is_as_in_python_and_looks_back_if_wanted(terminal: Terminal) -> None:
    went = json.loads(terminal.run("line", *TABLE_TWO, "--steps", "50", "--closed-loop", "--json").out)
    assert len(went["q"]) == 51 and max(map(abs, went["error_mm"])) < 1e-6


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lynx6", "0", "90", "0", "0", "0", "--by", "1,0,0,0,0,0"), "needs six axes"),
        (("vrm-kukakr5", "0", "90", "--by", "1,0,0,0,0,0"), "vrm-kukakr5"),
        ((*TABLE_TWO[:7], "--by", "1,2"), "six finite numbers"),
        ((*TABLE_TWO, "--steps", "0"), "steps"),
        ((*TABLE_TWO, "--digits", "4", "--closed-loop"), "digits"),
    ],
)
def test_what_no_line_can_be_is_refused_in_a_line(terminal: Terminal, words: tuple[str, ...], said: str) -> None:
    refused = terminal.run("line", *words)
    assert refused.code == 1 and said in refused.err and refused.err.count("\n") == 1
