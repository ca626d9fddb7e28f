"""Arithmetic that leaves out constant zeros and ones, and three-vectors built on it.

Floats and numpy arrays do not simplify what is multiplied by a zero of the arm's table; these functions do. A
float that happens to be zero is left out as well: for finite numbers the result is the same.
"""

from __future__ import annotations

from typing import TypeAlias

from hil.kernels.scalar import Functions, Scalar

Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]

ZERO: Vector = (0.0, 0.0, 0.0)


def times(x: Scalar, y: Scalar) -> Scalar:
    """Product."""
    if isinstance(y, float):
        x, y = y, x
    if isinstance(x, float):
        if x == 0.0:
            return 0.0
        if x == 1.0:
            return y
        if x == -1.0:
            return -y
        if isinstance(y, float) and y == 0.0:
            return 0.0
    return x * y


def plus(x: Scalar, y: Scalar) -> Scalar:
    """Sum."""
    if isinstance(x, float) and x == 0.0:
        return y
    if isinstance(y, float) and y == 0.0:
        return x
    return x + y


def minus(x: Scalar, y: Scalar) -> Scalar:
    """Difference."""
    if isinstance(y, float) and y == 0.0:
        return x
    if isinstance(x, float) and x == 0.0:
        return -y
    return x - y


def signed(sign: float, x: Scalar) -> Scalar:
    """`x`, or minus `x` for a negative sign."""
    return minus(0.0, x) if sign < 0.0 else x


def smaller(x: Scalar, y: Scalar, functions: Functions) -> Scalar:
    """The smaller of the two."""
    return -functions.maximum(-x, -y)


def size(x: Scalar, functions: Functions) -> Scalar:
    """The absolute value."""
    return functions.maximum(x, -x)


def add(u: Vector, v: Vector) -> Vector:
    """Sum of two vectors."""
    return plus(u[0], v[0]), plus(u[1], v[1]), plus(u[2], v[2])


def subtract(u: Vector, v: Vector) -> Vector:
    """Difference of two vectors."""
    return minus(u[0], v[0]), minus(u[1], v[1]), minus(u[2], v[2])


def scale(factor: Scalar, v: Vector) -> Vector:
    """A multiple of a vector."""
    return times(factor, v[0]), times(factor, v[1]), times(factor, v[2])


def dot(u: Vector, v: Vector) -> Scalar:
    """Inner product."""
    return plus(plus(times(u[0], v[0]), times(u[1], v[1])), times(u[2], v[2]))


def cross(u: Vector, v: Vector) -> Vector:
    """Vector product."""
    return (
        minus(times(u[1], v[2]), times(u[2], v[1])),
        minus(times(u[2], v[0]), times(u[0], v[2])),
        minus(times(u[0], v[1]), times(u[1], v[0])),
    )


def turn_x(c: Scalar, s: Scalar, v: Vector) -> Vector:
    """A vector turned about x, by the angle of cosine `c` and sine `s`."""
    return v[0], minus(times(c, v[1]), times(s, v[2])), plus(times(s, v[1]), times(c, v[2]))


def turn_z(c: Scalar, s: Scalar, v: Vector) -> Vector:
    """A vector turned about z."""
    return minus(times(c, v[0]), times(s, v[1])), plus(times(s, v[0]), times(c, v[1])), v[2]
