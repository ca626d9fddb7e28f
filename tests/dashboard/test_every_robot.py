"""Every bundled robot stands in the window's scene at home: whole, large enough to be seen, and on a floor."""

from __future__ import annotations

from qt_ready import require_qt

require_qt()

from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from hil.dashboard.arm import arm_of_rig  # noqa: E402
from hil.dashboard.figures import Trace  # noqa: E402
from hil.dashboard.scene2d import PaintedScene  # noqa: E402
from hil.dashboard.scene_stage import Pose, SceneState  # noqa: E402
from hil.model.files import list_names  # noqa: E402
from hil.runtime.wiring import load_rig  # noqa: E402

ROBOTS = sorted({*list_names("robots"), *list_names("rigs")})
WIDE, HIGH = 640, 480


def pixels(scene: PaintedScene) -> np.ndarray:
    image = scene.grab().toImage()
    data: Any = image.constBits()
    return np.frombuffer(data, np.uint8).reshape(image.height(), image.bytesPerLine() // 4, 4)[..., :3].astype(int)


@pytest.mark.parametrize("name", ROBOTS)
def test_it_is_seen_whole(name: str, qtbot: Any) -> None:
    arm = arm_of_rig(load_rig(name))
    scene = PaintedScene()
    qtbot.addWidget(scene)
    scene.resize(WIDE, HIGH)
    scene.show_arm(arm, Trace())
    scene.fit()
    scene.layers = {"simulated"}
    floor = pixels(scene)
    frames = arm.frames([axis.home for axis in arm.axes])
    assert frames is not None
    scene.show_state(SceneState(simulated=Pose(frames, 0.01)))
    rows, columns = np.nonzero(np.abs(pixels(scene) - floor).sum(axis=2))
    assert len(rows) > 0.01 * WIDE * HIGH, "too small to be seen"
    assert rows.min() > 0 and rows.max() < HIGH - 1, "cut off above or below"
    assert columns.min() > 0 and columns.max() < WIDE - 1, "cut off at a side"
    assert np.ptp(floor.reshape(-1, 3), axis=0).any(), "no floor is drawn"
