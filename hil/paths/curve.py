"""What every curve in space can say of itself; lengths in metres, the parameter in whatever unit the curve has."""

from __future__ import annotations

from typing import Protocol

from hil.kernels.scalar import FloatArray


class Curve(Protocol):
    """A curve in space over a parameter.

    `parameter` is of shape (N,), inside `domain`. What is asked outside of it, or where the curve has no finite value,
    is refused with a `HilError` that names the place; nothing is clipped.
    """

    @property
    def domain(self) -> tuple[float, float]:
        """Where the parameter starts and ends."""
        ...

    def points_m(self, parameter: FloatArray) -> FloatArray:
        """Points, shape (N, 3), in metres."""
        ...

    def derivatives_m(self, parameter: FloatArray) -> FloatArray:
        """Derivatives by the parameter, shape (N, 3), in metres per unit of the parameter."""
        ...

    def normals(self, parameter: FloatArray) -> FloatArray | None:
        """Unit normals of the surface that the curve lies on, shape (N, 3); None where it lies on none."""
        ...
