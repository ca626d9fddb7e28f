"""hil book: the calendar of a lab's arm; put a slot in, take one out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from hil.cli._far_arm import self_test_words
from hil.cli._moments import moment
from hil.cli.arms import AsJson
from hil.cli.output import print_json, print_table

if TYPE_CHECKING:
    from hil.service.lab_request import Access
    from hil.service.wire import Bookings


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(book)


def book(
    url: Annotated[str | None, typer.Argument(help="The lab's address; none: the only login.")] = None,
    arm: Annotated[str | None, typer.Option(help="Which arm; none: list the arms.")] = None,
    minutes: Annotated[float | None, typer.Option(min=1, max=240, help="Book for so long.")] = None,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="From when; none: the next free time.")
    ] = None,
    cancel: Annotated[str | None, typer.Option(metavar="SLOT", help="Cancel this slot.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show an arm's calendar; with --minutes book a slot, with --cancel take one out."""
    from hil.service.lab_request import ask
    from hil.service.wire import ROOT, Bookings, BookingWish, decode_body

    if cancel is not None and (arm or minutes or begin):
        raise typer.BadParameter("--cancel goes alone: a slot knows its arm")
    if begin is not None and minutes is None:
        raise typer.BadParameter("--from goes with --minutes")
    access, arm = _access(url, arm)
    if cancel is not None:
        answer = ask(access, "DELETE", f"{ROOT}/bookings/{quote(cancel, safe='')}")
    elif arm is None:
        if minutes is not None:
            raise typer.BadParameter("--minutes goes with --arm")
        _list_arms(access, as_json=as_json)
        return
    elif minutes is None:
        answer = ask(access, "GET", f"{ROOT}/arms/{quote(arm, safe='')}/bookings")
    else:
        begin_s = None if begin is None else moment(begin, time.time(), "--from")
        wish = BookingWish(arm=arm, begin_epoch_s=begin_s, minutes=minutes)
        answer = ask(access, "POST", f"{ROOT}/bookings", wish)
    bookings = decode_body(answer, Bookings)
    if as_json:
        print_json(bookings)
    else:
        _show(bookings)


def _show(bookings: Bookings) -> None:
    from hil.service.grants import clock_text

    granted = next((slot for slot in bookings.bookings if slot.id == bookings.granted), None)
    if granted is not None:
        times = f"{clock_text(granted.begin_epoch_s)} to {clock_text(granted.end_epoch_s)}"
        print(f"booked: slot {granted.id} on {bookings.arm}, {times}")
    if not bookings.bookable:
        print(f"cannot be booked now: {bookings.why_not}")
    if words := self_test_words(bookings.self_test):
        print(f"self-test: {words}")
    if not bookings.bookings:
        print(f"{bookings.arm}: nothing is booked")
        return
    rows = [
        (
            slot.id,
            clock_text(slot.begin_epoch_s),
            clock_text(slot.end_epoch_s),
            "you" if slot.yours else slot.name or "taken",
        )
        for slot in bookings.bookings
    ]
    print_table(bookings.arm, ("slot", "from", "to", "who"), rows)


def _list_arms(access: Access, *, as_json: bool) -> None:
    from hil.service.lab_request import ask
    from hil.service.wire import ROOT, Lab, decode_body

    lab = decode_body(ask(access, "GET", f"{ROOT}/lab"), Lab)
    if as_json:
        print_json(lab)
        return
    rows = [
        (
            arm.arm,
            arm.title,
            "REAL" if arm.real else "FAKE",
            arm.lease.phase.value,
            "yes" if arm.bookable else arm.why_not,
            self_test_words(arm.self_test),
        )
        for arm in lab.arms
    ]
    print_table("", ("arm", "title", "", "lease", "can be booked", "self-test"), rows)


def _access(url: str | None, arm: str | None) -> tuple[Access, str | None]:
    from hil.service.connection import only_login, reach

    access, behind = reach(only_login("hil book") if url is None else url)
    return access, arm or behind or None
