"""A bench with plugs, on virtual time: which adapter has which name, and which controller hangs behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from calibrations import NOW, as_it_is
from virtual_session import EPOCH_S, START_S, Session

from hil.errors import LinkClosed
from hil.link import BytePort, SerialAdapter
from hil.model.files import bundled_dir
from hil.model.rig import Rig
from hil.runtime import port_wiring, wiring
from hil.runtime.bridge import Bridge
from hil.runtime.journal import Wiring
from hil.types import ControllerIdentity, Mode, Reset, Stop, TickRecord
from hil.workbench.drafts import write_calibration
from sim.controllers import Controller
from sim.ports import MemoryPort
from sim.ssc32 import BoardSettings, Ssc32Board

DEVICE = "/dev/ttyUSB0"
OURS, OTHER = "A50285BI", "FT4NKLMQ"


class Plugs:
    """What is plugged in.

    Attributes:
        here: the adapters that the system lists.
        looks: how often somebody looked.
        change: called before each look with its number, to change what is here in between.
    """

    def __init__(self) -> None:
        self.here: tuple[SerialAdapter, ...] = ()
        self.looks = 0
        self.change: Callable[[int], None] = lambda look: None

    def plug(self, serial: str, *, place: str = "1-1.2", device: str = DEVICE) -> None:
        """This adapter is the only one from now on."""
        self.here = (SerialAdapter(device=device, serial_number=serial, usb_place=place),)

    def __call__(self) -> tuple[SerialAdapter, ...]:
        self.looks += 1
        self.change(self.looks)
        return self.here


def own_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A user's folder of this test alone, with a rig desk-3."""
    for variable, name in (("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state"), ("APPDATA", "config")):
        monkeypatch.setenv(variable, str(folder / name))
    monkeypatch.setattr(Path, "home", lambda: folder)
    rigs = folder / "config/hil/rigs"
    rigs.mkdir(parents=True)
    (rigs / "desk-3.toml").write_text(f'inherit = "{bundled_dir() / "rigs/lynx6.toml"}"\ntitle = "desk-3"\n')


def plugs_here(monkeypatch: pytest.MonkeyPatch) -> Plugs:
    """Our adapter is plugged in, and nobody sees those of this computer."""
    plugs = Plugs()
    plugs.plug(OURS)
    monkeypatch.setattr(port_wiring, "list_adapters", plugs)
    return plugs


def calibrated(url: str = DEVICE) -> Rig:
    """desk-3, calibrated at the adapter that is plugged in."""
    rig = wiring.load_rig("desk-3", calibrated=False)
    write_calibration(rig, as_it_is(rig), operator="A", adapter=port_wiring.check_adapter(rig, url), port=url, now=NOW)
    return wiring.load_rig("desk-3")


class Cable:
    """The port of an adapter that stays plugged in while what hangs behind it is exchanged."""

    def __init__(self, port: MemoryPort) -> None:
        self.behind = port
        self.closed = False

    def read(self, now_s: float) -> bytes:
        return self.behind.read(now_s)

    def write(self, data: bytes, now_s: float) -> None:
        self.behind.write(data, now_s)

    def set_baud(self, baud: int) -> None:
        self.behind.set_baud(baud)

    def unplug(self, now_s: float) -> None:
        self.behind.unplug(now_s)

    def close(self) -> None:
        self.closed = True
        self.behind.close()


class PluggedSession(Session):
    """A session whose bridge is wired to a real port, as the loop's process has it.

    Args:
        rig: the calibrated rig.
        plugs: which adapter is there.
        monkeypatch: puts lines in memory in the place of real ones.
        expected: who has to answer.
        **board: kind of board.

    Attributes:
        opened: how often the port was opened.
        answering: what hangs behind the adapter.
    """

    def __init__(
        self,
        rig: Rig,
        plugs: Plugs,
        monkeypatch: pytest.MonkeyPatch,
        expected: ControllerIdentity | None = None,
        **board: Any,
    ) -> None:
        super().__init__(rig, **board)
        self.plugs, self.opened = plugs, 0
        self.answering: Controller = self.board
        monkeypatch.setattr(port_wiring, "open_serial", self._open_serial)
        record = wiring.session_record(rig, url=DEVICE, fake=False, expected=expected)
        self.record = msgspec.structs.replace(
            record, start_monotonic_s=START_S, start_epoch_s=EPOCH_S + START_S, wiring=Wiring.REAL
        )
        self.bridge: Bridge = wiring.serial_bridge(self.record, rig)

    def _open_serial(self, url: str, baud: int, framing: str) -> BytePort:
        if self.cable_out:
            raise LinkClosed(f"{url}: there is no such port", url)
        self.opened += 1
        self.port: Any = Cable(self._behind())
        return self.port

    def _behind(self) -> MemoryPort:
        bench = self.bench if self.answering is self.board else None
        return MemoryPort(self.answering, self.settings.baud, None, bench)

    def exchange_behind_the_adapter(self, controller: Controller) -> None:
        """The port stays open, and somebody else hangs at its end."""
        self.answering = controller
        self.port.behind = self._behind()

    def bring(self, mode: Mode) -> None:
        """Bring a fresh session into any mode."""
        if mode is Mode.STOPPING:
            self.to(Mode.STREAMING).tick(Stop(reason="test"))
        elif mode is Mode.HOLDING:
            self.to(Mode.STREAMING).until(mode, Stop(reason="test"))
        elif mode is Mode.FAULT:
            self.to(Mode.IDLE)
            self.board.power_cycle(self.clock.now_s())
            self.until(mode)
        else:
            self.to(mode)
        assert self.mode is mode

    def come_back(self, *, within_s: float = 6.0) -> list[TickRecord]:
        """Reset, and tick until the connection is made or refused; gives the ticks from the reset on."""
        begin = len(self.records)
        self.tick(Reset(by="the test"))
        end_s = self.clock.now_s() + within_s
        while self.mode is Mode.CONNECTING and self.clock.now_s() < end_s:
            self.tick()
        return self.records[begin:]


def another_board(session: PluggedSession, **settings: Any) -> Ssc32Board:
    """A board that is not the session's, at the same speed."""
    return Ssc32Board(BoardSettings(**{"baud": session.settings.baud, **settings}), start_s=session.clock.now_s() - 1.0)


def written(records: list[TickRecord]) -> Iterator[bytes]:
    """The lines that left."""
    for record in records:
        yield from record.written.split(b"\r")
