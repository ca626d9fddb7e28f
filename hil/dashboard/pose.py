"""Where the tool is: X Y Z A B C and the 4x4 matrix, of the simulated, commanded or reported arm."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QComboBox, QFormLayout, QLabel, QVBoxLayout, QWidget

from hil.dashboard.pace import Pace
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.kinematics.poses import Convention, pose_to_xyzabc
from hil.units import MM

LOOK_EVERY_MS = 100
WHOSE = ("simulated", "commanded", "reported")
NOT_KNOWN = "-"


class PoseView(QWidget):
    """Numbers of the tool frame in the world."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.whose = QComboBox()
        self.whose.addItems([tr(name) for name in WHOSE])
        self.whose.setAccessibleName(tr("Which arm"))
        self.convention = QComboBox()
        self.convention.addItems([convention.value for convention in Convention])
        self.convention.setAccessibleName(tr("What A, B and C mean"))
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        self.place, self.angles, self.matrix = QLabel(), QLabel(), QLabel()
        self._trace = QLabel()
        for label in (self.place, self.angles, self.matrix, self._trace):
            label.setFont(fixed)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        form = QFormLayout()
        form.addRow(tr("Arm"), self.whose)
        form.addRow(tr("Angles"), self.convention)
        form.addRow(tr("X Y Z"), self.place)
        form.addRow(tr("A B C"), self.angles)
        form.addRow(tr("Matrix"), self.matrix)
        form.addRow(tr("Trace"), self._trace)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.addLayout(form)
        layout.addStretch(1)
        self._pace = Pace(session.calm, self.refresh, LOOK_EVERY_MS, self, behind=False)

    def refresh(self) -> None:
        """Say where it is now."""
        session = self._session
        frame, arm = session.newest, session.arm
        if frame is None or arm is None or not self.isVisible():
            return
        self._trace.setText(tr("{length:.1f} mm long", length=session.trace.length_m / MM))
        frames = arm.frames(getattr(frame, WHOSE[self.whose.currentIndex()]))
        if frames is None:
            for label in (self.place, self.angles, self.matrix):
                label.setText(NOT_KNOWN)
            return
        pose = frames[-1]
        told = pose_to_xyzabc(pose, list(Convention)[self.convention.currentIndex()])
        self.place.setText(f"{told.x_mm:z9.2f} {told.y_mm:z9.2f} {told.z_mm:z9.2f} mm")
        note = "" if told.separate else f"  {tr(told.note)}"
        self.angles.setText(f"{told.a_deg:z9.2f} {told.b_deg:z9.2f} {told.c_deg:z9.2f} deg{note}")
        rows = ["".join(f"{value:z9.4f}" for value in row) for row in pose.tolist()]
        self.matrix.setText("\n".join(rows))
