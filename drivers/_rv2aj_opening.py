"""The opening conversation with a CR1: who it is, what is in the way, and where the arm stands. It moves nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from drivers._rv2aj_alarms import explain_standing
from drivers._rv2aj_codec import Identity, decode_alarm, decode_pose, decode_stops, program_stem
from drivers._rv2aj_exchange import Exchange
from drivers._rv2aj_halt import reset_slots
from drivers._rv2aj_hello import CLIENTS, greet
from drivers._rv2aj_identity import identify
from drivers._rv2aj_key import Key, read_key
from drivers._rv2aj_line import Ask
from drivers._rv2aj_looks import ALARM, Looks
from drivers._rv2aj_ours import OurProgram
from drivers._rv2aj_pose import distance_mm, pose
from drivers._rv2aj_programs import standing
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_talk import Talk, need
from hil.errors import ControllerError
from hil.identity import Acquaintance
from hil.types import ControllerIdentity

TOOL_MM = 1.0


class Met(NamedTuple):
    """Who answered: what it calls itself, and what tells it from others."""

    text: str
    controller: ControllerIdentity


class Opening:
    """Opens one session after the other with the controller that was met first, under the name that it took last.

    Args:
        settings: of the line.
        acquaintance: whom to expect.
        ours: our program, which an earlier session may have left there.
        say: takes words for the user.
    """

    def __init__(
        self, settings: Rv2ajSettings, acquaintance: Acquaintance, ours: OurProgram, say: Callable[[str], None]
    ) -> None:
        self._settings, self._acquaintance, self._ours, self._say = settings, acquaintance, ours, say
        self._name = settings.port_url
        self._client = ""

    def talk(self, exchange: Exchange, looks: Looks) -> Talk[Met]:
        """Open the session, and see that the arm can be anybody's.

        Raises:
            LinkTimeout: nobody answers.
            ControllerError: another one answers, or something stands in the way; a person has to clear it.
        """
        found = yield from greet(exchange.line, self._settings, self._client)
        self._client = exchange.line.client
        if self._client != CLIENTS[0]:
            self._say(f"the controller was opened as {self._client}; it did not take {CLIENTS[0]}")
        controller = yield from identify(found, self._acquaintance.expected, self._client)
        self._acquaintance.meet(controller)
        yield from self._look_round(found, exchange)
        yield from self._first_position(looks)
        return Met(found.text, controller)

    def _look_round(self, found: Identity, exchange: Exchange) -> Talk[None]:
        """Key, emergency stops, alarms, programs that run or are paused."""
        state = yield from standing()
        stops = decode_stops((yield from need(Ask("STPSIG", decode_stops, 14))).data)
        if stops.emergency or state.status.emergency_stop:
            pressed = ", ".join(stops.emergency) or "somewhere"
            raise ControllerError(f"{self._name}: the emergency stop is pressed ({pressed}); release it, connect again")
        key = Key.TEACH if state.status.teach else (yield from read_key())
        if state.status.teach:
            raise ControllerError(f"{self._name}: {Key.TEACH.words}, connect again")
        if key is not None and key.words:
            self._say(key.words)
        yield from self._clear_alarm()
        ours = self._ours.meet(program_stem(state.program), found.tasks)
        if state.status.running and not ours:
            raise ControllerError(
                f"{self._name}: program {state.program or 'of somebody'} runs (line {state.line}); stop it at the "
                "panel, connect again"
            )
        if state.status.running or state.status.waiting:
            yield from reset_slots(exchange, self._name)
            what = f"our program {ours}, left behind by a session that was cut off," if ours else "a paused program"
            self._say(f"{what} was stopped and reset, so that no start goes on with it")

    def _clear_alarm(self) -> Talk[None]:
        """An alarm that stands is told and reset once; one that comes back is a fault."""
        for again in (False, True):
            stands = decode_alarm((yield from need(ALARM)).data)
            if stands is None:
                return
            alarm = explain_standing(stands)
            if again:
                raise ControllerError(f"{self._name}: alarm {alarm.words}")
            self._say(f"alarm {alarm.level}{alarm.number:04d} ({alarm.text}) stood and was reset")
            yield from need(Ask("RSTALRM"))

    def _first_position(self, looks: Looks) -> Talk[None]:
        """The joints, twice over: as such, and as the pose that the controller makes of them."""
        found = yield from looks.first()
        shown = decode_pose((yield from need(Ask("PPOSF", decode_pose, 90))).data)
        off_mm = distance_mm(pose(found.joints_deg), shown)
        if off_mm > TOOL_MM:
            self._say(
                f"the controller's point lies {off_mm:.1f} mm from the flange that its joints give: a tool or base is "
                "set there (parameters MEXTL, MEXBS). Joint moves are right all the same"
            )
