"""Asking a lab: the pinned certificate or nothing, the token never in the open, refusals in the lab's words."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import pytest
from stub_lab import StubLab, stub_lab

from hil.errors import CommandError, LinkError
from hil.service.lab_request import Access, RefusedByLabError, ask
from hil.service.wire import BookingWish, Code, Refused

TOKEN = "secret.secret.secret"


@pytest.fixture
def lab(tmp_path: Path) -> StubLab:  # type: ignore[misc]
    with stub_lab(tmp_path, now_epoch_s=time.time()) as running:
        yield running  # type: ignore[misc]


def test_the_token_goes_in_a_header_to_the_pinned_certificate(lab: StubLab) -> None:
    access = Access(url=f"{lab.url}/prefix/", token=TOKEN, certificate_sha256=lab.certificate_sha256)
    wish = BookingWish(arm="left", begin_epoch_s=None, minutes=10)
    lab.body = b'{"answer":1}'
    assert ask(access, "POST", "/v1/bookings", wish) == lab.body
    assert lab.asked == [("POST", "/prefix/v1/bookings", f"Bearer {TOKEN}", msgspec.json.encode(wish))]
    assert "secret" not in repr(access)


def test_another_certificate_is_told_nothing(lab: StubLab) -> None:
    with pytest.raises(LinkError, match="another certificate") as refused:
        ask(Access(url=lab.url, token=TOKEN, certificate_sha256="ab" * 32), "GET", "/v1/lab")
    assert lab.asked == [] and "secret" not in str(refused.value)


def test_without_a_fingerprint_an_authority_has_to_vouch(lab: StubLab) -> None:
    with pytest.raises(LinkError, match="cannot be reached"):
        ask(Access(url=lab.url, token=TOKEN), "GET", "/v1/lab")
    assert lab.asked == []


@pytest.mark.parametrize("url", ["ftp://lab", "lab", "", "https://", "http://[", "https://lab:port"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(CommandError, match="allowed: as https"):
        ask(Access(url=url), "GET", "/v1/lab")


def test_no_token_goes_over_an_open_line() -> None:
    with pytest.raises(CommandError, match="not encrypted"):
        ask(Access(url="http://lab.example.org", token=TOKEN), "GET", "/v1/lab")


def test_on_this_computer_no_encryption_is_needed(tmp_path: Path) -> None:
    with stub_lab(tmp_path) as lab:
        assert ask(Access(url=lab.url, token=TOKEN), "GET", "/v1/lab") == b"{}"


def test_a_refusal_is_told_in_the_labs_words(lab: StubLab) -> None:
    refused = Refused(to=0, now_s=1.0, code=Code.UNAVAILABLE, reason="left is in fault")
    lab.status, lab.body = 503, msgspec.json.encode(refused)
    access = Access(url=lab.url, certificate_sha256=lab.certificate_sha256)
    with pytest.raises(RefusedByLabError, match="left is in fault") as error:
        ask(access, "GET", "/v1/lab")
    assert error.value.refused == refused
    for status, body in ((404, b"<html>"), (302, b"")):
        lab.status, lab.body = status, body
        with pytest.raises(LinkError, match=f"answers {status}"):
            ask(access, "GET", "/v1/lab")


def test_a_lab_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with stub_lab(tmp_path) as lab:
        url = lab.url
    with pytest.raises(LinkError, match="cannot be reached"):
        ask(Access(url=url), "GET", "/v1/lab")
