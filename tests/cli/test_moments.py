from __future__ import annotations

import datetime

import pytest

from hil.cli._moments import length_s, moment
from hil.errors import ConfigError

NOW = datetime.datetime(2026, 1, 31, 23, 10, 5)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("14:30", datetime.datetime(2026, 1, 31, 14, 30)),
        (" 9:05 ", datetime.datetime(2026, 1, 31, 9, 5)),
        ("tomorrow 14:30", datetime.datetime(2026, 2, 1, 14, 30)),
        ("2026-03-01", datetime.datetime(2026, 3, 1)),
        ("2026-03-01 14:30", datetime.datetime(2026, 3, 1, 14, 30)),
    ],
)
def test_a_moment_is_read_as_people_type_it(text: str, meant: datetime.datetime) -> None:
    assert moment(text, NOW.timestamp(), "--from") == meant.timestamp()


def test_a_day_alone_ends_with_it() -> None:
    assert moment("2026-03-01", NOW.timestamp(), "--until", end=True) == datetime.datetime(2026, 3, 2).timestamp()


@pytest.mark.parametrize("text", ["", "soon", "tomorrow", "25:00", "12:60", "2026-02-30", "tomorrow 2026-03-01", "nan"])
def test_another_text_is_told_what_may_stand_there(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--from.*'tomorrow 14:30'"):
        moment(text, NOW.timestamp(), "--from")


@pytest.mark.parametrize(
    ("text", "seconds"), [("90m", 5400.0), ("90 min", 5400.0), ("3h", 10_800.0), ("2d", 172_800.0), ("1.5w", 907_200.0)]
)
def test_a_length_is_read_with_its_unit(text: str, seconds: float) -> None:
    assert length_s(text, "--for") == seconds


@pytest.mark.parametrize("text", ["", "90", "0h", "-3h", "3 years", "nanh"])
def test_a_length_of_nothing_or_without_a_unit_is_none(text: str) -> None:
    with pytest.raises(ConfigError, match="a length of time as 90m, 3h, 2d or 12w"):
        length_s(text, "--for")
