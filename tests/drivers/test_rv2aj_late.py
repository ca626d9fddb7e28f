"""Answers that come late, in pieces, twice or never; bytes that trickle in; an arm that droops; a loop that slept."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rv2aj_script import START, TICK_S, Bench, Cr1Port, Mangler

from drivers._rv2aj_causes import Facts, explain_wait
from hil.errors import ControllerError, HilError, LinkOverrun, LinkTimeout
from hil.types import EnergiseCommand, LinkPhase
from hil.units import DEG

WAYS = {"segments": 1500, "hot": 1000, "line": 1000}
CONNECTING = ("OPEN", "PARRLNG", "PARMEJAR", "PARMEXTL", "STATE", "STPSIG", "ERROR", "PPOSF")
ALWAYS = ("JPOSF", "DSTATE", "IN", "CNTLON", "SRVON", "OVRD", "STOP", "SLOTINIT")
OWN = {
    "segments": ("EXECJT", "EXECMOV"),
    "hot": ("FCHECK", "LOAD", "EDATA", "SAVE", "RUN", "HOT"),
    "line": ("LISTITOP", "EDATA", "RUN", "PRN"),
}
LATE_S = (0.1, 0.3, 0.5, 0.8, 1.2, 1.6, 2.2, 3.0)


def damaged(kind: str, number: int, how: str, by_s: float) -> Mangler:
    """One answer to one kind of request comes wrong, all others as they should."""
    met = [0]

    def mangle(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        met[0] += command.startswith(kind)
        if not command.startswith(kind) or met[0] != number:
            return [(0.0, reply)]
        return {
            "late": [(by_s, reply)],
            "lost": [],
            "doubled": [(0.0, reply), (by_s, reply)],
            "split": [(0.0, reply[:3]), (by_s, reply[3:])],
            "dribbled": [(by_s / len(reply), reply[i : i + 1]) for i in range(len(reply))],
        }[how]

    return mangle


class Life:
    """A whole session without anybody above the driver: connect, servos, a motion, a stop, a motion.

    Attributes:
        error: what ended it; None if it went through.
        held_up: ticks in which the motion had to wait.
        words: why, at first.
        oldest_s: the oldest that what was known of the arm became.
    """

    def __init__(self, way: str, mangle: Mangler) -> None:
        self.bench = Bench(way=way, send_period_ms=WAYS[way])
        self.bench.port.mangle = mangle
        self.error: HilError | None = None
        self.held_up, self.words, self.oldest_s = 0, "", 0.0
        try:
            self._live()
        except HilError as error:
            self.error = error

    @property
    def severity(self) -> int:
        """0: nobody noticed; 1: the motion waited; 2: it was over."""
        return 2 if self.error is not None else int(self.held_up > 0)

    def _live(self) -> None:
        bench = self.bench
        bench.connect()
        bench.driver.watch_inputs((8,))
        for index, angle in enumerate(START):
            bench.seq += 1
            bench.driver.write(EnergiseCommand(seq=bench.seq, axis=index, position=angle * DEG), bench.now_s)
            self._tick()
        bench.wait(lambda state: all(state.known), 30.0)
        self._stream(0.0, 6.0, 3.0)
        assert bench.port.joints(bench.now_s)[0] == pytest.approx(6.0, abs=0.011)
        bench.move(3.0, *START[1:])
        self._tick(25)
        bench.driver.stop(bench.now_s)
        self._tick(250)
        here = bench.port.joints(bench.now_s)[0]
        self._stream(here, 2.0, 1.5)
        assert bench.port.joints(bench.now_s)[0] == pytest.approx(2.0, abs=0.011)

    def _stream(self, begin_deg: float, end_deg: float, seconds: float) -> None:
        count, sent = round(seconds / TICK_S), 0
        while sent < count:
            here = begin_deg + (end_deg - begin_deg) * (sent + 1) / count
            try:
                self.bench.move(here, *START[1:])
                sent += 1
            except LinkOverrun as error:
                self.held_up += 1
                assert self.held_up < 1000, error
                self.words = self.words or str(error)
            self._tick()
        self._tick(260)

    def _tick(self, count: int = 1) -> None:
        for _ in range(count):
            state = self.bench.tick()
            if state.line.believed_s is not None:
                self.oldest_s = max(self.oldest_s, self.bench.now_s - state.line.believed_s)


ANSWERS = st.sampled_from([(way, kind) for way, own in OWN.items() for kind in (*CONNECTING, *ALWAYS, *own)])


@settings(max_examples=25, deadline=None, print_blob=True)
@given(
    answer=ANSWERS,
    number=st.integers(1, 5),
    how=st.sampled_from(["late", "doubled", "split", "dribbled"]),
    by=st.lists(st.sampled_from(LATE_S), min_size=2, max_size=2, unique=True),
)
@example(answer=("segments", "EXECMOV"), number=2, how="late", by=[0.8, 1.6])
@example(answer=("segments", "JPOSF"), number=4, how="late", by=[0.8, 1.6])
@example(answer=("line", "PRN"), number=2, how="late", by=[0.8, 1.6])
@example(answer=("hot", "RUN"), number=2, how="late", by=[0.8, 3.0])
@example(answer=("line", "IN"), number=1, how="doubled", by=[0.3, 0.5])
def test_no_answer_is_worse_for_coming_sooner(answer: tuple[str, str], number: int, how: str, by: list[float]) -> None:
    """And one that is late by 0.8 s holds up a motion at most; late or not, the arm ends where it was sent."""
    way, kind = answer
    sooner, later = (Life(way, damaged(kind, number, how, by_s)) for by_s in sorted(by))
    if how != "doubled":  # the answer itself comes in time; when its copy disturbs more is chance
        assert sooner.severity <= later.severity
        assert sooner.held_up <= later.held_up or later.error is not None
    if min(by) <= 0.8:
        assert sooner.error is None
        assert sooner.oldest_s < 1.6 + 1.5 * min(by)
    if later.error is not None and later.bench.port.commands("STATE"):
        assert any(word in str(later.error) for word in ("late", "silent", "stopped", "instead")), str(later.error)


@settings(max_examples=20, deadline=None, print_blob=True)
@given(answer=ANSWERS, number=st.integers(1, 5))
@example(answer=("segments", "EXECMOV"), number=1)
@example(answer=("segments", "EXECMOV"), number=2)
@example(answer=("line", "PRN"), number=2)
@example(answer=("line", "PRN"), number=4)  # the last of a motion
def test_one_lost_answer_changes_nothing_but_how_long_it_takes(answer: tuple[str, str], number: int) -> None:
    way, kind = answer
    life = Life(way, damaged(kind, number, "lost", 0.0))
    assert life.error is None
    assert life.oldest_s < 3.2


def test_a_late_answer_is_believed_with_the_time_of_its_own_question_and_counted_once() -> None:
    bench = Bench().ready()
    bench.tick(40)
    before = bench.tick().line
    bench.port.mangle = damaged("JPOSF", 1, "late", 0.8)
    overdue = [bench.tick().line.overdue_s for _ in range(75)]
    due_s = next(at_s for at_s in overdue if at_s is not None)
    asked_s = next(at_s for at_s, command in reversed(bench.port.heard) if command == "JPOSF" and at_s < due_s)
    assert due_s - asked_s == pytest.approx(0.02 + 86 * 12 / 9600 + 0.3)
    after = bench.tick(20).line
    assert after.overdue_s is None
    assert after.lost == before.lost
    assert 1 <= after.late - before.late <= 2
    assert after.questions > before.questions
    assert after.believed_s is not None
    assert bench.now_s - after.believed_s < 0.6


def test_an_answer_that_only_nobody_fetched_is_not_late() -> None:
    bench = Bench().ready()
    bench.tick(37)
    late = bench.tick().line.late
    bench.now_s += 2.0
    assert bench.tick(10).line.late == late


def test_a_question_whose_answer_was_overtaken_is_lost_and_counted() -> None:
    bench = Bench().ready()
    bench.tick(20)
    before = bench.tick().line
    bench.port.mangle = damaged("JPOSF", 1, "lost", 0.0)
    after = bench.tick(60).line
    assert (after.lost - before.lost, after.noise_bytes - before.noise_bytes) == (1, 0)


def test_what_is_known_of_the_arm_stays_young_while_a_program_is_put_there() -> None:
    bench = Bench(way="line", send_period_ms=1000)
    bench.connect()
    ages = []
    for index, angle in enumerate(START):
        bench.seq += 1
        bench.driver.write(EnergiseCommand(seq=bench.seq, axis=index, position=angle * DEG), bench.now_s)
    for _ in range(400):
        state = bench.tick()
        assert state.line.believed_s is not None
        ages.append(bench.now_s - state.line.believed_s)
    assert all(state.known)
    assert len(bench.port.commands("EDATA")) > 15
    assert max(ages) < 1.2


def test_one_kind_of_answer_that_cannot_be_read_does_not_keep_the_others_away() -> None:
    bench = Bench().ready()
    bench.driver.watch_inputs((8,))
    bench.port.answers["DSTATE"] = bench.port.answers["IN0"] = "QoKrubbish"
    for _ in range(500):
        state = bench.tick()
        assert state.line.believed_s is not None
        assert bench.now_s - state.line.believed_s < 1.6


# -- bytes without meaning -----------------------------------------------------------------------------------------


class Trickle(Cr1Port):
    """A line on which nothing comes any more but single bytes."""

    def __init__(self, every_s: float, text: bytes) -> None:
        super().__init__()
        self.every_s, self.text, self.next_s = every_s, text, float("inf")

    def read(self, now_s: float) -> bytes:
        data = super().read(now_s)
        while self.next_s <= now_s:
            self.next_s += self.every_s
            data += self.text
        return data


@pytest.mark.parametrize("text", [b"\xff", b"Q", b"\r", b"#\r", b"QoK\r"], ids=repr)
@pytest.mark.parametrize("every_s", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("way", WAYS)
def test_a_minute_of_single_bytes_makes_what_is_known_old_and_is_counted(way: str, every_s: float, text: bytes) -> None:
    port = Trickle(every_s, text)
    bench = Bench(port, way=way, send_period_ms=WAYS[way]).ready()
    bench.tick(20)
    port.silent, port.next_s = True, bench.now_s
    before = bench.tick().line
    began_s = bench.now_s
    states = [bench.tick() for _ in range(3000)]
    after = states[-1].line
    assert after.believed_s is not None
    assert after.believed_s <= began_s
    assert states[-1].joints is not None
    assert states[-1].joints.t_s == after.believed_s
    assert after.questions - before.questions > 10, "it goes on asking, whatever comes"
    empty = text == b"\r"
    assert empty or after.noise_bytes - before.noise_bytes > 0.8 * 60 / every_s
    assert [s.line.noise_bytes for s in states] == sorted(s.line.noise_bytes for s in states)
    assert after.overdue_s is not None or text == b"QoK\r"
    port.silent, port.next_s = False, float("inf")
    state = bench.wait(lambda state: (state.line.believed_s or 0.0) > bench.now_s - 0.5, 8.0)
    assert state.line.overdue_s is None


@pytest.mark.parametrize("text", [b"\xff", b"#\r"], ids=repr)
def test_single_bytes_from_the_beginning_are_no_cr1(text: bytes) -> None:
    port = Trickle(0.1, text)
    bench = Bench(port)
    port.silent, port.next_s = True, bench.now_s
    bench.driver.open(bench.now_s)
    with pytest.raises(ControllerError, match="it is no CR1, or its line is set otherwise"):
        bench.tick(250)


# -- an arm that droops --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sag_deg", [0.06, -0.3, 1.0])
def test_an_arm_that_rests_a_little_off_its_target_gets_the_next_and_never_two_at_once(sag_deg: float) -> None:
    bench = Bench().ready()
    bench.port.sag_deg = sag_deg
    refused: list[str] = []
    bench.port.mangle = lambda command, reply: refused.append(command) or [(0.0, reply)] if b"e" in reply else [(0.0, reply)]  # fmt: skip # noqa: E501
    held_up = 0
    for number in range(1, 301):
        while True:
            try:
                bench.move(8.0 * number / 300, *START[1:])
                break
            except LinkOverrun:
                held_up += 1
                bench.tick()
        bench.tick()
    bench.tick(300)
    assert bench.port.joints(bench.now_s)[0] == pytest.approx(8.0, abs=0.011)
    assert refused == []
    assert len(bench.port.commands("EXECMOV")) >= 4
    assert held_up <= 25


def test_an_arm_that_rests_too_far_from_its_target_is_named_with_its_joint() -> None:
    bench = Bench().ready()
    bench.port.sag_deg = 1.3
    with pytest.raises(LinkOverrun, match=r"J2 rests 1\.30 deg off the target before, and does not come nearer"):
        bench.stream(0, 20.0, 8.0)
    assert len(bench.port.commands("EXECMOV")) == 1


def test_a_small_step_that_has_not_begun_is_no_arrival() -> None:
    """Rest counts only after the move must have ended: an arm that waits for its brakes rests as well."""
    bench = Bench().ready()
    bench.port.speed_deg_s = 3.0
    bench.move(0.5, *START[1:])
    bench.tick(20)
    bench.move(0.9, *START[1:])
    bench.tick(60)
    assert bench.port.moving(bench.now_s - 0.3)
    assert len(bench.port.commands("EXECMOV")) == 1


@pytest.mark.parametrize("went", [True, False], ids=["the move began", "the move never came"])
def test_where_the_arm_comes_to_rest_tells_what_became_of_a_move_without_an_answer(went: bool) -> None:
    bench = Bench().ready()
    bench.move(4.0, *START[1:])
    bench.tick(150)
    assert bench.port.joints(bench.now_s)[0] == 4.0
    usual = bench.port.mangle
    bench.port.mangle = damaged("EXECMOV", 1, "lost", 0.0)
    go = bench.port._go
    if not went:
        bench.port._go = lambda target, at_s, percent=100.0: setattr(bench.port, "_go", go)  # type: ignore[method-assign]
    for _ in range(250):
        bench.move(7.0, *START[1:])
        bench.tick()
    bench.port.mangle = usual
    bench.tick(150)
    assert bench.port.joints(bench.now_s)[0] == 7.0
    assert len(bench.port.commands("EXECMOV")) == (2 if went else 3)


# -- a loop that was held up ---------------------------------------------------------------------------------------


def test_a_target_that_slept_with_its_loop_leaves_only_if_it_is_renewed() -> None:
    bench = Bench().ready()
    bench.move(1.0, *START[1:])
    bench.tick(20)
    bench.move(5.0, *START[1:])
    bench.tick()
    bench.now_s += 3600.0
    bench.tick(80)
    assert bench.port.joints(bench.now_s)[0] == 1.0
    bench.move(1.5, *START[1:])
    bench.tick(200)
    assert bench.port.joints(bench.now_s)[0] == 1.5


def test_a_target_that_slept_and_is_not_renewed_is_a_fault_that_names_the_loop() -> None:
    bench = Bench().ready()
    bench.move(1.0, *START[1:])
    bench.tick(20)
    bench.move(5.0, *START[1:])
    bench.tick()
    bench.now_s += 4.0
    with pytest.raises(ControllerError, match=r"thrown away; .* this program itself was held up for 3\.9 s"):
        bench.tick(200)
    assert bench.port.joints(bench.now_s)[0] == 1.0


# -- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (Facts(held_up_s=2.0, late=(1, 0.4)), "this program itself was held up for 2.0 s"),
        (Facts(held_up_s=0.6, silent_s=4.0), "silent for 4.0 s"),
        (Facts(stalled=True, silent_s=3.0), "the port takes no more bytes"),
        (Facts(silent_s=2.0, noise_bytes=7), "7 bytes without meaning came instead of answers"),
        (Facts(lost=2, noise_bytes=90), "90 bytes without meaning came instead of answers"),
        (Facts(silent_s=2.0), "the controller has been silent for 2.0 s"),
        (Facts(silent_s=0.5), "an answer is 0.5 s late by now"),
        (Facts(busy="L5640 wait", moving=True), "the controller is busy: L5640 wait"),
        (Facts(short=("J2", -1.25), late=(1, 0.2)), "J2 rests 1.25 deg off the target before"),
        (Facts(late=(3, 0.82), moving=True), "answers came late, the last by 0.8 s"),
        (Facts(lost=2), "2 answers were lost on the line"),
        (Facts(moving=True), "slower than the rig says"),
        (Facts(), "raise controller.send_period_ms"),
    ],
)
def test_each_cause_has_its_own_words(facts: Facts, words: str) -> None:
    assert words in explain_wait(facts)


def stalled(bench: Bench) -> None:
    bench.port.room = 0


def silent(bench: Bench) -> None:
    bench.port.silent = True


def noisy(bench: Bench) -> None:
    bench.port.mangle = lambda command, reply: [(0.0, b"\x81\x82\r")]


def busy(bench: Bench) -> None:
    bench.port.refusals["EXECMOV"] = 5640


def late(bench: Bench) -> None:
    bench.port.mangle = lambda command, reply: [(0.9, reply)]


def slow(bench: Bench) -> None:
    bench.port.speed_deg_s = 10.0


def lossy(bench: Bench) -> None:
    bench.port.mangle = lambda command, reply: [] if command.startswith("EXECJT") else [(0.0, reply)]


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (stalled, "the port takes no more bytes"),
        (silent, "the controller has been silent"),
        (noisy, "bytes without meaning came instead of answers"),
        (busy, "the controller is busy: L5640"),
        (late, r"answers came late, the last by 0\.\d s|an answer is 0\.\d s late"),
        (lossy, r"answers were lost on the line|an answer is 0\.\d s late"),
        (slow, "slower than the rig says"),
    ],
)
def test_a_motion_that_waits_says_why(happens: Callable[[Bench], None], words: str) -> None:
    bench = Bench().ready()
    bench.tick(20)
    happens(bench)
    with pytest.raises(LinkOverrun, match=words):
        bench.stream(0, 40.0, 8.0)


@pytest.mark.parametrize(
    ("instead", "words"),
    [([], "silent for 2.0 s in the middle of a conversation"), ([(0.0, b"\x81\r")], "answers have stopped, and bytes")],
    ids=["silence", "noise"],
)
def test_a_handshake_that_breaks_off_says_what_came_instead(instead: list[tuple[float, bytes]], words: str) -> None:
    bench = Bench()
    bench.port.mangle = lambda command, reply: [(0.0, reply)] if command in ("OPEN=HIL", "PARRLNG") else instead
    bench.driver.open(bench.now_s)
    with pytest.raises((LinkTimeout, ControllerError), match=words):
        bench.tick(500)
    assert bench.tick().phase is LinkPhase.CLOSED


# -- the first cause -----------------------------------------------------------------------------------------------


def test_what_was_the_trouble_first_stays_the_trouble() -> None:
    bench = Bench().ready()
    bench.port.alarm = (2160, 1)
    bench.port.servo = False
    with pytest.raises(ControllerError, match="H2160"):
        bench.tick(100)
    bench.port.gone = True
    bench.driver.stop(bench.now_s)
    assert bench.tick(3).phase is LinkPhase.CLOSED
    with pytest.raises(ControllerError, match="H2160"):
        bench.move(*START)


def test_a_stop_that_the_port_does_not_take_leaves_as_soon_as_it_does() -> None:
    bench = Bench().ready()
    bench.move(5.0, *START[1:])
    bench.tick(30)
    bench.port.room = 0
    bench.driver.stop(bench.now_s)
    bench.tick(10)
    assert bench.port.commands("STOP") == []
    bench.port.room = None
    bench.tick(100)
    assert bench.port.commands("STOP") != []
    assert bench.port.resets == 1


def test_while_the_port_takes_nothing_what_is_known_grows_old_and_nothing_is_overdue() -> None:
    bench = Bench().ready()
    bench.tick(20)
    bench.port.room = 0
    state = bench.tick(250)
    assert state.line.believed_s is not None
    assert bench.now_s - state.line.believed_s > 4.5
    bench.port.room = None
    state = bench.tick(50)
    assert state.line.believed_s is not None
    assert bench.now_s - state.line.believed_s < 0.8
    assert state.line.lost == 0
