"""A window whose own service has ended offers to start it again, says why it did not, makes room for another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from qt_ready import require_qt

require_qt()

from hil.dashboard.restart import LOOK_EVERY_MS, Restart  # noqa: E402
from hil.errors import LinkError  # noqa: E402

Make = Callable[..., Any]


class Service:
    """One that does as it is told."""

    def __init__(self) -> None:
        self.ended = False
        self.begun = 0
        self.there = False
        self.trouble = ""

    def begin(self) -> None:
        self.begun += 1
        self.ended = False

    def ready(self) -> bool:
        if self.trouble:
            raise LinkError(self.trouble)
        return self.there


@pytest.fixture
def bench(make_bench: Make) -> Any:
    bench = make_bench()
    bench.service = Service()
    bench.restart = Restart(bench.service, bench.session, bench.window)
    bench.run(0.1)
    bench.window.show()
    return bench


def offered(bench: Any) -> bool:
    return bool(bench.window.banner.offered.isVisible())


def ends(bench: Any, qtbot: Any) -> None:
    bench.service.ended = True
    bench.link.lose()
    qtbot.waitUntil(lambda: offered(bench), timeout=20 * LOOK_EVERY_MS)


def test_a_line_that_is_lost_to_a_service_that_lives_offers_nothing(bench: Any) -> None:
    bench.link.lose()
    bench.restart.look()
    assert not offered(bench)


def test_a_service_that_has_ended_is_started_again_by_one_button(bench: Any, qtbot: Any) -> None:
    ends(bench, qtbot)
    assert bench.window.banner.offered.text() == "Start it again"
    assert "nothing is known of the arm" in bench.window.banner.text.text()
    assert bench.service.begun == 0
    bench.window.banner.offered.click()
    assert bench.service.begun == 1 and not offered(bench)
    assert not bench.restart.wanted
    bench.service.there = True
    qtbot.waitUntil(lambda: not bench.window.isVisible(), timeout=20 * LOOK_EVERY_MS)
    assert bench.restart.wanted


def test_one_that_does_not_start_says_why_and_is_offered_again(bench: Any, qtbot: Any) -> None:
    ends(bench, qtbot)
    bench.service.trouble = "the local service did not start: /dev/ttyUSB0: no such port"
    bench.window.banner.offered.click()
    qtbot.waitUntil(lambda: offered(bench), timeout=20 * LOOK_EVERY_MS)
    assert "no such port" in bench.window.banner.text.text()
    assert not bench.restart.wanted and bench.window.isVisible()
    bench.service.trouble, bench.service.there = "", True
    bench.window.banner.offered.click()
    qtbot.waitUntil(lambda: bench.restart.wanted, timeout=20 * LOOK_EVERY_MS)
    assert bench.service.begun == 2


def test_after_a_start_that_failed_nothing_goes_on_without_a_press(bench: Any, qtbot: Any) -> None:
    ends(bench, qtbot)
    bench.service.trouble = "it did not answer"
    bench.window.banner.offered.click()
    qtbot.waitUntil(lambda: offered(bench), timeout=20 * LOOK_EVERY_MS)
    bench.service.trouble, bench.service.there = "", True
    bench.link.lose("nobody answers at the address")
    qtbot.wait(3 * LOOK_EVERY_MS)
    assert not bench.restart.wanted and bench.window.isVisible() and offered(bench)


def test_what_goes_wrong_meanwhile_leaves_the_offer_where_it_is(bench: Any, qtbot: Any) -> None:
    ends(bench, qtbot)
    bench.window.banner.say("a stop could not be sent")
    assert offered(bench)
    bench.window.banner.hide()
    bench.window.banner.say("another thing")
    assert offered(bench)
