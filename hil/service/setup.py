"""`hil serve init`: a lab's folder with keys, certificate, settings and a unit for systemd; nothing is overwritten."""

from __future__ import annotations

import ipaddress
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hil.errors import ConfigError
from hil.model.files import find, list_names, parse_toml
from hil.runtime.wiring import load_rig
from hil.service.certificates import check_certificate, self_signed
from hil.service.join import fingerprint
from hil.service.keys import SigningKey
from hil.service.revocation import HEADING
from hil.service.secret_files import write_secret
from hil.service.settings import FILE, PORT, Lab, is_loopback, load_lab, read_settings
from hil.tables import toml_value
from hil.types import Record

UNIT = "hil-serve.service"
RIGS = "rigs"
CERTIFICATE, CERTIFICATE_KEY = "keys/tls.crt", "keys/tls.key"
EVERYWHERE = "0.0.0.0"


class MadeLab(Record, frozen=True):
    """What was made.

    Attributes:
        files: all of it, in the order in which it was written.
        fingerprint: of the certificate.
        url: how others reach the lab.
        host: where it listens.
    """

    files: tuple[str, ...]
    fingerprint: str
    url: str
    host: str


def make_lab(
    folder: Path,
    *,
    name: str,
    hosts: Sequence[str],
    arms: Mapping[str, str],
    seeds: tuple[bytes, bytes],
    now_epoch_s: float,
    port: int = PORT,
) -> MadeLab:
    """Make a lab's folder.

    Args:
        folder: a new or empty one.
        name: the lab's.
        hosts: names and addresses under which others reach this computer, the first one for join files;
            none: only this computer does. A single address is the one that is listened on.
        arms: the rig of each arm, by the arm's id, name or file; on its fake until the settings say otherwise. Arms
            of one kind get rig files of their own.
        seeds: 32 bytes each that nobody can guess, for the keys of tokens and audit.
        now_epoch_s: seconds since 1970.
        port: on which it answers.

    Raises:
        ConfigError: the folder has something in it or cannot be written to, or an argument cannot be.
    """
    certificate, certificate_key = self_signed(name, hosts, now_epoch_s)
    shown = _url_host(hosts[0]) if hosts else "127.0.0.1"
    url = f"https://{shown}:{port}"
    placed, rigs = _rigs_of(arms, folder)
    host = _listening_host(hosts)
    text = _settings_text(name, host, port, url, placed)
    read_settings(parse_toml(text.encode(), FILE), FILE)
    tokens, audit = (SigningKey(seed) for seed in seeds)
    _make_empty(folder)
    files = {
        "keys/tokens.pub": tokens.public.pem,
        "keys/audit.pub": audit.public.pem,
        CERTIFICATE: certificate,
        "revoked.txt": HEADING.encode(),
        UNIT: _unit_text(folder.resolve()).encode(),
        **{file: rig.encode() for file, rig in rigs.items()},
        FILE: text.encode(),
    }
    if rigs:
        (folder / RIGS).mkdir()
    tokens.save(folder / "keys/tokens.key")
    audit.save(folder / "keys/audit.key")
    write_secret(folder / CERTIFICATE_KEY, certificate_key)
    for file, content in files.items():
        _write(folder / file, content)
    secrets = ("keys/tokens.key", "keys/audit.key", CERTIFICATE_KEY)
    return MadeLab(files=(*secrets, *files), fingerprint=fingerprint(certificate.decode()), url=url, host=host)


def _listening_host(hosts: Sequence[str]) -> str:
    """The one address that was given; every network where names or several were: which of them is ours, nobody said."""
    if not hosts:
        return "127.0.0.1"
    return hosts[0] if len(hosts) == 1 and (_is_address(hosts[0]) or is_loopback(hosts[0])) else EVERYWHERE


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _rigs_of(arms: Mapping[str, str], folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What the settings call each arm's rig, and the rig files to write: an arm has a rig of its own.

    A rig that one arm has alone is named as it was given; files as seen from the folder. Of one that several have, each
    gets an heir: its calibration and its port are not another arm's.
    """
    known = list_names("rigs")
    named, files = {}, {}
    for arm, rig in arms.items():
        if list(arms.values()).count(rig) == 1:
            named[arm] = rig if rig in known else _seen_from(folder, rig)
            continue
        above = rig if rig in known else _seen_from(folder / RIGS, rig)
        named[arm] = f"{RIGS}/{arm}.toml"
        title = f"{load_rig(rig, calibrated=False).title}, {arm}"
        files[named[arm]] = (
            f"# The rig of arm {arm}: everything is as {above} has it, but what stands here. See docs/rigs.md.\n"
            f"inherit = {toml_value(above)}\ntitle = {toml_value(title)}\n"
        )
    return named, files


def _seen_from(folder: Path, rig: str) -> str:
    """The path of a rig's file from a folder; whole where it lies on another drive."""
    file = find("rigs", rig).resolve()
    try:
        return Path(os.path.relpath(file, folder.resolve())).as_posix()
    except ValueError:
        return file.as_posix()


def renew_certificate(folder: Path, hosts: Sequence[str], now_epoch_s: float) -> str:
    """Put a new certificate in the place of a lab's own; gives its fingerprint. Join files made before stop working.

    Raises:
        ConfigError: the lab has no such certificate, or the place cannot be written to.
    """
    lab = load_lab(folder)
    listen = lab.settings.listen
    if listen.tls_certificate is None or listen.tls_key is None:
        raise ConfigError(str(folder / FILE), "listen.tls_certificate", None, "a lab that has a certificate")
    certificate, key = self_signed(lab.settings.name, hosts, now_epoch_s)
    for path, content in ((lab.path(listen.tls_key), key), (lab.path(listen.tls_certificate), certificate)):
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        write_secret(fresh, content)
        fresh.replace(path)
    return fingerprint(certificate.decode())


def lab_fingerprint(lab: Lab, now_epoch_s: float) -> str:
    """Fingerprint of the lab's certificate for join files; empty where a proxy has one of an authority.

    Raises:
        ConfigError: the certificate cannot be read, or has ended.
    """
    listen = lab.settings.listen
    if listen.tls_certificate is None:
        return ""
    path = lab.path(listen.tls_certificate)
    try:
        pem = path.read_bytes()
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None
    check_certificate(pem, str(path), now_epoch_s)
    return fingerprint(pem.decode())


def _settings_text(name: str, host: str, port: int, url: str, arms: Mapping[str, str]) -> str:
    lines = [
        "# Settings of this lab. Every key is explained in docs/service-keys.md; `hil serve --lab` reads them.",
        "",
        f"name = {toml_value(name)}",
        "",
        "[listen]",
        f"host = {toml_value(host)}",
        f"port = {port}",
        f"public_url = {toml_value(url)}",
        f"tls_certificate = {toml_value(CERTIFICATE)}",
        f"tls_key = {toml_value(CERTIFICATE_KEY)}",
        "",
        "[access]",
        'token_keys = ["keys/tokens.pub"]',
        'revoked = "revoked.txt"',
        '# on_site_networks = ["192.168.7.0/24"]  # who comes from there may say to stand beside the arm',
        "",
        "[lease]",
        "stop_after_s = 0.25      # silence of the driver until the arm stops",
        "suspend_after_s = 2.0    # until the lease is suspended",
        "unattended_park = false  # true: an arm that was left parks with nobody there",
        "",
        "[bookings]",
        "longest_min = 60",
        "days_ahead = 14",
        "",
        "[audit]",
        "retention_days = 90      # older audit, slots and journals are deleted",
        "journals_gb = 20         # all journals together; beyond it the oldest are deleted",
        'addresses = "network"    # how much of a network address is kept: full, network, none',
    ]
    for arm, rig in arms.items():
        lines += [
            "",
            f"[arms.{toml_value(arm)}]",
            f"rig = {toml_value(rig)}",
            "hardware = false         # true: the real arm",
            '# adapter_serial = "A1B2C3D4"  # the arm is the one behind this USB adapter',
            "# daily_self_test = true  # say so where the newest self-test is a day old; nothing moves by itself",
        ]
    return "\n".join([*lines, ""])


def _unit_text(folder: Path) -> str:
    program = shutil.which("hil") or str(Path(sys.executable).with_name("hil"))
    return f"""\
# Copy to /etc/systemd/system, make the user (`useradd --system --groups dialout hil`), give it this folder
# (`chown -R hil {folder}`), then `systemctl enable --now hil-serve`.
# Nothing moves when it starts: arms without feedback wait for somebody to confirm where they are.

[Unit]
Description=Robot arms of a lab
After=network-online.target
Wants=network-online.target

[Service]
User=hil
WorkingDirectory={_unit_path(folder)}
ExecStart={_unit_quoted(program)} serve --lab {_unit_quoted(str(folder))}
Environment=XDG_STATE_HOME=%S XDG_CACHE_HOME=%C
StateDirectory=hil
CacheDirectory=hil
# Time for every arm to stop, hold and close its journal.
TimeoutStopSec=20
KillMode=mixed
Restart=on-failure
RestartSec=2
LimitRTPRIO=60
LimitMEMLOCK=infinity
LimitNOFILE=4096
TasksMax=1024
NoNewPrivileges=true
ProtectSystem=strict
ReadWritePaths={_unit_quoted(str(folder))}
ProtectHome=read-only
PrivateTmp=true

[Install]
WantedBy=multi-user.target
"""


def _unit_path(path: Path) -> str:
    return str(path).replace("%", "%%")


def _unit_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _make_empty(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if any(folder.iterdir()):
            raise ConfigError(str(folder), "folder", "a folder with something in it", "a new or empty one")
        (folder / "keys").mkdir(mode=0o700)
    except OSError as error:
        allowed = "a folder that can be written to"
        raise ConfigError(str(folder), "folder", error.strerror or str(error), allowed) from None


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a place that can be written to") from None
