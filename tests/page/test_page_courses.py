"""A student at the page: what there is to do, handing in, what came of it; and the class for its teacher."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import LabThread, lab_thread, page_at
from course_folders import TASK, PlainMarker, one_mark, write_course
from playwright.sync_api import expect
from tokens_of_people import token

from hil.service.courses import hand_ins
from hil.service.rights import Role

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]


@pytest.fixture
def lab(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LabThread]:
    """One with a course, whose marker takes no time."""
    made, marker = hand_ins.HandIns, PlainMarker()

    def plain(evidence: hand_ins.Evidence, say: Callable[[str], None]) -> hand_ins.HandIns:
        return made(evidence, say, make_marker=marker.of, mark_run=one_mark)

    monkeypatch.setattr(hand_ins, "HandIns", plain)
    write_course(tmp_path)
    with lab_thread(tmp_path, keyed=True) as found:
        yield found


def at(lab: LabThread, who: str, role: Role = Role.DRIVE) -> str:
    return f"{lab.served.url}/#arm-1?key={token(who, role)}"


def come_in(page: Page) -> None:
    page.locator("#courses > summary").click()
    expect(page.locator("#exercise")).to_contain_text("Robotics: Turn it")


def test_a_student_hands_in_files_text_and_a_run_and_reads_the_marks(
    browser: Browser, lab: LabThread, tmp_path: Path
) -> None:
    (tmp_path / "my-own-name.toml").write_bytes(b"x")
    with page_at(browser, at(lab, "Ana")) as page:
        come_in(page)
        expect(page.locator("#aim")).to_have_text("Turn the base by 10 degrees.")
        expect(page.locator("#due")).to_contain_text("0 of 3 tries used")
        expect(page.locator("#handed")).to_have_text("Nothing was handed in yet.")
        page.locator("#handfiles").set_input_files(tmp_path / "my-own-name.toml")
        expect(page.locator("#found")).to_contain_text("1 of 2 marks")
        expect(page.locator("#found tr.bad")).to_contain_text("20 s (sample 7, 0.14 s)")
        expect(page.locator("#shot")).to_be_visible()
        page.locator("#tasks > summary").click()
        page.locator("#text").fill("x x")
        page.locator("#handtext").click()
        expect(page.locator("#found")).to_contain_text("2 of 2 marks")
        page.locator("#handrun").click()
        expect(page.locator("#found")).to_contain_text("25 s; allowed: 20 s")
        lines = page.locator("#handed li")
        expect(lines).to_have_count(3)
        expect(lines.nth(0)).to_contain_text("arm-1: 1 of 2 marks")
        expect(lines.nth(1)).to_contain_text("files: 2 of 2 marks (counts)")
        expect(page.locator("#due")).to_contain_text("3 of 3 tries used")
        page.locator("#handrun").click()
        expect(page.locator("#handanswer")).to_have_text("you have handed in turn-it 3 times; allowed: 3")
        lines.nth(1).locator("button").click()
        expect(page.locator("#found")).to_contain_text("2 of 2 marks")
        page.locator("#exercise").select_option(label="Robotics: Where is the tool?")
        expect(page.locator("#due")).to_contain_text("has closed at")
        expect(page.locator("#asked .own")).to_contain_text("Your numbers: base = ")
        expect(page.locator("#handfiles")).to_be_disabled()


def test_a_teacher_sees_the_class_and_takes_it_along(browser: Browser, lab: LabThread) -> None:
    with page_at(browser, at(lab, "Ben")) as page:
        come_in(page)
        page.locator("#tasks > summary").click()
        page.locator("#text").fill(TASK.decode() + "# xx")
        page.locator("#handtext").click()
        expect(page.locator("#found")).to_contain_text("2 of 2 marks")
    with page_at(browser, at(lab, "Tess", Role.TEACH)) as page:
        come_in(page)
        rows = page.locator("#students tbody tr")
        expect(rows).to_have_count(2)
        expect(rows.nth(0)).to_have_text("Ana")
        expect(rows.nth(1)).to_contain_text("2 / 2")
        rows.nth(1).locator("button").click()
        expect(page.locator("#found")).to_contain_text("2 of 2 marks")
        with page.expect_download() as given:
            page.locator("#moodle").click()
        assert given.value.suggested_filename == "robotics-turn-it-moodle.csv"
        assert given.value.path().read_text("utf-8").splitlines()[1] == "Ben,2,2,all right"
        expect(page.locator("#handing")).to_be_hidden()


def test_who_is_in_no_course_sees_nothing_of_them(browser: Browser, lab: LabThread) -> None:
    with page_at(browser, at(lab, "Cleo")) as page:
        expect(page.locator("#lease")).to_be_enabled()
        expect(page.locator("#courses")).to_be_hidden()
