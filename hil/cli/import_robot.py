"""hil import: a URDF as a robot's file, and what an STL is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hil.cli._new_file import refuse_existing, write_new
from hil.cli.arms import AsJson, show_robot
from hil.cli.output import print_json
from hil.units import MM

if TYPE_CHECKING:
    from hil.model.stl import StlFacts
    from hil.model.urdf import UrdfRobot


def add_to(app: typer.Typer) -> None:
    """Register the command; its name is a word that Python keeps."""
    app.command("import")(import_file)


def import_file(
    file: Annotated[Path, typer.Argument(help="A URDF, or an STL.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write here: a robot's TOML, or an STL in metres.")
    ] = None,
    tip: Annotated[str | None, typer.Option(help="URDF: the link at the tip, where there are several ends.")] = None,
    name: Annotated[str | None, typer.Option(help="URDF: the robot's title; else as the file has it.")] = None,
    as_written: Annotated[
        bool, typer.Option("--as-written", help="URDF: take 1.5708 for 1.5708 rad, not for a quarter turn.")
    ] = False,
    units: Annotated[Literal["mm", "m"] | None, typer.Option(help="STL: units of its numbers.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a robot's file of a URDF, checked against it; or read an STL. Without -o: show, and write nothing."""
    if output is not None:
        refuse_existing(output)
    if file.suffix.lower() == ".stl":
        if tip or name or as_written:
            raise typer.BadParameter("--tip, --name and --as-written go with a URDF")
        _import_stl(file, output, units, as_json=as_json)
        return
    if units:
        raise typer.BadParameter("--units goes with an STL; a URDF is in metres")
    _import_urdf(file, output, tip, name, as_written=as_written, as_json=as_json)


def _import_urdf(
    file: Path, output: Path | None, tip: str | None, name: str | None, *, as_written: bool, as_json: bool
) -> None:
    from hil.model.robot_text import robot_text
    from hil.model.urdf import read_urdf

    found = read_urdf(file, tip=tip, title=name, as_written=as_written)
    if output is not None:
        write_new(output, robot_text(found.model, _heading(file, found)))
    if as_json:
        print_json(found)
        return
    if output is None:
        show_robot(found.model)
    for line in _words(found):
        print(line)
    if output is not None:
        print(f"written: {output}")
        print(f"next: fill in manufacturer, source and status, then hil check {output}")


def _heading(file: Path, found: UrdfRobot) -> list[str]:
    """Comments on top of the new file: what no key of it has a place for."""
    meshes = [
        f"  link {mesh.link} ({mesh.urdf_link}), {mesh.purpose}: {mesh.name}" for mesh in found.meshes if mesh.name
    ]
    return [
        f"Imported by hil from {file.name}, link {found.root} to {found.tip}.",
        *(f"Note: {note}." for note in found.notes),
        *(["Meshes that it names:", *meshes] if meshes else []),
    ]


def _words(found: UrdfRobot) -> list[str]:
    missing = sorted({mesh.name for mesh in found.meshes if not mesh.found})
    total = len({mesh.name for mesh in found.meshes})
    lines = [f"{found.model.dof} joints, from link {found.root} to link {found.tip}"]
    lines += [f"same poses as the URDF: worst difference {found.worst:.1e} (m, and elements of the rotation)"]
    lines += [f"note: {note}" for note in found.notes]
    if total:
        lines.append(f"meshes: {total - len(missing)} of {total} found; the others are not needed for kinematics")
    return lines


def _import_stl(file: Path, output: Path | None, units: Literal["mm", "m"] | None, *, as_json: bool) -> None:
    from hil.model.stl import read_stl, write_stl

    mesh = read_stl(file, units)
    if output is not None:
        write_new(output, write_stl(mesh.vertices, mesh.faces))
    if as_json:
        print_json(mesh.facts)
        return
    for line in _facts(mesh.facts):
        print(line)
    if output is not None:
        print(f"written: {output}, in metres")


def _facts(facts: StlFacts) -> list[str]:
    def millimetres(values: tuple[float, float, float]) -> str:
        return ", ".join(f"{value / MM:.6g}" for value in values)

    left_out = f", {facts.degenerate} without an area left out" if facts.degenerate else ""
    return [
        f"{facts.triangles} triangles{left_out}; {'closed' if facts.watertight else 'not closed'}",
        f"file in {facts.units}; bounding box {' x '.join(f'{value / MM:.6g}' for value in facts.size_m)} mm",
        f"from ({millimetres(facts.lower_m)}) to ({millimetres(facts.upper_m)}) mm",
    ]
