"""hil jog: lead the arm by hand, one increment a key press or a line: terminals report no release, nothing is held."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli import moving
from hil.cli.moving import ConfirmedBy, Hardware, Journal, Port, RigName
from hil.cli.output import complain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hil.bench.jog_pad import Action, Pad
    from hil.cli._keyboard import Lines
    from hil.model.rig import Axis, Rig
    from hil.runtime.host import Host
    from hil.types import Request, TickRecord

ANSWER_S = 2.0
LONGEST_S = 300.0
LOOK_S = 0.1


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(jog)


def jog(
    rig: RigName,
    hardware: Hardware = False,
    port: Port = None,
    task: Annotated[
        Path | None, typer.Option("--task", help="Task file to which t appends poses; else jogged-RIG.toml.")
    ] = None,
    speed: Annotated[float, typer.Option(help="Part of the rig's speeds to begin with, in percent.")] = 25.0,
    confirmed_by: ConfirmedBy = None,
    journal: Journal = None,
) -> None:
    """Jog by keys, or by lines such as "j1 +5", "x -10", "t pick.toml", "q" where standard input is no terminal."""
    from hil.bench.jog_pad import Pad
    from hil.runtime.host import Host
    from hil.runtime.wiring import load_rig

    if not 0.0 < speed <= 100.0:
        raise typer.BadParameter("above 0 to 100 % of the rig's speeds", param_hint="--speed")
    set_up = load_rig(rig)
    url = moving.announce(set_up, hardware, port)
    pose = _Pose(set_up)
    file = moving.journal_file(set_up, journal)
    with Host(set_up, url=url, journal=file, command=moving.command_line(), on_record=pose.take) as host:
        host.connect(moving.voucher(set_up, url, confirmed_by))
        jogging = _Jogging(host, Pad(set_up, speed_percent=speed), pose, task)
        if sys.stdin.isatty() and sys.stdout.isatty():
            _by_keys(jogging)
        else:
            _by_lines(jogging)
    print(f"the arm holds; journal {file}")
    if jogging.failed:
        raise typer.Exit(1)


class _Pose:
    """Where the arm was sent, from what went out."""

    def __init__(self, rig: Rig) -> None:
        self.positions = list(rig.park)

    def take(self, record: TickRecord) -> None:
        from hil.types import EnergiseCommand, JointCommand

        if record.sent is None:
            return
        if isinstance(record.wanted, JointCommand):
            self.positions = list(record.wanted.positions)
        elif isinstance(record.wanted, EnergiseCommand):
            self.positions[record.wanted.axis] = record.wanted.position


class _Jogging:
    """What was asked for, what came of it, and what there is to say."""

    def __init__(self, host: Host, pad: Pad, pose: _Pose, task: Path | None) -> None:
        from hil.robot import Robot

        self.host, self.pad, self.pose = host, pad, pose
        self.task = task or Path(f"jogged-{host.rig.id}.toml")
        self.robot = Robot(host.rig.robot)
        self.note = ""
        self.failed = False
        self._since = len(host.events)
        self._asked_s: float | None = None

    # -- doing -----------------------------------------------------------------------------------------------

    def do(self, action: Action) -> None:
        """Carry out what a key or a line means.

        Raises:
            HilError: it cannot be done, in words.
        """
        from hil.bench.jog_pad import Go, Halt, Keep, Step
        from hil.types import ArmJog, JogStep, Stop

        if isinstance(action, Halt):
            self.host.send(Stop(reason="asked for at the keyboard"))
        elif isinstance(action, Step):
            self._ask(ArmJog(speed_share=self.pad.speed_percent / 100.0), JogStep(move=action.move))
        elif isinstance(action, Go):
            self._go(action.pose)
        elif isinstance(action, Keep):
            self._keep(action.file)

    def _ask(self, *requests: Request) -> None:
        self.forget()
        self._asked_s = time.monotonic()
        self.host.send(*requests)

    def forget(self) -> None:
        """What was said so far has been read."""
        self.note, self._since = "", len(self.host.events)

    def _go(self, pose: str) -> None:
        from hil.errors import RefusedError
        from hil.motion.planning import plan_joint_move
        from hil.runtime.preview import preview
        from hil.types import Arm, Load, Mode, Start, Stop

        rig, here = self.host.rig, tuple(self.pose.positions)
        goal = rig.home if pose == "home" else rig.park
        motion = plan_joint_move(rig, here, goal, speed_percent=max(self.pad.speed_percent, 1.0))
        report = self.host.meanwhile(lambda: preview(rig, motion), "the preview took too long; nothing was sent")
        if report.certificate is None:
            raise RefusedError(report.refusals, f"the way to the {pose} pose is refused; jog round what is in the way")
        if self.host.mode is Mode.ARMED:
            self.host.send(Stop(reason="a previewed move takes over"))
        load = Load(motion=motion.to_bytes(), certificate=report.certificate.to_bytes())
        self._ask(load, Arm(digest=motion.digest), Start(digest=motion.digest))

    def _keep(self, file: str | None) -> None:
        from hil.bench.task_writing import append_pose

        if file is not None:
            self.task = Path(file if Path(file).suffix else f"{file}.toml")
        number = append_pose(self.task, self.host.rig, self.pose.positions)
        self.note = f"step {number} of {self.task} is this pose"

    # -- what came of it -------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """True until what was asked for has ended, was refused, or the loop has left it."""
        from hil.types import Mode

        if self._asked_s is None:
            return False
        news = self.host.events[self._since :]
        begun = any("-> streaming: " in event for event in news)
        moving_now = self.host.mode in (Mode.ARMED, Mode.STREAMING, Mode.STOPPING)
        late = not begun and time.monotonic() - self._asked_s > ANSWER_S
        if late:
            self.note = "the loop has not answered"
        if late or self.refused or (begun and not moving_now) or self.ended:
            self._asked_s = None
        return self._asked_s is not None

    @property
    def refused(self) -> bool:
        """True if what was asked for last was refused."""
        return any(event.startswith("refused: ") for event in self.host.events[self._since :])

    @property
    def ended(self) -> bool:
        """True once nothing can be jogged any more."""
        from hil.types import Mode

        return not self.host.alive or self.host.mode in (Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED)

    def words(self) -> str:
        """The newest thing worth reading: a refusal, a stop, a fault, or what else the loop explained."""
        told = [event for event in self.host.events[self._since :] if _is_news(event)]
        return told[-1].removeprefix("refused: ") if told else self.note

    # -- what it looks like ----------------------------------------------------------------------------------

    def place(self) -> str:
        """The commanded pose in one line."""
        axes = zip(self.host.rig.axes, self.pose.positions, strict=True)
        return f"{', '.join(f'{axis.name} {_say(axis, value)}' for axis, value in axes)}; {self.tool()}"

    def tool(self) -> str:
        """Where that brings the tool."""
        from hil.kinematics.poses import pose_to_xyzabc
        from hil.units import DEG, MM

        joints = self.pose.positions[: self.robot.dof]
        if not self.robot.has_pitch_and_roll:
            at = pose_to_xyzabc(self.robot.forward_kinematics(joints))
            return (
                f"tool x {at.x_mm:.2f} y {at.y_mm:.2f} z {at.z_mm:.2f} mm, "
                f"a {at.a_deg:.2f} b {at.b_deg:.2f} c {at.c_deg:.2f} deg ({at.convention.value})"
            )
        at_tool = self.robot.tool_target(joints)
        x, y, z = (value / MM + 0.0 for value in at_tool.position_m)
        roll = "" if at_tool.roll_rad is None else f" roll {at_tool.roll_rad / DEG + 0.0:.2f}"
        return f"tool x {x:.2f} y {y:.2f} z {z:.2f} mm, pitch {at_tool.pitch_rad / DEG + 0.0:.2f}{roll} deg"

    def screen(self) -> RenderableType:
        """Everything at a glance."""
        from rich.box import SIMPLE
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        pad, last = self.pad, self.host.last
        reported = last.reported if last is not None else None
        axes = Table(box=SIMPLE, pad_edge=False)
        for title in ("", "axis", "commanded", "reported" if reported is None else reported.source.name):
            axes.add_column(title)
        for index, axis in enumerate(self.host.rig.axes):
            known = None if reported is None else reported.positions[index]
            mark = ">" if index == pad.joint else str(index + 1) if index != self.host.rig.gripper else "g"
            axes.add_row(
                mark, axis.name, _say(axis, self.pose.positions[index]), "" if known is None else _say(axis, known)
            )
        keys = Table.grid(padding=(0, 2))
        for row in pad.help():
            keys.add_row(*row)
        settings = (
            f"{self.host.mode.value.upper()}   frame {pad.frame.value}   speed {pad.speed_percent:g} %   "
            f"increment {pad.size:g} mm, {pad.size:g} deg"
        )
        return Group(Text(settings, style="bold"), axes, Text(self.tool()), Text(self.words()), Text(""), keys)


def _by_keys(jogging: _Jogging) -> None:
    from rich.live import Live

    from hil.bench.jog_pad import Halt, Quit, Show
    from hil.cli._keyboard import single_keys
    from hil.cli.output import console
    from hil.errors import HilError

    pressed: list[str] = []
    with single_keys() as keys, Live(jogging.screen(), console=console(), auto_refresh=False) as live:

        def press() -> bool:
            pressed.extend(keys())
            return bool(pressed)

        while not jogging.ended:
            jogging.host.until(press, within_s=LOOK_S)
            for key in pressed:
                action = jogging.pad.key(key)
                if isinstance(action, Quit):
                    return
                # A key that repeats itself while the arm moves would queue motion up.
                if jogging.busy and not isinstance(action, Halt | Show):
                    jogging.note = "still moving: the key was not taken"
                    continue
                try:
                    jogging.do(action)
                except HilError as error:
                    jogging.note = str(error)
            pressed.clear()
            live.update(jogging.screen(), refresh=True)
    jogging.failed = True
    complain(jogging.words())


def _by_lines(jogging: _Jogging) -> None:
    from hil.bench.jog_pad import Halt, Quit
    from hil.cli._keyboard import Lines
    from hil.errors import HilError

    lines, host = Lines(), jogging.host
    print(jogging.place(), flush=True)
    while not jogging.ended:
        host.until(lambda: lines.waiting is not None, within_s=LOOK_S)
        if lines.waiting is None:
            continue
        try:
            jogging.forget()
            action = jogging.pad.line(lines.take())
            if isinstance(action, Quit):
                return
            if action is None:
                continue
            jogging.do(action)
            _await(jogging, lines)
        except HilError as error:
            jogging.failed = True
            complain(str(error))
            continue
        if jogging.refused:
            jogging.failed = True
            complain(jogging.words())
        elif words := jogging.words():
            print(words, flush=True)
        if isinstance(action, Halt):
            host.until(lambda: not jogging.busy, within_s=ANSWER_S)
        print(f"{host.mode.value}: {jogging.place()}", flush=True)
    jogging.failed = True
    complain(jogging.words())


def _await(jogging: _Jogging, lines: Lines) -> None:
    """Wait until what was asked for is over; a stop that comes in meanwhile is not kept waiting."""
    from hil.bench.jog_pad import Halt

    def urgent() -> bool:
        return (lines.waiting or "").strip().lower() == "stop"

    jogging.host.until(lambda: not jogging.busy or urgent(), within_s=LONGEST_S)
    if jogging.busy:
        jogging.do(Halt())
        jogging.host.until(lambda: not jogging.busy, within_s=LONGEST_S)


def _is_news(event: str) -> bool:
    """Whether an event says more than that things go their way."""
    stopped = "stop: " in event and not event.startswith("armed -> ")
    return stopped or event.startswith(("refused: ", "[", "the jog ")) or "-> fault: " in event


def _say(axis: Axis, value: float) -> str:
    from hil.motion.refusals import say

    return say(axis, value + 0.0)
