"""Sessions on virtual time; whatever a test does with one, its bytes are judged when the test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from virtual_session import Session

from hil.testing.oracle import UnsafeBytes
from sim.ssc32 import Firmware


@pytest.fixture
def session() -> Iterator[Callable[..., Session]]:
    """Makes sessions; at the end no byte of any tick of any of them may be one that must not leave."""
    made: list[Session] = []

    def make(*args: Any, **keywords: Any) -> Session:
        made.append(Session(*args, **keywords))
        return made[-1]

    yield make
    for one in made:
        first = one.board.settings.firmware is Firmware.V1
        UnsafeBytes(one.rig, freezes_by_moves=first).take(one.records).check()
