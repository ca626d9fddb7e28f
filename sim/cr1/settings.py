"""What kind of CR1 this is, and how it decides what the reference leaves open."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

import msgspec

from hil.types import Record
from sim.cr1.arm import ArmModel
from sim.cr1.requests import EndCode, Procedure
from sim.cr1.state import AfterServoOff, FirstPosition, Key, ServoOff
from sim.uart import EIGHT_E_TWO, Framing

Seconds = Annotated[float, msgspec.Meta(ge=0.0)]


class Face(Enum):
    """How many axes the replies show."""

    FIVE = 5
    """The RV-2AJ's own: ``J4;****``, no C."""
    SIX = 6
    """For clients that stumble over stars: J4 and C are there, and 0."""


class Series(Enum):
    """Which words of the protocol a controller knows."""

    CRN_500 = "crn500"
    """CR1, CR2, CR2A: without the words that the manual marks as those of later series."""
    CR_750 = "cr750"
    """CRnD-700, CR750, CR751: with them, and MELFA-BASIC V in the parameter RLNG."""


class Cr1Settings(Record, frozen=True):
    """What kind of controller this is, and how it decides what the reference leaves open.

    Attributes:
        face: five or six axes in the replies.
        axes: the first two fields of the answer to OPEN, masks of its axes and joints in hex (U: public answers of
            other arms are ``3F;3F`` and ``FF;FF``); JPOSF shows 0.00 at a place that only the mask has. Empty for
            those of the face.
        clients: names that OPEN takes (U); empty for any.
        others_answered: another name is refused with 6010; else nothing answers it (U).
        exec_wants_program: EXEC needs a selected program, L5100 without one (U; eight public clients load one first).
        key: where the key stands at first.
        shows_key: VAL shows the system variable M_MODE (U).
        distance_s: while a program runs, a request sooner than that after an answer is refused with 5640 (U; the
            manual only asks for 100 ms); 0 for none.
        baud: speed of the line, the parameter CBAU232.
        framing: CPRTY232 and CSTOP232.
        end_code: what ends a reply, CTERM232.
        any_end: a request ends at CR, LF or a pause, as on a network; else only at CR.
        pause_s: the pause that ends a request with `any_end`.
        procedure: CPRC232.
        must_open: everything before OPEN= is answered with 6010.
        requests_stand: a refused request leaves an error standing, as a refused statement does.
        error_digits: 9 with the detail, 4 without.
        answer_s: time to think about a request.
        servo_on_s, servo_off_s: time that the drives take.
        boot_s: time from power to the first byte that is understood.
        cycle_s: the control cycle.
        slots: how many programs can run at a time, TASKMAX.
        memory_bytes: for programs.
        strict: programs are MELFA-BASIC IV to the letter; else V's spelling passes too.
        decimals: digits after the point of joints and poses in replies.
        status_zeros: STATE and DSTATE show an error below 1000 in four digits, H0060 as 0060; else as 60 (I: no error
            is one 0).
        error_zeros: ERROR and the log do so (S: a public client takes four characters).
        small_letters: the third letter of an answer is lower case while an error stands (I).
        shows_running: the status tells of a move by EXEC as of a running program (U).
        first_position: where the arm is shown to be before its servos were on for the first time (U).
        servo_off: what SRVOFF does while something moves (U).
        after_servo_off: what becomes of a program in which SERVO OFF stands (M: the example of GETM goes on to RELM
            and END).
        checks_parity: a byte with a wrong parity or stop bit is dropped (I); else it is taken as it was heard.
        override: in percent, from power-up on (I; real panels keep the last).
        version: what its software calls itself.
        series: which words of the protocol it knows.
        robot: the arm's name in the answer to OPEN; empty for RV-2AJ, or RV-6S with six axes.
        controller: its own name there.
        released: the day of its software there.
        copyright_years: of its software there.
        serial_number: the field before TASKMAX there.
        extension: of programs, by the language that they are in.
        day: the controller's date when it is made, days count from 2004-01-01.
        arm: the arm.
        ethernet: an Ethernet card is there: OPEN "ENET:..." and MXT are possible.
        udp_port: of the card, on this computer; 0 for any free one.
        newest_counts: of several packets in one cycle of MXT the newest is obeyed and the others are lost; else one a
            cycle, in their order (U).
    """

    face: Face = Face.FIVE
    axes: str = ""
    clients: tuple[str, ...] = ()
    others_answered: bool = True
    exec_wants_program: bool = False
    key: Key = Key.AUTO_EXT
    shows_key: bool = True
    distance_s: Seconds = 0.0
    baud: Annotated[int, msgspec.Meta(ge=300)] = 9600
    framing: Framing = EIGHT_E_TWO
    end_code: EndCode = EndCode.CR
    any_end: bool = False
    pause_s: Seconds = 0.05
    procedure: Procedure = Procedure.NONE
    must_open: bool = False
    requests_stand: bool = False
    error_digits: Literal[9, 4] = 9
    answer_s: Seconds = 0.01
    servo_on_s: Seconds = 0.6
    servo_off_s: Seconds = 0.3
    boot_s: Seconds = 3.0
    cycle_s: Annotated[float, msgspec.Meta(gt=0.0)] = 0.0071
    slots: Annotated[int, msgspec.Meta(ge=1, le=32)] = 8
    memory_bytes: Annotated[int, msgspec.Meta(ge=0)] = 90_000
    strict: bool = True
    decimals: Annotated[int, msgspec.Meta(ge=0, le=6)] = 2
    status_zeros: bool = False
    error_zeros: bool = True
    small_letters: bool = True
    shows_running: bool = True
    first_position: FirstPosition = FirstPosition.TRUE
    servo_off: ServoOff = ServoOff.STOPS
    after_servo_off: AfterServoOff = AfterServoOff.GOES_ON
    checks_parity: bool = True
    override: Annotated[int, msgspec.Meta(ge=1, le=100)] = 100
    version: str = "Ver.J4"
    series: Series = Series.CRN_500
    robot: str = ""
    controller: str = "CRn-5xx"
    released: str = "03-11-19"
    copyright_years: str = "1999-2003"
    serial_number: str = "1"
    extension: Literal["MB4", "MB5", "MB6"] = "MB4"
    day: int = 0
    arm: ArmModel = ArmModel()
    ethernet: bool = False
    udp_port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 0
    newest_counts: bool = True
