"""From settings to a lab that can be started: who is let in, which arms, where everything is kept."""

from __future__ import annotations

import functools
import os
import secrets
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import AuditTakenError, ConfigError, LinkClosed
from hil.model.files import state_dir
from hil.runtime.loop_process import LoopSlot
from hil.runtime.port_wiring import serial_adapters
from hil.runtime.rtprio import go_before_others
from hil.runtime.wiring import load_rig
from hil.service.adapters import port_of
from hil.service.arms import slots
from hil.service.bookings import Bookings
from hil.service.doors import Door
from hil.service.keys import PublicKey, SigningKey
from hil.service.local_key import LocalKey
from hil.service.people_file import IN_MEMORY
from hil.service.revocation import Revocations
from hil.service.running_lab import ArmPlan, RunningLab
from hil.service.settings import COURSES, FILE, ArmSettings, Lab, Settings, on_site_networks, refuse_open_door
from hil.service.tokens import TokenChecker

if TYPE_CHECKING:
    from hil.service.courses.books import Courses

MOST_WINDOWS = 100
"""Services on any free port at a time."""


def arms_of(settings: Settings, folder: Path | None = None) -> tuple[ArmPlan, ...]:
    """The arms that the settings name. Whether they are plugged in does not matter yet.

    Args:
        settings: those of the lab, or of this computer.
        folder: where the settings' file is: rigs that are given as files lie there; None for none.

    Raises:
        ConfigError: a rig cannot be read, or two real arms name one port or one adapter.
    """
    plans = tuple(_arm(name, arm, folder) for name, arm in settings.arms.items())
    _refuse_shared_lines([plan for plan in plans if plan.url is not None])
    return plans


def _arm(name: str, arm: ArmSettings, folder: Path | None) -> ArmPlan:
    changes = {} if arm.adapter_serial is None else {"adapter_serial": arm.adapter_serial}
    beside = None if folder is None else folder / arm.rig
    rig = load_rig(beside if beside is not None and beside.is_file() else arm.rig, changes)
    if not arm.hardware:
        return ArmPlan(arm=name, rig=rig, vouched=True, camera=arm.camera)
    url = arm.port or ("" if rig.adapter_serial is not None else rig.controller.port_url)
    return ArmPlan(arm=name, rig=rig, url=url, camera=arm.camera)


def _refuse_shared_lines(plans: Sequence[ArmPlan]) -> None:
    for index, plan in enumerate(plans):
        for other in plans[:index]:
            if plan.url and other.url and _line(plan.url) == _line(other.url):
                allowed = f"a port of its own; {other.arm} has {other.url}"
                advice = "Give each arm its own `port` or `adapter_serial` in the lab's settings or in its rig"
                raise ConfigError(f"arm {plan.arm}", "port", plan.url, allowed, advice)
            serial = plan.rig.adapter_serial
            # Adapters with several sockets have one number: arms that name their ports may share it.
            if serial is not None and serial == other.rig.adapter_serial and not (plan.url and other.url):
                allowed = f"an adapter of its own; {other.arm} has this one"
                advice = "`hil ports` shows the numbers. Where one adapter has several sockets, name each arm's `port`"
                raise ConfigError(f"arm {plan.arm}", "adapter_serial", serial, allowed, advice)


def _line(url: str) -> str:
    """One spelling of a port that has several: links to it, COM names in any case."""
    name = url.removeprefix("\\\\.\\")
    return os.path.realpath(name) if name.startswith("/") else name.casefold()


def _tell_missing(plans: Sequence[ArmPlan], say: Callable[[str], None]) -> None:
    """Say which arms cannot come up yet because their adapter is not there; the others are served all the same."""
    here = functools.cache(serial_adapters)
    for plan in plans:
        if plan.url == "":
            try:
                port_of(plan.rig, here)
            except LinkClosed as error:
                say(f"{plan.arm} is away: {error}")


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
    _tell_missing(plans, say)
    access = settings.access
    checker: TokenChecker | LocalKey = new_local_key()
    if access.token_keys:
        keys = [PublicKey.load(lab.path(name)) for name in access.token_keys]
        if settings.lti.platforms:
            keys.append(SigningKey.load(lab.path(settings.lti.session_key)).public)
        checker = TokenChecker(keys, Revocations(lab.revoked))
    return RunningLab(
        settings,
        plans,
        door=Door(checker, on_site_networks(access)),
        bookings=Bookings(lab.bookings, settings.bookings),
        audit_folder=lab.path(settings.audit.folder),
        audit_key=SigningKey.load(lab.path(settings.audit.key)),
        journals=lab.folder / "journals",
        self_tests=lab.self_tests,
        leases=lab.leases,
        courses=_courses(lab, plans, say),
        command=command,
        address=address_of(settings),
        say=say,
        slots=share_out(plans),
    )


def _courses(lab: Lab, plans: Sequence[ArmPlan], say: Callable[[str], None]) -> Courses | None:
    """The lab's courses; what marks them is not even loaded where there are none."""
    if not (lab.folder / COURSES).is_dir():
        return None
    if not lab.settings.access.token_keys:
        advice = "Without keys everybody is who they say they are. `hil serve init DIR` makes some"
        raise ConfigError(str(lab.folder / FILE), "access.token_keys", None, "keys, in a lab with courses", advice)
    from hil.service.courses.books import open_courses

    return open_courses(lab.folder, {plan.arm: plan.rig.robot.id for plan in plans}, say)


def open_local(settings: Settings, plans: Sequence[ArmPlan], *, command: str, say: Callable[[str], None]) -> RunningLab:
    """A lab for this computer alone, without keys or a folder; bookings are forgotten at its end.

    Raises:
        ConfigError: strangers could come in.
        JournalError: the audit cannot be kept.
    """
    refuse_open_door(settings)
    _tell_missing(plans, say)
    port = settings.listen.port
    # Port 0 is any free one: several services have it at a time, each window its own, and each has a folder.
    for name in [f"port-{port}", *(f"port-0-{k}" for k in range(2, MOST_WINDOWS + 1) if port == 0)]:
        try:
            return _open_local(settings, plans, name, command=command, say=say)
        except AuditTakenError as error:
            taken = error
    raise taken


def _open_local(
    settings: Settings, plans: Sequence[ArmPlan], name: str, *, command: str, say: Callable[[str], None]
) -> RunningLab:
    """The same, with its files under this name."""
    return RunningLab(
        settings,
        plans,
        door=Door(new_local_key()),
        bookings=Bookings(IN_MEMORY, settings.bookings),
        audit_folder=state_dir() / "audits" / name,
        audit_key=_own_audit_key(state_dir() / "audits" / "audit.key"),
        # Not where `hil run` keeps its own: the service deletes what is old.
        journals=state_dir() / "served" / name,
        leases=state_dir() / "leases" / f"{name}.json",
        command=command,
        address=address_of(settings),
        say=say,
        slots=share_out(plans),
    )


def new_local_key() -> LocalKey:
    """A key for this start of a server without a lab's keys."""
    return LocalKey(secrets.token_urlsafe(30))


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
