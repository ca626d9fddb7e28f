"""How long a service keeps what it has written, and what it never touches."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import msgspec
import pytest
from lab_server import run, served

from hil.errors import AuditTakenError
from hil.model.files import state_dir
from hil.runtime.host import Room
from hil.runtime.journal import part_path
from hil.runtime.journal_file import JournalFile
from hil.runtime.mailbox import MailboxWriter
from hil.runtime.ring import RingWriter
from hil.runtime.wiring import load_rig
from hil.service import lab_setup
from hil.service.demo import demo_arms
from hil.service.lab_setup import open_local
from hil.service.retention import delete_old
from hil.service.settings import AuditSettings, ListenSettings, Settings
from hil.service.uploads import LONGEST_MOTION_S, room_of
from hil.types import Load

NOW_S = 1_800_000_000.0
DAY_S = 86_400.0


def journal(folder: Path, name: str, days_ago: float, size: int = 1000) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (NOW_S - days_ago * DAY_S,) * 2)
    return path


def test_old_journals_go_and_of_the_others_the_oldest_until_all_fit(tmp_path: Path) -> None:
    for days in range(10):
        journal(tmp_path, f"arm-{days}.mcap", days)
    other = journal(tmp_path, "notes.txt", 1000)
    deeper = journal(tmp_path, "kept/arm.mcap", 1000)
    delete_old(tmp_path, NOW_S - 6.5 * DAY_S, 3500, NOW_S)
    assert [path.name for path in sorted(tmp_path.glob("*.mcap"))] == ["arm-0.mcap", "arm-1.mcap", "arm-2.mcap"]
    assert other.exists()
    assert deeper.exists()


def test_what_a_recorder_still_has_open_stays_however_long_it_was_held_up(tmp_path: Path) -> None:
    open_one = JournalFile(tmp_path / "arm.mcap")
    os.utime(open_one.path, (NOW_S - 100.0 * DAY_S,) * 2)
    delete_old(tmp_path, NOW_S - 6.5 * DAY_S, 0, NOW_S)
    assert open_one.path.exists()
    open_one.close()
    delete_old(tmp_path, NOW_S - 6.5 * DAY_S, 0, NOW_S)
    assert not open_one.path.exists()


def session(folder: Path, name: str, *days_ago: float) -> list[Path]:
    first = folder / f"{name}.mcap"
    return [journal(folder, part_path(first, part).name, days) for part, days in enumerate(days_ago)]


def left(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.mcap"))


def test_a_session_that_has_ended_stays_whole_or_goes_whole(tmp_path: Path) -> None:
    session(tmp_path, "young", 9.0, 8.0, 2.0)
    session(tmp_path, "old", 9.0, 8.0, 7.0)
    delete_old(tmp_path, NOW_S - 5.0 * DAY_S, 100_000, NOW_S)
    assert left(tmp_path) == ["young", "young_part-0001", "young_part-0002"]


def test_for_room_sessions_that_have_ended_go_whole_the_oldest_first_before_one_that_goes_on(tmp_path: Path) -> None:
    going_on = session(tmp_path, "now", 9.0, 8.0, 0.0)
    session(tmp_path, "first", 7.0, 6.0)
    second = session(tmp_path, "second", 6.5, 5.0)
    delete_old(tmp_path, NOW_S - 30.0 * DAY_S, 5500, NOW_S)
    assert left(tmp_path) == sorted(path.stem for path in (*going_on, *second))
    delete_old(tmp_path, NOW_S - 30.0 * DAY_S, 4500, NOW_S)
    assert left(tmp_path) == sorted(path.stem for path in going_on)


@pytest.mark.parametrize(("oldest_days", "most_bytes"), [(30.0, 2500), (8.5, 100_000)])
def test_a_session_that_goes_on_loses_its_oldest_files_if_nothing_else_helps(
    tmp_path: Path, oldest_days: float, most_bytes: int
) -> None:
    session(tmp_path, "now", 9.0, 8.0, 0.0)
    delete_old(tmp_path, NOW_S - oldest_days * DAY_S, most_bytes, NOW_S)
    assert left(tmp_path) == ["now_part-0001", "now_part-0002"]


def test_what_is_being_written_is_never_deleted_and_half_made_copies_are_once_they_are_old(tmp_path: Path) -> None:
    written = journal(tmp_path, "arm-0.mcap", 0.0, 10_000)
    half, fresh = journal(tmp_path, "a.mcap.packing", 1.0), journal(tmp_path, "b.mcap.packing", 0.0)
    delete_old(tmp_path, NOW_S - DAY_S, 1, NOW_S)
    assert written.exists()
    assert fresh.exists()
    assert not half.exists()


def test_a_service_without_a_folder_never_touches_journals_of_single_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(lab_setup, "share_out", lambda plans: {})
    (tmp_path / "rigs").mkdir()
    settings = Settings(listen=ListenSettings(port=1234), audit=AuditSettings(retention_days=1, journals_gb=0.1))

    async def story() -> None:
        lab = open_local(settings, demo_arms(1, "lynx6", tmp_path / "rigs"), command="test", say=lambda words: None)
        mine = journal(state_dir(), "journals/lynx6-20200101-000000-000000.mcap", 3000)
        old = journal(lab.journals, "arm-1-20200101-000000-000000.mcap", 3000)
        await lab.tidy(time.time())
        assert mine.exists()
        assert not old.exists()
        await lab.close("the test ends")

    asyncio.run(story())


def test_every_window_on_this_computer_has_a_service_with_files_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Port 0 is any free one, so that two of them are no error; a port that is named is."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(lab_setup, "share_out", lambda plans: {})
    (tmp_path / "rigs").mkdir()
    plans = demo_arms(1, "lynx6", tmp_path / "rigs")

    async def story() -> None:
        labs = [
            open_local(Settings(listen=ListenSettings(port=port)), plans, command="test", say=lambda words: None)
            for port in (0, 0, 1234)
        ]
        assert [lab.audit_folder.name for lab in labs] == ["port-0", "port-0-2", "port-1234"]
        assert len({lab.journals for lab in labs}) == len(labs)
        with pytest.raises(AuditTakenError, match="another service keeps its audit here"):
            open_local(labs[-1].settings, plans, command="test", say=lambda words: None)
        await labs[0].close("the test ends")
        again = open_local(labs[0].settings, plans, command="test", say=lambda words: None)
        assert again.audit_folder == labs[0].audit_folder, "what was closed is used again"
        for lab in (*labs[1:], again):
            await lab.close("the test ends")

    asyncio.run(story())


def test_slots_that_are_long_over_are_forgotten_while_the_service_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path) as lab:
            await lab.ready()
            bookings, now_s = lab.lab.bookings, time.time()
            async with asyncio.timeout(10.0):
                while bookings.why_not("arm-1"):
                    await asyncio.sleep(0.01)
            bookings.book("arm-1", "Ann", None, 10.0, now_s)
            await lab.lab.tidy(now_s + 30 * DAY_S)
            assert bookings.slots("arm-1", now_s)
            await lab.lab.tidy(now_s + 100 * DAY_S)
            assert not bookings.slots("arm-1", now_s)

    run(story)


@pytest.mark.parametrize("name", ["lynx6", "rv2aj"])
def test_the_longest_motion_fits_the_mailbox_and_what_fits_the_mailbox_fits_the_ring(name: str, tmp_path: Path) -> None:
    rig = load_rig(name)
    room = room_of(rig)
    numbers = round(LONGEST_MOTION_S / rig.period_s) * len(rig.axes)
    longest = Load(motion=bytes(8 * numbers + 50_000), certificate=bytes(100_000))
    box = MailboxWriter.create(tmp_path / "mailbox", room.mailbox_bytes)
    box.send(longest)
    with RingWriter.create(tmp_path / "ring", room.ring_bytes) as ring:
        assert ring.append(bytes(room.mailbox_bytes + 10_000))
        assert ring.append(msgspec.msgpack.encode(longest))
    box.close()
    usual = Room()
    assert room.ring_bytes + room.mailbox_bytes < (usual.ring_bytes + usual.mailbox_bytes) / 5
