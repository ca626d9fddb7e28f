"""What a lab's owner types to connect a learning system, and what the settings refuse."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import stat
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pylti1p3", reason="needs the extra [lti]")

from command_line import Terminal

from hil.service.grants import Grant
from hil.service.keys import SigningKey
from hil.service.lab_setup import arms_of, open_lab
from hil.service.lti_book import LtiBook, Mark
from hil.service.lti_connect import canvas
from hil.service.lti_keys import ToolKey
from hil.service.lti_site import open_lti
from hil.service.rights import Role
from hil.service.settings import load_lab
from hil.service.setup import make_lab
from hil.service.tokens import issue

CONNECT = ("lti", "connect", "moodle", "--client-id", "abc", "--deployment", "1", "--lab", "lab")
OTHER = ("--issuer", "https://a", "--login-url", "https://", "--token-url", "https://b", "--keys-url", "https://c")
MOODLE = ("--moodle", "https://moodle.example.org/")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "lab"
    arms = {"left": "lynx6", "right": "lynx6"}
    seeds = (b"t" * 32, b"a" * 32)
    make_lab(folder, name="arms", hosts=["lab.example.org"], arms=arms, seeds=seeds, now_epoch_s=time.time())
    return folder


@pytest.fixture
def terminal(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    """In a folder with a lab."""
    shutil.copytree(made, tmp_path / "lab")
    return Terminal(tmp_path, monkeypatch, capsys)


def test_the_tool_says_what_to_type_and_its_keys_are_made_once_for_the_owner_alone(terminal: Terminal) -> None:
    outcome = terminal.run("lti", "tool", "--lab", "lab")
    assert outcome.code == 0, outcome.text
    for address in ("launch", "login", "keys"):
        assert f"https://lab.example.org:8742/lti/{address}" in outcome.out
    keys = [terminal.folder / "lab" / "keys" / name for name in ("lti.key", "lti-sessions.key")]
    before = [path.read_bytes() for path in keys]
    if sys.platform != "win32":
        assert [stat.S_IMODE(path.stat().st_mode) for path in keys] == [0o600, 0o600]
    pem = terminal.run("lti", "tool", "--pem", "--lab", "lab")
    assert pem.out == ToolKey.load(keys[0]).public_pem
    assert json.loads(terminal.run("lti", "tool", "--jwk", "--lab", "lab").out)["keys"][0]["kty"] == "RSA"
    assert [path.read_bytes() for path in keys] == before
    assert terminal.run("lti", "tool", "--jwk", "--pem", "--lab", "lab").code == 2


def test_a_moodle_is_written_into_the_settings_that_stay_as_they_are(terminal: Terminal) -> None:
    path = terminal.folder / "lab" / "lab.toml"
    before = path.read_text()
    outcome = terminal.run(*CONNECT, *MOODLE, "--arm", "left", "--course", "42", "--speed", "30")
    assert outcome.code == 0, outcome.text
    assert "next: start the service anew" in outcome.out
    assert path.read_text().startswith(before)
    found = load_lab(path.parent).settings.lti.platforms["moodle"]
    assert (found.issuer, found.login_url) == (
        "https://moodle.example.org",
        "https://moodle.example.org/mod/lti/auth.php",
    )
    assert found.token_url.endswith("/mod/lti/token.php") and found.keys_url.endswith("/mod/lti/certs.php")
    assert (found.arms, found.courses, found.deployments, found.speed_percent) == (("left",), ("42",), ("1",), 30.0)
    again = terminal.run(*CONNECT, *MOODLE)
    assert again.code == 1 and "edit that table instead" in again.err


def test_a_lab_that_is_connected_takes_what_its_course_pages_give_and_is_served(terminal: Terminal) -> None:
    assert terminal.run(*CONNECT, *MOODLE).code == 0
    lab = load_lab(terminal.folder / "lab")
    running = open_lab(lab, arms_of(lab.settings, lab.folder), command="hil serve", say=print)
    site = open_lti(lab, running)
    now_s = int(time.time())
    given = Grant(
        token_id="0" * 16, user="moodle-1", arms=("left",), role=Role.DRIVE, speed_share=0.5, box=None,
        issued_s=now_s, not_before_s=now_s, expires_s=now_s + 60, renewed=True,
    )  # fmt: skip
    visit = issue(given, SigningKey.load(lab.path(lab.settings.lti.session_key)))
    visitor = running.door.admit(visit, name="", says_on_site=True, origin="", now_s=0.0, now_epoch_s=now_s)
    assert (visitor.grant, visitor.on_site) == (given, False)

    async def end() -> None:
        await running.close("the test is over")
        await site.close()

    asyncio.run(end())


def test_a_canvas_has_the_issuer_of_all_and_the_door_of_its_own(terminal: Terminal) -> None:
    assert terminal.run(*CONNECT, "--canvas", "instructure").code == 0
    assert canvas().keys_url == "https://sso.canvaslms.com/api/lti/security/jwks"
    own = canvas("https://canvas.example.org/")
    assert (own.issuer, own.token_url) == (
        "https://canvas.instructure.com",
        "https://canvas.example.org/login/oauth2/token",
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--moodle", "http://moodle.example.org"), "begins with https://"),
        ((*MOODLE, "--arm", "up"), "arms of this lab: left, right"),
        ((*MOODLE, "--instructors", "boss"), "'drive' or 'teach' or 'watch'"),
        (OTHER, "login_url"),
    ],
    ids=["plain", "arm", "role", "address"],
)
def test_what_is_wrong_is_named_and_nothing_is_written(terminal: Terminal, given: tuple[str, ...], words: str) -> None:
    path = terminal.folder / "lab" / "lab.toml"
    before = path.read_text()
    outcome = terminal.run(*CONNECT, *given)
    assert outcome.code == 1 and words in outcome.err
    assert path.read_text() == before


def test_one_kind_of_system_is_named(terminal: Terminal) -> None:
    for given in ((), (*MOODLE, "--canvas", "instructure"), ("--issuer", "https://a")):
        assert terminal.run(*CONNECT, *given).code == 2
    name = ("lti", "connect", "My Moodle", "--client-id", "abc", "--deployment", "1", "--lab", "lab", *MOODLE)
    outcome = terminal.run(*name)
    assert outcome.code == 1 and "small letters, digits and hyphens" in outcome.err


def test_a_lab_without_an_address_or_keys_is_told_so(terminal: Terminal) -> None:
    path = terminal.folder / "lab" / "lab.toml"
    terminal.run(*CONNECT, *MOODLE)
    whole = path.read_text()
    path.write_text(whole.replace('public_url = "https://lab.example.org:8742"\n', ""))
    outcome = terminal.run("lti", "tool", "--lab", "lab")
    assert outcome.code == 1 and "listen.public_url" in outcome.err
    path.write_text(whole.replace('token_keys = ["keys/tokens.pub"]\n', ""))
    outcome = terminal.run("lti", "tool", "--lab", "lab")
    assert outcome.code == 1 and "access.token_keys" in outcome.err


def test_marks_are_listed_and_people_forgotten_by_the_command_that_forgets_tokens(terminal: Terminal) -> None:
    outcome = terminal.run("lti", "marks", "--lab", "lab")
    assert outcome.code == 1 and "hil lti connect NAME" in outcome.err
    terminal.run(*CONNECT, *MOODLE)
    assert json.loads(terminal.run("lti", "marks", "--json", "--lab", "lab").out) == []
    lab = terminal.folder / "lab"
    with contextlib.closing(LtiBook(lab / "lti.sqlite")) as book:
        book.came("moodle-1", "moodle", "3", time.time())
        book.add(Mark(id="a", student="moodle-1", exercise="m/pick", points=7.5, most=10.0, marked_s=1_800_000_000.0))
    outcome = terminal.run("lti", "marks", "--lab", "lab")
    assert outcome.code == 0 and "7.5 of 10" in outcome.out and "waiting" in outcome.out
    (line,) = json.loads(terminal.run("lti", "marks", "--json", "--lab", "lab").out)
    assert (line["subject"], line["words"]) == ("3", "the activity takes no marks")
    assert terminal.run("token", "forget", "moodle-1", "--lab", "lab").code == 0
    assert json.loads(terminal.run("lti", "marks", "--json", "--lab", "lab").out) == []
