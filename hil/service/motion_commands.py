"""Commands that move an arm at once, as the gate has let them through: what the loop is asked for each."""

from __future__ import annotations

from hil.errors import CommandError, InterlockError
from hil.model.rig import Rig
from hil.service import wire
from hil.service.arm_loop import ArmLoop
from hil.service.doors import Visitor
from hil.service.follow_commands import FollowCommands
from hil.service.live_arm import LiveArm
from hil.service.stop_budget import slowed
from hil.service.uploads import Shelf
from hil.types import Arm, Confirm, JogStep, Load, Start

LOAD_EVERY_S = 1.0


class MotionCommands:
    """Those of one arm.

    Args:
        rig: what it is.
        loop: that is asked.
        live: what is known of the arm.
        shelf: motions that were previewed for people.
    """

    def __init__(self, rig: Rig, loop: ArmLoop, live: LiveArm, shelf: Shelf) -> None:
        self._rig, self._loop, self._live, self._shelf = rig, loop, live, shelf
        self._following = FollowCommands(rig, loop, live)
        self._loaded_s = float("-inf")

    def ask(self, visitor: Visitor, message: wire.Command, share: float, now_s: float) -> None:
        """Ask the loop for it.

        Args:
            visitor: who wants it.
            message: what is wanted.
            share: part of the rig's speeds that the gate allows.
            now_s: monotonic clock.

        Raises:
            CommandError: it does not fit the rig.
            InterlockError: there is no loop, or it does not take it, or not yet.
        """
        match message:
            case wire.Confirm(positions=positions, supply_on=on):
                self._loop.send(Confirm(positions=positions or self._rig.park, by=visitor.who, supply_on=on))
            case wire.ArmJog():
                self._loop.arm_jog(share)
                self._following.begin()
            case wire.FollowTarget():
                self._following.ask(message, share, now_s)
            case wire.JogHold(move=move):
                axes = [axis.speed for axis in self._rig.axes]
                try:
                    move = slowed(move, share, axes, self._rig.tool_speed_m_s, self._live.turn_speed_rad_s)
                except ValueError:
                    raise CommandError(f"a jog of single axes takes {len(axes)} amounts, one per axis") from None
                self._loop.hold_jog(move, now_s)
            case wire.JogRelease():
                self._loop.release_jog()
            case wire.JogStep(move=move):
                self._loop.send(JogStep(move=move))
            case wire.ArmMotion(digest=digest):
                self._load(visitor, digest, now_s)
            case wire.Start(digest=digest):
                self._loop.send(Start(digest=digest))

    def _load(self, visitor: Visitor, digest: str, now_s: float) -> None:
        """A motion is recorded whole each time it is loaded; nobody fills ring and disk by asking again and again."""
        if now_s - self._loaded_s < LOAD_EVERY_S:
            raise InterlockError(f"a motion was loaded less than {LOAD_EVERY_S:g} s ago; ask again", ["a moment"])
        self._loaded_s = now_s
        kept = self._shelf.find(visitor.user, digest)
        assert kept is not None  # the gate has seen it
        self._loop.send(Load(motion=kept.motion, certificate=kept.certificate), Arm(digest=digest))
        self._live.loaded(kept)
