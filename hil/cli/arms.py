"""hil robots, hil rigs, hil check, hil paths: what is known, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli.output import complain, console, print_json, print_table
from hil.units import DEG, MM

if TYPE_CHECKING:
    from hil.model.rig import Rig

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(robots)
    app.command()(rigs)
    app.command()(check)
    app.command()(paths)


def robots(
    name: Annotated[str | None, typer.Argument(help="A robot's name or file; none lists all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the robots, or show one: joints, limits, inertia, where the numbers come from."""
    from hil.model.files import list_names
    from hil.model.loading import load_robot

    if name is not None:
        model = load_robot(name)
        if as_json:
            print_json(model)
        else:
            _show_robot(model)
        return
    models = [load_robot(each) for each in list_names("robots")]
    if as_json:
        print_json([{"id": m.id, "title": m.title, "joints": m.dof, "status": m.status} for m in models])
        return
    print_table(
        f"{len(models)} robots",
        ["name", "axes", "what it is", "status"],
        ([m.id, str(m.dof), m.title, m.status] for m in models),
    )


def _show_robot(model: Any) -> None:
    from hil.model.robot import JointType

    def given(value: float | None, unit: float, revolute: bool) -> str:
        return "not given" if value is None else f"{value / unit:.4g} {'deg' if revolute else 'mm'}"

    out = console()
    out.print(f"[bold]{model.title}[/bold] ({model.id}), {model.manufacturer or 'maker not given'}, {model.dof} axes")
    geometry, range_ = [], []
    for i, joint in enumerate(model.joints, 1):
        revolute = joint.type is JointType.REVOLUTE
        unit = DEG if revolute else MM
        lengths = (joint.d_m / MM, joint.theta_rad / DEG, joint.a_m / MM, joint.alpha_rad / DEG)
        geometry.append([str(i), joint.name, joint.type.value, *(f"{value:.6g}" for value in lengths)])
        speed = given(joint.max_speed, unit, revolute) + ("/s" if joint.max_speed is not None else "")
        lower, upper = (given(limit, unit, revolute) for limit in (joint.lower, joint.upper))
        range_.append([str(i), joint.name, lower, upper, speed, f"{joint.sign:+d}"])
    columns = ["i", "joint", "type", "d mm", "theta deg", "a mm", "alpha deg"]
    print_table("standard DH: Rz(theta) Tz(d) Tx(a) Rx(alpha)", columns, geometry)
    print_table("range", ["i", "joint", "lower", "upper", "max speed", "sign"], range_)

    def kilograms(value: float | None) -> str:
        return "not given" if value is None else f"{value:g} kg"

    out.print(f"payload {kilograms(model.payload_kg)}, mass {kilograms(model.mass_kg)}")
    if model.inertia is None:
        out.print("link masses and inertias: not given")
    else:
        out.print(
            f"link masses: {', '.join(f'{link.mass_kg:g}' for link in model.inertia)} kg ({model.inertia_status})"
        )
    home = "not given"
    if model.home is not None:
        pairs = zip(model.home, model.joints, strict=True)
        home = ", ".join(f"{q / (DEG if j.type is JointType.REVOLUTE else MM):.6g}" for q, j in pairs)
    out.print(f"home: {home}")
    out.print(f"status: {model.status}")
    out.print(f"source: {model.source}")
    for text in model.verified_against:
        out.print(f"verified against: {text}")
    for note in model.notes:
        out.print(f"note: {note}")


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
    file: Annotated[str, typer.Argument(help="A robot, rig or task: a file, or a name.")],
    rig: Annotated[str, typer.Option(help="The rig that a task is planned for.")] = "lynx6",
    prove: Annotated[
        bool, typer.Option("--prove", help="Search a rig for anything that could let an unsafe byte out.")
    ] = False,
    seconds: Annotated[float, typer.Option(min=0.0, max=86400.0, help="With --prove: how long to search.")] = 30.0,
    seed: Annotated[int, typer.Option(help="With --prove: of all chance; the same seed tries the same.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="With --prove: print JSON instead of a table.")] = False,
) -> None:
    """Read a robot, rig or task file strictly and say what is wrong with it; --prove goes further with a rig."""
    from hil.model.files import read_toml
    from hil.model.loading import load_robot
    from hil.motion.planning import plan
    from hil.runtime.wiring import load_rig

    path = _file_of(file)
    keys = read_toml(path).keys()
    is_rig = "step" not in keys and bool(keys & {"robot", "controller", "inherit"})
    if prove and not is_rig:
        raise typer.BadParameter(f"{file} is no rig; only a rig can be proved", param_hint="--prove")
    if is_rig:
        loaded = load_rig(path)
        if prove:
            _prove(loaded, seconds, seed, as_json=as_json)
            return
        words = f"a rig: {loaded.robot.id} on {loaded.controller.kind}, {len(loaded.axes)} axes; {_in_force(loaded)}"
    elif "step" in keys:
        loaded = load_rig(rig)
        motion = plan(loaded, path)
        words = f"a task; on rig {loaded.id} it takes {motion.duration_s:.2f} s (not yet previewed)"
    else:
        words = f"a robot with {load_robot(path).dof} joints"
    print(f"{file}: {words}. Nothing wrong found")


def _in_force(rig: Rig) -> str:
    """Which calibration counts."""
    if rig.calibration is None:
        return "not calibrated, so for fakes only"
    return f"calibration {rig.calibration.text}{'' if rig.calibration.adapter else ', so for fakes only'}"


def _file_of(name: str) -> Path:
    """The path itself, else a rig, task or robot of that name, in this order."""
    from hil.model.files import find, list_names

    stem = Path(name).stem
    kind = next((kind for kind in ("rigs", "tasks", "robots") if stem in list_names(kind)), "rigs")
    return Path(name) if Path(name).is_file() else find(kind, name)


def _prove(rig: Rig, seconds: float, seed: int, *, as_json: bool) -> None:
    import time

    from hil.bench.prove import prove

    out = console()
    if not as_json:
        out.print(f"searching {rig.id} for unsafe bytes on the fake controller, seed {seed}, about {seconds:g} s")
    proof = prove(rig, seconds=seconds, seed=seed, now_s=time.monotonic)
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

    kinds = ("robots", "rigs", "tasks", "faults", "calibrations")
    rows = [[kind, str(place)] for kind in kinds for place in folders(kind)]
    print_table("searched in this order, after the path itself", ["kind", "folder"], rows)
    print(f"journals and locks: {state_dir()}")
