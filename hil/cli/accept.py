"""hil accept: the first hour with a real arm, step by step, and one archive of it. The fake unless --hardware."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hil.cli.moving import Hardware, Port, say_which

if TYPE_CHECKING:
    from hil.bench.acceptance import Outcome, Part
    from hil.bench.acceptance_archive import Archive
    from hil.bench.acceptance_talk import Talk
    from hil.model.rig import Rig


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(accept)


def accept(
    rig: Annotated[str | None, typer.Argument(help="Name or path of the rig.")] = None,
    hardware: Hardware = False,
    port: Port = None,
    answers: Annotated[
        Path | None, typer.Option(help='A TOML file of answers, step = "text", instead of asking.')
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The archive; none: RIG-acceptance.zip.")
    ] = None,
    journals: Annotated[
        list[Path] | None, typer.Option("--journal", help="A journal to put into the archive; may be given again.")
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

    It asks the controller questions, and you. It moves nothing itself: a step that moves the arm names the command.
    Ends with 1 if a step has failed.
    """
    from hil.bench.acceptance_archive import profile_of, read

    if made_of is not None:
        text = profile_of(read(made_of))
        if output is None:
            print(text, end="")
        else:
            output.write_text(text, encoding="utf-8")
            print(f"profile written: {output}. Try it: hil fake ... --profile {output}")
        return
    if rig is None:
        raise typer.BadParameter("name a rig, or an archive with --from")
    from hil.model.files import read_toml
    from hil.runtime.wiring import fake_choices, load_rig, raw_line

    set_up = load_rig(rig)
    url = say_which(set_up, hardware, port)
    if url is not None and (profile or changes):
        raise typer.BadParameter("--profile and --set are for the fake")
    told = None if answers is None else {key: str(value) for key, value in read_toml(answers).items()}
    open_port, clock = raw_line(set_up, url, fake_choices(set_up, profile, changes or ()))
    path = output or Path(f"{set_up.id}-acceptance.zip")
    hour = _Hour(set_up, path, url, told, journals or [])

    from hil.bench.acceptance_talk import Talk

    hour.walk(lambda step: Talk(set_up.controller.kind, open_port(), clock, step))
    failed = hour.summary()
    if failed:
        raise typer.Exit(1)


class _Hour:
    """Goes from step to step; the archive is written after each."""

    def __init__(
        self, rig: Rig, path: Path, url: str | None, told: dict[str, str] | None, journals: list[Path]
    ) -> None:
        self._rig, self._path, self._url, self._told, self._journals = rig, path, url, told, journals
        self.archive = self._begun()

    def _begun(self) -> Archive:
        """That of an earlier part of the hour, or a new one."""
        import platform

        import hil
        from hil.bench.acceptance_archive import Archive, read
        from hil.runtime.wiring import channels_of, is_calibrated_by_hand

        rig = self._rig
        if self._path.exists():
            before = read(self._path)
            if before.rig == rig.id and before.fake == (self._url is None):
                print(f"going on with {self._path}")
                return before
            raise typer.BadParameter(f"{self._path} is of another acceptance; name another file with -o")
        channels = tuple(each.channel for each in channels_of(rig)) if is_calibrated_by_hand(rig) else ()
        return Archive(
            kind=rig.controller.kind,
            rig=rig.id,
            fake=self._url is None,
            software={"hil": hil.__version__, "python": platform.python_version(), "system": platform.platform()},
            baud=rig.controller.baud,
            framing=rig.controller.framing,
            channels=channels,
            computer=self._computer(),
        )

    def _computer(self) -> tuple[str, ...]:
        """What doctor says of this machine; a fake needs none of it."""
        if self._url is None:
            return ()
        from hil.bench.doctor import examine, this_system
        from hil.runtime.wiring import serial_adapters

        system = this_system(serial_adapters(), {self._rig.id: self._rig.period_s})
        return tuple(f"{each.severity.value}: {each.text}" for each in examine(system))

    def walk(self, opened: Callable[[str], Talk]) -> None:
        """Every step that has not passed yet."""
        from hil.bench.acceptance import PARTS, Result

        for part in PARTS[self.archive.kind]:
            if self._outcome(part).verdict.result is Result.PASSED:
                continue
            self._announce(part)
            try:
                if part.asker is not None:
                    self._wait(part)
                    talk = opened(part.step.id)
                    try:
                        part.asker(talk, self.archive.channels)
                    finally:
                        talk.close()
                        earlier = (each for each in self.archive.talk if each.step != part.step.id)
                        self._keep(talk=(*earlier, *talk.transcript))
                else:
                    self._keep(answers={**self.archive.answers, part.step.id: self._answer(part)})
            except (EOFError, KeyboardInterrupt):
                print(f"\nbroken off; the same command goes on from here. So far: {self._path}")
                return
            self._show(self._outcome(part))

    def _keep(self, **changes: object) -> None:
        import msgspec

        from hil.bench.acceptance_archive import write

        self.archive = msgspec.structs.replace(self.archive, **changes)
        write(self._path, self.archive, self._files())

    def _files(self) -> dict[str, bytes]:
        """The rig as it was, with its calibration."""
        from hil.model.files import find

        names = [Path(self._rig.file)] if self._rig.file else []
        note = self._rig.calibration
        if note is not None:
            names.append(find("calibrations", note.id))
        return {f"files/{name.name}": name.read_bytes() for name in (*names, *self._journals) if name.is_file()}

    def _outcome(self, part: Part) -> Outcome:
        return next(each for each in self.archive.outcomes if each.step.id == part.step.id)

    def _announce(self, part: Part) -> None:
        step = part.step
        moves = "  THE ARM MOVES" if step.moves else ""
        print(f"\n[{step.id}] {step.title}{moves}   expected: {step.expect}")
        if step.do:
            print(f"    {step.do.replace('RIG', self._rig.id)}")

    def _wait(self, part: Part) -> None:
        if self._told is None and part.step.do:
            input("    Enter when that is so: ")

    def _answer(self, part: Part) -> str:
        if self._told is not None:
            return self._told.get(part.step.id, "")
        return input(f"    {part.step.ask} ").strip()

    @staticmethod
    def _show(outcome: Outcome) -> None:
        verdict = outcome.verdict
        print(f"    {verdict.result.value}: {verdict.number}" if verdict.number else f"    {verdict.result.value}")
        if verdict.remedy:
            print(f"    to do: {verdict.remedy}")

    def summary(self) -> bool:
        """What came of it; True if a step has failed."""
        self._keep()
        from hil.bench.acceptance import Result

        results = [each.verdict.result for each in self.archive.outcomes]
        counts = ", ".join(f"{results.count(result)} {result.value}" for result in Result)
        print(f"\n{counts}. The archive: {self._path}")
        return Result.FAILED in results
