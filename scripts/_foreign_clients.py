"""Programs from the registry that nobody here wrote, each with its whole job against a fake that has just started.

Their releases are pinned by hash and installed into an environment of their own, which goes away at the end; what they
import and do not need here is replaced by stubs, and what is written for Python 2 is converted as it is unpacked. A job
(scripts/_foreign) says what its client saw; the fake's trace says what really moved. Ends with 1 if one does not come
out as expected, and with 75 if the registry cannot be reached.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from sim.profiles import load_profile

HERE = Path(__file__).parent / "_foreign"
LEFT_OUT = 75
"""Exit code: not tried, and the last line says why."""
JOB_S, READY_S = 60.0, 60.0
NEEDED = ("numpy>=2.1.3", "pyserial==3.5", "PyYAML>=6")
"""What the clients import of others."""
PTY, TCP = "pseudo-terminal", "TCP"

Facts = dict[str, Any]
Trace = list[dict[str, Any]]
Judge = Callable[[Facts, Trace], Iterator[str]]


class Release(NamedTuple):
    """One release on the registry.

    Attributes:
        pin: name and version.
        sha256: of its file.
        package: the folder that is imported.
        from_source: it is, or has to be, an archive of sources; else a wheel.
        python2: it is written for Python 2.
    """

    pin: str
    sha256: str
    package: str
    from_source: bool = False
    python2: bool = False

    @property
    def title(self) -> str:
        """Name and version as people write them."""
        return self.pin.replace("==", " ")


class Client(NamedTuple):
    """A client, and what has to come of it.

    Attributes:
        job: file of `scripts/_foreign`.
        fake: what `hil fake` is told.
        ways: how it can reach the fake.
        does, expected: in words, for the table.
        judge: tells what is not as expected.
        needs: a choice without which the fake cannot be had; empty for none.
    """

    release: Release
    job: str
    fake: str
    ways: tuple[str, ...]
    does: str
    expected: str
    judge: Judge
    needs: str = ""

    @property
    def controller(self) -> str:
        """Which fake it talks to."""
        return self.fake.split()[0]


# -- what is expected ------------------------------------------------------------------------------------


def _pyssc32(facts: Facts, trace: Trace) -> Iterator[str]:
    yield from _differs("counts of 'not done yet' after a plain commit", facts["plain"], 0)
    for moved in ("timed", "autocommit"):
        if not facts[moved]:
            yield f"after a {moved} commit it was done at once"
    yield from _differs("movements of the script", facts["script"], [1, 2])
    yield from _differs("shoulder, bounded by its own maximum", facts["shoulder"], 2000)
    yield from _differs("last pulses", _pulses(trace)[-1][:2], [1500.0, 1200.0])
    yield from _differs("widest pulse of the base", max(each[0] for each in _pulses(trace)), 2000.0)


def _silence(facts: Facts, trace: Trace) -> Iterator[str]:
    yield from _differs("what it takes for done", facts["done"], [False, False])
    yield from _differs("bytes heard", facts["heard"], "")
    yield from _differs("frames in which a pulse changed", len(trace), 0)


def _ssc_32u(facts: Facts, trace: Trace) -> Iterator[str]:
    pulses, home = _pulses(trace), [1600.0, 1000.0, 600.0, 1900.0]
    yield from _differs("first pulses", pulses[0][:4], home)
    yield from _differs("last pulses", pulses[-1][:4], home)
    yield from _differs("widest pulse of the base, which it believes to be at 1950", max(p[0] for p in pulses), 2500.0)
    yield from _differs("where it believes the base to be", facts["believed"], 1950)
    if not any(each[3] == 2000.0 for each in pulses) or not any(each[1] == 1100.0 for each in pulses):
        yield "a move by speed did not arrive"
    if any(each[2] != 600.0 for each in pulses if each[1] == 1100.0 and each[3] == 2000.0):
        yield "a width with a fraction moved a servo"


def _ctu_mitsubishi(facts: Facts, trace: Trace) -> Iterator[str]:
    home_deg = [0.0, 0.0, 90.0, 90.0, 0.0]
    yield from _differs("motions that it saw arrive", facts["arrived"], [True, True])
    yield from _differs("its own inverse of the target", facts["reachable"], [True])
    for name, first in (("start", 0.0), ("there", 0.1), ("home", 0.0)):
        expected = [first, 0.0, 1.5708, 0.0, 1.5708, 0.0]
        if any(abs(a - b) > 2e-4 for a, b in zip(facts[name], expected, strict=True)):
            yield f"{name}: {facts[name]}, expected {expected}"
    farthest = max(each["joints_deg"][0] for each in trace)
    if abs(farthest - 5.73) > 0.01:
        yield f"the arm turned J1 by {farthest:.2f} deg, expected 5.73"
    yield from _differs("where the arm ends", trace[-1]["joints_deg"], home_deg)


def _melfapy_link(facts: Facts, trace: Trace) -> Iterator[str]:
    yield from _differs("poses sent", facts["sent"], 2)
    turned = max(each["joints_deg"][0] for each in trace) if trace else 0.0
    if abs(turned - 13.50) > 0.01:
        yield f"the first pose turned J1 by {turned:.2f} deg, expected 13.50"
    expected = [0.0, 21.19, 72.78, 86.03, 0.0]
    last = trace[-1]["joints_deg"] if trace else []
    if len(last) != len(expected) or any(abs(a - b) > 0.01 for a, b in zip(last, expected, strict=True)):
        yield f"the arm ends at {last}, expected {expected}"


def _melfapy_mxt(facts: Facts, trace: Trace) -> Iterator[str]:
    expected = [160.0, 0.0, 478.0, 0.0, 3.14159, 0.0]
    if any(abs(a - b) > 1e-4 for a, b in zip(facts["position"], expected, strict=False)):
        yield f"position: {facts['position']}, expected {expected} and more"
    if not facts["error"].startswith("Qok"):
        yield f"no error stands: {facts['error']}"
    yield from _differs("cycles in which the arm moved", len(trace), 0)


def _differs(what: str, found: Any, expected: Any) -> Iterator[str]:
    if found != expected:
        yield f"{what}: {found}, expected {expected}"


def _pulses(trace: Trace) -> list[list[float]]:
    return [each["pulses_us"] for each in trace] or [[0.0] * 32]


PYSSC32 = Release(
    "pyssc32==0.4.2", "ea4eec107d20a474fda4c0a701109a6929ca73ee4d2d1392c0b8288af998a4f9", "ssc32", python2=True
)
PYSSC32_LF = Release(
    "pyssc32==0.4.1", "4a95eaf46be9eb6ef2bb37f92bff2818c34730dff6bc99337ba5bdba5fbb6c8c", "ssc32", True, True
)
SSC_32U = Release("ssc-32u==0.2.3", "2527d100d0c2d1a56c3bdbdd3c7a3a75cfb4f5b34b37d71491406c6a76902724", "ssc_32u", True)
CTU = Release(
    "ctu-mitsubishi==0.1.5", "eea7782b1b55651eb1f566eb0b3bc63eb837f32730302bf0cb883d129ff346f8", "ctu_mitsubishi"
)
MELFAPY = Release("melfapy==0.1.0", "7715ce6e4d082906abe4978a3e4adf055c92dd7755c8e1a873703d06d052a715", "melfapy")

CLIENTS = (
    Client(
        PYSSC32,
        "job_pyssc32",
        "ssc32",
        (PTY, TCP),
        "names servos, moves at once, in time and by itself, asks whether it is done, runs a script, keeps a file",
        "each move arrives, `Q` is busy and then done",
        _pyssc32,
    ),
    Client(
        PYSSC32_LF,
        "job_pyssc32_lf",
        "ssc32",
        (PTY, TCP),
        "the same, with lines that end in LF",
        "silence: no answer, no pulse",
        _silence,
    ),
    Client(
        SSC_32U,
        "job_ssc_32u",
        "ssc32 --profile ssc32u",
        (PTY, TCP),
        "home, by speed, by time, scaled, by velocity, at random; reads nothing",
        "whole numbers arrive; its own bound is passed (2500 us, which it believes to be 1950); widths with a fraction "
        "move nothing",
        _ssc_32u,
    ),
    Client(
        CTU,
        "job_ctu_mitsubishi",
        "cr1 --six-axes --baud 38400 --end-code crlf --program {here}/moveit.mb4",
        (PTY, TCP),
        "starts a program, reads the joints, turns J1 by 0.1 rad and back through `HOT`, waits each time, stops",
        "all arrive; it needs six axes in the answers, and LF behind them",
        _ctu_mitsubishi,
    ),
    Client(
        MELFAPY,
        "job_melfapy_link",
        "cr1 --procedure 2 --program {here}/link.mb4 --start link",
        (TCP,),
        "data link: two poses, each on a connection of its own, to a program with `INPUT #1`",
        "the arm stands at each pose",
        _melfapy_link,
    ),
    Client(
        MELFAPY,
        "job_melfapy_mxt",
        "cr1 --set ethernet=true --program {here}/mxt.mb4 --start mxt",
        (TCP,),
        "real-time control (MXT, beside it UDP): asks where the arm is, then leads it 90 mm along a curve",
        "the position is told; its packets ask for A = B = C = 0, which this arm cannot turn to: an error, no motion",
        _melfapy_mxt,
        needs="ethernet",
    ),
)


# -- an environment of their own -------------------------------------------------------------------------


class RegistryAwayError(Exception):
    """The registry does not answer."""


class PinError(Exception):
    """The registry answers, and not with what is pinned."""


_AWAY = re.compile(
    r"Retrying|Max retries|Connection|[Tt]imed? ?out|Temporary failure|Name or service|resolve|ProxyError|"
    r"Network is unreachable|SSLError|HTTP error 5|Service Unavailable"
)
_TO_PYTHON_3 = (
    (re.compile(r"^from (ssc32|script) import", re.M), r"from .\1 import"),
    (re.compile(r"^(\s+)from (ssc32|script) import", re.M), r"\1from .\2 import"),
    (re.compile(r"\bxrange\b"), "range"),
    (re.compile(r"\bunicode\b"), "str"),
    (re.compile(r"\.iteritems\("), ".items("),
)


class Environment:
    """A virtual environment with what clients import, and a folder for each release.

    Args:
        folder: where; it is whole once `make` is over.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.python = folder / "env" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def make(self, releases: Sequence[Release]) -> None:
        """Install everything.

        Raises:
            RegistryAwayError: the registry does not answer.
            PinError: it does not have a release any more, or another file under its name.
        """
        venv.create(self._folder / "env", with_pip=False, symlinks=sys.platform != "win32")
        with ThreadPoolExecutor(2) as pool:
            needed = pool.submit(self._lend if all(map(_is_here, NEEDED)) else self._need)
            for got in [pool.submit(self._get, release) for release in releases]:
                got.result()
            needed.result()

    def path_of(self, release: Release) -> str:
        """What has to be on the path for this one."""
        return os.pathsep.join(map(str, (HERE, HERE / "stubs", self._place(release))))

    def _place(self, release: Release) -> Path:
        return self._folder / release.pin.replace("==", "-")

    def _lend(self) -> None:
        """What this environment has besides its own; to unpack another numpy takes longer than the jobs."""
        ours = sysconfig.get_path("purelib")
        places = dict.fromkeys(("base", "platbase"), str(self._folder / "env"))
        Path(sysconfig.get_path("purelib", vars=places), "lent.pth").write_text(f"{ours}\n", encoding="utf-8")

    def _need(self) -> None:
        done = self._pip("--python", str(self.python), "install", "--no-deps", *NEEDED)
        if done.returncode:
            raise self._why(", ".join(NEEDED), done)

    def _get(self, release: Release) -> None:
        """Unpack one release. Of an archive that pip cannot make ready, what it has unpacked is taken."""
        wanted, scratch = self._folder / f"{release.pin}.txt", self._folder / f"{release.pin}.tmp"
        scratch.mkdir()
        wanted.write_text(f"{release.pin} --hash=sha256:{release.sha256}\n", encoding="ascii")
        place = self._place(release)
        how = ["--no-deps", "--require-hashes", "-r", str(wanted)]
        if release.from_source:
            how = [*how, "--no-binary=:all:", "--no-build-isolation", "--no-clean", "-d", str(scratch)]
            done = self._pip("download", *how, scratch=scratch)
            found = next(iter(scratch.glob(f"**/{release.package}/__init__.py")), None)
        elif release.python2:
            language = ["--python-version=2.7", "--implementation=py", "--abi=none", "--platform=any"]
            done = self._pip("install", *how, "--only-binary=:all:", *language, "--target", str(scratch / "it"))
            found = scratch / "it" / release.package / "__init__.py"
        else:
            done = self._pip("install", *how, "--only-binary=:all:", "--target", str(scratch / "it"))
            found = scratch / "it" / release.package / "__init__.py"
        if found is None or not found.exists():
            raise self._why(release.pin, done)
        shutil.copytree(found.parent, place / release.package)
        if release.python2:
            for file in (place / release.package).glob("*.py"):
                file.write_text(to_python_3(file.read_text(encoding="utf-8")), encoding="utf-8")

    @staticmethod
    def _pip(*arguments: str, scratch: Path | None = None) -> subprocess.CompletedProcess[str]:
        quick = ["--disable-pip-version-check", "--no-input", "--retries=1", "--timeout=15", "--no-color"]
        environ = {**os.environ, "PYTHONPATH": ""}
        if scratch is not None:
            environ |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
        command = [sys.executable, "-m", "pip", *quick, *arguments]
        return subprocess.run(
            command, env=environ, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    @staticmethod
    def _why(what: str, done: subprocess.CompletedProcess[str]) -> Exception:
        if _AWAY.search(done.stdout):
            return RegistryAwayError(f"the package registry does not answer ({what} was asked for)")
        return PinError(f"pip could not get {what}:\n{done.stdout[-2000:]}")


def _is_here(needed: str) -> bool:
    """Whether this environment has a release that will do."""
    requirement = Requirement(needed)
    try:
        return requirement.specifier.contains(importlib.metadata.version(requirement.name))
    except importlib.metadata.PackageNotFoundError:
        return False


def to_python_3(text: str) -> str:
    """What of the clients' Python 2 does not run any more, in words of today."""
    for old, new in _TO_PYTHON_3:
        text = old.sub(new, text)
    return text


# -- running them ----------------------------------------------------------------------------------------


class Ran(NamedTuple):
    """What came of one client on one way.

    Attributes:
        trouble: what is not as expected, line by line.
    """

    client: Client
    way: str
    took_s: float
    trouble: tuple[str, ...]


def run(client: Client, way: str, environment: Environment, folder: Path) -> Ran:
    """Start a fake, let the client do its job, and judge both."""
    began_s = time.monotonic()
    folder.mkdir(parents=True)
    trace_file = folder / "trace"
    where = ["--tcp", "0"] if way == TCP else ["--link", str(folder / "port")]
    options = [part.format(here=HERE) for part in client.fake.split()]
    try:
        with _fake([*options, *where, "--trace", str(trace_file)], folder) as url:
            facts = _job(client, url, environment, folder)
        lines = trace_file.read_text(encoding="ascii").splitlines() if trace_file.exists() else []
        trouble = tuple(client.judge(facts, [json.loads(line) for line in lines]))
    except _BrokenError as broken:
        trouble = (str(broken),)
    return Ran(client, way, time.monotonic() - began_s, trouble)


class _BrokenError(Exception):
    """A fake or a client did not come to its end."""


@contextlib.contextmanager
def _fake(options: list[str], folder: Path) -> Iterator[str]:
    """A fake in a process of its own; gives its address."""
    said = folder / "fake"
    homes = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"), str(folder))
    command = [sys.executable, "-c", "from hil.cli.main import main; main()", "fake", *options]
    with said.open("wb") as output:
        fake = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **homes})
    try:
        yield _address(fake, said)
    finally:
        fake.terminate()
        try:
            fake.wait(10.0)
        except subprocess.TimeoutExpired:
            fake.kill()
            fake.wait()


def _address(fake: subprocess.Popen[bytes], said: Path) -> str:
    end_s = time.monotonic() + READY_S
    while time.monotonic() < end_s:
        text = said.read_text(encoding="utf-8", errors="replace")
        if (found := re.search(r"ready at (\S+)\n", text)) is not None:
            return found[1]
        if fake.poll() is not None:
            raise _BrokenError(f"the fake ended with {fake.returncode}: {text}")
        time.sleep(0.01)
    raise _BrokenError(f"the fake was not ready after {READY_S:g} s")


def _job(client: Client, url: str, environment: Environment, folder: Path) -> Facts:
    environ = {
        **os.environ,
        "PYTHONPATH": environment.path_of(client.release),
        "HIL_FOREIGN_PORT": url,
        "HIL_FOREIGN_FOLDER": str(folder),
    }
    command = [str(environment.python), "-W", "ignore", str(HERE / f"{client.job}.py")]
    try:
        done = subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, timeout=JOB_S)
    except subprocess.TimeoutExpired:
        raise _BrokenError(f"the client hung for {JOB_S:g} s") from None
    if done.returncode:
        raise _BrokenError(f"the client ended with {done.returncode}:\n{done.stderr[-1500:]}")
    facts: Facts = json.loads(done.stdout.splitlines()[-1])
    return facts


# -- telling ---------------------------------------------------------------------------------------------


def table(controller: str) -> list[str]:
    """The lines of the table in the page of a fake."""
    lines = ["| client | on | what it does | what comes of it |", "|---|---|---|---|"]
    for client in CLIENTS:
        if client.controller == controller:
            lines.append(f"| `{client.release.title}` | {', '.join(client.ways)} | {client.does} | {client.expected} |")
    return lines


def main() -> int:
    """Run them all, once or several times; 1 if one did not come out as expected."""
    parser = argparse.ArgumentParser(prog="scripts/foreign-clients", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only clients whose release begins so (all)")
    parser.add_argument("--times", type=int, default=1, help="so often, each time with fakes started anew (1)")
    parser.add_argument("--jobs", type=int, default=2, help="clients at a time (2)")
    parser.add_argument("--table", choices=("ssc32", "cr1"), help="print the table of a fake's page, and end")
    wanted = parser.parse_args()
    if wanted.table is not None:
        print("\n".join(table(wanted.table)))
        return 0
    clients = [c for c in CLIENTS if not wanted.names or c.release.pin.startswith(tuple(wanted.names))]
    clients = [client for client in clients if _can_be_had(client)]
    if not clients:
        parser.error(f"no such client; there are: {', '.join(client.release.pin for client in CLIENTS)}")
    with tempfile.TemporaryDirectory(prefix="hil-foreign-", ignore_cleanup_errors=True) as folder:
        environment = Environment(Path(folder))
        try:
            environment.make(list(dict.fromkeys(client.release for client in clients)))
        except RegistryAwayError as away:
            print(away)
            return LEFT_OUT
        except PinError as wrong:
            print(wrong, file=sys.stderr)
            return 1
        return _run_all(clients, wanted.times, wanted.jobs, environment, Path(folder))


def _can_be_had(client: Client) -> bool:
    """Whether the fake has what this client needs; says so if not."""
    whole = {"ssc32": "ssc32-2x", "cr1": "cr1"}[client.controller]
    if not client.needs or client.needs in load_profile(whole).choices:
        return True
    print(f"left out  {client.release.title}: the fake {client.controller} has no choice {client.needs!r}")
    return False


def _run_all(clients: Sequence[Client], times: int, jobs: int, environment: Environment, folder: Path) -> int:
    ways = [(client, way) for client in clients for way in client.ways if way == TCP or sys.platform != "win32"]
    good = dict.fromkeys(ways, 0)
    slowest_s = dict.fromkeys(ways, 0.0)
    with ThreadPoolExecutor(jobs) as pool:
        for turn in range(times):
            every = [
                pool.submit(run, client, way, environment, folder / f"{turn}-{number}")
                for number, (client, way) in enumerate(ways)
            ]
            for ran in (each.result() for each in every):
                key = ran.client, ran.way
                good[key] += not ran.trouble
                slowest_s[key] = max(slowest_s[key], ran.took_s)
                for line in ran.trouble:
                    print(f"BROKEN  {ran.client.release.title} on {ran.way}, time {turn + 1}: {line}", flush=True)
    for client, way in ways:
        count, longest_s = good[client, way], slowest_s[client, way]
        print(f"{count} of {times}  {longest_s:4.1f} s  {client.release.title} on {way}: {client.expected}")
    broken = sum(times - count for count in good.values())
    print(f"{len(ways)} jobs, {times} times each: {broken} not as expected")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
