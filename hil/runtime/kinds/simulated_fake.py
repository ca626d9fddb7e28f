"""The simulated controller with a rig's arm: in memory, or in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from hil.clock import monotonic_s
from hil.model.rig import Rig
from hil.runtime.kinds.kind import FakeChoices, FakeKind, MemoryFake
from hil.runtime.kinds.served import Owner, own_line, serve_owner
from hil.space.gravity_load import axis_loads
from sim.arm import SimulatedArm
from sim.faults import ANY_CONTROLLER, FaultScript
from sim.ports import MemoryPort
from sim.server import Ready, Service, serve_fake, serve_pty, serve_tcp
from sim.simulated_controller import SimulatedController


def _controller(rig: Rig, start: Sequence[float], energised: bool, start_s: float) -> SimulatedController:
    lags_s, speeds = [axis.servo_lag_s for axis in rig.axes], [axis.servo_speed for axis in rig.axes]
    models = [axis.servo for axis in rig.axes]
    arm = SimulatedArm(start, lags_s, speeds, energised=energised, models=models, loads=axis_loads(rig))
    return SimulatedController(arm, len(rig.axes), start_s, held=energised)


def _in_memory(
    rig: Rig, start: Sequence[float], energised: bool, faults: FaultScript | None, start_s: float, chosen: FakeChoices
) -> MemoryFake:
    """An arm that stands where it stands, held or not; of a kind of controller that knows no choices."""
    controller = _controller(rig, start, energised, start_s)

    def serve(
        tcp: bool, ready: Callable[[str], None], heard: Callable[[bytes, float], None], stop: Callable[[], bool]
    ) -> None:
        if tcp:
            serve_tcp(controller, 0, ready, faults=faults, heard=heard, stop=stop)
        else:
            serve_pty(controller, None, ready, faults=faults, heard=heard, stop=stop)

    return MemoryFake(
        open_port=lambda: MemoryPort(controller, controller.baud, faults),
        serve=serve,
        first_jumps=lambda: (0.0,) * len(rig.axes),
        setpoints=controller.setpoints,
        servos=controller.positions,
    )


def _process(rig: Rig, folder: Path, owner: Connection, chosen: FakeChoices, loop_core: int | None) -> None:
    """Serve an arm that stands in the park pose, until its owner ends it or is gone."""

    def run(ready: Ready, said: Owner) -> None:
        start_s = monotonic_s()
        line = own_line(folder, "simulated")
        service = Service(socket=line.socket, tcp_port=line.tcp_port, serial_pace=True)
        controller = _controller(rig, rig.park, False, start_s)
        serve_fake(controller, service, ready, start_s, owned=said.ended, orders=said.orders)

    serve_owner(owner, loop_core, run)


FAKE = FakeKind(_in_memory, _process, ANY_CONTROLLER)
