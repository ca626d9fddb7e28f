"""The page that browsers get: small, whole, and right about where the arm is."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

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


@pytest.mark.skipif(NODE is None, reason="no node here to run the page's arithmetic")
@pytest.mark.parametrize("name", ["lynx6", "rv2aj"])
def test_its_skeleton_is_where_the_link_frames_are(name: str, tmp_path: Path) -> None:
    rig = load_rig(name, calibrated=False)
    joints = [0.3 * (index + 1) * (-1) ** index for index in range(rig.robot.dof)]
    program = tmp_path / "check.mjs"
    (tmp_path / "arm.mjs").write_text(FILES["arm.js"], encoding="utf-8")
    told = wire.encode(skeleton("a", rig)).decode()
    program.write_text(
        f'import {{ origins }} from "./arm.mjs";\n'
        f"process.stdout.write(JSON.stringify(origins({told}, {json.dumps(joints)})));\n",
        encoding="utf-8",
    )
    assert NODE is not None
    found = json.loads(subprocess.run([NODE, str(program)], capture_output=True, check=True, timeout=60).stdout)
    expected = Robot(rig.robot).link_frames(joints)[:, :3, 3]
    for ours, theirs in zip(found, expected.tolist(), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-12)
