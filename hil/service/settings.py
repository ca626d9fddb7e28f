"""A lab's settings: one folder with `lab.toml`, keys and lists; read as strictly as rigs are.

Without a folder the settings are those of a single person at one computer: loopback, no tokens.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hil.errors import ConfigError
from hil.model.files import read_toml
from hil.service import wire
from hil.service.bookings import BookingRules
from hil.service.lease_settings import LeaseSettings
from hil.service.lti_settings import LtiSettings, check_lti
from hil.tables import convert
from hil.types import Record

FILE = "lab.toml"
COURSES = "courses"
"""Folder of a lab's courses."""

PORT = 8742

Text = Annotated[str, Meta(min_length=1, max_length=200)]


class ListenSettings(Record, frozen=True):
    """Where the service answers.

    Attributes:
        public_url: how others reach it; goes into join files.
        tls_certificate: PEM file, or None for no TLS.
        tls_key: PEM file.
        behind_tls_proxy: a proxy in front ends TLS; nobody else reaches this address.
    """

    host: Text = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = PORT
    public_url: Annotated[str, Meta(pattern=r"^(https?://[!-~]{1,300})?$")] = ""
    tls_certificate: Text | None = None
    tls_key: Text | None = None
    behind_tls_proxy: bool = False


class AccessSettings(Record, frozen=True):
    """Who is let in.

    Attributes:
        token_keys: files of public keys whose tokens count; none: loopback alone, without tokens.
        revoked: file with the tokens that count no more.
        on_site_networks: whoever comes from there may say to stand beside the arm.
    """

    token_keys: tuple[Text, ...] = ()
    revoked: Text = "revoked.txt"
    on_site_networks: tuple[Text, ...] = ()


class AuditSettings(Record, frozen=True):
    """What is kept about who did what.

    Attributes:
        key: file of the key that signs the chain's heads.
        retention_days: older audit, slots and journals are deleted.
        journals_gb: what all journals together may take; beyond it the oldest are deleted.
        addresses: how much of a network address is kept.
    """

    folder: Text = "audit"
    key: Text = "keys/audit.key"
    retention_days: Annotated[int, Meta(ge=1, le=3650)] = 90
    journals_gb: Annotated[float, Meta(ge=0.1, le=100_000)] = 20.0
    addresses: Literal["full", "network", "none"] = "network"


class PictureSettings(Record, frozen=True):
    """What the age of a camera's picture does to motion.

    Attributes:
        needed: whether a driver who is not on site has to see the arm.
        oldest_s: no motion on a picture that is older.
    """

    needed: bool = False
    oldest_s: Annotated[float, Meta(ge=0.2, le=10)] = 1.0


class ArmSettings(Record, frozen=True):
    """One arm of the lab.

    Attributes:
        rig: its name or file.
        hardware: the real arm; else a fake that stands in for it.
        port: URL or device of its line, instead of the rig's.
        adapter_serial: serial number of its USB adapter: the arm is the one behind it, whatever port that has.
        camera: URL of pictures, one each time (JPEG) or a stream (MJPEG).
        daily_self_test: it is said to be due once the newest is a day old; nothing moves by itself.
    """

    rig: Text
    hardware: bool = False
    port: Text | None = None
    adapter_serial: Text | None = None
    camera: Annotated[str, Meta(pattern=r"^https?://[!-~]{1,300}$")] | None = None
    daily_self_test: bool = False


class Settings(Record, frozen=True):
    """All of `lab.toml`."""

    name: Annotated[wire.Text, Meta(min_length=1)] = "arms"
    listen: ListenSettings = ListenSettings()
    access: AccessSettings = AccessSettings()
    lease: LeaseSettings = LeaseSettings()
    bookings: BookingRules = BookingRules()
    audit: AuditSettings = AuditSettings()
    pictures: PictureSettings = PictureSettings()
    lti: LtiSettings = LtiSettings()
    arms: dict[wire.Name, ArmSettings] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class Lab:
    """Settings and the folder that their files stand in."""

    folder: Path
    settings: Settings

    def path(self, name: str) -> Path:
        """Where a file that the settings name is."""
        return self.folder / name

    @property
    def token_key(self) -> Path:
        """Where the key that makes tokens is kept; it need not be on the computer that serves."""
        return self.folder / "keys" / "tokens.key"

    @property
    def issued(self) -> Path:
        """The list of the tokens that were made."""
        return self.folder / "issued.jsonl"

    @property
    def revoked(self) -> Path:
        """The list of tokens that count no more."""
        return self.path(self.settings.access.revoked)

    @property
    def bookings(self) -> Path:
        """The calendar."""
        return self.folder / "bookings.sqlite"

    @property
    def self_tests(self) -> Path:
        """The newest self-test of each arm."""
        return self.folder / "self-tests.json"

    @property
    def leases(self) -> Path:
        """Who has which arm."""
        return self.folder / "leases.json"


def load_lab(folder: Path) -> Lab:
    """Read a lab's settings.

    Args:
        folder: where `lab.toml` is, as `hil serve init` made it.

    Raises:
        ConfigError: the file is wrong; key, value and what is allowed are named.
    """
    path = folder / FILE
    if not path.is_file():
        raise ConfigError(str(path), "file", None, f"a folder with {FILE}", "`hil serve init DIR` makes one")
    settings = read_settings(read_toml(path), str(path))
    return Lab(folder=folder, settings=settings)


def read_settings(table: dict[str, Any], file: str) -> Settings:
    """Turn a parsed `lab.toml` into settings.

    Raises:
        ConfigError: a key or value is wrong, or two of them do not go together.
    """
    try:
        settings = convert(table, Settings, file=file)
    except ConfigError as error:
        if error.file == file:
            raise
        raise ConfigError(file, error.key, error.value, error.allowed, error.advice) from None
    _check_networks(settings.access, file)
    _check_bookings(settings.bookings, file)
    check_lti(
        settings.lti,
        public_url=settings.listen.public_url,
        keyed=bool(settings.access.token_keys),
        arms=tuple(settings.arms),
        file=file,
    )
    refuse_open_door(settings, file)
    return settings


def refuse_open_door(settings: Settings, file: str = "hil serve") -> None:
    """Refuse to listen where strangers could come, unless tokens are asked for and cannot be overheard.

    Raises:
        ConfigError: what is missing, and the way to mend it.
    """
    listen, keys = settings.listen, settings.access.token_keys
    key = "listen.host"
    if (listen.tls_certificate is None) != (listen.tls_key is None):
        raise ConfigError(file, "listen.tls_key", listen.tls_key, "certificate and key together, or neither")
    if listen.behind_tls_proxy and not keys:
        allowed = "true only with access.token_keys"
        advice = "What comes through the proxy comes from anywhere. `hil serve init DIR` makes keys"
        raise ConfigError(file, "listen.behind_tls_proxy", True, allowed, advice)
    if is_loopback(listen.host):
        return
    if not keys:
        allowed = "a loopback address as 127.0.0.1, as long as there are no access.token_keys"
        advice = "Everybody in the network could move the arms. `hil serve init DIR` makes keys and settings"
        raise ConfigError(file, key, listen.host, allowed, advice)
    if listen.tls_certificate is None and not listen.behind_tls_proxy:
        allowed = "a loopback address as 127.0.0.1, as long as there is no TLS"
        advice = (
            "Tokens could be read on their way. Set listen.tls_certificate and listen.tls_key, as `hil serve init DIR` "
            "does, or listen.behind_tls_proxy = true where a proxy in front ends TLS"
        )
        raise ConfigError(file, key, listen.host, allowed, advice)


def is_loopback(host: str) -> bool:
    """Whether only this computer reaches that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def on_site_networks(access: AccessSettings) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    """The networks from which somebody may say to stand beside the arm."""
    return tuple(ipaddress.ip_network(network) for network in access.on_site_networks)


def kept_address(address: str, audit: AuditSettings) -> str:
    """As much of a network address as the audit keeps: its network names no person, and still tells home from class."""
    if audit.addresses == "none":
        return ""
    if audit.addresses == "full":
        return address
    try:
        given = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return str(ipaddress.ip_network(f"{given}/{24 if given.version == 4 else 48}", strict=False))


def _check_networks(access: AccessSettings, file: str) -> None:
    for index, network in enumerate(access.on_site_networks):
        try:
            ipaddress.ip_network(network)
        except ValueError as error:
            key = f"access.on_site_networks.{index}"
            raise ConfigError(file, key, network, "a network as 192.168.7.0/24", str(error)) from None


def _check_bookings(rules: BookingRules, file: str) -> None:
    if rules.shortest_min > rules.longest_min:
        allowed = f"at most longest_min, {rules.longest_min:g}"
        raise ConfigError(file, "bookings.shortest_min", rules.shortest_min, allowed)
