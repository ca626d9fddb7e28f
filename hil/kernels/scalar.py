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

    def exp(self, x: Scalar) -> Scalar:
        """The exponential, e to the power `x`."""
        ...

    def log(self, x: Scalar) -> Scalar:
        """Natural logarithm of what is positive."""
        ...

    def power(self, x: Scalar, y: Scalar) -> Scalar:
        """`x` to the power `y`; a negative `x` takes whole powers only."""
        ...

    def floor(self, x: Scalar) -> Scalar:
        """The largest whole number that is not above `x`."""
        ...

    def sinh(self, x: Scalar) -> Scalar:
        """Hyperbolic sine."""
        ...

    def cosh(self, x: Scalar) -> Scalar:
        """Hyperbolic cosine."""
        ...

    def tanh(self, x: Scalar) -> Scalar:
        """Hyperbolic tangent."""
        ...


class FloatFunctions:
    """Functions of floats: the plain reference, and fast enough for one call in the loop."""

    sin = staticmethod(math.sin)
    cos = staticmethod(math.cos)
    atan2 = staticmethod(math.atan2)
    sqrt = staticmethod(math.sqrt)
    maximum = staticmethod(max)
    exp = staticmethod(math.exp)
    log = staticmethod(math.log)
    power = staticmethod(math.pow)
    sinh = staticmethod(math.sinh)
    cosh = staticmethod(math.cosh)
    tanh = staticmethod(math.tanh)

    @staticmethod
    def floor(x: Scalar) -> Scalar:
        """The largest whole number that is not above `x`, as a float."""
        return float(math.floor(x))

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
    exp = staticmethod(np.exp)
    log = staticmethod(np.log)
    power = staticmethod(np.power)
    floor = staticmethod(np.floor)
    sinh = staticmethod(np.sinh)
    cosh = staticmethod(np.cosh)
    tanh = staticmethod(np.tanh)

    @staticmethod
    def where(x: Scalar, nonnegative: Scalar, negative: Scalar) -> Scalar:
        """`nonnegative` where `x` >= 0, else `negative`, element by element."""
        return np.where(x >= 0.0, nonnegative, negative)


FLOATS: Functions = FloatFunctions()
ARRAYS: Functions = ArrayFunctions()
