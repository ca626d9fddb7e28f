"""What a line that is no statement was probably meant to be: a word misspelt, one of another language or controller."""

from __future__ import annotations

import difflib
import re

STATEMENTS = (
    "ACCEL", "ACT", "BASE", "BREAK", "CALLP", "CASE", "CAVCHK", "CHRSRCH", "CLOSE", "CLR", "CMP", "CMPG", "CNT",
    "COLCHK", "COLLVL", "COM", "CONST", "DEF", "DEFAULT", "DIM", "DLY", "ELSE", "ELSEIF", "END", "ENDIF", "ERROR",
    "FINE", "FOR", "FPRM", "GETM", "GOSUB", "GOTO", "HCLOSE", "HLT", "HOPEN", "IF", "INPUT", "JOVRD", "JRC",
    "LOADSET", "MOV", "MVA", "MVC", "MVR", "MVR2", "MVR3", "MVS", "MVTUNE", "NEXT", "OADL", "ON", "OPEN", "OVRD",
    "PREC", "PRINT", "PRIORITY", "RELM", "REM", "RESET ERR", "RETURN", "SELECT", "SERVO", "SKIP", "SPD", "SPDOPT",
    "TITLE", "TOOL", "TORQ", "WAIT", "WEND", "WHILE", "XCLR", "XLOAD", "XRST", "XRUN", "XSTP",
)  # fmt: skip
"""Words that a statement may begin with."""

OTHER_WORDS: dict[str, tuple[str, ...]] = {
    "MOVE": ("MOV", "MVS"),
    "MOVEJ": ("MOV",),
    "PTP": ("MOV",),
    "MOVEL": ("MVS",),
    "MOVES": ("MVS",),
    "LIN": ("MVS",),
    "MOVEC": ("MVR", "MVC"),
    "CIRC": ("MVR", "MVC"),
    "DELAY": ("DLY",),
    "SLEEP": ("DLY",),
    "TIME": ("DLY",),
    "TIMER": ("DLY",),
    "SPEED": ("SPD", "OVRD"),
    "OVERRIDE": ("OVRD",),
    "VEL": ("SPD", "OVRD"),
    "GRIP": ("HCLOSE",),
    "GRASP": ("HCLOSE",),
    "RELEASE": ("HOPEN",),
    "STOP": ("HLT", "END"),
    "HALT": ("HLT",),
    "PAUSE": ("HLT",),
    "EXIT": ("END", "BREAK"),
    "CALL": ("CALLP", "GOSUB"),
    "GO": ("GOTO",),
    "JUMP": ("GOTO",),
    "JMP": ("GOTO",),
    "GS": ("GOSUB",),
    "GT": ("GOTO",),
    "MO": ("MOV",),
    "MS": ("MVS",),
    "GC": ("HCLOSE",),
    "WAITFOR": ("WAIT",),
    "SWITCH": ("SELECT",),
    "ENDWHILE": ("WEND",),
    "ENDFOR": ("NEXT",),
    "ENDSELECT": ("END SELECT",),
    "ELSIF": ("ELSEIF",),
    "ELIF": ("ELSEIF",),
    "LET": ("a variable and =",),
}
"""Words of other robots' languages, of Movemaster and of other Basics, and what says the same here."""

OTHER_CONTROLLERS = (
    (r"(DEF\s+)?(FS\w*|FC\w*|M_FS\w*|P_FS\w*)", "force control"),
    (r"(DEF\s+MOTRG|SETMOTRG)", "a trigger for force control"),
    (r"(TRK\w*|TRBASE|TRCLR|TROUT|TRRD|TRWRT)", "tracking of a conveyor"),
    (r"(NV\w+|V3\w+|EBREAD|EBWRITE)", "a vision sensor"),
    (r"EH(OPEN|CLOSE|MOV|HOLD|ORG|STOP|TBL|SERVO)", "an electric hand"),
    (r"(EMVS|EMVC|EMVR\d?|EMVSPL)", "moves about a point outside"),
    (r"(MVSPL|SPLWRT|SPLFWRT)", "splines"),
    (r"(DEF\s+GPS|DEF\s+MAP|GPSCHK)", "positions caught by a signal"),
    (r"(MXT|BRKLOCK|SETCALFRM|PICHNG)", "a statement of later controllers"),
)
"""What later controllers have, and what cannot be left out of a program: the arm would go elsewhere."""

OTHER_SIGNS = {
    ";": "one statement stands on a line, and nothing ends it",
    "!": "unequal is <>",
    "\u2018": "a comment begins with the straight '",
    "\u2019": "a comment begins with the straight '",
    "\u00b4": "a comment begins with the straight '",
    "\u201c": 'a text stands in straight "',
    "\u201d": 'a text stands in straight "',
    "{": "brackets are ( and )",
    "[": "brackets are ( and )",
}

MOST_MEANT = 2


def of_another_controller(code: str) -> str:
    """What a statement in upper case belongs to that this controller lacks; empty for none."""
    for words, what in OTHER_CONTROLLERS:
        if re.match(rf"{words}\b", code):
            return what
    return ""


def meant(word: str) -> tuple[str, ...]:
    """The statements that a word in upper case was probably meant to be, the likeliest first."""
    if word in OTHER_WORDS:
        return OTHER_WORDS[word]
    return tuple(difflib.get_close_matches(word, STATEMENTS, n=MOST_MEANT, cutoff=0.7))


def sign(found: str) -> str:
    """What is written here instead of a sign; empty where nothing is known."""
    return OTHER_SIGNS.get(found, "")
