"""The pytest plugin: fixtures for tests of arm programs. What costs time to import waits until a test asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hil.link import ArmLink
    from hil.model.rig import Rig
    from hil.testing.arms import VirtualArm
    from hil.testing.fakes import FakeSsc32
    from hil.testing.fault_scripts import Faults
    from hil.testing.rigs import RigFactory
    from hil.testing.watch import Made, WatchedBytes


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a project, and a run, say which rig its tests are for."""
    parser.addini("hil_rig", "name or path of the rig of the fixture lab_rig", default="lynx6")
    parser.getgroup("hil").addoption("--hil-rig", metavar="RIG", help="rig of the fixture lab_rig, name or path")


@pytest.fixture(scope="session")
def hil_rig(pytestconfig: pytest.Config) -> RigFactory:
    """Makes rigs: ``hil_rig("lynx6")``, ``hil_rig("rigs/desk-3.toml", timing={"look_ahead_ms": 80})``."""
    from hil.testing.rigs import RigFactory

    return RigFactory(pytestconfig.rootpath)


@pytest.fixture(scope="session")
def lab_rig(pytestconfig: pytest.Config, hil_rig: RigFactory) -> Rig:
    """The rig that tests are for: option --hil-rig, else ini value hil_rig, else lynx6. Override it as you like."""
    return hil_rig(pytestconfig.getoption("--hil-rig") or pytestconfig.getini("hil_rig"))


@pytest.fixture
def fault_script() -> Callable[..., Faults]:
    """Describes what goes wrong: ``fault_script("noisy-line")``, ``fault_script({"kind": "reset", "at_s": 5})``."""
    from hil.testing.fault_scripts import fault_script as describe

    return describe


@pytest.fixture
def hil_made() -> Iterator[Made]:
    """Everything that the fixtures below make for a test. It outlives them, so that their last bytes are judged too."""
    from hil.testing.watch import Made

    made = Made()
    yield made
    made.check()


@pytest.fixture
def virtual_arm_factory(lab_rig: Rig, hil_made: Made) -> Iterator[Callable[..., VirtualArm]]:
    """Makes virtual arms: ``virtual_arm_factory(rig=..., start=..., faults=..., profile="ssc32u")``, limp each."""
    from hil.testing.arms import VirtualArm

    arms: list[VirtualArm] = []

    def make(rig: Rig | None = None, **options: object) -> VirtualArm:
        arm = VirtualArm(lab_rig if rig is None else rig, **options)  # type: ignore[arg-type]
        arms.append(arm)
        hil_made.note(arm)
        return arm

    yield make
    for arm in arms:
        arm.close()


@pytest.fixture
def virtual_arm(virtual_arm_factory: Callable[..., VirtualArm]) -> VirtualArm:
    """The whole stack on a virtual clock: bridge, driver, fake board and servos of `lab_rig`, limp in the park pose."""
    return virtual_arm_factory()


@pytest.fixture
def fake_ssc32(lab_rig: Rig, hil_made: Made) -> Iterator[FakeSsc32]:
    """Makes fake boards for programs of your own: ``fake_ssc32.on_tcp()``, ``.on_pty()``, ``.in_memory()``."""
    from hil.testing.fakes import FakeSsc32

    fakes = FakeSsc32(lab_rig, hil_made)
    yield fakes
    fakes.stop()


@pytest.fixture
def simulated_arm(lab_rig: Rig) -> ArmLink:
    """The arm of `lab_rig` without any controller, an `ArmLink`, opened at 0 s, limp in the park pose."""
    from hil.runtime import wiring

    return wiring.simulated_arm(lab_rig, lab_rig.park, 0.0)


@pytest.fixture
def unsafe_bytes(lab_rig: Rig, hil_made: Made) -> WatchedBytes:
    """Judges every byte that leaves for a fake of this test; fails the test at its end if one was unsafe."""
    return hil_made.watch(lab_rig)
