"""What the controller may be set to, and what is not known of it: every number here can be chosen."""

from __future__ import annotations

from hil.types import Record


class Settings(Record, frozen=True):
    """How the interpreter behaves where the language leaves it open.

    Attributes:
        statements_per_tick: statements done between two samples; a loop without a move or a wait goes on in the next.
        degrees_in_components: parameter PRGMDEG: ``P1.A`` is in degrees, not radians.
        stack_depth: GOSUBs within each other before error 3100.
        panel_override: percent, over OVRD.
        fine_settle_s: how long FINE waits at the end of a move.
        rest_s: how long every move that does not run into the next one is followed by rest, beyond FINE.
        servo_on_s: from SERVO ON to M_SVO=1.
        safe_deg: P_SAFE as joint angles (parameter JSAFE), in the eight places of a joint set.
        arch_mm: how far MVA lifts where no DEF ARCH says it.
        refuse_overspeed: a SPD that a joint cannot keep is error H213n, as on the controller; else the move is slower.
        random_seed: where RND begins.
        start_epoch_s: what C_TIME and C_DATE count from, seconds since 1970-01-01.
    """

    statements_per_tick: int = 20
    degrees_in_components: bool = False
    stack_depth: int = 100
    panel_override: int = 100
    fine_settle_s: float = 0.1
    rest_s: float = 0.0
    servo_on_s: float = 0.5
    safe_deg: tuple[float, ...] = (0.0, 0.0, 90.0, 0.0, 90.0, 0.0)
    arch_mm: float = 50.0
    refuse_overspeed: bool = False
    random_seed: int = 1
    start_epoch_s: float = 0.0
