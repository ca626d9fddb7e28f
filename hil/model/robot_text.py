"""A robot as the text of its TOML file, which loads back to the same robot; and a template to fill in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hil.model.robot import ControllerMap, Joint, JointType, LinkInertia, RobotModel, Transform
from hil.tables import toml_value
from hil.units import DEG, MM


def robot_text(model: RobotModel, heading: Sequence[str] = ()) -> str:
    """The file of a robot: millimetres, degrees, standard DH rows, inertia in the distal frames.

    Args:
        model: the robot; `id` and `file` are the file's own and are not in it.
        heading: lines of comment on top.
    """
    lines = [*(f"# {line}".rstrip() for line in heading), *([""] if heading else []), *_top(model)]
    for key, transform in (("base", model.base), ("tool", model.tool)):
        if transform != _IDENTITY:
            lines += ["", f"[{key}]", *_transform(transform)]
    if model.controller_map is not None:
        lines += ["", "[controller_map]", *_controller_map(model.controller_map)]
    for index, joint in enumerate(model.joints):
        home = None if model.home is None else model.home[index]
        lines += ["", "[[joints]]", *_joint(joint, home)]
        if model.inertia is not None:
            lines += ["[joints.inertia]", *_inertia(model.inertia[index])]
    return "\n".join(lines) + "\n"


def template(title: str) -> str:
    """A commented file for a robot of two joints; it loads once the empty texts are filled in."""
    return _TEMPLATE.replace("@TITLE@", toml_value(title))


def number(value: float, unit: float = 1.0) -> str:
    """The shortest number that is this value once multiplied by `unit`."""
    given = value / unit
    for digits in range(1, 18):
        text = f"{given:.{digits}g}"
        if float(text) * unit == value:
            return _plain(text)
    # Not every double is a product with the unit: then the next one is as near as can be.
    near = (given, math.nextafter(given, math.inf), math.nextafter(given, -math.inf))
    return repr(min(near, key=lambda each: abs(each * unit - value)))


def _plain(text: str) -> str:
    """Without an exponent where that is as short: 100 instead of 1e+02."""
    value = float(text)
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e9 else repr(value)


_IDENTITY: Transform = tuple((float(i == 0), float(i == 1), float(i == 2), float(i == 3)) for i in range(4))


def _top(model: RobotModel) -> list[str]:
    texts = {
        "title": model.title,
        "manufacturer": model.manufacturer,
        "convention": "standard",
        "status": model.status,
        "source": model.source,
        "licence_note": model.licence_note,
        "inertia_status": model.inertia_status,
    }
    lines = [f"{key} = {toml_value(text)}" for key, text in texts.items() if text]
    for key, items in (("verified_against", model.verified_against), ("notes", model.notes)):
        if items:
            lines += [f"{key} = [", *(f"  {toml_value(item)}," for item in items), "]"]
    for key, value in (("payload_kg", model.payload_kg), ("mass_kg", model.mass_kg)):
        if value is not None:
            lines.append(f"{key} = {number(value)}")
    if model.inertia is not None:
        lines.append('inertia_frame = "distal"')
    return lines


def _joint(joint: Joint, home: float | None) -> list[str]:
    revolute = joint.type is JointType.REVOLUTE
    word, unit = ("deg", DEG) if revolute else ("mm", MM)
    lines = [
        f"name = {toml_value(joint.name)}",
        f'type = "{joint.type.value}"',
        f"d_mm = {number(joint.d_m, MM)}",
        f"theta_deg = {number(joint.theta_rad, DEG)}",
        f"a_mm = {number(joint.a_m, MM)}",
        f"alpha_deg = {number(joint.alpha_rad, DEG)}",
        f"sign = {joint.sign}",
    ]
    given = {
        f"lower_{word}": joint.lower,
        f"upper_{word}": joint.upper,
        f"max_speed_{word}_s": joint.max_speed,
        f"home_{word}": home,
    }
    return [*lines, *(f"{key} = {number(value, unit)}" for key, value in given.items() if value is not None)]


def _inertia(link: LinkInertia) -> list[str]:
    lines = [f"mass_kg = {number(link.mass_kg)}", f"com_mm = {_list(link.com_m, MM)}"]
    if link.inertia_kg_m2 is not None:
        lines.append(f"inertia_kg_m2 = {_matrix(link.inertia_kg_m2)}")
    for key in ("motor_inertia_kg_m2", "gear_ratio", "viscous_nm_s"):
        value = getattr(link, key)
        if value is not None:
            lines.append(f"{key} = {number(value)}")
    if link.coulomb_nm is not None:
        lines.append(f"coulomb_nm = {_list(link.coulomb_nm)}")
    return lines


def _controller_map(map_: ControllerMap) -> list[str]:
    lines = [f"theta_offset_deg = {_list(map_.theta_offset_rad, DEG)}", f"sign = {list(map_.sign)}"]
    lines += [f"note = {toml_value(map_.note)}"] if map_.note else []
    return [*lines, "[controller_map.tool_to_tool0]", *_transform(map_.tool_to_tool0)]


def _transform(transform: Transform) -> list[str]:
    place, rotation = [row[3] for row in transform[:3]], [row[:3] for row in transform[:3]]
    return [f"translation_mm = {_list(place, MM)}", f"rotation = {_matrix(rotation)}"]


def _matrix(matrix: Sequence[Sequence[float]]) -> str:
    return f"[{', '.join(_list(row) for row in matrix)}]"


def _list(values: Sequence[float], unit: float = 1.0) -> str:
    return f"[{', '.join(number(value, unit) for value in values)}]"


_TEMPLATE = """\
# A robot of your own. Replace the numbers of this example, fill in the empty texts, then: hil check FILE
# Lengths in millimetres, angles in degrees, masses in kilograms. A key that you do not know the value of: leave it out,
# it is then shown as "not given". Every key is explained in docs/robots.md.

title = @TITLE@
manufacturer = ""                # who makes it
status = ""                      # how far it can be trusted: "measured by its owner", "from the data sheet"
source = ""                      # where the numbers come from: document, page, person, date
convention = "standard"          # rows Rz(theta) Tz(d) Tx(a) Rx(alpha); "modified" for Rx(alpha) Tx(a) Rz(theta) Tz(d)
# licence_note = "facts only"
# payload_kg = 0.5
# mass_kg = 2.0
# notes = ["what a user should know"]

# Before the first row: where the arm stands in the world.
# [base]
# translation_mm = [0, 0, 0]
# rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]

# After the last row: from the last frame to the tool point.
# [tool]
# translation_mm = [0, 0, 100]
# rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]

# One table a joint, from the base: 2 to 8 of them. What you read at the arm is q; theta_i = theta_deg + sign q.
[[joints]]
name = "base"
type = "revolute"                # or "prismatic": then d_i = d_mm + sign q, limits in mm: lower_mm, upper_mm, home_mm
d_mm = 100
theta_deg = 0
a_mm = 0
alpha_deg = 90
sign = 1                         # -1 where the joint counts the other way round
# lower_deg = -90                # both limits, or neither
# upper_deg = 90
# max_speed_deg_s = 60
# home_deg = 0                   # for every joint, or for none

[[joints]]
name = "shoulder"
type = "revolute"
d_mm = 0
theta_deg = 0
a_mm = 150
alpha_deg = 0
sign = 1

# Masses, for dynamics: for every joint, or for none. With them, on top: inertia_frame = "distal" (in the frame at the
# far end of the link) or "proximal" (in that of the joint that carries it), and inertia_status = "where from".
# [joints.inertia]
# mass_kg = 0.2
# com_mm = [-75, 0, 0]
# inertia_kg_m2 = [[0.0001, 0, 0], [0, 0.0005, 0], [0, 0, 0.0005]]   # about the centre of mass
"""
