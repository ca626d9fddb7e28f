"""hil grade: marks what a class has handed in, by running all of it again."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hil.cli._progress import progress
from hil.cli.arms import AsJson
from hil.cli.output import complain, console, print_json, print_table

if TYPE_CHECKING:
    from hil.labs.exercise import Exercise
    from hil.labs.grade_likeness import Likeness
    from hil.labs.grade_records import Marked, Setup, Submission
    from hil.labs.grade_store import Store

SHOWN = 25
"""Students that are listed; all stand in the table."""

LIKE = 0.8

RESULTS = "Results"
WORK = "Work"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(grade)


def _exercises() -> list[str]:
    from hil.labs.exercise import list_exercises

    return list_exercises()


def grade(
    exercise: Annotated[str, typer.Argument(autocompletion=_exercises, help="Exercise's name or file.")],
    submissions: Annotated[
        Path | None,
        typer.Argument(
            help="A folder with a folder for each student, or one student's own. Left out: show the exercise."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the hidden cases; keep it to yourself.")] = None,
    into: Annotated[
        Path | None, typer.Option(help="Where marks are kept; marks-EXERCISE here without it.", rich_help_panel=RESULTS)
    ] = None,
    csv: Annotated[
        bool, typer.Option("--csv", help="Tables for Moodle and Canvas, too.", rich_help_panel=RESULTS)
    ] = False,
    roster: Annotated[
        Path | None,
        typer.Option(help="Worksheet of Moodle or gradebook of Canvas, to be filled in.", rich_help_panel=RESULTS),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JUnit's XML, too.", rich_help_panel=RESULTS)
    ] = None,
    require: Annotated[
        float | None,
        typer.Option(
            min=0, max=100, metavar="PERCENT", help="End with 1 if somebody has less.", rich_help_panel=RESULTS
        ),
    ] = None,
    like: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Report pairs that share so much.", rich_help_panel=RESULTS)
    ] = LIKE,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Draw what failed.", rich_help_panel=RESULTS)
    ] = True,
    sheet: Annotated[
        list[str] | None,
        typer.Option(metavar="STUDENT", help="Print this student's own numbers, and mark nothing; repeatable."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Mark everything anew.", rich_help_panel=WORK)] = False,
    cores: Annotated[int | None, typer.Option(min=1, help="All without it.", rich_help_panel=WORK)] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of a Dask scheduler.", rich_help_panel=WORK)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mark what was handed in: everything is run again here, on the fake; nothing that is claimed counts."""
    from hil.labs.exercise import BUNDLED, load_exercise
    from hil.labs.grade_door import read_submissions
    from hil.labs.grade_picture import can_draw
    from hil.labs.grade_records import Setup
    from hil.labs.grade_run import check_cases, digest_of_files, prepared
    from hil.labs.grade_store import Store

    known = load_exercise(exercise)
    if submissions is None or sheet:
        _show(known, seed, sheet or (), as_json=as_json)
        return
    with contextlib.ExitStack() as ashore:
        into = into or Path(f"marks-{known.id}")
        _keep_apart(into, submissions)
        if Path.cwd().resolve().is_relative_to(submissions.resolve()):
            # Rigs, robots and tasks are looked for where somebody stands: not among what was handed in.
            submissions, into = submissions.absolute(), into.absolute()
            roster, junit = roster and roster.absolute(), junit and junit.absolute()
            ashore.enter_context(contextlib.chdir(BUNDLED))
        rig = prepared(known)
        check_cases(known, seed)
        people = None if roster is None else _text_of(roster)
        handed_in = read_submissions(submissions, known)
        store = Store(into, known, seed, files=digest_of_files(known, rig), again=again)
        drawn = pictures and can_draw()
        if pictures and not drawn:
            complain("no pictures: pip install 'hil-arm-bridge[plot]' draws them")
        setup = Setup(exercise=known, seed=seed, pictures=drawn)
        every = _marked(store, setup, handed_in, cluster, cores)
        _write(store, known, seed, every, with_tables=csv or roster is not None, people=people, junit=junit)
        likeness = _alike(store, handed_in, like)
        if as_json:
            plain = [{**_plain(marked), "of": known.marks} for marked in every]
            print_json({"exercise": known.id, "seed": seed, "students": plain, "likeness": likeness})
        else:
            _tell(store, known, every, likeness)
        if require is not None and any(marked.total < known.marks * require / 100.0 for marked in every):
            raise typer.Exit(1)
        if any(marked.fault for marked in every):
            complain(
                "some could not be marked, by a fault of the marker or of this computer, each report says why: "
                "mark again, and report it if it comes back"
            )
            raise typer.Exit(1)


def _keep_apart(into: Path, submissions: Path) -> None:
    """Nothing that was handed in is taken for marks, nor marks for something handed in.

    Raises:
        CommandError: the results would lie inside the folder of submissions.
    """
    from hil.errors import CommandError

    if into.resolve().is_relative_to(submissions.resolve()):
        raise CommandError(
            f"the results would be kept in {into}, inside {submissions}, where students' own files lie; allowed: a "
            "folder outside of it, with --into FOLDER, or the command given from outside",
            value=str(into),
            allowed="a folder outside the submissions, with --into",
        )


def _marked(
    store: Store, setup: Setup, handed_in: Sequence[Submission], cluster: str | None, cores: int | None
) -> list[Marked]:
    """Every submission's marks, in their order; those of before where nothing has changed."""
    from hil.labs.grade_crew import crew_of

    kept = {each.student: marked for each in handed_in if (marked := store.kept(each)) is not None}
    waiting = [each for each in handed_in if each.student not in kept]
    if waiting:
        crew = crew_of(setup, cluster=cluster, cores=cores)
        try:
            with progress(f"submissions, {crew.words}", len(handed_in)) as told:
                for marked in crew.run(waiting):
                    if not marked.fault:
                        store.keep(marked)
                    kept[marked.student] = marked
                    told(len(kept))
        except BaseException as end:
            if isinstance(end, KeyboardInterrupt):
                complain(
                    f"{len(kept)} of {len(handed_in)} are marked and kept in {store.folder}: the same command goes on "
                    "from there"
                )
            raise
    return [kept[each.student] for each in handed_in]


def _alike(store: Store, handed_in: Sequence[Submission], least: float) -> list[Likeness]:
    from hil.labs.grade_files import write_likeness
    from hil.labs.grade_likeness import alike

    found = alike(handed_in, least)
    write_likeness(store, found)
    return found


def _write(
    store: Store,
    exercise: Exercise,
    seed: int | None,
    every: Sequence[Marked],
    *,
    with_tables: bool,
    people: str | None,
    junit: Path | None,
) -> None:
    from hil.labs import grade_files as files

    files.write_all(store, exercise, seed, every)
    if with_tables:
        of_canvas = people is not None and "SIS" in people.split("\n", 1)[0]
        moodle = files.moodle_csv(exercise, every, None if of_canvas else people, complain)
        canvas = files.canvas_csv(exercise, every, people if of_canvas else None, complain)
        files.write_file(store.folder / files.MOODLE, moodle.encode("utf-8"))
        files.write_file(store.folder / files.CANVAS, canvas.encode("utf-8"))
    if junit is not None:
        files.write_file(junit, files.junit_xml(exercise, every))


def _text_of(roster: Path) -> str:
    from hil.errors import CommandError

    try:
        return roster.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--roster {roster}: {error}; allowed: a table as UTF-8") from None


def _plain(marked: Marked) -> dict[str, Any]:
    import msgspec

    found = msgspec.to_builtins(marked, builtin_types=(bytes,))
    del found["picture"]
    return {**found, "total": marked.total}


def _tell(store: Store, exercise: Exercise, every: Sequence[Marked], likeness: Sequence[Likeness]) -> None:
    out = console()
    rows = []
    for marked in every[:SHOWN]:
        missed = [mark for mark in marked.marks if mark.held < mark.cases]
        first = marked.refusal.splitlines()[0] if marked.refusal else "all right"
        if missed and not marked.refusal:
            first = f"{missed[0].name}: {missed[0].words}"
        rows.append([marked.student, f"{marked.total:g}", first])
    print_table(
        f"{exercise.title}: {len(every)} submissions, {exercise.marks:g} marks", ["student", "marks", "what"], rows
    )
    if len(every) > SHOWN:
        out.print(f"and {len(every) - SHOWN} more")
    refused = sum(bool(marked.refusal) for marked in every)
    if every:
        middle = sorted(marked.total for marked in every)[len(every) // 2]
        out.print(f"half of them have {middle:g} marks or more; {refused} were not marked, each report says why")
    if likeness:
        out.print(
            f"{len(likeness)} pairs are alike: {likeness[0].first} and {likeness[0].second} the most", markup=False
        )
    out.print(f"reports and tables: {store.folder}", soft_wrap=True, markup=False)


def _show(exercise: Exercise, seed: int | None, students: Sequence[str], *, as_json: bool) -> None:
    """What is to be done; and the numbers of those who have their own."""
    import msgspec

    from hil.labs.exercise_cases import cases_of

    sheets = {name: cases_of(exercise, seed, name) for name in students}
    if as_json:
        print_json({"exercise": msgspec.to_builtins(exercise), "marks": exercise.marks, "sheets": sheets})
        return
    out = console()
    out.print(f"{exercise.title}: {exercise.marks:g} marks; hand in {exercise.hand_in.name}")
    if exercise.aim:
        out.print(exercise.aim.strip())
    rows = [[row.name, f"{row.marks:g}", getattr(row, "ask", "")] for row in (*exercise.predicates, *exercise.answers)]
    print_table("", ["what counts", "marks", "what is asked"], rows)
    for name, cases in sheets.items():
        for number, case in enumerate(cases, start=1):
            numbers = ", ".join(f"{key} = {value:g}" for key, value in case.items())
            out.print(f"{name}, case {number}: {numbers or 'no numbers of their own'}", markup=False)
