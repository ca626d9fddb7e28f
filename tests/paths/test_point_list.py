"""Lines of `.pos` lists: what they say, and lines that are none."""

from __future__ import annotations

import pytest

from hil.paths.point_list import point_text

BLANKS = " " * 200_000


@pytest.mark.parametrize(
    ("line", "name", "numbers", "flags"),
    [
        ("DEF POS P1=(250,0,.5,,1.)(6,0)", ("P1", ()), (250.0, 0.0, 0.5, 0.0, 1.0), "6,0"),
        ("p2 (3) = ( 1 , -2e1 ) ' by hand", ("P2", (3,)), (1.0, -20.0), None),
        ("J1=(0,0,90) rem upright", ("J1", ()), (0.0, 0.0, 90.0), None),
    ],
)
def test_a_point_has_a_name_numbers_and_flags(
    line: str, name: tuple[str, tuple[int, ...]], numbers: tuple[float, ...], flags: str | None
) -> None:
    found = point_text(line)
    assert found is not None
    assert (found.name, found.numbers, found.flags) == (name, numbers, flags)


@pytest.mark.parametrize(
    "line",
    [
        f"P1{BLANKS}x",
        f"P1=({BLANKS}x)",
        f"P1=(1{BLANKS}x,2)",
        f"P1=(1,2){BLANKS}x",
        f"P1=({'1' * 200_000}x,2)",
        f"P1=(1.{'1' * 200_000}x,2)",
    ],
    ids=["name", "brackets", "number", "behind", "digits", "decimals"],
)
def test_a_very_long_line_is_none_as_soon_as_it_is_read(line: str) -> None:
    """Each place may be given up once: a second look at all that stands before it would take hours."""
    assert point_text(line) is None
