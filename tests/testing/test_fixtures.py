"""The fixtures, as a lab's tests use them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import serial

import hil
from drivers.ssc32 import build
from hil.errors import ConfigError
from hil.link import ArmLink
from hil.model.rig import Rig
from hil.motion.planner import plan_joint_move
from hil.refusal import RefusedError
from hil.testing import FakeSsc32, Faults, RigFactory, VirtualArm, WatchedBytes, plan_and_stream
from hil.types import EnergiseCommand, JointCommand, LinkPhase, Mode
from hil.units import DEG

pytest_plugins = ["pytester"]


# -- rigs --------------------------------------------------------------------------------------------------


def test_without_a_word_the_rig_is_the_bundled_lynx6(lab_rig: Rig) -> None:
    assert lab_rig.id == "lynx6"


def test_a_rig_is_made_with_single_keys_changed(hil_rig: RigFactory) -> None:
    rig = hil_rig("lynx6", joints={"elbow": {"speed_deg_s": 20}}, timing={"look_ahead_ms": 80})
    assert rig.axes[2].speed == pytest.approx(20 * DEG)
    assert rig.look_ahead_s == pytest.approx(0.08)
    assert rig.axes[0] == hil_rig("lynx6").axes[0]
    assert hil_rig("lynx6") is hil_rig("lynx6")


def test_a_changed_rig_is_checked_as_strictly_as_a_file(hil_rig: RigFactory) -> None:
    with pytest.raises(ConfigError, match=r"joints\.elbow\.speed_deg: .*no such key"):
        hil_rig("lynx6", joints={"elbow": {"speed_deg": 20}})
    with pytest.raises(ConfigError, match="look_ahead_ms"):
        hil_rig("lynx6", timing={"look_ahead_ms": 0})


# -- the virtual arm ---------------------------------------------------------------------------------------


def test_a_fresh_virtual_arm_is_limp_and_not_connected(virtual_arm: VirtualArm) -> None:
    assert virtual_arm.mode is Mode.DISCONNECTED
    assert virtual_arm.setpoints == (None,) * 6
    assert virtual_arm.servos == pytest.approx(virtual_arm.rig.park)


def test_a_task_runs_from_a_limp_arm_to_its_end(virtual_arm: VirtualArm, unsafe_bytes: WatchedBytes) -> None:
    report = virtual_arm.run("pick-and-place")
    assert report.ok
    assert virtual_arm.mode is Mode.IDLE
    assert max(virtual_arm.first_jumps) < 0.2 * DEG
    assert not unsafe_bytes
    assert unsafe_bytes.seen == len(virtual_arm.written) > 20_000


def test_a_fresh_arm_is_put_to_where_a_task_begins(virtual_arm: VirtualArm, tmp_path: Path) -> None:
    task = tmp_path / "from-home.toml"
    task.write_text('title = "x"\nstart = "home"\n[[step]]\ndo = "move"\nby_deg = { base = 10 }\n')
    virtual_arm.run(task)
    assert virtual_arm.position("base") == pytest.approx(10.0, abs=0.2)


def test_a_refused_motion_never_reaches_the_arm(virtual_arm: VirtualArm, hil_rig: RigFactory) -> None:
    fast = hil_rig("lynx6", joints={"base": {"speed_deg_s": 120, "acceleration_deg_s2": 900}})
    with pytest.raises(RefusedError, match="E-03"):
        virtual_arm.begin(plan_joint_move(fast, fast.park, (1.0, *fast.park[1:])))
    assert virtual_arm.mode is Mode.IDLE


def test_a_mode_that_is_not_reached_is_said_with_the_last_words(virtual_arm: VirtualArm) -> None:
    with pytest.raises(AssertionError, match="mode streaming not reached within 1 s, still unknown_pose; said last"):
        virtual_arm.until(Mode.STREAMING, within_s=1.0)


def test_faults_hit_the_virtual_arm_and_no_unsafe_byte_leaves(
    virtual_arm_factory: Callable[..., VirtualArm], fault_script: Callable[..., Faults], unsafe_bytes: WatchedBytes
) -> None:
    arm = virtual_arm_factory(faults=fault_script("brown-out"))
    arm.begin(hil.plan(arm.rig, "pick-and-place"))
    arm.until(Mode.FAULT, within_s=30.0)
    assert any("restarted" in event for event in arm.events)
    assert not unsafe_bytes


def test_the_same_faults_and_seed_give_the_same_session(
    virtual_arm_factory: Callable[..., VirtualArm], fault_script: Callable[..., Faults]
) -> None:
    noise = fault_script({"kind": "lost", "probability": 0.05}, {"kind": "garbled", "probability": 0.01}, seed=7)
    one, other = virtual_arm_factory(faults=noise), virtual_arm_factory(faults=noise)
    for arm in (one, other):
        arm.wait(6.0)
    assert one.records == other.records


@pytest.mark.parametrize("wrong", ["no-such-faults", {"kind": "lots"}])
def test_a_fault_that_there_is_not_is_refused_at_once(fault_script: Callable[..., Faults], wrong: object) -> None:
    with pytest.raises(ConfigError):
        fault_script(wrong)


def test_a_task_is_planned_and_streamed_in_one_call(lab_rig: Rig) -> None:
    done = plan_and_stream(lab_rig, "wave")
    assert done.report.ok
    assert done.records[-1].mode is Mode.IDLE
    motion = hil.plan(lab_rig, "wave")
    assert done.final == pytest.approx(motion.samples[-1].tolist(), abs=0.003)


# -- the other arms ----------------------------------------------------------------------------------------


def test_the_simulated_arm_is_an_arm_link_without_a_controller(simulated_arm: ArmLink, lab_rig: Rig) -> None:
    for axis, park in enumerate(lab_rig.park):
        simulated_arm.write(EnergiseCommand(seq=axis, axis=axis, position=park), 0.0)
    simulated_arm.write(JointCommand(seq=9, due_s=1.0, positions=lab_rig.home), 0.0)
    state = simulated_arm.read(3.0)
    assert state.joints is not None
    assert state.joints.positions == pytest.approx(lab_rig.home, abs=1e-6)


def test_a_driver_talks_to_the_board_in_memory(fake_ssc32: FakeSsc32, lab_rig: Rig, unsafe_bytes: WatchedBytes) -> None:
    fake = fake_ssc32.in_memory()
    link = build(lab_rig.controller, lambda: fake.port)  # type: ignore[arg-type]
    link.open(0.1)
    now_s = 0.1
    while link.read(now_s).phase is not LinkPhase.READY:
        now_s += 0.02
    link.write(EnergiseCommand(seq=1, axis=0, position=0.0), now_s)
    assert fake.setpoints(now_s + 0.1)[0] == pytest.approx(0.0)
    assert fake.setpoints(now_s + 0.1)[1] is None
    assert b"#0P1460\r" in [data for data, _ in fake.received]
    assert not unsafe_bytes


@pytest.mark.processes
@pytest.mark.parametrize("way", ["on_tcp", "on_pty"])
def test_any_program_talks_to_the_board_on_a_line(
    fake_ssc32: FakeSsc32, lab_rig: Rig, unsafe_bytes: WatchedBytes, way: str
) -> None:
    fake = getattr(fake_ssc32, way)()
    with serial.serial_for_url(fake.url, baudrate=115200, timeout=2.0) as line:
        line.write(b"VER\r")
        assert line.read_until(b"\r").startswith(b"SSC32-")
        line.write(b"#0P1460\rQP0\r")
        assert line.read(1) == bytes([146])
        setpoints = next(now for now in iter(lambda: fake.setpoints, ()) if now[0] is not None)
        assert setpoints == (pytest.approx(0.0), *[None] * 5)
        assert fake.servos[1:] == pytest.approx(lab_rig.park[1:])
        assert not unsafe_bytes
        line.write(b"#0P1860\rVER\r")
        assert line.read_until(b"\r").startswith(b"SSC32-")
    assert unsafe_bytes.first is not None
    assert "base moves by" in unsafe_bytes.first.text
    unsafe_bytes._made.clear()  # type: ignore[attr-defined]  # it was meant to


@pytest.mark.processes
def test_a_board_on_a_line_has_its_faults_from_its_own_start(
    fake_ssc32: FakeSsc32, fault_script: Callable[..., Faults]
) -> None:
    fake = fake_ssc32.on_tcp(faults=fault_script("no-power"))
    with serial.serial_for_url(fake.url, baudrate=115200, timeout=0.2) as line:
        line.write(b"VER\r")
        assert line.read(1) == b""


def test_without_pseudo_terminals_a_test_that_wants_one_is_skipped(
    fake_ssc32: FakeSsc32, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError("out of pty devices")

    monkeypatch.setattr("os.openpty", refuse, raising=False)
    with pytest.raises(pytest.skip.Exception, match="on_tcp"):
        fake_ssc32.on_pty()


# -- the plugin --------------------------------------------------------------------------------------------


def test_a_test_that_lets_an_unsafe_byte_out_fails_even_if_it_asserts_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_forgetful(unsafe_bytes):
            unsafe_bytes.feed(b"#0P2400\\r", now_s=0.0)

        def test_without_the_oracle(virtual_arm):
            virtual_arm.tick()
        """
    )
    result = pytester.runpytest_inprocess("-q")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*unsafe: byte 0 (at 0.000 s): '#0P2400': base: 2400 us is outside its pulse limits*"])


def test_a_fake_board_judges_what_reaches_it_without_being_asked(pytester: pytest.Pytester) -> None:
    """Whoever wants to send such bytes says so."""
    pytester.makepyfile(
        """
        import pytest

        def wild(board):
            board.port.write(b"#0P2400\\r", 0.1)

        def test_forgetful(fake_ssc32):
            wild(fake_ssc32.in_memory())

        def test_on_purpose(fake_ssc32):
            wild(fake_ssc32.in_memory(judge=False))

        def test_well_behaved(fake_ssc32):
            fake_ssc32.in_memory().port.write(b"#0P1460\\r", 0.1)
        """
    )
    result = pytester.runpytest_inprocess("-q")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*unsafe: byte 0 (at 0.100 s): '#0P2400': base: 2400 us is outside its pulse limits*"])


def test_the_last_bytes_of_an_arm_that_still_moves_are_judged_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import hil

        def test_left_moving(unsafe_bytes, virtual_arm, request):
            virtual_arm.begin(hil.plan(virtual_arm.rig, "wave"))
            virtual_arm.wait(0.5)
            before = unsafe_bytes.seen
            request.addfinalizer(lambda: print("seen more:", unsafe_bytes.seen >= before))
        """
    )
    pytester.runpytest_inprocess("-q", "-s").assert_outcomes(passed=1)


def test_the_rig_comes_from_the_project_or_from_the_command_line(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nhil_rig = mine.toml\n")
    pytester.makefile(".toml", mine='inherit = "lynx6-4axis"\n')
    pytester.makepyfile("def test_rig(lab_rig): print('rig is', lab_rig.id)")
    pytester.runpytest_inprocess("-q", "-s").stdout.fnmatch_lines(["*rig is mine*"])
    pytester.runpytest_inprocess("-q", "-s", "--hil-rig", "al5d").stdout.fnmatch_lines(["*rig is al5d*"])


def test_a_project_that_uses_nothing_of_it_pays_nothing_for_the_plugin() -> None:
    code = "import sys, hil.testing, hil.testing.plugin; print(sorted({'numpy', 'serial'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_boards_of_another_kind_are_made_by_profile_and_choices(fake_ssc32, virtual_arm_factory) -> None:
    fake = fake_ssc32.in_memory(profile="ssc32-1x", choices={"version": "SSC32-1.03XE"})
    fake.port.write(b"VER\r", 0.0)
    assert fake.port.read(0.1) == b"SSC32-1.03XE\r"
    arm = virtual_arm_factory(profile="ssc32u", choices={"untouched": "middle"}).ready()
    assert any("SSC32-V2.50USB" in event for event in arm.events)
    assert any("driven by nobody" in event for event in arm.events)
