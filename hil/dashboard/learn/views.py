"""The list of views; a new one is one line here and one file beside this one."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from hil.dashboard.learn.view import LessonView


class ViewKind(NamedTuple):
    """A view as it is listed: loaded when it is first looked at.

    Attributes:
        name: for commands and tests; never translated.
        title: for people.
        module: beside this one.
        maker: the class in it, made without arguments.
    """

    name: str
    title: str
    module: str
    maker: str

    def make(self) -> LessonView:
        """Load and build it."""
        view: LessonView = getattr(import_module(f"hil.dashboard.learn.{self.module}"), self.maker)()
        return view


VIEWS: tuple[ViewKind, ...] = (
    ViewKind("dh", "DH table", "dh", "DhView"),
    ViewKind("solutions", "Inverse solutions", "solutions", "SolutionsView"),
    ViewKind("workspace", "Workspace", "workspace", "WorkspaceView"),
    ViewKind("curves", "Curves", "curves", "CurvesView"),
    ViewKind("dynamics", "Dynamics", "dynamics", "DynamicsView"),
    ViewKind("tuning", "Tuning", "tuning", "TuningView"),
    ViewKind("programs", "Programs", "programs", "ProgramsView"),
    ViewKind("specification", "Specification", "specification", "SpecificationLesson"),
)
