"""Source text of a closed loop for Numba that runs one setting, with everything that it does, tick by tick.

`hil.kernels.emit_lanes` is for many settings: its numbers live in memory, a row for each. One setting alone has nobody
to share a pass with, and what it waits for is the longest chain of operations of a step. So every number is a variable
of its own here, sines and cosines follow their angles by the addition theorem, and the compiler may put sums into
another order and round a product with its sum: last digits may differ from those of a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hil.kernels.emit_lanes import CONTROLLER_RESULTS, PLANT_RESULTS
from hil.kernels.emit_numba import contracted_head, equations, imports, plain_angles, turned_names
from hil.kernels.routine import Routine

FRESH_EVERY = 64
"""Steps after which sines and cosines are worked out anew: what rounding adds up to by then is 1e-14."""

LARGEST_TURN = 0.01
"""Up to this angle of one step the short series below are exact to the last digit: 10 rad/s in steps of 1 ms."""

_SETTINGS = ("kp", "kd", "ki", "limit", "viscous", "armature", "forwards", "backwards")
"""In the order of a setting's blocks."""

_SIGNATURE = (
    "void(float64[::1], float64[:, ::1], int64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], "
    "float64[::1], float64[:, ::1], float64[::1], float64[::1], float64[:, :, ::1])"
)

_SEE = '''\
@njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")
def see(q, noise, resolution):
    """A position with noise, in whole steps of the encoder."""
    seen = q + noise
    return np.floor(seen / resolution + 0.5) * resolution if resolution > 0.0 else seen
'''

_TURN = '''\
@njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy", fastmath={"contract"})
def turned(s, c, d):
    """Sine and cosine of an angle that has grown by a small d."""
    z = d * d
    s_d = d + d * z * (z * 0.008333333333333333 - 0.16666666666666666)
    c_d = z * (z * (0.041666666666666664 - z * 0.001388888888888889) - 0.5)
    return s + c * s_d + s * c_d, c - s * s_d + c * c_d
'''


def traced(plant: Routine, *, exact: bool) -> tuple[str, ...]:
    """Rows of each tick's trace: what is measured only where that is something else, reactions where there are any."""
    reacts = any(result.name == "reaction" for result in plant.results)
    return ("q", "qd", "tau", *(() if exact else ("seen",)), *(("reaction",) if reacts else ()))


def one_run_source(controller: Routine, plant: Routine, *, exact: bool) -> str:
    """A module with ``run``, which takes what that of `hil/kernels/loops/closed_loop.py` takes.

    The setting is a vector, the results have the shape (6, n), and a trace is given as well: written, shape
    (ticks + 1, rows, n), with the rows that `traced` names.

    Args:
        controller: what is asked at a tick; where nothing limits the torques, better one that knows.
        plant: the arm's state one step later.
        exact: the controller sees positions and speeds as they are.
    """
    n = next(argument.length for argument in controller.arguments if argument.length)
    angles = plain_angles(plant)
    shared = tuple(angles) if exact else ()
    return "\n\n".join(
        [
            *dict.fromkeys([*imports(controller), *imports(plant)]),
            contracted_head(),
            _SEE,
            _TURN,
            equations(controller, "controller", loosely=True, given=shared),
            equations(plant, "plant", loosely=True, given=tuple(angles)),
            "\n".join(_run(controller, plant, n, angles, exact)),
        ]
    )


def _run(controller: Routine, plant: Routine, n: int, angles: Mapping[str, str], exact: bool) -> Iterator[str]:
    yield f'@njit("{_SIGNATURE}", cache=True, nogil=True, error_model="numpy", fastmath={{"contract"}})'
    inputs = "schedule, times, wanted, noise, disturbance, resolution, bounds, start, hold"
    yield f"def run(setting, results, {inputs}, trace):"
    yield from _indented(_beginning(n), 1)
    yield from _indented(_anew(angles), 1)
    yield "    for tick in range(ticks + 1):"
    yield from _indented(_tick(controller, plant, n, len(angles), exact), 2)
    yield "        for step in range(tick * steps, (tick + 1) * steps):"
    yield from _indented(_step(plant, n, angles), 3)
    yield from _indented(_end(n), 1)


def _beginning(n: int) -> Iterator[str]:
    yield "ticks, steps, delay, by_difference = schedule[0], schedule[1], schedule[2], schedule[3] != 0"
    yield f"ring = delay // steps + 2; commands = np.zeros((ring, {n})); disturbed = len(disturbance) > 0"
    yield "put = -1; got = -1; until_next = delay; until_fresh = 0"
    yield "step_s = times[0]; period_s = times[1]; failed = 0.0; failed_at = 0.0"
    for block, name in enumerate(_SETTINGS):
        yield _each(n, f"{name}%d = setting[{block * n} + %d]")
    yield _each(n, f"lower%d = times[2 + %d]; upper%d = times[{2 + n} + %d]")
    yield _each(n, "most_error%d = bounds[0, %d]; most_speed%d = bounds[1, %d]; most_torque%d = bounds[2, %d]")
    yield _each(n, f"q%d = start[%d]; qd%d = start[{n} + %d]; seen%d = q%d - qd%d * period_s; held%d = hold[%d]")
    yield _each(n, "reaction%d = 0.0; integral%d = 0.0")
    yield _each(n, "error_sum%d = 0.0; largest%d = 0.0; squares%d = 0.0; at_limit%d = 0.0")


def _tick(controller: Routine, plant: Routine, n: int, angles: int, exact: bool) -> Iterator[str]:
    for k, name in enumerate(("wanted_q", "wanted_qd", "wanted_qdd")):
        yield _each(n, f"{name}%d = wanted[tick, {k * n} + %d]")
    if exact:
        yield _each(n, "seen%d = q%d; speed_seen%d = qd%d")
    else:
        yield _each(n, "before%d = seen%d; seen%d = see(q%d, noise[tick, %d], resolution[%d])")
        yield _each(n, "speed_seen%d = (seen%d - before%d) / period_s if by_difference else qd%d")
    assert {result.name for result in controller.results} <= CONTROLLER_RESULTS.keys()
    yield _call("controller", controller, n, angles if exact else 0, {"q": "seen", "qd": "speed_seen"})
    for row, name in enumerate(traced(plant, exact=exact)):
        yield _each(n, f"trace[tick, {row}, %d] = {name}%d")
    yield _each(n, "error%d = abs(wanted_q%d - q%d); error_sum%d += error%d")
    yield _each(n, "largest%d = error%d if error%d > largest%d else largest%d; squares%d += tau%d * tau%d")
    if any(argument.name == "limit" for argument in controller.arguments):
        yield _each(n, "at_limit%d += 1.0 if asked%d >= limit%d else 0.0")
    inside = "(error%d <= most_error%d) & (abs(qd%d) <= most_speed%d) & (asked%d <= most_torque%d)"
    yield f"if not ({_each(n, inside, ' & ')}):"
    yield "    failed_at = float(tick)"
    for k in reversed(range(n)):
        # Of several joints the first counts, and of one joint the error.
        for test, code in (("asked%d <= most_torque%d", 3.0), ("abs(qd%d) <= most_speed%d", 2.0),
                           ("error%d <= most_error%d", 1.0)):  # fmt: skip
            yield f"    failed = failed if {test.replace('%d', str(k))} else {code}"
    yield "    break"
    yield "if tick == ticks:"
    yield "    break"
    yield "put = put + 1 if put + 1 < ring else 0"
    yield _each(n, "commands[put, %d] = tau%d")


def _step(plant: Routine, n: int, angles: Mapping[str, str]) -> Iterator[str]:
    assert {result.name for result in plant.results} <= PLANT_RESULTS.keys()
    yield "if until_next == 0:"
    yield "    until_next = steps; got = got + 1 if got + 1 < ring else 0"
    yield "    " + _each(n, "held%d = commands[got, %d]")
    yield "until_next -= 1"
    yield _each(n, "tau%d = held%d")
    yield "if disturbed:"
    yield "    " + _each(n, "tau%d += disturbance[step, %d]")
    yield _each(n, "start_q%d = q%d")
    yield _call("plant", plant, n, len(angles), {})
    if angles:
        yield from _turned(angles)


def _turned(angles: Mapping[str, str]) -> Iterator[str]:
    """Sines and cosines after a step."""
    yield "until_fresh -= 1"
    yield from (f"turn_{k} = {name} - start_{name}" for k, name in enumerate(angles.values()))
    small = " & ".join(f"(abs(turn_{k}) <= {LARGEST_TURN})" for k in range(len(angles)))
    yield f"if until_fresh > 0 and {small}:"
    yield from (f"    sin_{k}, cos_{k} = turned(sin_{k}, cos_{k}, turn_{k})" for k in range(len(angles)))
    yield "else:"
    yield from _indented(_anew(angles), 1)


def _anew(angles: Mapping[str, str]) -> Iterator[str]:
    yield f"until_fresh = {FRESH_EVERY}"
    yield from (f"sin_{k}, cos_{k} = sincos({angle})" for k, angle in enumerate(angles))


def _end(n: int) -> Iterator[str]:
    for block, name in enumerate(("error_sum", "largest", "squares", "at_limit")):
        yield _each(n, f"results[{block}, %d] = {name}%d")
    yield _each(n, "results[4, %d] = failed; results[5, %d] = failed_at")


def _call(name: str, routine: Routine, n: int, angles: int, renamed: Mapping[str, str]) -> str:
    given: list[str] = []
    for argument in routine.arguments:
        own = renamed.get(argument.name, argument.name)
        given += [f"{own}{k}" for k in range(n)] if argument.length else [own]
    results = [f"{result.name}{k}" for result in routine.results for k in range(n)]
    return f"{', '.join(results)} = {name}({', '.join([*given, *turned_names(angles)])})"


def _each(n: int, template: str, between: str = "; ") -> str:
    """The template once per joint."""
    return between.join(template.replace("%d", str(k)) for k in range(n))


def _indented(lines: Iterable[str], levels: int) -> Iterator[str]:
    for line in lines:
        yield "    " * levels + line
