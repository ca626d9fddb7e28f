"""How the pages' files go over the line: compressed, with a tag, and none that leads out of their folder."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from lab_server import run

from hil.service.page_files import PageFiles

TEXT = "const words = 'the same over and over';\n" * 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "page"
    (inside / "parts").mkdir(parents=True)
    (inside / "one.js").write_text(TEXT)
    (inside / "parts" / "two.js").write_text(TEXT)
    (inside / "parts" / "two.version").write_text("1")
    (tmp_path / "key.txt").write_text("secret")
    return inside


def client(folder: Path) -> TestClient[web.Request, web.Application]:
    app = web.Application()
    app.router.add_get("/page/{name:.+}", PageFiles(folder).named)
    return TestClient(TestServer(app), auto_decompress=False)


def test_a_file_goes_compressed_to_who_takes_that_and_plain_to_others(folder: Path) -> None:
    async def story() -> None:
        async with client(folder) as browser:
            zipped = await browser.get("/page/parts/two.js", headers={"Accept-Encoding": "gzip"})
            assert zipped.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(await zipped.read()).decode() == TEXT
            plain = await browser.get("/page/one.js", headers={"Accept-Encoding": "identity"})
            assert "Content-Encoding" not in plain.headers
            assert (await plain.read()).decode() == TEXT
            assert plain.content_type == "text/javascript"

    run(story)


def test_who_has_it_already_is_told_so_until_it_changes(folder: Path) -> None:
    async def story() -> None:
        async with client(folder) as browser:
            first = await browser.get("/page/one.js")
            mine = {"If-None-Match": first.headers["ETag"]}
            assert (await browser.get("/page/one.js", headers=mine)).status == 304
            (folder / "one.js").write_text("another")
            assert (await browser.get("/page/one.js", headers=mine)).status == 200

    run(story)


@pytest.mark.parametrize(
    "path",
    ["../key.txt", "%2e%2e/key.txt", "parts/../../key.txt", "parts", "none.js", "parts/two.version", "//etc/passwd"],
)
def test_nothing_else_is_served(folder: Path, path: str) -> None:
    async def story() -> None:
        async with client(folder) as browser:
            assert (await browser.get(f"/page/{path}")).status == 404

    run(story)
