"""How long an owner may be silent is a fact of the rig, on which neither certificates nor journals depend."""

from __future__ import annotations

import pytest

from hil.errors import ConfigError
from hil.runtime.wiring import load_rig


def test_it_is_a_second_where_the_rig_does_not_say() -> None:
    assert {load_rig(name).owner_silent_s for name in ("lynx6", "al5d", "rv2aj")} == {1.0}


@pytest.mark.parametrize("silent_ms", [250, 5000])
def test_the_rig_says_it_and_keeps_its_digest(silent_ms: int) -> None:
    rig = load_rig("lynx6", {"timing": {"owner_silent_ms": silent_ms}})
    assert rig.owner_silent_s == silent_ms / 1000
    assert rig.digest == load_rig("lynx6").digest


@pytest.mark.parametrize("silent_ms", [0, 249, 5001])
def test_less_than_a_hand_has_and_more_than_five_seconds_are_refused(silent_ms: int) -> None:
    with pytest.raises(ConfigError, match=r"timing\.owner_silent_ms"):
        load_rig("lynx6", {"timing": {"owner_silent_ms": silent_ms}})
