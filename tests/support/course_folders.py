"""A course in a lab's folder, and a marker that takes no time."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from pathlib import Path

from hil.labs.exercise import load_exercise
from hil.labs.grade_records import Mark, Marked, Setup, Submission, refused
from hil.service.courses.course import Exercise
from hil.service.courses.driven import DrivenJob, DrivenVerdict

EXERCISE = """
title = "Turn it"
aim = "Turn the base by 10 degrees."
rig = "lynx6"

[hand_in]
kind = "task"
seconds = 5

[[predicate]]
do = "time"
name = "soon"
at_most_s = 20
marks = 2
"""

COURSE = """
title = "Robotics"
students = ["Ana", "Ben"]
arms = ["arm-1"]
tries = 3

[[exercise]]
name = "turn-it.toml"

[[exercise]]
name = "where-is-the-tool"
closes = "2020-01-01"
"""

PNG = base64.b64decode(
    b"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

TASK = b'title = "up"\nstart = "home"\n[[step]]\ndo = "move"\nby_deg = { base = 10 }\n'


def write_course(lab: Path, text: str = COURSE, name: str = "robotics") -> Path:
    """Its folder; two exercises, one of them closed long ago."""
    folder = lab / "courses" / name
    folder.mkdir(parents=True)
    (folder / "course.toml").write_text(text)
    (folder / "turn-it.toml").write_text(EXERCISE)
    return folder


class PlainMarker:
    """Gives as many marks as the file has letters `x`, to the most; waits where it is told to.

    Attributes:
        seen: what was handed in.
        free: set where it goes on.
    """

    def __init__(self) -> None:
        self.seen: list[Submission] = []
        self.free = threading.Event()
        self.free.set()
        self.begun = threading.Event()
        self.setup: Setup | None = None
        self.says: Callable[[Marked], Marked] = lambda marked: marked
        self.closed = 0

    def of(self, setup: Setup) -> PlainMarker:
        """As the service makes one."""
        self.setup = setup
        return self

    def mark(self, submission: Submission) -> Marked:
        """One submission."""
        assert self.setup is not None
        self.seen.append(submission)
        self.begun.set()
        self.free.wait(20.0)
        if submission.refusal:
            return refused(self.setup.exercise, submission, submission.refusal)
        got = float(min(2, submission.files["task.toml"].count(b"x")))
        row = Mark(name="soon", marks=got, most=2.0, held=int(got == 2.0), cases=1, words="20 s", sample=7, time_s=0.14)
        marked = Marked(student=submission.student, digest=submission.digest, marks=(row,), picture=PNG)
        return self.says(marked)

    def close(self) -> None:
        """End."""
        self.closed += 1
        self.free.set()


def one_mark(job: DrivenJob) -> DrivenVerdict:
    """A run gets one mark of two."""
    row = Mark(name="soon", marks=1.0, most=2.0, held=0, cases=1, words="25 s; allowed: 20 s")
    return DrivenVerdict(marked=Marked(student=job.student, digest="d", marks=(row,)))


def exercise(folder: Path) -> Exercise:
    """The first one of that course."""
    return Exercise(name="turn-it", asked=load_exercise(folder / "turn-it.toml"))
