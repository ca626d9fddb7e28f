"""What a lab's owner and its students see: a lab made, a class let in, a token taken back, a login."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest
from command_line import Terminal
from hypothesis import given
from hypothesis import strategies as st

from hil.cli._token_words import length_text
from hil.service.join import read_join
from hil.service.lab_setup import arms_of, open_lab
from hil.service.settings import load_lab


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


@pytest.fixture
def lab(terminal: Terminal) -> Path:
    terminal.run("serve", "init", "lab", "--arm", "left=lynx6", "--arm", "right=lynx6", "--host", "lab.example.org")
    return terminal.folder / "lab"


def token(path: Path) -> str:
    return read_join(path, path.read_bytes()).token


def test_a_lab_is_made_and_says_what_comes_next(terminal: Terminal) -> None:
    outcome = terminal.run("serve", "init", "lab")
    assert outcome.code == 0 and "https://127.0.0.1:8742, certificate " in outcome.out
    assert "next: hil token new NAME --for 3h --lab lab" in outcome.out
    again = terminal.run("serve", "init", "lab")
    assert again.code == 1 and "a new or empty one" in again.err
    assert terminal.run("serve", "init", "lab", "--renew-certificate").code == 0
    assert terminal.run("serve", "init", "lab2", "--arm", "lynx7").code == 1
    assert not (terminal.folder / "lab2").exists()


def test_a_token_goes_into_a_join_file_and_never_onto_the_screen(terminal: Terminal, lab: Path) -> None:
    outcome = terminal.run("token", "new", "Ana López", "--arm", "left", "--for", "3h", "--lab", "lab")
    assert outcome.code == 0, outcome.text
    file = terminal.folder / "Ana-López.hil-join"
    assert outcome.out.startswith("Ana-López.hil-join: drive left at 50 % of the speeds, ")
    shown = terminal.run("token", "show", file.name, "--lab", "lab")
    assert shown.code == 0 and ": counts" in shown.out and "Ana López" in shown.out
    listed = terminal.run("token", "show", "--lab", "lab", "--json")
    assert json.loads(listed.out)[0]["grant"]["user"] == "Ana López"
    for text in (outcome.text, shown.text, listed.text, (lab / "issued.jsonl").read_text()):
        assert token(file) not in text and token(file).split(".")[2] not in text


def test_a_whole_class_is_let_in_at_once(terminal: Terminal, lab: Path) -> None:
    (terminal.folder / "class.csv").write_text("name;arm;role;speed_percent\nAna;left;;30\nBen;right;watch;\n")
    outcome = terminal.run(
        "token", "new", "--roster", "class.csv", "--until", "2099-01-01", "--lab", "lab", "-o", "out"
    )
    assert outcome.code == 1 and "days of a token" in outcome.err
    outcome = terminal.run("token", "new", "--roster", "class.csv", "--for", "12w", "--lab", "lab", "-o", "out")
    assert outcome.code == 0, outcome.text
    assert sorted(path.name for path in (terminal.folder / "out").iterdir()) == ["Ana.hil-join", "Ben.hil-join"]
    assert "drive left at 30 %" in outcome.out and "watch right at 50 %" in outcome.out
    again = terminal.run("token", "new", "--roster", "class.csv", "--for", "12w", "--lab", "lab", "-o", "out")
    assert again.code == 1 and "nothing is overwritten" in again.err
    assert len(json.loads(terminal.run("token", "show", "--lab", "lab", "--json").out)) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("Ana", "--arm", "left"), "--until TIME, or --for"),
        (("Ana", "--for", "3h"), "--arm"),
        (("Ana", "--arm", "up", "--for", "3h"), "left, right, or * for all"),
        (("Ana", "--arm", "left", "--for", "soon"), "90m, 3h, 2d"),
        (("Ana", "--arm", "left", "--until", "soon"), "a time as 14:30"),
        (("Ana", "--arm", "left", "--until", "2020-01-01"), "--until of Ana: '2020-01-02 00:00"),
        (("Ana", "--arm", "left", "--from", "2020-01-01", "--until", "2020-01-02"), "a moment to come; this was "),
        (("Ana", "--arm", "left", "--from", "2020-01-01", "--for", "3h"), "a moment to come; this was "),
        (("Ana", "--arm", "left", "--from", "2999-01-02", "--until", "2999-01-01"), "a moment after it begins, 2999-"),
        (("Ana", "--arm", "left", "--for", "3h", "--role", "owner"), "watch, drive, teach, maintain"),
        (("Ana", "--arm", "left", "--for", "3h", "--box", "0 0 0 1 1"), "six numbers in mm"),
        (("Ana", "--arm", "left", "--for", "3h", "--box", "0 0 0 1 1 0"), "each lower one less"),
        (("A\tb", "--arm", "left", "--for", "3h"), "characters that show"),
    ],
)
def test_what_cannot_be_granted_is_one_line(
    terminal: Terminal, lab: Path, arguments: tuple[str, ...], words: str
) -> None:
    outcome = terminal.run("token", "new", *arguments, "--lab", "lab")
    assert outcome.code == 1 and words in outcome.err
    assert not (lab / "issued.jsonl").exists()


def test_one_arm_need_not_be_named_and_a_box_is_in_millimetres(terminal: Terminal) -> None:
    terminal.run("serve", "init", "lab")
    outcome = terminal.run(
        "token", "new", "Ana", "--for", "90m", "--box", "100 -200 0, 300 200 400", "--lab", "lab", "-o", "ana"
    )
    assert outcome.code == 0 and "drive lynx6 at 50 % of the speeds, within a box" in outcome.out
    grant = json.loads(terminal.run("token", "show", "ana", "--json").out)["grant"]
    assert grant["box"] == {"lower_m": [0.1, -0.2, 0.0], "upper_m": [0.3, 0.2, 0.4]}
    assert grant["expires_s"] - grant["not_before_s"] == 5400


def test_tokens_are_taken_back_by_id_name_file_and_all(terminal: Terminal, lab: Path) -> None:
    for name in ("Ana", "Ben", "Cem", "Dia"):
        terminal.run("token", "new", name, "--arm", "*", "--for", "3h", "--lab", "lab")

    def states() -> list[str]:
        return [row["state"] for row in json.loads(terminal.run("token", "show", "--lab", "lab", "--json").out)]

    first = json.loads(terminal.run("token", "show", "--lab", "lab", "--json").out)[0]["grant"]["token_id"]
    assert f"{first} of Ana" in terminal.run("token", "revoke", first, "--lab", "lab").out
    assert terminal.run("token", "revoke", "--name", "Ben", "--lab", "lab").code == 0
    assert terminal.run("token", "revoke", "--file", "Cem.hil-join", "--lab", "lab").code == 0
    assert states() == ["revoked", "revoked", "revoked", "counts"]
    unknown = terminal.run("token", "revoke", "0" * 16, "--lab", "lab")
    assert unknown.code == 1 and "tokens of this list" in unknown.err
    assert terminal.run("token", "revoke", "--lab", "lab").code == 2
    assert terminal.run("token", "revoke", "--all", "--lab", "lab").code == 0
    assert states() == ["revoked"] * 4
    assert len((lab / "revoked.txt").read_text().splitlines()) == 6


def test_a_person_is_forgotten_once_no_token_counts(terminal: Terminal, lab: Path) -> None:
    terminal.run("token", "new", "Ana", "--arm", "left", "--for", "3h", "--lab", "lab")
    refused = terminal.run("token", "forget", "Ana", "--lab", "lab")
    assert refused.code == 1 and "Revoke it first" in refused.err
    terminal.run("token", "revoke", "--name", "Ana", "--lab", "lab")
    outcome = terminal.run("token", "forget", "Ana", "--lab", "lab")
    assert outcome.code == 0 and outcome.out == "1 tokens and 0 slots are forgotten\n"
    assert "Ana" not in (lab / "issued.jsonl").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_a_key_that_others_can_read_makes_no_tokens(terminal: Terminal, lab: Path) -> None:
    load_lab(lab).token_key.chmod(0o644)
    outcome = terminal.run("token", "new", "Ana", "--arm", "left", "--for", "3h", "--lab", "lab")
    assert outcome.code == 1 and "chmod 600" in outcome.err
    assert not (terminal.folder / "Ana.hil-join").exists()


def test_a_student_logs_in_with_the_file_alone(terminal: Terminal, lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = float(int(time.time()))
    monkeypatch.setattr(time, "time", lambda: now_s)
    assert "no login yet" in terminal.run("login").out
    terminal.run("token", "new", "Ana", "--arm", "left", "--for", "3h", "--lab", "lab")
    outcome = terminal.run("login", "Ana.hil-join")
    assert outcome.code == 0
    assert outcome.out.startswith("arms: Ana may drive left at 50 % of the speeds, ")
    assert ": valid now, ends in 3 h\n" in outcome.out
    assert outcome.out.endswith("hil drive https://lab.example.org:8742/left\n")
    listed = terminal.run("login").out
    assert listed.startswith("https://lab.example.org:8742  arms: drive left at 50 % of the speeds, ")
    assert listed.endswith(": valid now, ends in 3 h\n")
    (terminal.folder / "other").write_text("hello")
    assert terminal.run("login", "other").code == 1


def test_a_login_says_what_the_token_is_worth_at_that_moment(
    terminal: Terminal, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = float(int(time.time()))
    monkeypatch.setattr(time, "time", lambda: now_s)
    terminal.run("token", "new", "Ana", "--arm", "left", "--role", "watch", "--for", "3h", "--lab", "lab")
    monkeypatch.setattr(time, "time", lambda: now_s - 7200.0)
    early = terminal.run("login", "Ana.hil-join")
    assert early.code == 0 and ": not yet valid, begins in 2 h" in early.out
    assert early.out.endswith("hil watch https://lab.example.org:8742/left\n")
    monkeypatch.setattr(time, "time", lambda: now_s + 3 * 86_400.0)
    late = terminal.run("login", "Ana.hil-join")
    assert late.code == 0 and ": ended 2 days 21 h ago\nNobody gets in with it any more" in late.out
    assert "hil watch" not in late.out
    assert terminal.run("login").out.endswith(": ended 2 days 21 h ago\n")


@given(st.integers(0, 10 * 86_400))
def test_a_length_of_time_is_told_to_the_smaller_of_its_two_units(seconds: int) -> None:
    units = {"day": 86_400, "days": 86_400, "h": 3600, "min": 60, "s": 1}
    words = length_text(seconds).split()
    told = sum(int(count) * units[unit] for count, unit in zip(words[::2], words[1::2], strict=True))
    assert 0 <= seconds - told < {"day": 3600, "days": 3600, "h": 60, "min": 60, "s": 1}[words[1]]


def test_two_arms_of_one_kind_are_a_lab_that_can_be_served(
    terminal: Terminal, lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From any folder: what the settings name lies beside them."""
    assert 'inherit = "lynx6"' in (lab / "rigs/left.toml").read_text()
    elsewhere = terminal.folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    found = load_lab(lab)
    plans = arms_of(found.settings, found.folder)
    assert [(plan.arm, plan.rig.id) for plan in plans] == [("left", "left"), ("right", "right")]
    assert [plan.rig.title for plan in plans] == ["Lynx6 on an SSC-32, left", "Lynx6 on an SSC-32, right"]
    running = open_lab(found, plans, command="hil serve", say=print)
    assert list(running.desks) == ["left", "right"]
    asyncio.run(running.close("the test is over"))


def test_a_rig_that_one_arm_has_alone_is_named_as_it_was_given(terminal: Terminal) -> None:
    """By its name, or by its file as seen from the lab's folder: no heir, so its calibration counts."""
    (terminal.folder / "mine.toml").write_text('inherit = "lynx6"\n')
    given = ("--arm", "lynx6-4axis", "--arm", "a=mine.toml", "--arm", "b=lynx6", "--arm", "c=lynx6")
    assert terminal.run("serve", "init", "labs/one", *given).code == 0
    found = load_lab(terminal.folder / "labs/one")
    assert {name: arm.rig for name, arm in found.settings.arms.items()} == {
        "lynx6-4axis": "lynx6-4axis", "a": "../../mine.toml", "b": "rigs/b.toml", "c": "rigs/c.toml",
    }  # fmt: skip
    assert [plan.rig.id for plan in arms_of(found.settings, found.folder)] == ["lynx6-4axis", "mine", "b", "c"]
    twice = ("--arm", "a=mine.toml", "--arm", "b=mine.toml")
    assert terminal.run("serve", "init", "two", *twice).code == 0
    found = load_lab(terminal.folder / "two")
    assert [plan.rig.id for plan in arms_of(found.settings, found.folder)] == ["a", "b"]


@pytest.mark.parametrize(
    ("hosts", "listens"),
    [
        ((), "127.0.0.1"),
        (("192.168.7.2",), "192.168.7.2"),
        (("127.0.0.1",), "127.0.0.1"),
        (("fd00::7",), "fd00::7"),
        (("lab.example.org",), "0.0.0.0"),
        (("lab.example.org", "192.168.7.2"), "0.0.0.0"),
    ],
)
def test_the_address_that_was_given_is_the_one_that_is_listened_on(
    terminal: Terminal, hosts: tuple[str, ...], listens: str
) -> None:
    """A name, or several, does not say which network is meant: then it is all, and that is said."""
    outcome = terminal.run("serve", "init", "lab", *(word for host in hosts for word in ("--host", host)))
    assert outcome.code == 0
    assert load_lab(terminal.folder / "lab").settings.listen.host == listens
    assert ("listens on every network" in outcome.out) == (listens == "0.0.0.0")


def test_outside_a_lab_the_way_to_one_is_told(terminal: Terminal) -> None:
    outcome = terminal.run("token", "show")
    assert outcome.code == 1 and "hil serve init DIR" in outcome.err
