"""Reads a game pad by SDL, which knows the buttons of some hundred kinds, without a window."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from hil.errors import InterlockError, MissingExtraError
from hil.model.pad import BUTTONS, STICKS
from hil.workbench.game_pad import PadReading

FULL = 32767.0


class SdlPad:
    """The first game pad that is plugged in.

    Raises:
        MissingExtraError: the extra [pad] is not installed.
        InterlockError: SDL does not start here.
    """

    def __init__(self) -> None:
        # Nothing is drawn, and a terminal has no window that could have the focus.
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("SDL_JOYSTICK_ALLOW_BACKGROUND_EVENTS", "1")
        self._sdl = sdl = _sdl2()
        if sdl.SDL_Init(sdl.SDL_INIT_GAMECONTROLLER) != 0:
            words = sdl.SDL_GetError().decode("utf-8", "replace")
            raise InterlockError(f"game pads cannot be read here: {words}", ["SDL"])
        self._open: Any = None
        self._sticks = {name: sdl.SDL_GameControllerGetAxisFromString(name.encode()) for name in STICKS}
        self._buttons = {name: sdl.SDL_GameControllerGetButtonFromString(name.encode()) for name in BUTTONS}

    @property
    def name(self) -> str:
        """What the pad calls itself; empty without one."""
        found = None if self._open is None else self._sdl.SDL_GameControllerName(self._open)
        return "" if found is None else found.decode("utf-8", "replace")

    def read(self) -> PadReading | None:
        """What it says now; None for no pad."""
        sdl = self._sdl
        sdl.SDL_PumpEvents()
        sdl.SDL_FlushEvents(sdl.SDL_FIRSTEVENT, sdl.SDL_LASTEVENT)
        sdl.SDL_GameControllerUpdate()
        if self._open is not None and not sdl.SDL_GameControllerGetAttached(self._open):
            self._let_go()
        if self._open is None:
            self._find()
        return None if self._open is None else PadReading(self._values(self._open))

    def _values(self, pad: Any) -> Mapping[str, float]:
        sdl = self._sdl
        sticks = {name: sdl.SDL_GameControllerGetAxis(pad, axis) / FULL for name, axis in self._sticks.items()}
        buttons = {name: float(sdl.SDL_GameControllerGetButton(pad, each)) for name, each in self._buttons.items()}
        return {**sticks, **buttons}

    def _find(self) -> None:
        sdl = self._sdl
        for number in range(sdl.SDL_NumJoysticks()):
            if sdl.SDL_IsGameController(number) and (found := sdl.SDL_GameControllerOpen(number)):
                self._open = found
                return

    def _let_go(self) -> None:
        self._sdl.SDL_GameControllerClose(self._open)
        self._open = None

    def close(self) -> None:
        """Let go of it."""
        if self._open is not None:
            self._let_go()
        self._sdl.SDL_Quit()


def _sdl2() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells which library it has found
            import sdl2
    except ImportError:
        raise MissingExtraError("a game pad", "pad", needs="needs") from None
    return sdl2
