"""What the window says of the servo supply, of what servos carry, and how an arm is let go of from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from qt_ready import obstacle

if why := obstacle():
    pytest.skip(why, allow_module_level=True)

from PySide6.QtWidgets import QApplication, QLabel

from hil.dashboard.power import PowerView
from hil.service.rights import Role
from hil.service.wire import AxisLoad, Holding, LeasePhase, NextLimp
from hil.types import Mode, Supply

BASIS = "an estimate from the masses of robot lynx6, gripper empty"
HELD = Holding(
    now_s=1000.0,
    supply=Supply.ON,
    driven=("shoulder", "elbow"),
    held_s=125.0,
    loads=(
        AxisLoad(axis="shoulder", torque=-0.62, share=0.56, heavy=True),
        AxisLoad(axis="elbow", torque=0.2, share=0.2),
    ),
    basis=BASIS,
    next=NextLimp(axis="elbow", text="The elbow is let go of: it sinks", after=("shoulder",)),
)


class Bench:
    """The view in its window, in front."""

    def __init__(self, bench: Any) -> None:
        self.window, self.link, self.session, self.run = bench.window, bench.link, bench.session, bench.run
        self.view: PowerView = self.window.views["power"]
        self.window.bring(self.window.docks["power"])
        self.link.role, self.link.on_site, self.link.mode = Role.TEACH, True, Mode.HOLDING
        self.link.real = True
        self.link.come_back()
        self.run(0.1)

    def hold(self, **changes: Any) -> None:
        self.link.holding_is(msgspec.structs.replace(HELD, **changes))
        self.look()

    def look(self) -> None:
        self.run(0.1)
        self.view.refresh()
        QApplication.processEvents()

    def drive(self) -> None:
        self.link.lease_is(LeasePhase.HELD, yours=True, holder="Ada")
        self.look()

    def tick(self) -> None:
        self.view.beside.setChecked(True)
        self.look()

    def press(self) -> None:
        self.view.let_go.click()
        self.look()

    @property
    def asked(self) -> list[str]:
        return [each for each in self.link.asked if each.startswith("let go")]

    @property
    def said(self) -> str:
        return " ".join(label.text() for label in self.view.findChildren(QLabel) if label.isVisible())


@pytest.fixture
def bench(make_bench: Callable[..., Any]) -> Bench:
    return Bench(make_bench())


def test_before_anything_was_told_nothing_is_claimed(bench: Bench) -> None:
    bench.look()
    assert bench.said == "Nothing is known of the arm yet."
    assert not bench.view.let_go.isVisible()


def test_it_says_supply_time_and_loads_as_an_estimate_with_a_warning_above_the_share(bench: Bench) -> None:
    bench.hold()
    assert "said to be on by whoever confirmed the pose" in bench.said
    assert "Held by pulses for 2 min." in bench.said
    assert BASIS in bench.said
    assert "0.62 N m" in bench.said and "56 %" in bench.said
    assert bench.view.loads.text().count("too much for long") == 1


@pytest.mark.parametrize(
    ("supply", "words"),
    [
        (Supply.UNSAID, "nobody has said anything of it"),
        (Supply.CUT, "switch the logic off as well"),
        (Supply.FORGOTTEN, "has forgotten its pulses since"),
        (Supply.FELT, "knows by itself"),
    ],
)
def test_every_state_of_the_supply_has_words(bench: Bench, supply: Supply, words: str) -> None:
    bench.hold(supply=supply, held_s=None, loads=(), next=None)
    assert words in bench.said


def test_ten_minutes_are_told_in_the_view_and_once_across_the_window(bench: Bench) -> None:
    told: list[str] = []
    bench.session.failed.connect(told.append)
    bench.hold(held_s=599.0)
    assert not told
    bench.hold(held_s=600.0, remind=True)
    bench.hold(held_s=660.0, remind=True)
    assert len(told) == 1 and "only been held for 10 min" in told[0]
    assert "Held for 11 min" in bench.said


def test_of_a_fake_nobody_is_advised_about_power(bench: Bench) -> None:
    told: list[str] = []
    bench.session.failed.connect(told.append)
    bench.link.real = False
    bench.link.come_back()
    for supply in Supply:
        bench.hold(supply=supply, held_s=660.0, remind=True)
        assert "simulated: it has no supply" in bench.said
        assert not re.search("hot|switch|logic on", bench.said)
    assert not told


def test_each_axis_needs_a_tick_of_its_own(bench: Bench) -> None:
    bench.hold()
    bench.drive()
    assert "elbow → shoulder" in bench.said and "it sinks" in bench.said
    assert not bench.view.let_go.isEnabled() and "tick that you do" in bench.said
    bench.tick()
    bench.press()
    assert bench.asked == ["let go of elbow"]
    assert bench.view.let_go.text() == "Let go of the shoulder"
    assert not bench.view.beside.isChecked() and not bench.view.let_go.isEnabled()
    bench.press()
    assert len(bench.asked) == 1
    bench.tick()
    bench.press()
    assert bench.asked == ["let go of elbow", "let go of shoulder"]
    assert not bench.view.let_go.isVisible()
    assert "servo supply off, then logic" in bench.said


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"role": Role.DRIVE}, "only teach or maintain may let it go"),
        ({"on_site": False}, "only somebody beside the arm"),
        ({"mode": Mode.STREAMING}, "stop the arm first"),
    ],
)
def test_who_may_not_is_told_why_and_nothing_is_asked(bench: Bench, facts: dict[str, Any], words: str) -> None:
    for name, value in facts.items():
        setattr(bench.link, name, value)
    bench.link.come_back()
    bench.hold()
    bench.drive()
    bench.tick()
    bench.press()
    assert words in bench.said
    assert bench.asked == []


def test_a_refusal_takes_the_tick_away_and_is_shown(bench: Bench) -> None:
    told: list[str] = []
    bench.session.failed.connect(told.append)
    bench.hold()
    bench.drive()
    bench.tick()
    bench.link.holding = msgspec.structs.replace(HELD, next=NextLimp(axis="wrist", text="The wrist"))
    bench.press()
    assert told and "is not the next" in told[-1]
    assert not bench.view.beside.isChecked()


def test_once_the_service_is_gone_nothing_is_claimed_any_more(bench: Bench) -> None:
    bench.hold()
    bench.session._part("gone", False)
    bench.look()
    assert bench.said == "Nothing is known of the arm yet."
