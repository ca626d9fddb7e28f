"""The page that browsers get: small, whole, and right about where the arm is."""

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

PAGE = Path(hil.service.__file__).parent / "page"
FILES = {path.name: path.read_text(encoding="utf-8") for path in PAGE.iterdir()}
NODE = shutil.which("node")


def test_it_is_small_and_asks_nobody_else_for_anything() -> None:
    assert sum(map(len, FILES.values())) < 40_000
    assert set(FILES) == {"index.html", "page.css", "page.js", "arm.js"}
    for name, text in FILES.items():
        assert not re.search(r"https?://|//[a-z0-9.]+/", text.replace("// ", "")), name


def test_nothing_in_it_needs_what_its_policy_forbids() -> None:
    page = FILES["index.html"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", page)
    assert not re.search(r"\beval\b|\bnew Function\b|innerHTML|document\.write", FILES["page.js"] + FILES["arm.js"])


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
    assert set(re.findall(r"welcome\.([a-z_]+)", FILES["page.js"])) <= set(wire.Welcome.__struct_fields__)
    assert set(re.findall(r"skeleton\.([a-z_]+)", FILES["arm.js"] + FILES["page.js"])) <= set(
        wire.Skeleton.__struct_fields__
    )


def evaluated(expression: str, folder: Path) -> Any:
    """What an expression of `arm.js` gives."""
    (folder / "arm.mjs").write_text(FILES["arm.js"], encoding="utf-8")
    program = folder / "check.mjs"
    program.write_text(
        f'import * as page from "./arm.mjs";\nprocess.stdout.write(JSON.stringify({expression}));\n',
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
def test_a_fresh_picture_has_its_age_in_words_and_no_warning(tmp_path: Path) -> None:
    found = evaluated("page.pictureWords(0.34, 0.2, 60)", tmp_path)
    assert found == {"age": "picture 0.3 s old", "warning": ""}


@needs_node
@pytest.mark.parametrize(
    ("given", "warning"),
    [
        ("3.2, 3.1, 60", "The picture is over 3 s old: the camera hangs."),
        ("3.2, undefined, 60", "The picture is over 3 s old: the camera hangs."),
        ("3.2, 0.1, 60", "The picture is over 3 s old: the line to here is slow."),
        ("50, 50, 0.5", "The picture is over 30 s old: waiting for a new one."),
        ("null, null, 60", "There is no picture."),
        ("null, null, 0.5", ""),
    ],
    ids=["the camera hangs", "the lab knows of none", "a slow line", "nobody looked", "no camera answers", "at first"],
)
def test_an_old_picture_is_warned_of_and_why(given: str, warning: str, tmp_path: Path) -> None:
    assert evaluated(f"page.pictureWords({given}).warning", tmp_path) == warning


@needs_node
def test_an_old_picture_is_called_old_beside_its_age(tmp_path: Path) -> None:
    assert evaluated("page.pictureWords(1.04, 1.0, 60).age", tmp_path) == "picture 1.0 s old: OLD"


@needs_node
def test_the_warning_does_not_change_with_every_second_for_whoever_hears_it(tmp_path: Path) -> None:
    warnings = evaluated("[...Array(120).keys()].map((age) => page.pictureWords(age, age, 60).warning)", tmp_path)
    assert len(set(warnings[2:])) < 10


def test_an_old_picture_is_read_aloud_dimmed_and_more_than_a_colour() -> None:
    assert re.search(r'<p id="hang" role="status" aria-live="polite">', FILES["index.html"])
    assert "pictureWords(age, seen.picture_age_s," in FILES["page.js"]
    assert re.search(r'at\("picture"\)\.classList\.toggle\("old", warning !== ""\)', FILES["page.js"])
    assert re.search(r"#picture\.old \{[^}]*opacity[^}]*dashed", FILES["page.css"])


@needs_node
def test_every_file_is_a_program_that_can_be_read(tmp_path: Path) -> None:
    assert NODE is not None
    for name in ("arm.js", "page.js"):
        program = tmp_path / name.replace(".js", ".mjs")
        program.write_text(FILES[name], encoding="utf-8")
        subprocess.run([NODE, "--check", str(program)], check=True, timeout=60)
