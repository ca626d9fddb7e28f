"""What an acceptance has run, in real processes: one fake through all its steps, and a person who is played."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import Terminal

from hil.cli._accept_runs import Stage
from hil.runtime import port_wiring, wiring
from hil.runtime.journal import Completeness, verify
from hil.workbench.acceptance import PARTS, Facts, Result
from hil.workbench.acceptance_archive import read
from hil.workbench.acceptance_runs import Measured
from hil.workbench.acceptance_talk import Exchange, Talk

HERE = Path(__file__).parent

pytestmark = [pytest.mark.processes, pytest.mark.pty, pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("state", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)


def confirm(deed: str) -> None:
    pytest.fail(f"nobody is there who could {deed}")


def carried_out(kind: str, rig: str, wanted: dict[str, tuple[str, ...]]) -> Iterator[tuple[str, Measured, Stage]]:
    """Those runs of an hour, one after the other on one fake."""
    stage = Stage(rig, False, None, wiring.USUAL, confirm, alone=True)
    try:
        for part in PARTS[kind]:
            for run, _ in part.pairs:
                if run.name in wanted.get(part.step.id, ()):
                    yield part.step.id, stage.carry_out(part.step.id, run), stage
    finally:
        stage.close()


def judged(kind: str, found: list[Measured]) -> dict[str, Result]:
    answers = {each.step: "yes" for each in found}
    facts = Facts(channels=(), talk=(), answers=answers, runs=tuple(found))
    return {
        part.step.id: part.judge(facts, answers[part.step.id]).result
        for part in PARTS[kind]
        if part.step.id in answers and len(part.pairs) == sum(each.step == part.step.id for each in found)
    }


def test_stop_cable_restart_and_power_of_an_ssc32_are_measured_on_one_fake() -> None:
    steps = ("11", "12", "13", "14")
    found = []
    for _, measured, stage in carried_out("ssc32", str(HERE / "quick-rig.toml"), dict.fromkeys(steps, ("",))):
        found.append(measured)
        assert verify(stage.journals[-1]).completeness is Completeness.COMPLETE
    assert judged("ssc32", found) == dict.fromkeys(steps, Result.PASSED), found
    stop, cable, restart, power = found
    assert stop.mode == "holding" and "interrupted" in stop.ended
    assert "unplugged" in cable.fault and cable.deed_to_fault_s is not None
    assert "restarted" in restart.fault and restart.deed_to_fault_s is not None
    assert power.samples == 0 and power.limp == power.axes == 6


def test_two_degrees_and_the_key_of_a_cr1_are_measured_on_one_fake() -> None:
    wanted = {"C3": ("",), "C5": ("key",), "C5a": ("",)}
    found = {step: measured for step, measured, _ in carried_out("rv2aj", "rv2aj", wanted)}
    assert 1.5 <= (found["C3"].travel_deg or 0.0) <= 2.5
    assert "TEACH" in found["C5"].fault and 0.0 < (found["C5"].deed_to_fault_s or 9.9) <= 1.0
    assert found["C5a"].asked and "no fake can show it" in found["C5a"].trouble


UNUSUAL = {
    "lynx6": (
        "ssc32",
        ["firmware=u", 'version="SSC32-V2.50USB "', "registers.0=8", "registers.64=1730", "registers.95=1200"],
    ),
    "rv2aj": (
        "cr1",
        ["axes=3F;3F", "decimals=3", "error_digits=4", "clients=NARCUSR", "end_code=crlf", "requests_stand=true"],
    ),
}
ONLY_ASKS = {"3", "4", "5", "C1"}


@pytest.mark.parametrize("name", ["lynx6", "rv2aj"])
def test_the_fake_that_is_started_with_a_made_profile_answers_as_the_archive_has_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The way of a person: accept, --from, hil fake --profile; then the same questions over its line."""
    kind, changes = UNUSUAL[name]
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    monkeypatch.setattr(
        Stage, "carry_out", lambda stage, step, run: Measured(step=step, asked=True, trouble="left out")
    )
    (tmp_path / "none.toml").write_text("", encoding="utf-8")
    terminal.run("accept", name, "--answers", "none.toml", *(word for each in changes for word in ("--set", each)))
    archive = read(tmp_path / f"{name}-acceptance.zip")
    assert terminal.run("accept", "--from", f"{name}-acceptance.zip", "-o", "mine.toml").code == 0
    rig = wiring.load_rig(name)
    with running(kind, tmp_path / "mine.toml") as url:
        open_port, clock = port_wiring.raw_line(rig, url)
        again: list[Exchange] = []
        for part in PARTS[rig.controller.kind]:
            if part.asker is not None and part.step.id in ONLY_ASKS:
                talk = Talk(rig.controller.kind, open_port(), clock, part.step.id)
                part.asker(talk, archive.channels)
                talk.close()
                again += talk.transcript
    before = [(each.question, each.answer) for each in archive.talk if each.step in ONLY_ASKS]
    assert any(answer for _, answer in before)
    assert [(each.question, each.answer) for each in again] == before


@contextmanager
def running(kind: str, profile: Path) -> Iterator[str]:
    """`hil fake` on TCP; gives its URL."""
    command = [sys.executable, "-c", "from hil.cli.main import main; main()", "fake", kind, "--tcp", "0"]
    with subprocess.Popen([*command, "--profile", str(profile)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().rpartition(" ")[2].strip()
        finally:
            process.terminate()


def test_a_step_that_moves_ends_in_the_archive_with_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line, with only the stop of all that is run."""
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    (tmp_path / "answers.toml").write_text('clear = "yes"\n11 = "yes"\n', encoding="utf-8")
    carry_out = Stage.carry_out

    def only_the_stop(stage: Stage, step: str, run):  # type: ignore[no-untyped-def]
        if step == "11":
            return carry_out(stage, step, run)
        return Measured(step=step, run=run.name, trouble="left out", asked=True)

    monkeypatch.setattr(Stage, "carry_out", only_the_stop)
    outcome = terminal.run("accept", str(HERE / "quick-rig.toml"), "--answers", "answers.toml", "-o", "hour.zip")
    assert outcome.code == 0, outcome.text
    assert "The arm moves now. Hands clear? (yes/no) yes" in outcome.out
    assert "On the fake this is done for you: press Ctrl-C." in outcome.out
    archive = read(tmp_path / "hour.zip")
    (stop,) = (each for each in archive.outcomes if each.step.id == "11")
    assert stop.verdict.result is Result.PASSED and "after the stop, 0 commands" in stop.verdict.number
    with zipfile.ZipFile(tmp_path / "hour.zip") as box:
        (name,) = (each for each in box.namelist() if each.endswith(".mcap"))
        (tmp_path / "copy.mcap").write_bytes(box.read(name))
    assert verify(tmp_path / "copy.mcap").completeness is Completeness.COMPLETE
