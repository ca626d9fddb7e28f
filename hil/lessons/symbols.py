"""Matrices of a lesson as symbols: SymPy takes a while, so a view asks for them in another process."""

from __future__ import annotations

from typing import NamedTuple

from hil.model.robot import RobotModel


class Symbols(NamedTuple):
    """A matrix in symbols.

    Attributes:
        text: for people, ``c23`` for the cosine of a sum.
        latex: a display without its dollar signs.
    """

    text: str
    latex: str


def symbols_between(model: RobotModel, start: int, end: int, lengths: bool) -> Symbols:
    """The transform between two frames in symbols, each entry as short as a book has it.

    Args:
        model: the arm.
        start: 0 for the base's frame, i for DH frame i, n + 1 for the tool's.
        end: the same.
        lengths: a_2, d_4 for the table's lengths, instead of metres.

    Raises:
        MissingExtraError: the extra [symbolic] is not installed.
    """
    # Where it is worked out: a window that only asks for it does not load it.
    from hil.kernels.emit_latex import displays
    from hil.kernels.readable import JointNames, frame_to_frame, simplified_latex, simplified_text

    named = [frame_to_frame(model, start, end, joints=JointNames.THETA, symbolic_lengths=lengths)]
    return Symbols(simplified_text(named), "\n\n".join(displays(simplified_latex(named), "aligned")))
