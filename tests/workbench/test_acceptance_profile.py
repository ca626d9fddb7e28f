"""The fake that is made of an archive: it answers as the controller did, whatever that was like."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hil.runtime import channel_wiring, port_wiring, wiring
from hil.runtime.kinds.kind import USUAL, FakeChoices
from hil.workbench.acceptance import PARTS
from hil.workbench.acceptance_archive import Archive, profile_of
from hil.workbench.acceptance_talk import Exchange, Talk
from hil.workbench.fake_choices import WHOLE

RIGS = {"ssc32": "lynx6", "cr1": "rv2aj"}
BAND_S = 0.003
"""How far the times of the fake made of an archive may be from those in it: a look at the port more or less."""
ONLY_TIMES = {"6", "C4"}
OTHER_LINE = {"baud", "framing"}
"""With these the rig's line is the wrong one, and nobody answers; see the refusal of `--from`."""
UNUSUAL: list[tuple[str, dict[str, Any]]] = [
    ("lynx6", {}),
    ("rv2aj", {}),
    ("lynx6", {"firmware": "u", "untouched": "middle", "version": "SSC32-V2.50USB ", "lacks": ["SS"]}),
    ("lynx6", {"registers": {"0": 2, "1": 5000, "2": 500, "33": -40, "95": 1730}, "startup": '#0P1500"\\;'}),
    ("lynx6", {"registers": {"0": 8, "64": 1730, "80": 65535, "95": 1730}}),
    ("rv2aj", {"axes": "3F;3F", "decimals": 3, "error_digits": 4, "answer_s": 0.08, "version": "Ver.K4a"}),
    ("rv2aj", {"end_code": "crlf", "clients": ["NARCUSR"], "key": "auto_op", "override": 30, "face": "six"}),
    ("rv2aj", {"others_answered": False, "clients": ["TOOLBOX"], "shows_key": False, "requests_stand": True}),
    ("rv2aj", {"clients": ["NARCUSR"], "requests_stand": True, "error_digits": 4}),
    ("rv2aj", {"requests_stand": True, "small_letters": False, "first_position": "zero", "must_open": True}),
]


def every_choice() -> Iterator[tuple[str, str, Any]]:
    """Each value that a choice of a fake may have."""
    for profile in wiring.fake_profiles():
        if profile.name == WHOLE[profile.controller]:
            for key, choice in profile.choices.items():
                values = [value for value in (choice.value, *choice.others) if value is not None]
                yield from ((RIGS[profile.controller], key, value) for value in values if key not in OTHER_LINE)


def interview(name: str, chosen: FakeChoices, *, whole: bool = False) -> Archive:
    """The questions of an acceptance, put to a fake; the many that only measure times if `whole`."""
    rig = wiring.load_rig(name)
    open_port, clock = port_wiring.raw_line(rig, None, chosen)
    channels = tuple(each.channel for each in channel_wiring.channels_of(rig)) if name == "lynx6" else ()
    said: list[Exchange] = []
    for part in PARTS[rig.controller.kind]:
        if part.asker is not None and (whole or part.step.id not in ONLY_TIMES):
            talk = Talk(rig.controller.kind, open_port(), clock, part.step.id)
            part.asker(talk, channels)
            talk.close()
            said += talk.transcript
    settings = rig.controller
    return Archive(
        kind=settings.kind,
        rig=rig.id,
        fake=True,
        software={},
        baud=settings.baud,
        framing=settings.framing,
        channels=channels,
        talk=tuple(said),
    )


@functools.cache
def usual(name: str) -> Archive:
    """What is usual, of which most choices show nothing."""
    return interview(name, USUAL)


def require_alike(name: str, changes: dict[str, Any], folder: Path, *, whole: bool = False) -> None:
    rig = wiring.load_rig(name)
    source = interview(name, wiring.fake_choices(rig, None, changes), whole=whole)
    if source == usual(name) and changes:
        return  # nothing was shown, and the made fake is that of the usual one, which has a test of its own
    (folder / "made.toml").write_text(profile_of(source), encoding="utf-8")
    again = interview(name, wiring.fake_choices(rig, folder / "made.toml"), whole=whole)
    assert [(each.question, each.answer) for each in again.talk] == [
        (each.question, each.answer) for each in source.talk
    ]
    for now, before in zip(again.talk, source.talk, strict=True):
        if before.took_s is not None and now.took_s is not None:
            assert now.took_s == pytest.approx(before.took_s, abs=BAND_S), before.question


@pytest.mark.parametrize(("name", "key", "value"), list(every_choice()))
def test_whatever_a_choice_shows_the_made_fake_shows_too(name: str, key: str, value: Any, tmp_path: Path) -> None:
    require_alike(name, {key: value}, tmp_path)


@pytest.mark.parametrize(("name", "changes"), UNUSUAL)
def test_a_controller_that_is_unusual_in_many_ways_is_met_again(
    name: str, changes: dict[str, Any], tmp_path: Path
) -> None:
    require_alike(name, changes, tmp_path, whole=True)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("lynx6", {"version": "SSC32-V9"}),
        ("lynx6", {"untouched": "middle"}),
        ("lynx6", {"registers": {"95": 1730}}),
        ("lynx6", {"lacks": ["R"]}),
        ("rv2aj", {"face": "six"}),
        ("rv2aj", {"requests_stand": True}),
        ("rv2aj", {"first_position": "zero"}),
        ("rv2aj", {"key": "teach"}),
    ],
)
def test_the_questions_tell_such_a_controller_from_the_usual_one(name: str, changes: dict[str, Any]) -> None:
    """Else the tests above would compare what never differs."""
    rig = wiring.load_rig(name)
    one, other = (interview(name, wiring.fake_choices(rig, None, each)) for each in ({}, changes))
    assert [each.answer for each in one.talk] != [each.answer for each in other.talk]


def test_the_profile_says_where_the_arm_stood() -> None:
    choices = profile_of(interview("rv2aj", USUAL))
    assert "arm = { origin_deg = [0.0, -20.0, 110.0, 80.0, 0.0] }" in choices
