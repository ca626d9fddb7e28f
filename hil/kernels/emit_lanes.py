"""Source text of a closed loop for Numba: one arm's equations over a tile of settings, and the loop around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources

from hil.kernels import lane_layout as layout
from hil.kernels.build import loops_source
from hil.kernels.emit_numba import HEAD, equations, imports, input_names
from hil.kernels.lane_layout import ROW
from hil.kernels.routine import Routine

LOOP = "closed_loop"
_CUT = "# -- from here on"
_INNER = 'no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy", nogil=True'

CONTROLLER_INPUTS: Mapping[str, int] = {
    "q": layout.MEASURED,
    "qd": layout.SPEED_SEEN,
    "kp": layout.KP,
    "kd": layout.KD,
    "ki": layout.KI,
    "limit": layout.LIMIT,
    "integral": layout.INTEGRAL,
}
CONTROLLER_RESULTS: Mapping[str, int] = {
    "tau": layout.QUEUED,
    "integral": layout.INTEGRAL,
    "asked": layout.ASKED,
}
PLANT_INPUTS: Mapping[str, int] = {
    "q": layout.Q,
    "qd": layout.QD,
    "tau": layout.TAU,
    "viscous": layout.VISCOUS,
    "armature": layout.ARMATURE,
    "reaction": layout.REACTION,
    "forwards": layout.FORWARDS,
    "backwards": layout.BACKWARDS,
}
PLANT_RESULTS: Mapping[str, int] = {"q": layout.Q, "qd": layout.QD, "reaction": layout.REACTION}
"""Blocks of the state that the routines of `hil.kernels.closed_loop` read and write."""


def shared_place(name: str, n: int) -> int | None:
    """Where an argument that all settings share stands in `shared`; None for any other."""
    places = {"step_s": layout.STEP, "period_s": layout.TICK}
    vectors = ("lower", "upper", "wanted_q", "wanted_qd", "wanted_qdd")
    places |= {name: layout.LOWER + k * n for k, name in enumerate(vectors)}
    return places.get(name)


def closed_loop_source(controller: Routine, plant: Routine) -> str:
    """A module with ``run``, as `hil/kernels/loops/closed_loop.py` describes it."""
    constants = resources.files("hil.kernels").joinpath("lane_layout.py").read_text(encoding="utf-8")
    _, loop = loops_source(LOOP).split(_CUT, 1)
    return "\n\n".join(
        [
            *dict.fromkeys([*imports(controller), *imports(plant)]),
            HEAD,
            constants,
            equations(controller, "controller"),
            equations(plant, "plant"),
            _lanes("control_lanes", "controller", controller, CONTROLLER_INPUTS, CONTROLLER_RESULTS),
            _lanes("move_lanes", "plant", plant, PLANT_INPUTS, PLANT_RESULTS),
            _CUT + loop,
        ]
    )


def _lanes(name: str, called: str, routine: Routine, inputs: Mapping[str, int], results: Mapping[str, int]) -> str:
    """A function that works on all lanes of a tile: every index is a constant plus the loop's counter."""
    n = next(argument.length for argument in routine.arguments if argument.length)
    body, given = [], []
    for argument in routine.arguments:
        place = shared_place(argument.name, n)
        if place is None:
            given += [f"state[{(inputs[argument.name] * n + k) * ROW} + i]" for k in range(n)]
            continue
        entries = [argument.name] if not argument.length else [f"{argument.name}{k}" for k in range(n)]
        body += [f"{entry} = shared[{place + k}]" for k, entry in enumerate(entries)]
        given += entries
    assert len(given) == len(input_names(routine))
    body += ["for i in range(lanes):", f"    values = {called}({', '.join(given)})"]
    body += [f"    {place} = values[{k}]" for k, place in enumerate(_places(routine, results, n))]
    return "\n    ".join([f"@njit({_INNER})", f"def {name}(state, shared, lanes):", *body]).replace(
        "\n    def", "\ndef", 1
    )


def _places(routine: Routine, results: Mapping[str, int], n: int) -> Iterator[str]:
    for result in routine.results:
        for k in range(n):
            yield f"state[{(results[result.name] * n + k) * ROW} + i]"
