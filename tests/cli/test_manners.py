"""What a command line owes its user before anything moves: groups, a version, names that complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Terminal

from hil.cli.app import GROUPS, app
from hil.version import software_version


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal(tmp_path, monkeypatch, capsys)


def completed(words: str, folder: Path) -> list[str]:
    """What bash is offered for the last of these words."""
    asked = {"_HIL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'hil'; from hil.cli.main import main; main()"],
        env={**os.environ, **asked},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_command_stands_in_one_group_of_the_help(terminal: Terminal) -> None:
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped)) == len(app.registered_commands) + len(app.registered_groups)
    shown = terminal.run("--help").out
    places = [shown.index(f"\n{group}:\n") for group in GROUPS]
    assert places == sorted(places)
    for group, place, end in zip(GROUPS, places, [*places[1:], len(shown)], strict=True):
        assert set(re.findall(r"^  ([a-z]+) ", shown[place:end], re.MULTILINE)) == set(GROUPS[group])


def test_options_of_one_kind_stand_in_a_section_of_their_own(terminal: Terminal) -> None:
    shown = terminal.run("simulate", "--help").out
    places = [shown.index(f"\n{title}:\n") for title in ("Arguments", "Options", "Reference", "Controller")]
    assert places == sorted(places)
    assert re.findall(r"^  (--k[a-z]) ", shown[places[-1] :], re.MULTILINE) == ["--kp", "--ki"]
    assert "  --kd, --kv K,...  " in shown[places[-1] :]


@pytest.mark.parametrize(("given", "found"), [(None, "1"), ("2", "2")])
def test_numbers_are_worked_out_on_one_core_unless_somebody_wants_more(given: str | None, found: str) -> None:
    asks = "import os, sys; sys.argv = ['hil', '--version']; from hil.cli.main import main\n"
    told = "os.environ['OPENBLAS_NUM_THREADS'], os.environ['MKL_NUM_THREADS'], 'numpy' in sys.modules"
    asks += f"try: main()\nfinally: print({told})"
    without = {name: text for name, text in os.environ.items() if not name.endswith("_NUM_THREADS")}
    wanted = {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run(
        [sys.executable, "-c", asks], env={**without, **wanted}, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines()[-1] == f"{found} 1 False"


def test_the_version_is_told(terminal: Terminal) -> None:
    assert terminal.run("--version").out == f"hil {software_version()}\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("hil prev", ["preview"]),
        ("hil robots pum", ["puma560"]),
        ("hil preview lynx6-b", ["lynx6-bench"]),
        ("hil preview lynx6 pick", ["pick-and-place"]),
        ("hil lint palle", ["palletise"]),
        ("hil check palle", []),
    ],
)
def test_a_shell_completes_commands_and_names(words: str, offered: list[str], tmp_path: Path) -> None:
    assert completed(words, tmp_path) == offered


def test_completing_a_name_loads_no_numpy(tmp_path: Path) -> None:
    program = (
        "import sys; from hil.cli._names import names; "
        "assert 'lynx6' in names('rigs')('ly'); assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=120)


@pytest.mark.parametrize("joints", ["0 90 0 0 0", "0 -0 0 -0 0", "90 90 90 -90 0", "180 0 -180 0 0.00000001"])
def test_no_number_is_a_negative_zero(terminal: Terminal, joints: str) -> None:
    shown = terminal.run("fk", "lynx6", *joints.split()).out
    assert re.findall(r"\d\.\d", shown) and not re.findall(r"-0(?:\.0*)?(?![.\d])", shown)


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("command", [("rigs",), ("robots",), ("robots", "puma560"), ("paths",)])
def test_tables_wrap_between_words_at_any_width(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    wide = words_of(terminal.run(*command).out)
    monkeypatch.setenv("COLUMNS", str(width))
    narrow = terminal.run(*command).out
    assert {word for word in wide if len(word) < width - 8} <= words_of(narrow)
    ruled = [line for line in narrow.splitlines() if "──" in line]
    assert all(len(line.rstrip()) <= width for line in ruled)


def words_of(text: str) -> set[str]:
    """Words of a table, or of the blocks that stand for it; these do not repeat the name of the first column."""
    return set(text.replace(":", " ").replace("─", " ").split()) - {"name", "i", "kind"}


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder in which nobody can write")
@pytest.mark.parametrize(
    "command",
    [
        ("serve", "lynx6", "--port", "0"),
        ("run", "lynx6", "square"),
        ("jog", "ur5"),
        ("new", "rig", "q", "--robot", "ur5"),
        ("supply", "lynx6", "cut"),
        ("release", "lynx6"),
        ("program", "lynx6", "arcs"),
    ],
)
def test_a_home_that_cannot_be_written_is_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'hil'; from hil.cli.main import main; main()", *command],
        env={**kept, "HOME": "/proc/nobody", "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    (words,) = [line for line in done.stderr.splitlines() if "/proc/nobody" in line]
    assert "No such file or directory" in words or "not permitted" in words
