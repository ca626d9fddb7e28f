"""Which family's closed form an arm has, told from its DH table alone."""

from __future__ import annotations

from collections.abc import Callable

from hil.kernels import parallel_axes, pitch_wrist, planar, scara, spherical_wrist, stanford, yaw_pitch_form
from hil.kernels.chain import Chain
from hil.kernels.closed_form import ClosedForm

RECOGNISERS: tuple[Callable[[Chain], ClosedForm | None], ...] = (
    planar.recognise,
    scara.recognise,
    yaw_pitch_form.recognise,
    spherical_wrist.recognise,
    stanford.recognise,
    parallel_axes.recognise,
    pitch_wrist.recognise,
)
"""One line per family, asked in this order."""


def recognise(chain: Chain) -> ClosedForm | None:
    """The closed form of the first family that the arm belongs to, or None."""
    for family in RECOGNISERS:
        form = family(chain)
        if form is not None:
            return form
    return None
