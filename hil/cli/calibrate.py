"""hil calibrate and hil identify: questions to a person, small moves of one servo, a dated file."""

from __future__ import annotations

import datetime
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli._names import RigName, names
from hil.cli.motion_commands import Hardware, Port, say_which
from hil.cli.output import complain
from hil.units import DEG, MM

if TYPE_CHECKING:
    from hil.model._calibration_file import AxisCalibration
    from hil.model.rig import Rig
    from hil.runtime.channel_wiring import ChannelArm
    from hil.types import ControllerIdentity
    from hil.workbench.calibration import Progress, Question
    from hil.workbench.channel_line import ChannelLine

By = Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who does it; asked if not given.")]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(calibrate)
    app.command()(identify)
    app.command()(release)


def calibrate(
    rig: RigName,
    centre: Annotated[
        bool, typer.Option("--centre", help="First of all, horns off: 1500 us to one channel after the other.")
    ] = False,
    joint: Annotated[str | None, typer.Option(help="Redo this one joint, or the gripper.")] = None,
    channels: Annotated[
        str | None, typer.Option(help="Channels that carry a servo, as 1,2,3,4,5,6; none: those of the rig.")
    ] = None,
    hardware: Hardware = False,
    port: Port = None,
    by: By = None,
) -> None:
    """Find out which channel moves which joint, which way and how far, and write it into a dated file.

    Answers come from the keyboard, or line by line from a pipe. Every move is small; stop or Ctrl-C holds the arm and
    keeps what was measured.
    """
    calibrate_with(Person(), rig, centre=centre, joint=joint, channels=channels, hardware=hardware, port=port, by=by)


def calibrate_with(
    person: Person,
    rig: str,
    *,
    centre: bool = False,
    joint: str | None = None,
    channels: str | None = None,
    hardware: bool = False,
    port: str | None = None,
    by: str | None = None,
) -> None:
    """As `calibrate`, with somebody who answers."""
    from hil.model._controller_file import read_controller, write_controller
    from hil.runtime.port_wiring import check_arm, require_something_to
    from hil.runtime.wiring import load_rig
    from hil.workbench import calibration
    from hil.workbench.drafts import drop_draft, write_calibration

    if joint is not None and (centre or channels is not None):
        raise typer.BadParameter("--joint goes with neither --centre nor --channels")
    measured = load_rig(rig, calibrated=False)
    require_something_to("calibrate", measured)
    trusted = measured if joint is None else _calibrated(rig, joint)
    stand = _Stand(trusted, hardware, port, numbers=_numbers(channels), at_park=joint is not None)
    if joint is not None and stand.url is not None:
        check_arm(trusted, stand.url)
        stand.expected = read_controller(trusted)
    if centre:
        with stand.line(person, horns_off=True) as line:
            calibration.carry_out(calibration.centre(stand.plan), person.answer, line, person.tell)
        print(f"all done. Next, with the power left on: hil calibrate {rig}{stand.options}")
        return
    operator = by or person.name()
    with stand.line(person) as line:
        if stand.url is not None and joint is None:
            _show_changes(load_rig(rig), line.controller, stand.url)
        axes = _measure(stand, line, person, joint)
    now = datetime.datetime.now().astimezone()
    port_name = stand.url or "fake"
    written = write_calibration(measured, axes, operator=operator, adapter=stand.adapter, port=port_name, now=now)
    if stand.url is not None and line.controller is not None:
        date = now.isoformat(timespec="seconds")
        write_controller(measured.id, written.stem, line.controller, port=stand.url, date=date)
    drop_draft(measured.id, fake=stand.url is None)
    print(f"written: {written}")
    print(f"next: hil check {rig}, then hil jog {rig}{stand.options}")
    print(f"and once: hil release {rig}{stand.options}, which asks whether the limp arm lies as the park pose says")
    if stand.url is None:
        print("It was made on a fake, and counts for fakes as long as this rig has none that was made with --hardware")


def identify(rig: RigName, hardware: Hardware = False, port: Port = None, by: By = None) -> None:
    """Move the gripper once, a little, and have a person confirm that this port leads to the right arm.

    What the controller there says of itself is then the right one's, also where it has changed. An arm that knows by
    itself where it stands is not moved: its controller is asked who it is.
    """
    from hil.errors import InterlockError
    from hil.model._calibration_file import forget_confirmation, read_confirmation
    from hil.model._controller_file import write_controller
    from hil.runtime.port_wiring import is_calibrated_by_hand
    from hil.runtime.wiring import load_rig
    from hil.workbench import identity
    from hil.workbench.calibration import carry_out
    from hil.workbench.drafts import confirm

    set_up = load_rig(rig)
    if not is_calibrated_by_hand(set_up):
        _identify_by_name(set_up, hardware, port, by)
        return
    note = set_up.calibration
    stand = _Stand(set_up, hardware, port, at_park=True)
    if stand.url is not None and (note is None or note.adapter is None):
        raise InterlockError(
            f"rig {set_up.id} is not calibrated on an arm: run `hil calibrate {rig}{stand.options}`, which also "
            "confirms that it is this arm",
            ["calibration"],
        )
    person = Person()
    operator = by or person.name()
    with stand.line(person) as line:
        _show_changes(set_up, line.controller, stand.url)
        try:
            nod = identity.identify(set_up.title, identity.nodding_axis(set_up, stand.plan))
            carry_out(nod, person.answer, line, person.tell)
        except InterlockError:
            seen = read_confirmation(set_up.id)
            if stand.adapter is not None and seen is not None and seen.place == stand.adapter.place:
                forget_confirmation(set_up.id)
            raise
    if stand.url is None or stand.adapter is None or note is None:
        print("confirmed; of a fake nothing is remembered")
        return
    now = datetime.datetime.now().astimezone()
    file = confirm(set_up.id, note.id, by=operator, adapter=stand.adapter, port=stand.url, now=now)
    if line.controller is not None:
        write_controller(set_up.id, note.id, line.controller, port=stand.url, date=now.isoformat(timespec="seconds"))
    print(f"confirmed: {file}")


def release(
    rig: Annotated[
        str,
        typer.Argument(
            metavar="RIG|URL", autocompletion=names("rigs"), help="Rig's name or file; of an arm at a lab its address."
        ),
    ],
    hardware: Hardware = False,
    port: Port = None,
    by: By = None,
) -> None:
    """Let the arm go limp, one axis after the other, each when you say so: what carries most comes last.

    After each session the board goes on holding the arm, and its servos get hot; this ends it. Where the arm is nobody
    knows then, and the next start asks.
    """
    from hil.cli._far_release import release_far
    from hil.errors import InterlockError
    from hil.model._controller_file import read_controller
    from hil.runtime.channel_wiring import channels_of
    from hil.runtime.port_wiring import check_arm, is_calibrated_by_hand, require_something_to
    from hil.runtime.wiring import load_rig
    from hil.workbench.calibration import carry_out
    from hil.workbench.release_steps import release as steps

    if "://" in rig:
        if hardware or port is not None:
            raise typer.BadParameter(f"{rig} is an arm of a lab, which knows its port: leave --hardware and --port out")
        person = Person()
        release_far(rig, by or "", person.answer, person.tell)
        return
    set_up = load_rig(rig)
    require_something_to("let go of", set_up)
    if not is_calibrated_by_hand(set_up):
        raise InterlockError(
            f"rig {set_up.id}: its arm has brakes and needs no holding; switch its servos off at the controller",
            ["an arm that is held by pulses"],
        )
    stand = _Stand(set_up, hardware, port, at_park=True, held=True)
    if stand.url is not None:
        check_arm(set_up, stand.url)
        stand.expected = read_controller(set_up)
    person = Person()
    with stand.line(person, after_a_cut=True) as line:
        gone = carry_out(steps(set_up, channels_of(set_up), tells=line.tells), person.answer, line, person.tell)
    if gone:
        print(f"limp: {', '.join(gone)}. Where the arm is nobody knows now: the next start asks")
        _ask_for_park(set_up, person, by, real=stand.url is not None)
        print("If this was the end of the session: servo supply off first, then the logic")


def _ask_for_park(rig: Rig, person: Person, by: str | None, *, real: bool) -> None:
    """A limp arm lies before somebody: the moment to see whether the rig's park pose is one in which it stays."""
    from hil.model._park_file import write_park
    from hil.space.limp_rest import limp_rest, words
    from hil.workbench.jog_pad import unit_of
    from hil.workbench.park_table import park_text

    today = datetime.date.today().isoformat()
    pose = ", ".join(f"{axis.name} {axis.park / unit_of(axis):zg}" for axis in rig.axes)
    print(f"The park pose of the rig: {pose} (degrees, millimetres). On paper: {words(rig, limp_rest(rig, rig.park))}.")
    if not person.agrees("Put the limp arm into it and take your hands away. Does it stay there by itself? (yes/no) "):
        lies = {
            axis.name: at for axis in rig.axes if (at := person.lies(axis.name, axis.park / unit_of(axis))) is not None
        }
        if lies:
            print("Put this into a rig of your own (docs/rigs.md): every start drives the arm from there")
            print(park_text(rig, lies, by or person.name(), today))
        return
    if not real:
        print("of a fake nothing is remembered")
        return
    print(f"written: {write_park(rig, by or person.name(), today)}")


def _identify_by_name(rig: Rig, hardware: bool, port: str | None, by: str | None) -> None:
    """Show what a controller says of itself, and have a person take it for the right one."""
    from hil.errors import InterlockError
    from hil.model._controller_file import calibration_of, write_controller
    from hil.model.files import state_dir
    from hil.runtime.lock import RigLock
    from hil.runtime.port_wiring import look_over, who_answers

    url = say_which(rig, hardware, port)
    if url is None:
        print("; ".join(f"{condition.name}: {condition.text}" for condition in look_over(rig, None)))
        print("it answers; of a fake nothing is remembered")
        return
    person = Person()
    operator = by or person.name()
    with RigLock(state_dir(), rig.id, command=" ".join(["hil", *sys.argv[1:]])):
        controller = who_answers(rig, url)
        for what, value in controller.facts:
            print(f"{what}: {value}")
        _show_changes(rig, controller, url)
        if not person.agrees(f"Is this the controller of {rig.title}? Look at the arm and follow the cable. (yes/no) "):
            raise InterlockError(
                f"{url} does not lead to the controller of {rig.title}: follow the cable, or name the right port with "
                "--port. Nothing was sent but questions",
                ["identity"],
            )
        date = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        file = write_controller(rig.id, calibration_of(rig), controller, port=url, date=date)
    print(f"confirmed by {operator}: {file}")


def _show_changes(rig: Rig, now: ControllerIdentity | None, url: str | None) -> None:
    """Say how the controller differs from the one that was there before."""
    from hil.errors import ConfigError
    from hil.model._controller_file import read_controller

    if url is None or now is None:
        return
    try:
        before = read_controller(rig)
    except ConfigError as error:
        print(f"what was remembered of the controller cannot be read, and is written anew: {error}")
        return
    for change in before.changes(now) if before is not None else ():
        print(f"  changed: {change}")


def _calibrated(rig: str, joint: str) -> Rig:
    """The rig with the calibration of which one joint is to be redone."""
    from hil.errors import ConfigError, InterlockError
    from hil.runtime.wiring import load_rig

    set_up = load_rig(rig)
    names = [axis.name for axis in set_up.axes]
    if joint not in names:
        raise ConfigError("hil calibrate", "--joint", joint, f"one of {', '.join(names)}")
    if set_up.calibration is None:
        raise InterlockError(
            f"rig {set_up.id} has no calibration of which one joint could be redone: leave --joint out", ["calibration"]
        )
    return set_up


def _numbers(channels: str | None) -> tuple[int, ...]:
    """Channels as they were typed."""
    if channels is None:
        return ()
    texts = [text.strip() for text in channels.split(",")]
    if not all(text.isdecimal() and int(text) < 32 for text in texts) or len(set(texts)) < len(texts):
        raise typer.BadParameter(f"{channels!r}; allowed: numbers 0 to 31, each once, with commas between them")
    return tuple(int(text) for text in texts)


def _measure(stand: _Stand, line: ChannelLine, person: Person, joint: str | None) -> dict[str, AxisCalibration]:
    """Go through the procedure, keeping a draft; gives every axis of the rig."""
    from hil.cli._keyboard import somebody_typed
    from hil.model._calibration_file import read_calibration
    from hil.workbench.calibration import calibrate as procedure
    from hil.workbench.calibration import carry_out
    from hil.workbench.drafts import Draft, write_draft

    rig = stand.rig

    def keep(progress: Progress) -> None:
        saved = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        write_draft(
            Draft(
                rig=rig.id,
                adapter=stand.adapter,
                only=joint,
                saved=saved,
                progress=progress,
                controller=line.controller,
                rig_digest=rig.digest,
            )
        )

    steps = procedure(stand.plan, _begin(stand, line, person, joint), joint)
    found = carry_out(steps, person.answer, line, person.tell, keep, somebody_typed)
    if joint is None or rig.calibration is None:
        return found
    before = read_calibration(Path(rig.calibration.file), rig, (rig.calibration.rig,))
    return {**before.axes, **found}


def _begin(stand: _Stand, line: ChannelLine, person: Person, joint: str | None) -> Progress:
    """A draft that is to be continued; else the channels, where those are known; else nothing."""
    from hil.errors import InterlockError
    from hil.workbench.calibration import Progress
    from hil.workbench.drafts import read_draft

    draft = None
    try:
        draft = read_draft(stand.rig, stand.plan, stand.adapter, joint, line.controller)
    except InterlockError as refused:
        person.tell(f"{refused}. It cannot be gone on with")
        if not person.begins_anew():
            raise
    if draft is not None and person.continues(draft.saved, len(draft.progress.done), len(stand.plan.axes)):
        return draft.progress
    if joint is None:
        return Progress()
    return Progress(channels={axis.name: axis.channel for axis in stand.plan.axes})


class _Stand:
    """The arm that is worked on.

    Args:
        rig: with as much of a calibration as is to be trusted.
        numbers: channels to try; none: those of the rig.
        at_park: begin in the park pose, if the rig is calibrated.
        held: a fake's board drives the arm already, as after a session.

    Attributes:
        url: the real port, None for the fake.
        adapter: at that port, None for the fake.
        options: the options that name the port, for advice.
        expected: the controller that has to answer; None for any.
    """

    def __init__(
        self,
        rig: Rig,
        hardware: bool,
        port: str | None,
        *,
        numbers: tuple[int, ...] = (),
        at_park: bool,
        held: bool = False,
    ) -> None:
        from hil.runtime.channel_wiring import channels_of
        from hil.runtime.port_wiring import check_adapter
        from hil.workbench.calibration import plan_calibration

        self.rig = rig
        self.options = "" if not hardware else f" --hardware{'' if port is None else f' --port {port}'}"
        self._at_park, self._held = at_park and rig.calibration is not None, held
        self.plan = plan_calibration(rig, channels_of(rig), at_park=self._at_park, channels=numbers)
        self.url = say_which(rig, hardware, port)
        self.adapter = None
        if self.url is not None:
            self.adapter = check_adapter(rig, self.url)

        self.expected: ControllerIdentity | None = None

    @contextmanager
    def line(self, person: Person, *, horns_off: bool = False, after_a_cut: bool = False) -> Iterator[ChannelLine]:
        """The channels, connected; however this ends, they hold, and the rig is free again.

        Args:
            person: is told what a fake's arm does.
            horns_off: nothing can be seen of the arm.
            after_a_cut: nothing gets a pulse here, so it does not matter whether the servos have power.
        """
        from hil.model.files import state_dir
        from hil.runtime.lock import RigLock
        from hil.runtime.terminal_signals import held_back
        from hil.workbench.channel_line import ChannelLine

        with RigLock(state_dir(), self.rig.id, command=" ".join(["hil", *sys.argv[1:]])):
            arm = self._arm(horns_off)
            seen = person.watch(self.rig, arm.seen) if arm.seen is not None and not horns_off else None
            line = ChannelLine(arm.link, self.plan.channels, arm.clock, moved=seen)
            try:
                line.connect()
                print(
                    "\n".join([*line.notices, f"{line.identity} answers; nothing moves before you say so"]), flush=True
                )
                if not after_a_cut:
                    self._check_supply(line)
                yield line
            except KeyboardInterrupt:
                complain("stopped: the arm holds where it is, and what was measured is kept")
                raise
            finally:
                with held_back():
                    line.stop()
                    line.close()

    def _check_supply(self, line: ChannelLine) -> None:
        """What the board drives is not believed after the servo supply was cut."""
        from hil.runtime.supply_memory import refuse_if_cut

        if self.url is not None:
            driven = [f"channel {channel}" for channel, pulse_us in line.report().items() if pulse_us is not None]
            refuse_if_cut(self.rig.id, driven)

    def _arm(self, horns_off: bool) -> ChannelArm:
        from hil.runtime.channel_wiring import channels_of, crooked_arm, fake_channels, real_channels
        from hil.runtime.wiring import load_rig
        from hil.workbench.calibration import middle_pose

        if self.url is not None and self.adapter is not None:
            return real_channels(self.rig, self.url, self.plan.channels, self.adapter, self.expected)
        note = self.rig.calibration
        if self._held or (note is not None and note.adapter is not None):
            true = self.rig
        else:
            true = crooked_arm(load_rig(self.rig.file, calibrated=False), self.rig.id)
            if not horns_off:
                print(
                    "The arm of this fake is put together otherwise than the rig's file says: find out how. Its joints "
                    "are in the middle of their travel already, and after each move you read what you would see"
                )
        start = true.park if self._at_park or self._held else middle_pose(channels_of(true))
        return fake_channels(self.rig, self.plan.channels, true, start, driven=self._held)


class Person:
    """Who answers: somebody at the keyboard, or a pipe with one answer a line."""

    def __init__(self) -> None:
        self._explained: set[tuple[str, str]] = set()

    def answer(self, question: Question) -> str:
        """Put a question; the possible answers are told once for each kind and axis. No more input means stop."""
        self.tell(question.text)
        topic = (question.kind, question.axis)
        if topic not in self._explained:
            self._explained.add(topic)
            self.tell(f"  [{question.answers}]")
        return self._read("> ", "stop")

    @staticmethod
    def tell(text: str) -> None:
        """Print; on a terminal no word is broken at its edge."""
        lines = text.splitlines()
        if sys.stdout.isatty():
            width = shutil.get_terminal_size().columns
            lines = [part for line in lines for part in _wrapped(line, width)]
        print("\n".join(lines), flush=True)

    def name(self) -> str:
        """Who is it."""
        from hil.errors import InterlockError

        name = self._read("Your name, for the file: ", "").strip()
        if not name:
            raise InterlockError("nobody says who does this; nothing was sent", ["a name"])
        return name

    def continues(self, saved: str, finished: int, joints: int) -> bool:
        """Whether a draft is to be continued.

        Raises:
            CalibrationStoppedError: neither; nothing was sent.
        """
        from hil.workbench.calibration import CalibrationStoppedError

        words = (
            f"A calibration was begun here, last touched {saved}, {finished} of {joints} joints finished. Continue it? "
            "(yes/no) "
        )
        while (answer := self._read(words, "stop").strip().lower()) not in ("", "yes", "no", "stop"):
            print(f"{answer!r}: allowed: yes, no (begin anew), stop")
        if answer == "stop":
            raise CalibrationStoppedError("stopped; nothing was sent, and the draft is kept")
        return answer != "no"

    def begins_anew(self) -> bool:
        """Whether a draft that does not fit may be thrown away; no more input means no."""
        return self.agrees("Begin anew? What was measured then is thrown away. (yes/no) ")

    def agrees(self, question: str) -> bool:
        """Whether the person says yes; no more input means no."""
        while (answer := self._read(question, "no").strip().lower()) not in ("yes", "no"):
            print(f"{answer!r}: allowed: yes, no")
        return answer == "yes"

    def lies(self, name: str, usual: float) -> float | None:
        """Where an axis of a limp arm lies, in degrees or millimetres; None for as usual, or for no more input."""
        while True:
            text = self._read(f"{name} lies at (Enter: {usual:g}): ", "").strip().replace(",", ".")
            try:
                value = float(text) if text else None
            except ValueError:
                value = math.nan
            if value is None or math.isfinite(value):
                return value
            print("a number is needed")

    def watch(self, rig: Rig, seen: Callable[[], tuple[float, ...]]) -> Callable[[], None]:
        """For a fake, which nobody can look at: says what one would see."""
        last = in_view(rig, seen())

        def look() -> None:
            now = in_view(rig, seen())
            changes = [
                f"{axis.name} went from {before:g} to {after:g} {'deg' if axis.kind.value == 'revolute' else 'mm'}"
                for axis, before, after in zip(rig.axes, last, now, strict=True)
                if before != after
            ]
            print(f"  (you see: {', '.join(changes) or 'nothing moves'})")
            last[:] = now

        return look

    @staticmethod
    def _read(prompt: str, at_end: str) -> str:
        try:
            text = input(prompt)
        except EOFError:
            text = at_end
            print(text)
            return text
        if not sys.stdin.isatty():
            print(text, flush=True)
        return text


def in_view(rig: Rig, positions: tuple[float, ...]) -> list[float]:
    """Positions as the eye has them, to half a degree or half a millimetre."""
    return [
        round(2.0 * position / (DEG if axis.kind.value == "revolute" else MM)) / 2.0
        for axis, position in zip(rig.axes, positions, strict=True)
    ]


def _wrapped(line: str, width: int) -> list[str]:
    return textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
