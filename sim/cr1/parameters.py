"""Parameters of the CR1 as PNR and PRM read and write them; most count from the next power-up on."""

from __future__ import annotations

from collections.abc import Sequence

from sim.cr1.requests import EndCode, Procedure, RefusedRequest
from sim.cr1.settings import Cr1Settings, Series
from sim.uart import Framing, Parity

HIDDEN = frozenset({"MEJAR", "USRORG"})
"""Shown by PNR only behind the keyword."""

EMULATED = {"CPRC232": ("0", "2")}
"""The ENQ/ACK procedure is not emulated."""

LANGUAGES = {Series.CRN_500: "1", Series.CR_750: "2"}
"""RLNG: MELFA-BASIC IV or V; neither Movemaster nor another than the factory's is emulated."""

NETWORK = {
    "NETIP": ["192.168.0.1"],
    "NETMSK": ["255.255.255.0"],
    "NETPORT": [str(port) for port in range(10000, 10010)],
    "NETMODE": ["1"] * 9,
    "NETTERM": ["0"] * 9,
    "CPRCE11": ["0"],
    "CTERME11": ["0"],
}
"""Of the Ethernet card: a server on each of nine ports; what follows does not move the port that the fake serves."""

FRAMES = frozenset({"MEXTL", "MEXBS"})

_PARITIES = (Parity.NONE, Parity.ODD, Parity.EVEN)
_LONGEST_VALUE = 200


class Parameters:
    """Values as text, by name.

    Attributes:
        keyword: the hidden level is open.
    """

    def __init__(self, settings: Cr1Settings) -> None:
        self.keyword = False
        self._values = _factory(settings)
        self._factory = dict(self._values)

    def show(self, name: str, *, everything: bool) -> str:
        """``<name>;<value>;<count>``.

        Args:
            name: which.
            everything: also those behind the keyword.

        Raises:
            RefusedRequest: C7080, there is none, or it is hidden.
        """
        if name not in self._values or (name in HIDDEN and not everything and not self.keyword):
            raise RefusedRequest(7080)
        values = self._values[name]
        return f"{name};{', '.join(values)};{len(values)}"

    def write(self, name: str, text: str) -> None:
        """Set one.

        Raises:
            RefusedRequest: C7081, unknown, another number of values, or not a number where one was, or what this
                controller in software cannot be.
        """
        old = self._values.get(name)
        new = [part.strip() for part in text.split(",")]
        if old is None or len(new) != len(old) or len(text) > _LONGEST_VALUE:
            raise RefusedRequest(7081)
        if any(_is_number(was) and not _is_number(now) for was, now in zip(old, new, strict=True)):
            raise RefusedRequest(7081)
        fixed = EMULATED | {"RLNG": tuple(self._factory["RLNG"])}
        if name in fixed and new[0] not in fixed[name]:
            raise RefusedRequest(7081, detail="not emulated")
        if name in FRAMES and any(float(value) for value in new[3:5]):
            raise RefusedRequest(7081, detail="five axes cannot show a frame tilted by A or B")
        self._values[name] = new

    def keep_frame(self, name: str, members: Sequence[float]) -> None:
        """What TOOL or BASE has set."""
        self._values[name] = [f"{value:.2f}" for value in members]

    def undo(self, name: str) -> None:
        """Back to the factory's value."""
        if name not in self._values:
            raise RefusedRequest(7081)
        self._values[name] = self._factory[name]

    def undo_all(self) -> None:
        """All of them."""
        self._values = dict(self._factory)

    def texts(self, name: str) -> list[str]:
        """The values of one, as they are written."""
        return list(self._values[name])

    def numbers(self, name: str) -> list[float]:
        """The values of one."""
        return [float(value) for value in self._values[name]]

    # What a power-up takes from here.

    @property
    def baud(self) -> int:
        """CBAU232."""
        return max(int(self.numbers("CBAU232")[0]), 300)

    @property
    def framing(self) -> Framing:
        """CPRTY232 and CSTOP232."""
        parity, stop_bits = int(self.numbers("CPRTY232")[0]), int(self.numbers("CSTOP232")[0])
        return Framing(_PARITIES[parity] if 0 <= parity <= 2 else Parity.EVEN, 1 if stop_bits == 1 else 2)

    @property
    def procedure(self) -> Procedure:
        """CPRC232."""
        return Procedure(int(self.numbers("CPRC232")[0]))

    @property
    def end_code(self) -> EndCode:
        """CTERM232."""
        return EndCode.CR_LF if self.numbers("CTERM232")[0] else EndCode.CR


def _factory(settings: Cr1Settings) -> dict[str, list[str]]:
    arm = settings.arm
    lower, upper = _eight(arm.lower_deg), _eight(arm.upper_deg)
    ranges = [f"{value:.2f}" for pair in zip(lower, upper, strict=True) for value in pair]
    return {
        "CBAU232": [str(settings.baud)],
        "CPRTY232": [str(_PARITIES.index(settings.framing.parity))],
        "CSTOP232": [str(settings.framing.stop_bits)],
        "CTERM232": ["1" if settings.end_code is EndCode.CR_LF else "0"],
        "CPRC232": [str(settings.procedure.value)],
        "RLNG": [LANGUAGES[settings.series]],
        "TASKMAX": [str(settings.slots)],
        "MEJAR": ranges,
        "MEPAR": ["-10000.00", "10000.00"] * 3,
        "MEXTL": ["0.00"] * 6,
        "MEXBS": ["0.00"] * 6,
        "USRORG": ["0.00"] * 8,
        "JSAFE": [f"{value:.2f}" for value in _eight(arm.safe_deg)],
        "HANDTYPE": ["D900", "D902", "D904", "D906", "", "", "", ""],
        "HANDINIT": ["1", "0"] * 4,
        "JOGJSP": [f"{value:.2f}" for value in arm.inch_deg],
        "JOGPSP": [f"{value:.2f}" for value in arm.inch_mm],
        "JOGSPMX": ["250.00"],
        "PRGMDEG": ["0"],
        "PRGUSR": [""],
        "RETPATH": ["1"],
        "MXTTOUT": ["-1"],
        "AUTOENA": ["-1", "-1"],
    } | (NETWORK if settings.ethernet else {})


def _eight(five: Sequence[float]) -> tuple[float, ...]:
    """In the places of J1 to J8."""
    j1, j2, j3, j5, j6 = five
    return (j1, j2, j3, 0.0, j5, j6, 0.0, 0.0)


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < 1e9
    except ValueError:
        return False
