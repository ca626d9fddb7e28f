"""Remembers from session to session who answers at a rig's real port, and says what to do about another one."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from hil.errors import ConfigError
from hil.identity import NO_MEMORY, Acquaintance
from hil.model._controller_file import calibration_of, read_controller, write_controller
from hil.model.rig import Rig
from hil.types import ControllerIdentity


class ControllerMemory:
    """Of one rig, for its owner. Of a fake nothing is remembered.

    Args:
        rig: with the calibration that is in force.
        url: its real port; None for a fake.

    Raises:
        ConfigError: what is remembered cannot be read.
    """

    def __init__(self, rig: Rig, url: str | None) -> None:
        self._rig, self._url = rig, url
        self._known = None if url is None else read_controller(rig)

    @property
    def expected(self) -> ControllerIdentity | None:
        """Who has to answer; None if nobody was met yet."""
        return self._known

    def met(self, controller: ControllerIdentity) -> str:
        """The right one has answered: remember it.

        Returns:
            Words for the user; empty if there is nothing new.
        """
        if self._url is None:
            return ""
        before = self._known
        self._known = controller if before is None else controller.completed(before)
        if before is not None and set(before.facts) == set(self._known.facts):
            return ""
        now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        try:
            write_controller(self._rig.id, calibration_of(self._rig), self._known, port=self._url, date=now)
        except ConfigError as error:
            return f"who answers for {self._rig.id} cannot be remembered, so another one will not be noticed: {error}"
        if before is not None:
            return ""
        return (
            f"first meeting: what this controller says of itself is remembered for {self._rig.id}; another one, or "
            "changed settings, will be refused"
        )

    def introduction(self, say: Callable[[str], None]) -> Callable[[ControllerIdentity], None]:
        """For one connection without a session: takes who answers, remembers the right one, refuses another.

        Args:
            say: is told what is new.

        Returns:
            What raises a ControllerError for another controller.
        """
        acquaintance = Acquaintance(self._url or "memory")
        acquaintance.expect(self._known, remedy(self._rig.id, self._url))

        def meet(controller: ControllerIdentity) -> None:
            acquaintance.meet(controller)
            if words := self.met(controller):
                say(words)

        return meet


def remedy(rig_id: str, url: str | None) -> str:
    """What a person can do about another controller than the one that is expected."""
    if url is None:
        return NO_MEMORY
    return (
        f"Connect the one of rig {rig_id}. If it is the right arm and the change was meant, end this session and look "
        f"at the arm with `hil identify {rig_id} --hardware --port {url}`, which takes it as it is"
    )
