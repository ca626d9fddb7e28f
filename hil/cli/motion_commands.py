"""hil preview, run, park, demo: the commands around motion. A real port needs --hardware; the first line says which."""

from __future__ import annotations

import importlib.util
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._figure_options import Dpi, Font, Height, Width, figure_options
from hil.cli._names import RigName, TaskName
from hil.cli._verdict import All, show_preview
from hil.cli.arms import AsJson
from hil.cli.output import complain, print_json, print_table
from hil.units import DEG, MM

if TYPE_CHECKING:
    from hil.figures.options import FigureOptions
    from hil.model.rig import Axis, Rig
    from hil.motion.motion import Motion
    from hil.runtime.host import Host, StartFake
    from hil.runtime.preview import PreviewReport
    from hil.runtime.report import Timing
    from hil.safety.certificate import Certificate
    from hil.types import JointState, Mode, TickRecord

Hardware = Annotated[bool, typer.Option("--hardware", help="Move a real arm. Without it: a fake controller.")]
Port = Annotated[str | None, typer.Option(help="Port to use with --hardware instead of the rig's own.")]
Journal = Annotated[Path | None, typer.Option(help="Journal file to write instead of one in the usual folder.")]
ConfirmedBy = Annotated[
    str | None,
    typer.Option(
        "--pose-confirmed-by",
        metavar="NAME",
        help="Who has looked: the limp arm is in its park pose, its servo supply is on and was not cut since its "
        "controller drives it; asked if not given.",
    ),
]

_CUT = "cut"
"""Instead of a name: the servo supply was cut."""


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(preview)
    app.command()(run)
    app.command()(park)
    app.command()(demo)


def preview(
    rig: RigName,
    task: TaskName,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the certificate here.")] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw what was refused, or the whole motion: a name ending in .png, .svg or .pdf."),
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(metavar="CSV", help="Write every sample: step, joints, and where the tool is.")
    ] = None,
    every: All = False,
    as_json: AsJson = False,
    width: Width = None,
    height: Height = None,
    font: Font = None,
    dpi: Dpi = None,
) -> None:
    """Plan a task and check every sample; then stream it to the fake controller on a virtual clock."""
    from hil.errors import CommandError

    options = figure_options(width, height, font, dpi, needed_by="--plot FILE", drawn=picture is not None)
    if trace is not None and trace.exists():
        raise CommandError(f"--trace: {trace} exists already, and no trace is overwritten; name another file")
    set_up, motion = _plan(rig, task) if picture is None else _plan_for_picture(rig, task, picture, options)
    if trace is not None:
        from hil.motion.motion_table import to_csv

        # Before it is judged: of a motion that is refused the samples show where.
        trace.write_text(to_csv(set_up, motion), encoding="utf-8")
        complain(f"trace of {len(motion.samples)} samples written to {trace}")
    report = _preview(set_up, motion)
    if picture is not None:
        _draw_preview(set_up, motion, report, picture, options)
    if as_json:
        print_json({"ok": report.ok, "refusals": report.refusals, "margins": report.worst_margins,
                    "changes": _changes(motion),
                    "duration_s": report.duration_s, "samples": report.samples, "wire_bytes": len(report.wire_bytes),
                    "certificate": report.certificate})  # fmt: skip
    else:
        _tell_changes(motion)
        show_preview(set_up, report, every=every)
    if report.certificate is None:
        raise typer.Exit(1)
    if output is not None:
        output.write_bytes(report.certificate.to_bytes())
        if not as_json:
            print(f"certificate written to {output}")


def run(
    rig: RigName,
    task: TaskName,
    certificate: Annotated[Path | None, typer.Option(help="Send only what this certificate covers.")] = None,
    hardware: Hardware = False,
    port: Port = None,
    confirmed_by: ConfirmedBy = None,
    journal: Journal = None,
    every: All = False,
) -> None:
    """Preview a task and stream it, to the fake unless --hardware is given."""
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    url = announce(set_up, hardware, port)
    file = journal_file(set_up, journal)
    motion = _planned(set_up, task)
    granted = _certificate(set_up, motion, certificate, every)
    _stream(set_up, motion, granted, url=url, confirmed_by=confirmed_by, journal=file)


def park(
    rig: RigName,
    hardware: Hardware = False,
    port: Port = None,
    confirmed_by: ConfirmedBy = None,
    journal: Journal = None,
) -> None:
    """Bring the arm to its park pose through the checked path, from wherever the controller holds it."""
    from hil.runtime.host import Host
    from hil.runtime.wiring import load_rig
    from hil.types import Mode

    set_up = load_rig(rig)
    url = announce(set_up, hardware, port)
    file = journal_file(set_up, journal)
    with Host(set_up, url=url, journal=file, command=command_line(), say=complain) as host:
        host.connect(voucher(set_up, url, confirmed_by, host.events))
        pass_on_remarks(host)
        mode = to_park(host)
    if mode is not Mode.IDLE:
        complain(f"{set_up.id}: not parked; {_last_stop(host.events)}")
    parked = mode is Mode.IDLE
    close_with(host, "parked" if parked else "not parked", done=parked)


def to_park(host: Host) -> Mode:
    """Bring a connected arm to its park pose through the checked path; gives the mode in which that ended.

    Raises:
        RefusedError: the way there is refused.
    """
    from hil.motion.planner import plan_joint_move
    from hil.refusal import RefusedError
    from hil.runtime.preview import preview
    from hil.runtime.remedies import bring_to_park

    assert host.last is not None
    rig, here = host.rig, host.last.setpoint

    def planned() -> tuple[Motion, PreviewReport]:
        motion = plan_joint_move(rig, here, rig.park)
        return motion, preview(rig, motion)

    motion, report = host.meanwhile(planned, "the preview took too long; nothing was sent")
    if report.certificate is None:
        remedy = bring_to_park(host.last.reported)
        raise RefusedError(report.refusals, f"the way to the park pose is refused; jog the arm out. {remedy}")
    return host.run(motion, report.certificate)


def demo(
    rig: Annotated[str, typer.Option(help="Rig to show.")] = "lynx6",
    task: Annotated[str, typer.Option(help="Task to run.")] = "pick-and-place",
    headless: Annotated[bool, typer.Option("--headless", help="Open no window, whatever the machine has.")] = False,
) -> None:
    """The main job on the built-in fake: plan, preview, stream in real time, report."""
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    announce(set_up, hardware=False, port=None)
    file = journal_file(set_up, None)
    motion = _planned(set_up, task)
    report = _preview(set_up, motion)
    _tell_changes(motion)
    show_preview(set_up, report)
    if report.certificate is None:
        raise typer.Exit(1)
    _stream(set_up, motion, report.certificate, url=None, confirmed_by=None, journal=file)
    _say_what_comes_next(set_up.id)


def _say_what_comes_next(rig: str) -> None:
    hil = "hil" if shutil.which("hil") else sys.argv[0]
    page = (f"{hil} serve --demo 1 --browser", "a virtual arm on a page of your browser")
    if importlib.util.find_spec("aiohttp") is None:
        page = ("pip install 'hil-arm-bridge[service]'", f"then {page[0]}: {page[1]}")
    steps = (
        (f"{hil} jog {rig}", "lead it with keys: one press, one step"),
        page,
        (f"{hil} --help", "everything else; any robot will do in place of the rig"),
    )
    width = max(len(command) for command, _ in steps)
    print("\nnext:")
    for command, what in steps:
        print(f"  {command:{width}}   {what}")


# -- the steps -------------------------------------------------------------------------------------------


def _plan(rig: str, task: str) -> tuple[Rig, Motion]:
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    return set_up, _planned(set_up, task)


def _planned(rig: Rig, task: str) -> Motion:
    """The motion of a task; where it is refused, also what looks like another unit in it.

    Raises:
        ConfigError, RefusedError: it cannot be planned.
    """
    from hil.model.files import find
    from hil.motion.planner import plan
    from hil.motion.tasks import load_task
    from hil.motion.unit_hints import task_hints
    from hil.refusal import RefusedError

    try:
        return plan(rig, task)
    except RefusedError:
        for words in task_hints(load_task(find("tasks", task))):
            complain(words)
        raise


def _plan_for_picture(rig: str, task: str, picture: Path, options: FigureOptions) -> tuple[Rig, Motion]:
    """Plan, and draw what can be drawn of a task that cannot be planned."""
    from hil.errors import ConfigError
    from hil.figures.options import require_target
    from hil.model.files import find
    from hil.motion.tasks import load_task
    from hil.refusal import RefusedError
    from hil.robot import Robot
    from hil.runtime.wiring import load_rig
    from hil.workbench.pictures import draw_unplanned

    require_target(picture)
    try:
        return _plan(rig, task)
    except ConfigError:
        complain("no picture: there is no motion to draw before this is mended:")
        raise
    except RefusedError:
        set_up = load_rig(rig)
        draw_unplanned(set_up, Robot(set_up.robot), load_task(find("tasks", task)), picture, options)
        complain(f"picture of the step that cannot be planned: {picture}")
        raise


def _draw_preview(rig: Rig, motion: Motion, report: PreviewReport, picture: Path, options: FigureOptions) -> None:
    from hil.robot import Robot
    from hil.workbench.pictures import draw_preview

    draw_preview(rig, Robot(rig.robot), motion, report.refusals, picture, options)
    complain(f"picture: {picture}")


def _tell_changes(motion: Motion) -> None:
    """Where the arm rests on a path for another posture: nobody looks for that in the middle of a step."""
    for words in _changes(motion):
        print(words)


def _changes(motion: Motion) -> list[str]:
    from hil.motion.posture_change import changes_of

    return changes_of(motion)


def _preview(rig: Rig, motion: Motion) -> PreviewReport:
    from hil.runtime.preview import preview as check_and_rehearse

    return check_and_rehearse(rig, motion)


def _certificate(rig: Rig, motion: Motion, file: Path | None, every: bool) -> Certificate:
    """The certificate to send under: the given one if it fits, else a fresh preview's."""
    from hil.refusal import RefusedError
    from hil.safety.certificate import Certificate, verify
    from hil.version import software_version

    if file is not None:
        try:
            granted = Certificate.from_bytes(file.read_bytes())
        except OSError as error:
            complain(f"{file}: the certificate cannot be read: {error.strerror}")
            raise typer.Exit(1) from None
        verify(granted, rig, motion, time.time(), version=software_version())
        return granted
    report = _preview(rig, motion)
    _tell_changes(motion)
    show_preview(rig, report, every=every)
    if report.certificate is None:
        raise RefusedError(report.refusals, "nothing is sent")
    return report.certificate


def announce(rig: Rig, hardware: bool, port: str | None) -> str | None:
    """As `say_which`; refuses a real port that may not lead to the arm that the rig was calibrated for."""
    from hil.runtime.port_wiring import check_arm

    url = say_which(rig, hardware, port)
    if url is not None:
        check_arm(rig, url)
    return url


def say_which(rig: Rig, hardware: bool, port: str | None) -> str | None:
    """Print what will move, FAKE or REAL, and return the real port's URL or None for the fake."""
    url = port_of(rig, hardware, port)
    if url is None:
        print(f"FAKE {rig.controller.kind}: {rig.title} ({rig.id}); no real port is touched", flush=True)
        if rig.defaults:
            complain(
                f"{rig.id} has no rig of its own: {len(rig.defaults)} defaults; `hil check {_as_given(rig)}` names them"
            )
    else:
        print(f"REAL {rig.controller.kind} at {url}: {rig.title} ({rig.id})", flush=True)
    return url


def _as_given(rig: Rig) -> str:
    """What `hil check` takes for a robot."""
    from hil.model.files import list_names

    return rig.id if rig.id in list_names("robots") else rig.file


def port_of(rig: Rig, hardware: bool, port: str | None) -> str | None:
    """The real port's URL, or None for the fake."""
    from hil.runtime.port_wiring import require_hardware

    if hardware:
        require_hardware(rig)
        return port or rig.controller.port_url
    if port is not None:
        raise typer.BadParameter("--port names a real port and needs --hardware; without it a fake is used")
    return None


def voucher(
    rig: Rig, url: str | None, confirmed_by: str | None, said: Sequence[str]
) -> Callable[[JointState | None], str]:
    """Who vouches for the pose: the wiring for its own fake, a person for anything else.

    Args:
        rig: which arm.
        url: its real port; None for the fake.
        confirmed_by: who, if that was said beforehand.
        said: events of the connection, read when it is asked; warnings among them are for whoever confirms.
    """
    from hil.errors import InterlockError
    from hil.runtime.remedies import SWITCH_ON

    def wiring(reported: JointState | None) -> str:
        return "the wiring, which placed its own fake in the park pose"

    def person(reported: JointState | None) -> str:
        for warning in (event for event in said if event.startswith("WARNING")):
            print(warning)
        driven = reported.positions if reported is not None else (None,) * len(rig.axes)
        limp = [(axis, axis.park) for axis, value in zip(rig.axes, driven, strict=True) if value is None]
        held = [(axis, value) for axis, value in zip(rig.axes, driven, strict=True) if value is not None]
        if held:
            if reported is not None and reported.source.of_arm:
                print(f"The controller measures {_pose(held)}: these axes stay where they are.")
            else:
                print(
                    f"The controller already drives {_pose(held)}: these axes stay where they are, if their servos "
                    "have had power all the while; else they go there at full speed."
                )
                print(f"If the servo supply was cut meanwhile, or may have been, answer {_CUT}.")
        if limp:
            print(f"It cannot know where the axes that it does not drive are. Their park pose: {_pose(limp)}.")
            print("They will be driven one by one at this pose, and jump to it at full speed if they are elsewhere.")
            if reported is None or not reported.source.of_arm:
                print(f"{SWITCH_ON}.")
        if confirmed_by is not None:
            return confirmed_by
        if not sys.stdin.isatty():
            raise InterlockError(
                "nobody has confirmed the pose: run this at a terminal, or give --pose-confirmed-by NAME",
                ["confirmed pose"],
            )
        try:
            name = input("Look at the arm. Your name confirms that this is so (empty to leave): ").strip()
        except (EOFError, OSError):  # the end of input, or the terminal was closed
            name = ""
        if name.lower() == _CUT:
            raise InterlockError(_note_cut(rig), ["servo supply"])
        if not name:
            raise InterlockError("the pose was not confirmed; nothing was sent", ["confirmed pose"])
        return name

    return wiring if url is None else person


def _note_cut(rig: Rig) -> str:
    """Whoever was asked for the pose says that the servo supply was cut: remember it."""
    import datetime

    from hil.model._supply_file import write_supply
    from hil.runtime.supply import WAY_BACK

    write_supply(rig.id, "who was asked for the pose", datetime.datetime.now().astimezone().isoformat("T", "seconds"))
    return f"the servo supply was cut; nothing was sent. {WAY_BACK}"


def _pose(axes: list[tuple[Axis, float]]) -> str:
    return ", ".join(f"{axis.name} {_in_unit(axis, value)}" for axis, value in axes)


def _stream(
    rig: Rig,
    motion: Motion,
    certificate: Certificate,
    *,
    url: str | None,
    confirmed_by: str | None,
    journal: Path,
) -> None:
    def alone(host: Host) -> Mode:
        return host.run(motion, certificate)

    stream(rig, alone, motion.duration_s, url=url, confirmed_by=confirmed_by, journal=journal)


def stream(
    rig: Rig,
    send: Callable[[Host], Mode],
    duration_s: float,
    *,
    url: str | None,
    confirmed_by: str | None,
    journal: Path,
    fake: StartFake | None = None,
) -> list[TickRecord]:
    """Connect, have the pose confirmed, send, and report.

    Args:
        rig: which arm.
        send: what to do with the connected arm; gives the mode in which it ended.
        duration_s: about how long that takes.
        url: real port, or None for the fake.
        confirmed_by: who vouches for the pose.
        journal: file to write.
        fake: gives the fake; None for one that is started for this alone.

    Returns:
        What was recorded.

    Raises:
        typer.Exit: it did not run to its end, or its journal is not complete; the reason was printed.
    """
    from hil.robot import Robot
    from hil.runtime.bare import measure_bare_loop
    from hil.runtime.host import Host
    from hil.runtime.path_report import paths_of_records, run_words
    from hil.runtime.report import timing_of, tracking
    from hil.types import Mode

    records: list[TickRecord] = []
    with Host(
        rig,
        url=url,
        journal=journal,
        command=command_line(),
        on_record=records.append,
        fake=fake,
        say=complain,
    ) as host:
        try:
            host.connect(voucher(rig, url, confirmed_by, host.events))
            print(f"streaming {duration_s:.1f} s; Ctrl-C stops and holds", flush=True)
            mode = send(host)
        finally:
            for event in host.events:
                print(f"  {event}", flush=True)
    streamed = [record for record in records if record.sample is not None]
    sent_bytes = sum(len(record.written) for record in records)
    if streamed:
        _show_tracking(rig, tracking(rig, records))
        if on_path := list(paths_of_records(rig, Robot(rig.robot), records)):
            print(run_words(on_path))
    if mode is Mode.IDLE and streamed:
        bare = measure_bare_loop(rig.period_s, min(3.0, duration_s))
        _show_timing(timing_of(streamed), bare)
    if mode is not Mode.IDLE:
        complain(f"{rig.id}: the motion did not run to its end; {_last_stop(host.events)}")
    close_with(host, f"{sent_bytes} bytes sent", done=mode is Mode.IDLE)
    return records


def close_with(host: Host, words: str, *, done: bool) -> None:
    """Print the last lines: what a person does now, how the line was, and what has become of the journal.

    Raises:
        typer.Exit: it was not done, or the journal is not complete: no motion without one.
    """
    from hil.runtime.port_wiring import is_calibrated_by_hand
    from hil.runtime.remedies import switch_off

    end = host.journal_end()
    if host.real and is_calibrated_by_hand(host.rig):
        print(switch_off(host.rig.id))
    print(host.line_quality.text)
    print(f"{words}; {end.text}")
    if not end.complete:
        complain(f"{host.rig.id}: {end.text}")
    if not (done and end.complete):
        raise typer.Exit(1)


def pass_on_remarks(host: Host) -> None:
    """Print what the owner itself has to say, once."""
    while host.remarks:
        print(host.remarks.pop(0), flush=True)


def _last_stop(events: list[str]) -> str:
    """The event that says why motion ended: that we stood still, else the first reason after it began."""
    from hil.runtime.first_cause import why_it_ended
    from hil.runtime.starvation import STARVED

    suspended = next((event for event in events if event.startswith("this program was suspended")), "")
    why = suspended or why_it_ended(events) or "see the events above"
    return "; ".join([why, *(event for event in events if event.startswith(STARVED))][:2])


def journal_file(rig: Rig, file: Path | None) -> Path:
    """The journal to write: the one asked for, else a new one in the usual folder.

    Raises:
        CommandError: the file exists.
        JournalError: no journal can be made there.
    """
    from hil.errors import CommandError, JournalError
    from hil.model.files import state_dir
    from hil.runtime.journal_file import require_room

    if file is None:
        folder = state_dir() / "journals"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(
                f"{folder}: no journal can be made here: {error.strerror}. Give --journal FILE, or set "
                "XDG_STATE_HOME to a folder of yours"
            ) from None
        file = folder / f"{rig.id}-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 10**6:06d}.mcap"
    if os.path.lexists(file):
        raise CommandError(f"--journal: {file} exists already, and no journal is overwritten; name another file")
    require_room(file)
    return file


def command_line() -> str:
    """What the user typed, for whoever finds the rig taken."""
    return " ".join(["hil", *sys.argv[1:]])


# -- the tables ------------------------------------------------------------------------------------------


def _in_unit(axis: Axis, value: float) -> str:
    return f"{value / DEG:z.2f} deg" if axis.kind.value == "revolute" else f"{value / MM:z.2f} mm"


def _show_tracking(rig: Rig, rows: Any) -> None:
    axes = {axis.name: axis for axis in rig.axes}

    def reported(row: Any) -> str:
        return "nothing reported" if row.worst_reported is None else _in_unit(axes[row.axis], row.worst_reported)

    print_table(
        "tracking: command against simulated arm, and against the controller's report",
        ["axis", "worst simulated", "rms simulated", "worst reported", "how reported"],
        (
            [
                row.axis,
                _in_unit(axes[row.axis], row.worst_simulated),
                _in_unit(axes[row.axis], row.rms_simulated),
                reported(row),
                row.source.name if row.source else "",
            ]
            for row in rows
        ),
    )


def _show_timing(loop: Timing, bare: Timing) -> None:
    from hil.runtime.report import HISTOGRAM_EDGES_S

    def share(timing: Timing, i: int) -> str:
        return f"{100.0 * timing.histogram[i] / timing.ticks:6.2f} %"

    rows = [
        [_between(low, high), share(loop, i), share(bare, i)]
        for i, (low, high) in enumerate(pairwise(HISTOGRAM_EDGES_S))
    ]
    for name, key in (
        ("median", "p50_s"),
        ("99th percentile", "p99_s"),
        ("worst", "worst_s"),
        ("work, median", "work_p50_s"),
    ):
        rows.append([name, *(f"{getattr(timing, key) * 1e6:.1f} us" for timing in (loop, bare))])
    rows.append(["missed deadlines", str(loop.overruns), str(bare.overruns)])
    rows.append(["ticks", str(loop.ticks), str(bare.ticks)])
    print_table("lateness of the loop's ticks, beside a bare loop's", ["lateness", "this loop", "bare loop"], rows)


def _between(low_s: float, high_s: float) -> str:
    return f"{low_s * 1e6:g} to {high_s * 1e6:g} us" if high_s < math.inf else f"over {low_s * 1e6:g} us"
