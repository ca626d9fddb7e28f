"""How large a figure is, and which files are refused before any work is done."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import CommandError, HilError, MissingExtraError
from hil.figures.options import (
    DOTS_PER_INCH,
    ENDINGS,
    FONTS_PT,
    WIDTHS_MM,
    FigureFormat,
    FigureOptions,
    format_of,
    length_mm,
    require_folder,
    require_target,
)


@pytest.mark.parametrize(
    ("text", "mm"),
    [
        ("column", 85.0),
        ("page", 174.0),
        ("85mm", 85.0),
        (" 8.5 cm ", 85.0),
        ("85", 85.0),
        ("Column", 85.0),
        ("3in", 76.2),
    ],
)
def test_a_length_is_read_as_people_write_it(text: str, mm: float) -> None:
    assert length_mm(text) == pytest.approx(mm)


@pytest.mark.parametrize("text", ["", "wide", "nan", "inf", "85 px", "mm", "1e999mm"])
def test_what_is_no_length_is_answered_with_what_is_one(text: str) -> None:
    with pytest.raises(CommandError, match="allowed: a length as 85mm") as refusal:
        length_mm(text)
    assert "\n" not in str(refusal.value)


@given(st.floats())
def test_a_width_is_within_its_range_or_refused(width_mm: float) -> None:
    if WIDTHS_MM[0] <= width_mm <= WIDTHS_MM[1]:
        assert FigureOptions(width_mm=width_mm).width_pt == pytest.approx(width_mm / 25.4 * 72.0)
    else:
        with pytest.raises(CommandError, match=r"width .* given; allowed: 60 to 420 mm"):
            FigureOptions(width_mm=width_mm)


def test_letters_height_and_dots_have_their_ranges_too() -> None:
    for bad in (
        {"font_pt": FONTS_PT[1] + 0.1},
        {"font_pt": math.nan},
        {"dpi": DOTS_PER_INCH[0] - 1},
        {"dpi": DOTS_PER_INCH[1] + 1},
        {"height_mm": 29.0},
    ):
        with pytest.raises(CommandError, match="allowed"):
            FigureOptions(**bad)


def test_the_ending_says_the_format_in_any_case() -> None:
    assert [format_of(Path(f"a{ending.upper()}")) for ending in ENDINGS] == list(FigureFormat)


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.svgz", "svg", ".svg", "a.pdf.txt"])
def test_an_unknown_ending_is_refused_with_those_that_are_known(name: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"allowed: a name that ends in \.png, \.svg or \.pdf$") as refusal:
        require_target(tmp_path / name)
    assert "\n" not in str(refusal.value)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(HilError, match=r"there is no folder .*nowhere"):
        require_target(tmp_path / "nowhere" / "a.svg")


def test_a_file_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.svg").mkdir()
    with pytest.raises(HilError, match="this is a folder"):
        require_target(tmp_path / "a.svg")


def test_a_folder_in_which_nothing_can_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hil.figures.options.tempfile.TemporaryFile", denied)
    for refuse in (lambda: require_target(tmp_path / "a.svg"), lambda: require_folder(tmp_path / "new")):
        with pytest.raises(HilError, match=r"nothing can be written in .*: Permission denied"):
            refuse()


def test_a_write_protected_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.svg").write_text("mine")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(HilError, match="write-protected"):
        require_target(tmp_path / "a.svg")


def test_a_trial_leaves_nothing_behind(tmp_path: Path) -> None:
    require_target(tmp_path / "a.svg")
    require_folder(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HilError, match="is a file"):
        require_folder(tmp_path / "file" / "folder")


def test_what_has_to_be_installed_is_said_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"hil-arm-bridge\[plot\]"):
        require_target(tmp_path / "a.svg")
