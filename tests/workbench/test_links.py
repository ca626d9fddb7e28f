"""Every link of every page leads somewhere, heading included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.md")])
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def headings(page: Path) -> Iterator[str]:
    """What a heading is called in a link."""
    for line in FENCED.sub("", page.read_text("utf-8")).splitlines():
        if line.startswith("#"):
            words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip().lower())
            yield re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text("utf-8")))
    for target in LINK.findall(text):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, heading = target.partition("#")
        there = page.parent / name if name else page
        assert there.exists(), f"{target}: no such file"
        if heading and there.suffix == ".md":
            assert heading in set(headings(there)), f"{target}: no such heading"


def test_every_page_of_the_folder_is_looked_at() -> None:
    assert len(PAGES) > 50
