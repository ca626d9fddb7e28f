"""What `hil accept` has run: preview, confirmation, guard, host and journal as in every command, then its numbers.

On a fake it plays the person itself, and says so: it pulls the cable, restarts the board, presses the button.
"""

from __future__ import annotations

import contextlib
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from hil.cli import motion_commands
from hil.cli._verdict import show_preview
from hil.cli.output import complain
from hil.clock import monotonic_s
from hil.units import DEG

if TYPE_CHECKING:
    from hil.cli.calibrate import Person
    from hil.model.rig import Rig
    from hil.motion.motion import Motion
    from hil.runtime.fake_process import FakeProcess
    from hil.runtime.host import Host
    from hil.runtime.kinds.kind import FakeChoices
    from hil.safety.certificate import Certificate
    from hil.types import JointState, Mode
    from hil.workbench.acceptance_runs import Deed, Measured, Run

SWING_DEG = 30.0
STEP_DEG = 2.0
IN_MOTION_S = 1.5
"""How far into a motion, or into standing, the deed is done on a fake."""
SHORT_S = 6.0
"""On a fake, instead of a minute."""
AFTERWARDS_S = 0.5
"""After a fault we stay so long, to see that nothing is sent any more."""
PROVE_S = 30.0
SAME_PLACE = 1e-6


class Previewed(NamedTuple):
    """A motion that passed its preview."""

    motion: Motion
    certificate: Certificate


class _LookedError(Exception):
    """Enough was seen; nobody vouches."""


class Stage:
    """Where the runs of one hour take place: a real port, or one fake that stays for all of them.

    Args:
        name: of the rig, or its file, as it was typed.
        hardware, port: as typed.
        chosen: what kind of fake.
        confirm: asks the person to do something, and comes back when that is done.
        alone: nobody is there, of a fake: who calibrates it is played too.

    Attributes:
        journals: of all runs so far.
    """

    def __init__(
        self,
        name: str,
        hardware: bool,
        port: str | None,
        chosen: FakeChoices,
        confirm: Callable[[str], None],
        *,
        alone: bool,
    ) -> None:
        self.journals: list[Path] = []
        self._name, self._hardware, self._port, self._chosen = name, hardware, port, chosen
        self._confirm, self._alone = confirm, alone and not hardware
        self._stack = contextlib.ExitStack()
        self._fake: FakeProcess | None = None
        self._done_s: float | None = None
        self._shown: set[str] = set()

    def close(self) -> None:
        """The hour is over: so is its fake."""
        self._stack.close()

    def carry_out(self, step: str, run: Run) -> Measured:
        """Run it and take its numbers.

        Raises:
            KeyboardInterrupt: somebody wants to leave.
            ConfigError: the rig cannot be had so.
        """
        import msgspec

        from hil.errors import HilError, InterlockError, JournalError
        from hil.motion.stops import rest_time_s
        from hil.runtime.wiring import load_rig
        from hil.workbench.acceptance_runs import Deed, Measured, Way, measure

        if run.way is Way.COMMAND:
            return self._command(step, run)
        if not self._hardware and run.deed not in (Deed.NOTHING, Deed.INTERRUPT) and not run.deed.fault:
            return Measured(step=step, run=run.name, trouble=f"no fake can show it: {run.deed.do}", asked=True)
        rig = load_rig(self._name, run.changes)
        file = motion_commands.journal_file(rig, None)
        trouble, asked, self._done_s = "", False, None
        try:
            self._session(rig, run, file)
        except typer.Exit:
            pass  # it has said why, and its journal says so too
        except KeyboardInterrupt:
            if run.deed is not Deed.INTERRUPT or not file.exists():
                self._keep(file)
                raise
            print("interrupted, as it was to be", flush=True)
        except HilError as error:
            trouble, asked = str(error), isinstance(error, InterlockError) and bool(error.missing)
            complain(trouble)
        self._keep(file)
        if not file.exists():
            return Measured(step=step, run=run.name, trouble=trouble or "it wrote no journal", asked=asked)
        try:
            found = measure(step, run.name, file, self._done_s)
        except JournalError as error:
            found = Measured(step=step, run=run.name, journal=file.name, verified=str(error))
        if found.samples or found.fault:
            self._undo(run.deed)
        return msgspec.structs.replace(found, trouble=trouble, asked=asked, rest_time_s=rest_time_s(rig))

    def _keep(self, file: Path) -> None:
        if file.exists():
            self.journals.append(file)

    # -- sessions ----------------------------------------------------------------------------------------

    def _session(self, rig: Rig, run: Run, file: Path) -> None:
        from hil.workbench.acceptance_runs import Way

        url = motion_commands.announce(rig, self._hardware, self._port)
        if run.way is Way.LOOK:
            self._look(rig, url, run, file)
            return
        previewed = [self._previewed(rig, motion) for motion in _motions(rig, run)]
        seconds = self._seconds(run) or sum(each.motion.duration_s for each in previewed)

        def send(host: Host) -> Mode:
            return self._send(host, run, previewed)

        motion_commands.stream(rig, send, seconds, url=url, confirmed_by=None, journal=file, fake=self._start)

    def _previewed(self, rig: Rig, motion: Motion) -> Previewed:
        """Checked and rehearsed anew each time, and shown once.

        Raises:
            RefusedError: it may not be sent.
        """
        from hil.refusal import RefusedError
        from hil.runtime.preview import preview

        report = preview(rig, motion)
        if report.certificate is None or motion.digest not in self._shown:
            show_preview(rig, report)
        else:
            print(f"previewed again, PASSED: motion {motion.digest[:12]}, {report.duration_s:.2f} s", flush=True)
        if report.certificate is None:
            raise RefusedError(report.refusals, "nothing is sent")
        self._shown.add(motion.digest)
        return Previewed(motion, report.certificate)

    def _seconds(self, run: Run) -> float:
        """How long it goes on; a rehearsal does not take the whole time."""
        if self._hardware or not run.seconds:
            return run.seconds
        return SHORT_S + IN_MOTION_S

    def _send(self, host: Host, run: Run, previewed: Sequence[Previewed]) -> Mode:
        from hil.types import Mode

        motion_commands.pass_on_remarks(host)
        assert host.last is not None
        away = max(abs(here - park) for here, park in zip(host.last.setpoint, host.rig.park, strict=True))
        if away > SAME_PLACE and motion_commands.to_park(host) is not Mode.IDLE:
            return host.mode
        if run.deed.do:
            self._call_for(host, run.deed, moving_=bool(previewed))
        until_s = monotonic_s() + self._seconds(run)
        if not previewed:
            host.until(lambda: host.mode is not Mode.IDLE, self._seconds(run))
        while previewed:
            for motion, certificate in previewed:
                if host.run(motion, certificate) is not Mode.IDLE:
                    previewed = ()
                    break
            if monotonic_s() >= until_s:
                break
        if host.mode is Mode.FAULT:
            host.until(lambda: False, AFTERWARDS_S)
        return host.mode

    def _look(self, rig: Rig, url: str | None, run: Run, file: Path) -> None:
        """Connect, see what the controller drives, and leave again: nothing is sent that moves."""
        from hil.runtime.host import Host

        if url is None and self._fake is not None:
            self._happen(run.deed)
            time.sleep(IN_MOTION_S)  # it starts up

        def vouch(reported: JointState | None) -> str:
            print("Here the pose would be asked for; it is not vouched for this time, and nothing is sent.", flush=True)
            raise _LookedError

        with Host(rig, url=url, journal=file, command=motion_commands.command_line(), fake=self._start) as host:
            with contextlib.suppress(_LookedError):
                host.connect(vouch)
            for event in host.events:
                print(f"  {event}", flush=True)
        motion_commands.close_with(host, "looked", done=True)

    # -- the person, or who plays it ---------------------------------------------------------------------

    def _start(self, rig: Rig, folder: Path, meanwhile: Callable[[], None], loop_core: int | None) -> FakeProcess:
        """The fake of this hour; it holds what it was sent from one run to the next, as a real board does."""
        from hil.runtime import fake_process

        if self._fake is None:
            own = self._stack.enter_context(
                tempfile.TemporaryDirectory(prefix="hil-accept-", ignore_cleanup_errors=True)
            )
            self._fake = fake_process.start_fake(rig, Path(own), meanwhile, loop_core, self._chosen)
            self._stack.callback(self._fake.stop)
        return self._fake.lent()

    def _call_for(self, host: Host, deed: Deed, *, moving_: bool) -> None:
        """Ask the person at the arm for it; on a fake do it a little later."""
        if self._hardware:
            print(f"Now, {'while it moves' if moving_ else 'while it stands'}: {deed.do}.", flush=True)
            return
        print(f"On the fake this is done for you: {deed.do}.", flush=True)
        threading.Thread(target=self._do_in_time, args=(host, deed, moving_), daemon=True).start()

    def _do_in_time(self, host: Host, deed: Deed, moving_: bool) -> None:
        from hil.types import Mode

        wanted = Mode.STREAMING if moving_ else Mode.IDLE
        deadline_s = monotonic_s() + 10.0
        while host.mode is not wanted and monotonic_s() < deadline_s:
            time.sleep(0.02)
        time.sleep(IN_MOTION_S)
        while host.mode is not wanted and monotonic_s() < deadline_s:
            time.sleep(0.02)
        if host.mode is wanted and host.alive:
            self._happen(deed)

    def _happen(self, deed: Deed) -> None:
        from hil.workbench.acceptance_runs import Deed

        if deed is Deed.INTERRUPT:
            self._done_s = monotonic_s()
            signal.raise_signal(signal.SIGINT)
        elif self._fake is not None:
            self._done_s = self._fake.meet(deed.fault)

    def _undo(self, deed: Deed) -> None:
        if self._hardware:
            if deed.undo:
                self._confirm(deed.undo)
        elif deed.lasts and self._fake is not None and self._done_s is not None:
            self._fake.meet(deed.fault, begins=False)
            print(f"On the fake this is done for you: {deed.undo}.", flush=True)

    # -- other commands ----------------------------------------------------------------------------------

    def _command(self, step: str, run: Run) -> Measured:
        from hil.errors import HilError, InterlockError
        from hil.workbench.acceptance_runs import Measured

        trouble, asked = "", False
        try:
            worst = self._do_command(run.task)
        except typer.Exit as leaving:
            worst = None
            if leaving.exit_code:
                trouble = f"it ended with {leaving.exit_code}"
        except HilError as error:
            worst, trouble, asked = None, str(error), isinstance(error, InterlockError) and bool(error.missing)
            complain(trouble)
        return Measured(
            step=step, run=run.name, complete=not trouble, trouble=trouble, asked=asked, mode="idle", worst=worst
        )

    def _do_command(self, task: str) -> float | None:
        from hil.cli import arms, bench_controller, calibrate
        from hil.runtime.wiring import load_rig

        rig = load_rig(self._name)
        if task == "prove":
            seconds = PROVE_S if self._hardware else SHORT_S
            arms.check(rig.file, rig=rig.id, prove=True, seconds=seconds, seed=1, as_json=False)
        elif task == "status":
            bench_controller.status(self._name, hardware=self._hardware, port=self._port, as_json=False)
        elif task == "backup":
            folder = Path(f"{rig.id}-backup-{time.strftime('%Y%m%d-%H%M%S')}")
            if not self._hardware:
                folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="hil-backup-")))
            bench_controller.backup(self._name, output=folder, hardware=self._hardware, port=self._port)
        elif task == "calibrate":
            calibrate.calibrate_with(
                self._calibrator(),
                self._name,
                hardware=self._hardware,
                port=self._port,
                by="the rehearsal" if self._alone else None,
            )
            return _worst_residual(load_rig(self._name))
        return None

    def _calibrator(self) -> Person:
        from hil.cli._accept_played import PlayedPerson
        from hil.cli.calibrate import Person

        return PlayedPerson() if self._alone else Person()


def _worst_residual(rig: Rig) -> float | None:
    """Of the calibration in force, in degrees or millimetres."""
    from hil.model._calibration_file import read_calibration

    note = rig.calibration
    if note is None:
        return None
    axes = read_calibration(Path(note.file), rig, (note.rig,)).axes
    return max(abs(residual) for axis in axes.values() for residual in axis.residuals)


def _motions(rig: Rig, run: Run) -> list[Motion]:
    """What is streamed, from the park pose on."""
    from hil.motion.planner import plan, plan_joint_move
    from hil.workbench.acceptance_runs import Way

    if run.way is Way.TASK:
        return [plan(rig, run.task)]
    if run.way is Way.STANDS:
        return []
    if run.way is Way.HOME:
        return [plan_joint_move(rig, rig.park, rig.home, speed_percent=60.0)]
    goal = list(rig.park)
    goal[0] += (SWING_DEG if run.way is Way.SWING else STEP_DEG) * DEG
    return [plan_joint_move(rig, rig.park, goal), plan_joint_move(rig, goal, rig.park)]
