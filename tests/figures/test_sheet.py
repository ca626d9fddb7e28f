"""The page: the same figure is the same bytes, text stays text, nothing lies on anything, nothing global changes."""

from __future__ import annotations

import re
import struct
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import CommandError
from hil.figures.events import Event, Flag, Importance
from hil.figures.looks import LIMIT, SERIES, SIGNALS, Entry, series
from hil.figures.options import FigureOptions
from hil.figures.sheet import Band, Note, Sheet, _in_columns, as_strip, drawing, save, text_width_pt, tidy, wrapped

SMALL = FigureOptions(width_mm=85.0, dpi=100)
KEY = [Entry("commanded", SIGNALS["commanded"]), Entry("reported", SIGNALS["reported"]), Entry("limit", LIMIT)]
NOTES = [Note("what was said " * 12, head=" 1", heavy=True)]


def _sheet(options: FigureOptions = SMALL, title: str = "FAKE rig lynx6: base") -> Sheet:
    sheet = Sheet(options, title, KEY, NOTES, 150.0)
    grid = sheet.grid(2, height_ratios=[12.0, 140.0])
    strip, panel = (sheet.figure.add_subplot(grid[row]) for row in range(2))
    as_strip(strip, 0.0, 10.0)
    panel.plot(np.arange(11.0), np.arange(11.0) ** 2, **SIGNALS["reported"])
    panel.set_xlim(0.0, 10.0)
    panel.set_ylabel("base, deg")
    tidy(panel)
    sheet.settle()
    sheet.draw_bands(strip, [panel], [Band("streaming", "#CFE6F7", 0.0, 9.0)])
    sheet.draw_flags(strip, [panel], [Flag(1, Event(9.5, "stop", Importance.STOP, 9.5))])
    return sheet


def _written(folder: Path, name: str, options: FigureOptions = SMALL, title: str = "FAKE rig lynx6: base") -> bytes:
    with drawing(options):
        save(_sheet(options, title), folder / name)
    return (folder / name).read_bytes()


@pytest.mark.parametrize("name", ["a.svg", "a.pdf", "a.png"])
def test_the_same_figure_is_the_same_bytes(name: str, tmp_path: Path) -> None:
    assert len({_written(tmp_path, name) for _ in range(4)}) == 1


def test_text_is_text_in_svg_and_pdf(tmp_path: Path) -> None:
    drawn = _written(tmp_path, "a.svg").decode()
    words = [element.text for element in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"FAKE rig lynx6: base", "base, deg", "commanded", "1 stop", "streaming"} <= set(words)
    assert b"/TrueType" in _written(tmp_path, "a.pdf") or b"/Type0" in _written(tmp_path, "a.pdf")


def test_there_is_no_date_in_it(tmp_path: Path) -> None:
    assert "date" not in _written(tmp_path, "a.svg").decode()
    assert b"CreationDate" not in _written(tmp_path, "a.pdf")


def test_it_is_as_wide_and_as_fine_as_was_asked(tmp_path: Path) -> None:
    png = _written(tmp_path, "a.png", FigureOptions(width_mm=127.0, dpi=200))
    assert struct.unpack(">I", png[16:20])[0] == 1000
    svg = _written(tmp_path, "a.svg", FigureOptions(width_mm=127.0, height_mm=100.0)).decode()
    size = re.search(r'width="([\d.]+)pt" height="([\d.]+)pt"', svg)
    assert size is not None
    assert [float(each) for each in size.groups()] == pytest.approx([360.0, 100.0 / 25.4 * 72.0], abs=0.01)


def test_letters_have_their_size(tmp_path: Path) -> None:
    svg = _written(tmp_path, "a.svg", FigureOptions(font_pt=10.0)).decode()
    assert re.search(r"font: 10px [^>]*>commanded<|font-size: 10px[^>]*>commanded<", svg)


def test_the_paper_is_white_whatever_somebody_has_set_up(tmp_path: Path) -> None:
    plain = _written(tmp_path, "a.svg")
    with matplotlib.rc_context({"axes.facecolor": "black", "figure.facecolor": "black", "font.size": 30.0}):
        assert _written(tmp_path, "b.svg") == plain
        assert matplotlib.rcParams["font.size"] == 30.0, "what was set is put back"


def test_signs_of_mathematics_and_foreign_letters_are_only_letters(tmp_path: Path) -> None:
    drawn = _written(tmp_path, "a.svg", title="a $rig_{1}$ & <its> \\frac name \u4e2d")
    words = [element.text for element in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert "a $rig_{1}$ & <its> \\frac name \u4e2d" in words


def test_key_and_notes_lie_below_the_panels_and_nothing_lies_on_anything() -> None:
    with drawing(SMALL):
        sheet = _sheet()
        texts = [text.get_window_extent() for text in sheet.figure.texts]
        panels = [axes.get_tightbbox() for axes in sheet.figure.axes]
    assert not [(a, b) for a in texts for b in panels if a.overlaps(b)]
    assert not [(a, b) for i, a in enumerate(texts) for b in texts[:i] if a.overlaps(b)]
    width = sheet.figure.bbox.width
    assert all(box.x0 >= 0.0 and box.x1 <= width for box in texts + panels)


def test_a_height_that_leaves_no_room_is_answered_with_one_that_does() -> None:
    with drawing(SMALL), pytest.raises(CommandError, match=r"height 35 mm given; allowed: (\d+) mm or more") as refusal:
        _sheet(FigureOptions(width_mm=85.0, height_mm=35.0))
    least = int(re.search(r"allowed: (\d+)", str(refusal.value)).group(1))  # type: ignore[union-attr]
    with drawing(SMALL):
        assert _sheet(FigureOptions(width_mm=85.0, height_mm=least)).body_pt >= 90.0


def test_a_name_in_the_key_that_is_too_long_is_cut_and_says_so() -> None:
    with drawing(SMALL):
        sheet = Sheet(SMALL, "t", [Entry("a long name " * 20, LIMIT), Entry("short", LIMIT)], (), 100.0)
        labels = [text.get_text() for text in sheet.figure.texts[1:]]
        ends = [text.get_window_extent().x1 for text in sheet.figure.texts[1:]]
    assert labels[0].startswith("a long name a long") and labels[0].endswith("...") and labels[1] == "short"
    assert max(ends) <= sheet.figure.bbox.width


def test_letters_that_leave_no_room_are_answered_with_what_to_change() -> None:
    options = FigureOptions(width_mm=60.0, font_pt=16.0)
    with drawing(options):
        sheet = Sheet(options, "t", KEY, (), 100.0)
        panel = sheet.figure.add_subplot(sheet.grid(1)[0])
        panel.set_ylabel("a name that takes more than the whole width", rotation=0, ha="right")
        with pytest.raises(
            CommandError, match=r"letters of 16 pt leaves no room .* allowed: a larger width or smaller"
        ):
            sheet.settle()


def test_too_many_dots_are_answered_with_how_many_are_possible() -> None:
    with drawing(SMALL), pytest.raises(CommandError, match=r"dpi 1200 given; allowed: \d+ or less"):
        _sheet(FigureOptions(width_mm=400.0, height_mm=400.0, dpi=1200))


WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


@settings(max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=8).map(" ".join), st.floats(30.0, 300.0))
def test_no_line_is_wider_than_its_room_and_no_letter_is_lost(text: str, room_pt: float) -> None:
    with drawing(SMALL):
        lines = wrapped(text, room_pt, 8.0)
        assert all(text_width_pt(line, 8.0) <= room_pt for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(st.lists(st.floats(10.0, 400.0), min_size=1, max_size=12), st.integers(1, 6))
def test_no_two_entries_of_a_key_are_in_one_place(widths_pt: list[float], columns: int) -> None:
    key = [Entry(str(i), LIMIT) for i in range(len(widths_pt))]
    rows = _in_columns(key, widths_pt, 220.0, columns)
    assert [entry.label for row in rows for _, entry in row] == [entry.label for entry in key]
    for row in rows:
        for (left, entry), (right, _) in pairwise(row):
            assert left + widths_pt[int(entry.label)] <= right + 1e-9


def test_like_things_are_told_apart_by_colour_and_dashes() -> None:
    looks = [(look["color"], str(look["linestyle"])) for look in map(series, range(36))]
    assert len(set(looks)) == 36
    assert len({dashes for _, dashes in looks[: len(SERIES)]}) == len(SERIES)
    assert len({str(look["linestyle"]) for look in SIGNALS.values()}) == len(SIGNALS) == 3
