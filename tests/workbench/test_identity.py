"""Which arm is it: serial numbers, places, and a person who looks; swapped arms and files are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from calibration_bench import Operator, Table, go_through, true_arm
from calibrations import NOW, as_it_is

from hil.errors import ConfigError, InterlockError
from hil.link import SerialAdapter
from hil.model._calibration_file import forget_confirmation, read_calibration, read_confirmation
from hil.model.files import bundled_dir
from hil.model.rig import AdapterIdentity, Rig
from hil.runtime import channel_wiring, port_wiring, wiring
from hil.runtime.host import Host
from hil.workbench.calibration import CalibrationStoppedError, plan_calibration
from hil.workbench.drafts import confirm, write_calibration
from hil.workbench.identity import NOD_US, identify, nodding_axis


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user's folder with two rigs of the same make, desk-3 and desk-4."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    rigs = tmp_path / "config/hil/rigs"
    rigs.mkdir(parents=True)
    for name in ("desk-3", "desk-4"):
        (rigs / f"{name}.toml").write_text(f'inherit = "{bundled_dir() / "rigs/lynx6.toml"}"\ntitle = "{name}"\n')
    return tmp_path


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Tells the wiring which adapters are plugged in."""

    def these(**serial_and_place: tuple[str, str]) -> None:
        adapters = tuple(
            SerialAdapter(device=f"/dev/{name}", serial_number=serial, usb_place=place)
            for name, (serial, place) in serial_and_place.items()
        )
        monkeypatch.setattr(port_wiring, "list_adapters", lambda: adapters)

    these()
    return these


def calibrate(name: str, url: str) -> Rig:
    """Calibrate the arm at a port, as `hil calibrate` leaves it."""
    rig = wiring.load_rig(name, calibrated=False)
    adapter = port_wiring.check_adapter(rig, url)
    write_calibration(rig, as_it_is(rig), operator="A", adapter=adapter, port=url, now=NOW)
    return wiring.load_rig(name)


# -- rigs that nobody has calibrated ---------------------------------------------------------------------


def test_an_uncalibrated_rig_is_not_armed_on_a_real_port(folder: Path, plugged) -> None:
    with pytest.raises(InterlockError, match=r"desk-3 is not calibrated.*hil calibrate desk-3 --hardware") as caught:
        port_wiring.check_arm(wiring.load_rig("desk-3"), "/dev/ttyUSB0")
    assert caught.value.missing == ("calibration",)


def test_no_other_way_leads_past_that_either(folder: Path, plugged) -> None:
    rig = wiring.load_rig("desk-3")
    with (
        pytest.raises(InterlockError, match="not calibrated"),
        Host(rig, url="/dev/ttyUSB0", journal=folder / "j.mcap", command="test"),
    ):
        pytest.fail("the host of an uncalibrated rig came up on a real port")


def test_a_calibration_that_was_made_on_a_fake_is_none_for_an_arm(folder: Path, plugged) -> None:
    rig = wiring.load_rig("desk-3", calibrated=False)
    write_calibration(rig, as_it_is(rig), operator="A", adapter=None, port="fake", now=NOW)
    with pytest.raises(InterlockError, match="on a fake controller only"):
        port_wiring.check_arm(wiring.load_rig("desk-3"), "/dev/ttyUSB0")


# -- two arms --------------------------------------------------------------------------------------------


def test_two_arms_that_were_swapped_are_refused_by_their_serial_numbers(folder: Path, plugged) -> None:
    plugged(ttyUSB0=("A50285BI", "1-1.2"), ttyUSB1=("FT4NKLMQ", "1-1.3"))
    three, four = calibrate("desk-3", "/dev/ttyUSB0"), calibrate("desk-4", "/dev/ttyUSB1")
    port_wiring.check_arm(three, "/dev/ttyUSB0")
    port_wiring.check_arm(four, "/dev/ttyUSB1")
    plugged(ttyUSB0=("FT4NKLMQ", "1-1.2"), ttyUSB1=("A50285BI", "1-1.3"))
    for rig, port, found in ((three, "/dev/ttyUSB0", "FT4NKLMQ"), (four, "/dev/ttyUSB1", "A50285BI")):
        with pytest.raises(InterlockError, match=f"carries the adapter {found}.*may be another arm") as caught:
            port_wiring.check_arm(rig, port)
        assert caught.value.missing == ("identity",)
    port_wiring.check_arm(three, "/dev/ttyUSB1")


@pytest.mark.parametrize("serial", ["", "0001"])
def test_two_arms_without_serial_numbers_of_their_own_are_told_by_their_places(
    folder: Path, plugged, serial: str
) -> None:
    plugged(ttyUSB0=(serial, "1-1.2"), ttyUSB1=(serial, "1-1.3"))
    three, four = calibrate("desk-3", "/dev/ttyUSB0"), calibrate("desk-4", "/dev/ttyUSB1")
    port_wiring.check_arm(three, "/dev/ttyUSB0")
    for rig, port in ((three, "/dev/ttyUSB1"), (four, "/dev/ttyUSB0")):
        with pytest.raises(
            InterlockError, match=f"A saw it at USB 1-1.*hil identify {rig.id} --hardware --port {port}"
        ):
            port_wiring.check_arm(rig, port)
    plugged(ttyUSB0=(serial, "1-1.3"))
    port_wiring.check_arm(four, "/dev/ttyUSB0")


def test_two_fakes_on_tcp_that_were_swapped_are_refused(folder: Path, plugged) -> None:
    urls = ("socket://127.0.0.1:4001", "socket://127.0.0.1:4002")
    three, four = calibrate("desk-3", urls[0]), calibrate("desk-4", urls[1])
    port_wiring.check_arm(three, urls[0])
    port_wiring.check_arm(four, urls[1])
    for rig, url in ((three, urls[1]), (four, urls[0])):
        with pytest.raises(InterlockError, match="nobody has seen that the arm at socket://"):
            port_wiring.check_arm(rig, url)


def test_a_file_of_the_other_arm_is_refused_under_whatever_name(folder: Path, plugged) -> None:
    plugged(ttyUSB0=("A50285BI", "1-1.2"))
    three = calibrate("desk-3", "/dev/ttyUSB0")
    assert three.calibration is not None
    stolen = Path(three.calibration.file).with_name("desk-4-2026-11-29.toml")
    stolen.write_text(Path(three.calibration.file).read_text())
    with pytest.raises(ConfigError, match=r"'desk-3' given; allowed: 'desk-4'.*do not fit another"):
        wiring.load_rig("desk-4")


def test_a_file_that_was_exchanged_after_somebody_looked_needs_another_look(folder: Path, plugged) -> None:
    plugged(ttyUSB0=("", "1-1.2"))
    three = calibrate("desk-3", "/dev/ttyUSB0")
    assert three.calibration is not None
    newer = Path(three.calibration.file).with_name("desk-3-2026-11-29.toml")
    newer.write_text(Path(three.calibration.file).read_text())
    with pytest.raises(InterlockError, match="nobody has seen"):
        port_wiring.check_arm(wiring.load_rig("desk-3"), "/dev/ttyUSB0")


def test_a_port_that_is_not_on_usb_is_known_by_its_name(plugged) -> None:
    rig = wiring.load_rig("lynx6", calibrated=False)
    for url, place in (("/dev/ttyS0", "/dev/ttyS0"), ("com3", "COM3"), ("socket://127.0.0.1:5000",) * 2):
        assert port_wiring.check_adapter(rig, url).place == place


# -- one nod of the gripper ------------------------------------------------------------------------------


def nod(rig: Rig, true: Rig, table: Table, operator: Operator) -> None:
    plan = plan_calibration(rig, channel_wiring.channels_of(rig), at_park=True)
    go_through(identify(rig.title, nodding_axis(rig, plan)), table, operator)


def test_the_gripper_moves_once_a_little_and_nothing_else_does(folder: Path) -> None:
    rig = wiring.load_rig("desk-3", calibrated=False)
    table = Table(rig, rig)
    operator = Operator(table)
    nod(rig, rig, table, operator)
    gripper = channel_wiring.channels_of(rig)[-1]
    assert {channel for channel, _, _ in table.targets} == {gripper.channel}
    pulses = [pulse_us for _, pulse_us, _ in table.targets]
    assert pulses[0] == pulses[-1] and max(pulses) - min(pulses) == NOD_US
    assert [question.kind for question, _ in operator.asked] == ["place", "same arm"]


def test_where_another_arm_moves_the_person_says_no_and_it_is_refused(folder: Path) -> None:
    rig = wiring.load_rig("desk-3", calibrated=False)
    other = true_arm(rig, swapped=(("gripper", "wrist"),))
    table = Table(rig, other)
    with pytest.raises(InterlockError, match="does not lead to the arm of desk-3"):
        nod(rig, other, table, Operator(table))


def test_it_can_be_looked_at_again_or_left(folder: Path) -> None:
    rig = wiring.load_rig("desk-3", calibrated=False)
    table = Table(rig, rig)
    answers = iter(["again", "stop"])
    operator = Operator(table, lambda question: next(answers) if question.kind == "same arm" else None)
    with pytest.raises(CalibrationStoppedError):
        nod(rig, rig, table, operator)
    assert len(operator.told) == 2


def test_what_a_person_saw_is_kept_beside_the_calibration_until_somebody_else_looks(folder: Path, plugged) -> None:
    assert read_confirmation("desk-3") is None
    place = AdapterIdentity(place="USB 1-1.4")
    path = confirm("desk-3", "desk-3-2026-11-28", by="Zoë", adapter=place, port="/dev/ttyUSB0", now=NOW)
    assert path.parent.name == "calibrations"
    seen = read_confirmation("desk-3")
    assert seen is not None
    assert (seen.by, seen.place, seen.date) == ("Zoë", "USB 1-1.4", "2026-11-28T10:00:00+00:00")
    forget_confirmation("desk-3")
    assert read_confirmation("desk-3") is None


def test_whoever_calibrates_has_seen_the_arm(folder: Path, plugged) -> None:
    plugged(ttyUSB0=("", "1-1.2"))
    rig = calibrate("desk-3", "/dev/ttyUSB0")
    assert rig.calibration is not None
    seen = read_confirmation("desk-3")
    assert seen is not None and seen.place == "USB 1-1.2"
    read_calibration(Path(rig.calibration.file), wiring.load_rig("desk-3", calibrated=False))
