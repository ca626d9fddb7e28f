"""The `hil` command with all that it can do, of which only what is asked for is made ready."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.models import CommandInfo, TyperInfo

from hil.cli._plain_help import CommandGroup


class Commands(CommandGroup):
    """Reads the parameters of one command where one is named: those of all of them take a tenth of a second."""

    def __call__(self, args: Sequence[str] | None = None, **named: Any) -> Any:
        """Run the command that is named; all are there for help, for completion and for a name that is not known."""
        words = sys.argv[1:] if args is None else args
        alone = copy.copy(self)
        alone.registered_commands = [each for each in self.registered_commands if name_of(each) in words[:1]]
        alone.registered_groups = [each for each in self.registered_groups if name_of(each) in words[:1]]
        known = alone.registered_commands or alone.registered_groups
        completing = any(key.endswith("_COMPLETE") for key in os.environ)
        return typer.Typer.__call__(alone if known and not completing else self, args, **named)


def name_of(registered: CommandInfo | TyperInfo) -> str:
    """What somebody types for it."""
    if registered.name:
        return str(registered.name)
    assert isinstance(registered, CommandInfo) and registered.callback is not None
    return registered.callback.__name__.replace("_", "-")
