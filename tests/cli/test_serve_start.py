"""What `hil serve` refuses to start with."""

from __future__ import annotations

import threading
import webbrowser
from pathlib import Path
from queue import Queue

import pytest

pytest.importorskip("aiohttp")

from command_line import Terminal

from hil.cli import serve as serving
from hil.service import lab_setup
from hil.service.running_lab import RunningLab
from hil.service.settings import Settings


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that would have been listened on."""
    found: list[str] = []

    async def run(lab: RunningLab, settings: Settings, *_: object) -> None:
        found.append(settings.listen.host)
        await lab.close("the test is over")

    monkeypatch.setattr(serving, "_run", run)
    monkeypatch.setattr(lab_setup, "share_out", lambda plans: {})
    return found


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.7.1", "lab.example.org"])
@pytest.mark.parametrize("arms", [("--demo", "1"), ("lynx6",)])
def test_without_keys_no_address_but_this_computer_s_own_is_served(
    terminal: Terminal, served: list[str], arms: tuple[str, ...], host: str
) -> None:
    refused = terminal.run("serve", *arms, "--host", host)
    assert refused.code != 0
    assert served == []
    for words in (host, "allowed: a loopback address", "access.token_keys", "`hil serve init DIR`"):
        assert words in " ".join(refused.err.split())


def test_the_browser_is_asked_for_the_page_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: Queue[str] = Queue()
    left = threading.Event()

    def in_the_terminal(url: str) -> bool:
        opened.put(url)
        return left.wait(60.0)

    monkeypatch.setattr(webbrowser, "open", in_the_terminal)
    serving._open_page("http://127.0.0.1:8742/arm-1")
    assert opened.get(timeout=60.0) == "http://127.0.0.1:8742/arm-1"
    left.set()


@pytest.mark.parametrize("wish", [[], ["--browser"]])
def test_the_page_is_opened_only_if_asked_for(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, wish: list[str]
) -> None:
    asked: list[object] = []

    async def run(lab: RunningLab, settings: Settings, tls: object, browser: bool, *_: object) -> None:
        asked.append(browser)
        await lab.close("the test is over")

    monkeypatch.setattr(serving, "_run", run)
    monkeypatch.setattr(lab_setup, "share_out", lambda plans: {})
    assert terminal.run("serve", "--demo", "1", *wish).code == 0
    assert asked == [bool(wish)]


def test_this_computer_s_own_address_needs_no_keys(terminal: Terminal, served: list[str]) -> None:
    assert terminal.run("serve", "--demo", "1", "--host", "127.0.0.1").code == 0
    assert served == ["127.0.0.1"]
