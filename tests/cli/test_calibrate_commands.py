"""hil calibrate and hil identify as a typist meets them: what is printed, what is asked, what is left behind."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from calibrations import calibrate_as_it_is

import hil.cli.main as command_line
from hil.cli._keyboard import somebody_typed
from hil.runtime import port_wiring, wiring
from hil.testing.fakes import RunningFake

SEEN = re.compile(r"(\w+) went from (\S+) to (\S+) (?:deg|mm)")
STANDS = re.compile(
    r"^(?:joint \d of \d, )?(\w+): (?:it stands )?at \d+ us.*?(?:near (\S+) (?:deg|mm).*)?\(\d+ measured\)$"
)
AWAY = re.compile(r", (\d+) steps? away \(")


class Typist:
    """Reads what was printed since the last answer, and types the next one.

    Attributes:
        printed: everything so far.
        answers: what was typed.
    """

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self.printed = ""
        self.answers: list[str] = []
        self._where: dict[str, float] = {}
        self._last: tuple[str, float] | None = None
        self.stop_at: str | None = None
        self.anew = self.continues = "yes"
        self.asked: list[str] = []

    def __call__(self, prompt: str = "") -> str:
        new = self._read()
        self.asked.append(prompt)
        self.printed += new
        answer = self._answer(new, prompt)
        self.answers.append(answer)
        return answer

    def _answer(self, new: str, prompt: str) -> str:
        if self.stop_at is not None and self.stop_at in new:
            self.stop_at = None
            return "stop"
        if "Continue it?" in prompt:
            return self.continues
        if "Begin anew?" in prompt:
            return self.anew
        moves = SEEN.findall(new)
        self._where.update({name: float(to) for name, _, to in moves})
        question = [line for line in new.splitlines() if not line.startswith((" ", "("))][-1]
        if "is limp" in question:
            return "go"
        if "What moved?" in question:
            return moves[-1][0]
        if "has moved a little. +" in question:
            return "+" if float(moves[-1][2]) > float(moves[-1][1]) else "-"
        if "Was it that of" in question:
            return "yes"
        found = STANDS.search(question)
        assert found is not None, question
        name, wanted = found.groups()
        here = self._where[name]
        away = AWAY.search(question)
        if wanted is None or away is None or self._last == (wanted, here):
            return f"= {here} go 5"
        self._last = (wanted, here)
        return f"go {away[1]}"


@pytest.fixture
def hil(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):  # type: ignore[no-untyped-def]
    for variable, folder in (("XDG_STATE_HOME", "state"), ("XDG_CONFIG_HOME", "config"), ("APPDATA", "config")):
        monkeypatch.setenv(variable, str(tmp_path / folder))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    typist = Typist(lambda: capsys.readouterr().out)
    monkeypatch.setattr("builtins.input", typist)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hil", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            command_line.main()
        captured = capsys.readouterr()
        typist.printed += captured.out
        out, typist.printed = typist.printed, ""
        assert "Traceback" not in out + captured.err
        return exit_info.value.code or 0, out, captured.err  # type: ignore[return-value]

    run.typist = typist  # type: ignore[attr-defined]
    return run


def test_a_typist_calibrates_a_fake_by_what_is_printed_and_the_rig_then_says_so(hil, tmp_path: Path) -> None:
    code, out, err = hil("calibrate", "lynx6", "--by", "Zoë")
    assert (code, err) == (0, "")
    assert out.startswith("FAKE ssc32: Lynx6 on an SSC-32 (lynx6); no real port is touched\n")
    assert re.search(r"base: channel \d, (rising|falling), \d+\.\d+ us per deg", out)
    assert "from a straight line" in out
    assert "joint 3 of 6, wrist: it has moved a little." in out
    assert len(hil.typist.answers) <= 60
    assert "written: " in out and "counts for fakes" in out
    _, said, _ = hil("check", "lynx6")
    assert re.search(r"calibration lynx6-\d{4}-\d\d-\d\d, by Zoë on a fake controller, so for fakes only", said)
    code, _, err = hil("run", "lynx6", "wave", "--hardware", "--port", "/dev/no-such-port")
    assert code == 1 and "on a fake controller only" in err
    assert not list((tmp_path / "state/hil/drafts").iterdir())


def test_a_stop_keeps_a_draft_that_the_same_command_goes_on_with(hil, tmp_path: Path) -> None:
    hil.typist.stop_at = "near -85.0 deg"
    code, _, err = hil("calibrate", "lynx6", "--by", "Zoë")
    assert code == 1 and "the same command goes on from there" in err
    assert list((tmp_path / "state/hil/drafts").iterdir())
    assert not (tmp_path / "config/hil/calibrations").exists()
    code, out, _ = hil("calibrate", "lynx6", "--by", "Zoë")
    assert code == 0 and "What moved?" not in out


def test_going_on_is_offered_with_how_far_it_was_and_declining_begins_anew(hil) -> None:
    hil.typist.stop_at = "joint 3 of 6, wrist: it stands"
    hil("calibrate", "lynx6", "--by", "Zoë")
    hil.typist.asked.clear()
    hil.typist.continues = "no"
    code, out, _ = hil("calibrate", "lynx6", "--by", "Zoë")
    assert code == 0 and "What moved?" in out
    assert any("2 of 6 joints finished. Continue it?" in prompt for prompt in hil.typist.asked)


def test_a_board_that_has_changed_since_the_draft_is_begun_anew_or_not_at_all(hil, tmp_path: Path) -> None:
    hil.typist.stop_at = "near -85.0 deg"
    hil("calibrate", "lynx6", "--by", "Zoë")
    (draft,) = (tmp_path / "state/hil/drafts").iterdir()
    text = draft.read_text()
    was = '["pulse offset of channel 0 in us (R32)","0"]'
    assert was in text
    draft.write_text(text.replace(was, was.replace('"0"', '"40"')))
    why = "pulse offset of channel 0 in us (R32) was '40', is '0'. It cannot be gone on with"
    hil.typist.anew = "no"
    code, out, err = hil("calibrate", "lynx6", "--by", "Zoë")
    assert code == 1 and why in out and "What moved?" not in out and "was begun here" in err
    assert draft.exists()
    hil.typist.anew = "yes"
    code, out, _ = hil("calibrate", "lynx6", "--by", "Zoë")
    assert code == 0 and why in out and "What moved?" in out
    assert not draft.exists()


def test_no_more_input_means_stop(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(prompt: str = "") -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    code, _, err = hil("calibrate", "lynx6", "--by", "Zoë")
    assert code == 1 and "stopped" in err
    code, _, err = hil("calibrate", "lynx6")
    assert code == 1 and "nobody says who does this" in err


def test_one_joint_of_the_fake_is_redone(hil) -> None:
    hil("calibrate", "lynx6", "--by", "Zoë")
    code, out, err = hil("calibrate", "lynx6", "--joint", "wrist", "--by", "Ann")
    assert (code, err) == (0, "")
    assert "Channel" in out and "shoulder" not in out.replace("shoulder went", "")
    _, said, _ = hil("check", "lynx6")
    assert "-2, by Ann" in said


def test_a_joint_can_be_redone_only_where_there_is_a_calibration_and_such_a_joint(hil) -> None:
    assert "has no calibration of which one joint" in hil("calibrate", "lynx6", "--joint", "wrist")[2]
    assert "one of base, shoulder" in hil("calibrate", "lynx6", "--joint", "knee")[2]
    assert hil("calibrate", "lynx6", "--joint", "wrist", "--centre")[0] == 2


@pytest.mark.parametrize("channels", ["1,1", "1,x", "1,,2", "32", "-1"])
def test_channels_are_numbers_each_once(hil, channels: str) -> None:
    code, _, err = hil("calibrate", "lynx6", "--channels", channels)
    assert code == 2 and "0 to 31" in err


def test_centring_asks_for_each_horn_before_anything_moves(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["off", "skip", "off", "off", "off", "off"])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(answers))
    code, out, _ = hil("calibrate", "lynx6", "--centre")
    assert code == 0
    assert out.count("take the horn off its servo") == 6
    assert out.count("is at 1500 us. Put the horn on") == 5
    assert "with the power left on: hil calibrate lynx6" in out


def test_identity_on_a_fake_is_a_rehearsal(hil, tmp_path: Path) -> None:
    code, out, _ = hil("identify", "lynx6", "--by", "Zoë")
    assert code == 0 and "of a fake nothing is remembered" in out
    assert not list(tmp_path.rglob("*.identity"))


def test_an_uncalibrated_rig_cannot_be_identified_on_a_port(hil) -> None:
    code, _, err = hil("identify", "lynx6", "--hardware", "--port", "socket://127.0.0.1:9")
    assert code == 1 and "hil calibrate lynx6 --hardware --port socket://127.0.0.1:9" in err


@pytest.mark.processes
def test_a_person_moves_a_rig_to_another_port_by_looking_at_its_gripper_once(hil, tmp_path: Path) -> None:
    rig = wiring.load_rig("lynx6")
    fake = RunningFake(rig, rig.park, tcp=True)
    try:
        calibrate_as_it_is(rig, tmp_path / "config", "socket://127.0.0.1:9")
        before = hil("run", "lynx6", "wave", "--hardware", "--port", fake.url)
        assert before[0] == 1 and f"hil identify lynx6 --hardware --port {fake.url}" in before[2]
        code, out, err = hil("identify", "lynx6", "--hardware", "--port", fake.url, "--by", "Zoë")
        assert (code, err) == (0, "") and out.startswith("REAL ssc32 at socket://")
        port_wiring.check_arm(wiring.load_rig("lynx6"), fake.url)
        assert [setpoint is None for setpoint in fake.setpoints] == [True] * 5 + [False]
        assert fake.judged().findings == ()
    finally:
        fake.stop()


@pytest.mark.skipif(sys.platform == "win32", reason="select takes no pipes there")
def test_enter_at_a_terminal_is_noticed_once_and_a_pipe_never_halts_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a pipe are answers that wait for their questions."""
    read, write = os.pipe()
    with os.fdopen(read) as terminal, os.fdopen(write, "wb", buffering=0) as fingers:
        for at_a_terminal in (True, False):
            monkeypatch.setattr(terminal, "isatty", lambda at=at_a_terminal: at, raising=False)
            monkeypatch.setattr(sys, "stdin", terminal)
            assert not somebody_typed()
            fingers.write(b"\n")
            assert [somebody_typed(), somebody_typed()] == [at_a_terminal, False]
