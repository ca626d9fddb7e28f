"""What whoever asked is told of it, and what the audit keeps of who asked for what."""

from __future__ import annotations

from hil.clock import monotonic_s
from hil.refusal import Refusal
from hil.service import wire
from hil.service.audit import Deed
from hil.service.channel import Channel
from hil.service.doors import Visitor
from hil.service.gate import GateVerdict
from hil.service.house import Books


class Answers:
    """The answers of one arm's desk.

    Args:
        arm: its name.
        books: where the audit is.
    """

    def __init__(self, arm: str, books: Books) -> None:
        self._arm, self._books = arm, books

    def accept(
        self, channel: Channel, message: wire.ClientMessage, verdict: GateVerdict, text: str, digest: str = ""
    ) -> None:
        """It is done, or begun.

        Args:
            channel: that asked.
            message: what was asked.
            verdict: of the gate.
            text: words for the answer.
            digest: of the motion that was planned for it.
        """
        moves = isinstance(message, wire.Command)
        share = verdict.speed_share if moves else None
        channel.send(wire.Accepted(to=message.seq, now_s=monotonic_s(), speed_share=share, text=text))
        if isinstance(message, wire.ArmMotion | wire.Start):
            digest = message.digest
        if not isinstance(message, wire.Watch):
            # By the digest, what somebody did is found again in the journal of the motion.
            # Each axis is a deed of its own: the same deed again within a second would only be counted.
            which = f" {message.axis}" if isinstance(message, wire.GoLimp) else ""
            self.note(channel.visitor, f"{_name(message)}{which}", "done", digest)

    def refuse(
        self, channel: Channel, message: wire.ClientMessage, verdict: GateVerdict, findings: tuple[Refusal, ...] = ()
    ) -> None:
        """It is not done; `findings` say what a preview has found."""
        assert verdict.code is not None
        channel.send(
            wire.Refused(
                to=message.seq,
                now_s=monotonic_s(),
                code=verdict.code,
                reason=verdict.reason,
                missing=verdict.missing,
                findings=findings,
            )
        )
        # The code alone: the words may name people, whom the audit could not forget.
        self.note(channel.visitor, _name(message), "refused", verdict.code.value)

    def note(self, visitor: Visitor, what: str, verdict: str, detail: str = "") -> None:
        """Write into the audit what a visitor did."""
        self._books.note(
            Deed(
                who=visitor.who,
                role=visitor.grant.role.value,
                what=what,
                verdict=verdict,
                arm=self._arm,
                origin=visitor.origin,
                detail=detail,
            )
        )


def _name(message: wire.ClientMessage) -> str:
    return str(message.__struct_config__.tag).replace("_", " ")
