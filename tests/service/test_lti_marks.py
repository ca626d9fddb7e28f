"""Marks reach the gradebook of a learning system: each once, none is lost, over troubles and restarts."""

from __future__ import annotations

import contextlib
import itertools
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pylti1p3", reason="needs the extra [lti]")
pytest.importorskip("lti1p3platform", reason="needs the extra [lti] and the other side, lti1p3platform")

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lti_platform import Platform, rsa_key

from hil.errors import CommandError
from hil.service.lti_book import LtiBook, Mark, MarkState, person_name
from hil.service.lti_keys import ToolKey
from hil.service.lti_launch import tool_config
from hil.service.lti_marks import FIRST_WAIT_S, LONGEST_WAIT_S, MarkPost
from hil.service.lti_settings import PlatformSettings

pytestmark = pytest.mark.wall_clock

SCOPES = [f"https://purl.imsglobal.org/spec/lti-ags/scope/{name}" for name in ("lineitem", "result.readonly", "score")]
PICK = "mechatronics/pick-and-place"
NOW_S = 1_800_000_000.0
KEY = ToolKey(rsa_key(9))
KEY.private_pem = rsa_key(9)  # read from PEM for each message it would take most of the time


@pytest.fixture(scope="module")
def serving() -> Iterator[Platform]:
    platform = Platform()
    platform.tool, platform.tool_keys = "https://lab.example.org", KEY.key_set
    yield platform
    platform.close()


class Post:
    """A lab's marks, whose server can end and begin anew at any time."""

    book: LtiBook

    def __init__(self, platform: Platform, path: Path) -> None:
        self.platform, self._path = platform, path
        self.now_s = 1000.0
        self.restart(first=True)

    def restart(self, *, first: bool = False) -> None:
        if not first:
            self.book.close()
        self.book = LtiBook(self._path)
        platforms = {"moodle": msgspec.convert(self.platform.settings, PlatformSettings)}
        config = tool_config(platforms, KEY)
        self._post = MarkPost(self.book, platforms, config, clock=lambda: self.now_s)

    def came(self, user: str, *, column: str | None = None, **changes: Any) -> str:
        name = person_name("moodle", self.platform.url, user)
        self.book.came(name, "moodle", user, NOW_S)
        service = {"scope": SCOPES, "lineitems": f"{self.platform.url}/ags/lineitems"}
        if column is not None:
            service["lineitem"] = f"{self.platform.url}/ags/lineitems/{column}"
        self.book.place(name, PICK, "activity-7", service | changes)
        return name

    def tell(self, name: str, points: float, number: int = 1, marked_s: float = NOW_S) -> bool:
        mark = Mark(id=f"c/{number}", student=name, exercise=PICK, points=points, most=10.0, marked_s=marked_s)
        return self.book.add(mark)

    def send(self, after_s: float = LONGEST_WAIT_S) -> int:
        self.now_s += after_s
        return self._post.send()

    def state(self) -> list[tuple[float, MarkState]]:
        return [(line.points, line.state) for line in self.book.lines()]


@pytest.fixture
def post(serving: Platform, tmp_path: Path) -> Iterator[Post]:
    serving.forget()
    made = Post(serving, tmp_path / "lti.sqlite")
    yield made
    made.book.close()


def test_a_mark_stands_in_the_gradebook_and_is_not_sent_again(post: Post) -> None:
    name = post.came("3")
    assert post.tell(name, 7.5)
    assert not post.tell(name, 7.5), "the same result, told again"
    assert post.send() == 1
    assert post.platform.marks() == {"3": (7.5, 10.0)}
    assert post.send() == 0
    assert len(post.platform.posted) == 1
    ((_, score),) = post.platform.posted
    assert score["timestamp"] == "2027-01-15T08:00:00.000+00:00"
    assert (score["activityProgress"], score["gradingProgress"]) == ("Completed", "FullyGraded")
    assert set(score) == {"scoreGiven", "scoreMaximum", "activityProgress", "gradingProgress", "timestamp", "userId"}


def test_a_column_is_made_once_for_all_and_the_activitys_own_is_taken_where_there_is_one(post: Post) -> None:
    for number, user in enumerate(("3", "4"), 1):
        post.tell(post.came(user), 5.0, number)
    post.send()
    assert [(each["tag"], each["scoreMaximum"], each["resourceLinkId"]) for each in post.platform.columns.values()] == [
        (PICK, 10.0, "activity-7")
    ]
    own = post.platform.add_column({"label": "by hand", "scoreMaximum": 100.0})["id"].rpartition("/")[2]
    post.tell(post.came("9", column=own), 2.0, 3)
    post.send()
    assert set(post.platform.grades[own]) == {"9"}
    assert len(post.platform.columns) == 2


def test_of_people_who_come_by_other_ways_nothing_is_kept(post: Post) -> None:
    assert not post.tell("Ana", 7.5)
    assert post.book.lines() == ()


def test_a_mark_waits_for_an_activity_that_takes_it(post: Post) -> None:
    name = person_name("moodle", post.platform.url, "3")
    post.book.came(name, "moodle", "3", NOW_S)
    post.tell(name, 7.5)
    assert post.send() == 0
    assert [line.words for line in post.book.lines()] == ["the activity takes no marks"]
    post.came("3")
    assert post.send() == 1


# -- troubles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [500, 503, 429, 401, 302], ids=str)
def test_what_the_system_does_not_take_now_it_gets_later(post: Post, code: int) -> None:
    # Of the redirect: followed, it would be the reading of a page that is there, which looks like success.
    post.tell(post.came("3"), 7.5)
    post.platform.trouble = lambda when: code if when == "before" else None
    assert post.send() == 0
    assert post.state() == [(7.5, MarkState.WAITING)]
    post.platform.trouble = lambda when: None
    assert post.send(FIRST_WAIT_S - 0.1) == 0
    assert post.send(0.2) == 1
    assert post.platform.marks() == {"3": (7.5, 10.0)}


@pytest.mark.parametrize("restarts", [False, True])
def test_an_answer_that_was_lost_doubles_nothing(post: Post, restarts: bool) -> None:
    post.tell(post.came("3"), 7.5)
    post.platform.trouble = lambda when: 502 if when == "after" else None
    assert post.send() == 0
    assert post.platform.marks() == {"3": (7.5, 10.0)}
    post.platform.trouble = lambda when: None
    if restarts:
        post.restart()
    assert post.send() == 1
    assert post.state() == [(7.5, MarkState.SENT)]
    assert len(post.platform.posted) == 2
    assert len({score["timestamp"] for _, score in post.platform.posted}) == 1


def test_the_longer_a_system_has_trouble_the_less_it_is_asked_and_never_less_than_each_half_hour(post: Post) -> None:
    post.tell(post.came("3"), 7.5)
    tries: list[float] = []

    def trouble(when: str) -> int | None:
        if when == "before":
            tries.append(post.now_s)
        return 503 if when == "before" else None

    post.platform.trouble = trouble
    for _ in range(2000):
        post.send(5.0)
    waits = [after - before for before, after in itertools.pairwise(tries)]
    assert waits[:4] == [5.0, 10.0, 20.0, 40.0]
    assert max(waits) == LONGEST_WAIT_S


def test_trouble_with_one_mark_stops_no_other(post: Post) -> None:
    for number, user in enumerate(("3", "4", "9"), 1):
        post.tell(post.came(user), float(number), number)
    bad = post.came("4", column="none")
    post.send()
    assert set(post.platform.marks()) == {"3", "9"}
    assert (2.0, MarkState.REFUSED) in post.state()
    assert [line.words for line in post.book.lines() if line.name == bad] == ["answer 404"]


def test_what_was_refused_is_tried_anew_when_the_person_opens_the_activity(post: Post) -> None:
    post.tell(post.came("3", column="none"), 7.5)
    post.send()
    assert post.state() == [(7.5, MarkState.REFUSED)]
    post.came("3")
    assert post.send() == 1


def test_a_mark_that_a_teacher_gave_by_hand_later_stays_and_the_list_says_so(post: Post) -> None:
    post.tell(post.came("3"), 7.5)
    post.send()
    later = {"userId": "3", "scoreGiven": 9.0, "scoreMaximum": 10.0, "timestamp": "2099-01-01T00:00:00.000+00:00"}
    post.platform.grades["1"]["3"] = later
    post.tell(post.came("3"), 8.0, 2, NOW_S + 60)
    assert post.send() == 0
    assert post.platform.marks() == {"3": (9.0, 10.0)}
    assert post.book.lines()[-1].words == "the system has a newer mark, or one by hand"


def test_without_leave_to_send_everything_waits(post: Post) -> None:
    post.tell(post.came("3"), 7.5)
    keys, post.platform.tool_keys = post.platform.tool_keys, {"keys": []}
    try:
        assert post.send() == 0
    finally:
        post.platform.tool_keys = keys
    assert post.state() == [(7.5, MarkState.WAITING)]
    assert post.send() == 1


# -- order ---------------------------------------------------------------------------------------------------------


def test_the_newest_mark_counts_also_by_a_clock_that_was_set_back(post: Post) -> None:
    name = post.came("3")
    post.tell(name, 9.0, 1, NOW_S)
    post.send()
    post.tell(name, 4.0, 2, NOW_S - 3600)
    post.send()
    assert post.platform.marks() == {"3": (4.0, 10.0)}


def test_a_newer_mark_takes_the_place_of_one_that_waits(post: Post) -> None:
    name = post.came("3")
    for number in (1, 2, 3):
        post.tell(name, float(number), number)
    assert post.send() == 1
    assert [score["scoreGiven"] for _, score in post.platform.posted] == [3.0]
    assert post.state() == [(1.0, MarkState.OLDER), (2.0, MarkState.OLDER), (3.0, MarkState.SENT)]


STEP = st.one_of(
    st.tuples(st.just("tell"), st.sampled_from("34"), st.integers(0, 10)),
    st.tuples(st.just("send"), st.sampled_from(["fine", "before", "after"]), st.none()),
    st.tuples(st.just("restart"), st.none(), st.none()),
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=1, max_size=12))
def test_whatever_happens_the_last_mark_arrives_and_the_gradebook_never_goes_back(
    serving: Platform, tmp_path: Path, steps: list[tuple[str, Any, Any]]
) -> None:
    serving.forget()
    path = tmp_path / "book.sqlite"
    for file in tmp_path.glob("book.sqlite*"):
        file.unlink()
    post = Post(serving, path)
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: post.book.close())
        names = {user: post.came(user) for user in "34"}
        told: dict[str, list[float]] = {"3": [], "4": []}
        for number, (what, one, two) in enumerate(steps):
            if what == "tell":
                post.tell(names[one], float(two), number)
                told[one].append(float(two))
            elif what == "send":
                serving.trouble = lambda when, one=one: 503 if when == one else None
                post.send()
            else:
                post.restart()
        serving.trouble = lambda when: None
        for _ in range(3):
            post.send()
        assert serving.marks() == {user: (points[-1], 10.0) for user, points in told.items() if points}
        assert {state for _, state in post.state()} <= {MarkState.SENT, MarkState.OLDER}
        for user in "34":
            stamps = [score["timestamp"] for _, score in serving.posted if score["userId"] == user]
            assert stamps == sorted(stamps)


# -- what is kept --------------------------------------------------------------------------------------------------


def test_people_are_forgotten_after_a_while_or_at_once_but_none_of_a_mark_that_waits(post: Post) -> None:
    first, second = post.came("3"), post.came("4")
    post.tell(first, 7.5)
    assert post.book.forget_before(NOW_S + 1) == 1
    assert not post.book.knows(second)
    post.send()
    assert post.book.forget_before(NOW_S + 1) == 1
    third = post.came("9")
    post.tell(third, 1.0, 2)
    assert post.book.forget_others(()) == 0
    assert post.book.forget_user(third) == 1
    assert post.book.lines() == ()


def test_a_name_tells_people_of_all_systems_apart_and_says_nothing_of_them() -> None:
    names = {person_name("moodle", issuer, subject) for issuer in ("https://a", "https://b") for subject in ("3", "33")}
    assert len(names) == 4
    assert person_name("moodle", "https://a", "3") == "moodle-5046a815b6cfb55e"


@pytest.mark.skipif(sys.platform == "win32", reason="rights of files are others there")
def test_nobody_else_can_read_the_book(post: Post, tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "lti.sqlite").stat().st_mode) == 0o600


@pytest.mark.parametrize(("points", "most"), [(-1.0, 10.0), (11.0, 10.0), (0.0, 0.0), (float("nan"), 1.0)])
def test_what_is_no_mark_is_not_one(points: float, most: float) -> None:
    with pytest.raises(CommandError):
        Mark(id="x", student="a", exercise=PICK, points=points, most=most, marked_s=NOW_S)
