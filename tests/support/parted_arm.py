"""An arm of a lab that is not where it was sent: what its worker reports is changed on the way to its desk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from browser_stand import LabThread

from hil.service.arm_channel import ArmReport


def retell(lab: LabThread, change: Callable[[ArmReport], ArmReport], arm: str = "arm-1") -> None:
    """From now on the desk of an arm hears its reports as `change` makes them."""
    desk = lab.served.lab.desks[arm]
    lab.served.workers[arm]._on_report = lambda report: desk.report_came(change(report))


def part(lab: LabThread, axis: int, by: float, arm: str = "arm-1", **more: Any) -> None:
    """From now on the reports of an axis are so far off (rad, m), and its error with them.

    Args:
        lab: where.
        axis: which one.
        by: how far.
        arm: of the lab.
        more: what else its reports say instead, such as ``mode`` or ``alarm``.
    """

    def parted(report: ArmReport) -> ArmReport:
        reported = list(report.commanded)
        errors = [None if each is None else 0.0 for each in report.commanded]
        at = report.commanded[axis]
        if at is not None:
            reported[axis], errors[axis] = at + by, by
        return msgspec.structs.replace(report, reported=tuple(reported), errors=tuple(errors), **more)

    retell(lab, parted, arm)
