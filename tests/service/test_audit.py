"""The audit: what was noted is found again, and nobody edits, cuts or recomputes it unseen."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.errors import JournalError
from hil.service.audit import (
    FIRST_CHAIN,
    MOST_COUNTED,
    SUFFIX,
    AuditLog,
    ClockJump,
    Deed,
    Head,
    Now,
    audit_files,
    next_chain,
)
from hil.service.audit_query import query, verify
from hil.service.keys import SigningKey

KEY = SigningKey(bytes(range(32)))
START_S = 1_800_000_000.0
DAY_S = 86_400


def at(seconds: float) -> Now:
    return Now(epoch_s=START_S + seconds, monotonic_s=5000.0 + seconds)


def deed(what: str = "claim", who: str = "aa", verdict: str = "done", **more: object) -> Deed:
    return Deed(who=who, what=what, verdict=verdict, **more)  # type: ignore[arg-type]


def opened(folder: Path, seconds: float = 0.0, retention_days: int = 30) -> AuditLog:
    return AuditLog(folder, KEY, at(seconds), retention_days=retention_days)


def written(folder: Path, count: int = 5) -> Path:
    log = opened(folder)
    for index in range(count):
        log.note(deed(f"deed-{index}", detail=f"number {index}"), at(index))
    log.close("test", at(count))
    return audit_files(folder)[-1]


def whole(folder: Path) -> bool:
    return verify(folder, KEY.public).whole


def test_what_was_noted_is_found_in_order(tmp_path: Path) -> None:
    written(tmp_path)
    assert [entry.data.what for entry in query(tmp_path) if isinstance(entry.data, Deed)] == [
        f"deed-{index}" for index in range(5)
    ]
    verdict = verify(tmp_path, KEY.public)
    assert verdict.whole and verdict.vouched == verdict.records == 8  # opened, five deeds, closed, head
    assert verdict.text == "whole: 8 records"


@settings(max_examples=60)
@given(st.data())
def test_no_changed_byte_goes_unseen(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("audit")
    path = written(folder)
    content = bytearray(path.read_bytes())
    index = data.draw(st.integers(0, len(content) - 2))
    content[index] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    assert not whole(folder)


@settings(max_examples=30)
@given(st.data())
def test_no_line_is_taken_out_or_doubled_unseen(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("audit")
    path = written(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    index = data.draw(st.integers(0, len(lines) - 2))
    doubled = data.draw(st.booleans())
    lines[index : index + 1] = [lines[index]] * 2 if doubled else []
    path.write_bytes(b"".join(lines))
    assert not whole(folder)


def test_a_chain_that_was_computed_anew_lacks_the_signature(tmp_path: Path) -> None:
    path = written(tmp_path)
    chain, lines = FIRST_CHAIN, []
    for line in path.read_bytes().replace(b"number 3", b"number 9").splitlines():
        entry = line.split(b'"entry":', 1)[1][:-1]
        chain = next_chain(chain, entry)
        lines.append(b'{"chain":"%s","entry":%s}\n' % (chain.encode(), entry))
    path.write_bytes(b"".join(lines))
    verdict = verify(tmp_path, KEY.public)
    assert not verdict.whole and "computed anew" in verdict.text
    assert not verify(tmp_path, SigningKey(bytes(32)).public).whole


def test_a_cut_end_shows_to_whoever_noted_the_head_down(tmp_path: Path) -> None:
    path = written(tmp_path)
    head = verify(tmp_path, KEY.public).head
    assert verify(tmp_path, KEY.public, noted_head=head).whole
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    verdict = verify(tmp_path, KEY.public)
    assert verdict.whole and verdict.vouched == 0 and "the last 6 of them not yet signed for" in verdict.text
    assert not verify(tmp_path, KEY.public, noted_head=head).whole


def test_an_empty_folder_is_not_a_whole_audit(tmp_path: Path) -> None:
    assert not whole(tmp_path)


def test_a_service_that_comes_back_goes_on_with_the_chain(tmp_path: Path) -> None:
    written(tmp_path)
    written_again = opened(tmp_path, 100.0)
    written_again.note(deed("later"), at(101))
    written_again.close("test", at(102))
    assert len(audit_files(tmp_path)) == 2
    assert whole(tmp_path)


@pytest.mark.parametrize("lost", [1, 7])
def test_a_line_cut_by_a_crash_is_taken_out_and_the_chain_goes_on(tmp_path: Path, lost: int) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-lost])
    again = opened(tmp_path, 100.0)
    again.close("test", at(101))
    assert whole(tmp_path)


def test_a_file_without_one_whole_line_is_begun_anew(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / f"0000000008-20270116{SUFFIX}").write_bytes(b'{"cha')
    again = opened(tmp_path, 100.0)
    again.close("test", at(101))
    assert whole(tmp_path)


def test_the_same_deed_again_and_again_is_counted(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for index in range(1000):
        log.note(deed("jog", verdict="refused", detail=f"age {index} ms"), at(index / 1000))
    log.note(deed("jog"), at(1.0))
    log.tick(at(2.5))
    log.close("test", at(3))
    deeds = [entry.data for entry in query(tmp_path) if isinstance(entry.data, Deed)]
    assert [(found.verdict, found.times) for found in deeds] == [("refused", 1), ("done", 1), ("refused", 999)]
    assert sum(found.times for found in deeds) == 1001


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 0.7)), max_size=60))
def test_no_deed_is_lost_by_counting(tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, float]]) -> None:
    folder, now_s = tmp_path_factory.mktemp("audit"), 0.0
    log = opened(folder)
    for what, pause_s in deeds:
        now_s += pause_s
        log.note(deed(what), at(now_s))
        log.tick(at(now_s))
    log.close("test", at(now_s))
    for kind in "abc":
        found = [entry.data for entry in query(folder, what=kind) if isinstance(entry.data, Deed)]
        assert sum(each.times for each in found) == sum(what == kind for what, _ in deeds)
    assert whole(folder)


def test_many_different_deeds_at_once_do_not_fill_the_memory(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for index in range(2 * MOST_COUNTED):
        log.note(deed(f"{index}"), at(0.1))
    assert len(log._counted) <= MOST_COUNTED
    log.close("test", at(1))


def test_long_and_broken_words_from_strangers_are_cut(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.note(deed(detail="x" * 10_000 + "\n", origin="\udcff"), at(0))
    log.close("test", at(1))
    found = next(entry.data for entry in query(tmp_path) if isinstance(entry.data, Deed))
    assert len(found.detail) == 500 and found.origin == "?"


def test_a_clock_that_is_set_is_recorded(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.note(deed("before"), at(1))
    jumped = Now(epoch_s=START_S - 3600, monotonic_s=5002.0)
    log.note(deed("after"), jumped)
    log.close("test", msgspec.structs.replace(jumped, monotonic_s=5003.0, epoch_s=START_S - 3599))
    data = [entry.data for entry in query(tmp_path)]
    assert isinstance(data[1], ClockJump) and data[1].by_s == pytest.approx(-3602)
    assert whole(tmp_path)


def test_a_clock_that_was_set_back_while_the_service_was_away_is_recorded(tmp_path: Path) -> None:
    written(tmp_path)
    again = opened(tmp_path, -500.0)
    again.close("test", at(-499))
    assert any(isinstance(entry.data, ClockJump) for entry in query(tmp_path))
    assert whole(tmp_path)


def test_heads_are_signed_each_minute_while_something_happens(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for second in range(400):
        if second < 200:
            log.note(deed(f"{second}"), at(second))
        log.tick(at(second))
    records = [line for line in audit_files(tmp_path)[0].read_bytes().splitlines() if b'"head"' in line]
    assert len(records) == 4  # at 60, 120, 180 and 240 s; then there was nothing new
    assert isinstance(msgspec.json.decode(records[0])["entry"], dict) and Head.__struct_config__.tag == "head"
    log.close("test", at(401))


def test_what_is_older_than_the_retention_is_deleted_and_the_rest_stays_whole(tmp_path: Path) -> None:
    log = opened(tmp_path, retention_days=3)
    for day in range(10):
        log.note(deed(f"day-{day}"), at(day * DAY_S + 10))
    log.close("test", at(9 * DAY_S + 20))
    found = [entry.data.what for entry in query(tmp_path) if isinstance(entry.data, Deed)]
    assert found == ["day-6", "day-7", "day-8", "day-9"]
    assert whole(tmp_path)
    audit_files(tmp_path)[0].unlink()
    verdict = verify(tmp_path, KEY.public)
    assert not verdict.whole and "are missing" in verdict.text


def test_a_day_in_the_middle_is_not_taken_out_unseen(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for day in range(3):
        log.note(deed(f"day-{day}"), at(day * DAY_S))
    log.close("test", at(2 * DAY_S + 1))
    audit_files(tmp_path)[1].unlink()
    assert not whole(tmp_path)


def test_a_query_finds_by_person_arm_deed_verdict_and_time(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.note(deed("jog", who="aa", arm="one"), at(0))
    log.note(deed("jog", who="bb", arm="two", verdict="refused"), at(10))
    log.note(deed("stop", who="aa", arm="two"), at(20))
    log.close("test", at(30))

    def found(**wanted: object) -> list[float]:
        return [entry.t_s - START_S for entry in query(tmp_path, **wanted)]  # type: ignore[arg-type]

    assert found(who=["aa"]) == [0, 20]
    assert found(who=[]) == []
    assert found(arm="two") == [10, 20]
    assert found(what="jog", verdict="refused") == [10]
    assert found(since_s=START_S + 5, until_s=START_S + 15) == [10]


@pytest.mark.skipif(sys.platform == "win32", reason="a limit of the size of files")
def test_a_disk_that_was_full_for_a_moment_leaves_no_torn_line(tmp_path: Path) -> None:
    import resource

    log = opened(tmp_path)
    log.note(deed("before"), at(0))
    size = audit_files(tmp_path)[0].stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, limits[1]))
    try:
        with pytest.raises(JournalError, match="cannot be kept here"):
            log.note(deed("lost"), at(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert audit_files(tmp_path)[0].stat().st_size == size
    log.note(deed("after"), at(4))
    log.close("test", at(5))
    assert whole(tmp_path)
    assert [entry.data.what for entry in query(tmp_path) if isinstance(entry.data, Deed)] == ["before", "after"]


def test_a_new_day_s_file_that_cannot_be_made_is_said_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(tmp_path)

    def full(*given: object) -> int:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "open", full)
    for second in (DAY_S, DAY_S + 1):
        with pytest.raises(JournalError):
            log.note(deed(), at(second))
    log.close("test", at(DAY_S + 2))


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    log = opened(tmp_path)
    with pytest.raises(JournalError, match="another service"):
        opened(tmp_path)
    log.close("test", at(1))
    log.close("again", at(2))
    with pytest.raises(JournalError, match="closed"):
        log.note(deed(), at(3))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    path = written(tmp_path / "audit")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
