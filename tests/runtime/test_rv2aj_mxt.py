"""An RV-2AJ led by packets: driver, line and network over the fake CR1, on virtual time."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from drivers import rv2aj
from hil.errors import CommandError, ControllerError, HilError, LinkOverrun, LinkTimeout
from hil.joined import JoinedPort, Splitter
from hil.model.rig import Rig
from hil.motion.planner import plan_joint_move
from hil.runtime.wiring import load_rig
from hil.safety.bounds import motion_bounds
from hil.testing.arms import VirtualArm
from hil.types import EmergencyStop, EnergiseCommand, JointCommand, LinkPhase, LinkState, Mode, Start
from hil.units import DEG
from sim.cr1 import Cr1, Cr1Settings
from sim.cr1.arm import ArmModel
from sim.datagrams import MemoryDatagrams
from sim.ports import MemoryPort

CYCLE_S = 0.0071
RIG = load_rig("rv2aj-mxt")


class Network(MemoryDatagrams):
    """The network, of which either direction can be lost, and packets be looked at."""

    def __init__(self, cr1: Cr1) -> None:
        super().__init__(cr1, cr1.machine.ethernet)
        self.deaf = self.mute = False
        self.sent: list[tuple[float, bytes]] = []

    def receive(self, now_s: float) -> list[bytes]:
        packets = super().receive(now_s)
        return [] if self.mute else packets

    def send(self, packet: bytes, now_s: float) -> None:
        self.sent.append((now_s, packet))
        if not self.deaf:
            super().send(packet, now_s)


class Bench:
    """A driver, bound to the rig's limits, and the controller behind it."""

    def __init__(self, rig: Rig = RIG, **choices: object) -> None:
        self.rig, self.now_s, self.seq = rig, 0.1, 0
        settings = rig.controller
        assert isinstance(settings, rv2aj.Rv2ajSettings)
        choices.setdefault("ethernet", True)
        self.cr1 = Cr1(Cr1Settings(**choices), joints_deg=settings.degrees(rig.park), programs={"1": "10 END"})
        self.network = Network(self.cr1)
        self.link = rv2aj.Rv2ajDriver(settings, lambda: JoinedPort(MemoryPort(self.cr1, 9600), self.network))
        self.link.bound(motion_bounds(rig))
        self.link.open(self.now_s)
        self.words: list[str] = []

    def tick(self, count: int = 1) -> LinkState:
        for _ in range(count):
            self.now_s += self.rig.period_s
            state = self.link.read(self.now_s)
            self.words += state.notices
        return state

    def until(self, met: Callable[[LinkState], bool], within_s: float = 12.0) -> LinkState:
        end_s = self.now_s + within_s
        while not met(state := self.tick()):
            assert self.now_s < end_s, self.words
        return state

    def energise(self) -> None:
        for axis, place in enumerate(self.rig.park):
            self.seq += 1
            self.link.write(EnergiseCommand(seq=self.seq, axis=axis, position=place), self.now_s)
            self.tick(3)

    def ready(self) -> Bench:
        self.until(lambda state: state.phase is LinkPhase.READY)
        self.energise()
        self.until(lambda state: all(state.known))
        return self

    def lead(self, j1_deg: float) -> JointCommand:
        self.seq += 1
        positions = (j1_deg * DEG, *self.rig.park[1:])
        sent = self.link.write(JointCommand(seq=self.seq, due_s=self.now_s + 0.024, positions=positions), self.now_s)
        assert isinstance(sent, JointCommand)
        return sent

    def stream(self, seconds: float, deg_s: float = 6.0, from_deg: float = 0.0) -> float:
        count = round(seconds / self.rig.period_s)
        for step in range(1, count + 1):
            at = from_deg + deg_s * self.rig.period_s * step
            self.lead(at)
            self.tick()
        return at

    @property
    def j1(self) -> float:
        self.cr1.advance(self.now_s)
        return self.cr1.joints[0]


# -- following ---------------------------------------------------------------------------------------------------


def test_the_arm_follows_its_packets_within_a_cycle_and_a_half() -> None:
    bench, seen = Bench().ready(), []
    bench.cr1.watch(lambda time_s, joints: seen.append((time_s, joints[0])))
    told = []
    for step in range(1, 250):
        at = 0.05 * step
        bench.lead(at)
        told.append((bench.now_s, at))
        bench.tick()
    bench.tick(3)
    for at_s, at in told:
        reached_s = next(time_s for time_s, j1 in seen if j1 >= at - 1e-4)
        assert 0.0 <= reached_s - at_s <= 1.5 * CYCLE_S


def test_each_tick_sends_one_packet_and_reports_come_from_the_encoders() -> None:
    bench = Bench().ready()
    bench.network.sent.clear()
    last = bench.stream(1.0)
    assert len(bench.network.sent) == 125
    state = bench.tick(3)
    assert state.joints is not None
    assert state.joints.positions[0] == pytest.approx(last * DEG, abs=1e-6)
    assert bench.now_s - state.joints.t_s < 4 * bench.rig.period_s


def test_while_nobody_leads_it_asks_in_every_second_tick_and_moves_nothing() -> None:
    bench = Bench().ready()
    bench.network.sent.clear()
    bench.tick(200)
    commands = [struct.unpack_from("<H", packet)[0] for _, packet in bench.network.sent]
    assert commands == [0] * 100
    assert bench.j1 == 0.0


def test_a_command_comes_back_in_thousandths_of_a_degree_and_due_when_the_arm_is_there() -> None:
    bench = Bench().ready()
    sent = bench.lead(0.0501)
    assert sent.positions[0] == pytest.approx(0.05 * DEG, rel=1e-7)
    assert sent.due_s - bench.now_s == pytest.approx(1.5 * CYCLE_S)
    settings = bench.rig.controller
    assert isinstance(settings, rv2aj.Rv2ajSettings)
    assert settings.quantise_pose(sent.positions) == sent.positions
    assert settings.quantum()[0] == pytest.approx(0.001 * DEG + 4e-7)


def test_the_line_goes_on_beside_the_packets() -> None:
    bench = Bench().ready()
    with pytest.raises(ControllerError, match="TEACH"):
        bench.cr1.turn_key(bench.now_s, teach=True)
        bench.tick(300)


# -- the gate ----------------------------------------------------------------------------------------------------


def test_a_step_too_long_a_place_too_far_and_a_motion_unknown_do_not_leave() -> None:
    bench = Bench().ready()
    bench.lead(0.05)
    bench.network.sent.clear()
    for j1 in (0.5, -0.3, 149.0, 151.0):
        with pytest.raises(CommandError, match="J1"):
            bench.lead(j1)
    assert not [packet for _, packet in bench.network.sent if packet[0] == 1]
    assert bench.j1 == 0.0


def test_the_longest_step_is_that_of_the_rig_s_speed() -> None:
    bench = Bench().ready()
    bench.lead(0.0)
    step = 9.0 * 0.008
    with pytest.raises(CommandError):
        bench.lead(step + 0.002)
    bench.lead(step + 0.001)


def test_rows_leave_in_their_turn_and_as_they_were_certified() -> None:
    bench = Bench().ready()
    samples = np.array([(0.01 * k * DEG, *bench.rig.park[1:]) for k in range(10)])
    settings = bench.rig.controller
    assert isinstance(settings, rv2aj.Rv2ajSettings)
    table = settings.wire_table(samples, 0.024)
    assert table.kind == "rv2aj-mxt"
    assert len(table.line(3)) == 32
    bench.link.carry(table, samples)
    bench.link.begin_rows()

    def row(number: int, which: int | None = None) -> None:
        bench.seq += 1
        positions = tuple(samples[number if which is None else which].tolist())
        bench.link.write_row(number, JointCommand(seq=bench.seq, due_s=bench.now_s, positions=positions), bench.now_s)
        bench.tick()

    row(0)
    row(1)
    for wrong in (1, 3, 0):
        with pytest.raises(CommandError, match="sample"):
            row(wrong)
    row(2)
    other = samples.copy()
    other[3, 0] += 0.02 * DEG
    bench.link.carry(settings.wire_table(other, 0.024), samples)
    with pytest.raises(CommandError, match="certified sample"):
        bench.link.begin_rows()
        for number in range(4):
            row(number)


# -- beginning ---------------------------------------------------------------------------------------------------


def test_a_controller_whose_command_stands_off_the_arm_is_refused_before_it_can_jump() -> None:
    bench = Bench(arm=ArmModel(sag_deg=(0.0, -0.3, 0.0, 0.0, 0.0)))
    with pytest.raises(ControllerError, match=r"J2: the controller's own command stands at -19.70 deg .* -20.00 deg"):
        bench.ready()
    assert not [packet for _, packet in bench.network.sent if packet[0] == 1]


def test_a_network_that_does_not_answer_is_named() -> None:
    bench = Bench()
    bench.network.deaf = True
    with pytest.raises(LinkTimeout, match=r"no packet is answered for 3 s.*controller\.mxt, controller\.computer"):
        bench.ready()


def test_a_controller_without_a_card_says_so() -> None:
    with pytest.raises(HilError, match="H7830 MXT is not possible here: it needs an Ethernet card"):
        Bench(ethernet=False).ready()


def test_our_program_names_this_computer_and_goes_at_the_end() -> None:
    bench = Bench().ready()
    lines = list(bench.cr1.machine.store.programs["HILMXT"].lines.values())
    assert lines[1:3] == ['OPEN "ENET:192.168.0.100" AS #1', "MXT 1,1,0"]
    while not bench.link.part(bench.now_s):
        bench.tick()
    assert "HILMXT" not in bench.cr1.machine.store.programs
    assert struct.unpack_from("<H", bench.network.sent[-1][1])[0] == 255


# -- silence, both ways ------------------------------------------------------------------------------------------


def test_without_answers_the_account_says_so_in_40_ms_and_the_driver_names_the_network() -> None:
    bench = Bench().ready()
    bench.stream(0.5)
    bench.network.mute = True
    quiet_s = bench.now_s
    state = bench.until(lambda state: state.line.overdue_s is not None)
    assert bench.now_s - quiet_s <= 0.04 + 3 * bench.rig.period_s
    assert state.line.overdue_s is not None
    assert state.line.overdue_s == pytest.approx(quiet_s + 0.04, abs=1.01 * bench.rig.period_s)
    bench.tick(20)
    assert "no packet is answered any more, and nothing leads the arm: look at the network's cable" in bench.words
    bench.network.mute = False
    assert bench.tick(5).line.overdue_s is None


def test_without_commands_the_arm_rests_within_a_cycle_and_a_half() -> None:
    bench = Bench().ready()
    moved = []
    bench.cr1.watch(lambda time_s, joints: moved.append(time_s))
    bench.stream(0.5)
    bench.network.deaf = True
    last_s = bench.now_s
    try:
        bench.stream(0.3, from_deg=3.0)
    except HilError as error:
        pytest.fail(str(error))
    assert moved[-1] - last_s <= 1.5 * CYCLE_S


def test_a_stop_ends_the_stream_at_once_and_only_a_new_command_starts_the_program_again() -> None:
    bench = Bench().ready()
    moved = []
    bench.cr1.watch(lambda time_s, joints: moved.append(time_s))
    at = bench.stream(0.5)
    bench.link.stop(bench.now_s)
    stopped_s = bench.now_s
    assert all(bench.tick().known)
    bench.tick(200)
    assert not any(time_s > stopped_s + 1.5 * CYCLE_S for time_s in moved)
    assert not bench.cr1.machine.a_program_runs
    here = bench.j1
    with pytest.raises(LinkOverrun, match="started anew after the stop"):
        bench.lead(at)
    bench.tick(200)
    assert bench.cr1.machine.a_program_runs
    assert bench.j1 == here
    bench.stream(0.2, from_deg=round(here, 3))
    assert bench.j1 > here + 0.5


@pytest.mark.parametrize("after_s", [0.1, 0.6, 1.2, 1.8])
def test_a_stop_while_the_program_is_being_started_starts_nothing_after_it(after_s: float) -> None:
    bench = Bench()
    bench.until(lambda state: state.phase is LinkPhase.READY)
    bench.energise()
    bench.tick(round(after_s / bench.rig.period_s))
    bench.link.stop(bench.now_s)
    bench.tick(500)
    assert not bench.cr1.machine.a_program_runs


def test_packets_that_are_no_replies_or_copies_change_nothing() -> None:
    bench = Bench().ready()
    state = bench.tick(4)
    network = bench.network
    genuine = network.receive

    def spoilt(now_s: float) -> list[bytes]:
        packets = genuine(now_s)
        return [b"", b"rubbish", bytes(196), *packets, *packets]

    network.receive = spoilt
    after = bench.tick(20)
    assert after.joints is not None
    assert after.joints.positions == state.joints.positions
    assert after.line.overdue_s is None


# -- the whole stack ---------------------------------------------------------------------------------------------


def moving(faults: list[dict[str, object]] | None = None, rig: Rig = RIG) -> tuple[VirtualArm, float]:
    arm = VirtualArm(rig, faults=None if faults is None else {"title": "t", "fault": faults})
    motion = plan_joint_move(rig, rig.park, (40 * DEG, *rig.park[1:]))
    arm.begin(motion)
    return arm, motion.duration_s


def test_a_motion_is_previewed_certified_streamed_and_the_arm_gets_there() -> None:
    arm = VirtualArm(RIG)
    report = arm.stream(plan_joint_move(RIG, RIG.park, RIG.home))
    assert report.certificate is not None
    assert report.certificate.wire_digest
    assert arm.servos == pytest.approx(RIG.home, abs=1e-5)
    arm.close()
    assert arm.mode is Mode.DISCONNECTED


def test_a_network_that_goes_in_the_middle_of_a_motion_stops_it_within_its_promise() -> None:
    arm, _ = moving()
    arm.wait(1.5)
    begun_s = arm.now_s
    from sim.faults import Event, Fault, FaultKind

    cr1 = _cr1_of(arm)
    cr1.meet(Event(time_s=arm.now_s, fault=Fault(kind=FaultKind.NO_NETWORK), begins=True))
    still = None
    while arm.mode is Mode.STREAMING:
        arm.tick()
        assert arm.now_s - begun_s < 0.2
    assert arm.mode in (Mode.HOLDING, Mode.STOPPING)
    arm.wait(0.1)
    still = arm.servos
    arm.wait(0.5)
    assert arm.servos == still
    assert any("look at the network's cable" in event for event in arm.events)
    assert arm.mode is Mode.HOLDING


def _cr1_of(arm: VirtualArm) -> Cr1:
    port = arm._arm.bridge._tap._port
    return port._packets._controller


def test_a_software_stop_freezes_and_the_way_back_leads_over_first_moves() -> None:
    arm, _ = moving()
    arm.wait(1.0)
    arm.tick(EmergencyStop(reason="test"))
    arm.wait(0.1)
    here = arm.servos
    arm.wait(1.0)
    assert arm.servos == here
    from hil.types import Confirm, Reset

    arm.until(Mode.UNKNOWN_POSE, Reset(by="test"))
    arm.wait(1.0)
    arm.until(Mode.IDLE, Confirm(positions=here, by="test"), within_s=15.0)
    assert arm.servos == pytest.approx(here, abs=1e-3)
    motion = plan_joint_move(RIG, here, RIG.park)
    arm.load(motion, _certified(motion))
    arm.until(Mode.STREAMING, Start(digest=motion.digest))
    arm.until(Mode.IDLE, within_s=motion.duration_s + 1.0)


def _certified(motion):
    from hil.runtime.preview import preview
    from hil.testing.arms import EPOCH_S

    found = preview(RIG, motion, now_epoch_s=EPOCH_S).certificate
    assert found is not None
    return found


def test_the_journal_s_bytes_are_those_of_line_and_packets() -> None:
    arm, _ = moving()
    arm.wait(0.5)
    line, packets = Splitter().split(arm.written)
    assert b"MXT 1,1,0" in line
    assert all(len(packet) == 196 for packet in packets)
    assert math.isfinite(len(packets))


def test_a_rig_faster_than_its_override_is_refused() -> None:
    with pytest.raises(HilError, match=r"joints\.J2\.speed_deg_s: 4.5 given; allowed: at most 4, by"):
        load_rig("rv2aj-mxt", {"controller": {"max_speed_deg_s": [180, 40, 135, 180, 210]}})


@pytest.mark.parametrize("key", ["mxt", "computer"])
def test_a_rig_without_addresses_is_refused(key: str) -> None:
    table = {"kind": "rv2aj", "port": "x", "way": "mxt", "mxt": "10.0.0.1:10000", "computer": "10.0.0.2"}
    del table[key]
    axes = tuple((name, "revolute") for name in ("J1", "J2", "J3", "J5", "J6"))
    with pytest.raises(HilError, match=f"controller.{key}"):
        rv2aj.settings_from_table(table, axes, "r")


def test_a_filter_stands_in_our_program_and_in_the_time_to_settle() -> None:
    settings = msgspec.structs.replace(RIG.controller, filter_s=0.05)
    assert settings.settle_s == pytest.approx(1.5 * CYCLE_S + 0.25)
