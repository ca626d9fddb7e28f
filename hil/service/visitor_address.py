"""Where somebody who asks comes from, also where a proxy stands in front."""

from __future__ import annotations

from aiohttp import web


def visitor_address(request: web.Request, trust_proxy: bool) -> str:
    """The network address; empty where it is not known.

    Args:
        request: what was asked.
        trust_proxy: what the proxy in front says counts.
    """
    return (trust_proxy and last_said(request, "X-Forwarded-For")) or request.remote or ""


def last_said(request: web.Request, header: str) -> str:
    """What the proxy itself has said, which comes last, perhaps in a line of its own; empty for nothing."""
    return request.headers.getall(header, [""])[-1].rpartition(",")[2].strip()
