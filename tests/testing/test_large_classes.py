"""No class grows large without a reason that can be read."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES, MOST_METHODS = 350, 25
ROW = re.compile(r"^\| `([a-z0-9_/]+\.py)` `(\w+)` \| .{8,} \|$", re.MULTILINE)


def large(text: str) -> list[str]:
    """Names of the classes in a module that are."""

    def methods(found: ast.ClassDef) -> int:
        return sum(isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) for part in found.body)

    classes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    return [
        found.name
        for found in classes
        if (found.end_lineno or 0) - found.lineno >= MOST_LINES or methods(found) > MOST_METHODS
    ]


def test_every_large_class_has_its_reason_and_no_other() -> None:
    reasons = ROW.findall((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))
    found = [
        (path.relative_to(ROOT).as_posix(), name)
        for part in ("hil", "drivers", "sim")
        for path in (ROOT / part).rglob("*.py")
        for name in large(path.read_text(encoding="utf-8"))
    ]
    assert sorted(reasons) == sorted(found)


def test_a_class_is_large_by_its_lines_or_by_its_methods() -> None:
    assert large("class A:\n" + "    x = 1\n" * MOST_LINES) == ["A"]
    assert large("class A:\n" + "    x = 1\n" * (MOST_LINES - 1)) == []
    assert large("class A:\n" + "    def f(self): ...\n" * (MOST_METHODS + 1)) == ["A"]
    assert large("class A:\n" + "    def f(self): ...\n" * MOST_METHODS) == []
