"""The loop around one arm's equations in numpy, all settings side by side.

It is `hil/kernels/loops/closed_loop.py` without a compiler: same layout, same order, same numbers up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hil.kernels import lane_layout as at
from hil.kernels.emit_lanes import CONTROLLER_INPUTS, CONTROLLER_RESULTS, PLANT_INPUTS, PLANT_RESULTS, shared_place
from hil.kernels.emit_numpy import numpy_text, tangent_is_vectorised
from hil.kernels.emit_python import python_function
from hil.kernels.expression import Operation
from hil.kernels.routine import Routine
from hil.kernels.scalar import FloatArray

TOGETHER = 1024
"""Settings per pass: their numbers stay in the cache."""

TRACED = ("q", "qd", "tau", "seen", "reaction")
"""Rows of each tick's trace."""


class Inputs(NamedTuple):
    """What all settings share, as `run` of the compiled loop takes it."""

    schedule: Any
    times: FloatArray
    wanted: FloatArray
    noise: FloatArray
    disturbance: FloatArray
    resolution: FloatArray
    bounds: FloatArray
    start: FloatArray
    hold: FloatArray


class PlainLoop:
    """One controller and one arm in numpy."""

    def __init__(self, controller: Routine, plant: Routine) -> None:
        self._controller = _Equations(controller, CONTROLLER_INPUTS, CONTROLLER_RESULTS)
        self._plant = _Equations(plant, PLANT_INPUTS, PLANT_RESULTS)

    def run(self, settings: FloatArray, results: FloatArray, inputs: Inputs, trace: FloatArray) -> None:
        """As the compiled ``run``; the first setting goes to `trace`, shape (ticks + 1, 5, n), (0, 5, n) for none."""
        for first in range(0, settings.shape[1], TOGETHER):
            part = slice(first, first + TOGETHER)
            self._run(settings[:, part], results[:, part], inputs, trace if first == 0 else trace[:0])

    def _run(self, settings: FloatArray, results: FloatArray, inputs: Inputs, trace: FloatArray) -> None:
        ticks, steps, delay, by_difference = (int(value) for value in inputs.schedule)
        n, lanes = len(inputs.resolution), settings.shape[1]
        state, scores = np.zeros((at.STATE_BLOCKS, n, lanes)), np.zeros((at.SCORES, n, lanes))
        shared = np.concatenate([inputs.times, np.empty(3 * n)])
        state[: at.SETTINGS] = settings.reshape(at.SETTINGS, n, lanes)
        state[at.Q], state[at.QD] = inputs.start[:n, None], inputs.start[n:, None]
        state[at.MEASURED] = state[at.Q] - state[at.QD] * inputs.times[1]
        held = inputs.hold[:, None]
        commands: list[FloatArray] = []
        control, move = self._controller.over(state), self._plant.over(state)
        with np.errstate(all="ignore"):
            for tick in range(ticks + 1):
                shared[2 + 2 * n :] = inputs.wanted[tick]
                _measure(state, inputs, tick, by_difference != 0)
                control(shared)
                alive = _score(state, scores, inputs, tick)
                if tick < len(trace):
                    for row, block in enumerate((at.Q, at.QD, at.QUEUED, at.MEASURED, at.REACTION)):
                        trace[tick, row] = state[block, :, 0]
                if tick == ticks or not alive:
                    break
                commands.append(state[at.QUEUED].copy())
                commands[: -(delay // steps + 2)] = []
                for step in range(tick * steps, (tick + 1) * steps):
                    issued = (step - delay) // steps
                    tau = commands[issued - tick - 1] if step >= delay else held
                    state[at.TAU] = tau + inputs.disturbance[step][:, None] if len(inputs.disturbance) else tau
                    move(shared)
        results[:] = scores.reshape(at.SCORES * n, lanes)


def measured_at(q: FloatArray, inputs: Inputs, tick: int) -> FloatArray:
    """Positions as the controller sees them: with noise, in whole steps of the encoder; shape (n,) or (n, lanes)."""
    shape = (-1, *(1,) * (q.ndim - 1))
    seen: FloatArray = q + inputs.noise[tick].reshape(shape)
    steps = inputs.resolution.reshape(shape)
    if not inputs.resolution.any():
        return seen
    sized = np.where(steps > 0.0, steps, 1.0)
    whole: FloatArray = np.where(steps > 0.0, np.floor(seen / sized + 0.5) * sized, seen)
    return whole


def _measure(state: FloatArray, inputs: Inputs, tick: int, by_difference: bool) -> None:
    state[at.MEASURED_BEFORE] = state[at.MEASURED]
    state[at.MEASURED] = measured_at(state[at.Q], inputs, tick)
    if by_difference:
        state[at.SPEED_SEEN] = (state[at.MEASURED] - state[at.MEASURED_BEFORE]) / inputs.times[1]
    else:
        state[at.SPEED_SEEN] = state[at.QD]


def scored(
    scores: FloatArray,
    inputs: Inputs,
    tick: int,
    state: FloatArray,
    torque: FloatArray,
    asked: FloatArray,
    limit: FloatArray,
) -> bool:
    """Add one tick of one setting, given as vectors of n (the state of 2 n); True while it is within the bounds."""
    n = len(torque)
    block = np.zeros((at.STATE_BLOCKS, n, 1))
    for place, values in ((at.Q, state[:n]), (at.QD, state[n:]), (at.QUEUED, torque), (at.ASKED, asked),
                          (at.LIMIT, limit)):  # fmt: skip
        block[place, :, 0] = values
    return _score(block, scores, inputs, tick)


def _score(state: FloatArray, scores: FloatArray, inputs: Inputs, tick: int) -> bool:
    """Add one tick; True while a setting is within the bounds."""
    n = len(inputs.resolution)
    error = np.abs(inputs.wanted[tick, :n, None] - state[at.Q])
    scores[at.ERROR_SUM] += error
    np.fmax(scores[at.LARGEST_ERROR], error, out=scores[at.LARGEST_ERROR])
    scores[at.TORQUE_SQUARES] += state[at.QUEUED] ** 2
    scores[at.AT_LIMIT] += state[at.ASKED] >= state[at.LIMIT]
    # What is not a number is beyond every bound.
    checks = (
        (~(error <= inputs.bounds[0][:, None]), at.BEYOND_ERROR),
        (~(np.abs(state[at.QD]) <= inputs.bounds[1][:, None]), at.BEYOND_SPEED),
        (~(state[at.ASKED] <= inputs.bounds[2][:, None]), at.BEYOND_TORQUE),
    )
    failed = scores[at.FAILED, 0]
    for k in range(n):
        beyond = np.select([mask[k] for mask, _ in checks], [code for _, code in checks], 0.0)
        now = (failed == 0.0) & (beyond > 0.0)
        scores[at.FAILED_AT, 0][now] = tick
        failed[now] = beyond[now]
    return bool((failed == 0.0).any())


class _Equations:
    """One routine on the rows of a state."""

    def __init__(self, routine: Routine, inputs: dict[str, int] | Any, results: dict[str, int] | Any) -> None:
        self._routine = routine
        self._inputs = [(argument, inputs.get(argument.name)) for argument in routine.arguments]
        self._results = [results[result.name] for result in routine.results]
        self._constants = [
            (k, value.value)
            for k, value in enumerate(value for result in routine.results for value in result.values)
            if value.operation is Operation.CONSTANT
        ]
        self._block: Callable[..., None] | None = None
        self._one: Callable[..., tuple[float, ...]] | None = None
        self._scratch = 0

    def over(self, state: FloatArray) -> Callable[[FloatArray], None]:
        """A function of `shared` that works the routine out on `state`, in place."""
        return self._over_one(state) if state.shape[2] == 1 else self._over_many(state)

    def _over_one(self, state: FloatArray) -> Callable[[FloatArray], None]:
        """A single setting goes quicker on floats."""
        if self._one is None:
            self._one = python_function(self._routine, flat=True)
        one, n = self._one, state.shape[1]
        rows = state[:, :, 0]

        def work(shared: FloatArray) -> None:
            common = shared.tolist()
            values = one(*self._given(common, n, lambda block: rows[block].tolist()))
            for k, block in enumerate(self._results):
                rows[block] = values[k * n : (k + 1) * n]

        return work

    def _over_many(self, state: FloatArray) -> Callable[[FloatArray], None]:
        if self._block is None:
            text = numpy_text(self._routine, half_angles=tangent_is_vectorised())
            namespace: dict[str, Any] = {}
            exec(compile(text.source, f"<{self._routine.name} side by side>", "exec"), namespace)
            self._block, self._scratch = namespace["block"], text.scratch
        block, (_, n, lanes) = self._block, state.shape
        scratch = list(np.empty((self._scratch, lanes)))
        out = np.empty((len(self._results) * n, lanes))
        rows = list(out)
        for k, value in self._constants:
            out[k] = value

        def work(shared: FloatArray) -> None:
            common = shared.tolist()
            given: list[Any] = []
            for values in self._given(common, n, lambda chosen: list(state[chosen])):
                given += values if isinstance(values, list) else [values]
            block(given, rows, scratch)
            for k, chosen in enumerate(self._results):
                state[chosen] = out[k * n : (k + 1) * n]

        return work

    def _given(self, common: Sequence[float], n: int, of_state: Callable[[int], list[Any]]) -> list[Any]:
        given: list[Any] = []
        for argument, block in self._inputs:
            place = shared_place(argument.name, n)
            if place is None:
                assert block is not None
                given.append(of_state(block))
            else:
                given.append(list(common[place : place + n]) if argument.length else common[place])
        return given
