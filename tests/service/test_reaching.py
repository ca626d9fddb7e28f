"""Addresses that people type, and the logins behind them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.errors import ConfigError
from hil.service.connection import logins_dir, only_login, reach
from hil.service.join import Join, save_login
from hil.service.lab_request import Access


@pytest.fixture(autouse=True)
def _nobody_s_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("typed", "url", "arm"),
    [
        ("http://127.0.0.1:8742/arm-1", "http://127.0.0.1:8742", "arm-1"),
        ("127.0.0.1:8742/arm-1", "http://127.0.0.1:8742", "arm-1"),
        ("localhost:8742", "http://localhost:8742", ""),
        ("http://[::1]:8742/left/", "http://[::1]:8742", "left"),
        ("lab.example.org/left", "https://lab.example.org", "left"),
        ("https://example.org/robots/left", "https://example.org/robots", "left"),
    ],
)
def test_an_address_is_a_lab_and_an_arm(typed: str, url: str, arm: str) -> None:
    assert reach(typed) == (Access(url=url, own_server=url.startswith("http:")), arm)


def test_a_login_brings_token_and_certificate(tmp_path: Path) -> None:
    join = Join(lab="lab", url="https://lab.example.org:8742", certificate_sha256="ab" * 32, token="a.b.c")
    save_login(logins_dir(), join)
    access, arm = reach("https://lab.example.org:8742/left")
    assert (access.token, access.certificate_sha256, arm) == ("a.b.c", "ab" * 32, "left")
    assert reach("lab.example.org:8742/left", "other")[0].token == "other"
    assert only_login("hil watch") == "https://lab.example.org:8742"


def test_without_a_login_an_address_has_to_be_given() -> None:
    with pytest.raises(ConfigError, match=r"hil watch: URL: nothing given.*hil login FILE"):
        only_login("hil watch")
