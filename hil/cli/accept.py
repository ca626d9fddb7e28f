"""hil accept: the first hour with a real arm, step by step, and one archive of it. The fake unless --hardware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._names import names
from hil.cli.motion_commands import Hardware, Port, command_line, say_which
from hil.cli.output import complain

if TYPE_CHECKING:
    from hil.cli._accept_runs import Stage
    from hil.model.rig import Rig
    from hil.workbench.acceptance import Outcome, Part
    from hil.workbench.acceptance_archive import Archive
    from hil.workbench.acceptance_talk import Talk


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(accept)


def accept(
    rig: Annotated[str | None, typer.Argument(autocompletion=names("rigs"), help="Rig's name or file.")] = None,
    hardware: Hardware = False,
    port: Port = None,
    answers: Annotated[
        Path | None, typer.Option(help='A TOML file of answers, step = "text", instead of asking; for rehearsals.')
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The archive; none: RIG-acceptance.zip.")
    ] = None,
    journals: Annotated[
        list[Path] | None, typer.Option("--journal", help="A further journal for the archive; may be given again.")
    ] = None,
    made_of: Annotated[
        Path | None, typer.Option("--from", help="Make a fake's profile of this archive, and nothing else.")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Which kind of fake; see `hil fake --list`.")] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A further choice of the fake.")
    ] = None,
) -> None:
    """Go through the first hour with an arm, step by step; what is done already is not asked again.

    It asks the controller questions, and you. Where the arm moves it asks first whether your hands are clear, and goes
    the way of `hil run`. Ends with 1 if a step has failed.
    """
    if made_of is not None:
        if rig is not None or hardware or answers is not None:
            raise typer.BadParameter("--from makes a profile, and goes with -o alone")
        _make_profile(made_of, output)
        return
    if rig is None:
        raise typer.BadParameter("name a rig, or an archive with --from")
    from hil.cli._accept_runs import Stage
    from hil.runtime.port_wiring import raw_line, require_something_to
    from hil.runtime.wiring import fake_choices, load_rig
    from hil.workbench.acceptance_talk import Talk

    set_up = load_rig(rig)
    require_something_to("accept", set_up)
    person = _Person(None if answers is None else _read_answers(answers, hardware=hardware))
    for journal in journals or ():
        if not journal.is_file():
            raise typer.BadParameter(f"{journal} is no file", param_hint="--journal")
    if (hardware or port is not None) and (profile or changes):
        raise typer.BadParameter("--profile and --set are for the fake")
    chosen = fake_choices(set_up, profile, changes or ())
    url = say_which(set_up, hardware, port)
    open_port, clock = raw_line(set_up, url, chosen)
    stage = Stage(rig, hardware, port, chosen, person.confirm, alone=answers is not None)
    hour = _Hour(set_up, output or Path(f"{set_up.id}-acceptance.zip"), url, person, stage, journals or [])
    try:
        through = hour.walk(lambda step: Talk(set_up.controller.kind, open_port(), clock, step))
    finally:
        stage.close()
    if hour.summary() or not through:
        raise typer.Exit(1)


def _make_profile(archive: Path, output: Path | None) -> None:
    """Write the fake of an archive, or print it."""
    from hil.errors import ConfigError
    from hil.workbench.acceptance_archive import FAKES, profile_of, read, require_answers

    found = read(archive)
    require_answers(found, archive)
    text = profile_of(found)
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(output), "-o", error.strerror or str(error), "a file that can be written") from None
    print(f"profile written: {output}. Try it: hil fake {FAKES[found.kind]} --profile {output}")


CLEAR = "clear"


def _read_answers(file: Path, *, hardware: bool) -> dict[str, str]:
    """What a file answers, by step.

    Raises:
        ConfigError: there is no such step, or an answer is no text and no number; or it clears the way for a real arm.
    """
    from hil.errors import ConfigError
    from hil.model.files import read_toml
    from hil.tables import closest
    from hil.workbench.acceptance import PARTS

    known = [CLEAR, *(part.step.id for parts in PARTS.values() for part in parts)]
    found = {}
    for key, value in read_toml(file).items():
        if key not in known:
            meant = closest(key, known)
            advice = f"Did you mean {meant}?" if meant else ""
            raise ConfigError(str(file), key, value, f"no such step; steps are {', '.join(known[1:])}", advice)
        if key == CLEAR and hardware:
            advice = "Leave it out: with --hardware this is asked at the terminal, each time."
            raise ConfigError(str(file), key, value, "not with --hardware", advice)
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if not isinstance(value, str | int | float):
            raise ConfigError(str(file), key, value, 'text or a number, such as "yes" or "5.9 7.4"')
        found[key] = str(value).strip()
    return found


class _Person:
    """Who answers: somebody at the terminal, or a file."""

    def __init__(self, told: Mapping[str, str] | None) -> None:
        self._told = told

    def ready(self, words: str) -> None:
        """Wait until the person is."""
        if self._told is None and words:
            input("    Enter when that is so: ")

    def confirm(self, deed: str) -> None:
        """Wait until the person has done something at a real arm."""
        input(f"    Now {deed}, then Enter: ")

    def answer(self, step: str, question: str) -> str:
        """What is said to a step's question."""
        if not question:
            return ""
        if self._told is not None:
            return self._told.get(step, "")
        return input(f"    {question} ").strip()

    def hands_clear(self, *, real: bool) -> bool:
        """Whether the arm may move now; of a real arm only somebody at the terminal can say so."""
        question = "    The arm moves now. Hands clear? (yes/no) "
        if self._told is not None and not real:
            answer = self._told.get(CLEAR, "no")
            print(f"{question}{answer}")
            return answer.lower() == "yes"
        while (answer := input(question).strip().lower()) not in ("yes", "no"):
            print(f"    {answer!r}: allowed: yes, no")
        return answer == "yes"


class _Hour:
    """Goes from step to step; the archive is written after each."""

    def __init__(
        self, rig: Rig, path: Path, url: str | None, person: _Person, stage: Stage, journals: list[Path]
    ) -> None:
        self._rig, self._path, self._url = rig, path, url
        self._person, self._stage, self._journals = person, stage, journals
        self._configs: list[Path] = []
        self.archive = self._begun()
        self._keep()

    def _begun(self) -> Archive:
        """That of an earlier part of the hour, or a new one."""
        import platform

        from hil.runtime.channel_wiring import channels_of
        from hil.runtime.port_wiring import is_calibrated_by_hand
        from hil.version import software_version
        from hil.workbench.acceptance_archive import Archive, read

        rig = self._rig
        if self._path.exists():
            before = read(self._path)
            if before.rig == rig.id and before.fake == (self._url is None):
                print(f"going on with {self._path}")
                return before
            whose = f"rig {before.rig}, {'a fake' if before.fake else 'a real arm'}"
            raise typer.BadParameter(f"{self._path} is of another acceptance ({whose}); name another file with -o")
        channels = tuple(each.channel for each in channels_of(rig)) if is_calibrated_by_hand(rig) else ()
        return Archive(
            kind=rig.controller.kind,
            rig=rig.id,
            fake=self._url is None,
            software={"hil": software_version(), "python": platform.python_version(), "system": platform.platform()},
            baud=rig.controller.baud,
            framing=rig.controller.framing,
            channels=channels,
            computer=self._computer(),
        )

    def _computer(self) -> tuple[str, ...]:
        """What doctor says of this machine; a fake needs none of it."""
        if self._url is None:
            return ()
        from hil.runtime.port_wiring import serial_adapters
        from hil.workbench.doctor import examine, this_system

        system = this_system(serial_adapters(), {self._rig.id: self._rig.period_s})
        return tuple(f"{each.severity.value}: {each.text}" for each in examine(system))

    def walk(self, opened: Callable[[str], Talk]) -> bool:
        """Every step that has not passed yet; False if something ended it that is not the arm's to answer for.

        Raises:
            KeyboardInterrupt: it was broken off by a signal; what was done is kept.
        """
        from hil.errors import HilError
        from hil.workbench.acceptance import PARTS, Result

        for part in PARTS[self.archive.kind]:
            if self._outcome(part).verdict.result is Result.PASSED:
                continue
            self._announce(part)
            try:
                self._go_through(part, opened)
            except KeyboardInterrupt:
                self._say_broken_off()
                raise
            except EOFError:
                self._say_broken_off()
                return True
            except HilError as error:
                complain(str(error))
                print(f"broken off; the same command goes on from here once that is mended. So far: {self._path}")
                return False
            finally:
                self._keep()
            self._show(self._outcome(part))
        return True

    def _say_broken_off(self) -> None:
        print(f"\nbroken off; the same command goes on from here. So far: {self._path}")

    def _go_through(self, part: Part, opened: Callable[[str], Talk]) -> None:
        """Ask the controller, have it run, ask the person: whatever the step has of these."""
        from hil.workbench.acceptance_runs import Way

        step = part.step
        if step.id in self.archive.answers:
            self._begin_anew(step.id)
        if step.id == "1":
            self._look_at_the_computer()
        if part.asker is not None or any(run.way is Way.LOOK for run, _ in part.pairs):
            self._person.ready(step.do)
        if part.asker is not None:
            self._talk(part, opened)
        for run in part.left(self.archive.facts):
            if run.name:
                print(f"    -- {run.name}")
            if run.moves and not self._person.hands_clear(real=self._url is not None):
                print("    not run")
                continue
            self._configs = []
            self._change(runs=(*self.archive.runs, self._stage.carry_out(step.id, run)))
            self._keep()
        nothing_was_run = part.pairs and not any(each.step == step.id for each in self.archive.runs)
        if step.ask and not nothing_was_run:
            self._change(answers={**self.archive.answers, step.id: self._person.answer(step.id, step.ask)})

    def _begin_anew(self, step: str) -> None:
        """A step that was gone through and has not passed: what was run for it counts no more, its journals stay."""
        answers = {key: answer for key, answer in self.archive.answers.items() if key != step}
        self._change(answers=answers, runs=tuple(each for each in self.archive.runs if each.step != step))

    def _look_at_the_computer(self) -> None:
        self._change(computer=self._computer())
        for line in self.archive.computer:
            print(f"    {line}")

    def _talk(self, part: Part, opened: Callable[[str], Talk]) -> None:
        """Ask, as the only owner of a real arm."""
        from hil.model.files import state_dir
        from hil.runtime.lock import RigLock

        assert part.asker is not None
        with RigLock(state_dir(), self._rig.id, command=command_line()) if self._url else nullcontext():
            talk = opened(part.step.id)
            try:
                part.asker(talk, self.archive.channels)
            finally:
                talk.close()
                earlier = (each for each in self.archive.talk if each.step != part.step.id)
                self._change(talk=(*earlier, *talk.transcript))

    def _change(self, **changes: Any) -> None:
        import msgspec

        self.archive = msgspec.structs.replace(self.archive, **changes)

    def _keep(self) -> None:
        from hil.workbench.acceptance_archive import write

        write(self._path, self.archive, self._files())

    def _files(self) -> dict[str, bytes]:
        """The rig as it was, with the calibration in force by now, and the journals."""
        # What a run has calibrated is in force after it; no answer changes that, and to look it up loads the rig.
        self._configs = self._configs or self._in_force()
        names = [*self._configs, *self._stage.journals, *self._journals]
        return {f"files/{name.name}": name.read_bytes() for name in names if name.is_file()}

    def _in_force(self) -> list[Path]:
        """The rig's file, and its calibration if it has one."""
        from hil.model.files import find
        from hil.runtime.wiring import load_rig

        note = load_rig(self._rig.file).calibration
        return [Path(self._rig.file), *([] if note is None else [find("calibrations", note.id)])]

    def _outcome(self, part: Part) -> Outcome:
        return next(each for each in self.archive.outcomes if each.step.id == part.step.id)

    def _announce(self, part: Part) -> None:
        step = part.step
        moves = "  THE ARM MOVES" if step.moves else ""
        print(f"\n[{step.id}] {step.title}{moves}   expected: {step.expect}")
        if step.do:
            print(f"    {step.do.replace('RIG', self._rig.id)}")

    @staticmethod
    def _show(outcome: Outcome) -> None:
        verdict = outcome.verdict
        print(f"    {verdict.result.value}: {verdict.number}" if verdict.number else f"    {verdict.result.value}")
        if verdict.remedy:
            print(f"    to do: {verdict.remedy}")

    def summary(self) -> bool:
        """What came of it; True if a step has failed."""
        from hil.workbench.acceptance import Result

        results = [each.verdict.result for each in self.archive.outcomes]
        counts = ", ".join(f"{results.count(result)} {result.value}" for result in Result)
        print(f"\n{counts}. The archive: {self._path}")
        return Result.FAILED in results
