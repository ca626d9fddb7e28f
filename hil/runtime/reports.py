"""Which of a controller's reports counts where a single one will not do."""

from __future__ import annotations

from hil.types import JointState


class AgreedReport:
    """Keeps the newest report that says the same as the one before it; a single one may be a garbled byte.

    Args:
        step: per axis, how coarse a reported position is.
    """

    def __init__(self, step: tuple[float, ...]) -> None:
        self.step = step
        self._newest: JointState | None = None
        self._before: JointState | None = None

    def take(self, report: JointState | None) -> None:
        """What the link reports in this tick, new or not."""
        if report is not self._newest:
            self._newest, self._before = report, self._newest

    @property
    def agreed(self) -> JointState | None:
        """The newest report if it says the same as the one before it, else None; nobody asks while the arm streams."""
        report, before = self._newest, self._before
        return report if report is not None and before is not None and self._agree(report, before) else None

    def _agree(self, report: JointState, before: JointState) -> bool:
        for a, b, step in zip(report.positions, before.positions, self.step, strict=True):
            if a is None or b is None:
                if a is not b:
                    return False
            elif abs(a - b) > step:
                return False
        return True
