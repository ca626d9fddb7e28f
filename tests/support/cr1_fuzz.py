"""Random bytes, requests and hands on the panel against the emulated CR1, and what has to hold whatever they are."""

from __future__ import annotations

import math
import random

from hil.program.rv2aj import LOWER_DEG, UPPER_DEG
from sim.cr1 import Cr1, Cr1Settings, EndCode, Face, Power, Procedure, Stop
from sim.cr1.commands import TABLE

PROGRAMS = {
    "MOVES": "10 MOV J1\n20 MVS P1\n30 DLY 0.1\n40 MOV J2\n50 GOTO 10\nJ1=(20,10,80,0,60,0)\nJ2=(0,0,90,0,60,0)\n"
    "P1=(260,40,450,0,170)(6,0)\n",
    "LINK": '10 OPEN "COM1:" AS #1\n20 INPUT #1,M1,M2\n30 PRINT #1,M1/M2\n40 J1=(0,0,90,0,60,0)\n50 J1.J1=RAD(M1)\n'
    "60 MOV J1\n70 GOTO 20\n",
    "CALC": "10 FOR M1=1 TO 10\n20 P2=P1*(0,0,M1,0,0,0)\n30 C1$=STR$(P2.X)\n"
    "40 NEXT M1\n45 DLY 0.2\n50 END\nP1=(300,0,450,0,180)(6,0)\n",
    "SPIN": "10 GOTO 10\n",
}
ARGUMENTS = (
    "MOVES", "LINK;1", "CALC", "SPIN;0", "TOP", "+1", "-1", "END", "1", "0", "10", "99", "-5", "00;00;01;00;00",
    "01;00;00;04;00;00", "00;00;00;21;01", "M1=1", "J1=(0,10,80,0,60,0)", "P1=(250,0,450,0,180)(6,0)", "MOV J1",
    "MOV P1", "MVS P1,-50", "MVS (1,2,3)", "MOV (250,0,450,0,180)(6,0)", "DLY 0.5", "OVRD 30",
    "TOOL (0,0,50,0,0,0)",
    "TOOL (0,0,0,0,30,0)", "HCLOSE 1", "SERVO OFF", "SERVO ON", "END", "HLT", "GOTO 10", "RETURN", "ERROR 9001",
    "WAIT M_IN(1)=1", "10 MOV P1", "20 GOTO 10", "30 END", "40 FOO BAR(", "MOVES;J1=(10,10,80,0,60,0,)", "MOVES;M1=5",
    "CBAU232;9600", "MEXTL;0,0,10,0,0,0", "MEXTL", "M1;M", "<;P", ">;J", "+1;C", "MOVES;r", "NEWFILE;w", "3;414243",
    "5;00FF", "0;0", "A;B", "MOVES;COPY", "10;50", "0;0;0;0", "M1=1/0", "M1=SQR(-1)", "M1=10^400", "C1$=CHR$(999)",
    "P1=P1*P2", "J1=J1/0", "DIM M3(5)", "M3(9)=1", "P9.X=1", "M_OUT(5)=1 DLY 0.1", "MVR P1,P1,P1", "MVC P1,P2,P1",
    "CNT 1",
)  # fmt: skip
QUIET_S = 5.0


class BrokenError(AssertionError):
    """Something that has to hold did not."""


class Fuzzer:
    """One life of a controller.

    Args:
        seed: of everything random; the same seed does the same.
    """

    def __init__(self, seed: int) -> None:
        self._rng = rng = random.Random(seed)
        end = rng.choice([EndCode.CR, EndCode.CR, EndCode.CR_LF])
        self.cr1 = Cr1(
            Cr1Settings(
                face=rng.choice(list(Face)),
                baud=rng.choice([9600, 38400, 115200]),
                end_code=end,
                any_end=rng.random() < 0.3,
                procedure=rng.choice([Procedure.NONE] * 5 + [Procedure.DATA_LINK]),
                strict=rng.random() < 0.7,
                boot_s=0.5,
            ),
            programs=PROGRAMS,
        )
        self.now_s = 0.0
        self.sent = bytearray()
        self._last_end_s = 0.0
        self.heard = bytearray()
        for request in ("OPEN=FUZZ", "CNTLON", "SRVON"):
            self._say(f"1;1;{request}\r".encode())
        self._wait(1.0)

    def run(self, steps: int) -> None:
        """So many random things, then the question whether it is still alive."""
        for _ in range(steps):
            self._step()
        self._end()

    def _step(self) -> None:
        rng = self._rng
        draw = rng.random()
        if draw < 0.15:
            self._recover()
        elif draw < 0.86:
            self._say(self._request())
        elif draw < 0.91:
            self._say(rng.randbytes(rng.choice([1, 5, 40, 300])) + rng.choice([b"\r", b"", b"\n", b"\r\n"]))
        elif draw < 0.96:
            self._say(f"PRN {rng.choice(['1,2', '5,0', 'a,b', '(1,2,3),4', '', '1,2,3', '1e999,1'])}\r".encode())
        else:
            self._panel()
        self._wait(rng.choice([0.0, 0.01, 0.1, 0.3, 1.0]))

    def _recover(self) -> None:
        """As a patient person would."""
        self.cr1.turn_key(self.now_s, teach=False)
        self.cr1.enable_teach_box(self.now_s, False)
        self.cr1.take_right(self.now_s, False)
        self.cr1.hang(self.now_s, False)
        for stop in Stop:
            self.cr1.press(stop, self.now_s, False)
        for request in ("OPEN=FUZZ", "RSTALRM", "CNTLON", "SRVON"):
            self._say(f"1;1;{request}\r".encode())
        self._wait(1.0)

    def _request(self) -> bytes:
        rng = self._rng
        word = (
            rng.choice(list(TABLE)) if rng.random() < 0.6 else rng.choice(["EXEC", "RUN", "EDATA", "HOT", "JOG", "VAL"])
        )
        text = f"{rng.choice(['1', '', '0', '2'])};{rng.choice(['1', '1', '1', '', '2', '9'])};{word}"
        if rng.random() < 0.75:
            text += rng.choice(ARGUMENTS)
        if rng.random() < 0.3:
            text = f"1;1;{rng.choice(['LOAD=MOVES', 'RUNMOVES', 'RUNLINK', 'RUNCALC', 'STOP', 'SLOTINIT', 'SAVE'])}"
        if rng.random() < 0.7:
            return f"{text}\r".encode("latin-1")
        data = bytearray(text.encode("latin-1"))
        for _ in range(rng.choice([1, 1, 3])):
            place = rng.randrange(len(data) + 1)
            data[place:place] = rng.choice([bytes((rng.randrange(256),)), b";", b",", b"(", b'"', b"\x0b"])
            if data and rng.random() < 0.5:
                del data[rng.randrange(len(data))]
        return bytes(data) + b"\r"

    def _panel(self) -> None:
        cr1, rng, now_s = self.cr1, self._rng, self.now_s
        rng.choice(
            [
                lambda: cr1.turn_key(now_s, teach=rng.random() < 0.3),
                lambda: cr1.enable_teach_box(now_s, rng.random() < 0.3),
                lambda: cr1.press(rng.choice(list(Stop)), now_s, rng.random() < 0.4),
                lambda: cr1.fail(rng.choice([1681, 2131, 2600, 7520]), now_s),
                lambda: cr1.take_right(now_s, rng.random() < 0.3),
                lambda: cr1.hang(now_s, rng.random() < 0.3),
                lambda: cr1.power_cycle(now_s),
                lambda: cr1.cut(now_s),
            ]
        )()

    def _say(self, data: bytes) -> None:
        self.sent += data
        self.cr1.receive(data, self.now_s, self.cr1.byte_s, self.cr1.framing)
        self.now_s += len(data) * self.cr1.byte_s

    def _wait(self, duration_s: float) -> bytes:
        self.now_s += duration_s
        replies = self.cr1.transmit(self.now_s)
        for end_s, data in replies:
            if len(data) != 1 or not self._last_end_s <= end_s <= self.now_s + 1e-9:
                raise BrokenError(f"a reply byte at {end_s} s after one at {self._last_end_s} s, now {self.now_s} s")
            self._last_end_s = end_s
        for angle, lower, upper in zip(self.cr1.joints, LOWER_DEG, UPPER_DEG, strict=True):
            if not (math.isfinite(angle) and lower - 1e-6 <= angle <= upper + 1e-6):
                raise BrokenError(f"joints at {self.cr1.joints}")
        heard = b"".join(data for _, data in replies)
        self.heard += heard
        return heard

    def _end(self) -> None:
        """It still answers, and comes to rest when it is told to."""
        cr1 = self.cr1
        # First of all: what is said to a processor that stands still is lost, and half a request is kept meanwhile.
        cr1.hang(self.now_s, False)
        self._say(b"\r")
        self._wait(QUIET_S)
        if cr1.power is not Power.RUNNING:
            raise BrokenError(f"power is {cr1.power}")
        if cr1.conversation.procedure is Procedure.NONE:
            self._say(b"1;1;STOP\r")
            answered = self._wait(QUIET_S)
            if cr1.in_motion and not answered:
                # EXEC2= has the line until its statement is over; one that waits for ever is ended at the panel.
                cr1.press(Stop.PANEL, self.now_s, True)
                self._wait(QUIET_S)
                cr1.press(Stop.PANEL, self.now_s, False)
            if cr1.in_motion:
                raise BrokenError("it does not stop")
            self._say(b"1;1;DSTATE\r")
            if b"QOK" not in self._wait(QUIET_S).upper():
                raise BrokenError("it does not answer")
