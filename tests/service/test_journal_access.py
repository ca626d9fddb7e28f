"""Who may have which journal: by the arm that the audit names for it, and for a driver by what he has moved."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from lab_server import run, served
from tokens_of_people import grant, token

from hil.runtime.journal import JournalWriter, SessionRecord, Wiring, part_path
from hil.service.audit import AuditLog, Deed, Now
from hil.service.journal_access import MOVES, readable
from hil.service.journal_heads import HEAD, JournalHead
from hil.service.keys import SigningKey
from hil.service.rights import Role

START_S = 1_800_000_000.0
RIGS = {"left": "lynx6-1", "right": "lynx6-2"}
SESSION = SessionRecord(
    software_version="1",
    wiring=Wiring.FAKE,
    port="fake",
    rig_id="lynx6-1",
    rig_digest="d",
    rig={},
    settings={},
    start_epoch_s=START_S,
    start_monotonic_s=100.0,
)


def bearer(text: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {text}"}


def name(rig: str, hour: int) -> str:
    return f"{rig}-20270115-{hour:02d}0000-000000.mcap"


class Lab:
    """Folders of a lab; hours count from the first session."""

    def __init__(self, folder: Path) -> None:
        self.audit, self.journals = folder / "audit", folder / "journals"
        self.journals.mkdir()
        self._log = AuditLog(
            self.audit, SigningKey(b"a" * 32), Now(epoch_s=START_S, monotonic_s=0.0), retention_days=90
        )

    def session(self, rig: str, hour: int, *, ends: float, arm: str = "", parts: int = 1) -> str:
        first = self.journals / name(rig, hour)
        session = msgspec.structs.replace(SESSION, rig_id=rig, start_epoch_s=START_S + 3600.0 * hour)
        for part in range(parts):
            path = part_path(first, part) if part else first
            JournalWriter(path, msgspec.structs.replace(session, part=part)).close()
            os.utime(path, (START_S + 3600.0 * ends,) * 2)
        if arm:
            self._note(JournalHead(name=first.name, n=1, chain="ab").deed(arm, HEAD), hour)
        return first.name

    def moved(self, who: str, arm: str, hour: float, what: str = "jog step", verdict: str = "done") -> None:
        self._note(Deed(who=who, what=what, verdict=verdict, arm=arm), hour)

    def _note(self, deed: Deed, hour: float) -> None:
        self._log.note(deed, Now(epoch_s=START_S + 3600.0 * hour, monotonic_s=3600.0 * hour))

    def of(self, *arms: str, driver: str | None = None) -> list[str]:
        self._log.tick(Now(epoch_s=START_S + 1e6, monotonic_s=1e6))
        return readable(self.journals, self.audit, RIGS, lambda arm: arm in arms, driver)

    def close(self) -> None:
        self._log.close("test", Now(epoch_s=START_S + 2e6, monotonic_s=2e6))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    made.close()


def test_a_rig_that_was_another_arms_does_not_open_its_journals(lab: Lab) -> None:
    before = lab.session("lynx6-1", 0, ends=1.0, arm="right")
    since = lab.session("lynx6-1", 2, ends=3.0, arm="left")
    assert lab.of("left") == [since]
    assert lab.of("right") == [before]


def test_what_the_audit_does_not_name_yet_is_of_the_arm_that_has_the_rig(lab: Lab) -> None:
    new = lab.session("lynx6-2", 0, ends=1.0)
    assert lab.of("right") == [new]
    assert lab.of("left") == []


def test_a_driver_has_whole_sessions_in_which_he_moved_the_arm_and_no_other(lab: Lab) -> None:
    first = lab.session("lynx6-1", 0, ends=1.0, arm="left", parts=2)
    second = lab.session("lynx6-1", 2, ends=3.0, arm="left")
    lab.session("lynx6-2", 0, ends=3.0, arm="right")
    lab.moved("ada", "left", 0.5)
    lab.moved("ben", "left", 2.5, what="go")
    assert lab.of("left", "right", driver="ada") == sorted([first, part_path(Path(first), 1).name])
    assert lab.of("left", "right", driver="ben") == [second]
    assert lab.of("left", "right", driver="cyd") == []
    assert lab.of("right", driver="ada") == []


@pytest.mark.parametrize(("what", "verdict"), [("claim", "done"), ("stop", "done"), ("jog step", "refused")])
def test_whoever_only_waited_stopped_or_was_refused_has_not_driven(lab: Lab, what: str, verdict: str) -> None:
    lab.session("lynx6-1", 0, ends=1.0, arm="left")
    lab.moved("ada", "left", 0.5, what, verdict)
    assert lab.of("left", driver="ada") == []


def test_a_file_that_was_packed_late_is_not_the_next_drivers(lab: Lab) -> None:
    lab.session("lynx6-1", 0, ends=2.6, arm="left")
    mine = lab.session("lynx6-1", 2, ends=3.0, arm="left")
    lab.moved("ada", "left", 2.5)
    assert lab.of("left", driver="ada") == [mine]


def test_what_is_no_journal_is_no_drivers(lab: Lab) -> None:
    (lab.journals / name("lynx6-1", 0)).write_bytes(b"nothing")
    lab.moved("ada", "left", 0.5)
    assert lab.of("left", driver="ada") == []


def test_the_deeds_that_move_are_called_as_the_audit_has_them() -> None:
    assert {
        "confirm", "arm jog", "jog hold", "jog step", "follow target", "start", "go", "gripper", "self test"
    } == MOVES  # fmt: skip


def test_at_the_door_a_student_has_his_own_a_teacher_all_and_a_watcher_none(tmp_path: Path) -> None:
    async def story() -> None:
        async with served(tmp_path, arms=1, keyed=True) as lab:
            lab.lab.journals.mkdir(exist_ok=True)
            rig = lab.lab.desks["arm-1"].rig.id
            path = lab.lab.journals / name(rig, 0)
            began = msgspec.structs.replace(SESSION, rig_id=rig, start_epoch_s=time.time() - 60.0)
            JournalWriter(path, began).close()
            lab.lab.note(Deed(who=grant("Ada").token_id, what="go", verdict="done", arm="arm-1"))
            os.utime(path, (time.time() + 5.0,) * 2)
            ada, ben, tia, wim = (
                bearer(token(user, role))
                for user, role in (("Ada", Role.DRIVE), ("Ben", Role.DRIVE), ("Tia", Role.TEACH), ("Wim", Role.WATCH))
            )
            for who, own in ((ada, [path.name]), (ben, []), (tia, [path.name])):
                status, found = await lab.get("/v1/journals", headers=who)
                assert (status, found["journals"]) == (200, own)
                async with lab.session.get(f"{lab.url}/v1/journals/{path.name}", headers=who) as response:
                    assert response.status == (200 if own else 404)
            assert (await lab.get("/v1/journals", headers=wim))[0] == 403

    run(story)
