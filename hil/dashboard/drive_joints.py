"""One line for each axis: a bar with its limits and marks to drag, buttons to hold, a target to type."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPolygonF
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QSizePolicy, QWidget

from hil.dashboard.differences import Difference, differences
from hil.dashboard.drive_hand import DriveHand
from hil.dashboard.drive_hold import HoldButton
from hil.dashboard.texts import tr
from hil.dashboard.theme import Theme, ink_on
from hil.dashboard.widgets import dress
from hil.errors import InterlockError

MARK = 5.0
"""Half of a mark's width."""


class AxisBar(QWidget):
    """From one soft limit to the other, with what is commanded, simulated, reported, and where the axis shall go.

    Pressed and dragged it sets the target; the arm goes there, at the chosen speed, while it is held.
    """

    def __init__(self, driving: DriveHand, axis: int, theme: Theme, panel: QWidget) -> None:
        super().__init__()
        self._driving, self._axis, self._theme = driving, axis, theme
        self._marks: tuple[float | None, ...] = (None, None, None, None)
        self._difference: Difference | None = None
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocusProxy(panel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(120)
        name = driving.arm.axes[axis].name
        self.setToolTip(tr("Drag and hold: {axis} goes there while you hold", axis=name))
        self.setAccessibleName(tr("{axis}: drag and hold", axis=name))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Marks, and the limits below."""
        return QSize(200, 18 + self.fontMetrics().height())

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        self.update()

    def refresh(self) -> None:
        """Draw anew if a mark has moved."""
        newest, axis = self._driving.session.newest, self._axis
        target = self._driving.targets.get(axis)
        rows = () if newest is None else (newest.commanded, newest.simulated, newest.reported)
        found = [row[axis] if axis < len(row) else None for row in rows] or [None] * 3
        marks = (*found, target)
        difference = differences(self._driving.arm, newest)[axis]
        if marks != self._marks or difference != self._difference:
            self._marks, self._difference = marks, difference
            self.update()

    # -- hands -------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """The target is here, and is gone to while it is held."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._aim(event.position().x())
            self._driving.press_target(self, self._axis)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """The target goes along."""
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._aim(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Let go."""
        self._driving.release(self)

    def _aim(self, x: float) -> None:
        shown = self._driving.arm.axes[self._axis]
        share = (x - MARK) / max(self.width() - 2.0 * MARK, 1.0)
        self._driving.aim(self._axis, shown.lower + min(max(share, 0.0), 1.0) * (shown.upper - shown.lower))
        self.refresh()

    # -- painting ----------------------------------------------------------------------------------------

    def x_of(self, position: float) -> float:
        """Where a position is drawn; never beyond an end."""
        shown = self._driving.arm.axes[self._axis]
        share = (position - shown.lower) / max(shown.upper - shown.lower, 1e-12)
        return MARK + min(max(share, 0.0), 1.0) * (self.width() - 2.0 * MARK)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Groove, limits, marks; each mark with a shape of its own."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, shown = self._theme, self._driving.arm.axes[self._axis]
        height, middle = 18.0, 9.0
        painter.fillRect(QRectF(MARK, middle - 2, self.width() - 2 * MARK, 4), QColor(theme.line))
        painter.setPen(QColor(theme.faint))
        for x in (MARK, self.width() - MARK):
            painter.drawLine(QPointF(x, middle - 5), QPointF(x, middle + 5))
        below = QRectF(0, height, self.width(), self.fontMetrics().height())
        lower, upper = (f"{limit / shown.unit:.0f}" for limit in (shown.lower, shown.upper))
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, lower)
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, upper)
        commanded, simulated, reported, target = self._marks
        self._paint_band(painter, commanded, middle)
        if simulated is not None:
            painter.fillRect(QRectF(self.x_of(simulated) - 1.5, middle - 7, 3, 14), QColor(theme.simulated))
        if reported is not None:
            noted = self._difference is not None and self._difference.noted
            colour = theme.bad if noted else theme.reported
            self._triangle(painter, self.x_of(reported), middle + 1, middle + 9, colour, filled=noted)
        if commanded is not None:
            self._triangle(painter, self.x_of(commanded), middle - 1, middle - 9, theme.commanded, filled=True)
        if target is not None:
            self._diamond(painter, self.x_of(target), middle)
        painter.end()

    def _paint_band(self, painter: QPainter, commanded: float | None, middle: float) -> None:
        """Around the command, as far as the report may be from it before the alarm is raised; the error within it."""
        found, theme = self._difference, self._theme
        if commanded is None or found is None:
            return
        if found.band is not None:
            left, right = self.x_of(commanded - found.band), self.x_of(commanded + found.band)
            painter.fillRect(QRectF(left, middle - 4, right - left, 8), QColor(theme.faint))
        if found.noted:
            ends = sorted((self.x_of(commanded), self.x_of(commanded + found.error)))
            painter.fillRect(QRectF(ends[0], middle - 4, max(ends[1] - ends[0], 2.0), 8), QColor(theme.bad))

    def _triangle(self, painter: QPainter, x: float, tip: float, base: float, colour: str, *, filled: bool) -> None:
        painter.setPen(QColor(colour))
        painter.setBrush(QColor(colour) if filled else Qt.BrushStyle.NoBrush)
        painter.drawPolygon(QPolygonF([QPointF(x, tip), QPointF(x - MARK, base), QPointF(x + MARK, base)]))

    def _diamond(self, painter: QPainter, x: float, y: float) -> None:
        painter.setPen(QColor(self._theme.text))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        corners = [QPointF(x, y - 6), QPointF(x + MARK, y), QPointF(x, y + 6), QPointF(x - MARK, y)]
        painter.drawPolygon(QPolygonF(corners))


class AxisRow:
    """One axis: name, buttons, bar, position, target."""

    def __init__(self, driving: DriveHand, axis: int, theme: Theme, panel: QWidget) -> None:
        self._driving, self._axis, self._shown = driving, axis, driving.arm.axes[axis]
        name, unit = self._shown.name, self._shown.unit_name
        self._name, self._value, self.error = QLabel(f"{driving.arm.keys[axis]}  {name}"), QLabel(), QLabel()
        self.bar = AxisBar(driving, axis, theme, panel)
        self.minus, self.plus = (
            HoldButton(sign, tr("{axis} {sign}, while held (key {sign})", axis=name, sign=sign), panel)
            for sign in ("-", "+")
        )
        self.go = HoldButton(tr("Go"), tr("{axis} goes to its target, while held (key G)", axis=name), panel)
        self.field = QLineEdit()
        self.field.setPlaceholderText(tr("target"))
        self.field.setAccessibleName(tr("target of {axis} in {unit}", axis=name, unit=unit))
        self.field.setToolTip(tr("Type a target; nothing moves until Go is held"))
        metrics = self.bar.fontMetrics()
        self._name.setMinimumWidth(metrics.horizontalAdvance("0  wrist_rotate"))
        self._value.setMinimumWidth(metrics.horizontalAdvance("-000.00 deg"))
        self.error.setFixedWidth(metrics.horizontalAdvance("+00.0 of ±00.0") + 8)
        self.error.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.error.setAccessibleName(tr("error of {axis}", axis=name))
        self._value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.field.setFixedWidth(metrics.horizontalAdvance("-000.00 "))
        self._connect(driving)

    @property
    def widgets(self) -> tuple[QWidget, ...]:
        """From left to right."""
        return self._name, self.minus, self.bar, self.plus, self._value, self.error, self.field, self.go

    def _connect(self, driving: DriveHand) -> None:
        axis = self._axis
        self.minus.taken.connect(lambda: driving.press_axis(self.minus, axis, -1))
        self.plus.taken.connect(lambda: driving.press_axis(self.plus, axis, 1))
        self.go.taken.connect(lambda: driving.press_target(self.go, axis))
        for button in (self.minus, self.plus, self.go):
            button.let_go.connect(lambda button=button: driving.release(button))
        self.field.editingFinished.connect(self._typed)

    def _typed(self) -> None:
        """A typed target counts if it is one; what is none is explained, and nothing moves."""
        given = self.field.text().strip().replace(",", ".")
        if not given or not self.field.isModified():
            return
        self.field.setModified(False)
        try:
            value = float(given)
        except ValueError:
            self._driving.say(tr("{axis}: {given!r} is no number", axis=self._shown.name, given=given))
            return
        try:
            self._driving.aim(self._axis, value * self._shown.unit)
        except InterlockError as error:
            self._driving.say(str(error))

    def refresh(self, theme: Theme) -> None:
        """Say how it is now."""
        driving, axis, shown = self._driving, self._axis, self._shown
        newest = driving.session.newest
        self.bar.refresh()
        here = None if newest is None or axis >= len(newest.commanded) else newest.commanded[axis]
        value = tr("unknown") if here is None else f"{here / shown.unit:z.2f} {shown.unit_name}"
        if self._value.text() != value:
            self._value.setText(value)
        self._value.setEnabled(driving.session.live)
        self._say_error(theme)
        dress(self._name, f"font-weight: 700; color: {theme.accent};" if axis == driving.axis else "")
        target = driving.targets.get(axis)
        if target is not None and not self.field.hasFocus():
            self.field.setText(f"{target / shown.unit:.1f}")

    def _say_error(self, theme: Theme) -> None:
        """Reported less commanded, beside the band that raises the alarm; highlighted as it comes near to it."""
        driving, unit = self._driving, self._shown.unit
        found = differences(driving.arm, driving.session.newest)[self._axis]
        text = "" if found is None else f"{found.error / unit:+.1f}"
        if found is not None and found.band is not None:
            text += f" of ±{found.band / unit:.1f}"
        if self.error.text() != text:
            self.error.setText(text)
        noted = found is not None and found.noted and driving.session.live
        style = f"background: {theme.bad}; color: {ink_on(theme.bad)}; font-weight: 700; border-radius: 3px;"
        dress(self.error, style if noted else f"color: {theme.faint};")
        tip = tr("error: reported less commanded; beyond ± the alarm is raised")
        if self.error.toolTip() != tip:
            self.error.setToolTip(tip)


class JointsPanel(QWidget):
    """All axes of the arm, the gripper last."""

    def __init__(self, driving: DriveHand, theme: Theme, panel: QWidget) -> None:
        super().__init__()
        self._theme = theme
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(5)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(2, 1)
        self.rows = [AxisRow(driving, axis, theme, panel) for axis in range(len(driving.arm.axes))]
        for number, row in enumerate(self.rows):
            for column, widget in enumerate(row.widgets):
                grid.addWidget(widget, number, column)
        self._legend = QLabel()
        self._legend.setTextFormat(Qt.TextFormat.RichText)
        grid.addWidget(self._legend, len(self.rows), 0, 1, 8)
        driving.changed.connect(self.refresh)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Colours from now on."""
        self._theme = theme
        for row in self.rows:
            row.bar.set_theme(theme)
        parts = (
            (theme.commanded, "▼", tr("commanded")), (theme.simulated, "┃", tr("simulated")),
            (theme.reported, "△", tr("reported")), (theme.text, "◇", tr("target: drag it and hold, or type it")),
        )  # fmt: skip
        words = (f'<span style="color:{colour}">{sign}</span> {text}' for colour, sign, text in parts)
        self._legend.setText(" &nbsp; ".join(words))
        self.refresh()

    def refresh(self) -> None:
        """Say how it is now."""
        for row in self.rows:
            row.refresh(self._theme)
