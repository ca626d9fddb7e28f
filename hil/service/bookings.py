"""The calendar of every arm: who has booked it when, in SQLite.

A slot lets its owner ask for the lease; it is not the lease, and who is there and waits stands in the lease's queue.
Arms count as not ready until the service has said otherwise: nothing is lent after a restart before it was looked at.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from hil.errors import HilError
from hil.service.grants import clock_text
from hil.service.people_file import PeopleFile
from hil.types import Record

_VERSION = 1
_MINUTE_S = 60.0
_DAY_S = 86_400.0

_SCHEMA = f"""
CREATE TABLE slots (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    arm TEXT NOT NULL,
    user TEXT NOT NULL,
    begin_s REAL NOT NULL,
    end_s REAL NOT NULL CHECK (end_s >= begin_s),
    claimed INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX slots_of_arm ON slots (arm, end_s);
PRAGMA user_version = {_VERSION};
"""


class BookingError(HilError):
    """A slot cannot be had; the text says why and what can."""


class Condition(Enum):
    """What the service says about an arm."""

    UNCHECKED = "not checked yet since the service began"
    READY = "ready"
    STARTING = "starting"
    CLEARING = "being parked after the last user"
    FAULT = "in fault"
    AWAY = "not connected"


_BOOKABLE = (Condition.READY, Condition.STARTING, Condition.CLEARING)
"""Those that it is soon ready after by itself are, too."""


class BookingRules(Record, frozen=True):
    """How much of an arm one person can have.

    Attributes:
        longest_min: of one slot.
        shortest_min: of one slot.
        days_ahead: how far the calendar goes.
        open_slots: that one person may have on one arm, those that are not over.
        claim_min: a slot whose owner has not come by then is free for others; counted from when the arm could be had.
    """

    longest_min: Annotated[float, Meta(ge=1, le=240)] = 60.0
    shortest_min: Annotated[float, Meta(ge=1, le=60)] = 5.0
    days_ahead: Annotated[float, Meta(gt=0, le=366)] = 14.0
    open_slots: Annotated[int, Meta(ge=1, le=100)] = 2
    claim_min: Annotated[float, Meta(gt=0, le=60)] = 5.0


class Slot(Record, frozen=True):
    """A time in which one person may have an arm; seconds since 1970.

    Attributes:
        claimed: its owner has come.
    """

    id: int
    arm: str
    user: str
    begin_s: float
    end_s: float
    claimed: bool


class Reserved(Record, frozen=True):
    """What the calendar says of one moment.

    Attributes:
        slot: the one that counts; None where the arm is free.
        until_s: when the slot, or the free time, ends, seconds since 1970; None for no end in sight.
    """

    slot: Slot | None
    until_s: float | None


class Bookings:
    """The calendar of all arms. Every call takes the time; nothing here reads a clock.

    Args:
        path: the file, made if it is not there, or `IN_MEMORY`.
        rules: how much one person can have.

    Raises:
        ConfigError: the file cannot be used.
    """

    def __init__(self, path: Path | str, rules: BookingRules) -> None:
        self._rules = rules
        self._conditions: dict[str, tuple[Condition, str]] = {}
        self._occupied: Callable[[str], bool] = lambda arm: False
        self._hindered_s: dict[str, float] = {}
        # A power failure may lose the last slot, never the file; and the service waits for no disk.
        self._file = PeopleFile(
            path,
            _SCHEMA,
            _VERSION,
            lasting=False,
            allowed="a file of bookings that can be written to",
            advice="If it is damaged, move it away: a new one is made",
        )

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def set_condition(self, arm: str, condition: Condition, reason: str = "") -> None:
        """The service says how an arm is."""
        self._conditions[arm] = (condition, reason)

    def ask_whether_occupied(self, occupied: Callable[[str], bool]) -> None:
        """Learn, of an arm that is ready, whether somebody has it or keeps it still: nobody is late for it then."""
        self._occupied = occupied

    def why_not(self, arm: str) -> str:
        """Why an arm cannot be booked, in words; empty if it can."""
        condition, reason = self._conditions.get(arm, (Condition.UNCHECKED, ""))
        if condition in _BOOKABLE:
            return ""
        return f"{arm} is {condition.value}" + (f": {reason}" if reason else "")

    # -- the calendar ------------------------------------------------------------------------------------------------

    def book(
        self,
        arm: str,
        user: str,
        begin_s: float | None,
        minutes: float,
        now_s: float,
        *,
        allowed_until_s: float = float("inf"),
        driven_until_s: float | None = None,
        queue_min: float = 0.0,
    ) -> Slot:
        """Put a slot into the calendar.

        Args:
            arm: which one.
            user: whose slot.
            begin_s: when, seconds since 1970; None for the next free time.
            minutes: how long.
            now_s: seconds since 1970.
            allowed_until_s: when the person's token ends.
            driven_until_s: when somebody else's time at the arm ends; None if nobody drives, or for no end in sight.
            queue_min: for how long those who wait will have the arm then; nobody books past them.

        Raises:
            BookingError: it cannot be had; says what is in the way.
        """
        self._check_can_be_had(arm, minutes)
        with self._file.change() as base:
            open_slots = self._file.rows(
                "SELECT 1 FROM slots WHERE arm = ? AND user = ? AND end_s > ?", arm, user, now_s
            )
            if len(open_slots) >= self._rules.open_slots:
                raise BookingError(
                    f"{user} has {len(open_slots)} slots on {arm} that are not over; "
                    f"allowed: {self._rules.open_slots}. Cancel one first"
                )
            driven_s = 0.0 if driven_until_s is None else max(0.0, driven_until_s - now_s)
            earliest_s, length_s = now_s + driven_s + queue_min * _MINUTE_S, minutes * _MINUTE_S
            begin_s = self._next_free(arm, length_s, earliest_s) if begin_s is None else begin_s
            self._check_time(user, begin_s, begin_s + length_s, now_s, allowed_until_s)
            self._check_free(arm, begin_s, begin_s + length_s, earliest_s)
            row = base.execute(
                "INSERT INTO slots (arm, user, begin_s, end_s) VALUES (?, ?, ?, ?)",
                (arm, user, begin_s, begin_s + length_s),
            )
            return self._must(row.lastrowid or 0)

    def cancel(self, slot_id: int, now_s: float, *, by: str | None, covers: Callable[[str], bool]) -> Slot:
        """Take a slot out, or end it now if it has begun.

        Args:
            slot_id: which one.
            now_s: seconds since 1970.
            by: whose slots may be cancelled; None for anybody's, as teachers can.
            covers: tells of an arm whether its slots may be cancelled.

        Raises:
            BookingError: there is no such slot, it is somebody else's, or it is of another arm.
        """
        with self._file.change() as base:
            slot = self._one("SELECT * FROM slots WHERE id = ? AND end_s > ?", slot_id, now_s)
            # Which of these it is, is not told: slots of others are their own affair.
            if slot is None or by not in (None, slot.user) or not covers(slot.arm):
                raise BookingError(f"there is no slot {slot_id} that could be cancelled")
            self._end(base, slot, now_s)
            return slot

    def slots(self, arm: str, now_s: float) -> tuple[Slot, ...]:
        """All slots that are not over, in order."""
        return self._slots("SELECT * FROM slots WHERE arm = ? AND end_s > ? ORDER BY begin_s", arm, now_s)

    def reserved(self, arm: str, now_s: float) -> Reserved:
        """Who has the arm now, and until when.

        A slot that nobody came for is over after a while, which is counted from when the arm could be had: to be asked
        about once a second.
        """
        if self._hindered(arm):
            self._hindered_s[arm] = now_s
        slot = self._one("SELECT * FROM slots WHERE arm = ? AND begin_s <= ? AND end_s > ?", arm, now_s, now_s)
        if slot is not None and not slot.claimed and self._too_late(slot, now_s):
            with self._file.change() as base:
                self._end(base, slot, now_s)
            slot = None
        if slot is not None:
            return Reserved(slot=slot, until_s=slot.end_s)
        return Reserved(slot=None, until_s=self._next_begin(arm, now_s))

    # -- coming and going --------------------------------------------------------------------------------------------

    def claim(self, slot_id: int, user: str, now_s: float) -> Slot:
        """The owner of the slot that counts now has come.

        Raises:
            BookingError: it is not this person's, or not now.
        """
        with self._file.change() as base:
            slot = self._one("SELECT * FROM slots WHERE id = ?", slot_id)
            if slot is None or slot.user != user or not slot.begin_s <= now_s < slot.end_s:
                raise BookingError(f"slot {slot_id} is not {user}'s now")
            base.execute("UPDATE slots SET claimed = 1 WHERE id = ?", (slot_id,))
        return self._must(slot_id)

    def extend(self, slot_id: int, minutes: float, now_s: float, *, allowed_until_s: float = float("inf")) -> Slot:
        """Make the slot that counts now end later, by as much as is free and allowed; never earlier.

        Raises:
            BookingError: the next slot follows at once, the person had the longest time, or the slot is not now.
        """
        with self._file.change() as base:
            slot = self._one("SELECT * FROM slots WHERE id = ? AND begin_s <= ? AND end_s > ?", slot_id, now_s, now_s)
            if slot is None:
                raise BookingError(f"slot {slot_id} is not now")
            next_s = self._next_begin(slot.arm, slot.end_s)
            end_s = min(
                slot.end_s + minutes * _MINUTE_S,
                now_s + self._rules.longest_min * _MINUTE_S,
                float("inf") if next_s is None else next_s,
                allowed_until_s,
            )
            if not end_s > slot.end_s:
                raise BookingError(f"slot {slot_id} cannot end later than {clock_text(slot.end_s)}")
            base.execute("UPDATE slots SET end_s = ? WHERE id = ?", (end_s, slot_id))
        return self._must(slot_id)

    def dismiss(self, arm: str, user: str, now_s: float) -> None:
        """End the slot that counts now, if it is this person's: who was sent away does not keep the time."""
        slot = self.reserved(arm, now_s).slot
        if slot is not None and slot.user == user:
            with self._file.change() as base:
                self._end(base, slot, now_s)

    # -- what is kept about people -----------------------------------------------------------------------------------

    def forget_before(self, epoch_s: float) -> int:
        """Delete slots that ended before then; gives how many."""
        with self._file.change() as base:
            return base.execute("DELETE FROM slots WHERE end_s < ?", (epoch_s,)).rowcount

    def forget_user(self, user: str) -> int:
        """Delete everything about one person, slots to come included; gives how many slots."""
        with self._file.change() as base:
            return base.execute("DELETE FROM slots WHERE user = ?", (user,)).rowcount

    # -- inside ------------------------------------------------------------------------------------------------------

    def _hindered(self, arm: str) -> bool:
        """Whether whoever has booked the arm could not have it now."""
        condition, _ = self._conditions.get(arm, (Condition.UNCHECKED, ""))
        return condition is not Condition.READY or self._occupied(arm)

    def _too_late(self, slot: Slot, now_s: float) -> bool:
        could_come_s = max(slot.begin_s, self._hindered_s.get(slot.arm, slot.begin_s))
        return now_s >= could_come_s + self._rules.claim_min * _MINUTE_S

    def _check_can_be_had(self, arm: str, minutes: float) -> None:
        if why_not := self.why_not(arm):
            raise BookingError(f"{why_not}. It can be booked once that is mended")
        if not self._rules.shortest_min <= minutes <= self._rules.longest_min:
            raise BookingError(
                f"{minutes:g} minutes wanted; allowed: {self._rules.shortest_min:g} to {self._rules.longest_min:g}"
            )

    def _check_time(self, user: str, begin_s: float, end_s: float, now_s: float, allowed_until_s: float) -> None:
        latest_s = now_s + self._rules.days_ahead * _DAY_S
        if not now_s <= begin_s <= latest_s:
            raise BookingError(f"{clock_text(begin_s)} wanted; allowed: now to {clock_text(latest_s)}")
        if end_s > allowed_until_s:
            raise BookingError(f"the token of {user} ends at {clock_text(allowed_until_s)}, before the slot does")

    def _check_free(self, arm: str, begin_s: float, end_s: float, earliest_s: float) -> None:
        taken = self._one(
            "SELECT * FROM slots WHERE arm = ? AND begin_s < ? AND end_s > ? ORDER BY begin_s", arm, end_s, begin_s
        )
        if taken is not None:
            raise BookingError(
                f"{arm} is taken from {clock_text(taken.begin_s)} to {clock_text(taken.end_s)}. "
                "Ask for another time, or for the next free one"
            )
        if begin_s < earliest_s:
            # Up to the full minute: what is said here, and asked for then, must not be refused.
            from_s = math.ceil(earliest_s / _MINUTE_S) * _MINUTE_S
            raise BookingError(
                f"others drive {arm} or wait for it; it can be booked from {clock_text(from_s)}. "
                "Ask for that time or a later one, or for the next free one"
            )

    def _next_free(self, arm: str, length_s: float, earliest_s: float) -> float:
        free_s = earliest_s
        for slot in self.slots(arm, earliest_s):
            if slot.begin_s - free_s >= length_s:
                break
            free_s = max(free_s, slot.end_s)
        return free_s

    def _next_begin(self, arm: str, after_s: float) -> float | None:
        (begin_s,) = self._file.rows("SELECT MIN(begin_s) FROM slots WHERE arm = ? AND begin_s >= ?", arm, after_s)[0]
        return None if begin_s is None else float(begin_s)

    def _end(self, base: sqlite3.Connection, slot: Slot, now_s: float) -> None:
        if slot.begin_s >= now_s:
            base.execute("DELETE FROM slots WHERE id = ?", (slot.id,))
        else:
            base.execute("UPDATE slots SET end_s = ? WHERE id = ?", (now_s, slot.id))

    def _must(self, slot_id: int) -> Slot:
        return self._slots("SELECT * FROM slots WHERE id = ?", slot_id)[0]

    def _one(self, statement: str, *values: Any) -> Slot | None:
        return next(iter(self._slots(statement, *values)), None)

    def _slots(self, statement: str, *values: Any) -> tuple[Slot, ...]:
        return tuple(
            Slot(id=id_, arm=arm, user=user, begin_s=begin_s, end_s=end_s, claimed=bool(claimed))
            for id_, arm, user, begin_s, end_s, claimed in self._file.rows(statement, *values)
        )
