"""What a lab knows of an arm whose servo supply was cut: nothing that was echoed."""

from __future__ import annotations

from virtual_session import Session

from hil.service.arm_worker import Reports
from hil.types import Mode, Supply, SupplyCut


def test_after_a_cut_no_position_counts_as_commanded_any_more() -> None:
    session = Session()
    reports = Reports(session.rig)
    session.to(Mode.IDLE)
    for record in session.records:
        reports.take(record)
    before = reports.report(0.0)
    assert before is not None and None not in before.commanded
    reports.take(session.tick(SupplyCut(by="ann")))
    after = reports.report(0.1)
    assert after is not None and after.commanded == (None,) * 6
    assert reports.supply is Supply.CUT and after.mode is Mode.FAULT
    assert "ann says that the servo supply was cut" in " ".join(after.events)
