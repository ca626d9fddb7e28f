"""What keys and lines mean while jogging: one press or one line is one increment, never a motion that goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hil.errors import CommandError
from hil.model.rig import AxisKind
from hil.motion.jog_ways import FULL_POSE_AXES
from hil.types import AxisJog, JogFrame, ToolJog
from hil.units import DEG, MM

SPEEDS_PERCENT = (5.0, 25.0, 100.0)
SIZES = (0.5, 2.0, 10.0)
"""Increments, in millimetres and in degrees."""


class PadAxis(Protocol):
    """What has to be known of an axis."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> AxisKind:
        """Turns, slides, or is the gripper."""
        ...


class PadArm(Protocol):
    """What has to be known of an arm, here or far away; a rig will do."""

    @property
    def axes(self) -> Sequence[PadAxis]:
        """All axes, in the order of positions."""
        ...

    @property
    def gripper(self) -> int | None:
        """Index of the gripper among them."""
        ...


@dataclass(frozen=True)
class Step:
    """One increment."""

    move: AxisJog | ToolJog


@dataclass(frozen=True)
class Go:
    """A previewed move to a named pose."""

    pose: str


@dataclass(frozen=True)
class Keep:
    """Append the present pose to a task file; None for the file of before."""

    file: str | None


@dataclass(frozen=True)
class Halt:
    """Stop what moves."""


@dataclass(frozen=True)
class Quit:
    """Leave; the arm is held."""


@dataclass(frozen=True)
class Show:
    """Nothing moves; the settings or the pose are to be shown."""


@dataclass(frozen=True)
class Recover:
    """Leave a fault or a latched stop; or vouch that the limp arm is in its park pose."""


@dataclass(frozen=True)
class SelfTest:
    """Move each axis a little way and back, and see whether the arm reports it."""


@dataclass(frozen=True)
class SupplyOff:
    """The servo supply was cut, or may have been: stop, and believe no echo any more."""


Action = Step | Go | Keep | Halt | Quit | Show | Recover | SelfTest | SupplyOff


@dataclass
class Pad:
    """The settings of a jog, and the words that change them.

    Attributes:
        joint: index of the selected axis.
        speed_percent: of the rig's speeds.
        size: of an increment in key mode, in degrees and millimetres.
        served: whether the arm is a lab's: keys and lines for `Recover` and `SelfTest`.
    """

    arm: PadArm
    joint: int = 0
    frame: JogFrame = JogFrame.WORLD
    speed_percent: float = SPEEDS_PERCENT[1]
    size: float = SIZES[1]
    served: bool = False
    _turns: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        # Arms that take any orientation turn about three axes, the others only pitch and roll.
        self._turns = {"a": 0, "b": 1, "c": 2} if self._joints >= FULL_POSE_AXES else {"p": 3, "r": 4}

    @property
    def _joints(self) -> int:
        return len(self.arm.axes) - (self.arm.gripper is not None)

    # -- keys --------------------------------------------------------------------------------------------------

    def key(self, key: str) -> Action:
        """What one key means; any that means nothing else stops the arm."""
        if len(key) == 1 and key.isdecimal() and 1 <= int(key) <= self._joints:
            self.joint = int(key) - 1
            return Show()
        if key in ("+", "=", "-"):
            return Step(self._axis(self.joint, -self.size if key == "-" else self.size))
        if key in ("g", "G") and self.arm.gripper is not None:
            return Step(self._axis(self.arm.gripper, self.size if key == "g" else -self.size))
        if key and key.lower() in (*"xyz", *self._turns):
            return Step(self._tool(key.lower(), self.size if key.islower() else -self.size))
        if key in ("f", "s", "i"):
            self._next_setting(key)
            return Show()
        plain: dict[str, Action] = {"h": Go("home"), "k": Go("park"), "t": Keep(None), "q": Quit(), "o": SupplyOff()}
        if self.served:
            plain |= {"u": Recover(), "e": SelfTest()}
        return plain.get(key, Halt())

    def _next_setting(self, key: str) -> None:
        if key == "f":
            self.frame = JogFrame.TOOL if self.frame is JogFrame.WORLD else JogFrame.WORLD
        elif key == "s":
            self.speed_percent = _following(self.speed_percent, SPEEDS_PERCENT)
        else:
            self.size = _following(self.size, SIZES)

    def help(self) -> tuple[tuple[str, str], ...]:
        """Keys and what they do, for the screen."""
        turns = "a/A b/B c/C" if "a" in self._turns else "p/P r/R"
        meaning = "tool turns about x, y, z" if "a" in self._turns else "tool's pitch, roll"
        rows = [
            (f"1..{self._joints}", "select a joint"),
            ("+ -", "selected joint, one increment"),
            ("x/X y/Y z/Z", "tool along + / - of the frame"),
            (turns, f"{meaning}, + / -"),
        ]
        if self.arm.gripper is not None:
            rows.append(("g/G", "gripper opens / closes"))
        if self.served:
            rows.append(("u", "leave a fault; vouch: limp arm in park, servo supply on (hold the key)"))
            rows.append(("e", "self-test: each axis a little way and back (hold the key)"))
        return (
            *rows,
            ("f s i", "next frame, speed, increment"),
            ("h k", "previewed move home, to park"),
            ("t", "append the pose to the task file"),
            ("o", "say that the servo supply is off, or was: nothing is sent any more"),
            ("q", "quit; the arm holds"),
            ("space, any other", "STOP"),
        )

    # -- lines -------------------------------------------------------------------------------------------------

    def line(self, text: str) -> Action | None:
        """What a line means; None for an empty one or a comment.

        Raises:
            CommandError: it means nothing, in words that say what would.
        """
        words = text.partition("#")[0].split()
        if not words:
            return None
        name, rest = words[0].lower(), words[1:]
        plain: dict[str, Action] = {
            "home": Go("home"), "park": Go("park"), "stop": Halt(), "q": Quit(), "quit": Quit(), "pose": Show(),
            "cut": SupplyOff(),
        }  # fmt: skip
        if self.served:
            plain |= {"recover": Recover(), "self-test": SelfTest()}
        if name in plain and not rest:
            return plain[name]
        if name in ("t", "task") and len(rest) <= 1:
            return Keep(rest[0] if rest else None)
        if len(rest) != 1:
            raise self._unknown(text)
        if name == "frame" and rest[0] in (JogFrame.WORLD.value, JogFrame.TOOL.value):
            self.frame = JogFrame(rest[0])
            return Show()
        amount = self._number(rest[0], text)
        if name == "speed":
            self._set_speed(amount)
            return Show()
        axis = self._axis_named(name)
        if axis is not None:
            return Step(self._axis(axis, amount))
        short = {"pitch": "p", "roll": "r"}.get(name, name)
        if short in (*"xyz", *self._turns):
            return Step(self._tool(short, amount))
        raise self._unknown(text)

    def _set_speed(self, percent: float) -> None:
        if not 0.0 < percent <= 100.0:
            raise CommandError(f"speed {percent:g} %; allowed: above 0 to 100 % of the rig's speeds", value=percent)
        self.speed_percent = percent

    def _axis_named(self, name: str) -> int | None:
        """An axis by its name, as j1, or the gripper as g."""
        axes = self.arm.axes
        names = {axis.name.lower(): index for index, axis in enumerate(axes)}
        names |= {f"j{number}": number - 1 for number in range(1, len(axes) + 1)}
        if self.arm.gripper is not None:
            names["g"] = self.arm.gripper
        return names.get(name)

    def _number(self, text: str, line: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise self._unknown(line) from None
        if not math.isfinite(value):
            raise CommandError(f"{line.strip()!r}: {text} is not a finite number", value=text, allowed="a number")
        return value

    def _unknown(self, line: str) -> CommandError:
        turns = "a 5, b 5, c 5" if "a" in self._turns else "p 5, r 5"
        names = ", ".join(axis.name for axis in self.arm.axes)
        more = "recover, self-test, " if self.served else ""
        return CommandError(
            f"{line.strip()!r} means nothing here; allowed: a joint and degrees or millimetres (j1 +5, or by name: "
            f"{names}), x -10, y 10, z 10, {turns}, frame world, frame tool, speed 25, home, park, t FILE, pose, "
            f"cut, {more}stop, q",
            value=line,
        )

    # -- increments --------------------------------------------------------------------------------------------

    def _axis(self, index: int, amount: float) -> AxisJog:
        value = amount * unit_of(self.arm.axes[index])
        return AxisJog(amounts=tuple(value if i == index else 0.0 for i in range(len(self.arm.axes))))

    def _tool(self, name: str, amount: float) -> ToolJog:
        if name in "xyz":
            x, y, z = (amount * MM if name == axis else 0.0 for axis in "xyz")
            return ToolJog(frame=self.frame, linear=(x, y, z))
        which = self._turns[name]
        a, b, c, pitch, roll = (amount * DEG if which == i else 0.0 for i in range(5))
        return ToolJog(frame=self.frame, turn=(a, b, c), pitch=pitch, roll=roll)


def unit_of(axis: PadAxis) -> float:
    """One degree or millimetre of an axis, in rad or m."""
    return DEG if axis.kind is AxisKind.REVOLUTE else MM


def _following(value: float, among: tuple[float, ...]) -> float:
    return next((larger for larger in among if larger > value), among[0])
