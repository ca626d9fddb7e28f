"""Parking an arm with nobody there, where the settings allow it: through the checked path, only while nobody drives."""

from __future__ import annotations

from hil.errors import HilError, InterlockError
from hil.model.rig import Rig
from hil.service.arm_loop import ArmLoop
from hil.service.audit import Deed
from hil.service.house import Books
from hil.service.lease import Lease
from hil.service.lease_facts import READY
from hil.service.live_arm import LiveArm
from hil.service.move_planner import MovePlanner
from hil.service.open_channels import OpenChannels
from hil.service.uploads import Job
from hil.service.uploads import UploadVerdict as Preview
from hil.service.wire import LeasePhase, NoticeKind

_PARKER = "the service, unattended"


class UnattendedPark:
    """Parks one arm.

    Args:
        rig: what it is.
        lease: of the arm.
        loop: makes the move.
        live: what is known of the arm.
        planner: plans the move.
        channels: everybody at the arm.
        books: where it is written down.
    """

    def __init__(
        self,
        rig: Rig,
        lease: Lease,
        loop: ArmLoop,
        live: LiveArm,
        planner: MovePlanner,
        channels: OpenChannels,
        books: Books,
    ) -> None:
        self._rig, self._lease, self._loop, self._live = rig, lease, loop, live
        self._planner, self._channels, self._books = planner, channels, books

    def begin(self) -> None:
        """Have the way planned, and go it if the arm may still be parked then."""
        start = self._live.pose
        if start is None:
            self._failed(InterlockError("where the arm stands is not known", ["known pose"]))
            return
        job = Job(arm=self._lease.arm, language="move", name="park", start=start, goal=self._rig.park)
        self._planner.begin(job, self._planned, self._failed)

    def _planned(self, preview: Preview) -> None:
        if not preview.ok:
            raise InterlockError(f"the way to the park pose is refused: {preview.words}", ["a free way"])
        lease = self._lease
        if lease.phase is not LeasePhase.CLEARING or lease.frozen or lease.latched or self._loop.mode not in READY:
            return
        self._planner.check_wanted()
        self._planner.make(preview)
        self._books.note(Deed(who="", what="park", verdict="done", arm=lease.arm, detail=_PARKER))

    def _failed(self, error: HilError) -> None:
        self._channels.tell(NoticeKind.PARKING, f"not parked: {error}")
