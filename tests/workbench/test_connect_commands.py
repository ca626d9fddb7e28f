"""hil ports, doctor, new and schema as a person meets them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer

import hil.cli.main as command_line
from hil.errors import LinkTimeout
from hil.link import Answer, SerialAdapter
from hil.runtime import port_wiring
from hil.runtime.open_ports import Holder, OpenPorts
from hil.workbench import doctor
from hil.workbench.doctor import Finding, Severity

FTDI = SerialAdapter(
    device="/dev/ttyUSB0",
    description="FT232R USB UART",
    maker="FTDI",
    serial_number="A50285BI",
    usb_id="0403:6001",
    usb_place="1-1.2",
    links=("/dev/serial/by-id/usb-FTDI_A50285BI",),
)


@pytest.fixture
def hil(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):  # type: ignore[no-untyped-def]
    """Runs a command in an empty folder with one adapter plugged in; gives exit code, output, complaints."""
    monkeypatch.setattr("hil.model.files.user_dir", lambda: tmp_path / "user")
    monkeypatch.setattr("hil.workbench.new_files.user_dir", lambda: tmp_path / "user")
    monkeypatch.setattr(port_wiring, "serial_adapters", lambda: (FTDI,))
    monkeypatch.setattr("hil.runtime.open_ports.open_ports", lambda: OpenPorts(holders={}, complete=True))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hil", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            command_line.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return exit_info.value.code or 0, captured.out, captured.err  # type: ignore[return-value]

    return run


# -- ports -----------------------------------------------------------------------------------------------


def test_ports_shows_all_that_tells_adapters_apart_and_asks_nobody(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_wiring, "open_serial", lambda *_: pytest.fail("a port was opened"))
    assert hil("new", "rig", "desk", "--from", "lynx6", "--adapter-serial", "A50285BI")[0] == 0
    code, out, _ = hil("ports")
    assert code == 0
    for words in ("/dev/ttyUSB0  FT232R USB UART  FTDI", "serial number A50285BI, USB place 1-1.2, USB id 0403:6001",
                  "also /dev/serial/by-id/usb-FTDI_A50285BI", "rig desk is bound to it"):  # fmt: skip
        assert words in out
    assert "answers" not in out


def test_ports_with_ask_says_who_answers_and_at_which_rate(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer(kind="ssc32", identity="SSC32-V2.04GP", baud=38400)
    monkeypatch.setattr(port_wiring, "ask_port", lambda url, clock: answer)
    assert "answers: SSC32-V2.04GP at 38400 baud (ssc32)" in hil("ports", "--ask")[1]
    assert json.loads(hil("ports", "--ask", "--json")[1])[0]["answer"] == {
        "kind": "ssc32", "identity": "SSC32-V2.04GP", "baud": 38400,
    }  # fmt: skip


def test_ports_with_ask_says_why_there_is_no_answer(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(url: str, clock: object) -> Answer:
        raise LinkTimeout(f"{url}: no answer to VER", url)

    monkeypatch.setattr(port_wiring, "ask_port", nobody)
    code, out, _ = hil("ports", "--ask", "/dev/ttyUSB0")
    assert code == 0 and "    no answer to VER\n" in out


def test_ports_names_the_program_that_has_a_port_and_does_not_ask_there(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = OpenPorts(holders={"/dev/ttyUSB0": (Holder(pid=812, name="minicom"),)}, complete=True)
    monkeypatch.setattr("hil.runtime.open_ports.open_ports", lambda: opened)
    monkeypatch.setattr(port_wiring, "ask_port", lambda *_: pytest.fail("a busy port was asked"))
    assert "in use by minicom (process 812)" in hil("ports", "--ask")[1]


def test_ports_without_any_says_what_to_check(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port_wiring, "serial_adapters", lambda: ())
    code, out, _ = hil("ports")
    assert code == 0
    assert "no serial port found" in out and "1. " in out and "fake" in out
    assert json.loads(hil("ports", "--json")[1]) == []


# -- doctor ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("severity", "code"), [(Severity.WARNING, 0), (Severity.NOTE, 0), (Severity.ERROR, 1)])
def test_the_doctor_ends_with_one_only_for_an_error(
    hil, monkeypatch: pytest.MonkeyPatch, severity: Severity, code: int
) -> None:
    finding = Finding(topic="storage", severity=severity, text="full [disk]", fix='pip install "x[plot]"')
    monkeypatch.setattr(doctor, "examine", lambda system: (finding,))
    got, out, _ = hil("doctor")
    assert got == code
    assert "full [disk]" in out and 'fix: pip install "x[plot]"' in out
    assert hil("doctor", "--json")[0] == code


def test_the_doctors_rules_name_the_adapters_of_all_bound_rigs(hil) -> None:
    assert 'ATTRS{idVendor}=="0403"' in hil("doctor", "--udev")[1]
    hil("new", "rig", "desk", "--from", "lynx6", "--adapter-serial", "A50285BI")
    assert 'SYMLINK+="hil-desk"' in hil("doctor", "--udev")[1]
    assert 'SYMLINK+="hil-desk"' in hil("doctor", "--udev", "--rig", "desk")[1]
    assert 'KERNELS=="1-1.2"' in hil("doctor", "--udev", "--rig", "other", "--usb-place", "1-1.2")[1]


def test_options_of_the_rules_alone_are_bad_usage(hil) -> None:
    assert hil("doctor", "--rig", "lynx6")[0] == 2
    assert hil("doctor", "--udev", "--adapter-serial", "A1")[0] == 2
    code, _, err = hil("doctor", "--udev", "--rig", "lynx6")
    assert code == 1 and "hil ports" in err


# -- new -------------------------------------------------------------------------------------------------


def test_a_new_rig_tells_where_it_is_and_what_comes_next(hil, tmp_path: Path) -> None:
    code, out, _ = hil("new", "rig", "desk", "--from", "lynx6", "--port", "COM3")
    assert code == 0
    assert str(tmp_path / "user/rigs/desk.toml") in out and "next: hil calibrate desk" in out
    code, _, err = hil("new", "rig", "desk", "--from", "lynx6")
    assert code == 1 and "not taken" in err


LENGTHS = ("--base-height-mm", "111", "--upper-arm-mm", "119.5", "--forearm-mm", "121", "--hand-mm", "148")


def test_a_new_robot_is_written_from_options_without_a_terminal(hil) -> None:
    code, out, _ = hil("new", "robot", "mine", "--axes", "4", *LENGTHS, "--measured-by", "Ann")
    assert code == 0 and "--from lynx6-4axis --robot mine" in out
    assert hil("new", "rig", "desk", "--from", "lynx6-4axis", "--robot", "mine")[0] == 0


def test_without_a_terminal_missing_lengths_are_bad_usage_and_named(hil) -> None:
    code, _, err = hil("new", "robot", "mine", *LENGTHS[:4])
    assert code == 2
    assert "--forearm-mm" in err and "--measured-by" in err


def test_on_a_terminal_a_length_is_asked_again_until_it_can_be_true(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["6", "5", "111", "12", "119,5", "long", "121", "148", "", "Ann"])
    monkeypatch.setattr(typer, "prompt", lambda *_, **__: next(answers))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    code, out, err = hil("new", "robot", "mine")
    assert code == 0 and "written" in out
    assert "4 or 5" in err and "centimetres" in err and "a number is needed" in err
    assert list(answers) == []


def test_a_taken_name_is_told_before_anything_is_asked(hil, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typer, "prompt", lambda *_, **__: pytest.fail("asked"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    assert hil("new", "robot", "lynx6")[0] == 1


# -- schema ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["task", "rig", "robot"])
def test_a_schema_is_printed_or_written(hil, kind: str, tmp_path: Path) -> None:
    printed = json.loads(hil("schema", kind)[1])
    assert printed["title"] == f"hil {kind} file"
    assert hil("schema", kind, "-o", "s.json")[0] == 0
    assert json.loads((tmp_path / "s.json").read_text()) == printed


def test_another_kind_of_schema_is_bad_usage(hil) -> None:
    code, _, err = hil("schema", "fault")
    assert code == 2 and "task, rig, robot" in err


@pytest.mark.parametrize("command", ["ports", "doctor", "new", "schema"])
def test_help_is_there_without_looking_at_anything(hil, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(port_wiring, "serial_adapters", lambda: pytest.fail("looked"))
    code, out, _ = hil(command, "--help")
    assert code == 0 and "--help" in out
