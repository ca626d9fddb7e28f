"""The RV-2AJ and its CR1 controller."""

from __future__ import annotations

from drivers import rv2aj
from hil.runtime.kinds.kind import ByHand, FakeKind, Kind


def _emulated() -> FakeKind:
    from hil.runtime.kinds.rv2aj_fake import FAKE

    return FAKE


KIND = Kind(
    rv2aj.Rv2ajSettings,
    rv2aj.Rv2ajTable,
    rv2aj.settings_from_table,
    rv2aj.build,
    rv2aj.ask,
    "cr1",
    _emulated,
    framing="8E2",
    look_over=rv2aj.look_over,
    back_up=rv2aj.back_up,
    run_program=rv2aj.run_program,
    by_hand=ByHand(
        measure=rv2aj.measure,
        how="lead it with the teach box, or release its brakes there while a second person holds the arm; the bridge "
        "releases none, since nobody could lock them again if this computer failed",
    ),
)
