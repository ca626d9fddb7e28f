"""The lab's choices for leases, and what may be chosen."""

from __future__ import annotations

from hil.errors import ConfigError
from hil.service.hold_watch import PLANNED_UNCHANGED_S, UNCHANGED_S
from hil.types import Record

BOUNDS = {
    "stop_after_s": (0.1, 1.0),
    "suspend_after_s": (0.5, 10.0),
    "grace_s": (0.0, 600.0),
    "command_age_s": (0.1, 1.0),
    "slot_s": (30.0, 14_400.0),
    "unchanged_s": (3.0, 60.0),
    "planned_unchanged_s": (10.0, 900.0),
}


class LeaseSettings(Record, frozen=True):
    """The lab's choices.

    Attributes:
        stop_after_s: silence of the driver after which the arm stops.
        suspend_after_s: silence after which the lease is suspended.
        grace_s: how long a suspended lease is kept for its holder.
        command_age_s: age up to which the dead-man in a beat counts.
        slot_s: length of a slot that nobody booked.
        warnings_s: how long before its end a slot's end is announced.
        unattended_park: the server may park an arm that was left, with nobody holding a dead-man.
        unchanged_s: a dead-man at which nothing has changed for so long has to be pressed anew.
        planned_unchanged_s: the same for a planned motion.

    Raises:
        ConfigError: a number is outside its range.
    """

    stop_after_s: float = 0.25
    suspend_after_s: float = 2.0
    grace_s: float = 60.0
    command_age_s: float = 0.5
    slot_s: float = 1800.0
    warnings_s: tuple[float, ...] = (60.0, 10.0)
    unattended_park: bool = False
    unchanged_s: float = UNCHANGED_S
    planned_unchanged_s: float = PLANNED_UNCHANGED_S

    def __post_init__(self) -> None:
        for name, (least, most) in BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ConfigError("settings", f"lease.{name}", value, f"{least:g} to {most:g} seconds")
        if self.suspend_after_s <= self.stop_after_s:
            allowed = f"more than stop_after_s, {self.stop_after_s:g}"
            raise ConfigError("settings", "lease.suspend_after_s", self.suspend_after_s, allowed)
        if self.planned_unchanged_s < self.unchanged_s:
            allowed = f"at least unchanged_s, {self.unchanged_s:g}"
            raise ConfigError("settings", "lease.planned_unchanged_s", self.planned_unchanged_s, allowed)
        if not all(0.0 < warning <= 3600.0 for warning in self.warnings_s):
            raise ConfigError("settings", "lease.warnings_s", self.warnings_s, "each above 0 to 3600 seconds")
