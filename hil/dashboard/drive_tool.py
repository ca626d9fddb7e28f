"""The pad for the tool: along and about the axes of the world or of the tool, each with its two buttons to hold."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.drive_hold import HoldButton
from hil.dashboard.drive_moves import LINES, Direction, turns_of
from hil.dashboard.texts import tr

KEYS = {
    (0, 1): Qt.Key.Key_W,
    (0, -1): Qt.Key.Key_S,
    (1, 1): Qt.Key.Key_A,
    (1, -1): Qt.Key.Key_D,
    (2, 1): Qt.Key.Key_R,
    (2, -1): Qt.Key.Key_F,
    (3, 1): Qt.Key.Key_U,
    (3, -1): Qt.Key.Key_J,
    (4, 1): Qt.Key.Key_I,
    (4, -1): Qt.Key.Key_K,
    (5, 1): Qt.Key.Key_O,
    (5, -1): Qt.Key.Key_L,
}
"""Per place on the pad and sign its key: W A S D as seen from behind the arm, with A to the left."""

NAMES = {Direction.PITCH: "Pitch", Direction.ROLL: "Roll", Direction.A: "A", Direction.B: "B", Direction.C: "C"}


class ToolPanel(QWidget):
    """Six directions; what the arm cannot do has no button but a reason."""

    def __init__(self, driving: DriveHand, panel: QWidget) -> None:
        super().__init__()
        self._driving = driving
        self.directions = (*LINES, *(turn.direction for turn in turns_of(driving.arm)))
        self.buttons: dict[tuple[Direction, int], HoldButton] = {}
        self._labels: dict[Direction, QLabel] = {}
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(6)
        why_not = {turn.direction: turn.why_not for turn in turns_of(driving.arm)}
        for place, direction in enumerate(self.directions):
            cell = self._cell(place, direction, why_not.get(direction, ""), panel)
            grid.addLayout(cell, place // 3, place % 3)
            grid.setColumnStretch(place % 3, 1)
        self.refresh()

    def _cell(self, place: int, direction: Direction, why_not: str, panel: QWidget) -> QVBoxLayout:
        yaw = direction is Direction.C and Direction.PITCH in self.directions
        label = self._labels[direction] = QLabel(tr("Yaw" if yaw else NAMES.get(direction, direction.value)))
        cell, row = QVBoxLayout(), QHBoxLayout()
        cell.setSpacing(1)
        cell.addWidget(label)
        cell.addLayout(row)
        if why_not:
            reason = QLabel(why_not)
            reason.setWordWrap(True)
            reason.setEnabled(False)
            row.addWidget(reason, 0, Qt.AlignmentFlag.AlignTop)
            return cell
        for sign in (-1, 1):
            key = KEYS[place, sign].name.removeprefix("Key_")
            shown = "+" if sign > 0 else "-"
            tip = tr("tool {direction} {sign} while held (key {key})", direction=direction.value, sign=shown, key=key)
            button = self.buttons[direction, sign] = HoldButton(f"{shown}   [{key}]", tip, panel)
            self._connect(button, direction, sign)
            row.addWidget(button, 1)
        return cell

    def _connect(self, button: HoldButton, direction: Direction, sign: int) -> None:
        button.taken.connect(lambda: self._driving.press_tool(button, direction, sign))
        button.let_go.connect(lambda: self._driving.release(button))

    def pressed(self, source: object, key: int) -> bool:
        """A key of the pad goes down; False if it is none."""
        for (place, sign), mine in KEYS.items():
            if key == mine:
                self._driving.press_tool(source, self.directions[place], sign)
                return True
        return False

    def refresh(self) -> None:
        """Say where the tool is."""
        newest = self._driving.session.newest
        place = None if newest is None else newest.tool_m
        for index, direction in enumerate(LINES):
            where = tr("unknown") if place is None else f"{1e3 * place[index]:z.1f} mm"
            self._labels[direction].setText(f"{direction.value}   {where}")
