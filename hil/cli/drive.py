"""hil drive: lead an arm of a lab by hand, as `hil jog` leads one that is here."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._far_arm import headline, lease_words, picture_words, refuse_own_arm
from hil.cli._jog_session import (
    REPEAT_S,
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
from hil.cli._power import far_power_line
from hil.clock import monotonic_s

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rich.console import RenderableType

    from hil.model.rig import AxisKind
    from hil.service.hold_watch import Sign
    from hil.service.remote import RemoteArm
    from hil.service.wire import Welcome
    from hil.types import AxisJog, Mode, ToolJog
    from hil.workbench.jog_pad import Action, Pad

FIRST_PRESS_S = 0.8
"""A keyboard waits so long before it begins to repeat a key that is held down."""

LOOK_S = 0.02
_RELEASED = ("idle -> idle: stop: the dead-man was released", "the dead-man was released")

Url = Annotated[str, typer.Argument(metavar="URL", help="The arm's address, as http://127.0.0.1:8742/arm-1.")]


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(drive)


def drive(
    url: Url,
    speed: Annotated[float, typer.Option(help="Part of the rig's speeds to begin with, in percent.")] = 25.0,
    wait: Annotated[bool, typer.Option("--wait", help="Stand in the queue if somebody else drives.")] = False,
    name: Annotated[str, typer.Option(help="Shown to others where no token brings a name.")] = "",
    on_site: Annotated[bool, typer.Option("--on-site", help="You stand beside the arm.")] = False,
    camera: Annotated[
        bool, typer.Option("--camera", help="You watch its pictures, in a browser beside: their age counts.")
    ] = False,
    task: Annotated[
        Path | None, typer.Option("--task", help="Task file to which t appends poses; else jogged-ARM.toml.")
    ] = None,
) -> None:
    """Drive by keys, or by lines such as "j1 +5", "x -10", "home", "q" where standard input is no terminal."""
    from hil.service.remote import connect
    from hil.workbench.jog_pad import Pad

    if not 0.0 < speed <= 100.0:
        raise typer.BadParameter("above 0 to 100 % of the rig's speeds", param_hint="--speed")
    refuse_own_arm(url, "hil drive")
    with connect(url, name=name, on_site=on_site) as arm:
        print(headline(arm.welcome), flush=True)
        pad = Pad(_AxesOf.welcome(arm.welcome), speed_percent=speed, served=True)
        driving = _Driving(arm, pad, task, by_hand=sys.stdin.isatty() and sys.stdout.isatty())
        driving.begin(wait=wait, camera=camera)
        lead(driving)
    print("the arm holds; the lease is given back")
    if driving.failed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Axis:
    name: str
    kind: AxisKind


@dataclass(frozen=True)
class _AxesOf:
    """An arm's axes as its server has told them."""

    axes: tuple[_Axis, ...]
    gripper: int | None

    @classmethod
    def welcome(cls, welcome: Welcome) -> _AxesOf:
        from hil.model.rig import AxisKind

        axes = tuple(_Axis(axis.name, AxisKind(axis.kind)) for axis in welcome.axes)
        kinds = [axis.kind for axis in axes]
        return cls(axes, kinds.index(AxisKind.GRIPPER) if AxisKind.GRIPPER in kinds else None)


class _Driving:
    """What was asked for, what came of it, and what there is to say.

    Args:
        arm: far away.
        pad: what keys and lines mean.
        task: file for poses.
        by_hand: keys at a terminal; else lines, whose sender counts as holding the dead-man while they are carried out.
    """

    def __init__(self, arm: RemoteArm, pad: Pad, task: Path | None, *, by_hand: bool) -> None:
        self.arm, self.pad, self.by_hand = arm, pad, by_hand
        self.task = task or Path(f"jogged-{arm.arm}.toml")
        self.note = ""
        self.failed = False
        self._looking = False
        self._since = arm.channel.mark
        self._patience = Patience()
        self._work: Future[None] | None = None
        self._held_key, self._held_until_s, self._key_seen_s = "", 0.0, 0.0
        self._pressed_s, self._repeats = 0.0, False

    def begin(self, *, wait: bool, camera: bool) -> None:
        """Become the arm's driver, as soon as it has come up."""
        from hil.service.client import COMING_S, LONGEST_S
        from hil.types import Mode

        self._looking = camera
        if camera:
            self.arm.begin(self.arm.channel.follow_pictures())
        if self.mode in (Mode.DISCONNECTED, Mode.CONNECTING, Mode.ENERGISING):
            print("the arm is coming up", flush=True)
        if wait:
            print("waiting for the arm; Ctrl-C leaves the queue", flush=True)
        self.arm.claim(wait=wait, within_s=LONGEST_S if wait else COMING_S)

    # -- doing -------------------------------------------------------------------------------------------

    def do(self, action: Action) -> None:
        """Carry out what a key or a line means.

        Raises:
            HilError: it cannot be done, in words.
        """
        from hil.workbench.jog_pad import Go, Halt, Keep, Recover, SelfTest, Step, SupplyOff

        channel = self.arm.channel
        if isinstance(action, Halt):
            self._held_key = ""
            # Not waited for: nothing may keep a stop from being sent, nor the next one.
            self.arm.begin(channel.stop("asked for at the keyboard"))
        elif isinstance(action, SupplyOff):
            self._held_key = ""
            self.arm.begin(channel.supply_cut("said at the keyboard"))
        elif isinstance(action, Step):
            self._ask(self._step(action.move))
        elif isinstance(action, Go):
            self._ask(self._go(action.pose), key="h" if action.pose == "home" else "k")
        elif isinstance(action, Recover):
            self._ask(self._recover(), key="u")
        elif isinstance(action, SelfTest):
            self._ask(self._test(), key="e")
        elif isinstance(action, Keep):
            self._keep(action.file)

    def _ask(self, work: Coroutine[Any, Any, None], key: str = "") -> None:
        """Have something done; with a key that has to be held down meanwhile."""
        self.forget()
        self._patience.asked()
        self._held_key, self._held_until_s = key, monotonic_s() + FIRST_PRESS_S
        self._pressed_s = self._key_seen_s = monotonic_s()
        self._repeats = False
        self._work = self.arm.begin(work)

    async def _drive(self) -> None:
        if not self.arm.channel.drives:
            await self.arm.channel.claim()

    async def _step(self, move: AxisJog | ToolJog) -> None:
        await self._drive()
        await self.arm.channel.step(move, self.pad.speed_percent / 100.0)

    async def _go(self, pose: str) -> None:
        await self._drive()
        await self.arm.channel.go(pose, self.pad.speed_percent / 100.0)

    async def _test(self) -> None:
        from hil.errors import InterlockError

        await self._drive()
        channel, mark = self.arm.channel, self.arm.channel.mark
        await channel.self_test(self.pad.speed_percent / 100.0)
        self.note = await channel.self_test_words(mark)
        if not self.note.startswith("self-test passed"):
            raise InterlockError(self.note)

    async def _recover(self) -> None:
        from hil.types import Mode

        channel = self.arm.channel
        await self._drive()
        latched = channel.lease is not None and channel.lease.lease.latched
        if latched or channel.mode in (Mode.FAULT, Mode.ESTOP):
            await channel.reset()
            self.note, self._held_key = "reset", ""
            self._patience.over()
        elif channel.mode is Mode.UNKNOWN_POSE:
            await channel.confirm(supply_on=self.arm.welcome.on_site)
        else:
            self.note, self._held_key = "there is nothing to recover from", ""
            self._patience.over()

    def _keep(self, file: str | None) -> None:
        from hil.cli.pull import write_rig
        from hil.errors import InterlockError
        from hil.runtime.wiring import load_rig
        from hil.workbench.task_poses import append_pose

        if file is not None:
            self.task = Path(file if Path(file).suffix else f"{file}.toml")
        positions = [value for value in self.arm.positions if value is not None]
        if len(positions) != len(self.arm.welcome.axes):
            raise InterlockError("the pose is not kept: where the arm stands is not known", ["known pose"])
        with tempfile.TemporaryDirectory(prefix="hil-rig-") as folder:
            rig = load_rig(write_rig(self.arm.pull(), Path(folder)), calibrated=False)
            number = append_pose(self.task, rig, positions)
        self.note = f"step {number} of {self.task} is this pose"

    def pressed_again(self, key: str) -> bool:
        """Whether a key is the one that keeps the present motion going, repeated by the keyboard."""
        if not self._held_key or key != self._held_key:
            return False
        repeated = monotonic_s() - self._key_seen_s < FIRST_PRESS_S
        self._key_seen_s, self._repeats = monotonic_s(), True
        if not self._goes_on:
            return repeated  # what has ended does not begin anew by itself, and its end stays to be read
        self._held_until_s = max(self._held_until_s, monotonic_s() + REPEAT_S)
        return True

    def until(self, reached: Callable[[], bool], within_s: float) -> None:
        """Follow the arm until something is reached or the time is over; hold the dead-man while a key is held."""
        deadline_s = monotonic_s() + within_s
        while True:
            if self._held_key and self._goes_on and (not self.by_hand or monotonic_s() < self._held_until_s):
                self.arm.hold(sign=self._sign())
            if reached() or monotonic_s() > deadline_s or self.arm.channel.over:
                return
            time.sleep(LOOK_S)

    def _sign(self) -> Sign:
        """What shows a hand: the press, and that the key repeats. Whoever sends lines does so by going on."""
        from hil.service.hold_watch import Sign

        if not self.by_hand:
            return Sign(changed_s=monotonic_s())
        return Sign(changed_s=self._pressed_s, reported_s=self._key_seen_s if self._repeats else None)

    def forget(self) -> None:
        """What was said so far has been read."""
        self.note, self._since = "", self.arm.channel.mark

    # -- what came of it ---------------------------------------------------------------------------------

    @property
    def _news(self) -> list[str]:
        # After every move the dead-man is let go, which stops an arm that stands.
        return [each for each in self.arm.channel.since(self._since) if each not in _RELEASED]

    @property
    def mode(self) -> Mode:
        """What the bridge does with the arm."""
        return self.arm.mode

    @property
    def busy(self) -> bool:
        """True until what was asked for has ended or was refused."""
        # A dead-man that still counts as held there would stop what is asked for next, once it is let go.
        return self._goes_on or self._work is not None or (self.arm.channel.held and self.arm.channel.drives)

    @property
    def _goes_on(self) -> bool:
        self._look_at_work()
        if self._patience.waiting:
            if self._work is not None:
                self._patience.asked()  # the lab still thinks about it
            late = self._patience.exhausted and not has_begun(self._news)
            if late:
                self.note = "the loop has not answered"
            if late or self.refused or is_over(self._news, self.mode) or self.ended or not self.arm.channel.connected:
                self._patience.over()
                self.arm.let_go()
        return self._patience.waiting

    def _look_at_work(self) -> None:
        from hil.errors import HilError

        if self._work is None or not self._work.done():
            return
        work, self._work = self._work, None
        try:
            work.result()
        except HilError as error:
            self.failed = self.failed or not self.by_hand
            self.note = str(error)
            self._patience.over()
            self.arm.let_go()

    @property
    def refused(self) -> bool:
        """True if what was asked for last was refused by the loop."""
        return is_refused(self._news)

    @property
    def ended(self) -> bool:
        """True once the channel is closed for good."""
        return bool(self.arm.channel.over)

    def words(self) -> str:
        """The newest thing worth reading."""
        channel = self.arm.channel
        if channel.over:
            return channel.over
        if not channel.connected:
            return "the connection is lost, the arm holds; connecting again"
        return self.note or newest(self._news, _notice(self._news))

    # -- what it looks like ------------------------------------------------------------------------------

    def place(self) -> str:
        """The commanded pose in one line."""
        axes = zip(self.pad.arm.axes, self.arm.positions, strict=True)
        shown = (f"{axis.name} {'unknown' if value is None else say(axis, value)}" for axis, value in axes)
        return f"{', '.join(shown)}; {_tool(self.arm)}"

    def screen(self) -> RenderableType:
        """Everything at a glance."""
        from rich.console import Group
        from rich.text import Text

        channel = self.arm.channel
        seen = channel.telemetry
        columns: list[tuple[str, Sequence[float | None]]] = []
        if seen is not None:
            columns.append(("commanded", seen.commanded))
            if seen.source is not None:
                columns.append((seen.source.value, seen.reported))
        return Group(
            Text(f"{headline(self.arm.welcome)}   {lease_words(self.arm)}"),
            Text(settings_line(self.pad, self.mode), style="bold"),
            axes_table(self.pad, columns),
            Text("   ".join(each for each in (_tool(self.arm), _stop_words(self.arm), self._picture()) if each)),
            Text(far_power_line(channel.holding)),
            Text(self.words()),
            Text(""),
            keys_table(_help(self.pad)),
        )

    def _picture(self) -> str:
        """The picture that commands answer; empty where none counts."""
        welcome, channel = self.arm.welcome, self.arm.channel
        if not welcome.camera or not (self._looking or (welcome.rules.picture_needed and not welcome.on_site)):
            return ""
        if not self._looking:
            return "no picture: here one drives only by one, with --camera"
        age_s = None if channel.picture_s is None else channel.now_s - channel.picture_s
        return picture_words(age_s, welcome.rules.picture_age_s)


def _help(pad: Pad) -> list[tuple[str, str]]:
    held = ("h k", "planned move home, to park: hold the key down until it is there")
    return [held if keys == "h k" else (keys, meaning) for keys, meaning in pad.help()]


def _notice(news: Sequence[str]) -> str:
    """The newest word that is no mere change of mode."""
    return next((each for each in reversed(news) if " -> " not in each), "")


def _tool(arm: RemoteArm) -> str:
    seen = arm.channel.telemetry
    if seen is None or seen.tool_m is None:
        return "tool unknown"
    x, y, z = (1e3 * value for value in seen.tool_m)
    return f"tool x {x:z.2f} y {y:z.2f} z {z:z.2f} mm"


def _stop_words(arm: RemoteArm) -> str:
    seen = arm.channel.telemetry
    if seen is None or seen.stop is None:
        return ""
    stop = f"stops within {seen.stop.total_ms:.0f} ms, {seen.stop.distance_mm:.0f} mm"
    return f"{stop}; up to {100 * seen.speed_share:.0f} % speed"
