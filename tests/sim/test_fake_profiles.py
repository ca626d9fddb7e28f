"""Profiles of fakes: what a file, a command line and a test say is what the fake does."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hil.errors import ConfigError
from hil.workbench.fake_choices import WHOLE, listing, table
from sim.cr1 import Cr1Settings, Key
from sim.profiles import Confidence, as_text, choices_of, load_profile, parse_changes, profile_names, settings_type
from sim.ssc32 import BoardSettings, Firmware, FirstMove, Untouched
from sim.uart import FRAMINGS

NO_CHOICES = {
    # A fault, and what only slows down or fills up the emulation.
    "ssc32": {"brown_out_channels"},
    "cr1": {"pause_s", "procedure", "cycle_s", "slots", "memory_bytes", "day", "arm"},
}


@pytest.mark.parametrize("controller", WHOLE)
def test_the_first_profile_is_what_the_fake_is_without_one(controller: str) -> None:
    usual = settings_type(controller)()
    assert choices_of(controller, WHOLE[controller], {}).over(usual) == usual  # type: ignore[type-var]


@pytest.mark.parametrize("controller", WHOLE)
def test_every_choice_stands_there_with_what_else_can_be_who_says_so_and_how_sure_that_is(controller: str) -> None:
    choices = load_profile(WHOLE[controller]).choices
    fields = {field.name for field in msgspec.structs.fields(settings_type(controller))}
    assert set(choices) == fields - NO_CHOICES[controller]
    words = {member.value for member in Confidence}
    letters = {word for word in words if len(word) == 1}
    for key, choice in choices.items():
        assert choice.others and choice.what and choice.source, key
        assert choice.value not in choice.others, key
        assert choice.confidence is not None, key
        assert choice.confidence.value in (letters if controller == "cr1" else words - letters), key


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_profile_makes_a_fake(name: str) -> None:
    profile = load_profile(name)
    choices_of(profile.controller, name, {}).over(settings_type(profile.controller)())  # type: ignore[type-var]


@pytest.mark.parametrize("controller", WHOLE)
def test_the_page_of_the_fake_has_the_table_of_its_choices(controller: str) -> None:
    page = Path(__file__).parents[2] / "docs" / f"fake-{controller}.md"
    assert "\n".join(table(controller)) in page.read_text(encoding="utf-8")


def test_the_list_names_every_profile_and_every_choice() -> None:
    text = "\n".join(listing())
    for name in profile_names():
        assert f"  {name} " in text
        for key in load_profile(name).choices:
            assert f"  {key} = " in text


def test_boards_of_the_families_differ_as_their_manuals_do() -> None:
    old = choices_of("ssc32", "ssc32-1x", {}).over(BoardSettings())
    new = choices_of("ssc32", "ssc32u", {}).over(BoardSettings())
    assert (old.firmware, old.first_move) == (Firmware.V1, FirstMove.FROM_500)
    assert (new.firmware, new.first_move) == (Firmware.U, FirstMove.ONCE)


def test_what_a_rig_says_of_its_line_stays_where_the_profile_is_silent() -> None:
    assert choices_of("ssc32", "ssc32u", {}).over(BoardSettings(baud=460800)).baud == 460800
    assert choices_of("ssc32", "ssc32u", {"baud": 38400}).over(BoardSettings(baud=460800)).baud == 38400


def test_a_command_line_is_read_as_it_is_meant() -> None:
    given = ["untouched=middle", "registers.0=8", "registers.64=1730", "lacks=STOP,R", "boot_s=1", 'greeting="\\u0007"']
    board = choices_of("ssc32", None, given).over(BoardSettings())
    assert board.untouched is Untouched.MIDDLE
    assert dict(board.registers) == {0: 8, 64: 1730}
    assert board.lacks == ("STOP", "R")
    assert (board.boot_s, board.greeting) == (1.0, "\x07")
    given = ["axes=37", "key=teach", "framing=8N1", "clients=NARCUSR", "must_open=true", "axes=3F;3F"]
    cr1 = choices_of("cr1", None, given).over(Cr1Settings())
    assert (cr1.axes, cr1.key, cr1.framing) == ("3F;3F", Key.TEACH, FRAMINGS["8N1"])
    assert (cr1.clients, cr1.must_open) == (("NARCUSR",), True)


@pytest.mark.parametrize("name", profile_names())
def test_a_value_that_is_shown_can_be_given_again(name: str) -> None:
    profile = load_profile(name)
    usual = settings_type(profile.controller)()
    for key, choice in profile.choices.items():
        if key == "registers":
            continue
        for value in (choice.value, *choice.others):
            if value is not None:
                again = parse_changes([f"{key}={as_text(value)}"], profile.controller)
                as_given = choices_of(profile.controller, None, {key: value}).over(usual)  # type: ignore[type-var]
                assert choices_of(profile.controller, None, again).over(usual) == as_given, key  # type: ignore[type-var]


def test_a_file_of_ones_own_inherits_and_says_only_what_differs(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "mine"\ncontroller = "ssc32"\ninherit = "ssc32-used"\n[choices]\nuntouched = "middle"\n'
        "registers = { 64 = 1700 }\n",
        encoding="utf-8",
    )
    board = choices_of("ssc32", file, ["registers.0=9"]).over(BoardSettings())
    assert board.untouched is Untouched.MIDDLE
    assert dict(board.registers) == {0: 9, 64: 1700}
    assert load_profile(file).choices["untouched"].source == "nobody says"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["untouched=x"], "allowed: zero, middle, garbage"),
        (["untuched=zero"], "Did you mean untouched\\?"),
        (["boot_s=-1"], "number >= 0"),
        (["registers.99=1"], "0 to 95"),
        (["untouched"], "key=value, such as untouched=middle"),
    ],
)
def test_a_slip_on_the_command_line_is_answered_with_what_is_allowed(changes: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        choices_of("ssc32", None, changes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('title = "t"\ncontroller = "plc"\nchoices = {}', "allowed: ssc32 or cr1"),
        ('title = "t"\ncontroller = "cr1"\nchoices = {}', "hil fake cr1 --profile"),
        ('title = "t"\ncontroller = "ssc32"\ninherit = "p"\nchoices = {}', "does not inherit from this one"),
        ('title = "t"\ncontroller = "ssc32"\n[choices]\nfirmwear = "u"', "Did you mean firmware\\?"),
        ('title = "t"\ncontroller = "ssc32"\n[choices.firmware]\nvalue = "u"\nothers = ["3.x"]', "1.x, 2.x, u"),
    ],
)
def test_a_slip_in_a_file_is_answered_with_what_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs" / "fakes").mkdir(parents=True)
    (tmp_path / "configs" / "fakes" / "p.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        load_profile("p", "ssc32")
