"""Which adapter is behind a port, and whether a rig may be addressed there. Opens nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from hil.errors import HilError, InterlockError
from hil.link import BytePort, SerialAdapter
from hil.model._calibration_file import read_confirmation
from hil.model.rig import AdapterIdentity, Rig

SHARED_SERIALS = frozenset({"0001"})
"""What makers of converters leave in every one of them: no serial number at all."""


Check = Callable[[Rig, str], object]
"""Looks at a port without opening it, and refuses by raising what is not the rig's."""


def looked_at(open_port: Callable[[], BytePort], check: Callable[[], object]) -> Callable[[], BytePort]:
    """A way to open a port that is not gone through without a look, however often.

    Args:
        open_port: opens it.
        check: refuses by raising.
    """

    def open_checked() -> BytePort:
        check()
        port = open_port()
        try:
            # Between the look and the opening the name can have gone to another adapter; no byte has left yet.
            check()
        except HilError:
            port.close()
            raise
        return port

    return open_checked


def adapter_of(name: str, adapters: Sequence[SerialAdapter]) -> SerialAdapter:
    """The adapter behind a port, followed through links; one that is on no list is told by its name alone."""
    names = {name, os.path.realpath(name)}
    return next((adapter for adapter in adapters if adapter.device in names), SerialAdapter(device=name))


def identity_of(name: str, found: SerialAdapter) -> AdapterIdentity:
    """How the adapter that was found behind a port is told from others."""
    serial = "" if found.serial_number in SHARED_SERIALS else found.serial_number
    if found.usb_place:
        return AdapterIdentity(serial_number=serial, place=f"USB {found.usb_place}")
    return AdapterIdentity(serial_number=serial, place=os.path.abspath(name) if os.sep in name[:1] else name)


def refuse_renamed(url: str, serial_number: str, here: Sequence[SerialAdapter]) -> None:
    """Say where an adapter is that is not at its port any more.

    Raises:
        InterlockError: it is at another port now.
    """
    found = [each for each in here if each.serial_number == serial_number] if serial_number else []
    if len(found) != 1 or serial_number in SHARED_SERIALS:
        return
    lasting = next((link for link in found[0].links if "by-id" in link), "")
    name = f"{lasting}, a name that stays" if lasting else found[0].device
    raise InterlockError(
        f"{url} is not the adapter {serial_number} any more: that is {found[0].device} now. The system numbers "
        f"adapters anew when they are plugged in. Nothing was sent; begin again with --port {name}",
        ["identity"],
    )


def check_adapter(rig: Rig, url: str, found: SerialAdapter, here: Sequence[SerialAdapter] = ()) -> None:
    """Make sure that a port carries the adapter that the rig is bound to, if it is bound to one.

    Args:
        rig: whose arm is meant.
        url: the port.
        found: what is there.
        here: all adapters of this computer.

    Raises:
        InterlockError: it carries another, or none that can be told.
    """
    if rig.adapter_serial is None or found.serial_number == rig.adapter_serial:
        return
    if not found.serial_number:
        refuse_renamed(url, rig.adapter_serial, here)
    carried = f"the adapter {found.serial_number}" if found.serial_number else "no adapter with a serial number"
    raise InterlockError(
        f"{url} carries {carried}, and rig {rig.id} "
        f"is bound to {rig.adapter_serial}: this may be another arm. Check the cable and the port; if the adapter "
        f"was exchanged for good, change adapter_serial in the rig and run `hil calibrate {rig.id} --hardware`",
        ["identity"],
    )


def check_same_adapter(
    url: str, found: AdapterIdentity, before: AdapterIdentity, here: Sequence[SerialAdapter] = ()
) -> None:
    """Make sure that a port still carries the adapter that was there at the beginning.

    Raises:
        InterlockError: it carries another.
    """
    if found != before:
        refuse_renamed(url, "" if found.serial_number else before.serial_number, here)
        raise InterlockError(
            f"{url} carries {found.text} now; at the beginning it was {before.text}: this may be another arm. Nothing "
            "was sent. Plug in the one that is meant and begin again",
            ["identity"],
        )


def check_calibrated(rig: Rig, url: str, found: AdapterIdentity) -> None:
    """Make sure that a rig that needs a calibration has one, which was made on the arm at this port.

    Raises:
        InterlockError: it has none, or none of an arm; or nobody has yet seen that it is this arm at this place.
    """
    note = rig.calibration
    if note is None or note.adapter is None:
        what = "is not calibrated" if note is None else f"is calibrated on a fake controller only ({note.id})"
        raise InterlockError(
            f"rig {rig.id} {what}: the pulses in its file are those of another arm, and joints that run backwards or "
            f"start elsewhere drive into their stops. Run `hil calibrate {rig.id} --hardware --port {url}` first; "
            "without --hardware everything works on the fake",
            ["calibration"],
        )
    if note.adapter.serial_number:
        return
    seen = read_confirmation(rig.id)
    if seen is None or (seen.place, seen.calibration) != (found.place, note.id):
        why = f"nobody has seen that the arm at {found.place} is the one of rig {rig.id}"
        if seen is not None and seen.place != found.place:
            why += f"; {seen.by} saw it at {seen.place}"
        raise InterlockError(
            f"{why}. Its adapter has no serial number of its own, so a person has to look: run `hil identify {rig.id} "
            f"--hardware --port {url}`, which moves the gripper once",
            ["identity"],
        )
