"""hil ports, doctor, new, schema: from a boxed arm to a rig of one's own."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from hil.cli._names import names
from hil.cli._plain_help import CommandGroup
from hil.cli.arms import AsJson
from hil.cli.output import complain, print_json

if TYPE_CHECKING:
    from hil.workbench.doctor import Finding
    from hil.workbench.new_files import Length
    from hil.workbench.ports import PortReport
    from hil.workbench.robot_rig import Wish
    from hil.workbench.udev import StableName

T = TypeVar("T")

_UNITS: dict[str, Literal["mm", "cm", "in", "m"] | None] = {"": None, "mm": "mm", "cm": "cm", "in": "in", "m": "m"}
Millimetres = Annotated[float | None, typer.Option(help="In millimetres; asked for on a terminal if not given.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(ports)
    app.command()(doctor)
    group = CommandGroup(no_args_is_help=True, help="Write a rig or a robot of your own.")
    group.command("rig")(new_rig)
    group.command("robot")(new_robot)
    app.add_typer(group, name="new")
    app.command()(schema)


def ports(
    names: Annotated[list[str] | None, typer.Argument(help="Only these devices or URLs; none: all.")] = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Open each free port and ask who is there. Moves nothing: ESC, VER and CR.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the serial ports: adapter, serial number, USB place, who has it open, whose rig it is, who answers."""
    from hil.clock import RealClock
    from hil.runtime.open_ports import open_ports
    from hil.runtime.port_wiring import ask_port, serial_adapters
    from hil.runtime.wiring import load_rig
    from hil.workbench.ports import ask_ports, named_ports, report_ports, rigs_by_adapter

    adapters = serial_adapters()
    shown = named_ports(names, adapters) if names else adapters
    reports = report_ports(shown, open_ports(), rigs_by_adapter(load_rig))
    if ask:
        reports = ask_ports(reports, lambda url: ask_port(url, RealClock()), wireless=bool(names))
    if as_json:
        print_json(reports)
    elif reports:
        print("\n".join(line for report in reports for line in _port_lines(report)))
        if not names and not any(report.adapter.usb_id for report in reports):
            _show_none("no USB adapter is among them")
    else:
        _show_none("no serial port found")


def _port_lines(report: PortReport) -> list[str]:
    adapter, answer = report.adapter, report.answer
    facts = {
        "serial number": adapter.serial_number,
        "USB place": adapter.usb_place,
        "USB id": adapter.usb_id,
    }
    lines = ["  ".join(text for text in (adapter.device, adapter.description, adapter.maker) if text)]
    known = ", ".join(f"{name} {fact}" for name, fact in facts.items() if fact)
    lines += [f"    {known}"] if known else []
    lines += [f"    also {link}" for link in adapter.links]
    lines += [f"    in use by {holder.text}" for holder in report.holders]
    lines += [f"    rig {name} is bound to it" for name in report.rigs]
    if answer is not None:
        speed = f" at {answer.baud} baud" if answer.baud is not None else ""
        lines.append(f"    answers: {answer.identity}{speed} ({answer.kind})")
    elif report.trouble:
        lines.append(f"    {report.trouble.removeprefix(f'{adapter.device}: ')}")
    return lines


def _show_none(words: str) -> None:
    from hil.workbench.ports import what_to_check

    print(words)
    for number, line in enumerate(what_to_check(sys.platform), start=1):
        print(f"  {number}. {line}")


def doctor(
    udev: Annotated[
        bool, typer.Option("--udev", help="Linux: print rules for adapters: rights, latency, names, hands off.")
    ] = False,
    rig: Annotated[str | None, typer.Option(help="With --udev: the rig that gets the name /dev/hil-RIG.")] = None,
    adapter_serial: Annotated[
        str | None, typer.Option(help="With --rig: serial number of its adapter; none: as the rig has it.")
    ] = None,
    usb_place: Annotated[
        str | None, typer.Option(help="With --rig: USB place of an adapter without serial number.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look the computer over: what is missing or in the way, and how to mend it. Ends with 1 if something must be."""
    from hil.runtime.port_wiring import serial_adapters
    from hil.runtime.wiring import load_rig
    from hil.workbench.doctor import CONVERTERS, Severity, examine, serial_group, this_system
    from hil.workbench.ports import periods_of_rigs
    from hil.workbench.udev import udev_rules

    if udev:
        print(udev_rules(_stable_names(rig, adapter_serial, usb_place), CONVERTERS, serial_group()), end="")
        return
    if rig or adapter_serial or usb_place:
        raise typer.BadParameter("--rig, --adapter-serial and --usb-place go with --udev")
    findings = examine(this_system(serial_adapters(), periods_of_rigs(load_rig)))
    if as_json:
        print_json(findings)
    else:
        _show_findings(findings)
    if any(finding.severity is Severity.ERROR for finding in findings):
        raise typer.Exit(1)


def _stable_names(rig: str | None, adapter_serial: str | None, usb_place: str | None) -> list[StableName]:
    """The named rig's adapter, or those of all rigs that are bound to one."""
    from hil.runtime.wiring import load_rig
    from hil.workbench.ports import rigs_by_adapter
    from hil.workbench.udev import StableName

    if rig is None:
        if adapter_serial or usb_place:
            raise typer.BadParameter("--adapter-serial and --usb-place need --rig, which gives the name")
        bound = rigs_by_adapter(load_rig)
        return [StableName(rig=name, serial_number=serial) for serial, names in bound.items() for name in names]
    if adapter_serial is None and usb_place is None:
        adapter_serial = load_rig(rig).adapter_serial
    return [StableName(rig=rig, serial_number=adapter_serial or "", usb_place=usb_place or "")]


def _show_findings(findings: tuple[Finding, ...]) -> None:
    from hil.workbench.doctor import Severity

    for finding in findings:
        serious = finding.severity in (Severity.WARNING, Severity.ERROR)
        mark = finding.severity.value.upper() if serious else finding.severity.value
        print(f"{mark:8} {finding.topic:11} {finding.text}")
        if finding.fix:
            print(f"{'':20} fix: {finding.fix}")
    counts = [(sum(finding.severity is each for finding in findings), each.value) for each in Severity]
    print(", ".join(f"{count} {name}{'s' if count != 1 and name != 'ok' else ''}" for count, name in counts if count))


def new_rig(
    name: Annotated[str, typer.Argument(help="Name of the new rig.")],
    parent: Annotated[str | None, typer.Option("--from", metavar="RIG", help="The rig that it inherits from.")] = None,
    robot: Annotated[
        str | None,
        typer.Option(help="Any robot; with --from one with the same joints.", autocompletion=names("robots")),
    ] = None,
    controller: Annotated[str, typer.Option(help="Without --from: simulated, ssc32 or cr1.")] = "simulated",
    tool_axis: Annotated[
        str | None,
        typer.Option(metavar="AXIS", help="Along which axis of the last link the hand points: x, -x, y, -y, z or -z."),
    ] = None,
    gripper_mm: Annotated[
        float | None, typer.Option(min=1.0, max=500.0, help="With ssc32: how far its gripper opens.")
    ] = None,
    park: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Where the limp arm lies, in degrees or millimetres per joint."),
    ] = None,
    stl: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="With --robot: bodies from meshes, files ...link-N.stl in their links' frames."
        ),
    ] = None,
    stl_unit: Annotated[str, typer.Option(help="Of these meshes: mm, cm, in or m.")] = "",
    port: Annotated[str | None, typer.Option(help="Device or URL of its line, see `hil ports`.")] = None,
    adapter_serial: Annotated[str | None, typer.Option(help="Serial number of its USB adapter.")] = None,
    title: Annotated[str | None, typer.Option(help="Shown to people.")] = None,
) -> None:
    """Write a rig of your own: what differs from another one (--from), or all of one for a robot (--robot)."""
    from hil.model.files import list_names
    from hil.runtime.wiring import load_rig
    from hil.workbench import new_files
    from hil.workbench.robot_rig import Wish, mistaken_parent

    if stl_unit not in _UNITS:
        raise typer.BadParameter(f"{stl_unit!r}; allowed: mm, cm, in, m", param_hint="--stl-unit")
    if parent is None:
        _new_rig_of_robot(
            Wish(name, controller, port, gripper_mm, _numbers(park), stl, _UNITS[stl_unit]), robot, tool_axis
        )
        return
    for option, given in (("--tool-axis", tool_axis), ("--gripper-mm", gripper_mm), ("--park", park), ("--stl", stl)):
        if given is not None:
            raise typer.BadParameter(f"{option} goes with --robot alone: here the rig above says it")
    if parent in list_names("robots") and parent not in list_names("rigs"):
        raise mistaken_parent(parent, name)
    file = new_files.new_rig(name, parent, load_rig, robot=robot, title=title, port=port, adapter_serial=adapter_serial)
    print(f"written: {file}")
    if robot is not None:
        print(f"its shapes and fences are still those of {parent}: compare them with this arm (docs/rigs.md)")
    print(f"next: hil calibrate {name}")


def _new_rig_of_robot(wish: Wish, robot: str | None, tool_axis: str | None) -> None:
    from hil.model.reader import load_robot
    from hil.runtime.wiring import load_rig
    from hil.workbench import new_files
    from hil.workbench.robot_rig import draft, tool_words, with_tool_axis, write_rig

    if robot is None:
        raise typer.BadParameter("give --robot ROBOT for an arm of any kind, or --from RIG for one like that rig")
    model, name = load_robot(robot), wish.name
    new_files.check_name("rigs", name)
    draft(model, wish)
    if tool_axis is not None:
        robot = str(with_tool_axis(robot, name, tool_axis, load_robot))
        model = load_robot(robot)
        print(f"written: {robot}")
    named = robot if tool_axis is None and not Path(robot).is_file() else str(Path(robot).resolve())
    file, made = write_rig(model, named, wish, load_rig)
    print(f"written: {file}")
    for words in made.defaults:
        print(f"taken: {words}")
    print(f"{tool_words(model)}. Another axis: --tool-axis")
    follows = {"simulated": f"hil jog {name}", "cr1": f"hil check {name}", "ssc32": f"hil calibrate {name}"}
    print(f"next: {follows[wish.kind]}")


def _numbers(text: str | None) -> tuple[float, ...] | None:
    """Numbers between commas.

    Raises:
        BadParameter: it is anything else.
    """
    if text is None:
        return None
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(map(math.isfinite, found)):
        raise typer.BadParameter(f"{text!r}: numbers between commas, one for each joint", param_hint="--park")
    return found


def new_robot(
    name: Annotated[str, typer.Argument(help="Name of the new robot.")],
    axes: Annotated[int | None, typer.Option(min=4, max=5, help="4, or 5 with wrist rotation.")] = None,
    base_height_mm: Millimetres = None,
    upper_arm_mm: Millimetres = None,
    forearm_mm: Millimetres = None,
    hand_mm: Millimetres = None,
    height_mm: Annotated[
        float | None, typer.Option(help="Table to finger tips, arm straight up: checks the other four.")
    ] = None,
    measured_by: Annotated[str | None, typer.Option(help="Who has measured.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write a template for an arm of any kind to this file instead."),
    ] = None,
) -> None:
    """Write a robot of the Lynx6 kind from lengths that you measure, from axis to axis; or a template for any other."""
    if output is not None:
        if any(value is not None for value in (axes, base_height_mm, upper_arm_mm, forearm_mm, hand_mm, height_mm)):
            raise typer.BadParameter("-o writes a template for any arm; lengths are for one of the Lynx6 kind")
        _write_template(name, output)
        return
    import datetime

    from hil.model.reader import load_robot
    from hil.workbench import new_files

    new_files.check_name("robots", name)
    values = (base_height_mm, upper_arm_mm, forearm_mm, hand_mm)
    given = {length.key: value for length, value in zip(new_files.LENGTHS, values, strict=True)}
    asks = any(value is None for value in (axes, measured_by, *values))
    if asks and not sys.stdin.isatty():
        options = ", ".join(f"--{key.replace('_', '-')}" for key in ("axes", *given, "measured_by"))
        raise typer.BadParameter(f"without a terminal to ask on, all of these are needed: {options}")
    whole = axes if axes is not None else _asked("axes, 4 or 5 (with wrist rotation)", _axes, "5")
    lengths = {
        length.key: value if value is not None else _asked(f"{length.question}, mm", _length(length))
        for length, value in zip(new_files.LENGTHS, values, strict=True)
    }
    if asks and height_mm is None:
        height_mm = _asked("table to finger tips, arm straight up, mm (empty: not measured)", _maybe_number, "")
    file = new_files.new_robot(
        name,
        lengths,
        load_robot,
        axes=whole,
        measured_by=measured_by if measured_by is not None else _asked("measured by", str),
        date=datetime.date.today().isoformat(),
        height_mm=height_mm,
    )
    print(f"written: {file}")
    print(f"next: hil new rig NAME --from {'lynx6' if whole == 5 else 'lynx6-4axis'} --robot {name}")


def _write_template(title: str, file: Path) -> None:
    from hil.cli._new_file import write_new
    from hil.model.robot_text import template

    write_new(file, template(title))
    print(f"written: {file}")
    print(f"next: fill it in, then hil check {file}")


def _asked(question: str, read: Callable[[str], T], default: str | None = None) -> T:
    """Ask until the answer can be read."""
    from hil.errors import ConfigError

    while True:
        text = typer.prompt(question, default=default, show_default=bool(default))
        try:
            return read(text.strip())
        except ConfigError as error:
            complain(f"  {error.allowed}. {error.advice}" if error.advice else f"  {error.allowed}")
        except ValueError:
            complain("  a number is needed")


def _axes(text: str) -> int:
    from hil.errors import ConfigError

    if text not in ("4", "5"):
        raise ConfigError("hil new robot", "axes", text, "4 or 5")
    return int(text)


def _length(length: Length) -> Callable[[str], float]:
    from hil.workbench.new_files import check_length

    def read(text: str) -> float:
        value_mm = _number(text)
        check_length(length, value_mm)
        return value_mm

    return read


def _maybe_number(text: str) -> float | None:
    return _number(text) if text else None


def _number(text: str) -> float:
    """A number with either decimal mark."""
    return float(text.replace(",", "."))


def schema(
    kind: Annotated[str, typer.Argument(metavar="task|rig|robot|curve", help="Which kind of file.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file.")] = None,
) -> None:
    """Print the JSON Schema of a kind of file, for editors that complete keys and mark mistakes."""
    import json

    from hil.runtime.wiring import controller_tables
    from hil.workbench.schema import curve_schema, rig_schema, robot_schema, task_schema

    kinds: dict[str, Callable[[], dict[str, Any]]] = {
        "task": task_schema,
        "rig": lambda: rig_schema(controller_tables()),
        "robot": robot_schema,
        "curve": curve_schema,
    }
    if kind not in kinds:
        raise typer.BadParameter(f"{kind!r}; allowed: {', '.join(kinds)}")
    text = json.dumps(kinds[kind](), indent=2)
    if output is None:
        print(text)
        return
    output.write_text(f"{text}\n", encoding="utf-8")
    print(f"written: {output}")
