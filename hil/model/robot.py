"""The robot record: a DH chain with limits, inertia and provenance, in metres and radians."""

from __future__ import annotations

from enum import Enum

from hil.types import Record

Transform = tuple[tuple[float, float, float, float], ...]
"""Four rows of a homogeneous transform; metres in the last column."""


class JointType(Enum):
    """What one joint does."""

    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"


class Joint(Record, frozen=True):
    """One row of a standard (distal) DH table, T_i = Rz(theta_i) Tz(d_i) Tx(a_i) Rx(alpha_i).

    theta_i = theta + sign * q_i for a revolute joint, d_i = d + sign * q_i for a prismatic one.
    Limits and speed are of q, in radians or metres; None where no source gives them.
    """

    name: str
    type: JointType
    d_m: float
    theta_rad: float
    a_m: float
    alpha_rad: float
    sign: int
    lower: float | None = None
    upper: float | None = None
    max_speed: float | None = None


class LinkInertia(Record, frozen=True):
    """Inertia of one link in its own (distal) DH frame; None where no source gives it.

    Inertia is about the centre of mass. Rotor values are on the motor side; friction is [positive, negative].
    """

    mass_kg: float
    com_m: tuple[float, float, float]
    inertia_kg_m2: tuple[tuple[float, float, float], ...] | None = None
    motor_inertia_kg_m2: float | None = None
    gear_ratio: float | None = None
    viscous_nm_s: float | None = None
    coulomb_nm: tuple[float, float] | None = None


class ControllerMap(Record, frozen=True):
    """How the model's joint angles follow from those that the maker's controller shows.

    q_i = theta_offset_i + sign_i * shown_i.

    Attributes:
        tool_to_tool0: 4x4 transform from this model's tool frame to the maker's, as rows.
    """

    theta_offset_rad: tuple[float, ...]
    sign: tuple[int, ...]
    tool_to_tool0: Transform
    note: str = ""


class RobotModel(Record, frozen=True):
    """A robot as its sources give it.

    Attributes:
        base: 4x4 transform before the first row, as rows.
        tool: 4x4 transform after the last row, as rows.
        home: a documented pose of q, or None.
        inertia: one entry per joint, or None.
        inertia_status: where the inertia comes from, or why what was found is not used.
        controller_map: relation to the maker's joint angles where a source gives one, or None.
    """

    id: str
    title: str
    manufacturer: str
    joints: tuple[Joint, ...]
    base: Transform
    tool: Transform
    home: tuple[float, ...] | None
    source: str
    status: str
    licence_note: str = ""
    verified_against: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    payload_kg: float | None = None
    mass_kg: float | None = None
    inertia: tuple[LinkInertia, ...] | None = None
    inertia_status: str = ""
    controller_map: ControllerMap | None = None
    file: str = ""

    @property
    def dof(self) -> int:
        """Number of joints."""
        return len(self.joints)
