"""A simulated run as files: columns, a page of its own, a journal; the settings stand beside or in each."""

from __future__ import annotations

import html
import io
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from hil.clock import monotonic_s
from hil.control.experiment import Experiment, experiment_text
from hil.control.results import Trace
from hil.control.summary import RunSummary
from hil.errors import CommandError, HilError
from hil.figures.options import ENDINGS as FIGURES
from hil.figures.options import FigureOptions, require_target, require_writable
from hil.kernels.scalar import FloatArray
from hil.lessons.dynamics import run_columns
from hil.robot import Robot
from hil.runtime.journal import EndKind, JournalWriter
from hil.runtime.wiring import load_rig, session_record
from hil.types import JointCommand, JointState, Mode, StateSource, TickRecord
from hil.workbench.control_pictures import draw_run, svg_of_run
from hil.workbench.workspace_files import whole_file

ENDINGS = (*FIGURES, ".html", ".csv", ".mcap", ".json")


def require_files(files: Sequence[Path]) -> None:
    """Refuse what could not be written, before anything is worked out.

    Raises:
        CommandError: an ending that is not known, or a journal that is there.
        HilError: a folder that is not there or not writable, or matplotlib is missing.
    """
    for file in files:
        ending = file.suffix.lower()
        if ending not in ENDINGS:
            allowed = f"a name that ends in {', '.join(ENDINGS)}"
            raise CommandError(f"{file} given; allowed: {allowed}", value=file, allowed=allowed)
        if ending in FIGURES or ending == ".html":
            require_target(file if ending in FIGURES else file.with_suffix(".svg"))
        if ending == ".mcap" and file.exists():
            raise CommandError(f"{file} is there; allowed: a new name: journals are never overwritten", value=file)
        if not file.parent.is_dir():
            raise HilError(f"{file}: there is no folder {file.parent}")
        require_writable(file.parent, f"{file} cannot be written")


def write_run(
    file: Path, robot: Robot, experiment: Experiment, trace: Trace, summary: RunSummary, options: FigureOptions
) -> None:
    """Write a run by the file's ending; beside what cannot hold them, the settings as .json."""
    ending = file.suffix.lower()
    if ending == ".json":
        _write_text(file, experiment_text(experiment))
        return
    if ending == ".html":
        _write_text(file, page(robot, experiment, trace, summary, options))
        return
    if ending == ".mcap":
        write_journal(file, robot, experiment, trace)
        return
    if ending == ".csv":
        with whole_file(file, 0) as part:
            for line in csv_lines(robot, trace):
                part.write(line.encode())
    else:
        draw_run(file, robot, trace, summary, options)
    _write_text(file.with_suffix(".json"), experiment_text(experiment))


def write_columns(file: Path, names: Sequence[str], columns: FloatArray) -> None:
    """A table with a head.

    Raises:
        HilError: it cannot be written.
    """
    with whole_file(file, 0) as part:
        for line in _table_lines(names, columns):
            part.write(line.encode())


def csv_lines(robot: Robot, trace: Trace) -> Iterator[str]:
    """A head and a line for each tick: degrees, millimetres, N m."""
    return _table_lines(*run_columns(robot, trace))


def _table_lines(names: Sequence[str], columns: FloatArray) -> Iterator[str]:
    yield ",".join(names) + "\n"
    for row in columns.tolist():
        yield ",".join(f"{value:.9g}" for value in row) + "\n"


def write_journal(file: Path, robot: Robot, experiment: Experiment, trace: Trace) -> None:
    """The run as a journal: wanted positions as commands, the arm as the simulated one, encoders as reports.

    Raises:
        JournalError: the file exists or cannot be made.
    """
    rig = load_rig(robot.model.file)
    session = session_record(rig, url="simulation", fake=True)
    settings = {**session.settings, "experiment": msgspec.to_builtins(experiment)}
    began = monotonic_s()
    span = float(trace.time_s[-1])
    session = msgspec.structs.replace(
        session, settings=settings, start_monotonic_s=began, start_epoch_s=time.time() - span
    )
    with JournalWriter(file, session) as journal:
        for tick, t in enumerate((trace.time_s + began).tolist()):
            wanted = tuple(trace.wanted[tick].tolist())
            command = JointCommand(seq=tick, due_s=t, positions=wanted)
            seen = tuple(trace.measured[tick].tolist())
            journal.tick(
                TickRecord(
                    tick=tick,
                    t_s=t,
                    late_s=0.0,
                    work_s=0.0,
                    missed=0,
                    mode=Mode.STREAMING,
                    sample=tick,
                    wanted=command,
                    sent=command,
                    simulated=JointState(
                        t_s=t, positions=tuple(trace.actual[tick].tolist()), source=StateSource.SIMULATED
                    ),
                    setpoint=wanted,
                    reported=JointState(t_s=t, positions=seen, source=StateSource.SIMULATED),
                    received=b"",
                    written=b"",
                    events=("a simulation by hil simulate: no bridge and no driver",) if tick == 0 else (),
                )
            )
        journal.end(EndKind.CLOSED, "the simulation ended", began + span)


def page(robot: Robot, experiment: Experiment, trace: Trace, summary: RunSummary, options: FigureOptions) -> str:
    """One HTML page that needs nothing else: the numbers, the figure and the settings."""
    head = ["joint", "wanted", "actual", "largest error", "rms error", "largest speed", "largest torque", "at limit"]
    rows = [
        [
            joint.name,
            f"{joint.wanted:.3f} {joint.unit}",
            f"{joint.actual:.3f} {joint.unit}",
            f"{joint.largest_error:.4g} {joint.unit} at {joint.largest_error_s:.3f} s",
            f"{joint.rms_error:.4g} {joint.unit}",
            f"{joint.largest_speed:.1f} {joint.unit}/s",
            f"{joint.largest_torque:.3f} {'N m' if joint.unit == 'deg' else 'N'}",
            f"{joint.at_limit:.0%}",
        ]
        for joint in summary.joints
    ]
    notes = [
        f"tool: {summary.tool_largest_mm:.3g} mm off at most, {summary.tool_end_mm:.3g} mm at the end",
        "cost: unstable"
        if summary.cost_s is None
        else f"cost: {summary.cost:.6g}, times the tick {summary.cost_s:.6g} s",
        summary.unstable,
        summary.estimated,
    ]
    figure = svg_of_run(robot, trace, summary, options)
    title = html.escape(f"{robot.model.title}: simulated run")
    out = io.StringIO()
    out.write(f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n')
    out.write(f"<style>{_STYLE}</style></head><body>\n<h1>{title}</h1>\n<table><thead><tr>")
    out.write("".join(f'<th scope="col">{html.escape(name)}</th>' for name in head) + "</tr></thead><tbody>\n")
    for name, *cells in rows:
        out.write(
            f'<tr><th scope="row">{html.escape(name)}</th>' + "".join(f"<td>{html.escape(c)}</td>" for c in cells)
        )
        out.write("</tr>\n")
    out.write("</tbody></table>\n" + "".join(f"<p>{html.escape(note)}</p>\n" for note in notes if note))
    out.write(f"<figure>{figure}</figure>\n<h2>Settings</h2>\n<pre>{html.escape(experiment_text(experiment))}</pre>\n")
    out.write("</body></html>\n")
    return out.getvalue()


_STYLE = (
    "body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}th,td{padding:.25rem .6rem;border-bottom:1px solid #ccc;text-align:right}"
    "th[scope=row]{text-align:left}figure{margin:1rem 0}svg{max-width:100%;height:auto}"
    "pre{background:#f4f4f4;padding:1rem}"
)


def _write_text(file: Path, text: str) -> None:
    with whole_file(file, 0) as part:
        part.write(text.encode())
