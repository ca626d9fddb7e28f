"""hil teach: poses that a person leads an arm to by hand, read from its controller and kept as steps of a task."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._names import RigName
from hil.cli.motion_commands import Hardware, Port, say_which
from hil.cli.output import complain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hil.model.rig import Rig
    from hil.runtime.port_wiring import HandLedArm


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(teach)


def teach(
    rig: RigName,
    task: Annotated[
        Path | None, typer.Option("--task", help="Task file to which poses are appended; else taught-RIG.toml.")
    ] = None,
    hardware: Hardware = False,
    port: Port = None,
) -> None:
    """Keep poses that you lead the arm to by hand, where its controller measures: Enter for each, q to leave.

    Reads only: nothing is driven, switched or let go. Ends with 1 if anything was refused.
    """
    from hil.runtime.port_wiring import HandLedArm
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    url = say_which(set_up, hardware, port)
    teaching = _Teaching(set_up, HandLedArm(set_up, url), task or Path(f"taught-{set_up.id}.toml"))
    print(f"To get the arm free: {teaching.arm.how}." if url is not None else _FAKE_HAND.format(set_up.axes[0].name))
    print("Enter (or t [FILE]) keeps the pose, p shows it, q leaves", flush=True)
    for line in sys.stdin:
        if line.split("#")[0].strip().lower() in ("q", "quit"):
            break
        teaching.do(line)
    if teaching.failed:
        raise typer.Exit(1)


_FAKE_HAND = "The arm is a fake, and a line such as `{} +5` is the hand that leads it (degrees, millimetres)."


class _Teaching:
    """The arm, the file, and what has become of each line."""

    def __init__(self, rig: Rig, arm: HandLedArm, task: Path) -> None:
        self.rig, self.arm, self.task = rig, arm, task
        self.failed = False

    def do(self, line: str) -> None:
        """Carry out one line; what is wrong with it is said, and the next one counts."""
        from hil.errors import HilError

        try:
            print(self._answer(line.partition("#")[0].split()), flush=True)
        except HilError as error:
            self.failed = True
            complain(str(error))

    def _answer(self, words: Sequence[str]) -> str:
        from hil.errors import CommandError

        name, rest = (words[0].lower(), words[1:]) if words else ("t", [])
        if name in ("t", "task") and len(rest) <= 1:
            return self._keep(rest[0] if rest else None)
        if name in ("p", "pose") and not rest:
            return self._said(self.arm.measured())
        index = {axis.name.lower(): each for each, axis in enumerate(self.rig.axes)}.get(name)
        if index is None or len(rest) != 1:
            given = " ".join(words)
            allowed = "Enter, t [FILE], p, q, or on a fake an axis and a number"
            raise CommandError(f"{given!r} given; allowed: {allowed}", value=given, allowed=allowed)
        self.arm.lead(index, self._number(rest[0]) * self._unit(index))
        return self._said(self.arm.measured())

    def _number(self, text: str) -> float:
        import math

        from hil.errors import CommandError

        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise CommandError(f"{text!r} given; allowed: a finite number, such as +5 or -2.5", value=text)
        return value

    def _unit(self, index: int) -> float:
        from hil.model.rig import AxisKind
        from hil.units import DEG, MM

        return DEG if self.rig.axes[index].kind is AxisKind.REVOLUTE else MM

    def _keep(self, file: str | None) -> str:
        from hil.workbench.task_poses import append_pose

        if file is not None:
            self.task = Path(file if Path(file).suffix else f"{file}.toml")
        pose = self.arm.measured()
        number = append_pose(self.task, self.rig, pose)
        return f"step {number} of {self.task}: {self._said(pose)}"

    def _said(self, pose: Sequence[float]) -> str:
        from hil.motion.refusals import say

        return ", ".join(f"{axis.name} {say(axis, value)}" for axis, value in zip(self.rig.axes, pose, strict=True))
