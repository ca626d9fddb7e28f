"""A search as files: every setting as a row, or a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hil.control.best import BestRun
from hil.control.search import MEASURES, Found
from hil.errors import CommandError
from hil.figures.options import ENDINGS as FIGURES
from hil.figures.options import FigureOptions, require_target, require_writable
from hil.robot import Robot
from hil.workbench.control_pictures import draw_search
from hil.workbench.workspace_files import whole_file

UNITS = {"largest_error": "largest_error_rad", "torque_rms": "torque_rms_nm"}


def is_figure(file: Path) -> bool:
    """Whether a figure is written to a file of this name."""
    return file.suffix.lower() in FIGURES


def require_files(files: Sequence[Path]) -> None:
    """Refuse what could not be written, before anything is worked out.

    Raises:
        CommandError: an ending that is not known.
        HilError: a folder that is not there or not writable, or matplotlib is missing.
    """
    for file in files:
        if is_figure(file):
            require_target(file)
        elif file.suffix.lower() == ".csv":
            require_writable(file.parent, f"{file} cannot be written")
        else:
            allowed = f"a name that ends in {', '.join(FIGURES)} or .csv"
            raise CommandError(f"{file} given; allowed: {allowed}", value=file, allowed=allowed)


def write_search(file: Path, robot: Robot, found: Found, best: Sequence[BestRun], options: FigureOptions) -> None:
    """Write a search by the file's ending."""
    if is_figure(file):
        draw_search(file, robot, found, best, options)
        return
    names = [*(axis.title for axis in found.grid.axes), *(UNITS.get(name, name) for name in MEASURES)]
    rows = np.hstack([found.values(range(len(found.table))), found.table])
    with whole_file(file, 0) as part:
        part.write((",".join(names) + "\n").encode())
        for row in rows.tolist():
            part.write((",".join(f"{value:.9g}" for value in row) + "\n").encode())
