"""Which version of this software runs: it stands in certificates, journals and written code."""

from __future__ import annotations

import functools


@functools.cache
def software_version() -> str:
    """The version of the installed package."""
    from importlib import metadata  # as slow as all the rest of a quick command

    return metadata.version("hil-arm-bridge")
