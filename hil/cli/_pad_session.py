"""A game pad at a terminal: while its button is held, its sticks jog the arm."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from hil.cli.output import complain
from hil.clock import monotonic_s

if TYPE_CHECKING:
    from hil.runtime.host import Host
    from hil.workbench.game_pad import PadSource

LOOK_S = 0.02
ARMING_S = 2.0


class PadSession:
    """What the pad asks for, and what came of it.

    Args:
        host: of the arm.
        source: reads the pad.
        share: part of the rig's speeds.

    Attributes:
        jogs: how often something was begun.
    """

    def __init__(self, host: Host, source: PadSource, share: float) -> None:
        from hil.workbench.game_pad import PadHand, PadMap

        self._host, self._source, self._share = host, source, share
        self._hand, self._map = PadHand(host.rig.pad), PadMap(host.rig)
        self._seq = self.jogs = 0
        self._heard = len(host.events)
        self._moving = False

    def go(self) -> bool:
        """Until Ctrl-C, or the arm can be jogged no more; whether that was no fault."""
        from hil.types import Mode

        host = self._host
        while host.alive and host.mode not in (Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED):
            self.look()
            time.sleep(LOOK_S)
            host.poll()
        self._say()
        return False

    def look(self) -> None:
        """Read the pad once, and ask for what follows."""
        from hil.errors import HilError
        from hil.types import JogHold, JogRelease
        from hil.workbench.game_pad import Ask

        now_s, reading = monotonic_s(), self._source.read()
        asked = self._hand.look(reading, now_s)
        try:
            if asked is Ask.BEGIN:
                self._arm()
            if asked in (Ask.BEGIN, Ask.GO_ON) and reading is not None:
                move = self._map.move(reading, self._share)
                self._host.send(JogHold(seq=self._next(), issued_s=now_s, move=move))
            elif asked is Ask.RELEASE:
                self._host.send(JogRelease(seq=self._next()))
                if self._hand.words:
                    complain(self._hand.words)
        except HilError as error:
            self._hand.drop()
            complain(str(error))
        self._see()

    def _arm(self) -> None:
        from hil.types import ArmJog, Mode

        self._host.send(ArmJog(speed_share=self._share))
        self._host.wait_for(Mode.ARMED, ARMING_S)
        self.jogs += 1
        self._moving = False

    def _see(self) -> None:
        """An arm that was stopped by anything else does not go on because the button is still held."""
        from hil.types import Mode

        self._say()
        self._moving = self._moving or self._host.mode is Mode.STREAMING
        if self._moving and self._host.mode not in (Mode.STREAMING, Mode.ARMED):
            self._moving = False
            self._hand.drop()

    def _say(self) -> None:
        news, self._heard = self._host.events[self._heard :], len(self._host.events)
        for event in news:
            released = "the jog was released" in event
            if event.startswith(("refused: ", "[", "the jog ")) or ("stop: " in event and not released):
                complain(event.removeprefix("refused: "))
            elif "-> fault: " in event:
                complain(event)

    def _next(self) -> int:
        self._seq += 1
        return self._seq
