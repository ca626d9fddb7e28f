"""A lab's server behind TLS: its own, with the certificate that a new lab makes, or that of a proxy before it."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, WSMsgType, web
from aiohttp.test_utils import TestServer
from lab_server import PATIENT, Served, run, served
from msgspec.structs import replace
from multidict import CIMultiDict
from tokens_of_people import token

from hil.errors import LinkError
from hil.service.audit import Deed
from hil.service.audit_query import query
from hil.service.client import AsyncArm
from hil.service.join import Join, join_text, read_join
from hil.service.lab_request import Access, ask
from hil.service.lab_setup import tls_of
from hil.service.rights import Role
from hil.service.settings import load_lab
from hil.service.setup import MadeLab, make_lab
from hil.types import AxisJog, Mode

BASE = AxisJog(amounts=(0.05, 0.0, 0.0, 0.0, 0.0, 0.0))
PREFIX = "/robots"
FAR = "203.0.113.77"
"""Where the proxy says that its visitors come from."""


def made(folder: Path) -> tuple[MadeLab, ssl.SSLContext]:
    """What `hil serve init` makes, and the server's side of its TLS."""
    lab = make_lab(folder, name="Lab", hosts=(), arms={"arm-1": "lynx6"}, seeds=(bytes(32), bytes(32)),
                   now_epoch_s=time.time())  # fmt: skip
    context = tls_of(load_lab(folder))
    assert context is not None
    return lab, context


@contextlib.asynccontextmanager
async def before(upstream: str, tls: ssl.SSLContext) -> AsyncIterator[str]:
    """A proxy that ends TLS, puts the lab under a prefix, and says where its visitors come from; gives its address."""

    async def pass_on(request: web.Request) -> web.StreamResponse:
        url = upstream + request.rel_url.raw_path.removeprefix(PREFIX)
        kept = {name: request.headers[name] for name in ("Host", "Authorization", "Origin") if name in request.headers}
        # What visitors say themselves comes first, and counts for nothing.
        headers = {**kept, "X-Forwarded-For": f"{request.headers.get('X-Forwarded-For', '198.51.100.1')}, {FAR}"}
        if request.headers.get("Upgrade", "").lower() != "websocket":
            async with session.request(request.method, url, headers=headers, data=await request.read()) as answer:
                return web.Response(status=answer.status, body=await answer.read())
        near = web.WebSocketResponse()
        async with session.ws_connect(url, headers=headers) as far:
            await near.prepare(request)

            async def up() -> None:
                async for message in near:
                    await far.send_str(message.data)
                await far.close()

            rising = asyncio.create_task(up())
            async for message in far:
                if message.type is WSMsgType.TEXT:
                    await near.send_str(message.data)
            rising.cancel()
            await near.close()
        return near

    app = web.Application()
    app.router.add_route("*", PREFIX + "/{way:.*}", pass_on)
    server = TestServer(app, scheme="https")
    async with ClientSession() as session:
        await server.start_server(ssl=tls, shutdown_timeout=0.1)
        try:
            yield f"https://127.0.0.1:{server.port}{PREFIX}"
        finally:
            await server.close()


async def driven(access: Access) -> None:
    """Somebody comes, moves the arm and goes."""
    async with AsyncArm(access, "arm-1") as arm:
        await arm.claim()
        mark = arm.mark
        await arm.step(BASE)
        assert await arm.settled(mark, 10.0) is Mode.IDLE


def origins(folder: Path) -> set[str]:
    """Where people came from, as the audit keeps it."""
    return {entry.data.origin for entry in query(folder / "audit") if isinstance(entry.data, Deed)} - {""}


# -- the lab's own certificate ---------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def encrypted(folder: Path) -> AsyncIterator[tuple[Served, Join]]:
    """A lab that ends TLS itself, and a join file for it."""
    lab, tls = made(folder / "lab")
    async with served(folder, keyed=True, tls=tls) as running:
        await running.ready()
        written = join_text(
            Join(lab="Lab", url=running.url, certificate_sha256=lab.fingerprint, token=token("Dee"))
        ).encode()
        yield running, read_join(folder / "dee.hil-join", written)


def test_the_fingerprint_of_a_join_file_is_enough_to_drive(tmp_path: Path) -> None:
    async def story() -> None:
        async with encrypted(tmp_path) as (_, join):
            await driven(Access(url=join.url, token=join.token, certificate_sha256=join.certificate_sha256))

    run(story)


def test_a_lab_that_shows_another_certificate_is_told_nothing_and_refused_in_words(tmp_path: Path) -> None:
    async def story() -> None:
        async with encrypted(tmp_path) as (_, join):
            wrong = Access(url=join.url, token=join.token, certificate_sha256="ab" * 32)
            with pytest.raises(LinkError, match="another certificate than the join file names"):
                await driven(wrong)
            with pytest.raises(LinkError, match="another certificate than the join file names"):
                await asyncio.to_thread(ask, wrong, "GET", "/v1/lab")

    run(story)
    assert not origins(tmp_path)


def test_without_a_fingerprint_nobody_believes_a_certificate_that_no_authority_has_signed(tmp_path: Path) -> None:
    async def story() -> None:
        async with encrypted(tmp_path) as (_, join):
            with pytest.raises(LinkError, match="cannot be reached"):
                await driven(Access(url=join.url, token=join.token))

    run(story)
    assert not origins(tmp_path)


# -- a proxy before it -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("trusted", "origin"), [(True, "203.0.113.0/24"), (False, "127.0.0.0/24")])
def test_behind_a_proxy_one_drives_as_before_and_the_audit_believes_it_only_if_the_settings_do(
    tmp_path: Path, trusted: bool, origin: str
) -> None:
    async def story() -> None:
        lab, tls = made(tmp_path / "lab")
        async with served(tmp_path, keyed=True, trust_proxy=trusted) as running, before(running.url, tls) as url:
            await running.ready()
            access = Access(url=url, token=token("Dee"), certificate_sha256=lab.fingerprint)
            await driven(access)
            assert b"arm-1" in await asyncio.to_thread(ask, access, "GET", "/v1/lab")

    run(story)
    assert origins(tmp_path) == {origin}


ABROAD = "https://lab.example.org:8443"


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"Host": "lab.example.org:8443"}, 200),
        ({"Host": "LAB.example.org:8443"}, 200),
        ({"X-Forwarded-Host": "evil.example, lab.example.org:8443"}, 200),
        ({"Host": "lab.example.org"}, 403),
        ({"Host": "lab.example.org:8443", "X-Forwarded-Proto": "http"}, 403),
        ({"Host": "other.example.org:8443"}, 403),
        ({}, 403),
    ],
)
def test_behind_a_proxy_a_page_is_the_lab_s_own_if_the_proxy_passes_its_host_and_port_on(
    tmp_path: Path, said: dict[str, str], status: int
) -> None:
    async def story() -> None:
        page = {"Authorization": f"Bearer {token('Dee')}", "Origin": ABROAD, **said}
        async with served(tmp_path, keyed=True, trust_proxy=True) as running:
            assert (await running.get("/v1/lab", headers=page))[0] == status

    run(story)


def test_without_a_proxy_nobody_says_what_the_lab_s_name_is_outside(tmp_path: Path) -> None:
    async def story() -> None:
        page = {"Authorization": f"Bearer {token('Dee')}", "Origin": ABROAD, "X-Forwarded-Host": "lab.example.org:8443"}
        async with served(tmp_path, keyed=True) as running:
            status, refused = await running.get("/v1/lab", headers=page)
            assert (status, "public_url" in refused["reason"]) == (403, False)

    run(story)


def test_the_lab_s_public_address_is_its_own_whatever_the_proxy_passes_on(tmp_path: Path) -> None:
    async def story() -> None:
        settings = replace(PATIENT, listen=replace(PATIENT.listen, public_url=f"{ABROAD}/robots"))
        page = {"Authorization": f"Bearer {token('Dee')}", "Origin": ABROAD}
        async with served(tmp_path, keyed=True, trust_proxy=True, settings=settings) as running:
            assert (await running.get("/v1/lab", headers=page))[0] == 200
            status, refused = await running.get("/v1/lab", headers={**page, "Origin": "https://evil.example"})
            assert (status, "set listen.public_url" in refused["reason"]) == (403, True)

    run(story)


def test_what_a_visitor_says_of_its_own_address_counts_for_nothing_though_it_stands_in_a_line_of_its_own(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with served(tmp_path, keyed=True, trust_proxy=True) as running:
            said = CIMultiDict([("X-Forwarded-For", "192.0.2.7"), ("X-Forwarded-For", FAR)])
            said["Authorization"] = f"Bearer {token('Tess', Role.TEACH)}"
            assert (await running.get("/v1/audit", headers=said))[0] == 200
        assert origins(tmp_path) == {"203.0.113.0/24"}

    run(story)


def test_the_end_of_the_proxy_is_the_loss_of_its_drivers(tmp_path: Path) -> None:
    async def story() -> None:
        lab, tls = made(tmp_path / "lab")
        async with served(tmp_path, keyed=True, trust_proxy=True) as running:
            await running.ready()
            onlooker = await running.join(token=token("Wu"))
            async with before(running.url, tls) as url:
                arm = AsyncArm(Access(url=url, token=token("Dee"), certificate_sha256=lab.fingerprint), "arm-1")
                await arm.open()
                await arm.claim()
            await onlooker.until(lambda: onlooker.lease["phase"] == "suspended")
            await arm.close()

    run(story)
