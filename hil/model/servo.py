"""How the servo or drive behind an axis follows, where a rig says more of it than its lag and its top speed."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from msgspec import Meta

from hil.findings import Findings
from hil.types import Record
from hil.units import DEG, MM

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]


class HobbyServo(Record, frozen=True, tag="hobby", tag_field="kind"):
    """A servo with a potentiometer, driven by pulses; radians, or metres.

    Attributes:
        frequency_rad_s: undamped natural frequency.
        damping: 1 is critical.
        dead_band: whole width about the target within which its motor gets no power.
        backlash: whole play between its motor and the joint.
        sag: how far it gives way for each N m (N of a sliding joint) that it holds.
    """

    frequency_rad_s: float
    damping: float
    dead_band: float = 0.0
    backlash: float = 0.0
    sag: float = 0.0

    @property
    def lag_s(self) -> float:
        """How long it is behind a target that goes at a steady speed, but for the dead band."""
        return 2.0 * self.damping / self.frequency_rad_s


class DriveServo(Record, frozen=True, tag="drive", tag_field="kind"):
    """A drive with an encoder: a lag, a top speed, and an acceleration that it cannot pass.

    Attributes:
        acceleration: the most, in rad/s2 or m/s2.
    """

    acceleration: float


ServoModel = HobbyServo | DriveServo


class TurningServoTable(Record, frozen=True):
    """The ``servo`` table of a turning joint."""

    kind: Literal["hobby", "drive"]
    frequency_hz: Annotated[float, Meta(ge=0.2, le=50)] | None = None
    damping: Annotated[float, Meta(ge=0.2, le=5)] | None = None
    dead_band_deg: NotNegative | None = None
    backlash_deg: NotNegative | None = None
    sag_deg_per_n_m: NotNegative | None = None
    acceleration_deg_s2: Positive | None = None


class SlidingServoTable(Record, frozen=True):
    """The ``servo`` table of a sliding joint or of a gripper."""

    kind: Literal["hobby", "drive"]
    frequency_hz: Annotated[float, Meta(ge=0.2, le=50)] | None = None
    damping: Annotated[float, Meta(ge=0.2, le=5)] | None = None
    dead_band_mm: NotNegative | None = None
    backlash_mm: NotNegative | None = None
    sag_mm_per_n: NotNegative | None = None
    acceleration_mm_s2: Positive | None = None


HOBBY_KEYS = ("frequency_hz", "damping", "dead_band", "backlash", "sag")
DRIVE_KEYS = ("acceleration",)


def servo_of(
    table: TurningServoTable | SlidingServoTable | None, servo_lag_ms: float, key: str, findings: Findings
) -> ServoModel | None:
    """Check a table, where there is one.

    Args:
        table: as the file has it.
        servo_lag_ms: of the same axis: what stop distances are reckoned with.
        key: of the axis.
        findings: takes what is wrong.
    """
    if table is None or table.kind not in ("hobby", "drive"):  # a kind that was refused has a stand-in here
        return None
    factor = DEG if isinstance(table, TurningServoTable) else MM
    own, needed = (HOBBY_KEYS, HOBBY_KEYS[:2]) if table.kind == "hobby" else (DRIVE_KEYS, DRIVE_KEYS)
    given = {name: getattr(table, name) for name in table.__struct_fields__ if name != "kind"}
    stems = {name: next(stem for stem in (*HOBBY_KEYS, *DRIVE_KEYS) if name.startswith(stem)) for name in given}
    for name, value in given.items():
        if value is not None and stems[name] not in own:
            findings.say(f"{key}.servo.{name}", value, f"no such key of a servo of kind {table.kind!r}")
        if value is None and stems[name] in needed:
            findings.say(f"{key}.servo.{name}", None, f"this key is required of a servo of kind {table.kind!r}")
    numbers = {stems[name]: value for name, value in given.items()}
    if any(numbers[stem] is None for stem in needed):
        return None
    if table.kind == "drive":
        return DriveServo(acceleration=numbers["acceleration"] * factor)
    servo = HobbyServo(
        frequency_rad_s=2.0 * math.pi * numbers["frequency_hz"],
        damping=numbers["damping"],
        dead_band=(numbers["dead_band"] or 0.0) * factor,
        backlash=(numbers["backlash"] or 0.0) * factor,
        sag=(numbers["sag"] or 0.0) * factor,
    )
    least_ms = servo.lag_s * 1000
    if servo_lag_ms < least_ms - 1e-6:
        findings.say(
            f"{key}.servo_lag_ms",
            servo_lag_ms,
            f"at least {math.ceil(least_ms - 1e-6)}, the lag of the servo beside it: 1000 damping / (pi frequency_hz)",
            "Stop distances and times to settle are reckoned with it",
        )
    return servo
