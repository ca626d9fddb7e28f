"""The same controller at every connection of a session, or none; what one garbled digit does to that, and what not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rv2aj_script import IDENTITY, Bench, Cr1Port

from hil.errors import ControllerError
from hil.types import LinkPhase

RANGE = "MEJAR;-150.00, 150.00, -60.00, 120.00, -110.00, 120.00, 0.00, 0.00, -90.00, 90.00, -200.00, 200.00;16"
TOOL = "MEXTL;0.00, 0.00, 0.00, 0.00, 0.00, 0.00;6"
CHANGES = ("RSTALRM", "SLOTINIT", "STOP", "CNTLON", "SRVON", "EXEC", "RUN", "HOT", "LOAD")


def controller(**answers: str) -> Cr1Port:
    port = Cr1Port()
    told = {"OPEN=HIL": IDENTITY, "PARMEJAR": RANGE, "PARMEXTL": TOOL, "PARMEXBS": TOOL.replace("TL", "BS"), **answers}
    port.answers = {command: f"QoK{text}" for command, text in told.items()}
    return port


def reconnect(bench: Bench, port: Cr1Port) -> None:
    """Unplugged, and something plugged in again."""
    bench.driver.close()
    bench.port = port
    bench.connect()


def renamed(before: str, after: str) -> Cr1Port:
    return controller(**{"OPEN=HIL": IDENTITY.replace(before, after)})


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (renamed("Ver.J4", "Ver.K9"), r"what it calls itself was .*Ver\.J4', is .*Ver\.K9'"),
        (renamed("03-11-19", "05-07-14"), "date of the version was '03-11-19', is '05-07-14'"),
        (renamed("CRn-5xx", "CR1-571"), r"what it calls itself was .*CRn-5xx.*, is .*CR1-571"),
        (renamed(";ENG;", ";JPN;"), "language of its texts was 'ENG', is 'JPN'"),
        (renamed("1;1;8;", "1;1;4;"), "number of tasks was '8', is '4'"),
        (controller(PARMEJAR=RANGE.replace("-60.00", "-40.00")), r"joint range \(MEJAR\) was .*-60.00.*, is .*-40.00"),
        (controller(PARMEXTL=TOOL.replace("0.00, 0.00;6", "80.00, 0.00;6")), r"tool \(MEXTL\) was .*, is .*80\.00"),
        (controller(PARMEXBS="MEXBS;10.00, 0.00, 0.00, 0.00, 0.00, 0.00;6"), r"base \(MEXBS\) was .*, is '10\.00"),
    ],
)
def test_another_controller_behind_the_port_is_refused_by_what_differs_and_nothing_is_changed_there(
    other: Cr1Port, words: str
) -> None:
    bench = Bench(controller())
    bench.connect()
    other.alarm, other.paused = (4340, 2), True
    with pytest.raises(ControllerError, match=words) as caught:
        reconnect(bench, other)
    assert "this is not the controller that was here before" in str(caught.value)
    assert "end this session and begin another" in str(caught.value)
    assert bench.driver.read(bench.now_s).phase is LinkPhase.CLOSED
    assert [command for command in other.commands() if command.startswith(CHANGES)] == []


def test_it_stays_refused_until_the_first_one_is_back_and_a_new_session_takes_it() -> None:
    bench, first = Bench(controller()), controller()
    bench.connect()
    for _ in range(2):
        with pytest.raises(ControllerError, match="not the controller"):
            reconnect(bench, renamed("Ver.J4", "Ver.K9"))
    reconnect(bench, first)
    assert Bench(renamed("Ver.J4", "Ver.K9")).connect().identity.endswith("Ver.K9")


def test_the_same_controller_is_taken_however_often_and_asked_only_once_over() -> None:
    bench = Bench(controller())
    bench.connect()
    again = controller()
    reconnect(bench, again)
    assert again.commands("OPEN") == ["OPEN=HIL"]
    assert again.commands("PARMEJAR") == ["PARMEJAR"]


def garbled_once(kind: str, before: bytes, after: bytes) -> Callable[[str, bytes], list[tuple[float, bytes]]]:
    left = [1]

    def mangle(command: str, reply: bytes) -> list[tuple[float, bytes]]:
        if command.startswith(kind) and left:
            left.clear()
            return [(0.0, reply.replace(before, after))]
        return [(0.0, reply)]

    return mangle


@pytest.mark.parametrize("when", ["first", "again"])
@pytest.mark.parametrize(("kind", "before", "after"), [("OPEN", b"J4", b"J5"), ("PARMEJAR", b"-60.00", b"-68.00")])
def test_one_garbled_digit_makes_no_other_controller(when: str, kind: str, before: bytes, after: bytes) -> None:
    first, second = controller(), controller()
    bad = first if when == "first" else second
    bad.mangle = garbled_once(kind, before, after)
    bench = Bench(first)
    bench.connect()
    reconnect(bench, second)
    with pytest.raises(ControllerError, match="not the controller"):
        reconnect(bench, controller(PARMEJAR=RANGE.replace("-60.00", "-68.00")))


def test_a_parameter_that_is_not_shown_is_unknown_and_not_different() -> None:
    hidden = controller()
    hidden.refusals["PARMEJAR"] = 7080
    bench = Bench(hidden)
    bench.connect()
    reconnect(bench, controller())
    hidden.closed = False
    reconnect(bench, hidden)
