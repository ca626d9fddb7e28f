"""The page that browsers get: small, whole, in the words of whoever reads it, and right about where the arm is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import hil.service
from hil.robot import Robot
from hil.runtime.wiring import load_rig
from hil.service import wire
from hil.service.skeleton import skeleton
from hil.types import Mode, StateSource, Supply

PAGE = Path(hil.service.__file__).parent / "page"
FILES = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir()}
NODE = shutil.which("node")


def test_it_is_small_and_asks_nobody_else_for_anything() -> None:
    assert sum(map(len, FILES.values())) < 40_000
    assert set(FILES) == {"index.html", "page.css", "page.js", "arm.js", "words.js"}
    for name, text in FILES.items():
        assert not re.search(r"https?://|//[a-z0-9.]+/", text.replace("// ", "")), name


def test_nothing_in_it_needs_what_its_policy_forbids() -> None:
    page = FILES["index.html"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", page)
    assert not re.search(
        r"\beval\b|\bnew Function\b|innerHTML|document\.write",
        "".join(text for name, text in FILES.items() if name.endswith(".js")),
    )


def test_the_token_is_kept_out_of_addresses() -> None:
    for line in FILES["page.js"].splitlines():
        if "token" in line:
            assert "URL(" not in line and "location" not in line and "?token" not in line


def test_every_part_that_the_program_names_is_on_the_page() -> None:
    named = set(re.findall(r'at\("([a-z]+)"\)', FILES["page.js"]))
    there = set(re.findall(r'id="([a-z]+)"', FILES["index.html"]))
    assert named == there - {"title"} | ({"title"} & named)


def test_fields_that_it_reads_are_those_of_the_protocol() -> None:
    read = set(re.findall(r"\b(?:seen|message)\.([a-z_]+)", FILES["page.js"]))
    known = {field for kind in wire.SERVER_MESSAGES for field in kind.__struct_fields__} | {"type"}
    assert read <= known
    assert set(re.findall(r"\bholding\.([a-z_]+)", FILES["page.js"])) <= set(wire.Holding.__struct_fields__)
    assert set(re.findall(r"welcome\.([a-z_]+)", FILES["page.js"])) <= set(wire.Welcome.__struct_fields__)
    assert set(re.findall(r"skeleton\.([a-z_]+)", FILES["arm.js"] + FILES["page.js"])) <= set(
        wire.Skeleton.__struct_fields__
    )


def evaluated(expression: str, folder: Path) -> Any:
    """What an expression of `arm.js` (as `page`) and `words.js` (as `words`) gives."""
    for name in ("arm", "words"):
        (folder / f"{name}.mjs").write_text(FILES[f"{name}.js"], encoding="utf-8")
    program = folder / "check.mjs"
    program.write_text(
        'import * as page from "./arm.mjs";\nimport * as words from "./words.mjs";\n'
        f"process.stdout.write(JSON.stringify({expression}));\n",
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
    assert "pictureWords(age, seen.picture_age_s," in FILES["page.js"]
    assert re.search(r'at\("picture"\)\.classList\.toggle\("old", warning !== ""\)', FILES["page.js"])
    assert 'if (at("hang").textContent !== warning)' in FILES["page.js"]
    assert re.search(r"#picture\.old \{[^}]*opacity[^}]*dashed", FILES["page.css"])


@needs_node
def test_every_file_is_a_program_that_can_be_read(tmp_path: Path) -> None:
    assert NODE is not None
    for name in ("arm.js", "words.js", "page.js"):
        program = tmp_path / name.replace(".js", ".mjs")
        program.write_text(FILES[name], encoding="utf-8")
        subprocess.run([NODE, "--check", str(program)], check=True, timeout=60)


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
    program = FILES["page.js"] + FILES["arm.js"]
    asked = set(re.findall(r'data-(?:words|label|title|alt)="([a-z_]+)"', FILES["index.html"]))
    asked |= {key for key in words["en"] if f'"{key}"' in program}
    asked |= {f"mode_{mode.value}" for mode in Mode}
    asked |= {f"phase_{phase.value}" for phase in wire.LeasePhase}
    asked |= {f"source_{source.value}" for source in StateSource}
    asked |= {f"supply_{supply.value}" for supply in Supply}
    asked |= set(re.findall(r'(?:tell|say)\("([a-z_]+)"', program)) | set(
        re.findall(r'"(picture_[a-z]+)"', FILES["arm.js"])
    )
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
