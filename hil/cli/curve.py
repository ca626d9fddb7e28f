"""hil curve: curves of formulas and words as strokes, what an arm reaches of them, and their samples for a real arm."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hil.cli._figure_options import Dpi, Font, Height, Width, figure_options
from hil.cli._names import names
from hil.cli.arms import AsJson
from hil.cli.output import complain, print_json, print_table
from hil.units import MM

if TYPE_CHECKING:
    from hil.kernels.scalar import FloatArray
    from hil.paths.curve_file import CurveFile, Family
    from hil.paths.curve_samples import CurveSamples
    from hil.paths.reach import Nearest, Reach
    from hil.robot import Robot

DT_S = 0.05


class Shown(NamedTuple):
    """What is shown: a curve's samples, or those that were read back.

    Attributes:
        title: of the curve.
        source: where it is from.
        family: which curve of how many; None where there is one.
        points_m: shape (N, 3).
        gap_m: from its start to its end.
        drawn: what else there is to say; empty for a curve of formulas.
        samples: as they were read back; None where they are not from a table.
    """

    title: str
    source: str
    family: Family | None
    points_m: FloatArray
    gap_m: float
    drawn: str
    samples: CurveSamples | None = None


class By(StrEnum):
    """How a curve is brought within reach."""

    SHIFT = "shift"
    TURN = "turn"
    SCALE = "scale"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(curve)


def curve(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="CURVE",
            autocompletion=names("curves"),
            help="Curve's name or file (.toml), or samples (.csv); without it, what curves there are.",
        ),
    ] = None,
    robot: Annotated[
        str | None,
        typer.Argument(autocompletion=names("robots"), help="What this robot reaches of it; name or file."),
    ] = None,
    index: Annotated[int | None, typer.Option(metavar="I", help="Another curve of its family, from 1.")] = None,
    samples: Annotated[int | None, typer.Option(metavar="N", help="How many samples, both ends included.")] = None,
    even: Annotated[
        bool, typer.Option("--even", help="Samples at equal lengths: with a fixed time step the speed is constant.")
    ] = False,
    nearest: Annotated[
        By | None, typer.Option(help="Look for the nearest place at which the robot reaches all of it.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write the samples, with joint positions if a robot is given."),
    ] = None,
    dt: Annotated[
        float | None, typer.Option("--dt", metavar="S", help="With --csv: time step; 0.05 without it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", "--plot", metavar="FILE", help="A figure: .png, .svg or .pdf.")
    ] = None,
    as_json: AsJson = False,
    width: Width = None,
    height: Height = None,
    font: Font = None,
    dpi: Dpi = None,
) -> None:
    """Show a curve, check what a robot reaches of it, write its samples. 1 if the robot does not reach all of it."""
    options = figure_options(width, height, font, dpi, needed_by="-o", drawn=output is not None)
    if output is not None:
        from hil.figures.options import require_target

        require_target(output)
    if csv is not None:
        from hil.cli._new_file import refuse_existing

        refuse_existing(csv)
    if dt is not None and csv is None:
        raise typer.BadParameter("this belongs to --csv", param_hint="--dt")
    if name is None:
        _list(as_json=as_json)
        return
    shown = _samples(name, index, samples, even=even)
    arm, reach = None, None
    if robot is not None:
        import hil
        from hil.paths.reach import reach_of

        arm = hil.load_robot(robot)
        if shown.samples is not None:
            from hil.paths.curve_samples import check_joints

            check_joints(shown.samples, arm, name)
        reach = reach_of(arm, shown.points_m)
    elif nearest is not None:
        raise typer.BadParameter("this needs a robot behind the curve", param_hint="--nearest")
    found = _nearest(arm, shown.points_m, nearest) if arm is not None and nearest is not None else None
    if as_json:
        print_json(_plain(shown, arm, reach, found))
    else:
        _show(shown, arm, reach)
        if arm is not None and nearest is not None:
            _show_nearest(arm, found, nearest)
    if output is not None:
        from hil.workbench.curve_pictures import draw_curve

        reached = None if reach is None else reach.reached
        name_of_arm = "" if arm is None else arm.name
        words = _reach_words(arm, reach) if arm is not None and reach is not None else _words(shown)
        draw_curve(shown.title, shown.points_m, reached, words, output, arm=name_of_arm, options=options)
        _say(str(output), as_json)
    if reach is not None and arm is not None and reach.first_outside is not None:
        complain(_outside_words(arm, reach, shown.points_m))
        raise typer.Exit(1)
    if csv is not None:
        _write(csv, shown, arm, reach, DT_S if dt is None else dt)
        _say(f"{csv}: {len(shown.points_m)} samples", as_json)


def _list(*, as_json: bool) -> None:
    from hil.model.files import find, list_names
    from hil.paths.curve_file import load_curve

    curves = [(name, load_curve(find("curves", name))) for name in list_names("curves")]
    if as_json:
        print_json([{"name": name, "title": curve.title, "source": curve.source} for name, curve in curves])
        return
    print_table("", ["curve", "title", "in family"], (
        [name, curve.title, "" if curve.family is None else str(curve.family.count)] for name, curve in curves
    ))  # fmt: skip


def _samples(name: str, index: int | None, samples: int | None, *, even: bool) -> Shown:
    if not name.lower().endswith(".csv"):
        return _read(name, index, samples, even=even)
    given = {"--index": index is not None, "--samples": samples is not None, "--even": even}
    if any(given.values()):
        stray = ", ".join(option for option, is_given in given.items() if is_given)
        raise typer.BadParameter("samples are read as they are", param_hint=stray)
    return _read_csv(name)


def _read(name: str, index: int | None, samples: int | None, *, even: bool) -> Shown:
    from hil.model.files import find
    from hil.paths.curve_file import load_curve

    read = load_curve(find("curves", name), index=index)
    points_m = read.points_m(samples, even=even)
    return Shown(read.title, read.source, read.family, points_m, read.closure_gap_m, _drawn(read))


def _drawn(read: CurveFile) -> str:
    """A word's strokes in words."""
    if len(read.pieces) == 1:
        return ""
    lifts = sum(not piece.pen_down for piece in read.pieces)
    return f"{len(read.pieces) - lifts} lines and arcs, the pen is lifted {lifts // 3} times"


def _read_csv(name: str) -> Shown:
    import numpy as np

    from hil.paths.curve_samples import read_samples

    read: CurveSamples = read_samples(name)
    points_m = MM * read.points_mm
    robot = f", for {read.head.robot}" if read.head.robot else ""
    gap_m = float(np.linalg.norm(points_m[-1] - points_m[0]))
    return Shown(read.head.title, name, None, points_m, gap_m, f"samples every {read.head.dt_s:g} s{robot}", read)


def _show(shown: Shown, arm: Robot | None, reach: Reach | None) -> None:
    print(shown.title)
    if shown.source:
        print(shown.source)
    family = shown.family
    if family is not None:
        value = f"{family.value:.6g} {family.unit}".rstrip()
        print(f"curve {family.index} of {family.count}, {family.name} = {value}")
    if shown.drawn:
        print(shown.drawn)
    print(_words(shown))
    points_mm = shown.points_m / MM
    told = (points_mm[0], points_mm[-1], points_mm.min(axis=0), points_mm.max(axis=0))
    rows = [[axis, *(f"{row[k]:z.2f}" for row in told)] for k, axis in enumerate("xyz")]
    print_table("", ["mm", "start", "end", "least", "most"], rows)
    if arm is not None and reach is not None:
        print(_reach_words(arm, reach))


def _words(shown: Shown) -> str:
    from hil.paths.curves import CLOSED_M, length_m

    gap_m = shown.gap_m
    ends = "closed" if gap_m <= CLOSED_M else f"not closed: its end is {gap_m / MM:.2f} mm from its start"
    return f"{len(shown.points_m)} samples, {length_m(shown.points_m) / MM:.1f} mm long, {ends}"


def _reach_words(arm: Robot, reach: Reach) -> str:
    count, total = sum(reach.reached), len(reach.reached)
    words = f"{arm.name} reaches {count} of {total} samples, {100 * reach.share:.0f} %"
    of_lengths = sum(reach.gaps_m <= 0.0)
    return (
        words
        if of_lengths == count
        else f"{words}; by its lengths alone {of_lengths}, {100 * of_lengths / total:.0f} %"
    )


def _outside_words(arm: Robot, reach: Reach, points_m: FloatArray) -> str:
    first = reach.first_outside
    assert first is not None
    x, y, z = (float(value) for value in points_m[first] / MM)
    return f"{arm.name}: sample {first + 1} at {x:.1f}, {y:.1f}, {z:.1f} mm: {reach.reasons[first]}"


def _nearest(arm: Robot, points_m: FloatArray, by: By) -> Nearest | None:
    from hil.paths import reach

    return {By.SHIFT: reach.nearest_shift, By.TURN: reach.nearest_turn, By.SCALE: reach.nearest_scale}[by](
        arm, points_m
    )


def _show_nearest(arm: Robot, found: Nearest | None, by: By) -> None:
    if found is None:
        other = {By.SHIFT: "scale", By.TURN: "shift", By.SCALE: "another curve"}[by]
        advice = "Try another curve" if by is By.SCALE else f"Try --nearest {other}"
        print(f"no {by.value} found with which {arm.name} reaches all of it. {advice}")
        return
    x, y, z = (float(value) / MM for value in found.shift_m)
    parts = [f"shift by {x:z.1f}, {y:z.1f}, {z:z.1f} mm"]
    if found.turn_deg:
        parts = [f"turn by {found.turn_deg:g} deg about the vertical through its middle"]
    if found.scale != 1.0:
        parts.insert(0, f"scale by {found.scale:.3f} about its middle")
    why = "" if found.of_lengths_alone or by is By.TURN else "; limits of joints ask for more than lengths"
    print(f"{arm.name} reaches all of it after: {', then '.join(parts)}{why}")


def _plain(shown: Shown, arm: Robot | None, reach: Reach | None, found: Nearest | None) -> dict[str, Any]:
    plain = {
        "title": shown.title,
        "source": shown.source,
        "family": shown.family,
        "closure_gap_mm": shown.gap_m / MM,
        "points_mm": (shown.points_m / MM).tolist(),
    }
    if arm is not None and reach is not None:
        plain["robot"] = arm.name
        plain["share"], plain["share_of_lengths"] = reach.share, reach.share_of_lengths
        plain["reasons"] = reach.reasons
    if found is not None:
        plain["nearest"] = {
            "shift_mm": (found.shift_m / MM).tolist(),
            "turn_deg": found.turn_deg,
            "scale": found.scale,
        }
    return plain


def _write(file: Path, shown: Shown, arm: Robot | None, reach: Reach | None, dt_s: float) -> None:
    import numpy as np

    from hil.cli._new_file import write_new
    from hil.errors import CommandError
    from hil.paths.curve_samples import CurveSamples, SamplesHead, joint_columns, samples_text

    if not 0.0 < dt_s <= 60.0:
        allowed = "more than 0, up to 60 s"
        raise CommandError(f"--dt {dt_s:g}; allowed: {allowed}", value=dt_s, allowed=allowed)
    joints: tuple[str, ...] = ()
    positions = np.empty((len(shown.points_m), 0))
    if arm is not None and reach is not None:
        joints, units = joint_columns(arm.model)
        positions = reach.q / units
    head = SamplesHead(title=shown.title, robot="" if arm is None else arm.name, dt_s=dt_s)
    write_new(file, samples_text(CurveSamples(head, shown.points_m / MM, joints, positions)))


def _say(words: str, as_json: bool) -> None:
    """On standard error where standard output is for a program."""
    if as_json:
        complain(words)
    else:
        print(words)
