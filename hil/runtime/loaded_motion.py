"""The motion that is loaded: verified with its certificate when it comes, when it is armed, and when it starts."""

from __future__ import annotations

from hil.errors import CommandError, InterlockError
from hil.link import ArmLink, InputLink
from hil.model.rig import Rig
from hil.model.start_tolerance import start_tolerances
from hil.motion.motion import Motion
from hil.motion.refusals import say
from hil.runtime.certified_rows import CertifiedRows
from hil.runtime.input_watch import InputWatch, watched_signals
from hil.runtime.intent import Intent
from hil.runtime.mode_log import ModeLog
from hil.runtime.modes import Event
from hil.runtime.readiness import Readiness
from hil.runtime.sources import MotionSource
from hil.runtime.trail import Trail
from hil.safety.certificate import Certificate, verify
from hil.safety.guard import Guard
from hil.types import WRITING, Load, Mode


class LoadedMotion:
    """Takes a certified motion, and has it stream once it was armed and everything is true in that very tick.

    Args:
        rig: the resolved rig.
        link: the arm behind its driver.
        guard: the live checks.
        rows: the motion as the wire has it.
        readiness: of the arm.
        log: mode and words.
        intent: gets the source of its samples.
        trail: where the arm stands.
        epoch_offset_s: epoch seconds minus this clock's seconds, for the expiry of certificates.
        version: software version that certificates have to carry.

    Attributes:
        inputs: of the controller, against those that the motion was proved with.
    """

    def __init__(
        self,
        rig: Rig,
        link: ArmLink,
        guard: Guard,
        rows: CertifiedRows,
        readiness: Readiness,
        log: ModeLog,
        intent: Intent,
        trail: Trail,
        *,
        epoch_offset_s: float,
        version: str,
    ) -> None:
        self._rig, self._link, self._guard, self._rows = rig, link, guard, rows
        self._readiness, self._log, self._intent, self._trail = readiness, log, intent, trail
        self._epoch_offset_s, self._version = epoch_offset_s, version
        self._loaded: tuple[Motion, Certificate] | None = None
        self.inputs = InputWatch(())

    def load(self, request: Load, now_s: float) -> None:
        """Take a motion in place of the one before.

        Raises:
            HilError: not now, not of this rig, not certified, or not to be sent by it.
        """
        mode = self._log.mode
        if mode in WRITING or mode is Mode.ARMED:
            raise InterlockError(f"a motion is loaded while nothing moves or is armed; the mode is {mode.value}")
        motion, certificate = Motion.from_bytes(request.motion), Certificate.from_bytes(request.certificate)
        names = tuple(axis.name for axis in self._rig.axes)
        if (motion.axes, motion.period_s) != (names, self._rig.period_s):
            raise CommandError(
                f"motion: axes {', '.join(motion.axes)} with a period of {motion.period_s * 1e3:g} ms given; "
                f"allowed: axes {', '.join(names)} with a period of {self._rig.period_s * 1e3:g} ms, those of this rig"
            )
        self._verify(motion, certificate, now_s)
        table = self._rows.made(motion, certificate)
        self._watch_inputs(motion)
        self._rows.take(motion, table)
        self._loaded = motion, certificate
        self._log.say(f"motion {motion.digest[:12]} loaded, {motion.duration_s:.2f} s")

    def arm(self, digest: str, now_s: float) -> None:
        """Arm the rig for the motion with this digest.

        Raises:
            HilError: something is not as it has to be; see `load` and `Readiness`.
        """
        self._readiness.may_arm()
        self._checked(digest, now_s)
        self._readiness.arm(now_s, "armed")

    def start(self, digest: str, now_s: float) -> None:
        """Stream the motion for which the rig is armed; errors as for `arm`."""
        self._log.need(Mode.ARMED, "start")
        if self._readiness.jog_share is not None:
            raise InterlockError(
                "the rig is armed for jogging, not for a motion; stop, then arm the motion", ["motion"]
            )
        motion = self._checked(digest, now_s)
        # The arm stands within the start tolerance; from here on the motion's own first sample is the reference.
        self._trail.begin(motion.start, now_s)
        self._guard.reset(motion.start)
        self._intent.source = MotionSource(motion, by_table=self._rows.begin())
        self.inputs = InputWatch(motion.expected)
        self._log.follow(Event.START, f"streaming motion {digest[:12]}")

    def _watch_inputs(self, motion: Motion) -> None:
        """Have the controller's inputs read that the motion depends on, and no others."""
        if isinstance(self._link, InputLink):
            self._link.watch_inputs(watched_signals(motion.expected))
        elif motion.expected:
            raise InterlockError("this motion depends on inputs, and the controller shows none", ["inputs"])

    def _verify(self, motion: Motion, certificate: Certificate, now_s: float) -> None:
        verify(certificate, self._rig, motion, now_s + self._epoch_offset_s, version=self._version)

    def _checked(self, digest: str, now_s: float) -> Motion:
        """Everything that has to be true in the tick of the first byte, certificate and start pose included."""
        if self._loaded is None or self._loaded[0].digest != digest:
            raise InterlockError("no motion with this digest is loaded; load it with its certificate first", ["motion"])
        motion, certificate = self._loaded
        self._verify(motion, certificate, now_s)
        self._readiness.check(now_s)
        here = self._trail.here
        ways = zip(self._rig.axes, here, motion.start, start_tolerances(self._rig), strict=True)
        for axis, present, start, tolerance in ways:
            if abs(present - start) > tolerance:
                raise InterlockError(
                    f"{axis.name} stands at {say(axis, present)}, the motion starts at {say(axis, start)}: "
                    "preview again from the present pose",
                    ["start pose"],
                )
        # A motion may begin where a limit is not kept; an arm that stands better may not be brought there.
        if worse := self._guard.worse(here, motion.start):
            names = ", ".join(f"{hit.axis} [{hit.check}]" for hit in worse)
            raise InterlockError(
                f"the motion starts nearer than the arm stands: {names}. Preview again from the present pose",
                ["start pose"],
            )
        return motion
