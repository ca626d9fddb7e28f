"""A fake of one's own is nobody else's: a rig that is taken keeps nobody from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.errors import InterlockError
from hil.model.files import state_dir
from hil.runtime.host import Host
from hil.runtime.lock import RigLock
from hil.runtime.wiring import load_rig
from hil.types import Mode

pytestmark = [pytest.mark.processes, pytest.mark.wall_clock]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))


def test_a_fake_is_started_beside_a_locked_rig_and_a_real_one_is_not(tmp_path: Path) -> None:
    rig = load_rig("lynx6")
    with RigLock(state_dir(), rig.id, command="hil serve lynx6 --hardware"):
        with Host(rig, url=None, journal=tmp_path / "one.mcap", command="hil jog lynx6") as host:
            host.wait_for(Mode.UNKNOWN_POSE, 60.0)
        real = Host(rig, url="/dev/null", journal=tmp_path / "two.mcap", command="hil jog lynx6 --hardware")
        with pytest.raises(InterlockError, match="hil serve lynx6 --hardware"):
            real.__enter__()
