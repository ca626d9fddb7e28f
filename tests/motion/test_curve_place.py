"""A curve that no one pitch of the hand reaches: the refusal names the nearest size and place at which one does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import hil
from hil.motion.motion import Motion
from hil.motion.planner import plan_task
from hil.motion.tasks import task_from_table
from hil.paths.reach import reach_of
from hil.refusal import Refusal, RefusedError
from hil.robot import Robot
from hil.runtime.preview import preview

RIG = hil.load_rig("lynx6")
ROBOT = Robot(RIG.robot)
SPHERE = tomllib.loads((Path(__file__).parents[2] / "configs" / "curves" / "sphere.toml").read_text(encoding="utf-8"))
PLACE = re.compile(
    r"(?:scale = ([\d.]+) and )?shift_mm = \[([^\]]+)\] under \[place\] of the curve and pitch_deg = (-?\d+)"
)


def planned(index: int, place: dict[str, object] | None = None, **keys: object) -> Motion:
    """The latitude circle of the paper's sphere, at its own size unless a place is given."""
    curve = {**SPHERE, **({} if place is None else {"place": place})}
    step = {"do": "curve", "index": index, "curve": curve, **keys}
    return plan_task(RIG, ROBOT, task_from_table({"title": "s", "start": "home", "step": [step]}, "s.toml"))


def refusal(index: int, place: dict[str, object] | None = None, **keys: object) -> Refusal:
    with pytest.raises(RefusedError) as caught:
        planned(index, place, **keys)
    (found,) = caught.value.refusals
    return found


def places(advice: str) -> list[tuple[dict[str, object], float]]:
    """What a reader would type, out of the words."""
    found: list[tuple[dict[str, object], float]] = []
    for scale, shift, pitch in PLACE.findall(advice):
        place: dict[str, object] = {"shift_mm": [float(value) for value in shift.split(",")]}
        found.append((place | ({"scale": float(scale)} if scale else {}), float(pitch)))
    return found


@pytest.mark.parametrize(
    ("index", "advice"),
    [
        (
            3,
            "No one pitch of the hand reaches all of the curve here. By reach alone it can with scale = 0.413 and "
            "shift_mm = [117.4, 117.4, 127.6] under [place] of the curve and pitch_deg = -15; or with shift_mm = "
            "[-50.3, -49.7, 70.7] under [place] of the curve and pitch_deg = 0.",
        ),
        (
            5,
            "No one pitch of the hand reaches all of the curve here. By reach alone it can with scale = 0.77 and "
            "shift_mm = [46.0, 46.0, 62.2] under [place] of the curve and pitch_deg = 0; or with shift_mm = "
            "[-40.1, -39.9, 56.6] under [place] of the curve and pitch_deg = 15.",
        ),
    ],
)
def test_the_papers_sphere_is_refused_with_places_that_a_preview_passes(index: int, advice: str) -> None:
    """Feature S3-16. Each sample is reached, but each with another pitch: none does for the whole circle."""
    found = refusal(index)
    assert (found.check, found.advice) == ("E-07", advice)
    typed = places(found.advice)
    assert len(typed) == 2
    for place, pitch in typed:
        motion = planned(index, place, pitch_deg=pitch)
        assert preview(RIG, motion).refusals == ()


def test_a_circle_that_fits_nowhere_near_is_told_its_size_alone() -> None:
    found = refusal(1)
    ((place, pitch),) = places(found.advice)
    assert place == {"scale": 0.176, "shift_mm": [164.8, 164.8, 123.6]}
    assert preview(RIG, planned(1, place, pitch_deg=pitch)).refusals == ()


def test_a_pitch_that_was_asked_for_is_kept_in_the_advice() -> None:
    found = refusal(5, pitch_deg=-30)
    assert found.advice.startswith("The hand cannot keep this pitch all along the curve here. ")
    assert {pitch for _, pitch in places(found.advice)} == {-30.0}


def test_a_place_of_its_own_goes_into_the_numbers() -> None:
    """The same curve, which its own place has brought where the bundled one lies: the same way on."""
    half = {**SPHERE, "x": "10 + 5*cos(u)*cos(v)", "y": "10 + 5*sin(u)*cos(v)", "z": "7.5 + 7.5*sin(v)"}
    step = {"do": "curve", "index": 5, "curve": {**half, "place": {"scale": 2.0, "shift_mm": [0.0, 0.0, 0.0]}}}
    with pytest.raises(RefusedError) as caught:
        plan_task(RIG, ROBOT, task_from_table({"title": "s", "start": "home", "step": [step]}, "s.toml"))
    smaller, shifted = places(caught.value.refusals[0].advice)
    assert smaller[0] == {"scale": 1.54, "shift_mm": [46.0, 46.0, 62.2]}
    assert shifted[0] == {"shift_mm": [-40.1, -39.9, 56.6]}


def test_every_sample_of_those_circles_is_reached_by_itself() -> None:
    """What `hil curve` says is of each place alone, with the pitch free."""
    from hil.paths.curve_file import curve_from_table

    for index in (1, 3, 5):
        assert reach_of(ROBOT, curve_from_table(SPHERE, "s", index=index).points_m(28)).share == 1.0


def test_a_hand_that_turns_with_its_path_gets_the_refusal_as_it_was() -> None:
    assert "under [place]" not in refusal(5, orientation="ground").advice


def test_far_away_nothing_of_the_kind_is_promised() -> None:
    found = refusal(5, {"shift_mm": [2000.0, 0.0, 0.0]})
    assert places(found.advice) == []
    assert found.advice.endswith("Nor at a twentieth of its size: move it.")
