"""Clouds and joint workspaces as files: CSV and numpy, written block by block, whole or not at all."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from hil.errors import HilError
from hil.kinematics.workspace.cloud import Cloud, Progress
from hil.kinematics.workspace.joint_workspace import JointWorkspace
from hil.units import DEG, MM

CSV_BYTES, NPZ_BYTES = 32, 24
"""Of a point in a file, about."""


def write_cloud(clouds: Sequence[tuple[str, Cloud]], file: Path, on_progress: Progress | None = None) -> None:
    """Write all points.

    A CSV file has x_mm, y_mm, z_mm, and with several clouds the segment's name. An npz file has an array of shape
    (N, 3) in metres per cloud, called ``points_m`` or ``<name>_m``.

    Args:
        clouds: name and points.
        file: ends in .csv or .npz.
        on_progress: is told how many points are written.

    Raises:
        HilError: no room on the disk, or the file cannot be written.
    """
    total = sum(cloud.points for _, cloud in clouds)
    csv = file.suffix.lower() == ".csv"
    with whole_file(file, total * (CSV_BYTES if csv else NPZ_BYTES)) as part:
        if csv:
            _write_csv(clouds, part, on_progress)
        else:
            _write_npz(clouds, part, on_progress)


def write_box(box: JointWorkspace, revolute: Sequence[bool], file: Path) -> None:
    """Write one CSV row per place and posture, millimetres and degrees; a place out of reach has one row without.

    Raises:
        HilError: the file cannot be written.
    """
    units = [DEG if turns else MM for turns in revolute]
    heads = [f"{j.name}_{'deg' if turns else 'mm'}" for j, turns in zip(box.joints, revolute, strict=True)]
    with whole_file(file, 0) as part:
        part.write((",".join(["x_mm", "y_mm", "z_mm", "branch", "within_limits", *heads]) + "\n").encode())
        for sample in box.samples:
            place = ",".join(f"{v / MM:z.6g}" for v in sample.point_m)
            for solution in sample.solutions:
                values = ",".join(f"{v / unit:z.6f}" for v, unit in zip(solution.q, units, strict=True))
                branch = f'"{solution.branch}"'
                part.write(f"{place},{branch},{int(solution.within_limits)},{values}\n".encode())
            if not sample.solutions:
                part.write(f"{place},,0{',' * len(units)}\n".encode())


def _write_csv(clouds: Sequence[tuple[str, Cloud]], file: IO[bytes], on_progress: Progress | None) -> None:
    several = len(clouds) > 1
    file.write(b"x_mm,y_mm,z_mm,segment\n" if several else b"x_mm,y_mm,z_mm\n")
    done = 0
    for name, cloud in clouds:
        row = f"%.3f,%.3f,%.3f{f',{name}' if several else ''}\n"
        for block in cloud.blocks():
            file.write("".join([row % tuple(point) for point in (block / MM).tolist()]).encode())
            done += len(block)
            if on_progress is not None:
                on_progress(done)


def _write_npz(clouds: Sequence[tuple[str, Cloud]], file: IO[bytes], on_progress: Progress | None) -> None:
    done = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, cloud in clouds:
            array = f"{name}_m.npy" if len(clouds) > 1 else "points_m.npy"
            with archive.open(array, "w", force_zip64=True) as entry:
                head = {"descr": "<f8", "fortran_order": False, "shape": (cloud.points, 3)}
                np.lib.format.write_array_header_1_0(entry, head)
                for block in cloud.blocks():
                    entry.write(np.ascontiguousarray(block, dtype="<f8").tobytes())
                    done += len(block)
                    if on_progress is not None:
                        on_progress(done)


@contextmanager
def whole_file(file: Path, size: int) -> Iterator[IO[bytes]]:
    """A file that takes its name only when it is complete; whatever ends the writing, no part of it stays."""
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(file.parent).free
        if size > free:
            raise HilError(f"{file}: about {size / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free")
        try:
            with part.open("wb") as stream:
                yield stream
            os.replace(part, file)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise HilError(f"{file} cannot be written: {error.strerror}") from None
