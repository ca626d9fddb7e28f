"""From settings to a lab that can be started: who is let in, which arms, where everything is kept."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path

from hil.errors import ConfigError
from hil.model.files import state_dir
from hil.runtime.loop_process import LoopSlot
from hil.runtime.rtprio import go_before_others
from hil.runtime.wiring import load_rig, serial_adapters
from hil.service.arms import slots
from hil.service.bookings import IN_MEMORY, Bookings
from hil.service.doors import Door
from hil.service.keys import PublicKey, SigningKey
from hil.service.revocation import Revocations
from hil.service.running import ArmPlan, RunningLab
from hil.service.settings import ArmSettings, Lab, Settings, on_site_networks, refuse_open_door
from hil.service.tokens import TokenChecker


def arms_of(settings: Settings) -> tuple[ArmPlan, ...]:
    """The arms that the settings name.

    Raises:
        ConfigError: a rig cannot be read, or the adapter of an arm is not plugged in.
    """
    return tuple(_arm(name, arm) for name, arm in settings.arms.items())


def _arm(name: str, arm: ArmSettings) -> ArmPlan:
    changes = {} if arm.adapter_serial is None else {"adapter_serial": arm.adapter_serial}
    rig = load_rig(arm.rig, changes)
    if not arm.hardware:
        return ArmPlan(arm=name, rig=rig, vouched=True, camera=arm.camera)
    url = arm.port or _port_of(name, rig.adapter_serial) or rig.controller.port_url
    return ArmPlan(arm=name, rig=rig, url=url, camera=arm.camera)


def _port_of(name: str, serial: str | None) -> str:
    """The port behind which the arm's own adapter is, whatever the system calls it today."""
    if serial is None:
        return ""
    adapters = serial_adapters()
    found = [adapter.device for adapter in adapters if adapter.serial_number == serial]
    if len(found) != 1:
        there = ", ".join(adapter.serial_number for adapter in adapters if adapter.serial_number) or "none"
        advice = "Plug it in, or correct the number"
        raise ConfigError(f"arm {name}", "adapter_serial", serial, f"one adapter that is here: {there}", advice)
    return found[0]


def open_lab(lab: Lab, plans: Sequence[ArmPlan], *, command: str, say: Callable[[str], None]) -> RunningLab:
    """A lab with its settings, keys and books; nothing runs yet.

    Args:
        lab: settings and the folder of their files.
        plans: its arms.
        command: what was typed.
        say: tells whoever runs the server what is wrong.

    Raises:
        ConfigError: a key, list or book cannot be used, or strangers could come in.
        JournalError: the audit cannot be kept.
    """
    settings = lab.settings
    refuse_open_door(settings)
    access = settings.access
    checker = None
    if access.token_keys:
        keys = [PublicKey.load(lab.path(name)) for name in access.token_keys]
        checker = TokenChecker(keys, Revocations(lab.revoked))
    return RunningLab(
        settings,
        plans,
        door=Door(checker, on_site_networks(access)),
        bookings=Bookings(lab.bookings, settings.bookings),
        audit_folder=lab.path(settings.audit.folder),
        audit_key=SigningKey.load(lab.path(settings.audit.key)),
        journals=lab.folder / "journals",
        command=command,
        address=address_of(settings),
        say=say,
        slots=share_out(plans),
    )


def open_local(settings: Settings, plans: Sequence[ArmPlan], *, command: str, say: Callable[[str], None]) -> RunningLab:
    """A lab for this computer alone, without keys or a folder; bookings are forgotten at its end.

    Raises:
        ConfigError: strangers could come in.
        JournalError: the audit cannot be kept.
    """
    refuse_open_door(settings)
    return RunningLab(
        settings,
        plans,
        door=Door(None),
        bookings=Bookings(IN_MEMORY, settings.bookings),
        audit_folder=state_dir() / "audits" / f"port-{settings.listen.port}",
        audit_key=_own_audit_key(state_dir() / "audits" / "audit.key"),
        # Not where `hil run` keeps its own: the service deletes what is old.
        journals=state_dir() / "served" / f"port-{settings.listen.port}",
        command=command,
        address=address_of(settings),
        say=say,
        slots=share_out(plans),
    )


def share_out(plans: Sequence[ArmPlan]) -> dict[str, LoopSlot]:
    """The machine's cores for the arms' loops; this process keeps off them, and goes before ordinary programs."""
    # Heartbeats are judged here: being late would look like a driver who has gone silent.
    go_before_others()
    return dict(zip((plan.arm for plan in plans), slots([plan.rig.period_s for plan in plans]), strict=True))


def _own_audit_key(path: Path) -> SigningKey:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        SigningKey(secrets.token_bytes(32)).save(path)
    return SigningKey.load(path)


def address_of(settings: Settings) -> str:
    """Where the lab answers."""
    listen = settings.listen
    if listen.public_url:
        return listen.public_url
    host = f"[{listen.host}]" if ":" in listen.host else listen.host
    return f"{'http' if listen.tls_certificate is None else 'https'}://{host}:{listen.port}"


def tls_of(lab: Lab) -> ssl.SSLContext | None:
    """The server's side of TLS; None where a proxy, or nobody, has it.

    Raises:
        ConfigError: certificate or key cannot be used.
    """
    listen = lab.settings.listen
    if listen.tls_certificate is None or listen.tls_key is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    certificate, key = lab.path(listen.tls_certificate), lab.path(listen.tls_key)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        advice = "`hil serve init DIR --renew-certificate` makes new ones"
        raise ConfigError(str(certificate), "file", str(error), "a certificate and its key as PEM", advice) from None
    return context
