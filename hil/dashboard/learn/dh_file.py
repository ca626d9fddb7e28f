"""The robot of an edited table as a file: kept under a name of the user's, or written for a command that is copied."""

from __future__ import annotations

import re
from pathlib import Path

from hil.dashboard.texts import tr
from hil.errors import CommandError
from hil.model.files import find, list_names, state_dir, user_dir
from hil.model.robot import RobotModel
from hil.model.robot_text import robot_text

NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")


class RobotKeeper:
    """Writes robots; remembers which names it has given itself, for those it may write again, or take back."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[str, str | None]] = {}
        """By name: what was written, and what had been there before; None where nothing had."""

    def keep(self, model: RobotModel, name: str) -> str:
        """Write the robot under a name.

        Returns:
            What is wrong with the name or the folder; empty once it is written.
        """
        path = user_dir() / "robots" / f"{name}.toml"
        if not NAME.fullmatch(name):
            return tr("{name!r} given; allowed: up to 40 of a-z, 0-9, and - _ . after the first", name=name)
        if path.exists() and name not in self._own:
            return tr("{name} is there already; allowed: another name", name=name)
        if name in list_names("robots") and not path.exists():
            return tr("{name} comes with the program; allowed: another name", name=name)
        text = _text(model)
        try:
            before = path.read_text(encoding="utf-8") if path.exists() else None
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            return f"{error.filename}: {error.strerror or error}"
        self._own[name] = (text, before)
        return ""

    def take_back(self, name: str) -> str:
        """Undo what `keep` has done last under this name: the file is again what it was, or is not there.

        Returns:
            Why it stays; empty once it is gone.
        """
        path = user_dir() / "robots" / f"{name}.toml"
        written, before = self._own[name]
        try:
            if path.exists() and path.read_text(encoding="utf-8") != written:
                return tr(
                    "{name} was changed since by something else: it stays. Its file: {path}", name=name, path=path
                )
            if before is None:
                path.unlink(missing_ok=True)
                del self._own[name]
            else:
                path.write_text(before, encoding="utf-8")
                self._own[name] = (before, None)
        except OSError as error:
            return f"{error.filename}: {error.strerror or error}"
        return ""


def robot_word(model: RobotModel) -> str:
    """What a command calls a robot: its name, or its file; that of an edited table is written here.

    Raises:
        CommandError: the file cannot be written.
    """
    if model.file:
        return model.id if _is_found_by_name(model) else model.file
    path, text = state_dir() / "lessons" / f"{model.id}.toml", _text(model)
    try:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from None
    return str(path)


def _is_found_by_name(model: RobotModel) -> bool:
    """Whether its name leads to its own file: one somewhere else may be called like a robot that is known."""
    known = model.id in list_names("robots")
    return known and find("robots", model.id).resolve() == Path(model.file).resolve()


def _text(model: RobotModel) -> str:
    return robot_text(model, (tr("Saved from a lesson on DH tables."),))
