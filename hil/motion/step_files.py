"""Files that steps of a task name: lists of points, recordings. They lie beside the task."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hil.errors import CommandError, ConfigError
from hil.findings import Findings
from hil.kinematics.poses import Convention
from hil.model.files import find, list_names
from hil.motion.path_steps import MAX_POINTS, CurveStep, PointsStep, ReplayStep, refuse_same_points
from hil.motion.recording import Recording, read_recording
from hil.paths.curve_file import CurveFile, curve_from_table, load_curve
from hil.paths.point_list import bare_line, point_text
from hil.types import Record

MOST_BYTES = 10_000_000
LARGEST = 100_000
"""Of a number of a point, as of one that stands in the task."""
NOT_HERE = "a task that names no file: what is sent to a lab holds all that it needs"


class Replay(Record, frozen=True, kw_only=True):
    """A replay whose recording was read."""

    step: ReplayStep
    recording: Recording

    @property
    def label(self) -> str:
        """That of the step."""
        return self.step.label


class CurveOfFile(Record, frozen=True, kw_only=True):
    """A curve step whose curve was read.

    Attributes:
        step: as it stands.
        pieces: smooth ones, each from the end of the one before.
        title: of the curve.
    """

    step: CurveStep
    pieces: tuple[Any, ...]
    title: str

    @property
    def label(self) -> str:
        """That of the step, or else the curve's."""
        return self.step.label or self.title[:80]


class _Lines(NamedTuple):
    points: list[tuple[float, ...]]
    names: list[str]
    joints: bool


def replay_of(step: ReplayStep, folder: Path | None, prefix: str, findings: Findings) -> Replay | None:
    """The step with its recording."""
    path = _file(step.file, folder, prefix, findings)
    recording = None if path is None else findings.gather(lambda: read_recording(path))
    return None if recording is None else Replay(step=step, recording=recording)


def curve_of(step: CurveStep, folder: Path | None, prefix: str, findings: Findings) -> CurveOfFile | None:
    """The step with its curve: out of a file beside the task, a bundled one, or its own table."""
    path = None
    if step.curve is None:
        path = _curve_file(step, folder, prefix, findings)
        if path is None:
            return None

    def reading() -> CurveFile:
        try:
            if path is not None:
                return load_curve(path, index=step.index)
            assert step.curve is not None
            return curve_from_table(step.curve, f"{findings.file}: {prefix}.curve", index=step.index)
        except CommandError as error:
            allowed = error.allowed or "no index: it is one curve alone"
            raise ConfigError(findings.file, f"{prefix}.index", step.index, allowed) from None

    read = findings.gather(reading)
    if read is None:
        return None
    return CurveOfFile(step=step, pieces=tuple(piece.curve for piece in read.pieces), title=read.title)


def _curve_file(step: CurveStep, folder: Path | None, prefix: str, findings: Findings) -> Path | None:
    """A file beside the task, or a bundled one by its name."""
    assert step.file is not None
    name = step.file
    if folder is None and name not in list_names("curves"):
        return _file(name, folder, prefix, findings)
    file = "" if folder is None else findings.file
    # What lies beside the task comes before what lies where somebody stands.
    if folder is not None and (beside := folder / name).is_file():
        return beside
    return findings.gather(lambda: find("curves", name, file=file, key=f"{prefix}.file"))


def points_of(step: PointsStep, folder: Path | None, prefix: str, findings: Findings) -> PointsStep | None:
    """The step with the points of its file, if it names one."""
    if step.file is None:
        return step
    path = _file(step.file, folder, prefix, findings)
    lines = None if path is None else findings.gather(lambda: _read_points(path))
    if lines is None:
        return None
    if lines.joints:
        rows = [{f"J{k}": value for k, value in enumerate(point, start=1)} for point in lines.points]
        filled = msgspec.structs.replace(step, file=None, joints_deg=rows, names=tuple(lines.names))
    else:
        poses = [(*point, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)[:6] for point in lines.points]
        convention = step.convention or Convention.MELFA
        filled = msgspec.structs.replace(step, file=None, poses=poses, names=tuple(lines.names), convention=convention)
    refuse_same_points(filled, prefix, findings)
    return filled


def _file(name: str, folder: Path | None, prefix: str, findings: Findings) -> Path | None:
    if folder is None:
        findings.say(f"{prefix}.file", name, NOT_HERE, "Write the points into the step, or run it beside the arm")
        return None
    path = folder / name
    if not path.is_file():
        findings.say(f"{prefix}.file", name, "the name of a file beside the task", f"There is no file {path}")
        return None
    return path


def _read_points(path: Path) -> _Lines:
    file = str(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ConfigError(file, "file", f"more than {MOST_BYTES} bytes", "a list below that size")
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no text in UTF-8"
        raise ConfigError(file, "file", reason, "a readable list of points (.pos)") from None
    found: dict[str, tuple[float, ...]] = {}
    kinds = set()
    for row, line in enumerate(text.splitlines(), start=1):
        bare = bare_line(line)
        if not bare:
            continue
        point = point_text(bare)
        if point is None or len(point.numbers) > 8:
            raise ConfigError(file, f"line {row}", bare[:40], "DEF POS P1=(X,Y,Z,A,B,C)(FL1,FL2)")
        beyond = next((number for number in point.numbers if not abs(number) <= LARGEST), None)
        if beyond is not None:
            raise ConfigError(file, f"line {row}", beyond, f"-{LARGEST} to {LARGEST}")
        name = point.name[0] + ("" if not point.name[1] else f"({','.join(map(str, point.name[1]))})")
        if name in found:
            raise ConfigError(file, f"line {row}", name, "every name once: this point stands twice in the list")
        found[name] = point.numbers
        kinds.add(point.is_joints)
    if not 1 <= len(found) <= MAX_POINTS or len(kinds) != 1:
        given = "positions and joint sets" if len(kinds) == 2 else f"{len(found)} points"
        raise ConfigError(file, "points", given, f"1 to {MAX_POINTS} points, all positions or all joint sets")
    return _Lines(list(found.values()), list(found), kinds.pop())
