"""A lab that answers every request the same way and remembers what it was asked; with TLS if wanted."""

from __future__ import annotations

import contextlib
import http.server
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

from hil.service.certificates import self_signed
from hil.service.join import fingerprint


class StubLab:
    """What it answers, and what it was asked."""

    def __init__(self, url: str, certificate_sha256: str) -> None:
        self.url, self.certificate_sha256 = url, certificate_sha256
        self.status, self.body = 200, b"{}"
        self.asked: list[tuple[str, str, str | None, bytes]] = []


@contextlib.contextmanager
def stub_lab(folder: Path, *, now_epoch_s: float | None = None) -> Iterator[StubLab]:
    """Answer on a free port of this computer; with `now_epoch_s` over TLS, the certificate made at that time."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            lab.asked.append((self.command, self.path, self.headers.get("Authorization"), body))
            self.send_response(lab.status)
            self.send_header("Content-Length", str(len(lab.body)))
            self.end_headers()
            self.wfile.write(lab.body)

        do_POST = do_DELETE = do_GET  # noqa: N815 - names of the standard library

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Clients that leave early are part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    certificate = ""
    if now_epoch_s is not None:
        pem, key = self_signed("stub", (), now_epoch_s)
        (folder / "stub.crt").write_bytes(pem)
        (folder / "stub.key").write_bytes(key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "stub.crt", folder / "stub.key")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        certificate = fingerprint(pem.decode())
    scheme = "http" if now_epoch_s is None else "https"
    lab = StubLab(f"{scheme}://127.0.0.1:{server.server_address[1]}", certificate)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield lab
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
