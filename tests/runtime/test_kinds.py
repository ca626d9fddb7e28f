"""A kind of controller is loaded when a rig names it, its emulation when a fake is made."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hil.runtime import wiring
from hil.runtime.kinds import NAMES, kind_named, kind_of

LOAD = """
import sys
from hil.runtime import wiring
rig = wiring.load_rig({rig!r})
print(*sorted(name for name in sys.modules if name.startswith(("drivers.", "sim.", "hil.program"))))
wiring.virtual_arm(rig, rig.park, energised=False, epoch_offset_s=0.0)
print(*sorted(name for name in sys.modules if name.startswith(("drivers.", "sim.", "hil.program"))))
"""


def loaded(rig: str) -> tuple[set[str], set[str]]:
    """Modules in a process of its own once the rig is read, and once its fake is made."""
    ran = subprocess.run(
        [sys.executable, "-c", LOAD.format(rig=rig)], capture_output=True, text=True, check=True, timeout=60
    )
    first, second = ran.stdout.splitlines()
    return set(first.split()), set(second.split())


@pytest.mark.parametrize(
    ("rig", "ours", "others"), [("lynx6", "ssc32", "rv2aj"), ("rv2aj", "rv2aj", "ssc32"), ("ur5", "simulated", "ssc32")]
)
def test_a_rig_loads_its_own_kind_and_no_emulation_before_one_is_made(rig: str, ours: str, others: str) -> None:
    read, wired = loaded(rig)
    assert f"drivers.{ours}" in read
    assert f"drivers.{others}" not in wired
    assert not {name for name in read if name.startswith(("sim.ssc32", "sim.cr1", "sim.server"))}


def test_an_ssc32_needs_neither_the_fake_cr1_nor_the_language_of_a_cr1() -> None:
    _, wired = loaded("lynx6")
    assert not {name for name in wired if name.startswith(("sim.cr1", "hil.program"))}


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_has_an_emulation_under_the_name_that_it_gives(name: str) -> None:
    assert kind_named(name).emulated().faults
    assert wiring.fake_choices(next(rig for rig in RIGS if rig.controller.kind == name), None) is not None


def test_a_kind_that_nobody_has_written_is_not_looked_for() -> None:
    with pytest.raises(KeyError, match="os"):
        kind_named("os")


def test_a_rig_has_the_kind_that_it_names() -> None:
    assert kind_of(wiring.load_rig("rv2aj")) is kind_named("rv2aj")


RIGS = [wiring.load_rig("lynx6"), wiring.load_rig("rv2aj"), wiring.load_rig("ur5")]
