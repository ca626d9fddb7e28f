"""hil import: a URDF as a robot's file, and what an STL is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hil.cli._new_file import refuse_existing, write_new
from hil.cli.arms import AsJson, show_robot
from hil.cli.output import print_json

if TYPE_CHECKING:
    from hil.model.stl import Mesh
    from hil.model.urdf import Ends, UrdfRobot

StlUnit = Literal["mm", "cm", "in", "m"]


def add_to(app: typer.Typer) -> None:
    """Register the command; its name is a word that Python keeps."""
    app.command("import")(import_file)


def import_file(
    file: Annotated[Path, typer.Argument(help="A URDF, a Xacro, or an STL.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write here: a robot's TOML, or an STL in metres.")
    ] = None,
    tip: Annotated[str | None, typer.Option(help="URDF: the link at the tip, where there are several ends.")] = None,
    base: Annotated[
        str | None, typer.Option(help="URDF: the link where the arm begins; joints before it are held still.")
    ] = None,
    scale: Annotated[
        float | None, typer.Option(help="URDF: metres in its unit of length, for example 0.01 for centimetres.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="URDF: the robot's title; else as the file has it.")] = None,
    as_written: Annotated[
        bool, typer.Option("--as-written", help="URDF: take 1.5708 for 1.5708 rad, not for a quarter turn.")
    ] = False,
    values: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Xacro: the value of an argument.")
    ] = None,
    unit: Annotated[
        StlUnit | None, typer.Option("--stl-unit", "--units", help="STL: units of its numbers; else it is asked.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a robot's file of a URDF, checked against it; or read an STL. Without -o: show, and write nothing."""
    if output is not None:
        refuse_existing(output)
    if file.suffix.lower() == ".stl":
        if tip or base or scale is not None or name or as_written or values:
            raise typer.BadParameter("--tip, --base, --scale, --name, --as-written and --set go with a URDF")
        _import_stl(file, output, unit, as_json=as_json)
        return
    if unit:
        raise typer.BadParameter("--stl-unit goes with an STL; a URDF is in metres, or has --scale")
    options = {
        "tip": tip,
        "base": base,
        "title": name,
        "as_written": as_written,
        "scale": 1.0 if scale is None else scale,
        "values": _values(values or []),
    }
    _import_urdf(file, output, options, as_json=as_json)


def _values(pairs: list[str]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair.lstrip("="):
            raise typer.BadParameter(f"{pair!r} has no value", param_hint="--set NAME=VALUE")
    return {name.removesuffix(":"): value for name, _, value in (pair.partition("=") for pair in pairs)}


def _import_urdf(file: Path, output: Path | None, options: dict[str, Any], *, as_json: bool) -> None:
    from hil.dynamics.plausibility import arm_warnings
    from hil.model.robot_text import robot_text

    found = _read(file, options, asks=not as_json)
    warnings = arm_warnings(found.model)
    if output is not None:
        write_new(output, robot_text(found.model, _heading(file, found)))
    if as_json:
        import msgspec

        print_json({**msgspec.to_builtins(found), "warnings": list(warnings)})
        return
    if output is None:
        show_robot(found.model)
    else:
        for warning in warnings:
            print(f"warning: {warning}")
    for line in _words(found):
        print(line)
    if output is not None:
        print(f"written: {output}")
        print(f"next: fill in manufacturer, source and status, then hil check {output}")


def _read(file: Path, options: dict[str, Any], *, asks: bool) -> UrdfRobot:
    """The arm; which end of a file with several is meant is asked where there is somebody to ask."""
    from hil.model.urdf import UrdfTipError, read_urdf

    try:
        return read_urdf(file, **options)
    except UrdfTipError as error:
        if not (asks and _is_at_terminal()):
            raise
        options = {**options, "tip": _asked_tip(error.ends)}
    return read_urdf(file, **options)


def _is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _asked_tip(ends: Ends) -> str:
    """The link at the tip, as somebody says; the proposal where nothing is said."""
    links: list[str] = []
    print("This file has several ends:")
    for end in ends.ends:
        gripper = f", with a gripper ({', '.join(end.gripper.joints)})" if end.gripper is not None else ""
        for link in (end.link, *end.others):
            links.append(link)
            print(f"  {len(links)}  {link}: {len(end.moving)} moving joints{gripper if link == end.link else ''}")
    print(f"proposed: {ends.tip}, {ends.why}")
    while True:
        answer = typer.prompt("Which link is the tip (its number or name)", default=ends.tip).strip()
        if answer in links:
            return str(answer)
        if answer.isdecimal() and 1 <= int(answer) <= len(links):
            return links[int(answer) - 1]
        print(f"  there is no end {answer!r}: a number from 1 to {len(links)}, or a name")


def _heading(file: Path, found: UrdfRobot) -> list[str]:
    """Comments on top of the new file: what no key of it has a place for."""
    meshes = [
        f"  link {mesh.link} ({mesh.urdf_link}), {mesh.purpose}: {mesh.name}" for mesh in found.meshes if mesh.name
    ]
    return [
        f"Imported by hil from {file.name}, link {found.base} to {found.tip}.",
        *(f"Note: {note}." for note in found.notes),
        *(["Meshes that it names:", *meshes] if meshes else []),
    ]


def _words(found: UrdfRobot) -> list[str]:
    missing = sorted({mesh.name for mesh in found.meshes if not mesh.found})
    total = len({mesh.name for mesh in found.meshes})
    lines = [f"{found.model.dof} joints, from link {found.base} to link {found.tip}"]
    lines += [f"same poses as the URDF: worst difference {found.worst:.1e} (m, and elements of the rotation)"]
    lines += [f"note: {note}" for note in found.notes]
    if total:
        lines.append(
            f"meshes: {total - len(missing)} of {total} found in the model's folder; nothing outside it is looked for, "
            "and none is needed for kinematics"
        )
    return lines


def _import_stl(file: Path, output: Path | None, unit: StlUnit | None, *, as_json: bool) -> None:
    from hil.model.stl import write_stl

    mesh = _read_stl(file, unit, asks=not as_json)
    if output is not None:
        write_new(output, write_stl(mesh.vertices, mesh.faces))
    if as_json:
        print_json(mesh.facts)
        return
    for line in mesh.facts.lines:
        print(line)
    if output is not None:
        print(f"written: {output}, in metres")


def _read_stl(file: Path, unit: StlUnit | None, *, asks: bool) -> Mesh:
    """The mesh; its unit is asked where nobody has said it and there is somebody to ask."""
    from hil.model.stl import METRES, StlUnitError, read_stl

    try:
        return read_stl(file, unit)
    except StlUnitError as error:
        if not (asks and _is_at_terminal()):
            raise
        readings = ", ".join(f"{each} ({error.extent * metres:.4g} m)" for each, metres in METRES.items())
        print(f"An STL has no units. The part is {error.extent:g} long: {readings}")
        answer = typer.prompt("Its unit", default=error.guess, type=_unit_choice(list(METRES)))
    return read_stl(file, answer)


def _unit_choice(units: list[StlUnit]) -> Any:
    import click

    return click.Choice(units)
