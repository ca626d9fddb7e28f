"""A program that its controller runs: stored, read back, run or stepped, watched, taken away; on virtual time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from hil.clock import VirtualClock
from hil.errors import ControllerError, InterlockError
from hil.link import ProgramEnd, ProgramLook
from hil.program.program_plan import arm_of, plan_program
from hil.program.programs import load_program
from hil.program.signals import InputChange, Inputs, TextArrives
from hil.program.structure import Program, parse_program
from hil.runtime import port_wiring, wiring
from hil.runtime.program_watch import WayWatch, job_of
from sim.cr1 import Cr1
from sim.uart import Framing

SHORT = "10 MOV J1\n20 M_OUT(5)=1\n30 MOV J2\n40 END\nJ1=(40,-18,108,0,80,4)\nJ2=(0,-20,110,0,80,0)"
MOVES = re.compile(r";(?:RUN|STEP1|STEPR|EXEC)")


class Controller:
    """The fake that a run talks to, and all that it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rig = wiring.load_rig("rv2aj")
        self.prepare: Callable[[Cr1], None] = lambda cr1: None
        self.made: list[Cr1] = []
        self.heard = ""
        self.said: list[str] = []
        self.asked: list[tuple[int, str]] = []
        self.answers: Callable[[int], bool] = lambda line: True
        monkeypatch.setattr("hil.runtime.kinds.rv2aj_fake.Cr1", self._make)

    def _make(self, *arguments: Any, **choices: Any) -> Cr1:
        cr1 = Cr1(*arguments, **choices)
        self.prepare(cr1)
        receive = cr1.receive

        def listen(data: bytes, start_s: float, byte_s: float, framing: Framing) -> None:
            self.heard += data.decode("latin-1")
            receive(data, start_s, byte_s, framing)

        cr1.receive = listen  # type: ignore[method-assign, assignment]
        self.made.append(cr1)
        return cr1

    @property
    def cr1(self) -> Cr1:
        return self.made[-1]

    def watch(self, program: Program, inputs: Inputs) -> WayWatch:
        plan = plan_program(self.rig, program, inputs, start=self.rig.park)
        self.plan = plan
        return WayWatch(plan, program, arm_of(self.rig), say=self.said.append, go_on=self._go_on)

    def _go_on(self, line: int, statement: str) -> bool:
        self.asked.append((line, statement))
        return self.answers(line)

    def run(
        self,
        text: str | Program,
        inputs: Inputs | None = None,
        *,
        stepping: bool = False,
        breaks: tuple[int, ...] = (),
        pressed: Inputs | None = None,
    ) -> ProgramEnd:
        program = text if isinstance(text, Program) else parse_program(text, name="P")
        self.way = watch = self.watch(program, inputs or Inputs())
        happening = pressed or inputs or Inputs()
        job = job_of(self.plan, program, [], happening, stepping=stepping, breaks=breaks, press=True)
        return port_wiring.run_program(self.rig, None, job, watch)


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> Controller:
    return Controller(monkeypatch)


def test_it_runs_along_the_proved_way_and_leaves_nothing_behind(controller: Controller) -> None:
    end = controller.run(SHORT)
    assert end.reason == ""
    assert end.looks > 3
    assert controller.said == []
    assert controller.way.farthest_deg < 0.5
    assert {row.line for row in controller.way.trace} <= {10, 20, 30, 40}
    assert 5 in controller.way.trace[-1].outputs
    assert list(controller.cr1.machine.store.programs) == ["1"]
    assert controller.cr1.machine.panel.holder.name == "NOBODY"
    assert controller.cr1.machine.override == 10


def test_the_text_is_read_back_line_by_line_before_it_runs(controller: Controller) -> None:
    controller.run(SHORT)
    before = controller.heard[: MOVES.search(controller.heard).start()]  # type: ignore[union-attr]
    assert before.index("EDATA40 END") < before.index("SAVE") < before.index("LISTITOP")
    assert before.count("LISTI+1") >= 4
    assert "LISTPTOP" in before


def test_what_comes_back_otherwise_is_not_run_and_is_taken_away(controller: Controller) -> None:
    def spoil(cr1: Cr1) -> None:
        save = cr1.machine.store.save

        def forgetful(name: str, program: Any, now_s: float) -> None:
            program.put(20, "M_OUT(6)=1")
            save(name, program, now_s)

        cr1.machine.store.save = forgetful  # type: ignore[method-assign]

    controller.prepare = spoil
    with pytest.raises(ControllerError, match=r"not stored as sent: line '20 M_OUT\(5\)=1' is '20 M_OUT\(6\)=1' there"):
        controller.run(SHORT)
    assert MOVES.search(controller.heard) is None
    assert list(controller.cr1.machine.store.programs) == ["1"]


def test_another_program_of_that_name_is_left_alone(controller: Controller) -> None:
    controller.prepare = lambda cr1: cr1.machine.keep_program("P", "10 HLT")
    with pytest.raises(ControllerError, match="another program of this name is there, and is left alone"):
        controller.run(SHORT)
    assert MOVES.search(controller.heard) is None
    assert controller.cr1.machine.store.programs["P"].lines == {10: "HLT"}


def test_the_same_program_that_was_there_before_stays(controller: Controller) -> None:
    controller.prepare = lambda cr1: cr1.machine.keep_program("P", SHORT)
    assert controller.run(SHORT).reason == ""
    assert "EDATA" not in controller.heard
    assert sorted(controller.cr1.machine.store.programs) == ["1", "P"]


def test_steps_pause_before_every_line(controller: Controller) -> None:
    assert controller.run(SHORT, stepping=True).reason == ""
    assert [line for line, _ in controller.asked] == [10, 20, 30, 40]
    assert controller.asked[0][1] == "MOV J1"
    assert list(controller.cr1.machine.store.programs) == ["1"]


def test_a_breakpoint_pauses_before_its_line_and_one_may_leave_there(controller: Controller) -> None:
    controller.answers = lambda line: False
    assert controller.run(SHORT, breaks=(30,)).reason == "left before line 30"
    assert controller.asked == [(30, "MOV J2")]
    assert controller.cr1.joints[0] == pytest.approx(40.0)
    assert list(controller.cr1.machine.store.programs) == ["1"]


def test_hlt_asks_whether_to_go_on(controller: Controller) -> None:
    text = "10 MOV J1\n20 HLT\n30 MOV J2\n40 END" + SHORT[SHORT.index("\nJ1=") :]
    program = parse_program(text.replace("20 HLT\n", "20 DLY 0.1\n"), name="P")
    halting = parse_program(text, name="P")
    watch = controller.watch(program, Inputs())
    job = job_of(controller.plan, halting, [], Inputs(), stepping=False, breaks=(), press=True)
    assert port_wiring.run_program(controller.rig, None, job, watch).reason == ""
    assert [line for line, _ in controller.asked] == [30]
    assert controller.cr1.joints[0] == pytest.approx(0.0)


WATCHES = """10 DEF ACT 1,M_IN(10)=1 GOSUB *SEEN
20 ACT 1=1
30 MOV J1
40 END
50 *SEEN
60 ACT 1=0
70 MOV J2
80 RETURN 1
J1=(60,-16,106,0,80,4)
J2=(-60,-20,110,0,80,0)"""


def test_an_interrupt_that_was_not_assumed_stops_the_arm(controller: Controller) -> None:
    pressed = Inputs(changes=(InputChange(time_s=0.5, signal=10, value=1),))
    end = controller.run(WATCHES, pressed=pressed)
    assert "from every place of the proved way" in end.reason
    assert -60.0 < controller.cr1.joints[0] < -3.0
    assert list(controller.cr1.machine.store.programs) == ["1"]


def test_an_interrupt_that_was_assumed_runs_where_it_comes_at_the_same_place(controller: Controller) -> None:
    resting = WATCHES.replace("40 END", "35 DLY 4\n40 END")
    assumed, real = (Inputs(changes=(InputChange(time_s=at_s, signal=10, value=1),)) for at_s in (10.0, 6.0))
    assert controller.run(resting, assumed, pressed=real).reason == ""
    assert controller.cr1.joints[0] == pytest.approx(-60.0)


def test_lines_of_text_come_when_the_program_waits_for_them_and_what_it_prints_is_shown(controller: Controller) -> None:
    texts = (
        TextArrives(time_s=0.0, number=1, text="1,(100,10,470,0,170,0)(6,0)"),
        TextArrives(time_s=0.0, number=1, text="0,(0,0,0,0,0,0)(6,0)"),
    )
    end = controller.run(load_program("talk"), Inputs(texts=texts))
    assert end.reason == ""
    assert any(text.startswith("program: READY") for text in controller.said)
    assert any("MOVE" in text and "AT" in text for text in controller.said)
    assert any("BYE AFTER" in text for text in controller.said)


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (lambda cr1: cr1.turn_key(cr1.now_s, teach=True), "the key stands on TEACH"),
        (lambda cr1: cr1.fail(2160, cr1.now_s), "alarm H2160"),
        (lambda cr1: cr1.fail(4340, cr1.now_s), "alarm L4340"),
    ],
)
def test_what_happens_at_the_controller_ends_the_run_with_words(
    controller: Controller, happens: Callable[[Cr1], None], words: str
) -> None:
    program = parse_program(SHORT, name="P")
    watch = controller.watch(program, Inputs())
    looked = watch.looked

    def look(look: ProgramLook) -> str:
        if len(watch.trace) == 1:
            happens(controller.cr1)
        return looked(look)

    watch.looked = look  # type: ignore[method-assign]
    job = job_of(controller.plan, program, [], Inputs(), stepping=False, breaks=(), press=True)
    assert words in port_wiring.run_program(controller.rig, None, job, watch).reason
    assert not controller.cr1.in_motion


def test_ctrl_c_stops_the_arm_and_clears_up(controller: Controller) -> None:
    program = parse_program(SHORT, name="P")
    watch = controller.watch(program, Inputs())

    def interrupt(look: ProgramLook) -> str:
        raise KeyboardInterrupt

    watch.looked = interrupt  # type: ignore[method-assign]
    job = job_of(controller.plan, program, [], Inputs(), stepping=False, breaks=(), press=True)
    assert port_wiring.run_program(controller.rig, None, job, watch).reason == "interrupted from the keyboard"
    assert not controller.cr1.in_motion
    assert controller.cr1.joints[0] < 40.0
    assert list(controller.cr1.machine.store.programs) == ["1"]


class Interrupting(VirtualClock):
    """Somebody presses Ctrl-C at the so-manieth wait, once."""

    def __init__(self, at: int) -> None:
        super().__init__(port_wiring.VIRTUAL_START_S)
        self._left = at

    def sleep_until(self, deadline_s: float) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt("somebody pressed Ctrl-C")
        super().sleep_until(deadline_s)


# Some 580 waits to SRVON, 640 to the first look, 1540 to the last one, and 25 of clearing up.
@pytest.mark.parametrize("at", [1, 5, 60, 300, 420, 600, 700, 1000, 1500, *range(1544, 1568)])
def test_ctrl_c_at_any_wait_stops_the_arm_and_clears_up_also_while_it_clears_up(
    controller: Controller, at: int
) -> None:
    program = parse_program(SHORT, name="P")
    watch = controller.watch(program, Inputs())
    job = job_of(controller.plan, program, [], Inputs(), stepping=False, breaks=(), press=True)
    end = port_wiring.run_program(controller.rig, None, job, watch, Interrupting(at))
    assert end.reason == "somebody pressed Ctrl-C"
    rising = at == 600
    assert controller.said == rising * ["the servos were on their way on when the stop came; they are off again"]
    assert controller.cr1.machine.servo.on is (at > 600)
    assert not controller.cr1.in_motion
    assert list(controller.cr1.machine.store.programs) == ["1"]
    assert controller.cr1.machine.panel.holder.name == "NOBODY"


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda cr1: cr1.take_right(0.0), "L6020"),
        (lambda cr1: cr1.turn_key(0.0, teach=True), "the key stands on TEACH"),
        (lambda cr1: cr1.fail(4340, 0.0), "alarm L4340"),
    ],
)
def test_what_stands_in_the_way_is_told_before_anything_moves(
    controller: Controller, prepare: Callable[[Cr1], None], words: str
) -> None:
    controller.prepare = prepare
    with pytest.raises(ControllerError, match=words):
        controller.run(SHORT)
    assert MOVES.search(controller.heard) is None
    assert list(controller.cr1.machine.store.programs) == ["1"]


def test_an_arm_that_stands_elsewhere_is_not_moved(controller: Controller) -> None:
    program = parse_program(SHORT, name="P")
    watch = controller.watch(program, Inputs())
    plan = plan_program(controller.rig, program, start=controller.rig.home)
    job = job_of(plan, program, [], Inputs(), stepping=False, breaks=(), press=True)
    with pytest.raises(ControllerError, match="J2 stands at -20"):
        port_wiring.run_program(controller.rig, None, job, watch)
    assert MOVES.search(controller.heard) is None


def test_a_line_that_the_controller_does_not_know_is_named_and_nothing_stays(controller: Controller) -> None:
    text = "10 MOV J1\n20 IF M1=0 GOTO 30\n30 END\nJ1=(5,-18,108,0,80,4)".replace("20 IF M1", "15 M1=0\n20 IF M1")
    with pytest.raises(ControllerError, match="refuses '20 IF M1=0 GOTO 30'"):
        controller.run(text)
    assert list(controller.cr1.machine.store.programs) == ["1"]


def test_a_board_without_programs_says_so(controller: Controller) -> None:
    program = parse_program(SHORT, name="P")
    watch = controller.watch(program, Inputs())
    job = job_of(controller.plan, program, [], Inputs(), stepping=False, breaks=(), press=True)
    with pytest.raises(InterlockError, match="runs no programs"):
        port_wiring.run_program(wiring.load_rig("lynx6"), None, job, watch)
