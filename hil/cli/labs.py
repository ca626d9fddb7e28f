"""hil labs: exercises with the numbers that have to come out; listed, read, run, and as notebooks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hil.cli._plain_help import CommandGroup
from hil.cli.arms import AsJson
from hil.cli.output import complain, console, print_json, print_table

labs = CommandGroup(no_args_is_help=True, help="Exercises with the numbers that have to come out: list, read, run.")


def _names(incomplete: str) -> list[str]:
    from hil.labs.pack import lab_names

    return [name for name in lab_names() if name.startswith(incomplete)]


LabName = Annotated[str, typer.Argument(metavar="LAB", autocompletion=_names, help="Its name or number, or a page.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.add_typer(labs, name="labs")


@labs.command("list")
def list_labs(as_json: AsJson = False) -> None:
    """List the labs: what each is about, how long it takes, how many numbers have to come out."""
    from hil.labs.pack import lab_names, load_lab

    every = [load_lab(name) for name in lab_names()]
    if as_json:
        print_json([{"name": lab.name, "title": lab.title, **lab.head, "numbers": len(lab.numbers)} for lab in every])
        return
    print_table(
        "",
        ["lab", "title", "time", "arm", "numbers"],
        ([lab.name, lab.title, lab.head["time"], lab.head["arm"], str(len(lab.numbers))] for lab in every),
    )


@labs.command("show")
def show(lab: LabName) -> None:
    """Print a lab's page."""
    from hil.labs.pack import load_lab

    print(load_lab(lab).text, end="")


@labs.command("run")
def run(
    lab: LabName,
    short: Annotated[bool, typer.Option("--short", help="Leave out what takes long.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a lab in an empty folder, and hold every number against its page. Ends with 1 if one does not come out."""
    from hil.labs.lab_runner import run_lab
    from hil.labs.pack import load_lab

    read = load_lab(lab)
    out = console()
    outcome = run_lab(read, None if as_json else out.print, short=short)
    if as_json:
        print_json(
            {
                "lab": outcome.name,
                "numbers": [
                    {"name": one.expected.name, "value": one.value, "expected": one.expected.value,
                     "tolerance": one.expected.tolerance, "source": one.expected.source, "holds": one.holds}
                    for one in outcome.measured
                ],
                "wrong": outcome.wrong,
            }
        )  # fmt: skip
    else:
        print_table(
            read.title,
            ["number", "came out", "expected", "tolerance", ""],
            (
                [
                    one.expected.name,
                    "not found" if one.value is None else f"{one.value:.9g}",
                    f"{one.expected.value:.9g}",
                    f"{one.expected.tolerance:g}",
                    "ok" if one.holds else "WRONG",
                ]
                for one in outcome.measured
            ),
        )
    for words in outcome.wrong:
        complain(f"{outcome.name}: {words}")
    if not outcome.good:
        raise typer.Exit(1)


@labs.command("notebook")
def notebook(
    lab: LabName,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The notebook; none: LAB.ipynb.")] = None,
) -> None:
    """Write a lab as a Jupyter notebook."""
    from hil.cli._new_file import write_new
    from hil.labs.lab_notebook import notebook_text
    from hil.labs.pack import load_lab

    read = load_lab(lab)
    file = output or Path(f"{read.name}.ipynb")
    write_new(file, notebook_text(read))
    print(file)
