"""What an equation may do with its scalars: plain arithmetic, and the functions named here.

A scalar is anything that takes ``+ - * /`` with its own kind and with floats: a float, a numpy array in
which every element is one configuration, or a node of the expression graph. Equations never ask for a
scalar's value; they may ask for a constant's. `where` does not shield a division: whoever divides makes sure
first that the divisor cannot be zero.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Scalar: TypeAlias = Any
FloatArray: TypeAlias = npt.NDArray[np.float64]


class Functions(Protocol):
    """The functions of one scalar type."""

    def sin(self, x: Scalar) -> Scalar:
        """Sine of an angle in radians."""
        ...

    def cos(self, x: Scalar) -> Scalar:
        """Cosine of an angle in radians."""
        ...

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        """Angle of the vector (x, y), in [-pi, pi]."""
        ...

    def sqrt(self, x: Scalar) -> Scalar:
        """Square root of what is not negative."""
        ...

    def maximum(self, x: Scalar, y: Scalar) -> Scalar:
        """The larger of the two."""
        ...

    def where(self, x: Scalar, nonnegative: Scalar, negative: Scalar) -> Scalar:
        """`nonnegative` where `x` >= 0, else `negative`; both are always worked out."""
        ...


class FloatFunctions:
    """Functions of floats: the plain reference, and fast enough for one call in the loop."""

    sin = staticmethod(math.sin)
    cos = staticmethod(math.cos)
    atan2 = staticmethod(math.atan2)
    sqrt = staticmethod(math.sqrt)
    maximum = staticmethod(max)

    @staticmethod
    def where(x: Scalar, nonnegative: Scalar, negative: Scalar) -> Scalar:
        """`nonnegative` where `x` >= 0, else `negative`."""
        return nonnegative if x >= 0.0 else negative


class ArrayFunctions:
    """Functions of numpy arrays, element by element."""

    sin = staticmethod(np.sin)
    cos = staticmethod(np.cos)
    atan2 = staticmethod(np.arctan2)
    sqrt = staticmethod(np.sqrt)
    maximum = staticmethod(np.maximum)

    @staticmethod
    def where(x: Scalar, nonnegative: Scalar, negative: Scalar) -> Scalar:
        """`nonnegative` where `x` >= 0, else `negative`, element by element."""
        return np.where(x >= 0.0, nonnegative, negative)


FLOATS: Functions = FloatFunctions()
ARRAYS: Functions = ArrayFunctions()
