"""What a marking writes: a report for each student, tables for Moodle and Canvas, and JUnit's XML."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

from hil.errors import CommandError
from hil.labs.exercise import Exercise
from hil.labs.exercise_cases import cases_of
from hil.labs.grade_door import moodle_name, moodle_number
from hil.labs.grade_likeness import Likeness
from hil.labs.grade_records import Mark, Marked
from hil.labs.grade_store import Store, file_name, write_private

MARKS, MOODLE, CANVAS, LIKENESS = "marks.csv", "moodle.csv", "canvas.csv", "likeness.csv"

TWICE = "{}: more than one submission or student has this name; the cell is left empty: fill it in by hand"

_CANVAS_NUMBER = re.compile(r"_\d+$")
_FORMULA = re.compile(r"(^|[;\t\r\n])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a spreadsheet begins a cell, by itself or by what it takes for the end of the one before."""

CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE_NAMES = ("Full name", "Vollständiger Name", "Nombre completo", "Nom complet")
"""The column of a Moodle worksheet that has the name, in the languages of the page."""


def _say_nothing(words: str) -> None:
    """Where nobody wants to be told."""


def write_all(store: Store, exercise: Exercise, seed: int | None, every: Sequence[Marked]) -> None:
    """Reports, pictures, and tables, in the marking's folder."""
    for marked in every:
        text = report(exercise, seed, marked, with_picture=bool(marked.picture))
        write_private(store.report_file(marked.student, ".md"), text.encode())
        if marked.picture:
            write_private(store.report_file(marked.student, ".png"), marked.picture)
    write_private(store.folder / MARKS, marks_csv(exercise, every).encode("utf-8-sig"))


def write_likeness(store: Store, likeness: Sequence[Likeness]) -> None:
    """The table of pairs that are alike."""
    rows = [[f"{each.share:.0%}", each.first, each.second, "yes" if each.same else ""] for each in likeness]
    write_private(
        store.folder / LIKENESS, _csv([["alike", "first", "second", "same files"], *rows]).encode("utf-8-sig")
    )


def report(exercise: Exercise, seed: int | None, marked: Marked, *, with_picture: bool) -> str:
    """One student's report, in words."""
    lines = [f"# {exercise.title}: {_number(marked.total)} of {_number(exercise.marks)} marks", ""]
    if marked.refusal:
        lines += ["It was not marked:", "", *(f"    {line}" for line in marked.refusal.splitlines()), ""]
    else:
        lines += ["| | marks | what was found |", "|---|---|---|"]
        lines += [_row(mark) for mark in marked.marks]
        lines += [""]
    if with_picture:
        lines += [f"![the tool's way]({file_name(marked.student)}.png)", ""]
    lines += [f"- {_plain(note)}" for note in marked.notes]
    cases = cases_of(exercise, seed, marked.student)
    if exercise.variants.each and cases[0]:
        lines += ["", "Your numbers:", ""]
        lines += [f"- {', '.join(f'{name} = {value:g}' for name, value in case.items())}" for case in cases]
    return "\n".join(lines).rstrip() + "\n"


def _row(mark: Mark) -> str:
    words = _plain(mark.words.replace("|", "/").replace("\n", " "))
    case = f"case {mark.case} of {mark.cases}: " if mark.case and mark.cases > 1 else ""
    sample = f" (sample {mark.sample})" if mark.sample is not None else ""
    return f"| {mark.name} | {_number(mark.marks)} of {_number(mark.most)} | {case}{words}{sample} |"


def _plain(text: str) -> str:
    """Text that Markdown takes for nothing else."""
    return re.sub(r"([\\`*_\[\]<>&!|#~])", r"\\\1", text)


def marks_csv(exercise: Exercise, every: Sequence[Marked]) -> str:
    """A row for each student, a column for each predicate or answer."""
    names = [row.name for row in (*exercise.predicates, *exercise.answers)]
    rows = [["student", "marks", "of", *names, "refused"]]
    for marked in every:
        found = [_number(mark.marks) for mark in marked.marks]
        refusal = marked.refusal.splitlines()[0] if marked.refusal else ""
        rows.append([marked.student, _number(marked.total), _number(exercise.marks), *found, refusal])
    return _csv(rows)


def moodle_csv(
    exercise: Exercise, every: Sequence[Marked], roster: str | None, complain: Callable[[str], None] = _say_nothing
) -> str:
    """For *Upload grading worksheet* or *Grades, Import, CSV file*.

    Args:
        exercise: what was marked.
        every: the marks.
        roster: the grading worksheet that Moodle gave, whose rows are filled in; without it names and marks alone.
        complain: told where a cell is left empty.

    Raises:
        CommandError: the worksheet has no column of names or of grades.
    """
    by_name = _by_key(every, lambda marked: moodle_name(marked.student))
    by_number = _by_key(every, lambda marked: moodle_number(marked.student))
    if roster is None:
        rows = [["Full name", "Grade", "Maximum Grade", "Feedback comments"]]
        for name, named in by_name.items():
            if len(named) > 1:
                complain(TWICE.format(name))
            rows += [
                [name, _number(m.total) if len(named) == 1 else "", _number(exercise.marks), html.escape(_summary(m))]
                for m in named
            ]
        return _csv(rows)
    columns, people = _read(roster)
    name_column = next((column for column in MOODLE_NAMES if column in columns), None)
    if name_column is None or "Grade" not in columns:
        raise CommandError(
            f"--roster: columns {', '.join(columns)} given; allowed: a grading worksheet of Moodle, with Full name and "
            "Grade"
        )
    feedback = "Feedback comments"
    columns = columns if feedback in columns else [*columns, feedback]
    table = [columns]
    for person in people:
        number = re.sub(r"\D", "", person.get("Identifier", ""))
        found = by_number.get(number, []) if number else []
        found = found or [m for m in by_name.get(person[name_column], []) if not (number and moodle_number(m.student))]
        marked = _only(found, [each[name_column] for each in people], person[name_column], complain, sure=bool(number))
        filled = (
            {**person, "Grade": _number(marked.total), feedback: html.escape(_summary(marked))} if marked else person
        )
        table.append([filled.get(column, "") for column in columns])
    return _csv(table)


def canvas_csv(
    exercise: Exercise, every: Sequence[Marked], roster: str | None, complain: Callable[[str], None] = _say_nothing
) -> str:
    """For *Gradebook, Import*.

    Args:
        exercise: what was marked; its title is the assignment's.
        every: the marks.
        roster: the gradebook that Canvas exported, whose students are taken with their numbers; without it names alone.
        complain: told where a cell is left empty.

    Raises:
        CommandError: the gradebook has no column of students.
    """
    title = exercise.title
    head = [[*CANVAS_COLUMNS, title], ["    Points Possible", "", "", "", "", _number(exercise.marks)]]
    if roster is None:
        return _csv([*head, *([marked.student, "", "", "", "", _number(marked.total)] for marked in every)])
    columns, people = _read(roster)
    if "Student" not in columns or "ID" not in columns:
        raise CommandError(
            f"--roster: columns {', '.join(columns)} given; allowed: a gradebook of Canvas, with Student and ID"
        )
    by_name = _by_key(every, lambda marked: _canvas_key(_CANVAS_NUMBER.sub("", marked.student)))
    names = [_canvas_key(each["Student"]) for each in people]
    for person in people:
        name = _canvas_key(person["Student"])
        found = by_name.get(name, [])
        own = [m for m in found if m.student.endswith(f"_{person['ID']}")]
        marked = _only(own or found, names, name, complain, sure=bool(own))
        if marked is not None:
            head.append([*(person.get(column, "") for column in CANVAS_COLUMNS), _number(marked.total)])
    return _csv(head)


def _by_key(every: Sequence[Marked], key: Callable[[Marked], str]) -> dict[str, list[Marked]]:
    found: dict[str, list[Marked]] = {}
    for marked in every:
        found.setdefault(key(marked), []).append(marked)
    return found


def _only(
    found: Sequence[Marked], names: Sequence[str], name: str, complain: Callable[[str], None], *, sure: bool
) -> Marked | None:
    """The one that is meant; nobody's, and a complaint, where it may be another's."""
    if not found:
        return None
    if len(found) > 1 or (not sure and names.count(name) > 1):
        complain(TWICE.format(name))
        return None
    return found[0]


def _canvas_key(name: str) -> str:
    """Canvas writes *Doe, Jane* in the gradebook and *doejane* before a file."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _read(text: str) -> tuple[list[str], list[dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\N{BYTE ORDER MARK}"), newline=""))
    try:
        people = [{key: value or "" for key, value in row.items() if key is not None} for row in reader]
    except csv.Error as error:
        raise CommandError(f"--roster: no table: {error}") from None
    return list(reader.fieldnames or ()), people


def _summary(marked: Marked) -> str:
    if marked.refusal:
        return f"not marked: {marked.refusal.splitlines()[0]}"
    missed = [f"{mark.name}: {mark.words}" for mark in marked.marks if mark.held < mark.cases]
    return "; ".join(missed) or "all right"


def junit_xml(exercise: Exercise, every: Sequence[Marked]) -> bytes:
    """A suite for each student, a case for each predicate or answer."""
    top = ElementTree.Element("testsuites", name=_printable(exercise.title))
    for marked in every:
        failures = sum(mark.held < mark.cases for mark in marked.marks)
        suite = ElementTree.SubElement(
            top, "testsuite", name=_printable(marked.student), tests=str(len(marked.marks)), failures=str(failures)
        )
        for mark in marked.marks:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_printable(exercise.id), name=_printable(mark.name)
            )
            if mark.held < mark.cases:
                words = marked.refusal or mark.words
                failure = ElementTree.SubElement(case, "failure", message=_printable(words.splitlines()[0]))
                failure.text = _printable(words)
    data: bytes = ElementTree.tostring(top, encoding="utf-8", xml_declaration=True)
    return data


def _printable(text: str) -> str:
    """XML has no place for most control characters, not even escaped."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )


def _csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerows([[_harmless(cell) for cell in row] for row in rows])
    return text.getvalue()


def _harmless(cell: str) -> str:
    """A spreadsheet takes what begins so for a formula, and names are chosen by students."""
    if len(cell) < 2 or _is_number(cell):
        return cell
    safe = _FORMULA.sub(r"\1\2'", cell)
    return f"'{safe}" if cell[0] in "\t\r\n" or (safe != cell and cell[0].isspace()) else safe


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(value: float) -> str:
    return f"{round(value, 2):g}"


def write_file(file: Path, data: bytes) -> None:
    """Write one more table, where somebody asked for it.

    Raises:
        CommandError: it cannot be written.
    """
    try:
        write_private(file, data)
    except OSError as error:
        raise CommandError(f"{file}: {error.strerror}; allowed: a file in a folder that can be written to") from None
