"""The few pages of a launch, in plain HTML: go on, open elsewhere, and why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import urlencode, urlsplit

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
{head}</head>
{body}
</html>
"""

_LOGIN_FIELDS = ("iss", "login_hint", "target_link_uri", "lti_message_hint", "client_id", "lti_deployment_id")


def go_on(token: str, page: str, exercise: str) -> str:
    """Keeps the token in the tab and opens the page; it stands in no address, and no other server is told of it.

    Args:
        token: of this lab.
        page: to open, as seen from this one.
        exercise: to show there, as `COURSE/EXERCISE`; empty for none.
    """
    head = '<script type="module" src="../page/launched.js"></script>\n'
    body = (
        f'<body data-token="{escape(token)}" data-page="{escape(page)}" data-exercise="{escape(exercise)}">\n'
        "<noscript>The page of an arm needs JavaScript.</noscript>\n</body>"
    )
    return _PAGE.format(title="Arms", head=head, body=body)


def open_elsewhere(fields: Mapping[str, str]) -> str:
    """A link, for a course page that shows the lab inside itself: it opens a window of its own."""
    query = urlencode({name: fields[name] for name in _LOGIN_FIELDS if name in fields})
    body = (
        f'<body>\n<p><a href="login?{escape(query)}" target="_blank" rel="noopener">Open the lab in a window of its '
        "own</a></p>\n<p>An arm is not driven from inside another page.</p>\n</body>"
    )
    return _PAGE.format(title="Arms", head="", body=body)


def why_not(reason: str) -> str:
    """What was refused."""
    reason = reason[:1].upper() + reason[1:]
    return _PAGE.format(title="Not opened", head="", body=f"<body>\n<p>{escape(reason)}.</p>\n</body>")


def framed_by(addresses: Sequence[str]) -> str:
    """The content policy of `open_elsewhere`: it shows nothing and may be shown by these servers alone."""
    places = {f"{parts.scheme}://{parts.netloc}" for parts in map(urlsplit, addresses) if parts.netloc}
    return f"default-src 'none'; frame-ancestors {' '.join(sorted(places)) or chr(39) + 'none' + chr(39)}"
