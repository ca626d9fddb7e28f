"""What does not change about an arm of a lab, and the welcome that tells a visitor of it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hil.model.rig import Rig
from hil.service import wire
from hil.service.doors import Visitor
from hil.service.gate import GateSettings
from hil.service.lease_settings import LeaseSettings
from hil.types import Record


class Standing(Record, frozen=True):
    """What does not change about an arm.

    Attributes:
        real: whether it is no fake.
        vouched: whether the wiring confirms the pose, which it can for a fake that its worker has just made.
        server: name of the lab, for displays.
    """

    real: bool
    vouched: bool
    server: str
    lease: LeaseSettings
    gate: GateSettings


def welcome(
    arm: str, rig: Rig, axes: Sequence[wire.AxisInfo], standing: Standing, visitor: Visitor, *,
    camera: bool, now_s: float, speaks: int,
) -> wire.Welcome:  # fmt: skip
    """The first message on a channel: the arm, the rules here, and what the visitor may do."""
    lease, gate, grant = standing.lease, standing.gate, visitor.grant
    rules = wire.Rules(
        beat_every_s=0.1,
        stop_after_s=lease.stop_after_s,
        suspend_after_s=lease.suspend_after_s,
        hold_every_s=0.05,
        command_age_s=gate.step_age_s,
        picture_age_s=gate.picture_last_s,
        picture_needed=gate.picture_needed,
        unchanged_s=lease.unchanged_s,
        planned_unchanged_s=lease.planned_unchanged_s,
    )
    return wire.Welcome(
        speaks=speaks,
        server=standing.server,
        now_s=now_s,
        now_epoch_s=time.time(),
        arm=arm,
        title=rig.title,
        robot=rig.robot.id,
        real=standing.real,
        axes=tuple(axes),
        period_s=rig.period_s,
        rules=rules,
        role=grant.role,
        name=visitor.name,
        speed_share=grant.speed_share,
        on_site=visitor.on_site,
        until_epoch_s=float(grant.expires_s),
        camera=camera,
    )
