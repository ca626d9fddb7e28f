"""The files of the browser's pages as they go out: compressed once, with a tag by which a browser keeps them."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from hil.types import Record

FOLDER = Path(__file__).parent / "page"
_LEVEL = 9
_KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".txt": "text/plain",
}
"""What is served at all; what else lies in the folder is nobody's business."""


class _Sent(Record, frozen=True):
    """One file as it is sent.

    Attributes:
        of: time of change and size of the file that it was made from.
        tag: of what is in it.
    """

    of: tuple[int, int]
    tag: str
    plain: bytes
    zipped: bytes


class PageFiles:
    """Answers with files of one folder and of the folders in it.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._kept: dict[str, _Sent] = {}

    def always(self, name: str) -> Handler:
        """A handler that answers with one file."""

        async def answer(request: web.Request) -> web.StreamResponse:
            return await self._answer(request, name)

        return answer

    async def named(self, request: web.Request) -> web.StreamResponse:
        """The file that the address names."""
        return await self._answer(request, request.match_info["name"])

    async def _answer(self, request: web.Request, name: str) -> web.StreamResponse:
        found = await asyncio.get_running_loop().run_in_executor(None, self._read, name)
        if found is None:
            raise web.HTTPNotFound
        # A page of before, of another version of the lab, would speak another protocol: it is always asked for, by tag.
        headers = {"Cache-Control": "no-cache", "ETag": f'"{found.tag}"', "Vary": "Accept-Encoding"}
        if any(tag.value in (found.tag, "*") for tag in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        body = found.plain
        if "gzip" in request.headers.get("Accept-Encoding", "") and len(found.zipped) < len(body):
            body, headers["Content-Encoding"] = found.zipped, "gzip"
        return web.Response(body=body, headers=headers, content_type=_KINDS[Path(name).suffix], charset="utf-8")

    def _read(self, name: str) -> _Sent | None:
        path = self._folder / name
        # Only names that a look into the folder gives: none that leads out of it.
        listed = [*self._folder.iterdir(), *self._folder.glob("*/*")]
        if path not in listed or path.suffix not in _KINDS or not path.is_file():
            return None
        status = path.stat()
        of, kept = (status.st_mtime_ns, status.st_size), self._kept.get(name)
        if kept is None or kept.of != of:
            plain = path.read_bytes()
            tag = hashlib.sha256(plain).hexdigest()[:32]
            kept = _Sent(of=of, tag=tag, plain=plain, zipped=gzip.compress(plain, _LEVEL, mtime=0))
            self._kept[name] = kept
        return kept
