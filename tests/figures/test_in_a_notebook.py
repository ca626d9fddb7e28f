"""Arms, poses, paths, motions, previews and journals draw themselves in a notebook."""

from __future__ import annotations

import base64
import html.parser
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from recorded import run_to_stop, write_journal

import hil
from hil.figures import notebook
from hil.kinematics.poses import pose_to_xyzabc
from hil.model.files import find
from hil.motion.motion import Motion
from hil.paths.curve_file import load_curve
from hil.paths.path import Arc, Line, Reversed
from hil.refusal import Refusal
from hil.runtime.preview import PreviewReport
from hil.types import Margin
from hil.workbench.columns import read_columns


class Balance(html.parser.HTMLParser):
    """Whether every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs) -> None:  # type: ignore[no-untyped-def]
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def shown(thing) -> tuple[str, list[str]]:  # type: ignore[no-untyped-def]
    """What it shows, and the words of its pictures, each an SVG of its own."""
    page = thing._repr_html_()
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    pictures = []
    for data in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page):
        root = ElementTree.fromstring(base64.b64decode(data))
        assert root.tag.endswith("svg")
        pictures.append(" ".join("".join(text.itertext()) for text in root.iter() if text.tag.endswith("text")))
    assert "http://" not in re.sub(r'src="data:[^"]*"', "", page) and "<script" not in page
    return page, pictures


def test_an_arm_shows_its_table_and_its_links() -> None:
    page, (picture,) = shown(hil.load_robot("lynx6"))
    assert "110.6" in page and "-90 .. 90" in page and "P. A. Vela" in page
    assert "home pose" in picture and "from above" in picture


def test_an_arm_without_limits_says_so() -> None:
    assert "not given" in shown(hil.load_robot("kuka-kr-5-sixx-r650"))[0]


def test_a_pose_shows_its_numbers_and_its_matrix() -> None:
    pose = pose_to_xyzabc(hil.load_robot("vrm-kukakr5").forward_kinematics(np.radians([0, 90, 0, 0, 90, 0])))
    page, _ = shown(pose)
    assert "<td>800.0000</td>" in page and "<td>1.005000</td>" in page and "rpy_xyz_fixed" in page


@pytest.mark.parametrize("kind", ["Line", "Arc", "Reversed"])
def test_a_path_shows_its_length_and_its_course(kind: str) -> None:
    start, end = np.array([0.2, 0.0, 0.1]), np.array([0.2, 0.1, 0.1])
    line = Line(start, end)
    path = {"Line": line, "Arc": Arc.through(start, np.array([0.25, 0.05, 0.1]), end), "Reversed": Reversed(line)}[kind]
    _, (picture,) = shown(path)
    assert f"{kind}, {1000 * path.length_m:.1f} mm long" in picture


def test_a_curve_shows_its_title_and_source() -> None:
    page, (picture,) = shown(load_curve(find("curves", "pipes")))
    assert "Intersection of two pipes" in picture and "equations 37 to 39" in page


def test_a_motion_shows_every_axis_over_time() -> None:
    motion = Motion(("base", "boom"), 0.02, np.linspace([0.0, 0.1], [1.0, 0.2], 50))
    _, (picture,) = shown(motion)
    assert "base" in picture and "boom" in picture and "Motion, 0.98 s" in picture and "time, s" in picture


def report(*refusals: Refusal) -> PreviewReport:
    margins = (Margin("E-02", "elbow <left>", "upper limit", 0.25, "deg"),)
    return PreviewReport(refusals, None, margins, b"123", (), (), 1.5, 76)


def test_a_preview_shows_its_verdict_and_margins_as_text() -> None:
    page, _ = shown(report())
    assert "PASSED: 1.50 s, 76 samples, 3 bytes" in page
    assert "elbow &lt;left&gt;" in page and "0.25 deg" in page


def test_a_preview_that_refuses_says_why() -> None:
    refusal = Refusal("E-02", "elbow", "upper limit 90 deg", -3.0, "deg", "87 deg", "Move the target")
    page, _ = shown(report(refusal))
    assert "REFUSED" in page and "upper limit 90 deg" in page and "Move the target" in page


def test_a_picture_of_a_long_motion_stays_small() -> None:
    motion = Motion(("base",), 0.02, np.random.default_rng(1).normal(size=(40_000, 1)))
    assert len(motion._repr_html_()) < 400_000


def test_the_same_thing_shows_the_same() -> None:
    arm = hil.load_robot("planar-2r")
    assert arm._repr_html_() == arm._repr_html_()


def test_without_matplotlib_the_table_stands_and_a_line_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page, pictures = shown(hil.load_robot("lynx6"))
    assert pictures == [] and "110.6" in page and "hil-arm-bridge[plot]" in page


def test_a_title_is_text_wherever_it_stands() -> None:
    page = notebook.views('<b>"x"', np.zeros((2, 3)))
    assert '<b>"x"' not in page and "&lt;b&gt;&quot;x&quot;" in page


def test_a_journal_shows_its_axes_and_what_was_said(tmp_path: Path) -> None:
    page, (picture,) = shown(read_columns(write_journal(run_to_stop(), tmp_path / "stop.mcap")))
    assert "commanded" in picture and "time, s" in picture
    assert "the test" in page
