"""All commands of `hil`. Modules behind a command are imported when it runs, so that help answers at once."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.models import CommandInfo, TyperInfo

from hil.cli import (
    accept,
    arms,
    audit,
    bench_controller,
    book,
    calibrate,
    connect,
    course,
    curve,
    dashboard,
    derive,
    drive,
    fake,
    fit,
    follow,
    grade,
    import_robot,
    jog,
    journal,
    kinematics,
    labs,
    learn,
    line,
    lint,
    login,
    lti,
    motion_commands,
    plot,
    program,
    pull,
    serve,
    simulate,
    supply,
    teach,
    tokens,
    tune,
    watch,
    workspace,
)
from hil.cli._one_command import Commands, name_of
from hil.version import software_version

GROUPS = {
    "First steps": ("demo", "doctor", "robots", "rigs", "preview", "run", "dashboard", "learn", "labs"),
    "Arm": (
        "jog",
        "follow",
        "teach",
        "park",
        "release",
        "supply",
        "ports",
        "calibrate",
        "identify",
        "accept",
        "status",
        "backup",
    ),
    "Program": ("program", "lint", "fake"),
    "Kinematics": ("fk", "ik", "line", "workspace", "curve", "derive"),
    "Control": ("simulate", "tune", "fit"),
    "Lab": ("serve", "drive", "watch", "login", "book", "pull", "token", "audit", "grade", "course", "lti"),
    "Files": ("new", "import", "check", "journal", "plot", "paths", "schema"),
}
"""Every command stands in one group of the help, in this order."""

app = Commands(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Plan, preview and stream motion to a small robot arm, or to its fake.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"hil {software_version()}")
        raise typer.Exit


@app.callback()
def _hil(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Plan, preview and stream motion to a small robot arm, or to its fake."""


arms.add_to(app)
connect.add_to(app)
import_robot.add_to(app)
kinematics.add_to(app)
line.add_to(app)
workspace.add_to(app)
curve.add_to(app)
derive.add_to(app)
simulate.add_to(app)
tune.add_to(app)
fit.add_to(app)
motion_commands.add_to(app)
calibrate.add_to(app)
accept.add_to(app)
jog.add_to(app)
follow.add_to(app)
teach.add_to(app)
supply.add_to(app)
journal.add_to(app)
lint.add_to(app)
plot.add_to(app)
program.add_to(app)
fake.add_to(app)
bench_controller.add_to(app)
tokens.add_to(app)
lti.add_to(app)
login.add_to(app)
serve.add_to(app)
labs.add_to(app)
dashboard.add_to(app)
learn.add_to(app)
drive.add_to(app)
watch.add_to(app)
pull.add_to(app)
book.add_to(app)
audit.add_to(app)
grade.add_to(app)
course.add_to(app)


def _in_groups() -> None:
    """Put each command where the help has it."""
    place = {name: group for group, names in GROUPS.items() for name in names}
    order = list(place)
    every: list[CommandInfo | TyperInfo] = [*app.registered_commands, *app.registered_groups]
    for registered in every:
        registered.rich_help_panel = place[name_of(registered)]
    app.registered_commands.sort(key=lambda command: order.index(name_of(command)))
    app.registered_groups.sort(key=lambda group: order.index(name_of(group)))


_in_groups()
