"""`hil.motion.planner` under its name of before, for programs that plan by it."""

from __future__ import annotations

from hil.old_names import moved


def __getattr__(name: str) -> object:
    return moved(__name__, name)
