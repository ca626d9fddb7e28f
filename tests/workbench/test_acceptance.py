"""The acceptance hour on the fakes: steps, judges, the archive, and the fake that is made of it."""

from __future__ import annotations

import tomllib
import zipfile
from pathlib import Path

import pytest
from command_line import Terminal

from hil.cli import _accept_runs, accept
from hil.errors import CommandError
from hil.model.files import state_dir
from hil.runtime import port_wiring, wiring
from hil.runtime.lock import RigLock
from hil.workbench.acceptance import PARTS, Facts, Result, judge_volts
from hil.workbench.acceptance_archive import Archive, profile_of, read
from hil.workbench.acceptance_runs import Measured, Run, Way
from hil.workbench.acceptance_talk import Exchange, Talk

CLEAR = {"clear": "yes"}
YES = {"1": "yes", "2": "5.9 7.4", "7": "yes", "8": "yes", "10": "yes", "11": "yes", "12": "yes"}
YES |= {"13": "yes", "14": "yes", "15": "yes", "C3": "yes", "C4": "yes", "C5": "yes", "C5a": "yes", "C6": "yes"}


@pytest.fixture
def terminal(tmp_path, monkeypatch, capsys) -> Terminal:
    """In its folder a file of answers. What would be run in real time is only noted: `tests/processes` runs it."""
    made = Terminal(tmp_path, monkeypatch, capsys)
    tell(made, {**YES, **CLEAR})
    monkeypatch.setattr(_accept_runs.Stage, "carry_out", well_done)
    return made


def tell(terminal: Terminal, answers: dict[str, str]) -> None:
    lines = "\n".join(f'{step} = "{answer}"' for step, answer in answers.items())
    (terminal.folder / "answers.toml").write_text(lines, encoding="utf-8")


def well_done(stage: _accept_runs.Stage, step: str, run: Run) -> Measured:
    """The numbers of a run in which everything was as it should be, and its journal."""
    journal = Path(f"{step}{run.name}.mcap")
    journal.write_bytes(b"a journal")
    stage.journals.append(journal)
    fault = "named" if run.deed.fault or run.deed.do.startswith("press STOP") else ""
    return Measured(
        step=step,
        run=run.name,
        journal="" if run.way is Way.COMMAND else journal.name,
        verified="complete",
        complete=True,
        mode="idle",
        samples=100,
        fault=fault,
        stop_to_rest_s=0.3,
        rest_time_s=0.3,
        good_to_fault_s=0.05,
        deed_to_fault_s=0.2,
        limp=6,
        axes=6,
        travel_deg=2.0,
    )


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
    runs = [f"files/{each.journal}" for each in archive.runs if each.journal]
    assert runs and names >= set(runs), "the journals are there without being asked for"
    assert ("> VER\n" if kind == "ssc32" else "> 1;1;OPEN=HIL\n") in said
    assert times[0] == "question,from_ms,answers"
    assert sum(int(row.split(",")[-1]) for row in times[1:]) == sum(each.first_s is not None for each in archive.talk)


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


@pytest.mark.parametrize(("after", "leaving"), list(enumerate([EOFError, KeyboardInterrupt] * 6)))
def test_it_can_be_broken_off_at_any_question_and_goes_on_where_it_was(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, after: int, leaving: type[BaseException]
) -> None:
    said = iter(["yes", "5.9 7.4", "", "yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes"][:after])

    def person(prompt: str) -> str:
        try:
            return next(said)
        except StopIteration:
            raise leaving from None

    monkeypatch.setattr("builtins.input", person)
    first = terminal.run("accept", "lynx6")
    assert "broken off; the same command goes on from here" in first.out
    assert first.code == (130 if leaving is KeyboardInterrupt else 0)
    before = read(terminal.folder / "lynx6-acceptance.zip")
    passed = [step for step, result in results(before).items() if result is Result.PASSED]
    # Steps 4 to 6 ask nobody, and 9 has no question.
    assert len(passed) == [0, 1, 2, 6, 7, 7, 9, 9, 10, 10, 11, 11][after]
    assert [each.step for each in before.runs if each.step not in passed] == {
        5: ["8"],
        7: ["10"],
        9: ["11"],
        11: ["12"],
    }.get(after, [])
    archive = accepted(terminal, "lynx6")
    assert set(results(archive).values()) == {Result.PASSED}
    talked = {each.step for each in before.talk}
    kept = [each for each in archive.talk if each.step in talked]
    assert kept == list(before.talk), "what had passed was not asked again"
    assert [each.step for each in archive.runs] == ["8", "9", "10", "11", "12", "13", "14", "15"], "nor run"


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
    talk = Talk("ssc32", Port(), port_wiring.raw_line(rig, None)[1])  # type: ignore[arg-type]
    with pytest.raises(CommandError, match="not among the questions"):
        talk.ask(text)
    assert not written


@pytest.mark.parametrize("text", ["1;1;SRVON", "1;1;CNTLON", "1;1;EXECMOV P1", "1;1;PRM=CBAU232;9600", "1;1;RUN"])
def test_nothing_but_questions_leaves_for_a_cr1(text: str) -> None:
    rig = wiring.load_rig("rv2aj")
    open_port, clock = port_wiring.raw_line(rig, None)
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


def test_the_page_says_of_every_step_what_the_program_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "accept.md").read_text(encoding="utf-8")
    for parts in PARTS.values():
        for part in parts:
            step = part.step
            asks = " ".join(filter(None, (step.do, step.ask))) or "nothing: it asks the controller"
            moves = " **The arm moves.**" if step.moves else ""
            assert f"| {step.id} | {step.title} | {asks}{moves} | {step.expect} |" in page


def test_a_profile_says_nothing_of_what_was_not_asked() -> None:
    archive = Archive(kind="ssc32", rig="lynx6", fake=True, software={}, baud=9600, framing="8N1")
    assert tomllib.loads(profile_of(archive))["choices"] == {}
    said = Exchange(question="VER", answer="SSC32-V2.50USB\r", asked_s=0.0, first_s=0.01, last_s=0.02)
    archive = Archive(kind="ssc32", rig="lynx6", fake=True, software={}, baud=9600, framing="8N1", talk=(said,))
    choices = tomllib.loads(profile_of(archive))["choices"]
    assert (choices["firmware"], choices["version"], choices["baud"]) == ("u", "SSC32-V2.50USB", 9600)


# -- before the arm moves ------------------------------------------------------------------------------------------


def test_nothing_moves_where_nobody_says_that_hands_are_clear(terminal: Terminal) -> None:
    tell(terminal, YES)
    archive = accepted(terminal, "lynx6")
    moving = {part.step.id for part in PARTS["ssc32"] if part.step.moves}
    assert moving == {"8", "10", "11", "12", "13", "15"}
    assert {step for step, result in results(archive).items() if result is Result.NOT_JUDGED} == moving
    assert not moving & {each.step for each in archive.runs}


@pytest.mark.parametrize(("rig", "steps"), [("lynx6", "8 10 11 12 13 15"), ("rv2aj", "C3 C4 C4 C4 C5 C5 C5 C5a")])
def test_before_each_run_that_moves_the_arm_it_asks_whether_hands_are_clear(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, rig: str, steps: str
) -> None:
    asked: list[str] = []

    def person(prompt: str) -> str:
        asked.append(prompt)
        return "no" if "Hands clear?" in prompt else "yes"

    monkeypatch.setattr("builtins.input", person)
    terminal.run("accept", rig)
    assert sum("The arm moves now. Hands clear? (yes/no)" in prompt for prompt in asked) == len(steps.split())
    archive = read(terminal.folder / f"{rig}-acceptance.zip")
    assert not set(steps.split()) & {each.step for each in archive.runs}


def test_no_file_clears_the_way_for_a_real_arm(terminal: Terminal) -> None:
    outcome = terminal.run("accept", "lynx6", "--hardware", "--answers", "answers.toml")
    assert outcome.code == 1 and "with --hardware this is asked at the terminal" in outcome.err
    assert not (terminal.folder / "lynx6-acceptance.zip").exists()


def test_a_person_who_says_no_fails_what_its_number_would_let_pass(terminal: Terminal) -> None:
    tell(terminal, {**YES, **CLEAR, "12": "no, it sank"})
    archive = accepted(terminal, "lynx6", code=1)
    outcome = next(each for each in archive.outcomes if each.step.id == "12")
    assert outcome.verdict.result is Result.FAILED and "named 0.05 s" in outcome.verdict.number
    assert "it sank" in outcome.verdict.number


def test_a_person_who_says_yes_does_not_mend_a_number(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    import msgspec

    def late(stage: _accept_runs.Stage, step: str, run: Run) -> Measured:
        return msgspec.structs.replace(well_done(stage, step, run), good_to_fault_s=0.61, stop_to_rest_s=0.51)

    monkeypatch.setattr(_accept_runs.Stage, "carry_out", late)
    archive = accepted(terminal, "lynx6", code=1)
    failed = {step for step, result in results(archive).items() if result is Result.FAILED}
    assert failed == {"11", "12", "13"}


# -- what a person can do wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"C33" = "yes"', "Did you mean C3?"),
        ('cleared = "yes"', "Did you mean clear?"),
        ("7 = [1, 2]", "text or a number"),
        ("7 = ", "allowed: TOML"),
    ],
)
def test_a_slip_in_the_answers_is_said_before_anything_begins(terminal: Terminal, text: str, words: str) -> None:
    (terminal.folder / "answers.toml").write_text(text, encoding="utf-8")
    outcome = terminal.run("accept", "lynx6", "--answers", "answers.toml")
    assert outcome.code == 1 and words in outcome.err
    assert not (terminal.folder / "lynx6-acceptance.zip").exists()


def test_true_and_false_are_answers_too(terminal: Terminal) -> None:
    (terminal.folder / "answers.toml").write_text("1 = true\n7 = false\n", encoding="utf-8")
    found = results(accepted(terminal, "lynx6", code=1))
    assert (found["1"], found["7"]) == (Result.PASSED, Result.FAILED)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["accept"], "name a rig"),
        (["accept", "lynx7"], "lynx7"),
        (["accept", "lynx6", "--answers", "none.toml"], "none.toml"),
        (["accept", "lynx6", "--port", "/dev/none"], "needs --hardware"),
        (["accept", "lynx6", "--hardware", "--port", "/dev/none", "--set", "firmware=1.x"], "are for the fake"),
        (["accept", "lynx6", "--journal", "none.mcap"], "none.mcap is no file"),
        (["accept", "lynx6", "-o", "none/real.zip"], "a file that can be written"),
        (["accept", "lynx6", "-o", "."], "a zip that `hil accept` wrote"),
        (["accept", "lynx6", "--from", "real.zip"], "--from makes a profile"),
        (["accept", "--from", "none.zip"], "none.zip"),
    ],
)
def test_a_wrong_command_line_is_explained(terminal: Terminal, arguments: list[str], words: str) -> None:
    outcome = terminal.run(*arguments)
    assert outcome.code in (1, 2) and words in " ".join(outcome.err.split())


def test_a_port_that_is_not_there_ends_it_with_a_sentence_and_what_was_said_is_kept(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter(["yes", "5.9 7.4", ""])
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    outcome = terminal.run("accept", "lynx6", "--hardware", "--port", str(terminal.folder / "none"), "-o", "real.zip")
    assert outcome.code == 1 and "broken off" in outcome.out and "none" in outcome.err
    assert results(read(terminal.folder / "real.zip"))["2"] is Result.PASSED


def test_a_real_arm_that_somebody_else_has_is_not_asked_anything(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = iter(["yes", "5.9 7.4", ""])
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    monkeypatch.setattr(port_wiring, "raw_line", lambda *arguments: (lambda: pytest.fail("the port was opened"), None))
    with RigLock(state_dir(), "lynx6", command="hil jog lynx6"):
        outcome = terminal.run("accept", "lynx6", "--hardware", "--port", "/dev/none", "-o", "real.zip")
    assert outcome.code == 1 and "hil jog lynx6" in outcome.err and "broken off" in outcome.out


def test_an_archive_that_is_cut_or_changed_is_refused_in_words(terminal: Terminal) -> None:
    accepted(terminal, "lynx6")
    whole = (terminal.folder / "lynx6-acceptance.zip").read_bytes()
    middle = whole.index(b"acceptance.json") + 400
    damaged = {
        "cut.zip": whole[: len(whole) // 2],
        "turned.zip": whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :],
        "text.zip": b"no archive",
        "empty.zip": b"",
    }
    with zipfile.ZipFile(terminal.folder / "other.zip", "w") as box:
        box.writestr("acceptance.json", "[]")
    for name, data in damaged.items():
        (terminal.folder / name).write_bytes(data)
    for name in (*damaged, "other.zip"):
        for arguments in (("accept", "--from", name), ("accept", "lynx6", "-o", name)):
            outcome = terminal.run(*arguments)
            assert outcome.code == 1 and "a zip that `hil accept` wrote" in outcome.err, name


def test_of_an_archive_in_which_nobody_has_answered_no_fake_is_made(terminal: Terminal) -> None:
    accepted(terminal, "lynx6", "--set", "baud=9600", code=1)
    outcome = terminal.run("accept", "--from", "lynx6-acceptance.zip")
    assert outcome.code == 1 and "none says what answers there" in outcome.err and not outcome.out


def test_the_calibration_in_force_is_looked_up_again_after_what_was_run_and_not_after_an_answer(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []

    def in_force(hour: accept._Hour) -> list[Path]:
        looked.append(terminal.folder / f"{'-'.join(['made', *(each.step for each in hour.archive.runs)])}.toml")
        looked[-1].write_text("", encoding="utf-8")
        return looked[-1:]

    monkeypatch.setattr(accept._Hour, "_in_force", in_force)
    accepted(terminal, "lynx6")
    runs = ["8", "9", "10", "11", "12", "13", "14", "15"]
    assert [path.stem for path in looked] == ["-".join(["made", *runs[:number]]) for number in range(9)]
    with zipfile.ZipFile(terminal.folder / "lynx6-acceptance.zip") as box:
        assert f"files/{looked[-1].name}" in box.namelist()


def test_journals_of_an_earlier_part_of_the_hour_stay_in_the_archive(terminal: Terminal) -> None:
    (terminal.folder / "extra.mcap").write_bytes(b"of my own")
    tell(terminal, {**YES, **CLEAR, "10": ""})
    accepted(terminal, "lynx6", "--journal", "extra.mcap")
    for journal in terminal.folder.glob("*.mcap"):
        journal.unlink()
    accepted(terminal, "lynx6")
    with zipfile.ZipFile(terminal.folder / "lynx6-acceptance.zip") as box:
        assert box.read("files/extra.mcap") == b"of my own"
        assert box.read("files/11.mcap") == b"a journal"
        steps = box.read("steps.txt").decode()
    assert "      files/11.mcap: complete" in steps
