"""What the arm's files say, and what they do not: limits, DH rows, home, masses, sources."""

from __future__ import annotations

from html import escape

from PySide6.QtWidgets import QTextBrowser, QVBoxLayout, QWidget

from hil.dashboard.arm import ShownArm
from hil.dashboard.session import Session
from hil.dashboard.texts import tr
from hil.model.robot import Joint
from hil.model.specification import NOT_GIVEN, controller_lines, home_text, inertia_lines, longest_reach_m, unit_of
from hil.units import DEG, MM


class SpecificationView(QWidget):
    """A page of numbers, written once for every arm."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.page = QTextBrowser()
        self.page.setAccessibleName(tr("What is known of the robot"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.page)
        session.arm_changed.connect(self.write)
        if session.arm is not None:
            self.write()

    def write(self) -> None:
        """The page of the arm that is shown."""
        assert self._session.arm is not None
        self.page.setHtml(page_of(self._session.arm))


def page_of(arm: ShownArm) -> str:
    """The page as HTML."""
    model = arm.model
    reach = longest_reach_m(model)
    lines = [
        (tr("maker"), model.manufacturer or NOT_GIVEN),
        (tr("reach, stretched out"), NOT_GIVEN if reach is None else f"{reach / MM:.1f} mm"),
        (tr("payload"), NOT_GIVEN if model.payload_kg is None else f"{model.payload_kg:g} kg"),
        (tr("mass"), NOT_GIVEN if model.mass_kg is None else f"{model.mass_kg:g} kg"),
        (tr("home"), home_text(model)),
        (tr("inverse kinematics"), arm.robot.closed_form_family or tr("by iteration")),
        (tr("source"), model.source),
        (tr("status"), model.status),
    ]
    facts = "".join(f"<tr><td>{escape(name)}&nbsp;</td><td>{escape(text)}</td></tr>" for name, text in lines)
    heads = "".join(f"<th align='right'>&nbsp;{escape(head)}</th>" for head in _HEADS)
    rows = "".join(f"<tr>{''.join(_cells(joint))}</tr>" for joint in model.joints)
    rest = "".join(f"<p>{escape(line)}</p>" for line in (*inertia_lines(model), *controller_lines(model), *model.notes))
    return (
        f"<h3>{escape(model.title)}</h3><table>{facts}</table>"
        f"<h4>{escape(tr('Joints, standard DH'))}</h4><table><tr>{heads}</tr>{rows}</table>{rest}"
    )


_HEADS = ("joint", "d mm", "theta deg", "a mm", "alpha deg", "lower", "upper", "speed")


def _cells(joint: Joint) -> list[str]:
    unit, name = unit_of(joint)
    given = [
        NOT_GIVEN if value is None else f"{value / unit:z.6g}" for value in (joint.lower, joint.upper, joint.max_speed)
    ]
    limits = [
        text if text == NOT_GIVEN else f"{text} {name}{per}" for text, per in zip(given, ("", "", "/s"), strict=True)
    ]
    numbers = (joint.d_m / MM, joint.theta_rad / DEG, joint.a_m / MM, joint.alpha_rad / DEG)
    cells = [escape(joint.name), *(f"{value:z.6g}" for value in numbers), *limits]
    return [f"<td align='right'>&nbsp;{cell}</td>" for cell in cells]
