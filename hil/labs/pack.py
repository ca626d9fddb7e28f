"""Where the labs are: pages beside the documentation in a checkout, within the package when it is installed."""

from __future__ import annotations

from pathlib import Path

from hil.errors import ConfigError
from hil.labs.lab_page import Lab, read_lab
from hil.tables import closest

INDEX = "README"
"""A page there that is no lab."""


def pack_folder() -> Path:
    """The folder of the labs that came with this version."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "_labs"
    return installed if installed.is_dir() else package.parent / "docs" / "labs"


def lab_names() -> list[str]:
    """Names of all labs, in the order in which a course takes them."""
    return sorted(path.stem for path in pack_folder().glob("*.md") if path.stem != INDEX)


def load_lab(name: str) -> Lab:
    """Read a lab.

    Args:
        name: its whole name, its number, or its name without the number; or the path of a page of one's own.

    Raises:
        ConfigError: there is none, or its page is wrong.
    """
    path = _path(name)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), "file", str(error), "a page in UTF-8 that can be read") from None
    return read_lab(text, path.stem)


def _path(name: str) -> Path:
    if name.endswith(".md"):
        return Path(name)
    names = lab_names()
    for full in names:
        number, _, words = full.partition("-")
        if name in (full, words) or (name.isdigit() and int(name) == int(number)):
            return pack_folder() / f"{full}.md"
    meant = closest(name, names)
    advice = f"Did you mean {meant}?" if meant else ""
    raise ConfigError(f"lab {name!r}", "name", name, f"one of {', '.join(names)}", advice)
