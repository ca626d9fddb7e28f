"""hil tune: the search for gains, rates and other numbers of a controlled arm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli import _experiment_options as options
from hil.cli._figure_options import Dpi, Font, Height, Width, figure_options
from hil.cli._names import RobotName
from hil.cli._progress import progress
from hil.cli.arms import AsJson
from hil.cli.output import complain, console, print_json, print_table
from hil.units import DEG

if TYPE_CHECKING:
    from hil.control.best import BestRun
    from hil.control.search import Found, Grid
    from hil.robot import Robot

SEARCH = "Search"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(tune)


def tune(
    robot: RobotName,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="What varies: kp, kd, ki, rate (Hz), bandwidth, torque-limit, viscous, dry, armature, mass, payload, "
            "delay (ms), noise or resolution, as kp=500:5000:500, kp.J2=1,2,5 or rate=100:1000:x4; repeatable.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the search is kept; tune-ROBOT here without it.", rich_help_panel=SEARCH),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Forget what is kept there.", rich_help_panel=SEARCH)] = False,
    optimise: Annotated[
        int | None,
        typer.Option(
            metavar="RUNS",
            help="Look between the ends of what varies instead, with so many runs.",
            rich_help_panel=SEARCH,
        ),
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="All without it.", rich_help_panel=SEARCH)] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of a Dask scheduler.", rich_help_panel=SEARCH)
    ] = None,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="List what no other setting beats in error and torque.", rich_help_panel=SEARCH),
    ] = False,
    to: options.To = None,
    start: options.From = None,
    to_pose: options.ToPose = None,
    from_pose: options.FromPose = None,
    follow: options.Follow = None,
    reference: options.ReferenceKind = None,
    duration: options.Duration = None,
    settle: options.Settle = None,
    blend: options.Blend = None,
    cruise: options.Cruise = None,
    start_speed: options.StartSpeed = None,
    end_speed: options.EndSpeed = None,
    law: options.LawName = None,
    kp: options.Kp = None,
    kd: options.Kd = None,
    ki: options.Ki = None,
    bandwidth: options.Bandwidth = None,
    factor: options.Factor = None,
    rate: options.Rate = None,
    delay: options.Delay = None,
    resolution: options.Resolution = None,
    noise: options.Noise = None,
    seed: options.Seed = None,
    speeds: options.SpeedsFrom = None,
    torque_limit: options.TorqueLimit = None,
    friction: options.WithFriction = None,
    viscous: options.Viscous = None,
    dry: options.Dry = None,
    armature: options.Armature = None,
    stops: options.WithStops = None,
    payload: options.Payload = None,
    payload_known: options.PayloadKnown = None,
    estimate_masses: options.EstimateMasses = None,
    gravity: options.Gravity = None,
    disturb: options.Disturb = None,
    integrator: options.IntegratorName = None,
    step: options.Step = None,
    settings: options.Settings = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="All settings as .csv, or a figure .png, .svg or .pdf: heat map and the best run; repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
    width: Width = None,
    height: Height = None,
    font: Font = None,
    dpi: Dpi = None,
) -> None:
    """Search gains and other numbers of a controlled arm for the smallest error."""
    given = dict(locals())
    import hil
    from hil.control.experiment import experiment_text
    from hil.control.search import Grid, axis_of, check_grid
    from hil.control.store import BEST
    from hil.workbench.search_files import is_figure, require_files, write_search

    arm = hil.load_robot(robot)
    experiment = options.experiment_of(arm, robot, settings, given)
    arm = options.arm_for(arm, experiment)
    grid = Grid(experiment=experiment, axes=tuple(axis_of(text, arm.model) for text in vary or ()))
    check_grid(grid, arm.model)
    files = output or []
    require_files(files)
    drawn = any(is_figure(file) for file in files)
    figures = figure_options(width, height, font, dpi, needed_by="-o with a figure", drawn=drawn)
    kept = folder or Path(f"tune-{arm.model.id}")
    if optimise is not None:
        found = _optimised(grid, arm, optimise, experiment.seed, kept, again=again)
    else:
        found = _searched(grid, arm, kept, cluster, cores, again=again)
    best = _runs(arm, found)
    if best:
        (kept / BEST).write_text(experiment_text(best[-1].experiment), encoding="utf-8")
    if as_json:
        from hil.lessons.tuning import search_report

        print_json(search_report(found, best, pareto=pareto))
    else:
        _tell(arm, found, best, kept / BEST, pareto=pareto)
    for file in files:
        write_search(file, arm, found, best, figures)
        if not as_json:
            print(file)
    if not best:
        raise typer.Exit(1)


def _searched(grid: Grid, arm: Robot, folder: Path, cluster: str | None, cores: int | None, *, again: bool) -> Found:
    """Every setting of the grid, or what is still missing of it."""
    from hil.clock import monotonic_s
    from hil.control.crew import crew_of
    from hil.control.store import Store
    from hil.control.tuning import search, worth_compiling

    store = Store(folder, grid, again=again)
    compiled = worth_compiling(grid, arm.model)
    crew = crew_of(grid, arm.model, compiled=compiled, cluster=cluster, cores=cores)
    try:
        with progress(f"settings, {crew.words}", grid.count) as told:
            search(store, arm.model, crew, compiled=compiled, told=told, clock=monotonic_s)
    except BaseException as end:
        kept = f"{store.found.done} of {grid.count} settings are kept in {folder}: the same command goes on from there"
        if isinstance(end, KeyboardInterrupt):
            complain(kept)
        raise
    return store.found


def _optimised(grid: Grid, arm: Robot, runs: int, seed: int, folder: Path, *, again: bool) -> Found:
    from hil.control.generations import Generations
    from hil.control.optimise import optimise

    kept = Generations(folder, grid, seed, again=again)
    try:
        with progress("runs", runs) as told:
            return optimise(grid, arm.model, runs, seed, told, kept)
    except KeyboardInterrupt:
        complain(f"{kept.done} runs are kept in {folder}: the same command goes on from there")
        raise


def _runs(arm: Robot, found: Found) -> list[BestRun]:
    """The base experiment and the best setting, run once more and in full; empty if none is stable."""
    from hil.control.best import best_runs

    return best_runs(arm, found)


def _tell(arm: Robot, found: Found, best: Sequence[BestRun], kept: Path, *, pareto: bool) -> None:
    from hil.control.search import MEASURES
    from hil.lessons.tuning import SHOWN

    unit = "times s" if found.grid.rates_vary else "summed over ticks"
    columns = [*(axis.title for axis in found.grid.axes), f"cost, {unit}", "largest error", "torque rms", "at limit"]

    def rows(numbers: Sequence[int]) -> Iterator[list[str]]:
        for k, values in zip(numbers, found.values(numbers).tolist(), strict=True):
            measured = dict(zip(MEASURES, found.table[k].tolist(), strict=True))
            yield [
                *(f"{value:.6g}" for value in values),
                f"{found.costs[k]:.6g}",
                f"{measured['largest_error'] / DEG:.3g} deg",
                f"{measured['torque_rms']:.4g} N m",
                f"{measured['at_limit']:.0%}",
            ]

    out = console()
    if not best:
        out.print(f"all {found.done} settings are unstable: smaller gains, a quicker rate, or wider bounds may help")
        return
    print_table(f"{arm.model.title}: the best of {found.done} settings", columns, rows(found.best(SHOWN)))
    if found.unstable:
        out.print(f"{found.unstable} settings were unstable: they cost infinity")
    if len(found.ties()) > 1:
        out.print(f"{len(found.ties())} settings share the smallest cost: the first is taken")
    if pareto:
        print_table("what no other setting beats in both error and torque", columns, rows(found.pareto()))
    print_table(
        "before and after",
        ["", "cost", "largest error of the tool", "tool at the end", "largest torque"],
        (
            [
                run.name,
                "unstable" if run.summary.cost_s is None else f"{run.summary.cost_s:.5g} s",
                f"{run.summary.tool_largest_mm:.3g} mm",
                f"{run.summary.tool_end_mm:.3g} mm",
                f"{max(joint.largest_torque for joint in run.summary.joints):.4g} N m",
            ]
            for run in best
        ),
    )
    out.print(f"the best as settings: {kept} (hil simulate {arm.model.id} --settings {kept})", soft_wrap=True)
    if best[-1].summary.estimated:
        out.print(best[-1].summary.estimated)
