"""Xacro in a URDF: what of it nothing uses, what has to be expanded, and the expanding, by the package of that name."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

from hil.errors import ConfigError
from hil.model._xml import Element, parse_xml

READ = ("link", "joint", "hil_drive")
"""Elements of a robot that are read."""

SIMULATORS = ("gazebo", "material", "transmission", "ros2_control", "sensor", "mujoco", "drake", "loop_joint")
"""Elements of a robot that others need, and that are passed over without a word."""

DEFINITIONS = ("property", "arg")
"""What of Xacro only gives names: nothing, as long as no `${` or `$(` asks for one."""

OLD = ("include", "macro", "if", "unless", "insert_block")
"""Words of Xacro that old files write without a prefix."""


class Dialect:
    """Which prefixes stand for Xacro in a file."""

    def __init__(self, root: Element) -> None:
        self._prefixes = {"xacro"}
        waiting = [root]
        while waiting:
            element = waiting.pop()
            spaces = element.attributes.items()
            self._prefixes |= {key[6:] for key, uri in spaces if key.startswith("xmlns:") and "xacro" in uri.lower()}
            waiting += element.children

    def word(self, element: Element) -> str:
        """The word of Xacro that an element is, empty if it is none."""
        prefix, colon, word = element.tag.rpartition(":")
        if colon:
            return word if prefix in self._prefixes else ""
        return word if word in OLD else ""

    def is_definition(self, element: Element) -> bool:
        """A name that is given, which does nothing by itself."""
        return self.word(element) in DEFINITIONS


def unused_tags(root: Element, dialect: Dialect) -> tuple[str, ...]:
    """Elements directly in a robot that are neither read nor a simulator's, and definitions of Xacro anywhere read."""
    found: dict[str, list[int]] = {}
    for element in root.children:
        if element.tag not in (*READ, *SIMULATORS):
            found.setdefault(element.tag, []).append(element.line)
    for element in _read_elements(root, dialect, definitions=True):
        if dialect.is_definition(element) and element not in root.children:
            found.setdefault(element.tag, []).append(element.line)
    return tuple(f"<{tag}> (line {', '.join(map(str, _few(lines)))})" for tag, lines in found.items())


def xacro_at(root: Element) -> Element | None:
    """The first element that is no URDF before it is expanded; None if there is none where anything is read."""
    dialect = Dialect(root)
    if _asks(root):
        return root
    for element in root.children:
        if dialect.word(element) and not dialect.is_definition(element):
            return element
    return next(
        (each for each in _read_elements(root, dialect) if dialect.word(each) or _asks(each)),
        None,
    )


def expanded(path: Path, at: Element, values: Mapping[str, str]) -> Element:
    """The root element of a Xacro, expanded.

    Args:
        path: of the Xacro.
        at: what of it is no URDF, for messages.
        values: of its arguments, by name.

    Raises:
        ConfigError: the package is not installed, cannot expand it, or what came of it is still none.
    """
    file, place = str(path), f"line {at.line}: <{at.tag}>"
    try:
        xacro = importlib.import_module("xacro")
    except ImportError:
        advice = (
            "This is a Xacro. With the package xacro it is expanded here: pip install 'hil-arm-bridge[xacro]'. Else "
            f"expand it first, `xacro {file} > arm.urdf`, and import arm.urdf"
        )
        raise ConfigError(file, place, "Xacro", "plain URDF", advice) from None
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            text = xacro.process_file(file, mappings=dict(values)).toxml()
    except Exception as error:  # the package raises whatever an expression of the file meets
        why = " ".join(f"{type(error).__name__}: {error}".split())
        advice = "An argument is given with --set NAME=VALUE; a package that is included has to be installed"
        raise ConfigError(file, place, f"Xacro that cannot be expanded ({why})", "Xacro that can", advice) from None
    except SystemExit:
        raise ConfigError(file, place, "Xacro that cannot be expanded", "Xacro that can", said.getvalue()) from None
    root = parse_xml(text.encode(), file)
    if (left := xacro_at(root)) is not None:
        raise ConfigError(file, place, f"<{left.tag}> after expanding", "plain URDF")
    return root


def _read_elements(root: Element, dialect: Dialect, *, definitions: bool = False) -> Iterator[Element]:
    """Everything inside what is read, but for what Xacro only defines there."""
    waiting = [child for child in reversed(root.children) if child.tag in READ]
    while waiting:
        element = waiting.pop()
        if not dialect.is_definition(element):
            yield element
            waiting += reversed(element.children)
        elif definitions:
            yield element


def _asks(element: Element) -> bool:
    """For the value of an expression or of an argument."""
    return any(mark in text for text in (element.text, *element.attributes.values()) for mark in ("${", "$("))


def _few(lines: list[int]) -> list[int | str]:
    return [*lines[:3], *(["..."] if len(lines) > 3 else [])]
