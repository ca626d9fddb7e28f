"""Rules for Linux's device manager: rights, short latency, a name that stays, and hands off for others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hil.errors import ConfigError
from hil.types import Record

FILE = "/etc/udev/rules.d/70-hil.rules"

_SAFE = re.compile(r"[A-Za-z0-9_.:-]+")


class StableName(Record, frozen=True):
    """The adapter of one rig, known by its serial number or, without one, by the USB place it is plugged into."""

    rig: str
    serial_number: str = ""
    usb_place: str = ""


def udev_rules(names: Sequence[StableName], converters: Mapping[str, tuple[str, Sequence[str]]], group: str) -> str:
    """A file of rules.

    With names, they are about those adapters alone, and each gets the link ``/dev/hil-<rig>``; without, about every
    converter of the known kinds.

    Args:
        names: the rigs' adapters.
        converters: by USB vendor, the driver and the products of serial converters.
        group: who may open the ports.

    Raises:
        ConfigError: a name or number holds what a rule cannot match exactly.
    """
    rules = [rule for name in names for rule in _named(name, group)]
    if not names:
        kinds = [(vendor, "|".join(products)) for vendor, (_, products) in converters.items()]
        matches = [f'ATTRS{{idVendor}}=="{vendor}", ATTRS{{idProduct}}=="{products}"' for vendor, products in kinds]
        rules = [rule for match in matches for rule in (_left_alone(match), _open_to(match, group))]
        rules.append(_short_latency())
    return "\n".join(
        [
            "# Serial adapters of robot arms, made by `hil doctor --udev`. To install:",
            f"#   hil doctor --udev | sudo tee {FILE}",
            "#   sudo udevadm control --reload-rules && sudo udevadm trigger --action=add",
            "# then plug the adapter in again.",
            'ACTION=="remove", GOTO="hil_end"',
            *rules,
            'LABEL="hil_end"',
            "",
        ]
    )


def _named(name: StableName, group: str) -> list[str]:
    for key, value in (("--rig", name.rig), ("serial number", name.serial_number), ("USB place", name.usb_place)):
        if value and not _SAFE.fullmatch(value):
            raise ConfigError("hil doctor --udev", key, value, "letters, digits and . _ : -")
    if name.serial_number:
        port = device = f'ATTRS{{serial}}=="{name.serial_number}"'
    elif name.usb_place:
        port, device = f'KERNELS=="{name.usb_place}"', f'KERNELS=="{name.usb_place.partition(":")[0]}"'
    else:
        raise ConfigError("hil doctor --udev", "adapter", None, "a serial number, or a USB place, as 'hil ports' shows")
    link = f'{_open_to(port, group)}, SYMLINK+="hil-{name.rig}"'
    return [f"# rig {name.rig}", _left_alone(device), link, _short_latency(f", {port}")]


def _left_alone(match: str) -> str:
    """ModemManager asks the device, not its ports, whether to keep off."""
    return f'SUBSYSTEM=="usb", ENV{{DEVTYPE}}=="usb_device", {match}, ENV{{ID_MM_DEVICE_IGNORE}}="1"'


def _open_to(match: str, group: str) -> str:
    return f'SUBSYSTEM=="tty", {match}, GROUP="{group}", MODE="0660"'


def _short_latency(match: str = "") -> str:
    return f'SUBSYSTEM=="usb-serial", DRIVER=="ftdi_sio"{match}, ATTR{{latency_timer}}="1"'
