"""The script that runs clients from the registry: its tables, its pins, and what it does without a registry."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from script_module import SCRIPTS, load_script

foreign = load_script("foreign_clients")
once = load_script("once")
DOCS = SCRIPTS.parent / "docs"


@pytest.mark.parametrize("controller", ["ssc32", "cr1"])
def test_the_page_of_a_fake_has_the_table_of_its_foreign_clients(controller: str) -> None:
    page = (DOCS / f"fake-{controller}.md").read_text(encoding="utf-8")
    assert "\n".join(foreign.table(controller)) in page


def test_every_release_is_pinned_by_its_hash_and_every_job_has_its_file() -> None:
    for client in foreign.CLIENTS:
        assert client.release.pin.count("==") == 1
        assert len(bytes.fromhex(client.release.sha256)) == 32
        assert (foreign.HERE / f"{client.job}.py").is_file()


def test_nothing_of_a_client_lies_in_the_repository() -> None:
    packages = {client.release.package for client in foreign.CLIENTS}
    assert not [path for path in foreign.HERE.rglob("*") if path.stem in packages]


def test_what_was_written_for_python_2_runs_in_words_of_today() -> None:
    old = "from ssc32 import *\ntry:\n    from script import *\nexcept ImportError:\n    pass\n"
    assert foreign.to_python_3(old) == old.replace("from ", "from .")
    assert foreign.to_python_3("for i in xrange(2): d.iteritems()") == "for i in range(2): d.items()"
    assert foreign.to_python_3("unicode(unicoded)") == "str(unicoded)"


@pytest.mark.parametrize(
    ("pip", "kind"),
    [
        ("WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'", "RegistryAwayError"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", "PinError"),
        ("ERROR: No matching distribution found for pyssc32==0.4.2", "PinError"),
    ],
)
def test_a_registry_that_is_away_is_told_from_one_that_has_another_file(pip: str, kind: str) -> None:
    done: Any = subprocess.CompletedProcess([], 1, stdout=pip)
    assert type(foreign.Environment._why("pyssc32==0.4.2", done)).__name__ == kind


def test_a_script_that_cannot_be_tried_here_is_left_out_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "away.py"
    script.write_text("print('looks')\nprint('the registry is away')\nraise SystemExit(75)\n", encoding="ascii")
    monkeypatch.setattr(once, "_program", lambda name: [sys.executable, str(script)])
    ran = once._run(once.Form("foreign-clients"))
    assert (ran.trouble, ran.left_out) == ("", "the registry is away")
    assert once.LEFT_OUT == foreign.LEFT_OUT


HOME_US = [1600.0, 1000.0, 600.0, 1900.0]


def board(*pulses_us: list[float]) -> list[dict[str, Any]]:
    return [{"pulses_us": [*each, *[0.0] * 28]} for each in pulses_us]


def test_the_judges_of_the_jobs_tell_what_is_not_as_expected() -> None:
    moved = board(HOME_US, [2500.0, 1100.0, 600.0, 2000.0], HOME_US)
    assert not list(foreign._ssc_32u({"believed": 1950}, moved))
    fraction = board(HOME_US, [2500.0, 1100.0, 1150.0, 2000.0], HOME_US)
    assert list(foreign._ssc_32u({"believed": 1950}, fraction)) == ["a width with a fraction moved a servo"]
    assert not list(foreign._silence({"done": [False, False], "heard": ""}, []))
    assert list(foreign._silence({"done": [False, False], "heard": "."}, [])) == ["bytes heard: ., expected "]
    assert list(foreign._silence({"done": [False, False], "heard": ""}, board(HOME_US)))
    at = [{"joints_deg": [13.5, 23.1, 73.3, 83.6, 13.5]}, {"joints_deg": [0.0, 21.19, 72.78, 86.03, 0.0]}]
    assert not list(foreign._melfapy_link({"sent": 2}, at))
    assert list(foreign._melfapy_link({"sent": 2}, at[:1]))
    assert list(foreign._melfapy_link({"sent": 2}, []))
