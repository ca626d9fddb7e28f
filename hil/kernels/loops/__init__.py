"""Loops for Numba, shipped as text: `hil.kernels.build` copies them to the cache and compiles them there."""
