"""At which port an arm's own USB adapter is just now: the system numbers ports anew each time one is plugged in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hil.errors import LinkClosed
from hil.link import SerialAdapter
from hil.model.rig import Rig

Listing = Callable[[], Sequence[SerialAdapter]]
"""Lists the serial ports that are here; may take its time."""


def port_of(rig: Rig, adapters: Listing) -> str:
    """The port of the adapter that a rig is bound to.

    Args:
        rig: with its `adapter_serial`.
        adapters: lists what is plugged in.

    Raises:
        LinkClosed: it is not here, or several ports have its number; the text says what to do.
    """
    serial = rig.adapter_serial
    try:
        here = adapters()
    except OSError as error:
        raise LinkClosed(f"the serial ports of this computer cannot be listed ({error}); see `hil doctor`") from None
    ports = [adapter.device for adapter in here if adapter.serial_number == serial]
    if not ports:
        numbers = sorted({adapter.serial_number for adapter in here if adapter.serial_number})
        raise LinkClosed(
            f"no adapter with the serial number {serial} is plugged in; here: {', '.join(numbers) or 'none'}. Plug it "
            "in, the arm comes up by itself then; or correct the number (adapter_serial) and start the server again"
        )
    if len(ports) > 1:
        raise LinkClosed(
            f"the adapter's serial number {serial} is here {len(ports)} times, at {', '.join(ports)}. Unplug what is "
            "not this arm's; or name its `port` in the lab's settings and start the server again"
        )
    return ports[0]
