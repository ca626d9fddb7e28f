"""Equations written once, as ordinary functions over a scalar type."""
