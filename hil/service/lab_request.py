"""One question to a lab over HTTP, blocking, with the standard library: to the pinned certificate or to nobody."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import ssl
from urllib.parse import quote, urlsplit

import msgspec

from hil.errors import CommandError, HilError, LinkError
from hil.service.local_key import local_key
from hil.service.wire import MAX_ANSWER_BYTES, NAME_HEADER, Code, Refused, decode_body
from hil.types import Record

TIMEOUT_S = 10.0
_HTTP_PORT = 80


class RefusedByLabError(HilError):
    """A lab said no; `refused` has its words."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused
        super().__init__(refused.reason)


class Access(Record, frozen=True):
    """How to reach a lab, and as whom. Shows no token when printed.

    Attributes:
        url: where it answers, with the prefix of a proxy if there is one.
        token: empty for none.
        certificate_sha256: fingerprint of the only certificate to talk to; empty where an authority vouches.
        name: display name where tokens do not bring one.
        own_server: on this computer; if it is this user's it has a key of its start, which is looked up each time.
    """

    url: str
    token: str = ""
    certificate_sha256: str = ""
    name: str = ""
    own_server: bool = False

    def token_now(self) -> str:
        """What to show: the token, or where there is none the key of the newest start of this user's own server.

        Raises:
            ConfigError: others could have read the key.
        """
        return self.token or (local_key(address_of(self)[2] or _HTTP_PORT) if self.own_server else "")

    def __repr__(self) -> str:
        return f"Access(url={self.url!r})"


def ask(access: Access, method: str, path: str, body: Record | None = None, *, timeout_s: float = TIMEOUT_S) -> bytes:
    """Send one request and give the answer's body.

    Args:
        access: which lab, and as whom.
        method: of HTTP.
        path: below the lab's address, beginning with ``/``.
        body: sent as JSON; None for none.
        timeout_s: how long to wait for the answer.

    Raises:
        RefusedByLabError: the lab said no.
        LinkError: it cannot be reached, or is not the one that it should be.
        CommandError: a token would go over an open line, or the address is none.
    """
    token = access.token_now()
    try:
        return _ask_with(token, access, method, path, body, timeout_s)
    except RefusedByLabError as error:
        newer = access.token_now()
        if error.refused.code is not Code.TOKEN or newer == token:
            raise
        # Our own server was started anew between the look for its key and the call.
        return _ask_with(newer, access, method, path, body, timeout_s)


def _ask_with(token: str, access: Access, method: str, path: str, body: Record | None, timeout_s: float) -> bytes:
    connection, prefix = _connection(access, timeout_s)
    headers = {"Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if access.name:
        headers[NAME_HEADER] = quote(access.name)
    if body is not None:
        headers["Content-Type"] = "application/json"
    try:
        connection.connect()
        _check_certificate(connection, access)
        connection.request(method, prefix + path, None if body is None else msgspec.json.encode(body), headers)
        response = connection.getresponse()
        data = response.read(MAX_ANSWER_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        words = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise LinkError(f"{access.url} cannot be reached: {words}", port=access.url) from None
    finally:
        connection.close()
    if response.status == http.client.OK:
        return data
    try:
        raise RefusedByLabError(decode_body(data, Refused))
    except CommandError:
        raise LinkError(f"{access.url} answers {response.status}, as no lab does", port=access.url) from None


def address_of(access: Access) -> tuple[str, str, int | None, str]:
    """Scheme, host, port and prefix of a lab's address, once it is sure that its token may go there.

    Raises:
        CommandError: a token would go over an open line, or the address is none.
    """
    try:
        parts = urlsplit(access.url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port, parts = "", None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise CommandError(f"address {access.url!r} given; allowed: as https://lab.example.org:8742", value=access.url)
    if parts.scheme == "http" and access.token and not is_loopback(host):
        raise CommandError(f"{access.url} is not encrypted: the token could be read on its way; allowed: https")
    return parts.scheme, host, port, parts.path.rstrip("/")


def _connection(access: Access, timeout_s: float) -> tuple[http.client.HTTPConnection, str]:
    scheme, host, port, prefix = address_of(access)
    if scheme == "https":
        context = ssl.create_default_context()
        if access.certificate_sha256:
            # The fingerprint says more than any authority; it is compared before anything is sent.
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context), prefix
    return http.client.HTTPConnection(host, port, timeout=timeout_s), prefix


def _check_certificate(connection: http.client.HTTPConnection, access: Access) -> None:
    if not access.certificate_sha256 or not isinstance(connection.sock, ssl.SSLSocket):
        return
    shown = hashlib.sha256(connection.sock.getpeercert(binary_form=True) or b"").hexdigest()
    if not hmac.compare_digest(shown, access.certificate_sha256):
        raise LinkError(
            f"{access.url} shows another certificate than the join file names: it is not the lab, or its certificate "
            "was renewed. Ask its owner for a new join file",
            port=access.url,
        )


def is_loopback(host: str) -> bool:
    """Whether a host's name or address means this computer."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
