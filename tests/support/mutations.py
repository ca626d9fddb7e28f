"""One small change at a time: which changes a source could have, each of which a test should notice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

COMPARED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
"""How each comparison is written, as a pattern, and what it becomes."""

RECKONED = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
JOINED = {ast.And: ("and", "or"), ast.Or: ("or", "and")}
TOLERANCE = 1e-5
"""Numbers below are for rounding: only a far larger one could be noticed."""

FAR_LARGER, LARGER = 1000.0, 1.5


class Mutant(NamedTuple):
    """One change of one file."""

    file: str
    """Its path from the root, with slashes."""

    line: int
    within: str
    """The outermost function or method, as Python names it; empty outside of all of them."""

    kind: str
    start: int
    """Of what is replaced, in bytes."""

    end: int
    new: str
    names: tuple[str, ...] = ()
    """Outside of functions: the names that the changed statement gives a value."""

    def applied(self, source: bytes) -> bytes:
        """The whole file with the change; it keeps its number of lines."""
        lines = source[self.start : self.end].count(b"\n") - self.new.count("\n")
        return source[: self.start] + self.new.encode() + b"\n" * lines + source[self.end :]

    def lines(self, source: bytes) -> tuple[str, str]:
        """What the line says before and after, without its margin."""
        begin = source.rfind(b"\n", 0, self.start) + 1
        end = source.find(b"\n", self.end)
        end = len(source) if end < 0 else end
        new = source[begin : self.start] + self.new.encode() + source[self.end : end]
        return _one_line(source[begin:end]), _one_line(new)


def _one_line(text: bytes) -> str:
    return " ".join(text.decode().split())


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Every change that this file could have, in the order of its text."""
    return sorted(_Finder(file, source).found(), key=lambda mutant: (mutant.start, mutant.end, mutant.new))


class _Finder:
    def __init__(self, file: str, source: bytes) -> None:
        self._file, self._source = file, source
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", source))]

    def found(self) -> Iterator[Mutant]:
        yield from self._block(ast.parse(self._source).body, "", ())

    def _block(self, body: Iterable[ast.stmt], within: str, classes: tuple[str, ...]) -> Iterator[Mutant]:
        for statement in body:
            yield from self._statement(statement, within, classes)

    def _statement(self, node: ast.stmt, within: str, classes: tuple[str, ...]) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d), *node.decorator_list):
                yield from self._under(default, within, classes[-1:] or (node.name,))
            yield from self._block(node.body, within or ".".join((*classes, node.name)), ())
        elif isinstance(node, ast.ClassDef):
            # What a class is declared with (frozen and the like) says nothing that a number could be wrong in.
            yield from self._block(node.body, within, classes if within else (*classes, node.name))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from self._block(node.orelse, within, classes)
        else:
            yield from self._plain(node, within, classes)

    def _plain(self, node: ast.stmt, within: str, classes: tuple[str, ...]) -> Iterator[Mutant]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring, or what says the same behind a name
        if isinstance(node, ast.Assert):
            return  # what the code knows of itself, said to the type checker
        names = (*classes[-1:], *_given(node)) if not within else ()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
            yield self._mutant(node, "removed call", "pass", within, names)
        if isinstance(node, ast.AugAssign) and (signs := RECKONED.get(type(node.op))):
            yield self._between(
                node.target, node.value, re.escape(signs[0] + "="), signs[1] + "=", "sign", within, names
            )
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from self._statement(child, within, classes)
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from self._block(child.body, within, classes)
                if isinstance(child, ast.match_case) and child.guard is not None:
                    yield from self._under(child.guard, within, names)
            elif not (isinstance(node, ast.AnnAssign) and child is node.annotation):
                yield from self._under(child, within, names)

    def _under(self, node: ast.AST, within: str, names: tuple[str, ...]) -> Iterator[Mutant]:
        """Changes in an expression; those of words that a person reads are left out."""
        if isinstance(node, ast.JoinedStr):
            return
        if isinstance(node, ast.keyword) and node.arg == "strict":
            return  # of zip: a promise about lengths, which no caller breaks
        names = () if within else names
        yield from self._of(node, within, names)
        for child in ast.iter_child_nodes(node):
            yield from self._under(child, within, names)

    def _of(self, node: ast.AST, within: str, names: tuple[str, ...]) -> Iterator[Mutant]:
        if isinstance(node, ast.Compare):
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                old, new = COMPARED[type(operator)]
                yield self._between(left, right, old, new, "comparison", within, names)
        elif isinstance(node, ast.BinOp) and (signs := RECKONED.get(type(node.op))):
            if not _is_text(node.left) and not _is_text(node.right):
                yield self._between(node.left, node.right, re.escape(signs[0]), signs[1], "sign", within, names)
        elif isinstance(node, ast.BoolOp):
            old, new = JOINED[type(node.op)]
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield self._between(left, right, old, new, "comparison", within, names)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            start = self._at(node)[0]
            kind, width = ("sign", len("-")) if isinstance(node.op, ast.USub) else ("comparison", len("not"))
            yield Mutant(self._file, node.lineno, within, kind, start, start + width, "", names)
        elif isinstance(node, ast.Dict) and not within:
            yield from self._entries(node, names)
        elif isinstance(node, ast.Constant) and (other := _other(node.value)) is not None:
            yield self._mutant(node, "constant", other, within, names)

    def _entries(self, table: ast.Dict, names: tuple[str, ...]) -> Iterator[Mutant]:
        """Each entry of a table of members of an enumeration: another member, or no such entry."""
        entries = [(key, value) for key, value in zip(table.keys, table.values, strict=True) if key is not None]
        members = list(dict.fromkeys(ast.unparse(value) for _, value in entries if isinstance(value, ast.Attribute)))
        for key, value in entries:
            if isinstance(value, ast.Attribute) and len(members) > 1:
                other = members[(members.index(ast.unparse(value)) + 1) % len(members)]
                yield self._mutant(value, "entry", other, "", names)
                yield Mutant(self._file, key.lineno, "", "entry", self._at(key)[0], self._at(value)[1], "**{}", names)

    def _between(
        self, left: ast.expr, right: ast.expr, old: str, new: str, kind: str, within: str, names: tuple[str, ...]
    ) -> Mutant:
        """The operator between two operands, past brackets and comments."""
        start, end = self._at(left)[1], self._at(right)[0]
        between = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self._source[start:end])
        pattern = rf"(?<!\w){old}(?!\w)" if old[0].isalpha() else old
        match = re.search(pattern.encode(), between)
        assert match is not None, f"{self._file}:{left.lineno}: no {old} between {between!r}"
        line = self._source.count(b"\n", 0, start + match.start()) + 1
        return Mutant(self._file, line, within, kind, start + match.start(), start + match.end(), new, names)

    def _mutant(self, node: ast.expr | ast.stmt, kind: str, new: str, within: str, names: tuple[str, ...]) -> Mutant:
        return Mutant(self._file, node.lineno, within, kind, *self._at(node), new, names)

    def _at(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset


def _given(node: ast.stmt) -> tuple[str, ...]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return tuple(name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _other(value: object) -> str | None:
    """Another number than this one, as a source has it; None if it is no number."""
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    if isinstance(value, float):
        if value == 0.0:
            return "1.0"
        larger = value * (FAR_LARGER if abs(value) < TOLERANCE else LARGER)
        return repr(float(f"{larger:.12g}"))  # as somebody would write it
    return None
