"""Help and refusals of commands as plain text in sections. What draws boxes takes as long to load as all commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


class PlainCommand(TyperCommand):
    """One command."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Its arguments and options, each in its section."""
        _write_sections(formatter, _parameters(self, ctx))


class PlainGroup(TyperGroup):
    """Some commands under one name."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options of all, then each command in its section."""
        rows = _parameters(self, ctx)
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            first, *_ = (command.help or "").split("\n\n")
            rows.append((command.rich_help_panel or "Commands", name, " ".join(first.split())))
        _write_sections(formatter, rows)


class CommandGroup(typer.Typer):
    """Commands whose help is plain text."""

    def __init__(self, *, cls: type[TyperGroup] = PlainGroup, **named: Any) -> None:
        super().__init__(cls=cls, rich_markup_mode=None, **named)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = PlainCommand, **named: Any
    ) -> Callable[[Any], Any]:
        """Register a command, as typer does."""
        return super().command(name, cls=cls, **named)


def _parameters(command: Any, ctx: Any) -> list[tuple[str, str, str]]:
    """Section, name and words of each; arguments and options that are in no section come first."""
    rows = []
    for parameter in command.get_params(ctx):
        if record := parameter.get_help_record(ctx):
            own = "Arguments" if parameter.param_type_name == "argument" else "Options"
            rows.append((parameter.rich_help_panel or own, *record))
    return sorted(rows, key=lambda row: ("Arguments", "Options", row[0]).index(row[0]))


def _write_sections(formatter: Any, rows: list[tuple[str, str, str]]) -> None:
    for title in dict.fromkeys(title for title, *_ in rows):
        with formatter.section(title):
            formatter.write_dl([(name, words) for section, name, words in rows if section == title])
