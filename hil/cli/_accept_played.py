"""Who calibrates the fake in a rehearsal without a person: looks at its arm before and after each move, and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hil.cli.calibrate import Person, in_view

if TYPE_CHECKING:
    from hil.model.rig import Rig
    from hil.workbench.calibration import Question

ON = 5
"""So many steps lead from one reference to the next, or fewer."""


class PlayedPerson(Person):
    """Sees what a person would see of a fake, to half a degree, and nothing else of it."""

    def __init__(self) -> None:
        super().__init__()
        self._names: list[str] = []
        self._seen: list[list[float]] = []
        self._tried: tuple[str, float | None, float] | None = None

    def watch(self, rig: Rig, seen: Callable[[], tuple[float, ...]]) -> Callable[[], None]:
        """Look, and remember."""
        tell = super().watch(rig, seen)
        self._names = [axis.name for axis in rig.axes]
        self._seen = [in_view(rig, seen())]

        def look() -> None:
            self._seen.append(in_view(rig, seen()))
            tell()

        return look

    def answer(self, question: Question) -> str:
        """What somebody would say who has looked."""
        self.tell(question.text)
        answer = self._answer(question)
        self.tell(f"> {answer}")
        return answer

    def continues(self, saved: str, finished: int, joints: int) -> bool:
        """A rehearsal begins anew."""
        return False

    def begins_anew(self) -> bool:
        """Whatever was there."""
        return True

    def _answer(self, question: Question) -> str:
        if question.kind == "which":
            moved = [abs(now - before) for now, before in zip(*self._last_two(), strict=True)]
            most = max(range(len(moved)), key=moved.__getitem__)
            return self._names[most] if moved[most] > 0.0 else "none"
        if question.kind == "direction":
            before, now = (view[self._names.index(question.axis)] for view in self._last_two())
            return "+" if now > before else "-"
        if question.kind == "measure":
            return self._measured(question)
        return {"horn": "off", "place": "go"}.get(question.kind, "yes")

    def _last_two(self) -> tuple[list[float], list[float]]:
        return self._seen[max(len(self._seen) - 2, 0)], self._seen[-1]

    def _measured(self, question: Question) -> str:
        here = self._seen[-1][self._names.index(question.axis)]
        state = (question.axis, question.reference, here)
        if question.steps == 0 or state == self._tried:  # it is there, or gets no further
            return f"= {here:g} go {ON}"
        self._tried = state
        return f"go {question.steps}"
