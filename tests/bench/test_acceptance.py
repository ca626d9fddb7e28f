"""The acceptance hour on the fakes: steps, judges, the archive, and the fake that is made of it."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import pytest
from command_line import Terminal

from hil.bench.acceptance import PARTS, Facts, Result, judge_seconds, judge_volts
from hil.bench.acceptance_archive import Archive, profile_of, read
from hil.bench.acceptance_talk import Exchange, Talk
from hil.errors import CommandError
from hil.runtime import wiring

YES = {"1": "yes", "2": "5.9 7.4", "7": "yes", "8": "yes", "9": "yes", "10": "yes", "11": "0.4", "12": "yes"}
YES |= {"13": "0.5", "14": "yes", "15": "yes", "C2": "yes", "C3": "yes", "C5": "yes", "C6": "yes"}
BAND_S = 0.003
"""How far the times of the fake made of an archive may be from those in it: a look at the port more or less."""


@pytest.fixture
def terminal(tmp_path, monkeypatch, capsys) -> Terminal:
    made = Terminal(tmp_path, monkeypatch, capsys)
    lines = "\n".join(f'{step} = "{answer}"' for step, answer in YES.items())
    (tmp_path / "answers.toml").write_text(lines, encoding="utf-8")
    return made


def accepted(terminal: Terminal, rig: str, *more: str, code: int = 0) -> Archive:
    outcome = terminal.run("accept", rig, "--answers", "answers.toml", *more)
    assert outcome.code == code, outcome.text
    return read(terminal.folder / f"{rig}-acceptance.zip")


def results(archive: Archive) -> dict[str, Result]:
    return {each.step.id: each.verdict.result for each in archive.outcomes}


@pytest.mark.parametrize(("rig", "kind"), [("lynx6", "ssc32"), ("rv2aj", "rv2aj")])
def test_the_hour_ends_with_an_archive_in_which_every_step_has_passed(terminal: Terminal, rig: str, kind: str) -> None:
    archive = accepted(terminal, rig)
    assert set(results(archive)) == {part.step.id for part in PARTS[kind]}
    assert set(results(archive).values()) == {Result.PASSED}
    with zipfile.ZipFile(terminal.folder / f"{rig}-acceptance.zip") as box:
        names = set(box.namelist())
        said = box.read("transcript.txt").decode()
        times = box.read("reply-times.csv").decode().splitlines()
    assert names >= {"acceptance.json", "steps.txt", "transcript.txt", "reply-times.csv", "profile.toml"}
    assert f"files/{rig}.toml" in names
    assert ("> VER\n" if kind == "ssc32" else "> 1;1;OPEN=HIL\n") in said
    assert times[0] == "question,from_ms,answers"
    assert sum(int(row.split(",")[-1]) for row in times[1:]) == sum(each.first_s is not None for each in archive.talk)


ALIKE = [
    ("lynx6", []),
    ("lynx6", ["firmware=1.x", "version=SSC32-1.03XE"]),
    ("lynx6", ["firmware=u", "untouched=middle", 'version="SSC32-V2.50USB "']),
    ("lynx6", ["registers.0=2", "registers.1=5000", "registers.2=500", "registers.33=-40"]),
    ("lynx6", ["registers.0=8", "registers.64=1730"]),
    ("lynx6", ["lacks=R"]),
    ("rv2aj", []),
    ("rv2aj", ["axes=3F;3F", "decimals=3", "error_digits=4", "answer_s=0.08", "version=Ver.K4a"]),
    ("rv2aj", ["end_code=crlf", "clients=NARCUSR", "key=auto_op", "override=30"]),
    ("rv2aj", ["others_answered=false", "clients=TOOLBOX", "shows_key=false", "must_open=true"]),
]


@pytest.mark.parametrize(("name", "choices"), ALIKE)
def test_the_fake_that_is_made_of_an_archive_answers_alike(terminal: Terminal, name: str, choices: list[str]) -> None:
    sets = [word for choice in choices for word in ("--set", choice)]
    outcome = terminal.run("accept", name, "--answers", "answers.toml", *sets)
    assert outcome.code in (0, 1), outcome.text
    archive = read(terminal.folder / f"{name}-acceptance.zip")
    made = terminal.run("accept", "--from", f"{name}-acceptance.zip", "-o", "made.toml")
    assert made.code == 0
    rig = wiring.load_rig(name)
    open_port, clock = wiring.raw_line(rig, None, wiring.fake_choices(rig, "made.toml"))
    again = Talk(rig.controller.kind, open_port(), clock)
    for before in archive.talk:
        count = None if re.fullmatch(r"1;1;.*|VER|R\d+", before.question) else 1
        now = again.ask(before.question, count=count, within_s=1.0 if name == "rv2aj" else 0.3)
        assert now.answer == before.answer, before.question
        if before.took_s is not None and now.took_s is not None:
            assert now.took_s == pytest.approx(before.took_s, abs=BAND_S), before.question
        again.pause(0.1 if name == "rv2aj" else 0.0)


@pytest.mark.parametrize(
    ("choice", "step", "number", "remedy"),
    [
        ("registers.0=8", "5", "R0 = 8: at power-up the board drives every servo", "type R0=0 and the Enter key"),
        ("registers.0=5", "5", "runs its startup string and adds offsets", "type R0=0"),
        (
            "untouched=middle",
            "4",
            "32 of 32 channels are not silent, QP0 answers 150",
            "stop here and send the archive",
        ),
        ("untouched=garbage", "4", "channels are not silent", "stop here"),
        ("baud=9600", "3", "nothing answered", "hil ports --ask"),
    ],
)
def test_a_board_that_differs_fails_a_step_that_says_what_to_do(
    terminal: Terminal, choice: str, step: str, number: str, remedy: str
) -> None:
    archive = accepted(terminal, "lynx6", "--set", choice, code=1)
    outcome = next(each for each in archive.outcomes if each.step.id == step)
    assert outcome.verdict.result is Result.FAILED
    assert number in outcome.verdict.number and remedy in outcome.verdict.remedy


def test_a_robot_of_another_name_fails(terminal: Terminal) -> None:
    archive = accepted(terminal, "rv2aj", "--set", "face=six", code=1)
    assert results(archive)["C1"] is Result.FAILED


def test_it_can_be_broken_off_and_goes_on_where_it_was(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["yes", "5.9 7.4", ""])

    def person(prompt: str) -> str:
        try:
            return next(said)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", person)
    first = terminal.run("accept", "lynx6")
    assert "broken off; the same command goes on from here" in first.out
    before = read(terminal.folder / "lynx6-acceptance.zip")
    assert list(results(before).values()).count(Result.PASSED) == 6
    archive = accepted(terminal, "lynx6")
    assert set(results(archive).values()) == {Result.PASSED}
    assert archive.talk == before.talk, "what had passed was not asked again"


def test_what_has_failed_is_asked_anew_and_judged_by_what_is_said_then(terminal: Terminal) -> None:
    first = accepted(terminal, "lynx6", "--set", "untouched=middle", "--set", "registers.0=8", code=1)
    assert {step for step, result in results(first).items() if result is Result.FAILED} == {"4", "5"}
    again = accepted(terminal, "lynx6")
    assert set(results(again).values()) == {Result.PASSED}
    assert len(again.talk) == len(first.talk)


def test_an_archive_of_another_rig_is_not_written_over(terminal: Terminal) -> None:
    accepted(terminal, "lynx6")
    outcome = terminal.run("accept", "rv2aj", "--answers", "answers.toml", "-o", "lynx6-acceptance.zip")
    assert outcome.code == 2 and "is of another acceptance" in outcome.err


@pytest.mark.parametrize("text", ["#0P1500", "STOP0", "R0=0", "GOBOOT", "VER\r#0P1500", "SSCAT x", "QP0QP1"])
def test_nothing_but_questions_leaves_for_a_board(text: str) -> None:
    written: list[bytes] = []

    class Port:
        name = "none"

        def read(self, now_s: float) -> bytes:
            return b""

        def write(self, data: bytes, now_s: float) -> None:
            written.append(data)

    rig = wiring.load_rig("lynx6")
    talk = Talk("ssc32", Port(), wiring.raw_line(rig, None)[1])  # type: ignore[arg-type]
    with pytest.raises(CommandError, match="not among the questions"):
        talk.ask(text)
    assert not written


@pytest.mark.parametrize("text", ["1;1;SRVON", "1;1;CNTLON", "1;1;EXECMOV P1", "1;1;PRM=CBAU232;9600", "1;1;RUN"])
def test_nothing_but_questions_leaves_for_a_cr1(text: str) -> None:
    rig = wiring.load_rig("rv2aj")
    open_port, clock = wiring.raw_line(rig, None)
    with pytest.raises(CommandError, match="not among the questions"):
        Talk("rv2aj", open_port(), clock).ask(text)


FACTS = Facts(channels=(), talk=(), answers={})


@pytest.mark.parametrize(
    ("answer", "result"),
    [("4.8 6", Result.PASSED), ("6,0 9,0", Result.PASSED), ("6.1 7", Result.FAILED), ("5 5.9", Result.FAILED)],
)
def test_volts_are_held_against_the_manual(answer: str, result: Result) -> None:
    assert judge_volts(FACTS, answer).result is result


def test_one_number_of_volts_is_not_judged() -> None:
    assert judge_volts(FACTS, "6").result is Result.NOT_JUDGED


@pytest.mark.parametrize(
    ("answer", "result"), [("0.5", Result.PASSED), ("0,51 s", Result.FAILED), ("soon", Result.NOT_JUDGED)]
)
def test_seconds_are_held_against_what_is_promised(answer: str, result: Result) -> None:
    assert judge_seconds(0.5)(FACTS, answer).result is result


def test_the_page_names_every_step() -> None:
    page = (Path(__file__).parents[2] / "docs" / "accept.md").read_text(encoding="utf-8")
    for parts in PARTS.values():
        for part in parts:
            assert f"| {part.step.id} | {part.step.title} |" in page


def test_a_profile_says_nothing_of_what_was_not_asked() -> None:
    archive = Archive(kind="ssc32", rig="lynx6", fake=True, software={}, baud=9600, framing="8N1")
    assert tomllib.loads(profile_of(archive))["choices"] == {}
    said = Exchange(question="VER", answer="SSC32-V2.50USB\r", asked_s=0.0, first_s=0.01, last_s=0.02)
    archive = Archive(kind="ssc32", rig="lynx6", fake=True, software={}, baud=9600, framing="8N1", talk=(said,))
    choices = tomllib.loads(profile_of(archive))["choices"]
    assert (choices["firmware"], choices["version"], choices["baud"]) == ("u", "SSC32-V2.50USB", 9600)
