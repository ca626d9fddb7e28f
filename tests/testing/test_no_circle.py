"""No two modules need each other, not even inside one package, by a late import or for a type."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


def require_no_circle(imports: dict[str, set[str]]) -> None:
    """Which modules each imports; the circle stands in the failure."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_the_packages_have_no_circle() -> None:
    graph = grimp.build_graph("hil", "drivers", "sim", cache_dir=None)
    require_no_circle({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})


def imported(text: str) -> set[str]:
    """First names of all that is imported somewhere in a file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_the_scripts_have_no_circle() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in SCRIPTS.glob("_*.py")}
    require_no_circle({name: imported(text) & texts.keys() for name, text in texts.items()})


def test_a_circle_is_found() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"a -> b -> a|b -> a -> b"):
        require_no_circle({"a": imported("def f():\n    import b"), "b": imported("from a import g")})
