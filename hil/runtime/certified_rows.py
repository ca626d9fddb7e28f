"""The loaded motion as the wire carries it: made once, and held against its certificate."""

from __future__ import annotations

from hil.link import ArmLink, TabledSettings, TableLink
from hil.model.rig import Rig
from hil.motion.motion import Motion
from hil.safety.certificate import Certificate, verify_table
from hil.safety.guard import Guard
from hil.wire_table import WireTable


def wire_table(rig: Rig, motion: Motion) -> WireTable | None:
    """What the wire carries for each sample of a motion; None for a kind of controller without such a table.

    Raises:
        CommandError: a sample is outside what the wire may carry.
    """
    settings = rig.controller
    return settings.wire_table(motion.samples, rig.look_ahead_s) if isinstance(settings, TabledSettings) else None


class CertifiedRows:
    """Says whether a motion is sent by its table.

    A motion goes by its table if its certificate names one, and if it begins where every limit is kept; any other is
    judged and encoded sample by sample.
    """

    def __init__(self, rig: Rig, link: ArmLink, guard: Guard) -> None:
        self._rig, self._guard = rig, guard
        self._link = link if isinstance(link, TableLink) else None
        self._table: WireTable | None = None

    def made(self, motion: Motion, certificate: Certificate) -> WireTable | None:
        """The table of a motion whose certificate was verified; None if it goes without. Changes nothing.

        Raises:
            RefusedError: it is not the one that was certified.
            CommandError: a sample is outside what the wire may carry.
        """
        table = wire_table(self._rig, motion) if self._link is not None and certificate.wire_digest else None
        if table is not None:
            verify_table(certificate, table)
        return table

    def take(self, motion: Motion, table: WireTable | None) -> None:
        """The motion is loaded, with the table that was made of it."""
        self._table = table
        if self._link is not None and table is not None:
            self._link.carry(table, motion.samples)

    def begin(self) -> bool:
        """The loaded motion starts, and the guard was reset at its start; True if it goes by its table."""
        if self._link is None or self._table is None or self._guard.lenient:
            return False
        self._link.begin_rows()
        return True
