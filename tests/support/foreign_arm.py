"""A cable that comes back with another arm at its end: what reaches that one has to be nothing at all."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from unittest import mock

import msgspec

from hil.link import BytePort, SerialAdapter
from hil.runtime import port_wiring, wiring
from hil.types import Mode, Request, Reset
from sim.cr1 import Cr1, Cr1Settings
from sim.ports import MemoryPort
from sim.uart import EIGHT_E_TWO

DEVICE = "/dev/ttyUSB0"
OURS, OTHER = "A50285BI", "FT4NKLMQ"
PERIOD_S = 0.02


@dataclass
class Desk:
    """Two arms, and the adapter of one of them under the port's name."""

    here: str = OURS
    ports: list[tuple[str, MemoryPort]] = field(default_factory=list)
    arms: dict[str, Cr1] = field(
        default_factory=lambda: {serial: Cr1(Cr1Settings(baud=9600)) for serial in (OURS, OTHER)}
    )

    def adapters(self) -> tuple[SerialAdapter, ...]:
        """What the system lists."""
        return (SerialAdapter(device=DEVICE, serial_number=self.here, usb_place="1-1.2"),)

    def open(self, url: str, baud: int, framing: str = "8E2") -> BytePort:
        """Open the port under that name."""
        port = MemoryPort(self.arms[self.here], baud, framing=EIGHT_E_TWO)
        self.ports.append((self.here, port))
        return port


def bytes_to_another_arm() -> int:
    """Connect, pull the cable, put another arm in its place, reset: bytes that this one got within three seconds."""
    desk = Desk()
    rig = msgspec.structs.replace(wiring.load_rig("rv2aj"), adapter_serial=OURS)
    with _desk_is_there(desk):
        bridge = wiring.serial_bridge(wiring.session_record(rig, url=DEVICE, fake=False), rig)
        now_s, foreign = 1.0, 0
        for tick in range(550):
            now_s += PERIOD_S
            requests: tuple[Request, ...] = ()
            if tick == 300:
                assert bridge.mode is Mode.UNKNOWN_POSE, "the first arm was not connected"
                desk.here = OTHER
                for _, port in desk.ports:
                    port.unplug(now_s)
            elif tick in (350, 400) and bridge.mode is Mode.FAULT:
                requests = (Reset(by="a test"),)
            record = bridge.tick(now_s, requests)
            if desk.ports and desk.ports[-1][0] == OTHER:
                foreign += len(record.written)
    return foreign


@contextlib.contextmanager
def _desk_is_there(desk: Desk) -> Iterator[None]:
    with (
        mock.patch.object(port_wiring, "open_serial", desk.open),
        mock.patch.object(port_wiring, "list_adapters", desk.adapters),
    ):
        yield
