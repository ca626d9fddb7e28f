"""The doctor on computers that are made up: each thing that is wrong is found, with one line that mends it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hil.clock import ClockGrain
from hil.errors import ConfigError
from hil.link import SerialAdapter
from hil.runtime.open_ports import Holder, OpenPorts
from hil.workbench import doctor
from hil.workbench.doctor import Finding, Ran, Severity, System, examine
from hil.workbench.udev import StableName, udev_rules

DEVICE = "/dev/ttyUSB0"
FTDI = SerialAdapter(device=DEVICE, description="FT232R", serial_number="A50285BI", usb_id="0403:6001")
DIALOUT, UUCP = 20, 986
REQUIREMENTS = (
    "numpy>=1.26",
    "pytest>=8.3; extra == 'dev'",
    "hil-arm-bridge[plot]; extra == 'dev'",
    "matplotlib>=3.8; extra == 'plot'",
    'PySide6_Essentials<6.12; extra == "dashboard"',
    "colorama; sys_platform == 'win32'",
)


class Program:
    """Stands for a child process, and keeps what it was given."""

    def __init__(self, code: int, output: str) -> None:
        self.ran = Ran(code, output)
        self.changes: list[Mapping[str, str]] = []

    def __call__(self, program: str, changes: Mapping[str, str]) -> Ran:
        compile(program, "probe", "exec")
        self.changes.append(changes)
        return self.ran


def write(root: Path, name: str, text: str = "") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.fixture
def healthy(tmp_path: Path) -> System:
    """A Linux laptop with one adapter and nothing wrong; its tree is `tmp_path`."""
    write(tmp_path, "etc/group", f"root:x:0:\ndialout:x:{DIALOUT}:ann\nusers:x:100:ann,bob")
    write(tmp_path, "sys/bus/usb-serial/devices/ttyUSB0/latency_timer", "1")
    write(tmp_path, "sys/bus/usb/devices/1-2/idVendor", "0403")
    write(tmp_path, "sys/bus/usb/devices/1-2/idProduct", "6001")
    (tmp_path / "sys/bus/usb/devices/1-2/1-2:1.0/ttyUSB0").mkdir(parents=True)
    write(tmp_path, "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc")
    write(tmp_path, "proc/version", "Linux version 6.12.0")
    write(tmp_path, "proc/812/comm", "bash")
    place = Path("/opt/hil")
    return System(
        platform="linux",
        root=tmp_path,
        python=(3, 12),
        bits=64,
        isolated=True,
        versions={"numpy": "2.1", "matplotlib": "3.9", "pyside6-essentials": "6.11.1"},
        requirements=REQUIREMENTS,
        source="hil-arm-bridge",
        editable=False,
        origins={"hil": place, "drivers": place, "sim": place},
        user="ann",
        superuser=False,
        group_ids=frozenset({100, DIALOUT}),
        can_open=lambda device: True,
        group_of=lambda device: DIALOUT,
        adapters=(FTDI,),
        opened=OpenPorts(holders={}, complete=True),
        realtime_priority=95,
        locked_bytes=None,
        nap_s=0.0011,
        grain=ClockGrain(step_s=1e-7, oversleep_s=0.0001),
        periods_s={"bench": 0.004, "lynx6": 0.02},
        run=Program(0, "OpenGL works"),
        environment={"DISPLAY": ":0"},
        state_dir=tmp_path / "home/ann/.local/state/hil",
        can_write=lambda folder: True,
        free_bytes=lambda folder: 40_000_000_000,
    )


def wrong(system: System, topic: str) -> Finding:
    """The one finding under this topic that is not ok."""
    found = [each for each in examine(system) if each.topic == topic and each.severity is not Severity.OK]
    assert len(found) == 1, found
    assert found[0].fix and "\n" not in found[0].fix
    return found[0]


def fine(system: System, topic: str) -> str:
    """What is said under a topic where nothing is wrong."""
    found = [each for each in examine(system) if each.topic == topic]
    assert found and all(each.severity is Severity.OK for each in found), found
    return "; ".join(each.text for each in found)


def test_nothing_is_found_on_a_healthy_computer(healthy: System) -> None:
    findings = examine(healthy)
    assert {each.severity for each in findings} == {Severity.OK}
    assert not any(each.fix for each in findings)
    assert {each.topic for each in findings} >= {"Python", "extras", "permission", "ports", "latency", "graphics",
                                                "real time", "clock", "storage"}  # fmt: skip


def test_the_doctor_itself_runs_on_this_computer() -> None:
    findings = examine(doctor.this_system((FTDI,), {"slow": 0.2}))
    assert {each.topic for each in findings} >= {"Python", "ports", "clock", "storage"}
    assert all(each.fix for each in findings if each.severity is not Severity.OK)


# -- Python and packages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [(3, 10), (3, 14)])
def test_a_python_that_is_not_supported_is_an_error(healthy: System, version: tuple[int, int]) -> None:
    finding = wrong(replace(healthy, python=version), "Python")
    assert finding.severity is Severity.ERROR
    assert "3.11 to 3.13" in finding.text and "-m venv" in finding.fix


def test_the_supported_pythons_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    below = (doctor.NEWEST[0], doctor.NEWEST[1] + 1)
    assert project["requires-python"] == f">={doctor.OLDEST[0]}.{doctor.OLDEST[1]},<{below[0]}.{below[1]}"
    assert project["name"] == doctor.PACKAGE


def test_every_extra_says_what_it_is_good_for() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) - set(doctor.NOT_FOR_USERS) <= set(doctor.EXTRAS)


def test_a_32_bit_python_and_a_shared_one_are_mentioned_but_no_error(healthy: System) -> None:
    assert "64" in wrong(replace(healthy, bits=32), "Python").fix
    assert "venv" in wrong(replace(healthy, isolated=False), "Python").fix


def test_another_package_called_drivers_that_hides_ours_is_an_error(healthy: System) -> None:
    origins = {**healthy.origins, "drivers": Path("/usr/lib/python3/dist-packages")}
    finding = wrong(replace(healthy, origins=origins), "packages")
    assert finding.severity is Severity.ERROR and "'drivers'" in finding.text


def test_a_missing_requirement_is_an_error_and_a_missing_extra_a_note(healthy: System) -> None:
    bare = replace(healthy, versions={})
    assert wrong(bare, "packages").fix == 'pip install "hil-arm-bridge"'
    notes = [each for each in examine(bare) if each.topic == "extras"]
    assert {each.severity for each in notes} == {Severity.NOTE}
    assert {each.fix for each in notes} == {
        'pip install "hil-arm-bridge[plot]"',
        'pip install "hil-arm-bridge[dashboard]"',
    }


def test_an_extra_is_installed_into_the_checkout_that_is_in_use(healthy: System) -> None:
    checkout = replace(healthy, source="/home/ann/hil", editable=True, versions={"numpy": "2.1"})
    assert 'pip install -e "/home/ann/hil[plot]"' in {each.fix for each in examine(checkout)}


# -- ports -----------------------------------------------------------------------------------------------


def outside(healthy: System, **changes: object) -> System:
    """Ann without the right to open the port."""
    return replace(healthy, can_open=lambda device: False, group_ids=frozenset({100}), **changes)  # type: ignore[arg-type]


def test_who_is_not_in_the_ports_group_is_told_how_to_join_and_to_log_in_again(healthy: System) -> None:
    write(healthy.root, "etc/group", f"root:x:0:\ndialout:x:{DIALOUT}:bob")
    finding = wrong(outside(healthy), "permission")
    assert finding.severity is Severity.ERROR and DEVICE in finding.text
    assert "sudo usermod -a -G dialout ann" in finding.fix and "log out and in again" in finding.fix


def test_who_has_joined_but_not_logged_in_again_is_told_just_that(healthy: System) -> None:
    finding = wrong(outside(healthy), "permission")
    assert "older" in finding.text and "usermod" not in finding.fix
    assert "log out and in" in finding.fix and "newgrp dialout" in finding.fix


def test_the_group_is_that_of_the_port_or_the_usual_one_of_the_system(healthy: System) -> None:
    write(healthy.root, "etc/group", f"root:x:0:\nuucp:x:{UUCP}:\ntty:x:5:")
    assert "-G uucp" in wrong(outside(healthy, group_of=lambda device: UUCP), "permission").fix
    assert "-G uucp" in wrong(outside(healthy, adapters=()), "permission").fix
    assert "-G tty" in wrong(outside(healthy, group_of=lambda device: 5), "permission").fix


def test_without_an_adapter_a_missing_group_is_only_a_warning(healthy: System) -> None:
    write(healthy.root, "etc/group", f"dialout:x:{DIALOUT}:")
    nobody = replace(healthy, adapters=(), group_ids=frozenset())
    assert wrong(nobody, "permission").severity is Severity.WARNING
    assert fine(replace(nobody, group_ids=frozenset({DIALOUT})), "permission") == "ann is in the group dialout"


def test_a_port_that_is_closed_to_its_group_or_belongs_to_root_needs_rules(healthy: System) -> None:
    assert "--udev" in wrong(replace(healthy, can_open=lambda device: False), "permission").fix
    assert "--udev" in wrong(outside(healthy, group_of=lambda device: 0), "permission").fix


def test_a_closed_port_of_the_computer_itself_is_nobodys_adapter(healthy: System) -> None:
    built_in = replace(healthy, can_open=lambda device: False, adapters=(SerialAdapter(device="/dev/ttyS0"),))
    fine(built_in, "permission")


def test_the_superuser_may_open_everything(healthy: System) -> None:
    fine(outside(healthy, superuser=True), "permission")


def test_a_busy_port_is_named_with_the_program_that_has_it(healthy: System) -> None:
    opened = OpenPorts(holders={DEVICE: (Holder(pid=812, name="minicom"),)}, complete=True)
    finding = wrong(replace(healthy, opened=opened), "ports")
    assert finding.severity is Severity.WARNING
    assert "minicom (process 812)" in finding.text and "kill 812" in finding.fix


def test_what_other_users_do_is_not_claimed_to_be_known(healthy: System) -> None:
    unseen = replace(healthy, opened=OpenPorts(holders={}, complete=False))
    assert "as far as can be seen" in fine(unseen, "ports")


def test_no_adapter_is_a_note_for_nothing_needs_one(healthy: System) -> None:
    assert wrong(replace(healthy, adapters=()), "ports").severity is Severity.NOTE


def test_an_adapter_without_a_port_lacks_its_driver_or_was_taken_by_brltty(healthy: System) -> None:
    write(healthy.root, "sys/bus/usb/devices/1-3/idVendor", "1a86")
    write(healthy.root, "sys/bus/usb/devices/1-3/idProduct", "7523")
    finding = wrong(healthy, "ports")
    assert finding.severity is Severity.ERROR and "1-3" in finding.text
    assert "modprobe ch341" in finding.fix
    write(healthy.root, "usr/lib/udev/rules.d/85-brltty.rules")
    assert "remove brltty" in wrong(healthy, "ports").fix


def test_other_usb_devices_are_no_adapters(healthy: System) -> None:
    write(healthy.root, "sys/bus/usb/devices/1-4/idVendor", "10c4")
    write(healthy.root, "sys/bus/usb/devices/1-4/idProduct", "8a2a")
    fine(healthy, "ports")


def test_the_linux_inside_windows_is_told_how_usb_gets_there(healthy: System) -> None:
    write(healthy.root, "proc/version", "Linux 5.15-microsoft-standard-WSL2")
    fixes = [each.fix for each in examine(replace(healthy, adapters=()))]
    assert any("usbipd attach" in fix for fix in fixes)


def test_a_running_modem_manager_is_a_warning_until_rules_tell_it_to_keep_off(healthy: System) -> None:
    write(healthy.root, "proc/900/comm", "ModemManager")
    finding = wrong(healthy, "grabbers")
    assert finding.severity is Severity.WARNING
    assert "--udev" in finding.fix and "disable --now ModemManager" in finding.fix
    rules = udev_rules([StableName(rig="desk", serial_number="A1")], doctor.CONVERTERS, "dialout")
    write(healthy.root, "etc/udev/rules.d/70-hil.rules", rules)
    assert "keep" not in fine(healthy, "grabbers") and "leave alone" in fine(healthy, "grabbers")


def test_brltty_is_a_warning_whether_it_runs_or_waits_unless_its_rules_are_masked(healthy: System) -> None:
    write(healthy.root, "lib/udev/rules.d/85-brltty.rules")
    assert "remove brltty" in wrong(healthy, "grabbers").fix
    write(healthy.root, "etc/udev/rules.d/85-brltty.rules")
    assert not [each for each in examine(healthy) if each.topic == "grabbers"]
    write(healthy.root, "proc/901/comm", "brltty")
    assert wrong(healthy, "grabbers").severity is Severity.WARNING


@pytest.mark.parametrize(("value_ms", "severity"), [(1, Severity.OK), (2, Severity.OK), (3, Severity.WARNING)])
def test_an_ftdi_latency_above_two_milliseconds_is_a_warning(
    healthy: System, value_ms: int, severity: Severity
) -> None:
    write(healthy.root, "sys/bus/usb-serial/devices/ttyUSB0/latency_timer", str(value_ms))
    finding = next(each for each in examine(healthy) if each.topic == "latency")
    assert finding.severity is severity
    if finding.fix:
        assert "echo 1 | sudo tee /sys/bus/usb-serial/devices/ttyUSB0/latency_timer" in finding.fix


# -- other systems ---------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(healthy: System, tmp_path: Path) -> Callable[[str, str], System]:
    """The same computer with another system, which has none of Linux's files."""

    def make(platform: str, device: str) -> System:
        return replace(
            healthy,
            platform=platform,
            root=tmp_path / "none",
            group_ids=frozenset(),
            can_open=lambda device: pytest.fail("rights of devices mean nothing there"),
            group_of=lambda device: None,
            adapters=(SerialAdapter(device=device, usb_id="0403:6001"),),
            opened=OpenPorts(holders={}, complete=False),
            realtime_priority=None,
            environment={},
        )

    return make


def test_windows_is_told_where_the_latency_timer_is_and_nothing_of_groups(elsewhere) -> None:
    windows = elsewhere("win32", "COM3")
    assert "Device Manager" in wrong(windows, "latency").fix
    words = " ".join(each.text + each.fix for each in examine(windows))
    assert "sudo" not in words and "dialout" not in words and "COM3" in words


def test_windows_with_coarse_sleep_is_warned(elsewhere) -> None:
    finding = wrong(replace(elsewhere("win32", "COM3"), nap_s=0.0156), "clock")
    assert "15.6 ms" in finding.text and "Power" in finding.fix


@pytest.mark.parametrize(("oversleep_s", "refused"), [(0.0, ""), (0.001, ""), (0.0011, "bench (4 ms)")])
def test_it_is_said_which_periods_the_clock_keeps_and_which_rigs_it_does_not(
    healthy: System, oversleep_s: float, refused: str
) -> None:
    system = replace(healthy, grain=ClockGrain(step_s=1e-7, oversleep_s=oversleep_s))
    if not refused:
        assert f"periods from {max(4e3 * oversleep_s, 2.0):g} ms on, so every rig here" in fine(system, "clock")
        return
    finding = wrong(system, "clock")
    assert finding.severity is Severity.ERROR
    assert finding.text.endswith(f"These rigs are refused: {refused}")


def test_a_clock_that_steps_like_that_of_an_old_windows_keeps_no_rig_of_50_hz(elsewhere) -> None:
    system = replace(elsewhere("win32", "COM3"), grain=ClockGrain(step_s=0.015625, oversleep_s=0.0))
    finding = wrong(system, "clock")
    assert "goes on by 15.6 ms" in finding.text and "periods from 62.5 ms on" in finding.text
    assert "lynx6 (20 ms)" in finding.text and "Windows 10" in finding.fix


def test_macos_has_nothing_to_mend_on_a_healthy_computer(elsewhere) -> None:
    findings = examine(elsewhere("darwin", "/dev/cu.usbserial-A50285BI"))
    assert {each.severity for each in findings} == {Severity.OK}


# -- graphics --------------------------------------------------------------------------------------------


def test_qt_is_not_tried_where_it_is_not_installed(healthy: System) -> None:
    never = Program(1, "")
    findings = examine(replace(healthy, versions={"numpy": "2.1"}, run=never))
    assert not never.changes
    assert any(each.topic == "extras" and "[dashboard]" in each.fix for each in findings)
    assert not [each for each in findings if each.topic == "graphics"]


@pytest.mark.parametrize(
    ("code", "output", "fix"),
    [
        (1, "ImportError: libEGL.so.1: cannot open shared object file: No such file or directory", "libegl1"),
        (1, "ImportError: libGL.so.1: cannot open shared object file", "libgl1"),
        (1, "ImportError: libodd.so.7: cannot open shared object file", "libodd.so.7"),
        (-6, "From 6.5.0, xcb-cursor0 or libxcb-cursor0 is needed to load the xcb platform plugin.", "libxcb-cursor0"),
        (-11, "", "QT_DEBUG_PLUGINS"),
    ],
)  # fmt: skip
def test_a_library_that_qt_misses_is_named_with_its_package(healthy: System, code: int, output: str, fix: str) -> None:
    finding = wrong(replace(healthy, run=Program(code, output)), "graphics")
    assert finding.severity is Severity.ERROR and fix in finding.fix


def test_without_a_screen_qt_is_tried_off_screen_and_missing_opengl_is_only_a_note(healthy: System) -> None:
    probe = Program(0, "no OpenGL")
    assert wrong(replace(healthy, run=probe), "graphics").severity is Severity.WARNING
    assert wrong(replace(healthy, run=probe, environment={}), "graphics").severity is Severity.NOTE
    assert probe.changes == [{}, {"QT_QPA_PLATFORM": "offscreen"}]


@pytest.mark.parametrize(
    ("version", "python", "bad"),
    [("6.12.0", (3, 11), True), ("6.12.0", (3, 12), False), ("6.11.1", (3, 11), False), ("7.0", (3, 11), True)],
)
def test_a_pyside_that_ends_the_interpreter_is_an_error_on_the_python_it_ends(
    healthy: System, version: str, python: tuple[int, int], bad: bool
) -> None:
    system = replace(healthy, python=python, versions={**healthy.versions, "pyside6-essentials": version})
    if bad:
        assert '"PySide6-Essentials<6.12"' in wrong(system, "graphics").fix
    else:
        fine(system, "graphics")


# -- time and space --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("priority", "locked", "words"),
    [(0, None, "real-time priority"), (95, 8_388_608, "locked memory"), (39, 65536, "priority and locked memory")],
)
def test_a_missing_real_time_right_is_a_note_with_the_two_lines_that_give_it(
    healthy: System, priority: int, locked: int | None, words: str
) -> None:
    finding = wrong(replace(healthy, realtime_priority=priority, locked_bytes=locked), "real time")
    assert finding.severity is Severity.NOTE and words in finding.text
    assert "@dialout - rtprio 40" in finding.fix and "memlock unlimited" in finding.fix


def test_no_limit_is_not_a_limit_of_zero(healthy: System) -> None:
    fine(replace(healthy, realtime_priority=None, locked_bytes=None), "real time")


def test_a_slow_clock_source_is_a_warning_with_the_better_one(healthy: System) -> None:
    folder = "sys/devices/system/clocksource/clocksource0"
    write(healthy.root, f"{folder}/current_clocksource", "hpet")
    write(healthy.root, f"{folder}/available_clocksource", "hpet acpi_pm tsc")
    found = [each for each in examine(healthy) if each.topic == "clock" and each.severity is Severity.WARNING]
    assert f"echo tsc | sudo tee /{folder}/current_clocksource" in found[0].fix


def test_a_state_folder_that_cannot_be_written_is_an_error_for_nothing_moves_without_a_journal(healthy: System) -> None:
    locked = replace(healthy, can_write=lambda folder: False)
    finding = wrong(locked, "storage")
    assert finding.severity is Severity.ERROR
    assert finding.fix.startswith(f"sudo install -d -o ann {healthy.state_dir}, ")
    healthy.state_dir.mkdir(parents=True)
    assert wrong(locked, "storage").fix.startswith(f"sudo chown -R ann {healthy.state_dir}, ")


@pytest.mark.parametrize(
    ("free", "severity"), [(900_000_000, Severity.WARNING), (90_000_000, Severity.ERROR)]
)  # fmt: skip
def test_a_full_disk_is_told_before_a_journal_finds_it(healthy: System, free: int, severity: Severity) -> None:
    assert wrong(replace(healthy, free_bytes=lambda folder: free), "storage").severity is severity


# -- rules for Linux's device manager --------------------------------------------------------------------


def test_rules_without_a_name_cover_the_usual_converters() -> None:
    rules = udev_rules([], doctor.CONVERTERS, "dialout")
    for vendor in ("0403", "10c4", "1a86"):
        assert rules.count(f'ATTRS{{idVendor}}=="{vendor}"') == 2
    assert 'ATTR{latency_timer}="1"' in rules and 'GROUP="dialout"' in rules
    assert 'ENV{ID_MM_DEVICE_IGNORE}="1"' in rules and "SYMLINK" not in rules


def test_rules_for_a_rig_give_its_adapter_alone_a_name_that_stays() -> None:
    rules = udev_rules([StableName(rig="lynx6-3", serial_number="A50285BI")], doctor.CONVERTERS, "uucp")
    lines = [line for line in rules.splitlines() if line.startswith("SUBSYSTEM")]
    assert len(lines) == 3 and all('ATTRS{serial}=="A50285BI"' in line for line in lines)
    assert any('GROUP="uucp"' in line and 'SYMLINK+="hil-lynx6-3"' in line for line in lines)
    assert "idVendor" not in rules


def test_an_adapter_without_a_serial_number_is_known_by_its_place() -> None:
    rules = udev_rules([StableName(rig="desk", usb_place="1-1.2:1.0")], doctor.CONVERTERS, "dialout")
    assert 'KERNELS=="1-1.2:1.0", GROUP' in rules
    assert 'ENV{DEVTYPE}=="usb_device", KERNELS=="1-1.2", ENV' in rules


@pytest.mark.parametrize(
    "name",
    [
        StableName(rig="desk"),
        StableName(rig='x", RUN+="/bin/sh', serial_number="A1"),
        StableName(rig="desk", serial_number="A*"),
        StableName(rig="desk", usb_place="1-1\n"),
    ],
)
def test_a_name_that_a_rule_cannot_match_exactly_is_refused(name: StableName) -> None:
    with pytest.raises(ConfigError, match="hil doctor --udev"):
        udev_rules([name], doctor.CONVERTERS, "dialout")


@pytest.mark.parametrize("names", [[], [StableName(rig="desk", serial_number="A1")]])
def test_every_rule_is_one_line_of_comparisons_and_assignments(names: list[StableName]) -> None:
    for line in udev_rules(names, doctor.CONVERTERS, "dialout").splitlines():
        if not line.startswith("#"):
            for part in line.split(", "):
                key, _, value = part.partition('="')
                assert key.rstrip("=+!") and value.endswith('"'), part
                json.loads(f'"{value}')
