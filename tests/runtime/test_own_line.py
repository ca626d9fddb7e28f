"""Where a fake serves its owner alone: on a socket among its owner's files, which no program keeps waiting."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.runtime.kinds.served import LONGEST_SOCKET_PATH, OwnLine, own_line


@pytest.mark.skipif("sys.platform == 'win32'")
def test_it_is_a_socket_in_the_owner_s_folder() -> None:
    assert own_line(Path("/tmp/hil-1"), "cr1") == OwnLine(socket="/tmp/hil-1/cr1", tcp_port=None)


@pytest.mark.skipif("sys.platform == 'win32'")
@pytest.mark.parametrize(("beyond", "tcp_port"), [(0, None), (1, 0)])
def test_a_path_too_long_for_one_makes_it_tcp(beyond: int, tcp_port: int | None) -> None:
    """Reckoned in bytes."""
    name = "cr1\u00e9"
    folder = Path("/" + (LONGEST_SOCKET_PATH + beyond - len(b"//") - len(name.encode())) * "x")
    assert own_line(folder, name).tcp_port == tcp_port


def test_windows_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    assert own_line(Path("hil"), "cr1") == OwnLine(socket=None, tcp_port=0)
