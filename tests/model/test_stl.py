"""STL in and out: both kinds alike, units asked for, and every broken file named."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from stl_files import BOX_FACES as FACES
from stl_files import ascii_text

from hil.errors import ConfigError, MissingExtraError
from hil.model.stl import StlUnitError, is_watertight, read_stl, write_stl

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float64)
pytest.importorskip("trimesh")


def cube(folder: Path, size: float = 0.1) -> Path:
    path = folder / "cube.stl"
    path.write_bytes(write_stl(CUBE * size, FACES))
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    mesh = read_stl(cube(tmp_path, 0.5))
    assert (mesh.facts.triangles, mesh.facts.degenerate, mesh.facts.watertight) == (12, 0, True)
    assert sorted(mesh.vertices.tolist()) == sorted((CUBE * 0.5).tolist())
    corners = mesh.vertices[mesh.faces]
    assert np.sum(np.einsum("fi,fi->f", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6 == pytest.approx(
        0.125
    )


def test_ascii_and_binary_give_the_same_vertices(tmp_path: Path) -> None:
    corners = (CUBE * 0.25)[FACES]
    path = tmp_path / "ascii.stl"
    path.write_text(ascii_text(corners))
    text, binary = read_stl(path, "m"), read_stl(cube(tmp_path, 0.25))
    assert np.array_equal(text.vertices, binary.vertices)
    assert np.array_equal(text.faces, binary.faces)


def test_a_binary_file_that_begins_with_solid_is_binary(tmp_path: Path) -> None:
    path = cube(tmp_path)
    path.write_bytes(b"solid part of facet".ljust(80, b" ") + path.read_bytes()[80:])
    assert read_stl(path, "m").facts.triangles == 12


@pytest.mark.parametrize(("size", "guess"), [(100.0, "mm"), (2.5, "mm"), (1.9, "m"), (0.02, "m")])
def test_a_unit_is_asked_for_however_large_a_part_is(tmp_path: Path, size: float, guess: str) -> None:
    path = cube(tmp_path, size)
    path.write_bytes(b" " * 80 + path.read_bytes()[80:])
    with pytest.raises(StlUnitError, match=f"guessed from its size: --stl-unit {guess}$") as error:
        read_stl(path)
    assert (error.value.extent, error.value.guess) == (pytest.approx(size), guess)


@pytest.mark.parametrize(("unit", "metres"), [("mm", 0.001), ("cm", 0.01), ("in", 0.0254), ("m", 1.0)])
def test_a_unit_that_is_said_counts(tmp_path: Path, unit: str, metres: float) -> None:
    facts = read_stl(cube(tmp_path, 3.0), unit).facts
    assert (facts.units, facts.size_m) == (unit, pytest.approx((3 * metres,) * 3))


def test_the_box_is_in_metres_and_the_units_are_told(tmp_path: Path) -> None:
    facts = read_stl(cube(tmp_path, 8.0), "mm").facts
    assert (facts.units, facts.upper_m) == ("mm", pytest.approx((0.008, 0.008, 0.008)))
    assert read_stl(cube(tmp_path, 8.0)).facts.units == "m"


def test_triangles_without_an_area_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "flat.stl"
    path.write_bytes(write_stl(CUBE, np.vstack([FACES, [[0, 0, 1], [2, 2, 2]]])))
    facts = read_stl(path).facts
    assert (facts.triangles, facts.degenerate, facts.watertight) == (12, 2, True)


def test_an_open_mesh_is_told_from_a_closed_one() -> None:
    assert is_watertight(FACES)
    assert not is_watertight(FACES[:-1])
    assert not is_watertight(np.vstack([FACES[:-1], FACES[-1:, ::-1]]))


WHOLE = write_stl(CUBE, FACES)
NAN = WHOLE[:96] + struct.pack("<f", float("nan")) + WHOLE[100:]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "length: 0 given"),
        (b"hello", "length: 5 given"),
        (WHOLE[:-1], "12 triangles announced, 11 there"),
        (WHOLE[:300], "It is cut off"),
        (WHOLE + b"x", "length: 685 given"),
        (WHOLE[:80] + struct.pack("<I", 0), "The file is empty"),
        (b"solid x\nendsolid x\n", "The file is empty"),
        (ascii_text(CUBE[FACES]).encode()[:-30], "no endsolid"),
        (NAN, "triangle 1: nan given; allowed: finite numbers"),
        (write_stl(CUBE, FACES[:, [0, 0, 0]]), "without an area"),
        (ascii_text(CUBE[FACES]).replace("vertex 0.0", "vertex zero").encode(), "an STL, binary or ASCII"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, data: bytes, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.stl"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as error:
        read_stl(path)
    assert error.value.file == str(path)
    assert words in str(error.value)
    assert capsys.readouterr().err == ""


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_stl(tmp_path / "none.stl")


def test_without_the_extra_it_is_said_which_one_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MissingExtraError, match=r"hil-arm-bridge\[mesh\]"):
        read_stl(cube(tmp_path))
