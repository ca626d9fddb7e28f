"""An arm without hardware: any robot, behind a controller that exists only in software."""

from __future__ import annotations

from drivers import simulated
from hil.runtime.kinds.kind import ByHand, FakeKind, Kind


def _emulated() -> FakeKind:
    from hil.runtime.kinds.simulated_fake import FAKE

    return FAKE


KIND = Kind(
    simulated.SimulatedSettings,
    simulated.SimulatedTable,
    simulated.settings_from_table,
    simulated.build,
    None,
    "simulated",
    _emulated,
    by_hand=ByHand(why="its arm exists in software only, where no hand reaches it"),
)
