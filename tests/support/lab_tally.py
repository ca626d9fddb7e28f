"""What came of one run of a lab under load."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Asked:
    """A stop that somebody asked for.

    Attributes:
        at_s: when.
        until_s: when the next motion began.
        budget_ms: what the server promised.
    """

    arm: str
    way: str
    at_s: float
    until_s: float
    budget_ms: float


@dataclass
class Tally:
    """What came of one run.

    Attributes:
        late_s: of every tick in the time that counts, by arm.
        missed: deadlines missed meanwhile, by arm.
        stops: how long each took and what was promised, ms.
        memory: bytes of the server and its children over time.
        frames: of telemetry that the watchers got that read what they get, in all.
        cut: how often the server cut the one that reads nothing.
        at_pages: stops by somebody at a page of a browser, of all.
        let_go: how often such a page has let go of a hold by itself.
    """

    late_s: dict[str, list[float]] = field(default_factory=dict)
    missed: dict[str, int] = field(default_factory=dict)
    stops: list[tuple[Asked, float]] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    frames: int = 0
    cut: int = 0
    at_pages: int = 0
    let_go: int = 0
    trouble: list[str] = field(default_factory=list)

    @property
    def ticks(self) -> int:
        """Of all arms."""
        return sum(map(len, self.late_s.values()))

    @property
    def overruns(self) -> float:
        """Missed deadlines, as a part of all."""
        return sum(self.missed.values()) / max(1, self.ticks)

    @property
    def p99_ms(self) -> list[float]:
        """Lateness that one tick in a hundred exceeds, for each arm."""
        return [1e3 * sorted(values)[int(0.99 * len(values))] for values in self.late_s.values() if values]
