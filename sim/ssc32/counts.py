"""What an emulated board counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Counts:
    """What has happened since the fake was made; a real board tells none of this."""

    received: int = 0
    lost: int = 0
    lines: int = 0
    parse_errors: int = 0
    mixed_lines: int = 0
    oddities: int = 0
    clipped: int = 0
    binary: int = 0
    framing_errors: int = 0
    boots: int = 0
