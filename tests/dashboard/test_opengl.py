"""The scene in OpenGL, in a process and on a virtual display of its own: off screen there is no OpenGL."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from qt_ready import require_qt

require_qt()

SCRIPT = """
import sys
import numpy as np
from PySide6.QtCore import QSettings, Qt
from PySide6.QtTest import QTest
from hil.dashboard.application import make_application
from hil.dashboard.arm import arm_of_rig
from pretend import PretendLink
from hil.dashboard.probe import check
from hil.dashboard.session import Figure, Session
from hil.dashboard.theme import LIGHT
from hil.dashboard.window import Window
from hil.runtime.wiring import load_rig

if not check():
    sys.exit(77)
app = make_application()
link = PretendLink(arm_of_rig(load_rig("lynx6")))
session = Session(link)
window = Window(session, QSettings(sys.argv[1], QSettings.Format.IniFormat), opengl=True, size=(1000, 700))
window.show()
link.begin()
scene = window.live.scene
window.live.show_layer("DH frames", True)
for number in range(40):
    link.advance(0.04)
    session.take()
    window.live.refresh()
    app.processEvents()
    if number == 20:
        window.set_theme(LIGHT)
picture = scene.grabFramebuffer()
colours = {picture.pixel(x, y) for x in range(0, picture.width(), 7) for y in range(0, picture.height(), 7)}
assert len(colours) > 20, len(colours)
way = np.array([[[0.1, 0.0, 0.1], [0.3, 0.0, 0.4]]])
session.figure = Figure(tuple(axis.home for axis in session.arm.axes), frozenset({"palm"}), way, "previewed")
link.advance(0.04)
session.take()
window.live.refresh()
assert all(item.visible() for item in scene._previewed)
assert [name for name, item in scene._failing.items() if item.visible()] == ["palm"]
pixels = [(x, y) for x in range(0, picture.width(), 3) for y in range(0, picture.height(), 3)]
def changed():
    app.processEvents()
    previewed = scene.grabFramebuffer()
    return sum(picture.pixel(*at) != previewed.pixel(*at) for at in pixels) > 200
for _ in range(400):
    if changed():
        break
    QTest.qWait(50)
else:
    sys.exit("the previewed arm is not drawn")
session.figure = None
link.advance(0.04)
session.take()
window.live.refresh()
assert not any(item.visible() for item in scene._previewed)
before = scene.camera
QTest.keyClick(scene, Qt.Key.Key_Left)
assert scene.camera != before
QTest.keyClick(scene, Qt.Key.Key_Escape)
QTest.keyClick(scene, Qt.Key.Key_Space)
assert len(link.stops) == 2, link.stops
QTest.keyClick(scene, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
assert window.docks["plots"].isAncestorOf(window.focusWidget())
QTest.keyClick(scene, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
assert window.docks["plots"].isHidden()
window.bring(window.docks["lessons"])
shell = window.views["lessons"].shell
for name in ("dh", "solutions"):
    shell.show_view(name)
    shell.time_bar.look(1.5)
    for _ in range(400):
        app.processEvents()
        picture = shell.scene.grabbed()
        pixels = [(x, y) for x in range(0, picture.width(), 3) for y in range(0, picture.height(), 3)]
        if len({picture.pixel(*at) for at in pixels}) > 20:
            break
        QTest.qWait(50)
    else:
        sys.exit(f"nothing is drawn of the lesson {name}")
window.close()
"""


@pytest.mark.processes
def test_the_scene_is_drawn_in_opengl_and_its_keys_stop_and_turn(tmp_path: object) -> None:
    if shutil.which("xvfb-run") is None or shutil.which("xauth") is None:
        pytest.skip("no virtual display here: xvfb-run and xauth are needed")
    command = ["xvfb-run", "-a", "-s", "-screen 0 1280x800x24", sys.executable, "-c", SCRIPT, f"{tmp_path}/layout.ini"]
    environment = {name: value for name, value in os.environ.items() if name != "QT_QPA_PLATFORM"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    child = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment, check=False)
    if child.returncode == 77:
        pytest.skip("the virtual display has no OpenGL")
    assert child.returncode == 0, child.stdout + child.stderr
    assert not child.stderr.strip()
