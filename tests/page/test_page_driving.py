"""A student at the page of an arm: a whole session by mouse, keys, touch and game pad, and every way of letting go."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright", reason="playwright is not installed: pip install -e '.[dev]'")

from browser_stand import LabThread, lab_thread, page_at, relay_thread
from page_student import AGAIN, LETTING_GO, ONCE, PAD, STALL, TOUCH, Student, all_up
from playwright.sync_api import expect

from hil.clock import monotonic_s
from hil.runtime.wiring import load_rig
from hil.types import Mode

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.processes, pytest.mark.timeout(240)]

LYNX = load_rig("lynx6", calibrated=False)
MOST_S = 4.0
"""No bound of the promise, which a busy machine breaks: a hold that does not end goes on for ever."""

SPEAKS_ELSEWHERE = """() => new Promise((done) => {
  document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
  const socket = new WebSocket("ws://127.0.0.1:9999/");
  setTimeout(() => done("nothing forbids it"), 5000);
})"""
"""What forbids a WebSocket to another server."""

TASK = """title = "A little way"
start = "park"

[[step]]
do = "move"
by_deg = { base = 6 }
"""


def test_a_whole_session_by_mouse(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    one.moves(lambda: one.press("plus-0"), "base +: moves while you hold")
    one.until_it_stands(page.mouse.up)
    assert one.at(0) > LYNX.park[0]
    page.locator("#tasks > summary").click()
    page.locator("#text").fill(TASK)
    # A run that was let go of in its middle stands where no plan begins: park, and plan anew.
    for _ in range(AGAIN):
        one.to_the_end(lambda: one.press("park"))
        page.locator("#preview").click()
        expect(page.locator("#verdict")).to_contain_text("PASSED")
        expect(page.locator("#margins li")).not_to_have_count(0)
        page.locator("#armit").click()
        expect(page.locator("#run")).to_be_enabled()
        if one.once_to_the_end(lambda: one.press("run")):
            break
    assert one.at(0) == pytest.approx(LYNX.park[0] + 0.10472, abs=1e-3)
    one.to_the_end(lambda: one.press("park"))
    page.locator("#lease").click()
    one.reads("Nobody drives")
    assert [one.at(axis) for axis in range(6)] == pytest.approx(list(LYNX.park), abs=1e-6)


def test_a_session_by_keys_alone(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    page.locator("#stop").focus()
    page.keyboard.press("2")
    one.begin(lambda: page.keyboard.down("-"))
    one.until_it_stands(lambda: page.keyboard.up("-"))
    assert one.at(1) < LYNX.park[1]
    page.locator("#size").select_option("2")
    page.locator("#stop").focus()
    before = one.at(1)
    one.begin(lambda: page.keyboard.press("-"))
    assert lab.still()
    assert one.at(1) == pytest.approx(before - 0.0349066, abs=1e-4)
    page.locator("#park").focus()
    one.to_the_end(lambda: page.keyboard.down("Enter"))
    assert [one.at(axis) for axis in range(6)] == pytest.approx(list(LYNX.park), abs=1e-6)


def test_a_session_by_touch_on_a_phone_one_axis_at_a_time(phone: Page, lab: LabThread) -> None:
    one = Student(phone, lab)
    one.drive()
    assert not phone.locator("#plus-1").is_visible()
    phone.locator("#after").tap()
    expect(phone.locator("#one")).to_have_text("shoulder")
    one.begin(lambda: one.touch("minus-1"))
    one.until_it_stands(one.lift)
    assert one.at(1) < LYNX.park[1]
    one.to_the_end(lambda: one.touch("park"))
    phone.locator("#lease").tap()
    one.reads("Nobody drives")


def test_a_session_by_game_pad(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    page.evaluate(PAD)
    one.drive()

    def let_go() -> None:
        one.pad(-1.0, held=False)

    one.moves(lambda: one.pad(-1.0, held=True), "game pad: moves while you hold")
    one.until_it_stands(let_go)
    assert one.at(0) > LYNX.park[0]


@pytest.mark.parametrize("phones", [False, True], ids=["desktop", "phone"])
def test_each_way_of_letting_go_stops_the_arm(browser: Browser, tmp_path: Path, phones: bool) -> None:
    ways = [way for way in LETTING_GO if (way in TOUCH) is phones]
    with lab_thread(tmp_path) as lab:
        for some in ([way for way in ways if way not in ONCE], *([way] for way in ways if way in ONCE)):
            with page_at(browser, lab.url, phone=phones) as page:
                one = Student(page, lab)
                page.evaluate(PAD)
                one.sit_down()
                for way in some:
                    press, let_go = LETTING_GO[way]
                    one.begin(partial(press, one))
                    assert one.until_it_stands(partial(let_go, one)) < MOST_S, way
                    if way == "page closed":
                        continue
                    # What is still down begins nothing anew.
                    stands = lab.moved[-1][1]
                    page.wait_for_timeout(200)
                    assert lab.moved[-1][1] == stands, way
                    all_up(one)


def test_after_a_stall_the_page_says_so_and_a_new_press_moves(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    one.begin(lambda: one.press("plus-0"))
    one.until_it_stands(lambda: page.evaluate(STALL, 700))
    one.told("This page stood still for a moment")
    page.mouse.up()
    one.begin(lambda: one.press("plus-0"))
    one.until_it_stands(page.mouse.up)


def test_a_cut_line_stops_the_arm_and_the_lease_comes_back_without_the_motion(browser: Browser, lab: LabThread) -> None:
    with relay_thread() as line, page_at(browser, line.address(lab)) as page:
        one = Student(page, lab)
        one.drive()
        one.begin(lambda: one.press("plus-0"))
        one.until_it_stands(line.cut)
        one.reads("Ready")
        stands = lab.moved[-1][1]
        page.wait_for_timeout(500)
        assert lab.moved[-1][1] == stands
        page.mouse.up()
        one.begin(lambda: one.press("plus-0"))
        one.until_it_stands(page.mouse.up)


def test_a_server_that_was_ended_and_is_back_gives_the_lease_back_and_moves_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    with relay_thread() as line:
        with lab_thread(tmp_path) as first:
            stand = page_at(browser, line.address(first))
            page = stand.__enter__()
            Student(page, first).drive()
            Student(page, first).begin(lambda: Student(page, first).press("plus-0"))
        try:
            expect(page.locator("#lamp")).to_have_attribute("data-state", "off")
            with lab_thread(tmp_path) as second:
                line.address(second)
                one = Student(page, second)
                one.reads("Ready")
                stands = second.moved[-1][1]
                page.wait_for_timeout(500)
                assert second.moved[-1][1] == stands
        finally:
            stand.__exit__(None, None, None)


def test_what_moved_does_not_go_on_after_a_reload_and_the_arm_is_kept(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    one.begin(lambda: page.keyboard.down("+"))
    one.until_it_stands(page.reload)
    one.reads("Kept for")
    page.locator("#lease").click()
    one.reads("Ready")


def test_a_second_tab_takes_the_drivers_place_and_the_first_does_not_fight_for_it(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    other = page.context.new_page()
    other.goto(lab.url)
    two = Student(other, lab)
    expect(other.locator("#lease")).to_be_enabled()
    other.locator("#lease").click()
    two.reads("Ready")
    page.wait_for_timeout(1500)
    assert "Ready" not in page.locator("#banner").inner_text()
    two.reads("Ready")


def test_the_stop_of_who_only_watches_latches_and_is_said(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.reads("Nobody drives")
    page.keyboard.press("Escape")
    one.reads("A stop is latched")
    page.locator("#reset").click()
    one.reads("Nobody drives")


def test_it_may_speak_to_its_own_lab_alone_and_takes_the_key_of_a_new_start(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.reads("Nobody drives")
    assert page.evaluate(SPEAKS_ELSEWHERE) == "connect-src"
    with page.expect_event("load"):
        page.evaluate("(hash) => { location.hash = hash; }", lab.url.split("#")[1])
    one.reads("Nobody drives")
    assert "key" not in page.url


def test_stop_is_never_disabled_and_never_moves(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    places = []
    for act in (lambda: None, one.drive, lambda: one.press("plus-0"), page.mouse.up):
        act()
        assert page.locator("#stop").is_enabled()
        places.append([page.locator(f"#{name}").bounding_box() for name in ("stop", "plus-0", "park", "reset", "run")])
    for again in places[1:]:
        assert [box for box in again if box] == [box for box in places[0] if box]


def test_a_teacher_takes_over_and_the_page_says_so(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()

    async def take_over() -> None:
        person = await lab.served.join(name="Teacher")
        assert (await person.ask("take_over", reason="my turn"))["type"] == "accepted"
        await person.until(lambda: person.yours)

    lab.do(take_over())
    one.reads("Teacher drives")


def test_the_end_of_a_slot_is_said_and_the_arm_holds(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    one.begin(lambda: one.press("plus-0"))
    lease = lab.served.lab.desks["arm-1"].lease
    one.until_it_stands(lambda: setattr(lease._time, "slot_s", monotonic_s()))
    expect(page.locator("#notices")).to_contain_text("Your time is over")
    assert "Ready" not in page.locator("#banner").inner_text()


def test_what_is_typed_stops_nothing_and_escape_does(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.drive()
    page.locator("#tasks > summary").click()
    page.locator("#text").press_sequentially("h k x ")
    assert page.locator("#text").input_value() == "h k x "
    assert one.mode is Mode.IDLE


def test_a_taught_pose_is_a_step_that_the_lab_previews(page: Page, lab: LabThread) -> None:
    one = Student(page, lab)
    one.reads("Nobody drives")
    page.locator("#teach").click()
    one.told("Kept: the task has")
    page.locator("#tasks > summary").click()
    page.locator("#preview").click()
    expect(page.locator("#verdict")).to_contain_text("PASSED")


def test_a_slot_is_booked_and_given_back(page: Page, lab: LabThread) -> None:
    Student(page, lab).reads("Nobody drives")
    page.locator("#bookings > summary").click()
    page.locator("#book").click()
    expect(page.locator("#slots li[data-yours=true]")).to_have_count(1)
    page.locator("#slots button").click()
    expect(page.locator("#slots li[data-yours=true]")).to_have_count(0)


def test_a_refusal_is_said_in_the_language_of_the_page_with_the_labs_words_as_detail(
    browser: Browser, lab: LabThread
) -> None:
    with page_at(browser, lab.url, language="de-DE") as page:
        one = Student(page, lab)
        one.reads("Niemand steuert")
        page.locator("#tasks > summary").click()
        page.locator("#text").fill("this is no task")
        page.locator("#preview").click()
        expect(page.locator("#verdict")).to_have_text("ABGELEHNT")
        assert page.locator("#findings li").first.get_attribute("lang") == "en"
