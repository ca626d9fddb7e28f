"""hil robots, hil rigs, hil check, hil paths: what is known, and what is wrong with a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._names import names
from hil.cli._new_file import refuse_existing, write_new
from hil.cli.output import complain, console, print_json, print_table
from hil.clock import monotonic_s
from hil.units import DEG, MM

if TYPE_CHECKING:
    from hil.model.rig import Capsule, Rig
    from hil.model.robot import RobotModel, Transform

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(robots)
    app.command()(rigs)
    app.command()(check)
    app.command()(paths)


def robots(
    name: Annotated[
        str | None, typer.Argument(autocompletion=names("robots"), help="A robot's name or file; none lists all.")
    ] = None,
    stl: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write its links as STL files, drawn from the DH table.")
    ] = None,
    rig: Annotated[str | None, typer.Option(help="With --stl: the shapes of this rig, as collisions see them.")] = None,
    urdf: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it as a URDF.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the robots, or show one: DH table, limits, reach, masses, where the numbers come from."""
    from hil.model.reader import load_robot

    if name is None:
        if stl or urdf or rig:
            raise typer.BadParameter("--stl, --rig and --urdf need a robot's name")
        _list_robots(as_json=as_json)
        return
    if rig and not stl:
        raise typer.BadParameter("--rig goes with --stl")
    model = load_robot(name)
    if stl is not None:
        _write_meshes(model, stl, rig)
    if urdf is not None:
        _write_urdf(model, urdf)
    if stl is not None or urdf is not None:
        return
    if as_json:
        print_json({**_builtins(model), **_worked_out(model)})
    else:
        show_robot(model)


def _list_robots(*, as_json: bool) -> None:
    from hil.model.files import list_names
    from hil.model.reader import load_robot

    models = [load_robot(each) for each in list_names("robots")]
    if as_json:
        print_json([{"id": m.id, "title": m.title, "joints": m.dof, "status": m.status} for m in models])
        return
    print_table(
        f"{len(models)} robots",
        ["name", "axes", "what it is", "status"],
        ([m.id, str(m.dof), m.title, m.status] for m in models),
    )


def show_robot(model: RobotModel) -> None:
    """The specification panel: the file's own numbers, what follows from them, and what is not given."""
    from hil.dynamics.plausibility import arm_warnings
    from hil.model.specification import NOT_GIVEN, controller_lines, home_text, inertia_lines, longest_reach_m

    def kilograms(value: float | None) -> str:
        return NOT_GIVEN if value is None else f"{value:g} kg"

    def say(line: str) -> None:
        out.print(line, markup=False)

    out = console()
    say(f"{model.title} ({model.id}), {model.manufacturer}, {model.dof} axes")
    _show_joints(model)
    for key, transform in (("base", model.base), ("tool", model.tool)):
        say(f"{key}: {_placed(transform)}")
    reach_m = longest_reach_m(model)
    reach = NOT_GIVEN if reach_m is None else f"at most {reach_m / MM:.6g} mm from the first axis (worked out)"
    say(f"reach: {reach}")
    say(f"payload: {kilograms(model.payload_kg)}")
    say(f"mass: {kilograms(model.mass_kg)}")
    for line in (*inertia_lines(model), f"home: {home_text(model)}", *controller_lines(model)):
        say(line)
    say(f"inverse kinematics: {_inverse_words(model)}")
    say(f"status: {model.status}")
    say(f"source: {model.source}")
    say(f"licence: {model.licence_note or NOT_GIVEN}")
    for text in model.verified_against or (NOT_GIVEN,):
        say(f"verified against: {text}")
    for note in model.notes:
        say(f"note: {note}")
    for warning in arm_warnings(model):
        say(f"warning: {warning}")


def _show_joints(model: RobotModel) -> None:
    from hil.model.specification import NOT_GIVEN, unit_of

    def given(value: float | None, unit: float, word: str) -> str:
        return NOT_GIVEN if value is None else f"{value / unit:z.6g} {word}"

    geometry, ranges = [], []
    for i, joint in enumerate(model.joints, 1):
        unit, word = unit_of(joint)
        lengths = (joint.d_m / MM, joint.theta_rad / DEG, joint.a_m / MM, joint.alpha_rad / DEG)
        geometry.append([str(i), joint.name, joint.type.value, *(f"{value:z.6g}" for value in lengths)])
        lower, upper = (given(limit, unit, word) for limit in (joint.lower, joint.upper))
        ranges.append([str(i), joint.name, lower, upper, given(joint.max_speed, unit, f"{word}/s"), f"{joint.sign:+d}"])
    columns = ["i", "joint", "type", "d mm", "theta deg", "a mm", "alpha deg"]
    print_table("standard DH: Rz(theta) Tz(d) Tx(a) Rx(alpha)", columns, geometry)
    print_table("range", ["i", "joint", "lower", "upper", "max speed", "sign"], ranges)


def _placed(transform: Transform) -> str:
    """A constant transform in words: millimetres, and roll, pitch, yaw in degrees where it turns."""
    import numpy as np

    from hil.model.transforms import rpy_of

    matrix = np.array(transform)
    if np.array_equal(matrix, np.eye(4)):
        return "none"
    x, y, z = (f"{value / MM:z.6g}" for value in matrix[:3, 3])
    angles = [round(angle / DEG, 6) + 0.0 for angle in rpy_of(matrix[:3, :3])]
    turned = f", turned by roll {angles[0]:.6g}, pitch {angles[1]:.6g}, yaw {angles[2]:.6g} deg" if any(angles) else ""
    return f"at {x}, {y}, {z} mm{turned}"


def _inverse_words(model: RobotModel) -> str:
    from hil.robot import Robot

    family = Robot(model).closed_form_family
    return f"closed form, every branch ({family})" if family else "by iteration, no closed form here"


def _worked_out(model: RobotModel) -> dict[str, Any]:
    """What the panel shows beside the file's own keys; null where it is not given."""
    from hil.dynamics.plausibility import arm_warnings, inertia_warnings
    from hil.model.specification import longest_reach_m
    from hil.robot import Robot

    return {
        "longest_reach_m": longest_reach_m(model),
        "closed_form": Robot(model).closed_form_family or None,
        "inertia_warnings": list(inertia_warnings(model)),
        "warnings": list(arm_warnings(model)),
    }


def _builtins(model: RobotModel) -> dict[str, Any]:
    import msgspec

    table: dict[str, Any] = msgspec.to_builtins(model)
    return table


def _write_meshes(model: RobotModel, folder: Path, rig: str | None) -> None:
    """One STL a link, in metres in its DH frame, and the whole arm at home (or at zero) in the world."""
    from hil.model.link_shapes import capsule_meshes, link_meshes, placed
    from hil.model.stl import write_stl
    from hil.model.transforms import frames
    from hil.runtime.wiring import load_rig

    if rig is None:
        meshes = link_meshes(model)
        names = [f"{model.id}-link-{mesh.link}.stl" for mesh in meshes]
    else:
        shapes = _shapes_for(load_rig(rig), model)
        meshes = capsule_meshes(shapes)
        names = [f"{model.id}-link-{shape.link}-{shape.name}.stl" for shape in shapes]
    whole = placed(meshes, frames(model, model.home or [0.0] * model.dof))
    parts = [*((mesh.vertices, mesh.faces) for mesh in meshes), whole]
    files = [folder / name for name in (*names, f"{model.id}.stl")]
    _make_folder(folder)
    for file in files:
        refuse_existing(file)
    for file, (vertices, faces) in zip(files, parts, strict=True):
        write_new(file, write_stl(vertices, faces))
        print(f"written: {file}")
    print(f"in metres; links in their DH frames, {files[-1].name} whole at {'home' if model.home else 'all joints 0'}")


def _make_folder(folder: Path) -> None:
    from hil.errors import ConfigError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        allowed = "a folder that can be written to"
        raise ConfigError(str(folder), "--stl", error.strerror or str(error), allowed) from None


def _shapes_for(rig: Rig, model: RobotModel) -> tuple[Capsule, ...]:
    from hil.errors import ConfigError

    if rig.robot.id != model.id:
        raise ConfigError("hil robots", "--rig", rig.id, f"a rig of {model.id}", f"{rig.id} is one of {rig.robot.id}")
    return rig.shapes


def _write_urdf(model: RobotModel, file: Path) -> None:
    from hil.model.urdf_out import urdf_text

    write_new(file, urdf_text(model))
    print(f"written: {file}")


def rigs(as_json: AsJson = False) -> None:
    """List the rigs: robot, controller, rates."""
    from hil.model.files import list_names
    from hil.runtime.wiring import load_rig

    loaded = [load_rig(name) for name in list_names("rigs")]
    if as_json:
        print_json(
            [
                {
                    "id": rig.id,
                    "title": rig.title,
                    "robot": rig.robot.id,
                    "controller": rig.controller.kind,
                    "axes": [axis.name for axis in rig.axes],
                    "period_s": rig.period_s,
                    "file": rig.file,
                }
                for rig in loaded
            ]
        )
        return
    print_table(
        f"{len(loaded)} rigs",
        ["name", "robot", "controller", "axes", "period", "what it is"],
        (
            [
                rig.id,
                rig.robot.id,
                rig.controller.kind,
                str(len(rig.axes)),
                f"{rig.period_s * 1e3:g} ms",
                rig.title,
            ]
            for rig in loaded
        ),
    )


def check(
    file: Annotated[
        str,
        typer.Argument(
            autocompletion=names("robots", "rigs", "tasks", "curves"),
            help="A robot, rig, task, curve or fault script: a file, or a name.",
        ),
    ],
    rig: Annotated[str, typer.Option(help="The rig that a task is planned for.")] = "lynx6",
    prove: Annotated[
        bool, typer.Option("--prove", help="Search a rig for anything that could let an unsafe byte out.")
    ] = False,
    seconds: Annotated[float, typer.Option(min=0.0, max=86400.0, help="With --prove: how long to search.")] = 30.0,
    seed: Annotated[int, typer.Option(help="With --prove: of all chance; the same seed tries the same.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="With --prove: print JSON instead of a table.")] = False,
) -> None:
    """Read a robot, rig, task, curve or fault file and say all that is wrong; --prove goes further with a rig."""
    from hil.errors import ConfigErrors

    try:
        _check(file, rig, seconds if prove else None, seed, as_json=as_json)
    except ConfigErrors as errors:
        complain(f"{errors}\n{len(errors.faults)} faults")
        raise typer.Exit(1) from None


def _check(file: str, rig: str, prove_s: float | None, seed: int, *, as_json: bool) -> None:
    from hil.dynamics.plausibility import arm_warnings, unit_warnings
    from hil.model.files import read_toml
    from hil.model.reader import load_robot
    from hil.motion.planner import plan
    from hil.motion.tasks import load_task
    from hil.motion.unit_hints import rig_hints, task_hints
    from hil.runtime.wiring import fault_script, load_rig

    path = _file_of(file)
    table = read_toml(path)
    keys = table.keys()
    is_rig = "step" not in keys and bool(keys & {"robot", "controller", "inherit"})
    if prove_s is not None and not is_rig:
        raise typer.BadParameter(f"{file} is no rig; only a rig can be proved", param_hint="--prove")
    if is_rig:
        if not as_json:
            _warn(file, rig_hints(table))
        loaded = load_rig(path)
        if prove_s is not None:
            _prove(loaded, prove_s, seed, as_json=as_json)
            return
        words = f"a rig: {loaded.robot.id} on {loaded.controller.kind}, {len(loaded.axes)} axes; {_in_force(loaded)}"
        _warn(loaded.robot.id, unit_warnings(loaded.robot))
        _show_loads(loaded)
    elif "step" in keys:
        task = load_task(path)
        _warn(file, task_hints(task))
        loaded = load_rig(rig)
        motion = plan(loaded, path)
        words = f"a task; on rig {loaded.id} it takes {motion.duration_s:.2f} s (not yet previewed)"
    elif keys & {"parameters", "text"}:
        words = _curve_words(path)
    elif "fault" in keys:
        fault_script(path)
        words = f"a fault script of {len(table['fault'])} faults"
    else:
        model = load_robot(path)
        words = f"a robot with {model.dof} joints"
        for warning in arm_warnings(model):
            print(f"warning: {warning}")
        for taken in load_rig(path).defaults:
            print(f"without a rig: {taken}")
    print(f"{file}: {words}. Nothing wrong found")


def _curve_words(path: Path) -> str:
    """What a curve is, with a value at each of its samples."""
    from hil.paths.curve_file import load_curve

    curve = load_curve(path)
    samples = len(curve.points_m())
    return f"a curve of {samples} samples; `hil curve {path.stem} ROBOT` says what a robot reaches of it"


def _warn(of: str, warnings: Iterable[str]) -> None:
    for warning in warnings:
        print(f"warning: {of}: {warning}")


def _show_loads(rig: Rig) -> None:
    """Where the park pose comes from, and what the servos carry there and at home, for arms that are held by pulses."""
    from hil.runtime.port_wiring import is_calibrated_by_hand
    from hil.space.gravity_load import GravityLoad

    if not is_calibrated_by_hand(rig):
        return
    from hil.model._park_file import ESTIMATE, park_source
    from hil.space.limp_rest import limp_rest, words

    source = park_source(rig)
    doubt = "" if source.startswith("measured") else f". Nobody has seen it lie there: `hil release {rig.id}` asks"
    print(f"park pose: {source}{doubt if source == ESTIMATE else ''}; {words(rig, limp_rest(rig, rig.park))}")
    load = GravityLoad(rig)
    for pose, positions in (("home", rig.home), ("park", rig.park)):
        print(f"{pose}, {load.words(positions)}")


def _in_force(rig: Rig) -> str:
    """Which calibration counts."""
    if rig.calibration is None:
        return "not calibrated, so for fakes only"
    return f"calibration {rig.calibration.text}{'' if rig.calibration.adapter else ', so for fakes only'}"


def _file_of(name: str) -> Path:
    """The path itself, else a rig, task, robot or fault script of that name, in this order."""
    from hil.model.files import find, list_names

    stem = Path(name).stem
    kind = next((kind for kind in ("rigs", "tasks", "robots", "curves", "faults") if stem in list_names(kind)), "rigs")
    return Path(name) if Path(name).is_file() else find(kind, name)


def _prove(rig: Rig, seconds: float, seed: int, *, as_json: bool) -> None:

    from hil.workbench.prove import prove

    out = console()
    if not as_json:
        out.print(f"searching {rig.id} for unsafe bytes on the fake controller, seed {seed}, about {seconds:g} s")
    proof = prove(rig, seconds=seconds, seed=seed, now_s=monotonic_s)
    if as_json:
        print_json(proof)
    else:
        print_table("tried", ["what", "times"], ([trial.what, str(trial.count)] for trial in proof.trials))
        for note in proof.notes:
            out.print(f"not judged: {note}", markup=False)
        total = sum(trial.count for trial in proof.trials)
        verdict = "nothing unsafe found" if proof.ok else "UNSAFE"
        out.print(f"{rig.id}: {verdict} in {total} trials and {proof.seconds:.1f} s, seed {seed}")
        if proof.ok:
            out.print("A search can find a fault; that there is none, and that the calibration is true, it cannot show")
    if proof.counter_example is not None:
        complain(f"{proof.counter_example.what}: {proof.counter_example.text}")
        raise typer.Exit(1)


def paths() -> None:
    """Show where files are looked for and where journals go."""
    from hil.model.files import folders, state_dir

    kinds = ("robots", "rigs", "tasks", "curves", "faults", "calibrations")
    rows = [[kind, str(place)] for kind in kinds for place in folders(kind)]
    print_table("searched in this order, after the path itself", ["kind", "folder"], rows)
    print(f"journals and locks: {state_dir()}")
