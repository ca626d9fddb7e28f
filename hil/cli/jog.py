"""hil jog: lead the arm by hand, one increment a key press or a line: terminals report no release, nothing is held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli import motion_commands
from hil.cli._jog_session import (
    Patience,
    axes_table,
    has_begun,
    is_over,
    is_refused,
    keys_table,
    lead,
    newest,
    say,
    settings_line,
)
from hil.cli._names import RigName
from hil.cli._power import Power
from hil.cli.motion_commands import ConfirmedBy, Hardware, Journal, Port
from hil.cli.output import complain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hil.model.rig import Rig
    from hil.motion.motion import Motion
    from hil.robot import Robot
    from hil.runtime.host import Host
    from hil.runtime.preview import PreviewReport
    from hil.types import Mode, Request, TickRecord
    from hil.workbench.jog_pad import Action, Pad


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
    from hil.runtime.host import Host
    from hil.runtime.wiring import load_rig
    from hil.workbench.jog_pad import Pad

    if not 0.0 < speed <= 100.0:
        raise typer.BadParameter("above 0 to 100 % of the rig's speeds", param_hint="--speed")
    set_up = load_rig(rig)
    url = motion_commands.announce(set_up, hardware, port)
    pose, power = _Pose(set_up), Power(set_up)

    def take(record: TickRecord) -> None:
        pose.take(record)
        power.take(record)

    robot = _ready(set_up)
    file = motion_commands.journal_file(set_up, journal)
    with Host(
        set_up, url=url, journal=file, command=motion_commands.command_line(), on_record=take, say=complain
    ) as host:
        host.connect(motion_commands.voucher(set_up, url, confirmed_by, host.events))
        motion_commands.pass_on_remarks(host)
        jogging = _Jogging(host, Pad(set_up, speed_percent=speed), pose, robot, task, power)
        lead(jogging)
    held = "the arm is limp where its servos have no power" if host.supply_cut else "the arm holds"
    motion_commands.close_with(host, held, done=not jogging.failed)


def _ready(rig: Rig) -> Robot:
    """Import and make what is needed later: on a busy machine the loop would miss our sign of life meanwhile."""
    import hil.cli._keyboard
    import hil.kinematics.poses
    import hil.motion.planner
    import hil.runtime.preview  # noqa: F401
    from hil.robot import Robot

    return Robot(rig.robot)


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

    def __init__(self, host: Host, pad: Pad, pose: _Pose, robot: Robot, task: Path | None, power: Power) -> None:
        self.host, self.pad, self.pose, self.power = host, pad, pose, power
        self.task = task or Path(f"jogged-{host.rig.id}.toml")
        self.robot = robot
        self.note = ""
        self.failed = False
        self._since = len(host.events)
        self._patience = Patience()

    # -- doing -----------------------------------------------------------------------------------------------

    def do(self, action: Action) -> None:
        """Carry out what a key or a line means.

        Raises:
            HilError: it cannot be done, in words.
        """
        from hil.types import ArmJog, JogStep, Stop, SupplyCut
        from hil.workbench.jog_pad import Go, Halt, Keep, Step, SupplyOff

        if isinstance(action, Halt):
            self.host.send(Stop(reason="asked for at the keyboard"))
        elif isinstance(action, SupplyOff):
            self.host.send(SupplyCut(by="the keyboard"))
        elif isinstance(action, Step):
            self._ask(ArmJog(speed_share=self.pad.speed_percent / 100.0), JogStep(move=action.move))
        elif isinstance(action, Go):
            self._go(action.pose)
        elif isinstance(action, Keep):
            self._keep(action.file)

    def _ask(self, *requests: Request) -> None:
        self.forget()
        self._patience.asked()
        self.host.send(*requests)

    def until(self, reached: Callable[[], bool], within_s: float) -> None:
        """Follow the loop until something is reached, the time is over, or the loop has ended."""
        self.host.until(reached, within_s)

    def pressed_again(self, key: str) -> bool:
        """No key keeps anything going here."""
        return False

    def forget(self) -> None:
        """What was said so far has been read."""
        self.note, self._since = "", len(self.host.events)

    def _go(self, pose: str) -> None:
        from hil.motion.planner import plan_joint_move
        from hil.refusal import RefusedError
        from hil.runtime.preview import preview
        from hil.types import Arm, Load, Mode, Start, Stop

        rig, here = self.host.rig, tuple(self.pose.positions)
        goal = rig.home if pose == "home" else rig.park
        speed_percent = max(self.pad.speed_percent, 1.0)

        def planned() -> tuple[Motion, PreviewReport]:
            motion = plan_joint_move(rig, here, goal, speed_percent=speed_percent)
            return motion, preview(rig, motion)

        motion, report = self.host.meanwhile(planned, "the preview took too long; nothing was sent")
        if report.certificate is None:
            raise RefusedError(report.refusals, f"the way to the {pose} pose is refused; jog round what is in the way")
        if self.host.mode is Mode.ARMED:
            self.host.send(Stop(reason="a previewed move takes over"))
        load = Load(motion=motion.to_bytes(), certificate=report.certificate.to_bytes())
        self._ask(load, Arm(digest=motion.digest), Start(digest=motion.digest))

    def _keep(self, file: str | None) -> None:
        from hil.workbench.task_poses import append_pose

        if file is not None:
            self.task = Path(file if Path(file).suffix else f"{file}.toml")
        number = append_pose(self.task, self.host.rig, self.pose.positions)
        self.note = f"step {number} of {self.task} is this pose"

    # -- what came of it -------------------------------------------------------------------------------------

    @property
    def _news(self) -> list[str]:
        return self.host.events[self._since :]

    @property
    def mode(self) -> Mode:
        """What the loop does."""
        return self.host.mode

    @property
    def busy(self) -> bool:
        """True until what was asked for has ended, was refused, or the loop has left it."""
        if self._patience.waiting:
            late = self._patience.exhausted and not has_begun(self._news)
            if late:
                self.note = "the loop has not answered"
            if late or self.refused or is_over(self._news, self.mode) or self.ended:
                self._patience.over()
        return self._patience.waiting

    @property
    def refused(self) -> bool:
        """True if what was asked for last was refused."""
        return is_refused(self._news)

    @property
    def ended(self) -> bool:
        """True once nothing can be jogged any more."""
        from hil.types import Mode

        return not self.host.alive or self.host.mode in (Mode.FAULT, Mode.ESTOP, Mode.DISCONNECTED)

    def words(self) -> str:
        """The newest thing worth reading: a refusal, a stop, a fault, or what else the loop explained."""
        return newest(self._news, self.note)

    # -- what it looks like ----------------------------------------------------------------------------------

    def place(self) -> str:
        """The commanded pose in one line."""
        axes = zip(self.host.rig.axes, self.pose.positions, strict=True)
        return f"{', '.join(f'{axis.name} {say(axis, value)}' for axis, value in axes)}; {self.tool()}"

    def tool(self) -> str:
        """Where that brings the tool."""
        from hil.kinematics.poses import pose_to_xyzabc
        from hil.units import DEG, MM

        joints = self.pose.positions[: self.robot.dof]
        if not self.robot.has_pitch_and_roll:
            at = pose_to_xyzabc(self.robot.forward_kinematics(joints))
            return (
                f"tool x {at.x_mm:z.2f} y {at.y_mm:z.2f} z {at.z_mm:z.2f} mm, "
                f"a {at.a_deg:z.2f} b {at.b_deg:z.2f} c {at.c_deg:z.2f} deg ({at.convention.value})"
            )
        at_tool = self.robot.tool_target(joints)
        x, y, z = (value / MM for value in at_tool.position_m)
        roll = "" if at_tool.roll_rad is None else f" roll {at_tool.roll_rad / DEG:z.2f}"
        return f"tool x {x:z.2f} y {y:z.2f} z {z:z.2f} mm, pitch {at_tool.pitch_rad / DEG:z.2f}{roll} deg"

    def screen(self) -> RenderableType:
        """Everything at a glance."""
        from rich.console import Group
        from rich.text import Text

        pad, last = self.pad, self.host.last
        reported = last.reported if last is not None else None
        columns: list[tuple[str, Sequence[float | None]]] = [("commanded", self.pose.positions)]
        if reported is not None:
            columns.append((reported.source.name, reported.positions))
        return Group(
            Text(settings_line(pad, self.mode), style="bold"),
            axes_table(pad, columns),
            Text(self.tool()),
            Text(self.power.line()),
            Text(self.words()),
            Text(""),
            keys_table(pad.help()),
        )
