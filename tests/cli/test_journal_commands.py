"""What a person sees of journals and pictures at the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import Terminal
from recorded import run_to_end, write_journal, write_parts
from virtual_session import Session, swing

import hil
from hil.motion.planner import plan
from hil.types import Mode
from hil.workbench.journal_task import recording_of_journal


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def session() -> Session:
    return run_to_end(15.0)


@pytest.fixture
def journal(terminal: Terminal, session: Session) -> Path:
    return write_journal(session, terminal.folder / "run.mcap")


def test_an_export_says_where_it_is_how_long_and_what_the_journal_is(terminal: Terminal, journal: Path) -> None:
    outcome = terminal.run("journal", "export", "run.mcap")
    assert outcome.code == 0
    assert outcome.out == f"run.csv: {_rows(terminal, 'run.csv')} rows; the journal is complete\n"


def _rows(terminal: Terminal, name: str) -> int:
    return len((terminal.folder / name).read_text().splitlines()) - 1


@pytest.mark.parametrize(("to", "name"), [("mat", "run.mat"), ("jsonl", "run.jsonl"), ("mcap", "run.plot.mcap")])
def test_each_format_has_a_file_name_of_its_own(terminal: Terminal, journal: Path, to: str, name: str) -> None:
    assert terminal.run("journal", "export", "run.mcap", "--to", to).code == 0
    assert (terminal.folder / name).is_file()


def test_a_decimal_comma_is_for_csv_alone(terminal: Terminal, journal: Path) -> None:
    assert terminal.run("journal", "export", "run.mcap", "--decimal", "comma", "--every", "5").code == 0
    outcome = terminal.run("journal", "export", "run.mcap", "--to", "mat", "--decimal", "comma")
    assert outcome.code == 2 and "--decimal is for csv" in outcome.err


def test_a_changed_journal_is_not_exported_but_can_be_saved_up_to_the_change(terminal: Terminal, journal: Path) -> None:
    journal.write_bytes(journal.read_bytes().replace(b'"tick":20,', b'"tick":21,', 1))
    outcome = terminal.run("journal", "export", "run.mcap")
    assert outcome.code == 1 and "broken at record 21" in outcome.err and "hil journal repair" in outcome.err
    assert terminal.run("journal", "repair", "run.mcap", "-o", "saved.mcap").code == 0
    assert terminal.run("journal", "export", "saved.mcap").out == "saved.csv: 20 rows; the journal is unfinished\n"


def test_a_cut_journal_is_mended_into_a_new_file(terminal: Terminal, journal: Path) -> None:
    data = journal.read_bytes()
    journal.write_bytes(data[: len(data) // 2])
    outcome = terminal.run("journal", "repair", "run.mcap", "-o", "whole.mcap")
    assert outcome.code == 0 and outcome.out.startswith("whole.mcap: unfinished (FAKE")
    assert terminal.run("journal", "verify", "whole.mcap").out.startswith("whole.mcap: unfinished")
    again = terminal.run("journal", "repair", "run.mcap", "-o", "whole.mcap")
    assert again.code == 1 and "exists already" in again.err


def test_a_session_becomes_a_task_that_plays_back_the_same_samples(
    terminal: Terminal, journal: Path, session: Session
) -> None:
    """Feature S1-19, walk-through: record continuous motion and replay; the logs are equal sample for sample."""
    outcome = terminal.run("journal", "task", "run.mcap")
    assert outcome.code == 0 and outcome.out.startswith("run.toml: ") and "positions in run.csv" in outcome.out
    motion = plan(session.rig, terminal.folder / "run.toml")
    recorded = recording_of_journal(journal).samples
    assert (motion.samples[-len(recorded) :] == recorded).all()
    assert motion.marks[-1].kind == "replay"
    again = terminal.run("journal", "task", "run.mcap")
    assert again.code == 1 and "run.csv exists already" in again.err


def test_a_journal_that_breaks_off_in_mid_motion_becomes_no_task(terminal: Terminal) -> None:
    session = Session()
    session.to(Mode.STREAMING, swing(40.0))
    session.run(0.2)
    write_journal(session, terminal.folder / "cut.mcap", closed=False)
    outcome = terminal.run("journal", "task", "cut.mcap")
    assert outcome.code == 1 and "cut.mcap: what was commanded ends while base moves" in outcome.err
    assert not list(terminal.folder.glob("cut.[!m]*"))


def test_what_a_replay_sends_is_journalled_as_what_was_recorded(terminal: Terminal, journal: Path) -> None:
    """Feature S1-19: the replayed joint log equals the recorded log sample for sample; the arm goes to its start first.

    The session is driven by the loop, so both logs are what left for the wire.
    """
    assert terminal.run("journal", "task", "run.mcap").code == 0
    again = Session()
    motion = plan(again.rig, terminal.folder / "run.toml")
    again.to(Mode.STREAMING, motion)
    again.until(Mode.IDLE)
    write_journal(again, terminal.folder / "again.mcap")
    recorded, replayed = (recording_of_journal(file) for file in (journal, terminal.folder / "again.mcap"))
    assert len(recorded.samples) == 34
    assert np.abs(np.diff(recorded.samples, axis=0)).max() > 0.005
    assert (replayed.samples[-len(recorded.samples) :] == recorded.samples).all()


def test_parts_of_a_session_are_verified_one_after_the_other(terminal: Terminal, session: Session) -> None:
    first, second, third = write_parts(session, terminal.folder / "long.mcap", 3)
    whole = terminal.run("journal", "verify", first.name, second.name, third.name)
    assert whole.code == 0 and whole.out.count("complete") == 3 and "not given" not in whole.out
    alone = terminal.run("journal", "verify", third.name)
    assert alone.code == 0 and f"goes on from {second.name}, which was not given" in alone.out
    assert terminal.run("journal", "replay", third.name).code == 0
    second.unlink()
    write_parts(session, terminal.folder / "other.mcap", 2, every=2)[1].rename(second)
    swapped = terminal.run("journal", "verify", first.name, second.name)
    assert swapped.code == 1 and "does not fit" in swapped.err


def test_a_plot_lists_its_pictures(terminal: Terminal, journal: Path) -> None:
    outcome = terminal.run("plot", "run.mcap", "--axis", "base", "-o", "pictures")
    assert outcome.code == 0 and outcome.out == f"{Path('pictures') / 'run-base.png'}\n"
    assert terminal.run("plot", "run.mcap", "--axis", "knee").code == 1


def test_a_plot_into_one_file_is_what_its_name_says(terminal: Terminal, journal: Path) -> None:
    outcome = terminal.run("plot", "run.mcap", "-o", "run.pdf", "--width", "column", "--font", "7")
    assert outcome.code == 0 and outcome.out == "run.pdf\n"
    assert (terminal.folder / "run.pdf").read_bytes().startswith(b"%PDF")


def test_a_folder_of_figures_has_the_format_that_was_asked_for(terminal: Terminal, journal: Path) -> None:
    outcome = terminal.run("plot", "run.mcap", "--axis", "base", "--format", "svg", "--width", "85mm")
    assert outcome.out == "run-base.svg\n"
    assert 'width="240.94' in (terminal.folder / "run-base.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "run.jpg"), "allowed: a name that ends in .png, .svg or .pdf"),
        (("-o", str(Path("nowhere") / "run.svg")), "there is no folder nowhere"),
        (("-o", str(Path("run.mcap") / "below")), "run.mcap is a file"),
        (("--format", "gif"), "allowed: a name that ends in .png, .svg or .pdf"),
        (("--width", "wide"), "width 'wide' given; allowed: a length as 85mm"),
        (("--width", "2m"), "given; allowed"),
        (("--height", "20mm"), "height 20 mm given; allowed: 30 to 600 mm"),
        (("--font", "72"), "font 72 pt given; allowed: 5 to 16 pt"),
        (("--dpi", "1"), "dpi 1 given; allowed: 50 to 1200"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line_before_anything_is_read(
    terminal: Terminal, journal: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], words: str
) -> None:
    monkeypatch.setattr("hil.workbench.plots.read_columns", None)
    outcome = terminal.run("plot", "run.mcap", *options)
    assert outcome.code == 1 and words in outcome.err and outcome.err.count("\n") == 1
    assert [path.name for path in terminal.folder.iterdir()] == ["run.mcap"]


@pytest.mark.parametrize("name", ["wave.jpg", "wave", str(Path("nowhere") / "wave.svg")])
def test_a_preview_refuses_a_picture_that_it_could_not_write_before_it_plans(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("hil.cli.motion_commands._plan", None)
    outcome = terminal.run("preview", "lynx6", "wave", "--plot", name)
    assert outcome.code == 1 and outcome.err.startswith(name) and outcome.err.count("\n") == 1


def test_the_width_of_no_picture_is_refused(terminal: Terminal) -> None:
    outcome = terminal.run("preview", "lynx6", "wave", "--width", "column")
    assert outcome.code == 2 and "--plot FILE" in outcome.err


def test_a_preview_is_drawn_as_its_name_says_and_at_its_width(terminal: Terminal) -> None:
    assert terminal.run("preview", "lynx6", "wave", "--plot", "wave.svg", "--width", "column").code == 0
    drawn = (terminal.folder / "wave.svg").read_text("utf-8")
    assert 'width="240.94' in drawn and ">preview of rig lynx6 (" in drawn and ">shoulder<" in drawn


def test_without_matplotlib_a_plot_is_one_line_of_advice(
    terminal: Terminal, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    outcome = terminal.run("plot", "run.mcap")
    assert outcome.code == 1
    assert outcome.err.startswith(
        "pictures need a package that is not installed: pip install 'hil-arm-bridge[plot]', in"
    )
    assert outcome.err.count("\n") == 1
    assert terminal.run("preview", "lynx6", "wave", "--plot", "wave.png").err == outcome.err


def test_a_preview_draws_what_it_passed_and_what_it_refused(terminal: Terminal) -> None:
    assert terminal.run("preview", "lynx6", "wave", "--plot", "wave.png").code == 0
    step = '[[step]]\ndo = "move"\n'
    (terminal.folder / "low.toml").write_text(f'title = "low"\n{step}to_mm = [200, 60, 3]\npitch_deg = -80\n')
    outcome = terminal.run("preview", "lynx6", "low.toml", "--plot", "low.png")
    assert outcome.code == 1 and outcome.err == "picture: low.png\n"
    assert "E-13" not in outcome.out  # the stops meet the table where the motion itself does
    for name in ("wave.png", "low.png"):
        assert (terminal.folder / name).read_bytes().startswith(b"\x89PNG")


def test_a_preview_draws_the_arm_before_a_step_that_cannot_be_planned(terminal: Terminal) -> None:
    (terminal.folder / "far.toml").write_text('title = "far"\n[[step]]\ndo = "move"\nto_mm = [600, 0, 100]\n')
    outcome = terminal.run("preview", "lynx6", "far.toml", "--plot", "far.png")
    assert outcome.code == 1
    assert outcome.err.startswith("picture of the step that cannot be planned: far.png\n") and "E-07" in outcome.err
    assert (terminal.folder / "far.png").read_bytes().startswith(b"\x89PNG")


def test_a_preview_says_why_there_is_no_picture_of_a_file_that_is_no_task(terminal: Terminal) -> None:
    (terminal.folder / "typo.toml").write_text('title = "typo"\n[[step]]\ndo = "move"\nto_mn = [200, 0, 100]\n')
    outcome = terminal.run("preview", "lynx6", "typo.toml", "--plot", "typo.png")
    assert outcome.code == 1
    assert outcome.err.startswith("no picture: there is no motion to draw before this is mended:\ntypo.toml: step 1")
    assert not (terminal.folder / "typo.png").exists()


def test_a_session_is_played_back_more_slowly_and_backwards_through_a_preview(
    terminal: Terminal, journal: Path
) -> None:
    written = terminal.run("journal", "task", "run.mcap", "-o", "back.toml", "--backwards", "--speed-percent", "50")
    assert written.code == 0
    recorded = recording_of_journal(journal)
    count = len(recorded.samples)
    assert f"{count} samples, {2.0 * (count - 1) * recorded.period_s:.2f} s" in written.out
    motion = plan(hil.load_rig("lynx6"), terminal.folder / "back.toml")
    mark = motion.marks[-1]
    assert motion.samples[mark.first] == pytest.approx(recorded.samples[-1], abs=1e-12)
    assert motion.samples[mark.last] == pytest.approx(recorded.samples[0], abs=1e-12)
    assert mark.last - mark.first >= 2 * (count - 1)
    assert terminal.run("preview", "lynx6", "back.toml").code == 0
    refused = terminal.run("journal", "task", "run.mcap", "-o", "fast.toml", "--speed-percent", "200")
    assert refused.code == 2 and "100" in refused.err and not (terminal.folder / "fast.toml").exists()
