"""hil status and hil backup on the fakes."""

from __future__ import annotations

import json

import pytest
from command_line import Terminal


@pytest.fixture
def terminal(tmp_path, monkeypatch, capsys) -> Terminal:
    return Terminal(tmp_path, monkeypatch, capsys)


def test_status_lists_what_a_person_at_the_bench_wants_to_know(terminal: Terminal) -> None:
    done = terminal.run("status", "rv2aj")
    assert done.code == 0
    assert done.out.startswith("FAKE rv2aj")
    for words in ("key              AUTO", "emergency stops  released", "operation right  free", "servos           off",
                  "alarm            none", "J1 0.00, J2 -20.00, J3 110.00, J5 80.00, J6 0.00 deg"):  # fmt: skip
        assert words in done.out


def test_status_as_json_says_whether_it_was_a_fake(terminal: Terminal) -> None:
    told = json.loads(terminal.run("status", "rv2aj", "--json").out)
    assert (told["rig"], told["fake"], told["port"]) == ("rv2aj", True, None)
    assert {"key", "alarm", "servos", "operation right"} <= {each["name"] for each in told["conditions"]}


def test_a_board_that_can_only_say_who_it_is_says_that(terminal: Terminal) -> None:
    assert "SSC32-V2" in terminal.run("status", "lynx6").out


def test_a_backup_goes_into_a_folder_of_its_own_and_is_never_written_over(terminal: Terminal) -> None:
    folder = terminal.folder / "saved"
    assert terminal.run("backup", "rv2aj", "-o", str(folder)).code == 0
    assert "MEJAR;" in (folder / "parameters.prm").read_text()
    again = terminal.run("backup", "rv2aj", "-o", str(folder))
    assert again.code == 1
    assert "never written over" in again.err


def test_a_controller_without_programs_has_nothing_to_save(terminal: Terminal) -> None:
    done = terminal.run("backup", "lynx6")
    assert done.code == 1
    assert "keeps no programs" in done.err


def test_a_port_needs_hardware(terminal: Terminal) -> None:
    assert terminal.run("status", "rv2aj", "--port", "/dev/ttyNONE").code == 2
