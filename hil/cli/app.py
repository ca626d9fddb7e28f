"""All commands of `hil`. Modules behind a command are imported when it runs, so that help answers at once."""

from __future__ import annotations

import typer

from hil.cli import (
    accept,
    arms,
    audit,
    bench_controller,
    book,
    calibrate,
    connect,
    dashboard,
    derive,
    drive,
    fake,
    import_robot,
    jog,
    journal,
    kinematics,
    lint,
    login,
    moving,
    plot,
    program,
    pull,
    serve,
    supply,
    tokens,
    watch,
    workspace,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Plan, preview and stream motion to a small robot arm, or to its fake.",
)
arms.add_to(app)
connect.add_to(app)
import_robot.add_to(app)
kinematics.add_to(app)
workspace.add_to(app)
derive.add_to(app)
moving.add_to(app)
calibrate.add_to(app)
accept.add_to(app)
jog.add_to(app)
supply.add_to(app)
journal.add_to(app)
lint.add_to(app)
plot.add_to(app)
program.add_to(app)
fake.add_to(app)
bench_controller.add_to(app)
tokens.add_to(app)
login.add_to(app)
serve.add_to(app)
dashboard.add_to(app)
drive.add_to(app)
watch.add_to(app)
pull.add_to(app)
book.add_to(app)
audit.add_to(app)
