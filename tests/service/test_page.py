"""The page that browsers get: small, whole, in the words of whoever reads it, and right about where the arm is."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import hil.service
from hil.motion.tasks import load_task
from hil.robot import Robot
from hil.runtime.wiring import load_rig
from hil.service import wire
from hil.service.skeleton import skeleton
from hil.types import Mode, StateSource, Supply
from hil.workbench.task_poses import append_pose

PAGE = Path(hil.service.__file__).parent / "page"
FILES = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir() if path.is_file()}
NODE = shutil.which("node")


PROGRAM = "".join(text for name, text in FILES.items() if name.endswith(".js"))
PAGES = "".join(text for name, text in FILES.items() if name.endswith(".html"))
CODE = "".join(text for name, text in FILES.items() if name.endswith(".js") and not name.startswith("words"))


def test_it_is_small_and_asks_nobody_else_for_anything() -> None:
    assert sum(len(gzip.compress(text.encode())) for text in FILES.values()) < 80_000
    for name, text in FILES.items():
        assert not re.search(r"https?://|//[a-z0-9.]+/", text.replace("// ", "")), name


def test_nothing_in_it_needs_what_its_policy_forbids() -> None:
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", PAGES)
    assert not re.search(r"\beval\b|\bnew Function\b|innerHTML|document\.write", PROGRAM)


def test_the_token_is_kept_out_of_addresses() -> None:
    for line in CODE.splitlines():
        if "token" in line and not re.search(r'"token"', line):
            assert "URL(" not in line and "location" not in line and "?token" not in line


def test_every_part_that_the_program_names_is_on_the_page() -> None:
    named = set(re.findall(r'at\("([a-z]+)"\)', CODE))
    assert named <= set(re.findall(r'id="([a-z]+)"', PAGES))


def test_fields_that_it_reads_are_those_of_the_protocol() -> None:
    read = set(re.findall(r"\b(?:seen|message)\.([a-z_]+)", CODE))
    known = {field for kind in wire.SERVER_MESSAGES for field in kind.__struct_fields__} | {"type"}
    ours = {"asked"}
    assert read - ours <= known
    assert set(re.findall(r"\bholding\.([a-z_]+)", CODE)) <= set(wire.Holding.__struct_fields__)
    assert set(re.findall(r"welcome\.([a-z_]+)", CODE)) <= set(wire.Welcome.__struct_fields__)
    assert set(re.findall(r"\brules\.([a-z_]+)", CODE)) <= set(wire.Rules.__struct_fields__)
    assert set(re.findall(r"skeleton\.([a-z_]+)", CODE)) <= set(wire.Skeleton.__struct_fields__)
    assert set(re.findall(r"timeline\.([a-z_]+)", CODE)) <= set(wire.Timeline.__struct_fields__)
    assert set(re.findall(r"verdict\.([a-z_]+)", CODE)) <= set(wire.Previewed.__struct_fields__)


def test_what_it_sends_are_messages_of_the_protocol() -> None:
    tags = {kind.__struct_config__.tag for kind in wire.CLIENT_MESSAGES}
    sent = set(re.findall(r'channel\.(?:send|ask)\("([a-z_]+)"', CODE)) | set(
        re.findall(r'driver\.plan\(source, "([a-z_]+)"', CODE)
    )
    assert {"beat", "jog_hold", "jog_step", "go", "start", "confirm", "claim", "release", "self_test"} <= sent
    assert sent <= tags


def evaluated(expression: str, folder: Path) -> Any:
    """What an expression of the page's parts gives: `arm.js` is `page` in it, the others go by their own names."""
    for name, text in FILES.items():
        if name.endswith(".js"):
            (folder / name).write_text(text, encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}')
    program = folder / "check.js"
    parts = {"page": "arm"} | {
        name: name
        for name in (
            "words",
            "dead_man",
            "keys",
            "missing",
            "lamp",
            "pad",
            "plans",
            "teach",
            "solids",
            "differences",
            "axes",
            "wall_state",
            "dom",
            "hands",
            "channel",
        )
    }
    program.write_text(
        # The parts that speak to a lab look where their page is.
        'globalThis.document = { baseURI: "http://lab/" };\n'
        + "".join(
            f'const {name} = await import("./{file}.js");\n' for name, file in parts.items() if name in expression
        )
        + f"process.stdout.write(JSON.stringify({expression}));\n",
        encoding="utf-8",
    )
    assert NODE is not None
    return json.loads(subprocess.run([NODE, str(program)], capture_output=True, check=True, timeout=60).stdout)


needs_node = pytest.mark.skipif(NODE is None, reason="no node here to run the page's arithmetic")


@needs_node
@pytest.mark.parametrize("name", ["lynx6", "rv2aj"])
def test_its_skeleton_is_where_the_link_frames_are(name: str, tmp_path: Path) -> None:
    rig = load_rig(name, calibrated=False)
    joints = [0.3 * (index + 1) * (-1) ** index for index in range(rig.robot.dof)]
    told = wire.encode(skeleton("a", rig)).decode()
    found = evaluated(f"page.origins({told}, {json.dumps(joints)})", tmp_path)
    expected = Robot(rig.robot).link_frames(joints)[:, :3, 3]
    for ours, theirs in zip(found, expected.tolist(), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)


@needs_node
@pytest.mark.parametrize(
    ("behind", "arm", "key"),
    [
        ("", "", ""),
        ("#arm-1", "arm-1", ""),
        ("#arm-1?key=ab_C-9", "arm-1", "ab_C-9"),
        ("#left%20hand?key=k&more=1", "left hand", "k"),
        ("#?key=k", "", "k"),
        ("#%?key=k", "", "k"),
        ("#arm-1?", "arm-1", ""),
    ],
)
def test_an_address_names_the_arm_and_brings_the_key_of_the_start(
    behind: str, arm: str, key: str, tmp_path: Path
) -> None:
    assert evaluated(f"page.addressed({json.dumps(behind)})", tmp_path) == {"arm": arm, "key": key}


@needs_node
def test_a_fresh_picture_has_its_age_and_no_warning(tmp_path: Path) -> None:
    found = evaluated("page.pictureWords(0.34, 0.2, 60)", tmp_path)
    assert found == {"age": ["picture_age", "0.3"], "warning": None}


@needs_node
@pytest.mark.parametrize(
    ("given", "warning"),
    [
        ("3.2, 3.1, 60", ["picture_hangs", 3]),
        ("3.2, undefined, 60", ["picture_hangs", 3]),
        ("3.2, 0.1, 60", ["picture_slow", 3]),
        ("50, 50, 0.5", ["picture_waiting", 30]),
        ("null, null, 60", ["picture_missing"]),
        ("null, null, 0.5", None),
    ],
    ids=["the camera hangs", "the lab knows of none", "a slow line", "nobody looked", "no camera answers", "at first"],
)
def test_an_old_picture_is_warned_of_and_why(given: str, warning: list[object] | None, tmp_path: Path) -> None:
    assert evaluated(f"page.pictureWords({given}).warning", tmp_path) == warning


@needs_node
def test_an_old_picture_is_called_old_beside_its_age(tmp_path: Path) -> None:
    assert evaluated('words.text("en", ...page.pictureWords(1.04, 1.0, 60).age)', tmp_path) == "picture 1.0 s old: OLD"


@needs_node
def test_the_warning_does_not_change_with_every_second_for_whoever_hears_it(tmp_path: Path) -> None:
    warnings = evaluated("[...Array(120).keys()].map((age) => page.pictureWords(age, age, 60).warning)", tmp_path)
    assert len({str(warning) for warning in warnings[2:]}) < 10


def test_an_old_picture_is_read_aloud_dimmed_and_more_than_a_colour() -> None:
    assert re.search(r'<p id="hang" role="status" aria-live="polite">', FILES["index.html"])
    assert "camera.show(channel.now_s, seen.picture_age_s)" in FILES["page.js"]
    assert re.search(r'at\("picture"\)\.classList\.toggle\("old", warning !== ""\)', FILES["camera.js"])
    assert 'write(at("hang"), warning)' in FILES["camera.js"]
    assert re.search(r"#picture\.old \{[^}]*opacity[^}]*dashed", FILES["page.css"])


@needs_node
def test_every_file_is_a_program_that_can_be_read(tmp_path: Path) -> None:
    assert NODE is not None
    texts = {name: text for name, text in FILES.items() if name.endswith(".js")}
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    read_all = """const { readFileSync } = require("fs"), { SourceTextModule } = require("vm");
for (const [name, text] of Object.entries(JSON.parse(readFileSync(process.argv[1], "utf8")))) {
  new SourceTextModule(text, { identifier: name });
  console.log(name);
}"""
    command = [NODE, "--experimental-vm-modules", "--no-warnings", "-e", read_all, str(tmp_path / "texts.json")]
    said = subprocess.run(command, check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout
    assert said.split() == list(texts)


def test_every_part_names_what_another_one_gives() -> None:
    for name, text in FILES.items():
        for names, other in re.findall(r'import \{ ([^}]+) \} from "\./([a-z_]+\.js)"', text):
            given = set(re.findall(r"export (?:async )?(?:function|const|class) (\w+)", FILES[other]))
            given |= {
                each
                for line in re.findall(r"export const (.+?);", FILES[other])
                for each in re.findall(r"(\w+) =", line)
            }
            assert {each.strip() for each in names.split(",")} <= given, (name, other)


# -- its languages ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The texts of each language."""
    table: dict[str, dict[str, str]] = evaluated("words.WORDS", tmp_path_factory.mktemp("words"))
    return table


@needs_node
def test_every_language_says_all_that_english_does_with_the_same_values(words: dict[str, dict[str, str]]) -> None:
    for language, texts in words.items():
        assert texts.keys() == words["en"].keys(), language
        for key, text in texts.items():
            assert text.strip(), (language, key)
            assert sorted(re.findall(r"\{\d\}", text)) == sorted(re.findall(r"\{\d\}", words["en"][key])), (
                language,
                key,
            )


@needs_node
def test_the_stop_is_called_the_same_and_said_to_be_software_in_every_language(
    words: dict[str, dict[str, str]],
) -> None:
    for texts in words.values():
        assert texts["stop"] == "STOP"
        for key in ("stop_help", "footer"):
            assert re.search("software|logiciel", texts[key], re.IGNORECASE)
        assert re.search(r"(no|not|kein|no es|pas un) (emergency stop|Not-Halt|parada de emergencia|arrêt d'urgence)",
                         texts["stop_help"])  # fmt: skip


@needs_node
def test_every_text_that_page_and_program_ask_for_is_there_and_no_other(words: dict[str, dict[str, str]]) -> None:
    asked = set(re.findall(r'data-(?:words|label|title|alt)="([a-z_]+)"', PAGES))
    asked |= {key for key in words["en"] if f'"{key}"' in CODE}
    asked |= {f"mode_{mode.value}" for mode in Mode}
    asked |= {f"phase_{phase.value}" for phase in wire.LeasePhase}
    asked |= {f"source_{source.value}" for source in StateSource}
    asked |= {f"supply_{supply.value}" for supply in Supply}
    asked |= {f"code_{code.value}" for code in wire.Code}
    asked |= {f"notice_{kind.value}" for kind in wire.NoticeKind}
    asked |= {f"lamp_{state}" for state in ("off", "waiting", "old", *(each.value for each in wire.Lamp))}
    asked |= set(re.findall(r'\b(?:tell|say|answer|spoken|letGo|refree|drop)\("([a-z_]+)"', CODE))
    assert asked == words["en"].keys()


@needs_node
@pytest.mark.parametrize(
    ("wishes", "language"),
    [
        ('["de-AT", "en"]', "de"),
        ('[null, null, "pt-BR", "es"]', "es"),
        ('["fr", "de"]', "fr"),
        ('["tlh", "constructor", ""]', "en"),
        ("[]", "en"),
    ],
)
def test_the_first_wish_that_can_be_met_is_the_language(wishes: str, language: str, tmp_path: Path) -> None:
    assert evaluated(f"words.chosen({wishes})", tmp_path) == language


@needs_node
def test_a_word_of_a_newer_lab_is_shown_as_it_came(tmp_path: Path) -> None:
    assert evaluated('words.text("de", "mode_half_asleep")', tmp_path) == "half asleep"


# -- its dead-man ----------------------------------------------------------------------------------------------------


HELD = """(() => { const why = []; const man = new dead_man.DeadMan((words) => why.push(words)); man.look(1, 100);
  man.beaten(1, false, 7, 1); man.press('b', 1); %s; return [man.held(7), why]; })()"""
"""Whether a hand that was pressed at 1.0 s under epoch 7 counts after some steps, and why it ended."""


def each(pattern: str, cases: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What a pattern gives for each case, by one run of the page's program."""
    found = evaluated("[" + ",".join(pattern % case for case in cases) + "]", folder)
    return dict(zip(cases, found, strict=True))


@needs_node
def test_a_hand_counts_until_it_opens_or_the_page_stood_still(tmp_path: Path) -> None:
    cases = {
        "man.look(1.05, 100.05)": [True, []],
        "man.look(1.19, 100.19)": [True, []],
        "man.look(1.21, 100.21)": [False, ["hold_stalled"]],
        "man.look(1.05, 160)": [False, ["hold_stalled"]],
        "man.look(1.05, 99.5)": [False, ["hold_stalled"]],
        "man.letGo()": [False, []],
        "man.refree('hold_ended')": [False, ["hold_ended"]],
        "man.lost()": [False, ["hold_lost"]],
        "man.noticed('press_again')": [False, ["hold_again"]],
        "man.noticed('frozen')": [False, ["hold_ended"]],
        "man.noticed('deadman_released')": [True, []],
        "man.beaten(2, true, 7, 1); man.seen({ to: 2, held: false }, 1.1)": [True, []],
        "man.beaten(2, true, 7, 1); man.seen({ to: 2, held: true }, 1.1); "
        "man.beaten(3, true, 7, 1.1); man.seen({ to: 3, held: false }, 1.2)": [False, ["hold_ended"]],
        "man.letGo(); man.look(9, 900); man.look(9.05, 900.05); man.press('b', 9.1)": [True, []],
    }
    assert each(HELD, cases, tmp_path) == cases


@needs_node
def test_a_hand_counts_only_after_a_beat_of_its_epoch_has_said_that_nobody_holds(tmp_path: Path) -> None:
    assert evaluated(
        "(() => { const man = new dead_man.DeadMan(); man.beaten(1, false, 7, 1); man.press('b', 1);"
        " return [man.held(7), man.held(8)]; })()",
        tmp_path,
    ) == [True, False]


@needs_node
def test_a_beat_that_was_refused_is_known_once_and_nothing_else_is(tmp_path: Path) -> None:
    assert evaluated(
        "(() => { const man = new dead_man.DeadMan(); man.beaten(7, true, 3, 1);"
        " return [6, 7, 7].map((to) => man.refused(to)); })()",
        tmp_path,
    ) == [False, True, False]


@needs_node
def test_a_second_hand_does_not_count_beside_the_first(tmp_path: Path) -> None:
    assert evaluated(
        "(() => { const man = new dead_man.DeadMan();"
        " return [man.press('a', 1), man.press('b', 1), man.hand.source]; })()",
        tmp_path,
    ) == [True, False, "a"]


@needs_node
def test_a_beat_says_when_the_hand_changed_something_by_the_clock_of_the_lab(tmp_path: Path) -> None:
    assert evaluated(
        "(() => { const man = new dead_man.DeadMan(); man.press('a', 1); const first = man.signs(100); man.changed(2);"
        " man.reported(3); return [first, man.signs(100)]; })()",
        tmp_path,
    ) == [{"changed_s": 101}, {"changed_s": 102, "reported_s": 103}]


# -- what else it reckons --------------------------------------------------------------------------------------------


KEY = "keys.meaning('%s', 'pr', 1, 5)"


@needs_node
def test_a_key_means_what_it_means_in_the_terminal(tmp_path: Path) -> None:
    cases = {
        "Escape": {"stop": True},
        " ": {"stop": True},
        "3": None,
        "+": {"axis": 1, "sign": 1},
        "-": {"axis": 1, "sign": -1},
        "x": {"tool": 0, "sign": 1},
        "Z": {"tool": 2, "sign": -1},
        "p": {"tool": 3, "sign": 1},
        "R": {"tool": 4, "sign": -1},
        "a": None,
        "g": {"axis": 5, "sign": 1},
        "h": {"plan": "home"},
        "t": {"teach": True},
        "Tab": None,
    }
    assert each(KEY, cases, tmp_path) == cases


@needs_node
def test_a_number_picks_the_axis_that_is_named_by_it_else_the_one_at_its_place(tmp_path: Path) -> None:
    asked = "[1, 3, 4, 5, 6, 7].map((number) => keys.numbered(%s, number))"
    assert evaluated(asked % '["J1", "J2", "J3", "J5", "J6"]', tmp_path) == [0, 2, -1, 3, 4, -1]
    assert evaluated(asked % '["base", "shoulder", "J1", "J2", "hand"]', tmp_path) == [0, 2, 3, 4, -1, -1]
    assert evaluated(asked % '["a1", "b1", "c3"]', tmp_path) == [0, 2, -1, -1, -1, -1]


@needs_node
def test_a_stick_does_nothing_near_its_middle_and_all_at_its_end(tmp_path: Path) -> None:
    found = evaluated("[0, 0.15, -0.15, 0.575, 1, -1, 1.2].map(pad.pushed)", tmp_path)
    assert found == pytest.approx([0, 0, 0, 0.5, 1, -1, 1])


@needs_node
def test_sticks_cross_and_buttons_move_the_axes_in_their_order(tmp_path: Path) -> None:
    buttons = "Array.from({ length: 16 }, (_, i) => ({ value: i === 1 || i === 13 ? 1 : 0 }))"
    given = f"{{ axes: [1, -1, 1, -1], buttons: {buttons} }}"
    assert evaluated(f"pad.wanted({given}, 6)", tmp_path) == [-1, 1, 1, -1, 1, 1]


PADS = """(() => { const heard = []; const hand = new pad.PadHand({ press: () => { heard.push("press"); return true; },
  release: () => heard.push("release"), changed: () => heard.push("changed"), reported: () => {} });
  const reading = (held, x = 0, index = 0, id = "a pad") => ({ connected: true, index, id, axes: [x, 0, 0, 0],
    buttons: Array.from({ length: 16 }, (_, i) => ({ value: i === 5 && held ? 1 : 0, pressed: i === 5 && held })) });
  %s; return heard; })()"""


@needs_node
def test_a_pad_counts_from_a_press_of_its_button_to_whatever_comes_first(tmp_path: Path) -> None:
    cases = {
        "hand.look([reading(true)]); hand.look([reading(true)])": [],
        "hand.look([reading(false)]); hand.look([null, reading(true)])": ["press"],
        "hand.look([reading(false)]); hand.look([reading(true)]); hand.look([reading(true, 1)])": ["press", "changed"],
        "hand.look([reading(false)]); hand.look([reading(true)]); hand.look([reading(false)])": ["press", "release"],
        "hand.look([reading(false)]); hand.look([reading(true)]); hand.look([])": ["press", "release"],
        "hand.look([reading(false)]); hand.look([reading(true)]); hand.look([reading(true, NaN)])": [
            "press",
            "release",
        ],
        "hand.look([reading(false)]); hand.look([reading(true)]); hand.look([null, reading(true, 0, 1)])": [
            "press",
            "release",
        ],
        "hand.look([reading(false)]); hand.look([reading(true, 0, 0, 'another')])": [],
        "hand.look([reading(false)]); hand.look([null, reading(true, 0, 1)]); hand.look([null, reading(false, 0, 1)]);"
        " hand.look([null, reading(true, 0, 1)])": ["press"],
        "hand.look([reading(false)]); hand.look([reading(true)]); hand.drop(); hand.look([reading(true)])": ["press"],
    }
    assert each(PADS, cases, tmp_path) == cases


KEYS = """(() => { const heard = [], around = new EventTarget();
  globalThis.addEventListener = around.addEventListener.bind(around);
  for (const name of ["TextArea", "Select", "Input"]) globalThis[`HTML${name}Element`] = class {};
  keys.listen({ stop: () => heard.push("stop"), act: () => heard.push("press") > 0, mean: (key) => key.length === 1,
    release: (source) => heard.push(`release ${source}`), repeated: () => heard.push("repeated"),
    other: () => heard.push("other") });
  const say = (type, fields) => around.dispatchEvent(Object.assign(new Event(type), fields));
  say("keydown", { key: "x", code: "KeyX" }); %s; return heard; })()"""
"""What the page's keys say after x was pressed."""


@needs_node
def test_a_key_that_is_held_ends_with_whatever_hides_its_coming_up(tmp_path: Path) -> None:
    ends = ["press", "release key KeyX"]
    cases = {
        "say('keyup', { key: 'x', code: 'KeyX' })": ends,
        "say('keydown', { key: 'Meta', code: 'MetaLeft', metaKey: true })": ends,
        "say('keydown', { key: 'Control', code: 'ControlLeft', ctrlKey: true })": ends,
        "say('keydown', { key: 'Alt', code: 'AltLeft', altKey: true })": ends,
        "say('keydown', { key: 'Shift', code: 'ShiftLeft' })": ["press", "other"],
        "say('keydown', { key: 'x', code: 'KeyX', repeat: true })": ["press", "repeated"],
        # What another key repeats is no change of the hand.
        "say('keydown', { key: 'y', code: 'KeyY', repeat: true })": ["press"],
    }
    assert each(KEYS, cases, tmp_path) == cases


@needs_node
def test_a_key_of_stop_stops_before_it_lets_go_and_never_by_its_repetition(tmp_path: Path) -> None:
    cases = {
        "say('keydown', { key: 'Escape' })": ["press", "stop", "release key KeyX"],
        "say('keydown', { key: ' ' })": ["press", "stop", "release key KeyX"],
        "say('keydown', { key: ' ', repeat: true })": ["press", "release key KeyX"],
    }
    assert each(KEYS, cases, tmp_path) == cases


HANDS = """(() => { const heard = [], around = new EventTarget(); let down = false;
  for (const name of ["addEventListener", "removeEventListener"]) globalThis[name] = around[name].bind(around);
  const button = Object.assign(new EventTarget(), { id: "plus", disabled: false, focus() {}, setPointerCapture() {},
    blur: () => heard.push("blur"),
    classList: { toggle: (_, held) => { down = held; }, contains: () => down } });
  document.activeElement = button;
  hands.holdable(button, { press: () => { heard.push("press"); }, release: () => heard.push("release"), changed() {} });
  const say = (to, type, fields) => to.dispatchEvent(Object.assign(new Event(type), { button: 0 }, fields));
  %s; return heard; })()"""
"""What a button that is held says of its hand, and what comes to the window around it."""

POINTS = "say(button, 'pointerdown', { pointerId: 1 }); "
ENTERS = "say(button, 'keydown', { key: 'Enter', code: 'Enter' }); "


@needs_node
def test_the_end_of_a_hand_is_heard_wherever_it_comes(tmp_path: Path) -> None:
    cases = {
        POINTS + "say(around, 'pointerup', { pointerId: 1 })": ["press", "release"],
        POINTS + "say(around, 'pointercancel', { pointerId: 1 })": ["press", "release"],
        POINTS + "say(around, 'lostpointercapture', { pointerId: 1 })": ["press", "release"],
        POINTS + "say(around, 'pointerup', { pointerId: 2 })": ["press"],
        ENTERS + "say(around, 'keyup', { code: 'Enter' })": ["press", "release"],
        ENTERS + "say(around, 'keyup', { code: 'KeyA' })": ["press"],
        ENTERS + "say(button, 'blur')": ["press", "release"],
        # While Cmd is down, a Mac says of no other key that it comes up.
        ENTERS + "say(button, 'keydown', { key: 'Meta', metaKey: true })": ["press", "release"],
        POINTS + "say(button, 'keydown', { key: 'Meta', metaKey: true })": ["press"],
        POINTS + "say(around, 'pointerup', { pointerId: 1 }); say(around, 'pointerup', { pointerId: 1 })": [
            "press",
            "release",
        ],
    }
    assert each(HANDS, cases, tmp_path) == cases


@needs_node
def test_a_pointer_that_cannot_be_captured_begins_nothing(tmp_path: Path) -> None:
    gone = "button.setPointerCapture = () => { throw new Error('gone'); }; "
    assert evaluated(HANDS % (gone + POINTS), tmp_path) == []


@needs_node
def test_a_button_is_not_disabled_under_the_hand_and_keeps_no_focus(tmp_path: Path) -> None:
    disables = "dom.enable(button, false); heard.push(button.disabled)"
    cases = {
        disables: ["blur", True],
        "document.activeElement = null; " + disables: [True],
        POINTS + disables: ["press", False],
        POINTS + f"say(around, 'pointerup', {{ pointerId: 1 }}); {disables}": ["press", "release", "blur", True],
    }
    assert each(HANDS, cases, tmp_path) == cases


LINE = """(() => { const sent = []; let time = 0;
  globalThis.WebSocket = class { readyState = 1; send(text) { sent.push(JSON.parse(text)); } close() {} };
  const line = new channel.Channel({ address: "", hello: () => ({}), heard() {}, lost() {}, now: () => time });
  const hear = (type, fields) => line.socket.onmessage({ data: JSON.stringify({ type, ...fields }) });
  const anew = () => { line.open(); line.socket.onopen(); hear("welcome", { arm: "a" }); };
  const answered = () => hear("accepted", { to: sent.findLast(({ type }) => type === "stop").seq });
  anew(); %s; return sent.filter(({ type }) => type === "stop").map(({ reason }) => reason); })()"""
"""Reasons of all stops that went out, on a line that comes anew."""


@needs_node
def test_a_stop_is_sent_anew_until_an_answer_to_it_has_come_and_not_after_ten_seconds(tmp_path: Path) -> None:
    cases = {
        "line.stop('one'); anew()": ["one", "one"],
        "line.stop('one'); anew(); anew()": ["one", "one", "one"],
        "line.stop('one'); answered(); anew()": ["one"],
        "line.stop('one'); anew(); answered(); anew()": ["one", "one"],
        "line.stop('one'); hear('refused', { to: 0 }); hear('accepted', { to: 1 }); anew()": ["one", "one"],
        "line.stop('one'); line.stop('two'); answered(); anew()": ["one", "two"],
        "line.stop('one'); time = 9.9; anew()": ["one", "one"],
        "line.stop('one'); time = 10; anew()": ["one"],
        "line.stop('one'); time = 6; anew(); time = 12; anew()": ["one", "one"],
        "line.stop('one'); line.forgetStop(); anew()": ["one"],
        "line.socket.readyState = 3; line.stop('one'); hear('refused', { to: 0 }); anew()": ["one"],
    }
    assert each(LINE, cases, tmp_path) == cases


def test_a_stop_that_waits_is_not_sent_to_another_arm() -> None:
    assert "if (name !== arm) channel.forgetStop();\n  arm = access.arm = name;" in FILES["page.js"]


WORST = """axes.worst([{ name: "one", kind: "revolute" }, { name: "two", kind: "prismatic" }],
  { errors: %s, used: %s, bands: [null, null] })"""


@needs_node
def test_the_worst_axis_uses_most_of_its_band_and_is_the_largest_only_where_none_has_one(tmp_path: Path) -> None:
    found = evaluated("[[], null, [null, null], [0.2, null, 0.9, 0.9], [0]].map(differences.worstAxis)", tmp_path)
    assert found == [-1, -1, -1, 2, 0]
    used = 'wall_state.worst([{ name: "a" }, { name: "b" }], { errors: [1, 2], bands: [9, 4], used: [0.1, 0.5] })'
    assert evaluated(used, tmp_path) == {"name": "b", "index": 1, "error": 2, "band": 4, "used": 0.5}
    cases = [
        ("[0, 0.009]", "[0.7, 0.2]"),
        ("[0, 0.009]", "[0, null]"),
        ("[null, null]", "[null, null]"),
        ("[0, 0.009]", "[null, null]"),
    ]
    worst = [WORST % case for case in cases]
    names = [found and found["name"] for found in evaluated(f"[{','.join(worst)}]", tmp_path)]
    assert names == ["one", "one", None, "two"]


@needs_node
def test_a_band_is_near_from_its_half_on_and_over_at_its_end(tmp_path: Path) -> None:
    found = evaluated("[null, 0, 0.49, 0.5, 0.99, 1, 3].map(differences.level)", tmp_path)
    assert found == ["", "", "", "near", "near", "over", "over"]
    assert evaluated("[0, 59.9, 60, 605].map(differences.clock)", tmp_path) == ["0:00", "0:59", "1:00", "10:05"]


SO = """{ connected: true, oldS: 0.1, waits: false, running: "", startingS: 3, picture: { needed: false },
  may: { drive: true, reset: false, confirm: false, here: false }, news: { yours: true, place: 0, must_park: false },
  seen: { mode: "idle", refusal: "", lease: { phase: "held", holder: "Ann", latched: "", frozen: false } } }"""


SENTENCE = f"(() => {{ const so = {SO}; %s; return missing.missing(so)[0]; }})()"
LAMP = """(() => { const so = { connected: true, ageMs: 100, seen: { lamp: "ready" }, presence: null }; %s;
  return lamp.lamp(so); })()"""


@needs_node
def test_one_sentence_says_what_is_missing(tmp_path: Path) -> None:
    cases = {
        "": "ready",
        "so.connected = false": "lost",
        "so.oldS = 2": "nothing_new",
        "so.presence = {words: 'unplugged', starting_s: null}": "not_there",
        "so.presence = {words: 'its worker comes up', starting_s: 12}": "starting",
        "so.presence = {words: '', starting_s: null}": "ready",
        "so.seen.alarm = 'elbow: they have parted'": "parted",
        "so.running = 'elbow +'": "moves_while",
        "so.seen.mode = 'connecting'": "starting",
        "so.seen.lease.latched = 'Bob'": "latched_theirs",
        "so.seen.lease.latched = 'Bob'; so.may.reset = true": "latched_yours",
        "so.seen.lease.frozen = true": "frozen",
        "so.may.drive = false": "watches",
        "so.news.yours = false": "held_by",
        "so.news.yours = false; so.news.place = 2": "in_queue",
        "so.news.yours = false; so.seen.lease.phase = 'free'": "press_drive",
        "so.news.yours = false; so.seen.lease.phase = 'suspended'": "kept_for",
        "so.news.yours = false; so.seen.lease.phase = 'clearing'": "left_out",
        "so.seen.mode = 'unknown_pose'": "unknown_theirs",
        "so.seen.mode = 'unknown_pose'; so.may.confirm = true": "unknown_yours",
        "so.seen.mode = 'fault'": "fault_theirs",
        "so.picture = { needed: true, shown: false }": "show_picture",
        "so.picture = { needed: true, shown: true, old: true }": "wait_picture",
        "so.news.must_park = true": "must_park",
    }
    assert each(SENTENCE, cases, tmp_path) == cases


@needs_node
def test_the_lamp_is_the_labs_word_unless_nothing_is_heard_of_the_arm(tmp_path: Path) -> None:
    cases = {
        "": "ready",
        "so.seen.lamp = 'latched'": "latched",
        "so.connected = false": "off",
        "so.seen = null": "waiting",
        "so.ageMs = 1600": "old",
        "so.seen.lamp = null": "old",
        "so.presence = { words: 'unplugged', starting_s: null }": "away",
        "so.presence = { words: 'comes up', starting_s: 3 }": "starting",
        "so.presence = { words: 'comes up', starting_s: 3 }; so.connected = false": "off",
    }
    assert each(LAMP, cases, tmp_path) == cases


@needs_node
def test_a_pose_that_is_taught_is_what_the_terminal_would_have_written(tmp_path: Path) -> None:
    rig = load_rig("lynx6", calibrated=False)
    axes = json.dumps(
        [
            {"name": axis.name, "kind": axis.kind.value, "lower": axis.lower + axis.soft_margin,
             "upper": axis.upper - axis.soft_margin}
            for axis in rig.axes
        ]
    )  # fmt: skip
    file = tmp_path / "ours.toml"
    poses = [list(rig.park), list(rig.home), [0.1, 1.2, -0.4, 0.3, 0.0, rig.home[5]]]
    text = ""
    for pose in poses:
        append_pose(file, rig, pose)
        text = evaluated(f"teach.taught({json.dumps(text)}, {axes}, {json.dumps(pose)}, 'Ours')", tmp_path)
    theirs = tmp_path / "theirs.toml"
    theirs.write_text(text, encoding="utf-8")
    assert load_task(theirs).steps == load_task(file).steps


@needs_node
def test_the_least_margin_of_a_moment_comes_first(tmp_path: Path) -> None:
    line = """{ stages: [{ first: 0, last: 9, place: "step 1", label: "" }], lanes: [
      { name: "far", unit: "deg", subjects: ["elbow"], margins: [5, 4], which: [0, 0] },
      { name: "near", unit: "mm", subjects: ["table", "hand"], margins: [9, -2], which: [0, 1] },
      { name: "none", unit: "mm", subjects: ["x"], margins: [null, null], which: [0, 0] }] }"""
    assert evaluated(f"[plans.marginsAt({line}, 1), plans.placeAt({line}, 5)]", tmp_path) == [
        [
            {"name": "near", "subject": "hand", "margin": -2, "unit": "mm"},
            {"name": "far", "subject": "elbow", "margin": 4, "unit": "deg"},
        ],
        "step 1",
    ]
