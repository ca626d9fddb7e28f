"""The self-test that an arm makes now, if it makes one: followed to its end, and told to everybody and to the books."""

from __future__ import annotations

from hil.model.rig import Rig
from hil.service.arm_channel import ArmReport
from hil.service.arm_loop import ArmLoop
from hil.service.audit import Deed
from hil.service.house import Books
from hil.service.open_channels import OpenChannels
from hil.service.self_test import Ending, Outcome, RunningTest
from hil.service.uploads import UploadVerdict as Preview
from hil.service.wire import NoticeKind


class CurrentSelfTest:
    """One arm's.

    Args:
        arm: its name.
        rig: what it is.
        loop: that makes it.
        channels: everybody at the arm.
        books: where the results are kept.
    """

    def __init__(self, arm: str, rig: Rig, loop: ArmLoop, channels: OpenChannels, books: Books) -> None:
        self._arm, self._rig, self._loop, self._channels, self._books = arm, rig, loop, channels, books
        self._test: RunningTest | None = None

    @property
    def under_way(self) -> bool:
        """Whether there is one that has not ended."""
        return self._test is not None

    def begin(self, preview: Preview) -> None:
        """Its motion was handed to the loop."""
        self._test = RunningTest(self._rig, preview.start, preview.digest)

    def take(self, report: ArmReport, now_s: float, trouble: str) -> None:
        """A report came; `trouble` are the words of the arm's fault, empty without one."""
        if self._test is None:
            return
        stopped = bool(self._loop.called_off)
        outcome = self._test.take(report, now_s, trouble, settled=self._loop.settled, called_off=stopped)
        if outcome is not None:
            self._ended(outcome)

    def lost(self, words: str) -> None:
        """The arm is gone."""
        if self._test is not None:
            ending = Ending.BROKEN_OFF if self._loop.called_off else Ending.FAILED
            self._ended(Outcome(ending=ending, words=f"the arm was lost: {words}"))

    def _ended(self, outcome: Outcome) -> None:
        self._test = None
        ending = outcome.ending.value
        self._books.tested(self._arm, outcome)
        self._channels.tell(NoticeKind.SELF_TEST, f"self-test {ending}{outcome.words and ': '}{outcome.words}")
        self._books.note(Deed(who="", what="self test", verdict=ending, arm=self._arm, detail=outcome.words))
