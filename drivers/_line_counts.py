"""What every driver counts on its line, whatever its controller speaks."""

from __future__ import annotations

from hil.types import LineAccount


class LineCounts:
    """Nothing yet; `hil.types.LineAccount` says what each number means.

    Attributes:
        questions, late, lost, noise_bytes: whoever owns the line counts them up.
    """

    __slots__ = ("_account", "_told", "late", "lost", "noise_bytes", "questions")

    def __init__(self) -> None:
        self.questions = self.late = self.lost = self.noise_bytes = 0
        self._told: tuple[float | None, ...] = ()
        self._account = LineAccount()

    def account(
        self,
        believed_s: float | None,
        overdue_s: float | None,
        wrong_echoes: int = 0,
        doubtful_s: float | None = None,
        delayed_s: float = 0.0,
    ) -> LineAccount:
        """All of it, with what else is known of the reports; the same record while nothing is new."""
        told = (
            believed_s,
            overdue_s,
            self.questions,
            self.late,
            self.lost,
            self.noise_bytes,
            wrong_echoes,
            doubtful_s,
            delayed_s,
        )
        if told != self._told:
            self._told = told
            self._account = LineAccount(
                believed_s=believed_s,
                overdue_s=overdue_s,
                questions=self.questions,
                late=self.late,
                lost=self.lost,
                noise_bytes=self.noise_bytes,
                wrong_echoes=wrong_echoes,
                doubtful_s=doubtful_s,
                delayed_s=delayed_s,
            )
        return self._account
