"""The line to a simulated arm: what may leave, when the wire is free, and which answer belongs to which question."""

from __future__ import annotations

from drivers._line_counts import LineCounts
from drivers._simulated_codec import LONGEST_LINE, Greeting, Report, framed, greeting, report, unframed
from hil.errors import LinkOverrun
from hil.link import BytePort

BAUD = 230_400
BITS_PER_BYTE = 10
REPORT_PERIOD_S = 0.02
ANSWER_S = 0.05
"""So late an answer is overdue; after twice this it is asked for anew."""
END = b"\n"


def wire_s(count: int) -> float:
    """Time that so many bytes take."""
    return count * BITS_PER_BYTE / BAUD


class SimulatedLine:
    """An open port, with our own account of the wire's time.

    Args:
        port: just opened.
        name: of the port, for messages.
        axes: how many positions a report has.

    Attributes:
        counts: questions and what became of them.
        overdue_s: when the answer was due that is waited for now; None while none is late.
        asked_s: when the newest question reached the controller.
        free_s: when everything written so far has left.
    """

    def __init__(self, port: BytePort, name: str, axes: int) -> None:
        self.counts = LineCounts()
        self.overdue_s: float | None = None
        self.asked_s = float("-inf")
        self._port, self._name, self._axes = port, name, axes
        self._question: int | None = None
        self._heard = b""
        self.free_s = float("-inf")
        self._torn = False

    def close(self) -> None:
        """Let go of the port."""
        self._port.close()

    def send(self, text: str, now_s: float) -> None:
        """Write one line, whatever still waits to leave.

        Raises:
            LinkOverrun: the port did not take all of it.
            LinkClosed: the port is gone.
        """
        # Part of a line may have left: it is ended, so that this one is whole.
        data = END * self._torn + framed(text)
        self._torn = True
        self._port.write(data, now_s)
        self._torn = False
        self.free_s = max(now_s, self.free_s) + wire_s(len(data))

    def send_move(self, text: str, now_s: float) -> None:
        """Write one line, if no more than one such line still waits to leave; errors as for `send`."""
        busy_s, one_s = self.free_s - now_s, wire_s(len(framed(text)))
        if busy_s > one_s:
            raise LinkOverrun(
                f"{self._name}: the line needs another {busy_s * 1000:.1f} ms for what was sent before; "
                f"allowed: one move in flight, {one_s * 1000:.1f} ms",
                self._name,
            )
        self.send(text, now_s)

    def ask(self, now_s: float) -> None:
        """Ask where the arm is when it is time, and not before the last answer or its time is up; errors as `send`."""
        waits_s = now_s - self.asked_s
        if self._question is not None and waits_s > ANSWER_S:
            self.overdue_s = self.asked_s + ANSWER_S
            if waits_s <= 2.0 * ANSWER_S:
                return
            self.counts.lost += 1
        elif self._question is not None or waits_s < REPORT_PERIOD_S:
            return
        number = self.counts.questions + 1
        self.send(f"ASK {number}", now_s)
        self.counts.questions = self._question = number
        self.asked_s = self.free_s

    def receive(self, now_s: float) -> list[Greeting | Report]:
        """What has arrived that means something: greetings, and the answer to the newest question.

        Raises:
            LinkClosed: the port is gone.
        """
        *lines, self._heard = (self._heard + self._port.read(now_s)).split(END)
        if len(self._heard) > LONGEST_LINE:
            self.counts.noise_bytes += len(self._heard)
            self._heard = b""
        found = [self._meaning(line) for line in lines]
        return [each for each in found if each is not None]

    def _meaning(self, line: bytes) -> Greeting | Report | None:
        words = (unframed(line) or "").split()
        said = greeting(words) or report(words, self._axes)
        if said is None:
            self.counts.noise_bytes += len(line) + 1
        if not isinstance(said, Report):
            return said
        if said.number != self._question:
            self.counts.late += 1
            return None
        self._question = self.overdue_s = None
        return said
