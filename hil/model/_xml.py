"""XML as a small tree that knows its lines. No document type, so no entity can grow or reach out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from hil.errors import ConfigError


class Element:
    """One element: tag, attributes, the elements in it, its text, and the line where it begins."""

    __slots__ = ("attributes", "children", "line", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag, self.attributes, self.line = tag, attributes, line
        self.children: list[Element] = []
        self.text = ""

    def all(self, tag: str) -> Iterator[Element]:
        """The elements directly in this one that have this tag."""
        return (child for child in self.children if child.tag == tag)

    def first(self, tag: str) -> Element | None:
        """The first of them, or None."""
        return next(self.all(tag), None)


def parse_xml(data: bytes, file: str) -> Element:
    """The root element.

    Raises:
        ConfigError: not XML (line and column are named), or it has a document type.
    """
    # Editors leave empty lines on top, which are not allowed before a declaration.
    whole = data.lstrip()
    skipped = data[: len(data) - len(whole)].count(b"\n") if whole.startswith(b"<?xml") else 0
    parser = expat.ParserCreate()
    top = Element("", {}, 0)
    open_ = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, parser.CurrentLineNumber + skipped)
        open_[-1].children.append(element)
        open_.append(element)

    def end(tag: str) -> None:
        open_.pop()

    def text(words: str) -> None:
        open_[-1].text += words

    def refuse(*_: object) -> NoReturn:
        place = f"line {parser.CurrentLineNumber + skipped}"
        raise ConfigError(file, place, "<!DOCTYPE", "no document type", "It declares entities, which are not read here")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(whole if skipped else data, True)
    except expat.ExpatError as error:
        place = f"line {error.lineno + skipped}, column {error.offset + 1}"
        raise ConfigError(file, place, expat.ErrorString(error.code), "XML", "Is the file whole?") from None
    except (ValueError, LookupError) as error:  # an encoding that is unknown, or not what it says
        raise ConfigError(file, "encoding", str(error), "XML in an encoding that it names") from None
    return top.children[0]
