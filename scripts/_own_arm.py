"""Five arms that nobody here made, from packages of PyPI that ship URDFs: imported, given a rig, moved."""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

from _typed_page import ROOT, Shell, minutes, shorten

PAGE = ROOT / "docs/first-hour-own-arm.md"
PACKAGES = ("example-robot-data==6.0.0", "rtb-data==2.0.0")
MOST_MINUTES = 3.0
DEGREES = 20
TASK = """title = "There and back"

[[step]]
do = "move"
by_deg = {{ {joint} = {degrees} }}

[[step]]
do = "move"
to = "home"
"""


class Arm(NamedTuple):
    """An arm, and how its owner would lead it.

    Attributes:
        name: of its robot and rig.
        urdf: where its file is, below the folder of the packages.
        jogged: lines for `hil jog`.
        more: further words for `hil import`.
    """

    name: str
    urdf: str
    jogged: str = r"j1 +10\nz -10\nq\n"
    more: str = ""


ROBOTS, XACRO = "example-robot-data/robots", "rtbdata/xacro"
ARMS = (
    Arm("z1", f"{ROBOTS}/z1_description/urdf/z1.urdf"),
    Arm("kinova", f"{ROBOTS}/kinova_description/robots/kinova.urdf"),
    Arm("xarm7", f"{ROBOTS}/xarm_description/urdf/xarm7.urdf"),
    Arm("irb140", f"{XACRO}/abb_irb140_description/urdf/irb140.urdf"),
    Arm("iiwa", f"{XACRO}/kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf"),
)

HEAD = """# The first hour with an arm of your own

Made by `scripts/first-hour --own-arm --write` on {date}. Five arms that nobody here made, from two packages of PyPI
that ship URDFs ({packages}): each is imported, looked at, given a rig, led by lines
as by keys, and run through a task on its simulated arm, in a terminal of 80 columns. What can go wrong on the way, and
what the words mean: [import.md](import.md), [any-arm.md](any-arm.md). A line in square brackets with dots says how much
was left out. With a file of your own keep to the same order:

```
hil import ARM.urdf -o ARM.toml     # what it has understood, what it left out; --tip where it names several ends
hil check ARM.toml                  # what is wrong or odd, and what is taken for numbers that the file lacks
hil new rig NAME --robot ARM.toml   # simulated; --controller ssc32 for servos on your table
hil jog NAME                        # it moves
```
"""


def unpack(folder: Path, given: Path | None) -> Path:
    """The folder in which the packages' files are; they are fetched where it was not given."""
    if given is not None:
        return given
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(folder)]
    subprocess.run([*pip, *PACKAGES], check=True)
    for wheel in folder.glob("*.whl"):
        with ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def session(arm: Arm, packages: Path, folder: Path) -> Iterator[str]:
    """Type what the owner of an arm types; gives the transcript piece by piece.

    Raises:
        SystemExit: a command failed, or all of it takes longer than it may.
    """
    urdf = next(packages.rglob(arm.urdf), None)
    if urdf is None:
        raise SystemExit(f"{arm.urdf}: not below {packages}")
    shell = Shell(folder)
    (folder / "packages").symlink_to(packages)
    place = Path("packages") / urdf.relative_to(packages)
    commands = [
        f"hil import {place} -o {arm.name}.toml{arm.more}",
        f"hil check {arm.name}.toml",
        f"hil new rig my-{arm.name} --robot {arm.name}.toml",
        f"printf '{arm.jogged}' | hil jog my-{arm.name}",
        f"hil run my-{arm.name} there-and-back.toml",
    ]
    began_s, typed = time.monotonic(), list[str]()
    yield f"## {arm.name}\n"
    for command in commands:
        if "there-and-back" in command:
            task = TASK.format(joint=_first_joint(folder / f"{arm.name}.toml"), degrees=DEGREES)
            (folder / "there-and-back.toml").write_text(task, "utf-8")
        code, printed, _ = shell.type(command, None)
        if code != 0 or "refused" in printed:
            raise SystemExit(f"{printed}\n{command}: exit code {code}")
        typed.append(command)
        yield f"```console\n$ {command}\n{shorten(command, printed)}\n```\n"
    machine_s = time.monotonic() - began_s
    took = minutes(typed) + machine_s / 60.0
    if took > MOST_MINUTES:
        raise SystemExit(f"{arm.name}: {took:.1f} minutes; allowed: {MOST_MINUTES:g}")
    yield (
        f"Typed: {len(typed)} lines, {minutes(typed):.1f} minutes as [the first hour](first-hour-transcript.md) "
        f"reckons them, and {machine_s:.0f} s of the machine: {took:.1f} minutes, below three.\n"
    )


def _first_joint(robot: Path) -> str:
    """Name of the joint next to the base, as the imported robot has it."""
    import tomllib

    name: str = tomllib.loads(robot.read_text("utf-8"))["joints"][0]["name"]
    return name


def main(arguments: argparse.Namespace) -> int:
    """Print the transcript, or write it into docs/."""
    parts = [HEAD.format(date=datetime.date.today().isoformat(), packages=", ".join(PACKAGES))]
    print(parts[0], flush=True)
    with tempfile.TemporaryDirectory(prefix="own arm ") as fetched:
        packages = unpack(Path(fetched).resolve(), arguments.packages)
        for arm in ARMS[: arguments.most]:
            with tempfile.TemporaryDirectory(prefix="own arm ") as folder:
                for part in session(arm, packages.resolve(), Path(folder).resolve()):
                    print(part, flush=True)
                    parts.append(part)
    if arguments.write and arguments.most is None:
        PAGE.write_text("\n".join(parts), "utf-8")
    return 0
