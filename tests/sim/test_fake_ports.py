"""The in-memory port, the bench behind the board, and scripted faults, on virtual time."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import ConfigError, LinkClosed, LinkOverrun
from sim.bench import BenchServo, ServoBench
from sim.faults import FaultScript, faults_from_table, load_faults
from sim.ports import MemoryPort
from sim.ssc32 import BoardSettings, Ssc32Board
from sim.uart import mishear

EXAMPLES = Path(__file__).parents[2] / "configs" / "faults"


def script(*faults, seed=1):
    file = faults_from_table({"title": "test", "fault": list(faults)}, "test.toml")
    return FaultScript(file, random.Random(seed))


def faulty(*faults, servos=True, seed=1):
    board = Ssc32Board()
    bench = ServoBench(board, [BenchServo(channel=n) for n in range(6)]) if servos else None
    return MemoryPort(board, 115200, script(*faults, seed=seed), bench), board, bench


# Pacing.


def test_960_bytes_at_9600_baud_take_one_second():
    board = Ssc32Board(BoardSettings(baud=9600))
    port = MemoryPort(board, 9600)
    port.write(b" " * 951 + b"#0P1500T5", 0.0)
    assert port.backlog(0.0) == 960
    port.write(b"\r", 0.0)
    assert port.backlog(0.5) == pytest.approx(481, abs=1)
    port.read(1.0)
    assert port.backlog(1.0) == 1
    assert board.counts.received == 960
    port.read(1.0011)
    assert (board.counts.received, port.backlog(1.0011)) == (961, 0)


def test_reply_bytes_can_be_read_only_once_they_have_arrived():
    port = MemoryPort(Ssc32Board(BoardSettings(baud=9600)), 9600)
    port.write(b"VER\r", 0.0)
    assert port.read(0.0) == b""
    assert port.read(4 / 960 + 600e-6) == b""
    assert port.read(4 / 960 + 600e-6 + 1 / 960 + 1e-6) == b"S"
    assert port.read(1.0) == b"SC32-V2.03XE\r"


@given(st.lists(st.floats(0.0001, 0.01), max_size=30))
def test_when_one_reads_does_not_change_what_one_reads(steps):
    port = MemoryPort(Ssc32Board(), 115200)
    port.write(b"VER\rQP0Q\r", 0.0)
    now_s, got = 0.0, b""
    for step_s in steps:
        now_s += step_s
        got += port.read(now_s)
    assert got + port.read(1.0) == b"SSC32-V2.03XE\r\x00"


def test_a_full_buffer_takes_nothing_and_says_so():
    port = MemoryPort(Ssc32Board(), 9600, buffer_bytes=100)
    port.write(b"#" * 90, 0.0)
    with pytest.raises(LinkOverrun, match="90 bytes still wait"):
        port.write(b"#" * 20, 0.0)
    port.write(b"#" * 20, 0.02)


def test_at_the_wrong_baud_rate_nothing_sensible_comes_back_until_it_is_set_right():
    port = MemoryPort(Ssc32Board(BoardSettings(baud=9600)), 115200)
    port.write(b"\x1b\rVER\r", 0.0)
    assert b"SSC32" not in port.read(1.0)
    port.set_baud(9600)
    port.write(b"\x1b\r\x1b\rVER\r", 1.0)
    assert port.read(2.0).endswith(b"SSC32-V2.03XE\r")
    with pytest.raises(ValueError, match="positive"):
        port.set_baud(0)


def test_an_unplugged_or_closed_port_is_gone():
    for port in (MemoryPort(Ssc32Board(), 9600), MemoryPort(Ssc32Board(), 9600)):
        port.close()
        port.close()
        with pytest.raises(LinkClosed, match="closed"):
            port.read(0.0)
    port = MemoryPort(Ssc32Board(), 9600)
    port.write(b"VER\r", 0.0)
    port.unplug(0.001)
    for call in (lambda: port.read(1.0), lambda: port.write(b"x", 1.0)):
        with pytest.raises(LinkClosed, match="pulled"):
            call()


@given(st.binary(max_size=40), st.floats(0.97, 1.03))
def test_a_receiver_at_nearly_the_right_speed_hears_every_byte(data, ratio):
    heard = mishear(data, 0.0, 1.0, ratio)
    if 0.99 < ratio < 1.01 or len(data) <= 1:
        assert bytes(value for _, value, _ in heard) == data
        assert not any(broken for *_, broken in heard)


# The bench.


def test_a_servo_follows_its_true_calibration_which_may_be_falling():
    board = Ssc32Board()
    points = ((-1.0, 2000.0), (0.0, 1500.0), (1.0, 900.0))
    bench = ServoBench(board, [BenchServo(channel=3, points=points, start=-0.2)])
    assert bench.position(3, 0.1) == -0.2
    board.receive(b"#3P900\r", 0.1, 10 / 115200)
    board.advance(2.0)
    assert bench.position(3, 2.0) == pytest.approx(1.0, abs=1e-6)
    assert bench.positions(2.0) == (bench.position(3, 2.0),)
    assert bench.settled()


def test_the_first_move_is_recorded_with_its_jump():
    board = Ssc32Board()
    bench = ServoBench(board, [BenchServo(channel=0, start=0.5), BenchServo(channel=1, start=0.0)])
    assert bench.largest_jump == 0.0
    board.receive(b"#0P1500\r#1P1500\r", 0.0, 10 / 115200)
    board.advance(1.0)
    board.receive(b"#0P1900T500\r", 1.0, 10 / 115200)
    board.advance(2.0)
    assert [(move.channel, move.jump) for move in bench.first_moves] == [(0, pytest.approx(0.5)), (1, 0.0)]
    assert bench.largest_jump == pytest.approx(0.5)


def test_without_pulses_or_servo_supply_a_servo_stays_and_comes_back_with_a_jump():
    board = Ssc32Board()
    bench = ServoBench(board, [BenchServo(channel=0), BenchServo(channel=16)])
    board.receive(b"#0P1500#16P1500\r", 0.0, 10 / 115200)
    board.advance(1.0)
    bench.supply(False, 1.0, banks=(1,))
    board.receive(b"#0P2000#16P2000\r", 1.0, 10 / 115200)
    board.advance(2.0)
    assert bench.positions(2.0) == (0.0, pytest.approx(math.radians(45), abs=1e-6))
    bench.supply(True, 2.0)
    assert bench.position(0, 3.0) == pytest.approx(math.radians(45), abs=1e-6)
    assert bench.first_moves[-1].jump == pytest.approx(math.radians(45))
    board.power_cycle(3.0)
    bench.place(0, 0.1, 3.5)
    assert bench.position(0, 4.0) == 0.1


def test_a_bench_refuses_channels_that_are_not_there_or_twice():
    for channels in ([32], [-1], [4, 4]):
        with pytest.raises(ValueError, match="0 to 31 allowed, each once"):
            ServoBench(Ssc32Board(), [BenchServo(channel=c) for c in channels])


# Scripted faults.


@pytest.mark.parametrize(
    "path", sorted(set(EXAMPLES.glob("*.toml")) - set(EXAMPLES.glob("cr1-*.toml"))), ids=lambda path: path.stem
)
def test_every_shipped_fault_file_loads_and_runs(path):
    faults = load_faults(path)
    board = Ssc32Board()
    bench = ServoBench(board, [BenchServo(channel=n) for n in range(6)])
    port = MemoryPort(board, 115200, FaultScript(faults, random.Random(faults.seed)), bench)
    for k in range(500):
        try:
            port.write(b"#0P1500#1P1500#2P1500#3P1500T40\rQP0\r", k * 0.02)
            port.read(k * 0.02)
        except LinkClosed:
            port = MemoryPort(board, 115200)
    assert board.counts.received > 10_000 or board.counts.lost > 10_000


@pytest.mark.parametrize(
    ("faults", "reply"),
    [
        ([{"kind": "lost", "every": 2}], b"SC2V.3E"),
        ([{"kind": "doubled", "every": 7}], b"SSC32-VV2.03XE\r\r"),
        ([{"kind": "lost"}], b""),
        ([{"kind": "lost", "direction": "commands", "every": 4}], b""),
    ],
)
def test_bytes_are_lost_and_doubled_as_told(faults, reply):
    port, _, _ = faulty(*faults)
    port.write(b"VER\r", 0.0)
    assert port.read(1.0) == reply


def test_garbled_bytes_differ_in_one_bit_and_the_seed_decides_which():
    def heard(seed):
        port, _, _ = faulty({"kind": "garbled", "probability": 0.5}, seed=seed)
        port.write(b"VER\r" * 10, 0.0)
        return port.read(1.0)

    assert heard(1) == heard(1) != heard(2)
    for good, bad in zip(b"SSC32-V2.03XE\r" * 10, heard(1), strict=True):
        assert (good ^ bad).bit_count() <= 1


def test_late_bytes_hold_up_those_behind_them():
    port, _, _ = faulty({"kind": "late", "every": 3, "delay_ms": 100.0})
    port.write(b"VER\r", 0.0)
    assert port.read(0.05) == b"SS"
    assert port.read(1.0) == b"C32-V2.03XE\r"


def test_delayed_bytes_are_on_their_way_for_longer_and_hold_up_nothing():
    port, board, _ = faulty({"kind": "delayed", "delay_ms": 100.0, "direction": "commands", "for_s": 0.5})
    port.write(b"#0P1500\r", 0.0)
    port.write(b"#0P1600T60\r", 0.02)
    assert port.backlog(0.03) == 0
    board.advance(0.099)
    assert board.pulse_us(0) == 0
    board.advance(0.125)
    assert board.pulse_us(0) == 1500
    board.advance(0.2)
    assert board.pulse_us(0) == 1600


def test_nothing_overtakes_a_delayed_byte():
    port, board, _ = faulty({"kind": "delayed", "delay_ms": 100.0, "direction": "commands", "for_s": 0.01})
    port.write(b"#0P1500\r", 0.0)
    port.write(b"#0P1600\r", 0.05)
    board.advance(0.2)
    assert board.pulse_us(0) == 1600


def test_delayed_replies_come_later_by_just_that():
    port, _, _ = faulty({"kind": "delayed", "delay_ms": 50.0})
    port.write(b"VER\r", 0.0)
    assert port.read(0.05) == b""
    assert port.read(0.06) == b"SSC32-V2.03XE\r"


def test_dribbled_bytes_come_no_sooner_than_so_long_after_each_other():
    port, _, _ = faulty({"kind": "dribbled", "delay_ms": 5.0})
    port.write(b"VER\r", 0.0)
    came = [k for k in range(200) for _ in port.read(k * 1e-3)]
    assert len(came) == 14
    assert {b - a for a, b in itertools.pairwise(came)} == {5}


def test_a_reply_is_split_where_chance_has_it():
    port, _, _ = faulty({"kind": "dribbled", "probability": 0.3, "delay_ms": 40.0})
    port.write(b"VER\r", 0.0)
    pieces = [piece for k in range(100) if (piece := port.read(k * 0.02))]
    assert b"".join(pieces) == b"SSC32-V2.03XE\r"
    assert 2 < len(pieces) < 14


def test_merged_bytes_of_several_replies_come_in_one_piece_when_the_adapter_looks():
    port, _, _ = faulty({"kind": "merged", "delay_ms": 16.0})
    port.write(b"VER\rQ\rVER\r", 0.0)
    pieces = [(k, piece) for k in range(100) if (piece := port.read(k * 1e-3))]
    assert pieces == [(16, b"SSC32-V2.03XE\r.SSC32-V2.03XE\r")]


def test_an_adapter_that_echoes_gives_back_each_byte_once_it_has_left_and_the_board_hears_it_all_the_same():
    port, board, _ = faulty({"kind": "echoed"})
    port.write(b"#0P1500\rVER\r", 0.0)
    assert port.read(1.5 * board.byte_s) == b"#"
    assert port.read(1.0) == b"0P1500\rVER\rSSC32-V2.03XE\r"
    assert board.pulse_us(0) == 1500


@given(st.integers(0, 1000), st.floats(0.01, 0.9))
def test_two_readers_part_the_bytes_between_them_and_none_is_changed(seed, chance):
    port, _, _ = faulty({"kind": "shared", "probability": chance}, seed=seed)
    port.write(b"VER\r" * 5, 0.0)
    ours, rest = port.read(1.0), iter(b"SSC32-V2.03XE\r" * 5)
    assert all(byte in rest for byte in ours)


def test_each_of_two_readers_takes_some_bytes_in_a_row():
    port, _, _ = faulty({"kind": "shared", "every": 5})
    port.write(b"VER\r" * 2, 0.0)
    assert port.read(1.0) == b"SSC3" + b"03XE\r" + b"-V2.0"


def test_a_fault_lasts_only_from_its_beginning_to_its_end():
    port, _, _ = faulty({"kind": "lost", "at_s": 1.0, "for_s": 1.0})
    heard = []
    for at_s in (0.5, 1.5, 2.5):
        port.write(b"Q\r", at_s)
        heard.append(port.read(at_s + 0.1))
    assert heard == [b".", b"", b"."]


def test_a_scripted_reset_happens_at_its_moment_however_seldom_one_looks():
    port, board, _ = faulty({"kind": "reset", "at_s": 1.0})
    port.write(b"#0P1500\r", 0.0)
    port.write(b"QP0\r", 0.99)
    assert port.read(5.0) == b"\x96"
    assert board.pulse_us(0) == 0
    port.write(b"QP0\r", 5.0)
    assert port.read(6.0) == b"\x00"


def test_a_pulled_cable_needs_a_new_port_once_it_is_back():
    port, board, _ = faulty({"kind": "unplug", "at_s": 1.0, "for_s": 1.0})
    port.write(b"Q\r", 0.5)
    assert port.read(0.9) == b"."
    for at_s in (1.1, 2.5):
        with pytest.raises(LinkClosed, match="pulled"):
            port.read(at_s)
    again = MemoryPort(board, 115200, port._faults)
    again.write(b"Q\r", 2.5)
    assert again.read(3.0) == b"."


def test_a_cable_pulled_and_put_back_unseen_is_still_noticed():
    port, _, _ = faulty({"kind": "unplug", "at_s": 1.0, "for_s": 0.1})
    port.read(0.5)
    with pytest.raises(LinkClosed):
        port.read(3.0)


def test_a_stalled_joint_stays_while_its_pulse_goes_on():
    port, board, bench = faulty({"kind": "stall", "channel": 0, "at_s": 1.0, "for_s": 1.0})
    port.write(b"#0P1500\r", 0.0)
    port.read(1.0)
    port.write(b"#0P2000\r", 1.0)
    port.read(1.9)
    assert (board.pulse_us(0), bench.position(0, 1.9)) == (2000, 0.0)
    port.read(3.0)
    assert bench.position(0, 3.0) == pytest.approx(math.radians(45), abs=1e-4)


def test_stale_text_waits_in_the_board_from_the_start():
    port, board, _ = faulty({"kind": "stale_text", "text": "#0P15"})
    port.write(b"\r", 0.0)
    port.read(0.1)
    assert board.pulse_us(0) == 500


def test_power_hangs_and_servo_supply_come_and_go_as_told():
    port, board, bench = faulty(
        {"kind": "no_power", "for_s": 1.0},
        {"kind": "hung", "at_s": 2.0, "for_s": 1.0},
        {"kind": "no_servo_power", "at_s": 4.0, "for_s": 1.0},
    )
    heard = []
    for at_s in (0.5, 1.5, 2.5, 3.5):
        port.write(b"Q\r", at_s)
        heard.append(port.read(at_s + 0.4))
    assert heard == [b"", b".", b"", b"."]
    port.write(b"#0P2000\r", 4.1)
    port.read(4.9)
    assert (board.pulse_us(0), bench.position(0, 4.9)) == (2000, 0.0)
    port.read(6.0)
    assert bench.position(0, 6.0) > 0.7


def test_a_brown_out_by_many_starting_servos_can_be_scripted():
    port, board, _ = faulty({"kind": "brown_out", "channels_starting": 3})
    port.write(b"#0P1500#1P1500#2P1500\r", 0.0)
    port.read(0.5)
    assert board.counts.boots == 2


def test_a_stall_without_a_servo_is_refused():
    with pytest.raises(ValueError, match="no servo is there"):
        faulty({"kind": "stall", "channel": 9})


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"kind": "lots"}, "fault.0.kind: 'lots' given"),
        ({"kind": "lost", "oops": 1}, "oops"),
        ({"kind": "lost", "every": 0}, "fault.0.every: 0 given"),
        ({"kind": "lost", "probability": 1.5}, "fault.0.probability: 1.5 given"),
        ({"kind": "lost", "every": 2, "probability": 0.5}, "either every or probability"),
        ({"kind": "reset", "every": 2}, "no every with kind reset"),
        ({"kind": "late"}, "kind late needs delay_ms"),
        ({"kind": "delayed"}, "kind delayed needs delay_ms"),
        ({"kind": "lost", "delay_ms": 2.0}, "delay_ms goes only with kind late"),
        ({"kind": "dribbled"}, "kind dribbled needs delay_ms"),
        ({"kind": "merged"}, "kind merged needs delay_ms"),
        ({"kind": "echoed", "direction": "replies"}, "commands: echoed happens one way only"),
        ({"kind": "shared", "direction": "commands"}, "replies: shared happens one way only"),
        ({"kind": "stall", "channel": 32}, "fault.0.channel: 32 given"),
        ({"kind": "stale_text", "text": "a\r"}, "printable ASCII"),
        ({"kind": "reset", "at_s": -1.0}, "fault.0.at_s: -1.0 given"),
    ],
)
def test_a_wrong_fault_names_file_key_value_and_what_is_allowed(table, text):
    with pytest.raises(ConfigError) as error:
        script(table)
    assert text in str(error.value)
    assert "test.toml" in str(error.value)


def test_a_fault_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.toml"):
        load_faults(tmp_path / "gone.toml")
    bad = tmp_path / "bad.toml"
    bad.write_text("seed = [")
    with pytest.raises(ConfigError, match="valid TOML"):
        load_faults(bad)
