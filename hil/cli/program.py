"""hil program: a MELFA-BASIC program, proved first, then streamed by the bridge or run by its controller."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from hil.cli._interruption import INTERRUPTED
from hil.cli._names import RigName, names
from hil.cli._verdict import All, show_preview
from hil.cli.motion_commands import (
    ConfirmedBy,
    Hardware,
    Journal,
    Port,
    announce,
    command_line,
    journal_file,
    stream,
)
from hil.cli.output import complain

if TYPE_CHECKING:
    from hil.cli._attention import Attention
    from hil.link import ProgramEnd, ProgramJob
    from hil.model.rig import Rig
    from hil.program.arm import ProgramArm
    from hil.program.parts import Part
    from hil.program.program_plan import ProgramPlan
    from hil.program.signals import Inputs
    from hil.program.structure import Program
    from hil.program.trace import TraceRow
    from hil.runtime.host import Host
    from hil.runtime.program_watch import WayWatch
    from hil.safety.certificate import Certificate
    from hil.types import Mode

On = Literal["bridge", "controller"]

_INPUT = re.compile(r"(?P<signal>\d{1,5})=(?P<value>[01])(?:@(?P<time>\d+(?:\.\d+)?))?")
_TEXT = re.compile(r"(?P<text>.+?)(?:@(?P<time>\d+(?:\.\d+)?))?", re.DOTALL)
_LINE_NUMBER = 1
"""Under which number of OPEN the assumed texts come."""


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(name="program")(run_a_program)


class Proved(NamedTuple):
    """A program with all that its preview gave."""

    rig: Rig
    program: Program
    library: Mapping[str, Program]
    inputs: Inputs
    arm: ProgramArm
    plan: ProgramPlan
    certificate: Certificate


def run_a_program(
    rig: RigName,
    program: Annotated[
        str,
        typer.Argument(
            autocompletion=names("programs"), help="Program's name or file; a .pos list beside it is read too."
        ),
    ],
    on: Annotated[
        On, typer.Option(help="Who runs it: the bridge streams its motion, or the controller itself.")
    ] = "bridge",
    step: Annotated[bool, typer.Option("--step", help="Pause before every line that takes time.")] = False,
    breaks: Annotated[list[int] | None, typer.Option("--break", metavar="LINE", help="Pause before this line.")] = None,
    trace: Annotated[Path | None, typer.Option(metavar="CSV", help="Write what the arm did here.")] = None,
    variables: Annotated[
        Path | None,
        typer.Option(metavar="CSV", help="Write every statement of the proof with the variables that it changed."),
    ] = None,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", metavar="N=V[@S]", help="Assume input N to be V from S seconds on.")
    ] = None,
    texts: Annotated[
        list[str] | None,
        typer.Option("--text", metavar="TEXT[@S]", help="Assume a line of text for INPUT after S seconds."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict/--loose", help="Only what IV spells, or also what V allows.")
    ] = False,
    only_preview: Annotated[
        bool, typer.Option("--preview", help="Prove it and write the trace; send nothing.")
    ] = False,
    hardware: Hardware = False,
    port: Port = None,
    confirmed_by: ConfirmedBy = None,
    journal: Journal = None,
    every: All = False,
) -> None:
    """Prove a program with the inputs assumed, and run it, on the fake unless --hardware is given.

    An input or an interrupt that then comes differently holds the arm.
    """
    from hil.errors import CommandError
    from hil.runtime.wiring import load_rig

    assumed = read_inputs(inputs or (), texts or ())
    for option, given in (("--trace", trace), ("--variables", variables)):
        if given is not None and given.exists():
            raise CommandError(f"{option}: {given} exists already, and no trace is overwritten; name another file")
    set_up = load_rig(rig)
    url = announce(set_up, hardware, port)
    file = None if only_preview or on == "controller" else journal_file(set_up, journal)
    proved = _prove(set_up, program, assumed, strict=strict, every=every, variables=variables)
    known = {line.number or line.row for line in proved.program.lines}
    for line in breaks or ():
        if line not in known:
            raise CommandError(f"--break: there is no line {line} in {proved.program.name}", value=line)
    code = 0
    if only_preview:
        rows: Sequence[TraceRow] = proved.plan.trace
    elif file is None:
        rows, code = _on_controller(proved, url, step=step, breaks=breaks or ())
    else:
        rows = _on_bridge(proved, url, confirmed_by, file, step=step, breaks=breaks or ())
    if trace is not None:
        from hil.program.trace import to_csv

        trace.write_text(to_csv(rows, proved.arm), encoding="utf-8")
        print(f"trace of {len(rows)} rows written to {trace}")
    if code:
        raise typer.Exit(code)


def read_inputs(inputs: Sequence[str], texts: Sequence[str]) -> Inputs:
    """What was typed behind --input and --text.

    Raises:
        CommandError: one of them cannot be read.
    """
    from hil.errors import CommandError
    from hil.program.signals import LARGEST_SIGNAL, InputChange, Inputs, TextArrives

    changes = []
    for typed in inputs:
        found = _INPUT.fullmatch(typed)
        if found is None or int(found["signal"]) > LARGEST_SIGNAL:
            raise CommandError(
                f"--input {typed!r} given; allowed: N=0 or N=1 with N up to {LARGEST_SIGNAL}, "
                "from S seconds on with @S, such as 8=1@2.5",
                value=typed,
            )
        at_s = float(found["time"] or 0.0)
        changes.append(InputChange(time_s=at_s, signal=int(found["signal"]), value=int(found["value"])))
    arriving = []
    for typed in texts:
        found = _TEXT.fullmatch(typed)
        if found is None:
            raise CommandError(f"--text {typed!r} given; allowed: a line of text, after S seconds with @S", value=typed)
        arriving.append(TextArrives(time_s=float(found["time"] or 0.0), number=_LINE_NUMBER, text=found["text"]))
    return Inputs(changes=tuple(changes), texts=tuple(arriving))


def _prove(rig: Rig, name: str, inputs: Inputs, *, strict: bool, every: bool, variables: Path | None = None) -> Proved:
    from hil.program import programs
    from hil.program.steps import StepRecorder, to_csv
    from hil.refusal import RefusedError
    from hil.runtime.preview import preview

    dialect = programs.Dialect.STRICT if strict else programs.Dialect.LOOSE
    program = programs.load_program(name, dialect)
    library = programs.load_library(program, dialect)
    arm = programs.arm_of(rig)
    steps = StepRecorder() if variables is not None else None
    try:
        plan = programs.plan_program(
            rig, program, inputs, start=rig.park[: len(arm.slots)], library=library, steps=steps
        )
    finally:
        # A program that is refused has its statements up to there: they show why.
        if variables is not None and steps is not None:
            variables.write_text(to_csv(steps.rows), encoding="utf-8")
            print(f"variables of {max((row.step for row in steps.rows), default=0)} statements written to {variables}")
    for notice in plan.notices:
        print(f"  {notice}")
    report = preview(rig, plan.motion)
    show_preview(rig, report, every=every)
    if report.certificate is None:
        raise RefusedError(report.refusals, "nothing is sent")
    print(f"program {program.name}, digest {plan.digest[:12]}: {_assumptions(plan)}")
    return Proved(rig, program, library, inputs, arm, plan, report.certificate)


def _assumptions(plan: ProgramPlan) -> str:
    signals = sorted({each.signal for each in plan.expected})
    if not signals and not plan.texts:
        return "it depends on nothing from outside"
    parts = [f"inputs {', '.join(map(str, signals))}"] if signals else []
    parts += [f"{len(plan.texts)} lines of text"] if plan.texts else []
    return f"it depends on {' and '.join(parts)}; the arm holds where they differ"


def _go_on(line: int, statement: str) -> bool:
    """Ask a person at the terminal; without one nothing goes on."""
    if not sys.stdin.isatty():
        complain(f"before line {line}: nobody is at the terminal to go on")
        return False
    try:
        answer = input(f"before line {line}: {statement or 'a comment'}. Enter goes on, q leaves: ")
    except (EOFError, OSError):  # the end of input, or the terminal was closed
        return False
    return not answer.strip().lower().startswith("q")


# -- on the bridge ---------------------------------------------------------------------------------------


def _on_bridge(
    proved: Proved, url: str | None, confirmed_by: str | None, journal: Path, *, step: bool, breaks: Sequence[int]
) -> list[TraceRow]:
    """Stream it, whole or from pause to pause."""
    from hil.program.parts import parts_of
    from hil.runtime.program_watch import rows_from_records

    plan, rig = proved.plan, proved.rig
    if plan.sent or any(row.outputs != plan.trace[0].outputs for row in plan.trace):
        print("the bridge moves the arm only: outputs, hands and PRINT need --on controller")
    parts = parts_of(plan, None if step else breaks)

    def send(host: Host) -> Mode:
        if len(parts) == 1 and not step:
            return host.run(plan.motion, proved.certificate)
        return _in_parts(host, rig, parts, ask_first=step or parts[0].line in breaks)

    records = stream(rig, send, plan.motion.duration_s, url=url, confirmed_by=confirmed_by, journal=journal)
    return rows_from_records(records, plan, proved.arm, [part.first for part in parts])


def _in_parts(host: Host, rig: Rig, parts: Sequence[Part], *, ask_first: bool) -> Mode:
    from hil.refusal import RefusedError
    from hil.runtime.preview import preview
    from hil.types import Mode

    mode = host.mode
    for number, part in enumerate(parts):
        asks = number > 0 or ask_first
        if asks and not host.meanwhile(lambda part=part: _go_on(part.line, part.statement), "nobody went on"):  # type: ignore[misc]
            print(f"left before line {part.line}; the arm stands there")
            return mode
        report = host.meanwhile(lambda part=part: preview(rig, part.motion), "the preview took too long")  # type: ignore[misc]
        if report.certificate is None:
            raise RefusedError(report.refusals, f"the way from line {part.line} on is refused")
        mode = host.run(part.motion, report.certificate)
        if mode is not Mode.IDLE:
            return mode
    return mode


# -- on the controller -----------------------------------------------------------------------------------


def _on_controller(proved: Proved, url: str | None, *, step: bool, breaks: Sequence[int]) -> tuple[list[TraceRow], int]:
    """Store it there, read it back, run it, watch it, take it away; exit code 0 if it ran to its end."""
    from hil.cli._attention import attentive
    from hil.runtime.program_watch import WayWatch, job_of

    def say(text: str) -> None:
        print(f"  {text}", flush=True)

    with attentive() as attention:
        watch = WayWatch(
            proved.plan,
            proved.program,
            proved.arm,
            say=say,
            go_on=lambda line, statement: attention.ask(lambda: _go_on(line, statement)),
        )
        job = job_of(
            proved.plan,
            proved.program,
            list(proved.library.values()),
            proved.inputs,
            stepping=step,
            breaks=breaks,
            press=url is None,
        )
        end = _with_a_port(proved.rig, url, job, watch, attention)
    rate = f"{end.looks / end.lasted_s:.2f} looks a second" if end.lasted_s > 0.0 else "one look"
    print(
        f"ran {end.lasted_s:.1f} s on the controller: {end.looks} looks, {rate}; "
        f"at most {watch.farthest_deg:.2f} deg off the proved way"
    )
    if end.reason:
        complain(f"{proved.rig.id}: the program did not run to its end; {end.reason}")
    code = INTERRUPTED if attention.interrupted else 1
    return watch.trace, code if end.reason else 0


def _with_a_port(rig: Rig, url: str | None, job: ProgramJob, watch: WayWatch, attention: Attention) -> ProgramEnd:
    """Lock a real rig, or start a fake controller of our own, which is nobody else's."""
    from hil.model.files import state_dir
    from hil.runtime import fake_process, port_wiring
    from hil.runtime.journal import Wiring
    from hil.runtime.lock import RigLock

    with (
        nullcontext() if url is None else RigLock(state_dir(), rig.id, command=command_line()),
        tempfile.TemporaryDirectory(prefix="hil-program-", ignore_cleanup_errors=True) as folder,
    ):
        if url is not None:
            return port_wiring.run_program(rig, url, job, watch, attention.clock)
        fake = fake_process.start_fake(rig, Path(folder), attention.look)
        try:
            return port_wiring.run_program(rig, fake.url, job, watch, attention.clock, wiring=Wiring.FAKE)
        finally:
            fake.stop()
