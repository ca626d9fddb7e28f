"""What people see of a lab's calendar, and its owner of the audit."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from command_line import Terminal
from stub_lab import stub_lab

from hil.service.audit import AuditLog, Deed, Now, audit_files
from hil.service.issued import issued
from hil.service.keys import SigningKey
from hil.service.settings import load_lab
from hil.service.setup import make_lab
from hil.service.wire import ArmSummary, Booking, Bookings, Lab, LeaseBrief, LeasePhase
from hil.types import Mode

NOW = Now(epoch_s=1_800_000_000.0, monotonic_s=10.0)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def slots(**more: object) -> bytes:
    mine = Booking(id="7", arm="left", begin_epoch_s=NOW.epoch_s, end_epoch_s=NOW.epoch_s + 600, yours=True)
    other = Booking(id="8", arm="left", begin_epoch_s=NOW.epoch_s + 600, end_epoch_s=NOW.epoch_s + 900)
    return msgspec.json.encode(Bookings(arm="left", bookable=True, bookings=(mine, other), **more))  # type: ignore[arg-type]


def test_a_calendar_is_shown_booked_and_cancelled(terminal: Terminal) -> None:
    with stub_lab(terminal.folder) as lab:
        lab.body = slots()
        shown = terminal.run("book", f"{lab.url}/left")
        assert shown.code == 0 and "you" in shown.out and "taken" in shown.out
        lab.body = slots(granted="7")
        booked = terminal.run("book", lab.url, "--arm", "left", "--minutes", "10", "--from", "2027-01-15 09:00")
        assert booked.code == 0 and booked.out.startswith("booked: slot 7 on left, 2027-01-15 ")
        assert terminal.run("book", lab.url, "--cancel", "7/../8").code == 0
        assert [(method, path) for method, path, _, _ in lab.asked] == [
            ("GET", "/v1/arms/left/bookings"),
            ("POST", "/v1/bookings"),
            ("DELETE", "/v1/bookings/7%2F..%2F8"),
        ]
        assert msgspec.json.decode(lab.asked[1][3])["minutes"] == 10


def test_an_arm_that_cannot_be_booked_says_why(terminal: Terminal) -> None:
    with stub_lab(terminal.folder) as lab:
        lab.body = msgspec.json.encode(Bookings(arm="left", bookable=False, bookings=(), why_not="left is in fault"))
        assert "cannot be booked now: left is in fault" in terminal.run("book", lab.url, "--arm", "left").out
        brief = LeaseBrief(phase=LeasePhase.FREE, epoch=1)
        arm = ArmSummary(
            arm="left",
            title="A [b]",
            robot="lynx6",
            real=False,
            mode=Mode.IDLE,
            lease=brief,
            bookable=False,
            why_not="no",
        )
        lab.body = msgspec.json.encode(Lab(server="x", now_s=1.0, now_epoch_s=1.0, arms=(arm,)))
        listed = terminal.run("book", lab.url)
        assert "A [b]" in listed.out and "FAKE" in listed.out


@pytest.mark.parametrize(
    "arguments", [("--cancel", "7", "--arm", "a"), ("--from", "14:00", "--arm", "a"), ("--minutes", "10")]
)
def test_options_that_do_not_go_together_are_bad_usage(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    assert terminal.run("book", "http://127.0.0.1:1", *arguments).code == 2


def test_without_a_login_an_address_is_needed(terminal: Terminal) -> None:
    outcome = terminal.run("book")
    assert outcome.code == 1 and "hil login FILE" in outcome.err


@pytest.fixture
def audited(terminal: Terminal) -> Path:
    folder = terminal.folder / "lab"
    seeds = (bytes(range(32)), bytes(range(1, 33)))
    make_lab(folder, name="Lab", hosts=(), arms={"left": "lynx6"}, seeds=seeds, now_epoch_s=NOW.epoch_s)
    assert terminal.run("token", "new", "Ana [x]", "--for", "3h", "--lab", "lab").code == 0
    lab = load_lab(folder)
    token_id = issued(lab.issued)[0].token_id
    log = AuditLog(lab.path("audit"), SigningKey.load(lab.path("keys/audit.key")), NOW, retention_days=90)
    log.note(Deed(who=token_id, role="drive", what="claim", verdict="done", arm="left", origin="192.168.7.0/24"), NOW)
    log.note(Deed(who="", what="log in", verdict="refused", detail="[/bold]\x1b[2J"), NOW)
    log.close("test", msgspec.structs.replace(NOW, epoch_s=NOW.epoch_s + 60))
    return folder


def test_an_audit_is_verified_and_its_head_noted_down(terminal: Terminal, audited: Path) -> None:
    outcome = terminal.run("audit", "verify", "--lab", "lab")
    assert outcome.code == 0 and "whole: " in outcome.out
    head = outcome.out.split()[-1]
    assert terminal.run("audit", "verify", "--lab", "lab", "--head", head).code == 0
    assert terminal.run("audit", "verify", "--lab", "lab", "--head", "0" * 64).code == 1
    path = audit_files(audited / "audit")[0]
    path.write_bytes(path.read_bytes().replace(b"claim", b"blame"))
    changed = terminal.run("audit", "verify", "--lab", "lab")
    assert changed.code == 1 and "broken at " in changed.out


def test_deeds_are_listed_by_name_and_steer_no_terminal(terminal: Terminal, audited: Path) -> None:
    outcome = terminal.run("audit", "show", "--lab", "lab")
    lines = outcome.out.splitlines()
    assert "  Ana [x] (drive)  left  claim: done  from 192.168.7.0/24" in lines[0]
    assert lines[1].endswith("  -  -  log in: refused  [/bold]?[2J") and "the clock was set by +60 s" in lines[2]
    mine = json.loads(terminal.run("audit", "show", "--name", "Ana [x]", "--arm", "left", "--lab", "lab", "--json").out)
    assert (mine[0]["name"], mine[0]["entry"]["data"]["what"]) == ("Ana [x]", "claim")
    assert terminal.run("audit", "show", "--name", "Ben", "--lab", "lab").code == 1
    assert json.loads(terminal.run("audit", "show", "--lab", "lab", "--until", "2020-01-01", "--json").out) == []
