"""Tests that fill the time in which others wait: what one run has begun the next one leaves out, and none is lost."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture
def shared(request: pytest.FixtureRequest) -> ModuleType:
    """The hooks of all tests."""
    found = request.config.pluginmanager.get_plugin(str(TESTS / "conftest.py"))
    assert isinstance(found, ModuleType)
    return found


def config(name: str, file: Path | None, deselected: list[str]) -> SimpleNamespace:
    def tell(items: list[SimpleNamespace]) -> None:
        deselected.extend(item.nodeid for item in items)

    return SimpleNamespace(
        getoption=lambda option: str(file) if option == name and file is not None else None,
        hook=SimpleNamespace(pytest_deselected=tell),
    )


def items_of(config: SimpleNamespace, failed: int = 0) -> list[SimpleNamespace]:
    session = SimpleNamespace(testsfailed=failed)
    return [SimpleNamespace(nodeid=f"test_it.py::test[{n} b]", config=config, session=session) for n in range(4)]


@pytest.mark.parametrize("failed", [0, 1])
def test_what_is_begun_beside_others_is_left_out_afterwards_and_everything_else_is_run(
    shared: ModuleType, tmp_path: Path, failed: int
) -> None:
    begun = tmp_path / "begun"
    beside = items_of(config("--begun", begun, []), failed)
    for item in beside[:2]:
        shared.pytest_runtest_protocol(item)
    Path(f"{begun}.over").touch()
    with pytest.raises(pytest.exit.Exception) as over:
        shared.pytest_runtest_protocol(beside[2])
    assert over.value.returncode == failed
    told: list[str] = []
    others = config("--without", begun, told)
    left = items_of(others)
    shared._leave_out(others, left)
    assert told == [item.nodeid for item in beside[:2]]
    assert [item.nodeid for item in left] == [item.nodeid for item in beside[2:]]


def test_a_run_by_itself_writes_nothing_down_and_leaves_nothing_out(shared: ModuleType, tmp_path: Path) -> None:
    nothing = config("", None, [])
    items = items_of(nothing)
    assert shared.pytest_runtest_protocol(items[0]) is None
    shared._leave_out(nothing, items)
    assert len(items) == 4 and not list(tmp_path.iterdir())
