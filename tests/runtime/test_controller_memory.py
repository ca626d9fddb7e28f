"""What is remembered of a rig's controller: by calibration, whole or not at all, and completed rather than replaced."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from plugged_in import DEVICE, calibrated, own_folder, plugs_here

from hil.errors import ConfigError, ControllerError
from hil.identity import SHOWN, Acquaintance
from hil.model._controller_file import controller_file, read_controller, write_controller
from hil.model.rig import Rig
from hil.runtime.controller_memory import ControllerMemory
from hil.types import ControllerIdentity, TickRecord

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=12)
FACTS = st.dictionaries(TEXT, TEXT, max_size=6)
BOARD = ControllerIdentity(facts=(("version", "V2.03"), ("offset", "-12")))


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rig:
    own_folder(monkeypatch, tmp_path)
    plugs_here(monkeypatch)
    return calibrated()


def identity(facts: dict[str, str]) -> ControllerIdentity:
    return ControllerIdentity(facts=tuple(facts.items()))


# -- who is the same -----------------------------------------------------------------------------------------


@given(FACTS, FACTS)
def test_two_differ_in_what_both_say_and_say_differently(was: dict[str, str], now: dict[str, str]) -> None:
    changes = identity(was).changes(identity(now))
    assert len(changes) == sum(now.get(what, value) != value for what, value in was.items())
    assert not identity(was).changes(identity(was))


@given(FACTS, FACTS)
def test_a_completed_one_says_all_that_is_known_and_of_both_the_newer(was: dict[str, str], now: dict[str, str]) -> None:
    assert dict(identity(now).completed(identity(was)).facts) == {**was, **now}


@given(st.lists(FACTS, min_size=1, max_size=5))
def test_who_has_been_met_never_becomes_another_by_small_steps(meetings: list[dict[str, str]]) -> None:
    """One that says less at one time and something else at the next is held to all that it has ever said."""
    met, said = Acquaintance("port"), dict[str, str]()
    for facts in meetings:
        try:
            met.meet(identity(facts))
        except ControllerError:
            assert any(said.get(what, value) != value for what, value in facts.items())
        else:
            assert all(said.get(what, value) == value for what, value in facts.items())
            said.update(facts)
        assert met.expected is not None and dict(met.expected.facts) == said


def test_a_board_that_differs_in_all_is_told_in_a_few_words() -> None:
    met = Acquaintance("/dev/ttyUSB0")
    met.expect(identity({str(k): "a" for k in range(9)}), "Do this")
    with pytest.raises(ControllerError) as caught:
        met.meet(identity({str(k): "b" for k in range(9)}))
    words = str(caught.value)
    assert words.count(" was 'a', is 'b'") == SHOWN and f"; and {9 - SHOWN} more. " in words
    assert words.startswith("/dev/ttyUSB0: this is not the controller") and words.endswith("Do this")


# -- the note ------------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts=FACTS)
@example(facts={"startup string": '\x7f\t"\\'})
def test_whatever_a_controller_says_comes_back_as_it_was(rig: Rig, facts: dict[str, str]) -> None:
    assert rig.calibration is not None
    write_controller(rig.id, rig.calibration.id, identity(facts), port=DEVICE, date="2026-11-28")
    assert read_controller(rig) == identity(facts)


def test_another_calibration_is_another_acquaintance(rig: Rig) -> None:
    assert rig.calibration is not None
    write_controller(rig.id, rig.calibration.id, BOARD, port=DEVICE, date="2026-11-28")
    newer = msgspec.structs.replace(rig, calibration=msgspec.structs.replace(rig.calibration, id="desk-3-2026-11-30"))
    assert ControllerMemory(newer, DEVICE).expected is None
    assert ControllerMemory(rig, DEVICE).expected == BOARD


@pytest.mark.parametrize(
    "text", ["", "rig = 3", 'rig = "desk-3"\ncalibration = ""\ndate = "d"\nport = "p"\nfacts = [["a"]]\n']
)
def test_a_note_that_cannot_be_read_is_refused_with_its_name(rig: Rig, text: str) -> None:
    controller_file(rig.id).write_text(text)
    with pytest.raises(ConfigError, match=r"desk-3\.controller"):
        ControllerMemory(rig, DEVICE)


# -- remembering ---------------------------------------------------------------------------------------------


def test_the_first_meeting_is_told_and_no_other(rig: Rig) -> None:
    memory = ControllerMemory(rig, DEVICE)
    assert "first meeting" in memory.met(BOARD) and memory.met(BOARD) == ""
    assert ControllerMemory(rig, DEVICE).met(BOARD) == ""


def test_what_was_unknown_is_added_and_what_is_unknown_now_is_kept(rig: Rig) -> None:
    ControllerMemory(rig, DEVICE).met(BOARD)
    assert ControllerMemory(rig, DEVICE).met(identity({"version": "V2.03", "pulse": "1500"})) == ""
    known = read_controller(rig)
    assert known is not None and dict(known.facts) == {"version": "V2.03", "offset": "-12", "pulse": "1500"}


def test_of_a_fake_nothing_is_remembered(rig: Rig) -> None:
    ControllerMemory(rig, DEVICE).met(BOARD)
    fake = ControllerMemory(rig, None)
    assert fake.expected is None and fake.met(identity({"version": "fake"})) == ""
    assert read_controller(rig) == BOARD


def test_a_folder_that_cannot_be_written_to_is_told_and_stops_nobody(rig: Rig) -> None:
    file = controller_file(rig.id)
    file.with_name(f"{file.name}.new").mkdir()
    assert "cannot be remembered, so another one will not be noticed" in ControllerMemory(rig, DEVICE).met(BOARD)


def test_records_from_before_there_was_anybody_to_remember_still_read() -> None:
    old = {
        "type": "tick", "tick": 0, "t_s": 0.0, "late_s": 0.0, "work_s": 0.0, "missed": 0, "mode": "idle",
        "sample": None, "wanted": None, "sent": None, "setpoint": [], "reported": None, "received": "", "written": "",
        "simulated": {"t_s": 0.0, "positions": [], "source": "simulated"},
    }  # fmt: skip
    assert msgspec.convert(old, TickRecord, strict=False).controller is None
