"""Join files, logins and class lists: what people carry home, and what spreadsheets make of it."""

from __future__ import annotations

import contextlib
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import ConfigError
from hil.service.grants import Grant
from hil.service.issued import forget, issued, remember
from hil.service.join import Join, find_login, join_text, logins, read_join, save_login, write_join
from hil.service.rights import Role
from hil.service.rosters import RosterRow, read_roster

JOIN = Join(lab="Lab", url="https://lab.example.org:8742", certificate_sha256="ab" * 32, token="a.b.c")
ARMS = ("left", "right")


@given(
    st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=50),
    st.sampled_from(["", "0f" * 32]),
)
def test_a_join_file_says_what_it_was_made_of(lab: str, certificate: str) -> None:
    join = Join(lab=lab, url=JOIN.url, certificate_sha256=certificate, token=JOIN.token)
    assert read_join(Path("x"), join_text(join).encode()) == join


def test_no_token_is_shown_by_accident() -> None:
    secret = Join(lab="Lab", url=JOIN.url, certificate_sha256="", token="secret.secret.secret")
    assert "secret" not in f"{secret} {secret!r}"
    for text in ('token = "secret word"', 'token = "secret', "secret = 1", 'lab = "secret"\ntoken = ["secret"]'):
        with pytest.raises(ConfigError) as refused:
            read_join(Path("x"), text.encode())
        assert "secret word" not in str(refused.value) and "['secret']" not in str(refused.value)


def test_a_join_file_cannot_take_the_terminal_over() -> None:
    with pytest.raises(ConfigError, match="lab"):
        read_join(Path("x"), join_text(JOIN).replace('"Lab"', '"\\u001b[2J"').encode())


def test_something_else_is_no_join_file() -> None:
    for data in (b"\xff\xfe", b"x" * 20_000, b"[", b""):
        with pytest.raises(ConfigError):
            read_join(Path("x"), data)


def test_a_login_is_found_however_its_address_is_typed(tmp_path: Path) -> None:
    path = save_login(tmp_path / "logins", JOIN)
    folder = tmp_path / "logins"
    for url in ("https://lab.example.org:8742", "https://LAB.example.org:8742/", "lab.example.org:8742"):
        assert find_login(folder, url) == (JOIN, "")
        assert find_login(folder, f"{url.rstrip('/')}/left") == (JOIN, "left")
    for url in ("https://lab.example.org", "http://lab.example.org:8742", "https://lab.example.org:8742/a/b", "", "x/"):
        assert find_login(folder, url) == (None, "")
    with pytest.raises(ConfigError, match="an address as"):
        find_login(tmp_path, "https://lab:port")
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_newer_login_takes_the_place_of_the_older(tmp_path: Path) -> None:
    save_login(tmp_path, JOIN)
    newer = Join(lab="Lab", url=JOIN.url, certificate_sha256="", token="d.e.f")
    save_login(tmp_path, newer)
    assert logins(tmp_path) == [newer]


def test_no_join_file_is_written_over(tmp_path: Path) -> None:
    write_join(tmp_path / "a", JOIN)
    with pytest.raises(ConfigError, match="nothing is overwritten"):
        write_join(tmp_path / "a", JOIN)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("beginning", ["", "\ufeff"])
def test_a_class_is_read_as_spreadsheets_write_it(mark: str, beginning: str) -> None:
    lines = ["Name,Arm,Role,speed_percent,until", "Ana López,left right,,30,2026-12-24", "Ben,*,watch,,", ",,,,"]
    text = beginning + "\r\n".join(lines).replace(",", mark)
    assert read_roster(text.encode(), "class.csv", ARMS) == (
        RosterRow(
            user="Ana López", arms=("left", "right"), role=None, speed_percent=30.0, begin=None, end="2026-12-24"
        ),
        RosterRow(user="Ben", arms=("*",), role=Role.WATCH, speed_percent=None, begin=None, end=None),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "each column once, `name`"),
        ("arm\nleft\n", "each column once, `name`"),
        ("name,name\nAna,Ben\n", "each column once"),
        ("name\n", "a row for each person"),
        ("name,rol\nAna,drive\n", "Did you mean 'role'"),
        ("name,role\nAna,owner\n", "row 2, role: 'owner' given; allowed: watch, drive, teach, maintain"),
        ("name,arm\nAna,up\n", "row 2, arm: 'up' given; allowed: left, right, or"),
        ("name,arm\nAna\n", "row 2: 1 given; allowed: 2 cells"),
        ("name\nAna\nana\n", "row 3, name: 'ana' given; allowed: a name that no row above has"),
        ("name,speed_percent\nAna,fast\n", "row 2, speed_percent: 'fast' given; allowed: above 0 to 100"),
        ("name,speed_percent\nAna,nan\n", "above 0 to 100"),
        ('name\n"Ana\n', "each opening quote closed"),
        ("name,arm\n\u202eAna,left\n", "row 2, name"),
    ],
)
def test_a_wrong_class_names_row_column_and_what_is_allowed(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_roster(text.encode(), "class.csv", ARMS)


def test_a_class_in_an_old_encoding_is_refused_with_advice() -> None:
    with pytest.raises(ConfigError, match="Save the table as CSV UTF-8"):
        read_roster("name\nJosé\n".encode("latin-1"), "class.csv", ARMS)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_class_or_refused_in_words(data: bytes) -> None:
    with contextlib.suppress(ConfigError):
        read_roster(data, "class.csv", ARMS)


def test_issued_tokens_are_listed_and_people_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "issued.jsonl"
    assert issued(path) == []
    grants = [
        Grant(
            token_id=f"{index:016x}",
            user=user,
            arms=("left",),
            role=Role.DRIVE,
            speed_share=0.5,
            box=None,
            issued_s=0,
            not_before_s=0,
            expires_s=100 * index + 100,
        )
        for index, user in enumerate(["Ana", "Ben", "Ana", "Cem"])
    ]
    remember(path, grants[:2])
    remember(path, grants[2:])
    assert issued(path) == grants
    assert forget(path, user="Ana") == 2 and forget(path, user="Ana") == 0
    assert forget(path, ended_before_s=300.0) == 1
    assert [grant.user for grant in issued(path)] == ["Cem"]
    path.write_bytes(b"x\n")
    with pytest.raises(ConfigError, match="line 1"):
        issued(path)
