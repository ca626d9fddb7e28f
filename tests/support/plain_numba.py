"""What is written for Numba, run by Python alone: without the compiler, and where a changed text must not be kept."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest.mock import patch


class PlainModule(ModuleType):
    """The module of a text.

    Attributes:
        signatures: what the functions' decorators say of their types, by name; empty for nothing.
        options: what else they say, by name.
        streamed: places of results that were stored past the caches.
    """

    signatures: dict[str, str]
    options: dict[str, dict[str, Any]]
    streamed: list[int]


def plain(source: str) -> PlainModule:
    """In the place of `hil.kernels.build.build`."""
    module = PlainModule("plain")
    module.signatures, module.options, module.streamed = {}, {}, []

    def njit(signature: str = "", **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def take(function: Callable[..., Any]) -> Callable[..., Any]:
            module.options[function.__name__] = options
            module.signatures[function.__name__] = signature
            return function

        return take

    def stream(array: Any, index: int, value: float) -> None:
        array[index] = value
        module.streamed.append(index)

    def settle() -> None:
        """All is there already."""

    def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
        plainly: dict[str, Callable[..., Any]] = {"stream": stream, "settle": settle}
        return plainly[function.__name__]

    numba, extending, llvmlite = ModuleType("numba"), ModuleType("numba.extending"), ModuleType("llvmlite")
    vars(numba).update(njit=njit, types=None)
    vars(extending).update(intrinsic=intrinsic)
    vars(llvmlite).update(ir=None)
    with patch.dict(sys.modules, {"numba": numba, "numba.extending": extending, "llvmlite": llvmlite}):
        exec(compile(source, "<plain>", "exec"), vars(module))
    return module
