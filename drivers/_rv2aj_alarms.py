"""What the CR1's numbers mean and what a person does about them; from the maker's troubleshooting list."""

from __future__ import annotations

from typing import NamedTuple

LEVELS = {1: "H", 2: "L", 3: "C"}
"""H: servos off, program stopped. L: program stopped. C: only a caution."""


class Alarm(NamedTuple):
    """Number, class letter, what it says, and the remedy."""

    number: int
    level: str
    text: str
    remedy: str

    @property
    def words(self) -> str:
        """One line for a person."""
        return f"{self.level}{self.number:04d} {self.text}: {self.remedy}"


_CLEAR = "clear the cause, then reset"
_KNOWN: dict[int, tuple[str, str, str]] = {
    50: ("H", "emergency stop of the outside circuit", "release it, reset, and switch the servos on again"),
    60: ("H", "emergency stop on the panel", "release it, reset, and switch the servos on again"),
    70: ("H", "emergency stop on the teach box", "release it, reset, and switch the servos on again"),
    1630: ("C", "servo on while an alarm stands", "reset first"),
    1640: ("C", "servo on while the dead-man switch is off", "turn the key to AUTO"),
    1650: ("C", "servo on while the brakes are released", "lock the brakes first"),
    1660: ("C", "the servos are still switching on", "wait"),
    1670: ("C", "the servos are still switching off", "wait"),
    1680: ("H", "the servos did not come on in time", "look at the emergency stop circuit and the fuses"),
    1681: ("H", "the servos dropped out", "look at the emergency stop circuit and the supply"),
    1770: ("C", "the origin is not set", "set the origin at the teach box: the encoders have lost it"),
    2000: ("L", "a move was asked for with the servos off", "switch the servos on"),
    2030: ("L", "jogging is refused now", _CLEAR),
    2600: ("L", "a position is outside the range", "move the target inside the joint limits"),
    2601: ("L", "the start is outside the range", "bring the arm inside its limits at the teach box"),
    2602: ("L", "the target is outside the range", "move the target inside the joint limits"),
    2603: ("L", "the way leaves the range", "move the line inside the reach"),
    2800: ("L", "a position cannot be reached", "move the target inside the reach"),
    2801: ("L", "the start has no joint solution", "move the start inside the reach"),
    2802: ("L", "the target has no joint solution", "move the target inside the reach"),
    2803: ("L", "the way leaves the reach", "move the line inside the reach"),
    2810: ("L", "the posture differs between start and end", "use a joint move"),
    3500: ("L", "INPUT got another type than its variable", _CLEAR),
    3700: ("L", "a variable was read before it was set", _CLEAR),
    4140: ("L", "the program was not found", "load it, or name another"),
    4170: ("L", "the program is being edited", "close it at the other client"),
    4180: ("L", "the program is running", "stop it"),
    4190: ("L", "the program is selected", "reset the slots"),
    4220: ("L", "syntax error", "look at the statement"),
    4340: ("L", "the variable is not defined", "look at the statement"),
    5000: ("H", "the teach box is enabled while the key stands on AUTO", "switch the teach box off, then reset"),
    5010: ("L", "the input AUTOENA is off", "switch it on"),
    5150: ("L", "the origin is not set", "set the origin at the teach box: the encoders have lost it"),
    5600: ("L", "not possible while an alarm stands", "reset first"),
    5610: ("C", "the stop input is on", "switch it off"),
    5640: ("L", "not possible while something runs", "wait until it is done, or stop it"),
    5650: ("L", "not possible during a stop", "reset the slots"),
    6010: ("L", "unknown command, or the line was not opened",
           "send OPEN first; Movemaster commands (MJ, GC) work only inside EXEC"),
    6020: ("L", "the operation right is missing", "give it back at the panel, the teach box or the other computer"),
    6030: ("L", "the edit right is missing", "close the program at the other client"),
    6060: ("C", "parameters are written with the key on TEACH", "turn the key"),
    6080: ("C", "the request was too long", "send fewer than 255 letters"),
    6500: ("C", "data for a program that has not opened the line", "start the program first"),
    7080: ("C", "no such parameter, or it is locked", "look at its name"),
    7810: ("H", "an Ethernet parameter is wrong", "look at the parameters NETIP, NETMSK and NETPORT"),
    7820: ("H", "no packet came for MXT in time", "look at the network, and at the parameter MXTTOUT"),
    7830: ("H", "MXT is not possible here", "it needs an Ethernet card; without one use another way in the rig"),
    7840: ("H", "MXT got another type of data than it was told", "look for another program that sends packets"),
    7500: ("C", "the battery is low", "change the battery before the origin is lost"),
}  # fmt: skip
_AXIS_FAMILIES = {
    213: ("H", "joint {n} was asked to move too fast", "lower the override or the speed"),
    216: ("H", "joint {n} is beyond its upper limit", "bring it back at the teach box"),
    217: ("H", "joint {n} is beyond its lower limit", "bring it back at the teach box"),
}


def explain(number: int, level: str = "") -> Alarm:
    """What a number means; one that is not in the list says so and where to look.

    Args:
        number: its first four digits.
        level: the class letter that the controller gave, if it did.
    """
    if number in _KNOWN:
        known, text, remedy = _KNOWN[number]
        return Alarm(number, level or known, text, remedy)
    family = _AXIS_FAMILIES.get(number // 10)
    if family is not None:
        text = family[1].format(n=number % 10) if number % 10 else family[1].format(n="of some axis")
        return Alarm(number, level or family[0], text, family[2])
    return Alarm(number, level, "an alarm of the controller", "see the maker's list of errors under this number")


def explain_standing(standing: tuple[int, int]) -> Alarm:
    """What an alarm means that stands, by its number and the level that the controller gives it."""
    number, level = standing
    return explain(number, LEVELS[level])
