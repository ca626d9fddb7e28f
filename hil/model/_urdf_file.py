"""What a URDF file says, read strictly: links and joints in metres and radians, every number checked.

Keys and defaults are those of the URDF XML specification; elements that are for simulators are passed over.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, NoReturn

import numpy as np

from hil.errors import ConfigError
from hil.model._xml import Element, parse_xml
from hil.model.transforms import Matrix, from_rpy
from hil.tables import closest

MOVING = ("revolute", "continuous", "prismatic")
KNOWN = (*MOVING, "fixed", "planar", "floating")
NOISE = 1e-7
"""Parts of axes and angles smaller than this (rad) are the rounding of a program that wrote single precision."""

LARGEST = 1e6
"""Metres, kilograms and the like above this are a slip of the pen."""

SHORTEST = 1e-9
"""An axis vector below this length has no direction."""

WORTH_A_WORD = 1e-12
"""Angles that change by more than this (rad) are told."""

Vector = tuple[float, float, float]


class Body(NamedTuple):
    """Mass of one link: centre and axes in the link's frame, inertia about the centre; None where not given."""

    mass_kg: float
    origin: Matrix
    tensor: Matrix | None


class Drive(NamedTuple):
    """What a joint's drive adds; motor side as in `hil.model.robot.LinkInertia`."""

    motor_inertia_kg_m2: float | None = None
    gear_ratio: float | None = None
    viscous_nm_s: float | None = None
    coulomb_nm: tuple[float, float] | None = None


class Mesh(NamedTuple):
    """A mesh that the file names."""

    purpose: str
    name: str
    origin: Matrix
    scale: Vector


class Link(NamedTuple):
    """One link."""

    name: str
    body: Body | None
    meshes: tuple[Mesh, ...]


class Axis(NamedTuple):
    """One joint: `origin` leads from the parent's frame to the child's at q = 0, `axis` is in the child's frame."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Matrix
    axis: Vector
    lower: float | None
    upper: float | None
    max_speed: float | None
    mimics: str
    drive: Drive
    line: int


class Urdf(NamedTuple):
    """A whole file.

    Attributes:
        rounded: angles as they are written that were read as whole quarter turns.
    """

    name: str
    links: dict[str, Link]
    joints: tuple[Axis, ...]
    rounded: tuple[str, ...]


def read(data: bytes, file: str, *, as_written: bool) -> Urdf:
    """Read the bytes of a URDF.

    Args:
        data: of the file.
        file: its name for messages.
        as_written: take 1.5708 for 1.5708; without, for the quarter turn that it is a rounding of.

    Raises:
        ConfigError: not XML, not a URDF, or a value that cannot be; the line is named.
    """
    return _Reader(file, as_written).robot(parse_xml(data, file))


class _Reader:
    """Reads elements; keeps the name of the file for messages."""

    def __init__(self, file: str, as_written: bool) -> None:
        self._file, self._as_written = file, as_written
        self._rounded: dict[str, None] = {}
        self._drives: dict[str, tuple[Drive, bool]] = {}

    def robot(self, root: Element) -> Urdf:
        if root.tag != "robot":
            advice = {"sdf": "This is an SDF", "mujoco": "This is a MuJoCo model"}.get(root.tag, "")
            self._fail(root, "root", f"<{root.tag}>", "<robot>, as a URDF begins", advice)
        self._refuse_xacro(root)
        self._read_own(root)
        links: dict[str, Link] = {}
        for element in root.all("link"):
            link = self._link(element)
            if link.name in links:
                self._fail(element, f"link {link.name}", link.name, "a name that no other link has")
            links[link.name] = link
        joints: dict[str, Axis] = {}
        for element in root.all("joint"):
            joint = self._joint(element, links)
            if joint.name in joints:
                self._fail(element, f"joint {joint.name}", joint.name, "a name that no other joint has")
            joints[joint.name] = joint
        links = {name: self._without_tensor(link, joints) for name, link in links.items()}
        return Urdf(root.attributes.get("name", ""), links, tuple(joints.values()), tuple(self._rounded))

    def _refuse_xacro(self, root: Element) -> None:
        waiting = [root]
        while waiting:
            element = waiting.pop()
            if element.tag.startswith("xacro:") or any("${" in value for value in element.attributes.values()):
                advice = f"This is a Xacro: expand it first, `xacro {self._file} > arm.urdf`, and import arm.urdf"
                self._fail(element, f"<{element.tag}>", "Xacro", "plain URDF", advice)
            waiting += element.children

    def _link(self, element: Element) -> Link:
        name = self._name(element, "link")
        meshes = [
            mesh
            for purpose in ("visual", "collision")
            for shape in element.all(purpose)
            if (mesh := self._mesh(shape, purpose, f"link {name}")) is not None
        ]
        return Link(name, self._body(element, name), tuple(meshes))

    def _body(self, link: Element, name: str) -> Body | None:
        inertial = link.first("inertial")
        mass = None if inertial is None else inertial.first("mass")
        if inertial is None or mass is None:
            return None
        key = f"link {name}: inertial"
        kilograms = self._number(mass, "value", f"{key}: mass")
        if kilograms < 0:
            self._fail(mass, f"{key}: mass", kilograms, "0 kg or more")
        return Body(kilograms, self._origin(inertial, key), self._tensor(inertial, key))

    def _tensor(self, inertial: Element, key: str) -> Matrix | None:
        element = inertial.first("inertia")
        if element is None:
            return None
        xx, yy, zz = (self._number(element, name, f"{key}: {name}") for name in ("ixx", "iyy", "izz"))
        xy, xz, yz = (self._number(element, name, f"{key}: {name}", 0.0) for name in ("ixy", "ixz", "iyz"))
        if min(xx, yy, zz) < 0:
            self._fail(element, f"{key}: inertia", [xx, yy, zz], "moments of 0 kg m2 or more")
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def _mesh(self, shape: Element, purpose: str, key: str) -> Mesh | None:
        geometry = shape.first("geometry")
        mesh = None if geometry is None else geometry.first("mesh")
        if mesh is None:
            return None
        scale = self._vector(mesh, "scale", f"{key}: {purpose}: mesh", (1.0, 1.0, 1.0))
        name = mesh.attributes.get("filename", "")
        return Mesh(purpose, name, self._origin(shape, f"{key}: {purpose}"), scale)

    def _joint(self, element: Element, links: dict[str, Link]) -> Axis:
        name = self._name(element, "joint")
        key, kind = f"joint {name}", element.attributes.get("type")
        if kind not in KNOWN:
            self._fail(element, f"{key}: type", kind, ", ".join(KNOWN))
        parent, child = (self._end(element, end, key, links) for end in ("parent", "child"))
        mimic = element.first("mimic")
        lower, upper, speed = self._limits(element, kind, key)
        return Axis(
            name=name,
            kind=kind,
            parent=parent,
            child=child,
            origin=self._origin(element, key),
            axis=self._axis(element, key) if kind in MOVING else (1.0, 0.0, 0.0),
            lower=lower,
            upper=upper,
            max_speed=speed,
            mimics="" if mimic is None else mimic.attributes.get("joint", "?"),
            drive=self._drive(element, name, key),
            line=element.line,
        )

    def _end(self, joint: Element, end: str, key: str, links: dict[str, Link]) -> str:
        element = joint.first(end)
        name = None if element is None else element.attributes.get("link")
        if name is None or name not in links:
            meant = closest(name, links) if name else None
            self._fail(joint, f"{key}: {end}", name, "the name of a link", f"Did you mean {meant!r}?" if meant else "")
        return name

    def _axis(self, joint: Element, key: str) -> Vector:
        element = joint.first("axis")
        x, y, z = (1.0, 0.0, 0.0) if element is None else self._vector(element, "xyz", f"{key}: axis", (1.0, 0.0, 0.0))
        length = math.hypot(x, y, z)
        if element is not None and length < SHORTEST:
            self._fail(element, f"{key}: axis", [x, y, z], "a direction, of any length but 0")
        noise = 0.0 if self._as_written else NOISE * length
        x, y, z = (0.0 if abs(value) < noise else value for value in (x, y, z))
        length = math.hypot(x, y, z)
        return (x / length, y / length, z / length)

    def _limits(self, joint: Element, kind: str, key: str) -> tuple[float | None, float | None, float | None]:
        """Lower, upper, speed. Programs write 0 for a limit or a speed that they do not know; a joint needs both."""
        element = joint.first("limit")
        if element is None or kind not in MOVING:
            return None, None, None
        speed = self._number(element, "velocity", f"{key}: limit: velocity", 0.0)
        if speed < 0:
            self._fail(element, f"{key}: limit: velocity", speed, "a speed, or 0 where it is not known")
        if kind == "continuous":
            return None, None, speed or None
        lower, upper = (self._number(element, end, f"{key}: limit: {end}", 0.0) for end in ("lower", "upper"))
        if lower == upper == 0:
            return None, None, speed or None
        if lower >= upper:
            self._fail(element, f"{key}: limit: lower", lower, f"less than upper = {upper:g}")
        return lower, upper, speed or None

    def _drive(self, joint: Element, name: str, key: str) -> Drive:
        """Friction as the file has it acts at the joint: a gear of ratio 1; our own element says more."""
        if name in self._drives:
            return self._drives[name][0]
        element = joint.first("dynamics")
        if element is None:
            return Drive()
        damping, friction = (
            self._number(element, word, f"{key}: dynamics: {word}", 0.0) for word in ("damping", "friction")
        )
        if min(damping, friction) < 0:
            self._fail(element, f"{key}: dynamics", [damping, friction], "0 or more")
        if damping == friction == 0:
            return Drive()
        return Drive(None, 1.0, damping, (friction, -friction))

    def _read_own(self, root: Element) -> None:
        """`hil_drive`: what `hil.model.urdf_out` writes beside what a URDF can say."""
        for element in root.all("hil_drive"):
            key = f"hil_drive {element.attributes.get('joint', '')}"

            def value(name: str, element: Element = element, key: str = key) -> float | None:
                given = name in element.attributes
                return self._number(element, name, f"{key}: {name}") if given else None

            ends = value("coulomb_positive_nm"), value("coulomb_negative_nm")
            coulomb = None if ends[0] is None or ends[1] is None else (ends[0], ends[1])
            drive = Drive(value("motor_inertia_kg_m2"), value("gear_ratio"), value("viscous_nm_s"), coulomb)
            without = element.attributes.get("link_inertia") == "not given"
            self._drives[element.attributes.get("joint", "")] = (drive, without)

    def _without_tensor(self, link: Link, joints: dict[str, Axis]) -> Link:
        """The link without the zeros that stand for a tensor that nobody has given."""
        carried = (
            self._drives[name][1] for name, joint in joints.items() if joint.child == link.name and name in self._drives
        )
        return link._replace(body=link.body._replace(tensor=None)) if link.body and any(carried) else link

    def _origin(self, element: Element, key: str) -> Matrix:
        origin = element.first("origin")
        if origin is None:
            return np.eye(4)
        xyz = self._vector(origin, "xyz", f"{key}: origin: xyz", (0.0, 0.0, 0.0))
        words = self._words(origin, "rpy", f"{key}: origin: rpy", "0 0 0")
        return from_rpy(xyz, [self._angle(origin, word, f"{key}: origin: rpy") for word in words])

    def _angle(self, element: Element, word: str, key: str) -> float:
        value = self._float(element, word, key)
        meant = value if self._as_written else quarter_turn(word, value)
        if abs(meant - value) > WORTH_A_WORD:
            self._rounded[word] = None
        return meant

    def _vector(self, element: Element, name: str, key: str, default: Vector) -> Vector:
        if name not in element.attributes:
            return default
        x, y, z = (self._small(element, word, key) for word in self._words(element, name, key, ""))
        return (x, y, z)

    def _words(self, element: Element, name: str, key: str, default: str) -> list[str]:
        words = element.attributes.get(name, default).split()
        if len(words) != 3:
            self._fail(element, key, element.attributes.get(name), "three numbers with spaces between them")
        return words

    def _number(self, element: Element, name: str, key: str, default: float | None = None) -> float:
        word = element.attributes.get(name)
        if word is None and default is not None:
            return default
        return self._small(element, word, key)

    def _small(self, element: Element, word: str | None, key: str) -> float:
        value = self._float(element, word, key)
        if abs(value) > LARGEST:
            self._fail(element, key, word, f"a number up to {LARGEST:g}")
        return value

    def _float(self, element: Element, word: str | None, key: str) -> float:
        try:
            value = float(word or "")
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            self._fail(element, key, word, "a finite number")
        return value

    def _name(self, element: Element, kind: str) -> str:
        name = element.attributes.get("name", "").strip()
        if not name:
            self._fail(element, f"{kind}: name", None, f"a name for every {kind}")
        return name

    def _fail(self, element: Element, key: str, value: object, allowed: str, advice: str = "") -> NoReturn:
        raise ConfigError(self._file, f"line {element.line}: {key}", value, allowed, advice)


def quarter_turn(word: str, value_rad: float) -> float:
    """The whole quarter turn that `word` rounds (or cuts off) after two decimals or more; else the value itself."""
    quarters = round(value_rad / (math.pi / 2))
    meant = quarters * (math.pi / 2)
    off = abs(value_rad - meant)
    if off < NOISE:
        return meant
    if quarters == 0:
        return value_rad
    try:
        exponent = Decimal(word).as_tuple().exponent
    except InvalidOperation:
        return value_rad
    last = 10.0**exponent if isinstance(exponent, int) and exponent <= -2 else 0.0
    return meant if off <= (last if abs(value_rad) < abs(meant) else last / 2) else value_rad
