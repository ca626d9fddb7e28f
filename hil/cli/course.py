"""hil course: exercises of a class on a lab's arms; for the student to hand in, for the teacher to see the marks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

import typer

from hil.cli._plain_help import CommandGroup
from hil.cli.arms import AsJson
from hil.cli.output import complain, console, print_json, print_table
from hil.cli.tokens import LabFolder

if TYPE_CHECKING:
    from hil.service.courses.messages import CourseBrief, CourseList, ExerciseBrief, ResultBrief, ResultFull
    from hil.service.lab_request import Access

R = TypeVar("R")

MARKING_S = 600.0
"""How long the answer to a hand-in is waited for: others may be before it."""

Url = Annotated[str | None, typer.Option(help="The lab's address; none: the only login.")]
Exercise = Annotated[str, typer.Argument(metavar="EXERCISE", help="By name, or COURSE/EXERCISE.")]
TABLES = ("csv", "moodle", "canvas")


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    group = CommandGroup(
        no_args_is_help=True, help="Exercises of a class: hand in, see what came of it, see the class."
    )
    group.command()(show)
    group.command("hand-in")(hand_in)
    group.command()(results)
    group.command()(marks)
    group.command()(new)
    app.add_typer(group, name="course")


def show(
    exercise: Annotated[
        str | None, typer.Argument(metavar="EXERCISE", help="By name, or COURSE/EXERCISE; none: list them.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """What there is to do: your courses and their exercises, or all about one of them."""
    from hil.service.grants import clock_text

    access = _access(url)
    listed = _listed(access)
    if exercise is not None:
        course, one = _find(listed, exercise)
        if as_json:
            print_json(one)
        else:
            _show_exercise(course, one)
        return
    if as_json:
        print_json(listed)
        return
    if not listed.courses:
        print("you are in no course of this lab")
    for each in listed.courses:
        rows = [
            (
                one.name,
                one.title,
                "" if one.closes_epoch_s is None else clock_text(one.closes_epoch_s),
                " or ".join([*one.files, *(f"a run on {arm}" for arm in one.arms)]),
                f"{one.used} of {one.tries}",
                "" if one.counted is None else f"{one.counted:g} of {one.most:g}",
            )
            for one in each.exercises
        ]
        as_what = " (you teach it)" if each.role == "teacher" else ""
        columns = ("exercise", "title", "closes", "hand in", "tries", "marks")
        print_table(f"{each.id}: {each.title}{as_what}", columns, rows)


def hand_in(
    exercise: Exercise,
    files: Annotated[
        list[Path] | None, typer.Argument(exists=True, dir_okay=False, help="What is handed in; none with --arm.")
    ] = None,
    arm: Annotated[
        str | None, typer.Option(help="Instead of files: the newest run that you have driven on this arm.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the picture of what failed, as PNG.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Hand in files, or the run that you have just driven, and read what came of it."""
    from hil.service.courses.messages import HandInWish, ResultFull
    from hil.service.wire import MAX_ANSWER_BYTES, decode_body

    if bool(files) == (arm is not None):
        raise typer.BadParameter("give either files, or --arm with the arm on which you ran it")
    access = _access(url)
    course, one = _find(_listed(access), exercise)
    wish = HandInWish(files=_named(files or [], one), arm=arm)
    path = f"{_path(course)}/exercises/{quote(one.name, safe='')}/hand-ins"
    answer = decode_body(_ask(access, "POST", path, wish), ResultFull, MAX_ANSWER_BYTES)
    _tell(access, course.id, answer, picture, as_json=as_json)


def results(
    exercise: Exercise,
    number: Annotated[int | None, typer.Option(min=1, help="All that was found of this one.")] = None,
    student: Annotated[str | None, typer.Option(help="Somebody's, if you teach the course.")] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --number: keep its picture, as PNG.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """What came of all that you have handed in for an exercise."""
    from hil.service.courses.messages import ResultFull, ResultList
    from hil.service.grants import clock_text

    access = _access(url)
    course, one = _find(_listed(access), exercise)
    if number is not None:
        found = _get(access, f"{_path(course)}/results/{number}", ResultFull)
        _tell(access, course.id, found, picture, as_json=as_json)
        return
    whose = "" if student is None else f"?student={quote(student, safe='')}"
    path = f"{_path(course)}/exercises/{quote(one.name, safe='')}/results{whose}"
    every = _get(access, path, ResultList).results
    if as_json:
        print_json(every)
    elif not every:
        print(f"nothing was handed in for {one.name} yet")
    else:
        columns = ("number", "handed in", "what", "marks", "counts")
        print_table(one.title, columns, [(str(each.number), clock_text(each.t_epoch_s), *_row(each)) for each in every])


def marks(
    course: Annotated[str | None, typer.Argument(metavar="COURSE", help="By name; none: the only one.")] = None,
    exercise: Annotated[str | None, typer.Option(help="With --as: of which exercise.")] = None,
    kind: Annotated[str | None, typer.Option("--as", metavar="csv|moodle|canvas", help="Write a table.")] = None,
    roster: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Worksheet of Moodle or gradebook of Canvas, to be filled in."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The table's file; none: named by it.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """The marks of your class; with --as a table for a spreadsheet or a learning system."""
    if kind is not None and kind not in TABLES:
        raise typer.BadParameter(f"--as {kind}: allowed: {', '.join(TABLES)}")
    if kind is None and (roster or output or exercise):
        raise typer.BadParameter("--exercise, --roster and --output go with --as")
    access = _access(url)
    taught = _taught(_listed(access), course)
    if kind is None:
        _show_class(access, taught, as_json=as_json)
    else:
        _write_table(access, taught, exercise, kind, roster, output)


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, hyphens; the folder's name.")],
    exercise: Annotated[
        list[str], typer.Option(help="By name (`hil grade NAME` shows it) or file; may be given again.")
    ],
    title: Annotated[str | None, typer.Option(help="For people; none: the name.")] = None,
    roster: Annotated[Path | None, typer.Option(help="The class, as `hil token new --roster` takes it.")] = None,
    student: Annotated[list[str] | None, typer.Option(help="Somebody's name; may be given again.")] = None,
    teacher: Annotated[
        list[str] | None, typer.Option(help="Who sees the marks; may be given again; none: all who teach.")
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="An arm whose runs count as handed in; may be given again.")
    ] = None,
    opens: Annotated[str | None, typer.Option(metavar="TIME", help="As 2026-11-30 or '2026-11-30 08:00'.")] = None,
    closes: Annotated[str | None, typer.Option(metavar="TIME", help="A day alone means its end.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of the hidden numbers of all exercises; keep it to yourself; none: drawn.")
    ] = None,
    lab: LabFolder = Path(),
) -> None:
    """Make a course in a lab's folder."""
    import secrets

    from hil.service.courses.new_course import CourseWish, make_course
    from hil.service.lab_setup import arms_of
    from hil.service.settings import load_lab

    loaded = load_lab(lab)
    robots = {plan.arm: plan.rig.robot.id for plan in arms_of(loaded.settings, loaded.folder)}
    wish = CourseWish(
        id=name,
        title=title or name,
        exercises=tuple(exercise),
        seeds=tuple(secrets.randbelow(1 << 31) if seed is None else seed for _ in exercise),
        students=tuple(student or ()),
        teachers=tuple(teacher or ()),
        roster=None if roster is None else str(roster),
        arms=tuple(arm or ()),
        opens=opens,
        closes=closes,
    )
    folder, course = make_course(loaded.folder, wish, robots)
    print(f"{folder}: {len(course.students)} students, {len(course.exercises)} exercises")
    for each in course.exercises:
        runs = f"; runs on {', '.join(each.arms)} count" if each.arms else ""
        print(f"  {each.name}: {each.asked.title}, {each.asked.marks:g} marks{runs}")
    print(f"next: hil serve --lab {loaded.folder} (a server that runs already has to be started anew)")


# -- the lab -----------------------------------------------------------------------------------------------


def _access(url: str | None) -> Access:
    from hil.service.connection import only_login, reach

    return reach(only_login("hil course") if url is None else url)[0]


def _ask(access: Access, method: str, path: str, body: Any = None) -> bytes:
    from hil.service.lab_request import ask

    return ask(access, method, path, body, timeout_s=MARKING_S)


def _get(access: Access, path: str, kind: type[R]) -> R:
    from hil.service.wire import decode_body

    return decode_body(_ask(access, "GET", path), kind)


def _listed(access: Access) -> CourseList:
    from hil.service.courses.messages import CourseList
    from hil.service.wire import ROOT

    return _get(access, f"{ROOT}/courses", CourseList)


def _path(course: CourseBrief) -> str:
    from hil.service.wire import ROOT

    return f"{ROOT}/courses/{quote(course.id, safe='')}"


def _find(listed: CourseList, name: str) -> tuple[CourseBrief, ExerciseBrief]:
    """The exercise that is meant.

    Raises:
        CommandError: there is none of that name for this person, or several courses have it.
    """
    from hil.errors import CommandError

    course, _, exercise = name.rpartition("/")
    every = [(each, one) for each in listed.courses for one in each.exercises]
    found = [(each, one) for each, one in every if one.name == exercise and course in ("", each.id)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{each.id}/{one.name}" for each, one in found or every) or "none: you are in no course"
    raise CommandError(f"exercise {name!r} given; allowed: {known}", value=name, allowed=known)


def _taught(listed: CourseList, name: str | None) -> CourseBrief:
    from hil.errors import CommandError

    taught = [each for each in listed.courses if each.role == "teacher"]
    found = [each for each in taught if name in (None, each.id)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(each.id for each in taught) or "none: you teach no course here"
    raise CommandError(f"course {name or 'without a name'!r} given; allowed: {known}", value=name, allowed=known)


def _read(path: Path) -> bytes:
    from hil.errors import ConfigError

    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(str(path), "file", error.strerror or str(error), "a file that can be read") from None


# -- words -------------------------------------------------------------------------------------------------


def _named(paths: list[Path], one: ExerciseBrief) -> dict[str, bytes]:
    """Files by the names that they are handed in under: a single one under the expected name, where only one fits."""
    files = {path.name: _read(path) for path in paths}
    fitting = [name for name in one.files if len(paths) == 1 and name.endswith(paths[0].suffix)]
    if len(fitting) == 1 and paths[0].name not in one.files:
        complain(f"{paths[0].name} is handed in as {fitting[0]}")
        return {fitting[0]: files[paths[0].name]}
    return files


def _show_exercise(course: CourseBrief, one: ExerciseBrief) -> None:
    from hil.service.grants import clock_text

    out = console()
    out.print(f"{course.id}/{one.name}: {one.title}, {one.most:g} marks", markup=False)
    if one.aim:
        out.print(one.aim, markup=False)
    out.print(f"hand in: {' or '.join(one.files)}", markup=False)
    if one.arms:
        out.print(f"or run it on {' or '.join(one.arms)}, then: hil course hand-in {one.name} --arm {one.arms[0]}")
    if one.closes_epoch_s is not None:
        out.print(f"until {clock_text(one.closes_epoch_s)}")
    if one.why_closed:
        out.print(one.why_closed, markup=False)
    out.print(f"{one.used} of {one.tries} tries are used; the {one.counts} counts")
    print_table(
        "", ["what counts", "marks", "what is asked"], [(row.name, f"{row.marks:g}", row.ask) for row in one.rows]
    )
    for number, case in enumerate(one.numbers, start=1):
        numbers = ", ".join(f"{key} = {value:g}" for key, value in case.items())
        out.print(f"your numbers, case {number}: {numbers or 'none of your own'}", markup=False)


def _row(brief: ResultBrief) -> tuple[str, str, str]:
    what = f"run on {brief.arm}" if brief.arm else "files"
    verdict = "not marked" if brief.refusal else f"{brief.total:g} of {brief.most:g}"
    return what, verdict, "yes" if brief.counts else ""


def _tell(access: Access, course: str, result: ResultFull, picture: Path | None, *, as_json: bool) -> None:
    from hil.service.wire import ROOT

    if picture is not None and result.picture:
        path = f"{ROOT}/courses/{quote(course, safe='')}/results/{result.brief.number}/picture"
        picture.write_bytes(_ask(access, "GET", path))
    if as_json:
        print_json(result)
        return
    out, brief = console(), result.brief
    out.print(f"{brief.exercise}, number {brief.number}: {brief.total:g} of {brief.most:g} marks", markup=False)
    if brief.refusal:
        out.print(f"it was not marked: {brief.refusal}", markup=False)
    else:
        rows = [
            (
                row.name,
                f"{row.marks:g} of {row.most:g}",
                row.words + (f" (sample {row.sample}, {row.time_s or 0.0:.2f} s)" if row.sample is not None else ""),
            )
            for row in result.marks
        ]
        print_table("", ["", "marks", "what was found"], rows)
    for note in result.notes:
        out.print(f"- {note}", markup=False)
    if picture is not None:
        out.print(f"picture: {picture}" if result.picture else "there is no picture: nothing failed", markup=False)


def _show_class(access: Access, course: CourseBrief, *, as_json: bool) -> None:
    from hil.service.courses.messages import ClassList

    found = _get(access, f"{_path(course)}/class", ClassList)
    if as_json:
        print_json(found)
        return
    rows = [
        (row.student, *("" if each is None else f"{each.total:g} of {each.most:g}" for each in row.results))
        for row in found.students
    ]
    print_table(f"{course.id}: {course.title}", ("student", *found.exercises), rows)


def _write_table(
    access: Access, course: CourseBrief, exercise: str | None, kind: str, roster: Path | None, output: Path | None
) -> None:
    from hil.errors import CommandError
    from hil.service.courses.messages import Table, TableWish
    from hil.service.wire import decode_body

    names = [one.name for one in course.exercises]
    chosen = exercise or (names[0] if len(names) == 1 else None)
    if chosen not in names:
        allowed = ", ".join(names)
        raise CommandError(f"--exercise {chosen} given; allowed: {allowed}", value=chosen, allowed=allowed)
    text = "" if roster is None else _text(roster)
    wish = TableWish(kind=kind, roster=text)  # type: ignore[arg-type]
    path = f"{_path(course)}/exercises/{quote(chosen, safe='')}/tables"
    table = decode_body(_ask(access, "POST", path, wish), Table)
    file = output or Path(table.name)
    mark = "utf-8-sig" if kind == "csv" else "utf-8"
    try:
        file.write_text(table.text, encoding=mark, newline="")
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}; allowed: a file in a folder that can be written to") from None
    for words in table.told:
        complain(words)
    print(file)


def _text(path: Path) -> str:
    from hil.errors import CommandError

    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--roster {path}: {error}; allowed: a table as UTF-8") from None
