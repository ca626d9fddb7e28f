"""A game pad: dead zone, map, inversion, and every way in which it may not count as a hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.cli._pad_session import PadSession
from hil.errors import ConfigError
from hil.model.pad import BUTTONS, STICKS, PadSettings
from hil.model.rig import Rig
from hil.runtime.wiring import load_rig
from hil.testing import VirtualArm
from hil.types import AxisJog, JogFrame, JogHold, JogRelease, Mode, Request, ToolJog
from hil.workbench.game_pad import SILENT_S, Ask, PadHand, PadMap, PadReading, pushed

TICK_S = 0.02


def reading(**values: float) -> PadReading:
    return PadReading({**dict.fromkeys((*STICKS, *BUTTONS), 0.0), **values})


HELD, FREE = reading(rightshoulder=1.0), reading()


def rig_with(pad: Mapping[str, Any]) -> Rig:
    return load_rig("lynx6", {"pad": dict(pad)})


# -- what sticks ask for ---------------------------------------------------------------------------------------


@given(st.floats(-1.0, 1.0), st.floats(0.02, 0.9))
def test_a_dead_zone_is_nothing_and_from_its_edge_on_it_begins_at_nothing(value: float, dead_zone: float) -> None:
    found = pushed(value, dead_zone)
    assert -1.0 <= found <= 1.0
    assert found == -pushed(-value, dead_zone)
    if abs(value) <= dead_zone:
        assert found == 0.0
    else:
        assert abs(found) == pytest.approx((abs(value) - dead_zone) / (1.0 - dead_zone))


def test_sticks_lead_the_axes_in_their_order_where_the_rig_says_nothing() -> None:
    rig = load_rig("lynx6")
    move = PadMap(rig).move(reading(leftx=1.0, dpup=1.0, y=1.0), 0.25)
    assert isinstance(move, AxisJog)
    speeds = [0.25 * axis.speed for axis in rig.axes]
    assert move.amounts == pytest.approx((-speeds[0], 0.0, 0.0, speeds[3], 0.0, 0.0))
    move = PadMap(rig).move(reading(b=1.0), 1.0)
    assert isinstance(move, AxisJog) and move.amounts[5] == rig.axes[5].speed


def test_the_rig_says_what_moves_and_which_way_round_and_the_tool_goes_first() -> None:
    rig = rig_with(
        {"dead_zone": 0.1, "frame": "tool", "moves": {"lefty": "-tool z", "leftx": "-base", "a": "tool pitch"}}
    )
    pad = PadMap(rig)
    assert pad.move(reading(leftx=1.0), 1.0) == AxisJog(amounts=(-rig.axes[0].speed, 0.0, 0.0, 0.0, 0.0, 0.0))
    both = pad.move(reading(leftx=1.0, lefty=-1.0), 0.5)
    assert both == ToolJog(frame=JogFrame.TOOL, linear=(0.0, 0.0, 0.5 * rig.tool_speed_m_s))
    tipped = pad.move(reading(a=1.0), 0.5)
    assert isinstance(tipped, ToolJog) and tipped.pitch > 0.0


@pytest.mark.parametrize(
    ("pad", "words"),
    [
        ({"dead_zone": 0.0}, "pad.dead_zone"),
        ({"dead_zone": math.nan}, "pad.dead_zone"),
        ({"hold": "leftx"}, "pad.hold"),
        ({"frame": "hand"}, "pad.frame"),
        ({"moves": {"leftx": "hip"}}, "pad.moves.leftx"),
        ({"moves": {"leftx": "tool yaw"}}, "pad.moves.leftx"),
        ({"moves": {"wheel": "base"}}, "pad.moves.wheel"),
        ({"moves": {"rightshoulder": "base"}}, "pad.moves.rightshoulder"),
        ({"colour": "red"}, "pad.colour"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_its_key(pad: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace(".", r"\.")):
        rig_with(pad)


def test_certificates_and_journals_do_not_depend_on_the_pad() -> None:
    assert rig_with({"dead_zone": 0.3}).digest == load_rig("lynx6").digest


# -- whether there is a hand -----------------------------------------------------------------------------------


class Hand:
    """Looks every 20 ms."""

    def __init__(self) -> None:
        self.hand, self.now_s = PadHand(PadSettings()), 0.0

    def look(self, said: PadReading | None, after_s: float = TICK_S) -> Ask:
        self.now_s += after_s
        return self.hand.look(said, self.now_s)

    def held(self) -> Hand:
        self.look(FREE)
        assert self.look(HELD) is Ask.BEGIN
        assert self.look(HELD) is Ask.GO_ON
        return self


def test_a_button_that_is_down_from_the_beginning_is_no_press() -> None:
    hand = Hand()
    assert [hand.look(HELD) for _ in range(5)] == [Ask.NOTHING] * 5
    assert hand.look(FREE) is Ask.NOTHING
    assert hand.look(HELD) is Ask.BEGIN


def test_letting_go_releases_once() -> None:
    hand = Hand().held()
    assert [hand.look(FREE) for _ in range(3)] == [Ask.RELEASE, Ask.NOTHING, Ask.NOTHING]


@pytest.mark.parametrize(
    ("said", "words"),
    [(None, "the pad is gone"), (reading(rightshoulder=1.0, leftx=math.nan), "the pad sends what is no number")],
)
def test_an_unplugged_pad_and_one_that_sends_nan_stop_and_have_to_be_pressed_anew(
    said: PadReading | None, words: str
) -> None:
    hand = Hand().held()
    assert hand.look(said) is Ask.RELEASE
    assert words in hand.hand.words
    assert hand.look(HELD) is Ask.NOTHING
    hand.look(FREE)
    assert hand.look(HELD) is Ask.BEGIN


def test_a_pad_at_which_nothing_changes_stops_after_ten_seconds_and_a_living_one_does_not() -> None:
    frozen, living = Hand().held(), Hand().held()
    pushing = reading(rightshoulder=1.0, leftx=0.8)
    asked = [frozen.look(pushing) for _ in range(520)]
    assert asked.index(Ask.RELEASE) == pytest.approx(10.0 / TICK_S, abs=2)
    assert asked[-1] is Ask.NOTHING
    assert "nothing has changed for 10 s" in frozen.hand.words
    assert all(living.look(reading(rightshoulder=1.0, leftx=0.8 + 1e-4 * (k % 2))) is Ask.GO_ON for k in range(1500))


def test_a_pad_that_was_not_read_for_a_while_is_no_hand() -> None:
    hand = Hand().held()
    assert hand.look(HELD, after_s=SILENT_S + 0.01) is Ask.RELEASE
    assert "was not read in time" in hand.hand.words
    assert hand.look(HELD) is Ask.NOTHING


# -- with an arm -----------------------------------------------------------------------------------------------


class FakePad:
    """A pad that says what the test says."""

    def __init__(self) -> None:
        self.said: PadReading | None = FREE

    def read(self) -> PadReading | None:
        return self.said

    def close(self) -> None: ...


class VirtualHost:
    """What a session needs of a host, over an arm on virtual time."""

    def __init__(self, arm: VirtualArm) -> None:
        self.rig, self.arm, self.requests = arm.rig, arm, list[Request]()
        self.asked: list[Request] = []

    @property
    def events(self) -> list[str]:
        return self.arm.events

    @property
    def mode(self) -> Mode:
        return self.arm.mode

    def send(self, *requests: Request) -> None:
        self.requests += requests
        self.asked += requests

    def tick(self) -> None:
        requests, self.requests = self.requests, []
        self.arm.tick(*requests)

    def wait_for(self, mode: Mode, within_s: float) -> None:
        self.tick()
        assert self.mode is mode


def session(monkeypatch: pytest.MonkeyPatch) -> tuple[PadSession, FakePad, VirtualHost]:
    host, pad = VirtualHost(VirtualArm(load_rig("lynx6"))), FakePad()
    host.arm.ready()
    monkeypatch.setattr("hil.cli._pad_session.monotonic_s", lambda: host.arm.now_s)
    return PadSession(host, pad, 0.5), pad, host  # type: ignore[arg-type]


def go(told: PadSession, host: VirtualHost, seconds: float) -> None:
    for _ in range(round(seconds / TICK_S)):
        told.look()
        host.tick()


@pytest.mark.parametrize("end", ["free", "gone", "frozen", "program"])
def test_a_pad_jogs_the_arm_and_every_end_of_it_stops_it(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told, pad, host = session(monkeypatch)
    go(told, host, 0.1)
    pad.said = reading(rightshoulder=1.0, dpdown=1.0)
    go(told, host, 0.5)
    assert host.mode is Mode.STREAMING
    moved = host.arm.servos[3] - host.rig.park[3]
    assert moved != 0.0
    if end == "program":
        for _ in range(10):
            host.tick()
    elif end == "frozen":
        go(told, host, 10.5)
    else:
        pad.said = FREE if end == "free" else None
        go(told, host, 0.1)
    assert host.mode in (Mode.STOPPING, Mode.HOLDING)
    pad.said = reading(rightshoulder=1.0, dpdown=1.0)
    go(told, host, 1.5)
    assert host.mode is (Mode.STREAMING if end == "free" else Mode.HOLDING)
    assert isinstance(next(r for r in host.asked if isinstance(r, JogHold | JogRelease)), JogHold)
    host.arm.judged().check()
