"""The lines that a rig gets for where its limp arm does lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.runtime.wiring import load_rig
from hil.units import DEG
from hil.workbench.park_table import park_text

RIG = load_rig("lynx6")


def test_what_lies_elsewhere_is_written_and_can_be_read_back(tmp_path: Path) -> None:
    text = park_text(RIG, {"shoulder": 170.5, "gripper": 12.0}, "Ann", "2026-01-31")
    file = tmp_path / "desk.toml"
    file.write_text(f'inherit = "{RIG.file}"\ntitle = "desk"\n{text}\n', encoding="utf-8")
    rig = load_rig(file, calibrated=False)
    assert rig.park_source == "measured by Ann, 2026-01-31"
    assert rig.axes[1].park == pytest.approx(170.5 * DEG) and rig.axes[-1].park == pytest.approx(0.012)
    assert rig.axes[2].park == RIG.axes[2].park


@pytest.mark.parametrize(("lies", "off"), [(180.0, 4.1), (176.0, 0.1), (175.9, 0.0), (-5.0, 9.1)])
def test_beyond_the_soft_limits_the_nearest_place_inside_is_taken_and_said(lies: float, off: float) -> None:
    text = park_text(RIG, {"shoulder": lies}, "Ann", "2026-01-31")
    assert f"park_deg = {lies - off if lies > 0 else lies + off:g}" in text
    assert (f"it lies {off:.1f} deg beyond the soft limit" in text) == (off > 0.0)
