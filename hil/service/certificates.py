"""A self-signed certificate for a lab without an authority: clients know it by its fingerprint from the join file."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence

from hil.errors import ConfigError, MissingExtraError
from hil.service.grants import clock_text

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    raise MissingExtraError("certificates", "service") from None

DAYS = 730
LOCAL = ("localhost", "127.0.0.1", "::1")


def self_signed(lab: str, hosts: Sequence[str], now_epoch_s: float) -> tuple[bytes, bytes]:
    """A new certificate and its key, both PEM; good for `DAYS` days.

    Args:
        lab: the lab's name.
        hosts: names and addresses under which the service is reached; `LOCAL` are added.
        now_epoch_s: seconds since 1970.

    Raises:
        ConfigError: a host is neither name nor address.
    """
    # Browsers take no Ed25519 certificates.
    key = ec.generate_private_key(ec.SECP256R1())
    common = lab.encode()[:64].decode("utf-8", "ignore")
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])
    now = datetime.datetime.fromtimestamp(now_epoch_s, datetime.UTC)
    names = [_general_name(host) for host in dict.fromkeys([*hosts, *LOCAL])]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # A laptop whose clock is some hours behind still gets in.
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return certificate.public_bytes(encoding), key.private_bytes(encoding, form, serialization.NoEncryption())


def check_certificate(pem: bytes, file: str, now_epoch_s: float) -> float:
    """When a certificate ends, seconds since 1970.

    Raises:
        ConfigError: it is none, or has ended.
    """
    try:
        ends_s = x509.load_pem_x509_certificate(pem).not_valid_after_utc.timestamp()
    except ValueError:
        raise ConfigError(file, "file", "something else", "a certificate as PEM") from None
    if ends_s <= now_epoch_s:
        advice = "`hil serve init DIR --renew-certificate` makes a new one; everybody needs a new join file then"
        raise ConfigError(file, "end", clock_text(ends_s), "a certificate that has not ended", advice)
    return ends_s


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    labels = host.rstrip(".").split(".")
    if len(host) > 253 or not all(label and label.isascii() and label.replace("-", "a").isalnum() for label in labels):
        raise ConfigError("hil serve init", "--host", host, "a name as lab.example.org, or an address as 192.168.7.2")
    return x509.DNSName(host)
