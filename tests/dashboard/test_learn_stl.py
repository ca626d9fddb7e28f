"""A link of the DH lesson gets a body from an STL: placed by its DH frame, with its box and units said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qt_ready import require_qt

require_qt()
pytest.importorskip("trimesh", reason="trimesh is not installed: pip install 'hil-arm-bridge[mesh]'")

from PySide6.QtWidgets import QFileDialog  # noqa: E402
from stl_files import BOX_FACES as FACES  # noqa: E402
from stl_files import ascii_text  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from hil.cli.app import app  # noqa: E402
from hil.dashboard.learn import work  # noqa: E402
from hil.lessons.stl_body import MOST_TRIANGLES, read_body  # noqa: E402
from hil.model.stl import write_stl  # noqa: E402

Make = Callable[..., Any]

CORNERS = np.array([[x, y, z] for x in (0, 120) for y in (-20, 20) for z in (-15, 15)], float)
"""A beam of 120 x 40 x 30, in whatever unit is meant."""


def ascii_stl(vertices: Any, faces: Any) -> bytes:
    return ascii_text(vertices[faces], "beam").encode()


def without_units(vertices: Any, faces: Any) -> bytes:
    data = write_stl(vertices, faces)
    return b"made elsewhere".ljust(80) + data[80:]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read at once, in this process."""

    def start(job: Any, function: Any, *given: Any) -> None:
        try:
            found = function(*given)
        except Exception as error:
            job.failed.emit(str(error))
        else:
            job.done.emit(found)

    monkeypatch.setattr(work.Work, "start", start)


@pytest.fixture
def view(make_lessons: Make, here: None) -> Any:
    return make_lessons("puma560", "dh").shell.view


def give(view: Any, file: Path, data: bytes, link: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by hand: the link, the button, the file."""
    file.write_bytes(data)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    view.sheet.bodies.link.setCurrentIndex(link)
    view.sheet.bodies.choose.click()


def drawn(view: Any, link: int, time_s: float = 0.0) -> Any:
    """Vertices of one link in the world, as the scene places them."""
    scene = view.window_scene
    (arm,) = view.picture(time_s).arms
    body = scene._stage.bodies.of(arm)
    return body.placed(arm.frames, None)[body.links == link], arm.frames[link]


@pytest.fixture
def shown(view: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    view.window_scene = view.sheet.window().shell.scene
    return view


@pytest.mark.parametrize("kind", [ascii_stl, without_units], ids=["ascii", "binary"])
@pytest.mark.parametrize("link", [0, 2, 6])
def test_both_kinds_stand_in_the_frame_of_their_link_with_their_box_said(
    kind: Any, link: int, shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(shown, tmp_path / "beam.stl", kind(CORNERS, FACES), link, monkeypatch)
    vertices, frame = drawn(shown, link)
    wanted = CORNERS * 1e-3 @ frame[:3, :3].T + frame[:3, 3]
    assert len(vertices) == 8
    assert np.allclose(sorted(vertices.tolist()), sorted(wanted.tolist()), atol=1e-6)
    said = shown.sheet.bodies.facts.text()
    assert "12 triangles; closed" in said
    assert "file in mm; bounding box 120 x 40 x 30 mm" in said
    assert "from (0, -20, -15) to (120, 20, 15) mm" in said


def test_it_moves_with_its_joint(shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(shown, tmp_path / "beam.stl", ascii_stl(CORNERS, FACES), 3, monkeypatch)
    shown.sheet.play.setCurrentIndex(2)
    first, _ = drawn(shown, 3)
    last, frame = drawn(shown, 3, shown.timeline().duration_s)
    assert np.linalg.norm(last - first, axis=1).max() > 0.1
    assert np.allclose(sorted(last.tolist()), sorted((CORNERS * 1e-3 @ frame[:3, :3].T + frame[:3, 3]).tolist()))


def test_another_unit_is_another_size_and_the_copied_command_says_the_same(
    shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(shown, tmp_path / "beam.stl", without_units(CORNERS, FACES), 1, monkeypatch)
    shown.sheet.bodies.unit.setCurrentText("cm")
    said = shown.sheet.bodies.facts.text()
    assert "bounding box 1200 x 400 x 300 mm" in said
    copied = dict(shown.entries())["Command for the STL of link 1"]()
    words = copied.split()
    assert words[:2] == ["hil", "import"] and words[-2:] == ["--stl-unit", "cm"]
    ran = CliRunner().invoke(app, words[1:])
    assert ran.exit_code == 0
    assert ran.output.strip().splitlines() == said.splitlines()[1:]


def test_undo_takes_a_body_away_and_redo_brings_it_back(
    shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = len(drawn(shown, 2)[0])
    give(shown, tmp_path / "beam.stl", ascii_stl(CORNERS, FACES), 2, monkeypatch)
    assert len(drawn(shown, 2)[0]) == 8
    shown.undo()
    assert len(drawn(shown, 2)[0]) == plain and not shown.sheet.bodies.facts.text()
    shown.redo()
    assert len(drawn(shown, 2)[0]) == 8
    shown.sheet.bodies.away.click()
    assert len(drawn(shown, 2)[0]) == plain and not shown.sheet.bodies.away.isEnabled()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an STL, binary or ASCII"),
        (b"solid beam\nfacet normal 0 0 1\n", "cut off"),
        (ascii_stl(CORNERS * np.array([1.0, 0.0, 0.0]), FACES), "without an area"),
        (ascii_stl(np.where(CORNERS == 120, np.nan, CORNERS), FACES), "finite numbers"),
    ],
    ids=["empty", "cut", "flat", "nan"],
)
def test_a_file_that_is_no_body_is_refused_in_words_and_the_link_stays_as_it_was(
    data: bytes, said: str, shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = len(drawn(shown, 2)[0])
    give(shown, tmp_path / "beam.stl", data, 2, monkeypatch)
    assert said in shown.sheet.bodies.trouble.text() and "beam.stl" in shown.sheet.bodies.trouble.text()
    assert len(drawn(shown, 2)[0]) == plain


def test_more_triangles_than_are_drawn_are_refused(tmp_path: Path) -> None:
    many = np.repeat(FACES, MOST_TRIANGLES // len(FACES) + 1, axis=0)
    (tmp_path / "fine.stl").write_bytes(without_units(CORNERS, many))
    with pytest.raises(Exception, match="50000"):
        read_body(str(tmp_path / "fine.stl"), 1, "mm")


def test_a_row_that_goes_takes_no_other_link_s_body(
    shown: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give(shown, tmp_path / "beam.stl", ascii_stl(CORNERS, FACES), 6, monkeypatch)
    shown.sheet.table.setCurrentCell(5, 0)
    shown.sheet.away.click()
    assert shown.robot.dof == 5 and not shown.picture(0.0).arms[0].parts
    shown.undo()
    assert len(drawn(shown, 6)[0]) == 8
