"""Stands for what one client imports, and draws with only when it is asked to."""

from __future__ import annotations

rcParams: dict[str, object] = {}  # noqa: N816
