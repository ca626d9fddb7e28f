"""The stream of packets to a CR1 whose program has come to MXT: begun, answered, led, silent, ended.

One packet a tick leads the arm; while nobody leads it, every second tick asks where it is. The controller answers each
packet in its next cycle, and without one it holds. Nothing here is sent unread: the gate looks at every packet.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from drivers._rv2aj_codec import JOINTS
from drivers._rv2aj_control import Control
from drivers._rv2aj_course import Course
from drivers._rv2aj_mxt_codec import END, MOVE, NOTHING, Report, decode_report, encode_packet
from drivers._rv2aj_settings import Rv2ajSettings
from drivers._rv2aj_wire import Wire
from hil.errors import ControllerError, LinkError, LinkOverrun, LinkTimeout

SAID_S = 10.0
"""Silence of the network is told again after this at the earliest."""
BEGINS_S = 3.0
"""From the program's start to the first answer."""
STANDS_DEG = 0.05
"""A controller whose own command stands farther than this from where the arm is measured would make it jump."""
FIRST_DEG = 0.1
"""How far the first packet may lead on top of a step: that, and the rounding of the pose that was confirmed."""
REMEMBERED = 64
"""Packets whose time is kept."""


class MxtStream:
    """Off at first.

    Args:
        settings: when an answer is late.
        wire: the port.
        control: is told when the stream carries.
        course: takes what is reported.
        say: takes words for the user.

    Attributes:
        on: our program was started, and packets are sent to it.
    """

    def __init__(
        self, settings: Rv2ajSettings, wire: Wire, control: Control, course: Course, say: Callable[[str], None]
    ) -> None:
        self._settings, self._wire, self._control, self._course = settings, wire, control, course
        self._say, self._said_s, self.on = say, float("-inf"), False
        self._count = 0
        self._forget(float("-inf"))

    def _forget(self, now_s: float) -> None:
        self._began_s = self._looked_s = now_s
        self._sent_s = float("-inf")
        self._times: OrderedDict[int, float] = OrderedDict()
        self._waiting_s: float | None = None
        self._answered = False

    @property
    def reports(self) -> bool:
        """The joints come by packets now."""
        return self.on and self._answered

    def overdue_s(self, now_s: float) -> float | None:
        """When the answer was due that is waited for; None while none is late."""
        if not self._answered or self._waiting_s is None:
            return None
        due_s = self._waiting_s + self._settings.silent_s
        return due_s if now_s > due_s else None

    def begin(self, now_s: float) -> None:
        """Our program runs: ask where the controller's command stands before anything leads it."""
        self._forget(now_s)
        self.on = True
        self._wire.packet_gate.forget()

    def end(self, now_s: float) -> None:
        """Have the statement end; the arm holds, as it does without packets if this one does not get there."""
        if not self.on:
            return
        self.on = False
        self._control.carry(False)
        self._wire.packet_gate.forget()
        try:
            self._post(END, now_s)
        except LinkError:
            # The stop that goes on the line is the one that counts.
            return

    def look(self, now_s: float) -> None:
        """Take what came, and ask if nothing else was sent lately.

        Raises:
            ControllerError: the controller's command stands away from the arm.
            LinkTimeout: none of our program's packets was ever answered.
            LinkClosed: the network is gone.
        """
        packets = self._wire.take_packets()
        if not self.on:
            return
        for packet in packets:
            self._take(packet, now_s)
        self._judge_silence(now_s)
        if self._sent_s < self._looked_s:
            self._ask(now_s)
        self._looked_s = now_s

    def lead(self, data: bytes, row: int | None, now_s: float) -> None:
        """Send one sample: its joints as a packet has them, and its number if it is of the certified motion.

        Raises:
            CommandError: it may not leave.
            LinkOverrun: the network does not take it now.
            LinkClosed: the network is gone.
        """
        self._wire.packet_gate.expect(row)
        self._post(MOVE, now_s, data)
        self._course.believed.moved = True

    # -- one packet ----------------------------------------------------------------------------------------

    def _ask(self, now_s: float) -> None:
        try:
            self._post(NOTHING, now_s)
        except LinkOverrun:
            # Asked again in the next tick; silence is judged by its time.
            return

    def _post(self, command: int, now_s: float, data: bytes = b"") -> None:
        count = (self._count + 1) & 0xFFFF_FFFF
        self._wire.post(encode_packet(command, count, data), now_s)
        self._count, self._sent_s = count, now_s
        self._times[count] = now_s
        if len(self._times) > REMEMBERED:
            self._times.popitem(last=False)
        if self._waiting_s is None:
            self._waiting_s = now_s

    def _take(self, packet: bytes, now_s: float) -> None:
        try:
            report = decode_report(packet)
        except ControllerError:
            # What does not answer is nothing; silence is judged by its time.
            return
        sent_s = self._times.get(report.number)
        if sent_s is None:
            # Of a packet before this start, or a second copy: it tells nothing of now.
            return
        for count in [count for count in self._times if count <= report.number]:
            del self._times[count]
        self._waiting_s = next(iter(self._times.values()), None)
        self._course.see(report.found, sent_s, halting=self._control.halting)
        if not self._answered:
            self._meet(report)

    def _meet(self, report: Report) -> None:
        """The first answer: from where its command stands the first packet will lead."""
        self._answered = True
        for name, commanded, measured in zip(JOINTS, report.commanded_deg, report.found.joints_deg, strict=True):
            if abs(commanded - measured) > STANDS_DEG:
                raise ControllerError(
                    f"{name}: the controller's own command stands at {commanded:.2f} deg and the arm is measured at "
                    f"{measured:.2f} deg; allowed: {STANDS_DEG:g} deg apart. MXT would make it jump by the difference: "
                    "move this arm in another way (rv2aj, rv2aj-hot, rv2aj-line)"
                )
        self._wire.packet_gate.stands(report.commanded_deg, FIRST_DEG)
        self._control.carry(True)

    def _judge_silence(self, now_s: float) -> None:
        if not self._answered:
            if now_s - self._began_s > BEGINS_S:
                raise LinkTimeout(
                    f"our program runs, and no packet is answered for {BEGINS_S:g} s: look at the network's cable, the "
                    "addresses in the rig (controller.mxt, controller.computer) and a firewall",
                    self._settings.port_url,
                )
            return
        overdue_s = self.overdue_s(now_s)
        if overdue_s is not None and now_s - overdue_s > self._settings.silent_s and now_s - self._said_s > SAID_S:
            self._said_s = now_s
            self._say("no packet is answered any more, and nothing leads the arm: look at the network's cable")
