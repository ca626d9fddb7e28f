"""Faces of the controllers' family: what each says about itself, what it knows, and what it refuses."""

from __future__ import annotations

import re

import pytest
from cr1_terminal import Cr1Terminal

import sim.cr1.conversation  # noqa: F401 - fills the command table
from sim.cr1 import Cr1Settings, Series
from sim.cr1.commands import TABLE
from sim.profiles import choices_of

RIGHTS = "MITSUBISHI ELECTRIC CORPORATION ALL RIGHTS RESERVED"
SPEEDS = "3,5,A,1E,32,46,64"
SAYS = {
    "cr1": f"1F;37;6,0;{SPEEDS};MB4;PRM;RV-2AJ;CRn-5xx;MELFA;03-11-19;Ver.J4;ENG;COPYRIGHT(C)1999-2003 {RIGHTS};1;1;8;",
    "cr2": f"3F;3F;7,0;{SPEEDS};MB4;PRM;RV-3SB;CRn-5xx;MELFA;05-07-14;Ver.K4a;ENG;"
    f"COPYRIGHT(C)1999-2003 {RIGHTS};1;1;8;",
    "cr750": f"3F;3F;7,0;{SPEEDS};MB5;PRM;RV-13FLM-D;CRnX-7xx;MELFA;17-10-06;Ver.S7e;ENG;"
    f"COPYRIGHT(C)2008-2017 {RIGHTS};1;3;8;",
}
SAYS["cr1-ethernet"] = SAYS["cr1"]
LATER = {"GJPOSF": "J1;", "GPPOSF": "X;", "RSTPWR": ""}
"""What the manual's list marks as only of later controllers, and how its answer begins."""

CARD = (
    "Ethernet;IP Addr 192.168.0.1\x0bPortNo(R-time) 10000\x0b"
    "PortNo(OPT11-19) 10001/10002/10003/10004/10005/10006/10007/10008/10009\x0b"
    "Connect Count(OPT11-19) 1/0/0/0/0/0/0/0/0\x0bMAC Addr 00:00:00:00:00:00\x0bH/W Ver: 0"
)


def face(name: str, **choices: object) -> Cr1Terminal:
    settings = choices_of("cr1", name, {}).over(Cr1Settings())
    fields = {field: getattr(settings, field) for field in settings.__struct_fields__}
    return Cr1Terminal({"A": "10 END"}, **(fields | choices))


@pytest.mark.parametrize(("name", "text"), SAYS.items())
def test_each_says_what_it_is(name: str, text: str) -> None:  # C but for the RV-2AJ, where M and I
    assert face(name).ask("OPEN=NARCUSR") == f"QoK{text}"


@pytest.mark.parametrize("name", SAYS)
def test_each_answers_any_end_but_the_one_on_a_serial_line(name: str) -> None:
    terminal = face(name)
    assert (terminal.raw("1;1;OVRD\n") == "QoK100\r") == (name != "cr1")


@pytest.mark.parametrize(("name", "axes"), [("cr1", 5), ("cr1-ethernet", 5), ("cr2", 6), ("cr750", 6)])
def test_five_or_six_axes_are_shown(name: str, axes: int) -> None:
    shown = face(name).ask("JPOSF")
    assert len(re.findall(r"J\d;-?\d+\.\d\d;", shown)) == axes
    assert ("****" in shown.split(";;")[0]) == (axes == 5)
    assert (";C;0.00;;7,0;" in face(name).ask("PPOSF")) == (axes == 6)
    assert face(name).ask("CALIB") == ("QoKN3F3F" if axes == 6 else "QoKN3737")


@pytest.mark.parametrize(("name", "shown"), [("cr1", "A.MB4"), ("cr2", "A.MB4"), ("cr750", "A.MB5")])
def test_programs_have_the_extension_of_their_language(name: str, shown: str) -> None:  # M
    terminal = face(name).ready()
    terminal.do("PRGLOAD=A")
    assert terminal.ask("PRGRD") == f"QoK{shown}"
    assert terminal.ask("STATE").split(";")[0] == f"QoK{shown}"
    assert terminal.ask("SLOTRD").startswith(f"QoK{shown};")
    assert terminal.ask("PDIRTOP").startswith(f"QoK{shown};")
    assert terminal.ask("FDIRTOP").startswith(f"QoK{shown};")
    assert terminal.ask("FCHECKA.MB5") == "QoKN"


@pytest.mark.parametrize("name", SAYS)
@pytest.mark.parametrize(("request_text", "begins"), LATER.items())
def test_words_of_later_controllers_are_6010_before(name: str, request_text: str, begins: str) -> None:  # M
    answer = face(name).ask(request_text)
    assert answer.startswith(f"QoK{begins}" if name == "cr750" else "QeR6010")


def test_the_table_marks_the_words_of_later_controllers() -> None:
    assert {word for word, each in TABLE.items() if each.later} == {"GJPOS", "GPPOS", "RSTPWR"}


@pytest.mark.parametrize(("name", "answer"), [("cr1", "Qer4310"), ("cr2", "Qer4310"), ("cr750", "QoK")])
def test_spelling_of_v_is_taken_by_the_one_that_speaks_it(name: str, answer: str) -> None:  # M
    terminal = face(name)
    terminal.do("LOAD=B")
    assert terminal.ask("EDATA10 MCOUNT%=1").startswith(answer)


@pytest.mark.parametrize(("name", "language"), [("cr1", "1"), ("cr750", "2")])
def test_the_language_is_that_of_the_factory(name: str, language: str) -> None:
    terminal = face(name)
    assert terminal.ask("PARRLNG") == f"QoKRLNG;{language};1"
    assert terminal.ask("PRM=RLNG;0") == "QeR708100000"
    assert terminal.ask(f"PRM=RLNG;{language}") == "QoK"


@pytest.mark.parametrize("name", SAYS)
@pytest.mark.parametrize("request_text", ["GC", "MJ 30,0,0,0,0,0", "WH", "EDINS=3;MOV P1", "CHGPRT=HC"])
def test_no_face_knows_movemaster_or_what_is_not_emulated(name: str, request_text: str) -> None:  # C
    assert face(name).ask(request_text) == "QeR601000000"


@pytest.mark.parametrize("name", ["cr1", "cr1-ethernet"])
def test_the_card_shows_in_its_slot_and_in_its_parameters(name: str) -> None:  # M
    terminal = face(name)
    there = name != "cr1"
    assert terminal.ask("OPNUMRD") == "QoK3"
    assert terminal.ask("OPSTSRD1", wait_s=2) == f"QoK{CARD if there else 'None;None'}"
    assert terminal.ask("OPSTSRD3") == "QoKNone;None"
    assert terminal.ask("OPSTSRD4") == "QeR311000000"
    assert terminal.ask("PARNETIP") == ("QoKNETIP;192.168.0.1;1" if there else "QeR708000000")
    assert (terminal.ask("PARNETPORT") == "QeR708000000") != there
    assert terminal.ask("THMRD") == "QoK25.0"


def test_the_goal_of_a_move_is_told_while_it_goes_on() -> None:  # M GJPOS
    terminal = face("cr750").ready()
    terminal.do("OVRD=10")
    assert terminal.ask("GJPOSF") == terminal.ask("JPOSF")
    terminal.do("EXECJ1=(60,0,90,0,60,0)", "EXECMOV J1")
    assert terminal.ask("GJPOSF").startswith("QoKJ1;60.00;J2;0.00;J3;90.00;J4;0.00;J5;60.00;")
    assert terminal.ask("GJPOS5").startswith("QoKJ5;60.00;;****,****;10;")
    assert not terminal.ask("JPOSF").startswith("QoKJ1;60.00;")
    terminal.settle()
    assert terminal.ask("GPPOSF") == terminal.ask("PPOSF")


# EXEC2= answers when the statement is done.


@pytest.mark.parametrize("series", list(Series))
def test_exec2_answers_when_the_move_is_over(series: Series) -> None:  # M: not marked as later
    terminal = Cr1Terminal(series=series).ready()
    terminal.do("OVRD=20", "EXECJ1=(30,0,90,0,90,0)")
    assert terminal.raw("1;1;EXEC2=MOV J1\r1;1;OVRD\r", 0.4) == ""
    assert 0 < terminal.joints()[0] < 30
    assert terminal.wait(6.0) == "QoK\rQoK20\r"
    assert terminal.joints()[0] == 30


@pytest.mark.parametrize("statement", ["M1=1", "OVRD 30", "SERVO ON"])
def test_exec2_of_what_takes_no_time_answers_like_exec(statement: str) -> None:
    assert Cr1Terminal().ready().ask(f"EXEC2={statement}") == "QoK"


def test_exec2_tells_the_error_that_ended_the_statement() -> None:
    terminal = Cr1Terminal().ready()
    assert terminal.ask("EXEC2=MOV PNONE") == "QeR434000000"
    terminal.do("RSTALRM", "OVRD=10", "EXECJ1=(90,0,90,0,90,0)")
    assert terminal.raw("1;1;EXEC2=MOV J1\r", 0.5) == ""
    terminal.cr1.fail(1681, terminal.now_s)
    assert terminal.wait(0.5) == "Qer168100000\r"


def test_exec2_of_input_gets_its_line() -> None:
    terminal = Cr1Terminal().ready()
    terminal.do('EXECOPEN "COM1:" AS #1')
    assert terminal.raw("1;1;EXEC2=INPUT #1,M1\r") == ""
    assert terminal.raw("PRN 7\r") == "QoK\r"
    assert terminal.ask("VALM1;M") == "QoKM1=+7"


@pytest.mark.parametrize("what", ["power", "cable", "hung"])
def test_what_waits_is_never_answered_once_power_cable_or_processor_went(what: str) -> None:
    terminal = Cr1Terminal(boot_s=0.2).ready()
    terminal.raw("1;1;EXEC2=DLY 9\r")
    if what == "power":
        terminal.cr1.power_cycle(terminal.now_s)
    elif what == "cable":
        terminal.cr1.cut(terminal.now_s)
    else:
        terminal.cr1.hang(terminal.now_s)
        terminal.cr1.hang(terminal.now_s, False)
    assert terminal.wait(12.0) == ""
    assert terminal.ask("OVRD") == "QoK100"
