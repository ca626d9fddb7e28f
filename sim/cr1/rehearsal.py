"""What the first requests of a process would wait for, done before: the grammar is read, and a move is planned."""

from __future__ import annotations

from functools import cache

from sim.cr1.controller import Cr1

REQUESTS = (
    *("OPEN=REHEARSAL", "CNTLON", "SRVON", "STATE", "DSTATE", "JPOSF", "PPOSF", "PARMEXTL", "PDIRTOP", "ERRORLOGTOP"),
    *("EXECM1=1", "EXECOVRD 50", "EXECMOV (250,0,450,0,180)(6,0)", "STOP", "RUNA;1", "HOTA;J1=(0,0,90,0,90,0)", "STOP"),
    *("SLOTINIT", "MOVSP", "STOP", "JOG00;00;00;01;00", "VALP_CURR;P", "LOAD=B", "EDATA10 MVS P1", "LISTLTOP", "NEW"),
)
PROGRAM = "10 MOV J1\n20 MVS P1\n30 END\nJ1=(1,0,90,0,90,0)\nP1=(170,0,478,0,180)(6,0)"
WAIT_S = 1.0


@cache
def rehearse() -> None:
    """Ask a controller of its own what clients ask first; once per process."""
    cr1 = Cr1(programs={"A": PROGRAM})
    cr1.join_network()
    for number, request in enumerate(REQUESTS):
        cr1.receive(f"1;1;{request}\r".encode("ascii"), number * WAIT_S, cr1.byte_s)
        cr1.transmit((number + 1) * WAIT_S)
