"""Hardware-in-the-loop bridge for small robot arms: plan, preview, guard, stream, journal.

The names below are loaded when first used, so `import hil` costs nothing.
"""

from __future__ import annotations

from importlib import import_module

# Type checkers take it for True. `typing` would cost more than the rest of this module.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hil.motion.planner import plan
    from hil.robot import Robot, list_robots, load_robot
    from hil.runtime.preview import preview
    from hil.runtime.wiring import load_rig
    from hil.service.remote import connect, connect_async

    __version__: str

__all__ = [
    "Robot",
    "__version__",
    "connect",
    "connect_async",
    "list_robots",
    "load_rig",
    "load_robot",
    "plan",
    "preview",
]

_HOMES = {
    "Robot": "hil.robot",
    "connect": "hil.service.remote",
    "connect_async": "hil.service.remote",
    "list_robots": "hil.robot",
    "load_robot": "hil.robot",
    "load_rig": "hil.runtime.wiring",
    "plan": "hil.motion.planner",
    "preview": "hil.runtime.preview",
}


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object = import_module("hil.version").software_version()
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'hil' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
