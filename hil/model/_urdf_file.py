"""What a URDF file says, read strictly: links and joints in metres and radians, every number checked.

Keys and defaults are those of the URDF XML specification; elements that are for simulators are passed over. A fault is
kept beside the link or joint that has it: which of them count, the chosen way decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np

from hil.errors import ConfigError
from hil.model._xacro import Dialect, unused_tags
from hil.model._xml import Element
from hil.model.transforms import Matrix, from_rpy
from hil.tables import closest

MOVING = ("revolute", "continuous", "prismatic")
KNOWN = (*MOVING, "fixed", "planar", "floating")
UNKNOWN = "unknown"
"""Stands for a type that there is not; the joint's faults say so."""

NOISE = 1e-7
"""Parts of axes and angles smaller than this (rad) are the rounding of a program that wrote single precision."""

LARGEST = 1e6
"""Metres, kilograms and the like above this are a slip of the pen."""

ENDLESS = 1e5
"""A limit or speed from here on, in any unit, is a way to say that there is none."""

SHORTEST = 1e-9
"""An axis vector below this length has no direction."""

WORTH_A_WORD = 1e-12
"""Angles that change by more than this (rad) are told."""

Vector = tuple[float, float, float]
T = TypeVar("T")


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
    """One link.

    Attributes:
        faults: of its mass, which is not there then, or of its name.
        mesh_faults: of meshes, which are not there then.
    """

    name: str
    body: Body | None
    meshes: tuple[Mesh, ...]
    faults: tuple[ConfigError, ...] = ()
    mesh_faults: tuple[ConfigError, ...] = ()


class Axis(NamedTuple):
    """One joint: `origin` leads from the parent's frame to the child's at q = 0, `axis` is in the child's frame.

    Attributes:
        parent, child: a link that there is, or empty.
        origin: None where the file's has a fault.
        faults: what is wrong with it, in the order of reading.
    """

    name: str
    kind: str
    parent: str
    child: str
    origin: Matrix | None
    axis: Vector
    lower: float | None
    upper: float | None
    max_speed: float | None
    mimics: str
    drive: Drive
    line: int
    faults: tuple[ConfigError, ...] = ()

    @property
    def place(self) -> Matrix:
        """`origin` of a joint without faults."""
        assert self.origin is not None
        return self.origin


class Urdf(NamedTuple):
    """A whole file.

    Attributes:
        rounded: angles as they are written that were read as whole quarter turns.
        unused: elements that nothing uses, in words.
        faults: of elements that are neither a link nor a joint that could be named.
    """

    name: str
    links: dict[str, Link]
    joints: tuple[Axis, ...]
    rounded: tuple[str, ...]
    unused: tuple[str, ...] = ()
    faults: tuple[ConfigError, ...] = ()


def read(root: Element, file: str, *, as_written: bool, scale: float = 1.0) -> Urdf:
    """Read the root element of a URDF.

    Args:
        root: of the file.
        file: its name for messages.
        as_written: take 1.5708 for 1.5708; without, for the quarter turn that it is a rounding of.
        scale: metres in the file's unit of length; moments of inertia go with its square.

    Raises:
        ConfigError: not a URDF. Values that cannot be are kept as faults, with their lines.
    """
    return _Reader(file, as_written, scale).robot(root)


class _Reader:
    """Reads elements; keeps the name of the file for messages."""

    def __init__(self, file: str, as_written: bool, scale: float) -> None:
        self._file, self._as_written, self._scale = file, as_written, scale
        self._rounded: dict[str, None] = {}
        self._drives: dict[str, tuple[Drive, bool]] = {}

    def robot(self, root: Element) -> Urdf:
        if root.tag != "robot":
            advice = {"sdf": "This is an SDF", "mujoco": "This is a MuJoCo model"}.get(root.tag, "")
            self._fail(root, "root", f"<{root.tag}>", "<robot>, as a URDF begins", advice)
        self._read_own(root)
        faults: list[ConfigError] = []
        links = self._links(root, faults)
        joints = self._joints(root, links, faults)
        links = {name: self._without_tensor(link, joints) for name, link in links.items()}
        unused = unused_tags(root, Dialect(root))
        return Urdf(root.attributes.get("name", ""), links, joints, tuple(self._rounded), unused, tuple(faults))

    def _links(self, root: Element, faults: list[ConfigError]) -> dict[str, Link]:
        links: dict[str, Link] = {}
        for element in root.all("link"):
            name = self._or(partial(self._name, element, "link"), "", faults)
            if name in links:
                twice = self._fault(element, f"link {name}", name, "a name that no other link has")
                links[name] = links[name]._replace(faults=(*links[name].faults, twice))
            elif name:
                links[name] = self._link(element, name)
        return links

    def _joints(self, root: Element, links: dict[str, Link], faults: list[ConfigError]) -> tuple[Axis, ...]:
        joints: dict[str, Axis] = {}
        twice: list[Axis] = []
        for element in root.all("joint"):
            name = self._or(partial(self._name, element, "joint"), "", faults)
            joint = self._joint(element, name or f"of line {element.line}", links, named=bool(name))
            if joint.name in joints:
                fault = self._fault(element, f"joint {joint.name}", joint.name, "a name that no other joint has")
                twice.append(joint._replace(faults=(fault, *joint.faults)))
            else:
                joints[joint.name] = joint
        return (*joints.values(), *twice)

    @staticmethod
    def _or(read: Callable[[], T], instead: T, faults: list[ConfigError]) -> T:
        """What `read` gives; where it fails, `instead`, and its fault is kept."""
        try:
            return read()
        except ConfigError as fault:
            faults.append(fault)
            return instead

    def _link(self, element: Element, name: str) -> Link:
        faults: list[ConfigError] = []
        body = self._or(partial(self._body, element, name), None, faults)
        in_meshes: list[ConfigError] = []
        meshes = [
            self._or(partial(self._mesh, shape, purpose, f"link {name}"), None, in_meshes)
            for purpose in ("visual", "collision")
            for shape in element.all(purpose)
        ]
        return Link(name, body, tuple(mesh for mesh in meshes if mesh is not None), tuple(faults), tuple(in_meshes))

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
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) * self._scale**2

    def _mesh(self, shape: Element, purpose: str, key: str) -> Mesh | None:
        geometry = shape.first("geometry")
        mesh = None if geometry is None else geometry.first("mesh")
        if mesh is None:
            return None
        x, y, z = self._vector(mesh, "scale", f"{key}: {purpose}: mesh", (1.0, 1.0, 1.0))
        scale = (x * self._scale, y * self._scale, z * self._scale)
        name = mesh.attributes.get("filename", "")
        return Mesh(purpose, name, self._origin(shape, f"{key}: {purpose}"), scale)

    def _joint(self, element: Element, name: str, links: dict[str, Link], *, named: bool) -> Axis:
        key = f"joint {name}"
        faults: list[ConfigError] = []
        kind = element.attributes.get("type")
        if not named:
            faults.append(self._fault(element, "joint: name", None, "a name for every joint"))
        if kind not in KNOWN:
            faults.append(self._fault(element, f"{key}: type", kind, ", ".join(KNOWN)))
            kind = UNKNOWN
        parent, child = (
            self._or(partial(self._end, element, end, key, links), "", faults) for end in ("parent", "child")
        )
        mimic = element.first("mimic")
        origin = self._or(partial(self._origin, element, key), None, faults)
        axis = self._or(partial(self._axis, element, key), (1.0, 0.0, 0.0), faults if kind in MOVING else [])
        nothing: tuple[float | None, float | None, float | None] = (None, None, None)
        lower, upper, speed = self._or(partial(self._limits, element, kind, key), nothing, faults)
        drive = self._or(partial(self._drive, element, name, key), Drive(), faults)
        mimics = "" if mimic is None else mimic.attributes.get("joint", "?")
        line, kept = element.line, tuple(faults)
        return Axis(name, kind, parent, child, origin, axis, lower, upper, speed, mimics, drive, line, kept)

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
        speed = self._end_number(element, "velocity", f"{key}: limit: velocity")
        speed = 0.0 if speed >= ENDLESS else speed
        if speed < 0:
            self._fail(element, f"{key}: limit: velocity", speed, "a speed, or 0 where it is not known")
        if kind == "continuous":
            return None, None, speed or None
        unit = self._scale if kind == "prismatic" else 1.0
        speed *= unit
        lower, upper = (self._end_number(element, end, f"{key}: limit: {end}") for end in ("lower", "upper"))
        if lower == upper == 0 or max(-lower, upper) >= ENDLESS:
            return None, None, speed or None
        if lower >= upper:
            self._fail(element, f"{key}: limit: lower", lower, f"less than upper = {upper:g}")
        return lower * unit, upper * unit, speed or None

    def _end_number(self, element: Element, name: str, key: str) -> float:
        """A number that may be as large as it likes; 0 where it is not given."""
        return self._float(element, element.attributes[name], key) if name in element.attributes else 0.0

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

    def _without_tensor(self, link: Link, joints: tuple[Axis, ...]) -> Link:
        """The link without the zeros that stand for a tensor that nobody has given."""
        carried = (
            self._drives[joint.name][1] for joint in joints if joint.child == link.name and joint.name in self._drives
        )
        return link._replace(body=link.body._replace(tensor=None)) if link.body and any(carried) else link

    def _origin(self, element: Element, key: str) -> Matrix:
        origin = element.first("origin")
        if origin is None:
            return np.eye(4)
        xyz = [value * self._scale for value in self._vector(origin, "xyz", f"{key}: origin: xyz", (0.0, 0.0, 0.0))]
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
        raise self._fault(element, key, value, allowed, advice)

    def _fault(self, element: Element, key: str, value: object, allowed: str, advice: str = "") -> ConfigError:
        return ConfigError(self._file, f"line {element.line}: {key}", value, allowed, advice)


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
