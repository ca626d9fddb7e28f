"""Every other script once, in its shortest form: that it still runs, not that what it measures is good."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).parent
ROOT = SCRIPTS.parent
LEFT_OUT = 75
"""How a script ends that could not be tried here; its last line says why."""
ALLOWED_S = 300.0
"""Long after every one of them has ended; one that hangs is ended here."""
FAULT = re.compile(
    r"^(Attribute|Import|Index|Key|ModuleNotFound|Name|Syntax|Type|UnboundLocal|Value)Error\b", re.MULTILINE
)
"""How a traceback ends of a script that is wrong; that something was awaited in vain ends otherwise."""
LAST_LINES = 12
BROWSERS = 2
"""Scripts with one at a time."""


class Form(NamedTuple):
    """A script, and with what it is short."""

    script: str
    arguments: str = ""
    needs: tuple[str, ...] = ()
    """Commands of the system without which it cannot run."""

    modules: tuple[str, ...] = ()
    """Packages of Python that need not be installed."""

    linux: bool = False
    """Whether it kills, pauses or looks into processes as Linux has them."""

    real_time: bool = False
    """Whether arms keep real time in it. It has the computer to itself; and its verdict on them is told, not counted: a
    shared computer may be busy with something else."""

    @property
    def browser(self) -> bool:
        """Whether it draws in one, in software, which takes all cores.

        Beside it no board answers in time, and what else works takes the time that a page needs to answer.
        """
        return "playwright" in self.modules

    @property
    def title(self) -> str:
        """As somebody types it."""
        return f"scripts/{self.script} {self.arguments}".strip()


DISPLAY = ("xvfb-run", "xauth")

FORMS = (
    Form("lab-chaos", "--rounds 1 --seed 1", linux=True, real_time=True),
    Form("bench", "lateness --once", DISPLAY, real_time=True),
    Form("kill-test", "--rounds 1 --arm lynx6 --only second --seed 1", linux=True, real_time=True),
    Form(
        "lab-load",
        "--arms 1 --watchers 2 --drivers 1 --pages 0 --minutes 0.05 --runs 1 --seed 1",
        linux=True,
        real_time=True,
    ),
    Form(
        "page-campaign",
        "--rounds 1 --only up --delays-ms 0 --slack-ms 3000 --seed 1",
        modules=("playwright",),
        real_time=True,
    ),
    Form(
        "demo",
        "--headless --rig tests/processes/quick-rig.toml --task tests/processes/there-and-back.toml",
        real_time=True,
    ),
    Form("terminal-test", "--only ^demo,.ssc32.*SIGTERM$ --seed 1", linux=True, real_time=True),
    Form("line-noise", "--rounds 1 --every 40", real_time=True),
    Form("busy-start", "--busy 1 --rounds 1 --only run", linux=True, real_time=True),
    # The longest first: what is left for the end is short.
    Form("page-growth", "--minutes 0.5 --warm-up-minutes 0.5", modules=("playwright",)),
    Form("bench", "lessons --once", DISPLAY),
    Form("bench", "dashboard --once", DISPLAY),
    Form("page-screens", "--small --into {folder}", modules=("playwright",)),
    Form("foreign-clients"),
    Form("lab-fuzz", "--messages 100 --minutes 0.01 --seed 1"),
    Form("docs", modules=("zensical", "mkdocstrings")),
    Form("bench", "page --once", modules=("playwright",)),
    Form(
        "screens",
        "--look 0.05 --into {folder} live-dark live-painted preview-sent drive-take-over tour learn-dh",
        DISPLAY,
    ),
    Form("bench", "loop --once"),
    Form("bench", "tick --once"),
    Form("bench", "peers --once"),
    Form("first-hour", "--teacher --most 8"),
    Form("way-out", "--poses 1 --jobs 1 --seed 1"),
    Form("corners", "--most 6"),
    Form("labs", "01 05 --short --quiet"),
    Form("grade-class", "--students 2 --cores 1 --no-pictures", linux=True),
    Form("soak", "--led --ticks 500 --seed 1"),
    Form("soak", "--ticks 1000 --each 1000 --jobs 1 --seed 1"),
    Form("bench", "paths --once"),
    Form("bench", "control --once"),
    Form("bench", "preview --once"),
    Form("bench", "kinematics --once"),
    Form("bench", "inverse --once"),
    Form("bench", "import --once"),
    Form("first-hour", "--most 2"),
    Form("mutants", "--list --count 3"),
    Form("fuzz-cr1", "--minutes 0.005"),
    Form("fuzz-ssc32", "--minutes 0.005"),
    Form("fuzz-programs", "--minutes 0.005"),
    Form("fuzz-programs", "--written 10"),
    Form("page-parts", "--quiet"),
    Form("pages", "kinematics.md README.md --list"),
)

WITHOUT = {
    "check": "runs this",
    "test": "runs the tests",
    "fast": "runs some of the tests",
    "coverage": "runs the tests",
    "once": "is this",
}
"""Scripts that have no short form, and why."""


class Ran(NamedTuple):
    """What came of one."""

    form: Form
    took_s: float
    trouble: str
    """Empty, or how it ended and what it printed."""

    left_out: str = ""
    """Why it was not tried, if it was not."""

    verdict: str = ""
    """What it had against what it measured, if it came so far."""


def main() -> int:
    """Run them and say how long each took; 1 if one did not end well."""
    parser = argparse.ArgumentParser(prog="scripts/once", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these scripts (all)")
    parser.add_argument(
        "--jobs", type=int, default=3, help="scripts at a time, but for those that keep real time or have a browser (3)"
    )
    wanted = parser.parse_args()
    known = {form.script for form in FORMS}
    if unknown := set(wanted.names) - known:
        parser.error(f"no short form of {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}")
    forms = [form for form in FORMS if not wanted.names or form.script in wanted.names]
    began_s = time.monotonic()
    every = [_tell(_run(form)) for form in forms if form.real_time]
    for browser in (True, False):
        together = [form for form in forms if not form.real_time and form.browser is browser]
        with ThreadPoolExecutor(BROWSERS if browser else wanted.jobs) as pool:
            every += [_tell(one) for one in pool.map(_run, together)]
    broken = [one for one in every if one.trouble]
    ran = sum(not one.left_out for one in every)
    took_s = time.monotonic() - began_s
    print(f"{ran} short forms in {took_s:.0f} s, {len(broken)} broken, {len(every) - ran} left out")
    for one in broken:
        print(f"broken: {one.form.title}", *one.trouble.splitlines()[-LAST_LINES:], sep="\n    ")
    return 1 if broken else 0


def _tell(one: Ran) -> Ran:
    """Print it as it comes."""
    if one.left_out:
        print(f"left out  {one.form.title}: {one.left_out}", flush=True)
    elif one.trouble:
        print(f"BROKEN    {one.form.title}: {one.trouble}", flush=True)
    else:
        print(
            f"{one.took_s:6.1f} s  {one.form.title}{one.verdict and f' ran, and says: {one.verdict}'}",
            flush=True,
        )
    return one


def _run(form: Form) -> Ran:
    missing = [name for name in form.needs if sys.platform == "linux" and shutil.which(name) is None]
    missing += [name for name in form.modules if importlib.util.find_spec(name) is None]
    if form.linux and sys.platform != "linux":
        return Ran(form, 0.0, "", "for Linux only")
    if missing:
        return Ran(form, 0.0, "", f"needs {' and '.join(missing)}, which this computer lacks")
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hil-once-", ignore_cleanup_errors=True) as folder:
        arguments = form.arguments.format(folder=folder).split()
        homes = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"), folder)
        try:
            done = subprocess.run(
                [*_program(form.script), *arguments],
                cwd=ROOT,
                env={**os.environ, **homes},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=ALLOWED_S,
            )
        except subprocess.TimeoutExpired as error:
            return Ran(form, ALLOWED_S, f"hung for {ALLOWED_S:.0f} s\n{(error.stdout or b'').decode(errors='replace')}")
    said = done.stdout.decode(errors="replace")
    if done.returncode == LEFT_OUT:
        return Ran(form, 0.0, "", (said.splitlines() or ["it does not say why"])[-1])
    took_s = time.monotonic() - began_s
    if form.real_time and done.returncode == 1 and not FAULT.search(said):
        return Ran(form, took_s, "", verdict=(said.splitlines() or ["it does not say what"])[-1])
    return Ran(form, took_s, f"exit code {done.returncode}\n{said}" if done.returncode else "")


def _program(script: str) -> list[str]:
    """What the shell script of this name starts."""
    if script == "demo":
        return [str(Path(sys.executable).with_name("hil")), "demo"]
    program = [sys.executable, str(SCRIPTS / f"_{script.replace('-', '_')}.py")]
    display = script == "screens" and sys.platform == "linux"
    return ["xvfb-run", "-a", "-s", "-screen 0 2560x1440x24", *program] if display else program


if __name__ == "__main__":
    sys.exit(main())
