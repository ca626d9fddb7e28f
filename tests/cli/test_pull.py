"""hil pull: an arm's rig as files that mean the same at home, and nothing else written anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.cli.pull import write_rig
from hil.errors import ConfigError, LinkError
from hil.runtime.wiring import load_rig
from hil.service.rig_copy import pulled
from hil.service.wire import PulledRig, RigFile


def with_file(name: str) -> PulledRig:
    return PulledRig(arm="a", digest="", files=(RigFile(name="rigs/a.toml", text=""), RigFile(name=name, text="")))


def test_a_pulled_rig_means_the_same(tmp_path: Path) -> None:
    rig = load_rig("lynx6", calibrated=False)
    file = write_rig(pulled("left", rig), tmp_path / "left")
    assert load_rig(file, calibrated=False).digest == rig.digest
    write_rig(pulled("left", rig), tmp_path / "left")


@pytest.mark.parametrize(
    "name",
    [
        "../evil.toml",
        "rigs/../../evil.toml",
        "/etc/evil.toml",
        "rigs/evil.py",
        "rigs/a/b.toml",
        "rigs/a\n.toml",
        "rigs/.toml",
        "rigs/a.toml",
        "rigs/..toml",
    ],
)
def test_a_lab_cannot_write_where_it_likes(name: str, tmp_path: Path) -> None:
    with pytest.raises(LinkError, match="nothing was written"):
        write_rig(with_file(name), tmp_path / "left")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="other things in it"):
        write_rig(pulled("left", load_rig("lynx6", calibrated=False)), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
