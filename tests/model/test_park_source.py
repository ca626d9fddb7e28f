"""Where a park pose comes from: the rig's file, or somebody who has seen the limp arm lie in it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hil.errors import ConfigError
from hil.model._park_file import park_file, park_source, write_park
from hil.runtime.wiring import load_rig


def test_the_bundled_poses_are_estimates_and_say_so() -> None:
    assert {park_source(load_rig(name)) for name in ("lynx6", "lynx6-4axis", "al5d")} == {"estimate"}


def test_somebody_who_has_seen_it_lie_there_is_named_until_the_pose_changes() -> None:
    rig = load_rig("lynx6")
    file = write_park(rig, 'Zoë "the" builder\x07', "2026-01-31")
    assert file == park_file("lynx6")
    assert park_source(rig) == 'measured by Zoë "the" builder, 2026-01-31'
    axes = (msgspec.structs.replace(rig.axes[0], park=0.1), *rig.axes[1:])
    assert park_source(msgspec.structs.replace(rig, axes=axes)) == "estimate"
    assert park_source(load_rig("lynx6-4axis")) == "estimate"


def test_a_note_that_cannot_be_read_is_told() -> None:
    write_park(load_rig("lynx6"), "Ann", "2026-01-31").write_text("by = ", encoding="utf-8")
    with pytest.raises(ConfigError):
        park_source(load_rig("lynx6"))


@pytest.mark.parametrize("said", ["estimate", "computed", "measured by A. Student, 2026-01-31"])
def test_a_rig_says_where_its_park_pose_comes_from(tmp_path: Path, said: str) -> None:
    rig = load_rig("lynx6", {"park_source": said})
    assert rig.park_source == park_source(rig) == said


@pytest.mark.parametrize("said", ["", "guessed", "measured", "measured by Ann", "measured by Ann, 31.1.2026"])
def test_anything_else_is_refused(said: str) -> None:
    with pytest.raises(ConfigError, match="park_source"):
        load_rig("lynx6", {"park_source": said})
