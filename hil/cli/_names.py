"""What a shell may complete a name to: robots, rigs, tasks, programs. Folders are listed, no file is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

ENDINGS = {"programs": ".mb4"}
Complete = Callable[[str], list[str]]


def names(*kinds: str) -> Complete:
    """The names of files of these kinds that begin with what was typed."""

    def complete(incomplete: str) -> list[str]:
        from hil.model.files import list_names

        return [
            name
            for kind in kinds
            for name in list_names(kind, ENDINGS.get(kind, ".toml"))
            if name.startswith(incomplete)
        ]

    return complete


RobotName = Annotated[str, typer.Argument(autocompletion=names("robots"), help="Robot's name or file.")]
RigName = Annotated[
    str, typer.Argument(metavar="RIG|ROBOT", autocompletion=names("rigs", "robots"), help="Name or file of either.")
]
TaskName = Annotated[str, typer.Argument(autocompletion=names("tasks"), help="Task's name or file.")]
