"""Without the packages of the service its commands say what to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from command_line import Terminal


@pytest.mark.parametrize("package", ["jwt", "cryptography"])
def test_a_missing_package_is_one_line_of_advice(
    package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == package or name.startswith(("hil.service.keys", "hil.service.certificates")):
            monkeypatch.delitem(sys.modules, name)
    for name in ("hil.service.setup", "hil.service.tokens"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    outcome = Terminal(tmp_path, monkeypatch, capsys).run("serve", "init", "lab")
    assert outcome.code == 1 and "pip install 'hil-arm-bridge[service]'" in outcome.err
    assert not (tmp_path / "lab").exists()


def test_without_the_library_of_course_pages_the_lab_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal(tmp_path, monkeypatch, capsys)
    assert terminal.run("serve", "init", "lab").code == 0
    for name in list(sys.modules):
        if name.partition(".")[0] == "pylti1p3" or name.startswith("hil.service.lti_"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pylti1p3", None)
    outcome = terminal.run("lti", "tool", "--lab", "lab")
    assert outcome.code == 1 and "pip install 'hil-arm-bridge[lti]'" in outcome.err
